package jobseeker

import (
	"context"

	"github.com/locumhq/locum/core/event"
	"github.com/locumhq/locum/core/task"
)

// OnAccountDeleted forgets whoever deleted their account: there is nobody left
// for whom anything here would be kept. The files go after the rows.
func (s *Service) OnAccountDeleted(ctx context.Context, e event.AccountDeleted) error {
	return s.Tx.Do(ctx, func(ctx context.Context) error {
		if err := s.DocumentFiles.FreeAll(ctx, e.UserID, s.Clock.Now()); err != nil {
			return err
		}
		if err := s.Traces.Remove(ctx, e.UserID); err != nil {
			return err
		}
		return s.Tasks.Add(ctx, task.New(removeKind, task.Maintenance, removeKind+"/"+s.NewID(), struct{}{}))
	})
}
