package search

import (
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// testVocabulary is a small vocabulary, so that the tests of queries do not depend on the embedded one. A line has a
// kind, the id of a concept, its links to other concepts, and its names after the colon. "<nurse" is a more general
// concept, "=doctor +urology" is the meaning of a composed name, "*" begins a property, and "!" ends a name that counts
// in capitals only. The type Source describes the format in full. Like names of the embedded vocabulary, rt is
// ambiguous (two therapists), and urologist is composed (a doctor in urology).
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

// Correct implements Places. It corrects two misspellings.
func (p testPlaces) Correct(text string) (Place, bool) {
	corrections := map[string]string{"edinburg": "edinburgh", "leesd": "leeds"}
	place, ok := p[corrections[strings.ToLower(text)]]

	return place, ok
}

// Resolve implements Places. It finds a place by its exact name.
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
		for word, adverts := range l {
			if strings.HasPrefix(word, prefix) && !yield(word, adverts) {
				return
			}
		}
	}
}

// testParser returns a parser of testVocabulary. Adverts contain perfusion, a word that is not in the
// vocabulary, and once the typo nruse.
func testParser(t testing.TB) *Parser {
	t.Helper()

	vocabulary, err := Parse(Source{Name: "test", Text: testVocabulary})
	require.NoError(t, err)
	require.Empty(t, vocabulary.Lint())

	lexicon := testLexicon{"perfusion": 3, "nurse": 9_000, "nruse": 1}

	return &Parser{Vocabulary: vocabulary, Places: somePlaces, Words: NewSpelling(vocabulary, lexicon)}
}

// formatTerms formats the terms of a query as "slot:value, slot:value". A slot is a part of a search, such as role or
// place. Alternatives are separated by "|", and an excluded term begins with "-". An asterisk after the slot marks the
// last word of a query, which may be unfinished. Pay is "min-max CURRENCY" a year in pounds, dollars or euros, where 0
// is no limit and the currency may be unknown.
func formatTerms(understanding Understanding) string {
	var terms []string
	for _, term := range understanding.Terms {
		slot := term.Slot
		if term.Excluded {
			slot = "-" + slot
		}

		if term.Unfinished {
			slot += "*"
		}

		terms = append(terms, slot+":"+strings.Join(formatValues(term), "|"))
	}

	return strings.Join(terms, ", ")
}

// formatValues returns the alternatives of a term: its concepts, places or pay. Another term, such as a phrase, has
// only words.
func formatValues(term Term) (values []string) {
	for _, concept := range term.Concepts {
		values = append(values, concept.ID)
	}

	for _, place := range term.Places {
		values = append(values, place.Name+" "+place.Country)
	}

	if term.Pay != nil {
		const minorPerMajor = 100 // pence, or cents
		lowest, highest := term.Pay.Min/minorPerMajor, term.Pay.Max/minorPerMajor
		values = append(values, fmt.Sprintf("%d-%d %s", lowest, highest, term.Pay.Currency))
	}

	if len(values) > 0 {
		return values
	}

	for _, words := range term.alternatives() {
		values = append(values, strings.Join(words, " "))
	}

	return values
}

// TestParse checks which terms a query has, in the notation of formatTerms. If a query does not end in a space, the user
// may still be typing its last word. Such a word may be completed to a name of the vocabulary.
//
// For example, the query "nurse leeds or yorkshire" has the terms "role:nurse, place:Leeds GB|Yorkshire GB": it finds jobs
// of nurses in one of the two places.
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
		// The last role is the job. A role before it is only a word that adverts should contain.
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

// TestParse_NoWords_Empty checks which queries are Empty and thus find nothing: those of punctuation alone. A query of
// spaces or of words without a meaning finds everything.
func TestParse_NoWords_Empty(t *testing.T) {
	t.Parallel()

	parser := testParser(t)
	require.True(t, parser.Parse(" ?!- ").Empty)
	require.False(t, parser.Parse(" ").Empty)
	require.False(t, parser.Parse("the").Empty)
}

// TestParse_Spans_CoverTheWords checks the byte offsets with which a client marks the terms in the text of the user. A
// filler such as "looking for" is no term. The term of a place includes the preposition before it.
func TestParse_Spans_CoverTheWords(t *testing.T) {
	t.Parallel()

	parser := testParser(t)
	const query = `looking for a band 5 nurse near Leeds "night shift"`

	var spans []string
	for _, term := range parser.Parse(query).Terms {
		spans = append(spans, query[term.Start:term.End])
	}

	require.Equal(t, []string{"band 5", "nurse", "near Leeds", "night shift"}, spans)
}

// TestSpelling_Correct checks to which words a misspelt word is corrected. "" stands for a word that remains as it is:
// it is known, too short, or too different from every known word.
func TestSpelling_Correct(t *testing.T) {
	t.Parallel()

	const unfinished = true // the user may still be typing the word

	parser := testParser(t)
	correct := func(word string, isUnfinished bool) []string {
		return parser.Words.Correct(Tokens(word)[0], isUnfinished)
	}

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
		require.Equal(t, want, strings.Join(correct(word, !unfinished), " "), word)
	}

	require.Nil(t, correct("optome", unfinished), "the beginning of optometrist")
}

// TestResolve checks the texts that Resolve returns, in which saved searches are stored. A resolved text must have the
// same terms as the original without the words and employers of adverts, which change from day to day. Therefore:
//   - Misspelt words are replaced, except in quotes and after a minus.
//   - A space at the end means that adverts contain the last word, so that it is complete.
//   - Each known employer is appended after the separator \x1f.
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
		"nuclear":                               "nuclear ", // a word that adverts contain
		"nuclear\tmed":                          "nuclear\tmed",
	} {
		require.Equal(t, want, parser.Resolve(query), query)
		requireSameTerms(t, parser, query)
	}

	// Employers that the query names.
	parser.Employers = employerNames{"st brigid": true, "st brigid hospital": true, "nuclear": true}
	require.Equal(t, "nurse St Brigid's hospitl\x1fst brigid", parser.Resolve("nures St Brigid's hospitl"))

	// Only Resolve may add employers, so that a \x1f in the text of the user is replaced by \x1e.
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

// requireSameTerms requires that the query has the same terms before and after it is resolved. The resolved query is
// parsed as a saved search is: without the words and employers of adverts.
func requireSameTerms(t testing.TB, parser *Parser, text string) {
	t.Helper()

	text = strings.TrimSpace(text) // as Resolve does
	resolved := parser.Resolve(text)
	withoutIndex := &Parser{Vocabulary: parser.Vocabulary, Places: parser.Places, Resolved: true}

	original := formatTerms(parser.Parse(text))
	saved := formatTerms(withoutIndex.Parse(resolved))
	require.Equal(t, original, saved, "%q resolved as %q", text, resolved)
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
		const maxQuery = 400 // bytes; longer texts would be slow and are refused before they are parsed
		if len(text) > maxQuery {
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

// TestParse_EveryForm_AsksForItsConcept checks each form, a name in the embedded vocabulary: a query of this name alone
// must require the concept of the name. One name in a thousand may fail, since a few names are read as a part of another
// name if no other words are beside them.
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

	maxWrong := len(vocabulary.Forms()) / 1_000
	require.LessOrEqual(t, len(wrong), maxWrong, "%s", strings.Join(wrong, "\n"))
}

// requiresConcept reports whether the query requires everything that the concept means.
func requiresConcept(u Understanding, concept *Concept) bool {
	for _, required := range concept.Means() {
		hasConcept := func(term Term) bool { return slices.Contains(term.Concepts, required) }
		if !slices.ContainsFunc(u.Terms, hasConcept) {
			return false
		}
	}

	return true
}
