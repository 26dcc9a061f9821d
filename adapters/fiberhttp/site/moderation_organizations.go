package site

import (
	"context"

	"github.com/gofiber/fiber/v2"

	"github.com/locumhq/locum/adapters/fiberhttp/pages"
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/modules/identity"
	"github.com/locumhq/locum/modules/listings"
)

var moderatedOrganizationPage = pages.Parse(files, "html/moderation-organization.html")

// addOrganizationModeration registers the pages on which moderators verify and suspend
// organizations, and suspend accounts.
func (s *Site) addOrganizationModeration(app *fiber.App) {
	s.renderer.GetModerator(app, "/moderation/organizations/:id", s.showModeratedOrganization)
	s.renderer.PostModerator(app, "/moderation/organizations/:id", s.moderateOrganization)
	s.renderer.PostModerator(app, "/moderation/organizations/:id/accounts/:account", s.moderateAccount)
}

// moderatedOrganizationView is the page of an organization for moderators.
type moderatedOrganizationView struct {
	identity.ModeratedOrganization
	// Cases are about jobs of the organization. The case of a job collects reports and suspicions about the job.
	Cases []listings.ModeratedCase
	Form  pages.Form
	// Done is the action that the moderator has just completed, such as "verify", empty for none.
	Done string
}

// loadModeratedOrganization collects what the page shows. It shows only the first page of the
// cases.
func (s *Site) loadModeratedOrganization(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer) (v moderatedOrganizationView, err error) {
	v.Done = c.Query("done")
	if v.ModeratedOrganization, err = s.services.Identity.OrganizationFor(ctx, viewer.Actor(), c.Params("id")); err != nil {
		return v, err
	}

	filter := listings.CaseFilter{OrganizationID: v.ID}
	cases, err := s.services.Listings.Queue(ctx, viewer.Actor(), filter, page.Request{Number: 1, Size: pageSize})
	v.Cases = cases.Items

	return v, err
}

func (s *Site) showModeratedOrganization(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer) error {
	return s.renderModeratedOrganization(ctx, c, viewer, pages.Form{})
}

// renderModeratedOrganization renders the page. A form that has a problem is shown with the problem and its status.
func (s *Site) renderModeratedOrganization(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer, form pages.Form) error {
	v, err := s.loadModeratedOrganization(ctx, c, viewer)
	if err != nil {
		return s.renderMissing(c, viewer, err, "Organization not found")
	}

	v.Form = form

	return s.renderer.Render(c, form.Problem.Status(), moderatedOrganizationPage, viewer, v)
}

// moderateOrganization applies the action of the form to the organization, such as "verify" or "suspend".
func (s *Site) moderateOrganization(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer) error {
	form := pages.FormOf(c)
	in := identity.OrganizationActionInput{Action: form.Value("action"), Message: form.Value("message")}
	_, err := s.services.Identity.Moderate(ctx, viewer.Actor(), c.Params("id"), in)

	return s.answerModeration(ctx, c, viewer, form, err)
}

// moderateAccount suspends or restores one account of the organization, as the action of the form says.
func (s *Site) moderateAccount(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer) error {
	form := pages.FormOf(c)
	in := identity.AccountActionInput{Action: form.Value("action")}
	err := s.services.Identity.ModerateAccount(ctx, viewer.Actor(), c.Params("account"), in)

	return s.answerModeration(ctx, c, viewer, form, err)
}

// answerModeration answers a form with err, the result of its action. On success it redirects to the page of the
// organization. If the moderator can correct the error, it renders the page with the problem of the form.
func (s *Site) answerModeration(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer, form pages.Form, err error) error {
	if err == nil {
		return c.Redirect("/moderation/organizations/"+c.Params("id")+"?done="+form.Value("action"), fiber.StatusSeeOther)
	}

	form.Problem = pages.FormProblem(err, noFormName)
	if form.Problem == nil {
		return s.renderMissing(c, viewer, err, "Organization not found")
	}

	return s.renderModeratedOrganization(ctx, c, viewer, form)
}
