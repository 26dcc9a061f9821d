package hiring

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/csvfile"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/id"
	"github.com/locumhq/locum/core/page"
)

// Rows are the rows of an organization or user that can be exported.
type Rows interface {
	Columns() []string
	// Rows adds at most n rows after the cursor ("" for the first) to the page,
	// newest first, and returns the next cursor, which is "" at the end.
	Rows(ctx context.Context, ownerID string, filters map[string]string, cursor string, n int, page *csvfile.Page) (next string, err error)
}

// Table is a table of an organization that can be exported in the background.
type Table interface {
	Rows
	// Check validates the filters.
	Check(filters map[string]string) error
	Count(ctx context.Context, organizationID string, filters map[string]string) (int, error)
}

// Table returns the applications to an organization's listings as a table.
func (s *Service) Table() Table { return applicationTable{s} }

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

// mostExported is the maximum number of applications in one JSON response. CSV files
// have no limit.
const mostExported = page.MaxExact

// ExportOwn returns the caller's applications that are not withdrawn, newest first.
func (s *Service) ExportOwn(ctx context.Context, by auth.Actor) ([]View, error) {
	if err := by.RequireSeeker(); err != nil {
		return nil, err
	}
	var all []View
	for cursor := ""; ; {
		found, next, err := s.own(ctx, by.UserID, cursor, exportRows)
		if err != nil {
			return nil, err
		}
		if all = append(all, found...); next == "" {
			return all, nil
		}
		if len(all) >= mostExported {
			return nil, fault.InvalidField("format", fmt.Sprintf("must be csv for more than %d applications", mostExported))
		}
		cursor = next
	}
}

// ExportOwnTable returns the same as a file that is written while it is read.
func (s *Service) ExportOwnTable(ctx context.Context, by auth.Actor) (Download, error) {
	if err := by.RequireSeeker(); err != nil {
		return Download{}, err
	}
	return s.stream(ctx, "my-applications", ownTable{s}, by.UserID, nil)
}

// own returns a page of the applicant's applications.
func (s *Service) own(ctx context.Context, applicantID, cursor string, n int) ([]View, string, error) {
	found, err := s.Applications.List(ctx, Visibility{ApplicantID: applicantID}, ApplicationFilter{}, page.After(cursor, n))
	if err != nil {
		return nil, "", err
	}
	views, err := s.titled(ctx, found.Items)
	return views, found.NextCursor, err
}

// ownTable is the table of an applicant's applications.
type ownTable struct{ *Service }

// Columns implements Rows.
func (ownTable) Columns() []string {
	return []string{"id", "listing_id", "job_title", "company", "status", "applied_at"}
}

// Rows implements Rows.
func (t ownTable) Rows(ctx context.Context, applicantID string, _ map[string]string, cursor string, n int, out *csvfile.Page) (string, error) {
	found, next, err := t.own(ctx, applicantID, cursor, n)
	for _, a := range found {
		out.Row([]string{a.ID, a.ListingID, a.JobTitle, a.Company, string(a.Shown()), stamp(a.AppliedAt)})
	}
	return next, err
}
