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
	// Plans are the plans for sale. The plans of a kind of owner are sorted by price, and
	// the first of them is free.
	Plans []Plan
	// PublicURL is the URL of the service, for links in e-mails.
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

// Reader reads subscriptions. It needs fewer ports than Service, so that the modules on which
// Service depends can use it.
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
	// PaymentMethodID is the method to charge. If it is empty, the stored method is charged.
	PaymentMethodID string
}

// Create subscribes the caller to a plan and collects the first payment, less a credit for the
// rest of another plan. If the caller has the plan already, nothing is charged; a cancelled
// subscription is renewed again, with the given method. The free plan ends the paid plan with
// its period; a method given with it is stored for a later Upgrade.
//
// If the payer has to confirm the payment, Create returns an *ActionRequiredError. After the
// confirmation, the same call returns the result. A call with another plan or method abandons
// the payment.
func (s *Service) Create(ctx context.Context, by auth.Actor, in ChooseInput) (Subscription, error) {
	const allowCheaper = true

	return s.chooseOwn(ctx, by, in, allowCheaper)
}

// Upgrade moves the caller to a more expensive plan and credits the rest of the
// present period. Cheaper plans are rejected.
func (s *Service) Upgrade(ctx context.Context, by auth.Actor, in ChooseInput) (Subscription, error) {
	const allowCheaper = false

	return s.chooseOwn(ctx, by, in, allowCheaper)
}

// chooseOwn puts the caller on a plan. It calls choose after it has checked that the caller is a
// jobseeker.
func (s *Service) chooseOwn(ctx context.Context, by auth.Actor, in ChooseInput, allowCheaper bool) (Subscription, error) {
	if err := by.RequireSeeker(); err != nil {
		return Subscription{}, err
	}

	return s.choose(ctx, Owner{User, by.UserID}, in, allowCheaper)
}

// ChooseFor puts an owner on a plan. The caller has checked permissions. The rest of the
// current period is credited; a cheaper plan is not charged but lasts longer. The free plan
// ends the paid plan with its period.
func (s *Service) ChooseFor(ctx context.Context, o Owner, in ChooseInput) (Subscription, error) {
	const allowCheaper = true

	return s.choose(ctx, o, in, allowCheaper)
}

// choose puts the owner on a plan, and collects the payment if one is needed. If allowCheaper
// is false, the free plan and cheaper plans are faults.
func (s *Service) choose(ctx context.Context, o Owner, in ChooseInput, allowCheaper bool) (Subscription, error) {
	plan, err := findPlan(s.Plans, o.Kind, in.PlanID)
	if err != nil {
		return Subscription{}, err
	}

	if plan.Free() && !allowCheaper {
		return Subscription{}, fault.InvalidField("planId", "is no upgrade; cancel the subscription to return to it")
	}

	var method Method // zero for the stored method
	if in.PaymentMethodID != "" {
		if method, err = s.attach(ctx, o, in.PaymentMethodID); err != nil {
			return Subscription{}, err
		}
	}

	if plan.Free() {
		return s.cancel(ctx, o, method)
	}

	// A payment for another plan or method must not be confirmed after this choice.
	if err := s.abandonOther(ctx, o, plan.ID, method.ID); err != nil {
		return Subscription{}, err
	}

	var sub Subscription
	var charge *Charge // nil if nothing has to be paid

	err = s.Tx.Do(ctx, func(ctx context.Context) (err error) {
		sub, charge, err = s.openCharge(ctx, o, plan, method, allowCheaper)
		return err
	})
	if err != nil || charge == nil {
		return sub, err
	}

	return s.completeCharge(ctx, *charge)
}

// completeCharge collects a pending charge (a stored payment without a result) while the payer waits.
// To collect a charge, a caller first claims it: only one of several concurrent callers can, until
// NextAt of the charge. If another caller has claimed the charge, completeCharge waits for its
// result. If that caller gets no result, completeCharge collects the charge itself.
func (s *Service) completeCharge(ctx context.Context, charge Charge) (Subscription, error) {
	if charge.awaitsPayer() {
		return s.collect(ctx, charge, attempt{attended: true})
	}

	// Collect the charge, unless the claim of another caller is still valid.
	isFirstAttempt := charge.Attempts == 0
	isDue := !charge.NextAt.After(s.Clock.Now())

	if isFirstAttempt || isDue {
		sub, err := s.claimAndCollect(ctx, charge, true)
		if !errors.Is(err, errInProgress) {
			return sub, err
		}
	}

	// Otherwise wait for the result of the other caller.
	sub, err := s.awaitResult(ctx, charge)
	if !errors.Is(err, errInProgress) {
		return sub, err
	}

	// The other caller has no result yet: continue with the charge as it is stored now.
	pending, err := s.pendingCharge(ctx, charge.Owner)
	if err != nil {
		return sub, err
	}

	if pending == nil || pending.ID != charge.ID { // the result has been stored since the last poll
		return s.getResult(ctx, charge)
	}

	if pending.awaitsPayer() {
		return s.collect(ctx, *pending, attempt{attended: true})
	}

	sub, err = s.claimAndCollect(ctx, *pending, true)
	if errors.Is(err, errInProgress) {
		return sub, errUnderWay()
	}

	return sub, err
}

// awaitResult polls every 50 ms for 3 s, because most payments take less.
const (
	pollEvery = 50 * time.Millisecond
	maxPolls  = 60
)

// awaitResult polls for the result of a concurrent call of the provider. It fails with
// errInProgress if there is none in time, or if the payer has to confirm the payment.
func (s *Service) awaitResult(ctx context.Context, c Charge) (Subscription, error) {
	for range maxPolls {
		sub, err := s.getResult(ctx, c)
		if !errors.Is(err, errInProgress) || errors.Is(err, errAwaitsPayer) {
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

// openCharge chooses a plan and returns the pending charge that pays for it. If the request is
// repeated, the charge exists already. It returns no charge, but changes the subscription, if
// the owner has the plan already or the credit of the previous plan pays for it. If
// allowCheaper is false, a cheaper plan is a fault.
func (s *Service) openCharge(ctx context.Context, o Owner, plan Plan, method Method, allowCheaper bool) (Subscription, *Charge, error) {
	sub, err := s.Subscriptions.Lock(ctx, o)
	if err != nil {
		return sub, nil, err
	}

	now := s.Clock.Now()
	sub = sub.At(now)

	pending, err := s.pendingCharge(ctx, o)
	if err != nil {
		return sub, nil, err
	}

	// Only one charge of an owner can be pending. A repeated request continues it, and any
	// other request has to wait for it.
	if pending != nil {
		isRepeated := pending.Plan == plan.ID && (method.ID == "" || method.ID == pending.Method.ID)
		if !isRepeated {
			return sub, nil, errUnderWay()
		}

		return sub, pending, nil
	}

	method = cmp.Or(method, sub.Method)

	// The owner has the plan already: the request can only change the payment method and undo a
	// cancellation.
	hasPlan := sub.Plan == plan.ID && sub.ExpiresAt.After(now)
	if hasPlan {
		changed, resumed := sub.setMethod(method), sub.resume()
		return sub, nil, s.updateAndRecord(ctx, sub, changed, resumed)
	}

	if method.ID == "" {
		return sub, nil, fault.InvalidField("paymentMethodId", "is required: there is no payment method on file")
	}

	charge := Charge{
		ID:          s.NewID(),
		Owner:       o,
		Plan:        plan.ID,
		Amount:      plan.Price,
		Method:      method,
		Status:      Pending,
		PeriodStart: now,
		PeriodEnd:   monthAfter(now, now),
		CreatedAt:   now,
		NextAt:      now.Add(retryDelay(0)),
	}

	// Credit the rest of another paid plan.
	if sub.Plan != o.Free() && sub.Plan != plan.ID {
		// A plan that the settings do not contain any more costs nothing, so there is no credit
		// for it.
		currentPlan, _ := s.plan(sub.Plan)

		isCheaper := plan.Price.Minor <= currentPlan.Price.Minor
		if isCheaper && !allowCheaper {
			return sub, nil, fault.InvalidField(
				"planId",
				"is no upgrade; cancel the subscription and choose it when the present one has ended",
			)
		}

		credit := creditFor(sub, currentPlan.Price, now)

		// No amount below minCharge is charged, and a cheaper plan costs nothing as long as
		// there is credit: it lasts longer or shorter instead.
		isPaidByCredit := credit > plan.Price.Minor-minCharge || isCheaper && credit > 0
		if isPaidByCredit {
			change := event.SubscriptionUpgraded
			if isCheaper {
				change = event.SubscriptionDowngraded
			}

			sub.switchTo(plan, credit, now)

			sub.Method = method

			return sub, nil, s.updateAndRecord(ctx, sub, change)
		}

		charge.Amount.Minor -= credit
	}

	return sub, &charge, s.Charges.Create(ctx, charge)
}

// Cancel ends the caller's plan with its paid period. It does nothing on the basic plan, or
// if the plan is cancelled already. It abandons a payment that awaits the payer. While another
// purchase is pending, Cancel fails with ErrUnderWay, because the purchase would revoke the
// cancellation.
func (s *Service) Cancel(ctx context.Context, by auth.Actor) (Subscription, error) {
	if err := by.RequireSeeker(); err != nil {
		return Subscription{}, err
	}

	return s.cancel(ctx, Owner{User, by.UserID}, Method{})
}

// cancel ends the owner's plan with its paid period. It stores the payment method unless the
// method is zero.
func (s *Service) cancel(ctx context.Context, o Owner, method Method) (sub Subscription, err error) {
	const noPlan, anyMethod = "", "" // so that every payment which awaits the payer is abandoned
	if err := s.abandonOther(ctx, o, noPlan, anyMethod); err != nil {
		return sub, err
	}

	err = s.Tx.Do(ctx, func(ctx context.Context) error {
		if sub, err = s.lockUnlessPurchasing(ctx, o); err != nil {
			return err
		}

		now := s.Clock.Now()
		sub = sub.At(now)

		var changed string // the change for the event, "" for none
		if method.ID != "" {
			changed = sub.setMethod(method)
		}

		if cancelled := sub.cancel(now); cancelled != "" || changed != "" {
			return s.updateAndRecord(ctx, sub, changed, cancelled)
		}

		return nil
	})

	return sub, err
}

// pendingCharge returns the owner's pending charge, or nil.
func (s *Service) pendingCharge(ctx context.Context, o Owner) (*Charge, error) {
	charges, err := s.Charges.List(ctx, ChargeFilter{Owner: o, Status: Pending}, 1)
	if err != nil || len(charges) == 0 {
		return nil, err
	}

	return &charges[0], nil
}

// lockUnlessPurchasing locks the owner's subscription. It fails with ErrUnderWay while a
// purchase is pending, because the purchase would overwrite other changes. A pending renewal
// is not an error.
func (s *Service) lockUnlessPurchasing(ctx context.Context, o Owner) (Subscription, error) {
	sub, err := s.Subscriptions.Lock(ctx, o)
	if err != nil {
		return sub, err
	}

	pending, err := s.pendingCharge(ctx, o)
	if err != nil {
		return sub, err
	}

	if pending != nil && !pending.Renewal {
		return sub, errUnderWay()
	}

	return sub, nil
}

// errUnderWay returns ErrUnderWay with the time after which a client may try again: the delay after
// which Renew makes the next call for a new charge.
func errUnderWay() error { return ErrUnderWay.WithRetryAfter(retryDelay(0)) }

// updateAndRecord stores the subscription and records the changes. It ignores empty changes.
func (s *Service) updateAndRecord(ctx context.Context, sub Subscription, changes ...string) error {
	if err := s.Subscriptions.Update(ctx, sub); err != nil {
		return err
	}

	for _, change := range changes {
		if change == "" {
			continue
		}

		if err := s.recordChange(ctx, sub, change); err != nil {
			return err
		}
	}

	return nil
}

// recordChange records a change of the subscription as an event. It also records a change that
// the owner has made in the audit log.
func (s *Service) recordChange(ctx context.Context, sub Subscription, change string) error {
	e := event.SubscriptionChanged{
		OwnerKind: string(sub.Owner.Kind),
		OwnerID:   sub.Owner.ID,
		Change:    change,
		Plan:      sub.Plan,
		Status:    string(sub.Status),
		ChangedAt: s.Clock.Now(),
	}
	if !sub.ExpiresAt.IsZero() {
		e.ExpiresAt = &sub.ExpiresAt
	}

	if !sub.NextAt.IsZero() {
		e.NextAt = &sub.NextAt
	}

	if sub.Owner.Kind == User && auditedChanges[change] {
		entry := audit.Entry{Action: audit.PlanChanged, Actor: sub.Owner.ID, Object: sub.Owner.ID, Detail: change}
		if err := s.Audit.Record(ctx, entry); err != nil {
			return err
		}
	}

	return s.Events.Record(ctx, e)
}

// auditedChanges are the changes of the plan that an owner makes.
var auditedChanges = map[string]bool{
	event.SubscriptionStarted: true, event.SubscriptionUpgraded: true, event.SubscriptionDowngraded: true,
	event.SubscriptionCancelled: true, event.SubscriptionResumed: true,
}

// Periodic returns the periodic tasks of the module.
func (s *Service) Periodic() []task.Periodic {
	return []task.Periodic{{Kind: "billing.renew", Every: 30 * time.Second, Timeout: 5 * time.Minute, Do: s.Renew}}
}

// describe returns the text of the charge on the payer's statement.
func (s *Service) describe(c Charge) string {
	plan, _ := s.plan(c.Plan) // a plan that is not sold any more has an empty name
	return fmt.Sprintf("%s, %s to %s", plan.Name, formatDate(c.PeriodStart), formatDate(c.PeriodEnd))
}

// formatDate formats a day for e-mails and statements.
func formatDate(t time.Time) string { return t.UTC().Format("2 January 2006") }
