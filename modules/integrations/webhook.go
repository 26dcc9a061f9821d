package integrations

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/locumhq/locum/core/audit"
	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/id"
	"github.com/locumhq/locum/core/valid"
)

// EndpointStatus determines whether events are sent to an endpoint.
type EndpointStatus string

// The statuses of an endpoint. Only the service disables endpoints.
const (
	EndpointActive   EndpointStatus = "active"
	EndpointPaused   EndpointStatus = "paused"
	EndpointDisabled EndpointStatus = "disabled"
)

// Endpoint is an address to which events are sent for an application.
type Endpoint struct {
	ID, AppID, OwnerID string
	URL                string
	Events             []string // of EventTypes
	Status             EndpointStatus
	// Secret signs messages; until PreviousUntil, PreviousSecret does so too. Both are
	// encrypted (auth.Vault).
	Secret         string
	PreviousSecret string
	PreviousUntil  *time.Time
	// FailingSince is the time of the first failure after the last success, nil without
	// one; WarnedAt is when the owner was notified.
	FailingSince *time.Time
	WarnedAt     *time.Time
	// ListeningUntil is set for the endpoint of a listener (Listen), which is deleted
	// then unless the listener extends it. Delivery tasks send nothing there.
	ListeningUntil *time.Time
	CreatedAt      time.Time
	UpdatedAt      time.Time
	Version        int64
}

const maxWebhooks = 20

const eventNames = "job.created, job.updated, job.closed, application.submitted, application.status_changed"

// eventTypes returns the requested event types, each once, in the order of the
// catalogue.
func eventTypes(requested []string) ([]string, error) {
	out := slices.DeleteFunc(EventTypes(), func(t string) bool { return !slices.Contains(requested, t) })
	for _, t := range requested {
		if !slices.Contains(out, t) {
			return nil, fault.InvalidField("events", "must be some of: "+eventNames)
		}
	}
	if len(out) == 0 {
		return nil, fault.InvalidField("events", "must name at least one of: "+eventNames)
	}
	return out, nil
}

// WebhookInput describes an endpoint.
type WebhookInput struct {
	URL    string   `json:"url" validate:"required,max=2048" sample:"https://wardfinder.example.com/hooks/locum"`
	Events []string `json:"events" validate:"required,max=20,dive,max=100" sample:"[\"job.created\",\"job.closed\"]"`
}

// CreateWebhook creates an endpoint of one of the caller's applications and returns
// its secret, which is not stored in plain text. The caller must be confirmed.
func (s *Service) CreateWebhook(ctx context.Context, by auth.Actor, appID string, in WebhookInput) (e Endpoint, secret string, err error) {
	url := strings.TrimSpace(in.URL)
	if err := receiver(url, s.PrivateReceivers); err != nil {
		return e, "", err
	}
	types, err := eventTypes(in.Events)
	if err != nil {
		return e, "", err
	}
	now := s.Clock.Now()
	e = Endpoint{ID: s.NewID(), OwnerID: by.UserID, URL: url, Events: types, Status: EndpointActive, CreatedAt: now, UpdatedAt: now}
	secret = newHookSecret()
	if e.Secret, err = s.Vault.Encrypt(secret, e.ID); err != nil {
		return e, "", err
	}
	err = s.create(ctx, by, audit.WebhookCreated, e.ID, func(ctx context.Context) error {
		if e.AppID, _ = id.Canonical(appID); e.AppID == "" {
			return ErrAppNotFound
		}
		return s.createEndpoint(ctx, e)
	})
	return e, secret, err
}

// createEndpoint stores an endpoint unless its application has maxWebhooks.
func (s *Service) createEndpoint(ctx context.Context, e Endpoint) error {
	if _, err := s.Apps.Get(ctx, e.OwnerID, e.AppID); err != nil {
		return err
	}
	existing, err := endpointsOf(ctx, s.Webhooks, e.OwnerID, e.AppID)
	if err != nil {
		return err
	}
	if len(existing) >= maxWebhooks {
		return ErrTooManyWebhooks
	}
	return s.Webhooks.Upsert(ctx, e)
}

// MyWebhooks returns the endpoints of one of the caller's applications, the newest
// first.
func (s *Service) MyWebhooks(ctx context.Context, by auth.Actor, appID string) ([]Endpoint, error) {
	a, err := s.MyApp(ctx, by, appID)
	if err != nil {
		return nil, err
	}
	return endpointsOf(ctx, s.Webhooks, by.UserID, a.ID)
}

// WebhookPath identifies an endpoint of an application.
type WebhookPath struct {
	AppID string `path:"id"`
	ID    string `path:"webhookId"`
}

// MyWebhook returns one of the caller's endpoints.
func (s *Service) MyWebhook(ctx context.Context, by auth.Actor, p WebhookPath) (Endpoint, error) {
	a, err := s.MyApp(ctx, by, p.AppID)
	if err != nil {
		return Endpoint{}, err
	}
	hookID, ok := id.Canonical(p.ID)
	if !ok {
		return Endpoint{}, ErrWebhookNotFound
	}
	e, err := s.Webhooks.Get(ctx, by.UserID, hookID)
	if err == nil && e.AppID != a.ID {
		return Endpoint{}, ErrWebhookNotFound
	}
	return e, err
}

// WebhookChange is a change of an endpoint; fields that are nil do not change.
type WebhookChange struct {
	URL    *string   `json:"url" validate:"omitempty,max=2048"`
	Events *[]string `json:"events" validate:"omitempty,max=20,dive,max=100"`
	// Status active sends events from now on, also to an endpoint that was disabled.
	// With paused, pending deliveries fail and can be replayed.
	Status *string `json:"status" validate:"omitempty,oneof=active paused" sample:"paused"`
}

// ChangeWebhook changes one of the caller's endpoints.
func (s *Service) ChangeWebhook(ctx context.Context, by auth.Actor, p WebhookPath, in WebhookChange) (Endpoint, error) {
	if err := cmp.Or(by.RequireUser(), valid.Check("", in)); err != nil {
		return Endpoint{}, err
	}
	return s.changeWebhook(ctx, by, p, func(_ context.Context, e *Endpoint, _ time.Time) error {
		if in.URL != nil {
			url := strings.TrimSpace(*in.URL)
			if err := receiver(url, s.PrivateReceivers); err != nil {
				return err
			}
			if url != e.URL { // the failures were those of another server
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
		if in.Status != nil && *in.Status != string(e.Status) {
			if e.Status = EndpointStatus(*in.Status); e.Status == EndpointActive {
				e.FailingSince, e.WarnedAt = nil, nil
			}
		}
		return nil
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
		return s.Webhooks.Upsert(ctx, e)
	})
	return e, err
}

// DeleteWebhook deletes one of the caller's endpoints with its log.
func (s *Service) DeleteWebhook(ctx context.Context, by auth.Actor, p WebhookPath) error {
	return s.Tx.Do(ctx, func(ctx context.Context) error {
		e, err := s.MyWebhook(ctx, by, p)
		if err != nil {
			return err
		}
		if err := s.Webhooks.Delete(ctx, by.UserID, e.AppID, e.ID); err != nil {
			return err
		}
		return s.Audit.Record(ctx, audit.By(by, audit.WebhookDeleted, e.ID))
	})
}

// RotateWebhookSecret replaces the secret of an endpoint and returns the new one,
// which is not stored in plain text. For a day the previous one signs as well. The
// caller must be confirmed.
func (s *Service) RotateWebhookSecret(ctx context.Context, by auth.Actor, p WebhookPath) (string, error) {
	if err := s.requireConfirmed(by); err != nil {
		return "", err
	}
	secret := newHookSecret()
	_, err := s.changeWebhook(ctx, by, p, func(ctx context.Context, e *Endpoint, now time.Time) error {
		hidden, err := s.Vault.Encrypt(secret, e.ID)
		if err != nil {
			return err
		}
		until := now.Add(rotationOverlap)
		e.PreviousSecret, e.PreviousUntil, e.Secret = e.Secret, &until, hidden
		return s.Audit.Record(ctx, audit.By(by, audit.WebhookSecretRotated, e.ID))
	})
	return secret, err
}
