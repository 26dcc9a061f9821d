package site

import (
	"bytes"
	"context"
	"fmt"
	"io"

	"github.com/gofiber/fiber/v2"

	"github.com/locumhq/locum/adapters/fiberhttp/pages"
	"github.com/locumhq/locum/adapters/web"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/modules/jobseeker"
)

var (
	myDocumentsPage = pages.Parse(files, "html/my-documents.html", "html/account-parts.html")
	myDocumentPage  = pages.Parse(files, "html/my-document.html", "html/account-parts.html")
)

// documentTypes are the choices for the type of a document.
var documentTypes = []pages.Choice{
	{Value: string(jobseeker.CV), Text: "CV"},
	{Value: string(jobseeker.CoverLetter), Text: "Cover letter"},
	{Value: string(jobseeker.Certification), Text: "Certificate or registration"},
	{Value: string(jobseeker.OtherDocument), Text: "Something else"},
}

// documentTypeText returns the type in words.
func documentTypeText(kind string) string {
	for _, t := range documentTypes {
		if t.Value == kind {
			return t.Text
		}
	}

	return "Document"
}

// mediaTexts maps media types to the names that users know.
var mediaTexts = map[string]string{
	"application/pdf":    "PDF",
	"application/msword": "Word",
	"application/vnd.openxmlformats-officedocument.wordprocessingml.document": "Word",
	"application/vnd.oasis.opendocument.text":                                 "OpenDocument",
	"text/rtf":          "RTF",
	"image/png":         "PNG image",
	"image/jpeg":        "JPEG image",
	jobseeker.PlainText: "Text",
}

// mediaText returns the name of a media type, empty if the type has none.
func mediaText(mediaType string) string { return mediaTexts[mediaType] }

// sizeText formats the size of a file, such as "34 KB" or "1.2 MB". A file under 1 KB is shown as "1 KB".
func sizeText(bytes int64) string {
	const kilobyte, megabyte = 1_000, 1_000_000

	switch {
	case bytes < kilobyte:
		return "1 KB"
	case bytes < megabyte:
		return fmt.Sprintf("%d KB", (bytes+kilobyte/2)/kilobyte) // rounded
	}

	return fmt.Sprintf("%.1f MB", float64(bytes)/megabyte)
}

// myDocumentRow is a document in a list. Kind is the name of its file format, such as PDF.
type myDocumentRow struct {
	jobseeker.Document
	TypeText, Kind, SizeText string
}

func newMyDocumentRow(d jobseeker.Document) myDocumentRow {
	return myDocumentRow{
		Document: d,
		TypeText: documentTypeText(string(d.Type)),
		Kind:     mediaText(d.MediaType),
		SizeText: sizeText(d.FileSize()),
	}
}

// myDocumentsView is the list of documents with the form for a new one.
type myDocumentsView struct {
	Documents []myDocumentRow
	Form      *pages.Form
	Types     []pages.Choice
	// Maximum is the number of documents that a clinician can store.
	Maximum int
}

// loadDocuments collects what the page shows. The page lists all documents. There are at most MaxDocuments.
func (s *Site) loadDocuments(ctx context.Context, viewer *pages.Viewer, form *pages.Form) (myDocumentsView, error) {
	documents, err := s.services.Seekers.MyDocuments(ctx, viewer.Actor(), page.Request{Number: 1, Size: jobseeker.MaxDocuments})

	return myDocumentsView{
		Documents: web.Each(documents.Items, newMyDocumentRow),
		Form:      form,
		Types:     documentTypes,
		Maximum:   jobseeker.MaxDocuments,
	}, err
}

func (s *Site) myDocuments(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer) error {
	v, err := s.loadDocuments(ctx, viewer, &pages.Form{})
	if err != nil {
		return err
	}

	return s.renderer.Render(c, fiber.StatusOK, myDocumentsPage, viewer, v)
}

// upload stores the file of the request as a new document. The document gets the title in the form. If the form has
// none, the title is the name of the file.
func (s *Site) upload(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer, form pages.Form, documentType string) (jobseeker.Document, error) {
	file, err := pages.FileOf(c, "file")
	switch {
	case err != nil:
		return jobseeker.Document{}, err
	case file == nil:
		return jobseeker.Document{}, fault.InvalidField("file", "is required")
	}

	if err := s.renderer.TakeLimit(ctx, c, documentsOperation); err != nil {
		return jobseeker.Document{}, err
	}

	return s.services.Seekers.Upload(ctx, viewer.Actor(), jobseeker.UploadInput{
		Type:      documentType,
		Title:     form.Value("title"),
		FileName:  file.Name,
		File:      file.Content,
		IsDefault: form.Value("isDefault") != "",
	})
}

// addDocument stores the file of the form as a new document. If the user can correct what is wrong, the page is shown again.
func (s *Site) addDocument(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer) error {
	form := pages.FormOf(c)
	if _, err := s.upload(ctx, c, viewer, form, form.Value("type")); err != nil {
		return s.renderProblem(c, myDocumentsPage, viewer, &form, err, func() (any, error) { return s.loadDocuments(ctx, viewer, &form) })
	}

	return redirect(c, "/account/documents", "document-added")
}

// myDocumentView is the page of a document.
type myDocumentView struct {
	myDocumentRow
	Form *pages.Form
}

// loadDocument collects what the page of one document shows.
func (s *Site) loadDocument(ctx context.Context, viewer *pages.Viewer, id string, form *pages.Form) (v myDocumentView, err error) {
	d, _, err := s.services.Seekers.MyDocument(ctx, viewer.Actor(), id)
	return myDocumentView{myDocumentRow: newMyDocumentRow(d), Form: form}, err
}

func (s *Site) myDocument(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer) error {
	v, err := s.loadDocument(ctx, viewer, c.Params("id"), &pages.Form{})
	if err != nil {
		return err
	}

	return s.renderer.Render(c, fiber.StatusOK, myDocumentPage, viewer, v)
}

// changeDocument changes the title of a document and, if a file is sent, its content.
func (s *Site) changeDocument(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer) error {
	form, id := pages.FormOf(c), c.Params("id")
	if err := s.updateDocument(ctx, c, viewer, id, form.Value("title")); err != nil {
		return s.renderProblem(c, myDocumentPage, viewer, &form, err, func() (any, error) { return s.loadDocument(ctx, viewer, id, &form) })
	}

	return redirect(c, "/account/documents", "document-changed")
}

// updateDocument sets the title of a document, and its content if the form has a file.
func (s *Site) updateDocument(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer, id, title string) error {
	file, err := pages.FileOf(c, "file")
	if err != nil {
		return err
	}

	if err := s.renderer.TakeLimit(ctx, c, documentsOperation); err != nil {
		return err
	}

	in := jobseeker.ChangeDocumentInput{Title: &title}
	if file != nil {
		in.File, in.FileName = file.Content, &file.Name
	}

	_, err = s.services.Seekers.ChangeDocument(ctx, viewer.Actor(), id, in)

	return err
}

// myDocumentFile sends the file of a document.
func (s *Site) myDocumentFile(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer) error {
	d, err := s.services.Seekers.DownloadDocument(ctx, viewer.Actor(), c.Params("id"))
	if err != nil {
		return err
	}

	body := io.NopCloser(bytes.NewReader(d.Body))

	return sendFile(c, web.File{Name: d.Name, MediaType: d.MediaType, Size: int64(len(d.Body)), Body: body})
}

// setDefaultDocument makes a document the default of its type. If the field default of the form has the value "no",
// the document is no longer the default.
func (s *Site) setDefaultDocument(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer) error {
	isDefault := pages.FormOf(c).Value("default") != "no"

	if err := s.renderer.TakeLimit(ctx, c, documentsOperation); err != nil {
		return err
	}

	in := jobseeker.ChangeDocumentInput{IsDefault: &isDefault}
	if _, err := s.services.Seekers.ChangeDocument(ctx, viewer.Actor(), c.Params("id"), in); err != nil {
		return err
	}

	return redirect(c, "/account/documents", "document-changed")
}

func (s *Site) deleteDocument(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer) error {
	if err := s.renderer.TakeLimit(ctx, c, documentsOperation); err != nil {
		return err
	}

	if _, err := s.services.Seekers.DeleteDocument(ctx, viewer.Actor(), c.Params("id")); err != nil {
		return err
	}

	return redirect(c, "/account/documents", "document-deleted")
}
