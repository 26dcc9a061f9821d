package web

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/locumhq/locum/core/fault"
)

// decode fills v from the object in raw and reports whether it is an object.
func (p *plan) decode(raw []byte, v reflect.Value, prefix string, bad *problems) bool {
	dec := json.NewDecoder(bytes.NewReader(raw))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return false
	}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return false
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return false
		}
		n, known := p.byJSON[key.(string)]
		if !known {
			continue
		}
		f := p.fields[n]
		path := prefix + f.name
		bad.seen[path] = len(bad.seen)
		decodeValue(value, v.FieldByIndex(f.index), path, bad)
	}
	return true
}

func decodeValue(raw json.RawMessage, v reflect.Value, path string, bad *problems) {
	t := v.Type()
	if _, own := v.Addr().Interface().(json.Unmarshaler); own {
		if err := json.Unmarshal(raw, v.Addr().Interface()); err != nil {
			bad.add(path, ownMessage(err))
		}
		return
	}
	if string(raw) == "null" {
		return // the same as not sent
	}
	switch {
	case t.Kind() == reflect.Pointer:
		fresh := reflect.New(t.Elem())
		decodeValue(raw, fresh.Elem(), path, bad)
		v.Set(fresh)
	case t.Kind() == reflect.Struct:
		if !planOf(t).decode(raw, v, path+".", bad) {
			bad.add(path, "must be an object")
		}
	case t.Kind() == reflect.Slice && t.Elem().Kind() != reflect.Uint8:
		var items []json.RawMessage
		if json.Unmarshal(raw, &items) != nil {
			bad.add(path, "must be an array")
			return
		}
		if len(items) > mostItems && t.Elem() != reflect.TypeFor[json.RawMessage]() {
			bad.add(path, "must have at most "+strconv.Itoa(mostItems)+" items")
			return
		}
		out := reflect.MakeSlice(t, len(items), len(items))
		for i, item := range items {
			if t.Elem() == reflect.TypeFor[json.RawMessage]() {
				out.Index(i).SetBytes(item)
				continue
			}
			if len(bad.fields) >= mostProblems {
				return
			}
			at := path + "." + strconv.Itoa(i)
			bad.seen[at] = len(bad.seen)
			if string(item) == "null" {
				bad.add(at, "must not be null")
				continue
			}
			decodeValue(item, out.Index(i), at, bad)
		}
		v.Set(out)
	default:
		if err := json.Unmarshal(raw, v.Addr().Interface()); err != nil {
			bad.add(path, "must be "+typeWords(t))
		}
	}
}

// ownMessage takes the words of a type that decodes itself.
func ownMessage(err error) string {
	var f *fault.Error
	if errors.As(err, &f) && len(f.Fields) > 0 {
		return f.Fields[0].Message
	}
	return "has the wrong type"
}

func typeWords(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int32, reflect.Int64, reflect.Uint, reflect.Uint32, reflect.Uint64:
		return "a whole number"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.Map:
		return "an object"
	}
	return "of another type"
}

const maxDepth = 32

// checkJSON refuses what readers disagree about or what no column can hold:
// bad UTF-8, NUL, names that stand twice in one object, numbers beyond what
// JSON's readers have, endless nesting, and anything after the value.
func checkJSON(body []byte) error {
	if len(bytes.TrimSpace(body)) == 0 {
		return nil
	}
	wrong := func(message string) error { return fault.InvalidField("body", message) }
	if !utf8.Valid(body) {
		return wrong("must be valid UTF-8")
	}
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	type level struct {
		names map[string]struct{} // nil in an array
		name  string              // of the value that comes next or goes on
		value bool                // in an object: the next token is a value
		index int                 // in an array: of the value that comes next or goes on
	}
	var stack []level
	path := func() string {
		var steps []string
		for _, l := range stack {
			if l.names == nil {
				l.name = strconv.Itoa(l.index)
			}
			steps = append(steps, l.name)
		}
		return cmp.Or(clip(strings.Join(steps, ".")), "body")
	}
	for {
		t, err := dec.Token()
		if err != nil {
			return wrong("must be well-formed JSON")
		}
		top := len(stack) - 1
		isName := false
		switch t := t.(type) {
		case json.Delim:
			switch t {
			case '{', '[':
				if len(stack) == maxDepth {
					return wrong(fmt.Sprintf("must not be nested deeper than %d levels", maxDepth))
				}
				l := level{}
				if t == '{' {
					l.names = map[string]struct{}{}
				}
				stack = append(stack, l)
				continue
			default:
				stack = stack[:top]
				top--
			}
		case string:
			if strings.ContainsRune(t, 0) {
				return wrong("must not contain NUL characters")
			}
			if top >= 0 && stack[top].names != nil && !stack[top].value {
				if _, twice := stack[top].names[t]; twice {
					return fault.InvalidField(clip(t), "stands twice in one object")
				}
				stack[top].names[t] = struct{}{}
				stack[top].name, isName = t, true
			}
		case json.Number:
			if _, err := t.Float64(); err != nil {
				return fault.InvalidField(path(), "must be a number of at most 64 bits")
			}
		}
		if top >= 0 {
			stack[top].value = isName
			stack[top].index++
		}
		if top < 0 {
			if _, err := dec.Token(); err == nil || dec.More() {
				return wrong("must be one JSON value")
			}
			return nil
		}
	}
}

// clip keeps an echo of a client's own words short.
func clip(s string) string {
	if r := []rune(s); len(r) > 64 {
		return string(r[:64])
	}
	return s
}
