package e2e

import (
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	recommendationsPath = "/api/jobseekers/recommendations"
	dashboardPath       = "/api/jobseekers/dashboard"
)

// postJobs posts the jobs as one new employer and returns their ids by title. Jobs without a description get
// one.
func postJobs(t *testing.T, server *testServer, jobs ...object) map[string]string {
	t.Helper()

	described := make([]object, len(jobs))
	for i, job := range jobs {
		described[i] = merge(object{"description": "A good place to work."}, job)
	}

	employer := server.employer(t)
	resp := employer.post("/api/employers/jobs/batch", object{"jobs": described}).ok(200)

	ids := map[string]string{}
	for _, item := range resp.list("data.created") {
		created := item.(object)
		ids[created["title"].(string)] = created["id"].(string)
	}

	require.Len(t, ids, len(jobs), "%s", resp.raw)

	return ids
}

// seekerWithProfile registers a jobseeker with a profile.
func (s *testServer) seekerWithProfile(t *testing.T, profile object) *account {
	t.Helper()

	seeker := s.seeker(t)
	seeker.fromNewAddress().put("/api/jobseekers/profile", object{"intent": "update-profile", "profile": profile}).ok(200)

	return seeker
}

// recommendedTitles returns the titles of the recommended jobs, best first.
func (a *account) recommendedTitles() (titles []string) {
	a.t.Helper()

	for _, item := range a.get(recommendationsPath + "?limit=100").ok(200).list("data.recommendations") {
		titles = append(titles, item.(object)["title"].(string))
	}

	return titles
}

// salary returns a salary in pounds a year.
func salary(lowest, highest int) object {
	return object{"min": lowest, "max": highest, "currency": "GBP"}
}

// recruitersJobs are the jobs of TestRecommendations_RankLikeARecruiter, all from one employer.
var recruitersJobs = []object{
	{
		"title":          "Registered Nurse, ICU",
		"specialty":      "Critical care",
		"location":       "Leeds",
		"contractType":   "permanent",
		"employmentType": "full-time",
		"salary":         salary(36000, 44000),
	},
	{
		"title":          "Staff Nurse, ITU nights",
		"specialty":      "Intensive care",
		"location":       "London",
		"contractType":   "permanent",
		"employmentType": "full-time",
		"salary":         salary(40000, 48000),
	},
	{
		"title":          "Staff Nurse, Renal",
		"specialty":      "Renal",
		"location":       "Bradford",
		"contractType":   "temporary",
		"employmentType": "bank",
	},
	{
		"title":          "Community Nurse",
		"specialty":      "Community",
		"location":       "Wakefield",
		"contractType":   "permanent",
		"employmentType": "part-time",
		"salary":         salary(30000, 34000),
	},
	{
		"title":          "Healthcare Assistant",
		"location":       "Leeds",
		"contractType":   "permanent",
		"employmentType": "full-time",
		"salary":         salary(22000, 24000),
	},
	{
		"title":          "Band 6 Midwife",
		"specialty":      "Midwifery",
		"location":       "York",
		"contractType":   "permanent",
		"employmentType": "full-time",
		"salary":         salary(37000, 44000),
	},
	{
		"title":          "Midwife, birth centre",
		"specialty":      "Midwifery",
		"location":       "Plymouth",
		"contractType":   "permanent",
		"employmentType": "part-time",
	},
	{
		"title":          "Physiotherapist",
		"specialty":      "Musculoskeletal",
		"location":       "Manchester",
		"contractType":   "permanent",
		"employmentType": "full-time",
		"salary":         salary(35000, 42000),
	},
	{
		"title":          "Telehealth Physiotherapist",
		"specialty":      "Musculoskeletal",
		"remote":         true,
		"contractType":   "contract",
		"employmentType": "flexible",
	},
	{
		"title":        "Salaried GP",
		"specialty":    "General practice",
		"location":     "Bristol",
		"contractType": "permanent",
		"salary":       salary(85000, 105000),
	},
	{
		"title":        "Locum GP",
		"specialty":    "General practice",
		"location":     "Bristol",
		"contractType": "temporary",
		"salary":       object{"min": 85, "max": 100, "currency": "GBP", "period": "hour"},
	},
	{
		"title":          "Radiographer",
		"specialty":      "Imaging",
		"location":       "Glasgow",
		"contractType":   "permanent",
		"employmentType": "full-time",
	},
	{
		"title":          "Theatre Practitioner",
		"specialty":      "Theatres",
		"location":       "Cardiff",
		"contractType":   "temporary",
		"employmentType": "bank",
	},
}

// recruitersChoices are typical profiles, by a description of the user, with the jobs of recruitersJobs that a
// recruiter would recommend first.
var recruitersChoices = map[string]struct {
	profile object
	first   []string // the titles of the first recommendations, in this order
}{
	"ICU nurse in Leeds": {
		profile: object{"currentRole": "RN", "specialty": "ICU", "location": "Leeds"},
		first:   []string{"Registered Nurse, ICU"},
	},
	"ICU nurse who would move to London": {
		profile: object{
			"currentRole":       "Staff Nurse",
			"specialty":         "Critical care",
			"location":          "Leeds",
			"preferredLocation": "London",
		},
		first: []string{"Staff Nurse, ITU nights"},
	},
	"bank nurse near Bradford": {
		profile: object{"currentRole": "Nurse", "preferredLocation": "Bradford", "employmentTypes": []string{"bank"}},
		first:   []string{"Staff Nurse, Renal"},
	},
	"part-time nurse in the county": {
		profile: object{
			"currentRole":       "Nurse",
			"preferredLocation": "West Yorkshire",
			"employmentTypes":   []string{"part-time"},
		},
		first: []string{"Community Nurse"},
	},
	"HCA": {
		profile: object{"currentRole": "HCA", "location": "Leeds"},
		first:   []string{"Healthcare Assistant"},
	},
	"midwife in Yorkshire": {
		profile: object{"currentRole": "Midwife", "preferredLocation": "York"},
		first:   []string{"Band 6 Midwife", "Midwife, birth centre"},
	},
	"midwife in Devon": {
		profile: object{"currentRole": "Midwife", "preferredLocation": "Exeter", "locationRadius": 50},
		first:   []string{"Midwife, birth centre", "Band 6 Midwife"},
	},
	"physio who wants to work from anywhere": {
		profile: object{"currentRole": "Physio", "employmentTypes": []string{"flexible"}},
		first:   []string{"Telehealth Physiotherapist", "Physiotherapist"},
	},
	"physio in Manchester": {
		profile: object{
			"currentRole":     "Physiotherapist",
			"location":        "Manchester",
			"employmentTypes": []string{"full-time", "permanent"},
		},
		first: []string{"Physiotherapist", "Telehealth Physiotherapist"},
	},
	"doctor who wants a salary": {
		profile: object{"currentRole": "GP", "location": "Bristol", "employmentTypes": []string{"permanent"}},
		first:   []string{"Salaried GP", "Locum GP"},
	},
	"doctor who wants more than a salary pays": {
		profile: object{"currentRole": "GP", "location": "Bristol", "salaryMin": 120000},
		first:   []string{"Locum GP", "Salaried GP"},
	},
	"user with a specialty only": {
		profile: object{"specialty": "Imaging"},
		first:   []string{"Radiographer"},
	},
	"user with a town only": {
		profile: object{"location": "Cardiff"},
		first:   []string{"Theatre Practitioner"},
	},
	"theatre practitioner far from the only such job": {
		profile: object{"currentRole": "Theatre Practitioner", "location": "Glasgow"},
		first:   []string{"Theatre Practitioner"},
	},
}

// TestRecommendations_RankLikeARecruiter checks the first recommendations for typical profiles.
func TestRecommendations_RankLikeARecruiter(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		postJobs(t, server, recruitersJobs...)

		for user, test := range recruitersChoices {
			t.Run(user, func(t *testing.T) {
				titles := server.seekerWithProfile(t, test.profile).recommendedTitles()

				// Only the beginning of the list is compared: the order of the jobs that fit badly does not matter.
				require.GreaterOrEqual(t, len(titles), len(test.first))
				require.Equal(t, test.first, titles[:len(test.first)], "%v", titles)
			})
		}
	})
}

// TestRecommendations_OtherNameOfTheRole_CountsAsTheRole checks that an abbreviation fits as
// well as the full name of the role.
func TestRecommendations_OtherNameOfTheRole_CountsAsTheRole(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		postJobs(t, server, object{"title": "Registered Nurse", "location": "Leeds"})

		seeker := server.seekerWithProfile(t, object{"currentRole": "RN", "location": "Leeds"})

		// 100 is the score of a job that fits every part of the profile.
		require.Equal(t, 100.0, seeker.get(recommendationsPath).ok(200).number("data.recommendations.0.relevanceScore"))
	})
}

// TestRecommendationsAndDashboard checks the recommendations of a jobseeker, which leave out
// jobs that the user has applied for, saved or dismissed, and the dashboard that shows them,
// for guests too.
func TestRecommendationsAndDashboard(t *testing.T) {
	onEachSetup(t, func(t *testing.T, server *testServer) {
		t.Run("GET /api/jobseekers/dashboard without listings", func(t *testing.T) {
			resp := server.guest(t).get(dashboardPath).ok(200)
			require.Equal(
				t,
				object{
					"isGuest":            true,
					"subscriptionStatus": object{"tier": "basic", "isActive": false},
					"recommendations":    []any{},
					"recentActivity":     []any{},
					"stats":              object{"applicationsCount": 0.0, "bookmarksCount": 0.0, "recommendationsCount": 0.0},
				},
				resp.at("data.dashboard"),
			)
		})

		ids := postJobs(t, server, object{"title": "Staff Nurse", "location": "Leeds"},
			object{"title": "Cook", "location": "Leeds"}, object{"title": "Porter"},
			object{"title": "Draft Nurse", "status": "draft"})
		t.Run("GET /api/jobseekers/recommendations", func(t *testing.T) {
			seeker := server.seekerWithProfile(t, object{"currentRole": "Staff Nurse", "location": "Leeds"})
			resp := seeker.get(recommendationsPath).ok(200)
			require.Equal(t, 3.0, resp.number("data.total"))
			require.Len(t, resp.list("data.recommendations"), 3) // the draft is not public

			// The job with the role of the profile is first, with a full score and the reason. The next one fits less.
			first := resp.at("data.recommendations.0").(object)
			require.Equal(t, ids["Staff Nurse"], first["uuid"])
			require.Equal(t, ids["Staff Nurse"], first["id"])
			require.Equal(t, "Staff Nurse", first["title"])
			require.Equal(t, organizationName, first["company"])
			require.Equal(t, 100.0, first["relevanceScore"])
			require.Contains(t, first["reasons"], "Fits your role")
			require.Less(t, resp.number("data.recommendations.1.relevanceScore"), 100.0)

			repeated := seeker.get(recommendationsPath).ok(200)
			require.Equal(t, string(resp.raw), string(repeated.raw), "the order is stable")

			// Pages by number and by cursor have the items of the whole list.
			second := seeker.get(recommendationsPath + "?limit=1&page=2").ok(200)
			require.Equal(t, resp.at("data.recommendations.1"), second.at("data.recommendations.0"))

			third := seeker.get(recommendationsPath + "?limit=1&cursor=" + second.text("data.nextCursor")).ok(200)
			require.Equal(t, resp.at("data.recommendations.2"), third.at("data.recommendations.0"))
			seeker.get(recommendationsPath + "?page=0").invalid("page")
			seeker.get(recommendationsPath + "?cursor=nonsense").invalid("cursor")
			server.guest(t).get(recommendationsPath).fails(401, "Unauthorized")
			server.employer(t).get(recommendationsPath).fails(403, "Forbidden")
		})

		t.Run("GET /api/jobseekers/recommendations without applied and saved jobs", func(t *testing.T) {
			seeker := server.seeker(t)
			require.Len(t, seeker.recommendedTitles(), 3)

			application := seeker.application(ids["Porter"], nil)
			require.NotContains(t, seeker.recommendedTitles(), "Porter")
			seeker.delete("/api/jobseekers/applications/" + application).ok(200)
			require.NotContains(t, seeker.recommendedTitles(), "Porter", "a withdrawn application counts too")
			seeker.post("/api/jobseekers/saved", object{"listingId": ids["Cook"]}).ok(201)
			require.Equal(t, []string{"Staff Nurse"}, seeker.recommendedTitles())
		})

		t.Run("DELETE /api/jobseekers/recommendations/:id", func(t *testing.T) {
			seeker := server.seeker(t)
			require.NotEmpty(t, seeker.delete(recommendationsPath+"/"+ids["Cook"]).ok(200).text("message"))
			seeker.delete(recommendationsPath + "/" + ids["Cook"]).ok(200) // repeating it changes nothing
			require.NotContains(t, seeker.recommendedTitles(), "Cook")

			for _, absent := range []string{nowhere, "nonsense"} {
				seeker.delete(recommendationsPath+"/"+absent).fails(404, "Listing not found")
			}

			// A dismissal applies to the user who dismissed the job, and to no other.
			require.Contains(t, server.seeker(t).recommendedTitles(), "Cook")
		})

		t.Run("GET /api/jobseekers/dashboard", func(t *testing.T) {
			seeker := server.seekerWithProfile(t, object{"currentRole": "Cook"})
			seeker.application(ids["Porter"], nil)
			seeker.post("/api/jobseekers/saved", object{"listingId": ids["Porter"]}).ok(201)
			seeker.post("/api/jobseekers/billing", object{"intent": "create-subscription", "planId": "premium", "paymentMethodId": "pm_1"}).
				ok(200)
			seeker.waitForNotifications(1)

			// The dashboard counts the application and the bookmark. Of the three public jobs, it recommends the two others.
			resp := seeker.get(dashboardPath).ok(200)
			require.Equal(t, false, resp.at("data.dashboard.isGuest"))
			require.Equal(t, object{"tier": "premium", "isActive": true}, resp.at("data.dashboard.subscriptionStatus"))
			require.Equal(t,
				object{"applicationsCount": 1.0, "bookmarksCount": 1.0, "recommendationsCount": 2.0},
				resp.at("data.dashboard.stats"))
			require.Equal(t,
				object{"id": ids["Cook"], "title": "Cook", "company": organizationName, "location": "Leeds"},
				resp.at("data.dashboard.recommendations.0"))

			recommended := seeker.get(recommendationsPath).ok(200).list("data.recommendations")
			for i, item := range resp.list("data.dashboard.recommendations") {
				require.Equal(t, recommended[i].(object)["id"], item.(object)["id"], "the same order as the list")
			}

			hasActivity := map[any]bool{} // by type
			for _, item := range resp.list("data.dashboard.recentActivity") {
				activity := item.(object)
				require.NotEmpty(t, activity["title"])
				require.NotEmpty(t, activity["timestamp"])

				hasActivity[activity["type"]] = true
			}

			require.True(t, hasActivity["billing"], "%s", resp.raw)
			require.True(t, hasActivity["bookmark"], "%s", resp.raw)
			server.employer(t).get(dashboardPath).fails(403, "Forbidden")
		})

		t.Run("GET /api/jobseekers/dashboard as a guest", func(t *testing.T) {
			resp := server.guest(t).get(dashboardPath).ok(200)
			require.Equal(t, true, resp.at("data.dashboard.isGuest"))
			require.Len(t, resp.list("data.dashboard.recommendations"), 3)
			require.NotContains(t, string(resp.raw), "Draft")
			require.Equal(t,
				object{"applicationsCount": 0.0, "bookmarksCount": 0.0, "recommendationsCount": 3.0},
				resp.at("data.dashboard.stats"))
			require.Empty(t, resp.list("data.dashboard.recentActivity"))
		})

		t.Run("POST /api/jobseekers/dashboard generate-personalized-content", func(t *testing.T) {
			seeker := server.seekerWithProfile(t, object{"location": "Leeds"})
			resp := seeker.post(dashboardPath, object{
				"intent":      "generate-personalized-content",
				"specialty":   "Nursing",
				"careerGoals": "Lead a ward",
				"experience":  "5 years",
			}).
				ok(200)

			// The headline names the specialty of the request and the place of the profile.
			require.Equal(t, "generate-personalized-content", resp.text("data.intent"))
			require.Contains(t, resp.text("data.personalizedContent.headline"), "Nursing")
			require.Contains(t, resp.text("data.personalizedContent.headline"), "Leeds")
			require.Equal(t, "You bring 5 years of experience to Nursing. What you are after: Lead a ward.",
				resp.text("data.personalizedContent.summary"))
			require.NotEmpty(t, resp.list("data.personalizedContent.suggestions"))
			require.Len(t, resp.list("data.personalizedContent.recommendations"), 3)

			for _, body := range []object{
				// All members are optional. Goals may be a list, and the experience a number.
				{"intent": "generate-personalized-content"},
				{"intent": "generate-personalized-content", "careerGoals": []string{"Teach", "Travel"}, "experience": 5},
			} {
				require.NotEmpty(t, seeker.post(dashboardPath, body).ok(200).text("data.personalizedContent.headline"))
			}

			seeker.post(dashboardPath, object{"intent": "generate-personalized-content", "specialty": 7}).invalid("specialty")
			seeker.post(dashboardPath, object{"intent": "generate-personalized-content", "careerGoals": 7}).invalid("careerGoals")
		})

		t.Run("POST /api/jobseekers/dashboard track-dashboard-action", func(t *testing.T) {
			seeker := server.seeker(t)
			resp := seeker.post(dashboardPath, object{
				"intent":    "track-dashboard-action",
				"action":    "view-recommendation",
				"listingId": ids["Cook"],
			}).
				ok(200)

			// A view of a recommendation leaves it in the list. Its dismissal removes it and is shown as an activity.
			require.Equal(t, "track-dashboard-action", resp.text("data.intent"))
			require.Contains(t, seeker.recommendedTitles(), "Cook")
			seeker.post(dashboardPath, object{
				"intent":    "track-dashboard-action",
				"action":    "dismiss-recommendation",
				"listingId": ids["Cook"],
			}).
				ok(200)
			require.NotContains(t, seeker.recommendedTitles(), "Cook")
			require.Equal(t, "Dismissed Cook", seeker.get(dashboardPath).ok(200).text("data.dashboard.recentActivity.0.title"))

			// A dismissal needs a public job. A draft of another organization is not found.
			seeker.post(dashboardPath, object{"intent": "track-dashboard-action", "action": "dismiss-recommendation"}).invalid("listingId")
			seeker.post(dashboardPath, object{
				"intent":    "track-dashboard-action",
				"action":    "dismiss-recommendation",
				"listingId": nowhere,
			}).
				fails(404, "Listing not found")

			draft := server.employer(t).listing(object{"title": "Secret", "status": "draft"})
			seeker.post(dashboardPath, object{"intent": "track-dashboard-action", "action": "looked", "listingId": draft}).
				fails(404, "Listing not found")
			seeker.delete("/api/jobseekers/recommendations/"+draft).fails(404, "Listing not found")
			require.Equal(t, "track-dashboard-action",
				seeker.post(dashboardPath, object{"intent": "track-dashboard-action"}).ok(200).text("data.intent"))
			require.Equal(t, "Used the dashboard", seeker.get(dashboardPath).ok(200).text("data.dashboard.recentActivity.0.title"))
		})

		t.Run("POST /api/jobseekers/dashboard refuses unknown values", func(t *testing.T) {
			seeker := server.seeker(t)
			seeker.post(dashboardPath, object{}).fails(400, "Intent is required")
			seeker.post(dashboardPath, object{"intent": "dance"}).invalid("intent")
			server.guest(t).post(dashboardPath, object{"intent": "generate-personalized-content"}).fails(401, "Unauthorized")
			server.employer(t).post(dashboardPath, object{"intent": "generate-personalized-content"}).fails(403, "Forbidden")
		})
	})
}
