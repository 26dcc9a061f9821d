package conformance

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/csvfile"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/modules/listings"
)

// publicIsPublic checks that only listings that are active, and whose deadline has not passed,
// are visible to guests and found.
func publicIsPublic(t *testing.T, b *board) {
	listing := b.post(
		t,
		listings.CreateInput{
			Title:   "Short",
			Details: listings.Details{ApplicationDeadline: ptr(b.clk.Now().Add(time.Hour).Format(time.RFC3339))},
		},
	)
	draft := b.post(t, listings.CreateInput{Title: "Draft", Status: ptr("draft")})
	closed := b.post(t, listings.CreateInput{Title: "Closed"})
	_, err := b.svc.Update(t.Context(), admin(b.org), closed.ID, listings.UpdateInput{Status: ptr("closed")})
	require.NoError(t, err)

	deleted := b.post(t, listings.CreateInput{Title: "Gone"})
	require.NoError(t, b.svc.Delete(t.Context(), admin(b.org), deleted.ID))

	seenIDs := func() []string {
		var out []string
		for _, x := range []listings.Listing{listing, draft, closed, deleted} {
			if _, err := b.svc.Detail(t.Context(), auth.Actor{}, x.ID); err == nil {
				out = append(out, x.Title)
			} else {
				require.ErrorIs(t, err, listings.ErrNotFound)
			}
		}

		require.Equal(t, out, b.find(t, listings.FindInput{}))

		return out
	}

	require.Equal(t, []string{"Short"}, seenIDs())
	b.clk.Advance(time.Hour)
	require.Empty(t, seenIDs(), "a deadline hides a listing before any sweep")

	_, err = b.public(t.Context(), newID())
	require.ErrorIs(t, err, listings.ErrNotFound)
}

// ownListPages checks that pages by cursor contain all listings of an organization, the newest
// first, and that filters and counts agree with them.
func ownListPages(t *testing.T, b *board) {
	var want []string
	for i := range 7 {
		l := b.post(t, listings.CreateInput{Title: fmt.Sprintf("L%d",
			i), Status: map[bool]*string{true: ptr("draft")}[i%2 == 1]})
		want = append([]string{l.Title}, want...)

		if i > 2 { // some at the same time
			b.clk.Advance(time.Second)
		}
	}

	slices.Sort(want[4:]) // L0, L1 and L2 have the same time: the larger id first
	slices.Reverse(want[4:])
	var got []string

	r := page.Request{Number: 1, Size: 3}
	for {
		p, err := b.Listings.List(t.Context(), b.org, "", r)
		require.NoError(t, err)
		require.Equal(t, 7, p.Total)

		for _, l := range p.Items {
			got = append(got, l.Title)
		}

		r.Cursor = p.NextCursor
		if r.Cursor == "" {
			break
		}
	}

	require.Equal(t, want, got)

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

// ownListByState checks that lists and counts by state agree. The state also depends on the
// deadline and on moderators, not only on the stored status.
func ownListByState(t *testing.T, b *board) {
	deadline := ptr(b.clk.Now().Add(time.Hour).Format(time.RFC3339))
	b.post(t, listings.CreateInput{Title: "Open"})
	b.post(t, listings.CreateInput{Title: "Expired", Details: listings.Details{ApplicationDeadline: deadline}})
	b.post(t, listings.CreateInput{Title: "Draft", Status: ptr("draft")})

	hidden := b.post(t, listings.CreateInput{Title: "Hidden"})
	b.clk.Advance(time.Hour)

	_, err := b.svc.Hide(t.Context(), hidden.ID)
	require.NoError(t, err)

	for state, want := range map[listings.State][]string{
		"active": {"Open"}, "expired": {"Expired"}, "draft": {"Draft"}, "hidden": {"Hidden"}, "closed": {},
		"": {"Draft", "Expired", "Hidden", "Open"},
	} {
		var titles []string
		for r := page.After("", 1); ; {
			found, err := b.svc.ListByState(t.Context(), admin(b.org), state, r)
			require.NoError(t, err)

			for _, l := range found.Items {
				titles = append(titles, l.Title)
				require.True(t, state == "" || l.State(b.clk.Now()) == state)
			}

			r.Cursor = found.NextCursor
			if r.Cursor == "" {
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

// exportIsTheList exports listings with and without optional fields, and requires that no value
// of a row appears in the next row.
func exportIsTheList(t *testing.T, b *board) {
	first := b.post(t, fullInput())
	b.clk.Advance(time.Second)
	b.post(t, listings.CreateInput{Title: "Bare"})
	b.clk.Advance(time.Second)

	last := b.post(t, fullInput())
	b.clk.Advance(time.Second)
	b.post(t, listings.CreateInput{Title: "Draft", Status: ptr("draft")})

	views := 0
	if b.Views != nil {
		views = 1

		require.NoError(t, b.Views.Add(t.Context(),
			[]listings.Visit{{Day: "2026-03-01", ListingID: first.ID, Visitor: "a"}}))
	}

	export := func(org, status string, n int) (rows []string) {
		for cursor := ""; ; {
			var page csvfile.Page
			var err error
			cursor, err = b.svc.Table().AppendRows(t.Context(), org, map[string]string{"status": status}, cursor, n, &page)
			require.NoError(t, err)
			require.LessOrEqual(t, page.Rows(), n)

			rows = append(rows, strings.SplitAfter(string(page.Bytes()), "\r\n")[:page.Rows()]...)
			if cursor == "" {
				return rows
			}
		}
	}

	full := func(l listings.Listing, views int) string {
		moment := func(at time.Time) string { return at.UTC().Format(time.RFC3339) }

		return fmt.Sprintf("%s,\"%s\",Cardiology,%s,Leeds,permanent,active,18.5,21,USD,%d,0,%s,%s,%s\r\n",
			l.ID, strings.ReplaceAll(l.Title, `"`,
				`""`), b.company, views, moment(*l.PostedAt), moment(*l.Deadline), moment(l.UpdatedAt))
	}

	for n := 1; n <= 5; n++ {
		rows := export(b.org, "", n)
		require.Len(t, rows, 4, "%d at a time", n)
		require.Contains(t, rows[0], ",draft,,,,0,0,,,")
		require.Equal(t, full(last, 0), rows[1])
		require.Contains(t, rows[2], ",active,,,,0,0,2")
		require.Equal(t, full(first, views), rows[3])
	}

	require.Len(t, export(b.org, "draft", 10), 1)
	require.Empty(t, export(newID(), "", 10))

	_, _, err := b.Listings.Export(t.Context(), b.org, "", "nonsense", 10)
	require.Equal(t, fault.Invalid, fault.KindOf(err))
}

// sweepFindsExpired checks that each listing with a past deadline is closed once, and that
// closing an organization closes its remaining listing.
func sweepFindsExpired(t *testing.T, b *board) {
	for i := range 3 {
		b.post(
			t,
			listings.CreateInput{
				Title:   fmt.Sprint(i),
				Details: listings.Details{ApplicationDeadline: ptr(b.clk.Now().Add(time.Hour).Format(time.RFC3339))},
			},
		)
	}

	b.post(t, listings.CreateInput{Title: "stays"})

	n, err := b.svc.CloseExpired(t.Context())
	require.NoError(t, err)
	require.Zero(t, n)
	b.clk.Advance(time.Hour)

	n, err = b.svc.CloseExpired(t.Context())
	require.NoError(t, err)
	require.Equal(t, 3, n)

	n, err = b.svc.CloseExpired(t.Context())
	require.NoError(t, err)
	require.Zero(t, n)

	events := b.events(t)
	require.Equal(t, 3, events["job.closed"])
	require.NoError(t, b.svc.CloseOrganization(t.Context(), b.org))
	require.Empty(t, b.find(t, listings.FindInput{}))
	require.Equal(t, 4, b.events(t)["job.closed"]+3)
}

// titlesInEveryState checks that titles of deleted listings are returned, because applications
// show them.
func titlesInEveryState(t *testing.T, b *board) {
	listing := b.post(t, listings.CreateInput{Title: "A"})
	d := b.post(t, listings.CreateInput{Title: "D"})
	require.NoError(t, b.svc.Delete(t.Context(), admin(b.org), d.ID))

	found, err := b.svc.Briefs(t.Context(), []string{listing.ID, d.ID, newID()})
	require.NoError(t, err)

	got := map[string]string{}
	for _, brief := range found {
		got[brief.ID] = brief.Title
	}

	require.Equal(t, map[string]string{listing.ID: "A", d.ID: "D"}, got)
}

// getPosted checks that a listing that was public before it was deleted is returned, for links
// in search engines, and that a draft is not.
func getPosted(t *testing.T, b *board) {
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

// listOpen checks that every position continues the list of open listings, also between
// listings with the same time, and that skip omits listings after it.
func listOpen(t *testing.T, b *board) {
	var want []string
	for i := range 7 {
		l := b.post(t, listings.CreateInput{Title: fmt.Sprint(i)})
		if i == 3 {
			require.NoError(t, b.svc.Delete(t.Context(), admin(b.org), l.ID))
			continue
		}

		want = append(want, l.ID)

		if i%2 == 0 { // some are posted at the same time
			b.clk.Advance(time.Second)
		}
	}

	list := func(after listings.OpenPosition, skip, n int) (found []listings.OpenListing, ids []string) {
		found, err := b.Public.ListOpen(t.Context(), after, skip, n)
		require.NoError(t, err)

		for _, l := range found {
			require.False(t, l.UpdatedAt.IsZero())

			ids = append(ids, l.ID)
		}

		return found, ids
	}

	all, ids := list(listings.OpenPosition{}, 0, 10)
	require.ElementsMatch(t, want, ids)

	for i, l := range all {
		_, rest := list(l.OpenPosition, 0, 10)
		require.Equal(t, ids[i+1:], append([]string{}, rest...))

		_, one := list(l.OpenPosition, 2, 1)
		require.Equal(t, ids[min(i+3, len(ids)):min(i+4, len(ids))], append([]string{}, one...))
	}
}

// briefsInEveryState checks that summaries of listings in every state are returned, and report
// whether the listing is public now.
func briefsInEveryState(t *testing.T, b *board) {
	listing := b.post(t, listings.CreateInput{Title: "A", Details: listings.Details{Location: ptr("Leeds")}})
	deleted := b.post(t, listings.CreateInput{Title: "D"})
	expiring := b.post(
		t,
		listings.CreateInput{
			Title:   "E",
			Details: listings.Details{ApplicationDeadline: ptr(b.clk.Now().Add(time.Hour).Format(time.RFC3339))},
		},
	)
	require.NoError(t, b.svc.Delete(t.Context(), admin(b.org), deleted.ID))

	brief := func() map[string]listings.Brief {
		got, err := b.svc.Briefs(t.Context(), []string{listing.ID, deleted.ID, expiring.ID, newID()})
		require.NoError(t, err)

		briefs := map[string]listings.Brief{}
		for _, l := range got {
			briefs[l.ID] = l
		}

		return briefs
	}

	until := b.clk.Now().Truncate(time.Second).Add(time.Hour)
	want := map[string]listings.Brief{
		listing.ID:  {ID: listing.ID, OrganizationID: b.org, Title: "A", Company: listing.Company, Location: "Leeds", Public: true},
		deleted.ID:  {ID: deleted.ID, OrganizationID: b.org, Title: "D", Company: deleted.Company},
		expiring.ID: {ID: expiring.ID, OrganizationID: b.org, Title: "E", Company: expiring.Company, Public: true, Deadline: until},
	}
	require.Equal(t, want, brief())
	b.clk.Advance(time.Hour)

	expired := want[expiring.ID]
	expired.Public = false
	want[expiring.ID] = expired
	require.Equal(t, want, brief())

	none, err := b.svc.Briefs(t.Context(), nil)
	require.NoError(t, err)
	require.Empty(t, none)
}

// listClosing checks that pages of two contain the public listings that close in a period, the
// earliest first.
func listClosing(t *testing.T, b *board) {
	now := b.clk.Now()
	post := func(after time.Duration) string {
		return b.post(
			t,
			listings.CreateInput{Title: "T", Details: listings.Details{ApplicationDeadline: ptr(now.Add(after).Format(time.RFC3339))}},
		).ID
	}

	late := post(50 * time.Hour)
	third := post(2 * time.Hour)
	first := post(time.Hour)
	second := post(time.Hour)
	closed := post(time.Hour)
	require.NoError(t, b.svc.Delete(t.Context(), admin(b.org), closed))
	b.post(t, listings.CreateInput{Title: "endless"})
	var got []string

	at, id := now, ""
	for {
		found, err := b.svc.ClosingBetween(t.Context(), at, id, now.Add(50*time.Hour-time.Second), 2)
		require.NoError(t, err)

		for _, l := range found {
			got = append(got, l.ID)
			at, id = l.Deadline, l.ID
		}

		if len(found) < 2 {
			break
		}
	}

	require.Equal(t, []string{first, second, third}, got)
	require.NotContains(t, got, late)
}

// hundredListings checks a batch of the maximum size. Three of the updates are special: one id
// occurs twice, one is unknown and one input is invalid.
func hundredListings(t *testing.T, b *board) {
	items := make([]listings.BatchItem[listings.CreateInput], listings.MaxBatch)
	for i := range items {
		items[i].Input = fullInput()
		items[i].Input.Title = fmt.Sprintf("Nurse number%d", i)
	}

	made, err := b.svc.CreateBatch(t.Context(), admin(b.org), items)
	require.NoError(t, err)

	changes := make([]listings.BatchItem[listings.UpdateInput], len(made))
	for i, m := range made {
		require.NoError(t, m.Err)

		changes[i] = listings.BatchItem[listings.UpdateInput]{
			ID:    m.Listing.ID,
			Input: listings.UpdateInput{Title: ptr(fmt.Sprintf("Midwife number%d", i))},
		}
	}

	changes[7].ID = changes[8].ID // the last wins, and each counts
	changes[9].ID = newID()
	changes[10].Input.Title = ptr(" ")
	done, err := b.svc.UpdateBatch(t.Context(), admin(b.org), changes)
	require.NoError(t, err)

	for i, d := range done {
		switch i {
		case 9:
			require.ErrorIs(t, d.Err, listings.ErrJobNotFound)
		case 10:
			require.Equal(t, fault.Invalid, fault.KindOf(d.Err))
		default:
			require.NoError(t, d.Err)
		}
	}

	require.Equal(t, []string{"Midwife number8"}, b.find(t, listings.FindInput{Text: `"number8"`}))
	require.Equal(t, []string{"Nurse number10"}, b.find(t, listings.FindInput{Text: `"number10"`}))
	require.Equal(t, []string{"Nurse number7"}, b.find(t, listings.FindInput{Text: `"number7"`}))

	events := b.events(t)
	require.Equal(t, 100, events["job.created"])

	// One event for two updates of the same listing, none for two failures.
	require.Equal(t, 97, events["job.updated"])
}

// sweepersDoNotCollide checks that four concurrent sweeps close each of 100 listings once.
func sweepersDoNotCollide(t *testing.T, b *board) {
	items := make([]listings.BatchItem[listings.CreateInput], listings.MaxBatch)
	for i := range items {
		items[i].Input = fullInput()
		items[i].Input.ApplicationDeadline = ptr(b.clk.Now().Add(time.Minute).Format(time.RFC3339))
	}

	_, err := b.svc.CreateBatch(t.Context(), admin(b.org), items)
	require.NoError(t, err)
	b.clk.Advance(time.Hour)
	var wg sync.WaitGroup

	errs := make(chan error, 4)
	for range 4 {
		wg.Go(func() { _, err := b.svc.CloseExpired(context.Background()); errs <- err })
	}

	wg.Wait()
	close(errs)

	for err := range errs {
		require.NoError(t, err)
	}

	require.Equal(t, 100, b.events(t)["job.closed"])
}
