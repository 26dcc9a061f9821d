package listings

import (
	"context"
	"time"

	"github.com/locumhq/locum/core/id"
	"github.com/locumhq/locum/core/list"
)

// Applicable is the part of a listing that applications need.
type Applicable struct {
	ID             string
	OrganizationID string
	Title          string
	Questions      []Question
}

// ForApply returns a public listing for an application, or ErrNotFound.
func (s *Service) ForApply(ctx context.Context, listingID string) (Applicable, error) {
	l, err := s.detail(ctx, listingID)
	if err != nil {
		return Applicable{}, err
	}
	return Applicable{ID: l.ID, OrganizationID: l.OrganizationID, Title: l.Title, Questions: l.Questions}, nil
}

// Briefs returns the listings with the ids, in any state and order. Unknown ids are
// left out.
func (s *Service) Briefs(ctx context.Context, ids []string) ([]Brief, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	return s.Public.ListBriefs(ctx, ids, s.Clock.Now())
}

// ClosingBetween returns at most n public listings whose deadline is after
// from, or at from with an id after fromID, and not after until, in that order.
func (s *Service) ClosingBetween(ctx context.Context, from time.Time, fromID string, until time.Time, n int) ([]Brief, error) {
	return s.Public.ListClosing(ctx, from, fromID, until, n)
}

// get returns the organization's listing in any state, or ErrJobNotFound.
// Inside a transaction the listing is locked until its end.
func (s *Service) get(ctx context.Context, organizationID, listingID string) (Listing, error) {
	listingID, ok := id.Canonical(listingID)
	if !ok {
		return Listing{}, ErrJobNotFound
	}
	found, err := s.Listings.ListBySelection(ctx, organizationID, Selection{IDs: []string{listingID}}, 1)
	return list.First(found, err, ErrJobNotFound)
}
