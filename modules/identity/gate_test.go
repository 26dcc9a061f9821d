package identity

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/locumhq/locum/core/fault"
)

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
