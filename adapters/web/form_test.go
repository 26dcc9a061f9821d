package web

import (
	"bytes"
	"context"
	"fmt"
	"mime/multipart"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/core/fault"
)

type formInput struct {
	Guest  string `cookie:"guest"`
	Name   string `formData:"name" validate:"max=5"`
	Number int    `formData:"number"`
}

// bindForm binds a form. The value of a cookie is its name and "!".
func bindForm(contentType, body string) (in formInput, err error) {
	op := Op(func(_ context.Context, _ Call, got formInput) (Done, error) { in = got; return Done{}, nil })
	_, err = op.Handle(context.Background(), Call{}, &Request{
		Header: func(string) string { return contentType },
		Cookie: func(name string) string { return name + "!" },
		Body:   []byte(body),
	})

	return in, err
}

// multipartOf returns a form with the fields (name, value) in the encoding multipart/form-data.
func multipartOf(t testing.TB, fields ...[2]string) (contentType, body string) {
	t.Helper()
	var b bytes.Buffer

	w := multipart.NewWriter(&b)
	for _, f := range fields {
		require.NoError(t, w.WriteField(f[0], f[1]))
	}

	require.NoError(t, w.Close())

	return w.FormDataContentType(), b.String()
}

const urlEncoded = "application/x-www-form-urlencoded"

// TestForm_BothEncodings_AreRead checks that both encodings of HTML forms give the same values,
// that unknown fields are ignored, and that a request without a form has no values.
func TestForm_BothEncodings_AreRead(t *testing.T) {
	t.Parallel()

	want := formInput{Guest: "guest!", Name: "Zoë &", Number: 7}
	got, err := bindForm(urlEncoded+"; charset=UTF-8", "name=Zo%C3%AB+%26&number=7&other=x")
	require.NoError(t, err)
	require.Equal(t, want, got)

	kind, body := multipartOf(t, [2]string{"name", "Zoë &"}, [2]string{"number", "7"}, [2]string{"other", "x"})
	got, err = bindForm(kind, body)
	require.NoError(t, err)
	require.Equal(t, want, got)

	got, err = bindForm("", "")
	require.NoError(t, err)
	require.Equal(t, formInput{Guest: "guest!"}, got)
}

// TestForm_Malformed_IsRejected checks that ambiguous or invalid forms are refused, with the
// field that is wrong, or "body". 101 fields are one above the limit.
func TestForm_Malformed_IsRejected(t *testing.T) {
	t.Parallel()

	twiceKind, twice := multipartOf(t, [2]string{"name", "a"}, [2]string{"name", "b"})

	var manyFields [][2]string
	for i := range 101 {
		manyFields = append(manyFields, [2]string{fmt.Sprint("f", i), "x"})
	}

	manyKind, many := multipartOf(t, manyFields...)
	var upload bytes.Buffer
	w := multipart.NewWriter(&upload)
	_, err := w.CreateFormFile("name", "cv.pdf")
	require.NoError(t, err)
	require.NoError(t, w.Close())

	for name, c := range map[string]struct{ kind, body, field string }{
		"JSON":                     {"application/json", `{"name":"a"}`, "body"},
		"nothing said":             {"", "name=a", "body"},
		"nonsense said":            {";;;", "name=a", "body"},
		"no boundary":              {"multipart/form-data", "name=a", "body"},
		"a torn multipart":         {manyKind, many[:len(many)/2], "body"},
		"bad escapes":              {urlEncoded, "name=%zz", "body"},
		"many fields":              {manyKind, many, "body"},
		"many fields in the other": {urlEncoded, strings.ReplaceAll(strings.Repeat("&f#=x", 101), "#", "%"), "body"},
		"a field twice":            {urlEncoded, "name=a&name=b", "name"},
		"a part twice":             {twiceKind, twice, "name"},
		"a file":                   {w.FormDataContentType(), upload.String(), "name"},
		"bad UTF-8":                {urlEncoded, "name=%ff", "name"},
		"a NUL":                    {urlEncoded, "name=%00", "name"},
		"a word for a number":      {urlEncoded, "number=seven", "number"},
		"a long name":              {urlEncoded, "name=abcdef", "name"},
	} {
		_, err := bindForm(c.kind, c.body)
		require.ErrorIs(t, err, fault.ErrInvalid, name)
		require.Equal(t, c.field, fault.Of(err).Fields[0].Name, name)
	}
}
