package site

import (
	"cmp"
	"maps"
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

// searchForm holds the query parameters of a search. It builds the links to searches that differ in one of them.
type searchForm struct {
	values url.Values
}

// filterList is a filter that can have several values in a search. Param is its query parameter. Facet is the
// property by whose values the search counts the results. Label is the name of the filter on the page.
type filterList struct{ Param, Facet, Label string }

// The query parameters of a search. The parameters of filters can have several values. The others have one value.
var (
	filterLists = []filterList{
		{Param: "role", Facet: "role", Label: "Role"},
		{Param: "specialty", Facet: "specialty", Label: "Specialty"},
		{Param: "band", Facet: "band", Label: "Band or grade"},
		{Param: "contract", Facet: "contractType", Label: "Contract"},
		{Param: "pattern", Facet: "employmentType", Label: "Working pattern"},
		{Param: "shift", Facet: "shift", Label: "Shift"},
	}
	textParams = []string{"q", "where", "radius", "pay", "remote", "posted", "sort"}
)

// maxListValues is the largest number of selected values of a filter. Further ones are ignored.
const maxListValues = 50

// pageSize is the number of jobs on a page of a public list, and of cases on a page for moderators.
const pageSize = 20

// newSearchForm returns the search for query parameters. It ignores empty values and unknown
// parameters.
func newSearchForm(query url.Values) searchForm {
	clean := func(value string) string { return strings.TrimSpace(strings.ToValidUTF8(value, "")) }

	f := searchForm{values: url.Values{}}
	for _, name := range textParams {
		if value := clean(query.Get(name)); value != "" {
			f.values.Set(name, value)
		}
	}

	for _, filter := range filterLists {
		for _, sent := range query[filter.Param] {
			value := clean(sent)

			selected := f.values[filter.Param]
			if value != "" && !slices.Contains(selected, value) && len(selected) < maxListValues {
				f.values.Add(filter.Param, value)
			}
		}
	}

	return f
}

// Get returns the first value of a parameter.
func (f searchForm) Get(name string) string { return f.values.Get(name) }

// IsEmpty reports whether the search has no parameter.
func (f searchForm) IsEmpty() bool { return len(f.values) == 0 }

// Path returns path with the parameters of the search as its query. changes are the name of each changed parameter followed
// by its new value. An empty value removes the parameter.
func (f searchForm) Path(path string, changes ...string) string {
	values := maps.Clone(f.values) // Set and Del replace the lists of values, which the clone shares

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
func (f searchForm) without(param, removed string) string {
	rest := slices.DeleteFunc(slices.Clone(f.values[param]), func(value string) bool { return value == removed })

	values := maps.Clone(f.values)
	if len(rest) > 0 {
		values[param] = rest
	} else {
		values.Del(param)
	}

	return searchForm{values: values}.Path("/jobs")
}

// withoutFilters returns the path of the search with its words and its place alone. It is empty
// if the search has no other parameters to remove.
func (f searchForm) withoutFilters() string {
	plain := newSearchForm(url.Values{"q": f.values["q"], "where": f.values["where"]})

	hasOthers := len(f.values) > len(plain.values)
	if !hasOthers {
		return ""
	}

	return plain.Path("/jobs")
}

// input converts the parameters to a search of the listings. It ignores numbers that cannot
// be parsed.
func (f searchForm) input(now time.Time) listings.FindInput {
	in := listings.FindInput{
		Text: f.Get("q"),
		Sort: f.Get("sort"),
		Filters: listings.FilterInput{
			Location:       f.Get("where"),
			Role:           f.values["role"],
			Specialty:      f.values["specialty"],
			Band:           f.values["band"],
			ContractType:   f.values["contract"],
			EmploymentType: f.values["pattern"],
			Shift:          f.values["shift"],
			Radius:         parseNumber(f.Get("radius")), // miles
			SalaryMin:      parseNumber(f.Get("pay")),    // a year
		},
	}
	if f.Get("remote") != "" { // nil, the default, includes both kinds of work
		in.Filters.Remote = new(f.Get("remote") == "yes")
	}

	if days := parseNumber(f.Get("posted")); days != nil && *days > 0 {
		const maxDays = 3650 // ten years; larger numbers may not fit an int
		in.Filters.PostedAfter = now.AddDate(0, 0, -int(min(*days, maxDays))).Format(time.RFC3339)
	}

	return in
}

// parseNumber parses a number such as £36,000. It returns nil for other texts.
func parseNumber(text string) *float64 {
	digits := strings.ReplaceAll(strings.TrimLeft(text, "£$€"), ",", "")

	number, err := strconv.ParseFloat(digits, 64)
	if err != nil {
		return nil
	}

	return &number
}

// pageRequest returns the requested page of results: the number in the parameter page, or
// the cursor in the parameter after.
func pageRequest(query url.Values, size int) page.Request {
	number, _ := strconv.Atoi(query.Get("page")) // 0 for no number, which is the first page too
	return page.Request{Number: max(number, 1), Size: size, Cursor: query.Get("after")}
}

// chip is one condition of a search. Remove is the path of the search without it.
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

// chips returns the conditions of the search: the terms that were recognized in its text, and the
// selected filters. filters is the result of f.filters.
func (f searchForm) chips(results listings.Found, filters []filterGroup) []chip {
	var chips []chip

	text := []rune(f.Get("q"))
	for _, term := range results.Understood {
		slot, isExcluded := strings.CutPrefix(term.Slot, "-") // such as -place, for jobs elsewhere

		label := cmp.Or(slotLabels[slot], "Word")
		if isExcluded {
			label = "Without"
		}

		// Removing a term removes its characters from the text.
		before := string(text[:term.Start])
		after := string(text[min(term.End, len(text)):])
		rest := strings.Join(strings.Fields(before+" "+after), " ") // with single spaces
		chips = append(chips, chip{Label: label, Text: cmp.Or(term.Value, term.Text), Remove: f.Path("/jobs", "q", rest)})
	}

	if where := f.Get("where"); where != "" {
		chips = append(chips, chip{Label: "Where", Text: where, Remove: f.Path("/jobs", "where", "", "radius", "")})
	}

	for _, filter := range filters {
		for _, value := range filter.Values {
			if value.Checked {
				chips = append(chips, chip{Label: filter.Label, Text: value.Label, Remove: f.without(filter.Param, value.Value)})
			}
		}
	}

	if pay := f.Get("pay"); parseNumber(pay) != nil {
		chips = append(chips, chip{Label: "Pay", Text: "from " + pay + " a year", Remove: f.Path("/jobs", "pay", "")})
	}

	if remote := f.Get("remote"); remote != "" {
		text := "on site"
		if remote == "yes" {
			text = "remote"
		}

		chips = append(chips, chip{Label: "Place of work", Text: text, Remove: f.Path("/jobs", "remote", "")})
	}

	if days := f.Get("posted"); days != "" {
		chips = append(chips, chip{Label: "Posted", Text: "in the last " + days + " days", Remove: f.Path("/jobs", "posted", "")})
	}

	return chips
}

// alertQuery returns the text with which the search is saved. Saved searches have a text, a place and a contract, but
// no other filters. So the text contains the selected value of each other filter as a word. If several values of a
// filter are selected, they are left out, because words cannot express them. filters is the result of f.filters.
func (f searchForm) alertQuery(filters []filterGroup) string {
	words := []string{f.Get("q")}
	for _, filter := range filters {
		hasOwnField := filter.Param == "contract"
		hasOneValue := len(f.values[filter.Param]) == 1

		if hasOneValue && !hasOwnField {
			// The values of the filter contain the selected one, even if it has no results.
			selected := slices.IndexFunc(filter.Values, func(v filterValue) bool { return v.Checked })
			words = append(words, filter.Values[selected].Label)
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
	for _, param := range unsavedParams {
		if f.Get(param.Value) != "" {
			labels = append(labels, param.Text)
		}
	}

	for _, filter := range filterLists {
		if len(f.values[filter.Param]) > 1 {
			labels = append(labels, filter.Label)
		}
	}

	return strings.Join(labels, ", ")
}

// filterGroup is a filter with the values that the page shows.
type filterGroup struct {
	filterList
	Values []filterValue
}

// filterValue is a value of a filter with the number of its results.
type filterValue struct {
	Value, Label string
	Count        int
	Checked      bool // the search selects the value
}

// IsOpen reports whether the page shows the filter unfolded, which it does if a value is selected.
func (g filterGroup) IsOpen() bool {
	return slices.ContainsFunc(g.Values, func(v filterValue) bool { return v.Checked })
}

// maxFilterValues is the number of values that each filter shows. Selected values are always
// shown.
const maxFilterValues = 12

// filters returns the filters of the page. The values of each filter are the values of its facet, with the numbers of
// results. After them come the selected values that have no results. A filter without values is left out.
func (f searchForm) filters(facets map[string][]listings.FacetValue) []filterGroup {
	var groups []filterGroup
	for _, filter := range filterLists {
		group := filterGroup{filterList: filter}
		selected := f.values[filter.Param]

		withoutResults := slices.Clone(selected)
		for _, found := range facets[filter.Facet] {
			isSelected := slices.Contains(selected, found.Value)
			if isSelected {
				withoutResults = slices.DeleteFunc(withoutResults, func(value string) bool { return value == found.Value })
			}

			if isSelected || len(group.Values) < maxFilterValues {
				group.Values = append(
					group.Values,
					filterValue{Value: found.Value, Label: capitalize(found.Label), Count: found.Count, Checked: isSelected},
				)
			}
		}

		for _, value := range withoutResults {
			group.Values = append(group.Values, filterValue{Value: value, Label: capitalize(value), Count: 0, Checked: true})
		}

		if len(group.Values) > 0 {
			groups = append(groups, group)
		}
	}

	return groups
}

// capitalize returns the text with a capital first letter.
func capitalize(text string) string {
	first, size := utf8.DecodeRuneInString(text)
	return strings.ToUpper(string(first)) + text[size:]
}

// facetNames returns the facets that the filters of the page need.
func facetNames() []string {
	names := make([]string, len(filterLists))
	for i, filter := range filterLists {
		names[i] = filter.Facet
	}

	return names
}
