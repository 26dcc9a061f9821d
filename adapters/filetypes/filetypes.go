// Package filetypes tells what kind of file some bytes are, by the bytes alone:
// what a client says of them, or a name ends in, is not asked.
package filetypes

import (
	"archive/zip"
	"bytes"
	"io"

	"github.com/gabriel-vasile/mimetype"

	"github.com/locumhq/locum/core/fault"
)

// The media types that documents may have.
const (
	PDF  = "application/pdf"
	Doc  = "application/msword"
	Docx = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
	ODT  = "application/vnd.oasis.opendocument.text"
	RTF  = "text/rtf"
	PNG  = "image/png"
	JPEG = "image/jpeg"
)

var plain = []string{PDF, Doc, RTF, PNG, JPEG}

// zipped is how an archive begins that has something in it, and listed how each
// entry of its table of contents does.
var (
	zipped = []byte("PK\x03\x04")
	listed = []byte("PK\x01\x02")
)

// The bounds of an archive: a small file may unpack into one that fills a disk.
const (
	mostEntries  = 2_000
	mostUnpacked = 100 << 20
)

// The faults of archives. Neither is unpacked here; whoever opens it would.
var (
	ErrDamaged = fault.New(fault.Invalid, "damaged_document", "The document is damaged")
	ErrBomb    = fault.New(fault.Invalid, "document_unpacks_too_large", "The document unpacks into too much")
)

// Documents tells the kinds of documents apart.
type Documents struct{}

// Detect is the media type of a document, empty for what is none.
func (Documents) Detect(content []byte) (string, error) {
	if bytes.HasPrefix(content, zipped) {
		return archive(content)
	}
	kind := mimetype.Detect(content)
	for _, known := range plain {
		if kind.Is(known) {
			return known, nil
		}
	}
	return "", nil
}

// archive tells by its table of contents what an archive is: the first bytes
// need not say so, and an editor's order is its own.
func archive(content []byte) (string, error) {
	// Counted before the table is read, which costs many times its size: the
	// number that the archive itself tells is not to be relied on.
	if bytes.Count(content, listed) > mostEntries {
		return "", ErrBomb
	}
	r, err := zip.NewReader(bytes.NewReader(content), int64(len(content)))
	if err != nil {
		return "", ErrDamaged.WithCause(err)
	}
	kind := ""
	var unpacked uint64
	for _, f := range r.File {
		switch {
		case f.Name == "word/document.xml":
			kind = Docx
		case f.Name == "mimetype" && f.UncompressedSize64 == uint64(len(ODT)) && says(f, ODT):
			kind = ODT
		}
		unpacked += min(f.UncompressedSize64, mostUnpacked+1)
		if unpacked > mostUnpacked {
			return "", ErrBomb
		}
	}
	return kind, nil
}

func says(f *zip.File, want string) bool {
	r, err := f.Open()
	if err != nil {
		return false
	}
	defer func() { _ = r.Close() }()
	got, err := io.ReadAll(io.LimitReader(r, int64(len(want))+1))
	return err == nil && string(got) == want
}
