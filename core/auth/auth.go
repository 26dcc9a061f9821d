// Package auth says who acts and what they may do, in the words that every
// module shares.
package auth

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
}

// Guest reports whether nobody is signed in.
func (a Actor) Guest() bool { return a.UserID == "" }

// May reports whether the actor holds p in the actor's organization.
func (a Actor) May(p Permission) bool {
	if a.OrganizationID == "" {
		return false
	}
	for _, q := range a.Permissions {
		if q == p || q == Manage {
			return true
		}
	}
	return false
}
