package pages

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/fault"
)

// Problem is an error of a form that the user can correct, for the template "problem".
type Problem struct {
	*fault.Error
	// At is the name of the form, if the page has several.
	At string
}

// labels are the labels of fields on pages, where they differ from the names of the fields.
var labels = map[string]string{
	"applicationDeadline": "Closing date", "companyName": "Organization", "contractType": "Contract", "coverLetter": "Cover letter", "currentPassword": "Your password",
	"documentIds": "Documents", "email": "E-mail address", "employmentType": "Working pattern", "newPassword": "New password", "paymentMethodId": "Payment method",
	"redirectUris": "Redirect addresses", "salary.currency": "Currency", "salary.max": "Highest pay", "salary.min": "Lowest pay", "scheduledAt": "Date and time", "token": "The link", "type": "Type", "url": "URL", "userType": "Kind of account",
}

// labelOf returns the label of a field, of which path may name a part.
func labelOf(path string) string {
	if label := labels[path]; label != "" {
		return label
	}
	name, _, _ := strings.Cut(path, ".")
	name, _, _ = strings.Cut(name, "[")
	return cmp.Or(labels[name], strings.ToUpper(name[:min(1, len(name))])+name[min(1, len(name)):])
}

// FormProblem returns the problem of the form for an error that the user can correct, or
// that waiting resolves. It returns nil for all other errors.
func FormProblem(err error, at string) *Problem {
	var f *fault.Error
	switch {
	case !errors.As(err, &f):
		return nil
	case f.Kind == fault.TooMany:
		limited := *f
		limited.Message = fmt.Sprintf("This was done too often; please try again in %d seconds", seconds(f.RetryAfter))
		return &Problem{Error: &limited, At: at}
	case errors.Is(f, auth.ErrReauthenticate):
		f = f.WithFields(fault.Field{Name: "currentPassword", Message: "is required, because you signed in more than 10 minutes ago"})
	case f.Kind != fault.Invalid && f.Kind != fault.Conflict:
		return nil
	}
	return &Problem{Error: f, At: at}
}

// ProblemLink is an error with the name of its field.
type ProblemLink struct{ Name, Text string }

// Links returns the errors of the fields.
func (p *Problem) Links() []ProblemLink {
	out := make([]ProblemLink, len(p.Fields))
	for i, field := range p.Fields {
		out[i] = ProblemLink{field.Name, labelOf(field.Name) + " " + field.Message}
	}
	return out
}

// Text returns the error of the field with its label, empty if it is valid.
func (p *Problem) Text(name string) string {
	if message := p.FieldError(name); message != "" {
		return labelOf(name) + " " + message
	}
	return ""
}

// FieldError returns the message for the field, empty if it is valid.
func (p *Problem) FieldError(name string) string {
	if p == nil {
		return ""
	}
	for _, field := range p.Fields {
		if field.Name == name {
			return field.Message
		}
	}
	return ""
}

// ForForm returns the problem if it belongs to the form, else nil.
func (p *Problem) ForForm(at string) *Problem {
	if p == nil || p.At != at {
		return nil
	}
	return p
}

// Status returns the status of a page with the problem, which may be nil.
func (p *Problem) Status() int {
	switch {
	case p == nil:
		return fiber.StatusOK
	case p.Kind == fault.Forbidden:
		return fiber.StatusForbidden
	case p.Kind == fault.Conflict:
		return fiber.StatusConflict
	case p.Kind == fault.TooMany:
		return fiber.StatusTooManyRequests
	}
	return fiber.StatusBadRequest
}

func seconds(d time.Duration) int { return int((d + time.Second - 1) / time.Second) }
