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
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/modules/listings"
)

// noActor is a guest.
var noActor auth.Actor

// find returns the titles of up to a hundred exact results, and requires that a saved search with the same
// input matches the same listings.
func (b *board) find(t testing.TB, in listings.FindInput) []string {
	t.Helper()

	in.Exact = true
	if in.Page.Size == 0 {
		in.Page = page.Request{Number: 1, Size: 100}
	}

	found, err := b.svc.Find(t.Context(), noActor, in)
	require.NoError(t, err)

	var out []string
	for _, h := range found.Items {
		out = append(out, h.Listing.Title)
	}

	require.Equal(t, len(out), found.Total, "all are counted")
	b.compareWithGathered(t, in, found.Items)

	return out
}

// compareWithGathered checks that saved searches match what a search finds.
func (b *board) compareWithGathered(t testing.TB, in listings.FindInput, found []listings.Hit) {
	t.Helper()

	f := in.Filters
	if f.Radius != nil || len(f.EmploymentType)+len(f.Specialty)+len(f.ContractType) > 1 || len(f.EmploymentType)+len(f.Specialty) > 0 ||
		f.SalaryMin != nil ||
		f.SalaryMax != nil ||
		f.Remote != nil ||
		f.PostedAfter != "" {
		return // saved searches do not support this
	}

	all, err := b.svc.Find(t.Context(), noActor, listings.FindInput{Page: page.Request{Number: 1, Size: 500}})
	require.NoError(t, err)

	var ids []string
	for _, h := range all.Items {
		ids = append(ids, h.Listing.ID)
	}

	gathered, err := b.svc.Gather(t.Context(), ids)
	require.NoError(t, err)

	text, err := b.svc.Resolve(t.Context(), in.Text)
	require.NoError(t, err)

	key := listings.FindKey{Text: text, Location: f.Location, ContractType: strings.Join(f.ContractType, "")}
	matching, err := gathered.Matching(t.Context(), key)
	require.NoError(t, err)

	var want, got []string
	for _, h := range found {
		want = append(want, h.Listing.ID)
	}

	for _, i := range matching {
		got = append(got, gathered.Listings()[i].ID)
	}

	require.ElementsMatch(t, want, got, "%+v", in)
}

// Search checks what users find in a storage of listings with the adapters of a
// search engine. The gazetteer has the places of the United Kingdom, Ireland and the
// United States.
func Search(t *testing.T, open ListingsOpener, with SearchAdapters) {
	board := newSearchBoard(t, open, with)

	// The specialty fields, which post cannot set. Renal is another name of nephrology.
	specialties := map[string]string{
		"Consultant Cardiologist": "Renal",
		"Healthcare Assistant":    "Podiatry",
		"General Practitioner":    "Paediatric podiatry",
	}
	for _, in := range searchBoard {
		if specialty, ok := specialties[in.Title]; ok {
			in.Specialty = &specialty
		}

		board.post(t, in)
		board.clk.Advance(time.Hour) // so that the listings have an order by date
	}

	for _, c := range searchCases {
		t.Run(strings.TrimSpace(fmt.Sprintf("%s %s %s", c.text, c.filter.Location, c.sort)), func(t *testing.T) {
			in := listings.FindInput{Text: c.text, Filters: c.filter, Sort: c.sort, Exact: true}
			require.Equal(t, c.want, strings.Join(board.find(t, in), "|"))

			// The same results in pages of two, by page number and by cursor.
			var numbered, followed []string

			cursor := ""
			for n := 1; ; n++ {
				in.Page = page.Request{Number: n, Size: 2}
				found, err := board.svc.Find(t.Context(), noActor, in)
				require.NoError(t, err)

				in.Page = page.Request{Number: 1, Size: 2, Cursor: cursor}
				f, err := board.svc.Find(t.Context(), noActor, in)
				require.NoError(t, err)

				numbered, followed = append(numbered, titles(found)...), append(followed, titles(f)...)

				cursor = f.NextCursor
				if cursor == "" {
					// Both ways end with the same page.
					require.Equal(t, found.NextCursor, f.NextCursor)
					break
				}
			}

			require.Equal(t, c.want, strings.Join(numbered, "|"), "by page")
			require.Equal(t, c.want, strings.Join(followed, "|"), "by cursor")
		})
	}

	t.Run("all listings, newest first", func(t *testing.T) {
		var want []string
		for _, in := range searchBoard {
			want = append([]string{in.Title}, want...)
		}

		require.Equal(t, want, board.find(t, listings.FindInput{}))
		require.Equal(t, want, board.find(t, listings.FindInput{Text: "jobs"}))
		require.Equal(t, want, board.find(t, listings.FindInput{Text: "  "}))
	})

	t.Run("reversed orders and their pages", func(t *testing.T) {
		for _, in := range []listings.FindInput{
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
			// The value that the results are sorted by, as far as it can be compared here.
			key := func(h listings.Hit) string {
				switch in.Sort {
				case "title":
					return strings.ToLower(h.Listing.Title)
				case "location":
					return strings.ToLower(h.Listing.Location)
				}

				return ""
			}

			// all returns all results in pages of the size, by page number and by cursor.
			all := func(size int) []listings.Hit {
				var found []listings.Hit
				for cursor, n := "", 1; ; n++ {
					in.Page = page.Request{Number: 1, Size: size, Cursor: cursor}
					followed, err := board.svc.Find(t.Context(), noActor, in)
					require.NoError(t, err)

					in.Page = page.Request{Number: n, Size: size}
					numbered, err := board.svc.Find(t.Context(), noActor, in)
					require.NoError(t, err)
					require.Equal(t, titles(numbered), titles(followed))

					found = append(found, followed.Items...)

					cursor = followed.NextCursor
					if cursor == "" {
						return found
					}
				}
			}

			in.Ascending, in.Exact = false, true
			down := all(3)
			in.Ascending = true
			up := all(2)

			require.NotEmpty(t, down)
			require.ElementsMatch(t, titles(listings.Found{Result: page.Result[listings.Hit]{Items: down}}),
				titles(listings.Found{Result: page.Result[listings.Hit]{Items: up}}))
			var last []listings.Hit // what has nothing to sort by comes last either way
			sorted := func(hits []listings.Hit) (some []listings.Hit) {
				last = nil
				for _, h := range hits {
					if in.Sort == "salary" && h.Listing.Salary == nil || in.Sort == "location" && h.Listing.Location == "" {
						last = append(last, h)
						continue
					}

					require.Empty(t, last, "%+v: %s", in, h.Listing.Title)

					some = append(some, h)
				}

				return some
			}

			one, other := sorted(down), sorted(up)
			slices.Reverse(other)
			require.True(t, slices.IsSortedFunc(one,
				func(a, b listings.Hit) int { return strings.Compare(key(b), key(a)) }), "%+v", in)
			require.True(t, slices.IsSortedFunc(other,
				func(a, b listings.Hit) int { return strings.Compare(key(b), key(a)) }), "%+v", in)
		}
	})

	// The place that the gazetteer has found for the location of the listing is stored with it.
	t.Run("place of a listing", func(t *testing.T) {
		r, err := board.svc.Find(t.Context(), noActor,
			listings.FindInput{Text: "porter", Page: page.Request{Number: 1, Size: 1}})
		require.NoError(t, err)
		require.NotNil(t, r.Items[0].Listing.Place)
		require.NotEmpty(t, r.Items[0].Listing.Place.Name)
	})

	// The relevance of a result does not depend on the order of the results.
	t.Run("relevance is higher in titles", func(t *testing.T) {
		for _, sort := range []string{"relevance", "date", "salary"} {
			found, err := board.svc.Find(t.Context(), noActor,
				listings.FindInput{Text: "nurse", Sort: sort, Page: page.Request{Number: 1, Size: 10}})
			require.NoError(t, err)

			for _, h := range found.Items {
				require.Equal(t, strings.Contains(h.Listing.Title, "Nurse"), h.Relevance == 1, h.Listing.Title)
			}
		}
	})

	t.Run("distance with a place", func(t *testing.T) {
		found, err := board.svc.Find(t.Context(), noActor,
			listings.FindInput{Filters: listings.FilterInput{Location: "Leeds"}, Sort: "distance", Page: page.Request{Number: 1, Size: 10}})
		require.NoError(t, err)
		require.InDelta(t, 0, *found.Items[0].Miles, 0.1)
		require.InDelta(t, 8.3, *found.Items[2].Miles, 0.7) // Wakefield

		found, err = board.svc.Find(t.Context(), noActor,
			listings.FindInput{Text: "porter", Page: page.Request{Number: 1, Size: 10}})
		require.NoError(t, err)
		require.Nil(t, found.Items[0].Miles)
	})

	t.Run("distance from home", func(t *testing.T) {
		board.home = "Cork" // of the jobseeker
		defer func() { board.home = "" }()

		found, err := board.svc.Find(t.Context(), auth.Actor{UserID: "u", Seeker: true},
			listings.FindInput{Sort: "distance", Page: page.Request{Number: 1, Size: 4}})
		require.NoError(t, err)
		require.Equal(t,
			[]string{"General Practitioner", "Occupational Therapist", "Consultant Cardiologist", "Band 6/7 Physiotherapist"},
			titles(found))

		all, err := board.svc.Find(t.Context(), auth.Actor{UserID: "u", Seeker: true},
			listings.FindInput{Sort: "distance", Page: page.Request{Number: 1, Size: 100}})
		require.NoError(t, err)
		require.Len(t, all.Items, len(searchBoard))

		// The last two have no distance: remote work, and a job without a place. The newer is first.
		require.Equal(t, []string{"Midwife", "Remote Triage Nurse"}, titles(all)[len(searchBoard)-2:])
	})

	t.Run("posted after a date", func(t *testing.T) {
		after := board.clk.Now().Add(-2*time.Hour - time.Minute).Format(time.RFC3339)
		require.Equal(t, []string{"Midwife", "Porter"},
			board.find(t, listings.FindInput{Filters: listings.FilterInput{PostedAfter: after}}))

		// The bound itself is included; a microsecond later is not.
		found, err := board.svc.Find(t.Context(), auth.Actor{},
			listings.FindInput{Text: "midwife", Page: page.Request{Number: 1, Size: 1}})
		require.NoError(t, err)

		posted := *found.Items[0].Listing.PostedAt
		for _, text := range []string{"", "midwife"} {
			for then, want := range map[time.Time]bool{posted: true, posted.Add(time.Microsecond): false} {
				got := board.find(t, listings.FindInput{
					Text:    text,
					Filters: listings.FilterInput{PostedAfter: then.Format(time.RFC3339Nano)},
				})
				require.Equal(t, want, slices.Contains(got, "Midwife"), "%q after %s", text, then)
			}
		}
	})

	t.Run("invalid input", func(t *testing.T) {
		one := page.Request{Number: 1, Size: 1}
		for _, in := range []listings.FindInput{
			{Sort: "best", Page: one},
			{Text: strings.Repeat("x", 201), Page: one}, // the maximum is 200
			{Filters: listings.FilterInput{Radius: ptr(-1.0)}, Page: one},
			{Filters: listings.FilterInput{Radius: ptr(501.0)}, Page: one},
			{Filters: listings.FilterInput{ContractType: []string{"forever"}}, Page: one},
			{Filters: listings.FilterInput{EmploymentType: []string{"always"}}, Page: one},
			{Filters: listings.FilterInput{SalaryMin: ptr(2.0), SalaryMax: ptr(1.0)}, Page: one},
			{Filters: listings.FilterInput{PostedAfter: "soon"}, Page: one},
			{Page: page.Request{Number: 1, Size: 1, Cursor: "x"}},
			{Page: page.Request{Number: 10_001, Size: 1}},    // beyond page.MaxExact
			{Page: page.Request{Number: 1 << 62, Size: 100}}, // whose product overflows
		} {
			_, err := board.svc.Find(t.Context(), noActor, in)
			require.Equal(t, fault.Invalid, fault.KindOf(err), "%+v", in)
		}

		r, err := board.svc.Find(t.Context(), noActor, listings.FindInput{Page: one})
		require.NoError(t, err)

		_, err = board.svc.Find(t.Context(), noActor,
			listings.FindInput{Sort: "salary", Page: page.Request{Number: 1, Size: 1, Cursor: r.NextCursor}})
		require.Equal(t, fault.Invalid, fault.KindOf(err), "a cursor of another order")
	})

	// Each change is found at once by the process that has made it.
	t.Run("updated listings", func(t *testing.T) {
		listing := board.post(t, listings.CreateInput{Title: "Zookeeper", Description: "Anything."})
		require.Equal(t, []string{"Zookeeper"}, board.find(t, listings.FindInput{Text: "zookeper"}))

		_, err := board.svc.Update(t.Context(), admin(board.org), listing.ID,
			listings.UpdateInput{Title: ptr("Beekeeper")})
		require.NoError(t, err)
		require.Empty(t, board.find(t, listings.FindInput{Text: `"zookeeper"`}))
		require.Equal(t, []string{"Beekeeper"}, board.find(t, listings.FindInput{Text: "beekeeper"}))

		_, err = board.svc.Update(t.Context(), admin(board.org), listing.ID,
			listings.UpdateInput{Status: ptr("inactive")})
		require.NoError(t, err)
		require.Empty(t, board.find(t, listings.FindInput{Text: "beekeeper"}))

		_, err = board.svc.Update(t.Context(), admin(board.org), listing.ID, listings.UpdateInput{
			Status: ptr("active"),
			Title:  ptr("Beekeeper again"),
		})
		require.NoError(t, err)
		require.Equal(t, []string{"Beekeeper again"}, board.find(t, listings.FindInput{Text: "beekeeper"}))
		require.NoError(t, board.svc.Delete(t.Context(), admin(board.org), listing.ID))
		require.Empty(t, board.find(t, listings.FindInput{Text: "beekeeper"}))
	})

	// The order by date is that of the first publication and not of the creation.
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

// titles returns the titles of the results, in their order.
func titles(r listings.Found) []string {
	var out []string
	for _, h := range r.Items {
		out = append(out, h.Listing.Title)
	}

	return out
}
