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

// states contains the states of a listing by their names.
var states = map[string]struct {
	status   string // as its organization sees it
	isPublic bool
	// newListing creates a listing of the employer in this state, and returns its id.
	newListing func(employer *account) string
}{
	"active": {status: "active", isPublic: true, newListing: func(employer *account) string {
		return employer.listing(nil)
	}},
	"draft": {status: "draft", isPublic: false, newListing: func(employer *account) string {
		return employer.listing(object{"status": "draft"})
	}},
	"inactive": {status: "inactive", isPublic: false, newListing: func(employer *account) string {
		return employer.newListingWithStatus("inactive")
	}},
	"closed": {status: "closed", isPublic: false, newListing: func(employer *account) string {
		return employer.newListingWithStatus("closed")
	}},
	// The deadline does not change the status.
	"expired": {status: "active", isPublic: false, newListing: func(employer *account) string {
		return employer.listing(object{"applicationDeadline": "2020-01-01"})
	}},
	"archived": {status: "archived", isPublic: false, newListing: func(employer *account) string {
		id := employer.listing(nil)
		employer.post("/api/listings/"+id+"/archive", nil).ok(200)

		return id
	}},
	// A deleted listing has the status of an archived one, but only it can be restored. The deletion comes from a new
	// address, because the route is limited by address.
	"deleted": {status: "archived", isPublic: false, newListing: func(employer *account) string {
		id := employer.listing(nil)
		employer.fromNewAddress().delete("/api/employers/jobs/" + id).ok(200)

		return id
	}},
	// A copy is active, whatever the original is.
	"copied": {status: "active", isPublic: true, newListing: func(employer *account) string {
		original := employer.newListingWithStatus("closed")
		return employer.post("/api/employers/jobs/"+original+"/duplicate", nil).ok(200).text("data.id")
	}},
}

// newListingWithStatus creates a listing, sets its status and returns its id. Both requests come from new addresses,
// because their routes are limited by address.
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

		// requireState requires the status of the listing for its organization, and whether it is
		// public.
		requireState := func(t *testing.T, id, status string, isPublic bool) {
			t.Helper()

			// The organization sees its listing in every state.
			job := employer.get("/api/employers/jobs/" + id).ok(200)
			require.Equal(t, status, job.text("data.job.status"))

			isArchived := job.at("data.job.archivedAt") != nil
			require.Equal(t, status == "archived", isArchived, "the time of archiving")
			require.Equal(t, status, employer.get("/api/listings/"+id).ok(200).text("data.status"))

			isListed := strings.Contains(string(guest.get("/api/listings?limit=100").ok(200).raw), id)
			require.Equal(t, isPublic, isListed, "in the public list")

			for _, otherUser := range []*client{guest, rival.client} {
				if isPublic {
					otherUser.get("/api/listings/" + id).ok(200)
				} else {
					otherUser.get("/api/listings/"+id).fails(404, "Listing not found")
				}
			}
		}

		const isPublic, isPrivate = true, false

		for name, state := range states {
			subtest(name, func(t *testing.T) {
				requireState(t, state.newListing(employer), state.status, state.isPublic)
			})

			for _, status := range []string{"active", "inactive", "closed"} {
				subtest(name+" is given the status "+status, func(t *testing.T) {
					id := state.newListing(employer)
					employer.fromNewAddress().put("/api/employers/jobs/"+id, object{"status": status}).ok(200)

					// A status does not change the deadline, so that an expired listing stays private.
					isPublicNow := status == "active" && name != "expired"
					requireState(t, id, status, isPublicNow)
				})
			}

			subtest(name+" is archived", func(t *testing.T) {
				id := state.newListing(employer)
				employer.post("/api/listings/"+id+"/archive", nil).ok(200)
				requireState(t, id, "archived", isPrivate)
			})

			subtest(name+" is deleted", func(t *testing.T) {
				id := state.newListing(employer)
				employer.fromNewAddress().delete("/api/employers/jobs/" + id).ok(200)
				requireState(t, id, "archived", isPrivate)
			})

			subtest(name+" is renewed, which activates it", func(t *testing.T) {
				id := state.newListing(employer)
				renewed := employer.post("/api/employers/jobs/"+id+"/renew", nil).ok(200)
				require.Equal(t, "active", renewed.text("data.status"))
				requireState(t, id, "active", isPublic)
			})

			subtest(name+" is copied to an active listing and keeps its state", func(t *testing.T) {
				original := state.newListing(employer)
				duplicate := employer.post("/api/employers/jobs/"+original+"/duplicate", nil).ok(200).text("data.id")
				requireState(t, duplicate, "active", isPublic)
				requireState(t, original, state.status, state.isPublic)
			})

			subtest(name+" is restored only after deletion", func(t *testing.T) {
				id := state.newListing(employer)

				restored := employer.post("/api/listings/"+id+"/restore", nil)
				if name != "deleted" {
					restored.fails(404, "Listing not found or not deleted")
					requireState(t, id, state.status, state.isPublic)
					return
				}

				restored.ok(200)
				requireState(t, id, "active", isPublic)
			})
		}

		subtest("draft is posted when activated", func(t *testing.T) {
			id := employer.listing(object{"status": "draft"})
			require.Nil(t, employer.get("/api/employers/jobs/"+id).ok(200).at("data.job.postedAt"))
			employer.fromNewAddress().put("/api/employers/jobs/"+id, object{"status": "active"}).ok(200)

			postedAt := guest.get("/api/listings/" + id).ok(200).text("data.postedAt")
			requireRecent(t, postedAt)

			// Close the listing and publish it a second time.
			employer.fromNewAddress().put("/api/employers/jobs/"+id, object{"status": "closed"}).ok(200)
			employer.fromNewAddress().put("/api/employers/jobs/"+id, object{"status": "active"}).ok(200)
			require.Equal(t, postedAt, guest.get("/api/listings/"+id).ok(200).text("data.postedAt"),
				"postedAt is the time of the first publication")
		})

		subtest("expired listing is not public", func(t *testing.T) {
			var id string
			var deadline time.Time

			// A listing that was public before its deadline. On a slow machine the deadline may pass before
			// the first response: then the next listing has twice the time.
			for timeToDeadline := 3 * time.Second; ; timeToDeadline *= 2 {
				deadline = time.Now().Add(timeToDeadline)
				id = employer.listing(object{"applicationDeadline": deadline.UTC().Format(time.RFC3339Nano)})

				found := guest.get("/api/listings/" + id)
				if time.Now().Before(deadline) {
					found.ok(200)
					break
				}
			}

			isHidden := func() bool { return guest.try("GET", "/api/listings/"+id, nil).status == 404 }
			require.Eventually(t, isHidden, waitTimeout, 50*time.Millisecond)
			require.False(t, time.Now().Before(deadline), "public until the deadline")
			require.NotContains(t, string(guest.get("/api/listings?limit=100").ok(200).raw), id)
			requireState(t, id, "active", isPrivate)
		})

		subtest("deadline includes its whole day", func(t *testing.T) {
			today := time.Now().UTC().Format(time.DateOnly)
			id := employer.listing(object{"applicationDeadline": today})
			require.Equal(t, today+"T23:59:59Z", guest.get("/api/listings/"+id).ok(200).text("data.applicationDeadline"))
		})

		// The server may cache a public listing, but not beyond a change.
		subtest("reading a listing after a change returns the change", func(t *testing.T) {
			id := employer.listing(nil)

			const changes = 5 // an outdated read depends on the timing and may be missed once
			for i := range changes {
				title := fmt.Sprint("Title ", i)

				guest.get("/api/listings/" + id).ok(200)
				employer.fromNewAddress().put("/api/employers/jobs/"+id, object{"title": title}).ok(200)
				require.Equal(t, title, guest.get("/api/listings/"+id).ok(200).text("data.title"))
			}
		})
	})
}

// maxRequests contains the routes that are limited by address, each with the number of requests that one address may send
// in 15 minutes. The limit of registration is for an hour and not here.
var maxRequests = map[string]int{
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

// limitPeriod is the time in which an address may send the number of requests in maxRequests.
const limitPeriod = 15 * time.Minute

// TestLimits_ExactlyTheListedRoutes_AreLimited checks that the routes in maxRequests have the limits that are listed there,
// and that no other route has a limit by address, except for registration.
func TestLimits_ExactlyTheListedRoutes_AreLimited(t *testing.T) {
	t.Parallel()

	for _, route := range routes() {
		key := route.Method + " " + route.Path
		if key == "POST /api/auth/register" {
			require.Equal(t, 20, route.Limit.Max)
			require.Equal(t, time.Hour, route.Limit.Per)
			continue
		}

		// A route that is not listed has the limit 0, which means none.
		require.Equal(t, maxRequests[key], route.Limit.Max, key)

		if route.Limit.Max > 0 {
			require.Equal(t, limitPeriod, route.Limit.Per, key)
		}
	}
}

// TestLimits exhausts the limit of every limited route.
func TestLimits(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		for _, route := range routes() {
			key := route.Method + " " + route.Path
			if maxRequests[key] == 0 {
				continue // no limit
			}

			t.Run(key, func(t *testing.T) {
				t.Parallel()
				checkLimit(t, server, server.employer(t), route) // the requests may delete the account
			})
		}
	})
}

// checkLimit exhausts the limit of the route with varied requests of one address, and requires that the next ones are
// refused, and requests that have other limits are not.
func checkLimit(t *testing.T, server *testServer, employer *account, route web.Route) {
	client := server.guest(t)
	pathWithID := func(id string) string { return strings.ReplaceAll(route.Path, ":id", id) }

	// The limit counts requests by address, with any token: here without one, with an invalid one and with a valid one.
	tokens := []string{"", "expired", employer.token}

	// It also counts requests that are refused. The body is invalid for every route, but a DELETE ignores it, and the ids
	// in the paths are unknown.
	const invalidBody = `{"title": 5, "intent": 6}`
	bodyIsRefused := route.TakesBody() && route.Method != http.MethodDelete
	idIsRefused := strings.Contains(route.Path, ":id")

	for i := range maxRequests[route.Method+" "+route.Path] {
		client.token = tokens[i%len(tokens)]

		counted := client.try(route.Method, pathWithID(fmt.Sprint("id-", i)), invalidBody)
		if bodyIsRefused || idIsRefused {
			require.GreaterOrEqual(t, counted.status, 400)
		}

		require.NotEqual(t, http.StatusTooManyRequests, counted.status, "call %d", i+1)
	}

	// The wait is what is left of the period since the first request. Refused requests do not extend it.
	const maxTestDuration = 100 * time.Second

	for range 3 {
		limited := client.send(route.Method, pathWithID(nowhere), nil).fails(429, "Rate limit exceeded")
		retryAfter, err := strconv.Atoi(limited.header.Get("Retry-After"))
		require.NoError(t, err)

		wait := time.Duration(retryAfter) * time.Second
		require.LessOrEqual(t, wait, limitPeriod)
		require.Greater(t, wait, limitPeriod-maxTestDuration)
	}

	fromOtherAddress := client.fromNewAddress().try(route.Method, pathWithID(nowhere), nil)
	require.NotEqual(t, 429, fromOtherAddress.status, "another address has its own limit")

	client.token = employer.token
	require.NotEqual(t, 429, client.try("GET", "/api/employers/jobs", nil).status, "another route has its own limit")

	for _, other := range routes() {
		if other.Path == route.Path && other.Method != route.Method {
			ofOtherMethod := client.try(other.Method, pathWithID(nowhere), nil)
			require.NotEqual(t, 429, ofOtherMethod.status, "%s has its own limit", other.Method)
		}
	}
}
