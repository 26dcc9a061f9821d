// Package patch applies the fields of a partial update: a nil field leaves the stored value
// unchanged.
package patch

import (
	"strings"

	"github.com/locumhq/locum/core/text"
)

// Set sets the target to the value unless the value is nil.
func Set[T any](target, value *T) {
	if value != nil {
		*target = *value
	}
}

// SetText is Set for texts. It removes surrounding white space.
func SetText(target, value *string) {
	if value != nil {
		*target = strings.TrimSpace(*value)
	}
}

// SetName is Set for names. It removes invisible characters (see text.Name).
func SetName(target, value *string) {
	if value != nil {
		*target = text.Name(*value)
	}
}
