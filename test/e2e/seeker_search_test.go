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
		const path = "/api/jobseekers/search"

		employer, seeker, guest := server.employer(t), server.seeker(t), server.guest(t)
		uniqueWord := "Zq" + newEmail()[1:9] // no other listing has this word

		// Four listings, from the oldest to the newest: with the word and the next letter in the title, in known places with
		// different pay, in an unknown place, and without a place.
		inLeeds := employer.listing(
			object{
				"title":        uniqueWord + " b nurse",
				"location":     "Leeds",
				"contractType": "permanent",
				"salary":       object{"min": 30000, "max": 40000},
			},
		)
		inBoston := employer.listing(
			object{
				"title":        uniqueWord + " A nurse",
				"location":     "Boston, Lincolnshire",
				"contractType": "temporary",
				"salary":       object{"min": 20, "max": 25, "period": "hour"},
			},
		)
		inUnknownPlace := employer.listing(object{"title": uniqueWord + " c nurse", "location": "Mare Tranquillitatis"})
		withoutPlace := employer.listing(object{"title": uniqueWord + " d nurse"})

		seeker.post("/api/jobseekers/saved", object{"listingId": inBoston}).ok(201)

		// search returns the ids of the listings that a guest finds with the word and the further parameters, in their order.
		search := func(parameters string) (ids []string) {
			t.Helper()

			for _, job := range guest.get(path + "?q=" + uniqueWord + parameters).ok(200).list("data.search.jobs") {
				ids = append(ids, job.(object)["id"].(string))
			}

			return ids
		}

		t.Run("GET /api/jobseekers/search", func(t *testing.T) {
			byTitle := path + "?sort=title&order=asc&q=" + uniqueWord
			firstPage := seeker.get(byTitle + "&limit=3").ok(200)
			require.Equal(t,
				object{"total": 4., "page": 1., "limit": 3., "totalPages": 2., "hasNext": true, "hasPrev": false},
				firstPage.at("data.search.pagination"))

			first := firstPage.at("data.search.jobs.0").(object)
			require.Equal(t, inBoston, first["id"])
			require.Equal(t, uniqueWord+" A nurse", first["title"])
			require.Equal(t, organizationName, first["company"])
			require.Equal(t, object{"city": "Boston", "region": "Lincolnshire"}, first["location"])
			require.Equal(t, "temporary", first["type"])
			require.Equal(t, object{"min": 20., "max": 25., "currency": "GBP", "period": "hour"}, first["salary"])
			require.Equal(t, object{"city": "Mare Tranquillitatis", "region": ""}, firstPage.at("data.search.jobs.2.location"))

			nextCursor := url.QueryEscape(firstPage.text("data.search.nextCursor"))
			secondPage := seeker.get(byTitle + "&limit=3&cursor=" + nextCursor).ok(200)
			require.Equal(t, withoutPlace, secondPage.text("data.search.jobs.0.id"))

			// Only the seeker has bookmarked a listing, and only the first.
			require.Equal(t, true, first["isBookmarked"])
			require.Equal(t, false, firstPage.at("data.search.jobs.1.isBookmarked"))
			require.Equal(t, false, guest.get(byTitle).ok(200).at("data.search.jobs.0.isBookmarked"))
			require.Equal(t, false, employer.get(byTitle).ok(200).at("data.search.jobs.0.isBookmarked"))
		})

		t.Run("GET /api/jobseekers/search sort orders", func(t *testing.T) {
			// Titles in descending order unless the request has another one, without regard to their case.
			require.Equal(t, []string{withoutPlace, inUnknownPlace, inLeeds, inBoston}, search("&sort=title"))
			require.Equal(t, []string{inBoston, inLeeds, inUnknownPlace, withoutPlace}, search("&sort=title&order=asc"))

			// The time of publication.
			require.Equal(t, []string{withoutPlace, inUnknownPlace, inBoston, inLeeds}, search("&sort=postedAt"))
			require.Equal(t, []string{inLeeds, inBoston, inUnknownPlace, withoutPlace}, search("&sort=postedAt&order=asc"))

			// The default order is by relevance. All are equally relevant, and so in the order of their publication.
			require.Equal(t, []string{withoutPlace, inUnknownPlace, inBoston, inLeeds}, search(""))
			require.Equal(t, []string{inLeeds, inBoston, inUnknownPlace, withoutPlace}, search("&order=asc"))

			// Pay is compared by the year: 25 an hour are 48,750 a year, for 37.5 hours in 52 weeks.
			require.Equal(t, []string{inBoston, inLeeds}, search("&sort=salary")[:2])
			require.Equal(t, []string{inLeeds, inBoston}, search("&sort=salary&order=asc")[:2])

			// The names of places, in both orders with the listing without a place at the end.
			require.Equal(t, []string{inUnknownPlace, inLeeds, inBoston, withoutPlace}, search("&sort=location"))
			require.Equal(t, []string{inBoston, inLeeds, inUnknownPlace, withoutPlace}, search("&sort=location&order=asc"))
		})

		t.Run("GET /api/jobseekers/search filters", func(t *testing.T) {
			require.Equal(t, []string{inLeeds}, search("&location=Bradford"), "Leeds is near Bradford")
			require.Equal(t, []string{inBoston}, search("&type=temporary"))
			require.Empty(t, search("&type=contract"))

			// A listing is found if any of its pay is within the limits.
			require.Equal(t, []string{inBoston, inLeeds}, search("&salaryMin=35000"))
			require.Equal(t, []string{inLeeds}, search("&salaryMax=35000"))
		})

		t.Run("GET /api/jobseekers/search page size", func(t *testing.T) {
			const total, defaultSize, maxSize = 25, 10, 20
			otherWord := uniqueWord + "x"

			var jobs []object
			for i := range total {
				jobs = append(jobs, object{"title": fmt.Sprint(otherWord, " porter ", i), "description": "Days."})
			}

			server.employer(t).post("/api/employers/jobs/batch", object{"jobs": jobs}).ok(200)

			byDefault := guest.get(path + "?q=" + otherWord).ok(200)
			require.Len(t, byDefault.list("data.search.jobs"), defaultSize)
			require.Equal(t, defaultSize, byDefault.integer("data.search.pagination.limit"))

			// A larger size is reduced to the maximum.
			secondPage := guest.get(path + "?limit=100&page=2&q=" + otherWord).ok(200)
			require.Len(t, secondPage.list("data.search.jobs"), total-maxSize)
			require.Equal(t,
				object{"total": 25., "page": 2., "limit": 20., "totalPages": 2., "hasNext": false, "hasPrev": true},
				secondPage.at("data.search.pagination"))
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
				guest.get(path + "?" + query).invalid(field)
			}

			// Guests may search, but an invalid token is refused.
			withInvalidToken := server.guest(t)
			withInvalidToken.token = "nonsense"
			withInvalidToken.get(path).fails(401, "Unauthorized")
		})
	})
}
