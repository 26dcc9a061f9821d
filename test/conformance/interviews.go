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

	// Each field can be changed, and the same update can be repeated.
	t.Run("create and update", func(t *testing.T) {
		storage, now := openHiring(t, open)
		appointment := schedule(t, storage, newID(), hiring.Scheduled, now)
		byApplication := hiring.AppointmentFilter{ApplicationIDs: []string{appointment.ApplicationID, newID()}}
		require.Equal(t, []hiring.Appointment{appointment}, list(t, storage, appointment.OrganizationID, byApplication))

		appointment.Status = hiring.Completed
		appointment.Outcome = hiring.Fail
		appointment.Sequence = 3
		appointment.ScheduledAt = now
		appointment.Location = "x"
		appointment.Notes = ""

		appointment.ChangedAt = now.Add(time.Minute)
		for range 2 {
			require.NoError(t, storage.Appointments.Upsert(ctx, appointment))
			require.Equal(t, []hiring.Appointment{appointment},
				list(t, storage, appointment.OrganizationID, byApplication))
		}
	})

	// An upsert cannot move an interview to another organization, nor add a second one to an
	// application.
	t.Run("one per application, other owner", func(t *testing.T) {
		storage, now := openHiring(t, open)
		appointment := schedule(t, storage, newID(), hiring.Scheduled, now)
		foreign, second := appointment, appointment
		foreign.OrganizationID, foreign.Location = newID(), "theirs"

		second.ID = newID()
		for _, wrong := range []hiring.Appointment{foreign, second} {
			require.Error(t, storage.Appointments.Upsert(ctx, wrong))
		}

		require.Empty(t, list(t, storage, foreign.OrganizationID,
			hiring.AppointmentFilter{ApplicationIDs: []string{appointment.ApplicationID}}))
		require.Equal(t, []hiring.Appointment{appointment},
			list(t, storage, appointment.OrganizationID, hiring.AppointmentFilter{}))
	})

	// The interviews n = 0, 2 and 4 are cancelled. The latest one is the first of the list.
	t.Run("filters", func(t *testing.T) {
		storage, now := openHiring(t, open)
		org := newID()

		var all []hiring.Appointment
		for n := range 5 {
			status := hiring.Scheduled
			if n%2 == 0 {
				status = hiring.Cancelled
			}

			all = append([]hiring.Appointment{schedule(t, storage, org, status, now.Add(time.Duration(n)*time.Hour))},
				all...)
		}

		schedule(t, storage, newID(), hiring.Scheduled, now.Add(time.Hour))
		require.Equal(t, all, list(t, storage, org, hiring.AppointmentFilter{}))
		require.Equal(t, []hiring.Appointment{all[0], all[2], all[4]},
			list(t, storage, org, hiring.AppointmentFilter{Status: hiring.Cancelled}))
		require.Equal(t, all[:1], list(t, storage, org, hiring.AppointmentFilter{ScheduledAfter: all[1].ScheduledAt}),
			"later ones only")
		require.Equal(t, all[1:2], list(t, storage, org, hiring.AppointmentFilter{
			Status:         hiring.Scheduled,
			ScheduledAfter: all[2].ScheduledAt,
		}))
		require.Equal(t, []hiring.Appointment{all[1], all[3]},
			list(t, storage, org,
				hiring.AppointmentFilter{ApplicationIDs: []string{all[3].ApplicationID, all[1].ApplicationID, newID()}}))
	})
}

// Messages checks the port hiring.Messages.
func Messages(t *testing.T, open HiringOpener) {
	ctx := context.Background()

	// Messages of an application are listed newest first, up to the limit. They belong to one
	// organization.
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

		for _, other := range []struct{ organization, id string }{
			{organization: newID(), id: message.ID},
			{organization: application.OrganizationID, id: newID()},
		} {
			_, err = storage.Messages.Get(ctx, other.organization, other.id)
			require.ErrorIs(t, err, hiring.ErrNotFound)
		}

		later := message
		later.ID = newID()
		require.NoError(t, storage.Messages.Create(ctx, later))

		for limit, want := range map[int][]hiring.Message{1: {later}, 5: {later, message}} {
			sent, err := storage.Messages.List(ctx, application.OrganizationID, application.ID, limit)
			require.NoError(t, err)
			require.Equal(t, want, sent)
		}

		for _, other := range []struct{ organization, application string }{
			{organization: newID(), application: application.ID},
			{organization: application.OrganizationID, application: newID()},
		} {
			sent, err := storage.Messages.List(ctx, other.organization, other.application, 5)
			require.NoError(t, err)
			require.Empty(t, sent)
		}
	})
}

// newExport returns an export in the state, which is finished if it is completed or failed.
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
	open = withPort(open, "Exports", func(s adapters.HiringStorage) any { return s.Exports })
	ctx := context.Background()
	const limit = 5
	create := func(t *testing.T, s adapters.HiringStorage, e hiring.Export) hiring.Export {
		t.Helper()
		require.NoError(t, s.Exports.Create(ctx, e, limit))
		return e
	}

	list := func(t *testing.T, s adapters.HiringStorage, f hiring.ExportFilter) []hiring.Export {
		t.Helper()

		found, err := s.Exports.List(ctx, f, 10)
		require.NoError(t, err)

		return found
	}

	// A completed export does not change any more, so that a worker that has lost its task
	// cannot overwrite the result. An update cannot move an export to another organization.
	t.Run("create, update, delete", func(t *testing.T) {
		storage, now := openHiring(t, open)

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

		_, err := storage.Exports.Get(ctx, newID(), export.ID)
		require.ErrorIs(t, err, hiring.ErrExportNotFound)

		late := export
		late.State, late.FinishedAt = hiring.ExportRunning, nil
		require.Error(t, storage.Exports.Update(ctx, late), "completed")

		foreign := create(t, storage, newExport(newID(), "jobs", hiring.ExportQueued, now))
		stolen := foreign
		stolen.OrganizationID = export.OrganizationID
		require.Error(t, storage.Exports.Update(ctx, stolen))
		require.NoError(t, storage.Exports.Delete(ctx, nil))
		require.NoError(t, storage.Exports.Delete(ctx, []string{export.ID, newID()}))

		_, err = storage.Exports.Get(ctx, export.OrganizationID, export.ID)
		require.ErrorIs(t, err, hiring.ErrExportNotFound)
		require.Equal(t, []hiring.Export{foreign}, list(t, storage, hiring.ExportFilter{}))
	})

	// Only the unfinished exports of the organization count towards the limit.
	t.Run("limit", func(t *testing.T) {
		storage, now := openHiring(t, open)
		org := newID()
		create(t, storage, newExport(newID(), "jobs", hiring.ExportQueued, now))

		for range limit {
			create(t, storage, newExport(org, "jobs", hiring.ExportDone, now))
			create(t, storage, newExport(org, "jobs", hiring.ExportRunning, now))
		}

		require.ErrorIs(t, storage.Exports.Create(ctx, newExport(org, "jobs", hiring.ExportQueued, now), limit),
			hiring.ErrTooManyExports)
	})

	// Five of twelve concurrent exports are created.
	t.Run("limit, concurrently", func(t *testing.T) {
		s, now := openHiring(t, open)
		for range 10 { // the connections are opened in the first round, which is slow
			org := newID()
			require.Equal(t, limit, countConcurrent(t, 12, func(int) (bool, error) {
				err := s.Tx.Do(ctx, func(ctx context.Context) error {
					return s.Exports.Create(ctx, newExport(org, "jobs", hiring.ExportQueued, now), limit)
				})
				if errors.Is(err, hiring.ErrTooManyExports) {
					return false, nil
				}

				return err == nil, err
			}))
		}
	})

	// The conditions of a filter must all match; CreatedBefore is excluded.
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
			require.ElementsMatch(t, test.want, list(t, storage, test.filter))
		}

		few, err := storage.Exports.List(ctx, hiring.ExportFilter{}, 2)
		require.NoError(t, err)
		require.Len(t, few, 2)
	})
}

// ApplicantPersonalData checks the port hiring.PersonalData.
func ApplicantPersonalData(t *testing.T, open HiringOpener) {
	ctx := context.Background()

	// Ann's texts and all texts about her are erased from her withdrawn application. The active
	// one does not change: it is withdrawn first.
	t.Run("erase by applicant", func(t *testing.T) {
		storage, now := openHiring(t, open)
		ann := newID()
		add := func(organization, applicant string) hiring.Application {
			application := newApplication(organization, applicant, now)
			application.CoverLetter = "I am Ann"
			application.ResumeURL = "https://ann.example.org/cv.pdf"
			application.Answers = []hiring.Answer{
				{QuestionID: "why", Answer: "because"},
			}
			require.NoError(t, storage.Applications.Create(ctx, application))
			require.NoError(
				t,
				storage.Appointments.Upsert(
					ctx,
					hiring.Appointment{
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
					},
				),
			)
			require.NoError(
				t,
				storage.Messages.Create(
					ctx,
					hiring.Message{
						ID:             application.ID,
						ApplicationID:  application.ID,
						OrganizationID: organization,
						SenderID:       newID(),
						Subject:        "Dear Ann",
						Text:           "Come",
						SentAt:         now,
					},
				),
			)
			require.NoError(t, storage.Notes.Create(ctx, newNote(application, newID(), now)))
			require.NoError(t, storage.Ratings.Upsert(ctx, newRating(application, newID(), 4, now)))

			return application
		}

		withdrawn, active := add(newID(), ann), add(newID(), ann)
		otherApplication := add(withdrawn.OrganizationID, newID())
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

		for _, want := range []hiring.Application{erased, active, otherApplication} {
			isErased := want.ID == erased.ID

			got, err := storage.Applications.Get(ctx, toOrganization(want.OrganizationID), want.ID)
			require.NoError(t, err)
			require.Equal(t, want, got)

			interviews, err := storage.Appointments.List(ctx, want.OrganizationID,
				hiring.AppointmentFilter{ApplicationIDs: []string{want.ID}}, page.Request{Number: 1, Size: 1})
			require.NoError(t, err)
			require.Equal(t, isErased, interviews.Items[0].Notes == "")
			require.Equal(t, "Ward 3", interviews.Items[0].Location)

			_, err = storage.Messages.Get(ctx, want.OrganizationID, want.ID)
			require.Equal(t, isErased, err != nil)

			notes, err := storage.Notes.List(ctx, want.OrganizationID, want.ID, page.After("", 10))
			require.NoError(t, err)
			require.Equal(t, isErased, len(notes.Items) == 0)

			ratings, err := storage.Ratings.List(ctx, want.OrganizationID, want.ID, 10)
			require.NoError(t, err)
			require.Equal(t, isErased, len(ratings) == 0)
		}
	})

	// The deletion of an account withdraws its applications in batches. An interrupted deletion
	// must find the rest, so that withdrawn applications leave the list.
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
