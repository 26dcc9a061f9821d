package pages

import (
	"errors"
	"io"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gofiber/fiber/v2"
	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/core/fault"
)

// TestTemplates_EachFormWithPOST_HasTheToken checks that no template forgets the CSRF token,
// without which browsers that send neither Origin nor Sec-Fetch-Site could not submit the form.
func TestTemplates_EachFormWithPOST_HasTheToken(t *testing.T) {
	t.Parallel()

	pages, err := filepath.Glob("../*/html/*.html")
	require.NoError(t, err)

	forms := 0
	for _, page := range pages {
		text, err := os.ReadFile(page)
		require.NoError(t, err)

		for _, form := range strings.Split(string(text), `<form method="post"`)[1:] {
			_, content, _ := strings.Cut(form, ">")
			require.True(t, strings.HasPrefix(content, "{{$.CSRF}}"), "%s: <form method=\"post\"%s", page, form)
			forms++
		}
	}

	require.NotZero(t, forms)
}

// TestPage_FooterLinks_BrandReplacesBuiltInPages checks that a privacy page of the operator
// replaces the built-in one, and that an API without the site links to neither.
func TestPage_FooterLinks_BrandReplacesBuiltInPages(t *testing.T) {
	t.Parallel()

	ownPrivacy := Link{"https://example.org/privacy", "privacy"}
	builtInPrivacy := Link{"/privacy", "Privacy"}
	help := Link{"/help", "Help"}
	page := Page{hasSite: true, Brand: Brand{Links: []Link{ownPrivacy}}}
	require.Equal(t, []Link{ownPrivacy, help}, page.FooterLinks()[:2])
	require.NotContains(t, page.FooterLinks(), builtInPrivacy)
	require.NotContains(t, Page{}.FooterLinks(), help, "without the site")
}

// TestRenderError_InternalFault_HasOnlyTheRequestID checks that the page of an internal error
// shows the request id and never the error. Errors that clients may know show their message. The
// API, whose routes do not use Guard, gets no page.
func TestRenderError_InternalFault_HasOnlyTheRequestID(t *testing.T) {
	t.Parallel()

	renderer, err := New(nil, nil, Options{PublicURL: "http://localhost:8080"})
	require.NoError(t, err)

	errorsByPath := map[string]error{
		"/internal":    errors.New("the password is horse"),
		"/forbidden":   fault.ErrForbidden,
		"/unavailable": fault.ErrUnavailable,
	}

	app := fiber.New(fiber.Config{ErrorHandler: func(c *fiber.Ctx, err error) error {
		c.Set(fiber.HeaderXRequestID, "request-7")

		isPage, renderErr := RenderError(c, fiber.StatusTeapot, fault.Of(err))
		if renderErr == nil && !isPage {
			return c.SendString("no page")
		}

		return renderErr
	}})
	for path, err := range errorsByPath {
		app.Get(path, renderer.Guard, func(*fiber.Ctx) error { return err })
	}

	app.Get("/api", func(*fiber.Ctx) error { return fault.ErrForbidden })

	getBody := func(path string) string {
		response, err := app.Test(httptest.NewRequest(fiber.MethodGet, path, nil), -1)
		require.NoError(t, err)

		defer func() { _ = response.Body.Close() }()

		body, err := io.ReadAll(response.Body)
		require.NoError(t, err)

		return string(body)
	}

	require.Contains(t, getBody("/internal"), "request-7")
	require.NotContains(t, getBody("/internal"), "horse")
	require.Contains(t, getBody("/forbidden"), fault.ErrForbidden.Message)
	require.Contains(t, getBody("/unavailable"), "Please try again in a minute")
	require.Equal(t, "no page", getBody("/api"))
}
