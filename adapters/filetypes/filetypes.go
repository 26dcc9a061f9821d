// Package filetypes detects the media type of a file from its content alone, ignoring the
// declared type and the file name extension.
package filetypes

import (
	"archive/zip"
	"bytes"
	"io"
	"slices"

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

// plain are the media types that are detected from the first bytes of a file.
var plain = []string{PDF, Doc, RTF, PNG, JPEG}

var (
	// archiveSignature begins each ZIP archive that is not empty.
	archiveSignature = []byte("PK\x03\x04")
	// entrySignature begins each entry of the central directory of an archive.
	entrySignature = []byte("PK\x01\x02")
)

// The limits of an archive. A small archive may contain files that fill a disk when they are decompressed.
const (
	maxEntries  = 2_000
	maxUnpacked = 100 << 20 // bytes
)

// The faults of archives. The service does not decompress archives, but its users do.
var (
	ErrDamaged = fault.New(fault.Invalid, "damaged_document", "The document is damaged")
	ErrBomb    = fault.New(fault.Invalid, "document_unpacks_too_large", "The document unpacks into too much")
)

// Documents detects the types of documents.
type Documents struct{}

// Detect returns the media type of a document, or an empty string for other content.
func (Documents) Detect(content []byte) (string, error) {
	if bytes.HasPrefix(content, archiveSignature) {
		return archive(content)
	}

	kind := mimetype.Detect(content)
	if i := slices.IndexFunc(plain, kind.Is); i >= 0 {
		return plain[i], nil
	}

	return "", nil
}

// archive detects the type of an archive from its central directory. The first bytes do not suffice,
// because the order of the entries depends on the program that has written the archive.
func archive(content []byte) (string, error) {
	// The entries are counted before the directory is parsed, which costs many times its
	// size. The number in the archive itself is not reliable.
	if bytes.Count(content, entrySignature) > maxEntries {
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
		case f.Name == "mimetype" && f.UncompressedSize64 == uint64(len(ODT)) && hasContent(f, ODT):
			kind = ODT
		}

		// The size of a single entry is bounded, so that the sum does not overflow.
		unpacked += min(f.UncompressedSize64, maxUnpacked+1)
		if unpacked > maxUnpacked {
			return "", ErrBomb
		}
	}

	return kind, nil
}

// hasContent reports whether the entry consists of the text. It reads at most one byte more, so
// that it decompresses no bomb.
func hasContent(f *zip.File, text string) bool {
	r, err := f.Open()
	if err != nil {
		return false
	}

	defer func() { _ = r.Close() }()

	content, err := io.ReadAll(io.LimitReader(r, int64(len(text))+1))

	return err == nil && string(content) == text
}
