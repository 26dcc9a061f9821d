package jobseeker

import (
	"context"

	"github.com/locumhq/locum/core/event"
)

// OnAccountDeleted forgets whoever deleted their account: there is nobody left
// for whom anything here would be kept.
func (s *Service) OnAccountDeleted(ctx context.Context, e event.AccountDeleted) error {
	return s.Tx.Do(ctx, func(ctx context.Context) error { return s.Traces.Remove(ctx, e.UserID) })
}
