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

// Problem is an error of a form that the user can correct, for the template "problem". Pages pass a
// nil *Problem for a form without an error, so that the methods accept nil.
type Problem struct {
	// Error has the message for the user. Its Fields are the invalid fields with their messages.
	*fault.Error
	// FormName is the name of the form that has the problem, on pages with several forms.
	FormName string
}

// fieldLabels maps the names of fields in the API to their labels on pages. A name that is missing
// here is its own label, with a capital letter (see fieldLabel).
var fieldLabels = map[string]string{
	"applicationDeadline": "Closing date",
	"companyName":         "Organization",
	"confirm":             "The confirmation",
	"contractType":        "Contract",
	"coverLetter":         "Cover letter",
	"currentPassword":     "Your password",
	"currentRole":         "Current role",
	"documentIds":         "Documents",
	"email":               "E-mail address",
	"employmentType":      "Working pattern",
	"employmentTypes":     "Contracts and working patterns",
	"locationRadius":      "Distance in miles",
	"newPassword":         "New password",
	"paymentMethodId":     "Payment method",
	"preferredLocation":   "Where you want to work",
	"redirectUris":        "Redirect addresses",
	"salary.currency":     "Currency",
	"salary.max":          "Highest pay",
	"salary.min":          "Lowest pay",
	"salaryMax":           "Highest pay a year",
	"salaryMin":           "Lowest pay a year",
	"scheduledAt":         "Date and time",
	"token":               "The link",
	"type":                "Type",
	"url":                 "URL",
	"userType":            "Kind of account",
}

// fieldLabel returns the label of a field by its path in the input. The path may lead to a part of the
// field, such as salary.min or documentIds[2]. A part without a label of its own has the label of the
// field. The label of an empty path is empty.
func fieldLabel(path string) string {
	if label := fieldLabels[path]; label != "" {
		return label
	}

	name, _, _ := strings.Cut(path, ".")
	name, _, _ = strings.Cut(name, "[")

	if label := fieldLabels[name]; label != "" || name == "" {
		return label
	}

	return strings.ToUpper(name[:1]) + name[1:]
}

// noFormName is the name of the form of a problem on a page that has only one form, or one place for
// the problems of all its forms.
const noFormName = ""

// FormProblem returns the problem for an error that the user can correct in the form: an invalid
// value, a conflict or a missing password. A rate limit is also such an error, because the user can
// try again later. FormProblem returns nil for all other errors.
func FormProblem(err error, formName string) *Problem {
	var f *fault.Error
	switch {
	case !errors.As(err, &f):
		return nil
	case f.Kind == fault.TooMany:
		limited := *f // a copy, because faults are shared
		limited.Message = "This was done too often; please try again in " + waitText(f.RetryAfter)
		return &Problem{Error: &limited, FormName: formName}
	case errors.Is(f, auth.ErrReauthenticate):
		f = f.WithFields(fault.Field{Name: "currentPassword", Message: "is required, because you signed in more than 10 minutes ago"})
	case f.Kind != fault.Invalid && f.Kind != fault.Conflict:
		return nil
	}

	return &Problem{Error: f, FormName: formName}
}

// ProblemLink is an error of a field in the list of errors above a form. It links to the field.
type ProblemLink struct {
	Name string // of the field
	Text string
}

// Links returns the errors of the invalid fields.
func (p *Problem) Links() []ProblemLink {
	links := make([]ProblemLink, len(p.Fields))
	for i, field := range p.Fields {
		links[i] = ProblemLink{Name: field.Name, Text: fieldLabel(field.Name) + " " + field.Message}
	}

	return links
}

// Text returns the error of the field as a sentence that begins with the label. It is empty if the
// field is valid.
func (p *Problem) Text(name string) string {
	if message := p.FieldError(name); message != "" {
		return fieldLabel(name) + " " + message
	}

	return ""
}

// FieldError returns the error of the field without its label. It is empty if the field is
// valid.
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

// ForForm returns the problem if it belongs to the form, and nil otherwise.
func (p *Problem) ForForm(formName string) *Problem {
	if p == nil || p.FormName != formName {
		return nil
	}

	return p
}

// Status returns the HTTP status of a page with the problem. It is 200 for nil.
func (p *Problem) Status() int {
	switch {
	case p == nil:
		return fiber.StatusOK
	case p.Kind == fault.Forbidden: // auth.ErrReauthenticate
		return fiber.StatusForbidden
	case p.Kind == fault.Conflict:
		return fiber.StatusConflict
	case p.Kind == fault.TooMany:
		return fiber.StatusTooManyRequests
	}

	return fiber.StatusBadRequest
}

// minMinutes is the duration from which waitText uses minutes. It is more than a minute, so that the
// number of minutes is never 1.
const minMinutes = 90 * time.Second

// waitText describes a duration in seconds or, from minMinutes, in minutes. Both are rounded up.
func waitText(d time.Duration) string {
	if d >= minMinutes {
		minutes := int((d + time.Minute - 1) / time.Minute)
		return fmt.Sprintf("%d minutes", minutes)
	}

	if seconds := wholeSeconds(d); seconds != 1 {
		return fmt.Sprintf("%d seconds", seconds)
	}

	return "1 second"
}

// wholeSeconds returns the duration in seconds, rounded up, so that clients do not retry too
// early.
func wholeSeconds(d time.Duration) int { return int((d + time.Second - 1) / time.Second) }
