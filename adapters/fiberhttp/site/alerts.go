package site

import (
	"context"
	"errors"
	"net/url"

	"github.com/gofiber/fiber/v2"

	"github.com/locumhq/locum/adapters/fiberhttp/pages"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/modules/jobseeker"
)

var alertPage = pages.Parse(files, "html/job-alert.html")

const (
	alertsPath       = "/job-alerts"
	confirmAlertPath = alertsPath + "/confirm"
	// maxAlertToken is the maximum length of the token in the link that confirms an alert. The token is long, because it
	// contains the search.
	maxAlertToken = 6_144
)

// addAlerts registers the pages for job alerts of visitors without an account. A visitor asks for e-mails about new jobs
// on the first page. The link in the e-mail that the visitor gets leads to the second page, which turns on the alert.
func (s *Site) addAlerts(app *fiber.App) {
	s.renderer.Public(app, alertsPath, s.showAlert)
	s.renderer.PublicPost(app, alertsPath, s.requestAlert)
	s.renderer.Public(app, confirmAlertPath, s.showConfirmAlert)
	s.renderer.PublicPost(app, confirmAlertPath, s.confirmAlert)
}

// alertView is the form for a job alert: e-mails about new jobs that satisfy a search.
type alertView struct {
	Form      pages.Form
	Contracts []pages.Choice
	// SentTo is the address to which the confirmation link was sent. It is empty until the form was accepted.
	SentTo string
	// JobsPath is the page of the results of the search.
	JobsPath string
}

// newAlertView returns the view of the form with its values, and with a link to the results of the same search.
func newAlertView(form pages.Form) alertView {
	query, location, contract := form.Value("query"), form.Value("location"), form.Value("contractType")
	path := newSearchForm(nil).Path("/jobs", "q", query, "where", location, "contract", contract)

	return alertView{Form: form, Contracts: contractChoices, JobsPath: path}
}

// showAlert shows the form, filled with the search in the query parameters of its link.
func (s *Site) showAlert(_ context.Context, c *fiber.Ctx, viewer *pages.Viewer) error {
	search := newSearchForm(queryValues(c))
	values := url.Values{"query": {search.Get("q")}, "location": {search.Get("where")}, "contractType": {search.Get("contract")}}
	return s.renderer.Render(c, fiber.StatusOK, alertPage, viewer, newAlertView(pages.Form{Values: values}))
}

// requestAlert sends an e-mail with the link that confirms the alert. The response is the same for all addresses, so that
// it does not reveal who has an account.
func (s *Site) requestAlert(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer) error {
	v := newAlertView(pages.FormOf(c))

	in := jobseeker.AlertInput{
		Email:        v.Form.Value("email"),
		Query:        v.Form.Value("query"),
		Location:     v.Form.Value("location"),
		ContractType: v.Form.Value("contractType"),
	}

	err := requireSearch(v.Form)
	if err == nil {
		err = s.services.Seekers.RequestAlert(ctx, in, s.renderer.Client(c).Address)
	}

	if err != nil {
		v.Form.Problem = pages.FormProblem(err, noFormName)
		if v.Form.Problem == nil {
			return err
		}

		return s.renderer.Render(c, v.Form.Problem.Status(), alertPage, viewer, v)
	}

	v.SentTo = in.Email

	return s.renderer.Render(c, fiber.StatusOK, alertPage, viewer, v)
}

// invalidAlertLink is the page for a link that does not confirm an alert.
var invalidAlertLink = pages.Message{
	Title: "This link does not work",
	Text:  "It may have expired or be incomplete. Search for jobs again and ask for a new e-mail.",
	Next:  pages.Link{Path: "/jobs", Text: "Search for jobs"},
}

// showConfirmAlert shows a button that turns on the alert. The link alone does not, because e-mail scanners open links.
func (s *Site) showConfirmAlert(_ context.Context, c *fiber.Ctx, _ *pages.Viewer) error {
	token := c.Query("token")
	if token == "" || len(token) > maxAlertToken {
		return s.renderer.RenderMessage(c, fiber.StatusBadRequest, invalidAlertLink)
	}

	return s.renderer.RenderMessage(c, fiber.StatusOK, pages.Message{
		Title:  "Confirm your job alert",
		Text:   "We will send you an e-mail when there are new jobs, at most once a day. You can stop the e-mails at any time.",
		Button: "Confirm job alert",
		Action: confirmAlertPath + "?token=" + url.QueryEscape(token),
	})
}

// confirmAlert turns on the alert that the token in the link contains.
func (s *Site) confirmAlert(ctx context.Context, c *fiber.Ctx, _ *pages.Viewer) error {
	token := c.Query("token")
	if len(token) > maxAlertToken {
		return s.renderer.RenderMessage(c, fiber.StatusBadRequest, invalidAlertLink)
	}

	search, err := s.services.Seekers.ConfirmAlert(ctx, token)
	switch {
	case errors.Is(err, fault.ErrUnauthorized): // the token is not valid any more
		return s.renderer.RenderMessage(c, fiber.StatusBadRequest, invalidAlertLink)
	case errors.Is(err, jobseeker.ErrTooManyAlerts):
		return s.renderer.RenderMessage(c, fiber.StatusBadRequest, pages.Message{
			Title: "Too many job alerts",
			Text:  "This address has 10 job alerts already. End them with the link in one of the e-mails, or register to manage up to 50 searches.",
			Next:  pages.Link{Path: "/register?as=jobseeker", Text: "Register"},
		})
	case err != nil:
		return err
	}

	return s.renderer.RenderMessage(c, fiber.StatusOK, pages.Message{
		Title: "Your job alert is on",
		Text:  "We will send you an e-mail when there are new jobs for: " + search.Name + ".",
		Next:  pages.Link{Path: "/jobs", Text: "Search for more jobs"},
	})
}
