package identity_test

import (
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
	withoutCompany := env.employerWithoutCompany("a@example.org") // of Ann Practitioner
	withCompany := env.employer("b@example.org")

	for wantName, signedIn := range map[string]identity.SignedIn{"Ann Practitioner": withoutCompany, "St Mary's": withCompany} {
		actor := env.actor(signedIn)
		require.Equal(t, auth.Employer, actor.Role, wantName)
		require.False(t, actor.Seeker, wantName)
		require.True(t, actor.May(auth.Manage), wantName)
		require.True(t, actor.May(auth.JobsDelete), wantName)

		name, err := env.OrganizationName(t.Context(), actor.OrganizationID)
		require.NoError(t, err)
		require.Equal(t, wantName, name)
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
			userTypes := []string{"jobseeker", "employer"}
			userType := userTypes[i%len(userTypes)]

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
	register := func(password string) error {
		input := identity.RegisterEmployerInput{Email: "e@example.org", Password: password, Name: "E", CompanyName: "C"}
		_, err := env.Register(t.Context(), input, officeClient)

		return err
	}

	require.Equal(t, "password", fault.Of(register("seven77")).Fields[0].Name)
	require.NoError(t, register("eightlow"))
}

// TestRegister_InvalidEmployer_EachFieldIsNamed checks that the error for an employer names all invalid
// fields, here a short password and a missing company.
func TestRegister_InvalidEmployer_EachFieldIsNamed(t *testing.T) {
	env := newSQLiteEnv(t)
	input := identity.RegisterEmployerInput{Email: "e@example.org", Password: "seven77", Name: "E"}
	_, err := env.Register(t.Context(), input, officeClient)
	require.Len(t, fault.Of(err).Fields, 2)
}

// TestRegister_SendsOneConfirmation checks that the e-mail of a registration contains a token that
// confirms the address once. The token is alone on a line, for clients of the API, and in a link.
func TestRegister_SendsOneConfirmation(t *testing.T) {
	env := newSQLiteEnv(t)
	env.jobseeker("jo@example.org")

	token := env.mailToken("jo@example.org") // requires that the token is alone on a line
	message := env.newestMail("jo@example.org")
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

	jo := env.jobseeker("jo@example.org").Account.ID
	al := env.jobseeker("al@example.org").Account.ID

	people, err := env.People(t.Context(), []string{jo, al, unknownID})
	require.NoError(t, err)
	require.Equal(t, map[string]identity.Person{
		jo: {ID: jo, Name: "Jo Seeker", Email: "jo@example.org"},
		al: {ID: al, Name: "Jo Seeker", Email: "al@example.org"},
	}, people)
}

// TestPeople_NoIDs_Empty checks that no users are returned for no ids.
func TestPeople_NoIDs_Empty(t *testing.T) {
	env := newSQLiteEnv(t)
	var noIDs []string

	people, err := env.People(t.Context(), noIDs)
	require.NoError(t, err)
	require.Empty(t, people)
}
