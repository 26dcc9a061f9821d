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

// TestIntegrationsWebhooks_Queries_UseIndexes checks which index serves each query of webhook endpoints, of
// deliveries to them and of the messages that are delivered, and that no query scans a table.
//
// One id stands for the ids of all rows. Where a row does not exist, the results and errors of the calls are
// ignored: the statements are the same.
func TestIntegrationsWebhooks_Queries_UseIndexes(t *testing.T) {
	t.Parallel()

	db := openTestSQLite(t)
	recorded := recordStatements(t, db.reader, db.writer)

	t.Run("endpoints", func(t *testing.T) { checkEndpointIndexes(t, db, recorded) })
	t.Run("deliveries", func(t *testing.T) { checkDeliveryIndexes(t, db, recorded) })
	t.Run("deletions", func(t *testing.T) { checkWebhookDeletionIndexes(t, db, recorded) })

	recorded.requireIndexes(t, db, totalOfList, constantRow)
}

// checkEndpointIndexes checks the queries of integrations.Webhooks.
func checkEndpointIndexes(t *testing.T, db *DB, recorded *statements) {
	t.Helper()

	webhooks := db.Storage().Integrations.Webhooks
	ctx := t.Context()
	id := uuid.NewString()
	pausedEndpoint := integrations.Endpoint{
		ID:      id,
		OwnerID: id,
		Version: 1,
		Events:  []string{"job.created"},
		Status:  integrations.EndpointPaused,
	}

	// One endpoint, by its id.
	byID := primaryKey("webhook_endpoints")
	for _, ownerID := range []string{id, integrations.AnyOwner} {
		recorded.requireIndex(t, db, byID, func() { _, _ = webhooks.Get(ctx, ownerID, id) })
	}

	recorded.requireIndex(t, db, byID, func() { _ = webhooks.Upsert(ctx, pausedEndpoint) })
	recorded.requireIndex(t, db, byID, func() { _ = webhooks.Delete(ctx, id, id, id) })

	// The endpoints of an application, and those that subscribe to an event. The second list is read for each
	// event, so that its index begins with the event's type.
	const firstPage, limit = "", 500

	for _, list := range []struct {
		ownerID string
		filter  integrations.EndpointFilter
		index   string
	}{
		{
			ownerID: id,
			filter:  integrations.EndpointFilter{AppID: id},
			index:   "webhook_endpoints_app",
		},
		{
			ownerID: integrations.AnyOwner,
			filter:  integrations.EndpointFilter{AppID: id},
			index:   "webhook_endpoints_app",
		},
		{
			ownerID: integrations.AnyOwner,
			filter:  integrations.EndpointFilter{Event: "job.created"},
			index:   primaryKey("webhook_subscriptions"),
		},
		{
			ownerID: integrations.AnyOwner,
			filter:  integrations.EndpointFilter{Event: "job.created", UserIDs: []string{id, uuid.NewString()}},
			index:   primaryKey("webhook_subscriptions"),
		},
	} {
		for _, afterID := range []string{firstPage, id} {
			recorded.requireIndex(t, db, list.index, func() {
				_, err := webhooks.List(ctx, list.ownerID, list.filter, afterID, limit)
				require.NoError(t, err)
			})
		}
	}
}

// checkDeliveryIndexes checks the queries of integrations.Deliveries.
func checkDeliveryIndexes(t *testing.T, db *DB, recorded *statements) {
	t.Helper()

	deliveries := db.Storage().Integrations.Deliveries
	ctx := t.Context()
	id := uuid.NewString()
	now := time.Now().UTC()

	// The log of an endpoint, newest first, of all deliveries or of those with a status.
	byNumber := page.Request{Number: 3, Size: 20}
	afterCursor := page.Request{Number: 1, Size: 20, Cursor: id}

	for _, log := range []struct {
		status integrations.DeliveryStatus
		index  string
	}{
		{status: "", index: "webhook_deliveries_endpoint"}, // every status
		{status: integrations.Failed, index: "webhook_deliveries_status"},
	} {
		for _, request := range []page.Request{byNumber, afterCursor} {
			recorded.requireIndex(t, db, log.index, func() {
				_, err := deliveries.List(ctx, id, id, log.status, request)
				require.NoError(t, err)
			})
		}
	}

	// The messages that a worker sends: one delivery, or the pending ones of an endpoint by the time at which they
	// are due. The index contains only pending deliveries.
	for _, messages := range []struct {
		filter integrations.MessageFilter
		index  string
	}{
		{filter: integrations.MessageFilter{ID: id}, index: primaryKey("webhook_deliveries")},
		{filter: integrations.MessageFilter{}, index: "webhook_deliveries_due"},
		{filter: integrations.MessageFilter{DueBy: now}, index: "webhook_deliveries_due"},
	} {
		recorded.requireIndex(t, db, messages.index, func() {
			const limit = 5

			_, err := deliveries.ListMessages(ctx, id, id, messages.filter, limit)
			require.NoError(t, err)
		})
	}

	recorded.requireIndex(t, db, "webhook_deliveries_due", func() {
		_, err := deliveries.NextDue(ctx, id)
		require.NoError(t, err)
	})

	// Deliveries that are sent again: one, or those that failed since a time. The index contains only failed ones.
	for _, replay := range []struct {
		filter integrations.ReplayFilter
		index  string
	}{
		{filter: integrations.ReplayFilter{ID: id}, index: primaryKey("webhook_deliveries")},
		{filter: integrations.ReplayFilter{FailedSince: now}, index: "webhook_deliveries_failed"},
	} {
		recorded.requireIndex(t, db, replay.index, func() {
			const limit = 1000

			_, err := deliveries.Replay(ctx, id, id, replay.filter, now, limit)
			require.NoError(t, err)
		})
	}

	// Results find the deliveries by id, and new deliveries find their endpoints by id.
	delivery := []integrations.Delivery{{ID: id, EndpointID: id}}
	recorded.requireIndex(t, db, primaryKey("webhook_deliveries"), func() { _, _ = deliveries.RecordResults(ctx, id, delivery) })
	recorded.requireIndex(t, db, primaryKey("webhook_endpoints"), func() {
		var noMessages []integrations.Message

		_ = deliveries.Enqueue(ctx, noMessages, delivery)
	})
}

// checkWebhookDeletionIndexes checks the deletions of expired rows and of an applicant's data.
func checkWebhookDeletionIndexes(t *testing.T, db *DB, recorded *statements) {
	t.Helper()

	storage := db.Storage().Integrations
	ctx := t.Context()
	now := time.Now().UTC()

	for _, expired := range []struct {
		kind  retention.Kind
		index string
	}{
		{kind: integrations.MessagesKind, index: "webhook_messages_created"},
		{kind: integrations.ListenersKind, index: "webhook_endpoints_listening"},
	} {
		recorded.requireIndex(t, db, expired.index, func() {
			const maxDeleted = 10

			_, err := storage.Retention.DeleteBefore(ctx, expired.kind, now, maxDeleted)
			require.NoError(t, err)
		})
	}

	applicantID := uuid.NewString()
	recorded.requireIndex(t, db, "webhook_messages_applicant", func() {
		require.NoError(t, storage.Deliveries.DeleteByApplicant(ctx, applicantID))
	})
}
