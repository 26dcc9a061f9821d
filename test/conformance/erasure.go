package conformance

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/core/clock"
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/modules/hiring"
	"github.com/locumhq/locum/modules/jobseeker"
	"github.com/locumhq/locum/test/kit"
	"github.com/locumhq/locum/test/kit/stores"
)

// Erasure checks how the ports of modules/hiring and modules/jobseeker forget a
// person.
func Erasure(t *testing.T, open func(t testing.TB, clk clock.Clock) adapters.Storage) {
	ctx, id := context.Background(), stores.NewID
	now := kit.NewClock().Now().Add(1234567 * time.Microsecond)
	start := func(t *testing.T) adapters.Storage {
		t.Parallel()
		return open(t, kit.NewClock())
	}
	add := func(t *testing.T, s adapters.Storage, organization, applicant string) hiring.Application {
		t.Helper()
		a := newApplication(organization, applicant, now)
		a.CoverLetter, a.ResumeURL, a.Answers = "I am Ann", "https://ann.example.org/cv.pdf", []hiring.Answer{{QuestionID: "why", Answer: "because"}}
		require.NoError(t, s.Hiring.Applications.Add(ctx, a))
		return a
	}

	t.Run("hands out what the applicant has not withdrawn", func(t *testing.T) {
		s, ann := start(t), id()
		first, second := add(t, s, id(), ann), add(t, s, id(), ann)
		add(t, s, first.OrganizationID, id())
		first.WithdrawnAt = &now
		require.NoError(t, s.Hiring.Applications.SaveOwn(ctx, ann, first))
		left, err := s.Hiring.Applications.Left(ctx, ann, 10)
		require.NoError(t, err)
		require.Equal(t, []hiring.Application{second}, left)
		left, err = s.Hiring.Applications.Left(ctx, ann, 0)
		require.NoError(t, err)
		require.Empty(t, left)
	})

	t.Run("empties what was withdrawn and nothing else", func(t *testing.T) {
		s, ann := start(t), id()
		gone, stays := add(t, s, id(), ann), add(t, s, id(), ann)
		other := add(t, s, gone.OrganizationID, id())
		for _, a := range []hiring.Application{gone, stays, other} {
			require.NoError(t, s.Hiring.Appointments.Save(ctx, hiring.Appointment{ID: id(), ApplicationID: a.ID, OrganizationID: a.OrganizationID, ScheduledAt: now,
				Location: "Ward 3", Interviewer: "Dr. Byrne", Notes: "Ann was late", Status: hiring.Scheduled, Outcome: hiring.Undecided, CreatedAt: now, ChangedAt: now}))
			require.NoError(t, s.Hiring.Letters.Add(ctx, hiring.Letter{ID: a.ID, ApplicationID: a.ID, OrganizationID: a.OrganizationID, SenderID: id(), Subject: "Dear Ann", Text: "Come", SentAt: now}))
		}
		standing, err := s.Hiring.Appointments.Standing(ctx, ann, []string{gone.ID, stays.ID, other.ID})
		require.NoError(t, err)
		require.Len(t, standing, 2, "the other one is not hers")
		gone.WithdrawnAt, gone.Tracker, gone.TrackerColor = &now, "completed", "ann-red"
		require.NoError(t, s.Hiring.Applications.SaveOwn(ctx, ann, gone))

		for range 2 {
			require.NoError(t, s.Hiring.Applications.Erase(ctx, ann))
		}
		got, err := s.Hiring.Applications.ForOrganization(ctx, gone.OrganizationID, []string{gone.ID, other.ID})
		require.NoError(t, err)
		for _, a := range got {
			if a.ID == other.ID {
				require.Equal(t, other, a)
				continue
			}
			want := gone
			want.CoverLetter, want.ResumeURL, want.Answers, want.Tracker, want.TrackerColor = "", "", nil, "", ""
			require.Equal(t, want, a)
		}
		for _, a := range []hiring.Application{gone, stays, other} {
			met, err := s.Hiring.Appointments.ForApplications(ctx, a.OrganizationID, []string{a.ID})
			require.NoError(t, err)
			require.Equal(t, a.ID == gone.ID, met[0].Notes == "")
			require.Equal(t, "Ward 3", met[0].Location)
			_, err = s.Hiring.Letters.Find(ctx, a.OrganizationID, a.ID)
			require.Equal(t, a.ID == gone.ID, err != nil)
		}
	})

	t.Run("finds an organization's interviews to come", func(t *testing.T) {
		s, org := start(t), id()
		appoint := func(organization string, status hiring.InterviewStatus, at time.Time) hiring.Appointment {
			t.Helper()
			a := add(t, s, organization, id())
			i := hiring.Appointment{ID: id(), ApplicationID: a.ID, OrganizationID: organization, ScheduledAt: at, Location: "Ward 3", Interviewer: "Dr. Byrne",
				Status: status, Outcome: hiring.Undecided, CreatedAt: now, ChangedAt: now}
			require.NoError(t, s.Hiring.Appointments.Save(ctx, i))
			return i
		}
		first, second := appoint(org, hiring.Scheduled, now.Add(time.Microsecond)), appoint(org, hiring.Scheduled, now.Add(time.Hour))
		appoint(org, hiring.Scheduled, now)
		appoint(org, hiring.Cancelled, now.Add(time.Hour))
		appoint(id(), hiring.Scheduled, now.Add(time.Hour))
		got, err := s.Hiring.Appointments.Ahead(ctx, org, now, 10)
		require.NoError(t, err)
		require.Equal(t, []hiring.Appointment{first, second}, got)
		got, err = s.Hiring.Appointments.Ahead(ctx, org, now, 1)
		require.NoError(t, err)
		require.Equal(t, []hiring.Appointment{first}, got)
	})

	t.Run("finds the exports that may name the applicant", func(t *testing.T) {
		s, ann := start(t), id()
		a := add(t, s, id(), ann)
		still := add(t, s, id(), ann)
		a.WithdrawnAt = &now
		require.NoError(t, s.Hiring.Applications.SaveOwn(ctx, ann, a))
		export := func(organization, kind string, state hiring.ExportState, at time.Time) hiring.Export {
			t.Helper()
			e := hiring.Export{ID: id(), OrganizationID: organization, UserID: id(), Kind: kind, Filters: map[string]string{}, State: state, CreatedAt: at}
			if state == hiring.ExportDone {
				e.FinishedAt = &at
			}
			require.NoError(t, s.Hiring.Exports.Add(ctx, e))
			return e
		}
		done, running := export(a.OrganizationID, "applications", hiring.ExportDone, now), export(a.OrganizationID, "applications", hiring.ExportRunning, now)
		export(a.OrganizationID, "applications", hiring.ExportQueued, now)
		export(a.OrganizationID, "applications", hiring.ExportDone, now.Add(time.Microsecond))
		export(a.OrganizationID, "jobs", hiring.ExportDone, now)
		export(still.OrganizationID, "applications", hiring.ExportDone, now)
		export(id(), "applications", hiring.ExportDone, now)
		got, err := s.Hiring.Exports.Naming(ctx, ann, now, 10)
		require.NoError(t, err)
		require.ElementsMatch(t, []hiring.Export{done, running}, got)
		got, err = s.Hiring.Exports.Naming(ctx, ann, now, 1)
		require.NoError(t, err)
		require.Len(t, got, 1)
	})

	t.Run("removes what a jobseeker kept, and nobody else's", func(t *testing.T) {
		s, ann, bob, all := start(t), id(), id(), page.Request{Number: 1, Size: 10}
		for _, user := range []string{ann, bob} {
			p := jobseeker.NewProfile(user)
			p.Bio = "I am " + user
			require.NoError(t, s.Identity.Tx.Do(ctx, func(ctx context.Context) error {
				if err := s.Jobseeker.Profiles.Lock(ctx, user); err != nil {
					return err
				}
				return s.Jobseeker.Profiles.Save(ctx, p)
			}))
			search := jobseeker.Search{ID: id(), UserID: user, Name: "Ann's", CreatedAt: now}
			require.NoError(t, s.Jobseeker.Searches.Add(ctx, search))
			_, err := s.Jobseeker.Alerts.AddMatches(ctx, []jobseeker.Match{{SearchID: search.ID, ListingID: id(), UserID: user, At: now, Email: true}})
			require.NoError(t, err)
			_, err = s.Jobseeker.Bookmarks.Add(ctx, jobseeker.Bookmark{ID: id(), UserID: user, ListingID: id(), Notes: "for Ann", SavedAt: now})
			require.NoError(t, err)
			require.NoError(t, s.Jobseeker.Documents.Add(ctx, jobseeker.Document{ID: id(), UserID: user, Type: jobseeker.CV, Title: "Ann's", Content: jobseeker.Content{File: jobseeker.DocumentFile{ID: id()}, Form: jobseeker.AsText}}))
			deleted := newNotification(user, id(), now)
			require.NoError(t, s.Jobseeker.Notifications.Add(ctx, newNotification(user, id(), now), deleted))
			require.NoError(t, s.Jobseeker.Notifications.Delete(ctx, user, deleted.ID, now))
			require.NoError(t, s.Jobseeker.Activities.Add(ctx, jobseeker.Activity{UserID: user, EventID: id(), Type: "search", Action: "saved", Description: "Saved Ann's", At: now}))
		}
		for range 2 {
			require.NoError(t, s.Jobseeker.Traces.Remove(ctx, ann))
		}
		for user, kept := range map[string]int{ann: 0, bob: 1} {
			searches, err := s.Jobseeker.Searches.Of(ctx, user, 10)
			require.NoError(t, err)
			require.Len(t, searches, kept)
			marks, err := s.Jobseeker.Bookmarks.Page(ctx, user, all)
			require.NoError(t, err)
			require.Len(t, marks.Items, kept)
			told, err := s.Jobseeker.Notifications.Page(ctx, user, all)
			require.NoError(t, err)
			require.Len(t, told.Items, kept)
			docs, err := s.Jobseeker.Documents.Page(ctx, user, all)
			require.NoError(t, err)
			require.Len(t, docs.Items, kept)
			did, err := s.Jobseeker.Activities.Page(ctx, user, all)
			require.NoError(t, err)
			require.Len(t, did.Items, kept)
			p, err := s.Jobseeker.Profiles.Find(ctx, user)
			require.NoError(t, err)
			require.Equal(t, kept == 1, p.Bio != "")
		}
	})
}
