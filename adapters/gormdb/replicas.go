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

// replicas are the read replicas of a database. They are used for statements outside
// of transactions that tx.AllowStale permits.
//
// The lag of a replica is measured by comparing log positions. If a replica has applied the
// log up to a position of the primary, it contains everything that was committed before this
// position was read. The position of a primary without writes does not change, so that its
// replicas do not lag.
type replicas struct {
	all     []*replica
	dialect Replicator
	primary *sql.DB // one connection, which reports the position even if all others are in use
	log     *slog.Logger
	stop    context.CancelFunc // ends the measurements
	done    sync.WaitGroup     // of the measurements

	reads     atomic.Uint64 // statements that replicas have answered
	fallbacks atomic.Uint64 // statements for replicas that the primary has answered
}

// replica is a read replica with its measured state.
type replica struct {
	name  string // for the log, such as "replica 1"
	pool  *sql.DB
	slots chan struct{} // holds a value for each running statement; one connection is left for measurements

	mu sync.Mutex
	// currentAsOf is the latest time such that the replica is known to contain all earlier
	// commits. Until the first measurement it is the time when the replica was opened.
	currentAsOf time.Time
	// isVerified is true if the last measurement confirmed currentAsOf. After a restart, a
	// server may accept connections before it has applied the same part of the log again.
	isVerified bool
	// available is cancelled when the replica stops responding, and nil until it responds
	// again.
	available context.Context    //nolint:containedctx // cancels the statements of all its callers
	fail      context.CancelFunc // cancels available
	err       error              // why the replica cannot be used
}

// replicaConnections returns the number of connections to each replica. All replicas
// together have two fifths of all connections, but each has at least two.
func replicaConnections(s adapters.DatabaseSettings) int {
	if len(s.ReplicaURLs) == 0 {
		return 0
	}

	const minimum = 2 // one for measurements, one for statements
	ofAllReplicas := connections(s) * 2 / 5

	return max(minimum, ofAllReplicas/len(s.ReplicaURLs))
}

// primaryConnections returns the number of connections that are left for the primary, but at least three.
func primaryConnections(s adapters.DatabaseSettings) int {
	n := connections(s) - len(s.ReplicaURLs)*replicaConnections(s)
	if len(s.ReplicaURLs) > 0 {
		n-- // for measurements
	}

	const minimum = 3

	return max(minimum, n)
}

// errNotConnected is the error of a replica that has not been measured.
var errNotConnected = errors.New("not connected yet")

// openReplicas opens the replicas of the settings and begins to measure them. It returns nil if
// there are none.
func openReplicas(d Dialect, url string, o adapters.Deps) (r *replicas, err error) {
	s := o.Database
	if len(s.ReplicaURLs) == 0 {
		return nil, nil
	}

	dialect, supportsReplicas := d.(Replicator)
	if !supportsReplicas {
		return nil, fmt.Errorf("%s does not support database.replica_urls; remove it", d.Name())
	}

	r = &replicas{dialect: dialect, log: o.Log}
	if r.primary, err = dialect.OpenReplica(url, 1, s); err != nil {
		return nil, err
	}

	for i, url := range s.ReplicaURLs {
		pool, err := dialect.OpenReplica(url, replicaConnections(s), s)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("replica %d in database.replica_urls %w", i+1, err), r.close())
		}

		r.all = append(r.all, &replica{
			name:        fmt.Sprintf("replica %d", i+1),
			pool:        pool,
			slots:       make(chan struct{}, replicaConnections(s)-1),
			currentAsOf: time.Now(),
			err:         errNotConnected,
		})
	}

	r.register(o.Metrics)

	ctx, stop := context.WithCancel(context.Background())

	r.stop = stop
	for _, rep := range r.all {
		r.done.Go(func() { r.observe(ctx, rep) })
	}

	return r, nil
}

// register adds the metrics of replicas to the registry.
func (r *replicas) register(m metrics.Registry) {
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

// close stops the measurements and closes the connections.
func (r *replicas) close() (err error) {
	if r == nil {
		return nil
	}

	if r.stop != nil {
		r.stop()
		r.done.Wait()
	}

	for _, rep := range r.all {
		err = errors.Join(err, rep.pool.Close())
	}

	return errors.Join(err, r.primary.Close())
}

// observe measures the replica until ctx is done.
func (r *replicas) observe(ctx context.Context, rep *replica) {
	defer rep.markUnavailable(context.Canceled)

	var log logState
	for ctx.Err() == nil {
		interval := observeInterval

		err := r.measure(ctx, rep, &log)
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

// logState is what measurements of a replica have read so far.
type logState struct {
	commits  []commit    // of the primary, in ascending order
	replayed LogPosition // of the replica, at the latest measurement
}

// measure compares the log position of the replica with the positions of the primary. Without
// an answer of the primary, measure uses the commits of earlier measurements.
func (r *replicas) measure(ctx context.Context, rep *replica, log *logState) error {
	latest, primaryErr := r.readCommitted(ctx)
	if primaryErr == nil {
		log.commits = append(log.commits, latest)
	}

	previous := log.replayed
	replayed, err := r.readReplayed(ctx, rep)
	log.replayed = replayed

	if err != nil {
		return err
	}

	// The previous position of the replica was read before that of the primary, so that it must not
	// be higher.
	isSameDatabase := latest.position.Database == previous.Database
	if primaryErr == nil && isSameDatabase && latest.position.Offset < previous.Offset {
		return errDiverged
	}

	log.commits, err = rep.addMeasurement(replayed, log.commits)

	return err
}

// errDiverged is the error of a replica that has applied more of the log than the primary has
// written. Such a replica follows a former primary.
var errDiverged = errors.New("it is ahead of the primary")

// commit is a log position of the primary. readAt is a time just before it was read.
type commit struct {
	readAt   time.Time
	position LogPosition
}

// readCommitted reads the position of the primary. Its time is taken before, so that the
// position contains everything that was committed until then.
func (r *replicas) readCommitted(ctx context.Context) (commit, error) {
	ctx, cancel := context.WithTimeout(ctx, observeTimeout)
	defer cancel()

	readAt := time.Now()
	position, err := r.dialect.CommittedPosition(ctx, r.primary)

	return commit{readAt: readAt, position: position}, err
}

// readReplayed reads the position up to which the replica has applied the log.
func (r *replicas) readReplayed(ctx context.Context, rep *replica) (LogPosition, error) {
	ctx, cancel := context.WithTimeout(ctx, observeTimeout)
	defer cancel()
	return r.dialect.ReplayedPosition(ctx, rep.pool)
}

// addMeasurement stores how far the replica has applied the log. commits are positions of the
// primary in ascending order. addMeasurement returns those that later measurements need.
func (rep *replica) addMeasurement(replayed LogPosition, commits []commit) ([]commit, error) {
	contained := -1 // the index of the last commit that the replica contains
	for i, c := range commits {
		if c.position.Database != replayed.Database {
			return commits[len(commits)-1:], errors.New("it is not a replica of the primary")
		}

		if c.position.Offset <= replayed.Offset {
			contained = i
		}
	}

	rep.mu.Lock()
	defer rep.mu.Unlock()

	if rep.available == nil {
		rep.available, rep.fail = context.WithCancel(context.Background())
	}

	rep.err = nil

	rep.isVerified = contained >= 0
	if rep.isVerified {
		rep.currentAsOf = commits[contained].readAt
		commits = commits[contained:]
	}

	// Keep the commit that the replica contains, and the latest ones after it.
	const maxCommits = int(time.Minute / observeInterval)
	if n := len(commits); n > maxCommits {
		commits = append(commits[:1], commits[n-maxCommits+1:]...)
	}

	return commits, nil
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

// lag returns the time for which the replica has not been known to contain all commits.
func (rep *replica) lag() time.Duration {
	rep.mu.Lock()
	defer rep.mu.Unlock()
	return time.Since(rep.currentAsOf)
}

// problem returns why the replica is not used, or nil.
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

// problems returns why replicas are not used.
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
// errNoReplica if the replica lags too much, if it may lack commits from before asOf, or if all its
// connections are in use.
func (rep *replica) execute(ctx context.Context, asOf time.Time, fn func(context.Context) error) error {
	rep.mu.Lock()
	available := rep.available
	isRecent := rep.isVerified && time.Since(rep.currentAsOf) <= maxReplicaLag
	containsAsOf := !rep.currentAsOf.Before(asOf)
	rep.mu.Unlock()

	if !isRecent || !containsAsOf {
		return errNoReplica
	}

	select {
	case rep.slots <- struct{}{}:
		defer func() { <-rep.slots }()
	default:
		return errNoReplica
	}

	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(available, cancel)()

	return fn(ctx)
}

// onReplica calls fn with a replica if ctx permits outdated reads, and reports whether fn has
// succeeded. If not, the caller has to use the primary, because any error of a replica may be
// due to its lag or shutdown.
func (db *DB) onReplica(ctx context.Context, fn func(ctx context.Context, pool *sql.DB) error) bool {
	asOf, mayBeStale := tx.AsOf(ctx)

	isInTransaction := ctx.Value(innermostKey{}) != nil
	if !mayBeStale || db.replicas == nil || isInTransaction {
		return false
	}

	// Lists of listings come from the search index, which contains these changes. A replica
	// that lacks them could not find the listings.
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

		if !errors.Is(err, errNoReplica) { // another replica could take as long again
			break
		}
	}

	r.fallbacks.Add(1)

	return false
}

// useReplicas lets replicas execute queries of GORM's builder outside of transactions, as far
// as onReplica permits.
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
	primary, outer := q.Statement.ConnPool, q.Statement.Context
	answered := db.onReplica(outer, func(ctx context.Context, pool *sql.DB) error {
		q.Statement.ConnPool, q.Statement.Context = retryPool{pool}, ctx
		callbacks.Query(q)
		return q.Error
	})

	q.Statement.ConnPool, q.Statement.Context = primary, outer

	if !answered {
		q.Error, q.RowsAffected = nil, 0
	}

	return answered
}

// noteListingsChanged records that this process knows of committed changes of listings.
// Replicas that may lack these changes are not used.
func (db *DB) noteListingsChanged() {
	now := time.Now()
	db.listingsChangedAt.Store(&now)
}
