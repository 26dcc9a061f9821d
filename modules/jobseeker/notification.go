package jobseeker

import (
	"context"
	"time"

	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/id"
	"github.com/locumhq/locum/core/page"
)

// NotificationType is what a notification is about.
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

// Notification is something that a user is told.
type Notification struct {
	ID     string
	UserID string
	// Cause is what it tells of: nobody is told of the same cause twice.
	Cause     string
	Type      NotificationType
	Message   string
	Read      bool
	CreatedAt time.Time
}

// MyNotifications lists the caller's notifications, the newest first.
func (s *Service) MyNotifications(ctx context.Context, by auth.Actor, r page.Request) (page.Result[Notification], error) {
	if !by.Seeker {
		return page.Result[Notification]{}, fault.ErrForbidden
	}
	if err := r.CheckID(); err != nil {
		return page.Result[Notification]{}, err
	}
	return s.Notifications.Page(ctx, by.UserID, r)
}

// MarkInput says whether a notification is read; what is left out stays.
type MarkInput struct {
	Read *bool `json:"read"`
}

// MarkNotification marks one of the caller's notifications as read or unread.
func (s *Service) MarkNotification(ctx context.Context, by auth.Actor, notificationID string, in MarkInput) error {
	notificationID, err := s.notification(by, notificationID)
	switch {
	case err != nil:
		return err
	case in.Read == nil:
		return s.Notifications.Has(ctx, by.UserID, notificationID)
	}
	return s.Tx.Do(ctx, func(ctx context.Context) error {
		return s.Notifications.SetRead(ctx, by.UserID, notificationID, *in.Read)
	})
}

// DeleteNotification takes one of the caller's notifications away.
func (s *Service) DeleteNotification(ctx context.Context, by auth.Actor, notificationID string) error {
	notificationID, err := s.notification(by, notificationID)
	if err != nil {
		return err
	}
	return s.Tx.Do(ctx, func(ctx context.Context) error {
		return s.Notifications.Delete(ctx, by.UserID, notificationID, s.Clock.Now())
	})
}

func (s *Service) notification(by auth.Actor, notificationID string) (string, error) {
	if !by.Seeker {
		return "", fault.ErrForbidden
	}
	canonical, ok := id.Canonical(notificationID)
	if !ok {
		return "", ErrNotificationNotFound
	}
	return canonical, nil
}
