package integrations

import (
	"context"
	"sync"
	"time"

	"github.com/locumhq/locum/core/task"
)

const (
	// visitsMost is how many endpoints of one owner are looked after at once by one
	// process, so that somebody's many slow ones leave workers to the others. A few more
	// may wait, for crowdWaits; whoever is one too many comes again when crowdedFor
	// has gone by.
	visitsMost = 32
	crowdMost  = 8
	crowdWaits = time.Second
	crowdedFor = 5 * time.Second
)

// failingMost is how many endpoints at which nothing arrives are looked after at
// once, whosever they are: many owners' together leave workers to those that work.
var failingMost = task.Workers[task.Webhooks] / 2

// crowd lets so many in at once who have the same name.
type crowd struct {
	most int

	mu    sync.Mutex
	rooms map[string]*room
}

// room is for a name; known is how many are in it or wait.
type room struct {
	places chan struct{}
	known  int
}

func newCrowd(most int) *crowd { return &crowd{most: most, rooms: map[string]*room{}} }

// admit waits until the endpoint may be looked after, not for long, and reports
// whether it may. Then leave lets the next one in.
func (s *Service) admit(ctx context.Context, e Endpoint) (leave func(), in bool) {
	ofOwner, in := s.visitors.enter(ctx, e.OwnerID)
	if !in || e.FailingSince == nil {
		return ofOwner, in
	}
	ofFailing, in := s.failing.enter(ctx, "")
	if !in {
		ofOwner()
		return nil, false
	}
	return func() { ofFailing(); ofOwner() }, true
}

// enter waits for a place, not for long and not with many others, and reports whether
// there was one. Then leave gives it back.
func (c *crowd) enter(ctx context.Context, name string) (leave func(), in bool) {
	c.mu.Lock()
	r := c.rooms[name]
	if r == nil {
		r = &room{places: make(chan struct{}, c.most)}
		c.rooms[name] = r
	}
	if r.known >= c.most+crowdMost {
		c.mu.Unlock()
		return nil, false
	}
	r.known++
	c.mu.Unlock()
	gone := func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if r.known--; r.known == 0 {
			delete(c.rooms, name)
		}
	}
	patience := time.NewTimer(crowdWaits)
	defer patience.Stop()
	select {
	case r.places <- struct{}{}:
		return func() { <-r.places; gone() }, true
	case <-patience.C:
	case <-ctx.Done():
	}
	gone()
	return nil, false
}
