// Package page defines the pagination of lists, by page number or cursor, with exact or
// estimated totals.
package page

import (
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/id"
)

// MaxExact is the position of the last item that numbered pages reach. Later items are reached with a
// cursor. MaxExact is also the highest total that is counted for a list from the database, because the
// cost of counting grows with the number of rows. Totals of searches are always exact.
const MaxExact = 10_000

// Request asks for one page of a list. Number and Size are at least 1.
type Request struct {
	Number int
	Size   int // the maximum number of items
	// Cursor is the NextCursor of the previous page, empty for the first. If it is set, it
	// determines the page, and Number is only repeated in the response.
	Cursor string
	// WithoutTotal permits a store to leave Result.Total zero.
	WithoutTotal bool
}

// After requests n items after the cursor, without a total. An empty cursor is the beginning of the list.
func After(cursor string, n int) Request {
	return Request{Number: 1, Size: n, Cursor: cursor, WithoutTotal: true}
}

// CheckID returns an Invalid fault unless the cursor is empty or an id. It is for lists
// whose cursors are ids.
func (r Request) CheckID() error {
	if r.Cursor != "" && !id.Valid(r.Cursor) {
		return fault.InvalidField("cursor", "is not a cursor of this list")
	}

	return nil
}

// Offset returns the number of items before the page.
func (r Request) Offset() int { return (r.Number - 1) * r.Size }

// IsTooDeep reports whether the page is beyond MaxExact.
func (r Request) IsTooDeep() bool {
	if r.Cursor != "" || r.Number == 1 {
		return false
	}

	// The first comparison prevents an overflow of the product.
	return r.Number > MaxExact || r.Number*r.Size > MaxExact
}

// Result is one page of a list.
type Result[T any] struct {
	Items []T
	// Total is the number of items of the whole list. If the list has more than MaxExact
	// items, it may be MaxExact with TotalIsEstimate. It may be zero if the request was
	// WithoutTotal.
	Total           int
	TotalIsEstimate bool
	// NextCursor continues after the last item, empty at the end.
	NextCursor string
}

// WithItems returns a page with the given items and with the totals and cursor of r.
func WithItems[A, B any](r Result[A], items []B) Result[B] {
	return Result[B]{Items: items, Total: r.Total, TotalIsEstimate: r.TotalIsEstimate, NextCursor: r.NextCursor}
}
