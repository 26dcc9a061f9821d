package identity_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/core/text"
	"github.com/locumhq/locum/modules/identity"
)

// TestRegister_AddressOfDeletedAccount_Refused checks that no account can be registered with
// the address that replaces the one of a deleted account, and that this address is random, so
// that it cannot be taken in advance.
func TestRegister_AddressOfDeletedAccount_Refused(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"01890000-0000-7000-8000-000000000000@deleted.invalid", "x@Deleted.INVALID"} {
		_, ok := text.ParseEmail(address)
		require.False(t, ok, address)
	}
	now := time.Now()
	one := identity.NewUser("01890000-0000-7000-8000-000000000000", "jo@example.org", "Jo", identity.KindJobseeker, "x", now)
	other := one
	one.Erase(now)
	other.Erase(now)
	require.NotContains(t, one.Email, one.ID, "others know the id")
	require.NotEqual(t, one.Email, other.Email, "it is not predictable")
}
