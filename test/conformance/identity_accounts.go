package conformance

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/core/retention"
	"github.com/locumhq/locum/modules/identity"
)

// EmailChanges checks the port identity.EmailChanges.
func EmailChanges(t *testing.T, open IdentityOpener) {
	runIdentity(t, open, map[string]func(*testing.T, *identityFixture){
		"create and replace":  emailHistoryReads,
		"reserved address":    addressIsReserved,
		"concurrent requests": concurrentRequests,
	})
}

// history returns the stored e-mail history of the account: the address to which a change is requested, and the
// former addresses that can be restored.
func (fixture *identityFixture) history(userID string) identity.EmailHistory {
	fixture.t.Helper()

	history, err := fixture.EmailChanges.Get(fixture.t.Context(), userID)
	require.NoError(fixture.t, err)

	return history
}

// formerAddress returns an address that was replaced some time after the start of the test, and that the user can
// restore for an hour.
func (fixture *identityFixture) formerAddress(email string, sinceStart time.Duration) identity.EmailUndo {
	changedAt := fixture.now.Add(sinceStart)

	return identity.EmailUndo{
		Email:     email,
		Key:       identity.LowerCaseKey(email),
		ChangedAt: changedAt,
		ExpiresAt: changedAt.Add(time.Hour),
	}
}

// emailHistoryReads checks that an upsert replaces the history of one account completely. A new account has an
// empty history.
func emailHistoryReads(t *testing.T, fixture *identityFixture) {
	ctx, user, otherUser := t.Context(), fixture.user("jo@example.org"), fixture.user("al@example.org")
	require.Equal(t, identity.EmailHistory{UserID: user.ID}, fixture.history(user.ID))

	first := fixture.formerAddress("First@example.org", 0)
	second := fixture.formerAddress("zoë@example.org", unroundedDelay)
	firstAgain := fixture.formerAddress("first@example.org", time.Minute)
	theirs := identity.EmailHistory{
		UserID:    otherUser.ID,
		Requested: &identity.EmailChange{Email: "x@example.org", RequestedAt: fixture.now},
		Undos:     []identity.EmailUndo{first},
	}
	require.NoError(t, fixture.EmailChanges.Upsert(ctx, theirs))

	// Each history has other parts than the previous one: a requested address, former ones, both, or none.
	for _, history := range []identity.EmailHistory{
		{UserID: user.ID, Requested: &identity.EmailChange{Email: "zoë@example.org", RequestedAt: fixture.now}},
		{
			UserID:    user.ID,
			Requested: &identity.EmailChange{Email: "zoe@example.org", RequestedAt: fixture.now.Add(unroundedDelay)},
			Undos:     []identity.EmailUndo{first},
		},
		{UserID: user.ID, Undos: []identity.EmailUndo{first, second, firstAgain}},
		{UserID: user.ID, Undos: []identity.EmailUndo{first}},
		{UserID: user.ID},
	} {
		require.NoError(t, fixture.EmailChanges.Upsert(ctx, history))
		require.Equal(t, history, fixture.history(user.ID))
	}

	// Former addresses are returned in the order of their changes, whatever the order in which they were stored.
	require.NoError(t, fixture.EmailChanges.Upsert(ctx,
		identity.EmailHistory{UserID: user.ID, Undos: []identity.EmailUndo{firstAgain, first}}))
	require.Equal(t, []identity.EmailUndo{first, firstAgain}, fixture.history(user.ID).Undos)

	require.Equal(t, theirs, fixture.history(otherUser.ID), "the other account has its own history")
}

// addressIsReserved checks that no other account can use a former address until it expires. The account whose
// address it was can use it at any time.
func addressIsReserved(t *testing.T, fixture *identityFixture) {
	ctx, user, otherUser := t.Context(), fixture.user("jo@example.org"), fixture.user("al@example.org")
	first := fixture.formerAddress("First@example.org", 0)
	second := fixture.formerAddress("second@example.org", time.Minute)
	require.NoError(t, fixture.EmailChanges.Upsert(ctx,
		identity.EmailHistory{UserID: user.ID, Undos: []identity.EmailUndo{first, second}}))

	isReservedFor := func(userID, emailKey string, now time.Time) bool {
		isReserved, err := fixture.EmailChanges.IsReserved(ctx, emailKey, userID, now)
		require.NoError(t, err)
		return isReserved
	}

	require.True(t, isReservedFor(otherUser.ID, "first@example.org", fixture.now))
	require.True(t, isReservedFor(otherUser.ID, "second@example.org", fixture.now))
	require.False(t, isReservedFor(otherUser.ID, "third@example.org", fixture.now), "no former address")
	require.False(t, isReservedFor(user.ID, "first@example.org", fixture.now), "the account's own address")
	require.False(t, isReservedFor(otherUser.ID, "first@example.org", first.ExpiresAt), "the address has expired")
}

// concurrentRequests checks that concurrent transactions lose no former address. Each locks the user, reads the
// history and adds an address to it.
func concurrentRequests(t *testing.T, fixture *identityFixture) {
	user := fixture.user("jo@example.org")
	const changes = 20
	runConcurrently(t, changes, func(i int) error {
		return fixture.do(func(ctx context.Context) error {
			if _, err := fixture.Users.GetForUpdate(ctx, user.ID); err != nil {
				return err
			}

			history, err := fixture.EmailChanges.Get(ctx, user.ID)
			if err != nil {
				return err
			}

			changedAfter := time.Duration(i) * time.Second
			history.Undos = append(history.Undos, fixture.formerAddress("x@example.org", changedAfter))

			return fixture.EmailChanges.Upsert(ctx, history)
		})
	})

	require.Len(t, fixture.history(user.ID).Undos, changes)
}

// SecondFactors checks the port identity.SecondFactors.
func SecondFactors(t *testing.T, open IdentityOpener) {
	runIdentity(t, open, map[string]func(*testing.T, *identityFixture){
		"create and replace": secondFactorReads,
		"concurrent uses":    secondFactorUsedOnce,
	})
}

// secondFactor returns the stored second factor of the user.
func (fixture *identityFixture) secondFactor(userID string) identity.SecondFactor {
	fixture.t.Helper()

	factor, err := fixture.SecondFactors.Get(fixture.t.Context(), userID)
	require.NoError(fixture.t, err)

	return factor
}

// secondFactorReads checks that an upsert replaces the factor and its recovery codes, and that
// a deletion deletes both.
func secondFactorReads(t *testing.T, fixture *identityFixture) {
	ctx, user, otherUser := t.Context(), fixture.user("jo@example.org"), fixture.user("al@example.org")
	_, err := fixture.SecondFactors.Get(ctx, user.ID)
	require.ErrorIs(t, err, identity.ErrNoSecondFactor)

	theirs := identity.SecondFactor{UserID: otherUser.ID, Secret: "theirs", CreatedAt: fixture.now, RecoveryCodes: []string{"c"}}
	require.NoError(t, fixture.SecondFactors.Upsert(ctx, theirs))

	// requireStored requires that the user has this factor. The order of its recovery codes does not matter.
	requireStored := func(want identity.SecondFactor) {
		t.Helper()

		got := fixture.secondFactor(user.ID)
		require.ElementsMatch(t, want.RecoveryCodes, got.RecoveryCodes)

		got.RecoveryCodes = want.RecoveryCodes
		require.Equal(t, want, got)
	}

	// The first factor has no recovery codes.
	factor := identity.SecondFactor{UserID: user.ID, Secret: "first", CreatedAt: fixture.now}
	require.NoError(t, fixture.SecondFactors.Upsert(ctx, factor))
	requireStored(factor)

	// Another factor replaces the first one. Then its codes and its last time step are replaced. At the end,
	// the same codes are stored again.
	factor.Secret = "second"
	factor.CreatedAt = fixture.now.Add(time.Microsecond)
	factor.ConfirmedAt = fixture.now.Add(time.Second)

	for step, codes := range [][]string{{"a", "b"}, {"c", "d", "e"}, {"d"}, {"d"}} {
		factor.RecoveryCodes = codes
		factor.LastStep = int64(step + 1)
		require.NoError(t, fixture.SecondFactors.Upsert(ctx, factor))
		requireStored(factor)
	}

	// A factor that is created after a deletion has no codes of the deleted one.
	require.NoError(t, fixture.SecondFactors.Delete(ctx, user.ID))

	_, err = fixture.SecondFactors.Get(ctx, user.ID)
	require.ErrorIs(t, err, identity.ErrNoSecondFactor)
	require.NoError(t, fixture.SecondFactors.Upsert(ctx,
		identity.SecondFactor{UserID: user.ID, Secret: "third", CreatedAt: fixture.now}))
	require.Empty(t, fixture.secondFactor(user.ID).RecoveryCodes, "the codes are deleted with the factor")

	require.Equal(t, theirs, fixture.secondFactor(otherUser.ID), "the factor of another user does not change")
}

// secondFactorUsedOnce checks that one of twenty concurrent transactions uses the code of a time step and a
// recovery code. Each reads the factor, which locks it, and uses the codes if no other transaction has.
func secondFactorUsedOnce(t *testing.T, fixture *identityFixture) {
	user := fixture.user("jo@example.org")
	const lastStep = 7 // the time step of the latest code that was used
	const usedStep, usedCode = lastStep + 1, "a"
	const unusedCode = "b"
	require.NoError(t, fixture.SecondFactors.Upsert(t.Context(), identity.SecondFactor{
		UserID:        user.ID,
		Secret:        "s",
		CreatedAt:     fixture.now,
		ConfirmedAt:   fixture.now,
		LastStep:      lastStep,
		RecoveryCodes: []string{usedCode, unusedCode},
	}))

	uses := countConcurrent(t, 20, func(int) (wasUsedHere bool, err error) {
		err = fixture.do(func(ctx context.Context) error {
			wasUsedHere = false // the transaction may be repeated

			factor, err := fixture.SecondFactors.Get(ctx, user.ID)
			if err != nil || factor.LastStep >= usedStep {
				return err
			}

			factor.LastStep = usedStep
			factor.RecoveryCodes = []string{unusedCode}
			wasUsedHere = true

			return fixture.SecondFactors.Upsert(ctx, factor)
		})

		return wasUsedHere, err
	})
	require.Equal(t, 1, uses)

	stored := fixture.secondFactor(user.ID)
	require.EqualValues(t, usedStep, stored.LastStep)
	require.Equal(t, []string{unusedCode}, stored.RecoveryCodes)
}

// EmployerSettings checks the port identity.EmployerSettingsStore.
func EmployerSettings(t *testing.T, open IdentityOpener) {
	runIdentity(t, open, map[string]func(*testing.T, *identityFixture){
		"create and update":  employerSettingsRead,
		"concurrent creates": concurrentSettings,
	})
}

// employerSettingsRead checks that a user without stored settings has the default ones, and that all fields are
// stored. A contact can be cleared.
func employerSettingsRead(t *testing.T, fixture *identityFixture) {
	ctx, user := t.Context(), fixture.user("jo@example.org")
	settings, err := fixture.EmployerSettings.Get(ctx, user.ID)
	require.NoError(t, err)
	require.Equal(t, identity.DefaultSettings(user.ID), settings)

	fullContact := identity.Contact{Name: "Zoë", Email: "zoë@example.org", Phone: "+44 (0)20 7946 0000"}
	noContact := identity.Contact{}

	for _, contact := range []identity.Contact{fullContact, noContact} {
		settings.JobTitle = "Matron"
		settings.Contact = contact
		settings.EmailAlerts = !settings.EmailAlerts
		settings.UpdatedAt = fixture.now.Add(time.Microsecond)
		require.NoError(t, fixture.EmployerSettings.Upsert(ctx, &settings))

		got, err := fixture.EmployerSettings.Get(ctx, user.ID)
		require.NoError(t, err)
		require.Equal(t, settings, got)
	}
}

// concurrentSettings checks that no concurrent change is lost, with settings that do not exist at first. Each
// transaction adds a letter to the job title. A transaction that reads an outdated version is repeated, and fails
// if that happens too often. So the title has as many letters as transactions have succeeded.
func concurrentSettings(t *testing.T, fixture *identityFixture) {
	ctx, user := t.Context(), fixture.user("jo@example.org")

	const transactions = 20
	succeeded := countConcurrent(t, transactions, func(int) (hasSucceeded bool, _ error) {
		err := fixture.do(func(ctx context.Context) error {
			settings, err := fixture.EmployerSettings.Get(ctx, user.ID)
			if err != nil {
				return err
			}

			settings.JobTitle += "x"
			settings.UpdatedAt = fixture.now

			return fixture.EmployerSettings.Upsert(ctx, &settings)
		})

		return err == nil, nil
	})

	require.NotZero(t, succeeded)

	stored, err := fixture.EmployerSettings.Get(ctx, user.ID)
	require.NoError(t, err)
	require.Len(t, stored.JobTitle, succeeded)
}

// OptOuts checks the port identity.OptOuts: a mailbox exists after its first creation. A second creation changes
// nothing.
func OptOuts(t *testing.T, open IdentityOpener) {
	runIdentity(t, open, map[string]func(*testing.T, *identityFixture){
		"create twice": func(t *testing.T, fixture *identityFixture) {
			for _, existsBefore := range []bool{false, true, true} {
				exists, err := fixture.OptOuts.Exists(t.Context(), "mailbox")
				require.NoError(t, err)
				require.Equal(t, existsBefore, exists)
				require.NoError(t, fixture.OptOuts.Create(t.Context(), "mailbox", fixture.now))
			}

			exists, err := fixture.OptOuts.Exists(t.Context(), "other")
			require.NoError(t, err)
			require.False(t, exists, "another mailbox")
		},
	})
}

// IdentityPersonalData checks the port identity.PersonalData.
func IdentityPersonalData(t *testing.T, open IdentityOpener) {
	runIdentity(t, open, map[string]func(*testing.T, *identityFixture){"one of two users": personalDataIsDeleted})
}

// personalDataIsDeleted checks that DeleteByUser deletes all data of one user, and nothing of another user. A
// second call changes nothing.
func personalDataIsDeleted(t *testing.T, fixture *identityFixture) {
	ctx := t.Context()
	deleted, kept := fixture.user("jo@example.org"), fixture.user("al@example.org")

	// Both users have an organization, a session, and so on. The maps are by the id of the user.
	organizations := map[string]identity.Organization{}
	refreshTokens := map[string]identity.RefreshToken{}
	mailTokens := map[string]identity.MailToken{}
	const noOrganization = ""

	for _, user := range []identity.User{deleted, kept} {
		organizations[user.ID] = fixture.organization(user.ID)
		_, refreshTokens[user.ID] = fixture.session(user)
		mailTokens[user.ID] = fixture.mailToken(user, identity.ForReset, noOrganization)
		require.NoError(t, fixture.EmailChanges.Upsert(ctx, identity.EmailHistory{
			UserID:    user.ID,
			Requested: &identity.EmailChange{Email: "x@example.org", RequestedAt: fixture.now},
			Undos:     []identity.EmailUndo{fixture.formerAddress("y@example.org", 0)},
		}))
		require.NoError(t, fixture.SecondFactors.Upsert(ctx, identity.SecondFactor{
			UserID:        user.ID,
			Secret:        "s",
			CreatedAt:     fixture.now,
			RecoveryCodes: []string{"a"},
		}))

		settings := identity.DefaultSettings(user.ID)
		settings.JobTitle, settings.UpdatedAt = "Matron", fixture.now
		require.NoError(t, fixture.EmployerSettings.Upsert(ctx, &settings))
	}

	// The user whose data is deleted is also invited to the organization of the other one.
	fixture.invite(organizations[kept.ID], "jo@example.org", identity.Viewer)

	for range 2 {
		require.NoError(t, fixture.PersonalData.DeleteByUser(ctx, deleted.ID))
	}

	fixture.requireNotInTeam(organizations[kept.ID].ID, deleted.ID)

	for userID, isKept := range map[string]bool{deleted.ID: false, kept.ID: true} {
		fixture.getUser(userID) // both users still exist, because only the data of one is deleted

		_, err := fixture.Members.Get(ctx, organizations[userID].ID, userID)
		require.Equal(t, isKept, err == nil, "membership")

		_, err = fixture.Sessions.GetRefreshToken(ctx, refreshTokens[userID].Hash)
		require.Equal(t, isKept, err == nil, "refresh token")

		_, err = fixture.MailTokens.Get(ctx, mailTokens[userID].Hash, identity.ForReset)
		require.Equal(t, isKept, err == nil, "mail token")

		history := fixture.history(userID)
		require.Equal(t, isKept, history.Requested != nil, "requested address")
		require.Equal(t, isKept, len(history.Undos) == 1, "former address")

		_, err = fixture.SecondFactors.Get(ctx, userID)
		require.Equal(t, isKept, err == nil, "second factor")

		settings, err := fixture.EmployerSettings.Get(ctx, userID)
		require.NoError(t, err)
		require.Equal(t, isKept, settings != identity.DefaultSettings(userID), "settings")
	}

	// The recovery codes are deleted, too: a new second factor has none.
	require.NoError(t, fixture.SecondFactors.Upsert(ctx,
		identity.SecondFactor{UserID: deleted.ID, Secret: "s", CreatedAt: fixture.now}))
	require.Empty(t, fixture.secondFactor(deleted.ID).RecoveryCodes)
}

// IdentityRetention checks that expired rows of identity are deleted. It is skipped for a storage without the
// optional port Retention.
func IdentityRetention(t *testing.T, open IdentityOpener) {
	runIdentity(t, open, map[string]func(*testing.T, *identityFixture){
		"sessions":      sessionsExpire,
		"mail tokens":   mailTokensExpire,
		"email changes": emailChangesExpire,
		"invitations":   invitationsExpire,
	})
}

// deleteBefore deletes the rows of the kind whose time is before the given one, and requires their number.
func (fixture *identityFixture) deleteBefore(kind retention.Kind, before time.Time, wantDeleted int) {
	fixture.t.Helper()

	if fixture.Retention == nil {
		fixture.t.Skip("no retention port")
	}

	const limit = 10 // more than the rows of a test
	deleted, err := retentionOf(fixture.t, fixture.Retention).DeleteBefore(fixture.t.Context(), kind, before, limit)
	require.NoError(fixture.t, err)
	require.Equal(fixture.t, wantDeleted, deleted)
}

// sessionsExpire checks that sessions and refresh tokens are deleted after they have expired, and not at the time
// of their expiry. A token that has expired is deleted, although its session has not. The other tokens of this
// session stay.
func sessionsExpire(t *testing.T, fixture *identityFixture) {
	ctx, user := t.Context(), fixture.user("jo@example.org")
	old, oldToken := fixture.session(user)
	browser := fixture.browserSession(user) // expires at the same time as the old session

	// The young session expires an hour later than the old ones. It has a valid token and an expired one.
	young := identity.Session{
		ID:         newID(),
		UserID:     user.ID,
		CreatedAt:  fixture.now,
		LastUsedAt: fixture.now,
		ExpiresAt:  old.ExpiresAt.Add(time.Hour),
	}
	youngToken := identity.RefreshToken{Hash: newID(), SessionID: young.ID, IssuedAt: fixture.now, ExpiresAt: young.ExpiresAt}
	expiredToken := identity.RefreshToken{Hash: newID(), SessionID: young.ID, IssuedAt: fixture.now, ExpiresAt: fixture.now}
	require.NoError(t, fixture.Sessions.Create(ctx, young, youngToken, expiredToken))

	// Nothing is deleted at the time of an expiry. The last argument is the required number of deleted rows.
	fixture.deleteBefore(identity.SessionKind, old.ExpiresAt, 0)
	fixture.deleteBefore(identity.RefreshTokenKind, fixture.now, 0)

	// The two old sessions are deleted with their tokens. One expired token remains, that of the young session.
	fixture.deleteBefore(identity.SessionKind, old.ExpiresAt.Add(time.Minute), 2)
	fixture.deleteBefore(identity.RefreshTokenKind, old.ExpiresAt.Add(time.Minute), 1)

	for _, hash := range []string{oldToken.Hash, expiredToken.Hash} {
		_, err := fixture.Sessions.GetRefreshToken(ctx, hash)
		require.ErrorIs(t, err, identity.ErrSessionNotFound)
	}

	_, err := fixture.Sessions.GetPrincipal(ctx, identity.SessionKey{CookieHash: browser.CookieHash})
	require.ErrorIs(t, err, identity.ErrSessionNotFound)

	_, err = fixture.Sessions.GetRefreshToken(ctx, youngToken.Hash)
	require.NoError(t, err)
	fixture.principal(identity.SessionKey{ID: young.ID})
}

// mailTokensExpire checks that a token is deleted after it has expired, and not at the time of its expiry.
func mailTokensExpire(t *testing.T, fixture *identityFixture) {
	const noOrganization = ""
	token := fixture.mailToken(fixture.user("jo@example.org"), identity.ForReset, noOrganization)
	fixture.deleteBefore(identity.MailTokenKind, token.ExpiresAt, 0)
	fixture.deleteBefore(identity.MailTokenKind, token.ExpiresAt.Add(time.Microsecond), 1)

	_, err := fixture.MailTokens.Get(t.Context(), token.Hash, identity.ForReset)
	require.ErrorIs(t, err, identity.ErrTokenNotFound)
}

// emailChangesExpire checks that requested and former addresses are deleted separately: a requested address after
// the time of the request, and a former one after its expiry. A former address that has not expired is kept.
func emailChangesExpire(t *testing.T, fixture *identityFixture) {
	user := fixture.user("jo@example.org")
	first := fixture.formerAddress("first@example.org", 0)
	second := fixture.formerAddress("second@example.org", time.Minute)
	history := identity.EmailHistory{
		UserID:    user.ID,
		Requested: &identity.EmailChange{Email: "next@example.org", RequestedAt: fixture.now},
		Undos:     []identity.EmailUndo{first, second},
	}
	require.NoError(t, fixture.EmailChanges.Upsert(t.Context(), history))

	// Nothing is deleted at these times, but a microsecond later.
	fixture.deleteBefore(identity.EmailChangeKind, fixture.now, 0)
	fixture.deleteBefore(identity.EmailUndoKind, first.ExpiresAt, 0)
	fixture.deleteBefore(identity.EmailChangeKind, fixture.now.Add(time.Microsecond), 1)
	fixture.deleteBefore(identity.EmailUndoKind, first.ExpiresAt.Add(time.Microsecond), 1)
	require.Equal(t, identity.EmailHistory{UserID: user.ID, Undos: []identity.EmailUndo{second}},
		fixture.history(user.ID))
}

// invitationsExpire checks that expired invitations are deleted. A user without an account, who was invited only,
// is deleted with the last invitation. Accounts and active members are not deleted.
func invitationsExpire(t *testing.T, fixture *identityFixture) {
	ctx := t.Context()
	boss := fixture.user("boss@example.org")
	org := fixture.organization(boss.ID)
	otherOrg := fixture.organization(fixture.user("al@example.org").ID)

	// An organization invites three users: one whom no other organization invites, one who is also invited by another
	// organization, and one with an account.
	once := fixture.invite(org, "once@example.org", identity.Viewer)
	twice := fixture.invite(org, "twice@example.org", identity.Viewer)
	account := fixture.user("jo@example.org")
	fixture.invite(org, "jo@example.org", identity.Viewer)

	// The invitation of the other organization is valid for a microsecond longer.
	second := identity.NewInvitation(newID(), otherOrg.ID, twice.UserID, "In Vited", "twice@example.org",
		identity.Viewer, fixture.now.Add(time.Microsecond))
	require.NoError(t, fixture.Members.Upsert(ctx, &second))

	fixture.deleteBefore(identity.InvitationKind, once.InvitedUntil, 0)

	// Three calls delete the three expired invitations. A call may delete fewer than its limit.
	const limit, calls, expired = 2, 3, 3

	store := retentionOf(fixture.t, fixture.Retention)
	total := 0

	for range calls {
		deleted, err := store.DeleteBefore(ctx, identity.InvitationKind, once.InvitedUntil.Add(time.Microsecond), limit)
		require.NoError(t, err)
		require.LessOrEqual(t, deleted, limit)

		total += deleted
	}

	require.Equal(t, expired, total)

	// The user with one invitation is deleted. The others stay.
	_, err := fixture.Users.GetForUpdate(ctx, once.UserID)
	require.ErrorIs(t, err, identity.ErrUserNotFound)

	for _, id := range []string{twice.UserID, account.ID, boss.ID} {
		fixture.getUser(id)
	}

	_, err = fixture.Members.Get(ctx, otherOrg.ID, twice.UserID)
	require.NoError(t, err, "the invitation has not expired")

	_, err = fixture.Members.Get(ctx, org.ID, boss.ID)
	require.NoError(t, err, "an active member")
	fixture.requireNotInTeam(org.ID, account.ID)

	// A deleted user cannot be invited any more with the previous id.
	late := identity.NewInvitation(newID(), org.ID, once.UserID, "In Vited", "once@example.org", identity.Viewer,
		fixture.now)
	require.Error(t, fixture.Members.Upsert(ctx, &late), "the invited user was deleted")
}
