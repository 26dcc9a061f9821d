package gormdb

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/ncruces/go-sqlite3"
	sqlitedriver "github.com/ncruces/go-sqlite3/driver"
	"github.com/ncruces/go-sqlite3/gormlite"
	"github.com/pressly/goose/v3"
	gormpg "gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"
)

type dialect string

const (
	postgres dialect = "postgres"
	sqlite   dialect = "sqlite"
)

func dialectOf(dsn string) (dialect, error) {
	scheme, rest, _ := strings.Cut(dsn, ":")
	switch {
	case scheme == "sqlite" && rest != "":
		return sqlite, nil
	case scheme == "postgres" || scheme == "postgresql":
		return postgres, nil
	}
	return "", fmt.Errorf("want sqlite:PATH or postgres://USER:PASSWORD@HOST/NAME")
}

func (d dialect) goose() goose.Dialect {
	if d == postgres {
		return goose.DialectPostgres
	}
	return goose.DialectSQLite3
}

func (d dialect) dialector(pool *sql.DB) gorm.Dialector {
	if d == postgres {
		return gormpg.New(gormpg.Config{Conn: retryPool{pool}})
	}
	return gormlite.OpenDB(pool)
}

func (d dialect) open(dsn string) (*sql.DB, error) {
	if d == postgres {
		return openPostgres(dsn, nil, connections)
	}
	return openSQLite(strings.TrimPrefix(dsn, "sqlite:"), sqliteTimes+"&_pragma=query_only(1)", 8)
}

// openWriter is the pool of SQLite's one writer.
func (d dialect) openWriter(dsn string) (*sql.DB, error) {
	return openSQLite(strings.TrimPrefix(dsn, "sqlite:"), sqliteTimes, 1)
}

// How many connections a process has, for requests and reactions and in the
// pools beside that.
const (
	connections      = 16
	queueConnections = 4
)

// queueSettings are for statements that claim, start and settle work. If the
// server crashes, the last of them may be forgotten, and what they were about
// is done again, as it would be if the worker had crashed: they need not wait
// for the disk. And they take the first few rows of an index, on tables that
// fill and empty faster than their statistics: without these Postgres reads and
// sorts all of it (25 ms instead of 3 at 20,000 rows).
var queueSettings = map[string]string{"synchronous_commit": "off", "enable_sort": "off", "enable_bitmapscan": "off", "enable_hashagg": "off", "plan_cache_mode": "force_generic_plan"}

func openPostgres(dsn string, more map[string]string, most int) (*sql.DB, error) {
	cfg, err := pgx.ParseConfig(dsn)
	if err != nil {
		// The driver's words may quote the password.
		return nil, errors.New("not a Postgres address that can be read")
	}
	if cfg.ConnectTimeout == 0 || cfg.ConnectTimeout > 2*time.Second {
		cfg.ConnectTimeout = 2 * time.Second
	}
	for name, value := range map[string]string{
		"application_name": "locum",
		"TimeZone":         "UTC",
		// The context ends a request's statements; this ends what is left of
		// them in the server when the client could not say so any more.
		"statement_timeout":                   "60s",
		"idle_in_transaction_session_timeout": "60s",
		// Tables are in memory or on flash; plans are too short-lived to be
		// compiled.
		"random_page_cost": "1.1",
		"jit":              "off",
	} {
		if _, set := cfg.RuntimeParams[name]; !set {
			cfg.RuntimeParams[name] = value
		}
	}
	maps.Copy(cfg.RuntimeParams, more)
	// Without this a moment comes back in the machine's zone.
	pool := stdlib.OpenDB(*cfg, stdlib.OptionAfterConnect(func(_ context.Context, c *pgx.Conn) error {
		c.TypeMap().RegisterType(&pgtype.Type{Name: "timestamptz", OID: pgtype.TimestamptzOID, Codec: &pgtype.TimestamptzCodec{ScanLocation: time.UTC}})
		return nil
	}))
	pool.SetMaxOpenConns(most)
	pool.SetMaxIdleConns(most)
	pool.SetConnMaxIdleTime(5 * time.Minute)
	pool.SetConnMaxLifetime(time.Hour)
	return pool, nil
}

// sqliteTime keeps moments comparable as text: always six decimals, always UTC.
const sqliteTime = "2006-01-02T15:04:05.000000Z07:00"

var sqliteTimes = "&_timefmt=" + url.QueryEscape(sqliteTime)

func openSQLite(path, more string, connections int) (*sql.DB, error) {
	if dir := filepath.Dir(path); dir != "." {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, fmt.Errorf("the database's folder: %w", err)
		}
	}
	// What is in it is for this user alone.
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("the database's file: %w", err)
	}
	if err := file.Close(); err != nil {
		return nil, err
	}
	if err := likeDatabase(path); err != nil {
		return nil, err
	}
	// Immediate transactions wait for their turn at BEGIN; deferred ones fail
	// half way when two of them want to write (190 of 200 under 20 writers).
	dsn := "file:" + (&url.URL{Path: path}).EscapedPath() +
		"?_txlock=immediate&modeof=" + strings.ReplaceAll(url.QueryEscape(path), "+", "%20") + // a plus is a plus there
		"&_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)" +
		"&_pragma=foreign_keys(1)&_pragma=cache_size(-16000)" + more
	pool, err := sqlitedriver.Open(dsn, func(*sqlite3.Conn) error { return likeDatabase(path) })
	if err != nil {
		return nil, err
	}
	pool.SetMaxOpenConns(connections)
	pool.SetMaxIdleConns(connections)
	return pool, nil
}

// likeDatabase has the files beside the database's, in which its newest pages are,
// be for the same users. The driver makes the log so by itself (modeof), but not
// the log's index, and neither where they are there. No file is opened that may be
// in use: on some systems closing it would end the driver's locks.
func likeDatabase(path string) error {
	database, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("the database's file: %w", err)
	}
	mode := database.Mode().Perm()
	if index, err := os.OpenFile(path+"-shm", os.O_RDWR|os.O_CREATE|os.O_EXCL, mode); err == nil {
		_ = index.Close()
	}
	for _, beside := range []string{path + "-wal", path + "-shm"} {
		is, err := os.Stat(beside)
		if err == nil && is.Mode().Perm() != mode {
			err = os.Chmod(beside, mode)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission) { // it is another's
			return fmt.Errorf("a file beside the database's: %w", err)
		}
	}
	return nil
}

// lostRace reports whether running the whole transaction again may succeed.
func lostRace(err error) bool {
	if errors.Is(err, errStale) {
		return true
	}
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return pg.Code == "40001" || pg.Code == "40P01" || isStalePlan(err) // serialization failure, deadlock
	}
	return false
}

// The reasons for which a database is unavailable.
const (
	timeout            = "database: timeout"
	diskFull           = "database: disk full"
	readOnly           = "database: read-only"
	tooManyConnections = "database: too many connections"
	noConnection       = "database: no connection"
	ioError            = "database: I/O error"
	busy               = "database: busy"
)

// unavailable returns why the database could not be reached or did not answer in
// time, so that the same call may succeed later. It is empty for other errors.
func unavailable(err error) string {
	switch {
	case errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled):
		return timeout
	case errors.Is(err, driver.ErrBadConn) || errors.Is(err, sql.ErrConnDone):
		return noConnection
	}
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		switch {
		case pg.Code == "53100":
			return diskFull
		case pg.Code == "25006": // a standby, or a server set read-only
			return readOnly
		case strings.HasPrefix(pg.Code, "53"):
			return tooManyConnections
		case strings.HasPrefix(pg.Code, "08"), strings.HasPrefix(pg.Code, "57P"): // connection, shutdown
			return noConnection
		case pg.Code == "57014", pg.Code == "55P03": // cancelled, lock timeout
			return timeout
		case pg.Code == "58030":
			return ioError
		}
		return ""
	}
	var code sqlite3.ErrorCode // also a net.Error, whatever it says
	if errors.As(err, &code) {
		return map[sqlite3.ErrorCode]string{
			sqlite3.BUSY: busy, sqlite3.LOCKED: busy, sqlite3.INTERRUPT: timeout, sqlite3.FULL: diskFull,
			sqlite3.IOERR: ioError, sqlite3.CANTOPEN: ioError, sqlite3.READONLY: readOnly,
		}[code]
	}
	var connect *pgconn.ConnectError
	var network net.Error
	if errors.As(err, &connect) || errors.As(err, &network) || pgconn.Timeout(err) || pgconn.SafeToRetry(err) ||
		strings.Contains(err.Error(), "conn closed") || strings.Contains(err.Error(), "unexpected EOF") {
		return noConnection
	}
	return ""
}

// skipLocked lets concurrent claimers pass each other by.
func (d dialect) skipLocked() string {
	if d == postgres {
		return "FOR UPDATE SKIP LOCKED"
	}
	return ""
}

// oneOf is the condition on what a query of few rows finds. Postgres would join
// with IN, and read a whole index of finished rows for it (473 ms instead of 6
// at half a million); an array it looks up.
func (d dialect) oneOf(query string) string {
	if d == postgres {
		return "= ANY (ARRAY(" + query + "))"
	}
	return "IN (" + query + ")"
}

// moment is a parameter where Postgres would not guess its type, in a CASE.
func (d dialect) moment(t time.Time) any { return d.typed(t, "timestamptz") }

// typed is a value whose type Postgres cannot tell from where it stands.
func (d dialect) typed(v any, as string) any {
	if d == postgres {
		return gorm.Expr("?::"+as, v)
	}
	return v
}

// among is the condition that a row's id is one of the ids. They are one
// parameter, so that it is one statement for few and for many.
func (d dialect) among(ids []string) clause.Expr { return d.columnAmong("id", ids) }

// columnAmong is among for another column, which is a constant.
func (d dialect) columnAmong(column string, ids []string) clause.Expr {
	if d == postgres {
		return gorm.Expr(column+" = ANY(?)", idArray(ids))
	}
	return gorm.Expr(column+" IN (SELECT value FROM json_each(?))", idJSON(ids))
}

// idArray is ids as Postgres reads an array, and idJSON as SQLite reads a list.
type (
	idArray []string
	idJSON  []string
)

// Value implements driver.Valuer.
func (a idArray) Value() (driver.Value, error) { return "{" + strings.Join(a, ",") + "}", nil }

// Value implements driver.Valuer.
func (a idJSON) Value() (driver.Value, error) {
	list, err := json.Marshal([]string(a))
	return string(list), err
}

// uuid is an expression of text as an id.
func (d dialect) uuid(text string) string {
	if d == postgres {
		return "CAST(" + text + " AS UUID)"
	}
	return text
}

// The type names of the migrations, in SQLite's words. The driver reads a
// moment back as one only from a column declared DATETIME.
var sqliteTypes = map[string]string{
	"UUID":             "TEXT",
	"TIMESTAMPTZ":      "DATETIME",
	"JSONB":            "TEXT",
	"BIGINT":           "INTEGER",
	"DOUBLE PRECISION": "REAL",
}

var typeName = regexp.MustCompile(`\b(UUID|TIMESTAMPTZ|JSONB|BIGINT|DOUBLE PRECISION)\b`)

func (d dialect) rewrite(migration []byte) []byte {
	if d == postgres {
		return migration
	}
	return typeName.ReplaceAllFunc(migration, func(t []byte) []byte { return []byte(sqliteTypes[string(t)]) })
}
