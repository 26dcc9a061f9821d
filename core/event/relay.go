package event

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/locumhq/locum/core/job"
	"github.com/locumhq/locum/core/tx"
)

// Relay carries recorded events to their subscribers: it claims them and makes
// a job for each line of the table that names them, in one transaction with
// marking them sent. From there the jobs have their own life. Any number of
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
	Jobs   job.Store
	Runner *job.Runner
	Table  []Subscription
	Log    *slog.Logger
}

// The relay's rhythm. It is woken by commits; the poll is for wakes that were
// missed, and for what other programs wrote.
const (
	relayBatch   = 1000
	relayBatches = 10 // one after the other
	relayLease   = 30 * time.Second
	relayPoll    = 1500 * time.Millisecond
)

// NewRelay makes a relay for the table.
func NewRelay(n RelayNeeds) *Relay {
	r := &Relay{RelayNeeds: n, byType: map[string][]Subscription{}}
	for _, s := range n.Table {
		r.byType[s.Type] = append(r.byType[s.Type], s)
	}
	return r
}

// Handlers do the jobs that a relay makes of the table.
func Handlers(table []Subscription) []job.Handler {
	out := make([]job.Handler, len(table))
	for i, s := range table {
		out[i] = job.Handle(s.Name, s.Class, s.React)
	}
	return out
}

// Run carries events, and hands due jobs to the queue, until ctx ends.
func (r *Relay) Run(ctx context.Context) {
	wake := r.Outbox.Wake(ctx)
	poll := time.NewTicker(relayPoll)
	defer poll.Stop()
	for {
		more := r.carry(ctx)
		if err := r.Runner.Sweep(ctx); err != nil && ctx.Err() == nil {
			r.Log.Warn("handing out due jobs failed, trying again", "error", err)
		}
		if more && ctx.Err() == nil {
			continue
		}
		select {
		case <-ctx.Done():
			return
		case <-wake:
		case <-poll.C:
		}
	}
}

// carry drains the outbox, claiming a batch while the one before it is passed
// on. A flood is interrupted, so that what else is due has its turn: more says
// that there is more.
func (r *Relay) carry(ctx context.Context) (more bool) {
	var carrying sync.WaitGroup
	var left atomic.Bool
	for range 2 {
		carrying.Go(func() {
			for range relayBatches {
				n, err := r.Drain(ctx)
				if err != nil && ctx.Err() == nil {
					r.Log.Warn("passing events on failed, trying again", "error", err)
				}
				if err != nil || n < relayBatch {
					return
				}
			}
			left.Store(true)
		})
	}
	carrying.Wait()
	return left.Load()
}

// Drain carries one batch and says how many events it held. If only the queue
// failed, the events are on their way all the same.
func (r *Relay) Drain(ctx context.Context) (int, error) {
	r.claiming.Lock()
	batch, err := r.Outbox.Claim(ctx, relayBatch, relayLease)
	r.claiming.Unlock()
	if err != nil || len(batch) == 0 {
		return 0, err
	}
	var jobs []job.Job
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
			jobs = append(jobs, job.Job{Kind: s.Name, Class: s.Class, Key: e.ID + "/" + s.Name, Payload: payload, Trace: e.Trace})
		}
	}
	var tickets []job.Ticket
	err = r.Tx.Do(ctx, func(ctx context.Context) (err error) {
		if tickets, err = r.Jobs.AddHanded(ctx, jobs...); err != nil {
			return err
		}
		return r.Outbox.MarkSent(ctx, ids...)
	})
	if err != nil {
		return 0, err
	}
	return len(batch), r.Runner.HandOver(ctx, tickets)
}
