package gormdb

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/core/retention"
	"github.com/locumhq/locum/modules/integrations"
)

// TestIntegrationsWebhooks_Queries_UseIndexes checks that no query of webhooks, deliveries and
// their log scans a table. Results and errors are ignored where a row does not exist: only the statements
// matter.
func TestIntegrationsWebhooks_Queries_UseIndexes(t *testing.T) {
	t.Parallel()

	db := openTestSQLite(t)
	storage := db.Storage()
	recorded := recordStatements(t, db.reader, db.writer)
	ctx := t.Context()
	id := uuid.NewString()
	now := time.Now().UTC()

	pausedEndpoint := integrations.Endpoint{
		ID:      id,
		OwnerID: id,
		Version: 1,
		Events:  []string{"job.created"},
		Status:  integrations.EndpointPaused,
	}

	// Endpoints.
	_, _ = storage.Integrations.Webhooks.Get(ctx, id, id)
	_, _ = storage.Integrations.Webhooks.Get(ctx, integrations.AnyOwner, id)
	_ = storage.Integrations.Webhooks.Upsert(ctx, pausedEndpoint)
	_ = storage.Integrations.Webhooks.Delete(ctx, id, id, id)

	const firstPage = ""

	for _, f := range []integrations.EndpointFilter{
		{AppID: id},
		{Event: "job.created"},
		{Event: "job.created", UserIDs: []string{id, uuid.NewString()}},
	} {
		for _, after := range []string{firstPage, id} {
			_, err := storage.Integrations.Webhooks.List(ctx, integrations.AnyOwner, f, after, 500)
			require.NoError(t, err)
		}
	}

	_, err := storage.Integrations.Webhooks.List(ctx, id, integrations.EndpointFilter{AppID: id}, firstPage, 100)
	require.NoError(t, err)

	// Deliveries.
	const anyDelivery integrations.DeliveryStatus = ""

	for _, status := range []integrations.DeliveryStatus{anyDelivery, integrations.Failed} {
		for _, request := range []page.Request{{Number: 3, Size: 20}, {Number: 1, Size: 20, Cursor: id}} {
			_, err := storage.Integrations.Deliveries.List(ctx, id, id, status, request)
			require.NoError(t, err)
		}
	}

	for _, f := range []integrations.MessageFilter{{ID: id}, {}, {DueBy: now}} {
		_, err := storage.Integrations.Deliveries.ListMessages(ctx, id, id, f, 5)
		require.NoError(t, err)
	}

	_, err = storage.Integrations.Deliveries.NextDue(ctx, id)
	require.NoError(t, err)

	for _, f := range []integrations.ReplayFilter{{ID: id}, {FailedSince: now}} {
		_, err := storage.Integrations.Deliveries.Replay(ctx, id, id, f, now, 1000)
		require.NoError(t, err)
	}

	deliveries := []integrations.Delivery{{ID: id, EndpointID: id}}
	_, _ = storage.Integrations.Deliveries.RecordResults(ctx, id, deliveries)
	_ = storage.Integrations.Deliveries.Enqueue(ctx, nil, deliveries)

	// Deletions.
	for _, kind := range []retention.Kind{integrations.MessagesKind, integrations.ListenersKind} {
		_, err := storage.Integrations.Retention.DeleteBefore(ctx, kind, now, 10)
		require.NoError(t, err)
	}

	require.NoError(t, storage.Integrations.Deliveries.DeleteByApplicant(ctx, id))

	// The total of a list is the number of rows of a subquery named counted, whose size is limited. A
	// constant row is no table.
	recorded.requireIndexes(t, db, "counted", "CONSTANT ROW")
}
