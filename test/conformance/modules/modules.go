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

// Module checks a bootstrap.Module in a program that stores its data in the database. Migrations
// must be reversible, routes must be documented and refuse clients that they do not serve, and
// no input may cause an internal error. Background work is not checked.
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

		p := Start(t, database, bootstrap.WithModule(module))
		documents := map[string]string{
			"portal":    string(p.Call(t, http.MethodGet, "/openapi/portal.json", User{}, nil).Body),
			"developer": string(p.Call(t, http.MethodGet, "/openapi/developer.json", User{}, nil).Body),
		}
		jobseeker := p.Jobseeker(t)
		c := clients{
			p,
			map[string]User{
				"guest":     {},
				"unknown":   {Token: "unknown"},
				"jobseeker": jobseeker,
				"employer":  p.Employer(t),
				"app":       p.App(t, jobseeker),
			},
		}

		listed := run(t, configIn(t, t.TempDir(), SQLite(t)), module, "routes")
		for _, r := range routes {
			t.Run(r.Method+" "+r.Path, func(t *testing.T) {
				require.Regexp(t, r.Method+` +`+regexp.QuoteMeta(r.Path)+` `, listed)
				checkDocumented(t, r, documents)
				c.checkAccess(t, r)
				c.checkInput(t, r)
			})
		}

		if module.Pages != nil {
			for _, page := range module.Pages(bootstrap.ModuleDeps{}) {
				for _, path := range []string{"", "/", "/%F0%9F%92%89?q=%00", "/" + strings.Repeat("a", 2000)} {
					for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodOptions} {
						answer := p.send(t, method, page.Path+path, User{}, nil)
						require.Less(t, answer.Status, http.StatusInternalServerError, "%s %s%s: %s", method, page.Path,
							path, answer.Body)
					}
				}
			}
		}
	})
}

// run executes a command of the program.
func run(t *testing.T, config string, m bootstrap.Module, args ...string) string {
	t.Helper()
	var out, log bytes.Buffer
	err := bootstrap.Run(t.Context(), append(args, "--config", config), &out, &log, bootstrap.WithModule(m))
	require.NoError(t, err, "%s", log.String())

	return out.String()
}

// checkMigrations applies the migrations of the module, reverts all of them and applies them
// again.
func checkMigrations(t *testing.T, module bootstrap.Module, database Database) {
	config := configIn(t, t.TempDir(), database(t))
	first := run(t, config, module, "migrate", "up")
	own := strings.Count(first, "applied "+module.Name+"/")
	require.Equal(t, module.Migrations != nil, own > 0, "%s", first)

	for reverted := 0; reverted < own; {
		reverted += strings.Count(run(t, config, module, "migrate", "down", "--yes"), "reverted "+module.Name+"/")
	}

	require.Equal(t, own, strings.Count(run(t, config, module, "migrate", "up"), "applied "+module.Name+"/"))
	require.NotContains(t, run(t, config, module, "migrate", "status"), "pending")
}

// parameter matches a parameter in the path of a route.
var parameter = regexp.MustCompile(`:([A-Za-z0-9_-]+)`)

// isDeveloper reports whether the route belongs to the developer API.
func isDeveloper(r web.Route) bool { return r.Scope != "" }

// checkDocumented requires that the OpenAPI document of the route's API contains the route.
func checkDocumented(t *testing.T, route web.Route, documents map[string]string) {
	name := "portal"
	if isDeveloper(route) {
		name = "developer"
	}

	var document struct {
		Paths map[string]map[string]struct {
			Summary string `json:"summary"`
		} `json:"paths"`
	}
	require.NoError(t, json.Unmarshal([]byte(documents[name]), &document))

	operation := document.Paths[parameter.ReplaceAllString(route.Path, "{$1}")][strings.ToLower(route.Method)]
	require.Contains(t, operation.Summary, route.Summary)
}

// clients maps names to clients: a guest, a client with an unknown token, and signed-in users.
type clients struct {
	*Program
	by map[string]User
}

// at returns the path of the route with values in place of its parameters.
func at(r web.Route, value string) string { return parameter.ReplaceAllString(r.Path, value) }

// unknownID is an id in the right format that no row has.
const unknownID = "01900000-0000-7000-8000-000000000000"

// refusalStatus returns the status with which the route refuses a client, or 0.
func refusalStatus(route web.Route, client string) int {
	switch {
	case client == "app" && isDeveloper(route):
		if route.Scope == integrations.ApplicationsWrite { // API keys do not have this scope
			return http.StatusForbidden
		}

		return 0
	case client == "app": // an API key is no session
		client = "guest"
	}

	switch {
	case client == "unknown" && (route.Auth != web.None || isDeveloper(route)), client == "guest" && (route.Auth == web.Required || isDeveloper(route)):
		return http.StatusUnauthorized
	case isDeveloper(route): // a session is not a token of an app
		return http.StatusUnauthorized
	case route.Audience == web.Moderator,
		client == "jobseeker" && (route.Audience == web.Employer || route.Audience == web.EmployerSide || route.Permission != ""),
		client == "employer" && route.Audience == web.Seeker:
		return http.StatusForbidden
	}

	return 0
}

// checkAccess requires that the route refuses all clients that it does not serve, without data.
func (c clients) checkAccess(t *testing.T, r web.Route) {
	for name, user := range c.by {
		if want := refusalStatus(r, name); want != 0 {
			answer := c.Call(t, r.Method, at(r, unknownID), user, map[string]any{})
			require.Equal(t, want, answer.Status, "%s: %s", name, answer.Body)
			require.NotContains(t, string(answer.Body), `"data"`)
		}
	}
}

// inputs are request bodies with mistakes that clients make, accidentally or as an attack.
var inputs = []string{
	``,
	`{}`,
	`[]`,
	`null`,
	`{`,
	`"x"`,
	"{\"\u0000\":1}",
	`{"id":{"a":[1]},"note":1e999}`,
	strings.Repeat(`[`, 10_000),
	`{"note":"` + strings.Repeat("x", 100_000) + `"}`,
}

// checkInput requires that no path and no body of a served client causes an internal error.
func (c clients) checkInput(t *testing.T, route web.Route) {
	for name, user := range c.by {
		if refusalStatus(route, name) != 0 {
			continue
		}

		for _, value := range []string{unknownID, "1", "%00", "%F0%9F%92%89", "..%2f..", strings.Repeat("a", 2000)} {
			path := at(route, value) + "?page=-1&limit=x&cursor=%00"
			require.Less(t, c.send(t, route.Method, path, user, nil).Status, http.StatusInternalServerError, "%s %s",
				name, path)
		}

		for _, body := range inputs {
			answer := c.send(t, route.Method, at(route, unknownID), user, []byte(body))
			require.Less(t, answer.Status, http.StatusInternalServerError, "%s %.100q: %s", name, body, answer.Body)
		}
	}
}
