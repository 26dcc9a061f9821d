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

// guest is the caller of a request without a session.
var guest auth.Actor

// invite invites Me Mber. An empty role is the default, recruiter.
func (e *testEnv) invite(admin auth.Actor, email, role string) error {
	return e.Invite(e.t.Context(), admin, identity.InviteInput{Name: "Me Mber", Email: email, Role: role})
}

// accept accepts an invitation. The password is used for a new account only.
func (e *testEnv) accept(a auth.Actor, token string) (identity.SignedIn, error) {
	return e.AcceptInvitation(e.t.Context(), a, identity.AcceptInvitationInput{Token: token, Password: password}, officeClient)
}

// team returns the team of the caller by address.
func (e *testEnv) team(a auth.Actor) map[string]identity.Member {
	e.t.Helper()
	r, err := e.Team(e.t.Context(), a, page.Request{Number: 1, Size: 100})
	require.NoError(e.t, err)
	require.Equal(e.t, len(r.Items), r.Total)
	out := map[string]identity.Member{}
	for _, m := range r.Items {
		out[m.Email] = m
	}
	return out
}

// changeInput returns an input that changes only the role.
func changeInput(role string) identity.ChangePermissionsInput {
	return identity.ChangePermissionsInput{Role: role}
}

// TestInvite_NewAddress_IsListedAndKeepsID checks that an invited user without an account has
// an id, which the account keeps, so that permissions can be changed before the user accepts.
func TestInvite_NewAddress_IsListedAndKeepsID(t *testing.T) {
	env := newSQLiteEnv(t)
	admin := env.actor(env.employer("boss@example.org"))
	require.NoError(t, env.invite(admin, "New@Example.org", ""))
	member := env.team(admin)["New@example.org"]
	require.Equal(t, identity.Recruiter, member.Role)
	require.Equal(t, identity.MemberInvited, member.Status)
	_, err := env.ChangePermissions(env.t.Context(), admin, member.UserID, changeInput("viewer"))
	require.NoError(t, err)
	_, err = env.login("new@example.org", "")
	require.Error(t, err, "the invited user has no account yet")

	s, err := env.accept(guest, env.mailToken("New@example.org"))
	require.NoError(t, err)
	require.Equal(t, member.UserID, s.Account.ID)
	require.Equal(t, "Me Mber", s.Account.Name)
	a := env.actor(s)
	require.Equal(t, auth.EmployerTeam, a.Role)
	require.False(t, a.Seeker)
	require.Equal(t, admin.OrganizationID, a.OrganizationID)
	require.Equal(t, []auth.Permission{auth.ApplicationsView}, a.Permissions)
	require.Equal(t, identity.MemberActive, env.team(a)["New@example.org"].Status)
	_, err = env.login("new@example.org", password)
	require.NoError(t, err)
	u, err := env.store.Identity.Users.GetForUpdate(env.t.Context(), member.UserID)
	require.NoError(t, err)
	require.False(t, u.EmailVerifiedAt.IsZero(), "the token came by mail")
}

// TestInvite_RegistersInstead_KeepsID checks that a registration with an invited address does
// not join the organization: only the mailed token, together with the account, does.
func TestInvite_RegistersInstead_KeepsID(t *testing.T) {
	env := newSQLiteEnv(t)
	admin := env.actor(env.employer("boss@example.org"))
	require.NoError(t, env.invite(admin, "new@example.org", ""))
	token := env.mailToken("new@example.org")
	s := env.jobseeker("new@example.org")
	require.Equal(t, env.team(admin)["new@example.org"].UserID, s.Account.ID)
	require.Empty(t, env.actor(s).OrganizationID, "knowing an invited address is not sufficient")
	_, err := env.accept(guest, token)
	require.ErrorIs(t, err, identity.ErrSignInToAccept)
	joined, err := env.accept(env.actor(s), token)
	require.NoError(t, err)
	require.Equal(t, admin.OrganizationID, env.actor(joined).OrganizationID)
}

// TestAcceptInvitation_Jobseeker_RemainsJobseeker checks that an account needs its own sign-in
// to accept an invitation, keeps its data as a jobseeker, and gets the permissions of the
// invitation in all of its sessions.
func TestAcceptInvitation_Jobseeker_RemainsJobseeker(t *testing.T) {
	env := newSQLiteEnv(t)
	admin := env.actor(env.employer("boss@example.org"))
	seeker := env.jobseeker("jo@example.org")
	env.mailsTo("")
	require.NoError(t, env.invite(admin, "JO@example.org", "recruiter"))
	m := env.team(admin)["JO@example.org"]
	require.Equal(t, seeker.Account.ID, m.UserID)
	require.Equal(t, "Me Mber", m.Name, "the inviter does not see the account's name")
	token := env.mailToken("jo@example.org")
	_, err := env.accept(guest, token)
	require.ErrorIs(t, err, identity.ErrSignInToAccept)
	_, err = env.accept(env.actor(env.jobseeker("al@example.org")), token)
	require.ErrorIs(t, err, identity.ErrForAnotherAccount)
	s, err := env.AcceptInvitation(env.t.Context(), env.actor(seeker), identity.AcceptInvitationInput{Token: token}, officeClient)
	require.NoError(t, err, "a signed-in user needs no new password")
	for _, either := range []identity.SignedIn{s, seeker} {
		a := env.actor(either)
		require.True(t, a.Seeker)
		require.Equal(t, auth.EmployerTeam, a.Role)
		require.True(t, a.May(auth.JobsCreate))
		require.False(t, a.May(auth.JobsDelete))
		require.False(t, a.May(auth.Manage))
	}
	require.Equal(t, "Jo Seeker", env.team(admin)["jo@example.org"].Name)
	_, err = env.accept(env.actor(seeker), token)
	require.ErrorIs(t, err, fault.ErrInvalid, "an invitation can be accepted once")
}

// TestAcceptInvitation_OtherMember_MovesUnlessLastAdmin checks that accepting ends the
// membership in another organization, which must not lose its last admin.
func TestAcceptInvitation_OtherMember_MovesUnlessLastAdmin(t *testing.T) {
	env := newSQLiteEnv(t)
	old, next := env.actor(env.employer("old@example.org")), env.actor(env.employer("next@example.org"))
	moving := env.addMember(old, "jo@example.org", "")
	require.NoError(t, env.invite(next, "jo@example.org", ""))
	_, err := env.accept(env.actor(moving), env.mailToken("jo@example.org"))
	require.NoError(t, err)
	require.Equal(t, next.OrganizationID, env.actor(moving).OrganizationID)
	require.NotContains(t, env.team(old), "jo@example.org")
	_, err = env.Permissions(env.t.Context(), old, moving.Account.ID)
	require.ErrorIs(t, err, identity.ErrNotInTeam)

	require.NoError(t, env.invite(next, "old@example.org", ""))
	token := env.mailToken("old@example.org")
	_, err = env.accept(old, token)
	require.ErrorIs(t, err, identity.ErrLastAdmin)
	env.addMember(old, "heir@example.org", "admin")
	s, err := env.accept(old, token)
	require.NoError(t, err)
	require.Equal(t, auth.EmployerTeam, env.actor(s).Role, "a founder is an admin of the own organization only")
}

// TestInvite_Twice_ConflictUntilExpired checks that an organization can invite a user again
// after 7 days, when the link of the first invitation has expired.
func TestInvite_Twice_ConflictUntilExpired(t *testing.T) {
	env := newSQLiteEnv(t)
	admin := env.actor(env.employer("boss@example.org"))
	other := env.actor(env.employer("other@example.org"))
	require.NoError(t, env.invite(admin, "new@example.org", "viewer"))
	require.ErrorIs(t, env.invite(admin, "NEW@example.org", ""), identity.ErrAlreadyInTeam)
	require.ErrorIs(t, env.invite(admin, "boss@example.org", ""), identity.ErrAlreadyInTeam)
	require.NoError(t, env.invite(other, "new@example.org", ""), "another organization can invite the user")
	require.Equal(t, env.team(admin)["new@example.org"].UserID, env.team(other)["new@example.org"].UserID)

	first := env.mailer.sentTo("new@example.org")
	require.Empty(t, first)
	old := mailTokenPattern.FindString(env.mailsTo("new@example.org")[0].Text)
	env.clock.Advance(7 * 24 * time.Hour)
	_, err := env.accept(guest, old)
	require.ErrorIs(t, err, fault.ErrInvalid)
	s, err := env.login("boss@example.org", password)
	require.NoError(t, err)
	require.NoError(t, env.invite(env.actor(s), "new@example.org", "admin"))
	joined, err := env.accept(guest, env.mailToken("new@example.org"))
	require.NoError(t, err)
	require.True(t, env.actor(joined).May(auth.Manage))
}

// TestInvite_InvalidInput_EachFieldIsNamed checks invalid inputs of Invite and
// AcceptInvitation. A refused input does not use up the token.
func TestInvite_InvalidInput_EachFieldIsNamed(t *testing.T) {
	env := newSQLiteEnv(t)
	admin := env.actor(env.employer("boss@example.org"))
	err := env.Invite(env.t.Context(), admin, identity.InviteInput{Email: "x", Role: "emperor"})
	require.Len(t, fault.Of(err).Fields, 3)
	require.NoError(t, env.invite(admin, "new@example.org", "VIEWER"))
	token := env.mailToken("new@example.org")
	for _, in := range []identity.AcceptInvitationInput{
		{}, {Token: "loc_mt_unknown", Password: password}, {Token: token}, {Token: token, Password: "weak"},
		{Token: token, Password: password, Name: "a\nb"},
	} {
		_, err := env.AcceptInvitation(env.t.Context(), guest, in, officeClient)
		require.ErrorIs(t, err, fault.ErrInvalid, "%+v", in)
	}
	signedIn, err := env.AcceptInvitation(
		env.t.Context(),
		guest,
		identity.AcceptInvitationInput{Token: token, Password: password, Name: "Newt"},
		officeClient,
	)
	require.NoError(t, err)
	require.Equal(t, "Newt", signedIn.Account.Name)
}

// TestPermissions_OfRole_CanBeChanged checks that a new role sets its default permissions, that
// single permissions can be changed afterwards, and that an admin always has all of them.
func TestPermissions_OfRole_CanBeChanged(t *testing.T) {
	env := newSQLiteEnv(t)
	admin := env.actor(env.employer("boss@example.org"))
	signedIn := env.addMember(admin, "jo@example.org", "viewer")
	member, err := env.ChangePermissions(env.t.Context(), admin, signedIn.Account.ID, changeInput("recruiter"))
	require.NoError(t, err)
	require.Equal(t, identity.Recruiter.Defaults(), member.Permissions)

	var in identity.ChangePermissionsInput
	yes, no := true, false
	in.Permissions = &identity.PermissionsInput{
		Jobs:         &identity.JobPermissionsInput{Delete: &yes, Create: &no},
		Applications: &identity.ApplicationPermissionsInput{Update: &no},
	}
	member, err = env.ChangePermissions(env.t.Context(), admin, signedIn.Account.ID, in)
	require.NoError(t, err)
	want := identity.Permissions{
		Jobs:         identity.JobPermissions{Update: true, Delete: true},
		Applications: identity.ApplicationPermissions{View: true},
	}
	require.Equal(t, want, member.Permissions)
	require.Equal(t, identity.Recruiter, member.Role)
	got, err := env.Permissions(env.t.Context(), env.actor(signedIn), signedIn.Account.ID)
	require.NoError(t, err)
	require.Equal(t, want, got.Permissions)
	require.Equal(t, want.List(), env.actor(signedIn).Permissions, "permissions apply from the next request on")

	_, err = env.ChangePermissions(env.t.Context(), admin, admin.UserID, in)
	require.ErrorIs(t, err, fault.ErrInvalid, "an admin has all permissions")
	_, err = env.ChangePermissions(env.t.Context(), admin, signedIn.Account.ID, changeInput("emperor"))
	require.ErrorIs(t, err, fault.ErrInvalid)
	member, err = env.ChangePermissions(env.t.Context(), admin, signedIn.Account.ID, identity.ChangePermissionsInput{})
	require.NoError(t, err, "absent members stay unchanged")
	require.Equal(t, want, member.Permissions)
}

// TestMemberMay_PermissionsChanged_AreCurrent checks that other modules see the permissions of
// active members only, and see a change at once.
func TestMemberMay_PermissionsChanged_AreCurrent(t *testing.T) {
	env := newSQLiteEnv(t)
	boss := env.actor(env.employer("boss@example.org"))
	rival := env.actor(env.employer("rival@example.org"))
	require.NoError(t, env.invite(boss, "viewer@example.org", "viewer"))
	viewer := env.team(boss)["viewer@example.org"].UserID
	may := func(organization, user string, p auth.Permission) bool {
		t.Helper()
		ok, err := env.MemberMay(t.Context(), organization, user, p)
		require.NoError(t, err)
		return ok
	}
	require.False(t, may(boss.OrganizationID, viewer, auth.AnyPermission), "an invited user is not a member yet")
	_, err := env.accept(guest, env.mailToken("viewer@example.org"))
	require.NoError(t, err)
	require.True(t, may(boss.OrganizationID, viewer, auth.AnyPermission))
	require.True(t, may(boss.OrganizationID, viewer, auth.ApplicationsView))
	require.False(t, may(boss.OrganizationID, viewer, auth.ApplicationsUpdate))
	_, err = env.ChangePermissions(t.Context(), boss, viewer, changeInput("recruiter"))
	require.NoError(t, err)
	require.True(t, may(boss.OrganizationID, viewer, auth.ApplicationsUpdate))
	require.True(t, may(boss.OrganizationID, boss.UserID, auth.Manage))
	for _, user := range []string{rival.UserID, boss.OrganizationID} {
		require.False(t, may(boss.OrganizationID, user, auth.AnyPermission))
	}
	require.False(t, may(rival.OrganizationID, boss.UserID, auth.AnyPermission))
}

// TestTeam_NotAdmin_Forbidden checks that only admins change the team, and that only members
// read it.
func TestTeam_NotAdmin_Forbidden(t *testing.T) {
	env := newSQLiteEnv(t)
	admin := env.actor(env.employer("boss@example.org"))
	for i, actor := range []auth.Actor{
		guest, env.actor(env.jobseeker("jo@example.org")),
		env.actor(env.addMember(admin, "r@example.org", "recruiter")), env.actor(env.addMember(admin, "v@example.org", "viewer")),
	} {
		require.ErrorIs(t, env.invite(actor, fmt.Sprintf("x%d@example.org", i), ""), kit.Refusal(actor))
		_, err := env.ChangePermissions(env.t.Context(), actor, admin.UserID, changeInput("viewer"))
		require.ErrorIs(t, err, kit.Refusal(actor))
	}
	for _, a := range []auth.Actor{guest, env.actor(env.jobseeker("al@example.org"))} {
		_, err := env.Team(env.t.Context(), a, page.Request{Number: 1, Size: 10})
		require.ErrorIs(t, err, kit.Refusal(a))
		_, err = env.Permissions(env.t.Context(), a, admin.UserID)
		require.ErrorIs(t, err, kit.Refusal(a))
	}
}

// TestTeam_OtherOrUnknownMember_NotFound checks that an admin gets the same error for a user of
// another organization as for an id that does not exist.
func TestTeam_OtherOrUnknownMember_NotFound(t *testing.T) {
	env := newSQLiteEnv(t)
	admin := env.actor(env.employer("boss@example.org"))
	foreign := env.actor(env.employer("other@example.org"))
	for _, who := range []string{foreign.UserID, env.jobseeker("jo@example.org").Account.ID, unknownID, "x", ""} {
		_, err := env.Permissions(env.t.Context(), admin, who)
		require.ErrorIs(t, err, identity.ErrNotInTeam)
		_, err = env.ChangePermissions(env.t.Context(), admin, who, changeInput("viewer"))
		require.ErrorIs(t, err, identity.ErrNotInTeam)
	}
	require.NotContains(t, env.team(foreign), "boss@example.org")
}

// unknownID is an id in the right format that no row has.
const unknownID = "0190a3a0-0000-7000-8000-000000000000"

// TestPermissions_LastAdmin_Conflict checks that the only admin cannot become a viewer until
// another admin has accepted the invitation.
func TestPermissions_LastAdmin_Conflict(t *testing.T) {
	env := newSQLiteEnv(t)
	admin := env.actor(env.employer("boss@example.org"))
	require.NoError(t, env.invite(admin, "new@example.org", "admin"))
	_, err := env.ChangePermissions(env.t.Context(), admin, admin.UserID, changeInput("viewer"))
	require.ErrorIs(t, err, identity.ErrLastAdmin, "an invited admin is not an admin yet")
	_, err = env.accept(guest, env.mailToken("new@example.org"))
	require.NoError(t, err)
	_, err = env.ChangePermissions(env.t.Context(), admin, admin.UserID, changeInput("viewer"))
	require.NoError(t, err)
}

// TestPermissions_AdminsDemoteEachOther_OneRemains checks that two admins who demote each other
// at the same time do not leave the organization without an admin.
func TestPermissions_AdminsDemoteEachOther_OneRemains(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		one := env.actor(env.employer("one@example.org"))
		two := env.actor(env.addMember(one, "two@example.org", "admin"))
		for range 10 {
			errs := concurrently(2, func(i int) error {
				who := []auth.Actor{one, two}
				_, err := env.ChangePermissions(env.t.Context(), who[i], who[1-i].UserID, changeInput("viewer"))
				return err
			})
			require.Equal(t, 1, countErrors(errs, nil), "%v", errs)
			require.Equal(t, 1, countErrors(errs, identity.ErrLastAdmin), "%v", errs)
			left := map[bool]auth.Actor{true: one, false: two}[errs[0] == nil]
			for _, a := range []auth.Actor{one, two} {
				_, err := env.ChangePermissions(env.t.Context(), left, a.UserID, changeInput("admin"))
				require.NoError(t, err)
			}
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
		tokens := make([]string, 2)
		for i, email := range []string{"one@example.org", "two@example.org"} {
			require.NoError(t, env.invite(other, email, ""))
			tokens[i] = env.mailToken(email)
		}
		errs := concurrently(2, func(i int) error {
			_, err := env.accept([]auth.Actor{one, two}[i], tokens[i])
			return err
		})
		require.Equal(t, 1, countErrors(errs, nil), "%v", errs)
		require.Equal(t, 1, countErrors(errs, identity.ErrLastAdmin), "%v", errs)
	})
}

// TestInvite_Concurrent_OneSucceedsPerOrganization checks that concurrent invitations of an
// unknown address create one invited user and one invitation of each organization.
func TestInvite_Concurrent_OneSucceedsPerOrganization(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		admins := []auth.Actor{env.actor(env.employer("a@example.org")), env.actor(env.employer("b@example.org"))}
		errs := concurrently(10, func(i int) error { return env.invite(admins[i%2], "new@example.org", "") })
		require.Equal(t, 2, countErrors(errs, nil), "%v", errs)
		require.Equal(t, 8, countErrors(errs, identity.ErrAlreadyInTeam), "%v", errs)
		require.Equal(t, env.team(admins[0])["new@example.org"].UserID, env.team(admins[1])["new@example.org"].UserID)
	})
}

// TestAcceptInvitation_RegisterAtOnce_OneAccount checks that an invited user who accepts and
// registers at the same time gets one account, with the password of the successful request.
func TestAcceptInvitation_RegisterAtOnce_OneAccount(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		admin := env.actor(env.employer("boss@example.org"))
		for i := range 5 {
			email := fmt.Sprintf("new%d@example.org", i)
			require.NoError(t, env.invite(admin, email, ""))
			token := env.mailToken(email)
			errs := concurrently(2, func(i int) (err error) {
				if i == 0 {
					_, err = env.accept(guest, token)
				} else {
					_, err = env.Register(env.t.Context(), identity.RegisterInput{Email: email, Password: newPassword, Name: "New", UserType: "jobseeker"}, officeClient)
				}
				return err
			})
			require.Equal(t, 1, countErrors(errs, nil), "%v", errs)
			require.Equal(t, 1, countErrors(errs, identity.ErrSignInToAccept)+countErrors(errs, identity.ErrEmailTaken), "%v", errs)
		}
	})
}

// TestListTeam_Pages_InOrderOfInvitation checks that pages by number and pages by cursor
// contain the same members in the same order. The admin m0 is the first.
func TestListTeam_Pages_InOrderOfInvitation(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		admin := env.actor(env.employer("m0@example.org"))
		for i := range 6 {
			require.NoError(t, env.invite(admin, fmt.Sprintf("m%d@example.org", i+1), ""))
		}
		var byNumber, byCursor []string
		for n := 1; n <= 4; n++ {
			r, err := env.Team(env.t.Context(), admin, page.Request{Number: n, Size: 3})
			require.NoError(t, err)
			require.Equal(t, 7, r.Total)
			for _, m := range r.Items {
				byNumber = append(byNumber, m.Email)
			}
		}
		for cursor, first := "", true; first || cursor != ""; first = false {
			r, err := env.Team(env.t.Context(), admin, page.Request{Number: 1, Size: 3, Cursor: cursor})
			require.NoError(t, err)
			for _, m := range r.Items {
				byCursor = append(byCursor, m.Email)
			}
			cursor = r.NextCursor
		}
		require.Equal(t, byNumber, byCursor)
		require.Len(t, byNumber, 7)
		for i, email := range byNumber {
			require.Equal(t, fmt.Sprintf("m%d@example.org", i), email)
		}
		_, err := env.Team(env.t.Context(), admin, page.Request{Number: 1, Size: 3, Cursor: "x"})
		require.ErrorIs(t, err, fault.ErrInvalid)
	})
}

// TestInvite_RecipientHasThreeToday_SendsNoMail checks that an address receives at most three
// invitations in a day from all organizations. The fourth is stored without an e-mail, so that
// the organization does not learn of the others.
func TestInvite_RecipientHasThreeToday_SendsNoMail(t *testing.T) {
	env := newSQLiteEnv(t)
	for i := range 5 {
		admin := env.actor(env.employer(fmt.Sprintf("boss%d@example.org", i)))
		require.NoError(t, env.invite(admin, "asha@example.org", ""))
		require.ErrorIs(t, env.invite(admin, "asha@example.org", ""), identity.ErrAlreadyInTeam)
		require.Contains(t, env.team(admin), "asha@example.org")
		require.Len(t, env.mailsTo("asha@example.org"), min(i+1, 3))
	}
	env.clock.Advance(24 * time.Hour)
	require.NoError(t, env.invite(env.actor(env.employer("later@example.org")), "asha@example.org", ""))
	require.Len(t, env.mailsTo("asha@example.org"), 4)
}

// TestInvite_RecipientOptedOut_SendsNoMail checks the link in an invitation that ends all
// invitations to the address, of every organization and in every spelling.
func TestInvite_RecipientOptedOut_SendsNoMail(t *testing.T) {
	env := newSQLiteEnv(t)
	require.NoError(t, env.invite(env.actor(env.employer("boss@example.org")), "asha@example.org", ""))
	text := env.mailsTo("asha@example.org")[0].Text
	_, link, found := strings.Cut(text, "/unsubscribe?invitations=")
	require.True(t, found, text)
	require.Greater(t, strings.Index(text, "/unsubscribe?"), strings.Index(text, "/accept-invitation?"), "after the accepting link")
	token, err := url.QueryUnescape(strings.Fields(link)[0])
	require.NoError(t, err)
	require.ErrorIs(t, env.OptOut(t.Context(), "nonsense"), fault.ErrUnauthorized)
	device, err := env.DeviceToken("asha@example.org")
	require.NoError(t, err)
	require.ErrorIs(t, env.OptOut(t.Context(), device), fault.ErrUnauthorized, "a token for another purpose")
	for range 2 {
		require.NoError(t, env.OptOut(t.Context(), token))
	}
	other := env.actor(env.employer("other@example.org"))
	require.NoError(t, env.invite(other, "ASHA@example.org", ""))
	require.NoError(t, env.invite(other, "jo@example.org", ""))
	require.Len(t, env.mailsTo("asha@example.org"), 1)
	require.Len(t, env.mailsTo("jo@example.org"), 1)
}

// TestInvite_NamesHoldURLs_MailHasNone checks that an organization cannot send a link of its
// own to any address by putting it into a name: the e-mail replaces such names.
func TestInvite_NamesHoldURLs_MailHasNone(t *testing.T) {
	env := newSQLiteEnv(t)
	signedIn, err := env.Register(
		t.Context(),
		identity.RegisterEmployerInput{
			Email:       "boss@example.org",
			Password:    password,
			Name:        "Em",
			CompanyName: "Claim at https://evil.example/x",
		},
		officeClient,
	)
	require.NoError(t, err)
	require.NoError(t, env.Invite(t.Context(), env.actor(signedIn), identity.InviteInput{
		Name:  "Jo www.evil.example",
		Email: "jo@example.org",
	}))
	m := env.mailsTo("jo@example.org")[0]
	for _, part := range []string{m.Subject, m.Text, m.HTML, m.To.Name} {
		require.NotContains(t, part, "evil.example")
	}
}
