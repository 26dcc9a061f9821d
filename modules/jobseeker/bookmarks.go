package jobseeker

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/list"
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/core/tx"
	"github.com/locumhq/locum/core/valid"
)

// Bookmark is a listing that a user has saved. It remains when the listing closes.
type Bookmark struct {
	ID        string
	UserID    string
	ListingID string
	Notes     string
	SavedAt   time.Time
}

// SavedJob is a bookmark with the properties of its listing.
type SavedJob struct {
	Bookmark
	Brief
}

// MaxBookmarks is the maximum number of bookmarks of a user.
const MaxBookmarks = 1_000

// BookmarkService implements the use cases of saved jobs.
type BookmarkService struct {
	*Shared
	Bookmarks Bookmarks
}

// SaveJobInput names the listing to save.
type SaveJobInput struct {
	ListingID string `json:"listingId" validate:"required"`
}

// SaveJob saves a public listing for the caller. It returns ErrAlreadySaved if the
// caller has a bookmark for it.
func (s *BookmarkService) SaveJob(ctx context.Context, by auth.Actor, in SaveJobInput) (SavedJob, error) {
	return s.save(ctx, by, in.ListingID, ErrAlreadySaved)
}

// Bookmark is SaveJob with another error: ErrAlreadyBookmarked.
func (s *BookmarkService) Bookmark(ctx context.Context, by auth.Actor, in SaveJobInput) (SavedJob, error) {
	return s.save(ctx, by, in.ListingID, ErrAlreadyBookmarked)
}

// save stores a bookmark, or returns the error exists.
func (s *BookmarkService) save(ctx context.Context, by auth.Actor, listingID string, exists error) (SavedJob, error) {
	if err := cmp.Or(by.RequireSeeker(), valid.Value("listingId", listingID, "required")); err != nil {
		return SavedJob{}, err
	}
	listingID, err := canonical(by, listingID, ErrListingNotFound)
	if err != nil {
		return SavedJob{}, err
	}
	brief, notPublic := s.publicBrief(ctx, listingID)
	b := Bookmark{UserID: by.UserID, ListingID: listingID}
	err = s.doLocked(ctx, by.UserID, func(ctx context.Context) error {
		have, err := s.SavedAmong(ctx, by.UserID, []string{listingID})
		if err != nil {
			return err
		}
		if have[listingID] { // even if the listing is not public any more
			return exists
		}
		if notPublic != nil {
			return notPublic
		}
		n, err := s.SavedCount(ctx, by.UserID)
		if err != nil {
			return err
		}
		if n >= MaxBookmarks {
			return ErrTooManyBookmarks
		}
		b.ID, b.SavedAt = s.NewID(), s.Clock.Now()
		if err := s.Bookmarks.Upsert(ctx, b); err != nil {
			return err
		}
		return s.addActivity(ctx, by, "bookmark", "saved", "Saved "+titleOf(brief))
	})
	return SavedJob{b, brief}, err
}

// MyBookmarks lists the caller's bookmarks, newest first.
func (s *BookmarkService) MyBookmarks(ctx context.Context, by auth.Actor, r page.Request) (out page.Result[SavedJob], err error) {
	if err := cmp.Or(by.RequireSeeker(), r.CheckID()); err != nil {
		return out, err
	}
	found, err := s.Bookmarks.List(ctx, by.UserID, BookmarkFilter{}, r)
	if err != nil {
		return out, err
	}
	jobs, err := s.describe(ctx, found.Items)
	return page.WithItems(found, jobs), err
}

func listingOf(b Bookmark) string { return b.ListingID }

// describe adds the properties of the listings.
func (s *BookmarkService) describe(ctx context.Context, bs []Bookmark) ([]SavedJob, error) {
	briefs, err := s.Listings.Briefs(ctx, list.Map(bs, listingOf))
	if err != nil {
		return nil, err
	}
	return list.Map(bs, func(b Bookmark) SavedJob { return SavedJob{b, briefs[b.ListingID]} }), nil
}

// MyBookmark returns one of the caller's bookmarks.
func (s *BookmarkService) MyBookmark(ctx context.Context, by auth.Actor, bookmarkID string) (SavedJob, error) {
	b, err := s.bookmark(ctx, by, bookmarkID)
	if err != nil {
		return SavedJob{}, err
	}
	jobs, err := s.describe(ctx, []Bookmark{b})
	return list.First(jobs, err, ErrBookmarkNotFound)
}

// NoteInput sets the notes of a bookmark. Without Notes it changes nothing.
type NoteInput struct {
	Notes *string `json:"notes" validate:"omitempty,max=2000"`
}

// Note stores the notes of one of the caller's bookmarks.
func (s *BookmarkService) Note(ctx context.Context, by auth.Actor, bookmarkID string, in NoteInput) error {
	bookmarkID, err := canonical(by, bookmarkID, ErrBookmarkNotFound)
	if err != nil {
		return err
	}
	if err := valid.Check("", in); err != nil {
		return err
	}
	return s.doLocked(ctx, by.UserID, func(ctx context.Context) error {
		b, err := s.bookmark(ctx, by, bookmarkID)
		if err != nil || in.Notes == nil {
			return err
		}
		b.Notes = strings.TrimSpace(*in.Notes)
		return s.Bookmarks.Upsert(ctx, b)
	})
}

// RemoveBookmark deletes one of the caller's bookmarks and returns its id.
func (s *BookmarkService) RemoveBookmark(ctx context.Context, by auth.Actor, bookmarkID string) (string, error) {
	b, err := s.bookmark(ctx, by, bookmarkID)
	if err != nil {
		return "", err
	}
	briefs, err := s.Listings.Briefs(ctx, []string{b.ListingID})
	if err != nil {
		return "", err
	}
	return b.ID, s.doLocked(ctx, by.UserID, func(ctx context.Context) error {
		if err := s.Bookmarks.Delete(ctx, by.UserID, b.ID); err != nil {
			return err
		}
		return s.addActivity(ctx, by, "bookmark", "removed", "Removed "+titleOf(briefs[b.ListingID])+" from the saved jobs")
	})
}

// bookmark returns a bookmark of the caller.
func (s *BookmarkService) bookmark(ctx context.Context, by auth.Actor, bookmarkID string) (Bookmark, error) {
	bookmarkID, err := canonical(by, bookmarkID, ErrBookmarkNotFound)
	if err != nil {
		return Bookmark{}, err
	}
	found, err := s.Bookmarks.List(ctx, by.UserID, BookmarkFilter{ID: bookmarkID}, page.Request{Number: 1, Size: 1})
	return list.First(found.Items, err, ErrBookmarkNotFound)
}

// SavedAmong returns those of the listings, at most 1,000, that the user has saved.
func (s *BookmarkService) SavedAmong(ctx context.Context, userID string, listingIDs []string) (map[string]bool, error) {
	if len(listingIDs) == 0 || userID == "" {
		return map[string]bool{}, nil
	}
	found, err := s.Bookmarks.List(ctx, userID, BookmarkFilter{ListingIDs: listingIDs}, page.After("", len(listingIDs)))
	return list.ToMap(found.Items, func(b Bookmark) (string, bool) { return b.ListingID, true }), err
}

// SavedCount returns the number of listings that the user has saved.
func (s *BookmarkService) SavedCount(ctx context.Context, userID string) (int, error) {
	found, err := s.Bookmarks.List(ctx, userID, BookmarkFilter{}, page.Request{Number: 1, Size: 1})
	return found.Total, err
}

const (
	// closesSoon is the time before the deadline at which users are reminded.
	closesSoon = 3 * 24 * time.Hour
	// remindedAtOnce is the maximum number of reminders per transaction.
	remindedAtOnce = 500
)

// remindOfDeadlines notifies users that a listing that they have saved closes soon.
// A user is reminded of each listing once, even if it is renewed, or removed from the
// saved jobs and saved again.
func (s *BookmarkService) remindOfDeadlines(ctx context.Context) error {
	now := s.Clock.Now()
	from := Closing{At: now}
	for {
		closing, err := s.Listings.ClosingBetween(ctx, from, now.Add(closesSoon), listingsAtOnce)
		if err != nil || len(closing) == 0 {
			return err
		}
		err = tx.DoBatches(ctx, s.Tx, remindedAtOnce, func(ctx context.Context) (int, error) { return s.remindSome(ctx, closing) })
		if err != nil {
			return err
		}
		if len(closing) < listingsAtOnce {
			return nil
		}
		from = closing[len(closing)-1]
	}
}

// remindSome notifies at most remindedAtOnce users and returns their number.
func (s *BookmarkService) remindSome(ctx context.Context, closing []Closing) (int, error) {
	byID := list.ToMap(closing, func(c Closing) (string, Closing) { return c.ID, c })
	bs, err := s.Bookmarks.ClaimReminders(ctx, slices.Collect(maps.Keys(byID)), remindedAtOnce)
	if err != nil || len(bs) == 0 {
		return 0, err
	}
	return len(bs), s.Notifications.Create(ctx, list.Map(bs, func(b Bookmark) Notification {
		c := byID[b.ListingID]
		message := oneLine(c.Title) + ", which you saved, closes on " + c.At.UTC().Format("Monday 2 January 2006, 15:04 MST")
		return s.notice("deadline/"+b.ListingID, b.UserID, AboutDeadline, message)
	})...)
}
