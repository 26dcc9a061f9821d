package identity_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/modules/identity"
	"github.com/locumhq/locum/test/kit"
)

// TestMyEmployerAccount_New_HasDefaults checks the settings of a new account. Contact details that are not
// set are those of the account.
func TestMyEmployerAccount_New_HasDefaults(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		boss := env.actor(env.employer("boss@example.org"))
		account, err := env.MyEmployerAccount(t.Context(), boss)
		require.NoError(t, err)
		require.Equal(t, "Em Ployer", account.Name)
		require.Equal(t, "St Mary's", account.Organization.Name)
		require.True(t, account.Settings.EmailAlerts)
		require.Equal(t, identity.Contact{Name: "Em Ployer", Email: "boss@example.org"}, account.Contact())
	})
}

// TestUpdateEmployer_AllFields_AreStored checks that one request changes the user, the settings and the
// organization. A new address stays pending until it is confirmed.
func TestUpdateEmployer_AllFields_AreStored(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		boss := env.actor(env.employer("boss@example.org"))
		changed, err := env.UpdateEmployer(t.Context(), boss, identity.EmployerInput{
			Profile: &identity.EmployerProfileInput{
				Name:     ptr(" Zoë Patel "),
				JobTitle: ptr("Matron"),
				Email:    ptr("zoe@example.org"),
			},
			CompanyName: ptr("St Brigid's"),
			Industry:    ptr("hospital"),
			CompanySize: ptr("51-200"),
			EmailAlerts: ptr(false),
			Contact:     &identity.ContactInput{Email: ptr("wards@Example.org"), Phone: ptr("+44 20 7946 0000")},
		})
		require.NoError(t, err)

		stored, err := env.MyEmployerAccount(t.Context(), boss)
		require.NoError(t, err)
		require.Equal(t, changed, stored)

		// The user and the settings.
		require.Equal(t, "Zoë Patel", stored.Name)
		require.Equal(t, "boss@example.org", stored.Email)
		require.Equal(t, "zoe@example.org", stored.PendingEmail)
		require.Equal(t, "Matron", stored.Settings.JobTitle)
		require.Equal(t,
			identity.Contact{Name: "Zoë Patel", Email: "wards@example.org", Phone: "+44 20 7946 0000"},
			stored.Contact())

		wantsAlerts, err := env.WantsAlerts(t.Context(), boss.UserID)
		require.NoError(t, err)
		require.False(t, wantsAlerts)

		// The organization.
		require.Equal(t, "St Brigid's", stored.Organization.Name)
		require.Equal(t, "hospital", stored.Organization.Industry)
		require.Equal(t, "51-200", stored.Organization.Size)
	})
}

// TestResetEmployerSettings_Changed_HaveDefaults checks that a reset restores the alerts and the contact
// details of the account, and keeps the job title.
func TestResetEmployerSettings_Changed_HaveDefaults(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		boss := env.actor(env.employer("boss@example.org"))
		_, err := env.UpdateEmployer(t.Context(), boss, identity.EmployerInput{
			Profile:     &identity.EmployerProfileInput{JobTitle: ptr("Matron")},
			EmailAlerts: ptr(false),
			Contact:     &identity.ContactInput{Email: ptr("wards@example.org"), Phone: ptr("+44 20 7946 0000")},
		})
		require.NoError(t, err)

		reset, err := env.ResetEmployerSettings(t.Context(), boss)
		require.NoError(t, err)
		require.True(t, reset.Settings.EmailAlerts)
		require.Equal(t, identity.Contact{Name: "Em Ployer", Email: "boss@example.org"}, reset.Contact())
		require.Equal(t, "Matron", reset.Settings.JobTitle)
	})
}

// TestUpdateEmployer_NotAdmin_ChangesNothing checks that only an admin may change the organization. If
// another member's request contains such a change, the permitted changes of the same request are not stored
// either.
func TestUpdateEmployer_NotAdmin_ChangesNothing(t *testing.T) {
	env := newSQLiteEnv(t)
	boss := env.actor(env.employer("boss@example.org"))
	tom := env.actor(env.addMember(boss, "tom@example.org", "recruiter"))

	for field, input := range map[string]identity.EmployerInput{
		"company name": {CompanyName: ptr("Tom's")},
		"industry":     {Industry: ptr("x")},
		"company size": {CompanySize: ptr("1")},
	} {
		// A member may change the own profile.
		input.Profile = &identity.EmployerProfileInput{Name: ptr("Tom the Great"), Email: ptr("great@example.org")}
		_, err := env.UpdateEmployer(t.Context(), tom, input)
		require.ErrorIs(t, err, fault.ErrForbidden, field)
	}

	_, err := env.UpdateOrganization(t.Context(), tom, identity.OrganizationInput{Name: ptr("Tom's")})
	require.ErrorIs(t, err, fault.ErrForbidden)

	// Nothing has changed.
	account, err := env.MyEmployerAccount(t.Context(), tom)
	require.NoError(t, err)
	require.Equal(t, "Me Mber", account.Name)
	require.Empty(t, account.PendingEmail)
	require.Equal(t, "St Mary's", account.Organization.Name)
}

// TestUpdateEmployer_OwnProfile_OnlyOfMember checks that members can change their own profile, and that
// the profile of the admin is not affected.
func TestUpdateEmployer_OwnProfile_OnlyOfMember(t *testing.T) {
	env := newSQLiteEnv(t)
	boss := env.actor(env.employer("boss@example.org"))
	tom := env.actor(env.addMember(boss, "tom@example.org", "recruiter"))

	account, err := env.UpdateEmployer(t.Context(), tom,
		identity.EmployerInput{Profile: &identity.EmployerProfileInput{JobTitle: ptr("Recruiter")}})
	require.NoError(t, err)
	require.Equal(t, "Recruiter", account.Settings.JobTitle)

	bossAccount, err := env.MyEmployerAccount(t.Context(), boss)
	require.NoError(t, err)
	require.Empty(t, bossAccount.Settings.JobTitle)
}

// TestUpdateEmployer_AddressTaken_ChangesNothing checks that no change of a request is stored if its new
// address is that of another account.
func TestUpdateEmployer_AddressTaken_ChangesNothing(t *testing.T) {
	env := newSQLiteEnv(t)
	boss := env.actor(env.employer("boss@example.org"))
	env.jobseeker("taken@example.org")

	_, err := env.UpdateEmployer(t.Context(), boss, identity.EmployerInput{
		Profile:     &identity.EmployerProfileInput{Name: ptr("New"), Email: ptr("taken@example.org")},
		CompanyName: ptr("New"),
	})
	require.ErrorIs(t, err, identity.ErrEmailTaken)

	account, err := env.MyEmployerAccount(t.Context(), boss)
	require.NoError(t, err)
	require.Equal(t, "Em Ployer", account.Name)
	require.Equal(t, "St Mary's", account.Organization.Name)
}

// TestEmployerAccount_JobseekerOrGuest_IsRefused checks that jobseekers and guests have no employer
// account and no organization. kit.Refusal returns the expected error: guests have to sign in, others are
// forbidden.
func TestEmployerAccount_JobseekerOrGuest_IsRefused(t *testing.T) {
	env := newSQLiteEnv(t)

	for _, actor := range []auth.Actor{guest, env.actor(env.jobseeker("jo@example.org"))} {
		_, err := env.MyEmployerAccount(t.Context(), actor)
		require.ErrorIs(t, err, kit.Refusal(actor))

		_, err = env.UpdateEmployer(t.Context(), actor, identity.EmployerInput{EmailAlerts: ptr(true)})
		require.ErrorIs(t, err, kit.Refusal(actor))

		_, err = env.ResetEmployerSettings(t.Context(), actor)
		require.ErrorIs(t, err, kit.Refusal(actor))

		_, err = env.MyOrganization(t.Context(), actor)
		require.ErrorIs(t, err, kit.Refusal(actor))
	}
}

// TestUpdateOrganization_AllFields_AreStored checks that every field can be changed.
func TestUpdateOrganization_AllFields_AreStored(t *testing.T) {
	env := newSQLiteEnv(t)
	boss := env.actor(env.employer("boss@example.org"))
	organization, err := env.UpdateOrganization(t.Context(), boss, identity.OrganizationInput{
		Name:        ptr("St Brigid's"),
		Description: ptr("Two wards.\nOne garden."),
		Website:     ptr("https://brigid.example/jobs?a=1#top"),
		Logo:        ptr("https://cdn.brigid.example:8443/l.svg"),
		Industry:    ptr("hospital"),
		Size:        ptr("51-200"),
	})
	require.NoError(t, err)

	stored, err := env.MyOrganization(t.Context(), boss)
	require.NoError(t, err)
	require.Equal(t, organization, stored)
	require.Equal(t, "St Brigid's", stored.Name)
	require.Equal(t, "https://brigid.example/jobs?a=1#top", stored.Website)
}

// TestUpdateOrganization_UnsafeURL_IsRefused checks that website and logo must be https URLs without
// credentials, spaces, quotes and markup, because pages and e-mails link to them.
func TestUpdateOrganization_UnsafeURL_IsRefused(t *testing.T) {
	env := newSQLiteEnv(t)
	boss := env.actor(env.employer("boss@example.org"))

	for _, unsafe := range []string{
		"http://brigid.example",
		"javascript:alert(1)",
		"data:image/svg+xml,x",
		"//brigid.example",
		"brigid.example",
		"https://",
		"https:///x",
		"https:brigid.example",
		"https://brigid.example:port",
		"https://user:pass@brigid.example",
		"https://user@brigid.example",
		"https://brigid.example/\nx",
		"https://brigid.example/\x00",
		"https://brigid.example/<b>",
		"https://brigid.example/a b",
		"https://brigid.example/\"x",
		"https://brigid.example/" + strings.Repeat("x", 2048),
	} {
		for field, input := range map[string]identity.OrganizationInput{
			"website": {Website: ptr(unsafe)},
			"logo":    {Logo: ptr(unsafe)},
		} {
			_, err := env.UpdateOrganization(t.Context(), boss, input)
			require.ErrorIs(t, err, fault.ErrInvalid, "%q", unsafe)
			require.Equal(t, field, fault.Of(err).Fields[0].Name)
		}
	}

}

// TestUpdateOrganization_InvalidText_IsRefused checks the rules of the other fields: not empty, at most
// 10,000 or 200 characters, and one line.
func TestUpdateOrganization_InvalidText_IsRefused(t *testing.T) {
	env := newSQLiteEnv(t)
	boss := env.actor(env.employer("boss@example.org"))

	for field, input := range map[string]identity.OrganizationInput{
		"name":        {Name: ptr("  ")},
		"description": {Description: ptr(strings.Repeat("x", 10_001))},
		"industry":    {Industry: ptr(strings.Repeat("x", 201))},
		"size":        {Size: ptr("1\n2")},
	} {
		_, err := env.UpdateOrganization(t.Context(), boss, input)
		require.ErrorIs(t, err, fault.ErrInvalid, field)
		require.Equal(t, field, fault.Of(err).Fields[0].Name)
	}
}

// TestUpdateOrganization_EmptyURLs_AreRemoved checks that an empty text removes the website and the logo,
// and that fields which the request does not have stay unchanged.
func TestUpdateOrganization_EmptyURLs_AreRemoved(t *testing.T) {
	env := newSQLiteEnv(t)
	boss := env.actor(env.employer("boss@example.org"))
	_, err := env.UpdateOrganization(t.Context(), boss, identity.OrganizationInput{
		Website: ptr("https://brigid.example"),
		Logo:    ptr("https://cdn.brigid.example/l.svg"),
	})
	require.NoError(t, err)

	organization, err := env.UpdateOrganization(t.Context(), boss, identity.OrganizationInput{Website: ptr(""), Logo: ptr("")})
	require.NoError(t, err)
	require.Empty(t, organization.Website)
	require.Empty(t, organization.Logo)
	require.Equal(t, "St Mary's", organization.Name)
}

// TestUpdateEmployer_Contacts_AreValidated checks that invalid contact details are refused, with an
// error that names the field.
func TestUpdateEmployer_Contacts_AreValidated(t *testing.T) {
	env := newSQLiteEnv(t)
	boss := env.actor(env.employer("boss@example.org"))

	for field, input := range map[string]identity.ContactInput{
		"contact.email": {Email: ptr("nonsense")},
		"contact.phone": {Phone: ptr("12")}, // too short
		"contact.name":  {Name: ptr(strings.Repeat("x", 201))},
	} {
		_, err := env.UpdateEmployer(t.Context(), boss, identity.EmployerInput{Contact: &input})
		require.ErrorIs(t, err, fault.ErrInvalid, field)
		require.Equal(t, field, fault.Of(err).Fields[0].Name)
	}
}

// TestUpdateOrganization_Concurrent_NoChangeIsLost checks that concurrent changes of different
// fields of the same row are all stored.
func TestUpdateOrganization_Concurrent_NoChangeIsLost(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		boss := env.actor(env.employer("boss@example.org"))
		// Half of the requests change the name, and the others change the size and the alerts.
		const requests = 8
		errs := concurrently(requests, func(i int) error {
			changesName := i%2 == 0
			if changesName {
				_, err := env.UpdateOrganization(t.Context(), boss, identity.OrganizationInput{Name: ptr("Name")})
				return err
			}

			input := identity.EmployerInput{CompanySize: ptr("9"), EmailAlerts: ptr(false)}
			_, err := env.UpdateEmployer(t.Context(), boss, input)

			return err
		})

		require.Equal(t, requests, countErrors(errs, nil), "successes among %v", errs)

		account, err := env.MyEmployerAccount(t.Context(), boss)
		require.NoError(t, err)
		require.Equal(t, "Name", account.Organization.Name)
		require.Equal(t, "9", account.Organization.Size)
		require.False(t, account.Settings.EmailAlerts)
	})
}

// TestUpdateEmployer_Renamed_RecordsTwoEvents checks that a new name is published twice: at once, and
// by a task a minute later. Between both, a request that has read the old name may still store a
// listing with the old name.
func TestUpdateEmployer_Renamed_RecordsTwoEvents(t *testing.T) {
	env := newSQLiteEnv(t)
	boss := env.actor(env.employer("boss@example.org"))

	// countRenamed returns the number of OrganizationRenamed events since its last call.
	countRenamed := func() (n int) {
		t.Helper()

		const moreThanAll = 100 // events
		events, err := env.store.Identity.Outbox.Claim(t.Context(), moreThanAll, time.Minute)
		require.NoError(t, err)

		for _, recorded := range events {
			if recorded.Type == "organization.renamed" {
				require.Equal(t, boss.OrganizationID, recorded.Subject)
				n++
			}

			require.NoError(t, env.store.Identity.Outbox.MarkSent(t.Context(), recorded.ID))
		}

		return n
	}

	_, err := env.UpdateOrganization(t.Context(), boss, identity.OrganizationInput{Name: ptr("St Columba's")})
	require.NoError(t, err)
	require.Equal(t, 1, countRenamed())

	// A minute later, the task is due and records the second event.
	env.clock.Advance(time.Minute)
	require.NoError(t, env.work.Runner.Sweep(t.Context()))
	require.Equal(t, 1, countRenamed())

	// A change that has the same name records no event.
	_, err = env.UpdateOrganization(t.Context(), boss, identity.OrganizationInput{Name: ptr("St Columba's"), Size: ptr("11-50")})
	require.NoError(t, err)
	require.Zero(t, countRenamed())
}

// TestUpdateEmployer_RenamedTooOften_RateLimited checks the limit of 20 renamings in an hour. Each
// renaming updates all listings of the organization. UpdateOrganization and UpdateEmployer can both
// rename an organization, and share the limit.
func TestUpdateEmployer_RenamedTooOften_RateLimited(t *testing.T) {
	env := newSQLiteEnv(t)
	boss := env.actor(env.employer("boss@example.org"))
	renameOrganization := func(name string) error {
		_, err := env.UpdateOrganization(t.Context(), boss, identity.OrganizationInput{Name: &name})
		return err
	}

	renameEmployer := func(name string) error {
		_, err := env.UpdateEmployer(t.Context(), boss, identity.EmployerInput{CompanyName: &name})
		return err
	}

	// Rename the organization 20 times, ten times with each method.
	for i := range 10 {
		require.NoError(t, renameOrganization(fmt.Sprint("Organization ", i)))
		require.NoError(t, renameEmployer(fmt.Sprint("Employer ", i)))
	}

	for _, rename := range []func(name string) error{renameOrganization, renameEmployer} {
		err := rename("Another")
		require.ErrorIs(t, err, fault.ErrRateLimit)
		require.Positive(t, fault.Of(err).RetryAfter)
		require.NoError(t, rename("Employer 9"), "the same name is no change")
	}

	organization, err := env.UpdateOrganization(t.Context(), boss, identity.OrganizationInput{Size: ptr("11-50")})
	require.NoError(t, err, "other changes are not counted")
	require.Equal(t, "Employer 9", organization.Name)

	other := env.actor(env.employer("other@example.org"))
	_, err = env.UpdateOrganization(t.Context(), other, identity.OrganizationInput{Name: ptr("F")})
	require.NoError(t, err, "each organization has its own count")

	// An hour later, the first organization can be renamed again.
	env.clock.Advance(time.Hour + time.Second)
	require.NoError(t, renameOrganization("Another"))
}
