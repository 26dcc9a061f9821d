package jobseeker_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/modules/jobseeker"
	"github.com/locumhq/locum/test/kit/stores"
)

// TestDashboard_Numbers_EqualLists checks that the numbers of the dashboard are those of the
// lists, and that it contains the first ten recommendations.
func TestDashboard_Numbers_EqualLists(t *testing.T) {
	onEachStorage(t, func(t *testing.T, env *testEnv) {
		const offers, shownOffers = 15, 10

		for range offers {
			env.addOffer(offerTitled("Staff Nurse"))
		}

		// The user has one bookmark and two applications.

		me := env.profile(jobseeker.ProfileInput{CurrentRole: new("Staff Nurse")})
		savedID := env.newListing("Midwife")
		_, err := env.Bookmark(t.Context(), me, jobseeker.SaveJobInput{ListingID: savedID})
		require.NoError(t, err)

		env.applied[me.UserID] = []string{env.newListing("Cook"), env.newListing("Porter")}

		dashboard, err := env.MyDashboard(t.Context(), me)
		require.NoError(t, err)
		require.False(t, dashboard.Guest)
		require.Equal(t, jobseeker.Plan{Tier: "premium", Active: true}, dashboard.Plan, "the plan of every user in these tests")

		recommendations, _ := env.recommended(me)
		require.Equal(t, recommendations[:shownOffers], dashboard.Recommendations)
		require.Equal(t, offers, dashboard.Recommended)
		require.Equal(t, 2, dashboard.Applications)
		require.Equal(t, 1, dashboard.Bookmarks)

		activities, err := env.MyActivity(t.Context(), me, page.Request{Number: 1, Size: 10})
		require.NoError(t, err)
		require.Equal(t, activities.Items, dashboard.Recent)
		require.NotEmpty(t, dashboard.Recent)
	})
}

// TestDashboard_Guest_HasNewestListingsOnly checks that a guest sees the newest listings and no
// other data.
func TestDashboard_Guest_HasNewestListingsOnly(t *testing.T) {
	onEachStorage(t, func(t *testing.T, env *testEnv) {
		// Without listings, a guest sees only the plan that guests have.
		empty, err := env.MyDashboard(t.Context(), guest)
		require.NoError(t, err)
		require.Equal(t, jobseeker.Dashboard{Guest: true, Plan: jobseeker.Plan{Tier: "basic"}}, empty)

		for _, title := range []string{"A", "B", "C"} {
			env.addOffer(offerTitled(title))
		}

		dashboard, err := env.MyDashboard(t.Context(), guest)
		require.NoError(t, err)
		require.Len(t, dashboard.Recommendations, 3)
		require.Equal(t, "A", dashboard.Recommendations[0].Title, "the newest listing")
		require.Equal(t, 3, dashboard.Recommended)
	})
}

// TestDashboard_Actions_AreLogged checks that actions on the dashboard are in the activity log,
// and that dismissing a recommendation removes it from the list.
func TestDashboard_Actions_AreLogged(t *testing.T) {
	onEachStorage(t, func(t *testing.T, env *testEnv) {
		me := newSeeker()
		listing := env.addOffer(offerTitled("Cook"))
		track := func(input jobseeker.TrackInput) error { return env.TrackDashboard(t.Context(), me, input) }
		lastActivity := func() jobseeker.Activity {
			activities, err := env.MyActivity(t.Context(), me, page.Request{Number: 1, Size: 1})
			require.NoError(t, err)
			return activities.Items[0]
		}

		// Viewing a recommendation is logged, and the recommendation stays.
		require.NoError(t, track(jobseeker.TrackInput{Action: "view-recommendation", ListingID: listing}))
		require.Equal(t, "dashboard", lastActivity().Type)
		require.Equal(t, "view-recommendation", lastActivity().Action)
		require.Equal(t, "On the dashboard: view-recommendation, Cook", lastActivity().Description)

		_, titles := env.recommended(me)
		require.Len(t, titles, 1)

		// Dismissing it removes it from the list.
		require.NoError(t, track(jobseeker.TrackInput{Action: "dismiss-recommendation", ListingID: listing}))
		require.Equal(t, "Dismissed Cook", lastActivity().Description)

		_, titles = env.recommended(me)
		require.Empty(t, titles)

		// An action without a name is logged as well.
		require.NoError(t, track(jobseeker.TrackInput{Action: " "}))
		require.Equal(t, "used", lastActivity().Action)
		require.Equal(t, "Used the dashboard", lastActivity().Description)

		// A dismissal without a listing, a long name and unknown listings are refused.
		const maxAction = 64

		err := track(jobseeker.TrackInput{Action: "dismiss-recommendation"})
		require.Equal(t, "listingId", fault.Of(err).Fields[0].Name)

		err = track(jobseeker.TrackInput{Action: strings.Repeat("a", maxAction+1)})
		require.ErrorIs(t, err, fault.ErrInvalid)

		for _, unknown := range []string{"nonsense", stores.NewID()} {
			err = track(jobseeker.TrackInput{Action: "x", ListingID: unknown})
			require.ErrorIs(t, err, jobseeker.ErrListingNotFound, unknown)
		}
	})
}

// TestDashboard_PersonalText_UsesProfile checks the texts for a user without a profile, with a
// profile, and with an input, which replaces values of the profile and is cleaned of line
// breaks.
func TestDashboard_PersonalText_UsesProfile(t *testing.T) {
	onEachStorage(t, func(t *testing.T, env *testEnv) {
		for range 3 {
			renalNurse := offerTitled("Renal Nurse")
			renalNurse.Location = "Leeds"
			env.addOffer(renalNurse)
		}

		personalize := func(by auth.Actor, input jobseeker.PersonalizeInput) jobseeker.Personalized {
			t.Helper()

			texts, err := env.Personalize(t.Context(), by, input)
			require.NoError(t, err)

			return texts
		}

		noInput := jobseeker.PersonalizeInput{}

		// A user without a profile.
		general := personalize(newSeeker(), noInput)
		require.Equal(t, "3 jobs in healthcare for you", general.Headline)
		require.Contains(t, general.Summary, "Tell us")
		require.Len(t, general.Suggestions, 5, "one for each thing that is missing")
		require.Len(t, general.Jobs, 3)

		// A user with a profile.
		me := env.profile(
			jobseeker.ProfileInput{
				Specialty:       new("Renal"),
				Location:        new("Leeds"),
				Experience:      new(jobseeker.Words("7")),
				EmploymentTypes: &[]string{"bank"},
			},
		)
		ofProfile := personalize(me, noInput)
		require.Equal(t, "3 Renal jobs near Leeds for you", ofProfile.Headline)
		require.Equal(t, "You bring 7 years of experience to Renal.", ofProfile.Summary)
		require.Equal(t,
			[]string{"Save a search to hear of new jobs at once", "Apply for a job that suits you"}, ofProfile.Suggestions)

		// The same user with an input.
		ofInput := personalize(me, jobseeker.PersonalizeInput{
			Specialty:   " Midwifery\n",
			Experience:  "1",
			CareerGoals: jobseeker.Goals{"Lead a team.", "", "Work\nless!"},
		})
		require.Equal(t, "Be the first to hear of new Midwifery jobs near Leeds", ofInput.Headline)
		require.Equal(t,
			"You bring one year of experience to Midwifery. What you are after: Lead a team; Work less.", ofInput.Summary)

		// Too long texts and too many goals are refused.
		const maxText, maxGoals = 500, 10

		long := strings.Repeat("x", maxText+1)
		for field, input := range map[string]jobseeker.PersonalizeInput{
			"specialty":   {Specialty: long},
			"experience":  {Experience: jobseeker.Words(long)},
			"careerGoals": {CareerGoals: jobseeker.Goals{long}},
		} {
			_, err := env.Personalize(t.Context(), me, input)
			require.Equal(t, field, fault.Of(err).Fields[0].Name)
		}

		tooManyGoals := make(jobseeker.Goals, maxGoals+1)
		_, err := env.Personalize(t.Context(), me, jobseeker.PersonalizeInput{CareerGoals: tooManyGoals})
		require.ErrorIs(t, err, fault.ErrInvalid)
	})
}

// TestGoals_StringOrList checks that careerGoals may be a string or a list of strings.
func TestGoals_StringOrList(t *testing.T) {
	t.Parallel()

	for raw, want := range map[string]jobseeker.Goals{`"a"`: {"a"}, `["a","b"]`: {"a", "b"}, `[]`: {}} {
		var goals jobseeker.Goals
		require.NoError(t, json.Unmarshal([]byte(raw), &goals), raw)
		require.Equal(t, want, goals, raw)
	}

	for _, raw := range []string{`7`, `{}`, `[1]`} {
		var goals jobseeker.Goals
		require.Error(t, json.Unmarshal([]byte(raw), &goals), raw)
	}
}
