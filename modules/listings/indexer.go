package listings

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"sync/atomic"
	"time"

	"github.com/locumhq/locum/modules/listings/search"
)

// Indexer keeps a search index current with the feed of listings.
type Indexer struct {
	feed       Feed
	index      search.Index
	vocabulary *search.Vocabulary
	changes    func() uint64
	log        *slog.Logger

	reading chan struct{} // a semaphore of 1 for readers of the feed
	stored  time.Time     // when the position was
	applied atomic.Uint64 // changes up to this one are in the index
	// caughtUp is when the feed was last read to its end, in Unix nanoseconds.
	caughtUp atomic.Int64
}

// NewIndexer returns an indexer that annotates listings with the vocabulary.
// Changes counts the transactions of this process that have changed listings.
func NewIndexer(feed Feed, index search.Index, vocabulary *search.Vocabulary, changes func() uint64, log *slog.Logger) *Indexer {
	return &Indexer{feed: feed, index: index, vocabulary: vocabulary, changes: changes, log: log, reading: make(chan struct{}, 1)}
}

// isOutdated reports whether the index is built, or has been, with documents of another
// version.
func (x *Indexer) isOutdated(version string) bool {
	built, position := x.position()
	return documentVersion(x.vocabulary) != version || position != "" && built != version
}

// position returns the parts of the position of the index: the version of its documents and
// the position in the feed.
func (x *Indexer) position() (version string, position FeedPosition) {
	version, feed, _ := strings.Cut(x.index.Position(), " ")
	return version, FeedPosition(feed)
}

// checkAge returns an error if the feed has not been read for a minute.
func (x *Indexer) checkAge() error {
	if age := time.Since(time.Unix(0, x.caughtUp.Load())); age > maxAge {
		return fmt.Errorf("search index has not followed the database for %s", age.Round(time.Second))
	}
	return nil
}

func (x *Indexer) lock(ctx context.Context) error {
	select {
	case x.reading <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (x *Indexer) unlock() { <-x.reading }

const (
	// buildBatch is how many listings a build applies at a time.
	buildBatch = 10_000
	// followBatch is about how many changes are read at a time.
	followBatch = 1_000
	// pollInterval is how often the feed is read without a signal.
	pollInterval = time.Second
	// storeInterval is how often a position without changes is stored.
	storeInterval = time.Minute
	// followWithin is the timeout of one attempt to catch up. The changes that it has
	// applied remain.
	followWithin = 30 * time.Second
	// maxAge is how long the feed may be unreadable before the index is reported.
	maxAge = time.Minute
)

// Build fills an empty index with the open listings and calls progress with the
// number of listings after each batch. The index has no position until it is
// complete, so that an interrupted build is started again.
func (x *Indexer) Build(ctx context.Context, progress func(n int)) error {
	if err := x.lock(ctx); err != nil {
		return err
	}
	defer x.unlock()
	total := 0
	var batch []search.Change
	apply := func(position string) error {
		err := x.index.Apply(ctx, batch, position)
		total += len(batch)
		progress(total)
		batch = batch[:0]
		return err
	}
	position, err := x.feed.ReadOpen(ctx, func(l *Listing) error {
		if batch = append(batch, x.change(l)); len(batch) < buildBatch {
			return nil
		}
		return apply("")
	})
	if err != nil {
		return err
	}
	return apply(documentVersion(x.vocabulary) + " " + string(position))
}

// CatchUp applies all changes that were committed before the call. It returns
// ErrFeedPosition if the index must be built anew.
func (x *Indexer) CatchUp(ctx context.Context) error {
	return x.CatchUpWith(ctx, math.MaxUint64)
}

// CatchUpWith applies the changes of this process up to the given number, if they
// are not in the index yet.
func (x *Indexer) CatchUpWith(ctx context.Context, change uint64) error {
	if x.applied.Load() >= change {
		return nil
	}
	if err := x.lock(ctx); err != nil {
		return err
	}
	defer x.unlock()
	if x.applied.Load() >= change {
		return nil
	}
	before := x.changes()
	vocabulary, _ := x.position()
	for more := true; more; {
		_, position := x.position()
		batch, err := x.feed.ListSince(ctx, position, followBatch)
		if err != nil {
			return err
		}
		changes := make([]search.Change, 0, len(batch.Listings)+len(batch.Deleted))
		for i := range batch.Listings {
			if err := ctx.Err(); err != nil {
				return err
			}
			changes = append(changes, x.change(&batch.Listings[i]))
		}
		for _, id := range batch.Deleted {
			changes = append(changes, search.Change{ID: id, Version: math.MaxInt64})
		}
		if len(changes) > 0 || time.Since(x.stored) > storeInterval {
			x.stored = time.Now()
			if err := x.index.Apply(ctx, changes, vocabulary+" "+string(batch.Position)); err != nil {
				return err
			}
		}
		more = batch.More
	}
	x.applied.Store(before)
	x.caughtUp.Store(time.Now().UnixNano())
	return nil
}

// change returns the change that stores an open listing in the index and deletes any
// other. A listing that cannot be analyzed is deleted.
func (x *Indexer) change(l *Listing) search.Change {
	c := search.Change{ID: l.ID, Version: l.Version}
	if l.Open {
		c.Document = l.analyze(x.vocabulary, x.log)
	}
	return c
}

// Follow catches up after every value of changes, and at least every second,
// until ctx is done, and calls done each time that it has. It returns
// ErrFeedPosition if the index must be built anew.
func (x *Indexer) Follow(ctx context.Context, changes <-chan struct{}, done func()) error {
	poll := time.NewTicker(pollInterval)
	defer poll.Stop()
	for {
		within, cancel := context.WithTimeout(ctx, followWithin)
		err := x.CatchUp(within)
		cancel()
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, ErrFeedPosition):
			return err
		case err != nil:
			x.log.Warn("search index failed to catch up; retrying", "error", err)
		default:
			done()
		}
		select {
		case <-ctx.Done():
			return nil
		case <-changes:
		case <-poll.C:
		}
	}
}
