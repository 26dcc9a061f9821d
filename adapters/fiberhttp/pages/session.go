package pages

import (
	"cmp"
	"context"
	"errors"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/locumhq/locum/adapters/web"
	"github.com/locumhq/locum/core/audit"
	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/modules/identity"
)

// developersPath is the path of the first page for developers. The paths of their other pages
// begin with it.
const developersPath = "/developers"

// A browser session is stored by the identity service. Its cookie contains a secret. The service
// finds the session and its user by this secret.

// Viewer is the signed-in user of a page.
type Viewer struct{ identity.Principal }

// Confirmed reports whether the user signed in recently. Otherwise forms for keys, secrets
// and account settings ask for the password.
func (v *Viewer) Confirmed() bool { return v.Actor().RequireConfirmed(time.Now()) == nil }

// Confirm returns the actor of the viewer. The actor is confirmed if the sign-in is recent or
// the form contains the current password.
func (r *Renderer) Confirm(ctx context.Context, c *fiber.Ctx, viewer *Viewer) (auth.Actor, error) {
	return r.identity.Confirm(ctx, viewer.Actor(), c.FormValue("currentPassword"), r.client(c))
}

// Client describes the browser of a request, for rate limits and the list of sessions.
func (r *Renderer) Client(c *fiber.Ctx) identity.Client { return r.client(c) }

// requestContext returns the context for a page, which ends after web.DefaultTimeout. It has the
// address of the client for the audit log.
func (r *Renderer) requestContext(c *fiber.Ctx) (context.Context, context.CancelFunc) {
	return context.WithTimeout(audit.WithAddress(context.Background(), r.clientIP(c)), web.DefaultTimeout)
}

// isUnauthenticated reports whether err is the error of Renderer.Viewer for a request without a
// valid session.
func isUnauthenticated(err error) bool { return fault.KindOf(err) == fault.Unauthenticated }

// HasSession reports whether the request has the cookie of a browser session, valid or not.
func (r *Renderer) HasSession(c *fiber.Ctx) bool { return c.Cookies(r.cookieName()) != "" }

// isHTTPS reports whether users reach the service over TLS.
func (r *Renderer) isHTTPS() bool { return r.publicURL.Scheme == "https" }

// cookieName returns the name of the session cookie. Browsers accept a cookie with the prefix
// __Host- only from this host and over TLS.
func (r *Renderer) cookieName() string {
	if r.isHTTPS() {
		return "__Host-locum"
	}

	return "locum"
}

// Viewer returns the user of the session cookie. Without a valid session, the error is
// fault.ErrUnauthorized.
func (r *Renderer) Viewer(ctx context.Context, c *fiber.Ctx) (*Viewer, error) {
	secret := c.Cookies(r.cookieName())
	if secret == "" {
		return nil, fault.ErrUnauthorized
	}

	principal, err := r.identity.AuthenticateBrowser(ctx, secret)
	if err != nil {
		return nil, err
	}

	return &Viewer{Principal: principal}, nil
}

// setSessionCookie sets the cookie of a session, whose value is the secret of the session. An empty
// secret deletes the cookie. Browsers delete the cookie when they are closed. SameSite is Lax rather
// than Strict, because browsers must send the cookie when the user follows a link in an e-mail.
func (r *Renderer) setSessionCookie(c *fiber.Ctx, secret string) {
	cookie := &fiber.Cookie{
		Name:        r.cookieName(),
		Value:       secret,
		Path:        "/",
		Secure:      r.isHTTPS(),
		HTTPOnly:    true,
		SameSite:    fiber.CookieSameSiteLaxMode,
		SessionOnly: true,
	}
	if secret == "" {
		// Browsers delete a cookie with an expiry in the past.
		cookie.SessionOnly = false
		cookie.Expires = time.Unix(1, 0)
	}

	c.Cookie(cookie)
}

// signInView is the data of the sign-in page.
type signInView struct {
	Next  string // the path to which a successful sign-in leads
	Email string // the address that the user has entered
	Error string // why the sign-in failed, empty at first
}

// IsForApplication reports whether the user signs in to apply for a job.
func (v signInView) IsForApplication() bool {
	return strings.HasPrefix(v.Next, "/jobs/") && strings.HasSuffix(v.Next, "/apply")
}

// LocalPath returns next if it is a path on this host, and an empty string otherwise. It is used for
// paths from links, so that a link to the sign-in page cannot lead to another host after the sign-in.
func LocalPath(next string) string {
	u, err := url.Parse(next)
	isInvalid := err != nil
	hasHost := !isInvalid && (u.Scheme != "" || u.Host != "" || u.User != nil)
	isPath := strings.HasPrefix(next, "/") && !strings.HasPrefix(next, "//")

	// Browsers read a backslash as a slash and drop control characters.
	isUnsafe := func(r rune) bool { return r <= ' ' || r == '\\' || r >= 0x7f }
	if isInvalid || hasHost || !isPath || strings.ContainsFunc(next, isUnsafe) {
		return ""
	}

	return next
}

// nextPath returns the path to which a sign-in or registration leads: requested, if it is a path on
// this host. Otherwise it is developersPath for developers, and empty for all others. An empty path
// stands for the first page of the user, which depends on the kind of account (see firstPagePath).
func (r *Renderer) nextPath(c *fiber.Ctx, requested string) string {
	next := LocalPath(requested)
	if next == "" && (!r.hasSite || isDeveloperPage(c)) {
		return developersPath
	}

	return next
}

// isDeveloperPage reports whether the request is for a page below /developers.
func isDeveloperPage(c *fiber.Ctx) bool { return strings.HasPrefix(c.Path(), developersPath+"/") }

// firstPagePath returns the path of the first page of a clinician (seeker) or, if isSeeker is false, of
// an employer.
func firstPagePath(isSeeker bool) string {
	if isSeeker {
		return "/account"
	}

	return "/employer"
}

// signInPath returns the path of the sign-in page to which the page with the given path links. The
// pages for developers have their own sign-in page. signOutPath and registerPath work in the same
// way.
func signInPath(path string) string {
	if strings.HasPrefix(path, developersPath) {
		return "/developers/sign-in"
	}

	return "/sign-in"
}

func signOutPath(path string) string {
	if strings.HasPrefix(path, developersPath) {
		return "/developers/sign-out"
	}

	return "/sign-out"
}

func registerPath(path string) string {
	if strings.HasPrefix(path, developersPath) {
		return "/developers/sign-up"
	}

	return "/register"
}

// showSignIn handles GET /sign-in.
func (r *Renderer) showSignIn(c *fiber.Ctx) error {
	return r.redirectIfSignedIn(c, func(next string) error {
		return r.Render(c, fiber.StatusOK, signInPage, nil, signInView{Next: next})
	})
}

// redirectIfSignedIn redirects a signed-in user to the page to which the sign-in would lead. For a
// guest, it calls show with the result of nextPath.
func (r *Renderer) redirectIfSignedIn(c *fiber.Ctx, show func(next string) error) error {
	ctx, cancel := r.requestContext(c)
	defer cancel()

	next := r.nextPath(c, c.Query("next"))
	viewer, err := r.Viewer(ctx, c)

	switch {
	case err == nil:
		return c.Redirect(cmp.Or(next, firstPagePath(viewer.Actor().Seeker)), fiber.StatusSeeOther)
	case !isUnauthenticated(err):
		return err
	}

	return show(next)
}

// signIn handles POST /sign-in. A wrong password and an unknown address have the same message,
// so that the form does not reveal which addresses have accounts.
func (r *Renderer) signIn(c *fiber.Ctx) error {
	ctx, cancel := r.requestContext(c)
	defer cancel()

	v := signInView{Next: r.nextPath(c, c.FormValue("next")), Email: c.FormValue("email")}
	in := identity.LoginInput{Email: v.Email, Password: c.FormValue("password"), TOTP: c.FormValue("totp")}
	previousSecret := c.Cookies(r.cookieName()) // the new session replaces the previous one

	secret, err := r.identity.LoginBrowser(ctx, in, r.client(c), previousSecret)

	status := fiber.StatusUnauthorized
	switch {
	case err == nil:
		return r.redirectAfterLogin(ctx, c, secret, v.Email, v.Next)
	case errors.Is(err, identity.ErrSecondFactorRequired):
		v.Error = "Your account uses two-step sign-in. " +
			"Enter your password again with the code of your authenticator app, or with a recovery code."
	case errors.Is(err, identity.ErrSecondFactorInvalid):
		v.Error = "The authentication code is not right, or was used before."
	case errors.Is(err, identity.ErrBadCredentials), fault.KindOf(err) == fault.Invalid:
		v.Error = "The e-mail address or the password is not right."
	case fault.KindOf(err) == fault.TooMany:
		status = fiber.StatusTooManyRequests
		v.Error = tooManyAttempts(c, err)
	default:
		return err
	}

	return r.Render(c, status, signInPage, nil, v)
}

// client describes the browser that sent the request.
func (r *Renderer) client(c *fiber.Ctx) identity.Client {
	return identity.Client{
		Address:   r.clientIP(c),
		UserAgent: c.Get(fiber.HeaderUserAgent),
		Device:    c.Cookies(web.DeviceCookieName),
	}
}

// redirectAfterLogin completes a sign-in with the e-mail address. It sets the session cookie and the
// device cookie, which marks the device as one on which the account has signed in. It then redirects
// to next or, if that is empty, to the first page of the user.
func (r *Renderer) redirectAfterLogin(ctx context.Context, c *fiber.Ctx, secret, email, next string) error {
	if next == "" {
		principal, err := r.identity.AuthenticateBrowser(ctx, secret)
		if err != nil {
			return err
		}

		next = firstPagePath(principal.Actor().Seeker)
	}

	r.setSessionCookie(c, secret)

	device, err := r.identity.DeviceToken(email)
	if err != nil {
		return err
	}

	c.Response().Header.Add(fiber.HeaderSetCookie, web.DeviceCookie(device, r.publicURL.String()))

	// Browsers send at least one of these headers with a form.
	isProgram := c.Get("Sec-Fetch-Mode") == "" && c.Get(fiber.HeaderOrigin) == ""
	if isProgram || !strings.HasPrefix(next, "/oauth/") {
		return c.Redirect(next, fiber.StatusSeeOther)
	}

	// Pages below /oauth may redirect to another host. A browser would treat that host as a
	// target of the sign-in form, which the policy form-action forbids. A page with a refresh
	// ends the chain of redirects.
	return r.Render(c, fiber.StatusOK, redirectPage, nil, signInView{Next: next})
}

// tooManyAttempts sets the header Retry-After, and returns the message for the user.
func tooManyAttempts(c *fiber.Ctx, err error) string {
	c.Set(fiber.HeaderRetryAfter, strconv.Itoa(wholeSeconds(fault.Of(err).RetryAfter)))
	return "There were too many tries. Please wait a few minutes."
}

// signOut ends the session and deletes its cookie.
func (r *Renderer) signOut(c *fiber.Ctx) error {
	ctx, cancel := r.requestContext(c)
	defer cancel()

	if err := r.identity.LogoutBrowser(ctx, c.Cookies(r.cookieName())); err != nil {
		return err
	}

	r.setSessionCookie(c, "")

	return c.Redirect(cmp.Or(LocalPath(c.FormValue("next")), signInPath(c.Path())), fiber.StatusSeeOther)
}

// signUpView is the data of the page with the form for a new account.
type signUpView struct {
	// Next is the path to which the registration leads.
	Next string
	// Error is an error that does not concern a field of the form, such as a rate limit. It is empty if
	// there is none.
	Error string
	Form  Form
}

// showSignUp shows the form for a new account. The query parameter as selects the kind of
// account.
func (r *Renderer) showSignUp(c *fiber.Ctx) error {
	return r.redirectIfSignedIn(c, func(next string) error {
		form := Form{Values: url.Values{"userType": {cmp.Or(c.Query("as"), string(identity.KindJobseeker))}}}
		return r.Render(c, fiber.StatusOK, signUpPage, nil, signUpView{Next: next, Form: form})
	})
}

// signUp handles the form for a new account: it creates the account and signs the user in.
func (r *Renderer) signUp(c *fiber.Ctx) error {
	ctx, cancel := r.requestContext(c)
	defer cancel()

	v := signUpView{Next: r.nextPath(c, c.FormValue("next")), Form: FormOf(c)}
	in := identity.RegisterInput{
		Email:    v.Form.Value("email"),
		Password: c.FormValue("password"),
		Name:     v.Form.Value("name"),
		UserType: v.Form.Value("userType"),
	}
	secret, err := r.register(ctx, c, in, v.Form.Value("companyName"))

	status := fiber.StatusConflict
	switch {
	case err == nil:
		return r.redirectAfterLogin(ctx, c, secret, in.Email, v.Next)
	case errors.Is(err, identity.ErrEmailTaken):
		emailTaken := fault.InvalidField("email", "has an account already; sign in with it, or set a new password")
		v.Form.Problem = FormProblem(emailTaken, noFormName)
	case fault.KindOf(err) == fault.TooMany:
		status = fiber.StatusTooManyRequests
		v.Error = tooManyAttempts(c, err)
	default:
		v.Form.Problem = FormProblem(err, noFormName)
		if v.Form.Problem == nil {
			return err
		}

		status = v.Form.Problem.Status()
	}

	return r.Render(c, status, signUpPage, nil, v)
}

// The operations of the API whose rate limits the form for a new account shares.
const (
	registerOperation         = fiber.MethodPost + " /api/auth/register"
	registerEmployerOperation = fiber.MethodPost + " /api/auth/register-employer"
)

// register creates an account and a session, and returns the secret of the session. companyName is used
// for employers only. The request counts towards the rate limit of the API operation that does the same.
func (r *Renderer) register(
	ctx context.Context,
	c *fiber.Ctx,
	in identity.RegisterInput,
	companyName string,
) (secret string, err error) {
	client := r.client(c)
	previousSecret := c.Cookies(r.cookieName()) // the new session replaces the previous one

	if in.UserType != string(identity.KindEmployer) {
		if err := r.takeLimit(ctx, c, registerOperation); err != nil {
			return "", err
		}

		return r.identity.RegisterBrowser(ctx, in, client, previousSecret)
	}

	if err := r.takeLimit(ctx, c, registerEmployerOperation); err != nil {
		return "", err
	}

	employer := identity.RegisterEmployerInput{
		Email:       in.Email,
		Password:    in.Password,
		Name:        in.Name,
		CompanyName: companyName,
	}

	return r.identity.RegisterBrowser(ctx, employer, client, previousSecret)
}

// Kinds returns the choices of the form for the kind of account.
func (signUpView) Kinds() []Choice {
	return []Choice{
		{string(identity.KindJobseeker), "Find a job"},
		{string(identity.KindEmployer), "Hire clinicians for my organization"},
	}
}
