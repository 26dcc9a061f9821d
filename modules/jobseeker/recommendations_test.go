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

// offer is a listing that testEnv.Suggest can return. Unlike the real search, Suggest looks for the
// exact words of the query in the title, text and specialty.
type offer struct {
	jobseeker.Candidate
	text, specialty string
}

// Suggest implements jobseeker.Listings. It returns the offers that match the query, those with
// its words in the title first, and then the newest first.
func (env *testEnv) Suggest(_ context.Context, wanted jobseeker.Wanted, n int) (found []jobseeker.Candidate, _ error) {
	env.suggestCalls++
	for _, o := range env.offers {
		isInTitle := strings.Contains(strings.ToLower(o.Title), wanted.Text)
		isInText := strings.Contains(strings.ToLower(o.text+" "+o.specialty), wanted.Text)
		hasType := wanted.ContractType == "" || wanted.ContractType == o.ContractType
		isInPlace := wanted.Location == "" || wanted.Location == o.Location || o.Remote

		matches := (isInTitle || isInText) && hasType && isInPlace
		if env.unpublished[o.ID] || !matches {
			continue
		}

		candidate := o.Candidate
		candidate.InTitle = isInTitle
		candidate.Filed = wanted.Specialty != "" && wanted.Specialty == o.specialty

		if wanted.Home == "" { // no place to measure a distance from
			candidate.Miles = nil
		}

		found = append(found, candidate)
	}

	slices.SortFunc(found, func(a, b jobseeker.Candidate) int {
		switch {
		case a.InTitle && !b.InTitle:
			return -1
		case b.InTitle && !a.InTitle:
			return 1
		}

		return cmp.Or(b.PostedAt.Compare(a.PostedAt), cmp.Compare(b.ID, a.ID))
	})

	return found[:min(n, len(found))], nil
}

// ListRecentlyApplied implements jobseeker.Applied: the latest applications are the last ones of applied.
func (env *testEnv) ListRecentlyApplied(_ context.Context, userID string, n int) ([]string, error) {
	ids := slices.Clone(env.applied[userID])
	slices.Reverse(ids)
	return ids[:min(n, len(ids))], nil
}

// FindApplied implements jobseeker.Applied.
func (env *testEnv) FindApplied(_ context.Context, userID string, listingIDs []string) (map[string]bool, error) {
	hasApplied := map[string]bool{}
	for _, id := range listingIDs {
		hasApplied[id] = slices.Contains(env.applied[userID], id)
	}

	return hasApplied, nil
}

// Counts implements jobseeker.Applied: the first application of each user is pending.
func (env *testEnv) Counts(_ context.Context, userID string) (jobseeker.ApplicationCounts, error) {
	total := len(env.applied[userID])
	return jobseeker.ApplicationCounts{Total: total, Pending: min(total, 1)}, nil
}

// Plan implements jobseeker.Plans: every user has the premium plan.
func (env *testEnv) Plan(context.Context, string) (jobseeker.Plan, error) {
	return jobseeker.Plan{Tier: "premium", Active: true}, nil
}

// addOffer adds a listing that is a minute older than the previous one.
func (env *testEnv) addOffer(o offer) string {
	o.ID = stores.NewID()
	o.PostedAt = env.clock.Now().Add(-time.Duration(len(env.offers)) * time.Minute)
	env.offers = append(env.offers, o)
	env.titles[o.ID] = o.Title

	return o.ID
}

// offerTitled returns a listing with the given title.
func offerTitled(title string) offer {
	return offer{Candidate: jobseeker.Candidate{Title: title, Company: "St Brigid's"}}
}

// profile creates a jobseeker with the given profile.
func (env *testEnv) profile(input jobseeker.ProfileInput) auth.Actor {
	env.t.Helper()

	user := newSeeker()
	_, err := env.UpdateProfile(env.t.Context(), user, input)
	require.NoError(env.t, err)

	return user
}

// recommended returns the recommendations for the user, the best first, and their titles. They must fit into one
// page.
func (env *testEnv) recommended(to auth.Actor) (recommendations []jobseeker.Recommendation, titles []string) {
	env.t.Helper()

	result, err := env.Recommend(env.t.Context(), to, firstPage)
	require.NoError(env.t, err)

	for _, recommendation := range result.Items {
		titles = append(titles, recommendation.Title)
	}

	require.Equal(env.t, len(titles), result.Total)

	return result.Items, titles
}

// TestRecommendations_EachSignal_Counts checks each signal, a property of a listing that fits to the
// profile of a user, alone: the listing good has a higher score than bad, although bad is newer, and
// names the reason.
func TestRecommendations_EachSignal_Counts(t *testing.T) {
	onEachStorage(t, func(t *testing.T, env *testEnv) {
		// cookWith returns a listing for a cook with a change.
		cookWith := func(change func(o *offer)) offer {
			o := offerTitled("Cook")
			change(&o)
			return o
		}

		for name, test := range map[string]struct {
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
				bad:     cookWith(func(o *offer) { o.text = "assists a staff nurse" }),
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
				good:    cookWith(func(o *offer) { o.specialty = "Critical care" }),
				bad:     offerTitled("Cook"),
				reason:  "In your specialty",
			},
			"the filing before the text": {
				profile: jobseeker.ProfileInput{Specialty: new("Renal")},
				good:    cookWith(func(o *offer) { o.specialty = "Renal" }),
				bad:     cookWith(func(o *offer) { o.text = "renal ward" }),
				reason:  "In your specialty",
			},
			"the radius": {
				profile: jobseeker.ProfileInput{PreferredLocation: new("Leeds"), LocationRadius: new(20.0)},
				good:    cookWith(func(o *offer) { o.Miles = new(20.0) }),
				bad:     cookWith(func(o *offer) { o.Miles = new(21.0) }),
				reason:  "20 miles from Leeds",
			},
			"the shorter distance": {
				profile: jobseeker.ProfileInput{Location: new("Leeds")},
				good:    cookWith(func(o *offer) { o.Miles = new(15.0) }),
				bad:     cookWith(func(o *offer) { o.Miles = new(29.0) }),
				reason:  "15 miles from Leeds",
			},
			"remote": {
				profile: jobseeker.ProfileInput{Location: new("Leeds")},
				good:    cookWith(func(o *offer) { o.Remote = true }),
				bad:     cookWith(func(o *offer) { o.Miles = new(300.0) }),
				reason:  "Remote",
			},
			"a place that is on no map": {
				profile: jobseeker.ProfileInput{Location: new("Ward 7")},
				good:    cookWith(func(o *offer) { o.Location = "Ward 7" }),
				bad:     cookWith(func(o *offer) { o.Location = "Ward 8" }),
				reason:  "In Ward 7",
			},
			"the contract": {
				profile: jobseeker.ProfileInput{EmploymentTypes: &[]string{"permanent"}},
				good:    cookWith(func(o *offer) { o.ContractType = "permanent" }),
				bad:     cookWith(func(o *offer) { o.ContractType = "temporary" }),
				reason:  "Is permanent",
			},
			"the hours": {
				profile: jobseeker.ProfileInput{EmploymentTypes: &[]string{"bank"}},
				good:    cookWith(func(o *offer) { o.ContractType, o.EmploymentType = "temporary", "bank" }),
				bad:     offerTitled("Cook"),
				reason:  "Is bank",
			},
			"the pay": {
				profile: jobseeker.ProfileInput{SalaryMin: new(40000.0)},
				good:    cookWith(func(o *offer) { o.PayLowest, o.PayHighest = new(35000.0), new(41000.0) }),
				bad:     cookWith(func(o *offer) { o.PayLowest, o.PayHighest = new(35000.0), new(39000.0) }),
				reason:  "Pays what you expect",
			},
			"no pay before low pay": {
				profile: jobseeker.ProfileInput{SalaryMin: new(40000.0)},
				good:    offerTitled("Cook"),
				bad:     cookWith(func(o *offer) { o.PayLowest, o.PayHighest = new(1.0), new(2.0) }),
				reason:  "New",
			},
		} {
			env.offers = nil
			env.addOffer(test.bad) // the newer of the two

			goodID := env.addOffer(test.good)

			recommendations, _ := env.recommended(env.profile(test.profile))
			require.Len(t, recommendations, 2, name)

			best, second := recommendations[0], recommendations[1]
			require.Equal(t, goodID, best.ID, name)
			require.Greater(t, best.Score, second.Score, name)
			require.Contains(t, best.Reasons, test.reason, name)
		}
	})
}

// TestRecommendations_NoSignals_NewestFirst checks that without a profile the age of a listing
// is the only signal: 100 on the first day, 0 after a month.
func TestRecommendations_NoSignals_NewestFirst(t *testing.T) {
	onEachStorage(t, func(t *testing.T, env *testEnv) {
		env.addOffer(offerTitled("A"))
		env.addOffer(offerTitled("B"))

		onFirstDay, titles := env.recommended(newSeeker())
		require.Equal(t, []string{"A", "B"}, titles)
		require.Equal(t, 100, onFirstDay[0].Score)

		const moreThanAMonth = 40 * 24 * time.Hour

		env.clock.Advance(moreThanAMonth)

		later, _ := env.recommended(newSeeker())
		require.Zero(t, later[0].Score)
		require.Empty(t, later[0].Reasons)
	})
}

// TestRecommendations_AllSignalsMatch_ScoreIs100 checks that a score is the percentage of the
// points that the user's signals can give.
func TestRecommendations_AllSignalsMatch_ScoreIs100(t *testing.T) {
	onEachStorage(t, func(t *testing.T, env *testEnv) {
		// One listing fits in every way, one in some, and one in none.
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

		me := env.profile(jobseeker.ProfileInput{
			CurrentRole:       new("Staff Nurse"),
			Specialty:         new("Renal"),
			PreferredLocation: new("Leeds"),
			EmploymentTypes:   &[]string{"permanent"},
			SalaryMin:         new(40000.0),
			SalaryMax:         new(50000.0),
		})
		recommendations, titles := env.recommended(me)
		require.Equal(t, []string{"Staff Nurse", "Theatre Nurse", "Cook"}, titles)

		ofBest, ofHalf := recommendations[0], recommendations[1]
		require.Equal(t, 100, ofBest.Score)

		// 15 of 30 for the last word of the role, 10 of 20 for the specialty in the text,
		// 4 of 10 and 2 of 5 for the missing type and pay, 5 of 5 for today: 36 of 90.
		require.Equal(t, 40, ofHalf.Score)

		// The reasons of the best listing, without those for its distance and its age.
		otherReasons := slices.DeleteFunc(slices.Clone(ofBest.Reasons), func(reason string) bool {
			return strings.Contains(reason, "miles") || reason == "New"
		})
		require.Equal(t, []string{"Fits your role", "In your specialty", "Is permanent", "Pays what you expect"}, otherReasons)
	})
}

// TestRecommendations_Behaviour_IsASignal checks that saved listings, applications and saved
// searches recommend similar listings, of which those that the user knows already are omitted.
func TestRecommendations_Behaviour_IsASignal(t *testing.T) {
	onEachStorage(t, func(t *testing.T, env *testEnv) {
		env.addOffer(offerTitled("Cook"))

		savedID := env.addOffer(offerTitled("Midwife, nights"))
		appliedForID := env.addOffer(offerTitled("Paramedic"))
		env.addOffer(offerTitled("Midwife"))
		env.addOffer(offerTitled("Lead Paramedic"))
		env.addOffer(offerTitled("Radiographer"))

		// The user saves a midwife's job, applies for a paramedic's, and saves a search for those of radiographers.
		me := newSeeker()
		_, err := env.Bookmark(t.Context(), me, jobseeker.SaveJobInput{ListingID: savedID})
		require.NoError(t, err)

		env.applied[me.UserID] = []string{appliedForID}
		_, err = env.SaveSearch(t.Context(), me, jobseeker.SaveSearchInput{Query: "radiographer"})
		require.NoError(t, err)

		recommendations, titles := env.recommended(me)
		require.Equal(t, []string{"Midwife", "Lead Paramedic", "Radiographer", "Cook"}, titles,
			"saved listings and applications are excluded")

		midwife, radiographer := recommendations[0], recommendations[2]
		require.Contains(t, midwife.Reasons, "Like jobs that you kept or applied for")
		require.Contains(t, radiographer.Reasons, "Matches a search that you saved")

		_, titles = env.recommended(newSeeker())
		require.Len(t, titles, len(env.offers), "another user sees all of them")
		require.Len(t, titles, 6)
	})
}

// TestRecommendations_DismissedOrNotPublic_Omitted checks that a dismissal hides a listing from
// its user only, and ends with the account.
func TestRecommendations_DismissedOrNotPublic_Omitted(t *testing.T) {
	onEachStorage(t, func(t *testing.T, env *testEnv) {
		me, other := newSeeker(), newSeeker()
		dismissedID, unpublishedID := env.addOffer(offerTitled("A")), env.addOffer(offerTitled("B"))
		env.addOffer(offerTitled("C"))

		// One user dismisses A. Then B is no longer public.
		require.NoError(t, env.Dismiss(t.Context(), me, strings.ToUpper(dismissedID)))
		require.NoError(t, env.Dismiss(t.Context(), me, dismissedID), "a repeated dismissal changes nothing")

		env.unpublished[unpublishedID] = true
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
	const (
		maxQueries = 2*5 + 3
		pageSize   = 30
	)

	onEachStorage(t, func(t *testing.T, env *testEnv) {
		for range 250 { // pairs, more than MaxRecommendations
			env.addOffer(offerTitled("Staff Nurse, renal"))
			env.addOffer(offerTitled("Cook"))
		}

		me := env.profile(
			jobseeker.ProfileInput{CurrentRole: new("Senior Staff Nurse"), Specialty: new("Renal"), PreferredLocation: new("Leeds")},
		)
		for _, query := range []string{"a", "b", "c", "d", "e"} {
			_, err := env.SaveSearch(t.Context(), me, jobseeker.SaveSearchInput{Query: query})
			require.NoError(t, err)
		}

		// The first page needs few searches, and there are at most MaxRecommendations results.
		env.suggestCalls = 0
		first, err := env.Recommend(t.Context(), me, page.Request{Number: 1, Size: pageSize})
		require.NoError(t, err)
		require.LessOrEqual(t, env.suggestCalls, maxQueries)
		require.LessOrEqual(t, first.Total, jobseeker.MaxRecommendations)

		// Read all pages, each by its number and by the cursor of the page before.
		var ids []string

		cursor := ""
		for number := 1; ; number++ {
			byNumber, err := env.Recommend(t.Context(), me, page.Request{Number: number, Size: pageSize})
			require.NoError(t, err)

			byCursor, err := env.Recommend(t.Context(), me, page.Request{Number: 1, Size: pageSize, Cursor: cursor})
			require.NoError(t, err)
			require.Equal(t, byNumber, byCursor)

			for _, recommendation := range byNumber.Items {
				require.NotContains(t, ids, recommendation.ID, "page %d", number)

				ids = append(ids, recommendation.ID)
			}

			cursor = byNumber.NextCursor
			if cursor == "" {
				break
			}
		}

		require.Len(t, ids, first.Total)

		// A page after the last is empty, and cursors that no page has returned are refused.
		beyond, err := env.Recommend(t.Context(), me, page.Request{Number: 50, Size: pageSize})
		require.NoError(t, err)
		require.Empty(t, beyond.Items)

		for _, unknown := range []string{"x", "-1", "100000"} {
			_, err = env.Recommend(t.Context(), me, page.Request{Number: 1, Size: pageSize, Cursor: unknown})
			require.Equal(t, "cursor", fault.Of(err).Fields[0].Name)
		}
	})
}

// TestRecommendations_OperatorsInProfile_AreText checks that operators of the search in a
// profile are searched for as words.
func TestRecommendations_OperatorsInProfile_AreText(t *testing.T) {
	t.Parallel()

	env := newTestEnv(t, stores.SQLite)

	offerID := env.addOffer(offerTitled("Nurse nights"))
	for _, role := range []string{`"Nurse" -nights`, "Nurse OR", "(Nurse", strings.Repeat("nurse ", 33), "|||", "–"} {
		me := env.profile(jobseeker.ProfileInput{CurrentRole: new(role), Specialty: new(role)})
		recommendations, _ := env.recommended(me)
		require.Equal(t, offerID, recommendations[0].ID, role)
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
