package portal

import (
	"context"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/fault"
)

// APIKey is the optional header of the employers' routes below /api/listings, in addition
// to the token.
type APIKey struct {
	Key string `header:"X-API-Key"`
}

// check returns an error for an invalid key, and for one whose user is not currently in
// the caller's organization.
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

// KeyedListingPath identifies a listing, with an optional key.
type KeyedListingPath struct {
	ListingPath
	APIKey
}
