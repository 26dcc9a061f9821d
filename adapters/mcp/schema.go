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

// inputSchema is the JSON Schema for the arguments of a tool.
type inputSchema struct {
	Type                 string         `json:"type"`
	Properties           map[string]any `json:"properties"`
	Required             []string       `json:"required,omitempty"`
	AdditionalProperties bool           `json:"additionalProperties"`
}

// openAPIDocument is the part of an OpenAPI document that describes tools.
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

// content is the part of a request or response in the document that has its schema.
type content struct {
	Content map[string]struct {
		Schema any `json:"schema"`
	} `json:"content"`
}

// readDocument returns the OpenAPI document of the interface, from which the tools are made.
func readDocument(s web.API, publicURL string) (d openAPIDocument, err error) {
	raw, err := web.OpenAPI(s, publicURL)
	if err != nil {
		return d, err
	}

	return d, json.Unmarshal(raw, &d)
}

var pathParameter = regexp.MustCompile(`:(\w+)`)

// input returns the schema of the parameters and the body of an operation.
func (d openAPIDocument) input(r web.Route, omit []string) *inputSchema {
	operation := d.Paths[pathParameter.ReplaceAllString(r.Path, "{$1}")][strings.ToLower(r.Method)]

	in := &inputSchema{Type: "object", Properties: map[string]any{}}
	for _, p := range operation.Parameters {
		if p.In != "path" && p.In != "query" || slices.Contains(omit, p.Name) {
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

const componentPrefix = "#/components/schemas/"

// resolve replaces each reference by the schema that it refers to, merged with the members
// beside the reference.
func (d openAPIDocument) resolve(v any) any {
	switch v := v.(type) {
	case []any:
		return web.Each(v, d.resolve)
	case map[string]any:
		out := map[string]any{}
		if ref, ok := v["$ref"].(string); ok {
			target, _ := d.resolve(d.Components.Schemas[strings.TrimPrefix(ref, componentPrefix)]).(map[string]any)
			maps.Copy(out, target)
		}

		for name, member := range v {
			if name != "$ref" {
				out[name] = d.resolve(member)
			}
		}

		return out
	}

	return v
}
