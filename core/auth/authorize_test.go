package auth

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/core/fault"
)

// TestActor_Authorization checks for each kind of actor which operations it may do. An app acts for a
// user and never has more than its scopes: it has no permissions of an employer, even for an admin.
func TestActor_Authorization(t *testing.T) {
	t.Parallel()
	seeker := Actor{UserID: "1", Role: Jobseeker, Seeker: true}
	app := Actor{UserID: "1", Role: Jobseeker, Seeker: true, AppID: "2", Scopes: []Scope{ScopeJobsRead}}
	writer := Actor{UserID: "1", Role: Jobseeker, Seeker: true, AppID: "2", Scopes: []Scope{ScopeApplicationsWrite}}
	member := Actor{UserID: "1", Role: EmployerTeam, OrganizationID: "3", Permissions: []Permission{JobsCreate}}
	admin := Actor{UserID: "1", Role: Employer, OrganizationID: "3", Permissions: []Permission{Manage}}
	adminsApp := admin
	adminsApp.AppID = "2"
	enrolling := Actor{UserID: "1", Role: Employer, EnrollmentRequired: true}
	closed := Actor{UserID: "1", Role: Employer}
	for _, c := range []struct {
		name string
		got  error
		want error
	}{
		{"a guest is not a user", Actor{}.RequireUser(), fault.ErrUnauthorized},
		{"a guest is not a jobseeker", Actor{}.RequireSeeker(), fault.ErrUnauthorized},
		{"a guest is not a member", Actor{}.RequireMember(), fault.ErrUnauthorized},
		{"a guest is not an employer", Actor{}.RequireEmployer(), fault.ErrUnauthorized},
		{"a guest needs no scope", Actor{}.RequireScope(ScopeJobsRead), nil},
		{"a jobseeker is a jobseeker", seeker.RequireSeeker(), nil},
		{"a jobseeker is not an employer", seeker.RequireEmployer(), fault.ErrForbidden},
		{"a jobseeker is not a member", seeker.RequireMember(), fault.ErrForbidden},
		{"an app is refused if no scope is permitted", app.RequireUser(), ErrScope},
		{"an app without the scope is not a jobseeker", app.RequireSeeker(ScopeApplicationsWrite), ErrScope},
		{"an app with the scope is a jobseeker", writer.RequireSeeker(ScopeApplicationsWrite), nil},
		{"an app without the scope is refused", writer.RequireScope(ScopeJobsRead), ErrScope},
		{"an app of an admin has no permissions", adminsApp.Require(JobsCreate), ErrScope},
		{"an app of an employer is not an employer", adminsApp.RequireEmployer(), ErrScope},
		{"a member has the granted permission", member.Require(JobsCreate), nil},
		{"a member with a permission has any permission", member.Require(AnyPermission), nil},
		{"a member does not have another permission", member.Require(JobsDelete), fault.ErrForbidden},
		{"an admin has all permissions", admin.Require(JobsDelete), nil},
		{"an admin is not a jobseeker", admin.RequireSeeker(), fault.ErrForbidden},
		{"a member without the required second factor is refused", enrolling.Require(AnyPermission), ErrEnrollmentRequired},
		{"an employer without the required second factor is refused", enrolling.RequireEmployer(), ErrEnrollmentRequired},
		{"an employer of a closed organization is an employer", closed.RequireEmployer(), nil},
		{"an employer of a closed organization is not a member", closed.RequireMember(), fault.ErrForbidden},
	} {
		if c.want == nil {
			require.NoError(t, c.got, c.name)
		} else {
			require.ErrorIs(t, c.got, c.want, c.name)
		}
	}
}
