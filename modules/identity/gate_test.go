package identity

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/core/fault"
)

// TestGate_NetworkAtLimit_RefusesItsUnknownDevicesOnly checks that clients of one network
// cannot use all places of the hasher. 192.0.2.1 and 192.0.2.2 are in the same network (/24),
// 198.51.100.1 is in another.
func TestGate_NetworkAtLimit_RefusesItsUnknownDevicesOnly(t *testing.T) {
	t.Parallel()

	var g gate
	for range maxPerNetwork {
		_, err := g.acquire("192.0.2.1", unknownDevice)
		require.NoError(t, err)
	}

	_, err := g.acquire("192.0.2.2", unknownDevice)
	require.ErrorIs(t, err, fault.ErrUnavailable)

	release, err := g.acquire("192.0.2.2", "jo")
	require.NoError(t, err)
	release()

	_, err = g.acquire("198.51.100.1", unknownDevice)
	require.NoError(t, err)
}

// TestGate_UnknownDevicesAtLimit_KnownAdmitted checks that an attack from many networks leaves
// places for devices that have signed in before.
func TestGate_UnknownDevicesAtLimit_KnownAdmitted(t *testing.T) {
	t.Parallel()

	var g gate
	for i := range maxUnknown {
		_, err := g.acquire(fmt.Sprintf("192.0.%d.1", i), unknownDevice)
		require.NoError(t, err)
	}

	_, err := g.acquire("198.51.100.1", unknownDevice)
	require.ErrorIs(t, err, fault.ErrUnavailable)

	_, err = g.acquire("198.51.100.1", "jo")
	require.NoError(t, err)
}

// TestGate_KnownDevicesOfOneAccount_Limited checks that the tokens of one account's devices,
// which may be stolen, cannot use the places of other accounts.
func TestGate_KnownDevicesOfOneAccount_Limited(t *testing.T) {
	t.Parallel()
	var g gate

	var releases []func()
	for range maxPerAccount {
		release, err := g.acquire("192.0.2.1", "jo")
		require.NoError(t, err)

		releases = append(releases, release)
	}

	_, err := g.acquire("198.51.100.1", "jo")
	require.ErrorIs(t, err, fault.ErrUnavailable)

	_, err = g.acquire("192.0.2.1", "ann")
	require.NoError(t, err)
	releases[0]()

	_, err = g.acquire("192.0.2.1", "jo")
	require.NoError(t, err)
}
