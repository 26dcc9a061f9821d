package pages

import (
	"context"

	"github.com/gofiber/fiber/v2"
)

// GetModerator serves a page to moderators. Other users get a page with status 403.
func (f *Renderer) GetModerator(app *fiber.App, path string, handle Handler) {
	f.Get(app, path, f.requireModerator(handle))
}

// PostModerator handles a form of moderators. Other users get a page with status 403.
func (f *Renderer) PostModerator(app *fiber.App, path string, handle Handler) {
	f.Post(app, path, f.requireModerator(handle))
}

func (f *Renderer) requireModerator(handle Handler) Handler {
	return func(ctx context.Context, c *fiber.Ctx, viewer *Viewer) error {
		if !viewer.Actor().Moderator {
			return f.Render(
				c,
				fiber.StatusForbidden,
				messagePage,
				viewer,
				Message{
					Title: "This page is for moderators",
					Text:  "Your account is not a moderator account. An operator of the service can change that.",
				},
			)
		}
		return handle(ctx, c, viewer)
	}
}

// PublicPost handles a form that guests can send, too. The viewer is nil for them.
func (f *Renderer) PublicPost(app *fiber.App, path string, handle Handler) {
	app.Post(path, f.Guard, f.withViewer(handle))
}
