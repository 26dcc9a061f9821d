package web

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/core/valid"
)

// Binding sets the fields of a Go struct, the input of an operation, from the values of a request. The
// tags of a field say which value it has, for example query:"page" or json:"title".

// Request has the values of a request, which binding reads. The functions return copies, because the
// server reuses its buffers.
type Request struct {
	Path   func(name string) string // a parameter of the path
	Query  func(name string) []string
	Header func(name string) string
	Cookie func(name string) string
	// Body is empty for methods for which HTTP defines no body, such as GET (RFC 9110 §9.3.1).
	Body []byte
}

// Paging is embedded in the inputs of lists. It selects a page by its number or, in long lists, by a
// cursor.
type Paging struct {
	Page   int    `query:"page" default:"1" validate:"min=1"`               // the first page is 1
	Limit  int    `query:"limit" default:"20" clamp:"100" validate:"min=1"` // the number of items on a page
	Cursor string `query:"cursor" validate:"max=512"`                       // from the response of the previous page
}

// Request returns the requested page.
func (p Paging) Request() page.Request {
	return page.Request{Number: p.Page, Size: p.Limit, Cursor: p.Cursor}
}

// check returns a problem if the page is too far behind the first one. Page numbers and limits below 1
// have a problem already, from the rules in the tags.
func (p Paging) check() []fault.Field {
	if p.Page < 1 || p.Limit < 1 {
		return nil
	}

	return ValidatePage(p.Request())
}

// ValidatePage returns a problem if the page, given by its number, reaches beyond page.MaxExact items.
// The result is empty for a valid page.
func ValidatePage(r page.Request) []fault.Field {
	if !r.IsTooDeep() {
		return nil
	}

	return []fault.Field{
		{Name: "page", Message: fmt.Sprintf("reaches beyond %d items; follow nextCursor with the cursor parameter instead", page.MaxExact)},
	}
}

// plan describes how requests are bound to a struct type. It is computed once per type. An index of a
// field is the argument of reflect.Value.FieldByIndex. It is nil for a field that does not exist.
type plan struct {
	typ    reflect.Type
	fields []field        // in the order of the struct
	byJSON map[string]int // positions in fields by the names of JSON members
	form   bool           // the body is a form and not JSON
	file   *field         // tag file:"NAME": the file of a multipart form, which may replace the JSON body
	raw    []int          // index of the field with the raw body, tag body:"raw"
	header []int          // index of the field that reads any header, tag headers:"all"
	paging []int          // index of the embedded Paging
}

// field is a field of an input, with the value of the request that it gets.
type field struct {
	name    string // name of the value in requests
	source  string // kind of the value: path, query, header, cookie, formData or json
	index   []int
	typ     reflect.Type
	initial string // default of a query parameter, empty for none
	clamp   int    // maximum of a query parameter; larger values are reduced to it; zero for none
}

var plans sync.Map // cache of plans by reflect.Type

// planOf returns the plan of a struct type, from the cache if possible.
func planOf(t reflect.Type) *plan {
	if p, ok := plans.Load(t); ok {
		return p.(*plan)
	}

	p := &plan{typ: t, byJSON: map[string]int{}}
	p.add(t, nil)
	plans.Store(t, p)

	return p
}

// add adds the fields of struct type t to the plan. For the type of the plan itself, prefix is nil. For a
// struct that is embedded in it, prefix is the index of that struct. The indexes of the fields of the
// embedded struct begin with this prefix.
func (p *plan) add(t reflect.Type, prefix []int) {
	for i := range t.NumField() {
		f := t.Field(i)
		index := append(slices.Clone(prefix), i)
		fileName := f.Tag.Get("file")

		switch {
		case f.Anonymous && f.Type.Kind() == reflect.Struct:
			if f.Type == reflect.TypeFor[Paging]() {
				p.paging = index
			}

			p.add(f.Type, index)
		case f.Tag.Get("body") == "raw":
			p.raw = index
		case fileName != "":
			p.file = &field{name: fileName, index: index}
		case f.Tag.Get("headers") == "all":
			p.header = index
		default:
			p.addField(f, index)
		}
	}
}

// addField adds a field that gets one value of the request. A tag of the field, such as query:"page", has
// the source and the name of the value. A field without such a tag is not bound.
func (p *plan) addField(f reflect.StructField, index []int) {
	for _, source := range []string{"path", "query", "header", "cookie", "formData", "json"} {
		name, _, _ := strings.Cut(f.Tag.Get(source), ",")
		if name == "" || name == "-" {
			continue
		}

		switch source {
		case "json":
			p.byJSON[name] = len(p.fields)
		case "formData":
			p.form = true
		}

		clamp, _ := strconv.Atoi(f.Tag.Get("clamp")) // zero without the tag
		p.fields = append(p.fields, field{
			name:    name,
			source:  source,
			index:   index,
			typ:     f.Type,
			initial: f.Tag.Get("default"),
			clamp:   clamp,
		})

		return
	}
}

// problems collects the invalid fields of a request with a message for each. A field is given by its
// path. The path consists of the names and indexes that lead to the field, such as questions.0.text.
type problems struct {
	fields         []fault.Field
	positionByPath map[string]int  // order in which the fields were sent, from 0
	hasProblem     map[string]bool // by path
}

// These limits bound the work for an invalid body of 1 MiB.
const (
	// maxProblems is the number of problems that are reported. Further problems are omitted.
	maxProblems = 1_000
	// maxItems is the maximum number of items of a list. A longer list is rejected without reading
	// its items.
	maxItems = 10_000
)

// add adds a problem of the field with the path. A second problem of the same field is ignored.
func (p *problems) add(path, message string) {
	if !p.hasProblem[path] && len(p.fields) < maxProblems {
		p.hasProblem[path] = true
		p.fields = append(p.fields, fault.Field{Name: path, Message: message})
	}
}

// addViolations checks the input against the rules in its tags and adds the violations. It skips
// fields inside a value that has a problem itself: if salary is not an object, "salary.min is required"
// is not reported.
func (p *problems) addViolations(input reflect.Value) {
	for _, f := range valid.Problems(input.Addr().Interface()) {
		if !p.hasWrongParent(f.Name) {
			p.add(f.Name, f.Message)
		}
	}
}

// hasWrongParent reports whether an object or a list that contains the field with the path has a
// problem.
func (p *problems) hasWrongParent(path string) bool {
	for dot := strings.LastIndexByte(path, '.'); dot > 0; dot = strings.LastIndexByte(path[:dot], '.') {
		parent := path[:dot]
		if p.hasProblem[parent] {
			return true
		}
	}

	return false
}

// fault returns the problems as an error, or nil if there are none. Fields that were sent come first,
// in the order in which they were sent. Missing fields follow in the order of the struct.
func (p *problems) fault() error {
	if len(p.fields) == 0 {
		return nil
	}

	rank := func(f fault.Field) int {
		if position, isSent := p.positionByPath[f.Name]; isSent {
			return position
		}

		return math.MaxInt
	}

	slices.SortStableFunc(p.fields, func(a, b fault.Field) int { return cmp.Compare(rank(a), rank(b)) })

	return fault.ErrInvalid.WithFields(p.fields...)
}

// newProblems returns an empty collection.
func newProblems() *problems {
	return &problems{positionByPath: map[string]int{}, hasProblem: map[string]bool{}}
}

// bind sets the fields of input, which has the type of the plan, from the request, and validates
// them.
func (p *plan) bind(r *Request, input reflect.Value) error {
	found := newProblems()

	if err := p.bindValues(r, input, found); err != nil {
		return err
	}

	if err := p.bindBody(r, input, found); err != nil {
		return err
	}

	if p.header != nil {
		input.FieldByIndex(p.header).Set(reflect.ValueOf(r.Header))
	}

	found.addViolations(input)

	if p.paging != nil {
		for _, f := range input.FieldByIndex(p.paging).Interface().(Paging).check() {
			found.add(f.Name, f.Message)
		}
	}

	return found.fault()
}

// bindValues sets the fields whose value is in the path, the query, the headers, the cookies or a form.
func (p *plan) bindValues(r *Request, input reflect.Value, found *problems) error {
	var form url.Values
	if p.form {
		var err error
		if form, err = readForm(r.Header("Content-Type"), r.Body); err != nil {
			return err
		}
	}

	for _, f := range p.fields {
		target := input.FieldByIndex(f.index)

		switch f.source {
		case "cookie":
			target.SetString(r.Cookie(f.name))
		case "formData":
			bindTexts(f, form[f.name], target, found)
		case "path":
			value := r.Path(f.name)
			if !isText(value) {
				return ErrNoRoute // nothing with such an id is stored
			}

			target.SetString(value)
		case "header":
			target.SetString(r.Header(f.name))
		case "query":
			bindTexts(f, r.Query(f.name), target, found)
		}
	}

	return nil
}

// bindBody sets the fields whose value is a member of the JSON body. If a multipart form was sent in place
// of JSON, it sets them from the fields of the form. It also sets the field for the raw body. The body is
// parsed even if no field reads it, so that every operation rejects malformed JSON.
func (p *plan) bindBody(r *Request, input reflect.Value, found *problems) error {
	if p.raw != nil {
		input.FieldByIndex(p.raw).SetBytes(slices.Clone(r.Body))
	}

	switch {
	case p.form: // read by bindValues
		return nil
	case p.file != nil && isMultipart(r.Header("Content-Type")):
		return p.bindMultipart(r, input, found)
	}

	body, err := parseJSON(r.Body)
	if err != nil {
		return err
	}

	readsMembers := len(p.byJSON) > 0
	if readsMembers && body != nil && !p.decode(body, rootNode, input, noPrefix, found) {
		return fault.InvalidField("body", "must be a JSON object")
	}

	return nil
}

// noPrefix is the prefix of the paths of fields in the body itself.
const noPrefix = ""

// isText reports whether the database can store a value: it is UTF-8 without NUL.
func isText(value string) bool { return utf8.ValidString(value) && !strings.ContainsRune(value, 0) }

// bindMultipart sets fields from a multipart form that was sent in place of a JSON body. The fields of the
// form have the names of the JSON members, and one field may have the file of the plan.
func (p *plan) bindMultipart(r *Request, input reflect.Value, found *problems) error {
	form, err := ParseForm(r.Header("Content-Type"), r.Body)
	if err != nil {
		return err
	}

	for _, f := range p.fields {
		if f.source == "json" {
			bindTexts(f, form.Values[f.name], input.FieldByIndex(f.index), found)
		}
	}

	for name, file := range form.Files {
		if name != p.file.name {
			return fault.InvalidField(clip(name), "must be text and not a file")
		}

		if !isText(file.Name) {
			return fault.InvalidField(name, "must have a name in valid UTF-8 without NUL")
		}

		input.FieldByIndex(p.file.index).Set(reflect.ValueOf(&file))
	}

	return nil
}

// Item parses and validates an item of a batch. A batch is an array in a body whose items an operation
// handles one by one. An item is subject to the same rules as a body.
func Item[T any](raw json.RawMessage) (T, error) {
	var item T
	target := reflect.ValueOf(&item).Elem()
	found := newProblems()

	body, err := parseJSON(raw)
	if err != nil {
		return item, err
	}

	if body == nil || !planOf(target.Type()).decode(body, rootNode, target, noPrefix, found) {
		return item, fault.InvalidField("item", "must be a JSON object")
	}

	found.addViolations(target)

	return item, found.fault()
}

// bindTexts sets the target, which is the field of an input, from the values of a query parameter
// or of a form field. The values of a list may be separated by commas or repeated.
func bindTexts(f field, values []string, target reflect.Value, found *problems) {
	if len(values) > 0 {
		found.positionByPath[f.name] = len(found.positionByPath)
	}

	if target.Kind() == reflect.Slice {
		appendItems(target, values)
		return
	}

	if len(values) > 1 {
		found.add(f.name, "must be sent only once")
		return
	}

	isSent := len(values) == 1

	text := f.initial
	if isSent {
		text = values[0]
	}

	if !isSent && text == "" {
		return
	}

	if !isText(text) {
		found.add(f.name, "must be valid UTF-8 without NUL")
		return
	}

	if target.Kind() == reflect.Pointer {
		if text == "" && target.Type().Elem().Kind() != reflect.String {
			return // a browser sends ?salary_min= for an empty field of a form
		}

		target.Set(reflect.New(target.Type().Elem()))

		target = target.Elem()
	}

	if problem := setText(target, text, f.clamp); problem != "" {
		found.add(f.name, problem)
	}
}

// appendItems appends the items of the values, which are separated by commas, to a list of texts.
func appendItems(list reflect.Value, values []string) {
	for _, value := range values {
		for item := range strings.SplitSeq(value, ",") {
			item = strings.TrimSpace(item)
			if item != "" {
				list.Set(reflect.Append(list, reflect.ValueOf(item)))
			}
		}
	}
}

// setText sets the target to the value that the text stands for. A whole number above clamp is reduced to
// clamp, unless that is zero. problem is not empty if the text stands for no value of the target's type.
func setText(target reflect.Value, text string, clamp int) (problem string) {
	switch target.Kind() {
	case reflect.String:
		target.SetString(text)
	case reflect.Bool:
		b, err := strconv.ParseBool(text)
		if err != nil {
			return "must be true or false"
		}

		target.SetBool(b)
	case reflect.Int, reflect.Int64:
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return "must be a whole number"
		}

		if clamp > 0 {
			n = min(n, int64(clamp))
		}

		target.SetInt(n)
	case reflect.Float64:
		x, err := strconv.ParseFloat(text, 64)
		if err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
			return "must be a number"
		}

		target.SetFloat(x)
	default:
		panic("web: no query binding for " + target.Type().String())
	}

	return ""
}
