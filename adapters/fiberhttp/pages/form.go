package pages

import (
	"html/template"
	"net/url"
	"strings"

	"github.com/gofiber/fiber/v2"

	"github.com/locumhq/locum/adapters/web"
	"github.com/locumhq/locum/core/fault"
)

// Form is the input of a form and the problem of its submission.
type Form struct {
	Values  url.Values
	Problem *Problem
}

// FormOf returns the input of a form that was sent.
func FormOf(c *fiber.Ctx) Form {
	values := url.Values{}
	for name, value := range c.Request().PostArgs().All() {
		values.Add(string(name), string(value))
	}
	return Form{Values: values}
}

// UploadBody is the largest body of a form with files.
const UploadBody = 10 << 20

// filesKey is the local with the files of a form.
const filesKey = "locum.files"

// ReadUpload parses a form with files. Its texts are those of FormOf.
func ReadUpload(c *fiber.Ctx) error {
	form, err := web.ParseForm(c.Get(fiber.HeaderContentType), c.Request().Body())
	if err != nil {
		return err
	}
	args := c.Request().PostArgs() // parsed, if the form has the other encoding
	args.Reset()
	for name, values := range form.Values {
		for _, value := range values {
			args.Add(name, value)
		}
	}
	c.Locals(filesKey, form.Files)
	return nil
}

// RefuseUpload makes FileOf return a fault, because the form is too large to be read.
func RefuseUpload(c *fiber.Ctx) { c.Locals(filesKey, true) }

// FileOf returns a file of a form, nil if none was sent.
func FileOf(c *fiber.Ctx, name string) (*web.FormFile, error) {
	switch files := c.Locals(filesKey).(type) {
	case bool:
		return nil, fault.InvalidField(name, "is too large")
	case map[string]web.FormFile:
		if file, exists := files[name]; exists {
			return &file, nil
		}
	}
	return nil, nil
}

// Value returns the trimmed value of a field.
func (f Form) Value(name string) string { return strings.TrimSpace(f.Values.Get(name)) }

// Choice is a value of a select or of radio buttons.
type Choice struct{ Value, Text string }

// Field is the data of the templates "field" and "radios".
type Field struct {
	Name, Label, Type, Hint, Class, Value, Error string
	Optional                                     bool
	Choices                                      []Choice

	attributes []string
	described  []string // ids of what describes it
}

// newField returns the field of a form with the options, each NAME or NAME=VALUE: type
// (text by default, or textarea, select, email, …), hint, class and value, optional, and
// attributes of the control. A field that is not optional is required. The value that was
// sent takes precedence over the option value, and passwords are not shown again.
func newField(form Form, name, label string, options ...string) Field {
	f := Field{Name: name, Label: label, Type: "text", Error: form.Problem.Text(name)}
	for _, option := range options {
		key, value, hasValue := strings.Cut(option, "=")
		switch key {
		case "type":
			f.Type = value
		case "hint":
			f.Hint = value
			f.described = append(f.described, name+"-hint")
		case "class":
			f.Class = value
		case "value":
			f.Value = value
		case "optional":
			f.Optional = true
		default:
			if hasValue {
				key += `="` + template.HTMLEscapeString(value) + `"`
			}
			f.attributes = append(f.attributes, key)
		}
	}
	if form.Values.Has(name) {
		f.Value = form.Values.Get(name)
	}
	if f.Type == "password" {
		f.Value = ""
	}
	if !f.Optional {
		f.attributes = append(f.attributes, "required")
	}
	if f.Error != "" {
		f.described = append(f.described, name+"-error")
		f.attributes = append(f.attributes, `aria-invalid="true"`)
	}
	return f
}

// withChoices returns the field with the choices.
func withChoices(choices []Choice, f Field) Field {
	f.Choices = choices
	return f
}

// Attributes returns the attributes of the control, each after a space.
func (f Field) Attributes() template.HTMLAttr {
	var b strings.Builder
	for _, a := range f.attributes {
		b.WriteString(" " + a)
	}
	return template.HTMLAttr(b.String()) + f.DescribedBy() //nolint:gosec // names are of templates, values are escaped
}

// DescribedBy returns the attribute with the ids of the hint and the error, after a space.
func (f Field) DescribedBy() template.HTMLAttr {
	if len(f.described) == 0 {
		return ""
	}
	return template.HTMLAttr(` aria-describedby="` + strings.Join(f.described, " ") + `"`) //nolint:gosec // names are of templates
}
