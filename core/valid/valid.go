// Package valid checks input structs by the rules in the validate tags of their fields.
// Services check their inputs with it, transports report its problems together with values
// of the wrong type, and the OpenAPI documents describe its rules.
//
// A tag is a comma-separated list of rules. They are checked in order, and the first
// violated rule is reported:
//
//	required    the value is present: not "", 0 or nil
//	omitempty   skip the remaining rules if the value is absent; a pointer to "" is present
//	omitzero    skip the remaining rules if the value is absent, blank or 0, or a pointer to such a value
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
//	dive        apply the remaining rules to each item of the list
//
// A text with a rule must be valid UTF-8 without NUL. Nested structs are checked too. For
// rules that concern several fields, or that no tag can express, an input implements the
// method Problems() []fault.Field.
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

// Check returns an Invalid fault with the problems of the input, or nil if the input is
// valid. The input is a struct or a pointer to one. The prefix is put before the names of
// the fields in the fault.
func Check(prefix string, in any) error {
	problems := Problems(in)
	if len(problems) == 0 {
		return nil
	}

	for i := range problems {
		problems[i].Name = prefix + problems[i].Name
	}

	return fault.ErrInvalid.WithFields(problems...)
}

// Value returns an Invalid fault if the value violates one of the rules. The rules are
// written as in a validate tag.
func Value(name string, value any, rules string) error {
	var c checker
	c.checkValue(name, reflect.ValueOf(value), parseRules(rules))

	if len(c.problems) == 0 {
		return nil
	}

	return fault.ErrInvalid.WithFields(c.problems...)
}

// Problems returns at most one problem for each field of the input: first the violated
// tags, in the order of the fields, then the results of the input's own Problems method.
// Field names are paths such as questions.0.text, built from the names in the tags json,
// query, path, header and formData.
func Problems(in any) []fault.Field {
	var c checker
	c.checkStruct("", reflect.Indirect(reflect.ValueOf(in)))

	if custom, isCustom := in.(interface{ Problems() []fault.Field }); isCustom {
		for _, problem := range custom.Problems() {
			isOfSameField := func(other fault.Field) bool { return other.Name == problem.Name }
			if !slices.ContainsFunc(c.problems, isOfSameField) {
				c.problems = append(c.problems, problem)
			}
		}
	}

	return c.problems
}

// Rule is one rule of a validate tag, such as max=200.
type Rule struct{ Name, Param string }

// Rules returns the rules in the validate tag of a field.
func Rules(tag reflect.StructTag) []Rule { return parseRules(tag.Get("validate")) }

// parseRules parses a comma-separated list of rules. A parameter cannot contain a comma.
func parseRules(rules string) (out []Rule) {
	for rule := range strings.SplitSeq(rules, ",") {
		name, param, _ := strings.Cut(rule, "=")
		if name != "" {
			out = append(out, Rule{name, param})
		}
	}

	return out
}

// Values returns the permitted values of a oneof rule.
func (r Rule) Values() []string {
	values := strings.Fields(r.Param)
	for i, v := range values {
		values[i] = strings.Trim(v, "'")
	}

	return values
}

// field is a field of a struct that has to be checked: it has rules or is a struct.
type field struct {
	index int
	name  string // empty for an embedded struct
	rules []Rule
}

// fieldCache caches the results of fieldsOf, by type.
var fieldCache sync.Map

// fieldsOf returns the fields of a struct type that have to be checked. Unexported fields cannot be read,
// except those of an embedded struct.
func fieldsOf(t reflect.Type) []field {
	if cached, isCached := fieldCache.Load(t); isCached {
		return cached.([]field)
	}

	var fields []field
	for i := range t.NumField() {
		f := t.Field(i)

		isReadable := f.IsExported() || f.Anonymous
		if !isReadable {
			continue
		}

		rules := Rules(f.Tag)
		if len(rules) > 0 || isStruct(f.Type) {
			fields = append(fields, field{index: i, name: fieldName(f), rules: rules})
		}
	}

	fieldCache.Store(t, fields)

	return fields
}

// isStruct reports whether the type is a struct or a pointer to one.
func isStruct(t reflect.Type) bool {
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

// checker collects the problems of one input.
type checker struct{ problems []fault.Field }

// checkStruct checks the fields of v, and does nothing if v is not a struct.
func (c *checker) checkStruct(path string, v reflect.Value) {
	if v.Kind() != reflect.Struct {
		return
	}

	if path != "" {
		path += "."
	}

	for _, f := range fieldsOf(v.Type()) {
		// The fields of an embedded struct, which has no name, have the path of the outer struct.
		fieldPath := strings.TrimSuffix(path+f.name, ".")
		c.checkValue(fieldPath, v.Field(f.index), f.rules)
	}
}

// checkValue checks a value by the rules and, if it is a struct, its fields.
func (c *checker) checkValue(path string, v reflect.Value, rules []Rule) {
	isPointer := v.Kind() == reflect.Pointer
	if isPointer && !v.IsNil() {
		v = v.Elem()
	}

	for i, r := range rules {
		switch r.Name {
		case "omitempty":
			if isAbsent(v, isPointer) {
				return
			}

			continue
		case "omitzero":
			isBlank := v.Kind() == reflect.String && strings.TrimSpace(v.String()) == ""
			if v.IsZero() || isBlank {
				return
			}

			continue
		case "dive":
			rulesOfItems := rules[i+1:]
			for n := range v.Len() {
				c.checkValue(path+"."+strconv.Itoa(n), v.Index(n), rulesOfItems)
			}

			return
		}

		if message := r.violation(v, isPointer); message != "" {
			c.problems = append(c.problems, fault.Field{Name: path, Message: message})
			return
		}
	}

	c.checkStruct(path, v)
}

// isAbsent reports whether the value is absent: a nil pointer, or "", 0 or nil in a field without a
// pointer. If isPointer is true, v is what the pointer of a field points to, or the nil pointer. A
// pointer to "" or 0 is a present value.
func isAbsent(v reflect.Value, isPointer bool) bool {
	isNilPointer := v.Kind() == reflect.Pointer
	return v.IsZero() && (!isPointer || isNilPointer)
}

// violation returns the message for a value that violates the rule, or "". The parameters are those of
// isAbsent.
func (r Rule) violation(v reflect.Value, isPointer bool) string {
	if r.Name == "required" {
		if isAbsent(v, isPointer) {
			return "is required"
		}

		return ""
	}

	switch v.Kind() {
	case reflect.Pointer: // nil, to which only the rule required applies
		return ""
	case reflect.String:
		return r.textViolation(v.String())
	case reflect.Slice, reflect.Map:
		return r.boundViolation(float64(v.Len()), "must have", " items")
	case reflect.Int, reflect.Int64:
		return r.numberViolation(float64(v.Int()))
	case reflect.Float64:
		return r.numberViolation(v.Float())
	}

	panic("valid: rule " + r.Name + " on " + v.Type().String()) // the tag is on a field of an unsupported type
}

// bound returns the parameter of the rule as a number.
func (r Rule) bound() float64 {
	n, err := strconv.ParseFloat(r.Param, 64)
	if err != nil {
		panic("valid: rule " + r.Name + "=" + r.Param)
	}

	return n
}

// boundViolation returns the message for a number that violates a min or max rule, or "".
// The message begins with verb ("must be", or "must have" for a count) and ends with the
// unit of a count.
func (r Rule) boundViolation(n float64, verb, unit string) string {
	switch r.Name {
	case "min":
		if n < r.bound() {
			return verb + " at least " + r.Param + unit
		}
	case "max":
		if n > r.bound() {
			return verb + " at most " + r.Param + unit
		}
	default:
		panic("valid: rule " + r.Name) // unknown, or not for this type
	}

	return ""
}

// numberViolation returns the message for a number that violates the rule, or "". No rule permits NaN, with
// which every comparison is false.
func (r Rule) numberViolation(n float64) string {
	switch {
	case math.IsNaN(n):
		return "must be a number"
	case r.Name == "gt" && n <= r.bound():
		return "must be more than " + r.Param
	case r.Name == "whole" && n != math.Trunc(n):
		return "must be a whole number"
	case r.Name == "gt" || r.Name == "whole":
		return ""
	}

	return r.boundViolation(n, "must be", "")
}

// textViolation returns the message for a text that violates the rule, or "". Texts with NUL, which some
// databases cannot store, and invalid UTF-8 violate every rule.
func (r Rule) textViolation(s string) string {
	if strings.ContainsRune(s, 0) || !utf8.ValidString(s) {
		return "must be valid UTF-8 without NUL"
	}

	switch r.Name {
	case "maxbytes":
		if float64(len(s)) > r.bound() {
			return "must have at most " + r.Param + " bytes"
		}
	case "notblank":
		if !isVisible(s) {
			return "is required"
		}
	case "oneof":
		if values := r.Values(); !slices.Contains(values, s) {
			isEmpty := func(value string) bool { return value == "" }
			return "must be one of: " + strings.Join(slices.DeleteFunc(values, isEmpty), ", ")
		}
	case "line":
		isSeparatorOrControl := func(r rune) bool { return unicode.In(r, unicode.Cc, unicode.Zl, unicode.Zp) }
		if strings.ContainsFunc(strings.TrimSpace(s), isSeparatorOrControl) {
			return "must be one line, without control characters"
		}
	case "email":
		if _, ok := text.ParseEmail(s); !ok {
			return "must be a valid email address"
		}
	case "password":
		if !hasMixedCharacters(s) {
			return "must contain an upper case letter, a lower case letter and a digit"
		}
	case "https":
		if !isLink(s) {
			return "must be an https address without user and password"
		}

	default: // min and max
		return r.boundViolation(float64(utf8.RuneCountInString(s)), "must have", " characters")
	}

	return ""
}

// isVisible reports whether s has a character that is neither white space nor a
// format character, such as a zero-width space.
func isVisible(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsSpace(r) && !unicode.Is(unicode.Cf, r) })
}

// hasMixedCharacters reports whether s has an upper case letter, a lower case letter and a
// digit.
func hasMixedCharacters(s string) bool {
	return strings.ContainsFunc(s, unicode.IsUpper) && strings.ContainsFunc(s, unicode.IsLower) && strings.ContainsFunc(s, unicode.IsDigit)
}

// isLink reports whether s is an https URL that can safely be a link on a page. Characters
// that change the direction of text or are invisible could make it look like another URL. The
// service itself never requests such a URL.
func isLink(s string) bool {
	hasInvisible := text.Name(s) != s || strings.ContainsFunc(s, unicode.IsControl) // text.Name removes some of them
	hasUnescaped := strings.ContainsAny(s, " \"<>\\^`{|}")                          // which a URL has only as %XX

	if hasInvisible || hasUnescaped {
		return false
	}

	u, err := url.Parse(s)

	return err == nil && u.Scheme == "https" && u.User == nil && u.Hostname() != ""
}
