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
	// searchStartTimeout is how long a start waits for the search index. If building a large
	// index takes longer, the server starts, and is unready until the index is complete.
	searchStartTimeout = 3 * time.Second
	// vocabularyInterval is how often the file of the setting search.vocabulary is read.
	vocabularyInterval = 2 * time.Second
	// resolveInterval is how often resolveSearches looks for saved searches to resolve.
	resolveInterval = 10 * time.Second
)

// newEngine returns the search engine: the vocabulary (the terms that a search understands) and the
// index of the public listings. It opens the index only in processes that serve, because only they
// answer searches; a worker needs just the vocabulary, to match saved searches with new listings.
func newEngine(lc fx.Lifecycle, o opening, r role, storage adapters.Storage) (*listings.Engine, error) {
	file := vocabularyFile(o.config.Search.Vocabulary)

	vocabulary, loadedText, err := file.load()
	if err != nil {
		return nil, o.config.Err("search.vocabulary", err.Error())
	}

	engine := listings.NewEngine(listings.EngineDeps{
		Open:          func(ctx context.Context, empty bool) (search.Index, error) { return openSearch(ctx, o, empty) },
		Feed:          storage.Listings.Feed, // the stored changes from which the index is updated
		Notifications: storage.Listings.Outbox.Notifications,
		Changes:       storage.Listings.Changes,
		Places:        gazetteer.New(),
		Log:           o.deps.Log,
	}, vocabulary)
	runInBackground(lc, func(ctx context.Context) { file.watch(ctx, loadedText, engine, o.deps) })

	if !r.serves {
		return engine, nil
	}

	lc.Append(fx.StartHook(engine.Open))
	runInBackground(lc, engine.Run)
	lc.Append(fx.StartHook(func(ctx context.Context) { waitForSearch(ctx, engine) }))

	return engine, nil
}

// runInBackground runs fn in a goroutine from the start of the process until it stops.
func runInBackground(lc fx.Lifecycle, fn func(ctx context.Context)) {
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	onStart := func() { running.Go(func() { fn(ctx) }) }
	onStop := func() {
		stop()
		running.Wait()
	}
	lc.Append(fx.StartStopHook(onStart, onStop))
}

// waitForSearch waits until the search answers, for at most searchStartTimeout.
func waitForSearch(ctx context.Context, engine *listings.Engine) {
	ctx, cancel := context.WithTimeout(ctx, searchStartTimeout)
	defer cancel()

	const pingInterval = 5 * time.Millisecond
	runEvery(ctx, pingInterval, func() {
		if engine.Ping(ctx) == nil {
			cancel() // ends runEvery
		}
	})
}

// resolveSearches periodically resolves saved searches that were stored while no search index
// was available: it determines the query with which they find listings. Only processes that serve
// have the index that this needs.
func resolveSearches(lc fx.Lifecycle, r role, seekersSvc *jobseeker.Service, deps adapters.Deps) {
	if !r.serves {
		return
	}

	runInBackground(lc, func(ctx context.Context) {
		runEvery(ctx, resolveInterval, func() {
			if err := seekersSvc.ResolveSearches(ctx); err != nil && ctx.Err() == nil {
				deps.Log.Warn("saved searches could not be resolved; will retry", "error", err)
			}
		})
	})
}

// runEvery calls fn at once, and again after each interval until ctx is done.
func runEvery(ctx context.Context, interval time.Duration, fn func()) {
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

// read returns the text of the file, which is nil without a file.
func (f vocabularyFile) read() ([]byte, error) {
	if f == "" {
		return nil, nil
	}

	return os.ReadFile(string(f))
}

// parse returns the vocabulary with the additions of the text, which read returned.
func (f vocabularyFile) parse(text []byte) (*search.Vocabulary, error) {
	if f == "" {
		return search.Load()
	}

	return search.Load(search.Source{Name: string(f), Text: string(text)})
}

// load reads and parses the file.
func (f vocabularyFile) load() (v *search.Vocabulary, text []byte, err error) {
	text, err = f.read()
	if err == nil {
		v, err = f.parse(text)
	}

	return v, text, err
}

// watch loads the vocabulary again when the text of the file differs from the text that was loaded
// last. A file with errors is ignored.
func (f vocabularyFile) watch(ctx context.Context, loadedText []byte, engine *listings.Engine, deps adapters.Deps) {
	if f == "" {
		return
	}

	runEvery(ctx, vocabularyInterval, func() {
		text, err := f.read()
		if err != nil || bytes.Equal(text, loadedText) {
			return // after an error, the next run reads the file: it may be missing while it is replaced
		}

		loadedText = text // even of a file with errors, so that its errors are logged only once

		vocabulary, err := f.parse(text)
		if err != nil {
			deps.Log.Error("vocabulary file is not valid; the previous one stays in use", "file", string(f), "error", err)
			return
		}

		engine.SetVocabulary(vocabulary)
	})
}

// embeddedSearch opens the search index for a URL embedded:FOLDER. Without a folder the index
// is in memory. If empty is set, it opens a new index, which replaces the newest one of the folder.
func embeddedSearch(_ context.Context, url string, empty bool, deps adapters.Deps) (search.Index, error) {
	options := searchindex.Options{
		Folder:    strings.TrimPrefix(url, "embedded:"),
		Normalize: search.Normalize,
		Analyzer:  search.Analyzer,
		Log:       deps.Log,
	}

	open := searchindex.OpenNewest
	if empty {
		open = searchindex.OpenNext
	}

	index, err := open(options)
	if errors.Is(err, searchindex.ErrLocked) {
		return nil, fmt.Errorf("%w; each process needs a folder of its own", err)
	}

	if err != nil {
		return nil, err
	}

	return index, nil
}

// newBatch returns a matcher for the documents of new listings. It finds those that match a saved
// search.
func newBatch(docs []*search.Document) (search.Matcher, error) {
	return searchindex.NewBatch(docs, search.Normalize)
}
