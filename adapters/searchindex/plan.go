package searchindex

import (
	"cmp"
	"slices"

	"github.com/locumhq/locum/modules/listings/search"
)

// canRelax reports whether the query has levels that are not exact.
func canRelax(q *search.Query) bool {
	return slices.ContainsFunc(q.Slots, func(s search.Slot) bool {
		return slices.ContainsFunc(s.Levels, func(l search.SlotLevel) bool { return !l.Exact })
	})
}

// plan is a query that is resolved against one segment.
type plan struct {
	*part
	must  node       // nil without conditions
	slots []slotPlan // sorted by weight
	// slotsFirst is set if the first slot has a lower weight than must.
	slotsFirst bool
	first      node       // Query.First, or nil
	now        int64      // in microseconds
	bound      *bound     // nil for the first page
	order      *sortOrder // nil if hits are sorted by cost
	useCosts   bool
	best       [classes]top // the best hits by class
	// found contains the exact hits by class. It is only used for facets and orders.
	found [classRelaxed]vector
}

// slotPlan is a slot that is resolved against one segment.
type slotPlan struct {
	number int // the index of the slot in the query
	levels []node
}

// weight estimates the work of all levels. It is 0 only if no document satisfies the slot.
func (s *slotPlan) weight() int {
	sum := 0
	for _, level := range s.levels {
		sum += level.weight()
	}

	return sum
}

// newPlan resolves the query against a segment, for exact hits or, if f.relaxing is set, for relaxed ones.
func (f *finder) newPlan(p *part) *plan {
	c := compiler{s: p.segment, normalize: f.normalize}

	pl := &plan{part: p, now: f.q.Now.UnixMicro(), bound: f.after.bound(p.segment)}
	if len(f.q.Must) > 0 {
		pl.must = newAnd(c.all(f.q.Must))
	}

	pl.slots = f.slotPlans(c)
	f.slots[p] = pl.slots
	slices.SortStableFunc(pl.slots, func(a, b slotPlan) int { return cmp.Compare(a.weight(), b.weight()) })

	pl.slotsFirst = pl.must != nil && len(pl.slots) > 0 && pl.slots[0].weight() < pl.must.weight()
	if f.q.First != nil {
		pl.first = c.node(f.q.First)
	}

	isSortedByOrdinal, useCosts := sortedByCost(f.q.Sort)

	pl.useCosts = (useCosts || f.relaxing) && f.q.Limit > 0
	if f.relaxing {
		pl.best[classRelaxed].n = f.freePlaces()
		return pl
	}

	if !isSortedByOrdinal {
		pl.order = newSortOrder(p.segment, f.q)
	}

	pl.best[classFirst].n, pl.best[classExact].n = f.wanted(), f.wanted()
	if !isSortedByOrdinal || len(f.q.Facets) > 0 {
		for class := range pl.found {
			pl.found[class] = f.wideVector(class, p.docs())
		}
	}

	return pl
}

// isEmpty reports whether the segment certainly has no hit.
func (pl *plan) isEmpty() bool {
	noneMeetsMust := pl.must != nil && pl.must.weight() == 0
	noneFillsSlot := len(pl.slots) > 0 && pl.slots[0].weight() == 0

	return noneMeetsMust || noneFillsSlot
}

// slotPlans resolves the slots in the order of the query. For exact hits, the levels after the last
// exact one are left out.
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

// boundOf returns the bound after which the hits of a class begin, or nil if all hits of the class
// follow the cursor. It reports mayFollow as false if no hit of the class follows the cursor.
func (pl *plan) boundOf(class int) (b *bound, mayFollow bool) {
	if pl.bound == nil || class > pl.bound.class {
		return nil, true
	}

	return pl.bound, class == pl.bound.class
}
