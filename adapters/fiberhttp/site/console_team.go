package site

import (
	"context"
	"errors"
	"net/url"

	"github.com/gofiber/fiber/v2"

	"github.com/locumhq/locum/adapters/fiberhttp/pages"
	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/modules/identity"
)

var (
	teamPage         = pages.Parse(files, "html/console-team.html", "html/console-parts.html")
	memberPage       = pages.Parse(files, "html/console-member.html", "html/console-parts.html")
	organizationPage = pages.Parse(files, "html/console-organization.html", "html/console-parts.html")
)

// teamView is the list of an organization's members, and the form that invites another member.
type teamView struct {
	Members   []memberRow
	Next      string // the path of the next page, empty on the last one
	MayManage bool   // the viewer may invite and change members
	Form      pages.Form
}

// memberRow is a member of the team, or a user who is invited to it and has not joined yet.
type memberRow struct {
	identity.Member
	RoleText  string
	IsInvited bool
}

// roleTexts maps the roles of members to their names.
var roleTexts = map[identity.OrgRole]string{identity.Admin: "Admin", identity.Recruiter: "Recruiter", identity.Viewer: "Viewer"}

// roles are the choices for the role of a member. Each text lists what the role allows.
var roles = []pages.Choice{
	{Value: string(identity.Recruiter), Text: "Recruiter: posts and changes jobs, handles applications"},
	{Value: string(identity.Viewer), Text: "Viewer: reads applications"},
	{Value: string(identity.Admin), Text: "Admin: everything, with the team and the organization"},
}

// Roles returns the choices for the role of the invited user.
func (teamView) Roles() []pages.Choice { return roles }

func newMemberRow(m identity.Member) memberRow {
	return memberRow{Member: m, RoleText: roleTexts[m.Role], IsInvited: m.Status == identity.MemberInvited}
}

// team handles GET /employer/team. The form for an invitation suggests the role of a recruiter.
func (s *Site) team(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer) error {
	return s.showTeam(ctx, c, viewer, pages.Form{Values: url.Values{"role": {string(identity.Recruiter)}}})
}

// showTeam shows the members and the form for an invitation.
func (s *Site) showTeam(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer, form pages.Form) error {
	actor := viewer.Actor()

	members, err := s.services.Identity.Team(ctx, actor, page.After(c.Query("after"), consolePageSize))
	if err != nil {
		return err
	}

	v := teamView{MayManage: actor.May(auth.Manage), Form: form}
	for _, member := range members.Items {
		v.Members = append(v.Members, newMemberRow(member))
	}

	if members.NextCursor != "" {
		v.Next = withQuery("/employer/team", "after", members.NextCursor)
	}

	return s.renderer.Render(c, form.Problem.Status(), teamPage, viewer, v)
}

// invite handles POST /employer/team. It invites a user to the team.
func (s *Site) invite(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer) error {
	form := pages.FormOf(c)

	problem, err := formProblem(s.inviteMember(ctx, c, viewer, form), noFormName)
	if err != nil {
		return err
	}

	if problem != nil {
		form.Problem = problem
		return s.showTeam(ctx, c, viewer, form)
	}

	return redirect(c, "/employer/team", "invited")
}

// inviteMember sends the invitation in the form. It counts towards the rate limit of the API operation that does the same.
func (s *Site) inviteMember(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer, form pages.Form) error {
	if err := s.renderer.TakeLimit(ctx, c, inviteMemberOperation); err != nil {
		return err
	}

	return s.services.Identity.Invite(ctx, viewer.Actor(), identity.InviteInput{
		Name:  form.Value("name"),
		Email: form.Value("email"),
		Role:  form.Value("role"),
	})
}

// memberView is the page of a member with the forms for the role and the permissions.
type memberView struct {
	memberRow
	Permissions []permissionRow
	MayManage   bool
	IsViewer    bool // the member is the signed-in user
	Problem     *pages.Problem
}

// Roles returns the choices for the role of the member.
func (memberView) Roles() []pages.Choice { return roles }

// permissionRow is a check box for a permission. Name is the name of its form field, and Held is set if the member has it.
type permissionRow struct {
	Name, Text string
	Held       bool
}

// permissionRows returns a row for each permission that a member can have. p are the permissions of
// the member.
func permissionRows(p identity.Permissions) []permissionRow {
	return []permissionRow{
		{Name: "jobs.create", Text: "Post and duplicate jobs", Held: p.Jobs.Create},
		{Name: "jobs.update", Text: "Change, renew, close and archive jobs", Held: p.Jobs.Update},
		{Name: "jobs.delete", Text: "Delete jobs with the API", Held: p.Jobs.Delete},
		{Name: "applications.view", Text: "Read applications", Held: p.Applications.View},
		{
			Name: "applications.update",
			Text: "Decide on applications, arrange interviews and write to applicants",
			Held: p.Applications.Update,
		},
	}
}

// memberOf returns the member of the viewer's team whose id is in the path of the request. For users of
// other organizations it returns a fault.NotFound.
func (s *Site) memberOf(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer) (identity.Member, error) {
	member, err := s.services.Identity.Permissions(ctx, viewer.Actor(), c.Params("id"))
	return member, hideOutsider(err)
}

// hideOutsider replaces identity.ErrNotInTeam by a fault.NotFound, so that the page does not
// show whether the user exists.
func hideOutsider(err error) error {
	if errors.Is(err, identity.ErrNotInTeam) {
		return fault.New(fault.NotFound, "member_not_found", "Team member not found")
	}

	return err
}

// member handles GET /employer/team/:id.
func (s *Site) member(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer) error {
	var noProblem *pages.Problem
	return s.showMember(ctx, c, viewer, noProblem)
}

// showMember shows one member with the permissions, and the problem of a form that has failed, if there is one.
func (s *Site) showMember(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer, problem *pages.Problem) error {
	member, err := s.memberOf(ctx, c, viewer)
	if err != nil {
		return err
	}

	v := memberView{
		memberRow:   newMemberRow(member),
		Permissions: permissionRows(member.Permissions),
		MayManage:   viewer.Actor().May(auth.Manage),
		IsViewer:    member.UserID == viewer.Actor().UserID,
		Problem:     problem,
	}

	return s.renderer.Render(c, problem.Status(), memberPage, viewer, v)
}

// changeMember handles POST /employer/team/:id, the forms on the page of a member. They change the role or the permissions,
// or remove the member.
func (s *Site) changeMember(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer) error {
	form := pages.FormOf(c)

	path, notice, err := s.applyMemberAction(ctx, viewer.Actor(), c.Params("id"), form)
	if err == nil {
		return redirect(c, path, notice)
	}

	problem, err := formProblem(hideOutsider(err), noFormName)
	if err != nil {
		return err
	}

	return s.showMember(ctx, c, viewer, problem)
}

// applyMemberAction does what the field action of the form says. It returns the path of the next page, and the key in
// EmployerNotices of the message that this page shows.
func (s *Site) applyMemberAction(
	ctx context.Context,
	actor auth.Actor,
	id string,
	form pages.Form,
) (path, notice string, err error) {
	memberPath := "/employer/team/" + id
	switch form.Value("action") {
	case "role":
		in := identity.ChangePermissionsInput{Role: form.Value("role")}
		_, err = s.services.Identity.ChangePermissions(ctx, actor, id, in)
		return memberPath, "role-changed", err
	case "permissions":
		isChecked := func(name string) *bool { return new(form.Values.Has(name)) }
		_, err = s.services.Identity.ChangePermissions(ctx, actor, id, identity.ChangePermissionsInput{
			Permissions: &identity.PermissionsInput{
				Jobs: &identity.JobPermissionsInput{
					Create: isChecked("jobs.create"),
					Update: isChecked("jobs.update"),
					Delete: isChecked("jobs.delete"),
				},
				Applications: &identity.ApplicationPermissionsInput{
					View:   isChecked("applications.view"),
					Update: isChecked("applications.update"),
				},
			},
		})

		return memberPath, "member-saved", err
	case "withdraw": // the invitation of a user who has not joined yet
		return "/employer/team", "invitation-withdrawn", s.services.Identity.RemoveMember(ctx, actor, id)
	case "remove":
		path = "/employer/team"
		if id == actor.UserID {
			path = "/employer" // the viewer leaves the organization and cannot open the team's page
		}

		return path, "member-removed", s.services.Identity.RemoveMember(ctx, actor, id)
	}

	return "", "", fault.New(fault.Invalid, "no_action_selected", "Select what to change")
}

// organizationView is the profile of the viewer's organization, and the form that changes it.
type organizationView struct {
	identity.Organization
	Path      string // of the public page
	MayManage bool
	Form      pages.Form
	// VerifiedDomain is empty unless the organization is verified by its domain.
	VerifiedDomain string
	// VerificationIsRemoved reports whether only a moderator can verify the organization.
	VerificationIsRemoved bool
	// Widget is the script element with which other sites show the jobs, empty if none may.
	Widget string
}

// organization handles GET /employer/organization.
func (s *Site) organization(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer) error {
	return s.showOrganization(ctx, c, viewer, pages.Form{})
}

// showOrganization shows the form with the values of the organization. After a failed change, it shows the values in form,
// which were sent.
func (s *Site) showOrganization(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer, form pages.Form) error {
	organization, err := s.services.Identity.MyOrganization(ctx, viewer.Actor())
	if err != nil {
		return err
	}

	if form.Values == nil {
		form.Values = url.Values{
			"name":        {organization.Name},
			"description": {organization.Description},
			"website":     {organization.Website},
			"logo":        {organization.Logo},
			"industry":    {organization.Industry},
			"size":        {organization.Size},
		}
	}

	path := employerPath(organization.ID, organization.Name)
	v := organizationView{
		Organization: organization,
		Path:         path,
		MayManage:    viewer.Actor().May(auth.Manage),
		Form:         form,
		Widget:       s.widgetElement(path),

		VerifiedDomain:        organization.VerifiedDomain(),
		VerificationIsRemoved: organization.VerifiedBy == identity.VerificationRemoved,
	}

	return s.renderer.Render(c, form.Problem.Status(), organizationPage, viewer, v)
}

// changeOrganization handles POST /employer/organization. The form has all fields of the profile, and an empty one
// clears the stored value.
func (s *Site) changeOrganization(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer) error {
	form := pages.FormOf(c)
	text := func(name string) *string { return new(form.Value(name)) }

	_, err := s.services.Identity.UpdateOrganization(ctx, viewer.Actor(), identity.OrganizationInput{
		Name:        text("name"),
		Description: text("description"),
		Website:     text("website"),
		Logo:        text("logo"),
		Industry:    text("industry"),
		Size:        text("size"),
	})
	if err == nil {
		return redirect(c, "/employer/organization", "organization")
	}

	if form.Problem, err = formProblem(err, noFormName); err != nil {
		return err
	}

	return s.showOrganization(ctx, c, viewer, form)
}
