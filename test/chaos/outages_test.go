package chaos

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/core/task"
	"github.com/locumhq/locum/test/kit"
)

// setStatus sets the status of an application, which must succeed.
func (w *installation) setStatus(c application, status string) {
	w.t.Helper()
	code, answer, err := w.call(c.employer, http.MethodPut, "/api/employers/applications/"+c.id, object{"status": status})
	require.NoError(w.t, err)
	require.Equal(w.t, 200, code, "%v", answer)
}

// countMails returns the number of mails about decisions that the applicant
// received.
func (w *installation) countMails(c application) (n int) {
	for _, m := range w.mail.Mails() {
		if m.To == c.seeker.email && strings.HasPrefix(m.Header.Get("Message-ID"), "<status-") {
			n++
		}
	}
	return n
}

// countAttempts returns how often the applicant's address was sent to the mail
// server.
func (w *installation) countAttempts(c application) (n int) {
	for _, to := range w.mail.Tries() {
		if to == c.seeker.email {
			n++
		}
	}
	return n
}

func TestRedisUnavailable_WritesSucceed_BacklogDrains(t *testing.T) {
	t.Parallel()
	queue := kit.OwnRedis(t)
	w := newInstallation(t, kit.PostgresURL(t), "LOCUM_QUEUE_URL="+queue.URL, "LOCUM_LIMITER_URL="+queue.URL)
	w.process("serve")
	w.process("worker")
	all := w.createApplications(4)
	w.waitIdle()
	away := 5 * time.Second
	if isFull() {
		away = time.Minute
	}
	queue.Kill()
	written, slow := 0, 0
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for gone := time.Now(); time.Since(gone) < away; written++ {
		<-tick.C
		begun := time.Now()
		w.setStatus(all[written%len(all)], statuses[(written/len(all))%len(statuses)])
		if time.Since(begun) > 2*time.Second {
			slow++
		}
	}
	require.LessOrEqual(t, slow, 1+written/300, "requests do not wait for unavailable services, except for a short load of the machine")
	for _, c := range all {
		require.Zero(t, w.countMails(c))
	}
	require.NoError(t, queue.Start())
	w.waitIdle()
	require.Equal(t, written, w.requireNotifications(all))
}

func TestWorker_StartsWithoutRedis_RecoversWhenAvailable(t *testing.T) {
	t.Parallel()
	queue := kit.OwnRedis(t)
	queue.Kill()
	w := newInstallation(t, kit.PostgresURL(t), "LOCUM_QUEUE_URL="+queue.URL)
	w.process("serve")
	w.process("worker")
	all := w.createApplications(2)
	w.setStatus(all[0], "review")
	require.NoError(t, queue.Start())
	w.waitIdle()
	require.Equal(t, 1, w.requireNotifications(all))
}

func TestMail_ServerUnavailable_IsSentLater(t *testing.T) {
	t.Parallel()
	for name, trouble := range map[string]func(m *kit.SMTP){
		"down":             (*kit.SMTP).Stop,
		"says nothing":     (*kit.SMTP).Hang,
		"busy at the door": func(m *kit.SMTP) { m.Refuse("MAIL", 421, "") },
		"busy, 450":        func(m *kit.SMTP) { m.Refuse("RCPT", 450, "") },
		"busy, 452":        func(m *kit.SMTP) { m.Refuse("DATA", 452, "") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newInstallation(t, "")
			w.process("serve")
			all := w.createApplications(2)
			w.waitIdle()
			trouble(w.mail)
			w.setStatus(all[0], "review")
			w.setStatus(all[1], "accepted")
			s := w.openStorage()
			// Tasks that send no mail continue.
			require.Eventually(t, func() bool {
				_, answer, err := w.call(all[1].seeker, http.MethodGet, "/api/jobseekers/notifications", nil)
				return err == nil && len(answer["data"].(object)["notifications"].([]any)) == 1
			}, time.Minute, 50*time.Millisecond)
			require.Eventually(t, func() bool {
				jobs, events, err := countPending(t.Context(), s)
				return err == nil && events == 0 && len(jobs) == 1 && jobs[0].Queue == task.Mail && jobs[0].Tasks == 2
			}, time.Minute, 200*time.Millisecond, "only the mails are pending")
			w.mail.Accept()
			w.mail.Start()
			w.waitIdle()
			require.Equal(t, 2, w.requireNotifications(all))
		})
	}
}

func TestMail_PermanentRefusal_IsTriedOnce(t *testing.T) {
	t.Parallel()
	w := newInstallation(t, "")
	w.process("serve")
	all := w.createApplications(2)
	w.waitIdle()
	gone, there := all[0], all[1]
	before := w.countAttempts(gone)
	w.mail.Refuse("RCPT", 550, gone.seeker.email)
	w.setStatus(gone, "review")
	w.setStatus(there, "review")
	require.Eventually(t, func() bool { return w.countMails(there) == 1 }, time.Minute, 50*time.Millisecond)
	s := w.openStorage()
	require.Eventually(t, func() bool {
		jobs, events, err := countPending(t.Context(), s)
		return err == nil && len(jobs) == 0 && events == 0
	}, time.Minute, 50*time.Millisecond, "no task waits for a retry")
	require.Equal(t, before+1, w.countAttempts(gone))
	require.Zero(t, w.countMails(gone))
}
