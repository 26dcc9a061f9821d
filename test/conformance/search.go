package conformance

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/list"
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/modules/listings"
)

// noActor is a guest.
var noActor auth.Actor

// find returns the titles of up to a hundred exact results, and requires that a saved search with the same
// input matches the same listings. Exact results match all words of the text.
func (b *board) find(t testing.TB, input listings.FindInput) []string {
	t.Helper()

	input.Exact = true
	if input.Page.Size == 0 {
		input.Page = page.Request{Number: 1, Size: 100}
	}

	found, err := b.svc.Find(t.Context(), noActor, input)
	require.NoError(t, err)
	require.Len(t, found.Items, found.Total, "all are counted")
	b.requireSavedSearchMatches(t, input, found.Items)

	return titles(found.Items)
}

// requireSavedSearchMatches requires that a saved search with the input, which alerts a jobseeker to new listings,
// matches the listings that the search has found, and no others.
func (b *board) requireSavedSearchMatches(t testing.TB, input listings.FindInput, found []listings.Hit) {
	t.Helper()

	// A saved search has a text, a location and at most one contract type. Inputs with other filters are not compared.
	filters := input.Filters

	hasOtherFilters := filters.Radius != nil || len(filters.EmploymentType) > 0 || len(filters.Specialty) > 0 ||
		filters.SalaryMin != nil || filters.SalaryMax != nil || filters.Remote != nil || filters.PostedAfter != ""
	if hasOtherFilters || len(filters.ContractType) > 1 {
		return
	}

	// Alerts gather the new listings, here all of them, and match them with the key of each saved search.
	everything, err := b.svc.Find(t.Context(), noActor, listings.FindInput{Page: page.Request{Number: 1, Size: 500}})
	require.NoError(t, err)

	gathered, err := b.svc.Gather(t.Context(), list.Map(everything.Items, hitID))
	require.NoError(t, err)

	text, err := b.svc.Resolve(t.Context(), input.Text)
	require.NoError(t, err)

	key := listings.FindKey{
		Text:         text,
		Location:     filters.Location,
		ContractType: strings.Join(filters.ContractType, ""), // the only one, or none
	}
	indexes, err := gathered.Matching(t.Context(), key)
	require.NoError(t, err)

	matchedIDs := list.Map(indexes, func(index int) string { return gathered.Listings()[index].ID })
	require.ElementsMatch(t, list.Map(found, hitID), matchedIDs, "%+v", input)
}

// hitID returns the id of the listing that was found.
func hitID(hit listings.Hit) string { return hit.Listing.ID }

// Search checks what users find in a storage of listings with the adapters of a
// search engine. The gazetteer has the places of the United Kingdom, Ireland and the
// United States. All subtests search in the same listings, those of searchBoard in search_board.go.
func Search(t *testing.T, open ListingsOpener, with SearchAdapters) {
	board := newSearchBoard(t, open, with)

	// The specialties of three listings by their titles. The table searchBoard cannot state them. Renal is another
	// name of nephrology.
	specialties := map[string]string{
		"Consultant Cardiologist": "Renal",
		"Healthcare Assistant":    "Podiatry",
		"General Practitioner":    "Paediatric podiatry",
	}
	for _, input := range searchBoard {
		if specialty, ok := specialties[input.Title]; ok {
			input.Specialty = &specialty
		}

		board.post(t, input)
		board.clk.Advance(time.Hour) // so that the listings have an order by date
	}

	// Each search of searchCases has the wanted results on one page, and on pages of two.
	for _, test := range searchCases {
		t.Run(strings.TrimSpace(fmt.Sprintf("%s %s %s", test.text, test.filter.Location, test.sort)), func(t *testing.T) {
			input := listings.FindInput{Text: test.text, Filters: test.filter, Sort: test.sort, Exact: true}
			require.Equal(t, test.want, strings.Join(board.find(t, input), "|"))

			inPagesOfTwo := titles(board.findInPages(t, input, 2))
			require.Equal(t, test.want, strings.Join(inPagesOfTwo, "|"))
		})
	}

	// A search without words, or with filler words only, finds all listings.
	t.Run("all listings, newest first", func(t *testing.T) {
		var want []string
		for _, input := range searchBoard {
			want = append([]string{input.Title}, want...)
		}

		require.Equal(t, want, board.find(t, listings.FindInput{}))
		require.Equal(t, want, board.find(t, listings.FindInput{Text: "jobs"}))
		require.Equal(t, want, board.find(t, listings.FindInput{Text: "  "}))
	})

	// The ascending order is the reverse of the descending one, apart from listings without the value, which are last
	// in both.
	t.Run("reversed orders and their pages", func(t *testing.T) {
		for _, input := range []listings.FindInput{
			{Sort: "date"},
			{Sort: "salary"},
			{Sort: "title"},
			{Sort: "location"},
			{Sort: "date", Text: "nurse"},
			{Sort: "salary", Text: "-porter"},
			{Sort: "title", Text: "midwife OR porter"},
			{Sort: "location", Text: "-nurse"},
			{Sort: "title", Filters: listings.FilterInput{ContractType: []string{"permanent"}}},
		} {
			board.requireReversible(t, input)
		}
	})

	// The place that the gazetteer has found for the location of the listing is stored with it.
	t.Run("place of a listing", func(t *testing.T) {
		found, err := board.svc.Find(t.Context(), noActor,
			listings.FindInput{Text: "porter", Page: page.Request{Number: 1, Size: 1}})
		require.NoError(t, err)
		require.NotNil(t, found.Items[0].Listing.Place)
		require.NotEmpty(t, found.Items[0].Listing.Place.Name)
	})

	// Listings with the word in their title have the full relevance, 1. Listings that have it elsewhere have
	// less. The relevance of a result does not depend on the order of the results.
	t.Run("relevance is higher in titles", func(t *testing.T) {
		for _, sort := range []string{"relevance", "date", "salary"} {
			found, err := board.svc.Find(t.Context(), noActor,
				listings.FindInput{Text: "nurse", Sort: sort, Page: page.Request{Number: 1, Size: 10}})
			require.NoError(t, err)

			for _, hit := range found.Items {
				isInTitle := strings.Contains(hit.Listing.Title, "Nurse")
				require.Equal(t, isInTitle, hit.Relevance == 1, hit.Listing.Title)
			}
		}
	})

	// Hits have their distance in miles from the place of the search, and none if the search names no place.
	t.Run("distance with a place", func(t *testing.T) {
		found, err := board.svc.Find(t.Context(), noActor,
			listings.FindInput{
				Filters: listings.FilterInput{Location: "Leeds"},
				Sort:    "distance",
				Page:    page.Request{Number: 1, Size: 10},
			})
		require.NoError(t, err)

		// Two jobs are in Leeds, and the third result is in Wakefield. Gazetteers have slightly different coordinates
		// of a town.
		const milesToWakefield, deviation = 8.3, 0.7

		nearest, third := found.Items[0], found.Items[2]
		require.InDelta(t, 0, *nearest.Miles, 0.1, "in Leeds")
		require.InDelta(t, milesToWakefield, *third.Miles, deviation, "in Wakefield")

		found, err = board.svc.Find(t.Context(), noActor,
			listings.FindInput{Text: "porter", Page: page.Request{Number: 1, Size: 10}})
		require.NoError(t, err)
		require.Nil(t, found.Items[0].Miles, "the search names no place")
	})

	// Without a place in the search, the order by distance is that of the distances from the home of the jobseeker.
	t.Run("distance from home", func(t *testing.T) {
		board.home = "Cork" // the home of every jobseeker
		defer func() { board.home = "" }()

		jobseeker := auth.Actor{UserID: "u", Seeker: true}
		nearest, err := board.svc.Find(t.Context(), jobseeker,
			listings.FindInput{Sort: "distance", Page: page.Request{Number: 1, Size: 4}})
		require.NoError(t, err)
		require.Equal(t,
			[]string{"General Practitioner", "Occupational Therapist", "Consultant Cardiologist", "Band 6/7 Physiotherapist"},
			titles(nearest.Items))

		whole, err := board.svc.Find(t.Context(), jobseeker,
			listings.FindInput{Sort: "distance", Page: page.Request{Number: 1, Size: 100}})
		require.NoError(t, err)
		require.Len(t, whole.Items, len(searchBoard))

		// The last two have no distance: remote work, and a job without a place. The newer is first.
		require.Equal(t, []string{"Midwife", "Remote Triage Nurse"}, titles(whole.Items)[len(searchBoard)-2:])
	})

	// The filter PostedAfter includes listings that were posted exactly at its time.
	t.Run("posted after a date", func(t *testing.T) {
		// One listing was posted an hour ago, one two hours ago, and so on.
		after := board.clk.Now().Add(-2*time.Hour - time.Minute).Format(time.RFC3339)
		require.Equal(t, []string{"Midwife", "Porter"},
			board.find(t, listings.FindInput{Filters: listings.FilterInput{PostedAfter: after}}))

		// The midwife's listing is found if the bound is the time of its posting, and not if the bound is a
		// microsecond later. That holds for filters alone and with a text, which indexes may evaluate differently.
		found, err := board.svc.Find(t.Context(), noActor,
			listings.FindInput{Text: "midwife", Page: page.Request{Number: 1, Size: 1}})
		require.NoError(t, err)

		postedAt := *found.Items[0].Listing.PostedAt
		for _, text := range []string{"", "midwife"} {
			for bound, wantFound := range map[time.Time]bool{postedAt: true, postedAt.Add(time.Microsecond): false} {
				foundTitles := board.find(t, listings.FindInput{
					Text:    text,
					Filters: listings.FilterInput{PostedAfter: bound.Format(time.RFC3339Nano)},
				})
				require.Equal(t, wantFound, slices.Contains(foundTitles, "Midwife"), "%q after %s", text, bound)
			}
		}
	})

	// Each input has one value that is not permitted.
	t.Run("invalid input", func(t *testing.T) {
		first := page.Request{Number: 1, Size: 1} // valid
		for _, input := range []listings.FindInput{
			{Sort: "best", Page: first},
			{Text: strings.Repeat("x", 201), Page: first},                    // the maximum is 200
			{Filters: listings.FilterInput{Radius: ptr(-1.0)}, Page: first},  // from 0
			{Filters: listings.FilterInput{Radius: ptr(501.0)}, Page: first}, // to 500 miles
			{Filters: listings.FilterInput{ContractType: []string{"forever"}}, Page: first},
			{Filters: listings.FilterInput{EmploymentType: []string{"always"}}, Page: first},
			{Filters: listings.FilterInput{SalaryMin: ptr(2.0), SalaryMax: ptr(1.0)}, Page: first},
			{Filters: listings.FilterInput{PostedAfter: "soon"}, Page: first},
			{Page: page.Request{Number: 1, Size: 1, Cursor: "x"}},
			{Page: page.Request{Number: 10_001, Size: 1}},    // beyond page.MaxExact
			{Page: page.Request{Number: 1 << 62, Size: 100}}, // the product of number and size overflows
		} {
			_, err := board.svc.Find(t.Context(), noActor, input)
			require.Equal(t, fault.Invalid, fault.KindOf(err), "%+v", input)
		}

		// The cursor of a list by relevance does not continue a list by salary.
		byRelevance, err := board.svc.Find(t.Context(), noActor, listings.FindInput{Page: first})
		require.NoError(t, err)

		_, err = board.svc.Find(t.Context(), noActor,
			listings.FindInput{Sort: "salary", Page: page.Request{Number: 1, Size: 1, Cursor: byRelevance.NextCursor}})
		require.Equal(t, fault.Invalid, fault.KindOf(err), "a cursor of another order")
	})

	// A process finds each of its changes at once.
	t.Run("updated listings", func(t *testing.T) {
		listing := board.post(t, listings.CreateInput{Title: "Zookeeper", Description: "Anything."})
		require.Equal(t, []string{"Zookeeper"}, board.find(t, listings.FindInput{Text: "zookeper"}), "with a typo")

		update := func(input listings.UpdateInput) {
			_, err := board.svc.Update(t.Context(), admin(board.org), listing.ID, input)
			require.NoError(t, err)
		}

		// A new title is found instead of the old one.
		update(listings.UpdateInput{Title: ptr("Beekeeper")})
		require.Empty(t, board.find(t, listings.FindInput{Text: `"zookeeper"`}))
		require.Equal(t, []string{"Beekeeper"}, board.find(t, listings.FindInput{Text: "beekeeper"}))

		// Only active listings are found.
		update(listings.UpdateInput{Status: ptr("inactive")})
		require.Empty(t, board.find(t, listings.FindInput{Text: "beekeeper"}))

		update(listings.UpdateInput{Status: ptr("active"), Title: ptr("Beekeeper again")})
		require.Equal(t, []string{"Beekeeper again"}, board.find(t, listings.FindInput{Text: "beekeeper"}))

		require.NoError(t, board.svc.Delete(t.Context(), admin(board.org), listing.ID))
		require.Empty(t, board.find(t, listings.FindInput{Text: "beekeeper"}))
	})

	// Listings are ordered by the date of their publication and not of their creation. A draft that is published after
	// another listing precedes it.
	t.Run("draft published late", func(t *testing.T) {
		draft := board.post(t, listings.CreateInput{Title: "Juggler one", Status: ptr("draft")})
		board.clk.Advance(time.Minute)
		board.post(t, listings.CreateInput{Title: "Juggler two"})
		board.clk.Advance(time.Minute)

		_, err := board.svc.Update(t.Context(), admin(board.org), draft.ID, listings.UpdateInput{Status: ptr("active")})
		require.NoError(t, err)
		require.Equal(t, []string{"Juggler one", "Juggler two"}, board.find(t, listings.FindInput{Text: "juggler"}))
	})
}

// findInPages returns all results in pages of the size. It requires that the pages by cursor are the same as those
// by number.
func (b *board) findInPages(t testing.TB, input listings.FindInput, size int) []listings.Hit {
	t.Helper()

	var results []listings.Hit
	for cursor, number := "", 1; ; number++ {
		input.Page = page.Request{Number: 1, Size: size, Cursor: cursor}
		byCursor, err := b.svc.Find(t.Context(), noActor, input)
		require.NoError(t, err)

		input.Page = page.Request{Number: number, Size: size}
		byNumber, err := b.svc.Find(t.Context(), noActor, input)
		require.NoError(t, err)
		require.Equal(t, titles(byNumber.Items), titles(byCursor.Items))

		results = append(results, byCursor.Items...)

		cursor = byCursor.NextCursor
		if cursor == "" {
			require.Empty(t, byNumber.NextCursor)
			return results
		}
	}
}

// requireReversible requires that the search finds the same listings in the descending and in the ascending order. In
// both, listings without the value to sort by are last. For titles and locations, it also requires that the others are
// in order.
func (b *board) requireReversible(t testing.TB, input listings.FindInput) {
	t.Helper()

	// The page sizes are small and different, so that pages begin at other listings.
	input.Exact = true
	descending := b.findInPages(t, input, 3)
	input.Ascending = true
	ascending := b.findInPages(t, input, 2)

	require.NotEmpty(t, descending)
	require.ElementsMatch(t, list.Map(descending, hitID), list.Map(ascending, hitID))

	// sortValue returns the title or the location. For dates and salaries it returns an equal value for all hits:
	// these orders are checked by searchCases.
	sortValue := func(hit listings.Hit) string {
		switch input.Sort {
		case "title":
			return strings.ToLower(hit.Listing.Title)
		case "location":
			return strings.ToLower(hit.Listing.Location)
		}

		return ""
	}

	lacksValue := func(hit listings.Hit) bool {
		switch input.Sort {
		case "salary":
			return hit.Listing.Salary == nil
		case "location":
			return hit.Listing.Location == ""
		}

		return false
	}

	// withValue returns the hits that have a value, and requires that all hits without one follow them.
	withValue := func(hits []listings.Hit) []listings.Hit {
		end := slices.IndexFunc(hits, lacksValue)
		if end < 0 {
			return hits
		}

		for _, hit := range hits[end:] {
			require.True(t, lacksValue(hit), "%+v: %s has a value, but follows a hit without one", input, hit.Listing.Title)
		}

		return hits[:end]
	}

	descending, ascending = withValue(descending), withValue(ascending)
	slices.Reverse(ascending)

	for _, hits := range [][]listings.Hit{descending, ascending} {
		isDescending := slices.IsSortedFunc(hits,
			func(a, b listings.Hit) int { return strings.Compare(sortValue(b), sortValue(a)) })
		require.True(t, isDescending, "%+v: the hits are not in order", input)
	}
}

// titles returns the titles of the listings that were found, in their order.
func titles(hits []listings.Hit) []string {
	var found []string
	for _, hit := range hits {
		found = append(found, hit.Listing.Title)
	}

	return found
}
