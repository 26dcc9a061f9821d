package listings

import (
	"context"
	"iter"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/core/audit"
	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/modules/listings/search"
)

// slowSearch is an index in which each search blocks until the test receives from entered and sends to release, or
// until the context of the search ends. Other tests of the package embed it for its methods without results.
type slowSearch struct {
	search.Index
	entered chan struct{} // receives a value when a search reaches the index
	release chan struct{} // a value completes one search; closing it completes all of them
}

// Find implements search.Index. It sends a value to entered and then waits.
func (s slowSearch) Find(ctx context.Context, _ search.Query) (search.Result, error) {
	s.entered <- struct{}{}

	select {
	case <-s.release:
		return search.Result{Total: 1}, nil
	case <-ctx.Done():
		return search.Result{}, ctx.Err()
	}
}

// Frequency implements search.Index. No word is frequent.
func (slowSearch) Frequency(string) int { return 0 }

// Keys implements search.Index. There are none.
func (slowSearch) Keys(string) iter.Seq2[string, int] { return maps.All(map[string]int{}) }

// Words implements search.Index. There are none.
func (slowSearch) Words(string) iter.Seq2[string, int] { return maps.All(map[string]int{}) }

// newCaughtUpEngine returns an engine with this index, which contains all changes of listings, so that searches do not
// wait for it.
func newCaughtUpEngine(index search.Index) *Engine {
	v, err := search.Load()
	if err != nil {
		panic(err)
	}

	e := NewEngine(EngineDeps{Changes: func() uint64 { return 0 }, Places: noPlaces{}}, v)
	e.current.Store(e.newGeneration(index))

	return e
}

// movingClock is a clock that the test advances.
type movingClock struct{ now time.Time }

func (c *movingClock) Now() time.Time { return c.now }

// newSearchService returns a service with the limits of deps, the index in which its searches block, and its clock.
func newSearchService(deps Deps) (*Service, slowSearch, *movingClock) {
	const maxEntered = 100 // more searches than any test makes, so that sending to entered does not block

	index := slowSearch{entered: make(chan struct{}, maxEntered), release: make(chan struct{})}
	clock := &movingClock{now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	deps.Engine = newCaughtUpEngine(index)
	deps.Clock = clock
	deps.Gazetteer = noPlaces{}

	return New(deps), index, clock
}

// noPlaces is an empty gazetteer.
type noPlaces struct{}

func (noPlaces) Resolve(string) (Place, bool) { return Place{}, false }
func (noPlaces) Correct(string) (Place, bool) { return Place{}, false }

// nurse is a search that is valid.
var nurse = FindInput{Text: "nurse", Page: page.Request{Number: 1, Size: 20}}

// TestFind_AllSlotsTaken_WaitsAndThenUnavailable checks the slots, which limit the number of searches at once. A search
// that finds no free slot waits for one. If it waits too long, it fails without reaching the index. A search that
// has a slot is cancelled after the same time. Both are unavailable for the client, and the reason, for operators,
// distinguishes them.
func TestFind_AllSlotsTaken_WaitsAndThenUnavailable(t *testing.T) {
	t.Parallel()

	service, index, _ := newSearchService(Deps{SearchTimeout: time.Minute})
	service.searches.slots = make(chan struct{}, 1)
	errs := make(chan error, 2)
	find := func(ctx context.Context) {
		_, err := service.Find(ctx, auth.Actor{}, nurse)
		errs <- err
	}

	// The first search takes the only slot.
	go find(t.Context())

	<-index.entered

	// The second search waits until the first is complete, and takes its slot.
	go find(t.Context())
	index.release <- struct{}{}

	require.NoError(t, <-errs)
	<-index.entered

	// While the second search has the slot, others wait too long.
	service.searches.timeout = 50 * time.Millisecond
	for _, find := range []func() error{
		func() error { _, err := service.Find(t.Context(), auth.Actor{}, nurse); return err },
		func() error { _, err := service.ClosestTo(t.Context(), nurse, ""); return err },
	} {
		err := find()
		require.Equal(t, fault.Unavailable, fault.KindOf(err))
		require.Equal(t, time.Second, fault.Of(err).RetryAfter)
		require.Equal(t, "search: no free slot", fault.Of(err).Reason)
		require.Empty(t, index.entered, "a search without a slot has reached the index")
	}

	// The second search ends. The next one has the slot at once, but is not released.
	index.release <- struct{}{}

	require.NoError(t, <-errs)

	_, err := service.Find(t.Context(), auth.Actor{}, nurse)
	require.Equal(t, fault.Unavailable, fault.KindOf(err), "a search that takes too long is cancelled")
	require.Equal(t, "search: timeout", fault.Of(err).Reason)
	require.Len(t, index.entered, 1, "the cancelled search has reached the index")
}

// failingSearch is an index whose searches wait until their context ends, and then fail with err.
type failingSearch struct {
	slowSearch
	err error
}

func (s failingSearch) Find(ctx context.Context, _ search.Query) (search.Result, error) {
	<-ctx.Done()
	return search.Result{}, s.err
}

// TestFind_DatabaseFails_KeepsReason checks the reason of a search that fails after its time is up. An error of the
// database keeps its own reason. Only a timeout of the database is reported as a timeout of the search.
func TestFind_DatabaseFails_KeepsReason(t *testing.T) {
	t.Parallel()

	for wantReason, databaseErr := range map[string]error{
		"database: disk full": fault.ErrUnavailable.WithReason("database: disk full"),
		"search: timeout":     fault.ErrUnavailable.WithReason("database: timeout").WithCause(context.DeadlineExceeded),
	} {
		s, _, _ := newSearchService(Deps{SearchTimeout: time.Millisecond})
		s.Engine = newCaughtUpEngine(failingSearch{err: databaseErr})
		_, err := s.Find(t.Context(), auth.Actor{}, nurse)
		require.Equal(t, wantReason, fault.Of(err).Reason)
	}
}

// TestFind_NetworkOverBudget_RateLimited checks the budget of a network, the IPv4 addresses with the same first 24 bits.
// Its searches together may take SearchCPU, here 5 seconds, within 10 seconds. The time of searches drains at the rate
// of this budget, so that one second of it needs two seconds. RetryAfter is the time that the surplus needs to drain,
// and one second.
func TestFind_NetworkOverBudget_RateLimited(t *testing.T) {
	t.Parallel()

	s, index, clock := newSearchService(Deps{SearchTimeout: time.Minute, SearchCPU: 5 * time.Second})
	s.searches.slots = make(chan struct{}, 4)
	findFrom := func(address string) error {
		_, err := s.Find(audit.WithAddress(t.Context(), address), auth.Actor{}, nurse)
		return err
	}

	// A search runs for 6 seconds, one more than the budget.
	done := make(chan error)
	go func() { done <- findFrom("192.0.2.1") }()

	<-index.entered

	clock.now = clock.now.Add(6 * time.Second)

	// Another address of the network is refused while the search runs: the surplus of 1 second drains in 2 seconds.
	err := findFrom("192.0.2.200")
	require.Equal(t, fault.TooMany, fault.KindOf(err), "the time of a search that still runs counts")
	require.Equal(t, (2+1)*time.Second, fault.Of(err).RetryAfter)
	index.release <- struct{}{}

	require.NoError(t, <-done)

	// After the search, another network may search, and the first one still not.
	go func() { index.release <- struct{}{} }()

	require.NoError(t, findFrom("192.0.3.1"), "another network")
	require.Equal(t, fault.TooMany, fault.KindOf(findFrom("192.0.2.1")))

	// After the time of RetryAfter, the first network may search again.
	clock.now = clock.now.Add(3 * time.Second)

	go func() { index.release <- struct{}{} }()

	require.NoError(t, findFrom("192.0.2.1"), "the surplus has drained")
}

// TestFind_TooManyExclusionsOrPhrases_Refused checks the limits of expensive queries: 5 excluded words and 3 phrases.
// A phrase that is an alternative or excluded counts as a phrase too. A hyphen inside a word excludes nothing.
func TestFind_TooManyExclusionsOrPhrases_Refused(t *testing.T) {
	t.Parallel()

	service, index, _ := newSearchService(Deps{SearchTimeout: time.Minute})
	service.searches.slots = make(chan struct{}, 1)

	close(index.release) // so that searches do not block

	for text, isAccepted := range map[string]bool{
		"nurse -a1 -b1 -c1 -d1 -e1":        true,
		"nurse -a1 -b1 -c1 -d1 -e1 -f1":    false,
		`"a b" "c d" "e f"`:                true,
		`"a b" "c d" "e f" "g h"`:          false,
		`"a b" OR "c d" OR "e f" OR "g h"`: false,
		`"a b" -"c d" "e f" "g h"`:         false,
		"full-time nurse-led night-shift well-paid on-call band-5 in-house": true,
	} {
		_, err := service.Find(t.Context(), auth.Actor{}, FindInput{Text: text, Page: page.Request{Number: 1, Size: 20}})
		if isAccepted {
			require.NoError(t, err, text)
			continue
		}

		require.Equal(t, ErrQuery.Code, fault.Of(err).Code, text)
		require.True(t, strings.HasPrefix(fault.Of(err).Fields[0].Message, "must have at most"), text)
	}
}
