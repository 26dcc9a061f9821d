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
		cfg.Database.URL = "sqlite:" + filepath.Join(dir, "locum.db")
		cfg.Search.URL = "embedded:" + filepath.Join(dir, "search")
		cfg.Search.Vocabulary = filepath.Join(dir, "vocabulary.txt")
	})

	server := &indexedServer{config: cfg}
	server.writeVocabulary(t, "")
	server.start(t)

	return server
}

// writeVocabulary replaces the text of the vocabulary file.
func (s *indexedServer) writeVocabulary(t *testing.T, text string) {
	t.Helper()

	const onlyThisUser = 0o600

	require.NoError(t, os.WriteFile(s.config.Search.Vocabulary, []byte(text), onlyThisUser))
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

	for _, entry := range entries {
		names = append(names, entry.Name())
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

	response, err := http.Get("http://" + s.addr.String() + "/api/listings?relaxed=false&search=" + query)
	require.NoError(t, err)

	defer func() { require.NoError(t, response.Body.Close()) }()

	var body struct {
		Data struct{ Listings []struct{ Title string } }
	}
	require.NoError(t, json.NewDecoder(response.Body).Decode(&body))

	titles := []string{}
	for _, listing := range body.Data.Listings {
		titles = append(titles, listing.Title)
	}

	return titles
}

// waitForTitles waits until a search has these titles as its results.
func (s *indexedServer) waitForTitles(t *testing.T, query string, want ...string) {
	t.Helper()

	hasTitles := func() bool { return slices.Equal(s.titles(t, query), want) }
	require.Eventually(t, hasTitles, 30*time.Second, 20*time.Millisecond)
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

	// Truncate the files of the index, which is in folder 1.
	segments, err := filepath.Glob(filepath.Join(server.folder(), "1", "*.segment"))
	require.NoError(t, err)
	require.NotEmpty(t, segments)

	const bytesLeft = 10

	for _, name := range segments {
		require.NoError(t, os.Truncate(name, bytesLeft))
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

	// A reset of the feed of changes makes the index invalid.
	require.NoError(t, server.storage.Listings.Feed.Reset(t.Context()))

	isReplaced := func() bool {
		require.Equal(t, []string{"Midwife"}, server.titles(t, "midwife"), "searches succeed meanwhile")
		return slices.Equal(server.folders(t), []string{"2"})
	}
	require.Eventually(t, isReplaced, 30*time.Second, 10*time.Millisecond)
}

// TestEngine_VocabularyChanges_TakesEffect checks that a change of the vocabulary file takes
// effect without a restart. The line makes "babycatcher" another word for midwife.
func TestEngine_VocabularyChanges_TakesEffect(t *testing.T) {
	t.Parallel()

	server := newIndexedServer(t)
	server.create(t, "Midwife")
	require.Empty(t, server.titles(t, "babycatcher"))

	server.writeVocabulary(t, babycatcher)
	server.waitForTitles(t, "babycatcher", "Midwife")
}

// TestEngine_InvalidVocabulary_PreviousOneStays checks that a mistake in the vocabulary file
// does not affect searches, that the log names the file and the line of the mistake, and that a
// corrected file takes effect.
func TestEngine_InvalidVocabulary_PreviousOneStays(t *testing.T) {
	t.Parallel()

	server := newIndexedServer(t)
	server.create(t, "Midwife")

	for invalid, position := range map[string]string{
		"role babycatcher =nobody : babycatcher\n": ":1: ", // an unknown concept in the first line
		"\n\nnonsense\n": ":3: ",
	} {
		server.writeVocabulary(t, invalid)

		isLogged := func() bool {
			log := server.log.String()
			hasMessage := strings.Contains(log, "vocabulary file is not valid; the previous one stays in use")
			hasPosition := strings.Contains(log, server.config.Search.Vocabulary+position)

			return hasMessage && hasPosition
		}
		require.Eventually(t, isLogged, 30*time.Second, 20*time.Millisecond, position)
		require.Equal(t, []string{"Midwife"}, server.titles(t, "midwife"), position)
	}

	server.writeVocabulary(t, babycatcher)
	server.waitForTitles(t, "babycatcher", "Midwife")
}

// TestEngine_UsedFolder_RefusedAtTheStart checks that two processes never write the same index.
func TestEngine_UsedFolder_RefusedAtTheStart(t *testing.T) {
	t.Parallel()

	server := newIndexedServer(t)
	cfg := testConfig(t, func(cfg *config.Config) { cfg.Search.URL = server.config.Search.URL })
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

	// The server corrects the search after its start.
	require.NoError(t, server.Stop(t.Context()))
	server.start(t)

	isCorrected := func() bool {
		const limit = 1

		stored, err := server.storage.Jobseeker.Searches.ListByUser(t.Context(), saved.UserID, limit)

		return err == nil && strings.TrimSpace(stored[0].Resolved) == "midwife"
	}
	require.Eventually(t, isCorrected, 30*time.Second, 20*time.Millisecond)
}
