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
	root *os.Root

	mu      sync.Mutex // serializes deleteAbandonedParts
	sweptAt time.Time  // when deleteAbandonedParts last ran
}

// partsFolder is the folder of parts, which are files that are not completely written yet. No key can
// lead into it.
const partsFolder = ".parts"

// A part that has not been written to for partMaxAge belongs to a process that was killed. Such
// parts are deleted every sweepInterval, because they contain users' data.
const (
	partMaxAge    = 24 * time.Hour
	sweepInterval = time.Hour
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

// Put implements files.Store. The file is written to partsFolder, synced to the disk, and then
// renamed.
func (s *Store) Put(ctx context.Context, key string, write func(w io.Writer) error) (err error) {
	if err := checkKey(ctx, key); err != nil {
		return err
	}

	dir := path.Dir(key)
	if err := s.root.MkdirAll(dir, 0o700); err != nil {
		return err
	}

	if err := s.root.MkdirAll(partsFolder, 0o700); err != nil {
		return err
	}

	if err := s.deleteAbandonedParts(); err != nil {
		return err
	}

	// Write the part.
	part := path.Join(partsFolder, rand.Text())

	file, err := s.root.OpenFile(part, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}

	defer func() {
		if err != nil {
			err = errors.Join(err, ignoreError(s.root.Remove(part), fs.ErrNotExist))
		}
	}()

	if err := writePart(file, write); err != nil {
		return err
	}

	if err := ctx.Err(); err != nil {
		return err
	}

	// Replace the file of the key.
	if err := s.root.Rename(part, key); err != nil {
		return err
	}

	return s.syncFolders(dir)
}

// syncFolders syncs the folder of a new file and all its parent folders, so that the file survives a crash.
func (s *Store) syncFolders(dir string) error {
	for ; ; dir = path.Dir(dir) {
		if err := s.syncFolder(dir); err != nil || dir == "." {
			return err
		}
	}
}

// checkKey returns an error if the key is invalid or ctx is done.
func checkKey(ctx context.Context, key string) error {
	if err := files.CheckKey(key); err != nil {
		return err
	}

	return ctx.Err()
}

// writePart writes a part, syncs it to the disk and closes it.
func writePart(f *os.File, write func(w io.Writer) error) (err error) {
	defer func() { err = errors.Join(err, f.Close()) }()

	buffer := bufio.NewWriterSize(f, 64<<10)
	if err := write(buffer); err != nil {
		return err
	}

	if err := buffer.Flush(); err != nil {
		return err
	}

	return f.Sync()
}

// syncFolder syncs a folder to the disk, on file systems that support it.
func (s *Store) syncFolder(dir string) error {
	folder, err := s.root.Open(dir)
	if err != nil {
		return err
	}

	// These are the errors of file systems that cannot sync a folder.
	err = ignoreError(folder.Sync(), errors.ErrUnsupported)
	err = ignoreError(err, syscall.EINVAL)

	return errors.Join(err, folder.Close())
}

// deleteAbandonedParts deletes the parts of processes that were killed.
func (s *Store) deleteAbandonedParts() error {
	s.mu.Lock()
	defer s.mu.Unlock()

	if time.Since(s.sweptAt) < sweepInterval {
		return nil
	}

	parts, err := fs.ReadDir(s.root.FS(), partsFolder)
	if err != nil {
		return err
	}

	for _, part := range parts {
		err := s.deleteIfAbandoned(part)
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // the part may have been completed meanwhile
			return err
		}
	}

	s.sweptAt = time.Now()

	return nil
}

// deleteIfAbandoned deletes a part that was not written to for partMaxAge.
func (s *Store) deleteIfAbandoned(part fs.DirEntry) error {
	info, err := part.Info()
	if err != nil {
		return err
	}

	if time.Since(info.ModTime()) <= partMaxAge {
		return nil
	}

	return s.root.Remove(path.Join(partsFolder, part.Name()))
}

// Open implements files.Store. A key that leads to a folder has no file.
func (s *Store) Open(ctx context.Context, key string) (io.ReadCloser, files.Info, error) {
	if err := checkKey(ctx, key); err != nil {
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
	if err := checkKey(ctx, key); err != nil {
		return err
	}

	return ignoreError(s.root.Remove(key), fs.ErrNotExist)
}

// Ping returns an error unless a file can be written.
func (s *Store) Ping(context.Context) error {
	if err := s.root.MkdirAll(partsFolder, 0o700); err != nil {
		return err
	}

	const name = partsFolder + "/probe"
	if err := s.root.WriteFile(name, []byte("probe"), 0o600); err != nil {
		return err
	}

	// Another process may have removed the file.
	return ignoreError(s.root.Remove(name), fs.ErrNotExist)
}

// Close implements io.Closer.
func (s *Store) Close() error { return s.root.Close() }

// ignoreError returns err, or nil if it is the harmless one.
func ignoreError(err, harmless error) error {
	if errors.Is(err, harmless) {
		return nil
	}

	return err
}
