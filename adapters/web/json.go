package web

import (
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"slices"
	"strconv"

	"github.com/locumhq/locum/core/fault"
)

// This file sets the fields of Go values from a JSON document that parseJSON has parsed. A document is
// a list of nodes, and a node is given by its index in this list.

// decode sets the fields of target, which has the type of the plan, from the object at node n of the
// document. It reports false if the node is not an object. Members of the object that are no fields
// of the plan are ignored.
//
// Problems of the members are added to found. Their paths begin with prefix, which is empty for the
// whole body, and otherwise the path of the object with a dot, such as "salary.".
func (p *plan) decode(d document, n int, target reflect.Value, prefix string, found *problems) (isObject bool) {
	if d[n].kind != '{' {
		return false
	}

	d.children(n, func(member int) {
		i, isKnown := p.byJSON[d[member].name]
		if !isKnown {
			return
		}

		f := p.fields[i]
		path := prefix + f.name
		found.positionByPath[path] = len(found.positionByPath)
		decodeValue(d, member, target.FieldByIndex(f.index), path, found)
	})

	return true
}

// decodeValue sets target from node n. path is the path of the node, under which problems are added to
// found. Unlike encoding/json, decodeValue continues after an error, so that all invalid fields are
// reported at once.
func decodeValue(d document, n int, target reflect.Value, path string, found *problems) {
	t, raw := target.Type(), d[n].raw

	// Types with an UnmarshalJSON method also decide about null.
	if _, isUnmarshaler := target.Addr().Interface().(json.Unmarshaler); isUnmarshaler {
		if err := json.Unmarshal(raw, target.Addr().Interface()); err != nil {
			found.add(path, unmarshalMessage(err))
		}

		return
	}

	if d[n].kind == 'n' {
		return // null has the meaning of a missing field
	}

	// A slice of bytes is a string in JSON, which json.Unmarshal decodes below.
	isList := t.Kind() == reflect.Slice && t.Elem().Kind() != reflect.Uint8

	switch {
	case t.Kind() == reflect.Pointer:
		value := reflect.New(t.Elem())
		decodeValue(d, n, value.Elem(), path, found)
		target.Set(value)
	case t.Kind() == reflect.Struct:
		if !planOf(t).decode(d, n, target, path+".", found) {
			found.add(path, "must be an object")
		}
	case isList:
		decodeItems(d, n, target, path, found)
	case t.Kind() == reflect.String && d[n].kind == '"':
		text, err := unquote(raw)
		if err != nil {
			found.add(path, "must be a string")
		}

		target.SetString(text)
	case target.CanInt() && isNumber(d[n].kind):
		number, isWhole := parseWhole(string(raw))
		if !isWhole || target.OverflowInt(number) {
			found.add(path, "must be "+typeName(t))
			return
		}

		target.SetInt(number)
	default:
		if err := json.Unmarshal(raw, target.Addr().Interface()); err != nil {
			found.add(path, "must be "+typeName(t))
		}
	}
}

// isNumber reports whether a JSON value with this first byte is a number.
func isNumber(first byte) bool { return first == '-' || '0' <= first && first <= '9' }

// maxExactFloat is the number below which float64 represents every whole number.
const maxExactFloat = 1 << 53

// parseWhole parses a number of JSON whose value is whole: 30, and also 30.0 and 3e1. It reports
// false for other numbers, and for those whose value it cannot represent exactly.
func parseWhole(text string) (n int64, isWhole bool) {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n, true
	}

	x, err := strconv.ParseFloat(text, 64)
	if err != nil || x != math.Trunc(x) || math.Abs(x) >= maxExactFloat {
		return 0, false
	}

	return int64(x), true
}

// decodeItems sets target, which is a slice, from the array at node n. Problems of the items are added
// to found under paths such as questions.0.
func decodeItems(d document, n int, target reflect.Value, path string, found *problems) {
	if d[n].kind != '[' {
		found.add(path, "must be an array")
		return
	}

	t := target.Type()
	isRaw := t.Elem() == reflect.TypeFor[json.RawMessage]() // the operation itself parses each item, see Item

	count := 0
	d.children(n, func(int) { count++ })

	// An operation that takes raw items also bounds their number itself.
	if count > maxItems && !isRaw {
		found.add(path, "must have at most "+strconv.Itoa(maxItems)+" items")
		return
	}

	items := reflect.MakeSlice(t, count, count)
	d.children(n, func(item int) {
		i := d[item].index
		if isRaw {
			items.Index(i).SetBytes(slices.Clone(d[item].raw))
			return
		}

		isRejected := len(found.fields) >= maxProblems
		if isRejected {
			return // no more problems are reported, so that the other items need not be decoded
		}

		itemPath := path + "." + strconv.Itoa(i)

		found.positionByPath[itemPath] = len(found.positionByPath)
		if d[item].kind == 'n' {
			found.add(itemPath, "must not be null")
			return
		}

		decodeValue(d, item, items.Index(i), itemPath, found)
	})

	target.Set(items)
}

// unmarshalMessage returns the message for an error of an UnmarshalJSON method. It is the message of the
// fault that the method has returned, or a general message for other errors.
func unmarshalMessage(err error) string {
	var f *fault.Error
	if errors.As(err, &f) && len(f.Fields) > 0 {
		return f.Fields[0].Message
	}

	return "has the wrong type"
}

// typeName describes the type of a field for an error message, in which it follows "must be".
func typeName(t reflect.Type) string {
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

// OneOrMany is a list of strings. In JSON it may be an array of strings, or a string for a list with
// one item.
type OneOrMany []string

// UnmarshalJSON sets the list from a string, an array of strings, or null for a nil list.
func (o *OneOrMany) UnmarshalJSON(raw []byte) error {
	var one *string
	if json.Unmarshal(raw, &one) == nil {
		*o = nil
		if one != nil {
			*o = OneOrMany{*one}
		}

		return nil
	}

	var many []string
	if json.Unmarshal(raw, &many) != nil {
		return fault.InvalidField("", "must be a string or an array of strings")
	}

	*o = many

	return nil
}

// JSONTypes returns the JSON types that UnmarshalJSON accepts, for the documentation.
func (OneOrMany) JSONTypes() []string { return []string{"string", "array", "null"} }
