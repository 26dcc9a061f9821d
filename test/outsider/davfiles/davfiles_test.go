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

// open opens a store on a server with an empty folder, which closes its connections while isDown is set.
func open(t testing.TB, isDown *atomic.Bool) files.Store {
	t.Helper()

	dav := &webdav.Handler{FileSystem: webdav.Dir(t.TempDir()), LockSystem: webdav.NewMemLS()}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if isDown.Load() {
			panic(http.ErrAbortHandler)
		}

		dav.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)

	store, err := davfiles.Open(t.Context(), "dav+"+server.URL, adapters.Deps{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.(adapters.Closer).Close()) })

	return store
}

// TestStore_Conformance runs the suite for file stores, with outages of the server.
func TestStore_Conformance(t *testing.T) {
	t.Parallel()
	conformance.Files(t, func(t testing.TB) files.Store { return open(t, new(atomic.Bool)) },
		func(t testing.TB) (store files.Store, begin, end func()) {
			var isDown atomic.Bool
			return open(t, &isDown), func() { isDown.Store(true) }, func() { isDown.Store(false) }
		})
}

// TestOpen_ServerUnavailable_CallFails checks that the process starts without the server, and
// that an outage is not reported as a file that does not exist.
func TestOpen_ServerUnavailable_CallFails(t *testing.T) {
	t.Parallel()

	store, err := davfiles.Open(t.Context(), "dav+http://127.0.0.1:1", adapters.Deps{})
	require.NoError(t, err)

	_, _, err = store.Open(t.Context(), "a")
	require.Error(t, err)
	require.NotErrorIs(t, err, files.ErrNotFound)
	require.Error(t, store.(adapters.Pinger).Ping(t.Context()))
}
