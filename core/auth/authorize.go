package auth

import (
	"slices"

	"github.com/locumhq/locum/core/fault"
)

// Scope is a set of operations that a user permits an app to do.
type Scope string

// The scopes.
const (
	ScopeJobsRead          Scope = "jobs:read"
	ScopeApplicationsRead  Scope = "applications:read"
	ScopeApplicationsWrite Scope = "applications:write"
)

// ErrScope is returned to an app that exceeds its scopes.
var ErrScope = fault.New(
	fault.Forbidden,
	"insufficient_scope",
	"This needs an access token with the scope that WWW-Authenticate names; API keys only read",
)

// Use cases authorize their actors with the methods below. An app that acts for a user is
// refused unless the use case permits one of the app's scopes.

// RequireUser returns an error unless the actor is signed in. Apps need one of the
// permitted scopes.
func (a Actor) RequireUser(permitted ...Scope) error {
	if a.Guest() {
		return fault.ErrUnauthorized
	}

	return a.requireScope(permitted)
}

// RequireSeeker returns an error unless the actor may act as a jobseeker. Apps need one of
// the permitted scopes.
func (a Actor) RequireSeeker(permitted ...Scope) error {
	err := a.RequireUser(permitted...)
	if err == nil && !a.Seeker {
		err = fault.ErrForbidden
	}

	return err
}

// RequireEmployer returns an error unless the actor has an employer's account. The
// actor's organization may be closed.
func (a Actor) RequireEmployer() error {
	switch {
	case a.Guest():
		return fault.ErrUnauthorized
	case a.EnrollmentRequired:
		return ErrEnrollmentRequired
	case a.Role == Jobseeker:
		return fault.ErrForbidden
	}

	return a.requireScope(nil)
}

// RequireMember returns an error unless the actor works for an organization.
func (a Actor) RequireMember() error {
	switch {
	case a.EnrollmentRequired:
		return ErrEnrollmentRequired
	case a.OrganizationID == "" && a.Guest():
		return fault.ErrUnauthorized
	case a.OrganizationID == "":
		return fault.ErrForbidden
	}

	return a.requireScope(nil)
}

// Require returns an error unless the actor has the permission in their organization.
func (a Actor) Require(p Permission) error {
	err := a.RequireMember()
	if err == nil && !a.May(p) {
		err = fault.ErrForbidden
	}

	return err
}

// RequireModerator returns an error unless the actor is a moderator who acts without an
// app.
func (a Actor) RequireModerator() error {
	err := a.RequireUser()
	if err == nil && !a.Moderator {
		err = fault.ErrForbidden
	}

	return err
}

// RequireScope returns an error for an app that acts for a user without having the scope.
// It returns nil for users and guests.
func (a Actor) RequireScope(s Scope) error { return a.requireScope([]Scope{s}) }

// requireScope returns ErrScope for an app that has none of the permitted scopes.
func (a Actor) requireScope(permitted []Scope) error {
	if a.AppID == "" { // a user or guest without an app
		return nil
	}

	hasScope := func(s Scope) bool { return slices.Contains(a.Scopes, s) }
	if !slices.ContainsFunc(permitted, hasScope) {
		return ErrScope
	}

	return nil
}
