package conformance

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/core/clock"
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/modules/hiring"
	"github.com/locumhq/locum/test/kit"
	"github.com/locumhq/locum/test/kit/stores"
)

// Interviews checks the ports hiring.Appointments and hiring.Letters.
func Interviews(t *testing.T, open func(t testing.TB, clk clock.Clock) adapters.Storage) {
	ctx := context.Background()
	now := kit.NewClock().Now().Add(1234567 * time.Microsecond)
	id := stores.NewID
	start := func(t *testing.T) (adapters.Storage, func(organization string) hiring.Appointment) {
		t.Parallel()
		s := open(t, kit.NewClock())
		return s, func(organization string) hiring.Appointment {
			t.Helper()
			a := newApplication(organization, id(), now)
			require.NoError(t, s.Hiring.Applications.Add(ctx, a))
			i := hiring.Appointment{ID: id(), ApplicationID: a.ID, OrganizationID: organization, ScheduledAt: now.Add(time.Hour), Location: "Zoë's \"ward\"",
				Interviewer: "é", Notes: "\n", Status: hiring.Scheduled, Outcome: hiring.Undecided, CreatedAt: now, ChangedAt: now}
			require.NoError(t, s.Hiring.Appointments.Save(ctx, i))
			return i
		}
	}

	t.Run("gives back what was stored, to its owner", func(t *testing.T) {
		s, add := start(t)
		i := add(id())
		got, err := s.Hiring.Appointments.ForApplications(ctx, i.OrganizationID, []string{i.ApplicationID, id()})
		require.NoError(t, err)
		require.Equal(t, []hiring.Appointment{i}, got)
		i.Status, i.Outcome, i.Sequence, i.ScheduledAt, i.Location, i.Notes, i.ChangedAt = hiring.Completed, hiring.Fail, 3, now, "x", "y", now.Add(time.Minute)
		require.NoError(t, s.Hiring.Appointments.Save(ctx, i))
		got, err = s.Hiring.Appointments.ForApplications(ctx, i.OrganizationID, []string{i.ApplicationID})
		require.NoError(t, err)
		require.Equal(t, []hiring.Appointment{i}, got)
		foreign := i
		foreign.OrganizationID, foreign.Location = id(), "theirs"
		require.Error(t, s.Hiring.Appointments.Save(ctx, foreign))
		none, err := s.Hiring.Appointments.ForApplications(ctx, foreign.OrganizationID, []string{i.ApplicationID})
		require.NoError(t, err)
		require.Empty(t, none)
	})

	t.Run("lists the newest first, all or of one status", func(t *testing.T) {
		s, add := start(t)
		org := id()
		var all []hiring.Appointment
		for n := range 5 {
			i := add(org)
			if n%2 == 0 {
				i.Status = hiring.Cancelled
				require.NoError(t, s.Hiring.Appointments.Save(ctx, i))
			}
			all = append([]hiring.Appointment{i}, all...)
		}
		add(id())
		got, err := s.Hiring.Appointments.Page(ctx, org, "", page.Request{Number: 1, Size: 3})
		require.NoError(t, err)
		require.Equal(t, 5, got.Total)
		require.Equal(t, all[:3], got.Items)
		rest, err := s.Hiring.Appointments.Page(ctx, org, "", page.Request{Number: 1, Size: 3, Cursor: got.NextCursor})
		require.NoError(t, err)
		require.Equal(t, all[3:], rest.Items)
		require.Empty(t, rest.NextCursor)
		got, err = s.Hiring.Appointments.Page(ctx, org, hiring.Cancelled, page.Request{Number: 2, Size: 2})
		require.NoError(t, err)
		require.Equal(t, 3, got.Total)
		require.Equal(t, all[4:], got.Items)
	})

	t.Run("picks applications for exports, the newest first", func(t *testing.T) {
		s, _ := start(t)
		org, listing := id(), id()
		var ids []string
		for n := range 6 {
			a := newApplication(org, id(), now.Add(time.Duration(n)*time.Hour))
			if n%2 == 0 {
				a.ListingID = listing
			}
			if n > 3 {
				a.Status = hiring.Accepted
			}
			require.NoError(t, s.Hiring.Applications.Add(ctx, a))
			ids = append([]string{a.ID}, ids...)
		}
		require.NoError(t, s.Hiring.Applications.Add(ctx, newApplication(id(), id(), now)))
		for _, c := range []struct {
			f    hiring.ApplicationFilter
			want []string
		}{
			{hiring.ApplicationFilter{}, ids},
			{hiring.ApplicationFilter{Status: hiring.Accepted}, ids[:2]},
			{hiring.ApplicationFilter{ListingID: listing}, []string{ids[1], ids[3], ids[5]}},
			{hiring.ApplicationFilter{From: now.Add(2 * time.Hour), Until: now.Add(4 * time.Hour)}, ids[2:4]},
		} {
			n, err := s.Hiring.Applications.Count(ctx, org, c.f)
			require.NoError(t, err)
			require.Equal(t, len(c.want), n)
			var got []string
			for before := ""; ; {
				found, err := s.Hiring.Applications.Before(ctx, org, c.f, before, 2)
				require.NoError(t, err)
				if len(found) == 0 {
					break
				}
				for _, a := range found {
					got = append(got, a.ID)
				}
				before = got[len(got)-1]
			}
			require.Equal(t, c.want, got)
		}
	})

	t.Run("counts by status what an organization received", func(t *testing.T) {
		s, _ := start(t)
		apps := s.Hiring.Applications
		org, listing := id(), id()
		var all []hiring.Application
		for i, status := range []hiring.Status{hiring.Pending, hiring.Pending, hiring.Accepted, hiring.Withdrawn} {
			a := newApplication(org, id(), now.Add(time.Duration(i)*24*time.Hour))
			if a.Status = status; i < 2 {
				a.ListingID = listing
			}
			require.NoError(t, apps.Add(ctx, a))
			all = append(all, a)
		}
		for _, c := range []struct {
			f    hiring.ApplicationFilter
			want map[hiring.Status]int
		}{
			{hiring.ApplicationFilter{}, map[hiring.Status]int{hiring.Pending: 2, hiring.Accepted: 1, hiring.Withdrawn: 1}},
			{hiring.ApplicationFilter{Status: hiring.Accepted}, map[hiring.Status]int{hiring.Accepted: 1}},
			{hiring.ApplicationFilter{ListingID: listing}, map[hiring.Status]int{hiring.Pending: 2}},
			{hiring.ApplicationFilter{From: all[1].AppliedAt, Until: all[3].AppliedAt}, map[hiring.Status]int{hiring.Pending: 1, hiring.Accepted: 1}},
		} {
			got, err := apps.CountByStatus(ctx, org, c.f)
			require.NoError(t, err)
			require.Equal(t, c.want, got)
		}
	})

	t.Run("keeps exports for their organization until they are old", func(t *testing.T) {
		s, _ := start(t)
		e := hiring.Export{ID: id(), OrganizationID: id(), UserID: id(), Kind: "jobs", Filters: map[string]string{"status": "é"}, State: hiring.ExportQueued, CreatedAt: now}
		require.NoError(t, s.Hiring.Exports.Add(ctx, e))
		n, err := s.Hiring.Exports.Unfinished(ctx, e.OrganizationID)
		require.NoError(t, err)
		require.Equal(t, 1, n)
		e.State, e.RowsDone, e.RowsTotal, e.FinishedAt = hiring.ExportDone, 3, 4, &now
		require.NoError(t, s.Hiring.Exports.Save(ctx, e))
		got, err := s.Hiring.Exports.Find(ctx, e.OrganizationID, e.ID)
		require.NoError(t, err)
		require.Equal(t, e, got)
		n, err = s.Hiring.Exports.Unfinished(ctx, e.OrganizationID)
		require.NoError(t, err)
		require.Zero(t, n)
		_, err = s.Hiring.Exports.Find(ctx, id(), e.ID)
		require.ErrorIs(t, err, hiring.ErrExportNotFound)
		foreign := e
		foreign.OrganizationID = id()
		require.Error(t, s.Hiring.Exports.Save(ctx, foreign))
		late := e
		late.State, late.FinishedAt = hiring.ExportRunning, nil
		require.Error(t, s.Hiring.Exports.Save(ctx, late), "what is completed stays so")

		lost := hiring.Export{ID: id(), OrganizationID: e.OrganizationID, UserID: id(), Kind: "jobs", Filters: map[string]string{}, State: hiring.ExportQueued, CreatedAt: now}
		require.NoError(t, s.Hiring.Exports.Add(ctx, lost))
		require.NoError(t, s.Hiring.Exports.GiveUp(ctx, now, now))
		got, err = s.Hiring.Exports.Find(ctx, lost.OrganizationID, lost.ID)
		require.NoError(t, err)
		require.Equal(t, lost, got, "not older than the moment")
		end := now.Add(time.Hour)
		require.NoError(t, s.Hiring.Exports.GiveUp(ctx, now.Add(time.Second), end))
		lost.State, lost.FinishedAt = hiring.ExportFailed, &end
		got, err = s.Hiring.Exports.Find(ctx, lost.OrganizationID, lost.ID)
		require.NoError(t, err)
		require.Equal(t, lost, got)
		got, err = s.Hiring.Exports.Find(ctx, e.OrganizationID, e.ID)
		require.NoError(t, err)
		require.Equal(t, e, got, "one that has an end keeps it")
		require.NoError(t, s.Hiring.Exports.Remove(ctx, []string{lost.ID}))
		old, err := s.Hiring.Exports.Expired(ctx, now, 10)
		require.NoError(t, err)
		require.Empty(t, old)
		old, err = s.Hiring.Exports.Expired(ctx, now.Add(time.Second), 10)
		require.NoError(t, err)
		require.Equal(t, []hiring.Export{e}, old)
		require.NoError(t, s.Hiring.Exports.Remove(ctx, []string{e.ID}))
		_, err = s.Hiring.Exports.Find(ctx, e.OrganizationID, e.ID)
		require.ErrorIs(t, err, hiring.ErrExportNotFound)
	})

	t.Run("lets those who count the same organization's exports take turns", func(t *testing.T) {
		s, _ := start(t)
		for range 10 { // the first finds no connections open, and is slow
			org := id()
			var asking sync.WaitGroup
			for range 12 {
				asking.Go(func() {
					err := s.Identity.Tx.Do(ctx, func(ctx context.Context) error {
						n, err := s.Hiring.Exports.Unfinished(ctx, org)
						if err != nil || n >= 5 {
							return err
						}
						return s.Hiring.Exports.Add(ctx, hiring.Export{ID: id(), OrganizationID: org, UserID: id(), Kind: "jobs", Filters: map[string]string{}, State: hiring.ExportQueued, CreatedAt: now})
					})
					if err != nil {
						t.Error(err)
					}
				})
			}
			asking.Wait()
			n, err := s.Hiring.Exports.Unfinished(ctx, org)
			require.NoError(t, err)
			require.Equal(t, 5, n)
		}
	})

	t.Run("keeps letters for their organization", func(t *testing.T) {
		s, add := start(t)
		i := add(id())
		l := hiring.Letter{ID: id(), ApplicationID: i.ApplicationID, OrganizationID: i.OrganizationID, SenderID: id(), Subject: "é", Text: "a\nb", SentAt: now}
		require.NoError(t, s.Hiring.Letters.Add(ctx, l))
		got, err := s.Hiring.Letters.Find(ctx, i.OrganizationID, l.ID)
		require.NoError(t, err)
		require.Equal(t, l, got)
		_, err = s.Hiring.Letters.Find(ctx, id(), l.ID)
		require.ErrorIs(t, err, hiring.ErrNotFound)
	})
}
