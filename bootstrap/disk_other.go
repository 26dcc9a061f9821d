//go:build !linux && !darwin

package bootstrap

import "errors"

// freeSpace is implemented for Linux and macOS only.
func freeSpace(string) (float64, error) { return 0, errors.ErrUnsupported }
