package listings

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/locumhq/locum/core/fault"
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

// Exported is a listing as a row of the table.
type Exported struct {
	ID, Title, Department, Company, Location, ContractType string
	Status                                                 Status
	SalaryMin, SalaryMax                                   *int64 // in minor units
	Currency                                               string
	Views, Applications                                    int
	PostedAt, Deadline                                     *time.Time
	UpdatedAt                                              time.Time
}

// Rows are at most n rows after the cursor, the newest first.
func (t Table) Rows(ctx context.Context, organizationID string, filters map[string]string, cursor string, n int) ([][]string, string, error) {
	found, next, err := t.s.Listings.Export(ctx, organizationID, Status(filters["status"]), cursor, n)
	if err != nil {
		return nil, "", err
	}
	rows := make([][]string, len(found))
	for i, e := range found {
		rows[i] = []string{
			e.ID, e.Title, e.Department, e.Company, e.Location, e.ContractType, string(e.Status), amount(e.SalaryMin), amount(e.SalaryMax), e.Currency,
			strconv.Itoa(e.Views), strconv.Itoa(e.Applications), cell(e.PostedAt), cell(e.Deadline), cell(&e.UpdatedAt),
		}
	}
	return rows, next, nil
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
