package integrations

import (
	"context"
	"net/url"
	"time"

	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/page"
)

// Programs is what programs can do in the name of accounts. It needs fewer ports
// than Service, so that the module identity can depend on it.
type Programs struct {
	Apps     Apps
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
	var out []Program
	err := p.each(ctx, userID, func(held Program, _ *Endpoint) error {
		out = append(out, held)
		return nil
	})
	return out, err
}

// SignOut revokes the keys, grants and consents of the account, pauses its
// webhooks, and returns them. The applications stay. It runs in the transaction
// of ctx.
func (p Programs) SignOut(ctx context.Context, userID string, now time.Time) ([]Program, error) {
	var out []Program
	err := p.each(ctx, userID, func(held Program, e *Endpoint) error {
		if held.Kind != ProgramApp {
			out = append(out, held)
		}
		if e == nil {
			return nil
		}
		return p.pause(ctx, *e, now)
	})
	if err != nil {
		return nil, err
	}
	if err := p.Apps.DeleteKeys(ctx, userID); err != nil {
		return nil, err
	}
	return out, p.Consents.DeleteOf(ctx, userID)
}

func (p Programs) pause(ctx context.Context, e Endpoint, now time.Time) error {
	e, err := p.Webhooks.Find(ctx, e.OwnerID, e.AppID, e.ID) // locked
	if fault.KindOf(err) == fault.NotFound {
		return nil
	} else if err != nil {
		return err
	}
	if err := p.Webhooks.Abandon(ctx, e.ID, now); err != nil {
		return err
	}
	e.Status, e.UpdatedAt = EndpointPaused, now
	return p.Webhooks.Save(ctx, e)
}

// each calls fn with every program of the account, and with the endpoint of a
// webhook.
func (p Programs) each(ctx context.Context, userID string, fn func(Program, *Endpoint) error) error {
	apps, err := p.Apps.Page(ctx, userID, page.Request{Number: 1, Size: 2 * maxApps})
	if err != nil {
		return err
	}
	for _, app := range apps.Items {
		if err := fn(Program{ProgramApp, app.Name}, nil); err != nil {
			return err
		}
		keys, err := p.Apps.Keys(ctx, userID, app.ID)
		if err != nil {
			return err
		}
		for _, k := range keys {
			if err := fn(Program{ProgramKey, k.Name + " of " + app.Name}, nil); err != nil {
				return err
			}
		}
		endpoints, err := p.Webhooks.List(ctx, userID, app.ID)
		if err != nil {
			return err
		}
		for _, e := range endpoints {
			if e.Status != EndpointActive {
				continue
			}
			if err := fn(Program{ProgramWebhook, hostOf(e.URL) + " of " + app.Name}, &e); err != nil {
				return err
			}
		}
	}
	for r := (page.Request{Number: 1, Size: 100}); ; {
		found, err := p.Consents.Page(ctx, userID, r)
		if err != nil {
			return err
		}
		for _, c := range found.Items {
			if err := fn(Program{ProgramConsent, c.Name}, nil); err != nil {
				return err
			}
		}
		if r.Cursor = found.NextCursor; r.Cursor == "" {
			return nil
		}
	}
}

func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Hostname()
}
