package web

import (
	"bytes"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/url"

	"github.com/locumhq/locum/core/fault"
)

// maxParts limits the fields of a form. Unknown fields are ignored.
const maxParts = 100

// readForm parses a form in one of the encodings of browsers, multipart/form-data
// (RFC 7578) or URL-encoded. An empty body is an empty form.
func readForm(contentType string, body []byte) (url.Values, error) {
	wrong := func(message string) (url.Values, error) { return nil, fault.InvalidField("body", message) }
	kind, params, err := mime.ParseMediaType(contentType)
	switch {
	case len(body) == 0:
		return url.Values{}, nil
	case err == nil && kind == "application/x-www-form-urlencoded":
		values, err := url.ParseQuery(string(body))
		if err != nil {
			return wrong("must be a well-formed form")
		}
		if len(values) > maxParts {
			return wrong("must not have so many fields")
		}
		return values, nil
	case err == nil && kind == "multipart/form-data" && params["boundary"] != "":
		// multipart.Reader accepts a body that is truncated between two parts.
		if !bytes.Contains(body, []byte("--"+params["boundary"]+"--")) {
			return wrong("must be a well-formed form")
		}
		values := url.Values{}
		parts := multipart.NewReader(bytes.NewReader(body), params["boundary"])
		for n := 0; ; n++ {
			part, err := parts.NextRawPart()
			if errors.Is(err, io.EOF) {
				return values, nil
			}
			if err != nil {
				return wrong("must be a well-formed form")
			}
			if n == maxParts {
				return wrong("must not have so many fields")
			}
			if part.FileName() != "" {
				return nil, fault.InvalidField(clip(part.FormName()), "must be text and not a file")
			}
			text, err := io.ReadAll(part)
			if err != nil {
				return wrong("must be a well-formed form")
			}
			values.Add(part.FormName(), string(text))
		}
	}
	return wrong("must be a form, multipart/form-data or application/x-www-form-urlencoded")
}
