package hiring_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/core/auth"
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

		decision := own.Timeline[1]
		require.Equal(t, employer.UserID, decision.ActorID)
		require.Equal(t, env.clock.Now(), decision.At)
		require.Equal(t, []string{"submitted", "pending>interview"}, env.recordedEvents())
	})
}

// TestEvents_SubmittedAndChanged_HavePayload checks the payloads of the events about a new application and
// about a decision, which the webhooks of other companies receive. The time is that of the test's clock.
func TestEvents_SubmittedAndChanged_HavePayload(t *testing.T) {
	t.Parallel()

	env := newTestEnv(t, stores.SQLite)
	ann, employer := newSeeker(), newEmployer()
	application := env.apply(ann, env.newListing(employer))
	require.NoError(t, env.setStatus(employer, application.ID, "review"))

	const (
		moreThanAll = 10        // events
		lease       = time.Hour // longer than the test
	)

	events, err := env.store.Hiring.Outbox.Claim(t.Context(), moreThanAll, lease)
	require.NoError(t, err)
	require.Len(t, events, 2)

	submitted, changed := events[0], events[1]
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

// TestApply_Concurrent_CreatesOne checks that concurrent requests create one application and record one
// event. The others are refused.
func TestApply_Concurrent_CreatesOne(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		ann := newSeeker()
		job := env.newListing(newEmployer())

		const numRequests = 50

		var requests sync.WaitGroup
		var created, refused atomic.Int64

		for range numRequests {
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
		require.EqualValues(t, numRequests-1, refused.Load())
		require.Equal(t, []string{"submitted"}, env.recordedEvents())

		mine, err := env.MyApplications(t.Context(), ann, firstPage)
		require.NoError(t, err)
		require.Len(t, mine.Items, 1)
	})
}

// TestApply_Withdrawn_Conflict checks that an applicant cannot apply again to the same listing after
// withdrawing. Another applicant can, and the same applicant can apply to another listing.
func TestApply_Withdrawn_Conflict(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		ann, employer := newSeeker(), newEmployer()
		job := env.newListing(employer)
		require.NoError(t, env.Withdraw(t.Context(), ann, env.apply(ann, job).ID))

		_, err := env.Apply(t.Context(), ann, hiring.ApplyInput{ListingID: job})
		require.ErrorIs(t, err, hiring.ErrAlreadyApplied)
		require.Equal(t, "Already applied to this position", fault.Of(err).Message)

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
		require.ErrorIs(t, err, hiring.ErrListingNotFound, id)
	}

	require.Empty(t, env.recordedEvents())
}

// TestApply_NoListing_Invalid checks an application without the id of a listing.
func TestApply_NoListing_Invalid(t *testing.T) {
	t.Parallel()

	env := newTestEnv(t, stores.SQLite)
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

		// An answer has more than 5,000 characters, or there are more than 100.
		tooLong := hiring.Answer{QuestionID: "car", Answer: strings.Repeat("é", 5001)}
		requireRefused("answers.1.answer", required, tooLong)
		requireRefused("answers", make([]hiring.Answer, 101)...)

		// Valid answers are stored.
		answers := []hiring.Answer{{QuestionID: "car", Answer: `"no", <b>`}, required}
		application, err := env.Apply(t.Context(), newSeeker(), hiring.ApplyInput{ListingID: job, Answers: answers})
		require.NoError(t, err)
		require.Equal(t, answers, env.received(employer, application.ID).Answers)
	})
}

// TestApply_LongCoverLetter_Refused checks that a cover letter of more than 20,000 characters is refused.
func TestApply_LongCoverLetter_Refused(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		_, err := env.Apply(t.Context(), newSeeker(), hiring.ApplyInput{
			ListingID:   env.newListing(newEmployer()),
			CoverLetter: strings.Repeat("é", 20001),
		})
		require.Equal(t, "coverLetter", fault.Of(err).Fields[0].Name)
	})
}

// track changes the applicant's private tracker of an application, and requires success.
func (e *testEnv) track(by auth.Actor, applicationID string, input hiring.TrackInput) hiring.Application {
	e.t.Helper()

	tracked, err := e.Track(e.t.Context(), by, applicationID, input)
	require.NoError(e.t, err)

	return tracked
}

// TestTracker_Changed_IsPrivate checks that a change of the tracker is seen by the applicant only: the
// employer sees no change, and no event is recorded.
func TestTracker_Changed_IsPrivate(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		ann, employer := newSeeker(), newEmployer()
		application := env.apply(ann, env.newListing(employer))
		env.recordedEvents()

		before := env.received(employer, application.ID)
		tracked := env.track(ann, application.ID, hiring.TrackInput{Status: ptr("in-progress"), StatusColor: ptr("bg-amber-100")})
		require.Equal(t, hiring.Status("in-progress"), tracked.ApplicantStatus())
		require.Equal(t, hiring.Status("in-progress"), env.visibleStatus(ann, application.ID))

		after := env.received(employer, application.ID)
		require.Equal(t, before.Status, after.Status)
		require.Equal(t, before.Timeline, after.Timeline)
		require.Empty(t, env.recordedEvents())
	})
}

// TestTracker_EmployerDecides_LastChangeShown checks that the applicant sees the tracker or the status of
// the employer, whichever was changed last. A repeated decision is no change.
func TestTracker_EmployerDecides_LastChangeShown(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		ann, employer := newSeeker(), newEmployer()
		application := env.apply(ann, env.newListing(employer))
		env.track(ann, application.ID, hiring.TrackInput{Status: ptr("in-progress")})

		require.NoError(t, env.setStatus(employer, application.ID, "rejected"))
		require.Equal(t, hiring.Rejected, env.visibleStatus(ann, application.ID))

		env.track(ann, application.ID, hiring.TrackInput{Status: ptr("completed")})
		require.Equal(t, hiring.Status("completed"), env.visibleStatus(ann, application.ID))

		require.NoError(t, env.setStatus(employer, application.ID, "rejected"))
		require.Equal(t, hiring.Status("completed"), env.visibleStatus(ann, application.ID), "the current status is no change")
	})
}

// TestTracker_FieldNotGiven_IsKept checks that a change of the tracker keeps the fields that it does not
// have.
func TestTracker_FieldNotGiven_IsKept(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		ann := newSeeker()
		application := env.apply(ann, env.newListing(newEmployer()))
		env.track(ann, application.ID, hiring.TrackInput{StatusColor: ptr("bg-amber-100")})
		env.track(ann, application.ID, hiring.TrackInput{Status: ptr("completed")})

		tracked := env.track(ann, application.ID, hiring.TrackInput{})
		require.Equal(t, "bg-amber-100", tracked.TrackerColor)
		require.Equal(t, hiring.Status("completed"), tracked.ApplicantStatus())
	})
}

// TestTracker_InvalidInput_FieldIsNamed checks values that are refused: an empty or unknown status, one
// that only an employer or a withdrawal sets, and a color of more than 200 characters.
func TestTracker_InvalidInput_FieldIsNamed(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		ann := newSeeker()
		application := env.apply(ann, env.newListing(newEmployer()))

		for _, invalid := range []string{"", "interview", "withdrawn", "PENDING"} {
			_, err := env.Track(t.Context(), ann, application.ID, hiring.TrackInput{Status: &invalid})
			require.Equal(t, "status", fault.Of(err).Fields[0].Name, invalid)
		}

		tooLong := strings.Repeat("x", 201)
		_, err := env.Track(t.Context(), ann, application.ID, hiring.TrackInput{StatusColor: &tooLong})
		require.Equal(t, "statusColor", fault.Of(err).Fields[0].Name)
	})
}

// TestWithdraw_Applicant_SeesHistoryOnly checks that the applicant sees a withdrawn application in the
// history only, and cannot track or withdraw it any more. Other applicants do not see it.
func TestWithdraw_Applicant_SeesHistoryOnly(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		ann, employer := newSeeker(), newEmployer()
		application := env.apply(ann, env.newListing(employer))
		require.NoError(t, env.setStatus(employer, application.ID, "review"))
		require.NoError(t, env.Withdraw(t.Context(), ann, application.ID))

		// The application is neither found nor listed.
		_, err := env.MyApplication(t.Context(), ann, application.ID)
		require.ErrorIs(t, err, hiring.ErrNotFound)

		_, err = env.Track(t.Context(), ann, application.ID, hiring.TrackInput{Status: ptr("completed")})
		require.ErrorIs(t, err, hiring.ErrNotFound)
		require.ErrorIs(t, env.Withdraw(t.Context(), ann, application.ID), hiring.ErrNotFound)

		mine, err := env.MyApplications(t.Context(), ann, firstPage)
		require.NoError(t, err)
		require.Empty(t, mine.Items)
		require.Zero(t, mine.Total)

		// It is in the history.
		history, err := env.MyHistory(t.Context(), ann, firstPage)
		require.NoError(t, err)
		require.Len(t, history.Items, 1)
		require.Equal(t, hiring.Withdrawn, history.Items[0].ApplicantStatus())

		entry, err := env.MyHistoryEntry(t.Context(), ann, application.ID)
		require.NoError(t, err)
		require.Equal(t, "Dear all", entry.CoverLetter)
		require.Equal(t, "jobseeker:>pending employer:pending>review jobseeker:review>withdrawn", formatTimeline(entry.Timeline))

		_, err = env.MyHistoryEntry(t.Context(), newSeeker(), application.ID)
		require.ErrorIs(t, err, hiring.ErrNotFound)
	})
}

// TestWithdraw_Employer_CannotChangeStatus checks that the employer sees the withdrawal, and cannot change
// the status any more. A dismissal is accepted and has no effect.
func TestWithdraw_Employer_CannotChangeStatus(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		ann, employer := newSeeker(), newEmployer()
		application := env.apply(ann, env.newListing(employer))
		require.NoError(t, env.setStatus(employer, application.ID, "review"))
		env.recordedEvents()
		require.NoError(t, env.Withdraw(t.Context(), ann, application.ID))

		for _, status := range hiring.Statuses {
			require.ErrorIs(t, env.setStatus(employer, application.ID, string(status)), hiring.ErrInvalidStatus, status)
		}

		require.NoError(t, env.Dismiss(t.Context(), employer, application.ID))

		received := env.received(employer, application.ID)
		require.Equal(t, hiring.Withdrawn, received.Status)
		require.Equal(t, "jobseeker:>pending employer:pending>review jobseeker:review>withdrawn", formatTimeline(received.Timeline))
		require.Equal(t, []string{"review>withdrawn"}, env.recordedEvents())
	})
}

// listFunc returns a page of applications.
type listFunc = func(page.Request) (page.Result[hiring.View], error)

// onEachList runs the test on the lists of the employer and of the applicant, which have the same 25
// applications. wantIDs has their ids, the newest first.
func onEachList(t *testing.T, test func(t *testing.T, env *testEnv, list listFunc, wantIDs []string)) {
	t.Helper()

	for name, listOf := range map[string]func(env *testEnv, ann, employer auth.Actor) listFunc{
		"received": func(env *testEnv, _, employer auth.Actor) listFunc {
			return func(request page.Request) (page.Result[hiring.View], error) {
				return env.ReceivedApplications(env.t.Context(), employer, request)
			}
		},
		"mine": func(env *testEnv, ann, _ auth.Actor) listFunc {
			return func(request page.Request) (page.Result[hiring.View], error) {
				return env.MyApplications(env.t.Context(), ann, request)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			onEach(t, func(t *testing.T, env *testEnv) {
				ann, employer := newSeeker(), newEmployer()

				var wantIDs []string
				for range 25 {
					wantIDs = append(wantIDs, env.apply(ann, env.newListing(employer)).ID)
				}

				slices.Reverse(wantIDs)
				env.apply(newSeeker(), env.newListing(newEmployer())) // in neither list

				test(t, env, listOf(env, ann, employer), wantIDs)
			})
		})
	}
}

// viewIDs returns the ids of the applications on a page. It requires that each has the title of its
// listing, and no cover letter.
func viewIDs(t *testing.T, result page.Result[hiring.View]) (ids []string) {
	t.Helper()

	for _, view := range result.Items {
		require.Equal(t, "Title of "+view.ListingID, view.JobTitle)
		require.Empty(t, view.CoverLetter, "lists do not contain cover letters")

		ids = append(ids, view.ID)
	}

	return ids
}

// TestListApplications_PagesByNumber_InOrder checks the pages of 25 applications, of which each has 10, and
// their total. The titles and names of a page are looked up in other modules at most twice, and not for
// each row.
func TestListApplications_PagesByNumber_InOrder(t *testing.T) {
	onEachList(t, func(t *testing.T, env *testEnv, list listFunc, wantIDs []string) {
		for _, test := range []struct {
			number  int
			wantIDs []string
		}{
			{number: 1, wantIDs: wantIDs[:10]},
			{number: 2, wantIDs: wantIDs[10:20]},
			{number: 3, wantIDs: wantIDs[20:]},
			{number: 9, wantIDs: nil}, // after the last page
		} {
			lookupsBefore := env.lookups.Load()
			result, err := list(page.Request{Number: test.number, Size: 10})
			require.NoError(t, err)
			require.Equal(t, test.wantIDs, viewIDs(t, result), "page %d", test.number)
			require.Equal(t, len(wantIDs), result.Total, "page %d", test.number)
			require.False(t, result.TotalIsEstimate, "page %d", test.number)

			lookups := env.lookups.Load() - lookupsBefore
			require.LessOrEqual(t, lookups, int64(2), "page %d", test.number)
		}
	})
}

// TestListApplications_PagesByCursor_InOrder checks that the pages that are read by cursor have all
// applications. A cursor that no page has returned is refused.
func TestListApplications_PagesByCursor_InOrder(t *testing.T) {
	onEachList(t, func(t *testing.T, _ *testEnv, list listFunc, wantIDs []string) {
		var ids []string

		cursor := ""
		for range 3 { // 25 applications are three pages
			result, err := list(page.Request{Number: 1, Size: 10, Cursor: cursor})
			require.NoError(t, err)
			require.Equal(t, len(wantIDs), result.Total)
			require.False(t, result.TotalIsEstimate)

			ids = append(ids, viewIDs(t, result)...)
			cursor = result.NextCursor
		}

		require.Equal(t, wantIDs, ids)
		require.Empty(t, cursor, "the third page is the last one")

		_, err := list(page.Request{Number: 1, Size: 10, Cursor: "' OR 1=1"})
		require.Equal(t, "cursor", fault.Of(err).Fields[0].Name)
	})
}

// TestTimeline_Long_ShowsNewest checks that a long timeline has the submission, which has no
// old status, and the newest 200 changes.
func TestTimeline_Long_ShowsNewest(t *testing.T) {
	t.Parallel()

	env := newTestEnv(t, stores.SQLite)
	employer := newEmployer()
	id := env.apply(newSeeker(), env.newListing(employer)).ID

	const maxShown = 200

	for range 125 { // 250 changes are more than the timeline shows
		require.NoError(t, env.setStatus(employer, id, string(hiring.Review)))
		require.NoError(t, env.setStatus(employer, id, string(hiring.Interviewing)))
	}

	application := env.received(employer, id)
	require.Len(t, application.Timeline, 1+maxShown, "the submission and the newest changes")

	submission, newest := application.Timeline[0], application.Timeline[maxShown]
	require.Empty(t, submission.From)
	require.Equal(t, application.Status, newest.To)
}

// TestAnswer_MarshalJSON_QuestionIDHasUnderscore checks that the name question_id has an underscore,
// unlike most names of the API.
func TestAnswer_MarshalJSON_QuestionIDHasUnderscore(t *testing.T) {
	t.Parallel()

	text, err := json.Marshal(hiring.Answer{QuestionID: "q", Answer: "a"})
	require.NoError(t, err)
	require.JSONEq(t, `{"question_id":"q","answer":"a"}`, string(text))
}
