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

// history returns the stored history of the account.
func (fixture *identityFixture) history(userID string) identity.EmailHistory {
	fixture.t.Helper()

	history, err := fixture.EmailChanges.Get(fixture.t.Context(), userID)
	require.NoError(fixture.t, err)

	return history
}

// undo returns a former address that was replaced at the time now + at and can be restored for
// an hour.
func (fixture *identityFixture) undo(email string, at time.Duration) identity.EmailUndo {
	changed := fixture.now.Add(at)
	return identity.EmailUndo{Email: email, Key: identity.LowerCaseKey(email), ChangedAt: changed, ExpiresAt: changed.Add(time.Hour)}
}

// emailHistoryReads checks that an upsert replaces the history of one account completely.
func emailHistoryReads(t *testing.T, fixture *identityFixture) {
	ctx, user, otherUser := t.Context(), fixture.user("jo@example.org"), fixture.user("al@example.org")
	require.Equal(t, identity.EmailHistory{UserID: user.ID}, fixture.history(user.ID))

	first := fixture.undo("First@example.org", 0)
	second := fixture.undo("zoë@example.org", 1234567*time.Microsecond)
	again := fixture.undo("first@example.org", time.Minute)
	theirs := identity.EmailHistory{
		UserID:    otherUser.ID,
		Requested: &identity.EmailChange{Email: "x@example.org", RequestedAt: fixture.now},
		Undos:     []identity.EmailUndo{first},
	}
	require.NoError(t, fixture.EmailChanges.Upsert(ctx, theirs))

	for _, history := range []identity.EmailHistory{
		{UserID: user.ID, Requested: &identity.EmailChange{Email: "zoë@example.org", RequestedAt: fixture.now}},
		{
			UserID:    user.ID,
			Requested: &identity.EmailChange{Email: "zoe@example.org", RequestedAt: fixture.now.Add(1234567 * time.Microsecond)},
			Undos:     []identity.EmailUndo{first},
		},
		{UserID: user.ID, Undos: []identity.EmailUndo{first, second, again}},
		{UserID: user.ID, Undos: []identity.EmailUndo{first}},
		{UserID: user.ID},
	} {
		require.NoError(t, fixture.EmailChanges.Upsert(ctx, history))
		require.Equal(t, history, fixture.history(user.ID))
	}

	require.NoError(t, fixture.EmailChanges.Upsert(ctx,
		identity.EmailHistory{UserID: user.ID, Undos: []identity.EmailUndo{again, first}}))
	require.Equal(t, []identity.EmailUndo{first, again}, fixture.history(user.ID).Undos, "in the order of the changes")
	require.Equal(t, theirs, fixture.history(otherUser.ID))
}

// addressIsReserved checks that a former address is reserved for its account until it expires.
func addressIsReserved(t *testing.T, fixture *identityFixture) {
	ctx, user, otherUser := t.Context(), fixture.user("jo@example.org"), fixture.user("al@example.org")
	first := fixture.undo("First@example.org", 0)
	second := fixture.undo("second@example.org", time.Minute)
	require.NoError(t, fixture.EmailChanges.Upsert(ctx,
		identity.EmailHistory{UserID: user.ID, Undos: []identity.EmailUndo{first, second}}))

	reserved := func(key, userID string, now time.Time) bool {
		found, err := fixture.EmailChanges.IsReserved(ctx, key, userID, now)
		require.NoError(t, err)
		return found
	}

	require.True(t, reserved("first@example.org", otherUser.ID, fixture.now))
	require.True(t, reserved("second@example.org", otherUser.ID, fixture.now))
	require.False(t, reserved("third@example.org", otherUser.ID, fixture.now))
	require.False(t, reserved("first@example.org", user.ID, fixture.now), "by the account itself")
	require.False(t, reserved("first@example.org", otherUser.ID, first.ExpiresAt), "expired")
}

// concurrentRequests checks that transactions that lock the user lose no former address.
func concurrentRequests(t *testing.T, fixture *identityFixture) {
	user := fixture.user("jo@example.org")
	runConcurrently(t, 20, func(i int) error {
		return fixture.do(func(ctx context.Context) error {
			if _, err := fixture.Users.GetForUpdate(ctx, user.ID); err != nil {
				return err
			}

			history, err := fixture.EmailChanges.Get(ctx, user.ID)
			if err != nil {
				return err
			}

			history.Undos = append(history.Undos, fixture.undo("x@example.org", time.Duration(i)*time.Second))

			return fixture.EmailChanges.Upsert(ctx, history)
		})
	})

	require.Len(t, fixture.history(user.ID).Undos, 20)
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

	f, err := fixture.SecondFactors.Get(fixture.t.Context(), userID)
	require.NoError(fixture.t, err)

	return f
}

// secondFactorReads checks that an upsert replaces the factor and its recovery codes, and that
// a deletion deletes both.
func secondFactorReads(t *testing.T, fixture *identityFixture) {
	ctx, user, otherUser := t.Context(), fixture.user("jo@example.org"), fixture.user("al@example.org")
	_, err := fixture.SecondFactors.Get(ctx, user.ID)
	require.ErrorIs(t, err, identity.ErrNoSecondFactor)

	theirs := identity.SecondFactor{UserID: otherUser.ID, Secret: "theirs", CreatedAt: fixture.now, RecoveryCodes: []string{"c"}}
	require.NoError(t, fixture.SecondFactors.Upsert(ctx, theirs))

	f := identity.SecondFactor{UserID: user.ID, Secret: "first", CreatedAt: fixture.now}
	require.NoError(t, fixture.SecondFactors.Upsert(ctx, f))

	got := fixture.secondFactor(user.ID)
	require.Empty(t, got.RecoveryCodes)

	got.RecoveryCodes = nil
	require.Equal(t, f, got)

	f.Secret = "second"
	f.CreatedAt = fixture.now.Add(time.Microsecond)
	f.ConfirmedAt = fixture.now.Add(time.Second)

	f.LastStep = 7
	for _, codes := range [][]string{{"a", "b"}, {"c", "d", "e"}, {"d"}, {"d"}} {
		f.RecoveryCodes = codes
		f.LastStep++
		require.NoError(t, fixture.SecondFactors.Upsert(ctx, f))

		got = fixture.secondFactor(user.ID)
		require.ElementsMatch(t, codes, got.RecoveryCodes)

		got.RecoveryCodes = codes
		require.Equal(t, f, got)
	}

	require.NoError(t, fixture.SecondFactors.Delete(ctx, user.ID))

	_, err = fixture.SecondFactors.Get(ctx, user.ID)
	require.ErrorIs(t, err, identity.ErrNoSecondFactor)
	require.NoError(t, fixture.SecondFactors.Upsert(ctx,
		identity.SecondFactor{UserID: user.ID, Secret: "third", CreatedAt: fixture.now}))
	require.Empty(t, fixture.secondFactor(user.ID).RecoveryCodes, "the codes are deleted with the factor")
	require.Equal(t, theirs, fixture.secondFactor(otherUser.ID))
}

// secondFactorUsedOnce uses a time step and a recovery code as the service does, in
// twenty transactions at once.
func secondFactorUsedOnce(t *testing.T, fixture *identityFixture) {
	user := fixture.user("jo@example.org")
	require.NoError(
		t,
		fixture.SecondFactors.Upsert(
			t.Context(),
			identity.SecondFactor{
				UserID:        user.ID,
				Secret:        "s",
				CreatedAt:     fixture.now,
				ConfirmedAt:   fixture.now,
				LastStep:      7,
				RecoveryCodes: []string{"a", "b"},
			},
		),
	)
	require.Equal(t, 1, countConcurrent(t, 20, func(int) (wasUsed bool, err error) {
		return wasUsed, fixture.do(func(ctx context.Context) error {
			wasUsed = false

			f, err := fixture.SecondFactors.Get(ctx, user.ID)
			if err != nil || f.LastStep >= 8 {
				return err
			}

			wasUsed = true
			f.LastStep = 8
			f.RecoveryCodes = []string{"b"}

			return fixture.SecondFactors.Upsert(ctx, f)
		})
	}))

	got := fixture.secondFactor(user.ID)
	require.EqualValues(t, 8, got.LastStep)
	require.Equal(t, []string{"b"}, got.RecoveryCodes)
}

// EmployerSettings checks the port identity.EmployerSettingsStore.
func EmployerSettings(t *testing.T, open IdentityOpener) {
	runIdentity(t, open, map[string]func(*testing.T, *identityFixture){
		"create and update":  employerSettingsRead,
		"concurrent creates": concurrentSettings,
	})
}

// employerSettingsRead checks the default settings and that all fields are stored, also when
// they are cleared.
func employerSettingsRead(t *testing.T, fixture *identityFixture) {
	ctx, user := t.Context(), fixture.user("jo@example.org")
	s, err := fixture.EmployerSettings.Get(ctx, user.ID)
	require.NoError(t, err)
	require.Equal(t, identity.DefaultSettings(user.ID), s)

	for _, contact := range []identity.Contact{{Name: "Zoë", Email: "zoë@example.org", Phone: "+44 (0)20 7946 0000"}, {}} {
		s.JobTitle, s.Contact, s.EmailAlerts, s.UpdatedAt = "Matron", contact, !s.EmailAlerts, fixture.now.Add(time.Microsecond)
		require.NoError(t, fixture.EmployerSettings.Upsert(ctx, &s))

		got, err := fixture.EmployerSettings.Get(ctx, user.ID)
		require.NoError(t, err)
		require.Equal(t, s, got)
	}
}

// concurrentSettings checks that concurrent changes of settings that do not exist at first are
// all stored.
func concurrentSettings(t *testing.T, fixture *identityFixture) {
	ctx, user := t.Context(), fixture.user("jo@example.org")

	// A transaction that finds an outdated version too often may fail; no update is lost.
	stored := countConcurrent(t, 20, func(int) (bool, error) {
		err := fixture.do(func(ctx context.Context) error {
			s, err := fixture.EmployerSettings.Get(ctx, user.ID)
			if err != nil {
				return err
			}

			s.JobTitle, s.UpdatedAt = s.JobTitle+"x", fixture.now

			return fixture.EmployerSettings.Upsert(ctx, &s)
		})

		return err == nil, nil
	})

	require.NotZero(t, stored)

	got, err := fixture.EmployerSettings.Get(ctx, user.ID)
	require.NoError(t, err)
	require.Len(t, got.JobTitle, stored)
}

// OptOuts checks the port identity.OptOuts.
func OptOuts(t *testing.T, open IdentityOpener) {
	runIdentity(t, open, map[string]func(*testing.T, *identityFixture){
		"create twice": func(t *testing.T, fixture *identityFixture) {
			for _, want := range []bool{false, true, true} {
				exists, err := fixture.OptOuts.Exists(t.Context(), "mailbox")
				require.NoError(t, err)
				require.Equal(t, want, exists)
				require.NoError(t, fixture.OptOuts.Create(t.Context(), "mailbox", fixture.now))
			}

			exists, err := fixture.OptOuts.Exists(t.Context(), "other")
			require.NoError(t, err)
			require.False(t, exists)
		},
	})
}

// IdentityPersonalData checks the port identity.PersonalData.
func IdentityPersonalData(t *testing.T, open IdentityOpener) {
	runIdentity(t, open, map[string]func(*testing.T, *identityFixture){"one of two users": personalDataIsDeleted})
}

// personalDataIsDeleted checks that the data of one user is deleted, may be deleted again, and
// that nothing of another user is.
func personalDataIsDeleted(t *testing.T, fixture *identityFixture) {
	ctx := t.Context()
	deleted, kept := fixture.user("jo@example.org"), fixture.user("al@example.org")
	organizations := map[string]identity.Organization{}
	sessions := map[string]identity.RefreshToken{}

	tokens := map[string]identity.MailToken{}
	for _, user := range []identity.User{deleted, kept} {
		organizations[user.ID] = fixture.organization(user.ID)
		_, sessions[user.ID] = fixture.session(user)
		tokens[user.ID] = fixture.mailToken(user, identity.ForReset, "")
		require.NoError(t, fixture.EmailChanges.Upsert(ctx, identity.EmailHistory{
			UserID:    user.ID,
			Requested: &identity.EmailChange{Email: "x@example.org", RequestedAt: fixture.now},
			Undos:     []identity.EmailUndo{fixture.undo("y@example.org", 0)},
		}))
		require.NoError(
			t,
			fixture.SecondFactors.Upsert(
				ctx,
				identity.SecondFactor{UserID: user.ID, Secret: "s", CreatedAt: fixture.now, RecoveryCodes: []string{"a"}},
			),
		)

		s := identity.DefaultSettings(user.ID)
		s.JobTitle, s.UpdatedAt = "Matron", fixture.now
		require.NoError(t, fixture.EmployerSettings.Upsert(ctx, &s))
	}

	fixture.invite(organizations[kept.ID], "jo@example.org", identity.Viewer)

	for range 2 {
		require.NoError(t, fixture.PersonalData.DeleteByUser(ctx, deleted.ID))
	}

	fixture.requireNotInTeam(organizations[kept.ID].ID, deleted.ID)

	for id, want := range map[string]bool{deleted.ID: false, kept.ID: true} {
		user := fixture.getUser(id)
		_, err := fixture.Members.Get(ctx, organizations[user.ID].ID, user.ID)
		require.Equal(t, want, err == nil)

		_, err = fixture.Sessions.GetRefreshToken(ctx, sessions[user.ID].Hash)
		require.Equal(t, want, err == nil)

		_, err = fixture.MailTokens.Get(ctx, tokens[user.ID].Hash, identity.ForReset)
		require.Equal(t, want, err == nil)

		history := fixture.history(user.ID)
		require.Equal(t, want, history.Requested != nil)
		require.Equal(t, want, len(history.Undos) == 1)

		_, err = fixture.SecondFactors.Get(ctx, user.ID)
		require.Equal(t, want, err == nil)

		s, err := fixture.EmployerSettings.Get(ctx, user.ID)
		require.NoError(t, err)
		require.Equal(t, want, s != identity.DefaultSettings(user.ID))
	}

	require.NoError(t, fixture.SecondFactors.Upsert(ctx,
		identity.SecondFactor{UserID: deleted.ID, Secret: "s", CreatedAt: fixture.now}))
	require.Empty(t, fixture.secondFactor(deleted.ID).RecoveryCodes)
}

// IdentityRetention checks the expiry of the rows of identity. It is skipped without
// Retention.
func IdentityRetention(t *testing.T, open IdentityOpener) {
	runIdentity(t, open, map[string]func(*testing.T, *identityFixture){
		"sessions":      sessionsExpire,
		"mail tokens":   mailTokensExpire,
		"email changes": emailChangesExpire,
		"invitations":   invitationsExpire,
	})
}

// deleteBefore expects n rows of the kind to be deleted.
func (fixture *identityFixture) deleteBefore(kind retention.Kind, before time.Time, n int) {
	fixture.t.Helper()

	if fixture.Retention == nil {
		fixture.t.Skip("no retention port")
	}

	got, err := retentionOf(fixture.t, fixture.Retention).DeleteBefore(fixture.t.Context(), kind, before, 10)
	require.NoError(fixture.t, err)
	require.Equal(fixture.t, n, got)
}

// sessionsExpire checks that sessions and refresh tokens are deleted after they have expired,
// not at that time, and that unused tokens of other sessions stay.
func sessionsExpire(t *testing.T, fixture *identityFixture) {
	ctx, user := t.Context(), fixture.user("jo@example.org")
	old, oldToken := fixture.session(user)
	browser := fixture.browserSession(user)
	young := identity.Session{
		ID:         newID(),
		UserID:     user.ID,
		CreatedAt:  fixture.now,
		LastUsedAt: fixture.now,
		ExpiresAt:  old.ExpiresAt.Add(time.Hour),
	}
	youngToken := identity.RefreshToken{Hash: newID(), SessionID: young.ID, IssuedAt: fixture.now, ExpiresAt: young.ExpiresAt}
	used := identity.RefreshToken{Hash: newID(), SessionID: young.ID, IssuedAt: fixture.now, ExpiresAt: fixture.now}
	require.NoError(t, fixture.Sessions.Create(ctx, young, youngToken, used))

	fixture.deleteBefore(identity.SessionKind, old.ExpiresAt, 0)
	fixture.deleteBefore(identity.RefreshTokenKind, fixture.now, 0)
	fixture.deleteBefore(identity.SessionKind, old.ExpiresAt.Add(time.Minute), 2)
	fixture.deleteBefore(identity.RefreshTokenKind, old.ExpiresAt.Add(time.Minute), 1)

	for _, hash := range []string{oldToken.Hash, used.Hash} {
		_, err := fixture.Sessions.GetRefreshToken(ctx, hash)
		require.ErrorIs(t, err, identity.ErrSessionNotFound)
	}

	_, err := fixture.Sessions.GetPrincipal(ctx, identity.SessionKey{CookieHash: browser.CookieHash})
	require.ErrorIs(t, err, identity.ErrSessionNotFound)

	_, err = fixture.Sessions.GetRefreshToken(ctx, youngToken.Hash)
	require.NoError(t, err)
	fixture.principal(identity.SessionKey{ID: young.ID})
}

// mailTokensExpire checks that a token is deleted after its expiry, and not at that instant.
func mailTokensExpire(t *testing.T, fixture *identityFixture) {
	token := fixture.mailToken(fixture.user("jo@example.org"), identity.ForReset, "")
	fixture.deleteBefore(identity.MailTokenKind, token.ExpiresAt, 0)
	fixture.deleteBefore(identity.MailTokenKind, token.ExpiresAt.Add(time.Microsecond), 1)

	_, err := fixture.MailTokens.Get(t.Context(), token.Hash, identity.ForReset)
	require.ErrorIs(t, err, identity.ErrTokenNotFound)
}

// emailChangesExpire checks that requested and former addresses expire separately.
func emailChangesExpire(t *testing.T, fixture *identityFixture) {
	user := fixture.user("jo@example.org")
	first := fixture.undo("first@example.org", 0)
	second := fixture.undo("second@example.org", time.Minute)
	history := identity.EmailHistory{
		UserID:    user.ID,
		Requested: &identity.EmailChange{Email: "next@example.org", RequestedAt: fixture.now},
		Undos:     []identity.EmailUndo{first, second},
	}
	require.NoError(t, fixture.EmailChanges.Upsert(t.Context(), history))
	fixture.deleteBefore(identity.EmailChangeKind, fixture.now, 0)
	fixture.deleteBefore(identity.EmailUndoKind, first.ExpiresAt, 0)
	fixture.deleteBefore(identity.EmailChangeKind, fixture.now.Add(time.Microsecond), 1)
	fixture.deleteBefore(identity.EmailUndoKind, first.ExpiresAt.Add(time.Microsecond), 1)
	require.Equal(t, identity.EmailHistory{UserID: user.ID, Undos: []identity.EmailUndo{second}},
		fixture.history(user.ID))
}

// invitationsExpire checks that an invited user is deleted with the last invitation, and that
// accounts and active members are not deleted.
func invitationsExpire(t *testing.T, fixture *identityFixture) {
	ctx := t.Context()
	boss := fixture.user("boss@example.org")
	org := fixture.organization(boss.ID)
	otherOrg := fixture.organization(fixture.user("al@example.org").ID)
	once := fixture.invite(org, "once@example.org", identity.Viewer)
	twice := fixture.invite(org, "twice@example.org", identity.Viewer)
	account := fixture.user("jo@example.org")
	fixture.invite(org, "jo@example.org", identity.Viewer)

	second := identity.NewInvitation(newID(), otherOrg.ID, twice.UserID, "In Vited", "twice@example.org",
		identity.Viewer, fixture.now.Add(time.Microsecond))
	require.NoError(t, fixture.Members.Upsert(ctx, &second))

	fixture.deleteBefore(identity.InvitationKind, once.InvitedUntil, 0)

	total := 0
	for range 3 {
		n, err := retentionOf(
			fixture.t,
			fixture.Retention,
		).DeleteBefore(ctx, identity.InvitationKind, once.InvitedUntil.Add(time.Microsecond), 2)
		require.NoError(t, err)
		require.LessOrEqual(t, n, 2)

		total += n
	}

	require.Equal(t, 3, total)

	_, err := fixture.Users.GetForUpdate(ctx, once.UserID)
	require.ErrorIs(t, err, identity.ErrUserNotFound)

	for _, id := range []string{twice.UserID, account.ID, boss.ID} {
		fixture.getUser(id)
	}

	_, err = fixture.Members.Get(ctx, otherOrg.ID, twice.UserID)
	require.NoError(t, err, "it has not expired")

	_, err = fixture.Members.Get(ctx, org.ID, boss.ID)
	require.NoError(t, err, "an active member")
	fixture.requireNotInTeam(org.ID, account.ID)

	late := identity.NewInvitation(newID(), org.ID, once.UserID, "In Vited", "once@example.org", identity.Viewer,
		fixture.now)
	require.Error(t, fixture.Members.Upsert(ctx, &late), "the invited user was deleted")
}
