package billing_test

import (
	"context"
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

// till is the module on a real database, with a provider that is the sandbox
// where the test does not break it.
type till struct {
	*billing.Service
	t     testing.TB
	clock *kit.Clock
	store adapters.Storage
	work  kit.Work
	pay   *provider
	sent  []mail.Message
	gone  map[string]bool // users that are deleted
	told  []string        // changes, in their order
}

// provider counts what it took, and may fall silent before or after that.
type provider struct {
	billing.Payments
	mu            sync.Mutex
	took          map[string]int64 // pence by key
	asked         int
	forgot        []billing.Owner
	silent, crash error
}

func (p *provider) Charge(ctx context.Context, b billing.Bill) (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked++
	if p.silent != nil {
		return "", p.silent
	}
	receipt, err := p.Payments.Charge(ctx, b)
	if err == nil {
		p.took[b.Key] = b.Amount.Minor
	}
	if p.crash != nil {
		return "", p.crash
	}
	return receipt, err
}

func (p *provider) Forget(ctx context.Context, o billing.Owner) error {
	p.forgot = append(p.forgot, o)
	return p.Payments.Forget(ctx, o)
}

// total is all that was taken, in pence, and in how many charges.
func (p *provider) total() (sum int64, n int) {
	for _, pence := range p.took {
		sum += pence
	}
	return sum, len(p.took)
}

func (d *till) Payers(_ context.Context, owners []billing.Owner) (map[billing.Owner]billing.Person, error) {
	out := map[billing.Owner]billing.Person{}
	for _, o := range owners {
		if !d.gone[o.ID] {
			out[o] = billing.Person{Name: "Niamh", Email: o.ID + "@example.org"}
		}
	}
	return out, nil
}

// Send implements mail.Mailer.
func (d *till) Send(_ context.Context, m mail.Message) error {
	d.sent = append(d.sent, m)
	return nil
}

type opener = func(testing.TB, clock.Clock) adapters.Storage

// plans have one more than is sold, so that there is something to upgrade to.
var plans = append(billing.Plans(), billing.Plan{For: billing.User, ID: "gold", Name: "Gold", Price: billing.Money{Minor: 2999, Currency: "GBP"}})

func open(t testing.TB, on opener) *till {
	t.Helper()
	d := &till{t: t, clock: kit.NewClock(), gone: map[string]bool{}}
	d.store = on(t, d.clock)
	d.pay = &provider{Payments: sandboxpay.New(d.clock), took: map[string]int64{}}
	d.Service = billing.New(billing.Deps{Tx: d.store.Billing.Tx, Events: d.store.Billing.Events, Audit: d.store.Identity.Audit, Clock: d.clock, NewID: stores.NewID,
		Subscriptions: d.store.Billing.Subscriptions, Charges: d.store.Billing.Charges, Payments: d.pay, People: d, Mailer: d, Plans: plans, PublicURL: "https://jobs.example.org"})
	d.work = kit.NewWork(t, d.store, d.clock, []event.Subscription{
		event.On("test.heard", func(_ context.Context, e event.SubscriptionChanged) error {
			d.told = append(d.told, e.Change)
			return nil
		}),
		event.OnID("test.mail", d.MailSubscriptionChanged),
		event.OnID("test.mail-again", d.MailSubscriptionChanged),
	})
	return d
}

func onEach(t *testing.T, test func(t *testing.T, d *till)) {
	t.Parallel()
	stores.Each(t, func(t *testing.T, on opener) { test(t, open(t, on)) })
}

func seeker() auth.Actor {
	return auth.Actor{UserID: stores.NewID(), Role: auth.Jobseeker, Seeker: true}
}

func (d *till) buy(by auth.Actor, plan, method string) billing.Subscription {
	d.t.Helper()
	sub, err := d.Create(d.t.Context(), by, billing.ChooseInput{PlanID: plan, PaymentMethodID: method})
	require.NoError(d.t, err)
	return sub
}

func (d *till) now(by auth.Actor) billing.Overview {
	d.t.Helper()
	o, err := d.Mine(d.t.Context(), by)
	require.NoError(d.t, err)
	return o
}

// heard handles the events and returns the changes in those recorded since its last call.
func (d *till) heard() (changes []string) {
	d.t.Helper()
	d.work.All(d.t)
	changes, d.told = d.told, nil
	return changes
}

// pass lets time pass and the work of the minute be done at the end of it.
func (d *till) pass(span time.Duration) {
	d.t.Helper()
	d.clock.Advance(span)
	require.NoError(d.t, d.Renew(d.t.Context()))
}

func (d *till) until(at time.Time) { d.t.Helper(); d.pass(at.Sub(d.clock.Now())) }

const day = 24 * time.Hour
