package gormdb

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"iter"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
	gormpg "gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/locumhq/locum/adapters"
)

// Postgres is the dialect of PostgreSQL.
type Postgres struct{ defaults }

// Name implements Dialect.
func (Postgres) Name() string { return "postgres" }

// Open implements Dialect. A transaction pooler between the process and the server lets clients share
// connections, which notifications and migrations cannot do. A direct URL bypasses the pooler. With such
// a URL, two connections are for the direct pool: one listens for notifications, the other one migrates.
func (Postgres) Open(url string, settings adapters.DatabaseSettings) (pools Pools, err error) {
	primary := primaryConnections(settings)
	if settings.DirectURL != "" {
		const direct, isPooled = 2, false
		if pools.Direct, err = openPostgres(settings.DirectURL, direct, isPooled); err != nil {
			return pools, fmt.Errorf("the direct URL %w", err)
		}

		primary -= direct
	}

	pools.Primary, err = openPostgres(url, primary, settings.TransactionPooler)
	if err != nil && pools.Direct != nil {
		err = errors.Join(err, pools.Direct.Close())
	}

	return pools, err
}

// OpenReplica implements Replicator.
func (Postgres) OpenReplica(url string, connections int, settings adapters.DatabaseSettings) (*sql.DB, error) {
	return openPostgres(url, connections, settings.TransactionPooler)
}

// CommittedPosition implements Replicator. It returns a position of the log that is after all visible
// transactions. Usually, a transaction becomes visible when its record has been flushed to disk, so that
// this is the end of the flushed log. If the server commits asynchronously, a transaction becomes visible
// earlier. The position is then the end of the log in memory.
func (Postgres) CommittedPosition(ctx context.Context, primary *sql.DB) (LogPosition, error) {
	return logPosition(ctx, primary, "CASE current_setting('synchronous_commit') "+
		"WHEN 'off' THEN pg_current_wal_insert_lsn() ELSE pg_current_wal_flush_lsn() END")
}

// ReplayedPosition implements Replicator. It returns an error for a server that is not a standby.
func (Postgres) ReplayedPosition(ctx context.Context, replica *sql.DB) (LogPosition, error) {
	return logPosition(ctx, replica, "pg_last_wal_replay_lsn()")
}

// logPosition returns a position of the log. lsn is an SQL expression for it, of the type pg_lsn. The
// expression for the replayed position is NULL on a server that is not a standby, which is an error.
func logPosition(ctx context.Context, pool *sql.DB, lsn string) (position LogPosition, err error) {
	var offset sql.NullInt64

	query := "SELECT system_identifier || '/' || current_database(), CAST(" + lsn + " - '0/0' AS BIGINT) FROM pg_control_system()"

	err = pool.QueryRowContext(ctx, query).Scan(&position.Database, &offset)
	if err == nil && !offset.Valid {
		err = errors.New("it is not a standby server")
	}

	position.Offset = offset.Int64

	return position, err
}

// Dialector implements Dialect. GORM's pool retries statements after a migration (see retryPool).
func (Postgres) Dialector(pool *sql.DB) gorm.Dialector {
	return gormpg.New(gormpg.Config{Conn: retryPool{pool}})
}

// Migrations implements Dialect.
func (Postgres) Migrations() goose.Dialect { return goose.DialectPostgres }

// Migration implements Dialect. Migrations are written for Postgres.
func (Postgres) Migration(sql []byte) []byte { return sql }

// MigrationLock implements Dialect.
func (Postgres) MigrationLock() (lock.SessionLocker, error) { return lock.NewPostgresSessionLocker() }

// SQLSTATE codes of errors after which a transaction can run again.
const (
	pgSerializationFailure = "40001"
	pgDeadlock             = "40P01"
)

// Retry implements Dialect.
func (Postgres) Retry(err error) bool {
	code := pgError(err).Code
	return code == pgSerializationFailure || code == pgDeadlock || isStalePlan(err)
}

// pgError returns the server's error that err wraps, or an empty error.
func pgError(err error) pgconn.PgError {
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		return *pg
	}

	return pgconn.PgError{}
}

// Unavailable implements Dialect. It derives the reason from the SQLSTATE code of the server's error,
// or from the error of the driver if the server has not answered.
func (Postgres) Unavailable(err error) Reason {
	switch code := pgError(err).Code; {
	case code == "": // not an error of the server
		return driverReason(err)
	case code == "53100": // disk_full
		return DiskFull
	case code == "25006": // read_only_sql_transaction: a standby, or a server set read-only
		return ReadOnly
	case strings.HasPrefix(code, "53"): // other insufficient resources
		return TooManyConnections
	case strings.HasPrefix(code, "08"), strings.HasPrefix(code, "57P"): // connection exceptions, shutdown
		return NoConnection
	case code == "57014", code == "55P03": // query_canceled, lock_not_available
		return TimedOut
	case code == "58030": // io_error
		return IOError
	}

	return ""
}

// driverReason returns NoConnection for errors of the driver that mean that the server could not be reached.
func driverReason(err error) Reason {
	switch {
	case isError[*pgconn.ConnectError](err), isError[net.Error](err), pgconn.Timeout(err), pgconn.SafeToRetry(err):
		return NoConnection
	// The driver has no types for these errors.
	case strings.Contains(err.Error(), "conn closed"), strings.Contains(err.Error(), "unexpected EOF"):
		return NoConnection
	}

	return ""
}

// In implements Dialect.
func (Postgres) In(column string, ids []string) clause.Expr {
	return gorm.Expr(column+" = ANY(?)", idArray(ids))
}

// idArray is a list of ids in the text format of Postgres arrays.
type idArray []string

// Value implements driver.Valuer. An id has no characters that would need quotes.
func (ids idArray) Value() (driver.Value, error) { return "{" + strings.Join(ids, ",") + "}", nil }

// Typed implements Dialect.
func (Postgres) Typed(value any, postgresType string) any {
	return gorm.Expr("?::"+postgresType, value)
}

// AdvisoryLock implements Dialect. An advisory lock of Postgres is a number: here, the hash of the name.
func (Postgres) AdvisoryLock() string { return "SELECT pg_advisory_xact_lock(hashtextextended(?, 0))" }

// openPostgres opens a pool without connecting. isPooled is true if the server is behind a
// transaction pooler. The text of an error continues a sentence whose subject is the URL.
func openPostgres(dsn string, maxConnections int, isPooled bool) (*sql.DB, error) {
	cfg, err := pgx.ParseConfig(dsn)
	if err != nil {
		// The error of the driver may contain the password.
		return nil, errors.New("is not a valid PostgreSQL URL")
	}

	const maxConnectTimeout = 2 * time.Second
	if cfg.ConnectTimeout == 0 || cfg.ConnectTimeout > maxConnectTimeout {
		cfg.ConnectTimeout = maxConnectTimeout
	}

	settings := map[string]string{"application_name": "locum", "TimeZone": "UTC"}
	if isPooled {
		// The pooler assigns another connection to each transaction, on which a statement that
		// was prepared earlier does not exist.
		cfg.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
	} else {
		// These end statements and transactions of clients that have disconnected without
		// cancelling them. A pooler refuses them.
		settings["statement_timeout"] = "60s"
		settings["idle_in_transaction_session_timeout"] = "60s"
	}

	// Settings in the URL take precedence.
	for name, value := range settings {
		if _, isInURL := cfg.RuntimeParams[name]; !isInURL {
			cfg.RuntimeParams[name] = value
		}
	}

	pool := stdlib.OpenDB(*cfg, stdlib.OptionAfterConnect(readTimestampsInUTC))
	limitConnections(pool, maxConnections)

	return pool, nil
}

// readTimestampsInUTC lets the connection return timestamps in UTC instead of the time zone of the
// machine.
func readTimestampsInUTC(_ context.Context, conn *pgx.Conn) error {
	conn.TypeMap().RegisterType(&pgtype.Type{
		Name:  "timestamptz",
		OID:   pgtype.TimestamptzOID,
		Codec: &pgtype.TimestamptzCodec{ScanLocation: time.UTC},
	})

	return nil
}

// QueueSettings returns the statement that sets the parameters of a transaction of the queue. With the first
// setting, a commit does not wait for the disk.
//
// The other settings make Postgres read the first rows of an index, which is right for all statements of
// the queue. With the usual settings, it would read and sort all rows (25 ms instead of 3 ms at 20,000
// rows). The reason is that it chooses by statistics, and the tables of the queue fill and empty faster
// than their statistics are updated.
func (Postgres) QueueSettings() string {
	return "SELECT set_config('synchronous_commit', 'off', true), " +
		"set_config('enable_sort', 'off', true), " +
		"set_config('enable_bitmapscan', 'off', true), " +
		"set_config('enable_hashagg', 'off', true), " +
		"set_config('plan_cache_mode', 'force_generic_plan', true)"
}

// Cluster implements SnapshotReader. It returns an SQL expression for the id of the database server.
func (Postgres) Cluster() string { return "(SELECT system_identifier FROM pg_control_system())" }

// Snapshot implements SnapshotReader. It returns an SQL expression for the transactions that a statement sees.
func (Postgres) Snapshot() string { return "CAST(pg_current_snapshot() AS TEXT)" }

// OldestRunning implements SnapshotReader. It returns an SQL expression for the number of the oldest transaction
// that has not ended.
func (Postgres) OldestRunning() string {
	return "CAST(CAST(pg_snapshot_xmin(pg_current_snapshot()) AS TEXT) AS BIGINT)"
}

// channel is the name under which processes notify each other.
const channel = "locum_work"

const (
	// idleInterval is how long Listen waits for a notification before it checks the connection.
	idleInterval = 30 * time.Second
	// pingTimeout is how long the server may take to answer this check.
	pingTimeout = 5 * time.Second
)

// Notify implements Notifier.
func (Postgres) Notify(ctx context.Context, pool *sql.DB) error {
	_, err := pool.ExecContext(ctx, "NOTIFY "+channel)
	return err
}

// Listen implements Notifier. It calls fn after each notification, and also when it has checked the
// connection.
func (Postgres) Listen(ctx context.Context, pool *sql.DB, fn func()) error {
	return withConnection(ctx, pool, func(pg *pgx.Conn) error {
		// A connection that has listened must not return to the pool.
		defer func() { _ = pg.Close(context.WithoutCancel(ctx)) }()

		if _, err := pg.Exec(ctx, "LISTEN "+channel); err != nil {
			return err
		}

		for {
			if err := waitForNotification(ctx, pg); err != nil {
				return err
			}

			fn()
		}
	})
}

// waitForNotification waits for a notification. After idleInterval without one, it checks that the
// server still answers, and returns as well.
func waitForNotification(ctx context.Context, pg *pgx.Conn) error {
	waitCtx, cancelWait := context.WithTimeout(ctx, idleInterval)
	defer cancelWait()

	_, err := pg.WaitForNotification(waitCtx)

	hasTimedOut := waitCtx.Err() != nil && ctx.Err() == nil
	if !hasTimedOut {
		return err
	}

	pingCtx, cancelPing := context.WithTimeout(ctx, pingTimeout)
	defer cancelPing()

	return pg.Ping(pingCtx)
}

// Stream implements Streamer. It bypasses database/sql, which takes several times as long per
// row as the driver.
func (Postgres) Stream(ctx context.Context, pool *sql.DB, query string, args []any, fn func(rows Rows) error) error {
	return withConnection(ctx, pool, func(pg *pgx.Conn) error {
		rows, err := pg.Query(ctx, numberParameters(query), args...)
		if err != nil {
			return err
		}
		defer rows.Close()

		return readRows(rows, fn)
	})
}

// ExecBatch implements Batcher. Postgres executes statements that are sent together
// in one transaction.
func (Postgres) ExecBatch(ctx context.Context, pool *sql.DB, statements []Statement) error {
	return withConnection(ctx, pool, func(pg *pgx.Conn) error {
		var batch pgx.Batch
		for _, statement := range statements {
			batch.Queue(statement.SQL, statement.Args...)
		}

		return pg.SendBatch(ctx, &batch).Close()
	})
}

// withConnection calls fn with the driver's type of one of the pool's connections.
func withConnection(ctx context.Context, pool *sql.DB, fn func(pg *pgx.Conn) error) error {
	conn, err := pool.Conn(ctx)
	if err != nil {
		return err
	}

	defer func() { _ = conn.Close() }()

	return conn.Raw(func(driver any) error { return fn(driver.(*stdlib.Conn).Conn()) })
}

// numberParameters replaces the parameters ? of a query by $1, $2 and so on, as the driver expects them.
func numberParameters(query string) string {
	var numbered strings.Builder

	rest := query
	for number := 1; ; number++ {
		before, after, hasParameter := strings.Cut(rest, "?")
		numbered.WriteString(before)

		if !hasParameter {
			return numbered.String()
		}

		numbered.WriteString("$" + strconv.Itoa(number))

		rest = after
	}
}

// BulkInsert implements BulkInserter with COPY. It inserts the rows and calls finish in one transaction.
// Afterwards it updates the statistics of the table, so that queries use the right indexes at once.
func (Postgres) BulkInsert(
	ctx context.Context,
	pool *sql.DB,
	table string,
	columns []string,
	rows iter.Seq[[]any],
	finish func(tx *sql.Tx) error,
) error {
	conn, err := pool.Conn(ctx)
	if err != nil {
		return err
	}

	defer func() { _ = conn.Close() }()

	tx, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return err
	}

	defer func() { _ = tx.Rollback() }()

	// A bulk load may take longer than the timeout of statements.
	const settings = "SELECT set_config('statement_timeout', '0', true), set_config('synchronous_commit', 'off', true)"
	if _, err := tx.ExecContext(ctx, settings); err != nil {
		return err
	}

	next, stop := iter.Pull(rows)
	defer stop()

	// CopyFrom ends at a row that is nil, which next returns after the last row.
	nextRow := pgx.CopyFromFunc(func() ([]any, error) {
		row, _ := next()
		return row, nil
	})

	// The driver's connection is that of tx, so that the rows belong to the transaction.
	err = conn.Raw(func(driver any) error {
		_, err := driver.(*stdlib.Conn).Conn().CopyFrom(ctx, pgx.Identifier{table}, columns, nextRow)
		return err
	})
	if err != nil {
		return err
	}

	if err := finish(tx); err != nil {
		return err
	}

	if err := tx.Commit(); err != nil {
		return err
	}

	_, err = conn.ExecContext(ctx, "ANALYZE "+table)

	return err
}

// isStalePlan reports whether a statement failed because a migration has changed the type of
// its result after the connection had prepared it. The driver prepares it again the next time.
func isStalePlan(err error) bool {
	const featureNotSupported = "0A000" // Postgres also uses this code for other errors
	pg := pgError(err)

	return pg.Code == featureNotSupported && strings.Contains(pg.Message, "cached plan")
}

// retryPool is a pool that retries statements that fail because of a stale plan (see isStalePlan).
// It only retries statements outside of transactions. DB.Do retries transactions.
type retryPool struct{ *sql.DB }

// retry calls run again as long as it fails because of a stale plan. Each attempt may get another
// connection. In the worst case, every connection of the pool has a stale plan, and one more attempt
// succeeds.
func (p retryPool) retry(run func() error) {
	for range p.Stats().MaxOpenConnections + 1 {
		if !isStalePlan(run()) {
			return
		}
	}
}

// QueryContext implements gorm.ConnPool.
func (p retryPool) QueryContext(ctx context.Context, query string, args ...any) (rows *sql.Rows, err error) {
	p.retry(func() error {
		rows, err = p.DB.QueryContext(ctx, query, args...) //nolint:rowserrcheck,sqlclosecheck // the caller reads them
		return err
	})

	return rows, err
}

// QueryRowContext implements gorm.ConnPool.
func (p retryPool) QueryRowContext(ctx context.Context, query string, args ...any) (row *sql.Row) {
	p.retry(func() error {
		row = p.DB.QueryRowContext(ctx, query, args...)
		return row.Err()
	})

	return row
}

// ExecContext implements gorm.ConnPool.
func (p retryPool) ExecContext(ctx context.Context, query string, args ...any) (result sql.Result, err error) {
	p.retry(func() error {
		result, err = p.DB.ExecContext(ctx, query, args...)
		return err
	})

	return result, err
}

// GetDBConn implements gorm.GetDBConnector.
func (p retryPool) GetDBConn() (*sql.DB, error) { return p.DB, nil }
