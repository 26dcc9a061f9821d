package pages

import (
	"github.com/gofiber/fiber/v2"

	"github.com/locumhq/locum/adapters/web"
)

// The keys of values that are stored with a request, as locals of its Fiber context.
type (
	rendererKey struct{} // *Renderer, of a request for a page
	uploadKey   struct{} // upload, of a form with files
)

// rendererOf returns the Renderer of a request for a page. It is nil for other requests.
func rendererOf(c *fiber.Ctx) *Renderer {
	r, _ := c.Locals(rendererKey{}).(*Renderer)
	return r
}

// upload has the files of a form after the form was read.
type upload struct {
	filesByField map[string]web.FormFile
	isTooLarge   bool // the form was not read, because it has more than MaxUploadBody bytes
}

// uploadOf returns the upload of the request, which is empty for other forms.
func uploadOf(c *fiber.Ctx) upload {
	u, _ := c.Locals(uploadKey{}).(upload)
	return u
}
