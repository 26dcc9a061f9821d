package listings

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/modules/listings/search"
)

// FilterInput restricts a search. Amounts are major units a year, times RFC 3339
// or dates. Each condition is met by any of its values; zero values do not
// restrict.
type FilterInput struct {
	Location       string
	Radius         *float64 // miles, DefaultRadius without
	ContractType   []string
	EmploymentType []string
	Specialty      []string
	Role           []string
	Band           []string
	Shift          []string
	Employer       []string
	Organization   string // the id
	SalaryMin      *float64
	SalaryMax      *float64
	Currency       string
	Remote         *bool
	PostedAfter    string
}

// The bounds of a search.
const (
	DefaultRadius = 10.0
	maxRadius     = search.MaxRadius
	maxQuery      = 200
	// maxRelaxed is the number of relaxed results that a search returns.
	maxRelaxed = 20
)

// Sort is an order of results. Equal results are sorted by date, newest first.
type Sort string

// The orders.
const (
	ByRelevance Sort = "relevance"
	ByDate      Sort = "date"
	// BySalary puts the highest yearly pay first and listings without pay last.
	BySalary Sort = "salary"
	// ByDistance puts the nearest first.
	ByDistance Sort = "distance"
	// ByTitle and ByLocation compare bytes, ignoring the case of ASCII letters.
	ByTitle    Sort = "title"
	ByLocation Sort = "location"
)

// Sorts are the orders that clients may request.
var Sorts = []Sort{ByRelevance, ByDate, BySalary, ByDistance, ByTitle, ByLocation}

// facets are the names of what results can be counted by, with the prefixes of
// their keys.
var facets = map[string]string{
	"role": "role.head:", "specialty": keySpecialty, "band": "grade:", "shift": "shift:",
	"contractType": keyContractType, "employmentType": keyEmploymentType, "region": "region:",
}

// FindInput is a search by anyone.
type FindInput struct {
	Text    string
	Filters FilterInput
	Sort    string // of Sorts; empty for relevance
	// Ascending reverses date, salary, title and location.
	Ascending bool
	// Exact excludes relaxed results.
	Exact bool
	// Facets are names of Facets by which exact results are counted.
	Facets []string
	Page   page.Request
	// Full requests whole listings.
	Full bool
	// home is a location from which distances are measured, in place of that of order.
	home string
}

// Found is a page of results.
type Found struct {
	page.Result[Hit]
	Report
	// Relaxed is the number of relaxed results on the page.
	Relaxed int
	// Facets is nil without FindInput.Facets.
	Facets map[string][]FacetValue
}

// Report describes how the text of a search was interpreted. Its lists are not nil.
type Report struct {
	Understood  []Understood        `json:"understood"`
	Corrections []search.Correction `json:"corrections"`
	// Suggestions are other searches with results, if this one has none.
	Suggestions []Suggestion `json:"suggestions"`
}

// Understood is a part of a search text with its interpretation.
type Understood struct {
	Slot  string `json:"slot" sample:"role"`
	Value string `json:"value" sample:"Nurse"`
	Text  string `json:"text" sample:"nurse"`
	// Start and End are positions in the text, in characters.
	Start int `json:"start" sample:"0"`
	End   int `json:"end" sample:"5"`
}

// Suggestion is another search with the number of its results.
type Suggestion struct {
	Text  string `json:"text" sample:"within 25 miles of Leeds"`
	Total int    `json:"total"`
}

// FacetValue is a value with the number of results that have it.
type FacetValue struct {
	Value string `json:"value" sample:"nurse"`
	Label string `json:"label" sample:"Nurse"`
	Count int    `json:"count"`
}

// Hit is one result.
type Hit struct {
	// Listing has the fields of lists, or all fields if the query has Full.
	Listing Listing
	// Relevance is from 0 to 1: 1 if the listing matches the whole query exactly.
	Relevance float64
	Match
	// Miles is the distance to the place of the search, nil if either is unknown.
	Miles *float64
}

// Match describes how a result fits the search.
type Match struct {
	// Matched describes how the listing satisfies each part of the text. It is not nil.
	Matched []Matched `json:"matched"`
	// Relaxed is set if the listing does not satisfy all parts of the text.
	Relaxed bool `json:"relaxed"`
}

// Matched describes how a listing satisfies a slot.
type Matched struct {
	Slot string     `json:"slot" sample:"role"`
	How  search.How `json:"how" sample:"title"`
}

// Find searches the public listings. Invalid filters are an ErrFilters with
// fields, an invalid text or order an ErrQuery.
func (s *Service) Find(ctx context.Context, who auth.Actor, in FindInput) (Found, error) {
	if err := who.RequireScope(auth.ScopeJobsRead); err != nil {
		return Found{}, err
	}
	if err := in.check(); err != nil {
		return Found{}, err
	}
	return s.find(ctx, who, in)
}

// find is Find for input that was checked.
func (s *Service) find(ctx context.Context, who auth.Actor, in FindInput) (Found, error) {
	var found Found
	err := s.useIndex(ctx, func(ctx context.Context, g *generation, isCurrent bool) error {
		q, err := s.question(ctx, g.parserWithin(ctx), who, in)
		if err == nil {
			q.isCurrent = isCurrent
			found, err = s.answer(ctx, g, q)
		}
		return err
	})
	return found, err
}

// useIndex calls Engine.use within the limits of searches.
func (s *Service) useIndex(ctx context.Context, fn func(ctx context.Context, g *generation, isCurrent bool) error) error {
	return s.searches.do(ctx, func(ctx context.Context) error {
		return s.Engine.use(ctx, func(g *generation, isCurrent bool) error { return fn(ctx, g, isCurrent) })
	})
}

func (in *FindInput) check() error {
	if utf8.RuneCountInString(in.Text) > maxQuery {
		return ErrQuery.WithFields(fault.Field{Name: "query", Message: fmt.Sprintf("must have at most %d characters", maxQuery)})
	}
	if in.Page.TooDeep() {
		return fault.InvalidField("page", fmt.Sprintf("reaches beyond %d items; follow nextCursor with cursor instead", page.MaxExact))
	}
	if in.Sort != "" && !slices.Contains(Sorts, Sort(in.Sort)) {
		return ErrQuery.WithFields(fault.Field{Name: "sort", Message: "must be one of: relevance, date, salary, distance, title, location"})
	}
	for _, name := range in.Facets {
		if facets[name] == "" {
			return ErrFilters.WithFields(fault.Field{Name: "facets", Message: "must be of: role, specialty, band, contractType, employmentType, shift, region"})
		}
	}
	return nil
}

// question is a parsed search.
type question struct {
	FindInput
	understood search.Understanding
	plan       search.Plan
	query      search.Query
	near       *Place // of the location filter
	corrected  []search.Correction
	radius     float64
	empty      bool // nothing matches
	isCurrent  bool // the index contains all changes of this process
}

// question parses the text and the filters.
func (s *Service) question(ctx context.Context, p *search.Parser, who auth.Actor, in FindInput) (*question, error) {
	in.Facets = slices.Compact(slices.Sorted(slices.Values(in.Facets)))
	q := &question{FindInput: in, radius: DefaultRadius, understood: p.Parse(in.Text)}
	q.empty = q.understood.Empty
	if wrong := tooComplex(&q.understood); wrong != "" {
		return nil, ErrQuery.WithFields(fault.Field{Name: "query", Message: wrong})
	}
	if err := s.filter(p, q); err != nil {
		return nil, err
	}
	q.plan = q.understood.Plan(q.radius)
	q.query.Now = s.Clock.Now()
	q.query.Must = append(q.query.Must, q.plan.Must...)
	q.query.Slots = slices.Clone(q.plan.Slots)
	if q.near != nil {
		q.query.Slots = append(q.query.Slots, search.NearSlot(*q.near, q.radius))
	}
	if !in.Exact {
		q.query.MaxCost, q.query.Relaxed = search.MaxCost, maxRelaxed
	}
	q.query.Offset, q.query.Limit, q.query.After = in.Page.Offset(), in.Page.Size, in.Page.Cursor
	for _, name := range in.Facets {
		q.query.Facets = append(q.query.Facets, facets[name])
	}
	if err := s.order(ctx, q, who); err != nil {
		return nil, err
	}
	if home := s.locate(in.home); home != nil {
		q.query.From = pointOf(home)
	}
	return q, nil
}

// sortKeys are the keys of the orders other than relevance.
var sortKeys = map[Sort]search.SortKey{
	ByDate: search.SortDate, BySalary: search.SortPay, ByDistance: search.SortDistance, ByTitle: search.SortTitle, ByLocation: search.SortLocation,
}

// order sets the sort order and the place from which distances are measured: that of
// the filter, that of the text, or, to sort by distance, the home of the jobseeker.
// Without a place, results are not sorted by distance but by relevance.
func (s *Service) order(ctx context.Context, q *question, who auth.Actor) error {
	from, by := q.place(), Sort(q.Sort)
	if from == nil && by == ByDistance && who.Seeker {
		home, err := s.Seekers.HomeLocation(ctx, who.UserID)
		if err != nil {
			return err
		}
		from = s.locate(home)
	}
	if from != nil {
		q.query.From = pointOf(from)
	}
	key, ok := sortKeys[by]
	if !ok || by == ByDistance && from == nil {
		return nil
	}
	q.query.Sort, q.query.First = search.Sort{By: key, Descending: !q.Ascending && by != ByDistance}, q.plan.First
	if by == BySalary {
		q.query.Sort.Currency = q.currency()
	}
	return nil
}

// place returns the place of the filter or that of the text, or nil.
func (q *question) place() *Place {
	if q.near != nil {
		return q.near
	}
	for i := range q.understood.Terms {
		if t := &q.understood.Terms[i]; !t.Excluded && len(t.Places) > 0 {
			return &t.Places[0]
		}
	}
	return nil
}

// currency returns the currency in which pay is compared, empty for any.
func (q *question) currency() string {
	if place := q.place(); q.Filters.Currency == "" && place != nil {
		return currencyOf[place.Country]
	}
	return q.Filters.Currency
}

var currencyOf = map[string]string{"GB": "GBP", "IE": "EUR", "US": "USD"}

// tooComplex returns what is wrong with a text that costs more than a search may.
func tooComplex(u *search.Understanding) string {
	exclusions, phrases := 0, 0
	for i := range u.Terms {
		if u.Terms[i].Excluded {
			exclusions++
		}
		if u.Terms[i].Slot == search.SlotPhrase {
			phrases += 1 + len(u.Terms[i].Or)
		}
	}
	var wrong []string
	if exclusions > maxExclusions {
		wrong = append(wrong, fmt.Sprintf("must have at most %d excluded words", maxExclusions))
	}
	if phrases > maxPhrases {
		wrong = append(wrong, fmt.Sprintf("must have at most %d phrases", maxPhrases))
	}
	return strings.Join(wrong, " and ")
}

// ClosestTo returns a page of results, without relaxed ones, with their distances from
// home.
func (s *Service) ClosestTo(ctx context.Context, in FindInput, home string) ([]Hit, error) {
	in.Exact, in.home = true, home
	found, err := s.find(ctx, auth.Actor{}, in)
	return found.Items, err
}
