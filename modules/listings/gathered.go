package listings

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"time"

	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/modules/listings/search"
)

// ListPublic returns the listings with the ids that are public now, in any order.
func (s *Service) ListPublic(ctx context.Context, ids []string) ([]Listing, error) {
	if len(ids) == 0 {
		return nil, nil
	}

	return s.Public.ListPublic(ctx, ids, s.Clock.Now())
}

// Gathered contains public listings in memory, in order to match them with many saved
// searches. It is not safe for concurrent use.
//
// The query of a saved search is divided into conditions, such as a role or a place, which
// many searches have in common. Every condition has a number. Each condition is evaluated on
// all listings only once, and its result is kept as a bitset. The matches of a search are the
// intersection of the bitsets of its conditions.
type Gathered struct {
	service      *Service
	batch        search.Matcher // evaluates conditions on the listings
	plans        *plans         // the conditions of saved searches and their numbers
	now          time.Time
	listings     []Listing
	positionByID map[string]int // in listings
	// matches contains, by the number of a condition, the listings that match it, or nil
	// if the condition has not been evaluated.
	matches []bitset
	// remaining is a buffer for Matching: the listings that match all conditions so far.
	remaining bitset
	// ids is a buffer for matchCondition.
	ids []string
}

// bitset is a set of positions in Gathered.listings.
type bitset []uint64

// wordBits is the number of positions in one word of a bitset.
const wordBits = 64

// FindKey contains the parameters of a saved search. Text must be a result of
// Service.Resolve.
type FindKey struct{ Text, Location, ContractType string }

// Resolve returns the text of a search with misspelt words replaced, as Matching expects it.
// It corrects words by the index of this process, and returns an empty text while the process
// has no index.
func (s *Service) Resolve(ctx context.Context, text string) (resolved string, err error) {
	hasIndex := s.Engine.current.Load() != nil
	if !hasIndex {
		return "", nil
	}

	err = s.useIndex(ctx, func(ctx context.Context, g *generation, _ bool) error {
		resolved = g.parserWithin(ctx).Resolve(text)
		return nil
	})

	return resolved, err
}

// Gather reads the listings with the ids, except listings that are not public now. It leaves out
// listings that cannot be analyzed, so that they do not prevent the alerts about the others.
func (s *Service) Gather(ctx context.Context, ids []string) (*Gathered, error) {
	ls, err := s.ListPublic(ctx, ids)
	if err != nil {
		return nil, err
	}

	g := &Gathered{service: s, plans: s.plansFor(s.Engine.Parser()), now: s.Clock.Now(), positionByID: map[string]int{}}

	var docs []*search.Document
	for i := range ls {
		d := ls[i].analyze(g.plans.parser.Vocabulary, s.Engine.deps.Log)
		if d == nil { // it cannot be analyzed
			continue
		}

		g.positionByID[d.ID] = len(g.listings)
		g.listings = append(g.listings, ls[i])
		docs = append(docs, d)
	}

	words := (len(docs) + wordBits - 1) / wordBits // rounded up
	g.remaining = make(bitset, words)
	g.batch, err = s.NewBatch(docs)

	return g, err
}

// Listings returns the listings.
func (g *Gathered) Listings() []Listing { return g.listings }

// Matching returns the positions of the listings that are exact results of the search, which
// satisfy all of its parts. It returns none for a search that Find refuses as invalid.
func (g *Gathered) Matching(ctx context.Context, k FindKey) ([]int, error) {
	// New plans number conditions from 0 again. So the results of the conditions with the old
	// numbers are dropped.
	if g.plans.isFull() {
		g.plans, g.matches = g.service.emptyPlans(g.plans.parser), nil
	}

	plan, err := g.service.plan(ctx, g.plans, k)
	if err != nil {
		return nil, err
	}

	// Begin with all listings. The last word also has bits for positions beyond them, which
	// are not returned.
	const allBits = ^uint64(0)
	for i := range g.remaining {
		g.remaining[i] = allBits
	}

	for _, condition := range plan {
		anyBits := uint64(0) // the bits of all words together, 0 if no listing is left
		for i, word := range g.matchCondition(condition) {
			g.remaining[i] &= word
			anyBits |= g.remaining[i]
		}

		if anyBits == 0 {
			return nil, nil
		}
	}

	var positions []int
	for i := range g.listings {
		if g.remaining.has(i) {
			positions = append(positions, i)
		}
	}

	return positions, nil
}

// has reports whether the set contains the position.
func (b bitset) has(i int) bool { return b[i/wordBits]>>(i%wordBits)&1 == 1 }

// add adds a position to the set.
func (b bitset) add(i int) { b[i/wordBits] |= 1 << (i % wordBits) }

// matchCondition returns the listings that match the condition with the number. It evaluates
// each condition once.
func (g *Gathered) matchCondition(number int32) bitset {
	for int(number) >= len(g.matches) {
		g.matches = append(g.matches, nil)
	}

	if g.matches[number] == nil {
		q := g.plans.condition(number)
		q.Now = g.now
		found := make(bitset, len(g.remaining))

		g.ids = g.batch.AppendMatches(g.ids[:0], &q)
		for _, id := range g.ids {
			found.add(g.positionByID[id])
		}

		g.matches[number] = found
	}

	return g.matches[number]
}

// plan returns the numbers of the conditions of a saved search. The exact results of the
// search are the listings that match all of them.
func (s *Service) plan(ctx context.Context, p *plans, k FindKey) ([]int32, error) {
	k.Location = strings.TrimSpace(k.Location)
	if plan, isCached := p.get(k); isCached {
		return plan, nil
	}

	in := FindInput{
		Text:    k.Text,
		Filters: FilterInput{Location: k.Location, ContractType: []string{k.ContractType}},
		Exact:   true,
		Page:    page.Request{Number: 1},
	}
	q, err := s.parseRequest(ctx, p.parser, auth.Actor{}, in)

	isRefused := fault.KindOf(err) == fault.Invalid
	if err != nil && !isRefused {
		return nil, err
	}

	if isRefused || q.matchesNothing {
		nothing := search.Or() // matches no listing, since it has no alternatives
		return p.add(k, []search.Query{{Must: []search.Expr{nothing}}})
	}

	return p.add(k, conditions(&q.query))
}

// conditions divides a query into queries with one condition each. A listing is an exact
// result of the query if it matches all of them. A condition is one of Must, or a slot: a part
// of the query such as the role, with its levels, which are the ways to satisfy it.
func conditions(q *search.Query) []search.Query {
	var divided []search.Query
	for _, e := range q.Must {
		divided = append(divided, search.Query{Must: []search.Expr{e}})
	}

	for _, slot := range q.Slots {
		exact, matchesAll := exactLevels(slot)
		if !matchesAll {
			divided = append(divided, search.Query{Slots: []search.Slot{exact}})
		}
	}

	if len(divided) == 0 { // the empty query matches every listing
		divided = append(divided, search.Query{})
	}

	return divided
}

// exactLevels returns the slot up to its last exact level, since the levels after it do not
// affect exact results. The other levels are relaxed: listings satisfy the slot only
// approximately. matchesAll is true if every listing satisfies the slot exactly.
func exactLevels(s search.Slot) (exact search.Slot, matchesAll bool) {
	hasRelaxedBefore := false
	for i, level := range s.Levels {
		if !level.Exact {
			hasRelaxedBefore = true
			continue
		}

		exact.Levels = s.Levels[:i+1]

		// A listing satisfies a slot at its first level that matches. If that is a relaxed
		// level, a later exact level for all listings does not count.
		if level.Expr.Op == search.OpAll && !hasRelaxedBefore {
			matchesAll = true
		}
	}

	return exact, matchesAll
}

// plans caches the conditions of saved searches. A condition that several searches have in
// common is stored once.
type plans struct {
	parser *search.Parser

	mu         sync.Mutex          // guards the next fields
	bySearch   map[FindKey][]int32 // the numbers of the conditions of each search
	conditions []search.Query      // by number
	numbers    map[string]int32    // the numbers of conditions, by the condition as JSON
}

// The limits of plans, which need at most about 40 MB for searches and 60 MB for conditions.
// When one of them is reached, all plans are dropped.
const (
	maxPlans      = 200_000
	maxConditions = 20_000
)

// plansFor returns the cached plans, or empty ones if the cache is full or was made with
// another vocabulary.
func (s *Service) plansFor(parser *search.Parser) *plans {
	if p := s.plans.Load(); p != nil && p.parser.Vocabulary == parser.Vocabulary && !p.isFull() {
		return p
	}

	parser.Resolved = true // the texts of saved searches are corrected already (Resolve)

	return s.emptyPlans(parser)
}

// emptyPlans replaces the cached plans by empty ones, and returns them.
func (s *Service) emptyPlans(parser *search.Parser) *plans {
	p := &plans{parser: parser, bySearch: map[FindKey][]int32{}, numbers: map[string]int32{}}
	s.plans.Store(p)
	return p
}

// isFull reports whether one of the limits is reached.
func (p *plans) isFull() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.bySearch) >= maxPlans || len(p.conditions) >= maxConditions
}

// get returns the numbers of the conditions of a search, if it is cached.
func (p *plans) get(k FindKey) ([]int32, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()

	plan, ok := p.bySearch[k]

	return plan, ok
}

// condition returns the condition with the number.
func (p *plans) condition(number int32) search.Query {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.conditions[number]
}

// add stores the conditions of a search and returns their numbers.
func (p *plans) add(k FindKey, conditions []search.Query) ([]int32, error) {
	p.mu.Lock()
	defer p.mu.Unlock()

	plan := make([]int32, len(conditions))
	for i := range conditions {
		key, err := json.Marshal(&conditions[i])
		if err != nil {
			return nil, err
		}

		number, exists := p.numbers[string(key)]
		if !exists {
			number = int32(len(p.conditions))
			p.numbers[string(key)] = number
			p.conditions = append(p.conditions, conditions[i])
		}

		plan[i] = number
	}

	p.bySearch[k] = plan

	return plan, nil
}
