package integrations

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/locumhq/locum/core/fault"
)

// The problems of inputs are what shows before anything is looked up, all at
// once; the services stop at the first.

// Problems are what is wrong with the input.
func (in AppInput) Problems() []fault.Field {
	var out []fault.Field
	if strings.TrimSpace(in.Name) == "" || utf8.RuneCountInString(in.Name) > maxName {
		out = append(out, fault.Field{Name: "name", Message: "must have 1 to 100 characters"})
	}
	if utf8.RuneCountInString(in.Description) > maxDescription {
		out = append(out, fault.Field{Name: "description", Message: "must have at most 1000 characters"})
	}
	_, uris := redirectURIs(in.RedirectURIs, in.Public)
	return append(out, fieldsOf(uris)...)
}

// check is the problems as a fault.
func (in AppInput) check() error {
	if wrong := in.Problems(); len(wrong) > 0 {
		return fault.ErrInvalid.WithFields(wrong...)
	}
	return nil
}

// Problems are what is wrong with the change. Which redirect addresses a
// confidential application may have shows later.
func (in AppChange) Problems() []fault.Field {
	return in.onto(AppInput{Name: "not empty", Public: true}).Problems()
}

// Problems are what is wrong with the input wherever receivers may be.
func (in WebhookInput) Problems() []fault.Field {
	_, types := eventTypes(in.Events)
	return slices.Concat(fieldsOf(receiver(strings.TrimSpace(in.URL), true)), fieldsOf(types))
}

// Problems are what is wrong with the change wherever receivers may be.
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

// fieldsOf are the fields of a fault, none without one.
func fieldsOf(err error) []fault.Field {
	if err == nil {
		return nil
	}
	return fault.Of(err).Fields
}
