package bench

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/adapters/gormdb"
	"github.com/locumhq/locum/core/clock"
	"github.com/locumhq/locum/core/event"
	"github.com/locumhq/locum/modules/hiring"
	"github.com/locumhq/locum/test/kit"
	"github.com/locumhq/locum/test/kit/stores"
)

// BenchmarkApply measures how many applications per second eight clients store with
// their events. The limit is pgx with the same two rows in one statement, on the same
// database.
func BenchmarkApply(b *testing.B) {
	url := kit.PostgresURL(b)
	storage, err := gormdb.Open(b.Context(), url,
		adapters.Deps{Clock: clock.System{}, NewID: stores.NewID, Log: slog.New(slog.DiscardHandler)})
	require.NoError(b, err)
	defer func() { _ = storage.Identity.Close() }()
	_, err = storage.Identity.Schema.Up(b.Context())
	require.NoError(b, err)
	settings, err := pgxpool.ParseConfig(url)
	require.NoError(b, err)
	settings.MaxConns = 16
	pool, err := pgxpool.NewWithConfig(b.Context(), settings)
	require.NoError(b, err)
	defer pool.Close()

	const clients, each = 8, 2500
	rate := func(apply func(ctx context.Context) error) float64 {
		var failed atomic.Int64
		var working sync.WaitGroup
		begun := time.Now()
		for range clients {
			working.Go(func() {
				for range each {
					if apply(b.Context()) != nil {
						failed.Add(1)
					}
				}
			})
		}
		working.Wait()
		require.Zero(b, failed.Load())
		return clients * each / time.Since(begun).Seconds()
	}
	candidacy := func() (hiring.Application, event.ApplicationSubmitted) {
		now := time.Now().UTC().Truncate(time.Microsecond)
		application := hiring.Application{
			ID:             stores.NewID(),
			ListingID:      stores.NewID(),
			OrganizationID: stores.NewID(),
			ApplicantID:    stores.NewID(),
			Status:         hiring.Pending,
			CoverLetter:    "Dear all",
			AppliedAt:      now,
			ChangedAt:      now,
		}
		return application, event.ApplicationSubmitted{
			ApplicationID:  application.ID,
			JobID:          application.ListingID,
			OrganizationID: application.OrganizationID,
			CandidateID:    application.ApplicantID,
			Status:         "pending",
			SubmittedAt:    now,
		}
	}
	var ours, limit float64
	for range rounds {
		ours += rate(func(ctx context.Context) error {
			a, e := candidacy()
			return storage.Hiring.Tx.Do(ctx, func(ctx context.Context) error {
				if err := storage.Hiring.Applications.Create(ctx, a); err != nil {
					return err
				}
				return storage.Hiring.Events.Record(ctx, e)
			})
		})
		limit += rate(func(ctx context.Context) error {
			application, e := candidacy()
			payload, err := json.Marshal(e)
			if err != nil {
				return err
			}
			_, err = pool.Exec(ctx, `WITH added AS (
					INSERT INTO applications (id, listing_id, organization_id, applicant_id, status, tracker, tracker_color, cover_letter, answers, applied_at, changed_at, withdrawn_at)
					VALUES ($1, $2, $3, $4, $5, '', '', $6, '[]', $7, $7, NULL) ON CONFLICT (listing_id, applicant_id) DO NOTHING RETURNING id)
				INSERT INTO outbox (id, type, subject, payload, recorded_at, attempts, trace) SELECT $8::uuid, $9, $10, $11, $12::timestamptz, 0, '' FROM added`,
				application.ID, application.ListingID, application.OrganizationID, application.ApplicantID, string(application.Status), application.CoverLetter, application.AppliedAt,
				stores.NewID(), e.Type(), e.Subject(), string(payload), application.AppliedAt)
			return err
		})
	}
	b.ReportMetric(ours/rounds, "applications/s")
	b.ReportMetric(limit/rounds, "pgx/s")
	b.ReportMetric(ours/limit, "of-limit")
	b.ReportMetric(0, "ns/op")
}
