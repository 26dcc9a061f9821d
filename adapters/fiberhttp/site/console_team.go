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

// teamView is the list of an organization's members, and the form that invites another one.
type teamView struct {
	Members   []memberRow
	Next      string
	MayManage bool
	Form      pages.Form
}

// memberRow is a member or an invited user.
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

// Roles returns the roles.
func (teamView) Roles() []pages.Choice { return roles }

func newMemberRow(m identity.Member) memberRow {
	return memberRow{Member: m, RoleText: roleTexts[m.Role], IsInvited: m.Status == identity.MemberInvited}
}

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
	for _, m := range members.Items {
		v.Members = append(v.Members, newMemberRow(m))
	}

	if members.NextCursor != "" {
		v.Next = withQuery("/employer/team", "after", members.NextCursor)
	}

	return s.renderer.Render(c, form.Problem.Status(), teamPage, viewer, v)
}

// invite invites a user to the team. It counts towards the rate limit of the API operation.
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

// inviteMember invites the person of the form.
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

// Roles returns the roles.
func (memberView) Roles() []pages.Choice { return roles }

// permissionRow is a permission, and whether the member has it.
type permissionRow struct {
	Name, Text string
	Held       bool
}

// permissionRows returns the permissions in words.
func permissionRows(p identity.Permissions) []permissionRow {
	return []permissionRow{
		{"jobs.create", "Post and duplicate jobs", p.Jobs.Create},
		{"jobs.update", "Change, renew, close and archive jobs", p.Jobs.Update},
		{"jobs.delete", "Delete jobs with the API", p.Jobs.Delete},
		{"applications.view", "Read applications", p.Applications.View},
		{"applications.update", "Decide on applications, arrange interviews and write to applicants", p.Applications.Update},
	}
}

// memberOf returns the member of the viewer's team in the path of the request. For users of
// other organizations it returns a fault.NotFound.
func (s *Site) memberOf(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer) (identity.Member, error) {
	m, err := s.services.Identity.Permissions(ctx, viewer.Actor(), c.Params("id"))
	return m, hideOutsider(err)
}

// hideOutsider replaces identity.ErrNotInTeam by a fault.NotFound, so that the page does not
// show whether the user exists.
func hideOutsider(err error) error {
	if errors.Is(err, identity.ErrNotInTeam) {
		return fault.New(fault.NotFound, "member_not_found", "Team member not found")
	}

	return err
}

func (s *Site) member(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer) error {
	return s.showMember(ctx, c, viewer, nil)
}

// showMember shows one member with the permissions.
func (s *Site) showMember(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer, problem *pages.Problem) error {
	m, err := s.memberOf(ctx, c, viewer)
	if err != nil {
		return err
	}

	v := memberView{
		memberRow:   newMemberRow(m),
		Permissions: permissionRows(m.Permissions),
		MayManage:   viewer.Actor().May(auth.Manage),
		IsViewer:    m.UserID == viewer.Actor().UserID,
		Problem:     problem,
	}

	return s.renderer.Render(c, problem.Status(), memberPage, viewer, v)
}

// changeMember handles the forms on the page of a member: they change the role or the
// permissions, or remove the member.
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

// applyMemberAction changes or removes a member. It returns the path of the next page, and the key of its notice.
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
	case "withdraw":
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

func (s *Site) organization(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer) error {
	return s.showOrganization(ctx, c, viewer, pages.Form{})
}

// showOrganization shows the form with the values of the organization; after a failed change,
// with those that were sent.
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

	v := organizationView{
		Organization: organization,
		Path:         employerPath(organization.ID, organization.Name),
		MayManage:    viewer.Actor().May(auth.Manage),
		Form:         form,
		Widget:       s.widgetElement(employerPath(organization.ID, organization.Name)),

		VerifiedDomain:        organization.VerifiedDomain(),
		VerificationIsRemoved: organization.VerifiedBy == identity.VerificationRemoved,
	}

	return s.renderer.Render(c, form.Problem.Status(), organizationPage, viewer, v)
}

// changeOrganization changes the profile of the organization.
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
