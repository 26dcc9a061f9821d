package listings

import (
	"context"
	"time"

	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/id"
)

// keepPages is the time for which the page of a closed listing is shown.
const keepPages = 30 * 24 * time.Hour

// Page returns a listing for its page, and whether it is public. A listing that was closed or
// whose deadline passed is returned for 30 days. ErrGone for one that was public before, and
// ErrNotFound for one that never was.
func (s *Service) Page(ctx context.Context, by auth.Actor, listingID string) (l Listing, isPublic bool, err error) {
	l, err = s.Detail(ctx, by, listingID)
	if fault.KindOf(err) != fault.NotFound {
		return l, err == nil, err
	}
	listingID, ok := id.Canonical(listingID)
	if !ok {
		return l, false, ErrNotFound
	}
	if l, err = s.Public.GetPosted(ctx, listingID); err != nil {
		return l, false, err
	}
	if l.DeletedAt != nil || l.HiddenAt != nil || l.Status == Archived || s.Clock.Now().Sub(l.closedAt()) > keepPages {
		return Listing{}, false, ErrGone
	}
	return l, false, nil
}

// closedAt returns when a listing that is not public was closed or changed last.
func (l *Listing) closedAt() time.Time {
	if l.Status == Active && l.Deadline != nil {
		return *l.Deadline
	}
	return l.UpdatedAt
}

// maxOpen is the number of listings in a part of the sitemap.
const maxOpen = 50_000

// OpenParts returns the positions before the parts into which open listings are divided, in
// the order of publication.
func (s *Service) OpenParts(ctx context.Context) ([]OpenPosition, error) {
	parts := []OpenPosition{{}}
	for {
		last, err := s.Public.ListOpen(ctx, parts[len(parts)-1], maxOpen-1, 1)
		if err != nil || len(last) == 0 {
			return parts, err
		}
		parts = append(parts, last[0].OpenPosition)
	}
}

// OpenPart returns the open listings of the part after the position.
func (s *Service) OpenPart(ctx context.Context, after OpenPosition) ([]OpenListing, error) {
	return s.Public.ListOpen(ctx, after, 0, maxOpen)
}
