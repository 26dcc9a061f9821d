package conformance

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/locumhq/locum/modules/listings/search"
)

// singular is the normalization of the suite. It removes the s at the end, so that some of the random words have the
// same normalized form.
func singular(word string) string { return strings.TrimSuffix(word, "s") }

// randomSearch creates documents and queries from few words, keys, times and
// places, so that most queries have results. Equal seeds create equal data.
type randomSearch struct {
	*rand.Rand
	versions map[string]int64 // the highest version of each document so far
}

// newRandomSearch returns a generator with the seed.
func newRandomSearch(seed uint64) *randomSearch {
	return &randomSearch{rand.New(rand.NewPCG(seed, 1)), map[string]int64{}}
}

// chance returns true in the given percentage of calls.
func (r *randomSearch) chance(percent int) bool { return r.IntN(100) < percent }

// zipf returns small numbers below n more often than large ones.
func (r *randomSearch) zipf(n int) int {
	return int(math.Pow(float64(n), r.Float64())) - 1
}

// word returns one of about 200 words, of which few are frequent: two letters, with an s in a third of
// the cases.
func (r *randomSearch) word() string {
	return string(rune('a'+r.zipf(20))) + string(rune('a'+r.zipf(6))) + []string{"", "", "s"}[r.IntN(3)]
}

// words returns n words. A tenth of them are empty: an empty word separates fields, so that no phrase extends over it.
func (r *randomSearch) words(n int) []string {
	words := make([]string, n)
	for i := range words {
		if !r.chance(10) {
			words[i] = r.word()
		}
	}

	return words
}

// key returns one of 33 keys, of three prefixes.
func (r *randomSearch) key() string {
	return fmt.Sprintf("%s:%d", []string{"role", "region", "shift"}[r.IntN(3)], r.zipf(12))
}

// time returns a full hour around searchStart, so that many times are equal.
func (r *randomSearch) time() time.Time {
	return searchStart.Add(time.Duration(r.IntN(300)-200) * time.Hour)
}

// point returns one of about 300 places in England and Wales, of which those in the south are more frequent.
func (r *randomSearch) point() search.Point {
	return search.Point{Lat: 50 + float64(r.zipf(40))/8, Lon: -3 + float64(r.IntN(8))/2}
}

// currency returns one of three currencies, of which the euro is the most frequent.
func (r *randomSearch) currency() string { return []string{"EUR", "GBP", "USD"}[r.zipf(3)] }

// document returns a document in which each optional value may be missing.
func (r *randomSearch) document() *search.Document {
	document := &search.Document{PostedAt: r.time(), Title: r.words(r.IntN(5)), Body: r.words(r.IntN(25))}
	for range r.IntN(6) {
		document.Keys = append(document.Keys, r.key())
	}

	if r.chance(50) {
		document.Deadline = r.time().Add(100 * time.Hour)
	}

	if r.chance(80) {
		document.SortTitle, document.SortLocation = r.word(), r.word()
	}

	if r.chance(70) {
		low := int64(r.IntN(50))
		document.Pay = &search.PayRange{Min: low, Max: low + int64(r.IntN(20)), Currency: r.currency()}
	}

	if r.chance(80) {
		point := r.point()
		document.Point = &point
	}

	return document
}

// changes returns count changes that create, replace and delete documents. The number of different ids is at most
// maxIDs. Some changes have a version that is already stored, or an older one.
func (r *randomSearch) changes(count, maxIDs int) []search.Change {
	const multiplier = 2654435761 // 2³² divided by the golden ratio (Knuth's multiplicative hash)

	changes := make([]search.Change, count)
	for i := range changes {
		// The multiplication scatters the ids, so that their order is not that of the numbers.
		// The upper 24 bits of the product are the id.
		id := fmt.Sprintf("%06x", (uint32(r.IntN(maxIDs))*multiplier)>>8)

		version := r.versions[id] + 1
		if r.chance(10) {
			version -= int64(r.IntN(3)) // next, stored or older
		}

		r.versions[id] = max(r.versions[id], version)

		changes[i] = search.Change{ID: id, Version: version}
		if !r.chance(20) {
			changes[i].Document = r.document()
		}
	}

	return changes
}

// exprs returns n expressions of at most the given depth.
func (r *randomSearch) exprs(n, depth int) []search.Expr {
	exprs := make([]search.Expr, n)
	for i := range exprs {
		exprs[i] = r.expr(depth)
	}

	return exprs
}

// expr returns an expression in which others are nested at most depth times.
func (r *randomSearch) expr(depth int) search.Expr {
	if depth > 0 && r.chance(50) {
		switch r.IntN(4) {
		case 0:
			return search.And(r.exprs(r.IntN(4), depth-1)...)
		case 1:
			return search.Not(r.expr(depth - 1))
		default:
			return search.Or(r.exprs(r.IntN(5), depth-1)...)
		}
	}

	switch r.IntN(14) {
	case 0:
		return search.All()
	case 1, 2, 3:
		return search.HasKey(r.key())
	case 4, 5:
		return search.HasWord(r.word())
	case 6:
		return search.HasTitleWord(r.word())
	case 7:
		return search.HasPrefix(r.word()[:1+r.IntN(2)])
	case 8:
		return search.HasTitlePrefix(r.word()[:1])
	case 9, 10:
		return r.phrase()
	case 11:
		return search.IsWithin(r.point(), float64(r.IntN(120)))
	case 12:
		return r.pay()
	default:
		return search.PostedSince(r.time())
	}
}

// phrase returns a phrase of one to three words.
func (r *randomSearch) phrase() search.Expr {
	expr := search.HasPhrase()
	for range 1 + r.IntN(3) {
		expr.Words = append(expr.Words, r.word())
	}

	expr.Literal, expr.Title = r.chance(30), r.chance(30)

	return expr
}

// pay returns a condition on pay, with or without a maximum and a currency.
func (r *randomSearch) pay() search.Expr {
	pay := search.PayRange{Min: int64(r.IntN(60))}
	if r.chance(50) {
		pay.Max = pay.Min + int64(r.IntN(20))
	}

	if r.chance(50) {
		pay.Currency = r.currency()
	}

	return search.PaysBetween(pay)
}

// query returns a valid query that uses any of the fields.
func (r *randomSearch) query() search.Query {
	query := search.Query{
		Now:     searchStart.Add(time.Duration(r.IntN(200)-100) * time.Hour), // some documents have expired by then
		Must:    r.exprs(r.zipf(4), 3),
		Relaxed: r.IntN(3) * 6, // at most 0, 6 or 12 hits that satisfy only a part of the query
		Offset:  r.zipf(30),
		Limit:   r.IntN(25),
	}
	for range r.zipf(5) {
		query.Slots = append(query.Slots, r.slot())
	}

	if r.chance(50) {
		from := r.point()
		query.From = &from
	}

	if r.chance(60) {
		query.Sort = r.sort(query.From != nil)
	}

	if r.chance(30) {
		first := r.expr(2)
		query.First = &first
	}

	if r.chance(50) {
		query.MaxCost = r.IntN(40)
	}

	if r.chance(50) {
		// Prefixes with many, some and no keys.
		query.Facets = []string{"role:", "s", "nothing:"}[:1+r.IntN(3)]
	}

	return query
}

// slot returns a slot whose first level is exact. In half of the cases every document matches its last one.
func (r *randomSearch) slot() search.Slot {
	var slot search.Slot
	for i := range 1 + r.IntN(4) {
		slot.Levels = append(slot.Levels, search.SlotLevel{Expr: r.expr(2), Cost: r.IntN(20), Exact: i == 0 || r.chance(40)})
	}

	if r.chance(50) {
		slot.Levels = append(slot.Levels, search.SlotLevel{Expr: search.All(), Cost: 10 + r.IntN(10)})
	}

	return slot
}

// sort returns an order other than relevance. An order by distance needs a point.
func (r *randomSearch) sort(hasPoint bool) search.Sort {
	keys := []search.SortKey{search.SortDate, search.SortPay, search.SortTitle, search.SortLocation}
	if hasPoint {
		keys = append(keys, search.SortDistance)
	}

	order := search.Sort{By: keys[r.IntN(len(keys))], Descending: r.chance(50)}
	if order.By == search.SortPay && r.chance(50) {
		order.Currency = r.currency()
	}

	return order
}
