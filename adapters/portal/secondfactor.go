package portal

import (
	"context"
	"net/http"
	"time"

	"github.com/locumhq/locum/adapters/web"
	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/modules/identity"
)

// secondFactorRoutes returns the routes of the second factor of a sign-in: a code of an authenticator app, or one of the
// recovery codes. A user enrolls the app, which creates a secret, and then confirms it with a first code.
func secondFactorRoutes(s *identity.Service) []web.Route {
	const tag, path = "Authentication and user", "/api/auth/second-factor"

	return []web.Route{
		{
			Method:  http.MethodGet,
			Path:    path,
			Auth:    web.Required,
			Tag:     tag,
			Summary: "Get the status of the caller's second factor",
			Op:      getOwn(s.MySecondFactor, viewSecondFactor),
		},
		{
			Method:  http.MethodPost,
			Path:    path,
			Auth:    web.Required,
			Errors:  []int{403, 409, 429},
			Tag:     tag,
			Summary: "Enroll an authenticator app (TOTP) as second factor, which a first code enables" + needsConfirmation,
			Op: confirmedOp(s,
				func(ctx context.Context, actor auth.Actor, _ Confirmation) (web.Reply[enrollmentView], error) {
					e, err := s.EnrollSecondFactor(ctx, actor)
					return web.OK(enrollmentView(e), "Confirm with a code of your authenticator app"), err
				}),
		},
		{
			Method:  http.MethodPost,
			Path:    path + "/confirm",
			Auth:    web.Required,
			Errors:  []int{409, 429},
			Tag:     tag,
			Summary: "Enable the second factor with a first code. The response shows the recovery codes, only once; all other sessions end",
			Op: answerWith(
				s.ConfirmSecondFactor,
				func(codes []string) recoveryCodesView { return recoveryCodesView{codes} },
				"Second factor enabled",
			),
		},
		{
			Method:  http.MethodDelete,
			Path:    path,
			Auth:    web.Required,
			Errors:  []int{409, 429},
			Tag:     tag,
			Summary: "Disable the second factor, with the password and a code or a recovery code",
			Op:      performFrom(s.DisableSecondFactor, "Second factor disabled"),
		},
	}
}

// secondFactorView is the state of the second factor of the caller.
type secondFactorView struct {
	Enabled bool `json:"enabled"`
	// EnabledAt is null for an account without a second factor.
	EnabledAt         *time.Time `json:"enabledAt"`
	RecoveryCodesLeft int        `json:"recoveryCodesLeft"`
	// Required is true if the caller's organization requires a second factor.
	Required bool `json:"required"`
}

func viewSecondFactor(f identity.SecondFactorStatus) secondFactorView {
	v := secondFactorView{Enabled: f.Enabled, RecoveryCodesLeft: f.RecoveryCodesLeft, Required: f.Required}
	if f.Enabled {
		v.EnabledAt = &f.EnabledAt
	}

	return v
}

type enrollmentView struct {
	// Secret is in base 32, to enter in the authenticator app.
	Secret string `json:"secret" sample:"JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP"`
	// URL is an otpauth:// URL, for a QR code.
	URL string `json:"url" sample:"otpauth://totp/locum:jo@example.org?issuer=locum&secret=JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP"`
}

type recoveryCodesView struct {
	// RecoveryCodes each replace a code once. They are returned only once.
	RecoveryCodes []string `json:"recoveryCodes" sample:"[\"K3PX-PJBS-WY3D-PEHP\"]"`
}
