package identity

import (
	"context"
	"time"

	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/fault"
)

// The lifetimes of a session in a browser. They are shorter than those of API clients, because
// a browser may be left unattended.
const (
	browserLife = 7 * 24 * time.Hour
	browserIdle = 12 * time.Hour // the session ends after this time without a request
)

// lastUsedPrecision is the interval at which LastUsedAt is stored.
const lastUsedPrecision = time.Minute

// browserPrefix is the prefix of the secrets in cookies.
const browserPrefix = "loc_bs_"

// LoginBrowser signs in like Login, and returns the secret for the cookie of the session. The
// cookie is valid for pages, not for the APIs. LoginBrowser also ends the earlier session of the
// browser. The argument oldSecret is the secret from the cookie of that session, or empty if there
// is none.
func (s *Service) LoginBrowser(ctx context.Context, in LoginInput, from Client, oldSecret string) (secret string, err error) {
	secret = auth.NewSecret(browserPrefix, secretChars)
	return secret, s.signIn(ctx, in, from, s.openBrowser(secret, from, oldSecret))
}

// openBrowser returns a function that opens a session of a browser and ends the earlier session of
// the same browser. The argument secret is for the cookie of the new session. The argument
// oldSecret is from the cookie of the earlier session, or empty if there is none.
func (s *Service) openBrowser(secret string, from Client, oldSecret string) openSessionFunc {
	return func(ctx context.Context, userID string, now time.Time) error {
		if err := s.logoutBrowser(ctx, oldSecret, now); err != nil {
			return err
		}

		session := NewSession(s.NewID(), userID, from, now)
		session.ExpiresAt = now.Add(browserLife)
		session.CookieHash = auth.HashSecret(secret)

		return s.createSession(ctx, session)
	}
}

// RegisterBrowser is Register for browsers. It returns the secret for the cookie of the session.
// See LoginBrowser for oldSecret.
func (s *Service) RegisterBrowser(ctx context.Context, in Registrable, from Client, oldSecret string) (secret string, err error) {
	secret = auth.NewSecret(browserPrefix, secretChars)
	return secret, s.register(ctx, in, from, s.openBrowser(secret, from, oldSecret))
}

// AcceptInvitationBrowser is AcceptInvitation for browsers. It returns the secret for the cookie
// of the session. See LoginBrowser for oldSecret.
func (s *Service) AcceptInvitationBrowser(
	ctx context.Context,
	actor auth.Actor,
	in AcceptInvitationInput,
	from Client,
	oldSecret string,
) (secret string, err error) {
	secret = auth.NewSecret(browserPrefix, secretChars)
	return secret, s.acceptInvitation(ctx, actor, in, s.openBrowser(secret, from, oldSecret))
}

// AuthenticateBrowser returns the principal of the session with the cookie's secret: the session
// with its user and membership. It fails with fault.ErrUnauthorized if there is no such session, or
// the session has expired.
func (s *Service) AuthenticateBrowser(ctx context.Context, secret string) (Principal, error) {
	isMalformed := len(secret) != len(browserPrefix)+secretChars
	if isMalformed {
		return Principal{}, fault.ErrUnauthorized
	}

	principal, err := s.Sessions.GetPrincipal(ctx, SessionKey{CookieHash: auth.HashSecret(secret)})
	if err != nil {
		return Principal{}, fault.IfNotFound(err, fault.ErrUnauthorized)
	}

	now := s.Clock.Now()

	idle := now.Sub(principal.Session.LastUsedAt)
	if !principal.Session.IsAlive(now) || idle >= browserIdle {
		return Principal{}, fault.ErrUnauthorized
	}

	// Store the time of the request, at most once per lastUsedPrecision: not every request writes
	// to the database.
	if idle < lastUsedPrecision {
		return principal, nil
	}

	used := principal.Session
	used.LastUsedAt = now
	err = s.Tx.Do(ctx, func(ctx context.Context) error { return s.Sessions.Update(ctx, used) })

	return principal, fault.IfNotFound(err, fault.ErrUnauthorized)
}

// LogoutBrowser ends the session with the cookie's secret, if there is one.
func (s *Service) LogoutBrowser(ctx context.Context, secret string) error {
	return s.Tx.Do(ctx, func(ctx context.Context) error { return s.logoutBrowser(ctx, secret, s.Clock.Now()) })
}

// logoutBrowser ends the session in the transaction of ctx. It does nothing if there is none.
func (s *Service) logoutBrowser(ctx context.Context, secret string, now time.Time) error {
	if secret == "" {
		return nil
	}

	principal, err := s.Sessions.GetPrincipal(ctx, SessionKey{CookieHash: auth.HashSecret(secret)})
	if err != nil {
		return fault.IfNotFound(err, nil) // the session has ended already
	}

	return fault.IfNotFound(s.endSession(ctx, principal.Session, now), nil)
}
