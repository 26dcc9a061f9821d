package conformance

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/modules/integrations"
)

// Grants checks the port integrations.Grants. A grant is an authorization that a user has given to an application by
// OAuth. It has a code, which the application exchanges once for tokens, and access and refresh tokens.
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

// concurrentUse checks that a code or refresh token can be used by only one of twenty transactions.
func (suite grantSuite) concurrentUse(t *testing.T) {
	fixture := newIntegrationsFixture(t, suite.open)
	grant, code := fixture.createGrant(fixture.app, newID(), fixture.now())
	refresh := fixture.createToken(grant, integrations.Refresh, fixture.now())

	for _, token := range []integrations.Token{code, refresh} {
		uses := countConcurrent(t, 20, func(int) (wasUsed bool, err error) {
			err = fixture.Tx.Do(fixture.ctx(), func(ctx context.Context) error {
				if _, err := fixture.Grants.Get(ctx, token.Kind, token.Hash); err != nil {
					return err
				}

				wasUsed, err = fixture.Grants.Use(ctx, grant.ID, token.Hash, fixture.now())

				return err
			})

			return wasUsed, err
		})
		require.Equal(t, 1, uses)

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
	otherGrant, _ := fixture.createGrant(fixture.app, userID, now)
	access := fixture.createToken(grant, integrations.Access, now)
	refresh := fixture.createToken(grant, integrations.Refresh, now)
	accessOfOther := fixture.createToken(otherGrant, integrations.Access, now)
	isActive := func(token integrations.Token) bool {
		issued, err := fixture.Grants.Get(fixture.ctx(), token.Kind, token.Hash)
		require.NoError(t, err)
		return issued.Token.Active(issued.Grant, now)
	}

	wasUsed, err := fixture.Grants.Use(fixture.ctx(), otherGrant.ID, code.Hash, now)
	require.NoError(t, err)
	require.False(t, wasUsed, "a token of another authorization")
	require.True(t, isActive(access))

	// The code is used.
	wasUsed, err = fixture.Grants.Use(fixture.ctx(), grant.ID, code.Hash, now)
	require.NoError(t, err)
	require.True(t, wasUsed)
	require.False(t, isActive(code))
	require.False(t, isActive(access))
	require.True(t, isActive(refresh))

	// The authorization ends. A second call does not change the time of its end.
	require.NoError(t, fixture.Grants.End(fixture.ctx(), grant.ID, now))
	require.NoError(t, fixture.Grants.End(fixture.ctx(), grant.ID, now.Add(time.Hour)))
	require.False(t, isActive(refresh))
	require.True(t, isActive(accessOfOther))

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

	// A token for the deleted authorization, one with a new authorization, and a consent.
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

	// Three authorizations whose tokens have all expired, and one whose refresh token is still valid.
	for range 3 {
		grant, _ := fixture.createGrant(fixture.app, userID, now)
		fixture.createToken(grant, integrations.Refresh, now)
	}

	last, _ := fixture.createGrant(fixture.app, userID, now.Add(time.Hour))
	fixture.createToken(last, integrations.Access, now)

	refresh := fixture.createToken(last, integrations.Refresh, now.Add(2*time.Hour))

	// Calls with a limit of two delete the three authorizations, and then the code and the access token of the last.
	before := now.Add(90 * time.Minute)
	for _, want := range []int{2, 1, 0} {
		fixture.deleteBefore(integrations.GrantsKind, before, 2, want)
	}

	for _, want := range []int{2, 0} {
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

// consents returns a page of the users' consents to the application, or to all applications if the id is empty.
func (suite consentSuite) consents(
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
	fixture.createConsent(userID, app.ID, integrations.ApplicationsWrite) // is replaced

	mine := fixture.createConsent(userID, app.ID, integrations.JobsRead, integrations.ApplicationsRead)
	newer := fixture.createConsent(userID, otherApp.ID, integrations.JobsRead)
	fixture.createConsent(otherID, app.ID, integrations.JobsRead)
	require.Equal(t, mine, suite.consents(fixture, []string{userID}, app.ID, firstHundred).Items[0].Consent,
		"the later one")

	first := suite.consents(fixture, []string{userID}, "", page.Request{Number: 1, Size: 1})
	require.Equal(t,
		[]integrations.AppConsent{{Consent: newer, Name: otherApp.Name, Description: otherApp.Description}}, first.Items)
	require.Equal(t, 2, first.Total)

	second := suite.consents(fixture, []string{userID}, "", page.Request{Number: 2, Size: 1, Cursor: first.NextCursor})
	require.Len(t, second.Items, 1)
	require.Equal(t, mine, second.Items[0].Consent)
	require.Empty(t, second.NextCursor)

	_, err := fixture.Consents.List(fixture.ctx(), []string{userID}, "", page.Request{Number: 1, Size: 1, Cursor: "x"})
	require.Error(t, err)
	require.Empty(t, suite.consents(fixture, []string{newID()}, "", firstHundred).Items)
	require.Empty(t, suite.consents(fixture, nil, "", firstHundred).Items, "no user")
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
	for _, c := range suite.consents(fixture, users, fixture.app.ID, firstHundred).Items {
		found = append(found, c.UserID)
	}

	require.ElementsMatch(t, []string{users[3], users[650]}, found)
	require.Len(t, suite.consents(fixture, users, fixture.app.ID, page.Request{Number: 1, Size: 1}).Items, 1)
	require.Len(t, suite.consents(fixture, users, "", firstHundred).Items, 3)
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

	require.Len(t, suite.consents(fixture, []string{userID}, fixture.app.ID, firstHundred).Items[0].Scopes, 10)
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

	require.Empty(t, suite.consents(fixture, []string{userID}, app.ID, firstHundred).Items)

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
	require.Equal(t, theirs, suite.consents(fixture, []string{otherID}, app.ID, firstHundred).Items[0].Consent)
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

	remaining := suite.consents(fixture, []string{userID}, "", firstHundred)
	require.Len(t, remaining.Items, 1)
	require.Equal(t, kept, remaining.Items[0].Consent)

	_, err = fixture.Grants.Get(fixture.ctx(), integrations.Code, old.Hash)
	require.ErrorIs(t, err, integrations.ErrTokenNotFound)

	_, err = fixture.Grants.Get(fixture.ctx(), integrations.Code, recent.Hash)
	require.NoError(t, err)
}
