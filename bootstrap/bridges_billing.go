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

// newBilling builds the module from the storage and the adapters.
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

// billingPlans are the plans of users and applications.
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

// billingPeople implements billing.People. It reads applications from the repository: the
// service of module integrations depends on module billing.
type billingPeople struct {
	*identity.Service
	apps integrations.Apps
}

// Payers returns the people who pay: a user pays for himself, the owner of an app for the app.
func (b billingPeople) Payers(ctx context.Context, owners []billing.Owner) (map[billing.Owner]billing.Person, error) {
	var appIDs []string

	userIDs := map[string]string{} // by the id of the billing.Owner
	for _, o := range owners {
		switch o.Kind {
		case billing.Application:
			appIDs = append(appIDs, o.ID)
		case billing.User:
			userIDs[o.ID] = o.ID
		}
	}

	if len(appIDs) > 0 {
		filter := integrations.AppFilter{OwnerID: integrations.AnyOwner, IDs: appIDs}

		apps, err := b.apps.List(ctx, filter, page.After("", len(appIDs)))
		if err != nil {
			return nil, err
		}

		for _, a := range apps.Items {
			userIDs[a.ID] = a.OwnerID
		}
	}

	people, err := b.People(ctx, slices.Collect(maps.Values(userIDs)))

	payers := make(map[billing.Owner]billing.Person, len(people))
	for _, o := range owners {
		if p, exists := people[userIDs[o.ID]]; exists {
			payers[o] = billing.Person{Name: p.Name, Email: p.Email}
		}
	}

	return payers, err
}
