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

func openHiring(t *testing.T, open HiringOpener) (adapters.HiringStorage, time.Time) {
	t.Helper()
	t.Parallel()
	clk := newFakeClock()
	s := open(t, clk)
	requirePorts(t, s)
	return s, clk.Now().Add(1234567 * time.Microsecond)
}

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

func changeOf(a hiring.Application, from hiring.Status) hiring.Change {
	return hiring.Change{
		ID:            newID(),
		ApplicationID: a.ID,
		Actor:         hiring.ByEmployer,
		ActorID:       newID(),
		From:          from,
		To:            a.Status,
		At:            a.ChangedAt,
	}
}

func toOrganization(id string) hiring.Visibility { return hiring.Visibility{OrganizationID: id} }

func ofApplicant(id string) hiring.Visibility { return hiring.Visibility{ApplicantID: id} }

// isVisible reports whether the applicant sees the application, and requires that it is
// as given.
func isVisible(t *testing.T, s adapters.HiringStorage, a hiring.Application) bool {
	t.Helper()
	got, err := s.Applications.Get(context.Background(), ofApplicant(a.ApplicantID), a.ID)
	if errors.Is(err, hiring.ErrNotFound) {
		return false
	}
	require.NoError(t, err)
	require.Equal(t, a, got)
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

func applicationsCreateGetUpdate(t *testing.T, open HiringOpener) {
	ctx := context.Background()
	s, now := openHiring(t, open)
	a := newApplication(newID(), newID(), now)
	a.CoverLetter, a.ResumeURL = "Zoë's \"letter\"\n\t\\ % _ \U0001F469", "https://example.org/cv.pdf"
	a.Answers = []hiring.Answer{{QuestionID: "b", Answer: "é\n\"'"}, {QuestionID: "a", Answer: ""}}
	require.NoError(t, s.Applications.Create(ctx, a))
	require.True(t, isVisible(t, s, a))
	got, err := s.Applications.Get(ctx, toOrganization(a.OrganizationID), a.ID)
	require.NoError(t, err)
	require.Equal(t, a, got)

	a.Tracker, a.TrackerColor = "in-progress", "bg-red"
	for range 2 {
		require.NoError(t, s.Applications.Update(ctx, a.ApplicantID, a))
		require.True(t, isVisible(t, s, a))
	}
}

func applicationsOnePerApplicantAndListing(t *testing.T, open HiringOpener) {
	ctx := context.Background()
	s, now := openHiring(t, open)
	a := apply(t, s, newID(), newID(), now)
	second, otherApplication := newApplication(a.OrganizationID, a.ApplicantID, now), newApplication(a.OrganizationID, a.ApplicantID, now)
	second.ListingID = a.ListingID
	require.ErrorIs(t, s.Applications.Create(ctx, second), hiring.ErrAlreadyApplied)
	require.ErrorIs(t, s.Tx.Do(ctx, func(ctx context.Context) error {
		return errors.Join(s.Applications.Create(ctx, otherApplication), s.Applications.Create(ctx, second))
	}), hiring.ErrAlreadyApplied)
	require.False(t, isVisible(t, s, otherApplication), "the transaction failed")
	require.ErrorIs(t, s.Tx.Do(ctx, func(ctx context.Context) error {
		_, err := s.Applications.Get(ctx, toOrganization(a.OrganizationID), a.ID)
		return errors.Join(err, s.Applications.Create(ctx, otherApplication), s.Applications.Create(ctx, second))
	}), hiring.ErrAlreadyApplied, "after a read")
	require.False(t, isVisible(t, s, otherApplication), "the transaction failed after a read")
	require.NoError(t, s.Applications.Create(ctx, otherApplication))
	require.False(t, isVisible(t, s, second))
	a.Withdraw(now)
	require.NoError(t, s.Applications.Update(ctx, a.ApplicantID, a))
	require.ErrorIs(t, s.Applications.Create(ctx, second), hiring.ErrAlreadyApplied, "after a withdrawal")
}

func applicationsOnePerApplicantAndListingConcurrently(t *testing.T, open HiringOpener) {
	ctx := context.Background()
	s, now := openHiring(t, open)
	a := newApplication(newID(), newID(), now)
	created := atOnce(t, 12, func(int) (bool, error) {
		mine := a
		mine.ID = newID()
		err := s.Tx.Do(ctx, func(ctx context.Context) error {
			if err := s.Applications.Create(ctx, mine); err != nil {
				return err
			}
			return s.Events.Record(ctx, event.ApplicationSubmitted{ApplicationID: mine.ID, SubmittedAt: now})
		})
		if errors.Is(err, hiring.ErrAlreadyApplied) {
			return false, nil
		}
		return err == nil, err
	})
	require.Equal(t, 1, created)
	recorded, err := s.Outbox.Claim(ctx, 100, time.Hour)
	require.NoError(t, err)
	require.Len(t, recorded, 1)
	_, err = s.Applications.Get(ctx, ofApplicant(a.ApplicantID), recorded[0].Subject)
	require.NoError(t, err)
}

func applicationsRollback(t *testing.T, open HiringOpener) {
	ctx := context.Background()
	first := page.Request{Number: 1, Size: 10}
	s, now := openHiring(t, open)
	a, boom := apply(t, s, newID(), newID(), now), errors.New("boom")
	require.ErrorIs(t, s.Tx.Do(ctx, func(ctx context.Context) error {
		got, err := s.Applications.Get(ctx, ofApplicant(a.ApplicantID), a.ID)
		require.NoError(t, err)
		got.Withdraw(now)
		require.NoError(t, s.Applications.Update(ctx, a.ApplicantID, got, changeOf(got, hiring.Pending)))
		require.NoError(t, s.Applications.Create(ctx, newApplication(a.OrganizationID, a.ApplicantID, now)))
		return boom
	}), boom)
	got, err := s.Applications.List(ctx, ofApplicant(a.ApplicantID), hiring.ApplicationFilter{}, first)
	require.NoError(t, err)
	require.Equal(t, []hiring.Application{a}, got.Items)
	timeline, err := s.Applications.ListChanges(ctx, a.OrganizationID, a.ID, 10)
	require.NoError(t, err)
	require.Empty(t, timeline)
}

func applicationsOtherOwner(t *testing.T, open HiringOpener) {
	ctx := context.Background()
	first := page.Request{Number: 1, Size: 10}
	s, now := openHiring(t, open)
	a := apply(t, s, newID(), newID(), now)
	stolen := a
	stolen.Status, stolen.Tracker = hiring.Accepted, "completed"
	require.Error(t, s.Applications.UpdateStatuses(ctx, newID(), []hiring.Application{stolen}, nil))
	require.Error(t, s.Applications.Update(ctx, newID(), stolen))
	for _, v := range []hiring.Visibility{{}, toOrganization(newID()), ofApplicant(newID()), toOrganization(a.ApplicantID), {OrganizationID: newID(), ApplicantID: newID()}} {
		_, err := s.Applications.Get(ctx, v, a.ID)
		require.ErrorIs(t, err, hiring.ErrNotFound)
		for _, f := range []hiring.ApplicationFilter{{}, {IDs: []string{a.ID}}, {ListingIDs: []string{a.ListingID}}, {ApplicantID: a.ApplicantID}} {
			found, err := s.Applications.List(ctx, v, f, first)
			require.NoError(t, err)
			require.Empty(t, found.Items)
			require.Zero(t, found.Total)
			counts, err := s.Applications.CountByStatus(ctx, v, f)
			require.NoError(t, err)
			require.Empty(t, counts)
		}
	}
	timeline, err := s.Applications.ListChanges(ctx, newID(), a.ID, 10)
	require.NoError(t, err)
	require.Empty(t, timeline)
	require.True(t, isVisible(t, s, a))
}

func applicationsWithdrawn(t *testing.T, open HiringOpener) {
	ctx := context.Background()
	first := page.Request{Number: 1, Size: 10}
	s, now := openHiring(t, open)
	a := apply(t, s, newID(), newID(), now)
	a.Withdraw(now)
	require.NoError(t, s.Applications.Update(ctx, a.ApplicantID, a, changeOf(a, hiring.Pending)))
	require.False(t, isVisible(t, s, a))
	mine, err := s.Applications.List(ctx, ofApplicant(a.ApplicantID), hiring.ApplicationFilter{}, first)
	require.NoError(t, err)
	require.Zero(t, mine.Total)
	theirs, err := s.Applications.List(ctx, toOrganization(a.OrganizationID), hiring.ApplicationFilter{}, first)
	require.NoError(t, err)
	require.Equal(t, []hiring.Application{a}, theirs.Items)
	reopened := a
	reopened.Status, reopened.WithdrawnAt = hiring.Accepted, nil
	require.Error(t, s.Applications.UpdateStatuses(ctx, a.OrganizationID, []hiring.Application{reopened}, nil))
	require.Error(t, s.Applications.Update(ctx, a.ApplicantID, reopened))
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

func applicationListsVisibilityAndFilters(t *testing.T, open HiringOpener) {
	ctx := context.Background()
	s, now := openHiring(t, open)
	org, ann, otherID := newID(), newID(), newID()
	at := func(organization, applicant string, status hiring.Status, days int) hiring.Application {
		a := newApplication(organization, applicant, now.AddDate(0, 0, days))
		a.CoverLetter, a.ResumeURL, a.Answers, a.Status = "Letter", "https://example.org/cv.pdf", []hiring.Answer{
			{QuestionID: "a", Answer: "b"},
		}, status
		require.NoError(t, s.Applications.Create(ctx, a))
		return a
	}
	first, second, third := at(org, newID(), hiring.Pending, 0), at(org, ann, hiring.Review, 1), at(otherID, ann, hiring.Pending, 2)
	withdrawn := at(org, ann, hiring.Pending, 3)
	withdrawn.WithdrawnAt, withdrawn.Status = &now, hiring.Withdrawn
	require.NoError(t, s.Applications.Update(ctx, ann, withdrawn))
	elsewhere := at(otherID, newID(), hiring.Pending, 4)
	theirs, own, both := toOrganization(org), ofApplicant(ann), hiring.Visibility{OrganizationID: org, ApplicantID: ann}
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
		{"ids", both, hiring.ApplicationFilter{IDs: []string{first.ID, third.ID, elsewhere.ID, newID()}}, []hiring.Application{third, first}},
		{"listing", both, hiring.ApplicationFilter{ListingIDs: []string{second.ListingID}}, []hiring.Application{second}},
		{"listings", theirs, hiring.ApplicationFilter{ListingIDs: []string{second.ListingID, third.ListingID, first.ListingID}}, []hiring.Application{second, first}},
		{"applicant of organization", theirs, hiring.ApplicationFilter{ApplicantID: ann}, []hiring.Application{withdrawn, second}},
		{"other applicant", own, hiring.ApplicationFilter{ApplicantID: first.ApplicantID}, nil},
		{"statuses", both, hiring.ApplicationFilter{Statuses: []hiring.Status{hiring.Review, hiring.Withdrawn}}, []hiring.Application{withdrawn, second}},
		{"times", both, hiring.ApplicationFilter{AppliedFrom: second.AppliedAt, AppliedUntil: withdrawn.AppliedAt}, []hiring.Application{third, second}},
		{"only withdrawn", own, hiring.ApplicationFilter{Withdrawn: hiring.OnlyWithdrawn}, []hiring.Application{withdrawn}},
		{"include withdrawn", own, hiring.ApplicationFilter{Withdrawn: hiring.IncludeWithdrawn,
			ListingIDs: []string{first.ListingID, third.ListingID, withdrawn.ListingID}}, []hiring.Application{withdrawn, third}},
	} {
		list := func(f hiring.ApplicationFilter) []hiring.Application {
			return walk(t, 2, func(r page.Request) (page.Result[hiring.Application], error) {
				return s.Applications.List(ctx, c.v, f, r)
			})
		}
		brief := slices.Clone(c.want)
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
		counts, err := s.Applications.CountByStatus(ctx, c.v, c.f)
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
	}{{theirs, withdrawn, true}, {own, withdrawn, false}, {both, withdrawn, true}, {both, third, true}, {own, third, true}, {theirs, third, false}, {both, elsewhere, false}} {
		got, err := s.Applications.Get(ctx, c.v, c.a.ID)
		if c.sees {
			require.NoError(t, err)
			require.Equal(t, c.a, got)
		} else {
			require.ErrorIs(t, err, hiring.ErrNotFound)
		}
	}
}

func applicationListsCountByStatus(t *testing.T, open HiringOpener) {
	ctx := context.Background()
	s, now := openHiring(t, open)
	org, listing := newID(), newID()
	var all []hiring.Application
	for i, status := range []hiring.Status{hiring.Pending, hiring.Pending, hiring.Accepted, hiring.Withdrawn} {
		a := newApplication(org, newID(), now.Add(time.Duration(i)*24*time.Hour))
		if a.Status = status; i < 2 {
			a.ListingID = listing
		}
		require.NoError(t, s.Applications.Create(ctx, a))
		all = append(all, a)
	}
	for _, c := range []struct {
		f    hiring.ApplicationFilter
		want map[hiring.Status]int
	}{
		{hiring.ApplicationFilter{}, map[hiring.Status]int{hiring.Pending: 2, hiring.Accepted: 1, hiring.Withdrawn: 1}},
		{hiring.ApplicationFilter{Statuses: []hiring.Status{hiring.Accepted}}, map[hiring.Status]int{hiring.Accepted: 1}},
		{hiring.ApplicationFilter{ListingIDs: []string{listing}}, map[hiring.Status]int{hiring.Pending: 2}},
		{hiring.ApplicationFilter{AppliedFrom: all[1].AppliedAt, AppliedUntil: all[3].AppliedAt}, map[hiring.Status]int{hiring.Pending: 1, hiring.Accepted: 1}},
	} {
		got, err := s.Applications.CountByStatus(ctx, toOrganization(org), c.f)
		require.NoError(t, err)
		require.Equal(t, c.want, got)
	}
}

func applicationListsCountByListing(t *testing.T, open HiringOpener) {
	ctx := context.Background()
	s, now := openHiring(t, open)
	org, listing := newID(), newID()
	for _, status := range []hiring.Status{hiring.Pending, hiring.Withdrawn} {
		a := newApplication(org, newID(), now)
		a.ListingID, a.Status = listing, status
		require.NoError(t, s.Applications.Create(ctx, a))
	}
	one, foreign := apply(t, s, org, newID(), now), apply(t, s, newID(), newID(), now)
	got, err := s.Counts.CountByListing(ctx, org, []string{listing, one.ListingID, foreign.ListingID, newID()})
	require.NoError(t, err)
	require.Equal(t, map[string]int{listing: 2, one.ListingID: 1}, got)
	got, err = s.Counts.CountByListing(ctx, org, []string{one.ListingID})
	require.NoError(t, err)
	require.Equal(t, map[string]int{one.ListingID: 1}, got)
}

func applicationListsCountByStatusForApplicant(t *testing.T, open HiringOpener) {
	ctx := context.Background()
	s, now := openHiring(t, open)
	ann, org := newID(), newID()
	apply(t, s, newID(), ann, now)
	reviewed, tracked, gone := apply(t, s, org, ann, now), apply(t, s, newID(), ann, now), apply(t, s, newID(), ann, now)
	apply(t, s, newID(), newID(), now)
	reviewed.Status = hiring.Review
	require.NoError(t, s.Applications.UpdateStatuses(ctx, org, []hiring.Application{reviewed}, nil))
	tracked.Tracker = "in-progress"
	require.NoError(t, s.Applications.Update(ctx, ann, tracked))
	gone.WithdrawnAt = &now
	require.NoError(t, s.Applications.Update(ctx, ann, gone))
	second := apply(t, s, newID(), ann, now)
	second.Status, second.Tracker = hiring.Review, hiring.Pending
	require.NoError(t, s.Applications.Update(ctx, ann, second))
	got, err := s.Applications.CountByStatus(ctx, ofApplicant(ann), hiring.ApplicationFilter{})
	require.NoError(t, err)
	require.Equal(t, map[hiring.Status]int{hiring.Pending: 2, hiring.Review: 1, "in-progress": 1}, got)
	got, err = s.Applications.CountByStatus(ctx, hiring.Visibility{OrganizationID: org, ApplicantID: ann}, hiring.ApplicationFilter{})
	require.NoError(t, err)
	require.Equal(t, map[hiring.Status]int{hiring.Pending: 2, hiring.Review: 1, "in-progress": 1}, got)
}

func applicationListsMoreThanTheExactTotal(t *testing.T, open HiringOpener) {
	ctx := context.Background()
	s, now := openHiring(t, open)
	org, ann := newID(), newID()
	fill := func(n int) {
		require.NoError(t, s.Tx.Do(ctx, func(ctx context.Context) error {
			for range n {
				if err := s.Applications.Create(ctx, newApplication(org, newID(), now)); err != nil {
					return err
				}
			}
			return nil
		}))
	}
	fill(page.MaxExact)
	last := page.Request{Number: 100, Size: 100}
	got, err := s.Applications.List(ctx, toOrganization(org), hiring.ApplicationFilter{}, last)
	require.NoError(t, err)
	require.Equal(t, page.MaxExact, got.Total)
	require.False(t, got.TotalIsEstimate)
	require.Len(t, got.Items, 100)
	require.Empty(t, got.NextCursor)
	fill(3)
	apply(t, s, newID(), ann, now)
	for _, v := range []hiring.Visibility{toOrganization(org), {OrganizationID: org, ApplicantID: ann}} {
		got, err = s.Applications.List(ctx, v, hiring.ApplicationFilter{}, last)
		require.NoError(t, err)
		require.True(t, got.TotalIsEstimate)
		require.Equal(t, page.MaxExact, got.Total)
		require.NotEmpty(t, got.NextCursor)
		rest, err := s.Applications.List(ctx, v, hiring.ApplicationFilter{}, page.Request{Number: 1, Size: 100, Cursor: got.NextCursor})
		require.NoError(t, err)
		require.LessOrEqual(t, len(rest.Items), 4)
		require.Empty(t, rest.NextCursor)
		require.Equal(t, page.MaxExact, rest.Total)
		require.True(t, rest.TotalIsEstimate)
	}
	counts, err := s.Applications.CountByStatus(ctx, toOrganization(org), hiring.ApplicationFilter{})
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

func applicationStatusesManyStatuses(t *testing.T, open HiringOpener) {
	ctx := context.Background()
	s, now := openHiring(t, open)
	org := newID()
	var as []hiring.Application
	var changes []hiring.Change
	for i := range 100 {
		a := apply(t, s, org, newID(), now)
		a.Tracker = "completed"
		require.NoError(t, s.Applications.Update(ctx, a.ApplicantID, a))
		_, err := a.Decide(hiring.Statuses[i%5+1], now)
		require.NoError(t, err)
		as, changes = append(as, a), append(changes, changeOf(a, hiring.Pending))
	}
	require.NoError(t, s.Applications.UpdateStatuses(ctx, org, as, changes))
	for i, a := range as {
		got, err := s.Applications.Get(ctx, ofApplicant(a.ApplicantID), a.ID)
		require.NoError(t, err)
		require.Equal(t, a, got)
		timeline, err := s.Applications.ListChanges(ctx, a.OrganizationID, a.ID, 10)
		require.NoError(t, err)
		require.Equal(t, changes[i:i+1], timeline)
	}
}

func applicationStatusesEndOfATimeline(t *testing.T, open HiringOpener) {
	ctx := context.Background()
	s, now := openHiring(t, open)
	a, otherApplication := apply(t, s, newID(), newID(), now), apply(t, s, newID(), newID(), now)
	var all []hiring.Change
	for range 5 {
		c := changeOf(a, hiring.Review)
		all = append(all, c)
		require.NoError(t, s.Applications.UpdateStatuses(ctx, a.OrganizationID, []hiring.Application{a}, []hiring.Change{c}))
	}
	require.NoError(
		t,
		s.Applications.UpdateStatuses(
			ctx,
			otherApplication.OrganizationID,
			[]hiring.Application{otherApplication},
			[]hiring.Change{changeOf(otherApplication, hiring.Review)},
		),
	)
	got, err := s.Applications.ListChanges(ctx, a.OrganizationID, a.ID, 3)
	require.NoError(t, err)
	require.Equal(t, all[2:], got)
}

func applicationStatusesLockedByGet(t *testing.T, open HiringOpener) {
	applicationsAreLocked(t, open, func(ctx context.Context, s adapters.HiringStorage, a hiring.Application) (hiring.Application, error) {
		return s.Applications.Get(ctx, toOrganization(a.OrganizationID), a.ID)
	})
}

func applicationStatusesLockedByList(t *testing.T, open HiringOpener) {
	applicationsAreLocked(t, open, func(ctx context.Context, s adapters.HiringStorage, a hiring.Application) (hiring.Application, error) {
		found, err := s.Applications.List(
			ctx,
			toOrganization(a.OrganizationID),
			hiring.ApplicationFilter{IDs: []string{a.ID}},
			page.Request{Number: 1, Size: 1},
		)
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
	s, now := openHiring(t, open)
	a := apply(t, s, newID(), newID(), now)
	together(t, 20, func(int) error {
		return s.Tx.Do(ctx, func(ctx context.Context) error {
			got, err := read(ctx, s, a)
			if err != nil {
				return err
			}
			from := got.Status
			if _, err := got.Decide(hiring.Statuses[(len(from)+1)%5], now); err != nil {
				return err
			}
			return s.Applications.UpdateStatuses(ctx, a.OrganizationID, []hiring.Application{got}, []hiring.Change{changeOf(got, from)})
		})
	})
	timeline, err := s.Applications.ListChanges(ctx, a.OrganizationID, a.ID, 100)
	require.NoError(t, err)
	require.Len(t, timeline, 20)
	// Ids are not in the order of the transactions. Every change must begin
	// with the status that another one ended with.
	begun, ended := map[hiring.Status]int{}, map[hiring.Status]int{hiring.Pending: 1}
	for _, c := range timeline {
		begun[c.From]++
		ended[c.To]++
	}
	got, err := s.Applications.Get(ctx, ofApplicant(a.ApplicantID), a.ID)
	require.NoError(t, err)
	begun[got.Status]++
	require.Equal(t, ended, begun)
}
