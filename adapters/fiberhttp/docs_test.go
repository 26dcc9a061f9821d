package fiberhttp

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestDocs_UnknownFile_IsNotFound checks that unknown files below /docs, and files that are
// templates, are a 404 in the format of the API, with the headers that every response has: the
// request id and the security headers.
func TestDocs_UnknownFile_IsNotFound(t *testing.T) {
	t.Parallel()

	server := serveTest(t)
	for _, path := range []string{
		"/docs/zzz",       // no such file
		"/docs/page.html", // the template of the page at /docs
		"/docs/a/b.js",    // in a folder, of which there are none
		"/zzz",            // not below /docs
	} {
		response, body := server.get(t, path)
		require.Equal(t, 404, response.StatusCode, path)
		require.Equal(t, map[string]any{"success": false, "error": "Not found"}, body, path)
		require.Equal(t, "application/json; charset=utf-8", response.Header.Get("Content-Type"), path)
		require.NotEmpty(t, response.Header.Get("X-Request-Id"), path)
		require.NotEmpty(t, response.Header.Get("X-Content-Type-Options"), path)
	}
}

// TestDocs_Page_LoadsOnlyFromThisServer checks that the documentation works without internet
// access and sends no requests of its readers to other hosts.
func TestDocs_Page_LoadsOnlyFromThisServer(t *testing.T) {
	t.Parallel()

	server := serveTest(t)
	response, page := server.getText(t, "/docs")
	require.Equal(t, 200, response.StatusCode)

	// The page has no absolute URLs, with or without a scheme.
	require.NotContains(t, page, `src="http`)
	require.NotContains(t, page, `href="http`)
	require.NotContains(t, page, `="//`)

	// This server has the files that the page loads.
	for _, asset := range []string{"/docs/swagger-ui.css", "/docs/swagger-ui-bundle.js", "/openapi/portal.json"} {
		response, _ := server.getText(t, asset)
		require.Equal(t, 200, response.StatusCode, asset)
	}
}
