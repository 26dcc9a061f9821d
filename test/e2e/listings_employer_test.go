package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestEmployerJobs checks the API for an organization's jobs: every operation and its errors,
// for the owner and for strangers. Text is stored unchanged, and fields that a client may not
// set are ignored.
func TestEmployerJobs(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		employer, rival, seeker, guest := server.employer(t), server.employer(t), server.seeker(t), server.guest(t)
		subtest := subtests(t, employer.client, rival.client, seeker.client, guest)
		// strangers requires that the request fails for guests, expired tokens and jobseekers,
		// and, if foreign, with 404 for another organization.
		strangers := func(t *testing.T, method, path string, body any, foreign bool) {
			t.Helper()
			guest.fromNewAddress().send(method, path, body).fails(401, "Unauthorized")
			(&client{t: t, server: server, token: "expired", ip: server.guest(t).ip}).send(method, path, body).fails(401, "Unauthorized")
			seeker.fromNewAddress().send(method, path, body).fails(403, "Forbidden")
			if foreign {
				rival.fromNewAddress().send(method, path, body).fails(404, "Job listing not found")
			}
		}
		subtest("GET /api/employers/jobs", func(t *testing.T) {
			e := server.employer(t)
			empty := e.get("/api/employers/jobs").ok(200)
			require.Equal(t, object{"total": 0., "page": 1., "limit": 20., "totalPages": 0.}, empty.at("data.pagination"))
			require.Empty(t, empty.list("data.listings"))
			var ids []string
			for i, status := range []string{"", "draft", ""} { // active by default
				ids = append(ids, e.listing(object{"title": fmt.Sprint("Job ", i), "status": status}))
			}
			e.fromNewAddress().delete("/api/employers/jobs/" + ids[2]).ok(200)
			res := e.get("/api/employers/jobs").ok(200)
			require.Equal(t, []string{"Job 2", "Job 1", "Job 0"}, titlesIn(res, "data.listings"))
			require.Equal(t, ids[2], res.text("data.listings.0.id"))
			require.Equal(t, "St Brigid's Hospital", res.text("data.listings.0.company"))
			for i, status := range []string{"archived", "draft", "active"} {
				require.Equal(t, status, res.text(fmt.Sprintf("data.listings.%d.status", i)))
			}
			require.Equal(t, object{"total": 3., "page": 1., "limit": 20., "totalPages": 1.}, res.at("data.pagination"))
			require.Equal(t, object{"total": 3., "page": 2., "limit": 2., "totalPages": 2.},
				e.get("/api/employers/jobs?limit=2&page=2").ok(200).at("data.pagination"))
			first := e.get("/api/employers/jobs?limit=2").ok(200)
			require.Equal(t, []string{"Job 0"},
				titlesIn(e.get("/api/employers/jobs?limit=2&cursor="+first.text("data.nextCursor")).ok(200), "data.listings"))
			require.Equal(t, 100., e.get("/api/employers/jobs?limit=101").ok(200).number("data.pagination.limit"))
			e.get("/api/employers/jobs?page=0").invalid("page")
			e.get("/api/employers/jobs?limit=0").invalid("limit")
			e.get("/api/employers/jobs?limit=ten").invalid("limit")
			e.get("/api/employers/jobs?cursor=x").invalid("cursor")
			require.Empty(t, rival.get("/api/employers/jobs").ok(200).list("data.listings"))
			strangers(t, "GET", "/api/employers/jobs", nil, false)
		})
		subtest("POST /api/employers/jobs", func(t *testing.T) {
			res := employer.fromNewAddress().post("/api/employers/jobs", fullListing()).ok(201)
			require.NotEmpty(t, res.text("data.id"))
			guest.get("/api/listings/" + res.text("data.id")).ok(200)
			strangers(t, "POST", "/api/employers/jobs", fullListing(), false)
		})
		subtest("POST /api/employers/jobs ignores read-only fields", func(t *testing.T) {
			id := employer.fromNewAddress().post("/api/employers/jobs", merge(fullListing(), object{
				"id":             nowhere,
				"uuid":           nowhere,
				"organizationId": rival.id,
				"status":         "archived",
				"postedAt":       "2001-01-01T00:00:00Z",
				"company":        "Elsewhere",
				"meta":           object{"a": 1},
				"createdAt":      "2001-01-01T00:00:00Z",
				"archivedAt":     "2001-01-01T00:00:00Z",
				"deletedAt":      "2001-01-01T00:00:00Z",
				"version":        7,
				"open":           false,
				"views":          5,
				"unknown":        []int{1},
			})).ok(201).text("data.id")
			require.NotEqual(t, nowhere, id)
			res := employer.get("/api/employers/jobs/" + id).ok(200)
			require.Equal(t, "active", res.text("data.job.status"))
			require.Equal(t, "St Brigid's Hospital", res.text("data.job.company"))
			require.Equal(t, object{}, res.at("data.job.meta"))
			requireRecent(t, res.text("data.job.postedAt"))
			requireRecent(t, res.text("data.job.createdAt"))
			require.Nil(t, res.at("data.job.archivedAt"))
			require.Nil(t, res.at("data.job.deletedAt"))
			employer.fromNewAddress().put("/api/employers/jobs/"+id, object{
				"id":             nowhere,
				"organizationId": rival.id,
				"postedAt":       "2001-01-01T00:00:00Z",
				"company":        "Elsewhere",
				"meta":           object{"a": 1},
				"archivedAt":     "2001-01-01T00:00:00Z",
				"version":        99,
			}).ok(200)
			b := employer.get("/api/employers/jobs/" + id).ok(200)
			before, after := res.at("data.job").(object), b.at("data.job").(object)
			delete(before, "updatedAt")
			delete(after, "updatedAt")
			require.Equal(t, before, after)
		})
		subtest("POST /api/employers/jobs stores text unchanged", func(t *testing.T) {
			for _, text := range []string{
				// Scripts, line separators, SQL, LIKE patterns, HTML, combining characters,
				// formulas and ligatures, which a database or a normalization could change.
				"🚑 Nurse 看護師 نيورس", "a\u2028b", `"'; DROP TABLE listings; --`, `%_\*\\`,
				"<b>&amp;</b>", "e\u0301é", "line one\nline two\tend", "=1+1", "ﬁ½²",
			} {
				all := object{
					"title":        text,
					"description":  text,
					"department":   text,
					"location":     text,
					"specialty":    text,
					"requirements": []any{text},
					"benefits":     []any{text},
					"questions":    []any{object{"id": text, "text": text, "required": false}},
				}
				id := employer.fromNewAddress().post("/api/employers/jobs", all).ok(201).text("data.id")
				employer.patch("/api/listings/"+id, object{"meta": object{text: text}}).ok(200)
				res := employer.get("/api/employers/jobs/" + id).ok(200)
				for field, want := range all {
					require.Equal(t, want, res.at("data.job."+field), field)
				}
				require.Equal(t, object{text: text}, res.at("data.job.meta"))
				guest.get("/api/listings/" + id).ok(200)
				require.Equal(t, text, guest.get("/api/listings?limit=1").ok(200).text("data.listings.0.title"))
			}
		})
		subtest("POST /api/employers/jobs validation errors", func(t *testing.T) {
			long := func(n int) string { return strings.Repeat("x", n) }
			for body, field := range map[string]string{
				`{}`:                                 "title",
				``:                                   "title",
				`{"title": "T"}`:                     "description",
				`{"description": "D"}`:               "title",
				`{"title": " ", "description": "D"}`: "title",
				`{"title": "\u00a0\u200b\ufeff", "description": "D"}`: "title",
				// The first error is that of the first invalid member in the body.
				`{"description": 5, "title": 7}`:                                                                        "description",
				`{"title": 7, "description": 5}`:                                                                        "title",
				`{"contractType": "x"}`:                                                                                 "contractType",
				`{"title": null, "description": "D"}`:                                                                   "title",
				`{"title": ["T"], "description": "D"}`:                                                                  "title",
				`{"title": {}, "description": "D"}`:                                                                     "title",
				`{"title": "` + long(201) + `", "description": "D"}`:                                                    "title",
				`{"title": "T", "description": "` + long(20001) + `"}`:                                                  "description",
				`{"title": "T", "description": "D", "department": 5}`:                                                   "department",
				`{"title": "T", "description": "D", "contractType": "freelance"}`:                                       "contractType",
				`{"title": "T", "description": "D", "salary": 5}`:                                                       "salary",
				`{"title": "T", "description": "D", "salary": {"min": "5"}}`:                                            "salary.min",
				`{"title": "T", "description": "D", "salary": {"min": -5}}`:                                             "salary.min",
				`{"title": "T", "description": "D", "salary": {"min": 5, "max": 4}}`:                                    "salary.max",
				`{"title": "T", "description": "D", "salary": {"min": 5, "currency": "XYZ"}}`:                           "salary.currency",
				`{"title": "T", "description": "D", "salary": {"min": 5, "period": "minute"}}`:                          "salary.period",
				`{"title": "T", "description": "D", "salary": {"min": 1e12}}`:                                           "salary.min",
				`{"title": "T", "description": "D", "salary": {"min": 1e999}}`:                                          "salary.min",
				`{"title": "T", "description": "D", "salary": {"max": 5.005}}`:                                          "salary.max",
				`{"title": "T", "description": "D", "requirements": "all"}`:                                             "requirements",
				`{"title": "T", "description": "D", "requirements": ["a", 5]}`:                                          "requirements.1",
				`{"title": "T", "description": "D", "benefits": [null]}`:                                                "benefits.0",
				`{"title": "T", "description": "D", "benefits": [" "]}`:                                                 "benefits.0",
				`{"title": "T", "description": "D", "applicationDeadline": "soon"}`:                                     "applicationDeadline",
				`{"title": "T", "description": "D", "applicationDeadline": 1767225600}`:                                 "applicationDeadline",
				`{"title": "T", "description": "D", "applicationDeadline": "2026-02-30"}`:                               "applicationDeadline",
				`{"title": "T", "description": "D", "remote": "no"}`:                                                    "remote",
				`{"title": "T", "description": "D", "employmentType": "nights"}`:                                        "employmentType",
				`{"title": "T", "description": "D", "questions": [{"id": "a"}]}`:                                        "questions.0.text",
				`{"title": "T", "description": "D", "questions": [{"id": "a", "text": "A"}, {"id": "a", "text": "B"}]}`: "questions.1.id",
				// Duplicate members are refused at every level, because parsers differ in which
				// one they use.
				`{"title": "T", "title": "U", "description": "D"}`:              "title",
				`{"title": "T", "description": "D", "extra": {"a": 1, "a": 2}}`: "a",
				`{"title": "T\u0000", "description": "D"}`:                      "body",
				"{\"title\": \"T\xff\", \"description\": \"D\"}":                "body",
				`{"title": "T", `:                      "body",
				`[]`:                                   "body",
				`"T"`:                                  "body",
				`null`:                                 "body",
				`{"title": "T", "description": "D"} x`: "body",
			} {
				res := employer.fromNewAddress().post("/api/employers/jobs", body)
				require.Equal(t, 400, res.status, "%s: %s", body, res.raw)
				res.invalid(field)
				require.Equal(t, res.at("details"), res.at("errors.0"), body)
			}
			all := employer.fromNewAddress().
				post("/api/employers/jobs", `{"salary": {"max": -1}, "contractType": "x"}`).
				invalid("salary.max")
			require.Equal(t, []any{"salary.max", "contractType", "title", "description"}, errorFields(all))
			all = employer.fromNewAddress().
				post("/api/employers/jobs", `{"applicationDeadline": "soon", "title": " ", "salary": {"currency": "XYZ", "max": 4, "min": 5}, "contractType": "x", "remote": 1, "description": "D"}`)
			require.Equal(t,
				[]any{"applicationDeadline", "title", "salary.currency", "contractType", "remote"},
				errorFields(all.invalid("applicationDeadline")))
			// More than 1 MiB, the limit of a body.
			huge := employer.fromNewAddress().
				post("/api/employers/jobs", object{"title": "T", "description": "D", "extra": long(1_100_000)})
			require.Equal(t, 413, huge.status)
			require.Equal(t, false, huge.body["success"])
			require.NotEmpty(t, huge.text("error"))
		})
		subtest("methods that a route does not have", func(t *testing.T) {
			for path, allowed := range map[string][]string{
				"/api/employers/jobs":                   {"GET", "HEAD", "POST"},
				"/api/employers/jobs/batch":             {"POST", "PUT"},
				"/api/employers/jobs/" + nowhere:        {"GET", "HEAD", "PUT", "DELETE"},
				"/api/listings":                         {"GET", "HEAD"},
				"/api/listings/search":                  {"POST"},
				"/api/listings/batch":                   {"PUT"},
				"/api/listings/" + nowhere + "/archive": {"POST"},
			} {
				// Methods are case-sensitive.
				for _, m := range []string{"GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND", "get"} {
					if slices.Contains(allowed, m) {
						continue
					}
					res := employer.fromNewAddress().try(m, path, object{}).fails(405, "Method not allowed")
					require.ElementsMatch(t, allowed, strings.Split(res.header.Get("Allow"), ", "), "%s %s", m, path)
				}
			}
			employer.get("/api/employers/jobs/"+nowhere+"/nothing").fails(404, "Not found")
			employer.get("/api/nothing").fails(404, "Not found")
			employer.try("PROPFIND", "/api/nothing", nil).fails(404, "Not found")
		})
		subtest("GET /api/employers/jobs/:id", func(t *testing.T) {
			id := employer.listing(fullListing())
			require.Equal(t, id, employer.get("/api/employers/jobs/"+strings.ToUpper(id)).ok(200).text("data.job.id"))
			res := employer.get("/api/employers/jobs/" + id).ok(200)
			for field, want := range (object{
				"id":           id,
				"title":        "Charge Nurse",
				"description":  "Leads the ward at night.",
				"company":      "St Brigid's Hospital",
				"location":     "Leeds",
				"status":       "active",
				"department":   "Acute medicine",
				"contractType": "permanent",
			}) {
				require.Equal(t, want, res.at("data.job."+field), field)
			}
			employer.get("/api/employers/jobs/"+nowhere).fails(404, "Job listing not found")
			employer.get("/api/employers/jobs/nonsense").fails(404, "Job listing not found")
			strangers(t, "GET", "/api/employers/jobs/"+id, nil, true)
		})
		subtest("PUT /api/employers/jobs/:id", func(t *testing.T) {
			id := employer.listing(fullListing())
			path := "/api/employers/jobs/" + id
			require.Equal(
				t,
				id,
				employer.fromNewAddress().
					put(path, object{"title": "Ward Manager", "salary": object{"min": 50000}}).
					ok(200).
					text("data.id"),
			)
			res := guest.get("/api/listings/" + id).ok(200)
			require.Equal(t, "Ward Manager", res.text("data.title"))
			require.Equal(t, 50000., res.number("data.salary.min"))
			require.Equal(t, "Leads the ward at night.", res.text("data.description"), "absent members stay unchanged")
			employer.fromNewAddress().
				put(path, object{"requirements": []string{}, "salary": object{}, "applicationDeadline": "", "contractType": "contract"}).
				ok(200)
			res = guest.get("/api/listings/" + id).ok(200)
			require.Empty(t, res.list("data.requirements"))
			require.Nil(t, res.at("data.salary"))
			require.Nil(t, res.at("data.applicationDeadline"))
			require.Equal(t, "contract", res.text("data.contractType"))
			employer.fromNewAddress().put(path, object{}).ok(200)
			for body, field := range map[string]string{
				`{"title": ""}`:                     "title",
				`{"description": " "}`:              "description",
				`{"status": "draft"}`:               "status",
				`{"status": "archived"}`:            "status",
				`{"status": 1}`:                     "status",
				`{"status": ""}`:                    "status",
				`{"contractType": "x", "title": 5}`: "contractType",
				`[]`:                                "body",
				`{`:                                 "body",
			} {
				employer.fromNewAddress().put(path, body).invalid(field)
			}
			for _, absent := range []string{nowhere, "nonsense"} {
				employer.fromNewAddress().put("/api/employers/jobs/"+absent, object{"title": "T"}).fails(404, "Job listing not found")
			}
			strangers(t, "PUT", path, object{"title": "Taken"}, true)
		})
		subtest("DELETE /api/employers/jobs/:id", func(t *testing.T) {
			id := employer.listing(nil)
			path := "/api/employers/jobs/" + id
			strangers(t, "DELETE", path, nil, true)
			require.Equal(t, id, employer.fromNewAddress().delete(path).ok(200).text("data.id"))
			guest.get("/api/listings/"+id).fails(404, "Listing not found")
			res := employer.get(path).ok(200)
			require.Equal(t, "archived", res.text("data.job.status"))
			requireRecent(t, res.text("data.job.deletedAt"))
			for _, absent := range []string{nowhere, "nonsense"} {
				employer.fromNewAddress().delete("/api/employers/jobs/"+absent).fails(404, "Job listing not found")
			}
		})
		subtest("POST /api/employers/jobs/batch", func(t *testing.T) {
			const path = "/api/employers/jobs/batch"
			res := employer.fromNewAddress().post(path, object{"jobs": []any{
				object{
					"title":       "One",
					"description": "D",
				}, object{"description": "D"}, merge(fullListing(), object{"title": "Two", "status": "draft"}), object{"title": "Three"},
				object{
					"title":        "Four",
					"description":  "D",
					"contractType": "x",
				}, object{"title": "Five", "description": "D", "status": "closed", "id": nowhere}, "text", nil,
			}}).ok(200)
			require.Equal(t, []string{"One", "Two", "Five"}, titlesIn(res, "data.created"))
			require.Len(t, res.list("data.failed"), 5)
			require.Equal(t, object{"job": object{"description": "D"}, "error": "title is required"}, res.at("data.failed.0"))
			require.Equal(t, "description is required", res.text("data.failed.1.error"))
			require.Contains(t, res.text("data.failed.2.error"), "contractType")
			require.Equal(t, "text", res.at("data.failed.3.job"))
			require.Contains(t, res.text("message"), "3")
			require.Contains(t, res.text("message"), "5")
			for i, status := range []string{"active", "draft", "active"} {
				id := res.text(fmt.Sprintf("data.created.%d.id", i))
				require.NotEqual(t, nowhere, id)
				require.Equal(t, status, employer.get("/api/employers/jobs/"+id).ok(200).text("data.job.status"))
			}
			many := make([]object, 101)
			for i := range many {
				many[i] = object{"title": fmt.Sprint("Job ", i), "description": "D"}
			}
			employer.fromNewAddress().post(path, object{"jobs": many}).fails(400, "Maximum 100 jobs per batch request")
			require.Len(t, employer.fromNewAddress().post(path, object{"jobs": many[:100]}).ok(200).list("data.created"), 100)
			none := employer.fromNewAddress().post(path, object{"jobs": []object{}}).ok(200)
			require.Empty(t, none.list("data.created"))
			require.Empty(t, none.list("data.failed"))
			for _, body := range []string{`{}`, ``, `{"jobs": null}`, `{"jobs": {}}`, `{"jobs": "all"}`, `{"jobs": 5}`} {
				employer.fromNewAddress().post(path, body).invalid("jobs")
			}
			employer.fromNewAddress().post(path, `[]`).invalid("body")
			strangers(t, "POST", path, object{"jobs": many[:1]}, false)
		})
		subtest("PUT /api/employers/jobs/batch", func(t *testing.T) {
			const path = "/api/employers/jobs/batch"
			one, two, foreign := employer.listing(nil), employer.listing(nil), rival.listing(nil)
			res := employer.fromNewAddress().put(path, object{"jobs": []any{
				object{
					"id":         one,
					"title":      "First",
					"department": "A",
				}, object{"id": foreign, "title": "Taken"}, object{"id": two, "status": "closed"}, object{"id": nowhere, "title": "T"},
				object{
					"id":    "nonsense",
					"title": "T",
				}, object{"title": "T"}, object{"id": one, "status": "draft"}, object{"id": one, "title": ""}, 7, object{"id": one, "title": "Last"},
			}}).ok(200)
			require.Equal(t, []any{object{"id": one}, object{"id": two}, object{"id": one}}, res.at("data.updated"))
			require.Equal(t,
				object{"job": object{"id": foreign, "title": "Taken"}, "error": "Job listing not found"},
				res.at("data.failed.0"))
			for i, message := range []string{
				"Job listing not found", "Job listing not found", "Job listing not found",
				"id is required", "status must be one of: active, inactive, closed",
				"title is required", "item must be a JSON object",
			} {
				require.Equal(t, message, res.text(fmt.Sprintf("data.failed.%d.error", i)), "%s", res.raw)
			}
			require.Contains(t, res.text("message"), "3")
			require.Contains(t, res.text("message"), "7")
			require.Equal(t, "Last", employer.get("/api/employers/jobs/"+one).text("data.job.title"), "the last value applies")
			require.Equal(t, "A", employer.get("/api/employers/jobs/"+one).text("data.job.department"), "in order")
			require.Equal(t, "closed", employer.get("/api/employers/jobs/"+two).text("data.job.status"))
			require.Equal(t, "Staff Nurse", rival.get("/api/employers/jobs/"+foreign).text("data.job.title"))
			many := make([]object, 101)
			for i := range many {
				many[i] = object{"id": one, "title": fmt.Sprint("Job ", i)}
			}
			employer.fromNewAddress().put(path, object{"jobs": many}).fails(400, "Maximum 100 jobs per batch request")
			require.Len(t, employer.fromNewAddress().put(path, object{"jobs": many[:100]}).ok(200).list("data.updated"), 100, "each counts")
			employer.fromNewAddress().put(path, `{}`).invalid("jobs")
			strangers(t, "PUT", path, object{"jobs": many[:1]}, false)
		})
		subtest("POST /api/employers/jobs/:id/duplicate", func(t *testing.T) {
			id := employer.listing(fullListing())
			employer.patch("/api/listings/"+id, object{"meta": object{"a": 1}}).ok(200)
			employer.post("/api/employers/jobs/"+strings.ToUpper(id)+"/duplicate", nil).ok(200)
			res := employer.post("/api/employers/jobs/"+id+"/duplicate", nil).ok(200)
			require.NotEqual(t, id, res.text("data.id"))
			require.Equal(t, "Charge Nurse (Copy)", res.text("data.title"))
			source := employer.get("/api/employers/jobs/" + id).at("data.job").(object)
			twin := employer.get("/api/employers/jobs/" + res.text("data.id")).at("data.job").(object)
			for _, field := range []string{
				"description", "department", "contractType", "salary", "location", "requirements",
				"benefits", "questions", "specialty", "employmentType", "company",
			} {
				require.Equal(t, source[field], twin[field], field)
			}
			require.Equal(t, "active", twin["status"])
			// The longest title is cut to leave space for " (Copy)".
			long := employer.listing(object{"title": strings.Repeat("é", 200)})
			require.True(
				t,
				strings.HasSuffix(employer.post("/api/employers/jobs/"+long+"/duplicate", nil).ok(200).text("data.title"), " (Copy)"),
			)
			for _, absent := range []string{nowhere, "nonsense"} {
				employer.post("/api/employers/jobs/"+absent+"/duplicate", nil).fails(404, "Job listing not found")
			}
			strangers(t, "POST", "/api/employers/jobs/"+id+"/duplicate", nil, true)
		})
		subtest("POST /api/employers/jobs/:id/renew", func(t *testing.T) {
			id := employer.listing(object{"applicationDeadline": "2020-01-01"})
			path := "/api/employers/jobs/" + id + "/renew"
			guest.get("/api/listings/"+id).fails(404, "Listing not found")
			until := func(res *response) time.Time {
				t.Helper()
				require.Equal(t, id, res.text("data.id"))
				require.Equal(t, "active", res.text("data.status"))
				at, err := time.Parse(time.RFC3339, res.text("data.applicationDeadline"))
				require.NoError(t, err)
				return at
			}
			first := until(employer.post(path, nil).ok(200))
			require.WithinDuration(t, time.Now().AddDate(0, 0, 30), first, time.Minute, "30 days from now, because the deadline has passed")
			guest.get("/api/listings/" + id).ok(200)
			second := until(employer.post(path, object{"durationDays": 7}).ok(200))
			require.Equal(t, first.AddDate(0, 0, 7), second, "from the deadline, because it is later than now")
			require.Equal(t, second.AddDate(0, 0, 30), until(employer.post(path, object{}).ok(200)))
			until(employer.post(path, object{"durationDays": 365}).ok(200))
			for _, odd := range []string{"0", "-1", "366", "1.5", `"30"`, "1e9", "[]", "true"} {
				employer.post(path, `{"durationDays": `+odd+`}`).invalid("durationDays")
			}
			for _, absent := range []string{nowhere, "nonsense"} {
				employer.post("/api/employers/jobs/"+absent+"/renew", nil).fails(404, "Job listing not found")
			}
			strangers(t, "POST", path, nil, true)
		})
	})
}

// errorFields returns the names of all fields in a validation error.
func errorFields(res *response) []any {
	res.t.Helper()
	var out []any
	for i := range res.list("errors") {
		out = append(out, res.text(fmt.Sprintf("errors.%d.field", i)))
	}
	return out
}
