package billing_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/adapters/sandboxpay"
	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/clock"
	"github.com/locumhq/locum/core/event"
	"github.com/locumhq/locum/core/fault"
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
	d.Service = billing.New(billing.Needs{Tx: d.store.Tx, Events: d.store.Events, Clock: d.clock, NewID: stores.NewID,
		Subscriptions: d.store.Subscriptions, Charges: d.store.Charges, Payments: d.pay, People: d, Mailer: d, Plans: plans, PublicURL: "https://jobs.example.org"})
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

// heard does what follows from the events and returns the changes that they
// told of since it was last asked.
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

func TestEverybodyStartsOnTheBasicPlan(t *testing.T) {
	onEach(t, func(t *testing.T, d *till) {
		o := d.now(seeker())
		require.Equal(t, "basic", o.Subscription.Plan)
		require.Equal(t, billing.Active, o.Subscription.Status)
		require.False(t, o.Subscription.AutoRenew)
		require.True(t, o.Subscription.ExpiresAt.IsZero())
		require.Empty(t, o.History)
		require.Equal(t, plans, o.Plans)
	})
}

func TestAPlanIsPaidForAndRenewedEachMonthUntilItIsCancelled(t *testing.T) {
	onEach(t, func(t *testing.T, d *till) {
		me := seeker()
		d.until(time.Date(2027, 1, 31, 9, 0, 0, 0, time.UTC))
		bought := d.clock.Now()
		sub := d.buy(me, "premium", "pm_card_visa")
		require.Equal(t, "premium", sub.Plan)
		require.True(t, sub.AutoRenew)
		require.Equal(t, "4242", sub.Method.Last4)
		require.Equal(t, time.Date(2027, 2, 28, 9, 0, 0, 0, time.UTC), sub.ExpiresAt)
		require.Equal(t, []string{"started"}, d.heard())

		d.until(sub.ExpiresAt.Add(-time.Microsecond))
		require.Len(t, d.now(me).History, 1, "not a moment too early")
		for _, end := range []time.Time{time.Date(2027, 3, 31, 9, 0, 0, 0, time.UTC), time.Date(2027, 4, 30, 9, 0, 0, 0, time.UTC), time.Date(2027, 5, 31, 9, 0, 0, 0, time.UTC)} {
			d.until(d.now(me).Subscription.ExpiresAt)
			require.NoError(t, d.Renew(t.Context()), "a second time changes nothing")
			require.Equal(t, end, d.now(me).Subscription.ExpiresAt)
			require.Equal(t, []string{"renewed"}, d.heard())
		}
		sum, n := d.pay.total()
		require.Equal(t, 4, n)
		require.EqualValues(t, 4*999, sum)

		sub, err := d.Cancel(t.Context(), me)
		require.NoError(t, err)
		require.Equal(t, "premium", sub.Plan)
		require.Equal(t, billing.Active, sub.Status)
		require.False(t, sub.AutoRenew)
		again, err := d.Cancel(t.Context(), me)
		require.NoError(t, err)
		require.Equal(t, sub.ExpiresAt, again.ExpiresAt)
		require.Equal(t, []string{"cancelled"}, d.heard())
		d.clock.Advance(sub.ExpiresAt.Sub(d.clock.Now()) - time.Microsecond)
		require.Equal(t, "premium", d.now(me).Subscription.Plan)
		d.clock.Advance(time.Microsecond)
		require.Equal(t, "basic", d.now(me).Subscription.Plan, "before anybody has come by")
		d.pass(0)
		require.Equal(t, []string{"ended"}, d.heard())
		d.pass(400 * day)
		require.Equal(t, "basic", d.now(me).Subscription.Plan)
		require.Empty(t, d.heard())
		_, n = d.pay.total()
		require.Equal(t, 4, n)

		history := d.now(me).History
		require.Len(t, history, 4)
		require.Equal(t, bought, history[3].PeriodStart)
		require.True(t, slices.IsSortedFunc(history, func(a, b billing.Charge) int { return b.PeriodStart.Compare(a.PeriodStart) }))
		for i := range 3 {
			require.Equal(t, history[i+1].PeriodEnd, history[i].PeriodStart, "no gap and no overlap")
		}
		require.Contains(t, d.sent[0].Text, "28 February 2027")
		letters := map[string]int{}
		for _, m := range d.sent {
			letters[m.ID]++
		}
		require.Len(t, letters, 6)
		for _, n := range letters {
			require.Equal(t, 2, n, "whoever sends it again sends the same")
		}
	})
}

func TestWhoIsOnThePlanAlreadyPaysNothingAgain(t *testing.T) {
	onEach(t, func(t *testing.T, d *till) {
		me := seeker()
		first := d.buy(me, "premium", "pm_one")
		require.Equal(t, first.ExpiresAt, d.buy(me, "premium", "pm_two").ExpiresAt)
		require.Equal(t, "pm_two", d.now(me).Subscription.Method.ID)
		require.Equal(t, []string{"started", "payment-method-changed"}, d.heard())
		up, err := d.Upgrade(t.Context(), me, billing.ChooseInput{PlanID: "premium"})
		require.NoError(t, err)
		require.True(t, up.AutoRenew)
		_, err = d.Cancel(t.Context(), me)
		require.NoError(t, err)
		d.clock.Advance(10 * day)
		resumed := d.buy(me, "premium", "pm_three")
		require.True(t, resumed.AutoRenew)
		require.Equal(t, first.ExpiresAt, resumed.ExpiresAt)
		require.Equal(t, []string{"cancelled", "payment-method-changed", "resumed"}, d.heard())
		_, n := d.pay.total()
		require.Equal(t, 1, n)
		d.until(first.ExpiresAt)
		require.Equal(t, []string{"renewed"}, d.heard())
	})
}

func TestTheFreePlanIsTakenByLettingThePaidOneEnd(t *testing.T) {
	onEach(t, func(t *testing.T, d *till) {
		me := seeker()
		require.Equal(t, "basic", d.buy(me, "basic", "").Plan)
		require.Equal(t, "basic", d.buy(me, "basic", "pm_one").Plan)
		d.buy(me, "premium", "pm_one")
		sub := d.buy(me, "basic", "")
		require.Equal(t, "premium", sub.Plan)
		require.False(t, sub.AutoRenew)
		require.Equal(t, []string{"started", "cancelled"}, d.heard())
	})
}

func TestAnUpgradeCostsWhatIsLeftOfThePresentMonthLess(t *testing.T) {
	onEach(t, func(t *testing.T, d *till) {
		me := seeker()
		sub := d.buy(me, "premium", "pm_one")
		d.clock.Advance(sub.ExpiresAt.Sub(d.clock.Now()) / 2)
		up, err := d.Upgrade(t.Context(), me, billing.ChooseInput{PlanID: "gold"})
		require.NoError(t, err)
		require.Equal(t, "gold", up.Plan)
		require.Equal(t, d.clock.Now().AddDate(0, 1, 0), up.ExpiresAt)
		require.EqualValues(t, 2999-499, d.now(me).History[0].Amount.Minor)
		require.Equal(t, []string{"started", "upgraded"}, d.heard())
		_, err = d.Upgrade(t.Context(), me, billing.ChooseInput{PlanID: "premium"})
		require.Equal(t, "planId", fault.Of(err).Fields[0].Name)
		d.until(up.ExpiresAt)
		require.EqualValues(t, 2999, d.now(me).History[0].Amount.Minor)
	})
}

func TestADeclinedPaymentBuysNothing(t *testing.T) {
	onEach(t, func(t *testing.T, d *till) {
		me := seeker()
		_, err := d.Create(t.Context(), me, billing.ChooseInput{PlanID: "premium", PaymentMethodID: sandboxpay.CardDeclined})
		require.ErrorIs(t, err, billing.ErrDeclined)
		_, err = d.UseMethod(t.Context(), me, sandboxpay.CardDeclined)
		require.ErrorIs(t, err, billing.ErrDeclined)
		require.Equal(t, billing.NewSubscription(billing.Owner{Kind: billing.User, ID: me.UserID}), d.now(me).Subscription)
		require.Empty(t, d.heard())

		// Declined when it is charged, as a card without money is.
		d.pay.silent = billing.ErrDeclined
		_, err = d.Create(t.Context(), me, billing.ChooseInput{PlanID: "premium", PaymentMethodID: "pm_empty"})
		require.ErrorIs(t, err, billing.ErrDeclined)
		d.pay.silent = nil
		o := d.now(me)
		require.Equal(t, "basic", o.Subscription.Plan)
		require.Empty(t, o.Subscription.Method.ID)
		require.Equal(t, billing.Declined, o.History[0].Status)
		require.Empty(t, d.heard())
		d.buy(me, "premium", "pm_full")
	})
}

func TestARenewalThatIsDeclinedIsTriedForAWeekAndThenThePlanEnds(t *testing.T) {
	onEach(t, func(t *testing.T, d *till) {
		me := seeker()
		sub := d.buy(me, "premium", sandboxpay.CardExpired)
		d.heard()
		d.until(sub.ExpiresAt)
		for i, wait := range []time.Duration{day, 2 * day, 4 * day} {
			o := d.now(me)
			require.Equal(t, billing.PastDue, o.Subscription.Status)
			require.Equal(t, "premium", o.Subscription.Plan)
			require.Len(t, o.History, 2+i)
			require.Equal(t, []string{"payment-failed"}, d.heard())
			d.pass(wait - time.Microsecond)
			require.Empty(t, d.heard())
			d.pass(time.Microsecond)
		}
		o := d.now(me)
		require.Equal(t, "basic", o.Subscription.Plan)
		require.Equal(t, billing.Active, o.Subscription.Status)
		require.Equal(t, []string{"lapsed"}, d.heard())
		require.Len(t, o.History, 5)
		_, n := d.pay.total()
		require.Equal(t, 1, n)
	})
}

func TestWhoIsPastDuePaysWithANewMethodAtOnce(t *testing.T) {
	onEach(t, func(t *testing.T, d *till) {
		me := seeker()
		d.until(d.buy(me, "premium", sandboxpay.CardExpired).ExpiresAt)
		require.Equal(t, []string{"started", "payment-failed"}, d.heard())
		d.clock.Advance(time.Hour)
		_, err := d.UseMethod(t.Context(), me, sandboxpay.CardDeclined)
		require.ErrorIs(t, err, billing.ErrDeclined)
		require.Equal(t, sandboxpay.CardExpired, d.now(me).Subscription.Method.ID)
		sub, err := d.UseMethod(t.Context(), me, "pm_card_mastercard")
		require.NoError(t, err)
		require.Equal(t, billing.Active, sub.Status)
		require.Equal(t, "mastercard", sub.Method.Brand)
		require.Equal(t, d.clock.Now().AddDate(0, 1, 0), sub.ExpiresAt)
		require.Equal(t, []string{"renewed"}, d.heard())
		d.pass(2 * day)
		require.Empty(t, d.heard(), "the retry is off")
	})
}

func TestWhoCancelsWhilePastDueIsOnTheBasicPlanAtOnce(t *testing.T) {
	onEach(t, func(t *testing.T, d *till) {
		me := seeker()
		d.until(d.buy(me, "premium", sandboxpay.CardExpired).ExpiresAt)
		sub, err := d.Cancel(t.Context(), me)
		require.NoError(t, err)
		require.Equal(t, "basic", sub.Plan)
		require.Equal(t, []string{"started", "payment-failed", "ended"}, d.heard())
		d.pass(10 * day)
		require.Empty(t, d.heard())
	})
}

func TestTwentyPurchasesAtOnceAreOneCharge(t *testing.T) {
	onEach(t, func(t *testing.T, d *till) {
		me := seeker()
		var all sync.WaitGroup
		for i := range 20 {
			all.Go(func() {
				sub, err := d.Create(context.Background(), me, billing.ChooseInput{PlanID: "premium", PaymentMethodID: "pm_one"})
				if err != nil || sub.Plan != "premium" {
					t.Error(i, sub, err)
				}
			})
		}
		all.Wait()
		_, n := d.pay.total()
		require.Equal(t, 1, n)
		require.Equal(t, 1, d.pay.asked, "the others wait for what one is told")
		require.Len(t, d.now(me).History, 1)
		require.Equal(t, []string{"started"}, d.heard())
	})
}

func TestWhoSeesToOneChargeWithOthersLeavesItToTheFirst(t *testing.T) {
	onEach(t, func(t *testing.T, d *till) {
		me := seeker()
		d.pay.silent = fault.ErrUnavailable
		_, err := d.Create(t.Context(), me, billing.ChooseInput{PlanID: "premium", PaymentMethodID: "pm_one"})
		require.Error(t, err)
		d.clock.Advance(time.Hour)
		d.before(1, func() { // another worker has read the same
			c, err := d.Charges.Pending(t.Context(), billing.Owner{Kind: billing.User, ID: me.UserID})
			require.NoError(t, err)
			ours, err := d.Charges.Claim(t.Context(), *c, d.clock.Now().Add(time.Minute))
			require.NoError(t, err)
			require.True(t, ours)
		})
		require.NoError(t, d.Renew(t.Context()))
		require.Equal(t, 1, d.pay.asked)
		d.pay.silent = nil
		d.pass(time.Hour)
		require.Equal(t, 2, d.pay.asked)
		require.Equal(t, "premium", d.now(me).Subscription.Plan)
	})
}

func TestAPurchaseThatIsDeclinedWhenNobodyWaitsReachesThePerson(t *testing.T) {
	onEach(t, func(t *testing.T, d *till) {
		me := seeker()
		d.pay.silent = errors.New("the line went dead")
		_, err := d.Create(t.Context(), me, billing.ChooseInput{PlanID: "premium", PaymentMethodID: "pm_one"})
		require.Error(t, err)
		d.pay.silent = billing.ErrDeclined
		d.pass(2 * time.Minute)
		require.Equal(t, []string{"payment-refused"}, d.heard())
		require.Contains(t, d.sent[0].Text, "The payment for the Premium plan was declined, so nothing has changed")
		require.Equal(t, "basic", d.now(me).Subscription.Plan)

		// Also at an upgrade, which leaves the plan before it as it was.
		d.pay.silent = nil
		d.buy(me, "premium", "pm_one")
		before := d.now(me).Subscription
		require.Equal(t, []string{"started"}, d.heard())
		d.clock.Advance(day)
		d.pay.silent = errors.New("the line went dead")
		_, err = d.Upgrade(t.Context(), me, billing.ChooseInput{PlanID: "gold"})
		require.Error(t, err)
		d.pay.silent = billing.ErrDeclined
		d.pass(2 * time.Minute)
		require.Equal(t, []string{"payment-refused"}, d.heard())
		require.Contains(t, d.sent[len(d.sent)-1].Text, "Gold plan")
		require.Equal(t, before, d.now(me).Subscription)
	})
}

func TestWhatCannotBeChargedIsTriedAgainLaterAndHoldsUpNobody(t *testing.T) {
	onEach(t, func(t *testing.T, d *till) {
		me := seeker()
		d.buy(me, "premium", "pm_one")
		owner := billing.Owner{Kind: billing.User, ID: me.UserID}
		require.NoError(t, d.store.Tx.Do(t.Context(), func(ctx context.Context) error {
			sub, err := d.store.Subscriptions.Lock(ctx, owner)
			if err != nil {
				return err
			}
			sub.Method = billing.Method{}
			return d.store.Subscriptions.Save(ctx, sub)
		}))
		d.clock.Advance(40 * day)
		require.ErrorContains(t, d.Renew(t.Context()), "no way to charge")
		due, err := d.store.Subscriptions.Due(t.Context(), d.clock.Now(), 10)
		require.NoError(t, err)
		require.Empty(t, due, "others are due before it is again")
		d.clock.Advance(time.Hour)
		require.ErrorContains(t, d.Renew(t.Context()), "no way to charge", "until somebody has seen to it")
	})
}

func TestARenewalIsOneChargeHoweverManyWorkersSeeToIt(t *testing.T) {
	onEach(t, func(t *testing.T, d *till) {
		var people []auth.Actor
		for range 3 {
			people = append(people, seeker())
			d.buy(people[len(people)-1], "premium", "pm_one")
		}
		d.heard()
		d.clock.Advance(40 * day)
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				if err := d.Renew(context.Background()); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		d.pass(time.Hour)
		_, n := d.pay.total()
		require.Equal(t, 6, n)
		require.Equal(t, []string{"renewed", "renewed", "renewed"}, d.heard())
	})
}

func TestAPaymentWhoseAnswerWasLostIsNeitherLostNorTakenTwice(t *testing.T) {
	onEach(t, func(t *testing.T, d *till) {
		me := seeker()
		d.pay.crash = errors.New("the line went dead")
		_, err := d.Create(t.Context(), me, billing.ChooseInput{PlanID: "premium", PaymentMethodID: "pm_one"})
		require.Equal(t, fault.Unavailable, fault.KindOf(err))
		require.Equal(t, "basic", d.now(me).Subscription.Plan)
		require.Equal(t, billing.Pending, d.now(me).History[0].Status)

		_, err = d.Create(t.Context(), me, billing.ChooseInput{PlanID: "premium", PaymentMethodID: "pm_two"})
		require.ErrorIs(t, err, billing.ErrUnderWay)
		_, err = d.Create(t.Context(), me, billing.ChooseInput{PlanID: "gold", PaymentMethodID: "pm_one"})
		require.ErrorIs(t, err, billing.ErrUnderWay)
		_, err = d.Create(t.Context(), me, billing.ChooseInput{PlanID: "premium", PaymentMethodID: "pm_one"})
		require.Equal(t, fault.Unavailable, fault.KindOf(err), "asked again for whoever waits, and silent still")

		require.NoError(t, d.Renew(t.Context()), "its moment has not come")
		d.clock.Advance(2 * time.Minute)
		require.Error(t, d.Renew(t.Context()), "asked again, and silent still")
		d.pay.crash = nil
		d.pass(time.Hour)
		require.Equal(t, "premium", d.now(me).Subscription.Plan)
		require.Equal(t, []string{"started"}, d.heard())
		_, n := d.pay.total()
		require.Equal(t, 1, n)

		// And at a renewal, during which its owner cancels.
		d.pay.crash = errors.New("the line went dead")
		d.clock.Advance(d.now(me).Subscription.ExpiresAt.Sub(d.clock.Now()))
		require.Error(t, d.Renew(t.Context()))
		sub, err := d.Cancel(t.Context(), me)
		require.NoError(t, err)
		require.Equal(t, "basic", sub.Plan)
		d.pay.crash = nil
		d.pass(2 * time.Hour)
		sub = d.now(me).Subscription
		require.Equal(t, "premium", sub.Plan, "it was paid for")
		require.False(t, sub.AutoRenew)
		d.pass(40 * day)
		require.Equal(t, "basic", d.now(me).Subscription.Plan)
		require.Equal(t, []string{"ended", "renewed", "ended"}, d.heard())
		_, n = d.pay.total()
		require.Equal(t, 2, n)
	})
}

func TestNobodyIsToldTheyCancelledWhatIsAboutToBegin(t *testing.T) {
	onEach(t, func(t *testing.T, d *till) {
		me := seeker()
		silent := func() {
			t.Helper()
			d.pay.silent = errors.New("the line went dead")
		}
		refused := func() {
			t.Helper()
			_, err := d.Cancel(t.Context(), me)
			require.ErrorIs(t, err, billing.ErrUnderWay)
			_, err = d.Create(t.Context(), me, billing.ChooseInput{PlanID: "basic"})
			require.ErrorIs(t, err, billing.ErrUnderWay)
			_, err = d.UseMethod(t.Context(), me, "pm_two")
			require.ErrorIs(t, err, billing.ErrUnderWay)
		}
		silent()
		_, err := d.Create(t.Context(), me, billing.ChooseInput{PlanID: "premium", PaymentMethodID: "pm_one"})
		require.Error(t, err)
		refused()
		d.pay.silent = nil
		d.pass(2 * time.Minute)
		require.Equal(t, "premium", d.now(me).Subscription.Plan)

		silent()
		_, err = d.Upgrade(t.Context(), me, billing.ChooseInput{PlanID: "gold"})
		require.Error(t, err)
		refused()
		d.pay.silent = nil
		d.pass(2 * time.Minute)
		require.Equal(t, "gold", d.now(me).Subscription.Plan)
		_, err = d.UseMethod(t.Context(), me, "pm_two")
		require.NoError(t, err)
		sub, err := d.Cancel(t.Context(), me)
		require.NoError(t, err)
		require.False(t, sub.AutoRenew)
		require.Equal(t, "pm_two", sub.Method.ID)
		require.Equal(t, []string{"started", "upgraded", "payment-method-changed", "cancelled"}, d.heard())
		d.pass(2 * time.Hour)
		require.False(t, d.now(me).Subscription.AutoRenew)
	})
}

func TestOnePersonsTroubleHoldsUpNobodyElse(t *testing.T) {
	onEach(t, func(t *testing.T, d *till) {
		for range 5 {
			d.buy(seeker(), "premium", "pm_one")
		}
		me := seeker()
		d.buy(me, "premium", "pm_one")
		d.heard()
		d.pay.silent = fault.ErrUnavailable
		d.clock.Advance(40 * day)
		require.Error(t, d.Renew(t.Context()))
		require.Equal(t, "premium", d.now(me).Subscription.Plan, "an outage of the provider is not the payer's fault")
		require.Equal(t, billing.Active, d.now(me).Subscription.Status)
		d.pay.silent = nil
		d.pass(2 * time.Hour)
		require.Len(t, d.heard(), 6)
	})
}

func TestWhoIsDeletedPaysNoMore(t *testing.T) {
	onEach(t, func(t *testing.T, d *till) {
		me := seeker()
		d.buy(me, "premium", "pm_one")
		d.heard()
		d.gone[me.UserID] = true
		d.pass(40 * day)
		_, n := d.pay.total()
		require.Equal(t, 1, n)
		require.Equal(t, "basic", d.now(me).Subscription.Plan)
		require.Empty(t, d.heard())
	})
}

func TestWhatWasPaidOutlivesTheAccountAndSaysNothingOfThePerson(t *testing.T) {
	onEach(t, func(t *testing.T, d *till) {
		me, other := seeker(), seeker()
		d.buy(me, "premium", "pm_one")
		d.buy(other, "premium", "pm_one")
		owner := billing.Owner{Kind: billing.User, ID: me.UserID}
		for range 2 {
			require.NoError(t, d.OnAccountDeleted(t.Context(), event.AccountDeleted{UserID: me.UserID}))
		}
		require.Equal(t, []billing.Owner{owner, owner}, d.pay.forgot)
		o := d.now(me)
		require.Equal(t, "basic", o.Subscription.Plan)
		require.Empty(t, o.History)
		require.Len(t, d.now(other).History, 1)

		// With a payment on its way, whose answer comes later.
		late := seeker()
		d.pay.crash = errors.New("the line went dead")
		_, err := d.Create(t.Context(), late, billing.ChooseInput{PlanID: "premium", PaymentMethodID: "pm_one"})
		require.Error(t, err)
		require.NoError(t, d.OnAccountDeleted(t.Context(), event.AccountDeleted{UserID: late.UserID}))
		d.pay.crash = nil
		d.gone[late.UserID] = true
		d.pass(time.Hour)
		require.Equal(t, "basic", d.now(late).Subscription.Plan)
		waiting, err := d.store.Charges.Waiting(t.Context(), d.clock.Now().Add(1000*day), 10)
		require.NoError(t, err)
		require.Empty(t, waiting, "it has its answer")
		d.pass(20 * day)
		_, n := d.pay.total()
		require.Equal(t, 3, n)
	})
}

func TestOnlyJobseekersHaveBilling(t *testing.T) {
	onEach(t, func(t *testing.T, d *till) {
		for _, by := range []auth.Actor{{}, {UserID: stores.NewID(), Role: auth.Employer, OrganizationID: stores.NewID(), Permissions: []auth.Permission{auth.Manage}}} {
			_, err := d.Mine(t.Context(), by)
			require.ErrorIs(t, err, fault.ErrForbidden)
			for _, try := range []func() (billing.Subscription, error){
				func() (billing.Subscription, error) {
					return d.Create(t.Context(), by, billing.ChooseInput{PlanID: "premium", PaymentMethodID: "pm_one"})
				},
				func() (billing.Subscription, error) {
					return d.Upgrade(t.Context(), by, billing.ChooseInput{PlanID: "premium", PaymentMethodID: "pm_one"})
				},
				func() (billing.Subscription, error) { return d.UseMethod(t.Context(), by, "pm_one") },
				func() (billing.Subscription, error) { return d.Cancel(t.Context(), by) },
			} {
				_, err := try()
				require.ErrorIs(t, err, fault.ErrForbidden)
			}
		}
	})
}

func TestWhatIsNotAPlanOrAMethodIsNamed(t *testing.T) {
	t.Parallel()
	d := open(t, stores.SQLite)
	for _, c := range []struct{ plan, method, field string }{
		{"", "pm_one", "planId"}, {"platinum", "pm_one", "planId"}, {"premium", "", "paymentMethodId"}, {"premium", "card", "paymentMethodId"},
		{"premium", "pm_a b", "paymentMethodId"}, {"premium", "pm_" + strings.Repeat("x", 300), "paymentMethodId"}, {"premium", sandboxpay.MethodMissing, "paymentMethodId"},
		{"premium", "pm_4242424242424242", "paymentMethodId"},
	} {
		_, err := d.Create(t.Context(), seeker(), billing.ChooseInput{PlanID: c.plan, PaymentMethodID: c.method})
		require.Equal(t, fault.Invalid, fault.KindOf(err), "%+v", c)
		require.Equal(t, c.field, fault.Of(err).Fields[0].Name, "%+v", c)
	}
	_, err := d.Upgrade(t.Context(), seeker(), billing.ChooseInput{PlanID: "basic"})
	require.Equal(t, "planId", fault.Of(err).Fields[0].Name)
	_, err = d.UseMethod(t.Context(), seeker(), "")
	require.Equal(t, "paymentMethodId", fault.Of(err).Fields[0].Name)
	_, n := d.pay.total()
	require.Zero(t, n)
}

func TestNumbersOfCardsAreSeenWhereverTheyStand(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]bool{
		`{"paymentMethodId":"4242424242424242"}`:            true,
		`{"paymentMethodId":"4242 4242 4242 4242"}`:         true,
		`{"x":{"y":["pan 4242-4242-4242-4242."]}}`:          true,
		`{"n":4242424242424242}`:                            true,
		`{"x":"\u0034242424242424242"}`:                     true,
		`{"4242424242424242":1}`:                            true,
		`{"amex":"378282246310005"}`:                        true,
		`4242424242424242`:                                  true,
		`{"paymentMethodId":"4242424242424241"}`:            false,
		`{"paymentMethodId":"pm_1NvXyZ2eZvKYlo2C0a1b2c3d"}`: false,
		`{"phone":"+44 20 7946 0958"}`:                      false,
		`{"id":"0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b"}`:     false,
		`{"long":"42424242424242424242424242424242"}`:       false,
		`{"at":"2026-03-17T10:30:00Z","planId":"premium"}`:  false,
		`not json 4242424242424242`:                         true,
		``:                                                  false,
	} {
		require.Equal(t, want, billing.HoldsCardNumber([]byte(body)), body)
	}
}
