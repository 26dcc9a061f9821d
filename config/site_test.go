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

	const valid = "" // instead of the key of an invalid setting

	logo := filepath.Join(t.TempDir(), "logo.png")
	require.NoError(t, os.WriteFile(logo, []byte("PNG"), 0o600))

	for name, test := range map[string]struct {
		change     func(s *Site) // changes one of the default settings, which are valid
		invalidKey string        // the key that the error has to name, or valid
	}{
		"default":           {change: func(*Site) {}, invalidKey: valid},
		"blank name":        {change: func(s *Site) { s.Name = " " }, invalidKey: "site.name"},
		"no colour":         {change: func(s *Site) { s.Colour = "teal" }, invalidKey: "site.colour"},
		"light colour":      {change: func(s *Site) { s.Colour = "#90c0ff" }, invalidKey: "site.colour"},
		"dark colour":       {change: func(s *Site) { s.Colour = "#00437b" }, invalidKey: valid},
		"contact":           {change: func(s *Site) { s.Contact = "desk" }, invalidKey: "site.contact"},
		"logo":              {change: func(s *Site) { s.Logo = logo }, invalidKey: valid},
		"missing logo":      {change: func(s *Site) { s.Logo = logo + ".gif" }, invalidKey: "site.logo"},
		"link":              {change: func(s *Site) { s.Links = []string{"Privacy=https://example.org/privacy"} }, invalidKey: valid},
		"link without text": {change: func(s *Site) { s.Links = []string{"=https://example.org"} }, invalidKey: "site.links"},
		"script as link":    {change: func(s *Site) { s.Links = []string{"Privacy=javascript:alert(1)"} }, invalidKey: "site.links"},
		"origin of frames":  {change: func(s *Site) { s.EmbedOrigins = []string{"https://www.example.org", "*"} }, invalidKey: valid},
		"frames with path": {
			change:     func(s *Site) { s.EmbedOrigins = []string{"https://www.example.org/jobs"} },
			invalidKey: "site.embed_origins",
		},
		"frames, directive": {
			change:     func(s *Site) { s.EmbedOrigins = []string{"https://a;script-src *"} },
			invalidKey: "site.embed_origins",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			configuration := Default()
			test.change(&configuration.Site)

			err := configuration.validate()
			if test.invalidKey == valid {
				require.NoError(t, err)
				return
			}

			require.ErrorContains(t, err, test.invalidKey)
		})
	}
}
