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

// Bookmark is a listing that a user has saved. The bookmark remains when the listing closes.
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

// Bookmark does the same as SaveJob, but returns ErrAlreadyBookmarked if the caller has a
// bookmark for the listing.
func (s *BookmarkService) Bookmark(ctx context.Context, by auth.Actor, in SaveJobInput) (SavedJob, error) {
	return s.save(ctx, by, in.ListingID, ErrAlreadyBookmarked)
}

// save stores a bookmark. It returns errExists if the caller has a bookmark for the listing.
func (s *BookmarkService) save(ctx context.Context, by auth.Actor, listingID string, errExists error) (SavedJob, error) {
	if err := cmp.Or(by.RequireSeeker(), valid.Value("listingId", listingID, "required")); err != nil {
		return SavedJob{}, err
	}

	listingID, err := requireSeekerAndID(by, listingID, ErrListingNotFound)
	if err != nil {
		return SavedJob{}, err
	}

	// errExists takes precedence over this error: a user who saved the listing may know that
	// it exists, even if it is no longer public.
	brief, briefErr := s.publicBrief(ctx, listingID)
	b := Bookmark{UserID: by.UserID, ListingID: listingID}

	err = s.doLocked(ctx, by.UserID, func(ctx context.Context) error {
		saved, err := s.FindSaved(ctx, by.UserID, []string{listingID})
		if err != nil {
			return err
		}

		if saved[listingID] {
			return errExists
		}

		if briefErr != nil {
			return briefErr
		}

		count, err := s.CountSaved(ctx, by.UserID)
		if err != nil {
			return err
		}

		if count >= MaxBookmarks {
			return ErrTooManyBookmarks
		}

		b.ID, b.SavedAt = s.NewID(), s.Clock.Now()
		if err := s.Bookmarks.Upsert(ctx, b); err != nil {
			return err
		}

		return s.addActivity(ctx, by, "bookmark", "saved", "Saved "+titleOrPlaceholder(brief))
	})

	return SavedJob{Bookmark: b, Brief: brief}, err
}

// MyBookmarks lists the caller's bookmarks, newest first.
func (s *BookmarkService) MyBookmarks(ctx context.Context, by auth.Actor, r page.Request) (jobs page.Result[SavedJob], err error) {
	if err := cmp.Or(by.RequireSeeker(), r.CheckID()); err != nil {
		return jobs, err
	}

	bookmarks, err := s.Bookmarks.List(ctx, by.UserID, BookmarkFilter{}, r)
	if err != nil {
		return jobs, err
	}

	items, err := s.withListings(ctx, bookmarks.Items)

	return page.WithItems(bookmarks, items), err
}

// listingOf returns the id of the listing of a bookmark.
func listingOf(b Bookmark) string { return b.ListingID }

// withListings returns the bookmarks with the properties of their listings, which are empty
// for a deleted listing.
func (s *BookmarkService) withListings(ctx context.Context, bookmarks []Bookmark) ([]SavedJob, error) {
	briefs, err := s.Listings.ListBriefs(ctx, list.Map(bookmarks, listingOf))
	if err != nil {
		return nil, err
	}

	return list.Map(bookmarks, func(b Bookmark) SavedJob {
		return SavedJob{Bookmark: b, Brief: briefs[b.ListingID]}
	}), nil
}

// MyBookmark returns one of the caller's bookmarks.
func (s *BookmarkService) MyBookmark(ctx context.Context, by auth.Actor, bookmarkID string) (SavedJob, error) {
	b, err := s.bookmark(ctx, by, bookmarkID)
	if err != nil {
		return SavedJob{}, err
	}

	jobs, err := s.withListings(ctx, []Bookmark{b})

	return list.First(jobs, err, ErrBookmarkNotFound)
}

// NoteInput sets the notes of a bookmark. Without Notes it changes nothing.
type NoteInput struct {
	Notes *string `json:"notes" validate:"omitempty,max=2000"`
}

// SetNotes stores the notes of one of the caller's bookmarks.
func (s *BookmarkService) SetNotes(ctx context.Context, by auth.Actor, bookmarkID string, in NoteInput) error {
	bookmarkID, err := requireSeekerAndID(by, bookmarkID, ErrBookmarkNotFound)
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

	briefs, err := s.Listings.ListBriefs(ctx, []string{b.ListingID})
	if err != nil {
		return "", err
	}

	return b.ID, s.doLocked(ctx, by.UserID, func(ctx context.Context) error {
		if err := s.Bookmarks.Delete(ctx, by.UserID, b.ID); err != nil {
			return err
		}

		return s.addActivity(ctx, by, "bookmark", "removed", "Removed "+titleOrPlaceholder(briefs[b.ListingID])+" from the saved jobs")
	})
}

// bookmark returns the bookmark with the id if it belongs to the caller, and
// ErrBookmarkNotFound otherwise.
func (s *BookmarkService) bookmark(ctx context.Context, by auth.Actor, bookmarkID string) (Bookmark, error) {
	bookmarkID, err := requireSeekerAndID(by, bookmarkID, ErrBookmarkNotFound)
	if err != nil {
		return Bookmark{}, err
	}

	oneItem := page.Request{Number: 1, Size: 1}
	found, err := s.Bookmarks.List(ctx, by.UserID, BookmarkFilter{ID: bookmarkID}, oneItem)

	return list.First(found.Items, err, ErrBookmarkNotFound)
}

// FindSaved returns the set of the given listings, at most 1,000, that the user has saved.
// The set is empty for an empty userID, which stands for a guest.
func (s *BookmarkService) FindSaved(ctx context.Context, userID string, listingIDs []string) (map[string]bool, error) {
	if len(listingIDs) == 0 || userID == "" {
		return map[string]bool{}, nil
	}

	found, err := s.Bookmarks.List(ctx, userID, BookmarkFilter{ListingIDs: listingIDs}, page.After("", len(listingIDs)))

	return list.ToMap(found.Items, func(b Bookmark) (string, bool) { return b.ListingID, true }), err
}

// CountSaved returns the number of listings that the user has saved.
func (s *BookmarkService) CountSaved(ctx context.Context, userID string) (int, error) {
	firstPage := page.Request{Number: 1, Size: 1} // only the total is used
	found, err := s.Bookmarks.List(ctx, userID, BookmarkFilter{}, firstPage)

	return found.Total, err
}

const (
	// reminderLeadTime is how long before the deadline users are reminded.
	reminderLeadTime = 3 * 24 * time.Hour
	// reminderBatchSize is the maximum number of reminders per transaction.
	reminderBatchSize = 500
)

// remindOfDeadlines notifies users that a listing that they have saved closes soon. A user
// is reminded of each listing once, even if the listing is renewed, or if the user removes
// the bookmark and saves the listing again.
func (s *BookmarkService) remindOfDeadlines(ctx context.Context) error {
	now := s.Clock.Now()

	from := Closing{At: now}
	for {
		closing, err := s.Listings.ListClosing(ctx, from, now.Add(reminderLeadTime), listingBatchSize)
		if err != nil || len(closing) == 0 {
			return err
		}

		err = tx.DoBatches(ctx, s.Tx, reminderBatchSize, func(ctx context.Context) (int, error) { return s.remindBatch(ctx, closing) })
		if err != nil {
			return err
		}

		isLastBatch := len(closing) < listingBatchSize
		if isLastBatch {
			return nil
		}

		from = closing[len(closing)-1]
	}
}

// remindBatch creates the notifications for at most reminderBatchSize bookmarks of the closing
// listings, and returns their number. It first claims the reminders of these bookmarks, so that no
// other call reminds of them again.
func (s *BookmarkService) remindBatch(ctx context.Context, closing []Closing) (int, error) {
	closingByID := list.ToMap(closing, func(c Closing) (string, Closing) { return c.ID, c })

	bookmarks, err := s.Bookmarks.ClaimReminders(ctx, slices.Collect(maps.Keys(closingByID)), reminderBatchSize)
	if err != nil || len(bookmarks) == 0 {
		return 0, err
	}

	return len(bookmarks), s.Notifications.Create(ctx, list.Map(bookmarks, func(b Bookmark) Notification {
		c := closingByID[b.ListingID]
		message := oneLine(c.Title) + ", which you saved, closes on " + c.At.UTC().Format("Monday 2 January 2006, 15:04 MST")

		return s.newNotification(Notification{
			UserID:    b.UserID,
			Cause:     "deadline/" + b.ListingID,
			Type:      AboutDeadline,
			SubjectID: b.ListingID,
			Message:   message,
		})
	})...)
}
