package identity_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/modules/identity"
)

// login signs in from officeClient, without a second factor.
func (e *testEnv) login(email, password string) (identity.SignedIn, error) {
	return e.Login(e.t.Context(), identity.LoginInput{Email: email, Password: password}, officeClient)
}

// refresh exchanges a refresh token for new tokens.
func (e *testEnv) refresh(token string) (identity.SignedIn, error) {
	return e.Refresh(e.t.Context(), identity.RefreshInput{RefreshToken: token})
}

// TestLogin_AnySpellingOfAddress_OpensSession checks that the case of an address does not matter.
func TestLogin_AnySpellingOfAddress_OpensSession(t *testing.T) {
	env := newSQLiteEnv(t)
	env.jobseeker("jo@example.org")

	signedIn, err := env.login("JO@Example.org", password)
	require.NoError(t, err)
	require.Equal(t, "Jo Seeker", signedIn.Account.Name)
	env.actor(signedIn) // requires that the session is valid
}

// TestLogin_SimilarPassword_IsRefused checks that the case of a password and spaces around it matter.
func TestLogin_SimilarPassword_IsRefused(t *testing.T) {
	env := newSQLiteEnv(t)
	env.jobseeker("jo@example.org")

	for name, similar := range map[string]string{
		"lower case":                   strings.ToLower(password),
		"space at the end":             password + " ",
		"space at the start":           " " + password,
		"longer than passwords may be": strings.Repeat("x", 5000),
	} {
		_, err := env.login("jo@example.org", similar)
		require.ErrorIs(t, err, identity.ErrBadCredentials, name)
	}
}

// TestLogin_EmptyInput_NamesBothFields checks that the error for a request without an address and a
// password names both.
func TestLogin_EmptyInput_NamesBothFields(t *testing.T) {
	env := newSQLiteEnv(t)
	_, err := env.Login(t.Context(), identity.LoginInput{}, officeClient)
	require.Len(t, fault.Of(err).Fields, 2, "the address and the password")
}

// TestLogin_UnknownAccount_LikeWrongPassword checks that neither the error nor the number of
// hashes reveals whether an address has an account. The hashes take nearly all the time of a
// sign-in.
func TestLogin_UnknownAccount_LikeWrongPassword(t *testing.T) {
	env := newSQLiteEnv(t)
	env.jobseeker("jo@example.org")

	admin := env.actor(env.employer("boss@example.org"))
	require.NoError(t, env.invite(admin, "invited@example.org", defaultRole))

	_, wrongPasswordErr := env.login("jo@example.org", wrongPassword)
	require.ErrorIs(t, wrongPasswordErr, identity.ErrBadCredentials)

	// Only the first of these addresses has an account.
	for _, email := range []string{"jo@example.org", "nobody@example.org", "not an address", "invited@example.org"} {
		hashesBefore := env.hasher.verified.Load()
		_, err := env.login(email, wrongPassword)

		hashes := env.hasher.verified.Load() - hashesBefore
		require.EqualValues(t, 1, hashes, "hashes of a sign-in as %s", email)
		require.EqualError(t, err, wrongPasswordErr.Error(), email)
	}
}

// TestLogin_TenFailures_ThrottledForFifteenMinutes checks that further sign-ins to an account are
// refused after ten failures from the same network (the /24 of an IPv4 address), even with the right
// password. Sign-ins from another network are not refused: an attacker must not lock out the owner.
func TestLogin_TenFailures_ThrottledForFifteenMinutes(t *testing.T) {
	env := newSQLiteEnv(t)
	env.jobseeker("jo@example.org")

	for range allowedFailures {
		_, err := env.login("jo@example.org", wrongPassword)
		require.ErrorIs(t, err, identity.ErrBadCredentials)
	}

	// The network of the failures, the /24 of officeClient, is refused.
	hashesBefore := env.hasher.verified.Load()
	_, err := env.login("JO@example.org", password)
	require.ErrorIs(t, err, fault.ErrRateLimit)
	require.Equal(t, failureWindow, fault.Of(err).RetryAfter)
	require.Equal(t, hashesBefore, env.hasher.verified.Load(), "a refused sign-in computes no hash")

	// So is another address of this /24. Another network is not.
	input := identity.LoginInput{Email: "jo@example.org", Password: password}
	_, err = env.Login(t.Context(), input, identity.Client{Address: "198.51.100.200"})
	require.ErrorIs(t, err, fault.ErrRateLimit)

	_, err = env.Login(t.Context(), input, identity.Client{Address: "203.0.113.9"})
	require.NoError(t, err, "failures from other networks must not lock out the owner")

	_, err = env.login("jo@example.org", password)
	require.ErrorIs(t, err, fault.ErrRateLimit, "a success from another network does not reset the counter")

	// After 15 minutes, the owner can sign in from the first network again.
	env.clock.Advance(failureWindow)

	_, err = env.login("jo@example.org", password)
	require.NoError(t, err)
}

// TestLogin_Success_ResetsFailures checks that only consecutive failures count. After one failure more
// in a row, the right password would be refused.
func TestLogin_Success_ResetsFailures(t *testing.T) {
	env := newSQLiteEnv(t)
	env.jobseeker("jo@example.org")

	for range 3 {
		for range allowedFailures - 1 {
			_, err := env.login("jo@example.org", wrongPassword)
			require.ErrorIs(t, err, identity.ErrBadCredentials)
		}

		_, err := env.login("jo@example.org", password)
		require.NoError(t, err)
	}
}

// failSignIns fails to sign in 100 times, each time to another account and from another address
// in the network. The network is the format of its addresses, for example 198.51.100.%d. The accounts
// do not exist, and their addresses have random parts, so that no other limit is reached.
func (e *testEnv) failSignIns(network string) {
	e.t.Helper()

	for i := range 100 {
		input := identity.LoginInput{Email: rand.Text() + "@example.org", Password: wrongPassword}
		client := identity.Client{Address: fmt.Sprintf(network, i+1)} // the first address is 1
		_, err := e.Login(e.t.Context(), input, client)
		require.ErrorIs(e.t, err, identity.ErrBadCredentials)
	}
}

// TestLogin_NetworkOverItsLimit_RefusesFailingAccounts checks the limits of failed sign-ins from one
// network. Networks are prefixes of addresses of several lengths.
//
// In a network over its limit, only accounts with a recent failure are refused, because an office
// may share one address. A /48 over its limit is treated more strictly: every sign-in is refused,
// except on a device that the account has used before.
//
// The limits are 100 failures in an IPv4 /24 and in an IPv6 /64, 300 in a /56, and 1,000 in a /48.
func TestLogin_NetworkOverItsLimit_RefusesFailingAccounts(t *testing.T) {
	for _, test := range []struct {
		network    string   // the limited network
		failures   []string // formats of addresses: from each network, 100 sign-ins fail
		inside     string   // another address in the limited network
		outside    string   // an address in another network
		refusesAll bool     // whether accounts without failures are refused, too
	}{
		{
			network:  "IPv4 /24",
			failures: []string{"198.51.100.%d"},
			inside:   "198.51.100.250",
			outside:  "198.51.101.1",
		},
		{
			network:  "IPv6 /64",
			failures: []string{"2001:db8:0:1::%x"},
			inside:   "2001:db8:0:1:ffff::",
			outside:  "2001:db8:0:2::1",
		},
		{
			network:  "IPv6 /56",
			failures: []string{"2001:db8:0:1::%x", "2001:db8:0:2::%x", "2001:db8:0:3::%x"},
			inside:   "2001:db8:0:ff::1",
			outside:  "2001:db8:0:100::1",
		},
		{
			network: "IPv6 /48",
			failures: []string{ // each from another /56, so that only the limit of the /48 is reached
				"2001:db8:0:1::%x", "2001:db8:0:101::%x", "2001:db8:0:201::%x", "2001:db8:0:301::%x",
				"2001:db8:0:401::%x", "2001:db8:0:501::%x", "2001:db8:0:601::%x", "2001:db8:0:701::%x",
				"2001:db8:0:801::%x", "2001:db8:0:901::%x",
			},
			inside:     "2001:db8:0:ffff::1",
			outside:    "2001:db8:1::1",
			refusesAll: true,
		},
	} {
		t.Run(test.network, func(t *testing.T) {
			env := newSQLiteEnv(t)
			env.jobseeker("jo@example.org")
			env.jobseeker("asha@example.org")

			for _, network := range test.failures {
				env.failSignIns(network)
			}

			login := func(email, password string, client identity.Client) error {
				_, err := env.Login(t.Context(), identity.LoginInput{Email: email, Password: password}, client)
				return err
			}

			inside := identity.Client{Address: test.inside}
			outside := identity.Client{Address: test.outside}
			err := login("asha@example.org", wrongPassword, inside)
			require.ErrorIs(t, err, fault.ErrRateLimit, "a failure over the limit")

			// From now on, Asha's account has a failure and Jo's has none.
			err = login("jo@example.org", password, inside)
			if test.refusesAll {
				require.ErrorIs(t, err, fault.ErrRateLimit)
			} else {
				require.NoError(t, err, "an account without failures")

				err = login("asha@example.org", password, inside)
				require.ErrorIs(t, err, fault.ErrRateLimit, "an account with a failure")
			}

			require.NoError(t, login("jo@example.org", password, outside), "another network")

			// A browser on which Asha has signed in before has a token for her account.
			device, err := env.DeviceToken("asha@example.org")
			require.NoError(t, err)

			deviceOfAsha := identity.Client{Address: test.inside, Device: device}
			err = login("asha@example.org", password, deviceOfAsha)
			require.NoError(t, err, "a device with an earlier sign-in")

			if test.refusesAll {
				err = login("jo@example.org", password, deviceOfAsha)
				require.ErrorIs(t, err, fault.ErrRateLimit, "the device of another account")
			}
		})
	}
}

// TestLogin_OldVerifier_IsRehashed checks that a sign-in replaces a hash with outdated parameters.
// Several sign-ins at the same time all succeed, although one of them replaces the hash.
func TestLogin_OldVerifier_IsRehashed(t *testing.T) {
	env := newSQLiteEnv(t)
	signedIn := env.jobseeker("jo@example.org")
	user, err := env.store.Identity.Users.GetForUpdate(t.Context(), signedIn.Account.ID)
	require.NoError(t, err)

	// The stored hash has outdated parameters.
	user.PasswordHash = outdatedPrefix + user.PasswordHash
	require.NoError(t, env.store.Identity.Users.Update(t.Context(), &user))

	const signIns = 5
	errs := concurrently(signIns, func(int) error {
		_, err := env.login("jo@example.org", password)
		return err
	})
	require.Equal(t, signIns, countErrors(errs, nil), "successes among %v", errs)

	// The sign-ins have replaced it.
	user, err = env.store.Identity.Users.GetForUpdate(t.Context(), signedIn.Account.ID)
	require.NoError(t, err)
	require.NotContains(t, user.PasswordHash, outdatedPrefix)
}

// TestRefresh_AccessTokenExpired_RotatesTokens checks that a refresh token outlives the access token
// and is exchanged for a new pair.
func TestRefresh_AccessTokenExpired_RotatesTokens(t *testing.T) {
	env := newSQLiteEnv(t)
	signedIn := env.jobseeker("jo@example.org")
	require.Regexp(t, `^loc_rt_[0-9A-Za-z]{43}$`, signedIn.RefreshToken, "256 bits in base 62 after the prefix")
	env.clock.Advance(identity.AccessLife)

	_, err := env.Authenticate(t.Context(), signedIn.AccessToken)
	require.ErrorIs(t, err, fault.ErrUnauthorized)

	next, err := env.refresh(signedIn.RefreshToken)
	require.NoError(t, err)
	require.NotEqual(t, signedIn.RefreshToken, next.RefreshToken)
	env.actor(next) // requires that the new access token is valid
}

// TestRefresh_InvalidToken_IsRefused checks that an unknown token, a text that is none, and an access
// token are refused alike. A missing token is an invalid input.
func TestRefresh_InvalidToken_IsRefused(t *testing.T) {
	env := newSQLiteEnv(t)
	signedIn := env.jobseeker("jo@example.org")

	for _, bad := range []string{"loc_rt_unknown", "x", signedIn.AccessToken} {
		_, err := env.refresh(bad)
		require.ErrorIs(t, err, identity.ErrBadRefreshToken, bad)
	}

	const noToken = ""

	_, err := env.refresh(noToken)
	require.ErrorIs(t, err, fault.ErrInvalid)
}

// refreshGrace is the time after its first use in which a refresh token is accepted again.
const refreshGrace = 10 * time.Second

// TestRefresh_RepeatedWithinTenSeconds_Succeeds checks that a client that has lost the response
// can repeat the request. Both new tokens are valid and belong to the same session.
func TestRefresh_RepeatedWithinTenSeconds_Succeeds(t *testing.T) {
	env := newSQLiteEnv(t)
	signedIn := env.jobseeker("jo@example.org")
	first, err := env.refresh(signedIn.RefreshToken)
	require.NoError(t, err)

	// Exactly ten seconds after the first use, the repetition is still accepted.
	env.clock.Advance(refreshGrace)

	repeated, err := env.refresh(signedIn.RefreshToken)
	require.NoError(t, err)
	require.NotEqual(t, first.RefreshToken, repeated.RefreshToken)
	require.Equal(t, env.actor(first).SessionID, env.actor(repeated).SessionID)

	_, err = env.refresh(first.RefreshToken)
	require.NoError(t, err)

	_, err = env.refresh(repeated.RefreshToken)
	require.NoError(t, err)
}

// TestRefresh_UsedToken_EndsSessionAndNotifies checks that a second use of a refresh token more than
// ten seconds after the first one ends the session, and that the owner is notified once. Two clients
// then have the token, and one of them may have stolen it.
func TestRefresh_UsedToken_EndsSessionAndNotifies(t *testing.T) {
	env := newSQLiteEnv(t)
	signedIn := env.jobseeker("jo@example.org")
	other, err := env.login("jo@example.org", password)
	require.NoError(t, err)

	next, err := env.refresh(signedIn.RefreshToken)
	require.NoError(t, err)
	env.clock.Advance(refreshGrace + time.Microsecond)

	// The first token is used again: the session ends, and the other session continues.
	_, err = env.refresh(signedIn.RefreshToken)
	require.ErrorIs(t, err, identity.ErrBadRefreshToken)
	env.requireSignedOut(next)
	env.actor(other) // requires that this session is still valid

	mails := env.mailsTo("jo@example.org")
	require.Equal(t, "We signed out one of your devices", mails[len(mails)-1].Subject)

	// A third use sends no further message.
	_, err = env.refresh(signedIn.RefreshToken)
	require.ErrorIs(t, err, identity.ErrBadRefreshToken)
	require.Len(t, env.mailsTo("jo@example.org"), len(mails), "one message for each session")
}

// TestRefresh_Concurrent_AllSucceedInOneSession checks that the tabs of a client that refresh
// at the same time get different tokens of the same session.
func TestRefresh_Concurrent_AllSucceedInOneSession(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		signedIn := env.jobseeker("jo@example.org")
		const tabs = 20

		refreshed := make([]identity.SignedIn, tabs)
		errs := concurrently(tabs, func(i int) (err error) {
			refreshed[i], err = env.refresh(signedIn.RefreshToken)
			return err
		})

		require.Equal(t, tabs, countErrors(errs, nil), "successes among %v", errs)

		differentTokens := map[string]bool{}
		for i, next := range refreshed {
			require.Equal(t, env.actor(signedIn).SessionID, env.actor(next).SessionID, "tab %d", i)

			differentTokens[next.RefreshToken] = true
		}

		require.Len(t, differentTokens, tabs, "each request gets a token of its own")
	})
}

// TestLogout_RefreshAtOnce_EndsSession checks that a refresh that runs at the same time as a
// logout does not keep the session alive.
func TestLogout_RefreshAtOnce_EndsSession(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		for attempt := range 10 { // both orders occur in most runs
			email := fmt.Sprintf("jo%d@example.org", attempt)
			env.jobseeker(email)

			signedIn, err := env.login(email, password)
			require.NoError(t, err)

			actor := env.actor(signedIn)
			var next identity.SignedIn
			var logoutErr, refreshErr error
			atOnce(
				func() { logoutErr = env.Logout(t.Context(), actor) },
				func() { next, refreshErr = env.refresh(signedIn.RefreshToken) },
			)
			require.NoError(t, logoutErr)

			wasRefreshed := refreshErr == nil
			if wasRefreshed {
				env.requireSignedOut(next)
			} else {
				require.ErrorIs(t, refreshErr, identity.ErrBadRefreshToken)
			}
		}
	})
}

// TestRefresh_SevenDaysIdleOrThirtyInAll_Expires checks the lifetimes of sessions of API
// clients: 7 days without a refresh, and 30 days in any case.
func TestRefresh_SevenDaysIdleOrThirtyInAll_Expires(t *testing.T) {
	env := newSQLiteEnv(t)
	idle := env.jobseeker("idle@example.org")
	busy := env.jobseeker("busy@example.org")

	const (
		day        = 24 * time.Hour
		maxIdle    = 7 * day
		maxAge     = 30 * day
		justInTime = maxIdle - time.Second // after the previous refresh
		refreshes  = 4
	)

	// The busy session is always refreshed a second before it would expire.
	var err error
	for range refreshes {
		env.clock.Advance(justInTime)

		busy, err = env.refresh(busy.RefreshToken)
		require.NoError(t, err)
	}

	_, err = env.refresh(idle.RefreshToken)
	require.ErrorIs(t, err, identity.ErrBadRefreshToken)

	// 30 days after the sign-in, the busy session expires, too.
	env.clock.Advance(maxAge - refreshes*justInTime)

	_, err = env.refresh(busy.RefreshToken)
	require.ErrorIs(t, err, identity.ErrBadRefreshToken)

	_, err = env.Authenticate(t.Context(), busy.AccessToken)
	require.ErrorIs(t, err, fault.ErrUnauthorized)
}

// TestLogout_EndsItsSessionOnly checks that a logout ends the session of the request, and that another
// session of the same user can still be used.
func TestLogout_EndsItsSessionOnly(t *testing.T) {
	env := newSQLiteEnv(t)
	signedIn := env.jobseeker("jo@example.org")
	other, err := env.login("jo@example.org", password)
	require.NoError(t, err)
	require.NoError(t, env.Logout(t.Context(), env.actor(signedIn)))
	env.requireSignedOut(signedIn)
	env.actor(other) // requires that this session is still valid
}

// TestAuthenticate_UnknownSession_Unauthorized checks that a token whose session is unknown, or
// belongs to another user, is refused. Access tokens are not signed in this package's tests: they
// contain the ids of the user and of the session as plain text, which the test replaces.
func TestAuthenticate_UnknownSession_Unauthorized(t *testing.T) {
	env := newSQLiteEnv(t)
	jo, al := env.jobseeker("jo@example.org"), env.jobseeker("al@example.org")
	sessionID := env.actor(jo).SessionID

	// Each token differs from the valid token of Jo in one id.
	otherUser := strings.Replace(jo.AccessToken, jo.Account.ID, al.Account.ID, 1)
	unknownSession := strings.Replace(jo.AccessToken, sessionID, unknownID, 1)
	malformedSession := strings.Replace(jo.AccessToken, sessionID, "x", 1)

	for _, bad := range []string{"", "x", otherUser, unknownSession, malformedSession, jo.RefreshToken} {
		_, err := env.Authenticate(t.Context(), bad)
		require.ErrorIs(t, err, fault.ErrUnauthorized, "%q", bad)
	}
}

// TestAuthenticate_ConcurrentRequests_EachHasItsOwnUser checks that each of many concurrent requests
// gets its own account, and that a request with an unknown session does not make others fail. The
// module reads the sessions of concurrent requests with one query.
func TestAuthenticate_ConcurrentRequests_EachHasItsOwnUser(t *testing.T) {
	env := newSQLiteEnv(t)
	users := []identity.SignedIn{
		env.jobseeker("jo@example.org"),
		env.jobseeker("al@example.org"),
		env.jobseeker("kim@example.org"),
	}
	tokenOfUnknownSession := strings.Replace(users[0].AccessToken, env.actor(users[0]).SessionID, unknownID, 1)

	const requestsOfUsers = 60 // enough that several of them are read with one query

	var requests sync.WaitGroup
	for i := range requestsOfUsers {
		user := users[i%len(users)] // the users take turns
		requests.Go(func() {
			actor, err := env.Authenticate(t.Context(), user.AccessToken)
			assert.NoError(t, err)
			assert.Equal(t, user.Account.ID, actor.UserID)
		})

		requests.Go(func() {
			_, err := env.Authenticate(t.Context(), tokenOfUnknownSession)
			assert.ErrorIs(t, err, fault.ErrUnauthorized)
		})
	}

	requests.Wait()
}

// TestLoginAndAuthenticate_DatabaseUnavailable_IsNotUnauthorized checks that an error of the database
// is not reported as a wrong password or an expired session, after which clients would sign the user
// out.
func TestLoginAndAuthenticate_DatabaseUnavailable_IsNotUnauthorized(t *testing.T) {
	env := newSQLiteEnv(t)
	signedIn := env.jobseeker("jo@example.org")

	// A cancelled context makes every query fail.
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()

	_, err := env.Login(cancelled, identity.LoginInput{Email: "jo@example.org", Password: password}, officeClient)
	require.Equal(t, fault.Unavailable, fault.KindOf(err))

	_, err = env.Authenticate(cancelled, signedIn.AccessToken)
	require.Equal(t, fault.Unavailable, fault.KindOf(err))
	require.NotErrorIs(t, err, fault.ErrUnauthorized)
}
