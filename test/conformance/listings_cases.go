package conformance

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/modules/listings"
)

// Cases checks the port listings.Cases. Jobseekers and guests report listings, for example as a fraud. A case is the record
// of the moderation of one listing, with the number of reports. A listing has at most one case.
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

	report := listings.JobReport{
		ID:         newID(),
		ListingID:  listingID,
		ReporterID: reporterID,
		Reason:     listings.ReportFees,
		Text:       "They ask for \"money\" \U0001F4B0 ' % _",
		Email:      "jo@example.org",
		CreatedAt:  b.clk.Now(),
	}
	require.NoError(t, b.Cases.CreateReport(t.Context(), report))

	return report
}

// guestReporter is the empty id of a reporter who is not signed in.
const guestReporter = ""

// reports returns the newest reports about the listing, at most limit.
func (b *board) reports(t testing.TB, listingID string, limit int) []listings.JobReport {
	t.Helper()

	found, err := b.Cases.ListReports(t.Context(), listingID, limit)
	require.NoError(t, err)

	return found
}

// casesCreateAndListReports checks that the reports of a listing are listed newest first, up to the limit, and those
// of other listings are not.
func casesCreateAndListReports(t *testing.T, b *board) {
	listing, otherListing := newID(), newID()
	require.Empty(t, b.reports(t, listing, wholeList))

	ofGuest := b.report(t, listing, guestReporter)
	ofUser := b.report(t, listing, newID())
	b.report(t, otherListing, newID())
	require.Equal(t, []listings.JobReport{ofUser, ofGuest}, b.reports(t, listing, wholeList))
	require.Equal(t, []listings.JobReport{ofUser}, b.reports(t, listing, 1), "the newest")
}

// casesErasedReporter checks that a report stays when its reporter is deleted, without the id and the address of the
// reporter. Reports of guests and of other users do not change.
func casesErasedReporter(t *testing.T, b *board) {
	listing, deletedUser := newID(), newID()
	erased := b.report(t, listing, deletedUser)
	ofGuest := b.report(t, listing, guestReporter)
	ofOtherUser := b.report(t, listing, newID())
	require.NoError(t, b.Cases.EraseReporter(t.Context(), deletedUser))

	erased.ReporterID, erased.Email = "", ""
	require.Equal(t, []listings.JobReport{ofOtherUser, ofGuest, erased}, b.reports(t, listing, wholeList))
}

// casesExpiredReports checks that a report from before the given time is deleted, and one from exactly that time is
// kept.
func casesExpiredReports(t *testing.T, b *board) {
	store, listing := retentionOf(t, b.Retention), newID()
	b.report(t, listing, guestReporter)
	b.clk.Advance(time.Hour)

	kept := b.report(t, listing, guestReporter)
	deleted, err := store.DeleteBefore(t.Context(), listings.ReportKind, kept.CreatedAt, 10)
	require.NoError(t, err)
	require.Equal(t, 1, deleted)
	require.Equal(t, []listings.JobReport{kept}, b.reports(t, listing, wholeList))
}

// caseOf returns the case of the listing, or the zero value if it has none.
func (b *board) caseOf(t testing.TB, listingID string) listings.Case {
	t.Helper()

	moderationCase, err := b.Cases.Get(t.Context(), listingID)
	require.NoError(t, err)

	return moderationCase
}

// upsertCase stores the case in a transaction.
func (b *board) upsertCase(t testing.TB, moderationCase listings.Case) {
	t.Helper()
	require.NoError(t, b.Tx.Do(t.Context(), func(ctx context.Context) error { return b.Cases.Upsert(ctx, moderationCase) }))
}

// casesCreateAndChangeCase checks that a case is stored with all fields, and that a new case of
// the same listing replaces it.
func casesCreateAndChangeCase(t *testing.T, b *board) {
	require.Zero(t, b.caseOf(t, newID()), "a listing without a case")

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

	// The new case has other values in all fields but the listing and its organization.
	later := now.Add(unroundedDelay)
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

// casesPagesAndFilters checks lists of cases with each filter, and pages of them. Cases are listed in the order of
// their creation.
func casesPagesAndFilters(t *testing.T, b *board) {
	// create stores a case of another listing at each call.
	create := func(organizationID string, state listings.CaseState, held bool) listings.Case {
		moderationCase := listings.Case{
			ID:             newID(),
			ListingID:      newID(),
			OrganizationID: organizationID,
			State:          state,
			Held:           held,
			OpenedAt:       b.clk.Now(),
		}
		b.upsertCase(t, moderationCase)

		return moderationCase
	}

	const held = true

	first := create(b.org, listings.CaseOpen, !held)
	kept := create(b.org, listings.CaseKept, !held)
	second := create(b.org, listings.CaseOpen, !held)
	heldOfOtherOrg := create(newID(), listings.CaseOpen, held)
	last := create(b.org, listings.CaseOpen, !held)

	list := func(filter listings.CaseFilter, request page.Request) page.Result[listings.Case] {
		found, err := b.Cases.List(t.Context(), filter, request)
		require.NoError(t, err)
		return found
	}

	// Each filter.
	firstTen := page.After("", 10)
	require.Equal(t, []listings.Case{first, kept, second, heldOfOtherOrg, last},
		list(listings.CaseFilter{}, firstTen).Items)
	require.Equal(t, []listings.Case{heldOfOtherOrg}, list(listings.CaseFilter{Held: true}, firstTen).Items)
	require.Equal(t, []listings.Case{heldOfOtherOrg},
		list(listings.CaseFilter{OrganizationID: heldOfOtherOrg.OrganizationID}, firstTen).Items)

	// Two filters together. One listing is of another organization, and one has no case.
	someOfOrg := listings.CaseFilter{
		ListingIDs:     []string{first.ListingID, second.ListingID, heldOfOtherOrg.ListingID, newID()},
		OrganizationID: b.org,
	}
	require.Equal(t, []listings.Case{first, second}, list(someOfOrg, firstTen).Items)

	// Pages of three contain the four open cases.
	openCases := listings.CaseFilter{State: listings.CaseOpen}
	firstPage := list(openCases, page.Request{Number: 1, Size: 3})
	require.Equal(t, []listings.Case{first, second, heldOfOtherOrg}, firstPage.Items)
	require.Equal(t, 4, firstPage.Total)

	secondPage := list(openCases, page.After(firstPage.NextCursor, 3))
	require.Equal(t, []listings.Case{last}, secondPage.Items)
	require.Empty(t, secondPage.NextCursor, "the last page")
}

// casesConcurrentReports checks that concurrent reports about a listing are all stored, and counted in one case.
func casesConcurrentReports(t *testing.T, b *board) {
	const reports = 10

	listing := b.post(t, listings.CreateInput{Title: "Nurse"})
	noOrganization := ""
	runConcurrently(t, reports, func(int) error {
		return b.svc.ReportJob(t.Context(), admin(noOrganization), listing.ID, listings.ReportInput{Reason: "fraud"})
	})
	require.Equal(t, reports, b.caseOf(t, listing.ID).Reports)
	require.Len(t, b.reports(t, listing.ID, wholeList), reports)
}

// casesSuspiciousListing checks that a listing whose text resembles a fraud opens a case with a
// score, but stays public until a moderator decides.
func casesSuspiciousListing(t *testing.T, b *board) {
	usual := b.post(t, listings.CreateInput{Title: "Nurse", Description: "Join our team on the ward."})
	require.Zero(t, b.caseOf(t, usual.ID), "a usual text opens no case")

	listing := b.post(t,
		listings.CreateInput{Title: "Nurse", Description: "Pay the registration fee and write to us on WhatsApp."})
	const feeAndWhatsAppScore = 90 // of a text that mentions both

	opened := b.caseOf(t, listing.ID)
	require.Equal(t, listings.CaseOpen, opened.State)
	require.Equal(t, feeAndWhatsAppScore, opened.Score)

	public, err := b.public(t.Context(), listing.ID)
	require.NoError(t, err, "a listing with a score stays public")
	require.Equal(t, listing.ID, public.ID)
}
