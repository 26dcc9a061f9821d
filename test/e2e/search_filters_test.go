package e2e

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// filteredListings differ in every value that a search can filter by.
var filteredListings = []object{
	{
		"title":          "Staff Nurse, Band 5, nights",
		"location":       "Leeds",
		"contractType":   "permanent",
		"employmentType": "full-time",
		"salary":         object{"min": 30000, "max": 36000},
	},
	{
		"title":          "Midwife, Band 6, day shift",
		"location":       "Leeds",
		"contractType":   "temporary",
		"employmentType": "bank",
		"specialty":      "Midwifery",
	},
	{
		"title":          "Porter",
		"location":       "Cork",
		"contractType":   "contract",
		"employmentType": "part-time",
		"salary":         object{"min": 30000, "max": 36000, "currency": "EUR"},
	},
}

// TestSearchFilters checks the filters of a search one by one: values by id or name, several
// values as alternatives, empty values as no filter, and unknown values as errors. The titles
// of results are separated by |.
func TestSearchFilters(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		employer := server.employer(t)
		for _, listing := range filteredListings {
			employer.listing(listing)
		}

		for query, want := range map[string]string{
			"contractType=permanent":               "Staff Nurse, Band 5, nights",
			"employmentType=bank":                  "Midwife, Band 6, day shift",
			"specialty=midwifery":                  "Midwife, Band 6, day shift",
			"salary_min=1&currency=EUR":            "Porter",
			"salary_min=1&currency=eur":            "Porter",
			"salary_min=1&currency=GBP":            "Staff Nurse, Band 5, nights",
			"salary_min=1&currency=":               "Porter|Staff Nurse, Band 5, nights",
			"contractType=permanent&location=Cork": "",
		} {
			t.Run("GET "+query, func(t *testing.T) {
				resp := server.guest(t).get("/api/listings?relaxed=false&sort=date&" + query).ok(200)
				require.Equal(t, want, strings.Join(titlesIn(resp, "data.listings"), "|"))
			})
		}

		for _, query := range []string{"currency=POUND", "currency=12", "contractType=forever", "employmentType=never"} {
			t.Run("GET "+query, func(t *testing.T) {
				resp := server.guest(t).get("/api/listings?"+query).fails(400, "Invalid filter parameters")
				name, _, _ := strings.Cut(query, "=")
				require.Equal(t, name, resp.text("details.field"))
			})
		}

		for filters, want := range map[string]string{
			`{"role": "midwife"}`:                             "Midwife, Band 6, day shift",
			`{"role": "Registered Nurse"}`:                    "Staff Nurse, Band 5, nights",
			`{"role": ["porter", "midwife"]}`:                 "Porter|Midwife, Band 6, day shift",
			`{"role": []}`:                                    "Porter|Midwife, Band 6, day shift|Staff Nurse, Band 5, nights",
			`{"role": null, "band": "", "shift": [""]}`:       "Porter|Midwife, Band 6, day shift|Staff Nurse, Band 5, nights",
			`{"band": "band-5"}`:                              "Staff Nurse, Band 5, nights",
			`{"band": "5"}`:                                   "Staff Nurse, Band 5, nights",
			`{"band": ["Band 5", "Band 6"]}`:                  "Midwife, Band 6, day shift|Staff Nurse, Band 5, nights",
			`{"shift": "nights"}`:                             "Staff Nurse, Band 5, nights",
			`{"shift": ["nights"], "band": "6"}`:              "",
			`{"employer": "St Brigid's Hospital"}`:            "Porter|Midwife, Band 6, day shift|Staff Nurse, Band 5, nights",
			`{"employer": ["Nowhere Trust", "Other Clinic"]}`: "",
			`{"contractType": ["permanent", "contract"]}`:     "Porter|Staff Nurse, Band 5, nights",
			`{"employmentType": ["bank", "part-time"]}`:       "Porter|Midwife, Band 6, day shift",
			`{"specialty": ["Midwifery", "Cardiology"]}`:      "Midwife, Band 6, day shift",
			`{"currency": "eur", "salaryMin": 1}`:             "Porter",
		} {
			t.Run("POST "+filters, func(t *testing.T) {
				resp := server.guest(t).
					post("/api/listings/search", `{"query": "nurse or midwife or porter", "relaxed": false, "sort": "date", "filters": `+filters+`}`).
					ok(200)
				require.Equal(t, want, strings.Join(titlesIn(resp, "data.results"), "|"))
			})
		}

		t.Run("POST with an empty value among others", func(t *testing.T) {
			body := `{"query": "nurse", "filters": {"contractType": ["permanent", ""]}}`
			server.guest(t).post("/api/listings/search", body).ok(200)
		})

		for filters, field := range map[string]string{
			`{"role": "wizard"}`:              "filters.role",
			`{"role": ["midwife", "wizard"]}`: "filters.role",
			`{"role": 7}`:                     "filters.role",
			`{"role": [7]}`:                   "filters.role",
			`{"role": {"is": "midwife"}}`:     "filters.role",
			`{"band": "band 99"}`:             "filters.band",
			`{"band": 5}`:                     "filters.band",
			`{"shift": "sometimes"}`:          "filters.shift",
			`{"currency": "POUND"}`:           "filters.currency",
			`{"currency": "12"}`:              "filters.currency",
			`{"contractType": ["forever"]}`:   "filters.contractType",
			`{"employmentType": "never"}`:     "filters.employmentType",
			// Too many values.
			`{"employer": ["` + strings.Repeat(`a", "`, 20) + `"]}`: "filters.employer",
		} {
			t.Run("POST "+filters, func(t *testing.T) {
				resp := server.guest(t).try("POST", "/api/listings/search", `{"query": "nurse", "filters": `+filters+`}`)
				require.Equal(t, field, resp.fails(400, "Invalid search query").text("details.field"))
			})
		}
	})
}
