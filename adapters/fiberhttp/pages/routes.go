package pages

import (
	"context"
	"net/url"

	"github.com/gofiber/fiber/v2"
)

// The names of Fiber routes. They show in the list of routes how a route authenticates its users.
const (
	// Session is the name of the routes that need a browser session.
	Session = "page session"
	// UploadSession is the name of the routes that need a browser session and accept files. For
	// these routes, the server reads larger bodies.
	UploadSession = "page session, with files"
)

// Handler handles a request for a page. viewer is the signed-in user. On public pages, viewer is
// nil for guests.
type Handler func(ctx context.Context, c *fiber.Ctx, viewer *Viewer) error

// Get serves a page to signed-in users.
func (r *Renderer) Get(app *fiber.App, path string, handle Handler) {
	app.Get(path, r.Guard, r.requireSignIn(handle)).Name(Session)
}

// Post handles a form of signed-in users.
func (r *Renderer) Post(app *fiber.App, path string, handle Handler) {
	app.Post(path, r.Guard, r.requireSignIn(handle)).Name(Session)
}

// PostFiles handles a form of signed-in users that may contain files. The body may have at
// most MaxUploadBody bytes.
func (r *Renderer) PostFiles(app *fiber.App, path string, handle Handler) {
	app.Post(path, r.Guard, r.requireSignIn(handle)).Name(UploadSession)
}

// Public serves a page to everyone. The viewer is nil for guests.
func (r *Renderer) Public(app *fiber.App, path string, handle Handler) {
	app.Get(path, r.Guard, r.withViewer(handle))
}

// PublicPost handles a form that guests can send, too. The viewer is nil for them.
func (r *Renderer) PublicPost(app *fiber.App, path string, handle Handler) {
	app.Post(path, r.Guard, r.withViewer(handle))
}

// withViewer calls handle for everyone, with the viewer nil for guests.
func (r *Renderer) withViewer(handle Handler) fiber.Handler {
	return func(c *fiber.Ctx) error {
		ctx, cancel := r.requestContext(c)
		defer cancel()

		viewer, err := r.Viewer(ctx, c)
		if err != nil && !isUnauthenticated(err) {
			return err
		}

		return handle(ctx, c, viewer)
	}
}

// requireSignIn calls handle for signed-in users, and redirects guests to the sign-in page.
func (r *Renderer) requireSignIn(handle Handler) fiber.Handler {
	return func(c *fiber.Ctx) error {
		ctx, cancel := r.requestContext(c)
		defer cancel()

		viewer, err := r.Viewer(ctx, c)

		switch {
		case isUnauthenticated(err):
			return redirectToSignIn(c)
		case err != nil:
			return err
		}

		return handle(ctx, c, viewer)
	}
}

// redirectToSignIn redirects a guest to the sign-in page, which leads back to the requested page. A
// form cannot be repeated after the sign-in. After a form, the sign-in page therefore leads to the
// first page of the user. After a form of the pages for developers, it leads to the first page for
// developers.
func redirectToSignIn(c *fiber.Ctx) error {
	next := "" // the first page of the user
	switch {
	case c.Method() == fiber.MethodGet:
		next = c.OriginalURL()
	case isDeveloperPage(c):
		next = developersPath
	}

	return c.Redirect(signInPath(c.Path())+"?next="+url.QueryEscape(next), fiber.StatusSeeOther)
}

// GetModerator serves a page to moderators. Other users get a page with status 403.
func (r *Renderer) GetModerator(app *fiber.App, path string, handle Handler) {
	r.Get(app, path, r.requireModerator(handle))
}

// PostModerator handles a form of moderators. Other users get a page with status 403.
func (r *Renderer) PostModerator(app *fiber.App, path string, handle Handler) {
	r.Post(app, path, r.requireModerator(handle))
}

// requireModerator calls handle for moderators only.
func (r *Renderer) requireModerator(handle Handler) Handler {
	return func(ctx context.Context, c *fiber.Ctx, viewer *Viewer) error {
		if !viewer.Actor().Moderator {
			return r.Render(c, fiber.StatusForbidden, messagePage, viewer, Message{
				Title: "This page is for moderators",
				Text:  "Your account is not a moderator account. An operator of the service can change that.",
			})
		}

		return handle(ctx, c, viewer)
	}
}
