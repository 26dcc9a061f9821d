package integrations

import (
	"slices"
	"strings"
	"unicode"

	"github.com/locumhq/locum/core/fault"
)

// The Problems methods complement the validate tags of the inputs (see package valid). They
// report the problems that can be found without the database.

// Problems returns the problems that no tag expresses. The description must not contain
// control characters because operators read it in a terminal.
func (in AppInput) Problems() []fault.Field {
	var problems []fault.Field
	if strings.ContainsFunc(in.Description, isMisleading) {
		problems = append(problems, fault.Field{Name: "description", Message: "must have at most 1000 characters, and none that turns text around"})
	}

	if slices.ContainsFunc(in.RedirectURIs, func(uri string) bool { return !isRedirectURI(uri, in.Public) }) {
		problems = append(
			problems,
			fault.Field{
				Name:    "redirectUris",
				Message: "must be https:// addresses without a fragment, http:// ones on a loopback address, or of a public application com.example.app:/path",
			},
		)
	}

	return problems
}

// isMisleading reports whether the character changes the direction of text (UAX #9 §2)
// or controls terminals.
func isMisleading(r rune) bool {
	return unicode.Is(unicode.Bidi_Control, r) || unicode.IsControl(r) && r != '\n' && r != '\r' && r != '\t'
}

// Problems returns the problems of the change. Whether the application is public is not known
// here. Redirect addresses that only public applications may have are accepted, and ChangeApp
// refuses them for other applications.
func (in AppChange) Problems() []fault.Field {
	return in.applyTo(AppInput{Public: true}).Problems()
}

// acceptPrivate makes the Problems methods accept webhooks to private networks. Whether they are
// permitted depends on the settings, which the use cases check.
const acceptPrivate = true

// Problems returns the problems of the input.
func (in WebhookInput) Problems() []fault.Field {
	urlErr := checkReceiver(strings.TrimSpace(in.URL), acceptPrivate)
	_, eventsErr := parseEventTypes(in.Events)
	return slices.Concat(fault.FieldsOf(urlErr), fault.FieldsOf(eventsErr))
}

// Problems returns the problems of the change.
func (in WebhookChange) Problems() []fault.Field {
	var problems []fault.Field
	if in.URL != nil {
		problems = fault.FieldsOf(checkReceiver(strings.TrimSpace(*in.URL), acceptPrivate))
	}

	if in.Events != nil {
		_, err := parseEventTypes(*in.Events)
		problems = append(problems, fault.FieldsOf(err)...)
	}

	return problems
}
