package web

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/core/fault"
)

// sample is the input of an operation, with fields of each kind that a JSON body can have. pay and
// question are parts of its body.
type sample struct {
	ID        string            `path:"id"`
	Title     string            `json:"title" validate:"required,max=10"`
	Kind      string            `json:"kind" validate:"omitempty,oneof=a b"`
	Count     int               `json:"count" validate:"max=5"`
	Remote    *bool             `json:"remote"`
	Pay       *pay              `json:"pay"`
	Tags      []string          `json:"tags" validate:"max=2,dive,max=3"`
	Questions []question        `json:"questions" validate:"dive"`
	Free      json.RawMessage   `json:"free"`
	Items     []json.RawMessage `json:"items"`
	Email     string            `json:"email" validate:"omitempty,email"`
}

type pay struct {
	Min *float64 `json:"min" validate:"omitempty,min=0"`
	Max *float64 `json:"max" validate:"omitempty,min=0"`
}

type question struct {
	ID   string `json:"id" validate:"required,max=20"`
	Text string `json:"text" validate:"required"`
}

// noQuery is the query of a request without one.
var noQuery map[string][]string

// bindTo binds a body and a query to a value of the type, by an operation whose input has the
// type. The path parameter has the value "p".
func bindTo[T any](body string, query map[string][]string) (T, error) {
	var bound T

	op := Op(func(_ context.Context, _ Call, in T) (Done, error) {
		bound = in
		return Message("ok"), nil
	})
	_, err := op.Handle(context.Background(), Call{}, &Request{
		Path:   func(string) string { return "p" },
		Query:  func(name string) []string { return query[name] },
		Header: func(string) string { return "" },
		Body:   []byte(body),
	})

	return bound, err
}

// fieldsOf returns the invalid fields of the error, each as "NAME MESSAGE".
func fieldsOf(t *testing.T, err error) []string {
	t.Helper()
	var f *fault.Error
	require.ErrorAs(t, err, &f)
	require.Equal(t, fault.Invalid, f.Kind)

	fields := make([]string, len(f.Fields))
	for i, field := range f.Fields {
		fields[i] = field.Name + " " + field.Message
	}

	return fields
}

// TestBind_Body checks that the members of a JSON body are bound to fields of each type, and that
// unknown members are ignored.
func TestBind_Body(t *testing.T) {
	t.Parallel()

	bound, err := bindTo[sample](`{"title":"T","count":3,"remote":false,"pay":{"min":1.5},"tags":["x"],
		"questions":[{"id":"q","text":"Why?"}],"free":{"a":[1]},"items":[1,null],"id":"body","unknown":1}`, noQuery)
	require.NoError(t, err)
	require.Equal(t, "p", bound.ID, "the value of the path takes precedence over the body")
	require.Equal(t, 3, bound.Count)
	require.False(t, *bound.Remote)

	const exactly = 0 // the permitted difference

	require.InDelta(t, 1.5, *bound.Pay.Min, exactly)
	require.Nil(t, bound.Pay.Max, "an absent member")
	require.Equal(t, []question{{ID: "q", Text: "Why?"}}, bound.Questions)
	require.JSONEq(t, `{"a":[1]}`, string(bound.Free))
	require.Len(t, bound.Items, 2, "a number and null")
}

// TestBind_Problems_AreInTheOrderOfTheBody checks that all errors are reported at once, in the
// order in which the client wrote the fields. Missing fields are the last.
func TestBind_Problems_AreInTheOrderOfTheBody(t *testing.T) {
	t.Parallel()

	_, err := bindTo[sample](`{"tags":["long","ok","many"],"pay":{"max":-1,"min":"x"},"count":9,"kind":"c"}`, noQuery)
	require.Equal(t, []string{
		"tags must have at most 2 items",
		"pay.max must be at least 0",
		"pay.min must be a number",
		"count must be at most 5",
		"kind must be one of: a, b",
		"title is required",
	}, fieldsOf(t, err))
}

// TestBind_ProblemInArray_NamesTheItem checks that the name of a field inside of an array has
// the index of its item, from 0.
func TestBind_ProblemInArray_NamesTheItem(t *testing.T) {
	t.Parallel()

	_, err := bindTo[sample](`{"title":"T","questions":[{"id":"q","text":"ok"},{"text":7},"no",null],"tags":["four"]}`, noQuery)
	require.Equal(t, []string{
		"questions.1.text must be a string",
		"questions.2 must be an object",
		"questions.3 must not be null",
		"tags.0 must have at most 3 characters",
		"questions.1.id is required",
	}, fieldsOf(t, err))
}

// TestBind_WrongTypes_AreNamed checks the message for each type of field that has a value of
// another type.
func TestBind_WrongTypes_AreNamed(t *testing.T) {
	t.Parallel()

	for body, want := range map[string]string{
		`{"title":1}`:                                "title must be a string",
		`{"title":"T","count":1.5}`:                  "count must be a whole number",
		`{"title":"T","count":"1"}`:                  "count must be a whole number",
		`{"title":"T","count":99999999999999999999}`: "count must be a whole number",
		`{"title":"T","remote":"yes"}`:               "remote must be true or false",
		`{"title":"T","pay":[]}`:                     "pay must be an object",
		`{"title":"T","tags":"x"}`:                   "tags must be an array",
		`{"title":"T","tags":[1]}`:                   "tags.0 must be a string",
		`{"title":null}`:                             "title is required",
		`{"title":"T","email":"a@b@c"}`:              "email must be a valid email address",
	} {
		_, err := bindTo[sample](body, noQuery)
		require.Equal(t, []string{want}, fieldsOf(t, err), body)
	}
}

// TestBind_WholeNumber_HasAnyForm checks that a number counts as whole by its value and not by
// its spelling, because JSON has only one type of numbers: 3.0 and 30e-1 are the integer 3.
func TestBind_WholeNumber_HasAnyForm(t *testing.T) {
	t.Parallel()

	for _, number := range []string{"3", "3.0", "3.00", "3e0", "30e-1"} {
		bound, err := bindTo[sample](`{"title":"T","count":`+number+`}`, noQuery)
		require.NoError(t, err, number)
		require.Equal(t, 3, bound.Count, number)
	}

	// The first two numbers have a fraction. 1e19 is greater than the greatest int. The last number is the first
	// integer that a float64 cannot represent; with its point, it is read as a float64.
	for _, number := range []string{"3.5", "1e-1", "1e19", "9007199254740993.0"} {
		_, err := bindTo[sample](`{"title":"T","count":`+number+`}`, noQuery)
		require.Equal(t, []string{"count must be a whole number"}, fieldsOf(t, err), number)
	}
}

// TestBind_AmbiguousJSON_IsRejected checks that a body is refused if programs could read it differently. For
// example, of two members with one name some programs read the first and others the last. A proxy that
// inspects requests could thus see another value than the operation. The test also checks the limits of
// tokens and of depth, which bound the work for a body.
func TestBind_AmbiguousJSON_IsRejected(t *testing.T) {
	t.Parallel()

	for body, want := range map[string]string{
		// Two members of one object have the same name.
		`{"title":"a","title":"b"}`:                  "title must be unique in its object",
		`{"title":"a","free":{"x":1,"x":2}}`:         "x must be unique in its object",
		`{"title":"a","free":[{"x":{"y":1,"y":1}}]}`: "y must be unique in its object",
		// The text has characters that not every program or database accepts. A surrogate is half of a
		// character in UTF-16: \ud800 is a first half and \udc00 a second one.
		`{"title":"a\u0000b"}`:     "body must not contain NUL characters",
		`{"ti\u0000tle":"a"}`:      "body must not contain NUL characters",
		"{\"title\":\"\xff\"}":     "body must be valid UTF-8",
		`{"title":"\ud800"}`:       "body must not contain lone surrogates",
		`{"title":"\udc00\ud800"}`: "body must not contain lone surrogates",
		`{"title":"\ud800\u0041"}`: "body must not contain lone surrogates",
		`{"\ud800":1}`:             "body must not contain lone surrogates",
		// Lenient parsers accept these numbers, texts and arrays, but JSON does not.
		`{"title":01}`:   "body must be well-formed JSON",
		`{"title":1.}`:   "body must be well-formed JSON",
		`{"title":"\x"}`: "body must be well-formed JSON",
		`{"title":[1,]}`: "body must be well-formed JSON",
		// 49,999 numbers and two brackets are one token more than the limit.
		`[` + strings.Repeat(`1,`, 49_998) + `1]`: "body must have at most 50000 JSON tokens",
		// The value is not complete, or is followed by something else.
		`{"title":"a"`:     "body must be well-formed JSON",
		`{"title":"a"} {}`: "body must be one JSON value",
		`{"title":"a"}}`:   "body must be one JSON value",
		`{"title":"a"}]`:   "body must be one JSON value",
		`{"title":"a"}x`:   "body must be one JSON value",
		`{"title":"a",}`:   "body must be well-formed JSON",
		// The value is well-formed, but is no object.
		`[]`:   "body must be a JSON object",
		`"x"`:  "body must be a JSON object",
		`null`: "body must be a JSON object",
		// The depth is checked before the end of the value is read: the arrays are not closed.
		strings.Repeat(`[`, 10_000):                     "body must not be nested deeper than 32 levels",
		`{"free":` + strings.Repeat(`{"a":`, 40) + `1}`: "body must not be nested deeper than 32 levels",
	} {
		_, err := bindTo[sample](body, noQuery)
		require.Equal(t, []string{want}, fieldsOf(t, err), body)
	}
}

// TestBind_SameNameInDifferentObjects_IsAccepted checks that names must be unique only in their
// own object.
func TestBind_SameNameInDifferentObjects_IsAccepted(t *testing.T) {
	t.Parallel()

	_, err := bindTo[sample](`{"title":"title","free":{"title":{"title":["title","title"]}}}`, noQuery)
	require.NoError(t, err)
}

// TestBind_EmptyBody_IsAnEmptyObject checks that a request without a body has the errors of an
// object without members.
func TestBind_EmptyBody_IsAnEmptyObject(t *testing.T) {
	t.Parallel()

	_, err := bindTo[sample](noBody, noQuery)
	require.Equal(t, []string{"title is required"}, fieldsOf(t, err))
}

// TestBind_UnreadBody_MustBeWellFormed checks that operations without a body ignore the fields
// of a valid one, and refuse an invalid one as all others do.
func TestBind_UnreadBody_MustBeWellFormed(t *testing.T) {
	t.Parallel()
	type named struct {
		ID string `path:"id"`
	}

	for _, body := range []string{"", " ", "{}", `{"x":1}`, "null", "[]"} {
		_, err := bindTo[Nothing](body, noQuery)
		require.NoError(t, err, body)

		_, err = bindTo[named](body, noQuery)
		require.NoError(t, err, body)
	}

	for body, want := range map[string]string{
		"{":               "body must be well-formed JSON",
		"x=1":             "body must be well-formed JSON",
		"\xff":            "body must be valid UTF-8",
		`{"a":1,"a":2}`:   "a must be unique in its object",
		`{"a":"\u0000"}`:  "body must not contain NUL characters",
		`{} {}`:           "body must be one JSON value",
		`{"a":1e9999999}`: "a must be a number of at most 64 bits",
	} {
		_, err := bindTo[Nothing](body, noQuery)
		require.Equal(t, []string{want}, fieldsOf(t, err), body)

		_, err = bindTo[named](body, noQuery)
		require.Equal(t, []string{want}, fieldsOf(t, err), body)
	}
}

// noBody is the body of a request without one.
const noBody = ""

// listInput is the input of an operation whose values are in the query.
type listInput struct {
	Paging
	Salary *float64 `query:"salary_min"`
	Kinds  []string `query:"kinds"`
	Remote *bool    `query:"remote"`
}

// TestBind_Query_HasDefaultsAndLimits checks that a limit above the maximum is reduced to it,
// while a page below 1 is an error, that lists may be separated by commas or repeated, and that
// an empty field of an HTML form counts as absent.
func TestBind_Query_HasDefaultsAndLimits(t *testing.T) {
	t.Parallel()

	withDefaults, err := bindTo[listInput](noBody, noQuery)
	require.NoError(t, err)
	require.Equal(t, Paging{Page: 1, Limit: 20}, withDefaults.Paging)

	bound, err := bindTo[listInput](noBody, map[string][]string{
		"page":       {"2"},
		"limit":      {"5000"},
		"salary_min": {"12.5"},
		"kinds":      {"a,b", "c"},
		"remote":     {"true"},
	})
	require.NoError(t, err)
	require.Equal(t, Paging{Page: 2, Limit: 100}, bound.Paging, "100 is the maximum of the limit")
	require.Equal(t, []string{"a", "b", "c"}, bound.Kinds)
	require.True(t, *bound.Remote)

	withEmptyField, err := bindTo[listInput](noBody, map[string][]string{"salary_min": {""}})
	require.NoError(t, err)
	require.Nil(t, withEmptyField.Salary, "an empty form field is not a number")
}

// TestBind_InvalidQuery_NamesTheParameter checks the message for each invalid query.
func TestBind_InvalidQuery_NamesTheParameter(t *testing.T) {
	t.Parallel()

	// Pages have 20 items by default, so that page 501 is the first one beyond 10,000 items.
	const tooDeep = "page reaches beyond 10000 items; follow nextCursor with the cursor parameter instead"

	type query = map[string][]string

	for name, test := range map[string]struct {
		query query
		want  string
	}{
		"zero":            {query: query{"page": {"0"}}, want: "page must be at least 1"},
		"negative":        {query: query{"limit": {"-1"}}, want: "limit must be at least 1"},
		"words":           {query: query{"page": {"two"}}, want: "page must be a whole number"},
		"empty":           {query: query{"page": {""}}, want: "page must be a whole number"},
		"beyond an int":   {query: query{"page": {"99999999999999999999"}}, want: "page must be a whole number"},
		"twice":           {query: query{"page": {"1", "2"}}, want: "page must be sent only once"},
		"deep":            {query: query{"page": {"501"}}, want: tooDeep},
		"absurdly deep":   {query: query{"page": {"9223372036854775807"}}, want: tooDeep},
		"not a number":    {query: query{"salary_min": {"NaN"}}, want: "salary_min must be a number"},
		"not a truth":     {query: query{"remote": {"perhaps"}}, want: "remote must be true or false"},
		"a long cursor":   {query: query{"cursor": {strings.Repeat("x", 513)}}, want: "cursor must have at most 512 characters"},
		"NUL in a cursor": {query: query{"cursor": {"\x00"}}, want: "cursor must be valid UTF-8 without NUL"},
	} {
		_, err := bindTo[listInput](noBody, test.query)
		require.Equal(t, []string{test.want}, fieldsOf(t, err), name)
	}
}

// TestPaging_LastExactPage_IsAccepted checks that page 500 of 20 items, the last one within
// 10,000 items, is served.
func TestPaging_LastExactPage_IsAccepted(t *testing.T) {
	t.Parallel()

	_, err := bindTo[listInput](noBody, map[string][]string{"page": {"500"}})
	require.NoError(t, err)
}

// FuzzBind checks that the binding accepts no body that is invalid JSON, and that it refuses a body
// only with a fault.Invalid, which is an error of the client.
func FuzzBind(f *testing.F) {
	f.Add(`{"title":"T","pay":{"min":1},"tags":["x"],"questions":[{"id":"q","text":"t"}]}`)
	f.Add(`{"title":"a","title":"b"}`)
	f.Add(`[[[`)

	f.Fuzz(func(t *testing.T, body string) {
		_, err := bindTo[sample](body, noQuery)

		isEmptyOrJSON := strings.TrimSpace(body) == "" || json.Valid([]byte(body))
		if err == nil && !isEmptyOrJSON {
			t.Fatalf("accepted %q, which is not JSON", body)
		}

		isClientError := fault.KindOf(err) == fault.Invalid
		if err != nil && !isClientError {
			t.Fatalf("%q is refused with %v, expected a fault.Invalid", body, err)
		}
	})
}

// TestOp_PathThatIsNoText_IsNotFound checks that a path parameter with NUL or invalid UTF-8, which
// PostgreSQL cannot store, is a 404 and not a 500: no resource can have such an id.
func TestOp_PathThatIsNoText_IsNotFound(t *testing.T) {
	t.Parallel()

	op := Op(func(_ context.Context, _ Call, _ sample) (Done, error) { return Message("ok"), nil })
	for _, pathValue := range []string{"a\x00", "\xff"} {
		_, err := op.Handle(context.Background(), Call{}, &Request{
			Path:   func(string) string { return pathValue },
			Query:  func(string) []string { return nil },
			Header: func(string) string { return "" },
			Body:   []byte(`{"title":"a","questions":[]}`),
		})
		require.ErrorIs(t, err, ErrNoRoute, "%q", pathValue)
	}
}
