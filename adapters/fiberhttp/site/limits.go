package site

import (
	"context"

	"github.com/gofiber/fiber/v2"
)

// The operations of the API with which the forms of the site share a rate limit. A request counts towards the same limit,
// whether it is a form or a call of the API.
const (
	applyOperation                  = fiber.MethodPost + " /api/jobseekers/applications"
	markNotificationOperation       = fiber.MethodPut + " /api/jobseekers/notifications/:id"
	changeJobOperation              = fiber.MethodPut + " /api/employers/jobs/:id"
	changeJobsOperation             = fiber.MethodPut + " /api/employers/jobs/batch"
	changeEmployerOperation         = fiber.MethodPut + " /api/employers/profile"
	changeEmployerSettingsOperation = fiber.MethodPut + " /api/employers/settings"
	deleteEmployerOperation         = fiber.MethodDelete + " /api/employers/profile"
	changeProfileOperation          = fiber.MethodPut + " /api/jobseekers/profile"
	createJobOperation              = fiber.MethodPost + " /api/employers/jobs"
	moveOperation                   = fiber.MethodPost + " /api/employers/applications/batch"
	decisionOperation               = fiber.MethodPut + " /api/employers/applications/:id"
	documentsOperation              = fiber.MethodPost + " /api/jobseekers/documents"
	inviteMemberOperation           = fiber.MethodPost + " /api/employers/team"
	reportJobOperation              = fiber.MethodPost + " /api/listings/:id/report"
	saveJobOperation                = fiber.MethodPost + " /api/jobseekers/saved"
	saveSearchOperation             = fiber.MethodPost + " /api/jobseekers/search"
	onboardingOperation             = fiber.MethodPost + " /api/jobseekers/onboarding"
)

// doLimited counts the request towards the rate limit of the operation and calls do. If the limit is reached, it returns an
// error instead.
func (s *Site) doLimited(ctx context.Context, c *fiber.Ctx, operation string, do func() error) error {
	if err := s.renderer.TakeLimit(ctx, c, operation); err != nil {
		return err
	}

	return do()
}
