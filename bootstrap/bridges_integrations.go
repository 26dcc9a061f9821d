package bootstrap

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/adapters/developer"
	"github.com/locumhq/locum/adapters/webhookout"
	"github.com/locumhq/locum/config"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/limit"
	"github.com/locumhq/locum/core/mail"
	"github.com/locumhq/locum/core/tx"
	"github.com/locumhq/locum/modules/billing"
	"github.com/locumhq/locum/modules/hiring"
	"github.com/locumhq/locum/modules/identity"
	"github.com/locumhq/locum/modules/integrations"
	"github.com/locumhq/locum/modules/listings"
)

// newIntegrations builds module integrations (the developer API and webhooks) from the storage and
// the adapters. The types below connect it to the other modules: each implements a port (an
// interface) of integrations with the service or the repositories of another module.
func newIntegrations(
	cfg *config.Config,
	storage adapters.Storage,
	d adapters.Deps,
	limiter limit.Limiter,
	identitySvc *identity.Service,
	billingSvc *billing.Service,
	mailer mail.Mailer,
	ring keyRing,
) (*integrations.Service, error) {
	areAccountsInSameDatabase := isSameRunner(storage.Integrations.Tx, storage.Identity.Tx)
	deps := integrations.Deps{
		Tx:               storage.Integrations.Tx,
		Events:           storage.Integrations.Events,
		Audit:            storage.Integrations.Audit,
		Clock:            d.Clock,
		NewID:            d.NewID,
		Tasks:            storage.Integrations.Tasks,
		Retention:        storage.Integrations.Retention,
		Apps:             storage.Integrations.Apps,
		Keys:             storage.Integrations.Keys,
		Usage:            storage.Integrations.Usage,
		Grants:           storage.Integrations.Grants,
		Consents:         storage.Integrations.Consents,
		Webhooks:         storage.Integrations.Webhooks,
		Deliveries:       storage.Integrations.Deliveries,
		Accounts:         integrationsAccounts{identitySvc},
		SeparateIdentity: !areAccountsInSameDatabase,
		Payments:         integrationsPayments{billingSvc},
		Limiter:          limiter,
		Sender:           webhookout.New(webhookout.Options{Private: cfg.Webhooks.AllowPrivateNetworks}),
		PrivateReceivers: cfg.Webhooks.AllowPrivateNetworks,
		Vault:            ring,
		Postings:         integrationsPostings{storage.Identity.Organizations, cfg.HTTP.PublicURL},
		Mailer:           mailer,
		PublicURL:        cfg.HTTP.PublicURL,
	}

	return integrations.New(deps), checkDeps("integrations", deps)
}

// isSameRunner reports whether two modules have the same transaction runner, and so the same database.
// Runners of a type that cannot be compared (with which == would panic) count as different.
func isSameRunner(a, b tx.Runner) bool { return reflect.ValueOf(a).Comparable() && a == b }

// integrationsPayments implements integrations.Payments with module billing, in which the
// application is the owner of the subscription.
type integrationsPayments struct{ *billing.Service }

// Choose changes the plan of the application, and charges the payment method for it.
func (b integrationsPayments) Choose(ctx context.Context, appID, plan, paymentMethodID string) error {
	choice := billing.ChooseInput{PlanID: plan, PaymentMethodID: paymentMethodID}
	_, err := b.ChooseFor(ctx, billing.Owner{Kind: billing.Application, ID: appID}, choice)
	return err
}

// Paid returns the plan of the application that is paid for and will be renewed, or else the free
// plan. So a cancelled subscription counts as the free plan at once, and not when the paid month ends.
func (b integrationsPayments) Paid(ctx context.Context, appID string) (plan string, err error) {
	subscription, err := b.Current(ctx, billing.Owner{Kind: billing.Application, ID: appID})
	if err != nil {
		return integrations.Free, err
	}

	// A subscription to the free plan, a cancelled one and an ended one are not renewed.
	if !subscription.AutoRenew {
		return integrations.Free, nil
	}

	return subscription.Plan, nil
}

// SetUp begins to add a payment method, which the page of the application completes with the result.
func (b integrationsPayments) SetUp(ctx context.Context, appID string) (integrations.PaymentSetup, error) {
	setup, err := b.SetUpMethodFor(ctx, billing.Owner{Kind: billing.Application, ID: appID})

	return integrations.PaymentSetup{
		ClientSecret:   setup.ClientSecret,
		PublishableKey: setup.PublishableKey,
		RedirectURL:    setup.RedirectURL,
	}, err
}

// integrationsAccounts implements integrations.Accounts with module identity. An account that is
// deleted or locked is not an error here, although ActorFor fails for it with fault.ErrUnauthorized:
// it counts as an account that has no organization and sees no job applications.
type integrationsAccounts struct{ *identity.Service }

// ListMembers returns the ids of the users who are members of the organization.
func (b integrationsAccounts) ListMembers(ctx context.Context, organizationID string) ([]string, error) {
	return b.ListMemberIDs(ctx, organizationID)
}

// Visibility returns which job applications the user may see, and so the programs of the user.
func (b integrationsAccounts) Visibility(ctx context.Context, userID string) (integrations.Visibility, error) {
	actor, err := b.ActorFor(ctx, userID)
	if errors.Is(err, fault.ErrUnauthorized) { // the account is deleted or locked
		return integrations.Visibility{}, nil
	}

	return integrations.Visibility(hiring.VisibleTo(actor)), err
}

// OrganizationID returns the organization of the user, or "" if the user has none.
func (b integrationsAccounts) OrganizationID(ctx context.Context, userID string) (string, error) {
	actor, err := b.ActorFor(ctx, userID)
	if errors.Is(err, fault.ErrUnauthorized) { // the account is deleted or locked
		return "", nil
	}

	return actor.OrganizationID, err
}

// OwnerName returns the name that users see for the owner of an application: that of the owner's
// organization, or else the owner's own.
func (b integrationsAccounts) OwnerName(ctx context.Context, userID string) (string, error) {
	organizationID, err := b.OrganizationID(ctx, userID)
	if err != nil {
		return "", err
	}

	if organizationID != "" {
		return b.OrganizationName(ctx, organizationID)
	}

	people, err := b.People(ctx, []string{userID})

	return people[userID].Name, err
}

// ListByIDs returns the users, as recipients of e-mails, by id.
func (b integrationsAccounts) ListByIDs(ctx context.Context, ids []string) (map[string]integrations.Person, error) {
	return userReader[integrations.Person](b).ByIDs(ctx, ids)
}

// integrationsPostings implements integrations.Postings: it renders the listings of webhooks.
type integrationsPostings struct {
	organizations identity.Organizations
	publicURL     string
}

// View decodes the snapshot, which is the listing at the time of an event, and adds the present data
// of its organization.
func (b integrationsPostings) View(ctx context.Context, snapshot json.RawMessage) (integrations.JobView, error) {
	var listing listings.Listing
	if err := json.Unmarshal(snapshot, &listing); err != nil { //nolint:musttag // encoded by module listings in the same way
		return integrations.JobView{}, err
	}

	organizations, err := b.organizations.GetByIDs(ctx, []string{listing.OrganizationID})
	if err != nil {
		return integrations.JobView{}, err
	}

	var organization identity.Organization // stays empty after the organization was closed
	if len(organizations) > 0 {
		organization = organizations[0]
		listing.Company = organization.Name
	}

	return developer.ViewJob(listing, organization, b.publicURL), nil
}
