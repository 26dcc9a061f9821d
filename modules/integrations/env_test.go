package integrations_test

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/adapters/locallimit"
	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/clock"
	"github.com/locumhq/locum/core/event"
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/modules/integrations"
	"github.com/locumhq/locum/test/kit"
	"github.com/locumhq/locum/test/kit/stores"
)

// testEnv is the module on a real database. Tests call the methods of the module on it, which
// the embedded Service provides. The other modules are replaced by testEnv itself, which
// implements the ports integrations.Payments and integrations.Accounts.
type testEnv struct {
	*integrations.Service
	store adapters.Storage
	clock *kit.Clock // stands still unless a test advances it
	work  kit.Work   // work.All handles the recorded events and the due tasks before it returns

	// Payments
	paid        string   // the plan that is paid for
	afterChoose func()   // runs at the end of Choose
	setUps      []string // applications whose payment method is collected

	// Accounts
	inactive       map[string]bool     // locked users by id
	members        map[string][]string // ids of users by the id of their organization
	accountLookups int                 // calls of IsActive

	deletedApps []string // from the events about deleted applications
}

// Choose implements integrations.Payments. It makes the plan the one that is paid for.
func (e *testEnv) Choose(_ context.Context, _, plan, _ string) error {
	e.paid = plan
	if e.afterChoose != nil {
		e.afterChoose()
	}

	return nil
}

// SetUp implements integrations.Payments.
func (e *testEnv) SetUp(_ context.Context, appID string) (integrations.PaymentSetup, error) {
	e.setUps = append(e.setUps, appID)
	return integrations.PaymentSetup{ClientSecret: "secret of " + appID}, nil
}

// Paid implements integrations.Payments.
func (e *testEnv) Paid(context.Context, string) (string, error) { return e.paid, nil }

// Visibility implements integrations.Accounts. Each account sees its own job applications.
func (e *testEnv) Visibility(_ context.Context, userID string) (integrations.Visibility, error) {
	return integrations.Visibility{ApplicantID: userID}, nil
}

// HoldSession implements integrations.Accounts. All sessions are valid.
func (e *testEnv) HoldSession(context.Context, auth.Actor) error { return nil }

// IsActive implements integrations.Accounts.
func (e *testEnv) IsActive(_ context.Context, userIDs ...string) (bool, error) {
	e.accountLookups++
	return !slices.ContainsFunc(userIDs, func(userID string) bool { return e.inactive[userID] }), nil
}

// ListMembers implements integrations.Accounts.
func (e *testEnv) ListMembers(_ context.Context, organizationID string) ([]string, error) {
	return e.members[organizationID], nil
}

// OwnerName implements integrations.Accounts.
func (e *testEnv) OwnerName(context.Context, string) (string, error) {
	return "St Brigid's Hospital", nil
}

// firstPage requests more rows than the tests store.
var firstPage = page.Request{Number: 1, Size: 9}

// organizationID is the organization of all users.
const organizationID = "0194a000-0000-7000-8000-000000000000"

// OrganizationID implements integrations.Accounts.
func (e *testEnv) OrganizationID(context.Context, string) (string, error) { return organizationID, nil }

// ListByIDs implements integrations.Accounts for one id.
func (e *testEnv) ListByIDs(_ context.Context, ids []string) (map[string]integrations.Person, error) {
	return map[string]integrations.Person{ids[0]: {Name: "Dev", Email: "dev@example.org"}}, nil
}

// deps are the ports of the module, implemented by testEnv.
func (e *testEnv) deps() integrations.Deps {
	storage := e.store.Integrations

	return integrations.Deps{
		Tx:         storage.Tx,
		Events:     storage.Events,
		Audit:      e.store.Identity.Audit,
		Clock:      e.clock,
		NewID:      stores.NewID,
		Tasks:      storage.Tasks,
		Retention:  storage.Retention,
		Apps:       storage.Apps,
		Keys:       storage.Keys,
		Usage:      storage.Usage,
		Grants:     storage.Grants,
		Consents:   storage.Consents,
		Webhooks:   storage.Webhooks,
		Deliveries: storage.Deliveries,
		Accounts:   e,
		Payments:   e,
		Limiter:    locallimit.New(e.clock),
	}
}

// onEachStore runs the test on SQLite and on Postgres. The environment has no receiver of
// webhooks; withWebhooks provides one.
func onEachStore(t *testing.T, test func(t *testing.T, env *testEnv)) {
	t.Parallel()
	stores.Each(t, func(t *testing.T, open func(testing.TB, clock.Clock) adapters.Storage) {
		env := &testEnv{clock: kit.NewClock(), paid: integrations.Free, inactive: map[string]bool{}}
		env.store = open(t, env.clock)
		env.Service = integrations.New(env.deps())
		env.work = kit.NewWork(t, env.store, env.clock, []event.Subscription{
			event.On("integrations.erase", env.OnAccountDeleted),
			event.On("integrations.plan", env.OnSubscriptionChanged),
			event.On("test.app-deleted", func(_ context.Context, e event.AppDeleted) error {
				env.deletedApps = append(env.deletedApps, e.AppID)
				return nil
			}),
		})
		test(t, env)
	})
}

// developer returns a new user who has just authenticated, as creating credentials requires.
func (e *testEnv) developer(t *testing.T) auth.Actor {
	t.Helper()
	return auth.Actor{UserID: stores.NewID(), Seeker: true, ConfirmedAt: e.clock.Now()}
}

// createApp creates an application of the user.
func (e *testEnv) createApp(t *testing.T, by auth.Actor) integrations.App {
	t.Helper()

	app, _, err := e.CreateApp(t.Context(), by, integrations.AppInput{Name: "Ward Finder"}) // and its secret
	require.NoError(t, err)

	return app
}

// createKey creates an API key of the application, and returns the key itself and what is stored of it.
func (e *testEnv) createKey(t *testing.T, by auth.Actor, appID string) (key string, stored integrations.Key) {
	t.Helper()

	stored, key, err := e.CreateKey(t.Context(), by, appID, integrations.KeyInput{Name: "Production"})
	require.NoError(t, err)

	return key, stored
}

// runPeriodic runs the periodic task of the kind once.
func (e *testEnv) runPeriodic(t *testing.T, kind string) {
	t.Helper()

	for _, periodic := range e.Periodic() {
		if periodic.Kind == kind {
			require.NoError(t, periodic.Do(t.Context()))
			return
		}
	}

	require.Fail(t, "no periodic task", kind)
}

// recordEvent records the event. When it returns, the subscribers have handled the event, and
// the resulting tasks are done.
func (e *testEnv) recordEvent(t *testing.T, recorded event.Event) {
	t.Helper()

	storage := e.store.Integrations
	err := storage.Tx.Do(t.Context(), func(ctx context.Context) error { return storage.Events.Record(ctx, recorded) })
	require.NoError(t, err)
	e.work.All(t)
}

// recordAppSubscription records an event about a change of the subscription of an application, which
// then has the plan. It handles the event, as recordEvent does.
func (e *testEnv) recordAppSubscription(t *testing.T, appID, change, plan string) {
	t.Helper()
	e.recordEvent(t, event.SubscriptionChanged{OwnerKind: "application", OwnerID: appID, Change: change, Plan: plan})
}
