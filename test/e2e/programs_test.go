package e2e

import (
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/adapters/developer"
)

// program returns a client with an API key of a new app of the account.
func (a *account) program() *client {
	a.t.Helper()

	owner := a

	created := owner.post("/api/developers/apps", object{"name": "Ward Finder"})
	if strings.Contains(string(created.raw), "reauthentication_required") { // the last sign-in was more than 10 minutes ago
		owner = a.signIn(password)
		created = owner.post("/api/developers/apps", object{"name": "Ward Finder"})
	}

	return owner.programOf(created.ok(201).text("data.app.id"))
}

// programOf returns a client with a new key of the app.
func (a *account) programOf(app string) *client {
	a.t.Helper()

	program := a.server.guest(a.t)
	program.apiKey = a.post("/api/developers/apps/"+app+"/keys", object{"name": "k"}).ok(201).text("data.apiKey")

	return program
}

// okDeveloper requires a success of the developer API with the status and the headers of its
// limits.
func (r *response) okDeveloper(status int) *response {
	r.t.Helper()
	require.Equal(r.t, status, r.status, "%s", r.raw)
	r.requireLimitHeaders()

	return r
}

// problem requires an error of the developer API (RFC 9457) with the status and code.
func (r *response) problem(status int, code string) *response {
	r.t.Helper()

	if status == http.StatusTooManyRequests {
		r = r.untilLimited()
	}

	require.Equal(r.t, status, r.status, "%s", r.raw)
	require.Equal(r.t, "application/problem+json", r.header.Get("Content-Type"))
	require.Equal(r.t, code, r.text("code"))
	require.EqualValues(r.t, status, r.number("status"))
	require.Equal(r.t, r.header.Get("X-Request-Id"), r.text("request_id"))
	require.NotEmpty(r.t, r.text("title"))
	require.NotEmpty(r.t, r.text("detail"))

	if status != 429 { // 429 has a registered type of problem
		require.Regexp(r.t, "/problems/"+code+"$", r.text("type"))
	}

	r.requireLimitHeaders()

	return r
}

// policyHeader and limitHeader match the headers of the IETF draft on rate limits: the limits
// (q requests in w seconds), and what is left of them (r requests, t seconds until the reset).
var (
	policyHeader = regexp.MustCompile(`^"minute";q=\d+;w=60(,"day";q=\d+;w=86400)?$`)
	limitHeader  = regexp.MustCompile(`^"minute";r=\d+;t=\d+(,"day";r=\d+;t=\d+)?$`)
)

// requireLimitHeaders requires the rate limit headers, which every response has.
func (r *response) requireLimitHeaders() {
	r.t.Helper()
	require.Regexp(r.t, policyHeader, r.header.Get("RateLimit-Policy"))
	require.Regexp(r.t, limitHeader, r.header.Get("RateLimit"))

	for _, name := range []string{"X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"} {
		_, err := strconv.ParseInt(r.header.Get(name), 10, 64)
		require.NoError(r.t, err, name)
	}

	require.Equal(r.t, "*", r.header.Get("Access-Control-Allow-Origin"))
	require.Empty(r.t, r.header.Get("Access-Control-Allow-Credentials"))
}

// sendWithHeaders sends a request without a body, with additional headers. Of the client's
// credentials it sends the API key only.
func (c *client) sendWithHeaders(method, path string, headers map[string]string) *response {
	c.t.Helper()

	request, err := http.NewRequestWithContext(c.t.Context(), method, c.server.url+path, http.NoBody)
	require.NoError(c.t, err)
	request.Header.Set("X-Forwarded-For", c.ip)

	if c.apiKey != "" {
		request.Header.Set("X-API-Key", c.apiKey)
	}

	for name, value := range headers {
		request.Header.Set(name, value)
	}

	return c.do(request)
}

// TestDeveloperJobs checks jobs in the developer API: search, detail, suggestions, headers and
// conditional requests. Every caller sees public jobs only, even a member of the organization. The
// API has the same operations below /api/v1/ and /v1/, so that the requests use both.
func TestDeveloperJobs(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		boss := server.employer(t)
		boss.put("/api/employers/organization", object{"website": "https://stbrigids.example.org"}).ok(200)

		word := fmt.Sprintf("word%d", time.Now().UnixNano()) // finds the two jobs full and bare only
		full := boss.listing(
			object{
				"title":          word + " one",
				"location":       "Leeds",
				"specialty":      "Intensive Care",
				"employmentType": "full-time",
				"contractType":   "permanent",
				"salary": object{
					"min":      36000,
					"max":      44000,
					"currency": "GBP",
				},
				"requirements": []string{"NMC registration"},
				"questions":    []object{{"id": "pin", "text": "Your PIN?", "required": true}},
			},
		)
		bare := boss.listing(object{"title": word + " two"})

		t.Run("GET /api/v1/jobs/suggest", func(t *testing.T) {
			me := server.seeker(t).program()

			// The first suggestion is Leeds. Its total depends on the other listings and is taken from the response.
			all := me.get("/api/v1/jobs/suggest?q=lee").okDeveloper(200).list("data")
			require.Contains(t, all, object{"kind": "place", "text": "Leeds, West Yorkshire", "total": all[0].(object)["total"]})
			require.Equal(t, []any{}, me.get("/api/v1/jobs/suggest?q=zzzz").okDeveloper(200).at("data"))
			me.get("/api/v1/jobs/suggest?q="+strings.Repeat("x", 201)).problem(400, "invalid_parameters")
		})

		t.Run("GET /api/v1/jobs", func(t *testing.T) {
			t.Parallel()

			me := server.seeker(t).program()
			list := me.get("/api/v1/jobs?keywords=" + word + "&sort=date&limit=1").okDeveloper(200)
			require.Equal(t, object{"page": 1.0, "limit": 1.0, "total": 2.0, "total_pages": 2.0}, list.at("pagination"))
			require.Equal(t, false, list.at("total_is_estimate"))

			// The newest job comes first. It was posted without a place and other optional members, which are null.
			require.Equal(t, bare, list.text("data.0.id"))
			require.Equal(t,
				object{"text": nil, "city": nil, "region": nil, "country": nil, "latitude": nil, "longitude": nil},
				list.at("data.0.location"))

			for _, name := range []string{"specialty", "employment_type", "contract_type", "salary", "application_deadline"} {
				require.Nil(t, list.at("data.0."+name), name)
			}

			require.NotContains(t, list.at("data.0"), "distance_miles", "no place was asked for")
			require.Contains(t, list.header.Get("Link"), `page=2&sort=date>; rel="next"`)
			require.Contains(t, list.header.Get("Link"), `rel="last"`)

			next := me.get("/v1/jobs?keywords=" + word + "&sort=date&limit=1&cursor=" + list.text("next_cursor")).okDeveloper(200)
			require.Equal(t, full, next.text("data.0.id"))
			require.Nil(t, next.at("next_cursor"))

			// The older job has all members. The employer has the website that the test has set.
			job := next.at("data.0").(object)
			require.Equal(t, organizationName, next.text("data.0.company.name"))
			require.Equal(t, "https://stbrigids.example.org", next.text("data.0.company.website"))
			require.Equal(t, "Leeds", next.text("data.0.location.city"))
			require.Equal(t, "GB", next.text("data.0.location.country"))
			require.Equal(t, object{"min": 36000.0, "max": 44000.0, "currency": "GBP", "period": "year"}, job["salary"])
			require.Equal(t, []any{object{"id": "pin", "text": "Your PIN?", "required": true}}, job["questions"])
			require.Regexp(t, "/jobs/"+full+"$", job["url"])

			one := me.get("/api/v1/jobs/" + full).okDeveloper(200)

			// Only searches have the members matched and relaxed.
			delete(job, "matched")
			delete(job, "relaxed")
			require.Equal(t, job, one.at("data"), "a list and a single job have the same members")
			require.Equal(t, 100.0, me.get("/api/v1/jobs?limit=1000").okDeveloper(200).number("pagination.limit"),
				"a limit above the maximum is lowered to it")
		})

		t.Run("GET /api/v1/jobs at an unknown place", func(t *testing.T) {
			t.Parallel()

			moon := boss.listing(object{"title": "Lunar nurse", "location": "Mare Tranquillitatis"})
			require.Equal(t,
				object{"text": "Mare Tranquillitatis", "city": nil, "region": nil, "country": nil, "latitude": nil, "longitude": nil},
				server.seeker(t).program().get("/api/v1/jobs/"+moon).okDeveloper(200).at("data.location"),
				"an unknown place has only its text")
		})

		t.Run("GET /api/v1/jobs narrowed by a place or filter", func(t *testing.T) {
			t.Parallel()

			me := server.seeker(t).program()
			near := me.get("/api/v1/jobs?keywords=" + word + "&location=Bradford").okDeveloper(200)

			// Bradford is 8.5 miles from Leeds; which points are measured may differ by 2 miles.
			require.InDelta(t, 8.5, near.number("data.0.distance_miles"), 2)

			// No job is within 2 miles of Bradford, and neither of the two can be done remotely.
			require.Empty(t, me.get("/api/v1/jobs?keywords="+word+"&location=Bradford&radius=2").okDeveloper(200).list("data"))
			require.Equal(t, []any{}, me.get("/api/v1/jobs?keywords="+word+"&remote=true").okDeveloper(200).at("data"))

			// Each filter matches the job with all members.
			for _, filter := range []string{
				"employment_type=full-time", "contract_type=permanent", "salary_min=40000",
				"specialty=Intensive+Care", "posted_after=2020-01-01&location=Leeds",
			} {
				require.Equal(t, full,
					me.get("/api/v1/jobs?keywords="+word+"&sort=salary&"+filter).okDeveloper(200).text("data.0.id"),
					filter)
			}
		})

		t.Run("GET /api/v1/jobs refuses invalid parameters", func(t *testing.T) {
			t.Parallel()

			me := server.seeker(t).program()

			// Three errors: sort, posted_after, and a salary_max that is less than salary_min.
			three := me.get("/api/v1/jobs?sort=zz&salary_max=2&posted_after=z&salary_min=5").problem(400, "invalid_parameters")
			require.Len(t, three.list("errors"), 3, "%s", three.raw)

			for query, field := range map[string]string{
				"page=0":                    "page",
				"limit=x":                   "limit",
				"radius=-1":                 "radius",
				"salary_min=2&salary_max=1": "salary_max",
				"sort=title":                "sort",
				"employment_type=often":     "employment_type",
				"contract_type=x":           "contract_type",
				"posted_after=yesterday":    "posted_after",
				"remote=perhaps":            "remote",
				"cursor=nonsense":           "cursor",
			} {
				refused := me.get("/api/v1/jobs?"+query).problem(400, "invalid_parameters")
				require.Equal(t, field, refused.text("errors.0.field"), "%s", refused.raw)
			}

			// Numbered pages end at the 10,000th item.
			me.get("/api/v1/jobs?page=101&limit=100").problem(400, "page_too_deep")
		})

		t.Run("GET /api/v1/jobs/:job_id", func(t *testing.T) {
			t.Parallel()

			me := server.employer(t).program()
			require.Equal(t, bare, me.get("/v1/jobs/"+bare).okDeveloper(200).text("data.id"))

			hidden := boss.listing(object{"status": "draft"})

			// A draft, a text that is no id, and the id of a user are not found alike.
			for _, missing := range []string{hidden, "nonsense", boss.id} {
				me.get("/api/v1/jobs/"+missing).problem(404, "job_not_found")
			}

			boss.program().get("/api/v1/jobs/"+hidden).problem(404, "job_not_found") // only public jobs, for every caller
		})

		t.Run("documented response headers", func(t *testing.T) {
			t.Parallel()

			_, document := openAPIOf(t, developer.API(adapters.Services{}, server.url))
			me := server.seeker(t).program()
			first := me.get("/v1/jobs/" + full).okDeveloper(200)
			unmodified := me.sendWithHeaders("GET", "/v1/jobs/"+full, map[string]string{"If-None-Match": first.header.Get("ETag")})
			require.Equal(t, 304, unmodified.status)

			for _, resp := range []*response{
				first,
				unmodified,
				server.guest(t).get("/api/v1/jobs/"+full).problem(401, "unauthorized"),
				me.get("/v1/jobs/"+nowhere).problem(404, "job_not_found"),
			} {
				// A response has every header that the document names for its status. Only 200 and 304 have an ETag.
				documented := document.Paths["/api/v1/jobs/{job_id}"]["get"].Responses[strconv.Itoa(resp.status)].Headers
				require.Contains(t, documented, "X-RateLimit-Remaining")

				hasTag := resp.status == 200 || resp.status == 304
				require.Equal(t, hasTag, documented["ETag"] != nil)

				for name := range documented {
					require.NotEmpty(t, resp.header.Get(name), "%s of %d", name, resp.status)
				}
			}
		})

		t.Run("conditional requests", func(t *testing.T) {
			t.Parallel()

			me := server.seeker(t).program()
			for _, path := range []string{"/api/v1/jobs?keywords=" + word, "/v1/jobs/" + full} {
				first := me.get(path).okDeveloper(200)
				require.Equal(t, "private, max-age=0, must-revalidate", first.header.Get("Cache-Control"))
				require.Equal(t, "Authorization, X-API-Key", first.header.Get("Vary"))

				tag := first.header.Get("ETag")
				require.Regexp(t, `^W/"[\w-]+"$`, tag)

				// One of the two tags in the condition is the current one, so that the response is 304 without a body.
				again := me.sendWithHeaders("GET", path, map[string]string{"If-None-Match": `"x", ` + tag})
				require.Equal(t, 304, again.status)
				require.Empty(t, again.raw)
				require.Equal(t, tag, again.header.Get("ETag"))
				again.requireLimitHeaders()
				require.Equal(t, 200, me.sendWithHeaders("GET", path, map[string]string{"If-None-Match": `W/"other"`}).status)

				// HEAD has the same headers as GET.
				head := me.sendWithHeaders("HEAD", path, nil)
				require.Equal(t, tag, head.header.Get("ETag"))
				head.requireLimitHeaders()
			}
		})
	})
}

// TestDeveloperAPI_Authentication checks missing and wrong credentials: each error is a problem
// with the headers of the limits and a challenge that names what was wrong.
func TestDeveloperAPI_Authentication(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		t.Run("missing and invalid credentials", func(t *testing.T) {
			t.Parallel()

			guest := server.guest(t)
			seeker := server.seeker(t)

			// Without credentials, the challenge offers both schemes, and the limit is that of an address.
			withNone := guest.get("/api/v1/jobs").problem(401, "unauthorized")
			require.Equal(t, `Bearer realm="locum", ApiKey realm="locum"`, withNone.header.Get("WWW-Authenticate"))
			require.Equal(t, "60", withNone.header.Get("X-RateLimit-Limit"))
			require.Equal(t, `"minute";q=60;w=60`, withNone.header.Get("RateLimit-Policy"))

			// A token of the portal is not one of the developer API.
			withPortalToken := seeker.get("/v1/jobs").problem(401, "unauthorized")
			require.Equal(t, `Bearer realm="locum", error="invalid_token"`, withPortalToken.header.Get("WWW-Authenticate"))

			key := seeker.program().apiKey
			for _, invalidKey := range []string{
				"x",
				key + "x",
				key[:len(key)-1] + "!",
				// A key of the right form that does not exist: the characters after the prefix loc_live_ are zeros.
				"loc_live_" + regexp.MustCompile(`.`).ReplaceAllString(key[9:], "0"),
			} {
				refused := (&client{t: t, server: server, ip: guest.ip, apiKey: invalidKey}).get("/api/v1/jobs").problem(401, "unauthorized")
				require.Equal(t, `ApiKey realm="locum"`, refused.header.Get("WWW-Authenticate"))
			}

			withTokenAndKey := *seeker.client
			withTokenAndKey.apiKey = key
			withTokenAndKey.get("/api/v1/jobs").problem(401, "unauthorized") // a valid key does not replace an invalid token

			basic := (&client{t: t, server: server, ip: guest.ip}).sendWithHeaders("GET", "/api/v1/jobs",
				map[string]string{"Authorization": "Basic eDp5"})
			require.Equal(t, 401, basic.status)
			require.Equal(t, `Bearer realm="locum"`, basic.header.Get("WWW-Authenticate"),
				"a request without a token has no error code (RFC 6750 §3.1)")
		})

		t.Run("API key as a portal token", func(t *testing.T) {
			t.Parallel()

			program := server.seeker(t).program()
			program.token, program.apiKey = program.apiKey, ""
			program.get("/api/jobseekers/profile").fails(401, "Unauthorized")
		})

		t.Run("deleted key", func(t *testing.T) {
			t.Parallel()

			developer := server.seeker(t)
			app := developer.post("/api/developers/apps", object{"name": "x"}).ok(201).text("data.app.id")
			program := developer.programOf(app)
			program.get("/api/v1/jobs").okDeveloper(200)

			keys := "/api/developers/apps/" + app + "/keys"
			developer.delete(keys + "/" + developer.get(keys).ok(200).text("data.keys.0.id")).ok(200)
			program.get("/api/v1/jobs").problem(401, "unauthorized")
		})

		t.Run("every error is a problem with headers", func(t *testing.T) {
			t.Parallel()

			me := server.seeker(t).program()
			for _, path := range []string{"/api/v1", "/v1", "/v1/", "/api/v1/nothing", "/v1/jobs/a/b"} {
				require.Equal(t, path, me.try("GET", path, nil).problem(404, "not_found").text("instance"))
				server.guest(t).try("GET", path, nil).problem(401, "unauthorized")
			}

			wrongMethod := me.try("DELETE", "/v1/jobs", nil).problem(405, "method_not_allowed")
			require.Contains(t, wrongMethod.header.Get("Allow"), "GET")

			tooLarge := make([]byte, 3<<20) // requests of the developer API may have 1 MB
			me.try("GET", "/api/v1/jobs", tooLarge).problem(413, "payload_too_large")

			// The prefix /api/v1/ ends with a slash: /api/v10/jobs is no path of the API.
			outside := server.guest(t).try("GET", "/api/v10/jobs", nil)
			require.Empty(t, outside.header.Get("RateLimit"))
		})

		t.Run("CORS", func(t *testing.T) {
			t.Parallel()

			preflight := server.guest(t).
				sendWithHeaders("OPTIONS", "/v1/jobs", map[string]string{
					"Origin":                         "https://other.example.com",
					"Access-Control-Request-Method":  "GET",
					"Access-Control-Request-Headers": "X-API-Key",
				})
			require.Equal(t, 204, preflight.status)
			preflight.requireLimitHeaders()
			require.Contains(t, preflight.header.Get("Access-Control-Allow-Methods"), "GET")
			require.Contains(t, preflight.header.Get("Access-Control-Allow-Headers"), "X-API-Key")
		})

		t.Run("error pages", func(t *testing.T) {
			t.Parallel()

			guest := server.guest(t)

			// The type of a problem is the URL of a page that explains the error.
			page := guest.try("GET", "/problems/insufficient_scope", nil)
			require.Equal(t, 200, page.status)
			require.Contains(t, string(page.raw), "insufficient_scope")
			require.Contains(t, page.header.Get("Content-Security-Policy"), "default-src 'none'")
			require.Equal(t, 404, guest.try("GET", "/problems/nothing", nil).status)
			require.Equal(t, 200, guest.try("GET", "/docs/developer", nil).status)
		})
	})
}

// TestDeveloperAPI_Quotas checks the quotas of the free plan, 60 requests a minute and 10,000 a
// day for all keys of an app, and the limit for requests without credentials, 60 a minute for
// an address.
func TestDeveloperAPI_Quotas(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		t.Run("quota counts all keys of an app", func(t *testing.T) {
			t.Parallel()

			developer := server.seeker(t)
			app := developer.app()
			one := developer.programOf(app)
			two := developer.programOf(app)

			// The first request of the minute and of the day.
			begun := time.Now()
			first := one.get("/api/v1/jobs?limit=1").okDeveloper(200)
			answered := time.Now()

			require.Equal(t, `"minute";q=60;w=60,"day";q=10000;w=86400`, first.header.Get("RateLimit-Policy"))
			require.Regexp(t, `^"minute";r=59;t=\d+,"day";r=9999;t=\d+$`, first.header.Get("RateLimit"))
			require.Equal(t, "59", first.header.Get("X-RateLimit-Remaining"))

			reset, err := strconv.ParseInt(first.header.Get("X-RateLimit-Reset"), 10, 64)
			require.NoError(t, err)

			// The header has whole seconds: a second of tolerance on both sides.
			require.GreaterOrEqual(t, reset, begun.Add(time.Minute).Unix()-1)
			require.LessOrEqual(t, reset, answered.Add(time.Minute).Unix()+1)

			// Sixty more requests, with both keys in turn. Failed requests count, too.
			statuses := map[int]int{}
			for range 30 {
				statuses[one.try("GET", "/v1/jobs/nonsense", nil).status]++
				statuses[two.fromNewAddress().withKey(two.apiKey).try("GET", "/api/v1/jobs?limit=1", nil).status]++
			}

			if server.countsLocally() {
				return // a request that was counted in memory is missing in the numbers below
			}

			// With the first request, 60 were counted before the one that is refused.
			require.Equal(t, map[int]int{404: 30, 200: 29, 429: 1}, statuses)

			refused := two.get("/api/v1/jobs").problem(429, "rate_limit_exceeded")
			require.Equal(t, "https://iana.org/assignments/http-problem-types#quota-exceeded", refused.text("type"))
			require.Equal(t, []any{"minute"}, refused.at("violated-policies"))
			require.Equal(t, "0", refused.header.Get("X-RateLimit-Remaining"))

			wait, err := strconv.Atoi(refused.header.Get("Retry-After"))
			require.NoError(t, err)
			require.GreaterOrEqual(t, wait, 1)
			require.LessOrEqual(t, wait, 60)

			require.Equal(t, 429, two.try("GET", "/v1/nothing", nil).status, "unknown addresses are limited too")

			t.Run("other clients have quotas of their own", func(t *testing.T) {
				// fromNewAddress returns a client without a key.
				one.fromNewAddress().get("/api/v1/jobs").problem(401, "unauthorized")

				anotherApp := developer.program()
				anotherApp.get("/api/v1/jobs").okDeveloper(200)
			})

			t.Run("usage of the app counts all requests", func(t *testing.T) {
				// 63 requests: the first, 60 of the loop, and two refused ones after it. 33 errors:
				// 404 thirty times and 429 three times.
				isCounted := func() bool {
					usage := developer.get("/api/developers/apps/" + app + "/usage").ok(200)
					days := usage.list("data.series")
					today := days[len(days)-1].(object)

					return today["requests"] == 63.0 && today["errors"] == 33.0
				}
				require.Eventually(t, isCounted, waitTimeout, 50*time.Millisecond)
				require.NotNil(t, developer.get("/api/developers/apps/"+app+"/keys").ok(200).at("data.keys.0.lastUsedAt"))
			})
		})

		t.Run("anonymous limit per address", func(t *testing.T) {
			t.Parallel()

			guest := server.guest(t)
			for range 60 {
				require.Equal(t, 401, guest.try("GET", "/v1/jobs", nil).status)
			}

			refused := guest.get("/api/v1/jobs").problem(429, "rate_limit_exceeded")
			require.Equal(t, []any{"minute"}, refused.at("violated-policies"))

			// Guests at another address are not limited, and neither is a program with a key at the limited one.
			guest.fromNewAddress().get("/api/v1/jobs").problem(401, "unauthorized")

			program := server.seeker(t).program()
			program.ip = guest.ip
			program.get("/api/v1/jobs").okDeveloper(200)
		})
	})
}
