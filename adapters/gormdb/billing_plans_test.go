package gormdb

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/modules/billing"
)

// TestBilling_Queries_UseIndexes checks that no query of subscriptions and charges scans or
// sorts a table. Results and errors are ignored where a row does not exist: only the statements matter.
func TestBilling_Queries_UseIndexes(t *testing.T) {
	t.Parallel()

	db := openTestSQLite(t)
	storage := db.Storage()
	recorded := recordStatements(t, db.reader, db.writer)
	ctx := t.Context()
	id := uuid.NewString()
	now := time.Now().UTC()
	owner := billing.Owner{Kind: billing.User, ID: id}

	// Subscriptions.
	_, _ = storage.Billing.Subscriptions.Get(ctx, owner)
	_, _ = storage.Billing.Subscriptions.ListDue(ctx, now, 10)

	subscription, err := storage.Billing.Subscriptions.Lock(ctx, owner)
	require.NoError(t, err)
	require.NoError(t, storage.Billing.Subscriptions.Update(ctx, subscription))

	// Charges.
	pending := billing.Charge{ID: id, Owner: owner, Status: billing.Pending}
	attempted := billing.Charge{ID: id, Owner: owner, Attempts: 1, Status: billing.Pending}
	paid := billing.Charge{ID: id, Owner: owner, Status: billing.Paid}

	require.NoError(t, storage.Billing.Charges.Create(ctx, pending))

	for _, filter := range []billing.ChargeFilter{{Owner: owner}, {Owner: owner, Status: billing.Pending}, {DueBy: now}} {
		_, _ = storage.Billing.Charges.List(ctx, filter, 10)
	}

	_, _ = storage.Billing.Charges.Update(ctx, attempted)
	_, _ = storage.Billing.Charges.Update(ctx, paid)

	_ = storage.Billing.Subscriptions.Erase(ctx, owner, owner)

	recorded.requireIndexes(t, db)
}
