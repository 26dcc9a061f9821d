package bootstrap

import (
	"context"
	"encoding/json"
	"errors"
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

	bodies := map[string][]byte{}
	for path, methods := range doc.Paths {
		for method, operation := range methods {
			methodAndPath := strings.ToUpper(method) + " " + path

			// An operation has one example of a content, or several named ones, any of which will do.
			for _, content := range operation.RequestBody.Content {
				bodies[methodAndPath] = content.Example
				for _, example := range content.Examples {
					bodies[methodAndPath] = example.Value
				}

				if valid, isReplaced := validBodies[methodAndPath]; isReplaced {
					bodies[methodAndPath] = []byte(valid)
				}
			}
		}
	}

	return bodies
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
// All parameters of the path have the same new id.
func callHandler(ctx context.Context, r web.Route, call web.Call, body []byte) error {
	id := newID()
	_, err := r.Op.Handle(ctx, call, &web.Request{
		Path:   func(string) string { return id },
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
var memberPermissions = []auth.Permission{
	auth.JobsCreate, auth.JobsUpdate, auth.JobsDelete, auth.ApplicationsView, auth.ApplicationsUpdate,
}

// permissionsWithout returns the permissions of members except for one. For auth.AnyPermission it returns none.
func permissionsWithout(excluded auth.Permission) (others []auth.Permission) {
	if excluded == auth.AnyPermission {
		return nil
	}

	for _, permission := range memberPermissions {
		if permission != excluded {
			others = append(others, permission)
		}
	}

	return others
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

			for name, actor := range actorsToRefuse(route.Permission) {
				want := wantRefusal(route, actor)
				if want == nil { // the actor may execute the operation
					continue
				}

				err := callHandler(ctx, route, web.Call{Actor: actor, IP: "192.0.2.1"}, bodies[pathOf(route)])
				if !isCorrectRefusal(route, actor, err, want) {
					t.Errorf("%s as %s: %v instead of %v", pathOf(route), name, err, want)
				}
			}
		}
	}
}

// actorsToRefuse returns actors that routes refuse: each is not the user whom an operation is for, lacks the
// permission, or is an application. The actors have confirmed their password just now.
func actorsToRefuse(permission auth.Permission) map[string]auth.Actor {
	now := time.Now()

	return map[string]auth.Actor{
		"guest":                          {},
		"jobseeker":                      {UserID: newID(), Role: auth.Jobseeker, Seeker: true, ConfirmedAt: now},
		"employer of a closed one":       {UserID: newID(), Role: auth.Employer, ConfirmedAt: now},
		"employer without second factor": {UserID: newID(), Role: auth.Employer, EnrollmentRequired: true, ConfirmedAt: now},
		"member without permissions":     {UserID: newID(), Role: auth.EmployerTeam, OrganizationID: newID(), ConfirmedAt: now},
		"member without this permission": {
			UserID:         newID(),
			Role:           auth.EmployerTeam,
			OrganizationID: newID(),
			Permissions:    permissionsWithout(permission),
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
			Permissions:    []auth.Permission{auth.Manage},
			AppID:          newID(),
			ConfirmedAt:    now,
		},
	}
}

// wantRefusal returns the error with which the service must refuse the actor, or nil if the actor may execute the
// operation. It is the error of the route, which however does not know the scopes of applications.
func wantRefusal(route web.Route, actor auth.Actor) error {
	ofRoute := route.Authorize(actor)

	switch {
	case actor.Guest():
		return fault.ErrUnauthorized
	case actor.AppID != "" && ofRoute == nil:
		return auth.ErrScope
	}

	return ofRoute
}

// isCorrectRefusal reports whether err is one of three correct results: the wanted error, a failed confirmation of
// the password, which comes first, and the missing scope of an application.
func isCorrectRefusal(route web.Route, actor auth.Actor, err, want error) bool {
	refusal := fault.Of(err)
	isWanted := refusal != nil && refusal.Code == fault.Of(want).Code
	isUnconfirmed := errors.Is(err, fault.ErrUnauthorized) && confirmsPassword[pathOf(route)]
	isWithoutScope := errors.Is(err, auth.ErrScope) && actor.AppID != ""

	return isWanted || isUnconfirmed || isWithoutScope
}

// TestServices_CalledDirectlyForApps_CheckScopes checks that the operations of the developer API
// refuse an application that has all scopes but the required one.
func TestServices_CalledDirectlyForApps_CheckScopes(t *testing.T) {
	t.Parallel()

	services := servicesOf(t)
	registration := identity.RegisterInput{
		Email:    "clinician@example.org",
		Password: "Correct-Horse-7",
		Name:     "Clinician",
		UserType: "jobseeker",
	}
	signedIn, err := services.Identity.Register(t.Context(), registration, identity.Client{Address: "192.0.2.1"})
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
			err := callHandler(t.Context(), route, web.Call{Caller: caller}, bodies[pathOf(route)])
			require.ErrorIs(t, err, auth.ErrScope, pathOf(route))
		}
	}

	require.GreaterOrEqual(t, checked, 6, "operations with a scope")
}
