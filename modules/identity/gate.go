package identity

import (
	"sync"
	"time"

	"github.com/locumhq/locum/core/audit"
	"github.com/locumhq/locum/core/fault"
)

// The limits of the passwords that are being hashed or wait for the hasher. The queue of the hasher
// has 64 places. A known device is a device on which the account has signed in before.
const (
	// maxPerNetwork is the limit for the unknown devices of one network: half of the queue.
	maxPerNetwork = 32
	// maxUnknown is the limit for all unknown devices. The other places of the queue are left
	// to known devices.
	maxUnknown = 48
	// maxPerAccount is the limit for the known devices of one account.
	maxPerAccount = 16
)

// gate limits the passwords that are being hashed, so that an attacker cannot fill the queue of the
// hasher. Passwords from unknown devices are counted by network, and passwords from known devices
// by account.
type gate struct {
	mu sync.Mutex
	// inUse is the number of passwords by network or account.
	inUse map[string]int
	// unknownInUse is the number of passwords of unknown devices, of all networks.
	unknownInUse int
}

// unknownDevice is the argument account of acquire for a device on which the account has not signed
// in before.
const unknownDevice = ""

// acquire admits a password until the caller calls release. It fails with fault.ErrUnavailable at
// once if a limit is reached. The argument account identifies the account of a known device. For
// any other device it is unknownDevice.
func (g *gate) acquire(address, account string) (release func(), err error) {
	g.mu.Lock()
	defer g.mu.Unlock()

	isUnknown := account == unknownDevice

	key, limit := "account "+account, maxPerAccount
	if isUnknown {
		key, limit = audit.Prefix(address, 24, 48), maxPerNetwork // the /24 of an IPv4 address, the /48 of an IPv6 one
	}

	isFull := g.inUse[key] >= limit || isUnknown && g.unknownInUse >= maxUnknown
	if isFull {
		return nil, fault.ErrUnavailable.WithReason("password hasher: busy").WithRetryAfter(time.Second)
	}

	if g.inUse == nil {
		g.inUse = map[string]int{}
	}

	g.inUse[key]++
	if isUnknown {
		g.unknownInUse++
	}

	return func() {
		g.mu.Lock()
		defer g.mu.Unlock()

		g.inUse[key]--
		if g.inUse[key] == 0 {
			delete(g.inUse, key)
		}

		if isUnknown {
			g.unknownInUse--
		}
	}, nil
}
