package conformance

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/modules/jobseeker"
)

// Profiles checks the port jobseeker.Profiles. Every user has a profile, which is the default one until it is stored. Get
// locks the profile in a transaction.
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

// full returns a profile with a value in every field, except JobAlerts and Number.
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

// numbersConcurrently checks that every stored profile gets a number of its own, even if concurrent transactions create
// the profile. Later updates do not change the number.
func (suite profileSuite) numbersConcurrently(t *testing.T) {
	const updatesOfEach = 7

	storage, _ := openJobseeker(t, suite.open)
	users := newIDs(3)
	runConcurrently(t, len(users)*updatesOfEach, func(i int) error {
		user := users[i%len(users)]

		return storage.Tx.Do(context.Background(), func(ctx context.Context) error {
			profile, err := storage.Profiles.Get(ctx, user)
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
		require.Equal(t, profile, suite.get(t, storage, user), "the same number, with the change")
	}

	require.Len(t, numbers, len(users), "two profiles have the same number")
}

// getAndUpdate checks that a user has the default profile until Update stores another one. Get in a transaction locks the
// profile, for which a storage may create a row. The profile stays the default one.
func (suite profileSuite) getAndUpdate(t *testing.T) {
	storage, _ := openJobseeker(t, suite.open)
	user := newID()
	defaultProfile := jobseeker.NewProfile(user)
	require.Equal(t, defaultProfile, suite.get(t, storage, user))

	require.NoError(t, storage.Tx.Do(context.Background(), func(ctx context.Context) error {
		locked, err := storage.Profiles.Get(ctx, user)
		require.NoError(t, err)
		require.Equal(t, defaultProfile, locked)

		return nil
	}))
	require.Equal(t, defaultProfile, suite.get(t, storage, user), "after a lock")

	// The profile is stored. The storage has assigned its number.
	updated := suite.full(user)
	withProfile(t, storage, user, func(ctx context.Context) error { return storage.Profiles.Update(ctx, updated) })

	got := suite.get(t, storage, user)
	updated.Number = got.Number
	require.Equal(t, updated, got)

	// Other users still have the default profile.
	otherID := newID()
	require.Equal(t, jobseeker.NewProfile(otherID), suite.get(t, storage, otherID))
}

// updateToZeroValues checks that an update of a full profile with zero values empties its fields.
func (suite profileSuite) updateToZeroValues(t *testing.T) {
	storage, _ := openJobseeker(t, suite.open)

	full := suite.full(newID())
	empty := jobseeker.Profile{UserID: full.UserID}

	for _, profile := range []jobseeker.Profile{full, empty} {
		require.NoError(t, storage.Tx.Do(context.Background(), func(ctx context.Context) error {
			stored, err := storage.Profiles.Get(ctx, profile.UserID)
			if err != nil {
				return err
			}

			profile.Number = stored.Number // which an update does not change

			return storage.Profiles.Update(ctx, profile)
		}))

		got := suite.get(t, storage, profile.UserID)
		profile.Number = got.Number
		require.Equal(t, profile, got)
	}
}

// rollback checks that a user still has the default profile after a transaction that has updated it and then fails.
func (suite profileSuite) rollback(t *testing.T) {
	storage, _ := openJobseeker(t, suite.open)
	user, errRollback := newID(), errors.New("roll back")
	require.ErrorIs(t, tryWithProfile(storage, user, func(ctx context.Context) error {
		require.NoError(t, storage.Profiles.Update(ctx, suite.full(user)))
		return errRollback
	}), errRollback)
	require.Equal(t, jobseeker.NewProfile(user), suite.get(t, storage, user))
}

// concurrentUpdates checks that Get locks the profile, so that none of twenty concurrent changes is lost. Each change adds
// a mile to the radius, which is 0 in the default profile.
func (suite profileSuite) concurrentUpdates(t *testing.T) {
	const updates = 20

	storage, _ := openJobseeker(t, suite.open)
	user := newID()
	runConcurrently(t, updates, func(int) error {
		return storage.Tx.Do(context.Background(), func(ctx context.Context) error {
			profile, err := storage.Profiles.Get(ctx, user)
			if err != nil {
				return err
			}

			profile.LocationRadius++

			return storage.Profiles.Update(ctx, profile)
		})
	})

	require.Equal(t, updates, suite.get(t, storage, user).LocationRadius)
}
