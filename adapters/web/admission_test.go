package web

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestLimitKey_AddressesOfOneIPv6Network_AreOneClient checks that limits count IPv6 clients by
// their /64: a host usually has a whole /64, and could use another address for each request.
func TestLimitKey_AddressesOfOneIPv6Network_AreOneClient(t *testing.T) {
	t.Parallel()
	require.Equal(t, LimitKey("2001:db8::1"), LimitKey("2001:db8::ffff:1"))
	require.NotEqual(t, LimitKey("2001:db8::1"), LimitKey("2001:db8:0:1::1"))
	require.NotEqual(t, LimitKey("192.0.2.1"), LimitKey("192.0.2.2"))
}
