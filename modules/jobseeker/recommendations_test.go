package jobseeker_test

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/event"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/modules/jobseeker"
	"github.com/locumhq/locum/test/kit"
	"github.com/locumhq/locum/test/kit/stores"
)

// offer is a listing that Suggest can return. Unlike the real search, Suggest looks for the
// exact words of the query in the title, text and specialty.
type offer struct {
	jobseeker.Candidate
	text, specialty string
}

// Suggest implements jobseeker.Listings. It returns the offers that match the query, those with
// its words in the title first, and then the newest first.
func (env *testEnv) Suggest(_ context.Context, w jobseeker.Wanted, n int) (found []jobseeker.Candidate, _ error) {
	env.suggestCalls++
	for _, o := range env.offers {
		isInTitle := strings.Contains(strings.ToLower(o.Title), w.Text)
		isInText := strings.Contains(strings.ToLower(o.text+" "+o.specialty), w.Text)
		hasType := w.ContractType == "" || w.ContractType == o.ContractType
		isInPlace := w.Location == "" || w.Location == o.Location || o.Remote

		matches := (isInTitle || isInText) && hasType && isInPlace
		if env.unpublished[o.ID] || !matches {
			continue
		}

		c := o.Candidate
		c.InTitle = isInTitle
		c.Filed = w.Specialty != "" && w.Specialty == o.specialty

		if w.Home == "" { // no place to measure a distance from
			c.Miles = nil
		}

		found = append(found, c)
	}

	slices.SortFunc(found, func(a, b jobseeker.Candidate) int {
		if a.InTitle != b.InTitle {
			if a.InTitle {
				return -1
			}

			return 1
		}

		return cmp.Or(b.PostedAt.Compare(a.PostedAt), cmp.Compare(b.ID, a.ID))
	})

	return found[:min(n, len(found))], nil
}

// ListRecentlyApplied implements jobseeker.Applied.
func (env *testEnv) ListRecentlyApplied(_ context.Context, userID string, n int) ([]string, error) {
	ids := slices.Clone(env.applied[userID])
	slices.Reverse(ids)
	return ids[:min(n, len(ids))], nil
}

// FilterApplied implements jobseeker.Applied.
func (env *testEnv) FilterApplied(_ context.Context, userID string, listingIDs []string) (map[string]bool, error) {
	out := map[string]bool{}
	for _, id := range listingIDs {
		out[id] = slices.Contains(env.applied[userID], id)
	}

	return out, nil
}

// Counts implements jobseeker.Applied.
func (env *testEnv) Counts(_ context.Context, userID string) (jobseeker.ApplicationCounts, error) {
	n := len(env.applied[userID])
	return jobseeker.ApplicationCounts{Total: n, Pending: min(n, 1)}, nil
}

// Plan implements jobseeker.Plans.
func (env *testEnv) Plan(context.Context, string) (jobseeker.Plan, error) {
	return jobseeker.Plan{Tier: "premium", Active: true}, nil
}

// addOffer adds a listing that is a minute older than the previous one.
func (env *testEnv) addOffer(o offer) string {
	o.ID = stores.NewID()
	o.PostedAt = env.clock.Now().Add(-time.Duration(len(env.offers)) * time.Minute)
	env.offers, env.titles[o.ID] = append(env.offers, o), o.Title

	return o.ID
}

// offerTitled returns a listing with the given title.
func offerTitled(title string) offer {
	return offer{Candidate: jobseeker.Candidate{Title: title, Company: "St Brigid's"}}
}

// profile creates a jobseeker with the given profile.
func (env *testEnv) profile(in jobseeker.ProfileInput) auth.Actor {
	env.t.Helper()

	me := newSeeker()
	_, err := env.UpdateProfile(env.t.Context(), me, in)
	require.NoError(env.t, err)

	return me
}

// recommended returns the recommendations for the user, and their titles.
func (env *testEnv) recommended(to auth.Actor) (all []jobseeker.Recommendation, titles []string) {
	env.t.Helper()

	r, err := env.Recommend(env.t.Context(), to, firstPage)
	require.NoError(env.t, err)

	for _, item := range r.Items {
		titles = append(titles, item.Title)
	}

	require.Equal(env.t, len(titles), r.Total)

	return r.Items, titles
}

// TestRecommendations_EachSignal_Counts checks each signal alone: with the profile, the listing
// good has a higher score than bad, although bad is newer, and names the reason.
func TestRecommendations_EachSignal_Counts(t *testing.T) {
	onEachStorage(t, func(t *testing.T, env *testEnv) {
		with := func(change func(o *offer)) offer {
			o := offerTitled("Cook")
			change(&o)
			return o
		}

		for name, c := range map[string]struct {
			profile   jobseeker.ProfileInput
			good, bad offer
			reason    string
		}{
			"the role in the title": {
				profile: jobseeker.ProfileInput{CurrentRole: new("Staff Nurse (A&E)")},
				good:    offerTitled("Senior Staff Nurse"),
				bad:     offerTitled("Cook"),
				reason:  "Fits your role",
			},
			"the title before the text": {
				profile: jobseeker.ProfileInput{CurrentRole: new("Staff Nurse")},
				good:    offerTitled("Staff Nurse"),
				bad:     with(func(o *offer) { o.text = "assists a staff nurse" }),
				reason:  "Fits your role",
			},
			"the kind of work": {
				profile: jobseeker.ProfileInput{CurrentRole: new("Staff Nurse")},
				good:    offerTitled("Theatre Nurse"),
				bad:     offerTitled("Cook"),
				reason:  "Fits your role",
			},
			"the specialty": {
				profile: jobseeker.ProfileInput{Specialty: new("Critical care")},
				good:    with(func(o *offer) { o.specialty = "Critical care" }),
				bad:     offerTitled("Cook"),
				reason:  "In your specialty",
			},
			"the filing before the text": {
				profile: jobseeker.ProfileInput{Specialty: new("Renal")},
				good:    with(func(o *offer) { o.specialty = "Renal" }),
				bad:     with(func(o *offer) { o.text = "renal ward" }),
				reason:  "In your specialty",
			},
			"the radius": {
				profile: jobseeker.ProfileInput{PreferredLocation: new("Leeds"), LocationRadius: new(20.0)},
				good:    with(func(o *offer) { o.Miles = new(20.0) }),
				bad:     with(func(o *offer) { o.Miles = new(21.0) }),
				reason:  "20 miles from Leeds",
			},
			"the shorter distance": {
				profile: jobseeker.ProfileInput{Location: new("Leeds")},
				good:    with(func(o *offer) { o.Miles = new(15.0) }),
				bad:     with(func(o *offer) { o.Miles = new(29.0) }),
				reason:  "15 miles from Leeds",
			},
			"remote": {
				profile: jobseeker.ProfileInput{Location: new("Leeds")},
				good:    with(func(o *offer) { o.Remote = true }),
				bad:     with(func(o *offer) { o.Miles = new(300.0) }),
				reason:  "Remote",
			},
			"a place that is on no map": {
				profile: jobseeker.ProfileInput{Location: new("Ward 7")},
				good:    with(func(o *offer) { o.Location = "Ward 7" }),
				bad:     with(func(o *offer) { o.Location = "Ward 8" }),
				reason:  "In Ward 7",
			},
			"the contract": {
				profile: jobseeker.ProfileInput{EmploymentTypes: &[]string{"permanent"}},
				good:    with(func(o *offer) { o.ContractType = "permanent" }),
				bad:     with(func(o *offer) { o.ContractType = "temporary" }),
				reason:  "Is permanent",
			},
			"the hours": {
				profile: jobseeker.ProfileInput{EmploymentTypes: &[]string{"bank"}},
				good:    with(func(o *offer) { o.ContractType, o.EmploymentType = "temporary", "bank" }),
				bad:     offerTitled("Cook"),
				reason:  "Is bank",
			},
			"the pay": {
				profile: jobseeker.ProfileInput{SalaryMin: new(40000.0)},
				good:    with(func(o *offer) { o.PayLowest, o.PayHighest = new(35000.0), new(41000.0) }),
				bad:     with(func(o *offer) { o.PayLowest, o.PayHighest = new(35000.0), new(39000.0) }),
				reason:  "Pays what you expect",
			},
			"no pay before low pay": {
				profile: jobseeker.ProfileInput{SalaryMin: new(40000.0)},
				good:    offerTitled("Cook"),
				bad:     with(func(o *offer) { o.PayLowest, o.PayHighest = new(1.0), new(2.0) }),
				reason:  "New",
			},
		} {
			env.offers = nil
			env.addOffer(c.bad) // the newer of the two

			want := env.addOffer(c.good)
			all, _ := env.recommended(env.profile(c.profile))
			require.Equal(t, want, all[0].ID, name)
			require.Greater(t, all[0].Score, all[1].Score, name)
			require.Contains(t, all[0].Reasons, c.reason, name)
		}
	})
}

// TestRecommendations_NoSignals_NewestFirst checks that without a profile the age of a listing
// is the only signal: 100 on the first day, 0 after a month.
func TestRecommendations_NoSignals_NewestFirst(t *testing.T) {
	onEachStorage(t, func(t *testing.T, env *testEnv) {
		env.addOffer(offerTitled("A"))
		env.addOffer(offerTitled("B"))

		all, titles := env.recommended(newSeeker())
		require.Equal(t, []string{"A", "B"}, titles)
		require.Equal(t, 100, all[0].Score)
		env.clock.Advance(40 * 24 * time.Hour)

		all, _ = env.recommended(newSeeker())
		require.Zero(t, all[0].Score)
		require.Empty(t, all[0].Reasons)
	})
}

// TestRecommendations_AllSignalsMatch_ScoreIs100 checks that a score is the percentage of the
// points that the user's signals can give.
func TestRecommendations_AllSignalsMatch_ScoreIs100(t *testing.T) {
	onEachStorage(t, func(t *testing.T, env *testEnv) {
		best := offerTitled("Staff Nurse")
		best.specialty = "Renal"
		best.Miles = new(1.0)
		best.ContractType = "permanent"
		best.PayLowest = new(39000.0)
		best.PayHighest = new(45000.0)
		env.addOffer(best)

		half := offerTitled("Theatre Nurse")
		half.text = "renal"
		env.addOffer(half)
		env.addOffer(offerTitled("Cook"))

		me := env.profile(
			jobseeker.ProfileInput{
				CurrentRole:       new("Staff Nurse"),
				Specialty:         new("Renal"),
				PreferredLocation: new("Leeds"),
				EmploymentTypes:   &[]string{"permanent"},
				SalaryMin:         new(40000.0),
				SalaryMax:         new(50000.0),
			},
		)
		all, titles := env.recommended(me)
		require.Equal(t, []string{"Staff Nurse", "Theatre Nurse", "Cook"}, titles)
		require.Equal(t, 100, all[0].Score)

		// 15 of 30 for the last word of the role, 10 of 20 for the specialty in the text,
		// 4 of 10 and 2 of 5 for the missing type and pay, 5 of 5 for today: 36 of 90.
		require.Equal(t, 40, all[1].Score)
		require.Equal(t,
			[]string{"Fits your role", "In your specialty", "Is permanent", "Pays what you expect"},
			slices.DeleteFunc(slices.Clone(all[0].Reasons), func(r string) bool { return strings.Contains(r, "miles") || r == "New" }))
	})
}

// TestRecommendations_Behaviour_IsASignal checks that saved listings, applications and saved
// searches recommend similar listings, of which those that the user knows already are omitted.
func TestRecommendations_Behaviour_IsASignal(t *testing.T) {
	onEachStorage(t, func(t *testing.T, env *testEnv) {
		env.addOffer(offerTitled("Cook"))

		savedID := env.addOffer(offerTitled("Midwife, nights"))
		appliedFor := env.addOffer(offerTitled("Paramedic"))
		env.addOffer(offerTitled("Midwife"))
		env.addOffer(offerTitled("Lead Paramedic"))
		env.addOffer(offerTitled("Radiographer"))

		me := newSeeker()
		_, err := env.Bookmark(t.Context(), me, jobseeker.SaveJobInput{ListingID: savedID})
		require.NoError(t, err)

		env.applied[me.UserID] = []string{appliedFor}
		_, err = env.SaveSearch(t.Context(), me, jobseeker.SaveSearchInput{Query: "radiographer"})
		require.NoError(t, err)

		all, titles := env.recommended(me)
		require.Equal(t, []string{"Midwife", "Lead Paramedic", "Radiographer", "Cook"}, titles,
			"saved listings and applications are excluded")
		require.Contains(t, all[0].Reasons, "Like jobs that you kept or applied for")
		require.Contains(t, all[2].Reasons, "Matches a search that you saved")

		_, titles = env.recommended(newSeeker())
		require.Len(t, titles, 6, "another user sees all of them")
	})
}

// TestRecommendations_DismissedOrNotPublic_Omitted checks that a dismissal hides a listing from
// its user only, and ends with the account.
func TestRecommendations_DismissedOrNotPublic_Omitted(t *testing.T) {
	onEachStorage(t, func(t *testing.T, env *testEnv) {
		me, other := newSeeker(), newSeeker()
		first, second := env.addOffer(offerTitled("A")), env.addOffer(offerTitled("B"))
		env.addOffer(offerTitled("C"))
		require.NoError(t, env.Dismiss(t.Context(), me, strings.ToUpper(first)))
		require.NoError(t, env.Dismiss(t.Context(), me, first), "a repeated dismissal changes nothing")

		env.unpublished[second] = true
		_, titles := env.recommended(me)
		require.Equal(t, []string{"C"}, titles)

		_, titles = env.recommended(other)
		require.Equal(t, []string{"A", "C"}, titles)
		// With the account, its dismissals are deleted.
		require.NoError(t, env.OnAccountDeleted(t.Context(), event.AccountDeleted{UserID: me.UserID}))

		_, titles = env.recommended(me)
		require.Equal(t, []string{"A", "C"}, titles)

		for _, absent := range []string{"", "nonsense", stores.NewID()} {
			require.ErrorIs(t, env.Dismiss(t.Context(), me, absent), jobseeker.ErrListingNotFound)
		}
	})
}

// TestRecommendations_Pages_FewQueries checks that a user with many signals causes few
// searches, and that pages by number and cursor contain the same recommendations, each once.
func TestRecommendations_Pages_FewQueries(t *testing.T) {
	// Five queries run near the user's home and anywhere: for the role with the specialty, the
	// role, its last word, the specialty, and the newest listings. Of the five saved searches,
	// three are run.
	const maxQueries = 2*5 + 3

	onEachStorage(t, func(t *testing.T, env *testEnv) {
		for range 250 {
			env.addOffer(offerTitled("Staff Nurse, renal"))
			env.addOffer(offerTitled("Cook"))
		}

		me := env.profile(
			jobseeker.ProfileInput{CurrentRole: new("Senior Staff Nurse"), Specialty: new("Renal"), PreferredLocation: new("Leeds")},
		)
		for _, q := range []string{"a", "b", "c", "d", "e"} {
			_, err := env.SaveSearch(t.Context(), me, jobseeker.SaveSearchInput{Query: q})
			require.NoError(t, err)
		}

		// The first page needs few searches, and there are at most MaxRecommendations results.
		env.suggestCalls = 0
		first, err := env.Recommend(t.Context(), me, page.Request{Number: 1, Size: 30})
		require.NoError(t, err)
		require.LessOrEqual(t, env.suggestCalls, maxQueries)
		require.LessOrEqual(t, first.Total, jobseeker.MaxRecommendations)
		var all []string

		cursor := ""
		for number := 1; ; number++ {
			byNumber, err := env.Recommend(t.Context(), me, page.Request{Number: number, Size: 30})
			require.NoError(t, err)

			byCursor, err := env.Recommend(t.Context(), me, page.Request{Number: 1, Size: 30, Cursor: cursor})
			require.NoError(t, err)
			require.Equal(t, byNumber, byCursor)

			for _, r := range byNumber.Items {
				require.NotContains(t, all, r.ID)

				all = append(all, r.ID)
			}

			cursor = byNumber.NextCursor
			if cursor == "" {
				break
			}
		}

		require.Len(t, all, first.Total)

		// A page after the last is empty, and cursors that no page has returned are refused.
		beyond, err := env.Recommend(t.Context(), me, page.Request{Number: 50, Size: 30})
		require.NoError(t, err)
		require.Empty(t, beyond.Items)

		for _, cursor := range []string{"x", "-1", "100000"} {
			_, err = env.Recommend(t.Context(), me, page.Request{Number: 1, Size: 30, Cursor: cursor})
			require.Equal(t, "cursor", fault.Of(err).Fields[0].Name)
		}
	})
}

// TestRecommendations_OperatorsInProfile_AreText checks that operators of the search in a
// profile are searched for as words.
func TestRecommendations_OperatorsInProfile_AreText(t *testing.T) {
	t.Parallel()

	env := newTestEnv(t, stores.SQLite)

	want := env.addOffer(offerTitled("Nurse nights"))
	for _, role := range []string{`"Nurse" -nights`, "Nurse OR", "(Nurse", strings.Repeat("nurse ", 33), "|||", "–"} {
		all, _ := env.recommended(env.profile(jobseeker.ProfileInput{CurrentRole: new(role), Specialty: new(role)}))
		require.Equal(t, want, all[0].ID, role)
	}
}

// TestRecommendations_Employer_Forbidden checks that only jobseekers have recommendations, and
// that guests see the dashboard.
func TestRecommendations_Employer_Forbidden(t *testing.T) {
	t.Parallel()

	env := newTestEnv(t, stores.SQLite)

	employer := auth.Actor{UserID: stores.NewID(), Role: auth.Employer, OrganizationID: stores.NewID()}
	for _, by := range []auth.Actor{guest, employer} {
		_, err := env.Recommend(t.Context(), by, firstPage)
		require.ErrorIs(t, err, kit.Refusal(by))
		require.ErrorIs(t, env.Dismiss(t.Context(), by, stores.NewID()), kit.Refusal(by))
		require.ErrorIs(t, env.TrackDashboard(t.Context(), by, jobseeker.TrackInput{Action: "x"}), kit.Refusal(by))

		_, err = env.Personalize(t.Context(), by, jobseeker.PersonalizeInput{})
		require.ErrorIs(t, err, kit.Refusal(by))
	}

	_, err := env.MyDashboard(t.Context(), employer)
	require.ErrorIs(t, err, fault.ErrForbidden)
}
