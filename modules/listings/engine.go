package listings

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/locumhq/locum/modules/listings/search"
)

// EngineDeps are the collaborators of an Engine.
type EngineDeps struct {
	// Open opens the search index. With empty it opens a new one, which replaces
	// the stored one as soon as it has a position.
	Open func(ctx context.Context, empty bool) (search.Index, error)
	Feed Feed
	// Notifications returns a channel that receives a value when the feed may have
	// changes, also of other processes, until ctx is done. Values may be lost.
	Notifications func(ctx context.Context) <-chan struct{}
	// Changes returns the number of transactions of this process that have
	// changed listings.
	Changes func() uint64
	Places  search.Places
	Log     *slog.Logger
}

// Engine is the search engine of a process: an index that follows the listing
// feed, and the parser of queries for it. An index that does not exist, is
// damaged or was built with another vocabulary is built anew; one with another
// vocabulary is used until then.
type Engine struct {
	deps       EngineDeps
	opened     search.Index
	vocabulary atomic.Pointer[search.Vocabulary]
	current    atomic.Pointer[generation] // nil until the index has caught up
	building   atomic.Int64               // number of listings in the index that is being built
	outdated   chan struct{}              // signals another vocabulary
}

// generation is an index with everything that belongs to it.
type generation struct {
	index   search.Index
	indexer *Indexer
	parser  search.Parser
}

// parserWithin returns the parser for one query, whose corrections end with ctx.
func (g *generation) parserWithin(ctx context.Context) *search.Parser {
	p := g.parser
	p.Words = p.Words.Within(ctx)
	return &p
}

// NewEngine returns an engine that has no index yet.
func NewEngine(deps EngineDeps, v *search.Vocabulary) *Engine {
	e := &Engine{deps: deps, outdated: make(chan struct{}, 1)}
	e.vocabulary.Store(v)
	return e
}

// Open opens the index. Run uses it.
func (e *Engine) Open(ctx context.Context) (err error) {
	e.opened, err = e.deps.Open(ctx, false)
	return err
}

// SetVocabulary builds a new index with the vocabulary and replaces the present
// one by it when it is complete.
func (e *Engine) SetVocabulary(v *search.Vocabulary) {
	e.vocabulary.Store(v)
	select {
	case e.outdated <- struct{}{}:
	default:
	}
}

// Parser returns a parser with the vocabulary. It corrects no spelling, which takes
// the words of an index.
func (e *Engine) Parser() *search.Parser {
	return &search.Parser{Vocabulary: e.vocabulary.Load(), Places: e.deps.Places}
}

// Ping returns an error until the index has caught up.
func (e *Engine) Ping(context.Context) error {
	if g := e.current.Load(); g != nil {
		return g.indexer.checkAge()
	}
	if n := e.building.Load(); n > 0 {
		return fmt.Errorf("search index is being built: %d listings", n)
	}
	return errors.New("search index is being opened")
}

// Run keeps the index current until ctx is done, and closes it.
func (e *Engine) Run(ctx context.Context) {
	g := e.generation(e.opened)
	if e.opened.Position() == "" {
		g = e.build(ctx, e.opened)
	}
	for g != nil {
		g = e.follow(ctx, g)
	}
}

func (e *Engine) generation(index search.Index) *generation {
	v := e.vocabulary.Load()
	return &generation{
		index: index, indexer: NewIndexer(e.deps.Feed, index, v, e.deps.Changes, e.deps.Log),
		parser: search.Parser{Vocabulary: v, Places: e.deps.Places, Words: search.NewSpelling(v, index), Employers: search.IndexEmployers(index)},
	}
}

// follow keeps the generation current until it has to be replaced and returns its
// successor, or nil if ctx is done.
func (e *Engine) follow(ctx context.Context, g *generation) (next *generation) {
	g.parser.Parse("warm upp in leds") // builds the lazy indexes of misspelt words and places
	following, stop := context.WithCancel(ctx)
	var done sync.WaitGroup
	lost := make(chan struct{})
	done.Go(func() {
		if errors.Is(g.indexer.Follow(following, e.deps.Notifications(following), func() { e.current.Store(g) }), ErrFeedPosition) {
			close(lost)
		}
	})
	if reason := e.awaitReplacement(ctx, g, lost); reason != "" {
		e.deps.Log.Info("building a new search index", "reason", reason)
		next = e.build(ctx, nil)
	}
	stop()
	done.Wait()
	if next == nil {
		e.current.Store(nil)
		e.close(g.index)
		return nil
	}
	e.current.Store(next)
	e.discard(g.index)
	return next
}

// awaitReplacement returns why the generation has to be replaced, as soon as it has
// to be, or an empty text if ctx is done. The feed closes lost.
func (e *Engine) awaitReplacement(ctx context.Context, g *generation, lost <-chan struct{}) (reason string) {
	for !e.isOutdated(g) {
		select {
		case <-ctx.Done():
			return ""
		case <-lost:
			return "the present one is not a copy of this database"
		case <-e.outdated:
		}
	}
	return "the vocabulary has changed"
}

// isOutdated reports whether the generation has another vocabulary than the engine.
func (e *Engine) isOutdated(g *generation) bool {
	return g.indexer.isOutdated(documentVersion(e.vocabulary.Load()))
}

func (e *Engine) catchUp(ctx context.Context, g *generation) bool {
	ctx, cancel := context.WithTimeout(ctx, catchUpWithin)
	defer cancel()
	return g.indexer.CatchUpWith(ctx, e.deps.Changes()) == nil
}

// errOutdated is why a build ends before the index is complete.
var errOutdated = errors.New("the vocabulary has changed")

// maxBuildPause is the longest pause before another attempt to build an index.
const maxBuildPause = 30 * time.Second

// build builds an index, at first in the given one if it is not nil. It returns
// nil if ctx is done.
func (e *Engine) build(ctx context.Context, index search.Index) *generation {
	for pause := time.Second; ; {
		g, err := e.tryBuild(ctx, index)
		if err == nil {
			return g
		}
		if ctx.Err() != nil {
			return nil
		}
		index = nil
		if errors.Is(err, errOutdated) {
			continue
		}
		e.deps.Log.Warn("search index could not be built; retrying", "error", err, "pause", pause)
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pause):
		}
		pause = min(2*pause, maxBuildPause)
	}
}

// progressEvery is after how many listings a build is logged.
const progressEvery = 100_000

func (e *Engine) tryBuild(ctx context.Context, index search.Index) (*generation, error) {
	if index == nil {
		var err error
		if index, err = e.deps.Open(ctx, true); err != nil {
			return nil, err
		}
	}
	g := e.generation(index)
	start, logged := time.Now(), 0
	building, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	err := g.indexer.Build(building, func(n int) {
		if e.isOutdated(g) {
			stop(errOutdated)
		}
		e.building.Store(int64(n))
		if n >= logged+progressEvery {
			logged = n
			e.deps.Log.Info("building search index", "listings", n, "seconds", int(time.Since(start).Seconds()))
		}
	})
	if err == nil {
		err = g.indexer.CatchUp(ctx)
	}
	if err != nil {
		e.discard(index)
		return nil, errors.Join(context.Cause(building), err)
	}
	if logged > 0 {
		e.deps.Log.Info("search index is complete", "listings", e.building.Load(), "seconds", int(time.Since(start).Seconds()))
	}
	return g, nil
}

func (e *Engine) close(index search.Index) {
	if err := index.Close(); err != nil {
		e.deps.Log.Warn("search index could not be closed", "error", err)
	}
}

// discard closes an index that is not needed any more and deletes what it stores.
func (e *Engine) discard(index search.Index) {
	if err := index.Discard(); err != nil {
		e.deps.Log.Warn("search index could not be deleted", "error", err)
	}
}

// catchUpWithin is how long a search waits for the changes of its process.
const catchUpWithin = 300 * time.Millisecond

// use calls fn with the present generation. It is current if it contains every
// change that this process has committed, which it does unless the feed cannot be
// read or the index is being replaced.
func (e *Engine) use(ctx context.Context, fn func(g *generation, isCurrent bool) error) error {
	for {
		g := e.current.Load()
		if g == nil {
			return unavailable("search: index", e.Ping(ctx))
		}
		err := fn(g, e.catchUp(ctx, g))
		if !errors.Is(err, search.ErrIndexClosed) || e.current.Load() == g {
			return err
		}
	}
}
