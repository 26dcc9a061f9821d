package bootstrap

import (
	"context"
	"fmt"
	"path/filepath"
	"reflect"
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

func newID() string {
	// NewV7 fails only if the system has no entropy.
	return uuid.Must(uuid.NewV7()).String()
}

// complete returns an error with the names of the ports of a module that are missing.
// Without Retention nothing expires.
func complete(module string, deps any) error {
	if missing := missingIn(module+".", reflect.ValueOf(deps)); len(missing) > 0 {
		return fmt.Errorf("missing dependencies: %s", strings.Join(missing, ", "))
	}
	return nil
}

// missingIn returns the names of the exported fields that are nil, also of embedded structs.
func missingIn(prefix string, deps reflect.Value) (missing []string) {
	for field, v := range deps.Fields() {
		switch v.Kind() {
		case reflect.Interface, reflect.Func, reflect.Map, reflect.Pointer:
			switch {
			case !field.IsExported():
			case v.IsNil() && field.Name != "Retention":
				missing = append(missing, prefix+field.Name)
			case field.Anonymous && v.Kind() == reflect.Pointer:
				missing = append(missing, missingIn(prefix+field.Name+".", v.Elem())...)
			}
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

// newKeyRing reads the signing keys. A process creates a key in an empty folder; a key
// file must exist. A command runs without keys until it uses them.
func newKeyRing(c *config.Config, r role, d adapters.Deps) (keyRing, error) {
	for _, path := range c.Auth.Keys {
		if filepath.Ext(path) == ".pem" || r.isCommand {
			continue
		}
		if err := jwttokens.Generate(path); err != nil {
			return nil, c.Err("auth.keys", err.Error())
		}
	}
	ring, err := jwttokens.Open(c.Auth.Keys, c.HTTP.PublicURL, d.Clock)
	switch {
	case err == nil:
		return ring, nil
	case r.isCommand:
		return noKeys{fmt.Errorf("%w (the keys are those of `locum serve`: start that first, and this in the same folder)", c.Err("auth.keys", err.Error()))}, nil
	}
	return nil, c.Err("auth.keys", err.Error())
}

// noKeys is the key ring of a command that cannot read the keys.
type noKeys struct{ err error }

func (k noKeys) Issue(identity.AccessClaims) (string, error)          { return "", k.err }
func (k noKeys) Verify(string) (c identity.AccessClaims, err error)   { return c, k.err }
func (k noKeys) Seal(auth.Purpose, string, time.Time) (string, error) { return "", k.err }
func (k noKeys) Unseal(auth.Purpose, string) (string, error)          { return "", k.err }
func (k noKeys) Encrypt(string, string) (string, error)               { return "", k.err }
func (k noKeys) Decrypt(string, string) (string, error)               { return "", k.err }
func (k noKeys) JWKS() []byte                                         { return nil }

func newIdentity(c *config.Config, s adapters.Storage, d adapters.Deps, ring keyRing, l limit.Limiter, m mail.Mailer) (*identity.Service, error) {
	deps := identity.Deps{
		Tx: s.Identity.Tx, Events: s.Identity.Events, Audit: s.Identity.Audit, AuditLog: s.Identity.AuditLog, Clock: d.Clock, NewID: d.NewID,
		Users: s.Identity.Users, Organizations: s.Identity.Organizations, VerifiedNames: s.Identity.VerifiedNames, Members: s.Identity.Members, Sessions: s.Identity.Sessions, MailTokens: s.Identity.MailTokens,
		EmailChanges: s.Identity.EmailChanges, EmployerSettings: s.Identity.EmployerSettings, OptOuts: s.Identity.OptOuts, PersonalData: s.Identity.PersonalData,
		Retention: s.Identity.Retention, Tasks: s.Identity.Tasks,
		Hasher: argonhash.New(), AccessTokens: ring, Sealer: ring, SecondFactors: s.Identity.SecondFactors, OneTimeCodes: totp.Codes{}, Vault: ring, Limiter: l, Mailer: m,
		Subscriptions:        identitySubscriptions{billing.Reader{Subscriptions: s.Billing.Subscriptions, Clock: d.Clock}},
		Mailboxes:            mailboxes.Keys{},
		Programs:             identityPrograms{integrations.Programs{Tx: s.Integrations.Tx, Apps: s.Integrations.Apps, Keys: s.Integrations.Keys, Webhooks: s.Integrations.Webhooks, Consents: s.Integrations.Consents}},
		HoldNewOrganizations: c.Moderation.NewOrganizations == config.HoldNew,
		PublicURL:            c.HTTP.PublicURL,
	}
	return identity.New(deps), complete("identity", deps)
}

// identitySubscriptions implements identity.Subscriptions. It needs nothing of identity
// itself.
type identitySubscriptions struct{ billing.Reader }

func (b identitySubscriptions) Status(ctx context.Context, userID string) (string, error) {
	sub, err := b.Current(ctx, billing.Owner{Kind: billing.User, ID: userID})
	return string(sub.Status), err
}

// identityPrograms implements identity.Programs.
type identityPrograms struct{ integrations.Programs }

func (b identityPrograms) List(ctx context.Context, userID string) ([]identity.Program, error) {
	found, err := b.Programs.List(ctx, userID)
	return programsOf(found), err
}

func (b identityPrograms) SignOut(ctx context.Context, userID string, now time.Time) ([]identity.Program, error) {
	ended, err := b.Programs.SignOut(ctx, userID, now)
	return programsOf(ended), err
}

func programsOf(found []integrations.Program) []identity.Program {
	return list.Map(found, func(p integrations.Program) identity.Program {
		return identity.Program{Kind: string(p.Kind), Name: p.Name}
	})
}

func newServices(a *app, s *storage, l limit.Limiter, ring keyRing, checks healthChecks, i *identity.Service, j *listings.Service, h *hiring.Service, k *jobseeker.Service, b *billing.Service, in *integrations.Service) adapters.Services {
	return adapters.Services{
		Identity:       i,
		Listings:       j,
		Hiring:         h,
		Seekers:        k,
		Billing:        b,
		Integrations:   in,
		Limiter:        l,
		Idempotency:    s.requests,
		ListingChanges: s.Listings.Changes,
		JWKS:           ring.JWKS,
		Health:         func(ctx context.Context) map[string]adapters.Health { return checks.run(ctx, a.transports) },
	}
}
