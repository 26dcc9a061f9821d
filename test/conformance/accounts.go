package conformance

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/modules/identity"
)

func emailChangesReadBack(t *testing.T, p *people) {
	ctx, u := t.Context(), p.user("jo@example.org")
	_, err := p.Identity.EmailChanges.Find(ctx, u.ID)
	require.ErrorIs(t, err, identity.ErrNoEmailChange)
	first := identity.EmailChange{UserID: u.ID, Email: "zoë@example.org", RequestedAt: p.now}
	second := identity.EmailChange{UserID: u.ID, Email: "zoe@example.org", RequestedAt: p.now.Add(1234567 * time.Microsecond)}
	require.NoError(t, p.Identity.EmailChanges.Put(ctx, first))
	require.NoError(t, p.Identity.EmailChanges.Put(ctx, second))
	got, err := p.Identity.EmailChanges.Find(ctx, u.ID)
	require.NoError(t, err)
	require.Equal(t, second, got)
	n, err := p.Identity.EmailChanges.Forget(ctx, second.RequestedAt, 10)
	require.NoError(t, err)
	require.Zero(t, n, "it is not older than that")
	n, err = p.Identity.EmailChanges.Forget(ctx, second.RequestedAt.Add(time.Microsecond), 10)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.NoError(t, p.Identity.EmailChanges.Put(ctx, first))
	require.NoError(t, p.Identity.EmailChanges.Remove(ctx, uid()))
	require.NoError(t, p.Identity.EmailChanges.Remove(ctx, u.ID))
	_, err = p.Identity.EmailChanges.Find(ctx, u.ID)
	require.ErrorIs(t, err, identity.ErrNoEmailChange)
}

func invitedIsAbsorbed(t *testing.T, p *people) {
	ctx, u := t.Context(), p.user("jo@example.org")
	first, second := p.organization(p.user("a@example.org").ID), p.organization(u.ID)
	m := p.invite(first, "jo@elsewhere.example", identity.Viewer)
	p.invite(second, "jo@elsewhere.example", identity.Viewer) // where the account is already
	token, _ := identity.NewMailToken(m.UserID, "jo@elsewhere.example", identity.ForInvitation, p.now)
	token.OrganizationID = first.ID
	require.NoError(t, p.Identity.MailTokens.Add(ctx, token))

	require.NoError(t, p.Identity.Users.Absorb(ctx, m.UserID, u.ID))
	_, err := p.Identity.Users.Find(ctx, m.UserID)
	require.ErrorIs(t, err, identity.ErrUserNotFound)
	got, err := p.Identity.Organizations.Member(ctx, first.ID, u.ID)
	require.NoError(t, err)
	require.Equal(t, identity.MemberInvited, got.Status)
	require.Equal(t, identity.Viewer, got.Role)
	got, err = p.Identity.Organizations.Member(ctx, second.ID, u.ID)
	require.NoError(t, err)
	require.Equal(t, identity.Admin, got.Role, "the membership that there was")
	handed, err := p.Identity.MailTokens.Find(ctx, token.Hash, identity.ForInvitation)
	require.NoError(t, err)
	require.Equal(t, u.ID, handed.UserID)

	other := p.user("al@example.org")
	require.NoError(t, p.Identity.Users.Absorb(ctx, other.ID, u.ID))
	_, err = p.Identity.Users.Find(ctx, other.ID)
	require.NoError(t, err, "an account is never absorbed")
}

func personIsRemoved(t *testing.T, p *people) {
	ctx := t.Context()
	gone, stays := p.user("jo@example.org"), p.user("al@example.org")
	o := p.organization(gone.ID)
	other := p.organization(stays.ID)
	require.Equal(t, gone.ID, p.invite(other, "jo@example.org", identity.Viewer).UserID)
	sessions := map[string]identity.RefreshToken{}
	tokens := map[string]identity.MailToken{}
	for _, u := range []identity.User{gone, stays} {
		_, sessions[u.ID] = p.session(u)
		tokens[u.ID], _ = identity.NewMailToken(u.ID, u.Email, identity.ForReset, p.now)
		require.NoError(t, p.Identity.MailTokens.Add(ctx, tokens[u.ID]))
	}
	require.NoError(t, p.Identity.Organizations.RemoveMemberships(ctx, gone.ID))
	require.NoError(t, p.Identity.Sessions.Remove(ctx, gone.ID))
	require.NoError(t, p.Identity.MailTokens.Remove(ctx, gone.ID))

	for _, of := range []identity.Organization{o, other} {
		_, err := p.Identity.Organizations.Member(ctx, of.ID, gone.ID)
		require.ErrorIs(t, err, identity.ErrNotInTeam)
	}
	_, err := p.Identity.Organizations.Member(ctx, other.ID, stays.ID)
	require.NoError(t, err)
	_, err = p.Identity.Sessions.FindRefresh(ctx, sessions[gone.ID].Hash)
	require.ErrorIs(t, err, identity.ErrSessionNotFound)
	_, err = p.Identity.Sessions.FindRefresh(ctx, sessions[stays.ID].Hash)
	require.NoError(t, err)
	_, err = p.Identity.MailTokens.Find(ctx, tokens[gone.ID].Hash, identity.ForReset)
	require.ErrorIs(t, err, identity.ErrTokenNotFound)
	_, err = p.Identity.MailTokens.Find(ctx, tokens[stays.ID].Hash, identity.ForReset)
	require.NoError(t, err)
}

func emailUndosReadBack(t *testing.T, p *people) {
	ctx, u, other := t.Context(), p.user("jo@example.org"), p.user("al@example.org")
	first := identity.EmailUndo{UserID: u.ID, Email: "First@example.org", Key: "first@example.org", ChangedAt: p.now, ExpiresAt: p.now.Add(time.Hour)}
	second := identity.EmailUndo{UserID: u.ID, Email: "second@example.org", Key: "second@example.org", ChangedAt: p.now.Add(time.Minute), ExpiresAt: p.now.Add(2 * time.Hour)}
	for _, undo := range []identity.EmailUndo{first, second} {
		require.NoError(t, p.Identity.EmailUndos.Create(ctx, undo))
		got, err := p.Identity.EmailUndos.Get(ctx, u.ID, undo.ChangedAt)
		require.NoError(t, err)
		require.Equal(t, undo, got)
		got, err = p.Identity.EmailUndos.Find(ctx, u.ID, undo.Key, p.now)
		require.NoError(t, err)
		require.Equal(t, undo, got)
	}
	again := first
	again.ChangedAt = second.ChangedAt.Add(time.Minute)
	require.NoError(t, p.Identity.EmailUndos.Create(ctx, again))
	found, err := p.Identity.EmailUndos.Find(ctx, u.ID, first.Key, p.now)
	require.NoError(t, err)
	require.Equal(t, first, found, "the first of several")
	_, err = p.Identity.EmailUndos.Find(ctx, u.ID, first.Key, first.ExpiresAt)
	require.ErrorIs(t, err, identity.ErrNoEmailChange, "expired")
	_, err = p.Identity.EmailUndos.Find(ctx, other.ID, first.Key, p.now)
	require.ErrorIs(t, err, identity.ErrNoEmailChange, "another account's")
	_, err = p.Identity.EmailUndos.Get(ctx, other.ID, first.ChangedAt)
	require.ErrorIs(t, err, identity.ErrNoEmailChange)
	reserved := func(key, userID string, now time.Time) bool {
		found, err := p.Identity.EmailUndos.Reserved(ctx, key, userID, now)
		require.NoError(t, err)
		return found
	}
	require.True(t, reserved("first@example.org", other.ID, p.now))
	require.False(t, reserved("first@example.org", u.ID, p.now), "the account's own")
	require.False(t, reserved("first@example.org", other.ID, first.ExpiresAt))
	n, err := p.Identity.EmailUndos.DeleteBefore(ctx, first.ExpiresAt, 10)
	require.NoError(t, err)
	require.Zero(t, n)
	require.NoError(t, p.Identity.EmailUndos.DeleteSince(ctx, other.ID, time.Time{}))
	require.NoError(t, p.Identity.EmailUndos.DeleteSince(ctx, u.ID, second.ChangedAt))
	_, err = p.Identity.EmailUndos.Get(ctx, u.ID, second.ChangedAt)
	require.ErrorIs(t, err, identity.ErrNoEmailChange)
	n, err = p.Identity.EmailUndos.DeleteBefore(ctx, first.ExpiresAt.Add(time.Second), 10)
	require.NoError(t, err)
	require.Equal(t, 1, n)
}

func memberIsDismissed(t *testing.T, p *people) {
	ctx := t.Context()
	boss, invitedAccount := p.user("jo@example.org"), p.user("al@example.org")
	o := p.organization(boss.ID)
	joined := func(email string) identity.User {
		m := p.invite(o, email, identity.Recruiter)
		m.Accept(p.now)
		require.NoError(t, p.Identity.Organizations.SaveMember(ctx, &m))
		u, err := p.Identity.Users.Find(ctx, m.UserID)
		require.NoError(t, err)
		u.Claim("Claimed", "v", p.now)
		require.NoError(t, p.Identity.Users.Save(ctx, &u))
		return u
	}
	member, kept := joined("member@example.org"), joined("kept@example.org")
	placeholder := p.invite(o, "new@example.org", identity.Viewer)
	p.invite(o, invitedAccount.Email, identity.Viewer)
	token, _ := identity.NewMailToken(placeholder.UserID, "new@example.org", identity.ForInvitation, p.now)
	token.OrganizationID = o.ID
	require.NoError(t, p.Identity.MailTokens.Add(ctx, token))
	ended, _ := p.session(member)
	live := []identity.Session{}
	for _, u := range []identity.User{kept, invitedAccount} {
		s, _ := p.session(u)
		live = append(live, s)
	}
	for _, id := range []string{member.ID, placeholder.UserID, invitedAccount.ID, uid()} {
		require.NoError(t, p.Identity.Organizations.DismissMember(ctx, o.ID, id, p.now))
		_, err := p.Identity.Organizations.Member(ctx, o.ID, id)
		require.ErrorIs(t, err, identity.ErrNotInTeam)
	}
	got, err := p.Identity.Sessions.Principal(ctx, ended.ID)
	require.NoError(t, err)
	require.False(t, got.Session.Alive(p.now))
	require.Equal(t, identity.KindJobseeker, got.User.Kind, "the account was made for the organization")
	for _, s := range live {
		got, err := p.Identity.Sessions.Principal(ctx, s.ID)
		require.NoError(t, err)
		require.True(t, got.Session.Alive(p.now))
	}
	_, err = p.Identity.Users.Find(ctx, placeholder.UserID)
	require.ErrorIs(t, err, identity.ErrUserNotFound)
	_, err = p.Identity.MailTokens.Find(ctx, token.Hash, identity.ForInvitation)
	require.ErrorIs(t, err, identity.ErrTokenNotFound)
	require.NoError(t, p.Identity.Organizations.DismissMember(ctx, uid(), kept.ID, p.now), "another organization")
	_, err = p.Identity.Organizations.Member(ctx, o.ID, kept.ID)
	require.NoError(t, err)
}

func organizationDissolves(t *testing.T, p *people) {
	ctx := t.Context()
	boss, stranger := p.user("jo@example.org"), p.user("al@example.org")
	o, other := p.organization(boss.ID), p.organization(stranger.ID)
	invited := p.invite(o, "new@example.org", identity.Viewer)
	both := p.invite(o, "both@example.org", identity.Viewer)
	p.invite(other, "both@example.org", identity.Viewer)
	p.invite(o, "al@example.org", identity.Viewer)
	token, _ := identity.NewMailToken(invited.UserID, "new@example.org", identity.ForInvitation, p.now)
	token.OrganizationID = o.ID
	require.NoError(t, p.Identity.MailTokens.Add(ctx, token))
	member, founder := p.invite(o, "member@example.org", identity.Recruiter), identity.NewUser(uid(), "founder@example.org", "Fay", identity.KindEmployer, "v", p.now)
	require.NoError(t, p.Identity.Users.Add(ctx, &founder))
	p.invite(o, founder.Email, identity.Admin)
	for _, id := range []string{member.UserID, founder.ID} {
		m, err := p.Identity.Organizations.Member(ctx, o.ID, id)
		require.NoError(t, err)
		m.Accept(p.now)
		require.NoError(t, p.Identity.Organizations.SaveMember(ctx, &m.Membership))
		u, err := p.Identity.Users.Find(ctx, id)
		require.NoError(t, err)
		require.Equal(t, id == founder.ID, u.Registered)
		u.Claim("Claimed", "v", p.now)
		require.NoError(t, p.Identity.Users.Save(ctx, &u))
	}
	ended, _ := p.session(boss)
	lives, _ := p.session(stranger)

	require.NoError(t, p.Identity.Organizations.Dissolve(ctx, o.ID, p.now))
	for _, id := range []string{boss.ID, invited.UserID, both.UserID, stranger.ID} {
		_, err := p.Identity.Organizations.Member(ctx, o.ID, id)
		require.ErrorIs(t, err, identity.ErrNotInTeam)
	}
	got, err := p.Identity.Sessions.Principal(ctx, ended.ID)
	require.NoError(t, err)
	require.False(t, got.Session.Alive(p.now))
	got, err = p.Identity.Sessions.Principal(ctx, lives.ID)
	require.NoError(t, err)
	require.True(t, got.Session.Alive(p.now), "who was only invited stays signed in")
	_, err = p.Identity.Users.Find(ctx, invited.UserID)
	require.ErrorIs(t, err, identity.ErrUserNotFound)
	_, err = p.Identity.Users.Find(ctx, both.UserID)
	require.NoError(t, err, "somebody else invited them too")
	_, err = p.Identity.Users.Find(ctx, boss.ID)
	require.NoError(t, err)
	for id, kind := range map[string]identity.Kind{member.UserID: identity.KindJobseeker, founder.ID: identity.KindEmployer} {
		u, err := p.Identity.Users.Find(ctx, id)
		require.NoError(t, err)
		require.Equal(t, kind, u.Kind)
	}
	_, err = p.Identity.MailTokens.Find(ctx, token.Hash, identity.ForInvitation)
	require.ErrorIs(t, err, identity.ErrTokenNotFound)
	_, err = p.Identity.Organizations.Find(ctx, o.ID)
	require.NoError(t, err, "applicants still see where they applied")
}

// deletedGetsNoToken lets twenty tokens be written while the account ends.
func deletedGetsNoToken(t *testing.T, p *people) {
	ctx, u := t.Context(), p.user("jo@example.org")
	var all sync.WaitGroup
	var added [20]error
	var tokens [20]identity.MailToken
	for i := range added {
		tokens[i], _ = identity.NewMailToken(u.ID, u.Email, identity.ForReset, p.now)
		all.Go(func() {
			added[i] = p.Identity.Tx.Do(ctx, func(ctx context.Context) error { return p.Identity.MailTokens.Add(ctx, tokens[i]) })
		})
	}
	require.NoError(t, p.Identity.Tx.Do(ctx, func(ctx context.Context) error {
		u, err := p.Identity.Users.Find(ctx, u.ID)
		if err != nil {
			return err
		}
		u.Erase(p.now)
		if err := p.Identity.Users.Save(ctx, &u); err != nil {
			return err
		}
		return p.Identity.MailTokens.Remove(ctx, u.ID)
	}))
	all.Wait()
	for i, err := range added {
		if err != nil {
			require.ErrorIs(t, err, identity.ErrUserNotFound)
		}
		_, err := p.Identity.MailTokens.Find(ctx, tokens[i].Hash, identity.ForReset)
		require.ErrorIs(t, err, identity.ErrTokenNotFound, "those that came first went with the account")
	}
	again := p.user("jo@example.org")
	require.NotEqual(t, u.ID, again.ID, "the address is free again")
}

func organizationSaves(t *testing.T, p *people) {
	ctx := t.Context()
	o := p.organization(p.user("jo@example.org").ID)
	stale := o
	o.Name, o.Description, o.Website, o.Logo = "Zoë's 100% \"Care\"", "Line one\nline two", "https://care.example", "https://care.example/logo.png"
	o.Industry, o.Size, o.UpdatedAt = "nursing home", "11-50", p.now.Add(time.Microsecond)
	require.NoError(t, p.Identity.Organizations.Save(ctx, &o))
	got, err := p.Identity.Organizations.Find(ctx, o.ID)
	require.NoError(t, err)
	require.Equal(t, o, got)
	tries := 0
	require.NoError(t, p.Identity.Tx.Do(ctx, func(ctx context.Context) error {
		if tries++; tries > 1 {
			if stale, err = p.Identity.Organizations.Find(ctx, o.ID); err != nil {
				return err
			}
		}
		stale.Industry = "hospital"
		return p.Identity.Organizations.Save(ctx, &stale)
	}))
	require.Equal(t, 2, tries, "it had changed since it was read")
	got, err = p.Identity.Organizations.Find(ctx, o.ID)
	require.NoError(t, err)
	require.Equal(t, o.Name, got.Name)
	require.Equal(t, "hospital", got.Industry)
}

func employerSettingsReadBack(t *testing.T, p *people) {
	ctx, u := t.Context(), p.user("jo@example.org")
	s, err := p.Identity.EmployerSettings.Find(ctx, u.ID)
	require.NoError(t, err)
	require.Equal(t, identity.DefaultSettings(u.ID), s)
	for _, contact := range []identity.Contact{{Name: "Zoë", Email: "zoë@example.org", Phone: "+44 (0)20 7946 0000"}, {}} {
		s.JobTitle, s.Contact, s.EmailAlerts, s.UpdatedAt = "Matron", contact, !s.EmailAlerts, p.now.Add(time.Microsecond)
		require.NoError(t, p.Identity.EmployerSettings.Save(ctx, &s))
		got, err := p.Identity.EmployerSettings.Find(ctx, u.ID)
		require.NoError(t, err)
		require.Equal(t, s, got)
	}
	// Twenty who set something for the first time: nobody's is lost.
	other := p.user("al@example.org")
	var all sync.WaitGroup
	var errs [20]error
	for i := range errs {
		all.Go(func() {
			errs[i] = p.Identity.Tx.Do(ctx, func(ctx context.Context) error {
				s, err := p.Identity.EmployerSettings.Find(ctx, other.ID)
				if err != nil {
					return err
				}
				s.JobTitle, s.UpdatedAt = s.JobTitle+"x", p.now
				return p.Identity.EmployerSettings.Save(ctx, &s)
			})
		})
	}
	all.Wait()
	n := 0
	for _, err := range errs {
		if err == nil {
			n++
		}
	}
	got, err := p.Identity.EmployerSettings.Find(ctx, other.ID)
	require.NoError(t, err)
	require.Len(t, got.JobTitle, n, "of those who succeeded each one's is there")
	require.NotZero(t, n)
	require.NoError(t, p.Identity.EmployerSettings.Remove(ctx, other.ID))
	got, err = p.Identity.EmployerSettings.Find(ctx, other.ID)
	require.NoError(t, err)
	require.Equal(t, identity.DefaultSettings(other.ID), got)
}

func invitationsAreForgotten(t *testing.T, p *people) {
	ctx := t.Context()
	boss := p.user("boss@example.org")
	o, other := p.organization(boss.ID), p.organization(p.user("al@example.org").ID)
	once, twice := p.invite(o, "once@example.org", identity.Viewer), p.invite(o, "twice@example.org", identity.Viewer)
	account := p.user("jo@example.org")
	p.invite(o, "jo@example.org", identity.Viewer)
	again := identity.NewInvitation(uid(), other.ID, twice.UserID, "In Vited", "twice@example.org", identity.Viewer, p.now.Add(time.Microsecond))
	ok, err := p.Identity.Organizations.Invite(ctx, again, p.now)
	require.NoError(t, err)
	require.True(t, ok)

	n, err := p.Identity.Organizations.ForgetInvitations(ctx, once.InvitedUntil, 10)
	require.NoError(t, err)
	require.Zero(t, n, "they run out at that moment, and not before it")
	total := 0
	for range 3 {
		n, err = p.Identity.Organizations.ForgetInvitations(ctx, once.InvitedUntil.Add(time.Microsecond), 2)
		require.NoError(t, err)
		require.LessOrEqual(t, n, 2)
		total += n
	}
	require.Equal(t, 3, total)
	_, err = p.Identity.Users.Find(ctx, once.UserID)
	require.ErrorIs(t, err, identity.ErrUserNotFound)
	for _, id := range []string{twice.UserID, account.ID, boss.ID} {
		_, err = p.Identity.Users.Find(ctx, id)
		require.NoError(t, err)
	}
	_, err = p.Identity.Organizations.Member(ctx, other.ID, twice.UserID)
	require.NoError(t, err, "one that has not run out")
	_, err = p.Identity.Organizations.Member(ctx, o.ID, boss.ID)
	require.NoError(t, err, "members stay")
	late := identity.NewInvitation(uid(), o.ID, once.UserID, "In Vited", "once@example.org", identity.Viewer, p.now)
	_, err = p.Identity.Organizations.Invite(ctx, late, p.now)
	require.Error(t, err, "of who is forgotten there is nothing to invite")
}
