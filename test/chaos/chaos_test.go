package chaos

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/test/kit"
	"github.com/locumhq/locum/test/kit/services"
)

// An installation is the program with its database, queue and mail server. Its victims are the
// processes and servers that a test kills and starts again.

// serverVictim returns a server of the installation, such as PostgreSQL, as a victim.
func serverVictim(name string, s *services.Server) victim {
	return victim{name: name, kill: s.Kill, start: s.Start}
}

// mailServer returns the mail server as a victim. The server keeps the messages that it has accepted
// when it is killed.
func (inst *installation) mailServer() victim {
	start := func() error {
		inst.mail.Start()
		return nil
	}

	return victim{name: "mail server", kill: inst.mail.Stop, start: start}
}

// TestNotifications_EveryServiceKilled_NothingIsLost checks that each change of an
// application leads to exactly one notification and one e-mail while the server, the worker,
// Redis, PostgreSQL and the mail server are killed and started again.
func TestNotifications_EveryServiceKilled_NothingIsLost(t *testing.T) {
	t.Parallel()

	database := kit.OwnPostgres(t)
	queue := kit.OwnRedis(t)
	inst := newInstallation(t, database.URL, "LOCUM_QUEUE_URL="+queue.URL)
	inst.victims = []victim{
		inst.process("serve"),
		inst.process("worker"),
		serverVictim("redis", queue),
		serverVictim("postgres", database),
		inst.mailServer(),
	}
	inst.changeUnderKills()
}

// TestNotifications_SingleProcessKilled_NothingIsLost checks that each change of an application
// leads to exactly one notification and one e-mail on SQLite, where one process serves requests
// and executes tasks, while this process and the mail server are killed and started again.
func TestNotifications_SingleProcessKilled_NothingIsLost(t *testing.T) {
	t.Parallel()

	inst := newInstallation(t, sqlite)
	inst.victims = []victim{inst.process("serve"), inst.mailServer()}
	inst.changeUnderKills()
}

// application is one application for a job, with the employer and the jobseeker.
type application struct {
	employer, seeker user
	id               string
	jobTitle         string
	// possible holds the statuses that the application may have. There are several after a request
	// whose outcome is unknown.
	possible map[string]bool
}

// otherStatus returns a status that the application does not have, and true. If every status is
// possible, it returns one that the application may have, and false.
func (a *application) otherStatus() (status string, isCertain bool) {
	for _, status := range statuses {
		if !a.possible[status] {
			return status, true
		}
	}

	return statuses[0], false
}

// statuses are the statuses to which an employer can change an application.
var statuses = []string{"review", "interview", "accepted", "rejected", "withdrawn", "pending"}

// changeUnderKills changes the statuses of applications while the victims are killed, and then
// checks that each change that happened led to a notification and an e-mail.
//
// The outcome of a request during an outage may be unknown. The number of changes is therefore at least
// that of the accepted requests, and at most that of the accepted requests and those of unknown outcome.
func (inst *installation) changeUnderKills() {
	// The short form is for every run of the tests, and isFull the long one for `make chaos`.
	minAccepted := 160
	kills := len(inst.victims) + 1 // each victim once, and one of them twice

	interval := 20 * time.Millisecond // between two requests
	if isFull() {
		minAccepted = 2000
		kills = 8 * len(inst.victims)
		interval = 10 * time.Millisecond
	}

	const applicationCount = 20
	applications := inst.createApplications(applicationCount)

	killsEnded := make(chan struct{})
	go func() {
		defer close(killsEnded)

		inst.killVictims(kills)
	}()

	next := time.NewTicker(interval)
	defer next.Stop()
	const workers = 4
	var outcomes changeOutcomes

	var load sync.WaitGroup
	for worker := range workers {
		load.Go(func() {
			needsMore := func() bool { return outcomes.accepted.Load() < int64(minAccepted) || !isClosed(killsEnded) }
			for n := 0; needsMore(); n++ {
				<-next.C

				// Each worker has its own applications, so that it knows their statuses: the number
				// of applications is a multiple of the number of workers.
				application := &applications[(n*workers+worker)%len(applications)]

				isTenth := n%10 == 9
				if isTenth {
					inst.requestInvalidChange(application, &outcomes)
				} else {
					inst.requestChange(application, &outcomes)
				}
			}
		})
	}

	load.Wait()

	accepted := int(outcomes.accepted.Load())
	unknown := int(outcomes.unknown.Load())
	inst.t.Logf("%d changes accepted, %d refused, %d of unknown outcome", accepted, outcomes.refused.Load(), unknown)

	inst.waitIdle() // until all events and tasks are done, so that all notifications exist

	happened := inst.requireNotifications(applications)
	require.GreaterOrEqual(inst.t, happened, accepted, "every accepted change is stored")
	require.LessOrEqual(inst.t, happened, accepted+unknown, "refused changes are not stored")
}

// changeOutcomes counts requests that change an application by their outcome. It does not count an
// accepted request that may have set the status that the application already had: such a request
// changes nothing and sends no notification.
type changeOutcomes struct{ accepted, refused, unknown atomic.Int64 }

// requestChange requests another status of the application and records the outcome.
func (inst *installation) requestChange(application *application, outcomes *changeOutcomes) {
	to, isCertain := application.otherStatus()
	path := "/api/employers/applications/" + application.id

	status, _, err := inst.call(application.employer, http.MethodPut, path, object{"status": to})
	switch {
	case err != nil || status >= 500:
		application.possible[to] = true

		outcomes.unknown.Add(1)
	case status == http.StatusOK:
		application.possible = map[string]bool{to: true}

		if isCertain {
			outcomes.accepted.Add(1)
		}
	default:
		inst.t.Errorf("a valid change is refused with status %d", status)
	}
}

// requestInvalidChange requests a status that does not exist, which must have no effect.
func (inst *installation) requestInvalidChange(application *application, outcomes *changeOutcomes) {
	path := "/api/employers/applications/" + application.id

	status, _, err := inst.call(application.employer, http.MethodPut, path, object{"status": "lost"})
	if err == nil && status == http.StatusBadRequest {
		outcomes.refused.Add(1)
	}
}

// isClosed reports whether the channel is closed.
func isClosed(c chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// killVictims kills a victim and starts it again, at random times, as often as kills says. No
// victim is killed a second time before all others have been killed.
func (inst *installation) killVictims(kills int) {
	var remaining []int // indexes of victims
	for range kills {
		if len(remaining) == 0 {
			remaining = rand.Perm(len(inst.victims))
		}

		victim := inst.victims[remaining[0]]
		remaining = remaining[1:]

		const meanUptime, meanOutage = 500 * time.Millisecond, 300 * time.Millisecond

		pause(meanUptime)
		victim.kill()
		pause(meanOutage)

		if err := victim.start(); err != nil {
			inst.t.Errorf("%s does not start again: %v", victim.name, err)
		}
	}
}

// pause sleeps for a random time of up to twice the mean.
func pause(mean time.Duration) { <-time.After(time.Duration(rand.Int64N(int64(2 * mean)))) }

// createApplications creates n applications, each of a new user, to the listings of two
// organizations in turn.
func (inst *installation) createApplications(n int) []application {
	inst.t.Helper()
	const organizations = 2
	created := make([]application, n)

	var creating sync.WaitGroup
	for organization := range organizations {
		creating.Go(func() {
			employer := inst.registerEmployer()
			title := fmt.Sprint("Nurse of clinic ", organization)
			listing := object{"title": title, "description": "Days and nights."}

			listingID := inst.must(employer, http.MethodPost, "/api/employers/jobs", listing)["id"].(string)
			for i := organization; i < n; i += organizations {
				seeker := inst.registerSeeker()
				input := object{"listingId": listingID}
				created[i] = application{
					employer: employer,
					seeker:   seeker,
					id:       inst.must(seeker, http.MethodPost, "/api/jobseekers/applications", input)["id"].(string),
					jobTitle: title,
					possible: map[string]bool{"pending": true},
				}
			}
		})
	}

	creating.Wait()

	return created
}

// requireNotifications requires that every applicant got exactly one notification and one e-mail
// for each change in the timeline of the application, and returns the number of changes of all
// applications. Copies of an e-mail with the same Message-ID count once.
func (inst *installation) requireNotifications(applications []application) (changes int) {
	inst.t.Helper()

	messageIDs := map[string]map[string]bool{} // of mails about statuses, by recipient
	for _, mail := range inst.mail.Mails() {
		if !isStatusMail(mail) {
			continue
		}

		if messageIDs[mail.To] == nil {
			messageIDs[mail.To] = map[string]bool{}
		}

		messageIDs[mail.To][mail.Header.Get("Message-ID")] = true
	}

	for _, a := range applications {
		changesOfOne := inst.countChanges(a)
		changes += changesOfOne

		notifications := inst.listNotifications(a.seeker)
		require.Len(inst.t, notifications, changesOfOne, "exactly one notification for each change")

		for _, message := range notifications {
			require.Contains(inst.t, message, a.jobTitle)
		}

		require.Len(inst.t, messageIDs[a.seeker.email], changesOfOne, "exactly one mail for each change: %v",
			slices.Sorted(maps.Keys(messageIDs[a.seeker.email])))
	}

	inst.t.Logf("%d changes happened, each with a notification and an e-mail", changes)

	return changes
}

// countChanges returns the number of changes in the timeline of the application.
func (inst *installation) countChanges(a application) int {
	inst.t.Helper()

	data := inst.must(a.employer, http.MethodGet, "/api/employers/applications/"+a.id, nil)
	timeline := data["application"].(object)["timeline"].([]any)
	changes := len(timeline) - 1 // the first entry is the application itself

	// The timeline lists at most 200 changes.
	require.Less(inst.t, changes, 200, "the timeline may be incomplete")

	return changes
}

// listNotifications returns the messages of all notifications of the user.
func (inst *installation) listNotifications(account user) (messages []string) {
	inst.t.Helper()

	const limit = 100
	for page := 1; ; page++ {
		path := fmt.Sprintf("/api/jobseekers/notifications?limit=%d&page=%d", limit, page)

		notifications := inst.must(account, http.MethodGet, path, nil)["notifications"].([]any)
		for _, n := range notifications {
			messages = append(messages, n.(object)["message"].(string))
		}

		if len(notifications) < limit {
			return messages
		}
	}
}

// isStatusMail reports whether the mail is about the status of an application. The program puts the
// kind of a message at the beginning of its Message-ID.
func isStatusMail(mail kit.Mail) bool {
	return strings.HasPrefix(mail.Header.Get("Message-ID"), "<status-")
}
