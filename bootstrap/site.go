package bootstrap

import (
	"fmt"
	"mime"
	"os"
	"path/filepath"

	"github.com/locumhq/locum/adapters/fiberhttp/pages"
	"github.com/locumhq/locum/config"
)

// brandOf returns the name and the look of the service on pages.
func brandOf(s config.Site) (pages.Brand, error) {
	b := pages.Brand{Name: s.Name, Colour: s.Colour, Contact: s.Contact}

	links, err := s.FooterLinks()
	if err != nil {
		return b, err
	}

	for _, l := range links {
		b.Links = append(b.Links, pages.Link{Path: l.Address, Text: l.Text})
	}

	if s.Logo == "" {
		return b, nil
	}

	if b.Logo, err = os.ReadFile(s.Logo); err != nil {
		return b, fmt.Errorf("site.logo: %w", err)
	}

	b.LogoType = mime.TypeByExtension(filepath.Ext(s.Logo))

	return b, nil
}
