package integrations

// Visibility is the set of job applications that an account may see through the developer
// API and webhooks.
type Visibility struct {
	// OrganizationID is the organization whose job applications the account may see, or
	// empty.
	OrganizationID string
	// ApplicantID is the applicant whose job applications the account may see: the account
	// itself, or empty.
	ApplicantID string
}

// CanSee reports whether the set contains a job application of the applicant to the
// organization.
func (v Visibility) CanSee(organizationID, applicantID string) bool {
	return v.OrganizationID != "" && v.OrganizationID == organizationID || v.ApplicantID != "" && v.ApplicantID == applicantID
}
