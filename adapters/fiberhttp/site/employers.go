package site

import (
	"context"

	"github.com/gofiber/fiber/v2"

	"github.com/locumhq/locum/adapters/fiberhttp/pages"
	"github.com/locumhq/locum/core/id"
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/modules/identity"
	"github.com/locumhq/locum/modules/listings"
)

// employerView is the page of an organization with its open jobs.
type employerView struct {
	identity.Organization
	VerifiedDomain string // empty unless the organization is verified by its domain
	Jobs           []result
	Total          int    // the number of open jobs on all pages
	Next           string // the path of the next page, empty on the last one
	Canonical      string // the canonical URL of the page, for search engines
}

// organizationID returns the UUID at the end of a slug such as city-hospital-UUID. It is
// empty if the slug does not end with a UUID.
func organizationID(slug string) string {
	const uuidLength = 36

	end := slug[max(0, len(slug)-uuidLength):]
	canonical, _ := id.Canonical(end)

	return canonical
}

// employer shows an organization with its open jobs. The query parameter after is the cursor of a later page.
func (s *Site) employer(ctx context.Context, c *fiber.Ctx, viewer *pages.Viewer) error {
	v, err := s.newEmployerView(ctx, c.Params("slug"), c.Query("after"), viewer)
	if err != nil {
		return s.renderMissing(c, viewer, err, "Employer not found")
	}

	return s.render(c, employerPage, viewer, v)
}

// newEmployerView returns an organization with its open jobs after the cursor. It returns listings.ErrNotFound if the
// organization does not exist, or if its jobs are hidden because it is held for a moderator's decision or suspended.
func (s *Site) newEmployerView(ctx context.Context, slug, cursor string, viewer *pages.Viewer) (v employerView, err error) {
	wantedID := organizationID(slug)
	if wantedID == "" {
		return v, listings.ErrNotFound
	}

	organizations, err := s.services.Identity.OrganizationsOf(ctx, []string{wantedID})
	if err != nil {
		return v, err
	}

	organization, exists := organizations[wantedID]
	if !exists || organization.HoldsJobs() {
		return v, listings.ErrNotFound
	}

	in := listings.FindInput{
		Sort:    string(listings.ByDate),
		Filters: listings.FilterInput{Organization: wantedID},
		Page:    page.Request{Number: 1, Size: pageSize, Cursor: cursor},
	}

	jobs, err := s.services.Listings.Find(readContext(ctx, viewer), actorOf(viewer), in)
	if err != nil {
		return v, err
	}

	path := employerPath(organization.ID, organization.Name)

	v = employerView{
		Organization:   organization,
		VerifiedDomain: organization.VerifiedDomain(),
		Jobs:           exactResults(jobs.Items),
		Total:          jobs.Total,
		Canonical:      s.publicURL + path,
	}
	if jobs.NextCursor != "" {
		v.Next = path + "?after=" + jobs.NextCursor
	}

	return v, nil
}
