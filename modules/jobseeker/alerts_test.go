package jobseeker_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
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

// The values of emailAlerts, the last argument of saveSearch. A search without e-mail alerts
// creates notifications on the site only.
const (
	withEmails    = true
	withoutEmails = false
)

// saveSearch saves a search and returns its id. In these tests, a listing matches if its title
// contains the query.
func (env *testEnv) saveSearch(user auth.Actor, query string, emailAlerts bool) string {
	env.t.Helper()

	newestFirst, err := env.SaveSearch(env.t.Context(), user, jobseeker.SaveSearchInput{Query: query, EmailAlerts: emailAlerts})
	require.NoError(env.t, err)

	return newestFirst[0].ID
}

// matchingDelay is longer than the delay after which the module matches new listings with the
// saved searches, in one run for all of them.
const matchingDelay = 10 * time.Second

// publish publishes listings and advances the clock until they are matched. When it returns,
// the resulting notifications are stored, and the e-mails that are due are sent.
func (env *testEnv) publish(titles ...string) (ids []string) {
	env.t.Helper()

	var events []event.Event
	for _, title := range titles {
		id := env.newListing(title)
		ids = append(ids, id)
		events = append(events, event.JobCreated{JobID: id})
	}

	env.recordAndHandle(events...)
	env.advance(matchingDelay)

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

// TestAlerts_NewListing_MatchesSearches checks that each search creates one notification for
// all new listings that it matches. The user of a search that matches none gets no notification.
func TestAlerts_NewListing_MatchesSearches(t *testing.T) {
	onEachStorage(t, func(t *testing.T, env *testEnv) {
		nurse, midwife := newSeeker(), newSeeker()
		env.saveSearch(nurse, "Nurse", withoutEmails)
		env.saveSearch(nurse, "Staff", withoutEmails)
		env.saveSearch(midwife, "Midwife", withoutEmails)
		env.publish("Staff Nurse", "ICU Nurse", "Cook")
		require.ElementsMatch(t, []string{
			"job-alert: 2 new jobs for your search Nurse, among them ICU Nurse",
			"job-alert: A new job for your search Staff: Staff Nurse",
		}, env.notificationTexts(nurse))
		require.Empty(t, env.notificationTexts(midwife))
		require.Empty(t, env.takeSentTexts(), "searches without email alerts send no mail")
	})
}

// TestAlerts_ResolvedSearch_IsEvaluated checks that the module corrects the words of a misspelt
// search before it matches listings. The notification shows the words as the user wrote them.
// testEnv corrects "Nusre" to "Nurse".
func TestAlerts_ResolvedSearch_IsEvaluated(t *testing.T) {
	onEachStorage(t, func(t *testing.T, env *testEnv) {
		user := newSeeker()
		env.saveSearch(user, "Nusre", withoutEmails)
		env.publish("Staff Nurse")
		require.Equal(t, []string{"job-alert: A new job for your search Nusre: Staff Nurse"}, env.notificationTexts(user))
	})
}

// TestAlerts_SearchSavedWithoutIndex_IsResolvedLater saves a misspelt search before the search
// index is ready, without which its words cannot be corrected. It checks that ResolveSearches, a
// periodic task, corrects the search once the index is ready, and only once. testEnv corrects
// "Nusre" to "Nurse".
func TestAlerts_SearchSavedWithoutIndex_IsResolvedLater(t *testing.T) {
	onEachStorage(t, func(t *testing.T, env *testEnv) {
		user := newSeeker()
		env.hasNoIndex = true
		env.saveSearch(user, "Nusre", withoutEmails)
		require.NoError(t, env.ResolveSearches(t.Context()))

		// The index is ready.
		env.hasNoIndex = false
		require.NoError(t, env.ResolveSearches(t.Context()))
		env.publish("Staff Nurse")
		require.Equal(t, []string{"job-alert: A new job for your search Nusre: Staff Nurse"}, env.notificationTexts(user))

		// The task runs again.
		require.NoError(t, env.ResolveSearches(t.Context()))
		require.EqualValues(t, 1, env.resolvedCount.Load(), "a corrected search is not corrected again")
	})
}

// TestSaveSearch_TooMany_IsNotResolved checks that a search over the limit is refused before
// the expensive correction of its words.
func TestSaveSearch_TooMany_IsNotResolved(t *testing.T) {
	onEachStorage(t, func(t *testing.T, env *testEnv) {
		user := newSeeker()
		for range jobseeker.MaxSearches {
			env.saveSearch(user, "Nurse", withoutEmails)
		}

		env.resolvedCount.Store(0)

		_, err := env.SaveSearch(t.Context(), user, jobseeker.SaveSearchInput{Query: "Nurse"})
		require.ErrorIs(t, err, jobseeker.ErrTooManySearches)
		require.Zero(t, env.resolvedCount.Load())
	})
}

// TestSaveSearchOnce_AtOnce_IsStoredOnce checks that equal searches of a user that are saved at the same
// time are stored once.
func TestSaveSearchOnce_AtOnce_IsStoredOnce(t *testing.T) {
	onEachStorage(t, func(t *testing.T, env *testEnv) {
		user := newSeeker()

		var requests sync.WaitGroup
		var created atomic.Int64

		for range 10 {
			requests.Go(func() {
				outcome, err := env.SaveSearchOnce(t.Context(), user, jobseeker.SaveSearchInput{Query: "Nurse"})
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

		stored, err := env.MySearches(t.Context(), user)
		require.NoError(t, err)
		require.Len(t, stored, 1)
	})
}

// TestSaveSearchOnce_SimilarSearches_HaveOutcomes saves searches one after the other. A search with the same
// words is not stored again; if it is saved with e-mail alerts, they are turned on. A search with another
// name or place is another search.
func TestSaveSearchOnce_SimilarSearches_HaveOutcomes(t *testing.T) {
	onEachStorage(t, func(t *testing.T, env *testEnv) {
		user := newSeeker()

		for _, test := range []struct {
			saved jobseeker.SaveSearchInput
			want  jobseeker.SaveOutcome
		}{
			{saved: jobseeker.SaveSearchInput{Query: "Nurse"}, want: jobseeker.SearchCreated},
			{saved: jobseeker.SaveSearchInput{Query: " Nurse "}, want: jobseeker.SearchUnchanged},
			{saved: jobseeker.SaveSearchInput{Query: "Nurse", EmailAlerts: true}, want: jobseeker.AlertsEnabled},
			{saved: jobseeker.SaveSearchInput{Query: "Nurse"}, want: jobseeker.SearchUnchanged},
			{saved: jobseeker.SaveSearchInput{Query: "Nurse", Name: "Near home"}, want: jobseeker.SearchCreated},
			{saved: jobseeker.SaveSearchInput{Query: "Nurse", Location: "Leeds"}, want: jobseeker.SearchCreated},
		} {
			outcome, err := env.SaveSearchOnce(t.Context(), user, test.saved)
			require.NoError(t, err)
			require.Equal(t, test.want, outcome, "%+v", test.saved)
		}

		stored, err := env.MySearches(t.Context(), user)
		require.NoError(t, err)
		require.Len(t, stored, 3, "those that were created")
	})
}

// TestAlerts_RepeatedEvent_MatchesOnce checks that an event that is delivered again later
// creates no second notification and no second e-mail.
func TestAlerts_RepeatedEvent_MatchesOnce(t *testing.T) {
	onEachStorage(t, func(t *testing.T, env *testEnv) {
		user := newSeeker()
		env.saveSearch(user, "Nurse", withEmails)

		id := env.publish("Nurse")[0]
		for range 3 {
			env.recordAndHandle(event.JobCreated{JobID: id})
			env.advance(time.Minute)
		}

		env.advance(oneDay + time.Hour) // the next digest would be due
		require.Len(t, env.notificationTexts(user), 1)
		require.Len(t, env.takeSentTexts(), 1)
	})
}

// TestAlerts_OlderListing_NotMatched checks that a listing that was published before the search was saved
// creates no alert.
func TestAlerts_OlderListing_NotMatched(t *testing.T) {
	onEachStorage(t, func(t *testing.T, env *testEnv) {
		user, listing := newSeeker(), env.newListing("Nurse")
		env.clock.Advance(time.Second)
		env.saveSearch(user, "Nurse", withEmails)
		env.recordAndHandle(event.JobCreated{JobID: listing})
		env.advance(time.Minute)
		require.Empty(t, env.notificationTexts(user))
	})
}

// TestAlerts_ListingNotPublic_NotMatched checks that a listing that is not public any more when it is
// matched creates no alert.
func TestAlerts_ListingNotPublic_NotMatched(t *testing.T) {
	onEachStorage(t, func(t *testing.T, env *testEnv) {
		user := newSeeker()
		env.saveSearch(user, "Nurse", withEmails)

		listing := env.newListing("Nurse that closed at once")
		env.unpublished[listing] = true
		env.recordAndHandle(event.JobCreated{JobID: listing})
		env.advance(time.Minute)
		require.Empty(t, env.notificationTexts(user))
	})
}

// TestAlerts_InterruptedRun_RepeatsNothing interrupts a run that matches new listings: after it
// has stored the matches, and before it removes the listings from the queue. The next run finds
// the same listings in the queue. The test checks that it creates no second alert.
func TestAlerts_InterruptedRun_RepeatsNothing(t *testing.T) {
	onEachStorage(t, func(t *testing.T, env *testEnv) {
		user := newSeeker()
		env.saveSearch(user, "Nurse", withEmails)

		// The interrupted run has stored the alert.
		queue := env.AlertQueue
		env.AlertQueue = failingQueue{queue}
		env.publishWithoutPeriodic("Nurse")
		require.Len(t, env.notificationTexts(user), 1)

		// The next run finds the listing in the queue, creates no second alert and removes the listing.
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

// failingQueue fails to remove listings, which a run does after it has stored the matches.
type failingQueue struct{ jobseeker.AlertQueue }

// Delete implements jobseeker.AlertQueue.
func (failingQueue) Delete(context.Context, []string) error { return errors.New("killed") }

// publishWithoutPeriodic publishes a listing and runs the task that matches it, but no periodic
// task.
func (env *testEnv) publishWithoutPeriodic(title string) {
	env.t.Helper()
	env.recordAndHandle(event.JobCreated{JobID: env.newListing(title)})
	env.clock.Advance(matchingDelay)
	env.tasks.All(env.t)
}

// oneDay is the time between two digests to a user.
const oneDay = 24 * time.Hour

// TestDigest_FirstMatch_SentAtOnce checks the first digest to a user, an e-mail about the matches of the
// searches with e-mail alerts. It is sent at once. A listing that matches two searches is listed once.
func TestDigest_FirstMatch_SentAtOnce(t *testing.T) {
	onEachStorage(t, func(t *testing.T, env *testEnv) {
		user := newSeeker()
		env.saveSearch(user, "Nurse", withEmails)
		env.saveSearch(user, "ICU", withEmails)
		env.saveSearch(user, "Cook", withoutEmails)
		env.publish("ICU Nurse", "Cook")

		texts := env.takeSentTexts()
		require.Len(t, texts, 1)

		digest := texts[0]
		require.Contains(t, digest, "1 new job matches your saved searches")
		require.Contains(t, digest, "ICU Nurse")
		require.Contains(t, digest, "your search: ICU; Nurse")
		require.Contains(t, digest, "https://jobs.example.org/unsubscribe?token=unsubscribe."+user.UserID)
		require.NotContains(t, digest, "Cook", "a search without e-mail alerts")
	})
}

// TestDigest_OnePerDay_EachMatchOnce checks that the matches of the 24 hours after a digest, an e-mail about
// matches, wait for the next one, which has the new matches only. After a day without matches, the next
// match is sent at once.
func TestDigest_OnePerDay_EachMatchOnce(t *testing.T) {
	onEachStorage(t, func(t *testing.T, env *testEnv) {
		env.saveSearch(newSeeker(), "Nurse", withEmails)
		env.publish("ICU Nurse")
		require.Len(t, env.takeSentTexts(), 1)

		// Two listings match on the same day.
		env.publish("Staff Nurse")
		env.advance(oneDay / 2)
		env.publish("Night Nurse")
		require.Empty(t, env.takeSentTexts())
		env.advance(oneDay / 2)

		texts := env.takeSentTexts()
		require.Len(t, texts, 1)

		digest := texts[0]
		require.Contains(t, digest, "Staff Nurse")
		require.Contains(t, digest, "Night Nurse")
		require.NotContains(t, digest, "ICU Nurse")

		// A day without matches.
		env.advance(oneDay + time.Hour)
		require.Empty(t, env.takeSentTexts())
		env.publish("Day Nurse")
		require.Len(t, env.takeSentTexts(), 1)
	})
}

// errTryAgain is the temporary error of a mail server, after which an e-mail is sent later.
var errTryAgain = errors.New("421 try again")

// retryDelay is longer than the delay after which an e-mail that could not be sent is sent again.
const retryDelay = time.Hour

// TestDigest_SendFails_SameMailLater checks that a digest that could not be sent is sent later
// with the same matches. Listings that are not public any more are left out, and later matches
// wait for the next digest.
func TestDigest_SendFails_SameMailLater(t *testing.T) {
	onEachStorage(t, func(t *testing.T, env *testEnv) {
		user := newSeeker()
		env.saveSearch(user, "Nurse", withEmails)

		// The digest with two matches cannot be sent. Another listing matches meanwhile.
		env.mailErr = errTryAgain
		ids := env.publish("Nurse A", "Nurse B")
		require.Empty(t, env.takeSentTexts())
		env.publish("Nurse C")

		// One of the listings is not public any more when the digest is sent.
		env.unpublished[ids[1]] = true // Nurse B
		env.mailErr = nil
		env.advance(retryDelay)
		require.Len(t, env.sent, 1)
		require.True(t, strings.HasPrefix(env.sent[0].ID, "job-alerts-"), env.sent[0].ID)

		digest := env.takeSentTexts()[0]
		require.Contains(t, digest, "Nurse A")
		require.NotContains(t, digest, "Nurse B", "it is no longer public")
		require.NotContains(t, digest, "Nurse C", "it belongs to the next digest")

		// The next digest has the later match.
		env.advance(oneDay)

		digest = env.takeSentTexts()[0]
		require.Contains(t, digest, "Nurse C")
		require.NotContains(t, digest, "Nurse A")
	})
}

// TestDigest_StorageFails_IsAtomic checks that a digest is not lost if the task that sends it
// cannot be stored. The matches are then not assigned to the digest either, so that the next run
// repeats both.
func TestDigest_StorageFails_IsAtomic(t *testing.T) {
	onEachStorage(t, func(t *testing.T, env *testEnv) {
		user := newSeeker()
		env.saveSearch(user, "Nurse", withEmails)

		// The task that matches the listing cannot add the task that sends the digest.
		tasks := env.Tasks
		env.recordAndHandle(event.JobCreated{JobID: env.newListing("Nurse")})
		env.clock.Advance(matchingDelay)

		env.Tasks = failingTasks{}
		env.tasks.All(t)
		require.Empty(t, env.takeSentTexts())

		// The next run can.
		env.Tasks = tasks
		env.advance(time.Minute)
		require.Len(t, env.takeSentTexts(), 1)
	})
}

// failingTasks fails to add tasks.
type failingTasks struct{}

// Add implements task.Adder.
func (failingTasks) Add(context.Context, ...task.Task) error { return errors.New("killed") }

// TestDigest_ManyMatches_ShowsFiftyAndCount checks that a digest lists the newest 50 of 63
// matches, and counts the others.
func TestDigest_ManyMatches_ShowsFiftyAndCount(t *testing.T) {
	onEachStorage(t, func(t *testing.T, env *testEnv) {
		user := newSeeker()
		env.saveSearch(user, "Nurse", withEmails)

		const matches, maxListed = 63, 50

		var titles []string
		for i := range matches {
			titles = append(titles, fmt.Sprintf("Nurse %02d.", i))
		}

		env.publish(titles...)

		digest := env.takeSentTexts()[0]
		require.Contains(t, digest, "63 new jobs match your saved searches")
		require.Equal(t, maxListed, strings.Count(digest, "/jobs/"))
		require.Contains(t, digest, "And 13 more.")
		require.Contains(t, digest, titles[matches-1], "the newest listing")
		require.Contains(t, digest, titles[matches-maxListed], "the oldest one that is listed")
		require.NotContains(t, digest, titles[matches-maxListed-1])
	})
}

// TestDigest_Unsubscribed_SendsNoMail checks that a user who follows the unsubscribe link of a
// digest gets no more e-mails, not even a digest that could not be sent before. Notifications
// are still created. The tokens of testEnv are PURPOSE.USER-ID.EXPIRY.
func TestDigest_Unsubscribed_SendsNoMail(t *testing.T) {
	onEachStorage(t, func(t *testing.T, env *testEnv) {
		user, other := newSeeker(), newSeeker()
		env.saveSearch(user, "Nurse", withEmails)
		env.saveSearch(other, "Nurse", withEmails)

		// A digest cannot be sent.
		env.mailErr = errTryAgain
		env.publish("Nurse A")

		// One of the users unsubscribes. A user may follow the link twice.
		for range 2 {
			require.NoError(t, env.Unsubscribe(t.Context(), "unsubscribe."+user.UserID+".1"))
		}

		// The digest is sent, and another one the next day.
		env.mailErr = nil
		env.advance(retryDelay)
		env.publish("Nurse B")
		env.advance(oneDay + time.Hour)
		require.Len(t, env.sent, 2, "one digest with each listing, both for the other user")

		for _, m := range env.sent {
			require.Equal(t, other.UserID+"@example.org", m.To.Email)
		}

		require.Len(t, env.notificationTexts(user), 2, "notifications are still created")
	})
}

// TestUnsubscribe_TokenForOtherPurpose_Unauthorized checks that only the token of an unsubscribe link ends
// the e-mails.
func TestUnsubscribe_TokenForOtherPurpose_Unauthorized(t *testing.T) {
	onEachStorage(t, func(t *testing.T, env *testEnv) {
		token := "download." + newSeeker().UserID + ".1"
		require.ErrorIs(t, env.Unsubscribe(t.Context(), token), fault.ErrUnauthorized)
	})
}

// TestDigest_NoAccountOrSearch_SendsNoMail checks that a digest that could not be sent before
// is dropped if the account or the search was deleted meanwhile.
func TestDigest_NoAccountOrSearch_SendsNoMail(t *testing.T) {
	onEachStorage(t, func(t *testing.T, env *testEnv) {
		deleted, changed := newSeeker(), newSeeker()
		env.saveSearch(deleted, "Nurse", withEmails)

		searchID := env.saveSearch(changed, "Nurse", withEmails)

		// The digests of both users cannot be sent.
		env.mailErr = errTryAgain
		env.publish("Nurse")

		// One user deletes the account, and the other one the search.
		env.withoutEmailAddress[deleted.UserID] = true
		_, err := env.DeleteSearch(t.Context(), changed, searchID)
		require.NoError(t, err)

		env.mailErr = nil
		env.advance(retryDelay)
		require.Empty(t, env.takeSentTexts())
	})
}

// TestSaveSearch_Concurrent_LimitIsExact checks that concurrent requests save at most MaxSearches searches
// of a user.
func TestSaveSearch_Concurrent_LimitIsExact(t *testing.T) {
	onEachStorage(t, func(t *testing.T, env *testEnv) {
		const overLimit = 10

		user := newSeeker()
		var requests sync.WaitGroup
		var refused atomic.Int64

		for i := range jobseeker.MaxSearches + overLimit {
			requests.Go(func() {
				_, err := env.SaveSearch(t.Context(), user, jobseeker.SaveSearchInput{Query: fmt.Sprint("q", i)})
				if errors.Is(err, jobseeker.ErrTooManySearches) {
					refused.Add(1)
				} else if err != nil {
					t.Error(err)
				}
			})
		}

		requests.Wait()
		require.EqualValues(t, overLimit, refused.Load())

		saved, err := env.MySearches(t.Context(), user)
		require.NoError(t, err)
		require.Len(t, saved, jobseeker.MaxSearches)
	})
}

// TestDeleteSearch_OtherUser_NotFound checks that a user cannot delete the search of another user. The own
// search is deleted, also by its id in upper case.
func TestDeleteSearch_OtherUser_NotFound(t *testing.T) {
	onEachStorage(t, func(t *testing.T, env *testEnv) {
		user, stranger := newSeeker(), newSeeker()
		kept := env.saveSearch(user, "Midwife", withoutEmails)
		id := env.saveSearch(user, "Nurse", withoutEmails)

		_, err := env.DeleteSearch(t.Context(), stranger, id)
		require.ErrorIs(t, err, jobseeker.ErrSearchNotFound)

		rest, err := env.DeleteSearch(t.Context(), user, strings.ToUpper(id))
		require.NoError(t, err)
		require.Len(t, rest, 1)
		require.Equal(t, kept, rest[0].ID)
	})
}

// TestUpdateJobPreferences_EmptyInput_ReturnsSearches checks that a change of the preferences without a
// field changes nothing, and returns the searches of the user.
func TestUpdateJobPreferences_EmptyInput_ReturnsSearches(t *testing.T) {
	onEachStorage(t, func(t *testing.T, env *testEnv) {
		user := newSeeker()
		id := env.saveSearch(user, "Nurse", withoutEmails)

		searches, err := env.UpdateJobPreferences(t.Context(), user, jobseeker.ProfileInput{})
		require.NoError(t, err)
		require.Len(t, searches, 1)
		require.Equal(t, id, searches[0].ID)
	})
}

// TestSavedSearches_Guest_Unauthorized checks that callers without an account have no searches.
func TestSavedSearches_Guest_Unauthorized(t *testing.T) {
	onEachStorage(t, func(t *testing.T, env *testEnv) {
		id := env.saveSearch(newSeeker(), "Nurse", withoutEmails)

		_, err := env.SaveSearch(t.Context(), guest, jobseeker.SaveSearchInput{Query: "x"})
		require.ErrorIs(t, err, fault.ErrUnauthorized)

		_, err = env.DeleteSearch(t.Context(), guest, id)
		require.ErrorIs(t, err, fault.ErrUnauthorized)

		_, err = env.UpdateJobPreferences(t.Context(), guest, jobseeker.ProfileInput{})
		require.ErrorIs(t, err, fault.ErrUnauthorized)
	})
}

// TestPreferences_OmittedFields_AreKept checks that a request to change the preferences, which are fields of
// the profile, changes only the fields that it contains.
func TestPreferences_OmittedFields_AreKept(t *testing.T) {
	onEachStorage(t, func(t *testing.T, env *testEnv) {
		ctx, user := t.Context(), newSeeker()
		place, types := " Leeds ", []string{"full-time", "permanent"}
		_, err := env.UpdateJobPreferences(ctx, user, jobseeker.ProfileInput{PreferredLocation: &place})
		require.NoError(t, err)

		_, err = env.UpdateJobPreferences(ctx, user, jobseeker.ProfileInput{EmploymentTypes: &types})
		require.NoError(t, err)

		profile, err := env.MyProfile(ctx, user)
		require.NoError(t, err)
		require.Equal(t, "Leeds", profile.PreferredLocation)
		require.Equal(t, types, profile.EmploymentTypes)
	})
}

// TestPreferences_TooManyEmploymentTypes_Refused checks that the list of employment types has at most ten
// entries.
func TestPreferences_TooManyEmploymentTypes_Refused(t *testing.T) {
	onEachStorage(t, func(t *testing.T, env *testEnv) {
		const maxTypes = 10

		tooMany := slices.Repeat([]string{"bank"}, maxTypes+1)
		_, err := env.UpdateJobPreferences(t.Context(), newSeeker(), jobseeker.ProfileInput{EmploymentTypes: &tooMany})
		require.Equal(t, "employmentTypes", fault.Of(err).Fields[0].Name)
	})
}

// TestAlerts_MatchesDeleted_NotMatchedAgain checks the event of a new listing that is delivered
// again after 90 days. The match of the listing has been deleted by then, so that the module
// cannot know that it has alerted the user. It creates no second alert, because the listing is
// too old.
func TestAlerts_MatchesDeleted_NotMatchedAgain(t *testing.T) {
	onEachStorage(t, func(t *testing.T, env *testEnv) {
		user := newSeeker()
		env.saveSearch(user, "Nurse", withEmails)

		id := env.publish("Nurse")[0]
		env.advance(91 * oneDay) // matches are deleted after 90 days
		env.recordAndHandle(event.JobCreated{JobID: id})
		env.advance(time.Minute)
		require.Len(t, env.notificationTexts(user), 1)
		require.Len(t, env.takeSentTexts(), 1)
	})
}

// TestDigest_LineBreaks_AreRemoved checks that line breaks in the title of a listing are removed,
// so that no part of a title looks like a paragraph of the e-mail.
func TestDigest_LineBreaks_AreRemoved(t *testing.T) {
	onEachStorage(t, func(t *testing.T, env *testEnv) {
		user := newSeeker()
		env.saveSearch(user, "Nurse", withEmails)
		env.publish("Nurse\r\n\r\nYour account is locked: https://evil.example")
		require.Equal(t,
			[]string{"job-alert: A new job for your search Nurse: Nurse Your account is locked: https://evil.example"},
			env.notificationTexts(user))
		require.Contains(t, env.takeSentTexts()[0], "- Nurse Your account is locked")
	})
}
