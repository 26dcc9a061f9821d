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

// The faults of this module. An unknown listing is ErrNotFound in the public API and
// ErrJobNotFound in the API for employers.
var (
	ErrNotFound    = fault.New(fault.NotFound, "listing_not_found", "Listing not found")
	ErrJobNotFound = fault.New(fault.NotFound, "job_not_found", "Job listing not found")
	ErrGone        = fault.New(fault.NotFound, "listing_gone", "Listing is not public any more")
	ErrNotDeleted  = fault.New(fault.NotFound, "listing_not_deleted", "Listing not found or not deleted")
	ErrFilters     = fault.New(fault.Invalid, "invalid_filters", "Invalid filter parameters")
	ErrQuery       = fault.New(fault.Invalid, "invalid_query", "Invalid search query")
)

// Repository stores listings. A method with an organization id only reads and changes listings of
// that organization. For the method, other listings do not exist.
type Repository interface {
	// Create stores new listings, at most 100, in a constant number of statements.
	Create(ctx context.Context, ls []Listing) error
	// Update updates listings of one organization, at most 100, in a constant number of statements.
	// If a listing has changed since it was read, Update returns tx.ErrStale. After this error,
	// tx.Runner runs the transaction again.
	Update(ctx context.Context, organizationID string, ls []Listing) error
	// List returns a page of the organization's listings with the status, the newest
	// first. An empty status selects all listings. A cursor of another list is an
	// Invalid fault of the field cursor. Descriptions, requirements and benefits may be
	// left out.
	List(ctx context.Context, organizationID string, status Status, r page.Request) (page.Result[Listing], error)
	// ListBySelection returns at most n of the organization's listings in one statement.
	// The newest are first, unless the selection has IDs or Open: then the order is
	// undefined. Inside a transaction it locks the listings until the end of the
	// transaction.
	ListBySelection(ctx context.Context, organizationID string, s Selection, n int) ([]Listing, error)
	// ClaimExpired returns at most n listings, of all organizations, that are Open
	// although their deadline is not after now. It locks them until the end of the
	// transaction. Concurrent callers get different listings.
	ClaimExpired(ctx context.Context, now time.Time, n int) ([]Listing, error)
	// ListByState returns a page as List does, of the listings whose State at the time now is
	// the given one.
	ListByState(ctx context.Context, organizationID string, state State, now time.Time, r page.Request) (page.Result[Listing], error)
	// CountByStatus counts the organization's listings by their status.
	CountByStatus(ctx context.Context, organizationID string) (map[Status]int, error)
	// CountByState counts the organization's listings by their State at the time now.
	CountByState(ctx context.Context, organizationID string, now time.Time) (map[State]int, error)
	// Export returns at most n of the listings that List returns, as rows of an export.
	// The rows begin after the cursor, or at the first listing if it is empty. next is
	// the cursor for the following rows, empty at the end. Export must be fast for many
	// listings.
	Export(ctx context.Context, organizationID string, status Status, cursor string, n int) (rows []Exported, next string, err error)
}

// Selection selects listings of an organization. Its zero value selects all.
type Selection struct {
	// IDs selects listings by their ids, at most 100, unless it is nil.
	IDs []string
	// Open selects listings that are Open.
	Open bool
	// NotCompany, if it is set, selects listings whose company name differs from it.
	NotCompany string
	// Before selects listings that are older than this listing, unless it is nil.
	Before *Listing
}

// PublicRepository reads the listings of all organizations.
type PublicRepository interface {
	// ListPublic returns the listings with the ids that are public at the time now, in any order. A
	// listing that cannot be decoded is logged and left out.
	ListPublic(ctx context.Context, ids []string, now time.Time) ([]Listing, error)
	// ListPublicSummaries returns the same listings as ListPublic. It may leave out their
	// descriptions, requirements, benefits, questions and meta.
	ListPublicSummaries(ctx context.Context, ids []string, now time.Time) ([]Listing, error)
	// ListBriefs returns the listings with the ids, in any state and order, as of now.
	// Unknown ids are left out.
	ListBriefs(ctx context.Context, ids []string, now time.Time) ([]Brief, error)
	// ListClosing returns at most n Open listings, ordered by deadline and then by id. It begins
	// after the deadline from and the id fromID in this order, and ends with listings whose
	// deadline is until.
	ListClosing(ctx context.Context, from time.Time, fromID string, until time.Time, n int) ([]Brief, error)
	// GetPosted returns a listing that is or has been public, in its present state. For
	// other listings it returns ErrNotFound.
	GetPosted(ctx context.Context, id string) (Listing, error)
	// ListOpen returns at most n Open listings in the order of their publication. It
	// begins after the position and skips the given number of listings. The zero position
	// is before all listings.
	ListOpen(ctx context.Context, after OpenPosition, skip, n int) ([]OpenListing, error)
}

// OpenPosition is the position of a listing in the order of publication.
type OpenPosition struct {
	PostedAt time.Time
	ID       string
}

// OpenListing is a summary of an Open listing.
type OpenListing struct {
	OpenPosition
	Title     string
	UpdatedAt time.Time
}

// Brief is a summary of a listing.
type Brief struct {
	ID, OrganizationID, Title, Company, Location string
	// Public reports whether the listing is public.
	Public bool
	// Deadline is zero for a listing without one.
	Deadline time.Time
}

// Loader stores and deletes many listings, for demonstrations and imports.
type Loader interface {
	// Load stores new listings and causes every search index to be built anew. It records no
	// events. After each batch of a few hundred listings it calls done with the size of the batch,
	// from another goroutine. A call that fails may have stored some of the listings. A second call
	// with the same listings stores the rest.
	Load(ctx context.Context, all iter.Seq[Listing], done func(n int)) error
	// DeleteByOrganizations deletes the listings of the organizations, with their views, and
	// returns their number. No events are recorded.
	DeleteByOrganizations(ctx context.Context, organizationIDs []string) (int, error)
}

// FeedPosition is a position in a Feed, opaque to its readers.
type FeedPosition string

// ErrFeedPosition reports a position from which a Feed cannot continue: the position belongs
// to another store, or the changes after it have been deleted. The reader has to begin again
// with ReadOpen.
var ErrFeedPosition = errors.New("the position is not in the listing feed")

// Feed provides the changes from which search indexes are built and updated.
type Feed interface {
	// ReadOpen calls fn with every open listing, the newest first, and returns the
	// position from which ListSince continues. A listing that changes during the call may
	// be missing or outdated, but ListSince then returns it. ListSince may also return
	// listings that have not changed.
	ReadOpen(ctx context.Context, fn func(*Listing) error) (FeedPosition, error)
	// ListSince returns the listings that have changed in transactions that were
	// committed after the position, in their present state. It returns about n listings,
	// and more if one transaction has changed more. It returns ErrFeedPosition if it
	// cannot continue from the position.
	ListSince(ctx context.Context, position FeedPosition, n int) (FeedBatch, error)
	// Reset ends all positions, so that every search index is built anew.
	Reset(ctx context.Context) error
}

// FeedChanges is the retention kind of the changes that a Feed returns. Their age is counted
// from the time of the change. After a change has been deleted, ListSince returns
// ErrFeedPosition for positions before it.
const FeedChanges retention.Kind = "listings.feed-changes"

// FeedBatch is a part of a Feed.
type FeedBatch struct {
	Listings []Listing // open or not
	Deleted  []string  // ids of listings that do not exist any more
	Position FeedPosition
	// More is true if ListSince can return further changes at once.
	More bool
}

// Gazetteer finds places.
type Gazetteer interface {
	// Resolve finds the place with a name, such as "Leeds", "Kent" or "Ireland". A name may have a
	// qualifier ("Boston, Lincolnshire", "Springfield, IL"). For a name without a qualifier,
	// Resolve returns the largest place of this name. A postcode ("LS1", "LS1 4DY", "D08 XY12",
	// "02115") is a Town without a population. Resolve takes microseconds.
	Resolve(text string) (Place, bool)
	// Correct finds the place whose name is misspelt, such as "Manchster". It returns
	// false for a text that is not similar to the name of a larger place. It takes less
	// than a millisecond.
	Correct(text string) (Place, bool)
}

// Organizations reads organizations, which another module stores.
type Organizations interface {
	// CompanyName returns the name of the organization.
	CompanyName(ctx context.Context, organizationID string) (string, error)
	// HoldsJobs reports whether the jobs of the organization must not be public because
	// of the state of the organization (holdsJobs), and whether a moderator has still to
	// decide about the organization (awaitsReview).
	HoldsJobs(ctx context.Context, organizationID string) (holdsJobs, awaitsReview bool, err error)
}

// Applications reads applications, which another module stores.
type Applications interface {
	// CountByListing counts the applications to the organization's listings with the
	// ids. Listings without applications may be left out.
	CountByListing(ctx context.Context, organizationID string, listingIDs []string) (map[string]int, error)
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
