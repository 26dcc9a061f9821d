package jobseeker

import (
	"context"
	"time"

	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/page"
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

// Traces is all that is kept of users.
type Traces interface {
	// Remove removes what the ports of this module keep of the user. Of what the
	// user deleted before, nothing is left that says anything.
	Remove(ctx context.Context, userID string) error
}

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
	// Add stores an entry, unless the user has one of that event. Of each user
	// the newest MostActivities remain.
	Add(ctx context.Context, a Activity) error
	// Page lists the user's, the newest first. The cursor is the event id of
	// the last item seen.
	Page(ctx context.Context, userID string, r page.Request) (page.Result[Activity], error)
	// Forget removes at most n that are from before the moment.
	Forget(ctx context.Context, before time.Time, n int) (int, error)
}

// Profiles keeps what users say of themselves and prefer.
type Profiles interface {
	// Lock keeps other transactions from everything of the user that this module
	// counts or keeps unique, until this one ends.
	Lock(ctx context.Context, userID string) error
	// Find returns the user's profile, NewProfile for who never said anything.
	Find(ctx context.Context, userID string) (Profile, error)
	// Save stores it. The transaction has called Lock.
	Save(ctx context.Context, p Profile) error
	// Number is the user's own number, from 1, which nobody else has or had and
	// which never changes.
	Number(ctx context.Context, userID string) (int64, error)
	// Deaf returns those of the users who want no job alerts.
	Deaf(ctx context.Context, userIDs []string) ([]string, error)
}

// Accounts is what the account keeps of what users say of themselves.
type Accounts interface {
	// Rename gives the account another name.
	Rename(ctx context.Context, userID, name string) error
	// ChangeEmail asks the owner of the new address to confirm it; until then
	// the present one stays, and asking for that takes the request back. A
	// Conflict if another account has it, auth.ErrReauthenticate if the caller has
	// to prove who they are first.
	ChangeEmail(ctx context.Context, by auth.Actor, email string) error
	// PendingEmail is the address that waits to be confirmed, or empty.
	PendingEmail(ctx context.Context, userID string) (string, error)
}

// Bookmarks keeps the listings that users keep. Whoever names a user gets and
// changes that user's only.
type Bookmarks interface {
	// Add stores a bookmark; false if the user has one of that listing.
	Add(ctx context.Context, b Bookmark) (bool, error)
	// Find returns one of the user's, or ErrBookmarkNotFound.
	Find(ctx context.Context, userID, id string) (Bookmark, error)
	// Page lists the user's, the latest first. The cursor is the id of the last
	// item seen.
	Page(ctx context.Context, userID string, r page.Request) (page.Result[Bookmark], error)
	// Count counts the user's.
	Count(ctx context.Context, userID string) (int, error)
	// Among returns those of the listings, at most 1,000, that the user keeps.
	Among(ctx context.Context, userID string, listingIDs []string) (map[string]bool, error)
	// SetNotes changes the notes of one, or returns ErrBookmarkNotFound.
	SetNotes(ctx context.Context, userID, id, notes string) error
	// Delete takes one away, or returns ErrBookmarkNotFound.
	Delete(ctx context.Context, userID, id string) error
	// Untold returns at most n bookmarks of the listings, at most 1,000, by
	// whomever, whose users have not been told of the deadline. They are locked
	// until the transaction's end.
	Untold(ctx context.Context, listingIDs []string, n int) ([]Bookmark, error)
	// Told notes that the users of the bookmarks have been told.
	Told(ctx context.Context, ids []string) error
}

// Documents keeps what is known of users' documents. Whoever names a user gets
// and changes that user's only. Those who write have called Profiles.Lock.
type Documents interface {
	// Add stores a new document, and Save a changed one of its user. There is one
	// default of each type: ClearDefault comes before another.
	Add(ctx context.Context, d Document) error
	Save(ctx context.Context, d Document) error
	// ClearDefault leaves the user's documents of the type without a default.
	ClearDefault(ctx context.Context, userID string, t DocumentType) error
	// Find returns one of the user's, or ErrDocumentNotFound.
	Find(ctx context.Context, userID, id string) (Document, error)
	// Page lists the user's, the newest first. The cursor is the id of the last
	// item seen.
	Page(ctx context.Context, userID string, r page.Request) (page.Result[Document], error)
	// Delete takes one away, or returns ErrDocumentNotFound.
	Delete(ctx context.Context, userID, id string) error
	// Usage says how much the user keeps.
	Usage(ctx context.Context, userID string) (Usage, error)
}

// DocumentFiles knows of every file that holds, held or is to hold a document's
// content, so that none is left behind.
type DocumentFiles interface {
	// Reserve notes a file that is about to be written. From the moment on it
	// belongs to nobody, unless it is in use by then.
	Reserve(ctx context.Context, userID string, f DocumentFile, until time.Time) error
	// Use gives a file that is reserved at now to a document, for good. It fails
	// for any other.
	Use(ctx context.Context, userID, id string, now time.Time) error
	// Free takes a file of the user from its document; from the moment on it
	// belongs to nobody.
	Free(ctx context.Context, userID, id string, at time.Time) error
	// FreeAll is Free for all of the user's.
	FreeAll(ctx context.Context, userID string, at time.Time) error
	// Due returns at most n files that belong to nobody at now, of whomever.
	Due(ctx context.Context, now time.Time, n int) ([]DocumentFile, error)
	// PutOff makes files due at a later moment.
	PutOff(ctx context.Context, ids []string, at time.Time) error
	// Remove forgets files that are no more.
	Remove(ctx context.Context, ids []string) error
}

// FileTypes tells what a file is.
type FileTypes interface {
	// Detect is the media type of content that documents may have, empty for
	// anything else. A fault says why a file of such a type is refused.
	Detect(content []byte) (mediaType string, err error)
}

// ApplicationCounts are applications by what the applicant sees: all of them,
// and those that are pending.
type ApplicationCounts struct{ Total, Pending int }

// Searches keeps what users search for. Whoever names a user gets and changes
// that user's only.
type Searches interface {
	// Add stores a new search.
	Add(ctx context.Context, s Search) error
	// Of returns the user's searches, the newest first, at most n.
	Of(ctx context.Context, userID string, n int) ([]Search, error)
	// Delete removes one with its matches, or returns ErrSearchNotFound.
	Delete(ctx context.Context, userID, id string) error
	// EndAlerts turns the e-mail alerts of all of the user's searches off; what
	// waits for a digest waits no more.
	EndAlerts(ctx context.Context, userID string) error
	// After returns everybody's searches beyond the id in the order of ids, at
	// most n. The empty id is before all.
	After(ctx context.Context, id string, n int) ([]Search, error)
	// Unresolved returns at most n searches that have a query and no Resolved.
	Unresolved(ctx context.Context, n int) ([]Search, error)
	// SetResolved stores resolved queries by the ids of their searches, at most
	// 1,000, in one statement. Searches that have been deleted are ignored.
	SetResolved(ctx context.Context, resolved map[string]string) error
}

// Alerts keeps what is between a new listing and the user who waits for it.
type Alerts interface {
	// Collect notes a listing to be held against the searches, once.
	Collect(ctx context.Context, listingID string) error
	// Claim hands out at most n collected listings until the moment, to one
	// caller at a time.
	Claim(ctx context.Context, n int, now, until time.Time) ([]string, error)
	// Keep puts the moment off until which claimed listings are their caller's.
	Keep(ctx context.Context, listingIDs []string, until time.Time) error
	// Done takes listings out of the collection.
	Done(ctx context.Context, listingIDs []string) error
	// AddMatches stores matches and returns the new ones: no listing matches a
	// search twice. Their order is their own.
	AddMatches(ctx context.Context, ms []Match) ([]Match, error)
	// Expect notes that something waits for the users' next digests. Who never
	// had one may have it now.
	Expect(ctx context.Context, userIDs []string, now time.Time) error
	// Due returns at most n users who may have a digest and for whom something
	// waits, locked until the transaction's end; others get others.
	Due(ctx context.Context, now time.Time, n int) ([]string, error)
	// Bundle puts what waits for the user into the digest and says how much it
	// is. With something in it, next is when another may follow.
	Bundle(ctx context.Context, userID, digestID string, next time.Time) (int, error)
	// Digest returns the matches of the user's digest in the order of listings,
	// the newest first, at most n, of searches that are there and still want
	// mail, with their names.
	Digest(ctx context.Context, userID, digestID string, n int) ([]Match, error)
	// Forget removes at most n matches from before the moment.
	Forget(ctx context.Context, before time.Time, n int) (int, error)
}

// Listings tells of the listings that users are told about.
type Listings interface {
	// Titles maps those of the ids that exist, in whatever state, to their titles.
	Titles(ctx context.Context, ids []string) (map[string]string, error)
	// Briefs maps those of the ids that exist, in whatever state, to what is
	// shown of a listing in passing.
	Briefs(ctx context.Context, ids []string) (map[string]Brief, error)
	// ClosingBetween returns at most n public listings whose deadline comes after
	// from (and, at the same moment, whose id does) and not after until, in that
	// order.
	ClosingBetween(ctx context.Context, from Closing, until time.Time, n int) ([]Closing, error)
	// Public returns those of the ids that are public at this moment, in any
	// order.
	Public(ctx context.Context, ids []string) ([]Posting, error)
	// Suggest returns the first n results that the public search has for what is
	// wanted. Its time does not depend on the number of listings.
	Suggest(ctx context.Context, w Wanted, n int) ([]Candidate, error)
	// Resolve returns the text of a search as Matching of Gathered takes it, with
	// misspelt words replaced. It returns an empty text while the process has no
	// search index.
	Resolve(ctx context.Context, text string) (string, error)
	// Gather reads those of the ids that are public at this moment into memory,
	// to be held against many searches. There are at most 1,000 ids.
	Gather(ctx context.Context, ids []string) (Gathered, error)
}

// Brief is a listing in passing.
type Brief struct {
	Title, Company, Location string
	// Public says whether everybody can see it at this moment.
	Public bool
}

// Wanted is what listings are looked for by; what is empty does not narrow.
type Wanted struct {
	// Text is as the public search takes it.
	Text string
	// Location is where, and Radius how many miles around, 0 for the usual.
	Location     string
	Radius       float64
	ContractType string
	// Home is where distances are measured from, and Specialty what listings are
	// compared with. They narrow nothing.
	Home, Specialty string
}

// Candidate is a listing as far as it is judged.
type Candidate struct {
	ID, Title, Company, Location string
	Remote                       bool
	ContractType, EmploymentType string
	PostedAt                     time.Time
	// PayLowest and PayHighest are a year's pay, nil if none is stated.
	PayLowest, PayHighest *float64
	// InTitle is set if the title or a field says all that is wanted, under whatever
	// name, and not the text alone.
	InTitle bool
	// Miles is the distance from home, nil if that or the listing's place is not
	// known.
	Miles *float64
	// Filed says that it is filed under the specialty, in whichever words.
	Filed bool
}

// Closing is a listing and its deadline.
type Closing struct {
	At    time.Time
	ID    string
	Title string
}

// Gathered are listings in memory.
type Gathered interface {
	// Postings returns the listings.
	Postings() []Posting
	// Matching returns the positions in Postings of the exact results that the
	// public search has for the terms, whose query is resolved. It reads no
	// database.
	Matching(ctx context.Context, t Terms) ([]int, error)
}

// Posting is a listing as users are told of it.
type Posting struct {
	ID       string
	Title    string
	Company  string
	Location string
	PostedAt time.Time
}

// People tells whom a mail goes to.
type People interface {
	// ByIDs maps those of the ids that exist to their names and addresses.
	ByIDs(ctx context.Context, ids []string) (map[string]Person, error)
}

// Person is who a mail goes to.
type Person struct{ Name, Email string }

// Onboardings keeps how far visitors have come. One that is not there has
// Version 0.
type Onboardings interface {
	// Find returns the visitor's.
	Find(ctx context.Context, v Visitor) (Onboarding, error)
	// Lock is Find, makes one that is not there, and keeps other transactions
	// from it until this one ends.
	Lock(ctx context.Context, v Visitor) (Onboarding, error)
	// Save stores one that the transaction has locked.
	Save(ctx context.Context, o Onboarding) error
	// Delete removes the visitor's.
	Delete(ctx context.Context, v Visitor) error
	// Forget removes at most n guests' that were not touched since the moment.
	Forget(ctx context.Context, before time.Time, n int) (int, error)
}

// Applied tells what users applied for.
type Applied interface {
	// Lately are the listings that the user applied for last, at most n, without
	// withdrawn applications.
	Lately(ctx context.Context, userID string, n int) (listingIDs []string, err error)
	// Among returns those of the listings, at most 1,000, that the user ever
	// applied for.
	Among(ctx context.Context, userID string, listingIDs []string) (map[string]bool, error)
	// Counts counts the user's applications, without withdrawn ones.
	Counts(ctx context.Context, userID string) (ApplicationCounts, error)
}

// Dismissals keeps what users do not want to be recommended.
type Dismissals interface {
	// Add notes one of the user's, and forgets their oldest beyond the most that
	// are kept.
	Add(ctx context.Context, userID, listingID string, at time.Time, most int) error
	// Among returns those of the listings, at most 1,000, that the user dismissed.
	Among(ctx context.Context, userID string, listingIDs []string) (map[string]bool, error)
	// Delete removes all of the user's.
	Delete(ctx context.Context, userID string) error
}

// Plans tells what users are subscribed to.
type Plans interface {
	Plan(ctx context.Context, userID string) (Plan, error)
}
