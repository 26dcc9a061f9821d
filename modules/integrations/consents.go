package integrations

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/id"
	"github.com/locumhq/locum/core/page"
)

// Consent is the set of scopes that a user allows an application.
type Consent struct {
	UserID, AppID string
	Scopes        []Scope
	GivenAt       time.Time
}

// Allowed is a consent with the name of its application.
type Allowed struct {
	Consent
	Name, Description string
}

// consent returns the user's consent to the application, if there is one. Inside a
// transaction it is locked until its end.
func (s *Service) consent(ctx context.Context, userID, appID string) (c Consent, found bool, err error) {
	given, err := s.Consents.List(ctx, []string{userID}, appID, page.After("", 1))
	if err != nil || len(given.Items) == 0 {
		return c, false, err
	}
	return given.Items[0].Consent, true, nil
}

// Consent stores that the caller allows the application the scopes, in addition to
// earlier ones. The caller's session does not end before the transaction does.
func (s *Service) Consent(ctx context.Context, by auth.Actor, appID string, scopes []Scope) error {
	if err := by.RequireUser(); err != nil {
		return err
	}
	return s.signedIn(ctx, by, func(ctx context.Context) error {
		c, _, err := s.consent(ctx, by.UserID, appID)
		if err != nil {
			return err
		}
		all := slices.DeleteFunc(Scopes(), func(scope Scope) bool { return !slices.Contains(slices.Concat(scopes, c.Scopes), scope) })
		return s.Consents.Upsert(ctx, Consent{UserID: by.UserID, AppID: appID, Scopes: all, GivenAt: s.Clock.Now()})
	})
}

// MyConsents lists the caller's consents.
func (s *Service) MyConsents(ctx context.Context, by auth.Actor, r page.Request) (page.Result[Allowed], error) {
	if err := by.RequireUser(); err != nil {
		return page.Result[Allowed]{}, err
	}
	return s.Consents.List(ctx, []string{by.UserID}, "", r)
}

// WithdrawConsent deletes the caller's consent to an application and revokes its
// tokens.
func (s *Service) WithdrawConsent(ctx context.Context, by auth.Actor, clientID string) error {
	if err := by.RequireUser(); err != nil {
		return err
	}
	appID, ok := id.Canonical(clientID)
	if !ok {
		return ErrConsentNotFound
	}
	return s.Tx.Do(ctx, func(ctx context.Context) error {
		n, err := s.Consents.Delete(ctx, by.UserID, ConsentFilter{AppID: appID})
		if err == nil && n == 0 {
			err = ErrConsentNotFound
		}
		return err
	})
}

// Scopes returns all scopes.
func Scopes() []Scope { return []Scope{JobsRead, ApplicationsRead, ApplicationsWrite} }

// parseScopes parses scopes, which are separated by spaces (RFC 6749 §3.3). It returns
// each once and in the order of Scopes, or the default for none; false if one of them
// is unknown.
func parseScopes(text string, byDefault []Scope) (out []Scope, known bool) {
	names := strings.FieldsFunc(text, func(r rune) bool { return r == ' ' })
	if len(names) == 0 {
		return byDefault, true
	}
	out = slices.DeleteFunc(Scopes(), func(s Scope) bool { return !slices.Contains(names, string(s)) })
	return out, !slices.ContainsFunc(names, func(name string) bool { return !slices.Contains(out, Scope(name)) })
}

// Covers reports whether all of the scopes are granted.
func Covers(granted, scopes []Scope) bool {
	return !slices.ContainsFunc(scopes, func(s Scope) bool { return !slices.Contains(granted, s) })
}
