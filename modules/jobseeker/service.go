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
	"github.com/locumhq/locum/core/task"
	"github.com/locumhq/locum/core/tx"
)

// Needs is what the module is plugged into.
type Needs struct {
	Tx            tx.Runner
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
	Alerts        Alerts
	Traces        Traces
	Listings      Listings
	People        People
	Mailer        mail.Mailer
	Sealer        auth.Sealer
	// PublicURL is where the links in mails lead.
	PublicURL string
}

// Service holds the module's use cases.
type Service struct{ Needs }

// New makes the service.
func New(n Needs) *Service { return &Service{n} }

// How long notifications and the log are kept, and how many go at once.
const (
	keptFor      = 180 * 24 * time.Hour
	forgetAtOnce = 5_000
	// matchesKeptFor is how long matches are kept. A listing that is older is
	// matched no more, so that it cannot be a second time.
	matchesKeptFor = 90 * 24 * time.Hour
)

// Periodic is what the module does by the clock.
func (s *Service) Periodic() []task.Periodic {
	return []task.Periodic{
		{Kind: "jobseeker.match-left", Every: time.Minute, Longest: matchWithin, Do: s.match},
		{Kind: "jobseeker.digests", Every: time.Minute, Longest: matchWithin, Do: s.digests},
		{Kind: "jobseeker.deadlines", Every: 15 * time.Minute, Longest: 10 * time.Minute, Do: s.tellDeadlines},
		{Kind: "jobseeker.files-left", Every: 10 * time.Minute, Longest: removeWithin, Do: s.removeFiles},
		{Kind: "jobseeker.forget", Every: time.Hour, Longest: 5 * time.Minute, Do: s.forget},
	}
}

// Handlers do the jobs that the module adds.
func (s *Service) Handlers() []task.Handler {
	return []task.Handler{
		task.Handle(matchKind, task.Maintenance, func(ctx context.Context, _ struct{}) error { return s.match(ctx) }).Taking(matchWithin),
		task.Handle(removeKind, task.Maintenance, func(ctx context.Context, _ struct{}) error { return s.removeFiles(ctx) }).Taking(removeWithin),
		task.Handle(digestKind, task.Mail, s.sendDigest),
	}
}

// forget removes what is older than anybody looks back.
func (s *Service) forget(ctx context.Context) error {
	now := s.Clock.Now()
	var failed []error
	for _, old := range []struct {
		keep   time.Duration
		forget func(context.Context, time.Time, int) (int, error)
	}{{keptFor, s.Notifications.Forget}, {keptFor, s.Activities.Forget}, {matchesKeptFor, s.Alerts.Forget}, {guestFor, s.Onboardings.Forget}} {
		for {
			n, err := old.forget(ctx, now.Add(-old.keep), forgetAtOnce)
			if err != nil {
				failed = append(failed, err)
			}
			if err != nil || n < forgetAtOnce {
				break
			}
		}
	}
	return errors.Join(failed...)
}
