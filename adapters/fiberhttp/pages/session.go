package pages

import (
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

// Home is where a sign-in leads if nothing else was asked for.
const Home = "/developers"

// Viewer is who is signed in.
type Viewer struct{ identity.Principal }

// Confirmed reports whether the viewer signed in so recently that forms for keys
// and secrets need no password.
func (v *Viewer) Confirmed() bool { return v.Actor().RequireConfirmed(time.Now()) == nil }

// Confirm returns the viewer as an actor, confirmed if the form has the right
// password.
func (f *Frame) Confirm(ctx context.Context, c *fiber.Ctx, who *Viewer) (auth.Actor, error) {
	return f.identity.Confirm(ctx, who.Actor(), c.FormValue("currentPassword"), f.client(c))
}

func (f *Frame) bounded(c *fiber.Ctx) (context.Context, context.CancelFunc) {
	return context.WithTimeout(audit.WithAddress(context.Background(), f.clientIP(c)), web.DefaultTimeout)
}

func isNobody(err error) bool { return fault.KindOf(err) == fault.Unauthenticated }

func (f *Frame) secure() bool { return f.publicURL.Scheme == "https" }

// cookie is the session's name. With the prefix browsers take it from this very
// host alone, and over TLS.
func (f *Frame) cookie() string {
	if f.secure() {
		return "__Host-locum"
	}
	return "locum"
}

// Viewer is who is signed in by the cookie, or fault.ErrUnauthorized.
func (f *Frame) Viewer(ctx context.Context, c *fiber.Ctx) (*Viewer, error) {
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

func (f *Frame) setCookie(c *fiber.Ctx, secret string) {
	cookie := &fiber.Cookie{Name: f.cookie(), Value: secret, Path: "/", Secure: f.secure(), HTTPOnly: true, SameSite: fiber.CookieSameSiteLaxMode, SessionOnly: true}
	if secret == "" {
		cookie.SessionOnly, cookie.Expires = false, time.Unix(1, 0)
	}
	c.Cookie(cookie)
}

type signInView struct{ Next, Email, Error string }

// LocalPath is where to go next, if that is on this very host, and Home if not.
func LocalPath(next string) string {
	u, err := url.Parse(next)
	if err != nil || u.Scheme != "" || u.Host != "" || u.User != nil || !strings.HasPrefix(next, "/") || strings.HasPrefix(next, "//") ||
		strings.ContainsFunc(next, func(r rune) bool { return r <= ' ' || r == '\\' || r >= 0x7f }) {
		return Home
	}
	return next
}

func (f *Frame) askSignIn(c *fiber.Ctx) error {
	return f.askStranger(c, func(next string) error { return f.Show(c, fiber.StatusOK, signInPage, nil, signInView{Next: next}) })
}

// askStranger leads on who is signed in already, and asks all others.
func (f *Frame) askStranger(c *fiber.Ctx, ask func(next string) error) error {
	ctx, cancel := f.bounded(c)
	defer cancel()
	next := LocalPath(c.Query("next"))
	switch _, err := f.Viewer(ctx, c); {
	case err == nil:
		return c.Redirect(next, fiber.StatusSeeOther)
	case !isNobody(err):
		return err
	}
	return ask(next)
}

func (f *Frame) signIn(c *fiber.Ctx) error {
	ctx, cancel := f.bounded(c)
	defer cancel()
	v := signInView{Next: LocalPath(c.FormValue("next")), Email: c.FormValue("email")}
	from := f.client(c)
	secret, err := f.identity.LoginBrowser(ctx, identity.LoginInput{Email: v.Email, Password: c.FormValue("password"), TOTP: c.FormValue("totp")}, from, c.Cookies(f.cookie()))
	switch {
	case err == nil:
	case errors.Is(err, identity.ErrSecondFactorRequired):
		v.Error = "Your account uses two-step sign-in. Enter your password again with the code of your authenticator app, or with a recovery code."
		return f.Show(c, fiber.StatusUnauthorized, signInPage, nil, v)
	case errors.Is(err, identity.ErrSecondFactorInvalid):
		v.Error = "The authentication code is not right, or was used before."
		return f.Show(c, fiber.StatusUnauthorized, signInPage, nil, v)
	case errors.Is(err, identity.ErrBadCredentials), fault.KindOf(err) == fault.Invalid:
		v.Error = "The e-mail address or the password is not right."
		return f.Show(c, fiber.StatusUnauthorized, signInPage, nil, v)
	case fault.KindOf(err) == fault.TooMany:
		v.Error = tooMany(c, err)
		return f.Show(c, fiber.StatusTooManyRequests, signInPage, nil, v)
	default:
		return err
	}
	return f.onward(c, secret, v.Email, v.Next)
}

// client describes the browser of a request.
func (f *Frame) client(c *fiber.Ctx) identity.Client {
	return identity.Client{Address: f.clientIP(c), UserAgent: c.Get(fiber.HeaderUserAgent), Device: c.Cookies(web.DeviceCookieName)}
}

// onward sets the cookies of a sign-in with the address and redirects to next.
func (f *Frame) onward(c *fiber.Ctx, secret, email, next string) error {
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
	// From there the way may go on to another host at once, and a browser would take
	// that for the target of the form, which only this host may be.
	return f.Show(c, fiber.StatusOK, onwardPage, nil, signInView{Next: next})
}

// tooMany says that there were too many tries, and when the next makes sense.
func tooMany(c *fiber.Ctx, err error) string {
	c.Set(fiber.HeaderRetryAfter, strconv.Itoa(seconds(fault.Of(err).RetryAfter)))
	return "There were too many tries. Please wait a few minutes."
}

func (f *Frame) signOut(c *fiber.Ctx) error {
	ctx, cancel := f.bounded(c)
	defer cancel()
	if err := f.identity.LogoutBrowser(ctx, c.Cookies(f.cookie())); err != nil {
		return err
	}
	f.setCookie(c, "")
	return c.Redirect("/developers/sign-in", fiber.StatusSeeOther)
}
