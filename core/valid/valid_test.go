package valid_test

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/valid"
)

// TestValue_EachRule checks each rule with values that it accepts and values that violate it, which all get
// the message. none is a nil pointer, an absent value; a pointer to "" is a value that is present.
func TestValue_EachRule(t *testing.T) {
	t.Parallel()
	empty, blank := "", " \u200b"
	var none *string
	for _, c := range []struct {
		rules         string
		validValues   []any
		invalidValues []any
		message       string
	}{
		{"required", []any{"a", 1, &empty, []string{}}, []any{"", 0, none, []string(nil)}, "is required"},
		{"notblank", []any{"a", none}, []any{"", blank, &blank}, "is required"},
		{"min=2", []any{"éé", 2, 2.5, []string{"", ""}}, []any{"é"}, "must have at least 2 characters"},
		{"min=2", nil, []any{1, 1.9}, "must be at least 2"},
		{"max=2", []any{"éé", 2, none}, []any{"abc"}, "must have at most 2 characters"},
		{"max=2", nil, []any{[]string{"", "", ""}}, "must have at most 2 items"},
		{"max=2", nil, []any{3, math.Inf(1)}, "must be at most 2"},
		{"max=2", nil, []any{math.NaN()}, "must be a number"},
		{"gt=0", []any{1, .5}, []any{0, -1.}, "must be more than 0"},
		{"whole", []any{1., 2}, []any{1.5}, "must be a whole number"},
		{"maxbytes=2", []any{"é"}, []any{"éa"}, "must have at most 2 bytes"},
		{"oneof='' a b", []any{"", "a", none}, []any{"c", "A"}, "must be one of: a, b"},
		{"line", []any{"a b", "a\n", ""}, []any{"a\nb", "a\x1bb"}, "must be one line, without control characters"},
		{"max=9", nil, []any{"a\x00", "a\xff"}, "must be valid UTF-8 without NUL"},
		{"email", []any{"jo@example.org"}, []any{"", "jo", "jo@deleted.invalid"}, "must be a valid email address"},
		{"password", []any{"Aa1"}, []any{"", "aa1", "AA1", "Aaa"}, "must contain an upper case letter, a lower case letter and a digit"},
		{
			"https",
			[]any{"https://example.org/a?b=c"},
			[]any{"", "http://example.org", "https://a@example.org", "https://", "https://example.org/<", "javascript:x"},
			"must be an https address without user and password",
		},
		{"omitempty,min=2", []any{"", 0, none}, []any{&empty}, "must have at least 2 characters"},
		{"omitzero,min=2", []any{"", " ", 0, none, &empty}, []any{"a"}, "must have at least 2 characters"},
		{"max=5,min=2", []any{"ab"}, []any{"a"}, "must have at least 2 characters"},
	} {
		for _, v := range c.validValues {
			require.NoError(t, valid.Value("x", v, c.rules), "%s %#v", c.rules, v)
		}
		for _, v := range c.invalidValues {
			want := []fault.Field{{Name: "x", Message: c.message}}
			require.Equal(t, want, fault.FieldsOf(valid.Value("x", v, c.rules)), "%s %#v", c.rules, v)
		}
	}
	require.PanicsWithValue(t, "valid: rule maximum", func() { _ = valid.Value("x", "a", "maximum=2") })
}

// The types of an input with nested structs, lists, an embedded struct and names in different tags.

type pay struct {
	Min *float64 `json:"min" validate:"omitempty,min=0"`
}

type details struct {
	Pay       *pay       `json:"pay"`
	Questions []question `json:"questions" validate:"max=2,dive"`
	Tags      *[]string  `query:"tags" validate:"omitempty,dive,notblank"`
}

// Problems requires that the text of the first question is "yes".
func (d details) Problems() []fault.Field {
	if len(d.Questions) > 0 && d.Questions[0].Text != "yes" {
		return []fault.Field{{Name: "questions.0.text", Message: "must be yes"}}
	}
	return nil
}

type question struct {
	Text string `json:"text" validate:"notblank,max=3"`
}

type input struct {
	Title string `json:"title" validate:"required,max=3"`
	details
	Note string `json:"note"`
}

// TestProblems_Struct_NamesPaths checks the paths in the names of fields, the order of the problems, and that
// a field has only one: the result of the method Problems is left out for a field that violates a tag.
func TestProblems_Struct_NamesPaths(t *testing.T) {
	t.Parallel()
	describeProblems := func(in any) string {
		var out []string
		for _, f := range valid.Problems(in) {
			out = append(out, f.Name+" "+f.Message)
		}
		return strings.Join(out, "; ")
	}
	negative := -1.
	require.Equal(t, "title is required", describeProblems(input{}))
	require.Equal(
		t,
		"pay.min must be at least 0; questions.1.text is required; tags.0 is required; questions.0.text must be yes",
		describeProblems(
			&input{Title: "a", details: details{Pay: &pay{&negative}, Questions: []question{{"no"}, {}}, Tags: &[]string{" ", "a"}}},
		),
	)
	require.Equal(t, "questions must have at most 2 items",
		describeProblems(input{Title: "a", details: details{Questions: []question{{"yes"}, {}, {}}}}))
	require.Equal(t, "questions.0.text must have at most 3 characters",
		describeProblems(input{Title: "a", details: details{Questions: []question{{"long"}}}}), "one problem for each field")

	err := valid.Check("job.", input{})
	require.ErrorIs(t, err, fault.ErrInvalid)
	require.Equal(t, []fault.Field{{Name: "job.title", Message: "is required"}}, fault.Of(err).Fields)
	require.NoError(t, valid.Check("job.", input{Title: "a"}))
}
