package bootstrap

import (
	"context"

	"github.com/locumhq/locum/adapters/developer"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/modules/identity"
	"github.com/locumhq/locum/modules/integrations"
	"github.com/locumhq/locum/modules/listings"
)

// ListByIDs implements integrations.Accounts.
func (b integrationsAccounts) ListByIDs(ctx context.Context, ids []string) (map[string]integrations.Person, error) {
	people, err := b.People(ctx, ids)
	out := make(map[string]integrations.Person, len(people))
	for id, p := range people {
		out[id] = integrations.Person{Name: p.Name, Email: p.Email}
	}
	return out, err
}

// integrationsPostings implements integrations.Postings.
type integrationsPostings struct {
	*listings.Service
	organizations identity.Organizations
	publicURL     string
}

func (b integrationsPostings) Posting(ctx context.Context, organizationID, id string) (*integrations.JobView, bool, error) {
	l, err := b.OfOrganization(ctx, organizationID, id)
	if fault.KindOf(err) == fault.NotFound {
		return nil, false, nil
	} else if err != nil {
		return nil, false, err
	}
	var by identity.Organization
	found, err := b.organizations.GetByIDs(ctx, []string{organizationID})
	if err != nil {
		return nil, false, err
	}
	if len(found) > 0 {
		by = found[0]
	}
	v := developer.ViewJob(l, by, b.publicURL)
	return &v, l.Open, nil
}
