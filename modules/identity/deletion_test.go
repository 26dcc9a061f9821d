package identity_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/modules/identity"
	"github.com/locumhq/locum/test/kit/stores"
)

// TestDeleteAccount_RowIsAnonymized checks that nothing of a deleted account remains usable or
// visible, that its address becomes available, and that rows that a concurrent request stores
// after the deletion are deleted by the second event.
func TestDeleteAccount_RowIsAnonymized(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		jo := env.jobseeker("jo@example.org")
		boss := env.actor(env.employer("boss@example.org"))
		require.NoError(t, env.Invite(t.Context(), boss, identity.InviteInput{Name: "Jo", Email: "jo@example.org"}))
		require.NoError(t, env.ChangeEmail(t.Context(), env.actor(jo), "jo@elsewhere.example"))

		changeToken := env.mailToken("jo@elsewhere.example")
		actor := env.actor(jo)
		require.NoError(t, env.DeleteAccount(t.Context(), actor))

		// Nothing of the account can be used any more.
		env.requireSignedOut(jo)

		_, err := env.login("jo@example.org", password)
		require.ErrorIs(t, err, identity.ErrBadCredentials)
		require.ErrorIs(t, env.verifyEmail(changeToken), fault.ErrInvalid)
		require.ErrorIs(t, env.DeleteAccount(t.Context(), actor), fault.ErrUnauthorized, "a repeated deletion")

		// Nothing of it is visible.
		people, err := env.People(t.Context(), []string{jo.Account.ID})
		require.NoError(t, err)
		require.Empty(t, people)

		team, err := env.Team(t.Context(), boss, page.Request{Number: 1, Size: 10})
		require.NoError(t, err)
		require.Len(t, team.Items, 1, "the invitation is deleted with the user")

		env.handleEvents()
		require.Len(t, env.deleted.events, 1)
		require.Equal(t, jo.Account.ID, env.deleted.events[0].UserID)
		require.Equal(t, "jobseeker", env.deleted.events[0].Kind)

		// A concurrent request that read the account before its deletion stores an invitation. A
		// minute later, the task of the second event deletes it.
		invitation := identity.NewInvitation(stores.NewID(), boss.OrganizationID, jo.Account.ID, "Jo",
			"jo@example.org", identity.Viewer, env.clock.Now())
		stored := invitation
		require.NoError(t, env.store.Identity.Members.Upsert(t.Context(), &stored))
		env.clock.Advance(time.Minute)
		env.work.All(t)
		require.Len(t, env.deleted.events, 2)

		err = env.store.Identity.Members.Upsert(t.Context(), &invitation)
		require.NoError(t, err, "the stored invitation was deleted: it does not conflict with this one")

		// The address is available again.
		newAccount := env.jobseeker("jo@example.org")
		require.NotEqual(t, jo.Account.ID, newAccount.Account.ID)
	})
}

// TestDeleteAccount_Concurrent_OneSucceeds checks that repeated clicks record one event. The
// other calls fail as if the caller were not signed in.
func TestDeleteAccount_Concurrent_OneSucceeds(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		jo := env.actor(env.jobseeker("jo@example.org"))
		errs := concurrently(20, func(int) error { return env.DeleteAccount(t.Context(), jo) })
		require.Equal(t, 1, countErrors(errs, nil))
		require.Equal(t, 19, countErrors(errs, fault.ErrUnauthorized))

		env.handleEvents()
		require.Len(t, env.deleted.events, 1)
	})
}

// TestDeleteAccount_EndsEverySession checks that a sign-in that runs at the same time as the
// deletion either fails or is ended by it.
func TestDeleteAccount_EndsEverySession(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		jo := env.jobseeker("jo@example.org")
		actor := env.actor(jo)
		var deleteErr error
		var signedIn [10]identity.SignedIn
		var loginErrs []error
		atOnce(
			func() { deleteErr = env.DeleteAccount(t.Context(), actor) },
			func() {
				loginErrs = concurrently(len(signedIn), func(i int) (err error) {
					signedIn[i], err = env.login("jo@example.org", password)
					return err
				})
			},
		)
		require.NoError(t, deleteErr)

		for i, err := range loginErrs {
			if err == nil {
				env.requireSignedOut(signedIn[i])
			}
		}
	})
}

// TestDeleteAccount_Member_KeepsOrganization checks that the deletion of a recruiter ends only
// the own membership and sessions.
func TestDeleteAccount_Member_KeepsOrganization(t *testing.T) {
	env := newSQLiteEnv(t)
	bossSession := env.employer("boss@example.org")
	boss := env.actor(bossSession)
	tom := env.addMember(boss, "tom@example.org", "recruiter")
	require.NoError(t, env.DeleteEmployerAccount(t.Context(), env.actor(tom)))
	env.requireSignedOut(tom)
	require.Equal(t, boss.OrganizationID, env.actor(bossSession).OrganizationID)

	_, err := env.Permissions(t.Context(), boss, tom.Account.ID)
	require.ErrorIs(t, err, identity.ErrNotInTeam)
}

// TestDeleteAccount_OneOfSeveralAdmins_Allowed checks that the organization stays while it has
// another admin.
func TestDeleteAccount_OneOfSeveralAdmins_Allowed(t *testing.T) {
	env := newSQLiteEnv(t)
	bossSession := env.employer("boss@example.org")
	second := env.addMember(env.actor(bossSession), "second@example.org", "admin")
	require.NoError(t, env.DeleteEmployerAccount(t.Context(), env.actor(bossSession)))
	require.NotEmpty(t, env.actor(second).OrganizationID)
}

// TestDeleteAccount_LastAdmin_ClosesOrganization checks that an organization without an admin
// is closed, because no user could add members any more: its members and invitations end, but
// its name stays for applicants.
func TestDeleteAccount_LastAdmin_ClosesOrganization(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		bossSession := env.employer("boss@example.org")
		boss := env.actor(bossSession)
		tom := env.addMember(boss, "tom@example.org", "recruiter")
		require.NoError(t, env.Invite(t.Context(), boss, identity.InviteInput{Name: "New", Email: "new@example.org"}))

		invitation := env.mailToken("new@example.org")

		// The only admin deletes the account.
		require.NoError(t, env.DeleteEmployerAccount(t.Context(), boss))
		env.requireSignedOut(bossSession)
		env.requireSignedOut(tom)

		name, err := env.OrganizationName(t.Context(), boss.OrganizationID)
		require.NoError(t, err)
		require.Equal(t, "St Mary's", name, "the organization keeps its name for applicants")

		tomLater, err := env.login("tom@example.org", password)
		require.NoError(t, err)
		require.Empty(t, env.actor(tomLater).OrganizationID, "no admin is left")

		// The invitation is void, and the former member can delete the own account.
		_, err = env.AcceptInvitation(t.Context(), env.actor(tomLater), identity.AcceptInvitationInput{Token: invitation}, officeClient)
		require.ErrorIs(t, err, fault.ErrInvalid)
		require.NoError(t, env.DeleteAccount(t.Context(), env.actor(tomLater)), "an account without an organization can end too")
	})
}

// TestCloseOrganization_EmployerAccounts_BecomeJobseekers checks that an account that was
// created by accepting an invitation becomes the account of a jobseeker, while a user who
// registered as an employer (here a founder) keeps the role. Both can join another
// organization.
func TestCloseOrganization_EmployerAccounts_BecomeJobseekers(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		signIn := func(email string) auth.Actor {
			signedIn, err := env.login(email, password)
			require.NoError(t, err)

			return env.actor(signedIn)
		}

		// Tom gets an account by accepting an invitation.
		boss := env.actor(env.employer("boss@example.org"))
		require.Equal(t, auth.EmployerTeam, env.actor(env.addMember(boss, "tom@example.org", "recruiter")).Role)

		// Fay has founded an organization, which continues without her, and joins, too.
		founder := env.actor(env.employer("founder@example.org"))
		env.addMember(founder, "heir@example.org", "admin")
		require.NoError(t, env.Invite(t.Context(), boss, identity.InviteInput{Name: "Fay", Email: "founder@example.org"}))

		_, err := env.AcceptInvitation(t.Context(), founder,
			identity.AcceptInvitationInput{Token: env.mailToken("founder@example.org")}, officeClient)
		require.NoError(t, err)

		// The organization is closed.
		require.NoError(t, env.DeleteEmployerAccount(t.Context(), boss))

		tom := signIn("tom@example.org")
		require.Equal(t, auth.Jobseeker, tom.Role)
		require.True(t, tom.Seeker)

		fay := signIn("founder@example.org")
		require.Equal(t, auth.Employer, fay.Role, "an account that registered as an employer keeps the role")
		require.False(t, fay.Seeker)

		// Both can join another organization.
		other := env.actor(env.employer("other@example.org"))
		for _, actor := range []auth.Actor{tom, fay} {
			account, err := env.Me(t.Context(), actor)
			require.NoError(t, err)
			require.NoError(t, env.Invite(t.Context(), other, identity.InviteInput{Name: "New", Email: account.Email}))

			joined, err := env.AcceptInvitation(t.Context(), actor,
				identity.AcceptInvitationInput{Token: env.mailToken(account.Email)}, officeClient)
			require.NoError(t, err)
			require.Equal(t, other.OrganizationID, env.actor(joined).OrganizationID)
			require.Equal(t, auth.EmployerTeam, env.actor(joined).Role)
		}

		require.True(t, signIn("tom@example.org").Seeker, "team members who are jobseekers stay jobseekers")
	})
}

// TestDeleteAccount_TwoAdminsAtOnce_SecondClosesOrganization checks that two admins who delete
// their accounts concurrently do not each count on the other one: the organization is closed,
// and its remaining member is signed out.
func TestDeleteAccount_TwoAdminsAtOnce_SecondClosesOrganization(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		boss := env.actor(env.employer("boss@example.org"))
		second := env.actor(env.addMember(boss, "second@example.org", "admin"))
		tom := env.addMember(boss, "tom@example.org", "viewer")
		var bossErr, secondErr error
		atOnce(
			func() { bossErr = env.DeleteEmployerAccount(t.Context(), boss) },
			func() { secondErr = env.DeleteEmployerAccount(t.Context(), second) },
		)
		require.NoError(t, bossErr)
		require.NoError(t, secondErr)
		env.requireSignedOut(tom)
	})
}

// TestDeleteAccount_OrganizationNamedAfterUser_NameIsErased checks that a closed organization
// does not keep the name of its last admin, which is personal data. A registration without a
// company name gives the organization the name of the user.
func TestDeleteAccount_OrganizationNamedAfterUser_NameIsErased(t *testing.T) {
	env := newSQLiteEnv(t)
	signedIn, err := env.Register(t.Context(),
		identity.RegisterInput{Email: "solo@example.org", Password: password, Name: "Ann Practitioner", UserType: "employer"},
		officeClient)
	require.NoError(t, err)

	founder := env.actor(signedIn)
	require.NoError(t, env.DeleteEmployerAccount(t.Context(), founder))

	name, err := env.OrganizationName(t.Context(), founder.OrganizationID)
	require.NoError(t, err)
	require.Equal(t, "Closed organization", name)
}

// TestDeleteEmployerAccount_Jobseeker_KeepsAccount checks that a jobseeker who has joined an
// organization leaves it by deleting the employer account, and remains a jobseeker.
func TestDeleteEmployerAccount_Jobseeker_KeepsAccount(t *testing.T) {
	env := newSQLiteEnv(t)
	boss, jo := env.actor(env.employer("boss@example.org")), env.jobseeker("jo@example.org")
	require.NoError(t, env.Invite(t.Context(), boss, identity.InviteInput{Name: "Jo", Email: "jo@example.org"}))

	_, err := env.AcceptInvitation(t.Context(), env.actor(jo),
		identity.AcceptInvitationInput{Token: env.mailToken("jo@example.org")}, officeClient)
	require.NoError(t, err)
	require.NoError(t, env.DeleteEmployerAccount(t.Context(), env.actor(jo)))
	env.requireSignedOut(jo)

	joLater, err := env.login("jo@example.org", password)
	require.NoError(t, err)
	require.True(t, env.actor(joLater).Seeker)
	require.Empty(t, env.actor(joLater).OrganizationID)
}

// TestDeleteAccount_JobseekerIsLastAdmin_ClosesOrganization checks that the rule about the last
// admin also holds for the admin who has the account of a jobseeker.
func TestDeleteAccount_JobseekerIsLastAdmin_ClosesOrganization(t *testing.T) {
	env := newSQLiteEnv(t)
	founder, jo := env.actor(env.employer("boss@example.org")), env.jobseeker("jo@example.org")
	require.NoError(t, env.Invite(t.Context(), founder, identity.InviteInput{Name: "Jo", Email: "jo@example.org", Role: "admin"}))

	_, err := env.AcceptInvitation(t.Context(), env.actor(jo),
		identity.AcceptInvitationInput{Token: env.mailToken("jo@example.org")}, officeClient)
	require.NoError(t, err)
	require.NoError(t, env.DeleteEmployerAccount(t.Context(), founder))

	tom := env.addMember(env.actor(jo), "tom@example.org", "viewer")

	require.NoError(t, env.DeleteAccount(t.Context(), env.actor(jo)))
	env.requireSignedOut(jo)
	env.requireSignedOut(tom)

	_, err = env.login("jo@example.org", password)
	require.ErrorIs(t, err, identity.ErrBadCredentials)
}

// TestDeleteAccount_Fails_AccountIsUnchanged checks that the deletion is one transaction: if it
// is rolled back, the session stays valid and no event is published.
func TestDeleteAccount_Fails_AccountIsUnchanged(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		bossSession := env.employer("boss@example.org")
		boss := env.actor(bossSession)

		// The surrounding transaction fails after the deletion, and is rolled back.
		err := env.store.Identity.Tx.Do(t.Context(), func(ctx context.Context) error {
			return errors.Join(env.DeleteEmployerAccount(ctx, boss), errors.New("the power went out"))
		})
		require.ErrorContains(t, err, "the power went out")
		require.Equal(t, boss, env.actor(bossSession))

		env.handleEvents()
		require.Empty(t, env.deleted.events)
	})
}

// TestUpdateAccount_FounderRenamed_OrganizationFollows checks that an organization with the
// name of its admin is renamed with the admin. Otherwise the names would differ when the
// account is deleted, and the name of the person would stay public.
func TestUpdateAccount_FounderRenamed_OrganizationFollows(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		signedIn, err := env.Register(t.Context(),
			identity.RegisterInput{Email: "solo@example.org", Password: password, Name: "Ann Practitioner", UserType: "employer"},
			officeClient)
		require.NoError(t, err)

		founder := env.actor(signedIn)
		tom := env.actor(env.addMember(founder, "tom@example.org", "recruiter"))

		// Tom takes the name of the organization, and then another.
		for _, name := range []string{"Ann Practitioner", "Tom"} {
			input := identity.EmployerInput{Profile: &identity.EmployerProfileInput{Name: &name}}
			_, err = env.UpdateEmployer(t.Context(), tom, input)
			require.NoError(t, err)
		}

		name, err := env.OrganizationName(t.Context(), founder.OrganizationID)
		require.NoError(t, err)
		require.Equal(t, "Ann Practitioner", name, "members without admin rights cannot rename the organization")

		// The founder changes only the own name, and then submits a form with both names.
		account, err := env.UpdateEmployer(t.Context(), founder,
			identity.EmployerInput{Profile: &identity.EmployerProfileInput{Name: ptr("Ann Married")}})
		require.NoError(t, err)
		require.Equal(t, "Ann Married", account.Organization.Name)

		account, err = env.UpdateEmployer(t.Context(), founder,
			identity.EmployerInput{
				Profile:     &identity.EmployerProfileInput{Name: ptr("Ann Again")},
				CompanyName: ptr("Ann Married"),
			})
		require.NoError(t, err)
		require.Equal(t, "Ann Again", account.Organization.Name, "a form sends all of its fields")

		// The deletion recognizes the shared name and replaces it.
		require.NoError(t, env.DeleteEmployerAccount(t.Context(), founder))

		name, err = env.OrganizationName(t.Context(), founder.OrganizationID)
		require.NoError(t, err)
		require.Equal(t, "Closed organization", name)
	})
}
