package listings

import (
	"context"
	"strings"

	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/modules/listings/search"
)

// PublicMany returns those of the ids that are public at this moment, in any
// order.
func (s *Service) PublicMany(ctx context.Context, ids []string) ([]Listing, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	return s.Listings.PublicMany(ctx, ids, s.Clock.Now())
}

// Gathered are public listings in a small index, for finding out which of many
// searches match them. It is for one goroutine.
type Gathered struct {
	service  *Service
	index    search.Index
	parser   *search.Parser
	listings []Listing
	at       map[string]int // positions by id
	// known are the results of earlier searches: many are alike.
	known map[FindKey][]int
}

// FindKey is what a saved search consists of.
type FindKey struct{ Text, Location, ContractType string }

// Gather reads those of the ids that are public now.
func (s *Service) Gather(ctx context.Context, ids []string) (*Gathered, error) {
	ls, err := s.PublicMany(ctx, ids)
	if err != nil {
		return nil, err
	}
	index, err := s.NewIndex()
	if err != nil {
		return nil, err
	}
	g := &Gathered{service: s, index: index, listings: ls, at: map[string]int{}, known: map[FindKey][]int{}}
	g.parser = s.Engine.Parser()
	changes := make([]search.Change, len(ls))
	for i := range ls {
		g.at[ls[i].ID] = i
		changes[i] = search.Change{ID: ls[i].ID, Version: ls[i].Version, Document: ls[i].document(g.parser.Vocabulary)}
	}
	return g, index.Apply(ctx, changes, "")
}

// Listings returns the listings.
func (g *Gathered) Listings() []Listing { return g.listings }

// Close releases the index.
func (g *Gathered) Close() error { return g.index.Close() }

// maxKnown limits the results that are remembered.
const maxKnown = 4_096

// Matching returns the positions of the listings that are exact results of Find.
// A search that Find refuses has none. The result must not be changed.
func (g *Gathered) Matching(ctx context.Context, k FindKey) ([]int, error) {
	k.Text, k.Location = strings.TrimSpace(k.Text), strings.TrimSpace(k.Location)
	if known, ok := g.known[k]; ok {
		return known, nil
	}
	found, err := g.find(ctx, k)
	if err != nil {
		return nil, err
	}
	if len(g.known) >= maxKnown {
		clear(g.known)
	}
	g.known[k] = found
	return found, nil
}

func (g *Gathered) find(ctx context.Context, k FindKey) (found []int, err error) {
	in := FindInput{Text: k.Text, Filters: FilterInput{Location: k.Location, ContractType: []string{k.ContractType}}, Exact: true, Page: page.Request{Number: 1, Size: len(g.listings)}}
	q, err := g.service.question(ctx, g.parser, auth.Actor{}, in)
	if fault.KindOf(err) == fault.Invalid || err == nil && q.empty {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	r, err := g.index.Find(ctx, q.query)
	for _, h := range r.Hits {
		found = append(found, g.at[h.ID])
	}
	return found, err
}
