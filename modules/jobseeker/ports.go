package jobseeker

import (
	"context"
	"time"

	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/fault"
)

// The faults of this module.
var (
	ErrNotificationNotFound = fault.New(fault.NotFound, "notification_not_found", "Notification not found")
	ErrSearchNotFound       = fault.New(fault.NotFound, "saved_search_not_found", "Saved search not found")
	ErrBookmarkNotFound     = fault.New(fault.NotFound, "bookmark_not_found", "Bookmark not found")
	ErrListingNotFound      = fault.New(fault.NotFound, "listing_not_found", "Listing not found")
	ErrAlreadySaved         = fault.New(fault.Conflict, "already_saved", "Already saved")
	ErrAlreadyBookmarked    = fault.New(fault.Conflict, "already_bookmarked", "Already bookmarked")
	ErrTooManyBookmarks     = fault.New(fault.Invalid, "too_many_bookmarks", "Maximum 1000 saved jobs")
	ErrDocumentNotFound     = fault.New(fault.NotFound, "document_not_found", "Document not found")
	ErrTooManyDocuments     = fault.New(fault.Invalid, "too_many_documents", "Maximum 50 documents")
	ErrDocumentsTooLarge    = fault.New(fault.Invalid, "documents_too_large", "Documents may take at most 200 MB together")
	ErrTooManySearches      = fault.New(fault.Invalid, "too_many_saved_searches", "Maximum 50 saved searches")
)

// Accounts provides the part of a profile that belongs to the account.
type Accounts interface {
	// Rename changes the name of the account.
	Rename(ctx context.Context, userID, name string) error
	// ChangeEmail sends a confirmation request to the new address, which replaces
	// the present one when it is confirmed. With the present address it cancels a
	// pending request. It returns a Conflict if another account has the address, and
	// auth.ErrReauthenticate if the caller has to authenticate again first.
	ChangeEmail(ctx context.Context, by auth.Actor, email string) error
	// PendingEmail returns the address that is not confirmed yet, or "".
	PendingEmail(ctx context.Context, userID string) (string, error)
}

// FileTypes detects the types of files.
type FileTypes interface {
	// Detect returns the media type of content that documents may have, or "" for
	// anything else. A fault contains the reason why a file of such a type is
	// refused.
	Detect(content []byte) (mediaType string, err error)
}

// ApplicationCounts are the numbers of an applicant's applications: all, and those
// with the status pending, as the applicant sees it.
type ApplicationCounts struct{ Total, Pending int }

// Listings provides listings.
type Listings interface {
	// Titles maps the ids of listings that exist, in any state, to their titles.
	Titles(ctx context.Context, ids []string) (map[string]string, error)
	// Briefs maps the ids of listings that exist, in any state, to summaries.
	Briefs(ctx context.Context, ids []string) (map[string]Brief, error)
	// ClosingBetween returns at most n public listings in the order of deadline and
	// id: those after from, up to the deadline until.
	ClosingBetween(ctx context.Context, from Closing, until time.Time, n int) ([]Closing, error)
	// Public returns the listings that are public now, in any order.
	Public(ctx context.Context, ids []string) ([]Posting, error)
	// Suggest returns the first n results of the public search. Its duration does
	// not depend on the number of listings.
	Suggest(ctx context.Context, w Wanted, n int) ([]Candidate, error)
	// Resolve returns the text of a search as Matching of Gathered takes it, with
	// misspelt words replaced. It returns an empty text while the process has no
	// search index.
	Resolve(ctx context.Context, text string) (string, error)
	// Gather reads the listings that are public now into memory, to match them with
	// many searches. There are at most 1,000 ids.
	Gather(ctx context.Context, ids []string) (Gathered, error)
}

// Brief is the summary of a listing.
type Brief struct {
	Title, Company, Location string
	// Public is true if everybody can see the listing now.
	Public bool
}

// Wanted is a query for suggestions. Empty fields do not restrict it.
type Wanted struct {
	// Text is a query of the public search.
	Text string
	// Location and Radius, in miles, restrict the place. Radius 0 is the default of
	// the public search.
	Location     string
	Radius       float64
	ContractType string
	// Home is the place from which distances are measured, and Specialty the
	// specialty for Candidate.Filed. They restrict nothing.
	Home, Specialty string
}

// Candidate is a listing with the properties that its score depends on.
type Candidate struct {
	ID, Title, Company, Location string
	Remote                       bool
	ContractType, EmploymentType string
	PostedAt                     time.Time
	// PayLowest and PayHighest are pay per year, nil if the listing has none.
	PayLowest, PayHighest *float64
	// InTitle is true if the title or a field contains everything that was searched
	// for, or synonyms, and not only the text.
	InTitle bool
	// Miles is the distance from home, nil if one of the two places is unknown.
	Miles *float64
	// Filed is true if the listing has the specialty, or a synonym.
	Filed bool
}

// Closing is a listing with its deadline.
type Closing struct {
	At    time.Time
	ID    string
	Title string
}

// Gathered are listings in memory.
type Gathered interface {
	// Postings returns the listings.
	Postings() []Posting
	// Matching returns the indexes in Postings of the exact results that the public
	// search has for the terms, whose query is resolved. It does not use the
	// database.
	Matching(ctx context.Context, t Terms) ([]int, error)
}

// Posting is a listing as it appears in notifications and digests.
type Posting struct {
	ID       string
	Title    string
	Company  string
	Location string
	PostedAt time.Time
}

// People provides the recipients of mails.
type People interface {
	// ByIDs maps the ids of users that exist to their names and addresses.
	ByIDs(ctx context.Context, ids []string) (map[string]Person, error)
}

// Person is the recipient of a mail.
type Person struct{ Name, Email string }

// Applied provides the applications of users.
type Applied interface {
	// Lately returns the listings of the user's n newest applications that are not
	// withdrawn.
	Lately(ctx context.Context, userID string, n int) (listingIDs []string, err error)
	// Among returns those of the listings, at most 1,000, that the user has applied
	// for, including withdrawn applications.
	Among(ctx context.Context, userID string, listingIDs []string) (map[string]bool, error)
	// Counts counts the user's applications that are not withdrawn.
	Counts(ctx context.Context, userID string) (ApplicationCounts, error)
}

// Plans provides the subscriptions of users.
type Plans interface {
	// Plan returns the plan of the user.
	Plan(ctx context.Context, userID string) (Plan, error)
}
