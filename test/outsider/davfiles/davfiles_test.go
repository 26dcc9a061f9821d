package davfiles_test

import (
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/webdav"

	"example.org/outsider/davfiles"
	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/core/files"
	"github.com/locumhq/locum/test/conformance"
)

// open opens a store on a server with an empty folder, which hangs up while down is set.
func open(t testing.TB, down *atomic.Bool) files.Store {
	t.Helper()
	dav := &webdav.Handler{FileSystem: webdav.Dir(t.TempDir()), LockSystem: webdav.NewMemLS()}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if down.Load() {
			panic(http.ErrAbortHandler)
		}
		dav.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	s, err := davfiles.Open(t.Context(), "dav+"+server.URL, adapters.Deps{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.(adapters.Closer).Close()) })
	return s
}

// TestStore_Conformance runs the suite for file stores, with outages of the server.
func TestStore_Conformance(t *testing.T) {
	t.Parallel()
	conformance.Files(t, func(t testing.TB) files.Store { return open(t, new(atomic.Bool)) },
		func(t testing.TB) (s files.Store, begin, end func()) {
			var down atomic.Bool
			return open(t, &down), func() { down.Store(true) }, func() { down.Store(false) }
		})
}

// TestOpen_ServerUnavailable_CallFails checks that the process starts without the server, and
// that an outage is not reported as a file that does not exist.
func TestOpen_ServerUnavailable_CallFails(t *testing.T) {
	t.Parallel()
	s, err := davfiles.Open(t.Context(), "dav+http://127.0.0.1:1", adapters.Deps{})
	require.NoError(t, err)
	_, _, err = s.Open(t.Context(), "a")
	require.Error(t, err)
	require.NotErrorIs(t, err, files.ErrNotFound)
	require.Error(t, s.(adapters.Pinger).Ping(t.Context()))
}
