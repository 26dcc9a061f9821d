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

// filter adds the filters to the question.
func (s *Service) filter(p *search.Parser, q *question) error {
	f := filterReader{question: q, vocabulary: p.Vocabulary, places: s.Gazetteer}
	f.location()
	f.choice("contractType", q.Filters.ContractType, ContractTypes, keyContractType)
	f.choice("employmentType", q.Filters.EmploymentType, EmploymentTypes, keyEmploymentType)
	f.specialty()
	f.concept("role", q.Filters.Role, search.Role)
	f.concept("band", q.Filters.Band, search.Grade)
	f.concept("shift", q.Filters.Shift, search.Shift)
	if q.Filters.Currency = strings.ToUpper(q.Filters.Currency); q.Filters.Currency != "" && !isCurrency(q.Filters.Currency) {
		f.invalid("currency", "must be an ISO 4217 code")
	}
	f.pay()
	f.anyOf(q.Filters.Employer, search.IsEmployer)
	if q.Filters.Organization != "" {
		f.must(search.HasKey(keyOrganization + q.Filters.Organization))
	}
	if q.Filters.Remote != nil {
		remote := search.IsRemote()
		if !*q.Filters.Remote {
			remote = search.Not(remote)
		}
		f.must(remote)
	}
	if q.Filters.PostedAfter != "" {
		at, err := ParseMoment(q.Filters.PostedAfter, false)
		if err != nil {
			f.invalid("postedAfter", err.Error())
		}
		f.must(search.PostedSince(at))
	}
	if len(f.problems) > 0 {
		return ErrFilters.WithFields(f.problems...)
	}
	return nil
}

// filterReader turns filters into conditions.
type filterReader struct {
	*question
	vocabulary *search.Vocabulary
	places     Gazetteer
	problems   []fault.Field
}

func (f *filterReader) invalid(name, message string) {
	f.problems = append(f.problems, fault.Field{Name: name, Message: message})
}

func (f *filterReader) must(e search.Expr) { f.query.Must = append(f.query.Must, e) }

func (f *filterReader) location() {
	text := strings.TrimSpace(f.Filters.Location)
	if utf8.RuneCountInString(text) > maxQuery {
		f.invalid("location", fmt.Sprintf("must have at most %d characters", maxQuery))
	} else if text != "" {
		f.place(text)
	}
	if r := f.Filters.Radius; r != nil {
		if f.radius = *r; !(*r > 0 && *r <= maxRadius) {
			f.invalid("radius", fmt.Sprintf("must be more than 0 and at most %v", maxRadius))
		}
	}
}

// place finds the place of a location filter. The words of an unknown one must be
// in the location of the listing.
func (f *filterReader) place(text string) {
	if p, ok := f.places.Resolve(text); ok {
		f.near = &p
		return
	}
	if f.vocabulary.IsRemote(text) {
		f.must(search.IsRemote())
		return
	}
	words := search.WordsOf(text)
	words = words[:len(words)-1]
	if p, ok := f.places.Correct(text); ok && !slices.ContainsFunc(words, f.isKnown) {
		f.near = &p
		f.corrected = append(f.corrected, search.Correction{From: text, To: p.Name})
		return
	}
	for _, w := range words {
		f.must(search.HasKey(keyLocation + w))
	}
	f.empty = f.empty || len(words) == 0
}

// isKnown reports whether the word describes jobs, so that it is no misspelt place.
func (f *filterReader) isKnown(word string) bool {
	_, isPlace := f.places.Resolve(word)
	return !isPlace && f.vocabulary.Form(word) != nil
}

// anyOf adds the condition that one of the values holds, if there are any.
func (f *filterReader) anyOf(values []string, expr func(value string) search.Expr) {
	var exprs []search.Expr
	for _, v := range values {
		if v = strings.TrimSpace(v); v != "" {
			exprs = append(exprs, expr(v))
		}
	}
	if len(exprs) > 0 {
		f.must(search.Or(exprs...))
	}
}

func (f *filterReader) choice(name string, values, of []string, prefix string) {
	f.anyOf(values, func(v string) search.Expr {
		if !slices.Contains(of, v) {
			f.invalid(name, "must be one of: "+strings.Join(of, ", "))
		}
		return search.HasKey(prefix + v)
	})
}

// specialty accepts every text: one that is not in the vocabulary is compared with
// the specialty of the listing.
func (f *filterReader) specialty() {
	f.anyOf(f.Filters.Specialty, func(v string) search.Expr {
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

func (f *filterReader) concept(name string, values []string, kind search.Kind) {
	f.anyOf(values, func(v string) search.Expr {
		c := f.conceptOf(v, kind)
		if c == nil && kind == search.Grade {
			c = f.conceptOf("band "+v, kind)
		}
		if c == nil {
			f.invalid(name, "must be a "+name+" of the vocabulary")
			return search.Or()
		}
		return search.Is(c)
	})
}

// conceptOf returns the concept with the id or name, or nil.
func (f *filterReader) conceptOf(text string, kind search.Kind) *search.Concept {
	if c := f.vocabulary.Concept(text); c != nil && c.Kind == kind {
		return c
	}
	form := f.vocabulary.Form(text)
	if form == nil {
		return nil
	}
	for _, r := range form.Readings {
		if r.Concept.Kind == kind {
			return r.Concept
		}
	}
	return nil
}

func (f *filterReader) pay() {
	low, high := f.amount("salaryMin", f.Filters.SalaryMin), f.amount("salaryMax", f.Filters.SalaryMax)
	if low == nil && high == nil {
		return
	}
	r := search.PayRange{Currency: f.currency()}
	if low != nil {
		r.Min = *low
	}
	if high != nil {
		// Zero is no maximum: the smallest one is a penny.
		r.Max = max(1, *high)
		if r.Min > *high {
			f.invalid("salaryMax", "must not be less than salaryMin")
		}
	}
	f.must(search.PaysBetween(r))
}

func (f *filterReader) amount(name string, x *float64) *int64 {
	if x == nil {
		return nil
	}
	if !(*x >= 0 && *x <= maxPay) {
		f.invalid(name, "must be from 0 to 1000000000")
		return nil
	}
	n := int64(math.Round(*x * 100))
	return &n
}

// SpecialtyTest returns a function that reports whether a listing's specialty is the
// given one, under whatever name.
func (s *Service) SpecialtyTest(specialty string) func(text string) bool {
	f := filterReader{vocabulary: s.Engine.Parser().Vocabulary}
	wanted, key := f.conceptOf(specialty, search.Specialty), specialtyKey(specialty)
	return func(text string) bool {
		if strings.TrimSpace(specialty) == "" {
			return false
		}
		c := f.conceptOf(text, search.Specialty)
		return specialtyKey(text) == key || c != nil && wanted != nil && c.IsA(wanted)
	}
}
