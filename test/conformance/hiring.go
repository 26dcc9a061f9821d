package conformance

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/core/clock"
	"github.com/locumhq/locum/core/event"
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/modules/hiring"
	"github.com/locumhq/locum/test/kit"
	"github.com/locumhq/locum/test/kit/stores"
)

// Hiring checks the port hiring.Applications. open makes an empty store.
func Hiring(t *testing.T, open func(t testing.TB, clk clock.Clock) adapters.Storage) {
	ctx := context.Background()
	now := kit.NewClock().Now().Add(1234567 * time.Microsecond)
	start := func(t *testing.T) (adapters.Storage, hiring.Applications, func(organization, applicant string) hiring.Application) {
		t.Parallel()
		clk := kit.NewClock()
		s := open(t, clk)
		return s, s.Hiring.Applications, func(organization, applicant string) hiring.Application {
			t.Helper()
			a := newApplication(organization, applicant, clk.Now())
			require.NoError(t, s.Hiring.Applications.Add(ctx, a))
			return a
		}
	}
	id := stores.NewID

	t.Run("gives back what was stored", func(t *testing.T) {
		_, apps, _ := start(t)
		a := newApplication(id(), id(), now)
		a.CoverLetter = "Zoë's \"letter\"\n\t\\ % _ \U0001F469"
		a.Answers = []hiring.Answer{{QuestionID: "b", Answer: "é\n\"'"}, {QuestionID: "a", Answer: ""}}
		require.NoError(t, apps.Add(ctx, a))
		got, err := apps.ForApplicant(ctx, a.ApplicantID, a.ID)
		require.NoError(t, err)
		require.Equal(t, a, got)
		many, err := apps.ForOrganization(ctx, a.OrganizationID, []string{a.ID})
		require.NoError(t, err)
		require.Equal(t, []hiring.Application{a}, many)

		a.Tracker, a.TrackerColor = "in-progress", "bg-red"
		require.NoError(t, apps.SaveOwn(ctx, a.ApplicantID, a))
		got, err = apps.ForApplicant(ctx, a.ApplicantID, a.ID)
		require.NoError(t, err)
		require.Equal(t, a, got)
	})

	t.Run("shows what is in sight, the newest first, narrowed and in pages", func(t *testing.T) {
		s, apps, _ := start(t)
		org, ann, other := id(), id(), id()
		at := func(organization, applicant string, more func(*hiring.Application), days int) hiring.Application {
			a := newApplication(organization, applicant, now.AddDate(0, 0, days))
			a.CoverLetter, a.ResumeURL = "Letter", "https://example.org/cv.pdf"
			if more != nil {
				more(&a)
			}
			require.NoError(t, s.Hiring.Applications.Add(ctx, a))
			return a
		}
		first := at(org, id(), nil, 0)
		second := at(org, ann, func(a *hiring.Application) { a.Status = hiring.Review }, 1)
		third := at(other, ann, nil, 2)
		withdrawn := at(org, ann, nil, 3)
		withdrawn.WithdrawnAt, withdrawn.Status = &now, hiring.Withdrawn
		require.NoError(t, apps.SaveOwn(ctx, ann, withdrawn))
		elsewhere := at(other, id(), nil, 4)
		seen := func(v hiring.Sight, f hiring.SeenFilter) []hiring.Application {
			t.Helper()
			var out []hiring.Application
			r := page.Request{Number: 1, Size: 2}
			for {
				got, err := apps.PageSeen(ctx, v, f, r)
				require.NoError(t, err)
				numbered, err := apps.PageSeen(ctx, v, f, page.Request{Number: r.Number, Size: 2})
				require.NoError(t, err)
				require.Equal(t, numbered.Items, got.Items)
				out = append(out, got.Items...)
				if r.Cursor, r.Number = got.NextCursor, r.Number+1; r.Cursor == "" {
					require.Equal(t, len(out), got.Total)
					return out
				}
			}
		}
		theirs, own, both := hiring.Sight{OrganizationID: org}, hiring.Sight{ApplicantID: ann}, hiring.Sight{OrganizationID: org, ApplicantID: ann}
		require.Equal(t, []hiring.Application{withdrawn, second, first}, seen(theirs, hiring.SeenFilter{}))
		require.Equal(t, []hiring.Application{third, second}, seen(own, hiring.SeenFilter{}), "what they have withdrawn is gone for them")
		require.Equal(t, []hiring.Application{withdrawn, third, second, first}, seen(both, hiring.SeenFilter{}), "each once")
		require.Equal(t, []hiring.Application{second}, seen(both, hiring.SeenFilter{ListingID: second.ListingID}))
		require.Equal(t, []hiring.Application{withdrawn, second}, seen(theirs, hiring.SeenFilter{ApplicantID: ann}))
		require.Empty(t, seen(own, hiring.SeenFilter{ApplicantID: first.ApplicantID}))
		require.Equal(t, []hiring.Application{withdrawn, second}, seen(both, hiring.SeenFilter{Statuses: []hiring.Status{hiring.Review, hiring.Withdrawn}}))
		require.Equal(t, []hiring.Application{third, second}, seen(both, hiring.SeenFilter{After: second.AppliedAt, Before: withdrawn.AppliedAt}))

		for _, c := range []struct {
			v    hiring.Sight
			a    hiring.Application
			sees bool
		}{{theirs, withdrawn, true}, {own, withdrawn, false}, {both, withdrawn, true}, {own, third, true}, {theirs, third, false}, {both, elsewhere, false}} {
			got, err := apps.Seen(ctx, c.v, c.a.ID)
			if c.sees {
				require.NoError(t, err)
				require.Equal(t, c.a, got)
			} else {
				require.ErrorIs(t, err, hiring.ErrNotFound)
			}
		}
	})

	t.Run("keeps one application per person and listing, and the transaction that tried a second", func(t *testing.T) {
		s, apps, add := start(t)
		first := add(id(), id())
		second := newApplication(first.OrganizationID, first.ApplicantID, now)
		second.ListingID = first.ListingID
		other := newApplication(first.OrganizationID, first.ApplicantID, now)
		require.NoError(t, s.Identity.Tx.Do(ctx, func(ctx context.Context) error {
			require.ErrorIs(t, apps.Add(ctx, second), hiring.ErrAlreadyApplied)
			return apps.Add(ctx, other)
		}))
		_, err := apps.ForApplicant(ctx, other.ApplicantID, other.ID)
		require.NoError(t, err)
		_, err = apps.ForApplicant(ctx, second.ApplicantID, second.ID)
		require.ErrorIs(t, err, hiring.ErrNotFound)
	})

	t.Run("knows what an applicant applied for", func(t *testing.T) {
		s, apps, add := start(t)
		me, other := id(), id()
		var mine []hiring.Application
		for range 4 {
			mine = append(mine, add(id(), me))
		}
		theirs := add(id(), other)
		withdrawn := mine[3]
		withdrawn.Status, withdrawn.WithdrawnAt = hiring.Withdrawn, &now
		require.NoError(t, s.Identity.Tx.Do(ctx, func(ctx context.Context) error { return apps.SaveOwn(ctx, me, withdrawn) }))
		lately, err := apps.AppliedLately(ctx, me, 2)
		require.NoError(t, err)
		require.Equal(t, []string{mine[2].ListingID, mine[1].ListingID}, lately)
		among, err := apps.AppliedAmong(ctx, me, []string{mine[0].ListingID, withdrawn.ListingID, theirs.ListingID, id()})
		require.NoError(t, err)
		require.Equal(t, map[string]bool{mine[0].ListingID: true, withdrawn.ListingID: true}, among)
	})

	t.Run("records what is told of an application, exactly if it is there", func(t *testing.T) {
		s, apps, _ := start(t)
		submitted := func(a hiring.Application) event.Event {
			return event.ApplicationSubmitted{ApplicationID: a.ID, SubmittedAt: now}
		}
		recorded := func() (subjects []string) {
			t.Helper()
			found, err := s.Identity.Outbox.Claim(ctx, 100, time.Hour)
			require.NoError(t, err)
			for _, e := range found {
				subjects = append(subjects, e.Subject)
			}
			return subjects
		}
		listening, stop := context.WithCancel(ctx)
		defer stop()
		wake := s.Identity.Outbox.Notifications(listening)

		alone := newApplication(id(), id(), now)
		require.NoError(t, apps.Add(ctx, alone, submitted(alone)))
		select {
		case <-wake:
		case <-time.After(10 * time.Second):
			require.Fail(t, "nobody was woken")
		}
		require.Equal(t, []string{alone.ID}, recorded())
		again := newApplication(alone.OrganizationID, alone.ApplicantID, now)
		again.ListingID = alone.ListingID
		require.ErrorIs(t, apps.Add(ctx, again, submitted(again)), hiring.ErrAlreadyApplied)
		require.Empty(t, recorded())

		within, told, undone := newApplication(id(), id(), now), newApplication(id(), id(), now), newApplication(id(), id(), now)
		require.NoError(t, s.Identity.Tx.Do(ctx, func(ctx context.Context) error {
			require.ErrorIs(t, apps.Add(ctx, again, submitted(again)), hiring.ErrAlreadyApplied)
			require.NoError(t, apps.Add(ctx, within, submitted(within)))
			return apps.Add(ctx, told, submitted(told), event.JobUpdated{JobID: told.ListingID})
		}))
		require.ElementsMatch(t, []string{within.ID, told.ID, told.ListingID}, recorded())
		boom := errors.New("boom")
		require.ErrorIs(t, s.Identity.Tx.Do(ctx, func(ctx context.Context) error {
			require.NoError(t, apps.Add(ctx, undone, submitted(undone)))
			return boom
		}), boom)
		require.Empty(t, recorded())
		_, err := apps.ForApplicant(ctx, undone.ApplicantID, undone.ID)
		require.ErrorIs(t, err, hiring.ErrNotFound)
	})

	t.Run("lets one of many who apply at once, and tells of that one", func(t *testing.T) {
		s, apps, _ := start(t)
		first := newApplication(id(), id(), now)
		var applying sync.WaitGroup
		var added atomic.Int64
		for range 12 {
			applying.Go(func() {
				a := first
				a.ID = id()
				switch err := apps.Add(ctx, a, event.ApplicationSubmitted{ApplicationID: a.ID, SubmittedAt: now}); {
				case err == nil:
					added.Add(1)
				case !errors.Is(err, hiring.ErrAlreadyApplied):
					t.Error(err)
				}
			})
		}
		applying.Wait()
		require.EqualValues(t, 1, added.Load())
		found, err := s.Identity.Outbox.Claim(ctx, 100, time.Hour)
		require.NoError(t, err)
		require.Len(t, found, 1)
		_, err = apps.ForApplicant(ctx, first.ApplicantID, found[0].Subject)
		require.NoError(t, err)
	})

	t.Run("undoes everything with its transaction", func(t *testing.T) {
		s, apps, add := start(t)
		a := add(id(), id())
		boom := errors.New("boom")
		require.ErrorIs(t, s.Identity.Tx.Do(ctx, func(ctx context.Context) error {
			got, err := apps.ForApplicant(ctx, a.ApplicantID, a.ID)
			require.NoError(t, err)
			got.Withdraw(now)
			require.NoError(t, apps.SaveOwn(ctx, a.ApplicantID, got, changeOf(got, hiring.Pending)))
			require.NoError(t, apps.Add(ctx, newApplication(a.OrganizationID, a.ApplicantID, now)))
			return boom
		}), boom)
		got, err := apps.PageForApplicant(ctx, a.ApplicantID, page.Request{Number: 1, Size: 10})
		require.NoError(t, err)
		require.Equal(t, 1, got.Total)
		require.Equal(t, hiring.Pending, got.Items[0].Status)
		timeline, err := apps.Timeline(ctx, a.OrganizationID, a.ID, 10)
		require.NoError(t, err)
		require.Empty(t, timeline)
	})

	t.Run("changes nothing of another owner", func(t *testing.T) {
		_, apps, add := start(t)
		a := add(id(), id())
		stolen := a
		stolen.Status, stolen.Tracker = hiring.Accepted, "completed"
		require.Error(t, apps.SaveStatuses(ctx, id(), []hiring.Application{stolen}, nil))
		require.Error(t, apps.SaveOwn(ctx, id(), stolen))
		_, err := apps.ForApplicant(ctx, id(), a.ID)
		require.ErrorIs(t, err, hiring.ErrNotFound)
		many, err := apps.ForOrganization(ctx, id(), []string{a.ID})
		require.NoError(t, err)
		require.Empty(t, many)
		got, err := apps.ForApplicant(ctx, a.ApplicantID, a.ID)
		require.NoError(t, err)
		require.Equal(t, a, got)
	})

	t.Run("hides from the applicant what they withdrew and leaves it to the employer", func(t *testing.T) {
		_, apps, add := start(t)
		a := add(id(), id())
		a.Withdraw(now)
		require.NoError(t, apps.SaveOwn(ctx, a.ApplicantID, a, changeOf(a, hiring.Pending)))
		_, err := apps.ForApplicant(ctx, a.ApplicantID, a.ID)
		require.ErrorIs(t, err, hiring.ErrNotFound)
		mine, err := apps.PageForApplicant(ctx, a.ApplicantID, page.Request{Number: 1, Size: 10})
		require.NoError(t, err)
		require.Zero(t, mine.Total)
		theirs, err := apps.PageForOrganization(ctx, a.OrganizationID, page.Request{Number: 1, Size: 10})
		require.NoError(t, err)
		require.Equal(t, 1, theirs.Total)
		require.Equal(t, a.WithdrawnAt, theirs.Items[0].WithdrawnAt)
		reopened := a
		reopened.Status, reopened.WithdrawnAt = hiring.Accepted, nil
		require.Error(t, apps.SaveStatuses(ctx, a.OrganizationID, []hiring.Application{reopened}, nil), "a withdrawal is final in the store too")
	})

	t.Run("counts for the applicant what their list shows", func(t *testing.T) {
		_, apps, add := start(t)
		ann := id()
		add(id(), ann)
		a, tracked, gone := add(id(), ann), add(id(), ann), add(id(), ann)
		add(id(), id())
		a.Status = hiring.Review
		require.NoError(t, apps.SaveStatuses(ctx, a.OrganizationID, []hiring.Application{a}, nil))
		tracked.Tracker = hiring.Status("in-progress")
		require.NoError(t, apps.SaveOwn(ctx, ann, tracked))
		gone.WithdrawnAt = &now
		require.NoError(t, apps.SaveOwn(ctx, ann, gone))
		again := add(id(), ann)
		again.Status, again.Tracker = hiring.Review, hiring.Pending
		require.NoError(t, apps.SaveOwn(ctx, ann, again))
		for seen, want := range map[hiring.Status]int{hiring.Pending: 2, hiring.Review: 1, "in-progress": 1, hiring.Accepted: 0} {
			all, those, err := apps.CountForApplicant(ctx, ann, seen)
			require.NoError(t, err)
			require.Equal(t, []int{4, want}, []int{all, those}, seen)
		}
		all, those, err := apps.CountForApplicant(ctx, id(), hiring.Pending)
		require.NoError(t, err)
		require.Zero(t, all+those)
	})

	t.Run("sets many statuses at once and drops the trackers", func(t *testing.T) {
		_, apps, add := start(t)
		org := id()
		var as []hiring.Application
		var changes []hiring.Change
		for i := range 100 {
			a := add(org, id())
			a.Tracker = "completed"
			require.NoError(t, apps.SaveOwn(ctx, a.ApplicantID, a))
			_, err := a.Decide(hiring.Statuses[i%5+1], now)
			require.NoError(t, err)
			as, changes = append(as, a), append(changes, changeOf(a, hiring.Pending))
		}
		require.NoError(t, apps.SaveStatuses(ctx, org, as, changes))
		for i, a := range as {
			got, err := apps.ForApplicant(ctx, a.ApplicantID, a.ID)
			require.NoError(t, err)
			require.Equal(t, a, got)
			timeline, err := apps.Timeline(ctx, a.OrganizationID, a.ID, 10)
			require.NoError(t, err)
			require.Equal(t, changes[i:i+1], timeline)
		}
	})

	t.Run("reads the end of a timeline in its order", func(t *testing.T) {
		_, apps, add := start(t)
		a, other := add(id(), id()), add(id(), id())
		var all []hiring.Change
		for range 5 {
			c := changeOf(a, hiring.Review)
			all = append(all, c)
			require.NoError(t, apps.SaveStatuses(ctx, a.OrganizationID, []hiring.Application{a}, []hiring.Change{c}))
		}
		require.NoError(t, apps.SaveStatuses(ctx, other.OrganizationID, []hiring.Application{other}, []hiring.Change{changeOf(other, hiring.Review)}))
		got, err := apps.Timeline(ctx, a.OrganizationID, a.ID, 3)
		require.NoError(t, err)
		require.Equal(t, all[2:], got)
	})

	t.Run("lets one of two writers wait for the other", func(t *testing.T) {
		s, apps, add := start(t)
		a := add(id(), id())
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() {
				err := s.Identity.Tx.Do(ctx, func(ctx context.Context) error {
					got, err := apps.ForOrganization(ctx, a.OrganizationID, []string{a.ID})
					if err != nil {
						return err
					}
					from := got[0].Status
					if _, err := got[0].Decide(hiring.Statuses[(len(from)+1)%5], now); err != nil {
						return err
					}
					return apps.SaveStatuses(ctx, a.OrganizationID, got, []hiring.Change{changeOf(got[0], from)})
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		timeline, err := apps.Timeline(ctx, a.OrganizationID, a.ID, 100)
		require.NoError(t, err)
		require.Len(t, timeline, 20)
		// The ids say when an entry was begun, not when its turn came, so the
		// chain is followed by its links.
		steps := map[[2]hiring.Status]int{}
		for _, c := range timeline {
			steps[[2]hiring.Status{c.From, c.To}]++
		}
		in, out := map[hiring.Status]int{hiring.Pending: 1}, map[hiring.Status]int{}
		for step, n := range steps {
			out[step[0]] += n
			in[step[1]] += n
		}
		got, err := apps.ForApplicant(ctx, a.ApplicantID, a.ID)
		require.NoError(t, err)
		out[got.Status]++
		require.Equal(t, in, out, "every change began where another ended")
	})

	t.Run("counts exactly to ten thousand and says when it stops", func(t *testing.T) {
		s, apps, _ := start(t)
		org := id()
		fill := func(n int) {
			require.NoError(t, s.Identity.Tx.Do(ctx, func(ctx context.Context) error {
				for range n {
					if err := apps.Add(ctx, newApplication(org, id(), now)); err != nil {
						return err
					}
				}
				return nil
			}))
		}
		fill(page.MaxExact)
		got, err := apps.PageForOrganization(ctx, org, page.Request{Number: 100, Size: 100})
		require.NoError(t, err)
		require.Equal(t, page.MaxExact, got.Total)
		require.False(t, got.TotalIsEstimate)
		require.Len(t, got.Items, 100)
		require.Empty(t, got.NextCursor)
		fill(3)
		got, err = apps.PageForOrganization(ctx, org, page.Request{Number: 100, Size: 100})
		require.NoError(t, err)
		require.True(t, got.TotalIsEstimate)
		require.GreaterOrEqual(t, got.Total, page.MaxExact)
		require.NotEmpty(t, got.NextCursor, "the cursor reaches what numbers do not")
		rest, err := apps.PageForOrganization(ctx, org, page.Request{Number: 1, Size: 100, Cursor: got.NextCursor})
		require.NoError(t, err)
		require.Len(t, rest.Items, 3)
	})
}

func newApplication(organization, applicant string, at time.Time) hiring.Application {
	return hiring.Application{ID: stores.NewID(), ListingID: stores.NewID(), OrganizationID: organization, ApplicantID: applicant,
		Status: hiring.Pending, AppliedAt: at, ChangedAt: at}
}

func changeOf(a hiring.Application, from hiring.Status) hiring.Change {
	return hiring.Change{ID: stores.NewID(), ApplicationID: a.ID, Actor: hiring.ByEmployer, ActorID: stores.NewID(), From: from, To: a.Status, At: a.ChangedAt}
}
