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

// serverVictim returns a server of the installation, such as PostgreSQL, as a victim.
func serverVictim(name string, s *services.Server) victim {
	return victim{name: name, kill: s.Kill, start: s.Start}
}

// mailServer returns the mail server as a victim. It keeps the messages that it has accepted.
func (in *installation) mailServer() victim {
	return victim{name: "mail server", kill: in.mail.Stop, start: func() error { in.mail.Start(); return nil }}
}

// TestNotifications_PostgresAndRedisKilled_NothingIsLost checks that each change of an
// application leads to exactly one notification and one e-mail while the server, the worker,
// Redis, PostgreSQL and the mail server are killed and started again.
func TestNotifications_PostgresAndRedisKilled_NothingIsLost(t *testing.T) {
	t.Parallel()
	database, queue := kit.OwnPostgres(t), kit.OwnRedis(t)
	inst := newInstallation(t, database.URL, "LOCUM_QUEUE_URL="+queue.URL)
	inst.victims = []victim{
		inst.process("serve"),
		inst.process("worker"),
		serverVictim("redis", queue),
		serverVictim("postgres", database),
		inst.mailServer(),
	}
	inst.changeStatuses()
}

// TestNotifications_ProcessKilled_NothingIsLost checks the same on SQLite, where one process
// serves requests and executes tasks.
func TestNotifications_ProcessKilled_NothingIsLost(t *testing.T) {
	t.Parallel()
	inst := newInstallation(t, "")
	inst.victims = []victim{inst.process("serve"), inst.mailServer()}
	inst.changeStatuses()
}

// application is one application and the users on both sides.
type application struct {
	employer, seeker user
	id               string
	job              string
	// possible holds the statuses that the application may have: several after
	// a request whose outcome is unknown.
	possible map[string]bool
}

// otherStatus returns a status that the application certainly does not have, and
// whether the current one is certain.
func (c *application) otherStatus() (status string, certain bool) {
	for _, status := range statuses {
		if !c.possible[status] {
			return status, true
		}
	}
	return statuses[0], false
}

// statuses are the statuses to which an employer can change an application.
var statuses = []string{"review", "interview", "accepted", "rejected", "withdrawn", "pending"}

// changeStatuses changes the statuses of applications while the victims are killed, and then
// checks that each change that happened led to a notification and an e-mail. A request during an
// outage may have an unknown outcome, so the number of changes is between the accepted ones and
// those plus the unknown ones.
func (in *installation) changeStatuses() {
	changes, kills, pace := 160, len(in.victims)+1, 20*time.Millisecond
	if isFull() { // make chaos: more changes, at a faster pace
		changes, kills, pace = 2000, 8*len(in.victims), 10*time.Millisecond
	}
	applications := in.createApplications(20)

	var accepted, refused, unknown atomic.Int64
	next := time.NewTicker(pace)
	defer next.Stop()
	killsEnded := make(chan struct{})
	go func() { defer close(killsEnded); in.killVictims(kills) }()

	var load sync.WaitGroup
	for worker := range 4 {
		load.Go(func() {
			for n := 0; accepted.Load() < int64(changes) || !isClosed(killsEnded); n++ {
				<-next.C
				// Each worker has its own applications, so that it knows their
				// statuses.
				c := &applications[(n*4+worker)%len(applications)]
				if n%10 == 9 {
					// A refused change has no effect.
					if status, _, err := in.call(c.employer, http.MethodPut, "/api/employers/applications/"+c.id, object{"status": "lost"}); err == nil &&
						status == 400 {
						refused.Add(1)
					}
					continue
				}
				to, certain := c.otherStatus()
				status, _, err := in.call(c.employer, http.MethodPut, "/api/employers/applications/"+c.id, object{"status": to})
				switch {
				case err == nil && status == 200:
					c.possible = map[string]bool{to: true}
					if certain {
						accepted.Add(1)
					}
				case err != nil || status >= 500:
					c.possible[to] = true
					unknown.Add(1)
				default:
					in.t.Errorf("unexpected status %d", status)
					return
				}
			}
		})
	}
	load.Wait()
	in.t.Logf("%d changes accepted, %d refused, %d of unknown outcome", accepted.Load(), refused.Load(), unknown.Load())

	in.waitIdle()
	happened := in.requireNotifications(applications)
	require.GreaterOrEqual(in.t, happened, int(accepted.Load()), "every accepted change is stored")
	require.LessOrEqual(in.t, happened, int(accepted.Load()+unknown.Load()), "rejected changes are not stored")
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

// killVictims kills every victim in turn, in random order and at random times,
// and starts it again.
func (in *installation) killVictims(kills int) {
	var order []int
	for range kills {
		if len(order) == 0 {
			order = rand.Perm(len(in.victims))
		}
		v := in.victims[order[0]]
		order = order[1:]
		pause(500 * time.Millisecond)
		v.kill()
		pause(300 * time.Millisecond)
		if err := v.start(); err != nil {
			in.t.Errorf("%s does not come back: %v", v.name, err)
		}
	}
}

// pause sleeps for a random time of up to twice the mean.
func pause(mean time.Duration) { <-time.After(time.Duration(rand.Int64N(int64(2 * mean)))) }

// createApplications creates n applications of n users to two organizations.
func (in *installation) createApplications(n int) []application {
	in.t.Helper()
	out := make([]application, n)
	var made sync.WaitGroup
	for half := range 2 {
		made.Go(func() {
			employer := in.register("/api/auth/register-employer", object{"companyName": "Clinic"})
			title := fmt.Sprint("Nurse of clinic ", half)
			job := in.must(employer, http.MethodPost, "/api/employers/jobs", object{
				"title":       title,
				"description": "Days and nights.",
			})["id"].(string)
			for i := half; i < n; i += 2 {
				seeker := in.register("/api/auth/register", object{"userType": "jobseeker"})
				id := in.must(seeker, http.MethodPost, "/api/jobseekers/applications", object{"listingId": job})["id"].(string)
				out[i] = application{employer, seeker, id, title, map[string]bool{"pending": true}}
			}
		})
	}
	made.Wait()
	return out
}

// requireNotifications compares the timelines with the notifications and mails of
// the applicants, and returns the number of changes.
func (in *installation) requireNotifications(applications []application) (happened int) {
	in.t.Helper()
	mails := map[string]map[string]bool{}
	for _, m := range in.mail.Mails() {
		if id := m.Header.Get("Message-ID"); strings.HasPrefix(id, "<status-") {
			if mails[m.To] == nil {
				mails[m.To] = map[string]bool{}
			}
			mails[m.To][id] = true
		}
	}
	for _, c := range applications {
		application := in.must(c.employer, http.MethodGet, "/api/employers/applications/"+c.id, nil)["application"].(object)
		var moves []string
		for _, entry := range application["timeline"].([]any)[1:] {
			moves = append(moves, entry.(object)["to"].(string))
		}
		// The timeline lists at most 200 changes, after the entry of the application itself.
		require.Less(in.t, len(moves), 200, "the timeline has no further changes")
		happened += len(moves)

		var told []string
		for page := 1; ; page++ {
			got := in.must(c.seeker, http.MethodGet, fmt.Sprintf("/api/jobseekers/notifications?limit=100&page=%d", page), nil)
			list := got["notifications"].([]any)
			for _, n := range list {
				told = append(told, n.(object)["message"].(string))
			}
			if len(list) < 100 {
				break
			}
		}
		require.Len(in.t, told, len(moves), "exactly one notification for each change")
		for _, message := range told {
			require.Contains(in.t, message, c.job)
		}
		require.Len(in.t, mails[c.seeker.email], len(moves), "exactly one mail for each change: %v",
			slices.Sorted(maps.Keys(mails[c.seeker.email])))
	}
	in.t.Logf("%d changes happened, and everybody was told", happened)
	return happened
}
