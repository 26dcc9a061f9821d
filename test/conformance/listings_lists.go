package conformance

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/core/csvfile"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/modules/listings"
)

// listingVisibility checks that only listings that are active, and whose deadline has not passed,
// are visible to guests and found.
func listingVisibility(t *testing.T, b *board) {
	public := b.postUntil(t, "Short", b.clk.Now().Add(time.Hour))
	draft := b.post(t, listings.CreateInput{Title: "Draft", Status: ptr("draft")})
	closed := b.post(t, listings.CreateInput{Title: "Closed"})
	_, err := b.svc.Update(t.Context(), admin(b.org), closed.ID, listings.UpdateInput{Status: ptr("closed")})
	require.NoError(t, err)

	deleted := b.post(t, listings.CreateInput{Title: "Gone"})
	require.NoError(t, b.svc.Delete(t.Context(), admin(b.org), deleted.ID))

	// publicTitles returns the titles of the listings that a guest can read, and requires that a search
	// finds the same ones.
	publicTitles := func() []string {
		var readable []string
		for _, listing := range []listings.Listing{public, draft, closed, deleted} {
			if _, err := b.svc.Detail(t.Context(), noActor, listing.ID); err == nil {
				readable = append(readable, listing.Title)
			} else {
				require.ErrorIs(t, err, listings.ErrNotFound)
			}
		}

		require.Equal(t, readable, b.find(t, listings.FindInput{}))

		return readable
	}

	require.Equal(t, []string{"Short"}, publicTitles(), "before its deadline")
	b.clk.Advance(time.Hour)
	require.Empty(t, publicTitles(), "a deadline hides a listing before any sweep has closed it")

	// An unknown id.
	_, err = b.public(t.Context(), newID())
	require.ErrorIs(t, err, listings.ErrNotFound)
}

// listingPagesAndCounts checks that pages by cursor contain all listings of an organization, the newest
// first, and that filters and counts agree with them.
func listingPagesAndCounts(t *testing.T, b *board) {
	// Every second listing is a draft: L1, L3 and L5. L0 to L3 are posted at the same time. Of them, the one that
	// was created last, which has the largest id, is listed first.
	const (
		posted    = 7
		drafts    = 3
		lastEqual = 3 // the number of the last listing with the same time as the ones before
		pageSize  = 3
		anyStatus = listings.Status("")
	)

	for i := range posted {
		input := listings.CreateInput{Title: fmt.Sprintf("L%d", i)}
		if i%2 == 1 {
			input.Status = ptr("draft")
		}

		b.post(t, input)

		if i >= lastEqual {
			b.clk.Advance(time.Second)
		}
	}

	// All pages by cursor.
	var listed []string

	request := page.Request{Number: 1, Size: pageSize}
	for {
		found, err := b.Listings.List(t.Context(), b.org, anyStatus, request)
		require.NoError(t, err)
		require.Equal(t, posted, found.Total)

		for _, listing := range found.Items {
			listed = append(listed, listing.Title)
		}

		request.Cursor = found.NextCursor
		if request.Cursor == "" {
			break
		}
	}

	require.Equal(t, []string{"L6", "L5", "L4", "L3", "L2", "L1", "L0"}, listed)

	// The second page, by its number.
	second, err := b.Listings.List(t.Context(), b.org, anyStatus, page.Request{Number: 2, Size: pageSize})
	require.NoError(t, err)
	require.Equal(t, "L3", second.Items[0].Title)

	// A list of one status, and counts by status.
	listedDrafts, err := b.Listings.List(t.Context(), b.org, listings.Draft, page.Request{Number: 1, Size: 10})
	require.NoError(t, err)
	require.Equal(t, drafts, listedDrafts.Total)

	for status, want := range map[listings.Status]int{anyStatus: posted, listings.Draft: drafts, listings.Archived: 0} {
		count, err := b.svc.Table().Count(t.Context(), b.org, map[string]string{"status": string(status)})
		require.NoError(t, err)
		require.Equal(t, want, count, status)
	}

	noFilters := map[string]string(nil)
	ofOther, err := b.svc.Table().Count(t.Context(), newID(), noFilters)
	require.NoError(t, err)
	require.Zero(t, ofOther, "listings of another organization")

	// A cursor that no list has returned.
	_, err = b.Listings.List(t.Context(), b.org, anyStatus, page.Request{Number: 1, Size: pageSize, Cursor: "nonsense"})
	require.Equal(t, fault.Invalid, fault.KindOf(err))
}

// listingStates checks that lists and counts by state agree. Organizations see the state of a
// listing. The state is derived from the stored status, from the deadline, which may have passed, and from a moderator's
// decision to hide the listing.
func listingStates(t *testing.T, b *board) {
	b.post(t, listings.CreateInput{Title: "Open"})
	b.postUntil(t, "Expired", b.clk.Now().Add(time.Hour))
	b.post(t, listings.CreateInput{Title: "Draft", Status: ptr("draft")})

	hidden := b.post(t, listings.CreateInput{Title: "Hidden"})
	b.clk.Advance(time.Hour)

	_, err := b.svc.Hide(t.Context(), hidden.ID)
	require.NoError(t, err)

	for state, want := range map[listings.State][]string{
		"active":  {"Open"},
		"expired": {"Expired"},
		"draft":   {"Draft"},
		"hidden":  {"Hidden"},
		"closed":  {},
		"":        {"Draft", "Expired", "Hidden", "Open"}, // in any state
	} {
		var titles []string
		for request := page.After("", 1); ; {
			found, err := b.svc.ListByState(t.Context(), admin(b.org), state, request)
			require.NoError(t, err)

			for _, listing := range found.Items {
				titles = append(titles, listing.Title)

				isInState := state == "" || listing.State(b.clk.Now()) == state
				require.True(t, isInState, "%s is listed as %s", listing.Title, state)
			}

			request.Cursor = found.NextCursor
			if request.Cursor == "" {
				break
			}
		}

		require.ElementsMatch(t, want, titles, state)
	}

	counts, err := b.svc.CountByState(t.Context(), admin(b.org))
	require.NoError(t, err)
	require.Equal(t, map[listings.State]int{"active": 1, "expired": 1, "draft": 1, "hidden": 1}, counts)

	counts, err = b.svc.CountByState(t.Context(), admin(newID()))
	require.NoError(t, err)
	require.Empty(t, counts, "listings of another organization")
}

// listingExport checks the rows of exported listings, newest first. Listings with all optional fields alternate with
// listings without them: a storage that scans all rows into one variable would leave values of a row in the next one.
func listingExport(t *testing.T, b *board) {
	first := b.post(t, fullInput())
	b.clk.Advance(time.Second)
	b.post(t, listings.CreateInput{Title: "Bare"})
	b.clk.Advance(time.Second)

	last := b.post(t, fullInput())
	b.clk.Advance(time.Second)
	b.post(t, listings.CreateInput{Title: "Draft", Status: ptr("draft")})

	// The first listing has a view, if the storage has the optional port for views.
	firstViews := 0
	if b.Views != nil {
		firstViews = 1

		require.NoError(t, b.Views.Add(t.Context(),
			[]listings.Visit{{Day: "2026-03-01", ListingID: first.ID, Visitor: "a"}}))
	}

	// export returns all rows, of which each call of AppendRows appends at most pageSize.
	export := func(org, status string, pageSize int) (rows []string) {
		for cursor := ""; ; {
			var page csvfile.Page
			var err error
			cursor, err = b.svc.Table().AppendRows(t.Context(), org, map[string]string{"status": status}, cursor, pageSize,
				&page)
			require.NoError(t, err)
			require.LessOrEqual(t, page.Rows(), pageSize)

			rows = append(rows, strings.SplitAfter(string(page.Bytes()), "\r\n")[:page.Rows()]...)
			if cursor == "" {
				return rows
			}
		}
	}

	// fullRow returns the row of a listing that was posted with fullInput. No listing has applications.
	fullRow := func(listing listings.Listing, views int) string {
		quotedTitle := `"` + strings.ReplaceAll(listing.Title, `"`, `""`) + `"`
		timestamp := func(at time.Time) string { return at.UTC().Format(time.RFC3339) }

		return fmt.Sprintf("%s,%s,Cardiology,%s,Leeds,permanent,active,18.5,21,USD,%d,0,%s,%s,%s\r\n",
			listing.ID, quotedTitle, b.company, views,
			timestamp(*listing.PostedAt), timestamp(*listing.Deadline), timestamp(listing.UpdatedAt))
	}

	// The rows are the same whatever the size of a page. The largest page is larger than the four rows.
	const anyStatus = ""
	for pageSize := 1; pageSize <= 5; pageSize++ {
		rows := export(b.org, anyStatus, pageSize)
		require.Len(t, rows, 4, "%d at a time", pageSize)
		require.Contains(t, rows[0], ",draft,,,,0,0,,,", "no pay, currency, time of posting or deadline")
		require.Equal(t, fullRow(last, 0), rows[1])
		require.Contains(t, rows[2], ",active,,,,0,0,2", "no pay and currency, but a time of posting")
		require.Equal(t, fullRow(first, firstViews), rows[3])
	}

	require.Len(t, export(b.org, "draft", wholeList), 1)
	require.Empty(t, export(newID(), anyStatus, wholeList), "another organization has no listings")

	const unknownCursor = "nonsense"

	_, _, err := b.Listings.Export(t.Context(), b.org, anyStatus, unknownCursor, wholeList)
	require.Equal(t, fault.Invalid, fault.KindOf(err))
}

// postUntil creates a listing with the title whose deadline is the given time.
func (b *board) postUntil(t testing.TB, title string, deadline time.Time) listings.Listing {
	t.Helper()

	return b.post(t, listings.CreateInput{
		Title:   title,
		Details: listings.Details{ApplicationDeadline: ptr(deadline.Format(time.RFC3339))},
	})
}

// expiredListings checks that a sweep closes each listing with a past deadline once, and that
// closing an organization closes its remaining listing. Each closed listing causes an event.
func expiredListings(t *testing.T, b *board) {
	const expiring = 3
	for i := range expiring {
		b.postUntil(t, fmt.Sprint(i), b.clk.Now().Add(time.Hour))
	}

	b.post(t, listings.CreateInput{Title: "without a deadline"})

	closed, err := b.svc.CloseExpired(t.Context())
	require.NoError(t, err)
	require.Zero(t, closed, "before the deadline")
	b.clk.Advance(time.Hour)

	closed, err = b.svc.CloseExpired(t.Context())
	require.NoError(t, err)
	require.Equal(t, expiring, closed)

	closed, err = b.svc.CloseExpired(t.Context())
	require.NoError(t, err)
	require.Zero(t, closed, "all are closed")
	require.Equal(t, expiring, b.takeEvents(t)["job.closed"])

	// The organization is closed.
	require.NoError(t, b.svc.CloseOrganization(t.Context(), b.org))
	require.Empty(t, b.find(t, listings.FindInput{}))
	require.Equal(t, 1, b.takeEvents(t)["job.closed"])
}

// titlesInEveryStatus checks that briefs, the summaries of listings for other modules, contain the titles of deleted
// listings, because the applications to them still show the titles. An unknown id has no brief.
func titlesInEveryStatus(t *testing.T, b *board) {
	listing := b.post(t, listings.CreateInput{Title: "A"})
	deleted := b.post(t, listings.CreateInput{Title: "D"})
	require.NoError(t, b.svc.Delete(t.Context(), admin(b.org), deleted.ID))

	briefs, err := b.svc.ListBriefs(t.Context(), []string{listing.ID, deleted.ID, newID()})
	require.NoError(t, err)

	titles := map[string]string{}
	for _, brief := range briefs {
		titles[brief.ID] = brief.Title
	}

	require.Equal(t, map[string]string{listing.ID: "A", deleted.ID: "D"}, titles)
}

// postedListings checks that a listing that was public before it was deleted is returned, for links
// in search engines, and that a draft is not.
func postedListings(t *testing.T, b *board) {
	posted := b.post(t, listings.CreateInput{Title: "Posted"})
	draft := b.post(t, listings.CreateInput{Title: "Draft", Status: ptr("draft")})
	require.NoError(t, b.svc.Delete(t.Context(), admin(b.org), posted.ID))

	got, err := b.Public.GetPosted(t.Context(), posted.ID)
	require.NoError(t, err)
	require.Equal(t, "Posted", got.Title)
	require.NotNil(t, got.DeletedAt)

	for _, id := range []string{draft.ID, newID()} {
		_, err = b.Public.GetPosted(t.Context(), id)
		require.ErrorIs(t, err, listings.ErrNotFound)
	}
}

// openListings checks that the list of open listings can be continued after every position in it,
// also between listings with the same time. The argument skip of ListOpen omits that many listings
// after the position. Deleted listings are not in the list.
func openListings(t *testing.T, b *board) {
	const deleted = 3 // the number of a listing that is deleted

	var want []string
	for i := range 7 {
		listing := b.post(t, listings.CreateInput{Title: fmt.Sprint(i)})
		if i == deleted {
			require.NoError(t, b.svc.Delete(t.Context(), admin(b.org), listing.ID))
			continue
		}

		want = append(want, listing.ID)

		if i%2 == 0 { // 1 and 2 are posted at the same time, and so are 5 and 6
			b.clk.Advance(time.Second)
		}
	}

	// list returns the open listings after the position, and their ids.
	list := func(after listings.OpenPosition, skip, limit int) (found []listings.OpenListing, ids []string) {
		found, err := b.Public.ListOpen(t.Context(), after, skip, limit)
		require.NoError(t, err)

		ids = []string{}
		for _, listing := range found {
			require.False(t, listing.UpdatedAt.IsZero(), "%s has no time of its update", listing.ID)

			ids = append(ids, listing.ID)
		}

		return found, ids
	}

	const skipNone, maxListed = 0, 10 // more than there are
	whole, ids := list(listings.OpenPosition{}, skipNone, maxListed)
	require.ElementsMatch(t, want, ids)

	for i, listing := range whole {
		wantRest := ids[i+1:]
		_, rest := list(listing.OpenPosition, skipNone, maxListed)
		require.Equal(t, wantRest, rest)

		// Only the third listing after the position, if there is one.
		const skipTwo, one = 2, 1

		wantThird := []string{}
		if len(wantRest) > skipTwo {
			wantThird = wantRest[skipTwo : skipTwo+one]
		}

		_, third := list(listing.OpenPosition, skipTwo, one)
		require.Equal(t, wantThird, third)
	}
}

// briefsInEveryStatus checks that briefs, the summaries of listings for other modules, are returned for listings in
// every status, and report whether the listing is public now. An unknown id has no brief.
func briefsInEveryStatus(t *testing.T, b *board) {
	listing := b.post(t, listings.CreateInput{Title: "A", Details: listings.Details{Location: ptr("Leeds")}})
	deleted := b.post(t, listings.CreateInput{Title: "D"})
	deadline := b.clk.Now().Truncate(time.Second).Add(time.Hour)
	expiring := b.postUntil(t, "E", deadline)
	require.NoError(t, b.svc.Delete(t.Context(), admin(b.org), deleted.ID))

	briefsByID := func() map[string]listings.Brief {
		briefs, err := b.svc.ListBriefs(t.Context(), []string{listing.ID, deleted.ID, expiring.ID, newID()})
		require.NoError(t, err)

		byID := map[string]listings.Brief{}
		for _, brief := range briefs {
			byID[brief.ID] = brief
		}

		return byID
	}

	want := map[string]listings.Brief{
		listing.ID: {
			ID: listing.ID, OrganizationID: b.org, Title: "A", Company: listing.Company, Location: "Leeds", Public: true,
		},
		deleted.ID: {
			ID: deleted.ID, OrganizationID: b.org, Title: "D", Company: deleted.Company,
		},
		expiring.ID: {
			ID: expiring.ID, OrganizationID: b.org, Title: "E", Company: expiring.Company, Public: true, Deadline: deadline,
		},
	}
	require.Equal(t, want, briefsByID(), "before the deadline")
	b.clk.Advance(time.Hour)

	expired := want[expiring.ID]
	expired.Public = false
	want[expiring.ID] = expired
	require.Equal(t, want, briefsByID(), "after the deadline")

	none, err := b.svc.ListBriefs(t.Context(), nil)
	require.NoError(t, err)
	require.Empty(t, none, "briefs of no listings")
}

// listingsClosingInPeriod checks that pages of two contain the public listings whose deadline is in a period, the
// earliest first. Listings that close after the period, that are deleted or that have no deadline are not listed.
func listingsClosingInPeriod(t *testing.T, b *board) {
	now := b.clk.Now()
	postFor := func(open time.Duration) string { return b.postUntil(t, "T", now.Add(open)).ID }

	const openLong = 50 * time.Hour
	end := now.Add(openLong - time.Second) // of the period

	late := postFor(openLong)
	third := postFor(2 * time.Hour)
	first := postFor(time.Hour)
	second := postFor(time.Hour) // the same deadline as the first, but a larger id
	deleted := postFor(time.Hour)
	require.NoError(t, b.svc.Delete(t.Context(), admin(b.org), deleted))
	b.post(t, listings.CreateInput{Title: "without a deadline"})

	// Each page begins after the last listing of the previous one, that is after its deadline and id.
	var closing []string

	const pageSize = 2

	lastDeadline, lastID := now, ""
	for {
		found, err := b.svc.ListClosing(t.Context(), lastDeadline, lastID, end, pageSize)
		require.NoError(t, err)

		for _, brief := range found {
			closing = append(closing, brief.ID)
			lastDeadline, lastID = brief.Deadline, brief.ID
		}

		if len(found) < pageSize {
			break
		}
	}

	require.Equal(t, []string{first, second, third}, closing)
	require.NotContains(t, closing, late)
}

// batchOf100Listings checks the creation and the update of a batch of the maximum size. Each item has its own result.
// Three of the updates are special: one has the id of another update, one has an unknown id, and one is invalid.
func batchOf100Listings(t *testing.T, b *board) {
	items := make([]listings.BatchItem[listings.CreateInput], listings.MaxBatch)
	for i := range items {
		items[i].Input = fullInput()
		items[i].Input.Title = fmt.Sprintf("Nurse number%d", i)
	}

	created, err := b.svc.CreateBatch(t.Context(), admin(b.org), items)
	require.NoError(t, err)

	changes := make([]listings.BatchItem[listings.UpdateInput], len(created))
	for i, result := range created {
		require.NoError(t, result.Err)

		changes[i] = listings.BatchItem[listings.UpdateInput]{
			ID:    result.Listing.ID,
			Input: listings.UpdateInput{Title: ptr(fmt.Sprintf("Midwife number%d", i))},
		}
	}

	const replaced, twice, unknown, invalid = 7, 8, 9, 10
	changes[replaced].ID = changes[twice].ID // both succeed, and the later one counts
	changes[unknown].ID = newID()
	changes[invalid].Input.Title = ptr(" ")

	updated, err := b.svc.UpdateBatch(t.Context(), admin(b.org), changes)
	require.NoError(t, err)

	for i, result := range updated {
		switch i {
		case unknown:
			require.ErrorIs(t, result.Err, listings.ErrJobNotFound)
		case invalid:
			require.Equal(t, fault.Invalid, fault.KindOf(result.Err))
		default:
			require.NoError(t, result.Err)
		}
	}

	require.Equal(t, []string{"Nurse number7"}, b.find(t, listings.FindInput{Text: `"number7"`}), "not updated")
	require.Equal(t, []string{"Midwife number8"}, b.find(t, listings.FindInput{Text: `"number8"`}), "the later update")
	require.Equal(t, []string{"Nurse number10"}, b.find(t, listings.FindInput{Text: `"number10"`}), "an invalid update")

	// The two updates of one listing cause one event, and the two that failed cause none.
	const sameListing, failures = 1, 2
	events := b.takeEvents(t)
	require.Equal(t, listings.MaxBatch, events["job.created"])
	require.Equal(t, listings.MaxBatch-sameListing-failures, events["job.updated"])
}

// concurrentSweeps checks that four concurrent sweeps close each of 100 listings once: each causes one event.
func concurrentSweeps(t *testing.T, b *board) {
	items := make([]listings.BatchItem[listings.CreateInput], listings.MaxBatch)
	for i := range items {
		items[i].Input = fullInput()
		items[i].Input.ApplicationDeadline = ptr(b.clk.Now().Add(time.Minute).Format(time.RFC3339))
	}

	_, err := b.svc.CreateBatch(t.Context(), admin(b.org), items)
	require.NoError(t, err)
	b.clk.Advance(time.Hour)

	runConcurrently(t, 4, func(int) error {
		_, err := b.svc.CloseExpired(context.Background())
		return err
	})
	require.Equal(t, listings.MaxBatch, b.takeEvents(t)["job.closed"])
}
