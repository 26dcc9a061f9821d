package jobseeker

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/event"
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
	// Cause identifies what the user is notified of, for example by the id of an event. A
	// user is notified of each cause once.
	Cause string
	Type  NotificationType
	// SubjectID is the id of the application, listing or saved search that the notification is
	// about. It is empty for AboutBilling, and for notifications of earlier versions.
	SubjectID string
	Message   string
	Read      bool
	CreatedAt time.Time
}

// NotificationService implements the use cases of notifications and activity logs. It also
// handles events of other modules, from which it creates notifications and activities.
type NotificationService struct{ *Shared }

// MyNotifications lists the caller's notifications, the newest first.
func (s *NotificationService) MyNotifications(ctx context.Context, by auth.Actor, r page.Request) (page.Result[Notification], error) {
	if err := cmp.Or(by.RequireSeeker(), r.CheckID()); err != nil {
		return page.Result[Notification]{}, err
	}

	return s.Notifications.List(ctx, by.UserID, r)
}

// MarkInput marks a notification as read or unread. Without Read it changes nothing.
type MarkInput struct {
	Read *bool `json:"read"`
}

// MarkNotification marks one of the caller's notifications as read or unread.
func (s *NotificationService) MarkNotification(ctx context.Context, by auth.Actor, notificationID string, in MarkInput) error {
	return s.update(ctx, by, notificationID, NotificationUpdate{Read: in.Read})
}

// DeleteNotification deletes one of the caller's notifications.
func (s *NotificationService) DeleteNotification(ctx context.Context, by auth.Actor, notificationID string) error {
	now := s.Clock.Now()
	return s.update(ctx, by, notificationID, NotificationUpdate{DeletedAt: &now})
}

// update changes one of the caller's notifications.
func (s *NotificationService) update(ctx context.Context, by auth.Actor, notificationID string, u NotificationUpdate) error {
	notificationID, err := requireSeekerAndID(by, notificationID, ErrNotificationNotFound)
	if err != nil {
		return err
	}

	return s.Tx.Do(ctx, func(ctx context.Context) error { return s.Notifications.Update(ctx, by.UserID, notificationID, u) })
}

// Activity is an entry in the activity log of a user.
type Activity struct {
	UserID string
	// EventID is the id of the event, or a new id for an action of the user in this module.
	// It is a UUIDv7, which contains the time, and the log is ordered by it.
	EventID string
	// Type is the subject (application, interview, search), Action the verb.
	Type, Action string
	Description  string
	At           time.Time
}

// MaxActivities is the number of activities that are stored per user.
const MaxActivities = 1_000

// MyActivity lists the caller's activities, newest first.
func (s *NotificationService) MyActivity(ctx context.Context, by auth.Actor, r page.Request) (page.Result[Activity], error) {
	if err := cmp.Or(by.RequireSeeker(), r.CheckID()); err != nil {
		return page.Result[Activity]{}, err
	}

	return s.Activities.List(ctx, by.UserID, r)
}

// The event handlers below store rows with the id of the event, so that a second delivery
// of an event has no effect.

// OnApplicationSubmitted adds the application to the candidate's activity log.
func (s *NotificationService) OnApplicationSubmitted(ctx context.Context, eventID string, e event.ApplicationSubmitted) error {
	title, err := s.listingTitle(ctx, e.JobID)
	if err != nil {
		return err
	}

	return s.log(ctx, Activity{
		UserID:      e.CandidateID,
		EventID:     eventID,
		Type:        "application",
		Action:      "applied",
		Description: "Applied for " + title,
		At:          e.SubmittedAt,
	})
}

// statusTexts maps the statuses of applications to the ends of sentences about them.
var statusTexts = map[string]string{
	"pending":   "is pending again",
	"review":    "is under review",
	"interview": "has moved to the interview stage",
	"accepted":  "has been accepted",
	"rejected":  "was not successful",
	"withdrawn": "has been set to withdrawn by the employer",
}

// OnApplicationStatusChanged notifies the candidate of a decision of the employer. The only
// change by the candidate is a withdrawal. It is added to the activity log without a
// notification.
func (s *NotificationService) OnApplicationStatusChanged(ctx context.Context, eventID string, e event.ApplicationStatusChanged) error {
	title, err := s.listingTitle(ctx, e.JobID)
	if err != nil {
		return err
	}

	entry := Activity{UserID: e.CandidateID, EventID: eventID, Type: "application", At: e.ChangedAt}

	isWithdrawal := e.ActorID == e.CandidateID
	if isWithdrawal {
		entry.Action, entry.Description = "withdrew", "Withdrew the application for "+title
		return s.log(ctx, entry)
	}

	message := fmt.Sprintf("Your application for %s %s", title, cmp.Or(statusTexts[e.Status], "is now: "+e.Status))
	entry.Action, entry.Description = "status-changed", message
	n := s.newNotification(Notification{
		UserID:    e.CandidateID,
		Cause:     eventID,
		Type:      AboutApplication,
		SubjectID: e.ApplicationID,
		Message:   message,
	})

	return s.notify(ctx, n, entry)
}

// OnInterviewChanged notifies the candidate of an interview.
func (s *NotificationService) OnInterviewChanged(ctx context.Context, eventID string, e event.InterviewChanged) error {
	title, err := s.listingTitle(ctx, e.JobID)
	if err != nil {
		return err
	}

	when := e.ScheduledAt.UTC().Format("Monday 2 January 2006, 15:04 MST")

	var message string
	switch e.Change {
	case "cancelled":
		message = fmt.Sprintf("Your interview for %s on %s has been cancelled", title, when)
	case "moved":
		message = fmt.Sprintf("Your interview for %s has changed: it is on %s", title, when)
	default:
		message = fmt.Sprintf("You are invited to an interview for %s on %s", title, when)
	}

	n := s.newNotification(Notification{
		UserID:    e.CandidateID,
		Cause:     eventID,
		Type:      AboutInterview,
		SubjectID: e.ApplicationID,
		Message:   message,
	})

	return s.notify(ctx, n, Activity{
		UserID:      e.CandidateID,
		EventID:     eventID,
		Type:        "interview",
		Action:      e.Change,
		Description: message,
		At:          e.ChangedAt,
	})
}

// OnApplicantContacted notifies the candidate of an e-mail from the employer.
func (s *NotificationService) OnApplicantContacted(ctx context.Context, eventID string, e event.ApplicantContacted) error {
	title, err := s.listingTitle(ctx, e.JobID)
	if err != nil {
		return err
	}

	message := fmt.Sprintf("The employer sent you a message about your application for %s", title)
	n := s.newNotification(Notification{
		UserID:    e.CandidateID,
		Cause:     eventID,
		Type:      AboutMessage,
		SubjectID: e.ApplicationID,
		Message:   message,
	})

	return s.Tx.Do(ctx, func(ctx context.Context) error { return s.Notifications.Create(ctx, n) })
}

// subscriptionTexts maps the changes of a subscription to the texts of notifications.
var subscriptionTexts = map[string]string{
	event.SubscriptionStarted:       "Your plan has begun",
	event.SubscriptionUpgraded:      "Your plan was upgraded",
	event.SubscriptionDowngraded:    "Your plan was changed to one that costs less",
	event.SubscriptionRenewed:       "Your plan was renewed",
	event.SubscriptionPaymentFailed: "Your payment did not work; please check your payment method",
	event.SubscriptionCancelled:     "Your plan is cancelled and ends with the period that is paid for",
	event.SubscriptionResumed:       "Your plan goes on",
	event.SubscriptionEnded:         "Your plan has ended",
	event.SubscriptionLapsed:        "Your plan has ended because its payment did not work",
	event.SubscriptionRefused:       "Your payment did not work, so your plan has not changed",
	event.SubscriptionUnconfirmed:   "Please confirm your payment: your bank asks for it",
	event.SubscriptionMethodChanged: "Your payment method has changed",
}

// OnSubscriptionChanged notifies the user of a change of their plan.
func (s *NotificationService) OnSubscriptionChanged(ctx context.Context, eventID string, e event.SubscriptionChanged) error {
	// Subscriptions of organizations do not concern jobseekers, and users are not notified
	// of changes without a text.
	message, hasText := subscriptionTexts[e.Change]
	if !hasText || e.OwnerKind != "user" {
		return nil
	}

	n := s.newNotification(Notification{
		UserID:  e.OwnerID,
		Cause:   eventID,
		Type:    AboutBilling,
		Message: message,
	})

	return s.notify(ctx, n, Activity{
		UserID: e.OwnerID, EventID: eventID, Type: "billing", Action: e.Change, Description: message, At: e.ChangedAt,
	})
}

// log adds an activity to the user's activity log.
func (s *NotificationService) log(ctx context.Context, a Activity) error {
	return s.Tx.Do(ctx, func(ctx context.Context) error { return s.Activities.Create(ctx, a) })
}

// notify stores a notification and an activity in one transaction.
func (s *NotificationService) notify(ctx context.Context, n Notification, a Activity) error {
	return s.Tx.Do(ctx, func(ctx context.Context) error {
		if err := s.Notifications.Create(ctx, n); err != nil {
			return err
		}

		return s.Activities.Create(ctx, a)
	})
}
