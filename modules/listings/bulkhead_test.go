package listings

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/core/audit"
	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/page"
)

// slowSearch blocks until the test releases it or its context ends.
type slowSearch struct{ entered, release chan struct{} }

func (s slowSearch) Find(ctx context.Context, _ Query) (page.Result[Hit], error) {
	s.entered <- struct{}{}
	select {
	case <-s.release:
		return page.Result[Hit]{}, nil
	case <-ctx.Done():
		return page.Result[Hit]{}, ctx.Err()
	}
}

type movingClock struct{ now time.Time }

func (c *movingClock) Now() time.Time { return c.now }

func searching(n Needs) (*Service, slowSearch, *movingClock) {
	search := slowSearch{entered: make(chan struct{}, 100), release: make(chan struct{})}
	clock := &movingClock{now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	n.Search, n.Clock, n.Gazetteer = search, clock, nowhere{}
	return New(n), search, clock
}

type nowhere struct{}

func (nowhere) Resolve(string) (Place, bool) { return Place{}, false }
func (nowhere) Correct(string) (Place, bool) { return Place{}, false }

var nurse = FindInput{Text: "nurse", Page: page.Request{Number: 1, Size: 20}}

func TestFind_AllSlotsTaken_WaitsAndThenUnavailable(t *testing.T) {
	t.Parallel()
	s, search, _ := searching(Needs{SearchSlots: 1, SearchTimeout: time.Minute})
	errs := make(chan error, 2)
	find := func(ctx context.Context) {
		_, err := s.Find(ctx, auth.Actor{}, nurse)
		errs <- err
	}
	go find(t.Context())
	<-search.entered
	go find(t.Context())
	search.release <- struct{}{}
	require.NoError(t, <-errs)
	<-search.entered // the second search waited for the slot of the first
	s.searches.timeout = 50 * time.Millisecond
	for _, find := range []func() error{
		func() error { _, err := s.Find(t.Context(), auth.Actor{}, nurse); return err },
		func() error { _, err := s.Suggest(t.Context(), nurse, ""); return err },
	} {
		err := find()
		require.Equal(t, fault.Unavailable, fault.KindOf(err))
		require.Equal(t, time.Second, fault.Of(err).RetryAfter)
		require.Equal(t, "search: no free slot", fault.Of(err).Reason)
		require.Empty(t, search.entered, "it did not get to the database")
	}
	search.release <- struct{}{}
	require.NoError(t, <-errs)
	_, err := s.Find(t.Context(), auth.Actor{}, nurse)
	require.Equal(t, fault.Unavailable, fault.KindOf(err), "a search that takes too long is cancelled")
	require.Equal(t, "search: timeout", fault.Of(err).Reason)
	require.Len(t, search.entered, 1)
}

// failingSearch fails when its context ends.
type failingSearch struct{ err error }

func (s failingSearch) Find(ctx context.Context, _ Query) (page.Result[Hit], error) {
	<-ctx.Done()
	return page.Result[Hit]{}, s.err
}

func TestFind_DatabaseFails_KeepsReason(t *testing.T) {
	t.Parallel()
	for reason, err := range map[string]error{
		"database: disk full": fault.ErrUnavailable.WithReason("database: disk full"),
		"search: timeout":     fault.ErrUnavailable.WithReason("database: timeout").WithCause(context.DeadlineExceeded),
	} {
		s, _, _ := searching(Needs{SearchTimeout: time.Millisecond})
		s.Search = failingSearch{err}
		_, err := s.Find(t.Context(), auth.Actor{}, nurse)
		require.Equal(t, reason, fault.Of(err).Reason)
	}
}

func TestFind_NetworkOverBudget_RateLimited(t *testing.T) {
	t.Parallel()
	s, search, clock := searching(Needs{SearchSlots: 4, SearchTimeout: time.Minute, SearchCPU: 5 * time.Second})
	from := func(address string) error {
		_, err := s.Find(audit.WithAddress(t.Context(), address), auth.Actor{}, nurse)
		return err
	}
	done := make(chan error)
	go func() { done <- from("192.0.2.1") }()
	<-search.entered
	clock.now = clock.now.Add(6 * time.Second)
	err := from("192.0.2.200")
	require.Equal(t, fault.TooMany, fault.KindOf(err), "the time of a search that still runs counts")
	require.Equal(t, 3*time.Second, fault.Of(err).RetryAfter)
	search.release <- struct{}{}
	require.NoError(t, <-done)
	go func() { search.release <- struct{}{} }()
	require.NoError(t, from("192.0.3.1"), "another network")
	require.Equal(t, fault.TooMany, fault.KindOf(from("192.0.2.1")))
	clock.now = clock.now.Add(3 * time.Second)
	go func() { search.release <- struct{}{} }()
	require.NoError(t, from("192.0.2.1"), "the cost drains")
}

func TestFind_TooManyExclusionsOrPhrases_Refused(t *testing.T) {
	t.Parallel()
	s, search, _ := searching(Needs{SearchSlots: 1})
	close(search.release)
	for text, ok := range map[string]bool{
		"nurse -a1 -b1 -c1 -d1 -e1":        true,
		"nurse -a1 -b1 -c1 -d1 -e1 -f1":    false,
		`"a b" "c d" "e f"`:                true,
		`"a b" "c d" "e f" "g h"`:          false,
		`"a b" OR "c d" OR "e f" OR "g h"`: false,
		`"a b" -"c d" "e f" "g h"`:         false,
		"full-time nurse-led night-shift well-paid on-call band-5 in-house": true,
	} {
		_, err := s.Find(t.Context(), auth.Actor{}, FindInput{Text: text, Page: page.Request{Number: 1, Size: 20}})
		if ok {
			require.NoError(t, err, text)
			continue
		}
		require.Equal(t, ErrQuery.Code, fault.Of(err).Code, text)
		require.True(t, strings.HasPrefix(fault.Of(err).Fields[0].Message, "must have at most"), text)
	}
}
