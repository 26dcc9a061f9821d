package conformance

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/modules/identity"
)

func principalReadsBack(t *testing.T, p *people) {
	u := p.user("jo@example.org")
	s, _ := p.session(u)
	got, err := p.Identity.Sessions.Principal(p.t.Context(), s.ID)
	require.NoError(t, err)
	require.Equal(t, s, got.Session)
	require.Equal(t, u.Email, got.User.Email)
	require.Equal(t, u.CreatedAt, got.User.CreatedAt)
	require.Empty(t, got.User.PasswordHash)
	require.Nil(t, got.Membership)

	other := p.organization(p.user("boss@example.org").ID)
	p.invite(other, "jo@example.org", identity.Admin)
	got, err = p.Identity.Sessions.Principal(p.t.Context(), s.ID)
	require.NoError(t, err)
	require.Nil(t, got.Membership, "an invitation gives nothing")

	o := p.organization(u.ID)
	got, err = p.Identity.Sessions.Principal(p.t.Context(), s.ID)
	require.NoError(t, err)
	require.Equal(t, o.ID, got.Membership.OrganizationID)
	require.Equal(t, identity.Admin, got.Membership.Role)
	require.True(t, got.Membership.Founder)
	_, err = p.Identity.Sessions.Principal(p.t.Context(), uid())
	require.ErrorIs(t, err, identity.ErrSessionNotFound)
}

func sessionEnds(t *testing.T, p *people) {
	u, other := p.user("jo@example.org"), p.user("al@example.org")
	s, _ := p.session(u)
	ended := func() time.Time {
		got, err := p.Identity.Sessions.Principal(p.t.Context(), s.ID)
		require.NoError(t, err)
		return got.Session.EndedAt
	}
	require.NoError(t, p.Identity.Sessions.End(p.t.Context(), other.ID, s.ID, p.now))
	require.Zero(t, ended(), "somebody else's")
	alive, err := p.Identity.Sessions.Use(p.t.Context(), s.ID, p.now)
	require.NoError(t, err)
	require.True(t, alive)
	alive, err = p.Identity.Sessions.Use(p.t.Context(), s.ID, s.ExpiresAt)
	require.NoError(t, err)
	require.False(t, alive)
	require.NoError(t, p.Identity.Sessions.End(p.t.Context(), u.ID, s.ID, p.now))
	require.NoError(t, p.Identity.Sessions.End(p.t.Context(), u.ID, s.ID, p.now.Add(time.Hour)))
	require.Equal(t, p.now, ended())
	alive, err = p.Identity.Sessions.Use(p.t.Context(), s.ID, p.now)
	require.NoError(t, err)
	require.False(t, alive)
}

func liveSessionsAreListed(t *testing.T, p *people) {
	u := p.user("jo@example.org")
	p.session(p.user("al@example.org"))
	list := func(now time.Time, r page.Request) ([]identity.Session, string) {
		got, err := p.Identity.Sessions.ListLive(t.Context(), u.ID, now, r)
		require.NoError(t, err)
		return got.Items, got.NextCursor
	}
	all := page.Request{Number: 1, Size: 10}
	none, _ := list(p.now, all)
	require.Empty(t, none)
	first, _ := p.session(u)
	ended, _ := p.session(u)
	require.NoError(t, p.Identity.Sessions.End(t.Context(), u.ID, ended.ID, p.now))
	browser := identity.NewSession(uid(), u.ID, identity.Client{Address: "192.0.2.44", UserAgent: "agent"}, p.now)
	require.NoError(t, p.Identity.Browsers.Open(t.Context(), browser, uid()))
	browser.Browser = true
	live, _ := list(p.now, all)
	require.Equal(t, []identity.Session{browser, first}, live)
	newest, cursor := list(p.now, page.Request{Number: 1, Size: 1})
	require.Equal(t, []identity.Session{browser}, newest)
	older, _ := list(p.now, page.Request{Number: 2, Size: 1, Cursor: cursor})
	require.Equal(t, []identity.Session{first}, older)
	idle, _ := list(p.now.Add(12*time.Hour), all)
	require.Equal(t, []identity.Session{first}, idle, "a browser expires after 12 hours without use")
	stale, _ := list(p.now.Add(7*24*time.Hour), all)
	require.Empty(t, stale, "the refresh token has expired")
}

func sessionIsHeld(t *testing.T, p *people) {
	u, other := p.user("jo@example.org"), p.user("al@example.org")
	s, _ := p.session(u)
	held := func(userID, sessionID string) (active bool) {
		require.NoError(t, p.Identity.Tx.Do(p.t.Context(), func(ctx context.Context) (err error) {
			active, err = p.Identity.Sessions.Hold(ctx, userID, sessionID)
			return err
		}))
		return active
	}
	require.True(t, held(u.ID, s.ID))
	require.True(t, held(u.ID, ""))
	require.False(t, held(other.ID, s.ID), "another user's session")
	require.NoError(t, p.Identity.Sessions.End(p.t.Context(), u.ID, s.ID, p.now))
	require.False(t, held(u.ID, s.ID))
	u.Status = identity.UserDeleted
	require.NoError(t, p.Identity.Users.Save(p.t.Context(), &u))
	require.False(t, held(u.ID, ""))
}

func sessionsEnd(t *testing.T, p *people) {
	u := p.user("jo@example.org")
	keep, _ := p.session(u)
	gone, _ := p.session(u)
	other, _ := p.session(p.user("al@example.org"))
	alive := func(s identity.Session) bool {
		got, err := p.Identity.Sessions.Principal(p.t.Context(), s.ID)
		require.NoError(t, err)
		return got.Session.Alive(p.now)
	}
	require.NoError(t, p.Identity.Sessions.EndAll(p.t.Context(), u.ID, keep.ID, p.now))
	require.True(t, alive(keep))
	require.False(t, alive(gone))
	require.NoError(t, p.Identity.Sessions.EndAll(p.t.Context(), u.ID, "", p.now))
	require.False(t, alive(keep))
	require.True(t, alive(other))
}

func refreshSpentOnce(t *testing.T, p *people) {
	s, token := p.session(p.user("jo@example.org"))
	require.Equal(t, 1, p.twentyAtOnce(func(int) (bool, error) { return p.Identity.Sessions.SpendRefresh(p.t.Context(), token.Hash, p.now) }))
	got, err := p.Identity.Sessions.FindRefresh(p.t.Context(), token.Hash)
	require.NoError(t, err)
	token.UsedAt = p.now
	require.Equal(t, token, got)
	next, _ := s.NewRefreshToken(p.now)
	require.NoError(t, p.Identity.Sessions.AddRefresh(p.t.Context(), next))
	got, err = p.Identity.Sessions.FindRefresh(p.t.Context(), next.Hash)
	require.NoError(t, err)
	require.Equal(t, next, got)
	_, err = p.Identity.Sessions.FindRefresh(p.t.Context(), "unknown")
	require.ErrorIs(t, err, identity.ErrSessionNotFound)
}

func expiredIsForgotten(t *testing.T, p *people) {
	u := p.user("jo@example.org")
	old, oldToken := p.session(u)
	young := identity.Session{ID: uid(), UserID: u.ID, CreatedAt: p.now, LastUsedAt: p.now, ExpiresAt: old.ExpiresAt.Add(time.Hour)}
	youngToken := identity.RefreshToken{Hash: uid(), SessionID: young.ID, IssuedAt: p.now, ExpiresAt: young.ExpiresAt}
	require.NoError(t, p.Identity.Sessions.Open(t.Context(), young, youngToken))
	spent := identity.RefreshToken{Hash: uid(), SessionID: young.ID, IssuedAt: p.now, ExpiresAt: p.now}
	require.NoError(t, p.Identity.Sessions.AddRefresh(t.Context(), spent))
	mailed := identity.MailToken{Hash: uid(), UserID: u.ID, Purpose: identity.ForReset, Email: u.Email, CreatedAt: p.now, ExpiresAt: p.now}
	require.NoError(t, p.Identity.MailTokens.Add(t.Context(), mailed))

	n, err := p.Identity.Sessions.Forget(t.Context(), p.now, 10)
	require.NoError(t, err)
	require.Zero(t, n)
	n, err = p.Identity.MailTokens.Forget(t.Context(), p.now, 10)
	require.NoError(t, err)
	require.Zero(t, n)

	n, err = p.Identity.Sessions.Forget(t.Context(), old.ExpiresAt.Add(time.Minute), 10)
	require.NoError(t, err)
	require.Equal(t, 2, n, "a session, and a token of another")
	for _, hash := range []string{oldToken.Hash, spent.Hash} {
		_, err = p.Identity.Sessions.FindRefresh(t.Context(), hash)
		require.ErrorIs(t, err, identity.ErrSessionNotFound)
	}
	_, err = p.Identity.Sessions.FindRefresh(t.Context(), youngToken.Hash)
	require.NoError(t, err)
	_, err = p.Identity.Sessions.Principal(t.Context(), young.ID)
	require.NoError(t, err)
	n, err = p.Identity.MailTokens.Forget(t.Context(), p.now.Add(time.Second), 10)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	_, err = p.Identity.MailTokens.Find(t.Context(), mailed.Hash, identity.ForReset)
	require.ErrorIs(t, err, identity.ErrTokenNotFound)
}

func mailTokenIsBound(t *testing.T, p *people) {
	u, other := p.user("jo@example.org"), p.user("al@example.org")
	token, _ := identity.NewMailToken(u.ID, u.Email, identity.ForReset, p.now)
	require.NoError(t, p.Identity.MailTokens.Add(p.t.Context(), token))
	got, err := p.Identity.MailTokens.Find(p.t.Context(), token.Hash, identity.ForReset)
	require.NoError(t, err)
	require.Equal(t, token, got)
	_, err = p.Identity.MailTokens.Find(p.t.Context(), token.Hash, identity.ForVerification)
	require.ErrorIs(t, err, identity.ErrTokenNotFound)
	_, err = p.Identity.MailTokens.Find(p.t.Context(), "unknown", identity.ForReset)
	require.ErrorIs(t, err, identity.ErrTokenNotFound)
	ok, err := p.Identity.MailTokens.Spend(p.t.Context(), other.ID, token.Hash, p.now)
	require.NoError(t, err)
	require.False(t, ok)
}

func mailTokenSpentOnce(t *testing.T, p *people) {
	u := p.user("jo@example.org")
	token, _ := identity.NewMailToken(u.ID, u.Email, identity.ForReset, p.now)
	require.NoError(t, p.Identity.MailTokens.Add(p.t.Context(), token))
	require.Equal(t, 1, p.twentyAtOnce(func(int) (bool, error) { return p.Identity.MailTokens.Spend(p.t.Context(), u.ID, token.Hash, p.now) }))
}

func mailTokensSpentTogether(t *testing.T, p *people) {
	u := p.user("jo@example.org")
	orgs := []identity.Organization{p.organization(p.user("a@example.org").ID), p.organization(p.user("b@example.org").ID)}
	add := func(purpose identity.Purpose, organizationID string) func() bool {
		token, _ := identity.NewMailToken(u.ID, u.Email, purpose, p.now)
		token.OrganizationID = organizationID
		require.NoError(t, p.Identity.MailTokens.Add(p.t.Context(), token))
		return func() bool {
			got, err := p.Identity.MailTokens.Find(p.t.Context(), token.Hash, purpose)
			require.NoError(t, err)
			require.Equal(t, organizationID, got.OrganizationID)
			return got.Usable(p.now)
		}
	}
	reset, verify := add(identity.ForReset, ""), add(identity.ForVerification, "")
	first, second := add(identity.ForInvitation, orgs[0].ID), add(identity.ForInvitation, orgs[1].ID)
	require.NoError(t, p.Identity.MailTokens.SpendAll(p.t.Context(), u.ID, identity.ForInvitation, orgs[0].ID, p.now))
	require.Equal(t, []bool{true, true, false, true}, []bool{reset(), verify(), first(), second()})
	require.NoError(t, p.Identity.MailTokens.SpendAll(p.t.Context(), u.ID, identity.ForReset, "", p.now))
	require.Equal(t, []bool{false, true, false, true}, []bool{reset(), verify(), first(), second()})
}
