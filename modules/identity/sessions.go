package identity

import (
	"context"
	"errors"

	"github.com/locumhq/locum/core/audit"
	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/id"
	"github.com/locumhq/locum/core/page"
)

// MySessions lists the caller's live sessions, the newest first, those of
// browsers included.
func (s *Service) MySessions(ctx context.Context, a auth.Actor, r page.Request) (page.Result[Session], error) {
	if err := r.CheckID(); err != nil {
		return page.Result[Session]{}, err
	}
	return s.Sessions.ListLive(ctx, a.UserID, s.Clock.Now(), r)
}

// EndSession ends one of the caller's live sessions. ErrSessionNotFound if the
// caller has none with the id.
func (s *Service) EndSession(ctx context.Context, a auth.Actor, sessionID string) error {
	sessionID, ok := id.Canonical(sessionID)
	if !ok {
		return ErrSessionNotFound
	}
	return s.Tx.Do(ctx, func(ctx context.Context) error {
		now := s.Clock.Now()
		p, err := s.Sessions.Principal(ctx, sessionID)
		switch {
		case err != nil && !errors.Is(err, ErrSessionNotFound):
			return err
		case err != nil, p.User.ID != a.UserID, !p.Session.Alive(now):
			return ErrSessionNotFound
		}
		if err := s.Sessions.End(ctx, a.UserID, sessionID, now); err != nil {
			return err
		}
		return s.Audit.Record(ctx, audit.By(a, audit.SessionEnded, sessionID))
	})
}

// EndOtherSessions ends all of the caller's sessions but the one of this
// request.
func (s *Service) EndOtherSessions(ctx context.Context, a auth.Actor) error {
	return s.Tx.Do(ctx, func(ctx context.Context) error {
		if err := s.Sessions.EndAll(ctx, a.UserID, a.SessionID, s.Clock.Now()); err != nil {
			return err
		}
		return s.Audit.Record(ctx, audit.By(a, audit.SessionsEnded, a.UserID))
	})
}
