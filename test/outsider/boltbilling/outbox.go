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

// Claim implements event.Outbox. It claims the oldest events that no other caller has claimed. Events about the same
// subject are delivered in order, so an event waits while an earlier one of its subject is claimed by another caller.
func (db *Database) Claim(ctx context.Context, n int, lease time.Duration) (claimed []event.Envelope, err error) {
	err = db.update(ctx, func(t *transaction) error {
		claimed = nil
		now := db.clock.Now()
		claimedSubjects := map[string]bool{} // by other callers
		var free []storedEvent

		err := each(t.Bucket(unsent), nil, func(_ []byte, stored storedEvent) bool {
			if stored.ClaimedUntil.After(now) {
				claimedSubjects[stored.Subject] = true
			} else {
				free = append(free, stored)
			}

			return true
		})

		for _, stored := range free {
			if claimedSubjects[stored.Subject] || len(claimed) == n || err != nil {
				continue
			}

			stored.ClaimedUntil, stored.Attempt = now.Add(lease), stored.Attempt+1
			err = put(t.Bucket(unsent), []byte(stored.ID), stored)
			claimed = append(claimed, stored.Envelope)
		}

		return err
	})

	return claimed, err
}

// MarkSent implements event.Outbox. Of a sent event, only the time and the id are kept.
func (db *Database) MarkSent(ctx context.Context, ids ...string) error {
	return db.update(ctx, func(t *transaction) error {
		for _, id := range ids {
			isMarkedAlready := t.Bucket(unsent).Get([]byte(id)) == nil
			if isMarkedAlready {
				continue
			}

			sentKey := append(timeKey(db.clock.Now()), id...)

			err := errors.Join(t.Bucket(unsent).Delete([]byte(id)), t.Bucket(sent).Put(sentKey, nil))
			if err != nil {
				return err
			}
		}

		return nil
	})
}

// timeKey returns the beginning of the keys of events that were sent at the time. Keys are in the order of time.
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

// Lag implements event.Outbox. It stops counting at 100,000 events.
func (db *Database) Lag(ctx context.Context) (n int, oldest time.Time, err error) {
	const maxCounted = 100_000

	err = db.view(ctx, func(t *bbolt.Tx) error {
		return each(t.Bucket(unsent), nil, func(_ []byte, stored storedEvent) bool {
			n++
			if n == 1 { // ids are in the order of time
				oldest = stored.RecordedAt
			}

			return n < maxCounted
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

		cursor, end := t.Bucket(sent).Cursor(), timeKey(before)
		for deleted < n {
			key, _ := cursor.First()
			if key == nil || bytes.Compare(key, end) >= 0 {
				return nil
			}

			if err := cursor.Delete(); err != nil {
				return err
			}

			deleted++
		}

		return nil
	})

	return deleted, err
}
