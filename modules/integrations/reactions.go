package integrations

import (
	"context"

	"github.com/locumhq/locum/core/event"
)

// OnAccountDeleted ends what the account made and what it allowed.
func (s *Service) OnAccountDeleted(ctx context.Context, e event.AccountDeleted) error {
	return s.Tx.Do(ctx, func(ctx context.Context) error {
		if err := s.Consents.DeleteOf(ctx, e.UserID); err != nil {
			return err
		}
		return s.Apps.DeleteOf(ctx, e.UserID)
	})
}
