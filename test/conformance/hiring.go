package conformance

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/core/clock"
	"github.com/locumhq/locum/core/event"
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/modules/hiring"
)

// HiringOpener returns an empty storage with the current schema, whose time is that of
// the clock.
type HiringOpener = func(t testing.TB, clk clock.Clock) adapters.HiringStorage

// Hiring checks the storage of modules/hiring.
func Hiring(t *testing.T, open HiringOpener) {
	t.Run("applications", func(t *testing.T) { Applications(t, open) })
	t.Run("application lists", func(t *testing.T) { ApplicationLists(t, open) })
	t.Run("application statuses", func(t *testing.T) { ApplicationStatuses(t, open) })
	t.Run("appointments", func(t *testing.T) { Appointments(t, open) })
	t.Run("messages", func(t *testing.T) { Messages(t, open) })
	t.Run("application notes", func(t *testing.T) { ApplicationNotes(t, open) })
	t.Run("application ratings", func(t *testing.T) { ApplicationRatings(t, open) })
	t.Run("application documents", func(t *testing.T) { ApplicationDocuments(t, open) })
	t.Run("exports", func(t *testing.T) { Exports(t, open) })
	t.Run("personal data", func(t *testing.T) { ApplicantPersonalData(t, open) })
}

// openHiring returns an empty storage and a time with microseconds.
func openHiring(t *testing.T, open HiringOpener) (adapters.HiringStorage, time.Time) {
	t.Helper()
	t.Parallel()
	clk := newFakeClock()
	s := open(t, clk)
	requirePorts(t, s)
	return s, clk.Now().Add(1234567 * time.Microsecond)
}

// newApplication returns a pending application to a new listing of the organization.
func newApplication(organization, applicant string, at time.Time) hiring.Application {
	return hiring.Application{ID: newID(), ListingID: newID(), OrganizationID: organization, ApplicantID: applicant,
		Status: hiring.Pending, AppliedAt: at, ChangedAt: at}
}

// apply stores a new application.
func apply(t testing.TB, s adapters.HiringStorage, organization, applicant string, at time.Time) hiring.Application {
	t.Helper()
	a := newApplication(organization, applicant, at)
	require.NoError(t, s.Applications.Create(context.Background(), a))
	return a
}

// changeOf returns the timeline entry of an employer's change to the current status.
func changeOf(application hiring.Application, from hiring.Status) hiring.Change {
	return hiring.Change{
		ID:            newID(),
		ApplicationID: application.ID,
		Actor:         hiring.ByEmployer,
		ActorID:       newID(),
		From:          from,
		To:            application.Status,
		At:            application.ChangedAt,
	}
}

// toOrganization and ofApplicant return the visibility for one side.
func toOrganization(id string) hiring.Visibility { return hiring.Visibility{OrganizationID: id} }

// ofApplicant returns the visibility for the applicant.
func ofApplicant(id string) hiring.Visibility { return hiring.Visibility{ApplicantID: id} }

// isVisible reports whether the applicant sees the application, and requires that it is
// as given.
func isVisible(t *testing.T, s adapters.HiringStorage, application hiring.Application) bool {
	t.Helper()
	got, err := s.Applications.Get(context.Background(), ofApplicant(application.ApplicantID), application.ID)
	if errors.Is(err, hiring.ErrNotFound) {
		return false
	}
	require.NoError(t, err)
	require.Equal(t, application, got)
	return true
}

// Applications checks how the port hiring.Applications stores applications.
func Applications(t *testing.T, open HiringOpener) {
	t.Run("create, get, update", func(t *testing.T) { applicationsCreateGetUpdate(t, open) })
	t.Run("one per applicant and listing", func(t *testing.T) { applicationsOnePerApplicantAndListing(t, open) })
	t.Run("one per applicant and listing, concurrently", func(t *testing.T) { applicationsOnePerApplicantAndListingConcurrently(t, open) })
	t.Run("rollback", func(t *testing.T) { applicationsRollback(t, open) })
	t.Run("other owner", func(t *testing.T) { applicationsOtherOwner(t, open) })
	t.Run("withdrawn by the applicant", func(t *testing.T) { applicationsWithdrawn(t, open) })
}

// applicationsCreateGetUpdate checks that all fields are stored unchanged, with characters that
// need escaping.
func applicationsCreateGetUpdate(t *testing.T, open HiringOpener) {
	ctx := context.Background()
	storage, now := openHiring(t, open)
	application := newApplication(newID(), newID(), now)
	application.CoverLetter, application.ResumeURL = "Zoë's \"letter\"\n\t\\ % _ \U0001F469", "https://example.org/cv.pdf"
	application.Answers = []hiring.Answer{{QuestionID: "b", Answer: "é\n\"'"}, {QuestionID: "a", Answer: ""}}
	require.NoError(t, storage.Applications.Create(ctx, application))
	require.True(t, isVisible(t, storage, application))
	got, err := storage.Applications.Get(ctx, toOrganization(application.OrganizationID), application.ID)
	require.NoError(t, err)
	require.Equal(t, application, got)

	application.Tracker, application.TrackerColor = "in-progress", "bg-red"
	for range 2 {
		require.NoError(t, storage.Applications.Update(ctx, application.ApplicantID, application))
		require.True(t, isVisible(t, storage, application))
	}
}

// applicationsOnePerApplicantAndListing checks that a second application to the same listing is
// refused, also in a transaction, whose other changes are then rolled back, and after a
// withdrawal.
func applicationsOnePerApplicantAndListing(t *testing.T, open HiringOpener) {
	ctx := context.Background()
	storage, now := openHiring(t, open)
	application := apply(t, storage, newID(), newID(), now)
	second := newApplication(application.OrganizationID, application.ApplicantID, now)
	otherApplication := newApplication(application.OrganizationID, application.ApplicantID, now)
	second.ListingID = application.ListingID
	require.ErrorIs(t, storage.Applications.Create(ctx, second), hiring.ErrAlreadyApplied)
	require.ErrorIs(t, storage.Tx.Do(ctx, func(ctx context.Context) error {
		return errors.Join(storage.Applications.Create(ctx, otherApplication), storage.Applications.Create(ctx, second))
	}), hiring.ErrAlreadyApplied)
	require.False(t, isVisible(t, storage, otherApplication), "the transaction failed")
	require.ErrorIs(t, storage.Tx.Do(ctx, func(ctx context.Context) error {
		_, err := storage.Applications.Get(ctx, toOrganization(application.OrganizationID), application.ID)
		return errors.Join(err, storage.Applications.Create(ctx, otherApplication), storage.Applications.Create(ctx, second))
	}), hiring.ErrAlreadyApplied, "after a read")
	require.False(t, isVisible(t, storage, otherApplication), "the transaction failed after a read")
	require.NoError(t, storage.Applications.Create(ctx, otherApplication))
	require.False(t, isVisible(t, storage, second))
	application.Withdraw(now)
	require.NoError(t, storage.Applications.Update(ctx, application.ApplicantID, application))
	require.ErrorIs(t, storage.Applications.Create(ctx, second), hiring.ErrAlreadyApplied, "after a withdrawal")
}

// applicationsOnePerApplicantAndListingConcurrently checks that one of twelve transactions
// creates the application, and that only its event is recorded.
func applicationsOnePerApplicantAndListingConcurrently(t *testing.T, open HiringOpener) {
	ctx := context.Background()
	storage, now := openHiring(t, open)
	application := newApplication(newID(), newID(), now)
	created := atOnce(t, 12, func(int) (bool, error) {
		mine := application
		mine.ID = newID()
		err := storage.Tx.Do(ctx, func(ctx context.Context) error {
			if err := storage.Applications.Create(ctx, mine); err != nil {
				return err
			}
			return storage.Events.Record(ctx, event.ApplicationSubmitted{ApplicationID: mine.ID, SubmittedAt: now})
		})
		if errors.Is(err, hiring.ErrAlreadyApplied) {
			return false, nil
		}
		return err == nil, err
	})
	require.Equal(t, 1, created)
	recorded, err := storage.Outbox.Claim(ctx, 100, time.Hour)
	require.NoError(t, err)
	require.Len(t, recorded, 1)
	_, err = storage.Applications.Get(ctx, ofApplicant(application.ApplicantID), recorded[0].Subject)
	require.NoError(t, err)
}

// applicationsRollback checks that a rolled back transaction changes neither the application,
// the timeline nor the list.
func applicationsRollback(t *testing.T, open HiringOpener) {
	ctx := context.Background()
	first := page.Request{Number: 1, Size: 10}
	storage, now := openHiring(t, open)
	application, boom := apply(t, storage, newID(), newID(), now), errors.New("boom")
	require.ErrorIs(t, storage.Tx.Do(ctx, func(ctx context.Context) error {
		got, err := storage.Applications.Get(ctx, ofApplicant(application.ApplicantID), application.ID)
		require.NoError(t, err)
		got.Withdraw(now)
		require.NoError(t, storage.Applications.Update(ctx, application.ApplicantID, got, changeOf(got, hiring.Pending)))
		require.NoError(t, storage.Applications.Create(ctx, newApplication(application.OrganizationID, application.ApplicantID, now)))
		return boom
	}), boom)
	got, err := storage.Applications.List(ctx, ofApplicant(application.ApplicantID), hiring.ApplicationFilter{}, first)
	require.NoError(t, err)
	require.Equal(t, []hiring.Application{application}, got.Items)
	timeline, err := storage.Applications.ListChanges(ctx, application.OrganizationID, application.ID, 10)
	require.NoError(t, err)
	require.Empty(t, timeline)
}

// applicationsOtherOwner checks that an application can be neither read, counted nor changed
// with the id of another organization or applicant, or with no id at all.
func applicationsOtherOwner(t *testing.T, open HiringOpener) {
	ctx := context.Background()
	first := page.Request{Number: 1, Size: 10}
	storage, now := openHiring(t, open)
	application := apply(t, storage, newID(), newID(), now)
	stolen := application
	stolen.Status, stolen.Tracker = hiring.Accepted, "completed"
	require.Error(t, storage.Applications.UpdateStatuses(ctx, newID(), []hiring.Application{stolen}, nil))
	require.Error(t, storage.Applications.Update(ctx, newID(), stolen))
	for _, visibility := range []hiring.Visibility{
		{},
		toOrganization(newID()),
		ofApplicant(newID()),
		toOrganization(application.ApplicantID),
		{OrganizationID: newID(), ApplicantID: newID()},
	} {
		_, err := storage.Applications.Get(ctx, visibility, application.ID)
		require.ErrorIs(t, err, hiring.ErrNotFound)
		for _, f := range []hiring.ApplicationFilter{
			{},
			{IDs: []string{application.ID}},
			{ListingIDs: []string{application.ListingID}},
			{ApplicantID: application.ApplicantID},
		} {
			found, err := storage.Applications.List(ctx, visibility, f, first)
			require.NoError(t, err)
			require.Empty(t, found.Items)
			require.Zero(t, found.Total)
			counts, err := storage.Applications.CountByStatus(ctx, visibility, f)
			require.NoError(t, err)
			require.Empty(t, counts)
		}
	}
	timeline, err := storage.Applications.ListChanges(ctx, newID(), application.ID, 10)
	require.NoError(t, err)
	require.Empty(t, timeline)
	require.True(t, isVisible(t, storage, application))
}

// applicationsWithdrawn checks that an application that its applicant has withdrawn is visible
// to the organization only, and cannot be changed any more.
func applicationsWithdrawn(t *testing.T, open HiringOpener) {
	ctx := context.Background()
	first := page.Request{Number: 1, Size: 10}
	storage, now := openHiring(t, open)
	application := apply(t, storage, newID(), newID(), now)
	application.Withdraw(now)
	require.NoError(t, storage.Applications.Update(ctx, application.ApplicantID, application, changeOf(application, hiring.Pending)))
	require.False(t, isVisible(t, storage, application))
	mine, err := storage.Applications.List(ctx, ofApplicant(application.ApplicantID), hiring.ApplicationFilter{}, first)
	require.NoError(t, err)
	require.Zero(t, mine.Total)
	theirs, err := storage.Applications.List(ctx, toOrganization(application.OrganizationID), hiring.ApplicationFilter{}, first)
	require.NoError(t, err)
	require.Equal(t, []hiring.Application{application}, theirs.Items)
	reopened := application
	reopened.Status, reopened.WithdrawnAt = hiring.Accepted, nil
	require.Error(t, storage.Applications.UpdateStatuses(ctx, application.OrganizationID, []hiring.Application{reopened}, nil))
	require.Error(t, storage.Applications.Update(ctx, application.ApplicantID, reopened))
}

// ApplicationLists checks the lists of the port hiring.Applications, and the port
// hiring.ApplicationCounts.
func ApplicationLists(t *testing.T, open HiringOpener) {
	t.Run("visibility and filters", func(t *testing.T) { applicationListsVisibilityAndFilters(t, open) })
	t.Run("count by status", func(t *testing.T) { applicationListsCountByStatus(t, open) })
	t.Run("count by listing", func(t *testing.T) { applicationListsCountByListing(t, open) })
	t.Run("count by status, as the applicant sees it", func(t *testing.T) { applicationListsCountByStatusForApplicant(t, open) })
	t.Run("more than the exact total", func(t *testing.T) { applicationListsMoreThanTheExactTotal(t, open) })
}

// applicationListsVisibilityAndFilters checks lists and counts of both sides. Three
// visibilities are used: of the organization (theirs), of the applicant Ann (own) and of both
// together.
func applicationListsVisibilityAndFilters(t *testing.T, open HiringOpener) {
	ctx := context.Background()
	storage, now := openHiring(t, open)
	org, ann, otherID := newID(), newID(), newID()
	// at stores an application that was submitted days after now.
	at := func(organization, applicant string, status hiring.Status, days int) hiring.Application {
		a := newApplication(organization, applicant, now.AddDate(0, 0, days))
		a.CoverLetter, a.ResumeURL, a.Answers, a.Status = "Letter", "https://example.org/cv.pdf", []hiring.Answer{
			{QuestionID: "a", Answer: "b"},
		}, status
		require.NoError(t, storage.Applications.Create(ctx, a))
		return a
	}
	first := at(org, newID(), hiring.Pending, 0)
	second := at(org, ann, hiring.Review, 1)
	third := at(otherID, ann, hiring.Pending, 2)
	withdrawn := at(org, ann, hiring.Pending, 3)
	withdrawn.WithdrawnAt, withdrawn.Status = &now, hiring.Withdrawn
	require.NoError(t, storage.Applications.Update(ctx, ann, withdrawn))
	elsewhere := at(otherID, newID(), hiring.Pending, 4)
	theirs := toOrganization(org)
	own := ofApplicant(ann)
	both := hiring.Visibility{OrganizationID: org, ApplicantID: ann}
	for _, c := range []struct {
		name string
		v    hiring.Visibility
		f    hiring.ApplicationFilter
		want []hiring.Application
	}{
		{"organization", theirs, hiring.ApplicationFilter{}, []hiring.Application{withdrawn, second, first}},
		{"applicant", own, hiring.ApplicationFilter{}, []hiring.Application{third, second}},
		{"both", both, hiring.ApplicationFilter{}, []hiring.Application{withdrawn, third, second, first}},
		{"none", hiring.Visibility{}, hiring.ApplicationFilter{}, nil},
		{
			"ids",
			both,
			hiring.ApplicationFilter{IDs: []string{first.ID, third.ID, elsewhere.ID, newID()}},
			[]hiring.Application{third, first},
		},
		{"listing", both, hiring.ApplicationFilter{ListingIDs: []string{second.ListingID}}, []hiring.Application{second}},
		{
			"listings",
			theirs,
			hiring.ApplicationFilter{ListingIDs: []string{second.ListingID, third.ListingID, first.ListingID}},
			[]hiring.Application{second, first},
		},
		{"applicant of organization", theirs, hiring.ApplicationFilter{ApplicantID: ann}, []hiring.Application{withdrawn, second}},
		{"other applicant", own, hiring.ApplicationFilter{ApplicantID: first.ApplicantID}, nil},
		{
			"statuses",
			both,
			hiring.ApplicationFilter{Statuses: []hiring.Status{hiring.Review, hiring.Withdrawn}},
			[]hiring.Application{withdrawn, second},
		},
		{
			"times",
			both,
			hiring.ApplicationFilter{AppliedFrom: second.AppliedAt, AppliedUntil: withdrawn.AppliedAt},
			[]hiring.Application{third, second},
		},
		{"only withdrawn", own, hiring.ApplicationFilter{Withdrawn: hiring.OnlyWithdrawn}, []hiring.Application{withdrawn}},
		{"include withdrawn", own, hiring.ApplicationFilter{Withdrawn: hiring.IncludeWithdrawn,
			ListingIDs: []string{first.ListingID, third.ListingID, withdrawn.ListingID}}, []hiring.Application{withdrawn, third}},
		{"include withdrawn of ids", own, hiring.ApplicationFilter{Withdrawn: hiring.IncludeWithdrawn,
			IDs: []string{first.ID, withdrawn.ID}}, []hiring.Application{withdrawn}},
		{"include all withdrawn", own, hiring.ApplicationFilter{Withdrawn: hiring.IncludeWithdrawn}, []hiring.Application{withdrawn, third, second}},
	} {
		list := func(f hiring.ApplicationFilter) []hiring.Application {
			return walk(t, 2, func(r page.Request) (page.Result[hiring.Application], error) {
				return storage.Applications.List(ctx, c.v, f, r)
			})
		}
		brief := slices.Clone(c.want) // lists have no details unless they are requested
		for i := range brief {
			brief[i].CoverLetter, brief[i].ResumeURL, brief[i].Answers = "", "", nil
		}
		require.ElementsMatch(t, brief, list(c.f), c.name)
		c.f.Details = true
		got := list(c.f)
		require.Len(t, got, len(c.want), c.name)
		for i := range got {
			require.Equal(t, c.want[i], got[i], c.name)
		}
		counts, err := storage.Applications.CountByStatus(ctx, c.v, c.f)
		require.NoError(t, err)
		total := 0
		for _, n := range counts {
			total += n
		}
		require.Equal(t, len(c.want), total, c.name)
	}
	for _, c := range []struct {
		v    hiring.Visibility
		a    hiring.Application
		sees bool
	}{
		{theirs, withdrawn, true}, {own, withdrawn, false}, {both, withdrawn, true},
		{both, third, true}, {own, third, true}, {theirs, third, false}, {both, elsewhere, false},
	} {
		got, err := storage.Applications.Get(ctx, c.v, c.a.ID)
		if c.sees {
			require.NoError(t, err)
			require.Equal(t, c.a, got)
		} else {
			require.ErrorIs(t, err, hiring.ErrNotFound)
		}
	}
}

// applicationListsCountByStatus checks the counts for filters by status, listing and time. The
// end of a period does not belong to it.
func applicationListsCountByStatus(t *testing.T, open HiringOpener) {
	ctx := context.Background()
	storage, now := openHiring(t, open)
	org, listing := newID(), newID()
	var all []hiring.Application
	for i, status := range []hiring.Status{hiring.Pending, hiring.Pending, hiring.Accepted, hiring.Withdrawn} {
		a := newApplication(org, newID(), now.Add(time.Duration(i)*24*time.Hour))
		if a.Status = status; i < 2 {
			a.ListingID = listing
		}
		require.NoError(t, storage.Applications.Create(ctx, a))
		all = append(all, a)
	}
	for _, c := range []struct {
		f    hiring.ApplicationFilter
		want map[hiring.Status]int
	}{
		{hiring.ApplicationFilter{}, map[hiring.Status]int{hiring.Pending: 2, hiring.Accepted: 1, hiring.Withdrawn: 1}},
		{hiring.ApplicationFilter{Statuses: []hiring.Status{hiring.Accepted}}, map[hiring.Status]int{hiring.Accepted: 1}},
		{hiring.ApplicationFilter{ListingIDs: []string{listing}}, map[hiring.Status]int{hiring.Pending: 2}},
		{
			hiring.ApplicationFilter{AppliedFrom: all[1].AppliedAt, AppliedUntil: all[3].AppliedAt},
			map[hiring.Status]int{hiring.Pending: 1, hiring.Accepted: 1},
		},
	} {
		got, err := storage.Applications.CountByStatus(ctx, toOrganization(org), c.f)
		require.NoError(t, err)
		require.Equal(t, c.want, got)
	}
}

// applicationListsCountByListing checks that withdrawn applications are counted, and those for
// other organizations are not. A listing without applications has no entry.
func applicationListsCountByListing(t *testing.T, open HiringOpener) {
	ctx := context.Background()
	storage, now := openHiring(t, open)
	org, listing := newID(), newID()
	for _, status := range []hiring.Status{hiring.Pending, hiring.Withdrawn} {
		a := newApplication(org, newID(), now)
		a.ListingID, a.Status = listing, status
		require.NoError(t, storage.Applications.Create(ctx, a))
	}
	one, foreign := apply(t, storage, org, newID(), now), apply(t, storage, newID(), newID(), now)
	got, err := storage.Counts.CountByListing(ctx, org, []string{listing, one.ListingID, foreign.ListingID, newID()})
	require.NoError(t, err)
	require.Equal(t, map[string]int{listing: 2, one.ListingID: 1}, got)
	got, err = storage.Counts.CountByListing(ctx, org, []string{one.ListingID})
	require.NoError(t, err)
	require.Equal(t, map[string]int{one.ListingID: 1}, got)
}

// applicationListsCountByStatusForApplicant checks that an applicant's applications are counted
// by their tracker, if there is one, and otherwise by status.
func applicationListsCountByStatusForApplicant(t *testing.T, open HiringOpener) {
	ctx := context.Background()
	storage, now := openHiring(t, open)
	ann, org := newID(), newID()
	apply(t, storage, newID(), ann, now)
	reviewed := apply(t, storage, org, ann, now)
	tracked := apply(t, storage, newID(), ann, now)
	gone := apply(t, storage, newID(), ann, now)
	apply(t, storage, newID(), newID(), now)
	reviewed.Status = hiring.Review
	require.NoError(t, storage.Applications.UpdateStatuses(ctx, org, []hiring.Application{reviewed}, nil))
	tracked.Tracker = "in-progress"
	require.NoError(t, storage.Applications.Update(ctx, ann, tracked))
	gone.WithdrawnAt = &now
	require.NoError(t, storage.Applications.Update(ctx, ann, gone))
	second := apply(t, storage, newID(), ann, now)
	second.Status, second.Tracker = hiring.Review, hiring.Pending
	require.NoError(t, storage.Applications.Update(ctx, ann, second))
	got, err := storage.Applications.CountByStatus(ctx, ofApplicant(ann), hiring.ApplicationFilter{})
	require.NoError(t, err)
	require.Equal(t, map[hiring.Status]int{hiring.Pending: 2, hiring.Review: 1, "in-progress": 1}, got)
	got, err = storage.Applications.CountByStatus(ctx, hiring.Visibility{OrganizationID: org, ApplicantID: ann}, hiring.ApplicationFilter{})
	require.NoError(t, err)
	require.Equal(t, map[hiring.Status]int{hiring.Pending: 2, hiring.Review: 1, "in-progress": 1}, got)
}

// applicationListsMoreThanTheExactTotal checks that the total of a list is exact up to
// page.MaxExact and an estimate above, and that the pages after it are reached by cursor.
func applicationListsMoreThanTheExactTotal(t *testing.T, open HiringOpener) {
	ctx := context.Background()
	storage, now := openHiring(t, open)
	org, ann := newID(), newID()
	fill := func(n int) {
		require.NoError(t, storage.Tx.Do(ctx, func(ctx context.Context) error {
			for range n {
				if err := storage.Applications.Create(ctx, newApplication(org, newID(), now)); err != nil {
					return err
				}
			}
			return nil
		}))
	}
	fill(page.MaxExact)
	last := page.Request{Number: 100, Size: 100}
	got, err := storage.Applications.List(ctx, toOrganization(org), hiring.ApplicationFilter{}, last)
	require.NoError(t, err)
	require.Equal(t, page.MaxExact, got.Total)
	require.False(t, got.TotalIsEstimate)
	require.Len(t, got.Items, 100)
	require.Empty(t, got.NextCursor)
	fill(3)
	apply(t, storage, newID(), ann, now)
	for _, visibility := range []hiring.Visibility{toOrganization(org), {OrganizationID: org, ApplicantID: ann}} {
		got, err = storage.Applications.List(ctx, visibility, hiring.ApplicationFilter{}, last)
		require.NoError(t, err)
		require.True(t, got.TotalIsEstimate)
		require.Equal(t, page.MaxExact, got.Total)
		require.NotEmpty(t, got.NextCursor)
		rest, err := storage.Applications.List(ctx, visibility, hiring.ApplicationFilter{}, page.Request{
			Number: 1,
			Size:   100,
			Cursor: got.NextCursor,
		})
		require.NoError(t, err)
		require.LessOrEqual(t, len(rest.Items), 4)
		require.Empty(t, rest.NextCursor)
		require.Equal(t, page.MaxExact, rest.Total)
		require.True(t, rest.TotalIsEstimate)
	}
	counts, err := storage.Applications.CountByStatus(ctx, toOrganization(org), hiring.ApplicationFilter{})
	require.NoError(t, err)
	require.Equal(t, map[hiring.Status]int{hiring.Pending: page.MaxExact + 3}, counts, "exact")
}

// ApplicationStatuses checks the changes of status of the port hiring.Applications.
func ApplicationStatuses(t *testing.T, open HiringOpener) {
	t.Run("many statuses", func(t *testing.T) { applicationStatusesManyStatuses(t, open) })
	t.Run("end of a timeline", func(t *testing.T) { applicationStatusesEndOfATimeline(t, open) })
	t.Run("locked by get", func(t *testing.T) { applicationStatusesLockedByGet(t, open) })
	t.Run("locked by list", func(t *testing.T) { applicationStatusesLockedByList(t, open) })
}

// applicationStatusesManyStatuses changes 100 applications, the maximum, in one call, which
// clears their trackers.
func applicationStatusesManyStatuses(t *testing.T, open HiringOpener) {
	ctx := context.Background()
	storage, now := openHiring(t, open)
	org := newID()
	var as []hiring.Application
	var changes []hiring.Change
	for i := range 100 {
		a := apply(t, storage, org, newID(), now)
		a.Tracker = "completed"
		require.NoError(t, storage.Applications.Update(ctx, a.ApplicantID, a))
		_, err := a.Decide(hiring.Statuses[i%5+1], now)
		require.NoError(t, err)
		as, changes = append(as, a), append(changes, changeOf(a, hiring.Pending))
	}
	require.NoError(t, storage.Applications.UpdateStatuses(ctx, org, as, changes))
	for i, a := range as {
		got, err := storage.Applications.Get(ctx, ofApplicant(a.ApplicantID), a.ID)
		require.NoError(t, err)
		require.Equal(t, a, got)
		timeline, err := storage.Applications.ListChanges(ctx, a.OrganizationID, a.ID, 10)
		require.NoError(t, err)
		require.Equal(t, changes[i:i+1], timeline)
	}
}

// applicationStatusesEndOfATimeline checks that the newest entries are listed, the oldest of
// them first.
func applicationStatusesEndOfATimeline(t *testing.T, open HiringOpener) {
	ctx := context.Background()
	storage, now := openHiring(t, open)
	application := apply(t, storage, newID(), newID(), now)
	otherApplication := apply(t, storage, newID(), newID(), now)
	var all []hiring.Change
	for range 5 {
		c := changeOf(application, hiring.Review)
		all = append(all, c)
		require.NoError(t, storage.Applications.UpdateStatuses(ctx, application.OrganizationID, []hiring.Application{application}, []hiring.Change{c}))
	}
	require.NoError(
		t,
		storage.Applications.UpdateStatuses(ctx, otherApplication.OrganizationID,
			[]hiring.Application{otherApplication},
			[]hiring.Change{changeOf(otherApplication, hiring.Review)}),
	)
	got, err := storage.Applications.ListChanges(ctx, application.OrganizationID, application.ID, 3)
	require.NoError(t, err)
	require.Equal(t, all[2:], got)
}

// applicationStatusesLockedByGet checks that Get in a transaction locks the application.
func applicationStatusesLockedByGet(t *testing.T, open HiringOpener) {
	applicationsAreLocked(t, open, func(ctx context.Context, s adapters.HiringStorage, a hiring.Application) (hiring.Application, error) {
		return s.Applications.Get(ctx, toOrganization(a.OrganizationID), a.ID)
	})
}

// applicationStatusesLockedByList checks that List in a transaction locks the applications.
func applicationStatusesLockedByList(t *testing.T, open HiringOpener) {
	applicationsAreLocked(t, open, func(ctx context.Context, s adapters.HiringStorage, a hiring.Application) (hiring.Application, error) {
		found, err := s.Applications.List(ctx, toOrganization(a.OrganizationID),
			hiring.ApplicationFilter{IDs: []string{a.ID}}, page.Request{Number: 1, Size: 1})
		if err != nil {
			return hiring.Application{}, err
		}
		return found.Items[0], nil
	})
}

// applicationsAreLocked changes the status of an application concurrently, in transactions
// that read it with read.
func applicationsAreLocked(
	t *testing.T,
	open HiringOpener,
	read func(ctx context.Context, s adapters.HiringStorage, a hiring.Application) (hiring.Application, error),
) {
	t.Helper()
	ctx := context.Background()
	storage, now := openHiring(t, open)
	application := apply(t, storage, newID(), newID(), now)
	together(t, 20, func(int) error {
		return storage.Tx.Do(ctx, func(ctx context.Context) error {
			got, err := read(ctx, storage, application)
			if err != nil {
				return err
			}
			from := got.Status
			if _, err := got.Decide(hiring.Statuses[(len(from)+1)%5], now); err != nil {
				return err
			}
			return storage.Applications.UpdateStatuses(ctx, application.OrganizationID, []hiring.Application{got}, []hiring.Change{changeOf(got, from)})
		})
	})
	timeline, err := storage.Applications.ListChanges(ctx, application.OrganizationID, application.ID, 100)
	require.NoError(t, err)
	require.Len(t, timeline, 20)
	// Ids are not in the order of the transactions. Every change must begin
	// with the status that another one ended with.
	begun, ended := map[hiring.Status]int{}, map[hiring.Status]int{hiring.Pending: 1}
	for _, c := range timeline {
		begun[c.From]++
		ended[c.To]++
	}
	got, err := storage.Applications.Get(ctx, ofApplicant(application.ApplicantID), application.ID)
	require.NoError(t, err)
	begun[got.Status]++
	require.Equal(t, ended, begun)
}
