package billing

import (
	"context"

	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/id"
)

// ReceiveNotice handles a notice: a webhook of the payment provider, which reports that a
// payment may have changed. It reads the result of the charge from the provider and stores it.
// It returns ErrNoNotices or ErrBadNotice for a webhook that it cannot handle. After another
// error, the provider should send the webhook again.
func (s *Service) ReceiveNotice(ctx context.Context, header func(name string) string, body []byte) error {
	parser, sendsNotices := s.Payments.(NoticeParser)
	if !sendsNotices {
		return ErrNoNotices
	}

	n, err := parser.ParseNotice(header, body)
	if err != nil {
		return err
	}

	ownerID, isID := id.Canonical(n.Owner.ID)

	isOurs := isID && (n.Owner.Kind == User || n.Owner.Kind == Application)
	if !isOurs { // a payment of another service with the same provider
		return nil
	}

	c, err := s.pendingCharge(ctx, Owner{Kind: n.Owner.Kind, ID: ownerID})
	if err != nil {
		return err
	}

	// A notice about another charge than the pending one is late: the result is stored already.
	isLate := c == nil || c.ID != n.Key
	if isLate || s.isFirstCall(*c) {
		return nil
	}

	_, err = s.collect(ctx, *c, attempt{attended: false})

	return ignoreExpected(err)
}

// isFirstCall reports whether the first call to the provider for the charge may still be in
// progress. The process that makes this call stores the result itself. It has claimed the charge
// until NextAt.
func (s *Service) isFirstCall(c Charge) bool {
	return !c.awaitsPayer() && c.Attempts <= 1 && c.NextAt.After(s.Clock.Now())
}

// SetUpMethod begins the collection of a payment method of the caller.
func (s *Service) SetUpMethod(ctx context.Context, by auth.Actor) (Action, error) {
	if err := by.RequireSeeker(); err != nil {
		return Action{}, err
	}

	return s.SetUpMethodFor(ctx, userOwner(by))
}

// SetUpMethodFor begins the collection of a payment method of an owner. The caller has
// checked permissions.
func (s *Service) SetUpMethodFor(ctx context.Context, o Owner) (Action, error) {
	collector, collectsMethods := s.Payments.(MethodCollector)
	if !collectsMethods {
		return Action{}, ErrNoCollector
	}

	return collector.SetUp(ctx, o)
}
