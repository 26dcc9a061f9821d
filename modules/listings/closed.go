package listings

import (
	"context"
	"time"

	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/id"
)

// closedPageLifetime is how long the page of a listing remains after the listing was closed.
const closedPageLifetime = 30 * 24 * time.Hour

// GetForPage returns a listing for its page, and whether the listing is public. It also returns a listing
// that was closed, or whose deadline passed, in the last 30 days. For any other listing it returns
// ErrGone if the listing was once public, and ErrNotFound if it was not.
func (s *Service) GetForPage(ctx context.Context, by auth.Actor, listingID string) (listing Listing, isPublic bool, err error) {
	listing, err = s.Detail(ctx, by, listingID)

	isNotPublic := fault.KindOf(err) == fault.NotFound
	if !isNotPublic {
		return listing, err == nil, err
	}

	listingID, ok := id.Canonical(listingID)
	if !ok {
		return listing, false, ErrNotFound
	}

	if listing, err = s.Public.GetPosted(ctx, listingID); err != nil {
		return listing, false, err
	}

	wasWithdrawn := listing.DeletedAt != nil || listing.HiddenAt != nil || listing.Status == Archived
	isOld := s.Clock.Now().Sub(listing.closedAt()) > closedPageLifetime

	if wasWithdrawn || isOld {
		return Listing{}, false, ErrGone
	}

	return listing, false, nil
}

// closedAt returns when a listing that is not public was closed: its deadline or its last
// change.
func (l *Listing) closedAt() time.Time {
	if l.Status == Active && l.Deadline != nil {
		return *l.Deadline
	}

	return l.UpdatedAt
}

// sitemapPartSize is the number of listings in a part of the sitemap: the maximum of the
// sitemap protocol.
const sitemapPartSize = 50_000

// OpenParts divides the open listings, in the order of their publication, into the parts of
// the sitemap. It returns the position before each part.
func (s *Service) OpenParts(ctx context.Context) ([]OpenPosition, error) {
	parts := []OpenPosition{{}} // the first part begins before all listings
	for {
		// Read only the last listing of a full part. If there is none, the part is not full, so
		// that no part follows.
		last, err := s.Public.ListOpen(ctx, parts[len(parts)-1], sitemapPartSize-1, 1)
		if err != nil || len(last) == 0 {
			return parts, err
		}

		parts = append(parts, last[0].OpenPosition)
	}
}

// OpenPart returns the open listings of the part after the position.
func (s *Service) OpenPart(ctx context.Context, after OpenPosition) ([]OpenListing, error) {
	const skip = 0
	return s.Public.ListOpen(ctx, after, skip, sitemapPartSize)
}
