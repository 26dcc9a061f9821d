package integrations

import (
	"context"

	"github.com/locumhq/locum/core/event"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/page"
)

// OnAccountDeleted ends what the account made and what it allowed, and what others
// were to be told of its applications.
func (s *Service) OnAccountDeleted(ctx context.Context, e event.AccountDeleted) error {
	return s.Tx.Do(ctx, func(ctx context.Context) error {
		if err := s.Consents.DeleteOf(ctx, e.UserID); err != nil {
			return err
		}
		all, err := s.Apps.Page(ctx, e.UserID, page.Request{Number: 1, Size: 2 * maxApps})
		if err != nil {
			return err
		}
		for _, a := range all.Items {
			if err := s.deleteApp(ctx, e.UserID, a.ID); err != nil {
				return err
			}
		}
		return s.Webhooks.ForgetApplicant(ctx, e.UserID)
	})
}

// OnSubscriptionChanged takes an application's plan back when it is not paid for
// any more, and gives it what was chosen by somebody who had gone before it was
// answered.
func (s *Service) OnSubscriptionChanged(ctx context.Context, e event.SubscriptionChanged) error {
	if e.OwnerKind != "application" {
		return nil
	}
	switch e.Change {
	case event.SubscriptionStarted, event.SubscriptionUpgraded, event.SubscriptionDowngraded, event.SubscriptionCancelled, event.SubscriptionResumed,
		event.SubscriptionEnded, event.SubscriptionLapsed:
	default: // what an operator chose stays
		return nil
	}
	a, err := s.Apps.ByID(ctx, e.OwnerID)
	if err == nil {
		_, err = s.follow(ctx, a.OwnerID, a.ID)
	}
	if fault.KindOf(err) == fault.NotFound {
		return nil // deleted meanwhile
	}
	return err
}
