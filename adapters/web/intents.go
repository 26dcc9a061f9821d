package web

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/swaggest/openapi-go/openapi31"
)

// Some operations do one of several things, which a member "intent" of the body selects. The other
// members of the body may be for some intents only: the tag intents:"a b" of a field names the intents
// that use the field. A field without the tag is used by all intents. The OpenAPI document has one schema
// and one example for each intent of such a body, so that generated clients have one type for each.

// intentField is the name of the member that selects the intent.
const intentField = "intent"

// intentsByField returns the intents that use each field of a body, by the name of the field. The intents
// are nil for a field that all intents use. Fields of an embedded struct have the tag of the struct,
// unless they have a tag of their own.
func intentsByField(t reflect.Type) map[string][]string {
	intents := map[string][]string{}
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")

		tag := strings.Fields(f.Tag.Get("intents"))
		switch {
		case f.Anonymous && name == "" && f.Type.Kind() == reflect.Struct:
			for embedded, ownTag := range intentsByField(f.Type) {
				if len(ownTag) == 0 {
					ownTag = tag
				}

				intents[embedded] = ownTag
			}
		case name != "" && name != "-":
			intents[name] = tag
		}
	}

	return intents
}

// describeIntents replaces the schema and the example of a body that has an intent by one schema
// and one example for each intent. It leaves other bodies as they are.
func describeIntents(spec *openapi31.Spec, op *openapi31.Operation, in reflect.Type) {
	if op.RequestBody == nil || op.RequestBody.RequestBody == nil || in.Kind() != reflect.Struct {
		return
	}

	intents := intentsByField(in)

	hasTag := false
	for _, tag := range intents {
		hasTag = hasTag || len(tag) > 0
	}

	if !hasTag {
		return
	}

	// Find the schema and the example of the whole body, which the library has described already.
	content := op.RequestBody.RequestBody.Content
	body := content["application/json"]
	reference, _ := body.Schema["$ref"].(string)
	schemaName := strings.TrimPrefix(reference, components)
	schema := spec.Components.Schemas[schemaName]

	example := map[string]json.RawMessage{}
	if body.Example == nil || json.Unmarshal((*body.Example).(json.RawMessage), &example) != nil {
		return
	}

	// Derive a schema and an example for each intent. They have only the fields that the intent
	// uses.
	var schemas []any

	examples := map[string]openapi31.ExampleOrReference{}
	for _, intent := range intentsOf(in) {
		isUsed := func(field string) bool { return len(intents[field]) == 0 || slices.Contains(intents[field], intent) }
		schemas = append(schemas, intentSchema(schema, intent, isUsed))

		intentExample := maps.Clone(example)
		maps.DeleteFunc(intentExample, func(field string, _ json.RawMessage) bool { return !isUsed(field) })

		intentExample[intentField] = quoted(intent)
		examples[intent] = openapi31.ExampleOrReference{Example: (&openapi31.Example{}).WithValue(intentExample)}
	}

	spec.Components.Schemas[schemaName] = map[string]any{"oneOf": schemas}
	body.Example = nil
	body.Examples = examples
	content["application/json"] = body
}

// intentsOf returns the values of the field intent, from its rule oneof.
func intentsOf(t reflect.Type) []string {
	for i := range t.NumField() {
		if t.Field(i).Tag.Get("json") != intentField {
			continue
		}

		for rule := range strings.SplitSeq(t.Field(i).Tag.Get("validate"), ",") {
			if values, ok := strings.CutPrefix(rule, "oneof="); ok {
				return strings.Fields(values)
			}
		}
	}

	return nil
}

// intentSchema returns the part of the schema of a body that describes one intent: the fields that
// the intent uses.
func intentSchema(schema map[string]any, intent string, isUsed func(field string) bool) map[string]any {
	properties := map[string]any{}

	allProperties, _ := schema["properties"].(map[string]any)
	for field, property := range allProperties {
		if isUsed(field) {
			properties[field] = property
		}
	}

	properties[intentField] = map[string]any{"type": "string", "const": intent}

	required := []any{intentField}

	allRequired, _ := schema["required"].([]any)
	for _, value := range allRequired {
		field, _ := value.(string)
		if field != intentField && isUsed(field) {
			required = append(required, field)
		}
	}

	return map[string]any{"title": intent, "type": "object", "properties": properties, "required": required}
}
