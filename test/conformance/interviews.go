package conformance

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/modules/hiring"
)

// schedule stores an application and its interview.
func schedule(t testing.TB, s adapters.HiringStorage, organization string, status hiring.InterviewStatus, at time.Time) hiring.Appointment {
	t.Helper()
	a := apply(t, s, organization, newID(), at)
	i := hiring.Appointment{
		ID:             newID(),
		ApplicationID:  a.ID,
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
	require.NoError(t, s.Appointments.Upsert(context.Background(), i))
	return i
}

// Appointments checks the port hiring.Appointments.
func Appointments(t *testing.T, open HiringOpener) {
	ctx := context.Background()
	list := func(t *testing.T, s adapters.HiringStorage, organization string, f hiring.AppointmentFilter) []hiring.Appointment {
		t.Helper()
		return walk(t, 3, func(r page.Request) (page.Result[hiring.Appointment], error) {
			return s.Appointments.List(ctx, organization, f, r)
		})
	}

	t.Run("create and update", func(t *testing.T) {
		s, now := openHiring(t, open)
		i := schedule(t, s, newID(), hiring.Scheduled, now)
		byApplication := hiring.AppointmentFilter{ApplicationIDs: []string{i.ApplicationID, newID()}}
		require.Equal(t, []hiring.Appointment{i}, list(t, s, i.OrganizationID, byApplication))
		i.Status, i.Outcome, i.Sequence, i.ScheduledAt, i.Location, i.Notes, i.ChangedAt = hiring.Completed, hiring.Fail, 3, now, "x", "", now.Add(
			time.Minute,
		)
		for range 2 {
			require.NoError(t, s.Appointments.Upsert(ctx, i))
			require.Equal(t, []hiring.Appointment{i}, list(t, s, i.OrganizationID, byApplication))
		}
	})

	t.Run("one per application, other owner", func(t *testing.T) {
		s, now := openHiring(t, open)
		i := schedule(t, s, newID(), hiring.Scheduled, now)
		foreign, second := i, i
		foreign.OrganizationID, foreign.Location = newID(), "theirs"
		second.ID = newID()
		for _, wrong := range []hiring.Appointment{foreign, second} {
			require.Error(t, s.Appointments.Upsert(ctx, wrong))
		}
		require.Empty(t, list(t, s, foreign.OrganizationID, hiring.AppointmentFilter{ApplicationIDs: []string{i.ApplicationID}}))
		require.Equal(t, []hiring.Appointment{i}, list(t, s, i.OrganizationID, hiring.AppointmentFilter{}))
	})

	t.Run("filters", func(t *testing.T) {
		s, now := openHiring(t, open)
		org := newID()
		var all []hiring.Appointment
		for n := range 5 {
			status := hiring.Scheduled
			if n%2 == 0 {
				status = hiring.Cancelled
			}
			all = append([]hiring.Appointment{schedule(t, s, org, status, now.Add(time.Duration(n)*time.Hour))}, all...)
		}
		schedule(t, s, newID(), hiring.Scheduled, now.Add(time.Hour))
		require.Equal(t, all, list(t, s, org, hiring.AppointmentFilter{}))
		require.Equal(t, []hiring.Appointment{all[0], all[2], all[4]}, list(t, s, org, hiring.AppointmentFilter{Status: hiring.Cancelled}))
		require.Equal(t, all[:1], list(t, s, org, hiring.AppointmentFilter{ScheduledAfter: all[1].ScheduledAt}), "later ones only")
		require.Equal(t, all[1:2], list(t, s, org, hiring.AppointmentFilter{Status: hiring.Scheduled, ScheduledAfter: all[2].ScheduledAt}))
		require.Equal(
			t,
			[]hiring.Appointment{all[1], all[3]},
			list(t, s, org, hiring.AppointmentFilter{ApplicationIDs: []string{all[3].ApplicationID, all[1].ApplicationID, newID()}}),
		)
	})
}

// Messages checks the port hiring.Messages.
func Messages(t *testing.T, open HiringOpener) {
	ctx := context.Background()

	t.Run("create and get", func(t *testing.T) {
		s, now := openHiring(t, open)
		a := apply(t, s, newID(), newID(), now)
		m := hiring.Message{
			ID:             newID(),
			ApplicationID:  a.ID,
			OrganizationID: a.OrganizationID,
			SenderID:       newID(),
			Subject:        "é",
			Text:           "a\nb",
			SentAt:         now,
		}
		require.NoError(t, s.Messages.Create(ctx, m))
		got, err := s.Messages.Get(ctx, a.OrganizationID, m.ID)
		require.NoError(t, err)
		require.Equal(t, m, got)
		for _, other := range []struct{ organization, id string }{{newID(), m.ID}, {a.OrganizationID, newID()}} {
			_, err = s.Messages.Get(ctx, other.organization, other.id)
			require.ErrorIs(t, err, hiring.ErrNotFound)
		}
	})
}

func newExport(organization, kind string, state hiring.ExportState, at time.Time) hiring.Export {
	e := hiring.Export{
		ID:             newID(),
		OrganizationID: organization,
		UserID:         newID(),
		Kind:           kind,
		Filters:        map[string]string{"status": "é"},
		State:          state,
		CreatedAt:      at,
	}
	if state == hiring.ExportDone || state == hiring.ExportFailed {
		e.FinishedAt = &at
	}
	return e
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

	t.Run("create, update, delete", func(t *testing.T) {
		s, now := openHiring(t, open)
		e := create(t, s, newExport(newID(), "jobs", hiring.ExportQueued, now))
		for _, state := range []hiring.ExportState{hiring.ExportRunning, hiring.ExportRunning, hiring.ExportDone} {
			if e.State = state; state == hiring.ExportDone {
				e.RowsDone, e.RowsTotal, e.FinishedAt = 3, 4, &now
			}
			require.NoError(t, s.Exports.Update(ctx, e))
			got, err := s.Exports.Get(ctx, e.OrganizationID, e.ID)
			require.NoError(t, err)
			require.Equal(t, e, got)
		}
		_, err := s.Exports.Get(ctx, newID(), e.ID)
		require.ErrorIs(t, err, hiring.ErrExportNotFound)
		late := e
		late.State, late.FinishedAt = hiring.ExportRunning, nil
		require.Error(t, s.Exports.Update(ctx, late), "completed")
		foreign := create(t, s, newExport(newID(), "jobs", hiring.ExportQueued, now))
		stolen := foreign
		stolen.OrganizationID = e.OrganizationID
		require.Error(t, s.Exports.Update(ctx, stolen))
		require.NoError(t, s.Exports.Delete(ctx, nil))
		require.NoError(t, s.Exports.Delete(ctx, []string{e.ID, newID()}))
		_, err = s.Exports.Get(ctx, e.OrganizationID, e.ID)
		require.ErrorIs(t, err, hiring.ErrExportNotFound)
		require.Equal(t, []hiring.Export{foreign}, list(t, s, hiring.ExportFilter{}))
	})

	t.Run("limit", func(t *testing.T) {
		s, now := openHiring(t, open)
		org := newID()
		create(t, s, newExport(newID(), "jobs", hiring.ExportQueued, now))
		for range limit {
			create(t, s, newExport(org, "jobs", hiring.ExportDone, now))
			create(t, s, newExport(org, "jobs", hiring.ExportRunning, now))
		}
		require.ErrorIs(t, s.Exports.Create(ctx, newExport(org, "jobs", hiring.ExportQueued, now), limit), hiring.ErrExportsUnderWay)
	})

	t.Run("limit, concurrently", func(t *testing.T) {
		s, now := openHiring(t, open)
		for range 10 { // the connections are opened in the first round, which is slow
			org := newID()
			require.Equal(t, limit, atOnce(t, 12, func(int) (bool, error) {
				err := s.Tx.Do(ctx, func(ctx context.Context) error {
					return s.Exports.Create(ctx, newExport(org, "jobs", hiring.ExportQueued, now), limit)
				})
				if errors.Is(err, hiring.ErrExportsUnderWay) {
					return false, nil
				}
				return err == nil, err
			}))
		}
	})

	t.Run("filters", func(t *testing.T) {
		s, now := openHiring(t, open)
		org := newID()
		queued, running := create(
			t,
			s,
			newExport(org, "applications", hiring.ExportQueued, now),
		), create(
			t,
			s,
			newExport(org, "applications", hiring.ExportRunning, now),
		)
		done, jobs := create(
			t,
			s,
			newExport(org, "applications", hiring.ExportDone, now.Add(time.Second)),
		), create(
			t,
			s,
			newExport(org, "jobs", hiring.ExportFailed, now),
		)
		other := create(t, s, newExport(newID(), "applications", hiring.ExportDone, now))
		for _, c := range []struct {
			f    hiring.ExportFilter
			want []hiring.Export
		}{
			{hiring.ExportFilter{}, []hiring.Export{queued, running, done, jobs, other}},
			{hiring.ExportFilter{Unfinished: true}, []hiring.Export{queued, running}},
			{hiring.ExportFilter{Begun: true}, []hiring.Export{running, done, jobs, other}},
			{hiring.ExportFilter{Kind: "jobs"}, []hiring.Export{jobs}},
			{hiring.ExportFilter{OrganizationIDs: []string{org, newID()}}, []hiring.Export{queued, running, done, jobs}},
			{hiring.ExportFilter{CreatedBefore: now}, nil},
			{hiring.ExportFilter{CreatedBefore: now.Add(time.Microsecond)}, []hiring.Export{queued, running, jobs, other}},
			{hiring.ExportFilter{OrganizationIDs: []string{org}, Kind: "applications", Begun: true, CreatedBefore: now.Add(time.Microsecond)}, []hiring.Export{running}},
			{hiring.ExportFilter{Unfinished: true, CreatedBefore: now.Add(time.Microsecond)}, []hiring.Export{queued, running}},
		} {
			require.ElementsMatch(t, c.want, list(t, s, c.f))
		}
		few, err := s.Exports.List(ctx, hiring.ExportFilter{}, 2)
		require.NoError(t, err)
		require.Len(t, few, 2)
	})
}

// ApplicantPersonalData checks the port hiring.PersonalData.
func ApplicantPersonalData(t *testing.T, open HiringOpener) {
	ctx := context.Background()

	t.Run("erase by applicant", func(t *testing.T) {
		s, now := openHiring(t, open)
		ann := newID()
		add := func(organization, applicant string) hiring.Application {
			a := newApplication(organization, applicant, now)
			a.CoverLetter, a.ResumeURL, a.Answers = "I am Ann", "https://ann.example.org/cv.pdf", []hiring.Answer{
				{QuestionID: "why", Answer: "because"},
			}
			require.NoError(t, s.Applications.Create(ctx, a))
			require.NoError(
				t,
				s.Appointments.Upsert(
					ctx,
					hiring.Appointment{
						ID:             newID(),
						ApplicationID:  a.ID,
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
				s.Messages.Create(
					ctx,
					hiring.Message{
						ID:             a.ID,
						ApplicationID:  a.ID,
						OrganizationID: organization,
						SenderID:       newID(),
						Subject:        "Dear Ann",
						Text:           "Come",
						SentAt:         now,
					},
				),
			)
			require.NoError(t, s.Notes.Create(ctx, newNote(a, newID(), now)))
			require.NoError(t, s.Ratings.Upsert(ctx, newRating(a, newID(), 4, now)))
			return a
		}
		withdrawn, active := add(newID(), ann), add(newID(), ann)
		otherApplication := add(withdrawn.OrganizationID, newID())
		withdrawn.WithdrawnAt, withdrawn.Tracker, withdrawn.TrackerColor = &now, "completed", "ann-red"
		require.NoError(t, s.Applications.Update(ctx, ann, withdrawn))
		for range 2 {
			require.NoError(t, s.PersonalData.EraseByApplicant(ctx, ann))
		}
		erased := withdrawn
		erased.CoverLetter, erased.ResumeURL, erased.Answers, erased.Tracker, erased.TrackerColor = "", "", nil, "", ""
		for _, want := range []hiring.Application{erased, active, otherApplication} {
			got, err := s.Applications.Get(ctx, toOrganization(want.OrganizationID), want.ID)
			require.NoError(t, err)
			require.Equal(t, want, got)
			interviews, err := s.Appointments.List(
				ctx,
				want.OrganizationID,
				hiring.AppointmentFilter{ApplicationIDs: []string{want.ID}},
				page.Request{Number: 1, Size: 1},
			)
			require.NoError(t, err)
			require.Equal(t, want.ID == erased.ID, interviews.Items[0].Notes == "")
			require.Equal(t, "Ward 3", interviews.Items[0].Location)
			_, err = s.Messages.Get(ctx, want.OrganizationID, want.ID)
			require.Equal(t, want.ID == erased.ID, err != nil)
			notes, err := s.Notes.List(ctx, want.OrganizationID, want.ID, page.After("", 10))
			require.NoError(t, err)
			require.Equal(t, want.ID == erased.ID, len(notes.Items) == 0)
			ratings, err := s.Ratings.List(ctx, want.OrganizationID, want.ID, 10)
			require.NoError(t, err)
			require.Equal(t, want.ID == erased.ID, len(ratings) == 0)
		}
	})

	t.Run("interrupted withdrawal", func(t *testing.T) {
		s, now := openHiring(t, open)
		ann := newID()
		as := []hiring.Application{apply(t, s, newID(), ann, now), apply(t, s, newID(), ann, now), apply(t, s, newID(), ann, now)}
		first := page.Request{Number: 1, Size: 2}
		for remaining := 3; remaining > 0; {
			active, err := s.Applications.List(ctx, ofApplicant(ann), hiring.ApplicationFilter{}, first)
			require.NoError(t, err)
			require.Equal(t, remaining, active.Total)
			for _, a := range active.Items {
				require.True(t, slices.ContainsFunc(as, func(b hiring.Application) bool { return a.ID == b.ID }))
				a.WithdrawnAt = &now
				require.NoError(t, s.Applications.Update(ctx, ann, a))
				remaining--
			}
		}
	})
}
