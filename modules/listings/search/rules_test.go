package search

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// rulesVocabulary has for each rule of TestParse_Rules and TestAnnotate_Rules the concepts that it
// needs, such as two roles outside of care and grades that imply a doctor.
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

// companies finds employers by name.
type companies map[string]bool

func (c companies) HasEmployer(name string) bool { return c[name] }

// rulesParser returns a parser of rulesVocabulary with places, words of adverts and employers. The
// populations decide between towns of one name; "heath" and "edinburgh" are words of adverts, so that
// they are not simply misspelt.
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

// TestParse_Rules checks one rule of the parser with each query. The notation of want is that of
// formatTerms. Most queries end in a space, so that their last word is not completed.
func TestParse_Rules(t *testing.T) {
	t.Parallel()
	parser := rulesParser(t)
	for _, c := range []struct{ rule, query, want string }{
		{"a grade implies its role", "st3 ", "grade:st3, role:doctor"},
		{"a grade beside a role does not", "consultant urologist", "grade:consultant, role:doctor, specialty:urology"},
		{"words that were divided", "radio grapher", "role:radiographer"},
		{"words divided by a hyphen", "radio-grapher", "role:radiographer"},
		{"a known word one edit from its phrase", "heath visitor ", "role:health-visitor"},
		{"a place is not corrected to a phrase", "nurse in heath", "role:nurse, place:Heath GB"},
		{"not excludes", "nurse not community ", "role:nurse, -setting:community"},
		{"without excludes all alternatives", "nurse without nights or weekends ", "role:nurse, -shift:nights, -shift:weekends"},
		{"the role before a preposition is meant", "secretary to the director ", "role:secretary, word:director"},
		{"a role that implies a specialty describes", "receptionist at a dentist ", "role:receptionist, specialty:dentistry"},
		{"a broad role after one outside of care describes", "recruitment consultant nurses ", "role:recruiter, word:nurse"},
		{"the role before a leader is the main one", "health visitor team leader ", "role:health-visitor, word:manager"},
		{"few concepts before many", "neonatal intensive care nurse ", "specialty:neonatal, role:nurse"},
		{"a slash between roles is OR", "nurse/radiographer ", "role:nurse|radiographer"},
		// The plan requires urology of the doctors alone; the notation shows only the roles.
		{"OR with a composed role", "urologist or nurse ", "role:doctor|nurse"},
		{
			"OR with a composed role shares the specialty", "intensive care nurse or urology ",
			"role:nurse, specialty:intensive-care|urology",
		},
		{"small numbers are ignored", "nurse 6 ", "role:nurse"},
		// Edinburg is a town in Texas, but adverts name only Edinburgh.
		{"a namesake without adverts", "nurse in edinburg ", "role:nurse, place:Edinburgh GB"},
		// The larger Halifax is in Canada.
		{"a town abroad with a namesake at home", "nurse halifax ", "role:nurse, place:Halifax GB"},
		{"another form of a filler", "nurse searching ", "role:nurse"},
		{"a short word is not corrected in its first letter", "nurse lights ", "role:nurse, word:lights"},
		{"the number of a grade is no pay", "nurse st3 and cardiology ", "role:nurse, grade:st3, specialty:cardiology"},
		{"an unfinished place", "nurse in bright", "role:nurse, place:Brighton GB"},
		{"an unfinished specialty beside a role", "nurse cardi", "role:nurse, specialty*:cardiology"},
		{"a filler is excluded as a word", "nurse -job ", "role:nurse, -word:job"},
		{"an unfinished word in the other spelling", "nurse cardiac anae", "role:nurse, specialty*:cardiology"},
		// Radium is a place in adverts, but radi begins a word of the vocabulary.
		{"an unfinished specialty is no place", "nurse radi", "role:nurse, word*:radi"},
		{"a large town whose name is a word", "nurse rugby ", "role:nurse, place:Rugby GB"},
		{"an employer by the beginning of its name", "nurse mersey heart", "role:nurse, employer:mersey heart"},
		{"an employer of one word", "bupa nurse ", "employer:bupa, role:nurse"},
		{"a place that begins a company's name", "nurse new anglia ", "role:nurse, place:New Anglia GB"},
		{"an employer longer than the place", "nurse new anglia care ", "role:nurse, employer:new anglia care"},
		{"an unknown employer", "nurse acme ", "role:nurse, word:acme"},
		{"a role outside of care before one in care", "receptionist dentist ", "role:receptionist, specialty:dentistry"},
		{"the grade of another profession", "radiographer registrar ", "role:radiographer, grade:registrar"},
		{"a distance", "nurse within 20 miles of leeds ", "role:nurse, place:Leeds GB"},
		{"days in numbers are no day shift", "nurse 4 days ", "role:nurse"},
		{"a time of day", "nurse 7am ", "role:nurse"},
		{"a share of full time", "nurse 0.6wte ", "role:nurse, hours:part-time"},
		{"a part of a town", "nurse west leeds ", "role:nurse, place:Leeds GB"},
		// The gazetteer takes "nurse" for a suburb of Leeds.
		{"no suburb is known before the town", "nurse, leeds", "role:nurse, place:Leeds GB"},
		// Locum is a word of British adverts, 1099 a tax form in the United States. Without such a word,
		// the town in the United States must be more than three times as large.
		{"a namesake in the country of the words", "locum nurse lincoln ", "word:locum, role:nurse, place:Lincoln GB"},
		{"a namesake in the other country", "nurse 1099 lincoln ", "role:nurse, word:1099, place:Lincoln US"},
		{"a namesake at home", "nurse lincoln ", "role:nurse, place:Lincoln GB"},
		{"a much larger namesake", "nurse boston ", "role:nurse, place:Boston US"},
		{"a word of a name is not corrected", "nurse isle of wight ", "role:nurse, place:Isle of Wight GB"},
		{"what is excluded ends at a comma", "nurse not cardiology, leeds ", "role:nurse, -specialty:cardiology, place:Leeds GB"},
		{"exclusion ends at a comma", "nurse not looking for a job, leeds ", "role:nurse, place:Leeds GB"},
		{"a negation in a filler", "nurse no matter leeds ", "role:nurse, place:Leeds GB"},
		{"outside excludes a place", "nurse outside leeds ", "role:nurse, -place:Leeds GB"},
		// March is also a town in Cambridgeshire.
		{"a month after a marker", "nurse in march ", "role:nurse, word:march"},
		// Van is a city in Turkey.
		{"a town abroad whose name is a word", "nurse van ", "role:nurse, word:van"},
		{"programmed activities are no pay", "nurse 10 pa ", "role:nurse"},
		// 60 an hour for the 1,950 hours of a full-time year.
		{"pay by the hour in one word", "nurse 60ph ", "role:nurse, pay:117000-0 "},
		{"a state at the end", "nurse tx", "role:nurse, place:Texas US"},
		{"a short abbreviation", "mgr ", "role:manager"},
		// A reporting radiologist is a doctor in radiology: two conditions, which one unfinished word
		// cannot be.
		{"an unfinished name is no doctor of a specialty", "reporting rad", "role*:radiographer"},
		{"a stop word that continues a name", "occupational the", "role*:occupational-therapist"},
	} {
		t.Run(c.rule, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.want, formatTerms(parser.Parse(c.query)))
		})
	}
}

// TestParse_CorrectedPlace_IsReported checks that the response names the place to which a
// misspelt name was corrected.
func TestParse_CorrectedPlace_IsReported(t *testing.T) {
	t.Parallel()
	require.Equal(t, []Correction{{From: "edinburg", To: "Edinburgh"}}, rulesParser(t).Parse("nurse in edinburg ").Corrections)
}

// TestEmployerKeys checks the keys of companies: the name, and its beginnings from two words on, without
// "the". A query may leave out the end of a long name.
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

// TestAnnotate_Rules checks the keys by which an advert is found. "role.head:x" is a main role,
// "role.second:x" a second choice, "role.title:x" a role that the title only mentions, and "stated:x"
// means that the advert states something about slot x, so that other values contradict it.
func TestAnnotate_Rules(t *testing.T) {
	t.Parallel()
	vocabulary, err := Parse(
		Source{
			Name: "test",
			Text: rulesVocabulary + "\ngrade trainee-grade : trainee; in training\nsetting nhs : nhs trust\nexperience newly-qualified : newly qualified\n",
		},
	)
	require.NoError(t, err)
	for _, c := range []struct {
		rule   string
		advert Advert
		want   string
	}{
		{
			"a question is no head",
			Advert{Title: "Were you a nurse? Become a recruitment consultant"},
			"role.head:non-clinical, role.head:recruiter, role.title:nurse",
		},
		{"a question alone is", Advert{Title: "Are you a nurse?"}, "role.head:nurse"},
		{
			"a profession that leads a team",
			Advert{Title: "Health Visitor Team Leader"},
			"role.head:health-visitor, role.head:nurse, role.second:manager",
		},
		{
			"a trainee is a second choice",
			Advert{Title: "Trainee Radiographer"},
			"grade:trainee-grade, role.second:radiographer, stated:grade",
		},
		{
			"staff to be taught are no applicants",
			Advert{Title: "Radiographer", Description: "You will teach newly qualified staff and doctors in training."},
			"role.head:radiographer",
		},
		{
			"welcome applicants are",
			Advert{Title: "Radiographer", Description: "Newly qualified applicants are welcome."},
			"experience:newly-qualified, role.head:radiographer, stated:experience",
		},
		{
			"the company names the setting",
			Advert{Title: "Porter", Company: "Mersey NHS Trust"},
			"setting.field:nhs, setting:nhs, stated:setting",
		},
	} {
		t.Run(c.rule, func(t *testing.T) {
			t.Parallel()
			a := vocabulary.Annotate(&c.advert)
			require.Equal(t, c.want, strings.Join(a.Keys(), ", "))
		})
	}
}

// TestParse_ORBetweenTwoRoles_IsNoOperatingRoom checks with the embedded vocabulary that OR between two
// names of one kind is the operator. At the beginning of a query it is the operating room, a name of
// the specialty theatres.
func TestParse_ORBetweenTwoRoles_IsNoOperatingRoom(t *testing.T) {
	t.Parallel()
	v, err := Load()
	require.NoError(t, err)
	p := Parser{Vocabulary: v}
	require.Equal(t, "role:midwife|nurse", formatTerms(p.Parse("midwife OR nurse ")))
	require.Equal(t, "role:nurse, specialty:theatres", formatTerms(p.Parse("OR nurse ")))
}

// TestParse_Distance_IsRadius checks the radius in miles that a query contains: kilometres are
// converted, 0 is no radius, and a longer one is reduced to the maximum.
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
		u := parser.Parse(query)
		require.InDelta(t, want, u.Radius, .001, query)
	}
}
