package gormdb

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/modules/billing"
)

func TestEveryBillingQueryFindsItsRowsByAnIndex(t *testing.T) {
	t.Parallel()
	db := openTestSQLite(t)
	s := db.Storage()
	asked := recordStatements(t, db.gorm, db.writer)
	ctx, id, now := t.Context(), uuid.NewString(), time.Now().UTC()
	o := billing.Owner{Kind: billing.User, ID: id}

	_, _ = s.Billing.Subscriptions.Find(ctx, o)
	sub, err := s.Billing.Subscriptions.Lock(ctx, o)
	require.NoError(t, err)
	require.NoError(t, s.Billing.Subscriptions.Save(ctx, sub))
	_, _ = s.Billing.Subscriptions.Due(ctx, now, 10)
	c := billing.Charge{ID: id, Owner: o, Status: billing.Pending}
	require.NoError(t, s.Billing.Charges.Open(ctx, c))
	_, _ = s.Billing.Charges.Pending(ctx, o)
	_, _ = s.Billing.Charges.Claim(ctx, billing.Charge{ID: id, Owner: o}, now)
	_, _ = s.Billing.Charges.Waiting(ctx, now, 10)
	_, _ = s.Billing.Charges.Of(ctx, o, 10)
	_, _ = s.Billing.Charges.Settle(ctx, c)
	_ = s.Billing.Charges.Disown(ctx, o, o)
	_ = s.Billing.Subscriptions.Delete(ctx, o)

	asked.useIndexes(t, db)
}
