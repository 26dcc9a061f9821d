package portal

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/locumhq/locum/adapters/web"
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/modules/jobseeker"
)

// dashboardRoutes returns the routes of a jobseeker's recommendations and dashboard.
func dashboardRoutes(s *jobseeker.Service) []web.Route {
	const tag = "Dashboard"

	return slices.Concat(routesFor(web.Seeker, "Recommendations", []web.Route{
		{
			Method:  http.MethodGet,
			Path:    "/api/jobseekers/recommendations",
			Summary: "List recommended listings, best first, without those that the caller applied to, saved or dismissed",
			Op: list(s.Recommend, func(r page.Result[jobseeker.Recommendation], _ web.Paging) recommendationsView {
				return recommendationsView{Recommendations: web.Each(r.Items, viewRecommendation), Total: r.Total, Next: Next{r.NextCursor}}
			}),
		},
		{
			Method:  http.MethodDelete,
			Path:    "/api/jobseekers/recommendations/:id",
			Summary: "Dismiss a recommended listing",
			Op:      changeByID(s.Dismiss, "Recommendation dismissed"),
		},
	}), []web.Route{
		{
			Method:  http.MethodGet,
			Path:    "/api/jobseekers/dashboard",
			Auth:    web.Optional,
			Cached:  true,
			Errors:  []int{403},
			Tag:     tag,
			Summary: "Get the jobseeker's dashboard; guests get the newest listings",
			Op:      getOwn(s.MyDashboard, viewDashboard),
		},
		{
			Method:   http.MethodPost,
			Path:     "/api/jobseekers/dashboard",
			Auth:     web.Required,
			Audience: web.Seeker,
			Errors:   []int{404},
			Tag:      tag,
			Summary:  "Generate a personalized text, or record an action on the dashboard",
			Op: web.Op(
				func(ctx context.Context, c web.Call, in DashboardIntentInput) (web.Reply[dashboardIntentView], error) {
					v := dashboardIntentView{Intent: in.Intent}
					if in.Intent == "generate-personalized-content" {
						content, err := s.Personalize(ctx, c.Actor, jobseeker.PersonalizeInput{
							Specialty:   in.Specialty,
							CareerGoals: in.CareerGoals,
							Experience:  in.Experience,
						})
						v.PersonalizedContent = &personalizedView{
							Headline:        content.Headline,
							Summary:         content.Summary,
							Suggestions:     content.Suggestions,
							Recommendations: web.Each(content.Jobs, viewBrief),
						}

						return web.OK(v, "Personalized content generated successfully"), err
					}

					// The only other intent is track-dashboard-action.
					err := s.TrackDashboard(ctx, c.Actor, jobseeker.TrackInput{Action: in.Action, ListingID: in.ListingID})

					return web.OK(v, "Dashboard action tracked successfully"), err
				}),
		},
	})
}

// DashboardIntentInput is the input of the operation on the dashboard. Intent selects what the operation does. The tag
// intents of a field names the intent that uses the field.
type DashboardIntentInput struct {
	Intent string `json:"intent" validate:"required,oneof=generate-personalized-content track-dashboard-action"`

	// The specialty, the goals and the experience default to the values in the profile.
	Specialty   string          `json:"specialty" validate:"max=200" intents:"generate-personalized-content"`
	CareerGoals jobseeker.Goals `json:"careerGoals" intents:"generate-personalized-content"`
	Experience  jobseeker.Words `json:"experience" validate:"max=200" intents:"generate-personalized-content"`

	// The action and the listing are optional. The action dismiss-recommendation removes the
	// listing from the recommendations and needs its listingId. Other actions are only logged.
	Action    string `json:"action" validate:"max=64" intents:"track-dashboard-action"`
	ListingID string `json:"listingId" intents:"track-dashboard-action"`
}

// recommendationView is a listing that matches the profile of the jobseeker. Reasons says why.
type recommendationView struct {
	ID             string    `json:"id"`
	UUID           string    `json:"uuid"`
	Title          string    `json:"title"`
	Company        string    `json:"company"`
	Location       string    `json:"location"`
	ContractType   string    `json:"contractType"`
	EmploymentType string    `json:"employmentType"`
	Remote         bool      `json:"remote"`
	PostedAt       time.Time `json:"postedAt"`
	RelevanceScore int       `json:"relevanceScore" description:"Match with the profile, 0 to 100 percent of the points that are possible with what is known about the caller. Role 30 points (title match; 18 for a match in the text, half for the kind of work alone), specialty 20 (14 in the title, 10 in the text), place 20 (within the radius or remote; none at three times the radius), interest 10 (found by a saved search, or similar to listings saved or applied for), employment 10 (of a preferred type; 4 if not stated), pay 5 (reaches the expected pay; 2 if not stated), age 5 (fewer each day, none after a month)"`
	Reasons        []string  `json:"reasons"`
	// Distance is in miles from the caller's preferred location.
	Distance *float64 `json:"distance,omitempty"`
}

// recommendationsView is a page of recommended listings.
type recommendationsView struct {
	Recommendations []recommendationView `json:"recommendations"`
	Total           int                  `json:"total"`
	Next
}

func viewRecommendation(r jobseeker.Recommendation) recommendationView {
	return recommendationView{
		ID:             r.ID,
		UUID:           r.ID,
		Title:          r.Title,
		Company:        r.Company,
		Location:       r.Location,
		ContractType:   r.ContractType,
		EmploymentType: r.EmploymentType,
		Remote:         r.Remote,
		PostedAt:       r.PostedAt,
		RelevanceScore: r.Score,
		Reasons:        r.Reasons,
		Distance:       r.Miles,
	}
}

// briefView is a recommended listing on the dashboard.
type briefView struct {
	ID       string `json:"id"`
	Title    string `json:"title"`
	Company  string `json:"company"`
	Location string `json:"location"`
}

func viewBrief(r jobseeker.Recommendation) briefView {
	return briefView{ID: r.ID, Title: r.Title, Company: r.Company, Location: r.Location}
}

// dashboardView is the response with a dashboard. dashboardOf has its content.
type dashboardView struct {
	Dashboard dashboardOf `json:"dashboard"`
}

// dashboardOf is the dashboard of a jobseeker or of a guest.
type dashboardOf struct {
	IsGuest            bool           `json:"isGuest"`
	SubscriptionStatus planStanding   `json:"subscriptionStatus"`
	Recommendations    []briefView    `json:"recommendations"`
	RecentActivity     []recentView   `json:"recentActivity"`
	Stats              dashboardStats `json:"stats"`
}

// planStanding is the plan of the jobseeker, and whether it is paid for.
type planStanding struct {
	Tier     string `json:"tier"`
	IsActive bool   `json:"isActive"`
}

// recentView is an activity of the jobseeker on the dashboard.
type recentView struct {
	Type      string    `json:"type"`
	Title     string    `json:"title"`
	Timestamp time.Time `json:"timestamp"`
}

type dashboardStats struct {
	ApplicationsCount    int `json:"applicationsCount"`
	BookmarksCount       int `json:"bookmarksCount"`
	RecommendationsCount int `json:"recommendationsCount"`
}

func viewRecent(a jobseeker.Activity) recentView {
	return recentView{Type: a.Type, Title: a.Description, Timestamp: a.At}
}

func viewDashboard(d jobseeker.Dashboard) dashboardView {
	return dashboardView{dashboardOf{
		IsGuest:            d.Guest,
		SubscriptionStatus: planStanding{Tier: d.Plan.Tier, IsActive: d.Plan.Active},
		Recommendations:    web.Each(d.Recommendations, viewBrief),
		RecentActivity:     web.Each(d.Recent, viewRecent),
		Stats: dashboardStats{
			ApplicationsCount:    d.Applications,
			BookmarksCount:       d.Bookmarks,
			RecommendationsCount: d.Recommended,
		},
	}}
}

type dashboardIntentView struct {
	Intent              string            `json:"intent"`
	PersonalizedContent *personalizedView `json:"personalizedContent,omitempty"`
}

// personalizedView is a text for the jobseeker that is generated from the profile.
type personalizedView struct {
	Headline        string      `json:"headline"`
	Summary         string      `json:"summary"`
	Suggestions     []string    `json:"suggestions"`
	Recommendations []briefView `json:"recommendations"`
}
