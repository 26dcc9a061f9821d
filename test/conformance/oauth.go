package conformance

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/modules/integrations"
)

// Grants checks the port integrations.Grants.
func Grants(t *testing.T, open IntegrationsOpener) {
	su := grantSuite{open}
	t.Run("get by hash and kind", su.getByHashAndKind)
	t.Run("concurrent use", su.concurrentUse)
	t.Run("use and end", su.useAndEnd)
	t.Run("deleted application", su.deletedApplication)
	t.Run("retention", su.retention)
}

// grantSuite has the subtests of Grants.
type grantSuite struct {
	open IntegrationsOpener
}

// within calls fn outside and inside of a transaction.
func (su grantSuite) within(f *integrationsFixture, fn func(ctx context.Context)) {
	fn(f.ctx())
	require.NoError(f.t, f.Tx.Do(f.ctx(), func(ctx context.Context) error { fn(ctx); return nil }))
}

func (su grantSuite) getByHashAndKind(t *testing.T) {
	f := newIntegrationsFixture(t, su.open)
	g, code := f.grant(f.app, newID(), f.now())
	access := f.issue(g, integrations.Access, f.now())
	su.within(f, func(ctx context.Context) {
		for _, want := range []integrations.Token{code, access} {
			got, err := f.Grants.Get(ctx, want.Kind, want.Hash)
			require.NoError(t, err)
			require.Equal(t, integrations.IssuedToken{Token: want, Grant: g, App: f.app}, got)
		}
		for hash, kind := range map[string]integrations.TokenKind{access.Hash: integrations.Refresh, code.Hash: integrations.Access, "nothing": integrations.Code} {
			_, err := f.Grants.Get(ctx, kind, hash)
			require.ErrorIs(t, err, integrations.ErrTokenNotFound)
		}
	})
}

func (su grantSuite) concurrentUse(t *testing.T) {
	f := newIntegrationsFixture(t, su.open)
	g, code := f.grant(f.app, newID(), f.now())
	for _, token := range []integrations.Token{code, f.issue(g, integrations.Refresh, f.now())} {
		require.Equal(t, 1, atOnce(t, 20, func(int) (used bool, err error) {
			err = f.Tx.Do(f.ctx(), func(ctx context.Context) error {
				if _, err := f.Grants.Get(ctx, token.Kind, token.Hash); err != nil {
					return err
				}
				used, err = f.Grants.Use(ctx, g.ID, token.Hash, f.now())
				return err
			})
			return used, err
		}))
		found, err := f.Grants.Get(f.ctx(), token.Kind, token.Hash)
		require.NoError(t, err)
		require.Equal(t, f.now(), *found.Token.UsedAt)
	}
}

func (su grantSuite) useAndEnd(t *testing.T) {
	f := newIntegrationsFixture(t, su.open)
	me, now := newID(), f.now()
	g, code := f.grant(f.app, me, now)
	other, _ := f.grant(f.app, me, now)
	access, refresh, theirs := f.issue(g, integrations.Access, now), f.issue(g, integrations.Refresh, now), f.issue(other, integrations.Access, now)
	active := func(token integrations.Token) bool {
		i, err := f.Grants.Get(f.ctx(), token.Kind, token.Hash)
		require.NoError(t, err)
		return i.Token.Active(i.Grant, now)
	}
	used, err := f.Grants.Use(f.ctx(), other.ID, code.Hash, now)
	require.NoError(t, err)
	require.False(t, used, "a token of another authorization")
	require.True(t, active(access))
	used, err = f.Grants.Use(f.ctx(), g.ID, code.Hash, now)
	require.NoError(t, err)
	require.True(t, used)
	require.False(t, active(code))
	require.False(t, active(access))
	require.True(t, active(refresh))
	require.NoError(t, f.Grants.End(f.ctx(), g.ID, now))
	require.NoError(t, f.Grants.End(f.ctx(), g.ID, now.Add(time.Hour)))
	require.False(t, active(refresh))
	require.True(t, active(theirs))
	ended, err := f.Grants.Get(f.ctx(), integrations.Refresh, refresh.Hash)
	require.NoError(t, err)
	require.Equal(t, now, *ended.Grant.EndedAt)
}

func (su grantSuite) deletedApplication(t *testing.T) {
	f := newIntegrationsFixture(t, su.open)
	g, code := f.grant(f.app, newID(), f.now())
	access := f.issue(g, integrations.Access, f.now())
	require.NoError(t, f.Apps.Delete(f.ctx(), f.app.OwnerID, f.app.ID))
	su.within(f, func(ctx context.Context) {
		_, err := f.Grants.Get(ctx, integrations.Access, access.Hash)
		require.ErrorIs(t, err, integrations.ErrTokenNotFound)
	})
	late := code
	late.Hash = newID()
	require.ErrorIs(t, f.Grants.Create(f.ctx(), late, nil), integrations.ErrAppNotFound, "no authorization")
	g.ID = newID()
	late.GrantID = g.ID
	require.ErrorIs(t, f.Grants.Create(f.ctx(), late, &g), integrations.ErrAppNotFound)
	require.ErrorIs(t, f.Consents.Upsert(f.ctx(), integrations.Consent{UserID: newID(), AppID: f.app.ID, GivenAt: f.now()}), integrations.ErrAppNotFound)
}

func (su grantSuite) retention(t *testing.T) {
	f := newIntegrationsFixture(t, su.open)
	me, now := newID(), f.now()
	for range 3 {
		g, _ := f.grant(f.app, me, now)
		f.issue(g, integrations.Refresh, now)
	}
	last, _ := f.grant(f.app, me, now.Add(time.Hour))
	f.issue(last, integrations.Access, now)
	refresh := f.issue(last, integrations.Refresh, now.Add(2*time.Hour))
	before := now.Add(90 * time.Minute)
	for _, n := range []int{2, 1, 0} {
		f.deleteBefore(integrations.GrantsKind, before, 2, n)
	}
	for _, n := range []int{2, 0} { // of the last one, whose code and access token have expired
		f.deleteBefore(integrations.TokensKind, before, 2, n)
	}
	_, err := f.Grants.Get(f.ctx(), integrations.Refresh, refresh.Hash)
	require.NoError(t, err)
}

// Consents checks the port integrations.Consents.
func Consents(t *testing.T, open IntegrationsOpener) {
	su := consentSuite{open}
	t.Run("list", su.list)
	t.Run("list of many users", su.listOfManyUsers)
	t.Run("concurrent changes", su.concurrentChanges)
	t.Run("delete", su.delete)
	t.Run("delete by time", su.deleteByTime)
}

// consentSuite has the subtests of Consents.
type consentSuite struct {
	open IntegrationsOpener
}

func (su consentSuite) allowed(f *integrationsFixture, userIDs []string, appID string, r page.Request) page.Result[integrations.AppConsent] {
	f.t.Helper()
	out, err := f.Consents.List(f.ctx(), userIDs, appID, r)
	require.NoError(f.t, err)
	return out
}

func (su consentSuite) list(t *testing.T) {
	f := newIntegrationsFixture(t, su.open)
	a, b, me, other := f.app, f.application(newID()), newID(), newID()
	f.consent(me, a.ID, integrations.ApplicationsWrite)
	mine := f.consent(me, a.ID, integrations.JobsRead, integrations.ApplicationsRead)
	more := f.consent(me, b.ID, integrations.JobsRead)
	f.consent(other, a.ID, integrations.JobsRead)
	require.Equal(t, mine, su.allowed(f, []string{me}, a.ID, firstHundred).Items[0].Consent, "the later one")
	first := su.allowed(f, []string{me}, "", page.Request{Number: 1, Size: 1})
	require.Equal(t, []integrations.AppConsent{{Consent: more, Name: b.Name, Description: b.Description}}, first.Items)
	require.Equal(t, 2, first.Total)
	rest := su.allowed(f, []string{me}, "", page.Request{Number: 2, Size: 1, Cursor: first.NextCursor})
	require.Len(t, rest.Items, 1)
	require.Equal(t, mine, rest.Items[0].Consent)
	require.Empty(t, rest.NextCursor)
	_, err := f.Consents.List(f.ctx(), []string{me}, "", page.Request{Number: 1, Size: 1, Cursor: "x"})
	require.Error(t, err)
	require.Empty(t, su.allowed(f, []string{newID()}, "", firstHundred).Items)
	require.Empty(t, su.allowed(f, nil, "", firstHundred).Items, "no user")
}

func (su consentSuite) listOfManyUsers(t *testing.T) {
	f := newIntegrationsFixture(t, su.open)
	other := f.application(newID())
	var users []string
	for range 700 {
		users = append(users, newID())
	}
	f.consent(users[3], f.app.ID, integrations.JobsRead)
	f.consent(users[650], f.app.ID, integrations.JobsRead)
	f.consent(users[4], other.ID, integrations.JobsRead)
	f.consent(newID(), f.app.ID, integrations.JobsRead)
	var found []string
	for _, c := range su.allowed(f, users, f.app.ID, firstHundred).Items {
		found = append(found, c.UserID)
	}
	require.ElementsMatch(t, []string{users[3], users[650]}, found)
	require.Len(t, su.allowed(f, users, f.app.ID, page.Request{Number: 1, Size: 1}).Items, 1)
	require.Len(t, su.allowed(f, users, "", firstHundred).Items, 3)
}

func (su consentSuite) concurrentChanges(t *testing.T) {
	f := newIntegrationsFixture(t, su.open)
	me := newID()
	f.consent(me, f.app.ID)
	together(t, 10, func(int) error {
		return f.Tx.Do(f.ctx(), func(ctx context.Context) error {
			found, err := f.Consents.List(ctx, []string{me}, f.app.ID, firstHundred)
			if err != nil {
				return err
			}
			c := found.Items[0].Consent
			c.Scopes = append(c.Scopes, integrations.JobsRead)
			return f.Consents.Upsert(ctx, c)
		})
	})
	require.Len(t, su.allowed(f, []string{me}, f.app.ID, firstHundred).Items[0].Scopes, 10)
}

func (su consentSuite) delete(t *testing.T) {
	f := newIntegrationsFixture(t, su.open)
	a, b, me, other, now := f.app, f.application(newID()), newID(), newID(), f.now()
	f.consent(me, a.ID, integrations.JobsRead)
	f.consent(me, b.ID, integrations.JobsRead)
	theirs := f.consent(other, a.ID, integrations.JobsRead)
	_, deleted := f.grant(a, me, now)
	_, kept := f.grant(b, me, now)
	_, foreign := f.grant(a, other, now)
	for _, want := range []int{1, 0} {
		n, err := f.Consents.Delete(f.ctx(), me, integrations.ConsentFilter{AppID: a.ID})
		require.NoError(t, err)
		require.Equal(t, want, n)
	}
	require.Empty(t, su.allowed(f, []string{me}, a.ID, firstHundred).Items)
	_, err := f.Grants.Get(f.ctx(), integrations.Code, deleted.Hash)
	require.ErrorIs(t, err, integrations.ErrTokenNotFound)
	for _, token := range []integrations.Token{kept, foreign} {
		_, err = f.Grants.Get(f.ctx(), integrations.Code, token.Hash)
		require.NoError(t, err)
	}
	n, err := f.Consents.Delete(f.ctx(), me, integrations.ConsentFilter{})
	require.NoError(t, err)
	require.Equal(t, 1, n)
	_, err = f.Grants.Get(f.ctx(), integrations.Code, kept.Hash)
	require.ErrorIs(t, err, integrations.ErrTokenNotFound)
	require.Equal(t, theirs, su.allowed(f, []string{other}, a.ID, firstHundred).Items[0].Consent)
}

func (su consentSuite) deleteByTime(t *testing.T) {
	f := newIntegrationsFixture(t, su.open)
	other, me := f.application(newID()), newID()
	f.consent(me, f.app.ID, integrations.JobsRead)
	_, old := f.grant(other, me, f.now())
	f.clk.Advance(time.Minute)
	kept := f.consent(me, other.ID, integrations.JobsRead)
	_, recent := f.grant(other, me, f.now())
	n, err := f.Consents.Delete(f.ctx(), me, integrations.ConsentFilter{Before: f.now()})
	require.NoError(t, err)
	require.Equal(t, 1, n)
	left := su.allowed(f, []string{me}, "", firstHundred)
	require.Len(t, left.Items, 1)
	require.Equal(t, kept, left.Items[0].Consent)
	_, err = f.Grants.Get(f.ctx(), integrations.Code, old.Hash)
	require.ErrorIs(t, err, integrations.ErrTokenNotFound)
	_, err = f.Grants.Get(f.ctx(), integrations.Code, recent.Hash)
	require.NoError(t, err)
}
