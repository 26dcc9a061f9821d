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

// BenchmarkApply measures how many applications per second concurrent clients store. The
// application and its event are two rows, which the product inserts in one transaction. The
// reference inserts the same two rows with pgx in one statement, on the same database.
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

	settings.MaxConns = 2 * clients // enough that no client waits for a connection
	pool, err := pgxpool.NewWithConfig(b.Context(), settings)
	require.NoError(b, err)

	defer pool.Close()

	var ourRates, referenceRates float64 // sums over all rounds
	for range rounds {
		ourRates += applyRate(b, func(ctx context.Context) error { return applyWithStorage(ctx, storage) })
		referenceRates += applyRate(b, func(ctx context.Context) error { return applyWithPgx(ctx, pool) })
	}

	b.ReportMetric(ourRates/rounds, "applications/s")
	b.ReportMetric(referenceRates/rounds, "pgx/s")
	b.ReportMetric(ourRates/referenceRates, "of-reference")
	b.ReportMetric(0, "ns/op") // removes the metric, which means nothing here
}

// applyRate returns how many applications per second the concurrent clients store. Their number is the constant clients,
// which all benchmarks of this package share. apply stores one application.
func applyRate(b *testing.B, apply func(ctx context.Context) error) float64 {
	b.Helper()
	const applicationsPerClient = 2500
	var failed atomic.Int64
	var working sync.WaitGroup
	start := time.Now()

	for range clients {
		working.Go(func() {
			for range applicationsPerClient {
				if apply(b.Context()) != nil {
					failed.Add(1)
				}
			}
		})
	}

	working.Wait()
	require.Zero(b, failed.Load(), "applications were not stored")

	return clients * applicationsPerClient / time.Since(start).Seconds()
}

// applyWithStorage stores a new application and its event with the product's adapter.
func applyWithStorage(ctx context.Context, storage adapters.Storage) error {
	application, submitted := newApplication()

	return storage.Hiring.Tx.Do(ctx, func(ctx context.Context) error {
		if err := storage.Hiring.Applications.Create(ctx, application); err != nil {
			return err
		}

		return storage.Hiring.Events.Record(ctx, submitted)
	})
}

// applyWithPgx stores a new application and its event in one statement. As in the product, the
// event is not stored if the applicant has already applied.
func applyWithPgx(ctx context.Context, pool *pgxpool.Pool) error {
	application, submitted := newApplication()

	payload, err := json.Marshal(submitted)
	if err != nil {
		return err
	}

	_, err = pool.Exec(ctx, `
		WITH added AS (
			INSERT INTO applications (
				id, listing_id, organization_id, applicant_id, status, tracker, tracker_color,
				cover_letter, answers, applied_at, changed_at, withdrawn_at)
			VALUES ($1, $2, $3, $4, $5, '', '', $6, '[]', $7, $7, NULL)
			ON CONFLICT (listing_id, applicant_id) DO NOTHING
			RETURNING id)
		INSERT INTO outbox (id, type, subject, payload, recorded_at, attempts, trace)
		SELECT $8::uuid, $9, $10, $11, $12::timestamptz, 0, '' FROM added`,
		application.ID, application.ListingID, application.OrganizationID, application.ApplicantID,
		string(application.Status), application.CoverLetter, application.AppliedAt,
		stores.NewID(), submitted.Type(), submitted.Subject(), string(payload), application.AppliedAt)

	return err
}

// newApplication returns an application by a new applicant for a new listing, and its event.
func newApplication() (hiring.Application, event.ApplicationSubmitted) {
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
	submitted := event.ApplicationSubmitted{
		ApplicationID:  application.ID,
		JobID:          application.ListingID,
		OrganizationID: application.OrganizationID,
		CandidateID:    application.ApplicantID,
		Status:         "pending",
		SubmittedAt:    now,
	}

	return application, submitted
}
