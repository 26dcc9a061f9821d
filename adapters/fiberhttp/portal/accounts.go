package portal

import (
	"context"
	"net/http"

	"github.com/locumhq/locum/adapters/fiberhttp/web"
	"github.com/locumhq/locum/modules/identity"
)

// accountRoutes are what people do with their own accounts, whichever side they
// are on.
func accountRoutes(s *identity.Service) []web.Route {
	const seeker, employer = "Profile", "Employer account"
	return []web.Route{
		{Method: http.MethodDelete, Path: "/api/jobseekers/profile", Auth: web.Required, Who: web.Seeker, Tag: seeker, Summary: "Erase the account and everything that belongs to it; GET /api/jobseekers/export/profile and …/applications give a copy before", Op: web.Op(
			func(ctx context.Context, c web.Call, _ web.Nothing) (web.Done, error) {
				return web.Said("Account deleted successfully"), s.DeleteAccount(ctx, c.Actor)
			})},
		{Method: http.MethodDelete, Path: "/api/employers/profile", Auth: web.Required, Who: web.EmployerSide, Limit: web.PerQuarterHour(10), Tag: employer, Summary: "Delete the employer's account; a jobseeker who had joined an organization leaves it and keeps the rest", Op: web.Op(
			func(ctx context.Context, c web.Call, _ web.Nothing) (web.Done, error) {
				return web.Said("Account deleted successfully"), s.DeleteEmployerAccount(ctx, c.Actor)
			})},
	}
}
