package localjobs_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/adapters/localjobs"
	"github.com/locumhq/locum/core/clock"
	"github.com/locumhq/locum/core/job"
	"github.com/locumhq/locum/test/conformance"
	"github.com/locumhq/locum/test/kit/stores"
)

func TestLocaljobsIsAQueue(t *testing.T) {
	t.Parallel()
	conformance.Queue(t, func(*testing.T) job.Queue { return localjobs.New() })
}

func TestLocaljobsCarriesWork(t *testing.T) {
	t.Parallel()
	conformance.Work(t, func(t *testing.T) (adapters.Storage, job.Queue) {
		return stores.SQLite(t, clock.System{}), localjobs.New()
	})
}

func TestAJobStandsInTheLineOnce(t *testing.T) {
	t.Parallel()
	q := localjobs.New()
	for turn := range 3 {
		require.NoError(t, q.Enqueue(t.Context(), job.Ticket{Class: job.Events, ID: "a", Turn: turn}))
	}
	require.NoError(t, q.Enqueue(t.Context(), job.Ticket{Class: job.Events, ID: "b"}))
	ctx, stop := context.WithCancel(t.Context())
	came := make(chan string, 10)
	done := make(chan error, 1)
	go func() { done <- q.Work(ctx, func(_ context.Context, got job.Ticket) { came <- got.ID }) }()
	require.ElementsMatch(t, []string{"a", "b"}, []string{<-came, <-came})
	stop()
	require.NoError(t, <-done)
	require.Empty(t, came)
}
