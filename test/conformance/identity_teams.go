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

func invitedBecomesAccount(t *testing.T, p *people) {
	id, err := p.Identity.Users.Invite(p.t.Context(), identity.NewInvited(uid(), "Jo@example.org", "Typed Name", p.now))
	require.NoError(t, err)
	u := identity.NewUser(uid(), "jo@example.org", "Own Name", identity.KindJobseeker, "v", p.now.Add(time.Hour))
	require.NoError(t, p.Identity.Users.Add(p.t.Context(), &u))
	require.Equal(t, id, u.ID)
	got, err := p.Identity.Users.Find(p.t.Context(), id)
	require.NoError(t, err)
	require.Equal(t, u, got)
	u.SetPassword("w", p.now)
	require.NoError(t, p.Identity.Users.Save(p.t.Context(), &u), "the version that Add gave is the row's")
}

func invitedOnce(t *testing.T, p *people) {
	var ids [20]string
	p.twentyAtOnce(func(i int) (_ bool, err error) {
		err = p.Identity.Tx.Do(p.t.Context(), func(ctx context.Context) error {
			ids[i], err = p.Identity.Users.Invite(ctx, identity.NewInvited(uid(), "new@example.org", "New", p.now))
			return err
		})
		return true, err
	})
	for _, id := range ids {
		require.Equal(t, ids[0], id)
	}
	u := p.user("jo@example.org")
	id, err := p.Identity.Users.Invite(p.t.Context(), identity.NewInvited(uid(), "JO@example.org", "New", p.now))
	require.NoError(t, err)
	require.Equal(t, u.ID, id)
	got, err := p.Identity.Users.Find(p.t.Context(), u.ID)
	require.NoError(t, err)
	require.Equal(t, u, got, "an invitation changes nothing of an account")
}

func oneActiveMembership(t *testing.T, p *people) {
	u := p.user("jo@example.org")
	first := p.organization(u.ID)
	second := p.organization(p.user("al@example.org").ID)
	m := p.invite(second, "jo@example.org", identity.Viewer)
	m.Accept(p.now)
	require.Error(t, p.Identity.Organizations.SaveMember(p.t.Context(), &m))
	require.NoError(t, p.Identity.Organizations.RemoveMember(p.t.Context(), first.ID, u.ID))
	require.NoError(t, p.Identity.Organizations.SaveMember(p.t.Context(), &m))
	got, err := p.Identity.Organizations.MembershipOf(p.t.Context(), u.ID)
	require.NoError(t, err)
	require.Equal(t, m, *got)
}

func invitationIsRenewed(t *testing.T, p *people) {
	o := p.organization(p.user("boss@example.org").ID)
	m := p.invite(o, "new@example.org", identity.Viewer)
	again := identity.NewInvitation(uid(), o.ID, m.UserID, "Renamed", "new@example.org", identity.Admin, m.InvitedUntil)
	ok, err := p.Identity.Organizations.Invite(p.t.Context(), again, m.InvitedUntil.Add(-time.Microsecond))
	require.NoError(t, err)
	require.False(t, ok)
	ok, err = p.Identity.Organizations.Invite(p.t.Context(), again, m.InvitedUntil)
	require.NoError(t, err)
	require.True(t, ok)
	got, err := p.Identity.Organizations.Member(p.t.Context(), o.ID, m.UserID)
	require.NoError(t, err)
	require.Equal(t, again, got.Membership)
	got.Accept(p.now)
	require.NoError(t, p.Identity.Organizations.SaveMember(p.t.Context(), &got.Membership))
	ok, err = p.Identity.Organizations.Invite(p.t.Context(), again, p.now.Add(365*24*time.Hour))
	require.NoError(t, err)
	require.False(t, ok, "a member is not invited again")
}

func membersAreOwned(t *testing.T, p *people) {
	one, two := p.user("one@example.org"), p.user("two@example.org")
	o := p.organization(one.ID)
	p.organization(two.ID)
	for _, foreign := range []string{two.ID, p.user("free@example.org").ID, uid()} {
		_, err := p.Identity.Organizations.Member(p.t.Context(), o.ID, foreign)
		require.ErrorIs(t, err, identity.ErrNotInTeam)
		require.NoError(t, p.Identity.Organizations.RemoveMember(p.t.Context(), o.ID, foreign))
	}
	m, err := p.Identity.Organizations.MembershipOf(p.t.Context(), two.ID)
	require.NoError(t, err)
	require.NotNil(t, m)
}

func invitedShowsWhatWasTyped(t *testing.T, p *people) {
	o := p.organization(p.user("boss@example.org").ID)
	u := p.user("jo@example.org")
	m := p.invite(o, "JO@example.org", identity.Recruiter)
	got, err := p.Identity.Organizations.Member(p.t.Context(), o.ID, u.ID)
	require.NoError(t, err)
	require.Equal(t, "In Vited", got.Name)
	require.Equal(t, "JO@example.org", got.Email)
	m.Accept(p.now)
	require.NoError(t, p.Identity.Organizations.SaveMember(p.t.Context(), &m))
	got, err = p.Identity.Organizations.Member(p.t.Context(), o.ID, u.ID)
	require.NoError(t, err)
	require.Equal(t, "Jo Doe", got.Name)
	require.Equal(t, "jo@example.org", got.Email)
}

func membersAreFoundTogether(t *testing.T, p *people) {
	o := p.organization(p.user("boss@example.org").ID)
	jo := p.invite(o, "jo@example.org", identity.Viewer)
	other := p.user("al@example.org")
	p.organization(other.ID)
	got, err := p.Identity.Organizations.Members(t.Context(), o.ID, []string{jo.UserID, other.ID, uid()})
	require.NoError(t, err)
	require.Len(t, got, 1)
	require.Equal(t, jo, got[0].Membership)
	require.Equal(t, "jo@example.org", got[0].Email)
	got, err = p.Identity.Organizations.Members(t.Context(), o.ID, nil)
	require.NoError(t, err)
	require.Empty(t, got)
}

func adminsCount(t *testing.T, p *people) {
	u := p.user("boss@example.org")
	o := p.organization(u.ID)
	m := p.invite(o, "new@example.org", identity.Admin)
	other, err := p.Identity.Organizations.HasOtherAdmin(p.t.Context(), o.ID, u.ID)
	require.NoError(t, err)
	require.False(t, other)
	m.Accept(p.now)
	require.NoError(t, p.Identity.Organizations.SaveMember(p.t.Context(), &m))
	other, err = p.Identity.Organizations.HasOtherAdmin(p.t.Context(), o.ID, u.ID)
	require.NoError(t, err)
	require.True(t, other)
}

func lockSerializes(t *testing.T, p *people) {
	o := p.organization(p.user("boss@example.org").ID)
	var inside, most int
	var mu sync.Mutex
	p.twentyAtOnce(func(int) (bool, error) {
		return true, p.Identity.Tx.Do(p.t.Context(), func(ctx context.Context) error {
			if err := p.Identity.Organizations.Lock(ctx, o.ID); err != nil {
				return err
			}
			mu.Lock()
			inside++
			most = max(most, inside)
			mu.Unlock()
			_, err := p.Identity.Organizations.HasOtherAdmin(ctx, o.ID, uid())
			mu.Lock()
			inside--
			mu.Unlock()
			return err
		})
	})
	require.Equal(t, 1, most)
}

func teamPages(t *testing.T, p *people) {
	o := p.organization(p.user("boss@example.org").ID)
	p.organization(p.user("other@example.org").ID)
	for _, email := range []string{"a@example.org", "b@example.org"} {
		p.invite(o, email, identity.Viewer)
	}
	first, err := p.Identity.Organizations.Team(p.t.Context(), o.ID, page.Request{Number: 1, Size: 2})
	require.NoError(t, err)
	require.Len(t, first.Items, 2)
	require.Equal(t, 3, first.Total)
	require.False(t, first.TotalIsEstimate)
	require.Equal(t, "boss@example.org", first.Items[0].Email)
	for _, r := range []page.Request{{Number: 2, Size: 2}, {Number: 1, Size: 2, Cursor: first.NextCursor}} {
		second, err := p.Identity.Organizations.Team(p.t.Context(), o.ID, r)
		require.NoError(t, err)
		require.Len(t, second.Items, 1)
		require.Equal(t, "b@example.org", second.Items[0].Email)
		require.Equal(t, 3, second.Total)
		require.Empty(t, second.NextCursor)
	}
	beyond, err := p.Identity.Organizations.Team(p.t.Context(), o.ID, page.Request{Number: 9, Size: 2})
	require.NoError(t, err)
	require.NotNil(t, beyond.Items)
	require.Empty(t, beyond.Items)
}

func optsOut(t *testing.T, p *people) {
	for _, want := range []bool{false, true, true} {
		exists, err := p.Identity.OptOuts.Exists(t.Context(), "mailbox")
		require.NoError(t, err)
		require.Equal(t, want, exists)
		require.NoError(t, p.Identity.OptOuts.Create(t.Context(), "mailbox", p.now))
	}
	exists, err := p.Identity.OptOuts.Exists(t.Context(), "other")
	require.NoError(t, err)
	require.False(t, exists)
}

func usersExist(t *testing.T, p *people) {
	exist, err := p.Identity.Users.Exist(t.Context())
	require.NoError(t, err)
	require.False(t, exist)
	u := p.user("jo@example.org")
	u.Erase(p.now)
	require.NoError(t, p.Identity.Users.Save(t.Context(), &u))
	exist, err = p.Identity.Users.Exist(t.Context())
	require.NoError(t, err)
	require.True(t, exist)
}
