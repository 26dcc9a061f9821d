package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/pb33f/libopenapi"
	validator "github.com/pb33f/libopenapi-validator"
	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/adapters/developer"
	"github.com/locumhq/locum/adapters/portal"
	"github.com/locumhq/locum/adapters/web"
	"github.com/locumhq/locum/modules/listings"
)

// described is the part of an OpenAPI document that the tests read.
type described struct {
	Info  struct{ Version, Description string }
	Paths map[string]map[string]struct {
		OperationID string `json:"operationId"`
		Summary     string `json:"summary"`
		Parameters  []describedParameter
		RequestBody struct{ Content map[string]exampled }
		Responses   map[string]describedResponse
		Security    []map[string][]string
	}
	Webhooks   map[string]map[string]struct{ Parameters []describedParameter }
	Components struct {
		Schemas   map[string]map[string]any
		Responses map[string]describedResponse
		Headers   map[string]struct{ Description string }
	}
}

// describedResponse is a response of an operation, or a reference to one.
type describedResponse struct {
	Ref     string `json:"$ref"`
	Content map[string]exampled
	Headers map[string]any
}

// describedParameter is a parameter of an operation.
type describedParameter struct {
	Name, In, Description string
	Required              bool
	Schema                map[string]any
	Example               any
}

// exampled is the schema of a media type with its example or examples.
type exampled struct {
	Schema   map[string]any
	Example  json.RawMessage
	Examples map[string]struct{ Value json.RawMessage }
}

// examples returns the examples by name: an only example has the name "".
func (e exampled) examples() map[string]json.RawMessage {
	if len(e.Example) > 0 {
		return map[string]json.RawMessage{"": e.Example}
	}
	byName := map[string]json.RawMessage{}
	for name, example := range e.Examples {
		byName[name] = example.Value
	}
	return byName
}

// openAPI returns the portal's document, without a server.
func openAPI(t testing.TB) ([]byte, described) {
	t.Helper()
	return openAPIOf(t, portal.API(adapters.Services{}))
}

// openAPIOf returns the document of an API, as JSON and with references to responses resolved.
func openAPIOf(t testing.TB, s web.API) ([]byte, described) {
	t.Helper()
	raw, err := web.OpenAPI(s, "http://localhost:8080")
	require.NoError(t, err)
	var d described
	require.NoError(t, json.Unmarshal(raw, &d))
	for _, item := range d.Paths {
		for _, op := range item {
			for status, response := range op.Responses {
				if name, ok := strings.CutPrefix(response.Ref, "#/components/responses/"); ok {
					op.Responses[status] = d.Components.Responses[name]
				}
			}
		}
	}
	return raw, d
}

// TestOpenAPI_Examples_MatchTheirSchemas checks that both documents are valid and complete:
// every operation has its security and an example of each body and response that its own schema
// accepts.
func TestOpenAPI_Examples_MatchTheirSchemas(t *testing.T) {
	t.Parallel()
	for _, s := range []web.API{portal.API(adapters.Services{}), developer.API(adapters.Services{}, "http://localhost:8080")} {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			requireCompleteDocument(t, s)
		})
	}
}

// requireCompleteDocument validates the document and every example in it.
func requireCompleteDocument(t *testing.T, s web.API) {
	raw, document := openAPIOf(t, s)
	doc, err := libopenapi.NewDocument(raw)
	require.NoError(t, err)
	v, errs := validator.NewValidator(doc)
	require.Empty(t, errs)
	valid, problems := v.ValidateDocument()
	require.True(t, valid, "%v", problems)
	operations := 0
	for path, item := range document.Paths {
		for method, op := range item {
			operations++
			require.NotEmpty(t, op.Summary, "%s %s", method, path)
			require.NotEmpty(t, op.Security, "%s %s does not say which credential it takes, or that it takes none", method, path)
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
				require.NotEmpty(t, body.examples(), "%s %s has no example of its body", method, path)
				if media != "application/json" { // forms are not validated
					continue
				}
				for _, example := range body.examples() {
					r := request()
					r.Body = io.NopCloser(bytes.NewReader(example))
					r.Header.Set("Content-Type", media)
					ok, problems := v.ValidateHttpRequest(r)
					require.True(t, ok, "%s %s: %s: %v", method, path, example, problems)
				}
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
						StatusCode: status,
						Header:     http.Header{"Content-Type": {media}},
						Body:       io.NopCloser(bytes.NewReader(body.Example)),
						Request:    r,
					})
					require.True(t, ok, "%s %s %d: %s: %v", method, path, status, body.Example, problems)
				}
			}
		}
	}
	require.Equal(t, len(s.Routes), operations)
	for _, r := range s.Routes {
		op := document.Paths[regexp.MustCompile(`:(\w+)`).ReplaceAllString(r.Path, "{$1}")][strings.ToLower(r.Method)]
		require.Equal(t, r.TakesBody(), len(op.RequestBody.Content) > 0, "%s %s", r.Method, r.Path)
		if r.Body > web.DefaultBody {
			require.Contains(t, op.Responses, "429", "%s %s", r.Method, r.Path)
		}
	}
}

// units matches the words that state what a number counts or measures.
var units = regexp.MustCompile(
	`(?i)\b(number|miles|days|month|year|seconds|milliseconds|bytes|degrees|percent|percentage|currency|status code|position|from 0 to 1)\b`,
)

// TestOpenAPI_EveryFieldIsDescribed checks that every parameter, member and header has a
// description that states its unit, range and default, so that no field needs guessing.
func TestOpenAPI_EveryFieldIsDescribed(t *testing.T) {
	t.Parallel()
	for _, s := range []web.API{portal.API(adapters.Services{}), developer.API(adapters.Services{}, "http://localhost:8080")} {
		_, document := openAPIOf(t, s)
		for path, item := range document.Paths {
			for method, op := range item {
				for _, p := range op.Parameters {
					describedField(t, method+" "+path+" "+p.Name, p.Name, p.Description, p.Schema)
				}
			}
		}
		for name, hook := range document.Webhooks {
			for _, p := range hook["post"].Parameters {
				describedField(t, name+" "+p.Name, p.Name, p.Description, p.Schema)
			}
		}
		for name, schema := range document.Components.Schemas {
			describedMembers(t, name, schema)
		}
		for name, header := range document.Components.Headers {
			describedField(t, name, name, header.Description, nil)
		}
	}
}

// describedMembers checks the members of a schema at every depth.
func describedMembers(t *testing.T, path string, schema map[string]any) {
	t.Helper()
	properties, _ := schema["properties"].(map[string]any)
	for name, property := range properties {
		field := property.(map[string]any)
		text, _ := field["description"].(string)
		describedField(t, path+"."+name, name, text, field)
		describedMembers(t, path+"."+name, field)
		if items, ok := field["items"].(map[string]any); ok {
			describedMembers(t, path+"."+name, items)
		}
	}
}

// describedField checks that the text consists of whole sentences and states the
// unit, the range and the default of the field.
func describedField(t *testing.T, path, name, text string, schema map[string]any) {
	t.Helper()
	require.Regexp(t, `[\p{L}\d)}]\.$`, text, path)
	if regexp.MustCompile(`integer|number`).MatchString(fmt.Sprint(schema["type"])) {
		require.Regexp(t, units, text, path)
	}
	plain := strings.ReplaceAll(text, ",", "")
	for _, limit := range []string{"minimum", "maximum", "exclusiveMinimum", "maxLength", "maxItems"} {
		if n, ok := schema[limit].(float64); ok {
			require.Contains(t, plain, strconv.FormatFloat(n, 'f', -1, 64), path)
		}
	}
	if value, ok := schema["default"]; ok {
		require.Contains(t, text, fmt.Sprintf("Default %v.", value), path)
	}
	if name == "radius" {
		require.InEpsilon(t, listings.DefaultRadius, schema["default"], 0, path)
	}
}

// TestOpenAPI_DeveloperExamples_AreConsistent checks that the examples of the developer API fit
// together: an object has the same id in all of them, and every error is about a part of its
// request.
func TestOpenAPI_DeveloperExamples_AreConsistent(t *testing.T) {
	t.Parallel()
	_, document := openAPIOf(t, developer.API(adapters.Services{}, "http://localhost:8080"))
	read := func(raw json.RawMessage) (v object) {
		require.NoError(t, json.Unmarshal(raw, &v))
		return v
	}
	job := read(document.Paths["/api/v1/jobs/{job_id}"]["get"].Responses["200"].Content["application/json"].Example)["data"].(object)
	application := read(document.Paths["/api/v1/applications/{id}"]["get"].Responses["200"].Content["application/json"].Example)["data"].(object)
	require.Equal(t, job["id"], application["job_id"])
	require.Contains(t, job["url"], job["id"])
	require.Equal(t, job["questions"].([]any)[0].(object)["id"], application["answers"].([]any)[0].(object)["question_id"])
	ids := map[any]bool{job["id"]: true, job["company"].(object)["id"]: true, application["id"]: true, application["candidate_id"]: true}
	require.Len(t, ids, 4)
	require.Equal(t, job["id"], document.Paths["/api/v1/jobs/{job_id}"]["get"].Parameters[0].Example)

	for path, operations := range document.Paths {
		for method, op := range operations {
			isSent := map[string]bool{}
			for _, p := range op.Parameters {
				isSent[p.Name] = true
			}
			for _, body := range op.RequestBody.Content {
				for member := range read(body.Example) {
					isSent[member] = true
				}
			}
			for status, response := range op.Responses {
				if status < "400" {
					continue
				}
				problem := read(response.Content["application/problem+json"].Example)
				require.NotEqual(t, "about:blank", problem["type"], "%s %s %s", method, path, status)
				for _, e := range problem["errors"].([]any) {
					require.True(t, isSent[e.(object)["field"].(string)], "%s %s: %v", method, path, e)
				}
			}
		}
	}
}

// TestOpenAPI_Version_IsTheNewestChange checks that the version of a document is that of the
// API in the changelog, not that of the build.
func TestOpenAPI_Version_IsTheNewestChange(t *testing.T) {
	t.Parallel()
	_, document := openAPIOf(t, developer.API(adapters.Services{}, "http://localhost:8080"))
	require.Regexp(t, `^1\.\d+\.\d+$`, document.Info.Version, "v1 is in the paths")
	newest := regexp.MustCompile(`(?m)^## (\S+),`).FindStringSubmatch(guideText(t, "changelog"))
	require.NotNil(t, newest)
	require.Equal(t, newest[1], document.Info.Version)
	_, document = openAPI(t)
	require.Regexp(t, `^\d+\.\d+\.\d+$`, document.Info.Version)
}

// TestUnknownQueryParameter_IsIgnoredAndReported checks that the document and the guide say
// that unknown parameters are ignored.
func TestUnknownQueryParameter_IsIgnoredAndReported(t *testing.T) {
	t.Parallel()
	_, d := openAPIOf(t, developer.API(adapters.Services{}, "http://localhost:8080"))
	require.Contains(t, d.Info.Description, "Query parameters that an operation does not know are ignored")
	require.Contains(t, guideText(t, "pages"), "A parameter that a list does not know is ignored")
}

// TestOpenAPI_Intents_HaveTheirSchemas checks that each intent has a schema of its own with
// exactly its members, so that generated clients have a type for it.
func TestOpenAPI_Intents_HaveTheirSchemas(t *testing.T) {
	t.Parallel()
	_, document := openAPI(t)
	for path, intents := range map[string]map[string][]string{
		"/api/jobseekers/search": {
			"save-search":               {"name", "query", "location", "contractType", "emailAlerts"},
			"update-search-preferences": {"preferredLocation", "employmentTypes"},
			"delete-search":             {"searchId"},
		},
		"/api/jobseekers/billing": {
			"create-subscription":   {"planId", "paymentMethodId"},
			"upgrade-plan":          {"planId", "paymentMethodId"},
			"update-payment-method": {"paymentMethodId"},
			"cancel-subscription":   nil,
		},
		"/api/jobseekers/dashboard": {
			"generate-personalized-content": {"specialty", "careerGoals", "experience"},
			"track-dashboard-action":        {"action", "listingId"},
		},
	} {
		body := document.Paths[path]["post"].RequestBody.Content["application/json"]
		ref, _ := body.Schema["$ref"].(string)
		variants, _ := document.Components.Schemas[strings.TrimPrefix(ref, "#/components/schemas/")]["oneOf"].([]any)
		require.Len(t, variants, len(intents), path)
		for _, variant := range variants {
			schema := variant.(object)
			intent, _ := schema["title"].(string)
			properties := slices.Collect(maps.Keys(schema["properties"].(object)))
			require.ElementsMatch(t, append(intents[intent], "intent"), properties, "%s %s", path, intent)
			require.Contains(t, body.Examples, intent)
		}
	}
}
