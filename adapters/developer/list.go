package developer

import (
	"cmp"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/locumhq/locum/adapters/web"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/page"
)

// One is a response with one resource.
type One[T any] struct {
	Data T `json:"data"`
}

// List is one page of a list.
type List[T any] struct {
	Data       []T        `json:"data"`
	Pagination Pagination `json:"pagination"`
	// TotalIsEstimate is true if there are more items than were counted.
	TotalIsEstimate bool `json:"total_is_estimate" sample:"false"`
	// NextCursor is the parameter cursor of the next page, null on the last one.
	NextCursor *string `json:"next_cursor" sample:"null"`
	links      string
}

// Headers returns the header Link with the other pages (RFC 8288).
func (l List[T]) Headers() map[string]string { return map[string]string{"Link": l.links} }

// Pagination describes the page of a list.
type Pagination struct {
	Page       int `json:"page"`
	Limit      int `json:"limit"`
	Total      int `json:"total"`
	TotalPages int `json:"total_pages" sample:"1"`
}

func newList[T, R any](items []T, r page.Result[R], p web.Paging, publicURL, requested string) List[T] {
	l := List[T]{
		Data: items, TotalIsEstimate: r.TotalIsEstimate, NextCursor: known(r.NextCursor),
		Pagination: Pagination{Page: p.Page, Limit: p.Limit, Total: r.Total, TotalPages: (r.Total + p.Limit - 1) / p.Limit},
	}
	l.links = links(l.Pagination, l.TotalIsEstimate, r.NextCursor, p.Cursor != "", publicURL, requested)
	return l
}

// links returns the links to other pages: by page number up to page.MaxExact items, and by
// cursor beyond, or if the request has a cursor.
func links(p Pagination, estimated bool, next string, byCursor bool, publicURL, requested string) string {
	u, err := url.ParseRequestURI(requested)
	if err != nil {
		return ""
	}
	var out []string
	to := func(rel string, change map[string]string) {
		q := u.Query()
		q.Del("page")
		q.Del("cursor")
		for name, value := range change {
			q.Set(name, value)
		}
		address := publicURL + u.EscapedPath()
		if len(q) > 0 {
			address += "?" + q.Encode()
		}
		out = append(out, fmt.Sprintf(`<%s>; rel="%s"`, address, rel))
	}
	reaches := func(n int) bool {
		return !(page.Request{Number: n, Size: p.Limit}).TooDeep()
	}
	number := func(n int) map[string]string { return map[string]string{"page": strconv.Itoa(n)} }
	to("first", nil)
	if before := p.Page - 1; !byCursor && before > 0 {
		if !estimated { // from a page beyond the end, back to the last page
			before = min(before, max(1, p.TotalPages))
		}
		to("prev", number(before))
	}
	switch {
	case next == "":
	case !byCursor && reaches(p.Page+1):
		to("next", number(p.Page+1))
	default:
		to("next", map[string]string{"cursor": next})
	}
	if !estimated && reaches(max(1, p.TotalPages)) {
		to("last", number(max(1, p.TotalPages)))
	}
	return strings.Join(out, ", ")
}

var errTooDeep = fault.New(fault.Invalid, "page_too_deep", "Pages reach 10000 items")

// renameFields returns a function that renames the fields of a fault to those of this API.
func renameFields(names map[string]string) func(*fault.Error) *fault.Error {
	return func(f *fault.Error) *fault.Error {
		if f.Kind != fault.Invalid || len(f.Fields) == 0 {
			return f
		}
		fields := web.Each(f.Fields, func(field fault.Field) fault.Field {
			return fault.Field{Name: cmp.Or(names[field.Name], field.Name), Message: strings.ReplaceAll(field.Message, "nextCursor", "next_cursor")}
		})
		if len(fields) == 1 && fields[0].Name == "page" && strings.HasPrefix(fields[0].Message, "reaches beyond") {
			return errTooDeep.WithFields(fields...)
		}
		return fault.ErrInvalid.WithFields(fields...)
	}
}
