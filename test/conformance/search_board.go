package conformance

import (
	"fmt"
	"slices"
	"strings"

	"github.com/locumhq/locum/modules/listings"
)

// searchBoard has the listings in which the suite searches, oldest first. The arguments of post are the title,
// the location, the description and the terms of the job (its contract, hours and pay).
var searchBoard = []listings.CreateInput{
	post("Registered Nurse", "leeds", "Acute medicine. Hospice links.", "permanent full-time 31000-38000"),
	post("RN - ICU nights", "Boston, MA", "Level one trauma centre.", "contract full-time USD 45-60 hour"),
	post("Staff Nurse (A&E)", "Leeds", "Busy department. Band 5 or above.", "temporary bank GBP 18-22 hour"),
	post("Ward Manager", "Boston, Lincolnshire", "Leads the nurses of an orthopaedic ward.",
		"permanent full-time 45000-52000"),
	post("Consultant Cardiologist", "Manchester", "Cardiology service for the north.",
		"permanent full-time 105000-139000"),
	post("Healthcare Assistant", "Wakefield", "Personal care for older people in a care home.",
		"permanent part-time GBP 12.5 hour"),
	post("General Practitioner", "Cork", "Partnership in a coastal practice.", "permanent flexible EUR 110000"),
	post("Remote Triage Nurse", "London", "Telephone advice from home.", "permanent full-time remote 33000-36000"),
	post("Band 6/7 Physiotherapist", "Bradford", "Musculoskeletal outpatients.", "permanent full-time 35000-46000"),
	post("Paediatric Nurse", "Sheffield", "Children's ward, neonatal rotation.", "temporary full-time"),
	post("Social Worker", "York", "Safeguarding adults. Working in the community.",
		"contract full-time GBP 25-28 hour"),
	post("Occupational Therapist", "Dublin", "Stroke rehabilitation, mentions Leeds in passing.",
		"permanent full-time EUR 40000-50000"),
	post("Porter", "Reading", "Moves patients between wards.", "permanent full-time 22000"),
	post("Midwife", "", "Home births with a small team. Intensive care is far away.", ""),
}

// post returns the input of a listing. The terms are words in any order, and each of them may be missing: a
// contract type (permanent), an employment type (full-time), "remote", and the words of setPay.
func post(title, location, description, terms string) listings.CreateInput {
	input := listings.CreateInput{Title: title, Description: description}

	input.Location = &location
	for _, term := range strings.Fields(terms) {
		switch {
		case slices.Contains(listings.ContractTypes, term):
			input.ContractType = &term
		case slices.Contains(listings.EmploymentTypes, term):
			input.EmploymentType = &term
		case term == "remote":
			input.Remote = ptr(true)
		default:
			if input.Salary == nil {
				input.Salary = &listings.SalaryInput{}
			}

			setPay(input.Salary, term)
		}
	}

	return input
}

// setPay sets the part of the pay that the term states: its period (hour; without one, the year), its currency in
// capitals (EUR; without one, GBP), or an amount or a range of amounts in major units (110000 or 40000-50000).
func setPay(pay *listings.SalaryInput, term string) {
	isAmount := strings.Trim(term, "0123456789.-") == ""
	switch {
	case slices.Contains(listings.Periods, term):
		pay.Period = &term
	case !isAmount && strings.ToUpper(term) == term:
		pay.Currency = &term
	default:
		low, high, isRange := strings.Cut(term, "-")

		pay.Min = ptr(amount(low))
		if isRange {
			pay.Max = ptr(amount(high))
		}
	}
}

// amount parses a number. It panics if searchBoard has a term that it does not know.
func amount(text string) float64 {
	var number float64
	if _, err := fmt.Sscan(text, &number); err != nil {
		panic(err)
	}

	return number
}

// searchCase is a search and the results that it must have. Relaxed results, which do not match all words of the
// search, are left out. Results of equal relevance are sorted by date, the newest first. That is the reverse order
// of searchBoard.
type searchCase struct {
	text   string
	filter listings.FilterInput
	sort   string // empty for relevance
	want   string // titles with | between, in order
}

// searchCases are the searches that the suite runs on searchBoard.
var searchCases = []searchCase{
	// Names of roles. Jobs in the role come first, and those in which it is a second choice (Ward Manager)
	// follow.
	{text: "nurse", want: "Paediatric Nurse|Remote Triage Nurse|Staff Nurse (A&E)|Registered Nurse|RN - ICU nights|Ward Manager"},
	{text: "nurses", want: "Paediatric Nurse|Remote Triage Nurse|Staff Nurse (A&E)|Registered Nurse|RN - ICU nights|Ward Manager"},
	{text: "cardiology", want: "Consultant Cardiologist"},
	{text: "nurse triage", want: "Remote Triage Nurse"},
	{text: "plumber", want: ""},
	// Abbreviations and other names of roles and departments.
	{text: "RN", want: "RN - ICU nights|Staff Nurse (A&E)|Registered Nurse|Paediatric Nurse|Remote Triage Nurse"},
	{text: "registered nurse", want: "Registered Nurse|Staff Nurse (A&E)|RN - ICU nights|Paediatric Nurse|Remote Triage Nurse"},
	{text: "R.N.", want: "RN - ICU nights|Staff Nurse (A&E)|Registered Nurse|Paediatric Nurse|Remote Triage Nurse"},
	{text: "itu", want: "RN - ICU nights"},
	{text: "intensive care", want: "RN - ICU nights"},
	// A phrase in quotes is found as it is written, not by other names.
	{text: `"nurse"`, want: "Paediatric Nurse|Remote Triage Nurse|Staff Nurse (A&E)|Registered Nurse"},
	// The last word is incomplete.
	{text: "consultant cardi", want: "Consultant Cardiologist"},
	{text: "registered nur", want: "Staff Nurse (A&E)|RN - ICU nights|Registered Nurse|Paediatric Nurse|Remote Triage Nurse"},
	// Bradford is within the usual radius of 10 miles of Leeds.
	{text: "therapist leeds", want: "Band 6/7 Physiotherapist"},
	// Other names and spellings of roles, departments and fields of work.
	{text: "ward", want: "Ward Manager|Porter"},
	{text: "gp", want: "General Practitioner"},
	{text: "HCA", want: "Healthcare Assistant"},
	{text: "a&e", want: "Staff Nurse (A&E)"},
	{text: "accident and emergency nurse", want: "Staff Nurse (A&E)"},
	{text: "ER nurse", want: "Staff Nurse (A&E)"},
	{text: "physio", want: "Band 6/7 Physiotherapist"},
	{text: "physical therapist", want: "Band 6/7 Physiotherapist"},
	{text: "pediatric nurse", want: "Paediatric Nurse"},
	{text: "OT", want: "Occupational Therapist"},
	{text: "social work", want: "Social Worker"},
	{text: "orthopedic", want: "Ward Manager"},
	// Small typos.
	{text: "nusre triage", want: "Remote Triage Nurse"},
	{text: "cardiolgist", want: "Consultant Cardiologist"},
	{text: "phisiotherapist", want: "Band 6/7 Physiotherapist"},
	{text: "ocupational therapst", want: "Occupational Therapist"},
	{text: "midwive", want: "Midwife"},
	// Phrases, exclusions, alternatives.
	{text: `"care home"`, want: "Healthcare Assistant"},
	{text: `"home care"`, want: ""},
	{text: `"older people" -nurse`, want: "Healthcare Assistant"},
	{text: "nurse -leeds -triage", want: "Paediatric Nurse|RN - ICU nights|Ward Manager"},
	{text: `nurse -"acute medicine"`, want: "Paediatric Nurse|Remote Triage Nurse|Staff Nurse (A&E)|RN - ICU nights|Ward Manager"},
	{
		text: "-nurse -rn",
		want: "Midwife|Porter|Occupational Therapist|Social Worker|Band 6/7 Physiotherapist|General Practitioner|Healthcare Assistant|Consultant Cardiologist",
	},
	{text: "midwife OR porter", want: "Midwife|Porter"},
	// The place applies to both roles, and the midwife has none.
	{text: "midwife OR nurse sheffield", want: "Paediatric Nurse|Remote Triage Nurse"},
	{text: `"stroke rehabilitation" OR "coastal practice"`, want: "Occupational Therapist|General Practitioner"},
	{text: "part-time", want: "Healthcare Assistant"},
	// The last word may be incomplete.
	{text: "midw", want: "Midwife"},
	{text: "occupational thera", want: "Occupational Therapist"},
	// Filler words are ignored; a search of filler words alone finds everything.
	{text: "looking for a midwife job", want: "Midwife"},
	{text: "porter vacancy needed", want: "Porter"},
	{text: "nurse jobs in Leeds", want: "Staff Nurse (A&E)|Registered Nurse|Remote Triage Nurse"},
	// Places. Jobs at the place come first, and remote jobs follow.
	{text: "nurse leeds", want: "Staff Nurse (A&E)|Registered Nurse|Remote Triage Nurse"},
	{text: "nurse, Leeds", want: "Staff Nurse (A&E)|Registered Nurse|Remote Triage Nurse"},
	// Without a county or state, the larger Boston is meant, in Massachusetts.
	{text: "boston", want: "RN - ICU nights", sort: "date"},
	{text: "boston lincolnshire", want: "Ward Manager|Remote Triage Nurse"},
	{text: "nurse in Boston, Lincolnshire", want: "Remote Triage Nurse|Ward Manager"},
	{text: "nurse boston ma", want: "RN - ICU nights"},
	{text: "nurse yorkshire", want: "Paediatric Nurse|Staff Nurse (A&E)|Registered Nurse|Remote Triage Nurse"},
	{text: "therapist ireland", want: "Occupational Therapist"},
	{text: "porter", want: "Porter"},
	{text: "porter in reading", want: "Porter"},
	{text: "porter near Wokingham", want: "Porter"},
	// Bands and contracts.
	{text: "band 7", want: "Band 6/7 Physiotherapist"},
	{text: "band 5 nurse", want: "Staff Nurse (A&E)"},
	{text: "temporary nurse", want: "Paediatric Nurse|Staff Nurse (A&E)"},
	{text: "bank nurse", want: "Staff Nurse (A&E)"},
	{text: "remote nurse", want: "Remote Triage Nurse"},
	{text: "permanent nurse leeds", want: "Registered Nurse|Remote Triage Nurse"},
	// Filters.
	{
		filter: listings.FilterInput{Location: "Leeds"},
		want:   "Band 6/7 Physiotherapist|Healthcare Assistant|Staff Nurse (A&E)|Registered Nurse|Remote Triage Nurse",
	},
	{filter: listings.FilterInput{Location: "Leeds", Radius: ptr(2.0)}, want: "Staff Nurse (A&E)|Registered Nurse|Remote Triage Nurse"},
	{
		filter: listings.FilterInput{Location: "leeds", Radius: ptr(40.0)},
		want:   "Social Worker|Paediatric Nurse|Band 6/7 Physiotherapist|Healthcare Assistant|Consultant Cardiologist|Staff Nurse (A&E)|Registered Nurse|Remote Triage Nurse",
	},
	{
		filter: listings.FilterInput{Location: "West Yorkshire"},
		want:   "Band 6/7 Physiotherapist|Healthcare Assistant|Staff Nurse (A&E)|Registered Nurse|Remote Triage Nurse",
	},
	{filter: listings.FilterInput{Location: "Ireland"}, want: "Occupational Therapist|General Practitioner"},
	{filter: listings.FilterInput{Location: "England", ContractType: []string{"temporary"}}, want: "Paediatric Nurse|Staff Nurse (A&E)"},
	// Massachusetts, in capitals only; a place that does not exist finds nothing.
	{filter: listings.FilterInput{Location: "MA"}, want: "RN - ICU nights"},
	{filter: listings.FilterInput{Location: "Nowhereville"}, want: ""},
	{filter: listings.FilterInput{Location: "remote"}, want: "Remote Triage Nurse"},
	// Search sets the specialties of three listings: Renal, Podiatry and Paediatric podiatry. A specialty is found
	// by its other names (nephrology for renal) and within a longer one, but not by its beginning.
	{filter: listings.FilterInput{Specialty: []string{"nephrology"}}, want: "Consultant Cardiologist"},
	{filter: listings.FilterInput{Specialty: []string{"PODIATRY "}}, want: "General Practitioner|Healthcare Assistant"},
	{filter: listings.FilterInput{Specialty: []string{"pod"}}, want: ""},
	// The beginning of a place is completed from four letters on. Three are a word of free text, which the
	// remote job in London does not contain.
	{text: "nurse shef", want: "Paediatric Nurse|Remote Triage Nurse"},
	{text: "nurse lee", want: "Staff Nurse (A&E)|Registered Nurse"},
	{filter: listings.FilterInput{ContractType: []string{"contract"}}, want: "Social Worker|RN - ICU nights"},
	{filter: listings.FilterInput{EmploymentType: []string{"part-time"}}, want: "Healthcare Assistant"},
	{filter: listings.FilterInput{Remote: ptr(true)}, want: "Remote Triage Nurse"},
	{filter: listings.FilterInput{Remote: ptr(false), Location: "London"}, want: ""},
	// Pay is compared by the year. A year has 1,950 hours of work, or 2,080 if the currency is the dollar: the
	// 60 dollars an hour of the ICU are 124,800 a year, and the 12.50 pounds of the assistant are 24,375. Both
	// ends of a range are included. The filters name no currency and no place, so pounds, euros and dollars are
	// compared without conversion.
	{filter: listings.FilterInput{SalaryMin: ptr(90_000.0)}, want: "General Practitioner|Consultant Cardiologist|RN - ICU nights"},
	{filter: listings.FilterInput{SalaryMin: ptr(124_801.0)}, want: "Consultant Cardiologist"},
	{filter: listings.FilterInput{SalaryMin: ptr(124_800.0)}, want: "Consultant Cardiologist|RN - ICU nights"},
	{filter: listings.FilterInput{SalaryMax: ptr(24_375.0)}, want: "Porter|Healthcare Assistant"},
	{
		filter: listings.FilterInput{SalaryMin: ptr(34_000.0), SalaryMax: ptr(37_000.0)},
		want:   "Band 6/7 Physiotherapist|Remote Triage Nurse|Staff Nurse (A&E)|Registered Nurse",
	},
	// Orders other than relevance. In each of them, jobs in the role precede those in which it is a second choice
	// (Ward Manager), and jobs without the value (a salary, a distance) are last.
	{
		text: "nurse",
		sort: "date",
		want: "Paediatric Nurse|Remote Triage Nurse|Staff Nurse (A&E)|RN - ICU nights|Registered Nurse|Ward Manager",
	},
	{
		text: "nurse",
		sort: "salary",
		want: "RN - ICU nights|Staff Nurse (A&E)|Registered Nurse|Remote Triage Nurse|Paediatric Nurse|Ward Manager",
	},
	{
		sort:   "distance",
		filter: listings.FilterInput{Location: "Leeds", Radius: ptr(60.0)},
		want:   "Staff Nurse (A&E)|Registered Nurse|Healthcare Assistant|Band 6/7 Physiotherapist|Social Worker|Paediatric Nurse|Consultant Cardiologist|Remote Triage Nurse",
	},
	{text: "nurse leeds", sort: "distance", want: "Staff Nurse (A&E)|Registered Nurse|Remote Triage Nurse"},
	{text: "midwife", sort: "distance", want: "Midwife"},
}
