package e2e

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/adapters/developer"
	"github.com/locumhq/locum/adapters/web"
	"github.com/locumhq/locum/modules/integrations"
)

// programUsers are the users of the developer API's matrix: an employer with a
// listing and a draft, a jobseeker who has applied, and others of both kinds.
type programUsers struct {
	server                       *testServer
	employer, otherEmployer      *account
	seeker, otherSeeker          *account
	listing, draft, otherListing string // the employer's; the seeker has applied for listing
	application                  string // the seeker's
}

// programRow is a request that succeeds for an authorized caller.
type programRow struct {
	path func(o *programUsers) string
	body func(o *programUsers) any
	// hiddenPath returns the same request for a resource that other users may not
	// see or change, and code is their error code. Without hiddenPath, others
	// succeed and the response has no foreign data.
	hiddenPath func(o *programUsers) string
	hiddenBody func(o *programUsers) any
	code       string
	// tool is the MCP tool that executes the operation, or empty. Its arguments
	// are those of the request, or of the hidden one.
	tool            string
	arguments       func(o *programUsers) object
	hiddenArguments func(o *programUsers) object
}

// applicationPath returns the path of the seeker's application below the prefix of the API.
func applicationPath(o *programUsers) string { return "/applications/" + o.application }

// programMatrix has a row for every operation of the developer API's document, by method and
// path.
var programMatrix = map[string]programRow{
	"GET /api/v1/jobs": {path: func(*programUsers) string { return "/jobs?limit=100&sort=date" },
		tool: "search_jobs", arguments: func(*programUsers) object { return object{"limit": 100, "sort": "date"} }},
	"GET /api/v1/jobs/suggest": {path: func(*programUsers) string { return "/jobs/suggest?q=nur" },
		tool: "suggest", arguments: func(*programUsers) object { return object{"q": "nur"} }},
	"GET /api/v1/jobs/:job_id": {
		path:            func(o *programUsers) string { return "/jobs/" + o.listing },
		hiddenPath:      func(o *programUsers) string { return "/jobs/" + o.draft },
		code:            "job_not_found",
		tool:            "get_job",
		arguments:       func(o *programUsers) object { return object{"job_id": o.listing} },
		hiddenArguments: func(o *programUsers) object { return object{"job_id": o.draft} },
	},
	"GET /api/v1/applications": {path: func(*programUsers) string { return "/applications?limit=100" },
		tool: "list_my_applications", arguments: func(*programUsers) object { return object{"limit": 100} }},
	"GET /api/v1/applications/:id": {path: applicationPath, hiddenPath: applicationPath, code: "application_not_found"},
	"POST /api/v1/applications": {
		path:            func(*programUsers) string { return "/applications" },
		body:            func(o *programUsers) any { return object{"job_id": o.otherListing} },
		hiddenPath:      func(*programUsers) string { return "/applications" },
		hiddenBody:      func(o *programUsers) any { return object{"job_id": o.draft} },
		code:            "job_not_found",
		tool:            "apply",
		arguments:       func(o *programUsers) object { return object{"job_id": o.otherListing} },
		hiddenArguments: func(o *programUsers) object { return object{"job_id": o.draft} },
	},
}

// TestDeveloperRoleMatrix_EveryRoute_HasARow checks that no operation escapes the matrix, and
// that each requires a scope.
func TestDeveloperRoleMatrix_EveryRoute_HasARow(t *testing.T) {
	t.Parallel()
	_, d := openAPIOf(t, developer.API(adapters.Services{}, ""))
	operations := 0
	for _, item := range d.Paths {
		operations += len(item)
	}
	require.Len(t, programMatrix, operations)
	for _, r := range developerRoutes() {
		require.Contains(t, programMatrix, r.Method+" "+r.Path)
		require.NotEmpty(t, r.Scope, r.Path)
	}
}

// TestDeveloperRoleMatrix sends the request of every row with every kind of credential, under
// both prefixes of the API and as a call of its MCP tool.
func TestDeveloperRoleMatrix(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		for _, route := range developerRoutes() {
			t.Run(route.Method+" "+route.Path, func(t *testing.T) {
				t.Parallel()
				users := &programUsers{
					server:        server,
					employer:      server.employer(t),
					otherEmployer: server.employer(t),
					seeker:        server.seeker(t),
					otherSeeker:   server.seeker(t),
				}
				users.listing, users.otherListing, users.draft = users.employer.listing(nil), users.employer.listing(nil), users.employer.listing(object{"status": "draft"})
				users.application = users.seeker.application(users.listing, nil)
				row := programMatrix[route.Method+" "+route.Path]
				for _, prefix := range []string{"/api/v1", "/v1"} {
					row.play(t, users, route, prefix)
				}
				if row.tool != "" {
					row.checkTool(t, users, route)
				}
			})
		}
	})
}

// play sends the row's request with invalid credentials, with insufficient scopes, as other
// users, and last as authorized callers.
func (row programRow) play(t *testing.T, users *programUsers, route web.Route, prefix string) {
	as := func(who *client) *response {
		var body any
		if row.body != nil {
			body = row.body(users)
		}
		who.t, who.ip = t, users.server.guest(t).ip
		return who.send(route.Method, prefix+row.path(users), body)
	}
	write := route.Method != http.MethodGet
	all := integrations.Scopes()
	// A developer without a relation to the other users.
	maker := users.server.employer(t)
	made := maker.post("/api/developers/apps", object{"name": "Ward Finder", "redirectUris": []string{callback}}).ok(201)
	app := made.text("data.app.id")

	// Unauthenticated or expired credentials.
	as(users.server.guest(t)).problem(401, "unauthorized")
	for _, garbage := range []string{"x", "loc_live_" + strings.Repeat("0", 38), "\"'; --", strings.Repeat("k", 5000)} {
		as(users.server.guest(t).withKey(garbage)).problem(401, "unauthorized")
		as(&client{server: users.server, token: garbage}).problem(401, "unauthorized")
	}
	key := maker.programOf(app)
	maker.delete("/api/developers/apps/" + app + "/keys/" + maker.get("/api/developers/apps/"+app+"/keys").ok(200).text("data.keys.0.id")).
		ok(200)
	as(key).problem(401, "unauthorized")
	as(&client{server: users.server, token: users.seeker.token}).problem(401, "unauthorized") // a token of the portal
	revoked := users.seeker.grantApp(app, all...)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, users.server.url+"/oauth/revoke",
		strings.NewReader(url.Values{"token": {revoked.token}}.Encode()))
	require.NoError(t, err)
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	request.SetBasicAuth(app, made.text("data.clientSecret"))
	require.Equal(t, 200, revoked.do(request).status)
	as(revoked).problem(401, "unauthorized")
	as(users.seeker.grantAppUntil(time.Now().UTC().Add(-time.Second), app, all...)).problem(401, "unauthorized")

	// Insufficient scopes.
	for _, has := range all {
		if has == route.Scope {
			continue
		}
		refused := as(users.seeker.grantApp(app, has)).problem(403, "insufficient_scope")
		require.Contains(t, refused.header.Get("WWW-Authenticate"), `scope="`+string(route.Scope)+`"`)
	}
	if write {
		as(users.employer.program()).problem(403, "insufficient_scope") // API keys can only read
		as(users.seeker.program()).problem(403, "insufficient_scope")
	}

	// Other users, with all scopes.
	strangers := []*client{users.otherEmployer.grantApp(app, all...), users.otherSeeker.grantApp(app, all...)}
	if !write {
		strangers = append(strangers, users.otherEmployer.program(), users.otherSeeker.program())
	}
	for _, who := range strangers {
		if row.hiddenPath == nil {
			res := as(who).okDeveloper(200)
			require.NotContains(t, string(res.raw), users.application)
			require.NotContains(t, string(res.raw), users.draft)
			continue
		}
		var body any
		if row.hiddenBody != nil {
			body = row.hiddenBody(users)
		}
		res := who.send(route.Method, prefix+row.hiddenPath(users), body)
		if write && who == strangers[0] { // an employer, who cannot apply at all
			res.problem(403, "forbidden")
			continue
		}
		res.problem(404, row.code)
	}

	// Authorized callers.
	if write {
		users.otherListing = users.employer.listing(nil)
		as(users.seeker.grantApp(app, route.Scope)).okDeveloper(201)
		return
	}
	for _, who := range []*client{
		users.seeker.grantApp(app, route.Scope), users.employer.grantApp(app, route.Scope),
		users.seeker.program(), users.employer.program(),
	} {
		as(who).okDeveloper(200)
	}
}

// checkTool does the same with calls of the row's MCP tool, whose errors have status 200 unless
// the credentials are invalid.
func (row programRow) checkTool(t *testing.T, users *programUsers, route web.Route) {
	call := func(who *client, arguments object) *response {
		who.t, who.server, who.ip = t, users.server, users.server.guest(t).ip
		return who.tool(row.tool, arguments)
	}
	as := func(who *client) *response { return call(who, row.arguments(users)) }
	fails := func(res *response, code string) {
		t.Helper()
		require.Equal(t, 200, res.status, "%s", res.raw)
		require.Equal(t, true, res.at("result.isError"), "%s", res.raw)
		require.Contains(t, res.text("result.content.0.text"), code)
	}
	succeeds := func(res *response) *response {
		t.Helper()
		require.Equal(t, 200, res.status, "%s", res.raw)
		require.NotContains(t, res.at("result"), "isError", "%s", res.raw)
		return res
	}
	all, app := integrations.Scopes(), users.server.employer(t).app()
	for _, who := range []*client{
		users.server.guest(t),
		users.server.guest(t).withKey("x"),
		{token: "x"},
		{token: users.seeker.token},
		users.seeker.grantAppUntil(time.Now().UTC().Add(-time.Second), app, all...),
	} {
		require.Equal(t, 401, as(who).status)
	}
	for _, has := range all {
		if has != route.Scope {
			fails(as(users.seeker.grantApp(app, has)), string(route.Scope))
		}
	}
	write := route.Method != http.MethodGet
	if write {
		fails(as(users.seeker.program()), string(route.Scope))
		users.otherListing = users.employer.listing(nil)
		fails(as(users.otherEmployer.grantApp(app, all...)), "403 forbidden")
		draft := succeeds(as(users.seeker.grantApp(app, route.Scope)))
		require.Contains(t, string(draft.raw), "confirmation_required")
	} else {
		for _, who := range []*client{
			users.seeker.grantApp(app, route.Scope), users.employer.grantApp(app, route.Scope),
			users.seeker.program(), users.employer.program(),
		} {
			succeeds(as(who))
		}
	}
	for _, who := range []*client{users.otherEmployer.grantApp(app, all...), users.otherSeeker.grantApp(app, all...)} {
		if row.hiddenArguments != nil {
			fails(call(who, row.hiddenArguments(users)), row.code)
			continue
		}
		res := succeeds(as(who))
		require.NotContains(t, string(res.raw), users.application)
		require.NotContains(t, string(res.raw), users.draft)
	}
}

// TestPortal_DeveloperCredentials_Refused checks that every route of the portal refuses the
// tokens and keys of the developer API: an app must not act beyond its scopes.
func TestPortal_DeveloperCredentials_Refused(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		me := server.seeker(t)
		app := me.app()
		token, key := me.grantApp(app, integrations.Scopes()...).token, me.programOf(app).apiKey
		for _, route := range routes() {
			if route.Auth == web.None {
				continue
			}
			path := route.Path
			// Every parameter becomes an id that no resource has.
			for strings.Contains(path, "/:") {
				before, after, _ := strings.Cut(path, "/:")
				_, rest, _ := strings.Cut(after, "/")
				path = strings.TrimSuffix(before+"/"+nowhere+"/"+rest, "/")
			}
			for _, credential := range []string{token, key} {
				user := server.guest(t)
				user.token = credential
				user.try(route.Method, path, nil).fails(401, "Unauthorized")
				// Routes with optional authentication ignore a key.
				if route.Auth == web.Required {
					user.token, user.apiKey = "", credential
					user.fromNewAddress().withKey(credential).try(route.Method, path, nil).fails(401, "Unauthorized")
				}
			}
		}
	})
}
