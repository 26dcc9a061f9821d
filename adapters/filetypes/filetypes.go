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

// plainTypes are the media types that are detected from the first bytes of a file. Docx and ODT files
// are ZIP archives.
var plainTypes = []string{PDF, Doc, RTF, PNG, JPEG}

var (
	// archiveSignature begins each ZIP archive that is not empty.
	archiveSignature = []byte("PK\x03\x04")
	// entrySignature begins each entry of the central directory of an archive, which lists its files.
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
		return detectArchive(content)
	}

	detected := mimetype.Detect(content)
	if i := slices.IndexFunc(plainTypes, detected.Is); i >= 0 {
		return plainTypes[i], nil
	}

	return "", nil
}

// detectArchive detects the type of a ZIP archive from its central directory. The first bytes do not
// suffice, because the order of the entries depends on the program that has written the archive.
func detectArchive(content []byte) (string, error) {
	// The entries are counted before the directory is parsed, which costs many times its
	// size. The number in the archive itself is not reliable.
	if bytes.Count(content, entrySignature) > maxEntries {
		return "", ErrBomb
	}

	archive, err := zip.NewReader(bytes.NewReader(content), int64(len(content)))
	if err != nil {
		return "", ErrDamaged.WithCause(err)
	}

	mediaType := ""

	var unpacked uint64 // the sum of the sizes, in bytes
	for _, entry := range archive.File {
		switch {
		case entry.Name == "word/document.xml":
			mediaType = Docx
		case entry.Name == "mimetype" && entry.UncompressedSize64 == uint64(len(ODT)) && hasContent(entry, ODT):
			mediaType = ODT
		}

		// The size of a single entry is bounded, so that the sum does not overflow.
		unpacked += min(entry.UncompressedSize64, maxUnpacked+1)
		if unpacked > maxUnpacked {
			return "", ErrBomb
		}
	}

	return mediaType, nil
}

// hasContent reports whether the entry consists of the text. It reads at most one byte more, so
// that it decompresses no bomb.
func hasContent(entry *zip.File, text string) bool {
	reader, err := entry.Open()
	if err != nil {
		return false
	}

	defer func() { _ = reader.Close() }()

	content, err := io.ReadAll(io.LimitReader(reader, int64(len(text))+1))

	return err == nil && string(content) == text
}
