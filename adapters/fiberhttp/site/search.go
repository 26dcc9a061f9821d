package site

import (
	"cmp"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/locumhq/locum/adapters/fiberhttp/pages"
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/modules/listings"
)

// searchForm holds the query parameters of a search. It builds the links that change one
// of them.
type searchForm struct {
	values url.Values
}

// The query parameters of a search.
var (
	filterLists = []filterList{
		{"role", "role", "Role"},
		{"specialty", "specialty", "Specialty"},
		{"band", "band", "Band or grade"},
		{"contract", "contractType", "Contract"},
		{"pattern", "employmentType", "Working pattern"},
		{"shift", "shift", "Shift"},
	}
	textParams = []string{"q", "where", "radius", "pay", "remote", "posted", "sort"}
)

// filterList is a query parameter with several values, the facet of the search that counts
// the results for each value, and the label of the filter.
type filterList struct{ Param, Facet, Label string }

// maxListValues is the largest number of values of a parameter. Further ones are ignored.
const maxListValues = 50

// pageSize is the number of jobs, or of cases, on a page of a list.
const pageSize = 20

// newSearchForm returns the search for query parameters. It ignores empty values and unknown
// parameters.
func newSearchForm(query url.Values) searchForm {
	f := searchForm{url.Values{}}
	for _, name := range textParams {
		if v := strings.TrimSpace(strings.ToValidUTF8(query.Get(name), "")); v != "" {
			f.values.Set(name, v)
		}
	}

	for _, l := range filterLists {
		for _, v := range query[l.Param] {
			v = strings.TrimSpace(strings.ToValidUTF8(v, ""))

			selected := f.values[l.Param]
			if v != "" && !slices.Contains(selected, v) && len(selected) < maxListValues {
				f.values.Add(l.Param, v)
			}
		}
	}

	return f
}

// Get returns the first value of a parameter.
func (f searchForm) Get(name string) string { return f.values.Get(name) }

// IsEmpty reports whether the search has no parameter.
func (f searchForm) IsEmpty() bool { return len(f.values) == 0 }

// Path returns path with the parameters of the search. changes are pairs of a parameter and
// its new value; an empty value removes the parameter.
func (f searchForm) Path(path string, changes ...string) string {
	values := url.Values{}
	for name, v := range f.values {
		values[name] = v
	}

	for pair := range slices.Chunk(changes, 2) {
		if name, value := pair[0], pair[1]; value == "" {
			values.Del(name)
		} else {
			values.Set(name, value)
		}
	}

	if len(values) == 0 {
		return path
	}

	return path + "?" + values.Encode()
}

// without returns the path of the search without one of the values of a parameter.
func (f searchForm) without(param, value string) string {
	values := url.Values{}
	for name, v := range f.values {
		values[name] = slices.DeleteFunc(slices.Clone(v), func(v string) bool { return name == param && v == value })
	}

	return searchForm{dropEmpty(values)}.Path("/jobs")
}

// withoutFilters returns the path of the search with its words and its place alone. It is empty
// if the search has nothing else.
func (f searchForm) withoutFilters() string {
	plain := newSearchForm(url.Values{"q": f.values["q"], "where": f.values["where"]})
	if len(plain.values) == len(f.values) {
		return ""
	}

	return plain.Path("/jobs")
}

// dropEmpty removes names without values.
func dropEmpty(values url.Values) url.Values {
	for name, v := range values {
		if len(v) == 0 {
			values.Del(name)
		}
	}

	return values
}

// input converts the parameters to a search of the listings. It ignores numbers that cannot
// be parsed.
func (f searchForm) input(now time.Time) listings.FindInput {
	in := listings.FindInput{Text: f.Get("q"), Sort: f.Get("sort"), Filters: listings.FilterInput{
		Location: f.Get("where"), Role: f.values["role"], Specialty: f.values["specialty"], Band: f.values["band"],
		ContractType: f.values["contract"], EmploymentType: f.values["pattern"], Shift: f.values["shift"],
		Radius: parseNumber(f.Get("radius")), SalaryMin: parseNumber(f.Get("pay")),
	}}
	if f.Get("remote") != "" {
		in.Filters.Remote = new(f.Get("remote") == "yes")
	}

	if days := parseNumber(f.Get("posted")); days != nil && *days > 0 {
		const tenYears = 3650 // days
		in.Filters.PostedAfter = now.AddDate(0, 0, -int(min(*days, tenYears))).Format(time.RFC3339)
	}

	return in
}

// parseNumber parses a number such as £36,000. It returns nil for other texts.
func parseNumber(text string) *float64 {
	n, err := strconv.ParseFloat(strings.ReplaceAll(strings.TrimLeft(text, "£$€"), ",", ""), 64)
	if err != nil {
		return nil
	}

	return &n
}

// pageRequest returns the requested page of results: the number in the parameter page, or
// the cursor in the parameter after.
func pageRequest(query url.Values, size int) page.Request {
	n, _ := strconv.Atoi(query.Get("page"))
	return page.Request{Number: max(n, 1), Size: size, Cursor: query.Get("after")}
}

// chip is one condition of a search, with a link that removes it.
type chip struct{ Label, Text, Remove string }

// slotLabels maps the kinds of terms that the search recognizes in its text, which it calls slots, to their names.
var slotLabels = map[string]string{
	"role":      "Role",
	"specialty": "Specialty",
	"grade":     "Band or grade",
	"contract":  "Contract",
	"hours":     "Working pattern",
	"shift":     "Shift",
	"place":     "Place",
	"pay":       "Pay",
	"employer":  "Employer",
	"phrase":    "Exact words",
	"word":      "Word",
	"free":      "Word",
}

// chips returns the conditions of the search: the terms that were recognized in its text,
// and the selected filters.
func (f searchForm) chips(results listings.Found, filters []filterGroup) []chip {
	var out []chip

	// Removing a term removes its characters from the text.
	text := []rune(f.Get("q"))
	for _, u := range results.Understood {
		slot, isExcluded := strings.CutPrefix(u.Slot, "-") // such as -place, for jobs elsewhere

		label := cmp.Or(slotLabels[slot], "Word")
		if isExcluded {
			label = "Without"
		}

		rest := strings.Join(strings.Fields(string(text[:u.Start])+" "+string(text[min(u.End, len(text)):])), " ")
		out = append(out, chip{Label: label, Text: cmp.Or(u.Value, u.Text), Remove: f.Path("/jobs", "q", rest)})
	}

	if where := f.Get("where"); where != "" {
		out = append(out, chip{Label: "Where", Text: where, Remove: f.Path("/jobs", "where", "", "radius", "")})
	}

	for _, g := range filters {
		for _, v := range g.Values {
			if v.Checked {
				out = append(out, chip{Label: g.Label, Text: v.Label, Remove: f.without(g.Param, v.Value)})
			}
		}
	}

	if pay := f.Get("pay"); parseNumber(pay) != nil {
		out = append(out, chip{Label: "Pay", Text: "from " + pay + " a year", Remove: f.Path("/jobs", "pay", "")})
	}

	if remote := f.Get("remote"); remote != "" {
		text := "on site"
		if remote == "yes" {
			text = "remote"
		}

		out = append(out, chip{Label: "Place of work", Text: text, Remove: f.Path("/jobs", "remote", "")})
	}

	if days := f.Get("posted"); days != "" {
		out = append(out, chip{Label: "Posted", Text: "in the last " + days + " days", Remove: f.Path("/jobs", "posted", "")})
	}

	return out
}

// alertQuery returns the query of a saved search for the search: its text, and the filters
// with one value in words. Saved searches have a place and a contract, but no other filters.
func (f searchForm) alertQuery(filters []filterGroup) string {
	words := []string{f.Get("q")}
	for _, g := range filters {
		hasOwnField := g.Param == "contract"
		hasOneValue := len(f.values[g.Param]) == 1

		if hasOneValue && !hasOwnField {
			// filters has marked the selected value, also if it has no results.
			i := slices.IndexFunc(g.Values, func(v filterValue) bool { return v.Checked })
			words = append(words, g.Values[i].Label)
		}
	}

	return strings.TrimSpace(strings.Join(words, " "))
}

// unsavedParams are the parameters that saved searches do not have, with their labels.
var unsavedParams = []pages.Choice{
	{Value: "radius", Text: "Distance"},
	{Value: "posted", Text: "Posted"},
	{Value: "pay", Text: "Pay"},
	{Value: "remote", Text: "Place of work"},
}

// notInAlerts returns the labels of the selected filters that alertQuery leaves out, separated by
// commas.
func (f searchForm) notInAlerts() string {
	var labels []string
	for _, p := range unsavedParams {
		if f.Get(p.Value) != "" {
			labels = append(labels, p.Text)
		}
	}

	for _, l := range filterLists {
		if len(f.values[l.Param]) > 1 {
			labels = append(labels, l.Label)
		}
	}

	return strings.Join(labels, ", ")
}

// filterGroup is a filter with its values.
type filterGroup struct {
	filterList
	Values []filterValue
}

// filterValue is a value of a filter with the number of its results.
type filterValue struct {
	Value, Label string
	Count        int
	Checked      bool
}

// IsOpen reports whether a value is selected.
func (g filterGroup) IsOpen() bool {
	return slices.ContainsFunc(g.Values, func(v filterValue) bool { return v.Checked })
}

// maxFilterValues is the number of values that each filter shows. Selected values are always
// shown.
const maxFilterValues = 12

// filters returns the filters with the counts of the facets, and the selected values that
// have no results.
func (f searchForm) filters(facets map[string][]listings.FacetValue) []filterGroup {
	var out []filterGroup
	for _, l := range filterLists {
		g := filterGroup{filterList: l}

		withoutResults := slices.Clone(f.values[l.Param]) // the selected values that are not in the facet
		for _, v := range facets[l.Facet] {
			isSelected := slices.Contains(f.values[l.Param], v.Value)
			if isSelected {
				withoutResults = slices.DeleteFunc(withoutResults, func(value string) bool { return value == v.Value })
			}

			if isSelected || len(g.Values) < maxFilterValues {
				g.Values = append(g.Values, filterValue{Value: v.Value, Label: capitalize(v.Label), Count: v.Count, Checked: isSelected})
			}
		}

		for _, v := range withoutResults {
			g.Values = append(g.Values, filterValue{Value: v, Label: capitalize(v), Count: 0, Checked: true})
		}

		if len(g.Values) > 0 {
			out = append(out, g)
		}
	}

	return out
}

// capitalize returns the text with a capital first letter.
func capitalize(s string) string {
	r, n := utf8.DecodeRuneInString(s)
	return strings.ToUpper(string(r)) + s[n:]
}

// facetNames returns the facets that the filters of the page need.
func facetNames() []string {
	names := make([]string, len(filterLists))
	for i, l := range filterLists {
		names[i] = l.Facet
	}

	return names
}
