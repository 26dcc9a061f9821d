package task

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"
)

// Join returns a store that contains the tasks of all given stores. No two stores may use
// the same task ids. New tasks are added to the first store.
//
// The stores are called concurrently. A store that does not respond delays a call for at
// most joinTimeout, and is then suspended: it is not called for the time of suspendFor.
func Join(stores ...Store) Store {
	if len(stores) == 1 {
		return stores[0]
	}

	j := &joinedStore{started: map[string]startedTask{}}
	for _, store := range stores {
		j.members = append(j.members, &member{Store: store})
	}

	return j
}

const (
	// joinTimeout is the longest time for which a call waits for one store. It is well below the
	// lease, which is the time for which a process holds a task unless it extends the lease. A
	// longer wait for one store could end the leases of running tasks in the other stores.
	joinTimeout = 3 * time.Second
	// suspendFor is the time for which a store is not called after it has not responded.
	suspendFor = 5 * time.Second
)

// joinedStore is the Store that Join returns. It remembers in which store a task is that this process has
// started, because the id of a task does not show its store.
type joinedStore struct {
	members []*member

	mu      sync.Mutex
	started map[string]startedTask // by task id, until the outcome is stored
}

// startedTask is a task that this process has started.
type startedTask struct {
	store    *member
	leasedAt time.Time // when the task was started or its lease was last renewed
}

// member is one of the stores that are joined. While it is suspended, it is not called.
type member struct {
	Store
	mu             sync.Mutex
	suspendedUntil time.Time
}

// errSuspended is the error of calls to a store while it is suspended.
var errSuspended = errors.New("the store has not responded")

// call calls fn with a timeout of joinTimeout. It suspends a store that exceeds the
// timeout, and fails at once while the store is suspended.
func (m *member) call(ctx context.Context, fn func(context.Context) error) error {
	m.mu.Lock()
	isSuspended := time.Now().Before(m.suspendedUntil)
	m.mu.Unlock()

	if isSuspended {
		return errSuspended
	}

	limited, cancel := context.WithTimeout(ctx, joinTimeout)
	defer cancel()

	err := fn(limited)

	hasTimedOut := err != nil && limited.Err() != nil && ctx.Err() == nil // not cancelled by the caller
	if hasTimedOut {
		m.mu.Lock()
		m.suspendedUntil = time.Now().Add(suspendFor)
		m.mu.Unlock()
	}

	return err
}

// callAll calls fn with every store concurrently. It returns the results and errors in the
// order of j.members.
func callAll[T any](ctx context.Context, j *joinedStore, fn func(ctx context.Context, m *member) (T, error)) ([]T, []error) {
	results, errs := make([]T, len(j.members)), make([]error, len(j.members))

	var calls sync.WaitGroup
	for i, m := range j.members {
		calls.Go(func() {
			errs[i] = m.call(ctx, func(ctx context.Context) (err error) {
				results[i], err = fn(ctx, m)
				return err
			})
		})
	}

	calls.Wait()

	return results, errs
}

// callAllErr is callAll for functions without a result.
func callAllErr(ctx context.Context, j *joinedStore, fn func(ctx context.Context, m *member) error) []error {
	_, errs := callAll(ctx, j, func(ctx context.Context, m *member) (none struct{}, err error) { return none, fn(ctx, m) })
	return errs
}

// Add adds the tasks to the first store.
func (j *joinedStore) Add(ctx context.Context, tasks ...Task) error {
	return j.members[0].Add(ctx, tasks...)
}

// AddAndReserve adds the tasks to the first store and reserves them for this process.
func (j *joinedStore) AddAndReserve(ctx context.Context, tasks ...Task) ([]Reference, error) {
	return j.members[0].AddAndReserve(ctx, tasks...)
}

// gather returns the results of all stores together. The errors of some stores are ignored
// if another store returned results.
func gather[T any](ctx context.Context, j *joinedStore, call func(ctx context.Context, m *member) ([]T, error)) ([]T, error) {
	results, errs := callAll(ctx, j, call)

	all, err := slices.Concat(results...), errors.Join(errs...)
	haveAllFailed := !slices.Contains(errs, nil)

	if len(all) == 0 || haveAllFailed {
		return all, err
	}

	return all, nil
}

// sumCounts returns the sum of the numbers that the stores return. It calls them without a
// timeout: an operator waits for the result.
func (j *joinedStore) sumCounts(call func(Store) (int, error)) (total int, err error) {
	for _, m := range j.members {
		count, storeErr := call(m.Store)
		total, err = total+count, errors.Join(err, storeErr)
	}

	return total, err
}

// partitionByStore returns the items by the store that has to receive them. Each item belongs to
// a task. The function id returns the id of this task. If this process has started the task, the
// item goes to the store of the task. Otherwise the store is not known, and the item goes to all
// stores: only the right one has a task with the id.
func partitionByStore[T any](j *joinedStore, items []T, id func(T) string) map[*member][]T {
	j.mu.Lock()
	defer j.mu.Unlock()

	itemsByStore := map[*member][]T{}
	for _, item := range items {
		receivers := j.members
		if started, isKnown := j.started[id(item)]; isKnown {
			receivers = []*member{started.store}
		}

		for _, m := range receivers {
			itemsByStore[m] = append(itemsByStore[m], item)
		}
	}

	return itemsByStore
}

// partlyRecordedError is returned by RecordOutcomes if only some outcomes were stored.
type partlyRecordedError struct {
	error
	failedIDs map[string]bool // tasks whose outcomes were not stored
}

// Unwrap returns the error of the stores.
func (e partlyRecordedError) Unwrap() error { return e.error }

// Due returns references to at most n due tasks of each store.
func (j *joinedStore) Due(ctx context.Context, n int) ([]Reference, error) {
	return gather(ctx, j, func(ctx context.Context, m *member) ([]Reference, error) { return m.Due(ctx, n) })
}

// Postpone postpones the tasks in every store, because a reference does not show its store.
func (j *joinedStore) Postpone(ctx context.Context, refs []Reference, until time.Time) error {
	return errors.Join(callAllErr(ctx, j, func(ctx context.Context, m *member) error { return m.Postpone(ctx, refs, until) })...)
}

// Start implements Store. It returns an error only if all stores fail. If one store fails,
// its tasks become due again later, and workers need not wait for that store.
func (j *joinedStore) Start(ctx context.Context, ids []string, lease time.Duration) ([]Task, error) {
	results, errs := callAll(ctx, j, func(ctx context.Context, m *member) ([]Task, error) { return m.Start(ctx, ids, lease) })
	j.mu.Lock()
	defer j.mu.Unlock()

	for i, tasks := range results {
		for _, t := range tasks {
			j.started[t.ID] = startedTask{store: j.members[i], leasedAt: time.Now()}
		}
	}

	started := slices.Concat(results...)
	haveAllFailed := !slices.Contains(errs, nil)

	if len(started) == 0 && haveAllFailed {
		return nil, errors.Join(errs...)
	}

	return started, nil
}

// updateStarted notes that the leases of the runs are renewed, and forgets tasks whose
// leases ended long ago.
func (j *joinedStore) updateStarted(runs []Run) {
	j.mu.Lock()
	defer j.mu.Unlock()

	now := time.Now()
	for _, run := range runs {
		if task, isKnown := j.started[run.ID]; isKnown {
			j.started[run.ID] = startedTask{store: task.store, leasedAt: now}
		}
	}

	// Three leases after the end of its own, no attempt is so late that its outcome is still stored.
	const forgetAfter = lease + 3*lease
	maps.DeleteFunc(j.started, func(_ string, task startedTask) bool { return now.Sub(task.leasedAt) > forgetAfter })
}

// Extend implements Store. A run is lost if every store that may contain it reports it as
// lost. A store that fails reports nothing, so its runs are not lost.
func (j *joinedStore) Extend(ctx context.Context, runs []Run, lease time.Duration) (lost []Run, err error) {
	j.updateStarted(runs)

	runsByStore := partitionByStore(j, runs, func(r Run) string { return r.ID })
	lostByStore, errs := callAll(ctx, j, func(ctx context.Context, m *member) ([]Run, error) {
		if len(runsByStore[m]) == 0 {
			return nil, nil
		}

		return m.Extend(ctx, runsByStore[m], lease)
	})

	mayBeExtended := func(r Run) bool {
		for i, m := range j.members {
			isReportedLost := errs[i] == nil && slices.Contains(lostByStore[i], r)
			if slices.Contains(runsByStore[m], r) && !isReportedLost {
				return true
			}
		}

		return false
	}

	lost = slices.DeleteFunc(slices.Clone(runs), mayBeExtended)

	return lost, errors.Join(errs...)
}

// RecordOutcomes implements Store. The error is a partlyRecordedError if a store fails.
func (j *joinedStore) RecordOutcomes(ctx context.Context, outcomes ...Outcome) error {
	outcomesByStore := partitionByStore(j, outcomes, func(o Outcome) string { return o.ID })
	errs := callAllErr(ctx, j, func(ctx context.Context, m *member) error {
		if len(outcomesByStore[m]) == 0 {
			return nil
		}

		return m.RecordOutcomes(ctx, outcomesByStore[m]...)
	})

	failedIDs := map[string]bool{}
	for i, m := range j.members {
		if errs[i] != nil {
			for _, o := range outcomesByStore[m] {
				failedIDs[o.ID] = true
			}
		}
	}

	j.mu.Lock()
	defer j.mu.Unlock()

	for _, o := range outcomes {
		if !failedIDs[o.ID] {
			delete(j.started, o.ID)
		}
	}

	if len(failedIDs) == 0 {
		return nil
	}

	return partlyRecordedError{fmt.Errorf("outcomes of %d tasks: %w", len(failedIDs), errors.Join(errs...)), failedIDs}
}

// Backlog adds up the numbers of tasks of the stores, by queue and state.
func (j *joinedStore) Backlog(ctx context.Context) ([]Backlog, error) {
	counts, err := gather(ctx, j, func(ctx context.Context, m *member) ([]Backlog, error) { return m.Backlog(ctx) })

	var sums []Backlog
	for _, count := range counts {
		isOfSameTasks := func(sum Backlog) bool { return sum.Queue == count.Queue && sum.State == count.State }

		i := slices.IndexFunc(sums, isOfSameTasks)
		if i < 0 {
			sums = append(sums, count)
			continue
		}

		sums[i].Tasks += count.Tasks
		if count.Oldest.Before(sums[i].Oldest) {
			sums[i].Oldest = count.Oldest
		}
	}

	return sums, err
}

// List implements Store. The results of the stores follow each other; they are not merged
// into one order.
func (j *joinedStore) List(ctx context.Context, f Filter) ([]Record, error) {
	records, err := gather(ctx, j, func(ctx context.Context, m *member) ([]Record, error) { return m.List(ctx, f) })
	return records[:min(len(records), f.Limit)], err
}

// Retry calls every store: the ids do not show the store of a task.
func (j *joinedStore) Retry(ctx context.Context, ids []string) (int, error) {
	return j.sumCounts(func(s Store) (int, error) { return s.Retry(ctx, ids) })
}

// Drop calls every store: the ids do not show the store of a task.
func (j *joinedStore) Drop(ctx context.Context, ids []string) (int, error) {
	return j.sumCounts(func(s Store) (int, error) { return s.Drop(ctx, ids) })
}
