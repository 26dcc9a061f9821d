package bootstrap

import (
	"context"
	"path/filepath"

	"github.com/google/uuid"

	"github.com/locumhq/locum/adapters"
	"github.com/locumhq/locum/adapters/argonhash"
	"github.com/locumhq/locum/adapters/jwttokens"
	"github.com/locumhq/locum/adapters/mailboxes"
	"github.com/locumhq/locum/adapters/totp"
	"github.com/locumhq/locum/config"
	"github.com/locumhq/locum/core/files"
	"github.com/locumhq/locum/core/limit"
	"github.com/locumhq/locum/core/mail"
	"github.com/locumhq/locum/core/task"
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

// newKeyRing reads the signing keys. It creates a key in an empty folder; a key file must
// exist.
func newKeyRing(c *config.Config, d adapters.Deps) (*jwttokens.Tokens, error) {
	for _, path := range c.Auth.Keys {
		if filepath.Ext(path) == ".pem" {
			continue
		}
		if err := jwttokens.Generate(path); err != nil {
			return nil, c.Err("auth.keys", err.Error())
		}
	}
	return openKeyRing(c, d)
}

// openKeyRing reads existing keys.
func openKeyRing(c *config.Config, d adapters.Deps) (*jwttokens.Tokens, error) {
	ring, err := jwttokens.Open(c.Auth.Keys, c.HTTP.PublicURL, d.Clock)
	if err != nil {
		return nil, c.Err("auth.keys", err.Error())
	}
	return ring, nil
}

func newIdentity(c *config.Config, s adapters.Storage, d adapters.Deps, ring *jwttokens.Tokens, l limit.Limiter, m mail.Mailer) *identity.Service {
	return identity.New(identity.Deps{
		Tx: s.Identity.Tx, Events: s.Identity.Events, Audit: s.Identity.Audit, AuditLog: s.Identity.AuditLog, Clock: d.Clock, NewID: d.NewID,
		Users: s.Identity.Users, Organizations: s.Identity.Organizations, Members: s.Identity.Members, Sessions: s.Identity.Sessions, MailTokens: s.Identity.MailTokens,
		EmailChanges: s.Identity.EmailChanges, EmployerSettings: s.Identity.EmployerSettings, OptOuts: s.Identity.OptOuts, PersonalData: s.Identity.PersonalData,
		Retention: s.Identity.Retention, Tasks: s.Identity.Tasks,
		Hasher: argonhash.New(), AccessTokens: ring, Sealer: ring, SecondFactors: s.Identity.SecondFactors, OneTimeCodes: totp.Codes{}, Vault: ring, Limiter: l, Mailer: m,
		Subscriptions: identitySubscriptions{billing.Reader{Subscriptions: s.Billing.Subscriptions, Clock: d.Clock}},
		Mailboxes:     mailboxes.Keys{},
		Programs:      identityPrograms{integrations.Programs{Tx: s.Integrations.Tx, Apps: s.Integrations.Apps, Keys: s.Integrations.Keys, Webhooks: s.Integrations.Webhooks, Consents: s.Integrations.Consents}},
		PublicURL:     c.HTTP.PublicURL,
	})
}

func newServices(a *app, s *storage, d adapters.Deps, l limit.Limiter, q task.Queue, m mail.Mailer, f files.Store, p billing.Payments, ring *jwttokens.Tokens, i *identity.Service, j *listings.Service, h *hiring.Service, k *jobseeker.Service, b *billing.Service, in *integrations.Service) adapters.Services {
	watched := newClockCheck(d.Clock)
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
		Health: func(ctx context.Context) map[string]adapters.Health {
			return healthOf(ctx, s, d.Clock.Now(), plugged{limiter: l, queue: q, mail: m, files: f, payments: p, search: j.Engine, clock: watched, transports: a.transports})
		},
	}
}
