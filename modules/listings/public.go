package listings

import (
	"context"
	"time"

	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/id"
	"github.com/locumhq/locum/core/list"
)

// Detail returns a public listing, or ErrNotFound. Apps need the scope jobs:read.
func (s *Service) Detail(ctx context.Context, by auth.Actor, listingID string) (Listing, error) {
	if err := by.RequireScope(auth.ScopeJobsRead); err != nil {
		return Listing{}, err
	}

	return s.GetPublic(ctx, listingID)
}

// GetPublic returns the listing if it is public, or ErrNotFound.
func (s *Service) GetPublic(ctx context.Context, listingID string) (Listing, error) {
	listingID, ok := id.Canonical(listingID)
	if !ok {
		return Listing{}, ErrNotFound
	}

	found, err := s.Public.ListPublic(ctx, []string{listingID}, s.Clock.Now())

	return list.First(found, err, ErrNotFound)
}

// GetVisible returns a public listing, like Detail. To members of the listing's organization
// who have a permission it also returns listings that are not public.
func (s *Service) GetVisible(ctx context.Context, by auth.Actor, listingID string) (Listing, error) {
	l, err := s.Detail(ctx, by, listingID)

	isNotPublic := fault.KindOf(err) == fault.NotFound
	if isNotPublic && by.May(auth.AnyPermission) {
		l, err = s.Get(ctx, by, listingID)
		return l, asPublicError(err)
	}

	return l, err
}

// ListBriefs returns the listings with the ids, in any state and order. Unknown ids are
// left out.
func (s *Service) ListBriefs(ctx context.Context, ids []string) ([]Brief, error) {
	if len(ids) == 0 {
		return nil, nil
	}

	return s.Public.ListBriefs(ctx, ids, s.Clock.Now())
}

// ListClosing returns at most n public listings, ordered by deadline and then by id. The last listing
// of the previous page had the deadline afterDeadline and the id afterID. Listings whose deadline is
// later than lastDeadline are left out.
func (s *Service) ListClosing(
	ctx context.Context, afterDeadline time.Time, afterID string, lastDeadline time.Time, n int,
) ([]Brief, error) {
	return s.Public.ListClosing(ctx, afterDeadline, afterID, lastDeadline, n)
}

// get returns the organization's listing in any state. Its error is ErrJobNotFound, whose message is
// that of the employers' operations. Inside a transaction, the repository locks the listing until
// the end of the transaction.
func (s *Service) get(ctx context.Context, organizationID, listingID string) (Listing, error) {
	listingID, ok := id.Canonical(listingID)
	if !ok {
		return Listing{}, ErrJobNotFound
	}

	found, err := s.Listings.ListBySelection(ctx, organizationID, Selection{IDs: []string{listingID}}, 1)

	return list.First(found, err, ErrJobNotFound)
}

// CountByStatus counts the organization's listings by their status. A status without listings
// may be absent. It does not authorize the caller.
func (s *Service) CountByStatus(ctx context.Context, organizationID string) (map[Status]int, error) {
	return s.Listings.CountByStatus(ctx, organizationID)
}

// GetWithViews returns one of the organization's listings, in any state, with its number
// of views, or ErrJobNotFound.
func (s *Service) GetWithViews(ctx context.Context, organizationID, listingID string) (Listing, int, error) {
	l, err := s.get(ctx, organizationID, listingID)
	if err != nil {
		return Listing{}, 0, err
	}

	views, err := s.Views.Get(ctx, organizationID, []string{l.ID})

	return l, views[l.ID], err
}
