package config

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSite_Invalid_NamesTheSetting checks the settings of the site. A colour must have enough
// contrast with white text, links must not run scripts, and an origin must not be able to add a
// directive to the content security policy.
func TestSite_Invalid_NamesTheSetting(t *testing.T) {
	t.Parallel()

	logo := filepath.Join(t.TempDir(), "logo.png")
	require.NoError(t, os.WriteFile(logo, []byte("PNG"), 0o600))

	for name, c := range map[string]struct {
		change func(s *Site)
		key    string // empty for a valid setting
	}{
		"default":           {func(*Site) {}, ""},
		"blank name":        {func(s *Site) { s.Name = " " }, "site.name"},
		"no colour":         {func(s *Site) { s.Colour = "teal" }, "site.colour"},
		"light colour":      {func(s *Site) { s.Colour = "#90c0ff" }, "site.colour"},
		"dark colour":       {func(s *Site) { s.Colour = "#00437b" }, ""},
		"contact":           {func(s *Site) { s.Contact = "desk" }, "site.contact"},
		"logo":              {func(s *Site) { s.Logo = logo }, ""},
		"missing logo":      {func(s *Site) { s.Logo = logo + ".gif" }, "site.logo"},
		"link":              {func(s *Site) { s.Links = []string{"Privacy=https://example.org/privacy"} }, ""},
		"link without text": {func(s *Site) { s.Links = []string{"=https://example.org"} }, "site.links"},
		"origin of frames":  {func(s *Site) { s.EmbedOrigins = []string{"https://www.example.org", "*"} }, ""},
		"frames with path":  {func(s *Site) { s.EmbedOrigins = []string{"https://www.example.org/jobs"} }, "site.embed_origins"},
		"frames, directive": {func(s *Site) { s.EmbedOrigins = []string{"https://a;script-src *"} }, "site.embed_origins"},
		"script as link":    {func(s *Site) { s.Links = []string{"Privacy=javascript:alert(1)"} }, "site.links"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			configuration := Default()
			c.change(&configuration.Site)

			err := configuration.validate()
			if c.key == "" {
				require.NoError(t, err)
				return
			}

			require.ErrorContains(t, err, c.key)
		})
	}
}
