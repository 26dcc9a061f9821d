package bootstrap

import (
	"context"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/adapters/argonhash"
	"github.com/locumhq/locum/adapters/jwttokens"
	"github.com/locumhq/locum/adapters/mailboxes"
	"github.com/locumhq/locum/adapters/totp"
	"github.com/locumhq/locum/config"
	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/limit"
	"github.com/locumhq/locum/core/list"
	"github.com/locumhq/locum/core/mail"
	"github.com/locumhq/locum/modules/billing"
	"github.com/locumhq/locum/modules/hiring"
	"github.com/locumhq/locum/modules/identity"
	"github.com/locumhq/locum/modules/integrations"
	"github.com/locumhq/locum/modules/jobseeker"
	"github.com/locumhq/locum/modules/listings"
)

// newID returns a UUIDv7. It is greater than the ids made in earlier milliseconds, so that rows
// sorted by id are also sorted by age.
func newID() string {
	// NewV7 fails only if the system has no entropy.
	return uuid.Must(uuid.NewV7()).String()
}

// checkDeps returns an error with the names of the dependencies of a module that are missing. deps is
// a struct; its fields are the dependencies.
func checkDeps(module string, deps any) error {
	if missing := missingFields(module+".", reflect.ValueOf(deps)); len(missing) > 0 {
		return fmt.Errorf("missing dependencies: %s", strings.Join(missing, ", "))
	}

	return nil
}

// kindsOfDeps are the kinds of fields that hold a dependency, which may be nil.
var kindsOfDeps = []reflect.Kind{reflect.Interface, reflect.Func, reflect.Map, reflect.Pointer}

// missingFields returns the names of the exported fields that are nil, also of embedded structs. Each
// name begins with the prefix, such as "hiring.".
func missingFields(prefix string, deps reflect.Value) (missing []string) {
	for field, value := range deps.Fields() {
		if !field.IsExported() || !slices.Contains(kindsOfDeps, value.Kind()) {
			continue
		}

		isOptional := field.Name == "Retention" // without it, no row is deleted because of its age
		if value.IsNil() && !isOptional {
			missing = append(missing, prefix+field.Name)
		}

		isEmbedded := field.Anonymous && value.Kind() == reflect.Pointer
		if isEmbedded && !value.IsNil() {
			missing = append(missing, missingFields(prefix+field.Name+".", value.Elem())...)
		}
	}

	return missing
}

// keyRing signs tokens and links, and encrypts secrets.
type keyRing interface {
	identity.AccessTokens
	auth.Sealer
	auth.Vault
	JWKS() []byte
}

// newKeyRing reads the signing keys. A path that ends in .pem is a file, which must exist. Any other
// path is a folder. If it is empty, the server creates a key in it. Commands create no keys. If they cannot
// read the keys, they run without any, and fail only when they need one.
func newKeyRing(cfg *config.Config, r role, deps adapters.Deps) (keyRing, error) {
	for _, path := range cfg.Auth.Keys {
		isFile := filepath.Ext(path) == ".pem"
		if isFile || r.isCommand {
			continue
		}

		if err := jwttokens.Generate(path); err != nil {
			return nil, cfg.Err("auth.keys", err.Error())
		}
	}

	ring, err := jwttokens.Open(cfg.Auth.Keys, cfg.HTTP.PublicURL, deps.Clock)
	switch {
	case err == nil:
		return ring, nil
	case r.isCommand:
		return unavailableKeys{
			fmt.Errorf(
				"%w (`locum serve` creates the keys: start it first, and this command in the same folder)",
				cfg.Err("auth.keys", err.Error()),
			),
		}, nil
	}

	return nil, cfg.Err("auth.keys", err.Error())
}

// unavailableKeys is the key ring of a command that cannot read the keys. Each use fails with the
// reason.
type unavailableKeys struct{ err error }

func (k unavailableKeys) Issue(identity.AccessClaims) (string, error)          { return "", k.err }
func (k unavailableKeys) Verify(string) (c identity.AccessClaims, err error)   { return c, k.err }
func (k unavailableKeys) Seal(auth.Purpose, string, time.Time) (string, error) { return "", k.err }
func (k unavailableKeys) Unseal(auth.Purpose, string) (string, error)          { return "", k.err }
func (k unavailableKeys) Encrypt(string, string) (string, error)               { return "", k.err }
func (k unavailableKeys) Decrypt(string, string) (string, error)               { return "", k.err }
func (k unavailableKeys) JWKS() []byte                                         { return nil }

// newIdentity builds module identity (accounts, sessions and organizations) from the storage and the
// adapters.
func newIdentity(
	cfg *config.Config,
	storage adapters.Storage,
	d adapters.Deps,
	ring keyRing,
	limiter limit.Limiter,
	mailer mail.Mailer,
) (*identity.Service, error) {
	deps := identity.Deps{
		Tx:               storage.Identity.Tx,
		Events:           storage.Identity.Events,
		Audit:            storage.Identity.Audit,
		AuditLog:         storage.Identity.AuditLog,
		Clock:            d.Clock,
		NewID:            d.NewID,
		Users:            storage.Identity.Users,
		Organizations:    storage.Identity.Organizations,
		VerifiedNames:    storage.Identity.VerifiedNames,
		Members:          storage.Identity.Members,
		Sessions:         storage.Identity.Sessions,
		MailTokens:       storage.Identity.MailTokens,
		EmailChanges:     storage.Identity.EmailChanges,
		EmployerSettings: storage.Identity.EmployerSettings,
		OptOuts:          storage.Identity.OptOuts,
		PersonalData:     storage.Identity.PersonalData,
		Retention:        storage.Identity.Retention,
		Tasks:            storage.Identity.Tasks,
		Hasher:           argonhash.New(),
		AccessTokens:     ring,
		Sealer:           ring,
		SecondFactors:    storage.Identity.SecondFactors,
		OneTimeCodes:     totp.Codes{},
		Vault:            ring,
		Limiter:          limiter,
		Mailer:           mailer,
		Subscriptions:    identitySubscriptions{billing.Reader{Subscriptions: storage.Billing.Subscriptions, Clock: d.Clock}},
		Mailboxes:        mailboxes.Keys{},
		Programs: identityPrograms{
			integrations.Programs{
				Tx:       storage.Integrations.Tx,
				Apps:     storage.Integrations.Apps,
				Keys:     storage.Integrations.Keys,
				Webhooks: storage.Integrations.Webhooks,
				Consents: storage.Integrations.Consents,
			},
		},
		HoldNewOrganizations: cfg.Moderation.NewOrganizations == config.HoldNew,
		PublicURL:            cfg.HTTP.PublicURL,
		Contact:              cfg.Site.Contact,
	}

	return identity.New(deps), checkDeps("identity", deps)
}

// identitySubscriptions implements identity.Subscriptions with the stored subscriptions of module
// billing. It reads them with billing.Reader, because the service of module billing does not exist
// yet: it is built later, from the service of module identity.
type identitySubscriptions struct{ billing.Reader }

// Status returns the status of the user's plan.
func (b identitySubscriptions) Status(ctx context.Context, userID string) (string, error) {
	subscription, err := b.Current(ctx, billing.Owner{Kind: billing.User, ID: userID})
	return string(subscription.Status), err
}

// identityPrograms implements identity.Programs: the programs that act for a user with API keys,
// webhooks or consents, which module integrations stores.
type identityPrograms struct{ integrations.Programs }

// List returns the programs of the user.
func (b identityPrograms) List(ctx context.Context, userID string) ([]identity.Program, error) {
	programs, err := b.Programs.List(ctx, userID)
	return newIdentityPrograms(programs), err
}

// SignOut ends the access of the user's programs, and returns them.
func (b identityPrograms) SignOut(ctx context.Context, userID string, now time.Time) ([]identity.Program, error) {
	ended, err := b.Programs.SignOut(ctx, userID, now)
	return newIdentityPrograms(ended), err
}

// newIdentityPrograms converts programs into the type of identity.
func newIdentityPrograms(programs []integrations.Program) []identity.Program {
	return list.Map(programs, func(p integrations.Program) identity.Program {
		return identity.Program{Kind: string(p.Kind), Name: p.Name}
	})
}

// newServices collects what the transports use.
func newServices(
	a *app,
	store *storage,
	limiter limit.Limiter,
	ring keyRing,
	checks healthChecks,
	identitySvc *identity.Service,
	listingsSvc *listings.Service,
	hiringSvc *hiring.Service,
	seekersSvc *jobseeker.Service,
	billingSvc *billing.Service,
	integrationsSvc *integrations.Service,
) adapters.Services {
	return adapters.Services{
		Identity:      identitySvc,
		Listings:      listingsSvc,
		Hiring:        hiringSvc,
		Seekers:       seekersSvc,
		Billing:       billingSvc,
		Integrations:  integrationsSvc,
		Limiter:       limiter,
		Idempotency:   store.requests,
		PublicChanges: func() uint64 { return store.Listings.Changes() + identitySvc.OrganizationChanges() },
		JWKS:          ring.JWKS,
		Health:        func(ctx context.Context) map[string]adapters.Health { return checks.run(ctx, a.transports) },
	}
}
