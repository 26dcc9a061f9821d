package e2e

import (
	"net/http"
	"net/url"
	"regexp"
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
	listing, draft, otherListing string // ids of the employer's listings
	application                  string // id of the seeker's application for listing
}

// programRow is a request that succeeds for an authorized caller.
type programRow struct {
	path func(u *programUsers) string
	body func(u *programUsers) any
	// hiddenPath returns the same request for a resource that other users may not
	// see or change, and code is their error code. Without hiddenPath, others
	// succeed and the response has no foreign data.
	hiddenPath func(u *programUsers) string
	hiddenBody func(u *programUsers) any
	code       string
	// tool is the MCP tool that executes the operation, or empty. Its arguments
	// are those of the request, or of the hidden one.
	tool            string
	arguments       func(u *programUsers) object
	hiddenArguments func(u *programUsers) object
}

// applicationPath returns the path of the seeker's application below the prefix of the API.
func applicationPath(u *programUsers) string { return "/applications/" + u.application }

// programMatrix has a row for every operation of the developer API's document, by method and
// path.
var programMatrix = map[string]programRow{
	"GET /api/v1/jobs": {
		path:      func(*programUsers) string { return "/jobs?limit=100&sort=date" },
		tool:      "search_jobs",
		arguments: func(*programUsers) object { return object{"limit": 100, "sort": "date"} },
	},
	"GET /api/v1/jobs/suggest": {
		path:      func(*programUsers) string { return "/jobs/suggest?q=nur" },
		tool:      "suggest",
		arguments: func(*programUsers) object { return object{"q": "nur"} },
	},
	"GET /api/v1/jobs/:job_id": {
		path:            func(u *programUsers) string { return "/jobs/" + u.listing },
		hiddenPath:      func(u *programUsers) string { return "/jobs/" + u.draft },
		code:            "job_not_found",
		tool:            "get_job",
		arguments:       func(u *programUsers) object { return object{"job_id": u.listing} },
		hiddenArguments: func(u *programUsers) object { return object{"job_id": u.draft} },
	},
	"GET /api/v1/applications": {
		path:      func(*programUsers) string { return "/applications?limit=100" },
		tool:      "list_my_applications",
		arguments: func(*programUsers) object { return object{"limit": 100} },
	},
	"GET /api/v1/applications/:id": {path: applicationPath, hiddenPath: applicationPath, code: "application_not_found"},
	"POST /api/v1/applications": {
		path:            func(*programUsers) string { return "/applications" },
		body:            func(u *programUsers) any { return object{"job_id": u.otherListing} },
		hiddenPath:      func(*programUsers) string { return "/applications" },
		hiddenBody:      func(u *programUsers) any { return object{"job_id": u.draft} },
		code:            "job_not_found",
		tool:            "apply",
		arguments:       func(u *programUsers) object { return object{"job_id": u.otherListing} },
		hiddenArguments: func(u *programUsers) object { return object{"job_id": u.draft} },
	},
}

// TestDeveloperRoleMatrix_EveryRoute_HasARow checks that no operation escapes the matrix, and
// that each requires a scope.
func TestDeveloperRoleMatrix_EveryRoute_HasARow(t *testing.T) {
	t.Parallel()

	_, document := openAPIOf(t, developer.API(adapters.Services{}, ""))

	operations := 0
	for _, byMethod := range document.Paths {
		operations += len(byMethod)
	}

	require.Len(t, programMatrix, operations)

	for _, route := range developerRoutes() {
		require.Contains(t, programMatrix, route.Method+" "+route.Path)
		require.NotEmpty(t, route.Scope, route.Path)
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
				users.listing = users.employer.listing(nil)
				users.otherListing = users.employer.listing(nil)
				users.draft = users.employer.listing(object{"status": "draft"})
				users.application = users.seeker.application(users.listing, nil)

				row := programMatrix[route.Method+" "+route.Path]
				for _, prefix := range []string{"/api/v1", "/v1"} {
					call := programCall{row: row, route: route, prefix: prefix, users: users}
					call.checkCredentials(t)
					call.checkScopes(t)
					call.checkOtherUsers(t)
					call.checkAuthorizedCallers(t)
				}

				if row.tool != "" {
					row.checkTool(t, users, route)
				}
			})
		}
	})
}

// programCall is the request of a row, below one prefix of the API.
type programCall struct {
	row    programRow
	route  web.Route
	prefix string
	users  *programUsers
}

// send sends the request with the credentials of the client, from a new address.
func (c programCall) send(t *testing.T, as *client) *response {
	t.Helper()

	var body any
	if c.row.body != nil {
		body = c.row.body(c.users)
	}

	as.t = t
	as.ip = c.users.server.guest(t).ip

	return as.send(c.route.Method, c.prefix+c.row.path(c.users), body)
}

// writes reports whether the request changes something.
func (c programCall) writes() bool { return c.route.Method != http.MethodGet }

// checkCredentials checks that missing, invalid, deleted, revoked and expired credentials are
// refused.
func (c programCall) checkCredentials(t *testing.T) {
	t.Helper()

	server := c.users.server
	allScopes := integrations.Scopes()
	developer := server.employer(t) // has no relation to the other users
	created := developer.post("/api/developers/apps", object{"name": "Ward Finder", "redirectUris": []string{callback}}).ok(201)
	app := created.text("data.app.id")

	c.send(t, server.guest(t)).problem(401, "unauthorized")

	// Texts that are no key and no token, one of them in the format of a key.
	for _, garbage := range []string{"x", "loc_live_" + strings.Repeat("0", 38), "\"'; --", strings.Repeat("k", 5000)} {
		c.send(t, server.guest(t).withKey(garbage)).problem(401, "unauthorized")
		c.send(t, &client{server: server, token: garbage}).problem(401, "unauthorized")
	}

	// A key that worked until it was deleted.
	withDeletedKey := developer.programOf(app)
	keys := "/api/developers/apps/" + app + "/keys"
	developer.delete(keys + "/" + developer.get(keys).ok(200).text("data.keys.0.id")).ok(200)
	c.send(t, withDeletedKey).problem(401, "unauthorized")

	withPortalToken := &client{server: server, token: c.users.seeker.token}
	c.send(t, withPortalToken).problem(401, "unauthorized")

	// A token with all scopes that its app has revoked.
	revoked := c.users.seeker.grantApp(app, allScopes...)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.url+"/oauth/revoke",
		strings.NewReader(url.Values{"token": {revoked.token}}.Encode()))
	require.NoError(t, err)
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	request.SetBasicAuth(app, created.text("data.clientSecret"))
	require.Equal(t, 200, revoked.do(request).status)
	c.send(t, revoked).problem(401, "unauthorized")

	// A token with all scopes that expired a second ago.
	expired := c.users.seeker.grantAppUntil(time.Now().UTC().Add(-time.Second), app, allScopes...)
	c.send(t, expired).problem(401, "unauthorized")
}

// checkScopes checks that a token with any other scope than the route's is refused, and that API
// keys can only read.
func (c programCall) checkScopes(t *testing.T) {
	t.Helper()

	app := c.users.server.employer(t).app()
	for _, scope := range integrations.Scopes() {
		if scope == c.route.Scope {
			continue
		}

		refused := c.send(t, c.users.seeker.grantApp(app, scope)).problem(403, "insufficient_scope")
		require.Contains(t, refused.header.Get("WWW-Authenticate"), `scope="`+string(c.route.Scope)+`"`)
	}

	if c.writes() {
		c.send(t, c.users.employer.program()).problem(403, "insufficient_scope")
		c.send(t, c.users.seeker.program()).problem(403, "insufficient_scope")
	}
}

// checkOtherUsers checks that users without a relation to the resource do not see or change it,
// even with all scopes.
func (c programCall) checkOtherUsers(t *testing.T) {
	t.Helper()

	app := c.users.server.employer(t).app()
	allScopes := integrations.Scopes()
	otherEmployer := c.users.otherEmployer.grantApp(app, allScopes...)

	// API keys can only read, so that they are no users of a request that writes.
	otherUsers := []*client{otherEmployer, c.users.otherSeeker.grantApp(app, allScopes...)}
	if !c.writes() {
		otherUsers = append(otherUsers, c.users.otherEmployer.program(), c.users.otherSeeker.program())
	}

	for _, other := range otherUsers {
		// A request without an id, such as a list, succeeds but must not contain the resources of the others.
		if c.row.hiddenPath == nil {
			resp := c.send(t, other).okDeveloper(200)
			require.NotContains(t, string(resp.raw), c.users.application)
			require.NotContains(t, string(resp.raw), c.users.draft)
			continue
		}

		var body any
		if c.row.hiddenBody != nil {
			body = c.row.hiddenBody(c.users)
		}

		resp := other.send(c.route.Method, c.prefix+c.row.hiddenPath(c.users), body)
		if c.writes() && other == otherEmployer {
			resp.problem(403, "forbidden") // an employer cannot apply at all
			continue
		}

		resp.problem(404, c.row.code)
	}
}

// checkAuthorizedCallers checks that the request succeeds with the scope of the route, and with
// an API key if it only reads.
func (c programCall) checkAuthorizedCallers(t *testing.T) {
	t.Helper()

	app := c.users.server.employer(t).app()
	if c.writes() {
		c.users.otherListing = c.users.employer.listing(nil) // a jobseeker applies for a listing once
		c.send(t, c.users.seeker.grantApp(app, c.route.Scope)).okDeveloper(201)
		return
	}

	for _, caller := range []*client{
		c.users.seeker.grantApp(app, c.route.Scope),
		c.users.employer.grantApp(app, c.route.Scope),
		c.users.seeker.program(),
		c.users.employer.program(),
	} {
		c.send(t, caller).okDeveloper(200)
	}
}

// toolCheck calls the MCP tool of a row as different callers. Errors of tools have status 200 unless the
// credentials are invalid.
type toolCheck struct {
	t     *testing.T
	row   programRow
	users *programUsers
	route web.Route
	app   string // to which users grant scopes
}

// checkTool calls the row's MCP tool with the same kinds of credentials as the request.
func (r programRow) checkTool(t *testing.T, users *programUsers, route web.Route) {
	t.Helper()

	check := toolCheck{t: t, row: r, users: users, route: route, app: users.server.employer(t).app()}
	check.checkInvalidCredentials()
	check.checkMissingScope()

	if route.Method == http.MethodGet {
		check.checkRead()
	} else {
		check.checkApply()
	}

	check.checkOtherUsers()
}

// callWith calls the tool with the arguments. The client gets the server and an address of its own.
func (c toolCheck) callWith(caller *client, arguments object) *response {
	c.t.Helper()

	caller.t = c.t
	caller.server = c.users.server
	caller.ip = c.users.server.guest(c.t).ip

	return caller.tool(c.row.tool, arguments)
}

// call calls the tool with the arguments of the request.
func (c toolCheck) call(caller *client) *response {
	c.t.Helper()
	return c.callWith(caller, c.row.arguments(c.users))
}

// requireError requires an error of the tool that contains the code.
func (c toolCheck) requireError(resp *response, code string) {
	c.t.Helper()
	require.Equal(c.t, 200, resp.status, "%s", resp.raw)
	require.Equal(c.t, true, resp.at("result.isError"), "%s", resp.raw)
	require.Contains(c.t, resp.text("result.content.0.text"), code)
}

// requireSuccess requires that the tool succeeded, and returns its response.
func (c toolCheck) requireSuccess(resp *response) *response {
	c.t.Helper()
	require.Equal(c.t, 200, resp.status, "%s", resp.raw)
	require.NotContains(c.t, resp.at("result"), "isError", "%s", resp.raw)

	return resp
}

// checkInvalidCredentials requires 401 for callers without valid credentials of the developer API.
func (c toolCheck) checkInvalidCredentials() {
	c.t.Helper()

	expired := c.users.seeker.grantAppUntil(time.Now().UTC().Add(-time.Second), c.app, integrations.Scopes()...)
	for _, unauthenticated := range []*client{
		c.users.server.guest(c.t),
		c.users.server.guest(c.t).withKey("x"),
		{token: "x"},
		{token: c.users.seeker.token}, // of the portal
		expired,
	} {
		require.Equal(c.t, 401, c.call(unauthenticated).status)
	}
}

// checkMissingScope requires that the error for a token with any other scope names the scope that is missing.
func (c toolCheck) checkMissingScope() {
	c.t.Helper()

	for _, scope := range integrations.Scopes() {
		if scope != c.route.Scope {
			c.requireError(c.call(c.users.seeker.grantApp(c.app, scope)), string(c.route.Scope))
		}
	}
}

// checkRead requires that a tool that reads succeeds for tokens with the scope, and for keys.
func (c toolCheck) checkRead() {
	c.t.Helper()

	for _, caller := range []*client{
		c.users.seeker.grantApp(c.app, c.route.Scope),
		c.users.employer.grantApp(c.app, c.route.Scope),
		c.users.seeker.program(),
		c.users.employer.program(),
	} {
		c.requireSuccess(c.call(caller))
	}
}

// checkApply checks the tool that applies for a job. It needs a token of a jobseeker with the scope, and returns a draft
// first, which the user has to confirm.
func (c toolCheck) checkApply() {
	c.t.Helper()
	c.requireError(c.call(c.users.seeker.program()), string(c.route.Scope))

	c.users.otherListing = c.users.employer.listing(nil) // a jobseeker applies for a listing once
	c.requireError(c.call(c.users.otherEmployer.grantApp(c.app, integrations.Scopes()...)), "403 forbidden")

	draft := c.requireSuccess(c.call(c.users.seeker.grantApp(c.app, c.route.Scope)))
	require.Contains(c.t, string(draft.raw), "confirmation_required")
}

// checkOtherUsers requires that other users do not find a hidden resource, and that a list succeeds without it.
func (c toolCheck) checkOtherUsers() {
	c.t.Helper()

	for _, other := range []*client{
		c.users.otherEmployer.grantApp(c.app, integrations.Scopes()...),
		c.users.otherSeeker.grantApp(c.app, integrations.Scopes()...),
	} {
		if c.row.hiddenArguments != nil {
			c.requireError(c.callWith(other, c.row.hiddenArguments(c.users)), c.row.code)
			continue
		}

		resp := c.requireSuccess(c.call(other))
		require.NotContains(c.t, string(resp.raw), c.users.application)
		require.NotContains(c.t, string(resp.raw), c.users.draft)
	}
}

// TestPortal_DeveloperCredentials_Refused checks that every route of the portal refuses the
// tokens and keys of the developer API: an app must not act beyond its scopes.
func TestPortal_DeveloperCredentials_Refused(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		developer := server.seeker(t)
		app := developer.app()
		token := developer.grantApp(app, integrations.Scopes()...).token

		key := developer.programOf(app).apiKey
		for _, route := range routes() {
			if route.Auth == web.None {
				continue
			}

			// Every parameter becomes an id that no resource has.
			path := regexp.MustCompile(`:\w+`).ReplaceAllString(route.Path, nowhere)
			for _, credential := range []string{token, key} {
				withToken := server.guest(t)
				withToken.token = credential
				withToken.try(route.Method, path, nil).fails(401, "Unauthorized")

				// Routes with optional authentication ignore a key.
				if route.Auth == web.Required {
					server.guest(t).withKey(credential).try(route.Method, path, nil).fails(401, "Unauthorized")
				}
			}
		}
	})
}
