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
	"github.com/locumhq/locum/core/retention"
)

// Visit is the first view of a listing by a visitor on a day.
type Visit struct {
	Day       string // in UTC, 2006-01-02
	ListingID string
	// Visitor identifies the visitor. It is stored as a hash with the salt of the
	// day.
	Visitor string
	// Network is the address of a guest, hashed like Visitor, and empty for a
	// signed-in user.
	Network string
	// OrganizationID is the organization of the visitor, or empty.
	OrganizationID string
}

// Views stores the number of views of listings.
type Views interface {
	// Add counts the visits, at most 500, that have not been counted: at most
	// MaxVisitors of one listing, day and network, and none of an organization to
	// its own listing. Visits of unknown listings are ignored.
	Add(ctx context.Context, vs []Visit) error
	// GetOrCreateSalt returns the secret of the day, which all processes share. It stores
	// fresh if there is none.
	GetOrCreateSalt(ctx context.Context, day, fresh string) (string, error)
	// Get returns the numbers of views of the organization's listings by id, without
	// listings that have none, in one statement.
	Get(ctx context.Context, organizationID string, listingIDs []string) (map[string]int, error)
}

// KeepVisits is how long Visits are stored.
const KeepVisits = 48 * time.Hour

// Visits are the visitors counted on a day, and the salt of the day; their time is
// the day in UTC.
const Visits retention.Kind = "listings.visits"

const (
	// MaxVisitors is the maximum number of visitors that are counted for an
	// address, a listing and a day: a client can vary its user agent, while the
	// staff of a hospital shares an address.
	MaxVisitors = 20
	// countEvery is the interval at which visits are stored.
	countEvery = 250 * time.Millisecond
	// mostVisits is the maximum number of visits in memory while the store is
	// unavailable. Further ones are not counted.
	mostVisits   = 50_000
	visitsAtOnce = 500
)

// counter buffers visits, so that reading a listing does not write.
type counter struct {
	mu      sync.Mutex
	waiting map[Visit]struct{}
}

// add adds visits until the buffer is full.
func (c *counter) add(vs ...Visit) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.waiting == nil {
		c.waiting = map[Visit]struct{}{}
	}
	for _, v := range vs {
		if len(c.waiting) < mostVisits {
			c.waiting[v] = struct{}{}
		}
	}
}

// Seen adds a view of a listing by a signed-in user, or by a guest with the address
// and user agent.
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
	s.visits.add(v)
}

// CountViews stores the visits that Seen has added, several times a second, until
// ctx is done, and then the remaining ones. It calls failed with errors of the
// store and retries.
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
			err = s.Views.Add(ctx, hidden)
		}
		if err == nil {
			waiting = waiting[len(batch):]
			continue
		}
		c.add(waiting...)
		return err
	}
	return nil
}

// hide replaces the visitors of visits by hashes. The hash includes the listing, so
// that visits of several listings cannot be related to each other.
func (s *Service) hide(ctx context.Context, vs []Visit) ([]Visit, error) {
	salts, hidden := map[string]string{}, slices.Clone(vs)
	for i, v := range vs {
		salt, exists := salts[v.Day]
		if !exists {
			var err error
			if salt, err = s.Views.GetOrCreateSalt(ctx, v.Day, rand.Text()); err != nil {
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
