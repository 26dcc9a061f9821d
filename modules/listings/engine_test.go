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

// countingIndex is an index that counts the documents that the engine adds to it. It is not searched: slowSearch, the
// index of bulkhead_test.go, provides only the methods without which a parser of queries cannot be made.
type countingIndex struct {
	slowSearch
	mu          sync.Mutex
	documents   int
	position    string // in the feed, set by the engine
	isDiscarded bool
}

// Apply implements search.Index. It counts the documents and stores the position.
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
	x.isDiscarded = true
	return nil
}

// constantFeed is a feed of equal listings that do not change. onOpen is called when a build begins to read the
// listings, so that a test can change something at this time or let the build fail.
type constantFeed struct {
	Feed
	listings int // the number of listings
	onOpen   func() error
}

// ReadOpen implements Feed. The engine calls it once for each build of an index.
func (f *constantFeed) ReadOpen(ctx context.Context, fn func(*Listing) error) (FeedPosition, error) {
	if err := f.onOpen(); err != nil {
		return "", err
	}

	for range f.listings {
		if err := errors.Join(ctx.Err(), fn(&Listing{Open: true})); err != nil {
			return "", err
		}
	}

	return constantPosition, nil
}

// constantPosition is the position of a constantFeed, at which all of its listings have been read.
const constantPosition = "1"

// ListSince implements Feed. Nothing has changed.
func (*constantFeed) ListSince(_ context.Context, position FeedPosition, _ int) (FeedBatch, error) {
	return FeedBatch{Position: position}, nil
}

// newTestEngine returns an engine with the feed, and the list of the indexes that it opens. The engine opens one index
// at its start and another one for each further build. It has no sources of changes and no places.
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

// runUntilBuilt runs the engine until it has built its index, and 20 ms longer. In this time, the engine could begin
// another build by mistake.
func runUntilBuilt(t *testing.T, e *Engine) {
	t.Helper()
	require.NoError(t, e.Open(t.Context()))

	ctx, cancel := context.WithCancel(t.Context())

	done := make(chan struct{})
	go func() { e.Run(ctx); close(done) }()

	isBuilt := func() bool { return e.Ping(t.Context()) == nil }
	assert.Eventually(t, isBuilt, 30*time.Second, time.Millisecond)
	time.Sleep(20 * time.Millisecond)
	cancel()
	<-done
}

// extendedVocabulary returns the embedded vocabulary with one more role, babycatcher, another word for a midwife. Its
// version differs from that of the embedded vocabulary.
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
	runUntilBuilt(t, e)
	require.Len(t, *indexes, 1, "one build, with the new vocabulary")
}

// TestEngine_VocabularyChangesDuringBuild_StartsAnother checks that a build is not completed with a vocabulary that has
// been replaced. The build stops after the batch of listings during which the vocabulary changes, its index is
// discarded, and a build of a new index begins.
func TestEngine_VocabularyChangesDuringBuild_StartsAnother(t *testing.T) {
	t.Parallel()

	// Set the extended vocabulary as soon as a build reads listings. The second build sets it again, which is no change.
	feed, extended := &constantFeed{listings: 3 * buildBatchSize}, extendedVocabulary(t)
	e, indexes := newTestEngine(t, feed)
	feed.onOpen = func() error {
		e.SetVocabulary(extended)
		return nil
	}

	runUntilBuilt(t, e)
	require.Len(t, *indexes, 2)

	first, second := (*indexes)[0], (*indexes)[1]
	require.Equal(t, buildBatchSize, first.documents, "the first build stops after a batch")
	require.True(t, first.isDiscarded)
	require.Equal(t, feed.listings, second.documents)

	// The engine stores, with the position in the feed, by which vocabulary and in which format the documents are made.
	const formatOfDocuments = ".3"
	require.Equal(t, extended.Version()+formatOfDocuments+" "+constantPosition, second.position)
}

// TestEngine_BuildFails_IsRetried checks that a failed build is retried in a new index. The index of the failed build
// is discarded, since it may contain a part of the listings.
func TestEngine_BuildFails_IsRetried(t *testing.T) {
	t.Parallel()

	builds := 0
	failFirstBuild := func() error {
		builds++
		if builds == 1 {
			return errors.New("no database")
		}

		return nil
	}

	engine, indexes := newTestEngine(t, &constantFeed{listings: 10, onOpen: failFirstBuild})
	runUntilBuilt(t, engine)
	require.Len(t, *indexes, 2)
	require.True(t, (*indexes)[0].isDiscarded)
}
