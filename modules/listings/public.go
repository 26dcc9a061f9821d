package listings

import (
	"context"

	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/id"
	"github.com/locumhq/locum/core/list"
)

// Detail returns a public listing. Apps need the scope jobs:read.
func (s *Service) Detail(ctx context.Context, by auth.Actor, listingID string) (Listing, error) {
	if err := by.RequireScope(auth.ScopeJobsRead); err != nil {
		return Listing{}, err
	}
	return s.detail(ctx, listingID)
}

// detail returns a public listing.
func (s *Service) detail(ctx context.Context, listingID string) (Listing, error) {
	listingID, ok := id.Canonical(listingID)
	if !ok {
		return Listing{}, ErrNotFound
	}
	found, err := s.Public.ListPublic(ctx, []string{listingID}, s.Clock.Now(), true)
	return list.First(found, err, ErrNotFound)
}

// DetailFor is Detail. It also returns listings in every other state to members of
// their organization with a permission.
func (s *Service) DetailFor(ctx context.Context, by auth.Actor, listingID string) (Listing, error) {
	l, err := s.Detail(ctx, by, listingID)
	if !by.May(auth.AnyPermission) || fault.KindOf(err) != fault.NotFound {
		return l, err
	}
	l, err = s.Get(ctx, by, listingID)
	return l, public(err)
}
