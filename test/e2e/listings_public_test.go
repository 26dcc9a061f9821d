package e2e

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestPublicListings checks the public search and detail of listings: results with the
// interpretation of the text, suggestions, filters, pages and errors. Guests and users get the
// same; an invalid token is refused.
func TestPublicListings(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		employer, guest := server.employer(t), server.guest(t)
		subtest := subtests(t, employer.client, guest)
		subtest("GET /api/listings", func(t *testing.T) {
			mark := uniqueWord()
			id := employer.listing(merge(fullListing(), object{"title": "Charge Nurse " + mark}))
			res := guest.get("/api/listings?search=" + mark).ok(200)
			require.Equal(t, object{"page": 1., "limit": 20., "total": 1.}, res.at("data.pagination"))
			require.Len(t, res.list("data.listings"), 1)
			require.Equal(t, id, res.text("data.listings.0.id"))
			require.Equal(t, "Charge Nurse "+mark, res.text("data.listings.0.title"))
			require.Equal(t, organizationName, res.text("data.listings.0.company"))
			require.Equal(t, "Leeds", res.text("data.listings.0.location"))
			require.Equal(t, 38000.5, res.number("data.listings.0.salary.min"))
			require.Equal(t, 45000., res.number("data.listings.0.salary.max"))
			require.Equal(t, "permanent", res.text("data.listings.0.contractType"))
			requireRecent(t, res.text("data.listings.0.postedAt"))

			// An employer and a jobseeker find the same listing as the guest. An invalid token is refused, although guests need none.
			for _, user := range []*client{employer.client, server.seeker(t).client} {
				require.Equal(t, id, user.get("/api/listings?search="+mark).ok(200).text("data.listings.0.id"))
			}

			guest.withInvalidToken().get("/api/listings").fails(401, "Unauthorized")
		})

		subtest("GET /api/listings describes how the text was interpreted", func(t *testing.T) {
			mark := uniqueWord()
			employer.listing(object{"title": "Midwife " + mark, "location": "Truro", "description": "Band 6."})

			// The response contains the recognized role with its position in the text, the correction, the fields that matched, and
			// the number of results for each value of a facet.
			res := guest.get("/api/listings?facets=role,band,region&search=midwifee+" + mark).ok(200) // a typing error
			require.Equal(t,
				object{"slot": "role", "value": "Midwife", "text": "midwifee", "start": 0., "end": 8.},
				res.at("data.understood.0"))
			require.Equal(t, []any{object{"from": "midwifee", "to": "midwife"}}, res.at("data.corrections"))
			require.Equal(t,
				[]any{object{"slot": "role", "how": "title"}, object{"slot": "word", "how": "title"}},
				res.at("data.listings.0.matched"))
			require.Equal(t, false, res.at("data.listings.0.relaxed"))
			require.Contains(t, res.list("data.facets.role"), object{"value": "midwife", "label": "Midwife", "count": 1.})
			require.Contains(t, res.list("data.facets.band"), object{"value": "band-6", "label": "Band 6", "count": 1.})
			require.Equal(t,
				[]any{object{"value": "GB/Cornwall", "label": "Cornwall, United Kingdom", "count": 1.}},
				res.at("data.facets.region"))
			guest.get("/api/listings?facets=company").fails(400, "Invalid filter parameters")

			// Without results, alternatives are suggested, and relaxed results
			// fill the page.
			none := guest.get("/api/listings?search=midwife+" + mark + "+near+penzance").ok(200)
			require.Equal(t, 0., none.number("data.pagination.total"))
			require.Contains(t, none.list("data.suggestions"), object{"text": "within 25 miles of Penzance", "total": 1.})
			require.Equal(t, 1., none.number("data.relaxedCount"))
			require.Equal(t, true, none.at("data.listings.0.relaxed"))
			require.Contains(t, none.list("data.listings.0.matched"), object{"slot": "place", "how": "nearby"})
			require.Empty(t, guest.get("/api/listings?relaxed=false&search=midwife+"+mark+"+near+penzance").ok(200).list("data.listings"))
		})

		subtest("GET /api/listings/suggest completes names that have listings", func(t *testing.T) {
			employer.listing(object{"title": "Perfusionist", "location": "Wrexham", "description": "D"})

			suggest := func(typed string) []any {
				return guest.get("/api/listings/suggest?q=" + typed).ok(200).list("data.suggestions")
			}
			require.Contains(t, suggest("perfus"), object{"kind": "role", "text": "Perfusionist", "total": 1.})
			employer.listing(object{"title": "Paediatrician", "location": "Wrexham", "description": "D"})
			require.NotEmpty(t, suggest("paediatr"))
			require.Equal(t, suggest("paediatr"), suggest("pediatr"), "both spellings have the same suggestions")
			require.Contains(t, suggest("wrex"), object{"kind": "place", "text": "Wrexham", "total": 2.})
			require.Equal(t, "employer", suggest("st+brigid")[0].(object)["kind"])
			require.Empty(t, suggest("zzzz"))
			require.Empty(t, suggest(""))
			guest.get("/api/listings/suggest?q=" + strings.Repeat("x", 201)).invalid("q")
		})

		subtest("GET /api/listings refuses invalid filters", func(t *testing.T) {
			// Each query names its invalid parameter in the error. 1e400 exceeds a float64, 500 miles are the maximum radius and
			// 200 characters that of a text, %00 is a null character, and %ff is not UTF-8.
			for query, field := range map[string]string{
				"contractType=freelance":                       "contractType",
				"salary_min=much":                              "salary_min",
				"salary_min=-1":                                "salary_min",
				"salary_max=1e400":                             "salary_max",
				"salary_min=NaN":                               "salary_min",
				"salary_min=5&salary_max=4":                    "salary_max",
				"employmentType=nights":                        "employmentType",
				"radius=0":                                     "radius",
				"radius=501":                                   "radius",
				"remote=perhaps":                               "remote",
				"postedAfter=yesterday":                        "postedAfter",
				"sort=newest":                                  "sort",
				"search=" + strings.Repeat("x", 201):           "search",
				"location=" + strings.Repeat("x", 201):         "location",
				"contractType=permanent&contractType=contract": "contractType",
				"search=%00":                                   "search",
				"search=%ff":                                   "search",
			} {
				res := guest.get("/api/listings?"+query).fails(400, "Invalid filter parameters")
				require.Equal(t, field, res.text("details.field"), query)
				require.NotEmpty(t, res.text("details.message"))
			}

			// A form also sends its empty fields.
			guest.try("GET", "/api/listings?contractType=&salary_min=&salary_max=&location=&search=&remote=&sort=", nil).ok(200)
			guest.get("/api/listings?unknown=1").ok(200)
		})

		subtest("GET /api/listings invalid pages and limits", func(t *testing.T) {
			for _, page := range []string{"0", "-1", "x", "1.5", "99999999999999999999"} {
				guest.get("/api/listings?page=" + page).invalid("page")
			}

			for _, limit := range []string{"0", "-5", "x"} {
				guest.get("/api/listings?limit=" + limit).invalid("limit")
			}

			// A higher limit than the maximum, 100, is reduced.
			require.Equal(t, 100, guest.get("/api/listings?limit=5000").ok(200).integer("data.pagination.limit"))

			// Page 500 contains the 10,000th item, at which numbered pages end.
			guest.get("/api/listings?page=501&limit=20").invalid("page")
			guest.get("/api/listings?cursor=nonsense").invalid("cursor")
		})

		subtest("GET /api/listings pages", func(t *testing.T) {
			const (
				listingCount = 7
				pageCount    = 3 // of three listings
			)

			mark := uniqueWord()

			jobs := make([]object, listingCount)
			for i := range jobs {
				jobs[i] = object{"title": fmt.Sprintf("Porter %d %s", i, mark), "description": "D", "remote": true}
			}

			employer.fromNewAddress().post("/api/employers/jobs/batch", object{"jobs": jobs}).ok(200)

			// Cursors lead through all pages in every order, and each listing is on one page.
			for _, sort := range []string{
				"", "&sort=date", "&sort=relevance", "&sort=salary",
				"&sort=distance&location=Leeds&remote=true",
			} {
				query := "/api/listings?limit=3&search=" + mark + sort
				timesSeen := map[string]int{} // by title
				pages := 0

				cursor := ""
				for {
					res := guest.get(query + cursor).ok(200)
					pages++

					require.Equal(t, listingCount, res.integer("data.pagination.total"))

					for _, title := range titlesIn(res, "data.listings") {
						timesSeen[title]++
					}

					next := res.at("data").(object)["nextCursor"]
					if next == nil {
						break
					}

					cursor = "&cursor=" + next.(string)
				}

				require.Equal(t, pageCount, pages)
				require.Len(t, timesSeen, listingCount)

				for title, n := range timesSeen {
					require.Equal(t, 1, n, "%s by %s", title, sort)
				}
			}

			// By number, the third page has the last listing and the fourth is empty.
			last := guest.get("/api/listings?limit=3&page=3&search=" + mark).ok(200)
			require.Len(t, last.list("data.listings"), 1)
			require.Equal(t, object{"page": 3., "limit": 3., "total": 7.}, last.at("data.pagination"))
			require.Empty(t, guest.get("/api/listings?limit=3&page=4&search="+mark).ok(200).list("data.listings"))
		})

		subtest("GET /api/listings/:id", func(t *testing.T) {
			id := employer.listing(fullListing())
			for _, spelling := range []string{id, strings.ToUpper(id)} {
				res := guest.get("/api/listings/" + spelling).ok(200)
				require.Equal(t, id, res.text("data.id"))
				require.Equal(t, "Charge Nurse", res.text("data.title"))
				require.Equal(t, organizationName, res.text("data.company"))
				require.Equal(t, "Leads the ward at night.", res.text("data.description"))
				require.Equal(t, "Leeds", res.text("data.location"))
				require.Equal(t, 45000., res.number("data.salary.max"))
				require.Equal(t, "GBP", res.text("data.salary.currency"))
				require.Equal(t, "permanent", res.text("data.contractType"))
				require.Equal(t, []any{"NMC registration", "Two years in charge"}, res.list("data.requirements"))
				require.Equal(t, []any{"NHS pension"}, res.list("data.benefits"))
				require.Equal(t, "2099-03-31T12:00:00Z", res.text("data.applicationDeadline"))
				require.NotContains(t, res.at("data"), "meta", "metadata is for the employer only")
				require.NotContains(t, res.at("data"), "organizationId")
			}

			// A listing with its required fields only has empty lists.
			minimal := guest.get("/api/listings/" + employer.listing(nil)).ok(200)
			require.Empty(t, minimal.list("data.requirements"))
			require.Empty(t, minimal.list("data.benefits"))

			for _, absent := range []string{
				nowhere, "nonsense", "0", "%27", strings.Repeat("9", 300),
				"00000000-0000-0000-0000-000000000000",
			} {
				guest.get("/api/listings/"+absent).fails(404, "Listing not found")
			}

			guest.withInvalidToken().get("/api/listings/"+id).fails(401, "Unauthorized")

			// A draft is visible to its organization and not found for others.
			draft := employer.listing(object{"title": "Unfinished", "status": "draft"})
			require.Equal(t, "draft", employer.get("/api/listings/"+draft).ok(200).text("data.status"),
				"the listing's organization sees it")

			for _, other := range []*client{guest, server.employer(t).client, server.seeker(t).client} {
				other.get("/api/listings/"+draft).fails(404, "Listing not found")
			}
		})

		subtest("POST /api/listings/search", func(t *testing.T) {
			mark := uniqueWord()
			id := employer.listing(object{"title": "Charge Nurse " + mark, "contractType": "permanent"})
			employer.listing(object{"title": "Ward Manager", "description": mark})

			res := guest.post("/api/listings/search", object{"query": mark}).ok(200)
			require.Equal(t, []string{"Charge Nurse " + mark, "Ward Manager"}, titlesIn(res, "data.results"), "titles come first")
			require.Equal(t, id, res.text("data.results.0.id"))
			require.Greater(t, res.number("data.results.0.relevance"), res.number("data.results.1.relevance"))
			require.Equal(t, 2., res.number("data.total"))

			for _, sort := range []string{"relevance", "date", "salary", "distance"} {
				sorted := guest.post("/api/listings/search", object{"query": mark, "sort": sort, "filters": object{}}).ok(200)
				require.Equal(t, 2, sorted.integer("data.total"))
			}

			// The second page of one result is the same by cursor and by number.
			first := guest.post("/api/listings/search", object{"query": mark, "limit": 1}).ok(200)
			byCursor := guest.post("/api/listings/search",
				object{"query": mark, "limit": 1, "cursor": first.text("data.nextCursor")}).ok(200)
			require.Equal(t, []string{"Ward Manager"}, titlesIn(byCursor, "data.results"))

			byPage := guest.post("/api/listings/search", object{"query": mark, "limit": 1, "page": 2}).ok(200)
			require.Equal(t, []string{"Ward Manager"}, titlesIn(byPage, "data.results"))

			// The filter matches one of the two listings. A limit over the maximum is no error.
			filtered := guest.post("/api/listings/search",
				object{"query": mark, "limit": 1000, "filters": object{"contractType": "permanent"}}).ok(200)
			require.Len(t, filtered.list("data.results"), 1)
			require.Empty(t, guest.post("/api/listings/search", object{"query": uniqueWord()}).ok(200).list("data.results"))
			guest.withInvalidToken().
				post("/api/listings/search", object{"query": mark}).
				fails(401, "Unauthorized")
		})

		subtest("POST /api/listings/search refuses invalid input", func(t *testing.T) {
			for body, field := range map[string]string{
				`{}`:                   "query",
				``:                     "query",
				`{"query": ""}`:        "query",
				`{"query": "  \t\n "}`: "query",
				`{"query": null}`:      "query",
				`{"query": 7}`:         "query",
				`{"query": ["nurse"]}`: "query",
				`{"query": "` + strings.Repeat("x", 201) + `"}`:                   "query",
				`{"query": "nurse", "sort": "newest"}`:                            "sort",
				`{"query": "nurse", "sort": 1}`:                                   "sort",
				`{"query": "nurse", "filters": []}`:                               "filters",
				`{"query": "nurse", "filters": "leeds"}`:                          "filters",
				`{"query": "nurse", "filters": {"contractType": "freelance"}}`:    "filters.contractType",
				`{"query": "nurse", "filters": {"salaryMin": "much"}}`:            "filters.salaryMin",
				`{"query": "nurse", "filters": {"salary_min": -1}}`:               "filters.salary_min",
				`{"query": "nurse", "filters": {"salaryMin": 2, "salaryMax": 1}}`: "filters.salaryMax",
				`{"query": "nurse", "filters": {"remote": "yes"}}`:                "filters.remote",
				`{"query": "nurse", "filters": {"postedAfter": "soon"}}`:          "filters.postedAfter",
				`{"query": "nurse", "filters": {"radius": -1}}`:                   "filters.radius",
				`{"query": "nurse", "filters": {"location": 5}}`:                  "filters.location",
				`{"query": "nurse", "page": 0}`:                                   "page",
				`{"query": "nurse", "limit": 0}`:                                  "limit",
				`{"query": "nurse", "limit": "ten"}`:                              "limit",
				`{"query": "nurse", "page": 600}`:                                 "page",
				`{"query": "nurse", "cursor": "x"}`:                               "cursor",
				`["nurse"]`:                                                       "body",
				`{"query": "nurse"`:                                               "body",
				`{"query": "nurse", "query": "doctor"}`:                           "query",
				`{"query": "a\u0000b"}`:                                           "body",
			} {
				res := guest.post("/api/listings/search", body).fails(400, "Invalid search query")
				require.Equal(t, field, res.text("details.field"), body)
			}

			// All errors are reported, in the order of the members in the body.
			severalErrors := guest.post("/api/listings/search",
				`{"filters": {"postedAfter": "soon", "salary_max": 1, "salaryMin": 2}, "sort": "x", "query": ""}`).
				fails(400, "Invalid search query")
			require.Equal(t, []any{"filters.postedAfter", "filters.salary_max", "sort", "query"}, errorFields(severalErrors))
		})
	})
}

// TestOwnedListings checks the routes below /api/listings with which an organization changes
// its own listings: metadata, archiving, restoring after a deletion, and batches of metadata.
func TestOwnedListings(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		employer := server.employer(t)
		otherEmployer := server.employer(t)
		seeker := server.seeker(t)
		guest := server.guest(t)
		subtest := subtests(t, employer.client, otherEmployer.client, seeker.client, guest)

		// requireForOwnersOnly requires that the request fails for guests, jobseekers and
		// requests with an invalid API key.
		requireForOwnersOnly := func(t *testing.T, method, path string, body any) {
			t.Helper()
			guest.send(method, path, body).fails(401, "Unauthorized")
			seeker.send(method, path, body).fails(403, "Forbidden")

			for _, key := range []string{"loc_live_something", "x"} {
				withInvalidKey := *employer.client
				withInvalidKey.apiKey = key
				withInvalidKey.send(method, path, body).fails(401, "Unauthorized")
			}
		}

		subtest("PATCH /api/listings/:id", func(t *testing.T) {
			id := employer.listing(nil)
			path := "/api/listings/" + id
			res := employer.patch(path, object{"meta": object{
				"listing": object{"title": "Front page", "rank": 1},
				"tags":    []string{"new"},
			}}).
				ok(200)
			require.Equal(t, id, res.text("data.uuid"))
			require.Equal(t, "Front page", res.text("data.meta.listing.title"))

			// Metadata is merged at every level; null deletes a member (RFC 7396).
			res = employer.patch(path, object{"meta": object{"listing": object{"title": "Back page"}, "campaign": "spring"}}).ok(200)
			require.Equal(t,
				object{"listing": object{"title": "Back page", "rank": 1.}, "tags": []any{"new"}, "campaign": "spring"},
				res.at("data.meta"))

			res = employer.patch(path, object{"meta": object{"tags": nil, "listing": object{"rank": nil}}}).ok(200)
			require.Equal(t, object{"listing": object{"title": "Back page"}, "campaign": "spring"}, res.at("data.meta"))
			require.Equal(t, res.at("data.meta"), employer.get("/api/employers/jobs/"+id).ok(200).at("data.job.meta"))
			require.Equal(t, res.at("data.meta"), employer.patch(path, object{"meta": object{}}).ok(200).at("data.meta"))

			for field, body := range map[string]string{
				// Numbers must be representable as float64, so that every client reads the
				// same.
				"meta.a":     `{"meta": {"a": 1e200000}}`,
				"meta.a.1.b": `{"meta": {"a": [1, {"c": [], "b": -1e999}]}}`,
			} {
				employer.patch(path, body).invalid(field)
			}

			// Unusual but valid values are accepted. The second request removes them again.
			employer.patch(path, `{"meta": {"large": 1e300, "surrogates": "\ud83d\ude91", "small": 0.1e-300}}`).ok(200)
			employer.patch(path, `{"meta": {"large": null, "surrogates": null, "small": null}}`).ok(200)

			for _, body := range []string{
				`{}`, ``, `{"meta": null}`, `{"meta": []}`, `{"meta": "x"}`, `{"meta": 1}`,
				`{"meta": {"_own": 1}}`, // members that begin with _ are reserved
				`{"meta": {"big": "` + strings.Repeat("x", 17<<10) + `"}}`,               // more than 16 KiB
				`{"meta": ` + strings.Repeat(`{"a":`, 9) + `1` + strings.Repeat(`}`, 10), // nested too deeply
			} {
				employer.patch(path, body).invalid("meta")
			}

			require.Equal(t, res.at("data.meta"),
				employer.patch(path, object{"meta": object{}}).ok(200).at("data.meta"),
				"a refused request changes nothing")

			for _, absent := range []string{nowhere, "nonsense"} {
				employer.patch("/api/listings/"+absent, object{"meta": object{}}).fails(404, "Listing not found")
			}

			change := object{"meta": object{"a": 1}}
			otherEmployer.patch(path, change).fails(404, "Listing not found")
			requireForOwnersOnly(t, "PATCH", path, change)
		})

		subtest("POST /api/listings/:id/archive and POST /api/listings/:id/restore", func(t *testing.T) {
			id := employer.listing(nil)
			archive := "/api/listings/" + id + "/archive"
			restore := "/api/listings/" + id + "/restore"
			employer.post(restore, nil).fails(404, "Listing not found or not deleted")
			require.NotEmpty(t, employer.post(archive, nil).ok(200).text("message"))
			guest.get("/api/listings/"+id).fails(404, "Listing not found")

			job := employer.get("/api/employers/jobs/" + id).ok(200)
			require.Equal(t, "archived", job.text("data.job.status"))
			requireRecent(t, job.text("data.job.archivedAt"))
			employer.post(restore, nil).fails(404, "Listing not found or not deleted")

			// Archiving it again does not change the timestamp.
			employer.post(archive, nil).ok(200)
			require.Equal(t, job.text("data.job.archivedAt"), employer.get("/api/employers/jobs/"+id).text("data.job.archivedAt"))

			// Only a deleted listing can be restored, once, and only by its own organization. It is active and public again.
			employer.fromNewAddress().delete("/api/employers/jobs/" + id).ok(200)
			otherEmployer.post(restore, nil).fails(404, "Listing not found or not deleted")
			require.NotEmpty(t, employer.post(restore, nil).ok(200).text("message"))
			guest.get("/api/listings/" + id).ok(200)

			job = employer.get("/api/employers/jobs/" + id).ok(200)
			require.Equal(t, "active", job.text("data.job.status"))
			require.Nil(t, job.at("data.job.archivedAt"))
			require.Nil(t, job.at("data.job.deletedAt"))
			employer.post(restore, nil).fails(404, "Listing not found or not deleted")

			for _, absent := range []string{nowhere, "nonsense"} {
				employer.post("/api/listings/"+absent+"/archive", nil).fails(404, "Listing not found")
				employer.post("/api/listings/"+absent+"/restore", nil).fails(404, "Listing not found or not deleted")
			}

			otherEmployer.post(archive, nil).fails(404, "Listing not found")
			otherEmployer.post(restore, nil).fails(404, "Listing not found or not deleted")
			requireForOwnersOnly(t, "POST", archive, nil)
			requireForOwnersOnly(t, "POST", restore, nil)
		})

		subtest("PUT /api/listings/batch", func(t *testing.T) {
			first := employer.listing(nil)
			second := employer.listing(nil)
			foreign := otherEmployer.listing(nil)
			tests := []struct {
				item  any
				id    string // in the result
				error string // empty for a success
			}{
				{item: object{"uuid": first, "meta": object{"n": 1, "first": true}}, id: first},
				{item: object{"uuid": foreign, "meta": object{"n": 1}}, id: foreign, error: "Listing not found"},
				{item: object{"uuid": second, "meta": object{"n": 2}}, id: second},
				{item: object{"uuid": "nonsense", "meta": object{}}, id: "nonsense", error: "Listing not found"},
				{item: object{"meta": object{}}, error: "uuid is required"},
				{item: object{"uuid": first}, id: first, error: "meta is required"},
				{item: "text", error: "item must be a JSON object"},
				{item: nil, error: "item must be a JSON object"},
				{item: object{"uuid": first, "meta": object{"n": 3}}, id: first},
			}

			var items []any
			for _, test := range tests {
				items = append(items, test.item)
			}

			res := employer.put("/api/listings/batch", items).ok(200)
			require.Contains(t, res.text("message"), "3", "the number of updates")
			require.Contains(t, res.text("message"), "9", "the number of items")

			for i, test := range tests {
				result := fmt.Sprintf("data.%d.", i)
				require.Equal(t, test.error == "", res.at(result+"success"), "%d %s", i, res.raw)
				require.Equal(t, test.id, res.at(result+"uuid"), "%d %s", i, res.raw)
				require.Equal(t, i, res.integer(result+"index"))

				if test.error != "" {
					require.Equal(t, test.error, res.text(result+"error"))
				}
			}

			// The first and the last item change the same listing, and their members are merged. The foreign listing stays.
			require.Equal(t, object{"n": 3., "first": true},
				employer.get("/api/employers/jobs/"+first).at("data.job.meta"), "the last value applies")
			require.Equal(t, object{}, otherEmployer.get("/api/employers/jobs/"+foreign).at("data.job.meta"))

			requireForOwnersOnly(t, "PUT", "/api/listings/batch", []object{{"uuid": first, "meta": object{}}})
		})

		subtest("PUT /api/listings/batch invalid bodies", func(t *testing.T) {
			for _, body := range []string{`{}`, ``, `{"listings": []}`, `"x"`, `null`, `7`} {
				employer.put("/api/listings/batch", body).fails(400, "Batch update requires an array of listings")
			}

			employer.put("/api/listings/batch", `[`).invalid("body")
			require.Empty(t, employer.put("/api/listings/batch", `[]`).ok(200).list("data"))
		})

		subtest("PUT /api/listings/batch limit of 100", func(t *testing.T) {
			const maxItems = 100

			listing := employer.listing(nil)

			tooMany := make([]object, maxItems+1)
			for i := range tooMany {
				tooMany[i] = object{"uuid": listing, "meta": object{"n": i}}
			}

			// A batch of 101 items is refused. In a batch of 100 for one listing, the last item determines the value.
			require.Equal(t, 400, employer.put("/api/listings/batch", tooMany).status)
			require.Len(t, employer.put("/api/listings/batch", tooMany[:maxItems]).ok(200).list("data"), maxItems)
			require.Equal(t, maxItems-1, employer.get("/api/employers/jobs/"+listing).integer("data.job.meta.n"))
		})
	})
}

// uniqueWord returns a word that no other listing contains, so that a test finds its own
// listings only.
func uniqueWord() string {
	b := []byte("zq")
	for range 10 {
		b = append(b, byte('a'+rand.IntN(26)))
	}

	return string(b)
}

// fullListing returns a listing with every field that an employer may send.
func fullListing() object {
	return object{
		"title":               "Charge Nurse",
		"description":         "Leads the ward at night.",
		"department":          "Acute medicine",
		"contractType":        "permanent",
		"salary":              object{"min": 38000.5, "max": 45000, "currency": "GBP"},
		"location":            "Leeds",
		"requirements":        []string{"NMC registration", "Two years in charge"},
		"benefits":            []string{"NHS pension"},
		"applicationDeadline": "2099-03-31T12:00:00Z",
		"specialty":           "Acute medicine",
		"employmentType":      "full-time",
		"remote":              false,
		"questions":           []object{{"id": "pin", "text": "Your NMC PIN?", "required": true}},
	}
}

// merge returns a copy of o with the members of more.
func merge(o, more object) object {
	out := object{}
	for k, v := range o {
		out[k] = v
	}

	for k, v := range more {
		out[k] = v
	}

	return out
}

// requireRecent requires a timestamp in UTC that is at most a minute from now.
func requireRecent(t *testing.T, timestamp string) {
	t.Helper()

	parsed, err := time.Parse(time.RFC3339, timestamp)
	require.NoError(t, err)
	require.True(t, strings.HasSuffix(timestamp, "Z"), timestamp)
	require.WithinDuration(t, time.Now(), parsed, time.Minute)
}

// titlesIn returns the titles of the items in the list at the path.
func titlesIn(res *response, path string) []string {
	res.t.Helper()

	out := []string{}
	for i := range res.list(path) {
		out = append(out, res.text(fmt.Sprintf("%s.%d.title", path, i)))
	}

	return out
}

// subtests returns a function like t.Run that assigns the failures of the clients
// to the subtest.
func subtests(t *testing.T, clients ...*client) func(name string, test func(t *testing.T)) {
	return func(name string, test func(t *testing.T)) {
		t.Run(name, func(t *testing.T) {
			for _, c := range clients {
				c.t = t
			}

			test(t)
		})
	}
}

// withInvalidToken returns a client with the client's address and an access token that is not
// valid.
func (c *client) withInvalidToken() *client {
	return &client{t: c.t, server: c.server, ip: c.ip, token: "expired"}
}
