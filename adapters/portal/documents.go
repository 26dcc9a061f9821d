package portal

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"net/http"
	"time"

	"github.com/locumhq/locum/adapters/web"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/modules/jobseeker"
)

// documentBody is the maximum size of a request with a document. The JSON has the file in base 64, which is a third
// longer, so that files can have up to 7 MiB.
const documentBody = 10 << 20

// documentRoutes returns the routes of the documents, such as a CV, that jobseekers send with applications.
func documentRoutes(s *jobseeker.Service) []web.Route {
	return routesFor(web.Seeker, "Documents", []web.Route{
		{
			Method:  http.MethodGet,
			Path:    "/api/jobseekers/documents",
			Summary: "List the caller's documents without their content, newest first",
			Op: list(s.MyDocuments, func(r page.Result[jobseeker.Document], p web.Paging) documentsView {
				return documentsView{Documents: web.Each(r.Items, viewDocument), SeekerPaged: seekerPaged(r, p)}
			}),
		},
		{
			Method:  http.MethodPost,
			Path:    "/api/jobseekers/documents",
			Limit:   web.PerQuarterHour(10),
			Remote:  true,
			Body:    documentBody,
			Errors:  []int{404},
			Summary: "Upload, change or delete a document, or make it the default; as JSON, or as a form with a file",
			Op: web.Op(
				func(ctx context.Context, c web.Call, in DocumentIntentInput) (web.Reply[changedDocumentView], error) {
					d, message, err := in.run(ctx, c, s)
					return web.OK(changedDocumentView{Intent: in.Intent, Document: viewDocument(d)}, message), err
				}),
		},
		{
			Method:  http.MethodGet,
			Path:    "/api/jobseekers/documents/:id",
			Summary: "Get one of the caller's documents with its content as it was sent",
			Op: web.Op(
				func(ctx context.Context, c web.Call, in IDPath) (web.Reply[wholeDocumentView], error) {
					d, content, err := s.MyDocument(ctx, c.Actor, in.ID)
					var v wholeDocumentView
					v.Document.documentView, v.Document.Content = viewDocument(d), content

					return web.OK(v, ""), err
				}),
		},
		{
			Method:   http.MethodGet,
			Path:     "/api/jobseekers/documents/:id/file",
			Produces: jobseeker.MediaTypes(),
			Summary:  "Download one of the caller's documents",
			Op: web.Op(
				func(ctx context.Context, c web.Call, in IDPath) (web.File, error) {
					d, err := s.DownloadDocument(ctx, c.Actor, in.ID)

					return web.File{
						Name:      d.Name,
						MediaType: d.MediaType,
						Size:      int64(len(d.Body)),
						Body:      io.NopCloser(bytes.NewReader(d.Body)),
					}, err
				}),
		},
		{
			Method:  http.MethodPut,
			Path:    "/api/jobseekers/documents/:id",
			Body:    documentBody,
			Summary: "Change a document; absent members stay unchanged",
			Op: web.Op(
				func(ctx context.Context, c web.Call, in ChangeDocumentInput) (web.Done, error) {
					_, err := s.ChangeDocument(ctx, c.Actor, in.ID, in.ChangeDocumentInput)
					return web.Message("Document updated successfully"), err
				}),
		},
		{
			Method:  http.MethodDelete,
			Path:    "/api/jobseekers/documents/:id",
			Summary: "Delete a document",
			Op: web.Op(
				func(ctx context.Context, c web.Call, in IDPath) (web.Done, error) {
					_, err := s.DeleteDocument(ctx, c.Actor, in.ID)
					return web.Message("Document deleted successfully"), err
				}),
		},
	})
}

// ChangeDocumentInput is the input of the operation that changes the document with the id in the path.
type ChangeDocumentInput struct {
	IDPath
	jobseeker.ChangeDocumentInput
}

// DocumentIntentInput is the input of the operation that uploads and changes documents. Intent selects what the operation
// does. The tag intents of a field names the intents that use the field.
type DocumentIntentInput struct {
	Intent string `json:"intent" validate:"required,oneof=upload-document update-document delete-document set-default"`
	Type   string `json:"type" validate:"omitempty,oneof=cv cover-letter certification other" intents:"upload-document"`
	// DocumentID is required by the intents that use it.
	DocumentID string `json:"documentId" intents:"update-document delete-document set-default"`
	// File is the file of a form, which replaces the members content and fileName of the JSON body.
	File *web.FormFile `json:"-" file:"file"`

	jobseeker.ChangeDocumentInput `intents:"upload-document update-document set-default"`
}

// run does what the intent says: it uploads, changes or deletes a document, or makes it the default of its type. It
// returns the document and the message of the response.
func (in DocumentIntentInput) run(
	ctx context.Context,
	c web.Call,
	s *jobseeker.Service,
) (document jobseeker.Document, message string, err error) {
	if in.File != nil {
		in.ChangeDocumentInput.File = in.File.Content
		in.FileName = cmp.Or(in.FileName, &in.File.Name) // a field fileName of the form takes precedence
	}

	if in.Intent == "upload-document" {
		document, err = s.Upload(ctx, c.Actor, jobseeker.UploadInput{
			Type:      in.Type,
			Title:     text(in.Title),
			Content:   text(in.Content),
			FileName:  text(in.FileName),
			IsDefault: in.IsDefault != nil && *in.IsDefault,
			File:      in.ChangeDocumentInput.File,
		})

		return document, "Document uploaded successfully", err
	}

	if in.DocumentID == "" {
		return document, "", fault.InvalidField("documentId", "is required")
	}

	switch in.Intent {
	case "update-document":
		document, err = s.ChangeDocument(ctx, c.Actor, in.DocumentID, in.ChangeDocumentInput)
		return document, "Document updated successfully", err
	case "set-default":
		isDefault := in.IsDefault == nil || *in.IsDefault // with false, the document stops being the default
		document, err = s.ChangeDocument(ctx, c.Actor, in.DocumentID, jobseeker.ChangeDocumentInput{IsDefault: &isDefault})
		return document, "Default document updated successfully", err
	}

	// The only other intent is delete-document.
	document, err = s.DeleteDocument(ctx, c.Actor, in.DocumentID)

	return document, "Document deleted successfully", err
}

// text returns the value of an optional text. It is empty for nil.
func text(s *string) string {
	if s == nil {
		return ""
	}

	return *s
}

type documentView struct {
	ID        string                 `json:"id"`
	Type      jobseeker.DocumentType `json:"type"`
	Title     string                 `json:"title"`
	FileName  string                 `json:"fileName"`
	IsDefault bool                   `json:"isDefault"`
	// MediaType was detected from the content. Size is the size of the file in bytes.
	MediaType  string    `json:"mediaType"`
	Size       int64     `json:"size"`
	UploadedAt time.Time `json:"uploadedAt"`
	UpdatedAt  time.Time `json:"updatedAt"`
}

func viewDocument(d jobseeker.Document) documentView {
	return documentView{
		ID:         d.ID,
		Type:       d.Type,
		Title:      d.Title,
		FileName:   d.FileName,
		IsDefault:  d.IsDefault,
		MediaType:  d.MediaType,
		Size:       d.Size,
		UploadedAt: d.UploadedAt,
		UpdatedAt:  d.UpdatedAt,
	}
}

type documentsView struct {
	Documents []documentView `json:"documents"`
	SeekerPaged
}

type changedDocumentView struct {
	Intent   string       `json:"intent"`
	Document documentView `json:"document"`
}

type wholeDocumentView struct {
	Document struct {
		documentView
		Content string `json:"content"`
	} `json:"document"`
}
