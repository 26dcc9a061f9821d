package e2e

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestRandomWalk_AllNumbersAgree executes random operations of all kinds of users and compares,
// after every 100 of them, every count and every list with a simple model of the expected
// state.
func TestRandomWalk_AllNumbersAgree(t *testing.T) {
	const steps, rest = 1_000, 100 // the operations in total, and between two comparisons
	seed := seed()
	onEachSetup(t, func(t *testing.T, server *testServer) {
		defer func() {
			if t.Failed() {
				t.Logf("again with LOCUM_TEST_SEED=%d", seed)
			}
		}()
		walk := &walk{
			Rand: rand.New(rand.NewPCG(seed, 0)), t: t,
			employers: []*account{
				server.employer(t),
				server.employer(t),
			}, seekers: []*account{server.seeker(t), server.seeker(t), server.seeker(t)},
			views: map[[2]string]bool{},
		}
		for n := range steps {
			walk.step()
			if (n+1)%rest == 0 {
				walk.requireConsistent()
			}
		}
	})
}

// walk is the model: the state that the operations so far should have caused.
type walk struct {
	*rand.Rand
	t                  *testing.T
	employers, seekers []*account
	listings           []*walkListing
	applications       []*walkApplication
	bookmarks          []*walkBookmark
	views              map[[2]string]bool // listing, viewer
}

// walkListing is a listing of the model.
type walkListing struct {
	id, status string
	owner      *account
	deleted    bool
}

// walkApplication is an application of the model. tracker is the applicant's own note in place
// of the status.
type walkApplication struct {
	id, status, tracker string
	listing             *walkListing
	seeker              *account
	withdrawn           bool // by the applicant
}

// walkBookmark is a bookmark of the model.
type walkBookmark struct {
	id      string
	listing *walkListing
	seeker  *account
}

// choose returns a random element, if there is one.
func choose[T any](w *walk, of []T) (v T, ok bool) {
	if len(of) == 0 {
		return v, false
	}
	return of[w.IntN(len(of))], true
}

// The statuses of the model, all of which the analytics report.
var (
	applicationStatuses = []string{"pending", "review", "interview", "accepted", "rejected", "withdrawn"}
	listingStatuses     = []string{"active", "inactive", "closed", "draft", "archived"}
)

// step executes one random operation, checks its response, and changes the model.
func (w *walk) step() {
	listing, some := choose(w, w.listings)
	application, applied := choose(w, w.applications)
	seeker, _ := choose(w, w.seekers)
	switch n := w.IntN(20); {
	case n < 3 || !some:
		employer, _ := choose(w, w.employers)
		status, _ := choose(w, []string{"active", "active", "active", "draft"})
		w.listings = append(
			w.listings,
			&walkListing{
				id:     employer.listing(object{"title": fmt.Sprint("Post ", len(w.listings)), "status": status}),
				status: status,
				owner:  employer,
			},
		)
	case n < 5:
		w.changeListing(listing)
	case n < 9:
		w.apply(seeker, listing)
	case n < 12 && applied:
		w.decide(application)
	case n == 12 && applied:
		tracker, _ := choose(w, []string{"pending", "in-progress", "completed", "rejected"})
		if answer := application.seeker.put("/api/jobseekers/applications/"+application.id, object{"status": tracker}); application.withdrawn {
			answer.fails(404, "Application not found")
		} else {
			answer.ok(200)
			application.tracker = tracker
		}
	case n == 13 && applied && w.IntN(3) == 0:
		if answer := application.seeker.delete("/api/jobseekers/applications/" + application.id); application.withdrawn {
			answer.fails(404, "Application not found")
		} else {
			answer.ok(200)
			application.withdrawn = true
			application.setStatus("withdrawn")
		}
	case n < 17:
		w.bookmark(seeker, listing)
	default:
		answer := seeker.get("/api/listings/" + listing.id)
		if listing.status != "active" {
			answer.fails(404, "Listing not found")
			return
		}
		answer.ok(200)
		w.views[[2]string{listing.id, seeker.id}] = true
	}
}

// setStatus sets the status that both sides see. A new status replaces the applicant's own
// note.
func (a *walkApplication) setStatus(status string) {
	if a.status != status {
		a.status, a.tracker = status, ""
	}
}

// visibleStatus returns the status that the applicant sees.
func (a *walkApplication) visibleStatus() string {
	if a.tracker != "" {
		return a.tracker
	}
	return a.status
}

// changeListing deletes, archives, restores, renews, copies or changes the status of the
// listing.
func (w *walk) changeListing(listing *walkListing) {
	by := listing.owner.fromNewAddress()
	switch w.IntN(6) {
	case 0:
		by.delete("/api/employers/jobs/" + listing.id).ok(200)
		listing.status, listing.deleted = "archived", true
	case 1:
		by.post("/api/listings/"+listing.id+"/archive", nil).ok(200)
		listing.status = "archived"
	case 2:
		if answer := by.post("/api/listings/"+listing.id+"/restore", nil); listing.deleted {
			answer.ok(200)
			listing.status, listing.deleted = "active", false
		} else {
			answer.fails(404, "Listing not found or not deleted")
		}
	case 3:
		by.post("/api/employers/jobs/"+listing.id+"/renew", nil).ok(200)
		listing.status, listing.deleted = "active", false
	case 4:
		id := by.post("/api/employers/jobs/"+listing.id+"/duplicate", nil).ok(200).text("data.id")
		w.listings = append(
			w.listings,
			&walkListing{id: id, status: by.get("/api/employers/jobs/" + id).ok(200).text("data.job.status"), owner: listing.owner},
		)
	default:
		status, _ := choose(w, []string{"active", "inactive", "closed"})
		by.put("/api/employers/jobs/"+listing.id, object{"status": status}).ok(200)
		listing.status, listing.deleted = status, false
	}
}

// apply applies to the listing, which fails if it is not active or the seeker has applied
// before.
func (w *walk) apply(seeker *account, listing *walkListing) {
	answer := seeker.fromNewAddress().post("/api/jobseekers/applications", object{"listingId": listing.id})
	had := slices.ContainsFunc(w.applications, func(application *walkApplication) bool {
		return application.listing == listing && application.seeker == seeker
	})
	switch {
	case listing.status != "active":
		answer.fails(404, "Listing not found")
	case had:
		answer.fails(400, "Already applied to this position")
	default:
		w.applications = append(
			w.applications,
			&walkApplication{id: answer.ok(201).text("data.id"), status: "pending", listing: listing, seeker: seeker},
		)
	}
}

// decide changes the status of the application as its employer, which a withdrawal by the
// applicant prevents.
func (w *walk) decide(application *walkApplication) {
	status, _ := choose(w, applicationStatuses)
	by := application.listing.owner.fromNewAddress()
	switch w.IntN(4) {
	case 0: // in a batch with another application, possibly of another employer
		other, _ := choose(w, w.applications)
		var want []string
		for _, x := range []*walkApplication{application, other} {
			if x.listing.owner == application.listing.owner && !x.withdrawn {
				want = append(want, x.id)
				x.setStatus(status)
			}
		}
		answer := by.post("/api/employers/applications/batch", object{"applications": []object{
			{"id": application.id, "status": status},
			{"id": other.id, "status": status},
		}}).
			ok(200)
		require.Len(w.t, answer.list("data.updated"), len(want))
	case 1:
		by.delete("/api/employers/applications/" + application.id).ok(200)
		application.setStatus("withdrawn")
	default:
		if answer := by.put("/api/employers/applications/"+application.id, object{"status": status}); application.withdrawn {
			answer.fails(400, "Invalid status")
		} else {
			answer.ok(200)
			application.setStatus(status)
		}
	}
}

// bookmark saves the listing by one of two routes. If it is saved already, bookmark deletes or
// repeats that.
func (w *walk) bookmark(seeker *account, listing *walkListing) {
	at := slices.IndexFunc(w.bookmarks, func(b *walkBookmark) bool { return b.listing == listing && b.seeker == seeker })
	path, again := "/api/jobseekers/saved", "Already saved"
	if w.IntN(2) == 0 {
		path, again = "/api/jobseekers/bookmarks", "Already bookmarked"
	}
	switch {
	case at >= 0 && w.IntN(2) == 0:
		seeker.delete("/api/jobseekers/bookmarks/" + w.bookmarks[at].id).ok(200)
		w.bookmarks = slices.Delete(w.bookmarks, at, at+1)
	case at >= 0:
		seeker.fromNewAddress().post(path, object{"listingId": listing.id}).fails(400, again)
	case listing.status != "active":
		seeker.fromNewAddress().post(path, object{"listingId": listing.id}).fails(404, "Listing not found")
	default:
		id := seeker.fromNewAddress().post(path, object{"listingId": listing.id}).ok(201).text("data.id")
		w.bookmarks = append(w.bookmarks, &walkBookmark{id: id, listing: listing, seeker: seeker})
	}
}

// requireConsistent compares every count and list with the model.
func (w *walk) requireConsistent() {
	for _, employer := range w.employers {
		w.requireEmployerConsistent(employer)
	}
	for _, seeker := range w.seekers {
		w.requireSeekerConsistent(seeker)
	}
}

// tally counts the elements that are mine by name, and all of them.
func tally[T any](of []T, name func(T) string, mine func(T) bool) (n map[string]int, total int) {
	n = map[string]int{}
	for _, x := range of {
		if mine(x) {
			n[name(x)]++
			total++
		}
	}
	return n, total
}

// listAll reads all pages of a list, requires that their items are as many as the total, and
// returns a member of each item.
func listAll(c *client, path, list, member string) (out []string) {
	c.t.Helper()
	for cursor := ""; ; {
		resp := c.get(path + "limit=100&cursor=" + cursor).ok(200)
		for _, item := range resp.list(list) {
			out = append(out, fmt.Sprint(item.(object)[member]))
		}
		next, _ := resp.body["data"].(object)["nextCursor"].(string)
		if cursor = next; cursor == "" {
			require.InDelta(c.t, len(out), resp.number("data.pagination.total"), 0, path)
			return out
		}
	}
}

// column returns the values of a column of a CSV file.
func column(rows []map[string]string, name string) (out []string) {
	for _, r := range rows {
		out = append(out, r[name])
	}
	return out
}

// count returns how often each value occurs.
func count(values []string) map[string]int {
	n, _ := tally(values, func(s string) string { return s }, func(string) bool { return true })
	return n
}

// requireEmployerConsistent compares the analytics, lists, exports and statistics of the
// employer with the model.
func (w *walk) requireEmployerConsistent(employer *account) {
	w.t.Helper()
	jobs, all := tally(w.listings, func(listing *walkListing) string { return listing.status },
		func(listing *walkListing) bool { return listing.owner == employer })
	received, total := tally(w.applications,
		func(application *walkApplication) string { return application.status },
		func(application *walkApplication) bool { return application.listing.owner == employer })

	analytics := employer.get("/api/employers/analytics").ok(200)
	require.InDelta(w.t, all, analytics.number("data.jobs.total"), 0)
	for _, status := range listingStatuses {
		require.InDelta(w.t, jobs[status], analytics.number("data.jobs."+status), 0, status)
		require.InDelta(w.t, jobs[status],
			employer.get("/api/employers/jobs?limit=1&status="+status).ok(200).number("data.pagination.total"),
			0, status)
	}
	require.Equal(w.t, jobs, count(listAll(employer.client, "/api/employers/jobs?", "data.listings", "status")))
	_, rows := employer.get("/api/employers/jobs/export").table(w.t)
	require.Equal(w.t, jobs, count(column(rows, "status")))

	stats := employer.get("/api/employers/applications/stats").ok(200)
	require.InDelta(w.t, total, analytics.number("data.applications.total"), 0)
	require.InDelta(w.t, total, stats.number("data.total"), 0)
	for _, status := range applicationStatuses {
		require.InDelta(w.t, received[status], analytics.number("data.applications."+status), 0, status)
		require.InDelta(w.t, received[status], stats.number("data.byStatus."+status), 0, status)
		require.InDelta(w.t, received[status],
			employer.get("/api/employers/applications/stats?status="+status).ok(200).number("data.total"), 0,
			status)
	}
	require.Equal(w.t, received, count(listAll(employer.client, "/api/employers/applications?", "data.applications", "status")))
	_, sent := employer.get("/api/employers/applications/export").table(w.t)
	require.Equal(w.t, received, count(column(sent, "status")))

	for _, row := range rows {
		of, n := tally(w.applications, func(application *walkApplication) string { return application.status },
			func(application *walkApplication) bool { return application.listing.id == row["id"] })
		require.Equal(w.t, strconv.Itoa(n), row["applications"])
		views := 0
		for seen := range w.views {
			if seen[0] == row["id"] {
				views++
			}
		}
		if w.IntN(8) > 0 && views == 0 {
			continue // each job needs several requests, so that most jobs without views are left out
		}
		path := "/api/employers/jobs/" + row["id"] + "/analytics"
		require.Eventually(w.t,
			func() bool { return employer.get(path).ok(200).number("data.views") == float64(views) },
			waitTimeout, 20*time.Millisecond)
		resp := employer.get(path).ok(200)
		require.InDelta(w.t, n, resp.number("data.applications.total"), 0)
		for _, status := range applicationStatuses {
			require.InDelta(w.t, of[status], resp.number("data.applications."+status), 0)
			require.InDelta(w.t, of[status],
				employer.get("/api/employers/applications/stats?status="+status+"&jobId="+row["id"]).ok(200).number("data.total"),
				0)
		}
		rate := 0.
		if views > 0 {
			rate = float64(n) / float64(views) * 100
		}
		require.InDelta(w.t, rate, resp.number("data.conversionRate"), 0.005)
	}
}

// requireSeekerConsistent compares the lists, analytics, exports, dashboard and recommendations
// of the seeker with the model, and the public lists.
func (w *walk) requireSeekerConsistent(seeker *account) {
	w.t.Helper()
	shown, total := tally(w.applications, (*walkApplication).visibleStatus,
		func(application *walkApplication) bool { return application.seeker == seeker && !application.withdrawn })
	_, kept := tally(w.bookmarks, func(b *walkBookmark) string { return b.id }, func(b *walkBookmark) bool { return b.seeker == seeker })

	require.Equal(w.t, shown, count(listAll(seeker.client, "/api/jobseekers/applications?", "data.applications", "status")))
	analytics := seeker.get("/api/jobseekers/analytics").ok(200)
	require.InDelta(w.t, total, analytics.number("data.analytics.applications.total"), 0)
	require.InDelta(w.t, shown["pending"], analytics.number("data.analytics.applications.pending"), 0)
	require.InDelta(w.t, kept, analytics.number("data.analytics.bookmarks.savedJobs"), 0)
	_, rows := seeker.get("/api/jobseekers/export/applications?format=csv").table(w.t)
	require.Equal(w.t, shown, count(column(rows, "status")))
	require.Len(w.t, seeker.get("/api/jobseekers/export/applications").ok(200).list("data.applications"), total)
	require.InDelta(w.t, kept, seeker.get("/api/jobseekers/bookmarks?limit=1").ok(200).number("data.pagination.total"), 0)

	dashboard := seeker.get("/api/jobseekers/dashboard").ok(200)
	recommended := seeker.get("/api/jobseekers/recommendations").ok(200)
	require.InDelta(w.t, total, dashboard.number("data.dashboard.stats.applicationsCount"), 0)
	require.InDelta(w.t, kept, dashboard.number("data.dashboard.stats.bookmarksCount"), 0)
	require.InDelta(w.t, recommended.number("data.total"), dashboard.number("data.dashboard.stats.recommendationsCount"), 0)
	ids := func(resp *response, path string) (out []string) {
		for _, item := range resp.list(path) {
			out = append(out, item.(object)["id"].(string))
		}
		return out
	}
	whole := ids(recommended, "data.recommendations")
	few := ids(dashboard, "data.dashboard.recommendations")
	require.Equal(w.t, whole[:len(few)], few)
	for _, id := range whole {
		for _, application := range w.applications {
			require.False(w.t, application.seeker == seeker && application.listing.id == id, "no error asks the user to apply again")
		}
		listing := w.listings[slices.IndexFunc(w.listings, func(listing *walkListing) bool { return listing.id == id })]
		require.Equal(w.t, "active", listing.status)
	}
	open, _ := tally(w.listings, func(listing *walkListing) string { return listing.status }, func(*walkListing) bool { return true })
	require.InDelta(w.t, open["active"], w.seekers[0].get("/api/listings?limit=1").ok(200).number("data.pagination.total"), 0)
	require.InDelta(w.t, open["active"], seeker.get("/api/jobseekers/search").ok(200).number("data.search.pagination.total"), 0)
}
