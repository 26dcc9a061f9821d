// Package adapters holds the two wide sockets of the service. Storage is what
// a database adapter fills; Services is what a transport may call. Both are
// plain structs, so a port that nobody filled is found by name at the start.
//
// The narrow sockets (limiter, mailer, …) are the ports themselves: an adapter
// for one of them imports that package of core and nothing else of the house.
package adapters

import (
	"context"
	"fmt"
	"log/slog"
	"reflect"
	"strings"

	"github.com/locumhq/locum/core/audit"
	"github.com/locumhq/locum/core/clock"
	"github.com/locumhq/locum/core/event"
	"github.com/locumhq/locum/core/id"
	"github.com/locumhq/locum/core/idempotency"
	"github.com/locumhq/locum/core/limit"
	"github.com/locumhq/locum/core/task"
	"github.com/locumhq/locum/core/tx"
	"github.com/locumhq/locum/modules/billing"
	"github.com/locumhq/locum/modules/hiring"
	"github.com/locumhq/locum/modules/identity"
	"github.com/locumhq/locum/modules/integrations"
	"github.com/locumhq/locum/modules/jobseeker"
	"github.com/locumhq/locum/modules/listings"
)

// Deps are what every adapter is opened with.
type Deps struct {
	Clock clock.Clock
	NewID id.Source
	Log   *slog.Logger
}

// Storage is everything that the modules keep. One adapter fills all of it,
// because one transaction may span all of it.
type Storage struct {
	Tx     tx.Runner
	Events event.Recorder
	Outbox event.Outbox
	Tasks  task.Store

	Users            identity.Users
	Organizations    identity.Organizations
	Sessions         identity.Sessions
	Browsers         identity.Browsers
	MailTokens       identity.MailTokens
	EmailChanges     identity.EmailChanges
	EmailUndos       identity.EmailUndos
	EmployerSettings identity.EmployerSettingsStore
	OptOuts          identity.OptOuts
	SecondFactors    identity.SecondFactors

	Listings      listings.Repository
	ListingLoader listings.Loader
	ListingFeed   listings.Feed
	ListingViews  listings.Views
	Applications  hiring.Applications
	Appointments  hiring.Appointments
	Letters       hiring.Letters
	Exports       hiring.Exports

	Profiles      jobseeker.Profiles
	Notifications jobseeker.Notifications
	Activities    jobseeker.Activities
	Bookmarks     jobseeker.Bookmarks
	Onboardings   jobseeker.Onboardings
	Documents     jobseeker.Documents
	DocumentFiles jobseeker.DocumentFiles
	Dismissals    jobseeker.Dismissals
	Searches      jobseeker.Searches
	Alerts        jobseeker.Alerts
	SeekerTraces  jobseeker.Traces

	Subscriptions billing.Subscriptions
	Charges       billing.Charges

	Apps     integrations.Apps
	Usage    integrations.Usage
	Grants   integrations.Grants
	Consents integrations.Consents
	Webhooks integrations.Webhooks

	Idempotency idempotency.Store

	Audit    audit.Recorder
	AuditLog audit.Log

	// ListingChanges counts the transactions of this process that have changed
	// listings, so that what was read before the newest of them is known to be
	// old.
	ListingChanges func() uint64

	Schema Schema
	// Claim is called before a process serves: a store that one process at a time
	// may serve is that process' until Close or its end, and otherwise this is an
	// error. It says nothing about operators' commands and workers.
	Claim func(ctx context.Context) error
	// Ping answers within its context whether the store can be used.
	Ping func(ctx context.Context) error
	// Close ends the connections; it is called once, after everything else.
	Close func() error
}

// Schema is how operators manage the store's schema.
type Schema interface {
	// Check is nil if the schema fits this binary; otherwise the error says
	// which of the two is behind and what to do.
	Check(ctx context.Context) error
	// Up applies what is missing and names it. Several starters may race.
	Up(ctx context.Context) ([]string, error)
	// Down takes the newest step back and names it.
	Down(ctx context.Context) (string, error)
	// Status lists the steps in order.
	Status(ctx context.Context) ([]SchemaStep, error)
	// Embedded says that the store belongs to this one process, which then
	// migrates by itself when it starts to serve.
	Embedded() bool
}

// SchemaStep is one numbered change of the schema.
type SchemaStep struct {
	Version int64
	Name    string
	Applied bool
}

// Services is what a transport may call.
type Services struct {
	Identity     *identity.Service
	Listings     *listings.Service
	Hiring       *hiring.Service
	Seekers      *jobseeker.Service
	Billing      *billing.Service
	Integrations *integrations.Service
	Limiter      limit.Limiter
	// Idempotency carries out requests with a client's key at most once.
	Idempotency *idempotency.Runner
	// ListingChanges is Storage's.
	ListingChanges func() uint64
	// JWKS is the key set that verifies access tokens (RFC 7517).
	JWKS func() []byte
	// Health reports on each adapter by name.
	Health func(ctx context.Context) map[string]Health
}

// Health is the state of an adapter. Err is nil for one that works.
type Health struct {
	Err error
	// Degraded is set if the service does its work without the adapter, or all
	// but a part of it.
	Degraded bool
}

// Unfilled names the fields of a socket that nobody filled.
func Unfilled(socket any) error {
	v := reflect.ValueOf(socket)
	var missing []string
	for i := range v.NumField() {
		if f := v.Field(i); f.IsZero() {
			missing = append(missing, v.Type().Field(i).Name)
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("%s is without %s", v.Type().Name(), strings.Join(missing, ", "))
	}
	return nil
}
