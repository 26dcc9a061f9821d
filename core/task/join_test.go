package task

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// The tests of this file join stores of tasks to one. A run is an attempt to execute a task. A process that runs a task
// holds a lease on it, a time for which no other process starts the task, and extends the lease at each heartbeat.

// runStore is a store that contains the running attempts, or fails with err.
type runStore struct {
	Store
	running []Run
	err     error
}

// Extend returns the runs that the store does not contain.
func (s runStore) Extend(_ context.Context, runs []Run, _ time.Duration) (lost []Run, err error) {
	if s.err != nil {
		return nil, s.err
	}

	isRunning := func(r Run) bool { return slices.Contains(s.running, r) }

	return slices.DeleteFunc(slices.Clone(runs), isRunning), nil
}

// Start returns the tasks of all runs that the store contains, whichever tasks the caller asks for.
func (s runStore) Start(context.Context, []string, time.Duration) (started []Task, err error) {
	for _, r := range s.running {
		started = append(started, Task{ID: r.ID, Attempt: r.Attempt})
	}

	return started, s.err
}

// TestJoin_Extend checks which runs the joined store reports as lost; their handlers are cancelled then. A run is lost
// only if no store contains it. A store that fails may contain it, so that the run continues.
func TestJoin_Extend(t *testing.T) {
	t.Parallel()

	runA := Run{ID: "a", Attempt: 1}
	runB := Run{ID: "b", Attempt: 2}
	runC := Run{ID: "c", Attempt: 1}

	unavailable := errors.New("unavailable")
	for name, test := range map[string]struct {
		stores   []Store
		wantLost []Run
		wantErr  error
	}{
		"each run has a store": {
			stores:   []Store{runStore{running: []Run{runA}}, runStore{running: []Run{runB, runC}}},
			wantLost: []Run{},
		},
		"a run has no store": {
			stores:   []Store{runStore{running: []Run{runA}}, runStore{running: []Run{runB}}},
			wantLost: []Run{runC},
		},
		"the first store fails": {
			stores:   []Store{runStore{err: unavailable}, runStore{running: []Run{runB}}},
			wantLost: []Run{},
			wantErr:  unavailable,
		},
		"the last store fails": {
			stores:   []Store{runStore{running: []Run{runB}}, runStore{err: unavailable}},
			wantLost: []Run{},
			wantErr:  unavailable,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			joined := Join(test.stores...)
			lost, err := joined.Extend(t.Context(), []Run{runA, runB, runC}, lease)
			require.ErrorIs(t, err, test.wantErr)
			require.Equal(t, test.wantLost, lost)
		})
	}
}

// TestJoin_StartWithAFailedStore_ReturnsTheOthers checks that an unavailable store does not stop the tasks of
// the others. Start fails only if no store responds.
func TestJoin_StartWithAFailedStore_ReturnsTheOthers(t *testing.T) {
	t.Parallel()

	unavailable := errors.New("unavailable")
	failed := runStore{err: unavailable}
	empty := runStore{}
	withTask := runStore{running: []Run{{ID: "a", Attempt: 1}}}
	ids := []string{"a"}

	started, err := Join(failed, withTask).Start(t.Context(), ids, lease)
	require.NoError(t, err)
	require.Equal(t, []Task{{ID: "a", Attempt: 1}}, started)

	started, err = Join(failed, empty).Start(t.Context(), ids, lease)
	require.NoError(t, err, "one store that responds is enough")
	require.Empty(t, started)

	_, err = Join(failed, failed).Start(t.Context(), ids, lease)
	require.ErrorIs(t, err, unavailable)
}

// TestJoin_OneStore_ReturnsTheStore checks that nothing is wrapped around a single store.
func TestJoin_OneStore_ReturnsTheStore(t *testing.T) {
	t.Parallel()

	store := runStore{}
	require.Equal(t, Store(store), Join(store))
}

// TestJoin_LeaseEnded_TaskIsForgotten checks that the memory of started tasks does not grow: a task
// is removed when its lease was not renewed for more than 4 leases. Time is simulated: Sleep returns at once.
func TestJoin_LeaseEnded_TaskIsForgotten(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		// Start two tasks.
		forgotten, renewed := Run{ID: "forgotten", Attempt: 1}, Run{ID: "renewed", Attempt: 1}
		joined := Join(runStore{running: []Run{forgotten, renewed}}, runStore{}).(*joinedStore)
		_, err := joined.Start(t.Context(), []string{forgotten.ID, renewed.ID}, lease)
		require.NoError(t, err)

		// For five leases, renew the lease of only one of them at each heartbeat.
		for range 5 * lease / heartbeat {
			time.Sleep(heartbeat)

			_, err = joined.Extend(t.Context(), []Run{renewed}, lease)
			require.NoError(t, err)
		}

		require.Len(t, joined.started, 1)
		require.Contains(t, joined.started, renewed.ID)
	})
}

// hangingStore is a store that does not respond while hangs is true.
type hangingStore struct {
	runStore
	hangs       *atomic.Bool
	calls       *atomic.Int32 // the number of calls, answered or not
	recordedIDs *[]string     // the tasks whose outcomes were stored
}

// newHangingStore returns a store with the running attempts, which responds until hangs is set.
func newHangingStore(running ...Run) hangingStore {
	return hangingStore{
		runStore:    runStore{running: running},
		hangs:       new(atomic.Bool),
		calls:       new(atomic.Int32),
		recordedIDs: new([]string),
	}
}

// respond counts a call, and waits until it is cancelled while the store hangs.
func (s hangingStore) respond(ctx context.Context) error {
	s.calls.Add(1)

	if s.hangs.Load() {
		<-ctx.Done()
		return ctx.Err()
	}

	return nil
}

// Due returns references to all tasks of the store.
func (s hangingStore) Due(ctx context.Context, _ int) (due []Reference, err error) {
	if err := s.respond(ctx); err != nil {
		return nil, err
	}

	for _, r := range s.running {
		due = append(due, Reference{ID: r.ID})
	}

	return due, nil
}

// RecordOutcomes notes the tasks whose outcomes are stored.
func (s hangingStore) RecordOutcomes(ctx context.Context, outcomes ...Outcome) error {
	if err := s.respond(ctx); err != nil {
		return err
	}

	for _, o := range outcomes {
		*s.recordedIDs = append(*s.recordedIDs, o.ID)
	}

	return nil
}

// TestJoin_AStoreHangs_TheOthersAreDelayedOnce checks that a store that does not respond delays one call by
// its timeout, is then not called for a while, and is called again after it. Time is simulated, so that the test knows
// exactly how long each call takes.
func TestJoin_AStoreHangs_TheOthersAreDelayedOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		hanging, healthy := newHangingStore(Run{ID: "a", Attempt: 1}), newHangingStore(Run{ID: "b", Attempt: 1})
		joined := Join(hanging, healthy)
		countDue := func() (tasks int, took time.Duration) {
			const maxTasks = 10 // more than the stores contain

			begin := time.Now()
			due, err := joined.Due(t.Context(), maxTasks)
			require.NoError(t, err)

			return len(due), time.Since(begin)
		}

		// While a store hangs, only the first call waits for it. Each call returns the task of the other store.
		hanging.hangs.Store(true)

		for i, wantTook := range []time.Duration{joinTimeout, 0, 0} {
			tasks, took := countDue()
			require.Equal(t, 1, tasks, "call %d", i)
			require.Equal(t, wantTook, took, "call %d", i)
		}

		require.EqualValues(t, 1, hanging.calls.Load())

		// When the store responds again and its suspension has ended, the tasks of both stores are returned.
		hanging.hangs.Store(false)
		time.Sleep(suspendFor)

		tasks, took := countDue()
		require.Equal(t, 2, tasks)
		require.Zero(t, took)
	})
}

// TestJoin_RecordOutcomesWithAHangingStore_StoresTheOthersOnce checks that the outcomes of one batch that were
// stored are not stored again when the others are retried.
func TestJoin_RecordOutcomesWithAHangingStore_StoresTheOthersOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		// Start a task of each of two stores.
		runA, runB := Run{ID: "a", Attempt: 1}, Run{ID: "b", Attempt: 1}
		hanging, healthy := newHangingStore(runA), newHangingStore(runB)
		runner := &Runner{Deps: Deps{Store: Join(hanging, healthy)}}
		_, err := runner.Store.Start(t.Context(), []string{runA.ID, runB.ID}, lease)
		require.NoError(t, err)

		// Record the outcomes of both in one batch, while one of the stores hangs.
		outcomeA, outcomeB := Outcome{Run: runA, State: Done}, Outcome{Run: runB, State: Done}

		hanging.hangs.Store(true)

		errs, err := runner.recordBatch(t.Context(), []Outcome{outcomeA, outcomeB})
		require.NoError(t, err, "the batch did not fail as a whole")
		require.ErrorIs(t, errs[0], context.DeadlineExceeded, "the outcome of the hanging store is not stored")
		require.NoError(t, errs[1], "the other outcome is stored")

		// Record the failed outcome again, when the store responds and its suspension has ended.
		hanging.hangs.Store(false)
		time.Sleep(suspendFor)

		errs, err = runner.recordBatch(t.Context(), []Outcome{outcomeA})
		require.NoError(t, err)
		require.NoError(t, errors.Join(errs...))
		require.Equal(t, []string{runA.ID}, *hanging.recordedIDs)
		require.Equal(t, []string{runB.ID}, *healthy.recordedIDs)
		require.EqualValues(t, 1, healthy.calls.Load(), "the other store was called for the first batch only")
	})
}
