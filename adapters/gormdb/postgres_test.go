package gormdb

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/modules/identity"
	"github.com/locumhq/locum/test/kit"
)

// TestQuery_ColumnTypeChanges_IsRetried checks that a migration does not make queries fail in
// running processes: PostgreSQL refuses a prepared statement when the type of a result column
// has changed ("cached plan must not change result type"), in and outside of transactions.
func TestQuery_ColumnTypeChanges_IsRetried(t *testing.T) {
	t.Parallel()

	url := kit.PostgresURL(t)
	db := migrated(t, url)
	operator := migrated(t, url) // changes the schema with connections of its own
	users := users{db}
	user := identity.NewUser(db.newID(), "jo@example.org", "Jo", identity.KindJobseeker, "verifier",
		time.Now().UTC().Truncate(time.Microsecond))
	require.NoError(t, users.Create(t.Context(), &user))

	readUser := func(ctx context.Context) error {
		_, err := users.GetForUpdate(ctx, user.ID)
		return err
	}

	readInTransaction := func(ctx context.Context) error { return db.Do(ctx, readUser) }
	changeTypeOfName := func(columnType string) {
		require.NoError(t, operator.reader.Exec("ALTER TABLE users ALTER COLUMN name TYPE "+columnType).Error)
	}
	requireRetry := func(read func(context.Context) error, newType string) {
		t.Helper()

		for range 3 { // which prepares the statement
			require.NoError(t, read(t.Context()))
		}

		changeTypeOfName(newType)
		require.NoError(t, read(t.Context()))
	}

	// A second time, to check that the statement that was prepared anew can be replaced, too.
	for range 2 {
		requireRetry(readUser, "VARCHAR(300)")
		requireRetry(readInTransaction, "TEXT")
	}
}
