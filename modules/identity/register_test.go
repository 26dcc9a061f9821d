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
	s := env.jobseeker("Jo@Example.ORG")
	require.Equal(t, "Jo@example.org", s.Account.Email)
	require.Equal(t, auth.Jobseeker, s.Account.Role)
	a := env.actor(s)
	require.True(t, a.Seeker)
	require.Empty(t, a.OrganizationID)
	me, err := env.Me(env.t.Context(), a)
	require.NoError(t, err)
	require.Equal(t, "Jo Seeker", me.Name)
	require.Equal(t, env.clock.Now(), me.CreatedAt)
}

// TestRegister_Employer_CreatesOrganizationAndAdmin checks both forms of a registration:
// without a company name, the organization gets the name of the user.
func TestRegister_Employer_CreatesOrganizationAndAdmin(t *testing.T) {
	env := newSQLiteEnv(t)
	plain, err := env.Register(
		env.t.Context(),
		identity.RegisterInput{Email: "a@example.org", Password: password, Name: "Ann Other", UserType: "employer"},
		officeClient,
	)
	require.NoError(t, err)
	for s, company := range map[*identity.SignedIn]string{&plain: "Ann Other", ptr(env.employer("b@example.org")): "St Mary's"} {
		a := env.actor(*s)
		require.Equal(t, auth.Employer, a.Role)
		require.False(t, a.Seeker)
		require.True(t, a.May(auth.Manage) && a.May(auth.JobsDelete))
		name, err := env.OrganizationName(env.t.Context(), a.OrganizationID)
		require.NoError(t, err)
		require.Equal(t, company, name)
	}
}

// ptr returns a pointer to v, for the optional fields of inputs.
func ptr[T any](v T) *T { return &v }

// TestRegister_OtherSpelling_EmailTaken checks that addresses which differ only in their case
// belong to one account, for jobseekers and employers alike.
func TestRegister_OtherSpelling_EmailTaken(t *testing.T) {
	env := newSQLiteEnv(t)
	env.jobseeker("jo@example.org")
	_, err := env.Register(
		env.t.Context(),
		identity.RegisterInput{Email: "JO@EXAMPLE.org", Password: password, Name: "Jo", UserType: "jobseeker"},
		officeClient,
	)
	require.ErrorIs(t, err, identity.ErrEmailTaken)
	_, err = env.Register(
		env.t.Context(),
		identity.RegisterEmployerInput{Email: "Jo@example.org", Password: password, Name: "Jo", CompanyName: "X"},
		officeClient,
	)
	require.ErrorIs(t, err, identity.ErrEmailTaken)
}

// TestRegister_Concurrent_OneSucceeds checks that twenty concurrent registrations of an address
// create one account, although they have different kinds.
func TestRegister_Concurrent_OneSucceeds(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		errs := concurrently(20, func(i int) error {
			kind := []string{"jobseeker", "employer"}[i%2]
			_, err := env.Register(
				env.t.Context(),
				identity.RegisterInput{Email: "jo@example.org", Password: password, Name: "Jo", UserType: kind},
				officeClient,
			)
			return err
		})
		require.Equal(t, 1, countErrors(errs, nil), "%v", errs)
		require.Equal(t, 19, countErrors(errs, identity.ErrEmailTaken), "%v", errs)
	})
}

// TestRegister_InvalidInput_EachFieldIsNamed checks that the response names all invalid fields,
// in the order of the input. A jobseeker's password needs upper case, lower case and a digit;
// an employer's password needs only 8 characters.
func TestRegister_InvalidInput_EachFieldIsNamed(t *testing.T) {
	env := newSQLiteEnv(t)
	for _, c := range []struct {
		in     identity.RegisterInput
		fields string
	}{
		{identity.RegisterInput{}, "email password name userType"},
		{identity.RegisterInput{Email: "jo", Password: "short", Name: " ", UserType: "admin"}, "email password name userType"},
		{identity.RegisterInput{Email: "jo@example.org", Password: "alllower1", Name: "Jo", UserType: "jobseeker"}, "password"},
		{identity.RegisterInput{Email: "jo@example.org", Password: "ALLUPPER1", Name: "Jo", UserType: "jobseeker"}, "password"},
		{identity.RegisterInput{Email: "jo@example.org", Password: "NoDigitsHere", Name: "Jo", UserType: "jobseeker"}, "password"},
		{
			// The password has 1,025 bytes, but fewer characters than the maximum.
			identity.RegisterInput{Email: "jo@example.org", Password: "Aa1" + strings.Repeat("é", 511), Name: "Jo", UserType: "jobseeker"},
			"password",
		},
		// This name would add a header to e-mails.
		{identity.RegisterInput{Email: "jo@example.org", Password: password, Name: "Jo\r\nBcc: x", UserType: "jobseeker"}, "name"},
		{
			identity.RegisterInput{Email: "jo@example.org", Password: password, Name: strings.Repeat("n", 201), UserType: "jobseeker"},
			"name",
		},
	} {
		_, err := env.Register(env.t.Context(), c.in, officeClient)
		require.ErrorIs(t, err, fault.ErrInvalid)
		var names []string
		for _, f := range fault.Of(err).Fields {
			names = append(names, f.Name)
		}
		require.Equal(t, c.fields, strings.Join(names, " "), "%+v", c.in)
	}
	_, err := env.Register(
		env.t.Context(),
		identity.RegisterEmployerInput{Email: "e@example.org", Password: "eightlow", Name: "E", CompanyName: "C"},
		officeClient,
	)
	require.NoError(t, err, "an employer's password needs length alone")
	_, err = env.Register(
		env.t.Context(),
		identity.RegisterEmployerInput{Email: "f@example.org", Password: "seven77", Name: "E", CompanyName: ""},
		officeClient,
	)
	require.Len(t, fault.Of(err).Fields, 2)
}

// TestRegister_SendsOneConfirmation checks that the e-mail contains the token alone on a line,
// for clients of the API, and in a link, and that it confirms the address once.
func TestRegister_SendsOneConfirmation(t *testing.T) {
	env := newSQLiteEnv(t)
	env.jobseeker("jo@example.org")
	token := env.mailToken("jo@example.org")
	m := env.mailsTo("jo@example.org")[0]
	require.Contains(t, m.Text, "https://locum.example/verify-email?token="+token)
	require.NoError(t, env.VerifyEmail(env.t.Context(), identity.VerifyEmailInput{Token: token}))
	require.Error(t, env.VerifyEmail(env.t.Context(), identity.VerifyEmailInput{Token: token}), "a token is valid once")
	u, err := env.store.Identity.Users.GetByEmail(env.t.Context(), "jo@example.org")
	require.NoError(t, err)
	require.Equal(t, env.clock.Now(), u.EmailVerifiedAt)
}

// TestListAccounts_ManyIDs checks that People returns the users by their ids and leaves out
// unknown ids.
func TestListAccounts_ManyIDs(t *testing.T) {
	env := newSQLiteEnv(t)
	var ids []string
	for i := range 5 {
		ids = append(ids, env.jobseeker("p"+strconv.Itoa(i)+"@example.org").Account.ID)
	}
	got, err := env.People(env.t.Context(), append(ids, "00000000-0000-7000-8000-000000000000"))
	require.NoError(t, err)
	require.Len(t, got, 5)
	require.Equal(t, identity.Person{ID: ids[2], Name: "Jo Seeker", Email: "p2@example.org"}, got[ids[2]])
	none, err := env.People(env.t.Context(), nil)
	require.NoError(t, err)
	require.Empty(t, none)
}
