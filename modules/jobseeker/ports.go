package jobseeker

import (
	"context"
	"time"

	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/core/retention"
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
	ErrTooManyAlerts        = fault.New(fault.Invalid, "too_many_alerts", "Maximum 10 job alerts for an e-mail address")
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

// ApplicationCounts contains numbers of applications of an applicant. Total counts all of them.
// Pending counts those whose status is pending from the applicant's point of view.
type ApplicationCounts struct{ Total, Pending int }

// Listings provides listings.
type Listings interface {
	// ListBriefs maps the ids of listings that exist, in any state, to summaries.
	ListBriefs(ctx context.Context, ids []string) (map[string]Brief, error)
	// ListClosing returns at most n public listings, ordered by deadline and then by id.
	// It returns those that come after the listing from in this order, and whose deadline
	// is not after until. For the first page, from only has a time.
	ListClosing(ctx context.Context, from Closing, until time.Time, n int) ([]Closing, error)
	// Public returns the listings that are public now, in any order.
	Public(ctx context.Context, ids []string) ([]Listing, error)
	// Suggest returns the first n results of the public search. Its duration does
	// not depend on the number of listings.
	Suggest(ctx context.Context, w Wanted, n int) ([]Candidate, error)
	// Resolve returns the query with misspelt words replaced, as ListingBatch.Matching
	// expects it. It returns an empty text while the process has no search index.
	Resolve(ctx context.Context, text string) (string, error)
	// Gather reads listings into memory, in order to match them with many searches. It omits
	// those that are not public now. At most 1,000 ids are allowed.
	Gather(ctx context.Context, ids []string) (ListingBatch, error)
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
	// Home is the place from which Candidate.Miles is measured, and Specialty the
	// specialty for Candidate.Filed. They do not restrict the results.
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
	// InTitle is true if the title or another field contains all words of the query, or
	// synonyms. It is false if some words are only in the text.
	InTitle bool
	// Miles is the distance from Wanted.Home, nil if one of the two places is unknown.
	Miles *float64
	// Filed is true if the specialty of the listing is Wanted.Specialty or a synonym.
	Filed bool
}

// Closing is a listing with its deadline.
type Closing struct {
	At    time.Time
	ID    string
	Title string
}

// ListingBatch contains public listings in memory, in order to match them with many searches.
type ListingBatch interface {
	// Listings returns the listings.
	Listings() []Listing
	// Matching returns the indexes in Listings of the listings that the public search
	// would find for the terms. The query must be resolved (Listings.Resolve). Matching
	// does not use the database.
	Matching(ctx context.Context, t Terms) ([]int, error)
}

// Listing is a listing as it appears in notifications and digests.
type Listing struct {
	ID       string
	Title    string
	Company  string
	Location string
	PostedAt time.Time
}

// People provides the recipients of e-mails.
type People interface {
	// ByIDs maps the ids of users that exist to their names and addresses.
	ByIDs(ctx context.Context, ids []string) (map[string]Person, error)
}

// Person is the recipient of an e-mail.
type Person struct{ Name, Email string }

// Applied provides the applications of users.
type Applied interface {
	// ListRecentlyApplied returns the listings of the user's n newest applications, without withdrawn
	// ones.
	ListRecentlyApplied(ctx context.Context, userID string, n int) (listingIDs []string, err error)
	// FindApplied returns the set of the given listings, at most 1,000, that the user has
	// applied for. Withdrawn applications count too.
	FindApplied(ctx context.Context, userID string, listingIDs []string) (map[string]bool, error)
	// Counts counts the user's applications that are not withdrawn.
	Counts(ctx context.Context, userID string) (ApplicationCounts, error)
}

// Plans provides the subscriptions of users.
type Plans interface {
	// Plan returns the plan of the user.
	Plan(ctx context.Context, userID string) (Plan, error)
}

// The kinds of rows that expire. The comments name the timestamp that the age of a row is
// measured from.
const (
	// NotificationKind are notifications, including deleted ones (CreatedAt).
	NotificationKind retention.Kind = "jobseeker.notifications"
	// ActivityKind are activities (At).
	ActivityKind retention.Kind = "jobseeker.activities"
	// MatchKind are matches (At).
	MatchKind retention.Kind = "jobseeker.matches"
	// GuestOnboardingKind are the onboardings of guests (TouchedAt). Onboardings of users
	// do not expire.
	GuestOnboardingKind retention.Kind = "jobseeker.guest_onboardings"
)

// PersonalData deletes what is stored about a user.
type PersonalData interface {
	// DeleteByUser deletes everything that the ports of this module store about the user. The files
	// of the user's documents are released at the given time, which means that they may be deleted
	// from then on (DocumentFiles.Claim). Notifications that the user has deleted before are the
	// exception: their rows, which have no content, remain until they expire.
	DeleteByUser(ctx context.Context, userID string, now time.Time) error
}

// Profiles stores profiles.
type Profiles interface {
	// Get returns the profile of the user, or NewProfile if none is stored. Inside a
	// transaction it also locks the profile until the end of the transaction, even if none
	// is stored. Transactions that write something that is limited or unique per user
	// take this lock first, which serializes them.
	Get(ctx context.Context, userID string) (Profile, error)
	// Update stores the profile, which this transaction has read. It assigns a Number
	// to a profile that has none. A number never changes and is never assigned twice.
	Update(ctx context.Context, p Profile) error
}

// Notifications stores notifications. A notification of another user, or one that
// is deleted, does not exist for the methods below.
type Notifications interface {
	// Create stores notifications. It ignores a notification if the user has been notified
	// of the same Cause before, even if the user has deleted that notification.
	Create(ctx context.Context, ns ...Notification) error
	// List returns the notifications of the user in descending order of id. The
	// cursor is the id of the last item of the previous page.
	List(ctx context.Context, userID string, r page.Request) (page.Result[Notification], error)
	// Update changes a notification of the user, or returns
	// ErrNotificationNotFound.
	Update(ctx context.Context, userID, id string, u NotificationUpdate) error
}

// NotificationUpdate is a change of a notification. Fields that are nil keep their
// value.
type NotificationUpdate struct {
	Read *bool
	// DeletedAt deletes the notification with its Message. Only its Cause remains
	// stored, so that the user is not notified of it again.
	DeletedAt *time.Time
}

// Activities stores the activity logs of users.
type Activities interface {
	// Create stores an activity unless the user has one with the same EventID. Only
	// the MaxActivities newest ones of each user, by EventID, remain stored.
	Create(ctx context.Context, a Activity) error
	// List returns the activities of the user in descending order of EventID. The
	// cursor is the EventID of the last item of the previous page.
	List(ctx context.Context, userID string, r page.Request) (page.Result[Activity], error)
}

// Bookmarks stores bookmarks.
type Bookmarks interface {
	// Upsert stores a new bookmark, or changes the notes of a stored one. It returns an
	// error for a second bookmark of a user for the same listing, and for the id of a
	// bookmark of another user. The transaction must have locked the profile
	// (Profiles.Get).
	Upsert(ctx context.Context, b Bookmark) error
	// List returns the bookmarks of the user that the filter selects, in descending
	// order of id. The cursor is the id of the last item of the previous page.
	List(ctx context.Context, userID string, f BookmarkFilter, r page.Request) (page.Result[Bookmark], error)
	// Delete deletes a bookmark of the user, or returns ErrBookmarkNotFound.
	Delete(ctx context.Context, userID, id string) error
	// ClaimReminders returns at most n bookmarks of any users for the given listings, and
	// marks them, so that no later call returns them again. A rollback of the transaction
	// removes the marks. Concurrent callers get different bookmarks. At most 1,000 listings
	// are allowed.
	ClaimReminders(ctx context.Context, listingIDs []string, n int) ([]Bookmark, error)
}

// BookmarkFilter selects bookmarks. Empty fields select all.
type BookmarkFilter struct {
	ID string
	// ListingIDs are at most 1,000.
	ListingIDs []string
}

// Dismissals stores the listings that users do not want to be recommended.
type Dismissals interface {
	// Create stores a dismissal unless it exists, and deletes the oldest ones of
	// the user beyond the limit.
	Create(ctx context.Context, userID, listingID string, at time.Time, limit int) error
	// ListByListings returns which of the given listings, at most 1,000, the user has
	// dismissed, in any order.
	ListByListings(ctx context.Context, userID string, listingIDs []string) ([]string, error)
}

// Onboardings stores the progress of visitors.
type Onboardings interface {
	// Get returns the onboarding of the visitor. If none is stored, it returns an empty
	// one with Version 0. Inside a transaction it locks a stored onboarding until the end
	// of the transaction.
	Get(ctx context.Context, v Visitor) (Onboarding, error)
	// Upsert stores the onboarding with the next Version, or deletes it if it is empty
	// (IsEmpty). It fails if the stored version is not o.Version, because another request
	// has changed the onboarding. After this error tx.Runner runs the transaction again.
	Upsert(ctx context.Context, o Onboarding) error
}

// Documents stores the properties of documents. Transactions that write must have locked
// the profile (Profiles.Get).
type Documents interface {
	// Upsert stores a new document, or changes a stored one. It returns an error for the id
	// of a document of another user.
	//
	// A file that the document did not have before must be reserved for the user until
	// after d.UpdatedAt (DocumentFiles.Reserve). It belongs to the document from then on,
	// and the previous file is released.
	//
	// If d.IsDefault is set, Upsert clears it for the user's other documents of that type.
	Upsert(ctx context.Context, d Document) error
	// List returns the documents of the user that the filter selects, in descending
	// order of id. The cursor is the id of the last item of the previous page.
	List(ctx context.Context, userID string, f DocumentFilter, r page.Request) (page.Result[Document], error)
	// Delete deletes a document of the user and releases its file at the given
	// time, or returns ErrDocumentNotFound.
	Delete(ctx context.Context, userID, id string, now time.Time) error
}

// DocumentFilter selects documents. An empty ID selects all.
type DocumentFilter struct{ ID string }

// DocumentFiles stores which files exist, or may exist, in the file store for the
// content of documents, so that no file is left without a document. A file either belongs
// to a document, is reserved for one until a given time, or is released: then it has to be
// deleted.
type DocumentFiles interface {
	// Reserve stores a row for a file that is about to be written. The file is released at
	// the given time unless it belongs to a document by then. A second call for a
	// reserved file changes the time. For a file that belongs to a document, Reserve does
	// nothing.
	Reserve(ctx context.Context, userID string, f DocumentFile, until time.Time) error
	// Claim returns at most n files of any users that are released by now, in the order of
	// their release. Later calls do not return them again before the time until.
	Claim(ctx context.Context, n int, now, until time.Time) ([]DocumentFile, error)
	// Delete deletes the rows of files that have been claimed and deleted.
	Delete(ctx context.Context, ids []string) error
}

// Searches stores saved searches.
type Searches interface {
	// ListByUser returns at most n searches of the user in descending order of id.
	ListByUser(ctx context.Context, userID string, n int) ([]Search, error)
	// Replace makes the searches the only ones of the user. It stores new searches. It deletes the
	// user's other searches together with their matches. Of searches that are already stored it
	// stores only EmailAlerts. If EmailAlerts is turned off, the matches of the search are not in
	// later digests. The transaction must have locked the profile (Profiles.Get).
	Replace(ctx context.Context, userID string, searches []Search) error
	// List returns at most n searches, of any users, that the filter selects, in
	// ascending order of id.
	List(ctx context.Context, f SearchFilter, n int) ([]Search, error)
	// UpdateResolved stores resolved queries by the ids of their searches, at most
	// 1,000, in one statement. It ignores searches that do not exist.
	UpdateResolved(ctx context.Context, resolved map[string]string) error
}

// Subscribers stores the recipients of alerts without an account.
type Subscribers interface {
	// GetOrCreate returns the stored subscriber with the Mailbox of s. If there is none, it
	// stores s and returns it.
	GetOrCreate(ctx context.Context, s Subscriber) (Subscriber, error)
	// GetByIDs maps the ids to the subscribers that exist. At most 2,000 ids are allowed.
	GetByIDs(ctx context.Context, ids []string) (map[string]Subscriber, error)
	// Delete deletes the subscriber, and all rows of this module that have its id as user
	// id, such as its searches and their matches. It does nothing for other ids.
	Delete(ctx context.Context, id string) error
}

// Mailboxes recognizes addresses that name the same mailbox.
type Mailboxes interface {
	// Key returns a text that is equal for all spellings of the address, for example in
	// upper and lower case.
	Key(email string) string
}

// SearchFilter selects searches. Zero values select all.
type SearchFilter struct {
	// AfterID selects searches with a greater id.
	AfterID string
	// Unresolved selects searches that have a Query but no Resolved.
	Unresolved bool
}

// AlertQueue stores the new listings that have to be matched with the saved
// searches.
type AlertQueue interface {
	// Add adds a listing, unless it is in the queue.
	Add(ctx context.Context, listingID string) error
	// List returns at most n listings, in any order.
	List(ctx context.Context, n int) ([]string, error)
	// Delete removes listings from the queue.
	Delete(ctx context.Context, listingIDs []string) error
}

// Matches stores the listings that saved searches have found.
type Matches interface {
	// Create stores matches and returns those that are new, in any order. A listing matches a
	// search only once: repeated matches are ignored. Matches of users who have turned job alerts
	// off (Profile.JobAlerts) are ignored, too. New matches with Email are pending until
	// AssignDigests assigns them to a digest. The first digest of a user is due at once.
	Create(ctx context.Context, newMatches []Match) ([]Match, error)
	// AssignDigests creates digests for users with pending matches whose next digest is due by now,
	// for at most len(digestIDs) users. Each digest gets one of the ids and all pending matches of
	// its user. The next digest of this user is then due at the time next.
	//
	// A user whose pending matches were deleted meanwhile is selected too, but gets no digest. The
	// next digest of this user is due at once. AssignDigests returns the digests, and the number of
	// selected users. Concurrent transactions select different users.
	AssignDigests(ctx context.Context, digestIDs []string, now, next time.Time) (digests []Digest, users int, err error)
	// ListByDigest returns at most n matches of the digest of the user, with SearchName, in
	// descending order of listing id. It omits matches of searches that were deleted or
	// whose EmailAlerts is turned off.
	ListByDigest(ctx context.Context, userID, digestID string, n int) ([]Match, error)
}

// Digest is an e-mail about new matches.
type Digest struct{ ID, UserID string }
