package jobseeker

import (
	"context"

	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/fault"
)

// Analytics are a jobseeker's numbers.
type Analytics struct {
	Applications ApplicationCounts
	SavedJobs    int
	// Completion is how much of the profile is there, from 0 to 100.
	Completion int
}

// MyAnalytics are the caller's numbers.
func (s *Service) MyAnalytics(ctx context.Context, by auth.Actor) (a Analytics, err error) {
	if !by.Seeker {
		return a, fault.ErrForbidden
	}
	if a.Applications, err = s.Applied.Counts(ctx, by.UserID); err != nil {
		return a, err
	}
	if a.SavedJobs, err = s.SavedCount(ctx, by.UserID); err != nil {
		return a, err
	}
	p, err := s.Profiles.Find(ctx, by.UserID)
	if err != nil {
		return a, err
	}
	kept, err := s.Documents.Usage(ctx, by.UserID)
	a.Completion = p.completion(kept.CVs > 0)
	return a, err
}

// completion counts what an employer or a search can go by: ten things, each a
// tenth.
func (p Profile) completion(hasCV bool) int {
	n := 0
	for _, there := range []bool{
		p.Bio != "", p.Phone != "", p.Location != "", p.Specialty != "", p.CurrentRole != "", p.Experience != "",
		p.PreferredLocation != "", len(p.EmploymentTypes) > 0, p.SalaryMin != nil || p.SalaryMax != nil, hasCV,
	} {
		if there {
			n += 10
		}
	}
	return n
}
