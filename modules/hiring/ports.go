package hiring

import (
	"context"

	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/fault"
)

// The faults of this module.
var (
	ErrNotFound        = fault.New(fault.NotFound, "application_not_found", "Application not found")
	ErrListingNotFound = fault.New(fault.NotFound, "listing_not_found", "Listing not found")
	ErrAlreadyApplied  = fault.New(fault.Conflict, "already_applied", "Already applied to this position")
	ErrInvalidStatus   = fault.New(fault.Invalid, "invalid_status", "Invalid status").
				WithFields(fault.Field{Name: "status", Message: "must be one of: pending, review, interview, accepted, rejected, withdrawn"})
	ErrInterviewNotFound = fault.New(fault.NotFound, "interview_not_found", "Interview not found")
	ErrExportNotFound    = fault.New(fault.NotFound, "export_not_found", "Export not found")
	ErrExportsUnderWay   = fault.New(fault.Conflict, "exports_under_way", "Too many exports are under way; wait for one to finish")
	ErrWithdrawn         = fault.New(fault.Conflict, "application_withdrawn", "The applicant has withdrawn this application")
	ErrBatchTooLarge     = fault.New(fault.Invalid, "batch_too_large", "Maximum 100 applications per batch request")

	// errWithdrawnByApplicant is ErrInvalidStatus with another reason.
	errWithdrawnByApplicant = ErrInvalidStatus.WithFields(fault.Field{Name: "status", Message: "cannot be changed: the applicant has withdrawn"})

	errTracker = fault.InvalidField("status", "must be one of: pending, in-progress, completed, rejected")
)

// Listings provides the listings that people apply to.
type Listings interface {
	// ForApply returns the listing if it is public now, otherwise
	// ErrListingNotFound.
	ForApply(ctx context.Context, id string) (Posting, error)
	// Titles maps the ids of listings that exist, in any state, to their titles.
	Titles(ctx context.Context, ids []string) (map[string]string, error)
	// Companies maps the ids of listings that exist, in any state, to the names of
	// their companies.
	Companies(ctx context.Context, ids []string) (map[string]string, error)
	// Viewed returns the title and the number of views of a listing of the
	// organization, or a NotFound fault.
	Viewed(ctx context.Context, organizationID, id string) (title string, views int, err error)
	// CountByStatus counts the organization's listings by status.
	CountByStatus(ctx context.Context, organizationID string) (map[string]int, error)
}

// Posting has the properties of a listing that an application needs.
type Posting struct {
	ID             string
	OrganizationID string
	Questions      []Question
}

// Question is a question of a listing to its applicants.
type Question struct {
	ID       string
	Required bool
}

// People provides names and addresses of users.
type People interface {
	// ByIDs maps the ids of users that exist to their names and addresses.
	ByIDs(ctx context.Context, ids []string) (map[string]Person, error)
}

// Organizations provides employers and their members.
type Organizations interface {
	// Name returns the name of the organization.
	Name(ctx context.Context, id string) (string, error)
	// Admins returns the ids of the n active admins who have been members longest.
	Admins(ctx context.Context, id string, n int) ([]string, error)
	// May reports whether the user is an active member with the permission, or any
	// active member if it is empty.
	May(ctx context.Context, id, userID string, p auth.Permission) (bool, error)
	// WantsAlerts reports whether the member wants mails about the organization.
	WantsAlerts(ctx context.Context, userID string) (bool, error)
}

// Preferences provides the preferences of applicants.
type Preferences interface {
	// WantsMail reports whether the applicant wants optional mails.
	WantsMail(ctx context.Context, userID string) (bool, error)
	// Introduction returns the part of the profile that employers see next to an
	// application, or nil if the applicant does not show it.
	Introduction(ctx context.Context, userID string) (*Introduction, error)
}

// Introduction is the part of an applicant's profile that employers see.
type Introduction struct {
	Bio         string `json:"bio"`
	Location    string `json:"location"`
	Specialty   string `json:"specialty"`
	CurrentRole string `json:"currentRole"`
	Experience  string `json:"experience"`
}

// Person is an applicant as an employer sees them.
type Person struct{ Name, Email string }
