package web

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestLimitKey_AddressesOfOneIPv6Network_AreOneClient checks that limits count IPv6 clients by
// their /64: a host usually has a whole /64, and could use another address for each request.
func TestLimitKey_AddressesOfOneIPv6Network_AreOneClient(t *testing.T) {
	t.Parallel()

	const (
		address            = "2001:db8::1"
		inSameNetwork      = "2001:db8::ffff:1"
		inNextNetwork      = "2001:db8:0:1::1"
		addressIPv4        = "192.0.2.1"
		anotherAddressIPv4 = "192.0.2.2"
	)

	require.Equal(t, LimitKey(address), LimitKey(inSameNetwork))
	require.NotEqual(t, LimitKey(address), LimitKey(inNextNetwork))
	require.NotEqual(t, LimitKey(addressIPv4), LimitKey(anotherAddressIPv4))
}
