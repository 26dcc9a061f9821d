package integrations

// Visibility is the set of job applications that an account may see, by the
// developer API and by webhooks.
type Visibility struct {
	// OrganizationID is the organization whose applications the account may view,
	// empty for none.
	OrganizationID string
	// ApplicantID is the account whose own applications these are, empty for
	// none.
	ApplicantID string
}

// Sees reports whether an application to the organization by the applicant is in
// the set.
func (v Visibility) Sees(organizationID, applicantID string) bool {
	return v.OrganizationID != "" && v.OrganizationID == organizationID || v.ApplicantID != "" && v.ApplicantID == applicantID
}
