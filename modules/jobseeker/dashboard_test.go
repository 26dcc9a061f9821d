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
		for range 15 {
			env.addOffer(offerTitled("Staff Nurse"))
		}

		me := env.profile(jobseeker.ProfileInput{CurrentRole: new("Staff Nurse")})
		savedID := env.newListing("Midwife")
		_, err := env.Bookmark(t.Context(), me, jobseeker.SaveJobInput{ListingID: savedID})
		require.NoError(t, err)

		env.applied[me.UserID] = []string{env.newListing("Cook"), env.newListing("Porter")}
		got, err := env.MyDashboard(t.Context(), me)
		require.NoError(t, err)
		require.False(t, got.Guest)
		require.Equal(t, jobseeker.Plan{Tier: "premium", Active: true}, got.Plan)

		all, _ := env.recommended(me)
		require.Equal(t, all[:10], got.Recommendations)
		require.Equal(t, []int{15, 2, 1}, []int{got.Recommended, got.Applications, got.Bookmarks})

		log, err := env.MyActivity(t.Context(), me, page.Request{Number: 1, Size: 10})
		require.NoError(t, err)
		require.Equal(t, log.Items, got.Recent)
		require.NotEmpty(t, got.Recent)
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

		got, err := env.MyDashboard(t.Context(), auth.Actor{})
		require.NoError(t, err)
		require.Len(t, got.Recommendations, 3)
		require.Equal(t, "A", got.Recommendations[0].Title)
		require.Equal(t, 3, got.Recommended)
	})
}

// TestDashboard_Actions_AreLogged checks that actions on the dashboard are in the activity log,
// and that dismissing a recommendation removes it from the list.
func TestDashboard_Actions_AreLogged(t *testing.T) {
	onEachStorage(t, func(t *testing.T, env *testEnv) {
		me := newSeeker()
		listing := env.addOffer(offerTitled("Cook"))
		last := func() jobseeker.Activity {
			r, err := env.MyActivity(t.Context(), me, page.Request{Number: 1, Size: 1})
			require.NoError(t, err)
			return r.Items[0]
		}

		require.NoError(
			t,
			env.TrackDashboard(t.Context(), me, jobseeker.TrackInput{Action: "view-recommendation", ListingID: listing}),
		)
		require.Equal(t,
			[]string{"dashboard", "view-recommendation", "On the dashboard: view-recommendation, Cook"},
			[]string{last().Type, last().Action, last().Description})

		_, titles := env.recommended(me)
		require.Len(t, titles, 1)
		require.NoError(
			t,
			env.TrackDashboard(t.Context(), me, jobseeker.TrackInput{Action: "dismiss-recommendation", ListingID: listing}),
		)
		require.Equal(t, "Dismissed Cook", last().Description)

		_, titles = env.recommended(me)
		require.Empty(t, titles)
		// An action without a name is logged as well.
		require.NoError(t, env.TrackDashboard(t.Context(), me, jobseeker.TrackInput{Action: " "}))
		require.Equal(t, []string{"used", "Used the dashboard"}, []string{last().Action, last().Description})

		// A dismissal without a listing, a long name and unknown listings are refused.
		err := env.TrackDashboard(t.Context(), me, jobseeker.TrackInput{Action: "dismiss-recommendation"})
		require.Equal(t, "listingId", fault.Of(err).Fields[0].Name)
		require.ErrorIs(
			t,
			env.TrackDashboard(t.Context(), me, jobseeker.TrackInput{Action: strings.Repeat("a", 65)}),
			fault.ErrInvalid,
		)
		require.ErrorIs(t,
			env.TrackDashboard(t.Context(), me, jobseeker.TrackInput{Action: "x", ListingID: "nonsense"}),
			jobseeker.ErrListingNotFound)
		require.ErrorIs(t,
			env.TrackDashboard(t.Context(), me, jobseeker.TrackInput{Action: "x", ListingID: stores.NewID()}),
			jobseeker.ErrListingNotFound)
	})
}

// TestDashboard_PersonalText_UsesProfile checks the texts for a user without a profile, with a
// profile, and with an input, which replaces values of the profile and is cleaned of line
// breaks.
func TestDashboard_PersonalText_UsesProfile(t *testing.T) {
	onEachStorage(t, func(t *testing.T, env *testEnv) {
		for range 3 {
			o := offerTitled("Renal Nurse")
			o.Location = "Leeds"
			env.addOffer(o)
		}

		write := func(by auth.Actor, in jobseeker.PersonalizeInput) jobseeker.Personalized {
			t.Helper()

			p, err := env.Personalize(t.Context(), by, in)
			require.NoError(t, err)

			return p
		}

		stranger := write(newSeeker(), jobseeker.PersonalizeInput{})
		require.Equal(t, "3 jobs in healthcare for you", stranger.Headline)
		require.Contains(t, stranger.Summary, "Tell us")
		require.Len(t, stranger.Suggestions, 5)
		require.Len(t, stranger.Jobs, 3)

		me := env.profile(
			jobseeker.ProfileInput{
				Specialty:       new("Renal"),
				Location:        new("Leeds"),
				Experience:      new(jobseeker.Words("7")),
				EmploymentTypes: &[]string{"bank"},
			},
		)
		own := write(me, jobseeker.PersonalizeInput{})
		require.Equal(t, "3 Renal jobs near Leeds for you", own.Headline)
		require.Equal(t, "You bring 7 years of experience to Renal.", own.Summary)
		require.Equal(t, []string{"Save a search to hear of new jobs at once", "Apply for a job that suits you"}, own.Suggestions)

		input := write(
			me,
			jobseeker.PersonalizeInput{
				Specialty:   " Midwifery\n",
				Experience:  "1",
				CareerGoals: jobseeker.Goals{"Lead a team.", "", "Work\nless!"},
			},
		)
		require.Equal(t, "Be the first to hear of new Midwifery jobs near Leeds", input.Headline)
		require.Equal(
			t,
			"You bring one year of experience to Midwifery. What you are after: Lead a team; Work less.",
			input.Summary,
		)

		// A text has at most 500 characters, and there are at most ten goals.
		long := strings.Repeat("x", 501)
		for field, in := range map[string]jobseeker.PersonalizeInput{
			"specialty":   {Specialty: long},
			"experience":  {Experience: jobseeker.Words(long)},
			"careerGoals": {CareerGoals: jobseeker.Goals{long}},
		} {
			_, err := env.Personalize(t.Context(), me, in)
			require.Equal(t, field, fault.Of(err).Fields[0].Name)
		}

		_, err := env.Personalize(t.Context(), me, jobseeker.PersonalizeInput{CareerGoals: make(jobseeker.Goals, 11)})
		require.ErrorIs(t, err, fault.ErrInvalid)
	})
}

// TestGoals_StringOrList checks that careerGoals may be a string or a list of strings.
func TestGoals_StringOrList(t *testing.T) {
	t.Parallel()

	for raw, want := range map[string]jobseeker.Goals{`"a"`: {"a"}, `["a","b"]`: {"a", "b"}, `[]`: {}} {
		var g jobseeker.Goals
		require.NoError(t, json.Unmarshal([]byte(raw), &g))
		require.Equal(t, want, g)
	}

	for _, raw := range []string{`7`, `{}`, `[1]`} {
		var g jobseeker.Goals
		require.Error(t, json.Unmarshal([]byte(raw), &g))
	}
}
