package identity

import (
	"sync"
	"time"

	"github.com/locumhq/locum/core/fault"
)

// The limits of passwords that are hashed or wait for it at one time. The hasher
// lets 64 wait.
const (
	// maxPerSite is for one /24 or /48, without devices that have an earlier
	// sign-in: half of what the hasher lets wait.
	maxPerSite = 32
	// maxUnknown leaves the rest to devices with an earlier sign-in.
	maxUnknown = 48
)

// gate counts the passwords that are being hashed, without those from devices with
// an earlier sign-in: the hasher's own limit is enough for them.
type gate struct {
	mu   sync.Mutex
	busy map[string]int // by network; one without any has no entry
	all  int
}

// enter admits a password from the address until leave is called.
func (g *gate) enter(address string, knownDevice bool) (leave func(), err error) {
	if knownDevice {
		return func() {}, nil
	}
	site := prefix(address, 24, 48)
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.busy[site] >= maxPerSite || g.all >= maxUnknown {
		return nil, fault.ErrUnavailable.WithReason("password hasher: busy").WithRetryAfter(time.Second)
	}
	if g.busy == nil {
		g.busy = map[string]int{}
	}
	g.busy[site]++
	g.all++
	return func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		if g.busy[site]--; g.busy[site] == 0 {
			delete(g.busy, site)
		}
		g.all--
	}, nil
}
