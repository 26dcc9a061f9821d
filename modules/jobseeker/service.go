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

// Shared are the collaborators that all parts of the Service have.
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

// Service implements the use cases of the module, in parts that have the collaborators
// which they need.
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

// lock serializes the transactions that change the data of the user in this module.
func (s *Shared) lock(ctx context.Context, userID string) error {
	_, err := s.Profiles.Get(ctx, userID)
	return err
}

// doLocked runs fn in a transaction that has locked the data of the user.
func (s *Shared) doLocked(ctx context.Context, userID string, fn func(ctx context.Context) error) error {
	return s.Tx.Do(ctx, func(ctx context.Context) error {
		if err := s.lock(ctx, userID); err != nil {
			return err
		}
		return fn(ctx)
	})
}

// canonical returns the id as it is stored, or the error notFound if it is not an id.
// The caller must be a jobseeker.
func canonical(by auth.Actor, s string, notFound error) (string, error) {
	if err := by.RequireSeeker(); err != nil {
		return "", err
	}
	s, ok := id.Canonical(s)
	if !ok {
		return "", notFound
	}
	return s, nil
}

// addActivity adds an action of the caller to their activity log.
func (s *Shared) addActivity(ctx context.Context, by auth.Actor, subject, action, description string) error {
	return s.Activities.Create(ctx, Activity{
		UserID: by.UserID, EventID: s.NewID(), Type: subject, Action: action, Description: description, At: s.Clock.Now(),
	})
}

// settingsJobs is the number of saved jobs in the settings, the newest ones. All of
// them are in a list of their own.
const settingsJobs = 100

// Settings are the profile, the newest saved jobs and the saved searches of a
// jobseeker.
type Settings struct {
	Account
	Saved    []SavedJob
	Searches []Search
}

// MySettings returns the caller's settings.
func (s *Service) MySettings(ctx context.Context, by auth.Actor) (out Settings, err error) {
	if out.Account, err = s.MyProfile(ctx, by); err != nil {
		return out, err
	}
	if out.Number == 0 {
		if out.Number, err = s.assignNumber(ctx, by.UserID); err != nil {
			return out, err
		}
	}
	saved, err := s.MyBookmarks(ctx, by, page.Request{Number: 1, Size: settingsJobs})
	if err != nil {
		return out, err
	}
	out.Saved = saved.Items
	out.Searches, err = s.SearchService.Searches.ListByUser(ctx, by.UserID, MaxSearches)
	return out, err
}

const (
	// notificationsKeptFor is also the lifetime of activities.
	notificationsKeptFor = 180 * 24 * time.Hour
	// matchesKeptFor is the lifetime of matches. Listings older than half of it are
	// not matched, so that none is matched again after its match has expired.
	matchesKeptFor = 90 * 24 * time.Hour
	// expireAtOnce is the maximum number of rows per statement.
	expireAtOnce = 5_000
)

// notice returns a new notification.
func (s *Shared) notice(cause, userID string, about NotificationType, message string) Notification {
	return Notification{ID: s.NewID(), UserID: userID, Cause: cause, Type: about, Message: message, CreatedAt: s.Clock.Now()}
}

// publicBrief returns the summary of a public listing, or ErrListingNotFound: the
// existence of other listings is not disclosed.
func (s *Shared) publicBrief(ctx context.Context, listingID string) (Brief, error) {
	briefs, err := s.Listings.Briefs(ctx, []string{listingID})
	if err == nil && !briefs[listingID].Public {
		err = ErrListingNotFound
	}
	return briefs[listingID], err
}

// title returns the title of a listing for a sentence.
func (s *Shared) title(ctx context.Context, listingID string) (string, error) {
	briefs, err := s.Listings.Briefs(ctx, []string{listingID})
	return titleOf(briefs[listingID]), err
}

// titleOf returns the title on one line, or a phrase for a deleted listing.
func titleOf(b Brief) string { return cmp.Or(oneLine(b.Title), "a listing that is gone") }

// oneLine replaces line breaks, so that input cannot imitate a line of the service.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// isEmpty reports whether the text is empty.
func isEmpty(s string) bool { return s == "" }

// Periodic returns the periodic tasks of the module.
func (s *Service) Periodic() []task.Periodic {
	return []task.Periodic{
		{Kind: "jobseeker.match-left", Every: time.Minute, Do: func(ctx context.Context) error { return s.addMatchTask(ctx, s.Clock.Now()) }},
		{Kind: "jobseeker.digests", Every: time.Minute, Timeout: matchWithin, Do: s.digests},
		{Kind: "jobseeker.deadlines", Every: 15 * time.Minute, Timeout: 10 * time.Minute, Do: s.remindOfDeadlines},
		{Kind: "jobseeker.files-left", Every: 10 * time.Minute, Timeout: removeWithin, Do: s.removeFiles},
		{Kind: "jobseeker.forget", Every: time.Hour, Timeout: 5 * time.Minute, Do: s.expire},
	}
}

// Handlers returns the handlers of the tasks that the module adds.
func (s *Service) Handlers() []task.Handler {
	return []task.Handler{
		task.Handle(matchKind, task.Maintenance, s.match).WithTimeout(matchWithin),
		task.Handle(removeKind, task.Maintenance, func(ctx context.Context, _ struct{}) error { return s.removeFiles(ctx) }).WithTimeout(removeWithin),
		task.Handle(digestKind, task.Mail, s.sendDigest),
		task.Handle(confirmAlertKind, task.Mail, s.sendAlertLink),
	}
}

// expire deletes the rows that have reached the end of their lifetime.
func (s *Service) expire(ctx context.Context) error {
	now := s.Clock.Now()
	var failed []error
	for kind, lifetime := range map[retention.Kind]time.Duration{
		NotificationKind: notificationsKeptFor, ActivityKind: notificationsKeptFor, MatchKind: matchesKeptFor, GuestOnboardingKind: guestFor,
	} {
		failed = append(failed, retention.DeleteAllBefore(ctx, s.Retention, kind, now.Add(-lifetime), expireAtOnce))
	}
	return errors.Join(failed...)
}

// OnAccountDeleted deletes all data of the user. A task deletes the files afterwards.
func (s *Service) OnAccountDeleted(ctx context.Context, e event.AccountDeleted) error {
	return s.Tx.Do(ctx, func(ctx context.Context) error {
		if err := s.PersonalData.DeleteByUser(ctx, e.UserID, s.Clock.Now()); err != nil {
			return err
		}
		return s.Tasks.Add(ctx, task.New(removeKind, task.Maintenance, removeKind+"/"+s.NewID(), struct{}{}))
	})
}
