package gormdb

import (
	"context"
	"time"

	"github.com/locumhq/locum/modules/listings"
)

type briefRow struct {
	ID                  string
	OrganizationID      string
	Title               string
	Company             string
	Location            string
	Open                bool
	ApplicationDeadline *time.Time
}

// TableName implements schema.Tabler of GORM.
func (briefRow) TableName() string { return "listings" }

func briefs(rows []briefRow, now time.Time) []listings.Brief {
	out := make([]listings.Brief, len(rows))
	for i, r := range rows {
		out[i] = listings.Brief{ID: r.ID, OrganizationID: r.OrganizationID, Title: r.Title, Company: r.Company, Location: r.Location, Public: r.Open}
		if r.ApplicationDeadline != nil {
			out[i].Deadline = *r.ApplicationDeadline
			out[i].Public = r.Open && r.ApplicationDeadline.After(now)
		}
	}
	return out
}

// ListBriefs implements listings.PublicRepository.
func (d Listings) ListBriefs(ctx context.Context, ids []string, now time.Time) ([]listings.Brief, error) {
	var rows []briefRow
	err := d.q(ctx).Where(d.dialect.In("id", ids)).Find(&rows).Error
	return briefs(rows, now), wrap(err)
}

// ListClosing implements listings.PublicRepository.
func (d Listings) ListClosing(ctx context.Context, from time.Time, fromID string, until time.Time, n int) ([]listings.Brief, error) {
	q := d.q(ctx).Where(isTrue("open")+" AND application_deadline IS NOT NULL AND application_deadline <= ?", until)
	if fromID == "" {
		q = q.Where("application_deadline > ?", from)
	} else {
		q = q.Where("application_deadline >= ? AND (application_deadline > ? OR id > ?)", from, from, fromID)
	}
	var rows []briefRow
	err := q.Order("application_deadline, id").Limit(n).Find(&rows).Error
	return briefs(rows, from), wrap(err)
}
