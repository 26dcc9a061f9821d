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

// dueAtOnce is how many owners are seen to between two looks at who is due.
const dueAtOnce = 100

// Renew sees to what time has brought: plans end, renewals are charged, and
// charges whose answer was lost are asked for again. One owner's trouble is
// none of another's.
func (s *Service) Renew(ctx context.Context) error {
	var failed []error
	waiting, err := s.Charges.List(ctx, ChargeFilter{DueBy: s.Clock.Now()}, dueAtOnce)
	if err != nil {
		return err
	}
	for _, c := range waiting {
		if _, err := s.settle(ctx, c, false); err != nil && !errors.Is(err, ErrDeclined) && !errors.Is(err, errAsked) {
			failed = append(failed, fmt.Errorf("charge %s: %w", c.ID, err))
		}
	}
	for {
		due, err := s.Subscriptions.ListDue(ctx, s.Clock.Now(), dueAtOnce)
		if err != nil {
			return errors.Join(append(failed, err)...)
		}
		payers, err := s.People.Payers(ctx, due)
		if err != nil {
			return errors.Join(append(failed, err)...)
		}
		for _, o := range due {
			_, there := payers[o]
			if err := s.advance(ctx, o, there); err != nil {
				failed = append(failed, fmt.Errorf("subscription of %s %s: %w", o.Kind, o.ID, err))
			}
		}
		// Failures stay due; the next run is soon enough for them.
		if len(due) < dueAtOnce || len(failed) > 0 {
			return errors.Join(failed...)
		}
	}
}

// advance does what is due for the owner. To be declined is an outcome and no
// failure.
func (s *Service) advance(ctx context.Context, o Owner, there bool) error {
	if !there { // deleted while a payment was on its way
		return s.Tx.Do(ctx, func(ctx context.Context) error { return s.erase(ctx, o) })
	}
	var charge *Charge
	var unpayable error // which undoes nothing: when it is tried again is saved
	err := s.Tx.Do(ctx, func(ctx context.Context) error {
		charge, unpayable = nil, nil
		sub, err := s.Subscriptions.Lock(ctx, o)
		if err != nil {
			return err
		}
		now := s.Clock.Now()
		if sub.NextAt.IsZero() || sub.NextAt.After(now) {
			return nil // somebody else was quicker
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
		sub.NextAt = now.Add(patience(0))
		if pending != nil { // whose own moments decide when it is asked for
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
			PeriodStart: sub.ExpiresAt, PeriodEnd: monthAfter(sub.AnchorAt, latest(sub.ExpiresAt, now)), CreatedAt: now, NextAt: now.Add(patience(0))}
		return s.Charges.Create(ctx, *charge)
	})
	if err != nil || charge == nil {
		return cmp.Or(err, unpayable)
	}
	if _, err = s.settle(ctx, *charge, false); errors.Is(err, ErrDeclined) || errors.Is(err, errAsked) {
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

// errAsked says that another asks the provider about the charge, and errSettled
// that another has written the same answer down or its owner's account is gone.
var (
	errAsked   = errors.New("another asks about the charge")
	errSettled = errors.New("another has settled the charge")
)

// settled is what became of a charge that another has asked about, or that is no
// more its owner's, whose account is gone: nobody is asked for money then. It is
// errAsked while there is no answer.
func (s *Service) settled(ctx context.Context, c Charge) (Subscription, error) {
	latest, err := s.Charges.List(ctx, ChargeFilter{Owner: c.Owner}, 1)
	if err != nil {
		return Subscription{}, err
	}
	if len(latest) > 0 && latest[0].ID == c.ID {
		switch latest[0].Status {
		case Pending:
			return Subscription{}, errAsked
		case Declined:
			return Subscription{}, ErrDeclined
		}
	}
	return s.Subscriptions.Get(ctx, c.Owner)
}

// settle asks the provider about a pending charge and writes the answer down.
// It is ErrDeclined after an answer in the negative, and errAsked if another asks
// at the same time. Somebody waits for the answer where attended; the owner of a
// purchase for which nobody does is told of a refusal as of other changes.
func (s *Service) settle(ctx context.Context, c Charge, attended bool) (sub Subscription, err error) {
	if c.Owner.Kind == Nobody && c.Attempts == 0 { // nobody has asked, and nobody is there to pay
		c.Status, c.Method = Declined, Method{}
		return sub, s.write(ctx, c)
	}
	var ours bool
	err = s.Tx.Do(ctx, func(ctx context.Context) (err error) {
		claim := c
		claim.NextAt = s.Clock.Now().Add(patience(c.Attempts))
		claim.Attempts++
		ours, err = s.Charges.Update(ctx, claim)
		return err
	})
	if err != nil {
		return sub, err
	}
	if !ours {
		return s.settled(ctx, c)
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
	// From here on the answer is known: it is written down even if whoever asked
	// does not wait any more.
	ctx = context.WithoutCancel(ctx)
	if c.Owner.Kind == Nobody {
		c.Method = Method{}
		return sub, cmp.Or(s.write(ctx, c), answer)
	}
	err = s.Tx.Do(ctx, func(ctx context.Context) error {
		if sub, err = s.Subscriptions.Lock(ctx, c.Owner); err != nil {
			return err
		}
		ours, err := s.Charges.Update(ctx, c)
		switch {
		case err != nil:
			return err
		case !ours: // with which also a row goes that was made to be locked
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

// write settles a charge from which nothing follows.
func (s *Service) write(ctx context.Context, c Charge) error {
	return s.Tx.Do(ctx, func(ctx context.Context) error {
		_, err := s.Charges.Update(ctx, c)
		return err
	})
}
