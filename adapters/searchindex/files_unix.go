//go:build unix

package searchindex

import (
	"errors"
	"os"
	"syscall"
)

// mapFile maps a file into memory, read only. The file must not be truncated
// while it is mapped: reading beyond its end would end the process with SIGBUS.
func mapFile(f *os.File, size int) (data []byte, release func() error, err error) {
	data, err = syscall.Mmap(int(f.Fd()), 0, size, syscall.PROT_READ, syscall.MAP_SHARED)
	return data, func() error { return syscall.Munmap(data) }, err
}

// syncDir makes renames in the directory durable.
func syncDir(root *os.Root) error {
	dir, err := root.Open(".")
	if err != nil {
		return err
	}

	return errors.Join(dir.Sync(), dir.Close())
}
