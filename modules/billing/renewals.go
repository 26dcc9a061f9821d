package billing

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/locumhq/locum/core/event"
	"github.com/locumhq/locum/core/fault"
)

// renewBatch is the number of due subscriptions, or charges, that are read at once.
const renewBatch = 100

// Renew ends and renews due subscriptions, and continues pending charges (payments without a
// result) that are due. It is called periodically. Errors of one owner do not prevent the renewals
// of other owners, but some of them may have to wait for the next call.
func (s *Service) Renew(ctx context.Context) error {
	var errs []error

	pending, err := s.Charges.List(ctx, ChargeFilter{DueBy: s.Clock.Now()}, renewBatch)
	if err != nil {
		return err
	}

	const attended = false // no payer waits for the results

	for _, c := range pending {
		if _, err := s.claimAndCollect(ctx, c, attended); ignoreExpected(err) != nil {
			errs = append(errs, fmt.Errorf("charge %s: %w", c.ID, err))
		}
	}

	for {
		due, err := s.Subscriptions.ListDue(ctx, s.Clock.Now(), renewBatch)
		if err != nil {
			return errors.Join(append(errs, err)...)
		}

		payers, err := s.People.Payers(ctx, due)
		if err != nil {
			return errors.Join(append(errs, err)...)
		}

		for _, o := range due {
			_, exists := payers[o]
			if err := s.renewOne(ctx, o, exists); err != nil {
				errs = append(errs, fmt.Errorf("subscription of %s %s: %w", o.Kind, o.ID, err))
			}
		}

		// After an error, the other subscriptions wait for the next call. A subscription whose transaction failed is
		// still due, and reading on would return it again. Besides, the payment provider may be unavailable.
		if len(due) < renewBatch || len(errs) > 0 {
			return errors.Join(errs...)
		}
	}
}

// renewOne ends or renews a due subscription. exists is false if the owner's account was
// deleted. A declined payment is not an error.
func (s *Service) renewOne(ctx context.Context, o Owner, exists bool) error {
	// The subscription was stored again after the deletion of the owner, with the result of a
	// payment.
	if !exists {
		return s.Tx.Do(ctx, func(ctx context.Context) error { return s.erase(ctx, o) })
	}

	var charge *Charge     // the renewal to collect, nil if there is none
	var unpayableErr error // returned after the commit, so that NextAt is stored

	err := s.Tx.Do(ctx, func(ctx context.Context) error {
		charge, unpayableErr = nil, nil // the transaction may run repeatedly

		sub, err := s.Subscriptions.Lock(ctx, o)
		if err != nil {
			return err
		}

		// Another process may have renewed the subscription since it was listed as due.
		now := s.Clock.Now()
		if sub.NextAt.IsZero() || sub.NextAt.After(now) {
			return nil
		}

		if sub.isExpired(now) {
			sub.end()
			return s.updateAndRecord(ctx, sub, event.SubscriptionEnded)
		}

		pending, err := s.pendingCharge(ctx, o)
		if err != nil {
			return err
		}

		// While the payer has not confirmed the purchase of another plan, no renewal can be
		// charged, because an owner has at most one pending charge. The renewal then counts as
		// declined. Otherwise the plan that is due would be extended without a payment.
		awaitsPurchase := pending != nil && pending.awaitsPayer() && !pending.Renewal
		if awaitsPurchase {
			change := sub.applyDeclined(now)
			return s.updateAndRecord(ctx, sub, change)
		}

		// If this process crashes, Renew looks at the subscription again at NextAt.
		sub.NextAt = now.Add(firstCallTime)
		if pending != nil { // Renew continues the charge at its own NextAt
			sub.NextAt = latest(pending.NextAt, sub.NextAt)
		}

		if err := s.Subscriptions.Update(ctx, sub); err != nil {
			return err
		}

		if pending != nil {
			return nil
		}

		plan, isForSale := s.plan(sub.Plan)
		if !isForSale || sub.Method.ID == "" {
			unpayableErr = fmt.Errorf("no way to charge for plan %q", sub.Plan)
			return nil
		}

		// The new period begins where the paid one ends, and ends in the future even if the
		// renewal is late.
		charge = &Charge{
			ID:          s.NewID(),
			Owner:       o,
			Plan:        plan.ID,
			Amount:      plan.Price,
			Method:      sub.Method,
			Renewal:     true,
			Status:      Pending,
			PeriodStart: sub.ExpiresAt,
			PeriodEnd:   monthAfter(sub.AnchorAt, latest(sub.ExpiresAt, now)),
			CreatedAt:   now,
			NextAt:      now.Add(firstCallTime),
		}

		return s.Charges.Create(ctx, *charge)
	})
	if err != nil || charge == nil {
		return cmp.Or(err, unpayableErr)
	}

	const attended = false

	_, err = s.claimAndCollect(ctx, *charge, attended)

	return ignoreExpected(err)
}

// ignoreExpected returns nil for the errors with which payments regularly end: a payment was
// declined, or awaits the payer, the provider or another call. It returns other errors, which
// an operator has to know of.
func ignoreExpected(err error) error {
	if errors.Is(err, ErrDeclined) || errors.Is(err, ErrActionRequired) || errors.Is(err, ErrUnderWay) || errors.Is(err, errInProgress) {
		return nil
	}

	return err
}

// latest returns the later of two times.
func latest(a, b time.Time) time.Time { return slices.MaxFunc([]time.Time{a, b}, time.Time.Compare) }

var (
	// errInProgress reports that another call of Charge for the same charge is in progress, in this
	// process or another one. ErrUnderWay reports the same to clients, and also that the provider has
	// accepted a payment whose result follows.
	errInProgress = errors.New("another call for the charge is in progress")
	// errAwaitsPayer reports that the other call has returned an action for the payer.
	errAwaitsPayer = fmt.Errorf("%w: it waits for the payer", errInProgress)
	// errHasResult reports that the result is stored already, or that the owner was deleted.
	errHasResult = errors.New("the charge has a result")
)

// getResult returns the subscription after the charge, or ErrDeclined. It fails with
// errInProgress while the charge is pending, and with errAwaitsPayer if the payer has to
// confirm it. The owner has no charge any more if the account was deleted meanwhile.
func (s *Service) getResult(ctx context.Context, charge Charge) (Subscription, error) {
	charges, err := s.Charges.List(ctx, ChargeFilter{Owner: charge.Owner}, 1)
	if err != nil {
		return Subscription{}, err
	}

	if len(charges) > 0 && charges[0].ID == charge.ID {
		newest := charges[0]
		switch {
		case newest.awaitsPayer():
			return Subscription{}, errAwaitsPayer
		case newest.Status == Pending:
			return Subscription{}, errInProgress
		case newest.Status == Declined:
			return Subscription{}, ErrDeclined
		}
	}

	return s.Subscriptions.Get(ctx, charge.Owner)
}

// claimAndCollect claims a pending charge and collects it. A claim increments the stored number of
// attempts and sets the time of the next attempt. Only one of several concurrent callers can claim
// the charge. If another caller has claimed the charge, claimAndCollect returns that caller's
// result, or errInProgress if there is none yet. The payer waits for the result if attended is
// true.
func (s *Service) claimAndCollect(ctx context.Context, charge Charge, attended bool) (sub Subscription, err error) {
	// If the account was deleted before the first call, the provider does not know the payment.
	// The charge is declined without a call.
	if charge.Owner.Kind == DeletedOwner && charge.Attempts == 0 {
		charge.Status, charge.Method = Declined, Method{}
		return sub, s.updateCharge(ctx, charge)
	}

	claimed := charge
	claimed.NextAt = s.Clock.Now().Add(retryDelay(charge.Attempts))
	claimed.Attempts++
	var isClaimed bool

	err = s.Tx.Do(ctx, func(ctx context.Context) (err error) {
		isClaimed, err = s.Charges.Update(ctx, claimed)
		return err
	})
	if err != nil {
		return sub, err
	}

	if !isClaimed {
		return s.getResult(ctx, charge)
	}

	return s.collect(ctx, claimed, attempt{attended: attended})
}

// callTimeout is the time limit for a call to the provider. Banks take seconds to answer. The limit
// is shorter than idempotency.Lease, the time for which an HTTP request excludes repeated requests.
// So a repeated request does not begin before the call has ended.
const callTimeout = 8 * time.Second

// attempt describes a call to the provider.
type attempt struct {
	// attended is true if the payer waits for the result.
	attended bool
	// abandon is true if the payer has decided against the payment.
	abandon bool
}

// collect calls the provider for a pending charge and stores the result. It returns
// ErrDeclined, an *ActionRequiredError if the payer has to confirm the payment, and ErrUnderWay
// if the provider has no result yet. The owner is notified of a declined purchase, unless the
// attempt is attended.
func (s *Service) collect(ctx context.Context, charge Charge, a attempt) (sub Subscription, err error) {
	// Cancelling the request does not interrupt a payment.
	callCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTimeout)
	defer cancel()

	receipt, outcome := s.Payments.Charge(callCtx, s.bill(charge, a))

	// Only a payment and a refusal are results. After any other outcome, the charge stays pending.
	_, requiresAction := errors.AsType[*ActionRequiredError](outcome)
	switch {
	case outcome == nil:
		charge.Status, charge.Receipt = Paid, receipt
	case errors.Is(outcome, ErrDeclined):
		charge.Status = Declined
	case requiresAction:
		if err := s.storeAction(context.WithoutCancel(ctx), charge); err != nil {
			return sub, err
		}

		return sub, outcome
	case errors.Is(outcome, ErrUnderWay):
		return sub, errUnderWay()
	case fault.KindOf(outcome) == fault.Unavailable:
		return sub, outcome
	default:
		return sub, fault.ErrUnavailable.WithReason("payments").WithCause(fmt.Errorf("charge %s: %w", charge.ID, outcome))
	}

	// The result is stored even if the request was cancelled.
	ctx = context.WithoutCancel(ctx)
	if charge.Owner.Kind == DeletedOwner { // there is no subscription to change
		charge.Method = Method{}
		if err := s.updateCharge(ctx, charge); err != nil {
			return sub, err
		}

		return sub, outcome
	}

	sub, err = s.storeResult(ctx, charge, a)
	if err != nil && !errors.Is(err, errHasResult) {
		return sub, err
	}

	return sub.At(s.Clock.Now()), outcome
}

// storeResult stores a charge that is paid or declined together with its consequences for the
// subscription. It fails with errHasResult if a result is stored already.
func (s *Service) storeResult(ctx context.Context, charge Charge, a attempt) (sub Subscription, err error) {
	err = s.Tx.Do(ctx, func(ctx context.Context) error {
		if sub, err = s.Subscriptions.Lock(ctx, charge.Owner); err != nil {
			return err
		}

		isUpdated, err := s.Charges.Update(ctx, charge)
		switch {
		case err != nil:
			return err
		case !isUpdated: // the error rolls back the row that Lock may have created
			return errHasResult
		}

		// Apply the result to the subscription. change is the change for the event, "" for none.
		now, change := s.Clock.Now(), ""
		switch {
		case charge.Status == Paid:
			// A purchase begins a new plan if the previous one has expired. A renewal continues
			// the plan even if it is late.
			if !charge.Renewal {
				sub = sub.At(now)
			}

			change = sub.applyPaid(charge)
		case a.abandon && charge.Renewal:
			// An abandoned renewal counts as declined, because it must not extend the plan. The
			// payer is not notified of it, unless the plan has ended.
			change = sub.applyDeclined(now)
			if change == event.SubscriptionPaymentFailed {
				return s.Subscriptions.Update(ctx, sub)
			}

		case a.abandon: // the payer knows that the purchase has ended
		case charge.Renewal:
			change = sub.applyDeclined(now)
		case !a.attended:
			// The payer of a purchase has left before the result. The event names the plan of
			// the purchase; the subscription does not change.
			refused := sub.At(now)
			refused.Plan = charge.Plan
			return s.recordChange(ctx, refused, event.SubscriptionRefused)
		}

		if change == "" {
			return nil
		}

		return s.updateAndRecord(ctx, sub, change)
	})

	return sub, err
}

// bill returns the request to the provider. A renewal is unattended, unless the payer is
// confirming it. A payment is abandoned if the payer has decided against it, has not confirmed
// it in time, or is deleted.
func (s *Service) bill(c Charge, a attempt) Bill {
	isConfirming := a.attended && c.awaitsPayer()
	isExpired := c.awaitsPayer() && s.Clock.Now().Sub(c.ActionAt) >= confirmTimeout
	cannotBeConfirmed := c.awaitsPayer() && c.Owner.Kind == DeletedOwner

	return Bill{
		Key:         c.ID,
		Owner:       c.Owner,
		MethodID:    c.Method.ID,
		Amount:      c.Amount,
		Description: s.describe(c),
		CreatedAt:   c.CreatedAt,
		Unattended:  c.Renewal && !isConfirming,
		Abandon:     a.abandon || isExpired || cannotBeConfirmed,
	}
}

// storeAction stores that the payer has to confirm a charge, unless that is stored already. A
// renewal makes the subscription past due, and its owner has to confirm it.
func (s *Service) storeAction(ctx context.Context, charge Charge) error {
	if charge.awaitsPayer() {
		return nil
	}

	charge.ActionAt = s.Clock.Now()
	charge.Attempts++ // Update finds a pending charge by the number of attempts before, as by a version

	if !charge.Renewal || charge.Owner.Kind == DeletedOwner {
		return s.updateCharge(ctx, charge)
	}

	return s.Tx.Do(ctx, func(ctx context.Context) error {
		sub, err := s.Subscriptions.Lock(ctx, charge.Owner)
		if err != nil {
			return err
		}

		isUpdated, err := s.Charges.Update(ctx, charge)
		if err != nil || !isUpdated {
			return err
		}

		change := sub.applyUnconfirmed()
		if change == "" {
			return nil
		}

		return s.updateAndRecord(ctx, sub, change)
	})
}

// abandonOther abandons a charge that awaits the payer, unless it is a charge for the given
// plan and method. An empty method matches every method.
func (s *Service) abandonOther(ctx context.Context, o Owner, planID, methodID string) error {
	c, err := s.pendingCharge(ctx, o)
	if err != nil || c == nil || !c.awaitsPayer() {
		return err
	}

	isSamePayment := c.Plan == planID && (methodID == "" || methodID == c.Method.ID)
	if isSamePayment {
		return nil
	}

	// The result ErrDeclined means that the payment is abandoned. Without an error, the payer has confirmed
	// the payment before, and the charge is paid.
	_, err = s.collect(ctx, *c, attempt{attended: true, abandon: true})
	if errors.Is(err, ErrDeclined) {
		return nil
	}

	return err
}

// updateCharge stores the progress of a charge, without changing a subscription.
func (s *Service) updateCharge(ctx context.Context, c Charge) error {
	return s.Tx.Do(ctx, func(ctx context.Context) error {
		_, err := s.Charges.Update(ctx, c)
		return err
	})
}
