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

// offer is a listing for the recommendations. In place of the real search, Suggest looks
// for the exact words.
type offer struct {
	jobseeker.Candidate
	text, specialty string
}

// Suggest implements jobseeker.Listings.
func (d *testEnv) Suggest(_ context.Context, w jobseeker.Wanted, n int) (out []jobseeker.Candidate, _ error) {
	d.suggestCalls++
	for _, o := range d.offers {
		c := o.Candidate
		inTitle := strings.Contains(strings.ToLower(o.Title), w.Text)
		switch {
		case d.unpublished[o.ID], !inTitle && !strings.Contains(strings.ToLower(o.text+" "+o.specialty), w.Text):
			continue
		case w.ContractType != "" && w.ContractType != o.ContractType:
			continue
		case w.Location != "" && o.Location != w.Location && !o.Remote:
			continue
		}
		c.InTitle = inTitle
		c.Filed = w.Specialty != "" && w.Specialty == o.specialty
		if w.Home == "" {
			c.Miles = nil
		}
		out = append(out, c)
	}
	slices.SortFunc(out, func(a, b jobseeker.Candidate) int {
		if a.InTitle != b.InTitle {
			if a.InTitle {
				return -1
			}
			return 1
		}
		return cmp.Or(b.PostedAt.Compare(a.PostedAt), cmp.Compare(b.ID, a.ID))
	})
	return out[:min(n, len(out))], nil
}

// Lately implements jobseeker.Applied.
func (d *testEnv) Lately(_ context.Context, userID string, n int) ([]string, error) {
	ids := slices.Clone(d.applied[userID])
	slices.Reverse(ids)
	return ids[:min(n, len(ids))], nil
}

// Among implements jobseeker.Applied.
func (d *testEnv) Among(_ context.Context, userID string, listingIDs []string) (map[string]bool, error) {
	out := map[string]bool{}
	for _, id := range listingIDs {
		out[id] = slices.Contains(d.applied[userID], id)
	}
	return out, nil
}

// Count implements jobseeker.Applied.
func (d *testEnv) Counts(_ context.Context, userID string) (jobseeker.ApplicationCounts, error) {
	n := len(d.applied[userID])
	return jobseeker.ApplicationCounts{Total: n, Pending: min(n, 1)}, nil
}

// Plan implements jobseeker.Plans.
func (d *testEnv) Plan(context.Context, string) (jobseeker.Plan, error) {
	return jobseeker.Plan{Tier: "premium", Active: true}, nil
}

// addOffer adds a listing that is a minute older than the previous one.
func (d *testEnv) addOffer(o offer) string {
	o.ID = stores.NewID()
	o.PostedAt = d.clock.Now().Add(-time.Duration(len(d.offers)) * time.Minute)
	d.offers, d.titles[o.ID] = append(d.offers, o), o.Title
	return o.ID
}

func offerTitled(title string) offer {
	return offer{Candidate: jobseeker.Candidate{Title: title, Company: "St Brigid's"}}
}

func (d *testEnv) profile(in jobseeker.ProfileInput) auth.Actor {
	d.t.Helper()
	me := seeker()
	_, err := d.UpdateProfile(d.t.Context(), me, in)
	require.NoError(d.t, err)
	return me
}

var allResults = page.Request{Number: 1, Size: 100}

func (d *testEnv) recommended(to auth.Actor) (all []jobseeker.Recommendation, titles []string) {
	d.t.Helper()
	r, err := d.Recommend(d.t.Context(), to, allResults)
	require.NoError(d.t, err)
	for _, item := range r.Items {
		titles = append(titles, item.Title)
	}
	require.Equal(d.t, len(titles), r.Total)
	return r.Items, titles
}

func ptr[T any](v T) *T { return &v }

func TestRecommendations_EachSignal_Counts(t *testing.T) {
	onEach(t, func(t *testing.T, d *testEnv) {
		with := func(change func(o *offer)) offer {
			o := offerTitled("Cook")
			change(&o)
			return o
		}
		for name, c := range map[string]struct {
			knows     jobseeker.ProfileInput
			good, bad offer
			reason    string
		}{
			"the role in the title":      {jobseeker.ProfileInput{CurrentRole: ptr("Staff Nurse (A&E)")}, offerTitled("Senior Staff Nurse"), offerTitled("Cook"), "Fits your role"},
			"the title before the text":  {jobseeker.ProfileInput{CurrentRole: ptr("Staff Nurse")}, offerTitled("Staff Nurse"), with(func(o *offer) { o.text = "assists a staff nurse" }), "Fits your role"},
			"the kind of work":           {jobseeker.ProfileInput{CurrentRole: ptr("Staff Nurse")}, offerTitled("Theatre Nurse"), offerTitled("Cook"), "Fits your role"},
			"the specialty":              {jobseeker.ProfileInput{Specialty: ptr("Critical care")}, with(func(o *offer) { o.specialty = "Critical care" }), offerTitled("Cook"), "In your specialty"},
			"the filing before the text": {jobseeker.ProfileInput{Specialty: ptr("Renal")}, with(func(o *offer) { o.specialty = "Renal" }), with(func(o *offer) { o.text = "renal ward" }), "In your specialty"},
			"the radius":                 {jobseeker.ProfileInput{PreferredLocation: ptr("Leeds"), LocationRadius: ptr(20.0)}, with(func(o *offer) { o.Miles = ptr(20.0) }), with(func(o *offer) { o.Miles = ptr(21.0) }), "20 miles from Leeds"},
			"what is less far":           {jobseeker.ProfileInput{Location: ptr("Leeds")}, with(func(o *offer) { o.Miles = ptr(15.0) }), with(func(o *offer) { o.Miles = ptr(29.0) }), "15 miles from Leeds"},
			"remote":                     {jobseeker.ProfileInput{Location: ptr("Leeds")}, with(func(o *offer) { o.Remote = true }), with(func(o *offer) { o.Miles = ptr(300.0) }), "Remote"},
			"a place that is on no map":  {jobseeker.ProfileInput{Location: ptr("Ward 7")}, with(func(o *offer) { o.Location = "Ward 7" }), with(func(o *offer) { o.Location = "Ward 8" }), "In Ward 7"},
			"the contract":               {jobseeker.ProfileInput{EmploymentTypes: &[]string{"permanent"}}, with(func(o *offer) { o.ContractType = "permanent" }), with(func(o *offer) { o.ContractType = "temporary" }), "Is permanent"},
			"the hours":                  {jobseeker.ProfileInput{EmploymentTypes: &[]string{"bank"}}, with(func(o *offer) { o.ContractType, o.EmploymentType = "temporary", "bank" }), offerTitled("Cook"), "Is bank"},
			"the pay":                    {jobseeker.ProfileInput{SalaryMin: ptr(40000.0)}, with(func(o *offer) { o.PayLowest, o.PayHighest = ptr(35000.0), ptr(41000.0) }), with(func(o *offer) { o.PayLowest, o.PayHighest = ptr(35000.0), ptr(39000.0) }), "Pays what you expect"},
			"pay that is not said":       {jobseeker.ProfileInput{SalaryMin: ptr(40000.0)}, offerTitled("Cook"), with(func(o *offer) { o.PayLowest, o.PayHighest = ptr(1.0), ptr(2.0) }), "New"},
		} {
			d.offers = nil
			d.addOffer(c.bad) // the newer of the two
			want := d.addOffer(c.good)
			all, _ := d.recommended(d.profile(c.knows))
			require.Equal(t, want, all[0].ID, name)
			require.Greater(t, all[0].Score, all[1].Score, name)
			require.Contains(t, all[0].Reasons, c.reason, name)
		}
	})
}

func TestRecommendations_NoSignals_NewestFirst(t *testing.T) {
	onEach(t, func(t *testing.T, d *testEnv) {
		d.addOffer(offerTitled("A"))
		d.addOffer(offerTitled("B"))
		all, titles := d.recommended(seeker())
		require.Equal(t, []string{"A", "B"}, titles)
		require.Equal(t, 100, all[0].Score)
		d.clock.Advance(40 * 24 * time.Hour)
		all, _ = d.recommended(seeker())
		require.Zero(t, all[0].Score)
		require.Empty(t, all[0].Reasons)
	})
}

func TestRecommendations_AllSignalsMatch_ScoreIs100(t *testing.T) {
	onEach(t, func(t *testing.T, d *testEnv) {
		best := offerTitled("Staff Nurse")
		best.specialty, best.Miles, best.ContractType, best.PayLowest, best.PayHighest = "Renal", ptr(1.0), "permanent", ptr(39000.0), ptr(45000.0)
		d.addOffer(best)
		half := offerTitled("Theatre Nurse")
		half.text = "renal"
		d.addOffer(half)
		d.addOffer(offerTitled("Cook"))
		me := d.profile(jobseeker.ProfileInput{CurrentRole: ptr("Staff Nurse"), Specialty: ptr("Renal"), PreferredLocation: ptr("Leeds"), EmploymentTypes: &[]string{"permanent"}, SalaryMin: ptr(40000.0), SalaryMax: ptr(50000.0)})
		all, titles := d.recommended(me)
		require.Equal(t, []string{"Staff Nurse", "Theatre Nurse", "Cook"}, titles)
		require.Equal(t, 100, all[0].Score)
		// 15 of 30 for a nurse, 10 of 20 for renal in the text, 4 of 10 and 2 of 5
		// for what is not said, 5 of 5 for today: 36 of 90.
		require.Equal(t, 40, all[1].Score)
		require.Equal(t, []string{"Fits your role", "In your specialty", "Is permanent", "Pays what you expect"}, slices.DeleteFunc(slices.Clone(all[0].Reasons), func(r string) bool { return strings.Contains(r, "miles") || r == "New" }))
	})
}

func TestRecommendations_Behaviour_IsASignal(t *testing.T) {
	onEach(t, func(t *testing.T, d *testEnv) {
		d.addOffer(offerTitled("Cook"))
		kept, appliedFor := d.addOffer(offerTitled("Midwife, nights")), d.addOffer(offerTitled("Paramedic"))
		d.addOffer(offerTitled("Midwife"))
		d.addOffer(offerTitled("Lead Paramedic"))
		d.addOffer(offerTitled("Radiographer"))
		me := seeker()
		_, err := d.Bookmark(t.Context(), me, jobseeker.SaveJobInput{ListingID: kept})
		require.NoError(t, err)
		d.applied[me.UserID] = []string{appliedFor}
		_, err = d.SaveSearch(t.Context(), me, jobseeker.SaveSearchInput{Query: "radiographer"})
		require.NoError(t, err)
		all, titles := d.recommended(me)
		require.Equal(t, []string{"Midwife", "Lead Paramedic", "Radiographer", "Cook"}, titles, "saved listings and applications are excluded")
		require.Contains(t, all[0].Reasons, "Like jobs that you kept or applied for")
		require.Contains(t, all[2].Reasons, "Matches a search that you saved")
		_, titles = d.recommended(seeker())
		require.Len(t, titles, 6, "another user sees all of them")
	})
}

func TestRecommendations_DismissedOrNotPublic_Omitted(t *testing.T) {
	onEach(t, func(t *testing.T, d *testEnv) {
		me, other := seeker(), seeker()
		first, second := d.addOffer(offerTitled("A")), d.addOffer(offerTitled("B"))
		d.addOffer(offerTitled("C"))
		require.NoError(t, d.Dismiss(t.Context(), me, strings.ToUpper(first)))
		require.NoError(t, d.Dismiss(t.Context(), me, first), "a repeated dismissal changes nothing")
		d.unpublished[second] = true
		_, titles := d.recommended(me)
		require.Equal(t, []string{"C"}, titles)
		_, titles = d.recommended(other)
		require.Equal(t, []string{"A", "C"}, titles)
		require.NoError(t, d.OnAccountDeleted(t.Context(), event.AccountDeleted{UserID: me.UserID}))
		_, titles = d.recommended(me)
		require.Equal(t, []string{"A", "C"}, titles)
		for _, absent := range []string{"", "nonsense", stores.NewID()} {
			require.ErrorIs(t, d.Dismiss(t.Context(), me, absent), jobseeker.ErrListingNotFound)
		}
	})
}

func TestRecommendations_Pages_FewQueries(t *testing.T) {
	onEach(t, func(t *testing.T, d *testEnv) {
		for range 250 {
			d.addOffer(offerTitled("Staff Nurse, renal"))
			d.addOffer(offerTitled("Cook"))
		}
		me := d.profile(jobseeker.ProfileInput{CurrentRole: ptr("Senior Staff Nurse"), Specialty: ptr("Renal"), PreferredLocation: ptr("Leeds")})
		for _, q := range []string{"a", "b", "c", "d", "e"} {
			_, err := d.SaveSearch(t.Context(), me, jobseeker.SaveSearchInput{Query: q})
			require.NoError(t, err)
		}
		d.suggestCalls = 0
		first, err := d.Recommend(t.Context(), me, page.Request{Number: 1, Size: 30})
		require.NoError(t, err)
		require.LessOrEqual(t, d.suggestCalls, 13)
		require.LessOrEqual(t, first.Total, jobseeker.MaxRecommendations)
		var all []string
		cursor := ""
		for number := 1; ; number++ {
			byNumber, err := d.Recommend(t.Context(), me, page.Request{Number: number, Size: 30})
			require.NoError(t, err)
			byCursor, err := d.Recommend(t.Context(), me, page.Request{Number: 1, Size: 30, Cursor: cursor})
			require.NoError(t, err)
			require.Equal(t, byNumber, byCursor)
			for _, r := range byNumber.Items {
				require.NotContains(t, all, r.ID)
				all = append(all, r.ID)
			}
			if cursor = byNumber.NextCursor; cursor == "" {
				break
			}
		}
		require.Len(t, all, first.Total)
		beyond, err := d.Recommend(t.Context(), me, page.Request{Number: 50, Size: 30})
		require.NoError(t, err)
		require.Empty(t, beyond.Items)
		for _, cursor := range []string{"x", "-1", "100000"} {
			_, err = d.Recommend(t.Context(), me, page.Request{Number: 1, Size: 30, Cursor: cursor})
			require.Equal(t, "cursor", fault.Of(err).Fields[0].Name)
		}
	})
}

func TestRecommendations_OperatorsInProfile_AreText(t *testing.T) {
	t.Parallel()
	d := newTestEnv(t, stores.SQLite)
	want := d.addOffer(offerTitled("Nurse nights"))
	for _, role := range []string{`"Nurse" -nights`, "Nurse OR", "(Nurse", strings.Repeat("nurse ", 33), "|||", "–"} {
		all, _ := d.recommended(d.profile(jobseeker.ProfileInput{CurrentRole: ptr(role), Specialty: ptr(role)}))
		require.Equal(t, want, all[0].ID, role)
	}
}

func TestRecommendations_Employer_Forbidden(t *testing.T) {
	t.Parallel()
	d := newTestEnv(t, stores.SQLite)
	employer := auth.Actor{UserID: stores.NewID(), Role: auth.Employer, OrganizationID: stores.NewID()}
	for _, by := range []auth.Actor{guest, employer} {
		_, err := d.Recommend(t.Context(), by, allResults)
		require.ErrorIs(t, err, kit.Refusal(by))
		require.ErrorIs(t, d.Dismiss(t.Context(), by, stores.NewID()), kit.Refusal(by))
		require.ErrorIs(t, d.TrackDashboard(t.Context(), by, jobseeker.TrackInput{Action: "x"}), kit.Refusal(by))
		_, err = d.Personalize(t.Context(), by, jobseeker.PersonalizeInput{})
		require.ErrorIs(t, err, kit.Refusal(by))
	}
	_, err := d.MyDashboard(t.Context(), employer)
	require.ErrorIs(t, err, fault.ErrForbidden)
}
