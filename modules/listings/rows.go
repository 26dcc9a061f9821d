package listings

import (
	"context"

	"github.com/maypok86/otter/v2"

	"github.com/locumhq/locum/modules/listings/search"
)

// maxSummaries is the number of listings that are kept in memory for lists, about
// 1 KB each.
const maxSummaries = 20_000

// summaries are listings as lists show them, by id. One with the version of the
// index is current.
type summaries = otter.Cache[string, *Listing]

func newSummaries() *summaries {
	return otter.Must(&otter.Options[string, *Listing]{MaximumSize: maxSummaries})
}

// rows returns the listings of the hits that are still public, by id.
func (s *Service) rows(ctx context.Context, full bool, hits []search.Hit) (map[string]*Listing, error) {
	rows := make(map[string]*Listing, len(hits))
	missing := make([]string, 0, len(hits))
	for _, h := range hits {
		if l, ok := s.summaries.GetIfPresent(h.ID); ok && !full && l.Version == h.Version {
			rows[h.ID] = l
		} else {
			missing = append(missing, h.ID)
		}
	}
	if len(missing) == 0 {
		return rows, nil
	}
	read := s.Listings.PublicSummaries
	if full {
		read = s.Listings.PublicMany
	}
	found, err := read(ctx, missing, s.Clock.Now())
	for i := range found {
		l := &found[i]
		if rows[l.ID] = l; !full {
			s.summaries.Set(l.ID, l)
		}
	}
	return rows, err
}
