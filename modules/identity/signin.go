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

// Login opens a session. It returns the same error after the same time for an unknown account
// and a wrong password, so that the response does not reveal which accounts exist.
func (s *Service) Login(ctx context.Context, in LoginInput, from Client) (SignedIn, error) {
	if err := valid.Check("", in); err != nil {
		return SignedIn{}, err
	}

	var out SignedIn
	err := s.signIn(ctx, in, from, s.openSessionInto(&out, from))

	return out, err
}

// signIn checks the password and calls open, in one transaction.
func (s *Service) signIn(ctx context.Context, in LoginInput, from Client, open openSessionFunc) error {
	// The second attempt is needed if a concurrent sign-in has renewed the password hash.
	for range 2 {
		user, renewed, err := s.checkPassword(ctx, in.Email, in.Password, from)
		if err != nil {
			return err
		}

		var ok bool
		err = s.Tx.Do(ctx, func(ctx context.Context) error {
			now := s.Clock.Now()

			ok, err = s.Users.RecordSignIn(ctx, user.ID, user.PasswordHash, renewed, now)
			if err != nil || !ok {
				return err
			}

			if err := s.useSecondFactor(ctx, user.ID, in.TOTP, now); err != nil {
				return err
			}

			return open(ctx, user.ID, now)
		})

		switch {
		case errors.Is(err, ErrSecondFactorInvalid):
			return s.secondFactorFailed(ctx, user, from)
		case err != nil:
			return err
		case ok:
			return s.clearFailures(ctx, user, from)
		}
	}

	return ErrBadCredentials
}

// checkPassword checks the password of the account with the address. It counts failures, and
// refuses the check after too many; clearFailures resets the count. The caller has to store
// renewed as the password hash.
func (s *Service) checkPassword(ctx context.Context, email, password string, from Client) (user User, renewed string, err error) {
	counts := s.failuresOf(email, from)
	if err := s.checkFailures(ctx, counts); err != nil {
		return User{}, "", err
	}

	knownAccount := ""
	if s.isKnownDevice(email, from) {
		knownAccount = LowerCaseKey(email)
	}

	release, err := s.gate.acquire(from.Address, knownAccount)
	if err != nil {
		return User{}, "", err
	}
	defer release()

	user, err = s.findByEmail(ctx, email)
	if err != nil && !errors.Is(err, ErrUserNotFound) {
		return User{}, "", err
	}

	if s.isDemo(user) {
		user.PasswordHash = ""
	}

	ok, stale := false, false
	if len(password) <= maxPassword { // no account has a longer password
		// For an unknown account or invited user, the hash is empty: Verify takes the same
		// time and returns false.
		if ok, stale, err = s.Hasher.Verify(ctx, user.PasswordHash, password); err != nil {
			return User{}, "", err
		}
	}

	// A locked account gets the response for a wrong password.
	if !ok || !user.LockedAt.IsZero() {
		if err := s.addFailure(ctx, counts); err != nil {
			return User{}, "", err
		}

		return User{}, "", s.signInFailed(ctx, user.ID)
	}

	// Concurrent attempts may have failed meanwhile. Parallel guesses must not get more tries
	// than sequential ones.
	if err := s.checkFailures(ctx, counts); err != nil {
		return User{}, "", err
	}

	renewed = user.PasswordHash
	if stale {
		if renewed, err = s.Hasher.Hash(ctx, password); err != nil {
			return User{}, "", err
		}
	}

	return user, renewed, nil
}

// RefreshInput is the input of Refresh.
type RefreshInput struct {
	RefreshToken string `json:"refreshToken" validate:"required"`
}

// Refresh exchanges a refresh token for a new pair of tokens. A token can be used once, and
// again within refreshGrace by a client that did not receive the response. A later use means
// that two clients have the token, so that it may be stolen: Refresh ends the session.
func (s *Service) Refresh(ctx context.Context, in RefreshInput) (SignedIn, error) {
	if err := valid.Check("", in); err != nil {
		return SignedIn{}, err
	}

	hash := auth.HashSecret(in.RefreshToken)

	token, err := s.Sessions.GetRefreshToken(ctx, hash)
	if err != nil {
		return SignedIn{}, fault.IfNotFound(err, ErrBadRefreshToken)
	}

	var out SignedIn
	var isReused bool

	err = s.Tx.Do(ctx, func(ctx context.Context) (err error) {
		out, isReused, err = s.useRefreshToken(ctx, token.SessionID, hash, s.Clock.Now())
		return err
	})
	if isReused || errors.Is(err, ErrSessionNotFound) {
		return SignedIn{}, ErrBadRefreshToken
	}

	return out, err
}

// useRefreshToken uses the token in the transaction of ctx and returns new tokens. If the token
// was used before, it ends the session and returns no error, so that the transaction is
// committed.
func (s *Service) useRefreshToken(ctx context.Context, sessionID, hash string, now time.Time) (out SignedIn, isReused bool, err error) {
	p, err := s.Sessions.GetPrincipal(ctx, SessionKey{ID: sessionID})
	if err != nil {
		return out, false, err
	}

	if !p.Session.Alive(now) {
		return out, false, ErrBadRefreshToken
	}

	// The update locks the session. The token is read afterwards, to see whether a concurrent
	// transaction has used it.
	p.Session.LastUsedAt = now
	if err := s.Sessions.Update(ctx, p.Session); err != nil {
		return out, false, err
	}

	t, err := s.Sessions.GetRefreshToken(ctx, hash)
	switch {
	case err != nil:
		return out, false, err
	case !t.UsedAt.IsZero() && now.Sub(t.UsedAt) > refreshGrace:
		return out, true, s.endReusedSession(ctx, p, now)
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

	out, err = s.issueTokens(p, secret, now)

	return out, false, err
}

// endReusedSession ends a session whose refresh token was reused, and records that.
func (s *Service) endReusedSession(ctx context.Context, p Principal, now time.Time) error {
	if err := s.endSession(ctx, p.Session, now); err != nil {
		return err
	}

	if err := s.Audit.Record(ctx, audit.By(p.Actor(), audit.SessionEnded, p.Session.ID).With("token_reuse")); err != nil {
		return err
	}

	return s.Events.Record(ctx, event.SessionReuseDetected{UserID: p.User.ID, SessionID: p.Session.ID})
}

// Logout ends the caller's session with its access token and refresh tokens.
func (s *Service) Logout(ctx context.Context, actor auth.Actor) error {
	if err := actor.RequireUser(); err != nil {
		return err
	}

	if actor.SessionID == "" {
		return nil
	}

	return s.Tx.Do(ctx, func(ctx context.Context) error {
		p, err := s.Sessions.GetPrincipal(ctx, SessionKey{ID: actor.SessionID})
		if err != nil {
			return fault.IfNotFound(err, nil) // the session has ended already
		}

		if p.User.ID != actor.UserID {
			return nil
		}

		return fault.IfNotFound(s.endSession(ctx, p.Session, s.Clock.Now()), nil)
	})
}
