package portal

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/adapters/web"
	"github.com/locumhq/locum/core/fault"
)

// TestFault_Intent_ReportedFirst checks that a missing intent is the error of the whole request,
// without details, because the other fields depend on it. Other errors have the list of invalid
// fields.
func TestFault_Intent_ReportedFirst(t *testing.T) {
	t.Parallel()

	routes := API(adapters.Services{}).Routes
	i := slices.IndexFunc(routes, func(r web.Route) bool { return r.Method == "POST" && r.Path == "/api/employers/team" })

	none := func(string) string { return "" }
	for body, want := range map[string]string{
		`{"name":7}`:                       "Intent is required",
		`{"intent":"","name":7}`:           "Intent is required",
		`{"intent":null}`:                  "Intent is required",
		`{"intent":5,"name":7}`:            fault.ErrInvalid.Message,
		`{"intent":"remove-member"}`:       fault.ErrInvalid.Message,
		`{"intent":" ","email":"a@b.org"}`: fault.ErrInvalid.Message,
	} {
		err := routes[i].Op.Check(&web.Request{Path: none, Header: none, Cookie: none, Body: []byte(body)})
		require.Error(t, err, body)

		status, failure := Fault(fault.Of(err))
		require.Equal(t, 400, status, body)
		require.Equal(t, want, failure.(Failure).Error, body)
		require.Equal(t, want == "Intent is required", failure.(Failure).Details == nil, body)
	}
}
