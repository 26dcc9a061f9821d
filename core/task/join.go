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

// Join returns a store of the tasks of several stores, whose ids are different.
// New tasks are added to the first. The stores are called concurrently. One that does
// not respond delays the others for joinTimeout at most, and is not called again
// before suspendFor has passed.
func Join(stores ...Store) Store {
	if len(stores) == 1 {
		return stores[0]
	}
	j := &joined{started: map[string]startedTask{}}
	for _, s := range stores {
		j.members = append(j.members, &member{Store: s})
	}
	return j
}

const (
	joinTimeout = 3 * time.Second
	suspendFor  = 5 * time.Second
)

type joined struct {
	members []*member

	mu      sync.Mutex
	started map[string]startedTask // by id, until the outcome is stored
}

// startedTask is a task that this process has started.
type startedTask struct {
	in *member
	at time.Time // or when its lease was renewed
}

// member is one of several stores.
type member struct {
	Store
	mu             sync.Mutex
	suspendedUntil time.Time
}

var errSuspended = errors.New("the store has not responded")

// call calls fn with a context of joinTimeout, unless the store is suspended.
func (m *member) call(ctx context.Context, fn func(context.Context) error) error {
	m.mu.Lock()
	isSuspended := time.Now().Before(m.suspendedUntil)
	m.mu.Unlock()
	if isSuspended {
		return errSuspended
	}
	bounded, cancel := context.WithTimeout(ctx, joinTimeout)
	defer cancel()
	err := fn(bounded)
	if err != nil && bounded.Err() != nil && ctx.Err() == nil {
		m.mu.Lock()
		m.suspendedUntil = time.Now().Add(suspendFor)
		m.mu.Unlock()
	}
	return err
}

// each calls fn with every store concurrently and returns the results and errors, by store.
func each[T any](ctx context.Context, j *joined, fn func(ctx context.Context, m *member) (T, error)) ([]T, []error) {
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

// eachErr is each for calls without results.
func eachErr(ctx context.Context, j *joined, fn func(ctx context.Context, m *member) error) []error {
	_, errs := each(ctx, j, func(ctx context.Context, m *member) (struct{}, error) { return struct{}{}, fn(ctx, m) })
	return errs
}

// Add implements Adder.
func (j *joined) Add(ctx context.Context, tasks ...Task) error {
	return j.members[0].Add(ctx, tasks...)
}

// AddAndReserve implements Store.
func (j *joined) AddAndReserve(ctx context.Context, tasks ...Task) ([]Reference, error) {
	return j.members[0].AddAndReserve(ctx, tasks...)
}

// gather returns the results of all stores. A store that fails does not prevent
// the results of the others, unless all fail.
func gather[T any](ctx context.Context, j *joined, call func(ctx context.Context, m *member) ([]T, error)) ([]T, error) {
	results, errs := each(ctx, j, call)
	out, err := slices.Concat(results...), errors.Join(errs...)
	if len(out) == 0 || !slices.Contains(errs, nil) {
		return out, err
	}
	return out, nil
}

// addCounts returns the sum of the numbers of all stores. It is for operators, whose calls
// may take long.
func (j *joined) addCounts(call func(Store) (int, error)) (total int, err error) {
	for _, m := range j.members {
		n, failed := call(m.Store)
		total, err = total+n, errors.Join(err, failed)
	}
	return total, err
}

// partitionByStore returns the items, which concern tasks, by store: the one that has
// started the task, or all if it was started by another process.
func partitionByStore[T any](j *joined, items []T, id func(T) string) map[*member][]T {
	j.mu.Lock()
	defer j.mu.Unlock()
	out := map[*member][]T{}
	for _, item := range items {
		members := j.members
		if s, ok := j.started[id(item)]; ok {
			members = []*member{s.in}
		}
		for _, m := range members {
			out[m] = append(out[m], item)
		}
	}
	return out
}

// partlyRecordedError is the error of a RecordOutcomes that has stored some of the outcomes.
type partlyRecordedError struct {
	error
	failed map[string]bool // ids of the other tasks
}

// Unwrap returns the error of the stores.
func (e partlyRecordedError) Unwrap() error { return e.error }

// Due implements Store.
func (j *joined) Due(ctx context.Context, n int) ([]Reference, error) {
	return gather(ctx, j, func(ctx context.Context, m *member) ([]Reference, error) { return m.Due(ctx, n) })
}

// Postpone implements Store.
func (j *joined) Postpone(ctx context.Context, refs []Reference, until time.Time) error {
	return errors.Join(eachErr(ctx, j, func(ctx context.Context, m *member) error { return m.Postpone(ctx, refs, until) })...)
}

// Start implements Store. It fails if all stores do: otherwise the tasks of a store
// that fails become due again, and workers do not wait for it.
func (j *joined) Start(ctx context.Context, ids []string, lease time.Duration) ([]Task, error) {
	results, errs := each(ctx, j, func(ctx context.Context, m *member) ([]Task, error) { return m.Start(ctx, ids, lease) })
	j.mu.Lock()
	defer j.mu.Unlock()
	for i, tasks := range results {
		for _, t := range tasks {
			j.started[t.ID] = startedTask{j.members[i], time.Now()}
		}
	}
	out := slices.Concat(results...)
	if len(out) == 0 && !slices.Contains(errs, nil) {
		return nil, errors.Join(errs...)
	}
	return out, nil
}

// renew notes which tasks are running and deletes those whose leases have ended.
func (j *joined) renew(runs []Run) {
	j.mu.Lock()
	defer j.mu.Unlock()
	now := time.Now()
	for _, r := range runs {
		if s, ok := j.started[r.ID]; ok {
			j.started[r.ID] = startedTask{s.in, now}
		}
	}
	maps.DeleteFunc(j.started, func(_ string, s startedTask) bool { return now.Sub(s.at) > 4*lease })
}

// Extend implements Store. A run is lost if no store has it.
// If a store fails, the runs that it may have are not lost.
func (j *joined) Extend(ctx context.Context, runs []Run, lease time.Duration) (lost []Run, err error) {
	j.renew(runs)
	parts := partitionByStore(j, runs, func(r Run) string { return r.ID })
	missing, errs := each(ctx, j, func(ctx context.Context, m *member) ([]Run, error) {
		if len(parts[m]) == 0 {
			return nil, nil
		}
		return m.Extend(ctx, parts[m], lease)
	})
	isLost := func(r Run) bool {
		for i, m := range j.members {
			if slices.Contains(parts[m], r) && (errs[i] != nil || !slices.Contains(missing[i], r)) {
				return false
			}
		}
		return true
	}
	lost = slices.DeleteFunc(slices.Clone(runs), func(r Run) bool { return !isLost(r) })
	return lost, errors.Join(errs...)
}

// RecordOutcomes implements Store. The error is a partlyRecordedError if a store fails.
func (j *joined) RecordOutcomes(ctx context.Context, outcomes ...Outcome) error {
	parts := partitionByStore(j, outcomes, func(o Outcome) string { return o.ID })
	errs := eachErr(ctx, j, func(ctx context.Context, m *member) error {
		if len(parts[m]) == 0 {
			return nil
		}
		return m.RecordOutcomes(ctx, parts[m]...)
	})
	failed := map[string]bool{}
	for i, m := range j.members {
		if errs[i] != nil {
			for _, o := range parts[m] {
				failed[o.ID] = true
			}
		}
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, o := range outcomes {
		if !failed[o.ID] {
			delete(j.started, o.ID)
		}
	}
	if len(failed) == 0 {
		return nil
	}
	return partlyRecordedError{fmt.Errorf("outcomes of %d tasks: %w", len(failed), errors.Join(errs...)), failed}
}

// Backlog implements Store.
func (j *joined) Backlog(ctx context.Context) ([]Backlog, error) {
	counts, err := gather(ctx, j, func(ctx context.Context, m *member) ([]Backlog, error) { return m.Backlog(ctx) })
	var out []Backlog
	for _, c := range counts {
		i := slices.IndexFunc(out, func(b Backlog) bool { return b.Queue == c.Queue && b.State == c.State })
		if i < 0 {
			out = append(out, c)
			continue
		}
		out[i].Tasks += c.Tasks
		out[i].Oldest = slices.MinFunc([]time.Time{c.Oldest, out[i].Oldest}, time.Time.Compare)
	}
	return out, err
}

// List implements Store. The tasks of each store are in their order.
func (j *joined) List(ctx context.Context, f Filter) ([]Record, error) {
	records, err := gather(ctx, j, func(ctx context.Context, m *member) ([]Record, error) { return m.List(ctx, f) })
	return records[:min(len(records), f.Limit)], err
}

// Retry implements Store.
func (j *joined) Retry(ctx context.Context, ids []string) (int, error) {
	return j.addCounts(func(s Store) (int, error) { return s.Retry(ctx, ids) })
}

// Drop implements Store.
func (j *joined) Drop(ctx context.Context, ids []string) (int, error) {
	return j.addCounts(func(s Store) (int, error) { return s.Drop(ctx, ids) })
}
