package billing

import (
	"context"

	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/id"
)

// ReceiveNotice handles a notice (a webhook of the payment provider, which reports that a payment may
// have changed): it reads the result of the charge from the provider and stores it. It returns
// ErrNoNotices or ErrBadNotice for a webhook that it cannot handle. After another error, the
// provider should send the webhook again.
func (s *Service) ReceiveNotice(ctx context.Context, header func(name string) string, body []byte) error {
	parser, ok := s.Payments.(NoticeParser)
	if !ok {
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

	// A notice about another charge than the pending one is late: the result is stored already.
	c, err := s.pendingCharge(ctx, Owner{n.Owner.Kind, ownerID})
	if err != nil || c == nil || c.ID != n.Key || s.isFirstCall(*c) {
		return err
	}

	_, err = s.collect(ctx, *c, attempt{})

	return ignoreExpected(err)
}

// isFirstCall reports whether the first call to the provider for the charge is still in
// progress. Its caller stores the result.
func (s *Service) isFirstCall(c Charge) bool {
	return !c.awaitsPayer() && c.Attempts <= 1 && c.NextAt.After(s.Clock.Now())
}

// SetUpMethod begins the collection of a payment method of the caller.
func (s *Service) SetUpMethod(ctx context.Context, by auth.Actor) (Action, error) {
	if err := by.RequireSeeker(); err != nil {
		return Action{}, err
	}

	return s.SetUpMethodFor(ctx, Owner{User, by.UserID})
}

// SetUpMethodFor begins the collection of a payment method of an owner. The caller has
// checked permissions.
func (s *Service) SetUpMethodFor(ctx context.Context, o Owner) (Action, error) {
	collector, ok := s.Payments.(MethodCollector)
	if !ok {
		return Action{}, ErrNoCollector
	}

	return collector.SetUp(ctx, o)
}
