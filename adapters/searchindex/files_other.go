//go:build !unix

package searchindex

import (
	"io"
	"os"
)

// mapFile reads the file, since it cannot be mapped here.
func mapFile(f *os.File, size int) (data []byte, release func() error, err error) {
	var b alignedBuffer
	_, err = io.CopyN(&b, f, int64(size))
	return b.bytes(), func() error { return nil }, err
}

// syncDir does nothing: folders cannot be synchronized here.
func syncDir(*os.Root) error { return nil }
