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
	runIdentity(t, open, map[string]func(*testing.T, *people){
		"create and replace":  emailHistoryReads,
		"reserved address":    addressIsReserved,
		"concurrent requests": concurrentRequests,
	})
}

func (p *people) history(userID string) identity.EmailHistory {
	p.t.Helper()
	h, err := p.EmailChanges.Get(p.t.Context(), userID)
	require.NoError(p.t, err)
	return h
}

func (p *people) undo(email string, at time.Duration) identity.EmailUndo {
	changed := p.now.Add(at)
	return identity.EmailUndo{Email: email, Key: identity.EmailKey(email), ChangedAt: changed, ExpiresAt: changed.Add(time.Hour)}
}

func emailHistoryReads(t *testing.T, p *people) {
	ctx, u, other := t.Context(), p.user("jo@example.org"), p.user("al@example.org")
	require.Equal(t, identity.EmailHistory{UserID: u.ID}, p.history(u.ID))
	first, second, again := p.undo("First@example.org", 0), p.undo("zoë@example.org", 1234567*time.Microsecond), p.undo("first@example.org", time.Minute)
	theirs := identity.EmailHistory{UserID: other.ID, Requested: &identity.EmailChange{Email: "x@example.org", RequestedAt: p.now}, Undos: []identity.EmailUndo{first}}
	require.NoError(t, p.EmailChanges.Upsert(ctx, theirs))
	for _, h := range []identity.EmailHistory{
		{UserID: u.ID, Requested: &identity.EmailChange{Email: "zoë@example.org", RequestedAt: p.now}},
		{UserID: u.ID, Requested: &identity.EmailChange{Email: "zoe@example.org", RequestedAt: p.now.Add(1234567 * time.Microsecond)}, Undos: []identity.EmailUndo{first}},
		{UserID: u.ID, Undos: []identity.EmailUndo{first, second, again}},
		{UserID: u.ID, Undos: []identity.EmailUndo{first}},
		{UserID: u.ID},
	} {
		require.NoError(t, p.EmailChanges.Upsert(ctx, h))
		require.Equal(t, h, p.history(u.ID))
	}
	require.NoError(t, p.EmailChanges.Upsert(ctx, identity.EmailHistory{UserID: u.ID, Undos: []identity.EmailUndo{again, first}}))
	require.Equal(t, []identity.EmailUndo{first, again}, p.history(u.ID).Undos, "in the order of the changes")
	require.Equal(t, theirs, p.history(other.ID))
}

func addressIsReserved(t *testing.T, p *people) {
	ctx, u, other := t.Context(), p.user("jo@example.org"), p.user("al@example.org")
	first, second := p.undo("First@example.org", 0), p.undo("second@example.org", time.Minute)
	require.NoError(t, p.EmailChanges.Upsert(ctx, identity.EmailHistory{UserID: u.ID, Undos: []identity.EmailUndo{first, second}}))
	reserved := func(key, userID string, now time.Time) bool {
		found, err := p.EmailChanges.IsReserved(ctx, key, userID, now)
		require.NoError(t, err)
		return found
	}
	require.True(t, reserved("first@example.org", other.ID, p.now))
	require.True(t, reserved("second@example.org", other.ID, p.now))
	require.False(t, reserved("third@example.org", other.ID, p.now))
	require.False(t, reserved("first@example.org", u.ID, p.now), "by the account itself")
	require.False(t, reserved("first@example.org", other.ID, first.ExpiresAt), "expired")
}

func concurrentRequests(t *testing.T, p *people) {
	u := p.user("jo@example.org")
	together(t, 20, func(i int) error {
		return p.do(func(ctx context.Context) error {
			if _, err := p.Users.GetForUpdate(ctx, u.ID); err != nil {
				return err
			}
			h, err := p.EmailChanges.Get(ctx, u.ID)
			if err != nil {
				return err
			}
			h.Undos = append(h.Undos, p.undo("x@example.org", time.Duration(i)*time.Second))
			return p.EmailChanges.Upsert(ctx, h)
		})
	})
	require.Len(t, p.history(u.ID).Undos, 20)
}

// SecondFactors checks the port identity.SecondFactors.
func SecondFactors(t *testing.T, open IdentityOpener) {
	runIdentity(t, open, map[string]func(*testing.T, *people){
		"create and replace": secondFactorReads,
		"concurrent uses":    secondFactorUsedOnce,
	})
}

func (p *people) secondFactor(userID string) identity.SecondFactor {
	p.t.Helper()
	f, err := p.SecondFactors.Get(p.t.Context(), userID)
	require.NoError(p.t, err)
	return f
}

func secondFactorReads(t *testing.T, p *people) {
	ctx, u, other := t.Context(), p.user("jo@example.org"), p.user("al@example.org")
	_, err := p.SecondFactors.Get(ctx, u.ID)
	require.ErrorIs(t, err, identity.ErrNoSecondFactor)
	theirs := identity.SecondFactor{UserID: other.ID, Secret: "theirs", CreatedAt: p.now, RecoveryCodes: []string{"c"}}
	require.NoError(t, p.SecondFactors.Upsert(ctx, theirs))
	f := identity.SecondFactor{UserID: u.ID, Secret: "first", CreatedAt: p.now}
	require.NoError(t, p.SecondFactors.Upsert(ctx, f))
	got := p.secondFactor(u.ID)
	require.Empty(t, got.RecoveryCodes)
	got.RecoveryCodes = nil
	require.Equal(t, f, got)
	f.Secret, f.CreatedAt, f.ConfirmedAt, f.LastStep = "second", p.now.Add(time.Microsecond), p.now.Add(time.Second), 7
	for _, codes := range [][]string{{"a", "b"}, {"c", "d", "e"}, {"d"}, {"d"}} {
		f.RecoveryCodes = codes
		f.LastStep++
		require.NoError(t, p.SecondFactors.Upsert(ctx, f))
		got = p.secondFactor(u.ID)
		require.ElementsMatch(t, codes, got.RecoveryCodes)
		got.RecoveryCodes = codes
		require.Equal(t, f, got)
	}
	require.NoError(t, p.SecondFactors.Delete(ctx, u.ID))
	_, err = p.SecondFactors.Get(ctx, u.ID)
	require.ErrorIs(t, err, identity.ErrNoSecondFactor)
	require.NoError(t, p.SecondFactors.Upsert(ctx, identity.SecondFactor{UserID: u.ID, Secret: "third", CreatedAt: p.now}))
	require.Empty(t, p.secondFactor(u.ID).RecoveryCodes, "the codes are deleted with the factor")
	require.Equal(t, theirs, p.secondFactor(other.ID))
}

// secondFactorUsedOnce uses a time step and a recovery code as the service does, in
// twenty transactions at once.
func secondFactorUsedOnce(t *testing.T, p *people) {
	u := p.user("jo@example.org")
	require.NoError(t, p.SecondFactors.Upsert(t.Context(), identity.SecondFactor{UserID: u.ID, Secret: "s", CreatedAt: p.now, ConfirmedAt: p.now, LastStep: 7, RecoveryCodes: []string{"a", "b"}}))
	require.Equal(t, 1, atOnce(t, 20, func(int) (used bool, err error) {
		return used, p.do(func(ctx context.Context) error {
			used = false
			f, err := p.SecondFactors.Get(ctx, u.ID)
			if err != nil || f.LastStep >= 8 {
				return err
			}
			used, f.LastStep, f.RecoveryCodes = true, 8, []string{"b"}
			return p.SecondFactors.Upsert(ctx, f)
		})
	}))
	got := p.secondFactor(u.ID)
	require.EqualValues(t, 8, got.LastStep)
	require.Equal(t, []string{"b"}, got.RecoveryCodes)
}

// EmployerSettings checks the port identity.EmployerSettingsStore.
func EmployerSettings(t *testing.T, open IdentityOpener) {
	runIdentity(t, open, map[string]func(*testing.T, *people){
		"create and update":  employerSettingsRead,
		"concurrent creates": concurrentSettings,
	})
}

func employerSettingsRead(t *testing.T, p *people) {
	ctx, u := t.Context(), p.user("jo@example.org")
	s, err := p.EmployerSettings.Get(ctx, u.ID)
	require.NoError(t, err)
	require.Equal(t, identity.DefaultSettings(u.ID), s)
	for _, contact := range []identity.Contact{{Name: "Zoë", Email: "zoë@example.org", Phone: "+44 (0)20 7946 0000"}, {}} {
		s.JobTitle, s.Contact, s.EmailAlerts, s.UpdatedAt = "Matron", contact, !s.EmailAlerts, p.now.Add(time.Microsecond)
		require.NoError(t, p.EmployerSettings.Upsert(ctx, &s))
		got, err := p.EmployerSettings.Get(ctx, u.ID)
		require.NoError(t, err)
		require.Equal(t, s, got)
	}
}

func concurrentSettings(t *testing.T, p *people) {
	ctx, u := t.Context(), p.user("jo@example.org")
	// Transactions that lose too many races may fail; no update is lost.
	stored := atOnce(t, 20, func(int) (bool, error) {
		err := p.do(func(ctx context.Context) error {
			s, err := p.EmployerSettings.Get(ctx, u.ID)
			if err != nil {
				return err
			}
			s.JobTitle, s.UpdatedAt = s.JobTitle+"x", p.now
			return p.EmployerSettings.Upsert(ctx, &s)
		})
		return err == nil, nil
	})
	require.NotZero(t, stored)
	got, err := p.EmployerSettings.Get(ctx, u.ID)
	require.NoError(t, err)
	require.Len(t, got.JobTitle, stored)
}

// OptOuts checks the port identity.OptOuts.
func OptOuts(t *testing.T, open IdentityOpener) {
	runIdentity(t, open, map[string]func(*testing.T, *people){
		"create twice": func(t *testing.T, p *people) {
			for _, want := range []bool{false, true, true} {
				exists, err := p.OptOuts.Exists(t.Context(), "mailbox")
				require.NoError(t, err)
				require.Equal(t, want, exists)
				require.NoError(t, p.OptOuts.Create(t.Context(), "mailbox", p.now))
			}
			exists, err := p.OptOuts.Exists(t.Context(), "other")
			require.NoError(t, err)
			require.False(t, exists)
		},
	})
}

// IdentityPersonalData checks the port identity.PersonalData.
func IdentityPersonalData(t *testing.T, open IdentityOpener) {
	runIdentity(t, open, map[string]func(*testing.T, *people){"one of two users": personalDataIsDeleted})
}

func personalDataIsDeleted(t *testing.T, p *people) {
	ctx := t.Context()
	deleted, kept := p.user("jo@example.org"), p.user("al@example.org")
	organizations, sessions, tokens := map[string]identity.Organization{}, map[string]identity.RefreshToken{}, map[string]identity.MailToken{}
	for _, u := range []identity.User{deleted, kept} {
		organizations[u.ID] = p.organization(u.ID)
		_, sessions[u.ID] = p.session(u)
		tokens[u.ID] = p.mailToken(u, identity.ForReset, "")
		require.NoError(t, p.EmailChanges.Upsert(ctx, identity.EmailHistory{
			UserID: u.ID, Requested: &identity.EmailChange{Email: "x@example.org", RequestedAt: p.now}, Undos: []identity.EmailUndo{p.undo("y@example.org", 0)},
		}))
		require.NoError(t, p.SecondFactors.Upsert(ctx, identity.SecondFactor{UserID: u.ID, Secret: "s", CreatedAt: p.now, RecoveryCodes: []string{"a"}}))
		s := identity.DefaultSettings(u.ID)
		s.JobTitle, s.UpdatedAt = "Matron", p.now
		require.NoError(t, p.EmployerSettings.Upsert(ctx, &s))
	}
	p.invite(organizations[kept.ID], "jo@example.org", identity.Viewer)
	for range 2 {
		require.NoError(t, p.PersonalData.DeleteByUser(ctx, deleted.ID))
	}
	p.isNotInTeam(organizations[kept.ID].ID, deleted.ID)
	for id, want := range map[string]bool{deleted.ID: false, kept.ID: true} {
		u := p.getUser(id)
		_, err := p.Members.Get(ctx, organizations[u.ID].ID, u.ID)
		require.Equal(t, want, err == nil)
		_, err = p.Sessions.GetRefreshToken(ctx, sessions[u.ID].Hash)
		require.Equal(t, want, err == nil)
		_, err = p.MailTokens.Get(ctx, tokens[u.ID].Hash, identity.ForReset)
		require.Equal(t, want, err == nil)
		h := p.history(u.ID)
		require.Equal(t, want, h.Requested != nil)
		require.Equal(t, want, len(h.Undos) == 1)
		_, err = p.SecondFactors.Get(ctx, u.ID)
		require.Equal(t, want, err == nil)
		s, err := p.EmployerSettings.Get(ctx, u.ID)
		require.NoError(t, err)
		require.Equal(t, want, s != identity.DefaultSettings(u.ID))
	}
	require.NoError(t, p.SecondFactors.Upsert(ctx, identity.SecondFactor{UserID: deleted.ID, Secret: "s", CreatedAt: p.now}))
	require.Empty(t, p.secondFactor(deleted.ID).RecoveryCodes)
}

// IdentityRetention checks the expiry of the rows of identity. It is skipped without
// Retention.
func IdentityRetention(t *testing.T, open IdentityOpener) {
	runIdentity(t, open, map[string]func(*testing.T, *people){
		"sessions":      sessionsExpire,
		"mail tokens":   mailTokensExpire,
		"email changes": emailChangesExpire,
		"invitations":   invitationsExpire,
	})
}

// deleteBefore expects n rows of the kind to be deleted.
func (p *people) deleteBefore(kind retention.Kind, before time.Time, n int) {
	p.t.Helper()
	if p.Retention == nil {
		p.t.Skip("no retention port")
	}
	got, err := retentionOf(p.t, p.Retention).DeleteBefore(p.t.Context(), kind, before, 10)
	require.NoError(p.t, err)
	require.Equal(p.t, n, got)
}

func sessionsExpire(t *testing.T, p *people) {
	ctx, u := t.Context(), p.user("jo@example.org")
	old, oldToken := p.session(u)
	browser := p.browserSession(u)
	young := identity.Session{ID: newID(), UserID: u.ID, CreatedAt: p.now, LastUsedAt: p.now, ExpiresAt: old.ExpiresAt.Add(time.Hour)}
	youngToken := identity.RefreshToken{Hash: newID(), SessionID: young.ID, IssuedAt: p.now, ExpiresAt: young.ExpiresAt}
	used := identity.RefreshToken{Hash: newID(), SessionID: young.ID, IssuedAt: p.now, ExpiresAt: p.now}
	require.NoError(t, p.Sessions.Create(ctx, young, youngToken, used))

	p.deleteBefore(identity.SessionKind, old.ExpiresAt, 0)
	p.deleteBefore(identity.RefreshTokenKind, p.now, 0)
	p.deleteBefore(identity.SessionKind, old.ExpiresAt.Add(time.Minute), 2)
	p.deleteBefore(identity.RefreshTokenKind, old.ExpiresAt.Add(time.Minute), 1)
	for _, hash := range []string{oldToken.Hash, used.Hash} {
		_, err := p.Sessions.GetRefreshToken(ctx, hash)
		require.ErrorIs(t, err, identity.ErrSessionNotFound)
	}
	_, err := p.Sessions.GetPrincipal(ctx, identity.SessionKey{CookieHash: browser.CookieHash})
	require.ErrorIs(t, err, identity.ErrSessionNotFound)
	_, err = p.Sessions.GetRefreshToken(ctx, youngToken.Hash)
	require.NoError(t, err)
	p.principal(identity.SessionKey{ID: young.ID})
}

func mailTokensExpire(t *testing.T, p *people) {
	token := p.mailToken(p.user("jo@example.org"), identity.ForReset, "")
	p.deleteBefore(identity.MailTokenKind, token.ExpiresAt, 0)
	p.deleteBefore(identity.MailTokenKind, token.ExpiresAt.Add(time.Microsecond), 1)
	_, err := p.MailTokens.Get(t.Context(), token.Hash, identity.ForReset)
	require.ErrorIs(t, err, identity.ErrTokenNotFound)
}

func emailChangesExpire(t *testing.T, p *people) {
	u := p.user("jo@example.org")
	first, second := p.undo("first@example.org", 0), p.undo("second@example.org", time.Minute)
	h := identity.EmailHistory{UserID: u.ID, Requested: &identity.EmailChange{Email: "next@example.org", RequestedAt: p.now}, Undos: []identity.EmailUndo{first, second}}
	require.NoError(t, p.EmailChanges.Upsert(t.Context(), h))
	p.deleteBefore(identity.EmailChangeKind, p.now, 0)
	p.deleteBefore(identity.EmailUndoKind, first.ExpiresAt, 0)
	p.deleteBefore(identity.EmailChangeKind, p.now.Add(time.Microsecond), 1)
	p.deleteBefore(identity.EmailUndoKind, first.ExpiresAt.Add(time.Microsecond), 1)
	require.Equal(t, identity.EmailHistory{UserID: u.ID, Undos: []identity.EmailUndo{second}}, p.history(u.ID))
}

func invitationsExpire(t *testing.T, p *people) {
	ctx := t.Context()
	boss := p.user("boss@example.org")
	o, other := p.organization(boss.ID), p.organization(p.user("al@example.org").ID)
	once, twice := p.invite(o, "once@example.org", identity.Viewer), p.invite(o, "twice@example.org", identity.Viewer)
	account := p.user("jo@example.org")
	p.invite(o, "jo@example.org", identity.Viewer)
	again := identity.NewInvitation(newID(), other.ID, twice.UserID, "In Vited", "twice@example.org", identity.Viewer, p.now.Add(time.Microsecond))
	require.NoError(t, p.Members.Upsert(ctx, &again))

	p.deleteBefore(identity.InvitationKind, once.InvitedUntil, 0)
	total := 0
	for range 3 {
		n, err := retentionOf(p.t, p.Retention).DeleteBefore(ctx, identity.InvitationKind, once.InvitedUntil.Add(time.Microsecond), 2)
		require.NoError(t, err)
		require.LessOrEqual(t, n, 2)
		total += n
	}
	require.Equal(t, 3, total)
	_, err := p.Users.GetForUpdate(ctx, once.UserID)
	require.ErrorIs(t, err, identity.ErrUserNotFound)
	for _, id := range []string{twice.UserID, account.ID, boss.ID} {
		p.getUser(id)
	}
	_, err = p.Members.Get(ctx, other.ID, twice.UserID)
	require.NoError(t, err, "it has not expired")
	_, err = p.Members.Get(ctx, o.ID, boss.ID)
	require.NoError(t, err, "an active member")
	p.isNotInTeam(o.ID, account.ID)
	late := identity.NewInvitation(newID(), o.ID, once.UserID, "In Vited", "once@example.org", identity.Viewer, p.now)
	require.Error(t, p.Members.Upsert(ctx, &late), "the invited user was deleted")
}
