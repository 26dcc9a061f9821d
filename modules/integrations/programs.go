package integrations

import (
	"context"
	"net/url"
	"slices"
	"time"

	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/core/tx"
)

// Programs lists and revokes the access of programs to accounts. It needs fewer ports than
// Service, so that it can be created before Service and be passed to the module identity.
type Programs struct {
	Tx       tx.Runner
	Apps     Apps
	Keys     Keys
	Webhooks Webhooks
	Consents Consents
}

// ProgramKind is the kind of a Program.
type ProgramKind string

// The kinds of programs.
const (
	ProgramApp     ProgramKind = "Application"
	ProgramKey     ProgramKind = "API key"
	ProgramWebhook ProgramKind = "Webhook"
	ProgramConsent ProgramKind = "Access by"
)

// Program is one way in which software acts for an account or receives its data.
type Program struct {
	Kind ProgramKind
	// Name is the name of the application or key, or the host of a webhook.
	Name string
}

// List returns the applications, keys, active webhooks and consents of the
// account.
func (p Programs) List(ctx context.Context, userID string) ([]Program, error) {
	programs, _, err := p.list(ctx, userID)
	return programs, err
}

// SignOut revokes the keys, grants and consents of the account and pauses its webhooks. It
// returns what it has revoked and paused. The applications remain. If ctx has a transaction
// of the same database, SignOut is part of the transaction.
func (p Programs) SignOut(ctx context.Context, userID string, now time.Time) (revoked []Program, err error) {
	err = p.Tx.Do(ctx, func(ctx context.Context) error {
		if revoked, _, err = p.list(ctx, userID); err != nil {
			return err
		}

		revoked = slices.DeleteFunc(revoked, func(program Program) bool { return program.Kind == ProgramApp })

		return p.revoke(ctx, userID, time.Time{}, now)
	})

	return revoked, err
}

// revoke revokes the keys, grants (authorizations of applications) and consents of the account that
// were created earlier than the time before. It pauses active webhooks that were last changed
// earlier than that time. If before is zero, it revokes and pauses all. Repeated calls have no
// further effect.
func (p Programs) revoke(ctx context.Context, userID string, before, now time.Time) error {
	return p.Tx.Do(ctx, func(ctx context.Context) error {
		if _, err := p.Keys.Delete(ctx, userID, KeyFilter{CreatedBefore: before}); err != nil {
			return err
		}

		if _, err := p.Consents.Delete(ctx, userID, ConsentFilter{Before: before}); err != nil {
			return err
		}

		_, active, err := p.list(ctx, userID)
		if err != nil {
			return err
		}

		for _, e := range active {
			if err := p.pause(ctx, e, before, now); err != nil {
				return err
			}
		}

		return nil
	})
}

// pause pauses an active endpoint if it was last changed earlier than before, or if before
// is zero.
func (p Programs) pause(ctx context.Context, e Endpoint, before, now time.Time) error {
	e, err := p.Webhooks.Get(ctx, e.OwnerID, e.ID) // locks the row, which may have changed
	if err != nil {
		return fault.IfNotFound(err, nil)
	}

	isSelected := before.IsZero() || e.UpdatedAt.Before(before)
	if e.Status != EndpointActive || !isSelected {
		return nil
	}

	e.Status, e.UpdatedAt = EndpointPaused, now

	return p.Webhooks.Upsert(ctx, e)
}

// allApps is a page that contains all applications of an account. Its size is twice the limit,
// as a margin.
var allApps = page.After("", 2*maxApps)

// list returns the programs of the account, and its active endpoints.
func (p Programs) list(ctx context.Context, userID string) (programs []Program, active []Endpoint, err error) {
	apps, err := p.Apps.List(ctx, AppFilter{OwnerID: userID}, allApps)
	if err != nil {
		return nil, nil, err
	}

	for _, app := range apps.Items {
		keys, err := p.Keys.List(ctx, userID, app.ID)
		if err != nil {
			return nil, nil, err
		}

		endpoints, err := listEndpoints(ctx, p.Webhooks, userID, app.ID)
		if err != nil {
			return nil, nil, err
		}

		programs = append(programs, Program{Kind: ProgramApp, Name: app.Name})
		for _, k := range keys {
			programs = append(programs, Program{Kind: ProgramKey, Name: k.Name + " of " + app.Name})
		}

		for _, e := range endpoints {
			if e.Status == EndpointActive {
				programs = append(programs, Program{Kind: ProgramWebhook, Name: hostOf(e.URL) + " of " + app.Name})
				active = append(active, e)
			}
		}
	}

	const everyApp = ""
	for r := page.After("", consentsPerPage); ; {
		consents, err := p.Consents.List(ctx, []string{userID}, everyApp, r)
		if err != nil {
			return nil, nil, err
		}

		for _, c := range consents.Items {
			programs = append(programs, Program{Kind: ProgramConsent, Name: c.Name})
		}

		r.Cursor = consents.NextCursor
		if r.Cursor == "" {
			return programs, active, nil
		}
	}
}

// consentsPerPage is the number of consents that are read at once.
const consentsPerPage = 100

// listEndpoints returns all endpoints of the owner's application, the newest first. An
// application has at most maxWebhooks. The page is larger, as a margin.
func listEndpoints(ctx context.Context, w Webhooks, ownerID, appID string) ([]Endpoint, error) {
	const fromFirst = ""

	endpoints, err := w.List(ctx, ownerID, EndpointFilter{AppID: appID}, fromFirst, 5*maxWebhooks)
	slices.Reverse(endpoints) // List returns the oldest first

	return endpoints, err
}

// hostOf returns the host of a URL, for display.
func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}

	return u.Hostname()
}
