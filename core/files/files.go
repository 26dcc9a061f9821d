// Package files is the port through which the service keeps files: documents,
// exports.
package files

import (
	"context"
	"io"
	"time"

	"github.com/locumhq/locum/core/fault"
)

// ErrNotFound is the answer for a key that holds no file.
var ErrNotFound = fault.New(fault.NotFound, "file_not_found", "File not found")

// Info is what is known of a file without reading it.
type Info struct {
	Size       int64 // bytes
	ModifiedAt time.Time
}

// Store keeps files under keys: path segments of [A-Za-z0-9._-] with single
// slashes between them, none of them beginning with a dot, at most 200 bytes.
// A key of another shape is an Invalid fault. Names that people gave to files
// never stand in a key.
type Store interface {
	// Put stores what write writes, all or nothing: until write has returned
	// nil the key holds what it held before. Memory does not grow with the size.
	Put(ctx context.Context, key string, write func(w io.Writer) error) error
	// Open returns the file for reading, or ErrNotFound. The caller closes it;
	// reading goes on when ctx has ended, as a transport sends what a use case
	// has opened.
	Open(ctx context.Context, key string) (io.ReadCloser, Info, error)
	// Delete removes the file. One that is not there is no error.
	Delete(ctx context.Context, key string) error
}
