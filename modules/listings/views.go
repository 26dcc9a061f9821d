package listings

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/id"
)

// Visit is somebody's first look at a listing on a day.
type Visit struct {
	Day       string // in UTC, 2006-01-02
	ListingID string
	// Visitor tells visitors apart. Where it is stored it says nothing of who they
	// are to anybody who lacks the salt of the day.
	Visitor string
	// Network is a guest's address, hidden as Visitor is, and empty for a
	// signed-in user.
	Network string
	// OrganizationID is whom the visitor works for, if anyone.
	OrganizationID string
}

// Views keeps how often listings were seen.
type Views interface {
	// Count counts those of the visits, at most 500, that are not counted yet, of
	// one listing, day and network at most MaxVisitors,
	// and are not an organization's to its own listing. One to a listing that is
	// not there counts for nothing.
	Count(ctx context.Context, vs []Visit) error
	// Salt is the secret of the day, the same for all processes: fresh if there is
	// none yet.
	Salt(ctx context.Context, day, fresh string) (string, error)
	// Of maps those of the organization's listings that were seen to how often,
	// in one statement.
	Of(ctx context.Context, organizationID string, listingIDs []string) (map[string]int, error)
	// Forget removes at most n notes of who was counted before the day, and the
	// salts of those days.
	Forget(ctx context.Context, day string, n int) (int, error)
}

const (
	// MaxVisitors bounds the visitors that one address can be by varying its user
	// agent, for a listing and day. A hospital's staff shares an address.
	MaxVisitors = 20
	// countEvery is how soon a view shows.
	countEvery = 250 * time.Millisecond
	// mostVisits bounds what waits in memory while the store does not answer;
	// the views beyond it are lost.
	mostVisits   = 50_000
	visitsAtOnce = 500
	visitsKept   = 48 * time.Hour
)

// counter collects visits, so that showing a listing writes nothing.
type counter struct {
	mu      sync.Mutex
	waiting map[Visit]struct{}
}

// add takes the visit in if there is room. The caller holds the lock.
func (c *counter) add(v Visit) {
	if c.waiting == nil {
		c.waiting = map[Visit]struct{}{}
	}
	if len(c.waiting) < mostVisits {
		c.waiting[v] = struct{}{}
	}
}

// Seen notes that somebody has looked at a listing: a signed-in user, or
// whoever comes from the address with that user agent.
func (s *Service) Seen(by auth.Actor, address, userAgent, listingID string) {
	listingID, ok := id.Canonical(listingID)
	if !ok {
		return
	}
	day := s.Clock.Now().UTC().Format(time.DateOnly)
	v := Visit{Day: day, ListingID: listingID, Visitor: by.UserID, OrganizationID: by.OrganizationID}
	if by.Guest() {
		v.Visitor, v.Network = address+"\n"+userAgent, address
	}
	s.visits.mu.Lock()
	defer s.visits.mu.Unlock()
	s.visits.add(v)
}

// CountViews stores what Seen was told, a few times a second, until ctx ends,
// and then what is left within a moment. failed hears of what could not be
// stored, which is tried again.
func (s *Service) CountViews(ctx context.Context, failed func(error)) {
	tick := time.NewTicker(countEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			if err := s.countViews(ctx); err != nil && ctx.Err() == nil {
				failed(err)
			}
		case <-ctx.Done():
			ctx, done := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
			defer done()
			if err := s.countViews(ctx); err != nil {
				failed(err)
			}
			return
		}
	}
}

func (s *Service) countViews(ctx context.Context) error {
	c := &s.visits
	c.mu.Lock()
	waiting := slices.Collect(maps.Keys(c.waiting))
	c.waiting = nil
	c.mu.Unlock()
	for batch := range slices.Chunk(waiting, visitsAtOnce) {
		hidden, err := s.hide(ctx, batch)
		if err == nil {
			err = s.Views.Count(ctx, hidden)
		}
		if err == nil {
			waiting = waiting[len(batch):]
			continue
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, v := range waiting {
			c.add(v)
		}
		return err
	}
	return nil
}

// hide takes out of visits who made them. With the listing in the hash nobody's
// way through the listings can be read from it either.
func (s *Service) hide(ctx context.Context, vs []Visit) ([]Visit, error) {
	salts, hidden := map[string]string{}, slices.Clone(vs)
	for i, v := range vs {
		salt, known := salts[v.Day]
		if !known {
			var err error
			if salt, err = s.Views.Salt(ctx, v.Day, rand.Text()); err != nil {
				return nil, err
			}
			salts[v.Day] = salt
		}
		hidden[i].Visitor = hideVisitor(salt, v.ListingID, v.Visitor)
		if v.Network != "" {
			hidden[i].Network = hideVisitor(salt, v.ListingID, v.Network)
		}
	}
	return hidden, nil
}

func hideVisitor(salt, listingID, visitor string) string {
	mac := hmac.New(sha256.New, []byte(salt))
	mac.Write([]byte(listingID + "\n" + visitor))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil)[:12])
}

// ForgetVisits removes the notes of who was counted on days that are over.
func (s *Service) ForgetVisits(ctx context.Context) error {
	before := s.Clock.Now().UTC().Add(-visitsKept).Format(time.DateOnly)
	for {
		const atOnce = 5_000
		if n, err := s.Views.Forget(ctx, before, atOnce); err != nil || n < atOnce {
			return err
		}
	}
}
