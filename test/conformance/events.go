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

// Events checks the ports tx.Runner, event.Recorder and event.Outbox of a database. A transaction records the events of
// its changes in the outbox. A relay claims recorded events, publishes them and marks them as sent. A claim is a lease:
// when it expires, the events can be claimed again. The subject of an event is the object that has changed.
func Events(t *testing.T, open DatabaseOpener) {
	suite := eventSuite{open: open}
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

// fresh returns an empty database and its clock. It lets the subtest run in parallel.
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

// claim claims at most n events, with a lease of a minute.
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

	claimed := suite.claim(t, database, wholeList)
	require.Len(t, claimed, 1)

	envelope := claimed[0]
	require.Equal(t, "application.submitted", envelope.Type)
	require.Equal(t, "a", envelope.Subject)
	require.Equal(t, 1, envelope.Attempt)
	require.True(t, clk.Now().Equal(envelope.RecordedAt))

	decoded, err := event.Decode[event.ApplicationSubmitted](envelope)
	require.NoError(t, err)
	require.Equal(t, want, decoded)
}

// rollback checks that a transaction that fails records no event.
func (suite eventSuite) rollback(t *testing.T) {
	database, _ := suite.fresh(t)
	errRollback := errors.New("roll back")
	err := database.Tx.Do(t.Context(), func(ctx context.Context) error {
		require.NoError(t, database.Events.Record(ctx, event.JobCreated{JobID: "j"}))
		return errRollback
	})
	require.ErrorIs(t, err, errRollback)
	require.Empty(t, suite.claim(t, database, wholeList))
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

	require.Empty(t, suite.claim(t, database, wholeList))

	// The next transaction does not wait for a lock of the first one.
	suite.record(t, database, event.JobCreated{JobID: "k"})
}

// eventOutsideATransaction checks that Record fails without a transaction, in which the event would be stored
// together with its change.
func (suite eventSuite) eventOutsideATransaction(t *testing.T) {
	database, _ := suite.fresh(t)
	require.Error(t, database.Events.Record(t.Context(), event.JobCreated{JobID: "j"}))
	require.Empty(t, suite.claim(t, database, wholeList))
}

// nestedTransaction checks that an inner transaction is a part of the outer one: if the outer
// one fails, the event of the inner one is not recorded.
func (suite eventSuite) nestedTransaction(t *testing.T) {
	database, _ := suite.fresh(t)
	errRollback := errors.New("roll back")
	err := database.Tx.Do(t.Context(), func(ctx context.Context) error {
		require.NoError(t, database.Tx.Do(ctx,
			func(ctx context.Context) error { return database.Events.Record(ctx, event.JobCreated{JobID: "j"}) }))
		return errRollback
	})
	require.Error(t, err)
	require.Empty(t, suite.claim(t, database, wholeList))
}

// orderAndLimitOfClaims checks that a claim returns the events that were recorded first, at most as many as its
// limit. The next claim returns the others. The subject of a created job is its id.
func (suite eventSuite) orderAndLimitOfClaims(t *testing.T) {
	database, _ := suite.fresh(t)
	const total, limit = 5, 3

	for i := range total {
		suite.record(t, database, event.JobCreated{JobID: fmt.Sprint(i)})
	}

	first := suite.claim(t, database, limit)
	require.Len(t, first, limit)

	for i, envelope := range first {
		require.Equal(t, fmt.Sprint(i), envelope.Subject)
	}

	require.Len(t, suite.claim(t, database, limit), total-limit)
}

// expiredLease checks that an event that was claimed by a relay that has crashed can be claimed again after the
// lease, with the number of the attempt.
func (suite eventSuite) expiredLease(t *testing.T) {
	database, clk := suite.fresh(t)
	suite.record(t, database, event.JobCreated{JobID: "j"})
	require.Len(t, suite.claim(t, database, wholeList), 1)
	require.Empty(t, suite.claim(t, database, wholeList), "the event is leased")

	clk.Advance(time.Minute)

	second := suite.claim(t, database, wholeList)
	require.Len(t, second, 1)
	require.Equal(t, 2, second[0].Attempt)
}

// sentEvents checks that a sent event is not claimed again, while an event that was claimed, but not sent, is. MarkSent
// ignores an unknown id.
func (suite eventSuite) sentEvents(t *testing.T) {
	database, clk := suite.fresh(t)
	suite.record(t, database, event.JobCreated{JobID: "j"}, event.JobUpdated{JobID: "k"})

	claimed := suite.claim(t, database, wholeList)
	require.Len(t, claimed, 2)

	sent, unsent := claimed[0], claimed[1]
	const unknownID = "00000000-0000-7000-8000-000000000000"
	require.NoError(t, database.Outbox.MarkSent(t.Context(), sent.ID, unknownID))
	clk.Advance(time.Hour)

	remaining := suite.claim(t, database, wholeList)
	require.Len(t, remaining, 1)
	require.Equal(t, unsent.ID, remaining[0].ID)
}

// concurrentClaims checks that concurrent relays claim each event once.
func (suite eventSuite) concurrentClaims(t *testing.T) {
	database, _ := suite.fresh(t)
	const total, claimers, batchSize = 200, 8, 7

	events := make([]event.Event, total)
	for i := range events {
		events[i] = event.JobCreated{JobID: fmt.Sprint(i)}
	}

	suite.record(t, database, events...)
	var mu sync.Mutex
	claimsByID := map[string]int{}

	var claiming sync.WaitGroup
	for range claimers {
		claiming.Go(func() {
			for {
				claimed, err := database.Outbox.Claim(context.Background(), batchSize, time.Minute)
				if err != nil {
					t.Error(err)
					return
				}

				if len(claimed) == 0 {
					return
				}

				mu.Lock()
				for _, envelope := range claimed {
					claimsByID[envelope.ID]++
				}

				mu.Unlock()
			}
		})
	}

	claiming.Wait()

	// A claimer ends early if the others have locked all remaining events. So a last call claims those.
	for _, envelope := range suite.claim(t, database, total) {
		claimsByID[envelope.ID]++
	}

	require.Len(t, claimsByID, total)

	for id, claims := range claimsByID {
		require.Equal(t, 1, claims, "claims of event %s", id)
	}
}

// orderWithinASubject checks that an event is not claimed while an earlier event of the same
// subject is leased, so that consumers see the events of a subject in order. Events of other subjects do not wait.
func (suite eventSuite) orderWithinASubject(t *testing.T) {
	database, clk := suite.fresh(t)
	suite.record(t, database,
		event.JobCreated{JobID: "j"}, event.JobUpdated{JobID: "j"}, event.JobCreated{JobID: "k"}, event.JobClosed{JobID: "j"})

	// The first event of job j is leased. Only that of job k can be claimed.
	firstOfJ := suite.claim(t, database, 1)
	require.Equal(t, "job.created", firstOfJ[0].Type)

	ofK := suite.claim(t, database, wholeList)
	require.Len(t, ofK, 1, "later events of job j wait")
	require.Equal(t, "k", ofK[0].Subject)

	// After the first event of job j is sent, its other events are claimed together.
	require.NoError(t, database.Outbox.MarkSent(t.Context(), firstOfJ[0].ID))

	nextOfJ := suite.claim(t, database, wholeList)
	require.Len(t, nextOfJ, 2)
	require.Equal(t, []string{"job.updated", "job.closed"}, []string{nextOfJ[0].Type, nextOfJ[1].Type})

	clk.Advance(time.Minute)
	require.Len(t, suite.claim(t, database, wholeList), 3, "expired leases block no event")
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

// lag checks that Lag returns the number of the events that are not sent, and the time of the oldest one, or zero if
// there is none.
func (suite eventSuite) lag(t *testing.T) {
	database, clk := suite.fresh(t)
	lag := func() (unsent int, oldest time.Time) {
		unsent, oldest, err := database.Outbox.Lag(t.Context())
		require.NoError(t, err)
		return unsent, oldest
	}

	unsent, oldest := lag()
	require.Zero(t, unsent)
	require.True(t, oldest.IsZero(), "no event is recorded")

	// Two events are recorded, a minute apart.
	firstAt := clk.Now()

	suite.record(t, database, event.JobCreated{JobID: "j"})
	clk.Advance(time.Minute)
	suite.record(t, database, event.JobCreated{JobID: "k"})

	unsent, oldest = lag()
	require.Equal(t, 2, unsent)
	require.True(t, firstAt.Equal(oldest), "the first event is the oldest")

	// The first event is claimed and sent.
	claimed := suite.claim(t, database, 1)
	require.NoError(t, database.Outbox.MarkSent(t.Context(), claimed[0].ID))

	unsent, oldest = lag()
	require.Equal(t, 1, unsent)
	require.True(t, clk.Now().Equal(oldest), "the second event is the oldest")
}

// retention checks that events are deleted that were sent before a given time, at most as many per call as the limit
// says. Unsent events are kept.
func (suite eventSuite) retention(t *testing.T) {
	database, clk := suite.fresh(t)
	suite.record(t, database, event.JobCreated{JobID: "a"}, event.JobCreated{JobID: "b"},
		event.JobCreated{JobID: "c"}, event.JobCreated{JobID: "unsent"})

	// The first three events are sent.
	for _, envelope := range suite.claim(t, database, 3) {
		require.NoError(t, database.Outbox.MarkSent(t.Context(), envelope.ID))
	}

	const limit = 2
	deleteBefore := func(before time.Time) int {
		deleted, err := retentionOf(t, database.Retention).DeleteBefore(t.Context(), event.Sent, before, limit)
		require.NoError(t, err)
		return deleted
	}

	require.Zero(t, deleteBefore(clk.Now()), "the events were sent at this time, not before")

	// An hour later, three calls delete two, one and none of the three sent events.
	clk.Advance(time.Hour)
	require.Equal(t, 2, deleteBefore(clk.Now()))
	require.Equal(t, 1, deleteBefore(clk.Now()))
	require.Zero(t, deleteBefore(clk.Now()))
	require.Len(t, suite.claim(t, database, wholeList), 1, "unsent events are kept")
}

// Schema checks the port adapters.Schema: every migration can be reverted and applied
// again. Check reports whether the schema is current. A second Up applies nothing.
func Schema(t *testing.T, open DatabaseOpener) {
	t.Run("revert and apply all migrations", func(t *testing.T) {
		t.Parallel()

		schema := open(t, newFakeClock()).Schema
		if schema == nil {
			t.Skip("the storage has no schema")
		}

		require.NoError(t, schema.Check(t.Context()))

		// Each Down reverts one migration.
		migrations, err := schema.Status(t.Context())
		require.NoError(t, err)

		for range migrations {
			_, err := schema.Down(t.Context())
			require.NoError(t, err)
			require.Error(t, schema.Check(t.Context()), "the schema is not current")
		}

		// One Up applies all of them.
		applied, err := schema.Up(t.Context())
		require.NoError(t, err)
		require.Len(t, applied, len(migrations))
		require.NoError(t, schema.Check(t.Context()))

		applied, err = schema.Up(t.Context())
		require.NoError(t, err)
		require.Empty(t, applied)
	})
}
