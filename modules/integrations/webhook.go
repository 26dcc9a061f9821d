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

// EndpointStatus is the status of an endpoint. Events are sent to active endpoints only.
type EndpointStatus string

// The statuses of an endpoint. Owners pause endpoints; the service disables endpoints that
// keep failing.
const (
	EndpointActive   EndpointStatus = "active"
	EndpointPaused   EndpointStatus = "paused"
	EndpointDisabled EndpointStatus = "disabled"
)

// Endpoint is a webhook of an application: a URL to which events are sent.
type Endpoint struct {
	ID, AppID, OwnerID string
	URL                string
	Events             []string // event types, see EventTypes
	Status             EndpointStatus
	// Secret signs messages. Until PreviousUntil, PreviousSecret signs them as well. Both secrets
	// are encrypted (auth.Vault).
	Secret         string
	PreviousSecret string
	PreviousUntil  *time.Time
	// FailingSince is the time of the first failure after the last success. It is nil if
	// the last attempt succeeded.
	FailingSince *time.Time
	// WarnedAt is the time at which the owner was notified of the failures, or nil.
	WarnedAt *time.Time
	// ListeningUntil is set for the endpoint of a listener (see Listen). The endpoint is
	// deleted at this time unless the listener extends it. Only the listener sends to it.
	ListeningUntil *time.Time
	CreatedAt      time.Time
	UpdatedAt      time.Time
	Version        int64
}

// maxWebhooks is the maximum number of endpoints of an application.
const maxWebhooks = 20

// eventNames lists EventTypes in messages.
const eventNames = "job.created, job.updated, job.closed, application.submitted, application.status_changed"

// parseEventTypes returns the requested event types without duplicates, in the order of the
// catalogue. It returns an Invalid fault if a type is unknown or none is requested.
func parseEventTypes(requested []string) ([]string, error) {
	isNotRequested := func(eventType string) bool { return !slices.Contains(requested, eventType) }
	known := slices.DeleteFunc(EventTypes(), isNotRequested)

	for _, eventType := range requested {
		if !slices.Contains(known, eventType) {
			return nil, fault.InvalidField("events", "must be some of: "+eventNames)
		}
	}

	if len(known) == 0 {
		return nil, fault.InvalidField("events", "must name at least one of: "+eventNames)
	}

	return known, nil
}

// WebhookInput describes an endpoint.
type WebhookInput struct {
	URL    string   `json:"url" validate:"required,max=2048" sample:"https://wardfinder.example.com/hooks/locum"`
	Events []string `json:"events" validate:"required,max=20,dive,max=100" sample:"[\"job.created\",\"job.closed\"]"`
}

// CreateWebhook creates an endpoint of one of the caller's applications. It returns the
// secret of the endpoint, which is stored encrypted. The caller must be confirmed.
func (s *Service) CreateWebhook(
	ctx context.Context,
	by auth.Actor,
	appID string,
	in WebhookInput,
) (endpoint Endpoint, secret string, err error) {
	url := strings.TrimSpace(in.URL)
	if err := checkReceiver(url, s.PrivateReceivers); err != nil {
		return endpoint, "", err
	}

	types, err := parseEventTypes(in.Events)
	if err != nil {
		return endpoint, "", err
	}

	now := s.Clock.Now()
	endpoint = Endpoint{ID: s.NewID(), OwnerID: by.UserID, URL: url, Events: types, Status: EndpointActive, CreatedAt: now, UpdatedAt: now}

	secret = newWebhookSecret()
	if endpoint.Secret, err = s.Vault.Encrypt(secret, endpoint.ID); err != nil {
		return endpoint, "", err
	}

	err = s.createCredential(ctx, by, audit.WebhookCreated, endpoint.ID, func(ctx context.Context) error {
		var isID bool
		if endpoint.AppID, isID = id.Canonical(appID); !isID {
			return ErrAppNotFound
		}

		return s.createEndpoint(ctx, endpoint)
	})

	return endpoint, secret, err
}

// createEndpoint stores an endpoint. It fails with ErrTooManyWebhooks if the application
// has maxWebhooks already.
func (s *Service) createEndpoint(ctx context.Context, e Endpoint) error {
	if _, err := s.Apps.Get(ctx, e.OwnerID, e.AppID); err != nil {
		return err
	}

	existing, err := listEndpoints(ctx, s.Webhooks, e.OwnerID, e.AppID)
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

	return listEndpoints(ctx, s.Webhooks, by.UserID, a.ID)
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

// WebhookChange is a change of an endpoint. A nil field leaves its value unchanged.
type WebhookChange struct {
	URL    *string   `json:"url" validate:"omitempty,max=2048"`
	Events *[]string `json:"events" validate:"omitempty,max=20,dive,max=100"`
	// Status active enables the endpoint, even after the service has disabled it. Status paused
	// fails the pending deliveries, which can be replayed later.
	Status *string `json:"status" validate:"omitempty,oneof=active paused" sample:"paused"`
}

// ChangeWebhook changes one of the caller's endpoints.
func (s *Service) ChangeWebhook(ctx context.Context, by auth.Actor, p WebhookPath, in WebhookChange) (Endpoint, error) {
	if err := cmp.Or(by.RequireUser(), valid.Check("", in)); err != nil {
		return Endpoint{}, err
	}

	return s.changeWebhook(ctx, by, p, func(_ context.Context, endpoint *Endpoint, _ time.Time) error {
		if in.URL != nil {
			url := strings.TrimSpace(*in.URL)
			if err := checkReceiver(url, s.PrivateReceivers); err != nil {
				return err
			}

			if url != endpoint.URL { // the recorded failures belong to the previous URL
				endpoint.URL = url
				endpoint.FailingSince = nil
				endpoint.WarnedAt = nil
			}
		}

		if in.Events != nil {
			types, err := parseEventTypes(*in.Events)
			if err != nil {
				return err
			}

			endpoint.Events = types
		}

		if in.Status != nil && *in.Status != string(endpoint.Status) {
			endpoint.Status = EndpointStatus(*in.Status)
			if endpoint.Status == EndpointActive {
				endpoint.FailingSince, endpoint.WarnedAt = nil, nil
			}
		}

		return nil
	})
}

// changeWebhook applies change to one of the caller's endpoints and stores the result.
func (s *Service) changeWebhook(
	ctx context.Context,
	by auth.Actor,
	p WebhookPath,
	change func(ctx context.Context, e *Endpoint, now time.Time) error,
) (endpoint Endpoint, err error) {
	err = s.withSession(ctx, by, func(ctx context.Context) error {
		if endpoint, err = s.MyWebhook(ctx, by, p); err != nil {
			return err
		}

		now := s.Clock.Now()
		if err := change(ctx, &endpoint, now); err != nil {
			return err
		}

		endpoint.UpdatedAt = now

		return s.Webhooks.Upsert(ctx, endpoint)
	})

	return endpoint, err
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

// RotateWebhookSecret replaces the secret of an endpoint and returns the new secret, which
// is stored encrypted. For a day, messages are signed with the previous secret as well. The
// caller must be confirmed.
func (s *Service) RotateWebhookSecret(ctx context.Context, by auth.Actor, p WebhookPath) (string, error) {
	if err := s.requireConfirmed(by); err != nil {
		return "", err
	}

	secret := newWebhookSecret()
	_, err := s.changeWebhook(ctx, by, p, func(ctx context.Context, e *Endpoint, now time.Time) error {
		encrypted, err := s.Vault.Encrypt(secret, e.ID)
		if err != nil {
			return err
		}

		until := now.Add(rotationOverlap)
		e.PreviousSecret = e.Secret
		e.PreviousUntil = &until
		e.Secret = encrypted

		return s.Audit.Record(ctx, audit.By(by, audit.WebhookSecretRotated, e.ID))
	})

	return secret, err
}
