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

func TestDeleteAccount_RowIsAnonymized(t *testing.T) {
	onEach(t, func(t *testing.T, h *testEnv) {
		jo := h.jobseeker("jo@example.org")
		boss := h.actor(h.employer("boss@example.org"))
		require.NoError(t, h.Invite(t.Context(), boss, identity.InviteInput{Name: "Jo", Email: "jo@example.org"}))
		require.NoError(t, h.ChangeEmail(t.Context(), h.actor(jo), "jo@elsewhere.example"))
		confirm := h.mailToken("jo@elsewhere.example")
		a := h.actor(jo)
		require.NoError(t, h.DeleteAccount(t.Context(), a))

		h.requireSignedOut(jo)
		_, err := h.Login(t.Context(), identity.LoginInput{Email: "jo@example.org", Password: password}, officeClient)
		require.ErrorIs(t, err, identity.ErrBadCredentials)
		require.ErrorIs(t, h.VerifyEmail(t.Context(), identity.VerifyEmailInput{Token: confirm}), fault.ErrInvalid)
		require.ErrorIs(t, h.DeleteAccount(t.Context(), a), fault.ErrUnauthorized, "a repeated deletion")
		people, err := h.People(t.Context(), []string{jo.Account.ID})
		require.NoError(t, err)
		require.Empty(t, people)
		team, err := h.Team(t.Context(), boss, page.Request{Number: 1, Size: 10})
		require.NoError(t, err)
		require.Len(t, team.Items, 1, "the invitation is deleted with the user")

		_, err = h.work.Relay.Drain(t.Context())
		require.NoError(t, err)
		require.Len(t, h.deleted.events, 1)
		require.Equal(t, jo.Account.ID, h.deleted.events[0].UserID)
		require.Equal(t, "jobseeker", h.deleted.events[0].Kind)
		// An invitation whose writer had found the account before it ended.
		late := identity.NewInvitation(stores.NewID(), boss.OrganizationID, jo.Account.ID, "Jo", "jo@example.org", identity.Viewer, h.clock.Now())
		stored := late
		require.NoError(t, h.store.Identity.Members.Upsert(t.Context(), &stored))
		h.clock.Advance(time.Minute)
		h.work.All(t)
		require.Len(t, h.deleted.events, 2, "a second event covers concurrent writes")
		require.NoError(t, h.store.Identity.Members.Upsert(t.Context(), &late), "the first one was deleted")

		again := h.jobseeker("jo@example.org")
		require.NotEqual(t, jo.Account.ID, again.Account.ID)
	})
}

func TestDeleteAccount_Concurrent_OneSucceeds(t *testing.T) {
	onEach(t, func(t *testing.T, h *testEnv) {
		jo := h.actor(h.jobseeker("jo@example.org"))
		errs := concurrently(20, func(int) error { return h.DeleteAccount(t.Context(), jo) })
		require.Equal(t, 1, countErrors(errs, nil))
		require.Equal(t, 19, countErrors(errs, fault.ErrUnauthorized))
		_, err := h.work.Relay.Drain(t.Context())
		require.NoError(t, err)
		require.Len(t, h.deleted.events, 1)
	})
}

func TestDeleteAccount_EndsEverySession(t *testing.T) {
	onEach(t, func(t *testing.T, h *testEnv) {
		jo := h.jobseeker("jo@example.org")
		a := h.actor(jo)
		var opened [10]identity.SignedIn
		errs := concurrently(11, func(i int) (err error) {
			if i == 10 {
				return h.DeleteAccount(t.Context(), a)
			}
			opened[i], err = h.Login(t.Context(), identity.LoginInput{Email: "jo@example.org", Password: password}, officeClient)
			return err
		})
		require.NoError(t, errs[10])
		for i, in := range opened {
			if errs[i] == nil {
				h.requireSignedOut(in)
			}
		}
	})
}

func TestDeleteAccount_Member_KeepsOrganization(t *testing.T) {
	h := newSQLiteEnv(t)
	bossIn := h.employer("boss@example.org")
	boss := h.actor(bossIn)
	tom := h.addMember(boss, "tom@example.org", "recruiter")
	require.NoError(t, h.DeleteEmployerAccount(t.Context(), h.actor(tom)))
	h.requireSignedOut(tom)
	require.Equal(t, boss.OrganizationID, h.actor(bossIn).OrganizationID)
	_, err := h.Permissions(t.Context(), boss, tom.Account.ID)
	require.ErrorIs(t, err, identity.ErrNotInTeam)
}

func TestDeleteAccount_OneOfSeveralAdmins_Allowed(t *testing.T) {
	h := newSQLiteEnv(t)
	bossIn := h.employer("boss@example.org")
	second := h.addMember(h.actor(bossIn), "second@example.org", "admin")
	require.NoError(t, h.DeleteEmployerAccount(t.Context(), h.actor(bossIn)))
	require.NotEmpty(t, h.actor(second).OrganizationID)
}

func TestDeleteAccount_LastAdmin_ClosesOrganization(t *testing.T) {
	onEach(t, func(t *testing.T, h *testEnv) {
		bossIn := h.employer("boss@example.org")
		boss := h.actor(bossIn)
		tom := h.addMember(boss, "tom@example.org", "recruiter")
		require.NoError(t, h.Invite(t.Context(), boss, identity.InviteInput{Name: "New", Email: "new@example.org"}))
		invitation := h.mailToken("new@example.org")
		require.NoError(t, h.DeleteEmployerAccount(t.Context(), boss))
		h.requireSignedOut(bossIn)
		h.requireSignedOut(tom)
		name, err := h.OrganizationName(t.Context(), boss.OrganizationID)
		require.NoError(t, err)
		require.Equal(t, "St Mary's", name, "the organization keeps its name for applicants")

		in, err := h.Login(t.Context(), identity.LoginInput{Email: "tom@example.org", Password: password}, officeClient)
		require.NoError(t, err)
		require.Empty(t, h.actor(in).OrganizationID, "no admin is left")
		_, err = h.AcceptInvitation(t.Context(), h.actor(in), identity.AcceptInvitationInput{Token: invitation}, officeClient)
		require.ErrorIs(t, err, fault.ErrInvalid)
		require.NoError(t, h.DeleteAccount(t.Context(), h.actor(in)), "an account without an organization can end too")
	})
}

func TestCloseOrganization_EmployerAccounts_BecomeJobseekers(t *testing.T) {
	onEach(t, func(t *testing.T, h *testEnv) {
		signedIn := func(email string) auth.Actor {
			in, err := h.Login(t.Context(), identity.LoginInput{Email: email, Password: password}, officeClient)
			require.NoError(t, err)
			return h.actor(in)
		}
		boss := h.actor(h.employer("boss@example.org"))
		require.Equal(t, auth.EmployerTeam, h.actor(h.addMember(boss, "tom@example.org", "recruiter")).Role)
		// The user founded an organization, which continues without them.
		founder := h.actor(h.employer("founder@example.org"))
		h.addMember(founder, "heir@example.org", "admin")
		require.NoError(t, h.Invite(t.Context(), boss, identity.InviteInput{Name: "Fay", Email: "founder@example.org"}))
		_, err := h.AcceptInvitation(t.Context(), founder, identity.AcceptInvitationInput{Token: h.mailToken("founder@example.org")}, officeClient)
		require.NoError(t, err)

		require.NoError(t, h.DeleteEmployerAccount(t.Context(), boss))
		tom := signedIn("tom@example.org")
		require.Equal(t, auth.Jobseeker, tom.Role)
		require.True(t, tom.Seeker)
		fay := signedIn("founder@example.org")
		require.Equal(t, auth.Employer, fay.Role, "an account that registered as an employer keeps the role")
		require.False(t, fay.Seeker)

		// Both may join another.
		other := h.actor(h.employer("other@example.org"))
		for _, a := range []auth.Actor{tom, fay} {
			account, err := h.Me(t.Context(), a)
			require.NoError(t, err)
			require.NoError(t, h.Invite(t.Context(), other, identity.InviteInput{Name: "New", Email: account.Email}))
			in, err := h.AcceptInvitation(t.Context(), a, identity.AcceptInvitationInput{Token: h.mailToken(account.Email)}, officeClient)
			require.NoError(t, err)
			require.Equal(t, other.OrganizationID, h.actor(in).OrganizationID)
			require.Equal(t, auth.EmployerTeam, h.actor(in).Role)
		}
		require.True(t, signedIn("tom@example.org").Seeker, "team members who are jobseekers stay jobseekers")
	})
}

func TestDeleteAccount_TwoAdminsAtOnce_SecondClosesOrganization(t *testing.T) {
	onEach(t, func(t *testing.T, h *testEnv) {
		boss := h.actor(h.employer("boss@example.org"))
		second := h.actor(h.addMember(boss, "second@example.org", "admin"))
		tom := h.addMember(boss, "tom@example.org", "viewer")
		for _, err := range concurrently(2, func(i int) error {
			return h.DeleteEmployerAccount(t.Context(), []auth.Actor{boss, second}[i])
		}) {
			require.NoError(t, err)
		}
		h.requireSignedOut(tom)
	})
}

func TestDeleteAccount_OrganizationNamedAfterUser_NameIsErased(t *testing.T) {
	h := newSQLiteEnv(t)
	in, err := h.Register(t.Context(), identity.RegisterInput{Email: "solo@example.org", Password: password, Name: "Ann Practitioner", UserType: "employer"}, officeClient)
	require.NoError(t, err)
	a := h.actor(in)
	require.NoError(t, h.DeleteEmployerAccount(t.Context(), a))
	name, err := h.OrganizationName(t.Context(), a.OrganizationID)
	require.NoError(t, err)
	require.Equal(t, "Closed organization", name)
}

func TestDeleteEmployerAccount_Jobseeker_KeepsAccount(t *testing.T) {
	h := newSQLiteEnv(t)
	boss, jo := h.actor(h.employer("boss@example.org")), h.jobseeker("jo@example.org")
	require.NoError(t, h.Invite(t.Context(), boss, identity.InviteInput{Name: "Jo", Email: "jo@example.org"}))
	_, err := h.AcceptInvitation(t.Context(), h.actor(jo), identity.AcceptInvitationInput{Token: h.mailToken("jo@example.org")}, officeClient)
	require.NoError(t, err)
	require.NoError(t, h.DeleteEmployerAccount(t.Context(), h.actor(jo)))
	h.requireSignedOut(jo)
	in, err := h.Login(t.Context(), identity.LoginInput{Email: "jo@example.org", Password: password}, officeClient)
	require.NoError(t, err)
	require.True(t, h.actor(in).Seeker)
	require.Empty(t, h.actor(in).OrganizationID)
}

func TestDeleteAccount_JobseekerIsLastAdmin_ClosesOrganization(t *testing.T) {
	h := newSQLiteEnv(t)
	founder, jo := h.actor(h.employer("boss@example.org")), h.jobseeker("jo@example.org")
	require.NoError(t, h.Invite(t.Context(), founder, identity.InviteInput{Name: "Jo", Email: "jo@example.org", Role: "admin"}))
	_, err := h.AcceptInvitation(t.Context(), h.actor(jo), identity.AcceptInvitationInput{Token: h.mailToken("jo@example.org")}, officeClient)
	require.NoError(t, err)
	require.NoError(t, h.DeleteEmployerAccount(t.Context(), founder))
	tom := h.addMember(h.actor(jo), "tom@example.org", "viewer")

	require.NoError(t, h.DeleteAccount(t.Context(), h.actor(jo)))
	h.requireSignedOut(jo)
	h.requireSignedOut(tom)
	_, err = h.Login(t.Context(), identity.LoginInput{Email: "jo@example.org", Password: password}, officeClient)
	require.ErrorIs(t, err, identity.ErrBadCredentials)
}

func TestDeleteAccount_Fails_AccountIsUnchanged(t *testing.T) {
	onEach(t, func(t *testing.T, h *testEnv) {
		bossIn := h.employer("boss@example.org")
		boss := h.actor(bossIn)
		err := h.store.Identity.Tx.Do(t.Context(), func(ctx context.Context) error {
			return errors.Join(h.DeleteEmployerAccount(ctx, boss), errors.New("the power went out"))
		})
		require.ErrorContains(t, err, "the power went out")
		require.Equal(t, boss, h.actor(bossIn))
		_, err = h.work.Relay.Drain(t.Context())
		require.NoError(t, err)
		require.Empty(t, h.deleted.events)
	})
}

func TestUpdateAccount_FounderRenamed_OrganizationFollows(t *testing.T) {
	onEach(t, func(t *testing.T, h *testEnv) {
		in, err := h.Register(t.Context(), identity.RegisterInput{Email: "solo@example.org", Password: password, Name: "Ann Practitioner", UserType: "employer"}, officeClient)
		require.NoError(t, err)
		a := h.actor(in)
		tom := h.actor(h.addMember(a, "tom@example.org", "recruiter"))
		for _, name := range []string{"Ann Practitioner", "Tom"} {
			_, err = h.UpdateEmployer(t.Context(), tom, identity.EmployerInput{Profile: &identity.EmployerProfileInput{Name: &name}})
			require.NoError(t, err)
		}
		name, err := h.OrganizationName(t.Context(), a.OrganizationID)
		require.NoError(t, err)
		require.Equal(t, "Ann Practitioner", name, "members without admin rights cannot rename the organization")

		out, err := h.UpdateEmployer(t.Context(), a, identity.EmployerInput{Profile: &identity.EmployerProfileInput{Name: ptr("Ann Married")}})
		require.NoError(t, err)
		require.Equal(t, "Ann Married", out.Organization.Name)
		out, err = h.UpdateEmployer(t.Context(), a, identity.EmployerInput{Profile: &identity.EmployerProfileInput{Name: ptr("Ann Again")}, CompanyName: ptr("Ann Married")})
		require.NoError(t, err)
		require.Equal(t, "Ann Again", out.Organization.Name, "a form sends all of its fields")
		require.NoError(t, h.DeleteEmployerAccount(t.Context(), a))
		name, err = h.OrganizationName(t.Context(), a.OrganizationID)
		require.NoError(t, err)
		require.Equal(t, "Closed organization", name)
	})
}
