package integrations

import (
	"context"
	"slices"
	"time"

	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/id"
	"github.com/locumhq/locum/core/page"
)

// Consent is what a user allows an application.
type Consent struct {
	UserID, AppID string
	Scopes        []Scope
	GivenAt       time.Time
}

// Allowed is a consent with the application that it is for.
type Allowed struct {
	Consent
	Name, Description string
}

// Consented reports whether the user allows the application all of the scopes
// already.
func (s *Service) Consented(ctx context.Context, userID, appID string, scopes []Scope) (bool, error) {
	c, err := s.Consents.Find(ctx, userID, appID)
	if fault.KindOf(err) == fault.NotFound {
		return false, nil
	}
	return err == nil && Covers(c.Scopes, scopes), err
}

// Consent notes that the caller allows the application the scopes, beside those
// that it has. The caller's session cannot end before the transaction does.
func (s *Service) Consent(ctx context.Context, by auth.Actor, appID string, scopes []Scope) error {
	return s.signedIn(ctx, by, func(ctx context.Context) error {
		c, err := s.Consents.Find(ctx, by.UserID, appID)
		if err != nil && fault.KindOf(err) != fault.NotFound {
			return err
		}
		var all []Scope
		for _, scope := range Scopes() {
			if slices.Contains(scopes, scope) || slices.Contains(c.Scopes, scope) {
				all = append(all, scope)
			}
		}
		return s.Consents.Give(ctx, Consent{UserID: by.UserID, AppID: appID, Scopes: all, GivenAt: s.Clock.Now()})
	})
}

// MyConsents lists what the caller allows applications.
func (s *Service) MyConsents(ctx context.Context, by auth.Actor, r page.Request) (page.Result[Allowed], error) {
	return s.Consents.Page(ctx, by.UserID, r)
}

// WithdrawConsent ends what the caller allows an application, with all tokens
// that it has, at once.
func (s *Service) WithdrawConsent(ctx context.Context, by auth.Actor, clientID string) error {
	appID, ok := id.Canonical(clientID)
	if !ok {
		return ErrConsentNotFound
	}
	return s.Tx.Do(ctx, func(ctx context.Context) error { return s.Consents.Withdraw(ctx, by.UserID, appID) })
}
