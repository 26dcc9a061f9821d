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
	asked := recordStatements(t, db.reader, db.writer)
	ctx, id, now := t.Context(), uuid.NewString(), time.Now().UTC()
	o := billing.Owner{Kind: billing.User, ID: id}

	_, _ = storage.Billing.Subscriptions.Get(ctx, o)
	sub, err := storage.Billing.Subscriptions.Lock(ctx, o)
	require.NoError(t, err)
	require.NoError(t, storage.Billing.Subscriptions.Update(ctx, sub))
	_, _ = storage.Billing.Subscriptions.ListDue(ctx, now, 10)
	c := billing.Charge{ID: id, Owner: o, Status: billing.Pending}
	require.NoError(t, storage.Billing.Charges.Create(ctx, c))
	for _, f := range []billing.ChargeFilter{{Owner: o}, {Owner: o, Status: billing.Pending}, {DueBy: now}} {
		_, _ = storage.Billing.Charges.List(ctx, f, 10)
	}
	_, _ = storage.Billing.Charges.Update(ctx, billing.Charge{ID: id, Owner: o, Attempts: 1, Status: billing.Pending})
	_, _ = storage.Billing.Charges.Update(ctx, billing.Charge{ID: id, Owner: o, Status: billing.Paid})
	_ = storage.Billing.Subscriptions.Erase(ctx, o, o)

	asked.useIndexes(t, db)
}
