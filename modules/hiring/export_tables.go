package hiring

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/locumhq/locum/core/csvfile"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/id"
	"github.com/locumhq/locum/core/page"
)

// Table is a table of an organization that can be exported.
type Table interface {
	Columns() []string
	// Check validates the filters.
	Check(filters map[string]string) error
	Count(ctx context.Context, organizationID string, filters map[string]string) (int, error)
	// Rows adds at most n rows after the cursor ("" for the first) to the page,
	// newest first, and returns the next cursor, which is "" at the end.
	Rows(ctx context.Context, organizationID string, filters map[string]string, cursor string, n int, page *csvfile.Page) (next string, err error)
}

// applicationTable is the table of the applications to an organization's listings.
type applicationTable struct{ *Service }

// Columns implements Table.
func (applicationTable) Columns() []string {
	return []string{"id", "job_id", "job_title", "applicant_name", "applicant_email", "status", "applied_at", "updated_at", "interview_at", "interview_status", "interview_outcome"}
}

// Check implements Table.
func (applicationTable) Check(filters map[string]string) error {
	_, err := applicationFilter(filters, "filters.")
	return err
}

// applicationFilter decodes filters. prefix precedes their names in faults.
func applicationFilter(filters map[string]string, prefix string) (f ApplicationFilter, err error) {
	invalid := func(name, message string) error { return fault.InvalidField(prefix+name, message) }
	for _, name := range slices.Sorted(maps.Keys(filters)) {
		value := filters[name]
		switch name {
		case "status":
			if f.Statuses = []Status{Status(value)}; !slices.Contains(Statuses, f.Statuses[0]) {
				return f, ErrInvalidStatus
			}
		case "jobId":
			listingID, ok := id.Canonical(value)
			if !ok {
				return f, invalid(name, "is not the id of a job")
			}
			f.ListingIDs = []string{listingID}
		case "startDate":
			if f.AppliedFrom, err = parseTime(value, 0); err != nil {
				return f, invalid(name, err.Error())
			}
		case "endDate":
			if f.AppliedUntil, err = parseTime(value, 24*time.Hour); err != nil {
				return f, invalid(name, err.Error())
			}
		default:
			return f, invalid(clip(name), "is not one of: status, jobId, startDate, endDate")
		}
	}
	return f, nil
}

// parseTime parses a date-time, or a date, to which it adds more.
func parseTime(s string, more time.Duration) (time.Time, error) {
	if day, err := time.Parse(time.DateOnly, s); err == nil {
		return day.Add(more), nil
	}
	at, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		return at, errors.New("must be a date (2026-11-20) or a date-time (2026-11-20T09:30:00Z)")
	}
	return at.UTC(), nil
}

// Count implements Table.
func (t applicationTable) Count(ctx context.Context, organizationID string, filters map[string]string) (int, error) {
	f, err := applicationFilter(filters, "filters.")
	if err != nil {
		return 0, err
	}
	counts, err := t.Applications.CountByStatus(ctx, Visibility{OrganizationID: organizationID}, f)
	return Counts(counts).Total(), err
}

// Rows implements Table.
func (t applicationTable) Rows(ctx context.Context, organizationID string, filters map[string]string, cursor string, n int, out *csvfile.Page) (string, error) {
	f, err := applicationFilter(filters, "filters.")
	if err != nil {
		return "", err
	}
	found, err := t.Applications.List(ctx, Visibility{OrganizationID: organizationID}, f, page.After(cursor, n))
	if err != nil {
		return "", err
	}
	views, err := t.receivedViews(ctx, organizationID, found.Items)
	if err != nil {
		return "", err
	}
	for _, v := range views {
		row := []string{v.ID, v.ListingID, v.JobTitle, v.Applicant.Name, v.Applicant.Email, string(v.Status), stamp(v.AppliedAt), stamp(v.ChangedAt), "", "", ""}
		if v.Interview != nil {
			copy(row[8:], []string{stamp(v.Interview.ScheduledAt), string(v.Interview.Status), string(v.Interview.Outcome)})
		}
		out.Row(row)
	}
	return found.NextCursor, nil
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
