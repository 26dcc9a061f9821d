package hiring

import (
	"context"
	"time"

	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/event"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/page"
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

	// errWithdrawnByApplicant is ErrInvalidStatus for a reason of its own.
	errWithdrawnByApplicant = ErrInvalidStatus.WithFields(fault.Field{Name: "status", Message: "cannot be changed: the applicant has withdrawn"})

	errTracker = fault.InvalidField("status", "must be one of: pending, in-progress, completed, rejected")
)

// Applications keeps applications. Whoever names an organization gets and
// changes the applications to its listings only, and whoever names an applicant
// their own: anybody else's are as absent as those that never were.
type Applications interface {
	// Add stores a new application and records what is told of it
	// (event.Recorder), both or neither, also outside of a transaction.
	// ErrAlreadyApplied if the applicant has one for that listing, withdrawn or
	// not, also one that a concurrent call adds.
	Add(ctx context.Context, a Application, told ...event.Event) error
	// ForOrganization returns those of the ids that the organization has, in
	// one statement, any order, each once. Inside a transaction the rows are
	// locked until its end.
	ForOrganization(ctx context.Context, organizationID string, ids []string) ([]Application, error)
	// ForApplicant returns the applicant's own application, or ErrNotFound,
	// also if the applicant withdrew it. Inside a transaction the row is locked
	// until its end.
	ForApplicant(ctx context.Context, applicantID, id string) (Application, error)
	// SaveStatuses stores status, tracker and ChangedAt of at most 100
	// applications of the organization that this transaction has read, and adds
	// the changes to their timelines, in a number of statements that does not
	// grow with theirs.
	SaveStatuses(ctx context.Context, organizationID string, as []Application, changes []Change) error
	// SaveOwn stores what an applicant may change, and adds the changes to the
	// timeline. The transaction has read the application.
	SaveOwn(ctx context.Context, applicantID string, a Application, changes ...Change) error
	// Left returns at most n of the applications that the applicant has not
	// withdrawn, locked until the transaction's end.
	Left(ctx context.Context, applicantID string, n int) ([]Application, error)
	// Erase empties what the applicant wrote in the applications that they have
	// withdrawn, what was noted of their interviews, and removes the letters that
	// were written to them.
	Erase(ctx context.Context, applicantID string) error
	// AppliedLately are the listings that the applicant applied for last and has
	// not withdrawn from, at most n, the latest first. AppliedAmong returns those
	// of the listings that the applicant ever applied for.
	AppliedLately(ctx context.Context, applicantID string, n int) (listingIDs []string, err error)
	AppliedAmong(ctx context.Context, applicantID string, listingIDs []string) (map[string]bool, error)
	// Timeline returns the newest changes of an application to the organization,
	// at most n, oldest first. The submission is not among them.
	Timeline(ctx context.Context, organizationID, applicationID string, n int) ([]Change, error)
	// CountByStatus counts those of the organization's applications that the
	// filter picks by their status.
	CountByStatus(ctx context.Context, organizationID string, f ApplicationFilter) (map[Status]int, error)
	// Count counts the organization's applications that the filter picks, and
	// Before returns the n newest of them that are older than the one with the
	// id ("" for the newest of all), without cover letters and answers.
	Count(ctx context.Context, organizationID string, f ApplicationFilter) (int, error)
	Before(ctx context.Context, organizationID string, f ApplicationFilter, id string, n int) ([]Application, error)
	// PageForOrganization lists applications, newest first, and PageForApplicant
	// those that the applicant has not withdrawn. Cover letters and answers are
	// left out. The cursor is the id of the last item seen.
	PageForOrganization(ctx context.Context, organizationID string, r page.Request) (page.Result[Application], error)
	PageForApplicant(ctx context.Context, applicantID string, r page.Request) (page.Result[Application], error)
	// PageSeen lists what the sight takes in, whole, the newest first: the
	// applications to an organization, and those of an applicant that they have
	// not withdrawn, each once. The cursor is the id of the last item seen. Seen
	// is one of them, or ErrNotFound.
	PageSeen(ctx context.Context, v Sight, f SeenFilter, r page.Request) (page.Result[Application], error)
	Seen(ctx context.Context, v Sight, id string) (Application, error)
	// CountForApplicant counts what PageForApplicant lists, and those among it in
	// which the applicant sees the status.
	CountForApplicant(ctx context.Context, applicantID string, seen Status) (all, those int, err error)
}

// Appointments keeps interviews. Whoever names an organization gets and changes
// its own only.
type Appointments interface {
	// Save stores an appointment of its organization, new or changed. There is
	// one for each application; the transaction holds the lock of that.
	Save(ctx context.Context, a Appointment) error
	// ForApplications returns the interviews that the organization's
	// applications have, in one statement, any order.
	ForApplications(ctx context.Context, organizationID string, applicationIDs []string) ([]Appointment, error)
	// Standing returns the interviews that are scheduled for those of the
	// applications that are the applicant's, in one statement, any order.
	Standing(ctx context.Context, applicantID string, applicationIDs []string) ([]Appointment, error)
	// Ahead returns at most n interviews of the organization that are scheduled
	// for after the moment, locked until the transaction's end.
	Ahead(ctx context.Context, organizationID string, after time.Time, n int) ([]Appointment, error)
	// Page lists the organization's interviews, newest first, all or those of
	// one status. The cursor is the id of the last item seen.
	Page(ctx context.Context, organizationID string, status InterviewStatus, r page.Request) (page.Result[Appointment], error)
}

// Letters keeps what employers wrote to applicants.
type Letters interface {
	Add(ctx context.Context, l Letter) error
	// Find returns a letter of the organization, or ErrNotFound.
	Find(ctx context.Context, organizationID, id string) (Letter, error)
}

// Exports keeps what is known of exports.
type Exports interface {
	Add(ctx context.Context, e Export) error
	// Unfinished counts the organization's exports that are not at their end.
	// Transactions that ask for the same organization take turns.
	Unfinished(ctx context.Context, organizationID string) (int, error)
	// Find returns an export of the organization, or ErrExportNotFound.
	Find(ctx context.Context, organizationID, id string) (Export, error)
	// Save stores state, rows and end of an export of its organization. It fails
	// for one that is completed: a worker that lost its job does not undo what
	// the next one did.
	Save(ctx context.Context, e Export) error
	// GiveUp ends as failed, at now, all exports that are older than the moment
	// and have no end.
	GiveUp(ctx context.Context, before, now time.Time) error
	// Expired returns at most n exports, of whomever, that are older than the
	// moment.
	Expired(ctx context.Context, before time.Time, n int) ([]Export, error)
	// Naming returns at most n exports that may name the applicant: of the
	// applications of the organizations where they have withdrawn one, asked for
	// by the moment and begun.
	Naming(ctx context.Context, applicantID string, by time.Time, n int) ([]Export, error)
	Remove(ctx context.Context, ids []string) error
}

// Listings tells of the listings that people apply to.
type Listings interface {
	// ForApply is the listing if it is public at this moment, otherwise
	// ErrListingNotFound.
	ForApply(ctx context.Context, id string) (Posting, error)
	// Titles maps those of the ids that exist, in whatever state, to their titles.
	Titles(ctx context.Context, ids []string) (map[string]string, error)
	// Companies maps those of the ids that exist, in whatever state, to the names
	// under which they were posted.
	Companies(ctx context.Context, ids []string) (map[string]string, error)
	// Viewed is the title of one of the organization's listings and how often it
	// was seen, or a NotFound fault.
	Viewed(ctx context.Context, organizationID, id string) (title string, views int, err error)
	// CountByStatus counts the organization's listings by their status.
	CountByStatus(ctx context.Context, organizationID string) (map[string]int, error)
}

// Posting is a listing as applicants need it.
type Posting struct {
	ID             string
	OrganizationID string
	Questions      []Question
}

// Question is something that a listing asks its applicants.
type Question struct {
	ID       string
	Required bool
}

// People tells who applied.
type People interface {
	// ByIDs maps those of the ids that exist to their names and addresses.
	ByIDs(ctx context.Context, ids []string) (map[string]Person, error)
}

// Organizations tells of employers.
type Organizations interface {
	Name(ctx context.Context, id string) (string, error)
	// Admins are the ids of at most n active admins, those of longest standing.
	Admins(ctx context.Context, id string, n int) ([]string, error)
	// May reports whether the user is an active member who holds the permission,
	// or any member if it is empty.
	May(ctx context.Context, id, userID string, p auth.Permission) (bool, error)
	// WantsAlerts reports whether the member wants news of the organization by
	// mail.
	WantsAlerts(ctx context.Context, userID string) (bool, error)
}

// Wishes tells what applicants want to hear of, and to show.
type Wishes interface {
	// WantsMail reports whether the person wants news by mail.
	WantsMail(ctx context.Context, userID string) (bool, error)
	// Introduction is what the person shows those whom they apply to beside the
	// application, nil if they do not.
	Introduction(ctx context.Context, userID string) (*Introduction, error)
}

// Introduction is what applicants say of themselves.
type Introduction struct {
	Bio         string `json:"bio"`
	Location    string `json:"location"`
	Specialty   string `json:"specialty"`
	CurrentRole string `json:"currentRole"`
	Experience  string `json:"experience"`
}

// Person is an applicant as an employer sees them.
type Person struct{ Name, Email string }
