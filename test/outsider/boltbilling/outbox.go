package boltbilling

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"go.etcd.io/bbolt"

	"github.com/locumhq/locum/core/event"
	"github.com/locumhq/locum/core/retention"
	"github.com/locumhq/locum/core/trace"
)

// storedEvent is an event that was not sent.
type storedEvent struct {
	event.Envelope
	ClaimedUntil time.Time
}

// Record implements event.Recorder.
func (db *Database) Record(ctx context.Context, events ...event.Event) error {
	t := db.current(ctx)
	if t == nil {
		return errors.New("events are recorded in a transaction")
	}

	for _, e := range events {
		payload, err := json.Marshal(e)
		if err != nil {
			return err
		}

		stored := storedEvent{Envelope: event.Envelope{
			ID:         db.newID(),
			Type:       e.Type(),
			Subject:    e.Subject(),
			Payload:    payload,
			RecordedAt: db.clock.Now(),
			Trace:      trace.Parent(ctx),
		}}
		if err := put(t.Bucket(unsent), []byte(stored.ID), stored); err != nil {
			return err
		}

		t.recorded = true
	}

	return nil
}

// Claim implements event.Outbox.
func (db *Database) Claim(ctx context.Context, n int, lease time.Duration) (claimed []event.Envelope, err error) {
	err = db.update(ctx, func(t *transaction) error {
		claimed = nil
		now := db.clock.Now()
		leased := map[string]bool{}
		free := []storedEvent(nil)
		err := each(t.Bucket(unsent), nil, func(_ []byte, e storedEvent) bool {
			if e.ClaimedUntil.After(now) {
				leased[e.Subject] = true
			} else {
				free = append(free, e)
			}

			return true
		})

		for _, e := range free {
			if leased[e.Subject] || len(claimed) == n || err != nil {
				continue
			}

			e.ClaimedUntil, e.Attempt = now.Add(lease), e.Attempt+1
			err = put(t.Bucket(unsent), []byte(e.ID), e)
			claimed = append(claimed, e.Envelope)
		}

		return err
	})

	return claimed, err
}

// MarkSent implements event.Outbox.
func (db *Database) MarkSent(ctx context.Context, ids ...string) error {
	return db.update(ctx, func(t *transaction) error {
		for _, id := range ids {
			b := t.Bucket(unsent)

			// The event has been marked already.
			if b.Get([]byte(id)) == nil {
				continue
			}

			if err := errors.Join(b.Delete([]byte(id)),
				t.Bucket(sent).Put(append(timeKey(db.clock.Now()), id...), nil)); err != nil {
				return err
			}
		}

		return nil
	})
}

func timeKey(at time.Time) []byte { return binary.BigEndian.AppendUint64(nil, uint64(at.UnixMicro())) }

// Notifications implements event.Outbox.
func (db *Database) Notifications(ctx context.Context) <-chan struct{} {
	c := make(chan struct{}, 1)

	db.mu.Lock()
	defer db.mu.Unlock()

	db.listeners[c] = struct{}{}
	context.AfterFunc(ctx, func() {
		db.mu.Lock()
		defer db.mu.Unlock()

		delete(db.listeners, c)
	})

	return c
}

// notify wakes the listeners. It waits for none.
func (db *Database) notify() {
	db.mu.Lock()
	defer db.mu.Unlock()

	for c := range db.listeners {
		select {
		case c <- struct{}{}:
		default: // there is a notification that was not read
		}
	}
}

// Lag implements event.Outbox.
func (db *Database) Lag(ctx context.Context) (n int, oldest time.Time, err error) {
	err = db.view(ctx, func(t *bbolt.Tx) error {
		return each(t.Bucket(unsent), nil, func(_ []byte, e storedEvent) bool {
			if n++; n == 1 {
				oldest = e.RecordedAt
			}

			return n < 100_000
		})
	})

	return n, oldest, err
}

// DeleteBefore implements retention.Store.
func (db *Database) DeleteBefore(
	ctx context.Context, kind retention.Kind, before time.Time, n int,
) (deleted int, err error) {
	if kind != event.Sent {
		return 0, fmt.Errorf("no rows of kind %q are stored here", kind)
	}

	err = db.update(ctx, func(t *transaction) error {
		deleted = 0

		c, end := t.Bucket(sent).Cursor(), timeKey(before)
		for k, _ := c.First(); k != nil && deleted < n && bytes.Compare(k, end) < 0; k, _ = c.First() {
			if err := c.Delete(); err != nil {
				return err
			}

			deleted++
		}

		return nil
	})

	return deleted, err
}
