package identity_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/modules/identity"
	"github.com/locumhq/locum/test/kit"
)

// defaultRole leaves the role of an invitation to the service, which chooses recruiter.
const defaultRole = ""

// invite invites the address under the name Me Mber.
func (e *testEnv) invite(admin auth.Actor, email, role string) error {
	return e.Invite(e.t.Context(), admin, identity.InviteInput{Name: "Me Mber", Email: email, Role: role})
}

// accept accepts an invitation as the actor, with the token from the mail (mailToken). The password
// is used for a new account only.
func (e *testEnv) accept(actor auth.Actor, token string) (identity.SignedIn, error) {
	input := identity.AcceptInvitationInput{Token: token, Password: password}
	return e.AcceptInvitation(e.t.Context(), actor, input, officeClient)
}

// team returns the members of the actor's organization by address. It requires that they fit
// into one page.
func (e *testEnv) team(actor auth.Actor) map[string]identity.Member {
	e.t.Helper()

	result, err := e.Team(e.t.Context(), actor, page.Request{Number: 1, Size: 100})
	require.NoError(e.t, err)
	require.Equal(e.t, len(result.Items), result.Total)

	byEmail := map[string]identity.Member{}
	for _, member := range result.Items {
		byEmail[member.Email] = member
	}

	return byEmail
}

// roleInput returns an input of ChangePermissions that changes only the role.
func roleInput(role string) identity.ChangePermissionsInput {
	return identity.ChangePermissionsInput{Role: role}
}

// TestInvite_NewAddress_IsListedAndKeepsID checks that an invited user without an account has an id
// already, so that an admin can change the permissions before the user accepts. The account that
// the user creates keeps the id.
func TestInvite_NewAddress_IsListedAndKeepsID(t *testing.T) {
	env := newSQLiteEnv(t)
	admin := env.actor(env.employer("boss@example.org"))
	require.NoError(t, env.invite(admin, "New@Example.org", defaultRole))

	invited := env.team(admin)["New@example.org"]
	require.Equal(t, identity.Recruiter, invited.Role)
	require.Equal(t, identity.MemberInvited, invited.Status)

	// The admin changes the role before the user accepts. The user cannot sign in yet.
	_, err := env.ChangePermissions(t.Context(), admin, invited.UserID, roleInput("viewer"))
	require.NoError(t, err)

	const noPassword = ""

	_, err = env.login("new@example.org", noPassword)
	require.Error(t, err, "the invited user has no account yet")

	// The account keeps the id and has the changed role.
	signedIn, err := env.accept(guest, env.mailToken("New@example.org"))
	require.NoError(t, err)
	require.Equal(t, invited.UserID, signedIn.Account.ID)
	require.Equal(t, "Me Mber", signedIn.Account.Name)

	actor := env.actor(signedIn)
	require.Equal(t, auth.EmployerTeam, actor.Role)
	require.False(t, actor.Seeker)
	require.Equal(t, admin.OrganizationID, actor.OrganizationID)
	require.Equal(t, []auth.Permission{auth.ApplicationsView}, actor.Permissions)
	require.Equal(t, identity.MemberActive, env.team(actor)["New@example.org"].Status)

	_, err = env.login("new@example.org", password)
	require.NoError(t, err)

	user, err := env.store.Identity.Users.GetForUpdate(t.Context(), invited.UserID)
	require.NoError(t, err)
	require.False(t, user.EmailVerifiedAt.IsZero(), "the mailed token verifies the address")
}

// TestInvite_RegistersInstead_KeepsID checks that a registration with an invited address does
// not join the organization: only the mailed token, together with the account, does.
func TestInvite_RegistersInstead_KeepsID(t *testing.T) {
	env := newSQLiteEnv(t)
	admin := env.actor(env.employer("boss@example.org"))
	require.NoError(t, env.invite(admin, "new@example.org", defaultRole))

	token := env.mailToken("new@example.org")
	registered := env.jobseeker("new@example.org")
	require.Equal(t, env.team(admin)["new@example.org"].UserID, registered.Account.ID)
	require.Empty(t, env.actor(registered).OrganizationID, "knowing an invited address is not sufficient")

	_, err := env.accept(guest, token)
	require.ErrorIs(t, err, identity.ErrSignInToAccept)

	joined, err := env.accept(env.actor(registered), token)
	require.NoError(t, err)
	require.Equal(t, admin.OrganizationID, env.actor(joined).OrganizationID)
}

// TestAcceptInvitation_Jobseeker_RemainsJobseeker checks that only the invited user, signed in, can
// accept an invitation of an existing account. The user remains a jobseeker, and has the permissions
// of the invitation in the new session and in the earlier one.
func TestAcceptInvitation_Jobseeker_RemainsJobseeker(t *testing.T) {
	env := newSQLiteEnv(t)
	admin := env.actor(env.employer("boss@example.org"))
	seeker := env.jobseeker("jo@example.org")
	env.handleEvents() // so that the invitation is the newest mail
	require.NoError(t, env.invite(admin, "JO@example.org", "recruiter"))

	member := env.team(admin)["JO@example.org"]
	require.Equal(t, seeker.Account.ID, member.UserID)
	require.Equal(t, "Me Mber", member.Name, "the inviter does not see the account's name")

	// Neither a guest nor another account can accept.
	token := env.mailToken("jo@example.org")
	_, err := env.accept(guest, token)
	require.ErrorIs(t, err, identity.ErrSignInToAccept)

	_, err = env.accept(env.actor(env.jobseeker("al@example.org")), token)
	require.ErrorIs(t, err, identity.ErrForAnotherAccount)

	// The invited user accepts.
	signedIn, err := env.AcceptInvitation(t.Context(), env.actor(seeker), identity.AcceptInvitationInput{Token: token}, officeClient)
	require.NoError(t, err, "a signed-in user needs no new password")

	for _, session := range []identity.SignedIn{signedIn, seeker} { // the new session and the earlier one
		actor := env.actor(session)
		require.True(t, actor.Seeker, "the user remains a jobseeker")
		require.Equal(t, auth.EmployerTeam, actor.Role)

		// The permissions of a recruiter.
		require.True(t, actor.May(auth.JobsCreate))
		require.False(t, actor.May(auth.JobsDelete))
		require.False(t, actor.May(auth.Manage))
	}

	require.Equal(t, "Jo Seeker", env.team(admin)["jo@example.org"].Name, "a member is listed with the account's name")

	_, err = env.accept(env.actor(seeker), token)
	require.ErrorIs(t, err, fault.ErrInvalid, "an invitation can be accepted once")
}

// TestAcceptInvitation_OtherMember_Moves checks that accepting the invitation of another organization ends
// the membership in the one before.
func TestAcceptInvitation_OtherMember_Moves(t *testing.T) {
	env := newSQLiteEnv(t)
	old, next := env.actor(env.employer("old@example.org")), env.actor(env.employer("next@example.org"))
	moving := env.addMember(old, "jo@example.org", defaultRole)
	require.NoError(t, env.invite(next, "jo@example.org", defaultRole))

	_, err := env.accept(env.actor(moving), env.mailToken("jo@example.org"))
	require.NoError(t, err)
	require.Equal(t, next.OrganizationID, env.actor(moving).OrganizationID)
	require.NotContains(t, env.team(old), "jo@example.org")

	_, err = env.Permissions(t.Context(), old, moving.Account.ID)
	require.ErrorIs(t, err, identity.ErrNotInTeam)
}

// TestAcceptInvitation_LastAdmin_MovesOnlyWithHeir checks that the founder of an organization can move to
// another one only after the organization has another admin. A founder is an admin of the own organization
// only.
func TestAcceptInvitation_LastAdmin_MovesOnlyWithHeir(t *testing.T) {
	env := newSQLiteEnv(t)
	founder, next := env.actor(env.employer("founder@example.org")), env.actor(env.employer("next@example.org"))
	require.NoError(t, env.invite(next, "founder@example.org", defaultRole))

	token := env.mailToken("founder@example.org")
	_, err := env.accept(founder, token)
	require.ErrorIs(t, err, identity.ErrLastAdmin)

	env.addMember(founder, "heir@example.org", "admin")

	movedFounder, err := env.accept(founder, token)
	require.NoError(t, err)
	require.Equal(t, auth.EmployerTeam, env.actor(movedFounder).Role)
}

// TestInvite_Twice_ConflictUntilExpired checks that an organization can invite a user again
// after 7 days, when the link of the first invitation has expired.
func TestInvite_Twice_ConflictUntilExpired(t *testing.T) {
	env := newSQLiteEnv(t)
	admin := env.actor(env.employer("boss@example.org"))
	other := env.actor(env.employer("other@example.org"))

	// A second invitation by the same organization is refused; one by another organization is not.
	require.NoError(t, env.invite(admin, "new@example.org", "viewer"))
	require.ErrorIs(t, env.invite(admin, "NEW@example.org", defaultRole), identity.ErrAlreadyInTeam)
	require.ErrorIs(t, env.invite(admin, "boss@example.org", defaultRole), identity.ErrAlreadyInTeam)
	require.NoError(t, env.invite(other, "new@example.org", defaultRole), "another organization can invite the user")
	require.Equal(t,
		env.team(admin)["new@example.org"].UserID, env.team(other)["new@example.org"].UserID,
		"both organizations have invited the same user")

	// Handlers of events send the invitations. mailsTo calls them, and sentTo does not.
	require.Empty(t, env.mailer.sentTo("new@example.org"), "no message is sent before the events are handled")

	// The first message is the invitation by admin, and the second one is the invitation by other.
	expired := mailTokenPattern.FindString(env.mailsTo("new@example.org")[0].Text)

	// After 7 days, the link has expired, and the user can be invited again.
	env.clock.Advance(invitationLife)

	_, err := env.accept(guest, expired)
	require.ErrorIs(t, err, fault.ErrInvalid)

	signedIn, err := env.login("boss@example.org", password) // the earlier access token has expired
	require.NoError(t, err)
	require.NoError(t, env.invite(env.actor(signedIn), "new@example.org", "admin"))

	joined, err := env.accept(guest, env.mailToken("new@example.org"))
	require.NoError(t, err)
	require.True(t, env.actor(joined).May(auth.Manage))
}

// TestInvite_InvalidInput_EachFieldIsNamed checks that the error for an invitation names all invalid fields.
func TestInvite_InvalidInput_EachFieldIsNamed(t *testing.T) {
	env := newSQLiteEnv(t)
	admin := env.actor(env.employer("boss@example.org"))
	err := env.Invite(t.Context(), admin, identity.InviteInput{Email: "x", Role: "emperor"})
	require.Len(t, fault.Of(err).Fields, 3, "the missing name, the invalid address and the unknown role")
}

// TestAcceptInvitation_InvalidInput_TokenRemainsValid checks that invalid inputs are refused, and that they
// do not use up the token. The case of the role in the invitation does not matter.
func TestAcceptInvitation_InvalidInput_TokenRemainsValid(t *testing.T) {
	env := newSQLiteEnv(t)
	admin := env.actor(env.employer("boss@example.org"))
	require.NoError(t, env.invite(admin, "new@example.org", "VIEWER"))

	token := env.mailToken("new@example.org")
	for name, input := range map[string]identity.AcceptInvitationInput{
		"no token":      {},
		"unknown token": {Token: "loc_mt_unknown", Password: password},
		"no password":   {Token: token},
		"weak password": {Token: token, Password: "weak"},
		"invalid name":  {Token: token, Password: password, Name: "a\nb"},
	} {
		_, err := env.AcceptInvitation(t.Context(), guest, input, officeClient)
		require.ErrorIs(t, err, fault.ErrInvalid, name)
	}

	valid := identity.AcceptInvitationInput{Token: token, Password: password, Name: "Newt"}
	signedIn, err := env.AcceptInvitation(t.Context(), guest, valid, officeClient)
	require.NoError(t, err)
	require.Equal(t, "Newt", signedIn.Account.Name)
}

// singlePermissions is an input of ChangePermissions that changes three permissions and no role.
var singlePermissions = identity.ChangePermissionsInput{Permissions: &identity.PermissionsInput{
	Jobs:         &identity.JobPermissionsInput{Delete: ptr(true), Create: ptr(false)},
	Applications: &identity.ApplicationPermissionsInput{Update: ptr(false)},
}}

// TestPermissions_NewRole_HasDefaults checks that a new role sets its default permissions, which replace
// those of the role before.
func TestPermissions_NewRole_HasDefaults(t *testing.T) {
	env := newSQLiteEnv(t)
	admin := env.actor(env.employer("boss@example.org"))
	viewer := env.addMember(admin, "jo@example.org", "viewer")

	member, err := env.ChangePermissions(t.Context(), admin, viewer.Account.ID, roleInput("recruiter"))
	require.NoError(t, err)
	require.Equal(t, identity.Recruiter.Defaults(), member.Permissions)
}

// TestPermissions_SinglePermissions_AreChanged checks that single permissions of a recruiter can be changed,
// and that they apply from the next request on. The role stays. An empty input changes nothing.
func TestPermissions_SinglePermissions_AreChanged(t *testing.T) {
	env := newSQLiteEnv(t)
	admin := env.actor(env.employer("boss@example.org"))
	recruiter := env.addMember(admin, "jo@example.org", "recruiter")

	// The permissions of a recruiter with the changes of singlePermissions.
	want := identity.Permissions{
		Jobs:         identity.JobPermissions{Update: true, Delete: true},
		Applications: identity.ApplicationPermissions{View: true},
	}

	member, err := env.ChangePermissions(t.Context(), admin, recruiter.Account.ID, singlePermissions)
	require.NoError(t, err)
	require.Equal(t, want, member.Permissions)
	require.Equal(t, identity.Recruiter, member.Role)

	current, err := env.Permissions(t.Context(), env.actor(recruiter), recruiter.Account.ID)
	require.NoError(t, err)
	require.Equal(t, want, current.Permissions)
	require.Equal(t, want.List(), env.actor(recruiter).Permissions)

	member, err = env.ChangePermissions(t.Context(), admin, recruiter.Account.ID, identity.ChangePermissionsInput{})
	require.NoError(t, err)
	require.Equal(t, want, member.Permissions)
}

// TestPermissions_InvalidChange_IsRefused checks that an admin always has all permissions, and that an
// unknown role cannot be set.
func TestPermissions_InvalidChange_IsRefused(t *testing.T) {
	env := newSQLiteEnv(t)
	admin := env.actor(env.employer("boss@example.org"))
	recruiter := env.addMember(admin, "jo@example.org", "recruiter")

	_, err := env.ChangePermissions(t.Context(), admin, admin.UserID, singlePermissions)
	require.ErrorIs(t, err, fault.ErrInvalid, "single permissions of an admin")

	_, err = env.ChangePermissions(t.Context(), admin, recruiter.Account.ID, roleInput("emperor"))
	require.ErrorIs(t, err, fault.ErrInvalid, "an unknown role")
}

// TestMemberMay_PermissionsChanged_AreCurrent checks MemberMay, with which other modules ask for a
// permission of a member. Only active members have permissions, and a change applies at once.
func TestMemberMay_PermissionsChanged_AreCurrent(t *testing.T) {
	env := newSQLiteEnv(t)
	boss := env.actor(env.employer("boss@example.org"))
	rival := env.actor(env.employer("rival@example.org"))
	require.NoError(t, env.invite(boss, "viewer@example.org", "viewer"))

	viewerID := env.team(boss)["viewer@example.org"].UserID
	may := func(organization, user string, p auth.Permission) bool {
		t.Helper()

		isPermitted, err := env.MemberMay(t.Context(), organization, user, p)
		require.NoError(t, err)

		return isPermitted
	}

	require.False(t, may(boss.OrganizationID, viewerID, auth.AnyPermission), "an invited user is not a member yet")

	_, err := env.accept(guest, env.mailToken("viewer@example.org"))
	require.NoError(t, err)

	// After the acceptance, the user has the permissions of a viewer, and after the change those of a recruiter.
	require.True(t, may(boss.OrganizationID, viewerID, auth.AnyPermission))
	require.True(t, may(boss.OrganizationID, viewerID, auth.ApplicationsView))
	require.False(t, may(boss.OrganizationID, viewerID, auth.ApplicationsUpdate))

	_, err = env.ChangePermissions(t.Context(), boss, viewerID, roleInput("recruiter"))
	require.NoError(t, err)
	require.True(t, may(boss.OrganizationID, viewerID, auth.ApplicationsUpdate))
	require.True(t, may(boss.OrganizationID, boss.UserID, auth.Manage))

	// A user of another organization and an unknown id have no permission, nor has the admin in another organization.
	idOfNoUser := boss.OrganizationID
	for _, userID := range []string{rival.UserID, idOfNoUser} {
		require.False(t, may(boss.OrganizationID, userID, auth.AnyPermission), "not a member")
	}

	require.False(t, may(rival.OrganizationID, boss.UserID, auth.AnyPermission))
}

// TestTeam_NotAdmin_Forbidden checks that only admins can change the team, and that only members can
// read it. kit.Refusal returns the expected error: guests have to sign in, others are forbidden.
func TestTeam_NotAdmin_Forbidden(t *testing.T) {
	env := newSQLiteEnv(t)
	admin := env.actor(env.employer("boss@example.org"))
	jobseeker := env.actor(env.jobseeker("jo@example.org"))
	recruiter := env.actor(env.addMember(admin, "r@example.org", "recruiter"))
	viewer := env.actor(env.addMember(admin, "v@example.org", "viewer"))

	// None of these users may change the team.
	for _, actor := range []auth.Actor{guest, jobseeker, recruiter, viewer} {
		require.ErrorIs(t, env.invite(actor, "new@example.org", defaultRole), kit.Refusal(actor))

		_, err := env.ChangePermissions(t.Context(), actor, admin.UserID, roleInput("viewer"))
		require.ErrorIs(t, err, kit.Refusal(actor))
	}

	// Users outside of the organization may not even read it.
	for _, actor := range []auth.Actor{guest, jobseeker} {
		_, err := env.Team(t.Context(), actor, page.Request{Number: 1, Size: 10})
		require.ErrorIs(t, err, kit.Refusal(actor))

		_, err = env.Permissions(t.Context(), actor, admin.UserID)
		require.ErrorIs(t, err, kit.Refusal(actor))
	}
}

// TestTeam_OtherOrUnknownMember_NotFound checks that an admin gets the same error for a user of
// another organization as for an id that does not exist.
func TestTeam_OtherOrUnknownMember_NotFound(t *testing.T) {
	env := newSQLiteEnv(t)
	admin := env.actor(env.employer("boss@example.org"))
	foreign := env.actor(env.employer("other@example.org"))

	jobseeker := env.jobseeker("jo@example.org").Account
	for _, userID := range []string{foreign.UserID, jobseeker.ID, unknownID, "x", ""} {
		_, err := env.Permissions(t.Context(), admin, userID)
		require.ErrorIs(t, err, identity.ErrNotInTeam, "%q", userID)

		_, err = env.ChangePermissions(t.Context(), admin, userID, roleInput("viewer"))
		require.ErrorIs(t, err, identity.ErrNotInTeam, "%q", userID)
	}

	require.NotContains(t, env.team(foreign), "boss@example.org")
}

// TestPermissions_LastAdmin_Conflict checks that the only admin cannot become a viewer until
// another admin has accepted the invitation.
func TestPermissions_LastAdmin_Conflict(t *testing.T) {
	env := newSQLiteEnv(t)
	admin := env.actor(env.employer("boss@example.org"))
	require.NoError(t, env.invite(admin, "new@example.org", "admin"))

	_, err := env.ChangePermissions(t.Context(), admin, admin.UserID, roleInput("viewer"))
	require.ErrorIs(t, err, identity.ErrLastAdmin, "an invited admin is not an admin yet")

	_, err = env.accept(guest, env.mailToken("new@example.org"))
	require.NoError(t, err)

	_, err = env.ChangePermissions(t.Context(), admin, admin.UserID, roleInput("viewer"))
	require.NoError(t, err)
}

// TestPermissions_AdminsDemoteEachOther_OneRemains checks that two admins who demote each other
// at the same time do not leave the organization without an admin.
func TestPermissions_AdminsDemoteEachOther_OneRemains(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		one := env.actor(env.employer("one@example.org"))
		two := env.actor(env.addMember(one, "two@example.org", "admin"))
		demote := func(by, member auth.Actor) error {
			_, err := env.ChangePermissions(t.Context(), by, member.UserID, roleInput("viewer"))
			return err
		}

		for range 10 { // both orders occur in most runs
			var errOfOne, errOfTwo error // of the demotion by one, and by two
			atOnce(
				func() { errOfOne = demote(one, two) },
				func() { errOfTwo = demote(two, one) },
			)

			remaining, demoted := one, two

			wasOneFirst := errOfOne == nil
			if wasOneFirst {
				require.ErrorIs(t, errOfTwo, identity.ErrLastAdmin)
			} else {
				require.ErrorIs(t, errOfOne, identity.ErrLastAdmin)
				require.NoError(t, errOfTwo)

				remaining, demoted = two, one
			}

			// Both are admins again for the next attempt.
			_, err := env.ChangePermissions(t.Context(), remaining, demoted.UserID, roleInput("admin"))
			require.NoError(t, err)
		}
	})
}

// TestAcceptInvitation_BothAdminsAtOnce_OneRemains checks that two admins who leave for another
// organization at the same time do not leave theirs without an admin.
func TestAcceptInvitation_BothAdminsAtOnce_OneRemains(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		one := env.actor(env.employer("one@example.org"))
		two := env.actor(env.addMember(one, "two@example.org", "admin"))
		other := env.actor(env.employer("other@example.org"))
		require.NoError(t, env.invite(other, "one@example.org", defaultRole))
		require.NoError(t, env.invite(other, "two@example.org", defaultRole))

		tokenOfOne := env.mailToken("one@example.org")
		tokenOfTwo := env.mailToken("two@example.org")

		var errOfOne, errOfTwo error
		atOnce(
			func() { _, errOfOne = env.accept(one, tokenOfOne) },
			func() { _, errOfTwo = env.accept(two, tokenOfTwo) },
		)

		errs := []error{errOfOne, errOfTwo}
		require.Equal(t, 1, countErrors(errs, nil), "admins who have left: %v", errs)
		require.Equal(t, 1, countErrors(errs, identity.ErrLastAdmin), "admins who had to stay: %v", errs)
	})
}

// TestInvite_Concurrent_OneSucceedsPerOrganization checks that concurrent invitations of an
// unknown address create one invited user and one invitation of each organization.
func TestInvite_Concurrent_OneSucceedsPerOrganization(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		adminOfA := env.actor(env.employer("a@example.org"))
		adminOfB := env.actor(env.employer("b@example.org"))
		const (
			invitations   = 10
			organizations = 2
		)
		errs := concurrently(invitations, func(i int) error {
			admin := adminOfA
			if i%organizations == 1 {
				admin = adminOfB
			}

			return env.invite(admin, "new@example.org", defaultRole)
		})

		// One invitation of each organization succeeds.
		require.Equal(t, organizations, countErrors(errs, nil), "successes among %v", errs)
		require.Equal(t, invitations-organizations, countErrors(errs, identity.ErrAlreadyInTeam), "refusals among %v", errs)
		require.Equal(t, env.team(adminOfA)["new@example.org"].UserID, env.team(adminOfB)["new@example.org"].UserID)
	})
}

// TestAcceptInvitation_RegisterAtOnce_OneAccount checks that an invited user who accepts and
// registers at the same time gets one account, with the password of the successful request.
func TestAcceptInvitation_RegisterAtOnce_OneAccount(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		admin := env.actor(env.employer("boss@example.org"))
		for attempt := range 5 { // both orders occur in most runs
			email := fmt.Sprintf("new%d@example.org", attempt)
			require.NoError(t, env.invite(admin, email, defaultRole))

			token := env.mailToken(email)
			registration := identity.RegisterInput{
				Email:    email,
				Password: newPassword,
				Name:     "New",
				UserType: "jobseeker",
			}
			var acceptErr, registerErr error
			atOnce(
				func() { _, acceptErr = env.accept(guest, token) },
				func() { _, registerErr = env.Register(t.Context(), registration, officeClient) },
			)

			wasAcceptedFirst := acceptErr == nil
			if wasAcceptedFirst {
				require.ErrorIs(t, registerErr, identity.ErrEmailTaken)
			} else {
				require.ErrorIs(t, acceptErr, identity.ErrSignInToAccept)
				require.NoError(t, registerErr)
			}
		}
	})
}

// TestListTeam_Pages_InOrderOfInvitation checks that the pages of a team contain the members in the
// order of their invitation, whether they are read by number or by cursor. The admin is the first.
func TestListTeam_Pages_InOrderOfInvitation(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		admin := env.actor(env.employer("admin@example.org"))
		const (
			invited  = 6
			pageSize = 3 // three pages for seven members
		)

		want := []string{"admin@example.org"}
		for i := range invited {
			email := fmt.Sprintf("m%d@example.org", i)
			require.NoError(t, env.invite(admin, email, defaultRole))

			want = append(want, email)
		}

		// Read the pages by number. The fourth one is empty.
		var byNumber []string
		for number := 1; number <= 4; number++ {
			result, err := env.Team(t.Context(), admin, page.Request{Number: number, Size: pageSize})
			require.NoError(t, err)
			require.Equal(t, len(want), result.Total, "total of page %d", number)

			for _, member := range result.Items {
				byNumber = append(byNumber, member.Email)
			}
		}

		require.Equal(t, want, byNumber)

		// Read the pages by cursor.
		var byCursor []string

		cursor := ""
		for {
			result, err := env.Team(t.Context(), admin, page.Request{Number: 1, Size: pageSize, Cursor: cursor})
			require.NoError(t, err)

			for _, member := range result.Items {
				byCursor = append(byCursor, member.Email)
			}

			cursor = result.NextCursor

			isLastPage := cursor == ""
			if isLastPage {
				break
			}
		}

		require.Equal(t, want, byCursor)
	})
}

// TestListTeam_UnknownCursor_IsRefused checks a cursor that no page has returned.
func TestListTeam_UnknownCursor_IsRefused(t *testing.T) {
	env := newSQLiteEnv(t)
	admin := env.actor(env.employer("admin@example.org"))
	_, err := env.Team(t.Context(), admin, page.Request{Number: 1, Size: 10, Cursor: "x"})
	require.ErrorIs(t, err, fault.ErrInvalid)
}

// TestInvite_RecipientHasThreeToday_SendsNoMail checks that an address receives at most three
// invitations in a day from all organizations together. Further invitations are stored, but send no
// e-mail. They are not refused: an organization would then learn that others have invited the user.
func TestInvite_RecipientHasThreeToday_SendsNoMail(t *testing.T) {
	env := newSQLiteEnv(t)
	const maxMails = 3

	for i := range 5 {
		admin := env.actor(env.employer(fmt.Sprintf("boss%d@example.org", i)))
		require.NoError(t, env.invite(admin, "asha@example.org", defaultRole))
		require.ErrorIs(t, env.invite(admin, "asha@example.org", defaultRole), identity.ErrAlreadyInTeam)
		require.Contains(t, env.team(admin), "asha@example.org")

		wantMails := min(i+1, maxMails) // one for each invitation so far
		require.Len(t, env.mailsTo("asha@example.org"), wantMails)
	}

	// A day later, an invitation is mailed again.
	env.clock.Advance(24 * time.Hour)
	require.NoError(t, env.invite(env.actor(env.employer("later@example.org")), "asha@example.org", defaultRole))
	require.Len(t, env.mailsTo("asha@example.org"), maxMails+1)
}

// TestInvite_RecipientOptedOut_SendsNoMail checks the link in an invitation that ends all
// invitations to the address, of every organization and in every spelling.
func TestInvite_RecipientOptedOut_SendsNoMail(t *testing.T) {
	env := newSQLiteEnv(t)
	require.NoError(t, env.invite(env.actor(env.employer("boss@example.org")), "asha@example.org", defaultRole))

	// Find the token of the link in the invitation.
	text := env.newestMail("asha@example.org").Text
	beforeLink, afterLink, found := strings.Cut(text, "/unsubscribe?invitations=")
	require.True(t, found, text)
	require.Contains(t, beforeLink, "/accept-invitation?", "the link to accept comes first")

	token, err := url.QueryUnescape(strings.Fields(afterLink)[0])
	require.NoError(t, err)

	// Only this token ends the invitations.
	require.ErrorIs(t, env.OptOut(t.Context(), "nonsense"), fault.ErrUnauthorized)

	deviceToken, err := env.DeviceToken("asha@example.org")
	require.NoError(t, err)
	require.ErrorIs(t, env.OptOut(t.Context(), deviceToken), fault.ErrUnauthorized, "a token for another purpose")
	require.NoError(t, env.OptOut(t.Context(), token))
	require.NoError(t, env.OptOut(t.Context(), token), "a second click changes nothing")

	// Invitations by others send no e-mail to this address any more.
	other := env.actor(env.employer("other@example.org"))
	require.NoError(t, env.invite(other, "ASHA@example.org", defaultRole))
	require.NoError(t, env.invite(other, "jo@example.org", defaultRole))
	require.Len(t, env.mailsTo("asha@example.org"), 1, "only the invitation with the link")
	require.Len(t, env.mailsTo("jo@example.org"), 1, "another address still gets invitations")
}

// TestInvite_NamesHoldURLs_MailHasNone checks that an organization cannot send a link of its
// own to any address by putting it into a name: the e-mail replaces such names.
func TestInvite_NamesHoldURLs_MailHasNone(t *testing.T) {
	env := newSQLiteEnv(t)
	employer := identity.RegisterEmployerInput{
		Email:       "boss@example.org",
		Password:    password,
		Name:        "Em",
		CompanyName: "Claim at https://evil.example/x",
	}
	signedIn, err := env.Register(t.Context(), employer, officeClient)
	require.NoError(t, err)
	require.NoError(t, env.Invite(t.Context(), env.actor(signedIn), identity.InviteInput{
		Name:  "Jo www.evil.example",
		Email: "jo@example.org",
	}))

	invitation := env.newestMail("jo@example.org")
	for _, part := range []string{invitation.Subject, invitation.Text, invitation.HTML, invitation.To.Name} {
		require.NotContains(t, part, "evil.example", "a part of the e-mail")
	}
}
