// Package files defines the port for file storage: documents and exports.
package files

import (
	"context"
	"io"
	"regexp"
	"time"

	"github.com/locumhq/locum/core/fault"
)

// ErrNotFound is the error for a key without a file.
var ErrNotFound = fault.New(fault.NotFound, "file_not_found", "File not found")

var keys = regexp.MustCompile(`^[A-Za-z0-9_-][A-Za-z0-9._-]*(/[A-Za-z0-9_-][A-Za-z0-9._-]*)*$`)

// CheckKey returns an Invalid fault for a key that Store does not permit.
func CheckKey(key string) error {
	if len(key) > 200 || !keys.MatchString(key) {
		return fault.InvalidField("key", "is not a key of a file")
	}
	return nil
}

// Info is the metadata of a file.
type Info struct {
	Size       int64 // bytes
	ModifiedAt time.Time
}

// Store stores files by key: path segments of [A-Za-z0-9._-] separated by single slashes,
// none of which begins with a dot, at most 200 bytes. Another key is an Invalid fault.
// Keys never contain file names that users chose.
type Store interface {
	// Put stores what write writes, atomically: until write has returned nil, the key has
	// its previous content. Memory use does not grow with the size.
	Put(ctx context.Context, key string, write func(w io.Writer) error) error
	// Open returns the file for reading, or ErrNotFound. The caller closes it. Reads also
	// work after ctx is done, because a transport sends the file after the use case has
	// returned.
	Open(ctx context.Context, key string) (io.ReadCloser, Info, error)
	// Delete deletes the file. It returns nil if there is none.
	Delete(ctx context.Context, key string) error
}
