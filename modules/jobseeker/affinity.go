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

// The score of a listing says how well it suits a user. It has the parts below, each with a
// maximum number of points. Only parts for which the user has data count: the score is the
// percentage of their points that the listing gets. For a user whose profile only has a
// role, a listing that was posted today with this role in its title scores 100.
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

// The shares of the points of a part that a listing gets if it matches only partly.
const (
	textShare             = 0.6 // words are in the text but not in the title
	roleWordShare         = 0.5 // only the last word of the role matches
	unstatedShare         = 0.4 // the listing says nothing about the employment type or the pay
	specialtyInTitleShare = 0.7
	specialtyInTextShare  = 0.5
)

const (
	// newnessPeriod is the age from which a listing gets no points for newness.
	newnessPeriod = 30 * 24 * time.Hour
	// defaultRadius is the radius, in miles, of a user who has not set one.
	defaultRadius = 10.0
	// maxRadii is the distance, as a multiple of the radius, from which a place gets no points.
	maxRadii = 3.0
	// reasonThreshold is the minimum share of its points with which a part is named as a
	// reason for the recommendation.
	reasonThreshold = 0.5
)

// signal is a text from the data of a user that listings are searched for.
type signal int

const (
	roleSignal      signal = iota // the role in the profile
	roleWordSignal                // the last word of the role
	specialtySignal               // the specialty in the profile
	searchSignal                  // a saved search
	likedSignal                   // the title of a listing that the user saved or applied for
	signalCount
)

// affinity is the data of a user that recommendations depend on: the profile, and the texts
// that listings are searched for.
type affinity struct {
	Profile
	// role and specialty are the role and the specialty of the profile as search queries
	// (plainWords).
	role, specialty string
	// roleWord is the last word of the role: "nurse" for "senior staff nurse".
	roleWord    string
	searches    []Search
	likedTitles []string
}

// newAffinity returns the affinity of the user with the profile. The caller chooses which of
// the user's searches and liked titles are used.
func newAffinity(p Profile, searches []Search, likedTitles []string) affinity {
	a := affinity{
		Profile:     p,
		role:        plainWords(p.CurrentRole),
		specialty:   plainWords(p.Specialty),
		searches:    searches,
		likedTitles: likedTitles,
	}
	lastWordAt := strings.LastIndexByte(a.role, ' ') + 1 // 0 if there is one word
	a.roleWord = a.role[lastWordAt:]

	return a
}

// candidateQuery is a query for candidates: listings that may be recommended.
type candidateQuery struct {
	// signals are the signals that a listing matches if this query finds it. The queries for the
	// newest listings have no signals.
	signals []signal
	wanted  Wanted
	isNear  bool // restricted to the area of the user's home
	// narrower is a stricter query that runs before this query, or nil. If the narrower query is
	// filled, this query is skipped.
	narrower *candidateQuery
	// isFilled is set when the query has returned as many candidates as a query may return,
	// or when it was skipped because its narrower query is filled.
	isFilled bool
}

// queries returns the queries for candidates. The last ones return the newest listings,
// so that users without data get recommendations too.
func (a affinity) queries() (queries []*candidateQuery) {
	home := a.Home()
	add := func(q candidateQuery) *candidateQuery {
		q.wanted.Home, q.wanted.Specialty = home, a.Specialty
		queries = append(queries, &q)
		return &q
	}

	// addNearAndAnywhere adds a query for listings near the user's home, if the home is known, and
	// a query for listings anywhere. If the first query is filled, the second one is skipped.
	// addNearAndAnywhere returns the query for listings anywhere.
	addNearAndAnywhere := func(narrower *candidateQuery, wanted Wanted, signals ...signal) *candidateQuery {
		if home != "" {
			near := wanted
			near.Location, near.Radius = home, float64(a.LocationRadius)
			narrower = add(candidateQuery{signals: signals, wanted: near, isNear: true, narrower: narrower})
		}

		return add(candidateQuery{signals: signals, wanted: wanted, narrower: narrower})
	}

	var noNarrower *candidateQuery

	if a.role != "" && a.specialty != "" {
		addNearAndAnywhere(noNarrower, Wanted{Text: a.role + " " + a.specialty}, roleSignal, specialtySignal)
	}

	if a.role != "" {
		wholeRole := addNearAndAnywhere(noNarrower, Wanted{Text: a.role}, roleSignal)
		if a.roleWord != a.role {
			addNearAndAnywhere(wholeRole, Wanted{Text: a.roleWord}, roleWordSignal)
		}
	}

	if a.specialty != "" {
		addNearAndAnywhere(noNarrower, Wanted{Text: a.specialty}, specialtySignal)
	}

	for _, search := range a.searches {
		add(
			candidateQuery{
				signals: []signal{searchSignal},
				wanted:  Wanted{Text: search.Query, Location: search.Location, ContractType: search.ContractType},
			},
		)
	}

	for _, title := range a.likedTitles {
		add(candidateQuery{signals: []signal{likedSignal}, wanted: Wanted{Text: title}})
	}

	// A query without text returns the newest listings.
	addNearAndAnywhere(noNarrower, Wanted{})

	return queries
}

// plainWords returns the words of a title or role as a search query without operators, of at
// most maxQuery characters. It stops at the first comma, bracket or slash: "Staff Nurse, ICU
// (nights)" becomes "staff nurse". A separator at the beginning is ignored.
func plainWords(text string) string {
	if i := strings.IndexAny(text, ",(;/|"); i > 0 {
		text = text[:i]
	}

	// Remove the last word until the query is short enough. If only one word is left and it
	// is too long, the query becomes empty.
	query := lowerWords(text)
	for utf8.RuneCountInString(query) > maxQuery {
		lastWordAt := strings.LastIndexByte(query, ' ') + 1
		query = strings.TrimSpace(query[:lastWordAt])
	}

	return query
}

// lowerWords returns the words of a text in lower case, separated by single spaces.
func lowerWords(text string) string {
	return strings.Join(strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '\'' && r != '&'
	}), " ")
}

// titleContainsAll reports whether the title contains all of the words. It is false if there
// are no words.
func titleContainsAll(title, words string) bool {
	titleWords := strings.Fields(lowerWords(title))
	isMissing := func(word string) bool { return !slices.Contains(titleWords, word) }
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

// recordFoundBy records that the query has found the candidate. inTitle is true if it found
// the words of the query in the title.
func (c *scoredCandidate) recordFoundBy(q *candidateQuery, inTitle bool) {
	relevance := textShare
	if inTitle {
		relevance = 1
	}

	for _, signal := range q.signals {
		c.relevance[signal] = max(c.relevance[signal], relevance)
	}

	c.isNear = c.isNear || q.isNear
}

// recordTitleMatches records which signals are words of the candidate's title. Queries miss
// some of these matches: a query only returns its best candidates, and a candidate may have
// been found by the query of another signal.
func (a affinity) recordTitleMatches(c *scoredCandidate) {
	for signal, words := range map[signal]string{roleSignal: a.role, roleWordSignal: a.roleWord, specialtySignal: a.specialty} {
		if titleContainsAll(c.Title, words) {
			c.relevance[signal] = 1
		}
	}
}

// scorePart is the contribution of a property of the user, such as the role, to a score.
type scorePart struct {
	isKnown   bool    // whether the user has data for this part
	share     float64 // 0 to 1, the share of maxPoints that the listing gets
	maxPoints float64
	reason    string
}

// scoreParts returns all parts of the candidate's score, including unknown ones.
func (a affinity) scoreParts(c *scoredCandidate, now time.Time) []scorePart {
	place, placeReason := c.placeShare(a.Profile)
	interest, interestReason := c.interestShare()
	employment, employmentReason := c.employmentShare(a.EmploymentTypes)
	age := float64(now.Sub(c.PostedAt)) / float64(newnessPeriod)

	return []scorePart{
		{
			isKnown:   a.role != "",
			share:     max(c.relevance[roleSignal], roleWordShare*c.relevance[roleWordSignal]),
			maxPoints: rolePoints,
			reason:    "Fits your role",
		},
		{isKnown: a.specialty != "", share: c.specialtyShare(), maxPoints: specialtyPoints, reason: "In your specialty"},
		{isKnown: a.Home() != "", share: place, maxPoints: placePoints, reason: placeReason},
		{
			isKnown:   len(a.searches)+len(a.likedTitles) > 0,
			share:     interest,
			maxPoints: interestPoints,
			reason:    interestReason,
		},
		{isKnown: len(a.EmploymentTypes) > 0, share: employment, maxPoints: employmentPoints, reason: employmentReason},
		{
			isKnown:   a.SalaryMin != nil || a.SalaryMax != nil,
			share:     c.payShare(a.Profile),
			maxPoints: payPoints,
			reason:    "Pays what you expect",
		},
		{isKnown: true, share: max(0, 1-age), maxPoints: newnessPoints, reason: "New"},
	}
}

// score rates the candidate and returns it as a recommendation with the reasons.
func (a affinity) score(c *scoredCandidate, now time.Time) Recommendation {
	a.recordTitleMatches(c)

	isUnknown := func(p scorePart) bool { return !p.isKnown }
	parts := slices.DeleteFunc(a.scoreParts(c, now), isUnknown)

	var points, maxPoints float64
	for _, part := range parts {
		points += part.share * part.maxPoints
		maxPoints += part.maxPoints
	}

	// The reasons begin with the part that has the most points. Parts with the same points
	// after rounding keep their order.
	slices.SortStableFunc(parts, func(a, b scorePart) int {
		return int(math.Round(b.share*b.maxPoints) - math.Round(a.share*a.maxPoints))
	})

	r := Recommendation{Candidate: c.Candidate, Score: int(math.Round(100 * points / maxPoints)), Reasons: []string{}}
	for _, part := range parts {
		if part.share >= reasonThreshold {
			r.Reasons = append(r.Reasons, part.reason)
		}
	}

	return r
}

// specialtyShare returns the share for the specialty. The share is greatest if the listing itself
// has the specialty of the user. It is smaller if only the title or the text mentions the
// specialty.
func (c *scoredCandidate) specialtyShare() float64 {
	relevance := c.relevance[specialtySignal]
	switch {
	case c.Filed:
		return 1
	case relevance == 1:
		return specialtyInTitleShare
	case relevance > 0:
		return specialtyInTextShare
	}

	return 0
}

// interestShare returns the share for the saved searches and liked titles that have found the
// listing, with the reason.
func (c *scoredCandidate) interestShare() (share float64, reason string) {
	if c.relevance[searchSignal] > 0 {
		return 1, "Matches a search that you saved"
	}

	return c.relevance[likedSignal], "Like jobs that you kept or applied for"
}

// placeShare returns the share for the distance of the listing, with the reason.
func (c *scoredCandidate) placeShare(profile Profile) (share float64, reason string) {
	radius := float64(profile.LocationRadius)
	if radius == 0 {
		radius = defaultRadius
	}

	share = 1
	switch {
	case c.Remote:
		return share, "Remote"
	case c.Miles == nil && c.isNear:
		return share, "In " + oneLine(profile.Home())
	case c.Miles == nil: // the place of the listing or of the user is unknown
		return 0, ""
	case !c.isNear && *c.Miles > radius:
		// The share decreases from 1 at the radius to 0 at maxRadii times the radius.
		share = max(0, 1-(*c.Miles-radius)/((maxRadii-1)*radius))
	}

	return share, fmt.Sprintf("%.0f miles from %s", *c.Miles, oneLine(profile.Home()))
}

// employmentShare returns the share for the contract and employment types, with the reason.
func (c *scoredCandidate) employmentShare(preferred []string) (share float64, reason string) {
	for _, kind := range []string{c.ContractType, c.EmploymentType} {
		if kind != "" && slices.Contains(preferred, kind) {
			return 1, "Is " + kind
		}
	}

	if c.ContractType == "" && c.EmploymentType == "" {
		return unstatedShare, ""
	}

	return 0, ""
}

// payShare returns the share for the listing's pay range. Pay above the user's expectation gets all
// points, even if it exceeds SalaryMax.
func (c *scoredCandidate) payShare(p Profile) float64 {
	switch {
	case c.PayHighest == nil:
		return unstatedShare
	case p.SalaryMin != nil && *c.PayHighest < *p.SalaryMin:
		return 0
	}

	return 1
}
