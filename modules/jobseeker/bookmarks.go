package jobseeker

import (
	"context"
	"strings"
	"time"

	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/id"
	"github.com/locumhq/locum/core/page"
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
	Title, Company, Location string
	// Public is true if everybody can see the listing.
	Public bool
}

// MaxBookmarks is the maximum number of bookmarks of a user.
const MaxBookmarks = 1_000

// SaveJobInput names the listing to save.
type SaveJobInput struct {
	ListingID string `json:"listingId" validate:"required"`
}

// SaveJob saves a public listing for the caller. It returns ErrAlreadySaved if the
// caller has a bookmark for it.
func (s *Service) SaveJob(ctx context.Context, by auth.Actor, in SaveJobInput) (SavedJob, error) {
	return s.save(ctx, by, in.ListingID, ErrAlreadySaved)
}

// Bookmark is SaveJob with another error: ErrAlreadyBookmarked.
func (s *Service) Bookmark(ctx context.Context, by auth.Actor, in SaveJobInput) (SavedJob, error) {
	return s.save(ctx, by, in.ListingID, ErrAlreadyBookmarked)
}

// save stores a bookmark, or returns the error exists.
func (s *Service) save(ctx context.Context, by auth.Actor, listingID string, exists error) (SavedJob, error) {
	if err := by.RequireSeeker(); err != nil {
		return SavedJob{}, err
	}
	if listingID == "" {
		return SavedJob{}, fault.InvalidField("listingId", "is required")
	}
	listingID, ok := id.Canonical(listingID)
	if !ok {
		return SavedJob{}, ErrListingNotFound
	}
	have, err := s.SavedAmong(ctx, by.UserID, []string{listingID})
	if err != nil {
		return SavedJob{}, err
	}
	if have[listingID] { // even if the listing is not public any more
		return SavedJob{}, exists
	}
	briefs, err := s.Listings.Briefs(ctx, []string{listingID})
	if err != nil {
		return SavedJob{}, err
	}
	brief := briefs[listingID]
	if !brief.Public {
		return SavedJob{}, ErrListingNotFound
	}
	b := Bookmark{UserID: by.UserID, ListingID: listingID}
	err = s.Tx.Do(ctx, func(ctx context.Context) error {
		if err := s.lock(ctx, by.UserID); err != nil {
			return err
		}
		have, err := s.SavedAmong(ctx, by.UserID, []string{listingID})
		if err != nil {
			return err
		}
		if have[listingID] {
			return exists
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
		return s.Activities.Create(ctx, s.bookmarkActivity(by, b.SavedAt, "saved", "Saved "+brief.named()))
	})
	return brief.saved(b), err
}

func (s *Service) bookmarkActivity(by auth.Actor, at time.Time, action, description string) Activity {
	return Activity{UserID: by.UserID, EventID: s.NewID(), Type: "bookmark", Action: action, Description: description, At: at}
}

func (b Brief) saved(as Bookmark) SavedJob {
	return SavedJob{Bookmark: as, Title: b.Title, Company: b.Company, Location: b.Location, Public: b.Public}
}

// named returns the listing's title for a sentence.
func (b Brief) named() string {
	if t := oneLine(b.Title); t != "" {
		return t
	}
	return "a listing that is gone"
}

// MyBookmarks lists the caller's bookmarks, newest first.
func (s *Service) MyBookmarks(ctx context.Context, by auth.Actor, r page.Request) (out page.Result[SavedJob], err error) {
	if err := by.RequireSeeker(); err != nil {
		return out, err
	}
	if err := r.CheckID(); err != nil {
		return out, err
	}
	found, err := s.Bookmarks.List(ctx, by.UserID, BookmarkFilter{}, r)
	if err != nil {
		return out, err
	}
	out.Total, out.TotalIsEstimate, out.NextCursor = found.Total, found.TotalIsEstimate, found.NextCursor
	out.Items, err = s.describe(ctx, found.Items)
	return out, err
}

// describe adds the properties of the listings.
func (s *Service) describe(ctx context.Context, bs []Bookmark) ([]SavedJob, error) {
	ids := make([]string, len(bs))
	for i, b := range bs {
		ids[i] = b.ListingID
	}
	briefs, err := s.Listings.Briefs(ctx, ids)
	if err != nil {
		return nil, err
	}
	out := make([]SavedJob, len(bs))
	for i, b := range bs {
		out[i] = briefs[b.ListingID].saved(b)
	}
	return out, nil
}

// MyBookmark returns one of the caller's bookmarks.
func (s *Service) MyBookmark(ctx context.Context, by auth.Actor, bookmarkID string) (SavedJob, error) {
	b, err := s.bookmark(ctx, by, bookmarkID)
	if err != nil {
		return SavedJob{}, err
	}
	all, err := s.describe(ctx, []Bookmark{b})
	if err != nil {
		return SavedJob{}, err
	}
	return all[0], nil
}

// NoteInput sets the notes of a bookmark. Without Notes it changes nothing.
type NoteInput struct {
	Notes *string `json:"notes" validate:"omitempty,max=2000"`
}

// Note stores the notes of one of the caller's bookmarks.
func (s *Service) Note(ctx context.Context, by auth.Actor, bookmarkID string, in NoteInput) error {
	canonical, err := canonicalBookmark(by, bookmarkID)
	if err != nil {
		return err
	}
	if err := valid.Check("", in); err != nil {
		return err
	}
	return s.Tx.Do(ctx, func(ctx context.Context) error {
		if err := s.lock(ctx, by.UserID); err != nil {
			return err
		}
		b, err := s.bookmark(ctx, by, canonical)
		if err != nil || in.Notes == nil {
			return err
		}
		b.Notes = strings.TrimSpace(*in.Notes)
		return s.Bookmarks.Upsert(ctx, b)
	})
}

// RemoveBookmark deletes one of the caller's bookmarks and returns its id.
func (s *Service) RemoveBookmark(ctx context.Context, by auth.Actor, bookmarkID string) (string, error) {
	b, err := s.bookmark(ctx, by, bookmarkID)
	if err != nil {
		return "", err
	}
	briefs, err := s.Listings.Briefs(ctx, []string{b.ListingID})
	if err != nil {
		return "", err
	}
	return b.ID, s.Tx.Do(ctx, func(ctx context.Context) error {
		if err := s.lock(ctx, by.UserID); err != nil {
			return err
		}
		if err := s.Bookmarks.Delete(ctx, by.UserID, b.ID); err != nil {
			return err
		}
		return s.Activities.Create(ctx, s.bookmarkActivity(by, s.Clock.Now(), "removed", "Removed "+briefs[b.ListingID].named()+" from the saved jobs"))
	})
}

// bookmark returns a bookmark of the caller.
func (s *Service) bookmark(ctx context.Context, by auth.Actor, bookmarkID string) (Bookmark, error) {
	bookmarkID, err := canonicalBookmark(by, bookmarkID)
	if err != nil {
		return Bookmark{}, err
	}
	found, err := s.Bookmarks.List(ctx, by.UserID, BookmarkFilter{ID: bookmarkID}, page.Request{Number: 1, Size: 1})
	if err != nil {
		return Bookmark{}, err
	}
	if len(found.Items) == 0 {
		return Bookmark{}, ErrBookmarkNotFound
	}
	return found.Items[0], nil
}

func canonicalBookmark(by auth.Actor, bookmarkID string) (string, error) {
	if err := by.RequireSeeker(); err != nil {
		return "", err
	}
	canonical, ok := id.Canonical(bookmarkID)
	if !ok {
		return "", ErrBookmarkNotFound
	}
	return canonical, nil
}

// SavedAmong returns those of the listings, at most 1,000, that the user has saved.
func (s *Service) SavedAmong(ctx context.Context, userID string, listingIDs []string) (map[string]bool, error) {
	if len(listingIDs) == 0 || userID == "" {
		return map[string]bool{}, nil
	}
	found, err := s.Bookmarks.List(ctx, userID, BookmarkFilter{ListingIDs: listingIDs}, page.After("", len(listingIDs)))
	out := make(map[string]bool, len(found.Items))
	for _, b := range found.Items {
		out[b.ListingID] = true
	}
	return out, err
}

// SavedCount returns the number of listings that the user has saved.
func (s *Service) SavedCount(ctx context.Context, userID string) (int, error) {
	found, err := s.Bookmarks.List(ctx, userID, BookmarkFilter{}, page.Request{Number: 1, Size: 1})
	return found.Total, err
}
