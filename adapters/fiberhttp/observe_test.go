package fiberhttp

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestReady_DatabaseDown_IsA503 checks that /readyz is a 503 while the database is down, and
// reports the state of each adapter.
func TestReady_DatabaseDown_IsA503(t *testing.T) {
	t.Parallel()

	response, body := serveTest(t).get(t, "/readyz")
	require.Equal(t, 503, response.StatusCode)
	require.Equal(t, map[string]any{
		"ready":    false,
		"adapters": map[string]any{"database": "down", "limiter": "degraded"},
	}, body)
}

// TestHealth_DatabaseDown_IsA200 checks that an orchestrator does not restart the process for an
// outage of the database.
func TestHealth_DatabaseDown_IsA200(t *testing.T) {
	t.Parallel()

	response, _ := serveTest(t).get(t, "/healthz")
	require.Equal(t, 200, response.StatusCode)
}

// TestUnavailable_Repeated_IsCountedAndLoggedOncePerSecond checks that each 503 is in the
// metrics, and that its cause is logged at most once per second, so that an outage does not fill
// the log.
func TestUnavailable_Repeated_IsCountedAndLoggedOncePerSecond(t *testing.T) {
	t.Parallel()

	server := serveTest(t)
	startedAt := time.Now()

	for range 10 {
		response, _ := server.get(t, "/test/hang")
		require.Equal(t, 503, response.StatusCode)
	}

	startedSeconds := int(time.Since(startedAt)/time.Second) + 1 // each may have a log line
	const logLine = `"msg":"service unavailable","cause":"request: timeout","error":"context deadline exceeded"`
	logged := strings.Count(server.log.String(), logLine)
	require.GreaterOrEqual(t, logged, 1)
	require.LessOrEqual(t, logged, startedSeconds)

	_, metrics := server.getText(t, "/metrics")
	require.Contains(t, metrics, `locum_unavailable_total{cause="request: timeout"} 10`)
}

// TestMetrics_Labels_AreRoutes checks that labels contain the templates of routes and no ids:
// clients could otherwise create any number of time series.
func TestMetrics_Labels_AreRoutes(t *testing.T) {
	t.Parallel()

	server := serveTest(t)
	server.get(t, "/test/echo/some-id")
	server.get(t, "/some/other-id")

	_, metrics := server.getText(t, "/metrics")
	require.Contains(t, metrics, `locum_http_requests_total{method="GET",route="/test/echo/:id",status="200"} 1`)
	require.Contains(t, metrics, `route="unknown",status="404"`)
	require.NotContains(t, metrics, "some-id")
	require.NotContains(t, metrics, "other-id")
}
