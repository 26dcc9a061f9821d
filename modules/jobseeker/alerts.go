package jobseeker

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/locumhq/locum/core/event"
	"github.com/locumhq/locum/core/task"
)

// Alerts reverse the search: new public listings are collected for a few seconds
// and read into memory, where every saved search is evaluated on them. The cost
// of a run grows with the number of searches, not with searches times listings,
// and the database returns pages of searches only.
//
// A listing is new once, when it first becomes public. A listing that is public
// again or edited is not: users who saved a search meanwhile have seen it.

// Match is a listing that a search has found.
type Match struct {
	SearchID, ListingID string
	UserID              string
	At                  time.Time
	// Email is true if the match is to be mailed in a digest.
	Email bool
	// SearchName is only set by methods that document it.
	SearchName string
}

const (
	matchKind = "jobseeker.match"
	// collectFor is how long new listings are collected before they are matched.
	collectFor = 5 * time.Second
	// matchWithin bounds a run.
	matchWithin = 10 * time.Minute

	listingsAtOnce = 1_000
	searchesAtOnce = 1_000
	matchesAtOnce  = 2_000 // beyond which a transaction is closed
)

// OnJobCreated adds a new listing to the alert queue and a task that processes it.
func (s *Service) OnJobCreated(ctx context.Context, e event.JobCreated) error {
	return s.Tx.Do(ctx, func(ctx context.Context) error {
		if err := s.AlertQueue.Add(ctx, e.JobID); err != nil {
			return err
		}
		// If a task waits that misses a listing whose transaction commits late, the next
		// task or the periodic one processes it.
		return s.addMatchTask(ctx, s.Clock.Now().Add(collectFor))
	})
}

// addMatchTask adds a task that processes the alert queue, unless one waits. One runs at
// a time.
func (s *Service) addMatchTask(ctx context.Context, at time.Time) error {
	run := task.New(matchKind, task.Maintenance, matchKind+"/"+s.NewID(), struct{}{})
	run.Group, run.RunAt = matchKind, at
	return s.Tasks.Add(ctx, run)
}

// match processes the alert queue and creates digests.
func (s *Service) match(ctx context.Context, _ struct{}) error {
	for {
		ids, err := s.AlertQueue.List(ctx, listingsAtOnce)
		if err != nil {
			return err
		}
		if len(ids) == 0 {
			return s.digests(ctx)
		}
		if err := s.matchListings(ctx, ids); err != nil {
			return err
		}
		if err := s.AlertQueue.Delete(ctx, ids); err != nil {
			return err
		}
	}
}

// run matches listings with all searches.
type run struct {
	*Service
	id       string
	listings Gathered
	postings []Posting
	matches  []Match
	names    map[string]string // of the searches in matches
}

func (s *Service) matchListings(ctx context.Context, ids []string) error {
	gathered, err := s.Listings.Gather(ctx, ids)
	if err != nil {
		return err
	}
	r := run{Service: s, id: s.NewID(), listings: gathered, postings: gathered.Postings(), names: map[string]string{}}
	if len(r.postings) == 0 {
		return nil
	}
	for last := ""; ; {
		searches, err := s.Searches.List(ctx, SearchFilter{AfterID: last}, searchesAtOnce)
		if err != nil {
			return err
		}
		for _, search := range searches {
			if err := r.evaluate(ctx, search); err != nil {
				return err
			}
			if len(r.matches) >= matchesAtOnce {
				if err := r.flush(ctx); err != nil {
					return err
				}
			}
		}
		if len(searches) < searchesAtOnce {
			return r.flush(ctx)
		}
		last = searches[len(searches)-1].ID
	}
}

// evaluate adds the matches of one search.
func (r *run) evaluate(ctx context.Context, search Search) error {
	now := r.Clock.Now()
	terms := search.Terms
	terms.Query = cmp.Or(search.Resolved, search.Query)
	matching, err := r.listings.Matching(ctx, terms)
	for _, i := range matching {
		p := r.postings[i]
		// The listing was public before the search was saved, or the event is so late
		// that the matches may have expired.
		if p.PostedAt.Before(search.CreatedAt) || now.Sub(p.PostedAt) > matchesKeptFor/2 {
			continue
		}
		r.names[search.ID] = search.Name
		r.matches = append(r.matches, Match{SearchID: search.ID, ListingID: p.ID, UserID: search.UserID, At: now, Email: search.EmailAlerts})
	}
	return err
}

// flush stores the matches and the notifications of new ones in one transaction, so
// that a repeated run creates no second notification.
func (r *run) flush(ctx context.Context) error {
	if len(r.matches) == 0 {
		return nil
	}
	err := r.Tx.Do(ctx, func(ctx context.Context) error {
		created, err := r.Matches.Create(ctx, r.matches)
		if err != nil {
			return err
		}
		bySearch := map[string][]Match{}
		for _, m := range created {
			bySearch[m.SearchID] = append(bySearch[m.SearchID], m)
		}
		notices := make([]Notification, 0, len(bySearch))
		for searchID, ms := range bySearch {
			notices = append(notices, r.notice(searchID+"/"+r.id, ms[0].UserID, AboutJobs, r.message(searchID, ms)))
		}
		// A fixed order avoids deadlocks between two runs.
		slices.SortFunc(notices, func(a, b Notification) int { return strings.Compare(a.Cause, b.Cause) })
		for chunk := range slices.Chunk(notices, 500) {
			if err := r.Notifications.Create(ctx, chunk...); err != nil {
				return err
			}
		}
		return nil
	})
	r.matches = r.matches[:0]
	clear(r.names)
	return err
}

// message returns the text of the notification about new matches of a search.
func (r *run) message(searchID string, ms []Match) string {
	newest := ms[0].ListingID
	for _, m := range ms {
		newest = max(newest, m.ListingID)
	}
	i := slices.IndexFunc(r.postings, func(p Posting) bool { return p.ID == newest })
	title, name := oneLine(r.postings[i].Title), oneLine(r.names[searchID])
	if len(ms) == 1 {
		return fmt.Sprintf("A new job for your search %s: %s", name, title)
	}
	return fmt.Sprintf("%d new jobs for your search %s, among them %s", len(ms), name, title)
}
