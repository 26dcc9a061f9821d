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

// Indexer keeps a search index current with the feed of listings. The index stores the
// position in the feed up to which it contains the changes, so that the indexer continues
// there.
type Indexer struct {
	feed       Feed
	index      search.Index
	vocabulary *search.Vocabulary
	// countChanges returns how many transactions of this process have changed listings.
	countChanges func() uint64
	log          *slog.Logger

	// feedLock is a mutex for readers of the feed. The reader that holds it has a value in the
	// channel, which has room for one. Unlike the wait for a sync.Mutex, the wait for feedLock
	// can be cancelled.
	feedLock         chan struct{}
	positionStoredAt time.Time // guarded by feedLock
	// appliedChanges is the number of changes of this process, as countChanges counts them,
	// that the index contains.
	appliedChanges atomic.Uint64
	// caughtUpAt is the time when the feed was last read to its end, in Unix nanoseconds.
	caughtUpAt atomic.Int64
}

// NewIndexer returns an indexer that annotates listings with the vocabulary.
// changes returns the number of transactions of this process that have changed listings.
func NewIndexer(feed Feed, index search.Index, vocabulary *search.Vocabulary, changes func() uint64, log *slog.Logger) *Indexer {
	return &Indexer{
		feed:         feed,
		index:        index,
		vocabulary:   vocabulary,
		countChanges: changes,
		log:          log,
		feedLock:     make(chan struct{}, 1),
	}
}

// isOutdated reports whether the documents of the index, or those that the indexer adds, have
// another version than the given one.
func (x *Indexer) isOutdated(version string) bool {
	indexVersion, position := x.position()
	isBuilt := position != ""
	isIndexOutdated := isBuilt && indexVersion != version

	return documentVersion(x.vocabulary) != version || isIndexOutdated
}

// position returns the two parts of the position that is stored in the index: the version of its
// documents and the position in the feed. The position in the feed is empty until the index is
// built.
func (x *Indexer) position() (version string, position FeedPosition) {
	version, feed, _ := strings.Cut(x.index.Position(), " ")
	return version, FeedPosition(feed)
}

// checkAge returns an error if the feed has not been read to its end for maxAge.
func (x *Indexer) checkAge() error {
	if age := time.Since(time.Unix(0, x.caughtUpAt.Load())); age > maxAge {
		return fmt.Errorf("search index has not followed the database for %s", age.Round(time.Second))
	}

	return nil
}

// lock waits until no other goroutine reads the feed, or until ctx is done.
func (x *Indexer) lock(ctx context.Context) error {
	select {
	case x.feedLock <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// unlock lets the next goroutine read the feed.
func (x *Indexer) unlock() { <-x.feedLock }

const (
	// buildBatchSize is the number of listings that a build applies at a time.
	buildBatchSize = 10_000
	// followBatchSize is the approximate number of changes that are read at a time.
	followBatchSize = 1_000
	// pollInterval is the interval at which the feed is read without a notification,
	// because notifications may be lost.
	pollInterval = time.Second
	// storeInterval is the interval at which the position is stored if there are no
	// changes.
	storeInterval = time.Minute
	// followTimeout is the timeout of one attempt to catch up. Changes that were applied
	// before the timeout remain in the index.
	followTimeout = 30 * time.Second
	// maxAge is the time without access to the feed after which the index is reported as
	// outdated.
	maxAge = time.Minute
)

// Build fills an empty index with the open listings. After each batch it calls progress with
// the number of listings so far. The index has no position until it is complete, so that an
// interrupted build is recognized and started again.
func (x *Indexer) Build(ctx context.Context, progress func(total int)) error {
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
		batch = append(batch, x.change(l))
		if len(batch) < buildBatchSize {
			return nil
		}

		const noPosition = ""

		return apply(noPosition)
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

// CatchUpWith does the same as CatchUp, but returns at once if the index already contains the first
// n changes of this process. It also returns at once if another reader of the feed has applied
// these changes while CatchUpWith waited for the feed.
func (x *Indexer) CatchUpWith(ctx context.Context, n uint64) error {
	if x.appliedChanges.Load() >= n {
		return nil
	}

	if err := x.lock(ctx); err != nil {
		return err
	}

	defer x.unlock()

	if x.appliedChanges.Load() >= n {
		return nil
	}

	// The counted changes are committed, so the feed contains them.
	changesInFeed := x.countChanges()

	version, _ := x.position()
	for hasMore := true; hasMore; {
		_, position := x.position()

		batch, err := x.feed.ListSince(ctx, position, followBatchSize)
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
			const highest = math.MaxInt64 // above every version of the listing
			changes = append(changes, search.Change{ID: id, Version: highest})
		}

		// Without changes the position is stored now and then, so that it does not become too
		// old for the feed.
		mustStore := len(changes) > 0 || time.Since(x.positionStoredAt) > storeInterval
		if mustStore {
			x.positionStoredAt = time.Now()
			if err := x.index.Apply(ctx, changes, version+" "+string(batch.Position)); err != nil {
				return err
			}
		}

		hasMore = batch.More
	}

	x.appliedChanges.Store(changesInFeed)
	x.caughtUpAt.Store(time.Now().UnixNano())

	return nil
}

// change returns the change of the index for a listing: an open listing is stored, and any
// other listing is deleted. A listing that cannot be analyzed is deleted too.
func (x *Indexer) change(l *Listing) search.Change {
	c := search.Change{ID: l.ID, Version: l.Version}
	if l.Open {
		c.Document = l.analyze(x.vocabulary, x.log)
	}

	return c
}

// Follow keeps the index current until ctx is done. It catches up after every notification, and
// at least every second. It calls caughtUp each time that it has caught up. It returns
// ErrFeedPosition if the index must be built anew.
func (x *Indexer) Follow(ctx context.Context, notifications <-chan struct{}, caughtUp func()) error {
	poll := time.NewTicker(pollInterval)
	defer poll.Stop()

	for {
		attempt, cancel := context.WithTimeout(ctx, followTimeout)
		err := x.CatchUp(attempt)

		cancel()

		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, ErrFeedPosition):
			return err
		case err != nil:
			x.log.Warn("search index failed to catch up; retrying", "error", err)
		default:
			caughtUp()
		}

		select {
		case <-ctx.Done():
			return nil
		case <-notifications:
		case <-poll.C:
		}
	}
}
