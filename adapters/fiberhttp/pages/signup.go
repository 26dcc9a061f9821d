package pages

import (
	"errors"

	"github.com/gofiber/fiber/v2"

	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/modules/identity"
)

type signUpView struct {
	Next    string
	Given   identity.RegisterInput
	Company string
	Error   string // an error of no field
	Problem *Problem
}

func (f *Renderer) showSignUp(c *fiber.Ctx) error {
	return f.redirectIfSignedIn(c, func(next string) error { return f.Render(c, fiber.StatusOK, signUpPage, nil, signUpView{Next: next}) })
}

// signUp creates an account. It has the limit of the portal's operation.
func (f *Renderer) signUp(c *fiber.Ctx) error {
	ctx, cancel := f.requestContext(c)
	defer cancel()
	v := signUpView{Next: LocalPath(c.FormValue("next")), Company: c.FormValue("companyName")}
	v.Given = identity.RegisterInput{Email: c.FormValue("email"), Name: c.FormValue("name"), UserType: c.FormValue("userType")}
	password := c.FormValue("password")
	from, old := f.client(c), c.Cookies(f.cookie())
	var secret string
	var err error
	if v.Given.UserType == string(identity.KindEmployer) {
		if err = f.takeLimit(ctx, c, fiber.MethodPost+" /api/auth/register-employer"); err == nil {
			secret, err = f.identity.RegisterEmployerBrowser(ctx, identity.RegisterEmployerInput{Email: v.Given.Email, Password: password, Name: v.Given.Name, CompanyName: v.Company}, from, old)
		}
	} else if err = f.takeLimit(ctx, c, fiber.MethodPost+" /api/auth/register"); err == nil {
		in := v.Given
		in.Password = password
		secret, err = f.identity.RegisterBrowser(ctx, in, from, old)
	}
	switch {
	case err == nil:
	case errors.Is(err, identity.ErrEmailTaken):
		v.Problem = FormProblem(fault.InvalidField("email", "has an account already; sign in with it, or set a new password"), "")
		return f.Render(c, fiber.StatusConflict, signUpPage, nil, v)
	case fault.KindOf(err) == fault.TooMany:
		v.Error = tooManyAttempts(c, err)
		return f.Render(c, fiber.StatusTooManyRequests, signUpPage, nil, v)
	default:
		if v.Problem = FormProblem(err, ""); v.Problem == nil {
			return err
		}
		return f.Render(c, v.Problem.Status(), signUpPage, nil, v)
	}
	return f.redirectAfterLogin(c, secret, v.Given.Email, v.Next)
}
