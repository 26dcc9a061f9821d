package relevance

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/adapters/gazetteer"
	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/modules/listings"
	"github.com/locumhq/locum/test/kit"
	"github.com/locumhq/locum/test/kit/stores"
)

// TestAlerts_EveryQuery_MatchesWhatSearchFinds saves every query and compares its
// matches among all adverts with the exact results of the search.
func TestAlerts_EveryQuery_MatchesWhatSearchFinds(t *testing.T) {
	board, err := readBoard()
	require.NoError(t, err)

	queries, err := readQueries(board)
	require.NoError(t, err)

	companies := organizations{}
	svc := newListings(t, companies)

	var ids []string
	for _, employer := range board.employers {
		id := stores.NewID()
		companies[id] = employer.name

		adverts := slices.DeleteFunc(slices.Clone(board.adverts), func(a *advert) bool { return a.employer != employer })
		for part := range slices.Chunk(adverts, listings.MaxBatch) {
			ids = append(ids, create(t, svc, id, part)...)
		}
	}

	require.Len(t, ids, len(board.adverts))

	gathered, err := svc.Gather(t.Context(), ids)
	require.NoError(t, err)

	matches, corrected := 0, 0

	var texts []string
	for _, query := range queries {
		texts = append(texts, query.text)
	}

	for _, employer := range board.employers {
		// Names of employers, beside a misspelt role too, depend on the index that a saved search lacks.
		texts = append(texts, "nurse "+employer.name, employer.name+" physotherapist")
	}

	for _, text := range texts {
		for _, text := range beginnings(text) {
			want, corrections := findAll(t, svc, text)
			corrected += corrections
			resolved, err := svc.Resolve(t.Context(), text)
			require.NoError(t, err)

			positions, err := gathered.Matching(t.Context(), listings.FindKey{Text: resolved})
			require.NoError(t, err)

			got := make([]string, len(positions))
			for i, position := range positions {
				got[i] = gathered.Listings()[position].ID
			}

			require.ElementsMatch(t, want, got, "%q resolved as %q", text, resolved)

			matches += len(got)
		}
	}

	require.NotZero(t, corrected)
	require.Greater(t, matches, len(texts))
	t.Logf("%d queries, %d corrections, %d adverts, %d matches", len(texts), corrected, len(ids), matches)
}

// beginnings returns the text, and the three shorter texts that a user has typed before it.
func beginnings(text string) (out []string) {
	runes := []rune(text)
	for n := len(runes); n >= max(1, len(runes)-3); n-- {
		out = append(out, strings.TrimSpace(string(runes[:n])))
	}

	return out
}

// seekers implements listings.Seekers without any home location.
type seekers struct{}

func (seekers) HomeLocation(context.Context, string) (string, error) { return "", nil }

// organizations implements listings.Organizations. It maps ids to names.
type organizations map[string]string

func (organizations) HoldsJobs(context.Context, string) (bool, bool, error) { return false, false, nil }

func (o organizations) CompanyName(_ context.Context, id string) (string, error) { return o[id], nil }

// newListings returns a service with a database, in which the names of companies are those of the map.
func newListings(t *testing.T, companies organizations) *listings.Service {
	clk := kit.NewClock()
	storage := stores.SQLite(t, clk)

	return listings.New(listings.Deps{
		Tx:            storage.Identity.Tx,
		Events:        storage.Identity.Events,
		Audit:         storage.Identity.Audit,
		Clock:         clk,
		NewID:         stores.NewID,
		Listings:      storage.Listings.Listings,
		Public:        storage.Listings.Public,
		Cases:         storage.Listings.Cases,
		Views:         storage.Listings.Views,
		Engine:        stores.Engine(t, storage),
		NewBatch:      stores.NewBatch,
		Gazetteer:     gazetteer.New(),
		Organizations: companies,
		Seekers:       seekers{},
	})
}

// create posts adverts of an organization and returns their ids.
func create(t *testing.T, svc *listings.Service, organizationID string, adverts []*advert) (ids []string) {
	t.Helper()

	items := make([]listings.BatchItem[listings.CreateInput], len(adverts))
	for i, advert := range adverts {
		items[i].Input = advert.input()
	}

	created, err := svc.CreateBatch(t.Context(),
		auth.Actor{OrganizationID: organizationID, Permissions: []auth.Permission{auth.Manage}}, items)
	require.NoError(t, err)

	for _, result := range created {
		require.NoError(t, result.Err)

		ids = append(ids, result.Listing.ID)
	}

	return ids
}

// input returns the advert as the input of module listings.
func (a *advert) input() listings.CreateInput {
	remote := a.attributes.one("remote") == "yes"
	contract, hours := a.attributes.one("contract"), a.attributes.one("hours")

	input := listings.CreateInput{Title: a.title, Description: a.body, Details: listings.Details{
		Department: &a.department, Specialty: &a.specialty, Location: &a.location, Remote: &remote,
		ContractType: &contract, EmploymentType: &hours, Requirements: &a.requirements,
	}}
	if a.pay.max > 0 {
		input.Salary = &listings.SalaryInput{Min: &a.pay.min, Max: &a.pay.max, Currency: &a.pay.currency, Period: &a.pay.period}
	}

	return input
}

// findAll returns the ids of all exact results and the number of corrections.
func findAll(t *testing.T, svc *listings.Service, text string) (ids []string, corrections int) {
	t.Helper()

	for cursor := ""; ; {
		found, err := svc.Find(t.Context(), auth.Actor{},
			listings.FindInput{Text: text, Exact: true, Page: page.Request{Number: 1, Size: 500, Cursor: cursor}})
		require.NoError(t, err, text)

		for _, hit := range found.Items {
			ids = append(ids, hit.Listing.ID)
		}

		cursor = found.NextCursor
		if cursor == "" {
			return ids, len(found.Corrections)
		}
	}
}
