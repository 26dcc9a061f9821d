package bootstrap

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/config"
	"github.com/locumhq/locum/modules/jobseeker"
	"github.com/locumhq/locum/modules/listings"
)

// indexedServer is a server with an index in a folder.
type indexedServer struct {
	*app
	config *config.Config
	log    lockedBuffer
}

// newIndexedServer starts a server with an empty database and an empty vocabulary file.
func newIndexedServer(t *testing.T) *indexedServer {
	dir := t.TempDir()
	cfg := testConfig(t, func(cfg *config.Config) {
		cfg.Database.URL, cfg.Search.URL = "sqlite:"+filepath.Join(dir, "locum.db"), "embedded:"+filepath.Join(dir, "search")
		cfg.Search.Vocabulary = filepath.Join(dir, "vocabulary.txt")
	})
	require.NoError(t, os.WriteFile(cfg.Search.Vocabulary, nil, 0o600))

	s := &indexedServer{config: cfg}
	s.start(t)

	return s
}

// start starts the server, also again after a stop.
func (s *indexedServer) start(t *testing.T) {
	t.Helper()

	s.app = newApp(t.Context(), s.config, newRegistry(nil), role{name: "serve", serves: true}, newLogger(&s.log, "info"))
	t.Cleanup(func() { require.NoError(t, s.Stop(context.Background())) })
	require.NoError(t, s.Start(t.Context()))
}

// lockedBuffer is a buffer for concurrent use.
type lockedBuffer struct {
	mu     sync.Mutex
	buffer bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.String()
}

// folder returns the folder of the setting search.url, which has a numbered folder for each
// index.
func (s *indexedServer) folder() string { return s.config.Search.URL[len("embedded:"):] }

// folders returns the names of the folders of indexes.
func (s *indexedServer) folders(t *testing.T) (names []string) {
	t.Helper()

	entries, err := os.ReadDir(s.folder())
	require.NoError(t, err)

	for _, e := range entries {
		names = append(names, e.Name())
	}

	return names
}

// create stores an open listing with the title.
func (s *indexedServer) create(t *testing.T, title string) {
	t.Helper()

	now := time.Now().UTC()
	require.NoError(t, s.storage.Identity.Tx.Do(t.Context(), func(ctx context.Context) error {
		return s.storage.Listings.Listings.Create(ctx, []listings.Listing{{
			ID:             newID(),
			OrganizationID: newID(),
			Version:        1,
			Status:         listings.Active,
			Open:           true,
			PostedAt:       &now,
			CreatedAt:      now,
			UpdatedAt:      now,
			Content:        listings.Content{Title: title, Description: "Days and nights."},
		}})
	}))
}

// titles returns the titles of the results of a search.
func (s *indexedServer) titles(t *testing.T, query string) []string {
	t.Helper()

	r, err := http.Get("http://" + s.addr.String() + "/api/listings?relaxed=false&search=" + query)

	require.NoError(t, err)
	defer func() { require.NoError(t, r.Body.Close()) }()
	var body struct {
		Data struct{ Listings []struct{ Title string } }
	}
	require.NoError(t, json.NewDecoder(r.Body).Decode(&body))

	titles := []string{}
	for _, l := range body.Data.Listings {
		titles = append(titles, l.Title)
	}

	return titles
}

// TestEngine_Restart_OpensTheSameIndex checks that a restart does not build a new index, which
// takes minutes with many listings: it would be in folder 2.
func TestEngine_Restart_OpensTheSameIndex(t *testing.T) {
	t.Parallel()

	server := newIndexedServer(t)
	server.create(t, "Midwife")
	require.Equal(t, []string{"Midwife"}, server.titles(t, "midwife"))
	require.NoError(t, server.Stop(t.Context()))
	server.start(t)
	require.Equal(t, []string{"Midwife"}, server.titles(t, "midwife"))
	require.Equal(t, []string{"1"}, server.folders(t))
}

// TestEngine_DamagedIndex_BuiltAnew checks that an index with truncated files, as after a power
// failure, is replaced at the start without an action of the operator.
func TestEngine_DamagedIndex_BuiltAnew(t *testing.T) {
	t.Parallel()

	server := newIndexedServer(t)
	server.create(t, "Midwife")
	require.Equal(t, []string{"Midwife"}, server.titles(t, "midwife"))
	require.NoError(t, server.Stop(t.Context()))

	segments, err := filepath.Glob(filepath.Join(server.folder(), "1", "*.segment"))
	require.NoError(t, err)
	require.NotEmpty(t, segments)

	for _, name := range segments {
		require.NoError(t, os.Truncate(name, 10))
	}

	server.start(t)
	require.Equal(t, []string{"Midwife"}, server.titles(t, "midwife"))
}

// TestEngine_FeedRestarts_BuildsBesideThePresentIndex checks that the present index answers
// searches until the new one, in folder 2, is complete.
func TestEngine_FeedRestarts_BuildsBesideThePresentIndex(t *testing.T) {
	t.Parallel()

	server := newIndexedServer(t)
	server.create(t, "Midwife")
	require.Equal(t, []string{"Midwife"}, server.titles(t, "midwife"))
	require.NoError(t, server.storage.Listings.Feed.Reset(t.Context()))
	require.Eventually(t, func() bool {
		require.Equal(t, []string{"Midwife"}, server.titles(t, "midwife"))
		return slices.Equal(server.folders(t), []string{"2"})
	}, 30*time.Second, 10*time.Millisecond)
}

// TestEngine_VocabularyChanges_TakesEffect checks that a change of the vocabulary file takes
// effect without a restart. The line makes "babycatcher" another word for midwife.
func TestEngine_VocabularyChanges_TakesEffect(t *testing.T) {
	t.Parallel()

	server := newIndexedServer(t)
	server.create(t, "Midwife")
	require.Empty(t, server.titles(t, "babycatcher"))
	require.NoError(t, os.WriteFile(server.config.Search.Vocabulary, []byte("role babycatcher =midwife : babycatcher\n"), 0o600))
	require.Eventually(t,
		func() bool { return slices.Equal(server.titles(t, "babycatcher"), []string{"Midwife"}) },
		30*time.Second, 20*time.Millisecond)
}

// TestEngine_InvalidVocabulary_PreviousOneStays checks that a mistake in the vocabulary file
// does not affect searches, that the log names the file and the line if the mistake is in one,
// and that a corrected file takes effect. The keys are the positions in the log lines.
func TestEngine_InvalidVocabulary_PreviousOneStays(t *testing.T) {
	t.Parallel()

	server := newIndexedServer(t)
	server.create(t, "Midwife")

	for problem, text := range map[string]string{":1: ": "role babycatcher =nobody : babycatcher\n", ":3: ": "\n\nnonsense\n"} {
		require.NoError(t, os.WriteFile(server.config.Search.Vocabulary, []byte(text), 0o600))
		require.Eventually(t, func() bool {
			return strings.Contains(server.log.String(), "vocabulary file is not valid; the previous one stays in use") &&
				strings.Contains(server.log.String(), server.config.Search.Vocabulary+problem)
		}, 30*time.Second, 20*time.Millisecond)
		require.Equal(t, []string{"Midwife"}, server.titles(t, "midwife"))
	}

	require.NoError(t, os.WriteFile(server.config.Search.Vocabulary, []byte("role babycatcher =midwife : babycatcher\n"), 0o600))
	require.Eventually(t,
		func() bool { return slices.Equal(server.titles(t, "babycatcher"), []string{"Midwife"}) },
		30*time.Second, 20*time.Millisecond)
}

// TestEngine_UsedFolder_RefusedAtTheStart checks that two processes never write the same index.
func TestEngine_UsedFolder_RefusedAtTheStart(t *testing.T) {
	t.Parallel()

	s := newIndexedServer(t)
	cfg := testConfig(t, func(cfg *config.Config) { cfg.Search.URL = s.config.Search.URL })
	_, err := startApp(t, cfg, role{name: "serve", serves: true})
	require.ErrorContains(t, err, "search.url (from default): search index is used by another process")
}

// TestEngine_SearchSavedWithoutIndex_IsResolved checks that the spelling of a search that was
// saved by a process without an index is corrected later by a process with one: "midwfie" would
// match no listing.
func TestEngine_SearchSavedWithoutIndex_IsResolved(t *testing.T) {
	t.Parallel()

	server := newIndexedServer(t)
	saved := jobseeker.Search{ID: newID(), UserID: newID(), Terms: jobseeker.Terms{Query: "midwfie"}, CreatedAt: time.Now()}
	require.NoError(t, server.storage.Jobseeker.Searches.Replace(t.Context(), saved.UserID, []jobseeker.Search{saved}))
	require.NoError(t, server.Stop(t.Context()))
	server.start(t)
	require.Eventually(t, func() bool {
		got, err := server.storage.Jobseeker.Searches.ListByUser(t.Context(), saved.UserID, 1)
		return err == nil && strings.TrimSpace(got[0].Resolved) == "midwife"
	}, 30*time.Second, 20*time.Millisecond)
}
