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

// TestMySQL_InvalidURL_IsRefused checks that invalid URLs are refused. Options that could change the
// behaviour of statements, such as autocommit, are invalid, too. Errors never contain the password,
// here "secret", or a part of it.
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
			require.NotContains(t, err.Error(), "sec", "a part of the password is in the error")
		})
	}
}

// TestMySQL_NoServer_IsUnavailable checks that each way to use the database reports an outage as
// a 503. Nothing listens on port 1.
func TestMySQL_NoServer_IsUnavailable(t *testing.T) {
	t.Parallel()
	requireUnavailable(t, "mysql://locum@127.0.0.1:1/x")
}

// TestMySQL_SchemaIsThatOfPostgres checks that both databases have the same columns, foreign keys
// and indexes, although the migrations of MariaDB are separate files. The queries return the schema as
// lines of text, without the tables in which migrations are recorded.
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
			require.Equal(t, want.Uniq, got.Uniq, "whether %s is unique", name)

			// MariaDB numbers the changes of listings in another way.
			differs := name == "listing_changes_pkey" || name == "listing_feed_pkey"
			if !differs {
				requireSameColumns(t, want, got)
			}
		}

		require.Len(t, mariadbIndexes, len(postgresIndexes), "MariaDB has no other indexes")
	})
}

// isOnlyOnMariaDB reports whether a line "TABLE.COLUMN: NULLABLE" is about a column that PostgreSQL
// does not have, because it has another mechanism for the same purpose.
func isOnlyOnMariaDB(line string) bool {
	isIndexCondition := strings.Contains(line, "_if: ") // see requireSameColumns
	isLock := strings.HasPrefix(line, "advisory_locks.")
	numbersChanges := strings.HasPrefix(line, "listing_feed.last_xid") || strings.HasPrefix(line, "listing_feed.id")

	return isIndexCondition || isLock || numbersChanges
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

// requireSameColumns checks that an index of MariaDB has the columns of the index of PostgreSQL, in
// the same order. MariaDB has no indexes with a condition. Instead, a unique index has an additional
// generated column named INDEX_if, which is null where the condition is false. A plain index may
// have the columns of the condition in addition.
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
		require.True(t, isGenerated || isOfCondition, "%s must not have the column %s", postgres.Name, column)
	}

	// Null values are never equal, so that IS NOT NULL needs no generated column.
	needsGenerated := postgres.Condition != "" && !strings.HasSuffix(postgres.Condition, "IS NOT NULL)")
	if postgres.Uniq && needsGenerated {
		require.Equal(t, []string{postgres.Name + "_if"}, additional, "columns for the condition of %s", postgres.Name)
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

// TestMySQL_AllMigrations_CanBeReverted checks the statements that revert migrations.
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

// TestMySQL_InterruptedMigration_IsCompleted checks that Up completes a migration that was interrupted
// between two tables. MariaDB commits each CREATE TABLE by itself, so that the first table exists.
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

	// listing_feed, which always has one row, did not get a second one.
	var feedRows int64
	require.NoError(t, db.reader.Table("listing_feed").Count(&feedRows).Error)
	require.Equal(t, int64(1), feedRows)
}

// TestMySQL_AfterDeadlock_NothingIsCommitted checks that a transaction commits nothing after a
// deadlock, even if its function ignores the error. MariaDB has then rolled back the transaction
// already. Later statements fail, and Do repeats the function.
//
// The deadlock: two transactions update two rows in opposite order. Each updates its second row after
// both have updated their first one.
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
			if attempts > 1 { // the repetition after the deadlock does nothing
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
	require.EqualValues(t, 1, deadlocks.Load(), "deadlocks")

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

	// Reset waits for the first transaction.
	transactions.Go(func() { assert.NoError(t, feed{db}.Reset(t.Context())) })

	resetIsWaiting := func() bool {
		var updates int
		require.NoError(t, db.reader.Raw(`SELECT COUNT(*) FROM information_schema.processlist
			WHERE db = DATABASE() AND info LIKE 'UPDATE%listing_feed%'`).Scan(&updates).Error)

		return updates > 0
	}

	require.Eventually(t, resetIsWaiting, 30*time.Second, 10*time.Millisecond, "Reset does not wait")

	// A further change gets the next number.
	transactions.Go(func() { assert.NoError(t, db.Do(t.Context(), recordChange)) })
	close(commit)
	transactions.Wait()

	var numbers []int
	require.NoError(t, db.reader.Table("listing_changes").Order("xid").Pluck("xid", &numbers).Error)
	require.Equal(t, []int{1, 2}, numbers)
}

// TestMySQL_Text_IsComparedExactly checks the collation, by which MariaDB compares texts. Its default
// collations consider some of these mailboxes equal. One mailbox could then opt out of invitations for
// another.
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
	require.Len(t, mailboxes, int(stored), "each mailbox has its own row")
}

// mysqlRows inserts 20,000 rows into each table whose queries are checked. In its statements, ID
// stands for the id of a row, and OWNER for the id of the row's owner. One row in a thousand is
// unfinished work.
//
//go:embed testdata/mysql_rows.sql
var mysqlRows string

// insertedTable matches the name of a table into which mysqlRows inserts rows.
var insertedTable = regexp.MustCompile(`INSERT INTO (\w+)`)

const (
	// mysqlRowCount is the number of rows that mysqlRows inserts into each table.
	mysqlRowCount = 20_000
	// mysqlID is the SQL expression of the id of a row. MariaDB's sequence table calls the number of the
	// row seq.
	mysqlID = "CONCAT(LPAD(seq, 8, '0'), '-0000-7000-8000-000000000000')"
	// mysqlOwner is the SQL expression of the id of a row's owner. Each owner has 20 rows.
	mysqlOwner = "CONCAT(LPAD(1 + seq DIV 20, 8, '0'), '-0000-7000-8000-000000000000')"
	// mysqlRow and mysqlOtherRow are ids of rows. They are also ids of owners.
	mysqlRow      = "00000007-0000-7000-8000-000000000000"
	mysqlOtherRow = "00000008-0000-7000-8000-000000000000"
)

// TestMySQL_Queries_UseIndexes checks the plans of frequent queries with 20,000 rows in each
// table. MariaDB, unlike SQLite, chooses plans by the number of rows. The test calls the methods of
// the storage, records their statements, and reads the plan of each statement.
func TestMySQL_Queries_UseIndexes(t *testing.T) {
	t.Parallel()

	db := migrated(t, kit.MariaDBURL(t))
	insertMySQLRows(t, db)

	// The first call after a start compares all leases with the clock. It is not recorded, because
	// it reads many rows.
	_, err := db.nowAndRepair(t.Context())
	require.NoError(t, err)

	recorded := recordStatements(t, db.reader)
	runIdentityQueries(t, db)
	runListingQueries(t, db)
	runHiringQueries(t, db)
	runJobseekerQueries(t, db)
	runIntegrationQueries(t, db)
	runTaskQueries(t, db)
	runRetentionQueries(t, db)
	require.Greater(t, len(recorded.sql), 50, "the statements of all modules are recorded")

	// The limit is far below the number of rows, but above MariaDB's estimates for the 20 rows of an
	// owner.
	const maxRows = 500
	recorded.requireRowsInMariaDBPlan(t, db, maxRows)
}

// insertMySQLRows executes mysqlRows and updates the statistics by which MariaDB chooses plans.
func insertMySQLRows(t *testing.T, db *DB) {
	t.Helper()

	inserts := strings.NewReplacer("ID", mysqlID, "OWNER", mysqlOwner).Replace(mysqlRows)
	for insert := range strings.SplitSeq(strings.TrimSpace(inserts), ";\n") {
		require.NoError(t, db.reader.Exec("SET STATEMENT foreign_key_checks = 0 FOR "+insert).Error)
	}

	for _, table := range insertedTable.FindAllStringSubmatch(mysqlRows, -1) {
		require.NoError(t, db.reader.Exec("ANALYZE TABLE "+table[1]).Error)
	}

	// The feed continues after the number of the last inserted change of a listing.
	require.NoError(t, db.reader.Exec("UPDATE listing_feed SET last_xid = ?", mysqlRowCount).Error)
}

// requireQuery returns a function that requires that a method of the storage succeeds. Its result does
// not matter, because the test only checks the recorded statements.
func requireQuery(t *testing.T) func(result any, err error) {
	t.Helper()

	return func(_ any, err error) {
		t.Helper()
		require.NoError(t, err)
	}
}

// firstPageOfRows requests the first 20 rows of a list.
var firstPageOfRows = page.Request{Number: 1, Size: 20}

// runIdentityQueries executes the queries of users, sessions and members.
func runIdentityQueries(t *testing.T, db *DB) {
	t.Helper()

	storage := db.Storage().Identity
	ctx := t.Context()
	now := time.Now().UTC()
	mustRun := requireQuery(t)

	// Rows that do not exist are an error. The statements are recorded all the same.
	ignoreResult := func(_ any, _ error) {}
	ignoreResult(storage.Sessions.GetPrincipal(ctx, identity.SessionKey{ID: mysqlRow}))
	ignoreResult(storage.Sessions.GetPrincipal(ctx, identity.SessionKey{CookieHash: "7"}))
	ignoreResult(storage.Sessions.GetRefreshToken(ctx, "7"))
	ignoreResult(storage.Users.GetByEmail(ctx, "7"))

	mustRun(storage.Users.GetByIDs(ctx, []string{mysqlRow, mysqlOtherRow}))
	mustRun(storage.Sessions.List(ctx, mysqlRow, now, firstPageOfRows))
	mustRun(storage.Members.GetByUser(ctx, mysqlRow))
	mustRun(storage.Members.List(ctx, mysqlRow, identity.MemberFilter{}, firstPageOfRows))

	const noKeptSession = "" // all sessions end

	require.NoError(t, storage.Sessions.EndByUsers(ctx, []string{mysqlRow}, noKeptSession, now))
}

// runListingQueries executes the queries of listings and of the feed of their changes.
func runListingQueries(t *testing.T, db *DB) {
	t.Helper()

	storage := db.Storage().Listings
	ctx := t.Context()
	now := time.Now().UTC()
	twoIDs := []string{mysqlRow, mysqlOtherRow}
	mustRun := requireQuery(t)

	// A first page, and the page after its cursor.
	firstPage, err := storage.Listings.List(ctx, mysqlRow, anyStatus, page.Request{Number: 1, Size: 5})
	require.NoError(t, err)

	nextPage := page.Request{Number: 1, Size: 20, Cursor: firstPage.NextCursor}
	mustRun(storage.Listings.List(ctx, mysqlRow, anyStatus, nextPage))

	mustRun(storage.Public.ListPublic(ctx, twoIDs, now))

	// The listings that have closed in the last hour.
	const noCursor, maxClosing, maxExpired = "", 100, 10

	mustRun(storage.Public.ListClosing(ctx, now.Add(-time.Hour), noCursor, now, maxClosing))
	require.NoError(t, db.Do(ctx, func(ctx context.Context) error {
		_, err := storage.Listings.ClaimExpired(ctx, now, maxExpired)
		return err
	}))
	mustRun(storage.Feed.ReadOpen(ctx, func(*listings.Listing) error { return nil }))
	require.NoError(t, db.Do(ctx, func(ctx context.Context) error { return db.recordListings(ctx, twoIDs) }))
}

// runHiringQueries executes the queries of applications, as an organization and as an applicant see
// them.
func runHiringQueries(t *testing.T, db *DB) {
	t.Helper()

	storage := db.Storage().Hiring
	ctx := t.Context()
	mustRun := requireQuery(t)

	for _, visibility := range []hiring.Visibility{{OrganizationID: mysqlRow}, {ApplicantID: mysqlRow}} {
		mustRun(storage.Applications.List(ctx, visibility, hiring.ApplicationFilter{}, firstPageOfRows))
		mustRun(storage.Applications.CountByStatus(ctx, visibility, hiring.ApplicationFilter{}))
	}

	mustRun(storage.Counts.CountByListing(ctx, mysqlRow, []string{mysqlRow, mysqlOtherRow}))
}

// runJobseekerQueries executes the queries of notifications, bookmarks and saved searches.
func runJobseekerQueries(t *testing.T, db *DB) {
	t.Helper()

	storage := db.Storage().Jobseeker
	ctx := t.Context()
	now := time.Now().UTC()
	twoIDs := []string{mysqlRow, mysqlOtherRow}
	mustRun := requireQuery(t)

	mustRun(storage.Notifications.List(ctx, mysqlRow, firstPageOfRows))
	mustRun(storage.Bookmarks.ClaimReminders(ctx, twoIDs, 10))
	mustRun(storage.Searches.List(ctx, jobseeker.SearchFilter{Unresolved: true}, 10))

	_, _, err := storage.Matches.AssignDigests(ctx, twoIDs, now.Add(time.Hour), now)
	require.NoError(t, err)
}

// runIntegrationQueries executes the queries of API keys and webhooks.
func runIntegrationQueries(t *testing.T, db *DB) {
	t.Helper()

	storage := db.Storage().Integrations
	ctx := t.Context()
	dueNow := integrations.MessageFilter{DueBy: time.Now().UTC()}
	subscribers := integrations.EndpointFilter{Event: "t"}
	mustRun := requireQuery(t)

	_, _, err := storage.Keys.GetByHash(ctx, "7")
	require.NoError(t, err)
	mustRun(storage.Keys.Delete(ctx, mysqlRow, integrations.KeyFilter{AppID: mysqlRow, ID: uuid.NewString()}))

	const firstPage, limit = "", 10

	mustRun(storage.Webhooks.List(ctx, integrations.AnyOwner, subscribers, firstPage, limit))
	mustRun(storage.Deliveries.ListMessages(ctx, mysqlRow, mysqlRow, dueNow, limit))
	mustRun(storage.Deliveries.List(ctx, mysqlRow, mysqlRow, integrations.Failed, firstPageOfRows))
}

// runTaskQueries executes the queries of tasks and of events in the outbox.
func runTaskQueries(t *testing.T, db *DB) {
	t.Helper()

	ctx := t.Context()
	twoIDs := []string{mysqlRow, mysqlOtherRow}
	run := task.Run{ID: mysqlRow, Attempt: 1}
	mustRun := requireQuery(t)

	tasks := tasks{db}
	mustRun(tasks.Due(ctx, 10))
	mustRun(tasks.Start(ctx, twoIDs, time.Minute))
	mustRun(tasks.Extend(ctx, []task.Run{run}, time.Minute))
	require.NoError(t, tasks.RecordOutcomes(ctx, task.Outcome{Run: run, State: task.Done}))
	mustRun(tasks.Backlog(ctx))

	outbox := outbox{db}
	mustRun(outbox.Claim(ctx, 10, time.Minute))
	require.NoError(t, outbox.MarkSent(ctx, twoIDs...))

	_, _, err := outbox.Lag(ctx)
	require.NoError(t, err)
}

// runRetentionQueries executes the queries that delete expired rows.
func runRetentionQueries(t *testing.T, db *DB) {
	t.Helper()

	mustRun := requireQuery(t)
	yesterday := time.Now().UTC().Add(-24 * time.Hour)

	for _, kind := range []retention.Kind{
		event.Sent, task.DoneTasks, identity.SessionKind, identity.RefreshTokenKind,
		jobseeker.NotificationKind, integrations.MessagesKind,
	} {
		mustRun(expiries{db}.DeleteBefore(t.Context(), kind, yesterday, 10))
	}
}
