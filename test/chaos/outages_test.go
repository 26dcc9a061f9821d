package chaos

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/core/task"
	"github.com/locumhq/locum/test/kit"
)

// setStatus sets the status of an application with one request, which must succeed.
func (inst *installation) setStatus(a application, status string) {
	inst.t.Helper()

	path := "/api/employers/applications/" + a.id
	code, body, err := inst.call(a.employer, http.MethodPut, path, object{"status": status})
	require.NoError(inst.t, err)
	require.Equal(inst.t, http.StatusOK, code, "%v", body)
}

// changeWhile changes the statuses of the applications in turn, ten per second. It ends when the
// condition does not hold any more and all applications have been changed equally often. Every request
// must succeed. changeWhile returns the number of changes, and how many of them took longer than two
// seconds.
func (inst *installation) changeWhile(applications []application, condition func() bool) (changes, slow int) {
	inst.t.Helper()

	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()

	isWithinRound := func() bool { return changes%len(applications) != 0 }
	for condition() || isWithinRound() {
		<-tick.C

		round := changes / len(applications)
		start := time.Now()

		inst.setStatus(applications[changes%len(applications)], statuses[round%len(statuses)])

		isSlow := time.Since(start) > 2*time.Second
		if isSlow {
			slow++
		}

		changes++
	}

	return changes, slow
}

// countMails returns the number of mails about the status of the application.
func (inst *installation) countMails(a application) (n int) {
	for _, mail := range inst.mail.Mails() {
		if mail.To == a.seeker.email && isStatusMail(mail) {
			n++
		}
	}

	return n
}

// countAttempts returns how often a client of the mail server has named the applicant's address
// as a recipient, accepted or not.
func (inst *installation) countAttempts(a application) (n int) {
	for _, address := range inst.mail.AttemptedRecipients() {
		if address == a.seeker.email {
			n++
		}
	}

	return n
}

// TestRedisUnavailable_WritesSucceed_BacklogDrains checks that requests succeed as fast as usual
// while Redis, which has the queue and the limiter, is unavailable. All e-mails are sent when Redis is
// available again, because tasks are stored in the database first.
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

	killed := time.Now()
	changes, slow := inst.changeWhile(applications, func() bool { return time.Since(killed) < outage })

	// A few requests may be slow because of the load of the machine: one, and another one of each 300.
	maxSlow := 1 + changes/300
	require.LessOrEqual(t, slow, maxSlow, "requests wait for the unavailable services")

	for _, a := range applications {
		require.Zero(t, inst.countMails(a), "mails while their tasks wait for the queue")
	}

	require.NoError(t, queue.Start())
	inst.waitIdle()

	// Each change has one notification and one e-mail, although its task was created without Redis.
	require.Equal(t, changes, inst.requireNotifications(applications))
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

// TestMail_ServerUnavailable_IsSentLater checks that e-mails wait for the mail server. They are neither
// lost nor repeated, and do not delay other tasks. In SMTP, replies with a code of 400 to 499 are
// temporary errors.
func TestMail_ServerUnavailable_IsSentLater(t *testing.T) {
	t.Parallel()

	const everyAddress = ""
	for name, breakServer := range map[string]func(server *kit.SMTP){
		"stopped":              (*kit.SMTP).Stop,
		"hangs":                (*kit.SMTP).Hang, // accepts connections and never replies
		"refuses MAIL, 421":    func(server *kit.SMTP) { server.Refuse("MAIL", 421, everyAddress) },
		"refuses RCPT, 450":    func(server *kit.SMTP) { server.Refuse("RCPT", 450, everyAddress) },
		"refuses content, 452": func(server *kit.SMTP) { server.Refuse("DATA", 452, everyAddress) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			inst := newInstallation(t, sqlite)
			inst.process("serve")

			applications := inst.createApplications(2)
			inst.waitIdle()

			// While the mail server is broken, the notifications are created, and only the tasks of the two mails wait.
			breakServer(inst.mail)
			inst.setStatus(applications[0], "review")
			inst.setStatus(applications[1], "accepted")
			require.Eventually(t, func() bool {
				_, body, err := inst.call(applications[1].seeker, http.MethodGet, "/api/jobseekers/notifications", nil)
				return err == nil && len(body["data"].(object)["notifications"].([]any)) == 1
			}, time.Minute, 50*time.Millisecond, "a task that sends no mail is delayed")

			storage := inst.openStorage()
			require.Eventually(t, func() bool {
				backlogs, events, err := countPending(t.Context(), storage)
				if err != nil || events > 0 || len(backlogs) != 1 {
					return false
				}

				return backlogs[0].Queue == task.Mail && backlogs[0].Tasks == len(applications)
			}, time.Minute, 200*time.Millisecond, "other tasks than the two mails are pending")

			// The mail server works again.
			inst.mail.Accept()
			inst.mail.Start()
			inst.waitIdle()
			require.Equal(t, len(applications), inst.requireNotifications(applications))
		})
	}
}

// TestMail_PermanentRefusal_IsTriedOnce checks that an address that the mail server refuses with
// 550 (no such mailbox) is not tried again: servers block senders that repeat such addresses.
func TestMail_PermanentRefusal_IsTriedOnce(t *testing.T) {
	t.Parallel()

	inst := newInstallation(t, sqlite)
	inst.process("serve")

	applications := inst.createApplications(2)
	inst.waitIdle()

	// The mail to the other applicant is sent. The mail to the refused address is tried once and leaves no task.
	refused, accepted := applications[0], applications[1]
	attemptsBefore := inst.countAttempts(refused) // to send mails about the new account
	inst.mail.Refuse("RCPT", 550, refused.seeker.email)
	inst.setStatus(refused, "review")
	inst.setStatus(accepted, "review")

	isAcceptedSent := func() bool { return inst.countMails(accepted) == 1 }
	require.Eventually(t, isAcceptedSent, time.Minute, 50*time.Millisecond, "the other mail is not sent")

	storage := inst.openStorage()
	require.Eventually(t, func() bool {
		backlogs, events, err := countPending(t.Context(), storage)
		return err == nil && len(backlogs) == 0 && events == 0
	}, time.Minute, 50*time.Millisecond, "a task waits for a retry")
	require.Equal(t, attemptsBefore+1, inst.countAttempts(refused), "attempts to send to the refused address")
	require.Zero(t, inst.countMails(refused))
}
