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

// The score of a listing for a user is the share, in percent, of the points of those
// signals for which the user has data. For a user who only has a role, a listing with the
// role in its title that was posted today gets 100.
//
//	role         30  in the title; 18 in the text; half of it for the last word
//	                 of the role alone (nurse, for a senior staff nurse)
//	specialty    20  filed under it; 14 in the title, 10 in the text
//	place        20  within the radius, or remote; beyond it decreasing to 0 at
//	                 three times the radius
//	interest     10  found by a saved search, or with the title of a listing
//	                 that the user saved or applied for
//	employment   10  of a preferred type; 4 if the listing has none
//	pay           5  reaches the expected pay; 2 if the listing has none
//	newness       5  today; decreasing to 0 after a month
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
	inText      = 0.6
	ofKind      = 0.5
	forUnstated = 0.4
	// The shares of listings that have the specialty in the title or text only.
	namesSpecialty    = 0.7
	mentionsSpecialty = 0.5
	newFor            = 30 * 24 * time.Hour
	defaultRadius     = 10.0 // miles
	// maxRadii is the distance in radii from which a place gets no points.
	maxRadii = 3.0
	// reasonThreshold is the least share of a signal's points that is returned as a
	// reason.
	reasonThreshold = 0.5
)

// signal is a property of the user that candidates are found by.
type signal int

const (
	aboutRole signal = iota
	aboutKind
	aboutSpecialty
	aboutSearches
	aboutLiked
	signals
)

// affinity is the data of a user that recommendations depend on, as terms of a search.
type affinity struct {
	Profile
	// kind is the last word of the role: nurse, for a senior staff nurse.
	role, kind, specialty string
	searches              []Search
	liked                 []string // titles
}

func newAffinity(p Profile, searches []Search, liked []string) affinity {
	t := affinity{Profile: p, role: plainWords(p.CurrentRole), specialty: plainWords(p.Specialty), searches: searches, liked: liked}
	t.kind = t.role[strings.LastIndexByte(t.role, ' ')+1:]
	return t
}

// candidateQuery is a query for listings that match signals.
type candidateQuery struct {
	about  []signal
	wanted Wanted
	near   bool // restricted to the area of the profile
	// unless is a query that makes this one unnecessary if it returned as many listings
	// as it may, or was unnecessary itself.
	unless *candidateQuery
	filled bool
}

// queries returns the queries for candidates. The last ones return the newest listings,
// so that users without data get recommendations too.
func (t affinity) queries() (qs []*candidateQuery) {
	home := t.Home()
	add := func(q candidateQuery) *candidateQuery {
		q.wanted.Home, q.wanted.Specialty = home, t.Specialty
		qs = append(qs, &q)
		return &q
	}
	// The query near home makes the other one unnecessary if it returns enough listings.
	addNearAndAnywhere := func(unless *candidateQuery, w Wanted, about ...signal) *candidateQuery {
		if home != "" {
			near := w
			near.Location, near.Radius = home, float64(t.LocationRadius)
			unless = add(candidateQuery{about: about, wanted: near, near: true, unless: unless})
		}
		return add(candidateQuery{about: about, wanted: w, unless: unless})
	}
	if t.role != "" && t.specialty != "" {
		addNearAndAnywhere(nil, Wanted{Text: t.role + " " + t.specialty}, aboutRole, aboutSpecialty)
	}
	if t.role != "" {
		anywhere := addNearAndAnywhere(nil, Wanted{Text: t.role}, aboutRole)
		if t.kind != t.role {
			addNearAndAnywhere(anywhere, Wanted{Text: t.kind}, aboutKind)
		}
	}
	if t.specialty != "" {
		addNearAndAnywhere(nil, Wanted{Text: t.specialty}, aboutSpecialty)
	}
	for _, search := range t.searches {
		add(candidateQuery{about: []signal{aboutSearches}, wanted: Wanted{Text: search.Query, Location: search.Location, ContractType: search.ContractType}})
	}
	for _, title := range t.liked {
		add(candidateQuery{about: []signal{aboutLiked}, wanted: Wanted{Text: title}})
	}
	addNearAndAnywhere(nil, Wanted{})
	return qs
}

// plainWords returns the words of a text, without operators of a search and without the
// text after the first comma, bracket or slash: "staff nurse" for "Staff Nurse, ICU
// (nights)".
func plainWords(text string) string {
	if i := strings.IndexAny(text, ",(;/|"); i > 0 {
		text = text[:i]
	}
	out := letters(text)
	for utf8.RuneCountInString(out) > maxQuery {
		out = strings.TrimSpace(out[:strings.LastIndexByte(out, ' ')+1])
	}
	return out
}

// letters returns the words of a text in lower case, separated by single spaces.
func letters(text string) string {
	return strings.Join(strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '\'' && r != '&'
	}), " ")
}

// names reports whether the title has all of the words.
func names(title, words string) bool {
	in := strings.Fields(letters(title))
	isMissing := func(word string) bool { return !slices.Contains(in, word) }
	return words != "" && !slices.ContainsFunc(strings.Fields(words), isMissing)
}

// scoredCandidate is a candidate with the signals that it was found by.
type scoredCandidate struct {
	Candidate
	// relevance is 1 for signals in the title, inText for those in the text only, and 0
	// for the others.
	relevance [signals]float64
	// near is set if the listing was found near the user's home.
	near bool
}

// note records that the query has found the candidate.
func (f *scoredCandidate) note(q *candidateQuery, inTitle bool) {
	worth := inText
	if inTitle {
		worth = 1
	}
	for _, about := range q.about {
		f.relevance[about] = max(f.relevance[about], worth)
	}
	f.near = f.near || q.near
}

// part is the contribution of a signal to a score.
type part struct {
	isKnown bool    // whether the user has data for the signal
	share   float64 // of the points, 0 to 1
	most    float64
	reason  string
}

// score returns the recommendation with the sum of the parts.
func (t affinity) score(f *scoredCandidate, now time.Time) Recommendation {
	// A query returns the newest candidates only; signals in the title are detected
	// without it.
	for about, words := range map[signal]string{aboutRole: t.role, aboutKind: t.kind, aboutSpecialty: t.specialty} {
		if names(f.Title, words) {
			f.relevance[about] = 1
		}
	}
	p, specialty := t.Profile, 0.0
	switch words := f.relevance[aboutSpecialty]; {
	case f.Filed:
		specialty = 1
	case words == 1:
		specialty = namesSpecialty
	case words > 0:
		specialty = mentionsSpecialty
	}
	interest, reason := 0.0, "Like jobs that you kept or applied for"
	if f.relevance[aboutSearches] > 0 {
		interest, reason = 1, "Matches a search that you saved"
	}
	near, where := f.nearness(p)
	employment, kind := f.employment(p.EmploymentTypes)
	parts := slices.DeleteFunc([]part{
		{t.role != "", max(f.relevance[aboutRole], ofKind*f.relevance[aboutKind]), forRole, "Fits your role"},
		{t.specialty != "", specialty, forSpecialty, "In your specialty"},
		{p.Home() != "", near, forPlace, where},
		{len(t.searches)+len(t.liked) > 0, max(interest, f.relevance[aboutLiked]), forInterest, reason},
		{len(p.EmploymentTypes) > 0, employment, forEmployment, kind},
		{p.SalaryMin != nil || p.SalaryMax != nil, f.pay(p), forPay, "Pays what you expect"},
		{true, max(0, 1-float64(now.Sub(f.PostedAt))/float64(newFor)), forNewness, "New"},
	}, func(p part) bool { return !p.isKnown })
	var points, most float64
	for _, part := range parts {
		points += part.share * part.most
		most += part.most
	}
	slices.SortStableFunc(parts, func(a, b part) int { return int(math.Round(b.share*b.most)) - int(math.Round(a.share*a.most)) })
	r := Recommendation{Candidate: f.Candidate, Score: int(math.Round(100 * points / most)), Reasons: []string{}}
	for _, part := range parts {
		if part.share >= reasonThreshold {
			r.Reasons = append(r.Reasons, part.reason)
		}
	}
	return r
}

// nearness returns the share for the distance of the listing, with the reason.
func (f *scoredCandidate) nearness(p Profile) (share float64, reason string) {
	radius := float64(p.LocationRadius)
	if radius == 0 {
		radius = defaultRadius
	}
	switch share = 1; {
	case f.Remote:
		return share, "Remote"
	case f.Miles == nil && f.near:
		return share, "In " + oneLine(p.Home())
	case f.Miles == nil:
		return 0, ""
	case !f.near && *f.Miles > radius:
		share = max(0, 1-(*f.Miles-radius)/((maxRadii-1)*radius))
	}
	return share, fmt.Sprintf("%.0f miles from %s", *f.Miles, oneLine(p.Home()))
}

// employment returns the share for the contract and employment types, with the reason.
func (f *scoredCandidate) employment(preferred []string) (share float64, reason string) {
	for _, kind := range []string{f.ContractType, f.EmploymentType} {
		if kind != "" && slices.Contains(preferred, kind) {
			return 1, "Is " + kind
		}
	}
	if f.ContractType == "" && f.EmploymentType == "" {
		return forUnstated, ""
	}
	return 0, ""
}

// pay returns the share for the listing's pay range.
func (f *scoredCandidate) pay(p Profile) float64 {
	switch {
	case f.PayHighest == nil:
		return forUnstated
	case p.SalaryMin != nil && *f.PayHighest < *p.SalaryMin:
		return 0
	}
	return 1 // also if the pay is higher than expected
}
