package searchindex

import (
	"cmp"
	"slices"
)

// item is a document with its sort key: lower keys come first.
type item struct {
	key uint64
	doc uint32
}

// top keeps the first n items. Items with equal keys are added in the order of
// their ordinals.
type top struct {
	n     int
	items []item
	full  bool
	worst uint64 // the key of the last item once it is full, else the highest
}

func newTop(n int) top { return top{n: n, worst: last} }

func (t *top) add(key uint64, doc uint32) {
	if key >= t.worst && t.full {
		return
	}
	t.items = append(t.items, item{key, doc})
	if len(t.items) >= 2*t.n+16 {
		t.cut()
	}
}

// cut sorts the items and removes those beyond n.
func (t *top) cut() {
	slices.SortFunc(t.items, func(a, b item) int { return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.doc, b.doc)) })
	if len(t.items) < t.n {
		return
	}
	t.items = t.items[:t.n]
	if t.n > 0 {
		t.full, t.worst = true, t.items[t.n-1].key
	}
}

// addByCost adds the documents of the set with their cost as the key. It reads
// no more of them than can be kept. The set is altered.
func (t *top) addByCost(e *evaluation, set vector, costs counters) {
	if t.n == 0 {
		return
	}
	defer e.release(e.mark())
	if t.full {
		equal, greater := e.vector(), e.vector()
		copy(equal, set)
		costs.compare(t.worst, equal, greater)
		set.andNot(equal)
		set.andNot(greater)
	}
	if len(costs) > 0 && set.count() <= 4*t.n {
		for doc := range set.each {
			t.add(costs.get(doc), uint32(e.block*blockDocs)+doc)
		}
		return
	}
	t.descend(e, set, costs, 0, t.n)
}

// descend adds at most n documents of the set, lowest cost first. The bits of
// the cost above costs are given by key.
func (t *top) descend(e *evaluation, set vector, costs counters, key uint64, n int) (added int) {
	if len(costs) == 0 {
		for doc := range set.each {
			if added == n {
				break
			}
			t.add(key, uint32(e.block*blockDocs)+doc)
			added++
		}
		return added
	}
	defer e.release(e.mark())
	half, plane := e.vector(), costs[len(costs)-1]
	copy(half, set)
	half.andNot(plane)
	costs = costs[:len(costs)-1]
	if !half.isEmpty() {
		added = t.descend(e, half, costs, key<<1, n)
	}
	if added == n {
		return added
	}
	copy(half, set)
	half.and(plane)
	if !half.isEmpty() {
		added += t.descend(e, half, costs, key<<1|1, n-added)
	}
	return added
}
