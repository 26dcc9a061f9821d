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
		d, err := parseJSON([]byte(body))
		if err == nil && d != nil {
			require.True(t, json.Valid([]byte(body)), "%q", body)
			require.JSONEq(t, body, string(d[rootNode].raw))
		}

		if err != nil && strings.Contains(err.Error(), "well-formed") {
			require.False(t, json.Valid([]byte(body)), "%q", body)
		}
	})
}

// BenchmarkBind_LargeBodies measures bodies near the limits of bytes and tokens.
func BenchmarkBind_LargeBodies(b *testing.B) {
	for name, body := range map[string]string{
		"numbers":          `{"title":"T","free":[` + strings.TrimSuffix(strings.Repeat("1,", 24_000), ",") + `]}`,
		"names":            `{"title":"T","free":{` + names(12_000) + `}}`,
		"text":             `{"title":"T","description":"` + strings.Repeat("x", 1<<20-100) + `"}`,
		"1 MiB of numbers": `{"title":"T","free":[` + strings.TrimSuffix(strings.Repeat("1,", 1<<19-100), ",") + `]}`,
		"1 MiB of names":   `{"title":"T","free":{` + names(90_000) + `}}`,
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(body)))

			for range b.N {
				_, _ = bindTo[sample](body, nil)
			}
		})
	}
}

// names returns n members of a JSON object with different names. All names have the same length,
// so that the size of the object depends on n alone.
func names(n int) string {
	members := make([]string, n)
	for i := range members {
		members[i] = fmt.Sprintf(`"%05x":1`, i)
	}

	return strings.Join(members, ",")
}
