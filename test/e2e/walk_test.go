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
	const (
		operations          = 1_000
		comparisonFrequency = 100 // operations between two comparisons
	)
	seed := seed()
	onEachSetup(t, func(t *testing.T, server *testServer) {
		defer func() {
			if t.Failed() {
				t.Logf("repeat this walk with LOCUM_TEST_SEED=%d", seed)
			}
		}()

		walk := &walk{
			Rand:      rand.New(rand.NewPCG(seed, 0)),
			t:         t,
			employers: []*account{server.employer(t), server.employer(t)},
			seekers:   []*account{server.seeker(t), server.seeker(t), server.seeker(t)},
			views:     map[walkView]bool{},
		}
		for executed := 1; executed <= operations; executed++ {
			walk.step()

			if executed%comparisonFrequency == 0 {
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
	views              map[walkView]bool // a seeker who opens a listing again does not count again
}

// walkView is a view of a listing by a seeker.
type walkView struct {
	listingID, seekerID string
}

// walkListing is a listing of the model.
type walkListing struct {
	id, status string
	owner      *account
	deleted    bool
}

// walkApplication is an application of the model.
type walkApplication struct {
	id           string
	status       string // the status that the employer sees
	seekerStatus string // the status that the applicant has set for themselves, if any
	listing      *walkListing
	seeker       *account
	withdrawn    bool // by the applicant
}

// walkBookmark is a bookmark of the model.
type walkBookmark struct {
	id      string
	listing *walkListing
	seeker  *account
}

// choose returns a random element, or the zero value if there is none.
func choose[T any](w *walk, elements []T) T {
	if len(elements) == 0 {
		var none T
		return none
	}

	return elements[w.IntN(len(elements))]
}

// The statuses of the model, all of which the analytics report.
var (
	applicationStatuses = []string{"pending", "review", "interview", "accepted", "rejected", "withdrawn"}
	listingStatuses     = []string{"active", "inactive", "closed", "draft", "archived"}
)

// step executes one random operation, checks its response, and changes the model. Operations
// that need a listing or an application are not chosen before there is one.
func (w *walk) step() {
	listing := choose(w, w.listings)
	application := choose(w, w.applications)

	seeker := choose(w, w.seekers)

	// The 20 numbers are equally likely, so that the ranges are the frequencies of the operations. A number whose case
	// has a further condition that is false belongs to a later case: bookmark.
	switch n := w.IntN(20); {
	case n < 3 || listing == nil:
		w.createListing()
	case n < 5:
		w.changeListing(listing)
	case n < 9:
		w.apply(seeker, listing)
	case n < 12 && application != nil:
		w.decide(application)
	case n == 12 && application != nil:
		w.track(application)
	case n == 13 && application != nil && w.IntN(3) == 0: // rarely, because a withdrawal is final
		w.withdraw(application)
	case n < 17:
		w.bookmark(seeker, listing)
	default:
		w.view(seeker, listing)
	}
}

// createListing creates a listing, mostly a published one, of a random employer.
func (w *walk) createListing() {
	employer := choose(w, w.employers)
	status := choose(w, []string{"active", "active", "active", "draft"})
	id := employer.listing(object{"title": fmt.Sprint("Post ", len(w.listings)), "status": status})
	w.listings = append(w.listings, &walkListing{id: id, status: status, owner: employer})
}

// track changes the status that the applicant sees, which a withdrawal prevents.
func (w *walk) track(application *walkApplication) {
	status := choose(w, []string{"pending", "in-progress", "completed", "rejected"})

	resp := application.seeker.put("/api/jobseekers/applications/"+application.id, object{"status": status})
	if application.withdrawn {
		resp.fails(404, "Application not found")
		return
	}

	resp.ok(200)

	application.seekerStatus = status
}

// withdraw withdraws the application as its applicant, which fails the second time.
func (w *walk) withdraw(application *walkApplication) {
	resp := application.seeker.delete("/api/jobseekers/applications/" + application.id)
	if application.withdrawn {
		resp.fails(404, "Application not found")
		return
	}

	resp.ok(200)

	application.withdrawn = true
	application.setStatus("withdrawn")
}

// view opens the listing, which fails if it is not active.
func (w *walk) view(seeker *account, listing *walkListing) {
	resp := seeker.get("/api/listings/" + listing.id)
	if listing.status != "active" {
		resp.fails(404, "Listing not found")
		return
	}

	resp.ok(200)

	w.views[walkView{listingID: listing.id, seekerID: seeker.id}] = true
}

// setStatus sets the status that both sides see. A new status replaces the one that the
// applicant has set.
func (a *walkApplication) setStatus(status string) {
	if a.status == status {
		return
	}

	a.status = status
	a.seekerStatus = ""
}

// visibleStatus returns the status that the applicant sees.
func (a *walkApplication) visibleStatus() string {
	if a.seekerStatus != "" {
		return a.seekerStatus
	}

	return a.status
}

// changeListing deletes, archives, restores, renews, duplicates or changes the status of the
// listing.
func (w *walk) changeListing(listing *walkListing) {
	owner := listing.owner.fromNewAddress()
	switch w.IntN(6) {
	case 0:
		owner.delete("/api/employers/jobs/" + listing.id).ok(200)

		listing.status = "archived"
		listing.deleted = true
	case 1:
		owner.post("/api/listings/"+listing.id+"/archive", nil).ok(200)

		listing.status = "archived"
	case 2:
		resp := owner.post("/api/listings/"+listing.id+"/restore", nil)
		if !listing.deleted {
			resp.fails(404, "Listing not found or not deleted")
			return
		}

		resp.ok(200)

		listing.status = "active"
		listing.deleted = false
	case 3:
		owner.post("/api/employers/jobs/"+listing.id+"/renew", nil).ok(200)

		listing.status = "active"
		listing.deleted = false
	case 4:
		// The status of a duplicate is not predicted: the model adopts the one that the server reports.
		id := owner.post("/api/employers/jobs/"+listing.id+"/duplicate", nil).ok(200).text("data.id")
		status := owner.get("/api/employers/jobs/" + id).ok(200).text("data.job.status")
		w.listings = append(w.listings, &walkListing{id: id, status: status, owner: listing.owner})
	default:
		status := choose(w, []string{"active", "inactive", "closed"})
		owner.put("/api/employers/jobs/"+listing.id, object{"status": status}).ok(200)

		listing.status = status
		listing.deleted = false
	}
}

// apply applies to the listing, which fails if it is not active or the seeker has applied
// before.
func (w *walk) apply(seeker *account, listing *walkListing) {
	resp := seeker.fromNewAddress().post("/api/jobseekers/applications", object{"listingId": listing.id})

	// A withdrawn application also counts: the seeker cannot apply again.
	hasApplied := slices.ContainsFunc(w.applications, func(a *walkApplication) bool {
		return a.listing == listing && a.seeker == seeker
	})
	switch {
	case listing.status != "active":
		resp.fails(404, "Listing not found")
	case hasApplied:
		resp.fails(400, "Already applied to this position")
	default:
		w.applications = append(w.applications, &walkApplication{
			id:      resp.ok(201).text("data.id"),
			status:  "pending",
			listing: listing,
			seeker:  seeker,
		})
	}
}

// decide changes the status of the application as its employer by one of three routes. After a
// withdrawal by the applicant, a change to a status fails.
func (w *walk) decide(application *walkApplication) {
	status := choose(w, applicationStatuses)

	owner := application.listing.owner.fromNewAddress()
	switch w.IntN(4) {
	case 0:
		w.decideBatch(owner, application, choose(w, w.applications), status)
	case 1:
		owner.delete("/api/employers/applications/" + application.id).ok(200)
		application.setStatus("withdrawn")
	default:
		resp := owner.put("/api/employers/applications/"+application.id, object{"status": status})
		if application.withdrawn {
			resp.fails(400, "Invalid status")
			return
		}

		resp.ok(200)
		application.setStatus(status)
	}
}

// decideBatch changes the status of two applications in one request of the first one's
// employer. The batch skips withdrawn applications and those of another employer. Both may be
// the same application.
func (w *walk) decideBatch(owner *client, first, second *walkApplication, status string) {
	var want []string
	for _, application := range []*walkApplication{first, second} {
		if application.listing.owner == first.listing.owner && !application.withdrawn {
			want = append(want, application.id)
			application.setStatus(status)
		}
	}

	resp := owner.post("/api/employers/applications/batch", object{"applications": []object{
		{"id": first.id, "status": status},
		{"id": second.id, "status": status},
	}}).ok(200)
	require.Len(w.t, resp.list("data.updated"), len(want))
}

// bookmark saves the listing by one of the two routes for bookmarks. If the seeker has saved it
// before, bookmark either deletes the bookmark or tries to save the listing again, which fails.
func (w *walk) bookmark(seeker *account, listing *walkListing) {
	path, duplicateError := "/api/jobseekers/saved", "Already saved"
	if w.IntN(2) == 0 {
		path, duplicateError = "/api/jobseekers/bookmarks", "Already bookmarked"
	}

	save := func() *response {
		return seeker.fromNewAddress().post(path, object{"listingId": listing.id})
	}

	index := slices.IndexFunc(w.bookmarks, func(b *walkBookmark) bool {
		return b.listing == listing && b.seeker == seeker
	})
	switch {
	case index >= 0 && w.IntN(2) == 0:
		seeker.delete("/api/jobseekers/bookmarks/" + w.bookmarks[index].id).ok(200)

		w.bookmarks = slices.Delete(w.bookmarks, index, index+1)
	case index >= 0:
		save().fails(400, duplicateError)
	case listing.status != "active":
		save().fails(404, "Listing not found")
	default:
		id := save().ok(201).text("data.id")
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

	w.requirePublicListsConsistent()
}

// requireEmployerConsistent compares the analytics, lists, exports and statistics of the
// employer with the model.
func (w *walk) requireEmployerConsistent(employer *account) {
	w.t.Helper()

	listings := countBy(w.listings, (*walkListing).currentStatus,
		func(l *walkListing) bool { return l.owner == employer })
	applications := countBy(w.applications, (*walkApplication).currentStatus,
		func(a *walkApplication) bool { return a.listing.owner == employer })

	analytics := employer.get("/api/employers/analytics").ok(200)
	require.Equal(w.t, sum(listings), analytics.integer("data.jobs.total"))

	for _, status := range listingStatuses {
		require.Equal(w.t, listings[status], analytics.integer("data.jobs."+status), status)

		list := employer.get("/api/employers/jobs?limit=1&status=" + status).ok(200)
		require.Equal(w.t, listings[status], list.integer("data.pagination.total"), status)
	}

	require.Equal(w.t, listings, count(listAll(employer.client, "/api/employers/jobs?", "data.listings", "status")))

	// The export contains as many listings of each status as the model.
	_, listingRows := employer.get("/api/employers/jobs/export").table(w.t)
	require.Equal(w.t, listings, count(column(listingRows, "status")))

	stats := employer.get("/api/employers/applications/stats").ok(200)

	require.Equal(w.t, sum(applications), analytics.integer("data.applications.total"))
	require.Equal(w.t, sum(applications), stats.integer("data.total"))

	for _, status := range applicationStatuses {
		require.Equal(w.t, applications[status], analytics.integer("data.applications."+status), status)
		require.Equal(w.t, applications[status], stats.integer("data.byStatus."+status), status)

		filtered := employer.get("/api/employers/applications/stats?status=" + status).ok(200)
		require.Equal(w.t, applications[status], filtered.integer("data.total"), status)
	}

	received := listAll(employer.client, "/api/employers/applications?", "data.applications", "status")
	require.Equal(w.t, applications, count(received))

	_, applicationRows := employer.get("/api/employers/applications/export").table(w.t)
	require.Equal(w.t, applications, count(column(applicationRows, "status")))

	for _, row := range listingRows {
		w.requireListingConsistent(employer, row)
	}
}

// requireListingConsistent compares the analytics of a listing, and its row in the export of
// its employer, with the model.
func (w *walk) requireListingConsistent(employer *account, row map[string]string) {
	w.t.Helper()

	applications := countBy(w.applications, (*walkApplication).currentStatus,
		func(a *walkApplication) bool { return a.listing.id == row["id"] })
	require.Equal(w.t, strconv.Itoa(sum(applications)), row["applications"])

	views := 0
	for view := range w.views {
		if view.listingID == row["id"] {
			views++
		}
	}

	// A listing needs several requests. To save time, only one in eight of those without views
	// is compared.
	if w.IntN(8) > 0 && views == 0 {
		return
	}

	// Views are counted in the background, so that the number may be reached with a delay.
	path := "/api/employers/jobs/" + row["id"] + "/analytics"
	require.Eventually(w.t,
		func() bool { return employer.get(path).ok(200).integer("data.views") == views },
		waitTimeout, 20*time.Millisecond)

	analytics := employer.get(path).ok(200)
	require.Equal(w.t, sum(applications), analytics.integer("data.applications.total"))

	for _, status := range applicationStatuses {
		require.Equal(w.t, applications[status], analytics.integer("data.applications."+status))

		stats := employer.get("/api/employers/applications/stats?status=" + status + "&jobId=" + row["id"]).ok(200)
		require.Equal(w.t, applications[status], stats.integer("data.total"))
	}

	// The conversion rate is the percentage of views that led to an application, and zero without views.
	conversionRate := 0.
	if views > 0 {
		conversionRate = float64(sum(applications)) / float64(views) * 100
	}

	// The API rounds to two decimal places.
	require.InDelta(w.t, conversionRate, analytics.number("data.conversionRate"), 0.005)
}

// requireSeekerConsistent compares the lists, analytics, exports, dashboard and recommendations
// of the seeker with the model.
func (w *walk) requireSeekerConsistent(seeker *account) {
	w.t.Helper()

	applications := countBy(w.applications, (*walkApplication).visibleStatus,
		func(a *walkApplication) bool { return a.seeker == seeker && !a.withdrawn })

	bookmarks := 0
	for _, bookmark := range w.bookmarks {
		if bookmark.seeker == seeker {
			bookmarks++
		}
	}

	listed := listAll(seeker.client, "/api/jobseekers/applications?", "data.applications", "status")
	require.Equal(w.t, applications, count(listed))

	analytics := seeker.get("/api/jobseekers/analytics").ok(200)
	require.Equal(w.t, sum(applications), analytics.integer("data.analytics.applications.total"))
	require.Equal(w.t, applications["pending"], analytics.integer("data.analytics.applications.pending"))
	require.Equal(w.t, bookmarks, analytics.integer("data.analytics.bookmarks.savedJobs"))

	_, rows := seeker.get("/api/jobseekers/export/applications?format=csv").table(w.t)
	require.Equal(w.t, applications, count(column(rows, "status")))

	exported := seeker.get("/api/jobseekers/export/applications").ok(200).list("data.applications")
	require.Len(w.t, exported, sum(applications))

	bookmarkList := seeker.get("/api/jobseekers/bookmarks?limit=1").ok(200)
	require.Equal(w.t, bookmarks, bookmarkList.integer("data.pagination.total"))

	dashboard := seeker.get("/api/jobseekers/dashboard").ok(200)
	require.Equal(w.t, sum(applications), dashboard.integer("data.dashboard.stats.applicationsCount"))
	require.Equal(w.t, bookmarks, dashboard.integer("data.dashboard.stats.bookmarksCount"))
	w.requireRecommendationsConsistent(seeker, dashboard)
}

// requireRecommendationsConsistent requires that the recommendations of the seeker are active
// listings without an application by the seeker, and that the dashboard contains the first of
// them and their number.
func (w *walk) requireRecommendationsConsistent(seeker *account, dashboard *response) {
	w.t.Helper()

	recommendations := seeker.get("/api/jobseekers/recommendations").ok(200)
	require.Equal(w.t,
		recommendations.integer("data.total"),
		dashboard.integer("data.dashboard.stats.recommendationsCount"))

	// The dashboard shows the first recommendations in the same order.
	recommended := idsOf(recommendations.list("data.recommendations"))
	onDashboard := idsOf(dashboard.list("data.dashboard.recommendations"))
	require.Equal(w.t, recommended[:len(onDashboard)], onDashboard)

	for _, id := range recommended {
		for _, application := range w.applications {
			require.False(w.t, application.seeker == seeker && application.listing.id == id,
				"a listing is recommended to a user who has applied to it")
		}

		index := slices.IndexFunc(w.listings, func(l *walkListing) bool { return l.id == id })
		require.Equal(w.t, "active", w.listings[index].status)
	}
}

// requirePublicListsConsistent compares the public list and the search with the model.
func (w *walk) requirePublicListsConsistent() {
	w.t.Helper()

	active := 0
	for _, listing := range w.listings {
		if listing.status == "active" {
			active++
		}
	}

	// The public list and the search report as many results as there are active listings.
	seeker := w.seekers[0]
	require.Equal(w.t, active, seeker.get("/api/listings?limit=1").ok(200).integer("data.pagination.total"))

	for _, seeker := range w.seekers {
		search := seeker.get("/api/jobseekers/search").ok(200)
		require.Equal(w.t, active, search.integer("data.search.pagination.total"))
	}
}

// currentStatus returns the status of the listing.
func (l *walkListing) currentStatus() string { return l.status }

// currentStatus returns the status that the employer sees.
func (a *walkApplication) currentStatus() string { return a.status }

// countBy counts the elements for which include returns true, by their key.
func countBy[T any](elements []T, key func(T) string, include func(T) bool) map[string]int {
	counts := map[string]int{}
	for _, element := range elements {
		if include(element) {
			counts[key(element)]++
		}
	}

	return counts
}

// sum returns the sum of the counts.
func sum(counts map[string]int) int {
	total := 0
	for _, n := range counts {
		total += n
	}

	return total
}

// count returns how often each value occurs.
func count(values []string) map[string]int {
	counts := map[string]int{}
	for _, value := range values {
		counts[value]++
	}

	return counts
}

// listAll reads all pages of a list, requires as many items as the total that the last page
// reports, and returns a member of each item. The path ends with ? or &.
func listAll(c *client, path, list, member string) (values []string) {
	c.t.Helper()

	cursor := ""
	for {
		page := c.get(path + "limit=100&cursor=" + cursor).ok(200)
		for _, item := range page.list(list) {
			values = append(values, fmt.Sprint(item.(object)[member]))
		}

		cursor, _ = page.body["data"].(object)["nextCursor"].(string)
		if cursor == "" {
			require.Len(c.t, values, page.integer("data.pagination.total"), path)
			return values
		}
	}
}

// column returns the values of a column of a CSV file.
func column(rows []map[string]string, name string) (values []string) {
	for _, row := range rows {
		values = append(values, row[name])
	}

	return values
}

// idsOf returns the ids of the items of a list.
func idsOf(items []any) (ids []string) {
	for _, item := range items {
		ids = append(ids, item.(object)["id"].(string))
	}

	return ids
}
