package integrations

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/locumhq/locum/core/audit"
	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/id"
)

// EndpointStatus is whether events are sent to an endpoint.
type EndpointStatus string

// The statuses of an endpoint. The service alone disables one.
const (
	EndpointActive   EndpointStatus = "active"
	EndpointPaused   EndpointStatus = "paused"
	EndpointDisabled EndpointStatus = "disabled"
)

// Endpoint is where an application wants to hear of events.
type Endpoint struct {
	ID, AppID, OwnerID string
	URL                string
	Events             []string // of EventTypes
	Status             EndpointStatus
	// Secret signs, and beside it until PreviousUntil the one before. Both are
	// hidden (auth.Vault).
	Secret         string
	PreviousSecret string
	PreviousUntil  *time.Time
	// FailingSince is the first of the failures without a success since, nil
	// without one; WarnedAt is when the owner was told.
	FailingSince *time.Time
	WarnedAt     *time.Time
	// ListeningUntil marks the endpoint of a listener (Listen), which lasts until
	// then unless the listener says more. The service sends nothing there itself.
	ListeningUntil *time.Time
	// Lease names who looks after the endpoint, and LeasedUntil is how long they
	// do without saying more; empty and nil for nobody. Save leaves both alone.
	Lease       string
	LeasedUntil *time.Time
	CreatedAt   time.Time
	UpdatedAt   time.Time
	Version     int64
}

const maxWebhooks = 20

const eventNames = "job.created, job.updated, job.closed, application.submitted, application.status_changed"

// eventTypes are those that were asked for, each once, in the order of the
// catalogue.
func eventTypes(asked []string) ([]string, error) {
	out := slices.DeleteFunc(EventTypes(), func(t string) bool { return !slices.Contains(asked, t) })
	for _, t := range asked {
		if !slices.Contains(out, t) {
			return nil, fault.InvalidField("events", "must be some of: "+eventNames)
		}
	}
	if len(out) == 0 {
		return nil, fault.InvalidField("events", "must name at least one of: "+eventNames)
	}
	return out, nil
}

// WebhookInput is where an application wants to hear of what.
type WebhookInput struct {
	URL    string   `json:"url" validate:"required,max=2048" sample:"https://wardfinder.example.com/hooks/locum"`
	Events []string `json:"events" validate:"required,max=20,dive,max=100" sample:"[\"job.created\",\"job.closed\"]"`
}

// CreateWebhook makes an endpoint of one of the caller's applications and returns
// its secret, which is not shown again. The caller must be confirmed.
func (s *Service) CreateWebhook(ctx context.Context, by auth.Actor, appID string, in WebhookInput) (e Endpoint, secret string, err error) {
	if err := by.RequireConfirmed(s.Clock.Now()); err != nil {
		return e, "", err
	}
	appID, ok := id.Canonical(appID)
	if !ok {
		return e, "", ErrAppNotFound
	}
	url := strings.TrimSpace(in.URL)
	if err := receiver(url, s.PrivateReceivers); err != nil {
		return e, "", err
	}
	types, err := eventTypes(in.Events)
	if err != nil {
		return e, "", err
	}
	now := s.Clock.Now()
	e = Endpoint{ID: s.NewID(), AppID: appID, OwnerID: by.UserID, URL: url, Events: types, Status: EndpointActive, CreatedAt: now, UpdatedAt: now, Version: 1}
	secret = newHookSecret()
	if e.Secret, err = s.Vault.Hide(secret, e.ID); err != nil {
		return e, "", err
	}
	err = s.signedIn(ctx, by, func(ctx context.Context) error {
		if _, err := s.Apps.Find(ctx, by.UserID, appID); err != nil {
			return err
		}
		there, err := s.Webhooks.List(ctx, by.UserID, appID)
		if err != nil {
			return err
		}
		if len(there) >= maxWebhooks {
			return ErrTooManyWebhooks
		}
		if err := s.Webhooks.Add(ctx, e); err != nil {
			return err
		}
		return s.Audit.Record(ctx, audit.By(by, audit.WebhookCreated, e.ID))
	})
	return e, secret, err
}

// MyWebhooks are the endpoints of one of the caller's applications, the newest
// first.
func (s *Service) MyWebhooks(ctx context.Context, by auth.Actor, appID string) ([]Endpoint, error) {
	a, err := s.MyApp(ctx, by, appID)
	if err != nil {
		return nil, err
	}
	return s.Webhooks.List(ctx, by.UserID, a.ID)
}

// WebhookPath names an endpoint of an application.
type WebhookPath struct{ AppID, ID string }

// MyWebhook is one of them.
func (s *Service) MyWebhook(ctx context.Context, by auth.Actor, p WebhookPath) (Endpoint, error) {
	a, err := s.MyApp(ctx, by, p.AppID)
	if err != nil {
		return Endpoint{}, err
	}
	hookID, ok := id.Canonical(p.ID)
	if !ok {
		return Endpoint{}, ErrWebhookNotFound
	}
	return s.Webhooks.Find(ctx, by.UserID, a.ID, hookID)
}

// WebhookChange is what of an endpoint changes; what is nil stays.
type WebhookChange struct {
	URL    *string   `json:"url" validate:"omitempty,max=2048"`
	Events *[]string `json:"events" validate:"omitempty,max=20,dive,max=100"`
	// Status active sends events from now on, also to what was disabled. With
	// paused, what was waiting to be sent fails, and can be replayed.
	Status *string `json:"status" validate:"omitempty,oneof=active paused" sample:"paused"`
}

// ChangeWebhook changes an endpoint of the caller's.
func (s *Service) ChangeWebhook(ctx context.Context, by auth.Actor, p WebhookPath, in WebhookChange) (Endpoint, error) {
	return s.changeWebhook(ctx, by, p, func(ctx context.Context, e *Endpoint, now time.Time) error {
		if in.URL != nil {
			url := strings.TrimSpace(*in.URL)
			if err := receiver(url, s.PrivateReceivers); err != nil {
				return err
			}
			if url != e.URL { // another server, which has not failed
				e.URL, e.FailingSince, e.WarnedAt = url, nil, nil
			}
		}
		if in.Events != nil {
			types, err := eventTypes(*in.Events)
			if err != nil {
				return err
			}
			e.Events = types
		}
		if in.Status == nil || *in.Status == string(e.Status) {
			return nil
		}
		switch EndpointStatus(*in.Status) {
		case EndpointActive:
			e.Status, e.FailingSince, e.WarnedAt = EndpointActive, nil, nil
			return nil
		case EndpointPaused:
			e.Status = EndpointPaused
			return s.Webhooks.Abandon(ctx, e.ID, now)
		}
		return fault.InvalidField("status", "must be one of: active, paused")
	})
}

func (s *Service) changeWebhook(ctx context.Context, by auth.Actor, p WebhookPath, change func(ctx context.Context, e *Endpoint, now time.Time) error) (e Endpoint, err error) {
	err = s.signedIn(ctx, by, func(ctx context.Context) error {
		if e, err = s.MyWebhook(ctx, by, p); err != nil {
			return err
		}
		now := s.Clock.Now()
		if err := change(ctx, &e, now); err != nil {
			return err
		}
		e.UpdatedAt = now
		return s.Webhooks.Save(ctx, e)
	})
	return e, err
}

// DeleteWebhook ends an endpoint of the caller's with its log.
func (s *Service) DeleteWebhook(ctx context.Context, by auth.Actor, p WebhookPath) error {
	a, err := s.MyApp(ctx, by, p.AppID)
	if err != nil {
		return err
	}
	hookID, ok := id.Canonical(p.ID)
	if !ok {
		return ErrWebhookNotFound
	}
	return s.Tx.Do(ctx, func(ctx context.Context) error {
		if err := s.Webhooks.Delete(ctx, by.UserID, a.ID, hookID); err != nil {
			return err
		}
		return s.Audit.Record(ctx, audit.By(by, audit.WebhookDeleted, hookID))
	})
}

// RotateWebhookSecret gives an endpoint a new secret, which is not shown again.
// For a day the one before signs beside it. The caller must be confirmed.
func (s *Service) RotateWebhookSecret(ctx context.Context, by auth.Actor, p WebhookPath) (string, error) {
	if err := by.RequireConfirmed(s.Clock.Now()); err != nil {
		return "", err
	}
	secret := newHookSecret()
	_, err := s.changeWebhook(ctx, by, p, func(ctx context.Context, e *Endpoint, now time.Time) error {
		hidden, err := s.Vault.Hide(secret, e.ID)
		if err != nil {
			return err
		}
		until := now.Add(bothSignFor)
		e.PreviousSecret, e.PreviousUntil, e.Secret = e.Secret, &until, hidden
		return s.Audit.Record(ctx, audit.By(by, audit.WebhookSecretRotated, e.ID))
	})
	return secret, err
}

// secrets are what signs for the endpoint at the moment.
func (s *Service) secrets(e Endpoint, now time.Time) ([]string, error) {
	hidden := []string{e.Secret}
	if e.PreviousUntil != nil && e.PreviousUntil.After(now) {
		hidden = append(hidden, e.PreviousSecret)
	}
	out := make([]string, len(hidden))
	for i, h := range hidden {
		secret, err := s.Vault.Reveal(h, e.ID)
		if err != nil {
			return nil, err
		}
		out[i] = secret
	}
	return out, nil
}
