package listings

import "github.com/locumhq/locum/core/fault"

// Problems returns all faults of the details that need no look-up; apply stops at
// the first one.
func (d Details) Problems() []fault.Field {
	var out []fault.Field
	if d.Salary != nil {
		if _, err := newSalary(*d.Salary); err != nil {
			out = append(out, fault.Of(err).Fields...)
		}
	}
	if d.ApplicationDeadline != nil && *d.ApplicationDeadline != "" {
		if _, err := ParseMoment(*d.ApplicationDeadline, true); err != nil {
			out = append(out, fault.Field{Name: "applicationDeadline", Message: err.Error()})
		}
	}
	return out
}
