// Package patch applies inputs whose absent fields are nil.
package patch

import (
	"strings"

	"github.com/locumhq/locum/core/text"
)

// Set stores the value unless it is nil.
func Set[T any](to, value *T) {
	if value != nil {
		*to = *value
	}
}

// SetText stores the value without surrounding white space unless it is nil.
func SetText(to, value *string) {
	if value != nil {
		*to = strings.TrimSpace(*value)
	}
}

// SetName stores text.Name of the value unless it is nil.
func SetName(to, value *string) {
	if value != nil {
		*to = text.Name(*value)
	}
}
