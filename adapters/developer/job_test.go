package developer

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/modules/identity"
	"github.com/locumhq/locum/modules/listings"
)

// updatedAt is the time of the listings of the tests.
var updatedAt = time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)

// TestViewJob_NoValues_HasAllMembers checks that a job has all members in every response, with
// null for missing values, as the schema promises to generated clients.
func TestViewJob_NoValues_HasAllMembers(t *testing.T) {
	t.Parallel()

	body, err := json.Marshal(
		ViewJob(
			listings.Listing{
				ID:             "1",
				OrganizationID: "2",
				Company:        "St Mary's",
				Content:        listings.Content{Title: "Nurse", Description: "d"},
				Status:         listings.Closed,
				UpdatedAt:      updatedAt,
			},
			identity.Organization{},
			"https://x.example",
		),
	)
	require.NoError(t, err)
	require.JSONEq(t, `{
		"id": "1",
		"title": "Nurse",
		"description": "d",
		"company": {"id": "2", "name": "St Mary's", "website": null, "logo": null},
		"location": {"text": null, "city": null, "region": null, "country": null, "latitude": null, "longitude": null},
		"remote": false,
		"specialty": null,
		"employment_type": null,
		"contract_type": null,
		"salary": null,
		"requirements": [],
		"benefits": [],
		"questions": [],
		"status": "closed",
		"application_deadline": null,
		"posted_at": null,
		"updated_at": "2026-11-20T09:00:00Z",
		"url": "https://x.example/jobs/1"
	}`, string(body))
}

// TestViewJob_AllValues_AreShown checks the members that have another form than in a listing: pay is in
// whole units and not in cents, and the town of a location is the city.
func TestViewJob_AllValues_AreShown(t *testing.T) {
	t.Parallel()

	minCents := int64(3_550_000)
	full := ViewJob(
		listings.Listing{
			ID:       "1",
			PostedAt: &updatedAt,
			Content: listings.Content{
				Location:  "Ward 7, Leeds",
				Specialty: "ICU",
				Deadline:  &updatedAt,
				Salary: &listings.Salary{
					Min:      &minCents,
					Currency: "GBP",
					Period:   "year",
				},
				Questions: []listings.Question{{ID: "q", Text: "Why?", Required: true}},
			},
			Place: &listings.Place{
				Kind:    listings.Town,
				Name:    "Leeds",
				Region:  "West Yorkshire",
				Country: "GB",
				Lat:     53.8,
				Lon:     -1.5,
			},
		},
		identity.Organization{Website: "https://w.example"},
		"",
	)
	require.Equal(t, "Leeds", *full.Location.City)
	require.Equal(t, "Ward 7, Leeds", *full.Location.Text)
	require.InDelta(t, 35500.0, *full.Salary.Min, 0)
	require.Nil(t, full.Salary.Max)
	require.Equal(t, "https://w.example", *full.Company.Website)
	require.Equal(t, "Why?", full.Questions[0].Text)
}

// TestViewJob_Region_IsNoCity checks that a region is not shown as a city.
func TestViewJob_Region_IsNoCity(t *testing.T) {
	t.Parallel()

	region := ViewJob(
		listings.Listing{Place: &listings.Place{Kind: listings.Region, Name: "Yorkshire", Country: "GB"}},
		identity.Organization{},
		"",
	)
	require.Nil(t, region.Location.City)
}
