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
	// listenerLife is how long the endpoint of a listener lasts unless it is extended,
	// each extendEvery: that of a killed listener expires soon.
	listenerLife = time.Minute
	extendEvery  = 15 * time.Second
	// pollEvery is how often a listener reads the database, and a worker tries again
	// while it is unavailable.
	pollEvery = 200 * time.Millisecond
)

// ListenInput describes a listener.
type ListenInput struct {
	URL    string   // also with http, and on private networks
	Events []string // of EventTypes; all if empty
	Secret string   // whsec_…; a new one if empty
}

// Listen creates an endpoint of the application for a process that delivers its
// messages itself, with Forward, until EndListening. It returns the secret, which is
// not stored in plain text.
func (s *Service) Listen(ctx context.Context, a App, in ListenInput) (e Endpoint, secret string, err error) {
	if err := receiver(in.URL, true); err != nil {
		return e, "", err
	}
	types := EventTypes()
	if len(in.Events) > 0 {
		if types, err = eventTypes(in.Events); err != nil {
			return e, "", err
		}
	}
	if secret = in.Secret; secret == "" {
		secret = newHookSecret()
	} else if !isHookSecret(secret) {
		return e, "", fault.InvalidField("secret", "must be whsec_ and the base64 of 24 to 64 bytes")
	}
	now := s.Clock.Now()
	until := now.Add(listenerLife)
	e = Endpoint{ID: s.NewID(), AppID: a.ID, OwnerID: a.OwnerID, URL: in.URL, Events: types, Status: EndpointActive, ListeningUntil: &until, CreatedAt: now, UpdatedAt: now}
	if e.Secret, err = s.Vault.Encrypt(secret, e.ID); err != nil {
		return e, "", err
	}
	err = s.Tx.Do(ctx, func(ctx context.Context) error {
		if err := s.expire(0, ListenersKind)(ctx); err != nil {
			return err
		}
		return s.createEndpoint(ctx, e)
	})
	return e, secret, err
}

// isHookSecret reports whether the text has the form of Standard Webhooks.
func isHookSecret(secret string) bool {
	text, is := strings.CutPrefix(secret, hookPrefix)
	key, err := base64.StdEncoding.DecodeString(text)
	return is && err == nil && len(key) >= 24 && len(key) <= 64
}

// EndListening deletes the endpoint of a listener with its log.
func (s *Service) EndListening(ctx context.Context, e Endpoint) error {
	err := s.Tx.Do(ctx, func(ctx context.Context) error { return s.Webhooks.Delete(ctx, e.OwnerID, e.AppID, e.ID) })
	return fault.IfNotFound(err, nil)
}

// Forwarded is an attempt of a listener.
type Forwarded struct {
	At            time.Time
	Type, EventID string
	Answer        Answer
}

// Forward delivers the messages of a listener to its address, also if the address of
// its endpoint was changed, and calls onAttempt after each attempt. It returns when
// ctx has ended and running attempts are complete, or with ErrWebhookNotFound when the
// endpoint was deleted. While the database is unavailable it waits.
func (s *Service) Forward(ctx context.Context, e Endpoint, onAttempt func(Forwarded)) error {
	poll := time.NewTicker(pollEvery)
	defer poll.Stop()
	for extendedAt := s.Clock.Now(); ; {
		select {
		case <-ctx.Done():
			return nil
		case <-poll.C:
		}
		now := s.Clock.Now()
		if now.Sub(extendedAt) >= extendEvery {
			switch err := s.extendListener(ctx, e, now.Add(listenerLife)); {
			case err == nil:
				extendedAt = now
			case !isTransient(ctx, err):
				return err
			}
		}
		next, err := s.Deliveries.NextDue(ctx, e.ID)
		if err == nil && next != nil && !next.After(now) {
			w := s.newDeliveryWorker(e)
			w.url, w.onResult = e.URL, func(r attemptResult) { r.report(onAttempt, s.Clock.Now()) }
			err = w.run(ctx)
		}
		if err != nil && !isTransient(ctx, err) {
			return err
		}
	}
}

// extendListener makes the endpoint of a listener last until the time, or fails with
// ErrWebhookNotFound.
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

// report calls onAttempt with an attempt, or with a postponement.
func (r attemptResult) report(onAttempt func(Forwarded), now time.Time) {
	if a := r.attempt; a != nil {
		onAttempt(Forwarded{a.At, r.Type, r.EventID, Answer{Status: a.ResponseStatus, Error: a.Error, Took: time.Duration(a.DurationMs) * time.Millisecond}})
	} else if r.postponed {
		onAttempt(Forwarded{now, r.Type, r.EventID, Answer{Error: "not_sent"}})
	}
}

// isTransient reports whether a listener continues after the error.
func isTransient(ctx context.Context, err error) bool {
	return ctx.Err() != nil || fault.KindOf(err) == fault.Unavailable
}

// Trigger sends a test event of the type to the active endpoints of the application
// that subscribe to it, and returns them.
func (s *Service) Trigger(ctx context.Context, a App, kind string) ([]Endpoint, error) {
	if !slices.Contains(EventTypes(), kind) {
		return nil, fault.InvalidField("type", "must be one of: "+eventNames)
	}
	to, err := endpointsOf(ctx, s.Webhooks, a.OwnerID, a.ID)
	if err != nil {
		return nil, err
	}
	to = slices.DeleteFunc(to, func(e Endpoint) bool { return e.Status != EndpointActive || !slices.Contains(e.Events, kind) })
	if len(to) == 0 {
		return nil, nil
	}
	_, err = s.sendTest(ctx, kind, to)
	return to, err
}

// FindApp returns the application with the id. An empty id means the only
// application; it fails with ErrSeveralApps if there are several, and with
// ErrAppNotFound.
func (s *Service) FindApp(ctx context.Context, appID string) (App, error) {
	if appID != "" {
		return s.findApp(ctx, appID)
	}
	all, err := s.Apps.List(ctx, AppFilter{OwnerID: AnyOwner}, page.Request{Number: 1, Size: 2})
	if err == nil && len(all.Items) > 1 {
		return App{}, ErrSeveralApps
	}
	return list.First(all.Items, err, ErrAppNotFound)
}
