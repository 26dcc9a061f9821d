package listings

import (
	"context"
	"sync"

	"github.com/locumhq/locum/modules/listings/search"
)

// maxSummaries is half of the maximum number of listings that are cached for lists,
// about 1 KB each.
const maxSummaries = 10_000

// summaries caches listings without texts, by id. A listing with the version of the
// index is current. If the cache is full, the least recently used half is deleted.
type summaries struct {
	mu          sync.Mutex
	recent, old map[string]*Listing
}

func (s *summaries) get(id string, version int64) *Listing {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.recent[id]
	if l == nil {
		if l = s.old[id]; l != nil {
			s.add(l)
		}
	}
	if l == nil || l.Version != version {
		return nil
	}
	return l
}

func (s *summaries) set(l *Listing) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.add(l)
}

func (s *summaries) add(l *Listing) {
	if len(s.recent) >= maxSummaries || s.recent == nil {
		s.recent, s.old = make(map[string]*Listing, maxSummaries), s.recent
	}
	s.recent[l.ID] = l
}

// rows returns the listings of the hits that are still public, by id. With an index
// that is not current, only the database knows which ones are.
func (s *Service) rows(ctx context.Context, q *question, hits []search.Hit) (map[string]*Listing, error) {
	rows := make(map[string]*Listing, len(hits))
	missing := make([]string, 0, len(hits))
	for _, h := range hits {
		if l := s.summaries.get(h.ID, h.Version); l != nil && q.isCurrent && !q.Full {
			rows[h.ID] = l
		} else {
			missing = append(missing, h.ID)
		}
	}
	if len(missing) == 0 {
		return rows, nil
	}
	found, err := s.Public.ListPublic(ctx, missing, s.Clock.Now(), q.Full)
	for i := range found {
		l := &found[i]
		if rows[l.ID] = l; !q.Full {
			s.summaries.set(l)
		}
	}
	return rows, err
}
