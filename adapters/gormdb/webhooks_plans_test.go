package gormdb

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/modules/integrations"
)

func TestEveryQueryOfWebhooksFindsItsRowsByAnIndex(t *testing.T) {
	t.Parallel()
	db := openTestSQLite(t)
	s := db.Storage()
	asked := recordStatements(t, db.gorm, db.writer)
	ctx, id, now := t.Context(), uuid.NewString(), time.Now().UTC()

	_, _ = s.Integrations.Webhooks.Find(ctx, id, id, id)
	_, _ = s.Integrations.Webhooks.List(ctx, id, id)
	_, _ = s.Integrations.Webhooks.Lock(ctx, id)
	_, _ = s.Integrations.Webhooks.ByID(ctx, id)
	_ = s.Integrations.Webhooks.Save(ctx, integrations.Endpoint{ID: id, OwnerID: id, Events: []string{"job.created"}})
	_ = s.Integrations.Webhooks.Delete(ctx, id, id, id)
	for _, status := range []integrations.DeliveryStatus{"", integrations.Failed} {
		for _, r := range []page.Request{{Number: 3, Size: 20}, {Number: 1, Size: 20, Cursor: id}} {
			_, _ = s.Integrations.Webhooks.Log(ctx, id, id, status, r)
		}
	}
	_, _ = s.Integrations.Webhooks.Sent(ctx, id, id, id)
	_, _ = s.Integrations.Webhooks.Replay(ctx, id, id, id, now)
	_, _ = s.Integrations.Webhooks.ReplayFailed(ctx, id, id, now, now, 1000)
	for _, after := range []string{"", id} {
		_, _ = s.Integrations.Webhooks.Subscribed(ctx, "job.created", after, 200)
		_, _ = s.Integrations.Webhooks.SubscribedNear(ctx, "job.created", id, id, after, 200)
		_, _ = s.Integrations.Webhooks.Overdue(ctx, now, now, after, 500)
	}
	_, _ = s.Integrations.Consents.Near(ctx, id, id, id, 500)
	_ = s.Integrations.Webhooks.Listening(ctx, id, now)
	require.NoError(t, s.Integrations.Webhooks.EndListeners(ctx, now))
	_, _ = s.Integrations.Apps.First(ctx, 2)
	_ = s.Integrations.Webhooks.Lease(ctx, id, id, now)
	for _, after := range []*integrations.Delivery{nil, {ID: id, NextAt: &now}} {
		_, _ = s.Integrations.Webhooks.Due(ctx, id, now, after, 5)
	}
	_, _ = s.Integrations.Webhooks.Settle(ctx, id, []integrations.Delivery{{ID: id, EndpointID: id}})
	_, _ = s.Integrations.Webhooks.NextAt(ctx, id)
	require.NoError(t, s.Integrations.Webhooks.Abandon(ctx, id, now))
	_, _ = s.Integrations.Webhooks.Forget(ctx, now, 10)
	require.NoError(t, s.Integrations.Webhooks.ForgetApplicant(ctx, id))

	asked.useIndexes(t, db, "counted", "CONSTANT ROW")
}
