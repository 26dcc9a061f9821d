package hiring

import (
	"context"
	"errors"
	"fmt"

	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/csvfile"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/list"
	"github.com/locumhq/locum/core/page"
)

// mostExported is the maximum number of applications in one JSON response. CSV files
// have no limit.
const mostExported = page.MaxExact

// OwnApplication is an application in the export of its applicant.
type OwnApplication struct {
	View
	Company string
}

// ExportOwn returns the caller's applications that are not withdrawn, newest first.
func (s *Service) ExportOwn(ctx context.Context, by auth.Actor) ([]OwnApplication, error) {
	if err := by.RequireSeeker(); err != nil {
		return nil, err
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

// ExportOwnTable returns the same as a file that is written while it is read.
func (s *Service) ExportOwnTable(ctx context.Context, by auth.Actor) (Download, error) {
	if err := by.RequireSeeker(); err != nil {
		return Download{}, err
	}
	return s.stream(ctx, "my-applications", ownTable{s}, by.UserID, nil)
}

// own returns a page of the applicant's applications.
func (s *Service) own(ctx context.Context, applicantID, cursor string, n int) ([]OwnApplication, string, error) {
	found, err := s.Applications.List(ctx, Visibility{ApplicantID: applicantID}, ApplicationFilter{}, page.After(cursor, n))
	if err != nil || len(found.Items) == 0 {
		return nil, "", err
	}
	views, err := s.titled(ctx, found.Items)
	if err != nil {
		return nil, "", err
	}
	companies, err := s.Listings.Companies(ctx, list.Distinct(found.Items, func(a Application) string { return a.ListingID }))
	out := make([]OwnApplication, len(views))
	for i, v := range views {
		out[i] = OwnApplication{View: v, Company: companies[v.ListingID]}
	}
	return out, found.NextCursor, err
}

// ownTable is the table of an applicant's applications.
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
	total, _, err := t.ApplicantStats(ctx, applicantID)
	return total, err
}

// Rows implements Table.
func (t ownTable) Rows(ctx context.Context, applicantID string, _ map[string]string, cursor string, n int, out *csvfile.Page) (string, error) {
	found, next, err := t.own(ctx, applicantID, cursor, n)
	for _, a := range found {
		out.Row([]string{a.ID, a.ListingID, a.JobTitle, a.Company, string(a.Shown()), stamp(a.AppliedAt)})
	}
	return next, err
}
