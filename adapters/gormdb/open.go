package gormdb

import (
	"context"
	"errors"
	"strings"

	"github.com/locumhq/locum/adapters"
)

// dialects maps the schemes of URLs to the built-in dialects.
var dialects = map[string]Dialect{
	"sqlite":     SQLite{},
	"postgres":   Postgres{},
	"postgresql": Postgres{},
	"mysql":      MySQL{},
}

// Open opens a storage in the database with the URL. The scheme of the URL selects the dialect, which is how
// the database is used: sqlite:PATH, postgres://… or mysql://….
func Open(_ context.Context, url string, deps adapters.Deps) (adapters.Storage, error) {
	scheme, _, _ := strings.Cut(url, ":")

	dialect, isKnown := dialects[scheme]
	if !isKnown {
		return adapters.Storage{}, errors.New("want sqlite:PATH, postgres://USER:PASSWORD@HOST/NAME or mysql://USER:PASSWORD@HOST/NAME")
	}

	return OpenDialect(dialect, url, deps)
}

// OpenDialect opens a storage in the database with the URL. It is for programs with a dialect of their own.
// For the built-in dialects, call Open.
func OpenDialect(dialect Dialect, url string, deps adapters.Deps) (adapters.Storage, error) {
	db, err := OpenDB(dialect, url, deps)
	if err != nil {
		return adapters.Storage{}, err
	}

	return db.Storage(), nil
}

// Storage returns the repositories of all modules. A repository is a struct that embeds the DB, for example
// users{db}. All modules get the same adapters.Database, which has the transactions, tasks and events that
// they share.
func (db *DB) Storage() adapters.Storage {
	database := adapters.Database{
		Tx:        db,
		Events:    outbox{db},
		Outbox:    outbox{db},
		Tasks:     tasks{db},
		Retention: expiries{db},
		Schema:    schemas{db},
		Embedded:  db.dialect.Embedded(),
		Claim:     db.Claim,
		Ping:      db.Ping,
		Close:     db.Close,
	}
	// Without read replicas, Replicas stays nil, and nothing is reported about them.
	if db.replicas != nil {
		database.Replicas = db.replicas.problems
	}

	// The audit log is a table of module identity. Modules in a database without this table have no recorder.
	// Their entries reach the log as events.
	if db.storesModule("identity") {
		database.Audit = auditLog{db}
	}

	return adapters.Storage{
		Identity: adapters.IdentityStorage{
			Database:         database,
			Users:            users{db},
			Organizations:    organizations{db},
			VerifiedNames:    verifiedNames{db},
			Members:          members{db},
			Sessions:         sessions{db},
			MailTokens:       mailTokens{db},
			EmailChanges:     emailChanges{db},
			EmployerSettings: employerSettings{db},
			OptOuts:          optOuts{db},
			SecondFactors:    secondFactors{db},
			PersonalData:     personalData{db},
			Idempotency:      idempotencyKeys{db},
			AuditLog:         auditLog{db},
		},
		Listings: adapters.ListingsStorage{
			Database: database,
			Listings: listingRepository{db},
			Public:   listingRepository{db},
			Loader:   listingRepository{db},
			Feed:     feed{db},
			Cases:    cases{db},
			Views:    views{db},
			Changes:  db.listingChanges.Load,
		},
		Hiring: adapters.HiringStorage{
			Database:     database,
			Applications: applications{db},
			Appointments: appointments{db},
			Messages:     applicantMessages{db},
			Notes:        applicationNotes{db},
			Ratings:      applicationRatings{db},
			Documents:    applicationDocuments{db},
			Exports:      exports{db},
			PersonalData: applicantData{db},
			Counts:       applications{db},
		},
		Jobseeker: adapters.JobseekerStorage{
			Database:      database,
			Profiles:      profiles{db},
			Notifications: notifications{db},
			Activities:    activities{db},
			Bookmarks:     bookmarks{db},
			Onboardings:   onboardings{db},
			Documents:     documents{db},
			DocumentFiles: documentFiles{db},
			Dismissals:    dismissals{db},
			Searches:      savedSearches{db},
			Subscribers:   subscribers{db},
			AlertQueue:    alertQueue{db},
			Matches:       matches{db},
			PersonalData:  seekerData{db},
		},
		Billing: adapters.BillingStorage{Database: database, Subscriptions: subscriptions{db}, Charges: charges{db}},
		Integrations: adapters.IntegrationsStorage{
			Database:   database,
			Apps:       apps{db},
			Keys:       keys{db},
			Usage:      usage{db},
			Grants:     grants{db},
			Consents:   consents{db},
			Webhooks:   webhooks{db},
			Deliveries: deliveries{db},
		},
	}
}
