package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/core/clock"
	"github.com/locumhq/locum/modules/integrations"
	"github.com/locumhq/locum/test/kit/stores"
)

// grantApp returns a client with an access token with the scopes, which the account has granted
// to an app. It is faster than the flow of OAuth, because it writes the token to the database.
func (a *account) grantApp(app string, scopes ...integrations.Scope) *client {
	a.t.Helper()
	return a.grantAppUntil(time.Now().UTC().Add(time.Hour), app, scopes...)
}

// grantAppUntil is grantApp with the time at which the grant and its token expire.
func (a *account) grantAppUntil(end time.Time, app string, scopes ...integrations.Scope) *client {
	a.t.Helper()

	storage := stores.Open(a.t, a.server.databaseURL(), clock.System{})
	defer func() { require.NoError(a.t, storage.Identity.Close()) }()

	now := time.Now().UTC()
	grant := integrations.Grant{
		ID:        stores.NewID(),
		AppID:     app,
		UserID:    a.id,
		Scopes:    scopes,
		CreatedAt: now,
		ExpiresAt: end,
	}
	secret := integrations.NewToken(integrations.Access)
	token := integrations.Token{
		Hash:      integrations.HashToken(integrations.Access, secret),
		GrantID:   grant.ID,
		Kind:      integrations.Access,
		Scopes:    scopes,
		IssuedAt:  now,
		ExpiresAt: end,
	}
	require.NoError(a.t, storage.Integrations.Grants.Create(a.t.Context(), token, &grant))

	program := a.server.guest(a.t)
	program.token = secret

	return program
}

// app creates an app and returns its id.
func (a *account) app() string {
	a.t.Helper()
	return a.post("/api/developers/apps", object{"name": "Ward Finder"}).ok(201).text("data.app.id")
}

// TestDeveloperApplications checks applications in the developer API: programs apply only for
// the user who granted the scope, and read the applications that the owner of the key or token
// may see.
func TestDeveloperApplications(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		boss := server.employer(t)
		otherEmployer := server.employer(t)
		job := boss.listing(nil)

		t.Run("POST /api/v1/applications", func(t *testing.T) {
			t.Parallel()

			ann := server.seeker(t)
			withQuestion := boss.listing(object{"questions": []object{{"id": "pin", "text": "Your PIN?", "required": true}}})
			program := ann.grantApp(server.seeker(t).app(), integrations.ApplicationsWrite)
			created := program.post("/api/v1/applications", object{
				"job_id":       withQuestion,
				"candidate_id": ann.id,
				"cover_letter": "Hello",
				"resume_url":   "https://example.org/cv.pdf",
				"answers":      []object{{"question_id": "pin", "answer": "12A3456E"}},
			}).
				okDeveloper(201)
			require.Equal(t, "/api/v1/applications/"+created.text("data.id"), created.header.Get("Location"))

			data := created.at("data").(object)

			// The members below, id, submitted_at and updated_at; no others.
			require.Len(t, data, 9)

			for name, value := range (object{
				"job_id":       withQuestion,
				"candidate_id": ann.id,
				"status":       "pending",
				"cover_letter": "Hello",
				"resume_url":   "https://example.org/cv.pdf",
				"answers":      []any{object{"question_id": "pin", "answer": "12A3456E"}},
			}) {
				require.Equal(t, value, data[name], name)
			}

			require.Equal(t, created.at("data.submitted_at"), created.at("data.updated_at"))

			seenByEmployer := boss.get("/api/employers/applications/" + created.text("data.id")).ok(200)
			require.Equal(t, "https://example.org/cv.pdf", seenByEmployer.text("data.application.resumeUrl"))

			// A second application for the same job is a conflict.
			program.post("/api/v1/applications", object{"job_id": withQuestion, "answers": []object{{"question_id": "pin", "answer": "x"}}}).
				problem(409, "already_applied")

			// Optional members that were not sent are null or empty, not absent.
			plain := program.post("/v1/applications", object{"job_id": job}).okDeveloper(201)
			require.Nil(t, plain.at("data.cover_letter"))
			require.Nil(t, plain.at("data.resume_url"))
			require.Equal(t, []any{}, plain.at("data.answers"))
		})

		t.Run("POST /api/v1/applications refuses invalid applications", func(t *testing.T) {
			t.Parallel()

			ann := server.seeker(t)
			program := ann.grantApp(server.seeker(t).app(), integrations.ApplicationsWrite)

			withQuestion := boss.listing(object{"questions": []object{{"id": "pin", "text": "Your PIN?", "required": true}}})

			t.Run("invalid members", func(t *testing.T) {
				for field, body := range map[string]object{
					"job_id":                {},
					"cover_letter":          {"job_id": job, "cover_letter": strings.Repeat("x", 20_001)},
					"answers":               {"job_id": withQuestion},
					"answers.0.question_id": {"job_id": withQuestion, "answers": []object{{"question_id": "other", "answer": "x"}}},
				} {
					refused := program.post("/api/v1/applications", body).problem(400, "invalid_parameters")
					require.Equal(t, field, refused.text("errors.0.field"), "%s", refused.raw)
				}

				// Members that were sent are first, in their order; the missing job_id is last.
				threeErrors := program.post("/api/v1/applications", `{"resume_url": "http://1/", "cover_letter": 5}`).
					problem(400, "invalid_parameters")
				for i, field := range []string{"resume_url", "cover_letter", "job_id"} {
					require.Equal(t, field, threeErrors.text(fmt.Sprintf("errors.%d.field", i)), "%s", threeErrors.raw)
				}

				for _, body := range []string{"", "{", "[]", `"x"`} {
					require.Equal(t, 400, program.try("POST", "/api/v1/applications", body).status, body)
				}
			})

			t.Run("invalid address of a CV", func(t *testing.T) {
				// It is an absolute https:// address without credentials, of at most 2,048 characters.
				for _, address := range []string{
					"http://example.org/cv.pdf",
					"javascript:alert(1)",
					"/cv.pdf",
					"https://",
					"https://u:p@example.org/",
					"https://example.org/ x",
					"https://example.org/" + strings.Repeat("x", 2048),
				} {
					refused := program.post("/api/v1/applications", object{"job_id": job, "resume_url": address}).
						problem(400, "invalid_parameters")
					require.Equal(t, "resume_url", refused.text("errors.0.field"), address)
				}
			})

			t.Run("job that is not public or does not exist", func(t *testing.T) {
				// A text that is no id, the id of a user, and a draft are not found alike.
				for _, missing := range []string{"nonsense", ann.id, boss.listing(object{"status": "draft"})} {
					program.post("/api/v1/applications", object{"job_id": missing}).problem(404, "job_not_found")
				}
			})

			t.Run("another candidate, and an employer", func(t *testing.T) {
				// A program applies for its user only.
				for _, other := range []string{server.seeker(t).id, "nonsense"} {
					program.post("/api/v1/applications", object{"job_id": job, "candidate_id": other}).problem(403, "forbidden")
				}

				boss.grantApp(server.seeker(t).app(), integrations.ApplicationsWrite).
					post("/api/v1/applications", object{"job_id": job}).
					problem(403, "forbidden")
			})

			t.Run("API key, and a token with the other scopes", func(t *testing.T) {
				for _, reader := range []*client{
					ann.program(),
					ann.grantApp(server.seeker(t).app(), integrations.ApplicationsRead, integrations.JobsRead),
				} {
					// The error names the scope that is needed.
					refused := reader.post("/api/v1/applications", object{"job_id": job}).problem(403, "insufficient_scope")
					require.Contains(t, refused.header.Get("WWW-Authenticate"), `scope="applications:write"`)
				}
			})

			// No refused request has created an application.
			require.Empty(t, ann.get("/api/jobseekers/applications").ok(200).list("data.applications"))
		})

		t.Run("POST /api/v1/applications with an Idempotency-Key", func(t *testing.T) {
			t.Parallel()

			ann := server.seeker(t)
			program := ann.grantApp(server.seeker(t).app(), integrations.ApplicationsWrite)
			program.key = "once"
			first := program.post("/api/v1/applications", object{"job_id": job}).okDeveloper(201)
			again := program.post("/api/v1/applications", object{"job_id": job}).okDeveloper(201)

			// The repetition has the stored response. The key cannot be used for another request.
			require.Equal(t, first.raw, again.raw)
			require.Equal(t, "true", again.header.Get("Idempotency-Replayed"))
			require.Equal(t, first.header.Get("Location"), again.header.Get("Location"))
			program.post("/api/v1/applications", object{"job_id": boss.listing(nil)}).problem(422, "idempotency_key_reused")

			// The keys of another app are independent.
			otherProgram := ann.grantApp(server.seeker(t).app(), integrations.ApplicationsWrite)
			otherProgram.key = "once"
			otherProgram.post("/api/v1/applications", object{"job_id": job}).problem(409, "already_applied")

			// The error was stored for the key, too.
			stored := otherProgram.post("/api/v1/applications", object{"job_id": job})
			require.Equal(t, 409, stored.status)
			require.Equal(t, "application/problem+json", stored.header.Get("Content-Type"))
			require.Equal(t, "true", stored.header.Get("Idempotency-Replayed"))
		})

		t.Run("GET /api/v1/applications", func(t *testing.T) {
			t.Parallel()

			employer := server.employer(t)
			ann := server.seeker(t)
			ben := server.seeker(t)
			listing := employer.listing(nil)
			otherListing := employer.listing(nil)
			first := ann.application(listing, object{"coverLetter": "Hello"})
			second := ben.application(listing, nil)
			third := ann.application(otherListing, nil)
			ofOtherEmployer := ann.application(job, nil)

			employer.fromNewAddress().put("/api/employers/applications/"+second, object{"status": "review"}).ok(200)

			ids := func(program *client, query string) []string {
				t.Helper()
				return program.get("/api/v1/applications" + query).ids()
			}

			// read returns a program with a token of the user, which may read applications.
			read := func(user *account) *client {
				return user.grantApp(server.seeker(t).app(), integrations.ApplicationsRead)
			}

			withKey := employer.program()

			t.Run("programs list what their user sees, newest first", func(t *testing.T) {
				// An employer sees the applications for the organization's jobs.
				for _, program := range []*client{withKey, read(employer)} {
					require.Equal(t, []string{third, second, first}, ids(program, ""))
				}

				// A jobseeker sees the own applications, to any employer. Another employer has none.
				require.Equal(t, []string{ofOtherEmployer, third, first}, ids(ann.program(), ""))
				require.Equal(t, []string{second}, ids(read(ben), ""))
				require.Empty(t, ids(otherEmployer.program(), ""))

				// A member who may not see applications has an empty list.
				withoutPermission := server.addMember(t, employer, object{"applications": object{"view": false, "update": false}})
				require.Empty(t, ids(withoutPermission.program(), ""))
			})

			t.Run("filters", func(t *testing.T) {
				// Upper and lower case of an id make no difference.
				require.Equal(t, []string{second, first}, ids(withKey, "?job_id="+strings.ToUpper(listing)))
				require.Empty(t, ids(withKey, "?job_id="+job), "a listing of another employer")
				require.Empty(t, ids(withKey, "?job_id=nonsense"))

				require.Equal(t, []string{third, first}, ids(withKey, "?candidate_id="+ann.id))
				require.Equal(t, []string{second}, ids(withKey, "?status=review"))
				require.Equal(t, []string{third, second, first}, ids(withKey, "?status=review,pending&submitted_after=2020-01-01"))
				require.Empty(t, ids(withKey, "?submitted_before=2020-01-01T00:00:00Z"))
			})

			t.Run("submitted_after is inclusive, submitted_before is exclusive", func(t *testing.T) {
				application := withKey.get("/v1/applications/" + second).okDeveloper(200)
				submitted, err := time.Parse(time.RFC3339Nano, application.text("data.submitted_at"))
				require.NoError(t, err)

				at := submitted.Format(time.RFC3339Nano)
				justAfter := submitted.Add(time.Microsecond).Format(time.RFC3339Nano)

				for query, want := range map[string][]string{
					"?submitted_after=" + at:                                    {third, second},
					"?submitted_after=" + justAfter:                             {third},
					"?submitted_before=" + at:                                   {first},
					"?submitted_before=" + justAfter:                            {second, first},
					"?submitted_after=" + at + "&submitted_before=" + justAfter: {second},
					"?submitted_after=" + at + "&submitted_before=" + at:        {},
				} {
					require.Equal(t, want, ids(withKey, query), query)
				}
			})

			t.Run("pages", func(t *testing.T) {
				page := withKey.get("/v1/applications?limit=2").okDeveloper(200)
				require.Equal(t, object{"page": 1.0, "limit": 2.0, "total": 3.0, "total_pages": 2.0}, page.at("pagination"))
				require.Contains(t, page.header.Get("Link"), `/v1/applications?limit=2&page=2>; rel="next"`)

				// The second page has the oldest application, by cursor and by number.
				require.Equal(t, []string{first}, ids(withKey, "?limit=2&cursor="+page.text("next_cursor")))
				require.Equal(t, []string{first}, ids(withKey, "?limit=2&page=2"))
			})

			t.Run("invalid parameters", func(t *testing.T) {
				for query, field := range map[string]string{
					"status=open":          "status",
					"submitted_after=soon": "submitted_after",
					"cursor=x":             "cursor",
					"page=0":               "page",
				} {
					refused := withKey.get("/api/v1/applications?"+query).problem(400, "invalid_parameters")
					require.Equal(t, field, refused.text("errors.0.field"), query)
				}
			})

			t.Run("missing scope", func(t *testing.T) {
				otherScopes := ann.grantApp(server.seeker(t).app(), integrations.JobsRead, integrations.ApplicationsWrite)
				otherScopes.get("/api/v1/applications").problem(403, "insufficient_scope")
				read(ann).get("/api/v1/jobs").problem(403, "insufficient_scope")
			})
		})

		t.Run("GET /api/v1/applications/:id", func(t *testing.T) {
			t.Parallel()

			ann := server.seeker(t)

			application := ann.application(job, object{"coverLetter": "Hello"})
			for _, program := range []*client{
				boss.program(),
				ann.program(),
				ann.grantApp(server.seeker(t).app(), integrations.ApplicationsRead),
			} {
				resp := program.get("/api/v1/applications/" + application).okDeveloper(200)
				require.Equal(t, "Hello", resp.text("data.cover_letter"))
				require.NotEmpty(t, resp.header.Get("ETag"))
			}

			for _, ofOtherUser := range []*client{otherEmployer.program(), server.seeker(t).program()} {
				ofOtherUser.get("/api/v1/applications/"+application).problem(404, "application_not_found")
			}

			boss.program().get("/api/v1/applications/nonsense").problem(404, "application_not_found")

			// After a withdrawal, the applicant does not find the application, and the employer sees its status.
			ann.delete("/api/jobseekers/applications/" + application).ok(200)
			ann.program().get("/api/v1/applications/"+application).problem(404, "application_not_found")
			require.Equal(t, "withdrawn", boss.program().get("/api/v1/applications/"+application).okDeveloper(200).text("data.status"))
		})

		t.Run("key beside a token", func(t *testing.T) {
			t.Parallel()

			developer := server.seeker(t)
			ann := server.seeker(t)
			app := developer.app()
			program := ann.grantApp(app, integrations.ApplicationsWrite)

			// A key beside a token must be one of the app that has the token.
			program.withKey(developer.programOf(app).apiKey).post("/api/v1/applications", object{"job_id": job}).okDeveloper(201)
			program.withKey(developer.program().apiKey).post("/api/v1/applications", object{"job_id": job}).problem(401, "unauthorized")
			program.withKey("nonsense").get("/api/v1/jobs").problem(401, "unauthorized")
			program.withKey("").get("/api/jobseekers/profile").fails(401, "Unauthorized") // not a token of the portal
		})

		t.Run("concurrent applications for one job", func(t *testing.T) {
			t.Parallel()

			program := server.seeker(t).grantApp(server.seeker(t).app(), integrations.ApplicationsWrite)
			counts := concurrently(t, 40, func(int) *response {
				return program.try("POST", "/v1/applications", object{"job_id": job})
			})

			// The others are conflicts, or over the quota or the number of connections.
			require.Equal(t, 1, counts[201], "%v", counts)
			require.Zero(t, counts[500], "%v", counts)
		})
	})
}
