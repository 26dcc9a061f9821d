package config

import (
	"fmt"
	"math"
	"net/mail"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Site configures the web site for clinicians and employers.
type Site struct {
	// Enabled enables the site. Otherwise only pages of jobs and for developers are served.
	Enabled bool `mapstructure:"enabled"`
	// Name is the name of the service on pages and in e-mails.
	Name string `mapstructure:"name"`
	// Logo is an image file that is shown in place of the name: PNG, JPEG, WebP or SVG.
	Logo string `mapstructure:"logo"`
	// Colour is the main colour in light mode, such as #0b5f66.
	Colour string `mapstructure:"colour"`
	// Contact is an e-mail address for questions.
	Contact string `mapstructure:"contact"`
	// Links are added to the footer of each page. Each has the form TEXT=ADDRESS. Links with the
	// texts Help and Privacy replace those to the built-in pages.
	Links []string `mapstructure:"links"`
	// EmbedOrigins are the origins whose pages may show the jobs of an employer in a frame,
	// such as https://www.example.org, or * for all.
	EmbedOrigins []string `mapstructure:"embed_origins"`
}

// SiteLink is one of Site.Links.
type SiteLink struct{ Text, Address string }

const (
	maxSiteName = 60        // characters
	maxLogo     = 256 << 10 // bytes
	// minContrast is the contrast that WCAG 2.2 (1.4.3) requires for normal text. The
	// colour is used for links and behind white text.
	minContrast = 4.5
)

// logoTypes are the extensions of image files that browsers show.
var logoTypes = []string{".png", ".jpg", ".jpeg", ".webp", ".svg"}

// validateSite checks the name, the appearance and the links of the site.
func (c *Config) validateSite() error {
	site := c.Site
	if name := strings.TrimSpace(site.Name); name == "" || len([]rune(name)) > maxSiteName {
		return c.Err("site.name", fmt.Sprintf("want a name of 1 to %d characters", maxSiteName))
	}

	if site.Colour != "" {
		contrast, err := contrastWithWhite(site.Colour)
		if err != nil {
			return c.Err("site.colour", "want a colour such as #0b5f66")
		}

		if contrast < minContrast {
			return c.Err(
				"site.colour",
				fmt.Sprintf("want a darker colour: the contrast with white is %.1f and has to be at least %.1f", contrast, minContrast),
			)
		}
	}

	if site.Contact != "" {
		if _, err := mail.ParseAddress(site.Contact); err != nil {
			return c.Err("site.contact", "want an e-mail address")
		}
	}

	if site.Logo != "" {
		isImage := slices.Contains(logoTypes, strings.ToLower(filepath.Ext(site.Logo)))
		if info, err := os.Stat(site.Logo); err != nil || info.Size() > maxLogo || !isImage {
			return c.Err(
				"site.logo",
				fmt.Sprintf("want an image file of at most %d KiB that ends in %s", maxLogo>>10, strings.Join(logoTypes, ", ")),
			)
		}
	}

	for _, origin := range site.EmbedOrigins {
		if origin != "*" && !isOrigin(origin) {
			return c.Err("site.embed_origins", "want origins such as https://www.example.org, without a path, or *")
		}
	}

	if _, err := site.FooterLinks(); err != nil {
		return c.Err("site.links", err.Error())
	}

	return nil
}

// FooterLinks parses Links. The address of a link is an http or https URL, or a path of the site.
func (s Site) FooterLinks() ([]SiteLink, error) {
	var links []SiteLink
	for _, link := range s.Links {
		text, address, hasAddress := strings.Cut(link, "=")
		text, address = strings.TrimSpace(text), strings.TrimSpace(address)

		u, err := url.Parse(address)
		isWebURL := err == nil && (u.Scheme == "https" || u.Scheme == "http")
		isPathOfSite := err == nil && strings.HasPrefix(address, "/")

		if !hasAddress || text == "" || !isWebURL && !isPathOfSite {
			return nil, fmt.Errorf("want TEXT=ADDRESS, not %q", link)
		}

		links = append(links, SiteLink{Text: text, Address: address})
	}

	return links, nil
}

// hexColour matches a colour such as #0b5f66.
var hexColour = regexp.MustCompile(`^#[0-9a-fA-F]{6}$`)

// contrastWithWhite returns the contrast ratio of a colour with white (WCAG 2.2). The numbers are those
// of its definitions of contrast ratio and relative luminance, for red, green and blue in sRGB.
func contrastWithWhite(colour string) (float64, error) {
	if !hexColour.MatchString(colour) {
		return 0, fmt.Errorf("%q is not a colour", colour)
	}

	luminance := 0.0
	for i, weight := range []float64{.2126, .7152, .0722} {
		digits := colour[1+2*i : 3+2*i] // two for each of the three components, after the #

		n, err := strconv.ParseUint(digits, 16, 8)
		if err != nil {
			return 0, err
		}

		component := float64(n) / math.MaxUint8
		if component <= .04045 {
			component /= 12.92
		} else {
			component = math.Pow((component+.055)/1.055, 2.4)
		}

		luminance += weight * component
	}

	return 1.05 / (luminance + .05), nil
}
