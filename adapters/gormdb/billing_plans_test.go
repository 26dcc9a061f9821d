package gormdb

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/modules/billing"
)

// TestBilling_Queries_UseIndexes checks which index serves each query of subscriptions and charges, and that no
// query scans or sorts a table. The background task that renews subscriptions runs every 30 seconds, and must not
// read all of them each time.
//
// Where a row does not exist, the results and errors of the calls are ignored: the statements are the same.
func TestBilling_Queries_UseIndexes(t *testing.T) {
	t.Parallel()

	db := openTestSQLite(t)
	subscriptions, charges := db.Storage().Billing.Subscriptions, db.Storage().Billing.Charges
	recorded := recordStatements(t, db.reader, db.writer)
	ctx := t.Context()
	id := uuid.NewString()
	now := time.Now().UTC()
	owner := billing.Owner{Kind: billing.User, ID: id}

	const limit = 10 // rows of a list

	// An owner has one subscription, whose primary key is the owner.
	recorded.requireIndex(t, db, primaryKey("subscriptions"), func() { _, _ = subscriptions.Get(ctx, owner) })
	recorded.requireIndex(t, db, primaryKey("subscriptions"), func() {
		subscription, err := subscriptions.Lock(ctx, owner)
		require.NoError(t, err)
		require.NoError(t, subscriptions.Update(ctx, subscription))
	})

	// Subscriptions that are due are those with the lowest next_at. The index contains only the subscriptions
	// that have a next action.
	recorded.requireIndex(t, db, "subscriptions_due", func() { _, _ = subscriptions.ListDue(ctx, now, limit) })

	// The charges of an owner, newest first.
	ofOwner := billing.ChargeFilter{Owner: owner}
	recorded.requireIndex(t, db, "charges_owner", func() { _, _ = charges.List(ctx, ofOwner, limit) })

	// The pending charge of an owner. The index contains only pending charges, at most one for each owner.
	pendingOfOwner := billing.ChargeFilter{Owner: owner, Status: billing.Pending}
	recorded.requireIndex(t, db, "charges_pending", func() { _, _ = charges.List(ctx, pendingOfOwner, limit) })

	// The pending charges of all owners that must be attempted again. The index has them by next_at.
	due := billing.ChargeFilter{DueBy: now}
	recorded.requireIndex(t, db, "charges_waiting", func() { _, _ = charges.List(ctx, due, limit) })

	// One charge is created, attempted and then paid. An update finds it by its id.
	pending := billing.Charge{ID: id, Owner: owner, Status: billing.Pending}
	attempted := billing.Charge{ID: id, Owner: owner, Attempts: 1, Status: billing.Pending}
	paid := billing.Charge{ID: id, Owner: owner, Status: billing.Paid}

	require.NoError(t, charges.Create(ctx, pending))
	recorded.requireIndex(t, db, primaryKey("charges"), func() { _, _ = charges.Update(ctx, attempted) })
	recorded.requireIndex(t, db, primaryKey("charges"), func() { _, _ = charges.Update(ctx, paid) })

	// Erasing an owner deletes the subscription, and assigns the owner's charges to an anonymous owner.
	recorded.requireIndex(t, db, "charges_owner", func() { _ = subscriptions.Erase(ctx, owner, owner) })

	recorded.requireIndexes(t, db)
}
