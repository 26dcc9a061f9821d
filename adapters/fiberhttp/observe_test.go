package fiberhttp

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestReady_DatabaseDown_IsA503 checks that /readyz is a 503 while the database is down, and reports
// the state of each adapter. In a test server, the database is down and the limiter is degraded.
func TestReady_DatabaseDown_IsA503(t *testing.T) {
	t.Parallel()

	response, body := serveTest(t).get(t, "/readyz")
	require.Equal(t, 503, response.StatusCode)
	require.Equal(t, map[string]any{
		"ready":    false,
		"adapters": map[string]any{"database": "down", "limiter": "degraded"},
	}, body)
}

// TestHealth_DatabaseDown_IsA200 checks that /healthz is a 200 while the database is down, as in a test
// server. An orchestrator restarts a process whose /healthz fails, which would not help the database.
func TestHealth_DatabaseDown_IsA200(t *testing.T) {
	t.Parallel()

	response, _ := serveTest(t).get(t, "/healthz")
	require.Equal(t, 200, response.StatusCode)
}

// TestUnavailable_Repeated_IsCountedAndLoggedOncePerSecond checks that each 503 is in the metrics,
// and that its cause is logged at most once per second, so that an outage does not fill the log. The
// operation of /test/hang exceeds its timeout.
func TestUnavailable_Repeated_IsCountedAndLoggedOncePerSecond(t *testing.T) {
	t.Parallel()

	const requests = 10

	server := serveTest(t)
	startedAt := time.Now()

	for range requests {
		response, _ := server.get(t, "/test/hang")
		require.Equal(t, 503, response.StatusCode)
	}

	// The log has between one line and one line for each second that the requests took.
	maxLogLines := secondsBegunSince(startedAt)
	const logLine = `"msg":"service unavailable","cause":"request: timeout","error":"context deadline exceeded"`
	logged := strings.Count(server.log.String(), logLine)
	require.GreaterOrEqual(t, logged, 1)
	require.LessOrEqual(t, logged, maxLogLines)

	// The metrics have all requests.
	_, metrics := server.getText(t, "/metrics")
	require.Contains(t, metrics, fmt.Sprintf(`locum_unavailable_total{cause="request: timeout"} %d`, requests))
}

// secondsBegunSince returns the number of seconds that have begun since a time: 1 in the first second.
func secondsBegunSince(startedAt time.Time) int {
	return int(time.Since(startedAt)/time.Second) + 1
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
	require.Contains(t, metrics, `route="unknown",status="404"`, "a path that belongs to no route")
	require.NotContains(t, metrics, "some-id")
	require.NotContains(t, metrics, "other-id")
}
