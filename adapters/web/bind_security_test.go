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

	// bodyWithQuestions returns a body with n questions, each of which is the item.
	bodyWithQuestions := func(n int, item string) string {
		items := strings.TrimSuffix(strings.Repeat(item+",", n), ",")
		return `{"title":"T","questions":[` + items + `]}`
	}

	for _, invalidItem := range []string{`1`, `{}`, `{"id":1}`} {
		_, err := bindTo[sample](bodyWithQuestions(maxItems+1_000, invalidItem), noQuery)
		problems := fieldsOf(t, err)
		require.NotEmpty(t, problems, invalidItem)
		require.LessOrEqual(t, len(problems), maxProblems, invalidItem)
		require.True(t, strings.HasPrefix(problems[0], "questions"), problems[0])
	}

	// Of as many errors as are permitted, the first one is in the response.
	_, err := bindTo[sample](bodyWithQuestions(maxProblems, `1`), noQuery)
	require.Equal(t, "questions.0 must be an object", fieldsOf(t, err)[0])
}
