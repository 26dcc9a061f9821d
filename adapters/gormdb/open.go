package gormdb

import (
	"context"

	"github.com/locumhq/locum/adapters"
)

// Open fills the storage socket from sqlite:PATH or postgres://….
func Open(_ context.Context, url string, d adapters.Deps) (adapters.Storage, error) {
	db, err := OpenDB(url, Options{Clock: d.Clock, NewID: d.NewID, Log: d.Log})
	if err != nil {
		return adapters.Storage{}, err
	}
	return db.Storage(), nil
}

// Storage is the database in the form of the socket.
func (db *DB) Storage() adapters.Storage {
	outbox := Outbox{db}
	return adapters.Storage{
		Tx: db, Events: outbox, Outbox: outbox, Tasks: Tasks{db},
		Users: Users{db}, Organizations: Organizations{db}, Sessions: Sessions{db}, Browsers: Browsers{db}, MailTokens: MailTokens{db}, EmailChanges: EmailChanges{db}, EmailUndos: EmailUndos{db}, EmployerSettings: EmployerSettings{db}, OptOuts: OptOuts{db}, SecondFactors: SecondFactors{db},
		Applications: Applications{db}, Appointments: Appointments{db}, Letters: Letters{db}, Exports: Exports{db},
		Profiles: Profiles{db}, Bookmarks: Bookmarks{db}, Onboardings: Onboardings{db}, Dismissals: Dismissals{db},
		Documents: Documents{db}, DocumentFiles: DocumentFiles{db},
		Notifications: Notifications{db}, Activities: Activities{db}, Searches: SavedSearches{db}, Alerts: Alerts{db}, SeekerTraces: Traces{db},
		Listings: Listings{db}, ListingLoader: Listings{db}, ListingFeed: Feed{db}, ListingViews: Views{db},
		Subscriptions: Subscriptions{db}, Charges: Charges{db},
		Apps: Apps{db}, Usage: Usage{db}, Grants: Grants{db}, Consents: Consents{db}, Webhooks: Webhooks{db},
		Audit: Audit{db}, AuditLog: Audit{db},
		Idempotency: Idempotency{db}, ListingChanges: db.listingChanges.Load,
		Schema: Schema{db}, Claim: db.Claim, Ping: db.Ping, Close: db.Close,
	}
}
