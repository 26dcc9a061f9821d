package listings

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"sync"
	"time"

	"github.com/locumhq/locum/modules/listings/search"
)

// Indexer keeps a search index current with the feed of listings.
type Indexer struct {
	feed       Feed
	index      search.Index
	vocabulary *search.Vocabulary
	log        *slog.Logger

	mu sync.Mutex // one reader of the feed at a time
}

// NewIndexer returns an indexer that annotates listings with the vocabulary.
func NewIndexer(feed Feed, index search.Index, vocabulary *search.Vocabulary, log *slog.Logger) *Indexer {
	return &Indexer{feed: feed, index: index, vocabulary: vocabulary, log: log}
}

const (
	// buildBatch is how many listings a build applies at a time.
	buildBatch = 10_000
	// followBatch is about how many changes are read at a time.
	followBatch = 1_000
	// pollInterval is how often the feed is read without a signal.
	pollInterval = time.Second
)

// Build fills an empty index with the open listings and calls progress with the
// number of listings after each batch. The index has no position until it is
// complete, so that an interrupted build is started again.
func (x *Indexer) Build(ctx context.Context, progress func(n int)) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	total := 0
	var batch []search.Change
	apply := func(position FeedPosition) error {
		err := x.index.Apply(ctx, batch, string(position))
		total += len(batch)
		progress(total)
		batch = batch[:0]
		return err
	}
	position, err := x.feed.Open(ctx, func(l *Listing) error {
		if batch = append(batch, x.change(l)); len(batch) < buildBatch {
			return nil
		}
		return apply("")
	})
	if err != nil {
		return err
	}
	return apply(position)
}

// CatchUp applies all changes that were committed before the call.
// ErrFeedPosition if the index must be built anew.
func (x *Indexer) CatchUp(ctx context.Context) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	for more := true; more; {
		batch, err := x.feed.Since(ctx, FeedPosition(x.index.Position()), followBatch)
		if err != nil {
			return err
		}
		changes := make([]search.Change, 0, len(batch.Listings)+len(batch.Deleted))
		for i := range batch.Listings {
			changes = append(changes, x.change(&batch.Listings[i]))
		}
		for _, id := range batch.Deleted {
			changes = append(changes, search.Change{ID: id, Version: math.MaxInt64})
		}
		if err := x.index.Apply(ctx, changes, string(batch.Position)); err != nil {
			return err
		}
		more = batch.More
	}
	return nil
}

// change returns the change that brings the listing into the index, or takes it
// out of it.
func (x *Indexer) change(l *Listing) search.Change {
	c := search.Change{ID: l.ID, Version: l.Version}
	if l.Open {
		c.Document = l.document(x.vocabulary)
	}
	return c
}

// Follow catches up after every signal of the feed, and at least every second,
// until ctx is done. It returns ErrFeedPosition if the index must be built anew.
func (x *Indexer) Follow(ctx context.Context) error {
	changes := x.feed.Changes(ctx)
	poll := time.NewTicker(pollInterval)
	defer poll.Stop()
	for {
		err := x.CatchUp(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, ErrFeedPosition):
			return err
		case err != nil:
			x.log.Warn("search index failed to catch up; retrying", "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-changes:
		case <-poll.C:
		}
	}
}
