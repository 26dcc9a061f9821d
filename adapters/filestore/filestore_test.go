package filestore

import (
	"context"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/core/files"
	"github.com/locumhq/locum/test/conformance"
)

var _ files.Store = (*Store)(nil)

// open opens a store, which is closed after the test.
func open(t testing.TB, dir string) *Store {
	t.Helper()

	s, err := Open(dir)
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.Close() })

	return s
}

func TestStore_Conformance(t *testing.T) {
	t.Parallel()
	conformance.Files(t, func(t testing.TB) files.Store { return open(t, filepath.Join(t.TempDir(), "data", "files")) })
}

// TestPut_FileMode0600_IsAtomic checks that other users of the host can read neither files nor
// folders, and that an upload that failed leaves no file.
func TestPut_FileMode0600_IsAtomic(t *testing.T) {
	t.Parallel()

	dir := filepath.Join(t.TempDir(), "files")
	s := open(t, dir)
	require.NoError(t, s.Put(t.Context(), "a/one", func(w io.Writer) error { _, err := io.WriteString(w, "x"); return err }))
	require.Error(t, s.Put(t.Context(), "a/two", func(io.Writer) error { return context.Canceled }))
	var found []string
	require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		require.NoError(t, err)

		info, err := d.Info()
		require.NoError(t, err)
		require.Zero(t, info.Mode().Perm()&0o077, path)

		if !d.IsDir() {
			found = append(found, d.Name())
		}

		return nil
	}))
	require.Equal(t, []string{"one"}, found)
}

// TestOpen_TemporaryFilesOfDeadWriters_Removed checks that parts of uploads of a process that
// ended are removed after a day. Newer ones may belong to a running upload of another process.
func TestOpen_TemporaryFilesOfDeadWriters_Removed(t *testing.T) {
	t.Parallel()

	dir := t.TempDir()
	for name, age := range map[string]time.Duration{"old": 25 * time.Hour, "new": time.Hour} {
		path := filepath.Join(dir, partsFolder, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte("half"), 0o600))

		at := time.Now().Add(-age)
		require.NoError(t, os.Chtimes(path, at, at))
	}

	s := open(t, dir)
	require.NoError(t, s.Put(t.Context(), "a/one", func(io.Writer) error { return nil }))

	left, err := os.ReadDir(filepath.Join(dir, partsFolder))
	require.NoError(t, err)
	require.Len(t, left, 1)
	require.Equal(t, "new", left[0].Name())
}

// TestPing_FolderDeleted_Fails checks that the health check notices that the folder is missing,
// although the store still has it open.
func TestPing_FolderDeleted_Fails(t *testing.T) {
	t.Parallel()

	dir := filepath.Join(t.TempDir(), "files")
	s := open(t, dir)
	require.NoError(t, s.Ping(t.Context()))
	require.NoError(t, os.RemoveAll(dir))
	require.Error(t, s.Ping(t.Context()))
}

// TestOpen_SymlinkOutOfFolder_Refused checks that a symbolic link in the folder gives access to
// no file outside of it.
func TestOpen_SymlinkOutOfFolder_Refused(t *testing.T) {
	t.Parallel()

	outside := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(outside, "secret"), []byte("x"), 0o600))

	dir := t.TempDir()
	require.NoError(t, os.Symlink(outside, filepath.Join(dir, "a")))

	s := open(t, dir)
	_, _, err := s.Open(t.Context(), "a/secret")
	require.Error(t, err)
	require.Error(t, s.Put(t.Context(), "a/new", func(io.Writer) error { return nil }))
	require.NoFileExists(t, filepath.Join(outside, "new"))
}
