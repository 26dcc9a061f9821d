// Package auth defines actors and their permissions for all modules.
package auth

import (
	"slices"
	"time"

	"github.com/locumhq/locum/core/fault"
)

// Role is the role of an account in the API.
type Role string

// The roles. An account with the role EMPLOYER has registered an organization, and one with the role
// EMPLOYER_TEAM has joined an organization.
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
	// AnyPermission is held by every member who holds at least one other permission.
	// Members without permissions see only the public data of their organization.
	AnyPermission Permission = "any"
	// Manage permits changes of the team, the organization and its billing. Only admins
	// hold it.
	Manage Permission = "organization.manage"
)

// Actor is the caller of a use case, with the permissions that the caller has at the time
// of the request. The zero Actor is a guest.
type Actor struct {
	UserID    string
	SessionID string
	Role      Role
	// Seeker is set for an account that may act as a jobseeker.
	Seeker bool
	// Moderator is set for a moderator of the service.
	Moderator bool
	// OrganizationID is the organization that the actor works for, or empty.
	OrganizationID string
	Permissions    []Permission
	// EnrollmentRequired is set for a member without a second factor whose organization
	// requires one. Such an actor has no OrganizationID.
	EnrollmentRequired bool
	// AppID is the app that acts for the user within Scopes. It is empty if the user acts
	// without an app.
	AppID  string
	Scopes []Scope
	// ConfirmedAt is the time at which the actor last authenticated, at sign-in or by
	// entering the password again. It is zero for actors without a session.
	ConfirmedAt time.Time
}

const (
	// confirmationLife is the time for which an authentication permits sensitive operations.
	confirmationLife = 10 * time.Minute
	// maxClockSkew is how far another machine's clock may be ahead of this one.
	maxClockSkew = time.Minute
)

// ErrReauthenticate is returned by sensitive operations whose actor has not authenticated
// recently.
var ErrReauthenticate = fault.New(fault.Forbidden, "reauthentication_required", "Confirm this with your current password")

// ErrEnrollmentRequired is returned by employer operations to an actor with
// EnrollmentRequired.
var ErrEnrollmentRequired = fault.New(
	fault.Forbidden,
	"second_factor_enrollment_required",
	"Your organization requires a second factor; enroll one first",
)

// RequireConfirmed returns ErrReauthenticate unless the actor has authenticated within
// the last 10 minutes.
func (a Actor) RequireConfirmed(now time.Time) error {
	age := now.Sub(a.ConfirmedAt)

	isInFuture := age < -maxClockSkew // written by a wrong clock, so it proves nothing
	if isInFuture || age >= confirmationLife {
		return ErrReauthenticate
	}

	return nil
}

// Guest reports whether the caller is not signed in.
func (a Actor) Guest() bool { return a.UserID == "" }

// May reports whether the actor holds the permission in the actor's own organization.
func (a Actor) May(p Permission) bool {
	// Manage is held by admins, who have all permissions.
	grants := func(held Permission) bool { return held == p || held == Manage || p == AnyPermission }
	return a.OrganizationID != "" && slices.ContainsFunc(a.Permissions, grants)
}
