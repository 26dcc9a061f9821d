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
// visible, and that its address becomes available.
//
// A deletion publishes AccountDeleted twice. The first event is published at once. A task publishes
// the second one a minute later, for rows that a concurrent request has stored after the deletion.
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

		// A concurrent request that read the account before its deletion stores an invitation. The
		// task that publishes the second event a minute later also deletes the invitation.
		invitation := identity.NewInvitation(stores.NewID(), boss.OrganizationID, jo.Account.ID, "Jo",
			"jo@example.org", identity.Viewer, env.clock.Now())
		stored := invitation
		require.NoError(t, env.store.Identity.Members.Upsert(t.Context(), &stored))
		env.clock.Advance(time.Minute)
		env.work.All(t)
		require.Len(t, env.deleted.events, 2)

		err = env.store.Identity.Members.Upsert(t.Context(), &invitation)
		require.NoError(t, err, "the stored invitation was deleted, so that the same one can be stored")

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
		const clicks = 20
		errs := concurrently(clicks, func(int) error { return env.DeleteAccount(t.Context(), jo) })
		require.Equal(t, 1, countErrors(errs, nil), "successes among %v", errs)
		require.Equal(t, clicks-1, countErrors(errs, fault.ErrUnauthorized), "refusals among %v", errs)

		env.handleEvents()
		require.Len(t, env.deleted.events, 1)
	})
}

// TestDeleteAccount_EndsEverySession checks sign-ins that run at the same time as a deletion: each of
// them either fails, or its session is ended by the deletion.
func TestDeleteAccount_EndsEverySession(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		jo := env.jobseeker("jo@example.org")
		actor := env.actor(jo)
		var deleteErr error
		var signedIn [10]identity.SignedIn // one for each concurrent sign-in
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
			hasSignedIn := err == nil
			if hasSignedIn {
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

// TestDeleteAccount_LastAdmin_ClosesOrganization checks that an organization is closed with the
// account of its last admin, because no user could add members any more. Its memberships and
// invitations end. Its name stays, because applicants still see it.
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
		require.Empty(t, env.actor(tomLater).OrganizationID, "the membership has ended")

		// The invitation is void, and the former member can delete the own account.
		_, err = env.AcceptInvitation(t.Context(), env.actor(tomLater), identity.AcceptInvitationInput{Token: invitation}, officeClient)
		require.ErrorIs(t, err, fault.ErrInvalid)
		require.NoError(t, env.DeleteAccount(t.Context(), env.actor(tomLater)), "an account without an organization can end too")
	})
}

// TestCloseOrganization_EmployerAccounts_BecomeJobseekers checks the roles of former members of a
// closed organization. Tom, whose account was created by accepting an invitation, becomes a jobseeker.
// Fay, who registered as an employer, keeps that role. Both can join another organization.
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

		// Fay has founded another organization. It continues without her, because the heir is an admin.
		founder := env.actor(env.employer("founder@example.org"))
		env.addMember(founder, "heir@example.org", "admin")
		require.NoError(t, env.Invite(t.Context(), boss, identity.InviteInput{Name: "Fay", Email: "founder@example.org"}))

		_, err := env.AcceptInvitation(t.Context(), founder,
			identity.AcceptInvitationInput{Token: env.mailToken("founder@example.org")}, officeClient)
		require.NoError(t, err)

		// The account of the only admin is deleted, which closes the organization.
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

// TestDeleteAccount_TwoAdminsAtOnce_SecondClosesOrganization checks that the organization is closed if
// its two admins delete their accounts at the same time, although each of them has another admin when
// the deletion begins. The remaining member is signed out.
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

// TestDeleteAccount_JobseekerIsLastAdmin_ClosesOrganization checks that an organization is also closed
// if its last admin has the account of a jobseeker and deletes it.
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
		errRollback := errors.New("the transaction is rolled back")
		err := env.store.Identity.Tx.Do(t.Context(), func(ctx context.Context) error {
			return errors.Join(env.DeleteEmployerAccount(ctx, boss), errRollback)
		})
		require.ErrorIs(t, err, errRollback)
		require.Equal(t, boss, env.actor(bossSession))

		env.handleEvents()
		require.Empty(t, env.deleted.events)
	})
}

// TestUpdateAccount_FounderRenamed_OrganizationFollows checks that an organization with the name of its
// admin is renamed with the admin. The deletion of the account replaces the organization's name only
// if both names are equal. If they differed, the earlier name of the person would stay public.
func TestUpdateAccount_FounderRenamed_OrganizationFollows(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		signedIn, err := env.Register(t.Context(),
			identity.RegisterInput{Email: "solo@example.org", Password: password, Name: "Ann Practitioner", UserType: "employer"},
			officeClient)
		require.NoError(t, err)

		founder := env.actor(signedIn)
		tom := env.actor(env.addMember(founder, "tom@example.org", "recruiter"))

		// Tom, who is no admin, takes the name of the organization, and then another name.
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
		require.Equal(t, "Ann Again", account.Organization.Name,
			"the unchanged company name of the form does not prevent the renaming")

		// The deletion recognizes the shared name and replaces it.
		require.NoError(t, env.DeleteEmployerAccount(t.Context(), founder))

		name, err = env.OrganizationName(t.Context(), founder.OrganizationID)
		require.NoError(t, err)
		require.Equal(t, "Closed organization", name)
	})
}
