package gormdb

import (
	"context"
	_ "embed"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/core/event"
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/core/retention"
	"github.com/locumhq/locum/core/task"
	"github.com/locumhq/locum/modules/hiring"
	"github.com/locumhq/locum/modules/identity"
	"github.com/locumhq/locum/modules/integrations"
	"github.com/locumhq/locum/modules/jobseeker"
	"github.com/locumhq/locum/modules/listings"
	"github.com/locumhq/locum/test/kit"
)

// TestMySQLConfig_URL checks the configuration for a URL, and that URLs with options that could
// change the behaviour of statements, such as autocommit, are refused. Errors never contain the
// password, here "secret".
func TestMySQLConfig_URL(t *testing.T) {
	t.Parallel()
	cfg, err := mysqlConfig("mysql://jo:p%40ss%2F@db.example:3307/locum?tls=skip-verify&max_statement_time=5")
	require.NoError(t, err)
	require.Equal(
		t,
		[]string{"jo", "p@ss/", "tcp", "db.example:3307", "locum", "5", "'READ-COMMITTED'", "skip-verify"},
		[]string{
			cfg.User,
			cfg.Passwd,
			cfg.Net,
			cfg.Addr,
			cfg.DBName,
			cfg.Params["max_statement_time"],
			cfg.Params["tx_isolation"],
			cfg.TLSConfig,
		},
	)
	cfg, err = mysqlConfig("mysql://jo@/locum?socket=/run/mysqld/mysqld.sock")
	require.NoError(t, err)
	require.Equal(t, []string{"unix", "/run/mysqld/mysqld.sock"}, []string{cfg.Net, cfg.Addr})
	require.True(t, cfg.ParseTime)
	require.Nil(t, cfg.TLS)
	cfg, err = mysqlConfig("mysql://jo@db/locum")
	require.NoError(t, err)
	require.NotNil(t, cfg.TLS)
	require.True(t, cfg.AllowFallbackToPlaintext) // the default is tls=preferred
	for _, bad := range []string{"mysql://jo:secret@db", "mysql://jo:secret@db/", "mysql://jo:sec%ret@db/x", "mysql://jo:secret@db/x?tls=unknown", "mysql://jo:secret@db/x?ca=/none",
		"mysql://jo:secret@db/x?character_set_client=gbk", "mysql://jo:secret@db/x?autocommit=0", "mysql://jo:secret@db/x?multiStatements=true", "mysql://jo:secret@db/x?sql_mode=%27%27"} {
		_, err := MySQL{}.Open(bad, adapters.DatabaseSettings{})
		require.Error(t, err, bad)
		require.NotContains(t, err.Error(), "sec", bad)
	}
}

// TestMySQL_NoServer_IsUnavailable checks that each way to use the database reports an outage as
// a 503.
func TestMySQL_NoServer_IsUnavailable(t *testing.T) {
	t.Parallel()
	requireUnavailable(t, MySQL{}, "mysql://locum@127.0.0.1:1/x")
}

// TestMySQL_SchemaIsThatOfPostgres checks that both have the same columns, foreign keys and
// indexes, although the migrations of MariaDB are separate files. MariaDB has no indexes with a
// condition: a unique one has a generated column named INDEX_if in its place, which is null
// where the condition is false, and a plain one may have the columns of the condition.
func TestMySQL_SchemaIsThatOfPostgres(t *testing.T) {
	t.Parallel()
	my, pg := migrated(t, kit.MariaDBURL(t)), migrated(t, kit.PostgresURL(t))
	const columnsOf = `SELECT CONCAT(table_name, '.', column_name, ': ', is_nullable) FROM information_schema.columns WHERE table_schema = `
	// These columns exist on MariaDB only: those of indexes with a condition, of advisory locks,
	// and of the counter that numbers the changes of listings.
	columns := slices.DeleteFunc(things(t, my, columnsOf+"DATABASE()"), func(c string) bool {
		return strings.Contains(c, "_if: ") || strings.HasPrefix(c, "advisory_locks.") || strings.HasPrefix(c, "listing_feed.last_xid") ||
			strings.HasPrefix(c, "listing_feed.id")
	})
	require.Equal(t, things(t, pg, columnsOf+"'public'"), columns)
	require.Greater(t, len(columns), 50)

	const references = `SELECT CONCAT(k.table_name, ' ', k.column_name, ' ', r.delete_rule) FROM information_schema.referential_constraints r
		JOIN information_schema.key_column_usage k ON k.constraint_name = r.constraint_name AND k.constraint_schema = r.constraint_schema%s WHERE r.constraint_schema = `
	require.Equal(t, things(t, pg, fmt.Sprintf(references, "")+"'public'"),
		things(t, my, fmt.Sprintf(references, " AND k.table_name = r.table_name")+"DATABASE()"))

	// index is an index with its columns, separated by commas, and its condition in SQL.
	type index struct {
		Name, Columns string
		Uniq          bool
		Condition     string
	}
	read := func(db *DB, query string) map[string]index {
		var all []index
		require.NoError(t, db.reader.Raw(query).Scan(&all).Error)
		out := map[string]index{}
		for _, i := range all {
			if !isOwn(i.Name) && !strings.HasPrefix(i.Name, "advisory_locks") {
				out[i.Name] = i
			}
		}
		return out
	}
	// The name of a primary key is PRIMARY on MariaDB and TABLE_pkey on PostgreSQL.
	here := read(
		my,
		`SELECT CASE index_name WHEN 'PRIMARY' THEN CONCAT(table_name, '_pkey') ELSE index_name END AS name, MAX(non_unique) = 0 AS uniq,
		GROUP_CONCAT(column_name ORDER BY seq_in_index) AS columns FROM information_schema.statistics WHERE table_schema = DATABASE() GROUP BY table_name, index_name`,
	)
	there := read(pg, `SELECT c.relname AS name, i.indisunique AS uniq, COALESCE(pg_get_expr(i.indpred, i.indrelid), '') AS condition,
		(SELECT string_agg(a.attname, ',' ORDER BY k.n) FROM unnest(i.indkey) WITH ORDINALITY AS k(attnum, n) JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.attnum) AS columns
		FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = 'public'`)
	require.Greater(t, len(there), 50)
	for name, want := range there {
		got, ok := here[name]
		delete(here, name)
		require.True(t, ok, "there is no index %s", name)
		require.Equal(t, want.Uniq, got.Uniq, name)
		if name == "listing_changes_pkey" || name == "listing_feed_pkey" {
			continue // MariaDB numbers the changes in another way
		}
		columns := strings.Split(got.Columns, ",")
		// rest are the columns that the index of PostgreSQL does not have.
		rest := slices.DeleteFunc(
			slices.Clone(columns),
			func(c string) bool { return slices.Contains(strings.Split(want.Columns, ","), c) },
		)
		for _, more := range rest {
			require.True(t,
				more == name+"_if" && want.Condition != "" || !want.Uniq && strings.Contains(want.Condition, more),
				"%s has the column %s", name, more)
		}
		require.Equal(t, want.Columns,
			strings.Join(slices.DeleteFunc(columns, func(c string) bool { return slices.Contains(rest, c) }), ","),
			name)
		if want.Uniq && want.Condition != "" && !strings.HasSuffix(want.Condition, "IS NOT NULL)") {
			require.Equal(t, []string{name + "_if"}, rest, "%s is unique under a condition", name)
		}
	}
	require.Empty(t, here)
}

// TestMySQL_SchemaOfInterruptedMigration_IsCompleted checks that a migration that ended between
// two tables is completed by the next one, that three processes may migrate at the same time,
// and that all migrations can be reverted.
func TestMySQL_SchemaOfInterruptedMigration_IsCompleted(t *testing.T) {
	t.Parallel()
	db := openURL(t, kit.MariaDBURL(t))
	s := schemas{db}
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() { _, err := s.Up(context.Background()); assert.NoError(t, err) })
	}
	all.Wait()
	require.NoError(t, s.Check(t.Context()))
	// MariaDB commits each CREATE TABLE by itself, so that a migration can end with some tables.
	require.NoError(t, db.reader.Exec("DELETE FROM schema_jobseeker WHERE version_id >= 1").Error)
	require.NoError(t, db.reader.Exec("DROP TABLE alert_listings").Error)
	_, err := s.Up(t.Context())
	require.NoError(t, err)
	require.NoError(t, s.Check(t.Context()))
	require.True(t, db.reader.Migrator().HasTable("alert_listings"))
	var n int64
	require.NoError(t, db.reader.Table("listing_feed").Count(&n).Error)
	require.Equal(t, int64(1), n)
	steps, err := s.Status(t.Context())
	require.NoError(t, err)
	for range steps {
		_, err := s.Down(t.Context())
		require.NoError(t, err)
	}
	require.False(t, db.reader.Migrator().HasTable("users"))
}

// TestMySQL_AfterDeadlock_NothingIsCommitted checks that a function that ignores a deadlock, for
// which MariaDB has rolled back the transaction, cannot commit anything: later statements fail,
// and Do repeats the function. Two transactions update two rows in opposite order.
func TestMySQL_AfterDeadlock_NothingIsCommitted(t *testing.T) {
	t.Parallel()
	db := migrated(t, kit.MariaDBURL(t))
	require.NoError(t, db.reader.Exec("CREATE TABLE rows_of_test (id INT PRIMARY KEY, n INT)").Error)
	require.NoError(t, db.reader.Exec("INSERT INTO rows_of_test VALUES (1, 0), (2, 0)").Error)
	first, both := make(chan struct{}, 2), make(chan struct{})
	deadlocks := atomic.Int32{}
	var all sync.WaitGroup
	for i := range 2 {
		all.Go(func() {
			tries := 0
			assert.NoError(t, db.Do(t.Context(), func(ctx context.Context) error {
				if tries++; tries > 1 {
					return nil
				}
				if err := db.conn(ctx).Exec("UPDATE rows_of_test SET n = n + 1 WHERE id = ?", 1+i).Error; err != nil {
					return err
				}
				first <- struct{}{}
				<-both
				q := db.conn(ctx)
				err := q.Exec("UPDATE rows_of_test SET n = n + 1 WHERE id = ?", 2-i).Error
				if err == nil {
					return nil
				}
				deadlocks.Add(1)
				assert.Error(t, newStatement(q).Exec("INSERT INTO rows_of_test VALUES (3, 0)").Error)
				assert.Error(t, db.conn(ctx).Exec("INSERT INTO rows_of_test VALUES (4, 0)").Error)
				return nil // the function ignores the error
			}))
		})
	}
	<-first
	<-first
	close(both)
	all.Wait()
	require.EqualValues(t, 1, deadlocks.Load())
	var ids []int
	require.NoError(t, db.reader.Table("rows_of_test").Order("id").Pluck("n", &ids).Error)
	require.Equal(t, []int{1, 1}, ids) // of one transaction
}

// TestMySQL_NewEpoch_ConcurrentChangesAreNumbered checks that Reset, which begins a new epoch of
// the feed, waits for a transaction that has numbered a change, and that later changes get the
// next numbers.
func TestMySQL_NewEpoch_ConcurrentChangesAreNumbered(t *testing.T) {
	t.Parallel()
	db := migrated(t, kit.MariaDBURL(t))
	inside, release := make(chan struct{}), make(chan struct{})
	var all sync.WaitGroup
	all.Go(func() {
		assert.NoError(t, db.Do(t.Context(), func(ctx context.Context) error {
			err := db.recordListings(ctx, []string{uuid.NewString()})
			close(inside)
			<-release
			return err
		}))
	})
	<-inside
	waiting := func() bool {
		var n int
		return db.reader.Raw("SELECT COUNT(*) FROM information_schema.processlist WHERE db = DATABASE() AND info LIKE 'UPDATE%listing_feed%'").
			Scan(&n).
			Error == nil &&
			n > 0
	}
	all.Go(func() { assert.NoError(t, feed{db}.Reset(t.Context())) })
	require.Eventually(t, waiting, 30*time.Second, 10*time.Millisecond)
	all.Go(func() {
		assert.NoError(t, db.Do(t.Context(), func(ctx context.Context) error { return db.recordListings(ctx, []string{uuid.NewString()}) }))
	})
	close(release)
	all.Wait()
	var numbers []int
	require.NoError(t, db.reader.Table("listing_changes").Order("xid").Pluck("xid", &numbers).Error)
	require.Equal(t, []int{1, 2}, numbers)
}

// TestMySQL_Text_IsComparedExactly checks the collation: the default ones of MariaDB consider
// these texts equal, and one address could then opt out for another.
func TestMySQL_Text_IsComparedExactly(t *testing.T) {
	t.Parallel()
	db := migrated(t, kit.MariaDBURL(t))
	optOuts := optOuts{db}
	boxes := []string{"straße", "strasse", "STRASSE", "strasse ", "😀"}
	for _, box := range boxes {
		exists, err := optOuts.Exists(t.Context(), box)
		require.NoError(t, err)
		require.False(t, exists, box)
		require.NoError(t, optOuts.Create(t.Context(), box, time.Now()))
	}
	var n int64
	require.NoError(t, db.reader.Model(&invitationOptOutRow{}).Count(&n).Error)
	require.Len(t, boxes, int(n))
}

// explain checks the plans of the statements on MariaDB: no step reads more than most rows.
func (s *statements) explain(t *testing.T, db *DB, most int) {
	t.Helper()
	for i, sql := range s.sql {
		var plan []struct {
			Table, Type, Key, Extra string
			Rows                    string
		}
		require.NoError(t, db.reader.Raw("EXPLAIN "+sql, s.vars[i]...).Scan(&plan).Error, sql)
		for _, step := range plan {
			rows := 0
			_, _ = fmt.Sscan(step.Rows, &rows) // "20 (1%)" with a filter, nothing without a table
			require.LessOrEqual(t, rows, most, "%+v\n%s", step, sql)
		}
	}
}

// mysqlRows inserts rows into the tables whose queries are checked.
//
//go:embed testdata/mysql_rows.sql
var mysqlRows string

var insertedTable = regexp.MustCompile(`INSERT INTO (\w+)`)

// idOfSeq is the id of a row by its number.
const idOfSeq = "CONCAT(LPAD(seq, 8, '0'), '-0000-7000-8000-000000000000')"

// TestMySQL_Queries_UseIndexes checks the plans of frequent queries with 20,000 rows in each
// table. MariaDB, unlike SQLite, chooses plans by the number of rows.
func TestMySQL_Queries_UseIndexes(t *testing.T) {
	t.Parallel()
	db := migrated(t, kit.MariaDBURL(t))
	// Each owner has 20 of the 20,000 rows, and one row in a thousand is unfinished work.
	const owner = "CONCAT(LPAD(1 + seq DIV 20, 8, '0'), '-0000-7000-8000-000000000000')"
	fill := strings.NewReplacer("ID", idOfSeq, "OWNER", owner).Replace(mysqlRows)
	for statement := range strings.SplitSeq(strings.TrimSpace(fill), ";\n") {
		require.NoError(t, db.reader.Exec("SET STATEMENT foreign_key_checks = 0 FOR "+statement).Error)
	}
	for _, table := range insertedTable.FindAllStringSubmatch(mysqlRows, -1) {
		require.NoError(t, db.reader.Exec("ANALYZE TABLE "+table[1]).Error)
	}
	require.NoError(t, db.reader.Exec("UPDATE listing_feed SET last_xid = 20000").Error)
	_, err := db.nowAndRepair(t.Context()) // after a start it compares all leases with the clock
	require.NoError(t, err)
	statements := recordStatements(t, db.reader)
	storage, ctx, now := db.Storage(), t.Context(), time.Now().UTC()
	id := "00000007-0000-7000-8000-000000000000"
	twoIDs := []string{
		"00000007-0000-7000-8000-000000000000",
		"00000008-0000-7000-8000-000000000000",
	}
	firstPage := page.Request{
		Number: 1,
		Size:   20,
	}
	mustRun := func(_ any, err error) { t.Helper(); require.NoError(t, err) }
	// The rows of these queries do not exist: their statements are recorded all the same.
	ignoreResult := func(_ any, _ error) {}
	ignoreResult(storage.Identity.Sessions.GetPrincipal(ctx, identity.SessionKey{ID: id}))
	ignoreResult(storage.Identity.Sessions.GetPrincipal(ctx, identity.SessionKey{CookieHash: "7"}))
	ignoreResult(storage.Identity.Sessions.GetRefreshToken(ctx, "7"))
	ignoreResult(storage.Identity.Users.GetByEmail(ctx, "7"))
	mustRun(storage.Identity.Users.GetByIDs(ctx, twoIDs))
	mustRun(storage.Identity.Sessions.List(ctx, id, now, firstPage))
	mustRun(storage.Identity.Members.GetByUser(ctx, id))
	mustRun(storage.Identity.Members.List(ctx, id, identity.MemberFilter{}, firstPage))
	require.NoError(t, storage.Identity.Sessions.EndByUsers(ctx, []string{id}, "", now))
	own, err := storage.Listings.Listings.List(ctx, id, "", page.Request{Number: 1, Size: 5})
	require.NoError(t, err)
	mustRun(storage.Listings.Listings.List(ctx, id, "", page.Request{Number: 1, Size: 20, Cursor: own.NextCursor}))
	mustRun(storage.Listings.Public.ListPublic(ctx, twoIDs, now, true))
	mustRun(storage.Listings.Public.ListClosing(ctx, now.Add(-time.Hour), "", now, 100))
	mustRun(nil, db.Do(ctx, func(ctx context.Context) error {
		_, err := storage.Listings.Listings.ClaimExpired(ctx, now, 10)
		return err
	}))
	mustRun(storage.Listings.Feed.ReadOpen(ctx, func(*listings.Listing) error { return nil }))
	mustRun(nil, db.Do(ctx, func(ctx context.Context) error { return db.recordListings(ctx, twoIDs) }))
	for _, v := range []hiring.Visibility{{OrganizationID: id}, {ApplicantID: id}} {
		mustRun(storage.Hiring.Applications.List(ctx, v, hiring.ApplicationFilter{}, firstPage))
		mustRun(storage.Hiring.Applications.CountByStatus(ctx, v, hiring.ApplicationFilter{}))
	}
	mustRun(storage.Hiring.Counts.CountByListing(ctx, id, twoIDs))
	mustRun(storage.Jobseeker.Notifications.List(ctx, id, firstPage))
	mustRun(storage.Jobseeker.Bookmarks.ClaimReminders(ctx, twoIDs, 10))
	mustRun(storage.Jobseeker.Searches.List(ctx, jobseeker.SearchFilter{Unresolved: true}, 10))
	_, _, err = storage.Jobseeker.Matches.AssignDigests(ctx, twoIDs, now.Add(time.Hour), now)
	require.NoError(t, err)
	_, _, err = storage.Integrations.Keys.GetByHash(ctx, "7")
	require.NoError(t, err)
	mustRun(storage.Integrations.Keys.Delete(ctx, id, integrations.KeyFilter{AppID: id, ID: uuid.NewString()}))
	mustRun(storage.Integrations.Webhooks.List(ctx, integrations.AnyOwner, integrations.EndpointFilter{Event: "t"}, "", 10))
	mustRun(storage.Integrations.Deliveries.ListMessages(ctx, id, id, integrations.MessageFilter{DueBy: now}, 10))
	mustRun(storage.Integrations.Deliveries.List(ctx, id, id, integrations.Failed, firstPage))
	tasks, outbox := tasks{db}, outbox{db}
	mustRun(tasks.Due(ctx, 10))
	mustRun(tasks.Start(ctx, twoIDs, time.Minute))
	mustRun(tasks.Extend(ctx, []task.Run{{ID: id, Attempt: 1}}, time.Minute))
	require.NoError(t, tasks.RecordOutcomes(ctx, task.Outcome{Run: task.Run{ID: id, Attempt: 1}, State: task.Done}))
	mustRun(tasks.Backlog(ctx))
	mustRun(outbox.Claim(ctx, 10, time.Minute))
	require.NoError(t, outbox.MarkSent(ctx, twoIDs...))
	_, _, err = outbox.Lag(ctx)
	require.NoError(t, err)
	for _, kind := range []retention.Kind{
		event.Sent, task.DoneTasks, identity.SessionKind, identity.RefreshTokenKind,
		jobseeker.NotificationKind, integrations.MessagesKind,
	} {
		mustRun(expiries{db}.DeleteBefore(ctx, kind, now.Add(-24*time.Hour), 10))
	}
	require.Greater(t, len(statements.sql), 50)
	statements.explain(t, db, 500) // far below 20,000, but above the estimates for an owner
}
