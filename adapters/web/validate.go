package web

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/go-playground/validator/v10"
)

// validate returns the validator. It is created once, since it caches types.
var validate = sync.OnceValue(func() *validator.Validate {
	v := validator.New(validator.WithRequiredStructEnabled())
	v.RegisterTagNameFunc(func(f reflect.StructField) string {
		for _, source := range []string{"json", "query", "path", "header", "formData"} {
			if name, _, _ := strings.Cut(f.Tag.Get(source), ","); name != "" && name != "-" {
				return name
			}
		}
		if f.Anonymous {
			return embedded
		}
		return f.Name
	})
	for tag, ok := range map[string]func(string) bool{
		"notblank": hasVisibleText,
		"password": strongPassword,
	} {
		if err := v.RegisterValidation(tag, func(fl validator.FieldLevel) bool { return ok(fl.Field().String()) }); err != nil {
			panic(err)
		}
	}
	return v
})

// hasVisibleText reports whether s has a character that is neither white space nor a
// format character, such as a zero-width space.
func hasVisibleText(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsSpace(r) && !unicode.Is(unicode.Cf, r) })
}

func strongPassword(s string) bool {
	var upper, lower, digit bool
	for _, r := range s {
		upper = upper || unicode.IsUpper(r)
		lower = lower || unicode.IsLower(r)
		digit = digit || unicode.IsDigit(r)
	}
	return upper && lower && digit
}

func validateInto(v reflect.Value, bad *problems) {
	var failed validator.ValidationErrors
	if err := validate().Struct(v.Interface()); !errors.As(err, &failed) {
		return
	}
	for _, f := range failed {
		path := clientPath(f.Namespace())
		if hasInvalidParent(path, bad) {
			continue
		}
		bad.add(path, ruleMessage(f))
	}
}

// hasInvalidParent reports whether a parent of the path is invalid: if salary is not an
// object, "salary.min is required" is not reported.
func hasInvalidParent(path string, bad *problems) bool {
	for i := strings.LastIndexByte(path, '.'); i > 0; i = strings.LastIndexByte(path[:i], '.') {
		if bad.wrong[path[:i]] {
			return true
		}
	}
	return false
}

// embedded is the name of embedded structs in paths; clientPath removes it.
const embedded = "·"

// clientPath turns Input.·.questions[0].text into questions.0.text.
func clientPath(namespace string) string {
	_, path, _ := strings.Cut(namespace, ".")
	path = strings.NewReplacer("[", ".", "]", "").Replace(path)
	return strings.ReplaceAll(path, embedded+".", "")
}

// ruleMessage returns the message for a violated rule.
func ruleMessage(f validator.FieldError) string {
	kind := f.Kind()
	unit := ""
	switch kind {
	case reflect.String:
		unit = " characters"
	case reflect.Slice, reflect.Map, reflect.Array:
		unit = " items"
	}
	switch f.Tag() {
	case "required", "notblank", "required_if", "required_with", "required_without":
		return "is required"
	case "email":
		return "must be a valid email address"
	case "min", "gte":
		if unit != "" {
			return "must have at least " + f.Param() + unit
		}
		return "must be at least " + f.Param()
	case "max", "lte":
		if unit != "" {
			return "must have at most " + f.Param() + unit
		}
		return "must be at most " + f.Param()
	case "gt":
		return "must be more than " + f.Param()
	case "oneof":
		values := slices.DeleteFunc(strings.Fields(f.Param()), func(s string) bool { return s == "''" }) // the empty value is not listed
		return "must be one of: " + strings.Join(values, ", ")
	case "password":
		return "must contain an upper case letter, a lower case letter and a digit"
	case "uuid":
		return "must be a UUID"
	case "url", "http_url", "https_url":
		return "must be a web address"
	case "unique":
		return "must not contain the same item twice"
	}
	return "is not valid"
}
