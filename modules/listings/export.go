package listings

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/page"
)

// Table is an organization's listings as an export shows them.
type Table struct{ s *Service }

// Table returns the organization's listings as a table.
func (s *Service) Table() Table { return Table{s} }

// Columns are the names of the cells of a row.
func (Table) Columns() []string {
	return []string{"id", "title", "department", "company", "location", "contract_type", "status", "salary_min", "salary_max", "salary_currency", "views", "applications", "posted_at", "application_deadline", "updated_at"}
}

// Check is nil for filters that the table has.
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

// Count is how many rows there are.
func (t Table) Count(ctx context.Context, organizationID string, filters map[string]string) (int, error) {
	return t.s.Listings.Count(ctx, organizationID, Status(filters["status"]))
}

// Rows are at most n rows after the cursor, the newest first.
func (t Table) Rows(ctx context.Context, organizationID string, filters map[string]string, cursor string, n int) ([][]string, string, error) {
	r, err := t.s.Listings.Page(ctx, organizationID, Status(filters["status"]), page.Request{Number: 1, Size: n, Cursor: cursor})
	if err != nil {
		return nil, "", err
	}
	ids := make([]string, len(r.Items))
	for i, l := range r.Items {
		ids[i] = l.ID
	}
	views, err := t.s.Views.Of(ctx, organizationID, ids)
	if err != nil {
		return nil, "", err
	}
	received, err := t.s.Applications.CountByListing(ctx, organizationID, ids)
	if err != nil {
		return nil, "", err
	}
	rows := make([][]string, len(r.Items))
	for i, l := range r.Items {
		row := []string{l.ID, l.Title, l.Department, l.Company, l.Location, l.ContractType, string(l.Status), "", "", "",
			strconv.Itoa(views[l.ID]), strconv.Itoa(received[l.ID]), cell(l.PostedAt), cell(l.Deadline), cell(&l.UpdatedAt)}
		if l.Salary != nil {
			copy(row[7:], []string{amount(l.Salary.Min), amount(l.Salary.Max), l.Salary.Currency})
		}
		rows[i] = row
	}
	return rows, r.NextCursor, nil
}

func cell(t *time.Time) string {
	if t == nil {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

func amount(v *int64) string {
	if v == nil {
		return ""
	}
	return strconv.FormatFloat(Major(*v), 'f', -1, 64)
}
