package conformance

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/core/clock"
	"github.com/locumhq/locum/modules/jobseeker"
	"github.com/locumhq/locum/test/kit"
	"github.com/locumhq/locum/test/kit/stores"
)

func onboardings(t *testing.T, open func(t testing.TB, clk clock.Clock) adapters.Storage) {
	ctx, id := context.Background(), stores.NewID
	start := func(t *testing.T) (adapters.Storage, time.Time) {
		t.Parallel()
		clk := kit.NewClock()
		return open(t, clk), clk.Now().Add(1234567 * time.Microsecond)
	}
	change := func(t *testing.T, s adapters.Storage, v jobseeker.Visitor, fn func(o *jobseeker.Onboarding)) {
		t.Helper()
		require.NoError(t, s.Identity.Tx.Do(ctx, func(ctx context.Context) error {
			o, err := s.Jobseeker.Onboardings.Lock(ctx, v)
			if err != nil {
				return err
			}
			fn(&o)
			return s.Jobseeker.Onboardings.Save(ctx, o)
		}))
	}
	visitors := func() []jobseeker.Visitor { return []jobseeker.Visitor{{UserID: id()}, {GuestKey: id()}} }

	t.Run("gives back what was saved, of that visitor alone", func(t *testing.T) {
		s, now := start(t)
		for _, v := range visitors() {
			none, err := s.Jobseeker.Onboardings.Find(ctx, v)
			require.NoError(t, err)
			require.Equal(t, jobseeker.Onboarding{Visitor: v}, none)
			want := jobseeker.Onboarding{Visitor: v, Email: "zoë@example.org", Source: "apply", Preferences: `{"a":"é%"}`, TouchedAt: now, Version: 2,
				Steps: []jobseeker.Progress{{Step: "profile", ViewedAt: now, CompletedAt: now.Add(time.Hour)}, {Step: "x", SkippedAt: now}}}
			change(t, s, v, func(o *jobseeker.Onboarding) { *o = want; o.Version = 1 })
			got, err := s.Jobseeker.Onboardings.Find(ctx, v)
			require.NoError(t, err)
			require.Equal(t, want, got)
			swapped := jobseeker.Visitor{UserID: v.GuestKey, GuestKey: v.UserID}
			none, err = s.Jobseeker.Onboardings.Find(ctx, swapped)
			require.NoError(t, err)
			require.Zero(t, none.Version, "a guest is no user of the same name")
			require.NoError(t, s.Jobseeker.Onboardings.Delete(ctx, swapped))
			require.NoError(t, s.Jobseeker.Onboardings.Delete(ctx, v))
			none, err = s.Jobseeker.Onboardings.Find(ctx, v)
			require.NoError(t, err)
			require.Zero(t, none.Version)
		}
	})

	t.Run("lets one change after the other", func(t *testing.T) {
		s, _ := start(t)
		for _, v := range visitors() {
			together(t, 20, func(i int) error {
				return s.Identity.Tx.Do(ctx, func(ctx context.Context) error {
					o, err := s.Jobseeker.Onboardings.Lock(ctx, v)
					if err != nil {
						return err
					}
					o.Steps = append(o.Steps, jobseeker.Progress{Step: fmt.Sprint(i)})
					return s.Jobseeker.Onboardings.Save(ctx, o)
				})
			})
			got, err := s.Jobseeker.Onboardings.Find(ctx, v)
			require.NoError(t, err)
			require.Len(t, got.Steps, 20)
		}
	})

	t.Run("forgets guests who were not seen for long, a few at a time, and no user", func(t *testing.T) {
		s, now := start(t)
		var guests []jobseeker.Visitor
		for i := range 5 {
			v := visitors()
			guests = append(guests, v[1])
			for _, one := range v {
				change(t, s, one, func(o *jobseeker.Onboarding) { o.TouchedAt = now.Add(time.Duration(i) * time.Hour) })
			}
		}
		for _, want := range []int{2, 1, 0} {
			n, err := s.Jobseeker.Onboardings.Forget(ctx, now.Add(3*time.Hour), 2)
			require.NoError(t, err)
			require.Equal(t, want, n)
		}
		for i, v := range guests {
			got, err := s.Jobseeker.Onboardings.Find(ctx, v)
			require.NoError(t, err)
			require.Equal(t, i >= 3, got.Version > 0)
		}
	})
}
