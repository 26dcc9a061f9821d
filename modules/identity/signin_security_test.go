package identity_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/modules/identity"
)

// pausingHasher calls beforeVerify before it verifies the correct password.
type pausingHasher struct {
	identity.PasswordHasher
	beforeVerify func()
}

func (h pausingHasher) Verify(ctx context.Context, verifier, tried string) (ok, stale bool, err error) {
	if tried == password {
		h.beforeVerify()
	}

	return h.PasswordHasher.Verify(ctx, verifier, tried)
}

// blockVerifications blocks all verifications of the correct password until the test closes
// release. Each verification sends to started before it blocks. Sign-ins with another password are not
// blocked.
func (e *testEnv) blockVerifications() (started <-chan struct{}, release chan<- struct{}) {
	start := make(chan struct{}, 100) // more than the sign-ins of a test, so that none waits
	resume := make(chan struct{})
	e.Hasher = pausingHasher{PasswordHasher: e.hasher, beforeVerify: func() {
		start <- struct{}{}

		<-resume
	}}

	return start, resume
}

// TestLogin_ConcurrentGuesses_RightOneIsRefused checks that concurrent guesses are counted as
// strictly as consecutive ones. The right password is refused if ten wrong ones have failed during its
// verification.
func TestLogin_ConcurrentGuesses_RightOneIsRefused(t *testing.T) {
	env := newSQLiteEnv(t)
	env.jobseeker("jo@example.org")

	env.Hasher = pausingHasher{PasswordHasher: env.hasher, beforeVerify: func() {
		for range 10 {
			_, err := env.login("jo@example.org", wrongPassword)
			require.ErrorIs(t, err, identity.ErrBadCredentials)
		}
	}}
	_, err := env.login("jo@example.org", password)
	require.ErrorIs(t, err, fault.ErrRateLimit)

	env.Hasher = env.hasher
	_, err = env.login("jo@example.org", password)
	require.ErrorIs(t, err, fault.ErrRateLimit, "the refused sign-in does not reset the count of failures")
}

// TestLogin_OneNetwork_LeavesHasherToOthers checks that sign-ins from one network fill at most half of
// the queue for password hashes, which take much time. Another network is still served, and so is a
// device in the same network on which the account has signed in before.
func TestLogin_OneNetwork_LeavesHasherToOthers(t *testing.T) {
	env := newSQLiteEnv(t)
	env.jobseeker("jo@example.org")

	started, release := env.blockVerifications()
	done := make(chan error, 100) // more than the sign-ins, so that none waits

	const half = 32 // of the 64 places of the queue: the limit for one network
	for range half {
		go func() {
			_, err := env.login("jo@example.org", password)
			done <- err
		}()
	}

	for range half {
		<-started
	}

	// Half of the queue is in use: another sign-in from the network is refused.
	_, err := env.login("jo@example.org", password)
	require.ErrorIs(t, err, fault.ErrUnavailable)
	require.NotZero(t, fault.Of(err).RetryAfter)

	// A known device in the same network, and another network, are served: their wrong passwords are
	// verified.
	device, err := env.DeviceToken("jo@example.org")
	require.NoError(t, err)

	known := officeClient
	known.Device = device
	_, err = env.Login(t.Context(), identity.LoginInput{Email: "jo@example.org", Password: wrongPassword}, known)
	require.ErrorIs(t, err, identity.ErrBadCredentials, "failures from the same network do not block a known device")

	elsewhere := identity.Client{Address: "192.0.2.1"}
	_, err = env.Login(t.Context(), identity.LoginInput{Email: "jo@example.org", Password: wrongPassword}, elsewhere)
	require.ErrorIs(t, err, identity.ErrBadCredentials, "another network is not blocked")
	close(release)

	for range half {
		require.NoError(t, <-done)
	}

	_, err = env.login("jo@example.org", password)
	require.NoError(t, err, "all places of the queue are free again")
}

// TestLogin_NetworksFillTheHasher_KnownDeviceIsServed checks that sign-ins from several networks leave
// places in the queue for password hashes to known devices: those on which the account has signed in
// before.
func TestLogin_NetworksFillTheHasher_KnownDeviceIsServed(t *testing.T) {
	env := newSQLiteEnv(t)
	env.jobseeker("jo@example.org")

	started, release := env.blockVerifications()
	done := make(chan error, 100) // more than the sign-ins, so that none waits
	login := func(network, device string) {
		_, err := env.Login(t.Context(), identity.LoginInput{Email: "jo@example.org", Password: password},
			identity.Client{Address: network + "::1", Device: device})
		done <- err
	}

	const noDevice = ""

	// Two networks together use all places for unknown devices.
	const unknown = 48 // of the 64 places of the queue: the limit for all unknown devices
	for range unknown / 2 {
		go login("2001:db8:0", noDevice)
		go login("2001:db8:1", noDevice)
	}

	for range unknown {
		<-started
	}

	go login("2001:db8:2", noDevice)

	require.ErrorIs(t, <-done, fault.ErrUnavailable, "a sign-in from a third network")

	device, err := env.DeviceToken("jo@example.org")
	require.NoError(t, err)

	go login("2001:db8:2", device)

	<-started
	close(release)

	for range unknown + 1 { // the sign-ins of the unknown devices and of the known one
		require.NoError(t, <-done)
	}
}
