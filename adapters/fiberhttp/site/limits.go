package site

import (
	"context"

	"github.com/gofiber/fiber/v2"
)

// The operations of the API whose rate limits the forms of the site share.
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

// doLimited calls do, unless the client has reached the rate limit of the operation.
func (s *Site) doLimited(ctx context.Context, c *fiber.Ctx, operation string, do func() error) error {
	if err := s.renderer.TakeLimit(ctx, c, operation); err != nil {
		return err
	}

	return do()
}
