package listings

import (
	"cmp"
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
	// DefaultSearchTimeout is the maximum time of a search, including the wait for a slot.
	DefaultSearchTimeout = time.Second
	// costWindow is the time in which searches from a network may take Deps.SearchCPU.
	costWindow = 10 * time.Second
	// maxCosts is the number of networks in memory at which those without costs are removed.
	maxCosts = 10_000

	// maxSlots is the maximum number of concurrent searches. It leaves half of the connections
	// of a database pool to other requests.
	maxSlots = 8

	// maxExclusions and maxPhrases limit the most expensive parts of a search text.
	maxExclusions = 5
	maxPhrases    = 3
)

// bulkhead limits the share of processors and database connections that searches can take
// from other requests. Each search waits for a slot. There are two slots per processor, and
// at most maxSlots. The time for which a search holds its slot is charged to the network of
// the client, which has a budget.
type bulkhead struct {
	slots   chan struct{} // has a value for each slot that is held
	timeout time.Duration
	clock   clock.Clock
	budget  time.Duration // the time of each network per costWindow, 0 for no limit

	mu    sync.Mutex
	costs map[string]*cost // by network
}

// cost is the search time that a network has spent. It is a leaky bucket: in each costWindow,
// the spent time decreases by the budget.
type cost struct {
	spent     time.Duration
	drainedAt time.Time
	// running contains, for each running search, the time when it acquired its slot. The
	// pointer identifies the search, because several may have begun at the same time.
	running map[*time.Time]struct{}
}

// newBulkhead returns a bulkhead with the limits of the settings.
func newBulkhead(d Deps) *bulkhead {
	slots := min(maxSlots, 2*runtime.GOMAXPROCS(0))

	return &bulkhead{
		slots:   make(chan struct{}, slots),
		timeout: cmp.Or(d.SearchTimeout, DefaultSearchTimeout),
		clock:   d.Clock,
		budget:  d.SearchCPU,
		costs:   map[string]*cost{},
	}
}

// do calls fn while it holds a slot. It returns fault.ErrUnavailable if fn has not ended
// within the timeout, which includes the wait for the slot, and fault.ErrRateLimit if the
// client's network has spent its budget.
func (b *bulkhead) do(ctx context.Context, fn func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, b.timeout)
	defer cancel()

	release, err := b.acquire(ctx)
	if err != nil {
		return err
	}
	defer release()

	err = fn(ctx)
	if err == nil || ctx.Err() == nil {
		return err
	}

	// The time is over. An error with a reason of its own is another failure, such as an
	// unavailable database.
	isOtherFailure := fault.Of(err).Reason != "" && !errors.Is(err, ctx.Err())
	if isOtherFailure {
		return err
	}

	return unavailable("search: timeout", ctx.Err())
}

// unavailable returns a fault that asks the client to retry after a second.
func unavailable(reason string, cause error) error {
	return fault.ErrUnavailable.WithReason(reason).WithCause(cause).WithRetryAfter(time.Second)
}

// acquire waits for a slot until the context ends. It checks the budget before and after the
// wait, because other searches from the network may have spent it in the meantime.
func (b *bulkhead) acquire(ctx context.Context) (release func(), err error) {
	network := audit.NetworkOf(ctx)
	if err := b.checkBudget(network); err != nil {
		return nil, err
	}

	select {
	case b.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, unavailable("search: no free slot", ctx.Err())
	}

	if err := b.checkBudget(network); err != nil {
		<-b.slots // releases the slot
		return nil, err
	}

	charge := b.startCharging(network)

	return func() { <-b.slots; charge() }, nil
}

// isLimited reports whether the network has a budget. An unknown network has none.
func (b *bulkhead) isLimited(network string) bool { return b.budget > 0 && network != "" }

// checkBudget returns fault.ErrRateLimit if the network has spent its budget, including the
// time of its running searches.
func (b *bulkhead) checkBudget(network string) error {
	if !b.isLimited(network) {
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

	// The client may retry when the excess has drained. A whole budget drains in costWindow. A
	// second is added because of rounding.
	excess := float64(spent-b.budget) / float64(b.budget)
	drainTime := time.Duration(excess * float64(costWindow))

	return fault.ErrRateLimit.WithRetryAfter(drainTime + time.Second)
}

// startCharging records that a search from the network is running. The returned function
// must be called when the search ends; it charges the elapsed time.
func (b *bulkhead) startCharging(network string) (charge func()) {
	if !b.isLimited(network) {
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
		c = &cost{drainedAt: now, running: map[*time.Time]struct{}{}}
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

// prune removes the networks without costs. The caller holds the mutex.
func (b *bulkhead) prune(now time.Time) {
	for network, c := range b.costs {
		if c.drain(now, b.budget); c.spent == 0 && len(c.running) == 0 {
			delete(b.costs, network)
		}
	}
}

// drain reduces the spent time by the budget for the time since the last call.
func (c *cost) drain(now time.Time, budget time.Duration) {
	share := float64(now.Sub(c.drainedAt)) / float64(costWindow)
	c.spent = max(0, c.spent-time.Duration(share*float64(budget)))
	c.drainedAt = now
}
