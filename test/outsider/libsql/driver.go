package libsql

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"time"

	_ "github.com/tursodatabase/go-libsql" // the driver libsql
)

// timeFormat is the format in which times are stored. Texts in it have the order of the times, because they always
// have six decimals and are in UTC. The driver returns such a text as a time.
const timeFormat = "2006-01-02T15:04:05.000000Z07:00"

// mark is written before each text of a user that begins like a date, and removed when the text is read. Without it,
// the driver would return the text as a time.
const mark = "\u2060" // word joiner, an invisible character

// dateLike matches texts that begin like a date, with or without marks.
var dateLike = regexp.MustCompile(`^` + mark + `*\d{4}-\d\d-\d\d`)

// openPool opens a pool of connections to a file.
func openPool(path string, connections int) (*sql.DB, error) {
	// The driver has no exported type. It is taken from a pool that is not used otherwise.
	unused, err := sql.Open("libsql", "file:"+path)
	if err != nil {
		return nil, err
	}

	native, err := unused.Driver().(driver.DriverContext).OpenConnector("file:" + path)
	if err = errors.Join(err, unused.Close()); err != nil {
		return nil, err
	}

	pool := sql.OpenDB(connector{native})
	pool.SetMaxOpenConns(connections)
	pool.SetMaxIdleConns(connections)

	return pool, nil
}

// connector opens connections with the settings of the database.
type connector struct{ driver.Connector }

// Close implements io.Closer.
func (c connector) Close() error { return c.Connector.(io.Closer).Close() }

// Connect implements driver.Connector.
func (c connector) Connect(ctx context.Context) (driver.Conn, error) {
	native, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}

	conn := &conn{Conn: native, exec: native.(driver.ExecerContext), query: native.(driver.QueryerContext)}
	for _, pragma := range []string{"busy_timeout = 5000", "journal_mode = WAL", "synchronous = FULL", "foreign_keys = 1"} {
		rows, err := conn.QueryContext(ctx, "PRAGMA "+pragma, nil)
		if err == nil {
			err = rows.Next(make([]driver.Value, len(rows.Columns())))
		}

		if err != nil && err != io.EOF { //nolint:errorlint // as documented
			return nil, errors.Join(fmt.Errorf("%s: %w", pragma, err), native.Close())
		}

		if err := rows.Close(); err != nil {
			return nil, err
		}
	}

	return conn, nil
}

// conn is a connection of the driver with other parameters and transactions.
type conn struct {
	driver.Conn
	exec  driver.ExecerContext
	query driver.QueryerContext
}

// CheckNamedValue implements driver.NamedValueChecker. It formats times, and marks texts that begin like a date.
func (*conn) CheckNamedValue(v *driver.NamedValue) error {
	value, err := driver.DefaultParameterConverter.ConvertValue(v.Value)
	if err != nil {
		return err
	}

	switch typed := value.(type) {
	case time.Time:
		value = typed.UTC().Format(timeFormat)
	case string:
		if dateLike.MatchString(typed) {
			value = mark + typed
		}
	}

	v.Value = value

	return nil
}

// ExecContext implements driver.ExecerContext.
func (c *conn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}

	return c.exec.ExecContext(ctx, query, args)
}

// QueryContext implements driver.QueryerContext.
func (c *conn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}

	found, err := c.query.QueryContext(ctx, query, args)

	return rows{found}, err
}

// rows removes marks.
type rows struct{ driver.Rows }

// Next implements driver.Rows.
func (r rows) Next(into []driver.Value) error {
	err := r.Rows.Next(into)
	for i, value := range into {
		text, isText := value.(string)
		if !isText {
			continue
		}

		unmarked := strings.TrimPrefix(text, mark)
		if dateLike.MatchString(unmarked) {
			into[i] = unmarked
		}
	}

	return err
}

// PrepareContext implements driver.ConnPrepareContext.
func (c *conn) PrepareContext(_ context.Context, query string) (driver.Stmt, error) {
	return &statement{c, query}, nil
}

// statement is a statement that the driver prepares at each call.
type statement struct {
	*conn
	text string
}

// Close implements driver.Stmt.
func (*statement) Close() error { return nil }

// NumInput implements driver.Stmt.
func (*statement) NumInput() int { return -1 }

var errContext = errors.New("only calls with a context are implemented")

// Exec implements driver.Stmt.
func (*statement) Exec([]driver.Value) (driver.Result, error) { return nil, errContext }

// Query implements driver.Stmt.
func (*statement) Query([]driver.Value) (driver.Rows, error) { return nil, errContext }

// ExecContext implements driver.StmtExecContext.
func (s *statement) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	return s.conn.ExecContext(ctx, s.text, args)
}

// QueryContext implements driver.StmtQueryContext.
func (s *statement) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	return s.conn.QueryContext(ctx, s.text, args)
}

// BeginTx implements driver.ConnBeginTx. IMMEDIATE makes the transaction wait for an earlier one when it begins.
// Otherwise it would begin to write in the middle, when it could only fail instead of waiting.
func (c *conn) BeginTx(ctx context.Context, _ driver.TxOptions) (driver.Tx, error) {
	_, err := c.ExecContext(ctx, "BEGIN IMMEDIATE", nil)
	return transaction{c}, err
}

// transaction implements driver.Tx.
type transaction struct{ *conn }

// Commit implements driver.Tx.
func (t transaction) Commit() error {
	_, err := t.ExecContext(context.Background(), "COMMIT", nil)
	return err
}

// Rollback implements driver.Tx.
func (t transaction) Rollback() error {
	_, err := t.ExecContext(context.Background(), "ROLLBACK", nil)
	return err
}
