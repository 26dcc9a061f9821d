package hiring_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/modules/hiring"
	"github.com/locumhq/locum/test/kit/stores"
)

// TestApply_Decided_ApplicantSeesStatus follows an application from both sides: they see the
// same status and timeline, and only the employer sees the name of the applicant. Ids in upper
// case are accepted.
func TestApply_Decided_ApplicantSeesStatus(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		ann, employer := newSeeker(), newEmployer()
		job := env.newListing(employer)
		application := env.apply(ann, strings.ToUpper(job))
		require.Equal(t, hiring.Pending, application.Status)
		require.Equal(t, env.clock.Now(), application.AppliedAt)

		// The employer sees the application with the name of the applicant.
		received := env.received(employer, application.ID)
		require.Equal(t, "Title of "+job, received.JobTitle)
		require.Equal(t, "Name of "+ann.UserID, received.Applicant.Name)
		require.Equal(t, "Dear all", received.CoverLetter)
		require.Equal(t, application, received.Application)

		// Both sides see the employer's decision.
		env.clock.Advance(time.Hour)
		require.NoError(t, env.setStatus(employer, strings.ToUpper(application.ID), "interview"))

		own, err := env.MyApplication(t.Context(), ann, application.ID)
		require.NoError(t, err)
		require.Equal(t, hiring.Interviewing, own.ApplicantStatus())
		require.Empty(t, own.Applicant, "the applicant's view omits the applicant")
		require.Equal(t, "jobseeker:>pending employer:pending>interview", formatTimeline(own.Timeline))
		require.Equal(t, own.Timeline, env.received(employer, application.ID).Timeline, "both sides see one timeline")
		require.Equal(t, employer.UserID, own.Timeline[1].ActorID)
		require.Equal(t, env.clock.Now(), own.Timeline[1].At)
		require.Equal(t, []string{"submitted", "pending>interview"}, env.recordedEvents())
	})
}

// TestEvents_NameTheirApplicant checks the payloads of the events, which the webhooks of other
// companies receive.
func TestEvents_NameTheirApplicant(t *testing.T) {
	t.Parallel()

	env := newTestEnv(t, stores.SQLite)
	ann, employer := newSeeker(), newEmployer()
	application := env.apply(ann, env.newListing(employer))
	require.NoError(t, env.setStatus(employer, application.ID, "review"))

	events, err := env.store.Hiring.Outbox.Claim(t.Context(), 10, time.Hour)
	require.NoError(t, err)
	require.Len(t, events, 2)

	submitted := events[0]
	changed := events[1]

	require.Equal(t, application.ID, submitted.Subject)
	require.JSONEq(
		t,
		fmt.Sprintf(
			`{
				"application_id": %q,
				"job_id": %q,
				"organization_id": %q,
				"candidate_id": %q,
				"status": "pending",
				"submitted_at": "2026-03-17T10:30:00Z"
			}`,
			application.ID,
			application.ListingID,
			employer.OrganizationID,
			ann.UserID,
		),
		string(submitted.Payload),
	)
	require.JSONEq(
		t,
		fmt.Sprintf(
			`{
				"application_id": %q,
				"job_id": %q,
				"organization_id": %q,
				"candidate_id": %q,
				"status": "review",
				"previous_status": "pending",
				"changed_at": "2026-03-17T10:30:00Z",
				"actor_id": %q
			}`,
			application.ID,
			application.ListingID,
			employer.OrganizationID,
			ann.UserID,
			employer.UserID,
		),
		string(changed.Payload),
	)
}

// TestApply_Twice_Conflict checks that 50 concurrent requests create one application, and that
// a withdrawn application is not replaced by a second one.
func TestApply_Twice_Conflict(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		ann, employer := newSeeker(), newEmployer()
		job := env.newListing(employer)

		// Apply 50 times concurrently.
		var requests sync.WaitGroup
		var created, refused atomic.Int64

		for range 50 {
			requests.Go(func() {
				_, err := env.Apply(t.Context(), ann, hiring.ApplyInput{ListingID: job})
				switch {
				case err == nil:
					created.Add(1)
				case fault.Of(err).Code == hiring.ErrAlreadyApplied.Code:
					refused.Add(1)
				default:
					t.Error(err)
				}
			})
		}

		requests.Wait()
		require.EqualValues(t, 1, created.Load())
		require.EqualValues(t, 49, refused.Load())
		require.Equal(t, []string{"submitted"}, env.recordedEvents())
		require.Equal(t, "Already applied to this position", hiring.ErrAlreadyApplied.Message)

		// A withdrawn application counts as an earlier one, too.
		mine, err := env.MyApplications(t.Context(), ann, firstPage)
		require.NoError(t, err)
		require.Len(t, mine.Items, 1)
		require.NoError(t, env.Withdraw(t.Context(), ann, mine.Items[0].ID))

		_, err = env.Apply(t.Context(), ann, hiring.ApplyInput{ListingID: job})
		require.ErrorIs(t, err, hiring.ErrAlreadyApplied)

		// Another applicant may apply to the listing, and the same applicant to another listing.
		env.apply(newSeeker(), job)
		env.apply(ann, env.newListing(employer))
	})
}

// TestApply_NotPublic_NotFound checks that a listing that is not public, and a text that is no
// id, are not found.
func TestApply_NotPublic_NotFound(t *testing.T) {
	t.Parallel()

	env := newTestEnv(t, stores.SQLite)
	for _, id := range []string{stores.NewID(), "nonsense", "../x"} {
		_, err := env.Apply(t.Context(), newSeeker(), hiring.ApplyInput{ListingID: id})
		require.ErrorIs(t, err, hiring.ErrListingNotFound)
	}

	_, err := env.Apply(t.Context(), newSeeker(), hiring.ApplyInput{})
	require.Equal(t, fault.Invalid, fault.KindOf(err))
	require.Empty(t, env.recordedEvents())
}

// TestApply_Questions_AreChecked checks the answers to a required question (nmc) and an
// optional one (car). Sizes count characters, not bytes, and answers are stored as they are.
func TestApply_Questions_AreChecked(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		employer := newEmployer()
		job := env.newListing(employer, hiring.Question{ID: "nmc", Required: true}, hiring.Question{ID: "car"})

		// requireRefused requires that the answers are refused because of the field.
		requireRefused := func(field string, answers ...hiring.Answer) {
			t.Helper()

			_, err := env.Apply(t.Context(), newSeeker(), hiring.ApplyInput{ListingID: job, Answers: answers})
			require.Equal(t, fault.Invalid, fault.KindOf(err))
			require.Equal(t, field, fault.Of(err).Fields[0].Name)
		}

		// The required question is not answered.
		requireRefused("answers")
		requireRefused("answers", hiring.Answer{QuestionID: "car", Answer: "yes"})
		requireRefused("answers", hiring.Answer{QuestionID: "nmc", Answer: " \n"})

		// The second answer is to an unknown question, or to the same one.
		required := hiring.Answer{QuestionID: "nmc", Answer: "12A3456E"}
		requireRefused("answers.1.question_id", required, hiring.Answer{QuestionID: "age", Answer: "40"})
		requireRefused("answers.1.question_id", required, required)

		// An answer is too long, or there are too many.
		tooLong := hiring.Answer{QuestionID: "car", Answer: strings.Repeat("é", 5001)}
		requireRefused("answers.1.answer", required, tooLong)
		requireRefused("answers", make([]hiring.Answer, 101)...)

		answers := []hiring.Answer{{QuestionID: "car", Answer: `"no", <b>`}, required}
		application, err := env.Apply(t.Context(), newSeeker(), hiring.ApplyInput{ListingID: job, Answers: answers})
		require.NoError(t, err)
		require.Equal(t, answers, env.received(employer, application.ID).Answers)
	})
}

// TestApply_LongCoverLetter_Refused checks that the size of a cover letter counts characters.
func TestApply_LongCoverLetter_Refused(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		_, err := env.Apply(t.Context(), newSeeker(), hiring.ApplyInput{
			ListingID:   env.newListing(newEmployer()),
			CoverLetter: strings.Repeat("é", 20001),
		})
		require.Equal(t, "coverLetter", fault.Of(err).Fields[0].Name)
	})
}

// TestTracker_IsPrivate_LastChangeShown checks the private tracker: the employer does not see
// it, and the applicant sees the tracker or the status, whichever was changed last.
func TestTracker_IsPrivate_LastChangeShown(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		ann, employer := newSeeker(), newEmployer()
		application := env.apply(ann, env.newListing(employer))
		env.recordedEvents()

		before := env.received(employer, application.ID)

		// The applicant sees the tracker, and the employer sees no change.
		tracked, err := env.Track(t.Context(), ann, application.ID, hiring.TrackInput{
			Status:      ptr("in-progress"),
			StatusColor: ptr("bg-amber-100"),
		})
		require.NoError(t, err)
		require.Equal(t, hiring.Status("in-progress"), tracked.ApplicantStatus())
		require.Equal(t, hiring.Status("in-progress"), env.visibleStatus(ann, application.ID))

		after := env.received(employer, application.ID)
		require.Equal(t, before.Status, after.Status)
		require.Equal(t, before.Timeline, after.Timeline)
		require.Empty(t, env.recordedEvents(), "a private status records no event")

		// The applicant sees the later change: that of the employer, and then the tracker again.
		require.NoError(t, env.setStatus(employer, application.ID, "rejected"))
		require.Equal(t, hiring.Rejected, env.visibleStatus(ann, application.ID))

		_, err = env.Track(t.Context(), ann, application.ID, hiring.TrackInput{Status: ptr("completed")})
		require.NoError(t, err)
		require.Equal(t, hiring.Status("completed"), env.visibleStatus(ann, application.ID))
		require.NoError(t, env.setStatus(employer, application.ID, "rejected"))
		require.Equal(t, hiring.Status("completed"), env.visibleStatus(ann, application.ID), "the current status is no change")

		tracked, err = env.Track(t.Context(), ann, application.ID, hiring.TrackInput{})
		require.NoError(t, err)
		require.Equal(t, "bg-amber-100", tracked.TrackerColor, "a field that is not given stays unchanged")

		// Other values are refused.
		for _, invalid := range []string{"", "interview", "withdrawn", "PENDING"} {
			_, err = env.Track(t.Context(), ann, application.ID, hiring.TrackInput{Status: &invalid})
			require.Equal(t, "status", fault.Of(err).Fields[0].Name, invalid)
		}

		_, err = env.Track(t.Context(), ann, application.ID, hiring.TrackInput{StatusColor: ptr(strings.Repeat("x", 201))})
		require.Equal(t, "statusColor", fault.Of(err).Fields[0].Name)
	})
}

// TestWithdraw_ByApplicant_IsFinal checks that the applicant sees a withdrawn application in
// the history only, and that the employer cannot change its status any more.
func TestWithdraw_ByApplicant_IsFinal(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		ann, employer := newSeeker(), newEmployer()
		application := env.apply(ann, env.newListing(employer))
		require.NoError(t, env.setStatus(employer, application.ID, "review"))
		env.recordedEvents()
		require.NoError(t, env.Withdraw(t.Context(), ann, application.ID))

		// The applicant cannot use it any more, and sees it in the history only.
		_, err := env.MyApplication(t.Context(), ann, application.ID)
		require.ErrorIs(t, err, hiring.ErrNotFound)

		_, err = env.Track(t.Context(), ann, application.ID, hiring.TrackInput{Status: ptr("completed")})
		require.ErrorIs(t, err, hiring.ErrNotFound)
		require.ErrorIs(t, env.Withdraw(t.Context(), ann, application.ID), hiring.ErrNotFound)

		mine, err := env.MyApplications(t.Context(), ann, firstPage)
		require.NoError(t, err)
		require.Empty(t, mine.Items)
		require.Zero(t, mine.Total)

		history, err := env.MyHistory(t.Context(), ann, firstPage)
		require.NoError(t, err)
		require.Equal(t, hiring.Withdrawn, history.Items[0].ApplicantStatus())

		entry, err := env.MyHistoryEntry(t.Context(), ann, application.ID)
		require.NoError(t, err)
		require.Equal(t, "Dear all", entry.CoverLetter)
		require.Len(t, entry.Timeline, 3)

		_, err = env.MyHistoryEntry(t.Context(), newSeeker(), application.ID)
		require.ErrorIs(t, err, hiring.ErrNotFound)

		// The employer sees the withdrawal and cannot change the status.
		for _, status := range hiring.Statuses {
			require.ErrorIs(t, env.setStatus(employer, application.ID, string(status)), hiring.ErrInvalidStatus)
		}

		require.NoError(t, env.Dismiss(t.Context(), employer, application.ID), "a dismissal has no effect")

		received := env.received(employer, application.ID)
		require.Equal(t, hiring.Withdrawn, received.Status)
		require.Equal(t, "jobseeker:>pending employer:pending>review jobseeker:review>withdrawn", formatTimeline(received.Timeline))
		require.Equal(t, []string{"review>withdrawn"}, env.recordedEvents())
	})
}

// TestListApplications_ByPageAndCursor checks that pages by number and by cursor contain the
// same applications, for the employer and for the applicant, with at most two look-ups in other
// modules.
func TestListApplications_ByPageAndCursor(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		ann, employer := newSeeker(), newEmployer()

		var newestFirst []string
		for range 25 {
			newestFirst = append([]string{env.apply(ann, env.newListing(employer)).ID}, newestFirst...)
		}

		env.apply(newSeeker(), env.newListing(newEmployer()))

		for name, list := range map[string]func(page.Request) (page.Result[hiring.View], error){
			"received": func(request page.Request) (page.Result[hiring.View], error) {
				return env.ReceivedApplications(t.Context(), employer, request)
			},
			"mine": func(request page.Request) (page.Result[hiring.View], error) {
				return env.MyApplications(t.Context(), ann, request)
			},
		} {
			// checkPage checks the rows and the total of a page, and returns the ids of its rows.
			checkPage := func(result page.Result[hiring.View]) (ids []string) {
				t.Helper()

				for _, view := range result.Items {
					require.Equal(t, "Title of "+view.ListingID, view.JobTitle, name)
					require.Empty(t, view.CoverLetter, "lists do not contain cover letters")

					ids = append(ids, view.ID)
				}

				require.Equal(t, 25, result.Total, name)
				require.False(t, result.TotalIsEstimate)

				return ids
			}

			// Read pages by number.
			lookupsBefore := env.lookups.Load()
			first, err := list(page.Request{Number: 1, Size: 10})
			require.NoError(t, err)
			require.Equal(t, newestFirst[:10], checkPage(first), name)

			lookups := env.lookups.Load() - lookupsBefore
			require.LessOrEqual(t, lookups, int64(2), "names are looked up for the page, not for each row")

			second, err := list(page.Request{Number: 2, Size: 10})
			require.NoError(t, err)
			require.Equal(t, newestFirst[10:20], checkPage(second), name)

			beyond, err := list(page.Request{Number: 9, Size: 10})
			require.NoError(t, err)
			require.Empty(t, checkPage(beyond), name)

			// Read all pages by cursor.
			var seen []string

			cursor := ""
			for pages := 0; ; pages++ {
				require.Less(t, pages, 10, "the cursors do not end, although 25 rows are three pages")

				result, err := list(page.Request{Number: 1, Size: 10, Cursor: cursor})
				require.NoError(t, err)

				seen = append(seen, checkPage(result)...)

				cursor = result.NextCursor
				if cursor == "" {
					break
				}
			}

			require.Equal(t, newestFirst, seen, name)

			_, err = list(page.Request{Number: 1, Size: 10, Cursor: "' OR 1=1"})
			require.Equal(t, "cursor", fault.Of(err).Fields[0].Name)
		}
	})
}

// TestTimeline_Long_ShowsNewest checks that a long timeline has the submission, which has no
// old status, and the newest 200 changes.
func TestTimeline_Long_ShowsNewest(t *testing.T) {
	t.Parallel()

	env := newTestEnv(t, stores.SQLite)
	employer := newEmployer()

	id := env.apply(newSeeker(), env.newListing(employer)).ID
	// 250 changes are more than the timeline shows.
	for range 125 {
		require.NoError(t, env.setStatus(employer, id, string(hiring.Review)))
		require.NoError(t, env.setStatus(employer, id, string(hiring.Interviewing)))
	}

	application := env.received(employer, id)
	require.Len(t, application.Timeline, 1+200, "the submission and the newest of 250 changes")
	require.Equal(t, application.Status, application.Timeline[200].To)
	require.Empty(t, application.Timeline[0].From)
}

// TestAnswer_MarshalJSON checks that the name question_id has an underscore, unlike most names
// of the API.
func TestAnswer_MarshalJSON(t *testing.T) {
	t.Parallel()

	text, err := json.Marshal(hiring.Answer{QuestionID: "q", Answer: "a"})
	require.NoError(t, err)
	require.JSONEq(t, `{"question_id":"q","answer":"a"}`, string(text))
}
