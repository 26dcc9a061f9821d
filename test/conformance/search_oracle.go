package conformance

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/locumhq/locum/modules/listings/search"
)

// A slot of a query is one of its requirements, such as a role. It has levels: expressions that meet the requirement
// more or less well. The level of a document is the first one that it matches. Levels have costs, by which hits are
// sorted; a hit is exact if all of its levels are, and relaxed otherwise.

// searchOracle evaluates queries one document at a time. It is so simple that it can be compared with the
// comments of package search, and defines the results that an index must have.
type searchOracle struct {
	docs      map[string]*search.Document // by id
	deleted   map[string]int64            // the versions of deleted documents, by id
	normalize func(string) string         // of words
}

// newSearchOracle returns an oracle without documents.
func newSearchOracle(normalize func(string) string) *searchOracle {
	return &searchOracle{docs: map[string]*search.Document{}, deleted: map[string]int64{}, normalize: normalize}
}

// apply applies changes whose version is higher than the stored one. A change without a document deletes one.
func (o *searchOracle) apply(changes []search.Change) {
	for _, change := range changes {
		if stored := o.docs[change.ID]; stored != nil && stored.Version >= change.Version {
			continue
		}

		if version, isDeleted := o.deleted[change.ID]; isDeleted && version >= change.Version {
			continue
		}

		delete(o.docs, change.ID)
		delete(o.deleted, change.ID)

		if change.Document == nil {
			o.deleted[change.ID] = change.Version
			continue
		}

		document := *change.Document
		document.ID, document.Version = change.ID, change.Version
		o.docs[change.ID] = &document
	}
}

// oracleHit is a hit with the values that it is sorted by.
type oracleHit struct {
	search.Hit
	doc   *search.Document
	first bool // whether the document matches Query.First, and so precedes all others
	cost  int  // the sum of the costs of its levels
}

// oracleResult contains all hits instead of a page.
type oracleResult struct {
	exact, relaxed []oracleHit
	facets         map[string]map[string]int
}

// find returns all hits of a query, in their order, and the counts of its facets.
func (o *searchOracle) find(query *search.Query) oracleResult {
	result := oracleResult{facets: map[string]map[string]int{}}
	for _, prefix := range query.Facets {
		result.facets[prefix] = map[string]int{}
	}

	for _, document := range o.docs {
		hit, isHit := o.evaluate(query, document)
		isCheap := query.MaxCost == 0 || hit.cost <= query.MaxCost // 0 is no limit

		switch {
		case !isHit: // the document is left out
		case hit.Exact:
			result.exact = append(result.exact, hit)
			countFacets(result.facets, document)
		case query.Relaxed > 0 && isCheap:
			result.relaxed = append(result.relaxed, hit)
		}
	}

	// Exact hits are in the order of the query, and relaxed ones by their costs whatever that order is.
	slices.SortFunc(result.exact, func(a, b oracleHit) int {
		if a.first != b.first {
			return ifElse(a.first, -1, 1)
		}

		return cmp.Or(compareBy(query, a, b), compareByDate(a, b))
	})

	slices.SortFunc(result.relaxed, func(a, b oracleHit) int {
		return cmp.Or(cmp.Compare(a.cost, b.cost), compareByDate(a, b))
	})

	return result
}

// ifElse returns a if the condition holds and else b.
func ifElse(condition bool, a, b int) int {
	if condition {
		return a
	}

	return b
}

// countFacets adds a document to the counts of its keys. A facet has the counts of the keys with a prefix, such as the
// contract types. A key that the document has twice counts once.
func countFacets(facets map[string]map[string]int, document *search.Document) {
	keys := map[string]bool{}
	for _, key := range document.Keys {
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

// evaluate returns the document as a hit of the query. It is none if it has expired, does not meet a condition, or
// matches no level of a slot.
func (o *searchOracle) evaluate(query *search.Query, document *search.Document) (hit oracleHit, isHit bool) {
	isExpired := !document.Deadline.IsZero() && document.Deadline.UnixMicro() <= query.Now.UnixMicro()
	if isExpired || !o.matchesAll(query.Must, document) {
		return hit, false
	}

	hit = oracleHit{
		Hit: search.Hit{ID: document.ID, Version: document.Version, Exact: true, Levels: []int{}},
		doc: document,
	}
	for _, slot := range query.Slots {
		isMatch := func(level search.SlotLevel) bool { return o.matches(&level.Expr, document) }

		first := slices.IndexFunc(slot.Levels, isMatch)
		if first < 0 {
			return hit, false
		}

		hit.Levels = append(hit.Levels, first)
		hit.cost += slot.Levels[first].Cost
		hit.Exact = hit.Exact && slot.Levels[first].Exact
	}

	hit.first = query.First != nil && o.matches(query.First, document)
	if query.From != nil && document.Point != nil {
		miles := document.Point.Miles(*query.From)
		hit.Miles = &miles
	}

	return hit, true
}

// compareByDate orders hits by date, the newest first, then by id, the largest first.
func compareByDate(a, b oracleHit) int {
	return cmp.Or(cmp.Compare(b.doc.PostedAt.UnixMicro(), a.doc.PostedAt.UnixMicro()), strings.Compare(b.ID, a.ID))
}

// compareBy compares the values that the query sorts by. Hits without a value are last.
func compareBy(query *search.Query, a, b oracleHit) int {
	if query.Sort.By == search.SortRelevance {
		return cmp.Compare(a.cost, b.cost)
	}

	valueA, hasValueA := sortValue(query, a)
	valueB, hasValueB := sortValue(query, b)

	switch {
	case !hasValueA && !hasValueB:
		return 0
	case !hasValueA || !hasValueB:
		return ifElse(hasValueA, -1, 1)
	case query.Sort.Descending:
		valueA, valueB = valueB, valueA
	}

	return cmp.Or(cmp.Compare(valueA.number, valueB.number), strings.Compare(valueA.text, valueB.text))
}

// oracleValue is the value by which hits are sorted, a number or a text.
type oracleValue struct {
	number int64
	text   string
}

// sortValue returns the value of a hit by which the query sorts, and whether it has one. A pay range is sorted
// by its maximum in descending order, and by its minimum in ascending order. Pay in another currency than that of
// the query has no value. Distances are rounded to a thousandth of a mile.
func sortValue(query *search.Query, hit oracleHit) (value oracleValue, hasValue bool) {
	document := hit.doc
	switch query.Sort.By {
	case search.SortDate:
		return oracleValue{number: document.PostedAt.UnixMicro()}, true
	case search.SortPay:
		if document.Pay == nil || query.Sort.Currency != "" && document.Pay.Currency != query.Sort.Currency {
			return value, false
		}

		if query.Sort.Descending {
			return oracleValue{number: document.Pay.Max}, true
		}

		return oracleValue{number: document.Pay.Min}, true
	case search.SortDistance:
		if hit.Miles == nil {
			return value, false
		}

		return oracleValue{number: int64(math.Round(*hit.Miles * 1000))}, true
	case search.SortTitle:
		return oracleValue{text: document.SortTitle}, document.SortTitle != ""
	default:
		return oracleValue{text: document.SortLocation}, document.SortLocation != ""
	}
}

// matchesAll reports whether a document matches all expressions.
func (o *searchOracle) matchesAll(exprs []search.Expr, document *search.Document) bool {
	return !slices.ContainsFunc(exprs, func(expr search.Expr) bool { return !o.matches(&expr, document) })
}

// matches reports whether a document matches the expression.
func (o *searchOracle) matches(expr *search.Expr, document *search.Document) bool {
	switch expr.Op {
	case search.OpAnd:
		return o.matchesAll(expr.Args, document)
	case search.OpOr:
		return slices.ContainsFunc(expr.Args, func(alternative search.Expr) bool { return o.matches(&alternative, document) })
	case search.OpNot:
		return !o.matches(&expr.Args[0], document)
	case search.OpKey:
		return slices.Contains(document.Keys, expr.Text)
	case search.OpWord:
		return slices.ContainsFunc(searchedWords(expr, document),
			func(word string) bool { return word != "" && o.normalize(word) == o.normalize(expr.Text) })
	case search.OpPrefix:
		return slices.ContainsFunc(searchedWords(expr, document),
			func(word string) bool { return strings.HasPrefix(word, expr.Text) })
	case search.OpPhrase:
		return o.containsPhrase(expr, searchedWords(expr, document))
	case search.OpWithin:
		return document.Point != nil && document.Point.Miles(*expr.Point) <= expr.Miles
	case search.OpPay:
		return document.Pay != nil && paysOverlap(expr.Pay, document.Pay)
	case search.OpPosted:
		return document.PostedAt.UnixMicro() >= expr.After.UnixMicro()
	default:
		return true
	}
}

// paysOverlap reports whether a part of the pay range of a document is in the wanted range. The wanted range may be of
// any currency, and have no maximum (0).
func paysOverlap(wanted, pay *search.PayRange) bool {
	isOfCurrency := wanted.Currency == "" || wanted.Currency == pay.Currency

	return isOfCurrency && pay.Max >= wanted.Min && (wanted.Max == 0 || pay.Min <= wanted.Max)
}

// searchedWords returns the words of the fields that the expression searches: the title alone, or the title and the
// body. An empty word is between them, because no phrase extends from the title into the body.
func searchedWords(expr *search.Expr, document *search.Document) []string {
	if expr.Title {
		return document.Title
	}

	return slices.Concat(document.Title, []string{""}, document.Body)
}

// containsPhrase reports whether the words contain the phrase, exactly if it is literal and else by their
// normalized forms.
func (o *searchOracle) containsPhrase(expr *search.Expr, words []string) bool {
	isEqual := func(want, word string) bool {
		return word == want || !expr.Literal && word != "" && o.normalize(word) == o.normalize(want)
	}

	for start := 0; start+len(expr.Words) <= len(words); start++ {
		if slices.EqualFunc(expr.Words, words[start:start+len(expr.Words)], isEqual) {
			return true
		}
	}

	return false
}

// frequency returns the number of documents that contain exactly this word.
func (o *searchOracle) frequency(word string) int {
	count := 0
	for _, document := range o.docs {
		if slices.Contains(document.Title, word) || slices.Contains(document.Body, word) {
			count++
		}
	}

	return count
}

// countKeys returns the number of documents for each key that begins with the prefix.
func (o *searchOracle) countKeys(prefix string) map[string]int {
	counts := map[string]map[string]int{prefix: {}}
	for _, document := range o.docs {
		countFacets(counts, document)
	}

	return counts[prefix]
}

// searchStart is the time around which random documents are posted.
var searchStart = time.Date(2026, 3, 17, 10, 30, 0, 0, time.UTC)
