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

// FilterInput restricts a search. Filters that are zero do not restrict it. A listing
// satisfies a filter with several values if one of them applies. Amounts are in major units
// per year. PostedAfter is an RFC 3339 date or date-time.
type FilterInput struct {
	Location       string
	Radius         *float64 // miles, nil for DefaultRadius
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

// The limits of a search.
const (
	DefaultRadius = 10.0 // miles
	maxRadius     = search.MaxRadius
	maxQuery      = 200 // characters
	// maxRelaxed is the maximum number of relaxed results: listings that satisfy the query
	// only in part.
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

// facets maps the names of the properties by which results can be counted to the prefixes of
// their keys in the index. Clients call a grade of the vocabulary a band.
var facets = map[string]string{
	"role": keyRole, "specialty": keySpecialty, "band": "grade:", "shift": "shift:",
	"contractType": keyContractType, "employmentType": keyEmploymentType, "region": "region:",
}

// FindInput is a search of the public listings.
//
// The parts of a search text that have a meaning are called slots: "band 5 nurse in Leeds" has a
// grade, a role and a place. An exact result satisfies every slot. A relaxed result satisfies one
// of the slots only approximately. Relaxed results follow the exact results.
type FindInput struct {
	Text    string
	Filters FilterInput
	Sort    string // of Sorts; empty for relevance
	// Ascending reverses the orders date, salary, title and location.
	Ascending bool
	// Exact excludes relaxed results.
	Exact bool
	// Facets are the names of the facets by which exact results are counted.
	Facets []string
	Page   page.Request
	// Full requests listings with all fields.
	Full bool
	// home is the location from which distances are measured, if it is set and the gazetteer
	// knows it. It takes precedence over the place of the search (setOrder).
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
	// IsUnknownPlace is set if the location filter is no place of the gazetteer. The locations
	// of the results contain its words.
	IsUnknownPlace bool
}

// Report describes how the text of a search was interpreted. Its lists are not nil.
type Report struct {
	Understood  []Understood        `json:"understood"`
	Corrections []search.Correction `json:"corrections"`
	// Suggestions are other searches with results, if this search has none.
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

// Suggestion is a less specific search with the number of its results.
type Suggestion struct {
	Text  string `json:"text" sample:"within 25 miles of Leeds"`
	Total int    `json:"total"`
}

// FacetValue is a value of a facet with the number of results that have it.
type FacetValue struct {
	Value string `json:"value" sample:"nurse"`
	Label string `json:"label" sample:"Nurse"`
	Count int    `json:"count"`
}

// Hit is one result.
type Hit struct {
	// Listing has all fields if FindInput.Full is set. Otherwise descriptions and other
	// long fields may be missing.
	Listing Listing
	// Relevance is from 0 to 1: 1 if the listing matches the whole query exactly.
	Relevance float64
	Match
	// Miles is the distance to the place of the search, nil if one of the places is
	// unknown.
	Miles *float64
}

// Match describes how a result fits the search.
type Match struct {
	// Matched describes how the listing satisfies each part of the text. It is not nil.
	Matched []Matched `json:"matched"`
	// Relaxed is set if the listing does not satisfy all parts of the text.
	Relaxed bool `json:"relaxed"`
}

// Matched describes how a listing satisfies a slot, which is a part of the query such as the
// role.
type Matched struct {
	Slot string     `json:"slot" sample:"role"`
	How  search.How `json:"how" sample:"title"`
}

// Find searches the public listings. It returns ErrFilters with fields for invalid filters,
// and ErrQuery for an invalid text or order.
func (s *Service) Find(ctx context.Context, by auth.Actor, in FindInput) (Found, error) {
	if err := by.RequireScope(auth.ScopeJobsRead); err != nil {
		return Found{}, err
	}

	if err := in.validate(); err != nil {
		return Found{}, err
	}

	return s.find(ctx, by, in)
}

// find does the same as Find, for input that is valid and without authorization.
func (s *Service) find(ctx context.Context, by auth.Actor, in FindInput) (Found, error) {
	var found Found
	err := s.useIndex(ctx, func(ctx context.Context, g *generation, isCurrent bool) error {
		q, err := s.parseRequest(ctx, g.parserWithin(ctx), by, in)
		if err != nil {
			return err
		}

		q.isCurrent = isCurrent
		found, err = s.runSearch(ctx, g, q)

		return err
	})

	return found, err
}

// useIndex calls fn with the current generation of the index, within the limits of time and
// concurrency that all searches share. isCurrent is true if the index contains all changes that
// this process has committed.
func (s *Service) useIndex(ctx context.Context, fn func(ctx context.Context, g *generation, isCurrent bool) error) error {
	return s.searches.do(ctx, func(ctx context.Context) error {
		return s.Engine.use(ctx, func(g *generation, isCurrent bool) error { return fn(ctx, g, isCurrent) })
	})
}

// validate checks everything but the filters, which addFilters checks.
func (in *FindInput) validate() error {
	if utf8.RuneCountInString(in.Text) > maxQuery {
		return ErrQuery.WithFields(fault.Field{Name: "query", Message: fmt.Sprintf("must have at most %d characters", maxQuery)})
	}

	if in.Page.IsTooDeep() {
		return fault.InvalidField("page", fmt.Sprintf("reaches beyond %d items; follow nextCursor with cursor instead", page.MaxExact))
	}

	if in.Sort != "" && !slices.Contains(Sorts, Sort(in.Sort)) {
		return ErrQuery.WithFields(fault.Field{Name: "sort", Message: "must be one of: relevance, date, salary, distance, title, location"})
	}

	for _, name := range in.Facets {
		if facets[name] == "" {
			return ErrFilters.WithFields(
				fault.Field{Name: "facets", Message: "must be of: role, specialty, band, contractType, employmentType, shift, region"},
			)
		}
	}

	return nil
}

// searchRequest is a parsed search.
type searchRequest struct {
	FindInput
	understood search.Understanding // the parts of the text, called terms, with their meanings
	plan       search.Plan          // the conditions and slots of the text
	query      search.Query         // the plan with the filters, the order and the page, for the index
	near       *Place               // the place of the location filter, nil for none
	corrected  []search.Correction  // the corrections of the location filter
	radius     float64
	// isUnknownPlace has the meaning of Found.IsUnknownPlace.
	isUnknownPlace bool
	matchesNothing bool // no listing can match
	isCurrent      bool // the index contains all changes that this process has committed
}

// parseRequest parses the text and the filters of a search, and translates them into a query
// for the index.
func (s *Service) parseRequest(ctx context.Context, p *search.Parser, by auth.Actor, in FindInput) (*searchRequest, error) {
	in.Facets = slices.Compact(slices.Sorted(slices.Values(in.Facets)))
	understood := p.Parse(in.Text)
	q := &searchRequest{FindInput: in, radius: DefaultRadius, understood: understood, matchesNothing: understood.Empty}

	if problem := complexityProblem(&q.understood); problem != "" {
		return nil, ErrQuery.WithFields(fault.Field{Name: "query", Message: problem})
	}

	// Add the conditions of the filters and of the text.
	if err := s.addFilters(p, q); err != nil {
		return nil, err
	}

	q.plan = q.understood.Plan(q.radius)
	q.query.Now = s.Clock.Now()
	q.query.Must = append(q.query.Must, q.plan.Must...)

	// The slot of the location filter follows the slots of the text. So the slots of the text have
	// the same indexes in the query as in the plan.
	q.query.Slots = slices.Clone(q.plan.Slots)
	if q.near != nil {
		q.query.Slots = append(q.query.Slots, search.NearSlot(*q.near, q.radius))
	}

	if !in.Exact {
		q.query.MaxCost, q.query.Relaxed = search.MaxCost, maxRelaxed
	}

	for _, name := range in.Facets {
		q.query.Facets = append(q.query.Facets, facets[name])
	}

	// Select the page and the order.
	q.query.Offset = in.Page.Offset()
	q.query.Limit = in.Page.Size
	q.query.After = in.Page.Cursor

	if err := s.setOrder(ctx, q, by); err != nil {
		return nil, err
	}

	if home := s.findPlace(in.home); home != nil {
		q.query.From = pointOf(home)
	}

	return q, nil
}

// sortKeys maps the orders other than relevance to sort keys of the index.
var sortKeys = map[Sort]search.SortKey{
	ByDate:     search.SortDate,
	BySalary:   search.SortPay,
	ByDistance: search.SortDistance,
	ByTitle:    search.SortTitle,
	ByLocation: search.SortLocation,
}

// setOrder sets the sort order and the place from which distances are measured. The place is that
// of the location filter or of the text. If there is none and the results have to be sorted by
// distance, it is the home of the jobseeker. If the home is unknown, too, the results are sorted by
// relevance.
func (s *Service) setOrder(ctx context.Context, q *searchRequest, by auth.Actor) error {
	from, sortBy := q.place(), Sort(q.Sort)

	needsHome := from == nil && sortBy == ByDistance
	if needsHome && by.Seeker {
		home, err := s.Seekers.HomeLocation(ctx, by.UserID)
		if err != nil {
			return err
		}

		from = s.findPlace(home)
	}

	if from != nil {
		q.query.From = pointOf(from)
	}

	key, exists := sortKeys[sortBy]
	isByRelevance := !exists || sortBy == ByDistance && from == nil

	if isByRelevance {
		return nil
	}

	// In any other order, listings for the role itself precede other exact results.
	q.query.First = q.plan.First

	isDescending := !q.Ascending && sortBy != ByDistance // the nearest is always first

	q.query.Sort = search.Sort{By: key, Descending: isDescending}
	if sortBy == BySalary {
		q.query.Sort.Currency = q.currency()
	}

	return nil
}

// place returns the place of the location filter. If there is none, it returns the first place of
// the text, or nil.
func (q *searchRequest) place() *Place {
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

// currency returns the currency in which pay is compared. It is the currency of the filter. Without
// one, it is the currency of the country of the place. If there is no place either, it is empty,
// and pay in all currencies is compared.
func (q *searchRequest) currency() string {
	if place := q.place(); q.Filters.Currency == "" && place != nil {
		return currencyOf[place.Country]
	}

	return q.Filters.Currency
}

// currencyOf maps the countries of the vocabulary to their currencies.
var currencyOf = map[string]string{"GB": "GBP", "IE": "EUR", "US": "USD"}

// complexityProblem returns why a text is too expensive to search for, or "" if it is not.
func complexityProblem(u *search.Understanding) string {
	exclusions, phrases := 0, 0
	for i := range u.Terms {
		if u.Terms[i].Excluded {
			exclusions++
		}

		if u.Terms[i].Slot == search.SlotPhrase {
			alternatives := len(u.Terms[i].Or) // as in: "day surgery" OR "day case"
			phrases += 1 + alternatives
		}
	}

	var problems []string
	if exclusions > maxExclusions {
		problems = append(problems, fmt.Sprintf("must have at most %d excluded words", maxExclusions))
	}

	if phrases > maxPhrases {
		problems = append(problems, fmt.Sprintf("must have at most %d phrases", maxPhrases))
	}

	return strings.Join(problems, " and ")
}

// ClosestTo returns a page of exact results with their distances from home. It does not
// authorize the caller.
func (s *Service) ClosestTo(ctx context.Context, in FindInput, home string) ([]Hit, error) {
	in.Exact, in.home = true, home
	found, err := s.find(ctx, auth.Actor{}, in)
	return found.Items, err
}
