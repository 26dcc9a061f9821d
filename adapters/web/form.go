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

// FormData is a form: its texts, and at most one file for each field.
type FormData struct {
	Values url.Values
	Files  map[string]FormFile
}

// FormFile is a file of a form. If no file was selected for a field, browsers send a file
// without a name and content; ParseForm ignores it.
type FormFile struct {
	Name    string
	Content []byte
}

// readForm parses a form without files.
func readForm(contentType string, body []byte) (url.Values, error) {
	form, err := ParseForm(contentType, body)
	for name := range form.Files {
		return nil, fault.InvalidField(clip(name), "must be text and not a file")
	}

	return form.Values, err
}

// isMultipart reports whether the media type is that of a form with files.
func isMultipart(contentType string) bool {
	kind, _, err := mime.ParseMediaType(contentType)
	return err == nil && kind == "multipart/form-data"
}

// ParseForm parses a form in one of the encodings of browsers, multipart/form-data
// (RFC 7578) or URL-encoded. An empty body is an empty form.
func ParseForm(contentType string, body []byte) (FormData, error) {
	wrong := func(message string) (FormData, error) { return FormData{}, fault.InvalidField("body", message) }

	kind, params, err := mime.ParseMediaType(contentType)
	switch {
	case len(body) == 0:
		return FormData{Values: url.Values{}}, nil
	case err == nil && kind == "application/x-www-form-urlencoded":
		values, err := url.ParseQuery(string(body))
		if err != nil {
			return wrong("must be a well-formed form")
		}

		if len(values) > maxParts {
			return wrong("must not have so many fields")
		}

		return FormData{Values: values}, nil
	case err == nil && kind == "multipart/form-data" && params["boundary"] != "":
		// multipart.Reader accepts a body that is truncated between two parts.
		if !bytes.Contains(body, []byte("--"+params["boundary"]+"--")) {
			return wrong("must be a well-formed form")
		}

		form := FormData{url.Values{}, map[string]FormFile{}}

		parts := multipart.NewReader(bytes.NewReader(body), params["boundary"])
		for n := 0; ; n++ {
			part, err := parts.NextRawPart()
			if errors.Is(err, io.EOF) {
				return form, nil
			}

			if err != nil {
				return wrong("must be a well-formed form")
			}

			if n == maxParts {
				return wrong("must not have so many fields")
			}

			content, err := io.ReadAll(part)
			if err != nil {
				return wrong("must be a well-formed form")
			}

			name := part.FormName()
			switch _, exists := form.Files[name]; {
			case part.FileName() == "" && len(content) == 0 && part.Header.Get("Content-Type") != "": // no file was selected
			case part.FileName() == "":
				form.Values.Add(name, string(content))
			case exists:
				return FormData{}, fault.InvalidField(clip(name), "must be sent only once")
			default:
				form.Files[name] = FormFile{part.FileName(), content}
			}
		}
	}

	return wrong("must be a form, multipart/form-data or application/x-www-form-urlencoded")
}
