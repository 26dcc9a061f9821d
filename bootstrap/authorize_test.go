package bootstrap

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/adapters/web"
	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/modules/identity"
	"github.com/locumhq/locum/modules/integrations"
)

// servicesOf returns the services of a running process.
func servicesOf(t *testing.T) adapters.Services {
	t.Helper()

	cfg := testConfig(t, nil)
	migrate(t, cfg)
	var services adapters.Services
	_, err := startApp(
		t,
		cfg,
		role{name: "serve", serves: true},
		WithTransport("direct", func(_ context.Context, s adapters.Services, _ adapters.Deps) (adapters.Transport, error) {
			services = s
			return &testTransport{name: "direct", calls: new(calls)}, nil
		}),
	)
	require.NoError(t, err)

	return services
}

// exampleBodies returns the request bodies of the documentation by method and path.
func exampleBodies(t *testing.T, s web.API) map[string][]byte {
	t.Helper()

	document, err := web.OpenAPI(s, "http://localhost")
	require.NoError(t, err)
	var doc struct {
		Paths map[string]map[string]struct {
			RequestBody struct {
				Content map[string]struct {
					Example  json.RawMessage `json:"example"`
					Examples map[string]struct {
						Value json.RawMessage `json:"value"`
					} `json:"examples"`
				} `json:"content"`
			} `json:"requestBody"`
		} `json:"paths"`
	}
	require.NoError(t, json.Unmarshal(document, &doc))

	out := map[string][]byte{}
	for path, methods := range doc.Paths {
		for method, operation := range methods {
			for _, content := range operation.RequestBody.Content {
				body := content.Example
				for _, example := range content.Examples {
					body = example.Value
				}

				out[strings.ToUpper(method)+" "+path] = body
				if valid, ok := validBodies[strings.ToUpper(method)+" "+path]; ok {
					out[strings.ToUpper(method)+" "+path] = []byte(valid)
				}
			}
		}
	}

	return out
}

// validBodies replace the examples of operations that would refuse these before they authorize
// the actor.
var validBodies = map[string]string{
	"PUT /api/jobseekers/settings":                       `{"intent": "update-notifications", "email": true}`,
	"PUT /api/developers/apps/{id}":                      `{"name": "Ward Finder"}`,
	"PUT /api/developers/apps/{id}/webhooks/{webhookId}": `{"enabled": true}`,
	"POST /api/billing/setup-intents":                    `{}`,
	"POST /api/v1/applications":                          `{"job_id": "0194a000-0000-7000-8000-000000000000"}`,
}

// confirmsPassword are the operations that confirm the password of the account first.
// The actors of this test have no accounts.
var confirmsPassword = map[string]bool{
	"DELETE /api/jobseekers/profile": true,
	"PUT /api/jobseekers/profile":    true,
	"DELETE /api/employers/profile":  true,
	"PUT /api/employers/profile":     true,
}

// callHandler calls the handler of a route without checking its admission first.
func callHandler(ctx context.Context, r web.Route, call web.Call, body []byte) error {
	some := newID()
	_, err := r.Op.Handle(ctx, call, &web.Request{
		Path:   func(string) string { return some },
		Query:  func(string) []string { return nil },
		Header: func(name string) string { return map[string]string{"Content-Type": "application/json"}[name] },
		Cookie: func(string) string { return "" },
		Body:   body,
	})

	return err
}

// pathOf returns the method and the path of a route as OpenAPI writes it, such as "GET
// /api/jobs/{id}".
func pathOf(route web.Route) string {
	parts := strings.Split(route.Path, "/")
	for i, part := range parts {
		if name, ok := strings.CutPrefix(part, ":"); ok {
			parts[i] = "{" + name + "}"
		}
	}

	return route.Method + " " + strings.Join(parts, "/")
}

// memberPermissions are the permissions that members can have. Only admins have auth.Manage.
var memberPermissions = []auth.Permission{auth.JobsCreate, auth.JobsUpdate, auth.JobsDelete, auth.ApplicationsView, auth.ApplicationsUpdate}

// without returns all permissions but p, or none for auth.AnyPermission.
func without(p auth.Permission) (out []auth.Permission) {
	for _, q := range memberPermissions {
		if q != p && p != auth.AnyPermission {
			out = append(out, q)
		}
	}

	return out
}

// TestServices_CalledDirectly_Authorize checks that the services themselves refuse every actor
// that the route of the operation refuses, with the same error. Other transports call the
// services without the admission of routes, so that the admission must not be the only check.
func TestServices_CalledDirectly_Authorize(t *testing.T) {
	t.Parallel()

	services := servicesOf(t)

	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()

	for _, api := range newAPIs(services, "http://localhost") {
		bodies := exampleBodies(t, api)
		for _, route := range api.Routes {
			if route.Auth != web.Required {
				continue
			}

			now := time.Now()

			admin := []auth.Permission{auth.Manage}
			for name, actor := range map[string]auth.Actor{
				"guest":                          {},
				"jobseeker":                      {UserID: newID(), Role: auth.Jobseeker, Seeker: true, ConfirmedAt: now},
				"employer of a closed one":       {UserID: newID(), Role: auth.Employer, ConfirmedAt: now},
				"employer without second factor": {UserID: newID(), Role: auth.Employer, EnrollmentRequired: true, ConfirmedAt: now},
				"member without permissions":     {UserID: newID(), Role: auth.EmployerTeam, OrganizationID: newID(), ConfirmedAt: now},
				"member without this permission": {
					UserID:         newID(),
					Role:           auth.EmployerTeam,
					OrganizationID: newID(),
					Permissions:    without(route.Permission),
					ConfirmedAt:    now,
				},
				"app of a jobseeker": {
					UserID:      newID(),
					Role:        auth.Jobseeker,
					Seeker:      true,
					AppID:       newID(),
					Scopes:      []auth.Scope{auth.ScopeJobsRead},
					ConfirmedAt: now,
				},
				"app of an admin": {
					UserID:         newID(),
					Role:           auth.Employer,
					OrganizationID: newID(),
					Permissions:    admin,
					AppID:          newID(),
					ConfirmedAt:    now,
				},
			} {
				want := route.Authorize(actor)
				switch {
				case actor.Guest():
					want = fault.ErrUnauthorized
				case actor.AppID != "" && want == nil:
					want = auth.ErrScope
				}

				// The actor may execute the operation.
				if want == nil {
					continue
				}

				err := callHandler(ctx, route, web.Call{Actor: actor, IP: "192.0.2.1"}, bodies[pathOf(route)])
				switch refused := fault.Of(err); {
				// Three results are correct: the error of the route, a failed confirmation of the
				// password, which comes first, and the missing scope of an application.
				case refused != nil && refused.Code == fault.Of(want).Code:
				case errors.Is(err, fault.ErrUnauthorized) && confirmsPassword[pathOf(route)]:
				case errors.Is(err, auth.ErrScope) && actor.AppID != "":
				default:
					t.Errorf("%s as %s: %v instead of %v", pathOf(route), name, err, want)
				}
			}
		}
	}
}

// TestServices_CalledDirectlyForApps_CheckScopes checks that the operations of the developer API
// refuse an application that has all scopes but the required one.
func TestServices_CalledDirectlyForApps_CheckScopes(t *testing.T) {
	t.Parallel()

	services := servicesOf(t)
	signedIn, err := services.Identity.Register(t.Context(),
		identity.RegisterInput{Email: "clinician@example.org", Password: "Correct-Horse-7", Name: "Clinician", UserType: "jobseeker"},
		identity.Client{Address: "192.0.2.1"})
	require.NoError(t, err)

	scopes := []auth.Scope{auth.ScopeJobsRead, auth.ScopeApplicationsRead, auth.ScopeApplicationsWrite}

	checked := 0
	for _, api := range newAPIs(services, "http://localhost") {
		bodies := exampleBodies(t, api)
		for _, route := range api.Routes {
			if route.Scope == "" {
				continue
			}

			checked++

			var others []auth.Scope
			for _, scope := range scopes {
				if scope != route.Scope {
					others = append(others, scope)
				}
			}

			caller := integrations.Caller{App: integrations.App{ID: newID()}, UserID: signedIn.Account.ID, Scopes: others}
			require.ErrorIs(t,
				callHandler(t.Context(), route, web.Call{Caller: caller}, bodies[pathOf(route)]),
				auth.ErrScope, fmt.Sprint(pathOf(route)))
		}
	}

	require.GreaterOrEqual(t, checked, 6)
}
