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

// MyBilling returns the caller's billing.
func (s *Service) MyBilling(ctx context.Context, by auth.Actor) (Overview, error) {
	if err := by.RequireSeeker(); err != nil {
		return Overview{}, err
	}

	o := userOwner(by)

	sub, err := s.Current(ctx, o)
	if err != nil {
		return Overview{}, err
	}

	history, err := s.Charges.List(ctx, ChargeFilter{Owner: o}, maxHistory)

	return Overview{Subscription: sub, Plans: s.plansOf(o), History: history}, err
}

// userOwner returns the caller as the owner of a subscription.
func userOwner(by auth.Actor) Owner { return Owner{Kind: User, ID: by.UserID} }

// Current returns the owner's present subscription.
func (s *Service) Current(ctx context.Context, o Owner) (Subscription, error) {
	return Reader{Subscriptions: s.Subscriptions, Clock: s.Clock}.Current(ctx, o)
}

// Reader reads subscriptions. It needs fewer ports than Service, so that the modules on which
// Service depends can use it.
type Reader struct {
	Subscriptions Subscriptions
	Clock         clock.Clock
}

// Current returns the owner's present subscription. An expired one counts as ended, even if
// that is not stored yet.
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
// rest of another plan.
//
// If the caller has the plan already, nothing is charged. If that plan is cancelled, it will be
// renewed again, with the given method. The choice of the free plan ends the paid plan at the end
// of its period. A method that is given with the free plan is stored for a later Upgrade.
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

	return s.choose(ctx, userOwner(by), in, allowCheaper)
}

// ChooseFor puts an owner on a plan. The caller must have checked permissions. The rest of the
// current period is credited. As long as there is credit, a cheaper plan is not charged. Instead,
// the credit determines the length of its first period. The free plan ends the paid plan at the end
// of its period.
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

// completeCharge collects a pending charge, which is a stored payment without a result, while
// the payer waits.
//
// To collect a charge, a caller first claims it. Only one of several concurrent callers can
// claim a charge, and the claim is valid until NextAt of the charge. If another caller has
// claimed the charge, completeCharge waits for its result. If that caller gets no result,
// completeCharge collects the charge itself.
func (s *Service) completeCharge(ctx context.Context, charge Charge) (Subscription, error) {
	const attended = true

	// A charge that awaits the payer needs no claim: the provider only returns its state.
	if charge.awaitsPayer() {
		return s.collect(ctx, charge, attempt{attended: true})
	}

	// Collect the charge, unless the claim of another caller is still valid.
	isFirstAttempt := charge.Attempts == 0
	isDue := !charge.NextAt.After(s.Clock.Now())

	if isFirstAttempt || isDue {
		sub, err := s.claimAndCollect(ctx, charge, attended)
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

	hasResult := pending == nil || pending.ID != charge.ID // stored since the last poll
	if hasResult {
		return s.getResult(ctx, charge)
	}

	if pending.awaitsPayer() {
		return s.collect(ctx, *pending, attempt{attended: true})
	}

	sub, err = s.claimAndCollect(ctx, *pending, attended)
	if errors.Is(err, errInProgress) {
		return sub, errUnderWay()
	}

	return sub, err
}

// awaitResult polls for 3 s, because most payments take less.
const (
	pollEvery = 50 * time.Millisecond
	maxPolls  = int(3 * time.Second / pollEvery)
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

// openCharge chooses a plan and returns the pending charge that pays for it. It creates the charge,
// unless an earlier, equal request has created it. If nothing has to be paid, it changes the
// subscription and returns no charge. Nothing has to be paid if the owner has the plan already, or
// if the credit for the rest of the previous plan pays for the new one. If allowCheaper is false, a
// cheaper plan is a fault.
func (s *Service) openCharge(
	ctx context.Context,
	o Owner,
	plan Plan,
	method Method,
	allowCheaper bool,
) (sub Subscription, charge *Charge, err error) {
	sub, err = s.Subscriptions.Lock(ctx, o)
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
		methodChange, planChange := sub.setMethod(method), sub.resume()
		return sub, nil, s.updateAndRecord(ctx, sub, methodChange, planChange)
	}

	if method.ID == "" {
		return sub, nil, fault.InvalidField("paymentMethodId", "is required: there is no payment method on file")
	}

	charge = &Charge{
		ID:          s.NewID(),
		Owner:       o,
		Plan:        plan.ID,
		Amount:      plan.Price,
		Method:      method,
		Status:      Pending,
		PeriodStart: now,
		PeriodEnd:   monthAfter(now, now),
		CreatedAt:   now,
		NextAt:      now.Add(firstCallTime),
	}

	// Credit the rest of another paid plan.
	hasOtherPaidPlan := sub.Plan != o.Free() && sub.Plan != plan.ID
	if hasOtherPaidPlan {
		// A plan that is not in the settings any more has the price 0 here, so that there is no
		// credit for it.
		currentPlan, _ := s.plan(sub.Plan)

		isCheaper := plan.Price.Minor <= currentPlan.Price.Minor
		if isCheaper && !allowCheaper {
			return sub, nil, fault.InvalidField(
				"planId",
				"is no upgrade; cancel the subscription and choose it when the present one has ended",
			)
		}

		credit := creditFor(sub, currentPlan.Price, now)
		remainder := plan.Price.Minor - credit

		// An amount below minCharge is not charged. A cheaper plan is not charged as long as there
		// is credit. In both cases, the length of the first period depends on the credit.
		isPaidByCredit := remainder < minCharge || isCheaper && credit > 0
		if isPaidByCredit {
			change := event.SubscriptionUpgraded
			if isCheaper {
				change = event.SubscriptionDowngraded
			}

			sub.switchTo(plan, credit, now)

			sub.Method = method

			return sub, nil, s.updateAndRecord(ctx, sub, change)
		}

		charge.Amount.Minor = remainder
	}

	return sub, charge, s.Charges.Create(ctx, *charge)
}

// Cancel ends the caller's plan with its paid period. It does nothing on the basic plan, or
// if the plan is cancelled already. It abandons a payment that awaits the payer. While another
// purchase is pending, Cancel fails with ErrUnderWay, because the purchase would revoke the
// cancellation.
func (s *Service) Cancel(ctx context.Context, by auth.Actor) (Subscription, error) {
	if err := by.RequireSeeker(); err != nil {
		return Subscription{}, err
	}

	var keepMethod Method

	return s.cancel(ctx, userOwner(by), keepMethod)
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

		// These are changes for events, "" for none.
		methodChange := ""
		if method.ID != "" {
			methodChange = sub.setMethod(method)
		}

		planChange := sub.cancel(now)
		if methodChange == "" && planChange == "" {
			return nil
		}

		return s.updateAndRecord(ctx, sub, methodChange, planChange)
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

// errUnderWay returns ErrUnderWay with the time after which a client may try again. After this
// time, Renew (the periodic task) continues a new charge.
func errUnderWay() error { return ErrUnderWay.WithRetryAfter(firstCallTime) }

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

// recordChange records a change of the subscription as an event. A change of the plan that a user
// has made is also recorded in the audit log. For other owners, the module to which the owner
// belongs records the change.
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
