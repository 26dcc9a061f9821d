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
	const request, job, mail = "POST /api/auth/register", "task identity.verify-email", "mail"
	require.Eventually(t, func() bool {
		got := collector.Spans()
		return len(got[request]) == 1 && len(got[job]) == 1 && len(got[mail]) == 1
	}, waitTimeout, 20*time.Millisecond)
	spans := collector.Spans()
	require.Empty(t, spans[request][0].Parent)
	require.Equal(t, []string{spans[request][0].Trace, spans[request][0].ID}, []string{spans[job][0].Trace, spans[job][0].Parent})
	require.Equal(t, []string{spans[request][0].Trace, spans[job][0].ID}, []string{spans[mail][0].Trace, spans[mail][0].Parent})
}
