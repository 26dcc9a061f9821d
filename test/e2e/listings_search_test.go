package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// board contains the listings for the searches, oldest first. The last two are not public: one
// is a draft, and the deadline of the other has passed.
var board = []object{
	{
		"title":        "Registered Nurse",
		"location":     "Leeds",
		"description":  "Acute medicine.",
		"contractType": "permanent",
		"salary":       object{"min": 31000, "max": 38000},
	},
	{
		"title":        "RN, nights",
		"location":     "Boston, MA",
		"description":  "Level one trauma centre. Critical care.",
		"contractType": "contract",
		"salary":       object{"min": 45, "max": 60, "currency": "USD", "period": "hour"},
	},
	{
		"title":          "Staff Nurse (A&E)",
		"location":       "Leeds General Infirmary, Leeds",
		"description":    "Busy department, Band 5.",
		"contractType":   "temporary",
		"employmentType": "bank",
		"salary":         object{"min": 20, "period": "hour"},
	},
	{
		"title":       "Ward Manager",
		"location":    "Boston, Lincolnshire",
		"description": "Leads the nurses of an orthopaedic ward.",
		"salary":      object{"min": 200, "max": 210, "period": "day"},
	},
	{
		"title":       "Consultant Cardiologist",
		"location":    "Manchester",
		"description": "Cardiology for the north.",
		"specialty":   "Cardiology",
		"salary":      object{"min": 105000, "max": 139000},
	},
	{
		"title":          "Healthcare Assistant",
		"location":       "Wakefield",
		"description":    "Looks after older people in a care home.",
		"employmentType": "part-time",
		"salary":         object{"max": 2000, "period": "month"},
	},
	{
		"title":       "General Practitioner",
		"location":    "Cork",
		"description": "Coastal surgery.",
		"salary":      object{"min": 100, "currency": "EUR", "period": "hour"},
	},
	{
		"title":       "Triage Nurse",
		"location":    "London",
		"description": "Telephone advice.",
		"remote":      true,
		"salary":      object{"min": 650, "max": 700, "period": "week"},
	},
	{
		"title":       "Physiotherapist",
		"location":    "Bradford",
		"description": "Band 6/7. Musculoskeletal outpatients in a home for older folk.",
	},
	{"title": "Porter", "location": "Reading", "description": "Moves patients between wards; a hundred per cent physical."},
	{"title": "Draft Nurse", "location": "Leeds", "description": "Not yet.", "status": "draft"},
	{"title": "Late Nurse", "location": "Leeds", "description": "No longer.", "applicationDeadline": "2020-01-01"},
}

// everyTitle contains the titles of all public listings of board, newest first, separated by |.
const everyTitle = "Porter|Physiotherapist|Triage Nurse|General Practitioner|Healthcare Assistant|Consultant Cardiologist|" +
	"Ward Manager|Staff Nurse (A&E)|RN, nights|Registered Nurse"

// boardSearches are searches of the listings of board, by what they check.
var boardSearches = map[string][]struct {
	query      string // of GET /api/listings
	wantTitles string // in their order, separated by |
}{
	"no words": {
		{query: "", wantTitles: everyTitle},
		{query: "search=%20%20", wantTitles: everyTitle},
	},
	"words: titles, synonyms and descriptions": {
		// Titles with the word are first, then titles with a synonym, then descriptions with the
		// word. Of equally relevant listings the newer one is first.
		{query: "search=nurse", wantTitles: "Triage Nurse|Staff Nurse (A&E)|Registered Nurse|RN, nights|Ward Manager"},
		{query: "search=NURSES+telephone", wantTitles: "Triage Nurse"},
		{query: "search=nurse+porter", wantTitles: ""},
	},
	"synonyms, abbreviations, stems and typos": {
		{query: "search=rn", wantTitles: "RN, nights|Staff Nurse (A&E)|Registered Nurse|Triage Nurse"},
		{query: "search=registered+nurse", wantTitles: "Registered Nurse|Staff Nurse (A&E)|RN, nights|Triage Nurse"},
		{query: "search=icu", wantTitles: "RN, nights"},
		{query: "search=hca", wantTitles: "Healthcare Assistant"},
		{query: "search=gp", wantTitles: "General Practitioner"},
		{query: "search=emergency+department", wantTitles: "Triage Nurse|Staff Nurse (A&E)|RN, nights"},
		{query: "search=A%26E", wantTitles: "Staff Nurse (A&E)|Triage Nurse|RN, nights"},
		{query: "search=pediatric", wantTitles: ""},
		{query: "search=orthopedic", wantTitles: "Ward Manager"},
		{query: "search=physio", wantTitles: "Physiotherapist"},
		{query: "search=cardiolgist", wantTitles: "Consultant Cardiologist"},
		{query: "search=phisiotherapist", wantTitles: "Physiotherapist"},
	},
	"phrases, exclusions and alternatives": {
		{query: `search="older+people"`, wantTitles: "Healthcare Assistant"},
		{query: `search="people+older"`, wantTitles: ""},
		{query: "search=nurse+-leeds", wantTitles: "Triage Nurse|RN, nights|Ward Manager"},
		{query: `search=nurse+-"acute+medicine"`, wantTitles: "Triage Nurse|Staff Nurse (A&E)|RN, nights|Ward Manager"},
		{query: "search=porter+OR+physiotherapist", wantTitles: "Porter|Physiotherapist"},
		{query: "search=porter+or+physiotherapist", wantTitles: "Porter|Physiotherapist"},
	},
	"prefixes and filler words": {
		// The last word may be a prefix; filler words do not count.
		{query: "search=cardiolo", wantTitles: "Consultant Cardiologist"},
		{query: "search=looking+for+a+porter+job", wantTitles: "Porter"},
		{query: "search=porter+vacancy+needed", wantTitles: "Porter"},
	},
	"places, bands and contract words within the text": {
		{query: "search=nurse+in+Leeds", wantTitles: "Staff Nurse (A&E)|Registered Nurse|Triage Nurse"},
		{query: "search=nurse+Boston,+Lincolnshire", wantTitles: "Triage Nurse|Ward Manager"},
		{query: "search=nurse+boston+MA", wantTitles: "RN, nights"},
		{query: "search=care+home", wantTitles: "Healthcare Assistant"},
		{query: "search=porter+in+reading", wantTitles: "Porter"},
		{query: "search=band+5", wantTitles: "Staff Nurse (A&E)"},
		{query: "search=band+6", wantTitles: "Physiotherapist"},
		{query: "search=bank+nurse", wantTitles: "Staff Nurse (A&E)"},
		{query: "search=permanent+nurse", wantTitles: "Registered Nurse"},
		{query: "search=part-time", wantTitles: "Healthcare Assistant"},
		{query: "search=remote+nurse", wantTitles: "Triage Nurse"},
	},
	"locations: nearby, in a region, in a country, or a text match": {
		{
			query:      "location=Leeds&sort=date",
			wantTitles: "Physiotherapist|Triage Nurse|Healthcare Assistant|Staff Nurse (A&E)|Registered Nurse",
		},
		{query: "location=Leeds&radius=2", wantTitles: "Staff Nurse (A&E)|Registered Nurse|Triage Nurse"},
		{query: "location=leeds&radius=45&search=consultant", wantTitles: "Consultant Cardiologist"},
		{
			query:      "location=West+Yorkshire",
			wantTitles: "Physiotherapist|Healthcare Assistant|Staff Nurse (A&E)|Registered Nurse|Triage Nurse",
		},
		{query: "location=Ireland", wantTitles: "General Practitioner"},
		{query: "location=Boston,+Lincolnshire&remote=false", wantTitles: "Ward Manager"},
		{query: "location=general+infirmary", wantTitles: "Staff Nurse (A&E)"},
		{query: "location=Nowhereville", wantTitles: ""},
	},
	"postcodes and misspelt places": {
		{query: "location=LS1+4DY&radius=5", wantTitles: "Staff Nurse (A&E)|Registered Nurse|Triage Nurse"},
		{query: "location=ls1&radius=5&remote=false", wantTitles: "Staff Nurse (A&E)|Registered Nurse"},
		{query: "location=02115&radius=5", wantTitles: "RN, nights"},
		{query: "search=nurse+near+LS1", wantTitles: "Staff Nurse (A&E)|Registered Nurse|Triage Nurse"},
		{query: "search=nurse+LS1+4DY", wantTitles: "Staff Nurse (A&E)|Registered Nurse|Triage Nurse"},
		{query: "location=Manchster&remote=false", wantTitles: "Consultant Cardiologist"},
		{query: "location=Manchster,+UK&remote=false", wantTitles: "Consultant Cardiologist"},
		{query: "location=%25", wantTitles: ""},
	},
	"values of enumerations": {
		{query: "contractType=contract", wantTitles: "RN, nights"},
		{query: "employmentType=bank", wantTitles: "Staff Nurse (A&E)"},
		{query: "specialty=cardiology", wantTitles: "Consultant Cardiologist"},
		{query: "remote=true", wantTitles: "Triage Nurse"},
		{query: "remote=false&search=nurse+leeds", wantTitles: "Staff Nurse (A&E)|Registered Nurse"},
		{query: "postedAfter=2099-01-01", wantTitles: ""},
		{query: "postedAfter=2020-01-01T00:00:00Z&search=porter", wantTitles: "Porter"},
	},
	"pay": {
		// A listing is found if its pay for a year overlaps with the range. Pay for other periods
		// is converted: £20 an hour are £39,000 a year, $60 an hour are $124,800, €100 an hour are
		// €195,000, £210 a day are £54,600, £700 a week are £36,400, and £2,000 a month are £24,000.
		{query: "salary_min=195000", wantTitles: "General Practitioner"},
		{query: "salary_min=195001", wantTitles: ""},
		{query: "salary_min=124800&salary_max=130000", wantTitles: "Consultant Cardiologist|RN, nights"},
		{query: "salary_min=124801&salary_max=130000", wantTitles: "Consultant Cardiologist"},
		{query: "salary_min=54600&salary_max=60000", wantTitles: "Ward Manager"},
		{query: "salary_min=54601&salary_max=60000", wantTitles: ""},
		{query: "salary_max=24000", wantTitles: "Healthcare Assistant"},
		{query: "salary_max=33799.99&salary_min=24000.01", wantTitles: "Registered Nurse"},
		{query: "salary_min=39000&salary_max=39000", wantTitles: "Staff Nurse (A&E)"},
		{query: "salary_min=36400&salary_max=36400", wantTitles: "Triage Nurse|Registered Nurse"},
		{
			query: "salary_min=0",
			wantTitles: "Triage Nurse|General Practitioner|Healthcare Assistant|Consultant Cardiologist|" +
				"Ward Manager|Staff Nurse (A&E)|RN, nights|Registered Nurse",
		},
	},
	"orders": {
		{
			query: "sort=salary&contractType=&remote=false",
			wantTitles: "General Practitioner|Consultant Cardiologist|RN, nights|Ward Manager|Staff Nurse (A&E)|" +
				"Registered Nurse|Healthcare Assistant|Porter|Physiotherapist",
		},
		{query: "search=nurse&sort=date", wantTitles: "Triage Nurse|Staff Nurse (A&E)|RN, nights|Registered Nurse|Ward Manager"},
		{
			query:      "location=Leeds&radius=50&sort=distance&remote=false",
			wantTitles: "Staff Nurse (A&E)|Registered Nurse|Healthcare Assistant|Physiotherapist|Consultant Cardiologist",
		},
		{
			query:      "search=nurse&sort=distance",
			wantTitles: "Triage Nurse|Staff Nurse (A&E)|Registered Nurse|RN, nights|Ward Manager",
		},
	},
}

// TestSearch checks which of the listings of board a search finds, and in which order. The
// searches exclude relaxed results, which match only a part of a query.
func TestSearch(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		employer, guest := server.employer(t), server.guest(t)
		require.Len(t, employer.post("/api/employers/jobs/batch", object{"jobs": board}).ok(200).list("data.created"), len(board))

		for group, searches := range boardSearches {
			for _, search := range searches {
				t.Run(group+"/"+search.query, func(t *testing.T) {
					found := server.guest(t).try("GET", "/api/listings?relaxed=false&"+search.query, nil).ok(200)
					require.Equal(t, search.wantTitles, strings.Join(titlesIn(found, "data.listings"), "|"))
					require.Len(t, found.list("data.listings"), found.integer("data.pagination.total"))
				})
			}
		}

		for _, tc := range []struct {
			body       string // of POST /api/listings/search
			wantTitles string
		}{
			{body: `{"query": "nurse"}`, wantTitles: "Triage Nurse|Staff Nurse (A&E)|Registered Nurse|RN, nights|Ward Manager"},
			{
				body:       `{"query": "nurse", "sort": "salary"}`,
				wantTitles: "RN, nights|Staff Nurse (A&E)|Registered Nurse|Triage Nurse|Ward Manager",
			},
			{body: `{"query": "nurse", "filters": {"salaryMin": 124000}}`, wantTitles: "RN, nights"},
			{body: `{"query": "nurse", "filters": {"salary_min": 124000}}`, wantTitles: "RN, nights"},
			{
				body:       `{"query": "nurse", "filters": {"salaryMax": 34000, "salaryMin": null}}`,
				wantTitles: "Triage Nurse|Registered Nurse",
			},
			{
				body:       `{"query": "nurse", "filters": {"location": "Leeds", "radius": 5, "remote": false}}`,
				wantTitles: "Staff Nurse (A&E)|Registered Nurse",
			},
			{
				body:       `{"query": "nurse", "filters": {"contractType": "temporary", "employmentType": "bank"}}`,
				wantTitles: "Staff Nurse (A&E)",
			},
			{
				body:       `{"query": "cardiologist", "filters": {"specialty": "Cardiology", "postedAfter": "2020-01-01"}}`,
				wantTitles: "Consultant Cardiologist",
			},
			{
				body:       `{"query": "nurse", "filters": {"location": "Leeds"}, "sort": "distance"}`,
				wantTitles: "Staff Nurse (A&E)|Registered Nurse|Triage Nurse",
			},
			{
				body:       `{"query": "nurse", "filters": null, "sort": null, "page": 2, "limit": 3}`,
				wantTitles: "RN, nights|Ward Manager",
			},
			{
				body:       `{"query": "-nurse -rn"}`,
				wantTitles: "Porter|Physiotherapist|General Practitioner|Healthcare Assistant|Consultant Cardiologist",
			},
		} {
			t.Run(tc.body, func(t *testing.T) {
				guest.t = t
				found := guest.try("POST", "/api/listings/search", tc.body).ok(200)
				require.Equal(t, tc.wantTitles, strings.Join(titlesIn(found, "data.results"), "|"))
			})
		}

		// The operators of SQL full-text search, LIKE and regular expressions are not part of the
		// search language: no text is an error, and none has a different number of results in
		// another order.
		t.Run("SQL and LIKE metacharacters", func(t *testing.T) {
			guest.t = t
			for _, text := range []string{
				`"`, `""`, `"""`, `"nurse`, `nurse"`, `*`, `nurse*`, `nurse *`, `-`, `--`, `- nurse`, `-"`, `-""`, `OR`,
				`OR OR`, `nurse OR`, `OR nurse`, `AND`, `NOT`, `nurse AND porter`, `NOT nurse`, `NEAR`,
				`NEAR(nurse porter, 5)`, `nurse NEAR/3 porter`, `title:nurse`, `{title}: nurse`, `^nurse`, `nurse + porter`,
				`nurse & porter | !leeds`, `<->`, `nurse <-> porter`, `:*`, `nurse:*`, `'`, `''`, `nurse'--`,
				`'; DROP TABLE listings; --`, `%`, `_`, `100%`, `n_rse`, `\`, `\\`, `\'`, `$1`, `?`, `@name`, `:name`, `(`,
				`)`, `((((`, `nurse)`, `;`, "\t\n", `“nurse”`, `«nurse»`, `„`, `é`, `né`, `ﬀ`, `ﬃ`, `ǆ`, `İstanbul`, `ß`,
				`SS`, `🚑`, `🚑 nurse`, `看護師`, `نيورس`, `ν`, "a\u0301", "\u200b", "\ufeff", "\u202enurse", "\ufffd", "\u2028",
				`½`, `①`, `²`, `١٢`, `nurse\u0000`, `a&b&c&d`, `A & E`, `R.N.`, `.`, `...`, `C++`, `&`, `&&`, `|`, `||`,
				strings.Repeat("a ", 100), strings.Repeat("-a ", 5), strings.Repeat("a OR ", 40), strings.Repeat(`"a" `, 3),
				strings.Repeat("(", 200), strings.Repeat("nurse ", 33), strings.Repeat("x", 200), strings.Repeat("é", 200),
				strings.Repeat("9", 200), "band", "band band", "band 5 band 6 band 7/8", "band 99999999999999999999", "in",
				"in in in", "near ,", ",,,,", "leeds leeds leeds", "in leeds near york at hull", "nurse, , leeds",
				`nurse -leeds "care home" OR porter* ~1 ^2`,
			} {
				// The text is valid as a search, as a place and as a specialty. The order does not change the number of results.
				found := guest.send("GET", "/api/listings?search="+escapeQuery(text), nil)
				require.Equal(t, 200, found.status, "%q: %s", text, found.raw)
				guest.send("GET", "/api/listings?location="+escapeQuery(text), nil).ok(200)
				guest.send("GET", "/api/listings?specialty="+escapeQuery(text), nil).ok(200)

				for _, sort := range []string{"date", "salary", "distance"} {
					sorted := guest.send("GET", "/api/listings?sort="+sort+"&search="+escapeQuery(text), nil).ok(200)
					require.Equal(t, found.at("data.pagination.total"), sorted.at("data.pagination.total"), "%q by %s", text, sort)
				}
			}
		})

		t.Run("sort by the distance from a location", func(t *testing.T) {
			inLeeds := server.guest(t).get("/api/listings?search=nurse+in+leeds&sort=distance&remote=false").ok(200)
			require.Less(t, inLeeds.number("data.listings.0.distanceMiles"), 10.)

			// Without a place, results have no distance.
			anywhere := server.guest(t).get("/api/listings?search=nurse")
			require.NotContains(t, string(anywhere.raw), "distanceMiles")
		})

		t.Run("remote work follows the jobs on site", func(t *testing.T) {
			employer := server.employer(t)
			onSite := employer.listing(object{"title": "Chiropractor", "location": "Leeds"})

			remote := employer.listing(object{"title": "Chiropractor", "location": "Leeds", "remote": true})

			for _, query := range []string{"search=chiropractor&location=Leeds", "search=chiropractor&location=Leeds&sort=distance"} {
				found := server.guest(t).get("/api/listings?" + query).ok(200)
				require.Equal(t, onSite, found.text("data.listings.0.id"), query)
				require.Equal(t, remote, found.text("data.listings.1.id"), query)
			}
		})
	})
}

// escapeQuery percent-encodes every byte of a value, so that the server receives invalid UTF-8
// and control characters unchanged.
func escapeQuery(value string) string {
	var escaped strings.Builder
	for i := range len(value) {
		fmt.Fprintf(&escaped, "%%%02x", value[i])
	}

	return escaped.String()
}
