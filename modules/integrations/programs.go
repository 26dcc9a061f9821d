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

// Programs lists and revokes the access of programs to accounts. It needs fewer
// ports than Service, so that the module identity can depend on it.
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

// Program is one means by which a program acts for an account or receives its
// data.
type Program struct {
	Kind ProgramKind
	// Name is the name of the application or the key, or the host that a webhook
	// sends to.
	Name string
}

// List returns the applications, keys, active webhooks and consents of the
// account.
func (p Programs) List(ctx context.Context, userID string) ([]Program, error) {
	programs, _, err := p.list(ctx, userID)
	return programs, err
}

// SignOut revokes the keys, grants and consents of the account, pauses its
// webhooks, and returns them. The applications remain. If ctx carries a transaction
// of the same database, SignOut is a part of it.
func (p Programs) SignOut(ctx context.Context, userID string, now time.Time) (out []Program, err error) {
	err = p.Tx.Do(ctx, func(ctx context.Context) error {
		if out, _, err = p.list(ctx, userID); err != nil {
			return err
		}
		out = slices.DeleteFunc(out, func(held Program) bool { return held.Kind == ProgramApp })
		return p.revoke(ctx, userID, time.Time{}, now)
	})
	return out, err
}

// revoke revokes the keys, grants and consents of the account that were created before
// the time, and pauses the webhooks that were active and have not been changed since. A
// zero time selects all. Repeated calls have no further effect.
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

// pause pauses an active endpoint, unless it was changed at the time before or
// later; a zero time is ignored.
func (p Programs) pause(ctx context.Context, e Endpoint, before, now time.Time) error {
	e, err := p.Webhooks.Get(ctx, e.OwnerID, e.ID) // locked
	if err != nil || e.Status != EndpointActive || !before.IsZero() && !e.UpdatedAt.Before(before) {
		return fault.IfNotFound(err, nil)
	}
	e.Status, e.UpdatedAt = EndpointPaused, now
	return p.Webhooks.Upsert(ctx, e)
}

// list returns the programs of the account, and the active endpoints among them.
func (p Programs) list(ctx context.Context, userID string) (out []Program, active []Endpoint, err error) {
	apps, err := p.Apps.List(ctx, AppFilter{OwnerID: userID}, page.After("", 2*maxApps))
	if err != nil {
		return nil, nil, err
	}
	for _, app := range apps.Items {
		keys, err := p.Keys.List(ctx, userID, app.ID)
		if err != nil {
			return nil, nil, err
		}
		endpoints, err := endpointsOf(ctx, p.Webhooks, userID, app.ID)
		if err != nil {
			return nil, nil, err
		}
		out = append(out, Program{ProgramApp, app.Name})
		for _, k := range keys {
			out = append(out, Program{ProgramKey, k.Name + " of " + app.Name})
		}
		for _, e := range endpoints {
			if e.Status == EndpointActive {
				out, active = append(out, Program{ProgramWebhook, hostOf(e.URL) + " of " + app.Name}), append(active, e)
			}
		}
	}
	for r := page.After("", 100); ; {
		found, err := p.Consents.List(ctx, []string{userID}, "", r)
		if err != nil {
			return nil, nil, err
		}
		for _, c := range found.Items {
			out = append(out, Program{ProgramConsent, c.Name})
		}
		if r.Cursor = found.NextCursor; r.Cursor == "" {
			return out, active, nil
		}
	}
}

// endpointsOf returns the endpoints of the owner's application, the newest first.
// Their number is bounded by maxWebhooks.
func endpointsOf(ctx context.Context, w Webhooks, ownerID, appID string) ([]Endpoint, error) {
	all, err := w.List(ctx, ownerID, EndpointFilter{AppID: appID}, "", 5*maxWebhooks)
	slices.Reverse(all)
	return all, err
}

func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Hostname()
}
