package identity

import (
	"context"
	"errors"
	"time"

	"github.com/locumhq/locum/core/audit"
	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/fault"
)

// The lives of a sign-in by a browser, which holds a cookie and is often left
// alone.
const (
	browserLife = 7 * 24 * time.Hour // absolute
	browserIdle = 12 * time.Hour
	browserNote = time.Minute // how often it is noted that it is used
)

const browserPrefix = "loc_bs_"

// LoginBrowser signs in as Login does and returns the secret of the cookie that
// stands for the session. It opens nothing but pages: neither the portal nor the
// developer interface takes it. A session that the browser had before, by the
// old secret, ends.
func (s *Service) LoginBrowser(ctx context.Context, in LoginInput, from Client, old string) (string, error) {
	secret := auth.NewSecret(browserPrefix, secretChars)
	return secret, s.signIn(ctx, in, from, s.openBrowser(secret, from, old))
}

// openBrowser opens a session in the place of the one that the browser had.
func (s *Service) openBrowser(secret string, from Client, old string) func(ctx context.Context, userID string, now time.Time) error {
	return func(ctx context.Context, userID string, now time.Time) error {
		if err := s.logoutBrowser(ctx, old, now); err != nil {
			return err
		}
		session := NewSession(s.NewID(), userID, from, now)
		session.ExpiresAt = now.Add(browserLife)
		if err := s.Browsers.Open(ctx, session, auth.HashSecret(secret)); err != nil {
			return err
		}
		return s.auditUser(ctx, userID, audit.SignInSucceeded, session.ID)
	}
}

// RegisterBrowser is Register for who fills in a page. What it returns is what
// LoginBrowser does.
func (s *Service) RegisterBrowser(ctx context.Context, in RegisterInput, from Client, old string) (string, error) {
	r, err := in.checked()
	if err != nil {
		return "", err
	}
	secret := auth.NewSecret(browserPrefix, secretChars)
	return secret, s.register(ctx, r, from, s.openBrowser(secret, from, old))
}

// RegisterEmployerBrowser is RegisterEmployer for who fills in a page.
func (s *Service) RegisterEmployerBrowser(ctx context.Context, in RegisterEmployerInput, from Client, old string) (string, error) {
	r, err := in.checked()
	if err != nil {
		return "", err
	}
	secret := auth.NewSecret(browserPrefix, secretChars)
	return secret, s.register(ctx, r, from, s.openBrowser(secret, from, old))
}

// AuthenticateBrowser finds who signed in with the cookie's secret, or
// fault.ErrUnauthorized.
func (s *Service) AuthenticateBrowser(ctx context.Context, secret string) (Principal, error) {
	if len(secret) != len(browserPrefix)+secretChars {
		return Principal{}, fault.ErrUnauthorized
	}
	p, err := s.Browsers.Principal(ctx, auth.HashSecret(secret))
	now := s.Clock.Now()
	switch {
	case errors.Is(err, ErrSessionNotFound):
		return Principal{}, fault.ErrUnauthorized
	case err != nil:
		return Principal{}, err
	case !p.Session.Alive(now) || now.Sub(p.Session.LastUsedAt) >= browserIdle:
		return Principal{}, fault.ErrUnauthorized
	case now.Sub(p.Session.LastUsedAt) < browserNote:
		return p, nil
	}
	err = s.Tx.Do(ctx, func(ctx context.Context) error {
		alive, err := s.Sessions.Use(ctx, p.Session.ID, now)
		if err == nil && !alive {
			return fault.ErrUnauthorized
		}
		return err
	})
	return p, err
}

// LogoutBrowser ends the session of the cookie's secret, if there is one.
func (s *Service) LogoutBrowser(ctx context.Context, secret string) error {
	return s.Tx.Do(ctx, func(ctx context.Context) error { return s.logoutBrowser(ctx, secret, s.Clock.Now()) })
}

func (s *Service) logoutBrowser(ctx context.Context, secret string, now time.Time) error {
	if secret == "" {
		return nil
	}
	p, err := s.Browsers.Principal(ctx, auth.HashSecret(secret))
	switch {
	case errors.Is(err, ErrSessionNotFound):
		return nil
	case err != nil:
		return err
	}
	return s.Sessions.End(ctx, p.User.ID, p.Session.ID, now)
}
