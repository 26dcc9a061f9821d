package identity_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/core/text"
	"github.com/locumhq/locum/modules/identity"
)

// TestParseEmail_AddressOfDeletedAccount_Refused checks that no account can be registered with
// an address that replaces the one of a deleted account.
func TestParseEmail_AddressOfDeletedAccount_Refused(t *testing.T) {
	t.Parallel()

	for _, address := range []string{"01890000-0000-7000-8000-000000000000@deleted.invalid", "x@Deleted.INVALID"} {
		_, ok := text.ParseEmail(address)
		require.False(t, ok, address)
	}
}

// TestErase_Address_IsRandom checks that the address that replaces the one of a deleted account
// cannot be predicted, so that it cannot be taken in advance.
func TestErase_Address_IsRandom(t *testing.T) {
	t.Parallel()

	const id = "01890000-0000-7000-8000-000000000000"
	now := time.Now()
	first := identity.NewUser(id, "jo@example.org", "Jo", identity.KindJobseeker, "the hash of a password", now)
	second := first // the same account, erased a second time
	first.Erase(now)
	second.Erase(now)
	require.NotContains(t, first.Email, id, "others know the id")
	require.NotEqual(t, first.Email, second.Email)
}
