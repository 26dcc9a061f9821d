//go:build unix

package searchindex

import (
	"cmp"
	"os"
	"syscall"
)

// mapFile maps a file into memory, read only. The file must not be truncated.
func mapFile(f *os.File, size int) (data []byte, release func() error, err error) {
	data, err = syscall.Mmap(int(f.Fd()), 0, size, syscall.PROT_READ, syscall.MAP_SHARED)
	return data, func() error { return syscall.Munmap(data) }, err
}

// syncFolder makes renames in the folder durable.
func syncFolder(root *os.Root) error {
	dir, err := root.Open(".")
	if err != nil {
		return err
	}
	return cmp.Or(dir.Sync(), dir.Close())
}
