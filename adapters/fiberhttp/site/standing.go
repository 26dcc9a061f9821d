package site

import (
	"context"

	"github.com/gofiber/fiber/v2"

	"github.com/locumhq/locum/adapters/fiberhttp/pages"
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/modules/identity"
	"github.com/locumhq/locum/modules/listings"
)

var standingPage = pages.Parse(files, "html/moderation-organization.html")

// addStanding serves the pages on which moderators handle organizations and accounts.
func (s *Site) addStanding(app *fiber.App) {
	s.renderer.GetModerator(app, "/moderation/organizations/:id", s.showStanding)
	s.renderer.PostModerator(app, "/moderation/organizations/:id", s.moderateOrganization)
	s.renderer.PostModerator(app, "/moderation/organizations/:id/accounts/:account", s.moderateAccount)
}

// standingView is the page of an organization for moderators.
type standingView struct {
	identity.ModeratedOrganization
	Cases []listings.ModeratedCase
	Form  pages.Form
	Done  string
}

func (s *Site) standingView(ctx context.Context, c *fiber.Ctx, who *pages.Viewer) (v standingView, err error) {
	v.Done = c.Query("done")
	if v.ModeratedOrganization, err = s.services.Identity.OrganizationFor(ctx, who.Actor(), c.Params("id")); err != nil {
		return v, err
	}
	found, err := s.services.Listings.Queue(ctx, who.Actor(), listings.CaseFilter{OrganizationID: v.ID}, page.Request{Number: 1, Size: pageSize})
	v.Cases = found.Items
	return v, err
}

func (s *Site) showStanding(ctx context.Context, c *fiber.Ctx, who *pages.Viewer) error {
	return s.renderStanding(ctx, c, who, pages.Form{})
}

// renderStanding renders the page with a form that was sent.
func (s *Site) renderStanding(ctx context.Context, c *fiber.Ctx, who *pages.Viewer, form pages.Form) error {
	v, err := s.standingView(ctx, c, who)
	if err != nil {
		return s.renderMissing(c, who, err, "Organization not found")
	}
	v.Form = form
	return s.renderer.Render(c, form.Problem.Status(), standingPage, who, v)
}

func (s *Site) moderateOrganization(ctx context.Context, c *fiber.Ctx, who *pages.Viewer) error {
	form := pages.FormOf(c)
	_, err := s.services.Identity.Moderate(ctx, who.Actor(), c.Params("id"), identity.OrganizationActionInput{Action: form.Value("action"), Message: form.Value("message")})
	return s.afterModeration(ctx, c, who, form, err)
}

func (s *Site) moderateAccount(ctx context.Context, c *fiber.Ctx, who *pages.Viewer) error {
	form := pages.FormOf(c)
	err := s.services.Identity.ModerateAccount(ctx, who.Actor(), c.Params("account"), identity.AccountActionInput{Action: form.Value("action")})
	return s.afterModeration(ctx, c, who, form, err)
}

// afterModeration answers a form of the page of an organization.
func (s *Site) afterModeration(ctx context.Context, c *fiber.Ctx, who *pages.Viewer, form pages.Form, err error) error {
	if err == nil {
		return c.Redirect("/moderation/organizations/"+c.Params("id")+"?done="+form.Value("action"), fiber.StatusSeeOther)
	}
	if form.Problem = pages.FormProblem(err, ""); form.Problem == nil {
		return s.renderMissing(c, who, err, "Organization not found")
	}
	return s.renderStanding(ctx, c, who, form)
}
