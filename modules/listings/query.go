package listings

import (
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/locumhq/locum/core/page"
)

// Query asks Search for public listings.
type Query struct {
	Now     time.Time
	Text    Text
	Filters Filters
	Sort    Sort
	// Ascending turns the order round, what is equal included. What has no pay
	// or location still comes last. Relevance and distance have one direction.
	Ascending bool
	// From is where distances are measured from, nil if nobody asked.
	From *Place
	// Radius is how far near is, in miles.
	Radius float64
	Page   page.Request
	// Full asks for whole listings.
	Full bool
	// Places asks for where the listings are, as the gazetteer knows it.
	Places bool
	// WithoutTotal spares the count.
	WithoutTotal bool
}

// Sort is an order of results. Within equals the newer comes first, then the
// larger id.
type Sort string

// The orders.
const (
	// ByRelevance puts listings whose title has the words before the others.
	ByRelevance Sort = "relevance"
	ByDate      Sort = "date"
	// BySalary puts the highest yearly pay first and listings without pay last.
	BySalary Sort = "salary"
	// ByDistance puts the nearest to From first. A remote listing is at most
	// Radius away; one without a known place comes last.
	ByDistance Sort = "distance"
	// ByTitle and ByLocation go by the bytes of the text, whatever the case of
	// ASCII letters; a listing without a location comes last.
	ByTitle    Sort = "title"
	ByLocation Sort = "location"
)

// Sorts are the orders that clients may ask for.
var Sorts = []Sort{ByRelevance, ByDate, BySalary, ByDistance, ByTitle, ByLocation}

// Filters narrow a query. Zero values do not.
type Filters struct {
	// Near is the place that was asked for: a town and what lies within the
	// query's Radius of it, or everything in a region or country. Remote
	// listings count as near.
	Near *Place
	// LocationWords is a location that the gazetteer does not know: the
	// listing's own location has all of the words.
	LocationWords []string
	ContractType  string
	// EmploymentType is of EmploymentTypes.
	EmploymentType string
	// Specialties are the folded names of one specialty.
	Specialties []string
	// SalaryMin and SalaryMax are minor units a year; a listing's range overlaps.
	SalaryMin, SalaryMax *int64
	Remote               *bool
	// PostedAfter is the first moment of those that count: at it or after it.
	PostedAfter *time.Time
}

// Text is a search text that has been understood: every clause must hold.
type Text struct {
	Clauses []Clause
	// Nothing is a text without a single word in it: no listing matches.
	Nothing bool
}

// Clause holds for a listing if any of its parts does.
type Clause struct {
	Terms []Term
	// Near are places that a word of the text means; the listing is near one
	// of them, as in Filters.
	Near []Place
	// ContractTypes and EmploymentTypes are met by the listing's own.
	ContractTypes   []string
	EmploymentTypes []string
	// Remote is met by remote listings.
	Remote bool
	// Not turns the clause round: no term may hold. Such a clause has terms only.
	Not bool
}

// Plain reports whether the clause is about words alone.
func (c Clause) Plain() bool {
	return len(c.Near) == 0 && len(c.ContractTypes) == 0 && len(c.EmploymentTypes) == 0 && !c.Remote
}

// Term is something that stands in a listing's text.
type Term struct {
	// Words are as Words makes them; all stand in the text, in any form that
	// has the same stem.
	Words []string
	// Adjacent says that they stand side by side in this order.
	Adjacent bool
	// Prefix says that the last word may be unfinished.
	Prefix bool
	// Literal is a phrase in quotes, folded: the text has it word for word.
	// Such a term knows neither stems nor typos.
	Literal string
	// Fuzzy says that small typos are forgiven.
	Fuzzy bool
	// Unstated says that the term counts only for listings without a contract
	// type or an employment type: where one is stated, the word in the text is
	// about something else.
	Unstated Unstated
}

// Unstated names a field that a listing may leave open.
type Unstated int

// The fields.
const (
	Stated Unstated = iota // the term counts always
	NoContractType
	NoEmploymentType
)

// Understand reads a search text the way a recruiter would.
func Understand(text string, places Gazetteer) Text {
	u := understanding{places: places}
	u.read(text)
	if len(u.out.Clauses) == 0 && !u.sawWord {
		u.out.Nothing = strings.TrimSpace(text) != ""
	}
	return u.out
}

type understanding struct {
	places  Gazetteer
	out     Text
	or      bool // the next clause joins the last one
	sawWord bool
	// commaBefore is set when the text so far ended with a comma.
	commaBefore bool
}

func (u *understanding) add(c Clause) {
	n := len(u.out.Clauses)
	if len(c.Near) > 0 && !u.or {
		// Who names two places would go to either: "leeds or bradford", "leeds,
		// bradford".
		if n = 1 + slices.IndexFunc(u.out.Clauses, func(c Clause) bool { return len(c.Near) > 0 }); n > 0 {
			u.or = true
		}
	}
	if u.or && n > 0 && !c.Not && !u.out.Clauses[n-1].Not {
		// Clipped, because vocabulary tables may lie below.
		last := &u.out.Clauses[n-1]
		last.Terms = append(slices.Clip(last.Terms), c.Terms...)
		last.Near = append(slices.Clip(last.Near), c.Near...)
		last.Remote = last.Remote || c.Remote
		last.ContractTypes = append(last.ContractTypes, c.ContractTypes...)
		last.EmploymentTypes = append(last.EmploymentTypes, c.EmploymentTypes...)
	} else {
		u.out.Clauses = append(u.out.Clauses, c)
	}
	u.or = false
}

// read cuts the text into quoted phrases, excluded words, the operator OR and
// the stretches between them.
func (u *understanding) read(text string) {
	text = strings.Map(func(r rune) rune {
		switch r {
		case '“', '”', '„', '«', '»':
			return '"'
		}
		return r
	}, text)
	var stretch strings.Builder
	flush := func(last bool) {
		u.stretch(stretch.String(), last)
		stretch.Reset()
	}
	for rest := text; rest != ""; {
		trimmed := strings.TrimLeftFunc(rest, unicode.IsSpace)
		if len(trimmed) < len(rest) {
			stretch.WriteByte(' ')
			rest = trimmed
			continue
		}
		not := (rest[0] == '-' && len(rest) > 1) && (len(rest) == len(text) || atSpace(text, len(text)-len(rest)))
		body := rest
		if not {
			body = rest[1:]
		}
		if body[0] == '"' {
			phrase, after, closed := strings.Cut(body[1:], `"`)
			if !closed {
				after = ""
			}
			flush(false)
			u.phrase(phrase, not)
			rest = after
			continue
		}
		end := strings.IndexFunc(body, func(r rune) bool { return unicode.IsSpace(r) || r == '"' })
		if end < 0 {
			end = len(body)
		}
		chunk, after := body[:end], body[end:]
		switch {
		case not:
			if ws := Words(chunk); len(ws) > 0 {
				flush(false)
				u.sawWord = true
				u.add(Clause{Not: true, Terms: excluded(ws)})
			}
		case (chunk == "OR" || chunk == "|") && strings.TrimSpace(after) != "":
			flush(false)
			u.or = len(u.out.Clauses) > 0
		default:
			stretch.WriteString(chunk)
		}
		rest = after
	}
	flush(true)
}

// atSpace reports whether the byte before i is white space, so that the hyphen
// of "full-time" does not exclude anything.
func atSpace(s string, i int) bool {
	return i > 0 && (s[i-1] == ' ' || s[i-1] == '\t' || s[i-1] == '\n')
}

func (u *understanding) phrase(s string, not bool) {
	ws := Words(s)
	if len(ws) == 0 {
		return
	}
	u.sawWord = true
	u.add(Clause{Not: not, Terms: []Term{{Words: ws, Adjacent: true, Literal: strings.Join(strings.Fields(Fold(s)), " ")}}})
}

// excluded takes a word out together with its other names.
func excluded(ws []string) []Term {
	if forms, n := synonymsAt(ws); n == len(ws) {
		return forms
	}
	return []Term{{Words: ws, Adjacent: len(ws) > 1}}
}

// maxSpan is how many words a place or a job's name may have.
const maxSpan = 5

// stretch reads plain words. last says that the text ends with them, so that
// the last word may be unfinished.
func (u *understanding) stretch(s string, last bool) {
	ts := tokens(s)
	if len(ts) > 0 {
		u.sawWord = true
	}
	words := make([]string, len(ts))
	for i, t := range ts {
		words[i] = t.word
	}
	unfinished := last && len(ts) > 0 && !strings.HasSuffix(s, ".") && !strings.HasSuffix(s, ",")
	for i := 0; i < len(ts); {
		or := u.or
		comma := strings.Contains(ts[i].gap, ",") || (i == 0 && u.commaBefore)
		if prepositions[words[i]] && i+1 < len(ts) {
			if p, n := u.place(ts[i+1:], true, unfinished); n > 0 {
				u.add(p)
				i += 1 + n
				continue
			}
		}
		if ts[i].joined { // the second band of "band 5/6"
			u.or = len(u.out.Clauses) > 0
		}
		if forms, n := synonymsAt(words[i:]); n > 1 {
			// A job's name of several words is not a place (Health Visitor).
			u.add(Clause{Terms: forms})
			i += n
			continue
		}
		if c, n := contractAt(words[i:]); n > 0 {
			u.add(c)
			i += n
			continue
		}
		if p, n := u.place(ts[i:], comma, unfinished); n > 0 {
			u.add(p)
			i += n
			continue
		}
		w := words[i]
		final := unfinished && i == len(ts)-1
		switch {
		case w == "per" && i+1 < len(ts) && payPeriods[words[i+1]]:
			i++ // £20 per hour
		case fillers[w] || stopWords[w] || prepositions[w] || strings.ContainsAny(ts[i].gap, "£$€"):
			u.or = or // "nurse OR the midwife"
			if len(u.out.Clauses) == 0 {
				u.or = false
			}
		default:
			c := Clause{Terms: []Term{{Words: []string{w}, Fuzzy: true, Prefix: final}}}
			if forms, n := synonymsAt(words[i:]); n == 1 {
				c.Terms = slices.Clone(forms)
				if final {
					c.Terms = append(c.Terms, Term{Words: []string{w}, Prefix: true})
				}
			}
			for _, short := range shorthand[w] {
				c.Terms = append(c.Terms, Term{Words: []string{short}})
			}
			u.add(c)
		}
		i++
	}
	u.commaBefore = strings.HasSuffix(strings.TrimSpace(s), ",")
}

// place finds the longest run of words from the first on that names a place.
// strong says that in, near, at or a comma went before it, unfinished that the
// last of the words may not be whole. An amount of money is not a ZIP code.
func (u *understanding) place(ts []token, strong, unfinished bool) (Clause, int) {
	if strings.ContainsAny(ts[0].gap, "£$€") {
		return Clause{}, 0
	}
	for n := min(maxSpan, len(ts)); n >= 1; n-- {
		var b strings.Builder
		words := make([]string, n)
		broken := false
		for i, t := range ts[:n] {
			words[i] = t.word
			if i > 0 {
				broken = broken || strings.ContainsAny(t.gap, "()/;")
				if strings.Contains(t.gap, ",") {
					b.WriteString(", ")
				} else {
					b.WriteByte(' ')
				}
			}
			b.WriteString(t.word)
		}
		if broken {
			continue
		}
		p, ok := u.places.Resolve(b.String())
		if !ok || !strong && !worthAPlace(words, p) {
			continue
		}
		if n > 1 && !strong && commonWords[words[0]] && !strings.Contains(b.String(), ",") && p.Population < 100_000 && p.Kind == Town {
			continue // "care home" is no town
		}
		// The listing may also say the place's name without being there. A small
		// place may be the beginning of a large one: Lee, Leeds.
		prefix := unfinished && n == 1 && len(ts) == 1 && p.Kind == Town && p.Population > 0 && p.Population < 30_000
		return Clause{Near: []Place{p}, Terms: []Term{{Words: words, Adjacent: n > 1, Prefix: prefix}}}, n
	}
	return Clause{}, 0
}

// worthAPlace decides whether words without in, near, at or a comma before
// them mean the place of that name.
func worthAPlace(words []string, p Place) bool {
	if hasPostcode(words) {
		return true
	}
	w := words[0]
	if p.Kind != Town {
		return len(words) > 1 || len(w) > 3 && !commonWords[w] || w == "uk" || w == "usa"
	}
	if len(words) == 1 {
		if _, n := synonymsAt(words); n > 0 || commonWords[w] || fillers[w] || stopWords[w] || len(w) < 3 {
			return false
		}
	}
	least := 100_000
	switch p.Country {
	case "GB", "IE":
		least = 2_000
	case "US":
		least = 40_000
	}
	if len(words) > 1 { // fewer names of two words are also something else
		least /= 10
	}
	return p.Population >= least
}

// fullPostcode is a postcode or an Eircode with both halves, or a ZIP code
// behind the name of its town. A district alone ("ST3", "CT2") may be a grade.
var fullPostcode = regexp.MustCompile(`(^| )([a-z]{1,2}[0-9][a-z0-9]? ?[0-9][a-z]{2}|[a-z][0-9][0-9w] ?[a-z0-9]{4})$|[a-z] [0-9]{5}$`)

// hasPostcode reports whether the words of a place end with a full postcode.
func hasPostcode(words []string) bool { return fullPostcode.MatchString(strings.Join(words, " ")) }
