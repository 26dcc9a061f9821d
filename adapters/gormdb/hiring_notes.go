package gormdb

import (
	"context"

	"gorm.io/gorm"

	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/modules/hiring"
)

// applicationNotes implements hiring.Notes.
type applicationNotes struct{ *DB }

// applicationNoteRow is a note about an application, for the team of the organization.
type applicationNoteRow hiring.Note

// Create implements hiring.Notes.
func (d applicationNotes) Create(ctx context.Context, n hiring.Note) error {
	return wrap(d.conn(ctx).Create((*applicationNoteRow)(&n)).Error)
}

// List implements hiring.Notes. It lists the notes about an application, newest first.
func (d applicationNotes) List(
	ctx context.Context,
	organizationID, applicationID string,
	request page.Request,
) (page.Result[hiring.Note], error) {
	selected := func(q *gorm.DB) *gorm.DB {
		return q.Where("application_id = ? AND organization_id = ?", applicationID, organizationID)
	}

	return listPage(ctx, d.DB, request, listQuery{where: selected},
		func(r applicationNoteRow) hiring.Note { return hiring.Note(r) })
}

// Delete implements hiring.Notes. Only the author can delete a note.
func (d applicationNotes) Delete(ctx context.Context, organizationID, applicationID, authorID, id string) error {
	deleted := d.conn(ctx).
		Where("id = ? AND application_id = ? AND organization_id = ? AND author_id = ?", id, applicationID, organizationID, authorID).
		Delete(&applicationNoteRow{})

	return requireRow(deleted, hiring.ErrNoteNotFound)
}

// applicationRatings implements hiring.Ratings.
type applicationRatings struct{ *DB }

// applicationRatingRow is the rating of an application by one member of the team, in stars.
type applicationRatingRow hiring.Rating

// Upsert implements hiring.Ratings. It replaces an earlier rating of the application by the same author.
func (d applicationRatings) Upsert(ctx context.Context, r hiring.Rating) error {
	replace := updateOnConflict([]string{"application_id", "author_id"}, "stars", "rated_at")
	return wrap(d.conn(ctx).Clauses(replace).Create((*applicationRatingRow)(&r)).Error)
}

// Delete implements hiring.Ratings.
func (d applicationRatings) Delete(ctx context.Context, organizationID, applicationID, authorID string) error {
	return wrap(d.conn(ctx).
		Where("application_id = ? AND author_id = ? AND organization_id = ?", applicationID, authorID, organizationID).
		Delete(&applicationRatingRow{}).
		Error)
}

// List implements hiring.Ratings. It lists the n latest ratings of an application. The rows of one
// application are few, so that sorting them needs no index.
func (d applicationRatings) List(ctx context.Context, organizationID, applicationID string, n int) ([]hiring.Rating, error) {
	return findRows(
		d.conn(ctx).
			Where("application_id = ? AND organization_id = ?", applicationID, organizationID).
			Order("rated_at DESC, author_id").
			Limit(n),
		func(r applicationRatingRow) hiring.Rating { return hiring.Rating(r) },
	)
}

// Summarize implements hiring.Ratings. It returns the number and the sum of the ratings by the id of the
// application. The result has no entry for an application without ratings.
func (d applicationRatings) Summarize(
	ctx context.Context,
	organizationID string,
	applicationIDs []string,
) (map[string]hiring.RatingSummary, error) {
	var rows []struct {
		ApplicationID string
		Count         int
		Sum           int
	}

	err := d.unprepared(ctx).
		Model(&applicationRatingRow{}).
		Select("application_id, count(*) AS count, sum(stars) AS sum").
		Where("organization_id = ?", organizationID).
		Where(d.dialect.In("application_id", applicationIDs)).
		Group("application_id").
		Scan(&rows).
		Error
	if err != nil {
		return nil, wrap(err)
	}

	summaries := make(map[string]hiring.RatingSummary, len(rows))
	for _, r := range rows {
		summaries[r.ApplicationID] = hiring.RatingSummary{Count: r.Count, Sum: r.Sum}
	}

	return summaries, nil
}
