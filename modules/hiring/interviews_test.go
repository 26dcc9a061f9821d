package hiring_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/event"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/mail"
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/modules/hiring"
	"github.com/locumhq/locum/test/kit/stores"
)

// march27 is the time of most interviews in these tests, a year after that of the test's clock.
const march27 = "2027-03-27T11:00:00Z"

// anyStatus is the filter of a list that selects interviews with every status.
const anyStatus = ""

// interviewInput returns the input of an interview at the time, in Ward 3 with Dr. Byrne.
func interviewInput(at string) hiring.AppointmentInput {
	return hiring.AppointmentInput{ScheduledAt: &at, Location: ptr("Ward 3"), Interviewer: ptr("Dr. Byrne")}
}

// TestInterview_Scheduled_IsStoredInUTC checks that the time of an interview is stored in UTC, and that the
// interview is not a decision: the status of the application stays. The id may be in upper case.
func TestInterview_Scheduled_IsStoredInUTC(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		employer := newEmployer()
		application := env.apply(newSeeker(), env.newListing(employer))

		upperCaseID := strings.ToUpper(application.ID)
		appointment, err := env.Schedule(t.Context(), employer, upperCaseID, interviewInput("2027-03-27T11:00:00+01:00"))
		require.NoError(t, err)
		require.Equal(t, time.Date(2027, 3, 27, 10, 0, 0, 0, time.UTC), appointment.ScheduledAt)
		require.Equal(t, hiring.Scheduled, appointment.Status)
		require.Equal(t, hiring.Undecided, appointment.Outcome)

		received := env.received(employer, application.ID)
		require.Equal(t, appointment, *received.Interview)
		require.Equal(t, hiring.Pending, received.Status)
	})
}

// TestInterview_Changed_NotifiesApplicantWithSequence checks which changes of an interview
// record an event, which notifies the applicant. Changes of the time, the place and the status
// do; changes of notes and outcomes do not. Each event has the next sequence number, by which
// calendars recognize the newest invitation (RFC 5545 §3.8.7.4). recordedEvents formats an event
// as "interview CHANGE SEQUENCE-NUMBER".
func TestInterview_Changed_NotifiesApplicantWithSequence(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		employer := newEmployer()
		application := env.apply(newSeeker(), env.newListing(employer))
		env.recordedEvents()

		appointment, err := env.Schedule(t.Context(), employer, application.ID, interviewInput(march27))
		require.NoError(t, err)
		require.Equal(t, []string{"interview scheduled 0"}, env.recordedEvents())

		var noEvents []string

		// The changes follow each other.
		for _, test := range []struct {
			name       string
			change     hiring.AppointmentInput
			wantEvents []string
		}{
			{name: "same place", change: hiring.AppointmentInput{Location: ptr("Ward 3")}, wantEvents: noEvents},
			{name: "notes", change: hiring.AppointmentInput{Notes: ptr("kind")}, wantEvents: noEvents},
			{
				name:       "other place",
				change:     hiring.AppointmentInput{Location: ptr("Ward 4")},
				wantEvents: []string{"interview moved 1"},
			},
			{
				name:       "other time",
				change:     hiring.AppointmentInput{ScheduledAt: ptr("2027-03-28T10:00:00+02:00")},
				wantEvents: []string{"interview moved 2"},
			},
			{
				name:       "cancelled",
				change:     hiring.AppointmentInput{Status: ptr(hiring.Cancelled)},
				wantEvents: []string{"interview cancelled 3"},
			},
			{
				name:       "other place of a cancelled interview",
				change:     hiring.AppointmentInput{Location: ptr("nowhere")},
				wantEvents: noEvents,
			},
			{
				name:       "scheduled again",
				change:     hiring.AppointmentInput{Status: ptr(hiring.Scheduled)},
				wantEvents: []string{"interview scheduled 4"},
			},
			{
				name:       "completed",
				change:     hiring.AppointmentInput{Status: ptr(hiring.Completed), Outcome: ptr(hiring.Pass)},
				wantEvents: noEvents,
			},
		} {
			env.clock.Advance(time.Minute)

			changed, err := env.Reschedule(t.Context(), employer, application.ID, test.change)
			require.NoError(t, err, test.name)
			require.Equal(t, appointment.ID, changed.ID, test.name)
			require.Equal(t, test.wantEvents, env.recordedEvents(), test.name)
		}
	})
}

// TestInterview_UnchangedInput_ReturnsSame checks that an input with the current values does not change the
// interview, not even the time of its last change.
func TestInterview_UnchangedInput_ReturnsSame(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		employer := newEmployer()
		application := env.apply(newSeeker(), env.newListing(employer))
		appointment, err := env.Schedule(t.Context(), employer, application.ID, interviewInput(march27))
		require.NoError(t, err)
		env.clock.Advance(time.Minute)

		same, err := env.Reschedule(t.Context(), employer, application.ID, interviewInput(march27))
		require.NoError(t, err)
		require.Equal(t, appointment, same)
	})
}

// TestInterview_ScheduledAfterCompletion_KeepsNotes checks that an application has one interview, which can be
// scheduled again after it was completed. Its notes stay, and its outcome does not.
func TestInterview_ScheduledAfterCompletion_KeepsNotes(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		employer := newEmployer()
		application := env.apply(newSeeker(), env.newListing(employer))
		appointment, err := env.Schedule(t.Context(), employer, application.ID, interviewInput(march27))
		require.NoError(t, err)

		completion := hiring.AppointmentInput{
			Status:  ptr(hiring.Completed),
			Outcome: ptr(hiring.Pass),
			Notes:   ptr("kind"),
		}
		completed, err := env.Reschedule(t.Context(), employer, application.ID, completion)
		require.NoError(t, err)
		require.Equal(t, hiring.Pass, completed.Outcome)
		env.recordedEvents()

		rescheduled, err := env.Schedule(t.Context(), employer, application.ID, interviewInput("2027-04-01T09:00:00Z"))
		require.NoError(t, err)
		require.Equal(t, appointment.ID, rescheduled.ID)
		require.Equal(t, "kind", rescheduled.Notes)
		require.Equal(t, hiring.Undecided, rescheduled.Outcome)
		require.Equal(t, []string{"interview scheduled 1"}, env.recordedEvents())
		require.Equal(t, rescheduled, *env.received(employer, application.ID).Interview)
	})
}

// TestInterview_ApplicationWithdrawn_IsCancelled checks that the withdrawal of an application
// cancels the interview, with a mail that removes it from the applicant's calendar. Afterwards
// the employer cannot schedule an interview, but can still add notes to this one.
func TestInterview_ApplicationWithdrawn_IsCancelled(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		ann, employer := newSeeker(), newEmployer()
		application := env.apply(ann, env.newListing(employer))
		_, err := env.Schedule(t.Context(), employer, application.ID, interviewInput(march27))
		require.NoError(t, err)
		env.sentMails()

		// The withdrawal sends the applicant one message, which cancels the interview.
		require.NoError(t, env.Withdraw(t.Context(), ann, application.ID))

		toApplicant := slices.DeleteFunc(env.sentMails(), func(m mail.Message) bool {
			return m.To.Email != addressOf(ann).Email
		})
		require.Len(t, toApplicant, 1)

		cancellation := toApplicant[0]
		require.True(t, cancellation.Invite.Cancelled)
		require.Equal(t, 1, cancellation.Invite.Sequence, "the invitation has the number 0")
		require.Contains(t, cancellation.Text, "since you withdrew")
		require.Zero(t, cancellation.ReplyTo, "the applicant's own action has no employer to reply to")
		require.Equal(t, hiring.Cancelled, env.received(employer, application.ID).Interview.Status)

		// The employer can add notes, but not invite the applicant again.
		_, err = env.Schedule(t.Context(), employer, application.ID, interviewInput(march27))
		require.ErrorIs(t, err, hiring.ErrWithdrawn)

		_, err = env.Reschedule(t.Context(), employer, application.ID, hiring.AppointmentInput{Status: ptr(hiring.Scheduled)})
		require.ErrorIs(t, err, hiring.ErrWithdrawn)

		_, err = env.Reschedule(t.Context(), employer, application.ID, hiring.AppointmentInput{Notes: ptr("a pity")})
		require.NoError(t, err)
	})
}

// TestInterview_InvalidInput_EachFieldIsNamed checks that the refusal of an invalid interview
// names the field. A time needs an offset, because the applicant may live in another time zone.
func TestInterview_InvalidInput_EachFieldIsNamed(t *testing.T) {
	t.Parallel()

	env := newTestEnv(t, stores.SQLite)
	employer := newEmployer()
	application := env.apply(newSeeker(), env.newListing(employer))

	const maxLocation = 500 // characters
	validTime := ptr(march27)

	for _, test := range []struct {
		name      string
		wantField string // the field that the refusal names
		input     hiring.AppointmentInput
	}{
		{
			name:      "no time",
			wantField: "scheduledAt",
			input:     hiring.AppointmentInput{Location: ptr("x"), Interviewer: ptr("y")},
		},
		{name: "time without an offset", wantField: "scheduledAt", input: interviewInput("2027-03-27T11:00:00")},
		{name: "no timestamp", wantField: "scheduledAt", input: interviewInput("tomorrow")},
		{
			name:      "blank location",
			wantField: "location",
			input:     hiring.AppointmentInput{ScheduledAt: validTime, Location: ptr(" "), Interviewer: ptr("y")},
		},
		{
			name:      "long location",
			wantField: "location",
			input: hiring.AppointmentInput{
				ScheduledAt: validTime,
				Location:    ptr(strings.Repeat("é", maxLocation+1)),
				Interviewer: ptr("y"),
			},
		},
		{
			name:      "no interviewer",
			wantField: "interviewer",
			input:     hiring.AppointmentInput{ScheduledAt: validTime, Location: ptr("x")},
		},
	} {
		_, err := env.Schedule(t.Context(), employer, application.ID, test.input)
		require.Equal(t, test.wantField, fault.Of(err).Fields[0].Name, test.name)
	}
}

// TestInterview_InvalidChange_IsRefused checks that a change of an interview cannot have an unknown status
// or outcome, or notes that are too long.
func TestInterview_InvalidChange_IsRefused(t *testing.T) {
	t.Parallel()

	env := newTestEnv(t, stores.SQLite)
	employer := newEmployer()
	application := env.apply(newSeeker(), env.newListing(employer))
	_, err := env.Schedule(t.Context(), employer, application.ID, interviewInput(march27))
	require.NoError(t, err)

	const maxNotes = 5000 // characters

	for name, change := range map[string]hiring.AppointmentInput{
		"unknown status":  {Status: ptr(hiring.InterviewStatus("later"))},
		"unknown outcome": {Outcome: ptr(hiring.Outcome("maybe"))},
		"long notes":      {Notes: ptr(strings.Repeat("x", maxNotes+1))},
	} {
		_, err = env.Reschedule(t.Context(), employer, application.ID, change)
		require.ErrorIs(t, err, fault.ErrInvalid, name)
	}
}

// TestInterview_OtherOrganizationOrNoPermission_Refused checks that a member of another
// organization neither sees nor changes an interview. A member with the permission to view
// applications, but not to update them, can only see it.
func TestInterview_OtherOrganizationOrNoPermission_Refused(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		employer, other := newEmployer(), newEmployer()
		viewer := newEmployer(auth.ApplicationsView)
		viewer.OrganizationID = employer.OrganizationID
		application := env.apply(newSeeker(), env.newListing(employer))

		// Neither of the two may schedule or change the interview, or write to the applicant.
		for _, test := range []struct {
			by      auth.Actor
			wantErr error
		}{
			{by: other, wantErr: hiring.ErrNotFound},
			{by: viewer, wantErr: fault.ErrForbidden},
		} {
			_, err := env.Schedule(t.Context(), test.by, application.ID, interviewInput(march27))
			require.ErrorIs(t, err, test.wantErr)

			_, err = env.Reschedule(t.Context(), test.by, application.ID, hiring.AppointmentInput{Notes: ptr("x")})
			require.ErrorIs(t, err, test.wantErr)

			_, err = env.Contact(t.Context(), test.by, application.ID, hiring.ContactInput{Subject: "x", Message: "y"})
			require.ErrorIs(t, err, test.wantErr)
		}

		_, err := env.Schedule(t.Context(), viewer, application.ID, hiring.AppointmentInput{})
		require.ErrorIs(t, err, fault.ErrForbidden, "permissions are checked before the input")

		_, err = env.Schedule(t.Context(), employer, application.ID, interviewInput(march27))
		require.NoError(t, err)

		// The other organization does not see the interview, and the viewer does.
		none, err := env.Interviews(t.Context(), other, anyStatus, firstPage)
		require.NoError(t, err)
		require.Empty(t, none.Items)

		interviews, err := env.Interviews(t.Context(), viewer, hiring.Scheduled, firstPage)
		require.NoError(t, err)
		require.Equal(t, 1, interviews.Total)

		interview := interviews.Items[0]
		require.Equal(t, application.ID, interview.ID)
		require.NotEmpty(t, interview.Applicant.Email)

		_, err = env.Interviews(t.Context(), newSeeker(), anyStatus, firstPage)
		require.ErrorIs(t, err, fault.ErrForbidden, "jobseekers have no such list")
	})
}

// TestInterview_NotScheduled_CannotBeChanged checks that an interview has to be scheduled before it can be
// changed.
func TestInterview_NotScheduled_CannotBeChanged(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		employer := newEmployer()
		application := env.apply(newSeeker(), env.newListing(employer))
		_, err := env.Reschedule(t.Context(), employer, application.ID, hiring.AppointmentInput{Notes: ptr("x")})
		require.ErrorIs(t, err, hiring.ErrInterviewNotFound)
	})
}

// TestInterviews_UnknownStatus_IsRefused checks the filter of the list of interviews.
func TestInterviews_UnknownStatus_IsRefused(t *testing.T) {
	t.Parallel()

	env := newTestEnv(t, stores.SQLite)
	_, err := env.Interviews(t.Context(), newEmployer(), "lost", firstPage)
	require.ErrorIs(t, err, fault.ErrInvalid)
}

// TestInterview_ScheduledConcurrently_OneRemains checks that concurrent requests change the
// same interview one after the other, so that each sequence number is used once.
func TestInterview_ScheduledConcurrently_OneRemains(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		employer := newEmployer()
		application := env.apply(newSeeker(), env.newListing(employer))
		env.recordedEvents()

		const numRequests = 8

		var requests sync.WaitGroup
		for hour := range numRequests {
			requests.Go(func() {
				interview := interviewInput(fmt.Sprintf("2027-03-27T%02d:00:00Z", hour))
				_, err := env.Schedule(t.Context(), employer, application.ID, interview)
				require.NoError(t, err)
			})
		}

		requests.Wait()

		events := env.recordedEvents()
		require.Len(t, events, numRequests)

		// The events have the sequence numbers 0 to 7, in this order.
		for sequence, recorded := range events {
			require.True(t, strings.HasSuffix(recorded, fmt.Sprint(" ", sequence)), recorded)
		}
	})
}

// applicationWithoutMails returns an application of the applicant to the employer. The e-mails about it
// are dropped, so that the next call of sentMails returns later ones only.
func (e *testEnv) applicationWithoutMails(applicant, employer auth.Actor) hiring.Application {
	e.t.Helper()

	application := e.apply(applicant, e.newListing(employer))
	e.sentMails()

	return application
}

// addressOf returns the name and the address of a user of testEnv.
func addressOf(user auth.Actor) mail.Address {
	return mail.Address{Name: "Name of " + user.UserID, Email: user.UserID + "@example.org"}
}

// TestMails_NewApplication_SentToBothAdmins checks that the e-mail about a new application has the name of
// the applicant, but not the address.
func TestMails_NewApplication_SentToBothAdmins(t *testing.T) {
	t.Parallel()

	env := newTestEnv(t, stores.SQLite)
	ann, employer := newSeeker(), newEmployer()
	job := env.newListing(employer)
	env.apply(ann, job)

	sent := env.sentMails()
	require.Len(t, sent, 2)
	require.NotEqual(t, sent[0].To, sent[1].To)

	toAdmin := sent[0]
	require.Equal(t, "New application: Title of "+job, toAdmin.Subject)
	require.Contains(t, toAdmin.Text, addressOf(ann).Name)
	require.NotContains(t, toAdmin.Text, "@example.org")
}

// TestMails_Decision_SentToApplicantOnce checks the e-mail about a decision. A repeated decision, and one
// with an unknown status, send none.
func TestMails_Decision_SentToApplicantOnce(t *testing.T) {
	t.Parallel()

	env := newTestEnv(t, stores.SQLite)
	ann, employer := newSeeker(), newEmployer()
	application := env.applicationWithoutMails(ann, employer)
	require.NoError(t, env.setStatus(employer, application.ID, "review"))
	require.NoError(t, env.setStatus(employer, application.ID, "review"))
	require.ErrorIs(t, env.setStatus(employer, application.ID, "lost"), hiring.ErrInvalidStatus)

	sent := env.sentMails()
	require.Len(t, sent, 1)

	toApplicant := sent[0]
	require.Equal(t, addressOf(ann).Email, toApplicant.To.Email)
	require.Contains(t, toApplicant.Text, "It is now: in review")
	require.NotEmpty(t, toApplicant.HTML)
}

// TestMails_Message_IsQuoted checks the e-mail with a message of the employer. The applicant can reply to
// it. The text quotes the message, and HTML in the message is escaped.
func TestMails_Message_IsQuoted(t *testing.T) {
	t.Parallel()

	env := newTestEnv(t, stores.SQLite)
	ann, employer := newSeeker(), newEmployer()
	application := env.applicationWithoutMails(ann, employer)
	address, err := env.Contact(t.Context(), employer, application.ID, hiring.ContactInput{
		Subject: " Your papers ",
		Message: "Please send them.\n<b>Soon</b>",
	})
	require.NoError(t, err)
	require.Equal(t, addressOf(ann).Email, address)

	sent := env.sentMails()
	require.Len(t, sent, 1)

	toApplicant := sent[0]
	require.Equal(t, "Your papers", toApplicant.Subject)
	require.Equal(t, addressOf(employer), toApplicant.ReplyTo)
	require.Contains(t, toApplicant.Text, "> Please send them.\n> <b>Soon</b>")
	require.NotContains(t, toApplicant.HTML, "<b>")
}

// TestSentMessages_OfApplication_ListedForOrganization checks that the organization sees its messages about
// an application with the name of their sender. Other organizations, and members without the permission, do
// not.
func TestSentMessages_OfApplication_ListedForOrganization(t *testing.T) {
	t.Parallel()

	env := newTestEnv(t, stores.SQLite)
	employer := newEmployer()
	application := env.applicationWithoutMails(newSeeker(), employer)
	_, err := env.Contact(t.Context(), employer, application.ID, hiring.ContactInput{Subject: "x", Message: "y"})
	require.NoError(t, err)

	messages, err := env.SentMessages(t.Context(), employer, application.ID)
	require.NoError(t, err)
	require.Len(t, messages, 1)
	require.Equal(t, addressOf(employer).Name, messages[0].Sender)

	_, err = env.SentMessages(t.Context(), newEmployer(), application.ID)
	require.ErrorIs(t, err, hiring.ErrNotFound)

	_, err = env.SentMessages(t.Context(), newEmployer(auth.JobsCreate), application.ID)
	require.ErrorIs(t, err, fault.ErrForbidden)
}

// TestMails_Interview_HaveCalendarInvitation checks the e-mails about an interview that is scheduled and
// cancelled. The second one cancels the event of the first in the applicant's calendar, which recognizes it
// by its UID.
func TestMails_Interview_HaveCalendarInvitation(t *testing.T) {
	t.Parallel()

	env := newTestEnv(t, stores.SQLite)
	employer := newEmployer()
	application := env.applicationWithoutMails(newSeeker(), employer)
	_, err := env.Schedule(t.Context(), employer, application.ID, interviewInput(march27))
	require.NoError(t, err)

	cancelled := hiring.AppointmentInput{Status: ptr(hiring.Cancelled)}
	_, err = env.Reschedule(t.Context(), employer, application.ID, cancelled)
	require.NoError(t, err)

	sent := env.sentMails()
	require.Len(t, sent, 2)

	// The first mail invites the applicant.
	scheduledMail, cancelledMail := sent[0], sent[1]
	require.Equal(t, addressOf(employer), scheduledMail.ReplyTo)
	require.Contains(t, scheduledMail.Text, "When: Saturday, 27 March 2027, 11:00 UTC")

	invitation := scheduledMail.Invite
	require.Zero(t, invitation.Sequence)
	require.False(t, invitation.Cancelled)

	// Calendars show an interview as an hour, because its duration is not known.
	require.Equal(t, time.Hour, invitation.End.Sub(invitation.Start))

	// The second mail cancels the event of the first.
	require.Contains(t, cancelledMail.Text, "takes this out of your calendar")

	cancellation := cancelledMail.Invite
	require.Equal(t, invitation.UID, cancellation.UID)
	require.Equal(t, 1, cancellation.Sequence)
	require.True(t, cancellation.Cancelled)
}

// TestMails_DeletedApplicant_GetsNone checks that a deleted user gets neither a decision nor a message.
func TestMails_DeletedApplicant_GetsNone(t *testing.T) {
	t.Parallel()

	env := newTestEnv(t, stores.SQLite)
	ann, employer := newSeeker(), newEmployer()
	application := env.applicationWithoutMails(ann, employer)

	env.deletedUsers[ann.UserID] = true
	require.NoError(t, env.setStatus(employer, application.ID, "accepted"))

	_, err := env.Contact(t.Context(), employer, application.ID, hiring.ContactInput{Subject: "x", Message: "y"})
	require.ErrorIs(t, err, hiring.ErrNotFound)
	require.Empty(t, env.sentMails())
}

// TestInterview_DailyNotices_AreLimited checks that an employer can send an applicant 20
// notices of scheduled and moved interviews in a day. Cancelling stays possible, because the
// applicant would otherwise come in vain.
func TestInterview_DailyNotices_AreLimited(t *testing.T) {
	t.Parallel()

	env := newTestEnv(t, stores.SQLite)
	employer := newEmployer()
	listing := env.newListing(employer)
	application, other := env.apply(newSeeker(), listing), env.apply(newSeeker(), listing)
	_, err := env.Schedule(t.Context(), employer, application.ID, interviewInput(march27))
	require.NoError(t, err)

	moveToWard := func(ward int) error {
		input := hiring.AppointmentInput{Location: ptr(fmt.Sprintf("Ward %d", ward))}
		_, err := env.Reschedule(t.Context(), employer, application.ID, input)
		return err
	}

	// The first notice is that of the scheduled interview. The moves that follow reach the limit.
	// The input of the interview says Ward 3; each move goes to a ward with a higher number.
	const maxNotices, firstWard = 20, 10
	const lastWard = firstWard + (maxNotices - 1) - 1 // one notice was that of the scheduled interview

	for ward := firstWard; ward <= lastWard; ward++ {
		require.NoError(t, moveToWard(ward))
	}

	require.NoError(t, moveToWard(lastWard), "a change without a notice does not count")
	env.recordedEvents()

	err = moveToWard(lastWard + 1)
	require.ErrorIs(t, err, fault.ErrRateLimit)
	require.Positive(t, fault.Of(err).RetryAfter)
	require.Equal(t, fmt.Sprint("Ward ", lastWard), env.received(employer, application.ID).Interview.Location)

	// The interview can be cancelled, but not scheduled again on this day.
	cancellation := hiring.AppointmentInput{Notes: ptr("kind"), Status: ptr(hiring.Cancelled)}
	_, err = env.Reschedule(t.Context(), employer, application.ID, cancellation)
	require.NoError(t, err)

	_, err = env.Schedule(t.Context(), employer, application.ID, interviewInput(march27))
	require.ErrorIs(t, err, fault.ErrRateLimit)
	require.Equal(t, []string{"interview cancelled 20"}, env.recordedEvents())

	_, err = env.Schedule(t.Context(), employer, other.ID, interviewInput(march27))
	require.NoError(t, err, "notices about another application are counted separately")

	// The next day, it can be scheduled again.
	env.clock.Advance(24*time.Hour + time.Second)

	_, err = env.Schedule(t.Context(), employer, application.ID, interviewInput(march27))
	require.NoError(t, err)
}

// TestMails_AlertsOff_SendsNoNews checks that members who have turned off alerts get no mail
// about a new application, and none about an export that is ready. testEnv gives each
// organization the admins "boss-of-" and "deputy-of-" its id; the deputy has alerts.
func TestMails_AlertsOff_SendsNoNews(t *testing.T) {
	t.Parallel()

	env := newTestEnv(t, stores.SQLite)
	employer := newEmployer()
	env.optedOut["boss-of-"+employer.OrganizationID] = true
	env.optedOut[employer.UserID] = true
	env.apply(newSeeker(), env.newListing(employer))

	_, err := env.StartExport(t.Context(), employer, hiring.ExportInput{Kind: "applications"})
	require.NoError(t, err)

	mails := env.sentMails()
	require.Len(t, mails, 1, "only the admin who has not opted out gets mail")
	require.Equal(t, "deputy-of-"+employer.OrganizationID+"@example.org", mails[0].To.Email)
	require.Contains(t, mails[0].Subject, "New application")
}

// TestInterview_OrganizationClosed_IsCancelled checks that the future interviews of an
// organization are cancelled when the organization closes, and that each applicant is notified
// once.
func TestInterview_OrganizationClosed_IsCancelled(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		employer, elsewhere := newEmployer(), newEmployer()

		const futureInterviews = 25 // more than one transaction of the module cancels
		var future []hiring.Application

		for range futureInterviews {
			application := env.apply(newSeeker(), env.newListing(employer))
			_, err := env.Schedule(t.Context(), employer, application.ID, interviewInput(march27))
			require.NoError(t, err)

			future = append(future, application)
		}

		// A past interview, and one of another organization, are not cancelled.
		past := env.apply(newSeeker(), env.newListing(employer))
		other := env.apply(newSeeker(), env.newListing(elsewhere))
		_, err := env.Schedule(t.Context(), employer, past.ID, interviewInput("2020-01-01T11:00:00Z"))
		require.NoError(t, err)

		_, err = env.Schedule(t.Context(), elsewhere, other.ID, interviewInput(march27))
		require.NoError(t, err)
		env.sentMails()

		closed := event.OrganizationClosed{OrganizationID: employer.OrganizationID}
		require.NoError(t, env.OnOrganizationClosed(t.Context(), closed))
		require.NoError(t, env.OnOrganizationClosed(t.Context(), closed), "events may be delivered twice")

		mails := env.sentMails()
		require.Len(t, mails, futureInterviews, "each future interview is cancelled once")
		require.Contains(t, mails[0].Subject, "Cancelled interview")
		require.True(t, mails[0].Invite.Cancelled)
		require.Empty(t, mails[0].ReplyTo.Email, "a cancellation without an employer has no reply address")
		require.Equal(t, hiring.Cancelled, env.received(employer, future[futureInterviews-1].ID).Interview.Status)
		require.Equal(t, hiring.Scheduled, env.received(employer, past.ID).Interview.Status, "past interviews are unchanged")
		require.Equal(t, hiring.Scheduled, env.received(elsewhere, other.ID).Interview.Status)
	})
}

// TestNextInterviews_SeveralScheduled_EarliestFirst checks the list of next interviews on the
// employer's start page. It has the future interviews that are not cancelled, the earliest
// first.
func TestNextInterviews_SeveralScheduled_EarliestFirst(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		employer := newEmployer(auth.ApplicationsView, auth.ApplicationsUpdate)
		listing := env.newListing(employer)
		schedule := func(at string) (applicationID string) {
			t.Helper()

			application := env.apply(newSeeker(), listing)
			_, err := env.Schedule(t.Context(), employer, application.ID, interviewInput(at))
			require.NoError(t, err)

			return application.ID
		}

		later := schedule("2099-03-03T10:00:00Z")
		sooner := schedule("2098-03-03T10:00:00Z")
		cancelled := schedule("2097-03-03T10:00:00Z")
		schedule("2020-03-03T10:00:00Z") // in the past

		_, err := env.Reschedule(t.Context(), employer, cancelled, hiring.AppointmentInput{Status: ptr(hiring.Cancelled)})
		require.NoError(t, err)

		const manyMore = 5 // than there are

		next, err := env.NextInterviews(t.Context(), employer, manyMore)
		require.NoError(t, err)
		require.Len(t, next, 2, "cancelled and past interviews are left out")
		require.Equal(t, sooner, next[0].ID)
		require.Equal(t, later, next[1].ID)

		const limit = 1

		limited, err := env.NextInterviews(t.Context(), employer, limit)
		require.NoError(t, err)
		require.Len(t, limited, limit)

		// Another organization has no interviews. A member who may not view applications is refused.
		none, err := env.NextInterviews(t.Context(), newEmployer(auth.ApplicationsView), manyMore)
		require.NoError(t, err)
		require.Empty(t, none)

		_, err = env.NextInterviews(t.Context(), newEmployer(auth.JobsUpdate), manyMore)
		require.ErrorIs(t, err, fault.ErrForbidden)
	})
}

// TestInterviewsByDate_SeveralStates_NextFirst checks the list of all interviews by date. The
// upcoming ones are first, in the order of their dates. The cancelled and past ones follow, the
// latest first. The list has pages and a filter by status.
func TestInterviewsByDate_SeveralStates_NextFirst(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		employer := newEmployer(auth.ApplicationsView, auth.ApplicationsUpdate)
		listing := env.newListing(employer)

		schedule := func(at string) (applicationID string) {
			t.Helper()

			application := env.apply(newSeeker(), listing)
			_, err := env.Schedule(t.Context(), employer, application.ID, interviewInput(at))
			require.NoError(t, err)

			return application.ID
		}

		// The clock of the test is in 2026, so that two interviews are in the past. One of the others is cancelled.
		in2019 := schedule("2019-03-03T10:00:00Z")
		in2099 := schedule("2099-03-03T10:00:00Z")
		in2097Cancelled := schedule("2097-03-03T10:00:00Z")
		in2098 := schedule("2098-03-03T10:00:00Z")
		in2020 := schedule("2020-03-03T10:00:00Z")

		cancellation := hiring.AppointmentInput{Status: ptr(hiring.Cancelled)}
		_, err := env.Reschedule(t.Context(), employer, in2097Cancelled, cancellation)
		require.NoError(t, err)

		// list returns the ids of the applications on a page.
		list := func(status hiring.InterviewStatus, request page.Request) (applicationIDs []string) {
			found, err := env.InterviewsByDate(t.Context(), employer, status, request)
			require.NoError(t, err)
			require.Empty(t, found.NextCursor, "this list has no cursors")

			for _, view := range found.Items {
				applicationIDs = append(applicationIDs, view.ID)
			}

			return applicationIDs
		}

		// All interviews, and those with a status.
		require.Equal(t, []string{in2098, in2099, in2097Cancelled, in2020, in2019}, list(anyStatus, firstPage))
		require.Equal(t, []string{in2098, in2099, in2020, in2019}, list(hiring.Scheduled, firstPage))

		// The pages after the first one, with two interviews each.
		require.Equal(t, []string{in2097Cancelled, in2020}, list(anyStatus, page.Request{Number: 2, Size: 2}))
		require.Equal(t, []string{in2019}, list(anyStatus, page.Request{Number: 3, Size: 2}))
		require.Empty(t, list(anyStatus, page.Request{Number: 4, Size: 2}))

		// An unknown status is refused, and so is a member who may not view applications.
		_, err = env.InterviewsByDate(t.Context(), employer, "lost", firstPage)
		require.Equal(t, fault.Invalid, fault.KindOf(err))

		_, err = env.InterviewsByDate(t.Context(), newEmployer(auth.JobsUpdate), anyStatus, firstPage)
		require.ErrorIs(t, err, fault.ErrForbidden)
	})
}

// TestFindReceived_Filters_SelectApplications checks the filters by status and by listing in the
// list of applications that an employer has received.
func TestFindReceived_Filters_SelectApplications(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		employer := newEmployer(auth.ApplicationsView, auth.ApplicationsUpdate)
		listing, otherListing := env.newListing(employer), env.newListing(employer)
		reviewed, pending := env.apply(newSeeker(), listing), env.apply(newSeeker(), listing)
		env.apply(newSeeker(), otherListing)
		require.NoError(t, env.setStatus(employer, reviewed.ID, "review"))

		// Each filter selects one of the three applications.
		for _, test := range []struct {
			filter hiring.StatsInput
			wantID string
		}{
			{filter: hiring.StatsInput{Status: "review"}, wantID: reviewed.ID},
			{filter: hiring.StatsInput{Status: "pending", JobID: listing}, wantID: pending.ID},
		} {
			found, err := env.FindReceived(t.Context(), employer, test.filter, firstPageWithoutTotal)
			require.NoError(t, err, "%+v", test.filter)
			require.Len(t, found.Items, 1, "%+v", test.filter)
			require.Equal(t, test.wantID, found.Items[0].ID, "%+v", test.filter)
		}

		_, err := env.FindReceived(t.Context(), employer, hiring.StatsInput{Status: "eternal"}, firstPageWithoutTotal)
		require.ErrorIs(t, err, hiring.ErrInvalidStatus)

		_, err = env.FindReceived(t.Context(), newEmployer(auth.JobsUpdate), hiring.StatsInput{}, firstPageWithoutTotal)
		require.ErrorIs(t, err, fault.ErrForbidden)
	})
}

// TestScheduleAndMove_InvalidTime_ChangesNothing checks ScheduleAndMove, with which a form of
// the site schedules an interview and sets the status of the application to "interviewing". A
// time in the past is refused (RequireFuture), and the status does not change either. The
// unchanged time of an interview that has taken place is accepted.
func TestScheduleAndMove_InvalidTime_ChangesNothing(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		employer := newEmployer()
		application := env.apply(newSeeker(), env.newListing(employer))
		input := interviewInput(env.clock.Now().Add(-time.Minute).Format(time.RFC3339))
		input.RequireFuture = true

		// A time in the past is refused.
		err := env.ScheduleAndMove(t.Context(), employer, application.ID, input)
		require.Equal(t, "scheduledAt", fault.Of(err).Fields[0].Name)
		require.Equal(t, hiring.Pending, env.received(employer, application.ID).Status)

		// A time in the future is accepted.
		soon := env.clock.Now().Add(time.Hour).Truncate(time.Minute).Format(time.RFC3339)
		input.ScheduledAt = &soon

		err = env.ScheduleAndMove(t.Context(), newEmployer(auth.ApplicationsView), application.ID, input)
		require.ErrorIs(t, err, fault.ErrForbidden)
		require.NoError(t, env.ScheduleAndMove(t.Context(), employer, application.ID, input))
		require.Equal(t, hiring.Interviewing, env.received(employer, application.ID).Status)

		// After the interview has taken place, the form repeats its time.
		env.clock.Advance(2 * time.Hour)

		input.Notes = ptr("went well")
		_, err = env.Reschedule(t.Context(), employer, application.ID, input)
		require.NoError(t, err, "the time of a past interview is unchanged")

		_, err = env.Schedule(t.Context(), employer, application.ID, input)
		require.NoError(t, err, "nothing changes for the applicant")
	})
}
