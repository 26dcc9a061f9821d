package jobseeker

import (
	"context"
	"time"

	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/page"
)

// NotificationType is the subject of a notification.
type NotificationType string

// The types.
const (
	AboutApplication NotificationType = "application"
	AboutInterview   NotificationType = "interview"
	AboutMessage     NotificationType = "message"
	AboutJobs        NotificationType = "job-alert"
	AboutDeadline    NotificationType = "deadline"
	AboutBilling     NotificationType = "billing"
)

// Notification is a message to a user.
type Notification struct {
	ID     string
	UserID string
	// Cause identifies the reason. A user is notified of each cause once.
	Cause     string
	Type      NotificationType
	Message   string
	Read      bool
	CreatedAt time.Time
}

// MyNotifications lists the caller's notifications, the newest first.
func (s *Service) MyNotifications(ctx context.Context, by auth.Actor, r page.Request) (page.Result[Notification], error) {
	if err := by.RequireSeeker(); err != nil {
		return page.Result[Notification]{}, err
	}
	if err := r.CheckID(); err != nil {
		return page.Result[Notification]{}, err
	}
	return s.Notifications.List(ctx, by.UserID, r)
}

// MarkInput marks a notification as read or unread. Without Read it changes nothing.
type MarkInput struct {
	Read *bool `json:"read"`
}

// MarkNotification marks one of the caller's notifications as read or unread.
func (s *Service) MarkNotification(ctx context.Context, by auth.Actor, notificationID string, in MarkInput) error {
	notificationID, err := canonical(by, notificationID, ErrNotificationNotFound)
	if err != nil {
		return err
	}
	return s.Tx.Do(ctx, func(ctx context.Context) error {
		return s.Notifications.Update(ctx, by.UserID, notificationID, NotificationUpdate{Read: in.Read})
	})
}

// DeleteNotification deletes one of the caller's notifications.
func (s *Service) DeleteNotification(ctx context.Context, by auth.Actor, notificationID string) error {
	notificationID, err := canonical(by, notificationID, ErrNotificationNotFound)
	if err != nil {
		return err
	}
	return s.Tx.Do(ctx, func(ctx context.Context) error {
		now := s.Clock.Now()
		return s.Notifications.Update(ctx, by.UserID, notificationID, NotificationUpdate{DeletedAt: &now})
	})
}
