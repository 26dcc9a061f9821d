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
	suite := grantSuite{open}
	t.Run("get by hash and kind", suite.getByHashAndKind)
	t.Run("concurrent use", suite.concurrentUse)
	t.Run("use and end", suite.useAndEnd)
	t.Run("deleted application", suite.deletedApplication)
	t.Run("retention", suite.retention)
}

// grantSuite has the subtests of Grants.
type grantSuite struct {
	open IntegrationsOpener
}

// within calls fn once without and once inside a transaction.
func (suite grantSuite) within(fixture *integrationsFixture, fn func(ctx context.Context)) {
	fn(fixture.ctx())
	require.NoError(fixture.t, fixture.Tx.Do(fixture.ctx(), func(ctx context.Context) error { fn(ctx); return nil }))
}

// getByHashAndKind checks that a token is found as its own kind only: a refresh token is not an
// access token.
func (suite grantSuite) getByHashAndKind(t *testing.T) {
	fixture := newIntegrationsFixture(t, suite.open)
	grant, code := fixture.createGrant(fixture.app, newID(), fixture.now())
	access := fixture.createToken(grant, integrations.Access, fixture.now())
	suite.within(fixture, func(ctx context.Context) {
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
func (suite grantSuite) concurrentUse(t *testing.T) {
	fixture := newIntegrationsFixture(t, suite.open)

	grant, code := fixture.createGrant(fixture.app, newID(), fixture.now())
	for _, token := range []integrations.Token{code, fixture.createToken(grant, integrations.Refresh, fixture.now())} {
		require.Equal(t, 1, countConcurrent(t, 20, func(int) (wasUsed bool, err error) {
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
func (suite grantSuite) useAndEnd(t *testing.T) {
	fixture := newIntegrationsFixture(t, suite.open)
	userID, now := newID(), fixture.now()
	grant, code := fixture.createGrant(fixture.app, userID, now)
	other, _ := fixture.createGrant(fixture.app, userID, now)
	access := fixture.createToken(grant, integrations.Access, now)
	refresh := fixture.createToken(grant, integrations.Refresh, now)
	theirs := fixture.createToken(other, integrations.Access, now)
	active := func(token integrations.Token) bool {
		issued, err := fixture.Grants.Get(fixture.ctx(), token.Kind, token.Hash)
		require.NoError(t, err)
		return issued.Token.Active(issued.Grant, now)
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
func (suite grantSuite) deletedApplication(t *testing.T) {
	fixture := newIntegrationsFixture(t, suite.open)
	grant, code := fixture.createGrant(fixture.app, newID(), fixture.now())
	access := fixture.createToken(grant, integrations.Access, fixture.now())
	require.NoError(t, fixture.Apps.Delete(fixture.ctx(), fixture.app.OwnerID, fixture.app.ID))

	suite.within(fixture, func(ctx context.Context) {
		_, err := fixture.Grants.Get(ctx, integrations.Access, access.Hash)
		require.ErrorIs(t, err, integrations.ErrTokenNotFound)
	})

	token := code
	token.Hash = newID()
	require.ErrorIs(t, fixture.Grants.Create(fixture.ctx(), token, nil), integrations.ErrAppNotFound,
		"no authorization")

	grant.ID = newID()
	token.GrantID = grant.ID
	require.ErrorIs(t, fixture.Grants.Create(fixture.ctx(), token, &grant), integrations.ErrAppNotFound)
	require.ErrorIs(t,
		fixture.Consents.Upsert(fixture.ctx(),
			integrations.Consent{UserID: newID(), AppID: fixture.app.ID, GivenAt: fixture.now()}),
		integrations.ErrAppNotFound)
}

// retention checks that expired authorizations are deleted, and that expired tokens of another
// authorization are deleted before it.
func (suite grantSuite) retention(t *testing.T) {
	fixture := newIntegrationsFixture(t, suite.open)

	userID, now := newID(), fixture.now()
	for range 3 {
		grant, _ := fixture.createGrant(fixture.app, userID, now)
		fixture.createToken(grant, integrations.Refresh, now)
	}

	last, _ := fixture.createGrant(fixture.app, userID, now.Add(time.Hour))
	fixture.createToken(last, integrations.Access, now)

	refresh := fixture.createToken(last, integrations.Refresh, now.Add(2*time.Hour))

	before := now.Add(90 * time.Minute)
	for _, want := range []int{2, 1, 0} {
		fixture.deleteBefore(integrations.GrantsKind, before, 2, want)
	}

	for _, want := range []int{2, 0} { // of the last one, whose code and access token have expired
		fixture.deleteBefore(integrations.TokensKind, before, 2, want)
	}

	_, err := fixture.Grants.Get(fixture.ctx(), integrations.Refresh, refresh.Hash)
	require.NoError(t, err)
}

// Consents checks the port integrations.Consents.
func Consents(t *testing.T, open IntegrationsOpener) {
	suite := consentSuite{open}
	t.Run("list", suite.list)
	t.Run("list of many users", suite.listOfManyUsers)
	t.Run("concurrent changes", suite.concurrentChanges)
	t.Run("delete", suite.delete)
	t.Run("delete by time", suite.deleteByTime)
}

// consentSuite has the subtests of Consents.
type consentSuite struct {
	open IntegrationsOpener
}

// allowed returns the consents of the users to the application, to all if it is empty.
func (suite consentSuite) allowed(
	fixture *integrationsFixture,
	userIDs []string,
	appID string,
	request page.Request,
) page.Result[integrations.AppConsent] {
	fixture.t.Helper()

	result, err := fixture.Consents.List(fixture.ctx(), userIDs, appID, request)
	require.NoError(fixture.t, err)

	return result
}

// list checks that a later consent to the same application replaces the earlier one, and that
// consents are listed with the name of the application, the newest first.
func (suite consentSuite) list(t *testing.T) {
	fixture := newIntegrationsFixture(t, suite.open)
	app, otherApp, userID, otherID := fixture.app, fixture.createApp(newID()), newID(), newID()
	fixture.createConsent(userID, app.ID, integrations.ApplicationsWrite)

	mine := fixture.createConsent(userID, app.ID, integrations.JobsRead, integrations.ApplicationsRead)
	newer := fixture.createConsent(userID, otherApp.ID, integrations.JobsRead)
	fixture.createConsent(otherID, app.ID, integrations.JobsRead)
	require.Equal(t, mine, suite.allowed(fixture, []string{userID}, app.ID, firstHundred).Items[0].Consent,
		"the later one")

	first := suite.allowed(fixture, []string{userID}, "", page.Request{Number: 1, Size: 1})
	require.Equal(t,
		[]integrations.AppConsent{{Consent: newer, Name: otherApp.Name, Description: otherApp.Description}}, first.Items)
	require.Equal(t, 2, first.Total)

	second := suite.allowed(fixture, []string{userID}, "", page.Request{Number: 2, Size: 1, Cursor: first.NextCursor})
	require.Len(t, second.Items, 1)
	require.Equal(t, mine, second.Items[0].Consent)
	require.Empty(t, second.NextCursor)

	_, err := fixture.Consents.List(fixture.ctx(), []string{userID}, "", page.Request{Number: 1, Size: 1, Cursor: "x"})
	require.Error(t, err)
	require.Empty(t, suite.allowed(fixture, []string{newID()}, "", firstHundred).Items)
	require.Empty(t, suite.allowed(fixture, nil, "", firstHundred).Items, "no user")
}

// listOfManyUsers checks a list of 700 users, for the members of a large organization.
func (suite consentSuite) listOfManyUsers(t *testing.T) {
	fixture := newIntegrationsFixture(t, suite.open)
	otherApp := fixture.createApp(newID())

	var users []string
	for range 700 {
		users = append(users, newID())
	}

	fixture.createConsent(users[3], fixture.app.ID, integrations.JobsRead)
	fixture.createConsent(users[650], fixture.app.ID, integrations.JobsRead)
	fixture.createConsent(users[4], otherApp.ID, integrations.JobsRead)
	fixture.createConsent(newID(), fixture.app.ID, integrations.JobsRead)

	var found []string
	for _, c := range suite.allowed(fixture, users, fixture.app.ID, firstHundred).Items {
		found = append(found, c.UserID)
	}

	require.ElementsMatch(t, []string{users[3], users[650]}, found)
	require.Len(t, suite.allowed(fixture, users, fixture.app.ID, page.Request{Number: 1, Size: 1}).Items, 1)
	require.Len(t, suite.allowed(fixture, users, "", firstHundred).Items, 3)
}

// concurrentChanges checks that List in a transaction locks the consent, so that none of ten
// concurrent changes is lost.
func (suite consentSuite) concurrentChanges(t *testing.T) {
	fixture := newIntegrationsFixture(t, suite.open)
	userID := newID()
	fixture.createConsent(userID, fixture.app.ID)

	runConcurrently(t, 10, func(int) error {
		return fixture.Tx.Do(fixture.ctx(), func(ctx context.Context) error {
			found, err := fixture.Consents.List(ctx, []string{userID}, fixture.app.ID, firstHundred)
			if err != nil {
				return err
			}

			consent := found.Items[0].Consent
			consent.Scopes = append(consent.Scopes, integrations.JobsRead)

			return fixture.Consents.Upsert(ctx, consent)
		})
	})

	require.Len(t, suite.allowed(fixture, []string{userID}, fixture.app.ID, firstHundred).Items[0].Scopes, 10)
}

// delete checks that a deleted consent ends the tokens of the same user for the application.
func (suite consentSuite) delete(t *testing.T) {
	fixture := newIntegrationsFixture(t, suite.open)
	app, otherApp, userID, otherID, now := fixture.app, fixture.createApp(newID()), newID(), newID(), fixture.now()
	fixture.createConsent(userID, app.ID, integrations.JobsRead)
	fixture.createConsent(userID, otherApp.ID, integrations.JobsRead)

	theirs := fixture.createConsent(otherID, app.ID, integrations.JobsRead)
	_, deleted := fixture.createGrant(app, userID, now)
	_, kept := fixture.createGrant(otherApp, userID, now)

	_, foreign := fixture.createGrant(app, otherID, now)
	for _, want := range []int{1, 0} {
		n, err := fixture.Consents.Delete(fixture.ctx(), userID, integrations.ConsentFilter{AppID: app.ID})
		require.NoError(t, err)
		require.Equal(t, want, n)
	}

	require.Empty(t, suite.allowed(fixture, []string{userID}, app.ID, firstHundred).Items)

	_, err := fixture.Grants.Get(fixture.ctx(), integrations.Code, deleted.Hash)
	require.ErrorIs(t, err, integrations.ErrTokenNotFound)

	for _, token := range []integrations.Token{kept, foreign} {
		_, err = fixture.Grants.Get(fixture.ctx(), integrations.Code, token.Hash)
		require.NoError(t, err)
	}

	n, err := fixture.Consents.Delete(fixture.ctx(), userID, integrations.ConsentFilter{})
	require.NoError(t, err)
	require.Equal(t, 1, n)

	_, err = fixture.Grants.Get(fixture.ctx(), integrations.Code, kept.Hash)
	require.ErrorIs(t, err, integrations.ErrTokenNotFound)
	require.Equal(t, theirs, suite.allowed(fixture, []string{otherID}, app.ID, firstHundred).Items[0].Consent)
}

// deleteByTime checks that consents and tokens from before a time are deleted, and not those
// from that time on.
func (suite consentSuite) deleteByTime(t *testing.T) {
	fixture := newIntegrationsFixture(t, suite.open)
	otherApp, userID := fixture.createApp(newID()), newID()
	fixture.createConsent(userID, fixture.app.ID, integrations.JobsRead)

	_, old := fixture.createGrant(otherApp, userID, fixture.now())
	fixture.clk.Advance(time.Minute)

	kept := fixture.createConsent(userID, otherApp.ID, integrations.JobsRead)
	_, recent := fixture.createGrant(otherApp, userID, fixture.now())
	n, err := fixture.Consents.Delete(fixture.ctx(), userID, integrations.ConsentFilter{Before: fixture.now()})
	require.NoError(t, err)
	require.Equal(t, 1, n)

	remaining := suite.allowed(fixture, []string{userID}, "", firstHundred)
	require.Len(t, remaining.Items, 1)
	require.Equal(t, kept, remaining.Items[0].Consent)

	_, err = fixture.Grants.Get(fixture.ctx(), integrations.Code, old.Hash)
	require.ErrorIs(t, err, integrations.ErrTokenNotFound)

	_, err = fixture.Grants.Get(fixture.ctx(), integrations.Code, recent.Hash)
	require.NoError(t, err)
}
