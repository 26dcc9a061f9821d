package search

import (
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// testVocabulary is a small vocabulary, so that the tests of queries do not depend on the embedded
// one. The abbreviations rt (two therapists) and urologist (a doctor in urology) stand for the
// ambiguous and the composed names of the real one. Source describes the format.
const testVocabulary = `
role nurse : nurse
role registered-nurse <nurse : registered nurse; staff nurse; rn!
role health-visitor <nurse : health visitor
role doctor *broad : doctor; physician
role urologist =doctor +urology : urologist
role therapist *broad : therapist
role respiratory-therapist <therapist : respiratory therapist; rt
role radiation-therapist <therapist : radiation therapist; rt
role occupational-therapist <therapist : occupational therapist; ot!
role receptionist : receptionist
role recruitment-consultant : recruitment consultant
role optometrist : optometrist
role assistant *generic : assistant
role dietetic-assistant <assistant : dietetic assistant
role healthcare-assistant <assistant : healthcare assistant; hca!
spec optometry : optometry
spec urology : urology
spec intensive-care : intensive care; icu; itu
spec radiotherapy : radiotherapy
spec nuclear-medicine : nuclear medicine
grade band-5 : band 5
grade band-6 : band 6
hours part-time : part time
shift nights : nights; night shift
contract bank : bank
setting hospice : hospice
filler : job; vacancy; work
filler : looking for
read rt respiratory-therapist if spec(intensive-care) | radiation-therapist if spec(radiotherapy) | respiratory-therapist
`

// testPlaces is a gazetteer of the places by their names in lower case.
type testPlaces map[string]Place

// Correct corrects two misspellings.
func (p testPlaces) Correct(text string) (Place, bool) {
	corrections := map[string]string{"edinburg": "edinburgh", "leesd": "leeds"}
	place, ok := p[corrections[strings.ToLower(text)]]

	return place, ok
}

// Resolve finds a place by its exact name.
func (p testPlaces) Resolve(text string) (Place, bool) {
	place, ok := p[strings.ToLower(text)]
	return place, ok
}

// somePlaces has towns whose names are also words of adverts (Ward, Bank), a region of two counties,
// and two towns named Boston.
var somePlaces = testPlaces{
	"leeds":     {Kind: Town, Name: "Leeds", Region: "West Yorkshire", Country: "GB", Lat: 53.8, Lon: -1.55, Population: 500_000},
	"ward":      {Kind: Town, Name: "Ward", Country: "GB", Population: 5_000},
	"bank":      {Kind: Town, Name: "Bank", Country: "GB", Population: 5_000},
	"yorkshire": {Kind: Region, Name: "Yorkshire", Country: "GB", Regions: []string{"West Yorkshire", "North Yorkshire"}},
	"edinburgh": {Kind: Town, Name: "Edinburgh", Country: "GB", Population: 500_000},
	"boston":    {Kind: Town, Name: "Boston", Country: "US", Population: 600_000},
	"boston, lincolnshire": {Kind: Town, Name: "Boston", Region: "Lincolnshire", Country: "GB",
		Population: 40_000},
}

// testLexicon maps the words of adverts to the number of adverts with them.
type testLexicon map[string]int

// Frequency implements Lexicon.
func (l testLexicon) Frequency(word string) int { return l[word] }

// Words implements Lexicon.
func (l testLexicon) Words(prefix string) iter.Seq2[string, int] {
	return func(yield func(string, int) bool) {
		for word, n := range l {
			if strings.HasPrefix(word, prefix) && !yield(word, n) {
				return
			}
		}
	}
}

// testParser returns a parser of testVocabulary. Adverts contain perfusion, a word that is not in the
// vocabulary, and once the typo nruse.
func testParser(t testing.TB) *Parser {
	t.Helper()

	v, err := Parse(Source{Name: "test", Text: testVocabulary})
	require.NoError(t, err)
	require.Empty(t, v.Lint())

	return &Parser{Vocabulary: v, Places: somePlaces, Words: NewSpelling(v, testLexicon{"perfusion": 3, "nurse": 9_000, "nruse": 1})}
}

// formatTerms formats the terms of a query as "slot:value, slot:value". Alternatives are separated by
// "|", an excluded term begins with "-", and an asterisk after the slot marks a last word that may be
// unfinished. Pay is "min-max CURRENCY" a year in major units, where 0 is no limit.
func formatTerms(u Understanding) string {
	var terms []string
	for _, t := range u.Terms {
		var values []string
		for _, c := range t.Concepts {
			values = append(values, c.ID)
		}

		for _, p := range t.Places {
			values = append(values, p.Name+" "+p.Country)
		}

		if t.Pay != nil {
			const minorPerMajor = 100
			values = append(values, fmt.Sprintf("%d-%d %s", t.Pay.Min/minorPerMajor, t.Pay.Max/minorPerMajor, t.Pay.Currency))
		}

		if len(values) == 0 {
			for _, words := range t.alternatives() {
				values = append(values, strings.Join(words, " "))
			}
		}

		slot := t.Slot
		if t.Excluded {
			slot = "-" + slot
		}

		if t.Unfinished {
			slot += "*"
		}

		terms = append(terms, slot+":"+strings.Join(values, "|"))
	}

	return strings.Join(terms, ", ")
}

// TestParse checks which terms a query has. Without a space at the end, the last word may be unfinished:
// the user is still typing.
func TestParse(t *testing.T) {
	t.Parallel()

	parser := testParser(t)
	for query, want := range map[string]string{
		"":                          "",
		"nurse ":                    "role:nurse",
		"Registered Nurse in Leeds": "role:registered-nurse, place:Leeds GB",
		"nurse, leeds":              "role:nurse, place:Leeds GB",
		"nurse leeds or yorkshire":  "role:nurse, place:Leeds GB|Yorkshire GB",
		// Without a county, the larger Boston is meant.
		"nurse boston":               "role:nurse, place:Boston US",
		"nurse Boston, Lincolnshire": "role:nurse, place:Boston GB",
		// Ward and bank are places only after a word such as in or at.
		"ward nurse":             "word:ward, role:nurse",
		"nurse in ward":          "role:nurse, place:Ward GB",
		"bank nurse":             "contract:bank, role:nurse",
		"nurse at bank":          "role:nurse, place:Bank GB",
		"urologist":              "role:doctor, specialty:urology",
		"rt icu":                 "role:respiratory-therapist, specialty:intensive-care",
		"rt radiotherapy":        "role:radiation-therapist, specialty:radiotherapy",
		"RT":                     "role:respiratory-therapist",
		"optometry receptionist": "specialty:optometry, role:receptionist",
		// The last role is the job; a role before it is only a word that adverts should contain.
		"nurse recruitment consultant": "word:nurse, role:recruitment-consultant",
		"nurse OR health visitor":      "role:nurse|health-visitor",
		`"night shift" OR "care home"`: "phrase:night shift|care home",
		"nurse up to £50k":             "role:nurse, pay:0-50000 GBP",
		"band 5/6 nurse":               "grade:band-5|band-6, role:nurse",
		"band 5 or 6 nurse":            "grade:band-5|band-6, role:nurse",
		// A number is pay with a currency, a period, a k or a word such as over.
		"nurse over 50000": "role:nurse, pay:50000-0 ",
		"nurse 50k":        "role:nurse, pay:50000-0 ",
		"nurse 50000 ":     "role:nurse, word:50000",
		// An excluded term with several concepts excludes the adverts that have all of them.
		"doctor -urologist": "role:doctor, -word:doctor|urology",
		// OR has no effect between terms of different slots.
		"nurse OR leeds":         "role:nurse, place:Leeds GB",
		"nights or part time":    "shift:nights, hours:part-time",
		"band 5 band 6 nurse":    "grade:band-5|band-6, role:nurse",
		"looking for nurse jobs": "role:nurse",
		`"night shift" nurse`:    "phrase:night shift, role:nurse",
		`nurse -icu`:             "role:nurse, -specialty:intensive-care",
		`nurse -"care home"`:     "role:nurse, -phrase:care home",
		"part-time nurse":        "hours:part-time, role:nurse",
		// A full-time year in pounds has 1,950 hours.
		"nurse £20 an hour":   "role:nurse, pay:39000-0 GBP",
		"nurse $90,000-$110k": "role:nurse, pay:90000-110000 USD",
		"£35k":                "pay:35000-0 GBP",
		"dieteticassistant ":  "role:dietetic-assistant",
		"optometirst":         "role:optometrist",
		"perfusion":           "word*:perfusion",
		"nuclear med":         "specialty*:nuclear-medicine",
		"nurse in xyz":        "role:nurse, word*:xyz",
		"assistant ":          "role:assistant",
		// Of two related roles, the last one is meant and the other is dropped.
		"registered nurse health visitor": "role:health-visitor",
	} {
		t.Run(query, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, want, formatTerms(parser.Parse(query)))
		})
	}
}

// TestParse_NoWords_Empty checks that a query of punctuation alone finds nothing, while one of spaces
// or words without a meaning finds everything.
func TestParse_NoWords_Empty(t *testing.T) {
	t.Parallel()

	p := testParser(t)
	require.True(t, p.Parse(" ?!- ").Empty)
	require.False(t, p.Parse(" ").Empty)
	require.False(t, p.Parse("the").Empty)
}

// TestParse_Spans_CoverTheWords checks the byte offsets with which a client marks the terms in the
// text of the user. Fillers have no term; a place includes the word before it.
func TestParse_Spans_CoverTheWords(t *testing.T) {
	t.Parallel()

	p := testParser(t)
	const query = `looking for a band 5 nurse near Leeds "night shift"`

	var spans []string
	for _, term := range p.Parse(query).Terms {
		spans = append(spans, query[term.Start:term.End])
	}

	require.Equal(t, []string{"band 5", "nurse", "near Leeds", "night shift"}, spans)
}

// TestSpelling_Correct checks which words are corrected to which; "" is a word that remains as it is,
// since it is known, too short, or too far from every known word.
func TestSpelling_Correct(t *testing.T) {
	t.Parallel()

	const unfinished = true

	parser := testParser(t)
	for word, want := range map[string]string{
		"nurse":              "",
		"nures":              "nurse",
		"nruse":              "nurse", // 1 advert has it, 9,000 have nurse
		"receptonist":        "receptionist",
		"radiotherpy":        "radiotherapy",
		"occupatinal":        "occupational",
		"dieteticassistant":  "dietetic assistant",
		"perfusion":          "",
		"rt1":                "", // words with digits are names and codes
		"ict":                "", // one edit from icu, but shorter than 5 letters
		"completelyanything": "",
		"bandhca":            "", // too short to be two words
	} {
		require.Equal(t, want, strings.Join(parser.Words.Correct(Tokens(word)[0], !unfinished), " "), word)
	}

	require.Nil(t, parser.Words.Correct(Tokens("optome")[0], unfinished), "the beginning of optometrist")
}

// TestResolve checks the texts in which Resolve stores queries: misspelt words are replaced, except in
// quotes and after a minus, a space at the end means that adverts contain the last word, and each
// known employer follows after \x1f. The parser must read that text as it reads the original.
func TestResolve(t *testing.T) {
	t.Parallel()

	parser := testParser(t)
	lexicon := testLexicon{"nurse": 9_000, "nruse": 1, "nuclear": 2, "visitr": 1, "visitor": 20}

	parser.Words = NewSpelling(parser.Vocabulary, lexicon)
	for query, want := range map[string]string{
		"":                                      "",
		"nurse in  Leeds ":                      "nurse in  Leeds",
		"Nures, receptonist in edinburg":        "nurse, receptionist in Edinburgh",
		"nruse (dieteticassistant) nights":      "nurse (dietetic assistant) nights",
		"radio therapy health visitr":           "radiotherapy health visitor ",
		`nures -nures "nures" not nures nights`: `nurse -nures "nures" not nurse nights`,
		"boston edinburg nurse nores":           "boston Edinburgh nurse nores",
		"NURES ICU":                             "NURSE ICU",
		"receptonist opto":                      "receptionist opto",
		"nuclear":                               "nuclear ", // a word of adverts
		"nuclear\tmed":                          "nuclear\tmed",
	} {
		require.Equal(t, want, parser.Resolve(query), query)
		requireSameTerms(t, parser, query)
	}

	parser.Employers = employerNames{"st brigid": true, "st brigid hospital": true, "nuclear": true}
	require.Equal(t, "nurse St Brigid's hospitl\x1fst brigid", parser.Resolve("nures St Brigid's hospitl"))

	// The \x1f of the user becomes \x1e: only Resolve may add employers.
	require.Equal(
		t,
		"nurse St Brigid's\x1ehospital\x1fst brigid\x1fst brigid hospital",
		parser.Resolve("nurse St Brigid's\x1fhospital"),
	)
	requireSameTerms(t, parser, "nures st brigid's hospital")

	// A word that adverts contain is complete. Another one may be the beginning of a name.
	ofResolved := &Parser{Vocabulary: parser.Vocabulary, Resolved: true}
	require.Equal(t, "word*:nuclear", formatTerms(ofResolved.Parse("nuclear ")))
	require.Equal(t, "specialty*:nuclear-medicine", formatTerms(ofResolved.Parse("nuclear")))
}

// requireSameTerms requires the resolved query to have the same terms without the words and employers
// of adverts, as a saved search is evaluated.
func requireSameTerms(t testing.TB, p *Parser, text string) {
	t.Helper()

	text = strings.TrimSpace(text) // as Resolve does
	resolved := p.Resolve(text)
	withoutIndex := &Parser{Vocabulary: p.Vocabulary, Places: p.Places, Resolved: true}

	want := formatTerms(p.Parse(text))
	got := formatTerms(withoutIndex.Parse(resolved))
	require.Equal(t, want, got, "%q resolved as %q", text, resolved)
}

// FuzzParse checks for any text that the offsets of terms are within the text, that the resolved query
// has the same terms, and that the plan is a query that an index accepts.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"nurse", `"a" -b`, "£20 an hour", "-“x", "nurse in leeds, uk OR", "\xff -\"", "£1-£2 or £3",
		"NURES edinburg", "nures -nures 5/6", "health visitr", "dieteticassistant", "f>m\x1f",
	} {
		f.Add(seed)
	}

	parser := testParser(f)
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 400 {
			t.Skip("longer than a query may be")
		}

		understanding := parser.Parse(text)
		for _, term := range understanding.Terms {
			require.LessOrEqual(t, term.Start, term.End)
			require.LessOrEqual(t, term.End, len(text))
		}

		requireSameTerms(t, parser, text)

		const radius = 10 // miles
		plan := understanding.Plan(radius)
		query := Query{Must: plan.Must, Slots: plan.Slots, First: plan.First, MaxCost: MaxCost}
		require.NoError(t, query.Validate())
	})
}

// TestParse_EveryForm_AsksForItsConcept checks that a query for each name in the embedded vocabulary
// requires the concept of that name. One name in a thousand may fail: in a query without other words
// it is part of another name.
func TestParse_EveryForm_AsksForItsConcept(t *testing.T) {
	t.Parallel()

	vocabulary, err := Load()
	require.NoError(t, err)

	parser := &Parser{Vocabulary: vocabulary, Words: NewSpelling(vocabulary, testLexicon{})}

	var wrong []string
	for _, form := range vocabulary.Forms() {
		isFiller := form.Readings[0].Concept.Kind == Filler
		if isFiller {
			continue
		}

		understanding := parser.Parse(form.Text + " ")

		// Any of the concepts that an ambiguous name can mean is right.
		isRight := slices.ContainsFunc(form.Readings, func(r Reading) bool { return requiresConcept(understanding, r.Concept) })
		if !isRight {
			wrong = append(wrong, form.Text+" → "+formatTerms(understanding))
		}
	}

	require.LessOrEqual(t, len(wrong), len(vocabulary.Forms())/1_000, "%s", strings.Join(wrong, "\n"))
}

// requiresConcept reports whether the query requires everything that the concept means.
func requiresConcept(u Understanding, concept *Concept) bool {
	for _, c := range concept.Means() {
		if !slices.ContainsFunc(u.Terms, func(t Term) bool { return slices.Contains(t.Concepts, c) }) {
			return false
		}
	}

	return true
}
