package searchindex

import (
	"context"
	"slices"
	"strings"

	"github.com/locumhq/locum/modules/listings/search"
)

// Find implements search.Index. It collects the exact hits of all parts of the index. If they do not fill the
// page, it evaluates the query again for relaxed hits, which satisfy some slot of the query only approximately.
func (x *Index) Find(ctx context.Context, q search.Query) (search.Result, error) {
	if err := q.Validate(); err != nil {
		return search.Result{}, err
	}

	after, err := parseCursor(q.After, q.Sort)
	if err != nil {
		return search.Result{}, err
	}

	if after != nil {
		q.Offset = 0 // the cursor takes the place of the offset
	}

	st, err := x.acquire()
	if err != nil {
		return search.Result{}, err
	}
	defer st.release()

	// A client can request any page: bound the memory for hits by the size of the index.
	docs := st.docs()
	q.Offset, q.Limit = min(q.Offset, docs), min(q.Limit, docs)

	f := newFinder(&q, after, x.options.Normalize)
	defer evaluations.Put(f.evaluation)

	if err := f.findAll(ctx, st.parts); err != nil {
		return search.Result{}, err
	}

	// Fill the rest of the page with relaxed hits.
	f.relaxing = f.relaxedLimit() > 0 && canRelax(&q)
	if f.relaxing {
		if err := f.findAll(ctx, st.parts); err != nil {
			return search.Result{}, err
		}
	}

	return f.result(), nil
}

// findAll evaluates the query on all parts, for either exact or relaxed hits.
func (f *finder) findAll(ctx context.Context, parts []*part) error {
	for _, p := range parts {
		if err := ctx.Err(); err != nil {
			return err
		}

		f.addHits(p)
	}

	return nil
}

// finder evaluates one query over the parts of the index, which are segments with their deleted documents. A
// query has slots, such as the role and the place. A slot has levels, which are alternative ways to satisfy
// it, each with a cost. The finder first evaluates the levels that are marked as exact and then, if the page
// is not full, all levels for relaxed hits.
//
// Hits are divided into classes, which follow each other on the pages: exact hits that match Query.First, the
// other exact hits, and relaxed hits. The documents of a segment are evaluated in blocks, as vectors: sets of the
// documents of one block.
type finder struct {
	*evaluation
	q         *search.Query
	after     *cursor // nil for the first page
	normalize func(string) string
	costBits  int  // the number of bits of the highest cost
	relaxing  bool // whether relaxed hits are searched, after the exact ones

	slotsByPart map[*part][]slotPlan   // as the last plan for the part resolved them
	exact       []ranked               // the best exact hits so far, in order
	relaxed     []ranked               // the best relaxed hits so far, in order
	total       int                    // the number of exact hits so far
	facets      map[string]facetCounts // by the prefix of the keys that are counted
}

// facetCounts are counts by key. The values are pointers, so that a count can be increased without an assignment to the
// map. An assignment would store the given key, whose memory belongs to a segment that may be unmapped later.
type facetCounts map[string]*int

// newFinder returns a finder. Its evaluation comes from the pool evaluations, to which the caller has
// to return it.
func newFinder(q *search.Query, after *cursor, normalize func(string) string) *finder {
	f := &finder{
		evaluation:  evaluations.Get().(*evaluation), //nolint:forcetypeassert // the pool makes no other
		q:           q,
		after:       after,
		normalize:   normalize,
		costBits:    q.CostBits(),
		slotsByPart: map[*part][]slotPlan{},
		facets:      map[string]facetCounts{},
	}
	for _, prefix := range q.Facets {
		f.facets[prefix] = facetCounts{}
	}

	return f
}

// exactLimit returns the number of exact hits to collect. It is one more than the page shows, in order to
// detect whether there is another page, and 0 for a query that only counts its hits.
func (f *finder) exactLimit() int {
	if f.q.Limit == 0 {
		return 0
	}

	return f.q.Offset + f.q.Limit + 1
}

// addHits adds the hits of a part.
func (f *finder) addHits(p *part) {
	pl := f.newPlan(p)
	if pl.isEmpty() {
		return
	}

	const allVectors = 0 // the mark before the first one

	for block := range p.blocks() {
		f.begin(p.segment, block)
		f.evaluate(pl)
		f.release(allVectors)
	}

	if f.relaxing {
		f.relaxed = f.merge(f.relaxed, f.bestHits(pl, classRelaxed), f.relaxedLimit())
		return
	}

	if pl.order != nil {
		f.selectInOrder(pl)
	}

	f.exact = f.merge(f.exact, f.bestHits(pl, classPreferred, classExact), f.exactLimit())

	// Facets count the exact hits of both classes.
	if len(f.facets) > 0 {
		allExact := pl.exactHits[classExact]
		allExact.or(pl.exactHits[classPreferred])

		for prefix, counts := range f.facets {
			counts.add(p.segment, prefix, allExact)
		}
	}
}

// maxSorted is the number of hits up to which selectInOrder reads the sort keys of all hits.
const maxSorted = 1024

// selectInOrder selects the first hits of each exact class in the order pl.order. It reads the sort keys of all
// hits if they are few. For many hits, it goes through the documents of the segment in their order until it
// has found enough.
func (f *finder) selectInOrder(pl *plan) {
	for class, set := range pl.exactHits {
		bound, mayFollow := pl.boundOf(class) // where the page begins
		best := &pl.best[class]

		hits := set.count()
		if !mayFollow || hits == 0 || best.limit == 0 {
			continue
		}

		isMany := hits > max(maxSorted, 4*best.limit)
		if isMany {
			// Going through the documents is only worthwhile while it visits fewer of them than there are hits.
			maxVisited := hits
			if items, complete := pl.order.firstHits(set, bound, best.limit, maxVisited); complete {
				best.items = items
				continue
			}
		}

		for doc := range set.each {
			key := pl.order.key(doc)
			if bound == nil || bound.admits(key, doc) {
				best.add(key, doc)
			}
		}
	}
}

// bestHits returns the best hits of the given classes in a part, in order.
func (f *finder) bestHits(pl *plan, classes ...int) []ranked {
	var hits []ranked
	for _, class := range classes {
		best := &pl.best[class]
		best.cut()

		hits = slices.Grow(hits, len(best.items))
		for _, it := range best.items {
			hits = append(hits, newRanked(pl.part, class, it, f.q.Sort.By))
		}
	}

	return hits
}

// merge returns the first n hits of two lists that are in order.
func (f *finder) merge(a, b []ranked, n int) []ranked {
	if len(a) == 0 || len(b) == 0 {
		a = append(a, b...)
		return a[:min(n, len(a))]
	}

	merged := make([]ranked, 0, min(n, len(a)+len(b)))
	for len(merged) < cap(merged) {
		takesA := len(b) == 0 || len(a) > 0 && compareRanked(&a[0], &b[0], f.q.Sort.Descending) < 0
		if takesA {
			merged = append(merged, a[0])
			a = a[1:]
		} else {
			merged = append(merged, b[0])
			b = b[1:]
		}
	}

	return merged
}

// evaluate adds the hits of one block. A hit meets the conditions of must, and matches a level of every slot. Each
// step only looks at the documents that earlier steps have left. So evaluate begins with must or with the slots,
// whichever is estimated to take less work.
func (f *finder) evaluate(pl *plan) {
	hits := f.live(pl)
	if !pl.slotsBeforeMust {
		f.evaluateMust(pl, hits)
	}

	// exact are the hits for which all levels are exact. If only exact hits are searched, hits and exact are one
	// vector: what is removed from exact is no hit either.
	exact := hits
	if f.relaxing {
		exact = f.vector()
		copy(exact, hits)
	}

	costs := f.evaluateSlots(pl, hits, exact)
	if pl.slotsBeforeMust {
		f.evaluateMust(pl, hits)
		exact.and(hits)
	}

	if hits.isEmpty() {
		return
	}

	if f.relaxing { // the exact hits were collected when the query was evaluated for the first time
		hits.andNot(exact)
		f.collectRelaxed(pl, hits, costs)
		return
	}

	f.total += exact.count()

	// Divide the hits into those that match Query.First and the others.
	if pl.preferred != nil {
		preferred := f.vector()
		pl.preferred.eval(f.evaluation, exact, preferred)
		exact.andNot(preferred)
		f.collect(pl, classPreferred, preferred, costs)
	}

	f.collect(pl, classExact, exact, costs)
}

// live returns the documents of the block that are neither deleted nor expired.
func (f *finder) live(pl *plan) vector {
	live := f.vector()
	live.fill(pl.blockDocs(f.block))

	if pl.dead != nil {
		live.andNot(pl.dead.block(f.evaluation))
	}

	if expired := pl.expired(pl.now); expired != nil {
		live.andNot(expired.block(f.evaluation))
	}

	return live
}

// evaluateMust removes from hits the documents that do not meet the conditions.
func (f *finder) evaluateMust(pl *plan, hits vector) {
	if pl.must == nil || hits.isEmpty() {
		return
	}

	defer f.release(f.mark())

	matches := f.vector()
	pl.must.eval(f.evaluation, hits, matches)
	copy(hits, matches)
}

// evaluateSlots removes from hits the documents that match no level of a slot, and from exact
// the documents of which some level is not exact. It returns the costs of the remaining
// documents, if the query uses costs.
func (f *finder) evaluateSlots(pl *plan, hits, exact vector) counters {
	var costs counters
	if pl.needsCosts {
		costs = f.counters(f.costBits)
	}

	rest, matches := f.vector(), f.vector()
	carry := f.vector() // scratch memory of costs.add

	for _, slot := range pl.slots {
		if hits.isEmpty() {
			return costs
		}

		copy(rest, hits) // the documents that have matched no level yet

		levels := f.q.Slots[slot.number].Levels
		for i, level := range slot.levels {
			level.eval(f.evaluation, rest, matches)

			if matches.isEmpty() {
				continue
			}

			rest.andNot(matches)

			if pl.needsCosts {
				costs.add(matches, levels[i].Cost, carry)
			}

			if !levels[i].Exact {
				exact.andNot(matches)
			}
		}

		// What is left matches no level of the slot.
		hits.andNot(rest)
		exact.andNot(rest)
	}

	return costs
}

// collectRelaxed adds the relaxed hits whose cost is not above the maximum.
func (f *finder) collectRelaxed(pl *plan, hits vector, costs counters) {
	defer f.release(f.mark())

	hasMaximum := f.q.MaxCost > 0
	if hasMaximum {
		equal, greater := f.vector(), f.vector()
		copy(equal, hits)
		costs.compare(uint64(f.q.MaxCost), equal, greater)
		hits.andNot(greater)
	}

	pl.best[classRelaxed].addByCost(f.evaluation, hits, costs)
}

// collect adds the documents of one class that follow the cursor.
func (f *finder) collect(pl *plan, class int, set vector, costs counters) {
	if all := pl.exactHits[class]; all != nil {
		copy(all.block(f.evaluation), set)
	}

	bound, mayFollow := pl.boundOf(class) // where the page begins
	if pl.order != nil || !mayFollow {
		return // the hits of a pl.order are selected by selectInOrder, after all blocks
	}

	defer f.release(f.mark())

	// The page begins after the hit of the cursor. Keep the documents that cost more than this hit. Of those with
	// the same cost, keep the ones from bound.doc on. In this block, that is the document firstInBlock, which is
	// negative or beyond the block if the cursor is in another one.
	if bound != nil {
		equal, greater, before := f.vector(), f.vector(), f.vector()
		copy(equal, set)
		costs.compare(bound.key, equal, greater)

		firstInBlock := int(bound.doc) - f.block*blockDocs
		keepBelow(before, equal, firstInBlock)
		equal.andNot(before)
		equal.or(greater)

		set = equal
	}

	pl.best[class].addByCost(f.evaluation, set, costs)
}

// page returns the exact hits of the page, and whether there are more exact hits after them.
func (f *finder) page() (page []ranked, more bool) {
	page = f.exact[min(f.q.Offset, len(f.exact)):]
	if len(page) > f.q.Limit {
		return page[:f.q.Limit], f.q.Limit > 0
	}

	return page, false
}

// relaxedLimit returns the number of relaxed hits that the page can show. Only one page of a query has space for
// relaxed hits: the last page of exact hits or, if there are no exact hits, the first page.
func (f *finder) relaxedLimit() int {
	page, more := f.page()
	isFirstPage := f.q.Offset == 0 && f.after == nil

	isBeyondExact := len(page) == 0 && (f.total > 0 || !isFirstPage)
	if more || isBeyondExact {
		return 0
	}

	return min(f.q.Limit-len(page), f.q.Relaxed)
}

// result returns the page, the total and the facets.
func (f *finder) result() search.Result {
	result := search.Result{Total: f.total, Facets: map[string]map[string]int{}}
	for prefix, counts := range f.facets {
		result.Facets[prefix] = make(map[string]int, len(counts))
		for key, n := range counts {
			result.Facets[prefix][key] = *n
		}
	}

	page, more := f.page()
	if more {
		result.Next = newCursor(&page[len(page)-1], f.q.Sort)
	}

	page = append(slices.Clip(page), f.relaxed...)
	for i := range page {
		result.Hits = append(result.Hits, f.hit(&page[i]))
	}

	return result
}

// hit converts a ranked document to a search.Hit. It copies the id, whose memory belongs to the segment, and
// looks up the level at which the document satisfies each slot.
func (f *finder) hit(r *ranked) search.Hit {
	s := r.part.segment

	hit := search.Hit{
		ID:      strings.Clone(r.id()),
		Version: s.versions[r.doc],
		Exact:   r.class != classRelaxed,
		Levels:  make([]int, len(f.q.Slots)),
	}
	for _, slot := range f.slotsByPart[r.part] {
		hit.Levels[slot.number] = slices.IndexFunc(slot.levels, func(n node) bool { return n.has(r.doc) })
	}

	if place := s.place[r.doc]; place > 0 && f.q.From != nil {
		miles := s.places[place-1].Miles(*f.q.From)
		hit.Miles = &miles
	}

	return hit
}

// add counts the documents of hits for the keys that begin with the prefix.
func (c facetCounts) add(s *segment, prefix string, hits vector) {
	list := s.keyPostings()

	from, to := s.keys.prefixed(prefix)
	for i := from; i < to; i++ {
		docs := list.get(i)

		n := docs.countIn(hits)
		if n == 0 {
			continue
		}

		key := s.keys.at(i)
		if sum := c[key]; sum != nil {
			*sum += n
		} else {
			c[strings.Clone(key)] = &n
		}
	}
}
