package site

import (
	"context"
	"slices"
	"strings"

	"github.com/locumhq/locum/adapters/fiberhttp/pages"
	"github.com/locumhq/locum/adapters/web"
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/modules/identity"
)

// signInSettings is the data of html/settings-parts.html: the sections that the settings of
// clinicians and of employers share.
type signInSettings struct {
	Form *pages.Form
	// SettingsPath is the path of the page. Each form is sent to a path below it, which ends with the name of a section,
	// such as "email".
	SettingsPath string
	// Confirmed is set if the user signed in recently. Otherwise sensitive sections ask for the current password.
	Confirmed bool
	// SignInAddress is the e-mail address of the account. NewAddress is an address that the user has requested and not
	// confirmed yet, empty for none.
	SignInAddress, NewAddress string
	HasTwoStep                bool
	Devices                   []device
}

// confirmation is the field for the current password in a section of the settings. Error is empty if the field has no
// error.
type confirmation struct {
	ID, Error string
	IsNeeded  bool
}

// Confirmation returns the field for the current password in the section.
func (v signInSettings) Confirmation(section string) confirmation {
	id := confirmationField + "." + section
	message := v.Form.Problem.Text(id)
	isNeeded := !v.Confirmed || message != "" // a field with an error is shown again

	return confirmation{ID: id, Error: message, IsNeeded: isNeeded}
}

// confirmationField is the name of the field for the current password in errors. In the section "password" the field of
// the form has the same name. In other sections the name of the section follows, for example "currentPassword.email".
const confirmationField = "currentPassword"

// nameConfirmation renames the field of the current password in a problem to the name that the field has in the section
// that was sent. Otherwise the error would appear in all sections that have such a field.
func nameConfirmation(problem *pages.Problem, section string) *pages.Problem {
	if problem == nil || section == "password" {
		return problem
	}

	fields := slices.Clone(problem.Fields)
	for i := range fields {
		if fields[i].Name == confirmationField {
			fields[i].Name += "." + section
		}
	}

	return &pages.Problem{Error: problem.WithFields(fields...), FormName: problem.FormName}
}

// device is a browser or program that is signed in.
type device struct {
	identity.Session
	Name      string
	IsCurrent bool
}

// maxSessions is the maximum number of sessions that a page of settings lists.
const maxSessions = 50

// loadSignInSettings returns the sign-in settings of the viewer. The caller sets the addresses.
func (s *Site) loadSignInSettings(ctx context.Context, viewer *pages.Viewer, form *pages.Form, path string) (signInSettings, error) {
	actor := viewer.Actor()
	v := signInSettings{Form: form, SettingsPath: path, Confirmed: viewer.Confirmed()}

	secondFactor, err := s.services.Identity.MySecondFactor(ctx, actor)
	if err != nil {
		return v, err
	}

	v.HasTwoStep = secondFactor.Enabled
	sessions, err := s.services.Identity.MySessions(ctx, actor, page.Request{Number: 1, Size: maxSessions})
	v.Devices = web.Each(sessions.Items, func(session identity.Session) device {
		return device{Session: session, Name: deviceName(session.UserAgent), IsCurrent: session.ID == actor.SessionID}
	})

	return v, err
}

// userAgentToken is a part of a User-Agent header and the name that is shown for it.
type userAgentToken struct{ text, name string }

// browserTokens are in the order in which they are searched. Chrome and Safari come last, because the headers of most
// other browsers contain their tokens too.
var browserTokens = []userAgentToken{
	{"Edg", "Edge"},
	{"OPR/", "Opera"},
	{"SamsungBrowser/", "Samsung Internet"},
	{"Firefox/", "Firefox"},
	{"FxiOS/", "Firefox"},
	{"CriOS/", "Chrome"},
	{"Chrome/", "Chrome"},
	{"Safari/", "Safari"},
}

// systemTokens are in the order in which they are searched. For example, Android precedes Linux, because the headers of
// Android devices contain both.
var systemTokens = []userAgentToken{
	{"iPhone", "iPhone"},
	{"iPad", "iPad"},
	{"Android", "Android"},
	{"CrOS", "ChromeOS"},
	{"Windows", "Windows"},
	{"Mac OS X", "macOS"},
	{"Linux", "Linux"},
}

// deviceName returns a name such as "Firefox on Windows" for the User-Agent header of a browser. For other programs it
// returns the header unchanged.
func deviceName(userAgent string) string {
	if userAgent == "" {
		return "Unknown device"
	}

	browser, system := findToken(userAgent, browserTokens), findToken(userAgent, systemTokens)

	isBrowser := strings.HasPrefix(userAgent, "Mozilla/") && browser != "" // all browsers send this prefix
	if !isBrowser {
		return userAgent
	}

	if system == "" {
		return browser
	}

	return browser + " on " + system
}

// findToken returns the name of the first token that the text contains, empty for none.
func findToken(text string, tokens []userAgentToken) string {
	for _, t := range tokens {
		if strings.Contains(text, t.text) {
			return t.name
		}
	}

	return ""
}
