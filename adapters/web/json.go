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

// decode fills v from the object at n and reports whether it is an object.
func (p *plan) decode(d document, n int, v reflect.Value, prefix string, bad *problems) bool {
	if d[n].kind != '{' {
		return false
	}

	d.children(n, func(c int) {
		i, known := p.byJSON[d[c].name]
		if !known {
			return
		}

		f := p.fields[i]
		path := prefix + f.name
		bad.positionByPath[path] = len(bad.positionByPath)
		decodeValue(d, c, v.FieldByIndex(f.index), path, bad)
	})

	return true
}

// decodeValue sets v from the value at n. Unlike encoding/json, it continues after an error, so
// that all invalid fields are reported at once.
func decodeValue(d document, n int, v reflect.Value, path string, bad *problems) {
	t, raw := v.Type(), d[n].raw
	if _, own := v.Addr().Interface().(json.Unmarshaler); own {
		if err := json.Unmarshal(raw, v.Addr().Interface()); err != nil {
			bad.add(path, unmarshalMessage(err))
		}

		return
	}

	if d[n].kind == 'n' {
		return // null has the meaning of a missing field
	}

	switch {
	case t.Kind() == reflect.Pointer:
		fresh := reflect.New(t.Elem())
		decodeValue(d, n, fresh.Elem(), path, bad)
		v.Set(fresh)
	case t.Kind() == reflect.Struct:
		if !planOf(t).decode(d, n, v, path+".", bad) {
			bad.add(path, "must be an object")
		}
	case t.Kind() == reflect.Slice && t.Elem().Kind() != reflect.Uint8:
		decodeItems(d, n, v, path, bad)
	case t.Kind() == reflect.String && d[n].kind == '"':
		text, err := unquote(raw)
		if err != nil {
			bad.add(path, "must be a string")
		}

		v.SetString(text)
	case v.CanInt() && isNumber(d[n].kind):
		number, isWhole := parseWhole(string(raw))
		if !isWhole || v.OverflowInt(number) {
			bad.add(path, "must be "+typeName(t))
			return
		}

		v.SetInt(number)
	default:
		if err := json.Unmarshal(raw, v.Addr().Interface()); err != nil {
			bad.add(path, "must be "+typeName(t))
		}
	}
}

// isNumber reports whether the first byte of a JSON value is that of a number.
func isNumber(first byte) bool { return first == '-' || '0' <= first && first <= '9' }

// maxExactFloat is the number below which float64 represents every whole number.
const maxExactFloat = 1 << 53

// parseWhole parses a number of JSON without a fraction: 30, and also 30.0 and 3e1.
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

// decodeItems sets a slice from the array at n.
func decodeItems(d document, n int, v reflect.Value, path string, bad *problems) {
	if d[n].kind != '[' {
		bad.add(path, "must be an array")
		return
	}

	t := v.Type()
	isRaw := t.Elem() == reflect.TypeFor[json.RawMessage]()
	count := 0
	d.children(n, func(int) { count++ })

	// An operation that takes raw items bounds their number itself.
	if count > maxItems && !isRaw {
		bad.add(path, "must have at most "+strconv.Itoa(maxItems)+" items")
		return
	}

	out := reflect.MakeSlice(t, count, count)
	d.children(n, func(c int) {
		i := d[c].index
		if isRaw {
			out.Index(i).SetBytes(slices.Clone(d[c].raw))
			return
		}

		if len(bad.fields) >= maxProblems { // the other items cannot add problems
			return
		}

		at := path + "." + strconv.Itoa(i)

		bad.positionByPath[at] = len(bad.positionByPath)
		if d[c].kind == 'n' {
			bad.add(at, "must not be null")
			return
		}

		decodeValue(d, c, out.Index(i), at, bad)
	})

	v.Set(out)
}

// unmarshalMessage returns the message of an UnmarshalJSON method.
func unmarshalMessage(err error) string {
	var f *fault.Error
	if errors.As(err, &f) && len(f.Fields) > 0 {
		return f.Fields[0].Message
	}

	return "has the wrong type"
}

// typeName describes the type of a field in an error message.
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

// OneOrMany is a string or an array of strings.
type OneOrMany []string

// UnmarshalJSON implements json.Unmarshaler.
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

// JSONTypes returns the JSON types that it accepts, for the documentation.
func (OneOrMany) JSONTypes() []string { return []string{"string", "array", "null"} }
