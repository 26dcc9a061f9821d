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

	require.Equal(t, []string{"Short"}, publicTitles())
	b.clk.Advance(time.Hour)
	require.Empty(t, publicTitles(), "a deadline hides a listing before any sweep")

	_, err = b.public(t.Context(), newID())
	require.ErrorIs(t, err, listings.ErrNotFound)
}

// listingPagesAndCounts checks that pages by cursor contain all listings of an organization, the newest
// first, and that filters and counts agree with them.
func listingPagesAndCounts(t *testing.T, b *board) {
	// Every second listing is a draft. The first three are posted at the same time; the larger id, which is
	// that of the later one, is first then.
	var want []string
	for i := range 7 {
		input := listings.CreateInput{Title: fmt.Sprintf("L%d", i)}
		if i%2 == 1 {
			input.Status = ptr("draft")
		}

		listing := b.post(t, input)
		want = append([]string{listing.Title}, want...)

		if i > 2 {
			b.clk.Advance(time.Second)
		}
	}

	var listed []string

	request := page.Request{Number: 1, Size: 3}
	for {
		found, err := b.Listings.List(t.Context(), b.org, "", request)
		require.NoError(t, err)
		require.Equal(t, 7, found.Total)

		for _, listing := range found.Items {
			listed = append(listed, listing.Title)
		}

		request.Cursor = found.NextCursor
		if request.Cursor == "" {
			break
		}
	}

	require.Equal(t, want, listed)

	second, err := b.Listings.List(t.Context(), b.org, "", page.Request{Number: 2, Size: 3})
	require.NoError(t, err)
	require.Equal(t, want[3], second.Items[0].Title)

	drafts, err := b.Listings.List(t.Context(), b.org, listings.Draft, page.Request{Number: 1, Size: 10})
	require.NoError(t, err)
	require.Equal(t, 3, drafts.Total)

	for status, want := range map[listings.Status]int{"": 7, listings.Draft: 3, listings.Archived: 0} {
		n, err := b.svc.Table().Count(t.Context(), b.org, map[string]string{"status": string(status)})
		require.NoError(t, err)
		require.Equal(t, want, n, status)
	}

	n, err := b.svc.Table().Count(t.Context(), newID(), nil)
	require.NoError(t, err)
	require.Zero(t, n)

	_, err = b.Listings.List(t.Context(), b.org, "", page.Request{Number: 1, Size: 3, Cursor: "nonsense"})
	require.Equal(t, fault.Invalid, fault.KindOf(err))
}

// listingStates checks that lists and counts by state agree. The state of a listing is what its
// organization sees. It depends on the deadline and on moderators in addition to the stored status.
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
				require.True(t, state == "" || listing.State(b.clk.Now()) == state)
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
	require.Empty(t, counts)
}

// listingExport checks the rows of exported listings, newest first. Listings with all optional fields alternate with
// listings without them, so that a value of a row that appears in the next row would be noticed.
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

	for pageSize := 1; pageSize <= 5; pageSize++ {
		rows := export(b.org, "", pageSize)
		require.Len(t, rows, 4, "%d at a time", pageSize)
		require.Contains(t, rows[0], ",draft,,,,0,0,,,", "no pay, currency, time of posting or deadline")
		require.Equal(t, fullRow(last, 0), rows[1])
		require.Contains(t, rows[2], ",active,,,,0,0,2", "no pay and currency, but a time of posting")
		require.Equal(t, fullRow(first, firstViews), rows[3])
	}

	require.Len(t, export(b.org, "draft", 10), 1)
	require.Empty(t, export(newID(), "", 10))

	_, _, err := b.Listings.Export(t.Context(), b.org, "", "nonsense", 10)
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

// expiredListings checks that each listing with a past deadline is closed once, and that
// closing an organization closes its remaining listing.
func expiredListings(t *testing.T, b *board) {
	for i := range 3 {
		b.postUntil(t, fmt.Sprint(i), b.clk.Now().Add(time.Hour))
	}

	b.post(t, listings.CreateInput{Title: "stays"})

	closed, err := b.svc.CloseExpired(t.Context())
	require.NoError(t, err)
	require.Zero(t, closed, "before the deadline")
	b.clk.Advance(time.Hour)

	closed, err = b.svc.CloseExpired(t.Context())
	require.NoError(t, err)
	require.Equal(t, 3, closed)

	closed, err = b.svc.CloseExpired(t.Context())
	require.NoError(t, err)
	require.Zero(t, closed, "all are closed")
	require.Equal(t, 3, b.takeEvents(t)["job.closed"])

	require.NoError(t, b.svc.CloseOrganization(t.Context(), b.org))
	require.Empty(t, b.find(t, listings.FindInput{}))
	require.Equal(t, 1, b.takeEvents(t)["job.closed"])
}

// titlesInEveryStatus checks that titles of deleted listings are returned, because applications
// show them.
func titlesInEveryStatus(t *testing.T, b *board) {
	listing := b.post(t, listings.CreateInput{Title: "A"})
	deleted := b.post(t, listings.CreateInput{Title: "D"})
	require.NoError(t, b.svc.Delete(t.Context(), admin(b.org), deleted.ID))

	briefs, err := b.svc.Briefs(t.Context(), []string{listing.ID, deleted.ID, newID()})
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
// after the position.
func openListings(t *testing.T, b *board) {
	var want []string
	for i := range 7 {
		listing := b.post(t, listings.CreateInput{Title: fmt.Sprint(i)})
		if i == 3 {
			require.NoError(t, b.svc.Delete(t.Context(), admin(b.org), listing.ID))
			continue
		}

		want = append(want, listing.ID)

		if i%2 == 0 { // some are posted at the same time
			b.clk.Advance(time.Second)
		}
	}

	list := func(after listings.OpenPosition, skip, limit int) (found []listings.OpenListing, ids []string) {
		found, err := b.Public.ListOpen(t.Context(), after, skip, limit)
		require.NoError(t, err)

		ids = []string{}
		for _, listing := range found {
			require.False(t, listing.UpdatedAt.IsZero())

			ids = append(ids, listing.ID)
		}

		return found, ids
	}

	whole, ids := list(listings.OpenPosition{}, 0, 10)
	require.ElementsMatch(t, want, ids)

	for i, listing := range whole {
		wantRest := ids[i+1:]
		_, rest := list(listing.OpenPosition, 0, 10)
		require.Equal(t, wantRest, rest)

		// The third listing after the position, if there is one.
		wantThird := []string{}
		if len(wantRest) > 2 {
			wantThird = wantRest[2:3]
		}

		_, third := list(listing.OpenPosition, 2, 1)
		require.Equal(t, wantThird, third)
	}
}

// briefsInEveryStatus checks that summaries of listings in every state are returned, and report
// whether the listing is public now.
func briefsInEveryStatus(t *testing.T, b *board) {
	listing := b.post(t, listings.CreateInput{Title: "A", Details: listings.Details{Location: ptr("Leeds")}})
	deleted := b.post(t, listings.CreateInput{Title: "D"})
	deadline := b.clk.Now().Truncate(time.Second).Add(time.Hour)
	expiring := b.postUntil(t, "E", deadline)
	require.NoError(t, b.svc.Delete(t.Context(), admin(b.org), deleted.ID))

	briefsByID := func() map[string]listings.Brief {
		briefs, err := b.svc.Briefs(t.Context(), []string{listing.ID, deleted.ID, expiring.ID, newID()})
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
	require.Equal(t, want, briefsByID())
	b.clk.Advance(time.Hour)

	expired := want[expiring.ID]
	expired.Public = false
	want[expiring.ID] = expired
	require.Equal(t, want, briefsByID())

	none, err := b.svc.Briefs(t.Context(), nil)
	require.NoError(t, err)
	require.Empty(t, none)
}

// listingsClosingInPeriod checks that pages of two contain the public listings that close in a period, the
// earliest first.
func listingsClosingInPeriod(t *testing.T, b *board) {
	now := b.clk.Now()
	end := now.Add(50*time.Hour - time.Second)
	postFor := func(open time.Duration) string { return b.postUntil(t, "T", now.Add(open)).ID }

	late := postFor(50 * time.Hour)
	third := postFor(2 * time.Hour)
	first := postFor(time.Hour)
	second := postFor(time.Hour)
	deleted := postFor(time.Hour)
	require.NoError(t, b.svc.Delete(t.Context(), admin(b.org), deleted))
	b.post(t, listings.CreateInput{Title: "endless"})

	// Each page begins after the last listing of the previous one, that is after its deadline and id.
	var closing []string

	lastDeadline, lastID := now, ""
	for {
		found, err := b.svc.ClosingBetween(t.Context(), lastDeadline, lastID, end, 2)
		require.NoError(t, err)

		for _, brief := range found {
			closing = append(closing, brief.ID)
			lastDeadline, lastID = brief.Deadline, brief.ID
		}

		if len(found) < 2 {
			break
		}
	}

	require.Equal(t, []string{first, second, third}, closing)
	require.NotContains(t, closing, late)
}

// batchOf100Listings checks the creation and the update of a batch of the maximum size. Three of the
// updates are special: one id occurs twice, one is unknown and one input is invalid.
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

	events := b.takeEvents(t)
	require.Equal(t, 100, events["job.created"])
	require.Equal(t, 100-1-2, events["job.updated"], "one event for two updates of a listing, and none for two failures")
}

// concurrentSweeps checks that four concurrent sweeps close each of 100 listings once.
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
