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

// saveSearch saves a search and returns its id.
func (d *testEnv) saveSearch(who auth.Actor, query string, mailed bool) string {
	d.t.Helper()
	all, err := d.SaveSearch(d.t.Context(), who, jobseeker.SaveSearchInput{Query: query, EmailAlerts: mailed})
	require.NoError(d.t, err)
	return all[0].ID
}

// publish publishes listings and advances the clock until they are matched.
func (d *testEnv) publish(titles ...string) (ids []string) {
	d.t.Helper()
	var events []event.Event
	for _, title := range titles {
		id := d.newListing(title)
		ids, events = append(ids, id), append(events, event.JobCreated{JobID: id})
	}
	d.recordAndHandle(events...)
	d.advance(10 * time.Second)
	return ids
}

// advance advances the clock and runs everything that is due.
func (d *testEnv) advance(t time.Duration) {
	d.t.Helper()
	d.clock.Advance(t)
	for _, p := range d.Periodic() {
		require.NoError(d.t, p.Do(d.t.Context()), p.Kind)
	}
	d.work.All(d.t)
}

// sentTexts returns the texts of the messages that were sent since the last call.
func (d *testEnv) sentTexts() (out []string) {
	for _, m := range d.sent {
		out = append(out, m.Text)
	}
	d.sent = nil
	return out
}

func TestAlerts_NewListing_MatchesSearches(t *testing.T) {
	onEach(t, func(t *testing.T, d *testEnv) {
		nurse, midwife := seeker(), seeker()
		d.saveSearch(nurse, "Nurse", false)
		d.saveSearch(nurse, "Staff", false)
		d.saveSearch(midwife, "Midwife", false)
		d.publish("Staff Nurse", "ICU Nurse", "Cook")
		require.ElementsMatch(t, []string{
			"job-alert: 2 new jobs for your search Nurse, among them ICU Nurse",
			"job-alert: A new job for your search Staff: Staff Nurse",
		}, d.notificationTexts(nurse))
		require.Empty(t, d.notificationTexts(midwife))
		require.Empty(t, d.sentTexts(), "searches without email alerts send no mail")
	})
}

func TestAlerts_ResolvedSearch_IsEvaluated(t *testing.T) {
	onEach(t, func(t *testing.T, d *testEnv) {
		who := seeker()
		d.saveSearch(who, "Nusre", false)
		d.publish("Staff Nurse")
		require.Equal(t, []string{"job-alert: A new job for your search Nusre: Staff Nurse"}, d.notificationTexts(who))
	})
}

func TestAlerts_SearchSavedWithoutIndex_IsResolvedLater(t *testing.T) {
	onEach(t, func(t *testing.T, d *testEnv) {
		who := seeker()
		d.unindexed = true
		d.saveSearch(who, "Nusre", false)
		require.NoError(t, d.ResolveSearches(t.Context()))
		d.unindexed = false
		require.NoError(t, d.ResolveSearches(t.Context()))
		d.publish("Staff Nurse")
		require.Equal(t, []string{"job-alert: A new job for your search Nusre: Staff Nurse"}, d.notificationTexts(who))
		require.NoError(t, d.ResolveSearches(t.Context()))
		require.EqualValues(t, 1, d.resolved.Load())
	})
}

func TestSaveSearch_TooMany_IsNotResolved(t *testing.T) {
	onEach(t, func(t *testing.T, d *testEnv) {
		who := seeker()
		for range jobseeker.MaxSearches {
			d.saveSearch(who, "Nurse", false)
		}
		d.resolved.Store(0)
		_, err := d.SaveSearch(t.Context(), who, jobseeker.SaveSearchInput{Query: "Nurse"})
		require.ErrorIs(t, err, jobseeker.ErrTooManySearches)
		require.Zero(t, d.resolved.Load())
	})
}

func TestAlerts_RepeatedEvent_MatchesOnce(t *testing.T) {
	onEach(t, func(t *testing.T, d *testEnv) {
		who := seeker()
		d.saveSearch(who, "Nurse", true)
		id := d.publish("Nurse")[0]
		for range 3 {
			d.recordAndHandle(event.JobCreated{JobID: id})
			d.advance(time.Minute)
		}
		d.advance(25 * time.Hour)
		require.Len(t, d.notificationTexts(who), 1)
		require.Len(t, d.sentTexts(), 1)
	})
}

func TestAlerts_OlderListing_NotMatched(t *testing.T) {
	onEach(t, func(t *testing.T, d *testEnv) {
		who, id := seeker(), d.newListing("Nurse")
		d.clock.Advance(time.Second)
		d.saveSearch(who, "Nurse", true)
		d.recordAndHandle(event.JobCreated{JobID: id})
		d.advance(time.Minute)
		require.Empty(t, d.notificationTexts(who))
		gone := d.newListing("Nurse that closed at once")
		d.unpublished[gone] = true
		d.recordAndHandle(event.JobCreated{JobID: gone})
		d.advance(time.Minute)
		require.Empty(t, d.notificationTexts(who))
	})
}

func TestAlerts_InterruptedRun_RepeatsNothing(t *testing.T) {
	onEach(t, func(t *testing.T, d *testEnv) {
		who := seeker()
		d.saveSearch(who, "Nurse", true)
		broken := d.AlertQueue
		d.AlertQueue = failingQueue{broken}
		d.publishTo(t, "Nurse")
		require.Len(t, d.notificationTexts(who), 1)
		d.AlertQueue = broken
		d.advance(time.Minute)
		require.Len(t, d.notificationTexts(who), 1)
		d.advance(time.Minute)
		require.Len(t, d.sentTexts(), 1)
		left, err := broken.List(t.Context(), 10)
		require.NoError(t, err)
		require.Empty(t, left)
	})
}

// failingQueue fails after the matches are stored.
type failingQueue struct{ jobseeker.AlertQueue }

func (failingQueue) Delete(context.Context, []string) error { return errors.New("killed") }

// publishTo is publish without periodic work.
func (d *testEnv) publishTo(t *testing.T, title string) {
	t.Helper()
	d.recordAndHandle(event.JobCreated{JobID: d.newListing(title)})
	d.clock.Advance(10 * time.Second)
	d.work.All(t)
}

func TestDigest_OnePerDay_EachMatchOnce(t *testing.T) {
	onEach(t, func(t *testing.T, d *testEnv) {
		who := seeker()
		d.saveSearch(who, "Nurse", true)
		d.saveSearch(who, "ICU", true)
		d.saveSearch(who, "Cook", false)
		d.publish("ICU Nurse", "Cook")
		first := d.sentTexts()
		require.Len(t, first, 1, "the first message is sent at once")
		require.Contains(t, first[0], "1 new job matches your saved searches")
		require.Contains(t, first[0], "ICU Nurse")
		require.Contains(t, first[0], "your search: ICU; Nurse")
		require.Contains(t, first[0], "https://jobs.example.org/unsubscribe?token=unsubscribe."+who.UserID)
		require.NotContains(t, first[0], "Cook", "a search without e-mail alerts")

		d.publish("Staff Nurse")
		d.advance(12 * time.Hour)
		d.publish("Night Nurse")
		require.Empty(t, d.sentTexts())
		d.advance(12 * time.Hour)
		second := d.sentTexts()
		require.Len(t, second, 1)
		require.Contains(t, second[0], "Staff Nurse")
		require.Contains(t, second[0], "Night Nurse")
		require.NotContains(t, second[0], "ICU Nurse")
		d.advance(25 * time.Hour)
		require.Empty(t, d.sentTexts(), "no new matches, no mail")
		d.publish("Day Nurse")
		require.Len(t, d.sentTexts(), 1)
	})
}

func TestDigest_SendFails_SameMailLater(t *testing.T) {
	onEach(t, func(t *testing.T, d *testEnv) {
		who := seeker()
		d.saveSearch(who, "Nurse", true)
		d.mailErr = errors.New("421 try again")
		ids := d.publish("Nurse A", "Nurse B")
		require.Empty(t, d.sentTexts())
		d.publish("Nurse C")
		d.unpublished[ids[1]] = true
		d.mailErr = nil
		d.advance(time.Hour)
		require.Len(t, d.sent, 1)
		require.True(t, strings.HasPrefix(d.sent[0].ID, "job-alerts-"), d.sent[0].ID)
		text := d.sentTexts()[0]
		require.Contains(t, text, "Nurse A")
		require.NotContains(t, text, "Nurse B", "it is no longer public")
		require.NotContains(t, text, "Nurse C", "it belongs to the next message")
		d.advance(24 * time.Hour)
		text = d.sentTexts()[0]
		require.Contains(t, text, "Nurse C")
		require.NotContains(t, text, "Nurse A")
	})
}

func TestDigest_StorageFails_IsAtomic(t *testing.T) {
	onEach(t, func(t *testing.T, d *testEnv) {
		who := seeker()
		d.saveSearch(who, "Nurse", true)
		jobs := d.Tasks
		d.recordAndHandle(event.JobCreated{JobID: d.newListing("Nurse")})
		d.clock.Advance(10 * time.Second)
		d.Tasks = failingTasks{}
		d.work.All(t)
		d.Tasks = jobs
		require.Empty(t, d.sentTexts())
		d.advance(time.Minute)
		require.Len(t, d.sentTexts(), 1)
	})
}

// failingTasks fails to add tasks.
type failingTasks struct{}

func (failingTasks) Add(context.Context, ...task.Task) error { return errors.New("killed") }

func TestDigest_ManyMatches_ShowsFiftyAndCount(t *testing.T) {
	onEach(t, func(t *testing.T, d *testEnv) {
		who := seeker()
		d.saveSearch(who, "Nurse", true)
		var titles []string
		for i := range 63 {
			titles = append(titles, fmt.Sprintf("Nurse %02d.", i))
		}
		d.publish(titles...)
		text := d.sentTexts()[0]
		require.Contains(t, text, "63 new jobs match your saved searches")
		require.Equal(t, 50, strings.Count(text, "/jobs/"))
		require.Contains(t, text, "And 13 more.")
		require.Contains(t, text, "Nurse 62.")
		require.NotContains(t, text, "Nurse 12.")
	})
}

func TestDigest_Unsubscribed_SendsNoMail(t *testing.T) {
	onEach(t, func(t *testing.T, d *testEnv) {
		who, other := seeker(), seeker()
		d.saveSearch(who, "Nurse", true)
		d.saveSearch(other, "Nurse", true)
		d.mailErr = errors.New("421 try again")
		d.publish("Nurse A")
		require.ErrorIs(t, d.Unsubscribe(t.Context(), "download."+who.UserID+".1"), fault.ErrUnauthorized)
		require.NoError(t, d.Unsubscribe(t.Context(), "unsubscribe."+who.UserID+".1"))
		require.NoError(t, d.Unsubscribe(t.Context(), "unsubscribe."+who.UserID+".1"))
		d.mailErr = nil
		d.advance(time.Hour)
		d.publish("Nurse B")
		d.advance(25 * time.Hour)
		require.Len(t, d.sent, 2)
		for _, m := range d.sent {
			require.Equal(t, other.UserID+"@example.org", m.To.Email)
		}
		require.Len(t, d.notificationTexts(who), 2, "notifications are still created")
	})
}

func TestDigest_NoAccountOrSearch_SendsNoMail(t *testing.T) {
	onEach(t, func(t *testing.T, d *testEnv) {
		gone, changed := seeker(), seeker()
		d.saveSearch(gone, "Nurse", true)
		id := d.saveSearch(changed, "Nurse", true)
		d.withoutAddress[gone.UserID] = true
		d.mailErr = errors.New("421 try again")
		d.publish("Nurse")
		_, err := d.DeleteSearch(t.Context(), changed, id)
		require.NoError(t, err)
		d.mailErr = nil
		d.advance(time.Hour)
		require.Empty(t, d.sentTexts())
	})
}

func TestSavedSearch_OtherUserOrOverLimit_Refused(t *testing.T) {
	onEach(t, func(t *testing.T, d *testEnv) {
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
		all, err := d.Prefer(ctx, who, jobseeker.ProfileInput{})
		require.NoError(t, err)
		require.Len(t, all, jobseeker.MaxSearches)
		_, err = d.DeleteSearch(ctx, stranger, all[0].ID)
		require.ErrorIs(t, err, jobseeker.ErrSearchNotFound)
		rest, err := d.DeleteSearch(ctx, who, strings.ToUpper(all[0].ID))
		require.NoError(t, err)
		require.Len(t, rest, jobseeker.MaxSearches-1)
		for _, err := range []error{
			searchErr(d.SaveSearch(ctx, auth.Actor{}, jobseeker.SaveSearchInput{Query: "x"})),
			searchErr(d.DeleteSearch(ctx, auth.Actor{}, all[1].ID)),
			searchErr(d.Prefer(ctx, auth.Actor{}, jobseeker.ProfileInput{})),
		} {
			require.ErrorIs(t, err, fault.ErrUnauthorized)
		}
	})
}

func searchErr(_ []jobseeker.Search, err error) error { return err }

func TestPreferences_OmittedFields_AreKept(t *testing.T) {
	onEach(t, func(t *testing.T, d *testEnv) {
		ctx, who := t.Context(), seeker()
		place, types := " Leeds ", []string{"full-time", "permanent"}
		_, err := d.Prefer(ctx, who, jobseeker.ProfileInput{PreferredLocation: &place})
		require.NoError(t, err)
		_, err = d.Prefer(ctx, who, jobseeker.ProfileInput{EmploymentTypes: &types})
		require.NoError(t, err)
		got, err := d.MyProfile(ctx, who)
		require.NoError(t, err)
		require.Equal(t, "Leeds", got.PreferredLocation)
		require.Equal(t, types, got.EmploymentTypes)
		for range 9 {
			types = append(types, "bank")
		}
		_, err = d.Prefer(ctx, who, jobseeker.ProfileInput{EmploymentTypes: &types})
		require.Equal(t, "employmentTypes", fault.Of(err).Fields[0].Name)
	})
}

func TestAlerts_MatchesDeleted_NotMatchedAgain(t *testing.T) {
	onEach(t, func(t *testing.T, d *testEnv) {
		who := seeker()
		d.saveSearch(who, "Nurse", true)
		id := d.publish("Nurse")[0]
		d.advance(91 * 24 * time.Hour)
		d.recordAndHandle(event.JobCreated{JobID: id})
		d.advance(time.Minute)
		require.Len(t, d.notificationTexts(who), 1)
		require.Len(t, d.sentTexts(), 1)
	})
}

func TestDigest_LineBreaks_AreRemoved(t *testing.T) {
	onEach(t, func(t *testing.T, d *testEnv) {
		who := seeker()
		d.saveSearch(who, "Nurse", true)
		d.publish("Nurse\r\n\r\nYour account is locked: https://evil.example")
		require.Equal(t, []string{"job-alert: A new job for your search Nurse: Nurse Your account is locked: https://evil.example"}, d.notificationTexts(who))
		require.Contains(t, d.sentTexts()[0], "- Nurse Your account is locked")
	})
}
