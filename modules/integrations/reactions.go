package integrations

import (
	"context"

	"github.com/locumhq/locum/core/event"
)

// OnAccountDeleted ends what the account made.
func (s *Service) OnAccountDeleted(ctx context.Context, e event.AccountDeleted) error {
	return s.Tx.Do(ctx, func(ctx context.Context) error { return s.Apps.DeleteOf(ctx, e.UserID) })
}
