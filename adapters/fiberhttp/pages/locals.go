package pages

import (
	"github.com/gofiber/fiber/v2"

	"github.com/locumhq/locum/adapters/web"
)

// The keys of the Fiber locals, which are the state of a request.
type (
	rendererKey struct{}
	uploadKey   struct{}
)

// rendererOf returns the Renderer of a request for a page, nil for other requests.
func rendererOf(c *fiber.Ctx) *Renderer {
	r, _ := c.Locals(rendererKey{}).(*Renderer)
	return r
}

// upload is a form with files after it was read.
type upload struct {
	filesByField map[string]web.FormFile
	isTooLarge   bool
}

// uploadOf returns the upload of the request, which is empty for other forms.
func uploadOf(c *fiber.Ctx) upload {
	u, _ := c.Locals(uploadKey{}).(upload)
	return u
}
