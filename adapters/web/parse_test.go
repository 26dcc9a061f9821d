package web

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzParseJSON_StandardLibrary_Agrees compares the parser with encoding/json: what it accepts
// is valid and has the same value, and what it calls malformed is invalid.
func FuzzParseJSON_StandardLibrary_Agrees(f *testing.F) {
	for _, seed := range []string{
		`{}`, `[]`, `{"a":[1,-2.5e3,true,false,null,"x\n\u00e9\ud83d\ude91"]}`, `{"a":1}}`,
		` [ {} , [ ] ] `, `-0`, `0.1`, `01`, `"\u00`, `"`, `nul`, `[1,]`, `{"a":}`, `{,}`,
		"\ufeff{}",
	} {
		f.Add(seed)
	}

	f.Fuzz(func(t *testing.T, body string) {
		nodes, err := parseJSON([]byte(body))

		isAccepted := err == nil && nodes != nil // an empty body has no nodes
		if isAccepted {
			require.True(t, json.Valid([]byte(body)), "%q", body)
			require.JSONEq(t, body, string(nodes[rootNode].raw))
		}

		isMalformed := err != nil && strings.Contains(err.Error(), "well-formed")
		if isMalformed {
			require.False(t, json.Valid([]byte(body)), "%q", body)
		}
	})
}

// BenchmarkBind_LargeBodies measures bodies near the limits of 1 MiB and 50,000 tokens. The bodies of 1 MiB with numbers
// or names exceed the limit of tokens, and are refused.
func BenchmarkBind_LargeBodies(b *testing.B) {
	const (
		mebibyte = 1 << 20
		frame    = 100 // more bytes than a body has around its numbers or its text
	)

	for name, body := range map[string]string{
		"numbers":          `{"title":"T","free":[` + ones(24_000) + `]}`,
		"names":            `{"title":"T","free":{` + names(12_000) + `}}`,
		"text":             `{"title":"T","description":"` + strings.Repeat("x", mebibyte-frame) + `"}`,
		"1 MiB of numbers": `{"title":"T","free":[` + ones(mebibyte/len("1,")-frame) + `]}`,
		"1 MiB of names":   `{"title":"T","free":{` + names(90_000) + `}}`,
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(body)))

			for range b.N {
				_, _ = bindTo[sample](body, noQuery)
			}
		})
	}
}

// ones returns the items of a JSON array with n numbers.
func ones(n int) string { return strings.TrimSuffix(strings.Repeat("1,", n), ",") }

// names returns n members of a JSON object with different names. All names have the same length,
// so that the size of the object depends on n alone.
func names(n int) string {
	members := make([]string, n)
	for i := range members {
		members[i] = fmt.Sprintf(`"%05x":1`, i)
	}

	return strings.Join(members, ",")
}
