package bootstrap

import (
	"context"
	"time"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/adapters/gazetteer"
	"github.com/locumhq/locum/config"
	"github.com/locumhq/locum/modules/identity"
	"github.com/locumhq/locum/modules/jobseeker"
	"github.com/locumhq/locum/modules/listings"
)

// newListings builds module listings from the storage, the adapters and the search engine.
func newListings(
	cfg *config.Config,
	storage adapters.Storage,
	d adapters.Deps,
	identitySvc *identity.Service,
	engine *listings.Engine,
) (*listings.Service, error) {
	deps := listings.Deps{
		Tx:            storage.Listings.Tx,
		Events:        storage.Listings.Events,
		Audit:         storage.Listings.Audit,
		Clock:         d.Clock,
		NewID:         d.NewID,
		Listings:      storage.Listings.Listings,
		Engine:        engine,
		NewBatch:      newBatch,
		Public:        storage.Listings.Public,
		Cases:         storage.Listings.Cases,
		Retention:     storage.Listings.Retention,
		Views:         storage.Listings.Views,
		Applications:  storage.Hiring.Counts,
		Gazetteer:     gazetteer.New(),
		Organizations: listingsOrganizations{identitySvc},
		Seekers:       listingsSeekers{storage.Jobseeker.Profiles},
		SearchTimeout: cfg.Limits.SearchTimeout,
		SearchCPU:     time.Duration(cfg.Limits.SearchCPU * float64(time.Second)),
	}

	return listings.New(deps), checkDeps("listings", deps)
}

// listingsOrganizations implements listings.Organizations with the organizations of module identity.
type listingsOrganizations struct{ *identity.Service }

func (b listingsOrganizations) CompanyName(ctx context.Context, organizationID string) (string, error) {
	return b.OrganizationName(ctx, organizationID)
}

// listingsSeekers implements listings.Seekers with the stored profiles of jobseekers. It reads them
// from the repository, because the service of module jobseeker does not exist yet: it is built
// later, from the service of module listings.
type listingsSeekers struct{ jobseeker.Profiles }

// HomeLocation returns the place from which the jobseeker searches, or "" if the profile has none.
func (b listingsSeekers) HomeLocation(ctx context.Context, userID string) (string, error) {
	profile, err := b.Get(ctx, userID)
	return profile.Home(), err
}
