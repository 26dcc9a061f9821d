package e2e

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/pb33f/libopenapi"
	validator "github.com/pb33f/libopenapi-validator"
	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/adapters/fiberhttp/developer"
	"github.com/locumhq/locum/adapters/fiberhttp/portal"
	"github.com/locumhq/locum/adapters/fiberhttp/web"
)

// described is an OpenAPI document as far as tests read it.
type described struct {
	Paths map[string]map[string]struct {
		OperationID string `json:"operationId"`
		Summary     string `json:"summary"`
		Parameters  []struct {
			Name, In string
			Required bool
			Schema   map[string]any
			Example  any
		}
		RequestBody struct{ Content map[string]exampled }
		Responses   map[string]struct{ Content map[string]exampled }
	}
	Components struct{ Schemas map[string]map[string]any }
}

type exampled struct {
	Schema  map[string]any
	Example json.RawMessage
}

// openAPI is the portal's, without a server.
func openAPI(t testing.TB) ([]byte, described) {
	t.Helper()
	return openAPIOf(t, portal.Surface(adapters.Services{}))
}

func openAPIOf(t testing.TB, s web.Surface) ([]byte, described) {
	t.Helper()
	raw, err := web.OpenAPI(s, "http://localhost:8080", "test")
	require.NoError(t, err)
	var d described
	require.NoError(t, json.Unmarshal(raw, &d))
	return raw, d
}

func TestEveryOperationIsDescribedWithExamplesThatItsOwnSchemasAccept(t *testing.T) {
	t.Parallel()
	for _, s := range []web.Surface{portal.Surface(adapters.Services{}), developer.Surface(adapters.Services{}, "http://localhost:8080")} {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			describesItself(t, s)
		})
	}
}

func describesItself(t *testing.T, s web.Surface) {
	raw, d := openAPIOf(t, s)
	doc, err := libopenapi.NewDocument(raw)
	require.NoError(t, err)
	v, errs := validator.NewValidator(doc)
	require.Empty(t, errs)
	valid, problems := v.ValidateDocument()
	require.True(t, valid, "%v", problems)
	operations := 0
	for path, item := range d.Paths {
		for method, op := range item {
			operations++
			require.NotEmpty(t, op.Summary, "%s %s", method, path)
			url := "http://localhost:8080" + path
			for _, p := range op.Parameters {
				if p.In == "path" {
					require.NotEmpty(t, p.Example, "%s %s: %s", method, path, p.Name)
					url = strings.ReplaceAll(url, "{"+p.Name+"}", p.Example.(string))
				}
			}
			request := func() *http.Request {
				r, err := http.NewRequestWithContext(t.Context(), strings.ToUpper(method), url, http.NoBody)
				require.NoError(t, err)
				r.Header.Set("Authorization", "Bearer x")
				r.Header.Set("X-API-Key", "x")
				return r
			}
			for media, body := range op.RequestBody.Content {
				require.NotEmpty(t, body.Example, "%s %s has no example of its body", method, path)
				if media != "application/json" {
					continue
				}
				r := request()
				r.Body = io.NopCloser(bytes.NewReader(body.Example))
				r.Header.Set("Content-Type", media)
				ok, problems := v.ValidateHttpRequest(r)
				require.True(t, ok, "%s %s: %s: %v", method, path, body.Example, problems)
			}
			for code, response := range op.Responses {
				status, err := strconv.Atoi(code)
				require.NoError(t, err)
				for media, body := range response.Content {
					require.NotEmpty(t, body.Example, "%s %s has no example of its %d", method, path, status)
					if media != "application/json" && media != "application/problem+json" {
						continue
					}
					r := request()
					ok, problems := v.ValidateHttpResponse(r, &http.Response{
						StatusCode: status, Header: http.Header{"Content-Type": {media}}, Body: io.NopCloser(bytes.NewReader(body.Example)), Request: r,
					})
					require.True(t, ok, "%s %s %d: %s: %v", method, path, status, body.Example, problems)
				}
			}
		}
	}
	require.Equal(t, len(s.Routes), operations)
}
