// Package modules has the conformance suite of modules that another team adds. It is a
// package of its own, since it starts the whole program.
package modules

import (
	"bytes"
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/adapters/web"
	"github.com/locumhq/locum/bootstrap"
	"github.com/locumhq/locum/modules/integrations"
)

// Module checks a bootstrap.Module in a program that stores its data in the database. The migrations of the module
// must be reversible. Its routes must be documented and must refuse clients that they do not serve. No input of
// a route or a page may cause an internal error. Background work is not checked.
func Module(t *testing.T, module bootstrap.Module, database Database) {
	var routes []web.Route
	if module.Routes != nil {
		routes = module.Routes(bootstrap.ModuleDeps{})
	}

	t.Run("migrations", func(t *testing.T) {
		t.Parallel()
		checkMigrations(t, module, database)
	})

	t.Run("routes", func(t *testing.T) {
		t.Parallel()

		program := Start(t, database, bootstrap.WithModule(module))
		guest := User{}
		documents := map[string]string{
			portalAPI:    string(program.send(t, http.MethodGet, "/openapi/portal.json", guest, emptyBody).Body),
			developerAPI: string(program.send(t, http.MethodGet, "/openapi/developer.json", guest, emptyBody).Body),
		}
		jobseeker := program.Jobseeker(t)
		testClients := clients{
			Program: program,
			users: map[string]User{
				guestClient:     guest,
				unknownClient:   {Token: "unknown"},
				jobseekerClient: jobseeker,
				employerClient:  program.Employer(t),
				appClient:       program.App(t, jobseeker),
			},
		}

		// The command routes prints a line for each route: its method, its path and further columns.
		listed := run(t, configIn(t, t.TempDir(), SQLite(t)), module, "routes")
		for _, route := range routes {
			t.Run(route.Method+" "+route.Path, func(t *testing.T) {
				line := route.Method + ` +` + regexp.QuoteMeta(route.Path) + ` `
				require.Regexp(t, line, listed, "the command routes does not list the route")
				checkDocumented(t, route, documents)
				testClients.checkAccess(t, route)
				testClients.checkInput(t, route)
			})
		}

		if module.Pages != nil {
			for _, page := range module.Pages(bootstrap.ModuleDeps{}) {
				checkPage(t, program, page.Path)
			}
		}
	})
}

// The names of the APIs to which routes belong.
const (
	portalAPI    = "portal"
	developerAPI = "developer"
)

// emptyBody is the argument of Program.send for a request without a body.
var emptyBody []byte

// checkPage requires that no request below the path of the page causes an internal error, whatever its
// method and the rest of its path.
func checkPage(t *testing.T, program *Program, path string) {
	t.Helper()

	const emojiAndNUL = "/%F0%9F%92%89?q=%00"

	guest := User{}
	for _, suffix := range []string{"", "/", emojiAndNUL, "/" + strings.Repeat("a", 2000)} {
		for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodOptions} {
			answer := program.send(t, method, path+suffix, guest, emptyBody)
			require.Less(t, answer.Status, http.StatusInternalServerError, "%s %s%s: %s", method, path, suffix, answer.Body)
		}
	}
}

// run executes a command of the program with the module, and returns its output.
func run(t *testing.T, config string, module bootstrap.Module, args ...string) string {
	t.Helper()
	var output, log bytes.Buffer
	err := bootstrap.Run(t.Context(), append(args, "--config", config), &output, &log, bootstrap.WithModule(module))
	require.NoError(t, err, "%s", log.String())

	return output.String()
}

// checkMigrations applies the migrations of the module, reverts all of them and applies them again. Afterwards none is
// pending.
func checkMigrations(t *testing.T, module bootstrap.Module, database Database) {
	config := configIn(t, t.TempDir(), database(t))

	// The command prints a line for each migration; those of the module begin with its name.
	output := run(t, config, module, "migrate", "up")
	ownMigrations := strings.Count(output, "applied "+module.Name+"/")
	require.Equal(t, module.Migrations != nil, ownMigrations > 0,
		"migrations are applied if and only if the module has them: %s", output)

	// Each call reverts one migration, which may be one of the program.
	for reverted := 0; reverted < ownMigrations; {
		output = run(t, config, module, "migrate", "down", "--yes")
		reverted += strings.Count(output, "reverted "+module.Name+"/")
	}

	output = run(t, config, module, "migrate", "up")
	require.Equal(t, ownMigrations, strings.Count(output, "applied "+module.Name+"/"), "migrations that are applied again")
	require.NotContains(t, run(t, config, module, "migrate", "status"), "pending")
}

// parameter matches a parameter in the path of a route.
var parameter = regexp.MustCompile(`:([A-Za-z0-9_-]+)`)

// isDeveloper reports whether the route belongs to the developer API. Its routes need a scope of an API key or
// token; those of the portal, for signed-in users, have none.
func isDeveloper(route web.Route) bool { return route.Scope != "" }

// checkDocumented requires that the OpenAPI document of the route's API contains the route with its summary. The keys of
// documents are the names of the APIs.
func checkDocumented(t *testing.T, route web.Route, documents map[string]string) {
	name := portalAPI
	if isDeveloper(route) {
		name = developerAPI
	}

	var document struct {
		Paths map[string]map[string]struct {
			Summary string `json:"summary"`
		} `json:"paths"`
	}
	require.NoError(t, json.Unmarshal([]byte(documents[name]), &document))

	openAPIPath := parameter.ReplaceAllString(route.Path, "{$1}") // {id} for :id
	operation := document.Paths[openAPIPath][strings.ToLower(route.Method)]
	require.Contains(t, operation.Summary, route.Summary)
}

// The clients that call each route.
const (
	guestClient     = "guest"   // without a token
	unknownClient   = "unknown" // with a token that does not exist
	jobseekerClient = "jobseeker"
	employerClient  = "employer"
	appClient       = "app" // with an API key
)

// clients has the users of the program by the names of the clients.
type clients struct {
	*Program
	users map[string]User
}

// pathWith returns the path of the route with the value in place of each of its parameters.
func pathWith(route web.Route, value string) string {
	return parameter.ReplaceAllString(route.Path, value)
}

// unknownID is an id in the right format that no row has.
const unknownID = "01900000-0000-7000-8000-000000000000"

// refusalStatus returns the status with which the route refuses a client, or 0 if it serves the client.
func refusalStatus(route web.Route, client string) int {
	if isDeveloper(route) {
		switch {
		case client != appClient: // a session is not a token of an app
			return http.StatusUnauthorized
		case route.Scope == integrations.ApplicationsWrite: // API keys do not have this scope
			return http.StatusForbidden
		}

		return 0
	}

	// The portal ignores API keys, so that an app is a guest.
	if client == appClient {
		client = guestClient
	}

	// A route without authentication ignores tokens. A route with optional authentication also serves guests.
	isForEmployers := route.Audience == web.Employer || route.Audience == web.EmployerSide || route.Permission != ""
	hasInvalidToken := client == unknownClient && route.Auth != web.None
	lacksToken := client == guestClient && route.Auth == web.Required

	switch {
	case hasInvalidToken || lacksToken:
		return http.StatusUnauthorized
	case route.Audience == web.Moderator: // no client of this suite is a moderator
		return http.StatusForbidden
	case client == jobseekerClient && isForEmployers:
		return http.StatusForbidden
	case client == employerClient && route.Audience == web.Seeker:
		return http.StatusForbidden
	}

	return 0
}

// checkAccess requires that the route refuses all clients that it does not serve, and sends them no data.
func (c clients) checkAccess(t *testing.T, route web.Route) {
	for name, user := range c.users {
		if wantStatus := refusalStatus(route, name); wantStatus != 0 {
			answer := c.send(t, route.Method, pathWith(route, unknownID), user, []byte("{}"))
			require.Equal(t, wantStatus, answer.Status, "%s: %s", name, answer.Body)
			require.NotContains(t, string(answer.Body), `"data"`, "%s gets data in spite of the refusal", name)
		}
	}
}

// pathValues are values of parameters in paths: an id that no row has, and values that are no ids.
var pathValues = []string{
	unknownID,
	"1",
	"%00",
	"%F0%9F%92%89", // an emoji
	"..%2f..",      // a path to another folder
	strings.Repeat("a", 2000),
}

// bodies are request bodies with mistakes that clients make, accidentally or as an attack.
var bodies = []string{
	``,
	`{}`,
	`[]`,
	`null`,
	`{`,
	`"x"`,
	"{\"\u0000\":1}",
	`{"id":{"a":[1]},"note":1e999}`, // a wrong type, and a number that exceeds a float64
	strings.Repeat(`[`, 10_000),
	`{"note":"` + strings.Repeat("x", 100_000) + `"}`,
}

// checkInput requires that no path and no body of a client that the route serves causes an internal error. The query
// of each path has invalid values of parameters that many lists have.
func (c clients) checkInput(t *testing.T, route web.Route) {
	for name, user := range c.users {
		if refusalStatus(route, name) != 0 {
			continue
		}

		for _, value := range pathValues {
			path := pathWith(route, value) + "?page=-1&limit=x&cursor=%00"
			answer := c.send(t, route.Method, path, user, emptyBody)
			require.Less(t, answer.Status, http.StatusInternalServerError, "%s %s", name, path)
		}

		for _, body := range bodies {
			answer := c.send(t, route.Method, pathWith(route, unknownID), user, []byte(body))
			require.Less(t, answer.Status, http.StatusInternalServerError, "%s %.100q: %s", name, body, answer.Body)
		}
	}
}
