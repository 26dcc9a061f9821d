package web

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/url"

	"github.com/locumhq/locum/core/fault"
)

// maxParts limits the number of fields of a form, including fields that nothing reads.
const maxParts = 100

// FormData is a parsed form.
type FormData struct {
	Values url.Values          // the texts
	Files  map[string]FormFile // at most one file for each field, by the name of the field
}

// FormFile is a file of a form.
type FormFile struct {
	Name    string
	Content []byte
}

// readForm parses a form without files. A file in the form is an error.
func readForm(contentType string, body []byte) (url.Values, error) {
	form, err := ParseForm(contentType, body)
	for name := range form.Files {
		return nil, fault.InvalidField(clip(name), "must be text and not a file")
	}

	return form.Values, err
}

// isMultipart reports whether the media type is multipart/form-data, the encoding of forms with
// files.
func isMultipart(contentType string) bool {
	kind, _, err := mime.ParseMediaType(contentType)
	return err == nil && kind == "multipart/form-data"
}

// The faults of a body that cannot be read as a form.
var (
	errMalformedForm = invalidBody("must be a well-formed form")
	errTooManyParts  = invalidBody(fmt.Sprintf("must have at most %d fields", maxParts))
	errNoForm        = invalidBody("must be a form, multipart/form-data or application/x-www-form-urlencoded")
)

// invalidBody returns the fault for the body as a whole.
func invalidBody(message string) error { return fault.InvalidField("body", message) }

// ParseForm parses a form in one of the two encodings of browsers: multipart/form-data
// (RFC 7578) or application/x-www-form-urlencoded. An empty body is an empty form.
func ParseForm(contentType string, body []byte) (FormData, error) {
	if len(body) == 0 {
		return FormData{Values: url.Values{}}, nil
	}

	kind, params, err := mime.ParseMediaType(contentType)
	switch {
	case err == nil && kind == "application/x-www-form-urlencoded":
		values, err := url.ParseQuery(string(body))
		if err != nil {
			return FormData{}, errMalformedForm
		}

		if len(values) > maxParts {
			return FormData{}, errTooManyParts
		}

		return FormData{Values: values}, nil
	case err == nil && kind == "multipart/form-data" && params["boundary"] != "":
		return parseMultipart(body, params["boundary"])
	}

	return FormData{}, errNoForm
}

// parseMultipart parses a form in the encoding multipart/form-data.
func parseMultipart(body []byte, boundary string) (FormData, error) {
	// multipart.Reader accepts a body that is truncated between two parts.
	isComplete := bytes.Contains(body, []byte("--"+boundary+"--"))
	if !isComplete {
		return FormData{}, errMalformedForm
	}

	form := FormData{Values: url.Values{}, Files: map[string]FormFile{}}

	parts := multipart.NewReader(bytes.NewReader(body), boundary)
	for n := 0; ; n++ {
		part, err := parts.NextRawPart()
		if errors.Is(err, io.EOF) {
			return form, nil
		}

		if err != nil {
			return FormData{}, errMalformedForm
		}

		if n == maxParts {
			return FormData{}, errTooManyParts
		}

		content, err := io.ReadAll(part)
		if err != nil {
			return FormData{}, errMalformedForm
		}

		if err := form.add(part, content); err != nil {
			return FormData{}, err
		}
	}
}

// add adds a part of the body: a text, or a file. It ignores the empty file without a name that
// browsers send for a field for which no file was selected.
func (f FormData) add(part *multipart.Part, content []byte) error {
	name := part.FormName()
	isFile := part.FileName() != ""

	// Only files have a Content-Type.
	isUnselected := !isFile && len(content) == 0 && part.Header.Get("Content-Type") != ""
	if isUnselected {
		return nil
	}

	if !isFile {
		f.Values.Add(name, string(content))
		return nil
	}

	if _, exists := f.Files[name]; exists {
		return fault.InvalidField(clip(name), "must be sent only once")
	}

	f.Files[name] = FormFile{Name: part.FileName(), Content: content}

	return nil
}
