package mcp

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/locumhq/locum/adapters/web"
)

// The schemas of the arguments and the results of tools are taken from the OpenAPI document of the developer API.

// inputSchema is the JSON Schema for the arguments of a tool.
type inputSchema struct {
	Type                 string         `json:"type"`
	Properties           map[string]any `json:"properties"`
	Required             []string       `json:"required,omitempty"`
	AdditionalProperties bool           `json:"additionalProperties"`
}

// openAPIDocument has the parts of an OpenAPI document that describe tools. Paths maps paths such as
// /jobs/{id} to their operations by method, such as get.
type openAPIDocument struct {
	Paths map[string]map[string]struct {
		Parameters []struct {
			Name     string         `json:"name"`
			In       string         `json:"in"`
			Required bool           `json:"required"`
			Schema   map[string]any `json:"schema"`
		} `json:"parameters"`
		RequestBody content            `json:"requestBody"`
		Responses   map[string]content `json:"responses"`
	} `json:"paths"`
	Components struct {
		Schemas map[string]any `json:"schemas"`
	} `json:"components"`
}

// content is the description of the body of a request or response. Content maps media types to schemas.
type content struct {
	Content map[string]struct {
		Schema any `json:"schema"`
	} `json:"content"`
}

// readDocument generates the OpenAPI document of the API, and parses it.
func readDocument(api web.API, publicURL string) (d openAPIDocument, err error) {
	raw, err := web.OpenAPI(api, publicURL)
	if err != nil {
		return d, err
	}

	return d, json.Unmarshal(raw, &d)
}

var pathParameter = regexp.MustCompile(`:(\w+)`)

// input returns the schema of the arguments of a tool: the parameters of the operation of its route and the members
// of the body in one object, without the names in omit.
func (d openAPIDocument) input(r web.Route, omit []string) *inputSchema {
	operation := d.Paths[pathParameter.ReplaceAllString(r.Path, "{$1}")][strings.ToLower(r.Method)]

	in := &inputSchema{Type: "object", Properties: map[string]any{}}
	for _, p := range operation.Parameters {
		isArgument := (p.In == "path" || p.In == "query") && !slices.Contains(omit, p.Name)
		if !isArgument {
			continue
		}

		in.Properties[p.Name] = d.resolve(p.Schema)
		if p.Required {
			in.Required = append(in.Required, p.Name)
		}
	}

	body, _ := d.resolve(operation.RequestBody.Content["application/json"].Schema).(map[string]any)

	properties, _ := body["properties"].(map[string]any)
	for name, property := range properties {
		if !slices.Contains(omit, name) {
			in.Properties[name] = property
		}
	}

	required, _ := body["required"].([]any)
	for _, name := range required {
		in.Required = append(in.Required, name.(string)) //nolint:forcetypeassert // as JSON Schema says
	}

	return in
}

// output returns the schema of a successful response of an operation.
func (d openAPIDocument) output(r web.Route) any {
	operation := d.Paths[pathParameter.ReplaceAllString(r.Path, "{$1}")][strings.ToLower(r.Method)]
	return d.resolve(operation.Responses[strconv.Itoa(max(r.Status, 200))].Content["application/json"].Schema)
}

// componentPrefix is the beginning of references to schemas in the document.
const componentPrefix = "#/components/schemas/"

// resolve returns a schema, or a value in a schema, without references: each reference is replaced by the schema to
// which it refers, because a tool has no other schemas. Members beside the reference take precedence over those
// of that schema.
func (d openAPIDocument) resolve(value any) any {
	switch value := value.(type) {
	case []any:
		return web.Each(value, d.resolve)
	case map[string]any:
		resolved := map[string]any{}
		if ref, isReference := value["$ref"].(string); isReference {
			target, _ := d.resolve(d.Components.Schemas[strings.TrimPrefix(ref, componentPrefix)]).(map[string]any)
			maps.Copy(resolved, target)
		}

		for name, member := range value {
			if name != "$ref" {
				resolved[name] = d.resolve(member)
			}
		}

		return resolved
	}

	return value
}
