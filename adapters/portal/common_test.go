package portal

import (
	"net/http"
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

	// A route whose body has an intent, the name of the operation, and other fields.
	routes := API(adapters.Services{}).Routes
	i := slices.IndexFunc(routes, func(r web.Route) bool { return r.Method == "POST" && r.Path == "/api/employers/team" })
	changeTeam := routes[i]

	const intentRequired = "Intent is required"

	noValue := func(string) string { return "" }
	for body, wantError := range map[string]string{
		`{"name":7}`:                       intentRequired,
		`{"intent":"","name":7}`:           intentRequired,
		`{"intent":null}`:                  intentRequired,
		`{"intent":5,"name":7}`:            fault.ErrInvalid.Message,
		`{"intent":"remove-member"}`:       fault.ErrInvalid.Message,
		`{"intent":" ","email":"a@b.org"}`: fault.ErrInvalid.Message,
	} {
		err := changeTeam.Op.Check(&web.Request{Path: noValue, Header: noValue, Cookie: noValue, Body: []byte(body)})
		require.Error(t, err, body)

		status, responseBody := Fault(fault.Of(err))
		failure := responseBody.(Failure)

		require.Equal(t, http.StatusBadRequest, status, body)
		require.Equal(t, wantError, failure.Error, body)

		hasDetails := failure.Details != nil
		require.Equal(t, wantError != intentRequired, hasDetails, body)
	}
}
