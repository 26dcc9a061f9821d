package pages

import (
	"crypto/sha256"
	"encoding/base64"

	"github.com/gofiber/fiber/v2"
)

// assets maps the files that pages use to their media types.
var assets = map[string]string{
	"style.css": "text/css; charset=utf-8",
	"icon.svg":  "image/svg+xml",
	"script.js": "text/javascript; charset=utf-8",
}

// assetPath returns the path of an asset. Its query contains a hash of the content, so that
// browsers can cache the asset forever.
func assetPath(name string) (string, error) {
	content, err := files.ReadFile(name)
	sum := sha256.Sum256(content)
	version := base64.RawURLEncoding.EncodeToString(sum[:9]) // 12 characters are enough to tell versions apart

	return "/assets/" + name + "?v=" + version, err
}

// addAssets registers the routes of the assets.
func (r *Renderer) addAssets(app *fiber.App) {
	app.Get("/site.webmanifest", r.manifest)
	r.addBrandAssets(app)

	// Browsers request /favicon.ico for documents that name no icon, such as files.
	app.Get("/favicon.ico", func(c *fiber.Ctx) error { return c.Redirect("/assets/icon.svg", fiber.StatusMovedPermanently) })

	for name, mediaType := range assets {
		file, _ := files.ReadFile(name) // assetPath has read the same file without an error
		app.Get("/assets/"+name, func(c *fiber.Ctx) error {
			c.Set(fiber.HeaderContentType, mediaType)
			c.Set(fiber.HeaderCacheControl, "public, max-age=300")

			// The path of assetPath changes with the content.
			if hasVersion := c.Query("v") != ""; hasVersion {
				c.Set(fiber.HeaderCacheControl, "public, max-age=31536000, immutable")
			}

			return c.Send(file)
		})
	}
}

// manifest handles GET /site.webmanifest, which browsers use when a user adds the service to the home
// screen.
func (r *Renderer) manifest(c *fiber.Ctx) error {
	if err := c.JSON(map[string]any{
		"name":       r.brand.Name,
		"short_name": r.brand.Name,
		"start_url":  Page{hasSite: r.hasSite}.HomePath(),
		"display":    "browser",
		"icons":      []map[string]string{{"src": "/assets/icon.svg", "sizes": "any", "type": "image/svg+xml"}},
	}); err != nil {
		return err
	}

	c.Set(fiber.HeaderContentType, "application/manifest+json")
	c.Set(fiber.HeaderCacheControl, "public, max-age=3600")

	return nil
}

// addBrandAssets registers the routes of the logo and of a style sheet with the colour.
func (r *Renderer) addBrandAssets(app *fiber.App) {
	serve := func(path, mediaType string, content []byte) {
		app.Get(path, func(c *fiber.Ctx) error {
			c.Set(fiber.HeaderContentType, mediaType)
			c.Set(fiber.HeaderCacheControl, "public, max-age=300")
			// The logo may be an SVG, which can contain scripts.
			c.Set(fiber.HeaderContentSecurityPolicy, "default-src 'none'; style-src 'unsafe-inline'; sandbox")

			return c.Send(content)
		})
	}

	if len(r.brand.Logo) > 0 {
		serve("/assets/logo", r.brand.LogoType, r.brand.Logo)
	}

	if r.brand.Colour != "" {
		css := "@media (prefers-color-scheme: light) { :root { --govuk-brand-colour: " + r.brand.Colour +
			"; --govuk-link-colour: " + r.brand.Colour + "; --shadow: #14212b; } }\n"
		serve("/assets/brand.css", assets["style.css"], []byte(css))
	}
}
