package hiring

import "context"

// AppliedLately are the listings that the applicant applied for last and has not
// withdrawn from, at most n.
func (s *Service) AppliedLately(ctx context.Context, applicantID string, n int) ([]string, error) {
	return s.Applications.AppliedLately(ctx, applicantID, n)
}

// AppliedAmong returns those of the listings that the applicant ever applied for.
func (s *Service) AppliedAmong(ctx context.Context, applicantID string, listingIDs []string) (map[string]bool, error) {
	if len(listingIDs) == 0 {
		return map[string]bool{}, nil
	}
	return s.Applications.AppliedAmong(ctx, applicantID, listingIDs)
}
