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

// newListings builds the module from the storage and the adapters.
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

// listingsOrganizations implements listings.Organizations.
type listingsOrganizations struct{ *identity.Service }

func (b listingsOrganizations) CompanyName(ctx context.Context, organizationID string) (string, error) {
	return b.OrganizationName(ctx, organizationID)
}

// listingsSeekers implements listings.Seekers. It reads profiles from the repository: the
// service of module jobseeker depends on module listings.
type listingsSeekers struct{ jobseeker.Profiles }

func (b listingsSeekers) HomeLocation(ctx context.Context, userID string) (string, error) {
	p, err := b.Get(ctx, userID)
	return p.Home(), err
}
