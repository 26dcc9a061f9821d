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
	Error   string // what is no field's
	Problem *Problem
}

func (f *Frame) askSignUp(c *fiber.Ctx) error {
	return f.askStranger(c, func(next string) error { return f.Show(c, fiber.StatusOK, signUpPage, nil, signUpView{Next: next}) })
}

// signUp spends what the operation of the portal spends that does the same.
func (f *Frame) signUp(c *fiber.Ctx) error {
	ctx, cancel := f.bounded(c)
	defer cancel()
	v := signUpView{Next: LocalPath(c.FormValue("next")), Company: c.FormValue("companyName")}
	v.Given = identity.RegisterInput{Email: c.FormValue("email"), Name: c.FormValue("name"), UserType: c.FormValue("userType")}
	password := c.FormValue("password")
	from, old := f.client(c), c.Cookies(f.cookie())
	var secret string
	var err error
	if v.Given.UserType == string(identity.KindEmployer) {
		if err = f.spend(ctx, c, fiber.MethodPost+" /api/auth/register-employer"); err == nil {
			secret, err = f.identity.RegisterEmployerBrowser(ctx, identity.RegisterEmployerInput{Email: v.Given.Email, Password: password, Name: v.Given.Name, CompanyName: v.Company}, from, old)
		}
	} else if err = f.spend(ctx, c, fiber.MethodPost+" /api/auth/register"); err == nil {
		in := v.Given
		in.Password = password
		secret, err = f.identity.RegisterBrowser(ctx, in, from, old)
	}
	switch {
	case err == nil:
	case errors.Is(err, identity.ErrEmailTaken):
		v.Problem = Refused(fault.InvalidField("email", "has an account already; sign in with it, or set a new password"), "")
		return f.Show(c, fiber.StatusConflict, signUpPage, nil, v)
	case fault.KindOf(err) == fault.TooMany:
		v.Error = tooMany(c, err)
		return f.Show(c, fiber.StatusTooManyRequests, signUpPage, nil, v)
	default:
		if v.Problem = Refused(err, ""); v.Problem == nil {
			return err
		}
		return f.Show(c, v.Problem.Status(), signUpPage, nil, v)
	}
	return f.onward(c, secret, v.Given.Email, v.Next)
}
