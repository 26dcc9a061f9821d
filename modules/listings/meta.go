package listings

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"strings"
	"time"

	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/fault"
)

// The limits of a listing's meta after a change.
const (
	maxMetaBytes = 16 << 10
	maxMetaDepth = 8
	maxMetaKeys  = 100
)

// mergeMeta applies an RFC 7396 merge patch to a listing's meta and returns the result. Meta is
// an object in which clients store their own data about a listing. The patch must be a JSON
// object. A null in it removes a member.
func mergeMeta(meta, patch json.RawMessage) (json.RawMessage, error) {
	invalid := func(message string) error { return fault.InvalidField("meta", message) }

	var change map[string]any
	if !decodeObject(patch, &change) {
		return nil, invalid("must be an object")
	}

	target := map[string]any{}

	// Stored meta that is no object is replaced, as RFC 7396 requires.
	if len(meta) > 0 && !decodeObject(meta, &target) {
		target = map[string]any{}
	}

	merged := mergeObject(target, change)
	const topLevel = 1

	var size metaSize
	size.measure(merged, topLevel)

	switch {
	case size.hasReservedName:
		return nil, invalid("must not have names that begin with _")
	case size.depth > maxMetaDepth:
		return nil, invalid("must not be nested deeper than 8 levels")
	case size.keys > maxMetaKeys:
		return nil, invalid("must have at most 100 names")
	case size.hasHugeNumber:
		return nil, invalid("must not have numbers beyond what a double holds")
	}

	out, err := encodeJSON(merged)
	if err != nil {
		return nil, err
	}

	if len(out)+size.growth > maxMetaBytes {
		return nil, invalid("must have at most 16 KiB after the merge")
	}

	return out, nil
}

// decodeObject decodes a JSON object, with numbers as json.Number. It reports whether raw is
// an object.
func decodeObject(raw []byte, into *map[string]any) bool {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	return dec.Decode(into) == nil && *into != nil
}

// encodeJSON encodes the value without escaping HTML, which would enlarge it.
func encodeJSON(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)

	if err := enc.Encode(v); err != nil {
		return nil, err
	}

	return bytes.TrimSpace(b.Bytes()), nil
}

// mergeObject applies the patch to target, which it changes and returns.
func mergeObject(target, patch map[string]any) map[string]any {
	for name, value := range patch {
		switch value := value.(type) {
		case nil:
			delete(target, name)
		case map[string]any:
			inner, _ := target[name].(map[string]any) // nil if the member is missing or no object
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

// metaSize contains the measures of an object that are limited.
type metaSize struct {
	depth, keys int
	// growth is the number of bytes by which the object grows in a database that writes
	// numbers without exponents, so that 1e308 takes 309 bytes.
	growth          int
	hasReservedName bool
	// hasHugeNumber is true if not every database can store one of the numbers.
	hasHugeNumber bool
}

// measure adds the measures of a value at the given depth.
func (m *metaSize) measure(v any, depth int) {
	switch v := v.(type) {
	case map[string]any:
		m.depth = max(m.depth, depth)
		for name, inner := range v {
			m.keys++
			m.hasReservedName = m.hasReservedName || strings.HasPrefix(name, "_")
			m.measure(inner, depth+1)
		}
	case []any:
		m.depth = max(m.depth, depth)
		for _, inner := range v {
			m.measure(inner, depth+1)
		}
	case json.Number:
		m.measureNumber(v)
	}
}

// measureNumber adds the measures of a number.
func (m *metaSize) measureNumber(n json.Number) {
	const maxLength = 64

	x, err := n.Float64()
	if x != 0 {
		digits := int(math.Abs(math.Log10(math.Abs(x)))) // without an exponent
		if digits > len(n) {
			m.growth += digits - len(n)
		}
	}

	// A number that is too large for a double is an error. One that is too small becomes 0,
	// although its mantissa is not 0.
	isUnderflow := x == 0 && strings.ContainsAny(mantissa(n), "123456789")
	if err != nil || len(n) > maxLength || isUnderflow {
		m.hasHugeNumber = true
	}
}

// mantissa returns the number without its exponent.
func mantissa(n json.Number) string {
	m, _, _ := strings.Cut(strings.ToLower(n.String()), "e")
	return m
}

// PatchMeta merges a patch into the listing's meta.
func (s *Service) PatchMeta(ctx context.Context, by auth.Actor, listingID string, patch []byte) (Listing, error) {
	l, err := s.change(ctx, by, auth.JobsUpdate, listingID, func(l *Listing, _ time.Time) error { return patchMeta(l, patch) })
	return l, asPublicError(err)
}

// PatchMetaBatch merges patches into the meta of several listings.
func (s *Service) PatchMetaBatch(ctx context.Context, by auth.Actor, items []BatchItem[[]byte]) ([]BatchResult, error) {
	out, err := changeBatch(ctx, s, by, items, patchMeta)
	for i := range out {
		out[i].Err = asPublicError(out[i].Err)
	}

	return out, err
}

// patchMeta merges a patch into the meta of the listing.
func patchMeta(l *Listing, patch []byte) error {
	merged, err := mergeMeta(l.Meta, patch)
	if err == nil {
		l.Meta = merged
	}

	return err
}
