package listings

import (
	"context"

	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/id"
)

// Detail shows a public listing to anyone.
func (s *Service) Detail(ctx context.Context, listingID string) (Listing, error) {
	listingID, ok := id.Canonical(listingID)
	if !ok {
		return Listing{}, ErrNotFound
	}
	return s.Listings.Public(ctx, listingID, s.Clock.Now())
}

// DetailFor is Detail, and to a member of its organization with some permission a
// listing in whatever state.
func (s *Service) DetailFor(ctx context.Context, by auth.Actor, listingID string) (Listing, error) {
	l, err := s.Detail(ctx, listingID)
	if !by.May(auth.AnyPermission) || fault.KindOf(err) != fault.NotFound {
		return l, err
	}
	l, err = s.Get(ctx, by.OrganizationID, listingID)
	return l, public(err)
}
