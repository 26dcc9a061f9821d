package pages

import (
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
	// Lines are the messages for the fields.
	Lines []string
	// At is the name of the form, if the page has several.
	At string
}

// labels are the labels of fields on pages.
var labels = map[string]string{
	"companyName": "Company", "currentPassword": "Your password", "email": "E-mail address", "events": "Events", "name": "Name", "description": "Description", "password": "Password",
	"paymentMethodId": "Payment method", "plan": "Plan", "redirectUris": "Redirect addresses", "since": "Since", "status": "Status",
	"token": "The link", "type": "Event", "url": "URL", "userType": "Kind of account",
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
	p := &Problem{Error: f, At: at}
	for _, field := range f.Fields {
		name, _, _ := strings.Cut(field.Name, ".")
		name, _, _ = strings.Cut(name, "[")
		if label, known := labels[name]; known {
			name = label
		}
		p.Lines = append(p.Lines, name+" "+field.Message)
	}
	return p
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
