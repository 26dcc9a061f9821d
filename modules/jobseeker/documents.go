package jobseeker

import (
	"context"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/id"
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/core/text"
)

// DocumentType is what a document is for.
type DocumentType string

// The types of documents.
const (
	CV            DocumentType = "cv"
	CoverLetter   DocumentType = "cover-letter"
	Certification DocumentType = "certification"
	OtherDocument DocumentType = "other"
)

var documentTypes = []DocumentType{CV, CoverLetter, Certification, OtherDocument}

// Document is something that a jobseeker keeps to apply with: a text or a file.
type Document struct {
	ID       string
	UserID   string
	Type     DocumentType
	Title    string
	FileName string
	// IsDefault marks the one of its type that is taken if none is named.
	IsDefault bool
	Content
	UploadedAt time.Time
	UpdatedAt  time.Time
}

// Content is what is known of a document's content, which is a file.
type Content struct {
	File DocumentFile
	// Size is how many bytes it has as it was sent.
	Size int64
	// Form says how to read it.
	Form Form
	// MediaType is what is in it.
	MediaType string
}

// DocumentFile names a file that holds the content of a document.
type DocumentFile struct {
	ID string
	// Extension is that of the media type, with its dot. It is empty for files that
	// were written before names had one.
	Extension string
}

// The bounds of a user's documents.
const (
	MaxDocuments     = 50
	MaxDocumentBytes = 200 << 20
	maxFileName      = 255
)

// Usage is how much a user keeps.
type Usage struct {
	Documents int
	Bytes     int64
	CVs       int
}

// UploadInput is a new document.
type UploadInput struct {
	Type      string
	Title     string
	Content   string
	FileName  string
	IsDefault bool
}

// MyDocuments lists the caller's documents, the newest first.
func (s *Service) MyDocuments(ctx context.Context, by auth.Actor, r page.Request) (page.Result[Document], error) {
	if !by.Seeker {
		return page.Result[Document]{}, fault.ErrForbidden
	}
	if err := r.CheckID(); err != nil {
		return page.Result[Document]{}, err
	}
	return s.Documents.Page(ctx, by.UserID, r)
}

// Upload keeps a new document.
func (s *Service) Upload(ctx context.Context, by auth.Actor, in UploadInput) (Document, error) {
	if !by.Seeker {
		return Document{}, fault.ErrForbidden
	}
	d := Document{UserID: by.UserID, Type: DocumentType(in.Type), Title: text.Name(in.Title), FileName: strings.TrimSpace(in.FileName), IsDefault: in.IsDefault}
	var bad []fault.Field
	switch {
	case in.Type == "":
		bad = append(bad, fault.Field{Name: "type", Message: "is required"})
	case !slices.Contains(documentTypes, d.Type):
		bad = append(bad, fault.Field{Name: "type", Message: "must be one of: cv, cover-letter, certification, other"})
	}
	bad = append(bad, d.problems()...)
	content, problem := s.readContent(in.Content)
	if problem != nil {
		bad = append(bad, *problem)
	}
	if len(bad) > 0 {
		return Document{}, fault.ErrInvalid.WithFields(bad...)
	}
	d = d.entitled()
	var err error
	if d.Content, err = s.storeContent(ctx, by.UserID, content, in.Content, Document{}); err != nil {
		return Document{}, err
	}
	err = s.Tx.Do(ctx, func(ctx context.Context) error {
		if err := s.makeRoom(ctx, by.UserID, 1, d.Size); err != nil {
			return err
		}
		d.ID, d.UploadedAt = s.NewID(), s.Clock.Now()
		d.UpdatedAt = d.UploadedAt
		if d.IsDefault {
			if err := s.Documents.ClearDefault(ctx, by.UserID, d.Type); err != nil {
				return err
			}
		}
		if err := s.DocumentFiles.Use(ctx, by.UserID, d.File.ID, d.UploadedAt); err != nil {
			return err
		}
		if err := s.Documents.Add(ctx, d); err != nil {
			return err
		}
		return s.Activities.Add(ctx, s.filed(by, d.UploadedAt, "uploaded", "Uploaded "+oneLine(d.Title)))
	})
	if err != nil {
		s.discard(ctx, by.UserID, d.File.ID)
		return Document{}, err
	}
	return d, nil
}

func (s *Service) filed(by auth.Actor, at time.Time, action, description string) Activity {
	return Activity{UserID: by.UserID, EventID: s.NewID(), Type: "document", Action: action, Description: description, At: at}
}

// problems is what is wrong with what a document is called.
func (d Document) problems() (bad []fault.Field) {
	line := func(name, text string, most int) {
		switch {
		case utf8.RuneCountInString(text) > most:
			bad = append(bad, fault.Field{Name: name, Message: fmt.Sprintf("must have at most %d characters", most)})
		case strings.ContainsFunc(text, unicode.IsControl):
			bad = append(bad, fault.Field{Name: name, Message: "must be one line"})
		}
	}
	line("title", d.Title, maxName)
	line("fileName", d.FileName, maxFileName)
	return bad
}

// entitled gives a document without a title that of its file, or of its type.
func (d Document) entitled() Document {
	if d.Title != "" {
		return d
	}
	name := d.FileName[strings.LastIndexAny(d.FileName, `/\`)+1:]
	if d.Title = text.Name(strings.TrimSuffix(name, path.Ext(name))); d.Title == "" {
		d.Title = map[DocumentType]string{CV: "CV", CoverLetter: "Cover letter", Certification: "Certification", OtherDocument: "Document"}[d.Type]
	}
	if r := []rune(d.Title); len(r) > maxName {
		d.Title = string(r[:maxName])
	}
	return d
}

// makeRoom locks the user's documents and refuses more than they may keep.
func (s *Service) makeRoom(ctx context.Context, userID string, documents int, bytes int64) error {
	if err := s.Profiles.Lock(ctx, userID); err != nil {
		return err
	}
	u, err := s.Documents.Usage(ctx, userID)
	switch {
	case err != nil:
		return err
	case u.Documents+documents > MaxDocuments:
		return ErrTooManyDocuments
	case u.Bytes+bytes > MaxDocumentBytes:
		return ErrDocumentsTooLarge
	}
	return nil
}

// ChangeDocumentInput changes a document; what is left out stays.
type ChangeDocumentInput struct {
	Title     *string `json:"title" validate:"omitempty,max=200"`
	Content   *string `json:"content"`
	FileName  *string `json:"fileName" validate:"omitempty,max=255"`
	IsDefault *bool   `json:"isDefault"`
}

// ChangeDocument changes one of the caller's documents.
func (s *Service) ChangeDocument(ctx context.Context, by auth.Actor, documentID string, in ChangeDocumentInput) (Document, error) {
	documentID, err := s.document(by, documentID)
	if err != nil {
		return Document{}, err
	}
	before, err := s.Documents.Find(ctx, by.UserID, documentID)
	if err != nil {
		return Document{}, err
	}
	var next Content
	bad := in.applied(before).problems()
	var content Content
	if in.Content != nil {
		c, problem := s.readContent(*in.Content)
		if problem != nil {
			bad = append(bad, *problem)
		}
		content = c
	}
	if len(bad) > 0 {
		return Document{}, fault.ErrInvalid.WithFields(bad...)
	}
	if in.Content != nil {
		if next, err = s.storeContent(ctx, by.UserID, content, *in.Content, before); err != nil {
			return Document{}, err
		}
	}
	var d Document
	err = s.Tx.Do(ctx, func(ctx context.Context) error {
		if err := s.Profiles.Lock(ctx, by.UserID); err != nil {
			return err
		}
		now := s.Clock.Now()
		old, err := s.Documents.Find(ctx, by.UserID, documentID)
		if err != nil {
			return err
		}
		d = in.applied(old)
		d.UpdatedAt = now
		if next.File.ID != "" {
			if err := s.makeRoom(ctx, by.UserID, 0, next.Size-old.Size); err != nil {
				return err
			}
			d.Content = next
			if err := s.DocumentFiles.Use(ctx, by.UserID, next.File.ID, now); err != nil {
				return err
			}
			if err := s.release(ctx, by.UserID, old.File.ID, now); err != nil {
				return err
			}
		}
		if d.IsDefault && !old.IsDefault {
			if err := s.Documents.ClearDefault(ctx, by.UserID, d.Type); err != nil {
				return err
			}
		}
		return s.Documents.Save(ctx, d)
	})
	if err != nil {
		s.discard(ctx, by.UserID, next.File.ID)
		return Document{}, err
	}
	return d, nil
}

// applied is the document with what the input says, its content apart.
func (in ChangeDocumentInput) applied(d Document) Document {
	if in.FileName != nil {
		d.FileName = strings.TrimSpace(*in.FileName)
	}
	if in.Title != nil {
		d.Title = text.Name(*in.Title)
		if utf8.RuneCountInString(d.Title) <= maxName {
			d = d.entitled()
		}
	}
	if in.IsDefault != nil {
		d.IsDefault = *in.IsDefault
	}
	return d
}

// DeleteDocument takes one of the caller's documents away and returns what it
// was.
func (s *Service) DeleteDocument(ctx context.Context, by auth.Actor, documentID string) (d Document, err error) {
	documentID, err = s.document(by, documentID)
	if err != nil {
		return Document{}, err
	}
	err = s.Tx.Do(ctx, func(ctx context.Context) error {
		if err := s.Profiles.Lock(ctx, by.UserID); err != nil {
			return err
		}
		if d, err = s.Documents.Find(ctx, by.UserID, documentID); err != nil {
			return err
		}
		now := s.Clock.Now()
		if err := s.Documents.Delete(ctx, by.UserID, documentID); err != nil {
			return err
		}
		if err := s.release(ctx, by.UserID, d.File.ID, now); err != nil {
			return err
		}
		return s.Activities.Add(ctx, s.filed(by, now, "deleted", "Deleted "+oneLine(d.Title)))
	})
	return d, err
}

// MyDocument is one of the caller's documents with its content as it was sent.
func (s *Service) MyDocument(ctx context.Context, by auth.Actor, documentID string) (Document, string, error) {
	documentID, err := s.document(by, documentID)
	if err != nil {
		return Document{}, "", err
	}
	d, body, err := s.openContent(ctx, by.UserID, documentID)
	if err != nil {
		return Document{}, "", err
	}
	defer func() { _ = body.Close() }()
	content, err := io.ReadAll(io.LimitReader(body, d.Size))
	return d, string(content), err
}

// Download is a document as the file that it is.
type Download struct {
	Name      string
	MediaType string
	Body      []byte
}

// DownloadDocument gives one of the caller's documents as a file.
func (s *Service) DownloadDocument(ctx context.Context, by auth.Actor, documentID string) (Download, error) {
	d, content, err := s.MyDocument(ctx, by, documentID)
	if err != nil {
		return Download{}, err
	}
	body, err := d.Form.decode(content)
	return Download{Name: d.downloadName(), MediaType: d.MediaType, Body: body}, err
}

// downloadName returns the name under which a client saves the document. It ends
// in the extension of the media type, which takes the place of that of another type
// of documents.
func (d Document) downloadName() string {
	name := strings.TrimSpace(d.FileName[strings.LastIndexAny(d.FileName, `/\`)+1:])
	if strings.Trim(strings.TrimSuffix(name, path.Ext(name)), ".") == "" {
		name = strings.Trim(strings.Map(func(r rune) rune {
			if strings.ContainsRune(`/\:*?"<>|`, r) {
				return '-'
			}
			return r
		}, d.Title), ". ")
	}
	extension := strings.ToLower(path.Ext(name))
	if extension == ".jpeg" {
		extension = ".jpg"
	}
	switch {
	case extension == extensions[d.MediaType]:
		return name
	case slices.Contains(slices.Collect(maps.Values(extensions)), extension):
		name = strings.TrimSuffix(name, path.Ext(name))
	}
	return name + extensions[d.MediaType]
}

func (s *Service) document(by auth.Actor, documentID string) (string, error) {
	if !by.Seeker {
		return "", fault.ErrForbidden
	}
	canonical, ok := id.Canonical(documentID)
	if !ok {
		return "", ErrDocumentNotFound
	}
	return canonical, nil
}
