package e2e

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/adapters/web"
)

// parameter matches a parameter in the path of a route.
var parameter = regexp.MustCompile(`:\w+`)

// TestJSON_Ambiguous_RefusedOnEveryRoute checks that no route accepts JSON that two parsers may
// read differently: text after the value, lone surrogates, or more values than any input has.
func TestJSON_Ambiguous_RefusedOnEveryRoute(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		users, moderator := newMatrixUsersWithResources(t, server), server.moderator(t)
		for _, route := range routes() {
			operation := route.Method + " " + route.Path

			takesForm := strings.HasSuffix(route.Path, "/onboarding")
			if route.Method == http.MethodGet || takesForm {
				continue // no JSON
			}

			path := parameter.ReplaceAllString(route.Path, nowhere)

			// A user who may send requests to the route.
			user := users.guest
			switch {
			case route.Audience == web.Employer, route.Audience == web.EmployerSide:
				user = users.employer.client
			case route.Audience == web.Moderator:
				user = moderator.client
			case route.Auth != web.None:
				user = users.seeker.client
			}

			for _, ambiguous := range []string{
				`{"a":1}}`,
				`{"a":1}]`,
				`{"a":"\ud800"}`,
				`{"a":1}{}`,
				`[` + strings.Repeat("1,", 50_000) + `1]`,
			} {
				if len(ambiguous) > route.BodyLimit() {
					continue // refused with 413 for its length, before it is parsed
				}

				// A new address, because some routes are limited by address.
				refused := user.fromNewAddress().try(route.Method, path, ambiguous)
				require.Equal(t, 400, refused.status, "%s %.20s: %s", operation, ambiguous, refused.raw)
				require.Equal(t, "body", refused.at("details.field"), "%s %.20s", operation, ambiguous)
			}
		}
	})
}

// TestIdempotencyKey_Twice_Refused checks that two Idempotency-Key headers are refused: neither
// is clearly the client's key.
func TestIdempotencyKey_Twice_Refused(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		employer := server.employer(t)
		request, err := http.NewRequestWithContext(t.Context(), "POST", server.url+"/api/employers/jobs",
			strings.NewReader(`{"title":"T","description":"D"}`))
		require.NoError(t, err)

		request.Header = http.Header{
			"Authorization":   {"Bearer " + employer.token},
			"Content-Type":    {"application/json"},
			"Idempotency-Key": {"a", "b"},
		}
		employer.do(request).invalid("Idempotency-Key")
	})
}
