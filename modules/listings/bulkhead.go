package listings

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"time"

	"github.com/locumhq/locum/core/audit"
	"github.com/locumhq/locum/core/clock"
	"github.com/locumhq/locum/core/fault"
)

const (
	// DefaultSearchTimeout is the time of a search, the wait for a slot included.
	DefaultSearchTimeout = time.Second
	// costWindow is the time over which Needs.SearchCPU is allowed.
	costWindow = 10 * time.Second
	// maxCosts bounds the networks whose costs are kept. Beyond it those that have
	// none left are dropped.
	maxCosts = 10_000

	// maxSlots leaves half of the connections of a database pool to other requests.
	maxSlots = 8

	maxExclusions = 5
	maxPhrases    = 3
)

// bulkhead keeps searches from taking all of the processors, and all of the
// connections by which the database is read for their results. Each search waits
// for one of the slots, of which there are two for each processor. The time that it
// holds one is charged to the client's network.
type bulkhead struct {
	slots   chan struct{}
	timeout time.Duration
	clock   clock.Clock
	budget  time.Duration // per costWindow, 0 for any cost

	mu    sync.Mutex
	costs map[string]*cost // by network
}

// cost is the search time that a network has used. It drains by the budget per
// costWindow.
type cost struct {
	spent   time.Duration
	at      time.Time
	running map[*time.Time]struct{} // when the searches under way got their slots
}

func newBulkhead(n Deps) *bulkhead {
	timeout := n.SearchTimeout
	if timeout <= 0 {
		timeout = DefaultSearchTimeout
	}
	slots := min(maxSlots, 2*runtime.GOMAXPROCS(0))
	return &bulkhead{slots: make(chan struct{}, slots), timeout: timeout, clock: n.Clock, budget: n.SearchCPU, costs: map[string]*cost{}}
}

// do calls fn in a slot and within the timeout. Without a slot or a result by then
// it fails as unavailable, and with fault.ErrRateLimit when the network has spent
// its budget.
func (b *bulkhead) do(ctx context.Context, fn func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, b.timeout)
	defer cancel()
	release, err := b.acquire(ctx)
	if err != nil {
		return err
	}
	defer release()
	err = fn(ctx)
	if err != nil && ctx.Err() != nil {
		if fault.Of(err).Reason != "" && !errors.Is(err, ctx.Err()) {
			return err // a failure of the database, not of the timeout
		}
		return unavailable("search: timeout", ctx.Err())
	}
	return err
}

func unavailable(reason string, cause error) error {
	return fault.ErrUnavailable.WithReason(reason).WithCause(cause).WithRetryAfter(time.Second)
}

// acquire waits for a slot until the context ends. The budget is checked before
// and after the wait, which many searches of a network may begin at once.
func (b *bulkhead) acquire(ctx context.Context) (release func(), err error) {
	network := audit.NetworkOf(ctx)
	if err := b.check(network); err != nil {
		return nil, err
	}
	select {
	case b.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, unavailable("search: no free slot", ctx.Err())
	}
	if err := b.check(network); err != nil {
		<-b.slots
		return nil, err
	}
	charge := b.begin(network)
	return func() { <-b.slots; charge() }, nil
}

func (b *bulkhead) counts(network string) bool { return b.budget > 0 && network != "" }

func (b *bulkhead) check(network string) error {
	if !b.counts(network) {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	c := b.costs[network]
	if c == nil {
		return nil
	}
	now := b.clock.Now()
	c.drain(now, b.budget)
	spent := c.spent
	for start := range c.running {
		spent += now.Sub(*start)
	}
	if spent < b.budget {
		return nil
	}
	over := float64(spent-b.budget) / float64(b.budget)
	return fault.ErrRateLimit.WithRetryAfter(time.Duration(over*float64(costWindow)) + time.Second)
}

// begin notes that a search of the network runs; charge ends it.
func (b *bulkhead) begin(network string) (charge func()) {
	if !b.counts(network) {
		return func() {}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.clock.Now()
	if len(b.costs) >= maxCosts {
		b.prune(now)
	}
	c := b.costs[network]
	if c == nil {
		c = &cost{at: now, running: map[*time.Time]struct{}{}}
		b.costs[network] = c
	}
	start := &now
	c.running[start] = struct{}{}
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		now := b.clock.Now()
		delete(c.running, start)
		c.drain(now, b.budget)
		c.spent += now.Sub(*start)
	}
}

func (b *bulkhead) prune(now time.Time) {
	for network, c := range b.costs {
		if c.drain(now, b.budget); c.spent == 0 && len(c.running) == 0 {
			delete(b.costs, network)
		}
	}
}

func (c *cost) drain(now time.Time, budget time.Duration) {
	share := float64(now.Sub(c.at)) / float64(costWindow)
	c.spent = max(0, c.spent-time.Duration(share*float64(budget)))
	c.at = now
}
