package listings

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/modules/listings/search"
)

// The faults of this module. The public and the employers are told of an
// absent listing in different words.
var (
	ErrNotFound    = fault.New(fault.NotFound, "listing_not_found", "Listing not found")
	ErrJobNotFound = fault.New(fault.NotFound, "job_not_found", "Job listing not found")
	ErrNotDeleted  = fault.New(fault.NotFound, "listing_not_deleted", "Listing not found or not deleted")
	ErrFilters     = fault.New(fault.Invalid, "invalid_filters", "Invalid filter parameters")
	ErrQuery       = fault.New(fault.Invalid, "invalid_query", "Invalid search query")
)

// Repository keeps listings. Whoever names an organization gets and changes
// its listings only; another's are as absent as those that never were.
type Repository interface {
	// Create stores new listings, at most 100, in a number of statements that
	// does not grow with theirs.
	Create(ctx context.Context, ls []Listing) error
	// Get returns the organization's listing in whatever state, or
	// ErrJobNotFound. Inside a transaction the row is locked until its end.
	Get(ctx context.Context, organizationID, id string) (Listing, error)
	// OrganizationOf returns the organization of a listing in whatever state, or
	// ErrJobNotFound. It is for operators, who act for every organization.
	OrganizationOf(ctx context.Context, id string) (string, error)
	// GetMany returns those of the ids that the organization has, in one
	// statement and any order, each once. Inside a transaction the rows are
	// locked until its end.
	GetMany(ctx context.Context, organizationID string, ids []string) ([]Listing, error)
	// Save stores changed listings of one organization, at most 100, in a
	// number of statements that does not grow with theirs. One that has changed
	// since it was read makes the transaction (tx.Runner) run again.
	Save(ctx context.Context, organizationID string, ls []Listing) error
	// Page lists the organization's listings in every state, the newest first.
	// A cursor that it did not make is an Invalid fault of the field cursor.
	// Descriptions, requirements and benefits may be left out.
	Page(ctx context.Context, organizationID string, status Status, r page.Request) (page.Result[Listing], error)
	// Export hands at most n of what Page lists to fn, after the cursor ("" for
	// the first), and returns the cursor after them, "" at the end. What fn gets
	// is good until it returns. It is quick for many.
	Export(ctx context.Context, organizationID string, status Status, cursor string, n int, fn func(*Exported)) (next string, err error)
	// CountByStatus counts the organization's listings by their status.
	CountByStatus(ctx context.Context, organizationID string) (map[Status]int, error)
	// Count counts all that Page lists.
	Count(ctx context.Context, organizationID string, status Status) (int, error)
	// Public returns a listing that is public at now, or ErrNotFound.
	Public(ctx context.Context, id string, now time.Time) (Listing, error)
	// PublicMany returns those of the ids that are public at now, in any order.
	PublicMany(ctx context.Context, ids []string, now time.Time) ([]Listing, error)
	// PublicSummaries is PublicMany for lists. The long texts, questions and meta
	// may be left out.
	PublicSummaries(ctx context.Context, ids []string, now time.Time) ([]Listing, error)
	// Titles maps those of the ids that exist, in whatever state, to their titles.
	Titles(ctx context.Context, ids []string) (map[string]string, error)
	// Briefs returns those of the ids that exist, in whatever state, in any
	// order, as they are at now.
	Briefs(ctx context.Context, ids []string, now time.Time) ([]Brief, error)
	// ClosingBetween returns at most n Open listings whose deadline is after from,
	// or at from with an id after fromID, and not after until, in that order.
	ClosingBetween(ctx context.Context, from time.Time, fromID string, until time.Time, n int) ([]Brief, error)
	// Expired returns up to n listings that are Open although their deadline
	// is not after now. Inside a transaction they are locked until its end, and
	// concurrent callers get different ones.
	Expired(ctx context.Context, now time.Time, n int) ([]Listing, error)
	// NotOf returns up to n listings of the organization, in whatever state, that
	// bear another company's name, locked until the transaction's end: the newest
	// first, and only what is older than the last one seen, if there is one.
	NotOf(ctx context.Context, organizationID, company string, last *Listing, n int) ([]Listing, error)
	// OpenOf returns up to n Open listings of the organization, locked until
	// the transaction's end.
	OpenOf(ctx context.Context, organizationID string, n int) ([]Listing, error)
}

// Brief is a listing in passing.
type Brief struct {
	ID, Title, Company, Location string
	// Public says whether everybody can see it.
	Public bool
	// Deadline is zero for a listing without one.
	Deadline time.Time
}

// Loader takes whole listings in great number, for demonstrations and imports.
type Loader interface {
	// Load stores new listings as they are, all or none, and makes them
	// findable. done is told of every few hundred, from another goroutine. No
	// events are recorded.
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
	// DeleteChangesBefore deletes up to about n changes from before the time and
	// returns their number.
	DeleteChangesBefore(ctx context.Context, before time.Time, n int) (int, error)
}

// FeedBatch is a part of a Feed.
type FeedBatch struct {
	Listings []Listing // open or not
	Deleted  []string  // ids of listings that do not exist any more
	Position FeedPosition
	// More reports whether Since has more at once.
	More bool
}

// Gazetteer knows places.
type Gazetteer interface {
	// Resolve finds what a name means: "Leeds", "Boston, Lincolnshire",
	// "Springfield, IL", "Kent", "Ireland". A qualifier narrows; without one the
	// largest place of the name is meant. A postcode is a Town without a
	// population: "LS1", "LS1 4DY", "D08 XY12", "02115". It takes microseconds.
	Resolve(text string) (Place, bool)
	// Correct finds the place that a misspelt name means: "Manchster". It takes
	// less than a millisecond and returns false for a text that is not close to
	// the name of a larger place.
	Correct(text string) (Place, bool)
}

// Organizations tells what a module of its own keeps.
type Organizations interface {
	// CompanyName is the name under which the organization posts.
	CompanyName(ctx context.Context, organizationID string) (string, error)
}

// Seekers tells where a signed-in jobseeker lives.
type Seekers interface {
	// HomeLocation is a text such as "Leeds", empty if it is not known.
	HomeLocation(ctx context.Context, userID string) (string, error)
}

// Place is a place that the gazetteer knows.
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
