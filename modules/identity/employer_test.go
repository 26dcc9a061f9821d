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

// TestUpdateEmployer_AccountAndOrganization checks that one request changes the user, the
// settings and the organization. A new address stays pending until it is confirmed, and contact
// details that are not set are those of the account.
func TestUpdateEmployer_AccountAndOrganization(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		boss := env.actor(env.employer("boss@example.org"))
		before, err := env.MyEmployerAccount(t.Context(), boss)
		require.NoError(t, err)
		require.Equal(t, "Em Ployer", before.Name)
		require.Equal(t, "St Mary's", before.Organization.Name)
		require.True(t, before.Settings.EmailAlerts)
		require.Equal(t, identity.Contact{Name: "Em Ployer", Email: "boss@example.org"}, before.Contact())

		// Change everything in one request.
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
		require.Equal(t, "Zoë Patel", stored.Name)
		require.Equal(t, "boss@example.org", stored.Email)
		require.Equal(t, "zoe@example.org", stored.PendingEmail)
		require.Equal(t, "Matron", stored.Settings.JobTitle)
		require.Equal(t, "St Brigid's", stored.Organization.Name)
		require.Equal(t, "hospital", stored.Organization.Industry)
		require.Equal(t, "51-200", stored.Organization.Size)
		require.Equal(
			t,
			identity.Contact{Name: "Zoë Patel", Email: "wards@example.org", Phone: "+44 20 7946 0000"},
			stored.Contact(),
		)

		wantsAlerts, err := env.WantsAlerts(t.Context(), boss.UserID)
		require.NoError(t, err)
		require.False(t, wantsAlerts)

		// Reset the settings.
		reset, err := env.ResetEmployerSettings(t.Context(), boss)
		require.NoError(t, err)
		require.True(t, reset.Settings.EmailAlerts)
		require.Equal(t, identity.Contact{Name: "Zoë Patel", Email: "boss@example.org"}, reset.Contact())
		require.Equal(t, "Matron", reset.Settings.JobTitle, "a reset of the settings keeps the job title")
	})
}

// TestUpdateEmployer_NotAdmin_ChangesNothing checks that a request is applied completely or not at
// all. Only an admin may change the organization. If another member's request contains such a change,
// or a new address is taken, the permitted changes of the same request are not stored either.
func TestUpdateEmployer_NotAdmin_ChangesNothing(t *testing.T) {
	env := newSQLiteEnv(t)
	boss := env.actor(env.employer("boss@example.org"))

	tom := env.actor(env.addMember(boss, "tom@example.org", "recruiter"))
	for _, input := range []identity.EmployerInput{
		{CompanyName: ptr("Tom's")},
		{Industry: ptr("x")},
		{CompanySize: ptr("1")},
	} {
		// A member may change the own profile.
		input.Profile = &identity.EmployerProfileInput{Name: ptr("Tom the Great"), Email: ptr("great@example.org")}
		_, err := env.UpdateEmployer(t.Context(), tom, input)
		require.ErrorIs(t, err, fault.ErrForbidden)
	}

	_, err := env.UpdateOrganization(t.Context(), tom, identity.OrganizationInput{Name: ptr("Tom's")})
	require.ErrorIs(t, err, fault.ErrForbidden)

	// Nothing has changed.
	account, err := env.MyEmployerAccount(t.Context(), tom)
	require.NoError(t, err)
	require.Equal(t, "Me Mber", account.Name)
	require.Empty(t, account.PendingEmail)
	require.Equal(t, "St Mary's", account.Organization.Name)

	account, err = env.UpdateEmployer(t.Context(), tom,
		identity.EmployerInput{Profile: &identity.EmployerProfileInput{JobTitle: ptr("Recruiter")}})
	require.NoError(t, err, "members can change their own profile")
	require.Equal(t, "Recruiter", account.Settings.JobTitle)

	bossAccount, err := env.MyEmployerAccount(t.Context(), boss)
	require.NoError(t, err)
	require.Empty(t, bossAccount.Settings.JobTitle)

	t.Run("address is taken", func(t *testing.T) {
		_, err := env.UpdateEmployer(
			t.Context(),
			boss,
			identity.EmployerInput{
				Profile:     &identity.EmployerProfileInput{Name: ptr("New"), Email: ptr("tom@example.org")},
				CompanyName: ptr("New"),
			},
		)
		require.ErrorIs(t, err, identity.ErrEmailTaken)

		bossAccount, err := env.MyEmployerAccount(t.Context(), boss)
		require.NoError(t, err)
		require.Equal(t, "Em Ployer", bossAccount.Name)
		require.Equal(t, "St Mary's", bossAccount.Organization.Name)
	})

	t.Run("jobseekers and guests have no employer account", func(t *testing.T) {
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
	})
}

// TestUpdateEmployer_UnsafeContent_IsRefused checks that website and logo must be https URLs
// without credentials, spaces, quotes and markup, because pages and e-mails link to them. The other
// fields have maximum lengths.
func TestUpdateEmployer_UnsafeContent_IsRefused(t *testing.T) {
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

	// Every other field has its own rule: not empty, at most 10,000 or 200 characters, and one line.
	for field, input := range map[string]identity.OrganizationInput{
		"name":        {Name: ptr("  ")},
		"description": {Description: ptr(strings.Repeat("x", 10_001))},
		"industry":    {Industry: ptr(strings.Repeat("x", 201))},
		"size":        {Size: ptr("1\n2")},
	} {
		_, err := env.UpdateOrganization(t.Context(), boss, input)
		require.ErrorIs(t, err, fault.ErrInvalid)
		require.Equal(t, field, fault.Of(err).Fields[0].Name)
	}

	// An empty text removes the website and the logo.
	organization, err = env.UpdateOrganization(t.Context(), boss, identity.OrganizationInput{Website: ptr(""), Logo: ptr("")})
	require.NoError(t, err)
	require.Empty(t, organization.Website)
	require.Empty(t, organization.Logo)
	require.Equal(t, "St Brigid's", organization.Name, "absent members stay unchanged")
}

// TestUpdateEmployer_Contacts_AreValidated checks that invalid contact details are refused, with an
// error that names the field.
func TestUpdateEmployer_Contacts_AreValidated(t *testing.T) {
	env := newSQLiteEnv(t)

	boss := env.actor(env.employer("boss@example.org"))
	for field, input := range map[string]identity.ContactInput{
		"contact.email": {Email: ptr("nonsense")},
		"contact.phone": {Phone: ptr("12")},
		"contact.name":  {Name: ptr(strings.Repeat("x", 201))},
	} {
		_, err := env.UpdateEmployer(t.Context(), boss, identity.EmployerInput{Contact: &input})
		require.ErrorIs(t, err, fault.ErrInvalid)
		require.Equal(t, field, fault.Of(err).Fields[0].Name)
	}
}

// TestUpdateOrganization_Concurrent_NoChangeIsLost checks that concurrent changes of different
// fields of the same row are all stored.
func TestUpdateOrganization_Concurrent_NoChangeIsLost(t *testing.T) {
	onEach(t, func(t *testing.T, env *testEnv) {
		boss := env.actor(env.employer("boss@example.org"))
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

		events, err := env.store.Identity.Outbox.Claim(t.Context(), 100, time.Minute)
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
	env.clock.Advance(time.Minute)
	require.NoError(t, env.work.Runner.Sweep(t.Context())) // executes the task, which is now due
	require.Equal(t, 1, countRenamed(), "a second event covers writes with the old name")

	_, err = env.UpdateOrganization(t.Context(), boss, identity.OrganizationInput{Name: ptr("St Columba's"), Size: ptr("11-50")})
	require.NoError(t, err)
	require.Zero(t, countRenamed(), "the same name records no event")
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
	env.clock.Advance(time.Hour + time.Second)
	require.NoError(t, renameOrganization("Another"))
}
