package integrations_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/event"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/modules/integrations"
	"github.com/locumhq/locum/test/kit/stores"
)

// credentials are the credentials that a user has created or allowed.
type credentials struct {
	key    string // API key of the user's own application
	access string // OAuth access token for an application of another user
	code   string // OAuth authorization code for an application of another user
	hook   integrations.WebhookPath
}

// createCredentials creates an application with a key and a webhook, and lets the user
// consent to the other application, which gets a code and an access token.
func (e *testEnv) createCredentials(t *testing.T, me auth.Actor, otherApp string) credentials {
	t.Helper()

	app := e.createApp(t, me)
	key, _ := e.createKey(t, me, app.ID)
	endpoint, _, err := e.CreateWebhook(t.Context(), me, app.ID, integrations.WebhookInput{
		URL:    receiverURL,
		Events: []string{"job.closed"},
	})
	require.NoError(t, err)

	return credentials{
		key:    key,
		hook:   integrations.WebhookPath{AppID: app.ID, ID: endpoint.ID},
		access: e.issueTokens(t, me, otherApp).Access,
		code:   e.issueCode(t, me, otherApp),
	}
}

// usability reports which credentials can be used.
type usability struct {
	key, access, code bool
	hook              bool // the webhook is active
}

var (
	allUsable  = usability{key: true, access: true, code: true, hook: true}
	noneUsable = usability{}
)

// tryCredentials tries all credentials, and fails if one is refused for an unexpected reason.
// It does not use up the code.
func (e *testEnv) tryCredentials(t *testing.T, me auth.Actor, c credentials) usability {
	t.Helper()

	// succeeded reports whether err is nil. If not, err has to be the expected refusal.
	succeeded := func(err, refusal error) bool {
		if err != nil {
			require.ErrorIs(t, err, refusal)
		}

		return err == nil
	}

	_, keyErr := e.AuthenticateKey(t.Context(), c.key)
	_, accessErr := e.AuthenticateToken(t.Context(), c.access)
	codeErr := e.tryCode(t, c.code)
	endpoint, err := e.MyWebhook(t.Context(), me, c.hook)
	require.NoError(t, err)

	return usability{
		key:    succeeded(keyErr, fault.ErrUnauthorized),
		access: succeeded(accessErr, fault.ErrUnauthorized),
		code:   succeeded(codeErr, integrations.ErrInvalidGrant),
		hook:   endpoint.Status == integrations.EndpointActive,
	}
}

// createOtherApp creates an application of another user and returns its id.
func (e *testEnv) createOtherApp(t *testing.T) string {
	t.Helper()

	input := integrations.AppInput{Name: "Bed Finder", RedirectURIs: []string{callback}}
	app, _, err := e.CreateApp(t.Context(), e.developer(t), input)
	require.NoError(t, err)

	return app.ID
}

// TestAuthenticate_InactiveAccount_Unauthorized checks that a locked account can use neither
// its key nor a token or code, and can use all of them again when it is unlocked. Its webhook
// stays active.
func TestAuthenticate_InactiveAccount_Unauthorized(t *testing.T) {
	withWebhooks(t, func(t *testing.T, env *webhookEnv) {
		me, other := env.developer(t), env.createOtherApp(t)
		credentials := env.createCredentials(t, me, other)
		require.Equal(t, allUsable, env.tryCredentials(t, me, credentials))

		env.inactive[me.UserID] = true // locked
		require.Equal(t, usability{hook: true}, env.tryCredentials(t, me, credentials))

		_, err := env.Approve(t.Context(), me, env.authorizationRequest(t, other))
		require.ErrorIs(t, err, integrations.ErrAppNotFound)

		env.inactive[me.UserID] = false
		require.Equal(t, allUsable, env.tryCredentials(t, me, credentials))
	})
}

// TestAuthenticate_AnyCredential_LooksUpAccountOnce checks how often the account is looked up when a
// credential is checked: once for a valid one, and never for an unknown or expired token. Each
// request to the developer API takes the time of these look-ups.
func TestAuthenticate_AnyCredential_LooksUpAccountOnce(t *testing.T) {
	withWebhooks(t, func(t *testing.T, env *webhookEnv) {
		credentials := env.createCredentials(t, env.developer(t), env.createOtherApp(t))

		// A valid key.
		env.accountLookups = 0
		_, err := env.AuthenticateKey(t.Context(), credentials.key)
		require.NoError(t, err)
		require.Equal(t, 1, env.accountLookups)

		// A valid token.
		env.accountLookups = 0
		_, err = env.AuthenticateToken(t.Context(), credentials.access)
		require.NoError(t, err)
		require.Equal(t, 1, env.accountLookups)

		// An unknown token, and an expired one.
		env.accountLookups = 0
		unknown := integrations.NewToken(integrations.Access)
		_, err = env.AuthenticateToken(t.Context(), unknown)
		require.Error(t, err)
		env.clock.Advance(integrations.AccessLife)

		_, err = env.AuthenticateToken(t.Context(), credentials.access)
		require.Error(t, err)
		require.Zero(t, env.accountLookups)
	})
}

// signedOutPrograms returns the event of a password that the user has changed now, with the choice to sign
// out programs.
func (e *testEnv) signedOutPrograms(user auth.Actor) event.PasswordChanged {
	return event.PasswordChanged{UserID: user.UserID, ChangedAt: e.clock.Now(), SignedOutPrograms: true}
}

// TestOnPasswordChanged_SeparateIdentity_RevokesEarlierCredentials checks the event of a new password if
// accounts are stored in another database than the credentials (SeparateIdentity). It revokes the
// credentials that were created before the password was changed. The applications, and the credentials of
// other users, stay.
func TestOnPasswordChanged_SeparateIdentity_RevokesEarlierCredentials(t *testing.T) {
	withWebhooks(t, func(t *testing.T, env *webhookEnv) {
		env.SeparateIdentity = true
		me, foreign, otherApp := env.developer(t), env.developer(t), env.createOtherApp(t)
		mine := env.createCredentials(t, me, otherApp)
		theirs := env.createCredentials(t, foreign, otherApp)
		env.clock.Advance(time.Second)

		env.recordEvent(t, env.signedOutPrograms(me))
		require.Equal(t, noneUsable, env.tryCredentials(t, me, mine))
		require.Equal(t, allUsable, env.tryCredentials(t, foreign, theirs))

		apps, err := env.MyApps(t.Context(), me, firstPage)
		require.NoError(t, err)
		require.Len(t, apps.Items, 1)
	})
}

// TestOnPasswordChanged_ProgramsNotSignedOut_RevokesNothing checks that the credentials stay if the user
// did not choose to sign out programs with the new password. Accounts are stored in another database.
func TestOnPasswordChanged_ProgramsNotSignedOut_RevokesNothing(t *testing.T) {
	withWebhooks(t, func(t *testing.T, env *webhookEnv) {
		env.SeparateIdentity = true
		me := env.developer(t)
		credentials := env.createCredentials(t, me, env.createOtherApp(t))
		env.clock.Advance(time.Second)

		env.recordEvent(t, event.PasswordChanged{UserID: me.UserID, ChangedAt: env.clock.Now()})
		require.Equal(t, allUsable, env.tryCredentials(t, me, credentials))
	})
}

// TestOnPasswordChanged_DeliveredTwice_KeepsLaterCredentials checks that the second delivery of the event
// revokes neither credentials that were created after the change of the password, nor an earlier webhook
// that the user has activated again. Accounts are stored in another database.
func TestOnPasswordChanged_DeliveredTwice_KeepsLaterCredentials(t *testing.T) {
	withWebhooks(t, func(t *testing.T, env *webhookEnv) {
		env.SeparateIdentity = true
		me, otherApp := env.developer(t), env.createOtherApp(t)
		earlier := env.createCredentials(t, me, otherApp)
		env.clock.Advance(time.Second)

		changed := env.signedOutPrograms(me)
		env.recordEvent(t, changed)

		// A minute later the user creates other credentials, and activates the earlier webhook.
		env.clock.Advance(time.Minute)

		later := env.createCredentials(t, me, otherApp)
		active := string(integrations.EndpointActive)
		_, err := env.ChangeWebhook(t.Context(), me, earlier.hook, integrations.WebhookChange{Status: &active})
		require.NoError(t, err)

		// The second delivery revokes none of them.
		env.recordEvent(t, changed)
		require.Equal(t, allUsable, env.tryCredentials(t, me, later))

		endpoint, err := env.MyWebhook(t.Context(), me, earlier.hook)
		require.NoError(t, err)
		require.Equal(t, integrations.EndpointActive, endpoint.Status)
	})
}

// TestOnProgramsSignedOut_SeparateIdentity_RevokesEarlierCredentials checks that, if accounts
// are stored in another database, a sign-out without a new password also revokes what was
// created before it.
func TestOnProgramsSignedOut_SeparateIdentity_RevokesEarlierCredentials(t *testing.T) {
	withWebhooks(t, func(t *testing.T, env *webhookEnv) {
		env.SeparateIdentity = true
		me := env.developer(t)
		credentials := env.createCredentials(t, me, env.createOtherApp(t))
		env.clock.Advance(time.Second)
		env.recordEvent(t, event.ProgramsSignedOut{UserID: me.UserID, SignedOutAt: env.clock.Now()})
		require.Equal(t, noneUsable, env.tryCredentials(t, me, credentials))
	})
}

// TestOnPasswordChanged_SameDatabase_NoEffect checks that the events of a new password and of a
// sign-out revoke nothing if accounts are stored in the same database. There the transaction
// that stores the new password revokes the credentials itself.
func TestOnPasswordChanged_SameDatabase_NoEffect(t *testing.T) {
	withWebhooks(t, func(t *testing.T, env *webhookEnv) {
		me := env.developer(t)
		credentials := env.createCredentials(t, me, env.createOtherApp(t))
		env.clock.Advance(time.Second)
		env.recordEvent(t, env.signedOutPrograms(me))
		env.recordEvent(t, event.ProgramsSignedOut{UserID: me.UserID, SignedOutAt: env.clock.Now()})
		require.Equal(t, allUsable, env.tryCredentials(t, me, credentials))
	})
}

// accountsWithReset are accounts in another database whose password is reset while a credential
// is created: after the module has checked the session and before it commits the credential.
type accountsWithReset struct {
	integrations.Accounts
	reset func() // resets the password
}

// HoldSession implements integrations.Accounts. The module calls it to check the session.
func (r accountsWithReset) HoldSession(ctx context.Context, by auth.Actor) error {
	err := r.Accounts.HoldSession(ctx, by)
	r.reset()
	return err
}

// TestCreateKey_DuringResetInAnotherDatabase_IsRevoked checks a key that is created with a
// session from before a password reset in another database, and committed just after the reset.
// The key is valid at first, and the event of the reset revokes it.
func TestCreateKey_DuringResetInAnotherDatabase_IsRevoked(t *testing.T) {
	withWebhooks(t, func(t *testing.T, env *webhookEnv) {
		env.SeparateIdentity = true
		me := env.developer(t)
		app := env.createApp(t, me)

		// The password is reset while the key is created.
		accounts := env.Accounts
		var reset event.PasswordChanged
		env.Accounts = accountsWithReset{accounts, func() {
			env.clock.Advance(time.Millisecond)

			reset = env.signedOutPrograms(me)
		}}
		key, _ := env.createKey(t, me, app.ID)
		env.Accounts = accounts

		_, err := env.AuthenticateKey(t.Context(), key)
		require.NoError(t, err, "the event of the reset is not handled yet")
		env.recordEvent(t, reset)

		_, err = env.AuthenticateKey(t.Context(), key)
		require.ErrorIs(t, err, fault.ErrUnauthorized)
	})
}

// TestCreateKey_BeforeResetCommits_IsRevoked checks that a key is revoked that is created
// between the time of a password reset and the commit of its transaction. The event of the
// reset also revokes what was created in the ten seconds that a reset may take to commit.
func TestCreateKey_BeforeResetCommits_IsRevoked(t *testing.T) {
	withWebhooks(t, func(t *testing.T, env *webhookEnv) {
		env.SeparateIdentity = true
		me := env.developer(t)
		app := env.createApp(t, me)
		reset := env.signedOutPrograms(me)
		env.clock.Advance(time.Second) // the session still exists until the reset commits

		key, _ := env.createKey(t, me, app.ID)
		env.recordEvent(t, reset)

		_, err := env.AuthenticateKey(t.Context(), key)
		require.ErrorIs(t, err, fault.ErrUnauthorized)
	})
}

// TestCreateKey_CommittedAfterReset_IsRevoked checks that a key whose transaction commits after
// the event was handled is revoked by the second revocation, two minutes later.
func TestCreateKey_CommittedAfterReset_IsRevoked(t *testing.T) {
	withWebhooks(t, func(t *testing.T, env *webhookEnv) {
		env.SeparateIdentity = true
		me := env.developer(t)
		app := env.createApp(t, me)

		// The password is reset while the key is created.
		accounts := env.Accounts
		env.Accounts = accountsWithReset{accounts, func() {
			env.clock.Advance(time.Millisecond)
			env.recordEvent(t, env.signedOutPrograms(me))
		}}
		key, _ := env.createKey(t, me, app.ID)
		env.Accounts = accounts

		_, err := env.AuthenticateKey(t.Context(), key)
		require.NoError(t, err, "the first revocation was before the key was committed")
		env.clock.Advance(2 * time.Minute) // the second revocation is due
		env.work.All(t)

		_, err = env.AuthenticateKey(t.Context(), key)
		require.ErrorIs(t, err, fault.ErrUnauthorized)
	})
}

// TestOnAccountDeleted_OwnData_IsDeleted checks that the applications of a deleted account are deleted with
// their keys, webhooks and deliveries, and its codes and tokens for other applications.
func TestOnAccountDeleted_OwnData_IsDeleted(t *testing.T) {
	withWebhooks(t, func(t *testing.T, env *webhookEnv) {
		storage := env.store.Integrations
		me := env.developer(t)
		mine := env.createCredentials(t, me, env.createOtherApp(t))
		env.publishClosed(t)
		require.Len(t, env.deliveries(t, me, mine.hook), 1)

		env.deleteAccount(t, me)

		apps, err := env.MyApps(t.Context(), me, firstPage)
		require.NoError(t, err)
		require.Empty(t, apps.Items)

		keys, err := storage.Keys.List(t.Context(), integrations.AnyOwner, mine.hook.AppID)
		require.NoError(t, err)
		require.Empty(t, keys)

		_, err = storage.Webhooks.Get(t.Context(), integrations.AnyOwner, mine.hook.ID)
		require.ErrorIs(t, err, integrations.ErrWebhookNotFound)

		const anyStatus = ""
		deliveries, err := storage.Deliveries.List(t.Context(), me.UserID, mine.hook.ID, anyStatus, firstPage)
		require.NoError(t, err)
		require.Empty(t, deliveries.Items)

		_, err = storage.Grants.Get(t.Context(), integrations.Code, integrations.HashToken(integrations.Code, mine.code))
		require.ErrorIs(t, err, integrations.ErrTokenNotFound)

		_, err = env.AuthenticateToken(t.Context(), mine.access)
		require.ErrorIs(t, err, fault.ErrUnauthorized)
	})
}

// TestOnAccountDeleted_OtherUser_KeepsOwnData checks which data of another user is deleted with an account:
// the messages about the account in the user's webhooks, and the consent to an application of the account.
// Everything else of the other user stays.
func TestOnAccountDeleted_OtherUser_KeepsOwnData(t *testing.T) {
	withWebhooks(t, func(t *testing.T, env *webhookEnv) {
		me, foreign, otherApp := env.developer(t), env.developer(t), env.createOtherApp(t)
		mine := env.createCredentials(t, me, otherApp)
		theirs := env.createCredentials(t, foreign, otherApp)
		appsBefore, err := env.MyApps(t.Context(), foreign, firstPage)
		require.NoError(t, err)

		// The other user has also consented to an application of the account, and has a webhook with a
		// message about each of both users.
		require.NoError(t, env.Consent(t.Context(), foreign, mine.hook.AppID, []integrations.Scope{integrations.JobsRead}))

		aboutMe := env.enqueueApplication(t, foreign, theirs.hook, me.UserID)
		aboutForeign := env.enqueueApplication(t, foreign, theirs.hook, foreign.UserID)

		env.deleteAccount(t, me)

		// Of the consents and messages, those of the other user remain.
		for _, test := range []struct {
			name       string
			userID     string
			deliveryID string // of the message about the user
			want       int    // the number of the user's consents, and of messages about the user
		}{
			{name: "deleted account", userID: me.UserID, deliveryID: aboutMe, want: 0},
			{name: "other user", userID: foreign.UserID, deliveryID: aboutForeign, want: 1},
		} {
			const anyApp = ""
			consents, err := env.store.Integrations.Consents.List(t.Context(), []string{test.userID}, anyApp, firstPage)
			require.NoError(t, err)
			require.Len(t, consents.Items, test.want, test.name)

			const limit = 1 // the id selects at most one
			messages, err := env.store.Integrations.Deliveries.ListMessages(t.Context(), foreign.UserID, theirs.hook.ID,
				integrations.MessageFilter{ID: test.deliveryID}, limit)
			require.NoError(t, err)
			require.Len(t, messages, test.want, test.name)
		}

		require.Equal(t, allUsable, env.tryCredentials(t, foreign, theirs))

		appsAfter, err := env.MyApps(t.Context(), foreign, firstPage)
		require.NoError(t, err)
		require.Equal(t, appsBefore, appsAfter)
	})
}

// deleteAccount handles the event of a deleted account twice, because events may be delivered twice.
func (e *testEnv) deleteAccount(t *testing.T, user auth.Actor) {
	t.Helper()

	deleted := event.AccountDeleted{UserID: user.UserID}
	require.NoError(t, e.OnAccountDeleted(t.Context(), deleted))
	require.NoError(t, e.OnAccountDeleted(t.Context(), deleted))
}

// enqueueApplication stores a pending delivery about an application of the applicant for the
// owner's webhook, and returns the id of the delivery.
func (e *webhookEnv) enqueueApplication(
	t *testing.T,
	owner auth.Actor,
	hook integrations.WebhookPath,
	applicantID string,
) string {
	t.Helper()

	now := e.clock.Now()
	message := integrations.Message{
		EventID:        stores.NewID(),
		Type:           "application.submitted",
		Body:           "{}",
		OrganizationID: stores.NewID(),
		ApplicantID:    applicantID,
		CreatedAt:      now,
	}
	delivery := integrations.Delivery{
		ID:         stores.NewID(),
		EndpointID: hook.ID,
		OwnerID:    owner.UserID,
		EventID:    message.EventID,
		Type:       message.Type,
		Status:     integrations.Pending,
		NextAt:     &now,
		CreatedAt:  now,
	}
	err := e.store.Integrations.Deliveries.Enqueue(
		t.Context(),
		[]integrations.Message{message},
		[]integrations.Delivery{delivery},
	)
	require.NoError(t, err)

	return delivery.ID
}

// TestApplicationEvents_MemberOfTheOrganization_Receives checks who receives an event about a
// job application to an organization: the webhooks of its members, and those of other users to
// whose applications a member has consented. They receive nothing after the members have left
// the organization.
func TestApplicationEvents_MemberOfTheOrganization_Receives(t *testing.T) {
	withWebhooks(t, func(t *testing.T, env *webhookEnv) {
		colleague := env.developer(t)
		stranger := env.developer(t)
		consenting := env.developer(t)
		organization, applicant := stores.NewID(), stores.NewID()

		// Two of the three members may see the applications to the organization.
		env.members = map[string][]string{organization: {stores.NewID(), colleague.UserID, consenting.UserID}}
		for _, user := range []auth.Actor{colleague, consenting} {
			env.visibility[user.UserID] = integrations.Visibility{OrganizationID: organization}
		}

		env.createWebhook(t, colleague, "application.submitted")

		hook := env.createWebhook(t, stranger, "application.submitted")

		// submit records a new application, and returns the number of webhooks that receive it.
		submit := func() int {
			env.sent = nil
			env.recordSubmitted(t, organization, applicant)

			return len(env.sent)
		}

		require.Equal(t, 1, submit(), "the webhook of the member")
		require.NoError(t, env.Consent(t.Context(), consenting, hook.AppID, []integrations.Scope{integrations.ApplicationsRead}))
		require.Equal(t, 2, submit(), "also the webhook to whose application a member has consented")

		env.members[organization] = nil

		require.Zero(t, submit(), "all members have left")
	})
}
