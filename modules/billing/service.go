package billing

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/locumhq/locum/core/audit"
	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/clock"
	"github.com/locumhq/locum/core/event"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/id"
	"github.com/locumhq/locum/core/mail"
	"github.com/locumhq/locum/core/task"
	"github.com/locumhq/locum/core/tx"
)

// Deps are the ports and settings of the module.
type Deps struct {
	Tx            tx.Runner
	Events        event.Recorder
	Audit         audit.Recorder
	Clock         clock.Clock
	NewID         id.Source
	Subscriptions Subscriptions
	Charges       Charges
	Payments      Payments
	People        People
	Mailer        mail.Mailer
	// Plans are the plans for sale, those of each kind of owner by price; the first
	// is free.
	Plans []Plan
	// PublicURL is the address of the service, for links in mails.
	PublicURL string
}

// Service implements the use cases of the module.
type Service struct{ Deps }

// New returns a service.
func New(d Deps) *Service { return &Service{d} }

// maxHistory is the number of charges in an Overview.
const maxHistory = 100

// Overview is the billing of an owner.
type Overview struct {
	Subscription Subscription
	Plans        []Plan
	History      []Charge // the newest first, at most 100
}

// Mine returns the caller's billing.
func (s *Service) Mine(ctx context.Context, by auth.Actor) (Overview, error) {
	if err := by.RequireSeeker(); err != nil {
		return Overview{}, err
	}
	o := Owner{User, by.UserID}
	sub, err := s.Current(ctx, o)
	if err != nil {
		return Overview{}, err
	}
	history, err := s.Charges.List(ctx, ChargeFilter{Owner: o}, maxHistory)
	return Overview{Subscription: sub, Plans: s.plansOf(o), History: history}, err
}

// Current returns the owner's present subscription.
func (s *Service) Current(ctx context.Context, o Owner) (Subscription, error) {
	return Reader{s.Subscriptions, s.Clock}.Current(ctx, o)
}

// Reader reads subscriptions. It needs fewer ports than Service, so that modules
// that Service depends on can use it.
type Reader struct {
	Subscriptions Subscriptions
	Clock         clock.Clock
}

// Current returns the owner's present subscription.
func (s Reader) Current(ctx context.Context, o Owner) (Subscription, error) {
	sub, err := s.Subscriptions.Get(ctx, o)
	return sub.At(s.Clock.Now()), err
}

// ChooseInput selects a plan.
type ChooseInput struct {
	PlanID string
	// PaymentMethodID is the method to charge; empty for the one on file.
	PaymentMethodID string
}

// Create subscribes the caller to a plan and collects the first payment. If the caller
// has the plan already, nothing is charged: a cancelled subscription resumes, with the
// given method. The rest of another plan is credited, also to a cheaper one. The free
// plan lets a paid one end; a method given with it is stored for Upgrade. A payment that
// waits for the payer is an *ActionRequiredError. After the action, a repeated call
// returns the result, and another plan or method abandons the payment.
func (s *Service) Create(ctx context.Context, by auth.Actor, in ChooseInput) (Subscription, error) {
	return s.chooseOwn(ctx, by, in, true)
}

// Upgrade moves the caller to a more expensive plan and credits the rest of the
// present period. Cheaper plans are rejected.
func (s *Service) Upgrade(ctx context.Context, by auth.Actor, in ChooseInput) (Subscription, error) {
	return s.chooseOwn(ctx, by, in, false)
}

func (s *Service) chooseOwn(ctx context.Context, by auth.Actor, in ChooseInput, down bool) (Subscription, error) {
	if err := by.RequireSeeker(); err != nil {
		return Subscription{}, err
	}
	return s.choose(ctx, Owner{User, by.UserID}, in, down)
}

// ChooseFor puts an owner on a plan. The caller has checked permissions. The rest of
// the present period is credited: a cheaper plan lasts longer, without a payment. The
// free plan lets a paid one end with its period.
func (s *Service) ChooseFor(ctx context.Context, o Owner, in ChooseInput) (Subscription, error) {
	return s.choose(ctx, o, in, true)
}

func (s *Service) choose(ctx context.Context, o Owner, in ChooseInput, down bool) (Subscription, error) {
	plan, err := findPlan(s.Plans, o.Kind, in.PlanID)
	if err != nil {
		return Subscription{}, err
	}
	if plan.Free() && !down {
		return Subscription{}, fault.InvalidField("planId", "is no upgrade; cancel the subscription to return to it")
	}
	var method Method
	if in.PaymentMethodID != "" {
		if method, err = s.attach(ctx, o, in.PaymentMethodID); err != nil {
			return Subscription{}, err
		}
	}
	if plan.Free() {
		return s.cancel(ctx, o, method)
	}
	if err := s.abandonOther(ctx, o, plan.ID, method.ID); err != nil {
		return Subscription{}, err
	}
	var sub Subscription
	var charge *Charge
	err = s.Tx.Do(ctx, func(ctx context.Context) (err error) {
		sub, charge, err = s.open(ctx, o, plan, method, down)
		return err
	})
	if err != nil || charge == nil {
		return sub, err
	}
	return s.complete(ctx, *charge)
}

// complete calls the provider for a charge on behalf of a caller who waits. While
// another call is in progress, it waits for that result; without one it calls again.
func (s *Service) complete(ctx context.Context, c Charge) (sub Subscription, err error) {
	if c.waits() {
		return s.collect(ctx, c, attempt{attended: true})
	}
	if c.Attempts == 0 || !c.NextAt.After(s.Clock.Now()) {
		if sub, err = s.process(ctx, c, true); !errors.Is(err, errInProgress) {
			return sub, err
		}
	}
	if sub, err = s.awaitResult(ctx, c); !errors.Is(err, errInProgress) {
		return sub, err
	}
	again, err := s.pendingCharge(ctx, c.Owner)
	switch {
	case err != nil:
		return sub, err
	case again == nil || again.ID != c.ID:
		return s.result(ctx, c)
	case again.waits():
		return s.collect(ctx, *again, attempt{attended: true})
	}
	if sub, err = s.process(ctx, *again, true); errors.Is(err, errInProgress) {
		err = errUnderWay()
	}
	return sub, err
}

// The interval and the number of polls for the result of a concurrent call.
const (
	pollEvery = 50 * time.Millisecond
	maxPolls  = 60
)

// awaitResult polls for the result of a concurrent call of the provider.
func (s *Service) awaitResult(ctx context.Context, c Charge) (Subscription, error) {
	for range maxPolls {
		if sub, err := s.result(ctx, c); !errors.Is(err, errInProgress) || errors.Is(err, errWaits) {
			return sub, err
		}
		select {
		case <-ctx.Done():
			return Subscription{}, ctx.Err()
		case <-time.After(pollEvery):
		}
	}
	return Subscription{}, errInProgress
}

// open prepares the choice of a plan. It returns no charge if the subscription only
// resumes, or the credit pays for the plan; otherwise the pending charge, which may
// exist already if the request is repeated.
func (s *Service) open(ctx context.Context, o Owner, plan Plan, method Method, down bool) (Subscription, *Charge, error) {
	sub, err := s.Subscriptions.Lock(ctx, o)
	if err != nil {
		return sub, nil, err
	}
	now := s.Clock.Now()
	sub = sub.At(now)
	pending, err := s.pendingCharge(ctx, o)
	switch {
	case err != nil:
		return sub, nil, err
	case pending != nil && pending.Plan != plan.ID, pending != nil && method.ID != "" && pending.Method.ID != method.ID:
		return sub, nil, errUnderWay()
	case pending != nil:
		return sub, pending, nil
	}
	method = cmp.Or(method, sub.Method)
	if sub.Plan == plan.ID && sub.ExpiresAt.After(now) {
		changed, resumed := sub.use(method), sub.resume()
		return sub, nil, s.store(ctx, sub, changed, resumed)
	}
	if method.ID == "" {
		return sub, nil, fault.InvalidField("paymentMethodId", "is required: there is no payment method on file")
	}
	c := Charge{ID: s.NewID(), Owner: o, Plan: plan.ID, Amount: plan.Price, Method: method, Status: Pending,
		PeriodStart: now, PeriodEnd: monthAfter(now, now), CreatedAt: now, NextAt: now.Add(retryDelay(0))}
	if sub.Plan != o.Free() && sub.Plan != plan.ID {
		present, _ := s.plan(sub.Plan)
		lower := plan.Price.Minor <= present.Price.Minor
		if lower && !down {
			return sub, nil, fault.InvalidField("planId", "is no upgrade; cancel the subscription and choose it when the present one has ended")
		}
		rest := credit(sub, present.Price, now)
		if rest > 0 && lower || rest > plan.Price.Minor-minCharge {
			change := event.SubscriptionUpgraded
			if lower {
				change = event.SubscriptionDowngraded
			}
			sub.switchTo(plan, rest, now)
			sub.Method = method
			return sub, nil, s.store(ctx, sub, change)
		}
		c.Amount.Minor -= rest
	}
	return sub, &c, s.Charges.Create(ctx, c)
}

// Cancel lets the caller's plan end with the paid period. On the basic plan, or if it
// was cancelled before, nothing changes. A payment that waits for the payer is
// abandoned. While another purchase is pending it fails with ErrUnderWay, since the
// purchase would revoke the cancellation.
func (s *Service) Cancel(ctx context.Context, by auth.Actor) (Subscription, error) {
	if err := by.RequireSeeker(); err != nil {
		return Subscription{}, err
	}
	return s.cancel(ctx, Owner{User, by.UserID}, Method{})
}

// cancel lets the owner's plan end with the paid period, and stores the payment
// method, unless it is zero.
func (s *Service) cancel(ctx context.Context, o Owner, method Method) (sub Subscription, err error) {
	if err := s.abandonOther(ctx, o, "", ""); err != nil {
		return sub, err
	}
	err = s.Tx.Do(ctx, func(ctx context.Context) error {
		if sub, err = s.lockUnlessPurchasing(ctx, o); err != nil {
			return err
		}
		now := s.Clock.Now()
		sub = sub.At(now)
		var changed string
		if method.ID != "" {
			changed = sub.use(method)
		}
		if cancelled := sub.cancel(now); cancelled != "" || changed != "" {
			return s.store(ctx, sub, changed, cancelled)
		}
		return nil
	})
	return sub, err
}

// pendingCharge returns the owner's pending charge, nil without one.
func (s *Service) pendingCharge(ctx context.Context, o Owner) (*Charge, error) {
	found, err := s.Charges.List(ctx, ChargeFilter{Owner: o, Status: Pending}, 1)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return &found[0], nil
}

// lockUnlessPurchasing locks the owner's subscription. It fails with ErrUnderWay while a
// purchase is pending, whose result would overwrite other changes. A renewal does not.
func (s *Service) lockUnlessPurchasing(ctx context.Context, o Owner) (Subscription, error) {
	sub, err := s.Subscriptions.Lock(ctx, o)
	if err != nil {
		return sub, err
	}
	pending, err := s.pendingCharge(ctx, o)
	if err == nil && pending != nil && !pending.Renewal {
		err = errUnderWay()
	}
	return sub, err
}

// errUnderWay returns ErrUnderWay for a client that tries again soon.
func errUnderWay() error { return ErrUnderWay.WithRetryAfter(retryDelay(0)) }

// store updates the subscription and records its changes that are not empty.
func (s *Service) store(ctx context.Context, sub Subscription, changes ...string) error {
	err := s.Subscriptions.Update(ctx, sub)
	for _, change := range changes {
		if err == nil && change != "" {
			err = s.record(ctx, sub, change)
		}
	}
	return err
}

// record records a change of the subscription as an event and, if its owner has made it,
// in the audit log.
func (s *Service) record(ctx context.Context, sub Subscription, change string) error {
	e := event.SubscriptionChanged{OwnerKind: string(sub.Owner.Kind), OwnerID: sub.Owner.ID, Change: change,
		Plan: sub.Plan, Status: string(sub.Status), ChangedAt: s.Clock.Now()}
	if !sub.ExpiresAt.IsZero() {
		e.ExpiresAt = &sub.ExpiresAt
	}
	if !sub.NextAt.IsZero() {
		e.NextAt = &sub.NextAt
	}
	if sub.Owner.Kind == User && changesPlan[change] {
		if err := s.Audit.Record(ctx, audit.Entry{Action: audit.PlanChanged, Actor: sub.Owner.ID, Object: sub.Owner.ID, Detail: change}); err != nil {
			return err
		}
	}
	return s.Events.Record(ctx, e)
}

// changesPlan are the changes of a subscription that its owner makes, which are
// audited.
var changesPlan = map[string]bool{
	event.SubscriptionStarted: true, event.SubscriptionUpgraded: true, event.SubscriptionDowngraded: true,
	event.SubscriptionCancelled: true, event.SubscriptionResumed: true,
}

// Periodic returns the periodic tasks of the module.
func (s *Service) Periodic() []task.Periodic {
	return []task.Periodic{{Kind: "billing.renew", Every: 30 * time.Second, Timeout: 5 * time.Minute, Do: s.Renew}}
}

func (s *Service) describe(c Charge) string {
	plan, _ := s.plan(c.Plan)
	return fmt.Sprintf("%s, %s to %s", plan.Name, day(c.PeriodStart), day(c.PeriodEnd))
}

func day(t time.Time) string { return t.UTC().Format("2 January 2006") }
