package conformance

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/modules/jobseeker"
)

// Onboardings checks the port jobseeker.Onboardings.
func Onboardings(t *testing.T, open JobseekerOpener) {
	ctx := context.Background()

	// change reads the onboarding of the visitor, changes it with fn and stores it.
	change := func(storage adapters.JobseekerStorage, visitor jobseeker.Visitor,
		fn func(onboarding *jobseeker.Onboarding)) error {
		return storage.Tx.Do(ctx, func(ctx context.Context) error {
			onboarding, err := storage.Onboardings.Get(ctx, visitor)
			if err != nil {
				return err
			}

			fn(&onboarding)

			return storage.Onboardings.Upsert(ctx, onboarding)
		})
	}

	get := func(t *testing.T, storage adapters.JobseekerStorage, visitor jobseeker.Visitor) jobseeker.Onboarding {
		t.Helper()

		onboarding, err := storage.Onboardings.Get(ctx, visitor)
		require.NoError(t, err)

		return onboarding
	}

	// visitors returns a new user and a new guest, who are the two kinds of visitors.
	visitors := func() []jobseeker.Visitor { return []jobseeker.Visitor{{UserID: newID()}, {GuestKey: newID()}} }

	// An onboarding without content is the same as none, so that storing it deletes the row.
	t.Run("create, update, delete", func(t *testing.T) {
		storage, now := openJobseeker(t, open)
		for _, visitor := range visitors() {
			require.Equal(t, jobseeker.Onboarding{Visitor: visitor}, get(t, storage, visitor))
			require.NoError(t, change(storage, visitor,
				func(onboarding *jobseeker.Onboarding) { onboarding.Source, onboarding.TouchedAt = "save", now }))
			require.Equal(t, jobseeker.Onboarding{Visitor: visitor, Source: "save", TouchedAt: now, Version: 1},
				withoutSteps(get(t, storage, visitor)))

			want := jobseeker.Onboarding{
				Visitor:     visitor,
				Email:       "zoë@example.org",
				Source:      "apply",
				Preferences: `{"a":"é%"}`,
				TouchedAt:   now.Add(time.Hour),
				Version:     2,
				Steps: []jobseeker.Progress{
					{Step: "profile", ViewedAt: now, CompletedAt: now.Add(time.Hour)},
					{Step: "x", SkippedAt: now},
				},
			}
			require.NoError(t, change(storage, visitor,
				func(onboarding *jobseeker.Onboarding) { *onboarding = want; onboarding.Version = 1 }))
			require.Equal(t, want, get(t, storage, visitor))

			swapped := jobseeker.Visitor{UserID: visitor.GuestKey, GuestKey: visitor.UserID}
			require.Zero(t, get(t, storage, swapped).Version, "a guest with the id of a user")
			require.NoError(t, change(storage, swapped, func(*jobseeker.Onboarding) {}))
			require.NoError(t, change(storage, visitor,
				func(onboarding *jobseeker.Onboarding) {
					*onboarding = jobseeker.Onboarding{Visitor: visitor, Version: onboarding.Version}
				}))
			require.Equal(t, jobseeker.Onboarding{Visitor: visitor}, get(t, storage, visitor))
		}
	})

	// An update with another version than the stored one is an error: version 0 for a stored
	// row, a version that is not stored, and an empty row, which would be a deletion.
	t.Run("stale version", func(t *testing.T) {
		storage, now := openJobseeker(t, open)
		for _, visitor := range visitors() {
			for _, stale := range []jobseeker.Onboarding{
				{Visitor: visitor, Source: "apply", TouchedAt: now},
				{Visitor: visitor, Source: "apply", TouchedAt: now, Version: 7},
				{Visitor: visitor, Version: 7},
			} {
				require.NoError(t, change(storage, visitor,
					func(onboarding *jobseeker.Onboarding) { onboarding.Source, onboarding.TouchedAt = "save", now }))

				errFailed := errors.New("boom")
				require.ErrorIs(t, storage.Tx.Do(ctx, func(ctx context.Context) error {
					require.Error(t, storage.Onboardings.Upsert(ctx, stale))
					return errFailed
				}), errFailed)
				require.Equal(t, "save", get(t, storage, visitor).Source)
			}
		}
	})

	// Each of twenty concurrent updates adds its step, although no onboarding is stored at
	// first that Get could lock.
	t.Run("concurrent updates", func(t *testing.T) {
		storage, _ := openJobseeker(t, open)
		for _, visitor := range visitors() {
			runConcurrently(t, 20, func(i int) error {
				return change(storage, visitor,
					func(onboarding *jobseeker.Onboarding) {
						onboarding.Steps = append(onboarding.Steps,
							jobseeker.Progress{Step: fmt.Sprint(i)})
					})
			})

			require.Len(t, get(t, storage, visitor).Steps, 20)
		}
	})

	// Only the onboardings of guests expire: those of users are deleted with their accounts.
	t.Run("retention", func(t *testing.T) {
		storage, now := openJobseeker(t, open)

		var users, guests []jobseeker.Visitor
		for i := range 5 {
			visitor := visitors()

			users, guests = append(users, visitor[0]), append(guests, visitor[1])
			for _, one := range visitor {
				require.NoError(
					t,
					change(storage, one,
						func(onboarding *jobseeker.Onboarding) {
							onboarding.Source, onboarding.TouchedAt = "save", now.Add(time.Duration(i)*time.Hour)
						}),
				)
			}
		}

		checkRetention(t, storage.Retention, jobseeker.GuestOnboardingKind, now.Add(3*time.Hour))

		for i := range guests {
			require.Equal(t, i >= 3 || storage.Retention == nil, get(t, storage, guests[i]).Version > 0)
			require.Positive(t, get(t, storage, users[i]).Version)
		}
	})
}

// withoutSteps clears the steps, which storages may return as nil or as an empty slice.
func withoutSteps(o jobseeker.Onboarding) jobseeker.Onboarding {
	o.Steps = nil
	return o
}
