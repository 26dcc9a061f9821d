package integrations

import (
	"context"
	"encoding/base64"
	"slices"
	"strings"
	"time"

	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/id"
)

const (
	// listensFor is how long the endpoint of a listener that says no more lasts,
	// and saysEvery how often one says so: a killed one collects nothing for long.
	listensFor = time.Minute
	saysEvery  = 15 * time.Second
)

// ListenInput is what a listener wants to hear and where it sends it.
type ListenInput struct {
	URL    string   // http as well, on whichever network
	Events []string // of EventTypes; all without one
	Secret string   // whsec_…; a new one without
}

// Listen makes an endpoint of the application for a process that sends what it
// gets there by itself, with Forward, until EndListening. It returns the secret,
// which is not shown again.
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
	until := now.Add(listensFor)
	e = Endpoint{ID: s.NewID(), AppID: a.ID, OwnerID: a.OwnerID, URL: in.URL, Events: types, Status: EndpointActive, ListeningUntil: &until, CreatedAt: now, UpdatedAt: now, Version: 1}
	if e.Secret, err = s.Vault.Hide(secret, e.ID); err != nil {
		return e, "", err
	}
	err = s.Tx.Do(ctx, func(ctx context.Context) error {
		if err := s.Webhooks.EndListeners(ctx, now); err != nil {
			return err
		}
		if _, err := s.Apps.Find(ctx, a.OwnerID, a.ID); err != nil {
			return err
		}
		there, err := s.Webhooks.List(ctx, a.OwnerID, a.ID)
		if err != nil {
			return err
		}
		if len(there) >= maxWebhooks {
			return ErrTooManyWebhooks
		}
		return s.Webhooks.Add(ctx, e)
	})
	return e, secret, err
}

// isHookSecret reports the form of Standard Webhooks.
func isHookSecret(secret string) bool {
	text, is := strings.CutPrefix(secret, hookPrefix)
	key, err := base64.StdEncoding.DecodeString(text)
	return is && err == nil && len(key) >= 24 && len(key) <= 64
}

// EndListening removes a listener's endpoint with its log.
func (s *Service) EndListening(ctx context.Context, e Endpoint) error {
	err := s.Tx.Do(ctx, func(ctx context.Context) error { return s.Webhooks.Delete(ctx, e.OwnerID, e.AppID, e.ID) })
	if fault.KindOf(err) == fault.NotFound {
		return nil
	}
	return err
}

// Forwarded is an attempt that a listener made.
type Forwarded struct {
	At            time.Time
	Type, EventID string
	Answer        Answer
}

// Forward sends what comes for a listener to the address that it was made for,
// whatever address others give its endpoint, and tells of each attempt. It
// returns when the context ends and what is being sent has come to its end, or
// with ErrWebhookNotFound when somebody has removed the endpoint. A database that
// is away is waited for.
func (s *Service) Forward(ctx context.Context, e Endpoint, told func(Forwarded)) error {
	looks := time.NewTicker(looksAgain)
	defer looks.Stop()
	for said := s.Clock.Now(); ; {
		select {
		case <-ctx.Done():
			return nil
		case <-looks.C:
		}
		now := s.Clock.Now()
		if now.Sub(said) >= saysEvery {
			switch err := s.Webhooks.Listening(ctx, e.ID, now.Add(listensFor)); {
			case err == nil:
				said = now
			case !s.passing(ctx, err):
				return err
			}
		}
		next, err := s.Webhooks.NextAt(ctx, e.ID)
		if err == nil && next != nil && !next.After(now) {
			v := s.visit(e.ID)
			v.to = e.URL
			v.told = func(o outcome) { o.tell(told, s.Clock.Now()) }
			err = v.attend(ctx)
		}
		if err != nil && !s.passing(ctx, err) {
			return err
		}
	}
}

// tell tells of an attempt, or that there was none.
func (o outcome) tell(told func(Forwarded), now time.Time) {
	if a := o.attempt; a != nil {
		told(Forwarded{a.At, o.Type, o.EventID, Answer{Status: a.ResponseStatus, Error: a.Error, Took: time.Duration(a.DurationMs) * time.Millisecond}})
	} else if o.putOff {
		told(Forwarded{now, o.Type, o.EventID, Answer{Error: "not_sent"}})
	}
}

// passing reports what a listener waits out.
func (s *Service) passing(ctx context.Context, err error) bool {
	return ctx.Err() != nil || fault.KindOf(err) == fault.Unavailable
}

// Trigger sends one made-up event of the type, which says so, to each active
// endpoint of the application that wants it, and returns these.
func (s *Service) Trigger(ctx context.Context, a App, kind string) ([]Endpoint, error) {
	if !slices.Contains(EventTypes(), kind) {
		return nil, fault.InvalidField("type", "must be one of: "+eventNames)
	}
	to, err := s.Webhooks.List(ctx, a.OwnerID, a.ID)
	if err != nil {
		return nil, err
	}
	to = slices.DeleteFunc(to, func(e Endpoint) bool { return e.Status != EndpointActive || !slices.Contains(e.Events, kind) })
	if len(to) == 0 {
		return nil, nil
	}
	now := s.Clock.Now()
	m, err := newMessage(s.NewID(), kind, now, s.madeUp(kind, now))
	if err != nil {
		return nil, err
	}
	return to, s.queue(ctx, []mailing{s.mailing(m, to)})
}

// AppOr is the application with the id, or without one the only one that there
// is. ErrAppNotFound, and ErrSeveralApps.
func (s *Service) AppOr(ctx context.Context, appID string) (App, error) {
	if appID != "" {
		canonical, ok := id.Canonical(appID)
		if !ok {
			return App{}, ErrAppNotFound
		}
		return s.Apps.ByID(ctx, canonical)
	}
	all, err := s.Apps.First(ctx, 2)
	switch {
	case err != nil:
		return App{}, err
	case len(all) == 0:
		return App{}, ErrAppNotFound
	case len(all) > 1:
		return App{}, ErrSeveralApps
	}
	return all[0], nil
}
