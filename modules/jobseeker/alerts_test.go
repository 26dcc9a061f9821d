package jobseeker_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/event"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/task"
	"github.com/locumhq/locum/modules/jobseeker"
)

// save keeps a search and returns its id.
func (d *desk) save(who auth.Actor, query string, mailed bool) string {
	d.t.Helper()
	all, err := d.SaveSearch(d.t.Context(), who, jobseeker.SaveSearchInput{Query: query, EmailAlerts: mailed})
	require.NoError(d.t, err)
	return all[0].ID
}

// appear makes listings public, and lets the time pass until they are matched.
func (d *desk) appear(titles ...string) (ids []string) {
	d.t.Helper()
	var events []event.Event
	for _, title := range titles {
		id := d.post(title)
		ids, events = append(ids, id), append(events, event.JobCreated{JobID: id})
	}
	d.happens(events...)
	d.pass(10 * time.Second)
	return ids
}

// pass lets time pass and does what is due by then.
func (d *desk) pass(t time.Duration) {
	d.t.Helper()
	d.clock.Advance(t)
	for _, p := range d.Periodic() {
		require.NoError(d.t, p.Do(d.t.Context()), p.Kind)
	}
	d.work.All(d.t)
}

// mailed are the texts of the mails that were sent since the last call.
func (d *desk) mailed() (out []string) {
	for _, m := range d.sent {
		out = append(out, m.Text)
	}
	d.sent = nil
	return out
}

func TestAlerts_NewListing_MatchesSearches(t *testing.T) {
	onEach(t, func(t *testing.T, d *desk) {
		nurse, midwife := seeker(), seeker()
		d.save(nurse, "Nurse", false)
		d.save(nurse, "Staff", false)
		d.save(midwife, "Midwife", false)
		d.appear("Staff Nurse", "ICU Nurse", "Cook")
		require.ElementsMatch(t, []string{
			"job-alert: 2 new jobs for your search Nurse, among them ICU Nurse",
			"job-alert: A new job for your search Staff: Staff Nurse",
		}, d.told(nurse))
		require.Empty(t, d.told(midwife))
		require.Empty(t, d.mailed(), "nobody asked for mail")
	})
}

func TestAlerts_ResolvedSearch_IsEvaluated(t *testing.T) {
	onEach(t, func(t *testing.T, d *desk) {
		who := seeker()
		d.save(who, "Nusre", false)
		d.appear("Staff Nurse")
		require.Equal(t, []string{"job-alert: A new job for your search Nusre: Staff Nurse"}, d.told(who))
	})
}

func TestAlerts_SearchSavedWithoutIndex_IsResolvedLater(t *testing.T) {
	onEach(t, func(t *testing.T, d *desk) {
		who := seeker()
		d.unindexed = true
		d.save(who, "Nusre", false)
		require.NoError(t, d.ResolveSearches(t.Context()))
		d.unindexed = false
		require.NoError(t, d.ResolveSearches(t.Context()))
		d.appear("Staff Nurse")
		require.Equal(t, []string{"job-alert: A new job for your search Nusre: Staff Nurse"}, d.told(who))
		require.NoError(t, d.ResolveSearches(t.Context()))
		require.EqualValues(t, 1, d.resolved.Load())
	})
}

func TestSaveSearch_TooMany_IsNotResolved(t *testing.T) {
	onEach(t, func(t *testing.T, d *desk) {
		who := seeker()
		for range jobseeker.MaxSearches {
			d.save(who, "Nurse", false)
		}
		d.resolved.Store(0)
		_, err := d.SaveSearch(t.Context(), who, jobseeker.SaveSearchInput{Query: "Nurse"})
		require.ErrorIs(t, err, jobseeker.ErrTooManySearches)
		require.Zero(t, d.resolved.Load())
	})
}

func TestAlerts_RepeatedEvent_MatchesOnce(t *testing.T) {
	onEach(t, func(t *testing.T, d *desk) {
		who := seeker()
		d.save(who, "Nurse", true)
		id := d.appear("Nurse")[0]
		for range 3 {
			d.happens(event.JobCreated{JobID: id})
			d.pass(time.Minute)
		}
		d.pass(25 * time.Hour)
		require.Len(t, d.told(who), 1)
		require.Len(t, d.mailed(), 1)
	})
}

func TestAlerts_OlderListing_NotMatched(t *testing.T) {
	onEach(t, func(t *testing.T, d *desk) {
		who, id := seeker(), d.post("Nurse")
		d.clock.Advance(time.Second)
		d.save(who, "Nurse", true)
		d.happens(event.JobCreated{JobID: id})
		d.pass(time.Minute)
		require.Empty(t, d.told(who))
		gone := d.post("Nurse that closed at once")
		d.gone[gone] = true
		d.happens(event.JobCreated{JobID: gone})
		d.pass(time.Minute)
		require.Empty(t, d.told(who))
	})
}

func TestAlerts_InterruptedRun_RepeatsNothing(t *testing.T) {
	onEach(t, func(t *testing.T, d *desk) {
		who := seeker()
		d.save(who, "Nurse", true)
		broken := d.AlertQueue
		d.AlertQueue = brokenQueue{broken}
		d.appearTo(t, "Nurse")
		require.Len(t, d.told(who), 1)
		d.AlertQueue = broken
		d.pass(time.Minute)
		require.Len(t, d.told(who), 1)
		d.pass(time.Minute)
		require.Len(t, d.mailed(), 1)
		left, err := broken.List(t.Context(), 10)
		require.NoError(t, err)
		require.Empty(t, left)
	})
}

// brokenQueue fails after the matches are stored.
type brokenQueue struct{ jobseeker.AlertQueue }

func (brokenQueue) Delete(context.Context, []string) error { return errors.New("killed") }

// appearTo is appear without what comes by the clock.
func (d *desk) appearTo(t *testing.T, title string) {
	t.Helper()
	d.happens(event.JobCreated{JobID: d.post(title)})
	d.clock.Advance(10 * time.Second)
	d.work.All(t)
}

func TestDigest_OnePerDay_EachMatchOnce(t *testing.T) {
	onEach(t, func(t *testing.T, d *desk) {
		who := seeker()
		d.save(who, "Nurse", true)
		d.save(who, "ICU", true)
		d.save(who, "Cook", false)
		d.appear("ICU Nurse", "Cook")
		first := d.mailed()
		require.Len(t, first, 1, "the first comes at once")
		require.Contains(t, first[0], "1 new job matches your saved searches")
		require.Contains(t, first[0], "ICU Nurse")
		require.Contains(t, first[0], "your search: ICU; Nurse")
		require.Contains(t, first[0], "https://jobs.example.org/unsubscribe?token=unsubscribe."+who.UserID)
		require.NotContains(t, first[0], "Cook", "a search without e-mail alerts")

		d.appear("Staff Nurse")
		d.pass(12 * time.Hour)
		d.appear("Night Nurse")
		require.Empty(t, d.mailed())
		d.pass(12 * time.Hour)
		second := d.mailed()
		require.Len(t, second, 1)
		require.Contains(t, second[0], "Staff Nurse")
		require.Contains(t, second[0], "Night Nurse")
		require.NotContains(t, second[0], "ICU Nurse")
		d.pass(25 * time.Hour)
		require.Empty(t, d.mailed(), "nothing new, no mail")
		d.appear("Day Nurse")
		require.Len(t, d.mailed(), 1)
	})
}

func TestDigest_SendFails_SameMailLater(t *testing.T) {
	onEach(t, func(t *testing.T, d *desk) {
		who := seeker()
		d.save(who, "Nurse", true)
		d.mailErr = errors.New("421 try again")
		ids := d.appear("Nurse A", "Nurse B")
		require.Empty(t, d.mailed())
		d.appear("Nurse C")
		d.gone[ids[1]] = true
		d.mailErr = nil
		d.pass(time.Hour)
		require.Len(t, d.sent, 1)
		require.True(t, strings.HasPrefix(d.sent[0].ID, "job-alerts-"), d.sent[0].ID)
		text := d.mailed()[0]
		require.Contains(t, text, "Nurse A")
		require.NotContains(t, text, "Nurse B", "it is not public any more")
		require.NotContains(t, text, "Nurse C", "it stands in the next")
		d.pass(24 * time.Hour)
		text = d.mailed()[0]
		require.Contains(t, text, "Nurse C")
		require.NotContains(t, text, "Nurse A")
	})
}

func TestDigest_StorageFails_IsAtomic(t *testing.T) {
	onEach(t, func(t *testing.T, d *desk) {
		who := seeker()
		d.save(who, "Nurse", true)
		jobs := d.Tasks
		d.happens(event.JobCreated{JobID: d.post("Nurse")})
		d.clock.Advance(10 * time.Second)
		d.Tasks = brokenJobs{}
		d.work.All(t)
		d.Tasks = jobs
		require.Empty(t, d.mailed())
		d.pass(time.Minute)
		require.Len(t, d.mailed(), 1)
	})
}

// brokenJobs take nothing on.
type brokenJobs struct{}

func (brokenJobs) Add(context.Context, ...task.Task) error { return errors.New("killed") }

func TestDigest_ManyMatches_ShowsFiftyAndCount(t *testing.T) {
	onEach(t, func(t *testing.T, d *desk) {
		who := seeker()
		d.save(who, "Nurse", true)
		var titles []string
		for i := range 63 {
			titles = append(titles, fmt.Sprintf("Nurse %02d.", i))
		}
		d.appear(titles...)
		text := d.mailed()[0]
		require.Contains(t, text, "63 new jobs match your saved searches")
		require.Equal(t, 50, strings.Count(text, "/jobs/"))
		require.Contains(t, text, "And 13 more.")
		require.Contains(t, text, "Nurse 62.")
		require.NotContains(t, text, "Nurse 12.")
	})
}

func TestDigest_Unsubscribed_SendsNoMail(t *testing.T) {
	onEach(t, func(t *testing.T, d *desk) {
		who, other := seeker(), seeker()
		d.save(who, "Nurse", true)
		d.save(other, "Nurse", true)
		d.mailErr = errors.New("421 try again")
		d.appear("Nurse A")
		require.ErrorIs(t, d.Unsubscribe(t.Context(), "download."+who.UserID+".1"), fault.ErrUnauthorized)
		require.NoError(t, d.Unsubscribe(t.Context(), "unsubscribe."+who.UserID+".1"))
		require.NoError(t, d.Unsubscribe(t.Context(), "unsubscribe."+who.UserID+".1"))
		d.mailErr = nil
		d.pass(time.Hour)
		d.appear("Nurse B")
		d.pass(25 * time.Hour)
		require.Len(t, d.sent, 2)
		for _, m := range d.sent {
			require.Equal(t, other.UserID+"@example.org", m.To.Email)
		}
		require.Len(t, d.told(who), 2, "the notifications go on")
	})
}

func TestDigest_NoAccountOrSearch_SendsNoMail(t *testing.T) {
	onEach(t, func(t *testing.T, d *desk) {
		gone, changed := seeker(), seeker()
		d.save(gone, "Nurse", true)
		id := d.save(changed, "Nurse", true)
		d.deaf[gone.UserID] = true
		d.mailErr = errors.New("421 try again")
		d.appear("Nurse")
		_, err := d.DeleteSearch(t.Context(), changed, id)
		require.NoError(t, err)
		d.mailErr = nil
		d.pass(time.Hour)
		require.Empty(t, d.mailed())
	})
}

func TestSavedSearch_OtherUserOrOverLimit_Refused(t *testing.T) {
	onEach(t, func(t *testing.T, d *desk) {
		ctx, who, stranger := t.Context(), seeker(), seeker()
		var all60 sync.WaitGroup
		var mu sync.Mutex
		refused := 0
		for i := range 60 {
			all60.Go(func() {
				_, err := d.SaveSearch(ctx, who, jobseeker.SaveSearchInput{Query: fmt.Sprint("q", i)})
				if errors.Is(err, jobseeker.ErrTooManySearches) {
					mu.Lock()
					refused++
					mu.Unlock()
				} else if err != nil {
					t.Error(err)
				}
			})
		}
		all60.Wait()
		require.Equal(t, 10, refused)
		all, err := d.Prefer(ctx, who, jobseeker.PreferInput{})
		require.NoError(t, err)
		require.Len(t, all, jobseeker.MaxSearches)
		_, err = d.DeleteSearch(ctx, stranger, all[0].ID)
		require.ErrorIs(t, err, jobseeker.ErrSearchNotFound)
		rest, err := d.DeleteSearch(ctx, who, strings.ToUpper(all[0].ID))
		require.NoError(t, err)
		require.Len(t, rest, jobseeker.MaxSearches-1)
		for _, err := range []error{
			errOf(d.SaveSearch(ctx, auth.Actor{}, jobseeker.SaveSearchInput{Query: "x"})),
			errOf(d.DeleteSearch(ctx, auth.Actor{}, all[1].ID)),
			errOf(d.Prefer(ctx, auth.Actor{}, jobseeker.PreferInput{})),
		} {
			require.ErrorIs(t, err, fault.ErrUnauthorized)
		}
	})
}

func errOf(_ []jobseeker.Search, err error) error { return err }

func TestPreferences_OmittedFields_AreKept(t *testing.T) {
	onEach(t, func(t *testing.T, d *desk) {
		ctx, who := t.Context(), seeker()
		place, types := " Leeds ", []string{"full-time", "permanent"}
		_, err := d.Prefer(ctx, who, jobseeker.PreferInput{PreferredLocation: &place})
		require.NoError(t, err)
		_, err = d.Prefer(ctx, who, jobseeker.PreferInput{EmploymentTypes: &types})
		require.NoError(t, err)
		got, err := d.MyProfile(ctx, who)
		require.NoError(t, err)
		require.Equal(t, "Leeds", got.PreferredLocation)
		require.Equal(t, types, got.EmploymentTypes)
		for range 9 {
			types = append(types, "bank")
		}
		_, err = d.Prefer(ctx, who, jobseeker.PreferInput{EmploymentTypes: &types})
		require.Equal(t, "employmentTypes", fault.Of(err).Fields[0].Name)
	})
}

func TestAlerts_MatchesDeleted_NotMatchedAgain(t *testing.T) {
	onEach(t, func(t *testing.T, d *desk) {
		who := seeker()
		d.save(who, "Nurse", true)
		id := d.appear("Nurse")[0]
		d.pass(91 * 24 * time.Hour)
		d.happens(event.JobCreated{JobID: id})
		d.pass(time.Minute)
		require.Len(t, d.told(who), 1)
		require.Len(t, d.mailed(), 1)
	})
}

func TestDigest_LineBreaks_AreRemoved(t *testing.T) {
	onEach(t, func(t *testing.T, d *desk) {
		who := seeker()
		d.save(who, "Nurse", true)
		d.appear("Nurse\r\n\r\nYour account is locked: https://evil.example")
		require.Equal(t, []string{"job-alert: A new job for your search Nurse: Nurse Your account is locked: https://evil.example"}, d.told(who))
		require.Contains(t, d.mailed()[0], "- Nurse Your account is locked")
	})
}
