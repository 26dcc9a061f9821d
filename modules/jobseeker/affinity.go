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

// A signal is a property of the user by which listings are found and rated, such as the role. A
// listing gets points for every signal below. Only signals for which the user has data
// count: the score is the percentage of their points that the listing gets. For a user whose
// profile only has a role, a listing that was posted today with this role in its title
// scores 100.
//
//	role         30  the role is in the title (18 if only in the text; half as much
//	                 if only its last word is: "nurse" of "senior staff nurse")
//	specialty    20  the listing has this specialty (14 if the title mentions the
//	                 specialty, 10 if only the text does)
//	place        20  the listing is within the radius or remote (decreasing to 0 at
//	                 three times the radius)
//	interest     10  a saved search found the listing, or a search for the title of a
//	                 listing that the user saved or applied for
//	employment   10  the listing has a preferred type (4 if the listing has no type)
//	pay           5  the listing pays what the user expects (2 if it has no pay)
//	newness       5  the listing was posted today (decreasing to 0 after 30 days)
const (
	rolePoints       = 30.0
	specialtyPoints  = 20.0
	placePoints      = 20.0
	interestPoints   = 10.0
	employmentPoints = 10.0
	payPoints        = 5.0
	newnessPoints    = 5.0
)

const (
	// The shares of a signal's points, as in the table above. textShare is for words
	// that are in the text but not in the title.
	textShare             = 0.6
	roleWordShare         = 0.5
	unstatedShare         = 0.4
	specialtyInTitleShare = 0.7
	specialtyInTextShare  = 0.5
	newnessPeriod         = 30 * 24 * time.Hour
	defaultRadius         = 10.0 // miles
	// maxRadii is the distance in radii from which a place gets no points.
	maxRadii = 3.0
	// reasonThreshold is the minimum share of a signal's points for which the signal is
	// returned as a reason.
	reasonThreshold = 0.5
)

// signal is a property of the user that candidates are found by.
type signal int

const (
	// The role, its last word, the specialty, a saved search, and the title of a listing that
	// the user saved or applied for.
	roleSignal signal = iota
	roleWordSignal
	specialtySignal
	searchSignal
	likedSignal
	signalCount
)

// affinity is the data of a user that recommendations depend on. Role and specialty are
// normalized to search terms.
type affinity struct {
	Profile
	// roleWord is the last word of the role: nurse, for a senior staff nurse.
	role, roleWord, specialty string
	searches                  []Search
	likedTitles               []string
}

// newAffinity returns the data of the user with the profile, of whose searches and liked titles
// the newest are given.
func newAffinity(p Profile, searches []Search, likedTitles []string) affinity {
	t := affinity{
		Profile:     p,
		role:        plainWords(p.CurrentRole),
		specialty:   plainWords(p.Specialty),
		searches:    searches,
		likedTitles: likedTitles,
	}
	lastWordAt := strings.LastIndexByte(t.role, ' ') + 1 // 0 if there is one word
	t.roleWord = t.role[lastWordAt:]

	return t
}

// candidateQuery is a query for candidates (listings that may be recommended) that match signals.
type candidateQuery struct {
	about  []signal
	wanted Wanted
	isNear bool // restricted to the area of the profile
	// unless is a query that makes this one unnecessary if it is filled: if it found as many
	// candidates as a query may return.
	unless   *candidateQuery
	isFilled bool
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

	// addNearAndAnywhere adds a query for listings near the user's home, and one for
	// listings anywhere that runs only if the first one returns too few.
	addNearAndAnywhere := func(unless *candidateQuery, w Wanted, about ...signal) *candidateQuery {
		if home != "" {
			near := w
			near.Location, near.Radius = home, float64(t.LocationRadius)
			unless = add(candidateQuery{about: about, wanted: near, isNear: true, unless: unless})
		}

		return add(candidateQuery{about: about, wanted: w, unless: unless})
	}
	if t.role != "" && t.specialty != "" {
		addNearAndAnywhere(nil, Wanted{Text: t.role + " " + t.specialty}, roleSignal, specialtySignal)
	}

	if t.role != "" {
		anywhere := addNearAndAnywhere(nil, Wanted{Text: t.role}, roleSignal)
		if t.roleWord != t.role {
			addNearAndAnywhere(anywhere, Wanted{Text: t.roleWord}, roleWordSignal)
		}
	}

	if t.specialty != "" {
		addNearAndAnywhere(nil, Wanted{Text: t.specialty}, specialtySignal)
	}

	for _, search := range t.searches {
		add(
			candidateQuery{
				about:  []signal{searchSignal},
				wanted: Wanted{Text: search.Query, Location: search.Location, ContractType: search.ContractType},
			},
		)
	}

	for _, title := range t.likedTitles {
		add(candidateQuery{about: []signal{likedSignal}, wanted: Wanted{Text: title}})
	}

	addNearAndAnywhere(nil, Wanted{})

	return qs
}

// plainWords returns the words of a title or role as a search query without operators. It
// stops at the first comma, bracket or slash: "Staff Nurse, ICU (nights)" becomes "staff
// nurse".
func plainWords(text string) string {
	if i := strings.IndexAny(text, ",(;/|"); i > 0 {
		text = text[:i]
	}

	out := lowerWords(text)
	for utf8.RuneCountInString(out) > maxQuery {
		out = strings.TrimSpace(out[:strings.LastIndexByte(out, ' ')+1])
	}

	return out
}

// lowerWords returns the words of a text in lower case, separated by single spaces.
func lowerWords(text string) string {
	return strings.Join(strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '\'' && r != '&'
	}), " ")
}

// titleContainsAll reports whether the title contains all of the words.
func titleContainsAll(title, words string) bool {
	in := strings.Fields(lowerWords(title))
	isMissing := func(word string) bool { return !slices.Contains(in, word) }
	return words != "" && !slices.ContainsFunc(strings.Fields(words), isMissing)
}

// scoredCandidate is a candidate with the signals whose queries found it.
type scoredCandidate struct {
	Candidate
	// relevance is, by signal, 1 if the title matches, textShare if only the text
	// matches, and 0 if neither does.
	relevance [signalCount]float64
	// isNear is set if the listing was found near the user's home.
	isNear bool
}

// recordFoundBy records that the query has found the candidate.
func (f *scoredCandidate) recordFoundBy(q *candidateQuery, inTitle bool) {
	relevance := textShare
	if inTitle {
		relevance = 1
	}

	for _, about := range q.about {
		f.relevance[about] = max(f.relevance[about], relevance)
	}

	f.isNear = f.isNear || q.isNear
}

// scorePart is the contribution of a signal to a score.
type scorePart struct {
	isKnown   bool    // whether the user has data for the signal
	share     float64 // 0 to 1, the part of maxPoints that the listing gets
	maxPoints float64
	reason    string
}

// score rates the candidate and returns it as a recommendation with the reasons.
func (t affinity) score(f *scoredCandidate, now time.Time) Recommendation {
	// A query only returns its best candidates. Words in a title also count if the
	// candidate was found by the query of another signal.
	for about, words := range map[signal]string{roleSignal: t.role, roleWordSignal: t.roleWord, specialtySignal: t.specialty} {
		if titleContainsAll(f.Title, words) {
			f.relevance[about] = 1
		}
	}

	profile, specialty := t.Profile, 0.0
	switch relevance := f.relevance[specialtySignal]; {
	case f.Filed:
		specialty = 1
	case relevance == 1:
		specialty = specialtyInTitleShare
	case relevance > 0:
		specialty = specialtyInTextShare
	}

	interest, interestReason := 0.0, "Like jobs that you kept or applied for"
	if f.relevance[searchSignal] > 0 {
		interest, interestReason = 1, "Matches a search that you saved"
	}

	place, placeReason := f.placeShare(profile)
	employment, employmentReason := f.employmentShare(profile.EmploymentTypes)
	age := float64(now.Sub(f.PostedAt)) / float64(newnessPeriod)
	parts := []scorePart{
		{
			isKnown:   t.role != "",
			share:     max(f.relevance[roleSignal], roleWordShare*f.relevance[roleWordSignal]),
			maxPoints: rolePoints,
			reason:    "Fits your role",
		},
		{isKnown: t.specialty != "", share: specialty, maxPoints: specialtyPoints, reason: "In your specialty"},
		{isKnown: profile.Home() != "", share: place, maxPoints: placePoints, reason: placeReason},
		{
			isKnown:   len(t.searches)+len(t.likedTitles) > 0,
			share:     max(interest, f.relevance[likedSignal]),
			maxPoints: interestPoints,
			reason:    interestReason,
		},
		{isKnown: len(profile.EmploymentTypes) > 0, share: employment, maxPoints: employmentPoints, reason: employmentReason},
		{
			isKnown:   profile.SalaryMin != nil || profile.SalaryMax != nil,
			share:     f.payShare(profile),
			maxPoints: payPoints,
			reason:    "Pays what you expect",
		},
		{isKnown: true, share: max(0, 1-age), maxPoints: newnessPoints, reason: "New"},
	}
	isUnknown := func(p scorePart) bool { return !p.isKnown }
	parts = slices.DeleteFunc(parts, isUnknown)

	var points, maxPoints float64
	for _, part := range parts {
		points += part.share * part.maxPoints
		maxPoints += part.maxPoints
	}

	// The reasons begin with the part that has the most points.
	slices.SortStableFunc(parts, func(a, b scorePart) int {
		return int(math.Round(b.share*b.maxPoints) - math.Round(a.share*a.maxPoints))
	})

	r := Recommendation{Candidate: f.Candidate, Score: int(math.Round(100 * points / maxPoints)), Reasons: []string{}}
	for _, part := range parts {
		if part.share >= reasonThreshold {
			r.Reasons = append(r.Reasons, part.reason)
		}
	}

	return r
}

// placeShare returns the share for the distance of the listing, with the reason.
func (f *scoredCandidate) placeShare(profile Profile) (share float64, reason string) {
	radius := float64(profile.LocationRadius)
	if radius == 0 {
		radius = defaultRadius
	}

	share = 1
	switch {
	case f.Remote:
		return share, "Remote"
	case f.Miles == nil && f.isNear:
		return share, "In " + oneLine(profile.Home())
	case f.Miles == nil: // the place of the listing or of the user is unknown
		return 0, ""
	case !f.isNear && *f.Miles > radius: // from 1 at the radius down to 0 at maxRadii
		share = max(0, 1-(*f.Miles-radius)/((maxRadii-1)*radius))
	}

	return share, fmt.Sprintf("%.0f miles from %s", *f.Miles, oneLine(profile.Home()))
}

// employmentShare returns the share for the contract and employment types, with the reason.
func (f *scoredCandidate) employmentShare(preferred []string) (share float64, reason string) {
	for _, kind := range []string{f.ContractType, f.EmploymentType} {
		if kind != "" && slices.Contains(preferred, kind) {
			return 1, "Is " + kind
		}
	}

	if f.ContractType == "" && f.EmploymentType == "" {
		return unstatedShare, ""
	}

	return 0, ""
}

// payShare returns the share for the listing's pay range.
func (f *scoredCandidate) payShare(p Profile) float64 {
	switch {
	case f.PayHighest == nil:
		return unstatedShare
	case p.SalaryMin != nil && *f.PayHighest < *p.SalaryMin:
		return 0
	}

	return 1 // also if the pay is higher than expected
}
