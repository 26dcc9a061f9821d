package identity_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/core/event"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/modules/identity"
)

// account returns the account of the signed-in user.
func (h *testEnv) account(s identity.SignedIn) identity.Account {
	h.t.Helper()
	a, err := h.Me(h.t.Context(), h.actor(s))
	require.NoError(h.t, err)
	return a
}

func TestUpdateAccount_Name_IsChanged(t *testing.T) {
	h := newSQLiteEnv(t)
	jo := h.jobseeker("jo@example.org")
	require.NoError(t, h.Rename(t.Context(), jo.Account.ID, "  Zoë O'Hara "))
	require.Equal(t, "Zoë O'Hara", h.account(jo).Name)
	for _, bad := range []string{"", "  ", strings.Repeat("x", 201), "a\nb"} {
		err := h.Rename(t.Context(), jo.Account.ID, bad)
		require.ErrorIs(t, err, fault.ErrInvalid)
		require.Equal(t, "name", fault.Of(err).Fields[0].Name)
	}
	require.ErrorIs(t, h.Rename(t.Context(), "01890000-0000-7000-8000-000000000000", "X"), identity.ErrUserNotFound)
}

func TestChangeEmail_Confirmed_ReplacesAddress(t *testing.T) {
	onEach(t, func(t *testing.T, h *testEnv) {
		jo := h.jobseeker("jo@example.org")
		h.mailsTo("jo@example.org")
		require.NoError(t, h.ForgotPassword(t.Context(), identity.ForgotPasswordInput{Email: "jo@example.org"}, officeClient))
		reset := h.mailToken("jo@example.org")
		require.NoError(t, h.ChangeEmail(t.Context(), h.actor(jo), "Jo.New@Example.org"))
		require.Equal(t, "jo@example.org", h.account(jo).Email, "the address stays until the new one is confirmed")
		pending, err := h.PendingEmail(t.Context(), jo.Account.ID)
		require.NoError(t, err)
		require.Equal(t, "Jo.New@example.org", pending)

		old := h.mailsTo("jo@example.org")
		require.Contains(t, old[len(old)-1].Subject, "about to change")
		require.NotContains(t, old[len(old)-1].Text, "loc_mt_", "the old mailbox cannot confirm it")
		token := h.mailToken("Jo.New@example.org")
		require.NoError(t, h.VerifyEmail(t.Context(), identity.VerifyEmailInput{Token: token}))
		require.Equal(t, "Jo.New@example.org", h.account(jo).Email)
		require.False(t, h.account(jo).EmailVerifiedAt.IsZero())
		pending, err = h.PendingEmail(t.Context(), jo.Account.ID)
		require.NoError(t, err)
		require.Empty(t, pending)

		_, err = h.Login(t.Context(), identity.LoginInput{Email: "jo.new@example.org", Password: password}, officeClient)
		require.NoError(t, err)
		_, err = h.Login(t.Context(), identity.LoginInput{Email: "jo@example.org", Password: password}, officeClient)
		require.ErrorIs(t, err, identity.ErrBadCredentials)
		require.ErrorIs(t, h.VerifyEmail(t.Context(), identity.VerifyEmailInput{Token: token}), fault.ErrInvalid, "once")
		require.ErrorIs(t, h.ResetPassword(t.Context(), identity.ResetPasswordInput{Token: reset, Password: "An0ther-one"}), fault.ErrInvalid, "a link that was sent to the old address")
		_, err = h.Register(t.Context(), identity.RegisterInput{Email: "jo@example.org", Password: password, Name: "Jo", UserType: "jobseeker"}, officeClient)
		require.ErrorIs(t, err, identity.ErrEmailTaken, "the change can still be undone")
		h.clock.Advance(24 * time.Hour)
		h.jobseeker("jo@example.org") // Another account has the address now.
	})
}

func TestChangeEmail_RequestedTwice_LastCounts(t *testing.T) {
	h := newSQLiteEnv(t)
	jo := h.jobseeker("jo@example.org")
	require.NoError(t, h.ChangeEmail(t.Context(), h.actor(jo), "one@example.org"))
	first := h.mailToken("one@example.org")
	h.clock.Advance(time.Second)
	require.NoError(t, h.ChangeEmail(t.Context(), h.actor(jo), "two@example.org"))
	second := h.mailToken("two@example.org")
	require.ErrorIs(t, h.VerifyEmail(t.Context(), identity.VerifyEmailInput{Token: first}), fault.ErrInvalid)
	require.NoError(t, h.ChangeEmail(t.Context(), h.actor(jo), "two@example.org"), "a repeated confirmation")
	require.Len(t, h.mailsTo("two@example.org"), 1)

	t.Run("and the present one takes it back", func(t *testing.T) {
		require.NoError(t, h.ChangeEmail(t.Context(), h.actor(jo), "JO@example.org"))
		require.ErrorIs(t, h.VerifyEmail(t.Context(), identity.VerifyEmailInput{Token: second}), fault.ErrInvalid)
		require.Equal(t, "jo@example.org", h.account(jo).Email)
	})
	t.Run("for a day", func(t *testing.T) {
		require.NoError(t, h.ChangeEmail(t.Context(), h.actor(jo), "three@example.org"))
		late := h.mailToken("three@example.org")
		h.clock.Advance(24 * time.Hour)
		require.ErrorIs(t, h.VerifyEmail(t.Context(), identity.VerifyEmailInput{Token: late}), fault.ErrInvalid)
		pending, err := h.PendingEmail(t.Context(), jo.Account.ID)
		require.NoError(t, err)
		require.Empty(t, pending)
		h.clock.Advance(8 * 24 * time.Hour)
		require.NoError(t, h.Forget(t.Context()))
		history, err := h.store.Identity.EmailChanges.Get(t.Context(), jo.Account.ID)
		require.NoError(t, err)
		require.Nil(t, history.Requested)
	})
}

func TestChangeEmail_AddressTaken_Refused(t *testing.T) {
	onEach(t, func(t *testing.T, h *testEnv) {
		jo, al := h.jobseeker("jo@example.org"), h.jobseeker("al@example.org")
		require.ErrorIs(t, h.ChangeEmail(t.Context(), h.actor(jo), "AL@example.org"), identity.ErrEmailTaken)
		require.ErrorIs(t, h.ChangeEmail(t.Context(), h.actor(jo), "nonsense"), fault.ErrInvalid)

		// Both want the same one, and each has proven it: the first has it.
		tokens := map[string]string{}
		for _, who := range []identity.SignedIn{jo, al} {
			require.NoError(t, h.ChangeEmail(t.Context(), h.actor(who), "both@example.org"))
			tokens[who.Account.ID] = h.mailToken("both@example.org")
		}
		errs := concurrently(2, func(i int) error {
			return h.VerifyEmail(t.Context(), identity.VerifyEmailInput{Token: tokens[[]string{jo.Account.ID, al.Account.ID}[i]]})
		})
		require.Equal(t, 1, countErrors(errs, nil))
		require.Equal(t, 1, countErrors(errs, identity.ErrEmailTaken))
	})
}

func TestChangeEmail_InvitedAddress_MergesInvitation(t *testing.T) {
	onEach(t, func(t *testing.T, h *testEnv) {
		boss, jo := h.actor(h.employer("boss@example.org")), h.jobseeker("jo@example.org")
		require.NoError(t, h.Invite(t.Context(), boss, identity.InviteInput{Name: "Jo", Email: "jo@work.example", Role: "viewer"}))
		invitation := h.mailToken("jo@work.example")
		require.NoError(t, h.ChangeEmail(t.Context(), h.actor(jo), "jo@work.example"))
		require.NoError(t, h.VerifyEmail(t.Context(), identity.VerifyEmailInput{Token: h.mailToken("jo@work.example")}))
		_, err := h.AcceptInvitation(t.Context(), h.actor(jo), identity.AcceptInvitationInput{Token: invitation}, officeClient)
		require.NoError(t, err)
		require.Equal(t, boss.OrganizationID, h.actor(jo).OrganizationID)
	})
}

func TestChangeEmail_TooManyRequests_SendsNoMail(t *testing.T) {
	h := newSQLiteEnv(t)
	jo := h.jobseeker("jo@example.org")
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		require.NoError(t, h.ChangeEmail(t.Context(), h.actor(jo), name+"@victim.example"))
	}
	require.ErrorIs(t, h.ChangeEmail(t.Context(), h.actor(jo), "f@victim.example"), fault.ErrRateLimit)
}

func TestChangeEmail_OldMailboxUnreachable_CanBeChanged(t *testing.T) {
	h := newSQLiteEnv(t)
	jo := h.jobseeker("jo@example.org")
	h.mailer.refusedAddress = "jo@example.org"
	require.NoError(t, h.ChangeEmail(t.Context(), h.actor(jo), "new@example.org"))
	require.NoError(t, h.VerifyEmail(t.Context(), identity.VerifyEmailInput{Token: h.mailToken("new@example.org")}))
	require.Equal(t, "new@example.org", h.account(jo).Email)
}

func TestChangeEmail_ChangeIsOver_SendsNoMail(t *testing.T) {
	h := newSQLiteEnv(t)
	jo := h.jobseeker("jo@example.org")
	asked := event.EmailChangeRequested{UserID: jo.Account.ID, RequestedAt: h.clock.Now()}
	require.NoError(t, h.OnEmailChangeRequested(t.Context(), asked), "no change is pending")
	require.NoError(t, h.ChangeEmail(t.Context(), h.actor(jo), "new@example.org"))
	asked.RequestedAt = h.clock.Now().Add(-time.Second)
	require.NoError(t, h.OnEmailChangeRequested(t.Context(), asked), "the link of an earlier change")
	require.Empty(t, h.mailer.sentTo("new@example.org"))
	h.mailToken("new@example.org")
	require.NoError(t, h.DeleteAccount(t.Context(), h.actor(jo)))
	require.NoError(t, h.OnEmailChangeRequested(t.Context(), event.EmailChangeRequested{UserID: jo.Account.ID, RequestedAt: h.clock.Now()}))
	require.Len(t, h.mailer.sentTo("new@example.org"), 1)
}

func TestChangeEmail_PasswordChanged_EndsPendingChange(t *testing.T) {
	for name, renew := range map[string]func(h *testEnv, in identity.SignedIn) error{
		"reset": func(h *testEnv, _ identity.SignedIn) error {
			if err := h.ForgotPassword(h.t.Context(), identity.ForgotPasswordInput{Email: "jo@example.org"}, officeClient); err != nil {
				return err
			}
			return h.ResetPassword(h.t.Context(), identity.ResetPasswordInput{Token: h.mailToken("jo@example.org"), Password: "An0ther-one"})
		},
		"changed": func(h *testEnv, in identity.SignedIn) error {
			return h.ChangePassword(h.t.Context(), h.actor(in), identity.ChangePasswordInput{CurrentPassword: password, NewPassword: "An0ther-one"}, officeClient)
		},
	} {
		t.Run(name, func(t *testing.T) {
			onEach(t, func(t *testing.T, h *testEnv) {
				jo := h.jobseeker("jo@example.org")
				require.NoError(t, h.ChangeEmail(t.Context(), h.actor(jo), "evil@example.org"))
				confirm := h.mailToken("evil@example.org")
				require.NoError(t, renew(h, jo))
				require.ErrorIs(t, h.VerifyEmail(t.Context(), identity.VerifyEmailInput{Token: confirm}), fault.ErrInvalid)
				pending, err := h.PendingEmail(t.Context(), jo.Account.ID)
				require.NoError(t, err)
				require.Empty(t, pending)
				_, err = h.Login(t.Context(), identity.LoginInput{Email: "jo@example.org", Password: "An0ther-one"}, officeClient)
				require.NoError(t, err)
			})
		})
	}
}

func TestChangeEmail_ManyProbes_AreThrottled(t *testing.T) {
	h := newSQLiteEnv(t)
	jo := h.jobseeker("jo@example.org")
	h.jobseeker("al@example.org")
	for range 5 {
		require.ErrorIs(t, h.ChangeEmail(t.Context(), h.actor(jo), "al@example.org"), identity.ErrEmailTaken)
	}
	for _, email := range []string{"al@example.org", "free@example.org"} {
		err := h.ChangeEmail(t.Context(), h.actor(jo), email)
		require.ErrorIs(t, err, fault.ErrRateLimit)
		require.Positive(t, fault.Of(err).RetryAfter)
	}
	require.NoError(t, h.ChangeEmail(t.Context(), h.actor(jo), "jo@example.org"), "the current address needs no confirmation")
}

func TestChangeEmail_Undone_LinkIsVoid(t *testing.T) {
	onEach(t, func(t *testing.T, h *testEnv) {
		for i := range 20 {
			old, next := fmt.Sprintf("jo%d@example.org", i), fmt.Sprintf("new%d@example.org", i)
			jo := h.jobseeker(old)
			require.NoError(t, h.ChangeEmail(t.Context(), h.actor(jo), next))
			token := h.mailToken(next)
			errs := concurrently(2, func(i int) error {
				if i == 0 {
					return h.VerifyEmail(t.Context(), identity.VerifyEmailInput{Token: token})
				}
				return h.ChangeEmail(t.Context(), h.actor(jo), old)
			})
			require.NoError(t, errs[1])
			pending, err := h.PendingEmail(t.Context(), jo.Account.ID)
			require.NoError(t, err)
			if errs[0] != nil {
				require.ErrorIs(t, errs[0], fault.ErrInvalid)
				require.Equal(t, old, h.account(jo).Email)
				require.Empty(t, pending)
				continue
			}
			require.Equal(t, next, h.account(jo).Email)
			require.Equal(t, old, pending, "the change was confirmed, and the old address requested afterwards")
		}
	})
}
