package conformance

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/modules/listings"
)

// Cases checks the port listings.Cases.
func Cases(t *testing.T, open ListingsOpener) {
	for name, test := range map[string]func(*testing.T, *board){
		"create and list reports":    casesCreateAndListReports,
		"erased reporter":            casesErasedReporter,
		"expired reports":            casesExpiredReports,
		"create and change case":     casesCreateAndChangeCase,
		"pages and filters of cases": casesPagesAndFilters,
		"concurrent reports":         casesConcurrentReports,
		"suspicious listing":         casesSuspiciousListing,
	} {
		t.Run(name, func(t *testing.T) { t.Parallel(); test(t, newBoard(t, open)) })
	}
}

// report stores a report and returns it.
func (b *board) report(t testing.TB, listingID, reporterID string) listings.JobReport {
	t.Helper()

	r := listings.JobReport{
		ID:         newID(),
		ListingID:  listingID,
		ReporterID: reporterID,
		Reason:     listings.ReportFees,
		Text:       "They ask for \"money\" \U0001F4B0 ' % _",
		Email:      "jo@example.org",
		CreatedAt:  b.clk.Now(),
	}
	require.NoError(t, b.Cases.CreateReport(t.Context(), r))

	return r
}

// reports returns the newest n reports about the listing.
func (b *board) reports(t testing.TB, listingID string, n int) []listings.JobReport {
	t.Helper()

	found, err := b.Cases.ListReports(t.Context(), listingID, n)
	require.NoError(t, err)

	return found
}

// casesCreateAndListReports checks that the reports of a listing are listed newest first, up to
// the limit.
func casesCreateAndListReports(t *testing.T, b *board) {
	listing, otherID := newID(), newID()
	require.Empty(t, b.reports(t, listing, 10))

	first, second := b.report(t, listing, ""), b.report(t, listing, newID())
	b.report(t, otherID, newID())
	require.Equal(t, []listings.JobReport{second, first}, b.reports(t, listing, 10))
	require.Equal(t, []listings.JobReport{second}, b.reports(t, listing, 1))
}

// casesErasedReporter checks that the reports of a deleted user stay without the id and address,
// and that other reports do not change.
func casesErasedReporter(t *testing.T, b *board) {
	listing, user := newID(), newID()
	own := b.report(t, listing, user)
	guests := b.report(t, listing, "")
	theirs := b.report(t, listing, newID())
	require.NoError(t, b.Cases.EraseReporter(t.Context(), user))

	own.ReporterID, own.Email = "", ""
	require.Equal(t, []listings.JobReport{theirs, guests, own}, b.reports(t, listing, 10))
}

// casesExpiredReports checks that only reports from before the given time are deleted.
func casesExpiredReports(t *testing.T, b *board) {
	s, listing := retentionOf(t, b.Retention), newID()
	b.report(t, listing, "")
	b.clk.Advance(time.Hour)

	kept := b.report(t, listing, "")
	n, err := s.DeleteBefore(t.Context(), listings.ReportKind, b.clk.Now(), 10)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.Equal(t, []listings.JobReport{kept}, b.reports(t, listing, 10))
}

// caseOf returns the case of the listing, or the zero value.
func (b *board) caseOf(t testing.TB, listingID string) listings.Case {
	t.Helper()

	c, err := b.Cases.Get(t.Context(), listingID)
	require.NoError(t, err)

	return c
}

// upsertCase stores the case in a transaction.
func (b *board) upsertCase(t testing.TB, c listings.Case) {
	t.Helper()
	require.NoError(t, b.Tx.Do(t.Context(), func(ctx context.Context) error { return b.Cases.Upsert(ctx, c) }))
}

// casesCreateAndChangeCase checks that a case is stored with all fields, and that a new case of
// the same listing replaces it.
func casesCreateAndChangeCase(t *testing.T, b *board) {
	require.Zero(t, b.caseOf(t, newID()))

	now := b.clk.Now()
	moderationCase := listings.Case{
		ID:             newID(),
		ListingID:      newID(),
		OrganizationID: b.org,
		State:          listings.CaseOpen,
		Reports:        3,
		Score:          70,
		Held:           true,
		OpenedAt:       now,
	}
	b.upsertCase(t, moderationCase)
	require.Equal(t, moderationCase, b.caseOf(t, moderationCase.ListingID))

	later := now.Add(1234567 * time.Microsecond)
	moderationCase.ID = newID()
	moderationCase.State = listings.CaseTakenDown
	moderationCase.Reports = 0
	moderationCase.Score = 0
	moderationCase.Held = false
	moderationCase.Note = "No \"fees\" \U0001F6AB"
	moderationCase.DecidedBy = newID()
	moderationCase.DecidedAt = &later
	moderationCase.OpenedAt = later
	b.upsertCase(t, moderationCase)
	require.Equal(t, moderationCase, b.caseOf(t, moderationCase.ListingID))
}

// casesPagesAndFilters checks the filters of cases, which are listed in the order of their
// creation.
func casesPagesAndFilters(t *testing.T, b *board) {
	var all []listings.Case
	for i := range 5 {
		moderationCase := listings.Case{
			ID:             newID(),
			ListingID:      newID(),
			OrganizationID: b.org,
			State:          listings.CaseOpen,
			OpenedAt:       b.clk.Now(),
		}
		switch i {
		case 1:
			moderationCase.State = listings.CaseKept
		case 3:
			moderationCase.OrganizationID, moderationCase.Held = newID(), true
		}

		b.upsertCase(t, moderationCase)

		all = append(all, moderationCase)
	}

	listed := func(f listings.CaseFilter, r page.Request) page.Result[listings.Case] {
		found, err := b.Cases.List(t.Context(), f, r)
		require.NoError(t, err)
		return found
	}

	require.Equal(t, all, listed(listings.CaseFilter{}, page.After("", 10)).Items)
	require.Equal(t, all[3:4], listed(listings.CaseFilter{Held: true}, page.After("", 10)).Items)
	require.Equal(t, all[3:4],
		listed(listings.CaseFilter{OrganizationID: all[3].OrganizationID}, page.After("", 10)).Items)

	ofListings := listings.CaseFilter{
		ListingIDs:     []string{all[0].ListingID, all[2].ListingID, all[3].ListingID, newID()},
		OrganizationID: b.org,
	}
	require.Equal(t, []listings.Case{all[0], all[2]}, listed(ofListings, page.After("", 10)).Items)

	open := listings.CaseFilter{State: listings.CaseOpen}
	first := listed(open, page.Request{Number: 1, Size: 3})
	require.Equal(t, []listings.Case{all[0], all[2], all[3]}, first.Items)
	require.Equal(t, 4, first.Total)

	second := listed(open, page.After(first.NextCursor, 3))
	require.Equal(t, all[4:], second.Items)
	require.Empty(t, second.NextCursor)
}

// casesConcurrentReports checks that ten concurrent reports about a listing are all counted in one
// case.
func casesConcurrentReports(t *testing.T, b *board) {
	listing := b.post(t, listings.CreateInput{Title: "Nurse"})
	runConcurrently(t, 10, func(int) error {
		return b.svc.ReportJob(t.Context(), admin(""), listing.ID, listings.ReportInput{Reason: "fraud"})
	})
	require.Equal(t, 10, b.caseOf(t, listing.ID).Reports)
	require.Len(t, b.reports(t, listing.ID, 100), 10)
}

// casesSuspiciousListing checks that a listing whose text resembles a fraud opens a case with a
// score, but stays public until a moderator decides.
func casesSuspiciousListing(t *testing.T, b *board) {
	usual := b.post(t, listings.CreateInput{Title: "Nurse", Description: "Join our team on the ward."})
	require.Zero(t, b.caseOf(t, usual.ID))

	listing := b.post(t,
		listings.CreateInput{Title: "Nurse", Description: "Pay the registration fee and write to us on WhatsApp."})
	c := b.caseOf(t, listing.ID)
	require.Equal(t, listings.CaseOpen, c.State)
	require.Equal(t, 90, c.Score)

	public, err := b.public(t.Context(), listing.ID)
	require.NoError(t, err, "a listing with a score stays public")
	require.Equal(t, listing.ID, public.ID)
}
