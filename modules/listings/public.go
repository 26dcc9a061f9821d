package listings

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/id"
	"github.com/locumhq/locum/core/page"
)

// Detail shows a public listing to anyone.
func (s *Service) Detail(ctx context.Context, listingID string) (Listing, error) {
	listingID, ok := id.Canonical(listingID)
	if !ok {
		return Listing{}, ErrNotFound
	}
	return s.Listings.Public(ctx, listingID, s.Clock.Now())
}

// DetailFor is Detail, and to a member of its organization with some permission a
// listing in whatever state.
func (s *Service) DetailFor(ctx context.Context, by auth.Actor, listingID string) (Listing, error) {
	l, err := s.Detail(ctx, listingID)
	if !by.May(auth.AnyPermission) || fault.KindOf(err) != fault.NotFound {
		return l, err
	}
	l, err = s.Get(ctx, by.OrganizationID, listingID)
	return l, public(err)
}

// FilterInput is what a client narrows a search by. Amounts are major units a
// year; moments are RFC 3339 or dates; zero values do not narrow.
type FilterInput struct {
	Location       string
	Radius         *float64 // miles, DefaultRadius without
	ContractType   string
	EmploymentType string
	Specialty      string
	SalaryMin      *float64
	SalaryMax      *float64
	Remote         *bool
	PostedAfter    string
}

// The bounds of a search.
const (
	DefaultRadius = 10.0
	maxRadius     = 500.0
	maxQuery      = 200
)

// FindInput is a search by anyone.
type FindInput struct {
	Text    string
	Filters FilterInput
	Sort    string // of Sorts; empty for relevance, which without words is by date
	// Ascending turns date, salary, title and location round.
	Ascending bool
	Page      page.Request
	// Full asks for whole listings, Places for their Place.
	Full, Places bool
}

// Find searches the public listings. What is wrong with the filters is an
// ErrFilters with fields, what is wrong with text or sort an ErrQuery.
func (s *Service) Find(ctx context.Context, who auth.Actor, in FindInput) (page.Result[Hit], error) {
	q := Query{Now: s.Clock.Now(), Page: in.Page, Full: in.Full, Places: in.Places, Radius: DefaultRadius, Sort: ByRelevance, Ascending: in.Ascending}
	if utf8.RuneCountInString(in.Text) > maxQuery {
		return page.Result[Hit]{}, ErrQuery.WithFields(fault.Field{Name: "query", Message: fmt.Sprintf("must have at most %d characters", maxQuery)})
	}
	if in.Page.TooDeep() {
		return page.Result[Hit]{}, fault.InvalidField("page", fmt.Sprintf("reaches beyond %d items; follow nextCursor with cursor instead", page.MaxExact))
	}
	if in.Sort != "" {
		q.Sort = Sort(in.Sort)
		if !slices.Contains(Sorts, q.Sort) {
			return page.Result[Hit]{}, ErrQuery.WithFields(fault.Field{Name: "sort", Message: "must be one of: relevance, date, salary, distance, title, location"})
		}
	}
	if err := s.ask(&q, in); err != nil {
		return page.Result[Hit]{}, err
	}
	if q.Text.Nothing {
		return page.Result[Hit]{Items: []Hit{}}, nil
	}
	if wrong := q.Text.tooComplex(); wrong != "" {
		return page.Result[Hit]{}, ErrQuery.WithFields(fault.Field{Name: "query", Message: wrong})
	}
	if err := s.measureFrom(ctx, &q, who); err != nil {
		return page.Result[Hit]{}, err
	}
	if q.Sort == ByDistance && q.From == nil {
		q.Sort = ByRelevance
	}
	if q.Sort == ByRelevance && !q.Text.ranks() {
		q.Sort = ByDate // without words all are equally relevant
	}
	if q.Sort == ByRelevance || q.Sort == ByDistance {
		q.Ascending = false
	}
	return s.find(ctx, q)
}

// Suggest is Find for who wants the first few alone, with their distances from
// home, which narrows nothing: the relevant first, without words the newest.
func (s *Service) Suggest(ctx context.Context, in FindInput, home string) ([]Hit, error) {
	q := Query{Now: s.Clock.Now(), Page: in.Page, Radius: DefaultRadius, Sort: ByRelevance, WithoutTotal: true}
	if err := s.ask(&q, in); err != nil || q.Text.Nothing {
		return nil, err
	}
	if strings.TrimSpace(home) != "" {
		q.From = s.locate(home)
	}
	if !q.Text.ranks() {
		q.Sort = ByDate
	}
	found, err := s.find(ctx, q)
	return found.Items, err
}

// ranks reports whether there are words by which one listing is more relevant
// than another.
func (t Text) ranks() bool {
	return slices.ContainsFunc(t.Clauses, func(c Clause) bool { return c.Plain() && !c.Not })
}

// ask puts the text and the filters into the query.
func (s *Service) ask(q *Query, in FindInput) error {
	if err := s.narrow(q, in.Filters); err != nil {
		return err
	}
	nowhere := q.Text.Nothing
	q.Text = Understand(in.Text, s.Gazetteer)
	q.Text.Nothing = q.Text.Nothing || nowhere
	return nil
}

// measureFrom finds the place that distances are measured from: the filter's,
// else the text's, else, to sort by it, where the jobseeker lives.
func (s *Service) measureFrom(ctx context.Context, q *Query, who auth.Actor) error {
	if q.From = q.Filters.Near; q.From != nil {
		return nil
	}
	for _, c := range q.Text.Clauses {
		if len(c.Near) > 0 {
			q.From = &c.Near[0]
			return nil
		}
	}
	if q.Sort != ByDistance || !who.Seeker {
		return nil
	}
	home, err := s.Seekers.HomeLocation(ctx, who.UserID)
	if err != nil || home == "" {
		return err
	}
	q.From = s.locate(home)
	return nil
}

// place finds the place of a location filter. A misspelt one is corrected,
// unless it has a word that adverts use.
func (s *Service) place(location string) (Place, bool) {
	if p, ok := s.Gazetteer.Resolve(location); ok {
		return p, true
	}
	for _, w := range Words(location) {
		if commonWords[w] || fillers[w] {
			return Place{}, false
		}
		if _, n := synonymsAt([]string{w}); n > 0 {
			return Place{}, false
		}
	}
	return s.Gazetteer.Correct(location)
}

func (s *Service) narrow(q *Query, in FilterInput) error {
	var bad []fault.Field
	wrong := func(name, message string) { bad = append(bad, fault.Field{Name: name, Message: message}) }
	f := &q.Filters
	if utf8.RuneCountInString(in.Location) > maxQuery {
		wrong("location", fmt.Sprintf("must have at most %d characters", maxQuery))
	} else if strings.TrimSpace(in.Location) != "" {
		if p, ok := s.place(in.Location); ok {
			f.Near = &p
		} else if f.LocationWords = Words(in.Location); len(f.LocationWords) == 0 {
			q.Text.Nothing = true
		}
	}
	if in.Radius != nil {
		if q.Radius = *in.Radius; !(q.Radius > 0 && q.Radius <= maxRadius) {
			wrong("radius", fmt.Sprintf("must be more than 0 and at most %v", maxRadius))
		}
	}
	choice := func(name, value string, of []string) string {
		if value != "" && !slices.Contains(of, value) {
			wrong(name, "must be one of: "+strings.Join(of, ", "))
		}
		return value
	}
	f.ContractType = choice("contractType", in.ContractType, ContractTypes)
	f.EmploymentType = choice("employmentType", in.EmploymentType, EmploymentTypes)
	if utf8.RuneCountInString(in.Specialty) > maxShort {
		wrong("specialty", fmt.Sprintf("must have at most %d characters", maxShort))
	} else if strings.TrimSpace(in.Specialty) != "" {
		f.Specialties = SpecialtyNames(in.Specialty)
	}
	amount := func(name string, x *float64) *int64 {
		if x == nil {
			return nil
		}
		if !(*x >= 0 && *x <= maxPay) {
			wrong(name, "must be from 0 to 1000000000")
			return nil
		}
		n := int64(math.Round(*x * 100))
		return &n
	}
	f.SalaryMin, f.SalaryMax = amount("salaryMin", in.SalaryMin), amount("salaryMax", in.SalaryMax)
	if f.SalaryMin != nil && f.SalaryMax != nil && *f.SalaryMin > *f.SalaryMax {
		wrong("salaryMax", "must not be less than salaryMin")
	}
	f.Remote = in.Remote
	if in.PostedAfter != "" {
		at, err := ParseMoment(in.PostedAfter, false)
		if err != nil {
			wrong("postedAfter", err.Error())
		}
		f.PostedAfter = &at
	}
	if len(bad) > 0 {
		return ErrFilters.WithFields(bad...)
	}
	return nil
}
