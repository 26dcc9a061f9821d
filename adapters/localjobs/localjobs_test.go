package localjobs_test

import (
	"context"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/adapters/localjobs"
	"github.com/locumhq/locum/core/job"
	"github.com/locumhq/locum/test/conformance"
)

func TestLocaljobsIsAQueue(t *testing.T) {
	t.Parallel()
	conformance.Queue(t, func(*testing.T) job.Queue { return localjobs.New(slog.New(slog.DiscardHandler)) })
}

func TestAFullQueueHoldsUpNobodyForLonger(t *testing.T) {
	t.Parallel()
	q := localjobs.New(slog.New(slog.DiscardHandler))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	jobs := make([]job.Job, 10_000)
	require.ErrorIs(t, q.Enqueue(ctx, jobs...), context.Canceled)
}
