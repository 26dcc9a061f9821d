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

// The content of a document is stored as the client sent it, and decoded when it is downloaded.
// Before a file is written, a row in the database reserves it, so that the files of interrupted
// uploads can be found and deleted. A file has these states; a task deletes the released ones:
//
//	reserved ──▶ written ──▶ belongs to a document ──▶ released ──▶ deleted
//	    └────────────┴───── no document within an hour ────▲

// Form is the encoding in which a client has sent a document.
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
	PlainText:            ".txt",
	"application/pdf":    ".pdf",
	"application/msword": ".doc",
	"text/rtf":           ".rtf",
	"image/png":          ".png",
	"image/jpeg":         ".jpg",
	"application/vnd.openxmlformats-officedocument.wordprocessingml.document": ".docx",
	"application/vnd.oasis.opendocument.text":                                 ".odt",
}

// MediaTypes returns the media types that documents may have, sorted.
func MediaTypes() []string { return slices.Sorted(maps.Keys(extensions)) }

// readContent detects whether the client sent a file of a known type, in base64 or as a data
// URI, or plain text. A data URI must contain a file of a type that documents may have. A
// text that can be decoded as base64, but not to such a file, is plain text.
func (s *DocumentService) readContent(sent string) (content Content, problems []fault.Field) {
	invalid := func(message string) (Content, []fault.Field) {
		return Content{}, []fault.Field{{Name: "content", Message: message}}
	}
	if strings.TrimSpace(sent) == "" {
		return invalid("is required")
	}

	plainText := Content{Size: int64(len(sent)), Form: AsText, MediaType: PlainText}

	form := AsBase64
	if isDataURI(sent) {
		form = AsData
	}

	file, err := form.decode(sent)
	if err != nil {
		if form == AsData {
			return invalid("must be a well-formed data URI")
		}

		return plainText, nil
	}

	mediaType, err := s.FileTypes.Detect(file)
	if f := fault.Of(err); f != nil {
		return invalid(f.Message)
	}

	isKnownType := mediaType != ""
	switch {
	case isKnownType:
		return Content{Size: int64(len(sent)), Form: form, MediaType: mediaType}, nil
	case form == AsData:
		return invalid("must be a PDF, Word, OpenDocument or RTF document or a PNG or JPEG image")
	}

	return plainText, nil
}

// readInput reads the content of a document from a request: the file, or the text if file is
// nil. It returns the description of the content, and the content in the encoding in which it
// is stored.
func (s *DocumentService) readInput(text string, file []byte) (content Content, encoded string, problems []fault.Field) {
	if file == nil {
		content, problems = s.readContent(text)
		return content, text, problems
	}

	invalid := func(message string) (Content, string, []fault.Field) {
		return Content{}, "", []fault.Field{{Name: "file", Message: message}}
	}
	if len(bytes.TrimSpace(file)) == 0 {
		return invalid("is empty")
	}

	if len(file) > MaxFileBytes {
		return invalid("must have at most 7 MB")
	}

	mediaType, err := s.FileTypes.Detect(file)
	isText := utf8.Valid(file) && bytes.IndexByte(file, 0) < 0

	switch f := fault.Of(err); {
	case f != nil:
		return invalid(f.Message)
	case mediaType != "":
		encoded = base64.StdEncoding.EncodeToString(file)
		return Content{Size: int64(len(encoded)), Form: AsBase64, MediaType: mediaType}, encoded, nil
	case !isText:
		return invalid("must be a PDF, Word, OpenDocument or RTF document, a PNG or JPEG image, or plain text")
	}

	return Content{Size: int64(len(file)), Form: AsText, MediaType: PlainText}, string(file), nil
}

// FileSize returns the number of bytes of the decoded content. For a data URI it is an
// estimate.
func (c Content) FileSize() int64 {
	if c.Form == AsText {
		return c.Size
	}

	return c.Size / 4 * 3 // base64 represents 3 bytes by 4 characters
}

// dataScheme begins a data URI, which has the form data:MEDIATYPE;base64,CONTENT, or without
// ";base64" for content in percent-encoding.
const dataScheme = "data:"

// isDataURI reports whether the text is a data URI. A sentence that begins with "data:" is
// none, because it contains spaces before the first comma.
func isDataURI(sent string) bool {
	if len(sent) < len(dataScheme) || !strings.EqualFold(sent[:len(dataScheme)], dataScheme) {
		return false
	}

	mediaType, _, hasComma := strings.Cut(sent[len(dataScheme):], ",")

	return hasComma && !strings.ContainsAny(mediaType, " \t\r\n")
}

// errEmptyBase64 is the error of decodeBase64 for empty input. Content that is not valid Base64 is treated as
// plain text, so that no client sees the error.
var errEmptyBase64 = errors.New("empty base64")

// decode returns the content of the file that was sent in this form.
func (f Form) decode(sent string) ([]byte, error) {
	switch f {
	case AsBase64:
		return decodeBase64(sent)
	case AsData:
		return decodeDataURI(sent)
	}

	return []byte(sent), nil
}

// decodeDataURI returns the content of a data URI. Characters of base64 may also be
// percent-encoded.
func decodeDataURI(uri string) ([]byte, error) {
	mediaType, data, _ := strings.Cut(uri[len(dataScheme):], ",")

	data, err := url.PathUnescape(data)
	if err != nil {
		return nil, err
	}

	if strings.HasSuffix(strings.ToLower(mediaType), ";base64") {
		return decodeBase64(data)
	}

	return []byte(data), nil
}

// decodeBase64 decodes base64 in the standard or the URL alphabet, with or without padding
// and line breaks. Empty input is an error.
func decodeBase64(s string) ([]byte, error) {
	if strings.ContainsAny(s, "\r\n") {
		s = strings.NewReplacer("\r", "", "\n", "").Replace(s)
	}

	s = strings.TrimRight(strings.TrimSpace(s), "=")
	if s == "" {
		return nil, errEmptyBase64
	}

	if strings.ContainsAny(s, "-_") {
		return base64.RawURLEncoding.DecodeString(s)
	}

	return base64.RawStdEncoding.DecodeString(s)
}

const (
	// reservationLifetime is the time after which a file without a document is deleted.
	reservationLifetime = time.Hour
	// releaseTimeout limits the release of a file at the end of a failed request.
	releaseTimeout = 2 * time.Second
	// filesRetryAfter is the Retry-After value while the file store is unavailable.
	filesRetryAfter = 10 * time.Second
	// removeRetryAfter is the delay after a failed deletion of a file.
	removeRetryAfter = 10 * time.Minute
	// removeBatchSize is the number of files that are claimed at a time.
	removeBatchSize     = 100
	removeFilesTimeout  = 5 * time.Minute
	removeFilesTaskKind = "jobseeker.remove-files"
)

// key returns the key of the file in the file store.
func (f DocumentFile) key() string { return "documents/" + f.ID + f.Extension }

// noDocument is passed to storeContent for a new document, which replaces no content.
var noDocument Document

// storeContent writes the encoded content into a new, reserved file, and returns the description c
// with that file. replaced is the document whose content is replaced, or noDocument for a new
// document. The size of the replaced content does not count towards the limits.
func (s *DocumentService) storeContent(ctx context.Context, userID string, c Content, encoded string, replaced Document) (Content, error) {
	c.File = DocumentFile{ID: s.NewID(), Extension: extensions[c.MediaType]}

	added := usage{bytes: c.Size - replaced.Size}
	if isNew := replaced.ID == ""; isNew {
		added.documents = 1
	}

	err := s.Tx.Do(ctx, func(ctx context.Context) error {
		// The limits are checked again in the transaction that stores the document.
		// This check avoids writing a file in vain.
		if err := s.checkLimits(ctx, userID, added); err != nil {
			return err
		}

		return s.DocumentFiles.Reserve(ctx, userID, c.File, s.Clock.Now().Add(reservationLifetime))
	})
	if err != nil {
		return Content{}, err
	}

	err = s.Files.Put(ctx, c.File.key(), func(w io.Writer) error {
		_, err := io.WriteString(w, encoded)
		return err
	})
	if err != nil {
		s.releaseFile(ctx, userID, c.File)
		return Content{}, asUnavailable(err)
	}

	return c, nil
}

// asUnavailable returns fault.ErrUnavailable for an error of the file store that
// is not a fault.
func asUnavailable(err error) error {
	var f *fault.Error
	if err == nil || errors.As(err, &f) {
		return err
	}

	return fault.ErrUnavailable.WithReason("files").WithCause(err).WithRetryAfter(filesRetryAfter)
}

// openContent returns a document with its opened file, which the caller has to close. A file
// may be missing because a concurrent request has just replaced it. Then openContent reads
// the document again. It is an internal error if the document still names the missing file.
func (s *DocumentService) openContent(ctx context.Context, userID, documentID string) (d Document, file io.ReadCloser, err error) {
	for missingFileID := ""; ; {
		d, err = s.findDocument(ctx, userID, documentID)
		if err != nil {
			return Document{}, nil, err
		}

		file, _, err = s.Files.Open(ctx, d.File.key())
		switch {
		case err == nil:
			return d, file, nil
		case !errors.Is(err, files.ErrNotFound):
			return Document{}, nil, asUnavailable(err)
		case d.File.ID == missingFileID:
			return Document{}, nil, fault.ErrInternal.WithCause(err)
		}

		missingFileID = d.File.ID
	}
}

// addRemovalTask adds a task that deletes released files. It is called in the transaction that
// releases the file f. The key of the task contains the id of f, so that each released file gets a
// task.
func (s *DocumentService) addRemovalTask(ctx context.Context, f DocumentFile) error {
	return s.Tasks.Add(ctx, task.New(removeFilesTaskKind, task.Maintenance, removeFilesTaskKind+"/"+f.ID, struct{}{}))
}

// releaseFile releases a reserved file whose document was not stored, even if the request was
// cancelled. It does nothing if f is empty. It ignores errors, because the file is deleted at the
// latest after its reservation has expired.
func (s *DocumentService) releaseFile(ctx context.Context, userID string, f DocumentFile) {
	if f.ID == "" {
		return
	}

	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer cancel()

	_ = s.Tx.Do(ctx, func(ctx context.Context) error {
		// A reservation that ends now releases the file.
		if err := s.DocumentFiles.Reserve(ctx, userID, f, s.Clock.Now()); err != nil {
			return err
		}

		return s.addRemovalTask(ctx, f)
	})
}

// removeFiles deletes the released files. A failed deletion does not delay the others; it is
// retried after removeRetryAfter.
func (s *DocumentService) removeFiles(ctx context.Context) error {
	var errs []error
	for {
		now := s.Clock.Now()

		claimed, err := s.DocumentFiles.Claim(ctx, removeBatchSize, now, now.Add(removeRetryAfter))
		if err != nil {
			return errors.Join(append(errs, err)...)
		}

		var deleted []string
		for _, f := range claimed {
			if err := s.Files.Delete(ctx, f.key()); err != nil {
				errs = append(errs, err)
			} else {
				deleted = append(deleted, f.ID)
			}
		}

		if err := s.DocumentFiles.Delete(ctx, deleted); err != nil {
			return errors.Join(append(errs, err)...)
		}

		if len(claimed) < removeBatchSize {
			return errors.Join(errs...)
		}
	}
}
