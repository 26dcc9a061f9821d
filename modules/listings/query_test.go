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

func (atlas) Correct(string) (Place, bool) { return Place{}, false }

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
	"ls1":                  {Kind: Town, Name: "LS1, Leeds", Country: "GB"},
	"ls1 4dy":              {Kind: Town, Name: "LS1, Leeds", Country: "GB"},
	"ls14dy":               {Kind: Town, Name: "LS1, Leeds", Country: "GB"},
	"leeds ls1 4dy":        {Kind: Town, Name: "LS1, Leeds", Country: "GB"},
	"d08 xy12":             {Kind: Town, Name: "D08, Dublin 8", Country: "IE"},
	"02115":                {Kind: Town, Name: "02115, Boston", Country: "US"},
	"boston ma 02115":      {Kind: Town, Name: "02115, Boston", Country: "US"},
	"st3":                  {Kind: Town, Name: "ST3, Longton", Country: "GB"},
	"ct2":                  {Kind: Town, Name: "CT2, Canterbury", Country: "GB"},
	"en1":                  {Kind: Town, Name: "EN1, Enfield", Country: "GB"},
	"m4":                   {Kind: Town, Name: "M4, Manchester", Country: "GB"},
	"b12":                  {Kind: Town, Name: "B12, Balsall Heath", Country: "GB"},
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
		{"welder", "welder*~"},
		{"senior welder", "senior~ & welder*~"},
		{"welder.", "welder~"},
		// fillers and stop words
		{"jobs", ""},
		{"looking for a welder job with the", "welder~"},
		{"I am looking for work", ""},
		{"welder needed", "welder~"},
		// synonyms
		{"dialysis", "dialysis|renal|nephrology|dialysis*"},
		{"dialysis unit", "dialysis|renal|nephrology & unit*~"},
		{"speech and language therapist", "slt|salt|slp|speech+and+language+therapist|speech+language+therapist|speech+therapist|speech+language+pathologist|speech+and+language+therapy"},
		{"health visitors leeds", "hv|health+visitor|health+visiting & leeds|@Leeds"},
		// phrases, exclusions, alternatives
		{`"care home"`, "=care home"},
		{`“care home”`, "=care home"},
		{`welder "care home" -bedford`, "welder~ & =care home & -bedford"},
		{`-"care home"`, "-=care home"},
		{"-itu", "-icu|itu|intensive+care|intensive+therapy|critical+care"},
		{"full-time", "full+time?|#full-time"},
		{"a -b", "-b"},
		{"x-ray", "xray|x+ray|radiography"},
		{"welder OR roofer leeds", "welder~|roofer~ & leeds|@Leeds"},
		{"welder | roofer", "welder~|roofer*~"},
		{"welder or roofer", "welder~ & roofer*~"},
		{"OR welder", "welder*~"},
		{"welder OR", "welder~"},
		{"leeds or boston", "leeds|boston|@Leeds|@Boston"},
		{"leeds welder, boston", "leeds|boston|@Leeds|@Boston & welder~"},
		{"welder near me", "welder~"},
		{"welder £20 per hour", "welder~"},
		{"leeds OR boston", "leeds|boston|@Leeds|@Boston"},
		// contracts
		{"permanent welder", "permanent?|#permanent & welder*~"},
		{"temp welder", "temp?|#temporary & welder*~"},
		{"part time welder", "part+time?|#part-time & welder*~"},
		{"per diem welder", "per+diem?|#per-diem & welder*~"},
		{"permanent OR temporary", "permanent?|temporary?|#permanent|#temporary"},
		{"remote welder", "remote|#remote & welder*~"},
		{"bank welder", "bank?|#bank & welder*~"},
		// bands
		{"band 5", "band5*~"},
		{"band 5/6 welder", "band5~|band6~ & welder*~"},
		// places
		{"welder leeds", "welder~ & leeds|@Leeds"},
		{"welder in leeds", "welder~ & leeds|@Leeds"},
		{"leeds welder", "leeds|@Leeds & welder*~"},
		{"welder, leeds", "welder~ & leeds|@Leeds"},
		{"welder boston lincolnshire", "welder~ & boston+lincolnshire|@Boston Lincs"},
		{"welder Boston, Lincolnshire", "welder~ & boston+lincolnshire|@Boston Lincs"},
		{"welder lincolnshire", "welder~ & lincolnshire|@Lincolnshire"},
		{"welder uk", "welder~ & uk|@United Kingdom"},
		{"welder new york", "welder~ & new+york|@New York"},
		{"welder reading", "welder~ & reading|@Reading"},
		{"welder lee", "welder~ & lee*|@Lee"},
		// common words are places only after in, near, at or a comma
		{"ward welder", "ward~ & welder*~"},
		{"welder in ward", "welder~ & ward*|@Ward"},
		{"porter", "porter*~"},
		{"welder, porter", "welder~ & porter*|@Porter"},
		{"welder near home", "welder~ & home*|@Home"},
		{"welder home", "welder~ & home*~"},
		{"welder at bank", "welder~ & bank*|@Bank"},
		{"welder care home", "welder~ & care~ & home*~"},
		{"welder tinytown", "welder~ & tinytown*~"},
		{"welder in tinytown", "welder~ & tinytown*|@Tinytown"},
		{"welder in", "welder~"},
		// postcodes
		{"welder ls1 4dy", "welder~ & ls1+4dy|@LS1, Leeds"},
		{"LS14DY welder", "ls14dy|@LS1, Leeds & welder*~"},
		{"welder Leeds LS1 4DY", "welder~ & leeds+ls1+4dy|@LS1, Leeds"},
		{"welder D08 XY12", "welder~ & d08+xy12|@D08, Dublin 8"},
		{"welder near LS1", "welder~ & ls1|@LS1, Leeds"},
		{"welder, ls1", "welder~ & ls1|@LS1, Leeds"},
		{"welder in 02115", "welder~ & 02115|@02115, Boston"},
		{"welder boston ma 02115", "welder~ & boston+ma+02115|@02115, Boston"},
		// a district alone may be a grade, five digits an amount
		{"welder ls1", "welder~ & ls1*~"},
		{"st3 welder", "st3~ & welder*~"},
		{"ct2 welder", "ct2~ & welder*~"},
		{"en1", "en1*~"},
		{"m4 welder", "m4~ & welder*~"},
		{"b12 welder", "b12~ & welder*~"},
		{"welder 02115", "welder~ & 02115*~"},
		{"welder, $02115", "welder~"},
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
	require.Equal(t, []string{"welding"}, SpecialtyNames(" Welding "))
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
