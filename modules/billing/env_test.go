package billing_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/adapters/sandboxpay"
	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/clock"
	"github.com/locumhq/locum/core/event"
	"github.com/locumhq/locum/core/mail"
	"github.com/locumhq/locum/modules/billing"
	"github.com/locumhq/locum/test/kit"
	"github.com/locumhq/locum/test/kit/stores"
)

// testEnv is the module on a real database. Tests call the methods of the module on it, which
// the embedded Service provides. The payment provider is adapters/sandboxpay, which pays at once
// with every id "pm_…" but the ones that its constants name; countingProvider can make it fail.
type testEnv struct {
	*billing.Service
	t            testing.TB
	clock        *kit.Clock // stands still unless a test advances it
	store        adapters.Storage
	work         kit.Work // work.All handles the recorded events before it returns
	provider     *countingProvider
	sent         []mail.Message  // each mail twice: two subscriptions send it
	deletedUsers map[string]bool // users that are deleted
	changes      []string        // the changes of subscriptions since the last call of takeChanges
}

// countingProvider records charges and can fail before or after it has charged.
type countingProvider struct {
	billing.Payments
	mu        sync.Mutex
	charged   map[string]int64 // the amounts in pence, by idempotency key
	calls     int              // calls of Charge
	forgotten []billing.Owner  // the owners of calls of Forget
	errBefore error            // if set, Charge returns it without charging
	errAfter  error            // if set, Charge returns it after charging
}

// errNoAnswer is a value of errBefore and errAfter: the module does not learn whether it was charged.
var errNoAnswer = errors.New("no answer")

// Delays after which Renew repeats a charge without a result.
const (
	firstRetry = 2 * time.Minute // longer than the delay before the first retry
	anyRetry   = 2 * time.Hour   // longer than the delay before any retry
)

// Charge implements billing.Payments.
func (p *countingProvider) Charge(ctx context.Context, b billing.Bill) (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()

	p.calls++
	if p.errBefore != nil {
		return "", p.errBefore
	}

	receipt, err := p.Payments.Charge(ctx, b)
	if err == nil {
		p.charged[b.Key] = b.Amount.Minor
	}

	if p.errAfter != nil {
		return "", p.errAfter
	}

	return receipt, err
}

// Forget implements billing.Payments.
func (p *countingProvider) Forget(ctx context.Context, o billing.Owner) error {
	p.forgotten = append(p.forgotten, o)
	return p.Payments.Forget(ctx, o)
}

// total returns the sum of all paid charges in pence, and their number.
func (p *countingProvider) total() (sum int64, paid int) {
	for _, pence := range p.charged {
		sum += pence
	}

	return sum, len(p.charged)
}

// Payers implements billing.People. It returns the users that are not deleted.
func (e *testEnv) Payers(_ context.Context, owners []billing.Owner) (map[billing.Owner]billing.Person, error) {
	people := map[billing.Owner]billing.Person{}
	for _, owner := range owners {
		if !e.deletedUsers[owner.ID] {
			people[owner] = billing.Person{Name: "Niamh", Email: owner.ID + "@example.org"}
		}
	}

	return people, nil
}

// Send implements mail.Mailer.
func (e *testEnv) Send(_ context.Context, m mail.Message) error {
	e.sent = append(e.sent, m)
	return nil
}

// openStorage opens a database for a test.
type openStorage = func(testing.TB, clock.Clock) adapters.Storage

// The prices of the paid plans a month, in pence. Premium is a plan of the module.
const (
	premiumPrice = 999
	goldPrice    = 2999
)

// plans are those of the module, the free plan "basic" and "premium", and an additional plan
// "gold", so that premium has an upgrade.
var plans = append(
	billing.Plans(),
	billing.Plan{For: billing.User, ID: "gold", Name: "Gold", Price: billing.Money{Minor: goldPrice, Currency: "GBP"}},
)

// newTestEnv returns the module on the storage. Two subscriptions send the e-mail about an
// event, because events may be delivered twice.
func newTestEnv(t testing.TB, open openStorage) *testEnv {
	t.Helper()

	env := &testEnv{t: t, clock: kit.NewClock(), deletedUsers: map[string]bool{}}
	env.store = open(t, env.clock)
	env.provider = &countingProvider{Payments: sandboxpay.New(env.clock), charged: map[string]int64{}}
	env.Service = billing.New(
		billing.Deps{
			Tx:            env.store.Billing.Tx,
			Events:        env.store.Billing.Events,
			Audit:         env.store.Identity.Audit,
			Clock:         env.clock,
			NewID:         stores.NewID,
			Subscriptions: env.store.Billing.Subscriptions,
			Charges:       env.store.Billing.Charges,
			Payments:      env.provider,
			People:        env,
			Mailer:        env,
			Plans:         plans,
			PublicURL:     "https://jobs.example.org",
		},
	)
	env.work = kit.NewWork(t, env.store, env.clock, []event.Subscription{
		event.On("test.changes", func(_ context.Context, e event.SubscriptionChanged) error {
			env.changes = append(env.changes, e.Change)
			return nil
		}),
		event.OnID("test.mail", env.MailSubscriptionChanged),
		event.OnID("test.mail-again", env.MailSubscriptionChanged),
	})

	return env
}

// onEach runs the test on SQLite and on Postgres.
func onEach(t *testing.T, test func(t *testing.T, env *testEnv)) {
	t.Parallel()
	stores.Each(t, func(t *testing.T, open openStorage) { test(t, newTestEnv(t, open)) })
}

// newSeeker returns a new jobseeker.
func newSeeker() auth.Actor {
	return auth.Actor{UserID: stores.NewID(), Role: auth.Jobseeker, Seeker: true}
}

// storedMethod is the id of the payment method in a request that keeps the stored one.
const storedMethod = ""

// subscribe chooses a plan with the id of a payment method, and requires success.
func (e *testEnv) subscribe(by auth.Actor, plan, method string) billing.Subscription {
	e.t.Helper()

	sub, err := e.Create(e.t.Context(), by, billing.ChooseInput{PlanID: plan, PaymentMethodID: method})
	require.NoError(e.t, err)

	return sub
}

// overview returns the billing of the user.
func (e *testEnv) overview(by auth.Actor) billing.Overview {
	e.t.Helper()

	overview, err := e.MyBilling(e.t.Context(), by)
	require.NoError(e.t, err)

	return overview
}

// takeChanges handles the recorded events and returns the changes since its last call.
func (e *testEnv) takeChanges() (changes []string) {
	e.t.Helper()
	e.work.All(e.t)

	changes = e.changes
	e.changes = nil

	return changes
}

// advance advances the clock and runs Renew, the periodic task that renews and ends plans and
// repeats charges without a result. Events are handled later, by takeChanges.
func (e *testEnv) advance(span time.Duration) {
	e.t.Helper()
	e.clock.Advance(span)
	require.NoError(e.t, e.Renew(e.t.Context()))
}

// advanceTo advances the clock to the time and runs Renew.
func (e *testEnv) advanceTo(at time.Time) {
	e.t.Helper()
	e.advance(at.Sub(e.clock.Now()))
}

const day = 24 * time.Hour
