package site

import (
	"context"
	"strings"

	"github.com/gofiber/fiber/v2"

	"github.com/locumhq/locum/adapters/fiberhttp/pages"
	"github.com/locumhq/locum/adapters/web"
	"github.com/locumhq/locum/modules/hiring"
	"github.com/locumhq/locum/modules/jobseeker"
)

// pdf is the media type of PDF documents.
const pdf = "application/pdf"

// inlinePolicies has the Content-Security-Policy of each media type that browsers may display. Documents of these types
// cannot contain scripts that run as part of a page. Documents of all other types are downloads.
//
// The policy for PDF documents has no sandbox, because some browsers do not start their PDF viewer in one. It allows an
// embedded object and inline styles, because some browsers show the viewer in a page that consists of them.
var inlinePolicies = map[string]string{
	pdf:                 "default-src 'none'; object-src 'self'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
	jobseeker.PlainText: "default-src 'none'; sandbox; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
}

// receivedFile is a document that the employer got with an application. Path is the address of the download, and Kind the
// name of the file format.
type receivedFile struct {
	hiring.Document
	Path, TypeText, Kind, SizeText string
	// ViewPath is the address at which browsers display the document, empty for a document
	// that they can only download.
	ViewPath string
}

// newReceivedFile adds the paths and the texts of a document.
func newReceivedFile(d hiring.Document) receivedFile {
	f := receivedFile{
		Document: d,
		Path:     "/employer/applications/" + d.ApplicationID + "/documents/" + d.ID,
		TypeText: documentTypeText(d.Type),
		Kind:     mediaText(d.MediaType),
		SizeText: sizeText(d.Size),
	}
	if inlinePolicies[d.MediaType] != "" {
		f.ViewPath = f.Path + "?view=1"
	}

	return f
}

// applicationDocument sends a document of an application as a download. With the query parameter view, the browser
// displays documents of the types in inlinePolicies.
func (s *Site) applicationDocument(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer) error {
	d, body, err := s.services.Hiring.OpenReceivedDocument(ctx, viewer.Actor(), c.Params("id"), c.Params("documentId"))
	if err != nil {
		return err
	}

	f := web.File{Name: d.FileName, MediaType: d.MediaType, Size: d.Size, Body: body}
	if isInline := c.Query("view") != "" && inlinePolicies[d.MediaType] != ""; isInline {
		return sendInline(c, f)
	}

	return sendFile(c, f)
}

// sendInline sends a file that a user uploaded, for the browser to display. Its media type was
// detected from its content and is in inlinePolicies.
func sendInline(c *fiber.Ctx, f web.File) error {
	c.Set(fiber.HeaderContentType, f.MediaType)
	c.Set(fiber.HeaderContentDisposition, "inline"+strings.TrimPrefix(f.Disposition(), "attachment"))
	c.Set(fiber.HeaderContentSecurityPolicy, inlinePolicies[f.MediaType])
	c.Set(fiber.HeaderXContentTypeOptions, "nosniff")
	c.Set(fiber.HeaderCacheControl, "private, no-store")
	c.Set("Cross-Origin-Resource-Policy", "same-origin")

	return c.SendStream(f.Body, int(f.Size))
}
