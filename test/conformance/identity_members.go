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
	runIdentity(t, open, map[string]func(*testing.T, *people){
		"create and read":   organizationReads,
		"update":            organizationUpdates,
		"locked for update": organizationIsLocked,
	})
}

func organizationReads(t *testing.T, p *people) {
	o, other := p.organization(p.user("jo@example.org").ID), p.organization(p.user("al@example.org").ID)
	require.EqualValues(t, 1, o.Version)
	got, err := p.Organizations.GetForUpdate(t.Context(), o.ID)
	require.NoError(t, err)
	require.Equal(t, o, got)
	_, err = p.Organizations.GetForUpdate(t.Context(), newID())
	require.ErrorIs(t, err, identity.ErrOrganizationNotFound)
	found, err := p.Organizations.GetByIDs(t.Context(), []string{other.ID, newID(), o.ID})
	require.NoError(t, err)
	require.ElementsMatch(t, []identity.Organization{o, other}, found)
}

func organizationUpdates(t *testing.T, p *people) {
	ctx := t.Context()
	o := p.organization(p.user("jo@example.org").ID)
	stale := o
	o.Name, o.Description, o.Website, o.Logo = "Zoë's 100% \"Care\"", "Line one\nline two", "https://care.example", "https://care.example/logo.png"
	o.Industry, o.Size, o.RequireSecondFactor, o.UpdatedAt = "nursing home", "11-50", true, p.now.Add(time.Microsecond)
	require.NoError(t, p.Organizations.Upsert(ctx, &o))
	get := func(ctx context.Context) identity.Organization {
		got, err := p.Organizations.GetForUpdate(ctx, o.ID)
		require.NoError(t, err)
		return got
	}
	require.Equal(t, o, get(ctx))
	tries := 0
	require.NoError(t, p.do(func(ctx context.Context) error {
		if tries++; tries > 1 {
			stale = get(ctx)
		}
		stale.Industry = "hospital"
		return p.Organizations.Upsert(ctx, &stale)
	}))
	require.Equal(t, 2, tries, "the version was outdated")
	got := get(ctx)
	require.Equal(t, o.Name, got.Name)
	require.Equal(t, "hospital", got.Industry)
}

func organizationIsLocked(t *testing.T, p *people) {
	o := p.organization(p.user("boss@example.org").ID)
	var inside, most int
	var mu sync.Mutex
	together(t, 20, func(int) error {
		return p.do(func(ctx context.Context) error {
			if _, err := p.Organizations.GetForUpdate(ctx, o.ID); err != nil {
				return err
			}
			mu.Lock()
			inside++
			most = max(most, inside)
			mu.Unlock()
			_, err := p.Members.List(ctx, o.ID, identity.MemberFilter{}, page.Request{Number: 1, Size: 2})
			mu.Lock()
			inside--
			mu.Unlock()
			return err
		})
	})
	require.Equal(t, 1, most)
}

// Members checks the port identity.Members.
func Members(t *testing.T, open IdentityOpener) {
	runIdentity(t, open, map[string]func(*testing.T, *people){
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

func activeMembership(t *testing.T, p *people) {
	u := p.user("jo@example.org")
	p.organization(u.ID)
	m, err := p.Members.GetByUser(t.Context(), u.ID)
	require.NoError(t, err)
	require.True(t, m.Founder)
	require.Equal(t, identity.Admin, m.Role)
	require.Equal(t, identity.Admin.Defaults(), m.Permissions)
	require.EqualValues(t, 1, m.Version)
	m.Change(identity.Viewer, identity.Viewer.Defaults(), p.now.Add(time.Microsecond))
	require.NoError(t, p.Members.Upsert(t.Context(), m))
	got, err := p.Members.GetByUser(t.Context(), u.ID)
	require.NoError(t, err)
	require.Equal(t, m, got)
	none, err := p.Members.GetByUser(t.Context(), newID())
	require.NoError(t, err)
	require.Nil(t, none)
}

func oneActiveMembership(t *testing.T, p *people) {
	u := p.user("jo@example.org")
	first := p.organization(u.ID)
	second := p.organization(p.user("al@example.org").ID)
	m := p.invite(second, "jo@example.org", identity.Viewer)
	m.Accept(p.now)
	require.Error(t, p.Members.Upsert(t.Context(), &m))
	require.NoError(t, p.Members.Delete(t.Context(), first.ID, []string{u.ID}))
	require.NoError(t, p.Members.Upsert(t.Context(), &m))
	got, err := p.Members.GetByUser(t.Context(), u.ID)
	require.NoError(t, err)
	require.Equal(t, m, *got)
}

func invitationIsRenewed(t *testing.T, p *people) {
	o := p.organization(p.user("boss@example.org").ID)
	m := p.invite(o, "new@example.org", identity.Viewer)
	again := identity.NewInvitation(newID(), o.ID, m.UserID, "Renamed", "new@example.org", identity.Admin, m.InvitedUntil)
	require.False(t, m.Renew(again, m.InvitedUntil.Add(-time.Microsecond)))
	require.True(t, m.Renew(again, m.InvitedUntil))
	stale := m
	require.NoError(t, p.Members.Upsert(t.Context(), &m))
	got, err := p.Members.Get(t.Context(), o.ID, m.UserID)
	require.NoError(t, err)
	require.Equal(t, m, got.Membership)
	require.Equal(t, again.ID, got.ID)
	require.Error(t, p.Members.Upsert(t.Context(), &stale), "the version is outdated")
	p.accept(&got.Membership)
	require.False(t, got.Renew(again, p.now.Add(365*24*time.Hour)), "a member is not invited again")
}

func concurrentInvitations(t *testing.T, p *people) {
	o := p.organization(p.user("boss@example.org").ID)
	id := p.invited("new@example.org")
	require.Equal(t, 1, atOnce(t, 20, func(int) (stored bool, err error) {
		return stored, p.do(func(ctx context.Context) error {
			stored = false
			found, err := p.Members.List(ctx, o.ID, identity.MemberFilter{UserIDs: []string{id}}, page.Request{Number: 1, Size: 1})
			if err != nil || len(found.Items) > 0 {
				return err
			}
			m := identity.NewInvitation(newID(), o.ID, id, "New", "new@example.org", identity.Viewer, p.now)
			stored = true
			return p.Members.Upsert(ctx, &m)
		})
	}))
}

func deletedIsNotInvited(t *testing.T, p *people) {
	o := p.organization(p.user("boss@example.org").ID)
	m := p.invite(o, "new@example.org", identity.Viewer)
	require.NoError(t, p.Members.Delete(t.Context(), o.ID, []string{m.UserID}))
	m.Version = 0
	require.Error(t, p.Members.Upsert(t.Context(), &m))
}

func membersAreOwned(t *testing.T, p *people) {
	one, two := p.user("one@example.org"), p.user("two@example.org")
	o := p.organization(one.ID)
	p.organization(two.ID)
	for _, foreign := range []string{two.ID, p.user("free@example.org").ID, newID()} {
		p.isNotInTeam(o.ID, foreign)
		require.NoError(t, p.Members.Delete(t.Context(), o.ID, []string{foreign}))
	}
	m, err := p.Members.GetByUser(t.Context(), two.ID)
	require.NoError(t, err)
	require.NotNil(t, m)
}

func invitedName(t *testing.T, p *people) {
	o := p.organization(p.user("boss@example.org").ID)
	u := p.user("jo@example.org")
	m := p.invite(o, "JO@example.org", identity.Recruiter)
	got, err := p.Members.Get(t.Context(), o.ID, u.ID)
	require.NoError(t, err)
	require.Equal(t, "In Vited", got.Name)
	require.Equal(t, "JO@example.org", got.Email)
	p.accept(&m)
	got, err = p.Members.Get(t.Context(), o.ID, u.ID)
	require.NoError(t, err)
	require.Equal(t, "Jo Doe", got.Name)
	require.Equal(t, "jo@example.org", got.Email)
}

func membersAreFiltered(t *testing.T, p *people) {
	boss := p.user("boss@example.org")
	o := p.organization(boss.ID)
	jo, admin := p.invite(o, "jo@example.org", identity.Viewer), p.invite(o, "admin@example.org", identity.Admin)
	other := p.user("al@example.org")
	p.organization(other.ID)
	list := func(f identity.MemberFilter, size int) (ids []string) {
		got, err := p.Members.List(t.Context(), o.ID, f, page.Request{Number: 1, Size: size})
		require.NoError(t, err)
		for _, m := range got.Items {
			ids = append(ids, m.UserID)
		}
		return ids
	}
	got, err := p.Members.List(t.Context(), o.ID, identity.MemberFilter{UserIDs: []string{jo.UserID, other.ID, newID()}}, page.Request{Number: 1, Size: 3})
	require.NoError(t, err)
	require.Len(t, got.Items, 1)
	require.Equal(t, jo, got.Items[0].Membership)
	require.Equal(t, "jo@example.org", got.Items[0].Email)
	require.Equal(t, 1, got.Total)
	require.Equal(t, []string{boss.ID, jo.UserID, admin.UserID}, list(identity.MemberFilter{}, 10))
	admins := identity.MemberFilter{Role: identity.Admin, Status: identity.MemberActive}
	require.Equal(t, []string{boss.ID}, list(admins, 10))
	require.Equal(t, []string{jo.UserID, admin.UserID}, list(identity.MemberFilter{Status: identity.MemberInvited}, 10))
	p.accept(&admin)
	require.Equal(t, []string{boss.ID, admin.UserID}, list(admins, 10))
	require.Equal(t, []string{boss.ID}, list(admins, 1))
}

func teamPages(t *testing.T, p *people) {
	o := p.organization(p.user("boss@example.org").ID)
	p.organization(p.user("other@example.org").ID)
	for _, email := range []string{"a@example.org", "b@example.org"} {
		p.invite(o, email, identity.Viewer)
	}
	first, err := p.Members.List(t.Context(), o.ID, identity.MemberFilter{}, page.Request{Number: 1, Size: 2})
	require.NoError(t, err)
	require.Len(t, first.Items, 2)
	require.Equal(t, 3, first.Total)
	require.False(t, first.TotalIsEstimate)
	require.Equal(t, "boss@example.org", first.Items[0].Email)
	for _, r := range []page.Request{{Number: 2, Size: 2}, {Number: 1, Size: 2, Cursor: first.NextCursor}} {
		second, err := p.Members.List(t.Context(), o.ID, identity.MemberFilter{}, r)
		require.NoError(t, err)
		require.Len(t, second.Items, 1)
		require.Equal(t, "b@example.org", second.Items[0].Email)
		require.Equal(t, 3, second.Total)
		require.Empty(t, second.NextCursor)
	}
	beyond, err := p.Members.List(t.Context(), o.ID, identity.MemberFilter{}, page.Request{Number: 9, Size: 2})
	require.NoError(t, err)
	require.NotNil(t, beyond.Items)
	require.Empty(t, beyond.Items)
}

func membersAreDeleted(t *testing.T, p *people) {
	ctx := t.Context()
	boss, account := p.user("jo@example.org"), p.user("al@example.org")
	o, other := p.organization(boss.ID), p.organization(p.user("other@example.org").ID)
	member, kept := p.user("member@example.org"), p.user("kept@example.org")
	for _, u := range []identity.User{member, kept} {
		m := p.invite(o, u.Email, identity.Recruiter)
		p.accept(&m)
	}
	once, twice := p.invite(o, "once@example.org", identity.Viewer), p.invite(o, "twice@example.org", identity.Viewer)
	p.invite(other, "twice@example.org", identity.Viewer)
	p.invite(o, account.Email, identity.Viewer)
	session, _ := p.session(member)
	var deleted []identity.MailToken
	for _, id := range []string{once.UserID, twice.UserID, account.ID} {
		deleted = append(deleted, p.mailToken(p.getUser(id), identity.ForInvitation, o.ID))
	}
	stays := []identity.MailToken{
		p.mailToken(p.getUser(twice.UserID), identity.ForInvitation, other.ID), p.mailToken(account, identity.ForVerification, ""),
	}

	all := []string{member.ID, once.UserID, twice.UserID, account.ID, newID()}
	require.NoError(t, p.Members.Delete(ctx, other.ID, []string{member.ID, kept.ID}), "members of another organization")
	require.NoError(t, p.Members.Delete(ctx, o.ID, nil))
	require.NoError(t, p.Members.Delete(ctx, o.ID, all))
	for _, id := range all {
		p.isNotInTeam(o.ID, id)
	}
	for _, id := range []string{boss.ID, kept.ID} {
		_, err := p.Members.Get(ctx, o.ID, id)
		require.NoError(t, err)
	}
	_, err := p.Members.Get(ctx, other.ID, twice.UserID)
	require.NoError(t, err)
	_, err = p.Users.GetForUpdate(ctx, once.UserID)
	require.ErrorIs(t, err, identity.ErrUserNotFound, "invited by no other organization")
	for _, id := range []string{member.ID, twice.UserID, account.ID} {
		p.getUser(id)
	}
	require.True(t, p.principal(identity.SessionKey{ID: session.ID}).Session.Alive(p.now))
	for _, token := range deleted {
		_, err := p.MailTokens.Get(ctx, token.Hash, token.Purpose)
		require.ErrorIs(t, err, identity.ErrTokenNotFound)
	}
	for _, token := range stays {
		_, err := p.MailTokens.Get(ctx, token.Hash, token.Purpose)
		require.NoError(t, err)
	}
}

func invitedIsMerged(t *testing.T, p *people) {
	ctx, u := t.Context(), p.user("jo@example.org")
	first, second := p.organization(p.user("a@example.org").ID), p.organization(u.ID)
	m := p.invite(first, "jo@elsewhere.example", identity.Viewer)
	p.invite(second, "jo@elsewhere.example", identity.Viewer)
	token := p.mailToken(p.getUser(m.UserID), identity.ForInvitation, first.ID)

	require.NoError(t, p.Members.MergeInvited(ctx, m.UserID, u.ID))
	_, err := p.Users.GetForUpdate(ctx, m.UserID)
	require.ErrorIs(t, err, identity.ErrUserNotFound)
	got, err := p.Members.Get(ctx, first.ID, u.ID)
	require.NoError(t, err)
	require.Equal(t, identity.MemberInvited, got.Status)
	require.Equal(t, identity.Viewer, got.Role)
	got, err = p.Members.Get(ctx, second.ID, u.ID)
	require.NoError(t, err)
	require.Equal(t, identity.Admin, got.Role, "the existing membership")
	moved, err := p.MailTokens.Get(ctx, token.Hash, identity.ForInvitation)
	require.NoError(t, err)
	require.Equal(t, u.ID, moved.UserID)

	other := p.user("al@example.org")
	o := p.organization(other.ID)
	require.NoError(t, p.Members.MergeInvited(ctx, other.ID, u.ID))
	p.getUser(other.ID)
	_, err = p.Members.Get(ctx, o.ID, other.ID)
	require.NoError(t, err, "an account is not merged")
	require.NoError(t, p.Members.MergeInvited(ctx, newID(), u.ID))
}

func secondFactorIsRequired(t *testing.T, p *people) {
	u := p.user("jo@example.org")
	o := p.organization(u.ID)
	s, _ := p.session(u)
	missing := func() bool {
		principal := p.principal(identity.SessionKey{ID: s.ID})
		m, err := p.Members.GetByUser(t.Context(), u.ID)
		require.NoError(t, err)
		require.Equal(t, principal.Membership.SecondFactorMissing, m.SecondFactorMissing)
		return m.SecondFactorMissing
	}
	require.False(t, missing())
	o.RequireSecondFactor = true
	require.NoError(t, p.Organizations.Upsert(t.Context(), &o))
	require.True(t, missing())
	f := identity.SecondFactor{UserID: u.ID, Secret: "secret", CreatedAt: p.now}
	require.NoError(t, p.SecondFactors.Upsert(t.Context(), f))
	require.True(t, missing(), "it is not confirmed")
	f.ConfirmedAt = p.now
	require.NoError(t, p.SecondFactors.Upsert(t.Context(), f))
	require.False(t, missing())
}
