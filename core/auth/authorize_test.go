package auth

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/core/fault"
)

func TestActor_Authorization(t *testing.T) {
	t.Parallel()
	seeker := Actor{UserID: "1", Role: Jobseeker, Seeker: true}
	app := seeker
	app.AppID, app.Scopes = "2", []Scope{ScopeJobsRead}
	writer := app
	writer.Scopes = []Scope{ScopeApplicationsWrite}
	member := Actor{UserID: "1", Role: EmployerTeam, OrganizationID: "3", Permissions: []Permission{JobsCreate}}
	admin := Actor{UserID: "1", Role: Employer, OrganizationID: "3", Permissions: []Permission{Manage}}
	adminsApp := admin
	adminsApp.AppID = "2"
	enrolling := Actor{UserID: "1", Role: Employer, EnrollmentRequired: true}
	closed := Actor{UserID: "1", Role: Employer}
	for _, x := range []struct {
		name string
		got  error
		want error
	}{
		{"a guest is no user", Actor{}.RequireUser(), fault.ErrUnauthorized},
		{"a guest is no jobseeker", Actor{}.RequireSeeker(), fault.ErrUnauthorized},
		{"a guest is no member", Actor{}.RequireMember(), fault.ErrUnauthorized},
		{"a guest is no employer", Actor{}.RequireEmployer(), fault.ErrUnauthorized},
		{"a guest searches", Actor{}.RequireScope(ScopeJobsRead), nil},
		{"a jobseeker", seeker.RequireSeeker(), nil},
		{"a jobseeker is no employer", seeker.RequireEmployer(), fault.ErrForbidden},
		{"a jobseeker is no member", seeker.RequireMember(), fault.ErrForbidden},
		{"an app may do nothing that no scope allows", app.RequireUser(), ErrScope},
		{"an app without the scope", app.RequireSeeker(ScopeApplicationsWrite), ErrScope},
		{"an app with the scope", writer.RequireSeeker(ScopeApplicationsWrite), nil},
		{"an app without the scope searches", writer.RequireScope(ScopeJobsRead), ErrScope},
		{"an app of an admin", adminsApp.Require(JobsCreate), ErrScope},
		{"an app of an employer", adminsApp.RequireEmployer(), ErrScope},
		{"a member with the permission", member.Require(JobsCreate), nil},
		{"a member with any permission", member.Require(AnyPermission), nil},
		{"a member without the permission", member.Require(JobsDelete), fault.ErrForbidden},
		{"an admin", admin.Require(JobsDelete), nil},
		{"an admin is no jobseeker", admin.RequireSeeker(), fault.ErrForbidden},
		{"a member without a second factor", enrolling.Require(AnyPermission), ErrEnrollmentRequired},
		{"an employer without a second factor", enrolling.RequireEmployer(), ErrEnrollmentRequired},
		{"an employer of a closed organization", closed.RequireEmployer(), nil},
		{"an employer of a closed organization is no member", closed.RequireMember(), fault.ErrForbidden},
	} {
		if x.want == nil {
			require.NoError(t, x.got, x.name)
		} else {
			require.ErrorIs(t, x.got, x.want, x.name)
		}
	}
}
