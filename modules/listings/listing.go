package listings

import (
	"cmp"
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/locumhq/locum/core/event"
	"github.com/locumhq/locum/core/fault"
)

// Status is the status of a listing.
type Status string

// The statuses. An employer sets the first three. A draft is a new listing before its first
// publication. Archived and deleted listings have the status archived.
const (
	Active   Status = "active"
	Inactive Status = "inactive"
	Closed   Status = "closed"
	Draft    Status = "draft"
	Archived Status = "archived"
)

// The values of fields with a fixed set of values.
var (
	ContractTypes   = []string{"permanent", "temporary", "contract"}
	EmploymentTypes = []string{"full-time", "part-time", "bank", "per-diem", "flexible"}
)

// Listing is a job of an organization.
type Listing struct {
	ID             string
	OrganizationID string
	Version        int64
	Content
	Company string // the organization's name when the listing was written
	Place   *Place // of Location, nil if the gazetteer does not have it
	Meta    json.RawMessage
	Status  Status
	// Open is true if the listing was public when it was last stored. After the deadline, a
	// listing is still Open until CloseExpired, which runs periodically, has closed it.
	Open bool
	// PostedAt is the time of the first publication, nil before it.
	PostedAt   *time.Time
	ArchivedAt *time.Time
	DeletedAt  *time.Time
	// HiddenAt is when an operator or a moderator hid the listing, nil if it is not hidden.
	HiddenAt  *time.Time
	CreatedAt time.Time
	UpdatedAt time.Time
}

// Content is the part of a listing that employers write.
type Content struct {
	Title          string
	Description    string
	Department     string
	ContractType   string // of ContractTypes, or empty
	EmploymentType string // of EmploymentTypes, or empty
	Specialty      string
	Location       string
	Remote         bool
	Salary         *Salary
	Requirements   []string
	Benefits       []string
	Questions      []Question
	Deadline       *time.Time
}

// Question is a question to applicants.
type Question struct {
	ID       string `json:"id"`
	Text     string `json:"text"`
	Required bool   `json:"required"`
}

// maxTitle is the maximum length of a title, in characters.
const maxTitle = 200

// IsPublic reports whether the listing is public at the given time.
func (l *Listing) IsPublic(now time.Time) bool {
	isExpired := l.Deadline != nil && !l.Deadline.After(now)
	return l.Status == Active && l.DeletedAt == nil && l.HiddenAt == nil && !isExpired
}

// SetStatus changes the status. It restores an archived or deleted listing.
func (l *Listing) SetStatus(s Status) error {
	if s != Active && s != Inactive && s != Closed {
		return fault.InvalidField("status", "must be one of: active, inactive, closed")
	}

	l.Status = s
	l.ArchivedAt = nil
	l.DeletedAt = nil

	return nil
}

// Archive archives the listing. For an archived listing, ArchivedAt does not change.
func (l *Listing) Archive(now time.Time) {
	l.Status, l.ArchivedAt = Archived, cmp.Or(l.ArchivedAt, &now)
}

// Delete archives the listing and marks it as deleted. Restore reverts this.
func (l *Listing) Delete(now time.Time) {
	l.Archive(now)

	l.DeletedAt = cmp.Or(l.DeletedAt, &now)
}

// Hide makes the listing not public, whatever its status, until Unhide.
func (l *Listing) Hide(now time.Time) {
	l.HiddenAt = cmp.Or(l.HiddenAt, &now)
}

// Unhide reverts Hide.
func (l *Listing) Unhide() { l.HiddenAt = nil }

// Restore reverts Delete. It returns ErrNotDeleted for an archived listing that is not
// deleted; SetStatus restores such a listing.
func (l *Listing) Restore() error {
	if l.DeletedAt == nil {
		return ErrNotDeleted
	}

	return l.SetStatus(Active)
}

// Renew makes the listing active until days after its deadline, or after now
// if that is later.
func (l *Listing) Renew(now time.Time, days int) error {
	if days < 1 || days > 365 {
		return fault.InvalidField("durationDays", "must be a whole number from 1 to 365")
	}

	from := now
	if l.Deadline != nil && l.Deadline.After(now) {
		from = *l.Deadline
	}

	until, err := checkYear(from.AddDate(0, 0, days))
	if err != nil {
		return fault.InvalidField("durationDays", "leads to a deadline that "+err.Error())
	}

	l.Deadline = &until

	return l.SetStatus(Active)
}

// Copy returns a new listing with the same content, on which finishChange has not been
// called. A deadline that has passed is not copied, because it would close the copy at once.
// The copy of a hidden listing is hidden.
func (l *Listing) Copy(id string, now time.Time) Listing {
	const suffix = " (Copy)"

	c := Listing{
		ID:             id,
		OrganizationID: l.OrganizationID,
		Content:        l.Content,
		Company:        l.Company,
		Place:          l.Place,
		Meta:           l.Meta,
		Status:         Active,
		HiddenAt:       l.HiddenAt,
		CreatedAt:      now,
	}
	if r := []rune(c.Title); len(r)+len(suffix) > maxTitle {
		c.Title = string(r[:maxTitle-len(suffix)])
	}

	c.Title += suffix
	if c.Deadline != nil && !c.Deadline.After(now) {
		c.Deadline = nil
	}

	return c
}

// finishChange completes a change of the listing: it sets the timestamps and Open, and
// returns the event to record, or nil. before is the listing as it is stored, or a zero
// Listing for a new listing.
func (l *Listing) finishChange(before *Listing, now time.Time) []event.Event {
	wasOpen := l.Open // only this method sets Open
	l.Open, l.UpdatedAt = l.IsPublic(now), now

	switch {
	case l.Open && l.PostedAt == nil: // the first publication
		l.PostedAt = &now
		return []event.Event{l.eventFields()}
	case l.Open && (!wasOpen || !samePublicFields(l, before)):
		return []event.Event{event.JobUpdated(l.eventFields())}
	case wasOpen && !l.Open:
		return []event.Event{event.JobClosed(l.eventFields())}
	}

	return nil
}

// maxSnapshot is the maximum size of a listing in an event, in bytes. Larger listings are left
// out. Webhooks send the listing of an event in a shorter form, of at most 20 KiB. This limit is
// higher, so that every listing that fits into a webhook is in the event.
const maxSnapshot = 24 << 10

// eventFields returns the fields of an event about the listing in its present state. They do not
// include the name of the organization, because it may be the name of a person. Events remain
// stored for a while after this person has deleted the account.
func (l *Listing) eventFields() event.JobCreated {
	e := event.JobCreated{JobID: l.ID, OrganizationID: l.OrganizationID}

	snapshot := *l
	snapshot.Meta = nil
	snapshot.Department = ""
	snapshot.Company = ""

	raw, err := json.Marshal(snapshot) //nolint:musttag // for this service only
	if err == nil && len(raw) <= maxSnapshot {
		e.Listing = raw
	}

	return e
}

// samePublicFields reports whether all public fields of the listings are equal. Meta is not
// public.
func samePublicFields(a, b *Listing) bool {
	contentA, contentB := a.Content, b.Content
	if !equalTimes(contentA.Deadline, contentB.Deadline) {
		return false
	}

	// The deadlines are equal, but DeepEqual would compare their time zones too.
	contentA.Deadline, contentB.Deadline = nil, nil

	return a.Company == b.Company && reflect.DeepEqual(contentA, contentB)
}

// equalTimes reports whether both times are nil or the same instant.
func equalTimes(a, b *time.Time) bool {
	if a == nil || b == nil {
		return a == b
	}

	return a.Equal(*b)
}

// clone returns a copy of the listing that can be changed without changing the original.
// Changes replace the values behind its pointers, so that only the lists are copied.
func (l *Listing) clone() Listing {
	c := *l
	c.Requirements = slices.Clone(l.Requirements)
	c.Benefits = slices.Clone(l.Benefits)
	c.Questions = slices.Clone(l.Questions)

	return c
}

// Salary is pay in minor units (pence, cents) per period. One of Min and Max
// may be nil.
type Salary struct {
	Min, Max *int64
	Currency string // ISO 4217
	Period   string // of Periods
}

// Periods are the periods of pay.
var Periods = []string{"hour", "day", "week", "month", "year"}

// The defaults of the currency and period.
const (
	DefaultCurrency = "GBP"
	DefaultPeriod   = "year"
)

// maxPay is the maximum pay of an input, in major units.
const maxPay = 1e9

// SalaryInput is the input for pay, in major units.
type SalaryInput struct {
	Min      *float64 `json:"min" validate:"omitempty,min=0,max=1000000000"`
	Max      *float64 `json:"max" validate:"omitempty,min=0,max=1000000000"`
	Currency *string  `json:"currency"`
	Period   *string  `json:"period" validate:"omitempty,oneof=hour day week month year"`
}

// newSalary returns the pay of an input, or nil for none. It returns a fault for the rules
// that the validation tags cannot express.
func newSalary(in SalaryInput) (*Salary, error) {
	if in.Min == nil && in.Max == nil && in.Currency == nil && in.Period == nil {
		return nil, nil // {} clears the pay
	}

	s := Salary{Currency: DefaultCurrency, Period: DefaultPeriod}
	var problems []fault.Field
	toMinor := func(name string, major *float64) *int64 {
		if major == nil {
			return nil
		}

		const tolerance = 1e-4 // in minor units, because of the rounding of floating-point numbers

		minor := math.Round(*major * 100)
		if math.Abs(*major*100-minor) > tolerance {
			problems = append(problems, fault.Field{Name: name, Message: "must have at most 2 decimals"})
		}

		n := int64(minor)

		return &n
	}

	s.Min, s.Max = toMinor("salary.min", in.Min), toMinor("salary.max", in.Max)
	if in.Currency != nil {
		s.Currency = strings.ToUpper(*in.Currency)
		if !isCurrency(s.Currency) {
			problems = append(problems, fault.Field{Name: "salary.currency", Message: "must be an ISO 4217 code"})
		}
	}

	if in.Period != nil {
		s.Period = *in.Period
	}

	if len(problems) == 0 && s.Min != nil && s.Max != nil && *s.Min > *s.Max {
		problems = append(problems, fault.Field{Name: "salary.max", Message: "must not be less than salary.min"})
	}

	if len(problems) > 0 {
		return nil, fault.ErrInvalid.WithFields(problems...)
	}

	if s.Min == nil && s.Max == nil {
		return nil, nil // a currency alone is no pay
	}

	return &s, nil
}

// Yearly returns the range in minor units per year, with which pay is compared. If one of Min and
// Max is nil, both ends of the range have the value of the other.
func (s *Salary) Yearly() (lowest, highest int64) {
	periods := periodsPerYear[s.Period]
	if s.Period == "hour" && s.Currency == "USD" {
		periods = usHoursPerYear
	}

	lowest = *cmp.Or(s.Min, s.Max) * periods
	highest = *cmp.Or(s.Max, s.Min) * periods

	return lowest, highest
}

// usHoursPerYear are the hours of a full-time year in the United States: 52 weeks of 40.
const usHoursPerYear = 2080

// periodsPerYear is the number of periods in a full-time year. A year has 52 weeks of 37.5
// hours, as in the NHS.
var periodsPerYear = map[string]int64{"hour": 1950, "day": 260, "week": 52, "month": 12, "year": 1}

// Major converts minor units to major units.
func Major(minor int64) float64 { return float64(minor) / 100 }

// MajorSalary is pay in major units per period.
type MajorSalary struct {
	Min, Max         *float64
	Currency, Period string
}

// InMajorUnits returns the pay in major units. It returns nil for a nil Salary.
func (s *Salary) InMajorUnits() *MajorSalary {
	if s == nil {
		return nil
	}

	major := func(minor *int64) *float64 {
		if minor == nil {
			return nil
		}

		x := Major(*minor)

		return &x
	}

	return &MajorSalary{Min: major(s.Min), Max: major(s.Max), Currency: s.Currency, Period: s.Period}
}

// currencies are the ISO 4217 codes of currencies in use.
const currencies = "AED AFN ALL AMD ANG AOA ARS AUD AWG AZN BAM BBD BDT BGN BHD BIF BMD BND BOB BRL BSD BTN BWP BYN BZD CAD CDF CHF CLP CNY COP CRC CUP CVE CZK DJF DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GNF GTQ GYD HKD HNL HTG HUF IDR ILS INR IQD IRR ISK JMD JOD JPY KES KGS KHR KMF KPW KRW KWD KYD KZT LAK LBP LKR LRD LSL LYD MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MYR MZN NAD NGN NIO NOK NPR NZD OMR PAB PEN PGK PHP PKR PLN PYG QAR RON RSD RUB RWF SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TND TOP TRY TTD TWD TZS UAH UGX USD UYU UZS VES VND VUV WST XAF XCD XOF XPF YER ZAR ZMW ZWG"

// isCurrency reports whether the text is an ISO 4217 code.
func isCurrency(code string) bool { return slices.Contains(strings.Fields(currencies), code) }
