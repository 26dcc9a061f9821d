package bootstrap

import (
	"context"
	"maps"
	"slices"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/config"
	"github.com/locumhq/locum/core/list"
	"github.com/locumhq/locum/core/mail"
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/modules/billing"
	"github.com/locumhq/locum/modules/identity"
	"github.com/locumhq/locum/modules/integrations"
)

// newBilling builds module billing from the storage and the adapters.
func newBilling(
	cfg *config.Config,
	storage adapters.Storage,
	d adapters.Deps,
	mailer mail.Mailer,
	payments billing.Payments,
	identitySvc *identity.Service,
) (*billing.Service, error) {
	deps := billing.Deps{
		Tx:            storage.Billing.Tx,
		Events:        storage.Billing.Events,
		Audit:         storage.Billing.Audit,
		Clock:         d.Clock,
		NewID:         d.NewID,
		Subscriptions: storage.Billing.Subscriptions,
		Charges:       storage.Billing.Charges,
		Payments:      payments,
		People:        billingPeople{identitySvc, storage.Integrations.Apps},
		Mailer:        mailer,
		Plans:         billingPlans(),
		PublicURL:     cfg.HTTP.PublicURL,
	}

	return billing.New(deps), checkDeps("billing", deps)
}

// billingPlans returns all plans for sale: those of users, which module billing defines, and those of
// third-party applications, which module integrations defines.
func billingPlans() []billing.Plan {
	return append(billing.Plans(), list.Map(integrations.Plans(), func(p integrations.Plan) billing.Plan {
		return billing.Plan{
			For:   billing.Application,
			ID:    p.ID,
			Name:  p.Name,
			Price: billing.Money{Minor: p.Price, Currency: "GBP"},
		}
	})...)
}

// billingPeople implements billing.People with module identity and the third-party applications. It
// reads applications from the repository, because the service of module integrations does not exist
// yet: it is built later, from the service of module billing.
type billingPeople struct {
	*identity.Service
	apps integrations.Apps
}

// Payers returns the people who pay for the subscriptions of the owners: a user pays for their own
// subscription, and the owner of an application for that of the application.
func (b billingPeople) Payers(ctx context.Context, owners []billing.Owner) (map[billing.Owner]billing.Person, error) {
	var appIDs []string

	payerIDs := map[string]string{} // ids of the users who pay, by the id of the billing.Owner
	for _, owner := range owners {
		switch owner.Kind {
		case billing.Application:
			appIDs = append(appIDs, owner.ID) // the user is read below
		case billing.User:
			payerIDs[owner.ID] = owner.ID
		}
	}

	if len(appIDs) > 0 {
		filter := integrations.AppFilter{OwnerID: integrations.AnyOwner, IDs: appIDs}
		onePage := page.After("", len(appIDs)) // from the beginning, with room for all applications

		apps, err := b.apps.List(ctx, filter, onePage)
		if err != nil {
			return nil, err
		}

		for _, app := range apps.Items {
			payerIDs[app.ID] = app.OwnerID
		}
	}

	// People omits deleted users, so their subscriptions have no payer.
	people, err := b.People(ctx, slices.Collect(maps.Values(payerIDs)))

	payers := make(map[billing.Owner]billing.Person, len(people))
	for _, owner := range owners {
		if person, exists := people[payerIDs[owner.ID]]; exists {
			payers[owner] = billing.Person{Name: person.Name, Email: person.Email}
		}
	}

	return payers, err
}
