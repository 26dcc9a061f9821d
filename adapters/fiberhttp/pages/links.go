package pages

import (
	"cmp"
	"context"
	"errors"
	"net/url"

	"github.com/gofiber/fiber/v2"

	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/modules/identity"
)

// linkPage is a page to which an e-mail links, or a page on which a user requests such an e-mail. The
// link contains a token, which proves that the user can read the e-mails. Opening the page does not
// use the token, because e-mail scanners open links. Only sending the form of the page does.
type linkPage struct {
	Title, Text string
	Button      string // the label of the button that sends the form
	// Done is the text that replaces the form after it was processed.
	Done string
	// NewLink is the path of the page that requests another link. It may be empty.
	NewLink string
	// Email and Password report whether the form asks for an e-mail address or a new password.
	Email, Password bool
	// submit processes the form.
	submit func(ctx context.Context, c *fiber.Ctx, in Form) error
}

// linkView is the data with which a linkPage is rendered.
type linkView struct {
	linkPage
	Token string
	Form  Form
	// IsDone is set after the form was processed.
	IsDone bool
	// FirstPage is the path of the first page of a signed-in user. It is empty for guests.
	FirstPage string
}

// requestVerificationPath is the path of the page that requests another link to confirm an
// e-mail address.
const requestVerificationPath = "/request-verification"

// newLinkPages returns the link pages by their paths.
func (r *Renderer) newLinkPages() map[string]linkPage {
	return map[string]linkPage{
		"/verify-email": {
			Title:   "Confirm your e-mail address",
			Button:  "Confirm",
			Done:    "Your e-mail address is confirmed.",
			NewLink: requestVerificationPath,
			submit: func(ctx context.Context, _ *fiber.Ctx, in Form) error {
				return r.identity.VerifyEmail(ctx, identity.VerifyEmailInput{Token: in.Value("token")})
			},
		},
		requestVerificationPath: {
			Title:  "Get another link to confirm your e-mail address",
			Text:   "The link works for 24 hours. Look in the folder for spam if you do not see our e-mail.",
			Button: "Send me a link",
			Email:  true,
			Done:   "If an account with the address is not confirmed yet, you will get an e-mail with a link in a few minutes.",
			submit: func(ctx context.Context, c *fiber.Ctx, in Form) error {
				return r.identity.RequestVerification(ctx, identity.RequestVerificationInput{Email: in.Value("email")}, r.client(c))
			},
		},
		"/forgot-password": {
			Title:  "Forgotten your password?",
			Text:   "We send you a link with which you can set a new one.",
			Button: "Send me a link",
			Email:  true,
			Done:   "If the address has an account, you will get an e-mail with a link in a few minutes.",
			submit: func(ctx context.Context, c *fiber.Ctx, in Form) error {
				return r.identity.ForgotPassword(ctx, identity.ForgotPasswordInput{Email: in.Value("email")}, r.client(c))
			},
		},
		"/reset-password": {
			Title:    "Set a new password",
			Text:     "All devices are signed out, and access by programs is revoked.",
			Button:   "Set password",
			NewLink:  "/forgot-password",
			Password: true,
			Done:     "Your password is changed. You can now sign in with it.",
			submit: func(ctx context.Context, _ *fiber.Ctx, in Form) error {
				return r.identity.ResetPassword(
					ctx,
					identity.ResetPasswordInput{Token: in.Value("token"), Password: in.Values.Get("password")},
				)
			},
		},
		"/undo-email-change": {
			Title:    "Restore your e-mail address",
			Text:     "All devices are signed out, and access by programs is revoked.",
			Button:   "Restore the address",
			Password: true,
			Done:     "Your e-mail address is restored. You can now sign in with the new password.",
			submit: func(ctx context.Context, _ *fiber.Ctx, in Form) error {
				return r.identity.UndoEmailChange(
					ctx,
					identity.UndoEmailChangeInput{Token: in.Value("token"), Password: in.Values.Get("password")},
				)
			},
		},
	}
}

// addLinkPages registers the link pages and their forms.
func (r *Renderer) addLinkPages(app *fiber.App) {
	for path, page := range r.newLinkPages() {
		r.Public(app, path, func(_ context.Context, c *fiber.Ctx, viewer *Viewer) error {
			v := linkView{linkPage: page, Token: c.Query("token")}
			if viewer != nil { // fill in the address, if the form has that field
				v.Form.Values = url.Values{"email": {viewer.User.Email}}
			}

			return r.Render(c, fiber.StatusOK, linkTemplate, viewer, v)
		})

		app.Post(path, r.Guard, func(c *fiber.Ctx) error {
			ctx, cancel := r.requestContext(c)
			defer cancel()

			v := linkView{linkPage: page, Form: FormOf(c)}

			v.Token = v.Form.Value("token")
			if err := page.submit(ctx, c, v.Form); err != nil {
				return r.showLinkProblem(ctx, c, v, err)
			}

			v.IsDone = true

			return r.renderLinkPage(ctx, c, fiber.StatusOK, v)
		})
	}
}

// showLinkProblem shows the form again, with the problem that the user can correct. It returns all
// other errors.
func (r *Renderer) showLinkProblem(ctx context.Context, c *fiber.Ctx, v linkView, err error) error {
	problem := FormProblem(err, noFormName)

	// These forms have no field for the current password, which ErrReauthenticate asks for.
	canCorrect := problem != nil && !errors.Is(err, auth.ErrReauthenticate)
	if !canCorrect {
		return err
	}

	isInvalidLink := problem.FieldError("token") != ""
	if isInvalidLink {
		problem.Error = fault.New(fault.Invalid, "invalid_link", "This link is not valid any more; please request a new one")
	}

	v.Form.Problem = problem

	return r.renderLinkPage(ctx, c, problem.Status(), v)
}

// renderLinkPage renders the page after its form was sent. It determines the viewer again, because the
// form may have ended the session.
func (r *Renderer) renderLinkPage(ctx context.Context, c *fiber.Ctx, status int, v linkView) error {
	viewer, err := r.Viewer(ctx, c)
	switch {
	case err == nil: // for a guest, the page has no link to a first page
		const noDefault = ""
		v.FirstPage = cmp.Or(r.nextPath(c, noDefault), firstPagePath(viewer.Actor().Seeker))
	case !isUnauthenticated(err):
		return err
	}

	return r.Render(c, status, linkTemplate, viewer, v)
}

// invitationView is the data of the page on which a user accepts an invitation to the team of an
// organization. The e-mail with the invitation links to the page, with a token.
type invitationView struct {
	identity.Invitation
	Token string
	Form  Form
	// IsValid is false for an invitation that was withdrawn or used, or has expired.
	IsValid bool
	// ForViewer is set if the invitation is for the signed-in user.
	ForViewer bool
	// Path is the path of this page with the token.
	Path string
	// SignIn is the path of the sign-in page, which leads back to this page.
	SignIn string
}

// invitationPath is the path of the page on which an invitation is accepted.
const invitationPath = "/accept-invitation"

// addInvitationPage registers the page on which users accept an invitation to a team, with a
// new account or with an account that they have.
func (r *Renderer) addInvitationPage(app *fiber.App) {
	r.Public(app, invitationPath, func(ctx context.Context, c *fiber.Ctx, viewer *Viewer) error {
		return r.showInvitation(ctx, c, viewer, c.Query("token"), Form{})
	})
	r.PublicPost(app, invitationPath, r.acceptInvitation)
}

// acceptInvitation accepts the invitation for the signed-in user, or creates an account with the
// password in the form, and signs in.
func (r *Renderer) acceptInvitation(ctx context.Context, c *fiber.Ctx, viewer *Viewer) error {
	form := FormOf(c)

	actor := auth.Actor{} // a guest
	if viewer != nil {
		actor = viewer.Actor()
	}

	in := identity.AcceptInvitationInput{
		Token:    form.Value("token"),
		Password: form.Values.Get("password"), // not trimmed
		Name:     form.Value("name"),
	}

	invitation, err := r.identity.FindInvitation(ctx, in.Token)
	if err != nil {
		return r.showInvitationProblem(ctx, c, viewer, in.Token, form, err)
	}

	previousSecret := c.Cookies(r.cookieName()) // the new session replaces the previous one

	secret, err := r.identity.AcceptInvitationBrowser(ctx, actor, in, r.client(c), previousSecret)
	if err != nil {
		return r.showInvitationProblem(ctx, c, viewer, in.Token, form, err)
	}

	return r.redirectAfterLogin(ctx, c, secret, invitation.Email, cmp.Or(r.nextPath(c, ""), "/employer?done=joined"))
}

// showInvitationProblem shows the invitation again after accepting it has failed with err. It returns
// errors that the user cannot correct.
func (r *Renderer) showInvitationProblem(
	ctx context.Context,
	c *fiber.Ctx,
	viewer *Viewer,
	token string,
	form Form,
	err error,
) error {
	needsOtherAccount := errors.Is(err, identity.ErrSignInToAccept) || errors.Is(err, identity.ErrForAnotherAccount)
	if needsOtherAccount {
		return r.showInvitation(ctx, c, viewer, token, form) // the page explains this without a problem
	}

	form.Problem = FormProblem(err, noFormName)
	if form.Problem == nil {
		return err
	}

	return r.showInvitation(ctx, c, viewer, token, form)
}

// showInvitation renders the page of the invitation. An invitation that is not valid is not an error,
// because the page explains it.
func (r *Renderer) showInvitation(ctx context.Context, c *fiber.Ctx, viewer *Viewer, token string, form Form) error {
	path := invitationPath + "?token=" + url.QueryEscape(token)
	v := invitationView{Token: token, Form: form, Path: path, SignIn: "/sign-in?next=" + url.QueryEscape(path)}
	var err error

	v.Invitation, err = r.identity.FindInvitation(ctx, token)
	if err != nil && fault.KindOf(err) != fault.Invalid {
		return err
	}

	v.IsValid = err == nil
	v.ForViewer = v.IsValid && viewer != nil && viewer.Actor().UserID == v.UserID

	status := form.Problem.Status() // 200 without a problem

	// A successful form leads to another page. So a form without a problem is shown again only if the user must sign in
	// with another account.
	isRejected := c.Method() == fiber.MethodPost && form.Problem == nil && v.IsValid
	switch {
	case isRejected && viewer != nil && !v.ForViewer: // the user of another account has sent the form
		status = fiber.StatusForbidden
	case isRejected: // the address has an account, to which the user must sign in
		status = fiber.StatusUnauthorized
	}

	return r.Render(c, status, invitePage, viewer, v)
}
