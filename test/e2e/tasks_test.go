package e2e

import (
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/test/kit"
)

// metrics returns the metrics in the text format of Prometheus.
func (s *testServer) metrics(t *testing.T) string {
	t.Helper()

	response, err := http.Get(s.url + "/metrics")
	require.NoError(t, err)

	defer func() { _ = response.Body.Close() }()

	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)

	return string(body)
}

// TestTasks_DeadTasks_ListedRetriedAndDropped checks `locum tasks` with e-mails that the mail
// server refused for good: dead tasks are listed with the reason but without personal data, and
// can be retried or dropped.
func TestTasks_DeadTasks_ListedRetriedAndDropped(t *testing.T) {
	t.Parallel()

	mail := kit.NewSMTP(t)
	mail.Refuse("RCPT", 550, "") // a permanent error, after which a task is not retried

	dir := t.TempDir()
	server := start(t, dir, "LOCUM_DATABASE_URL=sqlite:"+dir+"/locum.db", "LOCUM_MAIL_URL="+mail.URL())
	first := server.seeker(t)
	second := server.seeker(t)
	var list string

	// Both mails to confirm an address are dead after one attempt, with the reply of the mail server.
	dead := regexp.MustCompile(`(?m)^([0-9a-f-]{36})\s+identity\.verify-email\s+dead\s+1\s`)
	require.Eventually(t, func() bool {
		list = server.run(t, "tasks", "list")
		return len(dead.FindAllString(list, -1)) == 2
	}, waitTimeout, 100*time.Millisecond)
	require.NotContains(t, list, first.email, "the list has no personal data")
	require.Contains(t, list, "550")
	require.Contains(t, server.metrics(t), `locum_task_attempts_total{kind="identity.verify-email",outcome="dead"} 2`)
	require.Contains(t, server.metrics(t), "locum_outbox_lag_seconds 0")
	require.NotContains(t, server.run(t, "tasks", "list", "--kind", "identity.invite"), "verify-email")

	// One of the tasks is retried and sends its mail. The other is dropped, and sends none.
	mail.Accept()

	retriedID := dead.FindStringSubmatch(list)[1]
	require.Contains(t, server.run(t, "tasks", "retry", retriedID), "retried 1")
	require.Eventually(t, func() bool { return len(mail.Mails()) == 1 }, waitTimeout, 50*time.Millisecond)
	require.Contains(t, server.run(t, "tasks", "drop", "--all-dead"), "dropped 1")
	require.NotContains(t, server.run(t, "tasks", "list"), "verify-email")
	require.Contains(t, []string{first.email, second.email}, mail.Mails()[0].To)
	require.Eventually(t, func() bool { // the task is recorded after the mail was sent
		return strings.Contains(server.run(t, "tasks", "list", "--state", "done", "--kind", "identity.verify-email"), retriedID)
	}, waitTimeout, 100*time.Millisecond)
}
