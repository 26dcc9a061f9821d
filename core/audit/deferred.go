package audit

import (
	"context"

	"github.com/locumhq/locum/core/clock"
	"github.com/locumhq/locum/core/event"
	"github.com/locumhq/locum/core/id"
	"github.com/locumhq/locum/core/tx"
)

// Recorded is the event that carries an entry to a log in another database.
type Recorded struct {
	Entry Entry `json:"entry"`
}

// Type implements event.Event.
func (Recorded) Type() string { return "audit.recorded" }

// Subject implements event.Event.
func (r Recorded) Subject() string { return r.Entry.ID }

// Deferred returns a Recorder for modules whose database is not the database of the log. The
// Recorder records a Recorded event in the transaction of the change, and the handler of
// that event appends the entry to the log.
func Deferred(t tx.Runner, events event.Recorder, clk clock.Clock, newID id.Source) Recorder {
	return deferred{tx: t, events: events, clock: clk, newID: newID}
}

type deferred struct {
	tx     tx.Runner
	events event.Recorder
	clock  clock.Clock
	newID  id.Source
}

// Record implements Recorder. It completes the entry here, because the handler of the event runs later
// and without the context of the request.
func (d deferred) Record(ctx context.Context, e Entry) error {
	e.ID = d.newID()
	e.At = d.clock.Now()
	e.Network = NetworkOf(ctx)

	return d.tx.Do(ctx, func(ctx context.Context) error { return d.events.Record(ctx, Recorded{e}) })
}
