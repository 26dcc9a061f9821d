package web

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestBind_ManyProblems_AreLimited checks that a body with thousands of errors gets at most
// maxProblems of them: the response must not be many times larger than the body.
func TestBind_ManyProblems_AreLimited(t *testing.T) {
	t.Parallel()

	for _, item := range []string{`1`, `{}`, `{"id":1}`} {
		_, err := bindTo[sample](`{"title":"T","questions":[`+strings.TrimSuffix(strings.Repeat(item+",", 11_000), ",")+`]}`, nil)
		fields := fieldsOf(t, err)
		require.NotEmpty(t, fields)
		require.LessOrEqual(t, len(fields), maxProblems, item)
		require.True(t, strings.HasPrefix(fields[0], "questions"), fields[0])
	}

	_, err := bindTo[sample](`{"title":"T","questions":[`+strings.Repeat(`1,`, 999)+`1]}`, nil)
	require.Equal(t, "questions.0 must be an object", fieldsOf(t, err)[0])
}
