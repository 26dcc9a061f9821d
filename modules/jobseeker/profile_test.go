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
		got, err := env.MyProfile(ctx, user)
		require.NoError(t, err)
		require.Equal(t,
			jobseeker.Account{Profile: jobseeker.NewProfile(user.UserID), Name: "Niamh Byrne", Email: user.UserID + "@example.org"},
			got)
		require.Equal(t, "Niamh", got.First())
		require.Equal(t, "Byrne", got.Last())

		// The second update keeps the fields of the first.
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

		got, err = env.MyProfile(ctx, user)
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
			Number:            1,
		}, got.Profile)
		require.Equal(t, "York", got.Home())

		// Empty strings and lists, a radius of 0 and a salary of 0 clear the fields. Without a preferred
		// location, home is the location.
		got, err = env.UpdateProfile(ctx, user, jobseeker.ProfileInput{
			Bio:               new(""),
			Phone:             new(""),
			PreferredLocation: new(" "),
			LocationRadius:    new(0.0),
			SalaryMin:         new(0.0),
			EmploymentTypes:   &[]string{},
		})
		require.NoError(t, err)
		require.Empty(t, got.Bio+got.Phone+got.PreferredLocation)
		require.Zero(t, got.LocationRadius)
		require.Nil(t, got.SalaryMin)
		require.Empty(t, got.EmploymentTypes)
		require.Equal(t, "Leeds", got.Home())
	})
}

// TestProfile_Name_IsTheAccounts checks that first and last name are parts of the name of the
// account. They are stored separately only to know where a name with several words is divided.
func TestProfile_Name_IsTheAccounts(t *testing.T) {
	onEachStorage(t, func(t *testing.T, env *testEnv) {
		ctx, user := t.Context(), newSeeker()

		env.names[user.UserID] = "Niamh Byrne"
		for _, c := range []struct {
			in                jobseeker.ProfileInput
			name, first, last string
		}{
			{
				in:    jobseeker.ProfileInput{LastName: new("O'Brien ")},
				name:  "Niamh O'Brien",
				first: "Niamh",
				last:  "O'Brien",
			},
			{
				in:    jobseeker.ProfileInput{FirstName: new("Mary Jane")},
				name:  "Mary Jane O'Brien",
				first: "Mary Jane",
				last:  "O'Brien",
			},
			{
				in:    jobseeker.ProfileInput{Bio: new("Nurse")},
				name:  "Mary Jane O'Brien",
				first: "Mary Jane",
				last:  "O'Brien",
			},
			{
				in:    jobseeker.ProfileInput{Name: new("Zoë van Dyk")},
				name:  "Zoë van Dyk",
				first: "Zoë",
				last:  "van Dyk",
			},
			{in: jobseeker.ProfileInput{LastName: new("")}, name: "Zoë", first: "Zoë", last: ""},
		} {
			got, err := env.UpdateProfile(ctx, user, c.in)
			require.NoError(t, err)
			require.Equal(t, c.name, got.Name)
			require.Equal(t, c.name, env.names[user.UserID])
			require.Equal(t, []string{c.first, c.last}, []string{got.First(), got.Last()})
		}

		env.names[user.UserID] = "Somebody Else" // renamed by other means
		got, err := env.MyProfile(ctx, user)
		require.NoError(t, err)
		require.Equal(t, []string{"Somebody", "Else"}, []string{got.First(), got.Last()})
	})
}

// TestProfile_Email_NeedsConfirmation checks that a new address is pending until it is
// confirmed, and that a refused address refuses the whole request.
func TestProfile_Email_NeedsConfirmation(t *testing.T) {
	onEachStorage(t, func(t *testing.T, env *testEnv) {
		ctx, user := t.Context(), newSeeker()
		got, err := env.UpdateProfile(ctx, user, jobseeker.ProfileInput{Email: new("new@example.org"), Bio: new("Nurse")})
		require.NoError(t, err)
		require.Equal(t, "new@example.org", env.pendingEmails[user.UserID])
		require.Equal(t, "new@example.org", got.PendingEmail)
		require.Equal(t, user.UserID+"@example.org", got.Email)

		env.emailErr = errors.New("taken")
		_, err = env.UpdateProfile(ctx, user, jobseeker.ProfileInput{Email: new("taken@example.org"), Bio: new("Gone")})
		require.ErrorIs(t, err, env.emailErr)

		got, err = env.MyProfile(ctx, user)
		require.NoError(t, err)
		require.Equal(t, "Nurse", got.Bio, "all or nothing")
	})
}

// TestProfile_InvalidInput_Refused checks the limits of all fields. Some depend on stored
// values: the whole name has at most 200 characters, and the maximum salary is not below the
// minimum.
func TestProfile_InvalidInput_Refused(t *testing.T) {
	onEachStorage(t, func(t *testing.T, env *testEnv) {
		ctx, user := t.Context(), newSeeker()
		long := func(n int) *string { return new(strings.Repeat("é", n)) }
		_, err := env.UpdateProfile(ctx, user, jobseeker.ProfileInput{SalaryMin: new(100.0), FirstName: long(100)})
		require.NoError(t, err)

		for field, in := range map[string]jobseeker.ProfileInput{
			"firstName":         {FirstName: long(101)},
			"lastName":          {LastName: long(100)},
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
			"salaryMax":         {SalaryMax: new(99.0)},
		} {
			_, err := env.UpdateProfile(ctx, user, in)
			require.Equal(t, "profile."+field, fault.Of(err).Fields[0].Name, field)
		}

		_, err = env.UpdateProfile(ctx, user, jobseeker.ProfileInput{LocationRadius: new(1.5)})
		require.ErrorIs(t, err, fault.ErrInvalid)

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
		require.Contains(t, string(table), ",25,,,50000,")

		_, err = env.ExportProfile(t.Context(), auth.Actor{})
		require.Error(t, err)
	})
}
