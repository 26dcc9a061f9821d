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

// validate is set up once; go-playground keeps its per-type caches in it.
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
		"notblank": visible,
		"password": strongPassword,
	} {
		if err := v.RegisterValidation(tag, func(fl validator.FieldLevel) bool { return ok(fl.Field().String()) }); err != nil {
			panic(err)
		}
	}
	return v
})

// visible reports whether there is anything to be seen: spaces without width
// are spaces too.
func visible(s string) bool {
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
		if parentWrong(path, bad) {
			continue
		}
		bad.add(path, ruleWords(f))
	}
}

// parentWrong spares a client "salary.min is required" when salary itself was
// not an object.
func parentWrong(path string, bad *problems) bool {
	for i := strings.LastIndexByte(path, '.'); i > 0; i = strings.LastIndexByte(path[:i], '.') {
		if bad.wrong[path[:i]] {
			return true
		}
	}
	return false
}

// embedded marks the levels of a path that only Go knows.
const embedded = "·"

// clientPath turns Input.·.questions[0].text into questions.0.text.
func clientPath(namespace string) string {
	_, path, _ := strings.Cut(namespace, ".")
	path = strings.NewReplacer("[", ".", "]", "").Replace(path)
	return strings.ReplaceAll(path, embedded+".", "")
}

// ruleWords says a rule to a person, who knows nothing of tags.
func ruleWords(f validator.FieldError) string {
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
		values := slices.DeleteFunc(strings.Fields(f.Param()), func(s string) bool { return s == "''" }) // that it may be empty goes unsaid
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
