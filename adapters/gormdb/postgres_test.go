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
	db, operator := migrated(t, url), migrated(t, url)
	users := users{db}
	user := identity.NewUser(db.newID(), "jo@example.org", "Jo", identity.KindJobseeker, "verifier",
		time.Now().UTC().Truncate(time.Microsecond))
	require.NoError(t, users.Create(t.Context(), &user))
	findRows := func(ctx context.Context) error {
		_, err := users.GetForUpdate(ctx, user.ID)
		return err
	}
	inTransaction := func(ctx context.Context) error { return db.Do(ctx, findRows) }
	for i, read := range []func(context.Context) error{findRows, inTransaction, findRows, inTransaction} {
		for range 3 {
			require.NoError(t, read(t.Context())) // which prepares the statement
		}
		require.NoError(t, operator.reader.Exec("ALTER TABLE users ALTER COLUMN name TYPE "+[]string{"VARCHAR(300)", "TEXT"}[i%2]).Error)
		require.NoError(t, read(t.Context()))
	}
}
