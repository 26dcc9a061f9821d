package stores

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/adapters/gazetteer"
	"github.com/locumhq/locum/adapters/searchindex"
	"github.com/locumhq/locum/modules/listings"
	"github.com/locumhq/locum/modules/listings/search"
)

// NewIndex returns an empty search index in memory.
func NewIndex() (search.Index, error) {
	return searchindex.Open(searchindex.Options{Normalize: search.Normalize, Analyzer: search.Analyzer})
}

// NewBatch returns a matcher for the documents.
func NewBatch(docs []*search.Document) (search.Matcher, error) {
	return searchindex.NewBatch(docs, search.Normalize)
}

// Engine returns a search engine that indexes the listings of the storage, and their changes
// until the test ends.
func Engine(t testing.TB, storage adapters.Storage) *listings.Engine {
	vocabulary, err := search.Load()
	require.NoError(t, err)

	engine := listings.NewEngine(listings.EngineDeps{
		Open:          func(context.Context, bool) (search.Index, error) { return NewIndex() },
		Feed:          storage.Listings.Feed,
		Notifications: storage.Listings.Outbox.Notifications,
		Changes:       storage.Listings.Changes,
		Places:        gazetteer.New(),
		Log:           slog.New(slog.DiscardHandler),
	}, vocabulary)
	require.NoError(t, engine.Open(t.Context()))

	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { engine.Run(ctx) })

	t.Cleanup(func() {
		cancel()
		running.Wait()
	})

	require.Eventually(t, func() bool { return engine.Ping(t.Context()) == nil }, time.Minute, time.Millisecond)

	return engine
}
