package pages

import (
	"html/template"
	"slices"
	"strings"
)

// Page is the data with which the template of a page is executed. Its methods are called by the
// layout, which is the same for all pages: the navigation, the footer and the CSRF token of forms.
type Page struct {
	// Viewer is the signed-in user. It is nil for guests.
	Viewer *Viewer
	// Path is the path of the page.
	Path  string
	Brand Brand
	// Notice is a message about the form that led to this page. It may be empty.
	Notice string
	// View is the data of this page.
	View any

	// session is the secret of the browser session, from which CSRF derives its token. It is
	// empty without a session.
	session string
	// hasSite reports whether the site for clinicians and employers is served. Without it, the
	// service has only pages of jobs and for developers.
	hasSite bool
	// navs maps the path of the first page of each part of the site, such as /account, to the
	// navigation of the part.
	navs map[string]SubNav
}

// HomePath returns the path to which the name of the service links.
func (p Page) HomePath() string {
	if p.hasSite {
		return "/"
	}

	return developersPath
}

// Nav returns the links of the main navigation.
func (p Page) Nav() []Link {
	isGuest := p.Viewer == nil
	switch {
	case !p.hasSite:
		return p.navWithoutSite()
	case isGuest:
		return p.guestNav()
	}

	actor := p.Viewer.Actor()

	links := []Link{{"/jobs", "Find jobs"}}
	if actor.Seeker { // a clinician
		links = append(links, Link{"/account", "My account"})
	}

	// A clinician can be a member of an organization as well.
	if isEmployer := !actor.Seeker || actor.OrganizationID != ""; isEmployer {
		links = append(links, Link{"/employer", "Employer console"})
	}

	if actor.Moderator {
		links = append(links, Link{"/moderation", "Moderation"})
	}

	return links
}

// navWithoutSite returns the main navigation of a service that serves only APIs, pages of jobs and
// pages for developers.
func (p Page) navWithoutSite() []Link {
	if p.Viewer == nil {
		return []Link{{"/docs", "API reference"}, {"/docs/guides", "Guides"}, {signInPath(p.Path), "Sign in"}}
	}

	return []Link{{developersPath, "Developers"}, {"/docs", "API reference"}, {"/docs/guides", "Guides"}}
}

// guestNav returns the main navigation of the site for guests.
func (p Page) guestNav() []Link {
	links := []Link{{"/jobs", "Find jobs"}, {"/employer", "For employers"}}

	// The pages for sign-in and registration link to each other themselves, and keep the
	// address to which the user is redirected afterwards. Developers have their own two pages.
	isSignInPage := p.Path == signInPath(p.Path) || p.Path == registerPath(p.Path)
	if isSignInPage {
		return links
	}

	return append(links, Link{signInPath(p.Path), "Sign in"}, Link{registerPath(p.Path), "Register"})
}

// SubNav is the navigation of a part of the site, in a second row below the main navigation. Its first
// link leads to the first page of the part.
type SubNav struct {
	Name  string
	Links []Link
	// LinksFor returns the links for the viewer. If it is set, Links is not used.
	LinksFor func(viewer *Viewer) []Link
}

// developerNav is the navigation of the pages for developers.
var developerNav = SubNav{
	Name: "Developers",
	Links: []Link{
		{developersPath, "Applications"},
		{"/developers/consents", "What you allow"},
		{"/docs/developer", "Developer API"},
		{"/docs/guides", "Guides"},
	},
}

// CurrentSubNav returns the navigation of the part of the site that the page belongs to. It is nil
// for guests, for pages that belong to no part, and for a part without links for the viewer.
func (p Page) CurrentSubNav() *SubNav {
	if p.Viewer == nil {
		return nil
	}

	for path, nav := range p.navs {
		isInPart := p.Path == path || strings.HasPrefix(p.Path, path+"/")
		if !isInPart {
			continue
		}

		if nav.LinksFor != nil {
			nav.Links = nav.LinksFor(p.Viewer)
		}

		if len(nav.Links) == 0 {
			return nil
		}

		return &nav
	}

	return nil
}

// FooterLinks returns the links of the footer: first the links of the brand, then the built-in links.
// A link of the brand with the text Help or Privacy replaces the link to the built-in page.
func (p Page) FooterLinks() []Link {
	links := slices.Clone(p.Brand.Links)
	for _, builtIn := range []Link{{"/help", "Help"}, {"/privacy", "Privacy"}} {
		isReplaced := slices.ContainsFunc(links, func(l Link) bool { return strings.EqualFold(l.Text, builtIn.Text) })
		if p.hasSite && !isReplaced {
			links = append(links, builtIn)
		}
	}

	return append(links, []Link{
		{developersPath, "Developers"},
		{"/docs/guides", "Guides"},
		{"/docs/developer", "Developer API"},
		{"/docs", "API reference"},
	}...)
}

// RemindsToConfirmEmail reports whether the page reminds the viewer to confirm the e-mail address.
// Pages of an account and of the employer console do so until the address is confirmed.
func (p Page) RemindsToConfirmEmail() bool {
	isInAccount := strings.HasPrefix(p.Path+"/", "/account/")
	isInConsole := strings.HasPrefix(p.Path+"/", "/employer/")

	return (isInAccount || isInConsole) && p.Viewer != nil && p.Viewer.User.EmailVerifiedAt.IsZero()
}

// CSRF returns the hidden field that protects a form against cross-site request forgery: a
// token that is derived from the session. It is empty without a session.
func (p Page) CSRF() template.HTML {
	if p.session == "" {
		return ""
	}

	return template.HTML(`<input type="hidden" name="csrf" value="` + csrfToken(p.session) + `">`) //nolint:gosec // hexadecimal digits
}

// AriaCurrent returns the attribute aria-current for a link to the path. Screen readers and the style
// sheet mark the link of the current page by this attribute. The value is "page" if the link leads to
// this page, and "true" if it leads to a page above this page. The link to the first page of a part,
// such as /account, is marked only on that page, because the pages below it have their own links.
func (p Page) AriaCurrent(path string) template.HTMLAttr {
	_, isFirstOfPart := p.navs[path]
	switch {
	case p.Path == path:
		return `aria-current="page"`
	case strings.HasPrefix(p.Path, path+"/") && !isFirstOfPart:
		return `aria-current="true"`
	}

	return ""
}

// Brand is the name and the appearance of the service on pages, which its operator configures. All
// fields but Name may be empty.
type Brand struct {
	Name string
	// Logo is the image that is shown in place of the name.
	Logo []byte
	// LogoType is the media type of Logo.
	LogoType string
	// Colour is the main colour in light mode, such as #0b5f66.
	Colour string
	// Contact is an e-mail address for questions.
	Contact string
	// Links are added to the footer of each page.
	Links []Link
}

// Link is a link to a page. Path is a path on this host, or a URL.
type Link struct{ Path, Text string }
