package pages

import (
	"html/template"
	"net/url"
	"strings"

	"github.com/gofiber/fiber/v2"

	"github.com/locumhq/locum/adapters/web"
	"github.com/locumhq/locum/core/fault"
)

// Form is the input of a form.
type Form struct {
	Values  url.Values
	Problem *Problem // why the submission failed; nil otherwise
}

// FormOf returns the form in the body of the request.
func FormOf(c *fiber.Ctx) Form {
	values := url.Values{}
	for name, value := range c.Request().PostArgs().All() {
		values.Add(string(name), string(value))
	}

	return Form{Values: values}
}

// MaxUploadBody is the maximum size of the body of a form with files, in bytes.
const MaxUploadBody = 10 << 20

// ReadUpload parses a form with files (multipart/form-data), so that FormOf returns its
// values and FileOf its files.
func ReadUpload(c *fiber.Ctx) error {
	form, err := web.ParseForm(c.Get(fiber.HeaderContentType), c.Request().Body())
	if err != nil {
		return err
	}

	// FormOf reads PostArgs, which are the values of a form in the other encoding. Replace them by
	// the values of this form.
	args := c.Request().PostArgs()
	args.Reset()

	for name, values := range form.Values {
		for _, value := range values {
			args.Add(name, value)
		}
	}

	c.Locals(uploadKey{}, upload{filesByField: form.Files})

	return nil
}

// MarkUploadTooLarge makes FileOf return a fault. It is used in place of ReadUpload for a
// body over MaxUploadBody.
func MarkUploadTooLarge(c *fiber.Ctx) { c.Locals(uploadKey{}, upload{isTooLarge: true}) }

// FileOf returns the file in a field of the form. It is nil if the browser sent none, which is
// not an error.
func FileOf(c *fiber.Ctx, name string) (*web.FormFile, error) {
	u := uploadOf(c)
	if u.isTooLarge {
		return nil, fault.InvalidField(name, "is too large")
	}

	if file, exists := u.filesByField[name]; exists {
		return &file, nil
	}

	return nil, nil
}

// Value returns the trimmed value of a field.
func (f Form) Value(name string) string { return strings.TrimSpace(f.Values.Get(name)) }

// Choice is a value of a select or of radio buttons.
type Choice struct{ Value, Text string }

// Field is a control of a form with its label, its hint and its error. It is the data of the templates
// "field" and "radios".
type Field struct {
	Name, Label string
	// Type is the type of the HTML input, or textarea or select.
	Type string
	// Hint is a text below the label, Class an HTML class. Both may be empty.
	Hint, Class string
	Value       string
	// Error is a sentence about the value. It is empty if the value is valid.
	Error    string
	Optional bool
	// IsConditional marks a field that only some choices of the form require.
	IsConditional bool
	// Choices are the values of a select or of radio buttons.
	Choices []Choice

	attributes  []string // further HTML attributes of the control, such as required or min="1"
	describedBy []string // ids of the elements that describe the control: its hint and its error
}

// newField returns a field of the form. Templates call it as the function field. Each option
// has the form NAME or NAME=VALUE:
//   - type is text by default, or textarea, select, email, …
//   - hint, class and value set these properties.
//   - optional makes the field optional. Other fields are required.
//   - conditional is for a field that only some choices of the form require: it is neither
//     labelled as optional nor required by the browser.
//   - All other options are HTML attributes of the control.
//
// A value that was sent takes precedence over the option value. Passwords are not shown again.
func newField(form Form, name, label string, options ...string) Field {
	f := Field{Name: name, Label: label, Type: "text", Error: form.Problem.Text(name)}
	for _, option := range options {
		f = f.withOption(option)
	}

	if form.Values.Has(name) {
		f.Value = form.Values.Get(name)
	}

	if f.Type == "password" {
		f.Value = ""
	}

	if !f.Optional && !f.IsConditional {
		f.attributes = append(f.attributes, "required")
	}

	if f.Error != "" {
		f.describedBy = append(f.describedBy, name+"-error")
		f.attributes = append(f.attributes, `aria-invalid="true"`)
	}

	return f
}

// withOption returns the field with an option of newField.
func (f Field) withOption(option string) Field {
	key, value, hasValue := strings.Cut(option, "=")
	switch key {
	case "type":
		f.Type = value
	case "hint":
		f.Hint = value
		f.describedBy = append(f.describedBy, f.Name+"-hint")
	case "class":
		f.Class = value
	case "value":
		f.Value = value
	case "optional":
		f.Optional = true
	case "conditional":
		f.IsConditional = true
	default:
		attribute := key
		if hasValue {
			attribute += `="` + template.HTMLEscapeString(value) + `"`
		}

		f.attributes = append(f.attributes, attribute)
	}

	return f
}

// withChoices returns the field with the choices.
func withChoices(choices []Choice, f Field) Field {
	f.Choices = choices
	return f
}

// Attributes returns the HTML attributes of the control, each with a space before it.
func (f Field) Attributes() template.HTMLAttr {
	var b strings.Builder
	for _, attribute := range f.attributes {
		b.WriteString(" " + attribute)
	}

	return template.HTMLAttr(b.String()) + f.DescribedBy() //nolint:gosec // templates contain the names, and values are escaped
}

// DescribedBy returns the attribute aria-describedby with the ids of the hint and the error,
// with a space before it.
func (f Field) DescribedBy() template.HTMLAttr {
	if len(f.describedBy) == 0 {
		return ""
	}

	return template.HTMLAttr(` aria-describedby="` + strings.Join(f.describedBy, " ") + `"`) //nolint:gosec // templates contain the names
}
