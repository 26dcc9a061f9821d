package hiring

import (
	"context"
	"math"

	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/fault"
)

// Counts are applications by their status.
type Counts map[Status]int

// Total is how many there are in all statuses.
func (c Counts) Total() int {
	n := 0
	for _, m := range c {
		n += m
	}
	return n
}

// StatsInput narrows what is counted. Dates are meant as a whole, moments as
// they are.
type StatsInput struct {
	Status    string `query:"status"`
	StartDate string `query:"startDate"`
	EndDate   string `query:"endDate"`
	JobID     string `query:"jobId"`
}

func (in StatsInput) given() map[string]string {
	out := map[string]string{}
	for name, value := range map[string]string{"status": in.Status, "startDate": in.StartDate, "endDate": in.EndDate, "jobId": in.JobID} {
		if value != "" {
			out[name] = value
		}
	}
	return out
}

// Stats counts the applications to the organization's listings that the input
// picks.
func (s *Service) Stats(ctx context.Context, by auth.Actor, in StatsInput) (Counts, error) {
	if !by.May(auth.ApplicationsView) {
		return nil, fault.ErrForbidden
	}
	f, err := applicationFilter(in.given(), "")
	if err != nil {
		return nil, err
	}
	return s.Applications.CountByStatus(ctx, by.OrganizationID, f)
}

// ApplicantStats counts the applications in the user's own list, and those of
// them that they see as pending.
func (s *Service) ApplicantStats(ctx context.Context, userID string) (total, pending int, err error) {
	return s.Applications.CountForApplicant(ctx, userID, Pending)
}

// JobAnalytics is what became of one listing.
type JobAnalytics struct {
	JobID        string
	Title        string
	Views        int
	Applications Counts
}

// ConversionRate is how many of a hundred views led to an application, rounded
// to two decimals, and 0 without views.
func (a JobAnalytics) ConversionRate() float64 {
	if a.Views == 0 {
		return 0
	}
	return math.Round(float64(a.Applications.Total())/float64(a.Views)*100*100) / 100
}

// JobAnalytics tells what became of one of the organization's listings. One
// that it does not have is the listings' NotFound fault.
func (s *Service) JobAnalytics(ctx context.Context, by auth.Actor, jobID string) (JobAnalytics, error) {
	if !by.May(auth.ApplicationsView) {
		return JobAnalytics{}, fault.ErrForbidden
	}
	title, views, err := s.Listings.Viewed(ctx, by.OrganizationID, jobID)
	if err != nil {
		return JobAnalytics{}, err
	}
	a := JobAnalytics{Title: title, Views: views}
	if a.JobID, err = canonical(jobID, ErrListingNotFound); err != nil {
		return JobAnalytics{}, err
	}
	a.Applications, err = s.Applications.CountByStatus(ctx, by.OrganizationID, ApplicationFilter{ListingID: a.JobID})
	return a, err
}

// Analytics is what an organization has: its listings by status, and what was
// sent to them.
type Analytics struct {
	Jobs         map[string]int
	Applications Counts
}

// Analytics counts all that the organization has.
func (s *Service) Analytics(ctx context.Context, by auth.Actor) (a Analytics, err error) {
	if !by.May(auth.ApplicationsView) {
		return a, fault.ErrForbidden
	}
	if a.Jobs, err = s.Listings.CountByStatus(ctx, by.OrganizationID); err != nil {
		return a, err
	}
	a.Applications, err = s.Applications.CountByStatus(ctx, by.OrganizationID, ApplicationFilter{})
	return a, err
}
