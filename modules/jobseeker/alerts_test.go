package jobseeker_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
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
func (env *testEnv) saveSearch(user auth.Actor, query string, emailAlerts bool) string {
	env.t.Helper()

	all, err := env.SaveSearch(env.t.Context(), user, jobseeker.SaveSearchInput{Query: query, EmailAlerts: emailAlerts})
	require.NoError(env.t, err)

	return all[0].ID
}

// publish publishes listings and advances the clock until they are matched.
func (env *testEnv) publish(titles ...string) (ids []string) {
	env.t.Helper()

	var events []event.Event
	for _, title := range titles {
		id := env.newListing(title)
		ids, events = append(ids, id), append(events, event.JobCreated{JobID: id})
	}

	env.recordAndHandle(events...)
	env.advance(10 * time.Second)

	return ids
}

// advance advances the clock, runs all periodic tasks once, and then the tasks that are due.
func (env *testEnv) advance(d time.Duration) {
	env.t.Helper()
	env.clock.Advance(d)

	for _, p := range env.Periodic() {
		require.NoError(env.t, p.Do(env.t.Context()), p.Kind)
	}

	env.tasks.All(env.t)
}

// takeSentTexts returns the texts of the e-mails that were sent since the last call.
func (env *testEnv) takeSentTexts() (texts []string) {
	for _, m := range env.sent {
		texts = append(texts, m.Text)
	}

	env.sent = nil

	return texts
}

// TestAlerts_NewListing_MatchesSearches checks that each matching search creates one
// notification for all new listings of a run, and that a search that does not match creates
// none.
func TestAlerts_NewListing_MatchesSearches(t *testing.T) {
	onEachStorage(t, func(t *testing.T, env *testEnv) {
		nurse, midwife := newSeeker(), newSeeker()
		env.saveSearch(nurse, "Nurse", false)
		env.saveSearch(nurse, "Staff", false)
		env.saveSearch(midwife, "Midwife", false)
		env.publish("Staff Nurse", "ICU Nurse", "Cook")
		require.ElementsMatch(t, []string{
			"job-alert: 2 new jobs for your search Nurse, among them ICU Nurse",
			"job-alert: A new job for your search Staff: Staff Nurse",
		}, env.notificationTexts(nurse))
		require.Empty(t, env.notificationTexts(midwife))
		require.Empty(t, env.takeSentTexts(), "searches without email alerts send no mail")
	})
}

// TestAlerts_ResolvedSearch_IsEvaluated checks that a misspelt search matches by its corrected
// words and keeps its name.
func TestAlerts_ResolvedSearch_IsEvaluated(t *testing.T) {
	onEachStorage(t, func(t *testing.T, env *testEnv) {
		user := newSeeker()
		env.saveSearch(user, "Nusre", false)
		env.publish("Staff Nurse")
		require.Equal(t, []string{"job-alert: A new job for your search Nusre: Staff Nurse"}, env.notificationTexts(user))
	})
}

// TestAlerts_SearchSavedWithoutIndex_IsResolvedLater checks that a search that was saved before
// the search index was ready is corrected later, once.
func TestAlerts_SearchSavedWithoutIndex_IsResolvedLater(t *testing.T) {
	onEachStorage(t, func(t *testing.T, env *testEnv) {
		user := newSeeker()
		env.hasNoIndex = true
		env.saveSearch(user, "Nusre", false)
		require.NoError(t, env.ResolveSearches(t.Context()))

		env.hasNoIndex = false
		require.NoError(t, env.ResolveSearches(t.Context()))
		env.publish("Staff Nurse")
		require.Equal(t, []string{"job-alert: A new job for your search Nusre: Staff Nurse"}, env.notificationTexts(user))
		require.NoError(t, env.ResolveSearches(t.Context()))
		require.EqualValues(t, 1, env.resolvedCount.Load())
	})
}

// TestSaveSearch_TooMany_IsNotResolved checks that a search over the limit is refused before
// the expensive correction of its words.
func TestSaveSearch_TooMany_IsNotResolved(t *testing.T) {
	onEachStorage(t, func(t *testing.T, env *testEnv) {
		user := newSeeker()
		for range jobseeker.MaxSearches {
			env.saveSearch(user, "Nurse", false)
		}

		env.resolvedCount.Store(0)

		_, err := env.SaveSearch(t.Context(), user, jobseeker.SaveSearchInput{Query: "Nurse"})
		require.ErrorIs(t, err, jobseeker.ErrTooManySearches)
		require.Zero(t, env.resolvedCount.Load())
	})
}

// TestSaveSearchOnce_SameSearch_IsStoredOnce checks that equal searches are stored once, also if
// they are saved at the same time, and that another name makes another search.
func TestSaveSearchOnce_SameSearch_IsStoredOnce(t *testing.T) {
	onEachStorage(t, func(t *testing.T, env *testEnv) {
		user := newSeeker()
		nurse := jobseeker.SaveSearchInput{Query: "Nurse"}

		var requests sync.WaitGroup

		var created atomic.Int64
		for range 10 {
			requests.Go(func() {
				outcome, err := env.SaveSearchOnce(t.Context(), user, nurse)
				if err != nil {
					t.Error(err)
				}

				if outcome == jobseeker.SearchCreated {
					created.Add(1)
				}
			})
		}

		requests.Wait()
		require.EqualValues(t, 1, created.Load())

		for _, tc := range []struct {
			again jobseeker.SaveSearchInput
			want  jobseeker.SaveOutcome
		}{
			{jobseeker.SaveSearchInput{Query: " Nurse "}, jobseeker.SearchUnchanged},
			{jobseeker.SaveSearchInput{Query: "Nurse", EmailAlerts: true}, jobseeker.AlertsEnabled},
			{jobseeker.SaveSearchInput{Query: "Nurse"}, jobseeker.SearchUnchanged},
			{jobseeker.SaveSearchInput{Query: "Nurse", Name: "Near home"}, jobseeker.SearchCreated},
			{jobseeker.SaveSearchInput{Query: "Nurse", Location: "Leeds"}, jobseeker.SearchCreated},
		} {
			outcome, err := env.SaveSearchOnce(t.Context(), user, tc.again)
			require.NoError(t, err)
			require.Equal(t, tc.want, outcome, "%+v", tc.again)
		}

		all, err := env.MySearches(t.Context(), user)
		require.NoError(t, err)
		require.Len(t, all, 3)
	})
}

// TestAlerts_RepeatedEvent_MatchesOnce checks that an event that is delivered again later
// creates no second notification and no second e-mail.
func TestAlerts_RepeatedEvent_MatchesOnce(t *testing.T) {
	onEachStorage(t, func(t *testing.T, env *testEnv) {
		user := newSeeker()
		env.saveSearch(user, "Nurse", true)

		id := env.publish("Nurse")[0]
		for range 3 {
			env.recordAndHandle(event.JobCreated{JobID: id})
			env.advance(time.Minute)
		}

		env.advance(25 * time.Hour)
		require.Len(t, env.notificationTexts(user), 1)
		require.Len(t, env.takeSentTexts(), 1)
	})
}

// TestAlerts_OlderListing_NotMatched checks that a listing from before the search, and one that
// is not public any more, create no alert.
func TestAlerts_OlderListing_NotMatched(t *testing.T) {
	onEachStorage(t, func(t *testing.T, env *testEnv) {
		user, id := newSeeker(), env.newListing("Nurse")
		env.clock.Advance(time.Second)
		env.saveSearch(user, "Nurse", true)
		env.recordAndHandle(event.JobCreated{JobID: id})
		env.advance(time.Minute)
		require.Empty(t, env.notificationTexts(user))

		unpublishedID := env.newListing("Nurse that closed at once")
		env.unpublished[unpublishedID] = true
		env.recordAndHandle(event.JobCreated{JobID: unpublishedID})
		env.advance(time.Minute)
		require.Empty(t, env.notificationTexts(user))
	})
}

// TestAlerts_InterruptedRun_RepeatsNothing checks that a run that is interrupted after storing
// its matches, and before removing the listings from the queue, is repeated without a second
// alert.
func TestAlerts_InterruptedRun_RepeatsNothing(t *testing.T) {
	onEachStorage(t, func(t *testing.T, env *testEnv) {
		user := newSeeker()
		env.saveSearch(user, "Nurse", true)

		queue := env.AlertQueue
		env.AlertQueue = failingQueue{queue}
		env.publishWithoutPeriodic("Nurse")
		require.Len(t, env.notificationTexts(user), 1)

		env.AlertQueue = queue
		env.advance(time.Minute)
		require.Len(t, env.notificationTexts(user), 1)
		env.advance(time.Minute)
		require.Len(t, env.takeSentTexts(), 1)

		remaining, err := queue.List(t.Context(), 10)
		require.NoError(t, err)
		require.Empty(t, remaining)
	})
}

// failingQueue fails after the matches are stored.
type failingQueue struct{ jobseeker.AlertQueue }

// Delete implements jobseeker.AlertQueue.
func (failingQueue) Delete(context.Context, []string) error { return errors.New("killed") }

// publishWithoutPeriodic publishes a listing and runs the task that matches it, but no periodic
// task.
func (env *testEnv) publishWithoutPeriodic(title string) {
	env.t.Helper()
	env.recordAndHandle(event.JobCreated{JobID: env.newListing(title)})
	env.clock.Advance(10 * time.Second)
	env.tasks.All(env.t)
}

// TestDigest_OnePerDay_EachMatchOnce checks that the first digest is sent at once and further
// ones at most once a day, each with the new matches only, of searches with e-mail alerts. A
// listing that matches two searches is listed once.
func TestDigest_OnePerDay_EachMatchOnce(t *testing.T) {
	onEachStorage(t, func(t *testing.T, env *testEnv) {
		user := newSeeker()
		env.saveSearch(user, "Nurse", true)
		env.saveSearch(user, "ICU", true)
		env.saveSearch(user, "Cook", false)
		env.publish("ICU Nurse", "Cook")

		first := env.takeSentTexts()
		require.Len(t, first, 1, "the first message is sent at once")
		require.Contains(t, first[0], "1 new job matches your saved searches")
		require.Contains(t, first[0], "ICU Nurse")
		require.Contains(t, first[0], "your search: ICU; Nurse")
		require.Contains(t, first[0], "https://jobs.example.org/unsubscribe?token=unsubscribe."+user.UserID)
		require.NotContains(t, first[0], "Cook", "a search without e-mail alerts")

		// Matches of the next 24 hours wait for the second digest.
		env.publish("Staff Nurse")
		env.advance(12 * time.Hour)
		env.publish("Night Nurse")
		require.Empty(t, env.takeSentTexts())
		env.advance(12 * time.Hour)

		second := env.takeSentTexts()
		require.Len(t, second, 1)
		require.Contains(t, second[0], "Staff Nurse")
		require.Contains(t, second[0], "Night Nurse")
		require.NotContains(t, second[0], "ICU Nurse")

		// After a day without matches, the next match is sent at once.
		env.advance(25 * time.Hour)
		require.Empty(t, env.takeSentTexts(), "no new matches, no mail")
		env.publish("Day Nurse")
		require.Len(t, env.takeSentTexts(), 1)
	})
}

// TestDigest_SendFails_SameMailLater checks that a digest that could not be sent is sent later
// with the same matches, without listings that are not public any more. Later matches wait for
// the next digest.
func TestDigest_SendFails_SameMailLater(t *testing.T) {
	onEachStorage(t, func(t *testing.T, env *testEnv) {
		user := newSeeker()
		env.saveSearch(user, "Nurse", true)

		env.mailErr = errors.New("421 try again")
		ids := env.publish("Nurse A", "Nurse B")
		require.Empty(t, env.takeSentTexts())
		env.publish("Nurse C")

		env.unpublished[ids[1]] = true
		env.mailErr = nil
		env.advance(time.Hour)
		require.Len(t, env.sent, 1)
		require.True(t, strings.HasPrefix(env.sent[0].ID, "job-alerts-"), env.sent[0].ID)

		text := env.takeSentTexts()[0]
		require.Contains(t, text, "Nurse A")
		require.NotContains(t, text, "Nurse B", "it is no longer public")
		require.NotContains(t, text, "Nurse C", "it belongs to the next message")
		env.advance(24 * time.Hour)

		text = env.takeSentTexts()[0]
		require.Contains(t, text, "Nurse C")
		require.NotContains(t, text, "Nurse A")
	})
}

// TestDigest_StorageFails_IsAtomic checks that the matches are assigned to a digest only
// together with the task that sends it, so that no digest is lost.
func TestDigest_StorageFails_IsAtomic(t *testing.T) {
	onEachStorage(t, func(t *testing.T, env *testEnv) {
		user := newSeeker()
		env.saveSearch(user, "Nurse", true)

		tasks := env.Tasks
		env.recordAndHandle(event.JobCreated{JobID: env.newListing("Nurse")})
		env.clock.Advance(10 * time.Second)

		env.Tasks = failingTasks{}
		env.tasks.All(t)

		env.Tasks = tasks
		require.Empty(t, env.takeSentTexts())
		env.advance(time.Minute)
		require.Len(t, env.takeSentTexts(), 1)
	})
}

// failingTasks fails to add tasks.
type failingTasks struct{}

// Add implements task.Adder.
func (failingTasks) Add(context.Context, ...task.Task) error { return errors.New("killed") }

// TestDigest_ManyMatches_ShowsFiftyAndCount checks that a digest lists the newest 50 of 63
// matches, which are the numbers 13 to 62, and counts the others.
func TestDigest_ManyMatches_ShowsFiftyAndCount(t *testing.T) {
	onEachStorage(t, func(t *testing.T, env *testEnv) {
		user := newSeeker()
		env.saveSearch(user, "Nurse", true)

		var titles []string
		for i := range 63 {
			titles = append(titles, fmt.Sprintf("Nurse %02d.", i))
		}

		env.publish(titles...)

		text := env.takeSentTexts()[0]
		require.Contains(t, text, "63 new jobs match your saved searches")
		require.Equal(t, 50, strings.Count(text, "/jobs/"))
		require.Contains(t, text, "And 13 more.")
		require.Contains(t, text, "Nurse 62.")
		require.NotContains(t, text, "Nurse 12.")
	})
}

// TestDigest_Unsubscribed_SendsNoMail checks that the link in a digest ends e-mails, also one
// that could not be sent before, but not notifications. A token for another purpose is refused.
func TestDigest_Unsubscribed_SendsNoMail(t *testing.T) {
	onEachStorage(t, func(t *testing.T, env *testEnv) {
		user, other := newSeeker(), newSeeker()
		env.saveSearch(user, "Nurse", true)
		env.saveSearch(other, "Nurse", true)

		env.mailErr = errors.New("421 try again")
		env.publish("Nurse A")
		require.ErrorIs(t, env.Unsubscribe(t.Context(), "download."+user.UserID+".1"), fault.ErrUnauthorized)
		require.NoError(t, env.Unsubscribe(t.Context(), "unsubscribe."+user.UserID+".1"))
		require.NoError(t, env.Unsubscribe(t.Context(), "unsubscribe."+user.UserID+".1"))

		env.mailErr = nil
		env.advance(time.Hour)
		env.publish("Nurse B")
		env.advance(25 * time.Hour)
		require.Len(t, env.sent, 2)

		for _, m := range env.sent {
			require.Equal(t, other.UserID+"@example.org", m.To.Email)
		}

		require.Len(t, env.notificationTexts(user), 2, "notifications are still created")
	})
}

// TestDigest_NoAccountOrSearch_SendsNoMail checks that a digest that could not be sent before
// is dropped if the account or the search was deleted meanwhile.
func TestDigest_NoAccountOrSearch_SendsNoMail(t *testing.T) {
	onEachStorage(t, func(t *testing.T, env *testEnv) {
		deleted, changed := newSeeker(), newSeeker()
		env.saveSearch(deleted, "Nurse", true)

		id := env.saveSearch(changed, "Nurse", true)
		env.withoutEmailAddress[deleted.UserID] = true
		env.mailErr = errors.New("421 try again")
		env.publish("Nurse")

		_, err := env.DeleteSearch(t.Context(), changed, id)
		require.NoError(t, err)

		env.mailErr = nil
		env.advance(time.Hour)
		require.Empty(t, env.takeSentTexts())
	})
}

// TestSavedSearch_OtherUserOrOverLimit_Refused checks that 60 concurrent requests save 50
// searches (MaxSearches), and that a user cannot delete the search of another user.
func TestSavedSearch_OtherUserOrOverLimit_Refused(t *testing.T) {
	onEachStorage(t, func(t *testing.T, env *testEnv) {
		ctx := t.Context()
		user := newSeeker()
		stranger := newSeeker()
		var requests sync.WaitGroup
		var mu sync.Mutex

		refused := 0
		for i := range 60 {
			requests.Go(func() {
				_, err := env.SaveSearch(ctx, user, jobseeker.SaveSearchInput{Query: fmt.Sprint("q", i)})
				if errors.Is(err, jobseeker.ErrTooManySearches) {
					mu.Lock()
					refused++
					mu.Unlock()
				} else if err != nil {
					t.Error(err)
				}
			})
		}

		requests.Wait()
		require.Equal(t, 10, refused)

		all, err := env.Prefer(ctx, user, jobseeker.ProfileInput{})
		require.NoError(t, err)
		require.Len(t, all, jobseeker.MaxSearches)

		_, err = env.DeleteSearch(ctx, stranger, all[0].ID)
		require.ErrorIs(t, err, jobseeker.ErrSearchNotFound)

		rest, err := env.DeleteSearch(ctx, user, strings.ToUpper(all[0].ID))
		require.NoError(t, err)
		require.Len(t, rest, jobseeker.MaxSearches-1)

		for _, err := range []error{
			searchErr(env.SaveSearch(ctx, auth.Actor{}, jobseeker.SaveSearchInput{Query: "x"})),
			searchErr(env.DeleteSearch(ctx, auth.Actor{}, all[1].ID)),
			searchErr(env.Prefer(ctx, auth.Actor{}, jobseeker.ProfileInput{})),
		} {
			require.ErrorIs(t, err, fault.ErrUnauthorized)
		}
	})
}

// searchErr returns the error of a use case that also returns searches.
func searchErr(_ []jobseeker.Search, err error) error { return err }

// TestPreferences_OmittedFields_AreKept checks that the preferences are fields of the profile,
// of which a request changes only those that it contains.
func TestPreferences_OmittedFields_AreKept(t *testing.T) {
	onEachStorage(t, func(t *testing.T, env *testEnv) {
		ctx, user := t.Context(), newSeeker()
		place, types := " Leeds ", []string{"full-time", "permanent"}
		_, err := env.Prefer(ctx, user, jobseeker.ProfileInput{PreferredLocation: &place})
		require.NoError(t, err)

		_, err = env.Prefer(ctx, user, jobseeker.ProfileInput{EmploymentTypes: &types})
		require.NoError(t, err)

		got, err := env.MyProfile(ctx, user)
		require.NoError(t, err)
		require.Equal(t, "Leeds", got.PreferredLocation)
		require.Equal(t, types, got.EmploymentTypes)

		for range 9 {
			types = append(types, "bank")
		}

		_, err = env.Prefer(ctx, user, jobseeker.ProfileInput{EmploymentTypes: &types})
		require.Equal(t, "employmentTypes", fault.Of(err).Fields[0].Name)
	})
}

// TestAlerts_MatchesDeleted_NotMatchedAgain checks that an event that is delivered again after
// its match was deleted, 90 days later, creates no alert: the listing is too old.
func TestAlerts_MatchesDeleted_NotMatchedAgain(t *testing.T) {
	onEachStorage(t, func(t *testing.T, env *testEnv) {
		user := newSeeker()
		env.saveSearch(user, "Nurse", true)

		id := env.publish("Nurse")[0]
		env.advance(91 * 24 * time.Hour)
		env.recordAndHandle(event.JobCreated{JobID: id})
		env.advance(time.Minute)
		require.Len(t, env.notificationTexts(user), 1)
		require.Len(t, env.takeSentTexts(), 1)
	})
}

// TestDigest_LineBreaks_AreRemoved checks that the title of a listing cannot look like a
// paragraph of the e-mail.
func TestDigest_LineBreaks_AreRemoved(t *testing.T) {
	onEachStorage(t, func(t *testing.T, env *testEnv) {
		user := newSeeker()
		env.saveSearch(user, "Nurse", true)
		env.publish("Nurse\r\n\r\nYour account is locked: https://evil.example")
		require.Equal(t,
			[]string{"job-alert: A new job for your search Nurse: Nurse Your account is locked: https://evil.example"},
			env.notificationTexts(user))
		require.Contains(t, env.takeSentTexts()[0], "- Nurse Your account is locked")
	})
}
