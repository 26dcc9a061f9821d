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
	var size metaSize
	size.measure(merged, 1)
	switch {
	case size.reserved:
		return nil, invalid("must not have names that begin with _")
	case size.depth > maxMetaDepth:
		return nil, invalid("must not be nested deeper than 8 levels")
	case size.keys > maxMetaKeys:
		return nil, invalid("must have at most 100 names")
	case size.hugeNumber:
		return nil, invalid("must not have numbers beyond what a double holds")
	}
	out, err := encode(merged)
	if err != nil {
		return nil, err
	}
	if len(out)+size.growth > maxMetaBytes {
		return nil, invalid("must have at most 16 KiB after the merge")
	}
	return out, nil
}

// decodeObject decodes an object and keeps the text of numbers.
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

type metaSize struct {
	depth, keys          int
	growth               int // of numbers, when they are written out
	reserved, hugeNumber bool
}

func (m *metaSize) measure(v any, depth int) {
	switch v := v.(type) {
	case map[string]any:
		m.depth = max(m.depth, depth)
		for name, inner := range v {
			m.keys++
			m.reserved = m.reserved || strings.HasPrefix(name, "_")
			m.measure(inner, depth+1)
		}
	case []any:
		m.depth = max(m.depth, depth)
		for _, inner := range v {
			m.measure(inner, depth+1)
		}
	case json.Number:
		// The ranges of numbers differ between databases.
		x, err := v.Float64()
		// Some databases write all digits: 1e308 has 309.
		if digits := int(math.Abs(math.Log10(math.Abs(x)))); x != 0 && digits > len(v) {
			m.growth += digits - len(v)
		}
		m.hugeNumber = m.hugeNumber || err != nil || len(v) > 64 || x == 0 && strings.ContainsAny(mantissa(v), "123456789")
	}
}

func mantissa(n json.Number) string {
	m, _, _ := strings.Cut(strings.ToLower(n.String()), "e")
	return m
}

// PatchMeta merges a patch into the listing's meta.
func (s *Service) PatchMeta(ctx context.Context, by auth.Actor, listingID string, patch []byte) (Listing, error) {
	l, err := s.change(ctx, by, auth.JobsUpdate, listingID, func(l *Listing, _ time.Time) error { return patchMeta(l, patch) })
	return l, public(err)
}

// PatchMetaBatch merges patches into the meta of several listings.
func (s *Service) PatchMetaBatch(ctx context.Context, by auth.Actor, items []BatchItem[[]byte]) ([]BatchResult, error) {
	out, err := changeBatch(ctx, s, by, items, patchMeta)
	for i := range out {
		out[i].Err = public(out[i].Err)
	}
	return out, err
}

func patchMeta(l *Listing, patch []byte) error {
	merged, err := mergeMeta(l.Meta, patch)
	if err == nil {
		l.Meta = merged
	}
	return err
}
