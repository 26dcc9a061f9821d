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

// within calls fn twice, first without a transaction and then inside one, because Get locks rows in a transaction and so
// may use another query.
func (suite grantSuite) within(fixture *integrationsFixture, fn func(ctx context.Context)) {
	fn(fixture.ctx())
	require.NoError(fixture.t, fixture.Tx.Do(fixture.ctx(), func(ctx context.Context) error { fn(ctx); return nil }))
}

// getByHashAndKind checks that a token is found by its hash together with its own kind only: an access token is not
// found as a refresh token. It is returned with its authorization and application.
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

		for hash, wrongKind := range map[string]integrations.TokenKind{
			access.Hash:    integrations.Refresh,
			code.Hash:      integrations.Access,
			"unknown hash": integrations.Code,
		} {
			_, err := fixture.Grants.Get(ctx, wrongKind, hash)
			require.ErrorIs(t, err, integrations.ErrTokenNotFound)
		}
	})
}

// concurrentUse checks that only one of twenty transactions can use a code or a refresh token. Each transaction first
// reads the token, as the service does. The time of the use is stored.
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
		require.Equal(t, 1, uses, "uses of the %s", token.Kind)

		found, err := fixture.Grants.Get(fixture.ctx(), token.Kind, token.Hash)
		require.NoError(t, err)
		require.Equal(t, fixture.now(), *found.Token.UsedAt)
	}
}

// useAndEnd checks which tokens are active after Use and End. The use of a token ends it and the access tokens of its
// authorization, because the application gets new ones. End ends all tokens of an authorization. Tokens of another
// authorization of the same user stay active.
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
		return issued.Token.IsActive(issued.Grant, now)
	}

	wasUsed, err := fixture.Grants.Use(fixture.ctx(), otherGrant.ID, code.Hash, now)
	require.NoError(t, err)
	require.False(t, wasUsed, "a token of another authorization")
	require.True(t, isActive(access), "no token was used")

	// The code is used.
	wasUsed, err = fixture.Grants.Use(fixture.ctx(), grant.ID, code.Hash, now)
	require.NoError(t, err)
	require.True(t, wasUsed, "the first use of the code")
	require.False(t, isActive(code), "the code after its use")
	require.False(t, isActive(access), "an earlier access token")
	require.True(t, isActive(refresh), "a refresh token that was not used")

	// The authorization ends. A second call does not change the time of its end.
	require.NoError(t, fixture.Grants.End(fixture.ctx(), grant.ID, now))
	require.NoError(t, fixture.Grants.End(fixture.ctx(), grant.ID, now.Add(time.Hour)))
	require.False(t, isActive(refresh), "a token of the ended authorization")
	require.True(t, isActive(accessOfOther), "a token of another authorization")

	ended, err := fixture.Grants.Get(fixture.ctx(), integrations.Refresh, refresh.Hash)
	require.NoError(t, err)
	require.Equal(t, now, *ended.Grant.EndedAt)
}

// deletedApplication checks that the tokens of a deleted application are not found, and that no token, authorization or
// consent can be stored for it afterwards. A request that has read the application before its deletion may try that.
func (suite grantSuite) deletedApplication(t *testing.T) {
	fixture := newIntegrationsFixture(t, suite.open)
	grant, code := fixture.createGrant(fixture.app, newID(), fixture.now())
	access := fixture.createToken(grant, integrations.Access, fixture.now())
	require.NoError(t, fixture.Apps.Delete(fixture.ctx(), fixture.app.OwnerID, fixture.app.ID))

	suite.within(fixture, func(ctx context.Context) {
		_, err := fixture.Grants.Get(ctx, integrations.Access, access.Hash)
		require.ErrorIs(t, err, integrations.ErrTokenNotFound)
	})

	// Another token of the deleted authorization.
	var noNewGrant *integrations.Grant

	token := code
	token.Hash = newID()
	require.ErrorIs(t, fixture.Grants.Create(fixture.ctx(), token, noNewGrant), integrations.ErrAppNotFound)

	// A token with a new authorization.
	grant.ID = newID()
	token.GrantID = grant.ID
	require.ErrorIs(t, fixture.Grants.Create(fixture.ctx(), token, &grant), integrations.ErrAppNotFound)

	// A consent.
	require.ErrorIs(t,
		fixture.Consents.Upsert(fixture.ctx(),
			integrations.Consent{UserID: newID(), AppID: fixture.app.ID, GivenAt: fixture.now()}),
		integrations.ErrAppNotFound)
}

// retention checks that expired authorizations are deleted with their tokens. Of an authorization that is valid, only
// the expired tokens are deleted. Those of the fixture expire an hour after their time, and tokens after a minute.
func (suite grantSuite) retention(t *testing.T) {
	fixture := newIntegrationsFixture(t, suite.open)

	userID, now := newID(), fixture.now()
	bound := now.Add(90 * time.Minute)

	// Three authorizations have expired at the bound.
	for range 3 {
		grant, _ := fixture.createGrant(fixture.app, userID, now)
		fixture.createToken(grant, integrations.Refresh, now)
	}

	// One is valid. Its code and access token have expired, and its refresh token has not.
	kept, _ := fixture.createGrant(fixture.app, userID, now.Add(time.Hour))
	fixture.createToken(kept, integrations.Access, now)

	refresh := fixture.createToken(kept, integrations.Refresh, now.Add(2*time.Hour))

	// Calls with a limit of two delete two, one and none of the three authorizations.
	const limit = 2
	for _, wantDeleted := range []int{2, 1, 0} {
		fixture.deleteBefore(integrations.GrantsKind, bound, limit, wantDeleted)
	}

	// The next calls delete the two expired tokens of the valid one.
	for _, wantDeleted := range []int{2, 0} {
		fixture.deleteBefore(integrations.TokensKind, bound, limit, wantDeleted)
	}

	_, err := fixture.Grants.Get(fixture.ctx(), integrations.Refresh, refresh.Hash)
	require.NoError(t, err, "the valid token")
}

// Consents checks the port integrations.Consents. With a consent, a user permits an application to use scopes, such as to
// read applications. A user has at most one consent to each application.
func Consents(t *testing.T, open IntegrationsOpener) {
	suite := consentSuite{open}
	t.Run("list", suite.listNewestFirst)
	t.Run("list of many users", suite.listOfManyUsers)
	t.Run("concurrent changes", suite.concurrentChanges)
	t.Run("delete", suite.delete)
	t.Run("delete by time", suite.deleteByTime)
}

// consentSuite has the subtests of Consents.
type consentSuite struct {
	open IntegrationsOpener
}

// anyApp is the empty id of an application. It selects consents to all applications.
const anyApp = ""

// consents returns a page of the users' consents to the application.
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

// listNewestFirst checks that consents are listed with the name and description of the application, the newest first. A
// later consent to the same application replaces the earlier one.
func (suite consentSuite) listNewestFirst(t *testing.T) {
	fixture := newIntegrationsFixture(t, suite.open)
	app, otherApp, userID, otherID := fixture.app, fixture.createApp(newID()), newID(), newID()
	fixture.createConsent(userID, app.ID, integrations.ApplicationsWrite) // is replaced

	older := fixture.createConsent(userID, app.ID, integrations.JobsRead, integrations.ApplicationsRead)
	newer := fixture.createConsent(userID, otherApp.ID, integrations.JobsRead)
	fixture.createConsent(otherID, app.ID, integrations.JobsRead)
	require.Equal(t, older, suite.consents(fixture, []string{userID}, app.ID, firstHundred).Items[0].Consent,
		"the consent that has replaced another one")

	// Pages of one contain both consents of the user.
	first := suite.consents(fixture, []string{userID}, anyApp, page.Request{Number: 1, Size: 1})
	require.Equal(t,
		[]integrations.AppConsent{{Consent: newer, Name: otherApp.Name, Description: otherApp.Description}}, first.Items)
	require.Equal(t, 2, first.Total)

	second := suite.consents(fixture, []string{userID}, anyApp, page.Request{Number: 2, Size: 1, Cursor: first.NextCursor})
	require.Len(t, second.Items, 1)
	require.Equal(t, older, second.Items[0].Consent)
	require.Empty(t, second.NextCursor, "the last page")

	// An unknown cursor, a user without consents, and no user.
	_, err := fixture.Consents.List(fixture.ctx(), []string{userID}, anyApp, page.Request{Number: 1, Size: 1, Cursor: "x"})
	require.Error(t, err)
	require.Empty(t, suite.consents(fixture, []string{newID()}, anyApp, firstHundred).Items)
	require.Empty(t, suite.consents(fixture, nil, anyApp, firstHundred).Items)
}

// listOfManyUsers checks the list of the consents of 700 users, such as the members of a large organization. Three of
// them have given a consent.
func (suite consentSuite) listOfManyUsers(t *testing.T) {
	fixture := newIntegrationsFixture(t, suite.open)
	otherApp := fixture.createApp(newID())

	users := newIDs(700)
	early, late, toOtherApp := users[3], users[650], users[4]
	fixture.createConsent(early, fixture.app.ID, integrations.JobsRead)
	fixture.createConsent(late, fixture.app.ID, integrations.JobsRead)
	fixture.createConsent(toOtherApp, otherApp.ID, integrations.JobsRead)
	fixture.createConsent(newID(), fixture.app.ID, integrations.JobsRead) // not one of the users

	var found []string
	for _, consent := range suite.consents(fixture, users, fixture.app.ID, firstHundred).Items {
		found = append(found, consent.UserID)
	}

	require.ElementsMatch(t, []string{early, late}, found)
	require.Len(t, suite.consents(fixture, users, fixture.app.ID, page.Request{Number: 1, Size: 1}).Items, 1)
	require.Len(t, suite.consents(fixture, users, anyApp, firstHundred).Items, 3)
}

// concurrentChanges checks that List in a transaction locks the consent, so that none of ten concurrent changes is
// lost. Each change adds a scope.
func (suite consentSuite) concurrentChanges(t *testing.T) {
	const changes = 10

	fixture := newIntegrationsFixture(t, suite.open)
	userID := newID()
	fixture.createConsent(userID, fixture.app.ID) // without scopes

	runConcurrently(t, changes, func(int) error {
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

	require.Len(t, suite.consents(fixture, []string{userID}, fixture.app.ID, firstHundred).Items[0].Scopes, changes)
}

// delete checks that the deletion of a consent also deletes the tokens of the same user for the application. Tokens of
// the user for another application, and those of another user, stay.
func (suite consentSuite) delete(t *testing.T) {
	fixture := newIntegrationsFixture(t, suite.open)
	app, otherApp, userID, otherID, now := fixture.app, fixture.createApp(newID()), newID(), newID(), fixture.now()
	fixture.createConsent(userID, app.ID, integrations.JobsRead)
	fixture.createConsent(userID, otherApp.ID, integrations.JobsRead)

	ofOther := fixture.createConsent(otherID, app.ID, integrations.JobsRead)
	_, code := fixture.createGrant(app, userID, now)
	_, codeOfOtherApp := fixture.createGrant(otherApp, userID, now)
	_, codeOfOtherUser := fixture.createGrant(app, otherID, now)

	// The consent to one application is deleted. The second call finds none.
	for _, wantDeleted := range []int{1, 0} {
		deleted, err := fixture.Consents.Delete(fixture.ctx(), userID, integrations.ConsentFilter{AppID: app.ID})
		require.NoError(t, err)
		require.Equal(t, wantDeleted, deleted)
	}

	require.Empty(t, suite.consents(fixture, []string{userID}, app.ID, firstHundred).Items)

	_, err := fixture.Grants.Get(fixture.ctx(), integrations.Code, code.Hash)
	require.ErrorIs(t, err, integrations.ErrTokenNotFound)

	for _, token := range []integrations.Token{codeOfOtherApp, codeOfOtherUser} {
		_, err = fixture.Grants.Get(fixture.ctx(), integrations.Code, token.Hash)
		require.NoError(t, err)
	}

	// An empty filter deletes all remaining consents of the user, with their tokens.
	deleted, err := fixture.Consents.Delete(fixture.ctx(), userID, integrations.ConsentFilter{})
	require.NoError(t, err)
	require.Equal(t, 1, deleted)

	_, err = fixture.Grants.Get(fixture.ctx(), integrations.Code, codeOfOtherApp.Hash)
	require.ErrorIs(t, err, integrations.ErrTokenNotFound)
	require.Equal(t, ofOther, suite.consents(fixture, []string{otherID}, app.ID, firstHundred).Items[0].Consent)
}

// deleteByTime checks that consents and authorizations from before a time are deleted with their tokens, and those from
// exactly that time are kept.
func (suite consentSuite) deleteByTime(t *testing.T) {
	fixture := newIntegrationsFixture(t, suite.open)
	otherApp, userID := fixture.createApp(newID()), newID()
	fixture.createConsent(userID, fixture.app.ID, integrations.JobsRead)

	_, oldCode := fixture.createGrant(otherApp, userID, fixture.now())
	fixture.clk.Advance(time.Minute)

	kept := fixture.createConsent(userID, otherApp.ID, integrations.JobsRead)
	_, recentCode := fixture.createGrant(otherApp, userID, fixture.now())
	deleted, err := fixture.Consents.Delete(fixture.ctx(), userID, integrations.ConsentFilter{Before: fixture.now()})
	require.NoError(t, err)
	require.Equal(t, 1, deleted)

	remaining := suite.consents(fixture, []string{userID}, anyApp, firstHundred)
	require.Len(t, remaining.Items, 1)
	require.Equal(t, kept, remaining.Items[0].Consent)

	_, err = fixture.Grants.Get(fixture.ctx(), integrations.Code, oldCode.Hash)
	require.ErrorIs(t, err, integrations.ErrTokenNotFound)

	_, err = fixture.Grants.Get(fixture.ctx(), integrations.Code, recentCode.Hash)
	require.NoError(t, err)
}
