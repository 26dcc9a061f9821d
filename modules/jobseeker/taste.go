package jobseeker

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// What a listing is worth to somebody, in points of 100. A thing that is not
// known of the person does not count: the score is the share of the points that
// could be had, so that who only named a role gets 100 for a listing that has it
// in its title and was posted today.
//
//	role         30  in the title; 18 in the text; half of it for the kind of work
//	                 alone (a nurse, for a senior staff nurse)
//	specialty    20  filed under it; 14 in the title, 10 in the text
//	place        20  within the radius, or remote; then less and less, until
//	                 nothing at three times the radius
//	interest     10  found by a saved search, or named like what was kept or
//	                 applied for
//	employment   10  of a type that is preferred; 4 if the listing does not say
//	pay           5  reaches what is expected; 2 if the listing does not say
//	newness       5  today; less each day, nothing after a month
const (
	forRole       = 30.0
	forSpecialty  = 20.0
	forPlace      = 20.0
	forInterest   = 10.0
	forEmployment = 10.0
	forPay        = 5.0
	forNewness    = 5.0
)

const (
	inText = 0.6
	ofKind = 0.5
	unsaid = 0.4
	// What a listing gets that has the specialty in its title or text alone.
	namesSpecialty    = 0.7
	mentionsSpecialty = 0.5
	newFor            = 30 * 24 * time.Hour
	defaultRadius     = 10.0 // miles
	// farthest is how many times the radius a place may be away to be worth
	// anything.
	farthest = 3.0
	// worthSaying is the share of a thing's points from which it is a reason.
	worthSaying = 0.5
)

// aspect is something that is known of a person.
type aspect int

const (
	aboutRole aspect = iota
	aboutKind
	aboutSpecialty
	aboutSearches
	aboutLiked
	aspects
)

// taste is what is known of a person, in the words that a search takes.
type taste struct {
	Profile
	// kind is the work that the role is of: a senior staff nurse is a nurse.
	role, kind, specialty string
	searches              []Search
	liked                 []string // titles
}

func newTaste(p Profile, searches []Search, liked []string) taste {
	t := taste{Profile: p, role: plainWords(p.CurrentRole), specialty: plainWords(p.Specialty), searches: searches, liked: liked}
	t.kind = t.role[strings.LastIndexByte(t.role, ' ')+1:]
	return t
}

// question asks for listings that have to do with something.
type question struct {
	about  []aspect
	wanted Wanted
	near   bool // asks where the person wants to work
	// unless is a question that makes this one needless if it found its fill, or
	// was needless itself.
	unless *question
	filled bool
}

// questions are what is worth asking. The last ones bring the newest listings,
// so that also who said nothing sees some.
func (t taste) questions() (qs []*question) {
	home := t.Home()
	ask := func(q question) *question {
		q.wanted.Home, q.wanted.Specialty = home, t.Specialty
		qs = append(qs, &q)
		return &q
	}
	// Near home first. Farther away only if that is not plenty.
	askTwice := func(unless *question, w Wanted, about ...aspect) *question {
		if home != "" {
			near := w
			near.Location, near.Radius = home, float64(t.LocationRadius)
			unless = ask(question{about: about, wanted: near, near: true, unless: unless})
		}
		return ask(question{about: about, wanted: w, unless: unless})
	}
	if t.role != "" && t.specialty != "" {
		askTwice(nil, Wanted{Text: t.role + " " + t.specialty}, aboutRole, aboutSpecialty)
	}
	if t.role != "" {
		anywhere := askTwice(nil, Wanted{Text: t.role}, aboutRole)
		if t.kind != t.role {
			askTwice(anywhere, Wanted{Text: t.kind}, aboutKind)
		}
	}
	if t.specialty != "" {
		askTwice(nil, Wanted{Text: t.specialty}, aboutSpecialty)
	}
	for _, search := range t.searches {
		ask(question{about: []aspect{aboutSearches}, wanted: Wanted{Text: search.Query, Location: search.Location, ContractType: search.ContractType}})
	}
	for _, title := range t.liked {
		ask(question{about: []aspect{aboutLiked}, wanted: Wanted{Text: title}})
	}
	askTwice(nil, Wanted{})
	return qs
}

// plainWords are the words of a text, without what a search would take for an
// operator, and without what stands behind the first comma, bracket or slash:
// "Staff Nurse, ICU (nights)" is a staff nurse.
func plainWords(text string) string {
	if i := strings.IndexAny(text, ",(;/|"); i > 0 {
		text = text[:i]
	}
	out := letters(text)
	for utf8.RuneCountInString(out) > maxQuery {
		out = out[:strings.LastIndexByte(out, ' ')+1]
		out = strings.TrimSpace(out)
	}
	return out
}

// letters are the words of a text in small letters, with one space between them.
func letters(text string) string {
	return strings.Join(strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '\'' && r != '&'
	}), " ")
}

// names reports whether the title has all of the words.
func names(title, words string) bool {
	in := strings.Fields(letters(title))
	for _, w := range strings.Fields(words) {
		if !slices.Contains(in, w) {
			return false
		}
	}
	return words != ""
}

// sighting is a candidate and what it was found by.
type sighting struct {
	Candidate
	// relevance is 1 for the aspects that the title has, inText for those that only
	// the text has, and 0 for the others.
	relevance [aspects]float64
	// near says that it is where the person wants to work.
	near bool
}

// note records that the question found the candidate.
func (f *sighting) note(q *question, inTitle bool) {
	worth := inText
	if inTitle {
		worth = 1
	}
	for _, about := range q.about {
		f.relevance[about] = max(f.relevance[about], worth)
	}
	f.near = f.near || q.near
}

// part is what a candidate gets for one thing.
type part struct {
	share  float64 // of the points, 0 to 1
	most   float64
	reason string
}

// judge adds the parts up.
func (t taste) judge(f *sighting, now time.Time) Recommendation {
	// A question brings the newest of what it finds; what stands in a title is
	// seen without.
	for about, words := range map[aspect]string{aboutRole: t.role, aboutKind: t.kind, aboutSpecialty: t.specialty} {
		if names(f.Title, words) {
			f.relevance[about] = 1
		}
	}
	var parts []part
	add := func(known bool, most, share float64, reason string) {
		if known {
			parts = append(parts, part{share, most, reason})
		}
	}
	p := t.Profile
	add(t.role != "", forRole, max(f.relevance[aboutRole], ofKind*f.relevance[aboutKind]), "Fits your role")
	specialty := 0.0
	switch words := f.relevance[aboutSpecialty]; {
	case f.Filed:
		specialty = 1
	case words == 1:
		specialty = namesSpecialty
	case words > 0:
		specialty = mentionsSpecialty
	}
	add(t.specialty != "", forSpecialty, specialty, "In your specialty")
	share, where := f.nearness(p)
	add(p.Home() != "", forPlace, share, where)
	interest, because := 0.0, "Like jobs that you kept or applied for"
	if f.relevance[aboutSearches] > 0 {
		interest, because = 1, "Matches a search that you saved"
	}
	add(len(t.searches)+len(t.liked) > 0, forInterest, max(interest, f.relevance[aboutLiked]), because)
	share, kind := f.employment(p.EmploymentTypes)
	add(len(p.EmploymentTypes) > 0, forEmployment, share, kind)
	add(p.SalaryMin != nil || p.SalaryMax != nil, forPay, f.pay(p), "Pays what you expect")
	add(true, forNewness, max(0, 1-float64(now.Sub(f.PostedAt))/float64(newFor)), "New")

	var points, most float64
	for _, part := range parts {
		points += part.share * part.most
		most += part.most
	}
	slices.SortStableFunc(parts, func(a, b part) int { return int(math.Round(b.share*b.most)) - int(math.Round(a.share*a.most)) })
	r := Recommendation{Candidate: f.Candidate, Score: int(math.Round(100 * points / most)), Reasons: []string{}}
	for _, part := range parts {
		if part.share >= worthSaying {
			r.Reasons = append(r.Reasons, part.reason)
		}
	}
	return r
}

// nearness is how near the listing is, and how to say that.
func (f *sighting) nearness(p Profile) (share float64, reason string) {
	radius := float64(p.LocationRadius)
	if radius == 0 {
		radius = defaultRadius
	}
	switch {
	case f.Remote:
		return 1, "Remote"
	case f.near:
		share = 1
	case f.Miles == nil:
		return 0, ""
	case *f.Miles > radius:
		share = max(0, 1-(*f.Miles-radius)/((farthest-1)*radius))
	default:
		share = 1
	}
	if f.Miles == nil {
		return share, "In " + oneLine(p.Home())
	}
	return share, fmt.Sprintf("%.0f miles from %s", *f.Miles, oneLine(p.Home()))
}

// employment is how well the kinds of contract and employment suit.
func (f *sighting) employment(preferred []string) (share float64, reason string) {
	for _, kind := range []string{f.ContractType, f.EmploymentType} {
		if kind != "" && slices.Contains(preferred, kind) {
			return 1, "Is " + kind
		}
	}
	if f.ContractType == "" && f.EmploymentType == "" {
		return unsaid, ""
	}
	return 0, ""
}

// pay is whether the listing's range reaches what is expected.
func (f *sighting) pay(p Profile) float64 {
	switch {
	case f.PayHighest == nil:
		return unsaid
	case p.SalaryMin != nil && *f.PayHighest < *p.SalaryMin:
		return 0
	}
	return 1 // also if it is more than was expected
}
