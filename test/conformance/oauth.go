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

// within calls fn once without and once inside a transaction.
func (su grantSuite) within(fixture *integrationsFixture, fn func(ctx context.Context)) {
	fn(fixture.ctx())
	require.NoError(fixture.t, fixture.Tx.Do(fixture.ctx(), func(ctx context.Context) error { fn(ctx); return nil }))
}

// getByHashAndKind checks that a token is found as its own kind only: a refresh token is not an
// access token.
func (su grantSuite) getByHashAndKind(t *testing.T) {
	fixture := newIntegrationsFixture(t, su.open)
	grant, code := fixture.grant(fixture.app, newID(), fixture.now())
	access := fixture.issue(grant, integrations.Access, fixture.now())
	su.within(fixture, func(ctx context.Context) {
		for _, want := range []integrations.Token{code, access} {
			got, err := fixture.Grants.Get(ctx, want.Kind, want.Hash)
			require.NoError(t, err)
			require.Equal(t, integrations.IssuedToken{Token: want, Grant: grant, App: fixture.app}, got)
		}
		for hash, kind := range map[string]integrations.TokenKind{
			access.Hash: integrations.Refresh,
			code.Hash:   integrations.Access,
			"nothing":   integrations.Code,
		} {
			_, err := fixture.Grants.Get(ctx, kind, hash)
			require.ErrorIs(t, err, integrations.ErrTokenNotFound)
		}
	})
}

// concurrentUse checks that a code or refresh token is used by one of twenty transactions.
func (su grantSuite) concurrentUse(t *testing.T) {
	fixture := newIntegrationsFixture(t, su.open)
	grant, code := fixture.grant(fixture.app, newID(), fixture.now())
	for _, token := range []integrations.Token{code, fixture.issue(grant, integrations.Refresh, fixture.now())} {
		require.Equal(t, 1, atOnce(t, 20, func(int) (wasUsed bool, err error) {
			err = fixture.Tx.Do(fixture.ctx(), func(ctx context.Context) error {
				if _, err := fixture.Grants.Get(ctx, token.Kind, token.Hash); err != nil {
					return err
				}
				wasUsed, err = fixture.Grants.Use(ctx, grant.ID, token.Hash, fixture.now())
				return err
			})
			return wasUsed, err
		}))
		found, err := fixture.Grants.Get(fixture.ctx(), token.Kind, token.Hash)
		require.NoError(t, err)
		require.Equal(t, fixture.now(), *found.Token.UsedAt)
	}
}

// useAndEnd checks that the use of a token ends the access tokens of its authorization, that
// End ends all of its tokens once, and that another authorization of the same user is not
// affected.
func (su grantSuite) useAndEnd(t *testing.T) {
	fixture := newIntegrationsFixture(t, su.open)
	me, now := newID(), fixture.now()
	grant, code := fixture.grant(fixture.app, me, now)
	other, _ := fixture.grant(fixture.app, me, now)
	access := fixture.issue(grant, integrations.Access, now)
	refresh := fixture.issue(grant, integrations.Refresh, now)
	theirs := fixture.issue(other, integrations.Access, now)
	active := func(token integrations.Token) bool {
		i, err := fixture.Grants.Get(fixture.ctx(), token.Kind, token.Hash)
		require.NoError(t, err)
		return i.Token.Active(i.Grant, now)
	}
	wasUsed, err := fixture.Grants.Use(fixture.ctx(), other.ID, code.Hash, now)
	require.NoError(t, err)
	require.False(t, wasUsed, "a token of another authorization")
	require.True(t, active(access))
	wasUsed, err = fixture.Grants.Use(fixture.ctx(), grant.ID, code.Hash, now)
	require.NoError(t, err)
	require.True(t, wasUsed)
	require.False(t, active(code))
	require.False(t, active(access))
	require.True(t, active(refresh))
	require.NoError(t, fixture.Grants.End(fixture.ctx(), grant.ID, now))
	require.NoError(t, fixture.Grants.End(fixture.ctx(), grant.ID, now.Add(time.Hour)))
	require.False(t, active(refresh))
	require.True(t, active(theirs))
	ended, err := fixture.Grants.Get(fixture.ctx(), integrations.Refresh, refresh.Hash)
	require.NoError(t, err)
	require.Equal(t, now, *ended.Grant.EndedAt)
}

// deletedApplication checks that a deleted application has no tokens, and that none can be
// stored for it concurrently.
func (su grantSuite) deletedApplication(t *testing.T) {
	fixture := newIntegrationsFixture(t, su.open)
	grant, code := fixture.grant(fixture.app, newID(), fixture.now())
	access := fixture.issue(grant, integrations.Access, fixture.now())
	require.NoError(t, fixture.Apps.Delete(fixture.ctx(), fixture.app.OwnerID, fixture.app.ID))
	su.within(fixture, func(ctx context.Context) {
		_, err := fixture.Grants.Get(ctx, integrations.Access, access.Hash)
		require.ErrorIs(t, err, integrations.ErrTokenNotFound)
	})
	late := code
	late.Hash = newID()
	require.ErrorIs(t, fixture.Grants.Create(fixture.ctx(), late, nil), integrations.ErrAppNotFound, "no authorization")
	grant.ID = newID()
	late.GrantID = grant.ID
	require.ErrorIs(t, fixture.Grants.Create(fixture.ctx(), late, &grant), integrations.ErrAppNotFound)
	require.ErrorIs(t,
		fixture.Consents.Upsert(fixture.ctx(), integrations.Consent{UserID: newID(), AppID: fixture.app.ID, GivenAt: fixture.now()}),
		integrations.ErrAppNotFound)
}

// retention checks that expired authorizations are deleted, and that expired tokens of another
// authorization are deleted before it.
func (su grantSuite) retention(t *testing.T) {
	fixture := newIntegrationsFixture(t, su.open)
	me, now := newID(), fixture.now()
	for range 3 {
		grant, _ := fixture.grant(fixture.app, me, now)
		fixture.issue(grant, integrations.Refresh, now)
	}
	last, _ := fixture.grant(fixture.app, me, now.Add(time.Hour))
	fixture.issue(last, integrations.Access, now)
	refresh := fixture.issue(last, integrations.Refresh, now.Add(2*time.Hour))
	before := now.Add(90 * time.Minute)
	for _, n := range []int{2, 1, 0} {
		fixture.deleteBefore(integrations.GrantsKind, before, 2, n)
	}
	for _, n := range []int{2, 0} { // of the last one, whose code and access token have expired
		fixture.deleteBefore(integrations.TokensKind, before, 2, n)
	}
	_, err := fixture.Grants.Get(fixture.ctx(), integrations.Refresh, refresh.Hash)
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

// allowed returns the consents of the users to the application, to all if it is empty.
func (su consentSuite) allowed(
	fixture *integrationsFixture,
	userIDs []string,
	appID string,
	r page.Request,
) page.Result[integrations.AppConsent] {
	fixture.t.Helper()
	out, err := fixture.Consents.List(fixture.ctx(), userIDs, appID, r)
	require.NoError(fixture.t, err)
	return out
}

// list checks that a later consent to the same application replaces the earlier one, and that
// consents are listed with the name of the application, the newest first.
func (su consentSuite) list(t *testing.T) {
	fixture := newIntegrationsFixture(t, su.open)
	app, b, me, otherID := fixture.app, fixture.application(newID()), newID(), newID()
	fixture.consent(me, app.ID, integrations.ApplicationsWrite)
	mine := fixture.consent(me, app.ID, integrations.JobsRead, integrations.ApplicationsRead)
	more := fixture.consent(me, b.ID, integrations.JobsRead)
	fixture.consent(otherID, app.ID, integrations.JobsRead)
	require.Equal(t, mine, su.allowed(fixture, []string{me}, app.ID, firstHundred).Items[0].Consent, "the later one")
	first := su.allowed(fixture, []string{me}, "", page.Request{Number: 1, Size: 1})
	require.Equal(t, []integrations.AppConsent{{Consent: more, Name: b.Name, Description: b.Description}}, first.Items)
	require.Equal(t, 2, first.Total)
	rest := su.allowed(fixture, []string{me}, "", page.Request{Number: 2, Size: 1, Cursor: first.NextCursor})
	require.Len(t, rest.Items, 1)
	require.Equal(t, mine, rest.Items[0].Consent)
	require.Empty(t, rest.NextCursor)
	_, err := fixture.Consents.List(fixture.ctx(), []string{me}, "", page.Request{Number: 1, Size: 1, Cursor: "x"})
	require.Error(t, err)
	require.Empty(t, su.allowed(fixture, []string{newID()}, "", firstHundred).Items)
	require.Empty(t, su.allowed(fixture, nil, "", firstHundred).Items, "no user")
}

// listOfManyUsers checks a list of 700 users, for the members of a large organization.
func (su consentSuite) listOfManyUsers(t *testing.T) {
	fixture := newIntegrationsFixture(t, su.open)
	otherApp := fixture.application(newID())
	var users []string
	for range 700 {
		users = append(users, newID())
	}
	fixture.consent(users[3], fixture.app.ID, integrations.JobsRead)
	fixture.consent(users[650], fixture.app.ID, integrations.JobsRead)
	fixture.consent(users[4], otherApp.ID, integrations.JobsRead)
	fixture.consent(newID(), fixture.app.ID, integrations.JobsRead)
	var found []string
	for _, c := range su.allowed(fixture, users, fixture.app.ID, firstHundred).Items {
		found = append(found, c.UserID)
	}
	require.ElementsMatch(t, []string{users[3], users[650]}, found)
	require.Len(t, su.allowed(fixture, users, fixture.app.ID, page.Request{Number: 1, Size: 1}).Items, 1)
	require.Len(t, su.allowed(fixture, users, "", firstHundred).Items, 3)
}

// concurrentChanges checks that List in a transaction locks the consent, so that none of ten
// concurrent changes is lost.
func (su consentSuite) concurrentChanges(t *testing.T) {
	fixture := newIntegrationsFixture(t, su.open)
	me := newID()
	fixture.consent(me, fixture.app.ID)
	together(t, 10, func(int) error {
		return fixture.Tx.Do(fixture.ctx(), func(ctx context.Context) error {
			found, err := fixture.Consents.List(ctx, []string{me}, fixture.app.ID, firstHundred)
			if err != nil {
				return err
			}
			c := found.Items[0].Consent
			c.Scopes = append(c.Scopes, integrations.JobsRead)
			return fixture.Consents.Upsert(ctx, c)
		})
	})
	require.Len(t, su.allowed(fixture, []string{me}, fixture.app.ID, firstHundred).Items[0].Scopes, 10)
}

// delete checks that a deleted consent ends the tokens of the same user for the application.
func (su consentSuite) delete(t *testing.T) {
	fixture := newIntegrationsFixture(t, su.open)
	app, b, me, otherID, now := fixture.app, fixture.application(newID()), newID(), newID(), fixture.now()
	fixture.consent(me, app.ID, integrations.JobsRead)
	fixture.consent(me, b.ID, integrations.JobsRead)
	theirs := fixture.consent(otherID, app.ID, integrations.JobsRead)
	_, deleted := fixture.grant(app, me, now)
	_, kept := fixture.grant(b, me, now)
	_, foreign := fixture.grant(app, otherID, now)
	for _, want := range []int{1, 0} {
		n, err := fixture.Consents.Delete(fixture.ctx(), me, integrations.ConsentFilter{AppID: app.ID})
		require.NoError(t, err)
		require.Equal(t, want, n)
	}
	require.Empty(t, su.allowed(fixture, []string{me}, app.ID, firstHundred).Items)
	_, err := fixture.Grants.Get(fixture.ctx(), integrations.Code, deleted.Hash)
	require.ErrorIs(t, err, integrations.ErrTokenNotFound)
	for _, token := range []integrations.Token{kept, foreign} {
		_, err = fixture.Grants.Get(fixture.ctx(), integrations.Code, token.Hash)
		require.NoError(t, err)
	}
	n, err := fixture.Consents.Delete(fixture.ctx(), me, integrations.ConsentFilter{})
	require.NoError(t, err)
	require.Equal(t, 1, n)
	_, err = fixture.Grants.Get(fixture.ctx(), integrations.Code, kept.Hash)
	require.ErrorIs(t, err, integrations.ErrTokenNotFound)
	require.Equal(t, theirs, su.allowed(fixture, []string{otherID}, app.ID, firstHundred).Items[0].Consent)
}

// deleteByTime checks that consents and tokens from before a time are deleted, and not those
// from that time on.
func (su consentSuite) deleteByTime(t *testing.T) {
	fixture := newIntegrationsFixture(t, su.open)
	otherApp, me := fixture.application(newID()), newID()
	fixture.consent(me, fixture.app.ID, integrations.JobsRead)
	_, old := fixture.grant(otherApp, me, fixture.now())
	fixture.clk.Advance(time.Minute)
	kept := fixture.consent(me, otherApp.ID, integrations.JobsRead)
	_, recent := fixture.grant(otherApp, me, fixture.now())
	n, err := fixture.Consents.Delete(fixture.ctx(), me, integrations.ConsentFilter{Before: fixture.now()})
	require.NoError(t, err)
	require.Equal(t, 1, n)
	left := su.allowed(fixture, []string{me}, "", firstHundred)
	require.Len(t, left.Items, 1)
	require.Equal(t, kept, left.Items[0].Consent)
	_, err = fixture.Grants.Get(fixture.ctx(), integrations.Code, old.Hash)
	require.ErrorIs(t, err, integrations.ErrTokenNotFound)
	_, err = fixture.Grants.Get(fixture.ctx(), integrations.Code, recent.Hash)
	require.NoError(t, err)
}
