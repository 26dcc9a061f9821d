package jobseeker

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/event"
	"github.com/locumhq/locum/core/list"
	"github.com/locumhq/locum/core/mail"
	"github.com/locumhq/locum/core/task"
	"github.com/locumhq/locum/core/tx"
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
func (s *SearchService) OnJobCreated(ctx context.Context, e event.JobCreated) error {
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
func (s *SearchService) addMatchTask(ctx context.Context, at time.Time) error {
	run := task.New(matchKind, task.Maintenance, matchKind+"/"+s.NewID(), struct{}{})
	run.Group, run.RunAt = matchKind, at
	return s.Tasks.Add(ctx, run)
}

// match processes the alert queue and creates digests.
func (s *SearchService) match(ctx context.Context, _ struct{}) error {
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
	*SearchService
	id       string
	listings Gathered
	postings []Posting
	matches  []Match
	names    map[string]string // of the searches in matches
}

func (s *SearchService) matchListings(ctx context.Context, ids []string) error {
	gathered, err := s.Listings.Gather(ctx, ids)
	if err != nil {
		return err
	}
	r := run{SearchService: s, id: s.NewID(), listings: gathered, postings: gathered.Postings(), names: map[string]string{}}
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
		// Subscribers have no account in which they could read notifications.
		subscribers, err := r.Subscribers.GetByIDs(ctx, list.Distinct(created, func(m Match) string { return m.UserID }))
		if err != nil {
			return err
		}
		notices := make([]Notification, 0, len(bySearch))
		for searchID, ms := range bySearch {
			if _, ok := subscribers[ms[0].UserID]; ok {
				continue
			}
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
	newest := slices.MaxFunc(ms, func(a, b Match) int { return cmp.Compare(a.ListingID, b.ListingID) })
	i := slices.IndexFunc(r.postings, func(p Posting) bool { return p.ID == newest.ListingID })
	title, name := oneLine(r.postings[i].Title), oneLine(r.names[searchID])
	if len(ms) == 1 {
		return fmt.Sprintf("A new job for your search %s: %s", name, title)
	}
	return fmt.Sprintf("%d new jobs for your search %s, among them %s", len(ms), name, title)
}

// A digest is created in one transaction, which assigns the pending matches of a user
// to it, sets the earliest time of the next one, and adds a task that mails it. So
// every match is in exactly one digest, and a mail that is sent again after a failure
// has the same content and Message-ID.

const (
	digestKind = "jobseeker.digest"
	// digestEvery is the minimum time between two digests of a user.
	digestEvery = 24 * time.Hour
	// digestsAtOnce is the maximum number of users per transaction.
	digestsAtOnce = 100
	// maxDigested is the maximum number of matches that are read for one mail, and
	// maxShown that of listings in it.
	maxDigested = 5_000
	maxShown    = 50
	// linkFor is the lifetime of the unsubscribe link.
	linkFor = 365 * 24 * time.Hour
)

// digest is the payload of the task that mails a digest.
type digest struct {
	ID     string    `json:"id"`
	UserID string    `json:"user_id"`
	At     time.Time `json:"at"`
}

// digests creates the digests that are due.
func (s *SearchService) digests(ctx context.Context) error {
	return tx.DoBatches(ctx, s.Tx, digestsAtOnce, func(ctx context.Context) (int, error) {
		now, ids := s.Clock.Now(), make([]string, digestsAtOnce)
		for i := range ids {
			ids[i] = s.NewID()
		}
		assigned, users, err := s.Matches.AssignDigests(ctx, ids, now, now.Add(digestEvery))
		if err != nil {
			return 0, err
		}
		return users, s.Tasks.Add(ctx, list.Map(assigned, func(d Digest) task.Task {
			return task.New(digestKind, task.Mail, digestKind+"/"+d.ID, digest{ID: d.ID, UserID: d.UserID, At: now})
		})...)
	})
}

// sendDigest mails the listings of a digest that are public now.
func (s *SearchService) sendDigest(ctx context.Context, d digest) error {
	matches, err := s.Matches.ListByDigest(ctx, d.UserID, d.ID, maxDigested)
	if err != nil || len(matches) == 0 {
		return err
	}
	// A digest that is not wanted any more is dropped, so that matches do not
	// accumulate until alerts are turned on again.
	p, err := s.Profiles.Get(ctx, d.UserID)
	if err != nil || !p.JobAlerts || !p.EmailNotifications {
		return err
	}
	person, purpose, parameter, err := s.recipient(ctx, d.UserID)
	if err != nil || person.Email == "" {
		return err
	}
	entries, err := s.entries(ctx, matches)
	if err != nil || len(entries) == 0 {
		return err
	}
	token, err := s.Sealer.Seal(purpose, d.UserID, d.At.Add(linkFor))
	if err != nil {
		return err
	}
	n, what := len(entries), "new jobs match your saved searches"
	if n == 1 {
		what = "new job matches your saved searches"
	}
	body := []mail.Block{{Text: fmt.Sprintf("%d %s:", n, what)}, {Items: entries[:min(n, maxShown)]}}
	if more := n - maxShown; more > 0 {
		body = append(body, mail.Block{Text: fmt.Sprintf("And %d more.", more)})
	}
	return mail.Deliver(ctx, s.Mailer, mail.Letter{
		ID: "job-alerts-" + d.ID, To: mail.Address{Name: person.Name, Email: person.Email}, Subject: fmt.Sprintf("%d %s", n, what),
		Greeting: person.Name, Body: body, Unsubscribe: s.PublicURL + "/unsubscribe?" + parameter + "=" + url.QueryEscape(token), Home: s.PublicURL,
	})
}

// entries returns the public listings of a digest, each once, in the order of the
// matches, with the names of the searches that found them.
func (s *SearchService) entries(ctx context.Context, matches []Match) ([]mail.Entry, error) {
	ids := list.Distinct(matches, func(m Match) string { return m.ListingID })
	searches := map[string][]string{}
	for _, m := range matches {
		searches[m.ListingID] = append(searches[m.ListingID], m.SearchName)
	}
	public := map[string]Posting{}
	for chunk := range slices.Chunk(ids, listingsAtOnce) {
		found, err := s.Listings.Public(ctx, chunk)
		if err != nil {
			return nil, err
		}
		for _, p := range found {
			public[p.ID] = p
		}
	}
	var out []mail.Entry
	for _, id := range ids {
		p, ok := public[id]
		if !ok {
			continue
		}
		names := searches[id]
		slices.Sort(names)
		detail := slices.DeleteFunc([]string{oneLine(p.Company), oneLine(p.Location), "your search: " + oneLine(strings.Join(slices.Compact(names), "; "))}, isEmpty)
		out = append(out, mail.Entry{Title: oneLine(p.Title), URL: s.PublicURL + "/jobs/" + p.ID, Detail: strings.Join(detail, " · ")})
	}
	return out, nil
}

// Unsubscribe turns off the email alerts of all searches of the token's user. It
// returns fault.ErrUnauthorized for a token that is invalid or has expired.
func (s *SearchService) Unsubscribe(ctx context.Context, token string) error {
	userID, err := s.Sealer.Unseal(auth.ForUnsubscribe, token)
	if err != nil {
		return err
	}
	return s.doLocked(ctx, userID, func(ctx context.Context) error {
		searches, err := s.Searches.ListByUser(ctx, userID, MaxSearches)
		if err != nil {
			return err
		}
		for i := range searches {
			searches[i].EmailAlerts = false
		}
		return s.Searches.Replace(ctx, userID, searches)
	})
}
