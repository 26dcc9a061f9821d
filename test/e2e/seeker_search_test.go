package e2e

import (
	"fmt"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestJobseekerSearch checks the search of the jobseekers' API: its response format with
// bookmarks, orders, filters and page sizes of at most 20. Guests and employers can use it,
// too.
func TestJobseekerSearch(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		employer, seeker := server.employer(t), server.seeker(t)
		word := "Zq" + newEmail()[1:9] // no other listing has this word
		leeds := employer.listing(
			object{
				"title":        word + " b nurse",
				"location":     "Leeds",
				"contractType": "permanent",
				"salary":       object{"min": 30000, "max": 40000},
			},
		)
		boston := employer.listing(
			object{
				"title":        word + " A nurse",
				"location":     "Boston, Lincolnshire",
				"contractType": "temporary",
				"salary":       object{"min": 20, "max": 25, "period": "hour"},
			},
		)
		moon := employer.listing(object{"title": word + " c nurse", "location": "Mare Tranquillitatis"})
		bare := employer.listing(object{"title": word + " d nurse"})

		seeker.fromNewAddress().post("/api/jobseekers/saved", object{"listingId": boston}).ok(201)

		ids := func(c *client, query string) []string {
			t.Helper()

			var out []string
			for _, job := range c.get("/api/jobseekers/search?q=" + word + query).ok(200).list("data.search.jobs") {
				out = append(out, job.(map[string]any)["id"].(string))
			}

			return out
		}

		guest := server.guest(t)

		t.Run("GET /api/jobseekers/search", func(t *testing.T) {
			resp := seeker.get("/api/jobseekers/search?sort=title&order=asc&limit=3&q=" + word).ok(200)
			require.Equal(t,
				object{"total": 4., "page": 1., "limit": 3., "totalPages": 2., "hasNext": true, "hasPrev": false},
				resp.at("data.search.pagination"))

			first := resp.at("data.search.jobs.0").(map[string]any)
			require.Equal(t, boston, first["id"])
			require.Equal(t, word+" A nurse", first["title"])
			require.Equal(t, "St Brigid's Hospital", first["company"])
			require.Equal(t, object{"city": "Boston", "region": "Lincolnshire"}, first["location"])
			require.Equal(t, "temporary", first["type"])
			require.Equal(t, object{"min": 20., "max": 25., "currency": "GBP", "period": "hour"}, first["salary"])
			require.Equal(t, true, first["isBookmarked"])
			require.Equal(t, false, resp.at("data.search.jobs.1.isBookmarked"))
			require.Equal(t, object{"city": "Mare Tranquillitatis", "region": ""}, resp.at("data.search.jobs.2.location"))

			next := seeker.get("/api/jobseekers/search?sort=title&order=asc&limit=3&q=" + word + "&cursor=" + url.QueryEscape(resp.text("data.search.nextCursor"))).
				ok(200)
			require.Equal(t, bare, next.text("data.search.jobs.0.id"))
			require.Equal(t, false,
				guest.get("/api/jobseekers/search?sort=title&order=asc&q="+word).ok(200).at("data.search.jobs.0.isBookmarked"))
			require.Equal(t, false,
				employer.get("/api/jobseekers/search?sort=title&order=asc&q="+word).ok(200).at("data.search.jobs.0.isBookmarked"))
		})

		t.Run("GET /api/jobseekers/search sort orders", func(t *testing.T) {
			require.Equal(t, []string{bare, moon, leeds, boston}, ids(guest, "&sort=title"))
			require.Equal(t, []string{boston, leeds, moon, bare}, ids(guest, "&sort=title&order=asc"))
			require.Equal(t, []string{bare, moon, boston, leeds}, ids(guest, "&sort=postedAt"))
			require.Equal(t, []string{leeds, boston, moon, bare}, ids(guest, "&sort=postedAt&order=asc"))
			require.Equal(t, []string{leeds, boston, moon, bare}, ids(guest, "&order=asc"))

			// 25 an hour are 48,750 a year.
			require.Equal(t, []string{boston, leeds}, ids(guest, "&sort=salary")[:2], "by the year")
			require.Equal(t, []string{leeds, boston}, ids(guest, "&sort=salary&order=asc")[:2])
			require.Equal(t, []string{moon, leeds, boston, bare}, ids(guest, "&sort=location"))
			require.Equal(t, []string{boston, leeds, moon, bare}, ids(guest, "&sort=location&order=asc"),
				"listings without a place are last")
			require.Equal(t, []string{bare, moon, boston, leeds}, ids(guest, ""), "equally relevant: the newest first")
		})

		t.Run("GET /api/jobseekers/search filters", func(t *testing.T) {
			require.Equal(t, []string{leeds}, ids(guest, "&location=Bradford"))
			require.Equal(t, []string{boston}, ids(guest, "&type=temporary"))
			require.Equal(t, []string{boston, leeds}, ids(guest, "&salaryMin=35000"))
			require.Equal(t, []string{leeds}, ids(guest, "&salaryMax=35000"))
			require.Empty(t, ids(guest, "&type=contract"))
		})

		t.Run("GET /api/jobseekers/search page size", func(t *testing.T) {
			otherUser := server.employer(t)

			var jobs []object
			for i := range 25 {
				jobs = append(jobs, object{"title": fmt.Sprint(word, "x porter ", i), "description": "Days."})
			}

			otherUser.fromNewAddress().post("/api/employers/jobs/batch", object{"jobs": jobs}).ok(200)

			resp := guest.get("/api/jobseekers/search?q=" + word + "x").ok(200)
			require.Len(t, resp.list("data.search.jobs"), 10)
			require.Equal(t, 10.0, resp.number("data.search.pagination.limit"))

			resp = guest.get("/api/jobseekers/search?limit=100&page=2&q=" + word + "x").ok(200)
			require.Len(t, resp.list("data.search.jobs"), 5)
			require.Equal(t,
				object{"total": 25., "page": 2., "limit": 20., "totalPages": 2., "hasNext": false, "hasPrev": true},
				resp.at("data.search.pagination"))
		})

		t.Run("GET /api/jobseekers/search refuses unknown values", func(t *testing.T) {
			for query, field := range map[string]string{
				"type=forever":            "type",
				"sort=best":               "sort",
				"order=up":                "order",
				"salaryMin=x":             "salaryMin",
				"salaryMin=-1":            "salaryMin",
				"salaryMin=2&salaryMax=1": "salaryMax",
				"page=0":                  "page",
				"limit=0":                 "limit",
				"page=ten":                "page",
				"page=1001&limit=20":      "page",
				"cursor=x":                "cursor",
			} {
				guest.get("/api/jobseekers/search?" + query).invalid(field)
			}

			(&client{t: t, server: server, ip: guest.ip, token: "nonsense"}).get("/api/jobseekers/search").fails(401, "Unauthorized")
		})
	})
}
