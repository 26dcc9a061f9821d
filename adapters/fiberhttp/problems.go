package fiberhttp

import (
	"context"
	"maps"

	"github.com/gofiber/fiber/v2"

	"github.com/locumhq/locum/adapters/fiberhttp/pages"
	"github.com/locumhq/locum/adapters/web"
)

// addProblems serves the pages that explain the codes of errors.
func (s *Server) addProblems(renderer *pages.Renderer) {
	problems := map[string]web.Problem{}
	for _, api := range s.apis {
		maps.Copy(problems, api.Problems)
	}
	renderer.Public(s.app, "/problems/:code", func(_ context.Context, c *fiber.Ctx, _ *pages.Viewer) error {
		code := c.Params("code")
		known, ok := problems[code]
		if !ok {
			return fiber.ErrNotFound
		}
		return renderer.RenderMessage(c, fiber.StatusOK, pages.Message{Title: known.Title, Text: known.Text, Code: code})
	})
}
