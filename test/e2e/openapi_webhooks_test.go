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

// webhooksOf returns a validator for the webhooks of a document, and the webhooks by the paths
// /TYPE, under which the validator has them as operations, so that deliveries can be validated as
// requests. It is strict: undocumented members are invalid.
func webhooksOf(t testing.TB, raw []byte) (strict validator.Validator, webhooks object) {
	t.Helper()
	var document object
	require.NoError(t, json.Unmarshal(raw, &document))

	webhooks = object{}
	for eventType, webhook := range document["webhooks"].(object) {
		webhooks["/"+eventType] = webhook
	}

	document["paths"] = webhooks
	delete(document, "webhooks")

	for _, item := range document["components"].(object)["schemas"].(object) {
		schema := item.(object)
		if schema["properties"] != nil {
			schema["additionalProperties"] = false
		}
	}

	changed, err := json.Marshal(document)
	require.NoError(t, err)

	return newValidator(t, changed), webhooks
}

// documentErrors returns the differences between a delivery and the document of the event type,
// or nil.
func (h hit) documentErrors(t testing.TB, doc validator.Validator, kind string) error {
	t.Helper()

	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://localhost:8080/"+kind,
		io.NopCloser(strings.NewReader(h.raw)))
	require.NoError(t, err)

	request.Header = h.headers

	valid, problems := doc.ValidateHttpRequest(request)
	if !valid {
		return fmt.Errorf("%s %s: %v", kind, h.raw, problems)
	}

	return nil
}

// TestOpenAPI_Webhooks_MatchDeliveries checks that real deliveries of every event type have
// exactly the documented members and headers, for listings with and without optional values.
func TestOpenAPI_Webhooks_MatchDeliveries(t *testing.T) {
	onEachSetupWithWebhooks(t, func(t *testing.T, server *testServer) {
		strict, webhooks := webhooksOf(t, server.guest(t).try("GET", "/openapi/developer.json", nil).raw)
		require.Len(t, webhooks, len(everyEvent))

		receiver := newReceiver(t)
		employer := server.employer(t)
		path, _ := employer.createWebhook(receiver.URL, everyEvent...)
		// A listing with all optional members, and its events: created, updated and closed.
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
		for _, delivery := range receiver.waitForHits(6 + len(everyEvent)) {
			require.NoError(t, delivery.documentErrors(t, strict, delivery.body.Type))

			byType[delivery.body.Type]++
			if delivery.body.Data["test"] != nil {
				continue
			}

			for _, other := range everyEvent {
				if other != delivery.body.Type {
					require.Error(t, delivery.documentErrors(t, strict, other), "each endpoint has its own description")
				}
			}

			// Every member except test is required, and every header of webhooks is documented.
			for member := range delivery.body.Data {
				var body object
				require.NoError(t, json.Unmarshal([]byte(delivery.raw), &body))
				delete(body["data"].(object), member)

				incomplete, err := json.Marshal(body)
				require.NoError(t, err)
				require.Error(t, hit{headers: delivery.headers, raw: string(incomplete)}.documentErrors(t, strict, delivery.body.Type), member)
			}

			var documented []string
			for _, p := range webhooks["/"+delivery.body.Type].(object)["post"].(object)["parameters"].([]any) {
				documented = append(documented, p.(object)["name"].(string))
			}

			var sent []string
			for name := range delivery.headers {
				name = strings.ToLower(name)
				if strings.HasPrefix(name, "webhook-") {
					sent = append(sent, name)
				}
			}

			require.ElementsMatch(t, documented, sent)

			for _, name := range documented {
				without := delivery.headers.Clone()
				without.Del(name)
				require.Error(t, hit{headers: without, raw: delivery.raw}.documentErrors(t, strict, delivery.body.Type), name)
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
	strict, webhooks := webhooksOf(t, raw)

	names := []string{}
	for path, item := range webhooks {
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
		require.NoError(t, hit{headers: headers, raw: string(text)}.documentErrors(t, strict, kind))

		// The example is about the job for which the example of an application applies.
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

		// The document explains the effect of each response of a receiver.
		for _, status := range []string{"2XX", "410", "default"} {
			require.Contains(t, op["responses"], status)
		}
	}

	slices.Sort(names)

	sorted := slices.Sorted(slices.Values(everyEvent))
	require.Equal(t, sorted, names)
}
