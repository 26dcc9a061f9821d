package searchindex

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/locumhq/locum/modules/listings/search"
)

// Find implements search.Index.
func (x *Index) Find(ctx context.Context, q search.Query) (search.Result, error) {
	if err := q.Validate(); err != nil {
		return search.Result{}, err
	}
	after, err := parseCursor(q.After, q.Sort)
	if err != nil {
		return search.Result{}, err
	}
	if after != nil {
		q.Offset = 0
	}
	st, err := x.acquire()
	if err != nil {
		return search.Result{}, err
	}
	defer st.release()
	docs := st.docs()
	q.Offset, q.Limit = min(q.Offset, docs), min(q.Limit, docs)
	f := newFinder(&q, after, x.options.Normalize)
	defer evaluations.Put(f.evaluation)
	for _, p := range st.parts {
		if err := ctx.Err(); err != nil {
			return search.Result{}, err
		}
		f.find(p)
	}
	return f.result(), nil
}

// finder evaluates one query over the segments.
type finder struct {
	*evaluation
	q         *search.Query
	after     *cursor
	normalize func(string) string
	costBits  int

	slots          map[*part][]slotPlan
	exact, relaxed []ranked
	total          int
	relaxedTotal   int
	facets         map[string]*facetCounts
}

// facetCounts are counts by key. The map has positions, since assigning to it
// would keep a key that shares the memory of a segment.
type facetCounts struct {
	positions map[string]int
	keys      []string
	counts    []int
}

func newFinder(q *search.Query, after *cursor, normalize func(string) string) *finder {
	f := &finder{
		evaluation: evaluations.Get().(*evaluation), //nolint:forcetypeassert // the pool makes no other
		q:          q, after: after, normalize: normalize, costBits: q.CostBits(),
		slots: map[*part][]slotPlan{}, facets: map[string]*facetCounts{},
	}
	for _, prefix := range q.Facets {
		f.facets[prefix] = &facetCounts{positions: map[string]int{}}
	}
	return f
}

// wanted is the number of exact hits to collect: one more than are shown tells
// whether there is another page.
func (f *finder) wanted() int {
	if f.q.Limit == 0 {
		return 0
	}
	return f.q.Offset + f.q.Limit + 1
}

// plan is a query that is resolved against one segment.
type plan struct {
	*part
	must     node
	slots    []slotPlan
	first    node
	now      int64
	bound    *bound
	keys     keyFunc // nil if hits are sorted by cost
	useCosts bool
	best     [classes]top
	counted  vector // exact hits, if there are facets
}

type slotPlan struct {
	number int
	levels []node
}

func (s *slotPlan) weight() int {
	sum := 0
	for _, l := range s.levels {
		sum += l.weight()
	}
	return sum
}

// newPlan resolves the query. Slots are in the order of their weight.
func (f *finder) newPlan(p *part) *plan {
	c := compiler{p.segment, f.normalize}
	pl := &plan{part: p, now: f.q.Now.UnixMicro(), bound: f.after.bound(p.segment)}
	if len(f.q.Must) > 0 {
		pl.must = newAnd(c.all(f.q.Must))
	}
	pl.slots = f.slotPlans(c)
	f.slots[p] = pl.slots
	slices.SortStableFunc(pl.slots, func(a, b slotPlan) int { return cmp.Compare(a.weight(), b.weight()) })
	if f.q.First != nil {
		pl.first = c.node(f.q.First)
	}
	sorted, useCosts := sortedByCost(f.q.Sort)
	pl.useCosts = useCosts
	if !sorted {
		pl.keys = newKeyFunc(p.segment, f.q)
	}
	pl.best = [classes]top{newTop(f.wanted()), newTop(f.wanted()), newTop(min(f.q.Relaxed, f.q.Limit))}
	if len(f.q.Facets) > 0 {
		pl.counted = newVector(p.docs())
	}
	return pl
}

// isEmpty reports whether the segment certainly has no hit.
func (pl *plan) isEmpty() bool {
	return pl.must != nil && pl.must.weight() == 0 || len(pl.slots) > 0 && pl.slots[0].weight() == 0
}

func (f *finder) slotPlans(c compiler) []slotPlan {
	plans := make([]slotPlan, len(f.q.Slots))
	for i := range f.q.Slots {
		plans[i].number = i
		levels := f.q.Slots[i].Levels
		if f.q.Relaxed == 0 {
			levels = trimRelaxed(levels)
		}
		for j := range levels {
			plans[i].levels = append(plans[i].levels, c.node(&levels[j].Expr))
		}
	}
	return plans
}

// trimRelaxed returns the levels up to the last exact one.
func trimRelaxed(levels []search.SlotLevel) []search.SlotLevel {
	n := len(levels)
	for n > 0 && !levels[n-1].Exact {
		n--
	}
	return levels[:n]
}

// find adds the hits of a segment.
func (f *finder) find(p *part) {
	pl := f.newPlan(p)
	if pl.isEmpty() {
		return
	}
	for block := range p.blocks() {
		f.begin(p.segment, block)
		f.evaluate(pl)
		f.release(0)
	}
	f.exact = f.merge(f.exact, f.wanted(), append(f.ranked(pl, classFirst), f.ranked(pl, classExact)...))
	f.relaxed = f.merge(f.relaxed, f.q.Relaxed, f.ranked(pl, classRelaxed))
	for prefix, sum := range f.facets {
		sum.add(p.segment, prefix, pl.counted)
	}
}

// ranked returns the best hits of one class in a segment.
func (f *finder) ranked(pl *plan, class int) []ranked {
	t := &pl.best[class]
	t.cut()
	list := make([]ranked, 0, len(t.items))
	for _, it := range t.items {
		list = append(list, newRanked(pl.part, class, it, f.q.Sort.By))
	}
	return list
}

// merge returns the first n hits of two lists that are in order.
func (f *finder) merge(a []ranked, n int, b []ranked) []ranked {
	if len(a) == 0 || len(b) == 0 {
		a = append(a, b...)
		return a[:min(n, len(a))]
	}
	all := make([]ranked, 0, min(n, len(a)+len(b)))
	for len(all) < cap(all) {
		if len(b) == 0 || len(a) > 0 && compareRanked(&a[0], &b[0], f.q.Sort.Descending) < 0 {
			all, a = append(all, a[0]), a[1:]
		} else {
			all, b = append(all, b[0]), b[1:]
		}
	}
	return all
}

// evaluate adds the hits of one block.
func (f *finder) evaluate(pl *plan) {
	hits := f.live(pl)
	if pl.must != nil {
		found := f.vector()
		pl.must.eval(f.evaluation, hits, found)
		hits = found
	}
	exact := f.vector()
	copy(exact, hits)
	costs := f.evaluateSlots(pl, hits, exact)
	if hits.isEmpty() {
		return
	}
	f.total += exact.count()
	if pl.counted != nil {
		copy(pl.counted.block(f.evaluation), exact)
	}
	hits.andNot(exact)
	f.collectRelaxed(pl, hits, costs)
	f.collectExact(pl, exact, costs)
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

// evaluateSlots removes from hits the documents that match no level of a slot,
// and from exact those with a level that is not exact. It returns the costs of
// the remaining ones.
func (f *finder) evaluateSlots(pl *plan, hits, exact vector) counters {
	costs := make(counters, f.costBits)
	for b := range costs {
		costs[b] = f.vector()
		costs[b].clear()
	}
	rest, found, carry := f.vector(), f.vector(), f.vector()
	for _, slot := range pl.slots {
		if hits.isEmpty() {
			return costs
		}
		copy(rest, hits)
		levels := f.q.Slots[slot.number].Levels
		for i, level := range slot.levels {
			level.eval(f.evaluation, rest, found)
			if found.isEmpty() {
				continue
			}
			rest.andNot(found)
			costs.add(found, levels[i].Cost, carry)
			if !levels[i].Exact {
				exact.andNot(found)
			}
		}
		hits.andNot(rest)
		exact.andNot(rest)
		if f.q.Relaxed == 0 {
			copy(hits, exact)
		}
	}
	return costs
}

func (f *finder) collectRelaxed(pl *plan, hits vector, costs counters) {
	if f.q.Relaxed == 0 {
		return
	}
	defer f.release(f.mark())
	if f.q.MaxCost > 0 {
		equal, greater := f.vector(), f.vector()
		copy(equal, hits)
		costs.compare(uint64(f.q.MaxCost), equal, greater)
		hits.andNot(greater)
	}
	f.relaxedTotal += hits.count()
	pl.best[classRelaxed].addByCost(f.evaluation, hits, costs)
}

func (f *finder) collectExact(pl *plan, exact vector, costs counters) {
	if f.q.Limit == 0 {
		return
	}
	defer f.release(f.mark())
	if !pl.useCosts {
		costs = nil
	}
	if pl.first != nil {
		first := f.vector()
		pl.first.eval(f.evaluation, exact, first)
		exact.andNot(first)
		f.collect(pl, classFirst, first, costs)
	}
	f.collect(pl, classExact, exact, costs)
}

// collect adds the documents of one class that follow the cursor.
func (f *finder) collect(pl *plan, class int, set vector, costs counters) {
	b := pl.bound
	if b != nil && class < b.class {
		return
	}
	if b != nil && class > b.class {
		b = nil
	}
	best := &pl.best[class]
	first := uint32(f.block * blockDocs)
	if pl.keys != nil {
		for doc := range set.each {
			if key := pl.keys(first+doc, best.worst); b == nil || b.admits(key, first+doc) {
				best.add(key, first+doc)
			}
		}
		return
	}
	defer f.release(f.mark())
	if b != nil {
		equal, greater, before := f.vector(), f.vector(), f.vector()
		copy(equal, set)
		costs.compare(b.key, equal, greater)
		below(before, equal, int(b.doc)-f.block*blockDocs)
		equal.andNot(before)
		equal.or(greater)
		set = equal
	}
	best.addByCost(f.evaluation, set, costs)
}

// result puts the page together.
func (f *finder) result() search.Result {
	r := search.Result{Total: f.total, RelaxedTotal: f.relaxedTotal, Facets: map[string]map[string]int{}}
	for prefix, c := range f.facets {
		r.Facets[prefix] = make(map[string]int, len(c.keys))
		for i, key := range c.keys {
			r.Facets[prefix][key] = c.counts[i]
		}
	}
	page := f.exact[min(f.q.Offset, len(f.exact)):]
	if len(page) > f.q.Limit {
		page = page[:f.q.Limit]
		if f.q.Limit > 0 {
			r.Next = newCursor(&page[f.q.Limit-1], f.q.Sort)
		}
	} else if len(page) > 0 || f.total == 0 && f.q.Offset == 0 && f.after == nil {
		free := min(f.q.Limit-len(page), f.q.Relaxed, len(f.relaxed))
		page = append(slices.Clip(page), f.relaxed[:free]...)
	}
	for i := range page {
		r.Hits = append(r.Hits, f.hit(&page[i]))
	}
	return r
}

// hit returns what is reported of a document.
func (f *finder) hit(r *ranked) search.Hit {
	s := r.part.segment
	h := search.Hit{ID: strings.Clone(r.id()), Version: s.versions[r.doc], Exact: r.class != classRelaxed, Levels: make([]int, len(f.q.Slots))}
	for _, slot := range f.slots[r.part] {
		h.Levels[slot.number] = slices.IndexFunc(slot.levels, func(n node) bool { return n.has(r.doc) })
	}
	if place := s.place[r.doc]; place > 0 && f.q.From != nil {
		miles := s.places[place-1].Miles(*f.q.From)
		h.Miles = &miles
	}
	return h
}

// add counts the documents of hits for the keys that begin with the prefix.
func (c *facetCounts) add(s *segment, prefix string, hits vector) {
	list := s.keyPostings()
	from, to := s.keys.prefixed(prefix)
	for i := from; i < to; i++ {
		p := list.get(i)
		n := p.countIn(hits)
		if n == 0 {
			continue
		}
		key := s.keys.at(i)
		at, known := c.positions[key]
		if !known {
			key = strings.Clone(key)
			at = len(c.keys)
			c.positions[key] = at
			c.keys = append(c.keys, key)
			c.counts = append(c.counts, 0)
		}
		c.counts[at] += n
	}
}
