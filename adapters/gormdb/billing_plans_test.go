package gormdb

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/modules/billing"
)

// TestBilling_Queries_UseIndexes checks that no query of subscriptions and charges scans or
// sorts a table. The results do not matter: the tables are almost empty, but SQLite plans a
// query by the indexes alone.
func TestBilling_Queries_UseIndexes(t *testing.T) {
	t.Parallel()

	db := openTestSQLite(t)
	storage := db.Storage()
	recorded := recordStatements(t, db.reader, db.writer)
	ctx := t.Context()
	id := uuid.NewString()
	now := time.Now().UTC()
	owner := billing.Owner{Kind: billing.User, ID: id}

	_, _ = storage.Billing.Subscriptions.Get(ctx, owner)
	subscription, err := storage.Billing.Subscriptions.Lock(ctx, owner)
	require.NoError(t, err)
	require.NoError(t, storage.Billing.Subscriptions.Update(ctx, subscription))

	_, _ = storage.Billing.Subscriptions.ListDue(ctx, now, 10)
	charge := billing.Charge{ID: id, Owner: owner, Status: billing.Pending}
	require.NoError(t, storage.Billing.Charges.Create(ctx, charge))

	for _, filter := range []billing.ChargeFilter{{Owner: owner}, {Owner: owner, Status: billing.Pending}, {DueBy: now}} {
		_, _ = storage.Billing.Charges.List(ctx, filter, 10)
	}

	_, _ = storage.Billing.Charges.Update(ctx, billing.Charge{ID: id, Owner: owner, Attempts: 1, Status: billing.Pending})
	_, _ = storage.Billing.Charges.Update(ctx, billing.Charge{ID: id, Owner: owner, Status: billing.Paid})
	_ = storage.Billing.Subscriptions.Erase(ctx, owner, owner)

	recorded.requireIndexes(t, db)
}
