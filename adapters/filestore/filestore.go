// Package filestore keeps files in a folder of this machine, or of a network
// file system that all processes mount.
package filestore

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"

	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/files"
)

// Store implements files.Store.
type Store struct{ root *os.Root }

// Open uses the folder, which it makes. Nothing outside of it can be reached,
// also not through symbolic links in it.
func Open(dir string) (*Store, error) {
	// Only this user reads what others entrusted to the service.
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	return &Store{root}, nil
}

var keys = regexp.MustCompile(`^[A-Za-z0-9_-][A-Za-z0-9._-]*(/[A-Za-z0-9_-][A-Za-z0-9._-]*)*$`)

func check(key string) error {
	if len(key) > 200 || !keys.MatchString(key) {
		return fault.InvalidField("key", "is not a key of a file")
	}
	return nil
}

// Put implements files.Store: the file is written beside its place and then
// moved there.
func (s *Store) Put(ctx context.Context, key string, write func(w io.Writer) error) (err error) {
	if err := errors.Join(check(key), ctx.Err()); err != nil {
		return err
	}
	dir := filepath.Dir(key)
	if err := s.root.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	part := filepath.Join(dir, ".part-"+rand.Text())
	f, err := s.root.OpenFile(part, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, ignoring(s.root.Remove(part), fs.ErrNotExist))
		}
	}()
	buffer := bufio.NewWriterSize(f, 64<<10)
	if err := write(buffer); err != nil {
		return errors.Join(err, f.Close())
	}
	if err := errors.Join(buffer.Flush(), f.Sync(), f.Close(), ctx.Err()); err != nil {
		return err
	}
	return s.root.Rename(part, key)
}

// Open implements files.Store.
func (s *Store) Open(ctx context.Context, key string) (io.ReadCloser, files.Info, error) {
	if err := errors.Join(check(key), ctx.Err()); err != nil {
		return nil, files.Info{}, err
	}
	f, err := s.root.Open(key)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, files.Info{}, files.ErrNotFound
	}
	if err != nil {
		return nil, files.Info{}, err
	}
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return nil, files.Info{}, errors.Join(files.ErrNotFound, err, f.Close())
	}
	return f, files.Info{Size: info.Size(), ModifiedAt: info.ModTime().UTC()}, nil
}

// Delete implements files.Store.
func (s *Store) Delete(ctx context.Context, key string) error {
	if err := errors.Join(check(key), ctx.Err()); err != nil {
		return err
	}
	return ignoring(s.root.Remove(key), fs.ErrNotExist)
}

// Close implements io.Closer.
func (s *Store) Close() error { return s.root.Close() }

func ignoring(err, harmless error) error {
	if errors.Is(err, harmless) {
		return nil
	}
	return err
}
