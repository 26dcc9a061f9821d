package gormdb

import (
	"context"
	"time"

	"gorm.io/gorm"

	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/modules/listings"
)

// cases implements listings.Cases. The case of a listing collects what moderators have to know about
// it: reports by visitors, how suspicious it is, and the last decision.
type cases struct{ *DB }

// listingReportRow is a report of a visitor about a listing. ReporterID is empty for visitors without
// an account, and after the account was deleted.
type listingReportRow struct {
	ID         string
	ListingID  string
	ReporterID string `gorm:"serializer:nullable_string"`
	Reason     listings.ReportReason
	Text       string
	Email      string
	CreatedAt  time.Time
}

// listingCaseRow is the case of a listing. Each listing has at most one.
type listingCaseRow struct {
	ID             string
	ListingID      string
	OrganizationID string
	State          listings.CaseState
	Reports        int    // the number of reports by visitors
	Score          int    // how suspicious the listing is
	Held           bool   // the listing is hidden because of its organization
	Note           string // of the moderator who has decided
	DecidedBy      string `gorm:"serializer:nullable_string"` // empty for an operator
	DecidedAt      *time.Time
	OpenedAt       time.Time
}

// CreateReport implements listings.Cases.
func (d cases) CreateReport(ctx context.Context, r listings.JobReport) error {
	return wrap(d.conn(ctx).Create((*listingReportRow)(&r)).Error)
}

// ListReports implements listings.Cases. It returns the newest n reports about the listing.
func (d cases) ListReports(ctx context.Context, listingID string, n int) ([]listings.JobReport, error) {
	newest := d.conn(ctx).Where("listing_id = ?", listingID).Order("id DESC").Limit(n)
	return findRows(newest, func(r listingReportRow) listings.JobReport { return listings.JobReport(r) })
}

// EraseReporter implements listings.Cases. The reports remain, without the reporter's id and address.
func (d cases) EraseReporter(ctx context.Context, userID string) error {
	reports := d.conn(ctx).Model(&listingReportRow{}).Where("reporter_id = ?", userID)
	return wrap(reports.Updates(map[string]any{"reporter_id": nil, "email": ""}).Error)
}

// Get implements listings.Cases. It returns a zero case for a listing without one.
func (d cases) Get(ctx context.Context, listingID string) (listings.Case, error) {
	r, err := takeRowIfAny[listingCaseRow](d.conn(ctx).Where("listing_id = ?", listingID))
	return listings.Case(r), err
}

// Upsert implements listings.Cases. The id is updated too: a case that is opened again gets a new one,
// which puts it at the end of the queue.
func (d cases) Upsert(ctx context.Context, c listings.Case) error {
	update := updateOnConflict([]string{"listing_id"},
		"id", "state", "reports", "score", "held", "note", "decided_by", "decided_at", "opened_at")
	row := listingCaseRow(c)
	row.DecidedAt = utc(row.DecidedAt)

	return wrap(d.conn(ctx).Clauses(update).Create(&row).Error)
}

// List implements listings.Cases. The ids have the order in which the cases were opened, so that the cases
// that wait longest are first.
func (d cases) List(ctx context.Context, f listings.CaseFilter, request page.Request) (page.Result[listings.Case], error) {
	selected := func(q *gorm.DB) *gorm.DB {
		q = whereEqual(q, "state", f.State)
		q = whereEqual(q, "organization_id", f.OrganizationID)
		q = whereInIfSet(q, "listing_id", f.ListingIDs)

		if f.Held {
			q = q.Where("held")
		}

		return q
	}

	return listPage(ctx, d.DB, request, listQuery{orderedBy: "id", oldestFirst: true, where: selected},
		func(r listingCaseRow) listings.Case { return listings.Case(r) })
}
