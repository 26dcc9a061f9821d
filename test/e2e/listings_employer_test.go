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
		employer := server.employer(t)
		otherEmployer := server.employer(t)
		seeker := server.seeker(t)
		guest := server.guest(t)
		subtest := subtests(t, employer.client, otherEmployer.client, seeker.client, guest)

		// requireForEmployersOnly requires that the request fails for guests, invalid tokens and
		// jobseekers.
		requireForEmployersOnly := func(t *testing.T, method, path string, body any) {
			t.Helper()
			guest.fromNewAddress().send(method, path, body).fails(401, "Unauthorized")
			guest.fromNewAddress().withInvalidToken().send(method, path, body).fails(401, "Unauthorized")
			seeker.fromNewAddress().send(method, path, body).fails(403, "Forbidden")
		}

		// requireForOrganizationOnly requires that the request fails for everyone outside of the
		// employer's organization: other organizations are told that the job does not exist.
		requireForOrganizationOnly := func(t *testing.T, method, path string, body any) {
			t.Helper()
			requireForEmployersOnly(t, method, path, body)
			otherEmployer.fromNewAddress().send(method, path, body).fails(404, "Job listing not found")
		}

		subtest("GET /api/employers/jobs without jobs", func(t *testing.T) {
			empty := server.employer(t).get("/api/employers/jobs").ok(200)
			require.Equal(t, object{"total": 0., "page": 1., "limit": 20., "totalPages": 0.}, empty.at("data.pagination"))
			require.Empty(t, empty.list("data.listings"))
		})

		// newEmployerWithThreeJobs returns an employer without the jobs of the other subtests. The titles of its jobs name
		// their states. It also returns the id of the newest job, which is deleted.
		newEmployerWithThreeJobs := func(t *testing.T) (lister *account, deleted string) {
			t.Helper()

			lister = server.employer(t)
			lister.listing(object{"title": "Active job", "status": ""}) // active by default
			lister.listing(object{"title": "Draft job", "status": "draft"})

			deleted = lister.listing(object{"title": "Deleted job"})
			lister.fromNewAddress().delete("/api/employers/jobs/" + deleted).ok(200)

			return lister, deleted
		}

		subtest("GET /api/employers/jobs", func(t *testing.T) {
			lister, deleted := newEmployerWithThreeJobs(t)

			// The newest job is first. A deleted job stays in the list as an archived one.
			res := lister.get("/api/employers/jobs").ok(200)
			require.Equal(t, []string{"Deleted job", "Draft job", "Active job"}, titlesIn(res, "data.listings"))
			require.Equal(t, deleted, res.text("data.listings.0.id"))
			require.Equal(t, organizationName, res.text("data.listings.0.company"))
			require.Equal(t, "archived", res.text("data.listings.0.status"))
			require.Equal(t, "draft", res.text("data.listings.1.status"))
			require.Equal(t, "active", res.text("data.listings.2.status"))
			require.Equal(t, object{"total": 3., "page": 1., "limit": 20., "totalPages": 1.}, res.at("data.pagination"))
		})

		subtest("GET /api/employers/jobs by page and by cursor", func(t *testing.T) {
			lister, _ := newEmployerWithThreeJobs(t)
			secondPage := lister.get("/api/employers/jobs?limit=2&page=2").ok(200)
			require.Equal(t, object{"total": 3., "page": 2., "limit": 2., "totalPages": 2.}, secondPage.at("data.pagination"))

			// The cursor of the first page leads to the third and oldest job.
			first := lister.get("/api/employers/jobs?limit=2").ok(200)
			second := lister.get("/api/employers/jobs?limit=2&cursor=" + first.text("data.nextCursor")).ok(200)
			require.Equal(t, []string{"Active job"}, titlesIn(second, "data.listings"))
		})

		subtest("GET /api/employers/jobs checks its parameters", func(t *testing.T) {
			// A higher limit than the maximum, 100, is reduced.
			require.Equal(t, 100, employer.get("/api/employers/jobs?limit=101").ok(200).integer("data.pagination.limit"))
			employer.get("/api/employers/jobs?page=0").invalid("page")
			employer.get("/api/employers/jobs?limit=0").invalid("limit")
			employer.get("/api/employers/jobs?limit=ten").invalid("limit")
			employer.get("/api/employers/jobs?cursor=x").invalid("cursor")
		})

		subtest("GET /api/employers/jobs hides jobs from other users", func(t *testing.T) {
			newEmployerWithThreeJobs(t)
			require.Empty(t, otherEmployer.get("/api/employers/jobs").ok(200).list("data.listings"))
			requireForEmployersOnly(t, "GET", "/api/employers/jobs", nil)
		})

		subtest("POST /api/employers/jobs", func(t *testing.T) {
			res := employer.fromNewAddress().post("/api/employers/jobs", fullListing()).ok(201)
			require.NotEmpty(t, res.text("data.id"))
			guest.get("/api/listings/" + res.text("data.id")).ok(200)
			requireForEmployersOnly(t, "POST", "/api/employers/jobs", fullListing())
		})

		subtest("POST /api/employers/jobs and PUT /api/employers/jobs/:id ignore read-only fields", func(t *testing.T) {
			id := employer.fromNewAddress().post("/api/employers/jobs", merge(fullListing(), object{
				"id":             nowhere,
				"uuid":           nowhere,
				"organizationId": otherEmployer.id,
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

			// The job has the defaults of the server instead of the values of the request.
			created := employer.get("/api/employers/jobs/" + id).ok(200)
			require.Equal(t, "active", created.text("data.job.status"))
			require.Equal(t, organizationName, created.text("data.job.company"))
			require.Equal(t, object{}, created.at("data.job.meta"))
			requireRecent(t, created.text("data.job.postedAt"))
			requireRecent(t, created.text("data.job.createdAt"))
			require.Nil(t, created.at("data.job.archivedAt"))
			require.Nil(t, created.at("data.job.deletedAt"))

			// The update names read-only fields only, so that it changes nothing but the time of the update.
			employer.fromNewAddress().put("/api/employers/jobs/"+id, object{
				"id":             nowhere,
				"organizationId": otherEmployer.id,
				"postedAt":       "2001-01-01T00:00:00Z",
				"company":        "Elsewhere",
				"meta":           object{"a": 1},
				"archivedAt":     "2001-01-01T00:00:00Z",
				"version":        99,
			}).ok(200)

			updated := employer.get("/api/employers/jobs/" + id).ok(200)
			before := created.at("data.job").(object)
			after := updated.at("data.job").(object)

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
				fields := object{
					"title":        text,
					"description":  text,
					"department":   text,
					"location":     text,
					"specialty":    text,
					"requirements": []any{text},
					"benefits":     []any{text},
					"questions":    []any{object{"id": text, "text": text, "required": false}},
				}
				id := employer.fromNewAddress().post("/api/employers/jobs", fields).ok(201).text("data.id")
				employer.patch("/api/listings/"+id, object{"meta": object{text: text}}).ok(200)

				res := employer.get("/api/employers/jobs/" + id).ok(200)
				for field, want := range fields {
					require.Equal(t, want, res.at("data.job."+field), field)
				}

				require.Equal(t, object{text: text}, res.at("data.job.meta"))
				guest.get("/api/listings/" + id).ok(200)
				require.Equal(t, text, guest.get("/api/listings?limit=1").ok(200).text("data.listings.0.title"))
			}
		})

		// requireInvalid requires that a job with the body is refused, and that the first reported error is about the field.
		requireInvalid := func(t *testing.T, body, field string) {
			t.Helper()

			res := employer.fromNewAddress().post("/api/employers/jobs", body)
			require.Equal(t, 400, res.status, "%s: %s", body, res.raw)
			res.invalid(field)
			require.Equal(t, res.at("details"), res.at("errors.0"), body)
		}

		subtest("POST /api/employers/jobs requires a valid title and description", func(t *testing.T) {
			tooLongTitle := strings.Repeat("x", 200+1)
			tooLongDescription := strings.Repeat("x", 20_000+1)

			for body, field := range map[string]string{
				`{}`:                                 "title",
				``:                                   "title",
				`{"title": "T"}`:                     "description",
				`{"description": "D"}`:               "title",
				`{"title": " ", "description": "D"}`: "title",
				// Spaces that are invisible: no-break, of width zero and the byte order mark.
				`{"title": "\u00a0\u200b\ufeff", "description": "D"}`:         "title",
				`{"title": null, "description": "D"}`:                         "title",
				`{"title": ["T"], "description": "D"}`:                        "title",
				`{"title": {}, "description": "D"}`:                           "title",
				`{"title": "` + tooLongTitle + `", "description": "D"}`:       "title",
				`{"title": "T", "description": "` + tooLongDescription + `"}`: "description",
				// The first error is that of the first invalid member in the body, before those of missing members.
				`{"description": 5, "title": 7}`: "description",
				`{"title": 7, "description": 5}`: "title",
				`{"contractType": "x"}`:          "contractType",
			} {
				requireInvalid(t, body, field)
			}
		})

		subtest("POST /api/employers/jobs refuses invalid optional members", func(t *testing.T) {
			for member, field := range map[string]string{
				`"department": 5`:                          "department",
				`"contractType": "freelance"`:              "contractType",
				`"salary": 5`:                              "salary",
				`"salary": {"min": "5"}`:                   "salary.min",
				`"salary": {"min": -5}`:                    "salary.min",
				`"salary": {"min": 5, "max": 4}`:           "salary.max",
				`"salary": {"min": 5, "currency": "XYZ"}`:  "salary.currency",
				`"salary": {"min": 5, "period": "minute"}`: "salary.period",
				`"salary": {"min": 1e12}`:                  "salary.min",
				`"salary": {"min": 1e999}`:                 "salary.min",
				`"salary": {"max": 5.005}`:                 "salary.max",
				`"requirements": "all"`:                    "requirements",
				`"requirements": ["a", 5]`:                 "requirements.1",
				`"benefits": [null]`:                       "benefits.0",
				`"benefits": [" "]`:                        "benefits.0",
				`"applicationDeadline": "soon"`:            "applicationDeadline",
				`"applicationDeadline": 1767225600`:        "applicationDeadline",
				`"applicationDeadline": "2026-02-30"`:      "applicationDeadline",
				`"remote": "no"`:                           "remote",
				`"employmentType": "nights"`:               "employmentType",
				`"questions": [{"id": "a"}]`:               "questions.0.text",
				`"questions": [{"id": "a", "text": "A"}, {"id": "a", "text": "B"}]`: "questions.1.id",
			} {
				requireInvalid(t, `{"title": "T", "description": "D", `+member+`}`, field)
			}
		})

		subtest("POST /api/employers/jobs refuses malformed bodies", func(t *testing.T) {
			for body, field := range map[string]string{
				// Duplicate members are refused at every level, because parsers differ in which one they use.
				`{"title": "T", "title": "U", "description": "D"}`:              "title",
				`{"title": "T", "description": "D", "extra": {"a": 1, "a": 2}}`: "a",
				// Characters that are not text: NUL, and bytes that are not UTF-8.
				`{"title": "T\u0000", "description": "D"}`:       "body",
				"{\"title\": \"T\xff\", \"description\": \"D\"}": "body",
				// No complete JSON object, or more than one value.
				`{"title": "T", `:                      "body",
				`[]`:                                   "body",
				`"T"`:                                  "body",
				`null`:                                 "body",
				`{"title": "T", "description": "D"} x`: "body",
			} {
				requireInvalid(t, body, field)
			}
		})

		subtest("POST /api/employers/jobs reports all invalid fields", func(t *testing.T) {
			// Errors are in the order of the body. Required members that are absent come last.
			missingLast := employer.fromNewAddress().
				post("/api/employers/jobs", `{"salary": {"max": -1}, "contractType": "x"}`).
				invalid("salary.max")
			require.Equal(t, []any{"salary.max", "contractType", "title", "description"}, errorFields(missingLast))

			inOrderOfBody := employer.fromNewAddress().
				post("/api/employers/jobs", `{
					"applicationDeadline": "soon",
					"title": " ",
					"salary": {"currency": "XYZ", "max": 4, "min": 5},
					"contractType": "x",
					"remote": 1,
					"description": "D"
				}`).
				invalid("applicationDeadline")
			require.Equal(t,
				[]any{"applicationDeadline", "title", "salary.currency", "contractType", "remote"},
				errorFields(inOrderOfBody))
		})

		subtest("POST /api/employers/jobs body over 1 MiB", func(t *testing.T) {
			const maxBody = 1 << 20 // bytes

			tooLarge := object{"title": "T", "description": "D", "extra": strings.Repeat("x", maxBody)}
			res := employer.fromNewAddress().post("/api/employers/jobs", tooLarge)
			require.Equal(t, 413, res.status)
			require.Equal(t, false, res.body["success"])
			require.NotEmpty(t, res.text("error"))
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
				for _, method := range []string{
					"GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND",
					"get", // methods are case-sensitive
				} {
					if slices.Contains(allowed, method) {
						continue
					}

					res := employer.fromNewAddress().try(method, path, object{}).fails(405, "Method not allowed")
					require.ElementsMatch(t, allowed, strings.Split(res.header.Get("Allow"), ", "), "%s %s", method, path)
				}
			}

			// An unknown path is not found, whatever its method.
			employer.get("/api/employers/jobs/"+nowhere+"/nothing").fails(404, "Not found")
			employer.get("/api/nothing").fails(404, "Not found")
			employer.try("PROPFIND", "/api/nothing", nil).fails(404, "Not found")
		})

		subtest("GET /api/employers/jobs/:id", func(t *testing.T) {
			id := employer.listing(fullListing())
			path := "/api/employers/jobs/" + id

			// The members are those of fullListing, and those that the server adds.
			res := employer.get(path).ok(200)
			for field, want := range (object{
				"id":           id,
				"title":        "Charge Nurse",
				"description":  "Leads the ward at night.",
				"company":      organizationName,
				"location":     "Leeds",
				"status":       "active",
				"department":   "Acute medicine",
				"contractType": "permanent",
			}) {
				require.Equal(t, want, res.at("data.job."+field), field)
			}

			inUpperCase := employer.get("/api/employers/jobs/" + strings.ToUpper(id)).ok(200)
			require.Equal(t, id, inUpperCase.text("data.job.id"), "the case of an id does not matter")

			// Unknown ids, and users outside of the organization.
			employer.get("/api/employers/jobs/"+nowhere).fails(404, "Job listing not found")
			employer.get("/api/employers/jobs/nonsense").fails(404, "Job listing not found")
			requireForOrganizationOnly(t, "GET", path, nil)
		})

		subtest("PUT /api/employers/jobs/:id changes the members of the body only", func(t *testing.T) {
			id := employer.listing(fullListing())
			path := "/api/employers/jobs/" + id

			// A change of two members leaves the others.
			updated := employer.fromNewAddress().put(path, object{"title": "Ward Manager", "salary": object{"min": 50000}}).ok(200)
			require.Equal(t, id, updated.text("data.id"))

			res := guest.get("/api/listings/" + id).ok(200)
			require.Equal(t, "Ward Manager", res.text("data.title"))
			require.Equal(t, 50000., res.number("data.salary.min"))
			require.Equal(t, "Leads the ward at night.", res.text("data.description"), "absent members stay unchanged")

			// Empty values remove optional members.
			employer.fromNewAddress().put(path, object{
				"requirements":        []string{},
				"salary":              object{},
				"applicationDeadline": "",
				"contractType":        "contract",
			}).ok(200)

			res = guest.get("/api/listings/" + id).ok(200)
			require.Empty(t, res.list("data.requirements"))
			require.Nil(t, res.at("data.salary"))
			require.Nil(t, res.at("data.applicationDeadline"))
			require.Equal(t, "contract", res.text("data.contractType"))

			// A body without members succeeds, too.
			employer.fromNewAddress().put(path, object{}).ok(200)
		})

		subtest("PUT /api/employers/jobs/:id refuses invalid bodies, unknown ids and other users", func(t *testing.T) {
			path := "/api/employers/jobs/" + employer.listing(fullListing())

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

			requireForOrganizationOnly(t, "PUT", path, object{"title": "Taken"})
		})

		subtest("DELETE /api/employers/jobs/:id", func(t *testing.T) {
			id := employer.listing(nil)
			path := "/api/employers/jobs/" + id
			requireForOrganizationOnly(t, "DELETE", path, nil)
			require.Equal(t, id, employer.fromNewAddress().delete(path).ok(200).text("data.id"))
			guest.get("/api/listings/"+id).fails(404, "Listing not found")

			res := employer.get(path).ok(200)
			require.Equal(t, "archived", res.text("data.job.status"))
			requireRecent(t, res.text("data.job.deletedAt"))

			for _, absent := range []string{nowhere, "nonsense"} {
				employer.fromNewAddress().delete("/api/employers/jobs/"+absent).fails(404, "Job listing not found")
			}
		})

		const (
			batchPath    = "/api/employers/jobs/batch"
			maxBatchJobs = 100
		)

		subtest("POST /api/employers/jobs/batch", func(t *testing.T) {
			res := employer.fromNewAddress().post(batchPath, object{"jobs": []any{
				object{"title": "Minimal", "description": "D"},
				object{"description": "D"},
				merge(fullListing(), object{"title": "Draft", "status": "draft"}),
				object{"title": "Without description"},
				object{"title": "Invalid contract type", "description": "D", "contractType": "x"},
				object{"title": "Read-only fields", "description": "D", "status": "closed", "id": nowhere},
				"text",
				nil,
			}}).ok(200)

			// Valid items are created, and the five invalid ones are returned with their errors. The order is that of the request.
			require.Equal(t, []string{"Minimal", "Draft", "Read-only fields"}, titlesIn(res, "data.created"))
			require.Len(t, res.list("data.failed"), 5)
			require.Equal(t, object{"job": object{"description": "D"}, "error": "title is required"}, res.at("data.failed.0"))
			require.Equal(t, "description is required", res.text("data.failed.1.error"))
			require.Contains(t, res.text("data.failed.2.error"), "contractType")
			require.Equal(t, "text", res.at("data.failed.3.job"))
			require.Contains(t, res.text("message"), "3", "the number of created jobs")
			require.Contains(t, res.text("message"), "5", "the number of failed items")

			// A job may begin as active or as a draft. The status "closed" and the id of the last job are ignored.
			for i, status := range []string{"active", "draft", "active"} {
				id := res.text(fmt.Sprintf("data.created.%d.id", i))
				require.NotEqual(t, nowhere, id)
				require.Equal(t, status, employer.get("/api/employers/jobs/"+id).ok(200).text("data.job.status"))
			}
		})

		subtest("POST /api/employers/jobs/batch with 0 to 101 jobs", func(t *testing.T) {
			tooMany := make([]object, maxBatchJobs+1)
			for i := range tooMany {
				tooMany[i] = object{"title": fmt.Sprint("Job ", i), "description": "D"}
			}

			employer.fromNewAddress().post(batchPath, object{"jobs": tooMany}).fails(400, "Maximum 100 jobs per batch request")

			most := employer.fromNewAddress().post(batchPath, object{"jobs": tooMany[:maxBatchJobs]}).ok(200)
			require.Len(t, most.list("data.created"), maxBatchJobs)

			none := employer.fromNewAddress().post(batchPath, object{"jobs": []object{}}).ok(200)
			require.Empty(t, none.list("data.created"))
			require.Empty(t, none.list("data.failed"))
		})

		subtest("POST /api/employers/jobs/batch refuses invalid bodies and other users", func(t *testing.T) {
			for _, body := range []string{`{}`, ``, `{"jobs": null}`, `{"jobs": {}}`, `{"jobs": "all"}`, `{"jobs": 5}`} {
				employer.fromNewAddress().post(batchPath, body).invalid("jobs")
			}

			employer.fromNewAddress().post(batchPath, `[]`).invalid("body")

			oneJob := object{"jobs": []object{{"title": "Job 0", "description": "D"}}}
			requireForEmployersOnly(t, "POST", batchPath, oneJob)
		})

		subtest("PUT /api/employers/jobs/batch", func(t *testing.T) {
			first := employer.listing(nil)
			second := employer.listing(nil)
			foreign := otherEmployer.listing(nil)
			res := employer.fromNewAddress().put(batchPath, object{"jobs": []any{
				object{"id": first, "title": "First", "department": "A"},
				object{"id": foreign, "title": "Taken"},
				object{"id": second, "status": "closed"},
				object{"id": nowhere, "title": "T"},
				object{"id": "nonsense", "title": "T"},
				object{"title": "T"},
				object{"id": first, "status": "draft"},
				object{"id": first, "title": ""},
				7,
				object{"id": first, "title": "Last"},
			}}).ok(200)

			// Each valid item is an update of its own, in the order of the request. The others are returned with their errors.
			require.Equal(t, []any{object{"id": first}, object{"id": second}, object{"id": first}}, res.at("data.updated"))
			require.Equal(t,
				object{"job": object{"id": foreign, "title": "Taken"}, "error": "Job listing not found"},
				res.at("data.failed.0"))

			for i, message := range []string{
				"Job listing not found", // of the other employer
				"Job listing not found", // no job has the id
				"Job listing not found", // the id is nonsense
				"id is required",
				"status must be one of: active, inactive, closed",
				"title is required",
				"item must be a JSON object",
			} {
				require.Equal(t, message, res.text(fmt.Sprintf("data.failed.%d.error", i)), "%s", res.raw)
			}

			require.Contains(t, res.text("message"), "3", "the number of updates")
			require.Contains(t, res.text("message"), "7", "the number of failed items")

			// The jobs have the changes of the valid items only.
			firstJob := employer.get("/api/employers/jobs/" + first)
			require.Equal(t, "Last", firstJob.text("data.job.title"), "the last value applies")
			require.Equal(t, "A", firstJob.text("data.job.department"), "a later item of the same job keeps what it does not mention")
			require.Equal(t, "closed", employer.get("/api/employers/jobs/"+second).text("data.job.status"))

			const defaultTitle = "Staff Nurse" // of a job that the function listing creates
			require.Equal(t, defaultTitle, otherEmployer.get("/api/employers/jobs/"+foreign).text("data.job.title"))
		})

		subtest("PUT /api/employers/jobs/batch with 100 and 101 jobs", func(t *testing.T) {
			id := employer.listing(nil)

			tooMany := make([]object, maxBatchJobs+1)
			for i := range tooMany {
				tooMany[i] = object{"id": id, "title": fmt.Sprint("Job ", i)}
			}

			employer.fromNewAddress().put(batchPath, object{"jobs": tooMany}).fails(400, "Maximum 100 jobs per batch request")

			most := employer.fromNewAddress().put(batchPath, object{"jobs": tooMany[:maxBatchJobs]}).ok(200)
			require.Len(t, most.list("data.updated"), maxBatchJobs, "each item of the same job counts")
		})

		subtest("PUT /api/employers/jobs/batch refuses a body without jobs, and other users", func(t *testing.T) {
			employer.fromNewAddress().put(batchPath, `{}`).invalid("jobs")

			oneJob := object{"jobs": []object{{"id": employer.listing(nil), "title": "Job 0"}}}
			requireForEmployersOnly(t, "PUT", batchPath, oneJob)
		})

		subtest("POST /api/employers/jobs/:id/duplicate", func(t *testing.T) {
			id := employer.listing(fullListing())
			employer.patch("/api/listings/"+id, object{"meta": object{"a": 1}}).ok(200)

			res := employer.post("/api/employers/jobs/"+id+"/duplicate", nil).ok(200)
			require.NotEqual(t, id, res.text("data.id"))
			require.Equal(t, "Charge Nurse (Copy)", res.text("data.title"))

			// The duplicate has the content of the job under another title.
			source := employer.get("/api/employers/jobs/" + id).at("data.job").(object)
			duplicate := employer.get("/api/employers/jobs/" + res.text("data.id")).at("data.job").(object)

			for _, field := range []string{
				"description", "department", "contractType", "salary", "location", "requirements",
				"benefits", "questions", "specialty", "employmentType", "company",
			} {
				require.Equal(t, source[field], duplicate[field], field)
			}

			require.Equal(t, "active", duplicate["status"])
		})

		subtest("POST /api/employers/jobs/:id/duplicate cuts a title of the maximum length", func(t *testing.T) {
			const maxTitle = 200 // characters, so that " (Copy)" needs space

			longest := employer.listing(object{"title": strings.Repeat("é", maxTitle)})
			title := employer.post("/api/employers/jobs/"+longest+"/duplicate", nil).ok(200).text("data.title")
			require.True(t, strings.HasSuffix(title, " (Copy)"), title)
		})

		subtest("POST /api/employers/jobs/:id/duplicate refuses unknown ids and other users", func(t *testing.T) {
			id := employer.listing(fullListing())
			employer.post("/api/employers/jobs/"+strings.ToUpper(id)+"/duplicate", nil).ok(200) // the case of an id does not matter

			for _, absent := range []string{nowhere, "nonsense"} {
				employer.post("/api/employers/jobs/"+absent+"/duplicate", nil).fails(404, "Job listing not found")
			}

			requireForOrganizationOnly(t, "POST", "/api/employers/jobs/"+id+"/duplicate", nil)
		})

		subtest("POST /api/employers/jobs/:id/renew", func(t *testing.T) {
			const pastDeadline = "2020-01-01"

			id := employer.listing(object{"applicationDeadline": pastDeadline})
			path := "/api/employers/jobs/" + id + "/renew"
			guest.get("/api/listings/"+id).fails(404, "Listing not found")

			// renew requires a success and returns the new deadline.
			renew := func(body any) time.Time {
				t.Helper()

				res := employer.post(path, body).ok(200)
				require.Equal(t, id, res.text("data.id"))
				require.Equal(t, "active", res.text("data.status"))

				deadline, err := time.Parse(time.RFC3339, res.text("data.applicationDeadline"))
				require.NoError(t, err)

				return deadline
			}

			const (
				defaultDays = 30
				week        = 7
			)

			first := renew(nil) // without a body
			require.WithinDuration(t, time.Now().AddDate(0, 0, defaultDays), first, time.Minute,
				"30 days from now, because the deadline has passed")
			guest.get("/api/listings/" + id).ok(200) // is public again

			second := renew(object{"durationDays": week})
			require.Equal(t, first.AddDate(0, 0, week), second, "from the deadline, because it is later than now")

			third := renew(object{})
			require.Equal(t, second.AddDate(0, 0, defaultDays), third, "30 days by default")
		})

		subtest("POST /api/employers/jobs/:id/renew for 1 to 365 days", func(t *testing.T) {
			path := "/api/employers/jobs/" + employer.listing(nil) + "/renew"
			employer.post(path, object{"durationDays": 1}).ok(200)
			employer.post(path, object{"durationDays": 365}).ok(200)

			for _, days := range []string{"0", "-1", "366", "1.5", `"30"`, "1e9", "[]", "true"} {
				employer.post(path, `{"durationDays": `+days+`}`).invalid("durationDays")
			}
		})

		subtest("POST /api/employers/jobs/:id/renew refuses unknown ids and other users", func(t *testing.T) {
			path := "/api/employers/jobs/" + employer.listing(nil) + "/renew"

			for _, absent := range []string{nowhere, "nonsense"} {
				employer.post("/api/employers/jobs/"+absent+"/renew", nil).fails(404, "Job listing not found")
			}

			requireForOrganizationOnly(t, "POST", path, nil)
		})
	})
}

// errorFields returns the names of all fields in a validation error.
func errorFields(res *response) []any {
	res.t.Helper()

	var fields []any
	for i := range res.list("errors") {
		fields = append(fields, res.text(fmt.Sprintf("errors.%d.field", i)))
	}

	return fields
}
