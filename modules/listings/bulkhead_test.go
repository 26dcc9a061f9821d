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

// slowSearch blocks until the test releases it or its context ends.
type slowSearch struct {
	search.Index
	entered, release chan struct{}
}

// Find sends a value to entered and then waits.
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

// newCaughtUpEngine returns an engine that has caught up with the index.
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

// newSearchService returns a service whose searches block in the returned index.
func newSearchService(n Deps) (*Service, slowSearch, *movingClock) {
	index := slowSearch{entered: make(chan struct{}, 100), release: make(chan struct{})}
	clock := &movingClock{now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	n.Engine = newCaughtUpEngine(index)
	n.Clock = clock
	n.Gazetteer = noPlaces{}

	return New(n), index, clock
}

// noPlaces is an empty gazetteer.
type noPlaces struct{}

func (noPlaces) Resolve(string) (Place, bool) { return Place{}, false }
func (noPlaces) Correct(string) (Place, bool) { return Place{}, false }

// nurse is a search that is valid.
var nurse = FindInput{Text: "nurse", Page: page.Request{Number: 1, Size: 20}}

// TestFind_AllSlotsTaken_WaitsAndThenUnavailable checks with a single slot that a second search waits for
// it, that searches that wait too long fail without reaching the index, and that a search that has the
// slot is cancelled at the same limit. The reasons distinguish the two for operators.
func TestFind_AllSlotsTaken_WaitsAndThenUnavailable(t *testing.T) {
	t.Parallel()

	service, index, _ := newSearchService(Deps{SearchTimeout: time.Minute})
	service.searches.slots = make(chan struct{}, 1)
	errs := make(chan error, 2)
	find := func(ctx context.Context) {
		_, err := service.Find(ctx, auth.Actor{}, nurse)
		errs <- err
	}

	go find(t.Context())

	<-index.entered

	go find(t.Context())
	index.release <- struct{}{}

	require.NoError(t, <-errs)
	<-index.entered // the second search waited for the slot of the first

	service.searches.timeout = 50 * time.Millisecond
	for _, find := range []func() error{
		func() error { _, err := service.Find(t.Context(), auth.Actor{}, nurse); return err },
		func() error { _, err := service.ClosestTo(t.Context(), nurse, ""); return err },
	} {
		err := find()
		require.Equal(t, fault.Unavailable, fault.KindOf(err))
		require.Equal(t, time.Second, fault.Of(err).RetryAfter)
		require.Equal(t, "search: no free slot", fault.Of(err).Reason)
		require.Empty(t, index.entered, "the search did not reach the database")
	}

	index.release <- struct{}{}

	require.NoError(t, <-errs)

	_, err := service.Find(t.Context(), auth.Actor{}, nurse)
	require.Equal(t, fault.Unavailable, fault.KindOf(err), "a search that takes too long is cancelled")
	require.Equal(t, "search: timeout", fault.Of(err).Reason)
	require.Len(t, index.entered, 1)
}

// failingSearch fails when its context ends.
type failingSearch struct {
	slowSearch
	err error
}

func (s failingSearch) Find(ctx context.Context, _ search.Query) (search.Result, error) {
	<-ctx.Done()
	return search.Result{}, s.err
}

// TestFind_DatabaseFails_KeepsReason checks that an error of the database is not reported as a timeout
// because the time is up when it arrives. A timeout of the database within a search is one of the search.
func TestFind_DatabaseFails_KeepsReason(t *testing.T) {
	t.Parallel()

	for reason, err := range map[string]error{
		"database: disk full": fault.ErrUnavailable.WithReason("database: disk full"),
		"search: timeout":     fault.ErrUnavailable.WithReason("database: timeout").WithCause(context.DeadlineExceeded),
	} {
		s, _, _ := newSearchService(Deps{SearchTimeout: time.Millisecond})
		s.Engine = newCaughtUpEngine(failingSearch{err: err})
		_, err := s.Find(t.Context(), auth.Actor{}, nurse)
		require.Equal(t, reason, fault.Of(err).Reason)
	}
}

// TestFind_NetworkOverBudget_RateLimited checks that the searches from one network (a /24) together may take
// 5 seconds in 10. After 6 seconds, 1 second too much drains in 2, and 1 more is added to RetryAfter.
func TestFind_NetworkOverBudget_RateLimited(t *testing.T) {
	t.Parallel()

	s, index, clock := newSearchService(Deps{SearchTimeout: time.Minute, SearchCPU: 5 * time.Second})
	s.searches.slots = make(chan struct{}, 4)
	findFrom := func(address string) error {
		_, err := s.Find(audit.WithAddress(t.Context(), address), auth.Actor{}, nurse)
		return err
	}

	done := make(chan error)
	go func() { done <- findFrom("192.0.2.1") }()

	<-index.entered

	clock.now = clock.now.Add(6 * time.Second)
	err := findFrom("192.0.2.200")
	require.Equal(t, fault.TooMany, fault.KindOf(err), "the time of a search that still runs counts")
	require.Equal(t, 3*time.Second, fault.Of(err).RetryAfter)
	index.release <- struct{}{}

	require.NoError(t, <-done)

	go func() { index.release <- struct{}{} }()

	require.NoError(t, findFrom("192.0.3.1"), "another network")
	require.Equal(t, fault.TooMany, fault.KindOf(findFrom("192.0.2.1")))

	clock.now = clock.now.Add(3 * time.Second)

	go func() { index.release <- struct{}{} }()

	require.NoError(t, findFrom("192.0.2.1"), "the cost drains")
}

// TestFind_TooManyExclusionsOrPhrases_Refused checks the limits of expensive queries: 5 excluded words and
// 3 phrases, of which alternatives and excluded ones count too. A hyphen inside a word excludes nothing.
func TestFind_TooManyExclusionsOrPhrases_Refused(t *testing.T) {
	t.Parallel()

	service, index, _ := newSearchService(Deps{SearchTimeout: time.Minute})
	service.searches.slots = make(chan struct{}, 1)

	close(index.release)

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
