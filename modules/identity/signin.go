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

	var signedIn SignedIn
	err := s.signIn(ctx, in, from, s.openSessionInto(&signedIn, from))

	return signedIn, err
}

// signIn checks the password. Then, in one transaction, it records the sign-in, checks the second
// factor and calls open, which opens the session. There is one such function for API clients and
// one for browsers.
func (s *Service) signIn(ctx context.Context, in LoginInput, from Client, open openSessionFunc) error {
	// RecordSignIn records nothing if the password hash is not the one that checkPassword has read. This
	// happens if a concurrent sign-in has renewed the hash. The second attempt reads the new hash.
	const attempts = 2

	for range attempts {
		user, newHash, err := s.checkPassword(ctx, in.Email, in.Password, from)
		if err != nil {
			return err
		}

		var isRecorded bool
		err = s.Tx.Do(ctx, func(ctx context.Context) (err error) {
			now := s.Clock.Now()

			isRecorded, err = s.Users.RecordSignIn(ctx, user.ID, user.PasswordHash, newHash, now)
			if err != nil || !isRecorded {
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
		case isRecorded:
			return s.clearFailures(ctx, user, from)
		}
	}

	return ErrBadCredentials
}

// checkPassword checks the password of the account with the address. It counts failures, and refuses
// the check after too many. clearFailures resets the count.
//
// newHash is the password hash that a sign-in stores. It is the current hash, unless the parameters of
// the hasher have changed since. Then it is a hash with the new parameters.
func (s *Service) checkPassword(ctx context.Context, email, password string, from Client) (user User, newHash string, err error) {
	limits := s.failuresOf(email, from)
	if err := s.checkFailures(ctx, limits); err != nil {
		return User{}, "", err
	}

	// Reserve a place in the queue of the hasher, or fail if too many checks are waiting: an attacker must not fill
	// the queue. Some places are left to known devices, on which the account has signed in before.
	deviceAccount := unknownDevice
	if s.isKnownDevice(email, from) {
		deviceAccount = LowerCaseKey(email)
	}

	release, err := s.gate.acquire(from.Address, deviceAccount)
	if err != nil {
		return User{}, "", err
	}
	defer release()

	user, err = s.findByEmail(ctx, email)
	if err != nil && !errors.Is(err, ErrUserNotFound) {
		return User{}, "", err
	}

	isRight, isStale, err := s.verifyPassword(ctx, user, password)
	if err != nil {
		return User{}, "", err
	}

	// A locked account gets the response for a wrong password.
	isLocked := !user.LockedAt.IsZero()
	if !isRight || isLocked {
		if err := s.addFailure(ctx, limits); err != nil {
			return User{}, "", err
		}

		return User{}, "", s.signInFailed(ctx, user.ID)
	}

	// Check the failures again, because concurrent attempts may have added failures meanwhile.
	// Otherwise parallel guesses would get more tries than sequential ones.
	if err := s.checkFailures(ctx, limits); err != nil {
		return User{}, "", err
	}

	if !isStale {
		return user, user.PasswordHash, nil
	}

	newHash, err = s.Hasher.Hash(ctx, password)
	if err != nil {
		return User{}, "", err
	}

	return user, newHash, nil
}

// verifyPassword reports whether the user has this password. For an unknown account, user is the
// zero User, and the check takes the same time. If isStale is true, the parameters of the hasher
// have changed since the hash was computed.
func (s *Service) verifyPassword(ctx context.Context, user User, password string) (isRight, isStale bool, err error) {
	if len(password) > maxPassword { // no account has such a password
		return false, false, nil
	}

	// Verify returns false for an empty hash, but takes the same time. The hash is also empty for an
	// invited user.
	hash := user.PasswordHash
	if s.isDisabledDemo(user) {
		hash = ""
	}

	return s.Hasher.Verify(ctx, hash, password)
}

// RefreshInput is the input of Refresh.
type RefreshInput struct {
	RefreshToken string `json:"refreshToken" validate:"required"`
}

// Refresh exchanges a refresh token for a new pair of tokens. A token can be used once. For a client
// that did not receive the response, it can be used again within refreshGrace. A later use means that
// two clients have the token, which may be stolen. So Refresh then ends the session.
func (s *Service) Refresh(ctx context.Context, in RefreshInput) (SignedIn, error) {
	if err := valid.Check("", in); err != nil {
		return SignedIn{}, err
	}

	hash := auth.HashSecret(in.RefreshToken)

	token, err := s.Sessions.GetRefreshToken(ctx, hash)
	if err != nil {
		return SignedIn{}, fault.IfNotFound(err, ErrBadRefreshToken)
	}

	var refreshed SignedIn
	var isReused bool

	err = s.Tx.Do(ctx, func(ctx context.Context) (err error) {
		refreshed, isReused, err = s.useRefreshToken(ctx, token.SessionID, hash, s.Clock.Now())
		return err
	})
	if isReused || errors.Is(err, ErrSessionNotFound) {
		return SignedIn{}, ErrBadRefreshToken
	}

	return refreshed, err
}

// useRefreshToken uses the token with the hash in the transaction of ctx and returns new tokens. If the
// token was used more than refreshGrace before, it ends the session and returns isReused. It returns no
// error then, because an error would roll back the transaction and with it the end of the session.
func (s *Service) useRefreshToken(
	ctx context.Context,
	sessionID, hash string,
	now time.Time,
) (refreshed SignedIn, isReused bool, err error) {
	principal, err := s.Sessions.GetPrincipal(ctx, SessionKey{ID: sessionID})
	if err != nil {
		return SignedIn{}, false, err
	}

	if !principal.Session.IsAlive(now) {
		return SignedIn{}, false, ErrBadRefreshToken
	}

	// Lock the session by an update. Read the token only then: a concurrent transaction with the same
	// token has either committed its use before, or waits for this lock.
	principal.Session.LastUsedAt = now
	if err := s.Sessions.Update(ctx, principal.Session); err != nil {
		return SignedIn{}, false, err
	}

	token, err := s.Sessions.GetRefreshToken(ctx, hash)
	if err != nil {
		return SignedIn{}, false, err
	}

	isFirstUse := token.UsedAt.IsZero()
	isRetry := !isFirstUse && now.Sub(token.UsedAt) <= refreshGrace

	if !isFirstUse && !isRetry {
		return SignedIn{}, true, s.endReusedSession(ctx, principal, now)
	}

	isExpired := !now.Before(token.ExpiresAt)
	if isExpired {
		return SignedIn{}, false, ErrBadRefreshToken
	}

	// Store the next token, and the time at which this one was used. A retry keeps the time of the first use,
	// so that it does not extend the grace.
	next, secret := principal.Session.NewRefreshToken(now)

	changedTokens := []RefreshToken{next}
	if isFirstUse {
		token.UsedAt = now
		changedTokens = append(changedTokens, token)
	}

	if err := s.Sessions.Update(ctx, principal.Session, changedTokens...); err != nil {
		return SignedIn{}, false, err
	}

	refreshed, err = s.issueTokens(principal, secret, now)

	return refreshed, false, err
}

// endReusedSession ends a session whose refresh token was reused. It records the reuse in the audit
// log and as an event.
func (s *Service) endReusedSession(ctx context.Context, p Principal, now time.Time) error {
	if err := s.endSession(ctx, p.Session, now); err != nil {
		return err
	}

	entry := audit.By(p.Actor(), audit.SessionEnded, p.Session.ID).With("token_reuse")
	if err := s.Audit.Record(ctx, entry); err != nil {
		return err
	}

	return s.Events.Record(ctx, event.SessionReuseDetected{UserID: p.User.ID, SessionID: p.Session.ID})
}

// Logout ends the caller's session with its access token and refresh tokens.
func (s *Service) Logout(ctx context.Context, actor auth.Actor) error {
	if err := actor.RequireUser(); err != nil {
		return err
	}

	if actor.SessionID == "" { // there is no session to end
		return nil
	}

	return s.Tx.Do(ctx, func(ctx context.Context) error {
		principal, err := s.Sessions.GetPrincipal(ctx, SessionKey{ID: actor.SessionID})
		if err != nil {
			return fault.IfNotFound(err, nil) // the session has ended already
		}

		if principal.User.ID != actor.UserID {
			return nil
		}

		return fault.IfNotFound(s.endSession(ctx, principal.Session, s.Clock.Now()), nil)
	})
}
