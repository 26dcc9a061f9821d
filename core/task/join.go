package task

import (
	"context"
	"errors"
	"slices"
	"time"
)

// Join returns a store of the tasks of several stores, whose ids are different.
// New tasks are added to the first.
func Join(stores ...Store) Store {
	if len(stores) == 1 {
		return stores[0]
	}
	return joined(stores)
}

type joined []Store

// Add implements Adder.
func (j joined) Add(ctx context.Context, tasks ...Task) error { return j[0].Add(ctx, tasks...) }

// AddHanded implements Store.
func (j joined) AddHanded(ctx context.Context, tasks ...Task) ([]Ticket, error) {
	return j[0].AddHanded(ctx, tasks...)
}

// gather returns the results of all stores. A store that fails does not prevent
// the results of the others, unless all fail.
func gather[T any](j joined, call func(Store) ([]T, error)) ([]T, error) {
	var out []T
	var errs []error
	for _, s := range j {
		some, err := call(s)
		if err != nil {
			errs = append(errs, err)
		}
		out = append(out, some...)
	}
	if len(errs) == len(j) || len(out) == 0 {
		return out, errors.Join(errs...)
	}
	return out, nil
}

// sum returns the sum of the numbers of all stores.
func (j joined) sum(call func(Store) (int, error)) (total int, err error) {
	for _, s := range j {
		n, failed := call(s)
		total, err = total+n, errors.Join(err, failed)
	}
	return total, err
}

// all calls every store.
func (j joined) all(call func(Store) error) (err error) {
	for _, s := range j {
		err = errors.Join(err, call(s))
	}
	return err
}

// Due implements Store.
func (j joined) Due(ctx context.Context, n int) ([]Ticket, error) {
	return gather(j, func(s Store) ([]Ticket, error) { return s.Due(ctx, n) })
}

// Postpone implements Store.
func (j joined) Postpone(ctx context.Context, tickets []Ticket, until time.Time) error {
	return j.all(func(s Store) error { return s.Postpone(ctx, tickets, until) })
}

// Start implements Store. If a store fails and another one has started tasks,
// those are returned; the others are handed out again.
func (j joined) Start(ctx context.Context, ids []string, lease time.Duration) ([]Task, error) {
	return gather(j, func(s Store) ([]Task, error) { return s.Start(ctx, ids, lease) })
}

// Extend implements Store. A run is lost if no store has it.
// If a store fails, the runs that it may have are not lost.
func (j joined) Extend(ctx context.Context, runs []Run, lease time.Duration) (lost []Run, err error) {
	lost = runs
	for _, s := range j {
		missing, failed := s.Extend(ctx, runs, lease)
		if err = errors.Join(err, failed); failed != nil {
			missing = nil
		}
		lost = slices.DeleteFunc(slices.Clone(lost), func(r Run) bool { return !slices.Contains(missing, r) })
	}
	return lost, err
}

// Settle implements Store.
func (j joined) Settle(ctx context.Context, outcomes ...Outcome) error {
	return j.all(func(s Store) error { return s.Settle(ctx, outcomes...) })
}

// Backlog implements Store.
func (j joined) Backlog(ctx context.Context) ([]Backlog, error) {
	counts, err := gather(j, func(s Store) ([]Backlog, error) { return s.Backlog(ctx) })
	var out []Backlog
	for _, c := range counts {
		i := slices.IndexFunc(out, func(b Backlog) bool { return b.Class == c.Class && b.State == c.State })
		if i < 0 {
			out = append(out, c)
			continue
		}
		out[i].Tasks += c.Tasks
		if c.Oldest.Before(out[i].Oldest) {
			out[i].Oldest = c.Oldest
		}
	}
	return out, err
}

// List implements Store. The tasks of each store are in their order.
func (j joined) List(ctx context.Context, f Filter) ([]Record, error) {
	records, err := gather(j, func(s Store) ([]Record, error) { return s.List(ctx, f) })
	return records[:min(len(records), f.Limit)], err
}

// Retry implements Store.
func (j joined) Retry(ctx context.Context, ids []string) (int, error) {
	return j.sum(func(s Store) (int, error) { return s.Retry(ctx, ids) })
}

// Drop implements Store.
func (j joined) Drop(ctx context.Context, ids []string) (int, error) {
	return j.sum(func(s Store) (int, error) { return s.Drop(ctx, ids) })
}
