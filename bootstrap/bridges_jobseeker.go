package bootstrap

import (
	"context"
	"slices"
	"time"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/adapters/filetypes"
	"github.com/locumhq/locum/adapters/mailboxes"
	"github.com/locumhq/locum/config"
	"github.com/locumhq/locum/core/files"
	"github.com/locumhq/locum/core/limit"
	"github.com/locumhq/locum/core/list"
	"github.com/locumhq/locum/core/mail"
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/modules/billing"
	"github.com/locumhq/locum/modules/hiring"
	"github.com/locumhq/locum/modules/identity"
	"github.com/locumhq/locum/modules/jobseeker"
	"github.com/locumhq/locum/modules/listings"
	"github.com/locumhq/locum/modules/listings/search"
)

// newSeekers builds module jobseeker from the storage and the adapters. The types below connect it
// to the other modules: each implements a port (an interface) of jobseeker with the service of another
// module.
func newSeekers(
	cfg *config.Config,
	storage adapters.Storage,
	deps adapters.Deps,
	limiter limit.Limiter,
	mailer mail.Mailer,
	fileStore files.Store,
	ring keyRing,
	listingsSvc *listings.Service,
	identitySvc *identity.Service,
	hiringSvc *hiring.Service,
) (*jobseeker.Service, error) {
	store, applied := storage.Jobseeker, seekersApplied{hiringSvc}
	shared := &jobseeker.Shared{
		Tx:            store.Tx,
		Clock:         deps.Clock,
		NewID:         deps.NewID,
		Tasks:         store.Tasks,
		Profiles:      store.Profiles,
		Notifications: store.Notifications,
		Activities:    store.Activities,
		Listings:      seekersListings{listingsSvc},
	}
	documents := &jobseeker.DocumentService{
		Shared:        shared,
		Documents:     store.Documents,
		DocumentFiles: store.DocumentFiles,
		FileTypes:     filetypes.Documents{},
		Files:         fileStore,
	}
	bookmarks := &jobseeker.BookmarkService{Shared: shared, Bookmarks: store.Bookmarks}
	profiles := &jobseeker.ProfileService{
		Shared:   shared,
		Accounts: identitySvc,
		People:   userReader[jobseeker.Person]{identitySvc},
	}
	service := jobseeker.Service{
		Shared:              shared,
		NotificationService: &jobseeker.NotificationService{Shared: shared},
		DocumentService:     documents,
		BookmarkService:     bookmarks,
		ProfileService:      profiles,
		SearchService: &jobseeker.SearchService{
			Shared:      shared,
			Account:     profiles,
			Searches:    store.Searches,
			AlertQueue:  store.AlertQueue,
			Matches:     store.Matches,
			Subscribers: store.Subscribers,
			Mailboxes:   mailboxes.Keys{},
			Limiter:     limiter,
			Mailer:      mailer,
			Sealer:      ring,
			PublicURL:   cfg.HTTP.PublicURL,
			HasSite:     cfg.Site.Enabled,
		},
		OnboardingService: &jobseeker.OnboardingService{
			Shared:      shared,
			Onboardings: store.Onboardings,
			Documents:   documents,
			Searches:    store.Searches,
			Applied:     applied,
		},
		DashboardService: &jobseeker.DashboardService{
			Shared:     shared,
			Documents:  documents,
			Saved:      bookmarks,
			Searches:   store.Searches,
			Applied:    applied,
			Dismissals: store.Dismissals,
			Plans:      seekersPlans{billing.Reader{Subscriptions: storage.Billing.Subscriptions, Clock: deps.Clock}},
		},
		Retention:    store.Retention,
		PersonalData: store.PersonalData,
	}

	return &service, checkDeps("jobseeker", service)
}

// seekersListings implements jobseeker.Listings with the service of module listings.
type seekersListings struct{ *listings.Service }

// Public returns those of the listings that are public.
func (b seekersListings) Public(ctx context.Context, ids []string) ([]jobseeker.Listing, error) {
	publicListings, err := b.ListPublic(ctx, ids)
	return newSeekersListings(publicListings), err
}

// ListBriefs returns the short forms of listings, by listing id.
func (b seekersListings) ListBriefs(ctx context.Context, ids []string) (map[string]jobseeker.Brief, error) {
	briefs, err := b.Service.ListBriefs(ctx, ids)

	return list.ToMap(briefs, func(brief listings.Brief) (id string, seekersBrief jobseeker.Brief) {
		return brief.ID, jobseeker.Brief{
			Title:    brief.Title,
			Company:  brief.Company,
			Location: brief.Location,
			Public:   brief.Public,
		}
	}), err
}

// ListClosing returns at most n public listings that come after from, in the order of their
// deadlines and ids, and whose deadline is not after until.
func (b seekersListings) ListClosing(ctx context.Context, from jobseeker.Closing, until time.Time, n int) ([]jobseeker.Closing, error) {
	closing, err := b.Service.ListClosing(ctx, from.At, from.ID, until, n)

	return list.Map(closing, func(brief listings.Brief) jobseeker.Closing {
		return jobseeker.Closing{At: brief.Deadline, ID: brief.ID, Title: brief.Title}
	}), err
}

// Suggest returns the first n results of a search for the wanted listings, as candidates for
// recommendations. A radius of zero stands for the default of the search.
func (b seekersListings) Suggest(ctx context.Context, w jobseeker.Wanted, n int) ([]jobseeker.Candidate, error) {
	query := listings.FindInput{
		Text:    w.Text,
		Page:    page.Request{Number: 1, Size: n},
		Filters: listings.FilterInput{Location: w.Location, ContractType: []string{w.ContractType}},
	}
	if w.Radius > 0 {
		query.Filters.Radius = &w.Radius
	}

	hits, err := b.ClosestTo(ctx, query, w.Home)
	isSpecialty := b.SpecialtyTest(w.Specialty)

	return list.Map(hits, func(h listings.Hit) jobseeker.Candidate { return newCandidate(h, isSpecialty) }), err
}

// newCandidate converts a hit of the search into a candidate for the recommendations. The function
// isSpecialty reports whether the specialty of a listing is the wanted one.
func newCandidate(h listings.Hit, isSpecialty func(specialty string) bool) jobseeker.Candidate {
	listing := h.Listing

	// The search reports the best match of each part of the query. So a part that it found in
	// the text is in no other field.
	isInTextOnly := func(m listings.Matched) bool { return m.How == search.HowText }

	candidate := jobseeker.Candidate{
		ID:             listing.ID,
		Title:          listing.Title,
		Company:        listing.Company,
		Location:       listing.Location,
		Remote:         listing.Remote,
		ContractType:   listing.ContractType,
		EmploymentType: listing.EmploymentType,
		Miles:          h.Miles,
		Filed:          isSpecialty(listing.Specialty),
		InTitle:        !slices.ContainsFunc(h.Matched, isInTextOnly),
	}
	if listing.PostedAt != nil {
		candidate.PostedAt = *listing.PostedAt
	}

	if listing.Salary != nil {
		lowest, highest := listing.Salary.Yearly()                               // in minor units, such as pence
		payLowest, payHighest := listings.Major(lowest), listings.Major(highest) // in pounds
		candidate.PayLowest, candidate.PayHighest = &payLowest, &payHighest
	}

	return candidate
}

// Gather reads the listings into memory, to match them with many saved searches.
func (b seekersListings) Gather(ctx context.Context, ids []string) (jobseeker.ListingBatch, error) {
	gathered, err := b.Service.Gather(ctx, ids)
	return seekersListingBatch{gathered}, err
}

// newSeekersListings converts listings. A listing that was never posted has the time of its creation.
func newSeekersListings(fullListings []listings.Listing) []jobseeker.Listing {
	return list.Map(fullListings, func(l listings.Listing) jobseeker.Listing {
		converted := jobseeker.Listing{ID: l.ID, Title: l.Title, Company: l.Company, Location: l.Location, PostedAt: l.CreatedAt}
		if l.PostedAt != nil {
			converted.PostedAt = *l.PostedAt
		}

		return converted
	})
}

// seekersListingBatch implements jobseeker.ListingBatch: listings in memory that saved searches are
// matched with.
type seekersListingBatch struct{ *listings.Gathered }

// Listings returns the listings in the order of the indices that Matching returns.
func (b seekersListingBatch) Listings() []jobseeker.Listing {
	return newSeekersListings(b.Gathered.Listings())
}

// Matching returns the indices of the listings that a search with the terms finds.
func (b seekersListingBatch) Matching(ctx context.Context, t jobseeker.Terms) ([]int, error) {
	return b.Gathered.Matching(ctx, listings.FindKey{Text: t.Query, Location: t.Location, ContractType: t.ContractType})
}

// seekersPlans implements jobseeker.Plans with the subscriptions of module billing. It uses the
// read-only Reader instead of the service, because it needs nothing else.
type seekersPlans struct{ billing.Reader }

// Plan returns the plan of the user, and whether the subscription to it is active.
func (b seekersPlans) Plan(ctx context.Context, userID string) (jobseeker.Plan, error) {
	sub, err := b.Current(ctx, billing.Owner{Kind: billing.User, ID: userID})
	return jobseeker.Plan{Tier: sub.Plan, Active: sub.Status == billing.Active}, err
}

// seekersApplied implements jobseeker.Applied with the applications of module hiring.
type seekersApplied struct{ *hiring.Service }

// ListRecentlyApplied returns the ids of the listings of the user's n newest applications that are not withdrawn.
func (b seekersApplied) ListRecentlyApplied(ctx context.Context, userID string, n int) ([]string, error) {
	return b.Service.ListRecentlyApplied(ctx, userID, n)
}

// FindApplied returns the set of those of the listings to which the user has applied. Withdrawn applications
// count too.
func (b seekersApplied) FindApplied(ctx context.Context, userID string, listingIDs []string) (map[string]bool, error) {
	return b.Service.FindApplied(ctx, userID, listingIDs)
}

// Counts returns the numbers of the user's applications, and of those that are still pending.
func (b seekersApplied) Counts(ctx context.Context, userID string) (jobseeker.ApplicationCounts, error) {
	total, pending, err := b.ApplicantStats(ctx, userID)
	return jobseeker.ApplicationCounts{Total: total, Pending: pending}, err
}
