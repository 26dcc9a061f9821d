package listings

import (
	"fmt"
	"strings"
	"time"

	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/id"
	"github.com/locumhq/locum/core/patch"
)

// CreateInput is the input for a new listing. Status may be draft; other values
// are ignored.
type CreateInput struct {
	Title       string `json:"title" validate:"notblank,max=200"`
	Description string `json:"description" validate:"notblank,max=20000"`
	Details
	Status *string `json:"status"`
}

// UpdateInput is the input for a change. Absent fields stay unchanged.
type UpdateInput struct {
	Title       *string `json:"title" validate:"omitempty,notblank,max=200"`
	Description *string `json:"description" validate:"omitempty,notblank,max=20000"`
	Details
	Status *string `json:"status" validate:"omitempty,oneof=active inactive closed"`
}

// Details are the optional fields of a listing. An empty text, list or salary
// object clears the value.
type Details struct {
	Department          *string          `json:"department" validate:"omitempty,max=200"`
	ContractType        *string          `json:"contractType" validate:"omitempty,oneof='' permanent temporary contract"`
	Salary              *SalaryInput     `json:"salary"`
	Location            *string          `json:"location" validate:"omitempty,max=200"`
	Requirements        *[]string        `json:"requirements" validate:"omitempty,max=50,dive,notblank,max=500"`
	Benefits            *[]string        `json:"benefits" validate:"omitempty,max=50,dive,notblank,max=500"`
	ApplicationDeadline *string          `json:"applicationDeadline"`
	Specialty           *string          `json:"specialty" validate:"omitempty,max=200"`
	EmploymentType      *string          `json:"employmentType" validate:"omitempty,oneof='' full-time part-time bank per-diem flexible"`
	Remote              *bool            `json:"remote"`
	Questions           *[]QuestionInput `json:"questions" validate:"omitempty,max=50,dive"`
	// RequireFutureDeadline refuses the input if the deadline of the listing has passed, even if
	// the input itself has no deadline. The API does not set it.
	RequireFutureDeadline bool `json:"-"`
}

// checkDeadline returns a fault of the field applicationDeadline if the input does not permit the
// deadline of the listing.
func (d Details) checkDeadline(l *Listing, now time.Time) error {
	if d.RequireFutureDeadline && l.Deadline != nil && !l.Deadline.After(now) {
		return fault.InvalidField("applicationDeadline", "must not be in the past")
	}

	return nil
}

// QuestionInput is the input for a question. A question without an id gets a new one.
type QuestionInput struct {
	ID       string `json:"id" validate:"max=64"`
	Text     string `json:"text" validate:"notblank,max=500"`
	Required bool   `json:"required"`
}

// Problems returns errors for the rules that the validation tags cannot express.
func (d Details) Problems() []fault.Field {
	var out []fault.Field
	if d.Salary != nil {
		if _, err := newSalary(*d.Salary); err != nil {
			out = append(out, fault.Of(err).Fields...)
		}
	}

	if d.ApplicationDeadline != nil && *d.ApplicationDeadline != "" {
		if _, err := parseDeadline(*d.ApplicationDeadline); err != nil {
			out = append(out, fault.Field{Name: "applicationDeadline", Message: err.Error()})
		}
	}

	if d.Questions != nil {
		seen := map[string]bool{}
		for i, q := range *d.Questions {
			if q.ID != "" && seen[q.ID] {
				out = append(out, fault.Field{Name: fmt.Sprintf("questions.%d.id", i), Message: "must be unique"})
			}

			seen[q.ID] = true
		}
	}

	return out
}

// apply sets the fields of the content that the input contains. valid.Check must have
// accepted the input.
func (d Details) apply(c *Content, newID id.Source) {
	setTexts := func(to, from *[]string) {
		if from == nil { // not in the input
			return
		}

		*to = nil
		for _, s := range *from {
			*to = append(*to, strings.TrimSpace(s))
		}
	}

	patch.SetText(&c.Department, d.Department)
	patch.SetText(&c.ContractType, d.ContractType)
	patch.SetText(&c.EmploymentType, d.EmploymentType)
	patch.SetText(&c.Specialty, d.Specialty)
	patch.SetText(&c.Location, d.Location)
	setTexts(&c.Requirements, d.Requirements)
	setTexts(&c.Benefits, d.Benefits)
	patch.Set(&c.Remote, d.Remote)

	if d.Salary != nil {
		c.Salary, _ = newSalary(*d.Salary) // Problems has reported its errors
	}

	if d.ApplicationDeadline != nil {
		c.Deadline = nil // an empty text clears it
		if at, err := parseDeadline(*d.ApplicationDeadline); err == nil {
			c.Deadline = &at
		}
	}

	if d.Questions != nil {
		c.Questions = nil
		for _, q := range *d.Questions {
			if q.ID == "" {
				q.ID = newID()
			}

			c.Questions = append(c.Questions, Question{ID: q.ID, Text: strings.TrimSpace(q.Text), Required: q.Required})
		}
	}
}

// parseDeadline parses the deadline of a listing. A date without a time includes its day.
func parseDeadline(text string) (time.Time, error) {
	const endOfDay = true

	return ParseMoment(text, endOfDay)
}

// ParseMoment parses an RFC 3339 date-time or date. A date means the beginning of the day, or
// its last second if endOfDay is true.
func ParseMoment(s string, endOfDay bool) (time.Time, error) {
	if day, err := time.Parse(time.DateOnly, s); err == nil {
		if endOfDay {
			day = day.AddDate(0, 0, 1).Add(-time.Second)
		}

		return checkYear(day)
	}

	at, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		return time.Time{}, fmt.Errorf("must be a date (2026-11-20) or a date-time (2026-11-20T09:30:00Z)")
	}

	return checkYear(at.UTC().Truncate(time.Microsecond))
}

// checkYear returns the timestamp, or an error if its year is out of the range that every
// database can store and compare.
func checkYear(at time.Time) (time.Time, error) {
	if at.Year() < 1900 || at.Year() > 9000 {
		return time.Time{}, fmt.Errorf("must be between the years 1900 and 9000")
	}

	return at, nil
}
