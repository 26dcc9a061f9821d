package portal

import (
	"context"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/fault"
)

// APIKey is the header that the employers' routes under /api/listings take
// beside the token.
type APIKey struct {
	Key string `header:"X-API-Key"`
}

// check refuses a key that is not valid, and one of somebody who does not belong
// to the caller's organization at this moment.
func (k APIKey) check(ctx context.Context, s adapters.Services, by auth.Actor) error {
	if k.Key == "" {
		return nil
	}
	c, err := s.Integrations.AuthenticateKey(ctx, k.Key)
	if err != nil {
		return err
	}
	owner, err := s.Identity.ActorFor(ctx, c.UserID)
	if err != nil {
		return err
	}
	if owner.OrganizationID != by.OrganizationID {
		return fault.ErrUnauthorized
	}
	return nil
}

// KeyedListingPath names a listing and may carry a key.
type KeyedListingPath struct {
	ListingPath
	APIKey
}
