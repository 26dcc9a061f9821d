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

// newIntegrations builds the module from the storage and the adapters.
func newIntegrations(
	cfg *config.Config,
	storage adapters.Storage,
	d adapters.Deps,
	counts limit.Limiter,
	identitySvc *identity.Service,
	billingSvc *billing.Service,
	mailer mail.Mailer,
	ring keyRing,
) (*integrations.Service, error) {
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
		SeparateIdentity: !isSame(storage.Integrations.Tx, storage.Identity.Tx),
		Payments:         integrationsPayments{billingSvc},
		Limiter:          counts,
		Sender:           webhookout.New(webhookout.Options{Private: cfg.Webhooks.AllowPrivateNetworks}),
		PrivateReceivers: cfg.Webhooks.AllowPrivateNetworks,
		Vault:            ring,
		Postings:         integrationsPostings{storage.Identity.Organizations, cfg.HTTP.PublicURL},
		Mailer:           mailer,
		PublicURL:        cfg.HTTP.PublicURL,
	}

	return integrations.New(deps), checkDeps("integrations", deps)
}

// isSame reports whether two modules are stored in one database. Runners that cannot be
// compared are treated as those of different databases.
func isSame(a, b tx.Runner) bool { return reflect.ValueOf(a).Comparable() && a == b }

// integrationsPayments implements integrations.Payments.
type integrationsPayments struct{ *billing.Service }

func (b integrationsPayments) Choose(ctx context.Context, appID, plan, paymentMethodID string) error {
	_, err := b.ChooseFor(ctx, billing.Owner{Kind: billing.Application, ID: appID},
		billing.ChooseInput{PlanID: plan, PaymentMethodID: paymentMethodID})
	return err
}

// Paid returns the plan of the application. A cancelled subscription is reported as the free
// plan at once, and not when the paid month ends.
func (b integrationsPayments) Paid(ctx context.Context, appID string) (string, error) {
	sub, err := b.Current(ctx, billing.Owner{Kind: billing.Application, ID: appID})
	if !sub.AutoRenew {
		return integrations.Free, err
	}

	return sub.Plan, err
}

func (b integrationsPayments) SetUp(ctx context.Context, appID string) (integrations.PaymentSetup, error) {
	setup, err := b.SetUpMethodFor(ctx, billing.Owner{Kind: billing.Application, ID: appID})

	return integrations.PaymentSetup{
		ClientSecret:   setup.ClientSecret,
		PublishableKey: setup.PublishableKey,
		RedirectURL:    setup.RedirectURL,
	}, err
}

// integrationsAccounts implements integrations.Accounts.
type integrationsAccounts struct{ *identity.Service }

func (b integrationsAccounts) ListMembers(ctx context.Context, organizationID string) ([]string, error) {
	return b.ListMemberIDs(ctx, organizationID)
}

func (b integrationsAccounts) Visibility(ctx context.Context, userID string) (v integrations.Visibility, err error) {
	a, err := b.ActorFor(ctx, userID)
	if errors.Is(err, fault.ErrUnauthorized) {
		return v, nil
	}

	return integrations.Visibility(hiring.VisibleTo(a)), err
}

func (b integrationsAccounts) OrganizationID(ctx context.Context, userID string) (string, error) {
	a, err := b.ActorFor(ctx, userID)
	if errors.Is(err, fault.ErrUnauthorized) {
		return "", nil
	}

	return a.OrganizationID, err
}

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

// ListByIDs implements integrations.Accounts.
func (b integrationsAccounts) ListByIDs(ctx context.Context, ids []string) (map[string]integrations.Person, error) {
	return userReader[integrations.Person](b).ByIDs(ctx, ids)
}

// integrationsPostings implements integrations.Postings.
type integrationsPostings struct {
	organizations identity.Organizations
	publicURL     string
}

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
