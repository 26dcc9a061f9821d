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
	suite := profileSuite{open}
	t.Run("numbers, concurrently", suite.numbersConcurrently)
	t.Run("get and update", suite.getAndUpdate)
	t.Run("update to zero values", suite.updateToZeroValues)
	t.Run("rollback", suite.rollback)
	t.Run("concurrent updates", suite.concurrentUpdates)
}

// profileSuite has the subtests of Profiles.
type profileSuite struct {
	open JobseekerOpener
}

// full returns a profile with all fields, except JobAlerts.
func (suite profileSuite) full(user string) jobseeker.Profile {
	low, high := 31_250.5, 48_000.0

	return jobseeker.Profile{
		UserID:             user,
		FirstName:          "Zoë",
		LastName:           "O'Brien",
		Bio:                "Line one\nline \"two\" 100%",
		Phone:              "+44 20 7946 0000",
		Location:           "Leeds",
		Specialty:          "Theatre",
		CurrentRole:        "Band 6",
		Experience:         "7",
		PreferredLocation:  "York",
		LocationRadius:     25,
		EmploymentTypes:    []string{"bank", "permanent"},
		SalaryMin:          &low,
		SalaryMax:          &high,
		EmailNotifications: true,
		ShowProfile:        true,
	}
}

// get returns the stored profile.
func (suite profileSuite) get(t *testing.T, storage adapters.JobseekerStorage, user string) jobseeker.Profile {
	t.Helper()

	profile, err := storage.Profiles.Get(context.Background(), user)
	require.NoError(t, err)

	return profile
}

// numbersConcurrently checks that every profile gets a number of its own, once, even if
// concurrent transactions create it.
func (suite profileSuite) numbersConcurrently(t *testing.T) {
	storage, _ := openJobseeker(t, suite.open)
	users := []string{newID(), newID(), newID()}
	runConcurrently(t, 21, func(i int) error {
		return storage.Tx.Do(context.Background(), func(ctx context.Context) error {
			profile, err := storage.Profiles.Get(ctx, users[i%3])
			if err != nil {
				return err
			}

			return storage.Profiles.Update(ctx, profile)
		})
	})

	numbers := map[int64]bool{}
	for _, user := range users {
		profile := suite.get(t, storage, user)
		require.Positive(t, profile.Number)

		numbers[profile.Number] = true
		profile.Bio = "changed"
		withProfile(t, storage, user, func(ctx context.Context) error { return storage.Profiles.Update(ctx, profile) })
		require.Equal(t, profile, suite.get(t, storage, user))
	}

	require.Len(t, numbers, 3)
}

// getAndUpdate checks that a user without a stored profile has the default one, which a lock
// does not change.
func (suite profileSuite) getAndUpdate(t *testing.T) {
	storage, _ := openJobseeker(t, suite.open)
	user := newID()
	require.Equal(t, jobseeker.NewProfile(user), suite.get(t, storage, user))

	want := suite.full(user)
	require.NoError(t, storage.Tx.Do(context.Background(), func(ctx context.Context) error {
		got, err := storage.Profiles.Get(ctx, user)
		require.NoError(t, err)
		require.Equal(t, jobseeker.NewProfile(user), got)

		return nil
	}))
	require.Equal(t, jobseeker.NewProfile(user), suite.get(t, storage, user), "after a lock")
	withProfile(t, storage, user, func(ctx context.Context) error { return storage.Profiles.Update(ctx, want) })

	got := suite.get(t, storage, user)
	want.Number = got.Number
	require.Equal(t, want, got)

	otherID := newID()
	require.Equal(t, jobseeker.NewProfile(otherID), suite.get(t, storage, otherID))
}

// updateToZeroValues checks that an update with zero values empties the fields of a profile.
func (suite profileSuite) updateToZeroValues(t *testing.T) {
	storage, _ := openJobseeker(t, suite.open)

	want := suite.full(newID())
	for _, profile := range []jobseeker.Profile{want, {UserID: want.UserID}} {
		require.NoError(t, storage.Tx.Do(context.Background(), func(ctx context.Context) error {
			stored, err := storage.Profiles.Get(ctx, profile.UserID)
			if err != nil {
				return err
			}

			profile.Number = stored.Number

			return storage.Profiles.Update(ctx, profile)
		}))

		got := suite.get(t, storage, profile.UserID)
		profile.Number = got.Number
		require.Equal(t, profile, got)
	}
}

// rollback checks that a transaction that fails leaves the profile of a new user.
func (suite profileSuite) rollback(t *testing.T) {
	storage, _ := openJobseeker(t, suite.open)
	user, errFailed := newID(), errors.New("boom")
	require.ErrorIs(t, tryWithProfile(storage, user, func(ctx context.Context) error {
		require.NoError(t, storage.Profiles.Update(ctx, suite.full(user)))
		return errFailed
	}), errFailed)
	require.Equal(t, jobseeker.NewProfile(user), suite.get(t, storage, user))
}

// concurrentUpdates checks that Get locks the profile, so that no change is lost.
func (suite profileSuite) concurrentUpdates(t *testing.T) {
	storage, _ := openJobseeker(t, suite.open)
	user := newID()
	runConcurrently(t, 20, func(int) error {
		return storage.Tx.Do(context.Background(), func(ctx context.Context) error {
			profile, err := storage.Profiles.Get(ctx, user)
			if err != nil {
				return err
			}

			profile.LocationRadius++

			return storage.Profiles.Update(ctx, profile)
		})
	})

	require.Equal(t, 20, suite.get(t, storage, user).LocationRadius)
}
