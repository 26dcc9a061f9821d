package bootstrap

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"go.uber.org/fx"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/adapters/gazetteer"
	"github.com/locumhq/locum/adapters/searchindex"
	"github.com/locumhq/locum/modules/jobseeker"
	"github.com/locumhq/locum/modules/listings"
	"github.com/locumhq/locum/modules/listings/search"
)

const (
	// searchableWithin is the time for which a start waits for the search index. A large
	// one that is rebuilt is completed while the server is not ready.
	searchableWithin = 3 * time.Second
	// vocabularyInterval is the interval at which the file of search.vocabulary is read.
	vocabularyInterval = 2 * time.Second
	// resolveInterval is the interval at which saved searches that wait for an index are
	// resolved.
	resolveInterval = 10 * time.Second
)

// newEngine provides the search engine, which runs in processes that serve.
func newEngine(lc fx.Lifecycle, o opening, r role, storage adapters.Storage) (*listings.Engine, error) {
	file := vocabularyFile(o.config.Search.Vocabulary)
	v, text, err := file.load()
	if err != nil {
		return nil, o.config.Err("search.vocabulary", err.Error())
	}
	engine := listings.NewEngine(listings.EngineDeps{
		Open: func(ctx context.Context, empty bool) (search.Index, error) { return openSearch(ctx, o, empty) },
		Feed: storage.Listings.Feed, Notifications: storage.Listings.Outbox.Notifications, Changes: storage.Listings.Changes, Places: gazetteer.New(), Log: o.deps.Log,
	}, v)
	background(lc, func(ctx context.Context) { file.watch(ctx, text, engine, o.deps) })
	if !r.serves { // saved searches need only the vocabulary
		return engine, nil
	}
	lc.Append(fx.StartHook(engine.Open))
	background(lc, engine.Run)
	lc.Append(fx.StartHook(func(ctx context.Context) { waitForSearch(ctx, engine) }))
	return engine, nil
}

// background runs fn from the start of a process until it stops.
func background(lc fx.Lifecycle, fn func(ctx context.Context)) {
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	lc.Append(fx.StartStopHook(func() { running.Go(func() { fn(ctx) }) }, func() {
		stop()
		running.Wait()
	}))
}

func waitForSearch(ctx context.Context, engine *listings.Engine) {
	ctx, cancel := context.WithTimeout(ctx, searchableWithin)
	defer cancel()
	every(ctx, 5*time.Millisecond, func() {
		if engine.Ping(ctx) == nil {
			cancel()
		}
	})
}

// resolveSearches resolves the saved searches that wait for a search index, in the
// processes that have one.
func resolveSearches(lc fx.Lifecycle, r role, k *jobseeker.Service, d adapters.Deps) {
	if !r.serves {
		return
	}
	background(lc, func(ctx context.Context) {
		every(ctx, resolveInterval, func() {
			if err := k.ResolveSearches(ctx); err != nil && ctx.Err() == nil {
				d.Log.Warn("saved searches could not be resolved; will retry", "error", err)
			}
		})
	})
}

// every calls fn at once, and again after each interval until ctx is done.
func every(ctx context.Context, interval time.Duration, fn func()) {
	for ctx.Err() == nil {
		fn()
		select {
		case <-ctx.Done():
		case <-time.After(interval):
		}
	}
}

// vocabularyFile is the name of a file that extends or overrides the built-in
// vocabulary, empty for none.
type vocabularyFile string

func (f vocabularyFile) read() ([]byte, error) {
	if f == "" {
		return nil, nil
	}
	return os.ReadFile(string(f))
}

func (f vocabularyFile) parse(text []byte) (*search.Vocabulary, error) {
	if f == "" {
		return search.Load()
	}
	return search.Load(search.Source{Name: string(f), Text: string(text)})
}

func (f vocabularyFile) load() (v *search.Vocabulary, text []byte, err error) {
	if text, err = f.read(); err == nil {
		v, err = f.parse(text)
	}
	return v, text, err
}

// watch loads the vocabulary again when the file has changed. A file with errors is
// ignored.
func (f vocabularyFile) watch(ctx context.Context, text []byte, engine *listings.Engine, d adapters.Deps) {
	if f == "" {
		return
	}
	every(ctx, vocabularyInterval, func() {
		now, err := f.read()
		if err != nil || bytes.Equal(now, text) {
			return // a file that is being replaced may not exist for an instant
		}
		text = now
		v, err := f.parse(text)
		if err != nil {
			d.Log.Error("vocabulary file is not valid; the previous one stays in use", "file", string(f), "error", err)
			return
		}
		engine.SetVocabulary(v)
	})
}

// embeddedSearch opens the index of embedded:FOLDER, or one in memory.
func embeddedSearch(_ context.Context, url string, empty bool, d adapters.Deps) (search.Index, error) {
	o := searchindex.Options{Folder: strings.TrimPrefix(url, "embedded:"), Normalize: search.Normalize, Analyzer: search.Analyzer, Log: d.Log}
	open := searchindex.OpenNewest
	if empty {
		open = searchindex.OpenNext
	}
	index, err := open(o)
	if errors.Is(err, searchindex.ErrLocked) {
		return nil, fmt.Errorf("%w; each process needs a folder of its own", err)
	}
	if err != nil {
		return nil, err
	}
	return index, nil
}

// newBatch returns a matcher for new listings.
func newBatch(docs []*search.Document) (search.Matcher, error) {
	return searchindex.NewBatch(docs, search.Normalize)
}
