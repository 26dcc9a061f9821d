package web

import (
	"encoding/json"

	"github.com/locumhq/locum/core/fault"
)

// OneOrMany is a string or an array of strings.
type OneOrMany []string

// UnmarshalJSON implements json.Unmarshaler.
func (o *OneOrMany) UnmarshalJSON(raw []byte) error {
	var one *string
	if json.Unmarshal(raw, &one) == nil {
		*o = nil
		if one != nil {
			*o = OneOrMany{*one}
		}
		return nil
	}
	var many []string
	if json.Unmarshal(raw, &many) != nil {
		return fault.InvalidField("", "must be a string or an array of strings")
	}
	*o = many
	return nil
}

// JSONTypes returns what it can be, for the documentation.
func (OneOrMany) JSONTypes() []string { return []string{"string", "array", "null"} }
