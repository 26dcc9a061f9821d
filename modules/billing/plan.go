package billing

import (
	"slices"
	"strings"
	"time"

	"github.com/locumhq/locum/core/fault"
)

// Money is an amount in the minor unit of its currency, such as pence.
type Money struct {
	Minor    int64
	Currency string // ISO 4217
}

// Major returns the amount in the major unit, for display only.
func (m Money) Major() float64 { return float64(m.Minor) / 100 }

// Plan is a monthly plan for one kind of owners.
type Plan struct {
	For   OwnerKind
	ID    string
	Name  string
	Price Money
}

// Free reports whether the plan costs nothing.
func (p Plan) Free() bool { return p.Price.Minor == 0 }

// Basic is the id of the default plan of jobseekers, and Free is the id of the default plan of
// applications.
const (
	Basic = "basic"
	Free  = "free"
)

// Free returns the id of the owner's default plan.
func (o Owner) Free() string {
	if o.Kind == Application {
		return Free
	}

	return Basic
}

// Plans returns the plans of jobseekers, the cheapest first.
func Plans() []Plan {
	return []Plan{
		{For: User, ID: Basic, Name: "Basic", Price: Money{Minor: 0, Currency: "GBP"}},
		{For: User, ID: "premium", Name: "Premium", Price: Money{Minor: 999, Currency: "GBP"}},
	}
}

// CheckPlanID returns a fault about the field planId unless the id belongs to a plan of
// jobseekers.
func CheckPlanID(id string) error {
	_, err := findPlan(Plans(), User, id)
	return err
}

// findPlan returns the plan with the id for owners of the kind, or a fault about the field
// planId.
func findPlan(plans []Plan, kind OwnerKind, id string) (Plan, error) {
	if id == "" {
		return Plan{}, fault.InvalidField("planId", "is required")
	}

	var ids []string
	for _, p := range plans {
		switch {
		case p.For != kind: // not a valid id for these owners, so not named in the fault
		case p.ID == id:
			return p, nil
		default:
			ids = append(ids, p.ID)
		}
	}

	return Plan{}, fault.InvalidField("planId", "must be one of: "+strings.Join(ids, ", "))
}

// plansOf returns the plans for the owner.
func (s *Service) plansOf(o Owner) []Plan {
	return slices.DeleteFunc(slices.Clone(s.Plans), func(p Plan) bool { return p.For != o.Kind })
}

// plan returns the plan with the id, for any kind of owner. It returns false if the settings do
// not contain the plan, which may have been for sale earlier.
func (s *Service) plan(id string) (plan Plan, isForSale bool) {
	i := slices.IndexFunc(s.Plans, func(p Plan) bool { return p.ID == id })
	if i < 0 {
		return Plan{}, false
	}

	return s.Plans[i], true
}

// monthAfter returns the first time later than from that is a whole number of months after
// the anchor. If a month does not have the anchor's day, its last day is used: 31 January,
// 28 February, 31 March.
func monthAfter(anchor, from time.Time) time.Time {
	// Begin with the month of from, in which the anchor's day may be over.
	months := (from.Year()-anchor.Year())*12 + int(from.Month()-anchor.Month())
	for {
		if at := addMonths(anchor, months); at.After(from) {
			return at
		}

		months++
	}
}

// addMonths returns the same day n months later, or the last day of that month if it is
// shorter.
func addMonths(t time.Time, n int) time.Time {
	firstDay := time.Date(t.Year(), t.Month()+time.Month(n), 1, t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), time.UTC)
	daysInMonth := firstDay.AddDate(0, 1, -1).Day()
	day := min(t.Day(), daysInMonth)

	return firstDay.AddDate(0, 0, day-1)
}
