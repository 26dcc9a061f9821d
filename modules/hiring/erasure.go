package hiring

import (
	"context"
	"time"

	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/event"
)

// DeletedName is what an employer sees where the name of an applicant stood who
// has deleted their account.
const DeletedName = "Deleted user"

// erasedAtOnce is how many applications one transaction takes back.
const erasedAtOnce = 20

// OnAccountDeleted takes the person out of what they applied for. Employers
// keep the fact that somebody applied, and what became of it. What is not
// decided is withdrawn and its interview called off; what the applicant wrote
// is emptied, what the employer noted of the interview too, and the letters to
// the applicant go. So do the files of exports that may name the person: whoever
// wants one makes another.
func (s *Service) OnAccountDeleted(ctx context.Context, e event.AccountDeleted) error {
	for {
		n, err := s.abandon(ctx, e.UserID)
		if err != nil {
			return err
		}
		if n < erasedAtOnce {
			break
		}
	}
	if err := s.Tx.Do(ctx, func(ctx context.Context) error { return s.Applications.Erase(ctx, e.UserID) }); err != nil {
		return err
	}
	return s.removeExportsOf(ctx, e.UserID, e.DeletedAt)
}

// abandon withdraws some of the applications that are left and returns how many
// there were.
func (s *Service) abandon(ctx context.Context, applicantID string) (n int, err error) {
	err = s.Tx.Do(ctx, func(ctx context.Context) error {
		left, err := s.Applications.Left(ctx, applicantID, erasedAtOnce)
		if n = len(left); err != nil || n == 0 {
			return err
		}
		ids := make([]string, n)
		for i, a := range left {
			ids[i] = a.ID
		}
		standing, err := s.Appointments.Standing(ctx, applicantID, ids)
		if err != nil {
			return err
		}
		interviews := make(map[string]Appointment, len(standing))
		for _, i := range standing {
			interviews[i.ApplicationID] = i
		}
		by, now := auth.Actor{UserID: applicantID}, s.Clock.Now()
		var events []event.Event
		for i := range left {
			a := &left[i]
			if interview, has := interviews[a.ID]; has {
				interview.cancel(now)
				if err := s.Appointments.Save(ctx, interview); err != nil {
					return err
				}
				events = append(events, interview.event(a, event.InterviewCancelled, applicantID))
			}
			from := a.Status
			var changes []Change
			if a.Abandon(now) {
				c := s.change(a, ByApplicant, by, from)
				changes, events = append(changes, c), append(events, c.event(a))
			}
			if err := s.Applications.SaveOwn(ctx, applicantID, *a, changes...); err != nil {
				return err
			}
		}
		if len(events) == 0 {
			return nil
		}
		return s.Events.Record(ctx, events...)
	})
	return n, err
}

// removeExportsOf removes the applications' exports, begun by the moment, of
// every organization that the person applied to. One that is being written finds
// no row at its end and removes its own file.
func (s *Service) removeExportsOf(ctx context.Context, applicantID string, begun time.Time) error {
	const atOnce = 100
	for {
		named, err := s.Exports.Naming(ctx, applicantID, begun, atOnce)
		if err != nil || len(named) == 0 {
			return err
		}
		ids := make([]string, len(named))
		for i, e := range named {
			// The file first: without its row nobody would find it.
			if err := s.Files.Delete(ctx, e.key()); err != nil {
				return err
			}
			ids[i] = e.ID
		}
		if err := s.Tx.Do(ctx, func(ctx context.Context) error { return s.Exports.Remove(ctx, ids) }); err != nil {
			return err
		}
	}
}
