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
)

// Table is something of an organization's that can be exported.
type Table interface {
	Columns() []string
	// Check is nil for filters that the table has.
	Check(filters map[string]string) error
	Count(ctx context.Context, organizationID string, filters map[string]string) (int, error)
	// Rows adds at most n rows after the cursor ("" for the first) to the page,
	// the newest first, and returns the cursor after them, "" at the end.
	Rows(ctx context.Context, organizationID string, filters map[string]string, cursor string, n int, page *csvfile.Page) (next string, err error)
}

// ApplicationFilter picks applications; a zero value picks all.
type ApplicationFilter struct {
	Status    Status
	ListingID string
	// From and Until bound the moment of applying, Until not included.
	From, Until time.Time
}

// applicationTable is the applications to an organization's listings.
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

// applicationFilter reads filters, which stand at the place in their request.
func applicationFilter(filters map[string]string, place string) (f ApplicationFilter, err error) {
	bad := func(name, message string) error { return fault.InvalidField(place+name, message) }
	for _, name := range slices.Sorted(maps.Keys(filters)) {
		value := filters[name]
		switch name {
		case "status":
			if f.Status = Status(value); !slices.Contains(Statuses, f.Status) {
				return f, ErrInvalidStatus
			}
		case "jobId":
			var ok bool
			if f.ListingID, ok = id.Canonical(value); !ok {
				return f, bad(name, "is not the id of a job")
			}
		case "startDate":
			if f.From, err = moments(value, 0); err != nil {
				return f, bad(name, err.Error())
			}
		case "endDate":
			if f.Until, err = moments(value, 24*time.Hour); err != nil {
				return f, bad(name, err.Error())
			}
		default:
			return f, bad(clip(name), "is not one of: status, jobId, startDate, endDate")
		}
	}
	return f, nil
}

// moments reads a moment or a date, to which the time is added.
func moments(s string, more time.Duration) (time.Time, error) {
	if day, err := time.Parse(time.DateOnly, s); err == nil {
		return day.Add(more), nil
	}
	at, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		return at, errors.New("must be a date (2026-11-20) or a moment (2026-11-20T09:30:00Z)")
	}
	return at.UTC(), nil
}

// Count implements Table.
func (t applicationTable) Count(ctx context.Context, organizationID string, filters map[string]string) (int, error) {
	f, err := applicationFilter(filters, "filters.")
	if err != nil {
		return 0, err
	}
	return t.Applications.Count(ctx, organizationID, f)
}

// Rows implements Table.
func (t applicationTable) Rows(ctx context.Context, organizationID string, filters map[string]string, cursor string, n int, page *csvfile.Page) (string, error) {
	f, err := applicationFilter(filters, "filters.")
	if err != nil {
		return "", err
	}
	found, err := t.Applications.Before(ctx, organizationID, f, cursor, n)
	if err != nil {
		return "", err
	}
	views, err := t.named(ctx, found)
	if err == nil {
		err = t.withInterviews(ctx, organizationID, views)
	}
	if err != nil {
		return "", err
	}
	for _, v := range views {
		row := []string{v.ID, v.ListingID, v.JobTitle, v.Applicant.Name, v.Applicant.Email, string(v.Status), stamp(v.AppliedAt), stamp(v.ChangedAt), "", "", ""}
		if v.Interview != nil {
			copy(row[8:], []string{stamp(v.Interview.ScheduledAt), string(v.Interview.Status), string(v.Interview.Outcome)})
		}
		page.Row(row)
	}
	next := ""
	if len(found) == n {
		next = found[n-1].ID
	}
	return next, nil
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
