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

func TestEveryRecommendationsQueryFindsItsRowsByAnIndex(t *testing.T) {
	t.Parallel()
	db := openTestSQLite(t)
	s := db.Storage()
	asked := recordStatements(t, db.gorm, db.writer)
	ctx, id, now := t.Context(), uuid.NewString(), time.Now().UTC()
	require.NoError(t, s.Jobseeker.Dismissals.Add(ctx, id, id, now, 10))
	_, _ = s.Jobseeker.Dismissals.Among(ctx, id, []string{id})
	_, _ = s.Hiring.Applications.AppliedLately(ctx, id, 10)
	_, _ = s.Hiring.Applications.AppliedAmong(ctx, id, []string{id})
	require.NoError(t, s.Jobseeker.Dismissals.Delete(ctx, id))
	asked.useIndexes(t, db)
}

func TestEveryOnboardingQueryFindsItsRowsByAnIndex(t *testing.T) {
	t.Parallel()
	db := openTestSQLite(t)
	s := db.Storage()
	asked := recordStatements(t, db.gorm, db.writer)
	ctx, now := t.Context(), time.Now().UTC()
	for _, v := range []jobseeker.Visitor{{UserID: uuid.NewString()}, {GuestKey: "a"}} {
		o, err := s.Jobseeker.Onboardings.Lock(ctx, v)
		require.NoError(t, err)
		require.NoError(t, s.Jobseeker.Onboardings.Save(ctx, o))
		require.NoError(t, s.Jobseeker.Onboardings.Delete(ctx, v))
	}
	_, _ = s.Jobseeker.Onboardings.Forget(ctx, now, 10)
	asked.useIndexes(t, db)
}
