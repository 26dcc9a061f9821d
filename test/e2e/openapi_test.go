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

// openAPIDocument is the part of an OpenAPI document that the tests read.
type openAPIDocument struct {
	Info  struct{ Version, Description string }
	Paths map[string]map[string]struct {
		OperationID string `json:"operationId"`
		Summary     string `json:"summary"`
		Parameters  []openAPIParameter
		RequestBody struct{ Content map[string]mediaType }
		Responses   map[string]openAPIResponse
		Security    []map[string][]string
	}
	Webhooks   map[string]map[string]struct{ Parameters []openAPIParameter }
	Components struct {
		Schemas   map[string]map[string]any
		Responses map[string]openAPIResponse
		Headers   map[string]struct{ Description string }
	}
}

// openAPIResponse is a response of an operation, or a reference to one.
type openAPIResponse struct {
	Ref     string `json:"$ref"`
	Content map[string]mediaType
	Headers map[string]any
}

// openAPIParameter is a parameter of an operation.
type openAPIParameter struct {
	Name, In, Description string
	Required              bool
	Schema                map[string]any
	Example               any
}

// mediaType is the schema of a body in a media type, with its example or examples.
type mediaType struct {
	Schema   map[string]any
	Example  json.RawMessage
	Examples map[string]struct{ Value json.RawMessage }
}

// examples returns the examples by name: an only example has the name "".
func (m mediaType) examples() map[string]json.RawMessage {
	if len(m.Example) > 0 {
		return map[string]json.RawMessage{"": m.Example}
	}

	byName := map[string]json.RawMessage{}
	for name, example := range m.Examples {
		byName[name] = example.Value
	}

	return byName
}

// openAPI returns the portal's document, as JSON and parsed. It needs no server.
func openAPI(t testing.TB) (raw []byte, document openAPIDocument) {
	t.Helper()
	return openAPIOf(t, portal.API(adapters.Services{}))
}

// openAPIOf returns the document of an API, as JSON and parsed, with references to responses
// resolved in the latter.
func openAPIOf(t testing.TB, api web.API) (raw []byte, document openAPIDocument) {
	t.Helper()

	raw, err := web.OpenAPI(api, "http://localhost:8080")
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(raw, &document))

	for _, operations := range document.Paths {
		for _, operation := range operations {
			for status, response := range operation.Responses {
				if name, isReference := strings.CutPrefix(response.Ref, "#/components/responses/"); isReference {
					operation.Responses[status] = document.Components.Responses[name]
				}
			}
		}
	}

	return raw, document
}

// bothAPIs returns the portal's and the developer API.
func bothAPIs() []web.API {
	return []web.API{portal.API(adapters.Services{}), developer.API(adapters.Services{}, "http://localhost:8080")}
}

// TestOpenAPI_Examples_MatchTheirSchemas checks that both documents are valid and complete:
// every operation has its security and an example of each body and response that its own schema
// accepts.
func TestOpenAPI_Examples_MatchTheirSchemas(t *testing.T) {
	t.Parallel()

	for _, api := range bothAPIs() {
		t.Run(api.Name, func(t *testing.T) {
			t.Parallel()
			requireCompleteDocument(t, api)
		})
	}
}

// requireCompleteDocument validates the document of the API and every example in it, and requires
// that it describes exactly the routes of the API.
func requireCompleteDocument(t *testing.T, api web.API) {
	t.Helper()

	raw, document := openAPIOf(t, api)
	parsed, err := libopenapi.NewDocument(raw)
	require.NoError(t, err)

	v, errs := validator.NewValidator(parsed)
	require.Empty(t, errs)

	valid, problems := v.ValidateDocument()
	require.True(t, valid, "%v", problems)

	operations := 0
	for path, byMethod := range document.Paths {
		for method, op := range byMethod {
			operations++
			operation := method + " " + path
			require.NotEmpty(t, op.Summary, operation)
			require.NotEmpty(t, op.Security, "%s does not say which credential it takes, or that it takes none", operation)

			url := "http://localhost:8080" + path
			for _, p := range op.Parameters {
				if p.In == "path" {
					require.NotEmpty(t, p.Example, "%s: %s", operation, p.Name)

					url = strings.ReplaceAll(url, "{"+p.Name+"}", p.Example.(string))
				}
			}

			newRequest := func() *http.Request {
				request, err := http.NewRequestWithContext(t.Context(), strings.ToUpper(method), url, http.NoBody)
				require.NoError(t, err)
				request.Header.Set("Authorization", "Bearer x")
				request.Header.Set("X-API-Key", "x")

				return request
			}

			for contentType, body := range op.RequestBody.Content {
				requireValidRequestExamples(t, v, operation, contentType, body, newRequest)
			}

			for code, response := range op.Responses {
				status, err := strconv.Atoi(code)
				require.NoError(t, err)

				for contentType, body := range response.Content {
					requireValidResponseExample(t, v, operation, status, contentType, body, newRequest())
				}
			}
		}
	}

	require.Len(t, api.Routes, operations)

	for _, route := range api.Routes {
		path := regexp.MustCompile(`:(\w+)`).ReplaceAllString(route.Path, "{$1}")
		op := document.Paths[path][strings.ToLower(route.Method)]
		require.Equal(t, route.TakesBody(), len(op.RequestBody.Content) > 0, "%s %s", route.Method, route.Path)

		if route.Body > web.DefaultBody { // large bodies are limited
			require.Contains(t, op.Responses, "429", "%s %s", route.Method, route.Path)
		}
	}
}

// requireValidRequestExamples requires that a request body has examples, and that the schema
// accepts them. The validator does not support forms.
func requireValidRequestExamples(
	t *testing.T, v validator.Validator, operation, contentType string, body mediaType, newRequest func() *http.Request,
) {
	t.Helper()
	require.NotEmpty(t, body.examples(), "%s has no example of its body", operation)

	if contentType != "application/json" {
		return
	}

	for _, example := range body.examples() {
		request := newRequest()
		request.Body = io.NopCloser(bytes.NewReader(example))
		request.Header.Set("Content-Type", contentType)

		valid, problems := v.ValidateHttpRequest(request)
		require.True(t, valid, "%s: %s: %v", operation, example, problems)
	}
}

// requireValidResponseExample requires that a response body has an example, and that the schema
// accepts it if it is JSON.
func requireValidResponseExample(
	t *testing.T, v validator.Validator, operation string, status int, contentType string, body mediaType, request *http.Request,
) {
	t.Helper()
	require.NotEmpty(t, body.Example, "%s has no example of its %d", operation, status)

	if contentType != "application/json" && contentType != "application/problem+json" {
		return
	}

	valid, problems := v.ValidateHttpResponse(request, &http.Response{
		StatusCode: status,
		Header:     http.Header{"Content-Type": {contentType}},
		Body:       io.NopCloser(bytes.NewReader(body.Example)),
		Request:    request,
	})
	require.True(t, valid, "%s %d: %s: %v", operation, status, body.Example, problems)
}

// units matches the words that state what a number counts or measures.
var units = regexp.MustCompile(
	`(?i)\b(number|miles|days|month|year|seconds|milliseconds|bytes|degrees|percent|percentage|currency|status code|position|from 0 to 1)\b`,
)

// TestOpenAPI_EveryFieldIsDescribed checks that every parameter, member and header has a
// description that states its unit, range and default, so that no field needs guessing.
func TestOpenAPI_EveryFieldIsDescribed(t *testing.T) {
	t.Parallel()

	for _, api := range bothAPIs() {
		_, document := openAPIOf(t, api)
		for path, item := range document.Paths {
			for method, op := range item {
				for _, p := range op.Parameters {
					requireDescription(t, method+" "+path+" "+p.Name, p.Name, p.Description, p.Schema)
				}
			}
		}

		for name, hook := range document.Webhooks {
			for _, p := range hook["post"].Parameters {
				requireDescription(t, name+" "+p.Name, p.Name, p.Description, p.Schema)
			}
		}

		for name, schema := range document.Components.Schemas {
			requireDescribedMembers(t, name, schema)
		}

		for name, header := range document.Components.Headers {
			requireDescription(t, name, name, header.Description, nil)
		}
	}
}

// requireDescribedMembers checks the descriptions of the members of a schema at every depth.
func requireDescribedMembers(t *testing.T, path string, schema map[string]any) {
	t.Helper()

	properties, _ := schema["properties"].(map[string]any)
	for name, property := range properties {
		field := property.(map[string]any)
		text, _ := field["description"].(string)
		requireDescription(t, path+"."+name, name, text, field)
		requireDescribedMembers(t, path+"."+name, field)

		if items, ok := field["items"].(map[string]any); ok {
			requireDescribedMembers(t, path+"."+name, items)
		}
	}
}

// requireDescription checks that the text ends like a sentence, and that it states the unit, the
// range and the default of the field that the schema declares.
func requireDescription(t *testing.T, path, name, text string, schema map[string]any) {
	t.Helper()
	require.Regexp(t, `[\p{L}\d)}]\.$`, text, path)

	if regexp.MustCompile(`integer|number`).MatchString(fmt.Sprint(schema["type"])) {
		require.Regexp(t, units, text, path)
	}

	withoutSeparators := strings.ReplaceAll(text, ",", "") // 20,000 is 20000 in the schema
	for _, limit := range []string{"minimum", "maximum", "exclusiveMinimum", "maxLength", "maxItems"} {
		if n, ok := schema[limit].(float64); ok {
			require.Contains(t, withoutSeparators, strconv.FormatFloat(n, 'f', -1, 64), path)
		}
	}

	if value, ok := schema["default"]; ok {
		require.Contains(t, text, fmt.Sprintf("Default %v.", value), path)
	}

	if name == "radius" {
		require.EqualValues(t, listings.DefaultRadius, schema["default"], path)
	}
}

// TestOpenAPI_DeveloperExamples_AreConsistent checks that the examples of the developer API fit
// together: an object has the same id in all of them, and every error is about a part of its
// request.
func TestOpenAPI_DeveloperExamples_AreConsistent(t *testing.T) {
	t.Parallel()

	_, document := openAPIOf(t, developer.API(adapters.Services{}, "http://localhost:8080"))
	parse := func(raw json.RawMessage) (parsed object) {
		require.NoError(t, json.Unmarshal(raw, &parsed))
		return parsed
	}

	dataOf := func(path string) object {
		return parse(document.Paths[path]["get"].Responses["200"].Content["application/json"].Example)["data"].(object)
	}
	job := dataOf("/api/v1/jobs/{job_id}")
	application := dataOf("/api/v1/applications/{id}")
	require.Equal(t, job["id"], application["job_id"])
	require.Contains(t, job["url"], job["id"])
	require.Equal(t, job["questions"].([]any)[0].(object)["id"], application["answers"].([]any)[0].(object)["question_id"])

	// The ids of different objects differ: the map has one key for each of them.
	differentIDs := map[any]bool{
		job["id"]:                     true,
		job["company"].(object)["id"]: true,
		application["id"]:             true,
		application["candidate_id"]:   true,
	}
	require.Len(t, differentIDs, 4)
	require.Equal(t, job["id"], document.Paths["/api/v1/jobs/{job_id}"]["get"].Parameters[0].Example)

	for path, operations := range document.Paths {
		for method, op := range operations {
			isSent := map[string]bool{}
			for _, p := range op.Parameters {
				isSent[p.Name] = true
			}

			for _, body := range op.RequestBody.Content {
				for member := range parse(body.Example) {
					isSent[member] = true
				}
			}

			for status, response := range op.Responses {
				// The statuses have three digits, so that their text can be compared. Errors begin at 400.
				if status < "400" {
					continue
				}

				problem := parse(response.Content["application/problem+json"].Example)
				require.NotEqual(t, "about:blank", problem["type"], "%s %s %s", method, path, status)

				// Each error is about a parameter or member that the example of the request sends.
				for _, fieldError := range problem["errors"].([]any) {
					field := fieldError.(object)["field"].(string)
					require.True(t, isSent[field], "%s %s: %v", method, path, fieldError)
				}
			}
		}
	}
}

// TestOpenAPI_Version_IsTheNewestChange checks that the version of the developer API's document is
// the newest one in its changelog, not that of the build.
func TestOpenAPI_Version_IsTheNewestChange(t *testing.T) {
	t.Parallel()

	_, document := openAPIOf(t, developer.API(adapters.Services{}, "http://localhost:8080"))
	require.Regexp(t, `^1\.\d+\.\d+$`, document.Info.Version, "v1 is in the paths")

	newest := regexp.MustCompile(`(?m)^## (\S+),`).FindStringSubmatch(guideText(t, "changelog"))
	require.NotNil(t, newest)
	require.Equal(t, newest[1], document.Info.Version)
}

// TestOpenAPI_VersionOfPortal_IsSemantic checks the form of the version of the portal's document.
func TestOpenAPI_VersionOfPortal_IsSemantic(t *testing.T) {
	t.Parallel()

	_, document := openAPI(t)
	require.Regexp(t, `^\d+\.\d+\.\d+$`, document.Info.Version)
}

// TestOpenAPI_UnknownQueryParameters_AreDocumented checks that the document and the guide say that
// unknown parameters are ignored.
func TestOpenAPI_UnknownQueryParameters_AreDocumented(t *testing.T) {
	t.Parallel()

	_, document := openAPIOf(t, developer.API(adapters.Services{}, "http://localhost:8080"))
	require.Contains(t, document.Info.Description, "Query parameters that an operation does not know are ignored")
	require.Contains(t, guideText(t, "pages"), "A parameter that a list does not know is ignored")
}

// TestOpenAPI_Intents_HaveTheirSchemas checks that each intent has a schema of its own with
// exactly its members, so that generated clients have a type for it.
func TestOpenAPI_Intents_HaveTheirSchemas(t *testing.T) {
	t.Parallel()

	_, document := openAPI(t)

	membersByPathAndIntent := map[string]map[string][]string{
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
	}
	for path, membersByIntent := range membersByPathAndIntent {
		body := document.Paths[path]["post"].RequestBody.Content["application/json"]
		ref, _ := body.Schema["$ref"].(string)
		variants, _ := document.Components.Schemas[strings.TrimPrefix(ref, "#/components/schemas/")]["oneOf"].([]any)
		require.Len(t, variants, len(membersByIntent), path)

		for _, variant := range variants {
			schema := variant.(object)
			intent, _ := schema["title"].(string)
			properties := slices.Collect(maps.Keys(schema["properties"].(object)))
			require.ElementsMatch(t, append(membersByIntent[intent], "intent"), properties, "%s %s", path, intent)
			require.Contains(t, body.Examples, intent)
		}
	}
}
