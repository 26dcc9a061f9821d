package jobseeker_test

import (
	"errors"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/modules/jobseeker"
	"github.com/locumhq/locum/test/kit"
	"github.com/locumhq/locum/test/kit/stores"
)

// TestProfile_OmittedFields_AreKept checks that a request changes only the fields that it
// contains, and that an empty value clears a field. Home is the preferred location or else the
// location.
func TestProfile_OmittedFields_AreKept(t *testing.T) {
	onEachStorage(t, func(t *testing.T, env *testEnv) {
		ctx, user := t.Context(), newSeeker()
		env.names[user.UserID] = "Niamh Byrne"

		// A new profile has only the name and the address of the account.
		newAccount := jobseeker.Account{
			Profile: jobseeker.NewProfile(user.UserID),
			Name:    "Niamh Byrne",
			Email:   user.UserID + "@example.org",
		}
		account, err := env.MyProfile(ctx, user)
		require.NoError(t, err)
		require.Equal(t, newAccount, account)
		require.Equal(t, "Niamh", account.First())
		require.Equal(t, "Byrne", account.Last())

		// Two updates change different fields. The second one keeps the fields of the first.
		_, err = env.UpdateProfile(ctx, user, jobseeker.ProfileInput{
			Bio:             new(" Nurse\nand more "),
			Phone:           new("+353 1 000"),
			Location:        new("Leeds"),
			Experience:      new(jobseeker.Words("7")),
			LocationRadius:  new(25.0),
			EmploymentTypes: &[]string{"bank"},
			SalaryMin:       new(30_000.5),
			SalaryMax:       new(40_000.0),
			Preferences:     &jobseeker.PreferencesInput{JobAlerts: new(false)},
		})
		require.NoError(t, err)

		_, err = env.UpdateProfile(
			ctx,
			user,
			jobseeker.ProfileInput{
				Specialty:         new("Theatre"),
				CurrentRole:       new("Band 6"),
				PreferredLocation: new("York"),
				Preferences:       &jobseeker.PreferencesInput{EmailNotifications: new(false)},
			},
		)
		require.NoError(t, err)

		account, err = env.MyProfile(ctx, user)
		require.NoError(t, err)
		require.Equal(t, jobseeker.Profile{
			UserID:            user.UserID,
			Bio:               "Nurse\nand more",
			Phone:             "+353 1 000",
			Location:          "Leeds",
			Experience:        "7",
			Specialty:         "Theatre",
			CurrentRole:       "Band 6",
			PreferredLocation: "York",
			LocationRadius:    25,
			EmploymentTypes:   []string{"bank"},
			SalaryMin:         new(30_000.5),
			SalaryMax:         new(40_000.0),
			Number:            1, // of the first jobseeker with a profile
		}, account.Profile)
		require.Equal(t, "York", account.Home())

		// Empty strings and lists, a radius of 0 and a salary of 0 clear the fields. Without a preferred
		// location, home is the location.
		account, err = env.UpdateProfile(ctx, user, jobseeker.ProfileInput{
			Bio:               new(""),
			Phone:             new(""),
			PreferredLocation: new(" "),
			LocationRadius:    new(0.0),
			SalaryMin:         new(0.0),
			EmploymentTypes:   &[]string{},
		})
		require.NoError(t, err)
		require.Empty(t, account.Bio)
		require.Empty(t, account.Phone)
		require.Empty(t, account.PreferredLocation)
		require.Zero(t, account.LocationRadius)
		require.Nil(t, account.SalaryMin)
		require.Empty(t, account.EmploymentTypes)
		require.Equal(t, "Leeds", account.Home())
	})
}

// TestProfile_Name_IsTheAccounts checks that first and last name are parts of the name of the
// account. They are stored separately only to know where a name with several words is divided.
func TestProfile_Name_IsTheAccounts(t *testing.T) {
	onEachStorage(t, func(t *testing.T, env *testEnv) {
		ctx, user := t.Context(), newSeeker()

		// Each change applies to the name that the one before has left.
		env.names[user.UserID] = "Niamh Byrne"
		for _, change := range []struct {
			input             jobseeker.ProfileInput
			name, first, last string // after the change
		}{
			{
				input: jobseeker.ProfileInput{LastName: new("O'Brien ")},
				name:  "Niamh O'Brien",
				first: "Niamh",
				last:  "O'Brien",
			},
			{
				input: jobseeker.ProfileInput{FirstName: new("Mary Jane")},
				name:  "Mary Jane O'Brien",
				first: "Mary Jane",
				last:  "O'Brien",
			},
			{
				input: jobseeker.ProfileInput{Bio: new("Nurse")},
				name:  "Mary Jane O'Brien",
				first: "Mary Jane",
				last:  "O'Brien",
			},
			{
				input: jobseeker.ProfileInput{Name: new("Zoë van Dyk")},
				name:  "Zoë van Dyk",
				first: "Zoë",
				last:  "van Dyk",
			},
			{input: jobseeker.ProfileInput{LastName: new("")}, name: "Zoë", first: "Zoë", last: ""},
		} {
			account, err := env.UpdateProfile(ctx, user, change.input)
			require.NoError(t, err, change.name)
			require.Equal(t, change.name, account.Name)
			require.Equal(t, change.name, env.names[user.UserID], "the name of the account")
			require.Equal(t, change.first, account.First(), change.name)
			require.Equal(t, change.last, account.Last(), change.name)
		}

		// The account gets another name, without an update of the profile.
		env.names[user.UserID] = "Somebody Else"

		account, err := env.MyProfile(ctx, user)
		require.NoError(t, err)
		require.Equal(t, "Somebody", account.First())
		require.Equal(t, "Else", account.Last())
	})
}

// TestProfile_Email_NeedsConfirmation checks that a new address is pending until it is
// confirmed, and that a refused address refuses the whole request.
func TestProfile_Email_NeedsConfirmation(t *testing.T) {
	onEachStorage(t, func(t *testing.T, env *testEnv) {
		ctx, user := t.Context(), newSeeker()
		account, err := env.UpdateProfile(ctx, user, jobseeker.ProfileInput{Email: new("new@example.org"), Bio: new("Nurse")})
		require.NoError(t, err)
		require.Equal(t, "new@example.org", env.pendingEmails[user.UserID])
		require.Equal(t, "new@example.org", account.PendingEmail)
		require.Equal(t, user.UserID+"@example.org", account.Email, "the address until the new one is confirmed")

		// Another user has the next address, so that the whole request is refused.
		env.emailErr = errors.New("taken")
		_, err = env.UpdateProfile(ctx, user, jobseeker.ProfileInput{Email: new("taken@example.org"), Bio: new("Gone")})
		require.ErrorIs(t, err, env.emailErr)

		account, err = env.MyProfile(ctx, user)
		require.NoError(t, err)
		require.Equal(t, "Nurse", account.Bio, "a refused request changes nothing")
	})
}

// TestProfile_InvalidInput_Refused checks the limits of all fields. Some depend on stored
// values: the whole name has at most 200 characters, and the maximum salary is not below the
// minimum.
func TestProfile_InvalidInput_Refused(t *testing.T) {
	onEachStorage(t, func(t *testing.T, env *testEnv) {
		ctx, user := t.Context(), newSeeker()

		// long returns a text of n characters.
		long := func(n int) *string { return new(strings.Repeat("é", n)) }

		// The stored values, on which the limits of lastName and salaryMax depend.
		_, err := env.UpdateProfile(ctx, user, jobseeker.ProfileInput{SalaryMin: new(100.0), FirstName: long(100)})
		require.NoError(t, err)

		for field, invalid := range map[string]jobseeker.ProfileInput{
			"firstName":         {FirstName: long(101)},
			"lastName":          {LastName: long(100)}, // with the first name and a space, 201 characters
			"name":              {Name: new(" ")},
			"bio":               {Bio: long(5_001)},
			"phone":             {Phone: new("12")},
			"location":          {Location: new("Leeds\r\nYork")},
			"specialty":         {Specialty: long(201)},
			"currentRole":       {CurrentRole: long(201)},
			"experience":        {Experience: (*jobseeker.Words)(long(201))},
			"preferredLocation": {PreferredLocation: long(201)},
			"locationRadius":    {LocationRadius: new(501.0)},
			"employmentTypes.1": {EmploymentTypes: &[]string{"bank", "often"}},
			"employmentTypes":   {EmploymentTypes: new(make([]string, 9))},
			"salaryMin":         {SalaryMin: new(math.NaN())},
			"salaryMax":         {SalaryMax: new(99.0)}, // less than the minimum
		} {
			_, err := env.UpdateProfile(ctx, user, invalid)
			require.Equal(t, "profile."+field, fault.Of(err).Fields[0].Name, field)
		}

		_, err = env.UpdateProfile(ctx, user, jobseeker.ProfileInput{LocationRadius: new(1.5)})
		require.ErrorIs(t, err, fault.ErrInvalid, "a radius is a whole number of miles")

		// Guests and employers have no profile.
		for _, stranger := range []auth.Actor{{}, {UserID: stores.NewID(), OrganizationID: stores.NewID()}} {
			_, err = env.MyProfile(ctx, stranger)
			require.ErrorIs(t, err, kit.Refusal(stranger))

			_, err = env.UpdateProfile(ctx, stranger, jobseeker.ProfileInput{})
			require.ErrorIs(t, err, kit.Refusal(stranger))
		}

		env.withoutEmailAddress[user.UserID] = true
		_, err = env.MyProfile(ctx, user)
		require.ErrorIs(t, err, fault.ErrUnauthorized, "the account was deleted concurrently")
	})
}

// TestProfileExport_FileName_HasDate checks that the profile can be downloaded as CSV, with the
// size in advance.
func TestProfileExport_FileName_HasDate(t *testing.T) {
	onEachStorage(t, func(t *testing.T, env *testEnv) {
		me := env.profile(jobseeker.ProfileInput{Specialty: new("Renal"), SalaryMax: new(50000.0), LocationRadius: new(25.0)})
		file, err := env.ExportProfile(t.Context(), me)
		require.NoError(t, err)
		require.Equal(t, "locum-my-profile-"+env.clock.Now().Format("20060102")+".csv", file.Name)

		table, err := io.ReadAll(file.Body)
		require.NoError(t, err)
		require.Len(t, table, int(file.Size))
		require.Contains(t, string(table), ",Renal,")
		require.Contains(t, string(table), ",25,,,50000,", "the radius, no employment types, no minimum and the maximum pay")

		_, err = env.ExportProfile(t.Context(), guest)
		require.Error(t, err)
	})
}
