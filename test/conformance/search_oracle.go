package conformance

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/locumhq/locum/modules/listings/search"
)

// searchOracle evaluates queries one document at a time. It is so simple that it can be compared with the
// comments of package search, and defines the results that an index must have.
type searchOracle struct {
	docs      map[string]*search.Document
	deleted   map[string]int64 // the versions of deleted documents, by id
	normalize func(string) string
}

// newSearchOracle returns an oracle without documents.
func newSearchOracle(normalize func(string) string) *searchOracle {
	return &searchOracle{docs: map[string]*search.Document{}, deleted: map[string]int64{}, normalize: normalize}
}

// apply applies changes whose version is higher than the stored one.
func (o *searchOracle) apply(changes []search.Change) {
	for _, c := range changes {
		if d := o.docs[c.ID]; d != nil && d.Version >= c.Version {
			continue
		}

		if v, found := o.deleted[c.ID]; found && v >= c.Version {
			continue
		}

		delete(o.docs, c.ID)
		delete(o.deleted, c.ID)

		if c.Document == nil {
			o.deleted[c.ID] = c.Version
			continue
		}

		d := *c.Document
		d.ID, d.Version = c.ID, c.Version
		o.docs[c.ID] = &d
	}
}

// oracleHit is a hit with the values that it is sorted by.
type oracleHit struct {
	search.Hit
	doc   *search.Document
	first bool // it matches Query.First
	cost  int  // the sum over the slots
}

// oracleResult contains all hits instead of a page.
type oracleResult struct {
	exact, relaxed []oracleHit
	facets         map[string]map[string]int
}

// find returns all hits of a query, in their order, and the counts of its facets.
func (o *searchOracle) find(query *search.Query) oracleResult {
	r := oracleResult{facets: map[string]map[string]int{}}
	for _, prefix := range query.Facets {
		r.facets[prefix] = map[string]int{}
	}

	for _, document := range o.docs {
		h, found := o.hit(query, document)
		switch {
		case !found:
		case h.Exact:
			r.exact = append(r.exact, h)
			countFacets(r.facets, document)
		case query.Relaxed > 0 && (query.MaxCost == 0 || h.cost <= query.MaxCost):
			r.relaxed = append(r.relaxed, h)
		}
	}

	slices.SortFunc(r.exact, func(a, b oracleHit) int {
		if a.first != b.first {
			return ifElse(a.first, -1, 1)
		}

		return cmp.Or(compareBy(query, a, b), newest(a, b))
	})

	slices.SortFunc(r.relaxed, func(a, b oracleHit) int { return cmp.Or(cmp.Compare(a.cost, b.cost), newest(a, b)) })

	return r
}

// ifElse returns a if the condition holds and else b.
func ifElse(condition bool, a, b int) int {
	if condition {
		return a
	}

	return b
}

// countFacets adds a document to the counts of its keys. A key that the document has twice counts once.
func countFacets(facets map[string]map[string]int, d *search.Document) {
	keys := map[string]bool{}
	for _, key := range d.Keys {
		keys[key] = true
	}

	for prefix, counts := range facets {
		for key := range keys {
			if strings.HasPrefix(key, prefix) {
				counts[key]++
			}
		}
	}
}

// hit returns a document as a hit. It is none if it has expired, does not meet a condition, or matches no
// level of a slot.
func (o *searchOracle) hit(query *search.Query, document *search.Document) (h oracleHit, found bool) {
	isExpired := !document.Deadline.IsZero() && document.Deadline.UnixMicro() <= query.Now.UnixMicro()
	if isExpired || !o.all(query.Must, document) {
		return h, false
	}

	h = oracleHit{Hit: search.Hit{ID: document.ID, Version: document.Version, Exact: true, Levels: []int{}}, doc: document}
	for _, s := range query.Slots {
		level := slices.IndexFunc(s.Levels, func(l search.SlotLevel) bool { return o.matches(&l.Expr, document) })
		if level < 0 {
			return h, false
		}

		h.Levels = append(h.Levels, level)
		h.cost += s.Levels[level].Cost
		h.Exact = h.Exact && s.Levels[level].Exact
	}

	h.first = query.First != nil && o.matches(query.First, document)
	if query.From != nil && document.Point != nil {
		miles := document.Point.Miles(*query.From)
		h.Miles = &miles
	}

	return h, true
}

// newest orders hits by date, the newest first, then by id, the largest first.
func newest(a, b oracleHit) int {
	return cmp.Or(cmp.Compare(b.doc.PostedAt.UnixMicro(), a.doc.PostedAt.UnixMicro()), strings.Compare(b.ID, a.ID))
}

// compareBy compares the values that the query sorts by. Hits without a value are last.
func compareBy(query *search.Query, a, b oracleHit) int {
	if query.Sort.By == search.SortRelevance {
		return cmp.Compare(a.cost, b.cost)
	}

	x, hasX := sortValue(query, a)

	y, hasY := sortValue(query, b)
	switch {
	case !hasX || !hasY:
		return ifElse(hasX == hasY, 0, ifElse(hasX, -1, 1))
	case query.Sort.Descending:
		x, y = y, x
	}

	return cmp.Or(cmp.Compare(x.number, y.number), strings.Compare(x.text, y.text))
}

// oracleValue is the value by which hits are sorted, a number or a text.
type oracleValue struct {
	number int64
	text   string
}

// sortValue returns the value of a hit by which the query sorts, and whether it has one. A pay range is sorted
// by its maximum in descending order. Distances are rounded to a thousandth of a mile.
func sortValue(query *search.Query, h oracleHit) (v oracleValue, stated bool) {
	document := h.doc
	switch query.Sort.By {
	case search.SortDate:
		return oracleValue{number: document.PostedAt.UnixMicro()}, true
	case search.SortPay:
		if document.Pay == nil || query.Sort.Currency != "" && document.Pay.Currency != query.Sort.Currency {
			return v, false
		}

		if query.Sort.Descending {
			return oracleValue{number: document.Pay.Max}, true
		}

		return oracleValue{number: document.Pay.Min}, true
	case search.SortDistance:
		if h.Miles == nil {
			return v, false
		}

		return oracleValue{number: int64(math.Round(*h.Miles * 1000))}, true
	case search.SortTitle:
		return oracleValue{text: document.SortTitle}, document.SortTitle != ""
	default:
		return oracleValue{text: document.SortLocation}, document.SortLocation != ""
	}
}

// all reports whether a document matches all expressions.
func (o *searchOracle) all(exprs []search.Expr, d *search.Document) bool {
	return !slices.ContainsFunc(exprs, func(e search.Expr) bool { return !o.matches(&e, d) })
}

// matches reports whether a document matches the expression.
func (o *searchOracle) matches(e *search.Expr, document *search.Document) bool {
	switch e.Op {
	case search.OpAnd:
		return o.all(e.Args, document)
	case search.OpOr:
		return slices.ContainsFunc(e.Args, func(e search.Expr) bool { return o.matches(&e, document) })
	case search.OpNot:
		return !o.matches(&e.Args[0], document)
	case search.OpKey:
		return slices.Contains(document.Keys, e.Text)
	case search.OpWord:
		return slices.ContainsFunc(fields(e, document),
			func(w string) bool { return w != "" && o.normalize(w) == o.normalize(e.Text) })
	case search.OpPrefix:
		return slices.ContainsFunc(fields(e, document), func(w string) bool { return strings.HasPrefix(w, e.Text) })
	case search.OpPhrase:
		return o.containsPhrase(e, fields(e, document))
	case search.OpWithin:
		return document.Point != nil && document.Point.Miles(*e.Point) <= e.Miles
	case search.OpPay:
		return document.Pay != nil && (e.Pay.Currency == "" || e.Pay.Currency == document.Pay.Currency) &&
			document.Pay.Max >= e.Pay.Min && (e.Pay.Max == 0 || document.Pay.Min <= e.Pay.Max)
	case search.OpPosted:
		return document.PostedAt.UnixMicro() >= e.After.UnixMicro()
	default:
		return true
	}
}

// fields returns the words of the fields that the expression searches.
func fields(e *search.Expr, d *search.Document) []string {
	if e.Title {
		return d.Title
	}

	return slices.Concat(d.Title, []string{""}, d.Body) // no phrase extends from the title into the body
}

// containsPhrase reports whether the words contain the phrase, exactly if it is literal and else by their
// normalized forms.
func (o *searchOracle) containsPhrase(e *search.Expr, words []string) bool {
	for i := 0; i+len(e.Words) <= len(words); i++ {
		if slices.EqualFunc(e.Words, words[i:i+len(e.Words)], func(want, word string) bool {
			return word == want || !e.Literal && word != "" && o.normalize(word) == o.normalize(want)
		}) {
			return true
		}
	}

	return false
}

// frequency counts the documents that contain exactly this word.
func (o *searchOracle) frequency(word string) int {
	n := 0
	for _, d := range o.docs {
		if slices.Contains(d.Title, word) || slices.Contains(d.Body, word) {
			n++
		}
	}

	return n
}

// keys counts the documents of the keys that begin with the prefix.
func (o *searchOracle) keys(prefix string) map[string]int {
	counts := map[string]map[string]int{prefix: {}}
	for _, d := range o.docs {
		countFacets(counts, d)
	}

	return counts[prefix]
}

// searchStart is the time around which random documents are posted.
var searchStart = time.Date(2026, 3, 17, 10, 30, 0, 0, time.UTC)
