package jobseeker

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/id"
	"github.com/locumhq/locum/core/page"
)

// Bookmark is a listing that somebody keeps. It stays when the listing closes.
type Bookmark struct {
	ID        string
	UserID    string
	ListingID string
	Notes     string
	SavedAt   time.Time
}

// SavedJob is a bookmark with what is known of its listing.
type SavedJob struct {
	Bookmark
	Title, Company, Location string
	// Public says whether the listing can still be seen by everybody.
	Public bool
}

// MaxBookmarks is how many listings one user may keep.
const MaxBookmarks = 1_000

const maxNotes = 2_000

// SaveJobInput names a listing to keep.
type SaveJobInput struct {
	ListingID string `json:"listingId" validate:"required"`
}

// SaveJob keeps a public listing for the caller; ErrAlreadySaved if they have it.
func (s *Service) SaveJob(ctx context.Context, by auth.Actor, in SaveJobInput) (SavedJob, error) {
	return s.keep(ctx, by, in.ListingID, ErrAlreadySaved)
}

// Bookmark is SaveJob in other words: ErrAlreadyBookmarked if they have it.
func (s *Service) Bookmark(ctx context.Context, by auth.Actor, in SaveJobInput) (SavedJob, error) {
	return s.keep(ctx, by, in.ListingID, ErrAlreadyBookmarked)
}

func (s *Service) keep(ctx context.Context, by auth.Actor, listingID string, again error) (SavedJob, error) {
	if !by.Seeker {
		return SavedJob{}, fault.ErrForbidden
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
	if have[listingID] { // also if it has closed since
		return SavedJob{}, again
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
		if err := s.Profiles.Lock(ctx, by.UserID); err != nil {
			return err
		}
		b.ID, b.SavedAt = s.NewID(), s.Clock.Now()
		fresh, err := s.Bookmarks.Add(ctx, b)
		if err != nil {
			return err
		}
		if !fresh {
			return again
		}
		n, err := s.Bookmarks.Count(ctx, by.UserID)
		if err != nil {
			return err
		}
		if n > MaxBookmarks {
			return ErrTooManyBookmarks
		}
		return s.Activities.Add(ctx, s.kept(by, b.SavedAt, "saved", "Saved "+brief.named()))
	})
	return brief.saved(b), err
}

func (s *Service) kept(by auth.Actor, at time.Time, action, description string) Activity {
	return Activity{UserID: by.UserID, EventID: s.NewID(), Type: "bookmark", Action: action, Description: description, At: at}
}

func (b Brief) saved(as Bookmark) SavedJob {
	return SavedJob{Bookmark: as, Title: b.Title, Company: b.Company, Location: b.Location, Public: b.Public}
}

// named is how a sentence calls the listing.
func (b Brief) named() string {
	if t := oneLine(b.Title); t != "" {
		return t
	}
	return "a listing that is gone"
}

// MyBookmarks lists what the caller keeps, the latest first.
func (s *Service) MyBookmarks(ctx context.Context, by auth.Actor, r page.Request) (out page.Result[SavedJob], err error) {
	if !by.Seeker {
		return out, fault.ErrForbidden
	}
	if err := r.CheckID(); err != nil {
		return out, err
	}
	found, err := s.Bookmarks.Page(ctx, by.UserID, r)
	if err != nil {
		return out, err
	}
	out.Total, out.TotalIsEstimate, out.NextCursor = found.Total, found.TotalIsEstimate, found.NextCursor
	out.Items, err = s.describe(ctx, found.Items)
	return out, err
}

// describe adds what is known of the listings, all of them at once.
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

// MyBookmark is one of the caller's bookmarks.
func (s *Service) MyBookmark(ctx context.Context, by auth.Actor, bookmarkID string) (SavedJob, error) {
	bookmarkID, err := s.bookmark(by, bookmarkID)
	if err != nil {
		return SavedJob{}, err
	}
	b, err := s.Bookmarks.Find(ctx, by.UserID, bookmarkID)
	if err != nil {
		return SavedJob{}, err
	}
	all, err := s.describe(ctx, []Bookmark{b})
	if err != nil {
		return SavedJob{}, err
	}
	return all[0], nil
}

// NoteInput is what the caller notes on a bookmark; what is left out stays.
type NoteInput struct {
	Notes *string `json:"notes" validate:"omitempty,max=2000"`
}

// Note keeps notes on one of the caller's bookmarks.
func (s *Service) Note(ctx context.Context, by auth.Actor, bookmarkID string, in NoteInput) error {
	bookmarkID, err := s.bookmark(by, bookmarkID)
	switch {
	case err != nil:
		return err
	case in.Notes == nil:
		_, err := s.Bookmarks.Find(ctx, by.UserID, bookmarkID)
		return err
	case utf8.RuneCountInString(*in.Notes) > maxNotes:
		return fault.InvalidField("notes", fmt.Sprintf("must have at most %d characters", maxNotes))
	}
	return s.Tx.Do(ctx, func(ctx context.Context) error {
		return s.Bookmarks.SetNotes(ctx, by.UserID, bookmarkID, strings.TrimSpace(*in.Notes))
	})
}

// RemoveBookmark takes one of the caller's bookmarks away and returns its id.
func (s *Service) RemoveBookmark(ctx context.Context, by auth.Actor, bookmarkID string) (string, error) {
	bookmarkID, err := s.bookmark(by, bookmarkID)
	if err != nil {
		return "", err
	}
	b, err := s.Bookmarks.Find(ctx, by.UserID, bookmarkID)
	if err != nil {
		return "", err
	}
	briefs, err := s.Listings.Briefs(ctx, []string{b.ListingID})
	if err != nil {
		return "", err
	}
	return b.ID, s.Tx.Do(ctx, func(ctx context.Context) error {
		if err := s.Bookmarks.Delete(ctx, by.UserID, b.ID); err != nil {
			return err
		}
		return s.Activities.Add(ctx, s.kept(by, s.Clock.Now(), "removed", "Removed "+briefs[b.ListingID].named()+" from the saved jobs"))
	})
}

func (s *Service) bookmark(by auth.Actor, bookmarkID string) (string, error) {
	if !by.Seeker {
		return "", fault.ErrForbidden
	}
	canonical, ok := id.Canonical(bookmarkID)
	if !ok {
		return "", ErrBookmarkNotFound
	}
	return canonical, nil
}

// SavedAmong says which of the listings the user keeps; at most 1,000 ids.
func (s *Service) SavedAmong(ctx context.Context, userID string, listingIDs []string) (map[string]bool, error) {
	if len(listingIDs) == 0 || userID == "" {
		return map[string]bool{}, nil
	}
	return s.Bookmarks.Among(ctx, userID, listingIDs)
}

// SavedCount is how many listings the user keeps.
func (s *Service) SavedCount(ctx context.Context, userID string) (int, error) {
	return s.Bookmarks.Count(ctx, userID)
}
