package web

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/swaggest/openapi-go/openapi31"
)

// The field intent of a body selects what the operation does. The tag intents:"a b" of another
// field names the intents that use the field; without the tag, all of them do. The description
// of such a body is one schema and one example for each intent, so that generated clients have
// one type for each.

const intentField = "intent"

// intentsByField returns the tags intents of the fields of a body by their names. Fields of an
// embedded struct have the tag of the struct.
func intentsByField(t reflect.Type) map[string][]string {
	intents := map[string][]string{}
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")

		tag := strings.Fields(f.Tag.Get("intents"))
		switch {
		case f.Anonymous && name == "" && f.Type.Kind() == reflect.Struct:
			for embedded, own := range intentsByField(f.Type) {
				if len(own) == 0 {
					own = tag
				}

				intents[embedded] = own
			}
		case name != "" && name != "-":
			intents[name] = tag
		}
	}

	return intents
}

// describeIntents replaces the schema and the example of a body with an intent by those of
// each intent. It leaves other bodies as they are.
func describeIntents(spec *openapi31.Spec, op *openapi31.Operation, in reflect.Type) {
	if op.RequestBody == nil || op.RequestBody.RequestBody == nil || in.Kind() != reflect.Struct {
		return
	}

	fields := intentsByField(in)
	if !slices.ContainsFunc(slices.Collect(maps.Values(fields)), func(tag []string) bool { return len(tag) > 0 }) {
		return
	}

	content := op.RequestBody.RequestBody.Content
	body := content["application/json"]
	ref, _ := body.Schema["$ref"].(string)
	name := strings.TrimPrefix(ref, "#/components/schemas/")
	schema := spec.Components.Schemas[name]

	example := map[string]json.RawMessage{}
	if body.Example == nil || json.Unmarshal((*body.Example).(json.RawMessage), &example) != nil {
		return
	}

	var variants []any

	examples := map[string]openapi31.ExampleOrReference{}
	for _, intent := range intentsOf(in) {
		uses := func(field string) bool { return len(fields[field]) == 0 || slices.Contains(fields[field], intent) }
		variants = append(variants, intentSchema(schema, intent, uses))
		value := maps.Clone(example)
		maps.DeleteFunc(value, func(field string, _ json.RawMessage) bool { return !uses(field) })

		value[intentField] = quoted(intent)
		examples[intent] = openapi31.ExampleOrReference{Example: (&openapi31.Example{}).WithValue(value)}
	}

	spec.Components.Schemas[name] = map[string]any{"oneOf": variants}
	body.Example, body.Examples = nil, examples
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

// intentSchema returns the schema of a body with one intent and the fields that it uses.
func intentSchema(schema map[string]any, intent string, uses func(field string) bool) map[string]any {
	properties := map[string]any{}

	all, _ := schema["properties"].(map[string]any)
	for field, property := range all {
		if uses(field) {
			properties[field] = property
		}
	}

	properties[intentField] = map[string]any{"type": "string", "const": intent}
	variant := map[string]any{"title": intent, "type": "object", "properties": properties, "required": []any{intentField}}

	required, _ := schema["required"].([]any)
	for _, field := range required {
		if field, _ := field.(string); field != intentField && uses(field) {
			variant["required"] = append(variant["required"].([]any), field)
		}
	}

	return variant
}
