package gormdb

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/modules/billing"
	"github.com/locumhq/locum/modules/jobseeker"
)

func TestEveryBillingQueryFindsItsRowsByAnIndex(t *testing.T) {
	t.Parallel()
	db := openTestSQLite(t)
	s := db.Storage()
	asked := recordStatements(t, db.gorm, db.writer)
	ctx, id, now := t.Context(), uuid.NewString(), time.Now().UTC()
	o := billing.Owner{Kind: billing.User, ID: id}

	_, _ = s.Subscriptions.Find(ctx, o)
	sub, err := s.Subscriptions.Lock(ctx, o)
	require.NoError(t, err)
	require.NoError(t, s.Subscriptions.Save(ctx, sub))
	_, _ = s.Subscriptions.Due(ctx, now, 10)
	c := billing.Charge{ID: id, Owner: o, Status: billing.Pending}
	require.NoError(t, s.Charges.Open(ctx, c))
	_, _ = s.Charges.Pending(ctx, o)
	_, _ = s.Charges.Claim(ctx, billing.Charge{ID: id, Owner: o}, now)
	_, _ = s.Charges.Waiting(ctx, now, 10)
	_, _ = s.Charges.Of(ctx, o, 10)
	_, _ = s.Charges.Settle(ctx, c)
	_ = s.Charges.Disown(ctx, o, o)
	_ = s.Subscriptions.Delete(ctx, o)

	asked.useIndexes(t, db)
}

func TestEveryRecommendationsQueryFindsItsRowsByAnIndex(t *testing.T) {
	t.Parallel()
	db := openTestSQLite(t)
	s := db.Storage()
	asked := recordStatements(t, db.gorm, db.writer)
	ctx, id, now := t.Context(), uuid.NewString(), time.Now().UTC()
	require.NoError(t, s.Dismissals.Add(ctx, id, id, now, 10))
	_, _ = s.Dismissals.Among(ctx, id, []string{id})
	_, _ = s.Applications.AppliedLately(ctx, id, 10)
	_, _ = s.Applications.AppliedAmong(ctx, id, []string{id})
	require.NoError(t, s.Dismissals.Delete(ctx, id))
	asked.useIndexes(t, db)
}

func TestEveryOnboardingQueryFindsItsRowsByAnIndex(t *testing.T) {
	t.Parallel()
	db := openTestSQLite(t)
	s := db.Storage()
	asked := recordStatements(t, db.gorm, db.writer)
	ctx, now := t.Context(), time.Now().UTC()
	for _, v := range []jobseeker.Visitor{{UserID: uuid.NewString()}, {GuestKey: "a"}} {
		o, err := s.Onboardings.Lock(ctx, v)
		require.NoError(t, err)
		require.NoError(t, s.Onboardings.Save(ctx, o))
		require.NoError(t, s.Onboardings.Delete(ctx, v))
	}
	_, _ = s.Onboardings.Forget(ctx, now, 10)
	asked.useIndexes(t, db)
}
