// Package developer defines the developer API, with which programs search jobs and apply
// in the name of users.
package developer

import (
	"github.com/locumhq/locum/adapters/web"
	"github.com/locumhq/locum/modules/identity"
	"github.com/locumhq/locum/modules/integrations"
	"github.com/locumhq/locum/modules/listings"
)

// ViewJob returns the listing as the developer API and webhooks represent it. by is the
// organization that posted it; if it has no id, the company has only the name in the
// listing.
func ViewJob(l listings.Listing, by identity.Organization, publicURL string) integrations.JobView {
	v := integrations.JobView{
		ID: l.ID, Title: l.Title, Description: l.Description,
		Company: integrations.CompanyView{ID: l.OrganizationID, Name: l.Company, Website: known(by.Website), Logo: known(by.Logo)},
		Remote:  l.Remote, Specialty: known(l.Specialty), EmploymentType: known(l.EmploymentType), ContractType: known(l.ContractType), Salary: (*integrations.PayView)(l.Salary.InMajorUnits()),
		Requirements: append([]string{}, l.Requirements...), Benefits: append([]string{}, l.Benefits...), Questions: web.Each(l.Questions, func(q listings.Question) integrations.QuestionView { return integrations.QuestionView(q) }),
		Status: string(l.Status), ApplicationDeadline: l.Deadline, PostedAt: l.PostedAt, UpdatedAt: l.UpdatedAt, URL: publicURL + "/jobs/" + l.ID,
	}
	if l.HiddenAt != nil { // only the event job.closed contains it
		v.Status = string(listings.Closed)
	}
	v.Location.Text = known(l.Location)
	if p := l.Place; p != nil {
		if p.Kind == listings.Town {
			v.Location.City = known(p.Name)
		}
		v.Location.Region, v.Location.Country = known(p.Region), known(p.Country)
		v.Location.Latitude, v.Location.Longitude = &p.Lat, &p.Lon
	}
	return v
}

// known returns a pointer to s, or nil if it is empty.
func known(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
