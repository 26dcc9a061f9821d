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

// linkPage is a page to which mails link. It changes something only when its form is sent:
// mail scanners follow links and must not use up a token.
type linkPage struct {
	Title, Text, Button string
	// Done is the text after the form was processed.
	Done string
	// Email and Password select the fields of the form.
	Email, Password bool
	submit          func(ctx context.Context, c *fiber.Ctx, f Form) error
}

// linkView is the data of a linkPage.
type linkView struct {
	linkPage
	Token string
	Form  Form
	// IsDone is set after the form was processed.
	IsDone bool
}

// linkPages returns the pages by their paths.
func (f *Renderer) linkPages() map[string]linkPage {
	return map[string]linkPage{
		"/verify-email": {
			Title: "Confirm your e-mail address", Button: "Confirm", Done: "Your e-mail address is confirmed.",
			submit: func(ctx context.Context, _ *fiber.Ctx, in Form) error {
				return f.identity.VerifyEmail(ctx, identity.VerifyEmailInput{Token: in.Value("token")})
			},
		},
		"/forgot-password": {
			Title: "Forgotten your password?", Text: "We send you a link with which you can set a new one.", Button: "Send me a link", Email: true,
			Done: "If the address has an account, you will get a message with a link in a few minutes.",
			submit: func(ctx context.Context, c *fiber.Ctx, in Form) error {
				return f.identity.ForgotPassword(ctx, identity.ForgotPasswordInput{Email: in.Value("email")}, f.client(c))
			},
		},
		"/reset-password": {
			Title: "Set a new password", Text: "All devices are signed out, and access by programs is revoked.", Button: "Set password", Password: true,
			Done: "Your password is changed. You can now sign in with it.",
			submit: func(ctx context.Context, _ *fiber.Ctx, in Form) error {
				return f.identity.ResetPassword(ctx, identity.ResetPasswordInput{Token: in.Value("token"), Password: in.Values.Get("password")})
			},
		},
		"/undo-email-change": {
			Title: "Restore your e-mail address", Text: "All devices are signed out, and access by programs is revoked.", Button: "Restore the address", Password: true,
			Done: "Your e-mail address is restored. You can now sign in with the new password.",
			submit: func(ctx context.Context, _ *fiber.Ctx, in Form) error {
				return f.identity.UndoEmailChange(ctx, identity.UndoEmailChangeInput{Token: in.Value("token"), Password: in.Values.Get("password")})
			},
		},
	}
}

// addLinkPages serves the pages to which mails link.
func (f *Renderer) addLinkPages(app *fiber.App) {
	for path, page := range f.linkPages() {
		f.Public(app, path, func(_ context.Context, c *fiber.Ctx, who *Viewer) error {
			return f.Render(c, fiber.StatusOK, linkTemplate, who, linkView{linkPage: page, Token: c.Query("token")})
		})
		app.Post(path, f.Guard, func(c *fiber.Ctx) error {
			ctx, cancel := f.requestContext(c)
			defer cancel()
			v := linkView{linkPage: page, Form: FormOf(c)}
			v.Token = v.Form.Value("token")
			err := page.submit(ctx, c, v.Form)
			if errors.Is(err, auth.ErrReauthenticate) || err != nil && FormProblem(err, "") == nil {
				return err
			}
			if v.Form.Problem = FormProblem(err, ""); v.Form.Problem.FieldError("token") != "" {
				v.Form.Problem.Error = fault.New(fault.Invalid, "invalid_link", "This link is not valid any more; please request a new one")
			}
			v.IsDone = err == nil
			return f.Render(c, v.Form.Problem.Status(), linkTemplate, nil, v)
		})
	}
}

// invitationView is an invitation to a team, with the form to accept it.
type invitationView struct {
	identity.Invitation
	Token string
	Form  Form
	// IsValid is set unless the invitation was withdrawn, used or has expired.
	IsValid bool
	// ForViewer is set if the invitation is for the signed-in user.
	ForViewer bool
	// SignIn is the address of the sign-in page that leads back to this page.
	SignIn string
}

const invitationPath = "/accept-invitation"

// addInvitationPage serves the page on which users accept an invitation to a team: with a
// new account, or signed in with the one that they have.
func (f *Renderer) addInvitationPage(app *fiber.App) {
	f.Public(app, invitationPath, func(ctx context.Context, c *fiber.Ctx, who *Viewer) error {
		return f.showInvitation(ctx, c, who, c.Query("token"), Form{})
	})
	app.Post(invitationPath, f.Guard, func(c *fiber.Ctx) error {
		ctx, cancel := f.requestContext(c)
		defer cancel()
		who, err := f.Viewer(ctx, c)
		if err != nil && !isUnauthenticated(err) {
			return err
		}
		return f.acceptInvitation(ctx, c, who)
	})
}

func (f *Renderer) acceptInvitation(ctx context.Context, c *fiber.Ctx, who *Viewer) error {
	form, by := FormOf(c), auth.Actor{}
	if who != nil {
		by = who.Actor()
	}
	in := identity.AcceptInvitationInput{Token: form.Value("token"), Password: form.Values.Get("password"), Name: form.Value("name")}
	invitation, err := f.identity.FindInvitation(ctx, in.Token)
	var secret string
	if err == nil {
		secret, err = f.identity.AcceptInvitationBrowser(ctx, by, in, f.client(c), c.Cookies(f.cookie()))
	}
	switch {
	case err == nil:
		return f.redirectAfterLogin(ctx, c, secret, invitation.Email, cmp.Or(f.nextPage(c, ""), "/employer?done=joined"))
	case errors.Is(err, identity.ErrSignInToAccept), errors.Is(err, identity.ErrForAnotherAccount):
	default:
		if form.Problem = FormProblem(err, ""); form.Problem == nil {
			return err
		}
	}
	return f.showInvitation(ctx, c, who, in.Token, form)
}

func (f *Renderer) showInvitation(ctx context.Context, c *fiber.Ctx, who *Viewer, token string, form Form) error {
	v := invitationView{Token: token, Form: form, SignIn: "/sign-in?next=" + url.QueryEscape(invitationPath+"?token="+token)}
	var err error
	v.Invitation, err = f.identity.FindInvitation(ctx, token)
	if err != nil && fault.KindOf(err) != fault.Invalid {
		return err
	}
	v.IsValid = err == nil
	v.ForViewer = v.IsValid && who != nil && who.Actor().UserID == v.UserID
	status := form.Problem.Status()
	switch {
	case c.Method() != fiber.MethodPost || form.Problem != nil:
	case v.IsValid && who != nil && !v.ForViewer:
		status = fiber.StatusForbidden
	case v.IsValid:
		status = fiber.StatusUnauthorized
	}
	return f.Render(c, status, invitePage, who, v)
}
