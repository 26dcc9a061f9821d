package argonhash

import (
	"context"
	"encoding/base64"
	"fmt"
	"runtime/metrics"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/argon2"

	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/modules/identity"
)

var _ identity.PasswordHasher = (*Hasher)(nil)

// TestVerify_RightPasswordOnly checks that a hash has the parameters of this package and
// verifies its password, byte for byte, and no other.
func TestVerify_RightPasswordOnly(t *testing.T) {
	ctx := context.Background()
	hasher := New()

	long := strings.Repeat("é", MaxPassword/2)
	for _, password := range []string{"Password1", "", " Password1", "pässwörd\x00\n", long} {
		v, err := hasher.Hash(ctx, password)
		require.NoError(t, err)
		require.Regexp(t, `^\$argon2id\$v=19\$m=19456,t=2,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$`, v)

		ok, stale, err := hasher.Verify(ctx, v, password)
		require.NoError(t, err)
		require.True(t, ok)
		require.False(t, stale)

		for _, other := range []string{password + " ", strings.ToUpper(password) + "x", "x" + password} {
			ok, stale, err := hasher.Verify(ctx, v, other)
			require.NoError(t, err)
			require.False(t, ok)
			require.False(t, stale)
		}
	}

	a, err := hasher.Hash(ctx, "Password1")
	require.NoError(t, err)

	b, err := hasher.Hash(ctx, "Password1")
	require.NoError(t, err)
	require.NotEqual(t, a, b, "each hash has a new salt")
}

// cpuTime returns the processor time of the function. The wall clock would include the
// other load of the machine.
func cpuTime(t *testing.T, do func()) time.Duration {
	t.Helper()

	spent := func() time.Duration {
		var r syscall.Rusage
		require.NoError(t, syscall.Getrusage(syscall.RUSAGE_SELF, &r))
		return time.Duration(r.Utime.Nano() + r.Stime.Nano())
	}

	before := spent()

	do()

	return spent() - before
}

// requireNoCPU requires that the function uses less than 10 ms of processor time, in the shortest of
// five repetitions: the garbage collector does not run in each.
func requireNoCPU(t *testing.T, what string, do func()) {
	t.Helper()

	least := time.Hour
	for range 5 {
		least = min(least, cpuTime(t, do))
	}

	require.Less(t, least, 10*time.Millisecond, what)
}

// phc returns a hash in the PHC string format with the parameters: memory in KiB, passes and
// threads.
func phc(m, t uint32, p uint8, password string) string {
	salt := []byte("0123456789abcdef")
	b64 := base64.RawStdEncoding

	return fmt.Sprintf("$argon2id$v=19$m=%d,t=%d,p=%d$%s$%s", m, t, p, b64.EncodeToString(salt),
		b64.EncodeToString(argon2.IDKey([]byte(password), salt, t, m, p, 32)))
}

// TestVerify_OtherParameters_IsStale checks that a hash with other parameters still verifies and
// is reported as stale, so that the caller replaces it by one with the current parameters.
func TestVerify_OtherParameters_IsStale(t *testing.T) {
	hasher := New()
	v := phc(12288, 3, 2, "Password1")
	ok, stale, err := hasher.Verify(context.Background(), v, "Password1")
	require.NoError(t, err)
	require.True(t, ok)
	require.True(t, stale)

	ok, stale, err = hasher.Verify(context.Background(), v, "password1")
	require.NoError(t, err)
	require.False(t, ok)
	require.False(t, stale, "a wrong password must not replace the verifier")
}

// TestVerify_MalformedVerifier_RefusedWithoutWork checks that a damaged or manipulated hash in
// the database cannot make the server use much memory or time.
func TestVerify_MalformedVerifier_RefusedWithoutWork(t *testing.T) {
	hasher := New()
	good := phc(8, 1, 1, "x")
	fields := strings.Split(good, "$")
	salt := fields[4]

	tag := fields[5]
	for _, v := range []string{
		// Texts in other formats, and then hashes with another algorithm or version, too high or too low parameters,
		// an unknown parameter, no salt, no or a long value, and text after the end.
		"x", "$", "$$$$$", "$2a$10$abcdefghijklmnopqrstuv", "plaintext",
		"$argon2i$v=19$m=19456,t=2,p=1$" + salt + "$" + tag,
		"$argon2id$v=16$m=19456,t=2,p=1$" + salt + "$" + tag,
		"$argon2id$v=19$m=4194304,t=2,p=1$" + salt + "$" + tag, // 4 GiB
		"$argon2id$v=19$m=19456,t=4000000,p=1$" + salt + "$" + tag,
		"$argon2id$v=19$m=19456,t=2,p=255$" + salt + "$" + tag,
		"$argon2id$v=19$m=0,t=0,p=0$" + salt + "$" + tag,
		"$argon2id$v=19$m=-1,t=2,p=1$" + salt + "$" + tag,
		"$argon2id$v=19$m=19456,t=2,p=1,x=2$" + salt + "$" + tag,
		"$argon2id$v=19$m=19456,t=2,p=1$$" + tag,
		"$argon2id$v=19$m=19456,t=2,p=1$" + salt + "$",
		"$argon2id$v=19$m=19456,t=2,p=1$" + salt + "$" + strings.Repeat("A", 4000),
		good + "$", good + "\n",
	} {
		requireNoCPU(t, v, func() {
			ok, _, err := hasher.Verify(context.Background(), v, "x")
			require.Error(t, err, v)
			require.False(t, ok)
			require.Equal(t, fault.Internal, fault.KindOf(err), "an invalid stored hash is an internal error")
		})
	}
}

// TestHash_HugePassword_RefusedWithoutWork checks that a password above MaxPassword is refused
// before it is hashed: everyone can send one.
func TestHash_HugePassword_RefusedWithoutWork(t *testing.T) {
	hasher := New()
	huge := strings.Repeat("a", MaxPassword+1)
	verifiers := []string{"", phc(8, 1, 1, huge)}
	requireNoCPU(t, "a huge password", func() {
		_, err := hasher.Hash(context.Background(), huge)
		require.Equal(t, fault.Invalid, fault.KindOf(err))

		for _, v := range verifiers {
			ok, _, err := hasher.Verify(context.Background(), v, huge)
			require.NoError(t, err)
			require.False(t, ok)
		}
	})
}

// TestVerify_NoAccount_TakesTheSameTime checks that an unknown e-mail address, for which the
// hash is empty, takes as long as a wrong password: the time must not reveal which addresses
// have accounts.
func TestVerify_NoAccount_TakesTheSameTime(t *testing.T) {
	ctx := context.Background()
	hasher := New()
	v, err := hasher.Hash(ctx, "Password1")
	require.NoError(t, err)

	var known, unknown time.Duration
	for range 41 { // alternately, so that other load slows both down
		known += cpuTime(t, func() {
			_, _, err := hasher.Verify(ctx, v, "wrong")
			require.NoError(t, err)
		})

		unknown += cpuTime(t, func() {
			ok, stale, err := hasher.Verify(ctx, "", "wrong")
			require.NoError(t, err)
			require.False(t, ok)
			require.False(t, stale)
		})
	}

	// A hash that is left out would make the difference almost 100 %. Measurements differ by less than 20 %.
	require.InEpsilon(t, float64(known), float64(unknown), 0.2, "known %v unknown %v", known, unknown)
}

// TestHash_Concurrent_BoundsMemory checks that concurrent hashes wait for a processor instead of
// allocating 19 MiB each at the same time.
func TestHash_Concurrent_BoundsMemory(t *testing.T) {
	hasher := New()
	hasher.maxWait = time.Minute
	done := make(chan struct{})

	peak := make(chan uint64)
	go func() {
		sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}

		var most uint64
		for {
			metrics.Read(sample)

			most = max(most, sample[0].Value.Uint64())
			select {
			case <-done:
				peak <- most
				return
			case <-time.After(time.Millisecond):
			}
		}
	}()

	var hashes sync.WaitGroup
	for range maxWaiting {
		hashes.Go(func() {
			_, err := hasher.Hash(context.Background(), "Password1")
			require.NoError(t, err)
		})
	}

	hashes.Wait()
	close(done)

	// 64 concurrent hashes would hold 1.2 GiB. Each running hash holds 19 MiB, and the
	// collector permits garbage of the same size.
	require.Less(t, <-peak, uint64((cap(hasher.running)+2)*3*20<<20))
}

// TestHash_QueueFull_FailsInTime checks that a hash waits at most maxWait, that waiting ends
// with its context, and that the request after maxWaiting others fails at once.
func TestHash_QueueFull_FailsInTime(t *testing.T) {
	hasher := New()
	for range cap(hasher.running) {
		hasher.running <- struct{}{} // every processor is busy
	}

	requireUnavailable := func(err error) {
		t.Helper()
		require.ErrorIs(t, err, fault.ErrUnavailable)
		require.Positive(t, fault.Of(err).RetryAfter)
	}

	hasher.maxWait = 20 * time.Millisecond
	_, err := hasher.Hash(context.Background(), "Password1")
	requireUnavailable(err)

	hasher.maxWait = time.Minute

	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()

	var waiting sync.WaitGroup
	for range maxWaiting {
		waiting.Go(func() {
			_, _, err := hasher.Verify(ctx, "", "Password1")
			requireUnavailable(err)
			require.ErrorIs(t, err, context.Canceled)
		})
	}

	// While as many as may wait are waiting, one more does not.
	require.Eventually(t, func() bool { return hasher.waiting.Load() == maxWaiting }, 10*time.Second, time.Millisecond)

	startedAt := time.Now()
	_, err = hasher.Hash(context.Background(), "Password1")
	requireUnavailable(err)
	require.Less(t, time.Since(startedAt), time.Second, "the 65th request fails at once")
	cancel()
	waiting.Wait()
	require.Zero(t, hasher.waiting.Load())
}
