package identity

import (
	"cmp"
	"context"
	"time"

	"github.com/locumhq/locum/core/audit"
	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/id"
	"github.com/locumhq/locum/core/page"
)

// MySessions lists the caller's active sessions, including those of browsers, the
// newest first.
func (s *Service) MySessions(ctx context.Context, actor auth.Actor, r page.Request) (page.Result[Session], error) {
	if err := cmp.Or(actor.RequireUser(), r.CheckID()); err != nil {
		return page.Result[Session]{}, err
	}

	return s.Sessions.List(ctx, actor.UserID, s.Clock.Now(), r)
}

// EndSession ends one of the caller's active sessions. It fails with
// ErrSessionNotFound if the caller has none with the id.
func (s *Service) EndSession(ctx context.Context, actor auth.Actor, sessionID string) error {
	if err := actor.RequireUser(); err != nil {
		return err
	}

	sessionID, ok := id.Canonical(sessionID)
	if !ok {
		return ErrSessionNotFound
	}

	return s.Tx.Do(ctx, func(ctx context.Context) error {
		now := s.Clock.Now()

		principal, err := s.Sessions.GetPrincipal(ctx, SessionKey{ID: sessionID})
		if err != nil {
			return err
		}

		isOwn := principal.User.ID == actor.UserID
		if !isOwn || !principal.Session.IsAlive(now) {
			return ErrSessionNotFound
		}

		if err := s.endSession(ctx, principal.Session, now); err != nil {
			return err
		}

		return s.Audit.Record(ctx, audit.By(actor, audit.SessionEnded, sessionID))
	})
}

// noSession is the argument except of Sessions.EndByUsers that ends all sessions.
const noSession = ""

// endSession ends a session. It fails with ErrSessionNotFound if the session has
// ended.
func (s *Service) endSession(ctx context.Context, session Session, now time.Time) error {
	session.EndedAt = now
	return s.Sessions.Update(ctx, session)
}

// EndOtherSessions ends all of the caller's sessions except the session of this request.
func (s *Service) EndOtherSessions(ctx context.Context, actor auth.Actor) error {
	if err := actor.RequireUser(); err != nil {
		return err
	}

	return s.Tx.Do(ctx, func(ctx context.Context) error {
		if err := s.Sessions.EndByUsers(ctx, []string{actor.UserID}, actor.SessionID, s.Clock.Now()); err != nil {
			return err
		}

		return s.Audit.Record(ctx, audit.By(actor, audit.SessionsEnded, actor.UserID))
	})
}
