package integrations

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/text"
)

// The Problems methods report all problems of an input that can be found without the
// database.

// Problems returns all problems of the input.
func (in AppInput) Problems() []fault.Field {
	var out []fault.Field
	if _, err := label(in.Name); err != nil {
		out = append(out, fieldsOf(err)...)
	}
	if utf8.RuneCountInString(in.Description) > maxDescription || strings.ContainsFunc(in.Description, misleading) {
		out = append(out, fault.Field{Name: "description", Message: "must have at most 1000 characters, and none that turns text around"})
	}
	_, uris := redirectURIs(in.RedirectURIs, in.Public)
	return append(out, fieldsOf(uris)...)
}

// label normalizes a name. Users decide by it on the consent page, and operators read
// it in a terminal: characters that could disguise it are removed or rejected.
func label(name string) (string, error) {
	name = text.Name(name)
	if name == "" || utf8.RuneCountInString(name) > maxName {
		return "", fault.InvalidField("name", "must have 1 to 100 characters")
	}
	if strings.ContainsFunc(name, func(r rune) bool { return unicode.In(r, unicode.Cc, unicode.Zl, unicode.Zp) || misleading(r) }) {
		return "", fault.InvalidField("name", "must be one line, without control characters")
	}
	return name, nil
}

// misleading reports whether the character changes the direction of text (UAX #9 §2)
// or controls terminals.
func misleading(r rune) bool {
	return unicode.Is(unicode.Bidi_Control, r) || unicode.IsControl(r) && r != '\n' && r != '\r' && r != '\t'
}

// check returns the problems as a fault.
func (in AppInput) check() error {
	if wrong := in.Problems(); len(wrong) > 0 {
		return fault.ErrInvalid.WithFields(wrong...)
	}
	return nil
}

// Problems returns all problems of the change. Redirect addresses that only public
// applications may have are reported later.
func (in AppChange) Problems() []fault.Field {
	return in.onto(AppInput{Name: "not empty", Public: true}).Problems()
}

// Problems returns all problems of the input, if private receivers are allowed.
func (in WebhookInput) Problems() []fault.Field {
	_, types := eventTypes(in.Events)
	return slices.Concat(fieldsOf(receiver(strings.TrimSpace(in.URL), true)), fieldsOf(types))
}

// Problems returns all problems of the change, if private receivers are allowed.
func (in WebhookChange) Problems() []fault.Field {
	var out []fault.Field
	if in.URL != nil {
		out = fieldsOf(receiver(strings.TrimSpace(*in.URL), true))
	}
	if in.Events != nil {
		_, err := eventTypes(*in.Events)
		out = append(out, fieldsOf(err)...)
	}
	return out
}

// fieldsOf returns the fields of a fault, none for nil.
func fieldsOf(err error) []fault.Field {
	if err == nil {
		return nil
	}
	return fault.Of(err).Fields
}
