package conformance

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/modules/jobseeker"
)

// Profiles checks the port jobseeker.Profiles.
func Profiles(t *testing.T, open JobseekerOpener) {
	ctx := context.Background()
	full := func(user string) jobseeker.Profile {
		low, high := 31_250.5, 48_000.0
		return jobseeker.Profile{
			UserID: user, FirstName: "Zoë", LastName: "O'Brien", Bio: "Line one\nline \"two\" 100%", Phone: "+44 20 7946 0000", Location: "Leeds", Specialty: "Theatre",
			CurrentRole: "Band 6", Experience: "7", PreferredLocation: "York", LocationRadius: 25, EmploymentTypes: []string{"bank", "permanent"},
			SalaryMin: &low, SalaryMax: &high, EmailNotifications: true, ShowProfile: true,
		}
	}
	get := func(t *testing.T, s adapters.JobseekerStorage, user string) jobseeker.Profile {
		t.Helper()
		p, err := s.Profiles.Get(ctx, user)
		require.NoError(t, err)
		return p
	}

	t.Run("numbers, concurrently", func(t *testing.T) {
		s, _ := openJobseeker(t, open)
		users := []string{newID(), newID(), newID()}
		together(t, 21, func(i int) error {
			return s.Tx.Do(ctx, func(ctx context.Context) error {
				p, err := s.Profiles.Get(ctx, users[i%3])
				if err != nil {
					return err
				}
				return s.Profiles.Update(ctx, p)
			})
		})
		seen := map[int64]bool{}
		for _, user := range users {
			p := get(t, s, user)
			require.Positive(t, p.Number)
			seen[p.Number] = true
			p.Bio = "changed"
			withProfile(t, s, user, func(ctx context.Context) error { return s.Profiles.Update(ctx, p) })
			require.Equal(t, p, get(t, s, user))
		}
		require.Len(t, seen, 3)
	})

	t.Run("get and update", func(t *testing.T) {
		s, _ := openJobseeker(t, open)
		user := newID()
		require.Equal(t, jobseeker.NewProfile(user), get(t, s, user))
		want := full(user)
		require.NoError(t, s.Tx.Do(ctx, func(ctx context.Context) error {
			got, err := s.Profiles.Get(ctx, user)
			require.NoError(t, err)
			require.Equal(t, jobseeker.NewProfile(user), got)
			return nil
		}))
		require.Equal(t, jobseeker.NewProfile(user), get(t, s, user), "after a lock")
		withProfile(t, s, user, func(ctx context.Context) error { return s.Profiles.Update(ctx, want) })
		got := get(t, s, user)
		want.Number = got.Number
		require.Equal(t, want, got)
		other := newID()
		require.Equal(t, jobseeker.NewProfile(other), get(t, s, other))
	})

	t.Run("update to zero values", func(t *testing.T) {
		s, _ := openJobseeker(t, open)
		want := full(newID())
		for _, p := range []jobseeker.Profile{want, {UserID: want.UserID}} {
			require.NoError(t, s.Tx.Do(ctx, func(ctx context.Context) error {
				stored, err := s.Profiles.Get(ctx, p.UserID)
				if err != nil {
					return err
				}
				p.Number = stored.Number
				return s.Profiles.Update(ctx, p)
			}))
			got := get(t, s, p.UserID)
			p.Number = got.Number
			require.Equal(t, p, got)
		}
	})

	t.Run("rollback", func(t *testing.T) {
		s, _ := openJobseeker(t, open)
		user, boom := newID(), errors.New("boom")
		require.ErrorIs(t, locked(s, user, func(ctx context.Context) error {
			require.NoError(t, s.Profiles.Update(ctx, full(user)))
			return boom
		}), boom)
		require.Equal(t, jobseeker.NewProfile(user), get(t, s, user))
	})

	t.Run("concurrent updates", func(t *testing.T) {
		s, _ := openJobseeker(t, open)
		user := newID()
		together(t, 20, func(int) error {
			return s.Tx.Do(ctx, func(ctx context.Context) error {
				p, err := s.Profiles.Get(ctx, user)
				if err != nil {
					return err
				}
				p.LocationRadius++
				return s.Profiles.Update(ctx, p)
			})
		})
		require.Equal(t, 20, get(t, s, user).LocationRadius)
	})
}
