package integrations

import (
	"slices"
	"strings"
	"unicode"

	"github.com/locumhq/locum/core/fault"
)

// The Problems methods report all problems of an input that can be found without the
// database.

// Problems returns the problems that no tag expresses. Operators read the description in a
// terminal.
func (in AppInput) Problems() []fault.Field {
	var out []fault.Field
	if strings.ContainsFunc(in.Description, misleading) {
		out = append(out, fault.Field{Name: "description", Message: "must have at most 1000 characters, and none that turns text around"})
	}
	if slices.ContainsFunc(in.RedirectURIs, func(uri string) bool { return !isRedirectURI(uri, in.Public) }) {
		out = append(out, fault.Field{Name: "redirectUris", Message: "must be https:// addresses without a fragment, http:// ones on a loopback address, or of a public application com.example.app:/path"})
	}
	return out
}

// misleading reports whether the character changes the direction of text (UAX #9 §2)
// or controls terminals.
func misleading(r rune) bool {
	return unicode.Is(unicode.Bidi_Control, r) || unicode.IsControl(r) && r != '\n' && r != '\r' && r != '\t'
}

// Problems returns all problems of the change. Redirect addresses that only public
// applications may have are reported later.
func (in AppChange) Problems() []fault.Field {
	return in.onto(AppInput{Public: true}).Problems()
}

// Problems returns all problems of the input, if private receivers are allowed.
func (in WebhookInput) Problems() []fault.Field {
	_, types := eventTypes(in.Events)
	return slices.Concat(fault.FieldsOf(receiver(strings.TrimSpace(in.URL), true)), fault.FieldsOf(types))
}

// Problems returns all problems of the change, if private receivers are allowed.
func (in WebhookChange) Problems() []fault.Field {
	var out []fault.Field
	if in.URL != nil {
		out = fault.FieldsOf(receiver(strings.TrimSpace(*in.URL), true))
	}
	if in.Events != nil {
		_, err := eventTypes(*in.Events)
		out = append(out, fault.FieldsOf(err)...)
	}
	return out
}
