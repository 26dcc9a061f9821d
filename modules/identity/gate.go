package identity

import (
	"sync"
	"time"

	"github.com/locumhq/locum/core/audit"
	"github.com/locumhq/locum/core/fault"
)

// The limits of passwords that are hashed, or wait for that, at one time. The queue of
// the hasher has 64 places.
const (
	// maxPerSite is for one /24 or /48, without devices that have an earlier
	// sign-in: half of the queue.
	maxPerSite = 32
	// maxUnknown leaves the rest to devices with an earlier sign-in.
	maxUnknown = 48
	// maxPerAccount is for the devices with an earlier sign-in to one account.
	maxPerAccount = 16
)

// gate limits the passwords that are being hashed: by the network of the client or,
// from a device with an earlier sign-in, by the account.
type gate struct {
	mu      sync.Mutex
	busy    map[string]int // by network or account; an idle one has no entry
	unknown int
}

// acquire admits a password from the address until release is called. account is set
// for a device with an earlier sign-in to it.
func (g *gate) acquire(address, account string) (release func(), err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	key, limit, unknown := "account "+account, maxPerAccount, 0
	if account == "" {
		key, limit, unknown = audit.Prefix(address, 24, 48), maxPerSite, 1
	}
	if g.busy[key] >= limit || g.unknown+unknown > maxUnknown {
		return nil, fault.ErrUnavailable.WithReason("password hasher: busy").WithRetryAfter(time.Second)
	}
	if g.busy == nil {
		g.busy = map[string]int{}
	}
	g.busy[key]++
	g.unknown += unknown
	return func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		if g.busy[key]--; g.busy[key] == 0 {
			delete(g.busy, key)
		}
		g.unknown -= unknown
	}, nil
}
