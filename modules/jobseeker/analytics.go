package jobseeker

import (
	"context"

	"github.com/locumhq/locum/core/auth"
)

// Analytics are statistics about a jobseeker.
type Analytics struct {
	Applications ApplicationCounts
	SavedJobs    int
	// Completion is the share of the profile that is filled in, in percent.
	Completion int
}

// MyAnalytics returns the caller's statistics.
func (s *Service) MyAnalytics(ctx context.Context, by auth.Actor) (a Analytics, err error) {
	if err := by.RequireSeeker(); err != nil {
		return a, err
	}
	if a.Applications, err = s.Applied.Counts(ctx, by.UserID); err != nil {
		return a, err
	}
	if a.SavedJobs, err = s.SavedCount(ctx, by.UserID); err != nil {
		return a, err
	}
	p, err := s.Profiles.Get(ctx, by.UserID)
	if err != nil {
		return a, err
	}
	used, err := s.usage(ctx, by.UserID)
	a.Completion = p.completion(used.CVs > 0)
	return a, err
}

// completion returns the share of ten properties, useful for employers and searches,
// that are filled in, in percent.
func (p Profile) completion(hasCV bool) int {
	n := 0
	for _, isFilled := range []bool{
		p.Bio != "", p.Phone != "", p.Location != "", p.Specialty != "", p.CurrentRole != "", p.Experience != "",
		p.PreferredLocation != "", len(p.EmploymentTypes) > 0, p.SalaryMin != nil || p.SalaryMax != nil, hasCV,
	} {
		if isFilled {
			n += 10
		}
	}
	return n
}
