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

// dueBatch is how many due owners are read at once.
const dueBatch = 100

// Renew ends plans, charges renewals, and repeats calls of the provider whose result
// was lost. Errors of one owner do not affect others.
func (s *Service) Renew(ctx context.Context) error {
	var failed []error
	pending, err := s.Charges.List(ctx, ChargeFilter{DueBy: s.Clock.Now()}, dueBatch)
	if err != nil {
		return err
	}
	for _, c := range pending {
		if _, err := s.process(ctx, c, false); unexpected(err) != nil {
			failed = append(failed, fmt.Errorf("charge %s: %w", c.ID, err))
		}
	}
	for {
		due, err := s.Subscriptions.ListDue(ctx, s.Clock.Now(), dueBatch)
		if err != nil {
			return errors.Join(append(failed, err)...)
		}
		payers, err := s.People.Payers(ctx, due)
		if err != nil {
			return errors.Join(append(failed, err)...)
		}
		for _, o := range due {
			_, exists := payers[o]
			if err := s.advance(ctx, o, exists); err != nil {
				failed = append(failed, fmt.Errorf("subscription of %s %s: %w", o.Kind, o.ID, err))
			}
		}
		// Failures remain due for the next run.
		if len(due) < dueBatch || len(failed) > 0 {
			return errors.Join(failed...)
		}
	}
}

// advance processes a due subscription. A declined payment is not an error.
func (s *Service) advance(ctx context.Context, o Owner, exists bool) error {
	if !exists { // deleted during a payment
		return s.Tx.Do(ctx, func(ctx context.Context) error { return s.erase(ctx, o) })
	}
	var charge *Charge
	var unpayable error // does not roll back: NextAt is stored
	err := s.Tx.Do(ctx, func(ctx context.Context) error {
		charge, unpayable = nil, nil
		sub, err := s.Subscriptions.Lock(ctx, o)
		if err != nil {
			return err
		}
		now := s.Clock.Now()
		if sub.NextAt.IsZero() || sub.NextAt.After(now) {
			return nil // processed by another worker
		}
		if sub.over(now) {
			sub.end()
			return s.store(ctx, sub, event.SubscriptionEnded)
		}
		pending, err := s.pendingCharge(ctx, o)
		if err != nil {
			return err
		}
		if pending != nil && pending.waits() && !pending.Renewal {
			// The plan is due, and a purchase that the payer does not confirm must not extend it.
			change := sub.declined(now)
			return s.store(ctx, sub, change)
		}
		sub.NextAt = now.Add(retryDelay(0))
		if pending != nil { // it has its own NextAt
			sub.NextAt = latest(pending.NextAt, sub.NextAt)
		}
		if err := s.Subscriptions.Update(ctx, sub); err != nil || pending != nil {
			return err
		}
		plan, ok := s.plan(sub.Plan)
		if !ok || sub.Method.ID == "" {
			unpayable = fmt.Errorf("no way to charge for plan %q", sub.Plan)
			return nil
		}
		charge = &Charge{ID: s.NewID(), Owner: o, Plan: plan.ID, Amount: plan.Price, Method: sub.Method, Renewal: true, Status: Pending,
			PeriodStart: sub.ExpiresAt, PeriodEnd: monthAfter(sub.AnchorAt, latest(sub.ExpiresAt, now)), CreatedAt: now, NextAt: now.Add(retryDelay(0))}
		return s.Charges.Create(ctx, *charge)
	})
	if err != nil || charge == nil {
		return cmp.Or(err, unpayable)
	}
	_, err = s.process(ctx, *charge, false)
	return unexpected(err)
}

// unexpected returns the error of a payment that an operator has to know of. It returns
// nil for a payment that was declined, or that waits for the payer, the provider or
// another call.
func unexpected(err error) error {
	if errors.Is(err, ErrDeclined) || errors.Is(err, ErrActionRequired) || errors.Is(err, ErrUnderWay) || errors.Is(err, errInProgress) {
		return nil
	}
	return err
}

func latest(a, b time.Time) time.Time { return slices.MaxFunc([]time.Time{a, b}, time.Time.Compare) }

// errInProgress reports that another call of the provider is in progress, errWaits
// that its result was an action of the payer, and errSettled that its result was
// stored or the owner was deleted.
var (
	errInProgress = errors.New("another call for the charge is in progress")
	errWaits      = fmt.Errorf("%w: it waits for the payer", errInProgress)
	errSettled    = errors.New("the charge has a result")
)

// result returns the subscription after the charge, or ErrDeclined. It fails with
// errInProgress while the charge is pending, and with errWaits if it waits for the
// payer. If the owner was deleted, the charge is not theirs any more.
func (s *Service) result(ctx context.Context, c Charge) (Subscription, error) {
	latest, err := s.Charges.List(ctx, ChargeFilter{Owner: c.Owner}, 1)
	if err != nil {
		return Subscription{}, err
	}
	if len(latest) > 0 && latest[0].ID == c.ID {
		switch latest[0].Status {
		case Pending:
			if latest[0].waits() {
				return Subscription{}, errWaits
			}
			return Subscription{}, errInProgress
		case Declined:
			return Subscription{}, ErrDeclined
		}
	}
	return s.Subscriptions.Get(ctx, c.Owner)
}

// process claims a pending charge and calls collect. It fails with errInProgress if
// another call is in progress.
func (s *Service) process(ctx context.Context, c Charge, attended bool) (sub Subscription, err error) {
	if c.Owner.Kind == DeletedOwner && c.Attempts == 0 { // the owner was deleted before the first attempt
		c.Status, c.Method = Declined, Method{}
		return sub, s.write(ctx, c)
	}
	claim := c
	claim.NextAt = s.Clock.Now().Add(retryDelay(c.Attempts))
	claim.Attempts++
	var claimed bool
	err = s.Tx.Do(ctx, func(ctx context.Context) (err error) {
		claimed, err = s.Charges.Update(ctx, claim)
		return err
	})
	if err != nil {
		return sub, err
	}
	if !claimed {
		return s.result(ctx, c)
	}
	return s.collect(ctx, claim, attempt{attended: attended})
}

// callTimeout bounds a call of the provider, whose banks take seconds. It is shorter
// than idempotency.Lease, so that a repeated request does not overtake it.
const callTimeout = 8 * time.Second

// attempt describes a call of the provider.
type attempt struct {
	// attended is true if the payer waits for the result.
	attended bool
	// abandon is true if the payer has decided against the payment.
	abandon bool
}

// collect calls the provider for a pending charge and stores the result. It fails with
// ErrDeclined, with an *ActionRequiredError, and with ErrUnderWay if the provider has no
// result yet. Unless the attempt is attended, the owner of a declined purchase is
// notified.
func (s *Service) collect(ctx context.Context, c Charge, a attempt) (sub Subscription, err error) {
	// A payment is not interrupted when its caller leaves.
	call, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTimeout)
	defer cancel()
	receipt, err := s.Payments.Charge(call, s.bill(c, a))
	outcome := err
	_, isAction := errors.AsType[*ActionRequiredError](err)
	switch {
	case err == nil:
		c.Status, c.Receipt = Paid, receipt
	case errors.Is(err, ErrDeclined):
		c.Status = Declined
	case isAction:
		return sub, cmp.Or(s.storeAction(context.WithoutCancel(ctx), c), outcome)
	case errors.Is(err, ErrUnderWay):
		return sub, errUnderWay()
	case fault.KindOf(err) == fault.Unavailable:
		return sub, err
	default:
		return sub, fault.ErrUnavailable.WithReason("payments").WithCause(fmt.Errorf("charge %s: %w", c.ID, err))
	}
	// The result is known and is stored even if the caller was cancelled.
	ctx = context.WithoutCancel(ctx)
	if c.Owner.Kind == DeletedOwner {
		c.Method = Method{}
		return sub, cmp.Or(s.write(ctx, c), outcome)
	}
	err = s.Tx.Do(ctx, func(ctx context.Context) error {
		if sub, err = s.Subscriptions.Lock(ctx, c.Owner); err != nil {
			return err
		}
		updated, err := s.Charges.Update(ctx, c)
		switch {
		case err != nil:
			return err
		case !updated: // rolls back the subscription that Lock may have created
			return errSettled
		}
		now, change := s.Clock.Now(), ""
		switch {
		case c.Status == Paid:
			if !c.Renewal {
				sub = sub.At(now)
			}
			change = sub.paid(c)
		case a.abandon && c.Renewal:
			// It counts as a failure: abandoned renewals must not extend the plan.
			if change = sub.declined(now); change == event.SubscriptionPaymentFailed {
				return s.Subscriptions.Update(ctx, sub)
			}
		case a.abandon:
		case c.Renewal:
			change = sub.declined(now)
		case !a.attended:
			refused := sub.At(now)
			refused.Plan = c.Plan
			return s.record(ctx, refused, event.SubscriptionRefused)
		}
		if change == "" {
			return nil
		}
		return s.store(ctx, sub, change)
	})
	if err != nil && !errors.Is(err, errSettled) {
		return sub, err
	}
	return sub.At(s.Clock.Now()), outcome
}

// bill returns the request to the provider. A payer who confirms a renewal attends it.
func (s *Service) bill(c Charge, a attempt) Bill {
	expired := c.waits() && s.Clock.Now().Sub(c.ActionAt) >= confirmWithin
	return Bill{
		Key: c.ID, Owner: c.Owner, MethodID: c.Method.ID, Amount: c.Amount, Description: s.describe(c), CreatedAt: c.CreatedAt,
		Unattended: c.Renewal && (!a.attended || !c.waits()),
		Abandon:    a.abandon || expired || c.waits() && c.Owner.Kind == DeletedOwner,
	}
}

// storeAction stores that a charge waits for the payer, once. A renewal becomes past due,
// and its owner is notified to confirm it.
func (s *Service) storeAction(ctx context.Context, c Charge) error {
	if c.waits() {
		return nil
	}
	c.Attempts++
	c.ActionAt = s.Clock.Now()
	if !c.Renewal || c.Owner.Kind == DeletedOwner {
		return s.write(ctx, c)
	}
	return s.Tx.Do(ctx, func(ctx context.Context) error {
		sub, err := s.Subscriptions.Lock(ctx, c.Owner)
		if err != nil {
			return err
		}
		updated, err := s.Charges.Update(ctx, c)
		if err != nil || !updated || !sub.unconfirmed() {
			return err
		}
		return s.store(ctx, sub, event.SubscriptionUnconfirmed)
	})
}

// abandonOther abandons a charge that waits for the payer, unless it is for the plan with
// the method. An empty method matches every method.
func (s *Service) abandonOther(ctx context.Context, o Owner, planID, methodID string) error {
	c, err := s.pendingCharge(ctx, o)
	if err != nil || c == nil || !c.waits() || c.Plan == planID && (methodID == "" || methodID == c.Method.ID) {
		return err
	}
	if _, err = s.collect(ctx, *c, attempt{attended: true, abandon: true}); errors.Is(err, ErrDeclined) {
		return nil
	}
	return err
}

// write stores the progress of a charge without a subscription.
func (s *Service) write(ctx context.Context, c Charge) error {
	return s.Tx.Do(ctx, func(ctx context.Context) error {
		_, err := s.Charges.Update(ctx, c)
		return err
	})
}
