package listings

import "context"

// CountByStatus counts the organization's listings by their status; a status
// without listings may be absent.
func (s *Service) CountByStatus(ctx context.Context, organizationID string) (map[Status]int, error) {
	return s.Listings.CountByStatus(ctx, organizationID)
}

// Viewed returns one of the organization's listings, in any state, with its number
// of views, or ErrJobNotFound.
func (s *Service) Viewed(ctx context.Context, organizationID, listingID string) (Listing, int, error) {
	l, err := s.get(ctx, organizationID, listingID)
	if err != nil {
		return Listing{}, 0, err
	}
	views, err := s.Views.Get(ctx, organizationID, []string{l.ID})
	return l, views[l.ID], err
}
