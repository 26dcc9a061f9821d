package jobseeker

import (
	"context"
	"time"

	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/page"
)

// The faults of this module.
var (
	ErrNotificationNotFound = fault.New(fault.NotFound, "notification_not_found", "Notification not found")
)

// Notifications keeps what users are told. Whoever names a user gets and
// changes that user's only: anybody else's are as absent as those that never
// were.
type Notifications interface {
	// Add stores notifications. One whose user was told of that cause already,
	// even if they deleted it since, is left out.
	Add(ctx context.Context, ns ...Notification) error
	// Page lists the user's, the newest first. The cursor is the id of the last
	// item seen.
	Page(ctx context.Context, userID string, r page.Request) (page.Result[Notification], error)
	// SetRead marks one as read or unread, or returns ErrNotificationNotFound.
	SetRead(ctx context.Context, userID, id string, read bool) error
	// Has is nil if the user has that notification, else ErrNotificationNotFound.
	Has(ctx context.Context, userID, id string) error
	// Delete takes one away at the moment, or returns ErrNotificationNotFound.
	Delete(ctx context.Context, userID, id string, at time.Time) error
	// Forget removes at most n that were made before the moment.
	Forget(ctx context.Context, before time.Time, n int) (int, error)
}

// Activities keeps what users did.
type Activities interface {
	// Add stores entries. One whose user has an entry of that event is left out.
	Add(ctx context.Context, as ...Activity) error
	// Page lists the user's, the newest first. The cursor is the event id of
	// the last item seen.
	Page(ctx context.Context, userID string, r page.Request) (page.Result[Activity], error)
	// Forget removes at most n that are from before the moment.
	Forget(ctx context.Context, before time.Time, n int) (int, error)
}

// Listings tells of the listings that users are told about.
type Listings interface {
	// Titles maps those of the ids that exist, in whatever state, to their titles.
	Titles(ctx context.Context, ids []string) (map[string]string, error)
}
