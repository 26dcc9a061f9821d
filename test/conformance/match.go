package conformance

import (
	"context"
	"fmt"
	"slices"

	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/modules/listings"
)

// bothWays searches and, whatever is asked, also holds all listings in memory
// against the query: the Matcher finds what the Search finds. So every case of
// the one is a case of the other.
type bothWays struct {
	listings.Search
	matcher listings.Matcher
}

// aBoard is more than any board has.
const aBoard = 500

func (s bothWays) Find(ctx context.Context, q listings.Query) (page.Result[listings.Hit], error) {
	found, err := s.Search.Find(ctx, q)
	if err != nil || q.Page.Cursor != "" || q.Page.Number != 1 || found.NextCursor != "" {
		return found, err
	}
	all, err := s.Search.Find(ctx, listings.Query{Now: q.Now, Sort: listings.ByDate, Page: page.Request{Number: 1, Size: aBoard}, Full: true})
	if err != nil {
		return found, err
	}
	ls := make([]listings.Listing, len(all.Items))
	for i, h := range all.Items {
		ls[i] = h.Listing
	}
	index, err := s.matcher.Index(ctx, ls)
	if err != nil {
		return found, err
	}
	var searched, matched []string
	for _, h := range found.Items {
		searched = append(searched, h.Listing.Title+" "+h.Listing.ID)
	}
	for _, i := range index.Matching(q) {
		matched = append(matched, ls[i].Title+" "+ls[i].ID)
	}
	slices.Sort(searched)
	slices.Sort(matched)
	if !slices.Equal(searched, matched) {
		return found, fmt.Errorf("the search finds %q, the matcher %q, for %+v %+v", searched, matched, q.Text, q.Filters)
	}
	return found, nil
}
