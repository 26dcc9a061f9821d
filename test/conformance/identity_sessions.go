package conformance

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/modules/identity"
)

// Sessions checks the port identity.Sessions.
func Sessions(t *testing.T, open IdentityOpener) {
	runIdentity(t, open, map[string]func(*testing.T, *identityFixture){
		"principal":              principalReads,
		"several users":          sessionsOfSeveralUsers,
		"cookie":                 cookieFindsSession,
		"update":                 sessionUpdates,
		"end by user":            sessionsEnd,
		"list":                   activeSessionsAreListed,
		"refresh tokens":         refreshTokens,
		"concurrent refreshes":   refreshTokenUsedOnce,
		"ended during an update": endedDuringUpdate,
	})
}

// principalReads checks GetPrincipal: it returns a session with its user and with the user's active
// membership.
func principalReads(t *testing.T, fixture *identityFixture) {
	user := fixture.user("jo@example.org")
	session, _ := fixture.session(user)
	key := identity.SessionKey{ID: session.ID}

	// The user is returned without the password hash. A user without an organization has no membership.
	got := fixture.principal(key)
	require.Equal(t, session, got.Session)
	require.Equal(t, user.Email, got.User.Email)
	require.Equal(t, user.CreatedAt, got.User.CreatedAt)
	require.Empty(t, got.User.PasswordHash)
	require.Nil(t, got.Membership)

	// An invitation is not an active membership.
	otherOrg := fixture.organization(fixture.user("boss@example.org").ID)
	fixture.invite(otherOrg, "jo@example.org", identity.Admin)
	require.Nil(t, fixture.principal(key).Membership, "an invitation grants nothing")

	// The founder of an organization is an active member.
	org := fixture.organization(user.ID)
	got = fixture.principal(key)
	require.Equal(t, org.ID, got.Membership.OrganizationID)
	require.Equal(t, identity.Admin, got.Membership.Role)
	require.True(t, got.Membership.Founder)

	unknown := identity.SessionKey{ID: newID()}
	_, err := fixture.Sessions.GetPrincipal(t.Context(), unknown)
	require.ErrorIs(t, err, identity.ErrSessionNotFound)
}

// sessionsOfSeveralUsers checks that GetPrincipals returns several sessions, each with its own user and
// membership. It omits unknown sessions and those of locked users.
func sessionsOfSeveralUsers(t *testing.T, fixture *identityFixture) {
	admin := fixture.user("jo@example.org")
	seeker := fixture.user("al@example.org")
	locked := fixture.user("kim@example.org")
	fixture.organization(admin.ID)

	adminSession, _ := fixture.session(admin)
	seekerSession, _ := fixture.session(seeker)
	lockedSession, _ := fixture.session(locked)
	unknownID := newID()

	locked.Lock(fixture.now)
	require.NoError(t, fixture.Users.Update(t.Context(), &locked))

	got, err := fixture.Sessions.GetPrincipals(t.Context(),
		[]string{adminSession.ID, seekerSession.ID, lockedSession.ID, unknownID})
	require.NoError(t, err)
	require.ElementsMatch(t, []identity.Principal{
		fixture.principal(identity.SessionKey{ID: adminSession.ID}),
		fixture.principal(identity.SessionKey{ID: seekerSession.ID}),
	}, got)
}

// browserSession creates a session with a cookie.
func (fixture *identityFixture) browserSession(user identity.User) identity.Session {
	fixture.t.Helper()

	client := identity.Client{Address: "192.0.2.44", UserAgent: "agent"}
	session := identity.NewSession(newID(), user.ID, client, fixture.now)
	session.CookieHash = newID() // the storage does not interpret it: any unique text will do
	require.NoError(fixture.t, fixture.Sessions.Create(fixture.t.Context(), session))

	return session
}

// cookieFindsSession checks that a session is found by the hash of its cookie until the account's data is
// deleted. The storage never returns the hash.
func cookieFindsSession(t *testing.T, fixture *identityFixture) {
	ctx, user := t.Context(), fixture.user("jo@example.org")
	session := fixture.browserSession(user)
	fixture.browserSession(user) // another browser, which must not be found

	byCookie := identity.SessionKey{CookieHash: session.CookieHash}

	// The hash finds its session, which is returned without the hash.
	found := fixture.principal(byCookie)
	stored := session
	stored.CookieHash = ""
	require.Equal(t, stored, found.Session)
	require.Equal(t, user.ID, found.User.ID)

	// Ids, cookies and refresh tokens are different keys: an id does not pass as the hash of a cookie, nor the
	// hash of a cookie as that of a refresh token.
	idAsCookie := identity.SessionKey{CookieHash: session.ID}
	_, err := fixture.Sessions.GetPrincipal(ctx, idAsCookie)
	require.ErrorIs(t, err, identity.ErrSessionNotFound)

	cookieAsRefreshToken := session.CookieHash
	_, err = fixture.Sessions.GetRefreshToken(ctx, cookieAsRefreshToken)
	require.ErrorIs(t, err, identity.ErrSessionNotFound)

	// An ended session is still found. The service refuses it by its EndedAt.
	const exceptNone = ""
	require.NoError(t, fixture.Sessions.EndByUsers(ctx, []string{user.ID}, exceptNone, fixture.now))
	require.False(t, fixture.principal(byCookie).Session.IsAlive(fixture.now), "the session has ended")

	// With the data of the account, its sessions are deleted.
	require.NoError(t, fixture.PersonalData.DeleteByUser(ctx, user.ID))

	_, err = fixture.Sessions.GetPrincipal(ctx, byCookie)
	require.ErrorIs(t, err, identity.ErrSessionNotFound)
}

// sessionUpdates checks that Update changes a session of its own user only, and not after the session has ended.
func sessionUpdates(t *testing.T, fixture *identityFixture) {
	ctx, otherUser := t.Context(), fixture.user("al@example.org")
	session, _ := fixture.session(fixture.user("jo@example.org"))
	key := identity.SessionKey{ID: session.ID}

	// Another user cannot end the session.
	foreign := session
	foreign.UserID, foreign.EndedAt = otherUser.ID, fixture.now
	require.ErrorIs(t, fixture.Sessions.Update(ctx, foreign), identity.ErrSessionNotFound)
	require.Equal(t, session, fixture.principal(key).Session, "the session of another user")

	// The time of the last use is stored to the microsecond.
	session.LastUsedAt = fixture.now.Add(unroundedDelay)
	require.NoError(t, fixture.Sessions.Update(ctx, session))
	require.Equal(t, session, fixture.principal(key).Session)

	// The session ends.
	session.EndedAt = fixture.now.Add(time.Hour)
	require.NoError(t, fixture.Sessions.Update(ctx, session))
	require.Equal(t, session, fixture.principal(key).Session)

	// An ended session can neither be active again nor end at another time.
	activeAgain := session
	activeAgain.EndedAt = time.Time{}
	require.ErrorIs(t, fixture.Sessions.Update(ctx, activeAgain), identity.ErrSessionNotFound)

	endedLater := session
	endedLater.EndedAt = session.EndedAt.Add(time.Hour)
	require.ErrorIs(t, fixture.Sessions.Update(ctx, endedLater), identity.ErrSessionNotFound)

	require.Equal(t, session, fixture.principal(key).Session, "an ended session does not change")

	unknown := session
	unknown.ID = newID()
	require.ErrorIs(t, fixture.Sessions.Update(ctx, unknown), identity.ErrSessionNotFound)
}

// sessionsEnd checks that EndByUsers ends the active sessions of the given users, except the session with the
// given id. Sessions that have ended before keep their time.
func sessionsEnd(t *testing.T, fixture *identityFixture) {
	ctx := t.Context()

	// One user has two sessions, and two others have one each.
	user := fixture.user("jo@example.org")
	remaining, _ := fixture.session(user)
	ended, _ := fixture.session(user)

	second, third := fixture.user("second@example.org"), fixture.user("al@example.org")
	ofSecond, _ := fixture.session(second)
	ofThird, _ := fixture.session(third)

	endedAt := func(session identity.Session) time.Time {
		return fixture.principal(identity.SessionKey{ID: session.ID}).Session.EndedAt
	}

	const exceptNone = ""

	// First, all sessions of one user end but one. A call without users ends none.
	require.NoError(t, fixture.Sessions.EndByUsers(ctx, nil, exceptNone, fixture.now))
	require.NoError(t, fixture.Sessions.EndByUsers(ctx, []string{user.ID}, remaining.ID, fixture.now))
	require.Zero(t, endedAt(remaining), "the session is excepted")
	require.Equal(t, fixture.now, endedAt(ended))

	// Then all sessions of two users end. The third user keeps theirs.
	later := fixture.now.Add(time.Hour)
	require.NoError(t, fixture.Sessions.EndByUsers(ctx, []string{user.ID, second.ID}, exceptNone, later))
	require.Equal(t, later, endedAt(remaining))
	require.Equal(t, later, endedAt(ofSecond))
	require.Equal(t, fixture.now, endedAt(ended), "the session had ended before")
	require.Zero(t, endedAt(ofThird), "the call does not name the third user")
}

// activeSessionsAreListed checks that List returns the active sessions of one user, newest first. It leaves out
// ended and expired sessions. Without use, the session of a browser expires after 12 hours, and that of an API
// client after seven days.
func activeSessionsAreListed(t *testing.T, fixture *identityFixture) {
	user := fixture.user("jo@example.org")
	fixture.session(fixture.user("al@example.org")) // of another user

	list := func(now time.Time, request page.Request) (sessions []identity.Session, nextCursor string) {
		listed, err := fixture.Sessions.List(t.Context(), user.ID, now, request)
		require.NoError(t, err)
		return listed.Items, listed.NextCursor
	}

	none, _ := list(fixture.now, firstHundred)
	require.Empty(t, none, "the user has no session yet")

	// The user has three sessions: one of an API client, one that has ended, and one of a browser.
	client, _ := fixture.session(user)
	ended, _ := fixture.session(user)
	ended.EndedAt = fixture.now
	require.NoError(t, fixture.Sessions.Update(t.Context(), ended))

	browser := fixture.browserSession(user)

	// List sets Browser for a session with a cookie, but does not return the hash of the cookie.
	browser.CookieHash = ""
	browser.Browser = true

	// The active sessions are listed on one page, or on two pages of one session each.
	active, _ := list(fixture.now, firstHundred)
	require.Equal(t, []identity.Session{browser, client}, active)

	newest, cursor := list(fixture.now, page.Request{Number: 1, Size: 1})
	require.Equal(t, []identity.Session{browser}, newest)

	older, _ := list(fixture.now, page.Request{Number: 2, Size: 1, Cursor: cursor})
	require.Equal(t, []identity.Session{client}, older)

	// The sessions expire, because they are not used.
	afterHours, _ := list(fixture.now.Add(12*time.Hour), firstHundred)
	require.Equal(t, []identity.Session{client}, afterHours, "a browser expires after 12 hours without use")

	afterDays, _ := list(fixture.now.Add(7*24*time.Hour), firstHundred)
	require.Empty(t, afterDays, "the refresh token of the API client has expired")
}

// refreshTokens checks that the update of a refresh stores the new token, and the time at which the previous one
// was used. A later use of the previous token then shows that it was stolen.
func refreshTokens(t *testing.T, fixture *identityFixture) {
	session, token := fixture.session(fixture.user("jo@example.org"))
	read := func(hash string) identity.RefreshToken {
		got, err := fixture.Sessions.GetRefreshToken(t.Context(), hash)
		require.NoError(t, err)
		return got
	}

	require.Equal(t, token, read(token.Hash))

	refreshedAt := fixture.now.Add(time.Minute)
	next, _ := session.NewRefreshToken(refreshedAt)
	token.UsedAt = refreshedAt
	require.NoError(t, fixture.Sessions.Update(t.Context(), session, next, token))
	require.Equal(t, token, read(token.Hash))
	require.Equal(t, next, read(next.Hash))

	_, err := fixture.Sessions.GetRefreshToken(t.Context(), "unknown")
	require.ErrorIs(t, err, identity.ErrSessionNotFound)
}

// refreshTokenUsedOnce checks that one of twenty concurrent transactions finds a refresh token unused. Each first
// updates the session, so that the others wait for it, and then uses the token if no other one has.
func refreshTokenUsedOnce(t *testing.T, fixture *identityFixture) {
	session, token := fixture.session(fixture.user("jo@example.org"))

	uses := countConcurrent(t, 20, func(int) (wasUsedHere bool, err error) {
		err = fixture.do(func(ctx context.Context) error {
			wasUsedHere = false // the transaction may be repeated

			if err := fixture.Sessions.Update(ctx, session); err != nil {
				return err
			}

			found, err := fixture.Sessions.GetRefreshToken(ctx, token.Hash)
			if err != nil || !found.UsedAt.IsZero() {
				return err
			}

			found.UsedAt = fixture.now
			wasUsedHere = true

			return fixture.Sessions.Update(ctx, session, found)
		})

		return wasUsedHere, err
	})
	require.Equal(t, 1, uses)
}

// endedDuringUpdate checks that one of twenty concurrent transactions ends a session. The others fail, because
// the session has ended.
func endedDuringUpdate(t *testing.T, fixture *identityFixture) {
	session, _ := fixture.session(fixture.user("jo@example.org"))
	session.EndedAt = fixture.now

	succeeded := countConcurrent(t, 20, func(int) (isEndedHere bool, err error) {
		err = fixture.do(func(ctx context.Context) error { return fixture.Sessions.Update(ctx, session) })
		if errors.Is(err, identity.ErrSessionNotFound) {
			return false, nil
		}

		return err == nil, err
	})
	require.Equal(t, 1, succeeded)
}

// MailTokens checks the port identity.MailTokens: the tokens in the links of e-mails.
func MailTokens(t *testing.T, open IdentityOpener) {
	runIdentity(t, open, map[string]func(*testing.T, *identityFixture){
		"purpose and user":    mailTokenReads,
		"concurrent uses":     mailTokenUsedOnce,
		"mark several":        mailTokensMarkedTogether,
		"concurrent deletion": deletedGetsNoToken,
	})
}

// mailTokenReads checks that a token is found for its purpose only and marked as used for its
// user only.
func mailTokenReads(t *testing.T, fixture *identityFixture) {
	const noOrganization = ""
	ctx, otherUser := t.Context(), fixture.user("al@example.org")
	token := fixture.mailToken(fixture.user("jo@example.org"), identity.ForReset, noOrganization)

	// Get needs the hash and the purpose of the token.
	got, err := fixture.MailTokens.Get(ctx, token.Hash, identity.ForReset)
	require.NoError(t, err)
	require.Equal(t, token, got)

	_, err = fixture.MailTokens.Get(ctx, token.Hash, identity.ForVerification)
	require.ErrorIs(t, err, identity.ErrTokenNotFound)

	_, err = fixture.MailTokens.Get(ctx, "unknown", identity.ForReset)
	require.ErrorIs(t, err, identity.ErrTokenNotFound)

	// MarkUsed marks the token for its user, but not for another one.
	byHash := identity.MailTokenFilter{Hash: token.Hash}
	marked, err := fixture.MailTokens.MarkUsed(ctx, otherUser.ID, byHash, fixture.now)
	require.NoError(t, err)
	require.Zero(t, marked)

	marked, err = fixture.MailTokens.MarkUsed(ctx, token.UserID, byHash, fixture.now)
	require.NoError(t, err)
	require.Equal(t, 1, marked)

	// A used token is still found, with the time of its use.
	got, err = fixture.MailTokens.Get(ctx, token.Hash, identity.ForReset)
	require.NoError(t, err)
	require.Equal(t, fixture.now, got.UsedAt)
}

// mailTokenUsedOnce checks that one of twenty concurrent uses of a link succeeds.
func mailTokenUsedOnce(t *testing.T, fixture *identityFixture) {
	const noOrganization = ""
	token := fixture.mailToken(fixture.user("jo@example.org"), identity.ForReset, noOrganization)
	byHash := identity.MailTokenFilter{Hash: token.Hash}

	uses := countConcurrent(t, 20, func(int) (wasUsedHere bool, err error) {
		marked, err := fixture.MailTokens.MarkUsed(t.Context(), token.UserID, byHash, fixture.now)
		return marked == 1, err
	})
	require.Equal(t, 1, uses)
}

// mailTokensMarkedTogether checks that MarkUsed marks all tokens of the user that match the filter, and no others.
// The user has five tokens: two resets, a verification, and invitations of two organizations.
func mailTokensMarkedTogether(t *testing.T, fixture *identityFixture) {
	user := fixture.user("jo@example.org")
	inviting := fixture.organization(fixture.user("a@example.org").ID)
	otherInviting := fixture.organization(fixture.user("b@example.org").ID)
	const noOrganization = ""

	tokens := map[string]identity.MailToken{
		"reset":            fixture.mailToken(user, identity.ForReset, noOrganization),
		"second reset":     fixture.mailToken(user, identity.ForReset, noOrganization),
		"verification":     fixture.mailToken(user, identity.ForVerification, noOrganization),
		"invitation":       fixture.mailToken(user, identity.ForInvitation, inviting.ID),
		"other invitation": fixture.mailToken(user, identity.ForInvitation, otherInviting.ID),
	}

	// usable returns the names of the tokens that are not marked. Each token keeps its organization.
	usable := func() (names []string) {
		for name, token := range tokens {
			got, err := fixture.MailTokens.Get(t.Context(), token.Hash, token.Purpose)
			require.NoError(t, err)
			require.Equal(t, token.OrganizationID, got.OrganizationID)

			if got.IsUsable(fixture.now) {
				names = append(names, name)
			}
		}

		return names
	}

	// By purpose and organization.
	invitation := identity.MailTokenFilter{Purpose: identity.ForInvitation, OrganizationID: inviting.ID}
	marked, err := fixture.MailTokens.MarkUsed(t.Context(), user.ID, invitation, fixture.now)
	require.NoError(t, err)
	require.Equal(t, 1, marked)
	require.ElementsMatch(t, []string{"reset", "second reset", "verification", "other invitation"}, usable())

	// By purpose.
	resets := identity.MailTokenFilter{Purpose: identity.ForReset}
	marked, err = fixture.MailTokens.MarkUsed(t.Context(), user.ID, resets, fixture.now)
	require.NoError(t, err)
	require.Equal(t, 2, marked)
	require.ElementsMatch(t, []string{"verification", "other invitation"}, usable())
}

// deletedGetsNoToken checks that no token of a deleted account remains, with twenty transactions that create one
// while another transaction deletes the account. Tokens that are created before are deleted with the account. A
// later creation fails with ErrUserNotFound.
func deletedGetsNoToken(t *testing.T, fixture *identityFixture) {
	ctx, user := t.Context(), fixture.user("jo@example.org")

	var tokens [20]identity.MailToken
	for i := range tokens {
		tokens[i], _ = identity.NewMailToken(user.ID, user.Email, identity.ForReset, fixture.now)
	}

	deleteAccount := func(ctx context.Context) error {
		user, err := fixture.Users.GetForUpdate(ctx, user.ID)
		if err != nil {
			return err
		}

		user.Erase(fixture.now)

		if err := fixture.Users.Update(ctx, &user); err != nil {
			return err
		}

		return fixture.PersonalData.DeleteByUser(ctx, user.ID)
	}

	// Each call creates the token with its number. The last call, which has no token, deletes the account.
	deletion := len(tokens)
	runConcurrently(t, len(tokens)+1, func(i int) error {
		if i == deletion {
			return fixture.do(deleteAccount)
		}

		err := fixture.do(func(ctx context.Context) error { return fixture.MailTokens.Create(ctx, tokens[i]) })
		if errors.Is(err, identity.ErrUserNotFound) {
			return nil
		}

		return err
	})

	for _, token := range tokens {
		_, err := fixture.MailTokens.Get(ctx, token.Hash, identity.ForReset)
		require.ErrorIs(t, err, identity.ErrTokenNotFound, "a token of a deleted account")
	}

	// The address of the deleted account is available again.
	second := fixture.user("jo@example.org")
	require.NotEqual(t, user.ID, second.ID)
}
