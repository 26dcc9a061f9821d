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

// inlinePolicies maps the media types of the documents that browsers display, of which none
// can contain script of a page, to the Content-Security-Policy of such a document. All other
// documents are downloads. The policy for PDF documents has no sandbox, in which some browsers
// do not start their PDF viewers, and allows what the page around the viewer has in some of
// them: an embedded object and inline styles.
var inlinePolicies = map[string]string{
	pdf:                 "default-src 'none'; object-src 'self'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
	jobseeker.PlainText: "default-src 'none'; sandbox; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
}

// receivedFile is a document of an application with its links.
type receivedFile struct {
	hiring.Document
	Path, TypeText, Kind, SizeText string
	// ViewPath is the address at which browsers display the document, empty for a document
	// that they can only download.
	ViewPath string
}

// newReceivedFile adds the paths of a document. Only types that a browser shows safely have a
// view.
func newReceivedFile(d hiring.Document) receivedFile {
	f := receivedFile{Document: d, Path: "/employer/applications/" + d.ApplicationID + "/documents/" + d.ID,
		TypeText: documentTypeText(d.Type), Kind: mediaText(d.MediaType), SizeText: sizeText(d.Size)}
	if inlinePolicies[d.MediaType] != "" {
		f.ViewPath = f.Path + "?view=1"
	}

	return f
}

// applicationDocument sends a document of an application: with the parameter view, PDF
// documents and plain texts are displayed in the browser; everything else is a download.
func (s *Site) applicationDocument(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer) error {
	d, body, err := s.services.Hiring.OpenReceivedDocument(ctx, viewer.Actor(), c.Params("id"), c.Params("documentId"))
	if err != nil {
		return err
	}

	f := web.File{Name: d.FileName, MediaType: d.MediaType, Size: d.Size, Body: body}
	if c.Query("view") == "" || inlinePolicies[d.MediaType] == "" {
		return sendFile(c, f)
	}

	return sendInline(c, f)
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
