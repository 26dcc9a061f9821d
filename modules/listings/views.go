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
	// Visitor identifies the visitor: the id of a user, or the address and user agent of a
	// guest. Before a visit is stored, this value is replaced by a hash. The hash contains the
	// salt, a random text that is new every day.
	Visitor string
	// Network is the IP address of a guest, which is hashed like Visitor. It is empty for
	// a signed-in user.
	Network string
	// OrganizationID is the organization of the visitor, or empty.
	OrganizationID string
}

// Views stores the number of views of listings.
type Views interface {
	// Add counts the visits, at most 500. It ignores visits that have been counted before. For one
	// listing, day and network it counts at most MaxVisitors visits. It ignores visits of members
	// of an organization to its own listings, and visits to unknown listings.
	Add(ctx context.Context, vs []Visit) error
	// GetOrCreateSalt returns the salt of the day, which all processes share. If none is
	// stored, it stores and returns newSalt.
	GetOrCreateSalt(ctx context.Context, day, newSalt string) (string, error)
	// Get returns the numbers of views of the organization's listings, by listing id, in
	// one statement. It leaves out listings without views.
	Get(ctx context.Context, organizationID string, listingIDs []string) (map[string]int, error)
}

// KeepVisits is how long Visits are stored.
const KeepVisits = 48 * time.Hour

// Visits is the retention kind of the visits that have been counted, and of the salts. Their
// age is counted from their day, in UTC.
const Visits retention.Kind = "listings.visits"

const (
	// MaxVisitors is the maximum number of visitors from one IP address that are counted per
	// listing and day. It is more than 1 because the staff of a hospital shares an address. It is
	// limited because a client can appear as many visitors by changing its user agent.
	MaxVisitors = 20
	// flushInterval is the interval at which buffered visits are stored.
	flushInterval = 250 * time.Millisecond
	// lastFlushTimeout limits the storing of visits when the process ends.
	lastFlushTimeout = 2 * time.Second
	// maxBufferedVisits is the maximum number of visits in memory while the store is
	// unavailable. Further visits are not counted.
	maxBufferedVisits = 50_000
	// visitBatchSize is the maximum number of visits of one call of Views.Add.
	visitBatchSize = 500
)

// visitBuffer collects visits in memory, so that a request for a listing does not have to
// write to the store.
type visitBuffer struct {
	mu      sync.Mutex
	pending map[Visit]struct{}
}

// add adds visits until the buffer is full.
func (c *visitBuffer) add(vs ...Visit) {
	c.mu.Lock()
	defer c.mu.Unlock()

	if c.pending == nil {
		c.pending = map[Visit]struct{}{}
	}

	for _, v := range vs {
		if len(c.pending) < maxBufferedVisits {
			c.pending[v] = struct{}{}
		}
	}
}

// AddVisit adds a visit to a listing by a signed-in user, or by a guest with the address
// and user agent.
func (s *Service) AddVisit(by auth.Actor, address, userAgent, listingID string) {
	listingID, ok := id.Canonical(listingID)
	if !ok {
		return // not the id of a listing
	}

	day := s.Clock.Now().UTC().Format(time.DateOnly)

	v := Visit{Day: day, ListingID: listingID, Visitor: by.UserID, OrganizationID: by.OrganizationID}
	if by.Guest() {
		v.Visitor, v.Network = address+"\n"+userAgent, address
	}

	s.visits.add(v)
}

// CountViews stores the visits that AddVisit has added, several times a second, until ctx is
// done. Then it stores the remaining visits. It reports errors of the store by calling
// onError, and retries.
func (s *Service) CountViews(ctx context.Context, onError func(error)) {
	tick := time.NewTicker(flushInterval)
	defer tick.Stop()

	for {
		select {
		case <-tick.C:
			if err := s.flushVisits(ctx); err != nil && ctx.Err() == nil {
				onError(err)
			}
		case <-ctx.Done():
			// The process ends. Store the remaining visits, but do not delay the end for long.
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastFlushTimeout)
			defer cancel()

			if err := s.flushVisits(ctx); err != nil {
				onError(err)
			}

			return
		}
	}
}

// flushVisits stores the buffered visits. After an error the visits that were not stored
// return to the buffer.
func (s *Service) flushVisits(ctx context.Context) error {
	buffer := &s.visits
	buffer.mu.Lock()
	notStored := slices.Collect(maps.Keys(buffer.pending))
	buffer.pending = nil
	buffer.mu.Unlock()

	for batch := range slices.Chunk(notStored, visitBatchSize) {
		hashed, err := s.pseudonymize(ctx, batch)
		if err == nil {
			err = s.Views.Add(ctx, hashed)
		}

		if err != nil {
			buffer.add(notStored...) // the visits of this batch and of the following batches
			return err
		}

		notStored = notStored[len(batch):]
	}

	return nil
}

// pseudonymize returns the visits with hashes in place of visitors and networks. A hash
// depends on the listing, so that visits of a visitor to several listings cannot be related
// to each other.
func (s *Service) pseudonymize(ctx context.Context, vs []Visit) ([]Visit, error) {
	salts, hashed := map[string]string{}, slices.Clone(vs)
	for i, v := range vs {
		salt, exists := salts[v.Day]
		if !exists {
			var err error
			if salt, err = s.Views.GetOrCreateSalt(ctx, v.Day, rand.Text()); err != nil {
				return nil, err
			}

			salts[v.Day] = salt
		}

		hashed[i].Visitor = hashVisitor(salt, v.ListingID, v.Visitor)
		if v.Network != "" {
			hashed[i].Network = hashVisitor(salt, v.ListingID, v.Network)
		}
	}

	return hashed, nil
}

// hashVisitor returns a hash of the visitor, or of a network, for one listing and day.
func hashVisitor(salt, listingID, visitor string) string {
	mac := hmac.New(sha256.New, []byte(salt))
	mac.Write([]byte(listingID + "\n" + visitor))

	// 96 bits are enough to distinguish the visitors of one listing and day.
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil)[:12])
}
