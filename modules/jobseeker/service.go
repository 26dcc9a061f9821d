package jobseeker

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/clock"
	"github.com/locumhq/locum/core/event"
	"github.com/locumhq/locum/core/id"
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/core/retention"
	"github.com/locumhq/locum/core/task"
	"github.com/locumhq/locum/core/tx"
)

// Shared contains the collaborators that all parts of the Service use.
type Shared struct {
	Tx            tx.Runner
	Clock         clock.Clock
	NewID         id.Source
	Tasks         task.Adder
	Profiles      Profiles
	Notifications Notifications
	Activities    Activities
	Listings      Listings
}

// Service implements the use cases of the module. It consists of one service per subject,
// each with its own collaborators.
type Service struct {
	*Shared
	*NotificationService
	*DocumentService
	*BookmarkService
	*ProfileService
	*SearchService
	*OnboardingService
	*DashboardService
	Retention    retention.Store
	PersonalData PersonalData
}

// lock locks the user's profile until the end of the transaction, because Profiles.Get does
// that inside a transaction. The lock serializes all transactions that change the user's
// data in this module.
func (s *Shared) lock(ctx context.Context, userID string) error {
	_, err := s.Profiles.Get(ctx, userID)
	return err
}

// doLocked runs fn in a transaction that has locked the user's data.
func (s *Shared) doLocked(ctx context.Context, userID string, fn func(ctx context.Context) error) error {
	return s.Tx.Do(ctx, func(ctx context.Context) error {
		if err := s.lock(ctx, userID); err != nil {
			return err
		}

		return fn(ctx)
	})
}

// requireSeekerAndID returns an error if the caller is not a jobseeker, and errNotFound if the
// text is not an id. Otherwise it returns the id in the form in which ids are stored.
func requireSeekerAndID(by auth.Actor, text string, errNotFound error) (canonicalID string, err error) {
	if err := by.RequireSeeker(); err != nil {
		return "", err
	}

	canonical, ok := id.Canonical(text)
	if !ok {
		return "", errNotFound
	}

	return canonical, nil
}

// addActivity adds an action of the caller to their activity log.
func (s *Shared) addActivity(ctx context.Context, by auth.Actor, subject, action, description string) error {
	return s.Activities.Create(ctx, Activity{
		UserID:      by.UserID,
		EventID:     s.NewID(),
		Type:        subject,
		Action:      action,
		Description: description,
		At:          s.Clock.Now(),
	})
}

// maxSettingsJobs is the maximum number of saved jobs in the settings. MyBookmarks lists
// all of them.
const maxSettingsJobs = 100

// Settings are the profile, the newest saved jobs and the saved searches of a
// jobseeker.
type Settings struct {
	Account
	Saved    []SavedJob
	Searches []Search
}

// MySettings returns the caller's settings.
func (s *Service) MySettings(ctx context.Context, by auth.Actor) (settings Settings, err error) {
	if settings.Account, err = s.MyProfile(ctx, by); err != nil {
		return settings, err
	}

	if settings.Number == 0 { // the profile is not stored yet
		if settings.Number, err = s.assignNumber(ctx, by.UserID); err != nil {
			return settings, err
		}
	}

	saved, err := s.MyBookmarks(ctx, by, page.Request{Number: 1, Size: maxSettingsJobs})
	if err != nil {
		return settings, err
	}

	settings.Saved = saved.Items
	settings.Searches, err = s.SearchService.Searches.ListByUser(ctx, by.UserID, MaxSearches)

	return settings, err
}

const (
	// notificationLifetime is also the lifetime of activities.
	notificationLifetime = 180 * 24 * time.Hour
	// matchLifetime is the lifetime of matches. Listings older than half of this time are
	// not matched, so that no listing is matched a second time after its first match has
	// expired.
	matchLifetime = 90 * 24 * time.Hour
	// expireBatchSize is the maximum number of rows per statement.
	expireBatchSize = 5_000
)

// newNotification returns the notification with a new id and the current time.
func (s *Shared) newNotification(n Notification) Notification {
	n.ID, n.CreatedAt = s.NewID(), s.Clock.Now()
	return n
}

// publicBrief returns the summary of a public listing. For other listings it returns
// ErrListingNotFound, so that their existence is not disclosed.
func (s *Shared) publicBrief(ctx context.Context, listingID string) (Brief, error) {
	briefs, err := s.Listings.ListBriefs(ctx, []string{listingID})
	if err == nil && !briefs[listingID].Public {
		err = ErrListingNotFound
	}

	return briefs[listingID], err
}

// listingTitle returns the title of a listing for use in a message.
func (s *Shared) listingTitle(ctx context.Context, listingID string) (string, error) {
	briefs, err := s.Listings.ListBriefs(ctx, []string{listingID})
	return titleOrPlaceholder(briefs[listingID]), err
}

// titleOrPlaceholder returns the title on one line, or a placeholder for a deleted listing.
func titleOrPlaceholder(b Brief) string { return cmp.Or(oneLine(b.Title), "a listing that is gone") }

// oneLine replaces line breaks by spaces, so that user input cannot add lines to an e-mail
// or a notification that look like text of the service.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// isEmpty reports whether the text is empty.
func isEmpty(s string) bool { return s == "" }

// Periodic returns the periodic tasks of the module. Matching and the deletion of files
// usually run as tasks that an event or a request has added. The periodic tasks process what
// these have left, for example after a failure.
func (s *Service) Periodic() []task.Periodic {
	return []task.Periodic{
		{
			Kind:  "jobseeker.match-left",
			Every: time.Minute,
			Do:    func(ctx context.Context) error { return s.addMatchTask(ctx, s.Clock.Now()) },
		},
		{Kind: "jobseeker.digests", Every: time.Minute, Timeout: matchTimeout, Do: s.createDigests},
		{Kind: "jobseeker.deadlines", Every: 15 * time.Minute, Timeout: 10 * time.Minute, Do: s.remindOfDeadlines},
		{Kind: "jobseeker.files-left", Every: 10 * time.Minute, Timeout: removeFilesTimeout, Do: s.removeFiles},
		{Kind: "jobseeker.forget", Every: time.Hour, Timeout: 5 * time.Minute, Do: s.expire},
	}
}

// Handlers returns the handlers of the tasks that the module adds.
func (s *Service) Handlers() []task.Handler {
	return []task.Handler{
		task.Handle(matchTaskKind, task.Maintenance, s.processAlertQueue).WithTimeout(matchTimeout),
		task.Handle(removeFilesTaskKind, task.Maintenance, func(ctx context.Context, _ struct{}) error { return s.removeFiles(ctx) }).
			WithTimeout(removeFilesTimeout),
		task.Handle(digestTaskKind, task.Mail, s.sendDigest),
		task.Handle(confirmAlertTaskKind, task.Mail, s.sendConfirmationLink),
	}
}

// expire deletes the rows that have reached the end of their lifetime. A failure for one
// kind of rows does not prevent the deletion of the others.
func (s *Service) expire(ctx context.Context) error {
	now := s.Clock.Now()

	var errs []error
	for kind, lifetime := range map[retention.Kind]time.Duration{
		NotificationKind:    notificationLifetime,
		ActivityKind:        notificationLifetime,
		MatchKind:           matchLifetime,
		GuestOnboardingKind: guestOnboardingLifetime,
	} {
		errs = append(errs, retention.DeleteAllBefore(ctx, s.Retention, kind, now.Add(-lifetime), expireBatchSize))
	}

	return errors.Join(errs...)
}

// OnAccountDeleted deletes all data of the user. A task deletes the files afterwards.
func (s *Service) OnAccountDeleted(ctx context.Context, e event.AccountDeleted) error {
	return s.Tx.Do(ctx, func(ctx context.Context) error {
		if err := s.PersonalData.DeleteByUser(ctx, e.UserID, s.Clock.Now()); err != nil {
			return err
		}

		return s.Tasks.Add(ctx, task.New(removeFilesTaskKind, task.Maintenance, removeFilesTaskKind+"/"+s.NewID(), struct{}{}))
	})
}
