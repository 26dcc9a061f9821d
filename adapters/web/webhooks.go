package web

import (
	"errors"
	"maps"
	"net/http"
	"reflect"
	"strings"

	"github.com/swaggest/openapi-go/openapi31"
)

// Webhook describes the request that the service sends to subscribers of an event.
type Webhook struct {
	Name                 string // of the event
	Summary, Description string
	// Headers and Body are zero values of the types that are sent. The body has a member
	// type with the name of the event.
	Headers, Body any
	// Samples are the values of the example, by member.
	Samples map[string]string
	// Answers describe how responses of a receiver are handled, by status (410, 2XX) or
	// default.
	Answers map[string]string
}

// describeWebhook adds the webhook to the document. Each has a schema of its own, so
// that generated clients can distinguish events.
func describeWebhook(r *openapi31.Reflector, s API, hook Webhook) error {
	oc, err := r.NewOperationContext(http.MethodPost, hook.Name)
	if err != nil {
		return err
	}
	oc.SetID("on" + camel(hook.Name))
	oc.SetTags("Webhooks")
	oc.SetSummary(hook.Summary)
	oc.SetDescription(hook.Description)
	oc.AddReqStructure(hook.Headers)
	oc.AddRespStructure(hook.Body) // described as a response, since this service writes it
	if err := r.AddWebhook(oc); err != nil {
		return err
	}
	op := r.Spec.Webhooks[hook.Name].PathItem.Post
	body := op.Responses.MapOfResponseOrReferenceValues["200"].Response.Content["application/json"]
	reference, _ := body.Schema["$ref"].(string)
	shared := strings.TrimPrefix(reference, components)
	schema := r.Spec.Components.Schemas[shared]
	members, named := schema["properties"].(map[string]any)
	if !named {
		return errors.New("the body of a webhook must be a named struct")
	}
	delete(r.Spec.Components.Schemas, shared) // no other operation uses it
	members["type"] = map[string]any{"type": "string", "const": hook.Name, "description": descriptions()["EventBody.type"] + "."}
	own := camel(hook.Name) + "Event"
	r.Spec.Components.WithSchemasItem(own, schema)
	body.Schema = map[string]any{"$ref": components + own}
	texts := map[string]string{"type": hook.Name}
	maps.Copy(texts, hook.Samples)
	body.WithExample(sampler{API: s, texts: texts}.sample(reflect.TypeOf(hook.Body), "", ""))
	op.RequestBody = &openapi31.RequestBodyOrReference{RequestBody: (&openapi31.RequestBody{}).WithRequired(true).WithContentItem("application/json", body)}
	op.Security = []map[string][]string{{}} // authenticated by its signature
	op.Responses = &openapi31.Responses{}
	for status, follows := range hook.Answers {
		answer := openapi31.ResponseOrReference{Response: &openapi31.Response{Description: follows}}
		if status == "default" {
			op.Responses.WithDefault(answer)
		} else {
			op.Responses.WithMapOfResponseOrReferenceValuesItem(status, answer)
		}
	}
	return nil
}

const components = "#/components/schemas/"

// camel turns application.status_changed into ApplicationStatusChanged.
func camel(name string) string {
	var b strings.Builder
	for _, part := range strings.FieldsFunc(name, func(c rune) bool { return strings.ContainsRune("/-:._", c) }) {
		b.WriteString(strings.ToUpper(part[:1]) + part[1:])
	}
	return b.String()
}
