package e2e

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/test/kit"
)

// TestTrace_Request_ContinuesToMail checks that a trace spans the request, the background task
// that it causes, and the e-mail that the task sends, each the parent of the next.
func TestTrace_Request_ContinuesToMail(t *testing.T) {
	t.Parallel()

	collector := kit.NewCollector(t)
	dir := t.TempDir()
	server := start(t, dir, "LOCUM_DATABASE_URL=sqlite:"+dir+"/locum.db", "LOCUM_TRACING_URL=otlp+"+collector.URL)
	seeker := server.seeker(t)
	server.waitForMail(t, seeker.email, "confirm your e-mail")
	const (
		requestName = "POST /api/auth/register"
		taskName    = "task identity.verify-email"
		mailName    = "mail"
	)
	require.Eventually(t, func() bool {
		spans := collector.Spans()
		return len(spans[requestName]) == 1 && len(spans[taskName]) == 1 && len(spans[mailName]) == 1
	}, waitTimeout, 20*time.Millisecond)

	spans := collector.Spans()
	request := spans[requestName][0]
	task := spans[taskName][0]
	mail := spans[mailName][0]

	require.Empty(t, request.Parent)
	require.Equal(t, request.ID, task.Parent)
	require.Equal(t, task.ID, mail.Parent)
	require.Equal(t, request.Trace, task.Trace)
	require.Equal(t, request.Trace, mail.Trace)
}
