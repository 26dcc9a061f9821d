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

// Problem is what somebody who filled in a form has to mend, for the template
// "problem".
type Problem struct {
	*fault.Error
	// Lines say what is wrong with each field, in words.
	Lines []string
	// At is the form that it belongs to, where a page has several.
	At string
}

// labels are how the pages call fields.
var labels = map[string]string{
	"companyName": "Company", "currentPassword": "Your password", "email": "E-mail address", "events": "Events", "name": "Name", "description": "Description", "password": "Password",
	"paymentMethodId": "Payment method", "plan": "Plan", "redirectUris": "Redirect addresses", "since": "Since", "status": "Status",
	"token": "The link", "type": "Event", "url": "URL", "userType": "Kind of account",
}

// Refused is what can be mended in the form, or by waiting, and nil for every other
// error.
func Refused(err error, at string) *Problem {
	var f *fault.Error
	switch {
	case !errors.As(err, &f):
		return nil
	case f.Kind == fault.TooMany:
		often := *f
		often.Message = fmt.Sprintf("This was done too often; please try again in %d seconds", seconds(f.RetryAfter))
		return &Problem{Error: &often, At: at}
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

// Of is what is wrong with the field, empty for nothing.
func (p *Problem) Of(name string) string {
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

// In is the problem if it belongs to the form, else nil.
func (p *Problem) In(at string) *Problem {
	if p == nil || p.At != at {
		return nil
	}
	return p
}

// Status is that of a page with the problem, which may be nil.
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
