package integrations_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/event"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/modules/integrations"
	"github.com/locumhq/locum/test/kit/stores"
)

// credentials are the credentials that a user has created or allowed.
type credentials struct {
	key, access, code string
	hook              integrations.WebhookPath
}

// credentials creates an application with a key and a webhook, and lets the user
// consent to the other application, which gets a code and an access token.
func (d *testEnv) credentials(t *testing.T, me auth.Actor, otherApp string) credentials {
	t.Helper()
	ctx := t.Context()
	a, _, err := d.CreateApp(ctx, me, integrations.AppInput{Name: "Ward Finder"})
	require.NoError(t, err)
	_, key, err := d.CreateKey(ctx, me, a.ID, integrations.KeyInput{Name: "Production"})
	require.NoError(t, err)
	e, _, err := d.CreateWebhook(ctx, me, a.ID, integrations.WebhookInput{URL: "https://receiver.example/", Events: []string{"job.closed"}})
	require.NoError(t, err)
	return credentials{key: key, hook: integrations.WebhookPath{AppID: a.ID, ID: e.ID}, access: d.tokens(t, me, otherApp).Access, code: d.code(t, me, otherApp)}
}

// usable reports which of the key, the token, the code and the webhook can be used.
func (d *testEnv) usable(t *testing.T, me auth.Actor, c credentials) [4]bool {
	t.Helper()
	worked := func(err, refused error) bool {
		if err != nil {
			require.ErrorIs(t, err, refused)
		}
		return err == nil
	}
	_, byKey := d.AuthenticateKey(t.Context(), c.key)
	_, byToken := d.AuthenticateToken(t.Context(), c.access)
	byCode := d.tryCode(t, c.code)
	e, err := d.MyWebhook(t.Context(), me, c.hook)
	require.NoError(t, err)
	return [4]bool{worked(byKey, fault.ErrUnauthorized), worked(byToken, fault.ErrUnauthorized), worked(byCode, integrations.ErrInvalidGrant), e.Status == integrations.EndpointActive}
}

var (
	allUsable  = [4]bool{true, true, true, true}
	noneUsable = [4]bool{}
)

func (d *testEnv) otherApp(t *testing.T) string {
	t.Helper()
	a, _, err := d.CreateApp(t.Context(), d.developer(t), integrations.AppInput{Name: "Bed Finder", RedirectURIs: []string{callback}})
	require.NoError(t, err)
	return a.ID
}

func TestAuthenticate_InactiveAccount_Unauthorized(t *testing.T) {
	withWebhooks(t, func(t *testing.T, p *webhookEnv) {
		me, other := p.developer(t), p.otherApp(t)
		c := p.credentials(t, me, other)
		require.Equal(t, allUsable, p.usable(t, me, c))
		p.inactive[me.UserID] = true // locked
		require.Equal(t, [4]bool{3: true}, p.usable(t, me, c))
		_, err := p.Approve(t.Context(), me, p.authorizationRequest(t, other))
		require.ErrorIs(t, err, integrations.ErrAppNotFound)
		p.inactive[me.UserID] = false
		require.Equal(t, allUsable, p.usable(t, me, c))
	})
}

func TestAuthenticate_LooksUpTheAccountOnce(t *testing.T) {
	withWebhooks(t, func(t *testing.T, p *webhookEnv) {
		c := p.credentials(t, p.developer(t), p.otherApp(t))
		lookups := func(authenticate func() error) int {
			before := p.accountLookups
			_ = authenticate()
			return p.accountLookups - before
		}
		require.Equal(t, 1, lookups(func() error { _, err := p.AuthenticateKey(t.Context(), c.key); return err }))
		require.Equal(t, 1, lookups(func() error { _, err := p.AuthenticateToken(t.Context(), c.access); return err }))
		unknown := integrations.NewToken(integrations.Access)
		require.Zero(t, lookups(func() error { _, err := p.AuthenticateToken(t.Context(), unknown); return err }))
		p.clock.Advance(integrations.AccessLife)
		require.Zero(t, lookups(func() error { _, err := p.AuthenticateToken(t.Context(), c.access); return err }))
	})
}

func TestOnPasswordChanged_SeparateIdentity_RevokesEarlierCredentials(t *testing.T) {
	withWebhooks(t, func(t *testing.T, p *webhookEnv) {
		p.SeparateIdentity = true
		me, other := p.developer(t), p.otherApp(t)
		concurrent := p.credentials(t, me, other)
		foreign := p.developer(t)
		kept := p.credentials(t, foreign, other)
		p.clock.Advance(time.Second)
		changed := event.PasswordChanged{UserID: me.UserID, ChangedAt: p.clock.Now(), SignedOutPrograms: true}
		p.recordEvent(t, event.PasswordChanged{UserID: me.UserID, ChangedAt: p.clock.Now()})
		require.Equal(t, allUsable, p.usable(t, me, concurrent), "a change that does not sign out programs")
		p.recordEvent(t, changed)
		require.Equal(t, noneUsable, p.usable(t, me, concurrent))
		require.Equal(t, allUsable, p.usable(t, foreign, kept))
		apps, err := p.MyApps(t.Context(), me, page.Request{Number: 1, Size: 9})
		require.NoError(t, err)
		require.Len(t, apps.Items, 1, "applications remain")

		p.clock.Advance(time.Minute)
		later := p.credentials(t, me, other)
		active := string(integrations.EndpointActive)
		_, err = p.ChangeWebhook(t.Context(), me, concurrent.hook, integrations.WebhookChange{Status: &active})
		require.NoError(t, err)
		p.recordEvent(t, changed) // delivered twice
		require.Equal(t, allUsable, p.usable(t, me, later))
		e, err := p.MyWebhook(t.Context(), me, concurrent.hook)
		require.NoError(t, err)
		require.Equal(t, integrations.EndpointActive, e.Status, "resumed after the change")
	})
}

func TestOnProgramsSignedOut_SeparateIdentity_RevokesEarlierCredentials(t *testing.T) {
	withWebhooks(t, func(t *testing.T, p *webhookEnv) {
		p.SeparateIdentity = true
		me := p.developer(t)
		c := p.credentials(t, me, p.otherApp(t))
		p.clock.Advance(time.Second)
		p.recordEvent(t, event.ProgramsSignedOut{UserID: me.UserID, SignedOutAt: p.clock.Now()})
		require.Equal(t, noneUsable, p.usable(t, me, c))
	})
}

func TestOnPasswordChanged_SameDatabase_NoEffect(t *testing.T) {
	withWebhooks(t, func(t *testing.T, p *webhookEnv) {
		me := p.developer(t)
		c := p.credentials(t, me, p.otherApp(t))
		p.clock.Advance(time.Second)
		p.recordEvent(t, event.PasswordChanged{UserID: me.UserID, ChangedAt: p.clock.Now(), SignedOutPrograms: true})
		p.recordEvent(t, event.ProgramsSignedOut{UserID: me.UserID, SignedOutAt: p.clock.Now()})
		require.Equal(t, allUsable, p.usable(t, me, c))
	})
}

// accountsWithReset is the accounts of another database, in which the password is reset
// after the session was checked and before the credential is committed.
type accountsWithReset struct {
	integrations.Accounts
	reset func()
}

func (r accountsWithReset) HoldSession(ctx context.Context, by auth.Actor) error {
	err := r.Accounts.HoldSession(ctx, by)
	r.reset()
	return err
}

func TestCreateKey_DuringResetInAnotherDatabase_IsRevoked(t *testing.T) {
	withWebhooks(t, func(t *testing.T, p *webhookEnv) {
		p.SeparateIdentity = true
		me := p.developer(t)
		a, _, err := p.CreateApp(t.Context(), me, integrations.AppInput{Name: "Ward Finder"})
		require.NoError(t, err)
		accounts := p.Accounts
		var reset event.PasswordChanged
		p.Accounts = accountsWithReset{accounts, func() {
			p.clock.Advance(time.Millisecond)
			reset = event.PasswordChanged{UserID: me.UserID, ChangedAt: p.clock.Now(), SignedOutPrograms: true}
		}}
		_, key, err := p.CreateKey(t.Context(), me, a.ID, integrations.KeyInput{Name: "Production"})
		require.NoError(t, err)
		p.Accounts = accounts
		_, err = p.AuthenticateKey(t.Context(), key)
		require.NoError(t, err, "the reset did not see it")
		p.recordEvent(t, reset)
		_, err = p.AuthenticateKey(t.Context(), key)
		require.ErrorIs(t, err, fault.ErrUnauthorized)
	})
}

func TestCreateKey_BeforeResetCommits_IsRevoked(t *testing.T) {
	withWebhooks(t, func(t *testing.T, p *webhookEnv) {
		p.SeparateIdentity = true
		me := p.developer(t)
		a, _, err := p.CreateApp(t.Context(), me, integrations.AppInput{Name: "Ward Finder"})
		require.NoError(t, err)
		reset := event.PasswordChanged{UserID: me.UserID, ChangedAt: p.clock.Now(), SignedOutPrograms: true}
		p.clock.Advance(time.Second) // the session still exists until the reset commits
		_, key, err := p.CreateKey(t.Context(), me, a.ID, integrations.KeyInput{Name: "Production"})
		require.NoError(t, err)
		p.recordEvent(t, reset)
		_, err = p.AuthenticateKey(t.Context(), key)
		require.ErrorIs(t, err, fault.ErrUnauthorized)
	})
}

func TestCreateKey_CommittedAfterReset_IsRevoked(t *testing.T) {
	withWebhooks(t, func(t *testing.T, p *webhookEnv) {
		p.SeparateIdentity = true
		me := p.developer(t)
		a, _, err := p.CreateApp(t.Context(), me, integrations.AppInput{Name: "Ward Finder"})
		require.NoError(t, err)
		accounts := p.Accounts
		p.Accounts = accountsWithReset{accounts, func() {
			p.clock.Advance(time.Millisecond)
			p.recordEvent(t, event.PasswordChanged{UserID: me.UserID, ChangedAt: p.clock.Now(), SignedOutPrograms: true})
		}}
		_, key, err := p.CreateKey(t.Context(), me, a.ID, integrations.KeyInput{Name: "Production"})
		require.NoError(t, err)
		p.Accounts = accounts
		_, err = p.AuthenticateKey(t.Context(), key)
		require.NoError(t, err, "the revocation did not see it")
		p.clock.Advance(2 * time.Minute)
		p.work.All(t)
		_, err = p.AuthenticateKey(t.Context(), key)
		require.ErrorIs(t, err, fault.ErrUnauthorized)
	})
}

func TestOnAccountDeleted_DeletesEverythingOfTheAccount(t *testing.T) {
	withWebhooks(t, func(t *testing.T, p *webhookEnv) {
		s := p.store.Integrations
		me, foreign, other := p.developer(t), p.developer(t), p.otherApp(t)
		mine, theirs := p.credentials(t, me, other), p.credentials(t, foreign, other)
		theirApp, err := p.MyApps(t.Context(), foreign, page.Request{Number: 1, Size: 1})
		require.NoError(t, err)
		// The other user has consented to an application of the account.
		require.NoError(t, p.Consent(t.Context(), foreign, mine.hook.AppID, []integrations.Scope{integrations.JobsRead}))
		p.recordEvent(t, event.JobClosed{JobID: stores.NewID(), OrganizationID: stores.NewID()})
		now, about := p.clock.Now(), map[string]string{}
		for _, applicant := range []string{me.UserID, foreign.UserID} {
			m := integrations.Message{EventID: stores.NewID(), Type: "application.submitted", Body: "{}", OrganizationID: stores.NewID(), ApplicantID: applicant, CreatedAt: now}
			about[applicant] = stores.NewID()
			err := s.Deliveries.Enqueue(t.Context(), []integrations.Message{m}, []integrations.Delivery{{ID: about[applicant], EndpointID: theirs.hook.ID, OwnerID: foreign.UserID, EventID: m.EventID, Type: m.Type, Status: integrations.Pending, NextAt: &now, CreatedAt: now}})
			require.NoError(t, err)
		}
		require.Len(t, p.deliveries(t, me, mine.hook), 1)

		for range 2 {
			require.NoError(t, p.OnAccountDeleted(t.Context(), event.AccountDeleted{UserID: me.UserID}))
		}
		apps, err := p.MyApps(t.Context(), me, page.Request{Number: 1, Size: 9})
		require.NoError(t, err)
		require.Empty(t, apps.Items)
		keys, err := s.Keys.List(t.Context(), integrations.AnyOwner, mine.hook.AppID)
		require.NoError(t, err)
		require.Empty(t, keys)
		_, err = s.Webhooks.Get(t.Context(), integrations.AnyOwner, mine.hook.ID)
		require.ErrorIs(t, err, integrations.ErrWebhookNotFound)
		sent, err := s.Deliveries.List(t.Context(), me.UserID, mine.hook.ID, "", page.Request{Number: 1, Size: 9})
		require.NoError(t, err)
		require.Empty(t, sent.Items)
		_, err = s.Grants.Get(t.Context(), integrations.Code, integrations.HashToken(integrations.Code, mine.code))
		require.ErrorIs(t, err, integrations.ErrTokenNotFound)
		_, err = p.AuthenticateToken(t.Context(), mine.access)
		require.ErrorIs(t, err, fault.ErrUnauthorized)
		for user, want := range map[string]int{me.UserID: 0, foreign.UserID: 1} {
			consents, err := s.Consents.List(t.Context(), []string{user}, "", page.Request{Number: 1, Size: 9})
			require.NoError(t, err)
			require.Len(t, consents.Items, want)
			messages, err := s.Deliveries.ListMessages(t.Context(), foreign.UserID, theirs.hook.ID, integrations.MessageFilter{ID: about[user]}, 1)
			require.NoError(t, err)
			require.Len(t, messages, want)
		}
		require.Equal(t, allUsable, p.usable(t, foreign, theirs))
		kept, err := p.MyApps(t.Context(), foreign, page.Request{Number: 1, Size: 1})
		require.NoError(t, err)
		require.Equal(t, theirApp, kept)
	})
}

func TestApplicationEvents_MemberOfTheOrganization_Receives(t *testing.T) {
	withWebhooks(t, func(t *testing.T, p *webhookEnv) {
		colleague, stranger, consenting := p.developer(t), p.developer(t), p.developer(t)
		organization, applicant := stores.NewID(), stores.NewID()
		p.members = map[string][]string{organization: {stores.NewID(), colleague.UserID, consenting.UserID}}
		for _, user := range []auth.Actor{colleague, consenting} {
			p.visibility[user.UserID] = integrations.Visibility{OrganizationID: organization}
		}
		p.createWebhook(t, colleague, "application.submitted")
		hook := p.createWebhook(t, stranger, "application.submitted")
		submit := func() int {
			p.sent = nil
			p.recordEvent(t, event.ApplicationSubmitted{ApplicationID: stores.NewID(), JobID: stores.NewID(), OrganizationID: organization, CandidateID: applicant, SubmittedAt: p.clock.Now()})
			return len(p.sent)
		}
		require.Equal(t, 1, submit())
		require.NoError(t, p.Consent(t.Context(), consenting, hook.AppID, []integrations.Scope{integrations.ApplicationsRead}))
		require.Equal(t, 2, submit())
		p.members[organization] = nil
		require.Zero(t, submit())
	})
}
