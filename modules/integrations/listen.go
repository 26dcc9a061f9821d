package integrations

import (
	"context"
	"encoding/base64"
	"slices"
	"strings"
	"time"

	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/list"
	"github.com/locumhq/locum/core/page"
)

const (
	// listenerLife is the lifetime of the endpoint of a listener. The listener extends it
	// each extendEvery. The endpoint of a killed listener is therefore soon deleted.
	listenerLife = time.Minute
	extendEvery  = 15 * time.Second
	// pollEvery is the interval at which a listener reads the database, and at which a
	// delivery worker retries while the database is unavailable.
	pollEvery = 200 * time.Millisecond
)

// ListenInput describes a listener.
type ListenInput struct {
	URL    string   // may be an http URL, or on a private network
	Events []string // event types, see EventTypes; empty for all
	Secret string   // whsec_…; empty for a new one
}

// Listen creates an endpoint for a listener: a process of a developer that receives the
// application's events and forwards them to a local receiver. The listener calls Forward
// and then EndListening. Listen returns the secret of the endpoint, which is stored
// encrypted.
func (s *Service) Listen(ctx context.Context, app App, in ListenInput) (endpoint Endpoint, secret string, err error) {
	const allowPrivate = true // the receiver is usually on the machine of the developer
	if err := checkReceiver(in.URL, allowPrivate); err != nil {
		return endpoint, "", err
	}

	types := EventTypes()
	if len(in.Events) > 0 {
		if types, err = parseEventTypes(in.Events); err != nil {
			return endpoint, "", err
		}
	}

	secret = in.Secret
	if secret == "" {
		secret = newWebhookSecret()
	} else if !isWebhookSecret(secret) {
		return endpoint, "", fault.InvalidField("secret", "must be whsec_ and the base64 of 24 to 64 bytes")
	}

	now := s.Clock.Now()
	until := now.Add(listenerLife)

	endpoint = Endpoint{
		ID:             s.NewID(),
		AppID:          app.ID,
		OwnerID:        app.OwnerID,
		URL:            in.URL,
		Events:         types,
		Status:         EndpointActive,
		ListeningUntil: &until,
		CreatedAt:      now,
		UpdatedAt:      now,
	}
	if endpoint.Secret, err = s.Vault.Encrypt(secret, endpoint.ID); err != nil {
		return endpoint, "", err
	}

	err = s.Tx.Do(ctx, func(ctx context.Context) error {
		// Endpoints of listeners that have ended would count towards the limit of the
		// application.
		deleteEnded := s.expire(endedListenerAge, ListenersKind)
		if err := deleteEnded(ctx); err != nil {
			return err
		}

		return s.createEndpoint(ctx, endpoint)
	})

	return endpoint, secret, err
}

// isWebhookSecret reports whether the text has the form of a secret of Standard Webhooks.
func isWebhookSecret(secret string) bool {
	encoded, hasPrefix := strings.CutPrefix(secret, webhookSecretPrefix)
	key, err := base64.StdEncoding.DecodeString(encoded)
	return hasPrefix && err == nil && len(key) >= 24 && len(key) <= 64
}

// EndListening deletes the endpoint of a listener with its log.
func (s *Service) EndListening(ctx context.Context, e Endpoint) error {
	err := s.Tx.Do(ctx, func(ctx context.Context) error { return s.Webhooks.Delete(ctx, e.OwnerID, e.AppID, e.ID) })
	return fault.IfNotFound(err, nil)
}

// Forwarded is an attempt of a listener to forward an event.
type Forwarded struct {
	At            time.Time
	Type, EventID string
	Answer        Answer
}

// Forward sends the messages of a listener's endpoint to e.URL, even if the stored URL has
// changed, and calls onAttempt after each attempt. It returns nil when ctx is done and the
// running attempts have ended, and ErrWebhookNotFound when the endpoint was deleted. While
// the database is unavailable, it waits.
func (s *Service) Forward(ctx context.Context, endpoint Endpoint, onAttempt func(Forwarded)) error {
	poll := time.NewTicker(pollEvery)
	defer poll.Stop()

	for extendedAt := s.Clock.Now(); ; {
		select {
		case <-ctx.Done():
			return nil
		case <-poll.C:
		}

		// Extend the lifetime of the endpoint.
		now := s.Clock.Now()
		if now.Sub(extendedAt) >= extendEvery {
			switch err := s.extendListener(ctx, endpoint, now.Add(listenerLife)); {
			case err == nil:
				extendedAt = now
			case !isTransient(ctx, err):
				return err
			}
		}

		// Send the deliveries that are due.
		next, err := s.Deliveries.NextDue(ctx, endpoint.ID)
		if err == nil && next != nil && !next.After(now) {
			worker := s.newDeliveryWorker(endpoint)
			worker.url = endpoint.URL
			worker.onResult = func(r attemptResult) { r.report(onAttempt, s.Clock.Now()) }
			err = worker.run(ctx)
		}

		if err != nil && !isTransient(ctx, err) {
			return err
		}
	}
}

// extendListener extends the lifetime of a listener's endpoint to the given time, or fails
// with ErrWebhookNotFound.
func (s *Service) extendListener(ctx context.Context, e Endpoint, until time.Time) error {
	return s.Tx.Do(ctx, func(ctx context.Context) error {
		e, err := s.Webhooks.Get(ctx, e.OwnerID, e.ID)
		if err != nil {
			return err
		}

		e.ListeningUntil = &until

		return s.Webhooks.Upsert(ctx, e)
	})
}

// report calls onAttempt with the attempt. If no attempt could be made because of an error of
// the service, the answer has the error not_sent.
func (r attemptResult) report(onAttempt func(Forwarded), now time.Time) {
	forwarded := Forwarded{At: now, Type: r.Type, EventID: r.EventID}

	switch a := r.attempt; {
	case a != nil:
		forwarded.At = a.At
		took := time.Duration(a.DurationMs) * time.Millisecond
		forwarded.Answer = Answer{Status: a.ResponseStatus, Error: a.Error, Took: took}
	case r.postponed:
		forwarded.Answer = Answer{Error: "not_sent"}
	default: // the endpoint is no longer authorized to receive the event
		return
	}

	onAttempt(forwarded)
}

// isTransient reports whether Forward can continue after the error. It can if the database is
// unavailable. It can also continue if ctx is done, because its next step then ends it without an
// error.
func isTransient(ctx context.Context, err error) bool {
	return ctx.Err() != nil || fault.KindOf(err) == fault.Unavailable
}

// Trigger sends a test event of the type to the active endpoints of the application
// that subscribe to it, and returns them.
func (s *Service) Trigger(ctx context.Context, a App, eventType string) ([]Endpoint, error) {
	if !slices.Contains(EventTypes(), eventType) {
		return nil, fault.InvalidField("type", "must be one of: "+eventNames)
	}

	endpoints, err := listEndpoints(ctx, s.Webhooks, a.OwnerID, a.ID)
	if err != nil {
		return nil, err
	}

	var subscribed []Endpoint
	for _, e := range endpoints {
		if e.Status == EndpointActive && slices.Contains(e.Events, eventType) {
			subscribed = append(subscribed, e)
		}
	}

	if len(subscribed) == 0 {
		return nil, nil
	}

	_, err = s.sendTest(ctx, eventType, subscribed)

	return subscribed, err
}

// FindApp returns the application with the id, or ErrAppNotFound. If the id is empty, it
// returns the only application of the service, or ErrSeveralApps.
func (s *Service) FindApp(ctx context.Context, appID string) (App, error) {
	if appID != "" {
		return s.findApp(ctx, appID)
	}

	// Two applications suffice to see that there are several.
	firstApps, err := s.Apps.List(ctx, AppFilter{OwnerID: AnyOwner}, page.Request{Number: 1, Size: 2})
	if err == nil && len(firstApps.Items) > 1 {
		return App{}, ErrSeveralApps
	}

	return list.First(firstApps.Items, err, ErrAppNotFound)
}
