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
func (r *response) ids() (out []string) {
	r.t.Helper()
	out = []string{}
	for _, item := range r.okDeveloper(200).list("data") {
		out = append(out, item.(object)["id"].(string))
	}
	return out
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

// TestDeveloperRoutes checks the operations of the developer API, one parameter after the
// other, under both prefixes.
func TestDeveloperRoutes(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		boss := server.employer(t)
		word := fmt.Sprintf("word%d", time.Now().UnixNano()) // finds the jobs of this test only
		listing := func(more object) string {
			in := object{"title": word}
			maps.Copy(in, more)
			return boss.listing(in)
		}
		leeds := listing(
			object{
				"location":       "Leeds",
				"specialty":      "Intensive Care",
				"employmentType": "full-time",
				"contractType":   "permanent",
				"salary":         object{"min": 30000, "max": 40000},
			},
		)
		bradford := listing(
			object{
				"location":       "Bradford",
				"specialty":      "Theatre",
				"employmentType": "part-time",
				"contractType":   "temporary",
				"salary":         object{"min": 20, "max": 25, "period": "hour"},
			},
		)
		london := listing(
			object{"location": "London", "employmentType": "bank", "contractType": "contract", "salary": object{"min": 60000}},
		)
		remote := listing(object{"remote": true})
		nowhereKnown := listing(object{"location": "Zzyzx Ward"})
		all := []string{nowhereKnown, remote, london, bradford, leeds} // the newest first

		for _, prefix := range []string{"/api/v1", "/v1"} {
			t.Run("GET "+prefix+"/jobs", func(t *testing.T) {
				t.Parallel()
				dev := server.seeker(t)
				app := dev.app()
				// The other plans have fewer requests per minute than this test sends.
				server.run(t, "developers", "plan", app, "enterprise")
				me := dev.programOf(app)
				find := func(query string) *response {
					t.Helper()
					path := prefix + "/jobs?keywords=" + word + "&" + query
					if strings.HasSuffix(query, "=") {
						return me.try("GET", path, nil) // an empty parameter means none, but the document does not describe it
					}
					return me.get(path)
				}
				sorted := func(ids ...string) []string { slices.Sort(ids); return ids }
				for query, want := range map[string][]string{
					"":          all,
					"sort=date": all,
					// The default radius reaches Bradford; remote jobs are near every place.
					"location=Leeds":                           {leeds, bradford, remote},
					"location=Leeds&radius=5":                  {leeds, remote},
					"location=Leeds&radius=500":                {leeds, bradford, remote, london},
					"location=Leeds&radius=0.5":                {leeds, remote},
					"location=zzyzx+ward":                      {nowhereKnown},
					"location=":                                all,
					"location=Yorkshire":                       {leeds, bradford, remote},
					"radius=5":                                 all, // a radius without a place is ignored
					"specialty=Theatre":                        {bradford},
					"employment_type=full-time":                {leeds},
					"employment_type=part-time":                {bradford},
					"employment_type=bank":                     {london},
					"employment_type=per-diem":                 {},
					"employment_type=":                         all,
					"contract_type=permanent":                  {leeds},
					"contract_type=temporary":                  {bradford},
					"contract_type=contract":                   {london},
					"salary_min=45000":                         {bradford, london}, // 25 an hour are 48,750 a year
					"salary_min=50000":                         {london},
					"salary_max=35000":                         {leeds},
					"salary_min=39000&salary_max=39500":        {leeds, bradford},
					"salary_min=0":                             {leeds, bradford, london},
					"remote=true":                              {remote},
					"remote=false":                             {nowhereKnown, london, bradford, leeds},
					"posted_after=2020-01-01":                  all,
					"posted_after=2020-01-01T00:00:00%2B01:00": all,
					"posted_after=2999-01-01":                  {},
					"posted_after=2999-01-01T00:00:00Z":        {},
					"unknown=1&apiKey=2":                       all, // unknown parameters are ignored
					"page=2":                                   {},
					"limit=2":                                  all[:2],
					"limit=2&page=3":                           all[4:],
				} {
					got := find(query).ids()
					// Only these queries have an order that the test knows.
					if strings.Contains(query, "page=") || strings.Contains(query, "limit=") || query == "sort=date" {
						require.Equal(t, want, got, query)
					} else {
						require.Equal(t, sorted(slices.Clone(want)...), sorted(got...), query)
					}
				}
				posted, err := time.Parse(time.RFC3339Nano, me.get(prefix+"/jobs/"+bradford).okDeveloper(200).text("data.posted_at"))
				require.NoError(t, err)
				// bradford is the second oldest.
				require.Equal(t, all[:4], find("sort=date&posted_after="+posted.Format(time.RFC3339Nano)).ids(), "the bound is inclusive")
				require.Equal(t, all[:3], find("sort=date&posted_after="+posted.Add(time.Microsecond).Format(time.RFC3339Nano)).ids())
				require.Equal(t, []string{leeds, bradford}, find("location=Leeds&sort=distance&remote=false").ids())
				require.Equal(t, []string{london, bradford, leeds}, find("sort=salary").ids()[:3])
				require.Equal(t, all, find("sort=distance").ids(), "without a place the order is relevance")
				none := find("limit=1").okDeveloper(200)
				require.Equal(t, object{"page": 1.0, "limit": 1.0, "total": 5.0, "total_pages": 5.0}, none.at("pagination"))
				require.Equal(t, object{"page": 1.0, "limit": 20.0, "total": 5.0, "total_pages": 1.0}, find("").at("pagination"))
				require.Equal(t, object{"page": 1.0, "limit": 20.0, "total": 0.0, "total_pages": 0.0},
					find("specialty=None+such").at("pagination"))

				for _, item := range find("").list("data") {
					require.ElementsMatch(t, append([]string{"matched", "relaxed"}, jobMembers...),
						slices.Collect(maps.Keys(item.(object))), "there is no distance")
				}
				for _, item := range find("location=Leeds").list("data") {
					require.ElementsMatch(t,
						append([]string{"distance_miles", "matched", "relaxed"}, jobMembers...),
						slices.Collect(maps.Keys(item.(object))))
				}
				for query, field := range map[string]string{
					"page=1&page=2":                         "page",
					"limit=1&limit=1":                       "limit",
					"location=a&location=b":                 "location",
					"keywords=x":                            "keywords",
					"sort=date&sort=date":                   "sort",
					"radius=1&radius=1":                     "radius",
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
					"cursor=":                               "",
					"location=" + strings.Repeat("x", 201):  "location",
					"specialty=" + strings.Repeat("x", 201): "specialty",
					"location=%ff":                          "location",
					"location=%00":                          "location",
				} {
					res := find(query)
					if field == "" {
						res.okDeveloper(200)
						continue
					}
					res.problem(400, "invalid_parameters")
					require.Equal(t, field, res.text("errors.0.field"), "%s: %s", query, res.raw)
				}
			})
			// Methods, preflight requests, unknown paths, HEAD and ETags.
			t.Run("methods, paths and headers below "+prefix, func(t *testing.T) {
				t.Parallel()
				me := server.seeker(t).program()
				for path, allow := range map[string][]string{
					"/jobs":                    {"GET", "HEAD", "OPTIONS"},
					"/jobs/" + leeds:           {"GET", "HEAD", "OPTIONS"},
					"/applications":            {"GET", "HEAD", "OPTIONS", "POST"},
					"/applications/" + nowhere: {"GET", "HEAD", "OPTIONS"},
				} {
					for _, method := range []string{"PUT", "PATCH", "DELETE", "PROPFIND"} {
						res := me.try(method, prefix+path, nil).problem(405, "method_not_allowed")
						got := strings.Split(res.header.Get("Allow"), ", ")
						slices.Sort(got)
						require.Equal(t, allow, got, path)
					}
					preflight := server.guest(t).
						sendWithHeaders("OPTIONS", prefix+path, map[string]string{
							"Origin":                         "https://other.example.com",
							"Access-Control-Request-Method":  "POST",
							"Access-Control-Request-Headers": "authorization, content-type, idempotency-key",
						})
					require.Equal(t, 204, preflight.status)
					require.Empty(t, preflight.raw)
					for _, method := range allow {
						if method != "HEAD" {
							require.Contains(t, preflight.header.Get("Access-Control-Allow-Methods"), method)
						}
					}
					for _, header := range []string{"Authorization", "Content-Type", "Idempotency-Key", "X-API-Key", "If-None-Match"} {
						require.Contains(t, preflight.header.Get("Access-Control-Allow-Headers"), header)
					}
					require.Equal(t, "86400", preflight.header.Get("Access-Control-Max-Age"))
				}
				for _, path := range []string{
					"/jobs/", "/Jobs", "/jobs/" + leeds + "/", "/jobs//" + leeds, "/applications/",
					"", "/", "/nothing",
				} {
					me.try("GET", prefix+path, nil).problem(404, "not_found")
				}
				head := me.sendWithHeaders("HEAD", prefix+"/jobs/"+leeds, nil)
				require.Equal(t, 200, head.status)
				require.Empty(t, head.raw)
				got := me.get(prefix + "/jobs/" + leeds).okDeveloper(200)
				for _, name := range []string{"ETag", "Cache-Control", "Vary", "Content-Type", "RateLimit-Policy"} {
					require.Equal(t, got.header.Get(name), head.header.Get(name), name)
				}
				require.Equal(t, "application/json; charset=utf-8", got.header.Get("Content-Type"))
				require.Equal(t, issuer+"/jobs/"+leeds, got.text("data.url"))
				require.ElementsMatch(t, jobMembers, slices.Collect(maps.Keys(got.at("data").(object))))
				missing := me.sendWithHeaders("HEAD", prefix+"/jobs/nonsense", nil)
				require.Equal(t, 404, missing.status)
				missing.requireLimitHeaders()

				tag := got.header.Get("ETag")
				// If-None-Match compares weakly (RFC 9110 §13.1.2).
				for _, match := range []string{tag, strings.TrimPrefix(tag, "W/"), "*", `"a", ` + tag} {
					res := me.sendWithHeaders("GET", prefix+"/jobs/"+leeds, map[string]string{"If-None-Match": match})
					require.Equal(t, 304, res.status, match)
					require.Empty(t, res.raw)
					require.NotEmpty(t, res.header.Get("Cache-Control"))
					res.requireLimitHeaders()
				}
			})
		}
		t.Run("links keep the other parameters", func(t *testing.T) {
			t.Parallel()
			me := server.seeker(t).program()
			list := me.get("/v1/jobs?keywords=" + word + "&limit=2&page=2&location=").okDeveloper(200)
			links := map[string]string{}
			for link := range strings.SplitSeq(list.header.Get("Link"), ", ") {
				address, rel, _ := strings.Cut(strings.TrimPrefix(link, "<"), `>; rel=`)
				u, err := url.Parse(address)
				require.NoError(t, err)
				require.Equal(t, issuer, u.Scheme+"://"+u.Host)
				require.Equal(t, "/v1/jobs", u.Path)
				require.Equal(t, word, u.Query().Get("keywords"))
				require.Equal(t, "2", u.Query().Get("limit"))
				links[strings.Trim(rel, `"`)] = u.Query().Get("page")
			}
			require.Equal(t, map[string]string{"first": "", "prev": "1", "next": "3", "last": "3"}, links)
			// A page after the last is empty, and its link leads back to the last.
			beyond := me.get("/v1/jobs?keywords=" + word + "&limit=2&page=99").okDeveloper(200)
			require.Contains(t, beyond.header.Get("Link"), `page=3>; rel="prev"`)
			two := me.get("/v1/jobs?posted_after=yesterday&sort=x").problem(400, "invalid_parameters")
			require.Len(t, two.list("errors"), 2, "all invalid fields are reported together")
		})
		t.Run("idempotency key under both prefixes", func(t *testing.T) {
			t.Parallel()
			program := server.seeker(t).grantApp(server.seeker(t).app(), integrations.ApplicationsWrite)
			program.key = "one"
			first := program.post("/api/v1/applications", object{"job_id": leeds}).okDeveloper(201)
			again := program.post("/v1/applications", object{"job_id": leeds}).okDeveloper(201)
			require.Equal(t, "true", again.header.Get("Idempotency-Replayed"))
			require.Equal(t, first.raw, again.raw)
			program.post("/v1/applications", object{"job_id": london}).problem(422, "idempotency_key_reused")
			for _, bad := range []string{strings.Repeat("k", 256), "é"} {
				program.key = bad
				program.try("POST", "/v1/applications", object{"job_id": london}).problem(400, "invalid_parameters")
			}
		})
		t.Run("maximum size of an application", func(t *testing.T) {
			t.Parallel()
			questions, answers := []object{}, []object{}
			for i := range 20 {
				questions = append(questions, object{"id": fmt.Sprint(i), "text": "Why?", "required": true})
				answers = append(answers, object{"question_id": fmt.Sprint(i), "answer": strings.Repeat("ä", 1000)})
			}
			asking := boss.listing(object{"questions": questions})
			seeker := server.seeker(t)
			program := seeker.grantApp(server.seeker(t).app(), integrations.ApplicationsWrite, integrations.ApplicationsRead)
			// The longest cover letter, of characters with four bytes each: limits count
			// characters.
			letter := strings.Repeat("🏥", 20_000)
			made := program.post("/v1/applications", object{"job_id": asking, "cover_letter": letter, "answers": answers}).okDeveloper(201)
			require.Equal(t, letter, made.text("data.cover_letter"))
			require.Len(t, made.list("data.answers"), 20)
			require.Equal(t, made.at("data"), program.get(made.header.Get("Location")).okDeveloper(200).at("data"))
			same, err := json.Marshal(made.at("data"))
			require.NoError(t, err)
			require.NotContains(t, string(same), "\ufffd")
		})
	})
}

// TestDeveloperLists_Beyond10000_ByCursor checks that items beyond the last numbered page are
// reached with the cursor, and that links lead to it.
func TestDeveloperLists_Beyond10000_ByCursor(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	server := &testServer{dir: dir, log: &kit.Log{}, exited: make(chan error, 1)}
	// Without the setting for the CPU time of searches, in contrast to serverEnv.
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
	server.ready(t)
	me := server.seeker(t)
	app := me.app()
	server.run(t, "developers", "plan", app, "enterprise")
	program := me.programOf(app)
	last := program.get("/api/v1/jobs?limit=100&page=100").okDeveloper(200)
	require.Equal(t, false, last.at("total_is_estimate"), "totals of job searches are exact")
	program.get("/api/v1/jobs?limit=100&page=101").problem(400, "page_too_deep")
	require.NotContains(t, last.header.Get("Link"), `rel="last"`)
	next := last
	seen := map[string]bool{}
	for next.at("next_cursor") != nil {
		link := next.header.Get("Link")
		require.Contains(t, link, "cursor=", link)
		require.Contains(t, link, `rel="next"`)
		next = program.get("/v1/jobs?limit=100&cursor=" + url.QueryEscape(next.text("next_cursor"))).okDeveloper(200)
		for _, id := range next.ids() {
			require.False(t, seen[id], "twice")
			seen[id] = true
		}
	}
	require.NotEmpty(t, seen)
	require.NotContains(t, next.header.Get("Link"), `rel="next"`)
}
