package identity_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/event"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/modules/identity"
)

// moderator registers a user and makes the user a moderator.
func (e *testEnv) moderator() auth.Actor {
	e.t.Helper()

	signedIn := e.jobseeker("moderator@example.net")
	require.NoError(e.t, e.GrantModerator(e.t.Context(), "moderator@example.net"))

	return e.actor(signedIn)
}

// moderate takes the action of a moderator on the organization.
func (e *testEnv) moderate(by auth.Actor, organizationID string, action identity.OrganizationAction) identity.Organization {
	e.t.Helper()

	input := identity.OrganizationActionInput{Action: string(action)}
	organization, err := e.Moderate(e.t.Context(), by, organizationID, input)
	require.NoError(e.t, err)

	return organization
}

// TestOrganizationChanges_CountsCommits checks the number with which pages about organizations are
// cached: a cached page is outdated when the number has changed. Every committed change of an
// organization is counted, also a verification by domain. A refused change is not counted.
func TestOrganizationChanges_CountsCommits(t *testing.T) {
	env := newSQLiteEnv(t)
	boss, moderator := env.actor(env.employer("boss@example.org")), env.moderator()
	before := env.OrganizationChanges()
	env.moderate(moderator, boss.OrganizationID, identity.VerifyOrganization)
	require.Equal(t, before+1, env.OrganizationChanges())

	_, err := env.UpdateOrganization(t.Context(), boss, identity.OrganizationInput{Name: ptr("St Brigid's")})
	require.NoError(t, err)
	require.Equal(t, before+2, env.OrganizationChanges())

	// A confirmed address verifies the organization by its domain.
	require.NoError(t, env.verifyEmail(env.mailToken("boss@example.org")))
	require.Equal(t, before+3, env.OrganizationChanges())

	// A refused change is not counted.
	_, err = env.UpdateOrganization(t.Context(), boss, identity.OrganizationInput{Name: ptr("")})
	require.Error(t, err)
	require.Equal(t, before+3, env.OrganizationChanges())
}

// verifiedEmployer registers an employer whose organization is verified by its domain: its website has
// the domain of the admin's confirmed address.
func (e *testEnv) verifiedEmployer() auth.Actor {
	e.t.Helper()

	boss := e.actor(e.employer("boss@example.org"))
	require.NoError(e.t, e.verifyEmail(e.mailToken("boss@example.org")))

	organization := e.setWebsite(boss, "https://www.example.org")
	require.Equal(e.t, "example.org", organization.VerifiedDomain())

	return boss
}

// setWebsite changes the website of the organization.
func (e *testEnv) setWebsite(boss auth.Actor, website string) identity.Organization {
	e.t.Helper()

	organization, err := e.UpdateOrganization(e.t.Context(), boss, identity.OrganizationInput{Website: &website})
	require.NoError(e.t, err)

	return organization
}

// TestUpdateOrganization_Renamed_IsNotVerifiedByDomain checks that a new name ends the verification by
// domain, because the domain does not confirm the new name. The organization is verified again when
// only the website changes: to another domain, and back to that of the admin's address.
func TestUpdateOrganization_Renamed_IsNotVerifiedByDomain(t *testing.T) {
	env := newSQLiteEnv(t)

	boss := env.verifiedEmployer() // whose address is at example.org

	// The name is changed, with the website or without.
	for _, website := range []string{"https://example.org", "https://other.example", "https://example.org"} {
		renamed, err := env.UpdateOrganization(t.Context(), boss, identity.OrganizationInput{
			Name:    ptr("Clinic at " + website),
			Website: &website,
		})
		require.NoError(t, err)
		require.False(t, renamed.IsVerified(), website)
		require.Empty(t, renamed.VerifiedDomain(), website)
	}

	// Only the website is changed.
	organization := env.setWebsite(boss, "https://example.org/careers")
	require.False(t, organization.IsVerified(), "the domain of the website is the same")

	organization = env.setWebsite(boss, "https://other.example")
	require.False(t, organization.IsVerified(), "the address is at another domain")

	organization = env.setWebsite(boss, "https://example.org")
	require.True(t, organization.IsVerified())
}

// TestModerate_VerificationRemoved_OnlyModeratorVerifiesAgain checks that an organization
// cannot undo the decision of a moderator by changing its name or website back and forth.
func TestModerate_VerificationRemoved_OnlyModeratorVerifiesAgain(t *testing.T) {
	// Both lists of actions end the verification.
	for _, actions := range [][]identity.OrganizationAction{
		{identity.UnverifyOrganization},
		{identity.SuspendOrganization, identity.RestoreOrganization},
	} {
		firstAction := string(actions[0])
		t.Run("by "+firstAction, func(t *testing.T) {
			env := newSQLiteEnv(t)

			boss, moderator := env.verifiedEmployer(), env.moderator()
			for _, action := range actions {
				env.moderate(moderator, boss.OrganizationID, action)
			}

			for _, website := range []string{"https://example.org", "https://other.example", "https://example.org"} {
				organization := env.setWebsite(boss, website)
				require.False(t, organization.IsVerified())
			}

			// A new name makes no difference.
			_, err := env.UpdateOrganization(t.Context(), boss, identity.OrganizationInput{Name: ptr("Another Clinic")})
			require.NoError(t, err)

			organization := env.setWebsite(boss, "https://other.example")
			require.False(t, organization.IsVerified())

			organization = env.setWebsite(boss, "https://example.org")
			require.False(t, organization.IsVerified())

			// The moderator verifies the organization itself, not its domain.
			organization = env.moderate(moderator, boss.OrganizationID, identity.VerifyOrganization)
			require.True(t, organization.IsVerified())
			require.Empty(t, organization.VerifiedDomain())
		})
	}
}

// TestVerifyByDomain_MailboxProvider_DoesNotVerify checks that an address at the domain of a mailbox
// provider, or at a subdomain of it, verifies no organization: every person can get such an address.
func TestVerifyByDomain_MailboxProvider_DoesNotVerify(t *testing.T) {
	env := newSQLiteEnv(t)
	for _, domain := range []string{"mailinator.com", "inbox.mailinator.com", "gmail.com"} {
		email := "boss@" + domain
		boss := env.actor(env.employer(email))
		require.NoError(t, env.verifyEmail(env.mailToken(email)))

		organization := env.setWebsite(boss, "https://"+domain)
		require.False(t, organization.IsVerified(), domain)
	}
}

// TestModerateAccount_LockedByOperator_IsNotRestored checks that a moderator can restore an account
// that moderators have suspended, but not one that an operator has locked. The lock also remains if a
// moderator suspends and restores the locked account.
func TestModerateAccount_LockedByOperator_IsNotRestored(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		jo, moderator := env.actor(env.jobseeker("jo@example.org")), env.moderator()
		moderate := func(action string) error {
			env.clock.Advance(time.Second)
			return env.ModerateAccount(t.Context(), moderator, jo.UserID, identity.AccountActionInput{Action: action})
		}

		// A moderator restores an account that moderators have suspended.
		require.NoError(t, moderate("suspend"))
		require.NoError(t, moderate("restore"))

		// A moderator does not restore an account that an operator has locked.
		require.NoError(t, env.LockAccount(t.Context(), "jo@example.org"))
		require.Equal(t, fault.Conflict, fault.KindOf(moderate("restore")))
		require.NoError(t, moderate("suspend"))
		require.Equal(t, fault.Conflict, fault.KindOf(moderate("restore")), "the lock of the operator remains")

		// After the operator has unlocked it, the lock has no effect any more.
		require.NoError(t, env.UnlockAccount(t.Context(), "jo@example.org"))
		require.NoError(t, moderate("suspend"))
		require.NoError(t, moderate("restore"))
	})
}

// TestModerate_Suspended_MailNamesContact checks that the e-mail about a suspension names the
// address for questions, and that the e-mail about the end of the suspension does not.
func TestModerate_Suspended_MailNamesContact(t *testing.T) {
	env := newSQLiteEnv(t)
	env.Contact = "help@locum.example"

	boss := env.verifiedEmployer()
	for action, namesContact := range map[identity.OrganizationAction]bool{
		identity.SuspendOrganization: true,
		identity.RestoreOrganization: false,
	} {
		moderated := event.OrganizationModerated{OrganizationID: boss.OrganizationID, Action: string(action)}
		require.NoError(t, env.OnOrganizationModerated(t.Context(), moderated))

		text := env.newestMail("boss@example.org").Text
		require.Equal(t, namesContact, strings.Contains(text, "Write to help@locum.example."), action)
	}
}
