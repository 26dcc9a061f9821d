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

// maxSignIns is more than the sign-ins of a test. Channels of this capacity do not block their senders.
const maxSignIns = 100

// blockVerifications blocks all verifications of the correct password until the test closes
// release. Each verification sends to started before it blocks. Sign-ins with another password are not
// blocked.
func (e *testEnv) blockVerifications() (started <-chan struct{}, release chan<- struct{}) {
	start := make(chan struct{}, maxSignIns)
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

	// Before the right password is verified, ten sign-ins with a wrong one fail.
	env.Hasher = pausingHasher{PasswordHasher: env.hasher, beforeVerify: func() {
		for range allowedFailures {
			_, err := env.login("jo@example.org", wrongPassword)
			require.ErrorIs(t, err, identity.ErrBadCredentials)
		}
	}}
	_, err := env.login("jo@example.org", password)
	require.ErrorIs(t, err, fault.ErrRateLimit)

	// A later sign-in is refused, too.
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
	done := make(chan error, maxSignIns)

	// Sign-ins from one network use half of the queue.
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

	// Another sign-in from this network is refused.
	_, err := env.login("jo@example.org", password)
	require.ErrorIs(t, err, fault.ErrUnavailable)
	require.NotZero(t, fault.Of(err).RetryAfter)

	// A known device in the same network, and another network, are served. The test uses a wrong
	// password: the error shows that it was verified, and the right password would block.
	device, err := env.DeviceToken("jo@example.org")
	require.NoError(t, err)

	withWrongPassword := identity.LoginInput{Email: "jo@example.org", Password: wrongPassword}
	knownDevice := officeClient
	knownDevice.Device = device
	_, err = env.Login(t.Context(), withWrongPassword, knownDevice)
	require.ErrorIs(t, err, identity.ErrBadCredentials, "a known device in the same network")

	otherNetwork := identity.Client{Address: "192.0.2.1"}
	_, err = env.Login(t.Context(), withWrongPassword, otherNetwork)
	require.ErrorIs(t, err, identity.ErrBadCredentials, "another network")

	// The blocked sign-ins continue and free their places.
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
	done := make(chan error, maxSignIns)

	// login signs in from an address in the network and sends the result to done.
	login := func(network, device string) {
		_, err := env.Login(t.Context(), identity.LoginInput{Email: "jo@example.org", Password: password},
			identity.Client{Address: network + "::1", Device: device})
		done <- err
	}

	const noDevice = ""

	// Two networks together use all places for unknown devices.
	const unknownDevices = 48 // of the 64 places of the queue: the limit for all unknown devices
	for range unknownDevices / 2 {
		go login("2001:db8:0", noDevice)
		go login("2001:db8:1", noDevice)
	}

	for range unknownDevices {
		<-started
	}

	// From a third network, an unknown device is refused and a known one is served.
	go login("2001:db8:2", noDevice)

	require.ErrorIs(t, <-done, fault.ErrUnavailable)

	device, err := env.DeviceToken("jo@example.org")
	require.NoError(t, err)

	go login("2001:db8:2", device)

	<-started
	close(release)

	for range unknownDevices + 1 { // and the known device
		require.NoError(t, <-done)
	}
}
