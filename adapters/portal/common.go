package portal

import (
	"github.com/locumhq/locum/adapters/web"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/page"
)

// errIntentRequired is the answer of operations that an intent chooses.
var errIntentRequired = fault.New(fault.Invalid, "intent_required", "Intent is required")

// needIntent is the Refuse of inputs that an intent chooses: without one
// nothing else about them matters.
func needIntent(intent string, wrong func(path string) bool) error {
	if intent == "" && !wrong("intent") {
		return errIntentRequired
	}
	return nil
}

// PageInput asks for a page of a list that has no filters.
type PageInput struct{ web.Paging }

// Pagination says which page of a list an answer is.
type Pagination struct {
	Total      int `json:"total"`
	Page       int `json:"page"`
	Limit      int `json:"limit"`
	TotalPages int `json:"totalPages"`
}

// Next is the cursor of the next page, empty on the last one.
type Next struct {
	NextCursor string `json:"nextCursor,omitempty"`
}

// Beyond stands beside a pagination and serves readers of long lists.
type Beyond struct {
	TotalIsEstimate bool `json:"totalIsEstimate,omitempty"`
	Next
}

func paginate[T any](r page.Result[T], p web.Paging) Pagination {
	return Pagination{Total: r.Total, Page: p.Page, Limit: p.Limit, TotalPages: (r.Total + p.Limit - 1) / p.Limit}
}

func beyond[T any](r page.Result[T]) Beyond {
	return Beyond{TotalIsEstimate: r.TotalIsEstimate, Next: Next{r.NextCursor}}
}
