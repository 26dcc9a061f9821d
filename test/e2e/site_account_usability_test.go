package e2e

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSite_Filters_WayBackAndAlerts checks that the filters have a heading and a link back to the
// results, that clearing them keeps the search, and that filters which alerts do not have are named.
func TestSite_Filters_WayBackAndAlerts(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		browser := server.browser(t)

		filtered := browser.show("/jobs?q=nurse&where=Leeds&pay=1&posted=7&sort=date")
		require.Contains(t, filtered.text, `<h2 id="filters">Sort and filter</h2>`)
		require.Contains(t, filtered.text, `<div id="results">`)
		require.Equal(t, []string{"#results"}, filtered.links("Back to the results"))
		require.Equal(t, []string{"/jobs?q=nurse&where=Leeds"}, filtered.links("Clear filters"))
		require.Contains(t, filtered.text, "Alerts do not use these filters: Posted, Pay.")

		plain := browser.show("/jobs?q=nurse&where=Leeds")
		require.Empty(t, plain.links("Clear filters"))
		require.NotContains(t, plain.text, "Alerts do not use")
	})
}
