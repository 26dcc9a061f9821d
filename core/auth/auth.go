// Package auth defines actors and their permissions for all modules.
package auth

import (
	"slices"
	"time"

	"github.com/locumhq/locum/core/fault"
)

// Role is the role of an account in the API.
type Role string

// The roles. An EMPLOYER registered an organization, an EMPLOYER_TEAM joined one.
const (
	Jobseeker    Role = "jobseeker"
	Employer     Role = "EMPLOYER"
	EmployerTeam Role = "EMPLOYER_TEAM"
)

// Permission allows a member an operation in an organization.
type Permission string

// The permissions. The admin of an organization holds all of them.
const (
	JobsCreate         Permission = "jobs.create"
	JobsUpdate         Permission = "jobs.update"
	JobsDelete         Permission = "jobs.delete"
	ApplicationsView   Permission = "applications.view"
	ApplicationsUpdate Permission = "applications.update"
	// AnyPermission is held by members who hold one of the others. Members without it see
	// the public data of their organization only.
	AnyPermission Permission = "any"
	// Manage is held by admins only: team, organization, billing.
	Manage Permission = "organization.manage"
)

// Actor is the caller of a use case, as stored at the time of the request. The zero Actor
// is a guest.
type Actor struct {
	UserID    string
	SessionID string
	Role      Role
	// Seeker is set for an account that may act as a jobseeker.
	Seeker bool
	// Moderator is set for a moderator of the service.
	Moderator bool
	// OrganizationID is the organization that the actor works for, empty
	// without one.
	OrganizationID string
	Permissions    []Permission
	// EnrollmentRequired is set for a member whose organization requires a second factor
	// and who has none. Such an actor has no OrganizationID.
	EnrollmentRequired bool
	// AppID is the app that acts for the user, restricted to Scopes, empty for users who
	// act themselves.
	AppID  string
	Scopes []Scope
	// ConfirmedAt is the time at which the actor last authenticated: at sign-in, or with
	// the password in this request. It is zero for actors without a session.
	ConfirmedAt time.Time
}

// confirmationLife is the time for which an authentication permits sensitive operations.
const confirmationLife = 10 * time.Minute

// ErrReauthenticate is the error of a sensitive operation that needs a recent
// authentication.
var ErrReauthenticate = fault.New(fault.Forbidden, "reauthentication_required", "Confirm this with your current password")

// ErrEnrollmentRequired is the error of employer operations for an actor with
// EnrollmentRequired.
var ErrEnrollmentRequired = fault.New(fault.Forbidden, "second_factor_enrollment_required", "Your organization requires a second factor; enroll one first")

// RequireConfirmed returns ErrReauthenticate unless the actor has authenticated within
// the last 10 minutes.
func (a Actor) RequireConfirmed(now time.Time) error {
	// A time in the future was written by a clock that was wrong.
	if age := now.Sub(a.ConfirmedAt); age < -time.Minute || age >= confirmationLife {
		return ErrReauthenticate
	}
	return nil
}

// Guest reports whether the caller is not signed in.
func (a Actor) Guest() bool { return a.UserID == "" }

// May reports whether the actor holds p in the actor's organization.
func (a Actor) May(p Permission) bool {
	grants := func(held Permission) bool { return held == p || held == Manage || p == AnyPermission }
	return a.OrganizationID != "" && slices.ContainsFunc(a.Permissions, grants)
}
