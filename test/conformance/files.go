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
	ctx := context.Background()
	text := func(s string) func(io.Writer) error {
		return func(w io.Writer) error { _, err := io.WriteString(w, s); return err }
	}
	read := func(t *testing.T, s files.Store, key string) string {
		t.Helper()
		f, info, err := s.Open(ctx, key)
		require.NoError(t, err)
		defer func() { _ = f.Close() }()
		b, err := io.ReadAll(f)
		require.NoError(t, err)
		require.EqualValues(t, len(b), info.Size)
		require.False(t, info.ModifiedAt.IsZero())
		return string(b)
	}

	t.Run("put replaces a file", func(t *testing.T) {
		t.Parallel()
		s := requirePort(t, "files.Store", open(t))
		require.NoError(t, s.Put(ctx, "a/b/one.csv", text("first")))
		require.NoError(t, s.Put(ctx, "a/b/one.csv", text("")))
		require.Empty(t, read(t, s, "a/b/one.csv"))
		require.NoError(t, s.Put(ctx, "a/b/one.csv", text("third")))
		require.Equal(t, "third", read(t, s, "a/b/one.csv"))
	})

	t.Run("interrupted put", func(t *testing.T) {
		t.Parallel()
		s := requirePort(t, "files.Store", open(t))
		require.NoError(t, s.Put(ctx, "one", text("first")))
		boom := errors.New("boom")
		require.ErrorIs(t, s.Put(ctx, "one", func(w io.Writer) error {
			_, _ = io.WriteString(w, strings.Repeat("x", 1<<20))
			return boom
		}), boom)
		require.Equal(t, "first", read(t, s, "one"))
		gone, cancel := context.WithCancel(ctx)
		require.Error(t, s.Put(gone, "one", func(io.Writer) error { cancel(); return nil }))
		require.Equal(t, "first", read(t, s, "one"))
	})

	t.Run("read after the call has ended", func(t *testing.T) {
		t.Parallel()
		s := requirePort(t, "files.Store", open(t))
		long := strings.Repeat("line\n", 100_000)
		require.NoError(t, s.Put(ctx, "one", text(long)))
		call, over := context.WithCancel(ctx)
		f, _, err := s.Open(call, "one")
		require.NoError(t, err)
		defer func() { _ = f.Close() }()
		over()
		b, err := io.ReadAll(f)
		require.NoError(t, err)
		require.Len(t, b, len(long))
	})

	t.Run("large file", func(t *testing.T) {
		t.Parallel()
		s := requirePort(t, "files.Store", open(t))
		const size = 20 << 20
		sum := func(r io.Reader) uint32 {
			h := crc32.NewIEEE()
			n, err := io.Copy(h, r)
			require.NoError(t, err)
			require.EqualValues(t, size, n)
			return h.Sum32()
		}
		content := func() io.Reader { return io.LimitReader(rand.NewChaCha8([32]byte{}), size) }
		require.NoError(t, s.Put(ctx, "large", text("small")))
		require.NoError(t, s.Put(ctx, "large", func(w io.Writer) error { _, err := io.Copy(w, content()); return err }))
		f, info, err := s.Open(ctx, "large")
		require.NoError(t, err)
		defer func() { _ = f.Close() }()
		require.EqualValues(t, size, info.Size)
		require.Equal(t, sum(content()), sum(f))
		for _, wrong := range []error{io.EOF, io.ErrUnexpectedEOF} { // the end of what write copies from
			require.ErrorIs(t, s.Put(ctx, "large", func(w io.Writer) error {
				_, err := io.Copy(w, io.LimitReader(content(), size/2))
				return errors.Join(wrong, err)
			}), wrong)
			require.ErrorIs(t, s.Put(ctx, "large", func(io.Writer) error { return wrong }), wrong)
		}
		again, info, err := s.Open(ctx, "large")
		require.NoError(t, err)
		require.NoError(t, again.Close())
		require.EqualValues(t, size, info.Size)
	})

	t.Run("delete", func(t *testing.T) {
		t.Parallel()
		s := requirePort(t, "files.Store", open(t))
		require.NoError(t, s.Put(ctx, "a/one", text("x")))
		require.NoError(t, s.Delete(ctx, "a/one"))
		require.NoError(t, s.Delete(ctx, "a/one"))
		_, _, err := s.Open(ctx, "a/one")
		require.ErrorIs(t, err, files.ErrNotFound)
		_, _, err = s.Open(ctx, "a")
		require.ErrorIs(t, err, files.ErrNotFound)
	})

	t.Run("invalid keys", func(t *testing.T) {
		t.Parallel()
		s := requirePort(t, "files.Store", open(t))
		for _, key := range []string{"", ".", "..", "../x", "a/../../x", "/etc/passwd", "a//b", "a/", "a\\b", ".hidden", "a/.b", "é", "a b", "a\x00b", strings.Repeat("a", 201)} {
			for name, err := range map[string]error{
				"put": s.Put(ctx, key, text("x")), "delete": s.Delete(ctx, key), "open": opened(s, key),
			} {
				require.ErrorIs(t, err, fault.ErrInvalid, "%s %q", name, key)
			}
		}
	})

	withOutage(t, "files.Store", outage, func(t *testing.T, s files.Store, begin, end func()) {
		require.NoError(t, s.Put(ctx, "a/kept", text("kept")))
		require.NoError(t, s.Put(ctx, "a/deleted", text("deleted")))
		begin()
		for _, call := range []func() error{
			func() error { return s.Put(ctx, "a/kept", text("new")) },
			func() error { return s.Put(ctx, "a/large", text(strings.Repeat("x", 20<<20))) },
			func() error { return opened(s, "a/kept") },
			func() error { return opened(s, "a/missing") },
			func() error { return s.Delete(ctx, "a/deleted") },
		} {
			err := failsInTime(t, call)
			require.NotErrorIs(t, err, files.ErrNotFound, "whether there is a file is unknown")
			require.NotErrorIs(t, err, fault.ErrInvalid)
		}
		end()
		recovers(t, func() error { return opened(s, "a/kept") })
		require.Equal(t, "kept", read(t, s, "a/kept"))
		require.Equal(t, "deleted", read(t, s, "a/deleted"))
		require.ErrorIs(t, opened(s, "a/large"), files.ErrNotFound)
		require.NoError(t, s.Put(ctx, "a/kept", text("new")))
		require.Equal(t, "new", read(t, s, "a/kept"))
	})
}

func opened(s files.Store, key string) error {
	f, _, err := s.Open(context.Background(), key)
	if err != nil {
		return err
	}
	return f.Close()
}
