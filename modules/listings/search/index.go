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

// Change creates, replaces or deletes a document. ID and Version take the place
// of those in Document.
type Change struct {
	ID       string
	Version  int64
	Document *Document // nil deletes
}

// Document contains the fields of a listing that the index stores. Times are compared in
// microseconds.
type Document struct {
	ID       string
	Version  int64
	PostedAt time.Time
	Deadline time.Time // when it stops being found; zero for never
	// Keys are the concepts and filter values of the document, such as
	// "role:nurse@head". The index compares them as they are.
	Keys []string
	// Title and Body are folded words in order. An empty word separates fields:
	// no phrase extends across it.
	Title, Body             []string
	SortTitle, SortLocation string
	Pay                     *PayRange // nil if not stated
	Point                   *Point    // nil if unknown
}

// MaxPay is the highest amount of a PayRange.
const MaxPay = math.MaxInt64 / 2

// PayRange is a pay range in minor units a year, both ends included. Amounts are
// from 0 to MaxPay.
type PayRange struct {
	Min      int64  `json:"min"`
	Max      int64  `json:"max"`
	Currency string `json:"currency"`
}

// Point is a position in degrees.
type Point struct {
	Lat float64 `json:"lat"`
	Lon float64 `json:"lon"`
}

// earthRadiusMiles is the mean radius of the Earth.
const earthRadiusMiles = 3958.7613

// Miles returns the great-circle distance to q (haversine).
func (p Point) Miles(q Point) float64 {
	const degree = math.Pi / 180
	lat, lon := math.Sin((q.Lat-p.Lat)*degree/2), math.Sin((q.Lon-p.Lon)*degree/2)
	h := lat*lat + math.Cos(p.Lat*degree)*math.Cos(q.Lat*degree)*lon*lon

	return 2 * earthRadiusMiles * math.Asin(math.Sqrt(min(1, h)))
}

// Op is the operation of an Expr.
type Op string

// The operations, with the fields of Expr that they use.
const (
	OpAll    Op = "all"    // every document
	OpAnd    Op = "and"    // Args
	OpOr     Op = "or"     // Args
	OpNot    Op = "not"    // Args, one
	OpKey    Op = "key"    // Text
	OpWord   Op = "word"   // Text, Title
	OpPrefix Op = "prefix" // Text, Title
	OpPhrase Op = "phrase" // Words, Title, Literal
	OpWithin Op = "within" // Point, Miles
	OpPay    Op = "pay"    // Pay
	OpPosted Op = "posted" // After
)

// Expr is a condition on documents. It is built by the functions below and can
// be stored as JSON.
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

// HasWord matches the documents with a word that is normalized as the given
// word is.
func HasWord(word string) Expr { return Expr{Op: OpWord, Text: word} }

// HasTitleWord matches the documents with such a word in the title.
func HasTitleWord(word string) Expr { return Expr{Op: OpWord, Text: word, Title: true} }

// HasPrefix matches the documents with a word that begins with the prefix;
// neither is normalized.
func HasPrefix(prefix string) Expr { return Expr{Op: OpPrefix, Text: prefix} }

// HasTitlePrefix matches the documents with such a word in the title.
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
	Must  []Expr    `json:"must,omitempty"` // all of them hold for every hit
	Slots []Slot    `json:"slots,omitempty"`
	Sort  Sort      `json:"sort"`
	// First, if set, puts the exact hits that match it before the others.
	First *Expr `json:"first,omitempty"`
	// MaxCost is the highest cost of a relaxed hit, 0 for any.
	MaxCost int `json:"maxCost,omitempty"`
	// Relaxed is the maximum number of relaxed hits. They only fill the free
	// places of the last page of exact hits, or of the first page if there are
	// no exact hits.
	Relaxed int `json:"relaxed,omitempty"`
	// Offset and Limit select the page. After, a cursor from Result.Next, takes
	// the place of Offset: it needs no more time and memory for later pages.
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

// Sort orders exact hits. Documents without the value come last in both
// directions; equal ones are sorted by date, newest first, then by id, largest
// first. Relevance is the cost, lowest first. Relaxed hits always follow the
// exact ones in the order of relevance.
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

// maxCost keeps the costs of a query within 12 bits.
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
	for _, s := range q.Slots {
		for _, l := range s.Levels {
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

// CostBits returns the number of bits of the highest cost that a document can
// have.
func (q *Query) CostBits() int {
	sum := 0
	for _, s := range q.Slots {
		highest := 0
		for _, l := range s.Levels {
			highest = max(highest, l.Cost)
		}

		sum += highest
	}

	return bits.Len(uint(sum))
}

// validateAll returns the error of the first invalid expression.
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
		valid = e.Pay != nil && min(e.Pay.Min, e.Pay.Max) >= 0 && max(e.Pay.Min, e.Pay.Max) <= MaxPay
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
