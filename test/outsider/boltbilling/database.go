// Package boltbilling stores the module billing in a bbolt file: the ports that every
// module has (database.go, outbox.go) and those of billing (billing.go). It is opened with
// bootstrap.WithModuleStorage; database.url selects the storage of the other modules.
//
// One process at a time can open a bbolt file. The service therefore needs a queue that
// `locum serve` executes (embedded:), and `locum` commands that open the storage work only
// while the service is stopped.
package boltbilling

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/core/clock"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/id"
	"github.com/locumhq/locum/core/tx"
)

// Buckets. Values are JSON.
var (
	unsent        = []byte("events.unsent") // by id
	sent          = []byte("events.sent")   // by time and id
	subscriptions = []byte("subscriptions") // by owner
	charges       = []byte("charges")       // by owner and id
)

// Database implements tx.Runner, event.Recorder, event.Outbox and retention.Store.
type Database struct {
	bolt      *bbolt.DB
	clock     clock.Clock
	newID     id.Source
	mu        sync.Mutex
	listeners map[chan struct{}]struct{}
}

// Open opens the storage of billing for bolt:PATH. It is a bootstrap.StorageOpener.
func Open(_ context.Context, url string, d adapters.Deps) (adapters.Storage, error) {
	path := strings.TrimPrefix(url, "bolt:")
	if path == "" {
		return adapters.Storage{}, errors.New("want bolt:PATH")
	}

	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return adapters.Storage{}, err
	}

	bolt, err := bbolt.Open(path, 0o600, &bbolt.Options{Timeout: 2 * time.Second})
	if errors.Is(err, bolterrors.ErrTimeout) {
		err = fmt.Errorf("%s is in use by another process", path)
	}

	if err != nil {
		return adapters.Storage{}, err
	}

	err = bolt.Update(func(t *bbolt.Tx) error {
		for _, name := range [][]byte{unsent, sent, subscriptions, charges} {
			if _, err := t.CreateBucketIfNotExists(name); err != nil {
				return err
			}
		}

		return nil
	})
	if err != nil {
		return adapters.Storage{}, errors.Join(err, bolt.Close())
	}

	db := &Database{bolt: bolt, clock: d.Clock, newID: d.NewID, listeners: map[chan struct{}]struct{}{}}

	return adapters.Storage{Billing: adapters.BillingStorage{
		Database:      adapters.Database{Tx: db, Events: db, Outbox: db, Retention: db, Ping: db.Ping, Close: bolt.Close},
		Subscriptions: Subscriptions{db}, Charges: Charges{db},
	}}, nil
}

// Ping returns an error if the file cannot be read.
func (db *Database) Ping(context.Context) error {
	return db.bolt.View(func(*bbolt.Tx) error { return nil })
}

// transaction is the transaction in a context.
type transaction struct {
	*bbolt.Tx
	recorded bool
}

// transactionKey is the key of a transaction in a context; each database has its own.
type transactionKey struct{ db *Database }

// current returns the transaction of the context, nil without one.
func (db *Database) current(ctx context.Context) *transaction {
	t, _ := ctx.Value(transactionKey{db}).(*transaction)
	return t
}

// attempts is the number of times that a transaction runs that fails with tx.ErrStale.
const attempts = 10

// Do implements tx.Runner. bbolt runs one writing transaction at a time. After the last
// attempt the error is fault.ErrUnavailable.
func (db *Database) Do(ctx context.Context, fn func(ctx context.Context) error) (err error) {
	if db.current(ctx) != nil {
		return fn(ctx)
	}

	for range attempts {
		t := &transaction{}

		err = db.bolt.Update(func(b *bbolt.Tx) error {
			t.Tx = b
			if err := fn(context.WithValue(ctx, transactionKey{db}, t)); err != nil {
				return err
			}

			return ctx.Err() // a cancelled call changes nothing
		})
		if err == nil && t.recorded {
			db.notify()
		}

		if !errors.Is(err, tx.ErrStale) {
			return err
		}
	}

	return fault.ErrUnavailable.WithCause(err).WithRetryAfter(time.Second)
}

// update changes the file in the transaction of ctx, or in one of its own.
func (db *Database) update(ctx context.Context, fn func(t *transaction) error) error {
	return db.Do(ctx, func(ctx context.Context) error { return fn(db.current(ctx)) })
}

// view reads the file in the transaction of ctx, or in one of its own.
func (db *Database) view(ctx context.Context, fn func(t *bbolt.Tx) error) error {
	if t := db.current(ctx); t != nil {
		return fn(t.Tx)
	}

	return errors.Join(ctx.Err(), db.bolt.View(fn))
}

// put stores the value as JSON.
func put(b *bbolt.Bucket, key []byte, value any) error {
	data, err := json.Marshal(value)
	if err != nil {
		return err
	}

	return b.Put(key, data)
}

// each calls fn with the values whose keys begin with the prefix, in their order, until
// it returns false.
func each[T any](b *bbolt.Bucket, prefix []byte, fn func(key []byte, value T) bool) error {
	c := b.Cursor()
	for k, data := c.Seek(prefix); k != nil && bytes.HasPrefix(k, prefix); k, data = c.Next() {
		var value T
		if err := json.Unmarshal(data, &value); err != nil {
			return fmt.Errorf("%q: %w", k, err)
		}

		if !fn(k, value) {
			break
		}
	}

	return nil
}
