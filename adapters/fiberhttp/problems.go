package fiberhttp

import (
	"context"
	"maps"

	"github.com/gofiber/fiber/v2"

	"github.com/locumhq/locum/adapters/fiberhttp/pages"
	"github.com/locumhq/locum/adapters/web"
)

// addProblems registers the pages that explain the error codes of all APIs.
func (s *Server) addProblems(renderer *pages.Renderer) {
	problemsByCode := map[string]web.Problem{}
	for _, api := range s.apis {
		maps.Copy(problemsByCode, api.Problems)
	}

	renderer.Public(s.app, "/problems/:code", func(_ context.Context, c *fiber.Ctx, _ *pages.Viewer) error {
		code := c.Params("code")

		problem, exists := problemsByCode[code]
		if !exists {
			return fiber.ErrNotFound
		}

		return renderer.RenderMessage(c, fiber.StatusOK, pages.Message{Title: problem.Title, Text: problem.Text, Code: code})
	})
}
