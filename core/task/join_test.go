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

// runStore is a store that contains the running attempts, or fails with err.
type runStore struct {
	Store
	running []Run
	err     error
}

func (s runStore) Extend(_ context.Context, all []Run, _ time.Duration) (lost []Run, err error) {
	if s.err != nil {
		return nil, s.err
	}

	return slices.DeleteFunc(slices.Clone(all), func(r Run) bool { return slices.Contains(s.running, r) }), nil
}

func (s runStore) Start(context.Context, []string, time.Duration) (out []Task, err error) {
	for _, r := range s.running {
		out = append(out, Task{ID: r.ID, Attempt: r.Attempt})
	}

	return out, s.err
}

// TestJoin_Extend checks when a run is lost, so that its handler is cancelled: only if no store contains it.
// A store that fails may contain it, so that its runs continue.
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

			lost, err := Join(test.stores...).Extend(t.Context(), []Run{runA, runB, runC}, time.Second)
			require.ErrorIs(t, err, test.wantErr)
			require.Equal(t, test.wantLost, lost)
		})
	}
}

// TestJoin_StartWithAFailedStore_ReturnsTheOthers checks that an unavailable store does not stop the tasks of
// the others.
func TestJoin_StartWithAFailedStore_ReturnsTheOthers(t *testing.T) {
	t.Parallel()

	unavailable := errors.New("unavailable")
	started, err := Join(runStore{err: unavailable}, runStore{running: []Run{{"b", 1}}}).Start(t.Context(), nil, time.Second)
	require.NoError(t, err)
	require.Len(t, started, 1)

	started, err = Join(runStore{err: unavailable}, runStore{}).Start(t.Context(), []string{"a"}, time.Second)
	require.NoError(t, err, "one store that responds is enough")
	require.Empty(t, started)

	_, err = Join(runStore{err: unavailable}, runStore{err: unavailable}).Start(t.Context(), nil, time.Second)
	require.ErrorIs(t, err, unavailable)
}

func TestJoin_OneStore_ReturnsTheStore(t *testing.T) {
	t.Parallel()

	store := runStore{}
	require.Equal(t, Store(store), Join(store))
}

// TestJoin_LeaseEnded_TaskIsForgotten checks that the memory of started tasks does not grow: a task
// is removed when its lease was not renewed for more than 4 leases. The test waits for 15 heartbeats
// of a third of a lease, which are 5 leases.
func TestJoin_LeaseEnded_TaskIsForgotten(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, b := Run{"a", 1}, Run{"b", 1}
		j := Join(runStore{running: []Run{a, b}}, runStore{}).(*joinedStore)
		_, err := j.Start(t.Context(), []string{"a", "b"}, lease)
		require.NoError(t, err)

		for range 15 {
			time.Sleep(heartbeat)

			_, err = j.Extend(t.Context(), []Run{b}, lease)
			require.NoError(t, err)
		}

		require.Len(t, j.started, 1)
		require.Contains(t, j.started, "b")
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
	return hangingStore{runStore: runStore{running: running}, hangs: new(atomic.Bool), calls: new(atomic.Int32), recordedIDs: new([]string)}
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

func (s hangingStore) Due(ctx context.Context, _ int) (out []Reference, err error) {
	if err := s.respond(ctx); err != nil {
		return nil, err
	}

	for _, r := range s.running {
		out = append(out, Reference{ID: r.ID})
	}

	return out, nil
}

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
// its timeout, is then not called for a while, and is called again after it.
func TestJoin_AStoreHangs_TheOthersAreDelayedOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store, b := newHangingStore(Run{"a", 1}), newHangingStore(Run{"b", 1})
		j := Join(store, b)
		countDue := func() (n int, took time.Duration) {
			begin := time.Now()
			refs, err := j.Due(t.Context(), 10)
			require.NoError(t, err)

			return len(refs), time.Since(begin)
		}

		store.hangs.Store(true)

		for _, want := range []time.Duration{joinTimeout, 0, 0} {
			n, took := countDue()
			require.Equal(t, 1, n)
			require.Equal(t, want, took)
		}

		require.EqualValues(t, 1, store.calls.Load())
		store.hangs.Store(false)
		time.Sleep(suspendFor)

		n, took := countDue()
		require.Equal(t, 2, n)
		require.Zero(t, took)
	})
}

// TestJoin_RecordOutcomesWithAHangingStore_StoresTheOthersOnce checks that the outcomes of one batch that were
// stored are not stored again when the others are retried.
func TestJoin_RecordOutcomesWithAHangingStore_StoresTheOthersOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store, b := newHangingStore(Run{"a", 1}), newHangingStore(Run{"b", 1})
		runner := &Runner{Deps: Deps{Store: Join(store, b)}}
		_, err := runner.Store.Start(t.Context(), []string{"a", "b"}, time.Minute)
		require.NoError(t, err)

		outcomes := []Outcome{{Run: Run{"a", 1}, State: Done}, {Run: Run{"b", 1}, State: Done}}

		store.hangs.Store(true)

		errs, err := runner.recordBatch(t.Context(), outcomes)
		require.NoError(t, err)
		require.ErrorIs(t, errs[0], context.DeadlineExceeded)
		require.NoError(t, errs[1])

		store.hangs.Store(false)
		time.Sleep(suspendFor)

		errs, err = runner.recordBatch(t.Context(), outcomes[:1])
		require.NoError(t, errors.Join(append(errs, err)...))
		require.Equal(t, []string{"a"}, *store.recordedIDs)
		require.Equal(t, []string{"b"}, *b.recordedIDs)
		require.EqualValues(t, 1, b.calls.Load())
	})
}
