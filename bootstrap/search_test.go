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

// defaults is a configuration without settings, so that the defaults apply.
const defaults = ""

// runCommand returns the output of a command of locum with the configuration, which is the text of locum.yaml.
func runCommand(t *testing.T, configuration string, args ...string) (string, error) {
	t.Helper()

	file := filepath.Join(t.TempDir(), "locum.yaml")
	require.NoError(t, os.WriteFile(file, []byte(configuration), 0o600))
	var out bytes.Buffer
	locum := command(newRegistry(nil))
	locum.SetArgs(append([]string{"--config", file}, args...))
	locum.SetOut(&out)
	locum.SetErr(&out)

	err := locum.ExecuteContext(t.Context())

	return out.String(), err
}

// TestSearchRebuild_EndsThePositionsOfIndexes checks that the command makes the position of
// every index invalid, upon which servers build new ones.
func TestSearchRebuild_EndsThePositionsOfIndexes(t *testing.T) {
	t.Parallel()

	cfg := testConfig(t, nil)
	configuration := "database:\n  url: " + cfg.Database.URL + "\n"

	// A database without a schema is refused.
	_, err := runCommand(t, configuration, "search", "rebuild")
	require.ErrorContains(t, err, "database.url")

	// Read the position that an index would have now, and run the command.
	migrate(t, cfg)

	store, err := openStorage(t.Context(), cfg, newRegistry(nil), newDeps(cfg, newLogger(&bytes.Buffer{}, "error")))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Identity.Close()) })

	position, err := store.Listings.Feed.ReadOpen(t.Context(), func(*listings.Listing) error { return nil })
	require.NoError(t, err)

	out, err := runCommand(t, configuration, "search", "rebuild")
	require.NoError(t, err)
	require.Equal(t, "Running servers build a new search index now, others when they start.\n", out)

	const maxChanges = 10

	_, err = store.Listings.Feed.ListSince(t.Context(), position, maxChanges)
	require.ErrorIs(t, err, listings.ErrFeedPosition)
}

// TestSearchExplain_PrintsSlotsAndCorrections checks the table in which the command prints how
// queries are understood. Each line has a slot (a kind of criterion, such as the role or the place),
// its value and the text of the query. The query has a misspelt word, "nusre".
func TestSearchExplain_PrintsSlotsAndCorrections(t *testing.T) {
	t.Parallel()

	out, err := runCommand(t, defaults, "search", "explain", "band 5 icu nusre", "nights near Leeds -agency")
	require.NoError(t, err)

	for _, want := range []string{
		`^SLOT +VALUE +TEXT\n`, `\ngrade +Band 5 +band 5\n`, `\nspecialty +Intensive care .*icu`, `\nrole +Nurse .*nusre\n`,
		`\nplace +Leeds.* +near Leeds\n`, `\nnot .*agency\n`, `\ncorrection +nurse +nusre\n`,
	} {
		require.Regexp(t, want, out, want)
	}

	// A symbol can be a word of a query. A hyphen alone is none.
	_, err = runCommand(t, defaults, "search", "explain", "&")
	require.NoError(t, err)

	_, err = runCommand(t, defaults, "search", "explain", "--", "-")
	require.EqualError(t, err, "the query has no words")
}

// TestSearchExplain_UsesTheConfiguredVocabulary checks that the command explains queries as the
// server with these settings would understand them.
func TestSearchExplain_UsesTheConfiguredVocabulary(t *testing.T) {
	t.Parallel()

	file := vocabularyIn(t, babycatcher)
	out, err := runCommand(t, "search:\n  vocabulary: "+file+"\n", "search", "explain", "babycatcher")
	require.NoError(t, err)
	require.Regexp(t, `role +Midwife +babycatcher`, out)

	// A file that does not exist is an error of the configuration.
	_, err = runCommand(t, "search:\n  vocabulary: "+file+".missing\n", "search", "explain", "babycatcher")
	require.ErrorContains(t, err, "search.vocabulary")
}

// TestSearchLint checks the command that checks the built-in vocabulary or a file, and names the
// line of a problem.
func TestSearchLint(t *testing.T) {
	t.Parallel()

	// The built-in vocabulary, which has a version, and a file without problems.
	out, err := runCommand(t, defaults, "search", "lint")
	require.NoError(t, err)
	require.Regexp(t, `^vocabulary [0-9a-f]{12}: \d+ concepts, \d+ forms, no problems\n$`, out)

	out, err = runCommand(t, defaults, "search", "lint", vocabularyIn(t, babycatcher))
	require.NoError(t, err)
	require.Contains(t, out, "no problems")

	// A file whose second line is invalid.
	file := vocabularyIn(t, "role babycatcher =nobody : babycatcher\nnonsense\n")
	out, err = runCommand(t, defaults, "search", "lint", file)
	require.ErrorContains(t, err, file+":2: ")
	require.Empty(t, out)

	// A file that does not exist, and more than one file.
	_, err = runCommand(t, defaults, "search", "lint", file+".missing")
	require.ErrorContains(t, err, "no such file")

	_, err = runCommand(t, defaults, "search", "lint", "a", "b")
	require.Error(t, err)
}

// babycatcher is a vocabulary in which the word babycatcher means the built-in concept midwife.
const babycatcher = "role babycatcher =midwife : babycatcher\n"

// vocabularyIn writes the text to a new vocabulary file and returns its path.
func vocabularyIn(t *testing.T, text string) (file string) {
	t.Helper()

	file = filepath.Join(t.TempDir(), "vocabulary.txt")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))

	return file
}

// TestVocabularyFile_ProblemsNameTheLine checks that the error of an invalid vocabulary has the path of the file and
// the number of the line.
func TestVocabularyFile_ProblemsNameTheLine(t *testing.T) {
	t.Parallel()

	for text, wantAfterPath := range map[string]string{
		"nonsense\n":                      ":1: a line must begin with role",
		"\nrole x <nothing-there : x y\n": ":2: ", // a concept above x that does not exist
	} {
		file := vocabularyFile(vocabularyIn(t, text))
		_, _, err := file.load()
		require.ErrorContains(t, err, string(file)+wantAfterPath, strings.TrimSpace(text))
	}
}
