package gormdb

import (
	"context"
	"encoding/json"
	"time"

	"gorm.io/gorm"

	"github.com/locumhq/locum/modules/hiring"
)

// Exports stores what is known of exports.
type Exports struct{ *DB }

type exportRow struct {
	ID             string
	OrganizationID string
	UserID         string
	Kind           string
	Filters        string
	State          string
	RowsDone       int
	RowsTotal      int
	CreatedAt      time.Time `gorm:"autoCreateTime:false"`
	FinishedAt     *time.Time
}

// TableName tells GORM the table.
func (exportRow) TableName() string { return "exports" }

func (r exportRow) export() (hiring.Export, error) {
	e := hiring.Export{ID: r.ID, OrganizationID: r.OrganizationID, UserID: r.UserID, Kind: r.Kind, State: hiring.ExportState(r.State),
		RowsDone: r.RowsDone, RowsTotal: r.RowsTotal, CreatedAt: r.CreatedAt, FinishedAt: r.FinishedAt}
	return e, json.Unmarshal([]byte(r.Filters), &e.Filters)
}

// Add implements hiring.Exports.
func (d Exports) Add(ctx context.Context, e hiring.Export) error {
	filters, err := json.Marshal(e.Filters)
	if err != nil {
		return err
	}
	r := exportRow{ID: e.ID, OrganizationID: e.OrganizationID, UserID: e.UserID, Kind: e.Kind, Filters: string(filters), State: string(e.State),
		RowsDone: e.RowsDone, RowsTotal: e.RowsTotal, CreatedAt: e.CreatedAt, FinishedAt: e.FinishedAt}
	return wrap(d.q(ctx).Create(&r).Error)
}

// Unfinished implements hiring.Exports.
func (d Exports) Unfinished(ctx context.Context, organizationID string) (n int, err error) {
	if err := d.turn(ctx, "exports of "+organizationID); err != nil {
		return 0, err
	}
	err = d.q(ctx).Raw("SELECT COUNT(*) FROM exports WHERE organization_id = ? AND finished_at IS NULL", organizationID).Scan(&n).Error
	return n, wrap(err)
}

// Find implements hiring.Exports.
func (d Exports) Find(ctx context.Context, organizationID, id string) (hiring.Export, error) {
	var r exportRow
	err := d.q(ctx).Where("id = ? AND organization_id = ?", id, organizationID).Take(&r).Error
	if err := orNotFound(err, hiring.ErrExportNotFound); err != nil {
		return hiring.Export{}, err
	}
	return r.export()
}

// Save implements hiring.Exports.
func (d Exports) Save(ctx context.Context, e hiring.Export) error {
	return saved(d.q(ctx).Exec("UPDATE exports SET state = ?, rows_done = ?, rows_total = ?, finished_at = ? WHERE id = ? AND organization_id = ? AND state <> ?",
		string(e.State), e.RowsDone, e.RowsTotal, e.FinishedAt, e.ID, e.OrganizationID, string(hiring.ExportDone)))
}

// GiveUp implements hiring.Exports.
func (d Exports) GiveUp(ctx context.Context, before, now time.Time) error {
	return wrap(d.q(ctx).Exec("UPDATE exports SET state = ?, finished_at = ? WHERE finished_at IS NULL AND created_at < ?", string(hiring.ExportFailed), now, before).Error)
}

// Expired implements hiring.Exports.
func (d Exports) Expired(ctx context.Context, before time.Time, n int) ([]hiring.Export, error) {
	var rows []exportRow
	if err := d.q(ctx).Where("created_at < ?", before).Order("created_at").Limit(n).Find(&rows).Error; err != nil {
		return nil, wrap(err)
	}
	return exportsOf(rows)
}

func exportsOf(rows []exportRow) ([]hiring.Export, error) {
	out := make([]hiring.Export, len(rows))
	for i, r := range rows {
		var err error
		if out[i], err = r.export(); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Naming implements hiring.Exports.
func (d Exports) Naming(ctx context.Context, applicantID string, by time.Time, n int) ([]hiring.Export, error) {
	var rows []exportRow
	err := d.q(ctx).Where(`organization_id IN (SELECT organization_id FROM applications WHERE applicant_id = ? AND withdrawn_at IS NOT NULL)
		AND kind = 'applications' AND state <> ? AND created_at <= ?`, applicantID, string(hiring.ExportQueued), by).Limit(n).Find(&rows).Error
	if err != nil {
		return nil, wrap(err)
	}
	return exportsOf(rows)
}

// Remove implements hiring.Exports.
func (d Exports) Remove(ctx context.Context, ids []string) error {
	return wrap(d.q(ctx).Exec("DELETE FROM exports WHERE ?", d.dialect.In("id", ids)).Error)
}

// picked is the organization's applications that the filter picks.
func (d Applications) picked(ctx context.Context, organizationID string, f hiring.ApplicationFilter) *gorm.DB {
	q := d.unprepared(ctx).Model(&applicationRow{}).Where("organization_id = ?", organizationID)
	if f.Status != "" {
		q = q.Where("status = ?", string(f.Status))
	}
	if f.ListingID != "" {
		q = q.Where("listing_id = ?", f.ListingID)
	}
	if !f.From.IsZero() {
		q = q.Where("applied_at >= ?", f.From)
	}
	if !f.Until.IsZero() {
		q = q.Where("applied_at < ?", f.Until)
	}
	return q
}

// Count implements hiring.Applications.
func (d Applications) Count(ctx context.Context, organizationID string, f hiring.ApplicationFilter) (int, error) {
	var n int64
	err := d.picked(ctx, organizationID, f).Count(&n).Error
	return int(n), wrap(err)
}

// CountByStatus implements hiring.Applications.
func (d Applications) CountByStatus(ctx context.Context, organizationID string, f hiring.ApplicationFilter) (map[hiring.Status]int, error) {
	return countedBy[hiring.Status](d.picked(ctx, organizationID, f).Select("status AS name, count(*) AS n").Group("status"))
}

// CountForApplicant implements hiring.Applications.
func (d Applications) CountForApplicant(ctx context.Context, applicantID string, seen hiring.Status) (all, those int, err error) {
	var n struct{ Total, Those int }
	err = d.q(ctx).Raw(`SELECT COUNT(*) AS total, COUNT(CASE WHEN tracker = ? OR tracker = '' AND status = ? THEN 1 END) AS those
		FROM applications WHERE applicant_id = ? AND withdrawn_at IS NULL`, string(seen), string(seen), applicantID).Scan(&n).Error
	return n.Total, n.Those, wrap(err)
}

// Before implements hiring.Applications.
func (d Applications) Before(ctx context.Context, organizationID string, f hiring.ApplicationFilter, id string, n int) ([]hiring.Application, error) {
	q := d.picked(ctx, organizationID, f)
	if id != "" {
		q = q.Where("id < ?", id)
	}
	var rows []applicationRow
	if err := q.Select(applicationListColumns).Order("id DESC").Limit(n).Find(&rows).Error; err != nil {
		return nil, wrap(err)
	}
	return applicationsOf(rows)
}
