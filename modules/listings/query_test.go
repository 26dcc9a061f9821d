package listings

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// atlas is a gazetteer of a few places.
type atlas map[string]Place

func (a atlas) Resolve(text string) (Place, bool) {
	p, ok := a[strings.ToLower(text)]
	return p, ok
}

var places = atlas{
	"leeds":                {Kind: Town, Name: "Leeds", Country: "GB", Population: 455_000},
	"boston":               {Kind: Town, Name: "Boston", Country: "US", Population: 667_000},
	"boston lincolnshire":  {Kind: Town, Name: "Boston Lincs", Country: "GB", Population: 41_000},
	"boston, lincolnshire": {Kind: Town, Name: "Boston Lincs", Country: "GB", Population: 41_000},
	"lincolnshire":         {Kind: Region, Name: "Lincolnshire", Country: "GB", Region: "Lincolnshire"},
	"ward":                 {Kind: Town, Name: "Ward", Country: "US", Population: 4_000},
	"porter":               {Kind: Town, Name: "Porter", Country: "US", Population: 5_000},
	"home":                 {Kind: Town, Name: "Home", Country: "US", Population: 1_200},
	"bank":                 {Kind: Town, Name: "Bank", Country: "GB", Population: 3_000},
	"reading":              {Kind: Town, Name: "Reading", Country: "GB", Population: 318_000},
	"new york":             {Kind: Town, Name: "New York", Country: "US", Population: 8_000_000},
	"lee":                  {Kind: Town, Name: "Lee", Country: "GB", Population: 14_000},
	"tinytown":             {Kind: Town, Name: "Tinytown", Country: "US", Population: 1_000},
	"uk":                   {Kind: Country, Name: "United Kingdom", Country: "GB"},
	"care home":            {Kind: Town, Name: "Care Home", Country: "US", Population: 9_000},
}

// spell writes a text that was understood: one clause after the other.
func spell(t Text) string {
	var out []string
	for _, c := range t.Clauses {
		var parts []string
		for _, x := range c.Terms {
			s := strings.Join(x.Words, " ")
			if x.Adjacent {
				s = strings.Join(x.Words, "+")
			}
			if x.Literal != "" {
				s = "=" + x.Literal
			}
			if x.Prefix {
				s += "*"
			}
			if x.Fuzzy {
				s += "~"
			}
			if x.Unstated != Stated {
				s += "?"
			}
			parts = append(parts, s)
		}
		for _, p := range c.Near {
			parts = append(parts, "@"+p.Name)
		}
		for _, s := range append(append([]string{}, c.ContractTypes...), c.EmploymentTypes...) {
			parts = append(parts, "#"+s)
		}
		if c.Remote {
			parts = append(parts, "#remote")
		}
		s := strings.Join(parts, "|")
		if c.Not {
			s = "-" + s
		}
		out = append(out, s)
	}
	if t.Nothing {
		return "nothing"
	}
	return strings.Join(out, " & ")
}

func TestATextIsUnderstoodAsARecruiterWould(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, want string }{
		{"", ""},
		{"   ", ""},
		{"???", "nothing"},
		{`"" -`, "nothing"},
		{"podiatrist", "podiatrist*~"},
		{"senior podiatrist", "senior~ & podiatrist*~"},
		{"podiatrist.", "podiatrist~"},
		// fillers and stop words
		{"jobs", ""},
		{"looking for a podiatrist job with the", "podiatrist~"},
		{"I am looking for work", ""},
		{"podiatrist needed", "podiatrist~"},
		// synonyms
		{"dialysis", "dialysis|renal|nephrology|dialysis*"},
		{"dialysis unit", "dialysis|renal|nephrology & unit*~"},
		{"speech and language therapist", "slt|salt|slp|speech+and+language+therapist|speech+language+therapist|speech+therapist|speech+language+pathologist|speech+and+language+therapy"},
		{"health visitors leeds", "hv|health+visitor|health+visiting & leeds|@Leeds"},
		// phrases, exclusions, alternatives
		{`"care home"`, "=care home"},
		{`“care home”`, "=care home"},
		{`podiatrist "care home" -bedford`, "podiatrist~ & =care home & -bedford"},
		{`-"care home"`, "-=care home"},
		{"-itu", "-icu|itu|intensive+care|intensive+therapy|critical+care"},
		{"full-time", "full+time?|#full-time"},
		{"a -b", "-b"},
		{"x-ray", "xray|x+ray|radiography"},
		{"podiatrist OR optometrist leeds", "podiatrist~|optometrist~ & leeds|@Leeds"},
		{"podiatrist | optometrist", "podiatrist~|optometrist*~"},
		{"podiatrist or optometrist", "podiatrist~ & optometrist*~"},
		{"OR podiatrist", "podiatrist*~"},
		{"podiatrist OR", "podiatrist~"},
		{"leeds OR boston", "leeds|boston|@Leeds|@Boston"},
		// contracts
		{"permanent podiatrist", "permanent?|#permanent & podiatrist*~"},
		{"temp podiatrist", "temp?|#temporary & podiatrist*~"},
		{"part time podiatrist", "part+time?|#part-time & podiatrist*~"},
		{"per diem podiatrist", "per+diem?|#per-diem & podiatrist*~"},
		{"permanent OR temporary", "permanent?|temporary?|#permanent|#temporary"},
		{"remote podiatrist", "remote|#remote & podiatrist*~"},
		{"bank podiatrist", "bank?|#bank & podiatrist*~"},
		// bands
		{"band 5", "band5*~"},
		{"band 5/6 podiatrist", "band5~|band6~ & podiatrist*~"},
		// places
		{"podiatrist leeds", "podiatrist~ & leeds|@Leeds"},
		{"podiatrist in leeds", "podiatrist~ & leeds|@Leeds"},
		{"leeds podiatrist", "leeds|@Leeds & podiatrist*~"},
		{"podiatrist, leeds", "podiatrist~ & leeds|@Leeds"},
		{"podiatrist boston lincolnshire", "podiatrist~ & boston+lincolnshire|@Boston Lincs"},
		{"podiatrist Boston, Lincolnshire", "podiatrist~ & boston+lincolnshire|@Boston Lincs"},
		{"podiatrist lincolnshire", "podiatrist~ & lincolnshire|@Lincolnshire"},
		{"podiatrist uk", "podiatrist~ & uk|@United Kingdom"},
		{"podiatrist new york", "podiatrist~ & new+york|@New York"},
		{"podiatrist reading", "podiatrist~ & reading|@Reading"},
		{"podiatrist lee", "podiatrist~ & lee*|@Lee"},
		// common words are places only after in, near, at or a comma
		{"ward podiatrist", "ward~ & podiatrist*~"},
		{"podiatrist in ward", "podiatrist~ & ward*|@Ward"},
		{"porter", "porter*~"},
		{"podiatrist, porter", "podiatrist~ & porter*|@Porter"},
		{"podiatrist near home", "podiatrist~ & home*|@Home"},
		{"podiatrist home", "podiatrist~ & home*~"},
		{"podiatrist at bank", "podiatrist~ & bank*|@Bank"},
		{"podiatrist care home", "podiatrist~ & care~ & home*~"},
		{"podiatrist tinytown", "podiatrist~ & tinytown*~"},
		{"podiatrist in tinytown", "podiatrist~ & tinytown*|@Tinytown"},
		{"podiatrist in", "podiatrist~"},
	} {
		got := spell(Understand(c.text, places))
		require.Equal(t, c.want, got, "%q", c.text)
	}
}

func TestVocabularyTablesAreNeverChangedByAText(t *testing.T) {
	t.Parallel()
	before := fmt.Sprint(synonymsOf["icu"], contractWords["permanent"])
	for range 3 {
		Understand("icu OR midwife OR rn permanent OR temporary OR bank", places)
	}
	require.Equal(t, before, fmt.Sprint(synonymsOf["icu"], contractWords["permanent"]))
}

func TestASpecialtyIsFoundUnderItsOtherNames(t *testing.T) {
	t.Parallel()
	require.Contains(t, SpecialtyNames("ICU"), "intensive care")
	require.Contains(t, SpecialtyNames("Intensive Care"), "icu")
	require.Equal(t, []string{"podiatry"}, SpecialtyNames(" Podiatry "))
}

func FuzzUnderstand(f *testing.F) {
	for _, s := range []string{`nurse "in leeds" -icu OR a&e, band 5/6`, `-"`, "||", "a OR -b"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, c := range Understand(s, places).Clauses {
			for _, x := range c.Terms {
				for _, w := range x.Words {
					if w == "" || strings.ContainsAny(w, `'"\ `) {
						t.Fatalf("%q has the word %q", s, w)
					}
				}
			}
		}
	})
}
