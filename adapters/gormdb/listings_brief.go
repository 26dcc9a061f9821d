package gormdb

import (
	"context"
	"time"

	"github.com/locumhq/locum/modules/listings"
)

type briefRow struct {
	ID                  string
	Title               string
	Company             string
	Location            string
	Open                bool
	ApplicationDeadline *time.Time
}

const briefColumns = "SELECT id, title, company, location, open, application_deadline FROM listings WHERE "

func briefs(rows []briefRow, now time.Time) []listings.Brief {
	out := make([]listings.Brief, len(rows))
	for i, r := range rows {
		out[i] = listings.Brief{ID: r.ID, Title: r.Title, Company: r.Company, Location: r.Location, Public: r.Open}
		if r.ApplicationDeadline != nil {
			out[i].Deadline = *r.ApplicationDeadline
			out[i].Public = r.Open && r.ApplicationDeadline.After(now)
		}
	}
	return out
}

// Briefs implements listings.Repository.
func (d Listings) Briefs(ctx context.Context, ids []string, now time.Time) ([]listings.Brief, error) {
	var rows []briefRow
	err := d.q(ctx).Raw(briefColumns+"?", d.dialect.among(ids)).Scan(&rows).Error
	return briefs(rows, now), wrap(err)
}

// ClosingBetween implements listings.Repository.
func (d Listings) ClosingBetween(ctx context.Context, from time.Time, fromID string, until time.Time, n int) ([]listings.Brief, error) {
	at := "open AND application_deadline IS NOT NULL AND application_deadline > ? AND application_deadline <= ?"
	args := []any{from, until, n}
	if fromID != "" {
		at = "open AND application_deadline IS NOT NULL AND application_deadline >= ? AND (application_deadline > ? OR id > ?) AND application_deadline <= ?"
		args = []any{from, from, fromID, until, n}
	}
	var rows []briefRow
	err := d.q(ctx).Raw(briefColumns+at+" ORDER BY application_deadline, id LIMIT ?", args...).Scan(&rows).Error
	return briefs(rows, from), wrap(err)
}
