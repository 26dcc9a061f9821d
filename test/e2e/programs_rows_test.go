package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/modules/integrations"
	"github.com/locumhq/locum/test/kit"
)

// ids requires a successful list of the developer API and returns the ids of its items.
func (r *response) ids() []string {
	r.t.Helper()

	ids := []string{}
	for _, item := range r.okDeveloper(200).list("data") {
		ids = append(ids, item.(object)["id"].(string))
	}

	return ids
}

// jobMembers are the members of a job in every response.
var jobMembers = []string{
	"id",
	"title",
	"description",
	"company",
	"location",
	"remote",
	"specialty",
	"employment_type",
	"contract_type",
	"salary",
	"requirements",
	"benefits",
	"questions",
	"status",
	"application_deadline",
	"posted_at",
	"updated_at",
	"url",
}

// TestDeveloperRoutes checks the operations of the developer API with every parameter, under both
// prefixes.
func TestDeveloperRoutes(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		boss := server.employer(t)
		word := fmt.Sprintf("word%d", time.Now().UnixNano()) // finds the jobs of this test only
		createListing := func(more object) (id string) {
			listing := object{"title": word}
			maps.Copy(listing, more)
			return boss.listing(listing)
		}

		leeds := createListing(
			object{
				"location":       "Leeds",
				"specialty":      "Intensive Care",
				"employmentType": "full-time",
				"contractType":   "permanent",
				"salary":         object{"min": 30000, "max": 40000},
			},
		)
		bradford := createListing(
			object{
				"location":       "Bradford",
				"specialty":      "Theatre",
				"employmentType": "part-time",
				"contractType":   "temporary",
				"salary":         object{"min": 20, "max": 25, "period": "hour"},
			},
		)
		london := createListing(
			object{"location": "London", "employmentType": "bank", "contractType": "contract", "salary": object{"min": 60000}},
		)
		remote := createListing(object{"remote": true})
		unknownPlace := createListing(object{"location": "Zzyzx Ward"})
		newestFirst := []string{unknownPlace, remote, london, bradford, leeds}

		for _, prefix := range []string{"/api/v1", "/v1"} {
			t.Run("GET "+prefix+"/jobs", func(t *testing.T) {
				t.Parallel()

				developer := server.seeker(t)
				app := developer.app()

				// The other plans have fewer requests per minute than this test sends.
				server.run(t, "developers", "plan", app, "enterprise")

				program := developer.programOf(app)
				find := func(query string) *response {
					t.Helper()

					path := prefix + "/jobs?keywords=" + word + "&" + query
					if strings.HasSuffix(query, "=") {
						return program.try("GET", path, nil) // an empty parameter means none, but the document does not describe it
					}

					return program.get(path)
				}

				t.Run("filters and pages", func(t *testing.T) {
					for query, want := range map[string][]string{
						"":          newestFirst,
						"sort=date": newestFirst,
						// The default radius reaches Bradford; remote jobs are near every place.
						"location=Leeds":                           {leeds, bradford, remote},
						"location=Leeds&radius=5":                  {leeds, remote},
						"location=Leeds&radius=500":                {leeds, bradford, remote, london},
						"location=Leeds&radius=0.5":                {leeds, remote},
						"location=zzyzx+ward":                      {unknownPlace},
						"location=":                                newestFirst,
						"location=Yorkshire":                       {leeds, bradford, remote},
						"radius=5":                                 newestFirst, // a radius without a place is ignored
						"specialty=Theatre":                        {bradford},
						"employment_type=full-time":                {leeds},
						"employment_type=part-time":                {bradford},
						"employment_type=bank":                     {london},
						"employment_type=per-diem":                 {},
						"employment_type=":                         newestFirst,
						"contract_type=permanent":                  {leeds},
						"contract_type=temporary":                  {bradford},
						"contract_type=contract":                   {london},
						"salary_min=45000":                         {bradford, london}, // 25 an hour are 48,750 a year
						"salary_min=50000":                         {london},
						"salary_max=35000":                         {leeds},
						"salary_min=39000&salary_max=39500":        {leeds, bradford},
						"salary_min=0":                             {leeds, bradford, london},
						"remote=true":                              {remote},
						"remote=false":                             {unknownPlace, london, bradford, leeds},
						"posted_after=2020-01-01":                  newestFirst,
						"posted_after=2020-01-01T00:00:00%2B01:00": newestFirst,
						"posted_after=2999-01-01":                  {},
						"posted_after=2999-01-01T00:00:00Z":        {},
						"unknown=1&apiKey=2":                       newestFirst, // unknown parameters are ignored
						"page=2":                                   {},
						"limit=2":                                  newestFirst[:2],
						"limit=2&page=3":                           newestFirst[4:],
					} {
						found := find(query).ids()

						// Pages are parts of the list by date; other queries rank by relevance, whose order
						// has tests of its own.
						hasKnownOrder := strings.Contains(query, "page=") || strings.Contains(query, "limit=") || query == "sort=date"
						if hasKnownOrder {
							require.Equal(t, want, found, query)
						} else {
							require.ElementsMatch(t, want, found, query)
						}
					}
				})

				t.Run("posted_after includes its bound", func(t *testing.T) {
					job := program.get(prefix + "/jobs/" + bradford).okDeveloper(200)
					posted, err := time.Parse(time.RFC3339Nano, job.text("data.posted_at"))
					require.NoError(t, err)

					findAfter := func(bound time.Time) []string {
						return find("sort=date&posted_after=" + bound.Format(time.RFC3339Nano)).ids()
					}
					newerThanBradford := slices.Index(newestFirst, bradford)
					require.Equal(t, newestFirst[:newerThanBradford+1], findAfter(posted))
					require.Equal(t, newestFirst[:newerThanBradford], findAfter(posted.Add(time.Microsecond)))
				})

				t.Run("orders", func(t *testing.T) {
					// By distance, the nearest job is first. Without a place the order is relevance.
					require.Equal(t, []string{leeds, bradford}, find("location=Leeds&sort=distance&remote=false").ids())
					require.Equal(t, newestFirst, find("sort=distance").ids())

					// By pay, the best paid of the three jobs with a salary is first.
					require.Equal(t, []string{london, bradford, leeds}, find("sort=salary").ids()[:3])
				})

				t.Run("totals are those of all results, whatever the page", func(t *testing.T) {
					require.Equal(t, object{"page": 1.0, "limit": 1.0, "total": 5.0, "total_pages": 5.0},
						find("limit=1").okDeveloper(200).at("pagination"))
					require.Equal(t, object{"page": 1.0, "limit": 20.0, "total": 5.0, "total_pages": 1.0}, find("").at("pagination"))
					require.Equal(t, object{"page": 1.0, "limit": 20.0, "total": 0.0, "total_pages": 0.0},
						find("specialty=None+such").at("pagination"))
				})

				t.Run("members of a job, with a distance near a place", func(t *testing.T) {
					for query, more := range map[string][]string{
						"":               {"matched", "relaxed"},
						"location=Leeds": {"matched", "relaxed", "distance_miles"},
					} {
						want := slices.Concat(jobMembers, more)
						for _, item := range find(query).list("data") {
							require.ElementsMatch(t, want, slices.Collect(maps.Keys(item.(object))), query)
						}
					}
				})

				t.Run("empty cursor means the first page", func(t *testing.T) {
					require.NotEmpty(t, find("cursor=").ids())
				})

				t.Run("invalid parameters", func(t *testing.T) {
					for query, field := range map[string]string{
						// Repeated parameters. The text of find contains "keywords" already.
						"page=1&page=2":         "page",
						"limit=1&limit=1":       "limit",
						"location=a&location=b": "location",
						"keywords=x":            "keywords",
						"sort=date&sort=date":   "sort",
						"radius=1&radius=1":     "radius",
						// Values outside of their range, of another type, too long, and not valid as text.
						"page=-1":                               "page",
						"page=1.5":                              "page",
						"page=":                                 "page",
						"limit=0":                               "limit",
						"radius=0":                              "radius",
						"radius=501":                            "radius",
						"radius=NaN":                            "radius",
						"radius=1e999":                          "radius",
						"salary_min=-1":                         "salary_min",
						"salary_max=x":                          "salary_max",
						"salary_min=Inf":                        "salary_min",
						"remote=maybe":                          "remote",
						"employment_type=Full-Time":             "employment_type",
						"posted_after=2026-13-01":               "posted_after",
						"location=" + strings.Repeat("x", 201):  "location",
						"specialty=" + strings.Repeat("x", 201): "specialty",
						"location=%ff":                          "location",
						"location=%00":                          "location",
					} {
						refused := find(query).problem(400, "invalid_parameters")
						require.Equal(t, field, refused.text("errors.0.field"), "%s: %s", query, refused.raw)
					}
				})
			})

			t.Run("methods below "+prefix, func(t *testing.T) {
				t.Parallel()

				program := server.seeker(t).program()
				for path, allowed := range map[string][]string{
					"/jobs":                    {"GET", "HEAD", "OPTIONS"},
					"/jobs/" + leeds:           {"GET", "HEAD", "OPTIONS"},
					"/applications":            {"GET", "HEAD", "OPTIONS", "POST"},
					"/applications/" + nowhere: {"GET", "HEAD", "OPTIONS"},
				} {
					// None of these methods is one of an operation. The error lists the methods of the path.
					for _, method := range []string{"PUT", "PATCH", "DELETE", "PROPFIND"} {
						refused := program.try(method, prefix+path, nil).problem(405, "method_not_allowed")
						require.ElementsMatch(t, allowed, strings.Split(refused.header.Get("Allow"), ", "), path)
					}

					requirePreflight(t, server, prefix+path, allowed)
				}
			})

			t.Run("unknown paths below "+prefix, func(t *testing.T) {
				t.Parallel()

				program := server.seeker(t).program()
				for _, path := range []string{
					// Paths with another case or a further slash are not the same as those of operations.
					"/jobs/", "/Jobs", "/jobs/" + leeds + "/", "/jobs//" + leeds, "/applications/",
					"", "/", "/nothing",
				} {
					program.try("GET", prefix+path, nil).problem(404, "not_found")
				}
			})

			t.Run("HEAD and ETag below "+prefix, func(t *testing.T) {
				t.Parallel()

				program := server.seeker(t).program()
				head := program.sendWithHeaders("HEAD", prefix+"/jobs/"+leeds, nil)
				require.Equal(t, 200, head.status)
				require.Empty(t, head.raw)

				got := program.get(prefix + "/jobs/" + leeds).okDeveloper(200)
				for _, name := range []string{"ETag", "Cache-Control", "Vary", "Content-Type", "RateLimit-Policy"} {
					require.Equal(t, got.header.Get(name), head.header.Get(name), name)
				}

				require.Equal(t, "application/json; charset=utf-8", got.header.Get("Content-Type"))
				require.Equal(t, issuer+"/jobs/"+leeds, got.text("data.url"))
				require.ElementsMatch(t, jobMembers, slices.Collect(maps.Keys(got.at("data").(object))))

				// An error without a body also has the headers of the limits.
				missing := program.sendWithHeaders("HEAD", prefix+"/jobs/nonsense", nil)
				require.Equal(t, 404, missing.status)
				missing.requireLimitHeaders()

				tag := got.header.Get("ETag")

				// If-None-Match compares weakly (RFC 9110 §13.1.2).
				for _, match := range []string{tag, strings.TrimPrefix(tag, "W/"), "*", `"a", ` + tag} {
					unmodified := program.sendWithHeaders("GET", prefix+"/jobs/"+leeds, map[string]string{"If-None-Match": match})
					require.Equal(t, 304, unmodified.status, match)
					require.Empty(t, unmodified.raw)
					require.NotEmpty(t, unmodified.header.Get("Cache-Control"))
					unmodified.requireLimitHeaders()
				}
			})
		}

		t.Run("links keep the other parameters", func(t *testing.T) {
			t.Parallel()

			program := server.seeker(t).program()
			list := program.get("/v1/jobs?keywords=" + word + "&limit=2&page=2&location=").okDeveloper(200)

			pageByRel := map[string]string{}

			// Each link leads to the same path with the same parameters, and differs in the page only.
			for link := range strings.SplitSeq(list.header.Get("Link"), ", ") {
				address, rel, _ := strings.Cut(strings.TrimPrefix(link, "<"), `>; rel=`)
				target, err := url.Parse(address)
				require.NoError(t, err)
				require.Equal(t, issuer, target.Scheme+"://"+target.Host)
				require.Equal(t, "/v1/jobs", target.Path)
				require.Equal(t, word, target.Query().Get("keywords"))
				require.Equal(t, "2", target.Query().Get("limit"))

				pageByRel[strings.Trim(rel, `"`)] = target.Query().Get("page")
			}

			require.Equal(t, map[string]string{"first": "", "prev": "1", "next": "3", "last": "3"}, pageByRel)

			// A page after the last is empty, and its link leads back to the last.
			beyond := program.get("/v1/jobs?keywords=" + word + "&limit=2&page=99").okDeveloper(200)
			require.Contains(t, beyond.header.Get("Link"), `page=3>; rel="prev"`)
		})

		t.Run("all invalid parameters are reported together", func(t *testing.T) {
			t.Parallel()

			refused := server.seeker(t).program().
				get("/v1/jobs?posted_after=yesterday&sort=x").
				problem(400, "invalid_parameters")
			require.Len(t, refused.list("errors"), 2)
		})

		t.Run("idempotency key under both prefixes", func(t *testing.T) {
			t.Parallel()

			program := server.seeker(t).grantApp(server.seeker(t).app(), integrations.ApplicationsWrite)
			program.key = "one"
			first := program.post("/api/v1/applications", object{"job_id": leeds}).okDeveloper(201)

			// The same request below the other prefix is a repetition. Another body with the same key is refused.
			again := program.post("/v1/applications", object{"job_id": leeds}).okDeveloper(201)
			require.Equal(t, "true", again.header.Get("Idempotency-Replayed"))
			require.Equal(t, first.raw, again.raw)
			program.post("/v1/applications", object{"job_id": london}).problem(422, "idempotency_key_reused")

			// A key has at most 255 characters of ASCII.
			for _, invalidKey := range []string{strings.Repeat("k", 256), "é"} {
				program.key = invalidKey
				program.try("POST", "/v1/applications", object{"job_id": london}).problem(400, "invalid_parameters")
			}
		})

		t.Run("maximum size of an application", func(t *testing.T) {
			t.Parallel()

			// The listing has 20 required questions. Each answer has 1,000 characters of two bytes.
			questions := []object{}

			answers := []object{}
			for i := range 20 {
				questions = append(questions, object{"id": fmt.Sprint(i), "text": "Why?", "required": true})
				answers = append(answers, object{"question_id": fmt.Sprint(i), "answer": strings.Repeat("ä", 1000)})
			}

			withQuestions := boss.listing(object{"questions": questions})
			seeker := server.seeker(t)
			program := seeker.grantApp(server.seeker(t).app(), integrations.ApplicationsWrite, integrations.ApplicationsRead)

			// The longest cover letter, of characters with four bytes each: limits count
			// characters.
			letter := strings.Repeat("🏥", 20_000)
			created := program.post("/v1/applications", object{"job_id": withQuestions, "cover_letter": letter, "answers": answers}).okDeveloper(201)
			require.Equal(t, letter, created.text("data.cover_letter"))
			require.Len(t, created.list("data.answers"), 20)
			require.Equal(t, created.at("data"), program.get(created.header.Get("Location")).okDeveloper(200).at("data"))

			stored, err := json.Marshal(created.at("data"))
			require.NoError(t, err)
			require.NotContains(t, string(stored), "\ufffd", "no character was cut in the middle")
		})
	})
}

// requirePreflight sends the preflight request of a web page on another origin, and requires that
// the response allows the methods, except HEAD, which needs no permission, and the headers that
// the API reads.
func requirePreflight(t *testing.T, server *testServer, path string, allowedMethods []string) {
	t.Helper()

	preflight := server.guest(t).
		sendWithHeaders("OPTIONS", path, map[string]string{
			"Origin":                         "https://other.example.com",
			"Access-Control-Request-Method":  "POST",
			"Access-Control-Request-Headers": "authorization, content-type, idempotency-key",
		})
	require.Equal(t, 204, preflight.status)
	require.Empty(t, preflight.raw)

	for _, method := range allowedMethods {
		if method != "HEAD" {
			require.Contains(t, preflight.header.Get("Access-Control-Allow-Methods"), method)
		}
	}

	for _, header := range []string{"Authorization", "Content-Type", "Idempotency-Key", "X-API-Key", "If-None-Match"} {
		require.Contains(t, preflight.header.Get("Access-Control-Allow-Headers"), header)
	}

	require.Equal(t, "86400", preflight.header.Get("Access-Control-Max-Age"))
}

// TestDeveloperLists_Beyond10000_ByCursor checks that items beyond the last numbered page are
// reached with the cursor, and that links lead to it.
func TestDeveloperLists_Beyond10000_ByCursor(t *testing.T) {
	t.Parallel()

	dir := t.TempDir()
	server := &testServer{dir: dir, log: &kit.Log{}, exited: make(chan error, 1)}

	// serverEnv without its LOCUM_LIMITS_SEARCH_CPU=0: the default limit of the CPU time of searches
	// must suffice for lists of this length.
	server.env = []string{
		"HOME=" + dir,
		"LOCUM_HTTP_ADDR=127.0.0.1:0",
		"LOCUM_HTTP_TRUSTED_PROXIES=127.0.0.1/32",
		"LOCUM_DATABASE_URL=sqlite:" + filepath.Join(dir, "locum.db"),
		"LOCUM_LIMITS_SEARCH_TIMEOUT=10s",
	}
	server.run(t, "migrate", "up")
	server.run(t, "seed", "--listings", "11200")
	server.serve(t)
	server.waitUntilReady(t)

	developer := server.seeker(t)
	app := developer.app()

	// The other plans have fewer requests per minute than this test sends.
	server.run(t, "developers", "plan", app, "enterprise")

	program := developer.programOf(app)

	// Numbered pages end at the 10,000th of the 11,200 jobs, and have no link to a last page.
	lastNumbered := program.get("/api/v1/jobs?limit=100&page=100").okDeveloper(200)
	require.Equal(t, false, lastNumbered.at("total_is_estimate"), "totals of job searches are exact")
	program.get("/api/v1/jobs?limit=100&page=101").problem(400, "page_too_deep")
	require.NotContains(t, lastNumbered.header.Get("Link"), `rel="last"`)

	// From there, cursors lead to the other jobs, each on one page. The last page has no next one.
	page := lastNumbered

	seen := map[string]bool{}
	for page.at("next_cursor") != nil {
		link := page.header.Get("Link")
		require.Contains(t, link, "cursor=", link)
		require.Contains(t, link, `rel="next"`)

		page = program.get("/v1/jobs?limit=100&cursor=" + url.QueryEscape(page.text("next_cursor"))).okDeveloper(200)
		for _, id := range page.ids() {
			require.False(t, seen[id], "job %s is on two pages", id)

			seen[id] = true
		}
	}

	require.NotEmpty(t, seen)
	require.NotContains(t, page.header.Get("Link"), `rel="next"`)
}
