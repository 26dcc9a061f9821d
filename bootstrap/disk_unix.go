//go:build linux || darwin

package bootstrap

import "syscall"

// freeSpace returns the bytes that this process may still write below the path.
func freeSpace(path string) (float64, error) {
	var fs syscall.Statfs_t
	err := syscall.Statfs(path, &fs)
	return float64(fs.Bavail) * float64(fs.Bsize), err
}
