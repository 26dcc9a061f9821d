package relevance

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// This file reads the board: the adverts that the suite posts. They are written in files of testdata in a short
// notation. Lines that begin with # are comments. The columns of a line are separated by " | ". Adverts refer to places,
// employers, specialties and skills by keys, which are words such as "leeds". An example with one advert:
//
//	places.txt:          leeds | Leeds | 53.80 -1.55 | west-yorkshire yorkshire england | uk | Leeds; Leeds, West Yorkshire
//	specialties.txt:     icu | Intensive care | You care for patients on ventilators.
//	                     skill driving | A full driving licence
//	employers.txt:       = aire | Aire Valley Hospitals | leeds | hospital
//	                     > We are a teaching hospital with 900 beds.
//	adverts/nursing.txt: = staff-nurse kind=nurse us=38-52/hour
//	                     > We are looking for a registered nurse.
//	                     * Staff Nurse, ICU | aire | band=5 spec=icu permanent shift=nights asked=driving

// place is a town.
type place struct {
	key, name string // the key identifies the place in the files of testdata
	lat, lon  float64
	regions   []string // keys of the regions that contain it
	country   string   // "uk", "ie" or "us"
	spellings []string // the ways in which adverts write it
}

// employer is an organization.
type employer struct {
	key, name   string // the key identifies the employer in the files of testdata
	place       *place
	setting     string   // the kind of workplace, such as "hospital"
	boilerplate []string // the paragraphs at the end of all of its adverts
}

// advert is a job as an employer posts it. The service receives the text, the place and the pay. It never receives the
// attributes: they state what the advert is about, and the suite grades the results of queries by them.
type advert struct {
	title, body  string
	employer     *employer
	place        *place
	location     string // one of the spellings of the place
	specialty    string
	department   string
	requirements []string
	pay          pay
	attributes   attributes
}

// pay is a pay range.
type pay struct {
	min, max         float64 // in major units per period; max is 0 without pay
	currency, period string
}

// yearly returns the pay per year. A year has 52 weeks of 5 days. A week has 37.5 hours of work, or 40 in the USA.
func (p pay) yearly() (low, high float64) {
	periodsPerYear := map[string]float64{"year": 1, "month": 12, "week": 52, "day": 52 * 5, "hour": 52 * 37.5}[p.period]
	if p.period == "hour" && p.currency == "USD" {
		periodsPerYear = 52 * 40
	}

	return p.min * periodsPerYear, p.max * periodsPerYear
}

// attributes maps the keys of an advert's attributes to their values. Three attributes say what work it is:
//
//   - role is the role that the advert names, such as "staff-nurse".
//   - kind is the profession of this role, such as "nurse". A profession has several roles.
//   - job has all roles for which the advert is an answer: its role, and those of its attribute also.
type attributes map[string][]string

// one returns the first value of the key, or "".
func (a attributes) one(key string) string {
	if len(a[key]) == 0 {
		return ""
	}

	return a[key][0]
}

// shorthands maps the values that adverts write without a key to their keys: "permanent" means "contract=permanent".
var shorthands = map[string]string{
	"permanent": "contract", "temporary": "contract", "contract": "contract",
	"full-time": "hours", "part-time": "hours", "bank": "hours", "per-diem": "hours", "flexible": "hours",
	"remote": "remote",
}

// parseAttributes reads a text such as "band=6 spec=icu,hdu permanent". An attribute of the text replaces the default
// with the same key.
func parseAttributes(text string, defaults attributes) (attributes, error) {
	parsed := attributes{}
	maps.Copy(parsed, defaults)

	for _, word := range strings.Fields(text) {
		key, value, hasKey := strings.Cut(word, "=")
		if !hasKey {
			shorthandKey, exists := shorthands[word]
			if !exists {
				return nil, fmt.Errorf("unknown attribute %q", word)
			}

			key, value = shorthandKey, word
		}

		parsed[key] = strings.Split(value, ",")
	}

	return parsed, nil
}

// bandPay has the yearly pay in GBP, from the lowest to the highest, of each band of the NHS. Bands are its pay grades.
var bandPay = map[string]string{
	"2":  "24465-24465",
	"3":  "24937-26598",
	"4":  "27485-30162",
	"5":  "31049-37796",
	"6":  "38682-46580",
	"7":  "47810-54710",
	"8a": "55690-62682",
	"8b": "64455-74896",
	"8c": "76965-88682",
	"8d": "91342-105337",
}

// currencies maps the countries of places to the currencies of pay there.
var currencies = map[string]string{"uk": "GBP", "ie": "EUR", "us": "USD"}

// parsePay reads an amount or a range, per year or with another period: "38000", "31000-38000" or "22.50-25/hour".
func parsePay(text, currency string) (parsed pay, err error) {
	amounts, period, hasPeriod := strings.Cut(text, "/")
	if !hasPeriod {
		period = "year"
	}

	low, high, isRange := strings.Cut(amounts, "-")
	if !isRange {
		high = low
	}

	parsed = pay{currency: currency, period: period}

	if parsed.min, err = strconv.ParseFloat(low, 64); err != nil {
		return parsed, err
	}

	parsed.max, err = strconv.ParseFloat(high, 64)

	return parsed, err
}

// hash returns a number for a text that is not negative. The number is the same in every run, so that the suite can make
// choices with it that look random.
func hash(text string) int {
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(text))
	return int(sum.Sum32() >> 1) // one bit less, so that the number is not negative where an int has 32 bits
}

// miles returns the distance between two places on a sphere, by the haversine formula.
func miles(a, b *place) float64 {
	const earthRadius, degree = 3958.8, math.Pi / 180
	halfLat, halfLon := (b.lat-a.lat)*degree/2, (b.lon-a.lon)*degree/2
	haversine := math.Pow(math.Sin(halfLat), 2) +
		math.Cos(a.lat*degree)*math.Cos(b.lat*degree)*math.Pow(math.Sin(halfLon), 2)

	return 2 * earthRadius * math.Asin(math.Sqrt(haversine))
}

// text returns all texts of the advert in lower case.
func (a *advert) text() string {
	texts := append([]string{a.title, a.body, a.location, a.specialty, a.department, a.employer.name}, a.requirements...)
	return strings.ToLower(strings.Join(texts, "\n"))
}

// board contains the adverts that the suite posts, with their places, specialties and employers. The maps are by key.
type board struct {
	places         map[string]*place
	specialties    map[string]specialty
	skills         map[string]string // the text of the requirement of each skill
	employers      []*employer       // in the order of the file
	employersByKey map[string]*employer
	adverts        []*advert // the oldest first
}

// specialty is a medical specialty, with the paragraph about it in adverts.
type specialty struct{ name, paragraph string }

// readLines calls fn for each line of the file that is neither empty nor a comment.
func readLines(path string, fn func(line string) error) error {
	raw, err := os.ReadFile(path)
	if err != nil {
		return err
	}

	for i, line := range strings.Split(string(raw), "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}

		if err := fn(line); err != nil {
			return fmt.Errorf("%s:%d: %w", path, i+1, err)
		}
	}

	return nil
}

// splitColumns splits a line at " | " into n columns.
func splitColumns(line string, n int) ([]string, error) {
	columns := strings.Split(line, " | ")
	if len(columns) != n {
		return nil, fmt.Errorf("want %d fields, have %d", n, len(columns))
	}

	for i := range columns {
		columns[i] = strings.TrimSpace(columns[i])
	}

	return columns, nil
}

// readBoard reads the files of testdata. Each file may only refer to keys of the files that are read before it.
func readBoard() (*board, error) {
	b := &board{
		places:         map[string]*place{},
		specialties:    map[string]specialty{},
		skills:         map[string]string{},
		employersByKey: map[string]*employer{},
	}
	for _, file := range []struct {
		name string
		read func(line string) error
	}{
		{"places.txt", b.readPlace},
		{"specialties.txt", b.readSpecialty},
		{"employers.txt", b.readEmployer}, // employers refer to places
	} {
		if err := readLines(filepath.Join("testdata", file.name), file.read); err != nil {
			return nil, err
		}
	}

	files, err := filepath.Glob(filepath.Join("testdata", "adverts", "*.txt"))
	if err != nil {
		return nil, err
	}

	for _, file := range files {
		if err := b.readAdverts(file); err != nil {
			return nil, err
		}
	}

	b.sortByTime()

	return b, nil
}

// sortByTime sorts the adverts in the order in which they are posted: by week and employer. The attribute "week" is
// the number of the week, and an advert without one gets a week between 1 and 3.
func (b *board) sortByTime() {
	const weeks = 3

	for _, advert := range b.adverts {
		if advert.attributes["week"] == nil {
			week := 1 + hash(advert.title+advert.employer.key)%weeks
			advert.attributes["week"] = []string{strconv.Itoa(week)}
		}
	}

	slices.SortStableFunc(b.adverts, func(x, y *advert) int {
		byWeek := cmp.Compare(x.attributes.one("week"), y.attributes.one("week"))
		byEmployer := cmp.Compare(slices.Index(b.employers, x.employer), slices.Index(b.employers, y.employer))

		return cmp.Or(byWeek, byEmployer)
	})
}

// readPlace reads a line "KEY | NAME | LATITUDE LONGITUDE | REGIONS | COUNTRY | SPELLING; SPELLING…".
func (b *board) readPlace(line string) error {
	columns, err := splitColumns(line, 6)
	if err != nil {
		return err
	}

	key, name, position, regions, country, spellings :=
		columns[0], columns[1], columns[2], columns[3], columns[4], columns[5]

	place := &place{key: key, name: name, regions: strings.Fields(regions), country: country}
	if _, err := fmt.Sscan(position, &place.lat, &place.lon); err != nil {
		return err
	}

	for _, spelling := range strings.Split(spellings, ";") {
		place.spellings = append(place.spellings, strings.TrimSpace(spelling))
	}

	if b.places[place.key] != nil {
		return fmt.Errorf("place %s is defined twice", place.key)
	}

	b.places[place.key] = place

	return nil
}

// readSpecialty reads a line "KEY | NAME | PARAGRAPH" of a specialty, or "skill KEY | REQUIREMENT" of a skill.
func (b *board) readSpecialty(line string) error {
	if skill, isSkill := strings.CutPrefix(line, "skill "); isSkill {
		columns, err := splitColumns(skill, 2)
		if err != nil {
			return err
		}

		key, requirement := columns[0], columns[1]
		b.skills[key] = requirement

		return nil
	}

	columns, err := splitColumns(line, 3)
	if err != nil {
		return err
	}

	key, name, paragraph := columns[0], columns[1], columns[2]
	if _, exists := b.specialties[key]; exists {
		return fmt.Errorf("specialty %s is defined twice", key)
	}

	b.specialties[key] = specialty{name: name, paragraph: paragraph}

	return nil
}

// readEmployer reads a line "= KEY | NAME | PLACE | SETTING", which adds an employer, or "> PARAGRAPH", which adds a
// paragraph to the boilerplate of the last employer.
func (b *board) readEmployer(line string) error {
	if paragraph, isParagraph := strings.CutPrefix(line, "> "); isParagraph {
		last := b.employers[len(b.employers)-1]
		last.boilerplate = append(last.boilerplate, paragraph)
		return nil
	}

	columns, err := splitColumns(strings.TrimPrefix(line, "= "), 4)
	if err != nil {
		return err
	}

	key, name, placeKey, setting := columns[0], columns[1], columns[2], columns[3]

	employer := &employer{key: key, name: name, place: b.places[placeKey], setting: setting}
	if employer.place == nil {
		return fmt.Errorf("unknown place %q", placeKey)
	}

	if b.employersByKey[employer.key] != nil {
		return fmt.Errorf("employer %s is defined twice", employer.key)
	}

	b.employers = append(b.employers, employer)
	b.employersByKey[employer.key] = employer

	return nil
}

// roleGroup is a role in a file of adverts, with the attributes and paragraphs that the adverts of the role share.
type roleGroup struct {
	defaults     attributes
	paragraphs   []string
	advertsSoFar int // selects the paragraph of the next advert: they use the paragraphs in turn
}

// readAdverts reads a file of adverts. The first character of a line says what it is:
//
//	= ROLE ATTRIBUTES                         a role; the next lines are about it
//	> PARAGRAPH                               a paragraph for the bodies of its adverts
//	* TITLE | EMPLOYER[@PLACE] | ATTRIBUTES   an advert of the role
//	+ PARAGRAPH                               a paragraph for the advert above only
func (b *board) readAdverts(path string) error {
	var current roleGroup

	return readLines(path, func(line string) error {
		marker, text, _ := strings.Cut(line, " ")
		switch marker {
		case "=":
			role, rest, _ := strings.Cut(text, " ")
			defaults, err := parseAttributes(rest,
				attributes{"role": {role}, "kind": {role}, "clinical": {"yes"}, "remote": {"no"}})
			current = roleGroup{defaults: defaults}

			return err
		case ">":
			current.paragraphs = append(current.paragraphs, text)
			return nil
		case "+": // the own paragraph of an advert comes first in its body
			last := b.adverts[len(b.adverts)-1]
			last.body = text + "\n\n" + last.body
			return nil
		case "*":
			advert, err := b.newAdvert(&current, text)
			if err != nil {
				return err
			}

			current.advertsSoFar++
			b.adverts = append(b.adverts, advert)

			return nil
		}

		return fmt.Errorf("unknown line %q", line)
	})
}

// newAdvert reads "TITLE | EMPLOYER[@PLACE] | ATTRIBUTES" of a group, and writes the body of the advert. Without a PLACE
// the advert is in the place of its employer.
func (b *board) newAdvert(group *roleGroup, line string) (*advert, error) {
	// A line without attributes ends with " |", because readLines removes the space at its end. The separator needs it.
	columns, err := splitColumns(line+" ", 3)
	if err != nil {
		return nil, err
	}

	title, employerAndPlace, ownAttributes := columns[0], columns[1], columns[2]
	employerKey, placeKey, hasPlace := strings.Cut(employerAndPlace, "@")

	advert := &advert{title: title, employer: b.employersByKey[employerKey]}
	if advert.employer == nil {
		return nil, fmt.Errorf("unknown employer %q", employerKey)
	}

	advert.place = advert.employer.place
	if hasPlace {
		advert.place = b.places[placeKey]
		if advert.place == nil {
			return nil, fmt.Errorf("unknown place %q", placeKey)
		}
	}

	if advert.attributes, err = parseAttributes(ownAttributes, group.defaults); err != nil {
		return nil, err
	}

	if len(group.paragraphs) == 0 {
		return nil, fmt.Errorf("role %s has no paragraph", advert.attributes.one("role"))
	}

	// The seed selects one of several ways to write the location and the sentences of the body.
	seed := hash(advert.title + advert.employer.key)
	advert.location = advert.place.spellings[seed%len(advert.place.spellings)]
	advert.addDerivedAttributes()

	if err := advert.setPay(); err != nil {
		return nil, err
	}

	paragraph := group.paragraphs[group.advertsSoFar%len(group.paragraphs)]

	return advert, b.writeBody(advert, paragraph, seed)
}

// addDerivedAttributes adds the attributes that follow from the employer, the place and other attributes.
func (a *advert) addDerivedAttributes() {
	if a.attributes["setting"] == nil {
		a.attributes["setting"] = []string{a.employer.setting}
	}

	if a.attributes.one("remote") == "remote" { // the shorthand "remote" has set the key to itself
		a.attributes["remote"] = []string{"yes"}
	}

	a.attributes["job"] = slices.Concat(a.attributes["role"], a.attributes["also"])
	a.attributes["employer"] = []string{a.employer.key}
	a.attributes["town"] = []string{a.place.key}
	a.attributes["region"] = a.place.regions
	a.attributes["country"] = []string{a.place.country}
}

// setPay sets the pay of the advert. It is the first of these that exists:
//
//   - the attribute "pay"
//   - the attribute "uk", "ie" or "us", whichever is the country of the advert
//   - in the UK, the pay of the band
//
// If none of them exists, or if the value is "none", the advert states no pay.
func (a *advert) setPay() (err error) {
	country := a.place.country

	text := cmp.Or(a.attributes.one("pay"), a.attributes.one(country))
	if text == "" && country == "uk" {
		text = bandPay[a.attributes.one("band")]
	}

	if text == "" || text == "none" {
		return nil
	}

	a.pay, err = parsePay(text, currencies[country])

	return err
}

// writeBody composes the body of an advert: the paragraph about the role, a paragraph for each specialty, a sentence for
// the band and for each shift, and the boilerplate of the employer. The seed selects one of several sentences. The
// function also sets the fields of the advert for the specialty, the department and the requirements.
func (b *board) writeBody(a *advert, paragraph string, seed int) error {
	body := []string{paragraph}

	for i, key := range a.attributes["spec"] {
		specialty, exists := b.specialties[key]
		if !exists {
			return fmt.Errorf("unknown specialty %q", key)
		}

		body = append(body, specialty.paragraph)

		isMain := i == 0
		if isMain {
			a.setSpecialty(specialty.name, seed)
		}
	}

	// A title that names the band needs no sentence about it.
	band := a.attributes.one("band")
	titleNamesBand := strings.Contains(strings.ToLower(a.title), "band")

	if band != "" && !titleNamesBand {
		sentence := bandSentences[seed%len(bandSentences)]
		body = append(body, fmt.Sprintf(sentence, band))
	}

	for _, shift := range a.attributes["shift"] {
		sentences, exists := shiftSentences[shift]
		if !exists {
			return fmt.Errorf("unknown shift %q", shift)
		}

		body = append(body, sentences[seed%len(sentences)])
	}

	a.body = strings.Join(append(body, a.employer.boilerplate...), "\n\n")

	return b.addRequirements(a)
}

// addRequirements adds a requirement to the advert for each skill of its attribute "asked".
func (b *board) addRequirements(a *advert) error {
	for _, skill := range a.attributes["asked"] {
		requirement := b.skills[skill]
		if requirement == "" {
			return fmt.Errorf("unknown skill %q", skill)
		}

		a.requirements = append(a.requirements, requirement)
	}

	return nil
}

// setSpecialty stores the name of the specialty, as employers do, in the field for the specialty, in the field for the
// department, or in neither of them. Each of the three is done for about a third of the adverts.
func (a *advert) setSpecialty(name string, seed int) {
	switch seed % 3 {
	case 0:
		a.specialty = name
	case 1:
		a.department = name
	}
}

// bandSentences are the sentences with which adverts state their band.
var bandSentences = []string{
	"The post is Agenda for Change Band %s.",
	"Salary: Band %s, paid monthly.",
	"Grade: AfC band %s.",
}

// shiftSentences has several sentences for each value of the attribute "shift". An advert states its shift with one of
// them.
var shiftSentences = map[string][]string{
	"nights":   {"You work permanent nights.", "Night shifts, 19:30 to 08:00.", "This is a night post: three or four nights a week."},
	"days":     {"Day shifts only.", "You work days; there are no nights.", "Hours are Monday to Friday, 9 to 5."},
	"weekends": {"Every weekend, Saturday and Sunday.", "This is a weekend post.", "You work weekends only."},
	"rotating": {
		"Rotating shifts, days and nights.",
		"An internal rotation of early, late and night shifts.",
		"You work a mix of days and nights.",
	},
	"on-call": {"The post includes on-call duty.", "You take part in the on call rota, 1 in 6.", "On-call work is paid on top."},
}
