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
				WithFields(fault.Field{
			Name:    "status",
			Message: "must be one of: pending, review, interview, accepted, rejected, withdrawn",
		})
	ErrInterviewNotFound = fault.New(fault.NotFound, "interview_not_found", "Interview not found")
	ErrDocumentNotFound  = fault.New(fault.NotFound, "document_not_found", "Document not found")
	ErrNoteNotFound      = fault.New(fault.NotFound, "note_not_found", "Note not found")
	ErrExportNotFound    = fault.New(fault.NotFound, "export_not_found", "Export not found")
	ErrTooManyExports    = fault.New(fault.Conflict, "exports_under_way", "Too many exports are under way; wait for one to finish")
	ErrWithdrawn         = fault.New(fault.Conflict, "application_withdrawn", "The applicant has withdrawn this application")
	ErrBatchTooLarge     = fault.New(fault.Invalid, "batch_too_large", "Maximum 100 applications per batch request")

	// errWithdrawnByApplicant is ErrInvalidStatus with the reason that no status is valid.
	errWithdrawnByApplicant = ErrInvalidStatus.WithFields(
		fault.Field{Name: "status", Message: "cannot be changed: the applicant has withdrawn"},
	)
)

// Listings provides the listings that people apply to.
type Listings interface {
	// GetPublic returns the listing, or ErrListingNotFound if it is not public.
	GetPublic(ctx context.Context, id string) (Posting, error)
	// ListBriefs returns summaries of the listings by id, whatever their state. It omits
	// listings that do not exist.
	ListBriefs(ctx context.Context, ids []string) (map[string]Brief, error)
	// GetTitleAndViews returns the title and the number of views of a listing of the
	// organization, or a NotFound fault.
	GetTitleAndViews(ctx context.Context, organizationID, id string) (title string, views int, err error)
	// CountByStatus counts the organization's listings by status.
	CountByStatus(ctx context.Context, organizationID string) (map[string]int, error)
}

// Brief is the summary of a listing.
type Brief struct{ Title, Company string }

// Posting contains the properties of a listing that are needed for an application to it.
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
	// ByIDs returns the names and e-mail addresses of the users by id. It omits users who do
	// not exist.
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
	// WantsAlerts reports whether the member wants e-mails about the organization.
	WantsAlerts(ctx context.Context, userID string) (bool, error)
}

// Preferences provides the preferences of applicants.
type Preferences interface {
	// WantsMail reports whether the applicant wants optional e-mails.
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
	// Extension is the extension for the media type, with its dot.
	Extension string
	Body      []byte
}

// Person is an applicant as an employer sees them.
type Person struct{ Name, Email string }

// Visibility is the set of applications that a caller may see. The methods of Applications treat
// all other applications as if they did not exist. An empty field adds nothing to the set.
type Visibility struct {
	// OrganizationID adds the applications to the listings of the organization.
	OrganizationID string
	// ApplicantID adds the applications of the applicant that are not withdrawn.
	ApplicantID string
}

// ApplicationFilter selects visible applications that match all of its fields. A zero field
// matches every application.
type ApplicationFilter struct {
	// IDs and ListingIDs are at most 1,000 each.
	IDs, ListingIDs []string
	ApplicantID     string
	Statuses        []Status
	// AppliedFrom and AppliedUntil limit AppliedAt. AppliedUntil is excluded.
	AppliedFrom, AppliedUntil time.Time
	// Withdrawn changes which applications of Visibility.ApplicantID are visible.
	Withdrawn WithdrawnFilter
	// Details requests cover letters, URLs of CVs and answers.
	Details bool
}

// WithdrawnFilter selects the applications of an applicant by Application.WithdrawnAt.
type WithdrawnFilter int

// The values of WithdrawnFilter.
const (
	ExcludeWithdrawn WithdrawnFilter = iota
	OnlyWithdrawn
	IncludeWithdrawn
)

// Applications stores applications and their timelines.
type Applications interface {
	// Create stores a new application. It returns ErrAlreadyApplied if the applicant has
	// applied to the listing before, even if that application is withdrawn. Concurrent calls
	// do not create two applications. In a transaction, tx.Runner.Do may return the error
	// instead, at the commit.
	Create(ctx context.Context, a Application) error
	// Get returns a visible application with its details, or ErrNotFound. Inside a
	// transaction, the application is locked until the transaction ends.
	Get(ctx context.Context, v Visibility, id string) (Application, error)
	// List returns a page of the visible applications that match the filter, in descending
	// order of id. A cursor is the id of the last item of a page. Inside a transaction, the
	// applications of the page are locked until the transaction ends, unless v contains both
	// an organization and an applicant, or the filter is IncludeWithdrawn.
	List(ctx context.Context, v Visibility, f ApplicationFilter, r page.Request) (page.Result[Application], error)
	// CountByStatus counts the visible applications that match the filter. It counts an
	// organization's applications by Status, and an applicant's by Application.ApplicantStatus.
	CountByStatus(ctx context.Context, v Visibility, f ApplicationFilter) (map[Status]int, error)
	// UpdateStatuses stores Status and ChangedAt of at most 100 applications to the
	// organization, clears their trackers, and adds changes to their timelines. The
	// transaction has read the applications, and none of them is withdrawn by its applicant.
	// The number of SQL statements does not depend on the number of applications.
	UpdateStatuses(ctx context.Context, organizationID string, applications []Application, changes []Change) error
	// Update stores the status, tracker and withdrawal of an application of the applicant,
	// and adds changes to its timeline. The transaction has read the application, which was
	// not withdrawn by its applicant.
	Update(ctx context.Context, applicantID string, a Application, changes ...Change) error
	// ListChanges returns the newest n entries of the timeline of an application to the
	// organization, the oldest first. The submission is not an entry.
	ListChanges(ctx context.Context, organizationID, applicationID string, n int) ([]Change, error)
}

// Appointments stores interviews.
type Appointments interface {
	// Upsert stores an interview or changes it. It returns an error if the id belongs to an
	// interview of another organization, or if the application has another interview. The
	// transaction has locked the application.
	Upsert(ctx context.Context, a Appointment) error
	// List returns a page of the organization's interviews that match the filter, in
	// descending order of id. A cursor is the id of the last item of a page. Inside a
	// transaction, the interviews of the page are locked until the transaction ends.
	List(ctx context.Context, organizationID string, f AppointmentFilter, r page.Request) (page.Result[Appointment], error)
}

// AppointmentFilter selects interviews that match all of its fields. A zero field matches
// every interview.
type AppointmentFilter struct {
	// ApplicationIDs are at most 10,000.
	ApplicationIDs []string
	Status         InterviewStatus
	// ScheduledAfter matches interviews with a later ScheduledAt.
	ScheduledAfter time.Time
}

// Documents stores the documents of applications. A document is reserved before its file is written.
// It is then attached to its application, and finally released. The file and the row of a released
// document have to be deleted. A reservation that is never attached is released, too. So the storage
// knows every file that may exist in the file store.
type Documents interface {
	// Reserve stores a document before its file is written. A document that is not attached before
	// the time until is released at that time.
	Reserve(ctx context.Context, d Document, until time.Time) error
	// Attach attaches the reserved documents of an application of the applicant. It fails
	// unless n documents are reserved at the time now.
	Attach(ctx context.Context, applicantID, applicationID string, n int, now time.Time) error
	// List returns the attached documents of an application, in ascending order of id. It returns
	// none if the application is not visible.
	List(ctx context.Context, v Visibility, applicationID string) ([]Document, error)
	// Release releases the reserved and attached documents of an application of the
	// applicant at the time now, and clears their titles and file names. It returns their
	// number.
	Release(ctx context.Context, applicantID, applicationID string, now time.Time) (int, error)
	// Claim returns at most n released documents of any applications, the first released first, for
	// a caller that deletes their files. Only ID and Extension are set. No other caller gets these
	// documents before the time until.
	Claim(ctx context.Context, n int, now, until time.Time) ([]Document, error)
	// Delete deletes claimed documents, whose files the caller has deleted.
	Delete(ctx context.Context, ids []string) error
}

// Messages stores the messages of employers to applicants.
type Messages interface {
	// Create stores a message.
	Create(ctx context.Context, m Message) error
	// Get returns a message of the organization, or ErrNotFound.
	Get(ctx context.Context, organizationID, id string) (Message, error)
	// List returns the newest n messages of the organization about an application, in
	// descending order of id.
	List(ctx context.Context, organizationID, applicationID string, n int) ([]Message, error)
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
	// Summarize returns the summaries of the ratings of applications to the organization by
	// application id. It omits applications without ratings. The applicationIDs are at most 1,000.
	Summarize(ctx context.Context, organizationID string, applicationIDs []string) (map[string]RatingSummary, error)
}

// Exports stores the state of exports.
type Exports interface {
	// Create stores an export. It returns ErrTooManyExports if the organization has limit
	// unfinished exports. Concurrent calls do not exceed the limit.
	Create(ctx context.Context, e Export, limit int) error
	// Get returns an export of the organization, or ErrExportNotFound.
	Get(ctx context.Context, organizationID, id string) (Export, error)
	// List returns at most n exports that match the filter, of any organizations and in any
	// order. Inside a transaction, the exports are locked until the transaction ends.
	List(ctx context.Context, f ExportFilter, n int) ([]Export, error)
	// Update stores State, RowsDone, RowsTotal and FinishedAt of an export. It fails for a
	// completed export, so that a worker that has lost its task cannot overwrite the result
	// of the worker that has taken the task over.
	Update(ctx context.Context, e Export) error
	// Delete deletes exports.
	Delete(ctx context.Context, ids []string) error
}

// ExportFilter selects exports that match all of its fields. A zero field matches every
// export.
type ExportFilter struct {
	// OrganizationIDs are at most 1,000.
	OrganizationIDs []string
	Kind            string
	Unfinished      bool // matches exports without FinishedAt
	Begun           bool // matches exports that are not queued
	// CreatedBefore matches exports with an earlier CreatedAt.
	CreatedBefore time.Time
}

// PersonalData deletes the personal data of an applicant.
type PersonalData interface {
	// EraseByApplicant erases data of the withdrawn applications of the applicant. It clears the
	// texts that the applicant has entered, and the notes of the interviews. It deletes the
	// messages, notes and ratings about these applications.
	EraseByApplicant(ctx context.Context, applicantID string) error
}

// ApplicationCounts counts applications for other modules.
type ApplicationCounts interface {
	// CountByListing counts the applications to the organization's listings, including
	// withdrawn applications, by listing id. It omits listings without applications.
	CountByListing(ctx context.Context, organizationID string, listingIDs []string) (map[string]int, error)
}
