package hiring

import (
	"context"
	"time"

	"github.com/locumhq/locum/core/auth"
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
	ErrDocumentNotFound  = fault.New(fault.NotFound, "document_not_found", "Document not found")
	ErrNoteNotFound      = fault.New(fault.NotFound, "note_not_found", "Note not found")
	ErrExportNotFound    = fault.New(fault.NotFound, "export_not_found", "Export not found")
	ErrExportsUnderWay   = fault.New(fault.Conflict, "exports_under_way", "Too many exports are under way; wait for one to finish")
	ErrWithdrawn         = fault.New(fault.Conflict, "application_withdrawn", "The applicant has withdrawn this application")
	ErrBatchTooLarge     = fault.New(fault.Invalid, "batch_too_large", "Maximum 100 applications per batch request")

	// errWithdrawnByApplicant is ErrInvalidStatus with another reason.
	errWithdrawnByApplicant = ErrInvalidStatus.WithFields(fault.Field{Name: "status", Message: "cannot be changed: the applicant has withdrawn"})
)

// Listings provides the listings that people apply to.
type Listings interface {
	// ForApply returns the listing if it is public now, otherwise
	// ErrListingNotFound.
	ForApply(ctx context.Context, id string) (Posting, error)
	// Briefs maps the ids of listings that exist, in any state, to summaries.
	Briefs(ctx context.Context, ids []string) (map[string]Brief, error)
	// Viewed returns the title and the number of views of a listing of the
	// organization, or a NotFound fault.
	Viewed(ctx context.Context, organizationID, id string) (title string, views int, err error)
	// CountByStatus counts the organization's listings by status.
	CountByStatus(ctx context.Context, organizationID string) (map[string]int, error)
}

// Brief is the summary of a listing.
type Brief struct{ Title, Company string }

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

// ApplicantDocuments provides the documents of applicants.
type ApplicantDocuments interface {
	// Read returns a document of the user with its file, or ErrDocumentNotFound.
	Read(ctx context.Context, userID, documentID string) (ApplicantDocument, error)
}

// ApplicantDocument is a document of an applicant.
type ApplicantDocument struct {
	Type  string
	Title string
	// FileName is the name under which a client saves the file.
	FileName  string
	MediaType string
	// Extension is that of the media type, with its dot.
	Extension string
	Body      []byte
}

// Person is an applicant as an employer sees them.
type Person struct{ Name, Email string }

// Visibility selects the applications that a caller may see: those to the listings of
// an organization, and those that an applicant has not withdrawn. Each is empty for
// none. All others do not exist for the methods of Applications.
type Visibility struct{ OrganizationID, ApplicantID string }

// ApplicationFilter selects applications. Zero values select all that are visible.
type ApplicationFilter struct {
	// IDs and ListingIDs are at most 1,000 each.
	IDs, ListingIDs []string
	ApplicantID     string
	Statuses        []Status
	// AppliedFrom and AppliedUntil are the limits of AppliedAt; AppliedUntil is
	// excluded.
	AppliedFrom, AppliedUntil time.Time
	// Withdrawn changes which applications of Visibility.ApplicantID are visible.
	Withdrawn WithdrawnFilter
	// Details returns cover letters, addresses of CVs and answers too.
	Details bool
}

// WithdrawnFilter selects by Application.WithdrawnAt.
type WithdrawnFilter int

// The values of WithdrawnFilter.
const (
	ExcludeWithdrawn WithdrawnFilter = iota
	OnlyWithdrawn
	// IncludeWithdrawn is for filters with ListingIDs.
	IncludeWithdrawn
)

// Applications stores applications and their timelines.
type Applications interface {
	// Create stores a new application. It returns ErrAlreadyApplied if the applicant
	// has one for that listing, withdrawn or not, also with concurrent calls. In a
	// transaction the error may come at the commit instead, from tx.Runner.Do.
	Create(ctx context.Context, a Application) error
	// Get returns a visible application with its details, or ErrNotFound. Inside a
	// transaction it locks the application until the end of the transaction.
	Get(ctx context.Context, v Visibility, id string) (Application, error)
	// List returns the visible applications that the filter selects, each once, in
	// descending order of id. The cursor is the id of the last item of the previous
	// page. Inside a transaction it locks the applications of the page until the end
	// of the transaction, unless v names both an organization and an applicant.
	List(ctx context.Context, v Visibility, f ApplicationFilter, r page.Request) (page.Result[Application], error)
	// CountByStatus counts the visible applications that the filter selects by the
	// status that is shown: Status for an organization, Application.Shown for an
	// applicant.
	CountByStatus(ctx context.Context, v Visibility, f ApplicationFilter) (map[Status]int, error)
	// UpdateStatuses stores Status and ChangedAt of at most 100 applications to the
	// organization, which this transaction has read and whose applicants have not
	// withdrawn them, clears their trackers, and adds changes to the timelines. The
	// number of statements does not depend on the number of applications.
	UpdateStatuses(ctx context.Context, organizationID string, as []Application, changes []Change) error
	// Update stores status, tracker and withdrawal of an application of the
	// applicant, which this transaction has read and which is not withdrawn, and adds
	// changes to its timeline.
	Update(ctx context.Context, applicantID string, a Application, changes ...Change) error
	// ListChanges returns the newest n entries of the timeline of an application to
	// the organization, oldest first. The submission is not an entry.
	ListChanges(ctx context.Context, organizationID, applicationID string, n int) ([]Change, error)
}

// Appointments stores interviews.
type Appointments interface {
	// Upsert stores a new interview, or changes one of its organization. The id of an
	// interview of another organization, and a second interview of an application,
	// are errors. The transaction has locked the application.
	Upsert(ctx context.Context, a Appointment) error
	// List returns the interviews of the organization that the filter selects, in
	// descending order of id. The cursor is the id of the last item of the previous
	// page. Inside a transaction it locks the interviews of the page until the end
	// of the transaction.
	List(ctx context.Context, organizationID string, f AppointmentFilter, r page.Request) (page.Result[Appointment], error)
}

// AppointmentFilter selects interviews. Zero values select all.
type AppointmentFilter struct {
	// ApplicationIDs are at most 10,000. An application has at most one interview.
	ApplicationIDs []string
	Status         InterviewStatus
	// ScheduledAfter selects interviews with a later ScheduledAt.
	ScheduledAfter time.Time
}

// Documents stores the documents of applications, and which of their files exist or may
// exist in the file store, so that no file is left without an application.
type Documents interface {
	// Reserve stores a document whose file is about to be written. It is released at the
	// given time unless it is attached by then.
	Reserve(ctx context.Context, d Document, until time.Time) error
	// Attach attaches the reserved documents of an application of the applicant. It fails
	// unless n are reserved until after the given time.
	Attach(ctx context.Context, applicantID, applicationID string, n int, now time.Time) error
	// List returns the attached documents of an application, if it is one to the
	// organization or of the applicant, in ascending order of id.
	List(ctx context.Context, v Visibility, applicationID string) ([]Document, error)
	// Release releases the documents of an application of the applicant, which may be
	// attached, at the given time, clears their titles and file names, and returns
	// their number.
	Release(ctx context.Context, applicantID, applicationID string, now time.Time) (int, error)
	// Claim returns ID and Extension of at most n documents, of any applications, that
	// have been released by now, those first that were released first. Until the given
	// time no other caller gets them.
	Claim(ctx context.Context, n int, now, until time.Time) ([]Document, error)
	// Delete deletes documents that have been claimed and whose files are deleted.
	Delete(ctx context.Context, ids []string) error
}

// Messages stores the messages of employers to applicants.
type Messages interface {
	// Create stores a message.
	Create(ctx context.Context, m Message) error
	// Get returns a message of the organization, or ErrNotFound.
	Get(ctx context.Context, organizationID, id string) (Message, error)
}

// Notes stores the notes of members about applications.
type Notes interface {
	// Create stores a note. The transaction has locked its application.
	Create(ctx context.Context, n Note) error
	// List returns the notes about an application to the organization, in descending order
	// of id. The cursor is the id of the last item of the previous page.
	List(ctx context.Context, organizationID, applicationID string, r page.Request) (page.Result[Note], error)
	// Delete deletes a note of the author about an application to the organization, or
	// returns ErrNoteNotFound.
	Delete(ctx context.Context, organizationID, applicationID, authorID, id string) error
}

// Ratings stores the ratings of applications, at most one of each member for an
// application.
type Ratings interface {
	// Upsert stores a rating in place of an earlier one of the author. The transaction has
	// locked its application.
	Upsert(ctx context.Context, r Rating) error
	// Delete deletes the rating of the author for an application to the organization, if
	// there is one.
	Delete(ctx context.Context, organizationID, applicationID, authorID string) error
	// List returns the newest n ratings of an application to the organization, in
	// descending order of RatedAt.
	List(ctx context.Context, organizationID, applicationID string, n int) ([]Rating, error)
	// Summarize maps the ids of applications, at most 1,000, to the organization to the
	// summaries of their ratings. Those without ratings are left out.
	Summarize(ctx context.Context, organizationID string, applicationIDs []string) (map[string]RatingSummary, error)
}

// Exports stores the state of exports.
type Exports interface {
	// Create stores an export, or returns ErrExportsUnderWay if limit exports of the
	// organization are unfinished. Concurrent calls do not exceed the limit.
	Create(ctx context.Context, e Export, limit int) error
	// Get returns an export of the organization, or ErrExportNotFound.
	Get(ctx context.Context, organizationID, id string) (Export, error)
	// List returns at most n exports, of any organizations, that the filter selects,
	// in any order. Inside a transaction it locks them until the end of the
	// transaction.
	List(ctx context.Context, f ExportFilter, n int) ([]Export, error)
	// Update stores State, RowsDone, RowsTotal and FinishedAt of an export of its
	// organization. It fails for a completed export, so that a worker that has lost
	// its task cannot undo the result of the next one.
	Update(ctx context.Context, e Export) error
	// Delete deletes exports.
	Delete(ctx context.Context, ids []string) error
}

// ExportFilter selects exports. Zero values select all.
type ExportFilter struct {
	// OrganizationIDs are at most 1,000.
	OrganizationIDs []string
	Kind            string
	// Unfinished selects exports without FinishedAt, Begun those that are not queued.
	Unfinished, Begun bool
	// CreatedBefore selects exports with an earlier CreatedAt.
	CreatedBefore time.Time
}

// PersonalData deletes what is stored about an applicant.
type PersonalData interface {
	// EraseByApplicant clears what the applicant has entered in the applications that
	// they have withdrawn, clears the notes of the interviews of those applications,
	// and deletes the messages, notes and ratings about them.
	EraseByApplicant(ctx context.Context, applicantID string) error
}

// ApplicationCounts counts applications for other modules.
type ApplicationCounts interface {
	// CountByListing counts the applications, withdrawn ones included, to the
	// organization's listings with the ids. Listings without any are left out.
	CountByListing(ctx context.Context, organizationID string, listingIDs []string) (map[string]int, error)
}
