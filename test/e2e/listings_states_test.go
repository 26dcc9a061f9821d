package e2e

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/adapters/web"
)

// states contains the states of a listing: its status as its organization sees it, whether it
// is public, and how a listing enters the state.
var states = map[string]struct {
	status string // as its organization sees it
	public bool
	enter  func(e *account) string
}{
	"active":   {"active", true, func(e *account) string { return e.listing(nil) }},
	"draft":    {"draft", false, func(e *account) string { return e.listing(object{"status": "draft"}) }},
	"inactive": {"inactive", false, func(e *account) string { return e.newListingWithStatus("inactive") }},
	"closed":   {"closed", false, func(e *account) string { return e.newListingWithStatus("closed") }},
	"expired":  {"active", false, func(e *account) string { return e.listing(object{"applicationDeadline": "2020-01-01"}) }},
	"archived": {"archived", false, func(e *account) string {
		id := e.listing(nil)
		e.post("/api/listings/"+id+"/archive", nil).ok(200)
		return id
	}},
	"deleted": {"archived", false, func(e *account) string {
		id := e.listing(nil)
		e.fromNewAddress().delete("/api/employers/jobs/" + id).ok(200)
		return id
	}},
	"copied": {"active", true, func(e *account) string {
		return e.post("/api/employers/jobs/"+e.newListingWithStatus("closed")+"/duplicate", nil).ok(200).text("data.id")
	}},
}

// newListingWithStatus creates a listing, sets its status and returns its id.
func (a *account) newListingWithStatus(status string) string {
	id := a.listing(nil)
	a.fromNewAddress().put("/api/employers/jobs/"+id, object{"status": status}).ok(200)
	return id
}

// TestListingStates checks every transition from every state: setting a status, archiving,
// deleting, renewing, copying and restoring. Only an active listing before its deadline is
// public.
func TestListingStates(t *testing.T) {
	onEachSetupIfHeavy(t, func(t *testing.T, server *testServer) {
		employer, guest, rival := server.employer(t), server.guest(t), server.employer(t)
		subtest := subtests(t, employer.client, guest, rival.client)

		// shows requires the status of the listing for its organization, and whether it is
		// public.
		shows := func(t *testing.T, id, status string, public bool) {
			t.Helper()

			res := employer.get("/api/employers/jobs/" + id).ok(200)
			require.Equal(t, status, res.text("data.job.status"))
			require.Equal(t, status == "archived", res.at("data.job.archivedAt") != nil)

			listed := strings.Contains(string(guest.get("/api/listings?limit=100").ok(200).raw), id)
			require.Equal(t, public, listed, "in the public list")
			require.Equal(t, status, employer.get("/api/listings/"+id).ok(200).text("data.status"),
				"the listing's organization sees it in every state")

			for _, c := range []*client{guest, rival.client} {
				if public {
					c.get("/api/listings/" + id).ok(200)
				} else {
					c.get("/api/listings/"+id).fails(404, "Listing not found")
				}
			}
		}

		for name, state := range states {
			subtest(name, func(t *testing.T) {
				shows(t, state.enter(employer), state.status, state.public)
			})

			subtest(name+" can be given a status", func(t *testing.T) {
				for _, status := range []string{"active", "inactive", "closed"} {
					id := state.enter(employer)
					employer.fromNewAddress().put("/api/employers/jobs/"+id, object{"status": status}).ok(200)

					// A status does not change the deadline.
					shows(t, id, status, status == "active" && name != "expired")
				}
			})

			subtest(name+" can be archived, deleted, renewed and copied", func(t *testing.T) {
				id := state.enter(employer)
				employer.post("/api/listings/"+id+"/archive", nil).ok(200)
				shows(t, id, "archived", false)

				id = state.enter(employer)
				employer.fromNewAddress().delete("/api/employers/jobs/" + id).ok(200)
				shows(t, id, "archived", false)

				id = state.enter(employer)
				require.Equal(t, "active", employer.post("/api/employers/jobs/"+id+"/renew", nil).ok(200).text("data.status"))
				shows(t, id, "active", true)

				id = state.enter(employer)
				shows(t, employer.post("/api/employers/jobs/"+id+"/duplicate", nil).ok(200).text("data.id"), "active", true)
				shows(t, id, state.status, state.public)
			})

			subtest(name+" is restored only after deletion", func(t *testing.T) {
				id := state.enter(employer)

				res := employer.post("/api/listings/"+id+"/restore", nil)
				if name != "deleted" {
					res.fails(404, "Listing not found or not deleted")
					shows(t, id, state.status, state.public)
					return
				}

				res.ok(200)
				shows(t, id, "active", true)
			})
		}

		subtest("draft is posted when activated", func(t *testing.T) {
			id := employer.listing(object{"status": "draft"})
			require.Nil(t, employer.get("/api/employers/jobs/"+id).ok(200).at("data.job.postedAt"))
			employer.fromNewAddress().put("/api/employers/jobs/"+id, object{"status": "active"}).ok(200)

			posted := guest.get("/api/listings/" + id).ok(200).text("data.postedAt")
			requireRecent(t, posted)

			for _, status := range []string{"closed", "active"} {
				employer.fromNewAddress().put("/api/employers/jobs/"+id, object{"status": status}).ok(200)
			}

			require.Equal(t, posted, guest.get("/api/listings/"+id).ok(200).text("data.postedAt"),
				"postedAt is the time of the first publication")
		})

		subtest("expired listing is not public", func(t *testing.T) {
			var id string
			var deadline time.Time

			// On a slow machine, the deadline may pass before the first request: then it is
			// doubled.
			for open := 3 * time.Second; ; open *= 2 { // until the listing was public before its deadline
				deadline = time.Now().Add(open)

				id = employer.listing(object{"applicationDeadline": deadline.UTC().Format(time.RFC3339Nano)})
				if seen := guest.get("/api/listings/" + id); time.Now().Before(deadline) {
					seen.ok(200)
					break
				}
			}

			require.Eventually(t,
				func() bool { return guest.try("GET", "/api/listings/"+id, nil).status == 404 }, waitTimeout,
				50*time.Millisecond)
			require.False(t, time.Now().Before(deadline))
			require.NotContains(t, string(guest.get("/api/listings?limit=100").ok(200).raw), id)
			shows(t, id, "active", false)
		})

		subtest("deadline includes its whole day", func(t *testing.T) {
			today := time.Now().UTC().Format(time.DateOnly)
			id := employer.listing(object{"applicationDeadline": today})
			require.Equal(t, today+"T23:59:59Z", guest.get("/api/listings/"+id).ok(200).text("data.applicationDeadline"))
		})

		subtest("read after write", func(t *testing.T) {
			id := employer.listing(nil)
			for i := range 5 {
				title := fmt.Sprint("Title ", i)

				guest.get("/api/listings/" + id).ok(200)
				employer.fromNewAddress().put("/api/employers/jobs/"+id, object{"title": title}).ok(200)
				require.Equal(t, title, guest.get("/api/listings/"+id).ok(200).text("data.title"))
			}
		})
	})
}

// limited contains the rate-limited routes, each with its limit in 15 minutes. Registration has
// another kind of limit.
var limited = map[string]int{
	"PUT /api/jobseekers/profile":            10,
	"PUT /api/employers/profile":             10,
	"DELETE /api/employers/profile":          10,
	"POST /api/employers/jobs":               10,
	"POST /api/employers/jobs/batch":         10,
	"PUT /api/employers/jobs/batch":          10,
	"PUT /api/employers/jobs/:id":            10,
	"DELETE /api/employers/jobs/:id":         10,
	"POST /api/employers/team":               10,
	"PUT /api/employers/settings":            10,
	"DELETE /api/employers/settings":         10,
	"PUT /api/employers/applications/:id":    10,
	"DELETE /api/employers/applications/:id": 10,
	"POST /api/jobseekers/applications":      10,
	"POST /api/jobseekers/bookmarks":         10,
	"POST /api/jobseekers/documents":         10,
	"PUT /api/jobseekers/notifications/:id":  10,
	"POST /api/jobseekers/onboarding":        10,
	"POST /api/jobseekers/billing":           10,
	"POST /api/billing/setup-intents":        10,
	"POST /api/auth/register-employer":       5,
	"POST /api/listings/:id/report":          10,
}

// TestLimits_LimitedRoutes_AreDocumented checks that exactly the routes in limited have a
// limit.
func TestLimits_LimitedRoutes_AreDocumented(t *testing.T) {
	t.Parallel()

	for _, route := range routes() {
		key := route.Method + " " + route.Path
		if key == "POST /api/auth/register" {
			require.Equal(t, 20, route.Limit.Max)
			require.Equal(t, time.Hour, route.Limit.Per)
			continue
		}

		require.Equal(t, limited[key], route.Limit.Max, key)

		if route.Limit.Max > 0 {
			require.Equal(t, 15*time.Minute, route.Limit.Per, key)
		}
	}
}

// TestLimits exhausts the limit of every limited route.
func TestLimits(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		for _, route := range routes() {
			key := route.Method + " " + route.Path
			if limited[key] == 0 {
				continue
			}

			t.Run(key, func(t *testing.T) {
				t.Parallel()
				checkLimit(t, server, server.employer(t), route) // the requests may delete the account
			})
		}
	})
}

// checkLimit exhausts a limit with varied requests and requires that the next one
// is refused.
func checkLimit(t *testing.T, server *testServer, employer *account, route web.Route) {
	n := limited[route.Method+" "+route.Path]
	c := server.guest(t)

	path := func(id string) string { return strings.ReplaceAll(route.Path, ":id", id) }
	for i := range n {
		c.token = []string{"", "expired", employer.token}[i%3] // the limit counts addresses, with any token
		res := c.try(route.Method, path(fmt.Sprint("id-", i)), `{"title": 5, "intent": 6}`)

		// The body is invalid for every route, but DELETE has no body to refuse.
		if route.TakesBody() && route.Method != http.MethodDelete || strings.Contains(route.Path, ":id") {
			require.GreaterOrEqual(t, res.status, 400)
		}

		require.NotEqual(t, http.StatusTooManyRequests, res.status, "call %d", i+1)
	}

	for range 3 { // refused requests do not extend the time
		res := c.send(route.Method, path(nowhere), nil).fails(429, "Rate limit exceeded")
		after, err := strconv.Atoi(res.header.Get("Retry-After"))
		require.NoError(t, err)
		require.LessOrEqual(t, after, 900)
		require.Greater(t, after, 800)
	}

	require.NotEqual(t, 429, c.fromNewAddress().try(route.Method, path(nowhere), nil).status, "another address has its own limit")

	c.token = employer.token
	require.NotEqual(t, 429, c.try("GET", "/api/employers/jobs", nil).status, "another route has its own limit")

	for _, other := range routes() {
		if other.Path == route.Path && other.Method != route.Method {
			require.NotEqual(t, 429, c.try(other.Method, path(nowhere), nil).status, "another method has its own limit")
		}
	}
}
