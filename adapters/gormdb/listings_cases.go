package gormdb

import (
	"context"
	"time"

	"gorm.io/gorm"

	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/modules/listings"
)

// cases implements listings.Cases.
type cases struct{ *DB }

type listingReportRow struct {
	ID         string
	ListingID  string
	ReporterID string `gorm:"serializer:nullable_string"`
	Reason     listings.ReportReason
	Text       string
	Email      string
	CreatedAt  time.Time
}

type listingCaseRow struct {
	ID             string
	ListingID      string
	OrganizationID string
	State          listings.CaseState
	Reports        int
	Score          int
	Held           bool
	Note           string
	DecidedBy      string `gorm:"serializer:nullable_string"`
	DecidedAt      *time.Time
	OpenedAt       time.Time
}

// CreateReport implements listings.Cases.
func (d cases) CreateReport(ctx context.Context, r listings.JobReport) error {
	return wrap(d.conn(ctx).Create((*listingReportRow)(&r)).Error)
}

// ListReports implements listings.Cases.
func (d cases) ListReports(ctx context.Context, listingID string, n int) ([]listings.JobReport, error) {
	return findRows(
		d.conn(ctx).Where("listing_id = ?", listingID).Order("id DESC").Limit(n),
		func(r listingReportRow) listings.JobReport { return listings.JobReport(r) },
	)
}

// EraseReporter implements listings.Cases.
func (d cases) EraseReporter(ctx context.Context, userID string) error {
	return wrap(
		d.conn(ctx).
			Model(&listingReportRow{}).
			Where("reporter_id = ?", userID).
			Updates(map[string]any{"reporter_id": nil, "email": ""}).
			Error,
	)
}

// Get implements listings.Cases.
func (d cases) Get(ctx context.Context, listingID string) (listings.Case, error) {
	r, err := takeRowIfAny[listingCaseRow](d.conn(ctx).Where("listing_id = ?", listingID))
	return listings.Case(r), err
}

// Upsert implements listings.Cases.
func (d cases) Upsert(ctx context.Context, c listings.Case) error {
	update := updateOnConflict(
		[]string{"listing_id"},
		"id",
		"state",
		"reports",
		"score",
		"held",
		"note",
		"decided_by",
		"decided_at",
		"opened_at",
	)
	row := listingCaseRow(c)
	row.DecidedAt = utc(row.DecidedAt)

	return wrap(d.conn(ctx).Clauses(update).Create(&row).Error)
}

// List implements listings.Cases.
func (d cases) List(ctx context.Context, f listings.CaseFilter, r page.Request) (page.Result[listings.Case], error) {
	return listPage(ctx, d.DB, r, listQuery{orderedBy: "id", oldestFirst: true, where: func(q *gorm.DB) *gorm.DB {
		q = whereEqual(whereEqual(q, "state", f.State), "organization_id", f.OrganizationID)

		q = whereInIfSet(q, "listing_id", f.ListingIDs)
		if f.Held {
			q = q.Where("held")
		}

		return q
	}}, func(r listingCaseRow) listings.Case { return listings.Case(r) })
}
