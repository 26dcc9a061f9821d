package pages

import (
	"html/template"
	"slices"
	"strings"
)

// Page is the data with which the template of a page is executed.
type Page struct {
	// Viewer is the signed-in user, nil for none.
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
	// hasSite reports whether the site for clinicians and employers is enabled.
	hasSite bool
	// navs maps the path of each part of the site to the navigation of the part.
	navs map[string]SubNav
}

// HomePath returns the path to which the name of the service links.
func (p Page) HomePath() string {
	if p.hasSite {
		return "/"
	}

	return developersPath
}

// Nav returns the main navigation.
func (p Page) Nav() []Link {
	// There are pages for sign-in and registration of the site, and others for developers.
	isSignIn := p.Path == signInPath(p.Path) || p.Path == registerPath(p.Path)
	switch {
	case !p.hasSite && p.Viewer == nil:
		return []Link{{"/docs", "API reference"}, {"/docs/guides", "Guides"}, {signInPath(p.Path), "Sign in"}}
	case !p.hasSite:
		return []Link{{developersPath, "Developers"}, {"/docs", "API reference"}, {"/docs/guides", "Guides"}}
	case p.Viewer == nil && isSignIn:
		// The pages for sign-in and registration link to each other themselves, and keep the
		// address to which the user is redirected afterwards.
		return []Link{{"/jobs", "Find jobs"}, {"/employer", "For employers"}}
	case p.Viewer == nil:
		return []Link{
			{"/jobs", "Find jobs"},
			{"/employer", "For employers"},
			{signInPath(p.Path), "Sign in"},
			{registerPath(p.Path), "Register"},
		}
	}

	actor := p.Viewer.Actor()

	links := []Link{{"/jobs", "Find jobs"}}
	if actor.Seeker {
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

// SubNav is the navigation of a part of the site, in a second row below the main navigation.
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

// CurrentSubNav returns the navigation of the part that the page belongs to, nil for none.
func (p Page) CurrentSubNav() *SubNav {
	for path, nav := range p.navs {
		if p.Viewer != nil && (p.Path == path || strings.HasPrefix(p.Path, path+"/")) {
			if nav.LinksFor != nil {
				nav.Links = nav.LinksFor(p.Viewer)
			}

			if len(nav.Links) == 0 {
				return nil
			}

			return &nav
		}
	}

	return nil
}

// FooterLinks returns the links of the footer. A link of the brand with the text Help or Privacy
// replaces the link to the built-in page.
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
// Pages of an account and of the employer's console do.
func (p Page) RemindsToConfirmEmail() bool {
	isOwn := strings.HasPrefix(p.Path+"/", "/account/") || strings.HasPrefix(p.Path+"/", "/employer/")
	return isOwn && p.Viewer != nil && p.Viewer.User.EmailVerifiedAt.IsZero()
}

// CSRF returns the hidden field that protects a form against cross-site request forgery: a
// token that is derived from the session. It is empty without a session.
func (p Page) CSRF() template.HTML {
	if p.session == "" {
		return ""
	}

	return template.HTML(`<input type="hidden" name="csrf" value="` + csrfToken(p.session) + `">`) //nolint:gosec // hexadecimal digits
}

// AriaCurrent returns the attribute aria-current for a link to the path: "page" on this page,
// "true" on pages below it. The first link of a SubNav, such as /account, is not marked on
// pages below it, because these have their own links.
func (p Page) AriaCurrent(path string) template.HTMLAttr {
	_, isFirst := p.navs[path] // the first link of a SubNav is its key in navs
	switch {
	case p.Path == path:
		return `aria-current="page"`
	case strings.HasPrefix(p.Path, path+"/") && !isFirst:
		return `aria-current="true"`
	}

	return ""
}

// Brand is the name and the appearance of the service on pages. All fields but Name may be
// empty.
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

// Link is a link to a page.
type Link struct{ Path, Text string }
