package listings

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/core/retention"
	"github.com/locumhq/locum/modules/listings/search"
)

// The faults of this module. The public and the employer API name an unknown
// listing differently.
var (
	ErrNotFound    = fault.New(fault.NotFound, "listing_not_found", "Listing not found")
	ErrJobNotFound = fault.New(fault.NotFound, "job_not_found", "Job listing not found")
	ErrNotDeleted  = fault.New(fault.NotFound, "listing_not_deleted", "Listing not found or not deleted")
	ErrFilters     = fault.New(fault.Invalid, "invalid_filters", "Invalid filter parameters")
	ErrQuery       = fault.New(fault.Invalid, "invalid_query", "Invalid search query")
)

// Repository stores listings. Methods with an organization read and change its
// listings alone: those of others do not exist for them.
type Repository interface {
	// Create stores new listings, at most 100, in a constant number of statements.
	Create(ctx context.Context, ls []Listing) error
	// Get returns the organization's listing in any state, or ErrJobNotFound. Inside a transaction the row is locked until its end.
	Get(ctx context.Context, organizationID, id string) (Listing, error)
	// OrganizationOf returns the organization of a listing in any state, or
	// ErrJobNotFound. It is for operators, who act for every organization.
	OrganizationOf(ctx context.Context, id string) (string, error)
	// GetMany returns the organization's listings with the ids, each once and in
	// any order, in one statement. Inside a transaction the rows are locked until
	// its end.
	GetMany(ctx context.Context, organizationID string, ids []string) ([]Listing, error)
	// Save updates listings of one organization, at most 100, in a constant number
	// of statements. If one has changed since it was read, the transaction
	// (tx.Runner) runs again.
	Save(ctx context.Context, organizationID string, ls []Listing) error
	// Page returns a page of the organization's listings, the newest first, with
	// the status or, if it is empty, in every state. A foreign cursor is an Invalid
	// fault of the field cursor. Descriptions, requirements and benefits may be
	// left out.
	Page(ctx context.Context, organizationID string, status Status, r page.Request) (page.Result[Listing], error)
	// Export calls fn with at most n of the listings of Page, after the cursor (""
	// for the first), and returns the cursor after them, "" at the end. The argument
	// of fn is valid until it returns. Export is fast for many listings.
	Export(ctx context.Context, organizationID string, status Status, cursor string, n int, fn func(*Exported)) (next string, err error)
	// CountByStatus counts the organization's listings by their status.
	CountByStatus(ctx context.Context, organizationID string) (map[Status]int, error)
	// Count returns the number of listings of all pages.
	Count(ctx context.Context, organizationID string, status Status) (int, error)
	// Public returns a listing that is public at now, or ErrNotFound.
	Public(ctx context.Context, id string, now time.Time) (Listing, error)
	// PublicMany returns the listings with the ids that are public at now, in any
	// order.
	PublicMany(ctx context.Context, ids []string, now time.Time) ([]Listing, error)
	// PublicSummaries is PublicMany for lists. The long texts, questions and meta
	// may be left out.
	PublicSummaries(ctx context.Context, ids []string, now time.Time) ([]Listing, error)
	// Titles returns the titles of the listings by id, in any state. Unknown ids are
	// left out.
	Titles(ctx context.Context, ids []string) (map[string]string, error)
	// Briefs returns the listings with the ids, in any state and order, as of now.
	// Unknown ids are left out.
	Briefs(ctx context.Context, ids []string, now time.Time) ([]Brief, error)
	// ClosingBetween returns at most n Open listings whose deadline is after from,
	// or at from with an id after fromID, and not after until, in that order.
	ClosingBetween(ctx context.Context, from time.Time, fromID string, until time.Time, n int) ([]Brief, error)
	// Expired returns up to n listings that are Open although their deadline
	// is not after now. Inside a transaction they are locked until its end, and
	// concurrent callers get different ones.
	Expired(ctx context.Context, now time.Time, n int) ([]Listing, error)
	// NotOf returns up to n listings of the organization, in any state, with another
	// company name, locked until the end of the transaction: the newest first, and
	// only those older than last unless it is nil.
	NotOf(ctx context.Context, organizationID, company string, last *Listing, n int) ([]Listing, error)
	// OpenOf returns up to n Open listings of the organization, locked until
	// the transaction's end.
	OpenOf(ctx context.Context, organizationID string, n int) ([]Listing, error)
}

// Brief is a summary of a listing.
type Brief struct {
	ID, Title, Company, Location string
	// Public reports whether the listing is public.
	Public bool
	// Deadline is zero for a listing without one.
	Deadline time.Time
}

// Loader stores and deletes many listings, for demonstrations and imports.
type Loader interface {
	// Load stores new listings and makes every search index start again. It calls
	// done with the number of each few hundred, from another goroutine. No events
	// are recorded. A Load that fails may have stored some of the listings; another
	// one of the same listings stores the rest.
	Load(ctx context.Context, all iter.Seq[Listing], done func(n int)) error
	// Remove deletes the listings of the organizations, with their views, and
	// returns their number. No events are recorded.
	Remove(ctx context.Context, organizationIDs []string) (int, error)
}

// FeedPosition is a position in a Feed, opaque to its readers.
type FeedPosition string

// ErrFeedPosition reports a position from which a Feed cannot continue: it belongs
// to another store, or the changes after it have been deleted. Read Open again.
var ErrFeedPosition = errors.New("the position is not in the listing feed")

// Feed is what search indexes are built from and kept current by.
type Feed interface {
	// Open calls fn with every open listing, the newest first, and returns the
	// position from which Since continues. A listing that changes meanwhile may
	// be missing or outdated; Since then returns it, and perhaps others again.
	Open(ctx context.Context, fn func(*Listing) error) (FeedPosition, error)
	// Since returns the listings that were changed by transactions that were
	// committed after the position, in their present state. It returns about n
	// listings, more if one transaction has changed more. ErrFeedPosition if it
	// cannot continue from the position.
	Since(ctx context.Context, position FeedPosition, n int) (FeedBatch, error)
	// Changes returns a channel that receives a value when Since may have news,
	// also from other processes, until ctx is done. A value may be lost, so that
	// readers also poll.
	Changes(ctx context.Context) <-chan struct{}
	// Restart ends all positions, so that every search index is built anew.
	Restart(ctx context.Context) error
}

// FeedChanges are the changes that a Feed returns; their time is that of the
// change. Positions before a deleted change end with ErrFeedPosition.
const FeedChanges retention.Kind = "listings.feed-changes"

// FeedBatch is a part of a Feed.
type FeedBatch struct {
	Listings []Listing // open or not
	Deleted  []string  // ids of listings that do not exist any more
	Position FeedPosition
	// More reports whether Since has more at once.
	More bool
}

// Gazetteer finds places.
type Gazetteer interface {
	// Resolve finds the place of a name: "Leeds", "Boston, Lincolnshire",
	// "Springfield, IL", "Kent", "Ireland". A qualifier narrows; without one the
	// largest place of the name is meant. A postcode is a Town without a
	// population: "LS1", "LS1 4DY", "D08 XY12", "02115". It takes microseconds.
	Resolve(text string) (Place, bool)
	// Correct finds the place that a misspelt name means: "Manchster". It takes
	// less than a millisecond and returns false for a text that is not close to
	// the name of a larger place.
	Correct(text string) (Place, bool)
}

// Organizations reads organizations, which another module stores.
type Organizations interface {
	// CompanyName returns the name of the organization.
	CompanyName(ctx context.Context, organizationID string) (string, error)
}

// Seekers reads jobseekers, whom another module stores.
type Seekers interface {
	// HomeLocation returns where the jobseeker lives, such as "Leeds", empty if it
	// is not known.
	HomeLocation(ctx context.Context, userID string) (string, error)
}

// Place is a place of the gazetteer.
type Place = search.Place

// PlaceKind is how large a place is.
type PlaceKind = search.PlaceKind

// The kinds of place.
const (
	Town    = search.Town
	Region  = search.Region
	Country = search.Country
)

// CountryName returns the name of the country with the code.
func CountryName(code string) string { return search.CountryName(code) }
