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

	guest := Actor{}

	// A jobseeker, and two apps that act for them: one may read jobs, the other may write applications.
	seeker := Actor{UserID: "user", Role: Jobseeker, Seeker: true}
	readingApp, writingApp := seeker, seeker
	readingApp.AppID, readingApp.Scopes = "app", []Scope{ScopeJobsRead}
	writingApp.AppID, writingApp.Scopes = "app", []Scope{ScopeApplicationsWrite}

	// A member of a team with one permission, and an admin with all permissions and an app.
	member := Actor{UserID: "user", Role: EmployerTeam, OrganizationID: "organization", Permissions: []Permission{JobsCreate}}
	admin := Actor{UserID: "user", Role: Employer, OrganizationID: "organization", Permissions: []Permission{Manage}}
	adminsApp := admin
	adminsApp.AppID = "app"

	// An employer who has not set up the second factor that their organization requires, and one whose organization
	// is closed.
	enrolling := Actor{UserID: "user", Role: Employer, EnrollmentRequired: true}
	closed := Actor{UserID: "user", Role: Employer}

	for _, test := range []struct {
		name string
		got  error
		want error // nil if the actor may do the operation
	}{
		{name: "a guest is not a user", got: guest.RequireUser(), want: fault.ErrUnauthorized},
		{name: "a guest is not a jobseeker", got: guest.RequireSeeker(), want: fault.ErrUnauthorized},
		{name: "a guest is not a member", got: guest.RequireMember(), want: fault.ErrUnauthorized},
		{name: "a guest is not an employer", got: guest.RequireEmployer(), want: fault.ErrUnauthorized},
		{name: "a guest needs no scope", got: guest.RequireScope(ScopeJobsRead), want: nil},
		{name: "a jobseeker is a jobseeker", got: seeker.RequireSeeker(), want: nil},
		{name: "a jobseeker is not an employer", got: seeker.RequireEmployer(), want: fault.ErrForbidden},
		{name: "a jobseeker is not a member", got: seeker.RequireMember(), want: fault.ErrForbidden},
		{name: "an app is refused if no scope is permitted", got: readingApp.RequireUser(), want: ErrScope},
		{name: "an app without the scope is not a jobseeker", got: readingApp.RequireSeeker(ScopeApplicationsWrite), want: ErrScope},
		{name: "an app with the scope is a jobseeker", got: writingApp.RequireSeeker(ScopeApplicationsWrite), want: nil},
		{name: "an app without the scope is refused", got: writingApp.RequireScope(ScopeJobsRead), want: ErrScope},
		{name: "an app of an admin has no permissions", got: adminsApp.Require(JobsCreate), want: ErrScope},
		{name: "an app of an employer is not an employer", got: adminsApp.RequireEmployer(), want: ErrScope},
		{name: "a member has the granted permission", got: member.Require(JobsCreate), want: nil},
		{name: "a member with a permission has any permission", got: member.Require(AnyPermission), want: nil},
		{name: "a member does not have another permission", got: member.Require(JobsDelete), want: fault.ErrForbidden},
		{name: "an admin has all permissions", got: admin.Require(JobsDelete), want: nil},
		{name: "an admin is not a jobseeker", got: admin.RequireSeeker(), want: fault.ErrForbidden},
		{name: "a member without the required second factor is refused", got: enrolling.Require(AnyPermission), want: ErrEnrollmentRequired},
		{name: "an employer without the required second factor is refused", got: enrolling.RequireEmployer(), want: ErrEnrollmentRequired},
		{name: "an employer of a closed organization is an employer", got: closed.RequireEmployer(), want: nil},
		{name: "an employer of a closed organization is not a member", got: closed.RequireMember(), want: fault.ErrForbidden},
	} {
		if test.want == nil {
			require.NoError(t, test.got, test.name)
		} else {
			require.ErrorIs(t, test.got, test.want, test.name)
		}
	}
}
