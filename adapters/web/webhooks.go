package web

import (
	"errors"
	"maps"
	"net/http"
	"reflect"
	"strings"

	"github.com/swaggest/openapi-go/openapi31"
)

// Webhook describes, for the documentation, the requests that the service sends to the subscribers of an
// event.
type Webhook struct {
	Name                 string // of the event, such as job.created
	Summary, Description string
	// Headers and Body are zero values of the types that are sent. The body has a member
	// type with the name of the event.
	Headers, Body any
	// Samples maps members to their values in the example.
	Samples map[string]string
	// Answers describe how responses of a receiver are handled, by status (410, 2XX) or
	// default.
	Answers map[string]string
}

// describeWebhook adds the webhook to the document. Each webhook has its own schema of the body, so that
// generated clients can distinguish events. The library describes all webhooks by the same Go type, so
// that the description is changed afterwards.
func describeWebhook(r *openapi31.Reflector, api API, webhook Webhook) error {
	oc, err := r.NewOperationContext(http.MethodPost, webhook.Name)
	if err != nil {
		return err
	}

	oc.SetID("on" + upperCamelCase(webhook.Name))
	oc.SetTags("Webhooks")
	oc.SetSummary(webhook.Summary)
	oc.SetDescription(webhook.Description)
	oc.AddReqStructure(webhook.Headers)
	oc.AddRespStructure(webhook.Body) // as a response, whose lists are never null; it is moved below

	if err := r.AddWebhook(oc); err != nil {
		return err
	}

	op := r.Spec.Webhooks[webhook.Name].PathItem.Post
	body := op.Responses.MapOfResponseOrReferenceValues["200"].Response.Content["application/json"]

	if err := renameEventSchema(r.Spec, &body, webhook.Name); err != nil {
		return err
	}

	// The example has the name of the event as its type.
	texts := map[string]string{"type": webhook.Name}
	maps.Copy(texts, webhook.Samples)
	body.WithExample(sampler{API: api, texts: texts}.sample(reflect.TypeOf(webhook.Body), "", ""))

	// The body was described as a response. Make it the body of the request.
	op.RequestBody = &openapi31.RequestBodyOrReference{
		RequestBody: (&openapi31.RequestBody{}).WithRequired(true).WithContentItem("application/json", body),
	}
	op.Security = []map[string][]string{{}} // none: the receiver checks the signature of the request

	op.Responses = &openapi31.Responses{}
	for status, description := range webhook.Answers {
		answer := openapi31.ResponseOrReference{Response: &openapi31.Response{Description: description}}
		if status == "default" {
			op.Responses.WithDefault(answer)
		} else {
			op.Responses.WithMapOfResponseOrReferenceValuesItem(status, answer)
		}
	}

	return nil
}

// renameEventSchema renames the schema to which the body refers after the event, and restricts the member type
// to the name of the event.
func renameEventSchema(spec *openapi31.Spec, body *openapi31.MediaType, event string) error {
	reference, _ := body.Schema["$ref"].(string)
	typeName := strings.TrimPrefix(reference, components)
	schema := spec.Components.Schemas[typeName]

	members, isNamed := schema["properties"].(map[string]any)
	if !isNamed {
		return errors.New("the body of a webhook must be a named struct")
	}

	members["type"] = map[string]any{"type": "string", "const": event, "description": descriptions()["EventBody.type"] + "."}

	schemaName := upperCamelCase(event) + "Event"

	delete(spec.Components.Schemas, typeName)
	spec.Components.WithSchemasItem(schemaName, schema)

	body.Schema = map[string]any{"$ref": components + schemaName}

	return nil
}

// components is the beginning of references to schemas in the document.
const components = "#/components/schemas/"

// upperCamelCase turns application.status_changed into ApplicationStatusChanged.
func upperCamelCase(name string) string {
	var b strings.Builder
	for _, part := range strings.FieldsFunc(name, func(c rune) bool { return strings.ContainsRune("/-:._", c) }) {
		b.WriteString(strings.ToUpper(part[:1]) + part[1:])
	}

	return b.String()
}
