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

// TestMySQLConfig_TCP checks the address, the credentials and the options of a URL with a host.
func TestMySQLConfig_TCP(t *testing.T) {
	t.Parallel()

	cfg, err := mysqlConfig("mysql://jo:p%40ss%2F@db.example:3307/locum?tls=skip-verify&max_statement_time=5")
	require.NoError(t, err)
	require.Equal(t, "jo", cfg.User)
	require.Equal(t, "p@ss/", cfg.Passwd)
	require.Equal(t, "tcp", cfg.Net)
	require.Equal(t, "db.example:3307", cfg.Addr)
	require.Equal(t, "locum", cfg.DBName)
	require.Equal(t, "5", cfg.Params["max_statement_time"])
	require.Equal(t, "'READ-COMMITTED'", cfg.Params["tx_isolation"])
	require.Equal(t, "skip-verify", cfg.TLSConfig)
}

// TestMySQLConfig_Socket checks that a Unix socket is used without TLS.
func TestMySQLConfig_Socket(t *testing.T) {
	t.Parallel()

	cfg, err := mysqlConfig("mysql://jo@/locum?socket=/run/mysqld/mysqld.sock")
	require.NoError(t, err)
	require.Equal(t, "unix", cfg.Net)
	require.Equal(t, "/run/mysqld/mysqld.sock", cfg.Addr)
	require.True(t, cfg.ParseTime)
	require.Nil(t, cfg.TLS)
}

// TestMySQLConfig_WithoutTLSOption_PrefersTLS checks that TLS is used if the server supports it.
func TestMySQLConfig_WithoutTLSOption_PrefersTLS(t *testing.T) {
	t.Parallel()

	cfg, err := mysqlConfig("mysql://jo@db/locum")
	require.NoError(t, err)
	require.NotNil(t, cfg.TLS)
	require.True(t, cfg.AllowFallbackToPlaintext)
}

// TestMySQL_InvalidURL_IsRefused checks that a URL without a database is refused, and one with
// options that could change the behaviour of statements, such as autocommit. Errors never contain
// the password, here "secret".
func TestMySQL_InvalidURL_IsRefused(t *testing.T) {
	t.Parallel()

	for name, url := range map[string]string{
		"no path":              "mysql://jo:secret@db",
		"no database":          "mysql://jo:secret@db/",
		"invalid escape":       "mysql://jo:sec%ret@db/x",
		"unknown TLS mode":     "mysql://jo:secret@db/x?tls=unknown",
		"missing CA file":      "mysql://jo:secret@db/x?ca=/none",
		"character_set_client": "mysql://jo:secret@db/x?character_set_client=gbk",
		"autocommit":           "mysql://jo:secret@db/x?autocommit=0",
		"multiStatements":      "mysql://jo:secret@db/x?multiStatements=true",
		"sql_mode":             "mysql://jo:secret@db/x?sql_mode=%27%27",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			_, err := MySQL{}.Open(url, adapters.DatabaseSettings{})
			require.Error(t, err)
			require.NotContains(t, err.Error(), "sec")
		})
	}
}

// TestMySQL_NoServer_IsUnavailable checks that each way to use the database reports an outage as
// a 503.
func TestMySQL_NoServer_IsUnavailable(t *testing.T) {
	t.Parallel()
	requireUnavailable(t, "mysql://locum@127.0.0.1:1/x")
}

// TestMySQL_SchemaIsThatOfPostgres checks that both databases have the same columns, foreign keys
// and indexes, although the migrations of MariaDB are separate files.
func TestMySQL_SchemaIsThatOfPostgres(t *testing.T) {
	t.Parallel()

	mariadb := migrated(t, kit.MariaDBURL(t))
	postgres := migrated(t, kit.PostgresURL(t))
	t.Run("columns", func(t *testing.T) {
		const query = `SELECT CONCAT(table_name, '.', column_name, ': ', is_nullable)
			FROM information_schema.columns WHERE table_schema = `
		columns := slices.DeleteFunc(selectOwnLines(t, mariadb, query+"DATABASE()"), isOnlyOnMariaDB)
		require.Equal(t, selectOwnLines(t, postgres, query+"'public'"), columns)
		require.Greater(t, len(columns), 50, "the query returns the columns of all modules")
	})

	t.Run("foreign keys", func(t *testing.T) {
		const query = `SELECT CONCAT(k.table_name, ' ', k.column_name, ' ', r.delete_rule)
			FROM information_schema.referential_constraints r JOIN information_schema.key_column_usage k
			ON k.constraint_name = r.constraint_name AND k.constraint_schema = r.constraint_schema%s
			WHERE r.constraint_schema = `

		// Names of constraints are unique in a table of MariaDB, and in a schema of PostgreSQL.
		mariadbQuery := fmt.Sprintf(query, " AND k.table_name = r.table_name") + "DATABASE()"
		postgresQuery := fmt.Sprintf(query, "") + "'public'"
		require.Equal(t, selectOwnLines(t, postgres, postgresQuery), selectOwnLines(t, mariadb, mariadbQuery))
	})

	t.Run("indexes", func(t *testing.T) {
		mariadbIndexes := readMariaDBIndexes(t, mariadb)
		postgresIndexes := readPostgresIndexes(t, postgres)
		require.Greater(t, len(postgresIndexes), 50, "the query returns the indexes of all modules")

		for name, want := range postgresIndexes {
			got, exists := mariadbIndexes[name]
			require.True(t, exists, "MariaDB has no index %s", name)
			require.Equal(t, want.Uniq, got.Uniq, name)

			// MariaDB numbers the changes of listings in another way.
			differs := name == "listing_changes_pkey" || name == "listing_feed_pkey"
			if !differs {
				requireSameColumns(t, want, got)
			}
		}

		require.Len(t, mariadbIndexes, len(postgresIndexes), "MariaDB has no other indexes")
	})
}

// isOnlyOnMariaDB reports whether a line "TABLE.COLUMN: NULLABLE" is of a column that PostgreSQL
// does not have: those of indexes with a condition, of advisory locks, and of the counter that
// numbers the changes of listings.
func isOnlyOnMariaDB(line string) bool {
	return strings.Contains(line, "_if: ") ||
		strings.HasPrefix(line, "advisory_locks.") ||
		strings.HasPrefix(line, "listing_feed.last_xid") ||
		strings.HasPrefix(line, "listing_feed.id")
}

// indexDefinition is an index. Columns are separated by commas.
type indexDefinition struct {
	Name, Columns string
	Uniq          bool
	Condition     string // of a partial index of PostgreSQL, in SQL
}

// readMariaDBIndexes returns the indexes by name. The primary key of a table, which MariaDB calls
// PRIMARY, has the name TABLE_pkey, as on PostgreSQL.
func readMariaDBIndexes(t *testing.T, db *DB) map[string]indexDefinition {
	t.Helper()

	return readIndexes(t, db, `
		SELECT CASE index_name WHEN 'PRIMARY' THEN CONCAT(table_name, '_pkey') ELSE index_name END AS name,
			MAX(non_unique) = 0 AS uniq, GROUP_CONCAT(column_name ORDER BY seq_in_index) AS columns
		FROM information_schema.statistics WHERE table_schema = DATABASE() GROUP BY table_name, index_name`)
}

// readPostgresIndexes returns the indexes by name.
func readPostgresIndexes(t *testing.T, db *DB) map[string]indexDefinition {
	t.Helper()

	return readIndexes(t, db, `
		SELECT c.relname AS name, i.indisunique AS uniq, COALESCE(pg_get_expr(i.indpred, i.indrelid), '') AS condition,
			(SELECT string_agg(a.attname, ',' ORDER BY k.n) FROM unnest(i.indkey) WITH ORDINALITY AS k(attnum, n)
				JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.attnum) AS columns
		FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_namespace n ON n.oid = c.relnamespace
		WHERE n.nspname = 'public'`)
}

// readIndexes returns the indexes that the query selects, by name, without those of the
// bookkeeping of migrations and of the locks of MariaDB.
func readIndexes(t *testing.T, db *DB, query string) map[string]indexDefinition {
	t.Helper()
	var indexes []indexDefinition
	require.NoError(t, db.reader.Raw(query).Scan(&indexes).Error)

	byName := map[string]indexDefinition{}
	for _, index := range indexes {
		if !isBookkeeping(index.Name) && !strings.HasPrefix(index.Name, "advisory_locks") {
			byName[index.Name] = index
		}
	}

	return byName
}

// requireSameColumns checks that an index of MariaDB has the columns of that of PostgreSQL, in
// the same order. MariaDB has no indexes with a condition: a unique one has an additional
// generated column named INDEX_if, which is null where the condition is false, and a plain one may
// have the columns of the condition.
func requireSameColumns(t *testing.T, postgres, mariadb indexDefinition) {
	t.Helper()

	var same, additional []string
	for column := range strings.SplitSeq(mariadb.Columns, ",") {
		if slices.Contains(strings.Split(postgres.Columns, ","), column) {
			same = append(same, column)
		} else {
			additional = append(additional, column)
		}
	}

	require.Equal(t, postgres.Columns, strings.Join(same, ","), postgres.Name)

	for _, column := range additional {
		isGenerated := column == postgres.Name+"_if" && postgres.Condition != ""
		isOfCondition := !postgres.Uniq && strings.Contains(postgres.Condition, column)
		require.True(t, isGenerated || isOfCondition, "%s has the column %s", postgres.Name, column)
	}

	// Null values are never equal, so that IS NOT NULL needs no generated column.
	needsGenerated := postgres.Condition != "" && !strings.HasSuffix(postgres.Condition, "IS NOT NULL)")
	if postgres.Uniq && needsGenerated {
		require.Equal(t, []string{postgres.Name + "_if"}, additional, "%s is unique under a condition", postgres.Name)
	}
}

// TestMySQL_ThreeProcessesMigrate_SchemaIsComplete checks that only one of several processes applies
// each migration.
func TestMySQL_ThreeProcessesMigrate_SchemaIsComplete(t *testing.T) {
	t.Parallel()

	s := schemas{openURL(t, kit.MariaDBURL(t))}

	var migrations sync.WaitGroup
	for range 3 {
		migrations.Go(func() {
			_, err := s.Up(context.Background())
			assert.NoError(t, err)
		})
	}

	migrations.Wait()
	require.NoError(t, s.Check(t.Context()))
}

// TestMySQL_AllMigrations_CanBeReverted checks the statements of the way down.
func TestMySQL_AllMigrations_CanBeReverted(t *testing.T) {
	t.Parallel()

	db := migrated(t, kit.MariaDBURL(t))
	s := schemas{db}
	steps, err := s.Status(t.Context())
	require.NoError(t, err)

	for range steps {
		_, err := s.Down(t.Context())
		require.NoError(t, err)
	}

	require.False(t, db.reader.Migrator().HasTable("users"))
}

// TestMySQL_InterruptedMigration_IsCompleted checks that a migration that ended between two tables
// is completed by the next one: MariaDB commits each CREATE TABLE by itself.
func TestMySQL_InterruptedMigration_IsCompleted(t *testing.T) {
	t.Parallel()

	db := migrated(t, kit.MariaDBURL(t))
	s := schemas{db}

	// The versions of the module are not recorded, and one of its tables is missing.
	require.NoError(t, db.reader.Exec("DELETE FROM schema_jobseeker WHERE version_id >= 1").Error)
	require.NoError(t, db.reader.Exec("DROP TABLE alert_listings").Error)

	_, err := s.Up(t.Context())
	require.NoError(t, err)
	require.NoError(t, s.Check(t.Context()))
	require.True(t, db.reader.Migrator().HasTable("alert_listings"))

	// The table with a single row has no second one.
	var feedRows int64
	require.NoError(t, db.reader.Table("listing_feed").Count(&feedRows).Error)
	require.Equal(t, int64(1), feedRows)
}

// TestMySQL_AfterDeadlock_NothingIsCommitted checks that a function that ignores a deadlock, for
// which MariaDB has rolled back the transaction, cannot commit anything: later statements fail,
// and Do repeats the function. Two transactions update two rows in opposite order.
func TestMySQL_AfterDeadlock_NothingIsCommitted(t *testing.T) {
	t.Parallel()

	db := migrated(t, kit.MariaDBURL(t))
	require.NoError(t, db.reader.Exec("CREATE TABLE rows_of_test (id INT PRIMARY KEY, n INT)").Error)
	require.NoError(t, db.reader.Exec("INSERT INTO rows_of_test VALUES (1, 0), (2, 0)").Error)

	updatedFirst := make(chan struct{}, 2)
	bothUpdatedFirst := make(chan struct{})
	var deadlocks atomic.Int32
	const increment = "UPDATE rows_of_test SET n = n + 1 WHERE id = ?"
	updateRows := func(firstID, secondID int) {
		attempts := 0
		assert.NoError(t, db.Do(t.Context(), func(ctx context.Context) error {
			attempts++
			if attempts > 1 {
				return nil
			}

			if err := db.conn(ctx).Exec(increment, firstID).Error; err != nil {
				return err
			}

			updatedFirst <- struct{}{}

			<-bothUpdatedFirst

			// One of the transactions gets the deadlock, and the other one succeeds.
			conn := db.conn(ctx)

			err := conn.Exec(increment, secondID).Error
			if err == nil {
				return nil
			}

			// Later statements fail, with the same handle and with a new one.
			deadlocks.Add(1)
			assert.Error(t, newStatement(conn).Exec("INSERT INTO rows_of_test VALUES (3, 0)").Error)
			assert.Error(t, db.conn(ctx).Exec("INSERT INTO rows_of_test VALUES (4, 0)").Error)

			return nil // the function ignores the error
		}))
	}

	var transactions sync.WaitGroup
	transactions.Go(func() { updateRows(1, 2) })
	transactions.Go(func() { updateRows(2, 1) })
	<-updatedFirst
	<-updatedFirst
	close(bothUpdatedFirst)
	transactions.Wait()
	require.EqualValues(t, 1, deadlocks.Load())

	// Only the other transaction has updated both rows, and no row was inserted.
	var numbers []int
	require.NoError(t, db.reader.Table("rows_of_test").Order("id").Pluck("n", &numbers).Error)
	require.Equal(t, []int{1, 1}, numbers)
}

// TestMySQL_NewEpoch_ConcurrentChangesAreNumbered checks that Reset, which begins a new epoch of
// the feed, waits for a transaction that has numbered a change, and that later changes get the
// next numbers.
func TestMySQL_NewEpoch_ConcurrentChangesAreNumbered(t *testing.T) {
	t.Parallel()

	db := migrated(t, kit.MariaDBURL(t))
	recordChange := func(ctx context.Context) error { return db.recordListings(ctx, []string{uuid.NewString()}) }
	recorded := make(chan struct{})
	commit := make(chan struct{})
	var transactions sync.WaitGroup

	// The first transaction has numbered a change and is not committed yet.
	transactions.Go(func() {
		assert.NoError(t, db.Do(t.Context(), func(ctx context.Context) error {
			err := recordChange(ctx)

			close(recorded)
			<-commit

			return err
		}))
	})

	<-recorded

	// Reset waits for it.
	transactions.Go(func() { assert.NoError(t, feed{db}.Reset(t.Context())) })

	resetIsWaiting := func() bool {
		var updates int
		require.NoError(t, db.reader.Raw(`SELECT COUNT(*) FROM information_schema.processlist
			WHERE db = DATABASE() AND info LIKE 'UPDATE%listing_feed%'`).Scan(&updates).Error)

		return updates > 0
	}

	require.Eventually(t, resetIsWaiting, 30*time.Second, 10*time.Millisecond)

	// A further change gets the next number.
	transactions.Go(func() { assert.NoError(t, db.Do(t.Context(), recordChange)) })
	close(commit)
	transactions.Wait()

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

	mailboxes := []string{"straße", "strasse", "STRASSE", "strasse ", "😀"}
	for _, mailbox := range mailboxes {
		exists, err := optOuts.Exists(t.Context(), mailbox)
		require.NoError(t, err)
		require.False(t, exists, mailbox)
		require.NoError(t, optOuts.Create(t.Context(), mailbox, time.Now()))
	}

	var stored int64
	require.NoError(t, db.reader.Model(&invitationOptOutRow{}).Count(&stored).Error)
	require.Len(t, mailboxes, int(stored))
}

// mysqlRows inserts rows into the tables whose queries are checked.
//
//go:embed testdata/mysql_rows.sql
var mysqlRows string

// insertedTable matches the names of these tables.
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

	// The first call after a start compares all leases with the clock. It is not recorded, because
	// it reads many rows.
	_, err := db.nowAndRepair(t.Context())
	require.NoError(t, err)

	statements := recordStatements(t, db.reader)
	storage := db.Storage()
	ctx := t.Context()
	now := time.Now().UTC()

	// mysqlRows inserts rows with these ids.
	const id = "00000007-0000-7000-8000-000000000000"
	twoIDs := []string{id, "00000008-0000-7000-8000-000000000000"}
	firstPage := page.Request{Number: 1, Size: 20}
	mustRun := func(_ any, err error) { t.Helper(); require.NoError(t, err) }

	// Users and sessions. Some rows do not exist: the statements are recorded all the same.
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

	// Listings.
	ownListings, err := storage.Listings.Listings.List(ctx, id, anyStatus, page.Request{Number: 1, Size: 5})
	require.NoError(t, err)

	nextPage := page.Request{Number: 1, Size: 20, Cursor: ownListings.NextCursor}
	mustRun(storage.Listings.Listings.List(ctx, id, anyStatus, nextPage))
	mustRun(storage.Listings.Public.ListPublic(ctx, twoIDs, now))
	mustRun(storage.Listings.Public.ListClosing(ctx, now.Add(-time.Hour), "", now, 100))
	mustRun(nil, db.Do(ctx, func(ctx context.Context) error {
		_, err := storage.Listings.Listings.ClaimExpired(ctx, now, 10)
		return err
	}))
	mustRun(storage.Listings.Feed.ReadOpen(ctx, func(*listings.Listing) error { return nil }))
	mustRun(nil, db.Do(ctx, func(ctx context.Context) error { return db.recordListings(ctx, twoIDs) }))

	// Applications.
	for _, visibility := range []hiring.Visibility{{OrganizationID: id}, {ApplicantID: id}} {
		mustRun(storage.Hiring.Applications.List(ctx, visibility, hiring.ApplicationFilter{}, firstPage))
		mustRun(storage.Hiring.Applications.CountByStatus(ctx, visibility, hiring.ApplicationFilter{}))
	}

	mustRun(storage.Hiring.Counts.CountByListing(ctx, id, twoIDs))

	// Clinicians.
	mustRun(storage.Jobseeker.Notifications.List(ctx, id, firstPage))
	mustRun(storage.Jobseeker.Bookmarks.ClaimReminders(ctx, twoIDs, 10))
	mustRun(storage.Jobseeker.Searches.List(ctx, jobseeker.SearchFilter{Unresolved: true}, 10))

	_, _, err = storage.Jobseeker.Matches.AssignDigests(ctx, twoIDs, now.Add(time.Hour), now)
	require.NoError(t, err)

	// Developers.
	_, _, err = storage.Integrations.Keys.GetByHash(ctx, "7")
	require.NoError(t, err)
	mustRun(storage.Integrations.Keys.Delete(ctx, id, integrations.KeyFilter{AppID: id, ID: uuid.NewString()}))
	mustRun(storage.Integrations.Webhooks.List(ctx, integrations.AnyOwner, integrations.EndpointFilter{Event: "t"}, "", 10))
	mustRun(storage.Integrations.Deliveries.ListMessages(ctx, id, id, integrations.MessageFilter{DueBy: now}, 10))
	mustRun(storage.Integrations.Deliveries.List(ctx, id, id, integrations.Failed, firstPage))

	// Tasks and events.
	tasks := tasks{db}
	outbox := outbox{db}

	mustRun(tasks.Due(ctx, 10))
	mustRun(tasks.Start(ctx, twoIDs, time.Minute))
	mustRun(tasks.Extend(ctx, []task.Run{{ID: id, Attempt: 1}}, time.Minute))
	require.NoError(t, tasks.RecordOutcomes(ctx, task.Outcome{Run: task.Run{ID: id, Attempt: 1}, State: task.Done}))
	mustRun(tasks.Backlog(ctx))
	mustRun(outbox.Claim(ctx, 10, time.Minute))
	require.NoError(t, outbox.MarkSent(ctx, twoIDs...))

	_, _, err = outbox.Lag(ctx)
	require.NoError(t, err)

	// Expired rows.
	for _, kind := range []retention.Kind{
		event.Sent, task.DoneTasks, identity.SessionKind, identity.RefreshTokenKind,
		jobseeker.NotificationKind, integrations.MessagesKind,
	} {
		mustRun(expiries{db}.DeleteBefore(ctx, kind, now.Add(-24*time.Hour), 10))
	}

	require.Greater(t, len(statements.sql), 50)
	const maxRows = 500 // far below 20,000, but above the estimates for the 20 rows of an owner
	statements.requireRowsInMariaDBPlan(t, db, maxRows)
}
