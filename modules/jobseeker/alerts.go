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

// Alerts notify users of new listings that match their saved searches. New public
// listings are collected for a few seconds and read into memory, where every saved
// search is evaluated on all of them at once. During a run the database only returns
// pages of saved searches, so the cost grows with the number of searches and not with
// searches times listings.
//
// A listing counts as new only when it becomes public for the first time. A listing
// that is edited or published again creates no alerts, because users could already
// find it.

// Match is a new listing that matches a saved search.
type Match struct {
	SearchID, ListingID string
	// UserID is the owner of the saved search: a user, or a subscriber, who gets alerts
	// without an account.
	UserID string
	At     time.Time
	// Email is true if the match belongs in a digest, an e-mail about the new matches of a
	// user.
	Email bool
	// SearchName is the name of the saved search. Only Matches.ListByDigest sets it.
	SearchName string
}

const (
	matchTaskKind = "jobseeker.match"
	// collectDelay is the time between the first new listing and the run that matches
	// it, so that listings which are published together share a run.
	collectDelay = 5 * time.Second
	// matchTimeout is the maximum duration of a run.
	matchTimeout = 10 * time.Minute

	// listingBatchSize is the maximum number of listings that are held in memory at a time.
	listingBatchSize = 1_000
	// searchBatchSize is the number of saved searches per query.
	searchBatchSize = 1_000
	// matchBatchSize is the number of matches in memory at which a run stores them. It limits the
	// size of a transaction.
	matchBatchSize = 2_000
	// notificationBatchSize is the number of notifications per statement.
	notificationBatchSize = 500
)

// OnJobCreated adds a new listing to the alert queue, and a task that processes the
// queue.
func (s *SearchService) OnJobCreated(ctx context.Context, e event.JobCreated) error {
	return s.Tx.Do(ctx, func(ctx context.Context) error {
		if err := s.AlertQueue.Add(ctx, e.JobID); err != nil {
			return err
		}

		// A pending task may run before this transaction commits and miss the listing.
		// In that case the next task or the periodic task processes it.
		return s.addMatchTask(ctx, s.Clock.Now().Add(collectDelay))
	})
}

// addMatchTask adds a task that processes the alert queue, unless such a task is already
// waiting. The task group ensures that only one of these tasks runs at a time.
func (s *SearchService) addMatchTask(ctx context.Context, at time.Time) error {
	run := task.New(matchTaskKind, task.Maintenance, matchTaskKind+"/"+s.NewID(), struct{}{})
	run.Group = matchTaskKind
	run.RunAt = at

	return s.Tasks.Add(ctx, run)
}

// processAlertQueue matches all queued listings and then creates the digests that are due. Listings
// are removed from the queue after their matches are stored. If a run is interrupted in between, it
// is repeated. The repeated run stores no match twice.
func (s *SearchService) processAlertQueue(ctx context.Context, _ struct{}) error {
	for {
		ids, err := s.AlertQueue.List(ctx, listingBatchSize)
		if err != nil {
			return err
		}

		if len(ids) == 0 {
			return s.createDigests(ctx)
		}

		if err := s.matchListings(ctx, ids); err != nil {
			return err
		}

		if err := s.AlertQueue.Delete(ctx, ids); err != nil {
			return err
		}
	}
}

// matchRun matches one batch of listings with all saved searches.
type matchRun struct {
	*SearchService
	// id is part of Notification.Cause, so that each run notifies a user once per search.
	id       string
	batch    ListingBatch
	listings []Listing // the listings of batch, in its order
	// matches are the matches since the last flush.
	matches []Match
	// searchNames maps the ids of the searches in matches to their names.
	searchNames map[string]string
}

// matchListings matches the listings that are public with all saved searches, which it reads
// in pages, in the order of their ids.
func (s *SearchService) matchListings(ctx context.Context, ids []string) error {
	batch, err := s.Listings.Gather(ctx, ids)
	if err != nil {
		return err
	}

	r := matchRun{
		SearchService: s,
		id:            s.NewID(),
		batch:         batch,
		listings:      batch.Listings(),
		searchNames:   map[string]string{},
	}
	if len(r.listings) == 0 {
		return nil
	}

	for lastID := ""; ; {
		searches, err := s.Searches.List(ctx, SearchFilter{AfterID: lastID}, searchBatchSize)
		if err != nil {
			return err
		}

		for _, search := range searches {
			if err := r.addMatches(ctx, search); err != nil {
				return err
			}

			if len(r.matches) >= matchBatchSize {
				if err := r.flush(ctx); err != nil {
					return err
				}
			}
		}

		isLastPage := len(searches) < searchBatchSize
		if isLastPage {
			return r.flush(ctx)
		}

		lastID = searches[len(searches)-1].ID
	}
}

// addMatches evaluates one saved search and adds its matches to the run.
func (r *matchRun) addMatches(ctx context.Context, search Search) error {
	now := r.Clock.Now()
	terms := search.Terms
	terms.Query = cmp.Or(search.Resolved, search.Query)

	matching, err := r.batch.Matching(ctx, terms)
	if err != nil {
		return err
	}

	for _, i := range matching {
		listing := r.listings[i]

		// The user could already find a listing that is older than the search.
		wasPublicBeforeSearch := listing.PostedAt.Before(search.CreatedAt)
		// The event about a listing may be delivered again very late. The first match may
		// have expired by then, so that nothing would prevent a second alert.
		isTooOld := now.Sub(listing.PostedAt) > matchLifetime/2

		if wasPublicBeforeSearch || isTooOld {
			continue
		}

		r.searchNames[search.ID] = search.Name
		r.matches = append(r.matches, Match{
			SearchID:  search.ID,
			ListingID: listing.ID,
			UserID:    search.UserID,
			At:        now,
			Email:     search.EmailAlerts,
		})
	}

	return nil
}

// flush stores the matches of the run, and a notification for every search with new matches,
// and empties the run. One transaction stores both, so that a repeated run does not notify a
// user again.
func (r *matchRun) flush(ctx context.Context) error {
	if len(r.matches) == 0 {
		return nil
	}

	err := r.Tx.Do(ctx, func(ctx context.Context) error {
		// Matches that an earlier run has stored are not returned.
		newMatches, err := r.Matches.Create(ctx, r.matches)
		if err != nil {
			return err
		}

		notifications, err := r.notificationsAbout(ctx, newMatches)
		if err != nil {
			return err
		}

		for chunk := range slices.Chunk(notifications, notificationBatchSize) {
			if err := r.Notifications.Create(ctx, chunk...); err != nil {
				return err
			}
		}

		return nil
	})

	r.matches = r.matches[:0]
	clear(r.searchNames)

	return err
}

// notificationsAbout returns one notification for every search that has matches. It returns none
// for searches of subscribers, because they have no account in which they could read it.
func (r *matchRun) notificationsAbout(ctx context.Context, matches []Match) ([]Notification, error) {
	matchesBySearch := map[string][]Match{}
	for _, m := range matches {
		matchesBySearch[m.SearchID] = append(matchesBySearch[m.SearchID], m)
	}

	subscribers, err := r.Subscribers.GetByIDs(ctx, list.Distinct(matches, func(m Match) string { return m.UserID }))
	if err != nil {
		return nil, err
	}

	notifications := make([]Notification, 0, len(matchesBySearch))
	for searchID, matches := range matchesBySearch {
		userID := matches[0].UserID // all matches of a search have the same user
		if _, isSubscriber := subscribers[userID]; isSubscriber {
			continue
		}

		notifications = append(notifications, r.newNotification(Notification{
			UserID:    userID,
			Cause:     searchID + "/" + r.id,
			Type:      AboutJobs,
			SubjectID: searchID,
			Message:   r.notificationText(searchID, matches),
		}))
	}

	// Two runs that store their notifications in the same order cannot deadlock.
	slices.SortFunc(notifications, func(a, b Notification) int { return strings.Compare(a.Cause, b.Cause) })

	return notifications, nil
}

// notificationText returns the text of the notification about new matches of a search. It
// names the newest listing, which is the one with the greatest id, because ids are UUIDv7.
func (r *matchRun) notificationText(searchID string, matches []Match) string {
	newest := slices.MaxFunc(matches, func(a, b Match) int { return cmp.Compare(a.ListingID, b.ListingID) })
	i := slices.IndexFunc(r.listings, func(l Listing) bool { return l.ID == newest.ListingID })

	title, name := oneLine(r.listings[i].Title), oneLine(r.searchNames[searchID])
	if len(matches) == 1 {
		return fmt.Sprintf("A new job for your search %s: %s", name, title)
	}

	return fmt.Sprintf("%d new jobs for your search %s, among them %s", len(matches), name, title)
}

// A digest is an e-mail about the new matches of a user. One transaction creates it: it
// assigns the user's pending matches to the digest, sets the earliest time of the user's
// next digest, and adds a task that sends the e-mail. Every match is therefore in exactly
// one digest, and an e-mail that is sent again after a failure has the same content and
// Message-ID.

const (
	digestTaskKind = "jobseeker.digest"
	// digestInterval is the minimum time between two digests of a user.
	digestInterval = 24 * time.Hour
	// digestBatchSize is the maximum number of users per transaction.
	digestBatchSize = 100
	// maxDigestMatches is the maximum number of matches that are read for one e-mail.
	maxDigestMatches = 5_000
	// maxDigestListings is the maximum number of listings in one e-mail. The text only
	// counts the others.
	maxDigestListings = 50
	// unsubscribeLinkLifetime is the lifetime of the unsubscribe link.
	unsubscribeLinkLifetime = 365 * 24 * time.Hour
)

// digestPayload is the payload of the task that sends a digest.
type digestPayload struct {
	ID     string    `json:"id"`
	UserID string    `json:"user_id"`
	At     time.Time `json:"at"`
}

// createDigests creates the digests that are due, in batches of users.
func (s *SearchService) createDigests(ctx context.Context) error {
	return tx.DoBatches(ctx, s.Tx, digestBatchSize, func(ctx context.Context) (int, error) {
		// AssignDigests needs an id for every user that it may select.
		now, newIDs := s.Clock.Now(), make([]string, digestBatchSize)
		for i := range newIDs {
			newIDs[i] = s.NewID()
		}

		// There may be fewer digests than users: a user whose pending matches were deleted
		// gets none.
		digests, users, err := s.Matches.AssignDigests(ctx, newIDs, now, now.Add(digestInterval))
		if err != nil {
			return 0, err
		}

		return users, s.Tasks.Add(ctx, list.Map(digests, func(d Digest) task.Task {
			return task.New(digestTaskKind, task.Mail, digestTaskKind+"/"+d.ID, digestPayload{ID: d.ID, UserID: d.UserID, At: now})
		})...)
	})
}

// sendDigest sends an e-mail with the listings of a digest that are still public. It sends
// nothing if none of them is public, or if the user no longer wants alerts or has no account.
func (s *SearchService) sendDigest(ctx context.Context, digest digestPayload) error {
	matches, err := s.Matches.ListByDigest(ctx, digest.UserID, digest.ID, maxDigestMatches)
	if err != nil || len(matches) == 0 {
		return err
	}

	// A digest of a user who has turned alerts off is dropped, so that its matches are
	// not sent when the user turns alerts on again.
	profile, err := s.Profiles.Get(ctx, digest.UserID)
	if err != nil || !profile.JobAlerts || !profile.EmailNotifications {
		return err
	}

	recipient, err := s.findDigestRecipient(ctx, digest.UserID)
	if err != nil || recipient.Email == "" {
		return err
	}

	entries, err := s.digestEntries(ctx, matches)
	if err != nil || len(entries) == 0 {
		return err
	}

	token, err := s.Sealer.Seal(recipient.purpose, digest.UserID, digest.At.Add(unsubscribeLinkLifetime))
	if err != nil {
		return err
	}

	listings := len(entries)

	subject := fmt.Sprintf("%d new jobs match your %s", listings, recipient.searches)
	if listings == 1 {
		subject = "1 new job matches your " + recipient.searches
	}

	body := []mail.Block{{Text: subject + ":"}, {Items: entries[:min(listings, maxDigestListings)]}}
	if more := listings - maxDigestListings; more > 0 {
		body = append(body, mail.Block{Text: fmt.Sprintf("And %d more.", more)})
	}

	// The page of saved searches needs an account, which a subscriber does not have.
	hasAccount := recipient.purpose == auth.ForUnsubscribe
	if s.HasSite && hasAccount {
		body = append(body, mail.Block{Link: &mail.Link{Label: "Change your saved searches", URL: s.PublicURL + "/account/searches"}})
	}

	return mail.Deliver(ctx, s.Mailer, mail.Letter{
		ID:          "job-alerts-" + digest.ID,
		To:          mail.Address{Name: recipient.Name, Email: recipient.Email},
		Subject:     subject,
		Greeting:    recipient.Name,
		Body:        body,
		Unsubscribe: s.PublicURL + "/unsubscribe?" + recipient.parameter + "=" + url.QueryEscape(token),
		Home:        s.PublicURL,
	})
}

// digestEntries returns an entry for every public listing of a digest, in the order of the
// matches. Each listing has one entry, with the names of all searches that it matches.
func (s *SearchService) digestEntries(ctx context.Context, matches []Match) ([]mail.Entry, error) {
	ids := list.Distinct(matches, func(m Match) string { return m.ListingID })

	searchNamesByListing := map[string][]string{}
	for _, m := range matches {
		searchNamesByListing[m.ListingID] = append(searchNamesByListing[m.ListingID], m.SearchName)
	}

	publicByID := map[string]Listing{}
	for chunk := range slices.Chunk(ids, listingBatchSize) {
		listings, err := s.Listings.Public(ctx, chunk)
		if err != nil {
			return nil, err
		}

		for _, listing := range listings {
			publicByID[listing.ID] = listing
		}
	}

	var entries []mail.Entry
	for _, id := range ids {
		listing, isPublic := publicByID[id]
		if !isPublic {
			continue
		}

		names := searchNamesByListing[id]
		slices.Sort(names)

		searches := "your search: " + oneLine(strings.Join(slices.Compact(names), "; "))
		details := slices.DeleteFunc([]string{oneLine(listing.Company), oneLine(listing.Location), searches}, isEmpty)
		entries = append(entries, mail.Entry{
			Title:  oneLine(listing.Title),
			URL:    s.PublicURL + "/jobs/" + listing.ID,
			Detail: strings.Join(details, " · "),
		})
	}

	return entries, nil
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
