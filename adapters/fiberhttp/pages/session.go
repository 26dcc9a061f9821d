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

// Home is the first page for developers.
const Home = "/developers"

// Viewer is the signed-in user.
type Viewer struct{ identity.Principal }

// Confirmed reports whether the sign-in is recent enough that forms for keys and secrets
// need no password.
func (v *Viewer) Confirmed() bool { return v.Actor().RequireConfirmed(time.Now()) == nil }

// Confirm returns the viewer as an actor, confirmed if the form has the right
// password.
func (f *Renderer) Confirm(ctx context.Context, c *fiber.Ctx, who *Viewer) (auth.Actor, error) {
	return f.identity.Confirm(ctx, who.Actor(), c.FormValue("currentPassword"), f.client(c))
}

// Client describes the browser of a request.
func (f *Renderer) Client(c *fiber.Ctx) identity.Client { return f.client(c) }

func (f *Renderer) requestContext(c *fiber.Ctx) (context.Context, context.CancelFunc) {
	return context.WithTimeout(audit.WithAddress(context.Background(), f.clientIP(c)), web.DefaultTimeout)
}

func isUnauthenticated(err error) bool { return fault.KindOf(err) == fault.Unauthenticated }

func (f *Renderer) isHTTPS() bool { return f.publicURL.Scheme == "https" }

// cookie returns the name of the session cookie. With the prefix __Host-, browsers accept
// it only from this host and over TLS.
func (f *Renderer) cookie() string {
	if f.isHTTPS() {
		return "__Host-locum"
	}
	return "locum"
}

// Viewer returns the user of the session cookie, or fault.ErrUnauthorized.
func (f *Renderer) Viewer(ctx context.Context, c *fiber.Ctx) (*Viewer, error) {
	secret := c.Cookies(f.cookie())
	if secret == "" {
		return nil, fault.ErrUnauthorized
	}
	p, err := f.identity.AuthenticateBrowser(ctx, secret)
	if err != nil {
		return nil, err
	}
	return &Viewer{p}, nil
}

func (f *Renderer) setCookie(c *fiber.Ctx, secret string) {
	cookie := &fiber.Cookie{Name: f.cookie(), Value: secret, Path: "/", Secure: f.isHTTPS(), HTTPOnly: true, SameSite: fiber.CookieSameSiteLaxMode, SessionOnly: true}
	if secret == "" {
		cookie.SessionOnly, cookie.Expires = false, time.Unix(1, 0)
	}
	c.Cookie(cookie)
}

type signInView struct{ Next, Email, Error string }

// localPath returns next if it is a path on this host, else "".
func localPath(next string) string {
	u, err := url.Parse(next)
	if err != nil || u.Scheme != "" || u.Host != "" || u.User != nil || !strings.HasPrefix(next, "/") || strings.HasPrefix(next, "//") ||
		strings.ContainsFunc(next, func(r rune) bool { return r <= ' ' || r == '\\' || r >= 0x7f }) {
		return ""
	}
	return next
}

// nextPage returns the page after a sign-in or a registration: the requested one or, on the
// pages for developers, theirs. It is empty for the first page of the user.
func (f *Renderer) nextPage(c *fiber.Ctx, requested string) string {
	next := localPath(requested)
	if next == "" && (!f.hasSite || isForDevelopers(c)) {
		return Home
	}
	return next
}

func isForDevelopers(c *fiber.Ctx) bool { return strings.HasPrefix(c.Path(), Home+"/") }

// firstPage returns the first page of a user.
func firstPage(seeker bool) string {
	if seeker {
		return "/account"
	}
	return "/employer"
}

// signInPath, signOutPath and registerPath return the addresses for the users of a page.
func signInPath(path string) string {
	if strings.HasPrefix(path, Home) {
		return "/developers/sign-in"
	}
	return "/sign-in"
}

func signOutPath(path string) string {
	if strings.HasPrefix(path, Home) {
		return "/developers/sign-out"
	}
	return "/sign-out"
}

func registerPath(path string) string {
	if strings.HasPrefix(path, Home) {
		return "/developers/sign-up"
	}
	return "/register"
}

func (f *Renderer) showSignIn(c *fiber.Ctx) error {
	return f.redirectIfSignedIn(c, func(next string) error { return f.Render(c, fiber.StatusOK, signInPage, nil, signInView{Next: next}) })
}

// redirectIfSignedIn redirects a signed-in user to the next page, and calls show for others.
func (f *Renderer) redirectIfSignedIn(c *fiber.Ctx, show func(next string) error) error {
	ctx, cancel := f.requestContext(c)
	defer cancel()
	next := f.nextPage(c, c.Query("next"))
	switch who, err := f.Viewer(ctx, c); {
	case err == nil:
		return c.Redirect(cmp.Or(next, firstPage(who.Actor().Seeker)), fiber.StatusSeeOther)
	case !isUnauthenticated(err):
		return err
	}
	return show(next)
}

func (f *Renderer) signIn(c *fiber.Ctx) error {
	ctx, cancel := f.requestContext(c)
	defer cancel()
	v := signInView{Next: f.nextPage(c, c.FormValue("next")), Email: c.FormValue("email")}
	from := f.client(c)
	secret, err := f.identity.LoginBrowser(ctx, identity.LoginInput{Email: v.Email, Password: c.FormValue("password"), TOTP: c.FormValue("totp")}, from, c.Cookies(f.cookie()))
	status := fiber.StatusUnauthorized
	switch {
	case err == nil:
		return f.redirectAfterLogin(ctx, c, secret, v.Email, v.Next)
	case errors.Is(err, identity.ErrSecondFactorRequired):
		v.Error = "Your account uses two-step sign-in. Enter your password again with the code of your authenticator app, or with a recovery code."
	case errors.Is(err, identity.ErrSecondFactorInvalid):
		v.Error = "The authentication code is not right, or was used before."
	case errors.Is(err, identity.ErrBadCredentials), fault.KindOf(err) == fault.Invalid:
		v.Error = "The e-mail address or the password is not right."
	case fault.KindOf(err) == fault.TooMany:
		status, v.Error = fiber.StatusTooManyRequests, tooManyAttempts(c, err)
	default:
		return err
	}
	return f.Render(c, status, signInPage, nil, v)
}

// client describes the browser of a request.
func (f *Renderer) client(c *fiber.Ctx) identity.Client {
	return identity.Client{Address: f.clientIP(c), UserAgent: c.Get(fiber.HeaderUserAgent), Device: c.Cookies(web.DeviceCookieName)}
}

// redirectAfterLogin sets the cookies of a sign-in with the address and redirects to next,
// or to the first page of the user.
func (f *Renderer) redirectAfterLogin(ctx context.Context, c *fiber.Ctx, secret, email, next string) error {
	if next == "" {
		p, err := f.identity.AuthenticateBrowser(ctx, secret)
		if err != nil {
			return err
		}
		next = firstPage(p.Actor().Seeker)
	}
	f.setCookie(c, secret)
	device, err := f.identity.DeviceToken(email)
	if err != nil {
		return err
	}
	c.Response().Header.Add(fiber.HeaderSetCookie, web.DeviceCookie(device, f.publicURL.String()))
	program := c.Get("Sec-Fetch-Mode") == "" && c.Get(fiber.HeaderOrigin) == ""
	if program || !strings.HasPrefix(next, "/oauth/") {
		return c.Redirect(next, fiber.StatusSeeOther)
	}
	// The page may redirect to another host at once, which browsers treat as a target of the
	// form. The policy form-action allows only this host, so a page follows the redirect.
	return f.Render(c, fiber.StatusOK, redirectPage, nil, signInView{Next: next})
}

// tooManyAttempts returns the message for too many attempts, and sets Retry-After.
func tooManyAttempts(c *fiber.Ctx, err error) string {
	c.Set(fiber.HeaderRetryAfter, strconv.Itoa(seconds(fault.Of(err).RetryAfter)))
	return "There were too many tries. Please wait a few minutes."
}

func (f *Renderer) signOut(c *fiber.Ctx) error {
	ctx, cancel := f.requestContext(c)
	defer cancel()
	if err := f.identity.LogoutBrowser(ctx, c.Cookies(f.cookie())); err != nil {
		return err
	}
	f.setCookie(c, "")
	return c.Redirect(signInPath(c.Path()), fiber.StatusSeeOther)
}

// signUpView is the form for a new account. For is the kind of account that the link to the
// page has selected.
type signUpView struct {
	Next  string
	Error string // an error of no field
	Form  Form
}

func (f *Renderer) showSignUp(c *fiber.Ctx) error {
	return f.redirectIfSignedIn(c, func(next string) error {
		form := Form{Values: url.Values{"userType": {cmp.Or(c.Query("as"), string(identity.KindJobseeker))}}}
		return f.Render(c, fiber.StatusOK, signUpPage, nil, signUpView{Next: next, Form: form})
	})
}

// signUp creates an account. It has the limit of the portal's operation.
func (f *Renderer) signUp(c *fiber.Ctx) error {
	ctx, cancel := f.requestContext(c)
	defer cancel()
	v := signUpView{Next: f.nextPage(c, c.FormValue("next")), Form: FormOf(c)}
	in := identity.RegisterInput{Email: v.Form.Value("email"), Password: c.FormValue("password"), Name: v.Form.Value("name"), UserType: v.Form.Value("userType")}
	from, old := f.client(c), c.Cookies(f.cookie())
	var secret string
	var err error
	if in.UserType == string(identity.KindEmployer) {
		if err = f.takeLimit(ctx, c, fiber.MethodPost+" /api/auth/register-employer"); err == nil {
			secret, err = f.identity.RegisterBrowser(ctx, identity.RegisterEmployerInput{Email: in.Email, Password: in.Password, Name: in.Name, CompanyName: v.Form.Value("companyName")}, from, old)
		}
	} else if err = f.takeLimit(ctx, c, fiber.MethodPost+" /api/auth/register"); err == nil {
		secret, err = f.identity.RegisterBrowser(ctx, in, from, old)
	}
	status := fiber.StatusConflict
	switch {
	case err == nil:
		return f.redirectAfterLogin(ctx, c, secret, in.Email, v.Next)
	case errors.Is(err, identity.ErrEmailTaken):
		v.Form.Problem = FormProblem(fault.InvalidField("email", "has an account already; sign in with it, or set a new password"), "")
	case fault.KindOf(err) == fault.TooMany:
		status, v.Error = fiber.StatusTooManyRequests, tooManyAttempts(c, err)
	default:
		if v.Form.Problem = FormProblem(err, ""); v.Form.Problem == nil {
			return err
		}
		status = v.Form.Problem.Status()
	}
	return f.Render(c, status, signUpPage, nil, v)
}

// Kinds returns the kinds of accounts.
func (signUpView) Kinds() []Choice {
	return []Choice{{string(identity.KindJobseeker), "Find a job"}, {string(identity.KindEmployer), "Hire clinicians for my organization"}}
}
