package mail

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// brandedMailer keeps the last message, and has templates of its own.
type brandedMailer struct {
	templates *Templates
	sent      Message
}

func (m *brandedMailer) Templates() *Templates { return m.templates }

func (m *brandedMailer) Send(_ context.Context, message Message) error {
	m.sent = message
	return nil
}

// TestTemplates_Folder_ReplacesTheDefaults checks that an operator can replace one of the two templates. The
// brand is escaped in the HTML part only.
func TestTemplates_Folder_ReplacesTheDefaults(t *testing.T) {
	t.Parallel()

	// A folder with a template for the text part, and without one for the HTML part.
	folder := t.TempDir()
	textTemplate := "{{range .Body}}{{line .Text}}{{end}} – {{.Brand}}"
	require.NoError(t, os.WriteFile(filepath.Join(folder, "letter.txt"), []byte(textTemplate), 0o600))

	templates, err := ReadTemplates(folder, "St Brigid’s <Jobs>")
	require.NoError(t, err)

	mailer := &brandedMailer{templates: templates}
	letter := Letter{Body: []Block{{Text: "There is\nnews."}}, Home: "https://jobs.example.org"}
	require.NoError(t, Deliver(t.Context(), mailer, letter))
	require.Equal(t, "There is news. – St Brigid’s <Jobs>", mailer.sent.Text)
	require.Contains(t, mailer.sent.HTML, `<a href="https://jobs.example.org">St Brigid’s &lt;Jobs&gt;</a>`,
		"the default for the file that is missing")
}

// TestTemplates_Brand_IsShown checks that the name of the operator's service replaces the project's name
// everywhere.
func TestTemplates_Brand_IsShown(t *testing.T) {
	t.Parallel()

	mailer := &brandedMailer{templates: NewTemplates("Ward Jobs")}
	require.NoError(t, Deliver(t.Context(), mailer, Letter{Home: "https://jobs.example.org"}))
	require.Contains(t, mailer.sent.Text, "Ward Jobs\nhttps://jobs.example.org")
	require.NotContains(t, mailer.sent.Text+mailer.sent.HTML, "locum")
}

// TestTemplates_Invalid_AreRefused checks that mistakes in a template are errors at the start and not of the
// first e-mail.
func TestTemplates_Invalid_AreRefused(t *testing.T) {
	t.Parallel()

	for name, text := range map[string]string{
		"syntax":           "{{range}",
		"unknown field":    "{{.Sender}}",
		"unknown function": "{{shout .Subject}}",
	} {
		folder := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(folder, "letter.html"), []byte(text), 0o600))

		_, err := ReadTemplates(folder, "locum")
		require.Error(t, err, name)
	}

	missingFolder := filepath.Join(t.TempDir(), "missing")
	_, err := ReadTemplates(missingFolder, "locum")
	require.ErrorContains(t, err, missingFolder)
}
