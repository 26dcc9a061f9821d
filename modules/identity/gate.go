package identity

import (
	"sync"
	"time"

	"github.com/locumhq/locum/core/audit"
	"github.com/locumhq/locum/core/fault"
)

// The maximum numbers of passwords that are being hashed or wait for the hasher, whose queue
// has 64 places. A known device is a device on which the account has signed in before.
const (
	// maxPerSite is the limit for unknown devices of one network, /24 or /48: half of the
	// queue.
	maxPerSite = 32
	// maxUnknown is the limit for all unknown devices. The other places of the queue are left
	// to known devices.
	maxUnknown = 48
	// maxPerAccount is the limit for the known devices of one account.
	maxPerAccount = 16
)

// gate limits the passwords that are being hashed, so that an attacker cannot fill the queue
// of the hasher. It counts unknown devices by network, and known devices by account.
type gate struct {
	mu      sync.Mutex
	inUse   map[string]int // by network or account
	unknown int            // by unknown devices of all networks
}

// acquire admits a password until the caller calls release, or returns fault.ErrUnavailable.
// The argument account is empty for an unknown device.
func (g *gate) acquire(address, account string) (release func(), err error) {
	g.mu.Lock()
	defer g.mu.Unlock()

	key := "account " + account
	limit := maxPerAccount

	unknown := 0
	if account == "" {
		key = audit.Prefix(address, 24, 48)
		limit = maxPerSite
		unknown = 1
	}

	if g.inUse[key] >= limit || g.unknown+unknown > maxUnknown {
		return nil, fault.ErrUnavailable.WithReason("password hasher: busy").WithRetryAfter(time.Second)
	}

	if g.inUse == nil {
		g.inUse = map[string]int{}
	}

	g.inUse[key]++
	g.unknown += unknown

	return func() {
		g.mu.Lock()
		defer g.mu.Unlock()

		if g.inUse[key]--; g.inUse[key] == 0 {
			delete(g.inUse, key)
		}

		g.unknown -= unknown
	}, nil
}
