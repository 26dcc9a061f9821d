package listings

import (
	"cmp"
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
	// Open opens the stored search index, or a new one if empty is true. A new index
	// replaces the stored index as soon as it has a position.
	Open func(ctx context.Context, empty bool) (search.Index, error)
	Feed Feed
	// Notifications returns a channel that receives a value when the feed may have
	// changes of any process, until ctx is done. Values may be lost.
	Notifications func(ctx context.Context) <-chan struct{}
	// Changes returns the number of transactions of this process that have
	// changed listings.
	Changes func() uint64
	Places  search.Places
	Log     *slog.Logger
	// CatchUpTimeout is the maximum time for which a search waits until the index contains the
	// changes of this process. Zero stands for 300 ms.
	CatchUpTimeout time.Duration
}

// Engine is the search engine of a process: an index that follows the listing feed, which is
// the sequence of all changes of listings, and the parser of queries for the index. It builds a
// new index if there is none, if the index is damaged, and if the index was built with another
// vocabulary. In the last case the old index is used until the new one is complete.
type Engine struct {
	deps       EngineDeps
	opened     search.Index // the index that Open has opened, for Run
	vocabulary atomic.Pointer[search.Vocabulary]
	current    atomic.Pointer[generation] // nil until the index has caught up
	building   atomic.Int64               // the number of listings in the index that is being built
	outdated   chan struct{}              // receives a value when the vocabulary has changed
}

// generation is an index with its indexer, and the parser for its vocabulary. When an index
// must be built anew, for example for another vocabulary, the next generation replaces it.
type generation struct {
	index   search.Index
	indexer *Indexer
	parser  search.Parser
}

// parserWithin returns a parser for one query. It stops correcting misspelt words when ctx is
// done.
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

// Open opens the index for Run, which must be called afterwards.
func (e *Engine) Open(ctx context.Context) (err error) {
	e.opened, err = e.deps.Open(ctx, false)
	return err
}

// SetVocabulary causes Run to build a new index with the vocabulary. The new index replaces
// the present one when it is complete.
func (e *Engine) SetVocabulary(v *search.Vocabulary) {
	e.vocabulary.Store(v)

	select {
	case e.outdated <- struct{}{}:
	default: // Run has not received the previous value yet
	}
}

// Parser returns a parser with the vocabulary. The parser does not correct misspelt words,
// because it has no index whose words it could compare them with.
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

// Run keeps the index current until ctx is done, and then closes it.
func (e *Engine) Run(ctx context.Context) {
	g := e.newGeneration(e.opened)

	// An index has a position in the feed as soon as it is complete.
	isEmpty := e.opened.Position() == ""
	if isEmpty {
		g = e.build(ctx, e.opened)
	}

	for g != nil {
		g = e.follow(ctx, g)
	}
}

// newGeneration returns a generation with the index and the current vocabulary.
func (e *Engine) newGeneration(index search.Index) *generation {
	v := e.vocabulary.Load()

	return &generation{
		index: index, indexer: NewIndexer(e.deps.Feed, index, v, e.deps.Changes, e.deps.Log),
		parser: search.Parser{
			Vocabulary: v,
			Places:     e.deps.Places,
			Words:      search.NewSpelling(v, index),
			Employers:  search.IndexEmployers(index),
		},
	}
}

// follow keeps the generation current until it has to be replaced. It builds the next
// generation while the present one remains in use, and returns it, or nil if ctx is done.
func (e *Engine) follow(ctx context.Context, g *generation) (next *generation) {
	// The parser prepares the correction of words and places when it first corrects one. This
	// misspelt query causes it to do so now, and not during the first search of a user.
	g.parser.Parse("warm upp in leds")

	following, stop := context.WithCancel(ctx)
	var done sync.WaitGroup
	feedLost := make(chan struct{})
	done.Go(func() {
		// Searches use the generation as soon as it has caught up.
		caughtUp := func() { e.current.Store(g) }

		err := g.indexer.Follow(following, e.deps.Notifications(following), caughtUp)
		if errors.Is(err, ErrFeedPosition) {
			close(feedLost)
		}
	})

	if reason := e.awaitReplacement(ctx, g, feedLost); reason != "" {
		e.deps.Log.Info("building a new search index", "reason", reason)

		next = e.build(ctx, nil)
	}

	stop()
	done.Wait()

	if next == nil { // ctx is done
		e.current.Store(nil)
		e.close(g.index)
		return nil
	}

	e.current.Store(next)
	e.discard(g.index)

	return next
}

// awaitReplacement waits until the generation has to be replaced, and returns the reason. It
// returns "" if ctx is done. feedLost is closed when the feed cannot continue from the
// position of the index.
func (e *Engine) awaitReplacement(ctx context.Context, g *generation, feedLost <-chan struct{}) (reason string) {
	for !e.isOutdated(g) {
		select {
		case <-ctx.Done():
			return ""
		case <-feedLost:
			return "the present one is not a copy of this database"
		case <-e.outdated:
		}
	}

	return "the vocabulary has changed"
}

// isOutdated reports whether the vocabulary of the engine has changed since the generation
// was built.
func (e *Engine) isOutdated(g *generation) bool {
	return g.indexer.isOutdated(documentVersion(e.vocabulary.Load()))
}

// catchUp reports whether the index contains all changes that this process has committed. It
// waits for them, but not longer than EngineDeps.CatchUpTimeout.
func (e *Engine) catchUp(ctx context.Context, g *generation) bool {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(e.deps.CatchUpTimeout, defaultCatchUpTimeout))
	defer cancel()
	return g.indexer.CatchUpWith(ctx, e.deps.Changes()) == nil
}

// errOutdated stops a build whose vocabulary is no longer the current one.
var errOutdated = errors.New("the vocabulary has changed")

// maxBuildPause is the maximum pause after a failed build.
const maxBuildPause = 30 * time.Second

// build builds an index and retries until that succeeds. It returns nil if ctx is done. The
// first attempt uses the given empty index unless it is nil.
func (e *Engine) build(ctx context.Context, index search.Index) *generation {
	for pause := time.Second; ; {
		g, err := e.tryBuild(ctx, index)
		if err == nil {
			return g
		}

		if ctx.Err() != nil {
			return nil
		}

		index = nil // tryBuild has discarded it; the next attempt opens a new one

		if errors.Is(err, errOutdated) {
			continue // with the new vocabulary, without a pause
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

// progressInterval is the number of listings after which the progress of a build is logged.
const progressInterval = 100_000

// tryBuild builds an index, in the given empty index or in a new one if it is nil. If it
// fails, it discards the index.
func (e *Engine) tryBuild(ctx context.Context, index search.Index) (*generation, error) {
	if index == nil {
		var err error
		if index, err = e.deps.Open(ctx, true); err != nil {
			return nil, err
		}
	}

	g := e.newGeneration(index)
	start, logged := time.Now(), 0 // logged is the number of listings that was logged last

	building, stop := context.WithCancelCause(ctx)
	defer stop(nil)

	err := g.indexer.Build(building, func(total int) {
		if e.isOutdated(g) {
			stop(errOutdated)
		}

		e.building.Store(int64(total))

		if total >= logged+progressInterval {
			logged = total
			e.deps.Log.Info("building search index", "listings", total, "seconds", int(time.Since(start).Seconds()))
		}
	})
	if err == nil {
		err = g.indexer.CatchUp(ctx) // the changes during the build
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

// close closes the index. It logs an error instead of returning it.
func (e *Engine) close(index search.Index) {
	if err := index.Close(); err != nil {
		e.deps.Log.Warn("search index could not be closed", "error", err)
	}
}

// discard closes an index that is not needed any more and deletes its stored data. It logs an
// error.
func (e *Engine) discard(index search.Index) {
	if err := index.Discard(); err != nil {
		e.deps.Log.Warn("search index could not be deleted", "error", err)
	}
}

// defaultCatchUpTimeout is the value of EngineDeps.CatchUpTimeout if that is zero.
const defaultCatchUpTimeout = 300 * time.Millisecond

// use calls fn with the current generation. isCurrent is true if the index contains every
// change that this process has committed. It is false while the feed cannot be read or the
// index is being replaced. If the index was replaced during fn, use calls fn again with the
// new generation.
func (e *Engine) use(ctx context.Context, fn func(g *generation, isCurrent bool) error) error {
	for {
		g := e.current.Load()
		if g == nil {
			return unavailable("search: index", e.Ping(ctx))
		}

		err := fn(g, e.catchUp(ctx, g))

		wasReplaced := errors.Is(err, search.ErrIndexClosed) && e.current.Load() != g
		if !wasReplaced {
			return err
		}
	}
}
