package conformance

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/core/event"
)

// Events checks the ports tx.Runner, event.Recorder and event.Outbox of a database: an
// event exists if and only if its change does.
func Events(t *testing.T, open DatabaseOpener) {
	suite := eventSuite{open}
	t.Run("committed event", suite.committedEvent)
	t.Run("rollback", suite.rollback)
	t.Run("panic", suite.panic)
	t.Run("event outside a transaction", suite.eventOutsideATransaction)
	t.Run("nested transaction", suite.nestedTransaction)
	t.Run("order and limit of claims", suite.orderAndLimitOfClaims)
	t.Run("expired lease", suite.expiredLease)
	t.Run("sent events", suite.sentEvents)
	t.Run("concurrent claims", suite.concurrentClaims)
	t.Run("order within a subject", suite.orderWithinASubject)
	t.Run("notification of a commit", suite.notificationOfACommit)
	t.Run("lag", suite.lag)
	t.Run("retention", suite.retention)
}

// eventSuite has the subtests of Events.
type eventSuite struct {
	open DatabaseOpener
}

// fresh returns an empty database and its clock.
func (suite eventSuite) fresh(t *testing.T) (adapters.Database, *fakeClock) {
	t.Helper()
	t.Parallel()

	clk := newFakeClock()
	database := suite.open(t, clk)
	requirePorts(t, database)

	return database, clk
}

// record records the events in a transaction.
func (suite eventSuite) record(t *testing.T, database adapters.Database, events ...event.Event) {
	t.Helper()
	require.NoError(t, database.Tx.Do(t.Context(),
		func(ctx context.Context) error { return database.Events.Record(ctx, events...) }))
}

// claim claims at most n events for a minute.
func (suite eventSuite) claim(t *testing.T, database adapters.Database, n int) []event.Envelope {
	t.Helper()

	got, err := database.Outbox.Claim(t.Context(), n, time.Minute)
	require.NoError(t, err)

	return got
}

// committedEvent checks that an event is claimed with its type, subject, time and content. The
// subject of an application's events is the application.
func (suite eventSuite) committedEvent(t *testing.T) {
	database, clk := suite.fresh(t)
	want := event.ApplicationSubmitted{
		ApplicationID:  "a",
		JobID:          "j",
		OrganizationID: "o",
		CandidateID:    "c",
		Status:         "pending",
		SubmittedAt:    clk.Now(),
	}
	suite.record(t, database, want)

	got := suite.claim(t, database, 10)
	require.Len(t, got, 1)
	require.Equal(t, "application.submitted", got[0].Type)
	require.Equal(t, "a", got[0].Subject)
	require.Equal(t, 1, got[0].Attempt)
	require.True(t, clk.Now().Equal(got[0].RecordedAt))

	decoded, err := event.Decode[event.ApplicationSubmitted](got[0])
	require.NoError(t, err)
	require.Equal(t, want, decoded)
}

// rollback checks that a transaction that fails records no event.
func (suite eventSuite) rollback(t *testing.T) {
	database, _ := suite.fresh(t)
	errFailed := errors.New("boom")
	require.ErrorIs(t, database.Tx.Do(t.Context(), func(ctx context.Context) error {
		require.NoError(t, database.Events.Record(ctx, event.JobCreated{JobID: "j"}))
		return errFailed
	}), errFailed)
	require.Empty(t, suite.claim(t, database, 10))
}

// panic checks that a panic rolls back the transaction and releases its locks.
func (suite eventSuite) panic(t *testing.T) {
	database, _ := suite.fresh(t)
	require.Panics(t, func() {
		_ = database.Tx.Do(t.Context(), func(ctx context.Context) error {
			require.NoError(t, database.Events.Record(ctx, event.JobCreated{JobID: "j"}))
			panic("boom")
		})
	})

	require.Empty(t, suite.claim(t, database, 10))
	suite.record(t, database, event.JobCreated{JobID: "k"}) // no lock is left behind
}

// eventOutsideATransaction checks that an event without a transaction is an error, because it
// could not be tied to its change.
func (suite eventSuite) eventOutsideATransaction(t *testing.T) {
	database, _ := suite.fresh(t)
	require.Error(t, database.Events.Record(t.Context(), event.JobCreated{JobID: "j"}))
	require.Empty(t, suite.claim(t, database, 10))
}

// nestedTransaction checks that an inner transaction is a part of the outer one: if the outer
// one fails, the event of the inner one is not recorded.
func (suite eventSuite) nestedTransaction(t *testing.T) {
	database, _ := suite.fresh(t)
	require.Error(t, database.Tx.Do(t.Context(), func(ctx context.Context) error {
		require.NoError(t, database.Tx.Do(ctx,
			func(ctx context.Context) error { return database.Events.Record(ctx, event.JobCreated{JobID: "j"}) }))
		return errors.New("boom")
	}))
	require.Empty(t, suite.claim(t, database, 10))
}

// orderAndLimitOfClaims checks that events are claimed in the order of their recording, and
// each by one claim.
func (suite eventSuite) orderAndLimitOfClaims(t *testing.T) {
	database, _ := suite.fresh(t)
	for i := range 5 {
		suite.record(t, database, event.JobCreated{JobID: fmt.Sprint(i)})
	}

	first := suite.claim(t, database, 3)
	require.Len(t, first, 3)

	for i, e := range first {
		require.Equal(t, fmt.Sprint(i), e.Subject)
	}

	require.Len(t, suite.claim(t, database, 3), 2)
}

// expiredLease checks that an event of a relay that has crashed is claimed again, with the
// number of the attempt.
func (suite eventSuite) expiredLease(t *testing.T) {
	database, clk := suite.fresh(t)
	suite.record(t, database, event.JobCreated{JobID: "j"})
	require.Len(t, suite.claim(t, database, 10), 1)
	require.Empty(t, suite.claim(t, database, 10))
	clk.Advance(time.Minute)

	second := suite.claim(t, database, 10)
	require.Len(t, second, 1)
	require.Equal(t, 2, second[0].Attempt)
}

// sentEvents checks that a sent event is never claimed again. An unknown id is ignored.
func (suite eventSuite) sentEvents(t *testing.T) {
	database, clk := suite.fresh(t)
	suite.record(t, database, event.JobCreated{JobID: "j"}, event.JobUpdated{JobID: "k"})

	got := suite.claim(t, database, 10)
	require.Len(t, got, 2)
	require.NoError(t, database.Outbox.MarkSent(t.Context(), got[0].ID, "00000000-0000-7000-8000-000000000000"))
	clk.Advance(time.Hour)

	remaining := suite.claim(t, database, 10)
	require.Len(t, remaining, 1)
	require.Equal(t, got[1].ID, remaining[0].ID)
}

// concurrentClaims checks that concurrent relays claim each event once.
func (suite eventSuite) concurrentClaims(t *testing.T) {
	database, _ := suite.fresh(t)
	const total, claimers = 200, 8

	events := make([]event.Event, total)
	for i := range events {
		events[i] = event.JobCreated{JobID: fmt.Sprint(i)}
	}

	suite.record(t, database, events...)
	var mu sync.Mutex
	seenIDs := map[string]int{}

	var claiming sync.WaitGroup
	for range claimers {
		claiming.Go(func() {
			for {
				got, err := database.Outbox.Claim(context.Background(), 7, time.Minute)
				if err != nil {
					t.Error(err)
					return
				}

				if len(got) == 0 {
					return
				}

				mu.Lock()
				for _, e := range got {
					seenIDs[e.ID]++
				}

				mu.Unlock()
			}
		})
	}

	claiming.Wait()

	// A claimer may end early if others have locked all remaining events: claim those that are left.
	for _, e := range suite.claim(t, database, total) {
		seenIDs[e.ID]++
	}

	require.Len(t, seenIDs, total)

	for id, n := range seenIDs {
		require.Equal(t, 1, n, id)
	}
}

// orderWithinASubject checks that an event is not claimed while an earlier event of the same
// subject is leased, so that its consumers see the events in order.
func (suite eventSuite) orderWithinASubject(t *testing.T) {
	database, clk := suite.fresh(t)
	suite.record(t, database, event.JobCreated{JobID: "j"}, event.JobUpdated{JobID: "j"}, event.JobCreated{JobID: "k"},
		event.JobClosed{JobID: "j"})

	first := suite.claim(t, database, 1)
	require.Equal(t, "job.created", first[0].Type)

	other := suite.claim(t, database, 10)
	require.Len(t, other, 1, "later events of the same subject wait for it, and events of other subjects do not")
	require.Equal(t, "k", other[0].Subject)
	require.NoError(t, database.Outbox.MarkSent(t.Context(), first[0].ID))

	remaining := suite.claim(t, database, 10)
	require.Len(t, remaining, 2)
	require.Equal(t, []string{"job.updated", "job.closed"}, []string{remaining[0].Type, remaining[1].Type})
	clk.Advance(time.Minute)
	require.Len(t, suite.claim(t, database, 10), 3, "expired leases block no event")
}

// notificationOfACommit checks that every listener is notified of a commit.
func (suite eventSuite) notificationOfACommit(t *testing.T) {
	database, _ := suite.fresh(t)
	ctx, stop := context.WithCancel(t.Context())
	first, second := database.Outbox.Notifications(ctx), database.Outbox.Notifications(t.Context())
	suite.record(t, database, event.JobCreated{JobID: "j"})

	for _, notifications := range []<-chan struct{}{first, second} {
		select {
		case <-notifications:
		case <-time.After(5 * time.Second):
			require.Fail(t, "no notification")
		}
	}

	stop()
}

// lag checks the number of the events that are not sent, and the time of the oldest one.
func (suite eventSuite) lag(t *testing.T) {
	database, clk := suite.fresh(t)
	lag := func() (int, time.Time) {
		n, oldest, err := database.Outbox.Lag(t.Context())
		require.NoError(t, err)
		return n, oldest
	}

	n, oldest := lag()
	require.Zero(t, n)
	require.True(t, oldest.IsZero())

	first := clk.Now()

	suite.record(t, database, event.JobCreated{JobID: "j"})
	clk.Advance(time.Minute)
	suite.record(t, database, event.JobCreated{JobID: "k"})

	n, oldest = lag()
	require.Equal(t, 2, n)
	require.True(t, first.Equal(oldest))
	require.NoError(t, database.Outbox.MarkSent(t.Context(), suite.claim(t, database, 1)[0].ID))

	n, oldest = lag()
	require.Equal(t, 1, n)
	require.True(t, clk.Now().Equal(oldest))
}

// retention checks that sent events are deleted in batches, and that unsent ones are kept.
func (suite eventSuite) retention(t *testing.T) {
	database, clk := suite.fresh(t)
	suite.record(t, database, event.JobCreated{JobID: "a"}, event.JobCreated{JobID: "b"},
		event.JobCreated{JobID: "c"}, event.JobCreated{JobID: "unsent"})

	for _, e := range suite.claim(t, database, 3) {
		require.NoError(t, database.Outbox.MarkSent(t.Context(), e.ID))
	}

	deleteBefore := func(before time.Time) int {
		n, err := retentionOf(t, database.Retention).DeleteBefore(t.Context(), event.Sent, before, 2)
		require.NoError(t, err)
		return n
	}

	require.Zero(t, deleteBefore(clk.Now()))
	clk.Advance(time.Hour)
	require.Equal(t, 2, deleteBefore(clk.Now()))
	require.Equal(t, 1, deleteBefore(clk.Now()))
	require.Zero(t, deleteBefore(clk.Now()))
	require.Len(t, suite.claim(t, database, 10), 1, "unsent events are kept")
}

// Schema checks the port adapters.Schema: every migration can be reverted and applied
// again.
func Schema(t *testing.T, open DatabaseOpener) {
	t.Run("revert and apply all migrations", func(t *testing.T) {
		t.Parallel()

		s := open(t, newFakeClock()).Schema
		if s == nil {
			t.Skip("the storage has no schema")
		}

		require.NoError(t, s.Check(t.Context()))

		steps, err := s.Status(t.Context())
		require.NoError(t, err)

		for range steps {
			_, err := s.Down(t.Context())
			require.NoError(t, err)
			require.Error(t, s.Check(t.Context()), "an old schema is noticed")
		}

		applied, err := s.Up(t.Context())
		require.NoError(t, err)
		require.Len(t, applied, len(steps))
		require.NoError(t, s.Check(t.Context()))

		applied, err = s.Up(t.Context())
		require.NoError(t, err)
		require.Empty(t, applied)
	})
}
