package identity_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/modules/identity"
)

// The Kelvin sign is a k in lower case: two mailboxes would be one account, and
// the mails of one would go to the other.
func TestNoTwoMailboxesAreOneAccount(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"\u212aim@example.org", "mar\u212a@example.org"} {
		_, ok := identity.ParseEmail(address)
		require.False(t, ok, address)
	}
	for _, address := range []string{"Kim@example.org", "jörg@example.org", "ΝΊΚΟΣ@example.org"} {
		_, ok := identity.ParseEmail(address)
		require.True(t, ok, address)
	}
}
