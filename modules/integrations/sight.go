package integrations

import "context"

// Sight is what somebody may see of applications for jobs. It is the one answer
// to that question, for who asks by the developer interface and for who is told
// by webhooks.
type Sight struct {
	// OrganizationID is the organization whose applications the account may view,
	// empty for none.
	OrganizationID string
	// ApplicantID is the account whose own applications these are, empty for
	// none.
	ApplicantID string
}

// Sees reports whether an application by the applicant to the organization is
// within sight.
func (v Sight) Sees(organizationID, applicantID string) bool {
	return v.OrganizationID != "" && v.OrganizationID == organizationID || v.ApplicantID != "" && v.ApplicantID == applicantID
}

// Sight is what the account may see at this moment.
func (s *Service) Sight(ctx context.Context, userID string) (Sight, error) {
	return s.People.Sight(ctx, userID)
}
