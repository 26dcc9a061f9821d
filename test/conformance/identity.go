package conformance

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/core/clock"
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
		"any user exists, also a deleted one":                       usersExist,
		"mailbox opts out once and for good":                        optsOut,
		"a save of what somebody else has changed is run again":     savesLoseNothing,
		"a sign-in needs the verifier that was checked":             signInNeedsVerifier,
		"a locked account has no session and no sign-in":            lockedIsUnusable,
		"a second factor and its recovery codes are stored":         secondFactorIsStored,
		"a required second factor is missing or not":                secondFactorIsRequired,
		"deleted accounts are found by nobody":                      deletedAreGone,
		"an organization reads back with its founder":               organizationReadsBack,
		"a person works for one organization at a time":             oneActiveMembership,
		"an invitation is renewed only after it ran out":            invitationIsRenewed,
		"a member of another organization is not in the team":       membersAreOwned,
		"who may see what of an invited person":                     invitedShowsWhatWasTyped,
		"several members of a team are found together":              membersAreFoundTogether,
		"an admin counts once active":                               adminsCount,
		"the lock makes transactions wait for each other":           lockSerializes,
		"the team pages by number and by cursor":                    teamPages,
		"a session reads back with its user and membership":         principalReadsBack,
		"a session ends once and for its user alone":                sessionEnds,
		"live sessions are listed for their user":                   liveSessionsAreListed,
		"a held session needs an active account":                    sessionIsHeld,
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
		"an address that was left is reserved":                      emailUndosReadBack,
		"a member is dismissed with sessions and tokens":            memberIsDismissed,
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
	require.NoError(p.t, p.Identity.Users.Add(p.t.Context(), &u))
	return u
}

func (p *people) organization(founder string) identity.Organization {
	p.t.Helper()
	o, m := identity.Found(uid(), uid(), founder, "St Mary's", "hospital", "51-200", p.now)
	require.NoError(p.t, p.Identity.Organizations.Found(p.t.Context(), o, m))
	return o
}

func (p *people) invite(o identity.Organization, email string, role identity.OrgRole) identity.Membership {
	p.t.Helper()
	id, err := p.Identity.Users.Invite(p.t.Context(), identity.NewInvited(uid(), email, "In Vited", p.now))
	require.NoError(p.t, err)
	m := identity.NewInvitation(uid(), o.ID, id, "In Vited", email, role, p.now)
	ok, err := p.Identity.Organizations.Invite(p.t.Context(), m, p.now)
	require.NoError(p.t, err)
	require.True(p.t, ok)
	return m
}

func (p *people) session(u identity.User) (identity.Session, identity.RefreshToken) {
	p.t.Helper()
	s := identity.NewSession(uid(), u.ID, identity.Client{Address: "192.0.2.44", UserAgent: "agent"}, p.now)
	token, _ := s.NewRefreshToken(p.now)
	require.NoError(p.t, p.Identity.Sessions.Open(p.t.Context(), s, token))
	return s, token
}

// twentyAtOnce counts who hears true.
func (p *people) twentyAtOnce(do func(i int) (bool, error)) (n int) {
	p.t.Helper()
	return atOnce(p.t, 20, do)
}

func accountReadsBack(t *testing.T, p *people) {
	u := p.user("Jo@example.org")
	for _, find := range []func() (identity.User, error){
		func() (identity.User, error) { return p.Identity.Users.Find(p.t.Context(), u.ID) },
		func() (identity.User, error) { return p.Identity.Users.FindByEmail(p.t.Context(), "jo@example.org") },
	} {
		got, err := find()
		require.NoError(t, err)
		require.Equal(t, u, got)
	}
	u.Verify(p.now.Add(time.Microsecond))
	u.SetPassword("other", p.now.Add(time.Hour))
	require.NoError(t, p.Identity.Users.Save(p.t.Context(), &u))
	got, err := p.Identity.Users.Find(p.t.Context(), u.ID)
	require.NoError(t, err)
	require.Equal(t, u, got)
	_, err = p.Identity.Users.Find(p.t.Context(), uid())
	require.ErrorIs(t, err, identity.ErrUserNotFound)
	_, err = p.Identity.Users.FindByEmail(p.t.Context(), "Jo@example.org")
	require.ErrorIs(t, err, identity.ErrUserNotFound, "the key is in lower case")
	all, err := p.Identity.Users.People(p.t.Context(), []string{u.ID, uid()})
	require.NoError(t, err)
	require.Equal(t, []identity.User{u}, all)
}

func addressIsUnique(t *testing.T, p *people) {
	p.user("jo@example.org")
	u := identity.NewUser(uid(), "JO@example.org", "Jo", identity.KindEmployer, "v", p.now)
	require.ErrorIs(t, p.Identity.Users.Add(p.t.Context(), &u), identity.ErrEmailTaken)
	other := p.user("al@example.org")
	other.Email = "jo@example.org"
	require.ErrorIs(t, p.Identity.Users.Save(p.t.Context(), &other), identity.ErrEmailTaken)
}

func addressIsUniqueAtOnce(t *testing.T, p *people) {
	require.Equal(t, 1, p.twentyAtOnce(func(int) (bool, error) {
		u := identity.NewUser(uid(), "jo@example.org", "Jo", identity.KindJobseeker, "v", p.now)
		err := p.Identity.Tx.Do(p.t.Context(), func(ctx context.Context) error { return p.Identity.Users.Add(ctx, &u) })
		if errors.Is(err, identity.ErrEmailTaken) {
			return false, nil
		}
		return err == nil, err
	}))
}

func savesLoseNothing(t *testing.T, p *people) {
	u := p.user("jo@example.org")
	p.twentyAtOnce(func(int) (bool, error) {
		return true, p.Identity.Tx.Do(p.t.Context(), func(ctx context.Context) error {
			u, err := p.Identity.Users.Find(ctx, u.ID)
			if err != nil {
				return err
			}
			u.Name += "+"
			return p.Identity.Users.Save(ctx, &u)
		})
	})
	got, err := p.Identity.Users.Find(p.t.Context(), u.ID)
	require.NoError(t, err)
	require.Equal(t, 20, strings.Count(got.Name, "+"))
}

func signInNeedsVerifier(t *testing.T, p *people) {
	u := p.user("jo@example.org")
	ok, err := p.Identity.Users.SignIn(p.t.Context(), u.ID, "verifier", "renewed", p.now)
	require.NoError(t, err)
	require.True(t, ok)
	ok, err = p.Identity.Users.SignIn(p.t.Context(), u.ID, "verifier", "again", p.now)
	require.NoError(t, err)
	require.False(t, ok)
	got, err := p.Identity.Users.Find(p.t.Context(), u.ID)
	require.NoError(t, err)
	require.Equal(t, "renewed", got.PasswordHash)
}

func lockedIsUnusable(t *testing.T, p *people) {
	u := p.user("jo@example.org")
	s, _ := p.session(u)
	u.Lock(p.now)
	require.NoError(t, p.Identity.Users.Save(t.Context(), &u))
	got, err := p.Identity.Users.FindByEmail(t.Context(), "jo@example.org")
	require.NoError(t, err)
	require.Equal(t, u, got)
	_, err = p.Identity.Sessions.Principal(t.Context(), s.ID)
	require.ErrorIs(t, err, identity.ErrSessionNotFound)
	ok, err := p.Identity.Users.SignIn(t.Context(), u.ID, "verifier", "verifier", p.now)
	require.NoError(t, err)
	require.False(t, ok)
	u.Unlock(p.now)
	require.NoError(t, p.Identity.Users.Save(t.Context(), &u))
	_, err = p.Identity.Sessions.Principal(t.Context(), s.ID)
	require.NoError(t, err)
}

func deletedAreGone(t *testing.T, p *people) {
	u := p.user("jo@example.org")
	s, _ := p.session(u)
	o := p.organization(u.ID)
	u.Status = identity.UserDeleted
	require.NoError(t, p.Identity.Users.Save(p.t.Context(), &u))
	_, err := p.Identity.Users.Find(p.t.Context(), u.ID)
	require.ErrorIs(t, err, identity.ErrUserNotFound)
	_, err = p.Identity.Users.FindByEmail(p.t.Context(), "jo@example.org")
	require.ErrorIs(t, err, identity.ErrUserNotFound)
	_, err = p.Identity.Sessions.Principal(p.t.Context(), s.ID)
	require.ErrorIs(t, err, identity.ErrSessionNotFound)
	_, err = p.Identity.Organizations.Member(p.t.Context(), o.ID, u.ID)
	require.ErrorIs(t, err, identity.ErrNotInTeam)
	people, err := p.Identity.Users.People(p.t.Context(), []string{u.ID})
	require.NoError(t, err)
	require.Empty(t, people)
	ok, err := p.Identity.Users.SignIn(p.t.Context(), u.ID, "verifier", "verifier", p.now)
	require.NoError(t, err)
	require.False(t, ok)
}

func organizationReadsBack(t *testing.T, p *people) {
	u := p.user("jo@example.org")
	o := p.organization(u.ID)
	got, err := p.Identity.Organizations.Find(p.t.Context(), o.ID)
	require.NoError(t, err)
	require.Equal(t, o, got)
	m, err := p.Identity.Organizations.MembershipOf(p.t.Context(), u.ID)
	require.NoError(t, err)
	require.True(t, m.Founder)
	require.Equal(t, identity.Admin, m.Role)
	require.Equal(t, identity.Admin.Defaults(), m.Permissions)
	_, err = p.Identity.Organizations.Find(p.t.Context(), uid())
	require.ErrorIs(t, err, identity.ErrOrganizationNotFound)
	none, err := p.Identity.Organizations.MembershipOf(p.t.Context(), uid())
	require.NoError(t, err)
	require.Nil(t, none)
}

func errorUndoes(t *testing.T, p *people) {
	boom := errors.New("boom")
	u := identity.NewUser(uid(), "jo@example.org", "Jo", identity.KindEmployer, "v", p.now)
	require.ErrorIs(t, p.Identity.Tx.Do(p.t.Context(), func(ctx context.Context) error {
		require.NoError(t, p.Identity.Users.Add(ctx, &u))
		o, m := identity.Found(uid(), uid(), u.ID, "X", "", "", p.now)
		require.NoError(t, p.Identity.Organizations.Found(ctx, o, m))
		s := identity.NewSession(uid(), u.ID, identity.Client{}, p.now)
		token, _ := s.NewRefreshToken(p.now)
		require.NoError(t, p.Identity.Sessions.Open(ctx, s, token))
		_, err := p.Identity.Sessions.Principal(ctx, s.ID)
		require.NoError(t, err, "the transaction sees itself")
		return boom
	}), boom)
	_, err := p.Identity.Users.FindByEmail(p.t.Context(), "jo@example.org")
	require.ErrorIs(t, err, identity.ErrUserNotFound)
	m, err := p.Identity.Organizations.MembershipOf(p.t.Context(), u.ID)
	require.NoError(t, err)
	require.Nil(t, m)
}
