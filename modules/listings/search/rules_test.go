package search

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// rulesVocabulary has the concepts that the rules of TestParse_Rules and TestAnnotate_Rules need, such as roles outside
// of care (non-clinical) and grades that imply a doctor.
//
// A line has a kind, the id of a concept, its links to other concepts, and its names after the colon. For example,
// "role urologist =doctor +urology : urologist" says that the name urologist means the role doctor and the specialty
// urology. "<nurse" is a more general concept, "+doctor" an implied one, and "*broad", "*generic" and "*leads" are
// properties. Fillers are words of a query without a meaning. The type Source describes the format in full.
const rulesVocabulary = `
role nurse *broad : nurse
role registered-nurse <nurse : registered nurse
role intensive-care-nurse =nurse +intensive-care : intensive care nurse
role health-visitor <nurse : health visitor
role doctor *broad : doctor; dr
role urologist =doctor +urology : urologist
role radiographer : radiographer; reporting radiographer
role radiologist =doctor +radiology : reporting radiologist
spec radiology : x ray
role occupational-therapist : occupational therapist
role dentist +dentistry : dentist
role manager *generic *leads : manager; team leader
role non-clinical : non clinical
role recruiter <non-clinical : recruitment consultant
role receptionist <non-clinical : receptionist
role secretary <non-clinical : secretary
role director : director
role engineer <non-clinical : engineer
spec intensive-care : intensive care
spec neonatal : neonatal; neonatal intensive care
spec urology : urology
spec dentistry : dental
spec cardiology : cardiology; cardiac; cardiac anaesthesia
grade consultant +doctor : consultant
grade st3 +doctor : st3
grade registrar +doctor : registrar level
role registrar-doctor =doctor +registrar : registrar
hours part-time : part time
hours term-time : term time
shift nights : nights
shift weekends : weekends
setting community : community
setting work-from-home : remote
setting telehealth : online
filler : job; work; looking for; search; no matter
`

// companies is the set of the normalized names of employers, and of the beginnings of their names.
type companies map[string]bool

// HasEmployer implements Employers.
func (c companies) HasEmployer(name string) bool { return c[name] }

// rulesParser returns a parser of rulesVocabulary with three more sources, whose types are in query_test.go:
//   - The places by the text of a query. Of two towns of one name, the population decides which one is meant.
//   - The words of adverts with their numbers. "heath" and "edinburgh" are among them, so that a query with one of them
//     is not corrected as if the word were unknown.
//   - The names of employers, by the keys under which adverts are stored.
func rulesParser(t *testing.T) *Parser {
	t.Helper()

	vocabulary, err := Parse(Source{Name: "test", Text: rulesVocabulary})
	require.NoError(t, err)
	require.Empty(t, vocabulary.Lint())

	places := testPlaces{
		"edinburg":                {Kind: Town, Name: "Edinburg", Country: "US", Population: 90_000},
		"edinburgh":               {Kind: Town, Name: "Edinburgh", Country: "GB", Population: 500_000},
		"brighton":                {Kind: Town, Name: "Brighton", Country: "GB", Population: 200_000},
		"leeds":                   somePlaces["leeds"],
		"rugby":                   {Kind: Town, Name: "Rugby", Country: "GB", Population: 70_000},
		"nurse, leeds":            somePlaces["leeds"],
		"tx":                      {Kind: Region, Name: "Texas", Region: "Texas", Country: "US"},
		"lincoln":                 {Kind: Town, Name: "Lincoln", Country: "US", Population: 290_000},
		"lincoln, united kingdom": {Kind: Town, Name: "Lincoln", Country: "GB", Population: 100_000},
		"lincoln, united states":  {Kind: Town, Name: "Lincoln", Country: "US", Population: 290_000},
		"boston":                  {Kind: Town, Name: "Boston", Country: "US", Population: 650_000},
		"boston, united kingdom":  {Kind: Town, Name: "Boston", Country: "GB", Population: 45_000},
		"isle of wight":           {Kind: Region, Name: "Isle of Wight", Country: "GB"},
		"march":                   {Kind: Town, Name: "March", Country: "GB", Population: 20_000},
		"van":                     {Kind: Town, Name: "Van", Country: "TR", Population: 370_000},
		"radium":                  {Kind: Town, Name: "Radium", Country: "GB", Population: 70_000},
		"halifax":                 {Kind: Town, Name: "Halifax", Country: "CA", Population: 400_000},
		"halifax, united kingdom": {Kind: Town, Name: "Halifax", Country: "GB", Population: 80_000},
		"heath":                   {Kind: Town, Name: "Heath", Country: "GB", Population: 2_000},
		"new anglia":              {Kind: Region, Name: "New Anglia", Country: "GB"},
	}
	lexicon := testLexicon{
		"edinburgh": 40,
		"brighton":  30,
		"leeds":     50,
		"weight":    80,
		"health":    900,
		"heath":     2,
		"cardiac":   7,
		"radium":    9,
		"card":      1,
	}

	employers := companies{}
	for _, name := range []string{"Mersey Heart and Chest Hospital NHS Trust", "New Anglia Care Ltd", "Bupa"} {
		for _, key := range EmployerKeys(name) {
			employers[strings.TrimPrefix(key, keyEmployer)] = true
		}
	}

	return &Parser{Vocabulary: vocabulary, Places: places, Words: NewSpelling(vocabulary, lexicon), Employers: employers}
}

// TestParse_Rules checks one rule of the parser with each query. The columns are
//   - rule, the name of the rule,
//   - query, the text of a user. Most end in a space, so that their last word is not completed.
//   - want, the terms of the query in the notation of formatTerms: "slot:value" for each part of the search, "|" between
//     alternatives, "-" before an excluded term, and "*" after the slot of a word that may be unfinished.
//
// For example, the query "nurse not community " has the terms "role:nurse, -setting:community": it finds jobs of nurses,
// except those in a community setting.
func TestParse_Rules(t *testing.T) {
	t.Parallel()

	parser := rulesParser(t)
	for _, test := range []struct{ rule, query, want string }{
		{rule: "a grade implies its role", query: "st3 ", want: "grade:st3, role:doctor"},
		{
			rule:  "a grade beside a role implies no role",
			query: "consultant urologist",
			want:  "grade:consultant, role:doctor, specialty:urology",
		},
		{rule: "words that were divided", query: "radio grapher", want: "role:radiographer"},
		{rule: "words divided by a hyphen", query: "radio-grapher", want: "role:radiographer"},
		{rule: "a known word one edit from its phrase", query: "heath visitor ", want: "role:health-visitor"},
		{rule: "a place is not corrected to a phrase", query: "nurse in heath", want: "role:nurse, place:Heath GB"},
		{rule: "not excludes", query: "nurse not community ", want: "role:nurse, -setting:community"},
		{
			rule:  "without excludes all alternatives",
			query: "nurse without nights or weekends ",
			want:  "role:nurse, -shift:nights, -shift:weekends",
		},
		{
			rule:  "the role before a preposition is meant",
			query: "secretary to the director ",
			want:  "role:secretary, word:director",
		},
		{
			rule:  "a role that implies a specialty describes",
			query: "receptionist at a dentist ",
			want:  "role:receptionist, specialty:dentistry",
		},
		{
			rule:  "a broad role after one outside of care describes",
			query: "recruitment consultant nurses ",
			want:  "role:recruiter, word:nurse",
		},
		{
			rule:  "the role before a leader is the main one",
			query: "health visitor team leader ",
			want:  "role:health-visitor, word:manager",
		},
		{
			rule:  "few concepts before many",
			query: "neonatal intensive care nurse ",
			want:  "specialty:neonatal, role:nurse",
		},
		{rule: "a slash between roles is OR", query: "nurse/radiographer ", want: "role:nurse|radiographer"},
		// The plan requires urology of the doctors alone; the notation shows only the roles.
		{rule: "OR with a composed role", query: "urologist or nurse ", want: "role:doctor|nurse"},
		{
			rule:  "OR with a composed role shares the specialty",
			query: "intensive care nurse or urology ",
			want:  "role:nurse, specialty:intensive-care|urology",
		},
		{rule: "small numbers are ignored", query: "nurse 6 ", want: "role:nurse"},
		// Edinburg is a town in Texas, but adverts name only Edinburgh.
		{rule: "a namesake without adverts", query: "nurse in edinburg ", want: "role:nurse, place:Edinburgh GB"},
		// The larger Halifax is in Canada.
		{
			rule:  "a town abroad with a namesake at home",
			query: "nurse halifax ",
			want:  "role:nurse, place:Halifax GB",
		},
		{rule: "another form of a filler", query: "nurse searching ", want: "role:nurse"},
		{
			rule:  "a short word is not corrected in its first letter",
			query: "nurse lights ",
			want:  "role:nurse, word:lights",
		},
		{
			rule:  "the number of a grade is no pay",
			query: "nurse st3 and cardiology ",
			want:  "role:nurse, grade:st3, specialty:cardiology",
		},
		{rule: "an unfinished place", query: "nurse in bright", want: "role:nurse, place:Brighton GB"},
		{
			rule:  "an unfinished specialty beside a role",
			query: "nurse cardi",
			want:  "role:nurse, specialty*:cardiology",
		},
		{rule: "a filler is excluded as a word", query: "nurse -job ", want: "role:nurse, -word:job"},
		{
			rule:  "an unfinished word in the other spelling",
			query: "nurse cardiac anae",
			want:  "role:nurse, specialty*:cardiology",
		},
		// Radium is a place in adverts, but radi begins a word of the vocabulary.
		{rule: "an unfinished specialty is no place", query: "nurse radi", want: "role:nurse, word*:radi"},
		{rule: "a large town whose name is a word", query: "nurse rugby ", want: "role:nurse, place:Rugby GB"},
		{
			rule:  "an employer by the beginning of its name",
			query: "nurse mersey heart",
			want:  "role:nurse, employer:mersey heart",
		},
		{rule: "an employer of one word", query: "bupa nurse ", want: "employer:bupa, role:nurse"},
		{
			rule:  "a place that begins a company's name",
			query: "nurse new anglia ",
			want:  "role:nurse, place:New Anglia GB",
		},
		{
			rule:  "an employer longer than the place",
			query: "nurse new anglia care ",
			want:  "role:nurse, employer:new anglia care",
		},
		{rule: "an unknown employer", query: "nurse acme ", want: "role:nurse, word:acme"},
		{
			rule:  "a role outside of care before one in care",
			query: "receptionist dentist ",
			want:  "role:receptionist, specialty:dentistry",
		},
		{
			rule:  "the grade of another profession",
			query: "radiographer registrar ",
			want:  "role:radiographer, grade:registrar",
		},
		{rule: "a distance", query: "nurse within 20 miles of leeds ", want: "role:nurse, place:Leeds GB"},
		{rule: "days in numbers are no day shift", query: "nurse 4 days ", want: "role:nurse"},
		{rule: "a time of day", query: "nurse 7am ", want: "role:nurse"},
		{rule: "a share of full time", query: "nurse 0.6wte ", want: "role:nurse, hours:part-time"},
		{rule: "a part of a town", query: "nurse west leeds ", want: "role:nurse, place:Leeds GB"},
		// The gazetteer takes "nurse" for a suburb of Leeds.
		{rule: "no suburb is known before the town", query: "nurse, leeds", want: "role:nurse, place:Leeds GB"},
		// Locum is a word of British adverts, and 1099 is a tax form in the United States. Without such a word, the town in
		// the United States is meant only if it is more than three times as large.
		{
			rule:  "a namesake in the country of the words",
			query: "locum nurse lincoln ",
			want:  "word:locum, role:nurse, place:Lincoln GB",
		},
		{
			rule:  "a namesake in the other country",
			query: "nurse 1099 lincoln ",
			want:  "role:nurse, word:1099, place:Lincoln US",
		},
		{rule: "a namesake at home", query: "nurse lincoln ", want: "role:nurse, place:Lincoln GB"},
		{rule: "a much larger namesake", query: "nurse boston ", want: "role:nurse, place:Boston US"},
		{
			rule:  "a word of a name is not corrected",
			query: "nurse isle of wight ",
			want:  "role:nurse, place:Isle of Wight GB",
		},
		{
			rule:  "what is excluded ends at a comma",
			query: "nurse not cardiology, leeds ",
			want:  "role:nurse, -specialty:cardiology, place:Leeds GB",
		},
		{
			rule:  "exclusion ends at a comma",
			query: "nurse not looking for a job, leeds ",
			want:  "role:nurse, place:Leeds GB",
		},
		{rule: "a negation in a filler", query: "nurse no matter leeds ", want: "role:nurse, place:Leeds GB"},
		{rule: "outside excludes a place", query: "nurse outside leeds ", want: "role:nurse, -place:Leeds GB"},
		// March is also a town in Cambridgeshire.
		{rule: "a month after a marker", query: "nurse in march ", want: "role:nurse, word:march"},
		// Van is a city in Turkey.
		{rule: "a town abroad whose name is a word", query: "nurse van ", want: "role:nurse, word:van"},
		{rule: "programmed activities are no pay", query: "nurse 10 pa ", want: "role:nurse"},
		// 60 an hour for the 1,950 hours of a full-time year.
		{rule: "pay by the hour in one word", query: "nurse 60ph ", want: "role:nurse, pay:117000-0 "},
		{rule: "a state at the end", query: "nurse tx", want: "role:nurse, place:Texas US"},
		{rule: "a short abbreviation", query: "mgr ", want: "role:manager"},
		// A reporting radiologist is a doctor in radiology: two conditions, which one unfinished word
		// cannot be.
		{rule: "an unfinished name is no doctor of a specialty", query: "reporting rad", want: "role*:radiographer"},
		{rule: "a stop word that continues a name", query: "occupational the", want: "role*:occupational-therapist"},
	} {
		t.Run(test.rule, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, test.want, formatTerms(parser.Parse(test.query)))
		})
	}
}

// TestParse_CorrectedPlace_IsReported checks that the response names the place to which a
// misspelt name was corrected.
func TestParse_CorrectedPlace_IsReported(t *testing.T) {
	t.Parallel()
	require.Equal(t, []Correction{{From: "edinburg", To: "Edinburgh"}}, rulesParser(t).Parse("nurse in edinburg ").Corrections)
}

// TestEmployerKeys checks the keys by which the adverts of a company are found: its name without "the", and the
// beginnings of the name that have at least two words. A query may leave out the end of a long name.
func TestEmployerKeys(t *testing.T) {
	t.Parallel()

	for company, want := range map[string]string{
		"":                    "",
		"Bupa":                "employer:bupa",
		"The Christie":        "employer:christie",
		"St Brigid’s Hospice": "employer:st brigid, employer:st brigid hospice",
	} {
		require.Equal(t, want, strings.Join(EmployerKeys(company), ", "), company)
	}
}

// TestAnnotate_Rules checks one rule with each advert. want has the keys by which the advert is found:
//   - "role.head:x" is a main role, the job itself.
//   - "role.second:x" is a second choice, such as the role of a trainee.
//   - "role.title:x" is a role that the title only mentions.
//   - "setting.field:x" is a setting that a field of the advert or the employer's name names.
//   - "stated:x" means that the advert has a value of slot x, so that a search for another value does not match.
//
// For example, the title "Trainee Radiographer" has the keys "grade:trainee-grade, role.second:radiographer,
// stated:grade": the advert is found by its grade, and by the role as a second choice only.
func TestAnnotate_Rules(t *testing.T) {
	t.Parallel()

	const additions = `
grade trainee-grade : trainee; in training
setting nhs : nhs trust
experience newly-qualified : newly qualified
`

	vocabulary, err := Parse(Source{Name: "test", Text: rulesVocabulary + additions})
	require.NoError(t, err)

	for _, test := range []struct {
		rule   string
		advert Advert
		want   string
	}{
		{
			rule:   "a question is no head",
			advert: Advert{Title: "Were you a nurse? Become a recruitment consultant"},
			want:   "role.head:non-clinical, role.head:recruiter, role.title:nurse",
		},
		{rule: "a question alone is the head", advert: Advert{Title: "Are you a nurse?"}, want: "role.head:nurse"},
		{
			rule:   "a profession that leads a team",
			advert: Advert{Title: "Health Visitor Team Leader"},
			want:   "role.head:health-visitor, role.head:nurse, role.second:manager",
		},
		{
			rule:   "a trainee is a second choice",
			advert: Advert{Title: "Trainee Radiographer"},
			want:   "grade:trainee-grade, role.second:radiographer, stated:grade",
		},
		{
			rule:   "staff to be taught are no applicants",
			advert: Advert{Title: "Radiographer", Description: "You will teach newly qualified staff and doctors in training."},
			want:   "role.head:radiographer",
		},
		{
			rule:   "applicants who are welcome",
			advert: Advert{Title: "Radiographer", Description: "Newly qualified applicants are welcome."},
			want:   "experience:newly-qualified, role.head:radiographer, stated:experience",
		},
		{
			rule:   "the company names the setting",
			advert: Advert{Title: "Porter", Company: "Mersey NHS Trust"},
			want:   "setting.field:nhs, setting:nhs, stated:setting",
		},
	} {
		t.Run(test.rule, func(t *testing.T) {
			t.Parallel()

			annotation := vocabulary.Annotate(&test.advert)
			require.Equal(t, test.want, strings.Join(annotation.Keys(), ", "))
		})
	}
}

// TestParse_ORBetweenTwoRoles_IsNoOperatingRoom checks with the embedded vocabulary that OR between two names of one
// kind is the operator. At the beginning of a query, OR is the operating room, a name of the specialty theatres.
func TestParse_ORBetweenTwoRoles_IsNoOperatingRoom(t *testing.T) {
	t.Parallel()

	vocabulary, err := Load()
	require.NoError(t, err)

	parser := Parser{Vocabulary: vocabulary}
	require.Equal(t, "role:midwife|nurse", formatTerms(parser.Parse("midwife OR nurse ")))
	require.Equal(t, "role:nurse, specialty:theatres", formatTerms(parser.Parse("OR nurse ")))
}

// TestParse_Distance_IsRadius checks the radius in miles that a query contains. Kilometres are converted to miles, 0
// means that the query has no radius, and a radius above the maximum is reduced to it.
func TestParse_Distance_IsRadius(t *testing.T) {
	t.Parallel()

	parser := rulesParser(t)
	for query, want := range map[string]float64{
		"nurse leeds":                     0,
		"nurse within 20 miles of leeds":  20,
		"nurse 5 mile radius leeds":       5,
		"nurse 10 km from leeds":          6.21371,
		"nurse within 0 miles of leeds":   0,
		"nurse within 900 miles of leeds": MaxRadius,
	} {
		const tolerance = 0.001 // miles, for the rounding of the kilometres

		understanding := parser.Parse(query)
		require.InDelta(t, want, understanding.Radius, tolerance, query)
	}
}
