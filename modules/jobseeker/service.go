package jobseeker

import (
	"context"
	"errors"
	"time"

	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/clock"
	"github.com/locumhq/locum/core/files"
	"github.com/locumhq/locum/core/id"
	"github.com/locumhq/locum/core/mail"
	"github.com/locumhq/locum/core/retention"
	"github.com/locumhq/locum/core/task"
	"github.com/locumhq/locum/core/tx"
)

// Deps are the collaborators and settings of the Service.
type Deps struct {
	Tx            tx.Runner
	Retention     retention.Store
	Clock         clock.Clock
	NewID         id.Source
	Tasks         task.Adder
	Profiles      Profiles
	Accounts      Accounts
	Notifications Notifications
	Activities    Activities
	Bookmarks     Bookmarks
	Onboardings   Onboardings
	Documents     Documents
	DocumentFiles DocumentFiles
	FileTypes     FileTypes
	Files         files.Store
	Applied       Applied
	Dismissals    Dismissals
	Plans         Plans
	Searches      Searches
	AlertQueue    AlertQueue
	Matches       Matches
	PersonalData  PersonalData
	Listings      Listings
	People        People
	Mailer        mail.Mailer
	Sealer        auth.Sealer
	// PublicURL is the base of the links in mails.
	PublicURL string
}

// Service implements the use cases of the module.
type Service struct{ Deps }

// New returns a Service.
func New(d Deps) *Service { return &Service{d} }

// lock serializes the transactions that change the data of the user in this module.
func (s *Service) lock(ctx context.Context, userID string) error {
	_, err := s.Profiles.Get(ctx, userID)
	return err
}

// doLocked runs fn in a transaction that has locked the data of the user.
func (s *Service) doLocked(ctx context.Context, userID string, fn func(ctx context.Context) error) error {
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
func (s *Service) addActivity(ctx context.Context, by auth.Actor, subject, action, description string) error {
	return s.Activities.Create(ctx, Activity{
		UserID: by.UserID, EventID: s.NewID(), Type: subject, Action: action, Description: description, At: s.Clock.Now(),
	})
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
