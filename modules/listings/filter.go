package listings

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/modules/listings/search"
)

// addFilters adds the filters of the search to its query, or returns ErrFilters with all
// invalid filters.
func (s *Service) addFilters(p *search.Parser, q *searchRequest) error {
	f := filterBuilder{searchRequest: q, vocabulary: p.Vocabulary, places: s.Gazetteer}
	f.addLocation()
	f.addChoice("contractType", q.Filters.ContractType, ContractTypes, keyContractType)
	f.addChoice("employmentType", q.Filters.EmploymentType, EmploymentTypes, keyEmploymentType)
	f.addSpecialty()
	f.addConcept("role", q.Filters.Role, search.Role)
	f.addConcept("band", q.Filters.Band, search.Grade)
	f.addConcept("shift", q.Filters.Shift, search.Shift)

	q.Filters.Currency = strings.ToUpper(q.Filters.Currency)
	if q.Filters.Currency != "" && !isCurrency(q.Filters.Currency) {
		f.invalid("currency", "must be an ISO 4217 code")
	}

	f.addPay()
	f.addAnyOf(q.Filters.Employer, search.IsEmployer)

	if q.Filters.Organization != "" {
		f.addCondition(search.HasKey(keyOrganization + q.Filters.Organization))
	}

	if q.Filters.Remote != nil {
		remote := search.IsRemote()
		if !*q.Filters.Remote {
			remote = search.Not(remote)
		}

		f.addCondition(remote)
	}

	if q.Filters.PostedAfter != "" {
		const endOfDay = false // a date means its beginning

		at, err := ParseMoment(q.Filters.PostedAfter, endOfDay)
		if err != nil {
			f.invalid("postedAfter", err.Error())
		}

		f.addCondition(search.PostedSince(at))
	}

	if len(f.problems) > 0 {
		return ErrFilters.WithFields(f.problems...)
	}

	return nil
}

// filterBuilder translates filters into conditions of the query.
type filterBuilder struct {
	*searchRequest
	vocabulary *search.Vocabulary
	places     Gazetteer
	problems   []fault.Field
}

// invalid records that a filter is invalid.
func (f *filterBuilder) invalid(name, message string) {
	f.problems = append(f.problems, fault.Field{Name: name, Message: message})
}

// addCondition restricts the results to listings that satisfy the expression.
func (f *filterBuilder) addCondition(e search.Expr) { f.query.Must = append(f.query.Must, e) }

// addLocation adds the filters location and radius.
func (f *filterBuilder) addLocation() {
	text := strings.TrimSpace(f.Filters.Location)
	if utf8.RuneCountInString(text) > maxQuery {
		f.invalid("location", fmt.Sprintf("must have at most %d characters", maxQuery))
	} else if text != "" {
		f.addPlace(text)
	}

	if r := f.Filters.Radius; r != nil {
		f.radius = *r

		isValid := *r > 0 && *r <= maxRadius // false for NaN
		if !isValid {
			f.invalid("radius", fmt.Sprintf("must be more than 0 and at most %v", maxRadius))
		}
	}
}

// addPlace interprets a location filter as a place, as remote work, or as a misspelt place. If
// it is none of these, the location of a listing must contain the words of the filter.
func (f *filterBuilder) addPlace(text string) {
	if p, isPlace := f.places.Resolve(text); isPlace {
		f.near = &p
		return
	}

	if f.vocabulary.IsRemote(text) {
		f.addCondition(search.IsRemote())
		return
	}

	words := search.WordsOf(text)
	words = words[:len(words)-1] // without the empty word that ends a field

	p, isSimilar := f.places.Correct(text)
	hasWordOfJobs := slices.ContainsFunc(words, f.describesJobs)

	if isSimilar && !hasWordOfJobs {
		f.near = &p
		f.corrected = append(f.corrected, search.Correction{From: text, To: p.Name})
		return
	}

	f.isUnknownPlace = true
	for _, w := range words {
		f.addCondition(search.HasKey(keyLocation + w))
	}

	f.matchesNothing = f.matchesNothing || len(words) == 0 // no location contains a text without words
}

// describesJobs reports whether the word is in the vocabulary of jobs. Such a word is not a
// misspelt place.
func (f *filterBuilder) describesJobs(word string) bool {
	_, isPlace := f.places.Resolve(word)
	return !isPlace && f.vocabulary.Form(word) != nil
}

// addAnyOf adds the condition that a listing satisfies the expression of one of the values. It
// ignores empty values, and adds no condition if all values are empty.
func (f *filterBuilder) addAnyOf(values []string, expr func(value string) search.Expr) {
	var exprs []search.Expr
	for _, v := range values {
		v = strings.TrimSpace(v)
		if v != "" {
			exprs = append(exprs, expr(v))
		}
	}

	if len(exprs) > 0 {
		f.addCondition(search.Or(exprs...))
	}
}

// addChoice adds a filter whose values must be some of the allowed ones. The index has a key
// for each value, which consists of the prefix and the value.
func (f *filterBuilder) addChoice(name string, values, allowed []string, prefix string) {
	f.addAnyOf(values, func(v string) search.Expr {
		if !slices.Contains(allowed, v) {
			f.invalid(name, "must be one of: "+strings.Join(allowed, ", "))
		}

		return search.HasKey(prefix + v)
	})
}

// addSpecialty adds the filter specialty. A listing satisfies it if its specialty field has
// the same words. A specialty of the vocabulary also matches listings that mention it in
// other words.
func (f *filterBuilder) addSpecialty() {
	f.addAnyOf(f.Filters.Specialty, func(v string) search.Expr {
		if utf8.RuneCountInString(v) > maxQuery {
			f.invalid("specialty", fmt.Sprintf("must have at most %d characters", maxQuery))
		}

		same := search.HasKey(keySpecialtyField + specialtyKey(v))
		if c := f.conceptOf(v, search.Specialty); c != nil {
			return search.Or(same, search.Is(c))
		}

		return same
	})
}

// addConcept adds a filter whose values are ids or names of concepts. A concept is an entry of
// the vocabulary, such as a role, with all of its names. The prefix "band" of grades may be
// omitted.
func (f *filterBuilder) addConcept(name string, values []string, kind search.Kind) {
	f.addAnyOf(values, func(v string) search.Expr {
		c := f.conceptOf(v, kind)
		if c == nil && kind == search.Grade {
			c = f.conceptOf("band "+v, kind)
		}

		if c == nil {
			f.invalid(name, "must be the id or the name of a known "+name)
			return search.Or() // is not evaluated, since the search is refused
		}

		return search.Is(c)
	})
}

// conceptOf returns the concept of the kind with the id or name, or nil.
func (f *filterBuilder) conceptOf(text string, kind search.Kind) *search.Concept {
	if c := f.vocabulary.Concept(text); c != nil && c.Kind == kind {
		return c
	}

	form := f.vocabulary.Form(text)
	if form == nil {
		return nil
	}

	// A name may mean several concepts, called its readings.
	for _, r := range form.Readings {
		if r.Concept.Kind == kind {
			return r.Concept
		}
	}

	return nil
}

// addPay adds the filters salaryMin and salaryMax.
func (f *filterBuilder) addPay() {
	low, high := f.amount("salaryMin", f.Filters.SalaryMin), f.amount("salaryMax", f.Filters.SalaryMax)
	if low == nil && high == nil {
		return
	}

	r := search.PayRange{Currency: f.currency()}
	if low != nil {
		r.Min = *low
	}

	if high != nil {
		// In a PayRange, 0 means no maximum. So a maximum of 0 becomes one penny.
		r.Max = max(1, *high)
		if r.Min > *high {
			f.invalid("salaryMax", "must not be less than salaryMin")
		}
	}

	f.addCondition(search.PaysBetween(r))
}

// amount returns an amount in minor units, or nil for none or an invalid one.
func (f *filterBuilder) amount(name string, major *float64) *int64 {
	if major == nil {
		return nil
	}

	isValid := *major >= 0 && *major <= maxPay // false for NaN
	if !isValid {
		f.invalid(name, "must be from 0 to 1000000000")
		return nil
	}

	minor := int64(math.Round(*major * 100))

	return &minor
}

// SpecialtyTest returns a function that reports whether the specialty of a listing is the
// given specialty, a synonym, or a part of it.
func (s *Service) SpecialtyTest(specialty string) func(text string) bool {
	f := filterBuilder{vocabulary: s.Engine.Parser().Vocabulary} // conceptOf needs no more
	wanted, key := f.conceptOf(specialty, search.Specialty), specialtyKey(specialty)

	return func(text string) bool {
		if strings.TrimSpace(specialty) == "" {
			return false
		}

		c := f.conceptOf(text, search.Specialty)
		isSameOrNarrower := c != nil && wanted != nil && c.IsA(wanted)

		return specialtyKey(text) == key || isSameOrNarrower
	}
}
