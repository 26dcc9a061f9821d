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

// sampleID returns an id for a kind of resource, such as "listing". It is the same in all examples
// and differs from the ids of other kinds.
func sampleID(resource string) string {
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(strings.ToLower(resource)))
	return fmt.Sprintf("01935d3c-9c1e-7c1a-8f6e-2b7a%08x", hash.Sum32())
}

// identifiedResource returns the kind of resource that a member or parameter identifies: listing
// for listingId, and owner, the kind of resource that has the member, for id. It reports false for
// a name that is not that of an id.
func identifiedResource(name, owner string) (resource string, isID bool) {
	switch {
	case name == "id", name == "uuid":
		return owner, true
	case strings.HasSuffix(name, "Id"), strings.HasSuffix(name, "_id"):
		return strings.TrimSuffix(name[:len(name)-len("id")], "_"), true
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
	// resource is the kind of resource that has the members for which examples are generated.
	resource string
	// texts maps names of members to values that replace the generated ones.
	texts map[string]string
}

// pendingExample adapts the example of a Pending to the status: the member data.action is only in
// a response with status 202.
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

// sample returns an example of the type for a field with the name and the tag. Both are empty for a
// whole body.
func (s sampler) sample(t reflect.Type, name string, tag reflect.StructTag) json.RawMessage {
	if example := tag.Get("sample"); example != "" {
		if json.Valid([]byte(example)) {
			return json.RawMessage(example)
		}

		return quoted(example)
	}

	t = elementType(t)

	// Types with a JSON encoding of their own.
	switch {
	case t == reflect.TypeFor[time.Time]():
		return quoted(sampleText(name+"At", ""))
	case t == reflect.TypeFor[json.RawMessage]():
		return json.RawMessage(`{}`)
	}

	if union, ok := reflect.Zero(t).Interface().(interface{ JSONSchemaOneOf() []any }); ok {
		firstType := reflect.TypeOf(union.JSONSchemaOneOf()[0])
		return s.sample(firstType, name, tag)
	}

	switch t.Kind() {
	case reflect.Struct:
		isUnmarshaler := reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]())
		if isUnmarshaler || t.Implements(reflect.TypeFor[json.Marshaler]()) {
			return quoted(s.text(name, tag))
		}

		s.resource = strings.TrimSuffix(strings.TrimSuffix(t.Name(), "View"), "Input")

		return s.object(t)
	case reflect.Slice, reflect.Array:
		isBinary := t.Elem().Kind() == reflect.Uint8
		if isBinary {
			return quoted(s.text(name, tag))
		}

		item := s.sample(t.Elem(), strings.TrimSuffix(name, "s"), itemRules(tag))

		return json.RawMessage("[" + string(item) + "]")
	case reflect.Map:
		return json.RawMessage(`{}`)
	case reflect.Bool:
		isTrue := name != "totalIsEstimate" && name != "remote" // false is the usual value of these two
		return json.RawMessage(strconv.FormatBool(isTrue))
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

// itemRules returns the tag with the rules for the items of a list: those after "dive" in the tag
// of the list.
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
	text, hasSample := samples()[name]

	permitted := strings.Split(tag.Get("enum"), ",")
	for rule := range strings.SplitSeq(tag.Get("validate"), ",") {
		if values, ok := strings.CutPrefix(rule, "oneof="); ok {
			permitted = strings.Fields(values)
		}
	}

	isRestricted := len(permitted) > 0 && permitted[0] != ""
	isPermitted := hasSample && slices.Contains(permitted, text)

	switch {
	case isRestricted && !isPermitted:
		return strings.Trim(permitted[len(permitted)-1], "'")
	case hasSample:
		return text
	case strings.Contains(strings.ToLower(name), "deadline"):
		return sampleDeadline
	case strings.HasSuffix(name, "At"), strings.HasSuffix(name, "Date"), strings.HasSuffix(name, "After"):
		return sampleTime
	}

	return name
}

// quoted returns the text as a JSON string in which HTML is not escaped.
func quoted(text string) json.RawMessage {
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(false)

	if err := encoder.Encode(text); err != nil {
		return json.RawMessage(`""`)
	}

	return bytes.TrimSpace(buffer.Bytes())
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

// bodyContent describes the body of a request or response, by media type.
type bodyContent map[string]openapi31.MediaType

// setExample sets the example of a media type, if the content has the type.
func (c bodyContent) setExample(mediaType string, value json.RawMessage) {
	if described, ok := c[mediaType]; ok && value != nil {
		described.WithExample(value)

		c[mediaType] = described
	}
}

// setExamples sets the example of each media type.
func (c bodyContent) setExamples(value json.RawMessage) {
	for mediaType := range c {
		c.setExample(mediaType, value)
	}
}

// addExamples adds examples of the bodies and the path parameters to the description of the
// operation.
func (s sampler) addExamples(op *openapi31.Operation, route Route) {
	if op.RequestBody != nil && op.RequestBody.RequestBody != nil {
		bodyContent(op.RequestBody.RequestBody.Content).setExamples(s.body(route.Op))
	}

	for _, p := range op.Parameters {
		if p.Parameter != nil && p.Parameter.In == openapi31.ParameterInPath {
			p.Parameter.WithExample(sampleParameter(route.Path, p.Parameter.Name))
			describePath(p.Parameter, route.Path)
		}
	}

	if op.Responses == nil {
		return
	}

	for code, response := range op.Responses.MapOfResponseOrReferenceValues {
		if response.Response != nil {
			status, _ := strconv.Atoi(code)
			s.addResponseExample(response.Response.Content, route, status)
		}
	}
}

// addResponseExample adds the examples of the response with the status.
func (s sampler) addResponseExample(c bodyContent, route Route, status int) {
	isSuccess := status == route.status()

	switch {
	case isSuccess && route.Op.Out == reflect.TypeFor[File]():
		c.setExamples(quoted("(the bytes of the file)"))
	case (isSuccess || status == http.StatusAccepted) && route.Op.Out.Implements(reflect.TypeFor[pending]()):
		c.setExample("application/json", pendingExample(s.sample(route.Op.responseType(), "", ""), status))
	case isSuccess:
		c.setExample("application/json", s.sample(route.Op.responseType(), "", ""))
		c.setExample("text/csv", quoted("id,title\r\n"+sampleID("listing")+",\"Registered Nurse, ICU\"\r\n"))
	default:
		encoded, err := json.Marshal(s.faultBody(route, status))
		if err == nil {
			c.setExamples(encoded)
		}
	}
}

// faultBody returns an example of the body of a failure with the status.
func (s sampler) faultBody(route Route, status int) any {
	_, body := s.Fault(s.fault(route, status))

	errorBody, ok := body.(ErrorBody)
	if !ok {
		return body
	}

	path := pathParam.ReplaceAllStringFunc(route.Path, func(parameter string) string {
		return sampleParameter(route.Path, strings.TrimPrefix(parameter, ":"))
	})

	return errorBody.ForRequest(path, sampleID("request"))
}

// sampleParameter returns an example of the path parameter with the name.
func sampleParameter(path, name string) string {
	resource, _ := identifiedResource(name, pathResource(path, name))
	return sampleID(resource)
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
	noText := func(string) string { return "" }
	invalidLimit := func(name string) []string {
		if name == "limit" {
			return []string{"many"}
		}

		return nil
	}

	err := o.Check(&Request{Path: noText, Query: invalidLimit, Header: noText, Cookie: noText, Body: []byte("{}")})

	var f *fault.Error
	if !errors.As(err, &f) || StatusOf(f) != http.StatusBadRequest {
		return ErrMalformed
	}

	return f
}
