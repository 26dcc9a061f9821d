package bootstrap

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/modules/listings"
)

// runCommand returns the output of a command with the configuration.
func runCommand(t *testing.T, configuration string, args ...string) (string, error) {
	t.Helper()

	file := filepath.Join(t.TempDir(), "locum.yaml")
	require.NoError(t, os.WriteFile(file, []byte(configuration), 0o600))
	var out bytes.Buffer
	c := command(newRegistry(nil))
	c.SetArgs(append([]string{"--config", file}, args...))
	c.SetOut(&out)
	c.SetErr(&out)

	err := c.ExecuteContext(t.Context())

	return out.String(), err
}

// TestSearchRebuild_EndsThePositionsOfIndexes checks that the command makes the position of
// every index invalid, upon which servers build new ones.
func TestSearchRebuild_EndsThePositionsOfIndexes(t *testing.T) {
	t.Parallel()

	cfg := testConfig(t, nil)
	configuration := "database:\n  url: " + cfg.Database.URL + "\n"
	_, err := runCommand(t, configuration, "search", "rebuild")
	require.ErrorContains(t, err, "database.url", "without a schema")
	migrate(t, cfg)

	store, err := openStorage(t.Context(), cfg, newRegistry(nil), newDeps(cfg, newLogger(&bytes.Buffer{}, "error")))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Identity.Close()) })

	position, err := store.Listings.Feed.ReadOpen(t.Context(), func(*listings.Listing) error { return nil })
	require.NoError(t, err)

	out, err := runCommand(t, configuration, "search", "rebuild")
	require.NoError(t, err)
	require.Equal(t, "Running servers build a new search index now, others when they start.\n", out)

	_, err = store.Listings.Feed.ListSince(t.Context(), position, 10)
	require.ErrorIs(t, err, listings.ErrFeedPosition)
}

// TestSearchExplain_PrintsSlotsAndCorrections checks the table in which the command prints how
// queries are understood: each line has a slot, its value and the text of the query.
func TestSearchExplain_PrintsSlotsAndCorrections(t *testing.T) {
	t.Parallel()

	out, err := runCommand(t, "", "search", "explain", "band 5 icu nusre", "nights near Leeds -agency")
	require.NoError(t, err)

	for _, want := range []string{
		`^SLOT +VALUE +TEXT\n`, `\ngrade +Band 5 +band 5\n`, `\nspecialty +Intensive care .*icu`, `\nrole +Nurse .*nusre\n`,
		`\nplace +Leeds.* +near Leeds\n`, `\nnot .*agency\n`, `\ncorrection +nurse +nusre\n`,
	} {
		require.Regexp(t, want, out)
	}

	// A symbol can be a word of a query. A hyphen alone is none.
	_, err = runCommand(t, "", "search", "explain", "&")
	require.NoError(t, err)

	_, err = runCommand(t, "", "search", "explain", "--", "-")
	require.EqualError(t, err, "the query has no words")
}

// TestSearchExplain_UsesTheConfiguredVocabulary checks that the command explains queries as the
// server with these settings would understand them.
func TestSearchExplain_UsesTheConfiguredVocabulary(t *testing.T) {
	t.Parallel()

	file := vocabularyIn(t, "role babycatcher =midwife : babycatcher\n")
	out, err := runCommand(t, "search:\n  vocabulary: "+file+"\n", "search", "explain", "babycatcher")
	require.NoError(t, err)
	require.Regexp(t, `role +Midwife +babycatcher`, out)

	_, err = runCommand(t, "search:\n  vocabulary: "+file+".missing\n", "search", "explain", "babycatcher")
	require.ErrorContains(t, err, "search.vocabulary")
}

// TestSearchLint checks the command that checks the built-in vocabulary or a file, and names the
// line of a problem.
func TestSearchLint(t *testing.T) {
	t.Parallel()

	out, err := runCommand(t, "", "search", "lint")
	require.NoError(t, err)
	require.Regexp(t, `^vocabulary [0-9a-f]{12}: \d+ concepts, \d+ forms, no problems\n$`, out)

	out, err = runCommand(t, "", "search", "lint", vocabularyIn(t, "role babycatcher =midwife : babycatcher\n"))
	require.NoError(t, err)
	require.Contains(t, out, "no problems")

	file := vocabularyIn(t, "role babycatcher =nobody : babycatcher\nnonsense\n")
	out, err = runCommand(t, "", "search", "lint", file)
	require.ErrorContains(t, err, file+":2: ")
	require.Empty(t, out)

	_, err = runCommand(t, "", "search", "lint", file+".missing")
	require.ErrorContains(t, err, "no such file")

	_, err = runCommand(t, "", "search", "lint", "a", "b")
	require.Error(t, err)
}

// vocabularyIn returns the path of a vocabulary file with the text.
func vocabularyIn(t *testing.T, text string) (file string) {
	t.Helper()

	file = filepath.Join(t.TempDir(), "vocabulary.txt")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))

	return file
}

func TestVocabularyFile_ProblemsNameTheLine(t *testing.T) {
	t.Parallel()

	for text, want := range map[string]string{
		"nonsense\n":                      ":1: a line must begin with role",
		"\nrole x <nothing-there : x y\n": ":2: ",
	} {
		file := vocabularyFile(vocabularyIn(t, text))
		_, _, err := file.load()
		require.ErrorContains(t, err, string(file)+want, strings.TrimSpace(text))
	}
}
