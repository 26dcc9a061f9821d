package search

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math"
	"math/bits"
	"time"
)

// An Index stores adverts as documents. A Query finds them by conditions, which are expressions on the keys and words of a
// document: a key is a concept or filter value that the document has, such as "role.head:nurse", and a concept is an
// entry of the vocabulary.
//
// A query consists of slots, its parts, such as the role and the place. Each slot has levels, the ways in which a
// document can satisfy it, each with a cost, which is higher the less the document fits. A hit is exact if all of its
// levels are exact, and else relaxed: similar to what the user wants.

// Errors of an Index.
var (
	// ErrInvalidQuery is wrapped by the errors of Query.Validate.
	ErrInvalidQuery = errors.New("invalid search query")
	// ErrInvalidCursor is returned for a cursor that is malformed or belongs to
	// another order.
	ErrInvalidCursor = errors.New("invalid search cursor")
	// ErrIndexClosed is returned by an index after Close.
	ErrIndexClosed = errors.New("search index is closed")
)

// Index finds documents. All methods are safe for concurrent use.
type Index interface {
	// Find returns one page of the documents that match the query. It sees each
	// batch of Apply entirely or not at all.
	Find(ctx context.Context, q Query) (Result, error)
	// Apply makes the changes visible and stores the position with them. It is
	// idempotent: a change is ignored unless its version is higher than that of
	// the stored document, or of a document deleted recently.
	Apply(ctx context.Context, changes []Change, position string) error
	// Position returns the position that the last Apply stored, empty for a new
	// index. After a crash it may be an earlier one, whose changes are then
	// applied again.
	Position() string
	// Frequency returns the number of documents that contain exactly this word, without
	// normalization. It may count documents that were deleted recently.
	Frequency(word string) int
	// Words iterates over the words that begin with the prefix, in alphabetical
	// order, with their frequency.
	Words(prefix string) iter.Seq2[string, int]
	// Keys iterates over the keys that begin with the prefix, in alphabetical
	// order, with the number of their documents. Documents whose deadline has
	// passed are counted, deleted ones are not.
	Keys(prefix string) iter.Seq2[string, int]
	// Close releases the index. Calls of Find that are running still return their
	// result.
	Close() error
	// Discard closes the index and deletes what it has stored.
	Discard() error
}

// Matcher evaluates many queries on a few documents, such as saved searches on
// new listings.
type Matcher interface {
	// AppendMatches appends the ids of the documents that match the query
	// exactly, in no particular order. It ignores the order, the page and the
	// facets of the query, which has to be valid.
	AppendMatches(ids []string, q *Query) []string
}

// Change creates, replaces or deletes a document. Its ID and Version are used; those in
// Document are ignored.
type Change struct {
	ID       string
	Version  int64     // higher for each later change of the document
	Document *Document // nil deletes the document
}

// Document contains the fields of a listing that the index stores. Times are compared in
// microseconds.
type Document struct {
	ID       string
	Version  int64
	PostedAt time.Time
	Deadline time.Time // when the document stops being found; zero for never
	// Keys are the concepts and filter values of the document. The index compares them
	// byte by byte.
	Keys []string
	// Title and Body are words in their order, in lower case and without accents. An empty
	// word separates fields: no phrase extends across it.
	Title, Body []string
	// SortTitle and SortLocation are what SortKey's title and location compare.
	SortTitle, SortLocation string
	Pay                     *PayRange // nil if not stated
	Point                   *Point    // nil if unknown
}

// MaxPay is the highest amount of a PayRange. Sums and differences of amounts do not overflow.
const MaxPay = math.MaxInt64 / 2

// PayRange is the pay for a year in minor units, such as pence. Both ends are included. Amounts
// are from 0 to MaxPay.
type PayRange struct {
	Min      int64  `json:"min"`
	Max      int64  `json:"max"`
	Currency string `json:"currency"`
}

// Point is a position on Earth in degrees of latitude and longitude.
type Point struct {
	Lat float64 `json:"lat"`
	Lon float64 `json:"lon"`
}

// earthRadiusMiles is the mean radius of the Earth.
const earthRadiusMiles = 3958.7613

// Miles returns the great-circle distance to q by the haversine formula.
func (p Point) Miles(q Point) float64 {
	const degree = math.Pi / 180 // in radians

	sinHalfLat := math.Sin((q.Lat - p.Lat) * degree / 2)
	sinHalfLon := math.Sin((q.Lon - p.Lon) * degree / 2)
	haversine := sinHalfLat*sinHalfLat + math.Cos(p.Lat*degree)*math.Cos(q.Lat*degree)*sinHalfLon*sinHalfLon
	haversine = min(1, haversine) // rounding errors may exceed 1, of which Asin is undefined

	return 2 * earthRadiusMiles * math.Asin(math.Sqrt(haversine))
}

// Op is the operation of an Expr, which decides what documents the expression matches.
type Op string

// The operations. The comments name the fields of Expr that each of them uses.
const (
	OpAll    Op = "all"    // none; it matches every document
	OpAnd    Op = "and"    // Args
	OpOr     Op = "or"     // Args
	OpNot    Op = "not"    // Args, with one expression
	OpKey    Op = "key"    // Text
	OpWord   Op = "word"   // Text, Title
	OpPrefix Op = "prefix" // Text, Title
	OpPhrase Op = "phrase" // Words, Title, Literal
	OpWithin Op = "within" // Point, Miles
	OpPay    Op = "pay"    // Pay
	OpPosted Op = "posted" // After
)

// Expr is a condition on documents. It is built by the functions below, which describe what
// it matches, and can be stored as JSON.
type Expr struct {
	Op      Op         `json:"op"`
	Args    []Expr     `json:"args,omitempty"`
	Text    string     `json:"text,omitempty"`
	Words   []string   `json:"words,omitempty"`
	Title   bool       `json:"title,omitempty"`
	Literal bool       `json:"literal,omitempty"`
	Point   *Point     `json:"point,omitempty"`
	Miles   float64    `json:"miles,omitempty"`
	Pay     *PayRange  `json:"pay,omitempty"`
	After   *time.Time `json:"after,omitempty"`
}

// All matches every document.
func All() Expr { return Expr{Op: OpAll} }

// And matches the documents that match all args; without args, every document.
func And(args ...Expr) Expr { return Expr{Op: OpAnd, Args: args} }

// Or matches the documents that match any of args; without args, none.
func Or(args ...Expr) Expr { return Expr{Op: OpOr, Args: args} }

// Not matches the documents that do not match arg.
func Not(arg Expr) Expr { return Expr{Op: OpNot, Args: []Expr{arg}} }

// HasKey matches the documents that have the key.
func HasKey(key string) Expr { return Expr{Op: OpKey, Text: key} }

// HasWord matches the documents with the word. Both are compared in the form that Normalize
// returns, so that the singular matches the plural.
func HasWord(word string) Expr { return Expr{Op: OpWord, Text: word} }

// HasTitleWord matches the documents with the word in the title, compared as by HasWord.
func HasTitleWord(word string) Expr { return Expr{Op: OpWord, Text: word, Title: true} }

// HasPrefix matches the documents with a word that begins with the prefix. Neither of them is
// normalized.
func HasPrefix(prefix string) Expr { return Expr{Op: OpPrefix, Text: prefix} }

// HasTitlePrefix matches the documents with a word in the title that begins with the prefix.
func HasTitlePrefix(prefix string) Expr { return Expr{Op: OpPrefix, Text: prefix, Title: true} }

// HasPhrase matches the documents that contain the words side by side, compared
// in their normalized form.
func HasPhrase(words ...string) Expr { return Expr{Op: OpPhrase, Words: words} }

// HasLiteral matches the documents that contain exactly these words side by
// side.
func HasLiteral(words ...string) Expr { return Expr{Op: OpPhrase, Words: words, Literal: true} }

// IsWithin matches the documents at most the given number of miles from the point.
func IsWithin(p Point, miles float64) Expr { return Expr{Op: OpWithin, Point: &p, Miles: miles} }

// PaysBetween matches the documents whose pay range overlaps the given one. A
// maximum of 0 is no maximum, an empty currency is any currency. Documents
// without pay do not match.
func PaysBetween(r PayRange) Expr { return Expr{Op: OpPay, Pay: &r} }

// PostedSince matches the documents posted at t or later.
func PostedSince(t time.Time) Expr { return Expr{Op: OpPosted, After: &t} }

// Query selects one page of documents. Documents whose deadline is not after
// Now are not found. Like Expr it can be stored as JSON.
type Query struct {
	Now   time.Time `json:"now"`
	Must  []Expr    `json:"must,omitempty"`  // every hit matches all of them
	Slots []Slot    `json:"slots,omitempty"` // every hit satisfies each of them at one of its levels
	Sort  Sort      `json:"sort"`
	// First, if set, puts the exact hits that match it before the others.
	First *Expr `json:"first,omitempty"`
	// MaxCost is the highest cost of a relaxed hit, 0 for any.
	MaxCost int `json:"maxCost,omitempty"`
	// Relaxed is the maximum number of relaxed hits. They only fill the free
	// places of the last page of exact hits, or of the first page if there are
	// no exact hits.
	Relaxed int `json:"relaxed,omitempty"`
	// Offset and Limit select the page. After is a cursor from Result.Next, which replaces
	// Offset: with it, later pages need no more time and memory than the first one.
	Offset int    `json:"offset,omitempty"`
	Limit  int    `json:"limit"`
	After  string `json:"after,omitempty"`
	// From is the point from which Hit.Miles is measured; nil for none.
	From *Point `json:"from,omitempty"`
	// Facets are prefixes of keys whose documents are counted.
	Facets []string `json:"facets,omitempty"`
}

// Slot is one part of a query. The level of a document is the first one that it matches;
// a document that matches none is no hit. The cost of a document is the sum over all
// slots.
type Slot struct {
	Levels []SlotLevel `json:"levels"`
}

// SlotLevel is one way to satisfy a slot. A hit is exact if all of its levels are.
type SlotLevel struct {
	Expr  Expr `json:"expr"`
	Cost  int  `json:"cost,omitempty"`
	Exact bool `json:"exact,omitempty"`
}

// SortKey names what exact hits are sorted by.
type SortKey string

// The sort keys.
const (
	SortRelevance SortKey = ""
	SortDate      SortKey = "date"
	SortPay       SortKey = "pay" // the minimum ascending, the maximum descending
	SortDistance  SortKey = "distance"
	SortTitle     SortKey = "title"
	SortLocation  SortKey = "location"
)

// Sort orders exact hits. Documents without the value that is sorted by come last in both
// directions. Documents with an equal value are sorted by date, newest first, then by id,
// largest first. Relevance is the cost, lowest first. Relaxed hits always follow the exact
// ones and are in the order of relevance.
type Sort struct {
	By         SortKey `json:"by,omitempty"`
	Descending bool    `json:"descending,omitempty"`
	// Currency restricts SortPay: documents in other currencies count as
	// without pay. Empty compares the numbers as they are.
	Currency string `json:"currency,omitempty"`
}

// Result is one page of hits.
type Result struct {
	Hits []Hit
	// Total is the exact number of exact hits.
	Total int
	// Facets has, by prefix and key, the number of exact hits. Keys without hits
	// are left out.
	Facets map[string]map[string]int
	// Next is the cursor of the next page, empty on the last one. It stays valid
	// in other processes and after changes of the index.
	Next string
}

// Hit is a document that matches.
type Hit struct {
	ID      string
	Version int64
	Exact   bool
	// Levels contains, for each slot, the index of the level that the document satisfies.
	Levels []int
	// Miles is the distance from Query.From, nil if either point is unknown.
	Miles *float64
}

// maxCost is the highest cost of a document. It needs 12 bits, so that an index can sort by a number that consists of
// the cost and the date.
const maxCost = 1<<12 - 1

// Validate returns an error that wraps ErrInvalidQuery if the query cannot be
// evaluated.
func (q *Query) Validate() error {
	if q.Offset < 0 || q.Limit < 0 || q.Relaxed < 0 || q.MaxCost < 0 {
		return fmt.Errorf("%w: offset, limit, relaxed and maximum cost must not be negative", ErrInvalidQuery)
	}

	switch q.Sort.By {
	case SortRelevance, SortDate, SortPay, SortTitle, SortLocation:
	case SortDistance:
		if q.From == nil {
			return fmt.Errorf("%w: sorting by distance needs a point", ErrInvalidQuery)
		}
	default:
		return fmt.Errorf("%w: unknown sort key %q", ErrInvalidQuery, q.Sort.By)
	}

	if q.First != nil {
		if err := q.First.Validate(); err != nil {
			return err
		}
	}

	if err := validateAll(q.Must); err != nil {
		return err
	}

	return q.validateSlots()
}

// validateSlots checks the levels of the slots and the sum of their costs.
func (q *Query) validateSlots() error {
	for _, slot := range q.Slots {
		for _, l := range slot.Levels {
			if l.Cost < 0 || l.Cost > maxCost {
				return fmt.Errorf("%w: cost must be from 0 to %d", ErrInvalidQuery, maxCost)
			}

			if err := l.Expr.Validate(); err != nil {
				return err
			}
		}
	}

	if q.CostBits() > bits.Len(maxCost) {
		return fmt.Errorf("%w: sum of costs must be at most %d", ErrInvalidQuery, maxCost)
	}

	return nil
}

// CostBits returns how many bits the highest cost takes that a document can have: the sum of
// the costs of the most expensive level of each slot.
func (q *Query) CostBits() int {
	highestSum := 0
	for _, slot := range q.Slots {
		highest := 0
		for _, l := range slot.Levels {
			highest = max(highest, l.Cost)
		}

		highestSum += highest
	}

	return bits.Len(uint(highestSum))
}

// validateAll returns the error of the first invalid expression, or nil if all are valid.
func validateAll(exprs []Expr) error {
	for i := range exprs {
		if err := exprs[i].Validate(); err != nil {
			return err
		}
	}

	return nil
}

// Validate returns an error that wraps ErrInvalidQuery if the expression lacks
// what its operation needs.
func (e *Expr) Validate() error {
	valid := true
	switch e.Op {
	case OpAll:
	case OpAnd, OpOr:
		return validateAll(e.Args)
	case OpNot:
		if len(e.Args) == 1 {
			return e.Args[0].Validate()
		}

		valid = false
	case OpKey, OpWord, OpPrefix:
		valid = e.Text != ""
	case OpPhrase:
		valid = len(e.Words) > 0
		for _, w := range e.Words {
			valid = valid && w != ""
		}
	case OpWithin:
		valid = e.Point != nil && e.Miles >= 0
	case OpPay:
		valid = e.Pay != nil && isAmount(e.Pay.Min) && isAmount(e.Pay.Max)
	case OpPosted:
		valid = e.After != nil
	default:
		valid = false
	}

	if !valid {
		text, _ := json.Marshal(e) //nolint:errchkjson // it is only shown
		return fmt.Errorf("%w: invalid expression %s", ErrInvalidQuery, text)
	}

	return nil
}

// isAmount reports whether n is an amount that a PayRange may have.
func isAmount(n int64) bool { return n >= 0 && n <= MaxPay }
