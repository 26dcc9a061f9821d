package listings

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/locumhq/locum/core/fault"
)

// The bounds of a listing's meta after a change.
const (
	maxMetaBytes = 16 << 10
	maxMetaDepth = 8
	maxMetaKeys  = 100
)

// mergeMeta applies an RFC 7396 merge patch to a listing's meta. Both are
// objects; a null in the patch removes a member.
func mergeMeta(meta, patch json.RawMessage) (json.RawMessage, error) {
	invalid := func(message string) error { return fault.InvalidField("meta", message) }
	var change map[string]any
	if !decodeObject(patch, &change) {
		return nil, invalid("must be an object")
	}
	target := map[string]any{}
	if len(meta) > 0 && !decodeObject(meta, &target) {
		target = map[string]any{}
	}
	merged := mergeObject(target, change)
	keys := 0
	depth, reserved := measure(merged, &keys)
	switch {
	case reserved:
		return nil, invalid("must not have names that begin with _")
	case depth > maxMetaDepth:
		return nil, invalid("must not be nested deeper than 8 levels")
	case keys > maxMetaKeys:
		return nil, invalid("must have at most 100 names")
	}
	out, err := encode(merged)
	if err != nil {
		return nil, err
	}
	if len(out) > maxMetaBytes {
		return nil, invalid("must have at most 16 KiB after the merge")
	}
	return out, nil
}

// decodeObject keeps numbers as they were written.
func decodeObject(raw []byte, into *map[string]any) bool {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	return dec.Decode(into) == nil && *into != nil
}

func encode(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSpace(b.Bytes()), nil
}

func mergeObject(target, patch map[string]any) map[string]any {
	for name, value := range patch {
		switch value := value.(type) {
		case nil:
			delete(target, name)
		case map[string]any:
			inner, _ := target[name].(map[string]any)
			if inner == nil {
				inner = map[string]any{}
			}
			target[name] = mergeObject(inner, value)
		default:
			target[name] = value
		}
	}
	return target
}

func measure(v any, keys *int) (depth int, reserved bool) {
	visit := func(inner any) {
		d, r := measure(inner, keys)
		depth, reserved = max(depth, d), reserved || r
	}
	switch v := v.(type) {
	case map[string]any:
		for name, inner := range v {
			*keys++
			reserved = reserved || strings.HasPrefix(name, "_")
			visit(inner)
		}
	case []any:
		for _, inner := range v {
			visit(inner)
		}
	default:
		return 0, false
	}
	return depth + 1, reserved
}
