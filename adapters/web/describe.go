package web

import (
	"cmp"
	_ "embed"
	"fmt"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"sync"

	jsonschema "github.com/swaggest/jsonschema-go"
	"github.com/swaggest/openapi-go/openapi31"

	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/modules/hiring"
	"github.com/locumhq/locum/modules/listings"
)

// describeField sets the description of a parameter or of a member of a body in the OpenAPI document. It
// is the text of the tag description:"…" or of descriptions.txt. It is followed by the range and the
// default, which are in other tags of the field.
func describeField(p jsonschema.InterceptPropParams) error {
	// The library calls this function before and after it has described the field.
	if !p.Processed || p.PropertySchema == nil {
		return nil
	}

	text := cmp.Or(p.Field.Tag.Get("description"), description(p))
	if text == "" {
		return nil
	}

	// The range of a number follows the first sentence; the other facts are sentences of their own.
	first, rest, _ := strings.Cut(text, ". ")

	var sentences []string
	for _, sentence := range []string{
		strings.TrimSuffix(first, ".") + numberRange(p.PropertySchema, p.Field.Tag),
		rest,
		sizeRange(p.PropertySchema),
		defaultValue(p.PropertySchema),
	} {
		if sentence != "" {
			sentences = append(sentences, strings.TrimSuffix(sentence, ".")+".")
		}
	}

	p.PropertySchema.WithDescription(strings.Join(sentences, " "))

	return nil
}

// description returns the text of descriptions.txt for a field. The table has texts for OWNER.NAME, such
// as Listing.title, and for NAME alone, which are used for fields without a text of their own. A name in
// snake case has the text of the same name in camel case.
func description(p jsonschema.InterceptPropParams) string {
	name := camelCase(p.Name)
	for _, owner := range owners(p) {
		if text := descriptions()[owner+"."+name]; text != "" {
			return text
		}
	}

	return descriptions()[name]
}

// owners returns the names of owners under which descriptions.txt can have the field, in the order in
// which they are looked up:
//
//   - the struct type that has the field;
//   - the embedded type that declares the field, if the struct type embeds it;
//   - the member that contains the struct, if the struct type has no name;
//   - "query", for query parameters.
func owners(p jsonschema.InterceptPropParams) []string {
	owner := elementType(p.ParentSchema.ReflectType)
	names := []string{owner.Name()}

	field, exists := owner.FieldByName(p.Field.Name)
	if isEmbedded := exists && len(field.Index) > 1; isEmbedded {
		embedded := owner.FieldByIndex(field.Index[:len(field.Index)-1])
		names = append(names, embedded.Type.Name())
	}

	if owner.Name() == "" {
		containingMember := p.Path[len(p.Path)-1]
		names = append(names, containingMember)
	}

	if p.Field.Tag.Get("query") != "" {
		names = append(names, "query")
	}

	for i, name := range names {
		names[i], _, _ = strings.Cut(name, "[") // without type parameters
	}

	return names
}

// describePath describes a path parameter with the entry of descriptions.txt for the segment
// before it: jobs/id for /jobs/:id.
func describePath(p *openapi31.Parameter, path string) {
	before, _, _ := strings.Cut(path, "/:"+p.Name)
	segment := before[strings.LastIndexByte(before, '/')+1:]

	if text := descriptions()[segment+"/"+p.Name]; text != "" {
		p.WithDescription(text + ".")
	}
}

// camelCase turns job_id into jobId.
func camelCase(name string) string {
	head, rest, _ := strings.Cut(name, "_")
	for part := range strings.SplitSeq(rest, "_") {
		if part != "" {
			head += strings.ToUpper(part[:1]) + part[1:]
		}
	}

	return head
}

// numberRange returns the range of a number as the end of a sentence, for example ", 1 to 500". It is
// empty for a number without a minimum.
func numberRange(s *jsonschema.Schema, tag reflect.StructTag) string {
	clamp, _ := strconv.ParseFloat(tag.Get("clamp"), 64)
	switch {
	case clamp > 0 && s.Minimum != nil:
		return fmt.Sprintf(", %s to %s (a larger number is read as %[2]s)", formatNumber(*s.Minimum), formatNumber(clamp))
	case s.ExclusiveMinimum != nil && s.Maximum != nil:
		return ", more than " + formatNumber(*s.ExclusiveMinimum) + " and at most " + formatNumber(*s.Maximum)
	case s.Minimum != nil && s.Maximum != nil:
		return ", " + formatNumber(*s.Minimum) + " to " + formatNumber(*s.Maximum)
	case s.Minimum != nil:
		return ", " + formatNumber(*s.Minimum) + " or more"
	}

	return ""
}

// sizeRange returns the range of the length of a text or a list, for example "At most 50 items". It is
// empty for other fields, and without a maximum.
func sizeRange(s *jsonschema.Schema) string {
	switch {
	case s.MinLength > 0 && s.MaxLength != nil:
		return fmt.Sprintf("%d to %s characters", s.MinLength, formatNumber(float64(*s.MaxLength)))
	case s.MaxLength != nil:
		return "At most " + formatNumber(float64(*s.MaxLength)) + " characters"
	case s.MaxItems != nil:
		return "At most " + formatNumber(float64(*s.MaxItems)) + " items"
	}

	return ""
}

// defaultValue returns a sentence about the default of a parameter, for example "Default 20". It is empty
// without a default.
func defaultValue(s *jsonschema.Schema) string {
	if s.Default == nil {
		return ""
	}

	return fmt.Sprintf("Default %v", *s.Default)
}

// formatNumber formats a number with commas between groups of three digits, such as 10,000.
func formatNumber(n float64) string {
	const groupSize = 3

	text := strconv.FormatFloat(n, 'f', -1, 64)

	whole, _, _ := strings.Cut(text, ".") // the fraction has no commas
	for i := len(whole) - groupSize; i > 0; i -= groupSize {
		text = text[:i] + "," + text[i:]
	}

	return text
}

//go:embed descriptions.txt
var descriptionLines string

// descriptions returns the texts of descriptions.txt by name. A placeholder in braces, such as
// {page.MaxExact}, is replaced by the value of the constant.
var descriptions = sync.OnceValue(func() map[string]string {
	lines := descriptionLines
	for placeholder, value := range map[string]string{
		"{page.MaxExact}":            formatNumber(page.MaxExact),
		"{hiring.MaxBatch}":          formatNumber(hiring.MaxBatch),
		"{listings.MaxBatch}":        formatNumber(listings.MaxBatch),
		"{listings.DefaultCurrency}": listings.DefaultCurrency,
		"{listings.DefaultPeriod}":   listings.DefaultPeriod,
		"{listings.DefaultRadius}":   formatNumber(listings.DefaultRadius),
	} {
		lines = strings.ReplaceAll(lines, placeholder, value)
	}

	return readTable(lines, ": ")
})

// readTable parses a table with a name, the separator and a text on each line. It returns the texts by
// name. Lines without the separator, and comments, which begin with #, are ignored.
func readTable(lines, separator string) map[string]string {
	textByName := map[string]string{}
	for line := range strings.Lines(lines) {
		name, text, hasSeparator := strings.Cut(strings.TrimSpace(line), separator)
		if hasSeparator && !strings.HasPrefix(line, "#") {
			textByName[name] = text
		}
	}

	return textByName
}

// Header describes a header of responses.
type Header struct {
	Name, Description, Example string
}

// The headers that responses of every API can have.
var (
	requestID = Header{
		Name:        "X-Request-Id",
		Description: "Id of the request in the server's log. Quote it when you report a problem.",
		Example:     sampleID("request"),
	}
	retryAfter = Header{
		Name:        "Retry-After",
		Description: "Number of seconds to wait before the next attempt (RFC 9110 §10.2.3).",
		Example:     "12",
	}
	entityTag = Header{
		Name:        "ETag",
		Description: "Version of the response (RFC 9110 §8.8.3). Send it as If-None-Match to get 304 without a body if nothing has changed.",
		Example:     `W/"C1yO5VfY1m2sT3pQ0rXbVA"`,
	}
)

// describeHeaders describes the headers of the responses, and the 304 response to a
// conditional request.
func describeHeaders(spec *openapi31.Spec, api API, route Route, op *openapi31.Operation) {
	hasETag := api.CachePolicy.CacheControl != "" && route.Method == http.MethodGet
	if hasETag {
		op.Responses.WithMapOfResponseOrReferenceValuesItem(strconv.Itoa(http.StatusNotModified), openapi31.ResponseOrReference{
			Response: &openapi31.Response{Description: "Nothing has changed since the ETag in If-None-Match."},
		})
	}

	for code, response := range op.Responses.MapOfResponseOrReferenceValues {
		headers := append([]Header{requestID}, api.Headers...)
		switch status, _ := strconv.Atoi(code); status {
		case http.StatusTooManyRequests, http.StatusServiceUnavailable:
			headers = append(headers, retryAfter)
		case http.StatusOK, http.StatusNotModified:
			if hasETag {
				headers = append(headers, entityTag)
			}
		}

		for _, header := range headers {
			describeHeader(spec, response.Response, header)
		}
	}
}

// describeHeader adds a header to the response. The description of the header is a component of the
// document, to which all responses with the header refer.
func describeHeader(spec *openapi31.Spec, response *openapi31.Response, header Header) {
	component := openapi31.Header{Schema: map[string]any{"type": "string"}}
	component.WithDescription(header.Description).WithExample(header.Example)
	spec.ComponentsEns().WithHeadersItem(header.Name, openapi31.HeaderOrReference{Header: &component})

	reference := &openapi31.Reference{Ref: "#/components/headers/" + header.Name}
	response.WithHeadersItem(header.Name, openapi31.HeaderOrReference{Reference: reference})
}
