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

// top keeps the first of the items that are added to it, at most limit. To sort seldom, it collects more
// items for some time and then removes those beyond the limit, which is called a cut.
type top struct {
	limit int
	items []item // the first items and, until the next cut, perhaps others
	full  bool   // whether there were as many items as limit at the last cut
	worst item   // the last item that the last cut has kept, if full is set
}

// compareItems orders items by key and then by ordinal. Ordinals are the positions of documents in a segment,
// where the newest document is the first.
func compareItems(a, b item) int {
	if a.key != b.key {
		return cmp.Compare(a.key, b.key)
	}

	return cmp.Compare(a.doc, b.doc)
}

// add adds an item unless it is known to be beyond the limit. It sorts the items only when they are about twice
// as many as the limit, so that the cost of sorting is spread over them.
func (t *top) add(key uint64, doc uint32) {
	it := item{key, doc}
	if t.full && compareItems(it, t.worst) > 0 {
		return
	}

	t.items = append(t.items, it)

	const slack = 16 // avoids sorting after each item when the limit is small
	if len(t.items) >= 2*t.limit+slack {
		t.cut()
	}
}

// cut sorts the items and removes those beyond the limit.
func (t *top) cut() {
	if !slices.IsSortedFunc(t.items, compareItems) {
		slices.SortFunc(t.items, compareItems)
	}

	if len(t.items) < t.limit {
		return
	}

	t.items = t.items[:t.limit]
	if t.limit > 0 {
		t.full, t.worst = true, t.items[t.limit-1]
	}
}

// addByCost adds the documents of the set, which are in the block of e, with their cost as the key. The cost of
// a document is higher the less it fits the query. The blocks of a segment have to be added in ascending order.
// addByCost changes the set.
//
// costs has a set of documents for each bit of the cost, the lowest bit first. It is empty if all costs are 0.
// addByCost splits the set of documents by these bits, and so finds the cheapest ones without reading the cost of
// each document.
func (t *top) addByCost(e *evaluation, set vector, costs counters) {
	if len(t.items) >= t.limit {
		t.cut()
	}

	// Without costs, all keys are 0 and the ordinals decide. The documents of this block come after those of earlier
	// blocks. So none of them is needed once the limit is reached.
	if t.limit == 0 || t.full && len(costs) == 0 {
		return
	}

	defer e.release(e.mark())

	// Once the limit is reached, only documents that cost less than the worst item are needed. A document with the
	// same cost comes after the worst item, because its ordinal is higher.
	if t.full {
		equal, greater := e.vector(), e.vector()
		copy(equal, set)
		costs.compare(t.worst.key, equal, greater)
		set.andNot(equal)
		set.andNot(greater)
	}

	// Reading the costs of a few documents is faster than splitting the set.
	few := 4 * t.limit
	if len(costs) > 0 && set.count() <= few {
		for doc := range set.each {
			t.add(costs.get(doc), uint32(e.block*blockDocs)+doc)
		}

		return
	}

	const noHigherBits = 0 // costs has all bits
	t.addCheapest(e, set, costs, noHigherBits, t.limit)
}

// addCheapest adds at most n documents of the set, lowest cost first, and returns their number. It
// splits the set by the highest bit in costs: documents without the bit cost less. It then does the same with
// each half and the next bit. key has the higher bits, which are equal for all documents of the set.
func (t *top) addCheapest(e *evaluation, set vector, costs counters, key uint64, n int) (added int) {
	if len(costs) == 0 { // all bits are known: the documents have the same cost
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

	highest := len(costs) - 1
	hasBit, lowerBits := costs[highest], costs[:highest]

	half := e.vector()
	copy(half, set)
	half.andNot(hasBit)

	if !half.isEmpty() {
		added = t.addCheapest(e, half, lowerBits, key<<1, n)
	}

	if added == n {
		return added
	}

	copy(half, set)
	half.and(hasBit)

	if !half.isEmpty() {
		added += t.addCheapest(e, half, lowerBits, key<<1|1, n-added)
	}

	return added
}
