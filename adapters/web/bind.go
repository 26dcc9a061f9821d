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

// Request is the input of binding. Its values are copies, since the server reuses
// its buffers.
type Request struct {
	Path   func(name string) string
	Query  func(name string) []string
	Header func(name string) string
	Cookie func(name string) string
	// Body is empty for methods that define no meaning for it (RFC 9110 §9.3.1).
	Body []byte
}

// Paging is embedded in the inputs of lists: a page from 1, a size from 1 to 100
// (larger values are read as 100), or the cursor of an earlier response.
type Paging struct {
	Page   int    `query:"page" default:"1" validate:"min=1"`
	Limit  int    `query:"limit" default:"20" clamp:"100" validate:"min=1"`
	Cursor string `query:"cursor" validate:"max=512"`
}

// Request returns the requested page.
func (p Paging) Request() page.Request {
	return page.Request{Number: p.Page, Size: p.Limit, Cursor: p.Cursor}
}

// check returns an error for a page that is too deep. The tags check the other rules.
func (p Paging) check() []fault.Field {
	if p.Page < 1 || p.Limit < 1 {
		return nil
	}

	return ValidatePage(p.Request())
}

// ValidatePage returns an error for a page number beyond page.MaxExact items.
func ValidatePage(r page.Request) []fault.Field {
	if !r.TooDeep() {
		return nil
	}

	return []fault.Field{
		{Name: "page", Message: fmt.Sprintf("reaches beyond %d items; follow nextCursor with the cursor parameter instead", page.MaxExact)},
	}
}

// plan describes how requests are bound to a struct type. It is computed once per type. The
// indexes of fields are those of reflect.Value.FieldByIndex, nil for none.
type plan struct {
	typ    reflect.Type
	fields []field        // in documented order
	byJSON map[string]int // positions in fields by the names of JSON members
	form   bool           // the body is a form and not JSON
	file   *field         // tag file:"NAME": the file of a multipart form, which may replace the JSON body
	raw    []int          // index of the field with the raw body, tag body:"raw"
	header []int          // index of the field that reads any header, tag headers:"all"
	paging []int          // index of the embedded Paging
}

// field is a field of an input with its place in the request.
type field struct {
	name    string // name in requests
	source  string // path, query, header, cookie, formData, json
	index   []int
	typ     reflect.Type
	initial string // default of a query parameter
	clamp   int    // maximum of a query parameter; larger values are reduced to it; zero for none
}

var plans sync.Map // cache of plans by reflect.Type

// planOf returns the plan of a struct type.
func planOf(t reflect.Type) *plan {
	if p, ok := plans.Load(t); ok {
		return p.(*plan)
	}

	p := &plan{typ: t, byJSON: map[string]int{}}
	p.add(t, nil)
	plans.Store(t, p)

	return p
}

// add adds the fields of a struct type to the plan. The type is that of the plan, with an empty
// prefix, or that of a struct that is embedded in it, whose index is the prefix.
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

// addField adds a field that has one value of the request. Its source is the first of the tags of
// sources that it has. A field without such a tag is not bound.
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

		clamp, _ := strconv.Atoi(f.Tag.Get("clamp"))
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

// problems collects the invalid fields of a request. The path of a field is its name, after those
// of the objects and the indexes of the lists that contain it: questions.0.text.
type problems struct {
	fields         []fault.Field
	positionByPath map[string]int  // the order of the fields in the request, from 0
	hasProblem     map[string]bool // by path
}

// These limits bound the work for an invalid body of 1 MiB. Lists with more than maxItems are
// rejected without reading their items.
const (
	maxProblems = 1_000
	maxItems    = 10_000
)

// add adds the first problem of the field with the path.
func (p *problems) add(path, message string) {
	if !p.hasProblem[path] && len(p.fields) < maxProblems {
		p.hasProblem[path] = true
		p.fields = append(p.fields, fault.Field{Name: path, Message: message})
	}
}

// addViolations validates the input and adds the violations of its rules. It skips fields
// inside a value of the wrong type: if salary is not an object, "salary.min is required" is
// not reported.
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
	for i := strings.LastIndexByte(path, '.'); i > 0; i = strings.LastIndexByte(path[:i], '.') {
		if p.hasProblem[path[:i]] {
			return true
		}
	}

	return false
}

// fault returns the problems as a fault. Fields that were sent come first, in the order of the
// body, and missing fields follow in the documented order.
func (p *problems) fault() error {
	if len(p.fields) == 0 {
		return nil
	}

	rank := func(f fault.Field) int {
		if n, ok := p.positionByPath[f.Name]; ok {
			return n
		}

		return math.MaxInt
	}

	slices.SortStableFunc(p.fields, func(a, b fault.Field) int { return cmp.Compare(rank(a), rank(b)) })

	return fault.ErrInvalid.WithFields(p.fields...)
}

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

// bindValues sets the fields that have one value of the path, the query, the headers, the cookies
// or a form.
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
				return ErrNoRoute
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

// bindBody sets the fields that have a member of the JSON body, or of a form with a file in its
// place, and the field that has the raw body. The body is parsed even if no field reads it, so that
// every operation rejects malformed JSON.
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

	if len(p.byJSON) > 0 && body != nil && !p.decode(body, rootNode, input, "", found) {
		return fault.InvalidField("body", "must be a JSON object")
	}

	return nil
}

// isText reports whether the database can store a value: it is UTF-8 without NUL.
func isText(value string) bool { return utf8.ValidString(value) && !strings.ContainsRune(value, 0) }

// bindMultipart binds a form with a file in place of a JSON body: the fields of the form have the
// names of the JSON members.
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

// Item parses and validates an item of a batch in the same way as a body.
func Item[T any](raw json.RawMessage) (T, error) {
	var item T
	target := reflect.ValueOf(&item).Elem()
	found := newProblems()

	body, err := parseJSON(raw)
	if err != nil {
		return item, err
	}

	if body == nil || !planOf(target.Type()).decode(body, rootNode, target, "", found) {
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
			return // ?salary_min= is an empty form field, not a number
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

// setText sets the target to the value that the text stands for, of a whole number at most clamp
// unless that is zero. It returns the problem of a text that stands for no value of the type.
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
