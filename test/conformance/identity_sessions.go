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
	runIdentity(t, open, map[string]func(*testing.T, *people){
		"principal":              principalReads,
		"cookie":                 cookieFindsSession,
		"update":                 sessionUpdates,
		"end by user":            sessionsEnd,
		"list":                   activeSessionsAreListed,
		"refresh tokens":         refreshTokens,
		"concurrent refreshes":   refreshTokenUsedOnce,
		"ended during an update": endedDuringUpdate,
	})
}

func principalReads(t *testing.T, p *people) {
	u := p.user("jo@example.org")
	s, _ := p.session(u)
	key := identity.SessionKey{ID: s.ID}
	got := p.principal(key)
	require.Equal(t, s, got.Session)
	require.Equal(t, u.Email, got.User.Email)
	require.Equal(t, u.CreatedAt, got.User.CreatedAt)
	require.Empty(t, got.User.PasswordHash)
	require.Nil(t, got.Membership)

	other := p.organization(p.user("boss@example.org").ID)
	p.invite(other, "jo@example.org", identity.Admin)
	require.Nil(t, p.principal(key).Membership, "an invitation grants nothing")

	o := p.organization(u.ID)
	got = p.principal(key)
	require.Equal(t, o.ID, got.Membership.OrganizationID)
	require.Equal(t, identity.Admin, got.Membership.Role)
	require.True(t, got.Membership.Founder)
	_, err := p.Sessions.GetPrincipal(t.Context(), identity.SessionKey{ID: newID()})
	require.ErrorIs(t, err, identity.ErrSessionNotFound)
}

func (p *people) browserSession(u identity.User) identity.Session {
	p.t.Helper()
	s := identity.NewSession(newID(), u.ID, identity.Client{Address: "192.0.2.44", UserAgent: "agent"}, p.now)
	s.CookieHash = newID()
	require.NoError(p.t, p.Sessions.Create(p.t.Context(), s))
	return s
}

func cookieFindsSession(t *testing.T, p *people) {
	ctx, u := t.Context(), p.user("jo@example.org")
	s := p.browserSession(u)
	p.browserSession(u)
	key := identity.SessionKey{CookieHash: s.CookieHash}
	got := p.principal(key)
	s.CookieHash = ""
	require.Equal(t, s, got.Session)
	require.Equal(t, u.ID, got.User.ID)
	_, err := p.Sessions.GetPrincipal(ctx, identity.SessionKey{CookieHash: s.ID})
	require.ErrorIs(t, err, identity.ErrSessionNotFound)
	_, err = p.Sessions.GetRefreshToken(ctx, key.CookieHash)
	require.ErrorIs(t, err, identity.ErrSessionNotFound)
	require.NoError(t, p.Sessions.EndByUsers(ctx, []string{u.ID}, "", p.now))
	require.False(t, p.principal(key).Session.Alive(p.now))
	require.NoError(t, p.PersonalData.DeleteByUser(ctx, u.ID))
	_, err = p.Sessions.GetPrincipal(ctx, key)
	require.ErrorIs(t, err, identity.ErrSessionNotFound)
}

func sessionUpdates(t *testing.T, p *people) {
	ctx, other := t.Context(), p.user("al@example.org")
	s, _ := p.session(p.user("jo@example.org"))
	key := identity.SessionKey{ID: s.ID}
	foreign := s
	foreign.UserID, foreign.EndedAt = other.ID, p.now
	require.ErrorIs(t, p.Sessions.Update(ctx, foreign), identity.ErrSessionNotFound)
	require.Equal(t, s, p.principal(key).Session, "the session of another user")
	s.LastUsedAt = p.now.Add(1234567 * time.Microsecond)
	require.NoError(t, p.Sessions.Update(ctx, s))
	require.Equal(t, s, p.principal(key).Session)
	s.EndedAt = p.now.Add(time.Hour)
	require.NoError(t, p.Sessions.Update(ctx, s))
	require.Equal(t, s, p.principal(key).Session)
	for _, again := range []time.Time{{}, p.now.Add(2 * time.Hour)} {
		late := s
		late.EndedAt = again
		require.ErrorIs(t, p.Sessions.Update(ctx, late), identity.ErrSessionNotFound)
	}
	require.Equal(t, s, p.principal(key).Session, "an ended session does not change")
	s.ID = newID()
	require.ErrorIs(t, p.Sessions.Update(ctx, s), identity.ErrSessionNotFound)
}

func sessionsEnd(t *testing.T, p *people) {
	ctx := t.Context()
	u, second, third := p.user("jo@example.org"), p.user("second@example.org"), p.user("al@example.org")
	kept, _ := p.session(u)
	ended, _ := p.session(u)
	others, _ := p.session(second)
	foreign, _ := p.session(third)
	endedAt := func(s identity.Session) time.Time { return p.principal(identity.SessionKey{ID: s.ID}).Session.EndedAt }
	require.NoError(t, p.Sessions.EndByUsers(ctx, nil, "", p.now))
	require.NoError(t, p.Sessions.EndByUsers(ctx, []string{u.ID}, kept.ID, p.now))
	require.Zero(t, endedAt(kept))
	require.Equal(t, p.now, endedAt(ended))
	later := p.now.Add(time.Hour)
	require.NoError(t, p.Sessions.EndByUsers(ctx, []string{u.ID, second.ID}, "", later))
	require.Equal(t, later, endedAt(kept))
	require.Equal(t, later, endedAt(others))
	require.Equal(t, p.now, endedAt(ended), "it had ended before")
	require.Zero(t, endedAt(foreign))
}

func activeSessionsAreListed(t *testing.T, p *people) {
	u := p.user("jo@example.org")
	p.session(p.user("al@example.org"))
	list := func(now time.Time, r page.Request) ([]identity.Session, string) {
		got, err := p.Sessions.List(t.Context(), u.ID, now, r)
		require.NoError(t, err)
		return got.Items, got.NextCursor
	}
	all := page.Request{Number: 1, Size: 10}
	none, _ := list(p.now, all)
	require.Empty(t, none)
	first, _ := p.session(u)
	ended, _ := p.session(u)
	ended.EndedAt = p.now
	require.NoError(t, p.Sessions.Update(t.Context(), ended))
	browser := p.browserSession(u)
	browser.Browser, browser.CookieHash = true, ""
	found, _ := list(p.now, all)
	require.Equal(t, []identity.Session{browser, first}, found)
	newest, cursor := list(p.now, page.Request{Number: 1, Size: 1})
	require.Equal(t, []identity.Session{browser}, newest)
	older, _ := list(p.now, page.Request{Number: 2, Size: 1, Cursor: cursor})
	require.Equal(t, []identity.Session{first}, older)
	idle, _ := list(p.now.Add(12*time.Hour), all)
	require.Equal(t, []identity.Session{first}, idle, "a browser expires after 12 hours without use")
	stale, _ := list(p.now.Add(7*24*time.Hour), all)
	require.Empty(t, stale, "the refresh token has expired")
}

func refreshTokens(t *testing.T, p *people) {
	s, token := p.session(p.user("jo@example.org"))
	read := func(hash string) identity.RefreshToken {
		got, err := p.Sessions.GetRefreshToken(t.Context(), hash)
		require.NoError(t, err)
		return got
	}
	require.Equal(t, token, read(token.Hash))
	next, _ := s.NewRefreshToken(p.now.Add(time.Minute))
	token.UsedAt = p.now.Add(time.Minute)
	require.NoError(t, p.Sessions.Update(t.Context(), s, next, token))
	require.Equal(t, token, read(token.Hash))
	require.Equal(t, next, read(next.Hash))
	_, err := p.Sessions.GetRefreshToken(t.Context(), "unknown")
	require.ErrorIs(t, err, identity.ErrSessionNotFound)
}

// refreshTokenUsedOnce uses a token as the service does, in twenty transactions at once.
func refreshTokenUsedOnce(t *testing.T, p *people) {
	s, token := p.session(p.user("jo@example.org"))
	require.Equal(t, 1, atOnce(t, 20, func(int) (used bool, err error) {
		return used, p.do(func(ctx context.Context) error {
			used = false
			if err := p.Sessions.Update(ctx, s); err != nil {
				return err
			}
			found, err := p.Sessions.GetRefreshToken(ctx, token.Hash)
			if err != nil || !found.UsedAt.IsZero() {
				return err
			}
			used, found.UsedAt = true, p.now
			return p.Sessions.Update(ctx, s, found)
		})
	}))
}

// endedDuringUpdate ends a session in concurrent transactions, of which one succeeds.
func endedDuringUpdate(t *testing.T, p *people) {
	s, _ := p.session(p.user("jo@example.org"))
	s.EndedAt = p.now
	require.Equal(t, 1, atOnce(t, 20, func(int) (bool, error) {
		err := p.do(func(ctx context.Context) error { return p.Sessions.Update(ctx, s) })
		if errors.Is(err, identity.ErrSessionNotFound) {
			return false, nil
		}
		return err == nil, err
	}))
}

// MailTokens checks the port identity.MailTokens.
func MailTokens(t *testing.T, open IdentityOpener) {
	runIdentity(t, open, map[string]func(*testing.T, *people){
		"purpose and user":    mailTokenReads,
		"concurrent uses":     mailTokenUsedOnce,
		"mark several":        mailTokensMarkedTogether,
		"concurrent deletion": deletedGetsNoToken,
	})
}

func mailTokenReads(t *testing.T, p *people) {
	ctx, other := t.Context(), p.user("al@example.org")
	token := p.mailToken(p.user("jo@example.org"), identity.ForReset, "")
	got, err := p.MailTokens.Get(ctx, token.Hash, identity.ForReset)
	require.NoError(t, err)
	require.Equal(t, token, got)
	_, err = p.MailTokens.Get(ctx, token.Hash, identity.ForVerification)
	require.ErrorIs(t, err, identity.ErrTokenNotFound)
	_, err = p.MailTokens.Get(ctx, "unknown", identity.ForReset)
	require.ErrorIs(t, err, identity.ErrTokenNotFound)
	n, err := p.MailTokens.MarkUsed(ctx, other.ID, identity.MailTokenFilter{Hash: token.Hash}, p.now)
	require.NoError(t, err)
	require.Zero(t, n)
	n, err = p.MailTokens.MarkUsed(ctx, token.UserID, identity.MailTokenFilter{Hash: token.Hash}, p.now)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	got, err = p.MailTokens.Get(ctx, token.Hash, identity.ForReset)
	require.NoError(t, err)
	require.Equal(t, p.now, got.UsedAt)
}

func mailTokenUsedOnce(t *testing.T, p *people) {
	token := p.mailToken(p.user("jo@example.org"), identity.ForReset, "")
	require.Equal(t, 1, atOnce(t, 20, func(int) (bool, error) {
		n, err := p.MailTokens.MarkUsed(t.Context(), token.UserID, identity.MailTokenFilter{Hash: token.Hash}, p.now)
		return n == 1, err
	}))
}

func mailTokensMarkedTogether(t *testing.T, p *people) {
	u := p.user("jo@example.org")
	orgs := []identity.Organization{p.organization(p.user("a@example.org").ID), p.organization(p.user("b@example.org").ID)}
	add := func(purpose identity.Purpose, organizationID string) func() bool {
		token := p.mailToken(u, purpose, organizationID)
		return func() bool {
			got, err := p.MailTokens.Get(t.Context(), token.Hash, purpose)
			require.NoError(t, err)
			require.Equal(t, organizationID, got.OrganizationID)
			return got.Usable(p.now)
		}
	}
	reset, again, verify := add(identity.ForReset, ""), add(identity.ForReset, ""), add(identity.ForVerification, "")
	first, second := add(identity.ForInvitation, orgs[0].ID), add(identity.ForInvitation, orgs[1].ID)
	n, err := p.MailTokens.MarkUsed(t.Context(), u.ID, identity.MailTokenFilter{Purpose: identity.ForInvitation, OrganizationID: orgs[0].ID}, p.now)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.Equal(t, []bool{true, true, true, false, true}, []bool{reset(), again(), verify(), first(), second()})
	n, err = p.MailTokens.MarkUsed(t.Context(), u.ID, identity.MailTokenFilter{Purpose: identity.ForReset}, p.now)
	require.NoError(t, err)
	require.Equal(t, 2, n)
	require.Equal(t, []bool{false, false, true, false, true}, []bool{reset(), again(), verify(), first(), second()})
}

// deletedGetsNoToken creates twenty tokens while the account is deleted.
func deletedGetsNoToken(t *testing.T, p *people) {
	ctx, u := t.Context(), p.user("jo@example.org")
	var tokens [20]identity.MailToken
	for i := range tokens {
		tokens[i], _ = identity.NewMailToken(u.ID, u.Email, identity.ForReset, p.now)
	}
	together(t, len(tokens)+1, func(i int) error {
		err := p.do(func(ctx context.Context) error {
			if i < len(tokens) {
				return p.MailTokens.Create(ctx, tokens[i])
			}
			u, err := p.Users.GetForUpdate(ctx, u.ID)
			if err != nil {
				return err
			}
			u.Erase(p.now)
			if err := p.Users.Update(ctx, &u); err != nil {
				return err
			}
			return p.PersonalData.DeleteByUser(ctx, u.ID)
		})
		if i < len(tokens) && errors.Is(err, identity.ErrUserNotFound) {
			return nil
		}
		return err
	})
	for _, token := range tokens {
		_, err := p.MailTokens.Get(ctx, token.Hash, identity.ForReset)
		require.ErrorIs(t, err, identity.ErrTokenNotFound, "earlier tokens are deleted with the account")
	}
	again := p.user("jo@example.org")
	require.NotEqual(t, u.ID, again.ID, "the address is available again")
}
