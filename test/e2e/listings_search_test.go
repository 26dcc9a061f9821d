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

// TestSearch checks which of the listings of board a search finds, and in which order. The
// searches exclude relaxed results, which match only a part of a query.
func TestSearch(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		employer, guest := server.employer(t), server.guest(t)
		require.Len(t, employer.post("/api/employers/jobs/batch", object{"jobs": board}).ok(200).list("data.created"), len(board))

		const everyTitle = "Porter|Physiotherapist|Triage Nurse|General Practitioner|Healthcare Assistant|Consultant Cardiologist|" +
			"Ward Manager|Staff Nurse (A&E)|RN, nights|Registered Nurse" // newest first

		for _, tc := range []struct {
			query      string // of GET /api/listings
			wantTitles string // in their order, separated by |
		}{
			{"", everyTitle},
			{"search=%20%20", everyTitle},
			// Titles with the word are first, then titles with a synonym, then descriptions with the
			// word. Of equally relevant listings the newer one is first.
			{"search=nurse", "Triage Nurse|Staff Nurse (A&E)|Registered Nurse|RN, nights|Ward Manager"},
			{"search=NURSES+telephone", "Triage Nurse"},
			{"search=nurse+porter", ""},
			// Synonyms, abbreviations, stems and typos.
			{"search=rn", "RN, nights|Staff Nurse (A&E)|Registered Nurse|Triage Nurse"},
			{"search=registered+nurse", "Registered Nurse|Staff Nurse (A&E)|RN, nights|Triage Nurse"},
			{"search=icu", "RN, nights"},
			{"search=hca", "Healthcare Assistant"},
			{"search=gp", "General Practitioner"},
			{"search=emergency+department", "Triage Nurse|Staff Nurse (A&E)|RN, nights"},
			{"search=A%26E", "Staff Nurse (A&E)|Triage Nurse|RN, nights"},
			{"search=pediatric", ""},
			{"search=orthopedic", "Ward Manager"},
			{"search=physio", "Physiotherapist"},
			{"search=cardiolgist", "Consultant Cardiologist"},
			{"search=phisiotherapist", "Physiotherapist"},
			// Phrases, exclusions, alternatives.
			{`search="older+people"`, "Healthcare Assistant"},
			{`search="people+older"`, ""},
			{"search=nurse+-leeds", "Triage Nurse|RN, nights|Ward Manager"},
			{`search=nurse+-"acute+medicine"`, "Triage Nurse|Staff Nurse (A&E)|RN, nights|Ward Manager"},
			{"search=porter+OR+physiotherapist", "Porter|Physiotherapist"},
			{"search=porter+or+physiotherapist", "Porter|Physiotherapist"},
			// The last word may be a prefix; filler words do not count.
			{"search=cardiolo", "Consultant Cardiologist"},
			{"search=looking+for+a+porter+job", "Porter"},
			{"search=porter+vacancy+needed", "Porter"},
			// Places, bands and contract words within the text.
			{"search=nurse+in+Leeds", "Staff Nurse (A&E)|Registered Nurse|Triage Nurse"},
			{"search=nurse+Boston,+Lincolnshire", "Triage Nurse|Ward Manager"},
			{"search=nurse+boston+MA", "RN, nights"},
			{"search=care+home", "Healthcare Assistant"},
			{"search=porter+in+reading", "Porter"},
			{"search=band+5", "Staff Nurse (A&E)"},
			{"search=band+6", "Physiotherapist"},
			{"search=bank+nurse", "Staff Nurse (A&E)"},
			{"search=permanent+nurse", "Registered Nurse"},
			{"search=part-time", "Healthcare Assistant"},
			{"search=remote+nurse", "Triage Nurse"},
			// Locations: nearby, in a region, in a country, or a text match.
			{"location=Leeds&sort=date", "Physiotherapist|Triage Nurse|Healthcare Assistant|Staff Nurse (A&E)|Registered Nurse"},
			{"location=Leeds&radius=2", "Staff Nurse (A&E)|Registered Nurse|Triage Nurse"},
			{"location=leeds&radius=45&search=consultant", "Consultant Cardiologist"},
			{"location=West+Yorkshire", "Physiotherapist|Healthcare Assistant|Staff Nurse (A&E)|Registered Nurse|Triage Nurse"},
			{"location=Ireland", "General Practitioner"},
			{"location=Boston,+Lincolnshire&remote=false", "Ward Manager"},
			{"location=general+infirmary", "Staff Nurse (A&E)"},
			{"location=Nowhereville", ""},
			// Postcodes, and misspelt places.
			{"location=LS1+4DY&radius=5", "Staff Nurse (A&E)|Registered Nurse|Triage Nurse"},
			{"location=ls1&radius=5&remote=false", "Staff Nurse (A&E)|Registered Nurse"},
			{"location=02115&radius=5", "RN, nights"},
			{"search=nurse+near+LS1", "Staff Nurse (A&E)|Registered Nurse|Triage Nurse"},
			{"search=nurse+LS1+4DY", "Staff Nurse (A&E)|Registered Nurse|Triage Nurse"},
			{"location=Manchster&remote=false", "Consultant Cardiologist"},
			{"location=Manchster,+UK&remote=false", "Consultant Cardiologist"},
			{"location=%25", ""},
			// Values of enumerations.
			{"contractType=contract", "RN, nights"},
			{"employmentType=bank", "Staff Nurse (A&E)"},
			{"specialty=cardiology", "Consultant Cardiologist"},
			{"remote=true", "Triage Nurse"},
			{"remote=false&search=nurse+leeds", "Staff Nurse (A&E)|Registered Nurse"},
			{"postedAfter=2099-01-01", ""},
			{"postedAfter=2020-01-01T00:00:00Z&search=porter", "Porter"},
			// A listing is found if its pay for a year overlaps with the range. Pay for other periods
			// is converted: £20 an hour are £39,000 a year, $60 an hour are $124,800, €100 an hour are
			// €195,000, £210 a day are £54,600, £700 a week are £36,400, and £2,000 a month are £24,000.
			{"salary_min=195000", "General Practitioner"},
			{"salary_min=195001", ""},
			{"salary_min=124800&salary_max=130000", "Consultant Cardiologist|RN, nights"},
			{"salary_min=124801&salary_max=130000", "Consultant Cardiologist"},
			{"salary_min=54600&salary_max=60000", "Ward Manager"},
			{"salary_min=54601&salary_max=60000", ""},
			{"salary_max=24000", "Healthcare Assistant"},
			{"salary_max=33799.99&salary_min=24000.01", "Registered Nurse"},
			{"salary_min=39000&salary_max=39000", "Staff Nurse (A&E)"},
			{"salary_min=36400&salary_max=36400", "Triage Nurse|Registered Nurse"},
			{
				"salary_min=0",
				"Triage Nurse|General Practitioner|Healthcare Assistant|Consultant Cardiologist|" +
					"Ward Manager|Staff Nurse (A&E)|RN, nights|Registered Nurse",
			},
			// Orders.
			{
				"sort=salary&contractType=&remote=false",
				"General Practitioner|Consultant Cardiologist|RN, nights|Ward Manager|Staff Nurse (A&E)|" +
					"Registered Nurse|Healthcare Assistant|Porter|Physiotherapist",
			},
			{"search=nurse&sort=date", "Triage Nurse|Staff Nurse (A&E)|RN, nights|Registered Nurse|Ward Manager"},
			{
				"location=Leeds&radius=50&sort=distance&remote=false",
				"Staff Nurse (A&E)|Registered Nurse|Healthcare Assistant|Physiotherapist|Consultant Cardiologist",
			},
			{"search=nurse&sort=distance", "Triage Nurse|Staff Nurse (A&E)|Registered Nurse|RN, nights|Ward Manager"},
		} {
			t.Run(tc.query, func(t *testing.T) {
				found := server.guest(t).try("GET", "/api/listings?relaxed=false&"+tc.query, nil).ok(200)
				require.Equal(t, tc.wantTitles, strings.Join(titlesIn(found, "data.listings"), "|"))
				require.Len(t, found.list("data.listings"), found.integer("data.pagination.total"))
			})
		}

		for _, tc := range []struct {
			body       string // of POST /api/listings/search
			wantTitles string
		}{
			{`{"query": "nurse"}`, "Triage Nurse|Staff Nurse (A&E)|Registered Nurse|RN, nights|Ward Manager"},
			{`{"query": "nurse", "sort": "salary"}`, "RN, nights|Staff Nurse (A&E)|Registered Nurse|Triage Nurse|Ward Manager"},
			{`{"query": "nurse", "filters": {"salaryMin": 124000}}`, "RN, nights"},
			{`{"query": "nurse", "filters": {"salary_min": 124000}}`, "RN, nights"},
			{`{"query": "nurse", "filters": {"salaryMax": 34000, "salaryMin": null}}`, "Triage Nurse|Registered Nurse"},
			{`{"query": "nurse", "filters": {"location": "Leeds", "radius": 5, "remote": false}}`, "Staff Nurse (A&E)|Registered Nurse"},
			{`{"query": "nurse", "filters": {"contractType": "temporary", "employmentType": "bank"}}`, "Staff Nurse (A&E)"},
			{`{"query": "cardiologist", "filters": {"specialty": "Cardiology", "postedAfter": "2020-01-01"}}`, "Consultant Cardiologist"},
			{`{"query": "nurse", "filters": {"location": "Leeds"}, "sort": "distance"}`, "Staff Nurse (A&E)|Registered Nurse|Triage Nurse"},
			{`{"query": "nurse", "filters": null, "sort": null, "page": 2, "limit": 3}`, "RN, nights|Ward Manager"},
			{`{"query": "-nurse -rn"}`, "Porter|Physiotherapist|General Practitioner|Healthcare Assistant|Consultant Cardiologist"},
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
