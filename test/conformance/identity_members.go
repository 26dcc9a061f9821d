package conformance

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/modules/identity"
)

// Organizations checks the port identity.Organizations.
func Organizations(t *testing.T, open IdentityOpener) {
	runIdentity(t, open, map[string]func(*testing.T, *identityFixture){
		"create and read":   organizationReads,
		"update":            organizationUpdates,
		"locked for update": organizationIsLocked,
	})
}

// organizationReads checks that organizations are read as they were created, and that GetByIDs
// leaves out unknown ids.
func organizationReads(t *testing.T, fixture *identityFixture) {
	org := fixture.organization(fixture.user("jo@example.org").ID)
	otherOrg := fixture.organization(fixture.user("al@example.org").ID)

	require.EqualValues(t, 1, org.Version)

	got, err := fixture.Organizations.GetForUpdate(t.Context(), org.ID)
	require.NoError(t, err)
	require.Equal(t, org, got)

	_, err = fixture.Organizations.GetForUpdate(t.Context(), newID())
	require.ErrorIs(t, err, identity.ErrOrganizationNotFound)

	found, err := fixture.Organizations.GetByIDs(t.Context(), []string{otherOrg.ID, newID(), org.ID})
	require.NoError(t, err)
	require.ElementsMatch(t, []identity.Organization{org, otherOrg}, found)
}

// organizationUpdates checks that an update with an outdated version repeats its transaction.
func organizationUpdates(t *testing.T, fixture *identityFixture) {
	ctx := t.Context()
	org := fixture.organization(fixture.user("jo@example.org").ID)
	stale := org
	org.Name = "Zoë's 100% \"Care\""
	org.Description = "Line one\nline two"
	org.Website = "https://care.example"
	org.Logo = "https://care.example/logo.png"
	org.Industry = "nursing home"
	org.Size = "11-50"
	org.RequireSecondFactor = true
	org.UpdatedAt = fixture.now.Add(time.Microsecond)
	require.NoError(t, fixture.Organizations.Upsert(ctx, &org))

	get := func(ctx context.Context) identity.Organization {
		got, err := fixture.Organizations.GetForUpdate(ctx, org.ID)
		require.NoError(t, err)
		return got
	}

	require.Equal(t, org, get(ctx))

	// The transaction updates an outdated copy at first. When it is repeated, it reads the organization again.
	attempts := 0
	require.NoError(t, fixture.do(func(ctx context.Context) error {
		attempts++
		if attempts > 1 {
			stale = get(ctx)
		}

		stale.Industry = "hospital"

		return fixture.Organizations.Upsert(ctx, &stale)
	}))
	require.Equal(t, 2, attempts, "the version was outdated")

	got := get(ctx)
	require.Equal(t, org.Name, got.Name)
	require.Equal(t, "hospital", got.Industry)
}

// organizationIsLocked checks that at most one transaction has the organization locked.
func organizationIsLocked(t *testing.T, fixture *identityFixture) {
	org := fixture.organization(fixture.user("boss@example.org").ID)
	var holders, maxHolders int // transactions that have the lock, now and at most
	var mu sync.Mutex
	runConcurrently(t, 20, func(int) error {
		return fixture.do(func(ctx context.Context) error {
			if _, err := fixture.Organizations.GetForUpdate(ctx, org.ID); err != nil {
				return err
			}

			mu.Lock()
			holders++
			maxHolders = max(maxHolders, holders)
			mu.Unlock()

			// A query, so that the lock is held for a while.
			_, err := fixture.Members.List(ctx, org.ID, identity.MemberFilter{}, page.Request{Number: 1, Size: 2})

			mu.Lock()
			holders--
			mu.Unlock()

			return err
		})
	})

	require.Equal(t, 1, maxHolders)
}

// Members checks the port identity.Members.
func Members(t *testing.T, open IdentityOpener) {
	runIdentity(t, open, map[string]func(*testing.T, *identityFixture){
		"active membership":          activeMembership,
		"second active membership":   oneActiveMembership,
		"renewed invitation":         invitationIsRenewed,
		"concurrent invitations":     concurrentInvitations,
		"invitation of deleted user": deletedIsNotInvited,
		"other organizations":        membersAreOwned,
		"name of an invited user":    invitedName,
		"filters":                    membersAreFiltered,
		"pages":                      teamPages,
		"delete":                     membersAreDeleted,
		"merge an invited user":      invitedIsMerged,
		"required second factor":     secondFactorIsRequired,
	})
}

// activeMembership checks that the membership of a founder is found by user and can be changed.
func activeMembership(t *testing.T, fixture *identityFixture) {
	user := fixture.user("jo@example.org")
	fixture.organization(user.ID)

	member, err := fixture.Members.GetByUser(t.Context(), user.ID)
	require.NoError(t, err)
	require.True(t, member.Founder)
	require.Equal(t, identity.Admin, member.Role)
	require.Equal(t, identity.Admin.Defaults(), member.Permissions)
	require.EqualValues(t, 1, member.Version)
	member.Change(identity.Viewer, identity.Viewer.Defaults(), fixture.now.Add(time.Microsecond))
	require.NoError(t, fixture.Members.Upsert(t.Context(), member))

	got, err := fixture.Members.GetByUser(t.Context(), user.ID)
	require.NoError(t, err)
	require.Equal(t, member, got)

	none, err := fixture.Members.GetByUser(t.Context(), newID())
	require.NoError(t, err)
	require.Nil(t, none)
}

// oneActiveMembership checks that a user cannot be an active member of two organizations.
func oneActiveMembership(t *testing.T, fixture *identityFixture) {
	user := fixture.user("jo@example.org")
	first := fixture.organization(user.ID)
	second := fixture.organization(fixture.user("al@example.org").ID)
	member := fixture.invite(second, "jo@example.org", identity.Viewer)
	member.Accept(fixture.now)
	require.Error(t, fixture.Members.Upsert(t.Context(), &member))
	require.NoError(t, fixture.Members.Delete(t.Context(), first.ID, []string{user.ID}))
	require.NoError(t, fixture.Members.Upsert(t.Context(), &member))

	got, err := fixture.Members.GetByUser(t.Context(), user.ID)
	require.NoError(t, err)
	require.Equal(t, member, *got)
}

// invitationIsRenewed checks that an expired invitation is replaced by one with a new id, and
// that neither a valid invitation nor a member is.
func invitationIsRenewed(t *testing.T, fixture *identityFixture) {
	org := fixture.organization(fixture.user("boss@example.org").ID)
	member := fixture.invite(org, "new@example.org", identity.Viewer)
	second := identity.NewInvitation(newID(), org.ID, member.UserID, "Renamed", "new@example.org", identity.Admin,
		member.InvitedUntil)
	require.False(t, member.Renew(second, member.InvitedUntil.Add(-time.Microsecond)))
	require.True(t, member.Renew(second, member.InvitedUntil))

	stale := member
	require.NoError(t, fixture.Members.Upsert(t.Context(), &member))

	got, err := fixture.Members.Get(t.Context(), org.ID, member.UserID)
	require.NoError(t, err)
	require.Equal(t, member, got.Membership)
	require.Equal(t, second.ID, got.ID)
	require.Error(t, fixture.Members.Upsert(t.Context(), &stale), "the version is outdated")
	fixture.accept(&got.Membership)
	require.False(t, got.Renew(second, fixture.now.Add(365*24*time.Hour)), "a member is not invited again")
}

// concurrentInvitations checks that one of twenty transactions that find no invitation stores
// one.
func concurrentInvitations(t *testing.T, fixture *identityFixture) {
	org := fixture.organization(fixture.user("boss@example.org").ID)
	id := fixture.invited("new@example.org")
	require.Equal(t, 1, countConcurrent(t, 20, func(int) (stored bool, err error) {
		return stored, fixture.do(func(ctx context.Context) error {
			stored = false

			found, err := fixture.Members.List(ctx, org.ID, identity.MemberFilter{UserIDs: []string{id}},
				page.Request{Number: 1, Size: 1})
			if err != nil || len(found.Items) > 0 {
				return err
			}

			member := identity.NewInvitation(newID(), org.ID, id, "New", "new@example.org", identity.Viewer,
				fixture.now)
			stored = true

			return fixture.Members.Upsert(ctx, &member)
		})
	}))
}

// deletedIsNotInvited checks that no membership is stored for an invited user who was deleted
// concurrently.
func deletedIsNotInvited(t *testing.T, fixture *identityFixture) {
	org := fixture.organization(fixture.user("boss@example.org").ID)
	member := fixture.invite(org, "new@example.org", identity.Viewer)
	require.NoError(t, fixture.Members.Delete(t.Context(), org.ID, []string{member.UserID}))

	member.Version = 0
	require.Error(t, fixture.Members.Upsert(t.Context(), &member))
}

// membersAreOwned checks that users of other organizations are neither returned nor deleted.
func membersAreOwned(t *testing.T, fixture *identityFixture) {
	one, two := fixture.user("one@example.org"), fixture.user("two@example.org")
	org := fixture.organization(one.ID)
	fixture.organization(two.ID)

	for _, foreign := range []string{two.ID, fixture.user("free@example.org").ID, newID()} {
		fixture.requireNotInTeam(org.ID, foreign)
		require.NoError(t, fixture.Members.Delete(t.Context(), org.ID, []string{foreign}))
	}

	member, err := fixture.Members.GetByUser(t.Context(), two.ID)
	require.NoError(t, err)
	require.NotNil(t, member)
}

// invitedName checks that an organization sees the name that it has entered until the user
// accepts, and then the name of the account.
func invitedName(t *testing.T, fixture *identityFixture) {
	org := fixture.organization(fixture.user("boss@example.org").ID)
	user := fixture.user("jo@example.org")
	member := fixture.invite(org, "JO@example.org", identity.Recruiter)
	got, err := fixture.Members.Get(t.Context(), org.ID, user.ID)
	require.NoError(t, err)
	require.Equal(t, "In Vited", got.Name)
	require.Equal(t, "JO@example.org", got.Email)
	fixture.accept(&member)

	got, err = fixture.Members.Get(t.Context(), org.ID, user.ID)
	require.NoError(t, err)
	require.Equal(t, "Jo Doe", got.Name)
	require.Equal(t, "jo@example.org", got.Email)
}

// membersAreFiltered checks that a list contains members of one organization only, in the order
// in which they were added, and that all conditions of a filter must match. An invited admin is
// not active yet.
func membersAreFiltered(t *testing.T, fixture *identityFixture) {
	boss := fixture.user("boss@example.org")
	org := fixture.organization(boss.ID)
	jo := fixture.invite(org, "jo@example.org", identity.Viewer)
	admin := fixture.invite(org, "admin@example.org", identity.Admin)
	otherUser := fixture.user("al@example.org")
	fixture.organization(otherUser.ID)

	list := func(f identity.MemberFilter, size int) (ids []string) {
		got, err := fixture.Members.List(t.Context(), org.ID, f, page.Request{Number: 1, Size: size})
		require.NoError(t, err)

		for _, m := range got.Items {
			ids = append(ids, m.UserID)
		}

		return ids
	}

	got, err := fixture.Members.List(t.Context(), org.ID,
		identity.MemberFilter{UserIDs: []string{jo.UserID, otherUser.ID, newID()}},
		page.Request{Number: 1, Size: 3})
	require.NoError(t, err)
	require.Len(t, got.Items, 1)
	require.Equal(t, jo, got.Items[0].Membership)
	require.Equal(t, "jo@example.org", got.Items[0].Email)
	require.Equal(t, 1, got.Total)
	require.Equal(t, []string{boss.ID, jo.UserID, admin.UserID}, list(identity.MemberFilter{}, 10))

	admins := identity.MemberFilter{Role: identity.Admin, Status: identity.MemberActive}
	require.Equal(t, []string{boss.ID}, list(admins, 10))
	require.Equal(t, []string{jo.UserID, admin.UserID}, list(identity.MemberFilter{Status: identity.MemberInvited}, 10))
	fixture.accept(&admin)
	require.Equal(t, []string{boss.ID, admin.UserID}, list(admins, 10))
	require.Equal(t, []string{boss.ID}, list(admins, 1))
}

// teamPages checks that the next page can be requested by number or by cursor, and that a page
// after the last one is empty, not missing.
func teamPages(t *testing.T, fixture *identityFixture) {
	org := fixture.organization(fixture.user("boss@example.org").ID)
	fixture.organization(fixture.user("other@example.org").ID)

	for _, email := range []string{"a@example.org", "b@example.org"} {
		fixture.invite(org, email, identity.Viewer)
	}

	first, err := fixture.Members.List(t.Context(), org.ID, identity.MemberFilter{}, page.Request{Number: 1, Size: 2})
	require.NoError(t, err)
	require.Len(t, first.Items, 2)
	require.Equal(t, 3, first.Total)
	require.False(t, first.TotalIsEstimate)
	require.Equal(t, "boss@example.org", first.Items[0].Email)

	for _, r := range []page.Request{{Number: 2, Size: 2}, {Number: 1, Size: 2, Cursor: first.NextCursor}} {
		second, err := fixture.Members.List(t.Context(), org.ID, identity.MemberFilter{}, r)
		require.NoError(t, err)
		require.Len(t, second.Items, 1)
		require.Equal(t, "b@example.org", second.Items[0].Email)
		require.Equal(t, 3, second.Total)
		require.Empty(t, second.NextCursor)
	}

	beyond, err := fixture.Members.List(t.Context(), org.ID, identity.MemberFilter{}, page.Request{Number: 9, Size: 2})
	require.NoError(t, err)
	require.NotNil(t, beyond.Items)
	require.Empty(t, beyond.Items)
}

// membersAreDeleted checks that members and invitations are deleted with their mailed tokens,
// and invited users with their last invitation. Accounts, sessions and other organizations
// stay.
func membersAreDeleted(t *testing.T, fixture *identityFixture) {
	ctx := t.Context()
	boss, account := fixture.user("jo@example.org"), fixture.user("al@example.org")
	org := fixture.organization(boss.ID)
	otherOrg := fixture.organization(fixture.user("other@example.org").ID)

	// Two members, of whom one is kept.
	member, kept := fixture.user("member@example.org"), fixture.user("kept@example.org")
	for _, user := range []identity.User{member, kept} {
		membership := fixture.invite(org, user.Email, identity.Recruiter)
		fixture.accept(&membership)
	}

	// Invitations: of a user whom no other organization has invited, of one whom another one has, and of an account.
	once := fixture.invite(org, "once@example.org", identity.Viewer)
	twice := fixture.invite(org, "twice@example.org", identity.Viewer)
	fixture.invite(otherOrg, "twice@example.org", identity.Viewer)
	fixture.invite(org, account.Email, identity.Viewer)

	session, _ := fixture.session(member)

	var deleted []identity.MailToken
	for _, id := range []string{once.UserID, twice.UserID, account.ID} {
		deleted = append(deleted, fixture.mailToken(fixture.getUser(id), identity.ForInvitation, org.ID))
	}

	remaining := []identity.MailToken{
		fixture.mailToken(fixture.getUser(twice.UserID), identity.ForInvitation, otherOrg.ID),
		fixture.mailToken(account, identity.ForVerification, ""),
	}

	require.NoError(t, fixture.Members.Delete(ctx, otherOrg.ID, []string{member.ID, kept.ID}),
		"members of another organization")
	require.NoError(t, fixture.Members.Delete(ctx, org.ID, nil))

	deletedIDs := []string{member.ID, once.UserID, twice.UserID, account.ID, newID()}
	require.NoError(t, fixture.Members.Delete(ctx, org.ID, deletedIDs))

	for _, id := range deletedIDs {
		fixture.requireNotInTeam(org.ID, id)
	}

	// The others are still in the team, and so is the invitation of the other organization.
	for _, id := range []string{boss.ID, kept.ID} {
		_, err := fixture.Members.Get(ctx, org.ID, id)
		require.NoError(t, err)
	}

	_, err := fixture.Members.Get(ctx, otherOrg.ID, twice.UserID)
	require.NoError(t, err)

	_, err = fixture.Users.GetForUpdate(ctx, once.UserID)
	require.ErrorIs(t, err, identity.ErrUserNotFound, "invited by no other organization")

	for _, id := range []string{member.ID, twice.UserID, account.ID} {
		fixture.getUser(id)
	}

	require.True(t, fixture.principal(identity.SessionKey{ID: session.ID}).Session.Alive(fixture.now))

	for _, token := range deleted {
		_, err := fixture.MailTokens.Get(ctx, token.Hash, token.Purpose)
		require.ErrorIs(t, err, identity.ErrTokenNotFound)
	}

	for _, token := range remaining {
		_, err := fixture.MailTokens.Get(ctx, token.Hash, token.Purpose)
		require.NoError(t, err)
	}
}

// invitedIsMerged checks that the invitations of an invited user, with their tokens, move to an
// account, except to an organization that the account belongs to. An account is not merged.
func invitedIsMerged(t *testing.T, fixture *identityFixture) {
	ctx, user := t.Context(), fixture.user("jo@example.org")
	first := fixture.organization(fixture.user("a@example.org").ID)
	second := fixture.organization(user.ID)
	member := fixture.invite(first, "jo@elsewhere.example", identity.Viewer)
	fixture.invite(second, "jo@elsewhere.example", identity.Viewer)

	token := fixture.mailToken(fixture.getUser(member.UserID), identity.ForInvitation, first.ID)

	require.NoError(t, fixture.Members.MergeInvited(ctx, member.UserID, user.ID))

	_, err := fixture.Users.GetForUpdate(ctx, member.UserID)
	require.ErrorIs(t, err, identity.ErrUserNotFound)

	got, err := fixture.Members.Get(ctx, first.ID, user.ID)
	require.NoError(t, err)
	require.Equal(t, identity.MemberInvited, got.Status)
	require.Equal(t, identity.Viewer, got.Role)

	got, err = fixture.Members.Get(ctx, second.ID, user.ID)
	require.NoError(t, err)
	require.Equal(t, identity.Admin, got.Role, "the existing membership")

	moved, err := fixture.MailTokens.Get(ctx, token.Hash, identity.ForInvitation)
	require.NoError(t, err)
	require.Equal(t, user.ID, moved.UserID)

	otherUser := fixture.user("al@example.org")
	org := fixture.organization(otherUser.ID)
	require.NoError(t, fixture.Members.MergeInvited(ctx, otherUser.ID, user.ID))
	fixture.getUser(otherUser.ID)

	_, err = fixture.Members.Get(ctx, org.ID, otherUser.ID)
	require.NoError(t, err, "an account is not merged")
	require.NoError(t, fixture.Members.MergeInvited(ctx, newID(), user.ID))
}

// secondFactorIsRequired checks that a membership reports a required second factor as missing
// until it is confirmed.
func secondFactorIsRequired(t *testing.T, fixture *identityFixture) {
	user := fixture.user("jo@example.org")
	org := fixture.organization(user.ID)
	session, _ := fixture.session(user)
	missing := func() bool {
		principal := fixture.principal(identity.SessionKey{ID: session.ID})
		member, err := fixture.Members.GetByUser(t.Context(), user.ID)
		require.NoError(t, err)
		require.Equal(t, principal.Membership.SecondFactorMissing, member.SecondFactorMissing)

		return member.SecondFactorMissing
	}

	require.False(t, missing())

	org.RequireSecondFactor = true
	require.NoError(t, fixture.Organizations.Upsert(t.Context(), &org))
	require.True(t, missing())

	f := identity.SecondFactor{UserID: user.ID, Secret: "secret", CreatedAt: fixture.now}
	require.NoError(t, fixture.SecondFactors.Upsert(t.Context(), f))
	require.True(t, missing(), "it is not confirmed")

	f.ConfirmedAt = fixture.now
	require.NoError(t, fixture.SecondFactors.Upsert(t.Context(), f))
	require.False(t, missing())
}
