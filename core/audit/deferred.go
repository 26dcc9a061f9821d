package audit

import (
	"context"

	"github.com/locumhq/locum/core/clock"
	"github.com/locumhq/locum/core/event"
	"github.com/locumhq/locum/core/id"
	"github.com/locumhq/locum/core/tx"
)

// Recorded is the event of an entry for a log in another database.
type Recorded struct {
	Entry Entry `json:"entry"`
}

// Type implements event.Event.
func (Recorded) Type() string { return "audit.recorded" }

// Subject implements event.Event.
func (r Recorded) Subject() string { return r.Entry.ID }

// Deferred returns a Recorder for modules that are stored in another database than
// the log. It records an event in the transaction of the change; its handler stores
// the entry.
func Deferred(t tx.Runner, events event.Recorder, clk clock.Clock, newID id.Source) Recorder {
	return deferred{t, events, clk, newID}
}

type deferred struct {
	tx     tx.Runner
	events event.Recorder
	clock  clock.Clock
	newID  id.Source
}

// Record implements Recorder.
func (d deferred) Record(ctx context.Context, e Entry) error {
	e.ID, e.At, e.Network = d.newID(), d.clock.Now(), NetworkOf(ctx)
	return d.tx.Do(ctx, func(ctx context.Context) error { return d.events.Record(ctx, Recorded{e}) })
}
