package conformance

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/core/clock"
	"github.com/locumhq/locum/modules/jobseeker"
	"github.com/locumhq/locum/test/kit"
	"github.com/locumhq/locum/test/kit/stores"
)

func profiles(t *testing.T, open func(t testing.TB, clk clock.Clock) adapters.Storage) {
	ctx, id := context.Background(), stores.NewID
	start := func(t *testing.T) adapters.Storage {
		t.Parallel()
		return open(t, kit.NewClock())
	}
	full := func(user string) jobseeker.Profile {
		low, high := 31_250.5, 48_000.0
		return jobseeker.Profile{
			UserID: user, FirstName: "Zoë", LastName: "O'Brien", Bio: "Line one\nline \"two\" 100%", Phone: "+44 20 7946 0000", Location: "Leeds", Specialty: "Theatre",
			CurrentRole: "Band 6", Experience: "7", PreferredLocation: "York", LocationRadius: 25, EmploymentTypes: []string{"bank", "permanent"},
			SalaryMin: &low, SalaryMax: &high, EmailNotifications: true, ShowProfile: true,
		}
	}

	t.Run("gives everybody a number of their own, also at once", func(t *testing.T) {
		s := start(t)
		users := []string{id(), id(), id()}
		var all sync.WaitGroup
		var got [21]int64
		var errs [21]error
		for i := range got {
			all.Go(func() { got[i], errs[i] = s.Jobseeker.Profiles.Number(ctx, users[i%3]) })
		}
		all.Wait()
		seen := map[int64]string{}
		for i, n := range got {
			require.NoError(t, errs[i])
			require.Positive(t, n)
			if user, known := seen[n]; known {
				require.Equal(t, user, users[i%3])
			}
			seen[n] = users[i%3]
		}
		require.Len(t, seen, 3)
	})

	t.Run("gives everybody a profile and keeps what is saved", func(t *testing.T) {
		s := start(t)
		user := id()
		got, err := s.Jobseeker.Profiles.Find(ctx, user)
		require.NoError(t, err)
		require.Equal(t, jobseeker.NewProfile(user), got)
		want := full(user)
		require.NoError(t, s.Identity.Tx.Do(ctx, func(ctx context.Context) error {
			require.NoError(t, s.Jobseeker.Profiles.Lock(ctx, user))
			got, err := s.Jobseeker.Profiles.Find(ctx, user)
			require.NoError(t, err)
			require.Equal(t, jobseeker.NewProfile(user), got, "a lock says nothing for the user")
			return s.Jobseeker.Profiles.Save(ctx, want)
		}))
		got, err = s.Jobseeker.Profiles.Find(ctx, user)
		require.NoError(t, err)
		require.Equal(t, want, got)
		other, err := s.Jobseeker.Profiles.Find(ctx, id())
		require.NoError(t, err)
		require.Empty(t, other.Bio, "another's is their own")
	})

	t.Run("forgets what is taken back", func(t *testing.T) {
		s := start(t)
		want := full(id())
		for _, p := range []jobseeker.Profile{want, {UserID: want.UserID}} {
			require.NoError(t, s.Identity.Tx.Do(ctx, func(ctx context.Context) error {
				require.NoError(t, s.Jobseeker.Profiles.Lock(ctx, p.UserID))
				return s.Jobseeker.Profiles.Save(ctx, p)
			}))
			got, err := s.Jobseeker.Profiles.Find(ctx, p.UserID)
			require.NoError(t, err)
			require.Equal(t, p, got)
		}
	})

	t.Run("knows who wants no job alerts", func(t *testing.T) {
		s := start(t)
		deaf, eager := full(id()), full(id())
		eager.JobAlerts = true
		for _, p := range []jobseeker.Profile{deaf, eager} {
			require.NoError(t, s.Identity.Tx.Do(ctx, func(ctx context.Context) error {
				require.NoError(t, s.Jobseeker.Profiles.Lock(ctx, p.UserID))
				return s.Jobseeker.Profiles.Save(ctx, p)
			}))
		}
		got, err := s.Jobseeker.Profiles.Deaf(ctx, []string{eager.UserID, deaf.UserID, id()})
		require.NoError(t, err)
		require.Equal(t, []string{deaf.UserID}, got)
	})

	t.Run("undoes with the transaction", func(t *testing.T) {
		s := start(t)
		user, boom := id(), errors.New("boom")
		require.ErrorIs(t, s.Identity.Tx.Do(ctx, func(ctx context.Context) error {
			require.NoError(t, s.Jobseeker.Profiles.Lock(ctx, user))
			require.NoError(t, s.Jobseeker.Profiles.Save(ctx, full(user)))
			return boom
		}), boom)
		got, err := s.Jobseeker.Profiles.Find(ctx, user)
		require.NoError(t, err)
		require.Equal(t, jobseeker.NewProfile(user), got)
	})

	t.Run("a lock makes changes follow each other", func(t *testing.T) {
		s := start(t)
		user := id()
		together(t, 20, func(int) error {
			return s.Identity.Tx.Do(ctx, func(ctx context.Context) error {
				if err := s.Jobseeker.Profiles.Lock(ctx, user); err != nil {
					return err
				}
				p, err := s.Jobseeker.Profiles.Find(ctx, user)
				if err != nil {
					return err
				}
				p.LocationRadius++
				return s.Jobseeker.Profiles.Save(ctx, p)
			})
		})
		got, err := s.Jobseeker.Profiles.Find(ctx, user)
		require.NoError(t, err)
		require.Equal(t, 20, got.LocationRadius)
	})
}
