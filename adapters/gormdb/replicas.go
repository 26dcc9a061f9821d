package gormdb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/callbacks"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/core/metrics"
	"github.com/locumhq/locum/core/tx"
)

const (
	// maxReplicaLag is the maximum lag of a replica that is used.
	maxReplicaLag = time.Second
	// observeInterval is the interval at which the lag is measured.
	observeInterval = 100 * time.Millisecond
	// observeTimeout is the time after which a replica that does not respond is considered
	// unavailable. The statements that it executes are then cancelled.
	observeTimeout = 500 * time.Millisecond
	// reconnectInterval is the pause after a failed measurement.
	reconnectInterval = 500 * time.Millisecond
)

// replicas are the read replicas of a database. A replica is a server that copies the primary, the
// server that accepts writes, by applying its log. A read uses a replica if it is outside of a
// transaction and tx.AllowStale says how old its result may be.
//
// The state of a replica is measured by comparing positions in the log. First the position of the
// primary is read, and later that of the replica. If the replica has reached the position of the
// primary, it contains everything that was committed before that position was read. The position of a
// primary without writes does not change, so that its replicas do not lag.
type replicas struct {
	all     []*replica
	dialect Replicator
	primary *sql.DB // one connection, which reports the position even if all others are in use
	log     *slog.Logger
	stop    context.CancelFunc // ends the goroutines that measure
	done    sync.WaitGroup     // waits for these goroutines

	reads     atomic.Uint64 // statements that replicas have answered
	fallbacks atomic.Uint64 // statements for replicas that the primary has answered
}

// replica is a read replica with its measured state.
type replica struct {
	name string // for the log, such as "replica 1"
	pool *sql.DB
	// slots limits the number of running statements, so that one connection is left for
	// measurements. It holds a value for each running statement.
	slots chan struct{}

	mu sync.Mutex
	// currentAsOf is a time: the replica is known to contain all commits from before it. Until
	// the first measurement it is the time when the replica was opened.
	currentAsOf time.Time
	// isVerified is true if the last measurement confirmed currentAsOf. After a restart, a
	// server may accept connections before it has applied the same part of the log again.
	isVerified bool
	// available is cancelled when the replica stops responding, and nil until it responds
	// again.
	available context.Context    //nolint:containedctx // cancels the statements of all its callers
	fail      context.CancelFunc // cancels available
	err       error              // why the replica cannot be used, nil if it responds
}

// replicaConnections returns the number of connections to each replica. All replicas
// together have two fifths of all connections, but each has at least two.
func replicaConnections(settings adapters.DatabaseSettings) int {
	replicaCount := len(settings.ReplicaURLs)
	if replicaCount == 0 {
		return 0
	}

	const minimum = 2 // one for measurements, one for statements
	ofAllReplicas := connections(settings) * 2 / 5

	return max(minimum, ofAllReplicas/replicaCount)
}

// primaryConnections returns the number of connections that are left for the primary, but at least three.
func primaryConnections(settings adapters.DatabaseSettings) int {
	replicaCount := len(settings.ReplicaURLs)

	left := connections(settings) - replicaCount*replicaConnections(settings)
	if replicaCount > 0 {
		left-- // replicas.primary, for measurements
	}

	const minimum = 3

	return max(minimum, left)
}

// errNotConnected is the error of a replica that has not been measured.
var errNotConnected = errors.New("not connected yet")

// openReplicas opens the replicas of the settings and begins to measure them. url is the URL of the
// primary. Without replicas in the settings, openReplicas returns nil.
func openReplicas(d Dialect, url string, deps adapters.Deps) (*replicas, error) {
	settings := deps.Database
	if len(settings.ReplicaURLs) == 0 {
		return nil, nil
	}

	dialect, supportsReplicas := d.(Replicator)
	if !supportsReplicas {
		return nil, fmt.Errorf("%s does not support database.replica_urls; remove it", d.Name())
	}

	const measuringConnections = 1

	primary, err := dialect.OpenReplica(url, measuringConnections, settings)
	if err != nil {
		return nil, err
	}

	r := &replicas{dialect: dialect, primary: primary, log: deps.Log}

	maxConnections := replicaConnections(settings)
	for i, replicaURL := range settings.ReplicaURLs {
		pool, err := dialect.OpenReplica(replicaURL, maxConnections, settings)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("replica %d in database.replica_urls %w", i+1, err), r.close())
		}

		r.all = append(r.all, &replica{
			name:        fmt.Sprintf("replica %d", i+1),
			pool:        pool,
			slots:       make(chan struct{}, maxConnections-measuringConnections),
			currentAsOf: time.Now(),
			err:         errNotConnected,
		})
	}

	r.addMetrics(deps.Metrics)

	ctx, stop := context.WithCancel(context.Background())
	r.stop = stop

	for _, rep := range r.all {
		r.done.Go(func() { r.observe(ctx, rep) })
	}

	return r, nil
}

// addMetrics adds the metrics of replicas to the registry, if there is one.
func (r *replicas) addMetrics(m metrics.Registry) {
	if m == nil {
		return
	}

	m.Gauge("locum_database_replicas", "Configured read replicas.", func() float64 { return float64(len(r.all)) })

	countUsable := func() (n float64) {
		for _, rep := range r.all {
			if rep.problem() == nil {
				n++
			}
		}

		return n
	}

	maxLag := func() (lag float64) {
		for _, rep := range r.all {
			lag = max(lag, rep.lag().Seconds())
		}

		return lag
	}

	reads := func() float64 { return float64(r.reads.Load()) }
	fallbacks := func() float64 { return float64(r.fallbacks.Load()) }

	m.Gauge("locum_database_replicas_usable", "Read replicas that are available and lag less than a second.", countUsable)
	m.Gauge("locum_database_replica_lag_seconds", "Lag of the replica that lags most, including the interval of measurements.", maxLag)
	m.Counter("locum_database_replica_reads_total", "Statements that replicas have answered.", reads)
	m.Counter("locum_database_replica_fallbacks_total", "Statements for replicas that the primary has answered.", fallbacks)
}

// close stops the measurements and closes the connections. Without replicas, r is nil.
func (r *replicas) close() (err error) {
	if r == nil {
		return nil
	}

	if hasStarted := r.stop != nil; hasStarted {
		r.stop()
		r.done.Wait()
	}

	for _, rep := range r.all {
		err = errors.Join(err, rep.pool.Close())
	}

	return errors.Join(err, r.primary.Close())
}

// observe measures the state of the replica at intervals until ctx is done.
func (r *replicas) observe(ctx context.Context, rep *replica) {
	defer rep.markUnavailable(context.Canceled)

	var positions observedPositions
	for ctx.Err() == nil {
		interval := observeInterval

		err := r.measure(ctx, rep, &positions)
		if err != nil && ctx.Err() == nil {
			wasUnavailable := rep.isUnavailable()
			rep.markUnavailable(err)

			if !wasUnavailable {
				r.log.Warn("replica unavailable; reading from the primary", "replica", rep.name, "error", err)
			}

			interval = reconnectInterval
		}

		pause(ctx, interval)
	}
}

// observedPositions are the log positions that the measurements of a replica have read so far.
type observedPositions struct {
	// primary are the positions of the primary, in ascending order. They begin with the last one
	// that the replica had applied at the latest measurement.
	primary []primaryPosition
	// replayed is the position up to which the replica had applied the log at the latest
	// measurement.
	replayed LogPosition
}

// primaryPosition is a log position of the primary. It is the end of the log at some time after
// readAt, so that everything that was committed before readAt is before the position.
type primaryPosition struct {
	readAt   time.Time
	position LogPosition
}

// measure reads the positions of the primary and of the replica, and stores the state of the replica
// that follows from them. If the primary does not respond, measure compares the position of the replica
// with earlier positions of the primary.
func (r *replicas) measure(ctx context.Context, rep *replica, positions *observedPositions) error {
	latest, primaryErr := r.readPrimary(ctx)
	if primaryErr == nil {
		positions.primary = append(positions.primary, latest)
	}

	previous := positions.replayed
	replayed, err := r.readReplayed(ctx, rep)
	positions.replayed = replayed

	if err != nil {
		return err
	}

	// The previous position of the replica was read before the latest position of the primary. A replica is never
	// ahead of its primary, so the latest position of the primary must not be lower.
	isSameDatabase := latest.position.Database == previous.Database
	if primaryErr == nil && isSameDatabase && latest.position.Offset < previous.Offset {
		return errDiverged
	}

	positions.primary, err = rep.addMeasurement(replayed, positions.primary)

	return err
}

// errDiverged is the error of a replica that has applied more of the log than the primary has
// written. Such a replica follows a former primary.
var errDiverged = errors.New("it is ahead of the primary")

// readPrimary reads the present log position of the primary.
func (r *replicas) readPrimary(ctx context.Context) (primaryPosition, error) {
	ctx, cancel := context.WithTimeout(ctx, observeTimeout)
	defer cancel()

	readAt := time.Now() // before the position is read
	position, err := r.dialect.CommittedPosition(ctx, r.primary)

	return primaryPosition{readAt: readAt, position: position}, err
}

// readReplayed reads the position up to which the replica has applied the log.
func (r *replicas) readReplayed(ctx context.Context, rep *replica) (LogPosition, error) {
	ctx, cancel := context.WithTimeout(ctx, observeTimeout)
	defer cancel()
	return r.dialect.ReplayedPosition(ctx, rep.pool)
}

// addMeasurement stores the result of a measurement: the replica responds, and it contains all commits from before
// some time. replayed is the position up to which the replica has applied the log. primary are positions of the
// primary in ascending order. The time is that of the last of them that the replica has reached. If it has reached
// none, the time stays as it was and is not verified. addMeasurement returns the positions that later measurements
// need: the last one that was reached and those after it.
func (rep *replica) addMeasurement(replayed LogPosition, primary []primaryPosition) (kept []primaryPosition, err error) {
	const none = -1
	lastApplied := none // the index of the last position that the replica has reached

	for i, p := range primary {
		if p.position.Database != replayed.Database {
			return primary[len(primary)-1:], errors.New("it is not a replica of the primary")
		}

		if p.position.Offset <= replayed.Offset {
			lastApplied = i
		}
	}

	rep.mu.Lock()
	defer rep.mu.Unlock()

	if rep.available == nil {
		rep.available, rep.fail = context.WithCancel(context.Background())
	}

	rep.err = nil
	rep.isVerified = lastApplied != none

	if rep.isVerified {
		rep.currentAsOf = primary[lastApplied].readAt
		primary = primary[lastApplied:]
	}

	// Of a replica that lags much, keep the first position and the latest ones.
	const maxPositions = int(time.Minute / observeInterval)
	if tooMany := len(primary) - maxPositions; tooMany > 0 {
		primary = append(primary[:1], primary[1+tooMany:]...)
	}

	return primary, nil
}

// isUnavailable reports whether the latest measurement of the replica has failed. It returns
// false before the first measurement.
func (rep *replica) isUnavailable() bool {
	rep.mu.Lock()
	defer rep.mu.Unlock()
	return rep.available == nil && !errors.Is(rep.err, errNotConnected)
}

// markUnavailable cancels the statements of the replica and stores the error as the reason.
func (rep *replica) markUnavailable(err error) {
	rep.mu.Lock()
	defer rep.mu.Unlock()

	if rep.available != nil {
		rep.fail()
	}

	rep.available = nil
	rep.isVerified = false
	rep.err = err
}

// lag returns the age of the state that the replica is known to contain.
func (rep *replica) lag() time.Duration {
	rep.mu.Lock()
	defer rep.mu.Unlock()
	return time.Since(rep.currentAsOf)
}

// problem returns why the replica is not used, or nil if it is.
func (rep *replica) problem() error {
	rep.mu.Lock()
	defer rep.mu.Unlock()

	if rep.err != nil {
		return fmt.Errorf("%s: %w", rep.name, rep.err)
	}

	lag := time.Since(rep.currentAsOf)
	if !rep.isVerified || lag > maxReplicaLag {
		return fmt.Errorf("%s lags by %s", rep.name, lag.Round(time.Millisecond))
	}

	return nil
}

// problems returns why some of the replicas are not used, or nil if all are.
func (r *replicas) problems(context.Context) error {
	errs := make([]error, len(r.all))
	for i, rep := range r.all {
		errs[i] = rep.problem()
	}

	return errors.Join(errs...)
}

// errNoReplica is the error of execute if it does not use the replica.
var errNoReplica = errors.New("the replica is not used")

// execute calls fn with a context that ends when the replica becomes unavailable. It returns
// errNoReplica without calling fn if the replica lags too much, if it may lack commits from before
// asOf, or if all its connections are in use.
func (rep *replica) execute(ctx context.Context, asOf time.Time, fn func(context.Context) error) error {
	rep.mu.Lock()
	available := rep.available
	isRecent := rep.isVerified && time.Since(rep.currentAsOf) <= maxReplicaLag
	containsAsOf := !rep.currentAsOf.Before(asOf)
	rep.mu.Unlock()

	if !isRecent || !containsAsOf {
		return errNoReplica
	}

	// Do not wait for a slot: the primary can answer at once.
	select {
	case rep.slots <- struct{}{}:
		defer func() { <-rep.slots }()
	default:
		return errNoReplica
	}

	// Cancel the statement when the replica becomes unavailable.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()

	stopWatching := context.AfterFunc(available, cancel)
	defer stopWatching()

	return fn(ctx)
}

// onReplica calls fn with the pool of a replica if ctx permits outdated reads, and reports whether fn
// has succeeded. If not, the caller has to use the primary, because any error of a replica may be
// due to its lag or shutdown.
func (db *DB) onReplica(ctx context.Context, fn func(ctx context.Context, pool *sql.DB) error) bool {
	asOf, mayBeStale := tx.AsOf(ctx)
	isInTransaction := ctx.Value(innermostKey{}) != nil

	if !mayBeStale || db.replicas == nil || isInTransaction {
		return false
	}

	// The search index of this process contains all changes of listings that the process knows
	// of. A replica must contain them too: otherwise it could lack listings that a search has
	// found.
	if changed := db.listingsChangedAt.Load(); changed != nil && changed.After(asOf) {
		asOf = *changed
	}

	// Begin with a random replica, and try the next one only if this one is behind or busy.
	r := db.replicas
	first := rand.IntN(len(r.all)) //nolint:gosec // balancing needs no secrecy

	for i := range r.all {
		rep := r.all[(first+i)%len(r.all)]

		err := rep.execute(ctx, asOf, func(ctx context.Context) error { return fn(ctx, rep.pool) })
		if err == nil {
			r.reads.Add(1)
			return true
		}

		// After another error, use the primary: the statement has already taken some time, and would do so again on
		// the next replica.
		if !errors.Is(err, errNoReplica) {
			break
		}
	}

	r.fallbacks.Add(1)

	return false
}

// useReplicas replaces GORM's callback for queries, so that replicas execute queries outside of
// transactions as far as onReplica permits.
func (db *DB) useReplicas() error {
	if db.replicas == nil {
		return nil
	}

	return db.reader.Callback().Query().Replace("gorm:query", func(q *gorm.DB) {
		if q.Error != nil {
			return
		}

		_, isInTransaction := q.Statement.ConnPool.(gorm.TxCommitter)
		if !isInTransaction && db.queryReplica(q) {
			return // a replica has executed the query
		}

		callbacks.Query(q)
	})
}

// queryReplica executes a query with a replica and reports whether it has succeeded. If not, it resets
// the query, so that the primary can execute it.
func (db *DB) queryReplica(q *gorm.DB) bool {
	statement := q.Statement
	primaryPool, outerCtx := statement.ConnPool, statement.Context

	hasSucceeded := db.onReplica(outerCtx, func(ctx context.Context, pool *sql.DB) error {
		statement.ConnPool, statement.Context = retryPool{pool}, ctx

		callbacks.Query(q)

		return q.Error
	})

	statement.ConnPool, statement.Context = primaryPool, outerCtx

	if !hasSucceeded {
		q.Error, q.RowsAffected = nil, 0
	}

	return hasSucceeded
}

// noteListingsChanged records that this process now knows of committed changes of listings. onReplica
// does not use replicas that may lack these changes.
func (db *DB) noteListingsChanged() {
	now := time.Now()
	db.listingsChangedAt.Store(&now)
}
