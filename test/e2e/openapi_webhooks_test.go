package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	validator "github.com/pb33f/libopenapi-validator"
	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/adapters/developer"
)

// webhooksOf returns a validator for the webhooks of a document, as operations with the paths
// /TYPE, so that deliveries can be validated as requests. It is strict: undocumented members
// are invalid.
func webhooksOf(t testing.TB, raw []byte) (validator.Validator, object) {
	t.Helper()
	var d object
	require.NoError(t, json.Unmarshal(raw, &d))
	paths := object{}
	for name, item := range d["webhooks"].(object) {
		paths["/"+name] = item
	}
	d["paths"] = paths
	delete(d, "webhooks")
	for _, schema := range d["components"].(object)["schemas"].(object) {
		if schema := schema.(object); schema["properties"] != nil {
			schema["additionalProperties"] = false
		}
	}
	changed, err := json.Marshal(d)
	require.NoError(t, err)
	return newValidator(t, changed), paths
}

// documentErrors returns the differences between a delivery and the document of the event type,
// or nil.
func (h hit) documentErrors(t testing.TB, doc validator.Validator, kind string) error {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://localhost:8080/"+kind,
		io.NopCloser(strings.NewReader(h.raw)))
	require.NoError(t, err)
	r.Header = h.headers
	if ok, problems := doc.ValidateHttpRequest(r); !ok {
		return fmt.Errorf("%s %s: %v", kind, h.raw, problems)
	}
	return nil
}

// TestOpenAPI_Webhooks_MatchDeliveries checks that real deliveries of every event type have
// exactly the documented members and headers, for listings with and without optional values.
func TestOpenAPI_Webhooks_MatchDeliveries(t *testing.T) {
	onEachSetupWithWebhooks(t, func(t *testing.T, server *testServer) {
		doc, described := webhooksOf(t, server.guest(t).try("GET", "/openapi/developer.json", nil).raw)
		require.Len(t, described, len(everyEvent))

		receiver := newReceiver(t, nil)
		employer := server.employer(t)
		path, _ := employer.createWebhook(receiver.URL, everyEvent...)
		listing := employer.listing(object{
			"location":            "Leeds",
			"contractType":        "permanent",
			"employmentType":      "part-time",
			"salary":              object{"min": 36000, "max": 44000, "currency": "GBP"},
			"questions":           []object{{"id": "pin", "text": "Your NMC PIN?"}},
			"applicationDeadline": "2099-01-01",
		})
		application := server.seeker(t).application(listing, nil)
		employer.put("/api/employers/applications/"+application, object{"status": "review"}).ok(200)
		employer.put("/api/employers/jobs/"+listing, object{"title": "Ward Manager"}).ok(200)
		receiver.waitForEvent("job.updated", "id", listing)
		employer.delete("/api/employers/jobs/" + listing).ok(200)
		bare := employer.listing(nil) // most of its members are null
		receiver.waitForEvent("job.created", "id", bare)
		for _, kind := range everyEvent {
			employer.post(path+"/test", object{"type": kind}).ok(202)
		}
		byType := map[string]int{}
		// Six events of the jobs and the application above, and the test events.
		for _, h := range receiver.waitForHits(6 + len(everyEvent)) {
			require.NoError(t, h.documentErrors(t, doc, h.body.Type))
			byType[h.body.Type]++
			if h.body.Data["test"] != nil {
				continue
			}
			for _, other := range everyEvent {
				if other != h.body.Type {
					require.Error(t, h.documentErrors(t, doc, other), "each endpoint has its own description")
				}
			}
			// Every member except test is always present, and every header of
			// ours is documented.
			for member := range h.body.Data {
				var body object
				require.NoError(t, json.Unmarshal([]byte(h.raw), &body))
				delete(body["data"].(object), member)
				less, err := json.Marshal(body)
				require.NoError(t, err)
				require.Error(t, hit{headers: h.headers, raw: string(less)}.documentErrors(t, doc, h.body.Type), member)
			}
			var named []string
			for _, p := range described["/"+h.body.Type].(object)["post"].(object)["parameters"].([]any) {
				named = append(named, p.(object)["name"].(string))
			}
			var came []string
			for name := range h.headers {
				if name = strings.ToLower(name); strings.HasPrefix(name, "webhook-") {
					came = append(came, name)
				}
			}
			require.ElementsMatch(t, named, came)
			for _, name := range named {
				without := h.headers.Clone()
				without.Del(name)
				require.Error(t, hit{headers: without, raw: h.raw}.documentErrors(t, doc, h.body.Type), name)
			}
		}
		require.Len(t, byType, len(everyEvent))
	})
}

// TestOpenAPI_WebhookExamples_AreConsistent checks that every event type has a valid example,
// about the job of the other examples of the document.
func TestOpenAPI_WebhookExamples_AreConsistent(t *testing.T) {
	t.Parallel()
	raw, document := openAPIOf(t, developer.API(adapters.Services{}, "http://localhost:8080"))
	doc, described := webhooksOf(t, raw)
	names := []string{}
	for path, item := range described {
		op := item.(object)["post"].(object)
		example := op["requestBody"].(object)["content"].(object)["application/json"].(object)["example"]
		text, err := json.Marshal(example)
		require.NoError(t, err)
		kind := strings.TrimPrefix(path, "/")
		names = append(names, kind)
		require.Equal(t, kind, example.(object)["type"])
		headers := http.Header{
			"Content-Type":      {"application/json"},
			"Webhook-Id":        {"01935d3c-9c1e-7c1a-8f6e-2b7a54c0de01"},
			"Webhook-Timestamp": {"1763712000"},
			"Webhook-Signature": {"v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4="},
			"Webhook-Attempt":   {"1"},
		}
		require.NoError(t, hit{headers: headers, raw: string(text)}.documentErrors(t, doc, kind))
		job := document.Paths["/api/v1/applications"]["post"].RequestBody.Content["application/json"].Example
		var applied object
		require.NoError(t, json.Unmarshal(job, &applied))
		data := example.(object)["data"].(object)
		if strings.HasPrefix(kind, "job.") {
			require.Equal(t, applied["job_id"], data["id"])
			require.Equal(t, applied["job_id"], data["job"].(object)["id"])
			require.Equal(t, kind == "job.closed", data["job"].(object)["status"] == "closed")
		} else {
			require.Equal(t, applied["job_id"], data["job_id"])
		}
		for _, status := range []string{"2XX", "410", "default"} {
			require.Contains(t, op["responses"], status)
		}
	}
	slices.Sort(names)
	sorted := slices.Sorted(slices.Values(everyEvent))
	require.Equal(t, sorted, names)
}
