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

// Consent is the permission of a user for an application to use the scopes.
type Consent struct {
	UserID, AppID string
	Scopes        []Scope
	GivenAt       time.Time
}

// AppConsent is a consent with the name of its application.
type AppConsent struct {
	Consent
	Name, Description string
}

// findConsent returns the user's consent to the application, and whether there is one.
// Inside a transaction, the consent is locked until the transaction ends.
func (s *Service) findConsent(ctx context.Context, userID, appID string) (c Consent, exists bool, err error) {
	consents, err := s.Consents.List(ctx, []string{userID}, appID, page.After("", 1))
	if err != nil || len(consents.Items) == 0 {
		return c, false, err
	}

	return consents.Items[0].Consent, true, nil
}

// Consent stores that the caller permits the application to use the scopes, in addition to
// the scopes that the caller has permitted before. The caller's session does not end before
// the transaction does.
func (s *Service) Consent(ctx context.Context, by auth.Actor, appID string, scopes []Scope) error {
	if err := by.RequireUser(); err != nil {
		return err
	}

	return s.withSession(ctx, by, func(ctx context.Context) error {
		earlier, _, err := s.findConsent(ctx, by.UserID, appID) // empty if there is none
		if err != nil {
			return err
		}

		// Take the scopes from Scopes, for a fixed order without duplicates.
		permitted := slices.Concat(earlier.Scopes, scopes)
		isNotPermitted := func(scope Scope) bool { return !slices.Contains(permitted, scope) }
		all := slices.DeleteFunc(Scopes(), isNotPermitted)

		return s.Consents.Upsert(ctx, Consent{UserID: by.UserID, AppID: appID, Scopes: all, GivenAt: s.Clock.Now()})
	})
}

// MyConsents lists the caller's consents.
func (s *Service) MyConsents(ctx context.Context, by auth.Actor, r page.Request) (page.Result[AppConsent], error) {
	if err := by.RequireUser(); err != nil {
		return page.Result[AppConsent]{}, err
	}

	const everyApp = ""

	return s.Consents.List(ctx, []string{by.UserID}, everyApp, r)
}

// WithdrawConsent deletes the caller's consent to an application and revokes the tokens that
// the application has for the caller.
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

// parseScopes parses a list of scopes with spaces between them (RFC 6749 §3.3). It returns
// the scopes without duplicates, in the order of Scopes, or byDefault if the text is empty.
// It returns false if a scope is unknown.
func parseScopes(text string, byDefault []Scope) (scopes []Scope, areKnown bool) {
	names := strings.FieldsFunc(text, func(r rune) bool { return r == ' ' })
	if len(names) == 0 {
		return byDefault, true
	}

	scopes = slices.DeleteFunc(Scopes(), func(s Scope) bool { return !slices.Contains(names, string(s)) })
	hasUnknown := slices.ContainsFunc(names, func(name string) bool { return !slices.Contains(scopes, Scope(name)) })

	return scopes, !hasUnknown
}

// Covers reports whether all of the scopes are granted.
func Covers(granted, scopes []Scope) bool {
	return !slices.ContainsFunc(scopes, func(s Scope) bool { return !slices.Contains(granted, s) })
}
