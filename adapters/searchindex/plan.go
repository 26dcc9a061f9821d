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
	must  node
	slots []slotPlan
	// slotsFirst is set if the first slot has a lower weight than must.
	slotsFirst bool
	first      node
	now        int64
	bound      *bound
	order      *sortOrder // nil if hits are sorted by cost
	useCosts   bool
	best       [classes]top
	// found contains the exact hits by class. It is only used for facets and orders.
	found [classRelaxed]vector
}

// slotPlan is a slot that is resolved against one segment. number is its index in the query.
type slotPlan struct {
	number int
	levels []node
}

// weight estimates the work of all levels. It is 0 only if no document satisfies the slot.
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

	pl.slotsFirst = pl.must != nil && len(pl.slots) > 0 && pl.slots[0].weight() < pl.must.weight()
	if f.q.First != nil {
		pl.first = c.node(f.q.First)
	}

	sorted, useCosts := sortedByCost(f.q.Sort)

	pl.useCosts = (useCosts || f.relaxing) && f.q.Limit > 0
	if f.relaxing {
		pl.best[classRelaxed].n = f.freePlaces()
		return pl
	}

	if !sorted {
		pl.order = newSortOrder(p.segment, f.q)
	}

	pl.best[classFirst].n, pl.best[classExact].n = f.wanted(), f.wanted()
	if !sorted || len(f.q.Facets) > 0 {
		for class := range pl.found {
			pl.found[class] = f.wideVector(class, p.docs())
		}
	}

	return pl
}

// isEmpty reports whether the segment certainly has no hit.
func (pl *plan) isEmpty() bool {
	return pl.must != nil && pl.must.weight() == 0 || len(pl.slots) > 0 && pl.slots[0].weight() == 0
}

// slotPlans resolves the slots. For exact hits, levels after the last exact one are not needed.
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
// follow the cursor. It reports false if none does.
func (pl *plan) boundOf(class int) (*bound, bool) {
	if pl.bound == nil || class > pl.bound.class {
		return nil, true
	}

	return pl.bound, class == pl.bound.class
}
