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

// interviewInput returns the input of an interview at the time, in Ward 3 with Dr. Byrne.
func interviewInput(at string) hiring.AppointmentInput {
	return hiring.AppointmentInput{ScheduledAt: &at, Location: ptr("Ward 3"), Interviewer: ptr("Dr. Byrne")}
}

// to returns a pointer to v.
func to[T any](v T) *T { return &v }

// TestInterview_Changed_NotifiesApplicantWithSequence checks which changes notify the
// applicant: those of time, place and status do, with the next sequence number, by which
// calendars recognize the newest invitation (RFC 5545 §3.8.7.4); notes and outcomes do not.
func TestInterview_Changed_NotifiesApplicantWithSequence(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		ann, st := seeker(), employer()
		application := env.apply(ann, env.newListing(st))
		env.recordedEvents()

		appointment, err := env.Schedule(t.Context(), st, strings.ToUpper(application.ID), interviewInput("2027-03-27T11:00:00+01:00"))
		require.NoError(t, err)
		require.Equal(t, time.Date(2027, 3, 27, 10, 0, 0, 0, time.UTC), appointment.ScheduledAt)
		require.Equal(t, hiring.Scheduled, appointment.Status)
		require.Equal(t, hiring.Undecided, appointment.Outcome)
		require.Equal(t, []string{"interview scheduled 0"}, env.recordedEvents())

		// change changes the interview and requires the recorded events.
		change := func(want []string, in hiring.AppointmentInput) hiring.Appointment {
			t.Helper()
			env.clock.Advance(time.Minute)
			next, err := env.Reschedule(t.Context(), st, application.ID, in)
			require.NoError(t, err)
			require.Equal(t, appointment.ID, next.ID)
			require.Equal(t, want, env.recordedEvents())
			return next
		}
		same := change(nil, hiring.AppointmentInput{Location: ptr("Ward 3")})
		require.Equal(t, appointment, same, "unchanged input records no change")
		change(nil, hiring.AppointmentInput{Notes: ptr("kind")})
		change([]string{"interview moved 1"}, hiring.AppointmentInput{Location: ptr("Ward 4")})
		// 10:00 +02:00 is the next day in UTC, so that the time has changed.
		change([]string{"interview moved 2"}, interviewInput("2027-03-28T10:00:00+02:00"))
		change([]string{"interview cancelled 3"}, hiring.AppointmentInput{Status: to(hiring.Cancelled)})
		change(nil, hiring.AppointmentInput{Location: ptr("nowhere")}) // the interview is cancelled
		change([]string{"interview scheduled 4"}, hiring.AppointmentInput{Status: to(hiring.Scheduled)})
		done := change(nil, hiring.AppointmentInput{Status: to(hiring.Completed), Outcome: to(hiring.Pass)})
		require.Equal(t, hiring.Pass, done.Outcome)

		again, err := env.Schedule(t.Context(), st, application.ID, interviewInput("2027-04-01T09:00:00Z"))
		require.NoError(t, err)
		require.Equal(t, appointment.ID, again.ID, "an application has one interview")
		require.Equal(t, "kind", again.Notes)
		require.Equal(t, hiring.Undecided, again.Outcome)
		require.Equal(t, []string{"interview scheduled 5"}, env.recordedEvents())
		require.Equal(t, again, *env.received(st, application.ID).Interview)
		require.Equal(t, hiring.Pending, env.received(st, application.ID).Status, "an interview is not a decision")
	})
}

// TestInterview_ApplicationWithdrawn_IsCancelled checks that a withdrawal cancels the interview
// and removes it from the applicant's calendar. The employer can still add notes.
func TestInterview_ApplicationWithdrawn_IsCancelled(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		ann, st := seeker(), employer()
		application := env.apply(ann, env.newListing(st))
		_, err := env.Schedule(t.Context(), st, application.ID, interviewInput("2027-03-27T11:00:00Z"))
		require.NoError(t, err)
		env.sentMails()
		require.NoError(t, env.Withdraw(t.Context(), ann, application.ID))
		got := slices.DeleteFunc(env.sentMails(), func(m mail.Message) bool { return m.To.Email != ann.UserID+"@example.org" })
		require.Len(t, got, 1, "the applicant's own withdrawal sends the applicant only the calendar update")
		require.True(t, got[0].Invite.Cancelled)
		require.Equal(t, 1, got[0].Invite.Sequence)
		require.Contains(t, got[0].Text, "since you withdrew")
		require.Zero(t, got[0].ReplyTo, "the mail to the sender has no reply address")
		require.Equal(t, hiring.Cancelled, env.received(st, application.ID).Interview.Status)

		_, err = env.Schedule(t.Context(), st, application.ID, interviewInput("2027-03-27T11:00:00Z"))
		require.ErrorIs(t, err, hiring.ErrWithdrawn)
		_, err = env.Reschedule(t.Context(), st, application.ID, hiring.AppointmentInput{Status: to(hiring.Scheduled)})
		require.ErrorIs(t, err, hiring.ErrWithdrawn)
		_, err = env.Reschedule(t.Context(), st, application.ID, hiring.AppointmentInput{Notes: ptr("a pity")})
		require.NoError(t, err)
	})
}

// TestInterview_InvalidInput_EachFieldIsNamed checks that a time needs an offset, because the
// applicant may live in another time zone. The suffixes _ and . only make the keys different.
func TestInterview_InvalidInput_EachFieldIsNamed(t *testing.T) {
	t.Parallel()
	env := newTestEnv(t, stores.SQLite)
	st := employer()
	application := env.apply(seeker(), env.newListing(st))
	for field, in := range map[string]hiring.AppointmentInput{
		"scheduledAt":  {Location: ptr("x"), Interviewer: ptr("y")},
		"location":     {ScheduledAt: ptr("2027-03-27T11:00:00Z"), Location: ptr(" "), Interviewer: ptr("y")},
		"interviewer":  {ScheduledAt: ptr("2027-03-27T11:00:00Z"), Location: ptr("x")},
		"scheduledAt_": interviewInput("2027-03-27T11:00:00"),
		"scheduledAt.": interviewInput("tomorrow"),
		"location.":    {ScheduledAt: ptr("2027-03-27T11:00:00Z"), Location: ptr(strings.Repeat("é", 501)), Interviewer: ptr("y")},
	} {
		_, err := env.Schedule(t.Context(), st, application.ID, in)
		require.Equal(t, strings.Trim(field, "_."), fault.Of(err).Fields[0].Name, field)
	}
	for _, in := range []hiring.AppointmentInput{
		{Status: to(hiring.InterviewStatus("later"))},
		{Outcome: to(hiring.Outcome("maybe"))},
		{Notes: ptr(strings.Repeat("x", 5001))},
	} {
		_, err := env.Schedule(t.Context(), st, application.ID, interviewInput("2027-03-27T11:00:00Z"))
		require.NoError(t, err)
		_, err = env.Reschedule(t.Context(), st, application.ID, in)
		require.ErrorIs(t, err, fault.ErrInvalid)
	}
}

// TestInterview_OtherOrganizationOrNoPermission_Refused checks that other organizations do not
// learn whether an application has an interview, and that members without the permission only
// read.
func TestInterview_OtherOrganizationOrNoPermission_Refused(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		st, other := employer(), employer()
		viewer := employer(auth.ApplicationsView)
		viewer.OrganizationID = st.OrganizationID
		application := env.apply(seeker(), env.newListing(st))
		_, err := env.Reschedule(t.Context(), st, application.ID, hiring.AppointmentInput{Notes: ptr("x")})
		require.ErrorIs(t, err, hiring.ErrInterviewNotFound)
		for who, want := range map[*auth.Actor]error{&other: hiring.ErrNotFound, &viewer: fault.ErrForbidden} {
			_, err := env.Schedule(t.Context(), *who, application.ID, interviewInput("2027-03-27T11:00:00Z"))
			require.ErrorIs(t, err, want)
			_, err = env.Schedule(t.Context(), viewer, application.ID, hiring.AppointmentInput{})
			require.ErrorIs(t, err, fault.ErrForbidden, "permissions are checked before the input")
			_, err = env.Reschedule(t.Context(), *who, application.ID, hiring.AppointmentInput{Notes: ptr("x")})
			require.ErrorIs(t, err, want)
			_, err = env.Contact(t.Context(), *who, application.ID, hiring.ContactInput{Subject: "x", Message: "y"})
			require.ErrorIs(t, err, want)
		}
		_, err = env.Schedule(t.Context(), st, application.ID, interviewInput("2027-03-27T11:00:00Z"))
		require.NoError(t, err)
		none, err := env.Interviews(t.Context(), other, "", firstPage)
		require.NoError(t, err)
		require.Empty(t, none.Items)
		all, err := env.Interviews(t.Context(), viewer, hiring.Scheduled, firstPage)
		require.NoError(t, err)
		require.Equal(t, 1, all.Total)
		require.Equal(t, application.ID, all.Items[0].ID)
		require.NotEmpty(t, all.Items[0].Applicant.Email)
		_, err = env.Interviews(t.Context(), seeker(), "", firstPage)
		require.ErrorIs(t, err, fault.ErrForbidden)
		_, err = env.Interviews(t.Context(), st, "lost", firstPage)
		require.ErrorIs(t, err, fault.ErrInvalid)
	})
}

// TestInterview_ScheduledConcurrently_OneRemains checks that concurrent requests change the
// same interview one after the other, so that each sequence number is used once.
func TestInterview_ScheduledConcurrently_OneRemains(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		st := employer()
		a := env.apply(seeker(), env.newListing(st))
		env.recordedEvents()
		var all sync.WaitGroup
		for n := range 8 {
			all.Go(func() {
				_, err := env.Schedule(t.Context(), st, a.ID, interviewInput(fmt.Sprintf("2027-03-27T%02d:00:00Z", n)))
				require.NoError(t, err)
			})
		}
		all.Wait()
		told := env.recordedEvents()
		require.Len(t, told, 8)
		for n, said := range told {
			require.Contains(t, said, fmt.Sprint(" ", n))
		}
	})
}

// TestMails_Hiring checks the recipients and contents of the e-mails about an application, a
// decision, a message and an interview. They do not disclose the applicant's address, and a
// message is quoted as text.
func TestMails_Hiring(t *testing.T) {
	t.Parallel()
	env := newTestEnv(t, stores.SQLite)
	ann, st := seeker(), employer()
	job := env.newListing(st)
	application := env.apply(ann, job)
	got := env.sentMails()
	require.Len(t, got, 2, "both admins get a message")
	require.Equal(t, "New application: Title of "+job, got[0].Subject)
	require.Contains(t, got[0].Text, "Name of "+ann.UserID)
	require.NotContains(t, got[0].Text, "@example.org", "the message does not contain the address")
	require.NotEqual(t, got[0].To, got[1].To)

	require.NoError(t, env.setStatus(st, application.ID, "review"))
	require.NoError(t, env.setStatus(st, application.ID, "review"))
	require.ErrorIs(t, env.setStatus(st, application.ID, "lost"), hiring.ErrInvalidStatus)
	got = env.sentMails()
	require.Len(t, got, 1)
	require.Equal(t, ann.UserID+"@example.org", got[0].To.Email)
	require.Contains(t, got[0].Text, "It is now: in review")
	require.NotEmpty(t, got[0].HTML)

	address, err := env.Contact(t.Context(), st, application.ID,
		hiring.ContactInput{Subject: " Your papers ", Message: "Please send them.\n<b>Soon</b>"})
	require.NoError(t, err)
	require.Equal(t, ann.UserID+"@example.org", address)
	got = env.sentMails()
	require.Len(t, got, 1)
	require.Equal(t, "Your papers", got[0].Subject)
	require.Equal(t, mail.Address{Name: "Name of " + st.UserID, Email: st.UserID + "@example.org"}, got[0].ReplyTo)
	require.Contains(t, got[0].Text, "> Please send them.\n> <b>Soon</b>")
	require.NotContains(t, got[0].HTML, "<b>")

	_, err = env.Schedule(t.Context(), st, application.ID, interviewInput("2027-03-27T11:00:00Z"))
	require.NoError(t, err)
	_, err = env.Reschedule(t.Context(), st, application.ID, hiring.AppointmentInput{Status: to(hiring.Cancelled)})
	require.NoError(t, err)
	got = env.sentMails()
	require.Len(t, got, 2)
	first, second := got[0].Invite, got[1].Invite
	require.Equal(t, first.UID, second.UID)
	require.Equal(t, []any{0, false, 1, true}, []any{first.Sequence, first.Cancelled, second.Sequence, second.Cancelled})
	require.Equal(t, time.Hour, first.End.Sub(first.Start))
	require.Equal(t, mail.Address{Name: "Name of " + st.UserID, Email: st.UserID + "@example.org"}, got[0].ReplyTo)
	require.Contains(t, got[1].Text, "takes this out of your calendar")
	sent, err := env.SentMessages(t.Context(), st, application.ID)
	require.NoError(t, err)
	require.Len(t, sent, 1)
	require.Equal(t, "Name of "+st.UserID, sent[0].Sender)
	_, err = env.SentMessages(t.Context(), employer(), application.ID)
	require.ErrorIs(t, err, hiring.ErrNotFound)
	_, err = env.SentMessages(t.Context(), employer(auth.JobsCreate), application.ID)
	require.ErrorIs(t, err, fault.ErrForbidden)
	require.Contains(t, got[0].Text, "When: Saturday, 27 March 2027, 11:00 UTC")

	env.deletedUsers[ann.UserID] = true
	require.NoError(t, env.setStatus(st, application.ID, "accepted"))
	_, err = env.Contact(t.Context(), st, application.ID, hiring.ContactInput{Subject: "x", Message: "y"})
	require.ErrorIs(t, err, hiring.ErrNotFound)
	require.Empty(t, env.sentMails(), "deleted users get no mail")
}

// TestInterview_DailyNotices_AreLimited checks that an employer can send an applicant 20
// notices of scheduled and moved interviews in a day. Cancelling stays possible, because the
// applicant would otherwise come in vain.
func TestInterview_DailyNotices_AreLimited(t *testing.T) {
	t.Parallel()
	env := newTestEnv(t, stores.SQLite)
	st := employer()
	listing := env.newListing(st)
	application, other := env.apply(seeker(), listing), env.apply(seeker(), listing)
	_, err := env.Schedule(t.Context(), st, application.ID, interviewInput("2027-03-27T11:00:00Z"))
	require.NoError(t, err)
	move := func(n int) error {
		_, err := env.Reschedule(t.Context(), st, application.ID, hiring.AppointmentInput{Location: ptr(fmt.Sprintf("Ward %d", 10+n))})
		return err
	}
	for n := range 19 {
		require.NoError(t, move(n))
	}
	require.NoError(t, move(18), "a change without a notice does not count")
	env.recordedEvents()
	err = move(19)
	require.ErrorIs(t, err, fault.ErrRateLimit)
	require.Positive(t, fault.Of(err).RetryAfter)
	require.Equal(t, "Ward 28", env.received(st, application.ID).Interview.Location)
	_, err = env.Reschedule(t.Context(), st, application.ID, hiring.AppointmentInput{Notes: ptr("kind"), Status: to(hiring.Cancelled)})
	require.NoError(t, err, "interviews can be cancelled")
	_, err = env.Schedule(t.Context(), st, application.ID, interviewInput("2027-03-27T11:00:00Z"))
	require.ErrorIs(t, err, fault.ErrRateLimit)
	require.Equal(t, []string{"interview cancelled 20"}, env.recordedEvents())
	_, err = env.Schedule(t.Context(), st, other.ID, interviewInput("2027-03-27T11:00:00Z"))
	require.NoError(t, err, "another application")
	env.clock.Advance(24*time.Hour + time.Second)
	_, err = env.Schedule(t.Context(), st, application.ID, interviewInput("2027-03-27T11:00:00Z"))
	require.NoError(t, err)
}

// TestMails_AlertsOff_SendsNoNews checks that members who have turned off alerts get neither
// news of applications nor of exports.
func TestMails_AlertsOff_SendsNoNews(t *testing.T) {
	t.Parallel()
	env := newTestEnv(t, stores.SQLite)
	st := employer()
	env.optedOut["boss-of-"+st.OrganizationID], env.optedOut[st.UserID] = true, true
	env.apply(seeker(), env.newListing(st))
	_, err := env.StartExport(t.Context(), st, hiring.ExportInput{Kind: "applications"})
	require.NoError(t, err)
	mails := env.sentMails()
	require.Len(t, mails, 1, "only the admin who has not opted out gets mail")
	require.Equal(t, "deputy-of-"+st.OrganizationID+"@example.org", mails[0].To.Email)
	require.Contains(t, mails[0].Subject, "New application")
}

// TestInterview_OrganizationClosed_IsCancelled checks that applicants are notified that a
// closed organization will not meet them.
func TestInterview_OrganizationClosed_IsCancelled(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		st, elsewhere := employer(), employer()
		var applied []hiring.Application
		for range 25 { // more than one transaction takes
			a := env.apply(seeker(), env.newListing(st))
			_, err := env.Schedule(t.Context(), st, a.ID, interviewInput("2027-03-27T11:00:00Z"))
			require.NoError(t, err)
			applied = append(applied, a)
		}
		past := env.apply(seeker(), env.newListing(st))
		other := env.apply(seeker(), env.newListing(elsewhere))
		_, err := env.Schedule(t.Context(), st, past.ID, interviewInput("2020-01-01T11:00:00Z"))
		require.NoError(t, err)
		_, err = env.Schedule(t.Context(), elsewhere, other.ID, interviewInput("2027-03-27T11:00:00Z"))
		require.NoError(t, err)
		env.sentMails()

		for range 2 {
			require.NoError(t, env.OnOrganizationClosed(t.Context(), event.OrganizationClosed{OrganizationID: st.OrganizationID}))
		}
		mails := env.sentMails()
		require.Len(t, mails, 25, "each future interview is cancelled once")
		require.Contains(t, mails[0].Subject, "Cancelled interview")
		require.True(t, mails[0].Invite.Cancelled)
		require.Empty(t, mails[0].ReplyTo.Email, "a cancellation without an employer has no reply address")
		require.Equal(t, hiring.Cancelled, env.received(st, applied[24].ID).Interview.Status)
		require.Equal(t, hiring.Scheduled, env.received(st, past.ID).Interview.Status, "past interviews are unchanged")
		require.Equal(t, hiring.Scheduled, env.received(elsewhere, other.ID).Interview.Status)
	})
}

// TestNextInterviews_SeveralScheduled_EarliestFirst checks the list on the employer's start
// page: future interviews that are scheduled.
func TestNextInterviews_SeveralScheduled_EarliestFirst(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		e := employer(auth.ApplicationsView, auth.ApplicationsUpdate)
		listing := env.newListing(e)
		var ids []string
		for _, at := range []string{"2099-03-03T10:00:00Z", "2098-03-03T10:00:00Z", "2097-03-03T10:00:00Z", "2020-03-03T10:00:00Z"} {
			a := env.apply(seeker(), listing)
			_, err := env.Schedule(t.Context(), e, a.ID, interviewInput(at))
			require.NoError(t, err)
			ids = append(ids, a.ID)
		}
		_, err := env.Reschedule(t.Context(), e, ids[2], hiring.AppointmentInput{Status: to(hiring.Cancelled)})
		require.NoError(t, err)
		next, err := env.NextInterviews(t.Context(), e, 5)
		require.NoError(t, err)
		require.Equal(t, []string{ids[1], ids[0]}, []string{next[0].ID, next[1].ID})
		require.Len(t, next, 2, "cancelled and past interviews are left out")
		one, err := env.NextInterviews(t.Context(), e, 1)
		require.NoError(t, err)
		require.Len(t, one, 1)
		none, err := env.NextInterviews(t.Context(), employer(auth.ApplicationsView), 5)
		require.NoError(t, err)
		require.Empty(t, none)
		_, err = env.NextInterviews(t.Context(), employer(auth.JobsUpdate), 5)
		require.ErrorIs(t, err, fault.ErrForbidden)
	})
}

// TestFindReceived_Filters_SelectApplications checks the filters by status and by listing.
func TestFindReceived_Filters_SelectApplications(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		e := employer(auth.ApplicationsView, auth.ApplicationsUpdate)
		one, other := env.newListing(e), env.newListing(e)
		first, second := env.apply(seeker(), one), env.apply(seeker(), one)
		env.apply(seeker(), other)
		require.NoError(t, env.setStatus(e, first.ID, "review"))
		for want, in := range map[string]hiring.StatsInput{first.ID: {Status: "review"}, second.ID: {Status: "pending", JobID: one}} {
			found, err := env.FindReceived(t.Context(), e, in, page.After("", 10))
			require.NoError(t, err)
			require.Len(t, found.Items, 1)
			require.Equal(t, want, found.Items[0].ID)
		}
		_, err := env.FindReceived(t.Context(), e, hiring.StatsInput{Status: "eternal"}, page.After("", 10))
		require.ErrorIs(t, err, hiring.ErrInvalidStatus)
		_, err = env.FindReceived(t.Context(), employer(auth.JobsUpdate), hiring.StatsInput{}, page.After("", 10))
		require.ErrorIs(t, err, fault.ErrForbidden)
	})
}

// TestScheduleAndMove_InvalidTime_ChangesNothing checks that the form of the site refuses a
// time in the past together with the change of the status, but accepts the unchanged time of an
// interview that has taken place.
func TestScheduleAndMove_InvalidTime_ChangesNothing(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		e := employer()
		application := env.apply(seeker(), env.newListing(e))
		in := interviewInput(env.clock.Now().Add(-time.Minute).Format(time.RFC3339))
		in.RequireFuture = true
		err := env.ScheduleAndMove(t.Context(), e, application.ID, in)
		require.Equal(t, "scheduledAt", fault.Of(err).Fields[0].Name)
		require.Equal(t, hiring.Pending, env.received(e, application.ID).Status)
		soon := env.clock.Now().Add(time.Hour).Truncate(time.Minute).Format(time.RFC3339)
		in.ScheduledAt = &soon
		require.ErrorIs(t, env.ScheduleAndMove(t.Context(), employer(auth.ApplicationsView), application.ID, in), fault.ErrForbidden)
		require.NoError(t, env.ScheduleAndMove(t.Context(), e, application.ID, in))
		require.Equal(t, hiring.Interview, env.received(e, application.ID).Status)

		env.clock.Advance(2 * time.Hour)
		in.Notes = ptr("went well")
		_, err = env.Reschedule(t.Context(), e, application.ID, in)
		require.NoError(t, err, "the time of a past interview is unchanged")
		_, err = env.Schedule(t.Context(), e, application.ID, in)
		require.NoError(t, err, "nothing changes for the applicant")
	})
}
