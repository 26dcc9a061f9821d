package hiring

import (
	"context"
	"errors"
	"fmt"

	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/csvfile"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/page"
)

// mostExported is how many applications are gathered into one answer; a table
// has no such bound.
const mostExported = page.MaxExact

// OwnApplication is an application as its applicant exports it.
type OwnApplication struct {
	View
	Company string
}

// ExportOwn is all of the caller's applications, the newest first, but those
// that they withdrew.
func (s *Service) ExportOwn(ctx context.Context, by auth.Actor) ([]OwnApplication, error) {
	if !by.Seeker {
		return nil, fault.ErrForbidden
	}
	var all []OwnApplication
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

// ExportOwnTable is the same as a file that is written while it is read.
func (s *Service) ExportOwnTable(ctx context.Context, by auth.Actor) (Download, error) {
	if !by.Seeker {
		return Download{}, fault.ErrForbidden
	}
	return s.stream(ctx, "my-applications", ownTable{s}, by.UserID, nil)
}

// own reads a page of the applicant's applications for an export.
func (s *Service) own(ctx context.Context, applicantID, cursor string, n int) ([]OwnApplication, string, error) {
	found, err := s.Applications.PageForApplicant(ctx, applicantID, page.Request{Number: 1, Size: n, Cursor: cursor})
	if err != nil || len(found.Items) == 0 {
		return nil, "", err
	}
	views, err := s.titled(ctx, found.Items)
	if err != nil {
		return nil, "", err
	}
	companies, err := s.Listings.Companies(ctx, distinct(found.Items, func(a Application) string { return a.ListingID }))
	out := make([]OwnApplication, len(views))
	for i, v := range views {
		out[i] = OwnApplication{View: v, Company: companies[v.ListingID]}
	}
	return out, found.NextCursor, err
}

// ownTable is an applicant's applications as a table.
type ownTable struct{ *Service }

// Columns implements Table.
func (ownTable) Columns() []string {
	return []string{"id", "listing_id", "job_title", "company", "status", "applied_at"}
}

// Check implements Table.
func (ownTable) Check(filters map[string]string) error {
	if len(filters) > 0 {
		return errors.New("has no filters")
	}
	return nil
}

// Count implements Table.
func (t ownTable) Count(ctx context.Context, applicantID string, _ map[string]string) (int, error) {
	found, err := t.Applications.PageForApplicant(ctx, applicantID, page.Request{Number: 1, Size: 1})
	return found.Total, err
}

// Rows implements Table.
func (t ownTable) Rows(ctx context.Context, applicantID string, _ map[string]string, cursor string, n int, out *csvfile.Page) (string, error) {
	found, next, err := t.own(ctx, applicantID, cursor, n)
	for _, a := range found {
		out.Row([]string{a.ID, a.ListingID, a.JobTitle, a.Company, string(a.Shown()), stamp(a.AppliedAt)})
	}
	return next, err
}
