// Package auth says who acts and what they may do, in the words that every
// module shares.
package auth

import (
	"time"

	"github.com/locumhq/locum/core/fault"
)

// Role is what an account is shown as.
type Role string

// The roles. An EMPLOYER registered an organization, an EMPLOYER_TEAM joined one.
const (
	Jobseeker    Role = "jobseeker"
	Employer     Role = "EMPLOYER"
	EmployerTeam Role = "EMPLOYER_TEAM"
)

// Permission is one thing that a member may do in an organization.
type Permission string

// The permissions. The admin of an organization holds all of them.
const (
	JobsCreate         Permission = "jobs.create"
	JobsUpdate         Permission = "jobs.update"
	JobsDelete         Permission = "jobs.delete"
	ApplicationsView   Permission = "applications.view"
	ApplicationsUpdate Permission = "applications.update"
	// AnyPermission is held by members who hold one of the others. Members without it
	// see of their organization what the public sees.
	AnyPermission Permission = "any"
	// Manage is the admin's own: team, organization, billing.
	Manage Permission = "organization.manage"
)

// Actor is the caller of a use case, as the database knows them at this
// request. The zero Actor is a guest.
type Actor struct {
	UserID    string
	SessionID string
	Role      Role
	// Seeker is set for an account that may act as a jobseeker.
	Seeker bool
	// OrganizationID is the organization that the actor works for, empty
	// without one.
	OrganizationID string
	Permissions    []Permission
	// EnrollmentRequired is set for a member whose organization requires a second
	// factor that the actor does not have. Such an actor has no OrganizationID.
	EnrollmentRequired bool
	// AppID is the app that acts for the user, with no more than its Scopes, empty for
	// users who act themselves.
	AppID  string
	Scopes []Scope
	// ConfirmedAt is when the actor last proved who they are: at sign-in, or with
	// the password in this request. Zero for actors without a session.
	ConfirmedAt time.Time
}

// confirmationLife is how long a proof of who the actor is allows sensitive
// operations.
const confirmationLife = 10 * time.Minute

// ErrReauthenticate is the answer to a sensitive operation that needs a recent
// proof of who the actor is.
var ErrReauthenticate = fault.New(fault.Forbidden, "reauthentication_required", "Confirm this with your current password")

// ErrEnrollmentRequired is the answer to an actor with EnrollmentRequired on
// routes for employers.
var ErrEnrollmentRequired = fault.New(fault.Forbidden, "second_factor_enrollment_required", "Your organization requires a second factor; enroll one first")

// RequireConfirmed fails with ErrReauthenticate unless the actor has proved who
// they are within the last 10 minutes.
func (a Actor) RequireConfirmed(now time.Time) error {
	// A proof in the future comes from a clock that was wrong.
	if age := now.Sub(a.ConfirmedAt); age < -time.Minute || age >= confirmationLife {
		return ErrReauthenticate
	}
	return nil
}

// Guest reports whether the caller is not signed in.
func (a Actor) Guest() bool { return a.UserID == "" }

// May reports whether the actor holds p in the actor's organization.
func (a Actor) May(p Permission) bool {
	if a.OrganizationID == "" {
		return false
	}
	for _, q := range a.Permissions {
		if q == p || q == Manage || p == AnyPermission {
			return true
		}
	}
	return false
}
