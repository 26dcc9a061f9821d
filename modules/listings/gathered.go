package listings

import (
	"context"
	"strings"
)

// PublicMany returns those of the ids that are public at this moment, in any
// order.
func (s *Service) PublicMany(ctx context.Context, ids []string) ([]Listing, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	return s.Listings.PublicMany(ctx, ids, s.Clock.Now())
}

// Gathered are public listings in memory, for finding out which of them many
// searches would find. It is for one goroutine.
type Gathered struct {
	service  *Service
	index    Index
	listings []Listing
	// known are the answers for what was asked before: people search alike.
	known map[FindKey][]int
}

// FindKey is what a search that somebody keeps consists of.
type FindKey struct{ Text, Location, ContractType string }

// Gather reads those of the ids that are public at this moment.
func (s *Service) Gather(ctx context.Context, ids []string) (*Gathered, error) {
	ls, err := s.PublicMany(ctx, ids)
	if err != nil {
		return nil, err
	}
	index, err := s.Matcher.Index(ctx, ls)
	return &Gathered{service: s, index: index, listings: ls, known: map[FindKey][]int{}}, err
}

// Listings are they.
func (g *Gathered) Listings() []Listing { return g.listings }

// mostKnown bounds the answers that are remembered.
const mostKnown = 4_096

// Matching are the positions of the listings that Find would find. A search
// that Find would refuse finds none. Callers leave the answer as it is.
func (g *Gathered) Matching(k FindKey) []int {
	k.Text, k.Location = strings.TrimSpace(k.Text), strings.TrimSpace(k.Location)
	if known, ok := g.known[k]; ok {
		return known
	}
	q := Query{Now: g.service.Clock.Now(), Radius: DefaultRadius}
	var found []int
	if g.service.ask(&q, FindInput{Text: k.Text, Filters: FilterInput{Location: k.Location, ContractType: k.ContractType}}) == nil && !q.Text.Nothing {
		found = g.index.Matching(q)
	}
	if len(g.known) >= mostKnown {
		clear(g.known)
	}
	g.known[k] = found
	return found
}
