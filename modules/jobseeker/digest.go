package jobseeker

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/mail"
	"github.com/locumhq/locum/core/task"
)

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
func (s *Service) digests(ctx context.Context) error {
	for {
		served := 0
		err := s.Tx.Do(ctx, func(ctx context.Context) error {
			now, ids := s.Clock.Now(), make([]string, digestsAtOnce)
			for i := range ids {
				ids[i] = s.NewID()
			}
			assigned, users, err := s.Matches.AssignDigests(ctx, ids, now, now.Add(digestEvery))
			if served = users; err != nil {
				return err
			}
			mails := make([]task.Task, len(assigned))
			for i, d := range assigned {
				mails[i] = task.New(digestKind, task.Mail, digestKind+"/"+d.ID, digest{ID: d.ID, UserID: d.UserID, At: now})
			}
			return s.Tasks.Add(ctx, mails...)
		})
		if err != nil || served < digestsAtOnce {
			return err
		}
	}
}

// sendDigest mails the listings of a digest that are public now.
func (s *Service) sendDigest(ctx context.Context, d digest) error {
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
	people, err := s.People.ByIDs(ctx, []string{d.UserID})
	person, there := people[d.UserID]
	if err != nil || !there || person.Email == "" {
		return err
	}
	entries, err := s.entries(ctx, matches)
	if err != nil || len(entries) == 0 {
		return err
	}
	token, err := s.Sealer.Seal(auth.ForUnsubscribe, d.UserID, d.At.Add(linkFor))
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
		Greeting: person.Name, Body: body, Unsubscribe: s.PublicURL + "/unsubscribe?token=" + url.QueryEscape(token), Home: s.PublicURL,
	})
}

// entries returns the public listings of a digest, each once, in the order of the
// matches, with the names of the searches that found them.
func (s *Service) entries(ctx context.Context, matches []Match) ([]mail.Entry, error) {
	var ids []string
	searches := map[string][]string{}
	for _, m := range matches {
		if _, seen := searches[m.ListingID]; !seen {
			ids = append(ids, m.ListingID)
		}
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
		detail := slices.DeleteFunc([]string{oneLine(p.Company), oneLine(p.Location), "your search: " + oneLine(strings.Join(slices.Compact(names), "; "))},
			func(t string) bool { return t == "" })
		out = append(out, mail.Entry{Title: oneLine(p.Title), URL: s.PublicURL + "/jobs/" + p.ID, Detail: strings.Join(detail, " · ")})
	}
	return out, nil
}

// Unsubscribe turns off the email alerts of all searches of the token's user. It
// returns fault.ErrUnauthorized for a token that is invalid or has expired.
func (s *Service) Unsubscribe(ctx context.Context, token string) error {
	userID, err := s.Sealer.Unseal(auth.ForUnsubscribe, token)
	if err != nil {
		return err
	}
	return s.Tx.Do(ctx, func(ctx context.Context) error {
		if err := s.lock(ctx, userID); err != nil {
			return err
		}
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
