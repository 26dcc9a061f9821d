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

// The examples of the OpenAPI document are generated from the types of inputs and results. The value of a
// field is in its tag sample:"…", as JSON or as a text. If a field has no such tag, its value follows
// from its name and its rules.

//go:embed samples.txt
var sampleLines string

// samples returns the values of samples.txt by name.
var samples = sync.OnceValue(func() map[string]string { return readTable(sampleLines, "=") })

// The timestamps in examples. sampleDeadline is later, because a deadline is in the future.
const (
	sampleTime     = "2026-11-20T09:30:00Z"
	sampleDeadline = "2026-12-18T17:00:00Z"
)

// sampleID returns an id for a kind of resource, such as "listing". The id of a kind is the same in all
// examples, and differs from the ids of other kinds.
func sampleID(resource string) string {
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(strings.ToLower(resource)))
	return fmt.Sprintf("01935d3c-9c1e-7c1a-8f6e-2b7a%08x", hash.Sum32())
}

// identifiedResource returns the kind of resource whose id a member or parameter has. For listingId it
// is listing. For id it is owner, the kind of resource that has the member. isID is false for the
// name of a member that has no id.
func identifiedResource(name, owner string) (resource string, isID bool) {
	switch {
	case name == "id", name == "uuid":
		return owner, true
	case strings.HasSuffix(name, "Id"), strings.HasSuffix(name, "_id"):
		return strings.TrimSuffix(name[:len(name)-len("id")], "_"), true
	}

	return "", false
}

// pathResource returns the kind of resource that a path parameter identifies: job for /jobs/:id. It is
// the segment before the parameter without a plural s.
func pathResource(path, name string) string {
	before, _, _ := strings.Cut(path, "/:"+name)
	return strings.TrimSuffix(before[strings.LastIndexByte(before, '/')+1:], "s")
}

// sampler generates the examples of an API. It is passed by value, so that each object can have its own
// resource.
type sampler struct {
	API
	// resource is the kind of resource that the current object represents, such as "listing".
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

	// A type with several possible schemas. The example is of the first one.
	if union, ok := reflect.Zero(t).Interface().(interface{ JSONSchemaOneOf() []any }); ok {
		firstType := reflect.TypeOf(union.JSONSchemaOneOf()[0])
		return s.sample(firstType, name, tag)
	}

	switch t.Kind() {
	case reflect.Struct:
		isUnmarshaler := reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]())
		isMarshaler := t.Implements(reflect.TypeFor[json.Marshaler]())

		if isUnmarshaler || isMarshaler {
			return quoted(s.text(name, tag)) // such a struct is not an object in JSON
		}

		// ListingView and ListingInput are about the resource Listing.
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
		// Examples show the usual value of a field. It is true for all booleans but two: most totals are
		// exact and not estimates, and most jobs are not remote.
		isTrue := name != "totalIsEstimate" && name != "remote"
		return json.RawMessage(strconv.FormatBool(isTrue))
	case reflect.String:
		if values := s.Values[t]; len(values) > 0 {
			return quoted(values[0])
		}

		return quoted(s.text(name, tag))
	case reflect.Interface:
		return json.RawMessage("null")
	}

	// The remaining types are numbers. In samples.txt, the names of their values begin with "number.",
	// because a number and a text may have the same field name. A field without such a value gets 1.
	return json.RawMessage(cmp.Or(samples()["number."+name], "1"))
}

// itemRules returns a tag with the rules for the items of a list. In the tag of the list, they follow the
// rule "dive".
func itemRules(tag reflect.StructTag) reflect.StructTag {
	_, items, _ := strings.Cut(tag.Get("validate"), "dive")
	return reflect.StructTag(`validate:` + strconv.Quote(strings.TrimPrefix(items, ",")))
}

// text returns the example of a text with the name: the value in texts, an id for the name of an id, or
// the value of sampleText.
func (s sampler) text(name string, tag reflect.StructTag) string {
	if text, ok := s.texts[name]; ok {
		return text
	}

	resource, isID := identifiedResource(name, s.resource)
	hasSample := samples()[name] != ""

	// A value in samples.txt takes precedence. Some names, such as question_id, end like the name
	// of an id but do not identify a resource.
	if isID && !hasSample {
		return sampleID(resource)
	}

	return sampleText(name, tag)
}

// sampleText returns the example of a text with the name. It is the value in samples.txt if the rules in
// the tag permit that value. Otherwise it is a permitted value, a timestamp for names such as createdAt,
// or the name itself.
func sampleText(name string, tag reflect.StructTag) string {
	text, hasSample := samples()[name]

	permitted := strings.Split(tag.Get("enum"), ",")
	for rule := range strings.SplitSeq(tag.Get("validate"), ",") {
		if values, ok := strings.CutPrefix(rule, "oneof="); ok {
			permitted = strings.Fields(values)
		}
	}

	// Without the tag enum, strings.Split returns one empty text, which restricts nothing.
	isRestricted := len(permitted) > 0 && permitted[0] != ""
	isPermitted := hasSample && slices.Contains(permitted, text)

	switch {
	case isRestricted && !isPermitted:
		lastPermitted := permitted[len(permitted)-1]
		return strings.Trim(lastPermitted, "'") // a value with spaces has quotes
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

// object returns an example of a struct as a JSON object. It has a member for each field, in the order of
// the fields, except for those that responses may omit.
func (s sampler) object(t reflect.Type) json.RawMessage {
	return json.RawMessage("{" + strings.Join(s.members(t), ",") + "}")
}

// members returns the members of the object for a struct, as JSON such as "title":"Nurse". The members of
// an embedded struct are members of the same object.
func (s sampler) members(t reflect.Type) []string {
	var members []string
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(cmp.Or(f.Tag.Get("json"), f.Tag.Get("formData")), ",")

		isEmbedded := f.Anonymous && name == ""
		if isEmbedded {
			members = append(members, s.members(f.Type)...)
			continue
		}

		isMember := name != "" && name != "-" && f.IsExported()
		mayBeOmitted := strings.Contains(options, "omit")

		if isMember && !mayBeOmitted {
			members = append(members, string(quoted(name))+":"+string(s.sample(f.Type, name, f.Tag)))
		}
	}

	return members
}

// body returns an example of the body of a request. It is nil if the operation reads no body.
//
// The plan of the input type has the sources of its values. byJSON has the fields that are members of a
// JSON body. form is true if the body is an HTML form. raw is the index of the field that gets the
// unparsed bytes of the body, or nil if there is no such field.
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

// bodyContent is the description of the body of a request or response, by media type.
type bodyContent map[string]openapi31.MediaType

// setExample sets the example of a media type. It does nothing if the body cannot have that media type.
func (c bodyContent) setExample(mediaType string, value json.RawMessage) {
	if described, ok := c[mediaType]; ok && value != nil {
		described.WithExample(value)

		c[mediaType] = described
	}
}

// setExamples sets the same example for all media types.
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

// addResponseExample adds an example to each media type of the response with the status.
func (s sampler) addResponseExample(c bodyContent, route Route, status int) {
	isSuccess := status == route.status()
	isFile := route.Op.Out == reflect.TypeFor[File]()
	mayBePending := route.Op.Out.Implements(reflect.TypeFor[pending]())

	switch {
	case isSuccess && isFile:
		c.setExamples(quoted("(the bytes of the file)"))
	case mayBePending && (isSuccess || status == http.StatusAccepted):
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

// fault returns an example of an error of the route with the status. It is the result of API.Example
// or, if there is none, a general fault with the status.
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

// badRequest returns an example of an error 400. It is the fault that the operation really has for a
// request with an invalid query parameter limit and an empty object as its body.
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
		return ErrMalformed // the operation accepts that request
	}

	return f
}
