package billing

import (
	"context"
	"errors"
	"fmt"
	"strings"
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

// maxHistory is how much of the past an account is shown.
const maxHistory = 100

// maxMethodID bounds what a provider's id may be, in characters.
const maxMethodID = 255

// Overview is all that an owner sees of their billing.
type Overview struct {
	Subscription Subscription
	Plans        []Plan
	History      []Charge // the newest first, at most 100
}

// Mine shows the caller's billing.
func (s *Service) Mine(ctx context.Context, by auth.Actor) (Overview, error) {
	if !by.Seeker {
		return Overview{}, fault.ErrForbidden
	}
	o := Owner{User, by.UserID}
	sub, err := s.Of(ctx, o)
	if err != nil {
		return Overview{}, err
	}
	history, err := s.Charges.List(ctx, ChargeFilter{Owner: o}, maxHistory)
	return Overview{Subscription: sub, Plans: s.plansOf(o), History: history}, err
}

// Of is the owner's subscription as it stands now.
func (s *Service) Of(ctx context.Context, o Owner) (Subscription, error) {
	return Standing{s.Subscriptions, s.Clock}.Of(ctx, o)
}

// Standing answers how a subscription stands and needs no more than that, for
// those whom the module itself asks about people.
type Standing struct {
	Subscriptions Subscriptions
	Clock         clock.Clock
}

// Of is the owner's subscription as it stands now.
func (s Standing) Of(ctx context.Context, o Owner) (Subscription, error) {
	sub, err := s.Subscriptions.Get(ctx, o)
	return sub.At(s.Clock.Now()), err
}

// ChooseInput is a plan to be on.
type ChooseInput struct {
	PlanID string
	// PaymentMethodID is what is charged; empty for the method on file.
	PaymentMethodID string
}

// Create subscribes the caller to a plan and takes the first payment. Who is on
// the plan already pays nothing again: it goes on if it was cancelled, with the
// method given. What is left of another plan goes towards this one, also towards
// one that costs less. The free plan is taken by letting a paid one end; a method
// given with it is kept on file, so that Upgrade needs none.
func (s *Service) Create(ctx context.Context, by auth.Actor, in ChooseInput) (Subscription, error) {
	return s.chooseOwn(ctx, by, in, true)
}

// Upgrade moves the caller to a plan that costs more, against what is left of
// the present one's period, and never to one that costs less.
func (s *Service) Upgrade(ctx context.Context, by auth.Actor, in ChooseInput) (Subscription, error) {
	return s.chooseOwn(ctx, by, in, false)
}

func (s *Service) chooseOwn(ctx context.Context, by auth.Actor, in ChooseInput, down bool) (Subscription, error) {
	if !by.Seeker {
		return Subscription{}, fault.ErrForbidden
	}
	return s.choose(ctx, Owner{User, by.UserID}, in, down)
}

// ChooseFor puts an owner on a plan in the name of somebody who may; whether they
// may is for the caller to know. What is left of the present plan's period goes
// towards the next: one that costs less goes on for the longer, and takes no
// payment now. The free plan lets a paid one end with what is paid for.
func (s *Service) ChooseFor(ctx context.Context, o Owner, in ChooseInput) (Subscription, error) {
	return s.choose(ctx, o, in, true)
}

func (s *Service) choose(ctx context.Context, o Owner, in ChooseInput, down bool) (Subscription, error) {
	plan, err := known(s.Plans, o.Kind, in.PlanID)
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
	var sub Subscription
	var charge *Charge
	err = s.Tx.Do(ctx, func(ctx context.Context) (err error) {
		sub, charge, err = s.open(ctx, o, plan, method, down)
		return err
	})
	if err != nil || charge == nil {
		return sub, err
	}
	if sub, err = s.attend(ctx, *charge); err != nil {
		return Subscription{}, err
	}
	return sub, nil
}

// attend goes on with a charge for whom somebody waits. While another asks about
// it, theirs is the answer; one that does not come is asked for again.
func (s *Service) attend(ctx context.Context, c Charge) (sub Subscription, err error) {
	if c.Attempts == 0 || !c.NextAt.After(s.Clock.Now()) {
		if sub, err = s.settle(ctx, c, true); !errors.Is(err, errAsked) {
			return sub, err
		}
	}
	if sub, err = s.outcome(ctx, c); !errors.Is(err, errAsked) {
		return sub, err
	}
	again, err := s.pendingCharge(ctx, c.Owner)
	switch {
	case err != nil:
		return sub, err
	case again == nil || again.ID != c.ID:
		return s.settled(ctx, c)
	}
	if sub, err = s.settle(ctx, *again, true); errors.Is(err, errAsked) {
		err = ErrUnderWay.WithRetryAfter(patience(0))
	}
	return sub, err
}

// How often, and how many times, who waits for another's answer looks for it.
const (
	lookEvery = 50 * time.Millisecond
	looks     = 60
)

// outcome waits a while for what another who asks about the charge is told.
func (s *Service) outcome(ctx context.Context, c Charge) (Subscription, error) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for range looks {
		select {
		case <-ctx.Done():
			return Subscription{}, ctx.Err()
		case <-timer.C:
			timer.Reset(lookEvery)
		}
		if sub, err := s.settled(ctx, c); !errors.Is(err, errAsked) {
			return sub, err
		}
	}
	return Subscription{}, errAsked
}

// open finds out what choosing the plan takes: nothing but to go on with it, or to
// turn to it with what is paid for, or a charge, which may be there already if the
// same was asked for a moment ago.
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
		return sub, nil, ErrUnderWay.WithRetryAfter(patience(0))
	case pending != nil:
		return sub, pending, nil
	}
	if method.ID == "" {
		method = sub.Method
	}
	if sub.Plan == plan.ID && sub.ExpiresAt.After(now) {
		resumed, replaced := !sub.AutoRenew, sub.Method.ID != method.ID
		sub.AutoRenew, sub.Method = true, method
		err := s.Subscriptions.Update(ctx, sub)
		if err == nil && replaced {
			err = s.record(ctx, sub, event.SubscriptionMethodChanged)
		}
		if err == nil && resumed {
			err = s.record(ctx, sub, event.SubscriptionResumed)
		}
		return sub, nil, err
	}
	if method.ID == "" {
		return sub, nil, fault.InvalidField("paymentMethodId", "is required: there is no payment method on file")
	}
	c := Charge{ID: s.NewID(), Owner: o, Plan: plan.ID, Amount: plan.Price, Method: method, Status: Pending,
		PeriodStart: now, PeriodEnd: monthAfter(now, now), CreatedAt: now, NextAt: now.Add(patience(0))}
	if sub.Plan != o.Free() && sub.Plan != plan.ID {
		present, _ := s.plan(sub.Plan)
		lower := plan.Price.Minor <= present.Price.Minor
		if lower && !down {
			return sub, nil, fault.InvalidField("planId", "is no upgrade; cancel the subscription and choose it when the present one has ended")
		}
		rest := credit(sub, present.Price, now)
		if rest > 0 && lower || rest > plan.Price.Minor-leastCharge {
			change := event.SubscriptionUpgraded
			if lower {
				change = event.SubscriptionDowngraded
			}
			sub.turnTo(plan, rest, now)
			sub.Method = method
			if err := s.Subscriptions.Update(ctx, sub); err != nil {
				return sub, nil, err
			}
			return sub, nil, s.record(ctx, sub, change)
		}
		c.Amount.Minor -= rest
	}
	return sub, &c, s.Charges.Create(ctx, c)
}

// Cancel lets the caller's plan end with what is paid for. Who is on the basic
// plan, or has cancelled before, stays where they are. While a purchase waits
// for its answer it is ErrUnderWay, so that no cancellation is lost to it.
func (s *Service) Cancel(ctx context.Context, by auth.Actor) (Subscription, error) {
	if !by.Seeker {
		return Subscription{}, fault.ErrForbidden
	}
	return s.cancel(ctx, Owner{User, by.UserID}, Method{})
}

// cancel lets the owner's plan end with what is paid for. It keeps the payment
// method on file for a later plan, unless it is zero.
func (s *Service) cancel(ctx context.Context, o Owner, method Method) (sub Subscription, err error) {
	err = s.Tx.Do(ctx, func(ctx context.Context) error {
		if sub, err = s.Subscriptions.Lock(ctx, o); err != nil {
			return err
		}
		if err := s.undecided(ctx, o); err != nil {
			return err
		}
		now := s.Clock.Now()
		sub = sub.At(now)
		var changes []string
		if method.ID != "" && method.ID != sub.Method.ID {
			sub.Method = method
			changes = append(changes, event.SubscriptionMethodChanged)
		}
		if change := sub.cancel(now); change != "" {
			changes = append(changes, change)
		}
		if len(changes) == 0 {
			return nil
		}
		if err := s.Subscriptions.Update(ctx, sub); err != nil {
			return err
		}
		for _, change := range changes {
			if err := s.record(ctx, sub, change); err != nil {
				return err
			}
		}
		return nil
	})
	return sub, err
}

// UseMethod makes a payment method the one that is charged from now on. Who is
// past due pays with it at once, and keeps the one before if it is declined.
func (s *Service) UseMethod(ctx context.Context, by auth.Actor, methodID string) (Subscription, error) {
	if !by.Seeker {
		return Subscription{}, fault.ErrForbidden
	}
	if methodID == "" {
		return Subscription{}, fault.InvalidField("paymentMethodId", "is required")
	}
	o := Owner{User, by.UserID}
	switch sub, err := s.Of(ctx, o); {
	case err != nil:
		return sub, err
	case sub.Status == PastDue:
		return s.choose(ctx, o, ChooseInput{PlanID: sub.Plan, PaymentMethodID: methodID}, false)
	}
	method, err := s.attach(ctx, o, methodID)
	if err != nil {
		return Subscription{}, err
	}
	var sub Subscription
	err = s.Tx.Do(ctx, func(ctx context.Context) error {
		if sub, err = s.Subscriptions.Lock(ctx, o); err != nil {
			return err
		}
		if err := s.undecided(ctx, o); err != nil {
			return err
		}
		before := sub.Method
		sub.Method = method
		if err := s.Subscriptions.Update(ctx, sub); err != nil || before.ID == method.ID {
			return err
		}
		return s.record(ctx, sub, event.SubscriptionMethodChanged)
	})
	return sub.At(s.Clock.Now()), err
}

// pendingCharge returns the owner's pending charge, nil without one.
func (s *Service) pendingCharge(ctx context.Context, o Owner) (*Charge, error) {
	found, err := s.Charges.List(ctx, ChargeFilter{Owner: o, Status: Pending}, 1)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return &found[0], nil
}

// undecided is ErrUnderWay while a purchase waits for its answer: what it brings
// is not known yet, and would be put over whatever was changed meanwhile. A
// renewal leaves alone what its owner says during it.
func (s *Service) undecided(ctx context.Context, o Owner) error {
	pending, err := s.pendingCharge(ctx, o)
	if err != nil || pending == nil || pending.Renewal {
		return err
	}
	return ErrUnderWay.WithRetryAfter(patience(0))
}

func (s *Service) attach(ctx context.Context, o Owner, methodID string) (Method, error) {
	if err := CheckMethodID(methodID); err != nil {
		return Method{}, err
	}
	return s.Payments.Attach(ctx, o, methodID)
}

// CheckMethodID is a fault about the field paymentMethodId if the text cannot be
// the id of a payment method, whoever the provider is.
func CheckMethodID(text string) error {
	if len(text) > maxMethodID || holdsCard(text) || !strings.HasPrefix(text, "pm_") || strings.ContainsFunc(text, notOfAnID) {
		return fault.InvalidField("paymentMethodId", "must be the id of a payment method, pm_…")
	}
	return nil
}

func notOfAnID(r rune) bool {
	return r != '_' && r != '-' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
}

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

// changesPlan are the changes of a subscription that its owner makes.
var changesPlan = map[string]bool{
	event.SubscriptionStarted: true, event.SubscriptionUpgraded: true, event.SubscriptionDowngraded: true,
	event.SubscriptionCancelled: true, event.SubscriptionResumed: true,
}

// Periodic is what the module does by the clock.
func (s *Service) Periodic() []task.Periodic {
	return []task.Periodic{{Kind: "billing.renew", Every: 30 * time.Second, Longest: 5 * time.Minute, Do: s.Renew}}
}

func (s *Service) describe(c Charge) string {
	plan, _ := s.plan(c.Plan)
	return fmt.Sprintf("%s, %s to %s", plan.Name, day(c.PeriodStart), day(c.PeriodEnd))
}

func day(t time.Time) string { return t.UTC().Format("2 January 2006") }
