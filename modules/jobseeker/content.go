package jobseeker

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"io"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/files"
	"github.com/locumhq/locum/core/task"
)

// Content is stored as it was sent, and decoded when it is downloaded. Every file has
// a row:
//
//	reserved ──▶ written ──▶ belongs to a document ──▶ released ──▶ deleted
//	    └────────────┴───── no document within an hour ────▲
//
// so that files of interrupted uploads are found and deleted.

// Form is the encoding of content.
type Form string

// The forms.
const (
	AsText   Form = "text"
	AsBase64 Form = "base64"
	AsData   Form = "data" // a data URI (RFC 2397)
)

// PlainText is the media type of content that is not a file.
const PlainText = "text/plain; charset=utf-8"

// extensions maps the media types that documents may have to file extensions.
var extensions = map[string]string{
	PlainText: ".txt", "application/pdf": ".pdf", "application/msword": ".doc", "text/rtf": ".rtf", "image/png": ".png", "image/jpeg": ".jpg",
	"application/vnd.openxmlformats-officedocument.wordprocessingml.document": ".docx", "application/vnd.oasis.opendocument.text": ".odt",
}

// MediaTypes returns the media types that documents may have, sorted.
func MediaTypes() []string { return slices.Sorted(maps.Keys(extensions)) }

// readContent detects what was sent: a file of a known type or text. A data URI must
// be a file of a type that documents may have. Otherwise it returns the problem.
func (s *DocumentService) readContent(sent string) (Content, []fault.Field) {
	wrong := func(message string) (Content, []fault.Field) {
		return Content{}, []fault.Field{{Name: "content", Message: message}}
	}
	if strings.TrimSpace(sent) == "" {
		return wrong("is required")
	}
	out := Content{Size: int64(len(sent)), Form: AsText, MediaType: PlainText}
	form := AsBase64
	if isDataURI(sent) {
		form = AsData
	}
	file, err := form.decode(sent)
	if err != nil {
		if form == AsData {
			return wrong("must be a well-formed data URI")
		}
		return out, nil
	}
	kind, err := s.FileTypes.Detect(file)
	if f := fault.Of(err); f != nil {
		return wrong(f.Message)
	}
	if kind == "" {
		if form == AsData {
			return wrong("must be a PDF, Word, OpenDocument or RTF document or a PNG or JPEG image")
		}
		return out, nil
	}
	out.Form, out.MediaType = form, kind
	return out, nil
}

// readInput returns the content of an input and how it is sent: as text, or as the file if
// that is not nil.
func (s *DocumentService) readInput(text string, file []byte) (Content, string, []fault.Field) {
	if file == nil {
		c, problem := s.readContent(text)
		return c, text, problem
	}
	wrong := func(message string) (Content, string, []fault.Field) {
		return Content{}, "", []fault.Field{{Name: "file", Message: message}}
	}
	if len(bytes.TrimSpace(file)) == 0 {
		return wrong("is empty")
	}
	if len(file) > MaxFileBytes {
		return wrong("must have at most 7 MB")
	}
	kind, err := s.FileTypes.Detect(file)
	switch f := fault.Of(err); {
	case f != nil:
		return wrong(f.Message)
	case kind != "":
		sent := base64.StdEncoding.EncodeToString(file)
		return Content{Size: int64(len(sent)), Form: AsBase64, MediaType: kind}, sent, nil
	case !utf8.Valid(file) || bytes.IndexByte(file, 0) >= 0:
		return wrong("must be a PDF, Word, OpenDocument or RTF document, a PNG or JPEG image, or plain text")
	}
	return Content{Size: int64(len(file)), Form: AsText, MediaType: PlainText}, string(file), nil
}

// FileSize returns the number of bytes of the decoded content. For a data URI it is an
// estimate.
func (c Content) FileSize() int64 {
	if c.Form == AsText {
		return c.Size
	}
	return c.Size / 4 * 3
}

// isDataURI reports whether the text is a data URI and not a sentence that begins
// with the word.
func isDataURI(sent string) bool {
	if len(sent) < 5 || !strings.EqualFold(sent[:5], "data:") {
		return false
	}
	head, _, comma := strings.Cut(sent[5:], ",")
	return comma && !strings.ContainsAny(head, " \t\r\n")
}

var errNotBase64 = errors.New("not base64")

// decode returns the decoded content.
func (f Form) decode(sent string) ([]byte, error) {
	switch f {
	case AsBase64:
		return fromBase64(sent)
	case AsData:
		head, data, _ := strings.Cut(sent[len("data:"):], ",")
		if strings.HasSuffix(strings.ToLower(head), ";base64") {
			if strings.Contains(data, "%") {
				var err error
				if data, err = url.PathUnescape(data); err != nil {
					return nil, err
				}
			}
			return fromBase64(data)
		}
		plain, err := url.PathUnescape(data)
		return []byte(plain), err
	}
	return []byte(sent), nil
}

// fromBase64 decodes base64 in either alphabet, with or without padding and line
// breaks.
func fromBase64(s string) ([]byte, error) {
	if strings.ContainsAny(s, "\r\n") {
		s = strings.NewReplacer("\r", "", "\n", "").Replace(s)
	}
	s = strings.TrimRight(strings.TrimSpace(s), "=")
	if s == "" {
		return nil, errNotBase64
	}
	if strings.ContainsAny(s, "-_") {
		return base64.RawURLEncoding.DecodeString(s)
	}
	return base64.RawStdEncoding.DecodeString(s)
}

const (
	// reservedFor is the time within which a file must get its document.
	reservedFor = time.Hour
	// filesRetryAfter is the Retry-After value while the file store is unavailable.
	filesRetryAfter = 10 * time.Second
	// removeRetryAfter is the delay after a failed deletion of a file.
	removeRetryAfter = 10 * time.Minute
	removeKind       = "jobseeker.remove-files"
	removedAtOnce    = 100
	removeWithin     = 5 * time.Minute
)

// key returns the key of the file in the store of files.
func (f DocumentFile) key() string { return "documents/" + f.ID + f.Extension }

// storeContent writes content into a new, reserved file. The size of the document
// that it replaces does not count for the limits.
func (s *DocumentService) storeContent(ctx context.Context, userID string, c Content, sent string, replaced Document) (Content, error) {
	documents := 1
	if replaced.ID != "" {
		documents = 0
	}
	c.File = DocumentFile{ID: s.NewID(), Extension: extensions[c.MediaType]}
	err := s.Tx.Do(ctx, func(ctx context.Context) error {
		// The limits are checked again in the transaction that stores the document.
		// This check avoids writing a file in vain.
		if err := s.checkLimits(ctx, userID, documents, c.Size-replaced.Size); err != nil {
			return err
		}
		return s.DocumentFiles.Reserve(ctx, userID, c.File, s.Clock.Now().Add(reservedFor))
	})
	if err != nil {
		return Content{}, err
	}
	err = s.Files.Put(ctx, c.File.key(), func(w io.Writer) error {
		_, err := io.WriteString(w, sent)
		return err
	})
	if err != nil {
		s.discard(ctx, userID, c.File)
		return Content{}, filesUnavailable(err)
	}
	return c, nil
}

// filesUnavailable returns fault.ErrUnavailable for an error of the file store that
// is not a fault.
func filesUnavailable(err error) error {
	var f *fault.Error
	if err == nil || errors.As(err, &f) {
		return err
	}
	return fault.ErrUnavailable.WithReason("files").WithCause(err).WithRetryAfter(filesRetryAfter)
}

// openContent returns a document with its opened file. It retries if the file of the
// document is replaced concurrently.
func (s *DocumentService) openContent(ctx context.Context, userID, documentID string) (Document, io.ReadCloser, error) {
	for last := ""; ; {
		d, err := s.findDocument(ctx, userID, documentID)
		if err != nil {
			return Document{}, nil, err
		}
		body, _, err := s.Files.Open(ctx, d.File.key())
		if err == nil {
			return d, body, nil
		}
		if !errors.Is(err, files.ErrNotFound) {
			return Document{}, nil, filesUnavailable(err)
		}
		if d.File.ID == last {
			return Document{}, nil, fault.ErrInternal.WithCause(err) // the file is lost
		}
		last = d.File.ID
	}
}

// removeLater adds a task that deletes the file, which this transaction releases.
func (s *DocumentService) removeLater(ctx context.Context, f DocumentFile) error {
	return s.Tasks.Add(ctx, task.New(removeKind, task.Maintenance, removeKind+"/"+f.ID, struct{}{}))
}

// discard releases a reserved file whose document was not stored. If that fails, the
// reservation expires.
func (s *DocumentService) discard(ctx context.Context, userID string, f DocumentFile) {
	if f.ID == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	_ = s.Tx.Do(ctx, func(ctx context.Context) error {
		if err := s.DocumentFiles.Reserve(ctx, userID, f, s.Clock.Now()); err != nil {
			return err
		}
		return s.removeLater(ctx, f)
	})
}

// removeFiles deletes the files that belong to no document. A failed deletion is
// retried later and does not delay the others.
func (s *DocumentService) removeFiles(ctx context.Context) error {
	var failed []error
	for {
		now := s.Clock.Now()
		claimed, err := s.DocumentFiles.Claim(ctx, removedAtOnce, now, now.Add(removeRetryAfter))
		if err != nil {
			return errors.Join(append(failed, err)...)
		}
		var deleted []string
		for _, f := range claimed {
			if err := s.Files.Delete(ctx, f.key()); err != nil {
				failed = append(failed, err)
			} else {
				deleted = append(deleted, f.ID)
			}
		}
		if err := s.DocumentFiles.Delete(ctx, deleted); err != nil {
			return errors.Join(append(failed, err)...)
		}
		if len(claimed) < removedAtOnce {
			return errors.Join(failed...)
		}
	}
}
