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

func seekerRoutes(s *jobseeker.Service) []web.Route {
	return slices.Concat(routesFor(web.Seeker, "Notifications", []web.Route{
		{Method: http.MethodGet, Path: "/api/jobseekers/notifications", Summary: "List the caller's notifications, newest first",
			Op: list(s.MyNotifications, func(r page.Result[jobseeker.Notification], p web.Paging) notificationsView {
				return notificationsView{Notifications: web.Each(r.Items, viewNotification), SeekerPaged: seekerPaged(r, p)}
			})},
		{Method: http.MethodPut, Path: "/api/jobseekers/notifications/:id", Limit: web.PerQuarterHour(10), Errors: []int{404}, Summary: "Mark a notification as read or unread", Op: web.Op(
			func(ctx context.Context, c web.Call, in MarkInput) (web.Done, error) {
				return web.Message("Notification updated successfully"), s.MarkNotification(ctx, c.Actor, in.ID, in.MarkInput)
			})},
		{Method: http.MethodDelete, Path: "/api/jobseekers/notifications/:id", Errors: []int{404}, Summary: "Delete a notification",
			Op: changeByID(s.DeleteNotification, "Notification deleted successfully")},
	}), routesFor(web.Seeker, "Activity", []web.Route{
		{Method: http.MethodGet, Path: "/api/jobseekers/activity", Summary: "List the caller's activities, latest first",
			Op: list(s.MyActivity, func(r page.Result[jobseeker.Activity], _ web.Paging) activitiesView {
				return activitiesView{Activities: web.Each(r.Items, viewActivity), Total: r.Total, Beyond: beyond(r)}
			})},
		{Method: http.MethodGet, Path: "/api/jobseekers/analytics", Summary: "Get the caller's figures", Op: web.Op(
			func(ctx context.Context, c web.Call, _ web.Nothing) (web.Reply[seekerAnalyticsView], error) {
				a, err := s.MyAnalytics(ctx, c.Actor)
				var v seekerAnalyticsView
				v.Analytics.Applications.Total, v.Analytics.Applications.Pending = a.Applications.Total, a.Applications.Pending
				v.Analytics.Bookmarks.SavedJobs, v.Analytics.Profile.Completion = a.SavedJobs, a.Completion
				return web.OK(v, ""), err
			})},
	}), routesFor(web.Seeker, "Saved searches", []web.Route{
		{Method: http.MethodPost, Path: "/api/jobseekers/search", Errors: []int{404}, Summary: "Save or delete a search, or set the search preferences", Op: web.Op(
			func(ctx context.Context, c web.Call, in SearchIntentInput) (web.Reply[savedSearchesView], error) {
				var all []jobseeker.Search
				var err error
				var message string
				switch in.Intent {
				case "save-search":
					message = "Search saved successfully"
					all, err = s.SaveSearch(ctx, c.Actor, jobseeker.SaveSearchInput{Name: in.Name, Query: in.Query, Location: in.Location, ContractType: in.ContractType, EmailAlerts: in.EmailAlerts})
				case "update-search-preferences":
					message = "Search preferences updated successfully"
					all, err = s.Prefer(ctx, c.Actor, jobseeker.ProfileInput{PreferredLocation: in.PreferredLocation, EmploymentTypes: in.EmploymentTypes})
				case "delete-search":
					message = "Search deleted successfully"
					all, err = s.DeleteSearch(ctx, c.Actor, in.SearchID)
				}
				return web.OK(savedSearchesView{Intent: in.Intent, SavedSearches: web.Each(all, viewSearch)}, message), err
			})},
	}))
}

// SearchIntentInput is the input of all intents.
type SearchIntentInput struct {
	Intent string `json:"intent" validate:"required,oneof=save-search update-search-preferences delete-search"`
	// Of save-search.
	Name         string `json:"name" validate:"max=200"`
	Query        string `json:"query" validate:"max=200"`
	Location     string `json:"location" validate:"max=200"`
	ContractType string `json:"contractType" validate:"omitempty,oneof=permanent temporary contract"`
	EmailAlerts  bool   `json:"emailAlerts"`
	// Of update-search-preferences.
	PreferredLocation *string   `json:"preferredLocation" validate:"omitempty,max=200"`
	EmploymentTypes   *[]string `json:"employmentTypes" validate:"omitempty,max=8"`
	// Of delete-search.
	SearchID string `json:"searchId"`
}

type savedSearchesView struct {
	Intent        string            `json:"intent"`
	SavedSearches []savedSearchView `json:"savedSearches"`
}

type savedSearchView struct {
	ID           string    `json:"id"`
	Name         string    `json:"name"`
	Query        string    `json:"query"`
	Location     string    `json:"location"`
	ContractType string    `json:"contractType"`
	EmailAlerts  bool      `json:"emailAlerts"`
	CreatedAt    time.Time `json:"createdAt"`
}

func viewSearch(s jobseeker.Search) savedSearchView {
	return savedSearchView{ID: s.ID, Name: s.Name, Query: s.Query, Location: s.Location, ContractType: s.ContractType, EmailAlerts: s.EmailAlerts, CreatedAt: s.CreatedAt}
}

// MarkInput marks a notification as read or unread.
type MarkInput struct {
	IDPath
	jobseeker.MarkInput
}

type notificationView struct {
	ID        string                     `json:"id"`
	Type      jobseeker.NotificationType `json:"type"`
	Message   string                     `json:"message"`
	Read      bool                       `json:"read"`
	CreatedAt time.Time                  `json:"createdAt"`
}

func viewNotification(n jobseeker.Notification) notificationView {
	return notificationView{ID: n.ID, Type: n.Type, Message: n.Message, Read: n.Read, CreatedAt: n.CreatedAt}
}

type notificationsView struct {
	Notifications []notificationView `json:"notifications"`
	SeekerPaged
}

type activityView struct {
	Type        string    `json:"type"`
	Action      string    `json:"action"`
	Description string    `json:"description"`
	Timestamp   time.Time `json:"timestamp"`
}

func viewActivity(a jobseeker.Activity) activityView {
	return activityView{Type: a.Type, Action: a.Action, Description: a.Description, Timestamp: a.At}
}

type seekerAnalyticsView struct {
	Analytics struct {
		Applications struct {
			Total   int `json:"total"`
			Pending int `json:"pending"`
		} `json:"applications"`
		Bookmarks struct {
			SavedJobs int `json:"savedJobs" description:"Number of saved listings"`
		} `json:"bookmarks"`
		Profile struct {
			Completion int `json:"completion"`
		} `json:"profile"`
	} `json:"analytics"`
}

type activitiesView struct {
	Activities []activityView `json:"activities"`
	Total      int            `json:"total"`
	Beyond
}
