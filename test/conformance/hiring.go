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

// openHiring returns an empty storage and a time near that of its clock, which has microseconds. The
// subtest runs in parallel.
func openHiring(t *testing.T, open HiringOpener) (adapters.HiringStorage, time.Time) {
	t.Helper()
	t.Parallel()

	clk := newFakeClock()
	storage := open(t, clk)
	requirePorts(t, storage)

	return storage, clk.Now().Add(1234567 * time.Microsecond)
}

// newApplication returns a pending application to a new listing of the organization.
func newApplication(organization, applicant string, at time.Time) hiring.Application {
	return hiring.Application{
		ID:             newID(),
		ListingID:      newID(),
		OrganizationID: organization,
		ApplicantID:    applicant,
		Status:         hiring.Pending,
		AppliedAt:      at,
		ChangedAt:      at,
	}
}

// apply stores a new application.
func apply(
	t testing.TB, storage adapters.HiringStorage, organization, applicant string, at time.Time,
) hiring.Application {
	t.Helper()

	application := newApplication(organization, applicant, at)
	require.NoError(t, storage.Applications.Create(context.Background(), application))

	return application
}

// changeOf returns the timeline entry of a change by the employer, from a status to the current
// status of the application.
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

// toOrganization returns the visibility for the organization.
func toOrganization(id string) hiring.Visibility { return hiring.Visibility{OrganizationID: id} }

// ofApplicant returns the visibility for the applicant.
func ofApplicant(id string) hiring.Visibility { return hiring.Visibility{ApplicantID: id} }

// isVisible reports whether the applicant can see the application. If so, it requires that the stored
// application equals the given one.
func isVisible(t *testing.T, storage adapters.HiringStorage, application hiring.Application) bool {
	t.Helper()

	stored, err := storage.Applications.Get(context.Background(), ofApplicant(application.ApplicantID), application.ID)
	if errors.Is(err, hiring.ErrNotFound) {
		return false
	}

	require.NoError(t, err)
	require.Equal(t, application, stored)

	return true
}

// Applications checks how the port hiring.Applications stores applications.
func Applications(t *testing.T, open HiringOpener) {
	t.Run("create, get, update", func(t *testing.T) { applicationsCreateGetUpdate(t, open) })
	t.Run("one per applicant and listing", func(t *testing.T) { applicationsOnePerApplicantAndListing(t, open) })
	t.Run("one per applicant and listing, concurrently",
		func(t *testing.T) { applicationsOnePerApplicantAndListingConcurrently(t, open) })
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
	application.CoverLetter = "Zoë's \"letter\"\n\t\\ % _ \U0001F469"
	application.ResumeURL = "https://example.org/cv.pdf"
	application.Answers = []hiring.Answer{{QuestionID: "b", Answer: "é\n\"'"}, {QuestionID: "a", Answer: ""}}
	require.NoError(t, storage.Applications.Create(ctx, application))
	require.True(t, isVisible(t, storage, application))

	got, err := storage.Applications.Get(ctx, toOrganization(application.OrganizationID), application.ID)
	require.NoError(t, err)
	require.Equal(t, application, got)

	application.Tracker, application.TrackerColor = "in-progress", "bg-red"

	for range 2 { // an update that changes nothing succeeds, too
		require.NoError(t, storage.Applications.Update(ctx, application.ApplicantID, application))
		require.True(t, isVisible(t, storage, application))
	}
}

// applicationsOnePerApplicantAndListing checks that a second application by the same applicant to
// the same listing is refused, also after the first one is withdrawn. If the second one is created
// in a transaction, the other changes of the transaction are rolled back.
func applicationsOnePerApplicantAndListing(t *testing.T, open HiringOpener) {
	ctx := context.Background()
	storage, now := openHiring(t, open)
	application := apply(t, storage, newID(), newID(), now)
	second := newApplication(application.OrganizationID, application.ApplicantID, now)
	second.ListingID = application.ListingID
	toOtherListing := newApplication(application.OrganizationID, application.ApplicantID, now)

	// Without a transaction.
	require.ErrorIs(t, storage.Applications.Create(ctx, second), hiring.ErrAlreadyApplied)

	// In a transaction that creates another application first.
	err := storage.Tx.Do(ctx, func(ctx context.Context) error {
		errOfOther := storage.Applications.Create(ctx, toOtherListing)
		return errors.Join(errOfOther, storage.Applications.Create(ctx, second))
	})
	require.ErrorIs(t, err, hiring.ErrAlreadyApplied)
	require.False(t, isVisible(t, storage, toOtherListing), "the transaction failed")

	// In a transaction that also reads the first application.
	err = storage.Tx.Do(ctx, func(ctx context.Context) error {
		_, errOfGet := storage.Applications.Get(ctx, toOrganization(application.OrganizationID), application.ID)
		errOfOther := storage.Applications.Create(ctx, toOtherListing)

		return errors.Join(errOfGet, errOfOther, storage.Applications.Create(ctx, second))
	})
	require.ErrorIs(t, err, hiring.ErrAlreadyApplied, "after a read")
	require.False(t, isVisible(t, storage, toOtherListing), "the transaction failed after a read")

	// The failed transactions do not prevent the application to the other listing.
	require.NoError(t, storage.Applications.Create(ctx, toOtherListing))
	require.False(t, isVisible(t, storage, second))

	// After the first application is withdrawn.
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
	created := countConcurrent(t, 12, func(int) (bool, error) {
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
	firstPage := page.Request{Number: 1, Size: 10}
	storage, now := openHiring(t, open)
	application := apply(t, storage, newID(), newID(), now)
	errFailed := errors.New("boom")

	// Withdraw the application and create another one, in a transaction that fails.
	err := storage.Tx.Do(ctx, func(ctx context.Context) error {
		withdrawn, err := storage.Applications.Get(ctx, ofApplicant(application.ApplicantID), application.ID)
		require.NoError(t, err)
		withdrawn.Withdraw(now)

		change := changeOf(withdrawn, hiring.Pending)
		require.NoError(t, storage.Applications.Update(ctx, application.ApplicantID, withdrawn, change))

		another := newApplication(application.OrganizationID, application.ApplicantID, now)
		require.NoError(t, storage.Applications.Create(ctx, another))

		return errFailed
	})
	require.ErrorIs(t, err, errFailed)

	own := ofApplicant(application.ApplicantID)
	listed, err := storage.Applications.List(ctx, own, hiring.ApplicationFilter{}, firstPage)
	require.NoError(t, err)
	require.Equal(t, []hiring.Application{application}, listed.Items)

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
	require.NoError(t, storage.Applications.Update(ctx, application.ApplicantID, application,
		changeOf(application, hiring.Pending)))
	require.False(t, isVisible(t, storage, application))

	mine, err := storage.Applications.List(ctx, ofApplicant(application.ApplicantID), hiring.ApplicationFilter{}, first)
	require.NoError(t, err)
	require.Zero(t, mine.Total)

	theirs, err := storage.Applications.List(ctx, toOrganization(application.OrganizationID),
		hiring.ApplicationFilter{}, first)
	require.NoError(t, err)
	require.Equal(t, []hiring.Application{application}, theirs.Items)

	reopened := application
	reopened.Status, reopened.WithdrawnAt = hiring.Accepted, nil
	require.Error(t, storage.Applications.UpdateStatuses(ctx, application.OrganizationID,
		[]hiring.Application{reopened}, nil))
	require.Error(t, storage.Applications.Update(ctx, application.ApplicantID, reopened))
}

// ApplicationLists checks the lists of the port hiring.Applications, and the port
// hiring.ApplicationCounts.
func ApplicationLists(t *testing.T, open HiringOpener) {
	t.Run("visibility and filters", func(t *testing.T) { applicationListsVisibilityAndFilters(t, open) })
	t.Run("count by status", func(t *testing.T) { applicationListsCountByStatus(t, open) })
	t.Run("count by listing", func(t *testing.T) { applicationListsCountByListing(t, open) })
	t.Run("count by status, as the applicant sees it",
		func(t *testing.T) { applicationListsCountByStatusForApplicant(t, open) })
	t.Run("more than the exact total", func(t *testing.T) { applicationListsMoreThanTheExactTotal(t, open) })
}

// applicationListsVisibilityAndFilters checks lists and counts with three visibilities: that of the
// organization (theirs), that of the applicant Ann (own), and both together.
func applicationListsVisibilityAndFilters(t *testing.T, open HiringOpener) {
	ctx := context.Background()
	storage, now := openHiring(t, open)
	org := newID()
	ann := newID()
	otherID := newID()

	// submit stores an application that was submitted the given number of days after now.
	submit := func(organization, applicant string, status hiring.Status, days int) hiring.Application {
		a := newApplication(organization, applicant, now.AddDate(0, 0, days))
		a.CoverLetter = "Letter"
		a.ResumeURL = "https://example.org/cv.pdf"
		a.Answers = []hiring.Answer{
			{QuestionID: "a", Answer: "b"},
		}
		a.Status = status
		require.NoError(t, storage.Applications.Create(ctx, a))

		return a
	}

	first := submit(org, newID(), hiring.Pending, 0)
	second := submit(org, ann, hiring.Review, 1)
	third := submit(otherID, ann, hiring.Pending, 2)
	withdrawn := submit(org, ann, hiring.Pending, 3)
	withdrawn.WithdrawnAt, withdrawn.Status = &now, hiring.Withdrawn
	require.NoError(t, storage.Applications.Update(ctx, ann, withdrawn))

	foreign := submit(otherID, newID(), hiring.Pending, 4)
	theirs := toOrganization(org)
	own := ofApplicant(ann)

	both := hiring.Visibility{OrganizationID: org, ApplicantID: ann}
	for _, test := range []struct {
		name       string
		visibility hiring.Visibility
		filter     hiring.ApplicationFilter
		want       []hiring.Application
	}{
		{
			name:       "organization",
			visibility: theirs,
			filter:     hiring.ApplicationFilter{},
			want:       []hiring.Application{withdrawn, second, first},
		},
		{name: "applicant", visibility: own, filter: hiring.ApplicationFilter{}, want: []hiring.Application{third, second}},
		{
			name:       "both",
			visibility: both,
			filter:     hiring.ApplicationFilter{},
			want:       []hiring.Application{withdrawn, third, second, first},
		},
		{name: "none", visibility: hiring.Visibility{}, filter: hiring.ApplicationFilter{}, want: nil},
		{
			name:       "ids",
			visibility: both,
			filter:     hiring.ApplicationFilter{IDs: []string{first.ID, third.ID, foreign.ID, newID()}},
			want:       []hiring.Application{third, first},
		},
		{
			name:       "listing",
			visibility: both,
			filter:     hiring.ApplicationFilter{ListingIDs: []string{second.ListingID}},
			want:       []hiring.Application{second},
		},
		{
			name:       "listings",
			visibility: theirs,
			filter:     hiring.ApplicationFilter{ListingIDs: []string{second.ListingID, third.ListingID, first.ListingID}},
			want:       []hiring.Application{second, first},
		},
		{
			name:       "applicant of organization",
			visibility: theirs,
			filter:     hiring.ApplicationFilter{ApplicantID: ann},
			want:       []hiring.Application{withdrawn, second},
		},
		{name: "other applicant", visibility: own, filter: hiring.ApplicationFilter{ApplicantID: first.ApplicantID}, want: nil},
		{
			name:       "statuses",
			visibility: both,
			filter:     hiring.ApplicationFilter{Statuses: []hiring.Status{hiring.Review, hiring.Withdrawn}},
			want:       []hiring.Application{withdrawn, second},
		},
		{
			name:       "times",
			visibility: both,
			filter:     hiring.ApplicationFilter{AppliedFrom: second.AppliedAt, AppliedUntil: withdrawn.AppliedAt},
			want:       []hiring.Application{third, second},
		},
		{
			name:       "only withdrawn",
			visibility: own,
			filter:     hiring.ApplicationFilter{Withdrawn: hiring.OnlyWithdrawn},
			want:       []hiring.Application{withdrawn},
		},
		{
			name:       "include withdrawn",
			visibility: own,
			filter: hiring.ApplicationFilter{
				Withdrawn:  hiring.IncludeWithdrawn,
				ListingIDs: []string{first.ListingID, third.ListingID, withdrawn.ListingID},
			},
			want: []hiring.Application{withdrawn, third},
		},
		{
			name:       "include withdrawn of ids",
			visibility: own,
			filter: hiring.ApplicationFilter{
				Withdrawn: hiring.IncludeWithdrawn,
				IDs:       []string{first.ID, withdrawn.ID},
			},
			want: []hiring.Application{withdrawn},
		},
		{
			name:       "include all withdrawn",
			visibility: own,
			filter:     hiring.ApplicationFilter{Withdrawn: hiring.IncludeWithdrawn},
			want:       []hiring.Application{withdrawn, third, second},
		},
	} {
		list := func(filter hiring.ApplicationFilter) []hiring.Application {
			return listAllPages(t, 2, func(r page.Request) (page.Result[hiring.Application], error) {
				return storage.Applications.List(ctx, test.visibility, filter, r)
			})
		}

		// A list has no details unless they are requested.
		withoutDetails := slices.Clone(test.want)
		for i := range withoutDetails {
			withoutDetails[i].CoverLetter = ""
			withoutDetails[i].ResumeURL = ""
			withoutDetails[i].Answers = nil
		}

		require.ElementsMatch(t, withoutDetails, list(test.filter), test.name)

		// A list with details has the expected order.
		test.filter.Details = true
		got := list(test.filter)
		require.Len(t, got, len(test.want), test.name)

		for i := range got {
			require.Equal(t, test.want[i], got[i], test.name)
		}

		// The counts by status have the length of the list as their sum.
		counts, err := storage.Applications.CountByStatus(ctx, test.visibility, test.filter)
		require.NoError(t, err)

		total := 0
		for _, n := range counts {
			total += n
		}

		require.Equal(t, len(test.want), total, test.name)
	}

	for _, test := range []struct {
		visibility    hiring.Visibility
		application   hiring.Application
		wantIsVisible bool
	}{
		{visibility: theirs, application: withdrawn, wantIsVisible: true},
		{visibility: own, application: withdrawn, wantIsVisible: false},
		{visibility: both, application: withdrawn, wantIsVisible: true},
		{visibility: both, application: third, wantIsVisible: true},
		{visibility: own, application: third, wantIsVisible: true},
		{visibility: theirs, application: third, wantIsVisible: false},
		{visibility: both, application: foreign, wantIsVisible: false},
	} {
		got, err := storage.Applications.Get(ctx, test.visibility, test.application.ID)
		if test.wantIsVisible {
			require.NoError(t, err)
			require.Equal(t, test.application, got)
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

	// Four applications, each a day after the previous one. The two pending ones are to the same listing.
	var applications []hiring.Application
	for i, status := range []hiring.Status{hiring.Pending, hiring.Pending, hiring.Accepted, hiring.Withdrawn} {
		application := newApplication(org, newID(), now.Add(time.Duration(i)*24*time.Hour))

		application.Status = status
		if status == hiring.Pending {
			application.ListingID = listing
		}

		require.NoError(t, storage.Applications.Create(ctx, application))

		applications = append(applications, application)
	}

	for _, test := range []struct {
		filter hiring.ApplicationFilter
		want   map[hiring.Status]int
	}{
		{
			filter: hiring.ApplicationFilter{},
			want:   map[hiring.Status]int{hiring.Pending: 2, hiring.Accepted: 1, hiring.Withdrawn: 1},
		},
		{
			filter: hiring.ApplicationFilter{Statuses: []hiring.Status{hiring.Accepted}},
			want:   map[hiring.Status]int{hiring.Accepted: 1},
		},
		{
			filter: hiring.ApplicationFilter{ListingIDs: []string{listing}},
			want:   map[hiring.Status]int{hiring.Pending: 2},
		},
		{
			filter: hiring.ApplicationFilter{AppliedFrom: applications[1].AppliedAt, AppliedUntil: applications[3].AppliedAt},
			want:   map[hiring.Status]int{hiring.Pending: 1, hiring.Accepted: 1},
		},
	} {
		got, err := storage.Applications.CountByStatus(ctx, toOrganization(org), test.filter)
		require.NoError(t, err)
		require.Equal(t, test.want, got)
	}
}

// applicationListsCountByListing checks that withdrawn applications are counted, and those for
// other organizations are not. A listing without applications has no entry.
func applicationListsCountByListing(t *testing.T, open HiringOpener) {
	ctx := context.Background()
	storage, now := openHiring(t, open)

	org, listing := newID(), newID()
	for _, status := range []hiring.Status{hiring.Pending, hiring.Withdrawn} {
		application := newApplication(org, newID(), now)
		application.ListingID, application.Status = listing, status
		require.NoError(t, storage.Applications.Create(ctx, application))
	}

	other, foreign := apply(t, storage, org, newID(), now), apply(t, storage, newID(), newID(), now)
	got, err := storage.Counts.CountByListing(ctx, org, []string{listing, other.ListingID, foreign.ListingID, newID()})
	require.NoError(t, err)
	require.Equal(t, map[string]int{listing: 2, other.ListingID: 1}, got)

	got, err = storage.Counts.CountByListing(ctx, org, []string{other.ListingID})
	require.NoError(t, err)
	require.Equal(t, map[string]int{other.ListingID: 1}, got)
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
	withdrawn := apply(t, storage, newID(), ann, now)
	apply(t, storage, newID(), newID(), now)

	reviewed.Status = hiring.Review
	require.NoError(t, storage.Applications.UpdateStatuses(ctx, org, []hiring.Application{reviewed}, nil))

	tracked.Tracker = "in-progress"
	require.NoError(t, storage.Applications.Update(ctx, ann, tracked))

	withdrawn.WithdrawnAt = &now
	require.NoError(t, storage.Applications.Update(ctx, ann, withdrawn))

	trackedAsPending := apply(t, storage, newID(), ann, now)
	trackedAsPending.Status, trackedAsPending.Tracker = hiring.Review, hiring.Pending
	require.NoError(t, storage.Applications.Update(ctx, ann, trackedAsPending))

	got, err := storage.Applications.CountByStatus(ctx, ofApplicant(ann), hiring.ApplicationFilter{})
	require.NoError(t, err)
	require.Equal(t, map[hiring.Status]int{hiring.Pending: 2, hiring.Review: 1, "in-progress": 1}, got)

	got, err = storage.Applications.CountByStatus(ctx, hiring.Visibility{OrganizationID: org, ApplicantID: ann},
		hiring.ApplicationFilter{})
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

		afterLast, err := storage.Applications.List(ctx, visibility, hiring.ApplicationFilter{}, page.Request{
			Number: 1,
			Size:   100,
			Cursor: got.NextCursor,
		})
		require.NoError(t, err)
		require.LessOrEqual(t, len(afterLast.Items), 4)
		require.Empty(t, afterLast.NextCursor)
		require.Equal(t, page.MaxExact, afterLast.Total)
		require.True(t, afterLast.TotalIsEstimate)
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
	var applications []hiring.Application

	var changes []hiring.Change
	for i := range 100 {
		application := apply(t, storage, org, newID(), now)
		application.Tracker = "completed"
		require.NoError(t, storage.Applications.Update(ctx, application.ApplicantID, application))

		_, err := application.Decide(hiring.Statuses[i%5+1], now)
		require.NoError(t, err)

		applications = append(applications, application)
		changes = append(changes, changeOf(application, hiring.Pending))
	}

	require.NoError(t, storage.Applications.UpdateStatuses(ctx, org, applications, changes))

	for i, application := range applications {
		got, err := storage.Applications.Get(ctx, ofApplicant(application.ApplicantID), application.ID)
		require.NoError(t, err)
		require.Equal(t, application, got)

		timeline, err := storage.Applications.ListChanges(ctx, application.OrganizationID, application.ID, 10)
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

	var changes []hiring.Change
	for range 5 {
		change := changeOf(application, hiring.Review)
		changes = append(changes, change)
		require.NoError(t, storage.Applications.UpdateStatuses(ctx, application.OrganizationID,
			[]hiring.Application{application}, []hiring.Change{change}))
	}

	require.NoError(
		t,
		storage.Applications.UpdateStatuses(ctx, otherApplication.OrganizationID,
			[]hiring.Application{otherApplication},
			[]hiring.Change{changeOf(otherApplication, hiring.Review)}),
	)

	newest, err := storage.Applications.ListChanges(ctx, application.OrganizationID, application.ID, 3)
	require.NoError(t, err)
	require.Equal(t, changes[2:], newest)
}

// applicationStatusesLockedByGet checks that Get in a transaction locks the application.
func applicationStatusesLockedByGet(t *testing.T, open HiringOpener) {
	applicationsAreLocked(t, open,
		func(
			ctx context.Context, storage adapters.HiringStorage, application hiring.Application,
		) (hiring.Application, error) {
			return storage.Applications.Get(ctx, toOrganization(application.OrganizationID), application.ID)
		})
}

// applicationStatusesLockedByList checks that List in a transaction locks the applications.
func applicationStatusesLockedByList(t *testing.T, open HiringOpener) {
	applicationsAreLocked(t, open,
		func(
			ctx context.Context, storage adapters.HiringStorage, application hiring.Application,
		) (hiring.Application, error) {
			found, err := storage.Applications.List(ctx, toOrganization(application.OrganizationID),
				hiring.ApplicationFilter{IDs: []string{application.ID}}, page.Request{Number: 1, Size: 1})
			if err != nil {
				return hiring.Application{}, err
			}

			return found.Items[0], nil
		})
}

// applicationsAreLocked checks that read locks the application: twenty concurrent transactions read
// the application with it and then change its status, and no change is lost.
func applicationsAreLocked(
	t *testing.T,
	open HiringOpener,
	read func(ctx context.Context, s adapters.HiringStorage, a hiring.Application) (hiring.Application, error),
) {
	t.Helper()

	ctx := context.Background()
	storage, now := openHiring(t, open)
	application := apply(t, storage, newID(), newID(), now)
	runConcurrently(t, 20, func(int) error {
		return storage.Tx.Do(ctx, func(ctx context.Context) error {
			got, err := read(ctx, storage, application)
			if err != nil {
				return err
			}

			from := got.Status

			// The next status depends on the current one, so that the changes form a chain, which
			// breaks if one of them is lost.
			open := hiring.Statuses[:5] // without Withdrawn

			next := open[(slices.Index(open, from)+1)%len(open)]
			if _, err := got.Decide(next, now); err != nil {
				return err
			}

			return storage.Applications.UpdateStatuses(ctx, application.OrganizationID, []hiring.Application{got},
				[]hiring.Change{changeOf(got, from)})
		})
	})

	timeline, err := storage.Applications.ListChanges(ctx, application.OrganizationID, application.ID, 100)
	require.NoError(t, err)
	require.Len(t, timeline, 20)

	// The ids of the changes are not in the order of the transactions. Therefore only the numbers are
	// compared: a status is left as often as it is reached. The application begins as pending, and
	// its current status counts as left.
	left, reached := map[hiring.Status]int{}, map[hiring.Status]int{hiring.Pending: 1}
	for _, change := range timeline {
		left[change.From]++
		reached[change.To]++
	}

	got, err := storage.Applications.Get(ctx, ofApplicant(application.ApplicantID), application.ID)
	require.NoError(t, err)
	left[got.Status]++
	require.Equal(t, reached, left)
}
