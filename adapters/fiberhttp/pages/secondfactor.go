package pages

import (
	"context"
	"fmt"
	"html/template"
	"image/color"
	"strings"

	"github.com/boombuler/barcode/qr"
	"github.com/gofiber/fiber/v2"

	"github.com/locumhq/locum/modules/identity"
)

// secondFactorPath is the path of the page on which users set up two-step sign-in.
const secondFactorPath = "/two-step-sign-in"

// A user with two-step sign-in enters a password and then a second factor: a code of an authenticator
// app. Setting it up has two steps. First the user enters a new secret into the app, then the page
// asks for a code of the app, to check that the secret was entered correctly.

// secondFactorView is the data of the page for two-step sign-in.
type secondFactorView struct {
	identity.SecondFactorStatus
	// Confirmed reports whether the user has signed in recently. Otherwise the form asks for the
	// password.
	Confirmed bool
	// Secret and URL are the secret for an authenticator app that is being set up, as text and
	// as otpauth:// address.
	Secret, URL string
	// RecoveryCodes can be used in place of the app. They are set only in the response to the first
	// code, because they are not stored in readable form.
	RecoveryCodes []string
	Form          Form
	// BackPath is the path of the page with the settings of the user.
	BackPath string
}

// QRCode returns URL as an image for the authenticator app. It is empty if URL is too long for a QR
// code.
func (v secondFactorView) QRCode() template.HTML { return qrCode(v.URL) }

// addSecondFactorPages registers the pages for two-step sign-in.
func (r *Renderer) addSecondFactorPages(app *fiber.App) {
	// The forms have paths of their own. These paths also serve the page, for users who open the
	// address of a response again.
	for _, step := range []string{"", "/set-up", "/confirm", "/turn-off"} {
		r.Get(app, secondFactorPath+step, func(ctx context.Context, c *fiber.Ctx, viewer *Viewer) error {
			return r.showSecondFactor(ctx, c, viewer, secondFactorView{}, nil)
		})
	}

	r.Post(app, secondFactorPath+"/set-up", r.enrollSecondFactor)
	r.Post(app, secondFactorPath+"/confirm", r.confirmSecondFactor)
	r.Post(app, secondFactorPath+"/turn-off", r.disableSecondFactor)
}

// showSecondFactor renders the page with the status of the second factor. err is the error of the
// form that was sent before, or nil. The page shows it if the user can correct it; otherwise
// showSecondFactor returns it.
func (r *Renderer) showSecondFactor(ctx context.Context, c *fiber.Ctx, viewer *Viewer, v secondFactorView, err error) error {
	if err != nil {
		v.Form.Problem = FormProblem(err, noFormName)
		if v.Form.Problem == nil {
			return err
		}
	}

	if v.SecondFactorStatus, err = r.identity.MySecondFactor(ctx, viewer.Actor()); err != nil {
		return err
	}

	v.Confirmed = viewer.Confirmed()
	switch {
	case !r.hasSite:
		v.BackPath = developersPath
	case viewer.Actor().Seeker:
		v.BackPath = "/account/settings"
	default:
		v.BackPath = "/employer/settings"
	}

	return r.Render(c, v.Form.Problem.Status(), secondFactorPage, viewer, v)
}

// enrollSecondFactor creates a secret and shows it. Two-step sign-in is turned on later, when
// confirmSecondFactor has received a code that belongs to the secret.
func (r *Renderer) enrollSecondFactor(ctx context.Context, c *fiber.Ctx, viewer *Viewer) error {
	actor, err := r.Confirm(ctx, c, viewer)
	if err != nil {
		return r.showSecondFactor(ctx, c, viewer, secondFactorView{}, err)
	}

	enrollment, err := r.identity.EnrollSecondFactor(ctx, actor)

	return r.showSecondFactor(ctx, c, viewer, secondFactorView{Secret: enrollment.Secret, URL: enrollment.URL}, err)
}

// confirmSecondFactor turns two-step sign-in on, and shows the recovery codes once.
func (r *Renderer) confirmSecondFactor(ctx context.Context, c *fiber.Ctx, viewer *Viewer) error {
	v := secondFactorView{Form: FormOf(c)}
	var err error

	v.RecoveryCodes, err = r.identity.ConfirmSecondFactor(ctx, viewer.Actor(), identity.CodeInput{Code: v.Form.Value("code")})
	if err != nil {
		// Show the secret again, which the form contains for this purpose.
		v.Secret = v.Form.Value("secret")
		v.URL = v.Form.Value("url")
	}

	return r.showSecondFactor(ctx, c, viewer, v, err)
}

// disableSecondFactor turns two-step sign-in off. The form must have both the password and a code, so
// that a stolen session does not suffice.
func (r *Renderer) disableSecondFactor(ctx context.Context, c *fiber.Ctx, viewer *Viewer) error {
	form := FormOf(c)

	in := identity.DisableSecondFactorInput{
		CurrentPassword: form.Values.Get("currentPassword"),
		CodeInput:       identity.CodeInput{Code: form.Value("code")},
	}
	if err := r.identity.DisableSecondFactor(ctx, viewer.Actor(), in, r.client(c)); err != nil {
		return r.showSecondFactor(ctx, c, viewer, secondFactorView{Form: form}, err)
	}

	return c.Redirect(secondFactorPath+"?done="+secondFactorOff, fiber.StatusSeeOther)
}

// secondFactorOff is the notice after two-step sign-in was turned off.
const secondFactorOff = "two-step-off"

// quietZone is the number of light modules around a QR code (ISO/IEC 18004).
const quietZone = 4

// qrCode returns the text as a QR code in SVG. It is empty if the text is too long. The code is always
// black on white, so that cameras can read it in dark mode, too.
func qrCode(text string) template.HTML {
	code, err := qr.Encode(text, qr.M, qr.Auto)
	if err != nil {
		return ""
	}

	var path strings.Builder // a square of 1 by 1 for each black module of the code

	size := code.Bounds().Dx()
	for y := range size {
		for x := range size {
			if code.At(x, y) == color.Black {
				fmt.Fprintf(&path, "M%d %dh1v1h-1z", x+quietZone, y+quietZone)
			}
		}
	}

	//nolint:gosec // digits and letters of the path
	return template.HTML(fmt.Sprintf(
		`<svg role="img" aria-label="QR code" width="220" height="220" viewBox="0 0 %[1]d %[1]d" shape-rendering="crispEdges">`+
			`<rect width="100%%" height="100%%" fill="#fff"/><path d="%[2]s"/></svg>`,
		size+2*quietZone,
		path.String(),
	))
}
