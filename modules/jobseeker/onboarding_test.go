package jobseeker_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/event"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/modules/jobseeker"
	"github.com/locumhq/locum/test/kit/stores"
)

// trackStep returns the input for an event of a step.
func trackStep(step, action string) jobseeker.OnboardingInput {
	return jobseeker.OnboardingInput{Action: "track_step", Step: step, ActionType: action}
}

// onboard stores an event and returns the secret that the browser has to store.
func (env *testEnv) onboard(by auth.Actor, secret string, in jobseeker.OnboardingInput) (newSecret string) {
	env.t.Helper()

	newSecret, err := env.Onboard(env.t.Context(), by, secret, in)
	require.NoError(env.t, err)

	return newSecret
}

// onboardingState returns the onboarding of a visitor, and the status of each step by its name.
func (env *testEnv) onboardingState(by auth.Actor, secret string) (jobseeker.Guided, map[string]jobseeker.StepStatus) {
	env.t.Helper()

	g, _, err := env.MyOnboarding(env.t.Context(), by, secret)
	require.NoError(env.t, err)

	out := map[string]jobseeker.StepStatus{}
	for _, s := range g.Steps {
		out[s.Step] = s.Status()
	}

	return g, out
}

// guest is a visitor without an account.
var guest auth.Actor

// documentsStep is the position of the step "documents" in the guide.
const documentsStep = 3

// TestOnboarding_RepeatedStep_KeepsFirstTime checks that a step keeps the time of its first
// view, and that completing it replaces an earlier skip.
func TestOnboarding_RepeatedStep_KeepsFirstTime(t *testing.T) {
	onEachStorage(t, func(t *testing.T, env *testEnv) {
		me, began := newSeeker(), env.clock.Now()
		env.onboard(me, "", trackStep("documents", "viewed"))
		env.clock.Advance(time.Hour)
		env.onboard(me, "", trackStep("documents", "viewed"))
		// After two views and a skip, the step is skipped, and has the time of the first view.
		env.onboard(me, "", trackStep("documents", "skipped"))

		g, statuses := env.onboardingState(me, "")
		require.Equal(t, jobseeker.StepSkipped, statuses["documents"])
		require.Equal(t, began, g.Steps[documentsStep].ViewedAt)
		env.clock.Advance(time.Hour)
		env.onboard(me, "", trackStep("documents", "completed"))
		env.onboard(me, "", trackStep("documents", "viewed"))

		g, statuses = env.onboardingState(me, "")
		require.Equal(t, jobseeker.StepCompleted, statuses["documents"])
		require.True(t, g.Steps[documentsStep].SkippedAt.IsZero())
		// A later view does not change a completed step.
		require.Equal(t, began.Add(2*time.Hour), g.Steps[documentsStep].CompletedAt)
		require.False(t, g.Complete)
	})
}

// TestOnboarding_ProfileFields_CompleteSteps checks that steps are completed by the data that
// they ask for, without an event, and that the onboarding is complete when the other steps are
// skipped.
func TestOnboarding_ProfileFields_CompleteSteps(t *testing.T) {
	onEachStorage(t, func(t *testing.T, env *testEnv) {
		me := newSeeker()
		_, statuses := env.onboardingState(me, "")
		require.Equal(t, jobseeker.StepPending, statuses["profile"])

		specialty, place := "Intensive care", "Leeds"
		_, err := env.UpdateProfile(t.Context(), me, jobseeker.ProfileInput{Specialty: &specialty, PreferredLocation: &place})
		require.NoError(t, err)

		_, statuses = env.onboardingState(me, "")
		require.Equal(t, []jobseeker.StepStatus{"completed", "completed", "completed", "pending"},
			[]jobseeker.StepStatus{statuses["account"], statuses["profile"], statuses["preferences"], statuses["documents"]})

		// Skipping the other steps completes the onboarding.
		for _, step := range []string{"documents", "first-search", "first-application"} {
			env.onboard(me, "", trackStep(step, "skipped"))
		}

		g, _ := env.onboardingState(me, "")
		require.True(t, g.Complete)
	})
}

// TestOnboarding_Actions_CompleteSteps checks that a saved search, an uploaded document and an
// application complete their steps.
func TestOnboarding_Actions_CompleteSteps(t *testing.T) {
	onEachStorage(t, func(t *testing.T, env *testEnv) {
		me := newSeeker()
		_, err := env.SaveSearch(t.Context(), me, jobseeker.SaveSearchInput{Query: "nurse"})
		require.NoError(t, err)

		_, err = env.Upload(t.Context(), me, jobseeker.UploadInput{Type: "cv", Content: "Nurse since 2012."})
		require.NoError(t, err)

		env.applied[me.UserID] = []string{env.newListing("Nurse")}
		_, statuses := env.onboardingState(me, "")
		require.Equal(t, []jobseeker.StepStatus{"completed", "completed", "completed", "pending"},
			[]jobseeker.StepStatus{statuses["documents"], statuses["first-search"], statuses["first-application"], statuses["profile"]})
	})
}

// TestOnboarding_Preferences_FillEmptyProfile checks that the preferences of a guest fill empty
// fields of a new profile. Invalid values, fields of the account and unknown fields are
// ignored, because the preferences are a free-form object that a client has stored.
func TestOnboarding_Preferences_FillEmptyProfile(t *testing.T) {
	onEachStorage(t, func(t *testing.T, env *testEnv) {
		input := jobseeker.OnboardingInput{
			Action: "update_preferences",
			Preferences: `{"specialty":"Renal","preferredLocation":"Leeds","locationRadius":1e9,
			"employmentTypes":["bank"],"salaryMin":"much","experience":7,"email":"thief@example.org","firstName":"Mallory","colour":{"a":[1]}}`,
		}
		secret := env.onboard(guest, "", input)
		me := env.profile(jobseeker.ProfileInput{PreferredLocation: new("York"), SalaryMax: new(50000.0)})
		require.NoError(t, env.TakeOverOnboarding(t.Context(), me.UserID, secret))

		p, err := env.MyProfile(t.Context(), me)
		require.NoError(t, err)
		// The guest's values fill empty fields, the place of the profile stays, and the invalid values are ignored.
		require.Equal(t, []string{"Renal", "York", "7"}, []string{p.Specialty, p.PreferredLocation, p.Experience})
		require.Equal(t, []string{"bank"}, p.EmploymentTypes)
		require.Zero(t, p.LocationRadius)
		require.Nil(t, p.SalaryMin)
		require.Empty(t, p.FirstName)
		require.Empty(t, env.pendingEmails)

		env.onboard(
			me,
			"",
			jobseeker.OnboardingInput{
				Action:      "update_preferences",
				Preferences: `{"currentRole":"Nurse","specialty":"Cardiac","salaryMin":60000}`,
			},
		)

		p, err = env.MyProfile(t.Context(), me)
		require.NoError(t, err)
		// Later preferences fill the empty role, and replace nothing.
		require.Equal(t, []string{"Nurse", "Renal"}, []string{p.CurrentRole, p.Specialty})
		require.Nil(t, p.SalaryMin, "more than the maximum")
	})
}

// TestOnboarding_GuestPreferences_NewAccountsOnly checks that a sign-in takes over the progress
// of the browser, but not its preferences: another person may have entered them on a shared
// computer.
func TestOnboarding_GuestPreferences_NewAccountsOnly(t *testing.T) {
	onEachStorage(t, func(t *testing.T, env *testEnv) {
		input := jobseeker.OnboardingInput{Action: "update_preferences", Preferences: `{"specialty":"Renal","preferredLocation":"Leeds"}`}
		for name, use := range map[string]func(me auth.Actor, secret string){
			"signs in": func(me auth.Actor, secret string) {
				require.NoError(t, env.TakeOverProgress(t.Context(), me.UserID, secret))
			},
			"reads the onboarding when signed in": func(me auth.Actor, secret string) { env.onboardingState(me, secret) },
		} {
			secret := env.onboard(guest, "", input)
			env.onboard(guest, secret, trackStep("documents", "completed"))

			me := newSeeker()
			use(me, secret)

			_, steps := env.onboardingState(me, "")
			require.Equal(t, jobseeker.StepCompleted, steps["documents"], name)

			p, err := env.MyProfile(t.Context(), me)
			require.NoError(t, err)
			require.Empty(t, p.Specialty+p.PreferredLocation, name)

			again, _ := env.onboardingState(guest, secret)
			require.Empty(t, again.Preferences, "a merged secret is no longer valid")
		}
	})
}

// TestOnboarding_GuestAfterNinetyDays_Deleted checks that the data of a guest is deleted 90
// days after the last change, and that the data of a user stays.
func TestOnboarding_GuestAfterNinetyDays_Deleted(t *testing.T) {
	onEachStorage(t, func(t *testing.T, env *testEnv) {
		me := newSeeker()
		env.onboard(me, "", trackStep("documents", "viewed"))

		secret := env.onboard(
			guest,
			"",
			jobseeker.OnboardingInput{Action: "capture_email", Email: "zoe@example.org", Source: "apply"},
		)
		const day = 24 * time.Hour
		env.clock.Advance(60 * day)
		// A change after 60 days begins the 90 days anew. The data exists to their end, and not a second longer.
		require.Equal(t, secret, env.onboard(guest, secret, trackStep("profile", "viewed")))
		env.clock.Advance(90 * day)
		env.runRetention()

		g, _ := env.onboardingState(guest, secret)
		require.Equal(t, "zoe@example.org", g.Email)
		env.clock.Advance(time.Second)
		env.runRetention()

		g, _ = env.onboardingState(guest, secret)
		require.Empty(t, g.Email)

		_, statuses := env.onboardingState(me, "")
		require.Equal(t, jobseeker.StepViewed, statuses["documents"])
		require.NotEqual(t, secret, env.onboard(guest, secret, trackStep("profile", "viewed")), "an expired secret is not reused")
	})
}

// runRetention runs the hourly deletion of expired data.
func (env *testEnv) runRetention() {
	env.t.Helper()

	for _, p := range env.Periodic() {
		if p.Kind == "jobseeker.forget" {
			require.NoError(env.t, p.Do(env.t.Context()))
		}
	}
}

// TestOnboarding_AccountDeleted_Deleted checks that the deletion of an account, whose event may
// be delivered twice, deletes its onboarding only.
func TestOnboarding_AccountDeleted_Deleted(t *testing.T) {
	onEachStorage(t, func(t *testing.T, env *testEnv) {
		me, other := newSeeker(), newSeeker()
		env.onboard(me, "", trackStep("documents", "viewed"))
		env.onboard(other, "", trackStep("documents", "viewed"))

		for range 2 {
			require.NoError(t, env.OnAccountDeleted(t.Context(), event.AccountDeleted{UserID: me.UserID}))
		}

		_, statuses := env.onboardingState(me, "")
		require.Equal(t, jobseeker.StepPending, statuses["documents"])

		_, statuses = env.onboardingState(other, "")
		require.Equal(t, jobseeker.StepViewed, statuses["documents"])
	})
}

// TestOnboarding_ForeignGuestSecret_NotUsed checks that a secret that the service has not
// issued is replaced. Otherwise an attacker could plant a secret in a browser and read what the
// guest enters.
func TestOnboarding_ForeignGuestSecret_NotUsed(t *testing.T) {
	onEachStorage(t, func(t *testing.T, env *testEnv) {
		newSecret := env.onboard(guest, "planted", jobseeker.OnboardingInput{Action: "capture_email", Email: "zoe@example.org"})
		require.NotEqual(t, "planted", newSecret)
		// The new secret is too long to be guessed.
		require.Greater(t, len(newSecret), 20)

		g, _ := env.onboardingState(guest, "planted")
		require.Empty(t, g.Email)
	})
}

// TestOnboarding_GuestSignsIn_MergedOnce checks that the steps of a guest are merged into those
// of the account, whose values win, once for eight concurrent requests and never into a second
// account.
func TestOnboarding_GuestSignsIn_MergedOnce(t *testing.T) {
	onEachStorage(t, func(t *testing.T, env *testEnv) {
		me, other := newSeeker(), newSeeker()
		began := env.clock.Now()

		secret := env.onboard(guest, "", trackStep("documents", "viewed"))
		for _, in := range []jobseeker.OnboardingInput{
			trackStep("first-search", "completed"),
			trackStep("profile", "skipped"),
			trackStep("own", "completed"),
			{Action: "capture_email", Email: "zoe@example.org", Source: "save"},
			{Action: "update_preferences", Preferences: `{"from":"guest"}`},
		} {
			env.onboard(guest, secret, in)
		}

		env.clock.Advance(time.Hour)
		env.onboard(me, "", trackStep("documents", "completed"))
		env.onboard(me, "", trackStep("profile", "completed"))
		env.onboard(me, "", jobseeker.OnboardingInput{Action: "update_preferences", Preferences: `{"from":"me"}`})

		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				if err := env.TakeOverOnboarding(context.Background(), me.UserID, secret); err != nil {
					t.Error(err)
				}
			})
		}

		all.Wait()

		g, statuses := env.onboardingState(me, "")
		require.Equal(t, []jobseeker.StepStatus{"completed", "completed", "completed", "completed"},
			[]jobseeker.StepStatus{statuses["documents"], statuses["profile"], statuses["first-search"], statuses["own"]})
		require.Equal(t, began, g.Steps[documentsStep].ViewedAt, "a step that only the guest viewed")
		require.JSONEq(t, `{"from":"me"}`, g.Preferences)
		require.Empty(t, g.Email)
		require.NoError(t, env.TakeOverOnboarding(t.Context(), other.UserID, secret))

		_, statuses = env.onboardingState(other, "")
		require.Equal(t, jobseeker.StepPending, statuses["first-search"])

		// The next request of the browser merges its progress too.
		secret = env.onboard(guest, "", trackStep("first-search", "completed"))
		_, newSecret, err := env.MyOnboarding(t.Context(), other, secret)
		require.NoError(t, err)
		require.Empty(t, newSecret)

		_, statuses = env.onboardingState(other, "")
		require.Equal(t, jobseeker.StepCompleted, statuses["first-search"])
	})
}

// TestOnboarding_TooManySteps_Refused checks that a client can add 50 steps of its own to the
// six steps of the service, and that a merge does not exceed the limit.
func TestOnboarding_TooManySteps_Refused(t *testing.T) {
	onEachStorage(t, func(t *testing.T, env *testEnv) {
		me := newSeeker()
		for i := range 50 {
			env.onboard(me, "", trackStep(fmt.Sprint("step ", i), "viewed"))
		}

		_, err := env.Onboard(t.Context(), me, "", trackStep("one more", "viewed"))
		require.Equal(t, "step", fault.Of(err).Fields[0].Name)
		// A step that exists can still be changed. The guest's step is over the limit and is left out.
		env.onboard(me, "", trackStep("step 7", "completed"))

		secret := env.onboard(guest, "", trackStep("of the guest", "viewed"))
		require.NoError(t, env.TakeOverOnboarding(t.Context(), me.UserID, secret))

		g, _ := env.onboardingState(me, "")
		require.Len(t, g.Steps, 6+50)
	})
}

// TestOnboarding_Employer_Forbidden checks that employers have no onboarding, and that unknown
// actions are refused.
func TestOnboarding_Employer_Forbidden(t *testing.T) {
	t.Parallel()

	env := newTestEnv(t, stores.SQLite)
	employer := auth.Actor{UserID: stores.NewID(), Role: auth.Employer, OrganizationID: stores.NewID()}
	_, _, err := env.MyOnboarding(t.Context(), employer, "")
	require.ErrorIs(t, err, fault.ErrForbidden)

	_, err = env.Onboard(t.Context(), employer, "", trackStep("profile", "viewed"))
	require.ErrorIs(t, err, fault.ErrForbidden)

	_, err = env.Onboard(t.Context(), guest, "", jobseeker.OnboardingInput{Action: "steal"})
	require.ErrorIs(t, err, jobseeker.ErrInvalidAction)
}
