package conformance

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/files"
)

// Files checks the port files.Store. open makes an empty one.
func Files(t *testing.T, open func(t testing.TB) files.Store) {
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

	t.Run("gives back what was put, the newest", func(t *testing.T) {
		t.Parallel()
		s := open(t)
		require.NoError(t, s.Put(ctx, "a/b/one.csv", text("first")))
		require.NoError(t, s.Put(ctx, "a/b/one.csv", text("")))
		require.Empty(t, read(t, s, "a/b/one.csv"))
		require.NoError(t, s.Put(ctx, "a/b/one.csv", text("third")))
		require.Equal(t, "third", read(t, s, "a/b/one.csv"))
	})

	t.Run("keeps what it had when a new file does not come to its end", func(t *testing.T) {
		t.Parallel()
		s := open(t)
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

	t.Run("reads on when the call that opened it is over", func(t *testing.T) {
		t.Parallel()
		s := open(t)
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

	t.Run("deletes, also what is not there", func(t *testing.T) {
		t.Parallel()
		s := open(t)
		require.NoError(t, s.Put(ctx, "a/one", text("x")))
		require.NoError(t, s.Delete(ctx, "a/one"))
		require.NoError(t, s.Delete(ctx, "a/one"))
		_, _, err := s.Open(ctx, "a/one")
		require.ErrorIs(t, err, files.ErrNotFound)
		_, _, err = s.Open(ctx, "a")
		require.ErrorIs(t, err, files.ErrNotFound)
	})

	t.Run("takes no key that leads elsewhere", func(t *testing.T) {
		t.Parallel()
		s := open(t)
		for _, key := range []string{"", ".", "..", "../x", "a/../../x", "/etc/passwd", "a//b", "a/", "a\\b", ".hidden", "a/.b", "é", "a b", "a\x00b", strings.Repeat("a", 201)} {
			for name, err := range map[string]error{
				"put": s.Put(ctx, key, text("x")), "delete": s.Delete(ctx, key), "open": opened(s, key),
			} {
				require.ErrorIs(t, err, fault.ErrInvalid, "%s %q", name, key)
			}
		}
	})
}

func opened(s files.Store, key string) error {
	_, _, err := s.Open(context.Background(), key)
	return err
}
