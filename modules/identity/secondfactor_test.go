package identity_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/pquerna/otp/totp"
	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/core/audit"
	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/modules/identity"
)

const (
	noCode            = ""               // of a sign-in with the password only
	invalidCode       = "000000"         // has the format of a code, but is not the current one
	codePeriod        = 30 * time.Second // after which an authenticator app has another code
	recoveryCodeCount = 10               // of an account
)

// enroll enrolls a second factor, enables it with a first code, and returns its secret and recovery
// codes. The secret generates the codes of an authenticator app; see currentCode.
func (e *testEnv) enroll(s identity.SignedIn) (secret string, recoveryCodes []string) {
	e.t.Helper()

	enrollment, err := e.EnrollSecondFactor(e.t.Context(), e.actor(s))
	require.NoError(e.t, err)

	code := identity.CodeInput{Code: e.currentCode(enrollment.Secret)}
	recoveryCodes, err = e.ConfirmSecondFactor(e.t.Context(), e.actor(s), code)
	require.NoError(e.t, err)
	require.Len(e.t, recoveryCodes, recoveryCodeCount)

	return enrollment.Secret, recoveryCodes
}

// currentCode returns the current code of the authenticator app.
func (e *testEnv) currentCode(secret string) string {
	e.t.Helper()

	code, err := totp.GenerateCode(secret, e.clock.Now())
	require.NoError(e.t, err)

	return code
}

// loginWithCode signs in with a code of the second factor.
func (e *testEnv) loginWithCode(email, password, code string) (identity.SignedIn, error) {
	return e.Login(e.t.Context(), identity.LoginInput{Email: email, Password: password, TOTP: code}, officeClient)
}

// TestSecondFactor_Enabled_EndsOtherSessions checks that sessions that were opened before the second
// factor was enabled end, except for the one that enabled it.
func TestSecondFactor_Enabled_EndsOtherSessions(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		jo := env.jobseeker("jo@example.org")
		other, err := env.login("jo@example.org", password)
		require.NoError(t, err)

		env.enroll(jo)
		env.requireSignedOut(other)
		env.actor(jo) // requires that this session is still valid
	})
}

// TestSecondFactor_PasswordOnly_IsRefused checks that a sign-in needs a code in addition to the
// password, both for API clients and for browsers, whose sessions have a cookie.
func TestSecondFactor_PasswordOnly_IsRefused(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		env.enroll(env.jobseeker("jo@example.org"))

		_, err := env.login("jo@example.org", password)
		require.ErrorIs(t, err, identity.ErrSecondFactorRequired)

		withoutCode := identity.LoginInput{Email: "jo@example.org", Password: password}
		_, err = env.LoginBrowser(t.Context(), withoutCode, officeClient, noOldSecret)
		require.ErrorIs(t, err, identity.ErrSecondFactorRequired)
	})
}

// TestSecondFactor_WrongPassword_DoesNotRevealSecondFactor checks that the password is checked before
// the code: with a wrong password, the error is the same as for an account without a second factor.
func TestSecondFactor_WrongPassword_DoesNotRevealSecondFactor(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		secret, recoveryCodes := env.enroll(env.jobseeker("jo@example.org"))

		for name, code := range map[string]string{
			"no code":               noCode,
			"code of the app":       env.currentCode(secret),
			"a valid recovery code": recoveryCodes[0],
		} {
			_, err := env.loginWithCode("jo@example.org", wrongPassword, code)
			require.ErrorIs(t, err, identity.ErrBadCredentials, name)
		}
	})
}

// TestSecondFactor_CodeOfApp_IsValidOnce checks that a code of the authenticator app is refused when it
// was used before, to enable the second factor or to sign in.
func TestSecondFactor_CodeOfApp_IsValidOnce(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		secret, _ := env.enroll(env.jobseeker("jo@example.org"))

		_, err := env.loginWithCode("jo@example.org", password, env.currentCode(secret))
		require.ErrorIs(t, err, identity.ErrSecondFactorInvalid, "the code was used to enable the second factor")

		env.clock.Advance(codePeriod)

		_, err = env.loginWithCode("jo@example.org", password, env.currentCode(secret))
		require.NoError(t, err, "the next code")

		_, err = env.loginWithCode("jo@example.org", password, env.currentCode(secret))
		require.ErrorIs(t, err, identity.ErrSecondFactorInvalid, "the code was used to sign in")
	})
}

// TestSecondFactor_RecoveryCode_IsValidOnce checks that recovery codes can be used in any order, and
// that each is valid once. The status of the second factor has the number of those that are left.
func TestSecondFactor_RecoveryCode_IsValidOnce(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		jo := env.jobseeker("jo@example.org")
		_, recoveryCodes := env.enroll(jo)
		code := recoveryCodes[3] // not the first one

		_, err := env.loginWithCode("jo@example.org", password, code)
		require.NoError(t, err)

		_, err = env.loginWithCode("jo@example.org", password, code)
		require.ErrorIs(t, err, identity.ErrSecondFactorInvalid, "a second use")

		status, err := env.MySecondFactor(t.Context(), env.actor(jo))
		require.NoError(t, err)
		require.True(t, status.Enabled)
		require.Equal(t, len(recoveryCodes)-1, status.RecoveryCodesLeft)
	})
}

// TestSecondFactor_ConcurrentCode_OpensOneSession checks that a code opens one session, even if several
// requests use it at the same time.
func TestSecondFactor_ConcurrentCode_OpensOneSession(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		secret, _ := env.enroll(env.jobseeker("jo@example.org"))
		env.clock.Advance(codePeriod) // enroll has used the code before

		code := env.currentCode(secret)
		const signIns = 5
		errs := concurrently(signIns, func(int) error {
			_, err := env.loginWithCode("jo@example.org", password, code)
			return err
		})
		require.Equal(t, 1, countErrors(errs, nil), "successes among %v", errs)
	})
}

// TestSecondFactor_GuessedCodes_AreLimited checks that an attacker with the password can guess ten
// codes. The eleventh sign-in is refused.
func TestSecondFactor_GuessedCodes_AreLimited(t *testing.T) {
	env := newSQLiteEnv(t)
	env.enroll(env.jobseeker("jo@example.org"))

	for range allowedFailures {
		_, err := env.loginWithCode("jo@example.org", password, invalidCode)
		require.ErrorIs(t, err, identity.ErrSecondFactorInvalid)
	}

	_, err := env.loginWithCode("jo@example.org", password, invalidCode)
	require.ErrorIs(t, err, fault.ErrRateLimit, "the right password does not reset the count of wrong codes")
}

// TestSecondFactor_CodesGuessedFromManyNetworks_AreLimited checks that wrong codes from different
// networks count together. After ten of them, even the right code is refused for 15 minutes. It cannot
// disable the second factor either.
func TestSecondFactor_CodesGuessedFromManyNetworks_AreLimited(t *testing.T) {
	env := newSQLiteEnv(t)
	jo := env.jobseeker("jo@example.org")
	secret, _ := env.enroll(jo)
	env.clock.Advance(codePeriod) // enroll has used the code before

	// guess signs in with the right password, the code, and a network that was not used before.
	network := 0
	guess := func(code string) error {
		network++
		input := identity.LoginInput{Email: "jo@example.org", Password: password, TOTP: code}
		_, err := env.Login(t.Context(), input, clientInNetwork(network))

		return err
	}

	for range allowedFailures {
		require.ErrorIs(t, guess(invalidCode), identity.ErrSecondFactorInvalid)
	}

	// Now the right code is refused, for a sign-in and for disabling the second factor.
	err := guess(env.currentCode(secret))
	require.ErrorIs(t, err, fault.ErrRateLimit)
	require.Positive(t, fault.Of(err).RetryAfter)

	disable := identity.DisableSecondFactorInput{
		CurrentPassword: password,
		CodeInput:       identity.CodeInput{Code: env.currentCode(secret)},
	}
	require.ErrorIs(t, env.DisableSecondFactor(t.Context(), env.actor(jo), disable, officeClient), fault.ErrRateLimit)
	require.ErrorIs(t, guess(noCode), identity.ErrSecondFactorRequired, "a missing code does not count as a guess")

	// After 15 minutes, the right code is accepted.
	env.clock.Advance(failureWindow)
	require.NoError(t, guess(env.currentCode(secret)))
}

// clientInNetwork returns a client in one of many networks, which are counted by the number.
func clientInNetwork(number int) identity.Client {
	return identity.Client{Address: fmt.Sprintf("2001:db8:%x::1", number)}
}

// TestSecondFactor_WrongPasswords_AreNoGuessesOfCodes checks that a client without the password cannot
// use up the guesses of codes of an account, and thereby lock out its owner.
func TestSecondFactor_WrongPasswords_AreNoGuessesOfCodes(t *testing.T) {
	env := newSQLiteEnv(t)
	secret, _ := env.enroll(env.jobseeker("jo@example.org"))
	env.clock.Advance(codePeriod) // enroll has used the code before

	for network := range allowedFailures + 1 {
		input := identity.LoginInput{Email: "jo@example.org", Password: wrongPassword, TOTP: invalidCode}
		_, err := env.Login(t.Context(), input, clientInNetwork(network))
		require.ErrorIs(t, err, identity.ErrBadCredentials)
	}

	_, err := env.loginWithCode("jo@example.org", password, env.currentCode(secret))
	require.NoError(t, err)
}

// resetPassword sets a new password with a link that is sent to the address.
func (e *testEnv) resetPassword(email, password string) {
	e.t.Helper()
	e.requestReset(email)
	require.NoError(e.t, e.useResetLink(e.mailToken(email), password))
}

// hasSecondFactor reports whether a sign-in with the password needs a code.
func (e *testEnv) hasSecondFactor(email, password string) bool {
	e.t.Helper()

	_, err := e.login(email, password)

	needsCode := err != nil
	if needsCode {
		require.ErrorIs(e.t, err, identity.ErrSecondFactorRequired)
	}

	return needsCode
}

// hasAuditedReset reports whether the audit log has one entry about a removal of the account's
// second factor.
func (e *testEnv) hasAuditedReset(userID string) bool {
	e.t.Helper()

	entries, err := e.store.Identity.AuditLog.List(e.t.Context(),
		audit.Filter{Action: audit.SecondFactorReset, About: userID}, page.Request{Number: 1, Size: 10})
	require.NoError(e.t, err)

	return len(entries.Items) == 1
}

// TestSecondFactor_SquatterEnabled_FirstResetRemoves checks that the owner of a mailbox gets the
// account that another person, the squatter, registered with its address. The first password reset
// verifies the address and removes the squatter's second factor. Later resets keep the second factor.
func TestSecondFactor_SquatterEnabled_FirstResetRemoves(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		const newestPassword = "N3wer-password" // after the second reset

		// The squatter enables a second factor, and the owner of the mailbox resets the password.
		squatter := env.jobseeker("jo@example.org")
		env.enroll(squatter)
		env.resetPassword("jo@example.org", newPassword)
		require.False(t, env.hasSecondFactor("jo@example.org", newPassword))
		require.True(t, env.hasAuditedReset(squatter.Account.ID))

		// The owner enables a second factor and resets the password again.
		owner, err := env.login("jo@example.org", newPassword)
		require.NoError(t, err)
		env.enroll(owner)
		env.clock.Advance(time.Second)
		env.resetPassword("jo@example.org", newestPassword)
		require.True(t, env.hasSecondFactor("jo@example.org", newestPassword),
			"a second factor that the owner enabled later stays")
	})
}

// TestSecondFactor_SquatterEnrolled_CannotEnableAfterReset checks that the first password reset also removes a
// second factor that the squatter has enrolled, but not yet enabled. The squatter cannot enable it
// afterwards.
func TestSecondFactor_SquatterEnrolled_CannotEnableAfterReset(t *testing.T) {
	env := newSQLiteEnv(t)
	squatter := env.actor(env.jobseeker("jo@example.org"))
	enrollment, err := env.EnrollSecondFactor(t.Context(), squatter)
	require.NoError(t, err)
	env.resetPassword("jo@example.org", newPassword)

	code := identity.CodeInput{Code: env.currentCode(enrollment.Secret)}
	_, err = env.ConfirmSecondFactor(t.Context(), squatter, code)
	require.ErrorIs(t, err, identity.ErrNotEnrolled)
	require.False(t, env.hasAuditedReset(squatter.UserID), "a second factor that was not enabled is not audited")
}

// TestSecondFactor_UnverifiedAccount_InvitationRemoves checks that an invitation, whose link
// verifies the address, removes a second factor that was enabled before the verification.
func TestSecondFactor_UnverifiedAccount_InvitationRemoves(t *testing.T) {
	env := newSQLiteEnv(t)
	jo := env.jobseeker("jo@example.org")
	env.enroll(jo)
	env.handleEvents() // so that the invitation is the newest mail

	boss := env.actor(env.employer("boss@example.org"))
	require.NoError(t, env.invite(boss, "jo@example.org", "recruiter"))

	_, err := env.accept(env.actor(jo), env.mailToken("jo@example.org"))
	require.NoError(t, err)
	require.False(t, env.hasSecondFactor("jo@example.org", password))
	require.True(t, env.hasAuditedReset(jo.Account.ID))
}

// TestSecondFactor_AddressChangeUndone_KeepsOldSecondFactor checks which second factors remain when the owner of the
// previous address undoes a change of address. One that was enabled before the change remains. One
// that was enabled after the change is removed, because a thief may have enabled it.
func TestSecondFactor_AddressChangeUndone_KeepsOldSecondFactor(t *testing.T) {
	t.Run("enabled before the change, remains", func(t *testing.T) {
		onEach(t, func(t *testing.T, env *testEnv) {
			jo := env.jobseeker("jo@example.org")
			env.enroll(jo)
			env.clock.Advance(time.Second)

			changedAt := env.changeAddress(jo, "thief@example.org")
			env.clock.Advance(time.Second)
			require.NoError(t, env.undoEmailChange(env.undoToken(jo, changedAt)))
			require.True(t, env.hasSecondFactor("jo@example.org", newPassword))
			require.False(t, env.hasAuditedReset(jo.Account.ID))
		})
	})

	t.Run("enabled after the change, is removed", func(t *testing.T) {
		onEach(t, func(t *testing.T, env *testEnv) {
			jo := env.jobseeker("jo@example.org")
			changedAt := env.changeAddress(jo, "thief@example.org")
			env.enroll(jo)
			env.clock.Advance(time.Second)
			require.NoError(t, env.undoEmailChange(env.undoToken(jo, changedAt)))
			require.False(t, env.hasSecondFactor("jo@example.org", newPassword))
			require.True(t, env.hasAuditedReset(jo.Account.ID))
		})
	})
}

// TestSecondFactor_PasswordReset_StillNeedsCode checks that a password reset does not bypass the second
// factor of an account whose address was verified before. A recovery code is accepted.
func TestSecondFactor_PasswordReset_StillNeedsCode(t *testing.T) {
	env := newSQLiteEnv(t)
	jo := env.jobseeker("jo@example.org")
	require.NoError(t, env.verifyEmail(env.mailToken("jo@example.org")))

	_, recoveryCodes := env.enroll(jo)
	env.resetPassword("jo@example.org", newPassword)

	_, err := env.login("jo@example.org", newPassword)
	require.ErrorIs(t, err, identity.ErrSecondFactorRequired)

	_, err = env.loginWithCode("jo@example.org", newPassword, recoveryCodes[0])
	require.NoError(t, err)
}

// confirm enables the enrolled second factor with a code.
func (e *testEnv) confirm(by identity.SignedIn, code string) error {
	_, err := e.ConfirmSecondFactor(e.t.Context(), e.actor(by), identity.CodeInput{Code: code})
	return err
}

// TestSecondFactor_NotEnrolled_CannotBeEnabled checks that a code is refused without an enrollment.
func TestSecondFactor_NotEnrolled_CannotBeEnabled(t *testing.T) {
	env := newSQLiteEnv(t)
	require.ErrorIs(t, env.confirm(env.jobseeker("jo@example.org"), invalidCode), identity.ErrNotEnrolled)
}

// TestSecondFactor_EnrolledTwice_SecondSecretCounts checks that an enrollment replaces the secret of an
// earlier one. Sign-ins need no code until a first code has enabled the second factor.
func TestSecondFactor_EnrolledTwice_SecondSecretCounts(t *testing.T) {
	env := newSQLiteEnv(t)
	jo := env.jobseeker("jo@example.org")

	first, err := env.EnrollSecondFactor(t.Context(), env.actor(jo))
	require.NoError(t, err)

	second, err := env.EnrollSecondFactor(t.Context(), env.actor(jo))
	require.NoError(t, err)

	_, err = env.login("jo@example.org", password)
	require.NoError(t, err, "the second factor is not enabled yet")

	require.ErrorIs(t, env.confirm(jo, env.currentCode(first.Secret)), fault.ErrInvalid)
	require.NoError(t, env.confirm(jo, env.currentCode(second.Secret)))
}

// TestSecondFactor_OldSession_MustReauthenticateToEnroll checks that an enrollment requires that the
// user has entered the password within the last ten minutes. A second factor that was enrolled before
// can still be enabled.
func TestSecondFactor_OldSession_MustReauthenticateToEnroll(t *testing.T) {
	env := newSQLiteEnv(t)
	jo := env.jobseeker("jo@example.org")
	enrollment, err := env.EnrollSecondFactor(t.Context(), env.actor(jo))
	require.NoError(t, err)
	env.clock.Advance(10 * time.Minute)

	_, err = env.EnrollSecondFactor(t.Context(), env.actor(jo))
	require.ErrorIs(t, err, auth.ErrReauthenticate)
	require.NoError(t, env.confirm(jo, env.currentCode(enrollment.Secret)))
}

// TestSecondFactor_Enabled_CannotBeEnrolledAgain checks that an enabled second factor is not replaced,
// even if the user has just entered the password again.
func TestSecondFactor_Enabled_CannotBeEnrolledAgain(t *testing.T) {
	env := newSQLiteEnv(t)
	jo := env.jobseeker("jo@example.org")
	env.enroll(jo)

	reauthenticated, err := env.Confirm(t.Context(), env.actor(jo), password, officeClient)
	require.NoError(t, err)

	_, err = env.EnrollSecondFactor(t.Context(), reauthenticated)
	require.ErrorIs(t, err, identity.ErrSecondFactorEnabled)
}

// TestSecondFactor_Disabled_SignInNeedsNoCode checks that the password and a valid code, both together,
// disable the second factor. The owner gets an e-mail when it is enabled and when it is disabled.
func TestSecondFactor_Disabled_SignInNeedsNoCode(t *testing.T) {
	env := newSQLiteEnv(t)
	jo := env.jobseeker("jo@example.org")
	secret, _ := env.enroll(jo)
	env.clock.Advance(codePeriod) // enroll has used the code before

	disable := func(password, code string) error {
		input := identity.DisableSecondFactorInput{CurrentPassword: password, CodeInput: identity.CodeInput{Code: code}}
		return env.DisableSecondFactor(t.Context(), env.actor(jo), input, officeClient)
	}

	require.ErrorIs(t, disable(wrongPassword, env.currentCode(secret)), fault.ErrInvalid)
	require.ErrorIs(t, disable(password, invalidCode), fault.ErrInvalid)
	require.NoError(t, disable(password, env.currentCode(secret)))
	require.ErrorIs(t, disable(password, invalidCode), identity.ErrNotEnrolled, "it is disabled already")

	_, err := env.login("jo@example.org", password)
	require.NoError(t, err)

	var subjects []string
	for _, message := range env.mailsTo("jo@example.org") {
		subjects = append(subjects, message.Subject)
	}

	require.Subset(t, subjects, []string{"Two-step sign-in is on", "Two-step sign-in is off"})
}

// TestSecondFactor_RequiredByOrganization_OthersHaveNoAccess checks that members without a second factor have no access
// to an organization that requires one, until they enable it. Programs that act for the member, which
// use ActorFor, and notifications, which use MemberMay, have no access either.
func TestSecondFactor_RequiredByOrganization_OthersHaveNoAccess(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		boss := env.employer("boss@example.org")
		member := env.addMember(env.actor(boss), "jo@example.org", "recruiter")
		requirement := identity.OrganizationInput{RequireSecondFactor: ptr(true)}
		_, err := env.UpdateOrganization(t.Context(), env.actor(boss), requirement)
		require.ErrorIs(t, err, fault.ErrInvalid, "the admin has no second factor")

		// The admin enables a second factor and requires it of all members.
		env.enroll(boss)

		organization, err := env.UpdateOrganization(t.Context(), env.actor(boss), requirement)
		require.NoError(t, err)
		require.True(t, organization.RequireSecondFactor)
		require.True(t, env.actor(boss).May(auth.Manage))

		// The member has no access to the organization.
		actor := env.actor(member)
		require.True(t, actor.EnrollmentRequired)
		require.Empty(t, actor.OrganizationID)
		require.Empty(t, actor.Permissions)

		actorOfPrograms, err := env.ActorFor(t.Context(), member.Account.ID)
		require.NoError(t, err)
		require.Empty(t, actorOfPrograms.OrganizationID)

		may, err := env.MemberMay(t.Context(), organization.ID, member.Account.ID, auth.AnyPermission)
		require.NoError(t, err)
		require.False(t, may)

		// The member's own second factor restores the access.
		env.enroll(member)
		require.Equal(t, organization.ID, env.actor(member).OrganizationID)
	})
}
