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

// A digest comes into being in one transaction: what waits for a user is put
// into it, the next one is put off, and a job is added that mails it. So every
// match stands in exactly one digest, and a mail that was interrupted is the
// same mail, with the same Message-ID, when it is sent again.

const (
	digestKind = "jobseeker.digest"
	// digestEvery is how far apart a user's digests are at least.
	digestEvery = 24 * time.Hour
	// digestsAtOnce is how many users one transaction serves.
	digestsAtOnce = 100
	// maxDigested bounds what is read for one mail, and maxShown what stands in it.
	maxDigested = 5_000
	maxShown    = 50
	// linkFor is how long the link that ends the mails works.
	linkFor = 365 * 24 * time.Hour
)

// digest is the payload of the job that mails one.
type digest struct {
	ID     string    `json:"id"`
	UserID string    `json:"user_id"`
	At     time.Time `json:"at"`
}

// digests makes the digests that are due.
func (s *Service) digests(ctx context.Context) error {
	for {
		served := 0
		err := s.Tx.Do(ctx, func(ctx context.Context) error {
			now := s.Clock.Now()
			users, err := s.Alerts.Due(ctx, now, digestsAtOnce)
			if err != nil {
				return err
			}
			served = len(users)
			var jobs []task.Task
			for _, user := range users {
				d := digest{ID: s.NewID(), UserID: user, At: now}
				n, err := s.Alerts.Bundle(ctx, user, d.ID, now.Add(digestEvery))
				if err != nil {
					return err
				}
				if n > 0 {
					jobs = append(jobs, task.New(digestKind, task.Mail, digestKind+"/"+d.ID, d))
				}
			}
			return s.Tasks.Add(ctx, jobs...)
		})
		if err != nil || served < digestsAtOnce {
			return err
		}
	}
}

// sendDigest mails a digest, of what is public by now and still wanted.
func (s *Service) sendDigest(ctx context.Context, d digest) error {
	matches, err := s.Alerts.Digest(ctx, d.UserID, d.ID, maxDigested)
	if err != nil || len(matches) == 0 {
		return err
	}
	// What is wanted no more when its time comes is dropped, so that it does not
	// pile up for the day on which it is wanted again.
	p, err := s.Profiles.Find(ctx, d.UserID)
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

// entries are the listings of a digest that are public, each once, in the order
// of the matches, with the names of the searches that found them.
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

// Unsubscribe ends the digests of whom the token is for. A token that is not
// ours or too old is fault.ErrUnauthorized.
func (s *Service) Unsubscribe(ctx context.Context, token string) error {
	userID, err := s.Sealer.Unseal(auth.ForUnsubscribe, token)
	if err != nil {
		return err
	}
	return s.Tx.Do(ctx, func(ctx context.Context) error {
		if err := s.Profiles.Lock(ctx, userID); err != nil {
			return err
		}
		return s.Searches.EndAlerts(ctx, userID)
	})
}
