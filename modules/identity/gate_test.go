package identity

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/core/fault"
)

// The arguments of acquire in these tests: the address of a client, and for a known device the account
// that has signed in on it before.
const (
	clientAddress = "192.0.2.1"
	sameNetwork   = "192.0.2.2" // in the /24 of clientAddress
	otherNetwork  = "198.51.100.1"
	deviceOfJo    = "jo"
	deviceOfAnn   = "ann"
)

// TestGate_NetworkAtLimit_RefusesItsUnknownDevicesOnly checks that unknown devices of one network
// cannot use all places of the hasher. A known device in this network, and other networks, are admitted.
func TestGate_NetworkAtLimit_RefusesItsUnknownDevicesOnly(t *testing.T) {
	t.Parallel()

	var g gate
	for range maxPerNetwork {
		_, err := g.acquire(clientAddress, unknownDevice)
		require.NoError(t, err)
	}

	_, err := g.acquire(sameNetwork, unknownDevice)
	require.ErrorIs(t, err, fault.ErrUnavailable)

	release, err := g.acquire(sameNetwork, deviceOfJo)
	require.NoError(t, err)
	release()

	_, err = g.acquire(otherNetwork, unknownDevice)
	require.NoError(t, err)
}

// TestGate_UnknownDevicesAtLimit_KnownAdmitted checks that an attack from many networks leaves
// places for devices that have signed in before.
func TestGate_UnknownDevicesAtLimit_KnownAdmitted(t *testing.T) {
	t.Parallel()

	var g gate
	for i := range maxUnknown {
		_, err := g.acquire(fmt.Sprintf("192.0.%d.1", i), unknownDevice) // each from another /24
		require.NoError(t, err)
	}

	_, err := g.acquire(otherNetwork, unknownDevice)
	require.ErrorIs(t, err, fault.ErrUnavailable)

	_, err = g.acquire(otherNetwork, deviceOfJo)
	require.NoError(t, err)
}

// TestGate_KnownDevicesOfOneAccount_Limited checks that the tokens of one account's devices,
// which may be stolen, cannot use the places of other accounts.
func TestGate_KnownDevicesOfOneAccount_Limited(t *testing.T) {
	t.Parallel()

	var g gate

	var releases []func()
	for range maxPerAccount {
		release, err := g.acquire(clientAddress, deviceOfJo)
		require.NoError(t, err)

		releases = append(releases, release)
	}

	_, err := g.acquire(otherNetwork, deviceOfJo)
	require.ErrorIs(t, err, fault.ErrUnavailable, "the network does not matter")

	_, err = g.acquire(clientAddress, deviceOfAnn)
	require.NoError(t, err)

	// After a release, the account has a place again.
	releaseFirst := releases[0]
	releaseFirst()

	_, err = g.acquire(clientAddress, deviceOfJo)
	require.NoError(t, err)
}
