package web

import (
	"bytes"
	"cmp"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/swaggest/openapi-go/openapi31"

	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/idempotency"
)

// Examples are generated from the types. The value of a field is its tag sample:"…", which is
// JSON or a text, or follows from its name and its rules.

//go:embed samples.txt
var sampleLines string

// samples returns the values of samples.txt by name.
var samples = sync.OnceValue(func() map[string]string { return readTable(sampleLines, "=") })

const (
	sampleTime     = "2026-11-20T09:30:00Z"
	sampleDeadline = "2026-12-18T17:00:00Z"
)

// sampleID returns an id for a kind of resource. It is the same in all examples and differs
// from the ids of other kinds.
func sampleID(noun string) string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(strings.ToLower(noun)))
	return fmt.Sprintf("01935d3c-9c1e-7c1a-8f6e-2b7a%08x", h.Sum32())
}

// identifiedResource returns the resource that the member or parameter identifies, and false if it is
// not an id. "id" identifies its owner.
func identifiedResource(name, owner string) (string, bool) {
	switch {
	case name == "id", name == "uuid":
		return owner, true
	case strings.HasSuffix(name, "Id"), strings.HasSuffix(name, "_id"):
		return strings.TrimSuffix(name[:len(name)-2], "_"), true
	}

	return "", false
}

// pathResource returns the resource of a path parameter: job for /jobs/:id.
func pathResource(path, name string) string {
	before, _, _ := strings.Cut(path, "/:"+name)
	return strings.TrimSuffix(before[strings.LastIndexByte(before, '/')+1:], "s")
}

// sampler generates the examples of an API.
type sampler struct {
	API
	// resource is the kind of resource that the sampled members belong to.
	resource string
	// texts maps names of members to values that replace the generated ones.
	texts map[string]string
}

// pendingExample adapts the example of a Pending to the status. Only with status 202 it has
// data.action.
func pendingExample(sample json.RawMessage, status int) json.RawMessage {
	var reply Reply[map[string]json.RawMessage]
	if status == http.StatusAccepted || json.Unmarshal(sample, &reply) != nil {
		return sample
	}

	delete(reply.Data, "action")

	encoded, err := json.Marshal(reply)
	if err != nil {
		return sample
	}

	return encoded
}

// sample returns an example of the type for a field with the name.
func (s sampler) sample(t reflect.Type, name string, tag reflect.StructTag) json.RawMessage {
	if own := tag.Get("sample"); own != "" {
		if json.Valid([]byte(own)) {
			return json.RawMessage(own)
		}

		return quoted(own)
	}

	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}

	switch {
	case t == reflect.TypeFor[time.Time]():
		return quoted(sampleText(name+"At", ""))
	case t == reflect.TypeFor[json.RawMessage]():
		return json.RawMessage(`{}`)
	}

	if one, ok := reflect.Zero(t).Interface().(interface{ JSONSchemaOneOf() []any }); ok {
		return s.sample(reflect.TypeOf(one.JSONSchemaOneOf()[0]), name, tag)
	}

	switch t.Kind() {
	case reflect.Struct:
		if reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()) || t.Implements(reflect.TypeFor[json.Marshaler]()) {
			return quoted(s.text(name, tag))
		}

		s.resource = strings.TrimSuffix(strings.TrimSuffix(t.Name(), "View"), "Input")

		return s.object(t)
	case reflect.Slice, reflect.Array:
		if t.Elem().Kind() == reflect.Uint8 {
			return quoted(s.text(name, tag))
		}

		return json.RawMessage("[" + string(s.sample(t.Elem(), strings.TrimSuffix(name, "s"), itemRules(tag))) + "]")
	case reflect.Map:
		return json.RawMessage(`{}`)
	case reflect.Bool:
		return json.RawMessage(strconv.FormatBool(name != "totalIsEstimate" && name != "remote"))
	case reflect.String:
		if values := s.Values[t]; len(values) > 0 {
			return quoted(values[0])
		}

		return quoted(s.text(name, tag))
	case reflect.Interface:
		return json.RawMessage("null")
	}

	return json.RawMessage(cmp.Or(samples()["number."+name], "1"))
}

// itemRules returns the rules of the items of a list.
func itemRules(tag reflect.StructTag) reflect.StructTag {
	_, items, _ := strings.Cut(tag.Get("validate"), "dive")
	return reflect.StructTag(`validate:` + strconv.Quote(strings.TrimPrefix(items, ",")))
}

// text returns the example of a text: a fixed value, an id, or a value of sampleText.
func (s sampler) text(name string, tag reflect.StructTag) string {
	if text, ok := s.texts[name]; ok {
		return text
	}

	if resource, ok := identifiedResource(name, s.resource); ok && samples()[name] == "" {
		return sampleID(resource)
	}

	return sampleText(name, tag)
}

// sampleText returns the example for a name: one of its permitted values, that of samples.txt,
// or a timestamp for names such as createdAt.
func sampleText(name string, tag reflect.StructTag) string {
	text, known := samples()[name]

	of := strings.Split(tag.Get("enum"), ",")
	for rule := range strings.SplitSeq(tag.Get("validate"), ",") {
		if values, ok := strings.CutPrefix(rule, "oneof="); ok {
			of = strings.Fields(values)
		}
	}

	switch {
	case len(of) > 0 && of[0] != "" && (!known || !slices.Contains(of, text)):
		return strings.Trim(of[len(of)-1], "'")
	case known:
		return text
	case strings.Contains(strings.ToLower(name), "deadline"):
		return sampleDeadline
	case strings.HasSuffix(name, "At"), strings.HasSuffix(name, "Date"), strings.HasSuffix(name, "After"):
		return sampleTime
	}

	return name
}

// quoted returns the text as a JSON string in which HTML is not escaped.
func quoted(s string) json.RawMessage {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)

	if err := enc.Encode(s); err != nil {
		return json.RawMessage(`""`)
	}

	return bytes.TrimSpace(b.Bytes())
}

// object returns an example of a struct in the order of its fields, without those that
// responses may omit.
func (s sampler) object(t reflect.Type) json.RawMessage {
	var members []string
	var add func(t reflect.Type)
	add = func(t reflect.Type) {
		for i := range t.NumField() {
			f := t.Field(i)

			name, options, _ := strings.Cut(cmp.Or(f.Tag.Get("json"), f.Tag.Get("formData")), ",")
			switch {
			case f.Anonymous && name == "":
				add(f.Type)
			case name == "" || name == "-" || !f.IsExported() || strings.Contains(options, "omit"):
			default:
				members = append(members, string(quoted(name))+":"+string(s.sample(f.Type, name, f.Tag)))
			}
		}
	}

	add(t)

	return json.RawMessage("{" + strings.Join(members, ",") + "}")
}

// body returns an example of the body, nil if the operation has none.
func (s sampler) body(o Operation) json.RawMessage {
	p := planOf(o.In)
	switch {
	case len(p.byJSON) > 0, p.form:
		return s.object(o.In)
	case p.raw != nil:
		f := o.In.FieldByIndex(p.raw)
		return s.sample(f.Type, f.Name, f.Tag)
	}

	return nil
}

// addExamples adds examples to the description of the operation.
func (s sampler) addExamples(op *openapi31.Operation, route Route) {
	example := func(content map[string]openapi31.MediaType, media string, value json.RawMessage) {
		if m, ok := content[media]; ok && value != nil {
			m.WithExample(value)

			content[media] = m
		}
	}
	if op.RequestBody != nil && op.RequestBody.RequestBody != nil {
		for media := range op.RequestBody.RequestBody.Content {
			example(op.RequestBody.RequestBody.Content, media, s.body(route.Op))
		}
	}

	for i, p := range op.Parameters {
		if p.Parameter != nil && p.Parameter.In == openapi31.ParameterInPath {
			resource, _ := identifiedResource(p.Parameter.Name, pathResource(route.Path, p.Parameter.Name))
			op.Parameters[i].Parameter.WithExample(sampleID(resource))
			describePath(op.Parameters[i].Parameter, route.Path)
		}
	}

	if op.Responses == nil {
		return
	}

	for code, response := range op.Responses.MapOfResponseOrReferenceValues {
		if response.Response == nil {
			continue
		}

		status, _ := strconv.Atoi(code)
		switch {
		case status == route.status() && route.Op.Out == reflect.TypeFor[File]():
			for media := range response.Response.Content {
				example(response.Response.Content, media, quoted("(the bytes of the file)"))
			}
		case route.Op.Out.Implements(reflect.TypeFor[pending]()) && (status == route.status() || status == http.StatusAccepted):
			example(response.Response.Content, "application/json", pendingExample(s.sample(route.Op.responseType(), "", ""), status))
		case status == route.status():
			example(response.Response.Content, "application/json", s.sample(route.Op.responseType(), "", ""))
			example(response.Response.Content, "text/csv", quoted("id,title\r\n"+sampleID("listing")+",\"Registered Nurse, ICU\"\r\n"))
		default:
			_, body := s.Fault(s.fault(route, status))
			if placed, ok := body.(ErrorBody); ok {
				body = placed.ForRequest(pathParam.ReplaceAllStringFunc(route.Path, func(param string) string {
					resource, _ := identifiedResource(param[1:], pathResource(route.Path, param[1:]))
					return sampleID(resource)
				}), sampleID("request"))
			}

			if encoded, err := json.Marshal(body); err == nil {
				for media := range response.Response.Content {
					example(response.Response.Content, media, encoded)
				}
			}
		}
	}
}

// fault returns an example fault of the operation with the status.
func (s sampler) fault(r Route, status int) *fault.Error {
	if s.Example != nil {
		if f := s.Example(r, status); f != nil {
			return f
		}
	}

	if status == http.StatusBadRequest {
		return badRequest(r.Op)
	}

	for _, f := range []*fault.Error{
		fault.ErrUnauthorized,
		fault.ErrForbidden,
		fault.ErrRateLimit,
		fault.ErrUnavailable,
		ErrTooLarge,
		idempotency.ErrReused,
		idempotency.ErrInProgress,
	} {
		if StatusOf(f) == status {
			return f
		}
	}

	if status == http.StatusNotFound {
		return ErrNoRoute
	}

	return fault.New(fault.Internal, "internal", "Internal server error")
}

// badRequest returns the fault of a request with an invalid limit and an empty body.
func badRequest(o Operation) *fault.Error {
	none := func(string) string { return "" }
	_, err := o.bind(&Request{
		Path:   none,
		Header: none,
		Cookie: none,
		Body:   []byte("{}"),
		Query: func(name string) []string {
			if name == "limit" {
				return []string{"many"}
			}

			return nil
		},
	})

	var f *fault.Error
	if !errors.As(err, &f) || StatusOf(f) != http.StatusBadRequest {
		return ErrMalformed
	}

	return f
}
