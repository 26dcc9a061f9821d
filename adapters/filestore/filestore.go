// Package filestore stores files in a folder of the machine, or of a network file system
// that all processes mount.
package filestore

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"sync"
	"syscall"
	"time"

	"github.com/locumhq/locum/core/files"
)

// Store implements files.Store.
type Store struct {
	root  *os.Root
	mu    sync.Mutex
	swept time.Time
}

// parts is the folder of incomplete files. No key has a path in it.
const parts = ".parts"

// A part that was not written to for that long belongs to a process that was killed. Such
// parts are deleted regularly, because they contain data of users.
const (
	abandoned  = 24 * time.Hour
	sweepEvery = time.Hour
)

// Open opens the folder, which it creates if it does not exist. No file outside of it can
// be accessed, not even through symbolic links in it.
func Open(dir string) (*Store, error) {
	// Only the user of the process can read the files.
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	return &Store{root: root}, nil
}

// Put implements files.Store. The file is written to the folder of parts and renamed when it
// is synced to the disk.
func (s *Store) Put(ctx context.Context, key string, write func(w io.Writer) error) (err error) {
	if err := errors.Join(files.CheckKey(key), ctx.Err()); err != nil {
		return err
	}
	dir := path.Dir(key)
	if err := errors.Join(s.root.MkdirAll(dir, 0o700), s.root.MkdirAll(parts, 0o700)); err != nil {
		return err
	}
	if err := s.sweep(); err != nil {
		return err
	}
	part := path.Join(parts, rand.Text())
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
	if err := s.root.Rename(part, key); err != nil {
		return err
	}
	// A file survives a crash when its folder is synced, and a folder when its parent is.
	for ; ; dir = path.Dir(dir) {
		if err := s.sync(dir); err != nil || dir == "." {
			return err
		}
	}
}

// sync syncs a folder to the disk, on file systems that support it.
func (s *Store) sync(dir string) error {
	d, err := s.root.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(ignoring(ignoring(d.Sync(), errors.ErrUnsupported), syscall.EINVAL), d.Close())
}

// sweep deletes the parts of processes that were killed.
func (s *Store) sweep() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if time.Since(s.swept) < sweepEvery {
		return nil
	}
	d, err := s.root.Open(parts)
	if err != nil {
		return err
	}
	left, err := d.ReadDir(-1)
	if err = errors.Join(err, d.Close()); err != nil {
		return err
	}
	for _, part := range left {
		info, err := part.Info()
		if err == nil && time.Since(info.ModTime()) > abandoned {
			err = s.root.Remove(path.Join(parts, part.Name()))
		}
		if err = ignoring(err, fs.ErrNotExist); err != nil {
			return err
		}
	}
	s.swept = time.Now()
	return nil
}

// Open implements files.Store.
func (s *Store) Open(ctx context.Context, key string) (io.ReadCloser, files.Info, error) {
	if err := errors.Join(files.CheckKey(key), ctx.Err()); err != nil {
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
	if err := errors.Join(files.CheckKey(key), ctx.Err()); err != nil {
		return err
	}
	return ignoring(s.root.Remove(key), fs.ErrNotExist)
}

// Ping returns an error unless a file can be written.
func (s *Store) Ping(context.Context) error {
	if err := s.root.MkdirAll(parts, 0o700); err != nil {
		return err
	}
	const name = parts + "/probe"
	return errors.Join(s.root.WriteFile(name, []byte("probe"), 0o600), ignoring(s.root.Remove(name), fs.ErrNotExist))
}

// Close implements io.Closer.
func (s *Store) Close() error { return s.root.Close() }

func ignoring(err, harmless error) error {
	if errors.Is(err, harmless) {
		return nil
	}
	return err
}
