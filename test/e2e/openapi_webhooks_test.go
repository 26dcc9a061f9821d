package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	validator "github.com/pb33f/libopenapi-validator"
	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/adapters/developer"
)

// webhooksOf returns a validator for deliveries of webhooks, and the webhooks of the OpenAPI document by path.
//
// The validator only knows paths, so that each webhook becomes an operation with the path /TYPE, such as
// /job.created. A delivery can then be validated as a request to this path. The validator is strict:
// undocumented members are invalid.
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
func (h hit) documentErrors(t testing.TB, doc validator.Validator, eventType string) error {
	t.Helper()

	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://localhost:8080/"+eventType,
		io.NopCloser(strings.NewReader(h.raw)))
	require.NoError(t, err)

	request.Header = h.headers

	valid, problems := doc.ValidateHttpRequest(request)
	if !valid {
		return fmt.Errorf("%s %s: %v", eventType, h.raw, problems)
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
		webhookPath, _ := employer.createWebhook(receiver.URL, everyEvent...)

		// The events of a listing with all optional members, and of an application for it.
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

		// A listing most of whose members are null.
		bareListing := employer.listing(nil)
		receiver.waitForEvent("job.created", "id", bareListing)

		for _, eventType := range everyEvent {
			employer.post(webhookPath+"/test", object{"type": eventType}).ok(202)
		}

		// The events of the requests above. Their order is not certain.
		wantTypes := []string{
			"job.created",                // the listing
			"application.submitted",      // to the listing
			"application.status_changed", // to review
			"job.updated",                // the title
			"job.closed",                 // by the deletion
			"job.created",                // the bare listing
		}
		wantTypes = append(wantTypes, everyEvent...) // test events

		var deliveredTypes []string
		for _, delivery := range receiver.waitForHits(len(wantTypes)) {
			deliveredTypes = append(deliveredTypes, delivery.body.Type)

			require.NoError(t, delivery.documentErrors(t, strict, delivery.body.Type))

			// The member test is optional, unlike those of real events.
			isTest := delivery.body.Data["test"] != nil
			if isTest {
				continue
			}

			delivery.requireOwnDescription(t, strict)
			delivery.requireEveryMemberRequired(t, strict)

			documented := documentedHeaders(webhooks["/"+delivery.body.Type].(object))
			require.ElementsMatch(t, documented, delivery.webhookHeaders())
			delivery.requireHeadersRequired(t, strict, documented)
		}

		require.ElementsMatch(t, wantTypes, deliveredTypes)
	})
}

// requireOwnDescription requires that the delivery doesn't match the description of any other event type.
func (h hit) requireOwnDescription(t *testing.T, strict validator.Validator) {
	t.Helper()

	for _, eventType := range everyEvent {
		if eventType != h.body.Type {
			require.Error(t, h.documentErrors(t, strict, eventType), eventType)
		}
	}
}

// requireEveryMemberRequired requires that the delivery is invalid without any one of the members of its data.
func (h hit) requireEveryMemberRequired(t *testing.T, strict validator.Validator) {
	t.Helper()

	for member := range h.body.Data {
		var body object
		require.NoError(t, json.Unmarshal([]byte(h.raw), &body))
		delete(body["data"].(object), member)

		incomplete, err := json.Marshal(body)
		require.NoError(t, err)

		withoutMember := hit{headers: h.headers, raw: string(incomplete)}
		require.Error(t, withoutMember.documentErrors(t, strict, h.body.Type), member)
	}
}

// requireHeadersRequired requires that the delivery is invalid without any one of the headers.
func (h hit) requireHeadersRequired(t *testing.T, strict validator.Validator, headers []string) {
	t.Helper()

	for _, name := range headers {
		withoutHeader := hit{headers: h.headers.Clone(), raw: h.raw}
		withoutHeader.headers.Del(name)
		require.Error(t, withoutHeader.documentErrors(t, strict, h.body.Type), name)
	}
}

// documentedHeaders returns the names of the headers that the description of a webhook has.
func documentedHeaders(webhook object) (names []string) {
	for _, parameter := range webhook["post"].(object)["parameters"].([]any) {
		names = append(names, parameter.(object)["name"].(string))
	}

	return names
}

// webhookHeaders returns the names of the headers of the delivery that begin with webhook-, in lower case.
func (h hit) webhookHeaders() (names []string) {
	for name := range h.headers {
		name = strings.ToLower(name)
		if strings.HasPrefix(name, "webhook-") {
			names = append(names, name)
		}
	}

	return names
}

// TestOpenAPI_WebhookExamples_AreConsistent checks that every event type has a valid example,
// about the job of the other examples of the document.
func TestOpenAPI_WebhookExamples_AreConsistent(t *testing.T) {
	t.Parallel()

	raw, document := openAPIOf(t, developer.API(adapters.Services{}, "http://localhost:8080"))
	strict, webhooks := webhooksOf(t, raw)

	// The job of the example of an application.
	var application object
	applicationExample := document.Paths["/api/v1/applications"]["post"].RequestBody.Content["application/json"].Example
	require.NoError(t, json.Unmarshal(applicationExample, &application))

	jobID := application["job_id"]

	eventTypes := []string{}
	for path, webhook := range webhooks {
		operation := webhook.(object)["post"].(object)
		example := operation["requestBody"].(object)["content"].(object)["application/json"].(object)["example"]
		body, err := json.Marshal(example)
		require.NoError(t, err)

		eventType := strings.TrimPrefix(path, "/")
		eventTypes = append(eventTypes, eventType)
		require.Equal(t, eventType, example.(object)["type"])

		headers := http.Header{
			"Content-Type":      {"application/json"},
			"Webhook-Id":        {"01935d3c-9c1e-7c1a-8f6e-2b7a54c0de01"},
			"Webhook-Timestamp": {"1763712000"},
			"Webhook-Signature": {"v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4="},
			"Webhook-Attempt":   {"1"},
		}
		require.NoError(t, hit{headers: headers, raw: string(body)}.documentErrors(t, strict, eventType))

		// The example is about this job, which is closed in that of job.closed only.
		data := example.(object)["data"].(object)
		if strings.HasPrefix(eventType, "job.") {
			job := data["job"].(object)
			require.Equal(t, jobID, data["id"])
			require.Equal(t, jobID, job["id"])
			require.Equal(t, eventType == "job.closed", job["status"] == "closed")
		} else {
			require.Equal(t, jobID, data["job_id"])
		}

		// The document explains the effect of each response of a receiver.
		for _, status := range []string{"2XX", "410", "default"} {
			require.Contains(t, operation["responses"], status)
		}
	}

	require.ElementsMatch(t, everyEvent, eventTypes)
}
