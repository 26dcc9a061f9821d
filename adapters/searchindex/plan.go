package searchindex

import (
	"cmp"
	"slices"

	"github.com/locumhq/locum/modules/listings/search"
)

// A query has conditions that every hit must meet (Query.Must) and slots, for example one for the role and
// one for the place. Each slot has levels: alternative ways to satisfy it, from the best to the worst, each
// with a cost. A hit is exact if every level that it matches is marked as exact, and else relaxed.

// canRelax reports whether the query has levels that are not exact, so that it can have relaxed hits.
func canRelax(q *search.Query) bool {
	return slices.ContainsFunc(q.Slots, func(s search.Slot) bool {
		return slices.ContainsFunc(s.Levels, func(l search.SlotLevel) bool { return !l.Exact })
	})
}

// plan is a query that is resolved against one part of the index, with the hits that are found there. A part
// is a segment with its deleted documents. The hits are divided into three classes, which follow each other in
// the result: see classPreferred.
type plan struct {
	*part
	must  node       // the conditions that all hits meet, nil if there are none
	slots []slotPlan // the one with the lowest weight first
	// slotsBeforeMust is set if the first slot has a lower weight than must, and is evaluated before it.
	slotsBeforeMust bool
	preferred       node       // Query.First, which divides exact hits into two classes, or nil
	now             int64      // in microseconds
	bound           *bound     // the position after which the page begins, nil for the first page
	order           *sortOrder // how exact hits are sorted, nil if that is by cost or by ordinal
	needsCosts      bool       // whether the cost of each hit is computed
	// best contains, for each class, the hits that the page may need, at most as many as its limit.
	best [classCount]top
	// exactHits contains all hits of the two exact classes. It is nil unless facets count the hits, or a
	// sortOrder has to see them all before it can choose the best.
	exactHits [classRelaxed]vector
}

// slotPlan is a slot that is resolved against one segment.
type slotPlan struct {
	number int    // the index of the slot in the query
	levels []node // a document has the first level that it matches
}

// weight estimates the work of all levels. It is 0 only if no document satisfies the slot.
func (s *slotPlan) weight() int {
	sum := 0
	for _, level := range s.levels {
		sum += level.weight()
	}

	return sum
}

// newPlan resolves the query against a part, for exact hits or, if f.relaxing is set, for relaxed ones.
func (f *finder) newPlan(p *part) *plan {
	c := compiler{segment: p.segment, normalize: f.normalize}

	pl := &plan{part: p, now: f.q.Now.UnixMicro(), bound: f.after.bound(p.segment)}
	if len(f.q.Must) > 0 {
		pl.must = newAnd(c.all(f.q.Must))
	}

	// The levels of the hits on the page are looked up in the same slots: see finder.hit.
	pl.slots = f.slotPlans(c)
	f.slotsByPart[p] = pl.slots

	pl.slotsBeforeMust = pl.must != nil && len(pl.slots) > 0 && pl.slots[0].weight() < pl.must.weight()
	if f.q.First != nil {
		pl.preferred = c.node(f.q.First)
	}

	// Relaxed hits are always sorted by cost. A query with the limit 0 only counts its hits.
	sortsByCost := f.relaxing || isByCost(f.q.Sort)
	pl.needsCosts = sortsByCost && f.q.Limit > 0

	if f.relaxing {
		pl.best[classRelaxed].limit = f.relaxedLimit()
		return pl
	}

	// Both classes of exact hits may have to fill the page alone.
	pl.best[classPreferred].limit = f.exactLimit()
	pl.best[classExact].limit = f.exactLimit()

	needsOrder := !sortsByCost && !isNewestFirst(f.q.Sort)
	if needsOrder {
		pl.order = newSortOrder(p.segment, f.q)
	}

	if needsOrder || len(f.q.Facets) > 0 {
		for class := range pl.exactHits {
			pl.exactHits[class] = f.classVector(class, p.docs())
		}
	}

	return pl
}

// isEmpty reports whether the weights, which are 0 if nothing matches, show that the part has no hit.
func (pl *plan) isEmpty() bool {
	noneMeetsMust := pl.must != nil && pl.must.weight() == 0
	noneFillsSlot := len(pl.slots) > 0 && pl.slots[0].weight() == 0

	return noneMeetsMust || noneFillsSlot
}

// slotPlans resolves the slots and sorts them by weight, the lowest first, because each slot only looks at the
// documents that the ones before it have left. For exact hits, it leaves out the levels after the last exact
// one.
func (f *finder) slotPlans(c compiler) []slotPlan {
	plans := make([]slotPlan, len(f.q.Slots))
	for i := range f.q.Slots {
		plans[i].number = i

		levels := f.q.Slots[i].Levels
		if !f.relaxing {
			levels = trimRelaxed(levels)
		}

		for j := range levels {
			plans[i].levels = append(plans[i].levels, c.node(&levels[j].Expr))
		}
	}

	slices.SortStableFunc(plans, func(a, b slotPlan) int { return cmp.Compare(a.weight(), b.weight()) })

	return plans
}

// trimRelaxed returns the levels up to the last exact one.
func trimRelaxed(levels []search.SlotLevel) []search.SlotLevel {
	end := len(levels)
	for end > 0 && !levels[end-1].Exact {
		end--
	}

	return levels[:end]
}

// boundOf returns the bound after which the hits of a class begin, or nil if all hits of the class
// follow the cursor. It reports mayFollow as false if no hit of the class follows the cursor.
func (pl *plan) boundOf(class int) (b *bound, mayFollow bool) {
	if pl.bound == nil || class > pl.bound.class {
		return nil, true
	}

	// The hits of a class before that of the cursor were on earlier pages.
	return pl.bound, class == pl.bound.class
}
