package identity

import (
	"context"
	"errors"
	"time"

	"github.com/locumhq/locum/core/audit"
	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/event"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/valid"
)

// LoginInput is the input of Login.
type LoginInput struct {
	Email    string `json:"email" validate:"required"`
	Password string `json:"password" validate:"required"`
	// TOTP is a code of the authenticator app or a recovery code, for an account
	// with a second factor.
	TOTP string `json:"totp" validate:"max=64" sample:"\"123456\""`
}

// Login opens a session. An unknown account and a wrong password have the same
// response, after the same time.
func (s *Service) Login(ctx context.Context, in LoginInput, from Client) (SignedIn, error) {
	if err := valid.Check("", in); err != nil {
		return SignedIn{}, err
	}
	var out SignedIn
	err := s.signIn(ctx, in, from, s.openInto(&out, from))
	return out, err
}

// signIn checks the password and calls open, in one transaction.
func (s *Service) signIn(ctx context.Context, in LoginInput, from Client, open openFunc) error {
	// The second attempt is for a verifier that a concurrent sign-in has renewed.
	for range 2 {
		u, renewed, err := s.checkPassword(ctx, in.Email, in.Password, from)
		if err != nil {
			return err
		}
		if err := s.checkCodeFailures(ctx, u.ID, in.TOTP); err != nil {
			return err
		}
		var ok bool
		err = s.Tx.Do(ctx, func(ctx context.Context) error {
			now := s.Clock.Now()
			if ok, err = s.Users.RecordSignIn(ctx, u.ID, u.PasswordHash, renewed, now); err != nil || !ok {
				return err
			}
			if err := s.useSecondFactor(ctx, u.ID, in.TOTP, now); err != nil {
				return err
			}
			return open(ctx, u.ID, now)
		})
		switch {
		case errors.Is(err, ErrSecondFactorInvalid):
			return s.secondFactorFailed(ctx, u, from)
		case err != nil:
			return err
		case ok:
			return s.clearFailures(ctx, u, from)
		}
	}
	return ErrBadCredentials
}

// checkPassword checks the password of the account with the address, throttled by
// failures, which clearFailures resets. renewed is the verifier to store.
func (s *Service) checkPassword(ctx context.Context, email, password string, from Client) (u User, renewed string, err error) {
	counts := s.failuresOf(email, from)
	if err := s.checkFailures(ctx, counts); err != nil {
		return User{}, "", err
	}
	known := ""
	if s.isKnownDevice(email, from) {
		known = EmailKey(email)
	}
	release, err := s.gate.acquire(from.Address, known)
	if err != nil {
		return User{}, "", err
	}
	defer release()
	u, err = s.findByEmail(ctx, email)
	if err != nil && !errors.Is(err, ErrUserNotFound) {
		return User{}, "", err
	}
	if s.isDemo(u) {
		u.PasswordHash = ""
	}
	ok, stale := false, false
	if len(password) <= maxPassword { // longer ones can't have been registered
		// The verifier of an unknown account or invited user is empty: it takes the
		// same time and is never right.
		if ok, stale, err = s.Hasher.Verify(ctx, u.PasswordHash, password); err != nil {
			return User{}, "", err
		}
	}
	// The right password of a locked account has the response of a wrong one.
	if !ok || !u.LockedAt.IsZero() {
		if err := s.addFailure(ctx, counts); err != nil {
			return User{}, "", err
		}
		return User{}, "", s.signInFailed(ctx, u.ID)
	}
	// Concurrent attempts may have failed since: parallel guesses must not get
	// more tries than sequential ones.
	if err := s.checkFailures(ctx, counts); err != nil {
		return User{}, "", err
	}
	renewed = u.PasswordHash
	if stale {
		if renewed, err = s.Hasher.Hash(ctx, password); err != nil {
			return User{}, "", err
		}
	}
	return u, renewed, nil
}

// RefreshInput is the input of Refresh.
type RefreshInput struct {
	RefreshToken string `json:"refreshToken" validate:"required"`
}

// Refresh exchanges a refresh token for a new pair of tokens. A token works once.
// It works again within refreshGrace, for clients that did not receive the response.
// A later use means that two parties have the token, one of which may have stolen
// it: the session ends.
func (s *Service) Refresh(ctx context.Context, in RefreshInput) (SignedIn, error) {
	if err := valid.Check("", in); err != nil {
		return SignedIn{}, err
	}
	hash := auth.HashSecret(in.RefreshToken)
	first, err := s.Sessions.GetRefreshToken(ctx, hash)
	if err != nil {
		return SignedIn{}, fault.IfNotFound(err, ErrBadRefreshToken)
	}
	var out SignedIn
	var reused bool
	err = s.Tx.Do(ctx, func(ctx context.Context) (err error) {
		out, reused, err = s.refresh(ctx, first.SessionID, hash, s.Clock.Now())
		return err
	})
	if reused || errors.Is(err, ErrSessionNotFound) {
		return SignedIn{}, ErrBadRefreshToken
	}
	return out, err
}

// refresh uses the token in the transaction of ctx. If the token was used before, the
// session has ended, which is to be committed.
func (s *Service) refresh(ctx context.Context, sessionID, hash string, now time.Time) (out SignedIn, reused bool, err error) {
	p, err := s.Sessions.GetPrincipal(ctx, SessionKey{ID: sessionID})
	if err != nil {
		return out, false, err
	}
	if !p.Session.Alive(now) {
		return out, false, ErrBadRefreshToken
	}
	// The update locks the session, so that the token is read as the previous
	// transaction has left it.
	p.Session.LastUsedAt = now
	if err := s.Sessions.Update(ctx, p.Session); err != nil {
		return out, false, err
	}
	t, err := s.Sessions.GetRefreshToken(ctx, hash)
	switch {
	case err != nil:
		return out, false, err
	case !t.UsedAt.IsZero() && now.Sub(t.UsedAt) > refreshGrace:
		return out, true, s.endReused(ctx, p, now)
	case !now.Before(t.ExpiresAt):
		return out, false, ErrBadRefreshToken
	}
	next, secret := p.Session.NewRefreshToken(now)
	tokens := []RefreshToken{next}
	if t.UsedAt.IsZero() {
		t.UsedAt = now
		tokens = append(tokens, t)
	}
	if err := s.Sessions.Update(ctx, p.Session, tokens...); err != nil {
		return out, false, err
	}
	out, err = s.tokens(p, secret, now)
	return out, false, err
}

// endReused ends a session whose refresh token was used twice.
func (s *Service) endReused(ctx context.Context, p Principal, now time.Time) error {
	if err := s.endSession(ctx, p.Session, now); err != nil {
		return err
	}
	if err := s.Audit.Record(ctx, audit.By(p.Actor(), audit.SessionEnded, p.Session.ID).With("token_reuse")); err != nil {
		return err
	}
	return s.Events.Record(ctx, event.SessionReuseDetected{UserID: p.User.ID, SessionID: p.Session.ID})
}

// Logout ends the caller's session with its access token and refresh tokens.
func (s *Service) Logout(ctx context.Context, a auth.Actor) error {
	if err := a.RequireUser(); err != nil {
		return err
	}
	if a.SessionID == "" {
		return nil
	}
	return s.Tx.Do(ctx, func(ctx context.Context) error {
		p, err := s.Sessions.GetPrincipal(ctx, SessionKey{ID: a.SessionID})
		if err == nil && p.User.ID == a.UserID {
			err = s.endSession(ctx, p.Session, s.Clock.Now())
		}
		return fault.IfNotFound(err, nil) // it has ended
	})
}
