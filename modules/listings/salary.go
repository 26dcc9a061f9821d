package listings

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/locumhq/locum/core/fault"
)

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

const maxPay = 1e9 // major units

// SalaryInput is the input for pay, in major units.
type SalaryInput struct {
	Min      *float64 `json:"min" validate:"omitempty,min=0,max=1000000000"`
	Max      *float64 `json:"max" validate:"omitempty,min=0,max=1000000000"`
	Currency *string  `json:"currency"`
	Period   *string  `json:"period" validate:"omitempty,oneof=hour day week month year"`
}

// newSalary returns the pay of an input, nil for none, or a fault about what tags do not
// express.
func newSalary(in SalaryInput) (*Salary, error) {
	if in.Min == nil && in.Max == nil && in.Currency == nil && in.Period == nil {
		return nil, nil // {} clears the pay
	}
	s := Salary{Currency: DefaultCurrency, Period: DefaultPeriod}
	var problems []fault.Field
	amount := func(name string, x *float64) *int64 {
		if x == nil {
			return nil
		}
		minor := math.Round(*x * 100)
		if math.Abs(*x*100-minor) > 1e-4 {
			problems = append(problems, fault.Field{Name: name, Message: "must have at most 2 decimals"})
		}
		n := int64(minor)
		return &n
	}
	s.Min, s.Max = amount("salary.min", in.Min), amount("salary.max", in.Max)
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

// Yearly returns the range in minor units a year, by which pay is compared. If one
// of Min and Max is nil, both ends are the other.
func (s *Salary) Yearly() (lowest, highest int64) {
	n := periodsPerYear[s.Period]
	if s.Period == "hour" && s.Currency == "USD" {
		n = 2080
	}
	return *cmp.Or(s.Min, s.Max) * n, *cmp.Or(s.Max, s.Min) * n
}

// periodsPerYear is the number of periods in a full-time year.
var periodsPerYear = map[string]int64{"hour": 1950, "day": 260, "week": 52, "month": 12, "year": 1}

// Major converts minor units to major units.
func Major(minor int64) float64 { return float64(minor) / 100 }

// MajorSalary is pay in major units per period.
type MajorSalary struct {
	Min, Max         *float64
	Currency, Period string
}

// InMajorUnits returns the pay in major units, nil for nil.
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
	return &MajorSalary{major(s.Min), major(s.Max), s.Currency, s.Period}
}

const currencies = "AED AFN ALL AMD ANG AOA ARS AUD AWG AZN BAM BBD BDT BGN BHD BIF BMD BND BOB BRL BSD BTN BWP BYN BZD CAD CDF CHF CLP CNY COP CRC CUP CVE CZK DJF DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GNF GTQ GYD HKD HNL HTG HUF IDR ILS INR IQD IRR ISK JMD JOD JPY KES KGS KHR KMF KPW KRW KWD KYD KZT LAK LBP LKR LRD LSL LYD MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MYR MZN NAD NGN NIO NOK NPR NZD OMR PAB PEN PGK PHP PKR PLN PYG QAR RON RSD RUB RWF SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TND TOP TRY TTD TWD TZS UAH UGX USD UYU UZS VES VND VUV WST XAF XCD XOF XPF YER ZAR ZMW ZWG"

// isCurrency reports whether the text is an ISO 4217 code.
func isCurrency(code string) bool { return slices.Contains(strings.Fields(currencies), code) }
