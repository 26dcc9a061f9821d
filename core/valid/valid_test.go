package valid_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/valid"
)

// TestValue_EachRule checks each rule with values that it accepts and values that violate it. A rule is written as in
// a struct tag, such as "min=2". Its meaning and its message depend on the type of the value: a minimum is one of
// characters, of items or of a number.
func TestValue_EachRule(t *testing.T) {
	t.Parallel()

	// A pointer to "" is a value that is present, and a nil pointer is an absent one.
	empty := ""
	blank := " \u200b" // a space, and a space without a width

	var none *string
	for _, test := range []struct {
		rules         string
		validValues   []any
		invalidValues []any
		message       string // for each of the invalid values
	}{
		{
			rules:         "required",
			validValues:   []any{"a", 1, &empty, []string{}},
			invalidValues: []any{"", 0, none, []string(nil)},
			message:       "is required",
		},
		{
			rules:         "notblank",
			validValues:   []any{"a", none},
			invalidValues: []any{"", blank, &blank},
			message:       "is required",
		},
		{
			rules:         "min=2",
			validValues:   []any{"éé", 2, 2.5, []string{"", ""}},
			invalidValues: []any{"é"},
			message:       "must have at least 2 characters",
		},
		{
			rules:         "min=2",
			invalidValues: []any{1, 1.9},
			message:       "must be at least 2",
		},
		{
			rules:         "max=2",
			validValues:   []any{"éé", 2, none},
			invalidValues: []any{"abc"},
			message:       "must have at most 2 characters",
		},
		{
			rules:         "max=2",
			invalidValues: []any{[]string{"", "", ""}},
			message:       "must have at most 2 items",
		},
		{
			rules:         "max=2",
			invalidValues: []any{3, math.Inf(1)},
			message:       "must be at most 2",
		},
		{
			rules:         "max=2",
			invalidValues: []any{math.NaN()},
			message:       "must be a number",
		},
		{
			rules:         "gt=0",
			validValues:   []any{1, .5},
			invalidValues: []any{0, -1.},
			message:       "must be more than 0",
		},
		{
			rules:         "whole",
			validValues:   []any{1., 2},
			invalidValues: []any{1.5},
			message:       "must be a whole number",
		},
		{
			rules:         "maxbytes=2",
			validValues:   []any{"é"},
			invalidValues: []any{"éa"},
			message:       "must have at most 2 bytes",
		},
		{
			rules:         "oneof='' a b",
			validValues:   []any{"", "a", none},
			invalidValues: []any{"c", "A"},
			message:       "must be one of: a, b",
		},
		{
			rules:         "line",
			validValues:   []any{"a b", "a\n", ""},
			invalidValues: []any{"a\nb", "a\x1bb"},
			message:       "must be one line, without control characters",
		},
		{
			rules:         "max=9",
			invalidValues: []any{"a\x00", "a\xff"},
			message:       "must be valid UTF-8 without NUL",
		},
		{
			rules:         "email",
			validValues:   []any{"jo@example.org"},
			invalidValues: []any{"", "jo", "jo@deleted.invalid"},
			message:       "must be a valid email address",
		},
		{
			rules:         "password",
			validValues:   []any{"Aa1"},
			invalidValues: []any{"", "aa1", "AA1", "Aaa"},
			message:       "must contain an upper case letter, a lower case letter and a digit",
		},
		{
			rules:       "https",
			validValues: []any{"https://example.org/a?b=c"},
			invalidValues: []any{
				"", "http://example.org", "https://a@example.org", "https://", "https://example.org/<", "javascript:x",
				"https://example.org/\u202egro.elpmaxe", "https://exa\u200bmple.org",
			},
			message: "must be an https address without user and password",
		},
		{
			rules:         "omitempty,min=2",
			validValues:   []any{"", 0, none},
			invalidValues: []any{&empty},
			message:       "must have at least 2 characters",
		},
		{
			rules:         "omitzero,min=2",
			validValues:   []any{"", " ", 0, none, &empty},
			invalidValues: []any{"a"},
			message:       "must have at least 2 characters",
		},
		{
			rules:         "max=5,min=2",
			validValues:   []any{"ab"},
			invalidValues: []any{"a"},
			message:       "must have at least 2 characters",
		},
	} {
		for _, value := range test.validValues {
			err := valid.Value("x", value, test.rules)
			require.NoError(t, err, "%s %#v", test.rules, value)
		}

		wantFields := []fault.Field{{Name: "x", Message: test.message}}
		for _, value := range test.invalidValues {
			err := valid.Value("x", value, test.rules)
			require.Equal(t, wantFields, fault.FieldsOf(err), "%s %#v", test.rules, value)
		}
	}
}

// TestValue_UnknownRule_Panics checks that a mistake in a rule, here "maximum" instead of "max", does not pass
// unnoticed as a rule that every value satisfies.
func TestValue_UnknownRule_Panics(t *testing.T) {
	t.Parallel()
	require.PanicsWithValue(t, "valid: rule maximum", func() { _ = valid.Value("x", "a", "maximum=2") })
}

// The following types are those of an input with nested structs, lists, an embedded struct and names in different tags.

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

// TestProblems_Struct_NamesPaths checks the names of invalid fields, which are paths such as questions.1.text, and the
// order of the problems: those of the tags first, and then those of the method Problems. A field has at most one
// problem: that of the method is left out for a field that violates a tag.
func TestProblems_Struct_NamesPaths(t *testing.T) {
	t.Parallel()

	negative := -1.

	for name, test := range map[string]struct {
		input any
		want  []string // each is the name of a field and its message
	}{
		"a missing text": {
			input: input{},
			want:  []string{"title is required"},
		},
		"problems at several paths": {
			input: &input{Title: "a", details: details{
				Pay:       &pay{Min: &negative},
				Questions: []question{{Text: "no"}, {Text: ""}},
				Tags:      &[]string{" ", "a"},
			}},
			want: []string{
				"pay.min must be at least 0",
				"questions.1.text is required",
				"tags.0 is required",
				"questions.0.text must be yes", // of the method Problems
			},
		},
		"a list that is too long, with invalid items": {
			input: input{Title: "a", details: details{Questions: []question{{Text: "yes"}, {Text: ""}, {Text: ""}}}},
			want:  []string{"questions must have at most 2 items"},
		},
		"a field that violates a tag and the method": {
			input: input{Title: "a", details: details{Questions: []question{{Text: "long"}}}},
			want:  []string{"questions.0.text must have at most 3 characters"},
		},
	} {
		var problems []string
		for _, field := range valid.Problems(test.input) {
			problems = append(problems, field.Name+" "+field.Message)
		}

		require.Equal(t, test.want, problems, name)
	}
}

// TestCheck_Prefix_BeginsTheNames checks that Check returns the problems as an error, with the prefix before the names
// of the fields.
func TestCheck_Prefix_BeginsTheNames(t *testing.T) {
	t.Parallel()

	err := valid.Check("job.", input{})
	require.ErrorIs(t, err, fault.ErrInvalid)
	require.Equal(t, []fault.Field{{Name: "job.title", Message: "is required"}}, fault.Of(err).Fields)

	require.NoError(t, valid.Check("job.", input{Title: "a"}))
}
