package identity

import (
	"slices"
	"strings"
	"time"

	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/fault"
)

// Organization is an employer.
type Organization struct {
	ID          string
	Name        string
	Description string
	Website     string
	Logo        string
	Industry    string
	Size        string
	// RequireSecondFactor takes all permissions from members without a second factor.
	RequireSecondFactor bool
	// VerifiedAt is the time at which the organization was verified, or zero.
	VerifiedAt time.Time
	VerifiedBy string // VerifiedByModerator, VerifiedByDomain, VerificationRemoved or empty
	// HeldAt is the time since which the jobs of the organization await the decision of a
	// moderator, or zero.
	HeldAt time.Time
	// SuspendedAt is the time at which a moderator suspended the organization, or zero.
	SuspendedAt time.Time
	CreatedAt   time.Time
	UpdatedAt   time.Time
	Version     int64
}

// OrgRole is a member's role within an organization.
type OrgRole string

// The roles within an organization.
const (
	Admin     OrgRole = "admin"     // everything
	Recruiter OrgRole = "recruiter" // creates and updates jobs, handles applications
	Viewer    OrgRole = "viewer"    // reads applications
)

var errRole = fault.InvalidField("role", "must be one of: admin, recruiter, viewer")

// ParseOrgRole parses a role in upper or lower case. The role of an empty text is Recruiter.
func ParseOrgRole(s string) (OrgRole, bool) {
	switch r := OrgRole(strings.ToLower(s)); r {
	case "":
		return Recruiter, true
	case Admin, Recruiter, Viewer:
		return r, true
	}

	return "", false
}

// Defaults returns the permissions of new members with the role.
func (r OrgRole) Defaults() Permissions {
	switch r {
	case Admin:
		return Permissions{
			Jobs:         JobPermissions{Create: true, Update: true, Delete: true},
			Applications: ApplicationPermissions{View: true, Update: true},
		}
	case Recruiter:
		return Permissions{
			Jobs:         JobPermissions{Create: true, Update: true},
			Applications: ApplicationPermissions{View: true, Update: true},
		}
	}

	return Permissions{Applications: ApplicationPermissions{View: true}}
}

// Permissions are a member's permissions in the form of the API.
type Permissions struct {
	Jobs         JobPermissions         `json:"jobs"`
	Applications ApplicationPermissions `json:"applications"`
}

// JobPermissions are a member's rights over the organization's listings.
type JobPermissions struct {
	Create bool `json:"create"`
	Update bool `json:"update"`
	Delete bool `json:"delete"`
}

// ApplicationPermissions are a member's rights over applications.
type ApplicationPermissions struct {
	View   bool `json:"view"`
	Update bool `json:"update"`
}

// List returns the granted permissions by name, the form that the modules check.
func (p Permissions) List() []auth.Permission {
	permissions := []struct {
		isGranted bool
		name      auth.Permission
	}{
		{isGranted: p.Jobs.Create, name: auth.JobsCreate},
		{isGranted: p.Jobs.Update, name: auth.JobsUpdate},
		{isGranted: p.Jobs.Delete, name: auth.JobsDelete},
		{isGranted: p.Applications.View, name: auth.ApplicationsView},
		{isGranted: p.Applications.Update, name: auth.ApplicationsUpdate},
	}

	var granted []auth.Permission
	for _, permission := range permissions {
		if permission.isGranted {
			granted = append(granted, permission.name)
		}
	}

	return granted
}

// PermissionsOf is the reverse of List. It ignores unknown names.
func PermissionsOf(granted []auth.Permission) Permissions {
	has := func(p auth.Permission) bool { return slices.Contains(granted, p) }

	return Permissions{
		Jobs:         JobPermissions{Create: has(auth.JobsCreate), Update: has(auth.JobsUpdate), Delete: has(auth.JobsDelete)},
		Applications: ApplicationPermissions{View: has(auth.ApplicationsView), Update: has(auth.ApplicationsUpdate)},
	}
}

// MemberStatus is the status of a membership.
type MemberStatus string

// The statuses of a membership.
const (
	MemberInvited MemberStatus = "invited"
	MemberActive  MemberStatus = "active"
)

// invitationLife is the time for which an invitation can be accepted. After it, the
// organization may send another invitation.
const invitationLife = 7 * 24 * time.Hour

// Membership is the relation of a user to an organization.
type Membership struct {
	ID             string // a UUIDv7, so the team is ordered by the time of the invitation
	OrganizationID string
	UserID         string
	Role           OrgRole
	Permissions    Permissions
	// Founder is set for the user who registered the organization.
	Founder bool
	Status  MemberStatus
	// SecondFactorMissing is set if the organization requires a second factor and the member
	// has none. Such a membership grants no permissions. Only Members.GetByUser and the methods of
	// Sessions that return a Principal set it.
	SecondFactorMissing bool
	// InvitedName and InvitedEmail are the name and address that the organization entered.
	// Before the user accepts, the organization does not see the name of the account.
	InvitedName  string
	InvitedEmail string
	InvitedUntil time.Time
	CreatedAt    time.Time
	UpdatedAt    time.Time
	Version      int64
}

// NewOrganization returns a new organization and the membership of the user who
// registers it, its first admin.
func NewOrganization(
	organizationID, membershipID, userID, name, industry, size string,
	now time.Time,
) (organization Organization, founder Membership) {
	organization = Organization{ID: organizationID, Name: name, Industry: industry, Size: size, CreatedAt: now, UpdatedAt: now}
	founder = Membership{
		ID:             membershipID,
		OrganizationID: organizationID,
		UserID:         userID,
		Role:           Admin,
		Permissions:    Admin.Defaults(),
		Founder:        true,
		Status:         MemberActive,
		CreatedAt:      now,
		UpdatedAt:      now,
	}

	return organization, founder
}

// NewInvitation returns the membership of an invited user, with the default permissions of the role.
func NewInvitation(id, organizationID, userID, name, email string, role OrgRole, now time.Time) Membership {
	return Membership{
		ID:             id,
		OrganizationID: organizationID,
		UserID:         userID,
		Role:           role,
		Permissions:    role.Defaults(),
		Status:         MemberInvited,
		InvitedName:    name,
		InvitedEmail:   email,
		InvitedUntil:   now.Add(invitationLife),
		CreatedAt:      now,
		UpdatedAt:      now,
	}
}

// Renew replaces an expired invitation with the next one. It returns false, and changes
// nothing, for a member and for an invitation that has not expired.
func (m *Membership) Renew(next Membership, now time.Time) (isRenewed bool) {
	isExpiredInvitation := m.Status == MemberInvited && !m.InvitedUntil.After(now)
	if !isExpiredInvitation {
		return false
	}

	next.Version = m.Version
	*m = next

	return true
}

// Accept makes the invited user an active member.
func (m *Membership) Accept(now time.Time) {
	m.Status = MemberActive
	m.InvitedUntil = time.Time{}
	m.UpdatedAt = now
}

// Change sets the member's role and permissions. An admin has every permission.
func (m *Membership) Change(role OrgRole, p Permissions, now time.Time) {
	if role == Admin {
		p = Admin.Defaults()
	}

	m.Role = role
	m.Permissions = p
	m.UpdatedAt = now
}

// Grants returns the member's permissions in the organization. Those of an admin include auth.Manage.
func (m *Membership) Grants() []auth.Permission {
	if m.SecondFactorMissing {
		return nil
	}

	if m.Role == Admin {
		return append(Admin.Defaults().List(), auth.Manage)
	}

	return m.Permissions.List()
}

// Member is a membership with the name and address that the organization may see.
type Member struct {
	Membership
	Name  string
	Email string
}
