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
	// costWindow is the time in which a network may use Deps.SearchCPU.
	costWindow = 10 * time.Second
	// maxCosts is the number of networks from which those without costs are deleted.
	maxCosts = 10_000

	// maxSlots leaves half of the connections of a database pool to other requests.
	maxSlots = 8

	maxExclusions = 5
	maxPhrases    = 3
)

// bulkhead limits the processors and database connections that searches use together.
// Each search waits for a slot, of which there are two per processor. The time for which
// it holds the slot is charged to the client's network.
type bulkhead struct {
	slots   chan struct{}
	timeout time.Duration
	clock   clock.Clock
	budget  time.Duration // per costWindow, 0 for no limit

	mu    sync.Mutex
	costs map[string]*cost // by network
}

// cost is the search time that a network has used. It drains by the budget per
// costWindow.
type cost struct {
	spent   time.Duration
	at      time.Time
	running map[*time.Time]struct{} // when the running searches acquired their slots
}

func newBulkhead(d Deps) *bulkhead {
	slots := min(maxSlots, 2*runtime.GOMAXPROCS(0))
	return &bulkhead{slots: make(chan struct{}, slots), timeout: cmp.Or(d.SearchTimeout, DefaultSearchTimeout), clock: d.Clock, budget: d.SearchCPU, costs: map[string]*cost{}}
}

// do calls fn with a slot and within the timeout. It fails with fault.ErrUnavailable
// without a slot or a result by then, and with fault.ErrRateLimit if the network has
// spent its budget.
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

// begin records that a search of the network runs. The returned function ends it and
// charges its time.
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
