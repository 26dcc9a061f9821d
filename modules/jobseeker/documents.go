package jobseeker

import (
	"cmp"
	"context"
	"io"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/files"
	"github.com/locumhq/locum/core/list"
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/core/patch"
	"github.com/locumhq/locum/core/text"
	"github.com/locumhq/locum/core/valid"
)

// DocumentType is the purpose of a document.
type DocumentType string

// The types of documents.
const (
	CV            DocumentType = "cv"
	CoverLetter   DocumentType = "cover-letter"
	Certification DocumentType = "certification"
	OtherDocument DocumentType = "other"
)

// Document is a text or a file that a jobseeker applies with.
type Document struct {
	ID       string
	UserID   string
	Type     DocumentType
	Title    string
	FileName string
	// IsDefault is true for the document that an application uses unless it names
	// another document of the same type.
	IsDefault bool
	Content
	UploadedAt time.Time
	UpdatedAt  time.Time
}

// Content describes the content of a document. The content itself is stored as a file, in
// the encoding in which the client sent it.
type Content struct {
	File DocumentFile
	// Size is the number of bytes of the stored file.
	Size int64
	// Form is the encoding of the stored file.
	Form Form
	// MediaType is the media type of the decoded content.
	MediaType string
}

// DocumentFile names a file that holds the content of a document.
type DocumentFile struct {
	ID string
	// Extension is the file extension of the media type, with its dot. It is empty for
	// files of early versions, which stored files without an extension.
	Extension string
}

// The limits of a user's documents.
const (
	MaxDocuments = 50
	// MaxDocumentBytes is the maximum size of all documents of a user together.
	MaxDocumentBytes = 200 << 20
	// MaxFileBytes is the maximum size of an uploaded file.
	MaxFileBytes = 7 << 20
)

// DocumentService implements the use cases of documents.
type DocumentService struct {
	*Shared
	Documents     Documents
	DocumentFiles DocumentFiles
	FileTypes     FileTypes
	Files         files.Store
}

// UploadInput is a new document.
type UploadInput struct {
	Type      string `json:"type" validate:"required,oneof=cv cover-letter certification other"`
	Title     string `json:"title" validate:"max=200,line"`
	Content   string `json:"content"`
	FileName  string `json:"fileName" validate:"max=255,line"`
	IsDefault bool   `json:"isDefault"`
	// File replaces Content for a client that uploads a file. It is nil if there is none.
	File []byte `json:"-"`
}

// MyDocuments lists the caller's documents, newest first.
func (s *DocumentService) MyDocuments(ctx context.Context, by auth.Actor, r page.Request) (page.Result[Document], error) {
	if err := cmp.Or(by.RequireSeeker(), r.CheckID()); err != nil {
		return page.Result[Document]{}, err
	}

	return s.Documents.List(ctx, by.UserID, DocumentFilter{}, r)
}

// Upload stores a new document.
func (s *DocumentService) Upload(ctx context.Context, by auth.Actor, in UploadInput) (Document, error) {
	if err := by.RequireSeeker(); err != nil {
		return Document{}, err
	}

	document := Document{
		UserID:    by.UserID,
		Type:      DocumentType(in.Type),
		Title:     text.Name(in.Title),
		FileName:  strings.TrimSpace(in.FileName),
		IsDefault: in.IsDefault,
	}

	content, encoded, contentProblems := s.readInput(in.Content, in.File)
	if problems := append(valid.Problems(in), contentProblems...); len(problems) > 0 {
		return Document{}, fault.ErrInvalid.WithFields(problems...)
	}

	document = document.withDefaultTitle()

	// Write the file before the transaction. If the transaction fails, the file is released,
	// which means that a task deletes it.
	content, err := s.storeContent(ctx, by.UserID, content, encoded, noDocument)
	if err != nil {
		return Document{}, err
	}

	document.Content = content

	err = s.Tx.Do(ctx, func(ctx context.Context) error {
		added := usage{documents: 1, bytes: document.Size}
		if err := s.checkLimits(ctx, by.UserID, added); err != nil {
			return err
		}

		now := s.Clock.Now()
		document.ID, document.UploadedAt, document.UpdatedAt = s.NewID(), now, now

		if err := s.Documents.Upsert(ctx, document); err != nil {
			return err
		}

		return s.addActivity(ctx, by, "document", "uploaded", "Uploaded "+oneLine(document.Title))
	})
	if err != nil {
		s.releaseFile(ctx, by.UserID, document.File)
		return Document{}, err
	}

	return document, nil
}

// defaultTitles are the titles of documents that have neither a title nor a file name.
var defaultTitles = map[DocumentType]string{
	CV:            "CV",
	CoverLetter:   "Cover letter",
	Certification: "Certification",
	OtherDocument: "Document",
}

// baseName returns the file name without the directories of a path. The separators are the slash
// and, for paths of Windows, the backslash.
func (d Document) baseName() string {
	return d.FileName[strings.LastIndexAny(d.FileName, `/\`)+1:]
}

// withDefaultTitle returns the document with a title. A document without a title gets the name of
// its file without the extension. If it has no file name either, it gets the default title of its
// type.
func (d Document) withDefaultTitle() Document {
	if d.Title != "" {
		return d
	}

	name := d.baseName()

	d.Title = cmp.Or(text.Name(strings.TrimSuffix(name, path.Ext(name))), defaultTitles[d.Type])
	if r := []rune(d.Title); len(r) > maxName {
		d.Title = string(r[:maxName])
	}

	return d
}

// allDocuments is a page that contains all documents of a user.
var allDocuments = page.After("", MaxDocuments)

// hasCV reports whether the user has a CV.
func (s *DocumentService) hasCV(ctx context.Context, userID string) (bool, error) {
	all, err := s.Documents.List(ctx, userID, DocumentFilter{}, allDocuments)
	return slices.ContainsFunc(all.Items, func(d Document) bool { return d.Type == CV }), err
}

// usage is a number of documents and of the bytes of their files.
type usage struct {
	documents int
	bytes     int64
}

// checkLimits locks the user's data until the end of the transaction, and returns an error if
// a change that adds documents or bytes would exceed a limit.
func (s *DocumentService) checkLimits(ctx context.Context, userID string, added usage) error {
	if err := s.lock(ctx, userID); err != nil {
		return err
	}

	all, err := s.Documents.List(ctx, userID, DocumentFilter{}, allDocuments)
	if err != nil {
		return err
	}

	total := usage{documents: len(all.Items) + added.documents, bytes: added.bytes}
	for _, d := range all.Items {
		total.bytes += d.Size
	}

	switch {
	case total.documents > MaxDocuments:
		return ErrTooManyDocuments
	case total.bytes > MaxDocumentBytes:
		return ErrDocumentsTooLarge
	}

	return nil
}

// ChangeDocumentInput changes a document. Fields that are nil keep their value.
type ChangeDocumentInput struct {
	Title     *string `json:"title" validate:"omitempty,max=200,line"`
	Content   *string `json:"content"`
	FileName  *string `json:"fileName" validate:"omitempty,max=255,line"`
	IsDefault *bool   `json:"isDefault"`
	// File replaces Content for a client that uploads a file. It is nil if there is none.
	File []byte `json:"-"`
}

// ChangeDocument changes one of the caller's documents. Like Upload, it writes a new file
// before the transaction, and releases it if the transaction fails.
func (s *DocumentService) ChangeDocument(ctx context.Context, by auth.Actor, documentID string, in ChangeDocumentInput) (Document, error) {
	documentID, err := requireSeekerAndID(by, documentID, ErrDocumentNotFound)
	if err != nil {
		return Document{}, err
	}

	before, err := s.findDocument(ctx, by.UserID, documentID)
	if err != nil {
		return Document{}, err
	}

	// Validate the input.
	var newContent Content
	var encoded string // the new content as it is stored
	changesContent := in.Content != nil || in.File != nil

	problems := valid.Problems(in)
	if changesContent {
		var sent string // empty if the input has a file
		var contentProblems []fault.Field

		patch.Set(&sent, in.Content)

		newContent, encoded, contentProblems = s.readInput(sent, in.File)
		problems = append(problems, contentProblems...)
	}

	if len(problems) > 0 {
		return Document{}, fault.ErrInvalid.WithFields(problems...)
	}

	if changesContent {
		if newContent, err = s.storeContent(ctx, by.UserID, newContent, encoded, before); err != nil {
			return Document{}, err
		}
	}

	// Change the document.
	var document Document

	err = s.doLocked(ctx, by.UserID, func(ctx context.Context) error {
		// The document may have changed since it was read above.
		old, err := s.findDocument(ctx, by.UserID, documentID)
		if err != nil {
			return err
		}

		document = in.apply(old)

		document.UpdatedAt = s.Clock.Now()
		if changesContent {
			added := usage{bytes: newContent.Size - old.Size}
			if err := s.checkLimits(ctx, by.UserID, added); err != nil {
				return err
			}

			document.Content = newContent

			if err := s.addRemovalTask(ctx, old.File); err != nil {
				return err
			}
		}

		// This also releases the old file, if the document has a new one.
		return s.Documents.Upsert(ctx, document)
	})
	if err != nil {
		s.releaseFile(ctx, by.UserID, newContent.File)
		return Document{}, err
	}

	return document, nil
}

// apply returns the document with the changed properties. It does not change the content.
func (in ChangeDocumentInput) apply(d Document) Document {
	patch.SetText(&d.FileName, in.FileName)

	// An empty title is replaced by the default title, which may be the new file name.
	if in.Title != nil {
		d.Title = text.Name(*in.Title)
		d = d.withDefaultTitle()
	}

	patch.Set(&d.IsDefault, in.IsDefault)

	return d
}

// DeleteDocument deletes one of the caller's documents and returns it.
func (s *DocumentService) DeleteDocument(ctx context.Context, by auth.Actor, documentID string) (document Document, err error) {
	documentID, err = requireSeekerAndID(by, documentID, ErrDocumentNotFound)
	if err != nil {
		return Document{}, err
	}

	err = s.doLocked(ctx, by.UserID, func(ctx context.Context) error {
		if document, err = s.findDocument(ctx, by.UserID, documentID); err != nil {
			return err
		}

		if err := s.Documents.Delete(ctx, by.UserID, documentID, s.Clock.Now()); err != nil {
			return err
		}

		if err := s.addRemovalTask(ctx, document.File); err != nil {
			return err
		}

		return s.addActivity(ctx, by, "document", "deleted", "Deleted "+oneLine(document.Title))
	})

	return document, err
}

// MyDocument returns one of the caller's documents and its content as it was sent.
func (s *DocumentService) MyDocument(ctx context.Context, by auth.Actor, documentID string) (d Document, sent string, err error) {
	documentID, err = requireSeekerAndID(by, documentID, ErrDocumentNotFound)
	if err != nil {
		return Document{}, "", err
	}

	return s.readDocument(ctx, by.UserID, documentID)
}

// readDocument returns a document of the user and its content as it was sent.
func (s *DocumentService) readDocument(ctx context.Context, userID, documentID string) (d Document, sent string, err error) {
	d, file, err := s.openContent(ctx, userID, documentID)
	if err != nil {
		return Document{}, "", err
	}

	defer func() { _ = file.Close() }()

	content, err := io.ReadAll(io.LimitReader(file, d.Size))

	return d, string(content), err
}

// Download is the file of a document.
type Download struct {
	Name      string
	MediaType string
	Body      []byte
}

// DownloadDocument returns the file of one of the caller's documents.
func (s *DocumentService) DownloadDocument(ctx context.Context, by auth.Actor, documentID string) (Download, error) {
	documentID, err := requireSeekerAndID(by, documentID, ErrDocumentNotFound)
	if err != nil {
		return Download{}, err
	}

	_, file, err := s.Read(ctx, by.UserID, documentID)

	return file, err
}

// Read returns a document of the user and its file. It is for other modules, which authorize
// the request themselves. It only uses the collaborators Documents and Files, so that other
// modules can create a DocumentService with these two.
func (s *DocumentService) Read(ctx context.Context, userID, documentID string) (Document, Download, error) {
	d, sent, err := s.readDocument(ctx, userID, documentID)
	if err != nil {
		return Document{}, Download{}, err
	}

	body, err := d.Form.decode(sent)

	return d, Download{Name: d.downloadName(), MediaType: d.MediaType, Body: body}, err
}

// Extension returns the extension of the media type, with its dot.
func (d Download) Extension() string { return extensions[d.MediaType] }

// downloadName returns the name under which a client saves the document: the original file name, or
// the title if there is none. The name ends in the extension of the document's media type. If the
// name has the extension of another type of documents, that extension is replaced.
func (d Document) downloadName() string {
	name := strings.TrimSpace(d.baseName())

	// A name such as ".pdf" or ".." consists of an extension and dots only.
	hasText := strings.Trim(strings.TrimSuffix(name, path.Ext(name)), ".") != ""
	if !hasText {
		name = fileNameOf(d.Title)
	}

	extension := strings.ToLower(path.Ext(name))
	if extension == ".jpeg" {
		extension = ".jpg"
	}

	wanted := extensions[d.MediaType]
	if extension == wanted {
		return name
	}

	// Other endings may be part of the name, such as ".2" in "CV v1.2".
	isOfDocuments := slices.Contains(slices.Collect(maps.Values(extensions)), extension)
	if isOfDocuments {
		name = strings.TrimSuffix(name, path.Ext(name))
	}

	return name + wanted
}

// fileNameOf returns a title as a file name, without characters that file systems reserve.
func fileNameOf(title string) string {
	name := strings.Map(func(r rune) rune {
		if strings.ContainsRune(`/\:*?"<>|`, r) {
			return '-'
		}

		return r
	}, title)

	return strings.Trim(name, ". ")
}

// findDocument returns a document of the user.
func (s *DocumentService) findDocument(ctx context.Context, userID, documentID string) (Document, error) {
	found, err := s.Documents.List(ctx, userID, DocumentFilter{ID: documentID}, page.After("", 1))
	return list.First(found.Items, err, ErrDocumentNotFound)
}
