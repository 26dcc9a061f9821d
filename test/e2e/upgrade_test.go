package e2e

import (
	"crypto/sha256"
	"database/sql"
	_ "embed"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/pressly/goose/v3"
	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/adapters/argonhash"
	"github.com/locumhq/locum/adapters/gormdb"
	"github.com/locumhq/locum/adapters/jwttokens"
	"github.com/locumhq/locum/core/clock"
	"github.com/locumhq/locum/migrations"
	"github.com/locumhq/locum/modules/integrations"
	"github.com/locumhq/locum/test/kit"
)

// releasedVersion is the schema version of the last release before the schema was
// divided by module.
const releasedVersion = 38

// createReleasedSchema creates the tables of the release from its migrations.
func createReleasedSchema(t *testing.T, db *sql.DB, dialect gormdb.Dialect) {
	t.Helper()

	files := releasedMigrations(t, dialect)
	provider, err := goose.NewProvider(dialect.Migrations(), db, files, goose.WithDisableGlobalRegistry(true))
	require.NoError(t, err)

	_, err = provider.Up(t.Context())
	require.NoError(t, err)
}

// releasedMigrations returns the migrations of the release for a dialect, as files NAME.sql. Some
// migrations are the same for all dialects, NAME.sql; a file NAME.DIALECT.sql replaces NAME.sql for
// one dialect.
func releasedMigrations(t *testing.T, dialect gormdb.Dialect) fstest.MapFS {
	t.Helper()

	files := fstest.MapFS{}
	paths, err := fs.Glob(migrations.Files, "legacy/*.sql")
	require.NoError(t, err)

	for _, path := range paths {
		base := filepath.Base(path)

		// The name of a file begins with its version in four digits.
		version, err := strconv.Atoi(base[:4])
		require.NoError(t, err)

		if version > releasedVersion {
			continue
		}

		name, isOfDialect := strings.CutSuffix(base, "."+dialect.Name()+".sql")
		name = strings.TrimSuffix(name, ".sql") + ".sql"
		isOfOtherDialect := strings.Count(base, ".") == 2 && !isOfDialect

		isReplaced := files[name] != nil && !isOfDialect
		if isOfOtherDialect || isReplaced {
			continue
		}

		body, err := fs.ReadFile(migrations.Files, path)
		require.NoError(t, err)

		files[name] = &fstest.MapFile{Data: dialect.Migration(body)}
	}

	return files
}

// releasedRows are the INSERT statements that fill every table of the release, in a notation
// that insertStatement translates; the file begins with its legend.
//
//go:embed testdata/released_rows.sql
var releasedRows string

// releasedDatabase is a database as created by the release.
type releasedDatabase struct {
	url           string
	webhookSecret string // of all webhooks
	token         string // an access token of the app
}

// idPattern matches ID(k, n) and UUID(k, n) in releasedRows, and timePattern matches TIME(t).
var (
	idPattern   = regexp.MustCompile(`\b(ID|UUID)\((\d+), ((?:[^()]|\([^()]*\))+)\)`)
	timePattern = regexp.MustCompile(`\bTIME\(([^)]+)\)`)
)

// insertStatement returns an INSERT of releasedRows in the dialect's SQL. It replaces three notations:
//
//   - ID(k, n) becomes the id of the nth row of the kind k. A kind is a number for a table.
//   - UUID(k, n) becomes the text of this id.
//   - TIME(t) becomes a timestamp.
//
// The INSERT can select from a table n, whose column i counts from 1 to 10,000.
func insertStatement(dialect gormdb.Dialect, rows string) string {
	uuidFormat := "CAST(%s AS UUID)"

	timestampFormat := "CAST(%s AS TIMESTAMPTZ)"
	if dialect.Name() == "sqlite" { // it stores both as text
		uuidFormat = "%s"
		timestampFormat = "%s"
	}

	rows = idPattern.ReplaceAllStringFunc(rows, func(call string) string {
		match := idPattern.FindStringSubmatch(call)
		function, number := match[1], match[3]
		kind, _ := strconv.Atoi(match[2])

		text := fmt.Sprintf("('0190%04d-0000-7000-8000-' || CAST(100000000000 + (%s) AS TEXT))", kind, number)
		if function == "UUID" {
			return text
		}

		return fmt.Sprintf(uuidFormat, text)
	})

	rows = timePattern.ReplaceAllString(rows, fmt.Sprintf(timestampFormat, "$1"))

	return "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10000)\n" + rows
}

// The kinds of rows in ID(kind, n) that the test reads.
const (
	listingKind     = 6
	applicationKind = 7
	appKind         = 19
	webhookKind     = 22
)

// idOf returns the id of the nth row of a kind, as ID(kind, n) in releasedRows.
func idOf(kind, n int) string {
	return fmt.Sprintf("0190%04d-0000-7000-8000-%012d", kind, 100_000_000_000+n)
}

// createReleasedDatabase creates a database of the release with all rows, at a URL that is
// sqlite:PATH or one of Postgres, for a server in dir. The webhooks of the rows are sent to
// receiverURL.
func createReleasedDatabase(t *testing.T, dir, databaseURL, receiverURL string) releasedDatabase {
	t.Helper()
	var dialect gormdb.Dialect = gormdb.Postgres{}
	driver := "pgx"

	source := databaseURL
	if path, isFile := strings.CutPrefix(databaseURL, "sqlite:"); isFile {
		dialect = gormdb.SQLite{}
		driver = "sqlite3"
		source = "file:" + path + "?_pragma=foreign_keys(1)"
	}

	db, err := sql.Open(driver, source)

	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()

	createReleasedSchema(t, db, dialect)

	released := releasedDatabase{
		url:           databaseURL,
		webhookSecret: "whsec_" + strings.Repeat("QUJD", 8),
		token:         integrations.NewToken(integrations.Access),
	}
	keys := filepath.Join(dir, "data", "keys")
	require.NoError(t, jwttokens.Generate(keys))

	ring, err := jwttokens.Open([]string{keys}, "", clock.System{})
	require.NoError(t, err)

	// The secret is encrypted for the id of a webhook, and cannot be decrypted for another one.
	encryptedSecret, err := ring.Encrypt(released.webhookSecret, idOf(webhookKind, 1))
	require.NoError(t, err)

	passwordHash, err := argonhash.New().Hash(t.Context(), password)
	require.NoError(t, err)

	literal := func(at time.Time) string { return at.UTC().Format("'2006-01-02T15:04:05.000000Z'") }

	// In releasedRows, the words in capitals stand for values that only this run knows.
	values := strings.NewReplacer(
		"NOW", literal(time.Now().Add(-time.Hour)),
		"SOON", literal(time.Now().Add(24*time.Hour)),
		"PASSWORD", passwordHash,
		"SECRET", encryptedSecret,
		"RECEIVER", receiverURL,
		"TOKEN", integrations.HashToken(integrations.Access, released.token),
	)
	tx, err := db.BeginTx(t.Context(), nil)
	require.NoError(t, err)

	for rows := range strings.SplitSeq(strings.TrimSpace(releasedRows), ";\n") {
		_, err := tx.ExecContext(t.Context(), values.Replace(insertStatement(dialect, rows)))
		require.NoError(t, err, "%s", rows)
	}

	require.NoError(t, tx.Commit())

	return released
}

// changedColumns are columns that were added or dropped after the first version of the
// modules' schemas.
var changedColumns = []string{
	"charges.action_at",
	"tasks.task_group",
	"webhook_endpoints.lease",
	"webhook_endpoints.leased_until",
	"alert_listings.claimed_until",
	"users.moderator_since",
	"organizations.verified_at",
	"organizations.verified_by",
	"organizations.held_at",
	"organizations.suspended_at",
	"notifications.subject_id",
}

// fingerprints returns the number of rows of each table and a hash of them. It depends neither
// on the order of rows and columns nor on changedColumns.
func fingerprints(t *testing.T, url string) map[string]string {
	t.Helper()

	byTable := map[string]string{}
	for table, rows := range kit.RowsContaining(t, url, changedColumns, "") {
		for i, row := range rows {
			columns := strings.Split(row, "\n")
			slices.Sort(columns)

			rows[i] = strings.Join(columns, "\n")
		}

		slices.Sort(rows)

		byTable[table] = fmt.Sprintf("%d rows, %x", len(rows), sha256.Sum256([]byte(strings.Join(rows, "\n\n"))))
	}

	// These tables have the versions of the schema, which an upgrade changes.
	maps.DeleteFunc(byTable, func(table, _ string) bool {
		return table == "goose_db_version" || strings.HasPrefix(table, "schema_")
	})

	return byTable
}

// TestUpgrade_DatabaseOfAnEarlierRelease_NothingIsLost checks that `migrate up` turns a full
// database of a release, on which users depend, into one with exactly the same rows, and that
// the server then serves them.
func TestUpgrade_DatabaseOfAnEarlierRelease_NothingIsLost(t *testing.T) {
	t.Parallel()

	for name, databaseURL := range map[string]func(dir string) string{
		"sqlite":   func(dir string) string { return "sqlite:" + dir + "/locum.db" },
		"postgres": func(string) string { return kit.PostgresURL(t) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			dir := t.TempDir()
			receiver := newReceiver(t)
			old := createReleasedDatabase(t, dir, databaseURL(dir), receiver.URL)
			before := fingerprints(t, old.url)

			const releasedTables = 53
			require.Len(t, before, releasedTables, "every table of the release has rows")

			server := &testServer{
				dir:    dir,
				env:    append(serverEnv(dir), "LOCUM_DATABASE_URL="+old.url, "LOCUM_WEBHOOKS_ALLOW_PRIVATE_NETWORKS=true"),
				log:    &kit.Log{},
				exited: make(chan error, 1),
			}

			server.run(t, "migrate", "up")

			// A migration renamed the table jobs, of background tasks.
			before["tasks"] = before["jobs"]
			delete(before, "jobs")
			require.Equal(t, before, fingerprints(t, old.url))

			server.serve(t)
			server.waitUntilReady(t)
			old.requireServed(t, server, receiver)
		})
	}
}

// signInReleased signs in as the nth user of releasedRows.
func (s *testServer) signInReleased(t *testing.T, n int) *account {
	t.Helper()

	user := &account{client: s.guest(t), email: fmt.Sprintf("u%d@example.org", n)}

	return user.signIn(password)
}

// requireServed reads the rows of the release through the server. The expected numbers are
// those of released_rows.sql.
func (d releasedDatabase) requireServed(t *testing.T, server *testServer, receiver *receiver) {
	t.Helper()

	guest := server.guest(t)
	boss := server.signInReleased(t, 1)
	developer := server.signInReleased(t, 2)
	seeker := server.signInReleased(t, 12)
	result := guest.get("/api/listings?query=" + url.QueryEscape("theatre nurse leeds")).ok(200)
	require.EqualValues(t, 9_000, result.number("data.pagination.total"))
	require.Equal(t, "Theatre Nurse 77", guest.get("/api/listings/"+idOf(listingKind, 77)).ok(200).text("data.title"))

	list := boss.get("/api/employers/applications?limit=50").ok(200)
	require.EqualValues(t, 10_000, list.number("data.pagination.total"))

	application := boss.get("/api/employers/applications/" + idOf(applicationKind, 9_999)).ok(200)
	require.Equal(t, "Ines Okafor 1010", application.text("data.application.applicantName"))

	require.EqualValues(t, 10, seeker.get("/api/jobseekers/applications").ok(200).number("data.pagination.total"))
	require.Len(t, seeker.get("/api/jobseekers/bookmarks").ok(200).list("data.bookmarks.savedJobs"), 10)
	require.Len(t, seeker.get("/api/jobseekers/notifications").ok(200).list("data.notifications"), 10)
	require.Len(t, seeker.get("/api/jobseekers/documents").ok(200).list("data.documents"), 1)

	app := "/api/developers/apps/" + idOf(appKind, 1)
	require.Len(t, developer.get(app+"/keys").ok(200).list("data.keys"), 1)
	require.Len(t, developer.get(app+"/webhooks").ok(200).list("data.webhooks"), 10)
	require.EqualValues(t, 50, developer.get(app+"/webhooks/"+idOf(webhookKind, 1)+"/deliveries").ok(200).number("data.pagination.total"))

	program := server.guest(t)
	program.token = d.token
	require.Len(t, program.get("/v1/applications").okDeveloper(200).list("data"), 10, "an authorization of the release is valid")

	sent := receiver.waitForHits(1)[0]
	require.NoError(t, sent.verify(t, d.webhookSecret), "a pending delivery is sent with its secret")

	// The outbox contains the registration of user 4, whose e-mail is still to be sent.
	server.waitForMail(t, "u4@example.org", "confirm your e-mail")
}
