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

// Onboardings checks the port jobseeker.Onboardings. An onboarding is the progress of one visitor, who is a user or a
// guest, through the first steps of the service. Upsert increments its version. It refuses an onboarding whose version
// is not the stored one, because another request has changed it since it was read.
func Onboardings(t *testing.T, open JobseekerOpener) {
	ctx := context.Background()

	// change reads the onboarding of the visitor, changes it with fn and stores it, all in one transaction. The
	// runner repeats the transaction after a version conflict.
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

	newUser := func() jobseeker.Visitor { return jobseeker.Visitor{UserID: newID()} }
	newGuest := func() jobseeker.Visitor { return jobseeker.Visitor{GuestKey: newID()} }

	// saveAt returns a change that makes an onboarding non-empty, as if the visitor had saved a job at the time.
	saveAt := func(at time.Time) func(*jobseeker.Onboarding) {
		return func(onboarding *jobseeker.Onboarding) { onboarding.Source, onboarding.TouchedAt = "save", at }
	}

	// All fields are stored. Storing an onboarding without content deletes the row: Get returns the same empty
	// onboarding for a visitor without a row.
	t.Run("create, update, delete", func(t *testing.T) {
		storage, now := openJobseeker(t, open)
		for _, visitor := range []jobseeker.Visitor{newUser(), newGuest()} {
			empty := jobseeker.Onboarding{Visitor: visitor}
			require.Equal(t, empty, get(t, storage, visitor), "before anything is stored")

			// The first change creates the row.
			require.NoError(t, change(storage, visitor, saveAt(now)))
			require.Equal(t, jobseeker.Onboarding{Visitor: visitor, Source: "save", TouchedAt: now, Version: 1},
				withoutSteps(get(t, storage, visitor)))

			// The second change sets every field, and Upsert increments the version that was read.
			updated := jobseeker.Onboarding{
				Visitor:     visitor,
				Email:       "zoë@example.org",
				Source:      "apply",
				Preferences: `{"a":"é%"}`,
				TouchedAt:   now.Add(time.Hour),
				Steps: []jobseeker.Progress{
					{Step: "profile", ViewedAt: now, CompletedAt: now.Add(time.Hour)},
					{Step: "x", SkippedAt: now},
				},
				Version: 1,
			}
			require.NoError(t, change(storage, visitor, func(onboarding *jobseeker.Onboarding) { *onboarding = updated }))

			updated.Version = 2
			require.Equal(t, updated, get(t, storage, visitor))

			// The id of a user is not a key of a guest, and the other way round. Storing the empty onboarding of the
			// other kind of visitor is permitted.
			otherKind := jobseeker.Visitor{UserID: visitor.GuestKey, GuestKey: visitor.UserID}
			require.Zero(t, get(t, storage, otherKind).Version, "a visitor of the other kind has the same onboarding")
			require.NoError(t, change(storage, otherKind, func(*jobseeker.Onboarding) {}))

			// An onboarding that keeps nothing but its visitor and version is deleted.
			require.NoError(t, change(storage, visitor, func(onboarding *jobseeker.Onboarding) {
				*onboarding = jobseeker.Onboarding{Visitor: visitor, Version: onboarding.Version}
			}))
			require.Equal(t, empty, get(t, storage, visitor), "after the deletion")
		}
	})

	// Upsert fails if the version is not the stored one, and the stored onboarding does not change.
	t.Run("stale version", func(t *testing.T) {
		storage, now := openJobseeker(t, open)
		for _, visitor := range []jobseeker.Visitor{newUser(), newGuest()} {
			const unknownVersion = 7

			for condition, stale := range map[string]jobseeker.Onboarding{
				"version 0 although a row is stored": {Visitor: visitor, Source: "apply", TouchedAt: now},
				"version that is not stored":         {Visitor: visitor, Source: "apply", TouchedAt: now, Version: unknownVersion},
				"deletion of an unknown version":     {Visitor: visitor, Version: unknownVersion},
			} {
				require.NoError(t, change(storage, visitor, saveAt(now)))

				// The transaction is rolled back with an error of the test. It does not return the error of Upsert,
				// after which the runner would repeat the transaction.
				errRollback := errors.New("roll back")
				require.ErrorIs(t, storage.Tx.Do(ctx, func(ctx context.Context) error {
					require.Error(t, storage.Onboardings.Upsert(ctx, stale), condition)
					return errRollback
				}), errRollback)
				require.Equal(t, "save", get(t, storage, visitor).Source, condition)
			}
		}
	})

	// Each of twenty concurrent updates adds its step. At first there is no row that Get could lock, so that the
	// storage has to notice that several updates create it.
	t.Run("concurrent updates", func(t *testing.T) {
		const updates = 20

		storage, _ := openJobseeker(t, open)
		for _, visitor := range []jobseeker.Visitor{newUser(), newGuest()} {
			runConcurrently(t, updates, func(i int) error {
				return change(storage, visitor, func(onboarding *jobseeker.Onboarding) {
					onboarding.Steps = append(onboarding.Steps, jobseeker.Progress{Step: fmt.Sprint(i)})
				})
			})

			require.Len(t, get(t, storage, visitor).Steps, updates)
		}
	})

	// Onboardings of guests expire. Those of users of the same age do not: they are deleted with their accounts.
	t.Run("retention", func(t *testing.T) {
		storage, now := openJobseeker(t, open)

		// Five users and five guests have made their last change now, an hour later, two hours later, and so on.
		var users, guests []jobseeker.Visitor
		for hours := range 5 {
			user, guest := newUser(), newGuest()
			lastChange := now.Add(time.Duration(hours) * time.Hour)
			require.NoError(t, change(storage, user, saveAt(lastChange)))
			require.NoError(t, change(storage, guest, saveAt(lastChange)))

			users, guests = append(users, user), append(guests, guest)
		}

		// The onboardings of the first three guests are older than the bound.
		const expiredGuests = 3

		checkRetention(t, storage.Retention, jobseeker.GuestOnboardingKind, now.Add(expiredGuests*time.Hour))

		isStored := func(visitor jobseeker.Visitor) bool { return get(t, storage, visitor).Version > 0 }
		hasRetention := storage.Retention != nil // the port is optional

		for i, guest := range guests {
			wasDeleted := hasRetention && i < expiredGuests
			require.Equal(t, !wasDeleted, isStored(guest), "guest %d", i)
		}

		for i, user := range users {
			require.True(t, isStored(user), "the onboarding of user %d has expired", i)
		}
	})
}

// withoutSteps clears the steps, which storages may return as nil or as an empty slice.
func withoutSteps(onboarding jobseeker.Onboarding) jobseeker.Onboarding {
	onboarding.Steps = nil
	return onboarding
}
