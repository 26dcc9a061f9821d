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

// The onboarding guides a visitor through steps, such as "profile" and "documents". A step is pending until the
// visitor has viewed, skipped or completed it. A guest, who has no account, is known by a secret that the service
// issues and the browser stores; for a user, the account is sufficient.

// noSecret is the secret of a browser that has none.
const noSecret = ""

// guest is a visitor without an account.
var guest auth.Actor

// trackStep returns the input that records an action on a step: "viewed", "skipped" or "completed".
func trackStep(step, action string) jobseeker.OnboardingInput {
	return jobseeker.OnboardingInput{Action: "track_step", Step: step, ActionType: action}
}

// updatePreferences returns the input that stores preferences, which are a JSON object.
func updatePreferences(preferences string) jobseeker.OnboardingInput {
	return jobseeker.OnboardingInput{Action: "update_preferences", Preferences: preferences}
}

// captureEmail returns the input that stores the address of a guest.
func captureEmail(source string) jobseeker.OnboardingInput {
	return jobseeker.OnboardingInput{Action: "capture_email", Email: "zoe@example.org", Source: source}
}

// onboard stores the input and returns the secret that the browser has to store.
func (env *testEnv) onboard(by auth.Actor, secret string, input jobseeker.OnboardingInput) (newSecret string) {
	env.t.Helper()

	newSecret, err := env.Onboard(env.t.Context(), by, secret, input)
	require.NoError(env.t, err)

	return newSecret
}

// onboardingState returns the onboarding of a visitor, and the steps by their names.
func (env *testEnv) onboardingState(by auth.Actor, secret string) (jobseeker.Guided, map[string]jobseeker.Step) {
	env.t.Helper()

	guided, _, err := env.MyOnboarding(env.t.Context(), by, secret)
	require.NoError(env.t, err)

	steps := map[string]jobseeker.Step{}
	for _, step := range guided.Steps {
		steps[step.Step] = step
	}

	return guided, steps
}

// requireStatuses checks the statuses of steps of the visitor, by the names of the steps.
func (env *testEnv) requireStatuses(by auth.Actor, want map[string]jobseeker.StepStatus) {
	env.t.Helper()

	_, steps := env.onboardingState(by, noSecret)
	for name, status := range want {
		require.Equal(env.t, status, steps[name].Status(), "status of the step %s", name)
	}
}

// TestOnboarding_RepeatedStep_KeepsFirstTime checks that a step keeps the time of its first
// view, and that completing it replaces an earlier skip.
func TestOnboarding_RepeatedStep_KeepsFirstTime(t *testing.T) {
	onEachStorage(t, func(t *testing.T, env *testEnv) {
		me, firstViewAt := newSeeker(), env.clock.Now()

		// After two views and a skip, the step is skipped, and has the time of the first view.
		env.onboard(me, noSecret, trackStep("documents", "viewed"))
		env.clock.Advance(time.Hour)
		env.onboard(me, noSecret, trackStep("documents", "viewed"))
		env.onboard(me, noSecret, trackStep("documents", "skipped"))

		_, steps := env.onboardingState(me, noSecret)
		require.Equal(t, jobseeker.StepSkipped, steps["documents"].Status())
		require.Equal(t, firstViewAt, steps["documents"].ViewedAt)

		// Completing the step replaces the skip. A later view does not change a completed step.
		env.clock.Advance(time.Hour)

		completedAt := env.clock.Now()
		env.onboard(me, noSecret, trackStep("documents", "completed"))
		env.onboard(me, noSecret, trackStep("documents", "viewed"))

		guided, steps := env.onboardingState(me, noSecret)
		require.Equal(t, jobseeker.StepCompleted, steps["documents"].Status())
		require.True(t, steps["documents"].SkippedAt.IsZero(), "the skip is replaced")
		require.Equal(t, completedAt, steps["documents"].CompletedAt)
		require.False(t, guided.Complete, "other steps are pending")

		const documentsPosition = 3 // in the guide, after account, profile and preferences

		require.Equal(t, "documents", guided.Steps[documentsPosition].Step)
	})
}

// TestOnboarding_ProfileFields_CompleteSteps checks that steps are completed by the data that
// they ask for, without an event, and that the onboarding is complete when the other steps are
// skipped.
func TestOnboarding_ProfileFields_CompleteSteps(t *testing.T) {
	onEachStorage(t, func(t *testing.T, env *testEnv) {
		me := newSeeker()
		env.requireStatuses(me, map[string]jobseeker.StepStatus{"profile": jobseeker.StepPending})

		// The specialty belongs to the step "profile", and the place to "preferences".
		specialty, place := "Intensive care", "Leeds"
		_, err := env.UpdateProfile(t.Context(), me, jobseeker.ProfileInput{Specialty: &specialty, PreferredLocation: &place})
		require.NoError(t, err)
		env.requireStatuses(me, map[string]jobseeker.StepStatus{
			"account":     jobseeker.StepCompleted, // by every user
			"profile":     jobseeker.StepCompleted,
			"preferences": jobseeker.StepCompleted,
			"documents":   jobseeker.StepPending,
		})

		// Skipping the other steps completes the onboarding.
		for _, step := range []string{"documents", "first-search", "first-application"} {
			env.onboard(me, noSecret, trackStep(step, "skipped"))
		}

		guided, _ := env.onboardingState(me, noSecret)
		require.True(t, guided.Complete)
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

		env.requireStatuses(me, map[string]jobseeker.StepStatus{
			"documents":         jobseeker.StepCompleted,
			"first-search":      jobseeker.StepCompleted,
			"first-application": jobseeker.StepCompleted,
			"profile":           jobseeker.StepPending,
		})
	})
}

// TestOnboarding_Preferences_FillEmptyProfile checks that the preferences of a guest fill empty
// fields of a new profile. Invalid values, fields of the account and unknown fields are
// ignored, because the preferences are a free-form object that a client has stored.
func TestOnboarding_Preferences_FillEmptyProfile(t *testing.T) {
	onEachStorage(t, func(t *testing.T, env *testEnv) {
		secret := env.onboard(guest, noSecret, updatePreferences(
			`{"specialty":"Renal","preferredLocation":"Leeds","locationRadius":1e9,
			"employmentTypes":["bank"],"salaryMin":"much","experience":7,"email":"thief@example.org","firstName":"Mallory","colour":{"a":[1]}}`,
		))
		me := env.profile(jobseeker.ProfileInput{PreferredLocation: new("York"), SalaryMax: new(50000.0)})
		require.NoError(t, env.TakeOverOnboarding(t.Context(), me.UserID, secret))

		profile, err := env.MyProfile(t.Context(), me)
		require.NoError(t, err)
		require.Equal(t, "Renal", profile.Specialty)
		require.Equal(t, "York", profile.PreferredLocation, "the place was not empty")
		require.Equal(t, "7", profile.Experience)
		require.Equal(t, []string{"bank"}, profile.EmploymentTypes)
		require.Zero(t, profile.LocationRadius, "a radius of 1e9 is invalid")
		require.Nil(t, profile.SalaryMin, "a salary that is not a number is invalid")
		require.Empty(t, profile.FirstName, "a field of the account")
		require.Empty(t, env.pendingEmails, "a field of the account")

		// Later preferences fill the empty role. They replace nothing.
		env.onboard(me, noSecret, updatePreferences(`{"currentRole":"Nurse","specialty":"Cardiac","salaryMin":60000}`))

		profile, err = env.MyProfile(t.Context(), me)
		require.NoError(t, err)
		require.Equal(t, "Nurse", profile.CurrentRole)
		require.Equal(t, "Renal", profile.Specialty)
		require.Nil(t, profile.SalaryMin, "more than the maximum")
	})
}

// TestOnboarding_GuestPreferences_NewAccountsOnly checks that a sign-in takes over the progress
// of the browser, but not its preferences: another person may have entered them on a shared
// computer.
func TestOnboarding_GuestPreferences_NewAccountsOnly(t *testing.T) {
	onEachStorage(t, func(t *testing.T, env *testEnv) {
		preferences := updatePreferences(`{"specialty":"Renal","preferredLocation":"Leeds"}`)

		for name, use := range map[string]func(me auth.Actor, secret string){
			"signs in": func(me auth.Actor, secret string) {
				require.NoError(t, env.TakeOverProgress(t.Context(), me.UserID, secret))
			},
			"reads the onboarding when signed in": func(me auth.Actor, secret string) { env.onboardingState(me, secret) },
		} {
			secret := env.onboard(guest, noSecret, preferences)
			env.onboard(guest, secret, trackStep("documents", "completed"))

			me := newSeeker()
			use(me, secret)

			// The user has the progress, and the profile is still empty.
			_, steps := env.onboardingState(me, noSecret)
			require.Equal(t, jobseeker.StepCompleted, steps["documents"].Status(), name)

			profile, err := env.MyProfile(t.Context(), me)
			require.NoError(t, err, name)
			require.Empty(t, profile.Specialty, name)
			require.Empty(t, profile.PreferredLocation, name)

			ofGuest, _ := env.onboardingState(guest, secret)
			require.Empty(t, ofGuest.Preferences, "%s: a merged secret is no longer valid", name)
		}
	})
}

// TestOnboarding_GuestAfterNinetyDays_Deleted checks that the data of a guest is deleted 90
// days after the last change, and that the data of a user stays.
func TestOnboarding_GuestAfterNinetyDays_Deleted(t *testing.T) {
	onEachStorage(t, func(t *testing.T, env *testEnv) {
		const (
			day       = 24 * time.Hour
			retention = 90 * day
		)

		me := newSeeker()
		env.onboard(me, noSecret, trackStep("documents", "viewed"))

		secret := env.onboard(guest, noSecret, captureEmail("apply"))

		// A change after 60 days begins the 90 days anew.
		env.clock.Advance(60 * day)

		secretAfterChange := env.onboard(guest, secret, trackStep("profile", "viewed"))
		require.Equal(t, secret, secretAfterChange)

		// The data exists to the end of these days, and not a second longer.
		env.clock.Advance(retention)
		env.runRetention()

		ofGuest, _ := env.onboardingState(guest, secret)
		require.Equal(t, "zoe@example.org", ofGuest.Email)

		env.clock.Advance(time.Second)
		env.runRetention()

		ofGuest, _ = env.onboardingState(guest, secret)
		require.Empty(t, ofGuest.Email)

		env.requireStatuses(me, map[string]jobseeker.StepStatus{"documents": jobseeker.StepViewed})

		newSecret := env.onboard(guest, secret, trackStep("profile", "viewed"))
		require.NotEqual(t, secret, newSecret, "an expired secret is not reused")
	})
}

// runRetention runs the hourly deletion of expired data.
func (env *testEnv) runRetention() {
	env.t.Helper()

	for _, periodic := range env.Periodic() {
		if periodic.Kind == "jobseeker.forget" {
			require.NoError(env.t, periodic.Do(env.t.Context()))
		}
	}
}

// TestOnboarding_AccountDeleted_Deleted checks that the deletion of an account, whose event may
// be delivered twice, deletes its onboarding only.
func TestOnboarding_AccountDeleted_Deleted(t *testing.T) {
	onEachStorage(t, func(t *testing.T, env *testEnv) {
		me, other := newSeeker(), newSeeker()
		env.onboard(me, noSecret, trackStep("documents", "viewed"))
		env.onboard(other, noSecret, trackStep("documents", "viewed"))

		for range 2 { // deliveries of the event
			require.NoError(t, env.OnAccountDeleted(t.Context(), event.AccountDeleted{UserID: me.UserID}))
		}

		env.requireStatuses(me, map[string]jobseeker.StepStatus{"documents": jobseeker.StepPending})
		env.requireStatuses(other, map[string]jobseeker.StepStatus{"documents": jobseeker.StepViewed})
	})
}

// TestOnboarding_ForeignGuestSecret_NotUsed checks that a secret that the service has not
// issued is replaced. Otherwise an attacker could plant a secret in a browser and read what the
// guest enters.
func TestOnboarding_ForeignGuestSecret_NotUsed(t *testing.T) {
	onEachStorage(t, func(t *testing.T, env *testEnv) {
		const planted, noSource = "planted", ""

		newSecret := env.onboard(guest, planted, captureEmail(noSource))
		require.NotEqual(t, planted, newSecret)
		require.Greater(t, len(newSecret), 20, "the new secret is too long to be guessed")

		ofPlanted, _ := env.onboardingState(guest, planted)
		require.Empty(t, ofPlanted.Email)
	})
}

// TestOnboarding_GuestSignsIn_MergedOnce checks that the steps of a guest are merged into those
// of the account, whose values win, once for eight concurrent requests and never into a second
// account.
func TestOnboarding_GuestSignsIn_MergedOnce(t *testing.T) {
	onEachStorage(t, func(t *testing.T, env *testEnv) {
		me, other := newSeeker(), newSeeker()
		guestViewedAt := env.clock.Now()

		// The guest views one step, completes or skips others, and stores an address and preferences.
		secret := env.onboard(guest, noSecret, trackStep("documents", "viewed"))
		for _, input := range []jobseeker.OnboardingInput{
			trackStep("first-search", "completed"),
			trackStep("profile", "skipped"),
			trackStep("own", "completed"), // a step of the client, which the service does not know
			captureEmail("save"),
			updatePreferences(`{"from":"guest"}`),
		} {
			env.onboard(guest, secret, input)
		}

		// An hour later, the user completes two of the same steps and stores other preferences.
		env.clock.Advance(time.Hour)
		env.onboard(me, noSecret, trackStep("documents", "completed"))
		env.onboard(me, noSecret, trackStep("profile", "completed"))
		env.onboard(me, noSecret, updatePreferences(`{"from":"me"}`))

		// Eight concurrent requests merge the steps of the guest.
		var requests sync.WaitGroup
		for range 8 {
			requests.Go(func() {
				if err := env.TakeOverOnboarding(context.Background(), me.UserID, secret); err != nil {
					t.Error(err)
				}
			})
		}

		requests.Wait()

		env.requireStatuses(me, map[string]jobseeker.StepStatus{
			"documents":    jobseeker.StepCompleted,
			"profile":      jobseeker.StepCompleted,
			"first-search": jobseeker.StepCompleted,
			"own":          jobseeker.StepCompleted,
		})

		guided, steps := env.onboardingState(me, noSecret)
		require.Equal(t, guestViewedAt, steps["documents"].ViewedAt, "a step that only the guest viewed")
		require.JSONEq(t, `{"from":"me"}`, guided.Preferences)
		require.Empty(t, guided.Email)

		// The secret is used up: a second account gets nothing.
		require.NoError(t, env.TakeOverOnboarding(t.Context(), other.UserID, secret))
		env.requireStatuses(other, map[string]jobseeker.StepStatus{"first-search": jobseeker.StepPending})

		// A signed-in request of a browser that has a secret merges the progress as well.
		secret = env.onboard(guest, noSecret, trackStep("first-search", "completed"))
		_, newSecret, err := env.MyOnboarding(t.Context(), other, secret)
		require.NoError(t, err)
		require.Empty(t, newSecret)
		env.requireStatuses(other, map[string]jobseeker.StepStatus{"first-search": jobseeker.StepCompleted})
	})
}

// TestOnboarding_TooManySteps_Refused checks that a client can add 50 steps of its own to the
// six steps of the service, and that a merge does not exceed the limit.
func TestOnboarding_TooManySteps_Refused(t *testing.T) {
	onEachStorage(t, func(t *testing.T, env *testEnv) {
		const serviceSteps, maxClientSteps = 6, 50

		me := newSeeker()
		for i := range maxClientSteps {
			env.onboard(me, noSecret, trackStep(fmt.Sprint("step ", i), "viewed"))
		}

		_, err := env.Onboard(t.Context(), me, noSecret, trackStep("one more", "viewed"))
		require.Equal(t, "step", fault.Of(err).Fields[0].Name)

		// A step that exists can still be changed.
		env.onboard(me, noSecret, trackStep("step 7", "completed"))

		// A merge leaves out the step of the guest that is above the limit.
		secret := env.onboard(guest, noSecret, trackStep("of the guest", "viewed"))
		require.NoError(t, env.TakeOverOnboarding(t.Context(), me.UserID, secret))

		guided, _ := env.onboardingState(me, noSecret)
		require.Len(t, guided.Steps, serviceSteps+maxClientSteps)
	})
}

// TestOnboarding_Employer_Forbidden checks that employers have no onboarding, and that unknown
// actions are refused.
func TestOnboarding_Employer_Forbidden(t *testing.T) {
	t.Parallel()

	env := newTestEnv(t, stores.SQLite)
	employer := auth.Actor{UserID: stores.NewID(), Role: auth.Employer, OrganizationID: stores.NewID()}
	_, _, err := env.MyOnboarding(t.Context(), employer, noSecret)
	require.ErrorIs(t, err, fault.ErrForbidden)

	_, err = env.Onboard(t.Context(), employer, noSecret, trackStep("profile", "viewed"))
	require.ErrorIs(t, err, fault.ErrForbidden)

	_, err = env.Onboard(t.Context(), guest, noSecret, jobseeker.OnboardingInput{Action: "steal"})
	require.ErrorIs(t, err, jobseeker.ErrInvalidAction)
}
