package web

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

// choices is the input of an operation with a field that may be a string or a list of strings.
type choices struct {
	Role OneOrMany `json:"role" validate:"max=2"`
}

// TestOneOrMany checks that a field may be a string or a list of strings. Absent and null are
// nil; an empty string and an empty list are not.
func TestOneOrMany(t *testing.T) {
	t.Parallel()

	for body, want := range map[string]OneOrMany{
		`{}`:                  nil,
		`{"role":null}`:       nil,
		`{"role":""}`:         {""},
		`{"role":"nurse"}`:    {"nurse"},
		`{"role":[]}`:         {},
		`{"role":["a","b"]}`:  {"a", "b"},
		`{"role":["\u00e9"]}`: {"é"},
	} {
		bound, err := bindTo[choices](body, noQuery)
		require.NoError(t, err, body)
		require.Equal(t, want, bound.Role, body)
	}
}

// TestOneOrMany_OtherTypes_AreRefused checks the messages for values of other types, and that the
// rules of the field apply to the list.
func TestOneOrMany_OtherTypes_AreRefused(t *testing.T) {
	t.Parallel()

	for _, value := range []string{`1`, `true`, `{}`, `[1]`, `["a",{}]`, `[["a"]]`} {
		_, err := bindTo[choices](`{"role":`+value+`}`, noQuery)
		require.Equal(t, []string{"role must be a string or an array of strings"}, fieldsOf(t, err), value)
	}

	_, err := bindTo[choices](`{"role":["a","b","c"]}`, noQuery)
	require.Equal(t, []string{"role must have at most 2 items"}, fieldsOf(t, err), "the rule of the field is max=2")
}

// TestOneOrMany_Reused_ForgetsEarlierValues checks that null clears the value, as encoding/json
// does for other types.
func TestOneOrMany_Reused_ForgetsEarlierValues(t *testing.T) {
	t.Parallel()

	value := OneOrMany{"a", "b"}
	require.NoError(t, json.Unmarshal([]byte(`null`), &value))
	require.Nil(t, value)
}
