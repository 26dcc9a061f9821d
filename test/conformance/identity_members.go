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

// organizationReads checks that organizations are read as they were created, the first version being 1. GetByIDs
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

// organizationUpdates checks that an update stores all fields. A transaction that updates an outdated version is
// repeated, so that it does not undo the previous update.
func organizationUpdates(t *testing.T, fixture *identityFixture) {
	ctx := t.Context()
	org := fixture.organization(fixture.user("jo@example.org").ID)
	outdated := org

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

		changed := outdated
		if attempts > 1 {
			changed = get(ctx)
		}

		changed.Industry = "hospital"

		return fixture.Organizations.Upsert(ctx, &changed)
	}))
	require.Equal(t, 2, attempts, "the first version was outdated")

	got := get(ctx)
	require.Equal(t, org.Name, got.Name)
	require.Equal(t, "hospital", got.Industry)
}

// organizationIsLocked checks that GetForUpdate locks the organization until the end of the transaction: of twenty
// concurrent transactions, at most one has the lock at a time.
func organizationIsLocked(t *testing.T, fixture *identityFixture) {
	org := fixture.organization(fixture.user("boss@example.org").ID)

	const transactions = 20
	var holders, maxHolders int // transactions that have the lock, now and at most
	var mu sync.Mutex           // guards both

	runConcurrently(t, transactions, func(int) error {
		return fixture.do(func(ctx context.Context) error {
			if _, err := fixture.Organizations.GetForUpdate(ctx, org.ID); err != nil {
				return err
			}

			mu.Lock()
			holders++
			maxHolders = max(maxHolders, holders)
			mu.Unlock()

			// The query takes a while, in which another transaction could get the lock.
			_, err := fixture.Members.List(ctx, org.ID, identity.MemberFilter{}, firstHundred)

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
		"merge of another user":      othersAreNotMerged,
		"required second factor":     secondFactorIsRequired,
	})
}

// activeMembership checks that the membership of a founder is found by the id of the user, and that its role can be
// changed. A user without an organization has no membership, which is no error.
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

// oneActiveMembership checks that the founder of an organization cannot accept the invitation of another one until
// the first membership is deleted.
func oneActiveMembership(t *testing.T, fixture *identityFixture) {
	user := fixture.user("jo@example.org")
	first := fixture.organization(user.ID)
	second := fixture.organization(fixture.user("al@example.org").ID)
	member := fixture.invite(second, "jo@example.org", identity.Viewer)
	member.Accept(fixture.now)
	require.Error(t, fixture.Members.Upsert(t.Context(), &member), "the user is an active member of the first one")

	// Without the first membership, the same acceptance succeeds.
	require.NoError(t, fixture.Members.Delete(t.Context(), first.ID, []string{user.ID}))
	require.NoError(t, fixture.Members.Upsert(t.Context(), &member))

	got, err := fixture.Members.GetByUser(t.Context(), user.ID)
	require.NoError(t, err)
	require.Equal(t, member, *got)
}

// invitationIsRenewed checks that a renewed invitation is stored with its new id. Renew replaces an expired
// invitation, but neither a valid one nor a membership.
func invitationIsRenewed(t *testing.T, fixture *identityFixture) {
	org := fixture.organization(fixture.user("boss@example.org").ID)
	member := fixture.invite(org, "new@example.org", identity.Viewer)
	expiry := member.InvitedUntil
	second := identity.NewInvitation(newID(), org.ID, member.UserID, "Renamed", "new@example.org", identity.Admin, expiry)

	// The invitation can be renewed from its expiry on.
	require.False(t, member.Renew(second, expiry.Add(-time.Microsecond)), "the first invitation is still valid")
	require.True(t, member.Renew(second, expiry))

	outdated := member
	require.NoError(t, fixture.Members.Upsert(t.Context(), &member))

	got, err := fixture.Members.Get(t.Context(), org.ID, member.UserID)
	require.NoError(t, err)
	require.Equal(t, member, got.Membership)
	require.Equal(t, second.ID, got.ID)
	require.Error(t, fixture.Members.Upsert(t.Context(), &outdated), "the version is outdated")

	// An accepted invitation cannot be renewed, not even a year later.
	fixture.accept(&got.Membership)

	yearLater := fixture.now.Add(365 * 24 * time.Hour)
	require.False(t, got.Renew(second, yearLater), "a member is not invited again")
}

// concurrentInvitations checks that one of twenty concurrent transactions stores an invitation. Each stores one if
// it finds none.
func concurrentInvitations(t *testing.T, fixture *identityFixture) {
	org := fixture.organization(fixture.user("boss@example.org").ID)
	userID := fixture.invited("new@example.org")
	ofUser := identity.MemberFilter{UserIDs: []string{userID}}

	const transactions = 20
	stored := countConcurrent(t, transactions, func(int) (isStoredHere bool, err error) {
		err = fixture.do(func(ctx context.Context) error {
			isStoredHere = false // the transaction may be repeated

			found, err := fixture.Members.List(ctx, org.ID, ofUser, firstHundred)
			if err != nil || len(found.Items) > 0 {
				return err
			}

			member := identity.NewInvitation(newID(), org.ID, userID, "New", "new@example.org", identity.Viewer,
				fixture.now)
			isStoredHere = true

			return fixture.Members.Upsert(ctx, &member)
		})

		return isStoredHere, err
	})
	require.Equal(t, 1, stored)
}

// deletedIsNotInvited checks that no membership is stored for an invited user who was deleted after the caller had
// read the user. The deletion of the last invitation deletes the user.
func deletedIsNotInvited(t *testing.T, fixture *identityFixture) {
	org := fixture.organization(fixture.user("boss@example.org").ID)
	member := fixture.invite(org, "new@example.org", identity.Viewer)
	require.NoError(t, fixture.Members.Delete(t.Context(), org.ID, []string{member.UserID}))

	const notStored = 0

	member.Version = notStored
	require.Error(t, fixture.Members.Upsert(t.Context(), &member))
}

// membersAreOwned checks that an organization can neither read nor delete the members of another one, users
// without an organization, and unknown users.
func membersAreOwned(t *testing.T, fixture *identityFixture) {
	founder, otherFounder := fixture.user("one@example.org"), fixture.user("two@example.org")
	withoutOrganization := fixture.user("free@example.org")
	org := fixture.organization(founder.ID)
	fixture.organization(otherFounder.ID)

	unknownID := newID()
	for _, userID := range []string{otherFounder.ID, withoutOrganization.ID, unknownID} {
		fixture.requireNotInTeam(org.ID, userID)
		require.NoError(t, fixture.Members.Delete(t.Context(), org.ID, []string{userID}))
	}

	member, err := fixture.Members.GetByUser(t.Context(), otherFounder.ID)
	require.NoError(t, err)
	require.NotNil(t, member, "the founder of the other organization is still its member")
}

// invitedName checks that an organization sees the name and the address that it has entered until the user accepts
// the invitation, and then those of the account. fixture.invite enters the name "In Vited". The account has the name
// "Jo Doe".
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

// membersAreFiltered checks that a list contains members and invitations of one organization only, in the order in
// which they were added. All conditions of a filter must match.
func membersAreFiltered(t *testing.T, fixture *identityFixture) {
	boss := fixture.user("boss@example.org")
	org := fixture.organization(boss.ID)
	jo := fixture.invite(org, "jo@example.org", identity.Viewer)
	admin := fixture.invite(org, "admin@example.org", identity.Admin)
	otherUser := fixture.user("al@example.org")
	fixture.organization(otherUser.ID)

	list := func(filter identity.MemberFilter, request page.Request) (userIDs []string) {
		listed, err := fixture.Members.List(t.Context(), org.ID, filter, request)
		require.NoError(t, err)

		for _, member := range listed.Items {
			userIDs = append(userIDs, member.UserID)
		}

		return userIDs
	}

	// By users, of whom one is in the organization.
	ofUsers := identity.MemberFilter{UserIDs: []string{jo.UserID, otherUser.ID, newID()}}
	found, err := fixture.Members.List(t.Context(), org.ID, ofUsers, firstHundred)
	require.NoError(t, err)
	require.Len(t, found.Items, 1)
	require.Equal(t, jo, found.Items[0].Membership)
	require.Equal(t, "jo@example.org", found.Items[0].Email)
	require.Equal(t, 1, found.Total)

	// Without a filter.
	noFilter := identity.MemberFilter{}
	require.Equal(t, []string{boss.ID, jo.UserID, admin.UserID}, list(noFilter, firstHundred))

	// By role and status. An admin who is invited is not active until the invitation is accepted.
	invited := identity.MemberFilter{Status: identity.MemberInvited}
	activeAdmins := identity.MemberFilter{Role: identity.Admin, Status: identity.MemberActive}
	require.Equal(t, []string{boss.ID}, list(activeAdmins, firstHundred))
	require.Equal(t, []string{jo.UserID, admin.UserID}, list(invited, firstHundred))

	fixture.accept(&admin)
	require.Equal(t, []string{boss.ID, admin.UserID}, list(activeAdmins, firstHundred))
	require.Equal(t, []string{boss.ID}, list(activeAdmins, page.Request{Number: 1, Size: 1}), "a page of one")
}

// teamPages checks that the next page can be requested by number or by cursor. A page after the last one is an
// empty list, not nil. The team has three members, and a page two.
func teamPages(t *testing.T, fixture *identityFixture) {
	org := fixture.organization(fixture.user("boss@example.org").ID)
	fixture.organization(fixture.user("other@example.org").ID) // another team

	for _, email := range []string{"a@example.org", "b@example.org"} {
		fixture.invite(org, email, identity.Viewer)
	}

	const teamSize, pageSize = 3, 2

	noFilter := identity.MemberFilter{}
	first, err := fixture.Members.List(t.Context(), org.ID, noFilter, page.Request{Number: 1, Size: pageSize})
	require.NoError(t, err)
	require.Len(t, first.Items, pageSize)
	require.Equal(t, teamSize, first.Total)
	require.False(t, first.TotalIsEstimate)
	require.Equal(t, "boss@example.org", first.Items[0].Email)

	for name, request := range map[string]page.Request{
		"by number": {Number: 2, Size: pageSize},
		"by cursor": {Number: 1, Size: pageSize, Cursor: first.NextCursor},
	} {
		second, err := fixture.Members.List(t.Context(), org.ID, noFilter, request)
		require.NoError(t, err, name)
		require.Len(t, second.Items, teamSize-pageSize, name)
		require.Equal(t, "b@example.org", second.Items[0].Email, name)
		require.Equal(t, teamSize, second.Total, name)
		require.Empty(t, second.NextCursor, name)
	}

	afterLast := page.Request{Number: 9, Size: pageSize}
	beyond, err := fixture.Members.List(t.Context(), org.ID, noFilter, afterLast)
	require.NoError(t, err)
	require.NotNil(t, beyond.Items)
	require.Empty(t, beyond.Items)
}

// membersAreDeleted checks that Delete deletes members and invitations of one organization, with the tokens of the
// invitations. A user without an account is deleted with the last invitation. Accounts, their sessions, and the
// invitations of other organizations stay.
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

	// Three invitations: of a user whom only this organization invites, of a user whom another organization invites,
	// too, and of an account.
	once := fixture.invite(org, "once@example.org", identity.Viewer)
	twice := fixture.invite(org, "twice@example.org", identity.Viewer)
	fixture.invite(otherOrg, "twice@example.org", identity.Viewer)
	fixture.invite(org, account.Email, identity.Viewer)

	session, _ := fixture.session(member)

	// The tokens of the invitations are deleted. Those of another organization and of another purpose remain.
	var deletedTokens []identity.MailToken
	for _, id := range []string{once.UserID, twice.UserID, account.ID} {
		deletedTokens = append(deletedTokens, fixture.mailToken(fixture.getUser(id), identity.ForInvitation, org.ID))
	}

	const noOrganization = ""
	remainingTokens := []identity.MailToken{
		fixture.mailToken(fixture.getUser(twice.UserID), identity.ForInvitation, otherOrg.ID),
		fixture.mailToken(account, identity.ForVerification, noOrganization),
	}

	// Two calls delete nothing: one for another organization, and one without users.
	require.NoError(t, fixture.Members.Delete(ctx, otherOrg.ID, []string{member.ID, kept.ID}),
		"members of another organization")
	require.NoError(t, fixture.Members.Delete(ctx, org.ID, nil))

	// The third call deletes all but the founder and one member. It ignores the unknown user.
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

	// Of the users, only the one without an account and without an invitation is deleted.
	_, err = fixture.Users.GetForUpdate(ctx, once.UserID)
	require.ErrorIs(t, err, identity.ErrUserNotFound, "invited by no other organization")

	for _, id := range []string{member.ID, twice.UserID, account.ID} {
		fixture.getUser(id)
	}

	principal := fixture.principal(identity.SessionKey{ID: session.ID})
	require.True(t, principal.Session.IsAlive(fixture.now), "a former member stays signed in")

	// The tokens are deleted with their invitations.
	for _, token := range deletedTokens {
		_, err := fixture.MailTokens.Get(ctx, token.Hash, token.Purpose)
		require.ErrorIs(t, err, identity.ErrTokenNotFound, "the invitation of %s", token.UserID)
	}

	for _, token := range remainingTokens {
		_, err := fixture.MailTokens.Get(ctx, token.Hash, token.Purpose)
		require.NoError(t, err, "the token of %s for %s", token.UserID, token.Purpose)
	}
}

// invitedIsMerged checks MergeInvited, which is called when an account changes its address to that of an invited
// user. The invitations, with their tokens, move to the account, and the invited user is deleted. If
// the account is already a member of the inviting organization, its membership stays as it is.
func invitedIsMerged(t *testing.T, fixture *identityFixture) {
	ctx := t.Context()
	user := fixture.user("jo@example.org")
	inviting := fixture.organization(fixture.user("a@example.org").ID)
	own := fixture.organization(user.ID)

	// Both organizations invite the other address.
	invited := fixture.invite(inviting, "jo@elsewhere.example", identity.Viewer)
	fixture.invite(own, "jo@elsewhere.example", identity.Viewer)

	token := fixture.mailToken(fixture.getUser(invited.UserID), identity.ForInvitation, inviting.ID)

	require.NoError(t, fixture.Members.MergeInvited(ctx, invited.UserID, user.ID))

	_, err := fixture.Users.GetForUpdate(ctx, invited.UserID)
	require.ErrorIs(t, err, identity.ErrUserNotFound)

	// The account is invited to the first organization, and still an admin of its own one.
	got, err := fixture.Members.Get(ctx, inviting.ID, user.ID)
	require.NoError(t, err)
	require.Equal(t, identity.MemberInvited, got.Status)
	require.Equal(t, identity.Viewer, got.Role)

	got, err = fixture.Members.Get(ctx, own.ID, user.ID)
	require.NoError(t, err)
	require.Equal(t, identity.Admin, got.Role, "the existing membership")

	moved, err := fixture.MailTokens.Get(ctx, token.Hash, identity.ForInvitation)
	require.NoError(t, err)
	require.Equal(t, user.ID, moved.UserID)

}

// othersAreNotMerged checks that MergeInvited changes nothing for a user with an account, and ignores an unknown user.
func othersAreNotMerged(t *testing.T, fixture *identityFixture) {
	user, otherUser := fixture.user("jo@example.org"), fixture.user("al@example.org")
	org := fixture.organization(otherUser.ID)
	require.NoError(t, fixture.Members.MergeInvited(t.Context(), otherUser.ID, user.ID))
	fixture.getUser(otherUser.ID)

	_, err := fixture.Members.Get(t.Context(), org.ID, otherUser.ID)
	require.NoError(t, err, "the other user is still a member")

	unknownID := newID()
	require.NoError(t, fixture.Members.MergeInvited(t.Context(), unknownID, user.ID))
}

// secondFactorIsRequired checks that SecondFactorMissing of a membership is true from the time on at which the
// organization requires a second factor, until the user has a confirmed one.
func secondFactorIsRequired(t *testing.T, fixture *identityFixture) {
	user := fixture.user("jo@example.org")
	org := fixture.organization(user.ID)
	session, _ := fixture.session(user)

	// isMissing reads the membership in two ways, by session and by user, which must agree.
	isMissing := func() bool {
		principal := fixture.principal(identity.SessionKey{ID: session.ID})
		member, err := fixture.Members.GetByUser(t.Context(), user.ID)
		require.NoError(t, err)
		require.Equal(t, principal.Membership.SecondFactorMissing, member.SecondFactorMissing)

		return member.SecondFactorMissing
	}

	require.False(t, isMissing(), "the organization requires none")

	org.RequireSecondFactor = true
	require.NoError(t, fixture.Organizations.Upsert(t.Context(), &org))
	require.True(t, isMissing(), "the user has none")

	factor := identity.SecondFactor{UserID: user.ID, Secret: "secret", CreatedAt: fixture.now}
	require.NoError(t, fixture.SecondFactors.Upsert(t.Context(), factor))
	require.True(t, isMissing(), "the second factor is not confirmed")

	factor.ConfirmedAt = fixture.now
	require.NoError(t, fixture.SecondFactors.Upsert(t.Context(), factor))
	require.False(t, isMissing(), "the second factor is confirmed")
}
