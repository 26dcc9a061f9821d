package gormdb

import (
	"context"
	"errors"
	"strings"

	"github.com/locumhq/locum/adapters"
)

// dialects are the built-in dialects by scheme.
var dialects = map[string]Dialect{"sqlite": SQLite{}, "postgres": Postgres{}, "postgresql": Postgres{}, "mysql": MySQL{}}

// Open opens a storage for sqlite:PATH, postgres://… or mysql://….
func Open(_ context.Context, url string, d adapters.Deps) (adapters.Storage, error) {
	scheme, _, _ := strings.Cut(url, ":")
	dialect, ok := dialects[scheme]
	if !ok {
		return adapters.Storage{}, errors.New("want sqlite:PATH, postgres://USER:PASSWORD@HOST/NAME or mysql://USER:PASSWORD@HOST/NAME")
	}
	return OpenDialect(dialect, url, d)
}

// OpenDialect opens a storage in a database with the dialect.
func OpenDialect(dialect Dialect, url string, d adapters.Deps) (adapters.Storage, error) {
	db, err := OpenDB(dialect, url, Options{
		Clock: d.Clock, NewID: d.NewID, Log: d.Log, Modules: d.Modules,
		MaxConnections: d.Database.MaxConnections, TransactionPooler: d.Database.TransactionPooler, DirectURL: d.Database.DirectURL,
		ReplicaURLs: d.Database.ReplicaURLs, Migrations: d.Database.Migrations, Metrics: d.Metrics,
	})
	if err != nil {
		return adapters.Storage{}, err
	}
	return db.Storage(), nil
}

// Storage returns the repositories of all modules.
func (db *DB) Storage() adapters.Storage {
	outbox := Outbox{db}
	database := adapters.Database{
		Tx: db, Events: outbox, Outbox: outbox, Tasks: Tasks{db}, Retention: Retention{db},
		Schema: Schema{db}, Embedded: db.dialect.Embedded(), Claim: db.Claim, Ping: db.Ping, Close: db.Close,
	}
	if db.replicas != nil {
		database.Replicas = db.replicas.problems
	}
	if db.stores("identity") {
		database.Audit = Audit{db}
	}
	return adapters.Storage{
		Identity: adapters.IdentityStorage{
			Database: database,
			Users:    Users{db}, Organizations: Organizations{db}, Members: Members{db}, Sessions: Sessions{db}, MailTokens: MailTokens{db},
			EmailChanges: EmailChanges{db}, EmployerSettings: EmployerSettings{db}, OptOuts: OptOuts{db}, SecondFactors: SecondFactors{db},
			PersonalData: PersonalData{db}, Idempotency: Idempotency{db}, AuditLog: Audit{db},
		},
		Listings: adapters.ListingsStorage{
			Database: database,
			Listings: Listings{db}, Public: Listings{db}, Loader: Listings{db}, Feed: Feed{db}, Views: Views{db}, Changes: db.listingChanges.Load,
		},
		Hiring: adapters.HiringStorage{
			Database:     database,
			Applications: Applications{db}, Appointments: Appointments{db}, Messages: ApplicantMessages{db}, Exports: Exports{db}, PersonalData: ApplicantPersonalData{db}, Counts: Applications{db},
		},
		Jobseeker: adapters.JobseekerStorage{
			Database: database,
			Profiles: Profiles{db}, Notifications: Notifications{db}, Activities: Activities{db}, Bookmarks: Bookmarks{db}, Onboardings: Onboardings{db},
			Documents: Documents{db}, DocumentFiles: DocumentFiles{db}, Dismissals: Dismissals{db}, Searches: SavedSearches{db}, AlertQueue: AlertQueue{db}, Matches: Matches{db},
			PersonalData: SeekerPersonalData{db},
		},
		Billing: adapters.BillingStorage{Database: database, Subscriptions: Subscriptions{db}, Charges: Charges{db}},
		Integrations: adapters.IntegrationsStorage{
			Database: database,
			Apps:     Apps{db}, Keys: Keys{db}, Usage: Usage{db}, Grants: Grants{db}, Consents: Consents{db}, Webhooks: Webhooks{db}, Deliveries: Deliveries{db},
		},
	}
}
