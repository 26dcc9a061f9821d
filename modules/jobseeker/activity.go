package jobseeker

import (
	"context"
	"time"

	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/page"
)

// Activity is an entry in the activity log of a user.
type Activity struct {
	UserID string
	// EventID is the id of the event, a UUIDv7. The log is ordered by it.
	EventID string
	// Type is the subject (application, interview, search), Action the verb.
	Type, Action string
	Description  string
	At           time.Time
}

// MaxActivities is the number of activities that are stored per user.
const MaxActivities = 1_000

// MyActivity lists the caller's activities, newest first.
func (s *Service) MyActivity(ctx context.Context, by auth.Actor, r page.Request) (page.Result[Activity], error) {
	if err := by.RequireSeeker(); err != nil {
		return page.Result[Activity]{}, err
	}
	if err := r.CheckID(); err != nil {
		return page.Result[Activity]{}, err
	}
	return s.Activities.List(ctx, by.UserID, r)
}
