package identity

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/core/fault"
)

// TestGate_NetworkAtLimit_RefusesItsUnknownDevicesOnly checks that clients of one network
// cannot use all places of the hasher. The second address is in the same /24; the third is in
// another network.
func TestGate_NetworkAtLimit_RefusesItsUnknownDevicesOnly(t *testing.T) {
	t.Parallel()
	var g gate
	for range maxPerSite {
		_, err := g.acquire("192.0.2.1", "")
		require.NoError(t, err)
	}
	_, err := g.acquire("192.0.2.2", "")
	require.ErrorIs(t, err, fault.ErrUnavailable)
	leave, err := g.acquire("192.0.2.2", "jo")
	require.NoError(t, err)
	leave()
	_, err = g.acquire("198.51.100.1", "")
	require.NoError(t, err)
}

// TestGate_UnknownDevicesAtLimit_KnownAdmitted checks that an attack from many networks leaves
// places for devices that have signed in before.
func TestGate_UnknownDevicesAtLimit_KnownAdmitted(t *testing.T) {
	t.Parallel()
	var g gate
	for i := range maxUnknown {
		_, err := g.acquire(fmt.Sprintf("192.0.%d.1", i), "")
		require.NoError(t, err)
	}
	_, err := g.acquire("198.51.100.1", "")
	require.ErrorIs(t, err, fault.ErrUnavailable)
	_, err = g.acquire("198.51.100.1", "jo")
	require.NoError(t, err)
}

// TestGate_KnownDevicesOfOneAccount_Limited checks that the tokens of one account's devices,
// which may be stolen, cannot use the places of other accounts.
func TestGate_KnownDevicesOfOneAccount_Limited(t *testing.T) {
	t.Parallel()
	var g gate
	var leaves []func()
	for range maxPerAccount {
		leave, err := g.acquire("192.0.2.1", "jo")
		require.NoError(t, err)
		leaves = append(leaves, leave)
	}
	_, err := g.acquire("198.51.100.1", "jo")
	require.ErrorIs(t, err, fault.ErrUnavailable)
	_, err = g.acquire("192.0.2.1", "ann")
	require.NoError(t, err)
	leaves[0]()
	_, err = g.acquire("192.0.2.1", "jo")
	require.NoError(t, err)
}
