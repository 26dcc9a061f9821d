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

// principalReads checks that a session is returned with its user, without the password hash,
// and with the active membership.
func principalReads(t *testing.T, fixture *identityFixture) {
	user := fixture.user("jo@example.org")
	session, _ := fixture.session(user)
	key := identity.SessionKey{ID: session.ID}
	got := fixture.principal(key)
	require.Equal(t, session, got.Session)
	require.Equal(t, user.Email, got.User.Email)
	require.Equal(t, user.CreatedAt, got.User.CreatedAt)
	require.Empty(t, got.User.PasswordHash)
	require.Nil(t, got.Membership)

	otherOrg := fixture.organization(fixture.user("boss@example.org").ID)
	fixture.invite(otherOrg, "jo@example.org", identity.Admin)
	require.Nil(t, fixture.principal(key).Membership, "an invitation grants nothing")

	org := fixture.organization(user.ID)
	got = fixture.principal(key)
	require.Equal(t, org.ID, got.Membership.OrganizationID)
	require.Equal(t, identity.Admin, got.Membership.Role)
	require.True(t, got.Membership.Founder)

	_, err := fixture.Sessions.GetPrincipal(t.Context(), identity.SessionKey{ID: newID()})
	require.ErrorIs(t, err, identity.ErrSessionNotFound)
}

// sessionsOfSeveralUsers checks that one call reads several sessions, each with its own user and
// membership, and omits unknown sessions and those of locked users.
func sessionsOfSeveralUsers(t *testing.T, fixture *identityFixture) {
	admin := fixture.user("jo@example.org")
	seeker := fixture.user("al@example.org")
	locked := fixture.user("kim@example.org")
	fixture.organization(admin.ID)

	adminSession, _ := fixture.session(admin)
	seekerSession, _ := fixture.session(seeker)
	lockedSession, _ := fixture.session(locked)
	locked.Lock(fixture.now)
	require.NoError(t, fixture.Users.Update(t.Context(), &locked))

	ids := []string{adminSession.ID, seekerSession.ID, lockedSession.ID, newID()}
	got, err := fixture.Sessions.GetPrincipals(t.Context(), ids)
	require.NoError(t, err)
	require.ElementsMatch(t, []identity.Principal{
		fixture.principal(identity.SessionKey{ID: adminSession.ID}),
		fixture.principal(identity.SessionKey{ID: seekerSession.ID}),
	}, got)
}

// browserSession creates a session with a cookie.
func (p *identityFixture) browserSession(user identity.User) identity.Session {
	p.t.Helper()

	session := identity.NewSession(newID(), user.ID, identity.Client{Address: "192.0.2.44", UserAgent: "agent"}, p.now)
	session.CookieHash = newID()
	require.NoError(p.t, p.Sessions.Create(p.t.Context(), session))

	return session
}

// cookieFindsSession checks that the hash of a cookie finds its session, is never returned, and
// is deleted with the account.
func cookieFindsSession(t *testing.T, fixture *identityFixture) {
	ctx, user := t.Context(), fixture.user("jo@example.org")
	session := fixture.browserSession(user)
	fixture.browserSession(user)

	key := identity.SessionKey{CookieHash: session.CookieHash}
	got := fixture.principal(key)
	session.CookieHash = ""
	require.Equal(t, session, got.Session)
	require.Equal(t, user.ID, got.User.ID)

	_, err := fixture.Sessions.GetPrincipal(ctx, identity.SessionKey{CookieHash: session.ID})
	require.ErrorIs(t, err, identity.ErrSessionNotFound)

	_, err = fixture.Sessions.GetRefreshToken(ctx, key.CookieHash)
	require.ErrorIs(t, err, identity.ErrSessionNotFound)
	require.NoError(t, fixture.Sessions.EndByUsers(ctx, []string{user.ID}, "", fixture.now))
	require.False(t, fixture.principal(key).Session.Alive(fixture.now))
	require.NoError(t, fixture.PersonalData.DeleteByUser(ctx, user.ID))

	_, err = fixture.Sessions.GetPrincipal(ctx, key)
	require.ErrorIs(t, err, identity.ErrSessionNotFound)
}

// sessionUpdates checks that an update needs the owner of the session, and that an ended
// session stays as it is.
func sessionUpdates(t *testing.T, fixture *identityFixture) {
	ctx, otherUser := t.Context(), fixture.user("al@example.org")
	session, _ := fixture.session(fixture.user("jo@example.org"))
	key := identity.SessionKey{ID: session.ID}
	foreign := session
	foreign.UserID, foreign.EndedAt = otherUser.ID, fixture.now
	require.ErrorIs(t, fixture.Sessions.Update(ctx, foreign), identity.ErrSessionNotFound)
	require.Equal(t, session, fixture.principal(key).Session, "the session of another user")

	session.LastUsedAt = fixture.now.Add(1234567 * time.Microsecond)
	require.NoError(t, fixture.Sessions.Update(ctx, session))
	require.Equal(t, session, fixture.principal(key).Session)

	session.EndedAt = fixture.now.Add(time.Hour)
	require.NoError(t, fixture.Sessions.Update(ctx, session))
	require.Equal(t, session, fixture.principal(key).Session)

	for _, second := range []time.Time{{}, fixture.now.Add(2 * time.Hour)} {
		late := session
		late.EndedAt = second
		require.ErrorIs(t, fixture.Sessions.Update(ctx, late), identity.ErrSessionNotFound)
	}

	require.Equal(t, session, fixture.principal(key).Session, "an ended session does not change")

	session.ID = newID()
	require.ErrorIs(t, fixture.Sessions.Update(ctx, session), identity.ErrSessionNotFound)
}

// sessionsEnd checks that the sessions of the given users end, except one, and that sessions
// that have ended keep their time.
func sessionsEnd(t *testing.T, fixture *identityFixture) {
	ctx := t.Context()
	user, second, third := fixture.user("jo@example.org"), fixture.user("second@example.org"), fixture.user("al@example.org")
	remaining, _ := fixture.session(user)
	ended, _ := fixture.session(user)
	others, _ := fixture.session(second)
	foreign, _ := fixture.session(third)
	endedAt := func(session identity.Session) time.Time {
		return fixture.principal(identity.SessionKey{ID: session.ID}).Session.EndedAt
	}

	require.NoError(t, fixture.Sessions.EndByUsers(ctx, nil, "", fixture.now))
	require.NoError(t, fixture.Sessions.EndByUsers(ctx, []string{user.ID}, remaining.ID, fixture.now))
	require.Zero(t, endedAt(remaining))
	require.Equal(t, fixture.now, endedAt(ended))

	later := fixture.now.Add(time.Hour)
	require.NoError(t, fixture.Sessions.EndByUsers(ctx, []string{user.ID, second.ID}, "", later))
	require.Equal(t, later, endedAt(remaining))
	require.Equal(t, later, endedAt(others))
	require.Equal(t, fixture.now, endedAt(ended), "it had ended before")
	require.Zero(t, endedAt(foreign))
}

// activeSessionsAreListed checks that ended and expired sessions are not listed. Browsers
// expire sooner than API clients.
func activeSessionsAreListed(t *testing.T, fixture *identityFixture) {
	user := fixture.user("jo@example.org")
	fixture.session(fixture.user("al@example.org"))

	list := func(now time.Time, r page.Request) ([]identity.Session, string) {
		got, err := fixture.Sessions.List(t.Context(), user.ID, now, r)
		require.NoError(t, err)
		return got.Items, got.NextCursor
	}

	all := page.Request{Number: 1, Size: 10}
	none, _ := list(fixture.now, all)
	require.Empty(t, none)

	first, _ := fixture.session(user)
	ended, _ := fixture.session(user)
	ended.EndedAt = fixture.now
	require.NoError(t, fixture.Sessions.Update(t.Context(), ended))

	browser := fixture.browserSession(user)
	browser.Browser, browser.CookieHash = true, ""
	found, _ := list(fixture.now, all)
	require.Equal(t, []identity.Session{browser, first}, found)

	newest, cursor := list(fixture.now, page.Request{Number: 1, Size: 1})
	require.Equal(t, []identity.Session{browser}, newest)

	older, _ := list(fixture.now, page.Request{Number: 2, Size: 1, Cursor: cursor})
	require.Equal(t, []identity.Session{first}, older)

	idle, _ := list(fixture.now.Add(12*time.Hour), all)
	require.Equal(t, []identity.Session{first}, idle, "a browser expires after 12 hours without use")

	stale, _ := list(fixture.now.Add(7*24*time.Hour), all)
	require.Empty(t, stale, "the refresh token has expired")
}

// refreshTokens checks that a refresh stores the new token and when the previous one was used,
// which is how a stolen token is detected.
func refreshTokens(t *testing.T, fixture *identityFixture) {
	session, token := fixture.session(fixture.user("jo@example.org"))
	read := func(hash string) identity.RefreshToken {
		got, err := fixture.Sessions.GetRefreshToken(t.Context(), hash)
		require.NoError(t, err)
		return got
	}

	require.Equal(t, token, read(token.Hash))

	next, _ := session.NewRefreshToken(fixture.now.Add(time.Minute))
	token.UsedAt = fixture.now.Add(time.Minute)
	require.NoError(t, fixture.Sessions.Update(t.Context(), session, next, token))
	require.Equal(t, token, read(token.Hash))
	require.Equal(t, next, read(next.Hash))

	_, err := fixture.Sessions.GetRefreshToken(t.Context(), "unknown")
	require.ErrorIs(t, err, identity.ErrSessionNotFound)
}

// refreshTokenUsedOnce uses a token as the service does, in twenty transactions at once.
func refreshTokenUsedOnce(t *testing.T, fixture *identityFixture) {
	session, token := fixture.session(fixture.user("jo@example.org"))
	require.Equal(t, 1, countConcurrent(t, 20, func(int) (wasUsed bool, err error) {
		return wasUsed, fixture.do(func(ctx context.Context) error {
			wasUsed = false

			if err := fixture.Sessions.Update(ctx, session); err != nil {
				return err
			}

			found, err := fixture.Sessions.GetRefreshToken(ctx, token.Hash)
			if err != nil || !found.UsedAt.IsZero() {
				return err
			}

			wasUsed, found.UsedAt = true, fixture.now

			return fixture.Sessions.Update(ctx, session, found)
		})
	}))
}

// endedDuringUpdate ends a session in concurrent transactions, of which one succeeds.
func endedDuringUpdate(t *testing.T, fixture *identityFixture) {
	session, _ := fixture.session(fixture.user("jo@example.org"))
	session.EndedAt = fixture.now
	require.Equal(t, 1, countConcurrent(t, 20, func(int) (bool, error) {
		err := fixture.do(func(ctx context.Context) error { return fixture.Sessions.Update(ctx, session) })
		if errors.Is(err, identity.ErrSessionNotFound) {
			return false, nil
		}

		return err == nil, err
	}))
}

// MailTokens checks the port identity.MailTokens.
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
	ctx, otherUser := t.Context(), fixture.user("al@example.org")
	token := fixture.mailToken(fixture.user("jo@example.org"), identity.ForReset, "")
	got, err := fixture.MailTokens.Get(ctx, token.Hash, identity.ForReset)
	require.NoError(t, err)
	require.Equal(t, token, got)

	_, err = fixture.MailTokens.Get(ctx, token.Hash, identity.ForVerification)
	require.ErrorIs(t, err, identity.ErrTokenNotFound)

	_, err = fixture.MailTokens.Get(ctx, "unknown", identity.ForReset)
	require.ErrorIs(t, err, identity.ErrTokenNotFound)

	n, err := fixture.MailTokens.MarkUsed(ctx, otherUser.ID, identity.MailTokenFilter{Hash: token.Hash}, fixture.now)
	require.NoError(t, err)
	require.Zero(t, n)

	n, err = fixture.MailTokens.MarkUsed(ctx, token.UserID, identity.MailTokenFilter{Hash: token.Hash}, fixture.now)
	require.NoError(t, err)
	require.Equal(t, 1, n)

	got, err = fixture.MailTokens.Get(ctx, token.Hash, identity.ForReset)
	require.NoError(t, err)
	require.Equal(t, fixture.now, got.UsedAt)
}

// mailTokenUsedOnce checks that one of twenty concurrent uses of a link succeeds.
func mailTokenUsedOnce(t *testing.T, fixture *identityFixture) {
	token := fixture.mailToken(fixture.user("jo@example.org"), identity.ForReset, "")
	require.Equal(t, 1, countConcurrent(t, 20, func(int) (bool, error) {
		n, err := fixture.MailTokens.MarkUsed(t.Context(), token.UserID, identity.MailTokenFilter{Hash: token.Hash},
			fixture.now)
		return n == 1, err
	}))
}

// mailTokensMarkedTogether checks that a filter by purpose and organization marks all matching
// tokens and no others.
func mailTokensMarkedTogether(t *testing.T, fixture *identityFixture) {
	user := fixture.user("jo@example.org")
	orgs := []identity.Organization{
		fixture.organization(fixture.user("a@example.org").ID),
		fixture.organization(fixture.user("b@example.org").ID),
	}

	// add stores a token and returns a function that reports whether it is usable.
	add := func(purpose identity.Purpose, organizationID string) func() bool {
		token := fixture.mailToken(user, purpose, organizationID)

		return func() bool {
			got, err := fixture.MailTokens.Get(t.Context(), token.Hash, purpose)
			require.NoError(t, err)
			require.Equal(t, organizationID, got.OrganizationID)

			return got.Usable(fixture.now)
		}
	}

	reset := add(identity.ForReset, "")
	again := add(identity.ForReset, "")
	verify := add(identity.ForVerification, "")
	first, second := add(identity.ForInvitation, orgs[0].ID), add(identity.ForInvitation, orgs[1].ID)
	n, err := fixture.MailTokens.MarkUsed(t.Context(), user.ID,
		identity.MailTokenFilter{Purpose: identity.ForInvitation, OrganizationID: orgs[0].ID}, fixture.now)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.Equal(t, []bool{true, true, true, false, true}, []bool{reset(), again(), verify(), first(), second()})

	n, err = fixture.MailTokens.MarkUsed(t.Context(), user.ID, identity.MailTokenFilter{Purpose: identity.ForReset},
		fixture.now)
	require.NoError(t, err)
	require.Equal(t, 2, n)
	require.Equal(t, []bool{false, false, true, false, true}, []bool{reset(), again(), verify(), first(), second()})
}

// deletedGetsNoToken creates twenty tokens while the account is deleted.
func deletedGetsNoToken(t *testing.T, fixture *identityFixture) {
	ctx, user := t.Context(), fixture.user("jo@example.org")

	var tokens [20]identity.MailToken
	for i := range tokens {
		tokens[i], _ = identity.NewMailToken(user.ID, user.Email, identity.ForReset, fixture.now)
	}

	runConcurrently(t, len(tokens)+1, func(i int) error {
		err := fixture.do(func(ctx context.Context) error {
			if i < len(tokens) {
				return fixture.MailTokens.Create(ctx, tokens[i])
			}

			user, err := fixture.Users.GetForUpdate(ctx, user.ID)
			if err != nil {
				return err
			}

			user.Erase(fixture.now)

			if err := fixture.Users.Update(ctx, &user); err != nil {
				return err
			}

			return fixture.PersonalData.DeleteByUser(ctx, user.ID)
		})
		if i < len(tokens) && errors.Is(err, identity.ErrUserNotFound) {
			return nil
		}

		return err
	})

	for _, token := range tokens {
		_, err := fixture.MailTokens.Get(ctx, token.Hash, identity.ForReset)
		require.ErrorIs(t, err, identity.ErrTokenNotFound, "earlier tokens are deleted with the account")
	}

	second := fixture.user("jo@example.org")
	require.NotEqual(t, user.ID, second.ID, "the address is available again")
}
