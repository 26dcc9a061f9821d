package listings

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/modules/listings/search"
)

// countingIndex counts the documents that are applied to it. It finds nothing.
type countingIndex struct {
	slowSearch
	mu        sync.Mutex
	documents int
	position  string
	discarded bool
}

// Apply implements search.Index. It counts the documents.
func (x *countingIndex) Apply(_ context.Context, changes []search.Change, position string) error {
	x.mu.Lock()
	defer x.mu.Unlock()

	x.documents += len(changes)
	x.position = position

	return nil
}

// Position implements search.Index.
func (x *countingIndex) Position() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.position
}

// Close implements search.Index.
func (*countingIndex) Close() error { return nil }

// Discard implements search.Index.
func (x *countingIndex) Discard() error {
	x.discarded = true
	return nil
}

// constantFeed returns listings that do not change: a number of equal ones. ReadOpen calls onOpen first,
// in which a test changes something or fails.
type constantFeed struct {
	Feed
	listings int
	onOpen   func() error
}

// ReadOpen implements Feed.
func (f *constantFeed) ReadOpen(ctx context.Context, fn func(*Listing) error) (FeedPosition, error) {
	if err := f.onOpen(); err != nil {
		return "", err
	}

	for range f.listings {
		if err := errors.Join(ctx.Err(), fn(&Listing{Open: true})); err != nil {
			return "", err
		}
	}

	return "1", nil
}

// ListSince implements Feed. Nothing has changed.
func (*constantFeed) ListSince(_ context.Context, position FeedPosition, _ int) (FeedBatch, error) {
	return FeedBatch{Position: position}, nil
}

// newTestEngine returns an engine with the feed, and the indexes that it opens.
func newTestEngine(t *testing.T, feed *constantFeed) (*Engine, *[]*countingIndex) {
	t.Helper()

	vocabulary, err := search.Load()
	require.NoError(t, err)

	indexes := new([]*countingIndex)

	return NewEngine(EngineDeps{
		Open: func(context.Context, bool) (search.Index, error) {
			x := &countingIndex{}
			*indexes = append(*indexes, x)
			return x, nil
		},
		Feed:          feed,
		Notifications: func(context.Context) <-chan struct{} { return nil },
		Changes:       func() uint64 { return 0 },
		Places:        noPlaces{},
		Log:           slog.New(slog.DiscardHandler),
	}, vocabulary), indexes
}

// runUntil runs the engine until the condition holds, and 20 ms longer, in which it could begin another
// build by mistake.
func runUntil(t *testing.T, e *Engine, condition func() bool) {
	t.Helper()
	require.NoError(t, e.Open(t.Context()))

	ctx, cancel := context.WithCancel(t.Context())

	done := make(chan struct{})
	go func() { e.Run(ctx); close(done) }()

	assert.Eventually(t, condition, 30*time.Second, time.Millisecond)
	time.Sleep(20 * time.Millisecond)
	cancel()
	<-done
}

// extendedVocabulary returns the vocabulary with one more role.
func extendedVocabulary(t *testing.T) *search.Vocabulary {
	t.Helper()

	v, err := search.Load(search.Source{Name: "more", Text: "role babycatcher =midwife : babycatcher\n"})
	require.NoError(t, err)

	return v
}

// TestEngine_VocabularySetBeforeRun_BuildsOnce checks that a vocabulary that is set before the start does not
// cause a build with the old one.
func TestEngine_VocabularySetBeforeRun_BuildsOnce(t *testing.T) {
	t.Parallel()

	e, indexes := newTestEngine(t, &constantFeed{listings: 10, onOpen: func() error { return nil }})
	e.SetVocabulary(extendedVocabulary(t))
	runUntil(t, e, func() bool { return e.Ping(t.Context()) == nil })
	require.Len(t, *indexes, 1)
}

// TestEngine_VocabularyChangesDuringBuild_StartsAnother checks that a build is not completed with a vocabulary
// that is already replaced: it stops after the batch in which it notices, and a new one begins. The
// position of the index is the version of the vocabulary and documents, and that in the feed.
func TestEngine_VocabularyChangesDuringBuild_StartsAnother(t *testing.T) {
	t.Parallel()

	feed, more := &constantFeed{listings: 3 * buildBatchSize}, extendedVocabulary(t)
	e, indexes := newTestEngine(t, feed)
	feed.onOpen = func() error {
		e.SetVocabulary(more)
		return nil
	}

	runUntil(t, e, func() bool { return e.Ping(t.Context()) == nil })
	require.Len(t, *indexes, 2)
	require.Equal(t, buildBatchSize, (*indexes)[0].documents, "the first build stops after a batch")
	require.True(t, (*indexes)[0].discarded)
	require.Equal(t, 3*buildBatchSize, (*indexes)[1].documents)

	const documentFormat, feedPosition = ".3", "1"
	require.Equal(t, more.Version()+documentFormat+" "+feedPosition, (*indexes)[1].position)
}

// TestEngine_BuildFails_IsRetried checks that a failed build is retried in a new index: the first one may
// contain a part of the listings and is discarded.
func TestEngine_BuildFails_IsRetried(t *testing.T) {
	t.Parallel()

	opened := 0
	engine, indexes := newTestEngine(t, &constantFeed{listings: 10, onOpen: func() error {
		if opened++; opened == 1 {
			return errors.New("no database")
		}

		return nil
	}})
	runUntil(t, engine, func() bool { return engine.Ping(t.Context()) == nil })
	require.Len(t, *indexes, 2)
	require.True(t, (*indexes)[0].discarded)
}
