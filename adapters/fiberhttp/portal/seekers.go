package portal

import (
	"context"
	"net/http"
	"time"

	"github.com/locumhq/locum/adapters/fiberhttp/web"
	"github.com/locumhq/locum/modules/jobseeker"
)

func seekerRoutes(s *jobseeker.Service) []web.Route {
	const notifications, activity = "Notifications", "Activity"
	return []web.Route{
		{Method: http.MethodGet, Path: "/api/jobseekers/notifications", Auth: web.Required, Who: web.Seeker, Tag: notifications, Summary: "What the caller was told, newest first", Op: web.Op(
			func(ctx context.Context, c web.Call, in PageInput) (web.Reply[notificationsView], error) {
				r, err := s.MyNotifications(ctx, c.Actor, in.Request())
				if err != nil {
					return web.Reply[notificationsView]{}, err
				}
				v := notificationsView{Notifications: make([]notificationView, len(r.Items)), Pagination: seekerPagination(r, in.Paging), Beyond: beyond(r)}
				for i, n := range r.Items {
					v.Notifications[i] = notificationView{ID: n.ID, Type: n.Type, Message: n.Message, Read: n.Read, CreatedAt: n.CreatedAt}
				}
				return web.OK(v, ""), nil
			})},
		{Method: http.MethodPut, Path: "/api/jobseekers/notifications/:id", Auth: web.Required, Who: web.Seeker, Limit: web.PerQuarterHour(10), Errors: []int{404}, Tag: notifications, Summary: "Mark a notification as read or unread", Op: web.Op(
			func(ctx context.Context, c web.Call, in MarkInput) (web.Done, error) {
				return web.Said("Notification updated successfully"), s.MarkNotification(ctx, c.Actor, in.ID, in.MarkInput)
			})},
		{Method: http.MethodDelete, Path: "/api/jobseekers/notifications/:id", Auth: web.Required, Who: web.Seeker, Errors: []int{404}, Tag: notifications, Summary: "Take a notification away", Op: web.Op(
			func(ctx context.Context, c web.Call, in NotificationPath) (web.Done, error) {
				return web.Said("Notification deleted successfully"), s.DeleteNotification(ctx, c.Actor, in.ID)
			})},
		{Method: http.MethodGet, Path: "/api/jobseekers/activity", Auth: web.Required, Who: web.Seeker, Tag: activity, Summary: "What the caller did and what came of it, latest first", Op: web.Op(
			func(ctx context.Context, c web.Call, in PageInput) (web.Reply[activitiesView], error) {
				r, err := s.MyActivity(ctx, c.Actor, in.Request())
				if err != nil {
					return web.Reply[activitiesView]{}, err
				}
				v := activitiesView{Activities: make([]activityView, len(r.Items)), Total: r.Total, Beyond: beyond(r)}
				for i, a := range r.Items {
					v.Activities[i] = activityView{Type: a.Type, Action: a.Action, Description: a.Description, Timestamp: a.At}
				}
				return web.OK(v, ""), nil
			})},
	}
}

// NotificationPath names a notification.
type NotificationPath struct {
	ID string `path:"id"`
}

// MarkInput marks a notification.
type MarkInput struct {
	NotificationPath
	jobseeker.MarkInput
}

type notificationView struct {
	ID        string                     `json:"id"`
	Type      jobseeker.NotificationType `json:"type"`
	Message   string                     `json:"message"`
	Read      bool                       `json:"read"`
	CreatedAt time.Time                  `json:"createdAt"`
}

type notificationsView struct {
	Notifications []notificationView `json:"notifications"`
	Pagination    SeekerPagination   `json:"pagination"`
	Beyond
}

type activityView struct {
	Type        string    `json:"type"`
	Action      string    `json:"action"`
	Description string    `json:"description"`
	Timestamp   time.Time `json:"timestamp"`
}

type activitiesView struct {
	Activities []activityView `json:"activities"`
	Total      int            `json:"total"`
	Beyond
}
