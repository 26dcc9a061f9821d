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

// identityFixture is the fixture of the suites of identity. The embedded storage, which is empty
// at first, provides the ports under test, such as Users and Sessions.
type identityFixture struct {
	adapters.IdentityStorage
	t   *testing.T
	now time.Time // the time of the storage's clock
}

// runIdentity runs the tests by name, in parallel, each with an empty storage.
func runIdentity(t *testing.T, open IdentityOpener, tests map[string]func(*testing.T, *identityFixture)) {
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			clk := newFakeClock()
			storage := open(t, clk)
			requirePorts(t, storage)
			test(t, &identityFixture{IdentityStorage: storage, t: t, now: clk.Now()})
		})
	}
}

// passwordHash is the hash of the users' passwords. The storage does not interpret it.
const passwordHash = "verifier"

// user creates an active jobseeker with the name "Jo Doe".
func (fixture *identityFixture) user(email string) identity.User {
	fixture.t.Helper()

	user := identity.NewUser(newID(), email, "Jo Doe", identity.KindJobseeker, passwordHash, fixture.now)
	require.NoError(fixture.t, fixture.Users.Create(fixture.t.Context(), &user))

	return user
}

// getUser returns the user as stored.
func (fixture *identityFixture) getUser(id string) identity.User {
	fixture.t.Helper()

	user, err := fixture.Users.GetForUpdate(fixture.t.Context(), id)
	require.NoError(fixture.t, err)

	return user
}

// organization creates an organization with its founder.
func (fixture *identityFixture) organization(founder string) identity.Organization {
	fixture.t.Helper()

	org, member := identity.NewOrganization(newID(), newID(), founder, "St Mary's", "hospital", "51-200", fixture.now)
	require.NoError(fixture.t, fixture.Organizations.Upsert(fixture.t.Context(), &org))
	require.NoError(fixture.t, fixture.Members.Upsert(fixture.t.Context(), &member))

	return org
}

// invited returns the id of the user with the address. If there is none, it creates an invited
// user: a user without a password, who has no account yet.
func (fixture *identityFixture) invited(email string) string {
	fixture.t.Helper()

	user, err := fixture.Users.GetByEmail(fixture.t.Context(), identity.LowerCaseKey(email))
	if errors.Is(err, identity.ErrUserNotFound) {
		user = identity.NewInvited(newID(), email, "In Vited", fixture.now)
		err = fixture.Users.Create(fixture.t.Context(), &user)
	}

	require.NoError(fixture.t, err)

	return user.ID
}

// invite invites the address to the organization.
func (fixture *identityFixture) invite(org identity.Organization, email string, role identity.OrgRole) identity.Membership {
	fixture.t.Helper()

	member := identity.NewInvitation(newID(), org.ID, fixture.invited(email), "In Vited", email, role, fixture.now)
	require.NoError(fixture.t, fixture.Members.Upsert(fixture.t.Context(), &member))

	return member
}

// accept makes an invited user an active member.
func (fixture *identityFixture) accept(member *identity.Membership) {
	fixture.t.Helper()
	member.Accept(fixture.now)
	require.NoError(fixture.t, fixture.Members.Upsert(fixture.t.Context(), member))
}

// session creates a session with a refresh token.
func (fixture *identityFixture) session(user identity.User) (identity.Session, identity.RefreshToken) {
	fixture.t.Helper()

	session := identity.NewSession(newID(), user.ID, identity.Client{Address: "192.0.2.44", UserAgent: "agent"}, fixture.now)
	token, _ := session.NewRefreshToken(fixture.now)
	require.NoError(fixture.t, fixture.Sessions.Create(fixture.t.Context(), session, token))

	return session, token
}

// mailToken creates a mailed token of the user.
func (fixture *identityFixture) mailToken(
	user identity.User, purpose identity.Purpose, organizationID string,
) identity.MailToken {
	fixture.t.Helper()

	token, _ := identity.NewMailToken(user.ID, user.Email, purpose, fixture.now)
	token.OrganizationID = organizationID
	require.NoError(fixture.t, fixture.MailTokens.Create(fixture.t.Context(), token))

	return token
}

// principal returns the session with its user and membership.
func (fixture *identityFixture) principal(k identity.SessionKey) identity.Principal {
	fixture.t.Helper()

	got, err := fixture.Sessions.GetPrincipal(fixture.t.Context(), k)
	require.NoError(fixture.t, err)

	return got
}

// requireNotInTeam requires that the user is neither a member of the organization nor invited.
func (fixture *identityFixture) requireNotInTeam(organizationID, userID string) {
	fixture.t.Helper()

	_, err := fixture.Members.Get(fixture.t.Context(), organizationID, userID)
	require.ErrorIs(fixture.t, err, identity.ErrNotInTeam)
}

// do runs fn in a transaction. After a conflict with another transaction, it runs fn again.
func (fixture *identityFixture) do(fn func(ctx context.Context) error) error {
	return fixture.Tx.Do(fixture.t.Context(), fn)
}

// Users checks the port identity.Users.
func Users(t *testing.T, open IdentityOpener) {
	runIdentity(t, open, map[string]func(*testing.T, *identityFixture){
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

// userReads checks that a user is read as it was created, by id and by address. GetByEmail
// expects an address in lower case.
func userReads(t *testing.T, fixture *identityFixture) {
	user := identity.NewUser(newID(), "Jo@example.org", "Jo Doe", identity.KindEmployer, passwordHash, fixture.now)
	user.Verify(fixture.now.Add(unroundedDelay))
	require.NoError(t, fixture.Users.Create(t.Context(), &user))
	require.Equal(t, user, fixture.getUser(user.ID))

	got, err := fixture.Users.GetByEmail(t.Context(), "jo@example.org")
	require.NoError(t, err)
	require.Equal(t, user, got)

	// Neither an unknown id nor an address with a capital letter finds the user.
	_, err = fixture.Users.GetForUpdate(t.Context(), newID())
	require.ErrorIs(t, err, identity.ErrUserNotFound)

	_, err = fixture.Users.GetByEmail(t.Context(), "Jo@example.org")
	require.ErrorIs(t, err, identity.ErrUserNotFound, "GetByEmail does not convert its argument")
}

// userUpdates checks that an update of the current version is stored.
func userUpdates(t *testing.T, fixture *identityFixture) {
	user := fixture.user("jo@example.org")
	user.Verify(fixture.now.Add(time.Microsecond))
	user.SetPassword("other", fixture.now.Add(time.Hour))
	require.NoError(t, fixture.Users.Update(t.Context(), &user))
	require.Equal(t, user, fixture.getUser(user.ID))
}

// usersByIDs checks that GetByIDs returns the users with the ids, in any order, and leaves out unknown ids.
func usersByIDs(t *testing.T, fixture *identityFixture) {
	user, otherUser := fixture.user("jo@example.org"), fixture.user("al@example.org")

	// An unknown id, alone and with those of one and of two users.
	for _, want := range [][]identity.User{{}, {user}, {user, otherUser}} {
		unknownID := newID()

		ids := []string{unknownID}
		for _, user := range want {
			ids = append(ids, user.ID)
		}

		found, err := fixture.Users.GetByIDs(t.Context(), ids)
		require.NoError(t, err)
		require.ElementsMatch(t, want, found, "an unknown id and those of %d users", len(want))
	}

	// Only known ids, and no ids.
	found, err := fixture.Users.GetByIDs(t.Context(), []string{user.ID})
	require.NoError(t, err)
	require.Equal(t, []identity.User{user}, found)

	found, err = fixture.Users.GetByIDs(t.Context(), nil)
	require.NoError(t, err)
	require.Empty(t, found)
}

// addressIsUnique checks that no second account gets the address of another one: neither by its creation, with
// another spelling of the address, nor by an update.
func addressIsUnique(t *testing.T, fixture *identityFixture) {
	fixture.user("jo@example.org")

	created := identity.NewUser(newID(), "JO@example.org", "Jo", identity.KindEmployer, "v", fixture.now)
	require.ErrorIs(t, fixture.Users.Create(t.Context(), &created), identity.ErrEmailTaken)

	updated := fixture.user("al@example.org")
	updated.Email = "jo@example.org"
	require.ErrorIs(t, fixture.Users.Update(t.Context(), &updated), identity.ErrEmailTaken)
}

// concurrentCreations checks that one of twenty concurrent registrations of an address
// succeeds.
func concurrentCreations(t *testing.T, fixture *identityFixture) {
	created := countConcurrent(t, 20, func(int) (isCreated bool, err error) {
		user := identity.NewUser(newID(), "jo@example.org", "Jo", identity.KindJobseeker, "v", fixture.now)

		err = fixture.do(func(ctx context.Context) error { return fixture.Users.Create(ctx, &user) })
		if errors.Is(err, identity.ErrEmailTaken) {
			return false, nil
		}

		return err == nil, err
	})
	require.Equal(t, 1, created)
}

// invitedBecomesAccount checks that the registration of an invited address keeps the id of the
// invited user, to which memberships refer. Create stores the kept id and the version in its argument.
func invitedBecomesAccount(t *testing.T, fixture *identityFixture) {
	invitedID := fixture.invited("Jo@example.org")
	user := identity.NewUser(newID(), "jo@example.org", "Own Name", identity.KindJobseeker, "v",
		fixture.now.Add(time.Hour))
	require.NoError(t, fixture.Users.Create(t.Context(), &user))
	require.Equal(t, invitedID, user.ID)
	require.Equal(t, user, fixture.getUser(invitedID))

	user.SetPassword("w", fixture.now)
	require.NoError(t, fixture.Users.Update(t.Context(), &user), "the version of the account is current")
}

// concurrentInvited checks that twenty concurrent invitations of an address get the same user.
func concurrentInvited(t *testing.T, fixture *identityFixture) {
	var ids [20]string
	runConcurrently(t, len(ids), func(i int) error {
		return fixture.do(func(ctx context.Context) error {
			user := identity.NewInvited(newID(), "new@example.org", "New", fixture.now)
			err := fixture.Users.Create(ctx, &user)
			ids[i] = user.ID

			return err
		})
	})

	for i, id := range ids {
		require.Equal(t, ids[0], id, "invitation %d", i)
	}
}

// invitedAndAccount checks that an address with an account cannot become an invited user.
func invitedAndAccount(t *testing.T, fixture *identityFixture) {
	user := fixture.user("jo@example.org")
	invited := identity.NewInvited(newID(), "JO@example.org", "New", fixture.now)
	require.ErrorIs(t, fixture.Users.Create(t.Context(), &invited), identity.ErrEmailTaken)
	require.Equal(t, user, fixture.getUser(user.ID), "an invitation does not change an account")
}

// concurrentUpdates checks that no change is lost if concurrent transactions read a user without
// locking it. Update fails for a version that is not current any more, and the transaction is then
// repeated. Each transaction appends a character to the name.
func concurrentUpdates(t *testing.T, fixture *identityFixture) {
	user := fixture.user("jo@example.org")
	const updates = 20
	runConcurrently(t, updates, func(int) error {
		return fixture.do(func(ctx context.Context) error {
			found, err := fixture.Users.GetByIDs(ctx, []string{user.ID})
			if err != nil {
				return err
			}

			found[0].Name += "+"

			return fixture.Users.Update(ctx, &found[0])
		})
	})

	require.Equal(t, updates, strings.Count(fixture.getUser(user.ID).Name, "+"))
}

// userIsLocked checks that GetForUpdate waits for a transaction that has locked the user and
// returns the user with its changes.
func userIsLocked(t *testing.T, fixture *identityFixture) {
	user := fixture.user("jo@example.org")

	// The second transaction begins when the first has locked the user.
	locked := make(chan struct{})
	updated := make(chan error, 1) // receives the result of the second transaction

	go func() {
		<-locked
		updated <- fixture.do(func(ctx context.Context) error {
			user, err := fixture.Users.GetForUpdate(ctx, user.ID)
			if err != nil {
				return err
			}

			user.Name += " (second)"

			return fixture.Users.Update(ctx, &user)
		})
	}()

	require.NoError(t, fixture.do(func(ctx context.Context) error {
		got, err := fixture.Users.GetForUpdate(ctx, user.ID)
		if err != nil {
			return err
		}

		select {
		case <-locked: // closed already, in a repeated transaction
		default:
			close(locked)
		}

		got.Name += " (first)"

		return fixture.Users.Update(ctx, &got)
	}))
	require.NoError(t, <-updated)

	name := fixture.getUser(user.ID).Name
	require.Contains(t, name, " (first)")
	require.Contains(t, name, " (second)")
}

// signInNeedsVerifier checks RecordSignIn, which gets the password hash that was verified and a
// new hash that replaces it. The sign-in is recorded only if the stored hash is still the verified
// one, and never for an invited user. The user's version does not change.
func signInNeedsVerifier(t *testing.T, fixture *identityFixture) {
	user := fixture.user("jo@example.org")
	const newHash = "renewed"

	isRecorded, err := fixture.Users.RecordSignIn(t.Context(), user.ID, passwordHash, newHash, fixture.now)
	require.NoError(t, err)
	require.True(t, isRecorded, "the stored hash was verified")

	// A second sign-in that has verified the previous hash.
	isRecorded, err = fixture.Users.RecordSignIn(t.Context(), user.ID, passwordHash, "again", fixture.now)
	require.NoError(t, err)
	require.False(t, isRecorded, "the stored hash has changed")

	stored := fixture.getUser(user.ID)
	require.Equal(t, newHash, stored.PasswordHash)
	require.Equal(t, user.Version, stored.Version)

	const noHash = ""
	invitedID := fixture.invited("new@example.org")
	isRecorded, err = fixture.Users.RecordSignIn(t.Context(), invitedID, noHash, noHash, fixture.now)
	require.NoError(t, err)
	require.False(t, isRecorded, "an invited user has no password")
}

// lockedAccount checks that a locked account keeps its data, but that its sessions are not found and that no
// sign-in is recorded. An unlocked account has its sessions again.
func lockedAccount(t *testing.T, fixture *identityFixture) {
	user := fixture.user("jo@example.org")
	session, _ := fixture.session(user)
	user.Lock(fixture.now)
	require.NoError(t, fixture.Users.Update(t.Context(), &user))

	got, err := fixture.Users.GetByEmail(t.Context(), "jo@example.org")
	require.NoError(t, err)
	require.Equal(t, user, got)

	_, err = fixture.Sessions.GetPrincipal(t.Context(), identity.SessionKey{ID: session.ID})
	require.ErrorIs(t, err, identity.ErrSessionNotFound)

	isRecorded, err := fixture.Users.RecordSignIn(t.Context(), user.ID, passwordHash, passwordHash, fixture.now)
	require.NoError(t, err)
	require.False(t, isRecorded, "the account is locked")

	user.Unlock(fixture.now)
	require.NoError(t, fixture.Users.Update(t.Context(), &user))
	fixture.principal(identity.SessionKey{ID: session.ID})
}

// deletedAccount checks that no method finds a deleted account, its session or its membership, and that no sign-in
// is recorded.
func deletedAccount(t *testing.T, fixture *identityFixture) {
	user := fixture.user("jo@example.org")
	session, _ := fixture.session(user)
	org := fixture.organization(user.ID)

	user.Status = identity.UserDeleted
	require.NoError(t, fixture.Users.Update(t.Context(), &user))

	_, err := fixture.Users.GetForUpdate(t.Context(), user.ID)
	require.ErrorIs(t, err, identity.ErrUserNotFound)

	_, err = fixture.Users.GetByEmail(t.Context(), "jo@example.org")
	require.ErrorIs(t, err, identity.ErrUserNotFound)

	_, err = fixture.Sessions.GetPrincipal(t.Context(), identity.SessionKey{ID: session.ID})
	require.ErrorIs(t, err, identity.ErrSessionNotFound)

	fixture.requireNotInTeam(org.ID, user.ID)

	found, err := fixture.Users.GetByIDs(t.Context(), []string{user.ID})
	require.NoError(t, err)
	require.Empty(t, found)

	isRecorded, err := fixture.Users.RecordSignIn(t.Context(), user.ID, passwordHash, passwordHash, fixture.now)
	require.NoError(t, err)
	require.False(t, isRecorded, "the account is deleted")
}

// usersExist checks that Exists counts deleted users, too. Commands that could destroy data call
// it, and a deleted user shows that the database is in use.
func usersExist(t *testing.T, fixture *identityFixture) {
	exist, err := fixture.Users.Exists(t.Context())
	require.NoError(t, err)
	require.False(t, exist, "the storage is empty")

	user := fixture.user("jo@example.org")
	user.Erase(fixture.now)
	require.NoError(t, fixture.Users.Update(t.Context(), &user))

	exist, err = fixture.Users.Exists(t.Context())
	require.NoError(t, err)
	require.True(t, exist, "a deleted user counts")
}

// errorUndoes checks that a transaction sees its own changes, and that an error of its function rolls all of them
// back.
func errorUndoes(t *testing.T, fixture *identityFixture) {
	errRollback := errors.New("roll back")
	user := identity.NewUser(newID(), "jo@example.org", "Jo", identity.KindEmployer, "v", fixture.now)

	err := fixture.do(func(ctx context.Context) error {
		require.NoError(t, fixture.Users.Create(ctx, &user))

		const industry, size = "", "" // optional
		org, member := identity.NewOrganization(newID(), newID(), user.ID, "X", industry, size, fixture.now)
		require.NoError(t, fixture.Organizations.Upsert(ctx, &org))
		require.NoError(t, fixture.Members.Upsert(ctx, &member))

		session := identity.NewSession(newID(), user.ID, identity.Client{}, fixture.now)
		token, _ := session.NewRefreshToken(fixture.now)
		require.NoError(t, fixture.Sessions.Create(ctx, session, token))

		_, err := fixture.Sessions.GetPrincipal(ctx, identity.SessionKey{ID: session.ID})
		require.NoError(t, err, "a transaction sees its own changes")

		return errRollback
	})
	require.ErrorIs(t, err, errRollback)

	// Neither the user nor the membership is stored.
	_, err = fixture.Users.GetByEmail(t.Context(), "jo@example.org")
	require.ErrorIs(t, err, identity.ErrUserNotFound)

	member, err := fixture.Members.GetByUser(t.Context(), user.ID)
	require.NoError(t, err)
	require.Nil(t, member)
}
