package jobseeker

import (
	"context"
	"encoding/base64"
	"errors"
	"io"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/files"
	"github.com/locumhq/locum/core/task"
)

// Content is kept as it was sent, so that it is answered in the same words, and
// read as a file when it is downloaded. A file is never there without a row:
//
//	reserved ──▶ written ──▶ used by a document ──▶ released ──▶ removed
//	    └────────────┴── nobody used it within an hour ─────────────▲
//
// so that whatever breaks off in between is found and removed.

// Form is how content is read.
type Form string

// The forms.
const (
	AsText   Form = "text"
	AsBase64 Form = "base64"
	AsData   Form = "data" // a data URI (RFC 2397)
)

// PlainText is the media type of content that is no file.
const PlainText = "text/plain; charset=utf-8"

// extensions are the file extensions of the media types that documents may have.
var extensions = map[string]string{
	PlainText: ".txt", "application/pdf": ".pdf", "application/msword": ".doc", "text/rtf": ".rtf", "image/png": ".png", "image/jpeg": ".jpg",
	"application/vnd.openxmlformats-officedocument.wordprocessingml.document": ".docx", "application/vnd.oasis.opendocument.text": ".odt",
}

// MediaTypes are those that documents may have, in order.
func MediaTypes() []string { return slices.Sorted(maps.Keys(extensions)) }

// readContent says what was sent: a file if it is one, text otherwise. A data
// URI says itself that it is a file, so it has to be one that documents may be.
func (s *Service) readContent(sent string) (Content, *fault.Field) {
	wrong := func(message string) (Content, *fault.Field) {
		return Content{}, &fault.Field{Name: "content", Message: message}
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

// isDataURI tells a data URI from a text that begins with the word.
func isDataURI(sent string) bool {
	if len(sent) < 5 || !strings.EqualFold(sent[:5], "data:") {
		return false
	}
	head, _, comma := strings.Cut(sent[5:], ",")
	return comma && !strings.ContainsAny(head, " \t\r\n")
}

var errNotBase64 = errors.New("not base64")

// decode gives the bytes that content stands for.
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

// fromBase64 reads base64 of either alphabet, with or without padding, that may
// be broken into lines.
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
	// reservedFor is how long a file may be without its document.
	reservedFor = time.Hour
	// shelvedFor is when a store of files that failed is worth another try.
	shelvedFor = 10 * time.Second
	// putOff is when the removal of a file is tried again that failed.
	putOff        = 10 * time.Minute
	removeKind    = "jobseeker.remove-files"
	removedAtOnce = 100
	removeWithin  = 5 * time.Minute
)

// key returns the key of the file in the store of files.
func (f DocumentFile) key() string { return "documents/" + f.ID + f.Extension }

// storeContent writes content into a file that no document has yet. What it
// takes the place of makes room.
func (s *Service) storeContent(ctx context.Context, userID string, c Content, sent string, inPlaceOf Document) (Content, error) {
	documents := 1
	if inPlaceOf.ID != "" {
		documents = 0
	}
	c.File = DocumentFile{ID: s.NewID(), Extension: extensions[c.MediaType]}
	err := s.Tx.Do(ctx, func(ctx context.Context) error {
		// Looked at here to spare the writing, and again when it is done.
		if err := s.makeRoom(ctx, userID, documents, c.Size-inPlaceOf.Size); err != nil {
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
		s.discard(ctx, userID, c.File.ID)
		return Content{}, shelved(err)
	}
	return c, nil
}

// shelved is the failure of a store of files that does not say itself what it
// is: the rest of the service goes on without it, so that trying again later
// makes sense.
func shelved(err error) error {
	var f *fault.Error
	if err == nil || errors.As(err, &f) {
		return err
	}
	return fault.ErrUnavailable.WithReason("files").WithCause(err).WithRetryAfter(shelvedFor)
}

// openContent finds a document and opens its file. Content that is replaced in
// between has another.
func (s *Service) openContent(ctx context.Context, userID, documentID string) (Document, io.ReadCloser, error) {
	for last := ""; ; {
		d, err := s.Documents.Find(ctx, userID, documentID)
		if err != nil {
			return Document{}, nil, err
		}
		body, _, err := s.Files.Open(ctx, d.File.key())
		if err == nil {
			return d, body, nil
		}
		if !errors.Is(err, files.ErrNotFound) {
			return Document{}, nil, shelved(err)
		}
		if d.File.ID == last {
			return Document{}, nil, fault.ErrInternal.WithCause(err) // lost, which is nobody's wish
		}
		last = d.File.ID
	}
}

// release lets go of a file whose document is gone with this transaction, and
// has it removed after that.
func (s *Service) release(ctx context.Context, userID, fileID string, at time.Time) error {
	if err := s.DocumentFiles.Free(ctx, userID, fileID, at); err != nil {
		return err
	}
	return s.Tasks.Add(ctx, task.New(removeKind, task.Maintenance, removeKind+"/"+fileID, struct{}{}))
}

// discard lets go of a file that came to nothing. If that fails too, its
// reservation ends by itself.
func (s *Service) discard(ctx context.Context, userID, fileID string) {
	if fileID == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	_ = s.Tx.Do(ctx, func(ctx context.Context) error { return s.release(ctx, userID, fileID, s.Clock.Now()) })
}

// removeFiles deletes the files that belong to no document. A failed deletion is
// retried later and does not delay the others.
func (s *Service) removeFiles(ctx context.Context) error {
	var failed []error
	for {
		now := s.Clock.Now()
		due, err := s.DocumentFiles.Due(ctx, now, removedAtOnce)
		if err != nil {
			return errors.Join(append(failed, err)...)
		}
		var deleted, failedIDs []string
		for _, f := range due {
			if err := s.Files.Delete(ctx, f.key()); err != nil {
				failed, failedIDs = append(failed, err), append(failedIDs, f.ID)
			} else {
				deleted = append(deleted, f.ID)
			}
		}
		if err := s.DocumentFiles.PutOff(ctx, failedIDs, now.Add(putOff)); err != nil {
			return errors.Join(append(failed, err)...)
		}
		if err := s.DocumentFiles.Remove(ctx, deleted); err != nil {
			return errors.Join(append(failed, err)...)
		}
		if len(due) < removedAtOnce {
			return errors.Join(failed...)
		}
	}
}
