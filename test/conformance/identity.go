package conformance

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/core/clock"
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/modules/identity"
	"github.com/locumhq/locum/test/kit"
)

// Identity checks the identity ports of a storage. open makes an empty one with
// its schema in place.
func Identity(t *testing.T, open func(t testing.TB, clk clock.Clock) adapters.Storage) {
	for name, test := range map[string]func(*testing.T, *people){
		"an account reads back as it was added":                     accountReadsBack,
		"an address has one account, whatever its spelling":         addressIsUnique,
		"of many who add one address at once one succeeds":          addressIsUniqueAtOnce,
		"an invited person's row becomes the account":               invitedBecomesAccount,
		"everybody who invites an address hears the same id":        invitedOnce,
		"a save of what somebody else has changed is run again":     savesLoseNothing,
		"a sign-in needs the verifier that was checked":             signInNeedsVerifier,
		"deleted accounts are found by nobody":                      deletedAreGone,
		"an organization reads back with its founder":               organizationReadsBack,
		"a person works for one organization at a time":             oneActiveMembership,
		"an invitation is renewed only after it ran out":            invitationIsRenewed,
		"a member of another organization is not in the team":       membersAreOwned,
		"who may see what of an invited person":                     invitedShowsWhatWasTyped,
		"an admin counts once active":                               adminsCount,
		"the lock makes transactions wait for each other":           lockSerializes,
		"the team pages by number and by cursor":                    teamPages,
		"a session reads back with its user and membership":         principalReadsBack,
		"a session ends once and for its user alone":                sessionEnds,
		"all sessions but one end":                                  sessionsEnd,
		"of many who spend a refresh token one hears true":          refreshSpentOnce,
		"a mailed token is for one purpose and of one user":         mailTokenIsBound,
		"of many who spend a mailed token one hears true":           mailTokenSpentOnce,
		"open tokens become useless by purpose and by organization": mailTokensSpentTogether,
		"what expired is forgotten, and nothing else":               expiredIsForgotten,
		"an error undoes everything of its transaction":             errorUndoes,
		"a change of address is the last one that was asked for":    emailChangesReadBack,
		"an invited person is absorbed by an account":               invitedIsAbsorbed,
		"what a person has is removed, and nobody else's":           personIsRemoved,
		"an organization is changed, and never half":                organizationSaves,
		"what an employer has set reads back":                       employerSettingsReadBack,
		"invitations that nobody accepted are forgotten":            invitationsAreForgotten,
		"an organization is dissolved":                              organizationDissolves,
		"a deleted account gets no token, also not at once":         deletedGetsNoToken,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clk := kit.NewClock()
			test(t, &people{t: t, Storage: open(t, clk), now: clk.Now()})
		})
	}
}

type people struct {
	adapters.Storage
	t   *testing.T
	now time.Time
}

func uid() string { return uuid.Must(uuid.NewV7()).String() }

func (p *people) user(email string) identity.User {
	p.t.Helper()
	u := identity.NewUser(uid(), email, "Jo Doe", identity.KindJobseeker, "verifier", p.now)
	require.NoError(p.t, p.Users.Add(p.t.Context(), &u))
	return u
}

func (p *people) organization(founder string) identity.Organization {
	p.t.Helper()
	o, m := identity.Found(uid(), uid(), founder, "St Mary's", "hospital", "51-200", p.now)
	require.NoError(p.t, p.Organizations.Found(p.t.Context(), o, m))
	return o
}

func (p *people) invite(o identity.Organization, email string, role identity.OrgRole) identity.Membership {
	p.t.Helper()
	id, err := p.Users.Invite(p.t.Context(), identity.NewInvited(uid(), email, "In Vited", p.now))
	require.NoError(p.t, err)
	m := identity.NewInvitation(uid(), o.ID, id, "In Vited", email, role, p.now)
	ok, err := p.Organizations.Invite(p.t.Context(), m, p.now)
	require.NoError(p.t, err)
	require.True(p.t, ok)
	return m
}

func (p *people) session(u identity.User) (identity.Session, identity.RefreshToken) {
	p.t.Helper()
	s := identity.NewSession(uid(), u.ID, identity.Client{Address: "192.0.2.44", UserAgent: "agent"}, p.now)
	token, _ := s.NewRefreshToken(p.now)
	require.NoError(p.t, p.Sessions.Open(p.t.Context(), s, token))
	return s, token
}

// twentyAtOnce counts who hears true.
func (p *people) twentyAtOnce(do func(i int) (bool, error)) (n int) {
	p.t.Helper()
	var wg sync.WaitGroup
	var oks [20]bool
	var errs [20]error
	for i := range oks {
		wg.Go(func() { oks[i], errs[i] = do(i) })
	}
	wg.Wait()
	for i, ok := range oks {
		require.NoError(p.t, errs[i])
		if ok {
			n++
		}
	}
	return n
}

func accountReadsBack(t *testing.T, p *people) {
	u := p.user("Jo@example.org")
	for _, find := range []func() (identity.User, error){
		func() (identity.User, error) { return p.Users.Find(p.t.Context(), u.ID) },
		func() (identity.User, error) { return p.Users.FindByEmail(p.t.Context(), "jo@example.org") },
	} {
		got, err := find()
		require.NoError(t, err)
		require.Equal(t, u, got)
	}
	u.Verify(p.now.Add(time.Microsecond))
	u.SetPassword("other", p.now.Add(time.Hour))
	require.NoError(t, p.Users.Save(p.t.Context(), &u))
	got, err := p.Users.Find(p.t.Context(), u.ID)
	require.NoError(t, err)
	require.Equal(t, u, got)
	_, err = p.Users.Find(p.t.Context(), uid())
	require.ErrorIs(t, err, identity.ErrUserNotFound)
	_, err = p.Users.FindByEmail(p.t.Context(), "Jo@example.org")
	require.ErrorIs(t, err, identity.ErrUserNotFound, "the key is in lower case")
	all, err := p.Users.People(p.t.Context(), []string{u.ID, uid()})
	require.NoError(t, err)
	require.Equal(t, []identity.User{u}, all)
}

func addressIsUnique(t *testing.T, p *people) {
	p.user("jo@example.org")
	u := identity.NewUser(uid(), "JO@example.org", "Jo", identity.KindEmployer, "v", p.now)
	require.ErrorIs(t, p.Users.Add(p.t.Context(), &u), identity.ErrEmailTaken)
	other := p.user("al@example.org")
	other.Email = "jo@example.org"
	require.ErrorIs(t, p.Users.Save(p.t.Context(), &other), identity.ErrEmailTaken)
}

func addressIsUniqueAtOnce(t *testing.T, p *people) {
	require.Equal(t, 1, p.twentyAtOnce(func(int) (bool, error) {
		u := identity.NewUser(uid(), "jo@example.org", "Jo", identity.KindJobseeker, "v", p.now)
		err := p.Tx.Do(p.t.Context(), func(ctx context.Context) error { return p.Users.Add(ctx, &u) })
		if errors.Is(err, identity.ErrEmailTaken) {
			return false, nil
		}
		return err == nil, err
	}))
}

func invitedBecomesAccount(t *testing.T, p *people) {
	id, err := p.Users.Invite(p.t.Context(), identity.NewInvited(uid(), "Jo@example.org", "Typed Name", p.now))
	require.NoError(t, err)
	u := identity.NewUser(uid(), "jo@example.org", "Own Name", identity.KindJobseeker, "v", p.now.Add(time.Hour))
	require.NoError(t, p.Users.Add(p.t.Context(), &u))
	require.Equal(t, id, u.ID)
	got, err := p.Users.Find(p.t.Context(), id)
	require.NoError(t, err)
	require.Equal(t, u, got)
	u.SetPassword("w", p.now)
	require.NoError(t, p.Users.Save(p.t.Context(), &u), "the version that Add gave is the row's")
}

func invitedOnce(t *testing.T, p *people) {
	var ids [20]string
	p.twentyAtOnce(func(i int) (_ bool, err error) {
		err = p.Tx.Do(p.t.Context(), func(ctx context.Context) error {
			ids[i], err = p.Users.Invite(ctx, identity.NewInvited(uid(), "new@example.org", "New", p.now))
			return err
		})
		return true, err
	})
	for _, id := range ids {
		require.Equal(t, ids[0], id)
	}
	u := p.user("jo@example.org")
	id, err := p.Users.Invite(p.t.Context(), identity.NewInvited(uid(), "JO@example.org", "New", p.now))
	require.NoError(t, err)
	require.Equal(t, u.ID, id)
	got, err := p.Users.Find(p.t.Context(), u.ID)
	require.NoError(t, err)
	require.Equal(t, u, got, "an invitation changes nothing of an account")
}

func savesLoseNothing(t *testing.T, p *people) {
	u := p.user("jo@example.org")
	p.twentyAtOnce(func(int) (bool, error) {
		return true, p.Tx.Do(p.t.Context(), func(ctx context.Context) error {
			u, err := p.Users.Find(ctx, u.ID)
			if err != nil {
				return err
			}
			u.Name += "+"
			return p.Users.Save(ctx, &u)
		})
	})
	got, err := p.Users.Find(p.t.Context(), u.ID)
	require.NoError(t, err)
	require.Equal(t, 20, strings.Count(got.Name, "+"))
}

func signInNeedsVerifier(t *testing.T, p *people) {
	u := p.user("jo@example.org")
	ok, err := p.Users.SignIn(p.t.Context(), u.ID, "verifier", "renewed", p.now)
	require.NoError(t, err)
	require.True(t, ok)
	ok, err = p.Users.SignIn(p.t.Context(), u.ID, "verifier", "again", p.now)
	require.NoError(t, err)
	require.False(t, ok)
	got, err := p.Users.Find(p.t.Context(), u.ID)
	require.NoError(t, err)
	require.Equal(t, "renewed", got.PasswordHash)
}

func deletedAreGone(t *testing.T, p *people) {
	u := p.user("jo@example.org")
	s, _ := p.session(u)
	o := p.organization(u.ID)
	u.Status = identity.UserDeleted
	require.NoError(t, p.Users.Save(p.t.Context(), &u))
	_, err := p.Users.Find(p.t.Context(), u.ID)
	require.ErrorIs(t, err, identity.ErrUserNotFound)
	_, err = p.Users.FindByEmail(p.t.Context(), "jo@example.org")
	require.ErrorIs(t, err, identity.ErrUserNotFound)
	_, err = p.Sessions.Principal(p.t.Context(), s.ID)
	require.ErrorIs(t, err, identity.ErrSessionNotFound)
	_, err = p.Organizations.Member(p.t.Context(), o.ID, u.ID)
	require.ErrorIs(t, err, identity.ErrNotInTeam)
	people, err := p.Users.People(p.t.Context(), []string{u.ID})
	require.NoError(t, err)
	require.Empty(t, people)
	ok, err := p.Users.SignIn(p.t.Context(), u.ID, "verifier", "verifier", p.now)
	require.NoError(t, err)
	require.False(t, ok)
}

func organizationReadsBack(t *testing.T, p *people) {
	u := p.user("jo@example.org")
	o := p.organization(u.ID)
	got, err := p.Organizations.Find(p.t.Context(), o.ID)
	require.NoError(t, err)
	require.Equal(t, o, got)
	m, err := p.Organizations.MembershipOf(p.t.Context(), u.ID)
	require.NoError(t, err)
	require.True(t, m.Founder)
	require.Equal(t, identity.Admin, m.Role)
	require.Equal(t, identity.Admin.Defaults(), m.Permissions)
	_, err = p.Organizations.Find(p.t.Context(), uid())
	require.ErrorIs(t, err, identity.ErrOrganizationNotFound)
	none, err := p.Organizations.MembershipOf(p.t.Context(), uid())
	require.NoError(t, err)
	require.Nil(t, none)
}

func oneActiveMembership(t *testing.T, p *people) {
	u := p.user("jo@example.org")
	first := p.organization(u.ID)
	second := p.organization(p.user("al@example.org").ID)
	m := p.invite(second, "jo@example.org", identity.Viewer)
	m.Accept(p.now)
	require.Error(t, p.Organizations.SaveMember(p.t.Context(), &m))
	require.NoError(t, p.Organizations.RemoveMember(p.t.Context(), first.ID, u.ID))
	require.NoError(t, p.Organizations.SaveMember(p.t.Context(), &m))
	got, err := p.Organizations.MembershipOf(p.t.Context(), u.ID)
	require.NoError(t, err)
	require.Equal(t, m, *got)
}

func invitationIsRenewed(t *testing.T, p *people) {
	o := p.organization(p.user("boss@example.org").ID)
	m := p.invite(o, "new@example.org", identity.Viewer)
	again := identity.NewInvitation(uid(), o.ID, m.UserID, "Renamed", "new@example.org", identity.Admin, m.InvitedUntil)
	ok, err := p.Organizations.Invite(p.t.Context(), again, m.InvitedUntil.Add(-time.Microsecond))
	require.NoError(t, err)
	require.False(t, ok)
	ok, err = p.Organizations.Invite(p.t.Context(), again, m.InvitedUntil)
	require.NoError(t, err)
	require.True(t, ok)
	got, err := p.Organizations.Member(p.t.Context(), o.ID, m.UserID)
	require.NoError(t, err)
	require.Equal(t, again, got.Membership)
	got.Accept(p.now)
	require.NoError(t, p.Organizations.SaveMember(p.t.Context(), &got.Membership))
	ok, err = p.Organizations.Invite(p.t.Context(), again, p.now.Add(365*24*time.Hour))
	require.NoError(t, err)
	require.False(t, ok, "a member is not invited again")
}

func membersAreOwned(t *testing.T, p *people) {
	one, two := p.user("one@example.org"), p.user("two@example.org")
	o := p.organization(one.ID)
	p.organization(two.ID)
	for _, foreign := range []string{two.ID, p.user("free@example.org").ID, uid()} {
		_, err := p.Organizations.Member(p.t.Context(), o.ID, foreign)
		require.ErrorIs(t, err, identity.ErrNotInTeam)
		require.NoError(t, p.Organizations.RemoveMember(p.t.Context(), o.ID, foreign))
	}
	m, err := p.Organizations.MembershipOf(p.t.Context(), two.ID)
	require.NoError(t, err)
	require.NotNil(t, m)
}

func invitedShowsWhatWasTyped(t *testing.T, p *people) {
	o := p.organization(p.user("boss@example.org").ID)
	u := p.user("jo@example.org")
	m := p.invite(o, "JO@example.org", identity.Recruiter)
	got, err := p.Organizations.Member(p.t.Context(), o.ID, u.ID)
	require.NoError(t, err)
	require.Equal(t, "In Vited", got.Name)
	require.Equal(t, "JO@example.org", got.Email)
	m.Accept(p.now)
	require.NoError(t, p.Organizations.SaveMember(p.t.Context(), &m))
	got, err = p.Organizations.Member(p.t.Context(), o.ID, u.ID)
	require.NoError(t, err)
	require.Equal(t, "Jo Doe", got.Name)
	require.Equal(t, "jo@example.org", got.Email)
}

func adminsCount(t *testing.T, p *people) {
	u := p.user("boss@example.org")
	o := p.organization(u.ID)
	m := p.invite(o, "new@example.org", identity.Admin)
	other, err := p.Organizations.HasOtherAdmin(p.t.Context(), o.ID, u.ID)
	require.NoError(t, err)
	require.False(t, other)
	m.Accept(p.now)
	require.NoError(t, p.Organizations.SaveMember(p.t.Context(), &m))
	other, err = p.Organizations.HasOtherAdmin(p.t.Context(), o.ID, u.ID)
	require.NoError(t, err)
	require.True(t, other)
}

func lockSerializes(t *testing.T, p *people) {
	o := p.organization(p.user("boss@example.org").ID)
	var inside, most int
	var mu sync.Mutex
	p.twentyAtOnce(func(int) (bool, error) {
		return true, p.Tx.Do(p.t.Context(), func(ctx context.Context) error {
			if err := p.Organizations.Lock(ctx, o.ID); err != nil {
				return err
			}
			mu.Lock()
			inside++
			most = max(most, inside)
			mu.Unlock()
			_, err := p.Organizations.HasOtherAdmin(ctx, o.ID, uid())
			mu.Lock()
			inside--
			mu.Unlock()
			return err
		})
	})
	require.Equal(t, 1, most)
}

func teamPages(t *testing.T, p *people) {
	o := p.organization(p.user("boss@example.org").ID)
	p.organization(p.user("other@example.org").ID)
	for _, email := range []string{"a@example.org", "b@example.org"} {
		p.invite(o, email, identity.Viewer)
	}
	first, err := p.Organizations.Team(p.t.Context(), o.ID, page.Request{Number: 1, Size: 2})
	require.NoError(t, err)
	require.Len(t, first.Items, 2)
	require.Equal(t, 3, first.Total)
	require.False(t, first.TotalIsEstimate)
	require.Equal(t, "boss@example.org", first.Items[0].Email)
	for _, r := range []page.Request{{Number: 2, Size: 2}, {Number: 1, Size: 2, Cursor: first.NextCursor}} {
		second, err := p.Organizations.Team(p.t.Context(), o.ID, r)
		require.NoError(t, err)
		require.Len(t, second.Items, 1)
		require.Equal(t, "b@example.org", second.Items[0].Email)
		require.Equal(t, 3, second.Total)
		require.Empty(t, second.NextCursor)
	}
	beyond, err := p.Organizations.Team(p.t.Context(), o.ID, page.Request{Number: 9, Size: 2})
	require.NoError(t, err)
	require.NotNil(t, beyond.Items)
	require.Empty(t, beyond.Items)
}

func principalReadsBack(t *testing.T, p *people) {
	u := p.user("jo@example.org")
	s, _ := p.session(u)
	got, err := p.Sessions.Principal(p.t.Context(), s.ID)
	require.NoError(t, err)
	require.Equal(t, s, got.Session)
	require.Equal(t, u.Email, got.User.Email)
	require.Equal(t, u.CreatedAt, got.User.CreatedAt)
	require.Empty(t, got.User.PasswordHash)
	require.Nil(t, got.Membership)

	other := p.organization(p.user("boss@example.org").ID)
	p.invite(other, "jo@example.org", identity.Admin)
	got, err = p.Sessions.Principal(p.t.Context(), s.ID)
	require.NoError(t, err)
	require.Nil(t, got.Membership, "an invitation gives nothing")

	o := p.organization(u.ID)
	got, err = p.Sessions.Principal(p.t.Context(), s.ID)
	require.NoError(t, err)
	require.Equal(t, o.ID, got.Membership.OrganizationID)
	require.Equal(t, identity.Admin, got.Membership.Role)
	require.True(t, got.Membership.Founder)
	_, err = p.Sessions.Principal(p.t.Context(), uid())
	require.ErrorIs(t, err, identity.ErrSessionNotFound)
}

func sessionEnds(t *testing.T, p *people) {
	u, other := p.user("jo@example.org"), p.user("al@example.org")
	s, _ := p.session(u)
	ended := func() time.Time {
		got, err := p.Sessions.Principal(p.t.Context(), s.ID)
		require.NoError(t, err)
		return got.Session.EndedAt
	}
	require.NoError(t, p.Sessions.End(p.t.Context(), other.ID, s.ID, p.now))
	require.Zero(t, ended(), "somebody else's")
	alive, err := p.Sessions.Use(p.t.Context(), s.ID, p.now)
	require.NoError(t, err)
	require.True(t, alive)
	alive, err = p.Sessions.Use(p.t.Context(), s.ID, s.ExpiresAt)
	require.NoError(t, err)
	require.False(t, alive)
	require.NoError(t, p.Sessions.End(p.t.Context(), u.ID, s.ID, p.now))
	require.NoError(t, p.Sessions.End(p.t.Context(), u.ID, s.ID, p.now.Add(time.Hour)))
	require.Equal(t, p.now, ended())
	alive, err = p.Sessions.Use(p.t.Context(), s.ID, p.now)
	require.NoError(t, err)
	require.False(t, alive)
}

func sessionsEnd(t *testing.T, p *people) {
	u := p.user("jo@example.org")
	keep, _ := p.session(u)
	gone, _ := p.session(u)
	other, _ := p.session(p.user("al@example.org"))
	alive := func(s identity.Session) bool {
		got, err := p.Sessions.Principal(p.t.Context(), s.ID)
		require.NoError(t, err)
		return got.Session.Alive(p.now)
	}
	require.NoError(t, p.Sessions.EndAll(p.t.Context(), u.ID, keep.ID, p.now))
	require.True(t, alive(keep))
	require.False(t, alive(gone))
	require.NoError(t, p.Sessions.EndAll(p.t.Context(), u.ID, "", p.now))
	require.False(t, alive(keep))
	require.True(t, alive(other))
}

func refreshSpentOnce(t *testing.T, p *people) {
	s, token := p.session(p.user("jo@example.org"))
	require.Equal(t, 1, p.twentyAtOnce(func(int) (bool, error) { return p.Sessions.SpendRefresh(p.t.Context(), token.Hash, p.now) }))
	got, err := p.Sessions.FindRefresh(p.t.Context(), token.Hash)
	require.NoError(t, err)
	token.UsedAt = p.now
	require.Equal(t, token, got)
	next, _ := s.NewRefreshToken(p.now)
	require.NoError(t, p.Sessions.AddRefresh(p.t.Context(), next))
	got, err = p.Sessions.FindRefresh(p.t.Context(), next.Hash)
	require.NoError(t, err)
	require.Equal(t, next, got)
	_, err = p.Sessions.FindRefresh(p.t.Context(), "unknown")
	require.ErrorIs(t, err, identity.ErrSessionNotFound)
}

func expiredIsForgotten(t *testing.T, p *people) {
	u := p.user("jo@example.org")
	old, oldToken := p.session(u)
	young := identity.Session{ID: uid(), UserID: u.ID, CreatedAt: p.now, LastUsedAt: p.now, ExpiresAt: old.ExpiresAt.Add(time.Hour)}
	youngToken := identity.RefreshToken{Hash: uid(), SessionID: young.ID, IssuedAt: p.now, ExpiresAt: young.ExpiresAt}
	require.NoError(t, p.Sessions.Open(t.Context(), young, youngToken))
	spent := identity.RefreshToken{Hash: uid(), SessionID: young.ID, IssuedAt: p.now, ExpiresAt: p.now}
	require.NoError(t, p.Sessions.AddRefresh(t.Context(), spent))
	mailed := identity.MailToken{Hash: uid(), UserID: u.ID, Purpose: identity.ForReset, Email: u.Email, CreatedAt: p.now, ExpiresAt: p.now}
	require.NoError(t, p.MailTokens.Add(t.Context(), mailed))

	n, err := p.Sessions.Forget(t.Context(), p.now, 10)
	require.NoError(t, err)
	require.Zero(t, n)
	n, err = p.MailTokens.Forget(t.Context(), p.now, 10)
	require.NoError(t, err)
	require.Zero(t, n)

	n, err = p.Sessions.Forget(t.Context(), old.ExpiresAt.Add(time.Minute), 10)
	require.NoError(t, err)
	require.Equal(t, 2, n, "a session, and a token of another")
	for _, hash := range []string{oldToken.Hash, spent.Hash} {
		_, err = p.Sessions.FindRefresh(t.Context(), hash)
		require.ErrorIs(t, err, identity.ErrSessionNotFound)
	}
	_, err = p.Sessions.FindRefresh(t.Context(), youngToken.Hash)
	require.NoError(t, err)
	_, err = p.Sessions.Principal(t.Context(), young.ID)
	require.NoError(t, err)
	n, err = p.MailTokens.Forget(t.Context(), p.now.Add(time.Second), 10)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	_, err = p.MailTokens.Find(t.Context(), mailed.Hash, identity.ForReset)
	require.ErrorIs(t, err, identity.ErrTokenNotFound)
}

func mailTokenIsBound(t *testing.T, p *people) {
	u, other := p.user("jo@example.org"), p.user("al@example.org")
	token, _ := identity.NewMailToken(u.ID, u.Email, identity.ForReset, p.now)
	require.NoError(t, p.MailTokens.Add(p.t.Context(), token))
	got, err := p.MailTokens.Find(p.t.Context(), token.Hash, identity.ForReset)
	require.NoError(t, err)
	require.Equal(t, token, got)
	_, err = p.MailTokens.Find(p.t.Context(), token.Hash, identity.ForVerification)
	require.ErrorIs(t, err, identity.ErrTokenNotFound)
	_, err = p.MailTokens.Find(p.t.Context(), "unknown", identity.ForReset)
	require.ErrorIs(t, err, identity.ErrTokenNotFound)
	ok, err := p.MailTokens.Spend(p.t.Context(), other.ID, token.Hash, p.now)
	require.NoError(t, err)
	require.False(t, ok)
}

func mailTokenSpentOnce(t *testing.T, p *people) {
	u := p.user("jo@example.org")
	token, _ := identity.NewMailToken(u.ID, u.Email, identity.ForReset, p.now)
	require.NoError(t, p.MailTokens.Add(p.t.Context(), token))
	require.Equal(t, 1, p.twentyAtOnce(func(int) (bool, error) { return p.MailTokens.Spend(p.t.Context(), u.ID, token.Hash, p.now) }))
}

func mailTokensSpentTogether(t *testing.T, p *people) {
	u := p.user("jo@example.org")
	orgs := []identity.Organization{p.organization(p.user("a@example.org").ID), p.organization(p.user("b@example.org").ID)}
	add := func(purpose identity.Purpose, organizationID string) func() bool {
		token, _ := identity.NewMailToken(u.ID, u.Email, purpose, p.now)
		token.OrganizationID = organizationID
		require.NoError(t, p.MailTokens.Add(p.t.Context(), token))
		return func() bool {
			got, err := p.MailTokens.Find(p.t.Context(), token.Hash, purpose)
			require.NoError(t, err)
			require.Equal(t, organizationID, got.OrganizationID)
			return got.Usable(p.now)
		}
	}
	reset, verify := add(identity.ForReset, ""), add(identity.ForVerification, "")
	first, second := add(identity.ForInvitation, orgs[0].ID), add(identity.ForInvitation, orgs[1].ID)
	require.NoError(t, p.MailTokens.SpendAll(p.t.Context(), u.ID, identity.ForInvitation, orgs[0].ID, p.now))
	require.Equal(t, []bool{true, true, false, true}, []bool{reset(), verify(), first(), second()})
	require.NoError(t, p.MailTokens.SpendAll(p.t.Context(), u.ID, identity.ForReset, "", p.now))
	require.Equal(t, []bool{false, true, false, true}, []bool{reset(), verify(), first(), second()})
}

func errorUndoes(t *testing.T, p *people) {
	boom := errors.New("boom")
	u := identity.NewUser(uid(), "jo@example.org", "Jo", identity.KindEmployer, "v", p.now)
	require.ErrorIs(t, p.Tx.Do(p.t.Context(), func(ctx context.Context) error {
		require.NoError(t, p.Users.Add(ctx, &u))
		o, m := identity.Found(uid(), uid(), u.ID, "X", "", "", p.now)
		require.NoError(t, p.Organizations.Found(ctx, o, m))
		s := identity.NewSession(uid(), u.ID, identity.Client{}, p.now)
		token, _ := s.NewRefreshToken(p.now)
		require.NoError(t, p.Sessions.Open(ctx, s, token))
		_, err := p.Sessions.Principal(ctx, s.ID)
		require.NoError(t, err, "the transaction sees itself")
		return boom
	}), boom)
	_, err := p.Users.FindByEmail(p.t.Context(), "jo@example.org")
	require.ErrorIs(t, err, identity.ErrUserNotFound)
	m, err := p.Organizations.MembershipOf(p.t.Context(), u.ID)
	require.NoError(t, err)
	require.Nil(t, m)
}
