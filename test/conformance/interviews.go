package conformance

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/modules/hiring"
)

// schedule stores an application and its interview.
func schedule(
	t testing.TB, storage adapters.HiringStorage, organization string, status hiring.InterviewStatus, at time.Time,
) hiring.Appointment {
	t.Helper()

	application := apply(t, storage, organization, newID(), at)

	// The texts contain quotes and letters beyond ASCII, or only white space: storages return them unchanged.
	appointment := hiring.Appointment{
		ID:             newID(),
		ApplicationID:  application.ID,
		OrganizationID: organization,
		ScheduledAt:    at,
		Location:       "Zoë's \"ward\"",
		Interviewer:    "é",
		Notes:          "\n",
		Status:         status,
		Outcome:        hiring.Undecided,
		CreatedAt:      at,
		ChangedAt:      at,
	}
	require.NoError(t, storage.Appointments.Upsert(context.Background(), appointment))

	return appointment
}

// Appointments checks the port hiring.Appointments.
func Appointments(t *testing.T, open HiringOpener) {
	ctx := context.Background()
	list := func(t *testing.T, storage adapters.HiringStorage, organization string,
		filter hiring.AppointmentFilter) []hiring.Appointment {
		t.Helper()

		return listAllPages(t, 3, func(request page.Request) (page.Result[hiring.Appointment], error) {
			return storage.Appointments.List(ctx, organization, filter, request)
		})
	}

	// An update changes each field but the ids and the time of the creation.
	t.Run("create and update", func(t *testing.T) {
		storage, now := openHiring(t, open)
		appointment := schedule(t, storage, newID(), hiring.Scheduled, now)
		byApplication := hiring.AppointmentFilter{ApplicationIDs: []string{appointment.ApplicationID, newID()}}
		require.Equal(t, []hiring.Appointment{appointment}, list(t, storage, appointment.OrganizationID, byApplication))

		appointment.Status = hiring.Completed
		appointment.Outcome = hiring.Fail
		appointment.Sequence = 3
		appointment.ScheduledAt = now.Add(24 * time.Hour)
		appointment.Location = "x"
		appointment.Interviewer = "y"
		appointment.Notes = ""
		appointment.ChangedAt = now.Add(time.Minute)

		// The second update, which changes nothing, succeeds, too.
		for range 2 {
			require.NoError(t, storage.Appointments.Upsert(ctx, appointment))
			require.Equal(t, []hiring.Appointment{appointment},
				list(t, storage, appointment.OrganizationID, byApplication))
		}
	})

	// An upsert cannot move an interview to another organization, and it cannot add a second interview to an
	// application.
	t.Run("one per application, other owner", func(t *testing.T) {
		storage, now := openHiring(t, open)
		appointment := schedule(t, storage, newID(), hiring.Scheduled, now)

		foreign := appointment
		foreign.OrganizationID, foreign.Location = newID(), "theirs"
		require.Error(t, storage.Appointments.Upsert(ctx, foreign), "an interview of another organization")

		second := appointment
		second.ID = newID()
		require.Error(t, storage.Appointments.Upsert(ctx, second), "the application has an interview")

		// The first interview is unchanged.
		require.Empty(t, list(t, storage, foreign.OrganizationID,
			hiring.AppointmentFilter{ApplicationIDs: []string{appointment.ApplicationID}}))
		require.Equal(t, []hiring.Appointment{appointment},
			list(t, storage, appointment.OrganizationID, hiring.AppointmentFilter{}))
	})

	// The filters find interviews of one organization. Lists begin with the interview that was created last.
	t.Run("filters", func(t *testing.T) {
		storage, now := openHiring(t, open)
		org := newID()

		// Five interviews are an hour apart. The first, third and fifth one are cancelled.
		first := schedule(t, storage, org, hiring.Cancelled, now)
		second := schedule(t, storage, org, hiring.Scheduled, now.Add(time.Hour))
		third := schedule(t, storage, org, hiring.Cancelled, now.Add(2*time.Hour))
		fourth := schedule(t, storage, org, hiring.Scheduled, now.Add(3*time.Hour))
		fifth := schedule(t, storage, org, hiring.Cancelled, now.Add(4*time.Hour))
		schedule(t, storage, newID(), hiring.Scheduled, now.Add(time.Hour)) // of another organization

		for condition, test := range map[string]struct {
			filter hiring.AppointmentFilter
			want   []hiring.Appointment
		}{
			"none": {want: []hiring.Appointment{fifth, fourth, third, second, first}},
			"status": {
				filter: hiring.AppointmentFilter{Status: hiring.Cancelled},
				want:   []hiring.Appointment{fifth, third, first},
			},
			"time, which is excluded": {
				filter: hiring.AppointmentFilter{ScheduledAfter: fourth.ScheduledAt},
				want:   []hiring.Appointment{fifth},
			},
			"status and time": {
				filter: hiring.AppointmentFilter{Status: hiring.Scheduled, ScheduledAfter: third.ScheduledAt},
				want:   []hiring.Appointment{fourth},
			},
			"applications, one of which does not exist": {
				filter: hiring.AppointmentFilter{ApplicationIDs: []string{second.ApplicationID, fourth.ApplicationID, newID()}},
				want:   []hiring.Appointment{fourth, second},
			},
		} {
			require.Equal(t, test.want, list(t, storage, org, test.filter), condition)
		}
	})
}

// Messages checks the port hiring.Messages.
func Messages(t *testing.T, open HiringOpener) {
	ctx := context.Background()

	// A message belongs to one application of one organization: it is neither read nor listed with another id.
	// The messages of an application are listed newest first, up to a limit.
	t.Run("create and get", func(t *testing.T) {
		storage, now := openHiring(t, open)
		application := apply(t, storage, newID(), newID(), now)
		message := hiring.Message{
			ID:             newID(),
			ApplicationID:  application.ID,
			OrganizationID: application.OrganizationID,
			SenderID:       newID(),
			Subject:        "é",
			Text:           "a\nb",
			SentAt:         now,
		}
		require.NoError(t, storage.Messages.Create(ctx, message))

		got, err := storage.Messages.Get(ctx, application.OrganizationID, message.ID)
		require.NoError(t, err)
		require.Equal(t, message, got)

		// Get needs the right organization and the right id.
		for _, other := range []struct{ organization, id string }{
			{organization: newID(), id: message.ID},
			{organization: application.OrganizationID, id: newID()},
		} {
			_, err = storage.Messages.Get(ctx, other.organization, other.id)
			require.ErrorIs(t, err, hiring.ErrNotFound)
		}

		// The second message is the first of the list.
		second := message
		second.ID = newID()
		require.NoError(t, storage.Messages.Create(ctx, second))

		for limit, want := range map[int][]hiring.Message{1: {second}, 5: {second, message}} {
			sent, err := storage.Messages.List(ctx, application.OrganizationID, application.ID, limit)
			require.NoError(t, err)
			require.Equal(t, want, sent)
		}

		// List needs the right organization and the right application.
		for _, other := range []struct{ organization, application string }{
			{organization: newID(), application: application.ID},
			{organization: application.OrganizationID, application: newID()},
		} {
			sent, err := storage.Messages.List(ctx, other.organization, other.application, wholeList)
			require.NoError(t, err)
			require.Empty(t, sent)
		}
	})
}

// newExport returns an export in the state. An export that is done or has failed is finished at the time at.
func newExport(organization, kind string, state hiring.ExportState, at time.Time) hiring.Export {
	export := hiring.Export{
		ID:             newID(),
		OrganizationID: organization,
		UserID:         newID(),
		Kind:           kind,
		Filters:        map[string]string{"status": "é"},
		State:          state,
		CreatedAt:      at,
	}
	if state == hiring.ExportDone || state == hiring.ExportFailed {
		export.FinishedAt = &at
	}

	return export
}

// Exports checks the port hiring.Exports.
func Exports(t *testing.T, open HiringOpener) {
	// The port is optional: a storage without exports skips the tests.
	open = withPort(open, "Exports", func(s adapters.HiringStorage) any { return s.Exports })
	ctx := context.Background()
	const limit = 5 // of unfinished exports of an organization
	create := func(t *testing.T, storage adapters.HiringStorage, export hiring.Export) hiring.Export {
		t.Helper()
		require.NoError(t, storage.Exports.Create(ctx, export, limit))
		return export
	}

	list := func(t *testing.T, storage adapters.HiringStorage, filter hiring.ExportFilter) []hiring.Export {
		t.Helper()

		found, err := storage.Exports.List(ctx, filter, wholeList)
		require.NoError(t, err)

		return found
	}

	// A completed export does not change any more, so that a worker that has lost its task
	// cannot overwrite the result. An update cannot move an export to another organization.
	t.Run("create, update, delete", func(t *testing.T) {
		storage, now := openHiring(t, open)

		// An export is queued, then running, and completed at the end. The worker reports twice that it is running.
		export := create(t, storage, newExport(newID(), "jobs", hiring.ExportQueued, now))
		for _, state := range []hiring.ExportState{hiring.ExportRunning, hiring.ExportRunning, hiring.ExportDone} {
			export.State = state
			if state == hiring.ExportDone {
				export.RowsDone = 3
				export.RowsTotal = 4
				export.FinishedAt = &now
			}

			require.NoError(t, storage.Exports.Update(ctx, export))

			got, err := storage.Exports.Get(ctx, export.OrganizationID, export.ID)
			require.NoError(t, err)
			require.Equal(t, export, got)
		}

		otherOrganization := newID()
		_, err := storage.Exports.Get(ctx, otherOrganization, export.ID)
		require.ErrorIs(t, err, hiring.ErrExportNotFound)

		// A late report, by a worker that has lost its task, changes nothing.
		late := export
		late.State, late.FinishedAt = hiring.ExportRunning, nil
		require.Error(t, storage.Exports.Update(ctx, late), "the export is completed")

		// An export of another organization cannot be moved.
		foreign := create(t, storage, newExport(otherOrganization, "jobs", hiring.ExportQueued, now))
		stolen := foreign
		stolen.OrganizationID = export.OrganizationID
		require.Error(t, storage.Exports.Update(ctx, stolen), "the organization of an export cannot change")

		// Delete deletes the given exports only. It ignores unknown ids.
		require.NoError(t, storage.Exports.Delete(ctx, nil))
		require.NoError(t, storage.Exports.Delete(ctx, []string{export.ID, newID()}))

		_, err = storage.Exports.Get(ctx, export.OrganizationID, export.ID)
		require.ErrorIs(t, err, hiring.ErrExportNotFound)
		require.Equal(t, []hiring.Export{foreign}, list(t, storage, hiring.ExportFilter{}))
	})

	// Only the unfinished exports of the organization count towards the limit. Finished exports do not
	// count, nor does an export of another organization.
	t.Run("limit", func(t *testing.T) {
		storage, now := openHiring(t, open)
		org := newID()
		create(t, storage, newExport(newID(), "jobs", hiring.ExportQueued, now)) // of another organization

		for range limit {
			create(t, storage, newExport(org, "jobs", hiring.ExportDone, now))
			create(t, storage, newExport(org, "jobs", hiring.ExportRunning, now))
		}

		require.ErrorIs(t, storage.Exports.Create(ctx, newExport(org, "jobs", hiring.ExportQueued, now), limit),
			hiring.ErrTooManyExports)
	})

	// Of twelve concurrent exports of an organization, as many as the limit are created. There are ten rounds,
	// because the first one opens the connections of the database: its calls are less concurrent.
	t.Run("limit, concurrently", func(t *testing.T) {
		storage, now := openHiring(t, open)
		for range 10 {
			org := newID()
			created := countConcurrent(t, 12, func(int) (isCreated bool, err error) {
				err = storage.Tx.Do(ctx, func(ctx context.Context) error {
					return storage.Exports.Create(ctx, newExport(org, "jobs", hiring.ExportQueued, now), limit)
				})
				if errors.Is(err, hiring.ErrTooManyExports) {
					return false, nil
				}

				return err == nil, err
			})
			require.Equal(t, limit, created)
		}
	})

	// An export is found if it matches all conditions of the filter. The time CreatedBefore itself does not match.
	t.Run("filters", func(t *testing.T) {
		storage, now := openHiring(t, open)
		org := newID()
		queued := create(t, storage, newExport(org, "applications", hiring.ExportQueued, now))
		running := create(t, storage, newExport(org, "applications", hiring.ExportRunning, now))
		done := create(t, storage, newExport(org, "applications", hiring.ExportDone, now.Add(time.Second)))
		jobs := create(t, storage, newExport(org, "jobs", hiring.ExportFailed, now))

		other := create(t, storage, newExport(newID(), "applications", hiring.ExportDone, now))
		justAfter := now.Add(time.Microsecond)

		for _, test := range []struct {
			filter hiring.ExportFilter
			want   []hiring.Export
		}{
			{filter: hiring.ExportFilter{}, want: []hiring.Export{queued, running, done, jobs, other}},
			{filter: hiring.ExportFilter{Unfinished: true}, want: []hiring.Export{queued, running}},
			{filter: hiring.ExportFilter{Begun: true}, want: []hiring.Export{running, done, jobs, other}},
			{filter: hiring.ExportFilter{Kind: "jobs"}, want: []hiring.Export{jobs}},
			{
				filter: hiring.ExportFilter{OrganizationIDs: []string{org, newID()}},
				want:   []hiring.Export{queued, running, done, jobs},
			},
			{filter: hiring.ExportFilter{CreatedBefore: now}, want: nil},
			{filter: hiring.ExportFilter{CreatedBefore: justAfter}, want: []hiring.Export{queued, running, jobs, other}},
			{
				filter: hiring.ExportFilter{
					OrganizationIDs: []string{org},
					Kind:            "applications",
					Begun:           true,
					CreatedBefore:   justAfter,
				},
				want: []hiring.Export{running},
			},
			{
				filter: hiring.ExportFilter{Unfinished: true, CreatedBefore: justAfter},
				want:   []hiring.Export{queued, running},
			},
		} {
			require.ElementsMatch(t, test.want, list(t, storage, test.filter), "%+v", test.filter)
		}

		limited, err := storage.Exports.List(ctx, hiring.ExportFilter{}, 2)
		require.NoError(t, err)
		require.Len(t, limited, 2)
	})
}

// ApplicantPersonalData checks the port hiring.PersonalData. Before the service erases the data of a deleted
// account, it withdraws the applications of the account.
func ApplicantPersonalData(t *testing.T, open HiringOpener) {
	ctx := context.Background()

	// EraseByApplicant erases Ann's texts in her withdrawn application, and all texts about it. Her active
	// application does not change, because she has not withdrawn it, nor does that of another applicant.
	t.Run("erase by applicant", func(t *testing.T) {
		storage, now := openHiring(t, open)
		ann := newID()

		// add stores an application with an interview, a message, a note and a rating. The message has the id
		// of the application, by which it is found below.
		add := func(organization, applicant string) hiring.Application {
			application := newApplication(organization, applicant, now)
			application.CoverLetter = "I am Ann"
			application.ResumeURL = "https://ann.example.org/cv.pdf"
			application.Answers = []hiring.Answer{
				{QuestionID: "why", Answer: "because"},
			}
			require.NoError(t, storage.Applications.Create(ctx, application))

			interview := hiring.Appointment{
				ID:             newID(),
				ApplicationID:  application.ID,
				OrganizationID: organization,
				ScheduledAt:    now,
				Location:       "Ward 3",
				Interviewer:    "Dr. Byrne",
				Notes:          "Ann was late",
				Status:         hiring.Scheduled,
				Outcome:        hiring.Undecided,
				CreatedAt:      now,
				ChangedAt:      now,
			}
			require.NoError(t, storage.Appointments.Upsert(ctx, interview))

			message := hiring.Message{
				ID:             application.ID,
				ApplicationID:  application.ID,
				OrganizationID: organization,
				SenderID:       newID(),
				Subject:        "Dear Ann",
				Text:           "Come",
				SentAt:         now,
			}
			require.NoError(t, storage.Messages.Create(ctx, message))
			require.NoError(t, storage.Notes.Create(ctx, newNote(application, newID(), now)))
			require.NoError(t, storage.Ratings.Upsert(ctx, newRating(application, newID(), 4, now)))

			return application
		}

		withdrawn, active := add(newID(), ann), add(newID(), ann)
		ofOtherApplicant := add(withdrawn.OrganizationID, newID())

		withdrawn.WithdrawnAt = &now
		withdrawn.Tracker = "completed"
		withdrawn.TrackerColor = "ann-red"
		require.NoError(t, storage.Applications.Update(ctx, ann, withdrawn))

		// The event that an account was deleted may be delivered twice.
		for range 2 {
			require.NoError(t, storage.PersonalData.EraseByApplicant(ctx, ann))
		}

		erased := withdrawn
		erased.CoverLetter = ""
		erased.ResumeURL = ""
		erased.Answers = nil
		erased.Tracker = ""
		erased.TrackerColor = ""

		for _, want := range []hiring.Application{erased, active, ofOtherApplicant} {
			isErased := want.ID == erased.ID

			got, err := storage.Applications.Get(ctx, toOrganization(want.OrganizationID), want.ID)
			require.NoError(t, err)
			require.Equal(t, want, got)

			interviews, err := storage.Appointments.List(ctx, want.OrganizationID,
				hiring.AppointmentFilter{ApplicationIDs: []string{want.ID}}, page.Request{Number: 1, Size: 1})
			require.NoError(t, err)
			require.Equal(t, isErased, interviews.Items[0].Notes == "", "notes of an interview")
			require.Equal(t, "Ward 3", interviews.Items[0].Location)

			_, err = storage.Messages.Get(ctx, want.OrganizationID, want.ID)
			isDeleted := err != nil
			require.Equal(t, isErased, isDeleted, "a message")

			notes, err := storage.Notes.List(ctx, want.OrganizationID, want.ID, page.After("", wholeList))
			require.NoError(t, err)
			require.Equal(t, isErased, len(notes.Items) == 0, "notes")

			ratings, err := storage.Ratings.List(ctx, want.OrganizationID, want.ID, wholeList)
			require.NoError(t, err)
			require.Equal(t, isErased, len(ratings) == 0, "ratings")
		}
	})

	// The deletion of an account withdraws its applications in batches. A deletion that was interrupted is
	// repeated, and then has to find the remaining applications. So the applicant's list must not contain
	// withdrawn applications any more.
	t.Run("interrupted withdrawal", func(t *testing.T) {
		storage, now := openHiring(t, open)
		ann := newID()
		ids := []string{
			apply(t, storage, newID(), ann, now).ID,
			apply(t, storage, newID(), ann, now).ID,
			apply(t, storage, newID(), ann, now).ID,
		}

		// Each batch is the first page, because the applications of the previous one have left the list.
		firstTwo := page.Request{Number: 1, Size: 2}
		for remaining := len(ids); remaining > 0; {
			active, err := storage.Applications.List(ctx, ofApplicant(ann), hiring.ApplicationFilter{}, firstTwo)
			require.NoError(t, err)
			require.Equal(t, remaining, active.Total)

			for _, application := range active.Items {
				require.Contains(t, ids, application.ID)

				application.WithdrawnAt = &now
				require.NoError(t, storage.Applications.Update(ctx, ann, application))
				remaining--
			}
		}
	})
}
