package conformance

import (
	"context"
	"errors"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/files"
)

// Files checks the port files.Store. open returns an empty store.
func Files(t *testing.T, open func(t testing.TB) files.Store, outage ...Outage[files.Store]) {
	suite := fileSuite{open: open, outage: outage}
	t.Run("put replaces a file", suite.putReplacesAFile)
	t.Run("interrupted put", suite.interruptedPut)
	t.Run("read after the call has ended", suite.readAfterTheCallHasEnded)
	t.Run("large file", suite.largeFile)
	t.Run("delete", suite.delete)
	t.Run("invalid keys", suite.invalidKeys)
	withOutage(t, "files.Store", suite.outage, suite.duringOutage)
}

// fileSuite has the subtests of Files.
type fileSuite struct {
	open   func(t testing.TB) files.Store
	outage []Outage[files.Store]
}

// text returns a function for Put that writes the text.
func (suite fileSuite) text(text string) func(io.Writer) error {
	return func(w io.Writer) error { _, err := io.WriteString(w, text); return err }
}

// read returns the content of the file. It requires the right size, and a time of the last change.
func (suite fileSuite) read(t *testing.T, store files.Store, key string) string {
	t.Helper()

	file, info, err := store.Open(context.Background(), key)
	require.NoError(t, err)

	defer func() { _ = file.Close() }()

	content, err := io.ReadAll(file)
	require.NoError(t, err)
	require.EqualValues(t, len(content), info.Size)
	require.False(t, info.ModifiedAt.IsZero())

	return string(content)
}

// putReplacesAFile checks that Put replaces the whole content, also with an empty one.
func (suite fileSuite) putReplacesAFile(t *testing.T) {
	t.Parallel()

	store := requirePort(t, "files.Store", suite.open(t))
	require.NoError(t, store.Put(context.Background(), "a/b/one.csv", suite.text("first")))

	require.NoError(t, store.Put(context.Background(), "a/b/one.csv", suite.text("")))
	require.Empty(t, suite.read(t, store, "a/b/one.csv"))

	require.NoError(t, store.Put(context.Background(), "a/b/one.csv", suite.text("third")))
	require.Equal(t, "third", suite.read(t, store, "a/b/one.csv"))
}

// interruptedPut checks that a file keeps its content if the function that writes the new content fails, or if the
// context is cancelled while it writes.
func (suite fileSuite) interruptedPut(t *testing.T) {
	t.Parallel()

	store := requirePort(t, "files.Store", suite.open(t))
	require.NoError(t, store.Put(context.Background(), "one", suite.text("first")))

	// The function fails after it has written 1 MiB.
	errFailed := errors.New("write failed")
	err := store.Put(context.Background(), "one", func(w io.Writer) error {
		_, _ = io.WriteString(w, strings.Repeat("x", 1<<20))
		return errFailed
	})
	require.ErrorIs(t, err, errFailed)
	require.Equal(t, "first", suite.read(t, store, "one"))

	// The function succeeds, but the context is cancelled before Put can store the content.
	cancelled, cancel := context.WithCancel(context.Background())
	require.Error(t, store.Put(cancelled, "one", func(io.Writer) error { cancel(); return nil }))
	require.Equal(t, "first", suite.read(t, store, "one"))
}

// readAfterTheCallHasEnded checks that an open file can be read after the context of Open was cancelled. A client may
// need longer to download a file than a request may take.
func (suite fileSuite) readAfterTheCallHasEnded(t *testing.T) {
	t.Parallel()

	store := requirePort(t, "files.Store", suite.open(t))
	long := strings.Repeat("line\n", 100_000)
	require.NoError(t, store.Put(context.Background(), "one", suite.text(long)))

	call, cancel := context.WithCancel(context.Background())
	file, _, err := store.Open(call, "one")
	require.NoError(t, err)

	defer func() { _ = file.Close() }()

	cancel()

	content, err := io.ReadAll(file)
	require.NoError(t, err)
	require.Len(t, content, len(long))
}

// largeFile checks that a file of 20 MiB, which stores may write in several parts, is stored unchanged. If the function
// that writes it fails at the beginning or in the middle, the previous file stays complete. That holds also for
// io.EOF, which a store must not take for the end of the content.
func (suite fileSuite) largeFile(t *testing.T) {
	t.Parallel()

	store := requirePort(t, "files.Store", suite.open(t))
	const size = 20 << 20
	checksum := func(r io.Reader) uint32 {
		hash := crc32.NewIEEE()
		n, err := io.Copy(hash, r)
		require.NoError(t, err)
		require.EqualValues(t, size, n)

		return hash.Sum32()
	}

	// content returns the same pseudorandom bytes at each call.
	content := func() io.Reader { return io.LimitReader(rand.NewChaCha8([32]byte{}), size) }

	require.NoError(t, store.Put(context.Background(), "large", suite.text("small")))
	require.NoError(t, store.Put(context.Background(), "large",
		func(w io.Writer) error { _, err := io.Copy(w, content()); return err }))

	file, info, err := store.Open(context.Background(), "large")
	require.NoError(t, err)

	defer func() { _ = file.Close() }()

	require.EqualValues(t, size, info.Size)
	require.Equal(t, checksum(content()), checksum(file))

	// Both failures are errors of a source from which the function copies.
	for _, failure := range []error{io.EOF, io.ErrUnexpectedEOF} {
		err := store.Put(context.Background(), "large", func(w io.Writer) error {
			_, err := io.Copy(w, io.LimitReader(content(), size/2))
			return errors.Join(failure, err)
		})
		require.ErrorIs(t, err, failure, "in the middle")

		err = store.Put(context.Background(), "large", func(io.Writer) error { return failure })
		require.ErrorIs(t, err, failure, "at the beginning")
	}

	// The previous file has its size.
	second, info, err := store.Open(context.Background(), "large")
	require.NoError(t, err)
	require.NoError(t, second.Close())
	require.EqualValues(t, size, info.Size)
}

// delete checks that a deleted file is not found, and that the deletion of a missing file is no error. The folder in
// which the file was is not found either.
func (suite fileSuite) delete(t *testing.T) {
	t.Parallel()

	store := requirePort(t, "files.Store", suite.open(t))
	require.NoError(t, store.Put(context.Background(), "a/one", suite.text("x")))
	require.NoError(t, store.Delete(context.Background(), "a/one"))
	require.NoError(t, store.Delete(context.Background(), "a/one"), "the file is missing")

	_, _, err := store.Open(context.Background(), "a/one")
	require.ErrorIs(t, err, files.ErrNotFound)

	_, _, err = store.Open(context.Background(), "a")
	require.ErrorIs(t, err, files.ErrNotFound)
}

// invalidKeys checks that all methods refuse keys that lead out of the folder of the store, and keys that not every
// store and file system accepts.
func (suite fileSuite) invalidKeys(t *testing.T) {
	t.Parallel()

	store := requirePort(t, "files.Store", suite.open(t))
	for _, key := range []string{
		"", ".", "..", "../x", "a/../../x", "/etc/passwd", "a//b", "a/", "a\\b", ".hidden", "a/.b",
		"é", "a b", "a\x00b", strings.Repeat("a", 201),
	} {
		for name, err := range map[string]error{
			"put":    store.Put(context.Background(), key, suite.text("x")),
			"delete": store.Delete(context.Background(), key),
			"open":   opened(store, key),
		} {
			require.ErrorIs(t, err, fault.ErrInvalid, "%s %q", name, key)
		}
	}
}

// duringOutage checks that all methods of an unavailable store return an error in time. The error is not ErrNotFound,
// after which callers would delete their rows. After the outage, the store has the files that it had before, and none
// of an interrupted write.
func (suite fileSuite) duringOutage(t *testing.T, store files.Store, begin, end func()) {
	require.NoError(t, store.Put(context.Background(), "a/kept", suite.text("kept")))
	require.NoError(t, store.Put(context.Background(), "a/deleted", suite.text("deleted")))
	begin()

	for _, call := range []func() error{
		func() error { return store.Put(context.Background(), "a/kept", suite.text("new")) },
		func() error {
			return store.Put(context.Background(), "a/large", suite.text(strings.Repeat("x", 20<<20)))
		},
		func() error { return opened(store, "a/kept") },
		func() error { return opened(store, "a/missing") },
		func() error { return store.Delete(context.Background(), "a/deleted") },
	} {
		err := requireTimelyError(t, call)
		require.NotErrorIs(t, err, files.ErrNotFound, "whether there is a file is unknown")
		require.NotErrorIs(t, err, fault.ErrInvalid)
	}

	end()
	waitForRecovery(t, func() error { return opened(store, "a/kept") })
	require.Equal(t, "kept", suite.read(t, store, "a/kept"))
	require.Equal(t, "deleted", suite.read(t, store, "a/deleted"))
	require.ErrorIs(t, opened(store, "a/large"), files.ErrNotFound)
	require.NoError(t, store.Put(context.Background(), "a/kept", suite.text("new")))
	require.Equal(t, "new", suite.read(t, store, "a/kept"))
}

// opened returns the error of opening the file.
func opened(store files.Store, key string) error {
	file, _, err := store.Open(context.Background(), key)
	if err != nil {
		return err
	}

	return file.Close()
}
