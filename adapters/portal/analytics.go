package portal

import (
	"net/http"

	"github.com/locumhq/locum/adapters/web"
	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/modules/hiring"
	"github.com/locumhq/locum/modules/listings"
)

// analyticsRoutes returns the routes with which employers count their listings, the views of the listings, and the
// applications.
func analyticsRoutes(s *hiring.Service) []web.Route {
	return routesFor(web.Employer, "Employer analytics", []web.Route{
		{
			Method:     http.MethodGet,
			Path:       "/api/employers/analytics",
			Permission: auth.ApplicationsView,
			Summary:    "Count the organization's listings and applications",
			Op:         getOwn(s.Analytics, viewEmployerAnalytics),
		},
		{
			Method:     http.MethodGet,
			Path:       "/api/employers/jobs/:id/analytics",
			Permission: auth.ApplicationsView,
			Errors:     []int{404},
			Summary:    "Get the number of views and applications of a listing",
			Op: getByID(s.JobAnalytics, func(a hiring.JobAnalytics) jobAnalyticsView {
				return jobAnalyticsView{
					JobID:          a.JobID,
					Title:          a.Title,
					Views:          a.Views,
					Applications:   viewCounts(a.Applications),
					ConversionRate: a.ConversionRate(),
				}
			}),
		},
		{
			Method:     http.MethodGet,
			Path:       "/api/employers/applications/stats",
			Permission: auth.ApplicationsView,
			Summary:    "Count the applications by status",
			Op: answerWith(s.Stats, func(c hiring.Counts) statsView {
				return statsView{Total: c.Total(), ByStatus: viewStatuses(c)}
			}, ""),
		},
	})
}

// statusCounts counts applications by status.
type statusCounts struct {
	Pending   int `json:"pending"`
	Review    int `json:"review"`
	Interview int `json:"interview"`
	Accepted  int `json:"accepted"`
	Rejected  int `json:"rejected"`
	Withdrawn int `json:"withdrawn"`
}

func viewStatuses(c hiring.Counts) statusCounts {
	return statusCounts{
		Pending:   c[hiring.Pending],
		Review:    c[hiring.Review],
		Interview: c[hiring.Interviewing],
		Accepted:  c[hiring.Accepted],
		Rejected:  c[hiring.Rejected],
		Withdrawn: c[hiring.Withdrawn],
	}
}

// totalCounts counts applications in total and by status.
type totalCounts struct {
	// Total is the sum of all statuses.
	Total int `json:"total"`
	statusCounts
}

func viewCounts(c hiring.Counts) totalCounts {
	return totalCounts{Total: c.Total(), statusCounts: viewStatuses(c)}
}

type statsView struct {
	Total    int          `json:"total"`
	ByStatus statusCounts `json:"byStatus"`
}

// jobAnalyticsView counts the views of a job and its applications.
type jobAnalyticsView struct {
	JobID string `json:"jobId"`
	Title string `json:"title"`
	// Views counts each visitor once a day. Views by members of the organization do not count.
	Views        int         `json:"views"`
	Applications totalCounts `json:"applications"`
	// ConversionRate is applications / views × 100, rounded to two decimals; 0
	// without views.
	ConversionRate float64 `json:"conversionRate"`
}

// employerAnalyticsView counts the jobs of an organization and the applications for them, by status.
type employerAnalyticsView struct {
	Jobs struct {
		// Total is the sum of all statuses.
		Total    int `json:"total"`
		Active   int `json:"active"`
		Draft    int `json:"draft"`
		Inactive int `json:"inactive"`
		Closed   int `json:"closed"`
		Archived int `json:"archived"`
	} `json:"jobs"`
	Applications totalCounts `json:"applications"`
}

func viewEmployerAnalytics(a hiring.Analytics) (v employerAnalyticsView) {
	for _, jobsWithStatus := range a.Jobs {
		v.Jobs.Total += jobsWithStatus
	}

	count := func(s listings.Status) int { return a.Jobs[string(s)] }
	v.Jobs.Active = count(listings.Active)
	v.Jobs.Draft = count(listings.Draft)
	v.Jobs.Inactive = count(listings.Inactive)
	v.Jobs.Closed = count(listings.Closed)
	v.Jobs.Archived = count(listings.Archived)
	v.Applications = viewCounts(a.Applications)

	return v
}
