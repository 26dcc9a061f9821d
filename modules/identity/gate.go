package identity

import (
	"sync"
	"time"

	"github.com/locumhq/locum/core/fault"
)

// maxAtOnce is how many passwords of one network are worked on at a time, those
// that wait for their turn included: half of what the hasher lets wait. Whoever
// signs in without end leaves the other half to everybody else.
const maxAtOnce = 32

// gate counts the passwords that are being worked on.
type gate struct {
	mu   sync.Mutex
	busy map[string]int // by network; what has none is not in it
}

// enter lets a password of the network in until it leaves.
func (g *gate) enter(network string) (leave func(), err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.busy[network] >= maxAtOnce {
		return nil, fault.ErrUnavailable.WithRetryAfter(time.Second)
	}
	if g.busy == nil {
		g.busy = map[string]int{}
	}
	g.busy[network]++
	return func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		if g.busy[network]--; g.busy[network] == 0 {
			delete(g.busy, network)
		}
	}, nil
}
