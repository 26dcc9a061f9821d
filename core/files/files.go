// Package files defines the port for file storage: documents and exports.
package files

import (
	"context"
	"io"
	"regexp"
	"time"

	"github.com/locumhq/locum/core/fault"
)

// ErrNotFound is returned for a key without a file.
var ErrNotFound = fault.New(fault.NotFound, "file_not_found", "File not found")

// maxKey is the maximum length of a key in bytes. File systems permit 255 in a segment.
const maxKey = 200

// validKey matches segments that do not begin with a dot, so that no key leaves the folder of the files.
var validKey = regexp.MustCompile(`^[A-Za-z0-9_-][A-Za-z0-9._-]*(/[A-Za-z0-9_-][A-Za-z0-9._-]*)*$`)

// CheckKey returns an Invalid fault for a key that Store does not permit.
func CheckKey(key string) error {
	if len(key) > maxKey || !validKey.MatchString(key) {
		return fault.InvalidField("key", "is not a key of a file")
	}

	return nil
}

// Info is the metadata of a file.
type Info struct {
	Size       int64 // bytes
	ModifiedAt time.Time
}

// Store stores files by key. A key consists of segments of [A-Za-z0-9._-] with single
// slashes between them; no segment begins with a dot. A key has at most 200 bytes, and
// never contains a file name that a user chose. All methods return an Invalid fault for
// another key.
type Store interface {
	// Put stores the bytes that write writes. It replaces the file of the key only after
	// write has returned nil. Memory use does not grow with the size of the file.
	Put(ctx context.Context, key string, write func(w io.Writer) error) error
	// Open opens the file for reading, or returns ErrNotFound. The caller closes the
	// reader. The reader still works when ctx is done, because a transport sends the file
	// after the use case has returned.
	Open(ctx context.Context, key string) (io.ReadCloser, Info, error)
	// Delete deletes the file. It returns nil if there is none.
	Delete(ctx context.Context, key string) error
}
