package conformance

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/core/clock"
	"github.com/locumhq/locum/modules/identity"
)

// IdentityOpener returns an empty storage with the current schema, whose time is that of
// the clock.
type IdentityOpener = func(t testing.TB, clk clock.Clock) adapters.IdentityStorage

// Identity checks the storage of modules/identity.
func Identity(t *testing.T, open IdentityOpener) {
	t.Run("users", func(t *testing.T) { Users(t, open) })
	t.Run("organizations", func(t *testing.T) { Organizations(t, open) })
	t.Run("members", func(t *testing.T) { Members(t, open) })
	t.Run("sessions", func(t *testing.T) { Sessions(t, open) })
	t.Run("mail tokens", func(t *testing.T) { MailTokens(t, open) })
	t.Run("email changes", func(t *testing.T) { EmailChanges(t, open) })
	t.Run("verified names", func(t *testing.T) { VerifiedNames(t, open) })
	t.Run("second factors", func(t *testing.T) { SecondFactors(t, open) })
	t.Run("employer settings", func(t *testing.T) { EmployerSettings(t, open) })
	t.Run("opt-outs", func(t *testing.T) { OptOuts(t, open) })
	t.Run("personal data", func(t *testing.T) { IdentityPersonalData(t, open) })
	t.Run("retention", func(t *testing.T) { IdentityRetention(t, open) })
}

// people is the fixture of the suites of identity.
type people struct {
	adapters.IdentityStorage
	t   *testing.T
	now time.Time
}

// runIdentity runs the tests in parallel, each with an empty storage.
func runIdentity(t *testing.T, open IdentityOpener, tests map[string]func(*testing.T, *people)) {
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clk := newFakeClock()
			s := open(t, clk)
			requirePorts(t, s)
			test(t, &people{IdentityStorage: s, t: t, now: clk.Now()})
		})
	}
}

func (p *people) user(email string) identity.User {
	p.t.Helper()
	u := identity.NewUser(newID(), email, "Jo Doe", identity.KindJobseeker, "verifier", p.now)
	require.NoError(p.t, p.Users.Create(p.t.Context(), &u))
	return u
}

func (p *people) getUser(id string) identity.User {
	p.t.Helper()
	u, err := p.Users.GetForUpdate(p.t.Context(), id)
	require.NoError(p.t, err)
	return u
}

func (p *people) organization(founder string) identity.Organization {
	p.t.Helper()
	o, m := identity.NewOrganization(newID(), newID(), founder, "St Mary's", "hospital", "51-200", p.now)
	require.NoError(p.t, p.Organizations.Upsert(p.t.Context(), &o))
	require.NoError(p.t, p.Members.Upsert(p.t.Context(), &m))
	return o
}

// invited returns the id of the user with the address, who is created if necessary.
func (p *people) invited(email string) string {
	p.t.Helper()
	u, err := p.Users.GetByEmail(p.t.Context(), identity.EmailKey(email))
	if errors.Is(err, identity.ErrUserNotFound) {
		u = identity.NewInvited(newID(), email, "In Vited", p.now)
		err = p.Users.Create(p.t.Context(), &u)
	}
	require.NoError(p.t, err)
	return u.ID
}

func (p *people) invite(o identity.Organization, email string, role identity.OrgRole) identity.Membership {
	p.t.Helper()
	m := identity.NewInvitation(newID(), o.ID, p.invited(email), "In Vited", email, role, p.now)
	require.NoError(p.t, p.Members.Upsert(p.t.Context(), &m))
	return m
}

func (p *people) accept(m *identity.Membership) {
	p.t.Helper()
	m.Accept(p.now)
	require.NoError(p.t, p.Members.Upsert(p.t.Context(), m))
}

func (p *people) session(u identity.User) (identity.Session, identity.RefreshToken) {
	p.t.Helper()
	s := identity.NewSession(newID(), u.ID, identity.Client{Address: "192.0.2.44", UserAgent: "agent"}, p.now)
	token, _ := s.NewRefreshToken(p.now)
	require.NoError(p.t, p.Sessions.Create(p.t.Context(), s, token))
	return s, token
}

func (p *people) mailToken(u identity.User, purpose identity.Purpose, organizationID string) identity.MailToken {
	p.t.Helper()
	token, _ := identity.NewMailToken(u.ID, u.Email, purpose, p.now)
	token.OrganizationID = organizationID
	require.NoError(p.t, p.MailTokens.Create(p.t.Context(), token))
	return token
}

func (p *people) principal(k identity.SessionKey) identity.Principal {
	p.t.Helper()
	got, err := p.Sessions.GetPrincipal(p.t.Context(), k)
	require.NoError(p.t, err)
	return got
}

func (p *people) isNotInTeam(organizationID, userID string) {
	p.t.Helper()
	_, err := p.Members.Get(p.t.Context(), organizationID, userID)
	require.ErrorIs(p.t, err, identity.ErrNotInTeam)
}

// do runs fn in a transaction.
func (p *people) do(fn func(ctx context.Context) error) error {
	return p.Tx.Do(p.t.Context(), fn)
}

// Users checks the port identity.Users.
func Users(t *testing.T, open IdentityOpener) {
	runIdentity(t, open, map[string]func(*testing.T, *people){
		"create and read":          userReads,
		"update":                   userUpdates,
		"unique address":           addressIsUnique,
		"concurrent creations":     concurrentCreations,
		"invited user":             invitedBecomesAccount,
		"concurrent invited users": concurrentInvited,
		"concurrent updates":       concurrentUpdates,
		"locked for update":        userIsLocked,
		"sign-in":                  signInNeedsVerifier,
		"locked account":           lockedAccount,
		"deleted account":          deletedAccount,
		"exists":                   usersExist,
		"error of the transaction": errorUndoes,
		"several by id":            usersByIDs,
		"address of an account":    invitedAndAccount,
	})
}

func userReads(t *testing.T, p *people) {
	u := identity.NewUser(newID(), "Jo@example.org", "Jo Doe", identity.KindEmployer, "verifier", p.now)
	u.Verify(p.now.Add(1234567 * time.Microsecond))
	require.NoError(t, p.Users.Create(t.Context(), &u))
	require.Equal(t, u, p.getUser(u.ID))
	got, err := p.Users.GetByEmail(t.Context(), "jo@example.org")
	require.NoError(t, err)
	require.Equal(t, u, got)
	_, err = p.Users.GetForUpdate(t.Context(), newID())
	require.ErrorIs(t, err, identity.ErrUserNotFound)
	_, err = p.Users.GetByEmail(t.Context(), "Jo@example.org")
	require.ErrorIs(t, err, identity.ErrUserNotFound, "the key is in lower case")
}

func userUpdates(t *testing.T, p *people) {
	u := p.user("jo@example.org")
	u.Verify(p.now.Add(time.Microsecond))
	u.SetPassword("other", p.now.Add(time.Hour))
	require.NoError(t, p.Users.Update(t.Context(), &u))
	require.Equal(t, u, p.getUser(u.ID))
}

func usersByIDs(t *testing.T, p *people) {
	u, other := p.user("jo@example.org"), p.user("al@example.org")
	for _, want := range [][]identity.User{{}, {u}, {u, other}} {
		ids := []string{newID()}
		for _, w := range want {
			ids = append(ids, w.ID)
		}
		got, err := p.Users.GetByIDs(t.Context(), ids)
		require.NoError(t, err)
		require.ElementsMatch(t, want, got)
	}
	got, err := p.Users.GetByIDs(t.Context(), []string{u.ID})
	require.NoError(t, err)
	require.Equal(t, []identity.User{u}, got)
	got, err = p.Users.GetByIDs(t.Context(), nil)
	require.NoError(t, err)
	require.Empty(t, got)
}

func addressIsUnique(t *testing.T, p *people) {
	p.user("jo@example.org")
	u := identity.NewUser(newID(), "JO@example.org", "Jo", identity.KindEmployer, "v", p.now)
	require.ErrorIs(t, p.Users.Create(t.Context(), &u), identity.ErrEmailTaken)
	other := p.user("al@example.org")
	other.Email = "jo@example.org"
	require.ErrorIs(t, p.Users.Update(t.Context(), &other), identity.ErrEmailTaken)
}

func concurrentCreations(t *testing.T, p *people) {
	require.Equal(t, 1, atOnce(t, 20, func(int) (bool, error) {
		u := identity.NewUser(newID(), "jo@example.org", "Jo", identity.KindJobseeker, "v", p.now)
		err := p.do(func(ctx context.Context) error { return p.Users.Create(ctx, &u) })
		if errors.Is(err, identity.ErrEmailTaken) {
			return false, nil
		}
		return err == nil, err
	}))
}

func invitedBecomesAccount(t *testing.T, p *people) {
	id := p.invited("Jo@example.org")
	u := identity.NewUser(newID(), "jo@example.org", "Own Name", identity.KindJobseeker, "v", p.now.Add(time.Hour))
	require.NoError(t, p.Users.Create(t.Context(), &u))
	require.Equal(t, id, u.ID)
	require.Equal(t, u, p.getUser(id))
	u.SetPassword("w", p.now)
	require.NoError(t, p.Users.Update(t.Context(), &u), "Create returns the stored version")
}

func concurrentInvited(t *testing.T, p *people) {
	var ids [20]string
	together(t, len(ids), func(i int) error {
		return p.do(func(ctx context.Context) error {
			u := identity.NewInvited(newID(), "new@example.org", "New", p.now)
			err := p.Users.Create(ctx, &u)
			ids[i] = u.ID
			return err
		})
	})
	for _, id := range ids {
		require.Equal(t, ids[0], id)
	}
}

func invitedAndAccount(t *testing.T, p *people) {
	u := p.user("jo@example.org")
	invited := identity.NewInvited(newID(), "JO@example.org", "New", p.now)
	require.ErrorIs(t, p.Users.Create(t.Context(), &invited), identity.ErrEmailTaken)
	require.Equal(t, u, p.getUser(u.ID), "an invitation does not change an account")
}

func concurrentUpdates(t *testing.T, p *people) {
	u := p.user("jo@example.org")
	together(t, 20, func(int) error {
		return p.do(func(ctx context.Context) error {
			found, err := p.Users.GetByIDs(ctx, []string{u.ID})
			if err != nil {
				return err
			}
			found[0].Name += "+"
			return p.Users.Update(ctx, &found[0])
		})
	})
	require.Equal(t, 20, strings.Count(p.getUser(u.ID).Name, "+"))
}

func userIsLocked(t *testing.T, p *people) {
	u := p.user("jo@example.org")
	locked, updated := make(chan struct{}), make(chan error, 1)
	go func() {
		<-locked
		updated <- p.do(func(ctx context.Context) error {
			u, err := p.Users.GetForUpdate(ctx, u.ID)
			if err != nil {
				return err
			}
			u.Name += " (second)"
			return p.Users.Update(ctx, &u)
		})
	}()
	require.NoError(t, p.do(func(ctx context.Context) error {
		got, err := p.Users.GetForUpdate(ctx, u.ID)
		if err != nil {
			return err
		}
		select {
		case <-locked:
		default:
			close(locked)
		}
		got.Name += " (first)"
		return p.Users.Update(ctx, &got)
	}))
	require.NoError(t, <-updated)
	name := p.getUser(u.ID).Name
	require.Contains(t, name, " (first)")
	require.Contains(t, name, " (second)")
}

func signInNeedsVerifier(t *testing.T, p *people) {
	u := p.user("jo@example.org")
	ok, err := p.Users.RecordSignIn(t.Context(), u.ID, "verifier", "renewed", p.now)
	require.NoError(t, err)
	require.True(t, ok)
	ok, err = p.Users.RecordSignIn(t.Context(), u.ID, "verifier", "again", p.now)
	require.NoError(t, err)
	require.False(t, ok)
	got := p.getUser(u.ID)
	require.Equal(t, "renewed", got.PasswordHash)
	require.Equal(t, u.Version, got.Version)
	invited := p.invited("new@example.org")
	ok, err = p.Users.RecordSignIn(t.Context(), invited, "", "", p.now)
	require.NoError(t, err)
	require.False(t, ok)
}

func lockedAccount(t *testing.T, p *people) {
	u := p.user("jo@example.org")
	s, _ := p.session(u)
	u.Lock(p.now)
	require.NoError(t, p.Users.Update(t.Context(), &u))
	got, err := p.Users.GetByEmail(t.Context(), "jo@example.org")
	require.NoError(t, err)
	require.Equal(t, u, got)
	_, err = p.Sessions.GetPrincipal(t.Context(), identity.SessionKey{ID: s.ID})
	require.ErrorIs(t, err, identity.ErrSessionNotFound)
	ok, err := p.Users.RecordSignIn(t.Context(), u.ID, "verifier", "verifier", p.now)
	require.NoError(t, err)
	require.False(t, ok)
	u.Unlock(p.now)
	require.NoError(t, p.Users.Update(t.Context(), &u))
	p.principal(identity.SessionKey{ID: s.ID})
}

func deletedAccount(t *testing.T, p *people) {
	u := p.user("jo@example.org")
	s, _ := p.session(u)
	o := p.organization(u.ID)
	u.Status = identity.UserDeleted
	require.NoError(t, p.Users.Update(t.Context(), &u))
	_, err := p.Users.GetForUpdate(t.Context(), u.ID)
	require.ErrorIs(t, err, identity.ErrUserNotFound)
	_, err = p.Users.GetByEmail(t.Context(), "jo@example.org")
	require.ErrorIs(t, err, identity.ErrUserNotFound)
	_, err = p.Sessions.GetPrincipal(t.Context(), identity.SessionKey{ID: s.ID})
	require.ErrorIs(t, err, identity.ErrSessionNotFound)
	p.isNotInTeam(o.ID, u.ID)
	found, err := p.Users.GetByIDs(t.Context(), []string{u.ID})
	require.NoError(t, err)
	require.Empty(t, found)
	ok, err := p.Users.RecordSignIn(t.Context(), u.ID, "verifier", "verifier", p.now)
	require.NoError(t, err)
	require.False(t, ok)
}

func usersExist(t *testing.T, p *people) {
	exist, err := p.Users.Exists(t.Context())
	require.NoError(t, err)
	require.False(t, exist)
	u := p.user("jo@example.org")
	u.Erase(p.now)
	require.NoError(t, p.Users.Update(t.Context(), &u))
	exist, err = p.Users.Exists(t.Context())
	require.NoError(t, err)
	require.True(t, exist, "a deleted user counts")
}

func errorUndoes(t *testing.T, p *people) {
	boom := errors.New("boom")
	u := identity.NewUser(newID(), "jo@example.org", "Jo", identity.KindEmployer, "v", p.now)
	require.ErrorIs(t, p.do(func(ctx context.Context) error {
		require.NoError(t, p.Users.Create(ctx, &u))
		o, m := identity.NewOrganization(newID(), newID(), u.ID, "X", "", "", p.now)
		require.NoError(t, p.Organizations.Upsert(ctx, &o))
		require.NoError(t, p.Members.Upsert(ctx, &m))
		s := identity.NewSession(newID(), u.ID, identity.Client{}, p.now)
		token, _ := s.NewRefreshToken(p.now)
		require.NoError(t, p.Sessions.Create(ctx, s, token))
		_, err := p.Sessions.GetPrincipal(ctx, identity.SessionKey{ID: s.ID})
		require.NoError(t, err, "a transaction sees its own changes")
		return boom
	}), boom)
	_, err := p.Users.GetByEmail(t.Context(), "jo@example.org")
	require.ErrorIs(t, err, identity.ErrUserNotFound)
	m, err := p.Members.GetByUser(t.Context(), u.ID)
	require.NoError(t, err)
	require.Nil(t, m)
}
