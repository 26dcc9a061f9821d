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

// TestDeleteAccount_SessionsAndLinks_AreRefused checks that nothing of a deleted account can be used
// any more: its sessions, its password, and a link that confirms another address.
func TestDeleteAccount_SessionsAndLinks_AreRefused(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		jo := env.jobseeker("jo@example.org")
		actor := env.actor(jo)
		require.NoError(t, env.ChangeEmail(t.Context(), actor, "jo@elsewhere.example"))

		changeToken := env.mailToken("jo@elsewhere.example")
		require.NoError(t, env.DeleteAccount(t.Context(), actor))
		env.requireSignedOut(jo)

		_, err := env.login("jo@example.org", password)
		require.ErrorIs(t, err, identity.ErrBadCredentials)
		require.ErrorIs(t, env.verifyEmail(changeToken), fault.ErrInvalid)
		require.ErrorIs(t, env.DeleteAccount(t.Context(), actor), fault.ErrUnauthorized, "a repeated deletion")
	})
}

// TestDeleteAccount_InvitedUser_IsNotVisible checks that a deleted user, who was invited to an
// organization, is neither among its members nor found by the id.
func TestDeleteAccount_InvitedUser_IsNotVisible(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		jo := env.jobseeker("jo@example.org")
		boss := env.actor(env.employer("boss@example.org"))
		require.NoError(t, env.invite(boss, "jo@example.org", defaultRole))
		require.NoError(t, env.DeleteAccount(t.Context(), env.actor(jo)))

		people, err := env.People(t.Context(), []string{jo.Account.ID})
		require.NoError(t, err)
		require.Empty(t, people)

		team, err := env.Team(t.Context(), boss, page.Request{Number: 1, Size: 10})
		require.NoError(t, err)
		require.Len(t, team.Items, 1, "only the admin: the invitation is deleted with the user")
	})
}

// TestDeleteAccount_Address_IsAvailable checks that the address of a deleted account can be registered
// again. An invitation of the user and a pending change of the address do not prevent it.
func TestDeleteAccount_Address_IsAvailable(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		jo := env.jobseeker("jo@example.org")
		boss := env.actor(env.employer("boss@example.org"))
		require.NoError(t, env.invite(boss, "jo@example.org", defaultRole))
		require.NoError(t, env.ChangeEmail(t.Context(), env.actor(jo), "jo@elsewhere.example"))
		require.NoError(t, env.DeleteAccount(t.Context(), env.actor(jo)))

		newAccount := env.jobseeker("jo@example.org")
		require.NotEqual(t, jo.Account.ID, newAccount.Account.ID)
	})
}

// TestDeleteAccount_EventIsPublishedTwice checks that a deletion publishes AccountDeleted at once, and
// that a task publishes it again a minute later. The second event is for rows that a concurrent request
// has stored after the deletion, such as the invitation in this test.
func TestDeleteAccount_EventIsPublishedTwice(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		jo := env.jobseeker("jo@example.org")
		boss := env.actor(env.employer("boss@example.org"))
		require.NoError(t, env.DeleteAccount(t.Context(), env.actor(jo)))

		env.handleEvents()
		require.Len(t, env.deleted.events, 1)
		require.Equal(t, jo.Account.ID, env.deleted.events[0].UserID)
		require.Equal(t, "jobseeker", env.deleted.events[0].Kind)

		// A concurrent request that read the account before its deletion stores an invitation.
		invitation := identity.NewInvitation(stores.NewID(), boss.OrganizationID, jo.Account.ID, "Jo",
			"jo@example.org", identity.Viewer, env.clock.Now())
		stored := invitation
		require.NoError(t, env.store.Identity.Members.Upsert(t.Context(), &stored))

		// A minute later, the task publishes the second event and deletes the invitation.
		env.clock.Advance(time.Minute)
		env.work.All(t)
		require.Len(t, env.deleted.events, 2)

		err := env.store.Identity.Members.Upsert(t.Context(), &invitation)
		require.NoError(t, err, "the stored invitation was deleted, so that the same one can be stored")
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

// TestDeleteAccount_LoginAtOnce_LeavesNoSession checks sign-ins that run at the same time as a
// deletion: each of them either fails, or its session is ended by the deletion.
func TestDeleteAccount_LoginAtOnce_LeavesNoSession(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		actor := env.actor(env.jobseeker("jo@example.org"))
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

		// The sign-ins that succeeded have no session any more.
		for i, err := range loginErrs {
			hasSignedIn := err == nil
			if hasSignedIn {
				env.requireSignedOut(signedIn[i])
			}
		}
	})
}

// TestDeleteAccount_Member_KeepsOrganization checks that the deletion of a recruiter's account ends
// the recruiter's sessions and membership. The organization and the admin's session continue.
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

// TestDeleteAccount_OneOfSeveralAdmins_KeepsOrganization checks that an admin who deletes the account
// does not close the organization if it has another admin.
func TestDeleteAccount_OneOfSeveralAdmins_KeepsOrganization(t *testing.T) {
	env := newSQLiteEnv(t)
	boss := env.actor(env.employer("boss@example.org"))
	second := env.addMember(boss, "second@example.org", "admin")
	require.NoError(t, env.DeleteEmployerAccount(t.Context(), boss))
	require.Equal(t, boss.OrganizationID, env.actor(second).OrganizationID)
}

// TestDeleteAccount_LastAdmin_ClosesOrganization checks that an organization is closed with the
// account of its last admin, because no user could add members any more. Its memberships and
// invitations end. Its name stays, because applicants still see it.
func TestDeleteAccount_LastAdmin_ClosesOrganization(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		bossSession := env.employer("boss@example.org")
		boss := env.actor(bossSession)
		tom := env.addMember(boss, "tom@example.org", "recruiter")
		require.NoError(t, env.invite(boss, "new@example.org", defaultRole))

		invitationToken := env.mailToken("new@example.org")

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
		_, err = env.accept(env.actor(tomLater), invitationToken)
		require.ErrorIs(t, err, fault.ErrInvalid)

		err = env.DeleteAccount(t.Context(), env.actor(tomLater))
		require.NoError(t, err, "an account without an organization can be deleted, too")
	})
}

// formerMembers returns two former members of an organization that was closed. Tom's account was
// created by accepting the invitation to this organization. Fay registered as an employer, and left the
// organization that she had founded to join this one.
func (e *testEnv) formerMembers() (tom, fay auth.Actor) {
	e.t.Helper()

	// Tom gets an account by accepting an invitation.
	boss := e.actor(e.employer("boss@example.org"))
	require.Equal(e.t, auth.EmployerTeam, e.actor(e.addMember(boss, "tom@example.org", "recruiter")).Role)

	// The organization that Fay has founded continues without her, because the heir is an admin.
	founder := e.actor(e.employer("fay@example.org"))
	e.addMember(founder, "heir@example.org", "admin")
	require.NoError(e.t, e.invite(boss, "fay@example.org", defaultRole))

	_, err := e.accept(founder, e.mailToken("fay@example.org"))
	require.NoError(e.t, err)

	// The account of the only admin is deleted, which closes the organization.
	require.NoError(e.t, e.DeleteEmployerAccount(e.t.Context(), boss))

	return e.signedInAs("tom@example.org"), e.signedInAs("fay@example.org")
}

// signedInAs signs in with the password and returns the caller of the new session's requests.
func (e *testEnv) signedInAs(email string) auth.Actor {
	e.t.Helper()

	signedIn, err := e.login(email, password)
	require.NoError(e.t, err)

	return e.actor(signedIn)
}

// TestCloseOrganization_FormerMembers_HaveRoleOfRegistration checks the roles of former members of a
// closed organization. A member who has never registered becomes a jobseeker. A member who registered
// as an employer keeps that role.
func TestCloseOrganization_FormerMembers_HaveRoleOfRegistration(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		tom, fay := env.formerMembers()
		require.Equal(t, auth.Jobseeker, tom.Role)
		require.True(t, tom.Seeker)
		require.Equal(t, auth.Employer, fay.Role)
		require.False(t, fay.Seeker)
	})
}

// TestCloseOrganization_FormerMembers_CanJoinAnother checks that former members of a closed
// organization can join another one. Tom, who has become a jobseeker, then remains a jobseeker.
func TestCloseOrganization_FormerMembers_CanJoinAnother(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		tom, fay := env.formerMembers()
		other := env.actor(env.employer("other@example.org"))

		for email, actor := range map[string]auth.Actor{"tom@example.org": tom, "fay@example.org": fay} {
			require.NoError(t, env.invite(other, email, defaultRole), email)

			signedIn, err := env.accept(actor, env.mailToken(email))
			require.NoError(t, err, email)

			member := env.actor(signedIn)
			require.Equal(t, other.OrganizationID, member.OrganizationID, email)
			require.Equal(t, auth.EmployerTeam, member.Role, email)
		}

		require.True(t, env.signedInAs("tom@example.org").Seeker)
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
// does not keep the name of its last admin, which is personal data.
func TestDeleteAccount_OrganizationNamedAfterUser_NameIsErased(t *testing.T) {
	env := newSQLiteEnv(t)
	founder := env.actor(env.employerWithoutCompany("solo@example.org"))
	require.NoError(t, env.DeleteEmployerAccount(t.Context(), founder))

	name, err := env.OrganizationName(t.Context(), founder.OrganizationID)
	require.NoError(t, err)
	require.Equal(t, "Closed organization", name)
}

// TestDeleteEmployerAccount_Jobseeker_KeepsAccount checks that a jobseeker who has joined an
// organization leaves it by deleting the employer account, and remains a jobseeker. The earlier
// session ends.
func TestDeleteEmployerAccount_Jobseeker_KeepsAccount(t *testing.T) {
	env := newSQLiteEnv(t)
	boss, jo := env.actor(env.employer("boss@example.org")), env.jobseeker("jo@example.org")
	require.NoError(t, env.invite(boss, "jo@example.org", defaultRole))

	_, err := env.accept(env.actor(jo), env.mailToken("jo@example.org"))
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

	// Jo becomes an admin of the organization, and the only one when the founder leaves.
	require.NoError(t, env.invite(founder, "jo@example.org", "admin"))

	_, err := env.accept(env.actor(jo), env.mailToken("jo@example.org"))
	require.NoError(t, err)
	require.NoError(t, env.DeleteEmployerAccount(t.Context(), founder))

	tom := env.addMember(env.actor(jo), "tom@example.org", "viewer")

	// Jo deletes the account, which also signs out the other member.
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

// TestUpdateAccount_MemberRenamed_OrganizationKeepsName checks that a member who is not an admin does
// not rename the organization, not even by taking its name and then another one.
func TestUpdateAccount_MemberRenamed_OrganizationKeepsName(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		founder := env.actor(env.employerWithoutCompany("solo@example.org"))
		tom := env.actor(env.addMember(founder, "tom@example.org", "recruiter"))

		for _, name := range []string{"Ann Practitioner", "Tom"} {
			input := identity.EmployerInput{Profile: &identity.EmployerProfileInput{Name: &name}}
			_, err := env.UpdateEmployer(t.Context(), tom, input)
			require.NoError(t, err, name)
		}

		name, err := env.OrganizationName(t.Context(), founder.OrganizationID)
		require.NoError(t, err)
		require.Equal(t, "Ann Practitioner", name)
	})
}

// TestUpdateAccount_FounderRenamed_OrganizationFollows checks that an organization with the name of its
// admin is renamed with the admin. The deletion of the account replaces the organization's name only
// if both names are equal. If they differed, the earlier name of the person would stay public.
func TestUpdateAccount_FounderRenamed_OrganizationFollows(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		founder := env.actor(env.employerWithoutCompany("solo@example.org"))

		// The founder changes only the own name.
		account, err := env.UpdateEmployer(t.Context(), founder,
			identity.EmployerInput{Profile: &identity.EmployerProfileInput{Name: ptr("Ann Married")}})
		require.NoError(t, err)
		require.Equal(t, "Ann Married", account.Organization.Name)

		// The founder submits a form with a new name and the unchanged company name.
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

		name, err := env.OrganizationName(t.Context(), founder.OrganizationID)
		require.NoError(t, err)
		require.Equal(t, "Closed organization", name)
	})
}
