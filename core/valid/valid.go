// Package valid checks inputs by the rules in the validate tags of their fields. Services
// check their inputs, transports report the same problems together with values of the
// wrong type, and the OpenAPI documents describe the rules.
//
// A tag is a list of rules with commas between them, which are applied up to the first
// one that is violated:
//
//	required    the value is present: not "", 0 or nil
//	omitempty   the rules that follow are for a value that is present, such as a pointer to ""
//	omitzero    the rules that follow are for a value other than a blank text or 0, or a pointer to it
//	notblank    the text has a visible character
//	min=N max=N at least or at most N: characters of a text, items of a list, or the number
//	gt=N        the number is more than N
//	whole       the number is a whole number
//	maxbytes=N  the text has at most N bytes in UTF-8
//	oneof=A B   the text is one of the values; '' is the empty text
//	line        the text has no line separator or control character between other characters
//	email       the text is an e-mail address
//	password    the text has an upper case letter, a lower case letter and a digit
//	https       the text is an https:// address that can be a link on a page
//	dive        the rules that follow are for each item of the list
//
// A text with a rule must be valid UTF-8 without NUL. Structs in fields are checked as
// well. Rules that concern several fields, or that no tag expresses, are a method
// Problems() []fault.Field of the input.
package valid

import (
	"math"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/text"
)

// Check returns a fault with the problems of the input, a struct or a pointer to one, or
// nil if it has none. The prefix precedes the names of fields.
func Check(prefix string, in any) error {
	found := Problems(in)
	if len(found) == 0 {
		return nil
	}
	for i := range found {
		found[i].Name = prefix + found[i].Name
	}
	return fault.ErrInvalid.WithFields(found...)
}

// Value returns a fault if the value violates one of the rules, which are written as in
// a tag.
func Value(name string, value any, rules string) error {
	var c checker
	c.value(name, reflect.ValueOf(value), parse(rules))
	if len(c.found) == 0 {
		return nil
	}
	return fault.ErrInvalid.WithFields(c.found...)
}

// Problems returns the problems of the input, in the order of its fields, followed by
// those of its method Problems. A field has at most one. Names are paths such as
// questions.0.text, with the names of the tags json, query, path, header and formData.
func Problems(in any) []fault.Field {
	var c checker
	c.structure("", reflect.Indirect(reflect.ValueOf(in)))
	if custom, ok := in.(interface{ Problems() []fault.Field }); ok {
		for _, f := range custom.Problems() {
			if !slices.ContainsFunc(c.found, func(g fault.Field) bool { return g.Name == f.Name }) {
				c.found = append(c.found, f)
			}
		}
	}
	return c.found
}

// Rule is a rule of a tag.
type Rule struct{ Name, Param string }

// Rules returns the rules of a field.
func Rules(tag reflect.StructTag) []Rule { return parse(tag.Get("validate")) }

func parse(rules string) (out []Rule) {
	for rule := range strings.SplitSeq(rules, ",") {
		name, param, _ := strings.Cut(rule, "=")
		if name != "" {
			out = append(out, Rule{name, param})
		}
	}
	return out
}

// Values returns the values of a oneof rule.
func (r Rule) Values() []string {
	values := strings.Fields(r.Param)
	for i, v := range values {
		values[i] = strings.Trim(v, "'")
	}
	return values
}

// field is a field of a struct that has rules, or is or contains structs.
type field struct {
	index int
	name  string // empty for an embedded struct
	rules []Rule
}

// fieldsOf caches the fields by type.
var fieldsOf sync.Map

func fields(t reflect.Type) []field {
	if cached, ok := fieldsOf.Load(t); ok {
		return cached.([]field)
	}
	var out []field
	for i := range t.NumField() {
		f := t.Field(i)
		if !f.IsExported() && !f.Anonymous {
			continue
		}
		rules := Rules(f.Tag)
		if len(rules) > 0 || containsStruct(f.Type) {
			out = append(out, field{i, fieldName(f), rules})
		}
	}
	fieldsOf.Store(t, out)
	return out
}

func containsStruct(t reflect.Type) bool {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t.Kind() == reflect.Struct
}

// fieldName returns the name of the field in requests, empty for an embedded struct.
func fieldName(f reflect.StructField) string {
	for _, source := range []string{"json", "query", "path", "header", "formData"} {
		if name, _, _ := strings.Cut(f.Tag.Get(source), ","); name != "" && name != "-" {
			return name
		}
	}
	if f.Anonymous {
		return ""
	}
	return f.Name
}

type checker struct{ found []fault.Field }

func (c *checker) structure(path string, v reflect.Value) {
	if v.Kind() != reflect.Struct {
		return
	}
	if path != "" {
		path += "."
	}
	for _, f := range fields(v.Type()) {
		c.value(strings.TrimSuffix(path+f.name, "."), v.Field(f.index), f.rules)
	}
}

// value checks a value, and the fields of a struct.
func (c *checker) value(path string, v reflect.Value, rules []Rule) {
	isPointer := v.Kind() == reflect.Pointer
	if isPointer && !v.IsNil() {
		v = v.Elem()
	}
	for i, r := range rules {
		switch r.Name {
		case "omitempty":
			// A pointer is present also if it points to an empty value.
			if v.IsZero() && (!isPointer || v.Kind() == reflect.Pointer) {
				return
			}
			continue
		case "omitzero":
			if v.IsZero() || v.Kind() == reflect.String && strings.TrimSpace(v.String()) == "" {
				return
			}
			continue
		case "dive":
			for n := range v.Len() {
				c.value(path+"."+strconv.Itoa(n), v.Index(n), rules[i+1:])
			}
			return
		}
		if message := r.violation(v, isPointer); message != "" {
			c.found = append(c.found, fault.Field{Name: path, Message: message})
			return
		}
	}
	c.structure(path, v)
}

// violation returns what is wrong with the value by the rule, or an empty text.
func (r Rule) violation(v reflect.Value, isPointer bool) string {
	if r.Name == "required" {
		if v.IsZero() && (!isPointer || v.Kind() == reflect.Pointer) {
			return "is required"
		}
		return ""
	}
	switch v.Kind() {
	case reflect.Pointer:
		return "" // nil
	case reflect.String:
		return r.ofText(v.String())
	case reflect.Slice, reflect.Map:
		return r.ofSize(float64(v.Len()), "must have", " items")
	case reflect.Int, reflect.Int64:
		return r.ofNumber(float64(v.Int()))
	case reflect.Float64:
		return r.ofNumber(v.Float())
	}
	panic("valid: rule " + r.Name + " on " + v.Type().String()) // a defect of the input's type
}

func (r Rule) number() float64 {
	n, err := strconv.ParseFloat(r.Param, 64)
	if err != nil {
		panic("valid: rule " + r.Name + "=" + r.Param)
	}
	return n
}

// ofSize applies a bound to a number, whose unit is empty, or to a number of things.
func (r Rule) ofSize(n float64, must, unit string) string {
	switch r.Name {
	case "min":
		if n < r.number() {
			return must + " at least " + r.Param + unit
		}
	case "max":
		if n > r.number() {
			return must + " at most " + r.Param + unit
		}
	default:
		panic("valid: rule " + r.Name) // unknown, or not for this type
	}
	return ""
}

func (r Rule) ofNumber(n float64) string {
	switch {
	case math.IsNaN(n):
		return "must be a number"
	case r.Name == "gt" && n <= r.number():
		return "must be more than " + r.Param
	case r.Name == "whole" && n != math.Trunc(n):
		return "must be a whole number"
	case r.Name == "gt" || r.Name == "whole":
		return ""
	}
	return r.ofSize(n, "must be", "")
}

func (r Rule) ofText(s string) string {
	if strings.ContainsRune(s, 0) || !utf8.ValidString(s) {
		return "must be valid UTF-8 without NUL"
	}
	switch r.Name {
	case "maxbytes":
		if float64(len(s)) > r.number() {
			return "must have at most " + r.Param + " bytes"
		}
	case "notblank":
		if !isVisible(s) {
			return "is required"
		}
	case "oneof":
		if values := r.Values(); !slices.Contains(values, s) {
			return "must be one of: " + strings.Join(slices.DeleteFunc(values, func(v string) bool { return v == "" }), ", ")
		}
	case "line":
		if strings.ContainsFunc(strings.TrimSpace(s), func(r rune) bool { return unicode.In(r, unicode.Cc, unicode.Zl, unicode.Zp) }) {
			return "must be one line, without control characters"
		}
	case "email":
		if _, ok := text.ParseEmail(s); !ok {
			return "must be a valid email address"
		}
	case "password":
		if !isMixed(s) {
			return "must contain an upper case letter, a lower case letter and a digit"
		}
	case "https":
		if !isLink(s) {
			return "must be an https address without user and password"
		}
	default:
		return r.ofSize(float64(utf8.RuneCountInString(s)), "must have", " characters")
	}
	return ""
}

// isVisible reports whether s has a character that is neither white space nor a
// format character, such as a zero-width space.
func isVisible(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsSpace(r) && !unicode.Is(unicode.Cf, r) })
}

func isMixed(s string) bool {
	return strings.ContainsFunc(s, unicode.IsUpper) && strings.ContainsFunc(s, unicode.IsLower) && strings.ContainsFunc(s, unicode.IsDigit)
}

// isLink reports whether the text can be a link on a page. The service never opens
// it.
func isLink(s string) bool {
	if strings.ContainsFunc(s, unicode.IsControl) || strings.ContainsAny(s, " \"<>\\^`{|}") {
		return false
	}
	u, err := url.Parse(s)
	return err == nil && u.Scheme == "https" && u.User == nil && u.Hostname() != ""
}
