package web

import (
	"bytes"
	"context"
	"fmt"
	"mime/multipart"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/core/fault"
)

// formInput is the input of an operation whose body is a form.
type formInput struct {
	Guest  string `cookie:"guest"`
	Name   string `formData:"name" validate:"max=5"`
	Number int    `formData:"number"`
}

// bindForm binds a form by an operation. The value of a cookie is its name and "!".
func bindForm(contentType, body string) (bound formInput, err error) {
	op := Op(func(_ context.Context, _ Call, in formInput) (Done, error) {
		bound = in
		return Done{}, nil
	})
	_, err = op.Handle(context.Background(), Call{}, &Request{
		Header: func(string) string { return contentType },
		Cookie: func(name string) string { return name + "!" },
		Body:   []byte(body),
	})

	return bound, err
}

// formField is a field of a form. A form may have several fields with one name.
type formField struct{ name, value string }

// multipartOf returns a form with the fields in the encoding multipart/form-data.
func multipartOf(t testing.TB, fields ...formField) (contentType, body string) {
	t.Helper()
	var form bytes.Buffer

	w := multipart.NewWriter(&form)
	for _, f := range fields {
		require.NoError(t, w.WriteField(f.name, f.value))
	}

	require.NoError(t, w.Close())

	return w.FormDataContentType(), form.String()
}

// urlEncoded is the content type of the other encoding of forms: name=value&name=value.
const urlEncoded = "application/x-www-form-urlencoded"

// TestForm_BothEncodings_AreRead checks that both encodings of HTML forms give the same values,
// that unknown fields are ignored, and that a request without a form has no values.
func TestForm_BothEncodings_AreRead(t *testing.T) {
	t.Parallel()

	want := formInput{Guest: "guest!", Name: "Zoë &", Number: 7}
	bound, err := bindForm(urlEncoded+"; charset=UTF-8", "name=Zo%C3%AB+%26&number=7&other=x")
	require.NoError(t, err)
	require.Equal(t, want, bound)

	multipartType, body := multipartOf(t, formField{"name", "Zoë &"}, formField{"number", "7"}, formField{"other", "x"})
	bound, err = bindForm(multipartType, body)
	require.NoError(t, err)
	require.Equal(t, want, bound)

	const noContentType = ""

	bound, err = bindForm(noContentType, noBody)
	require.NoError(t, err)
	require.Equal(t, formInput{Guest: "guest!"}, bound, "only the cookie has a value")
}

// TestForm_Malformed_IsRejected checks that ambiguous or invalid forms are refused, and that the
// error names the field that is wrong, or "body".
func TestForm_Malformed_IsRejected(t *testing.T) {
	t.Parallel()

	// A form with two fields of one name.
	twiceType, twice := multipartOf(t, formField{"name", "a"}, formField{"name", "b"})

	// A form with one field above the limit, in both encodings.
	var fields []formField

	tooManyEncoded := url.Values{}
	for i := range maxParts + 1 {
		fieldName := fmt.Sprint("f", i)
		fields = append(fields, formField{fieldName, "x"})
		tooManyEncoded.Set(fieldName, "x")
	}

	tooManyType, tooMany := multipartOf(t, fields...)

	// A form with a file instead of a text.
	var upload bytes.Buffer
	w := multipart.NewWriter(&upload)
	_, err := w.CreateFormFile("name", "cv.pdf")
	require.NoError(t, err)
	require.NoError(t, w.Close())

	uploadType := w.FormDataContentType()

	for name, test := range map[string]struct{ contentType, body, wantField string }{
		"JSON":                     {contentType: "application/json", body: `{"name":"a"}`, wantField: "body"},
		"no content type":          {contentType: "", body: "name=a", wantField: "body"},
		"invalid content type":     {contentType: ";;;", body: "name=a", wantField: "body"},
		"no boundary":              {contentType: "multipart/form-data", body: "name=a", wantField: "body"},
		"a truncated multipart":    {contentType: tooManyType, body: tooMany[:len(tooMany)/2], wantField: "body"},
		"bad escapes":              {contentType: urlEncoded, body: "name=%zz", wantField: "body"},
		"too many parts":           {contentType: tooManyType, body: tooMany, wantField: "body"},
		"too many encoded fields":  {contentType: urlEncoded, body: tooManyEncoded.Encode(), wantField: "body"},
		"a field twice":            {contentType: urlEncoded, body: "name=a&name=b", wantField: "name"},
		"a part twice":             {contentType: twiceType, body: twice, wantField: "name"},
		"a file":                   {contentType: uploadType, body: upload.String(), wantField: "name"},
		"bad UTF-8":                {contentType: urlEncoded, body: "name=%ff", wantField: "name"},
		"a NUL":                    {contentType: urlEncoded, body: "name=%00", wantField: "name"},
		"a word for a number":      {contentType: urlEncoded, body: "number=seven", wantField: "number"},
		"a name above the maximum": {contentType: urlEncoded, body: "name=abcdef", wantField: "name"},
	} {
		_, err := bindForm(test.contentType, test.body)
		require.ErrorIs(t, err, fault.ErrInvalid, name)

		firstProblem := fault.Of(err).Fields[0]
		require.Equal(t, test.wantField, firstProblem.Name, name)
	}
}
