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

	return storage, clk.Now().Add(unroundedDelay)
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

// listTimeline returns the changes of the application, oldest first, as its organization sees them.
func listTimeline(t *testing.T, storage adapters.HiringStorage, application hiring.Application) []hiring.Change {
	t.Helper()

	const limit = 100 // more changes than a test makes

	timeline, err := storage.Applications.ListChanges(context.Background(), application.OrganizationID, application.ID, limit)
	require.NoError(t, err)

	return timeline
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

	stored, err := storage.Applications.Get(ctx, toOrganization(application.OrganizationID), application.ID)
	require.NoError(t, err)
	require.Equal(t, application, stored, "the organization reads the same application")

	application.Tracker, application.TrackerColor = "in-progress", "bg-red"

	for range 2 { // the second update changes nothing and succeeds, too
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

	const transactions = 12
	created := countConcurrent(t, transactions, func(int) (isCreated bool, err error) {
		withOwnID := application
		withOwnID.ID = newID()

		err = storage.Tx.Do(ctx, func(ctx context.Context) error {
			if err := storage.Applications.Create(ctx, withOwnID); err != nil {
				return err
			}

			return storage.Events.Record(ctx, event.ApplicationSubmitted{ApplicationID: withOwnID.ID, SubmittedAt: now})
		})
		if errors.Is(err, hiring.ErrAlreadyApplied) {
			return false, nil
		}

		return err == nil, err
	})

	require.Equal(t, 1, created)

	// The only event is about the application that exists.
	const moreThanOne, claimDuration = 100, time.Hour

	recorded, err := storage.Outbox.Claim(ctx, moreThanOne, claimDuration)
	require.NoError(t, err)
	require.Len(t, recorded, 1)

	_, err = storage.Applications.Get(ctx, ofApplicant(application.ApplicantID), recorded[0].Subject)
	require.NoError(t, err)
}

// applicationsRollback checks that a rolled back transaction changes neither the application,
// the timeline nor the list.
func applicationsRollback(t *testing.T, open HiringOpener) {
	ctx := context.Background()
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
	listed, err := storage.Applications.List(ctx, own, hiring.ApplicationFilter{}, firstHundred)
	require.NoError(t, err)
	require.Equal(t, []hiring.Application{application}, listed.Items, "neither withdrawn nor joined by another one")
	require.Empty(t, listTimeline(t, storage, application))
}

// applicationsOtherOwner checks that an application can be neither read, counted nor changed
// with the id of another organization or applicant, or with no id at all.
func applicationsOtherOwner(t *testing.T, open HiringOpener) {
	ctx := context.Background()
	storage, now := openHiring(t, open)
	application := apply(t, storage, newID(), newID(), now)

	// Another organization or applicant tries to change the application.
	changed := application
	changed.Status, changed.Tracker = hiring.Accepted, "completed"
	otherOwner := newID()
	require.Error(t, storage.Applications.UpdateStatuses(ctx, otherOwner, []hiring.Application{changed}, nil))
	require.Error(t, storage.Applications.Update(ctx, otherOwner, changed))

	// Others try to read and count it, with every filter that could select it.
	for name, visibility := range map[string]hiring.Visibility{
		"no id":                               {},
		"other organization":                  toOrganization(newID()),
		"other applicant":                     ofApplicant(newID()),
		"applicant as organization":           toOrganization(application.ApplicantID),
		"other organization, other applicant": {OrganizationID: newID(), ApplicantID: newID()},
	} {
		_, err := storage.Applications.Get(ctx, visibility, application.ID)
		require.ErrorIs(t, err, hiring.ErrNotFound, name)

		for _, filter := range []hiring.ApplicationFilter{
			{},
			{IDs: []string{application.ID}},
			{ListingIDs: []string{application.ListingID}},
			{ApplicantID: application.ApplicantID},
		} {
			found, err := storage.Applications.List(ctx, visibility, filter, firstHundred)
			require.NoError(t, err)
			require.Empty(t, found.Items, "%s: %+v", name, filter)
			require.Zero(t, found.Total, "%s: %+v", name, filter)

			counts, err := storage.Applications.CountByStatus(ctx, visibility, filter)
			require.NoError(t, err)
			require.Empty(t, counts, "%s: %+v", name, filter)
		}
	}

	ofOtherOrganization := application
	ofOtherOrganization.OrganizationID = newID()
	require.Empty(t, listTimeline(t, storage, ofOtherOrganization))
	require.True(t, isVisible(t, storage, application), "the application is unchanged")
}

// applicationsWithdrawn checks that an application that its applicant has withdrawn is visible
// to the organization only, and cannot be changed any more.
func applicationsWithdrawn(t *testing.T, open HiringOpener) {
	ctx := context.Background()
	storage, now := openHiring(t, open)
	application := apply(t, storage, newID(), newID(), now)
	application.Withdraw(now)
	require.NoError(t, storage.Applications.Update(ctx, application.ApplicantID, application,
		changeOf(application, hiring.Pending)))

	// The applicant no longer sees the application.
	require.False(t, isVisible(t, storage, application))

	applicantsList, err := storage.Applications.List(ctx, ofApplicant(application.ApplicantID),
		hiring.ApplicationFilter{}, firstHundred)
	require.NoError(t, err)
	require.Zero(t, applicantsList.Total)

	// The organization still does.
	organizationsList, err := storage.Applications.List(ctx, toOrganization(application.OrganizationID),
		hiring.ApplicationFilter{}, firstHundred)
	require.NoError(t, err)
	require.Equal(t, []hiring.Application{application}, organizationsList.Items)

	// Neither of them can reopen it.
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
// organization (theirs), that of the applicant Ann (own), and that of Ann as a member of the organization (both). Lists
// have the newest application first.
func applicationListsVisibilityAndFilters(t *testing.T, open HiringOpener) {
	ctx := context.Background()
	storage, now := openHiring(t, open)
	org, otherOrg := newID(), newID()
	ann, otherApplicant := newID(), newID()

	// submit stores an application with details that was submitted a day after the previous one.
	appliedAt := now
	submit := func(organization, applicant string, status hiring.Status) hiring.Application {
		application := newApplication(organization, applicant, appliedAt)
		application.CoverLetter = "Letter"
		application.ResumeURL = "https://example.org/cv.pdf"
		application.Answers = []hiring.Answer{{QuestionID: "a", Answer: "b"}}
		application.Status = status
		require.NoError(t, storage.Applications.Create(ctx, application))

		appliedAt = appliedAt.AddDate(0, 0, 1)

		return application
	}

	first := submit(org, otherApplicant, hiring.Pending)
	second := submit(org, ann, hiring.Review)
	third := submit(otherOrg, ann, hiring.Pending)
	withdrawn := submit(org, ann, hiring.Pending)
	foreign := submit(otherOrg, newID(), hiring.Pending)

	withdrawn.WithdrawnAt, withdrawn.Status = &now, hiring.Withdrawn
	require.NoError(t, storage.Applications.Update(ctx, ann, withdrawn))

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
			const pageSize = 2 // so that lists have several pages

			return listAllPages(t, pageSize, func(r page.Request) (page.Result[hiring.Application], error) {
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
		withDetails := list(test.filter)
		require.Len(t, withDetails, len(test.want), test.name)

		for i := range withDetails {
			require.Equal(t, test.want[i], withDetails[i], "%s: item %d", test.name, i)
		}

		// The counts by status have the length of the list as their sum.
		counts, err := storage.Applications.CountByStatus(ctx, test.visibility, test.filter)
		require.NoError(t, err)

		total := 0
		for _, count := range counts {
			total += count
		}

		require.Equal(t, len(test.want), total, test.name)
	}

	// A single application is visible like those of the lists.
	for _, test := range []struct {
		name          string
		visibility    hiring.Visibility
		application   hiring.Application
		wantIsVisible bool
	}{
		{name: "organization, withdrawn", visibility: theirs, application: withdrawn, wantIsVisible: true},
		{name: "applicant, withdrawn", visibility: own, application: withdrawn, wantIsVisible: false},
		{name: "both, withdrawn", visibility: both, application: withdrawn, wantIsVisible: true},
		{name: "both, to another organization", visibility: both, application: third, wantIsVisible: true},
		{name: "applicant, to another organization", visibility: own, application: third, wantIsVisible: true},
		{name: "organization, to another organization", visibility: theirs, application: third, wantIsVisible: false},
		{name: "both, of others", visibility: both, application: foreign, wantIsVisible: false},
	} {
		stored, err := storage.Applications.Get(ctx, test.visibility, test.application.ID)
		if test.wantIsVisible {
			require.NoError(t, err, test.name)
			require.Equal(t, test.application, stored, test.name)
		} else {
			require.ErrorIs(t, err, hiring.ErrNotFound, test.name)
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
		name   string
		filter hiring.ApplicationFilter
		want   map[hiring.Status]int
	}{
		{
			name:   "no filter",
			filter: hiring.ApplicationFilter{},
			want:   map[hiring.Status]int{hiring.Pending: 2, hiring.Accepted: 1, hiring.Withdrawn: 1},
		},
		{
			name:   "status",
			filter: hiring.ApplicationFilter{Statuses: []hiring.Status{hiring.Accepted}},
			want:   map[hiring.Status]int{hiring.Accepted: 1},
		},
		{
			name:   "listing",
			filter: hiring.ApplicationFilter{ListingIDs: []string{listing}},
			want:   map[hiring.Status]int{hiring.Pending: 2},
		},
		{
			name:   "time, without the first and the last application",
			filter: hiring.ApplicationFilter{AppliedFrom: applications[1].AppliedAt, AppliedUntil: applications[3].AppliedAt},
			want:   map[hiring.Status]int{hiring.Pending: 1, hiring.Accepted: 1},
		},
	} {
		counts, err := storage.Applications.CountByStatus(ctx, toOrganization(org), test.filter)
		require.NoError(t, err)
		require.Equal(t, test.want, counts, test.name)
	}
}

// applicationListsCountByListing checks that withdrawn applications are counted, and those for
// other organizations are not. A listing without applications has no entry.
func applicationListsCountByListing(t *testing.T, open HiringOpener) {
	ctx := context.Background()
	storage, now := openHiring(t, open)
	org, listing := newID(), newID()

	// The first listing has a pending and a withdrawn application, the others have one each.
	for _, status := range []hiring.Status{hiring.Pending, hiring.Withdrawn} {
		application := newApplication(org, newID(), now)
		application.ListingID, application.Status = listing, status
		require.NoError(t, storage.Applications.Create(ctx, application))
	}

	otherListing := apply(t, storage, org, newID(), now).ListingID
	ofOtherOrganization := apply(t, storage, newID(), newID(), now).ListingID
	withoutApplications := newID()

	counts, err := storage.Counts.CountByListing(ctx, org,
		[]string{listing, otherListing, ofOtherOrganization, withoutApplications})
	require.NoError(t, err)
	require.Equal(t, map[string]int{listing: 2, otherListing: 1}, counts)

	counts, err = storage.Counts.CountByListing(ctx, org, []string{otherListing})
	require.NoError(t, err)
	require.Equal(t, map[string]int{otherListing: 1}, counts, "listings that are not requested")
}

// applicationListsCountByStatusForApplicant checks that an applicant's applications are counted
// by their tracker, if there is one, and otherwise by status.
func applicationListsCountByStatusForApplicant(t *testing.T, open HiringOpener) {
	ctx := context.Background()
	storage, now := openHiring(t, open)
	ann, org := newID(), newID()

	// Ann has five applications: one is pending, one reviewed, one withdrawn, and Ann tracks two with statuses of her own.
	// Another applicant has one application.
	apply(t, storage, newID(), ann, now)

	reviewed := apply(t, storage, org, ann, now)
	reviewed.Status = hiring.Review
	require.NoError(t, storage.Applications.UpdateStatuses(ctx, org, []hiring.Application{reviewed}, nil))

	tracked := apply(t, storage, newID(), ann, now)
	tracked.Tracker = "in-progress"
	require.NoError(t, storage.Applications.Update(ctx, ann, tracked))

	withdrawn := apply(t, storage, newID(), ann, now)
	withdrawn.WithdrawnAt = &now
	require.NoError(t, storage.Applications.Update(ctx, ann, withdrawn))

	trackedAsPending := apply(t, storage, newID(), ann, now)
	trackedAsPending.Status, trackedAsPending.Tracker = hiring.Review, hiring.Pending
	require.NoError(t, storage.Applications.Update(ctx, ann, trackedAsPending))

	apply(t, storage, newID(), newID(), now)

	// The counts are the same if Ann is a member of an organization.
	for name, visibility := range map[string]hiring.Visibility{
		"applicant":            ofApplicant(ann),
		"applicant and member": {OrganizationID: org, ApplicantID: ann},
	} {
		counts, err := storage.Applications.CountByStatus(ctx, visibility, hiring.ApplicationFilter{})
		require.NoError(t, err)
		require.Equal(t, map[hiring.Status]int{
			hiring.Pending: 2, // the first one, and the one that is tracked as pending
			hiring.Review:  1,
			"in-progress":  1,
		}, counts, name)
	}
}

// applicationListsMoreThanTheExactTotal checks that the total of a list is exact up to
// page.MaxExact and an estimate above, and that the pages after it are reached by cursor.
func applicationListsMoreThanTheExactTotal(t *testing.T, open HiringOpener) {
	ctx := context.Background()
	storage, now := openHiring(t, open)
	org, ann := newID(), newID()

	// createMany creates applications to the organization, in one transaction.
	createMany := func(count int) {
		require.NoError(t, storage.Tx.Do(ctx, func(ctx context.Context) error {
			for range count {
				if err := storage.Applications.Create(ctx, newApplication(org, newID(), now)); err != nil {
					return err
				}
			}

			return nil
		}))
	}

	const pageSize = 100

	lastExactPage := page.Request{Number: page.MaxExact / pageSize, Size: pageSize}

	// The total is exact, and no page follows the last one.
	createMany(page.MaxExact)

	found, err := storage.Applications.List(ctx, toOrganization(org), hiring.ApplicationFilter{}, lastExactPage)
	require.NoError(t, err)
	require.Equal(t, page.MaxExact, found.Total)
	require.False(t, found.TotalIsEstimate)
	require.Len(t, found.Items, pageSize)
	require.Empty(t, found.NextCursor)

	// Three more applications to the organization, and one of Ann to another organization. The total is an estimate, and the
	// further ones are on a page that is reached by cursor.
	const furtherToOrganization = 3

	createMany(furtherToOrganization)
	apply(t, storage, newID(), ann, now)

	for name, visibility := range map[string]hiring.Visibility{
		"organization": toOrganization(org),
		"both":         {OrganizationID: org, ApplicantID: ann},
	} {
		found, err = storage.Applications.List(ctx, visibility, hiring.ApplicationFilter{}, lastExactPage)
		require.NoError(t, err)
		require.True(t, found.TotalIsEstimate, name)
		require.Equal(t, page.MaxExact, found.Total, name)
		require.NotEmpty(t, found.NextCursor, name)

		next := page.Request{Number: 1, Size: pageSize, Cursor: found.NextCursor}
		further, err := storage.Applications.List(ctx, visibility, hiring.ApplicationFilter{}, next)
		require.NoError(t, err)
		require.LessOrEqual(t, len(further.Items), furtherToOrganization+1, name)
		require.Empty(t, further.NextCursor, name)
		require.Equal(t, page.MaxExact, further.Total, name)
		require.True(t, further.TotalIsEstimate, name)
	}

	// The counts by status are always exact.
	counts, err := storage.Applications.CountByStatus(ctx, toOrganization(org), hiring.ApplicationFilter{})
	require.NoError(t, err)
	require.Equal(t, map[hiring.Status]int{hiring.Pending: page.MaxExact + furtherToOrganization}, counts)
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

	const maxApplications = 100

	var applications []hiring.Application
	var changes []hiring.Change

	for i := range maxApplications {
		application := apply(t, storage, org, newID(), now)
		application.Tracker = "completed"
		require.NoError(t, storage.Applications.Update(ctx, application.ApplicantID, application))

		// The decisions are the five statuses after the first, which is pending.
		const decisions = 5

		_, err := application.Decide(hiring.Statuses[1+i%decisions], now)
		require.NoError(t, err)

		applications = append(applications, application)
		changes = append(changes, changeOf(application, hiring.Pending))
	}

	require.NoError(t, storage.Applications.UpdateStatuses(ctx, org, applications, changes))

	for i, application := range applications {
		require.True(t, isVisible(t, storage, application), "application %d", i)
		require.Equal(t, []hiring.Change{changes[i]}, listTimeline(t, storage, application), "application %d", i)
	}
}

// applicationStatusesEndOfATimeline checks that the newest entries are listed, the oldest of
// them first.
func applicationStatusesEndOfATimeline(t *testing.T, open HiringOpener) {
	ctx := context.Background()
	storage, now := openHiring(t, open)
	application := apply(t, storage, newID(), newID(), now)
	otherApplication := apply(t, storage, newID(), newID(), now)

	var changes []hiring.Change // oldest first
	for range 5 {
		change := changeOf(application, hiring.Review)
		changes = append(changes, change)
		require.NoError(t, storage.Applications.UpdateStatuses(ctx, application.OrganizationID,
			[]hiring.Application{application}, []hiring.Change{change}))
	}

	// The newest change is one of another application, which the timeline does not contain.
	ofOther := changeOf(otherApplication, hiring.Review)
	require.NoError(t, storage.Applications.UpdateStatuses(ctx, otherApplication.OrganizationID,
		[]hiring.Application{otherApplication}, []hiring.Change{ofOther}))

	const limit = 3

	newest, err := storage.Applications.ListChanges(ctx, application.OrganizationID, application.ID, limit)
	require.NoError(t, err)
	require.Equal(t, changes[len(changes)-limit:], newest)
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
				hiring.ApplicationFilter{IDs: []string{application.ID}}, firstHundred)
			if err != nil {
				return hiring.Application{}, err
			}

			return found.Items[0], nil
		})
}

// applicationsAreLocked checks that the function read locks the application: twenty concurrent transactions read
// the application with it and then change its status, and no change is lost.
func applicationsAreLocked(
	t *testing.T,
	open HiringOpener,
	read func(ctx context.Context, storage adapters.HiringStorage, application hiring.Application) (hiring.Application, error),
) {
	t.Helper()

	ctx := context.Background()
	storage, now := openHiring(t, open)
	application := apply(t, storage, newID(), newID(), now)

	const transactions = 20

	runConcurrently(t, transactions, func(int) error {
		return storage.Tx.Do(ctx, func(ctx context.Context) error {
			current, err := read(ctx, storage, application)
			if err != nil {
				return err
			}

			previous := current.Status
			if _, err := current.Decide(statusAfter(previous), now); err != nil {
				return err
			}

			return storage.Applications.UpdateStatuses(ctx, application.OrganizationID, []hiring.Application{current},
				[]hiring.Change{changeOf(current, previous)})
		})
	})

	timeline := listTimeline(t, storage, application)
	require.Len(t, timeline, transactions)

	// The ids of the changes are not in the order of the transactions. Therefore only the numbers are
	// compared: a status is left as often as it is reached. The application begins as pending, and
	// its current status counts as left.
	left, reached := map[hiring.Status]int{}, map[hiring.Status]int{hiring.Pending: 1}
	for _, change := range timeline {
		left[change.From]++
		reached[change.To]++
	}

	current, err := storage.Applications.Get(ctx, ofApplicant(application.ApplicantID), application.ID)
	require.NoError(t, err)
	left[current.Status]++
	require.Equal(t, reached, left)
}

// statusAfter returns the next status in a circle of the five statuses before Withdrawn. The changes of concurrent
// transactions thereby form a chain, which breaks if one of them is lost.
func statusAfter(status hiring.Status) hiring.Status {
	circle := hiring.Statuses[:5]

	return circle[(slices.Index(circle, status)+1)%len(circle)]
}
