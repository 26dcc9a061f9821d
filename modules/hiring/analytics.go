package hiring

import (
	"context"
	"maps"
	"math"

	"github.com/locumhq/locum/core/auth"
)

// Counts are numbers of applications by status.
type Counts map[Status]int

// Total returns the sum over all statuses.
func (c Counts) Total() int {
	total := 0
	for _, n := range c {
		total += n
	}
	return total
}

// StatsInput selects the applications to count. EndDate includes that day if it is a
// date.
type StatsInput struct {
	Status    string `query:"status"`
	StartDate string `query:"startDate"`
	EndDate   string `query:"endDate"`
	JobID     string `query:"jobId"`
}

// filters returns the fields that are not empty, by name.
func (in StatsInput) filters() map[string]string {
	out := map[string]string{"status": in.Status, "startDate": in.StartDate, "endDate": in.EndDate, "jobId": in.JobID}
	maps.DeleteFunc(out, func(_, value string) bool { return value == "" })
	return out
}

// Stats counts the applications to the organization's listings that the input selects.
func (s *Service) Stats(ctx context.Context, by auth.Actor, in StatsInput) (Counts, error) {
	if err := by.Require(auth.ApplicationsView); err != nil {
		return nil, err
	}
	f, err := applicationFilter(in.filters(), "")
	if err != nil {
		return nil, err
	}
	return s.Applications.CountByStatus(ctx, Visibility{OrganizationID: by.OrganizationID}, f)
}

// ApplicantStats counts the applications of the user that are not withdrawn, and those
// among them that the user sees as pending.
func (s *Service) ApplicantStats(ctx context.Context, userID string) (total, pending int, err error) {
	counts, err := s.Applications.CountByStatus(ctx, Visibility{ApplicantID: userID}, ApplicationFilter{})
	return Counts(counts).Total(), counts[Pending], err
}

// JobAnalytics are statistics about a listing.
type JobAnalytics struct {
	JobID        string
	Title        string
	Views        int
	Applications Counts
}

// ConversionRate returns the number of applications per 100 views, rounded to two
// decimals, and 0 without views.
func (a JobAnalytics) ConversionRate() float64 {
	if a.Views == 0 {
		return 0
	}
	return math.Round(float64(a.Applications.Total())/float64(a.Views)*100*100) / 100
}

// JobAnalytics returns statistics about a listing of the organization, or the NotFound
// fault of Listings.
func (s *Service) JobAnalytics(ctx context.Context, by auth.Actor, jobID string) (JobAnalytics, error) {
	if err := by.Require(auth.ApplicationsView); err != nil {
		return JobAnalytics{}, err
	}
	title, views, err := s.Listings.Viewed(ctx, by.OrganizationID, jobID)
	if err != nil {
		return JobAnalytics{}, err
	}
	a := JobAnalytics{Title: title, Views: views}
	if a.JobID, err = canonical(jobID, ErrListingNotFound); err != nil {
		return JobAnalytics{}, err
	}
	a.Applications, err = s.Applications.CountByStatus(ctx, Visibility{OrganizationID: by.OrganizationID}, ApplicationFilter{ListingIDs: []string{a.JobID}})
	return a, err
}

// Analytics are the numbers of an organization's listings and applications.
type Analytics struct {
	Jobs         map[string]int
	Applications Counts
}

// Analytics counts the organization's listings and applications.
func (s *Service) Analytics(ctx context.Context, by auth.Actor) (a Analytics, err error) {
	if err := by.Require(auth.ApplicationsView); err != nil {
		return a, err
	}
	if a.Jobs, err = s.Listings.CountByStatus(ctx, by.OrganizationID); err != nil {
		return a, err
	}
	a.Applications, err = s.Applications.CountByStatus(ctx, Visibility{OrganizationID: by.OrganizationID}, ApplicationFilter{})
	return a, err
}
