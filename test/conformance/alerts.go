package conformance

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/core/clock"
	"github.com/locumhq/locum/modules/jobseeker"
	"github.com/locumhq/locum/test/kit"
	"github.com/locumhq/locum/test/kit/stores"
)

func newSearch(user string, mailed bool, at time.Time) jobseeker.Search {
	return jobseeker.Search{ID: stores.NewID(), UserID: user, Name: "Zoë's 50% \"nights\"", EmailAlerts: mailed, CreatedAt: at, Resolved: "nurse -icu ",
		Terms: jobseeker.Terms{Query: "nurse -icu", Location: "Leeds", ContractType: "permanent"}}
}

func newMatch(s jobseeker.Search, listing string, at time.Time) jobseeker.Match {
	return jobseeker.Match{SearchID: s.ID, ListingID: listing, UserID: s.UserID, At: at, Email: s.EmailAlerts}
}

func savedSearches(t *testing.T, open func(t testing.TB, clk clock.Clock) adapters.Storage) {
	ctx, id := context.Background(), stores.NewID
	start := func(t *testing.T) (adapters.Storage, time.Time) {
		t.Parallel()
		clk := kit.NewClock()
		return open(t, clk), clk.Now().Add(1234567 * time.Microsecond)
	}
	lock := func(t *testing.T, s adapters.Storage, user string, fn func(ctx context.Context) error) {
		t.Helper()
		require.NoError(t, s.Identity.Tx.Do(ctx, func(ctx context.Context) error {
			if err := s.Jobseeker.Profiles.Lock(ctx, user); err != nil {
				return err
			}
			return fn(ctx)
		}))
	}

	t.Run("gives back what was stored, the newest first, to its user", func(t *testing.T) {
		s, now := start(t)
		user := id()
		older, newer, foreign := newSearch(user, true, now), newSearch(user, false, now.Add(time.Second)), newSearch(id(), true, now)
		for _, search := range []jobseeker.Search{older, newer, foreign} {
			require.NoError(t, s.Jobseeker.Searches.Add(ctx, search))
		}
		got, err := s.Jobseeker.Searches.Of(ctx, user, 50)
		require.NoError(t, err)
		require.Equal(t, []jobseeker.Search{newer, older}, got)
		got, err = s.Jobseeker.Searches.Of(ctx, user, 1)
		require.NoError(t, err)
		require.Equal(t, []jobseeker.Search{newer}, got)
		require.ErrorIs(t, s.Jobseeker.Searches.Delete(ctx, user, foreign.ID), jobseeker.ErrSearchNotFound)
		require.NoError(t, s.Jobseeker.Searches.Delete(ctx, user, newer.ID))
		require.ErrorIs(t, s.Jobseeker.Searches.Delete(ctx, user, newer.ID), jobseeker.ErrSearchNotFound)
	})

	t.Run("walks through everybody's in the order of ids", func(t *testing.T) {
		s, now := start(t)
		var want, got []string
		for range 7 {
			search := newSearch(id(), false, now)
			require.NoError(t, s.Jobseeker.Searches.Add(ctx, search))
			want = append(want, search.ID)
		}
		slices.Sort(want)
		for last := ""; ; last = got[len(got)-1] {
			found, err := s.Jobseeker.Searches.After(ctx, last, 3)
			require.NoError(t, err)
			for _, f := range found {
				got = append(got, f.ID)
			}
			if len(found) < 3 {
				break
			}
		}
		require.Equal(t, want, got)
	})

	t.Run("returns those that have not been resolved", func(t *testing.T) {
		s, now := start(t)
		resolved, first, second, textless := newSearch(id(), false, now), newSearch(id(), false, now), newSearch(id(), false, now), newSearch(id(), false, now)
		first.Resolved, second.Resolved, textless.Resolved, textless.Query = "", "", "", ""
		for _, search := range []jobseeker.Search{resolved, first, second, textless} {
			require.NoError(t, s.Jobseeker.Searches.Add(ctx, search))
		}
		got, err := s.Jobseeker.Searches.Unresolved(ctx, 10)
		require.NoError(t, err)
		require.ElementsMatch(t, []jobseeker.Search{first, second}, got)
		got, err = s.Jobseeker.Searches.Unresolved(ctx, 1)
		require.NoError(t, err)
		require.Len(t, got, 1)
		require.NoError(t, s.Jobseeker.Searches.SetResolved(ctx, nil))
		require.NoError(t, s.Jobseeker.Searches.SetResolved(ctx, map[string]string{first.ID: "nurse ", resolved.ID: "'midwife' ", id(): "porter"}))
		got, err = s.Jobseeker.Searches.Unresolved(ctx, 10)
		require.NoError(t, err)
		require.Equal(t, []jobseeker.Search{second}, got)
		first.Resolved, resolved.Resolved = "nurse ", "'midwife' "
		for _, search := range []jobseeker.Search{first, resolved} {
			got, err = s.Jobseeker.Searches.Of(ctx, search.UserID, 10)
			require.NoError(t, err)
			require.Equal(t, []jobseeker.Search{search}, got)
		}
	})

	t.Run("lets one after the other look at a user's", func(t *testing.T) {
		s, now := start(t)
		user := id()
		together(t, 8, func(int) error {
			return s.Identity.Tx.Do(ctx, func(ctx context.Context) error {
				if err := s.Jobseeker.Profiles.Lock(ctx, user); err != nil {
					return err
				}
				have, err := s.Jobseeker.Searches.Of(ctx, user, 50)
				if err != nil || len(have) >= 3 {
					return err
				}
				return s.Jobseeker.Searches.Add(ctx, newSearch(user, false, now))
			})
		})
		got, err := s.Jobseeker.Searches.Of(ctx, user, 50)
		require.NoError(t, err)
		require.Len(t, got, 3)
	})

	t.Run("ends the alerts of one user", func(t *testing.T) {
		s, now := start(t)
		user := id()
		mine, other := newSearch(user, true, now), newSearch(id(), true, now)
		for _, search := range []jobseeker.Search{mine, other} {
			require.NoError(t, s.Jobseeker.Searches.Add(ctx, search))
			_, err := s.Jobseeker.Alerts.AddMatches(ctx, []jobseeker.Match{newMatch(search, id(), now)})
			require.NoError(t, err)
		}
		require.NoError(t, s.Jobseeker.Alerts.Expect(ctx, []string{user, other.UserID}, now))
		lock(t, s, user, func(ctx context.Context) error { return s.Jobseeker.Searches.EndAlerts(ctx, user) })
		got, err := s.Jobseeker.Searches.Of(ctx, user, 50)
		require.NoError(t, err)
		require.False(t, got[0].EmailAlerts)
		for who, want := range map[string]int{user: 0, other.UserID: 1} {
			n, err := s.Jobseeker.Alerts.Bundle(ctx, who, id(), now)
			require.NoError(t, err)
			require.Equal(t, want, n)
		}
	})
}

func alerts(t *testing.T, open func(t testing.TB, clk clock.Clock) adapters.Storage) {
	ctx, id := context.Background(), stores.NewID
	start := func(t *testing.T) (adapters.Storage, jobseeker.Alerts, time.Time) {
		t.Parallel()
		clk := kit.NewClock()
		s := open(t, clk)
		return s, s.Jobseeker.Alerts, clk.Now().Add(1234567 * time.Microsecond)
	}

	t.Run("hands a collected listing to one at a time, until it is done", func(t *testing.T) {
		_, as, now := start(t)
		var want []string
		for range 5 {
			want = append(want, id())
			require.NoError(t, as.Collect(ctx, want[len(want)-1]))
			require.NoError(t, as.Collect(ctx, want[len(want)-1]))
		}
		first, err := as.Claim(ctx, 3, now, now.Add(time.Minute))
		require.NoError(t, err)
		require.Len(t, first, 3)
		second, err := as.Claim(ctx, 3, now, now.Add(time.Minute))
		require.NoError(t, err)
		require.ElementsMatch(t, want, slices.Concat(first, second))
		require.NoError(t, as.Collect(ctx, want[0]), "it is told again")
		none, err := as.Claim(ctx, 3, now.Add(time.Minute-1), now.Add(time.Hour))
		require.NoError(t, err)
		require.Empty(t, none)
		require.NoError(t, as.Keep(ctx, first, now.Add(2*time.Minute)))
		require.NoError(t, as.Done(ctx, nil))
		require.NoError(t, as.Done(ctx, second[:1]))
		again, err := as.Claim(ctx, 9, now.Add(time.Minute), now.Add(time.Hour))
		require.NoError(t, err)
		require.Equal(t, second[1:], again)
		again, err = as.Claim(ctx, 9, now.Add(2*time.Minute), now.Add(time.Hour))
		require.NoError(t, err)
		require.ElementsMatch(t, first, again)
	})

	t.Run("hands different listings to those who ask at the same time", func(t *testing.T) {
		_, as, now := start(t)
		for range 40 {
			require.NoError(t, as.Collect(ctx, id()))
		}
		var mu sync.Mutex
		var got []string
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				ids, err := as.Claim(ctx, 5, now, now.Add(time.Minute))
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				got = append(got, ids...)
				mu.Unlock()
			})
		}
		all.Wait()
		slices.Sort(got)
		require.Len(t, slices.Compact(got), len(got))
	})

	t.Run("returns matches that are new, once", func(t *testing.T) {
		s, as, now := start(t)
		search := newSearch(id(), true, now)
		require.NoError(t, s.Jobseeker.Searches.Add(ctx, search))
		a, b, c := newMatch(search, id(), now), newMatch(search, id(), now), newMatch(search, id(), now)
		fresh, err := as.AddMatches(ctx, []jobseeker.Match{b, a})
		require.NoError(t, err)
		require.ElementsMatch(t, []jobseeker.Match{a, b}, fresh)
		fresh, err = as.AddMatches(ctx, []jobseeker.Match{c, a})
		require.NoError(t, err)
		require.Equal(t, []jobseeker.Match{c}, fresh)
		fresh, err = as.AddMatches(ctx, nil)
		require.NoError(t, err)
		require.Empty(t, fresh)
		var many []jobseeker.Match
		for range 2_500 {
			many = append(many, newMatch(search, id(), now))
		}
		fresh, err = as.AddMatches(ctx, many)
		require.NoError(t, err)
		require.Len(t, fresh, 2_500)
	})

	t.Run("returns a match to one of those who add it at the same time", func(t *testing.T) {
		s, as, now := start(t)
		search := newSearch(id(), false, now)
		var ms []jobseeker.Match
		for range 20 {
			ms = append(ms, newMatch(search, id(), now))
		}
		var mu sync.Mutex
		total := 0
		var all sync.WaitGroup
		for i := range 8 {
			mine := slices.Clone(ms)
			if i%2 == 0 {
				slices.Reverse(mine)
			}
			all.Go(func() {
				n := 0
				err := s.Identity.Tx.Do(ctx, func(ctx context.Context) error {
					fresh, err := as.AddMatches(ctx, mine)
					n = len(fresh)
					return err
				})
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				total += n
				mu.Unlock()
			})
		}
		all.Wait()
		require.Equal(t, len(ms), total)
	})

	t.Run("puts what waits into one digest, and the next off", func(t *testing.T) {
		s, as, now := start(t)
		user := id()
		first, second, silent := newSearch(user, true, now), newSearch(user, true, now), newSearch(user, false, now)
		second.Name = "Other"
		for _, search := range []jobseeker.Search{first, second, silent} {
			require.NoError(t, s.Jobseeker.Searches.Add(ctx, search))
		}
		old, recent := id(), id()
		_, err := as.AddMatches(ctx, []jobseeker.Match{newMatch(first, old, now), newMatch(first, recent, now), newMatch(second, recent, now), newMatch(silent, recent, now)})
		require.NoError(t, err)
		due := func(at time.Time) []string {
			ids, err := as.Due(ctx, at, 10)
			require.NoError(t, err)
			return ids
		}
		require.Empty(t, due(now))
		require.NoError(t, as.Expect(ctx, []string{user}, now))
		require.NoError(t, as.Expect(ctx, []string{user, id()}, now.Add(time.Hour)))
		require.NoError(t, as.Expect(ctx, nil, now))
		require.Empty(t, due(now.Add(-time.Microsecond)))
		require.Equal(t, []string{user}, due(now))

		digest, next := id(), now.Add(24*time.Hour)
		n, err := as.Bundle(ctx, user, digest, next)
		require.NoError(t, err)
		require.Equal(t, 3, n)
		require.Empty(t, due(now))
		matches, err := as.Digest(ctx, user, digest, 10)
		require.NoError(t, err)
		require.Len(t, matches, 3)
		require.Equal(t, []string{recent, recent, old}, []string{matches[0].ListingID, matches[1].ListingID, matches[2].ListingID})
		require.ElementsMatch(t, []string{first.Name, "Other"}, []string{matches[0].SearchName, matches[1].SearchName})
		few, err := as.Digest(ctx, user, digest, 1)
		require.NoError(t, err)
		require.Len(t, few, 1)
		foreign, err := as.Digest(ctx, id(), digest, 10)
		require.NoError(t, err)
		require.Empty(t, foreign)

		n, err = as.Bundle(ctx, user, id(), next.Add(time.Hour))
		require.NoError(t, err)
		require.Zero(t, n)
		_, err = as.AddMatches(ctx, []jobseeker.Match{newMatch(first, id(), now)})
		require.NoError(t, err)
		require.NoError(t, as.Expect(ctx, []string{user}, now.Add(2*time.Hour)))
		require.NotContains(t, due(next.Add(-time.Microsecond)), user, "one without anything in it has put nothing off, one with has")
		require.Contains(t, due(next), user)

		require.NoError(t, s.Jobseeker.Searches.Delete(ctx, user, second.ID))
		matches, err = as.Digest(ctx, user, digest, 10)
		require.NoError(t, err)
		require.Len(t, matches, 2, "what was deleted is wanted no more")
		require.NoError(t, s.Jobseeker.Searches.EndAlerts(ctx, user))
		matches, err = as.Digest(ctx, user, digest, 10)
		require.NoError(t, err)
		require.Empty(t, matches)
	})

	t.Run("serves a user to one of those who make digests at the same time", func(t *testing.T) {
		s, as, now := start(t)
		for i := range 12 {
			search := newSearch(id(), true, now)
			search.Name = fmt.Sprint(i)
			require.NoError(t, s.Jobseeker.Searches.Add(ctx, search))
			_, err := as.AddMatches(ctx, []jobseeker.Match{newMatch(search, id(), now)})
			require.NoError(t, err)
			require.NoError(t, as.Expect(ctx, []string{search.UserID}, now))
		}
		var mu sync.Mutex
		served := 0
		var all sync.WaitGroup
		for range 6 {
			all.Go(func() {
				for range 4 {
					n := 0
					err := s.Identity.Tx.Do(ctx, func(ctx context.Context) error {
						n = 0
						users, err := as.Due(ctx, now, 3)
						if err != nil {
							return err
						}
						for _, u := range users {
							in, err := as.Bundle(ctx, u, id(), now.Add(time.Hour))
							if err != nil {
								return err
							}
							n += in
						}
						return nil
					})
					if err != nil {
						t.Error(err)
					}
					mu.Lock()
					served += n
					mu.Unlock()
				}
			})
		}
		all.Wait()
		require.Equal(t, 12, served)
	})

	t.Run("forgets the oldest matches, a few at a time", func(t *testing.T) {
		_, as, now := start(t)
		search := newSearch(id(), false, now)
		for i := range 5 {
			_, err := as.AddMatches(ctx, []jobseeker.Match{newMatch(search, id(), now.Add(time.Duration(i)*time.Hour))})
			require.NoError(t, err)
		}
		for _, want := range []int{2, 1, 0} {
			n, err := as.Forget(ctx, now.Add(3*time.Hour), 2)
			require.NoError(t, err)
			require.Equal(t, want, n)
		}
	})
}
