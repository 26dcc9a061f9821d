package bootstrap

import (
	"context"
	"encoding/json"

	"github.com/locumhq/locum/adapters/developer"
	"github.com/locumhq/locum/modules/identity"
	"github.com/locumhq/locum/modules/integrations"
	"github.com/locumhq/locum/modules/listings"
)

// ListByIDs implements integrations.Accounts.
func (b integrationsAccounts) ListByIDs(ctx context.Context, ids []string) (map[string]integrations.Person, error) {
	return people[integrations.Person]{b.Service}.ByIDs(ctx, ids)
}

// integrationsPostings implements integrations.Postings.
type integrationsPostings struct {
	organizations identity.Organizations
	publicURL     string
}

func (b integrationsPostings) View(ctx context.Context, snapshot json.RawMessage) (v integrations.JobView, err error) {
	var l listings.Listing
	if err := json.Unmarshal(snapshot, &l); err != nil { //nolint:musttag // as listings encodes it
		return v, err
	}
	var by identity.Organization
	found, err := b.organizations.GetByIDs(ctx, []string{l.OrganizationID})
	if len(found) > 0 {
		by, l.Company = found[0], found[0].Name
	}
	return developer.ViewJob(l, by, b.publicURL), err
}
