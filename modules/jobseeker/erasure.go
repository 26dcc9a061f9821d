package jobseeker

import (
	"context"

	"github.com/locumhq/locum/core/event"
	"github.com/locumhq/locum/core/task"
)

// OnAccountDeleted deletes all data of the user. A task deletes the files afterwards.
func (s *Service) OnAccountDeleted(ctx context.Context, e event.AccountDeleted) error {
	return s.Tx.Do(ctx, func(ctx context.Context) error {
		if err := s.PersonalData.DeleteByUser(ctx, e.UserID, s.Clock.Now()); err != nil {
			return err
		}
		return s.Tasks.Add(ctx, task.New(removeKind, task.Maintenance, removeKind+"/"+s.NewID(), struct{}{}))
	})
}
