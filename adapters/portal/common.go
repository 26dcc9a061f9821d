package portal

import (
	"github.com/locumhq/locum/adapters/web"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/page"
)

// errIntentRequired is the error for a missing intent.
var errIntentRequired = fault.New(fault.Invalid, "intent_required", "Intent is required")

// requireIntent implements Refuse of inputs with an intent: a missing one is reported before
// other errors.
func requireIntent(intent string, wrong func(path string) bool) error {
	if intent == "" && !wrong("intent") {
		return errIntentRequired
	}
	return nil
}

// PageInput selects a page of a list without filters.
type PageInput struct{ web.Paging }

// Pagination describes the page of a list.
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

// Beyond complements a pagination for long lists.
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
