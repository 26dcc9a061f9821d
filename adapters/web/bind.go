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

// plan describes how requests are bound to a struct type. It is computed once per type.
type plan struct {
	typ    reflect.Type
	fields []field // in documented order
	byJSON map[string]int
	form   bool   // the body is a form and not JSON
	file   *field // tag file:"NAME": the file of a multipart form, which may replace the JSON body
	raw    []int  // index of the field with the raw body, tag body:"raw"
	header []int  // index of the field that reads any header, tag headers:"all"
	paging []int
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

// add adds the fields of a struct type, whose index in the outer type is prefix. Fields of
// embedded structs count as their own.
func (p *plan) add(t reflect.Type, prefix []int) {
	for i := range t.NumField() {
		f := t.Field(i)

		index := append(slices.Clone(prefix), i)
		if f.Anonymous && f.Type.Kind() == reflect.Struct {
			if f.Type == reflect.TypeFor[Paging]() {
				p.paging = index
			}

			p.add(f.Type, index)
			continue
		}

		if f.Tag.Get("body") == "raw" {
			p.raw = index
			continue
		}

		if name := f.Tag.Get("file"); name != "" {
			p.file = &field{name: name, index: index}
			continue
		}

		if f.Tag.Get("headers") == "all" {
			p.header = index
			continue
		}

		// A field has one source: the first of these tags that it has.
		for _, source := range []string{"path", "query", "header", "cookie", "formData", "json"} {
			name, _, _ := strings.Cut(f.Tag.Get(source), ",")
			if name == "" || name == "-" {
				continue
			}

			clamp, _ := strconv.Atoi(f.Tag.Get("clamp"))

			if source == "json" {
				p.byJSON[name] = len(p.fields)
			}

			p.form = p.form || source == "formData"
			p.fields = append(
				p.fields,
				field{name: name, source: source, index: index, typ: f.Type, initial: f.Tag.Get("default"), clamp: clamp},
			)
			break
		}
	}
}

// problems collects the invalid fields of a request.
type problems struct {
	fields         []fault.Field
	positionByPath map[string]int  // path → position in the body
	unreadable     map[string]bool // the paths that have a problem already
}

// These limits bound the work for an invalid body of 1 MiB. Lists with more than maxItems are
// rejected without reading their items.
const (
	maxProblems = 1_000
	maxItems    = 10_000
)

// add adds the first problem of the field with the path.
func (p *problems) add(path, message string) {
	if !p.unreadable[path] && len(p.fields) < maxProblems {
		p.unreadable[path] = true
		p.fields = append(p.fields, fault.Field{Name: path, Message: message})
	}
}

// addViolations validates the input and adds the violations of its rules. It skips fields
// inside a value of the wrong type: if salary is not an object, "salary.min is required" is
// not reported.
func (p *problems) addViolations(v reflect.Value) {
	for _, f := range valid.Problems(v.Addr().Interface()) {
		if !p.hasWrongParent(f.Name) {
			p.add(f.Name, f.Message)
		}
	}
}

// hasWrongParent reports whether an object that contains the path has a problem.
func (p *problems) hasWrongParent(path string) bool {
	for i := strings.LastIndexByte(path, '.'); i > 0; i = strings.LastIndexByte(path[:i], '.') {
		if p.unreadable[path[:i]] {
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
	return &problems{positionByPath: map[string]int{}, unreadable: map[string]bool{}}
}

// bind sets the fields of v, which has the type of the plan, from the request, and validates
// them.
func (p *plan) bind(r *Request, v reflect.Value) error {
	bad := newProblems()

	var form url.Values
	if p.form {
		var err error
		if form, err = readForm(r.Header("Content-Type"), r.Body); err != nil {
			return err
		}
	}

	for _, f := range p.fields {
		switch f.source {
		case "cookie":
			v.FieldByIndex(f.index).SetString(r.Cookie(f.name))
		case "formData":
			bindQuery(f, form[f.name], v.FieldByIndex(f.index), bad)
		case "path":
			value := r.Path(f.name)
			if !utf8.ValidString(value) || strings.ContainsRune(value, 0) {
				return ErrNoRoute
			}

			v.FieldByIndex(f.index).SetString(value)
		case "header":
			v.FieldByIndex(f.index).SetString(r.Header(f.name))
		case "query":
			bindQuery(f, r.Query(f.name), v.FieldByIndex(f.index), bad)
		}
	}

	// The body is parsed even if no field reads it, so that every operation rejects malformed
	// JSON.
	var body document
	switch {
	// The body is a form, which was read above.
	case p.form:
	case p.file != nil && isMultipart(r.Header("Content-Type")):
		if err := p.bindMultipart(r, v, bad); err != nil {
			return err
		}
	default:
		var err error
		if body, err = parseJSON(r.Body); err != nil {
			return err
		}
	}

	if p.raw != nil {
		v.FieldByIndex(p.raw).SetBytes(slices.Clone(r.Body))
	}

	if p.header != nil {
		v.FieldByIndex(p.header).Set(reflect.ValueOf(r.Header))
	}

	if len(p.byJSON) > 0 && body != nil && !p.decode(body, 0, v, "", bad) {
		return fault.InvalidField("body", "must be a JSON object")
	}

	bad.addViolations(v)

	if p.paging != nil {
		for _, f := range v.FieldByIndex(p.paging).Interface().(Paging).check() {
			bad.add(f.Name, f.Message)
		}
	}

	return bad.fault()
}

// bindMultipart binds a form with a file in place of a JSON body.
func (p *plan) bindMultipart(r *Request, v reflect.Value, bad *problems) error {
	form, err := ParseForm(r.Header("Content-Type"), r.Body)
	if err != nil {
		return err
	}

	for _, f := range p.fields {
		if f.source == "json" {
			bindQuery(f, form.Values[f.name], v.FieldByIndex(f.index), bad)
		}
	}

	for name, file := range form.Files {
		if name != p.file.name {
			return fault.InvalidField(clip(name), "must be text and not a file")
		}

		if !utf8.ValidString(file.Name) || strings.ContainsRune(file.Name, 0) {
			return fault.InvalidField(name, "must have a name in valid UTF-8 without NUL")
		}

		v.FieldByIndex(p.file.index).Set(reflect.ValueOf(&file))
	}

	return nil
}

// Item parses and validates an item of a batch in the same way as a body.
func Item[T any](raw json.RawMessage) (T, error) {
	var item T
	v := reflect.ValueOf(&item).Elem()
	bad := newProblems()

	d, err := parseJSON(raw)
	if err != nil {
		return item, err
	}

	if len(d) == 0 || !planOf(v.Type()).decode(d, 0, v, "", bad) {
		return item, fault.InvalidField("item", "must be a JSON object")
	}

	bad.addViolations(v)

	return item, bad.fault()
}

// bindQuery sets a field from the values of a query parameter or of a form field.
func bindQuery(f field, values []string, v reflect.Value, bad *problems) {
	if len(values) > 0 {
		bad.positionByPath[f.name] = len(bad.positionByPath)
	}

	if v.Kind() == reflect.Slice {
		for _, s := range values {
			for _, part := range strings.Split(s, ",") {
				part = strings.TrimSpace(part)
				if part != "" {
					v.Set(reflect.Append(v, reflect.ValueOf(part)))
				}
			}
		}

		return
	}

	if len(values) > 1 {
		bad.add(f.name, "must be sent only once")
		return
	}

	text := f.initial
	if len(values) == 1 {
		text = values[0]
		if !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
			bad.add(f.name, "must be valid UTF-8 without NUL")
			return
		}
	} else if text == "" {
		return
	}

	if v.Kind() == reflect.Pointer {
		if text == "" && v.Type().Elem().Kind() != reflect.String {
			return // ?salary_min= is an empty form field, not a number
		}

		v.Set(reflect.New(v.Type().Elem()))

		v = v.Elem()
	}

	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
	case reflect.Bool:
		b, err := strconv.ParseBool(text)
		if err != nil {
			bad.add(f.name, "must be true or false")
			return
		}

		v.SetBool(b)
	case reflect.Int, reflect.Int64:
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			bad.add(f.name, "must be a whole number")
			return
		}

		if f.clamp > 0 {
			n = min(n, int64(f.clamp))
		}

		v.SetInt(n)
	case reflect.Float64:
		x, err := strconv.ParseFloat(text, 64)
		if err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
			bad.add(f.name, "must be a number")
			return
		}

		v.SetFloat(x)
	default:
		panic("web: no query binding for " + v.Type().String())
	}
}
