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
func (in *installation) setStatus(c application, status string) {
	in.t.Helper()
	code, answer, err := in.call(c.employer, http.MethodPut, "/api/employers/applications/"+c.id, object{"status": status})
	require.NoError(in.t, err)
	require.Equal(in.t, 200, code, "%v", answer)
}

// countMails returns the number of mails about decisions that the applicant
// received.
func (in *installation) countMails(c application) (n int) {
	for _, m := range in.mail.Mails() {
		if m.To == c.seeker.email && strings.HasPrefix(m.Header.Get("Message-ID"), "<status-") {
			n++
		}
	}
	return n
}

// countAttempts returns how often the applicant's address was sent to the mail
// server.
func (in *installation) countAttempts(c application) (n int) {
	for _, address := range in.mail.AttemptedRecipients() {
		if address == c.seeker.email {
			n++
		}
	}
	return n
}

// TestRedisUnavailable_WritesSucceed_BacklogDrains checks that requests succeed as fast as usual
// while Redis, the queue and the limiter, is unavailable, and that all e-mails are sent when it
// is available again: tasks are stored in the database first.
func TestRedisUnavailable_WritesSucceed_BacklogDrains(t *testing.T) {
	t.Parallel()
	queue := kit.OwnRedis(t)
	inst := newInstallation(t, kit.PostgresURL(t), "LOCUM_QUEUE_URL="+queue.URL, "LOCUM_LIMITER_URL="+queue.URL)
	inst.process("serve")
	inst.process("worker")
	applications := inst.createApplications(4)
	inst.waitIdle()
	outage := 5 * time.Second
	if isFull() {
		outage = time.Minute
	}
	queue.Kill()
	written, slow := 0, 0
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for gone := time.Now(); time.Since(gone) < outage; written++ {
		<-tick.C
		begun := time.Now()
		inst.setStatus(applications[written%len(applications)], statuses[(written/len(applications))%len(statuses)])
		if time.Since(begun) > 2*time.Second {
			slow++
		}
	}
	require.LessOrEqual(t, slow, 1+written/300, "requests do not wait for unavailable services, except for a short load of the machine")
	for _, c := range applications {
		require.Zero(t, inst.countMails(c))
	}
	require.NoError(t, queue.Start())
	inst.waitIdle()
	require.Equal(t, written, inst.requireNotifications(applications))
}

// TestWorker_StartsWithoutRedis_RecoversWhenAvailable checks that a worker need not be restarted
// if it was started before Redis.
func TestWorker_StartsWithoutRedis_RecoversWhenAvailable(t *testing.T) {
	t.Parallel()
	queue := kit.OwnRedis(t)
	queue.Kill()
	inst := newInstallation(t, kit.PostgresURL(t), "LOCUM_QUEUE_URL="+queue.URL)
	inst.process("serve")
	inst.process("worker")
	applications := inst.createApplications(2)
	inst.setStatus(applications[0], "review")
	require.NoError(t, queue.Start())
	inst.waitIdle()
	require.Equal(t, 1, inst.requireNotifications(applications))
}

// TestMail_ServerUnavailable_IsSentLater checks that e-mails wait for the mail server without
// loss, duplicates, or a delay of other tasks. 4xx replies of SMTP are temporary errors.
func TestMail_ServerUnavailable_IsSentLater(t *testing.T) {
	t.Parallel()
	for name, trouble := range map[string]func(m *kit.SMTP){
		"down":             (*kit.SMTP).Stop,
		"says nothing":     (*kit.SMTP).Hang, // accepts connections and never replies
		"busy at the door": func(m *kit.SMTP) { m.Refuse("MAIL", 421, "") },
		"busy, 450":        func(m *kit.SMTP) { m.Refuse("RCPT", 450, "") },
		"busy, 452":        func(m *kit.SMTP) { m.Refuse("DATA", 452, "") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inst := newInstallation(t, "")
			inst.process("serve")
			applications := inst.createApplications(2)
			inst.waitIdle()
			trouble(inst.mail)
			inst.setStatus(applications[0], "review")
			inst.setStatus(applications[1], "accepted")
			storage := inst.openStorage()
			// Tasks that send no mail continue.
			require.Eventually(t, func() bool {
				_, answer, err := inst.call(applications[1].seeker, http.MethodGet, "/api/jobseekers/notifications", nil)
				return err == nil && len(answer["data"].(object)["notifications"].([]any)) == 1
			}, time.Minute, 50*time.Millisecond)
			require.Eventually(t, func() bool {
				jobs, events, err := countPending(t.Context(), storage)
				return err == nil && events == 0 && len(jobs) == 1 && jobs[0].Queue == task.Mail && jobs[0].Tasks == 2
			}, time.Minute, 200*time.Millisecond, "only the mails are pending")
			inst.mail.Accept()
			inst.mail.Start()
			inst.waitIdle()
			require.Equal(t, 2, inst.requireNotifications(applications))
		})
	}
}

// TestMail_PermanentRefusal_IsTriedOnce checks that an address that the mail server refuses with
// 550 (no such mailbox) is not tried again: servers block senders that repeat such addresses.
func TestMail_PermanentRefusal_IsTriedOnce(t *testing.T) {
	t.Parallel()
	inst := newInstallation(t, "")
	inst.process("serve")
	applications := inst.createApplications(2)
	inst.waitIdle()
	gone, there := applications[0], applications[1]
	before := inst.countAttempts(gone)
	inst.mail.Refuse("RCPT", 550, gone.seeker.email)
	inst.setStatus(gone, "review")
	inst.setStatus(there, "review")
	require.Eventually(t, func() bool { return inst.countMails(there) == 1 }, time.Minute, 50*time.Millisecond)
	storage := inst.openStorage()
	require.Eventually(t, func() bool {
		jobs, events, err := countPending(t.Context(), storage)
		return err == nil && len(jobs) == 0 && events == 0
	}, time.Minute, 50*time.Millisecond, "no task waits for a retry")
	require.Equal(t, before+1, inst.countAttempts(gone))
	require.Zero(t, inst.countMails(gone))
}
