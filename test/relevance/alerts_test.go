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

// TestAlerts_EveryQuery_MatchesWhatSearchFinds checks that an alert has the same jobs as the search. An alert is a saved
// search, and the service matches new jobs with it without the index of the search. For each query of the suite the
// test compares two lists of ids: the exact results of Find in the index, and the matches of the resolved text
// among all adverts (Gather and Matching).
func TestAlerts_EveryQuery_MatchesWhatSearchFinds(t *testing.T) {
	board, err := readBoard()
	require.NoError(t, err)

	queries, err := readQueries(board)
	require.NoError(t, err)

	companies := organizations{}
	svc := newListings(t, companies)

	// Each employer creates its adverts, in batches because one call may have at most MaxBatch of them.
	var ids []string
	for _, employer := range board.employers {
		id := stores.NewID()
		companies[id] = employer.name

		adverts := slices.DeleteFunc(slices.Clone(board.adverts), func(a *advert) bool { return a.employer != employer })
		for part := range slices.Chunk(adverts, listings.MaxBatch) {
			ids = append(ids, create(t, svc, id, part)...)
		}
	}

	require.Len(t, ids, len(board.adverts), "each advert is created once")

	gathered, err := svc.Gather(t.Context(), ids)
	require.NoError(t, err)

	var texts []string
	for _, query := range queries {
		texts = append(texts, query.text)
	}

	// The index of the search has the names of employers among its words, so that Find knows them, and corrects a misspelt
	// role beside such a name. The text of an alert is corrected once, by Resolve, when a user saves it.
	for _, employer := range board.employers {
		texts = append(texts, "nurse "+employer.name, employer.name+" physotherapist")
	}

	matchCount, correctionCount := 0, 0

	for _, whole := range texts {
		for _, text := range beginnings(whole) {
			want, corrections := findAll(t, svc, text)
			correctionCount += corrections
			resolved, err := svc.Resolve(t.Context(), text)
			require.NoError(t, err)

			positions, err := gathered.Matching(t.Context(), listings.FindKey{Text: resolved})
			require.NoError(t, err)

			matched := make([]string, len(positions))
			for i, position := range positions {
				matched[i] = gathered.Listings()[position].ID
			}

			require.ElementsMatch(t, want, matched, "%q resolved as %q", text, resolved)

			matchCount += len(matched)
		}
	}

	require.NotZero(t, correctionCount, "no text was corrected, so that the test did not compare corrections")
	require.Greater(t, matchCount, len(texts), "a text has at least one match on average, or the test compares empty lists")
	t.Logf("%d queries, %d corrections, %d adverts, %d matches", len(texts), correctionCount, len(ids), matchCount)
}

// beginnings returns the text, and the same text without its last one, two and three characters: the last word
// of a query may be the beginning of a longer word.
func beginnings(text string) (texts []string) {
	const maxOmitted = 3

	runes := []rune(text)
	shortest := max(1, len(runes)-maxOmitted)

	for length := len(runes); length >= shortest; length-- {
		texts = append(texts, strings.TrimSpace(string(runes[:length])))
	}

	return texts
}

// seekers implements listings.Seekers. No jobseeker has a home location.
type seekers struct{}

// HomeLocation returns no location.
func (seekers) HomeLocation(context.Context, string) (string, error) { return "", nil }

// organizations implements listings.Organizations. It maps ids to names.
type organizations map[string]string

// HoldsJobs returns that the jobs of no organization are held for an approval.
func (organizations) HoldsJobs(context.Context, string) (bool, bool, error) { return false, false, nil }

// CompanyName returns the name of the organization.
func (o organizations) CompanyName(_ context.Context, id string) (string, error) { return o[id], nil }

// newListings returns a service with a database. The map has the names of its organizations by their ids; the caller may
// add entries later.
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

	manager := auth.Actor{OrganizationID: organizationID, Permissions: []auth.Permission{auth.Manage}}
	created, err := svc.CreateBatch(t.Context(), manager, items)
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

	statesPay := a.pay.max > 0
	if statesPay {
		input.Salary = &listings.SalaryInput{Min: &a.pay.min, Max: &a.pay.max, Currency: &a.pay.currency, Period: &a.pay.period}
	}

	return input
}

// findAll returns the ids of all exact results of a search, which it reads page by page, and the number of words that the
// search corrected.
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
