package jobseeker

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
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
	// Email says that the user wanted mail of it.
	Email bool
	// SearchName is filled where it says so.
	SearchName string
}

const (
	matchKind = "jobseeker.match"
	// collectFor is how long new listings are collected before they are matched.
	collectFor = 5 * time.Second
	// matchWithin bounds a run.
	matchWithin = 10 * time.Minute
	// claimFor is how long listings are a run's own. It renews that as it goes, so
	// that those of one that was killed are soon another's.
	claimFor = 40 * time.Second

	listingsAtOnce = 1_000
	searchesAtOnce = 1_000
	matchesAtOnce  = 2_000 // beyond which a transaction is closed
)

// OnJobCreated collects a new listing and sees to it that a run comes by.
func (s *Service) OnJobCreated(ctx context.Context, e event.JobCreated) error {
	return s.Tx.Do(ctx, func(ctx context.Context) error {
		if err := s.Alerts.Collect(ctx, e.JobID); err != nil {
			return err
		}
		// One job for all of a window. Its run may miss a listing whose transaction
		// ends late; the next run takes it, if need be the periodic one.
		at := s.Clock.Now().Truncate(collectFor).Add(collectFor)
		run := task.New(matchKind, task.Maintenance, matchKind+"/"+strconv.FormatInt(at.Unix(), 10), struct{}{})
		run.RunAt = at
		return s.Tasks.Add(ctx, run)
	})
}

// match holds what was collected against all searches.
func (s *Service) match(ctx context.Context) error {
	for {
		now := s.Clock.Now()
		ids, err := s.Alerts.Claim(ctx, listingsAtOnce, now, now.Add(claimFor))
		if err != nil {
			return err
		}
		if len(ids) == 0 {
			return s.digests(ctx)
		}
		if err := s.matchListings(ctx, ids); err != nil {
			return err
		}
		if err := s.Alerts.Done(ctx, ids); err != nil {
			return err
		}
	}
}

// run is one walk through the searches.
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
	renew := s.Clock.Now().Add(claimFor / 2)
	for last := ""; ; {
		if now := s.Clock.Now(); now.After(renew) {
			if err := s.Alerts.Keep(ctx, ids, now.Add(claimFor)); err != nil {
				return err
			}
			renew = now.Add(claimFor / 2)
		}
		searches, err := s.Searches.After(ctx, last, searchesAtOnce)
		if err != nil {
			return err
		}
		for _, search := range searches {
			if err := r.hold(ctx, search); err != nil {
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

// hold holds one search against the listings.
func (r *run) hold(ctx context.Context, search Search) error {
	now := r.Clock.Now()
	terms := search.Terms
	terms.Query = cmp.Or(search.Resolved, search.Query)
	matching, err := r.listings.Matching(ctx, terms)
	for _, i := range matching {
		p := r.postings[i]
		// It was there to be seen when the search was saved, or it comes far too
		// late, when its matches may be forgotten.
		if p.PostedAt.Before(search.CreatedAt) || now.Sub(p.PostedAt) > matchesKeptFor/2 {
			continue
		}
		r.names[search.ID] = search.Name
		r.matches = append(r.matches, Match{SearchID: search.ID, ListingID: p.ID, UserID: search.UserID, At: now, Email: search.EmailAlerts})
	}
	return err
}

// flush stores matches together with what is told of the new ones, so that a
// run that is done again tells of nothing twice.
func (r *run) flush(ctx context.Context) error {
	if len(r.matches) == 0 {
		return nil
	}
	err := r.Tx.Do(ctx, func(ctx context.Context) error {
		deaf, err := r.deaf(ctx)
		if err != nil {
			return err
		}
		for i, m := range r.matches {
			r.matches[i].Email = m.Email && !deaf[m.UserID]
		}
		fresh, err := r.Alerts.AddMatches(ctx, r.matches)
		if err != nil || len(fresh) == 0 {
			return err
		}
		var waiting []string
		bySearch := map[string][]Match{}
		for _, m := range fresh {
			if !deaf[m.UserID] {
				bySearch[m.SearchID] = append(bySearch[m.SearchID], m)
			}
			if m.Email {
				waiting = append(waiting, m.UserID)
			}
		}
		notices := make([]Notification, 0, len(bySearch))
		for searchID, ms := range bySearch {
			notices = append(notices, r.notice(searchID+"/"+r.id, ms[0].UserID, AboutJobs, r.news(searchID, ms)))
		}
		// In one order, so that two runs do not wait for each other.
		slices.SortFunc(notices, func(a, b Notification) int { return strings.Compare(a.Cause, b.Cause) })
		for chunk := range slices.Chunk(notices, 500) {
			if err := r.Notifications.Add(ctx, chunk...); err != nil {
				return err
			}
		}
		slices.Sort(waiting)
		return r.Alerts.Expect(ctx, slices.Compact(waiting), r.Clock.Now())
	})
	r.matches = r.matches[:0]
	clear(r.names)
	return err
}

// deaf are those among the matches' users who want to hear of none.
func (r *run) deaf(ctx context.Context) (map[string]bool, error) {
	users := make([]string, len(r.matches))
	for i, m := range r.matches {
		users[i] = m.UserID
	}
	slices.Sort(users)
	found, err := r.Profiles.Deaf(ctx, slices.Compact(users))
	out := make(map[string]bool, len(found))
	for _, id := range found {
		out[id] = true
	}
	return out, err
}

// news says what is new for a search.
func (r *run) news(searchID string, ms []Match) string {
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
