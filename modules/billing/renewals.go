package billing

import (
	"cmp"
	"context"
	"errors"
	"fmt"
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
		if _, err := s.process(ctx, c, false); err != nil && !errors.Is(err, ErrDeclined) && !errors.Is(err, errInProgress) {
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
			if err := s.Subscriptions.Update(ctx, sub); err != nil {
				return err
			}
			return s.record(ctx, sub, event.SubscriptionEnded)
		}
		pending, err := s.pendingCharge(ctx, o)
		if err != nil {
			return err
		}
		sub.NextAt = now.Add(retryDelay(0))
		if pending != nil { // it has its own NextAt
			sub.NextAt = latest(pending.NextAt, sub.NextAt)
		}
		if err := s.Subscriptions.Update(ctx, sub); err != nil || pending != nil {
			return err
		}
		plan, known := s.plan(sub.Plan)
		if !known || sub.Method.ID == "" {
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
	if _, err = s.process(ctx, *charge, false); errors.Is(err, ErrDeclined) || errors.Is(err, errInProgress) {
		return nil
	}
	return err
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// errInProgress reports that another call of the provider is in progress, and
// errSettled that its result was stored or the owner was deleted.
var (
	errInProgress = errors.New("another call for the charge is in progress")
	errSettled    = errors.New("the charge has a result")
)

// result returns the subscription after the charge, or ErrDeclined. It fails with
// errInProgress while the charge is pending. If the owner was deleted, the charge is
// not theirs any more.
func (s *Service) result(ctx context.Context, c Charge) (Subscription, error) {
	latest, err := s.Charges.List(ctx, ChargeFilter{Owner: c.Owner}, 1)
	if err != nil {
		return Subscription{}, err
	}
	if len(latest) > 0 && latest[0].ID == c.ID {
		switch latest[0].Status {
		case Pending:
			return Subscription{}, errInProgress
		case Declined:
			return Subscription{}, ErrDeclined
		}
	}
	return s.Subscriptions.Get(ctx, c.Owner)
}

// process calls the provider for a pending charge and stores the result. It fails with
// ErrDeclined, and with errInProgress if another call is in progress. Unless a caller
// waits for the result (attended), the owner of a declined purchase is notified.
func (s *Service) process(ctx context.Context, c Charge, attended bool) (sub Subscription, err error) {
	if c.Owner.Kind == Nobody && c.Attempts == 0 { // the owner was deleted before the first attempt
		c.Status, c.Method = Declined, Method{}
		return sub, s.write(ctx, c)
	}
	var claimed bool
	err = s.Tx.Do(ctx, func(ctx context.Context) (err error) {
		claim := c
		claim.NextAt = s.Clock.Now().Add(retryDelay(c.Attempts))
		claim.Attempts++
		claimed, err = s.Charges.Update(ctx, claim)
		return err
	})
	if err != nil {
		return sub, err
	}
	if !claimed {
		return s.result(ctx, c)
	}
	receipt, err := s.Payments.Charge(ctx, Bill{Key: c.ID, Owner: c.Owner, MethodID: c.Method.ID, Amount: c.Amount, Unattended: c.Renewal, Description: s.describe(c)})
	answer := err
	switch {
	case err == nil:
		c.Status, c.Receipt = Paid, receipt
	case errors.Is(err, ErrDeclined):
		c.Status = Declined
	case fault.KindOf(err) == fault.Unavailable:
		return sub, err
	default:
		return sub, fault.ErrUnavailable.WithReason("payments").WithCause(fmt.Errorf("charge %s: %w", c.ID, err))
	}
	// The result is known and is stored even if the caller was cancelled.
	ctx = context.WithoutCancel(ctx)
	if c.Owner.Kind == Nobody {
		c.Method = Method{}
		return sub, cmp.Or(s.write(ctx, c), answer)
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
		case c.Renewal:
			change = sub.declined(now)
		case !attended:
			refused := sub.At(now)
			refused.Plan = c.Plan
			return s.record(ctx, refused, event.SubscriptionRefused)
		}
		if change == "" {
			return nil
		}
		if err := s.Subscriptions.Update(ctx, sub); err != nil {
			return err
		}
		return s.record(ctx, sub, change)
	})
	if err != nil && !errors.Is(err, errSettled) {
		return sub, err
	}
	return sub.At(s.Clock.Now()), answer
}

// write stores the result of a charge without a subscription.
func (s *Service) write(ctx context.Context, c Charge) error {
	return s.Tx.Do(ctx, func(ctx context.Context) error {
		_, err := s.Charges.Update(ctx, c)
		return err
	})
}
