package jobseeker

import (
	"context"
	"time"

	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/page"
)

// Activity is one entry of the log of what a user did and what came of it.
type Activity struct {
	UserID string
	// EventID is the id of what happened, a UUIDv7: the log is in its order.
	EventID string
	// Type is what it is about (application, interview, search), Action what
	// was done with it.
	Type, Action string
	Description  string
	At           time.Time
}

// MostActivities is how many entries of a user are kept.
const MostActivities = 1_000

// MyActivity lists what the caller did, the latest first.
func (s *Service) MyActivity(ctx context.Context, by auth.Actor, r page.Request) (page.Result[Activity], error) {
	if !by.Seeker {
		return page.Result[Activity]{}, fault.ErrForbidden
	}
	if err := r.CheckID(); err != nil {
		return page.Result[Activity]{}, err
	}
	return s.Activities.Page(ctx, by.UserID, r)
}
