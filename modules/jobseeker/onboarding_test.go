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

func trackStep(step, action string) jobseeker.OnboardingInput {
	return jobseeker.OnboardingInput{Action: "track_step", Step: step, ActionType: action}
}

func (d *testEnv) onboard(by auth.Actor, secret string, in jobseeker.OnboardingInput) (keep string) {
	d.t.Helper()
	keep, err := d.Onboard(d.t.Context(), by, secret, in)
	require.NoError(d.t, err)
	return keep
}

func (d *testEnv) onboardingState(by auth.Actor, secret string) (jobseeker.Guided, map[string]jobseeker.StepStatus) {
	d.t.Helper()
	g, _, err := d.MyOnboarding(d.t.Context(), by, secret)
	require.NoError(d.t, err)
	out := map[string]jobseeker.StepStatus{}
	for _, s := range g.Steps {
		out[s.Step] = s.Status()
	}
	return g, out
}

var guest auth.Actor

func TestOnboarding_RepeatedStep_KeepsFirstTime(t *testing.T) {
	onEach(t, func(t *testing.T, d *testEnv) {
		me, began := seeker(), d.clock.Now()
		d.onboard(me, "", trackStep("documents", "viewed"))
		d.clock.Advance(time.Hour)
		d.onboard(me, "", trackStep("documents", "viewed"))
		d.onboard(me, "", trackStep("documents", "skipped"))
		g, is := d.onboardingState(me, "")
		require.Equal(t, jobseeker.StepSkipped, is["documents"])
		require.Equal(t, began, g.Steps[3].ViewedAt)
		d.clock.Advance(time.Hour)
		d.onboard(me, "", trackStep("documents", "completed"))
		d.onboard(me, "", trackStep("documents", "viewed"))
		g, is = d.onboardingState(me, "")
		require.Equal(t, jobseeker.StepCompleted, is["documents"])
		require.True(t, g.Steps[3].SkippedAt.IsZero())
		require.Equal(t, began.Add(2*time.Hour), g.Steps[3].CompletedAt)
		require.False(t, g.Complete)
	})
}

func TestOnboarding_ProfileFields_CompleteSteps(t *testing.T) {
	onEach(t, func(t *testing.T, d *testEnv) {
		me := seeker()
		_, is := d.onboardingState(me, "")
		require.Equal(t, jobseeker.StepPending, is["profile"])
		specialty, place := "Intensive care", "Leeds"
		_, err := d.UpdateProfile(t.Context(), me, jobseeker.ProfileInput{Specialty: &specialty, PreferredLocation: &place})
		require.NoError(t, err)
		_, is = d.onboardingState(me, "")
		require.Equal(t, []jobseeker.StepStatus{"completed", "completed", "completed", "pending"}, []jobseeker.StepStatus{is["account"], is["profile"], is["preferences"], is["documents"]})
		for _, step := range []string{"documents", "first-search", "first-application"} {
			d.onboard(me, "", trackStep(step, "skipped"))
		}
		g, _ := d.onboardingState(me, "")
		require.True(t, g.Complete)
	})
}

func TestOnboarding_Actions_CompleteSteps(t *testing.T) {
	onEach(t, func(t *testing.T, d *testEnv) {
		me := seeker()
		_, err := d.SaveSearch(t.Context(), me, jobseeker.SaveSearchInput{Query: "nurse"})
		require.NoError(t, err)
		_, err = d.Upload(t.Context(), me, jobseeker.UploadInput{Type: "cv", Content: "Nurse since 2012."})
		require.NoError(t, err)
		d.applied[me.UserID] = []string{d.newListing("Nurse")}
		_, is := d.onboardingState(me, "")
		require.Equal(t, []jobseeker.StepStatus{"completed", "completed", "completed", "pending"}, []jobseeker.StepStatus{is["documents"], is["first-search"], is["first-application"], is["profile"]})
	})
}

func TestOnboarding_Preferences_FillEmptyProfile(t *testing.T) {
	onEach(t, func(t *testing.T, d *testEnv) {
		said := jobseeker.OnboardingInput{Action: "update_preferences", Preferences: `{"specialty":"Renal","preferredLocation":"Leeds","locationRadius":1e9,
			"employmentTypes":["bank"],"salaryMin":"much","experience":7,"email":"thief@example.org","firstName":"Mallory","colour":{"a":[1]}}`}
		secret := d.onboard(guest, "", said)
		me := d.profile(jobseeker.ProfileInput{PreferredLocation: ptr("York"), SalaryMax: ptr(50000.0)})
		require.NoError(t, d.TakeOverOnboarding(t.Context(), me.UserID, secret))
		p, err := d.MyProfile(t.Context(), me)
		require.NoError(t, err)
		require.Equal(t, []string{"Renal", "York", "7"}, []string{p.Specialty, p.PreferredLocation, p.Experience})
		require.Equal(t, []string{"bank"}, p.EmploymentTypes)
		require.Zero(t, p.LocationRadius)
		require.Nil(t, p.SalaryMin)
		require.Empty(t, p.FirstName)
		require.Empty(t, d.emails)

		d.onboard(me, "", jobseeker.OnboardingInput{Action: "update_preferences", Preferences: `{"currentRole":"Nurse","specialty":"Cardiac","salaryMin":60000}`})
		p, err = d.MyProfile(t.Context(), me)
		require.NoError(t, err)
		require.Equal(t, []string{"Nurse", "Renal"}, []string{p.CurrentRole, p.Specialty})
		require.Nil(t, p.SalaryMin, "more than the maximum")
	})
}

func TestOnboarding_GuestPreferences_NewAccountsOnly(t *testing.T) {
	onEach(t, func(t *testing.T, d *testEnv) {
		said := jobseeker.OnboardingInput{Action: "update_preferences", Preferences: `{"specialty":"Renal","preferredLocation":"Leeds"}`}
		for name, use := range map[string]func(me auth.Actor, secret string){
			"signs in": func(me auth.Actor, secret string) {
				require.NoError(t, d.TakeOverProgress(t.Context(), me.UserID, secret))
			},
			"looks when signed in": func(me auth.Actor, secret string) { d.onboardingState(me, secret) },
		} {
			secret := d.onboard(guest, "", said)
			d.onboard(guest, secret, trackStep("documents", "completed"))
			me := seeker()
			use(me, secret)
			_, steps := d.onboardingState(me, "")
			require.Equal(t, jobseeker.StepCompleted, steps["documents"], name)
			p, err := d.MyProfile(t.Context(), me)
			require.NoError(t, err)
			require.Empty(t, p.Specialty+p.PreferredLocation, name)
			again, _ := d.onboardingState(guest, secret)
			require.Empty(t, again.Preferences, "a merged secret is no longer valid")
		}
	})
}

func TestOnboarding_GuestAfterNinetyDays_Deleted(t *testing.T) {
	onEach(t, func(t *testing.T, d *testEnv) {
		me := seeker()
		d.onboard(me, "", trackStep("documents", "viewed"))
		secret := d.onboard(guest, "", jobseeker.OnboardingInput{Action: "capture_email", Email: "zoe@example.org", Source: "apply"})
		const day = 24 * time.Hour
		d.clock.Advance(60 * day)
		require.Equal(t, secret, d.onboard(guest, secret, trackStep("profile", "viewed")))
		d.clock.Advance(90 * day)
		d.runRetention()
		g, _ := d.onboardingState(guest, secret)
		require.Equal(t, "zoe@example.org", g.Email)
		d.clock.Advance(time.Second)
		d.runRetention()
		g, _ = d.onboardingState(guest, secret)
		require.Empty(t, g.Email)
		_, is := d.onboardingState(me, "")
		require.Equal(t, jobseeker.StepViewed, is["documents"])
		require.NotEqual(t, secret, d.onboard(guest, secret, trackStep("profile", "viewed")), "an expired secret is not reused")
	})
}

// runRetention runs the hourly deletion of expired data.
func (d *testEnv) runRetention() {
	d.t.Helper()
	for _, p := range d.Periodic() {
		if p.Kind == "jobseeker.forget" {
			require.NoError(d.t, p.Do(d.t.Context()))
		}
	}
}

func TestOnboarding_AccountDeleted_Deleted(t *testing.T) {
	onEach(t, func(t *testing.T, d *testEnv) {
		me, other := seeker(), seeker()
		d.onboard(me, "", trackStep("documents", "viewed"))
		d.onboard(other, "", trackStep("documents", "viewed"))
		for range 2 {
			require.NoError(t, d.OnAccountDeleted(t.Context(), event.AccountDeleted{UserID: me.UserID}))
		}
		_, is := d.onboardingState(me, "")
		require.Equal(t, jobseeker.StepPending, is["documents"])
		_, is = d.onboardingState(other, "")
		require.Equal(t, jobseeker.StepViewed, is["documents"])
	})
}

func TestOnboarding_ForeignGuestSecret_NotUsed(t *testing.T) {
	onEach(t, func(t *testing.T, d *testEnv) {
		keep := d.onboard(guest, "planted", jobseeker.OnboardingInput{Action: "capture_email", Email: "zoe@example.org"})
		require.NotEqual(t, "planted", keep)
		require.Greater(t, len(keep), 20)
		g, _ := d.onboardingState(guest, "planted")
		require.Empty(t, g.Email)
	})
}

func TestOnboarding_GuestSignsIn_MergedOnce(t *testing.T) {
	onEach(t, func(t *testing.T, d *testEnv) {
		me, other := seeker(), seeker()
		began := d.clock.Now()
		secret := d.onboard(guest, "", trackStep("documents", "viewed"))
		for _, in := range []jobseeker.OnboardingInput{
			trackStep("first-search", "completed"), trackStep("profile", "skipped"), trackStep("own", "completed"),
			{Action: "capture_email", Email: "zoe@example.org", Source: "save"}, {Action: "update_preferences", Preferences: `{"from":"guest"}`},
		} {
			d.onboard(guest, secret, in)
		}
		d.clock.Advance(time.Hour)
		d.onboard(me, "", trackStep("documents", "completed"))
		d.onboard(me, "", trackStep("profile", "completed"))
		d.onboard(me, "", jobseeker.OnboardingInput{Action: "update_preferences", Preferences: `{"from":"me"}`})
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				if err := d.TakeOverOnboarding(context.Background(), me.UserID, secret); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		g, is := d.onboardingState(me, "")
		require.Equal(t, []jobseeker.StepStatus{"completed", "completed", "completed", "completed"}, []jobseeker.StepStatus{is["documents"], is["profile"], is["first-search"], is["own"]})
		require.Equal(t, began, g.Steps[3].ViewedAt, "a step that only the guest viewed")
		require.JSONEq(t, `{"from":"me"}`, g.Preferences)
		require.Empty(t, g.Email)
		require.NoError(t, d.TakeOverOnboarding(t.Context(), other.UserID, secret))
		_, is = d.onboardingState(other, "")
		require.Equal(t, jobseeker.StepPending, is["first-search"])

		// The next request of the browser merges its progress too.
		secret = d.onboard(guest, "", trackStep("first-search", "completed"))
		_, left, err := d.MyOnboarding(t.Context(), other, secret)
		require.NoError(t, err)
		require.Empty(t, left)
		_, is = d.onboardingState(other, "")
		require.Equal(t, jobseeker.StepCompleted, is["first-search"])
	})
}

func TestOnboarding_TooManySteps_Refused(t *testing.T) {
	onEach(t, func(t *testing.T, d *testEnv) {
		me := seeker()
		for i := range 50 {
			d.onboard(me, "", trackStep(fmt.Sprint("step ", i), "viewed"))
		}
		_, err := d.Onboard(t.Context(), me, "", trackStep("one more", "viewed"))
		require.Equal(t, "step", fault.Of(err).Fields[0].Name)
		d.onboard(me, "", trackStep("step 7", "completed"))
		secret := d.onboard(guest, "", trackStep("of the guest", "viewed"))
		require.NoError(t, d.TakeOverOnboarding(t.Context(), me.UserID, secret))
		g, _ := d.onboardingState(me, "")
		require.Len(t, g.Steps, 6+50)
	})
}

func TestOnboarding_Employer_Forbidden(t *testing.T) {
	t.Parallel()
	d := newTestEnv(t, stores.SQLite)
	employer := auth.Actor{UserID: stores.NewID(), Role: auth.Employer, OrganizationID: stores.NewID()}
	_, _, err := d.MyOnboarding(t.Context(), employer, "")
	require.ErrorIs(t, err, fault.ErrForbidden)
	_, err = d.Onboard(t.Context(), employer, "", trackStep("profile", "viewed"))
	require.ErrorIs(t, err, fault.ErrForbidden)
	_, err = d.Onboard(t.Context(), guest, "", jobseeker.OnboardingInput{Action: "steal"})
	require.ErrorIs(t, err, jobseeker.ErrInvalidAction)
}
