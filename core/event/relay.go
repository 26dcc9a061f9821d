package event

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync"
	"time"

	"github.com/locumhq/locum/core/task"
	"github.com/locumhq/locum/core/tx"
)

// Relay carries recorded events to their subscribers: it claims them and makes
// a task for each line of the table that names them, in one transaction with
// marking them sent. From there the tasks have their own life. Any number of
// relays may run over one outbox.
type Relay struct {
	RelayNeeds
	byType map[string][]Subscription
	// claiming lets this process's claims see each other's leases.
	claiming sync.Mutex
}

// RelayNeeds is what a relay is plugged into.
type RelayNeeds struct {
	Tx     tx.Runner
	Outbox Outbox
	Tasks  task.Store
	Runner *task.Runner
	Table  []Subscription
	Log    *slog.Logger
}

// The relay's rhythm. It is woken by commits; the poll is for wakes that were
// missed, and for what other programs wrote.
const (
	relayBatch = 1000
	relayLease = 30 * time.Second
	relayPoll  = 1500 * time.Millisecond
)

// NewRelay makes a relay for the table.
func NewRelay(n RelayNeeds) *Relay {
	r := &Relay{RelayNeeds: n, byType: map[string][]Subscription{}}
	for _, s := range n.Table {
		r.byType[s.Type] = append(r.byType[s.Type], s)
	}
	return r
}

// Handlers do the tasks that a relay makes of the table.
func Handlers(table []Subscription) []task.Handler {
	out := make([]task.Handler, len(table))
	for i, s := range table {
		out[i] = task.Handle(s.Name, s.Class, s.React)
	}
	return out
}

// Run carries events, and hands due tasks to the queue, until ctx ends. The two
// go on side by side: a flood of one keeps nobody waiting for the other.
func (r *Relay) Run(ctx context.Context) {
	wake := r.Outbox.Wake(ctx)
	due := make(chan struct{}, 1)
	var sweeping sync.WaitGroup
	defer sweeping.Wait()
	sweeping.Go(func() {
		for r.woken(ctx, due) {
			if err := r.Runner.Sweep(ctx); err != nil && ctx.Err() == nil {
				r.Log.Warn("handing out due tasks failed, trying again", "error", err)
			}
		}
	})
	for {
		select {
		case due <- struct{}{}:
		default: // it has not looked yet
		}
		r.carry(ctx)
		if !r.woken(ctx, wake) {
			return
		}
	}
}

// woken waits for a wake or the poll; false at the end.
func (r *Relay) woken(ctx context.Context, wake <-chan struct{}) bool {
	poll := time.NewTimer(relayPoll)
	defer poll.Stop()
	select {
	case <-ctx.Done():
	case <-wake:
	case <-poll.C:
	}
	return ctx.Err() == nil
}

// carry drains the outbox as far as it goes, claiming a batch while the one
// before it is passed on.
func (r *Relay) carry(ctx context.Context) {
	var carrying sync.WaitGroup
	for range 2 {
		carrying.Go(func() {
			for ctx.Err() == nil {
				n, err := r.Drain(ctx)
				if err != nil && ctx.Err() == nil {
					r.Log.Warn("passing events on failed, trying again", "error", err)
				}
				if err != nil || n < relayBatch {
					return
				}
			}
		})
	}
	carrying.Wait()
}

// Drain carries one batch and says how many events it held. If only the queue
// failed, the events are on their way all the same.
func (r *Relay) Drain(ctx context.Context) (int, error) {
	// A server that is gone without a word is not waited for.
	ctx, cancel := context.WithTimeout(ctx, relayLease/2)
	defer cancel()
	r.claiming.Lock()
	batch, err := r.Outbox.Claim(ctx, relayBatch, relayLease)
	r.claiming.Unlock()
	if err != nil || len(batch) == 0 {
		return 0, err
	}
	var tasks []task.Task
	ids := make([]string, len(batch))
	for i, e := range batch {
		ids[i] = e.ID
		subscribers := r.byType[e.Type]
		if len(subscribers) == 0 {
			continue
		}
		payload, err := json.Marshal(e)
		if err != nil {
			return 0, err
		}
		for _, s := range subscribers {
			tasks = append(tasks, task.Task{Kind: s.Name, Class: s.Class, Key: e.ID + "/" + s.Name, Payload: payload, Trace: e.Trace})
		}
	}
	var tickets []task.Ticket
	err = r.Tx.Do(ctx, func(ctx context.Context) (err error) {
		if tickets, err = r.Tasks.AddHanded(ctx, tasks...); err != nil {
			return err
		}
		return r.Outbox.MarkSent(ctx, ids...)
	})
	if err != nil {
		return 0, err
	}
	return len(batch), r.Runner.HandOver(ctx, tickets)
}
