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

// grantAppUntil is grantApp with the time at which the token expires.
func (a *account) grantAppUntil(end time.Time, app string, scopes ...integrations.Scope) *client {
	a.t.Helper()
	storage := stores.Open(a.t, a.server.databaseURL(), clock.System{})
	defer func() { require.NoError(a.t, storage.Identity.Close()) }()
	now, token := time.Now().UTC(), integrations.NewToken(integrations.Access)
	g := integrations.Grant{ID: stores.NewID(), AppID: app, UserID: a.id, Scopes: scopes, CreatedAt: now, ExpiresAt: end}
	issued := func(kind integrations.TokenKind, token string) integrations.Token {
		return integrations.Token{
			Hash:      integrations.HashToken(kind, token),
			GrantID:   g.ID,
			Kind:      kind,
			Scopes:    scopes,
			IssuedAt:  now,
			ExpiresAt: end,
		}
	}
	require.NoError(a.t, storage.Integrations.Grants.Create(a.t.Context(), issued(integrations.Access, token), &g))
	c := a.server.guest(a.t)
	c.token = token
	return c
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
		boss, stranger := server.employer(t), server.employer(t)
		job := boss.listing(nil)

		t.Run("POST /api/v1/applications", func(t *testing.T) {
			t.Parallel()
			ann := server.seeker(t)
			asking := boss.listing(object{"questions": []object{{"id": "pin", "text": "Your PIN?", "required": true}}})
			program := ann.grantApp(server.seeker(t).app(), integrations.ApplicationsWrite)
			made := program.post("/api/v1/applications", object{
				"job_id":       asking,
				"candidate_id": ann.id,
				"cover_letter": "Hello",
				"resume_url":   "https://example.org/cv.pdf",
				"answers":      []object{{"question_id": "pin", "answer": "12A3456E"}},
			}).
				okDeveloper(201)
			require.Equal(t, "/api/v1/applications/"+made.text("data.id"), made.header.Get("Location"))
			data := made.at("data").(object)
			// No other members.
			require.Len(t, data, 9)
			for name, value := range (object{
				"job_id":       asking,
				"candidate_id": ann.id,
				"status":       "pending",
				"cover_letter": "Hello",
				"resume_url":   "https://example.org/cv.pdf",
				"answers":      []any{object{"question_id": "pin", "answer": "12A3456E"}},
			}) {
				require.Equal(t, value, data[name], name)
			}
			require.Equal(t, made.at("data.submitted_at"), made.at("data.updated_at"))
			got := boss.get("/api/employers/applications/" + made.text("data.id")).ok(200)
			require.Equal(t, "https://example.org/cv.pdf", got.text("data.application.resumeUrl"))

			program.post("/api/v1/applications", object{"job_id": asking, "answers": []object{{"question_id": "pin", "answer": "x"}}}).
				problem(409, "already_applied")
			plain := program.post("/v1/applications", object{"job_id": job}).okDeveloper(201)
			require.Nil(t, plain.at("data.cover_letter"))
			require.Nil(t, plain.at("data.resume_url"))
			require.Equal(t, []any{}, plain.at("data.answers"))
		})
		t.Run("POST /api/v1/applications refuses invalid applications", func(t *testing.T) {
			t.Parallel()
			ann := server.seeker(t)
			program := ann.grantApp(server.seeker(t).app(), integrations.ApplicationsWrite)
			asking := boss.listing(object{"questions": []object{{"id": "pin", "text": "Your PIN?", "required": true}}})
			for field, body := range map[string]object{
				"job_id":                {},
				"cover_letter":          {"job_id": job, "cover_letter": strings.Repeat("x", 20_001)},
				"answers":               {"job_id": asking},
				"answers.0.question_id": {"job_id": asking, "answers": []object{{"question_id": "other", "answer": "x"}}},
			} {
				bad := program.post("/api/v1/applications", body).problem(400, "invalid_parameters")
				require.Equal(t, field, bad.text("errors.0.field"), "%s", bad.raw)
			}
			for _, address := range []string{
				"http://example.org/cv.pdf",
				"javascript:alert(1)",
				"/cv.pdf",
				"https://",
				"https://u:p@example.org/",
				"https://example.org/ x",
				"https://example.org/" + strings.Repeat("x", 2048),
			} {
				bad := program.post("/api/v1/applications", object{"job_id": job, "resume_url": address}).problem(400, "invalid_parameters")
				require.Equal(t, "resume_url", bad.text("errors.0.field"), address)
			}
			all := program.post("/api/v1/applications", `{"resume_url": "http://1/", "cover_letter": 5}`).problem(400, "invalid_parameters")
			// Members that were sent are first, in their order.
			for i, field := range []string{"resume_url", "cover_letter", "job_id"} {
				require.Equal(t, field, all.text(fmt.Sprintf("errors.%d.field", i)), "%s", all.raw)
			}
			program = ann.grantApp(server.seeker(t).app(), integrations.ApplicationsWrite)
			for _, missing := range []string{"nonsense", ann.id, boss.listing(object{"status": "draft"})} {
				program.post("/api/v1/applications", object{"job_id": missing}).problem(404, "job_not_found")
			}
			for _, body := range []string{"", "{", "[]", `"x"`} {
				require.Equal(t, 400, program.try("POST", "/api/v1/applications", body).status, body)
			}
			for _, other := range []string{server.seeker(t).id, "nonsense"} {
				program.post("/api/v1/applications", object{"job_id": job, "candidate_id": other}).problem(403, "forbidden")
			}
			// An employer cannot apply.
			boss.grantApp(server.seeker(t).app(), integrations.ApplicationsWrite).
				post("/api/v1/applications", object{"job_id": job}).
				problem(403, "forbidden")
			for _, reader := range []*client{
				ann.program(),
				ann.grantApp(server.seeker(t).app(), integrations.ApplicationsRead, integrations.JobsRead),
			} {
				refused := reader.post("/api/v1/applications", object{"job_id": job}).problem(403, "insufficient_scope")
				require.Contains(t, refused.header.Get("WWW-Authenticate"), `scope="applications:write"`)
			}
			require.Empty(t, ann.get("/api/jobseekers/applications").ok(200).list("data.applications"))
		})
		t.Run("POST /api/v1/applications with an Idempotency-Key", func(t *testing.T) {
			t.Parallel()
			ann := server.seeker(t)
			program := ann.grantApp(server.seeker(t).app(), integrations.ApplicationsWrite)
			program.key = "once"
			first := program.post("/api/v1/applications", object{"job_id": job}).okDeveloper(201)
			again := program.post("/api/v1/applications", object{"job_id": job}).okDeveloper(201)
			require.Equal(t, first.raw, again.raw)
			require.Equal(t, "true", again.header.Get("Idempotency-Replayed"))
			require.Equal(t, first.header.Get("Location"), again.header.Get("Location"))
			program.post("/api/v1/applications", object{"job_id": boss.listing(nil)}).problem(422, "idempotency_key_reused")
			other := ann.grantApp(server.seeker(t).app(), integrations.ApplicationsWrite)
			other.key = "once"
			other.post("/api/v1/applications", object{"job_id": job}).problem(409, "already_applied")
			// The error was stored for the key, too.
			stored := other.post("/api/v1/applications", object{"job_id": job})
			require.Equal(t, 409, stored.status)
			require.Equal(t, "application/problem+json", stored.header.Get("Content-Type"))
			require.Equal(t, "true", stored.header.Get("Idempotency-Replayed"))
		})
		t.Run("GET /api/v1/applications", func(t *testing.T) {
			t.Parallel()
			chief, ann, ben := server.employer(t), server.seeker(t), server.seeker(t)
			one, two := chief.listing(nil), chief.listing(nil)
			first := ann.application(one, object{"coverLetter": "Hello"})
			second := ben.application(one, nil)
			third := ann.application(two, nil)
			elsewhere := ann.application(job, nil)
			chief.fromNewAddress().put("/api/employers/applications/"+second, object{"status": "review"}).ok(200)
			ids := func(c *client, query string) (out []string) {
				t.Helper()
				out = []string{}
				for _, a := range c.get("/api/v1/applications" + query).okDeveloper(200).list("data") {
					out = append(out, a.(object)["id"].(string))
				}
				return out
			}
			byKey := chief.program()
			for _, c := range []*client{byKey, chief.grantApp(server.seeker(t).app(), integrations.ApplicationsRead)} {
				require.Equal(t, []string{third, second, first}, ids(c, ""))
			}
			require.Equal(t, []string{elsewhere, third, first}, ids(ann.program(), ""))
			require.Equal(t, []string{second}, ids(ben.grantApp(server.seeker(t).app(), integrations.ApplicationsRead), ""))
			require.Empty(t, ids(stranger.program(), ""))

			require.Equal(t, []string{second, first}, ids(byKey, "?job_id="+strings.ToUpper(one)))
			require.Equal(t, []string{third, first}, ids(byKey, "?candidate_id="+ann.id))
			require.Equal(t, []string{second}, ids(byKey, "?status=review"))
			require.Equal(t, []string{third, second, first}, ids(byKey, "?status=review,pending&submitted_after=2020-01-01"))
			require.Empty(t, ids(byKey, "?submitted_before=2020-01-01T00:00:00Z"))
			// submitted_after is inclusive, submitted_before is exclusive.
			submitted, err := time.Parse(time.RFC3339Nano, byKey.get("/v1/applications/"+second).okDeveloper(200).text("data.submitted_at"))
			require.NoError(t, err)
			at := submitted.Format(time.RFC3339Nano)
			next := submitted.Add(time.Microsecond).Format(time.RFC3339Nano)
			for query, want := range map[string][]string{
				"?submitted_after=" + at:                               {third, second},
				"?submitted_after=" + next:                             {third},
				"?submitted_before=" + at:                              {first},
				"?submitted_before=" + next:                            {second, first},
				"?submitted_after=" + at + "&submitted_before=" + next: {second},
				"?submitted_after=" + at + "&submitted_before=" + at:   {},
			} {
				require.Equal(t, want, ids(byKey, query), query)
			}
			require.Empty(t, ids(byKey, "?job_id=nonsense"))
			require.Empty(t, ids(byKey, "?job_id="+job), "another's")

			page := byKey.get("/v1/applications?limit=2").okDeveloper(200)
			require.Equal(t, object{"page": 1.0, "limit": 2.0, "total": 3.0, "total_pages": 2.0}, page.at("pagination"))
			require.Contains(t, page.header.Get("Link"), `/v1/applications?limit=2&page=2>; rel="next"`)
			require.Equal(t, []string{first}, ids(byKey, "?limit=2&cursor="+page.text("next_cursor")))
			require.Equal(t, []string{first}, ids(byKey, "?limit=2&page=2"))
			for query, field := range map[string]string{
				"status=open":          "status",
				"submitted_after=soon": "submitted_after",
				"cursor=x":             "cursor",
				"page=0":               "page",
			} {
				require.Equal(t, field,
					byKey.get("/api/v1/applications?"+query).problem(400, "invalid_parameters").text("errors.0.field"),
					query)
			}
			ann.grantApp(server.seeker(t).app(), integrations.JobsRead, integrations.ApplicationsWrite).
				get("/api/v1/applications").
				problem(403, "insufficient_scope")
			ann.grantApp(server.seeker(t).app(), integrations.ApplicationsRead).get("/api/v1/jobs").problem(403, "insufficient_scope")

			bare := server.addMember(t, chief, object{"applications": object{"view": false, "update": false}})
			require.Empty(t, ids(bare.program(), ""), "members without the permission have no access here either")
		})
		t.Run("GET /api/v1/applications/:id", func(t *testing.T) {
			t.Parallel()
			ann := server.seeker(t)
			mine := ann.application(job, object{"coverLetter": "Hello"})
			for _, c := range []*client{
				boss.program(),
				ann.program(),
				ann.grantApp(server.seeker(t).app(), integrations.ApplicationsRead),
			} {
				one := c.get("/api/v1/applications/" + mine).okDeveloper(200)
				require.Equal(t, "Hello", one.text("data.cover_letter"))
				require.NotEmpty(t, one.header.Get("ETag"))
			}
			for _, c := range []*client{stranger.program(), server.seeker(t).program()} {
				c.get("/api/v1/applications/"+mine).problem(404, "application_not_found")
			}
			boss.program().get("/api/v1/applications/nonsense").problem(404, "application_not_found")
			ann.delete("/api/jobseekers/applications/" + mine).ok(200)
			ann.program().get("/api/v1/applications/"+mine).problem(404, "application_not_found")
			require.Equal(t, "withdrawn", boss.program().get("/api/v1/applications/"+mine).okDeveloper(200).text("data.status"))
		})
		t.Run("key beside a token", func(t *testing.T) {
			t.Parallel()
			dev, ann := server.seeker(t), server.seeker(t)
			own := dev.app()
			program := ann.grantApp(own, integrations.ApplicationsWrite)
			// A key beside a token must be one of the app that has the token.
			program.withKey(dev.programOf(own).apiKey).post("/api/v1/applications", object{"job_id": job}).okDeveloper(201)
			program.withKey(dev.program().apiKey).post("/api/v1/applications", object{"job_id": job}).problem(401, "unauthorized")
			program.withKey("nonsense").get("/api/v1/jobs").problem(401, "unauthorized")
			program.withKey("").get("/api/jobseekers/profile").fails(401, "Unauthorized") // not a token of the portal
		})
		t.Run("forty concurrent requests", func(t *testing.T) {
			t.Parallel()
			ann := server.seeker(t)
			statuses := make(chan int, 40)
			program := ann.grantApp(server.seeker(t).app(), integrations.ApplicationsWrite)
			for range cap(statuses) {
				go func() { statuses <- program.try("POST", "/v1/applications", object{"job_id": job}).status }()
			}
			count := map[int]int{}
			for range cap(statuses) {
				count[<-statuses]++
			}
			// The others are conflicts, or over the quota or the number of connections.
			require.Equal(t, 1, count[201], fmt.Sprint(count))
			require.Zero(t, count[500], fmt.Sprint(count))
		})
	})
}
