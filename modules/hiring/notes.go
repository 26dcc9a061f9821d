package hiring

import (
	"cmp"
	"context"
	"math"
	"strings"
	"time"

	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/limit"
	"github.com/locumhq/locum/core/list"
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/core/valid"
)

// Notes and ratings are visible to the members of an organization who may view applications,
// and not to applicants. They can be added until the applicant withdraws, and are deleted
// when the applicant deletes their account.

// MaxNote is the maximum number of characters of a note.
const MaxNote = 2_000

// Note is a note of a member about an application.
type Note struct {
	ID             string
	ApplicationID  string
	OrganizationID string // of the application
	AuthorID       string
	Text           string
	WrittenAt      time.Time
}

// Rating is the rating of an application by a member, from 1 to 5.
type Rating struct {
	ApplicationID  string
	OrganizationID string // of the application
	AuthorID       string
	Stars          int
	RatedAt        time.Time
}

// RatingSummary is the number and the sum of the ratings of an application.
type RatingSummary struct{ Count, Sum int }

// Average returns the average, rounded to one decimal, and 0 without ratings.
func (s RatingSummary) Average() float64 {
	if s.Count == 0 {
		return 0
	}

	average := float64(s.Sum) / float64(s.Count)

	return math.Round(average*10) / 10
}

// NoteView is a note with the name of its author, which is DeletedName if the account was
// deleted.
type NoteView struct {
	Note
	Author string
}

// RatingView is a rating with the name of its author, which is DeletedName if the account
// was deleted.
type RatingView struct {
	Rating
	Author string
}

// notesPerDay limits the notes of a member, so that a stolen account cannot fill the database.
var notesPerDay = limit.Rule{Name: "hiring-notes", Max: 500, Per: 24 * time.Hour}

// maxRatings is the maximum number of ratings that ListRatings returns.
const maxRatings = 200

// NoteInput is a note.
type NoteInput struct {
	Note string `json:"note" validate:"required,notblank,max=2000"`
}

// WriteNote adds a note of the member to an application to the organization.
func (s *Service) WriteNote(ctx context.Context, by auth.Actor, applicationID string, in NoteInput) (Note, error) {
	if err := cmp.Or(by.Require(auth.ApplicationsView), valid.Check("", in)); err != nil {
		return Note{}, err
	}

	if err := limit.Take(ctx, s.Limiter, notesPerDay, by.UserID); err != nil {
		return Note{}, err
	}

	var note Note
	err := s.Tx.Do(ctx, func(ctx context.Context) error {
		application, err := s.getNotWithdrawn(ctx, by, applicationID)
		if err != nil {
			return err
		}

		note = Note{
			ID:             s.NewID(),
			ApplicationID:  application.ID,
			OrganizationID: application.OrganizationID,
			AuthorID:       by.UserID,
			Text:           strings.TrimSpace(in.Note),
			WrittenAt:      s.Clock.Now(),
		}

		return s.Notes.Create(ctx, note)
	})

	return note, err
}

// DeleteNote deletes a note that the member has written. It returns ErrNoteNotFound for
// notes of other members.
func (s *Service) DeleteNote(ctx context.Context, by auth.Actor, applicationID, noteID string) error {
	if err := by.Require(auth.ApplicationsView); err != nil {
		return err
	}

	application, err := s.getReceived(ctx, by, applicationID)
	if err != nil {
		return err
	}

	if noteID, err = canonical(noteID, ErrNoteNotFound); err != nil {
		return err
	}

	return s.Tx.Do(ctx, func(ctx context.Context) error {
		return s.Notes.Delete(ctx, by.OrganizationID, application.ID, by.UserID, noteID)
	})
}

// ListNotes lists the notes about an application to the organization, newest first.
func (s *Service) ListNotes(
	ctx context.Context,
	by auth.Actor,
	applicationID string,
	r page.Request,
) (page.Result[NoteView], error) {
	if err := cmp.Or(by.Require(auth.ApplicationsView), r.CheckID()); err != nil {
		return page.Result[NoteView]{}, err
	}

	application, err := s.getReceived(ctx, by, applicationID)
	if err != nil {
		return page.Result[NoteView]{}, err
	}

	notes, err := s.Notes.List(ctx, by.OrganizationID, application.ID, r)
	if err != nil {
		return page.Result[NoteView]{}, err
	}

	authors, err := s.authorsByID(ctx, list.Map(notes.Items, func(n Note) string { return n.AuthorID }))
	if err != nil {
		return page.Result[NoteView]{}, err
	}

	views := list.Map(notes.Items, func(n Note) NoteView {
		return NoteView{Note: n, Author: cmp.Or(authors[n.AuthorID].Name, DeletedName)}
	})

	return page.WithItems(notes, views), nil
}

// RatingInput is a rating.
type RatingInput struct {
	Rating int `json:"rating" validate:"required,min=1,max=5"`
}

// Rate sets the rating of the member for an application to the organization.
func (s *Service) Rate(ctx context.Context, by auth.Actor, applicationID string, in RatingInput) error {
	if err := cmp.Or(by.Require(auth.ApplicationsView), valid.Check("", in)); err != nil {
		return err
	}

	return s.Tx.Do(ctx, func(ctx context.Context) error {
		application, err := s.getNotWithdrawn(ctx, by, applicationID)
		if err != nil {
			return err
		}

		return s.Ratings.Upsert(ctx, Rating{
			ApplicationID:  application.ID,
			OrganizationID: application.OrganizationID,
			AuthorID:       by.UserID,
			Stars:          in.Rating,
			RatedAt:        s.Clock.Now(),
		})
	})
}

// RemoveRating removes the rating of the member, if there is one.
func (s *Service) RemoveRating(ctx context.Context, by auth.Actor, applicationID string) error {
	if err := by.Require(auth.ApplicationsView); err != nil {
		return err
	}

	application, err := s.getReceived(ctx, by, applicationID)
	if err != nil {
		return err
	}

	return s.Tx.Do(ctx, func(ctx context.Context) error {
		return s.Ratings.Delete(ctx, by.OrganizationID, application.ID, by.UserID)
	})
}

// ListRatings returns the ratings of an application to the organization, newest first, at
// most 200.
func (s *Service) ListRatings(ctx context.Context, by auth.Actor, applicationID string) ([]RatingView, error) {
	if err := by.Require(auth.ApplicationsView); err != nil {
		return nil, err
	}

	application, err := s.getReceived(ctx, by, applicationID)
	if err != nil {
		return nil, err
	}

	ratings, err := s.Ratings.List(ctx, by.OrganizationID, application.ID, maxRatings)
	if err != nil {
		return nil, err
	}

	authors, err := s.authorsByID(ctx, list.Map(ratings, func(r Rating) string { return r.AuthorID }))
	if err != nil {
		return nil, err
	}

	return list.Map(ratings, func(r Rating) RatingView {
		return RatingView{Rating: r, Author: cmp.Or(authors[r.AuthorID].Name, DeletedName)}
	}), nil
}

// SummarizeRatings returns the summaries of the ratings of applications to the
// organization, at most 1,000. Applications without ratings are left out.
func (s *Service) SummarizeRatings(
	ctx context.Context,
	by auth.Actor,
	applicationIDs []string,
) (map[string]RatingSummary, error) {
	if err := by.Require(auth.ApplicationsView); err != nil || len(applicationIDs) == 0 {
		return nil, err
	}

	return s.Ratings.Summarize(ctx, by.OrganizationID, applicationIDs)
}

// getNotWithdrawn returns an application to the organization and locks it. It returns ErrWithdrawn if
// the applicant has withdrawn the application. The deletion of the applicant's account also withdraws
// the application. A note that was added after the deletion would never be deleted.
func (s *Service) getNotWithdrawn(ctx context.Context, by auth.Actor, applicationID string) (Application, error) {
	application, err := s.getReceived(ctx, by, applicationID)
	if err != nil {
		return Application{}, err
	}

	if application.WithdrawnAt != nil {
		return Application{}, ErrWithdrawn
	}

	return application, nil
}

// authorsByID returns the authors with the ids, which may contain duplicates. It omits authors whose
// accounts were deleted.
func (s *Service) authorsByID(ctx context.Context, ids []string) (map[string]Person, error) {
	if len(ids) == 0 {
		return nil, nil
	}

	distinctIDs := list.Distinct(ids, func(id string) string { return id })

	return s.People.ByIDs(ctx, distinctIDs)
}
