package identity_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/modules/identity"
)

// TestRegister_Jobseeker_IsSignedIn checks that a registration opens a session. The domain of
// the address is stored in lower case; the local part stays as it was typed.
func TestRegister_Jobseeker_IsSignedIn(t *testing.T) {
	env := newSQLiteEnv(t)
	signedIn := env.jobseeker("Jo@Example.ORG")
	require.Equal(t, "Jo@example.org", signedIn.Account.Email)
	require.Equal(t, auth.Jobseeker, signedIn.Account.Role)

	actor := env.actor(signedIn)
	require.True(t, actor.Seeker)
	require.Empty(t, actor.OrganizationID)

	me, err := env.Me(t.Context(), actor)
	require.NoError(t, err)
	require.Equal(t, "Jo Seeker", me.Name)
	require.Equal(t, env.clock.Now(), me.CreatedAt)
}

// TestRegister_Employer_CreatesOrganizationAndAdmin checks both forms of a registration:
// without a company name, the organization gets the name of the user.
func TestRegister_Employer_CreatesOrganizationAndAdmin(t *testing.T) {
	env := newSQLiteEnv(t)
	withoutCompany, err := env.Register(
		t.Context(),
		identity.RegisterInput{Email: "a@example.org", Password: password, Name: "Ann Other", UserType: "employer"},
		officeClient,
	)
	require.NoError(t, err)

	withCompany := env.employer("b@example.org")
	for _, test := range []struct {
		signedIn identity.SignedIn
		wantName string // of the organization
	}{
		{signedIn: withoutCompany, wantName: "Ann Other"},
		{signedIn: withCompany, wantName: "St Mary's"},
	} {
		actor := env.actor(test.signedIn)
		require.Equal(t, auth.Employer, actor.Role)
		require.False(t, actor.Seeker)
		require.True(t, actor.May(auth.Manage))
		require.True(t, actor.May(auth.JobsDelete))

		name, err := env.OrganizationName(t.Context(), actor.OrganizationID)
		require.NoError(t, err)
		require.Equal(t, test.wantName, name)
	}
}

// TestRegister_OtherSpelling_EmailTaken checks that addresses that differ only in their case belong to
// one account: neither a jobseeker nor an employer can register with another spelling.
func TestRegister_OtherSpelling_EmailTaken(t *testing.T) {
	env := newSQLiteEnv(t)
	env.jobseeker("jo@example.org")

	_, err := env.Register(
		t.Context(),
		identity.RegisterInput{Email: "JO@EXAMPLE.org", Password: password, Name: "Jo", UserType: "jobseeker"},
		officeClient,
	)
	require.ErrorIs(t, err, identity.ErrEmailTaken)

	_, err = env.Register(
		t.Context(),
		identity.RegisterEmployerInput{Email: "Jo@example.org", Password: password, Name: "Jo", CompanyName: "X"},
		officeClient,
	)
	require.ErrorIs(t, err, identity.ErrEmailTaken)
}

// TestRegister_Concurrent_OneSucceeds checks that concurrent registrations of an address create one
// account, although half of them are for jobseekers and the others for employers.
func TestRegister_Concurrent_OneSucceeds(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		const registrations = 20
		errs := concurrently(registrations, func(i int) error {
			userType := "jobseeker"
			if i%2 == 1 {
				userType = "employer"
			}

			_, err := env.Register(
				t.Context(),
				identity.RegisterInput{Email: "jo@example.org", Password: password, Name: "Jo", UserType: userType},
				officeClient,
			)

			return err
		})

		require.Equal(t, 1, countErrors(errs, nil), "successes among %v", errs)
		require.Equal(t, registrations-1, countErrors(errs, identity.ErrEmailTaken), "refusals among %v", errs)
	})
}

// TestRegister_InvalidInput_EachFieldIsNamed checks that the response names all invalid fields,
// in the order of the input. A jobseeker's password needs upper case, lower case and a digit.
func TestRegister_InvalidInput_EachFieldIsNamed(t *testing.T) {
	env := newSQLiteEnv(t)
	withPassword := func(password string) identity.RegisterInput {
		return identity.RegisterInput{Email: "jo@example.org", Password: password, Name: "Jo", UserType: "jobseeker"}
	}
	withName := func(name string) identity.RegisterInput {
		return identity.RegisterInput{Email: "jo@example.org", Password: password, Name: name, UserType: "jobseeker"}
	}

	allFields := []string{"email", "password", "name", "userType"}
	for name, test := range map[string]struct {
		input      identity.RegisterInput
		wantFields []string // in the error
	}{
		"nothing": {input: identity.RegisterInput{}, wantFields: allFields},
		"all invalid": {
			input:      identity.RegisterInput{Email: "jo", Password: "short", Name: " ", UserType: "admin"},
			wantFields: allFields,
		},
		"password without upper case": {input: withPassword("alllower1"), wantFields: []string{"password"}},
		"password without lower case": {input: withPassword("ALLUPPER1"), wantFields: []string{"password"}},
		"password without digit":      {input: withPassword("NoDigitsHere"), wantFields: []string{"password"}},
		// The maximum is 1,024 bytes, and é has two of them.
		"password of 1,025 bytes, but fewer characters than the maximum": {
			input:      withPassword("Aa1" + strings.Repeat("é", 511)),
			wantFields: []string{"password"},
		},
		"name that adds a header to e-mails": {input: withName("Jo\r\nBcc: x"), wantFields: []string{"name"}},
		"long name":                          {input: withName(strings.Repeat("n", 201)), wantFields: []string{"name"}},
	} {
		_, err := env.Register(t.Context(), test.input, officeClient)
		require.ErrorIs(t, err, fault.ErrInvalid, name)

		var fields []string
		for _, field := range fault.Of(err).Fields {
			fields = append(fields, field.Name)
		}

		require.Equal(t, test.wantFields, fields, name)
	}
}

// TestRegister_EmployerPassword_NeedsOnlyLength checks that the password of an employer needs 8
// characters, but no certain ones.
func TestRegister_EmployerPassword_NeedsOnlyLength(t *testing.T) {
	env := newSQLiteEnv(t)
	_, err := env.Register(
		t.Context(),
		identity.RegisterEmployerInput{Email: "e@example.org", Password: "eightlow", Name: "E", CompanyName: "C"},
		officeClient,
	)
	require.NoError(t, err)

	_, err = env.Register(
		t.Context(),
		identity.RegisterEmployerInput{Email: "f@example.org", Password: "seven77", Name: "E", CompanyName: ""},
		officeClient,
	)
	require.Len(t, fault.Of(err).Fields, 2, "the short password and the missing company")
}

// TestRegister_SendsOneConfirmation checks that the e-mail of a registration contains a token that
// confirms the address once. The token is alone on a line, for clients of the API, and in a link.
func TestRegister_SendsOneConfirmation(t *testing.T) {
	env := newSQLiteEnv(t)
	env.jobseeker("jo@example.org")

	token := env.mailToken("jo@example.org") // requires that the token is alone on a line
	message := env.mailsTo("jo@example.org")[0]
	require.Contains(t, message.Text, "https://locum.example/verify-email?token="+token)
	require.NoError(t, env.verifyEmail(token))
	require.Error(t, env.verifyEmail(token), "a token is valid once")

	user, err := env.store.Identity.Users.GetByEmail(t.Context(), "jo@example.org")
	require.NoError(t, err)
	require.Equal(t, env.clock.Now(), user.EmailVerifiedAt)
}

// TestPeople_SeveralIDs_KnownUsersByID checks that People returns the users by their ids and
// leaves out unknown ids.
func TestPeople_SeveralIDs_KnownUsersByID(t *testing.T) {
	env := newSQLiteEnv(t)

	var ids []string
	for i := range 5 {
		ids = append(ids, env.jobseeker("p"+strconv.Itoa(i)+"@example.org").Account.ID)
	}

	people, err := env.People(t.Context(), append(ids, unknownID))
	require.NoError(t, err)
	require.Len(t, people, 5)
	require.Equal(t, identity.Person{ID: ids[2], Name: "Jo Seeker", Email: "p2@example.org"}, people[ids[2]])

	none, err := env.People(t.Context(), nil)
	require.NoError(t, err)
	require.Empty(t, none)
}
