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

// top keeps the first n of the items that are added to it.
type top struct {
	n     int
	items []item // at least the first n items, which cut sorts and reduces to n
	full  bool   // whether n items were known at the last cut
	worst item   // the last of these n items, if full is set
}

// compareItems orders items by key and then by ordinal, because ordinals follow the date.
func compareItems(a, b item) int {
	if a.key != b.key {
		return cmp.Compare(a.key, b.key)
	}

	return cmp.Compare(a.doc, b.doc)
}

// add adds an item unless n better ones are known. It sorts only after about n more items were
// added, so that the cost of sorting is spread over them.
func (t *top) add(key uint64, doc uint32) {
	it := item{key, doc}
	if t.full && compareItems(it, t.worst) > 0 {
		return
	}

	t.items = append(t.items, it)

	const slack = 16 // avoids sorting after each item when n is small
	if len(t.items) >= 2*t.n+slack {
		t.cut()
	}
}

// cut sorts the items and removes those beyond n.
func (t *top) cut() {
	if !slices.IsSortedFunc(t.items, compareItems) {
		slices.SortFunc(t.items, compareItems)
	}

	if len(t.items) < t.n {
		return
	}

	t.items = t.items[:t.n]
	if t.n > 0 {
		t.full, t.worst = true, t.items[t.n-1]
	}
}

// addByCost adds the documents of the set, which are in the block of e, with their cost as the key. It
// changes the set. costs has a set of documents for each bit of the cost, the lowest bit first. Splitting
// the set by these bits finds the cheapest documents without reading the cost of each.
//
// The blocks of a segment have to be added in ascending order.
func (t *top) addByCost(e *evaluation, set vector, costs counters) {
	if len(t.items) >= t.n {
		t.cut()
	}

	// Without costs, the documents of this block follow the n documents of earlier blocks.
	if t.n == 0 || t.full && len(costs) == 0 {
		return
	}

	defer e.release(e.mark())

	// Only documents that cost less than the worst item can still be added: documents with an equal
	// cost come after it, because their ordinals are higher.
	if t.full {
		equal, greater := e.vector(), e.vector()
		copy(equal, set)
		costs.compare(t.worst.key, equal, greater)
		set.andNot(equal)
		set.andNot(greater)
	}

	// Reading the costs of a few documents is faster than splitting the set.
	few := 4 * t.n
	if len(costs) > 0 && set.count() <= few {
		for doc := range set.each {
			t.add(costs.get(doc), uint32(e.block*blockDocs)+doc)
		}

		return
	}

	t.descend(e, set, costs, 0, t.n)
}

// descend adds at most n documents of the set, lowest cost first, and returns their number. It
// splits the set by the highest bit in costs: documents without the bit cost less. key has the
// higher bits, which are equal for all documents of the set.
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
