// Package adapters defines the ports that are wider than one interface: Storage,
// which a storage adapter provides, and Services, which a transport may call.
// Both are structs of interfaces, so that a missing one is reported by name at
// the start.
//
// The other ports (limiter, queue, mailer, …) are interfaces of core and of the
// modules: an adapter for one of them imports that package and nothing else of
// the project.
package adapters

import (
	"context"
	"time"

	"github.com/locumhq/locum/core/audit"
	"github.com/locumhq/locum/core/event"
	"github.com/locumhq/locum/core/idempotency"
	"github.com/locumhq/locum/core/retention"
	"github.com/locumhq/locum/core/task"
	"github.com/locumhq/locum/core/tx"
	"github.com/locumhq/locum/modules/billing"
	"github.com/locumhq/locum/modules/hiring"
	"github.com/locumhq/locum/modules/identity"
	"github.com/locumhq/locum/modules/integrations"
	"github.com/locumhq/locum/modules/jobseeker"
	"github.com/locumhq/locum/modules/listings"
)

// Storage is the storage of all modules, one struct for each of them. No module reads the
// tables of another, so that each may be stored in a separate database.
type Storage struct {
	Identity     IdentityStorage
	Listings     ListingsStorage
	Hiring       HiringStorage
	Jobseeker    JobseekerStorage
	Billing      BillingStorage
	Integrations IntegrationsStorage
}

// Database is the part of a storage that all modules share: transactions, and the rows
// that are written in the same transaction as a change. Modules that are stored in one
// database have equal values.
type Database struct {
	// Tx runs the transactions in which the repositories take part.
	Tx tx.Runner
	// Events and Outbox are the two sides of the transactional outbox.
	Events event.Recorder
	Outbox event.Outbox
	// Tasks stores background work. It is optional for databases that store only billing
	// or listings, whose services add no tasks: the tasks for their events are stored in
	// the database of identity.
	Tasks task.Store `port:"optional"`
	// Audit records entries of the audit log, which is stored in the database of identity.
	// It is nil for other databases: their entries reach the log as events.
	Audit audit.Recorder `port:"optional"`
	// Retention deletes expired rows of the modules and of the ports above. Without
	// it nothing expires.
	Retention retention.Store `port:"optional"`
	// Schema manages tables and indexes. It is nil for databases that need no migrations.
	Schema Schema `port:"optional"`
	// Embedded is set for a database in a local file. A process that starts to serve
	// applies missing migrations to it.
	Embedded bool `port:"optional"`
	// Claim is called before a process serves, but not by commands and workers. For a
	// database that only one process may serve, Claim locks it until Close or the end of
	// the process, and returns an error if another process has the lock.
	Claim func(ctx context.Context) error `port:"optional"`
	// Ping reports within its context whether the database can be used.
	Ping func(ctx context.Context) error
	// Replicas reports read replicas that are not used, because they are unavailable
	// for example. It does not block.
	Replicas func(ctx context.Context) error `port:"optional"`
	// Close closes the connections. It is called once, after everything else.
	Close func() error
}

// IdentityStorage stores accounts, organizations and sign-ins.
type IdentityStorage struct {
	Database
	Users            identity.Users
	Organizations    identity.Organizations
	VerifiedNames    identity.VerifiedNames
	Members          identity.Members
	Sessions         identity.Sessions
	MailTokens       identity.MailTokens
	EmailChanges     identity.EmailChanges
	EmployerSettings identity.EmployerSettingsStore
	OptOuts          identity.OptOuts
	SecondFactors    identity.SecondFactors
	PersonalData     identity.PersonalData
	// Idempotency stores the answers to requests with an Idempotency-Key, of all
	// modules.
	Idempotency idempotency.Store
	AuditLog    audit.Log
}

// ListingsStorage stores listings.
type ListingsStorage struct {
	Database
	Listings listings.Repository
	Public   listings.PublicRepository
	Loader   listings.Loader
	Feed     listings.Feed
	Cases    listings.Cases
	// Views counts views. Without it all numbers are zero.
	Views listings.Views `port:"optional"`
	// Changes returns the number of transactions of this process that have changed
	// listings. A cached response is outdated when the number has changed since.
	Changes func() uint64
}

// HiringStorage stores applications, interviews, messages, notes, ratings and exports.
type HiringStorage struct {
	Database
	Applications hiring.Applications
	Appointments hiring.Appointments
	Messages     hiring.Messages
	Notes        hiring.Notes
	Ratings      hiring.Ratings
	Documents    hiring.Documents
	// Exports stores the state of exports. Without it they are refused with
	// exports_unavailable.
	Exports      hiring.Exports `port:"optional"`
	PersonalData hiring.PersonalData
	Counts       hiring.ApplicationCounts
}

// JobseekerStorage stores profiles, saved jobs and searches, documents and
// notifications.
type JobseekerStorage struct {
	Database
	Profiles      jobseeker.Profiles
	Notifications jobseeker.Notifications
	// Activities stores the activity log of jobseekers. Without it their lists are empty.
	Activities    jobseeker.Activities `port:"optional"`
	Bookmarks     jobseeker.Bookmarks
	Onboardings   jobseeker.Onboardings
	Documents     jobseeker.Documents
	DocumentFiles jobseeker.DocumentFiles
	Dismissals    jobseeker.Dismissals
	Searches      jobseeker.Searches
	Subscribers   jobseeker.Subscribers
	AlertQueue    jobseeker.AlertQueue
	Matches       jobseeker.Matches
	PersonalData  jobseeker.PersonalData
}

// BillingStorage stores subscriptions and charges.
type BillingStorage struct {
	Database
	Subscriptions billing.Subscriptions
	Charges       billing.Charges
}

// IntegrationsStorage stores OAuth apps, API keys and webhooks.
type IntegrationsStorage struct {
	Database
	Apps integrations.Apps
	Keys integrations.Keys
	// Usage counts requests of apps by day. Without it all numbers are zero, and keys
	// have no time of last use.
	Usage      integrations.Usage `port:"optional"`
	Grants     integrations.Grants
	Consents   integrations.Consents
	Webhooks   integrations.Webhooks
	Deliveries integrations.Deliveries
}

// Schema manages the tables of a database.
type Schema interface {
	// Check returns nil if the schema has the version of this binary. Otherwise the error
	// states which of them is older, and the command that resolves this.
	Check(ctx context.Context) error
	// Up applies the missing migrations and returns their names. Several processes
	// may call it at the same time.
	Up(ctx context.Context) ([]string, error)
	// Down reverts the newest migration and returns its name.
	Down(ctx context.Context) (string, error)
	// Status lists the migrations in order.
	Status(ctx context.Context) ([]SchemaStep, error)
}

// SchemaStep is a migration.
type SchemaStep struct {
	// Name is unique in the database, such as "identity/0001_init.sql".
	Name    string
	Applied bool
	// AppliedAt is zero for a migration that is not applied.
	AppliedAt time.Time
}
