package listings

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/locumhq/locum/core/csvfile"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/list"
)

// Table provides the rows for an export of an organization's listings.
type Table struct{ s *Service }

// Table returns the organization's listings as a table.
func (s *Service) Table() Table { return Table{s} }

// Columns returns the names of the columns.
func (Table) Columns() []string {
	return []string{
		"id",
		"title",
		"department",
		"company",
		"location",
		"contract_type",
		"status",
		"salary_min",
		"salary_max",
		"salary_currency",
		"views",
		"applications",
		"posted_at",
		"application_deadline",
		"updated_at",
	}
}

// Check returns an error for unknown filters.
func (Table) Check(filters map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(filters)) {
		if name != "status" {
			return fault.InvalidField("filters", "has only: status")
		}

		if !slices.Contains([]Status{Active, Inactive, Closed, Draft, Archived}, Status(filters[name])) {
			return fault.InvalidField("filters.status", "must be one of: active, inactive, closed, draft, archived")
		}
	}

	return nil
}

// Count returns the number of rows.
func (t Table) Count(ctx context.Context, organizationID string, filters map[string]string) (int, error) {
	counts, err := t.s.Listings.CountByStatus(ctx, organizationID)
	if status := Status(filters["status"]); status != "" { // Check has accepted it
		return counts[status], err
	}

	total := 0
	for _, n := range counts {
		total += n
	}

	return total, err
}

// Exported is a listing as a row of the table.
type Exported struct {
	ID, Title, Department, Company, Location, ContractType string
	Status                                                 Status
	SalaryMin, SalaryMax                                   *int64 // in minor units
	Currency                                               string
	Views                                                  int
	PostedAt, Deadline                                     *time.Time
	UpdatedAt                                              time.Time
}

// AppendRows appends at most n rows to the page, the newest listings first. It begins after the
// cursor, and returns the cursor for the next call, which is empty at the end.
func (t Table) AppendRows(
	ctx context.Context,
	organizationID string,
	filters map[string]string,
	cursor string,
	n int,
	page *csvfile.Page,
) (nextCursor string, err error) {
	rows, nextCursor, err := t.s.Listings.Export(ctx, organizationID, Status(filters["status"]), cursor, n)
	if err != nil || len(rows) == 0 {
		return nextCursor, err
	}

	ids := list.Map(rows, func(e Exported) string { return e.ID })

	applications, err := t.s.Applications.CountByListing(ctx, organizationID, ids)
	if err != nil {
		return "", err
	}

	// The cells have the order of Columns.
	for i := range rows {
		e := &rows[i]
		for _, text := range [...]string{e.ID, e.Title, e.Department, e.Company, e.Location, e.ContractType, string(e.Status)} {
			page.Text(text)
		}

		addOptional(page, e.SalaryMin, func(minor int64) { page.Float(Major(minor)) })
		addOptional(page, e.SalaryMax, func(minor int64) { page.Float(Major(minor)) })
		page.Text(e.Currency)
		page.Int(e.Views)
		page.Int(applications[e.ID])
		addOptional(page, e.PostedAt, page.Time)
		addOptional(page, e.Deadline, page.Time)
		page.Time(e.UpdatedAt)
		page.End()
	}

	return nextCursor, nil
}

// addOptional adds a cell with add, or an empty cell if v is nil.
func addOptional[T any](page *csvfile.Page, v *T, add func(T)) {
	if v == nil {
		page.Text("")
		return
	}

	add(*v)
}
