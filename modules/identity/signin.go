package identity

import (
	"context"
	"errors"
	"time"

	"github.com/locumhq/locum/core/audit"
	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/event"
	"github.com/locumhq/locum/core/fault"
)

// LoginInput signs in.
type LoginInput struct {
	Email    string `json:"email" validate:"required"`
	Password string `json:"password" validate:"required"`
	// TOTP is a code of the authenticator app or a recovery code, for an account
	// with a second factor.
	TOTP string `json:"totp" validate:"max=64" sample:"\"123456\""`
}

// Login opens a session. Accounts that are not there answer as wrong passwords
// do, after the same work.
func (s *Service) Login(ctx context.Context, in LoginInput, from Client) (SignedIn, error) {
	var c checks
	if in.Email == "" {
		c.bad("email", "is required")
	}
	if in.Password == "" {
		c.bad("password", "is required")
	}
	if err := c.err(); err != nil {
		return SignedIn{}, err
	}
	var out SignedIn
	err := s.signIn(ctx, in, from, func(ctx context.Context, userID string, now time.Time) (err error) {
		out, err = s.open(ctx, userID, from, now)
		return err
	})
	return out, err
}

// signIn proves the password and opens what it opens, in one transaction.
func (s *Service) signIn(ctx context.Context, in LoginInput, from Client, open func(ctx context.Context, userID string, now time.Time) error) error {
	// A second look, for a verifier that a concurrent sign-in has renewed.
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
			if ok, err = s.Users.SignIn(ctx, u.ID, u.PasswordHash, renewed, now); err != nil || !ok {
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

// checkPassword proves the password of the account with the address, throttled
// by failures, which clearFailures resets. renewed is the verifier to store from now on.
func (s *Service) checkPassword(ctx context.Context, email, password string, from Client) (u User, renewed string, err error) {
	counts := s.failuresOf(email, from)
	if err := s.checkFailures(ctx, counts); err != nil {
		return User{}, "", err
	}
	known := ""
	if s.isKnownDevice(email, from) {
		known = EmailKey(email)
	}
	leave, err := s.gate.enter(from.Address, known)
	if err != nil {
		return User{}, "", err
	}
	defer leave()
	u, err = s.findByEmail(ctx, email)
	if err != nil && !errors.Is(err, ErrUserNotFound) {
		return User{}, "", err
	}
	if s.isDemo(u) {
		u.PasswordHash = ""
	}
	ok, stale := false, false
	if len(password) <= maxPassword { // longer ones can't have been registered
		// Of an account that is not there, and of an invited person, the
		// verifier is empty: the same work, and never right.
		if ok, stale, err = s.Hasher.Verify(ctx, u.PasswordHash, password); err != nil {
			return User{}, "", err
		}
	}
	// The right password of a locked account is answered as a wrong one.
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

// RefreshInput asks for new tokens.
type RefreshInput struct {
	RefreshToken string `json:"refreshToken" validate:"required"`
}

// Refresh spends a refresh token for a new pair. A token works once. Within a
// grace of seconds it works again, since a client whose answer was lost on the
// way must ask again; after that two parties hold it, one of them a thief, and
// the session ends for both.
func (s *Service) Refresh(ctx context.Context, in RefreshInput) (SignedIn, error) {
	if in.RefreshToken == "" {
		return SignedIn{}, fault.InvalidField("refreshToken", "is required")
	}
	hash := auth.HashSecret(in.RefreshToken)
	first, err := s.Sessions.FindRefresh(ctx, hash)
	if errors.Is(err, ErrSessionNotFound) {
		return SignedIn{}, ErrBadRefreshToken
	} else if err != nil {
		return SignedIn{}, err
	}
	var out SignedIn
	var refused bool
	err = s.Tx.Do(ctx, func(ctx context.Context) error {
		out, refused = SignedIn{}, false
		now := s.Clock.Now()
		// From here on one caller at a time, so that the token is read again
		// as the one before has left it.
		alive, err := s.Sessions.Use(ctx, first.SessionID, now)
		if err != nil {
			return err
		}
		if !alive {
			return ErrBadRefreshToken
		}
		t, err := s.Sessions.FindRefresh(ctx, hash)
		if err != nil {
			return err
		}
		p, err := s.Sessions.Principal(ctx, t.SessionID)
		if err != nil {
			return err
		}
		switch {
		case !t.UsedAt.IsZero() && now.Sub(t.UsedAt) > refreshGrace:
			refused = true // and committed, which an error would not be
			if err := s.Sessions.End(ctx, p.User.ID, t.SessionID, now); err != nil {
				return err
			}
			if err := s.Audit.Record(ctx, audit.By(p.Actor(), audit.SessionEnded, t.SessionID).With("token_reuse")); err != nil {
				return err
			}
			return s.Events.Record(ctx, event.SessionReuseDetected{UserID: p.User.ID, SessionID: t.SessionID})
		case !now.Before(t.ExpiresAt):
			return ErrBadRefreshToken
		case t.UsedAt.IsZero():
			if _, err := s.Sessions.SpendRefresh(ctx, hash, now); err != nil {
				return err
			}
		}
		next, secret := p.Session.NewRefreshToken(now)
		if err := s.Sessions.AddRefresh(ctx, next); err != nil {
			return err
		}
		out, err = s.tokens(p, secret, now)
		return err
	})
	if refused || errors.Is(err, ErrSessionNotFound) {
		return SignedIn{}, ErrBadRefreshToken
	}
	return out, err
}

// Logout ends the caller's session: neither its access token nor its refresh
// token works any more.
func (s *Service) Logout(ctx context.Context, a auth.Actor) error {
	return s.Tx.Do(ctx, func(ctx context.Context) error {
		return s.Sessions.End(ctx, a.UserID, a.SessionID, s.Clock.Now())
	})
}
