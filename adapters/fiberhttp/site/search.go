package site

import (
	"cmp"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/modules/listings"
)

// searchForm is a search in the parameters of an address.
type searchForm struct {
	values url.Values
}

// The parameters of a search. The first of them are lists.
var (
	lists = []filterList{
		{"role", "role", "Role"}, {"specialty", "specialty", "Specialty"}, {"band", "band", "Band or grade"}, {"contract", "contractType", "Contract"},
		{"pattern", "employmentType", "Working pattern"}, {"shift", "shift", "Shift"},
	}
	textParams = []string{"q", "where", "radius", "pay", "remote", "posted", "sort"}
)

// filterList is a parameter with any number of values.
type filterList struct{ Param, Facet, Label string }

const pageSize = 20

// newSearchForm returns the search of an address without empty and unknown parameters.
func newSearchForm(sent url.Values) searchForm {
	f := searchForm{url.Values{}}
	for _, name := range textParams {
		if v := strings.TrimSpace(strings.ToValidUTF8(sent.Get(name), "")); v != "" {
			f.values.Set(name, v)
		}
	}
	for _, l := range lists {
		for _, v := range sent[l.Param] {
			if v = strings.TrimSpace(strings.ToValidUTF8(v, "")); v != "" && !slices.Contains(f.values[l.Param], v) && len(f.values[l.Param]) < 50 {
				f.values.Add(l.Param, v)
			}
		}
	}
	return f
}

// Get returns a parameter.
func (f searchForm) Get(name string) string { return f.values.Get(name) }

// IsEmpty reports whether the search has no parameter.
func (f searchForm) IsEmpty() bool { return len(f.values) == 0 }

// Path returns the address of the search below path, with changed parameters: pairs of a
// name and a value, where an empty value removes the parameter.
func (f searchForm) Path(path string, changes ...string) string {
	values := url.Values{}
	for name, v := range f.values {
		values[name] = v
	}
	for i := 0; i+1 < len(changes); i += 2 {
		if changes[i+1] == "" {
			values.Del(changes[i])
		} else {
			values.Set(changes[i], changes[i+1])
		}
	}
	if len(values) == 0 {
		return path
	}
	return path + "?" + values.Encode()
}

// without returns the address of the search without a value of a list.
func (f searchForm) without(param, value string) string {
	values := url.Values{}
	for name, v := range f.values {
		values[name] = slices.DeleteFunc(slices.Clone(v), func(v string) bool { return name == param && v == value })
	}
	return searchForm{dropEmpty(values)}.Path("/jobs")
}

func dropEmpty(values url.Values) url.Values {
	for name, v := range values {
		if len(v) == 0 {
			values.Del(name)
		}
	}
	return values
}

// input returns the search for the module. Numbers that cannot be read are left out.
func (f searchForm) input(now time.Time) listings.FindInput {
	in := listings.FindInput{Text: f.Get("q"), Sort: f.Get("sort"), Filters: listings.FilterInput{
		Location: f.Get("where"), Role: f.values["role"], Specialty: f.values["specialty"], Band: f.values["band"],
		ContractType: f.values["contract"], EmploymentType: f.values["pattern"], Shift: f.values["shift"],
		Radius: number(f.Get("radius")), SalaryMin: number(f.Get("pay")),
	}}
	if f.Get("remote") != "" {
		in.Filters.Remote = new(f.Get("remote") == "yes")
	}
	if days := number(f.Get("posted")); days != nil && *days > 0 {
		in.Filters.PostedAfter = now.AddDate(0, 0, -int(min(*days, 3650))).Format(time.RFC3339)
	}
	return in
}

func number(text string) *float64 {
	n, err := strconv.ParseFloat(strings.ReplaceAll(strings.TrimLeft(text, "£$€"), ",", ""), 64)
	if err != nil {
		return nil
	}
	return &n
}

// pageOf returns the requested page: its number, or a cursor.
func pageOf(sent url.Values, size int) page.Request {
	n, _ := strconv.Atoi(sent.Get("page"))
	return page.Request{Number: max(n, 1), Size: size, Cursor: sent.Get("after")}
}

// chip is a condition of a search with the address of the search without it.
type chip struct{ Label, Text, Remove string }

// slotLabels are the names of the parts of a text.
var slotLabels = map[string]string{
	"role": "Role", "specialty": "Specialty", "grade": "Band or grade", "contract": "Contract", "hours": "Working pattern", "shift": "Shift", "place": "Place", "pay": "Pay",
	"employer": "Employer", "phrase": "Exact words", "word": "Word", "free": "Word",
}

// chips returns the conditions of the search: the parts of its text as they were understood,
// and the filters.
func (f searchForm) chips(found listings.Found, filters []filterGroup) []chip {
	var out []chip
	text := []rune(f.Get("q"))
	for _, u := range found.Understood {
		slot, isExcluded := strings.CutPrefix(u.Slot, "-")
		label := cmp.Or(slotLabels[slot], "Word")
		if isExcluded {
			label = "Without"
		}
		rest := strings.Join(strings.Fields(string(text[:u.Start])+" "+string(text[min(u.End, len(text)):])), " ")
		out = append(out, chip{label, cmp.Or(u.Value, u.Text), f.Path("/jobs", "q", rest)})
	}
	if where := f.Get("where"); where != "" {
		out = append(out, chip{"Where", where, f.Path("/jobs", "where", "", "radius", "")})
	}
	for _, g := range filters {
		for _, v := range g.Values {
			if v.Checked {
				out = append(out, chip{g.Label, v.Label, f.without(g.Param, v.Value)})
			}
		}
	}
	if pay := f.Get("pay"); pay != "" {
		out = append(out, chip{"Pay", "from " + pay + " a year", f.Path("/jobs", "pay", "")})
	}
	if remote := f.Get("remote"); remote != "" {
		out = append(out, chip{"Place of work", map[bool]string{true: "remote", false: "on site"}[remote == "yes"], f.Path("/jobs", "remote", "")})
	}
	if days := f.Get("posted"); days != "" {
		out = append(out, chip{"Posted", "in the last " + days + " days", f.Path("/jobs", "posted", "")})
	}
	return out
}

// filterGroup is a list of filter values with the numbers of results.
type filterGroup struct {
	filterList
	Values []filterValue
}

type filterValue struct {
	Value, Label string
	Count        int
	Checked      bool
}

// IsOpen reports whether a value is selected.
func (g filterGroup) IsOpen() bool {
	return slices.ContainsFunc(g.Values, func(v filterValue) bool { return v.Checked })
}

// shownValues is the number of values of a filter that are shown.
const shownValues = 12

// filters returns the filters with the numbers of results of the search.
func (f searchForm) filters(facets map[string][]listings.FacetValue) []filterGroup {
	var out []filterGroup
	for _, l := range lists {
		g := filterGroup{filterList: l}
		selected := slices.Clone(f.values[l.Param])
		for _, v := range facets[l.Facet] {
			i := slices.Index(selected, v.Value)
			if i >= 0 {
				selected = slices.Delete(selected, i, i+1)
			}
			if i >= 0 || len(g.Values) < shownValues {
				g.Values = append(g.Values, filterValue{v.Value, capital(v.Label), v.Count, i >= 0})
			}
		}
		for _, v := range selected { // without results
			g.Values = append(g.Values, filterValue{v, capital(v), 0, true})
		}
		if len(g.Values) > 0 {
			out = append(out, g)
		}
	}
	return out
}

func capital(s string) string {
	r, n := utf8.DecodeRuneInString(s)
	return strings.ToUpper(string(r)) + s[n:]
}

func facetNames() []string {
	names := make([]string, len(lists))
	for i, l := range lists {
		names[i] = l.Facet
	}
	return names
}
