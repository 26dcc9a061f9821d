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
	ErrGone        = fault.New(fault.NotFound, "listing_gone", "Listing is not public any more")
	ErrNotDeleted  = fault.New(fault.NotFound, "listing_not_deleted", "Listing not found or not deleted")
	ErrFilters     = fault.New(fault.Invalid, "invalid_filters", "Invalid filter parameters")
	ErrQuery       = fault.New(fault.Invalid, "invalid_query", "Invalid search query")
)

// Repository stores listings. Methods with an organization read and change its
// listings alone: those of others do not exist for them.
type Repository interface {
	// Create stores new listings, at most 100, in a constant number of statements.
	Create(ctx context.Context, ls []Listing) error
	// Update updates listings of one organization, at most 100, in a constant number
	// of statements. If one has changed since it was read, the error is tx.ErrStale,
	// with which the transaction runs again.
	Update(ctx context.Context, organizationID string, ls []Listing) error
	// List returns a page of the organization's listings, the newest first, with
	// the status or, if it is empty, in every state. A foreign cursor is an Invalid
	// fault of the field cursor. Descriptions, requirements and benefits may be
	// left out.
	List(ctx context.Context, organizationID string, status Status, r page.Request) (page.Result[Listing], error)
	// ListBySelection returns at most n of the organization's listings, the newest first,
	// or in any order if IDs or Open are set, in one statement. Inside a transaction
	// they are locked until its end.
	ListBySelection(ctx context.Context, organizationID string, s Selection, n int) ([]Listing, error)
	// ClaimExpired returns at most n listings, of every organization, that are Open
	// although their deadline is not after now. They are locked until the end of the
	// transaction, and concurrent callers get different ones.
	ClaimExpired(ctx context.Context, now time.Time, n int) ([]Listing, error)
	// CountByStatus counts the organization's listings by their status.
	CountByStatus(ctx context.Context, organizationID string) (map[Status]int, error)
	// Export returns at most n of the listings of List, after the cursor ("" for the
	// first), and the cursor after them, "" at the end. It is fast for many listings.
	Export(ctx context.Context, organizationID string, status Status, cursor string, n int) (rows []Exported, next string, err error)
}

// Selection selects listings of an organization. Its zero value selects all.
type Selection struct {
	// IDs selects listings by their ids, at most 100, unless it is nil.
	IDs []string
	// Open selects listings that are Open.
	Open bool
	// NotCompany selects listings with another company name than this, if it is set.
	NotCompany string
	// Before selects listings that are older than this one, unless it is nil.
	Before *Listing
}

// PublicRepository reads the listings of all organizations.
type PublicRepository interface {
	// ListPublic returns the listings with the ids that are public at now, in any
	// order. Without texts the descriptions, requirements, benefits, questions and
	// meta may be left out. A listing that cannot be decoded is logged and left out.
	ListPublic(ctx context.Context, ids []string, now time.Time, texts bool) ([]Listing, error)
	// ListBriefs returns the listings with the ids, in any state and order, as of now.
	// Unknown ids are left out.
	ListBriefs(ctx context.Context, ids []string, now time.Time) ([]Brief, error)
	// ListClosing returns at most n Open listings whose deadline is after from, or
	// at from with an id after fromID, and not after until, in that order.
	ListClosing(ctx context.Context, from time.Time, fromID string, until time.Time, n int) ([]Brief, error)
	// GetPosted returns a listing that is or has been public, in its present state, or
	// ErrNotFound.
	GetPosted(ctx context.Context, id string) (Listing, error)
	// ListOpen returns at most n Open listings after the position, without the first skip of
	// them, in the order of their publication. The zero position is before all of them.
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
	// Load stores new listings and makes every search index start again. It calls
	// done with the number of each few hundred, from another goroutine. No events
	// are recorded. A Load that fails may have stored some of the listings; another
	// one of the same listings stores the rest.
	Load(ctx context.Context, all iter.Seq[Listing], done func(n int)) error
	// DeleteByOrganizations deletes the listings of the organizations, with their views, and
	// returns their number. No events are recorded.
	DeleteByOrganizations(ctx context.Context, organizationIDs []string) (int, error)
}

// FeedPosition is a position in a Feed, opaque to its readers.
type FeedPosition string

// ErrFeedPosition reports a position from which a Feed cannot continue: it belongs
// to another store, or the changes after it have been deleted. Call ReadOpen again.
var ErrFeedPosition = errors.New("the position is not in the listing feed")

// Feed provides the changes from which search indexes are built and updated.
type Feed interface {
	// ReadOpen calls fn with every open listing, the newest first, and returns the
	// position from which ListSince continues. A listing that changes meanwhile may
	// be missing or outdated; ListSince then returns it, and perhaps others again.
	ReadOpen(ctx context.Context, fn func(*Listing) error) (FeedPosition, error)
	// ListSince returns the listings that were changed by transactions that were
	// committed after the position, in their present state. It returns about n
	// listings, more if one transaction has changed more. ErrFeedPosition if it
	// cannot continue from the position.
	ListSince(ctx context.Context, position FeedPosition, n int) (FeedBatch, error)
	// Reset ends all positions, so that every search index is built anew.
	Reset(ctx context.Context) error
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
	// HoldsJobs reports whether the jobs of the organization are not public because of
	// the organization, and whether they wait for a moderator's decision about it.
	HoldsJobs(ctx context.Context, organizationID string) (holds, waits bool, err error)
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
