package conformance

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/core/clock"
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/modules/jobseeker"
	"github.com/locumhq/locum/test/kit"
	"github.com/locumhq/locum/test/kit/stores"
)

// Seekers checks the ports of modules/jobseeker. open makes an empty store.
func Seekers(t *testing.T, open func(t testing.TB, clk clock.Clock) adapters.Storage) {
	t.Run("profiles", func(t *testing.T) { profiles(t, open) })
	t.Run("bookmarks", func(t *testing.T) { bookmarks(t, open) })
	t.Run("documents", func(t *testing.T) { documents(t, open) })
	t.Run("files of documents", func(t *testing.T) { documentFiles(t, open) })
	t.Run("notifications", func(t *testing.T) { notifications(t, open) })
	t.Run("activities", func(t *testing.T) { activities(t, open) })
	t.Run("saved searches", func(t *testing.T) { savedSearches(t, open) })
	t.Run("dismissals", func(t *testing.T) { dismissals(t, open) })
	t.Run("onboardings", func(t *testing.T) { onboardings(t, open) })
	t.Run("alerts", func(t *testing.T) { alerts(t, open) })
}

func newNotification(user, cause string, at time.Time) jobseeker.Notification {
	return jobseeker.Notification{ID: stores.NewID(), UserID: user, Cause: cause, Type: jobseeker.AboutApplication, Message: "Zoë's 100% \"news\"", CreatedAt: at}
}

func notifications(t *testing.T, open func(t testing.TB, clk clock.Clock) adapters.Storage) {
	ctx, id := context.Background(), stores.NewID
	start := func(t *testing.T) (adapters.Storage, jobseeker.Notifications, time.Time) {
		t.Parallel()
		clk := kit.NewClock()
		s := open(t, clk)
		return s, s.Jobseeker.Notifications, clk.Now().Add(1234567 * time.Microsecond)
	}
	all := page.Request{Number: 1, Size: 100}

	t.Run("gives back what was stored", func(t *testing.T) {
		_, ns, now := start(t)
		n := newNotification(id(), id(), now)
		require.NoError(t, ns.Add(ctx, n))
		require.NoError(t, ns.Add(ctx))
		got, err := ns.Page(ctx, n.UserID, all)
		require.NoError(t, err)
		require.Equal(t, page.Result[jobseeker.Notification]{Items: []jobseeker.Notification{n}, Total: 1}, got)
	})

	t.Run("tells a user of a cause once, and keeps the transaction that tried a second time", func(t *testing.T) {
		s, ns, now := start(t)
		user, cause := id(), id()
		require.NoError(t, ns.Add(ctx, newNotification(user, cause, now)))
		require.NoError(t, s.Identity.Tx.Do(ctx, func(ctx context.Context) error {
			require.NoError(t, ns.Add(ctx, newNotification(user, cause, now)))
			return ns.Add(ctx, newNotification(user, id(), now), newNotification(user, cause, now))
		}))
		require.NoError(t, ns.Add(ctx, newNotification(id(), cause, now)))
		got, err := ns.Page(ctx, user, all)
		require.NoError(t, err)
		require.Equal(t, 2, got.Total)
	})

	t.Run("tells once however many do at the same time", func(t *testing.T) {
		_, ns, now := start(t)
		user, cause := id(), id()
		together(t, 20, func(int) error { return ns.Add(ctx, newNotification(user, cause, now)) })
		got, err := ns.Page(ctx, user, all)
		require.NoError(t, err)
		require.Equal(t, 1, got.Total)
	})

	t.Run("undoes with the transaction", func(t *testing.T) {
		s, ns, now := start(t)
		n, boom := newNotification(id(), id(), now), errors.New("boom")
		require.ErrorIs(t, s.Identity.Tx.Do(ctx, func(ctx context.Context) error {
			require.NoError(t, ns.Add(ctx, n))
			return boom
		}), boom)
		require.ErrorIs(t, ns.Has(ctx, n.UserID, n.ID), jobseeker.ErrNotificationNotFound)
	})

	t.Run("pages by number and by cursor, the newest first", func(t *testing.T) {
		_, ns, now := start(t)
		user := id()
		var want []string
		for range 5 {
			n := newNotification(user, id(), now)
			want = append([]string{n.ID}, want...)
			require.NoError(t, ns.Add(ctx, n))
		}
		ids := func(r page.Result[jobseeker.Notification]) (out []string) {
			for _, n := range r.Items {
				out = append(out, n.ID)
			}
			return out
		}
		first, err := ns.Page(ctx, user, page.Request{Number: 1, Size: 2})
		require.NoError(t, err)
		require.Equal(t, want[:2], ids(first))
		require.Equal(t, 5, first.Total)
		second, err := ns.Page(ctx, user, page.Request{Number: 1, Size: 2, Cursor: first.NextCursor})
		require.NoError(t, err)
		require.Equal(t, want[2:4], ids(second))
		last, err := ns.Page(ctx, user, page.Request{Number: 3, Size: 2})
		require.NoError(t, err)
		require.Equal(t, want[4:], ids(last))
		require.Empty(t, last.NextCursor)
	})

	t.Run("is marked and deleted by its user alone, and does not come back", func(t *testing.T) {
		_, ns, now := start(t)
		n := newNotification(id(), id(), now)
		require.NoError(t, ns.Add(ctx, n))
		for _, whose := range []string{id(), n.UserID} {
			for _, which := range []string{id(), n.ID} {
				if whose == n.UserID && which == n.ID {
					continue
				}
				require.ErrorIs(t, ns.SetRead(ctx, whose, which, true), jobseeker.ErrNotificationNotFound)
				require.ErrorIs(t, ns.Has(ctx, whose, which), jobseeker.ErrNotificationNotFound)
				require.ErrorIs(t, ns.Delete(ctx, whose, which, now), jobseeker.ErrNotificationNotFound)
			}
		}
		require.NoError(t, ns.Has(ctx, n.UserID, n.ID))
		for _, read := range []bool{true, true, false} {
			require.NoError(t, ns.SetRead(ctx, n.UserID, n.ID, read))
			got, err := ns.Page(ctx, n.UserID, all)
			require.NoError(t, err)
			require.Equal(t, read, got.Items[0].Read)
		}
		require.NoError(t, ns.Delete(ctx, n.UserID, n.ID, now))
		require.ErrorIs(t, ns.Delete(ctx, n.UserID, n.ID, now), jobseeker.ErrNotificationNotFound)
		require.ErrorIs(t, ns.SetRead(ctx, n.UserID, n.ID, true), jobseeker.ErrNotificationNotFound)
		require.NoError(t, ns.Add(ctx, newNotification(n.UserID, n.Cause, now)), "the event is delivered again")
		got, err := ns.Page(ctx, n.UserID, all)
		require.NoError(t, err)
		require.Empty(t, got.Items)
		require.Zero(t, got.Total)
	})

	t.Run("forgets the oldest, a few at a time, deleted ones too", func(t *testing.T) {
		_, ns, now := start(t)
		user := id()
		for i := range 5 {
			n := newNotification(user, id(), now.Add(time.Duration(i)*time.Hour))
			require.NoError(t, ns.Add(ctx, n))
			if i == 0 {
				require.NoError(t, ns.Delete(ctx, user, n.ID, now))
			}
		}
		for _, want := range []int{2, 1, 0} {
			n, err := ns.Forget(ctx, now.Add(3*time.Hour), 2)
			require.NoError(t, err)
			require.Equal(t, want, n)
		}
		got, err := ns.Page(ctx, user, all)
		require.NoError(t, err)
		require.Equal(t, 2, got.Total)
	})
}

func activities(t *testing.T, open func(t testing.TB, clk clock.Clock) adapters.Storage) {
	ctx, id := context.Background(), stores.NewID
	start := func(t *testing.T) (jobseeker.Activities, time.Time) {
		t.Parallel()
		clk := kit.NewClock()
		return open(t, clk).Jobseeker.Activities, clk.Now().Add(1234567 * time.Microsecond)
	}
	t.Run("keeps one entry of an event, in the order of events", func(t *testing.T) {
		as, now := start(t)
		user := id()
		var want []jobseeker.Activity
		for i := range 5 {
			want = append([]jobseeker.Activity{{UserID: user, EventID: id(), Type: "application", Action: "applied", Description: fmt.Sprint("é% ", i), At: now.Add(-time.Duration(i) * time.Hour)}}, want...)
		}
		for i := range want { // the newest is told first
			require.NoError(t, as.Add(ctx, want[i]))
		}
		for i := range want {
			require.NoError(t, as.Add(ctx, want[i]))
		}
		require.NoError(t, as.Add(ctx, jobseeker.Activity{UserID: id(), EventID: want[0].EventID, At: now}))
		first, err := as.Page(ctx, user, page.Request{Number: 1, Size: 3})
		require.NoError(t, err)
		require.Equal(t, page.Result[jobseeker.Activity]{Items: want[:3], Total: 5, NextCursor: want[2].EventID}, first)
		rest, err := as.Page(ctx, user, page.Request{Number: 1, Size: 3, Cursor: first.NextCursor})
		require.NoError(t, err)
		require.Equal(t, want[3:], rest.Items)
		rest, err = as.Page(ctx, user, page.Request{Number: 2, Size: 3})
		require.NoError(t, err)
		require.Equal(t, want[3:], rest.Items)
	})
	t.Run("keeps the newest thousand of a user", func(t *testing.T) {
		t.Parallel()
		clk := kit.NewClock()
		s, now := open(t, clk), clk.Now()
		busy, other := id(), id()
		var events []string
		require.NoError(t, s.Jobseeker.Activities.Add(ctx, jobseeker.Activity{UserID: other, EventID: id(), At: now}))
		require.NoError(t, s.Identity.Tx.Do(ctx, func(ctx context.Context) error {
			events = nil
			for range jobseeker.MostActivities + 2 {
				events = append(events, id())
				if err := s.Jobseeker.Activities.Add(ctx, jobseeker.Activity{UserID: busy, EventID: events[len(events)-1], At: now}); err != nil {
					return err
				}
			}
			return nil
		}))
		require.NoError(t, s.Jobseeker.Activities.Add(ctx, jobseeker.Activity{UserID: busy, EventID: events[0], At: now}), "told once more, and too old")
		for user, want := range map[string]int{busy: jobseeker.MostActivities, other: 1} {
			got, err := s.Jobseeker.Activities.Page(ctx, user, page.Request{Number: 1, Size: 1})
			require.NoError(t, err)
			require.Equal(t, want, got.Total)
		}
		last, err := s.Jobseeker.Activities.Page(ctx, busy, page.Request{Number: jobseeker.MostActivities, Size: 1})
		require.NoError(t, err)
		require.Equal(t, events[2], last.Items[0].EventID)
	})
	t.Run("forgets the oldest, a few at a time", func(t *testing.T) {
		as, now := start(t)
		user := id()
		for i := range 5 {
			require.NoError(t, as.Add(ctx, jobseeker.Activity{UserID: user, EventID: id(), At: now.Add(time.Duration(i) * time.Hour)}))
		}
		for _, want := range []int{2, 1, 0} {
			n, err := as.Forget(ctx, now.Add(3*time.Hour), 2)
			require.NoError(t, err)
			require.Equal(t, want, n)
		}
		got, err := as.Page(ctx, user, page.Request{Number: 1, Size: 9})
		require.NoError(t, err)
		require.Equal(t, 2, got.Total)
	})
}
