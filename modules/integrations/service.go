package integrations

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/locumhq/locum/core/audit"
	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/bundle"
	"github.com/locumhq/locum/core/clock"
	"github.com/locumhq/locum/core/event"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/id"
	"github.com/locumhq/locum/core/limit"
	"github.com/locumhq/locum/core/mail"
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/core/task"
	"github.com/locumhq/locum/core/text"
	"github.com/locumhq/locum/core/tx"
)

// Needs is what the module is plugged into.
type Needs struct {
	Tx       tx.Runner
	Events   event.Recorder
	Audit    audit.Recorder
	Clock    clock.Clock
	NewID    id.Source
	Apps     Apps
	Usage    Usage
	People   People
	Payments Payments
	Limiter  limit.Limiter
	// Grants and Consents are what users allow applications by OAuth.
	Grants   Grants
	Consents Consents

	Webhooks Webhooks
	Tasks    task.Adder
	Sender   Sender
	Vault    auth.Vault
	Postings Postings
	Owners   Owners
	Mailer   mail.Mailer
	// PublicURL is the service's own address.
	PublicURL string
	// PrivateReceivers lets webhooks go to private networks, and over http.
	PrivateReceivers bool
}

// Service holds the module's use cases.
type Service struct {
	Needs
	calls counter
	// queued are the events that are fanned out at the moment.
	queued *bundle.Calls[mailing, struct{}]
	// visitors look after endpoints at the moment, by owner, and failing after those
	// at which nothing arrives.
	visitors, failing *crowd
}

// New makes the service.
func New(n Needs) *Service {
	s := &Service{Needs: n}
	s.queued = bundle.New(1, queuedMost, func(m mailing) int { return len(m.to) }, func(ctx context.Context, all []mailing) ([]struct{}, error) {
		return make([]struct{}, len(all)), s.queue(ctx, all)
	})
	s.visitors, s.failing = newCrowd(visitsMost), newCrowd(failingMost)
	return s
}

const (
	maxApps        = 50
	maxKeys        = 20
	maxName        = 100
	maxDescription = 1_000
)

// AppInput is what its owner says of an application.
type AppInput struct {
	Name         string   `json:"name" validate:"required,max=100" sample:"Ward Finder"`
	Description  string   `json:"description" validate:"max=1000" sample:"Finds wards for nurses"`
	RedirectURIs []string `json:"redirectUris" validate:"max=20,dive,max=2048" sample:"[\"https://wardfinder.example.com/callback\"]"`
	// Public is for a program that cannot keep a secret, on a telephone or in a
	// browser. It stays as it is.
	Public bool `json:"public"`
}

// CreateApp makes an application of the caller's on the free plan and returns
// its secret, which is not shown again; a public one has none. The caller must be
// confirmed.
func (s *Service) CreateApp(ctx context.Context, by auth.Actor, in AppInput) (a App, secret string, err error) {
	if err := by.RequireConfirmed(s.Clock.Now()); err != nil {
		return a, "", err
	}
	if err := in.check(); err != nil {
		return a, "", err
	}
	uris, err := redirectURIs(in.RedirectURIs, in.Public)
	if err != nil {
		return a, "", err
	}
	now := s.Clock.Now()
	a = App{ID: s.NewID(), OwnerID: by.UserID, Name: text.Name(in.Name), Description: strings.TrimSpace(in.Description), Public: in.Public,
		Plan: Free, RedirectURIs: uris, CreatedAt: now, UpdatedAt: now, Version: 1}
	if !a.Public {
		secret = auth.NewSecret(secretPrefix, secretChars)
		a.SecretHash = auth.HashSecret(secret)
	}
	err = s.signedIn(ctx, by, func(ctx context.Context) error {
		n, err := s.Apps.Count(ctx, by.UserID)
		if err != nil {
			return err
		}
		if n >= maxApps {
			return ErrTooManyApps
		}
		if err := s.Apps.Add(ctx, a); err != nil {
			return err
		}
		return s.Audit.Record(ctx, audit.By(by, audit.AppCreated, a.ID))
	})
	return a, secret, err
}

// signedIn runs fn in a transaction during which the caller's session cannot end.
func (s *Service) signedIn(ctx context.Context, by auth.Actor, fn func(context.Context) error) error {
	return s.Tx.Do(ctx, func(ctx context.Context) error {
		if err := s.People.HoldSession(ctx, by); err != nil {
			return err
		}
		return fn(ctx)
	})
}

// MyApps lists the caller's applications, the newest first.
func (s *Service) MyApps(ctx context.Context, by auth.Actor, r page.Request) (page.Result[App], error) {
	if err := r.CheckID(); err != nil {
		return page.Result[App]{}, err
	}
	return s.Apps.Page(ctx, by.UserID, r)
}

// MyApp is one of the caller's applications.
func (s *Service) MyApp(ctx context.Context, by auth.Actor, appID string) (App, error) {
	appID, ok := id.Canonical(appID)
	if !ok {
		return App{}, ErrAppNotFound
	}
	return s.Apps.Find(ctx, by.UserID, appID)
}

// AppChange is what of an application changes; what is nil stays.
type AppChange struct {
	Name         *string   `json:"name" validate:"omitempty,max=100"`
	Description  *string   `json:"description" validate:"omitempty,max=1000"`
	RedirectURIs *[]string `json:"redirectUris" validate:"omitempty,max=20,dive,max=2048"`
}

// onto is the input with the change.
func (in AppChange) onto(next AppInput) AppInput {
	if in.Name != nil {
		next.Name = *in.Name
	}
	if in.Description != nil {
		next.Description = *in.Description
	}
	if in.RedirectURIs != nil {
		next.RedirectURIs = *in.RedirectURIs
	}
	return next
}

// ChangeApp changes one of the caller's applications.
func (s *Service) ChangeApp(ctx context.Context, by auth.Actor, appID string, in AppChange) (App, error) {
	return s.changeOwn(ctx, by, appID, func(_ context.Context, a *App) error {
		next := in.onto(AppInput{Name: a.Name, Description: a.Description, RedirectURIs: a.RedirectURIs, Public: a.Public})
		if err := next.check(); err != nil {
			return err
		}
		uris, err := redirectURIs(next.RedirectURIs, a.Public)
		a.Name, a.Description, a.RedirectURIs = text.Name(next.Name), strings.TrimSpace(next.Description), uris
		return err
	})
}

func (s *Service) changeOwn(ctx context.Context, by auth.Actor, appID string, change func(ctx context.Context, a *App) error) (a App, err error) {
	err = s.signedIn(ctx, by, func(ctx context.Context) error {
		a, err = s.change(ctx, by.UserID, appID, change)
		return err
	})
	return a, err
}

func (s *Service) change(ctx context.Context, ownerID, appID string, change func(ctx context.Context, a *App) error) (a App, err error) {
	appID, ok := id.Canonical(appID)
	if !ok {
		return a, ErrAppNotFound
	}
	err = s.Tx.Do(ctx, func(ctx context.Context) error {
		if a, err = s.Apps.Find(ctx, ownerID, appID); err != nil {
			return err
		}
		if err := change(ctx, &a); err != nil {
			return err
		}
		a.UpdatedAt = s.Clock.Now()
		return s.Apps.Save(ctx, a)
	})
	return a, err
}

// DeleteApp ends one of the caller's applications with its keys, consents and
// webhooks, everywhere and at once.
func (s *Service) DeleteApp(ctx context.Context, by auth.Actor, appID string) error {
	appID, ok := id.Canonical(appID)
	if !ok {
		return ErrAppNotFound
	}
	return s.Tx.Do(ctx, func(ctx context.Context) error {
		if err := s.deleteApp(ctx, by.UserID, appID); err != nil {
			return err
		}
		return s.Audit.Record(ctx, audit.By(by, audit.AppDeleted, appID))
	})
}

func (s *Service) deleteApp(ctx context.Context, ownerID, appID string) error {
	if err := s.Apps.Delete(ctx, ownerID, appID); err != nil {
		return err
	}
	return s.Events.Record(ctx, event.AppDeleted{AppID: appID, DeletedAt: s.Clock.Now()})
}

// RotateSecret gives an application a new secret, which is not shown again. The
// old one ends at once. The caller must be confirmed.
func (s *Service) RotateSecret(ctx context.Context, by auth.Actor, appID string) (string, error) {
	if err := by.RequireConfirmed(s.Clock.Now()); err != nil {
		return "", err
	}
	secret := auth.NewSecret(secretPrefix, secretChars)
	_, err := s.changeOwn(ctx, by, appID, func(ctx context.Context, a *App) error {
		if a.Public {
			return ErrPublicApp
		}
		a.SecretHash = auth.HashSecret(secret)
		return s.Audit.Record(ctx, audit.By(by, audit.ClientSecretRotated, a.ID))
	})
	return secret, err
}

// KeyInput names a key.
type KeyInput struct {
	Name string `json:"name" validate:"required,max=100" sample:"Production"`
}

// CreateKey makes a key for one of the caller's applications and returns it,
// which is not done again. The caller must be confirmed.
func (s *Service) CreateKey(ctx context.Context, by auth.Actor, appID string, in KeyInput) (k Key, secret string, err error) {
	if err := by.RequireConfirmed(s.Clock.Now()); err != nil {
		return k, "", err
	}
	name, err := label(in.Name)
	if err != nil {
		return k, "", err
	}
	appID, ok := id.Canonical(appID)
	if !ok {
		return k, "", ErrAppNotFound
	}
	secret = newKey()
	k = Key{ID: s.NewID(), AppID: appID, Name: name, Prefix: secret[:shownOfKey], Hash: auth.HashSecret(secret), CreatedAt: s.Clock.Now()}
	err = s.signedIn(ctx, by, func(ctx context.Context) error {
		if _, err := s.Apps.Find(ctx, by.UserID, appID); err != nil {
			return err
		}
		keys, err := s.Apps.Keys(ctx, by.UserID, appID)
		if err != nil {
			return err
		}
		if len(keys) >= maxKeys {
			return ErrTooManyKeys
		}
		if err := s.Apps.AddKey(ctx, by.UserID, k); err != nil {
			return err
		}
		return s.Audit.Record(ctx, audit.By(by, audit.APIKeyCreated, k.ID))
	})
	return k, secret, err
}

// Keys are the keys of one of the caller's applications, the newest first.
func (s *Service) Keys(ctx context.Context, by auth.Actor, appID string) ([]Key, error) {
	a, err := s.MyApp(ctx, by, appID)
	if err != nil {
		return nil, err
	}
	return s.Apps.Keys(ctx, by.UserID, a.ID)
}

// DeleteKey ends a key, everywhere and at once.
func (s *Service) DeleteKey(ctx context.Context, by auth.Actor, appID, keyID string) error {
	a, err := s.MyApp(ctx, by, appID)
	if err != nil {
		return err
	}
	keyID, ok := id.Canonical(keyID)
	if !ok {
		return ErrKeyNotFound
	}
	return s.Tx.Do(ctx, func(ctx context.Context) error {
		if err := s.Apps.DeleteKey(ctx, by.UserID, a.ID, keyID); err != nil {
			return err
		}
		return s.Audit.Record(ctx, audit.By(by, audit.APIKeyDeleted, keyID))
	})
}

// Caller is who calls the developer interface.
type Caller struct {
	App App
	// UserID is for whom: the owner of a key's application, or who consented to a
	// token.
	UserID string
	KeyID  string  // of a key
	Scopes []Scope // of a token
}

// Scope is something that who consents lets an application do.
type Scope string

// The scopes.
const (
	JobsRead          Scope = "jobs:read"
	ApplicationsRead  Scope = "applications:read"
	ApplicationsWrite Scope = "applications:write"
)

// May reports whether the caller may do what the scope is for. A key reads
// alone.
func (c Caller) May(scope Scope) bool {
	if c.KeyID != "" {
		return scope != ApplicationsWrite
	}
	for _, s := range c.Scopes {
		if s == scope {
			return true
		}
	}
	return false
}

// AuthenticateKey says whose the API key is, or fault.ErrUnauthorized.
func (s *Service) AuthenticateKey(ctx context.Context, key string) (Caller, error) {
	if !wellFormed(key) {
		return Caller{}, fault.ErrUnauthorized
	}
	a, k, err := s.Apps.ByKey(ctx, auth.HashSecret(key))
	if fault.KindOf(err) == fault.NotFound {
		return Caller{}, fault.ErrUnauthorized
	}
	return Caller{App: a, UserID: a.OwnerID, KeyID: k.ID}, err
}

var errPlan = fault.InvalidField("plan", "must be one of: free, professional, enterprise")

// choicesPerAccount bounds how often plans are chosen: each choice is a letter, and
// not each is paid for.
var choicesPerAccount = limit.Rule{Name: "choose-plan", Max: 60, Per: 15 * time.Minute}

// ChoosePlan puts one of the caller's applications on a plan, at once, and takes
// the first payment for it, less what is left of the plan before it. Who turns to
// the free one can have what is paid for again until its period ends.
func (s *Service) ChoosePlan(ctx context.Context, by auth.Actor, appID, plan, paymentMethodID string) (App, error) {
	if _, known := PlanOf(plan); !known {
		return App{}, errPlan
	}
	a, err := s.MyApp(ctx, by, appID)
	if err != nil {
		return a, err
	}
	if err := s.take(ctx, choicesPerAccount, by.UserID); err != nil {
		return a, err
	}
	if err := s.Payments.Choose(ctx, a.ID, plan, paymentMethodID); err != nil {
		return a, err
	}
	err = s.Tx.Do(ctx, func(ctx context.Context) error {
		if a, err = s.follow(ctx, by.UserID, a.ID); err != nil {
			return err
		}
		return s.Audit.Record(ctx, audit.By(by, audit.PlanChanged, a.ID).With(plan))
	})
	return a, err
}

// follow puts an application on the plan that is paid for. That is looked up in the
// transaction, so that what was chosen last holds, whoever comes last.
func (s *Service) follow(ctx context.Context, ownerID, appID string) (a App, err error) {
	err = s.Tx.Do(ctx, func(ctx context.Context) error {
		a, err = s.change(ctx, ownerID, appID, func(ctx context.Context, a *App) (err error) {
			a.Plan, err = s.Payments.Paid(ctx, a.ID)
			return err
		})
		return err
	})
	return a, err
}

// SetPlan puts an application on a plan in the name of an operator, at once.
func (s *Service) SetPlan(ctx context.Context, appID, plan string) (App, error) {
	if _, known := PlanOf(plan); !known {
		return App{}, errPlan
	}
	appID, ok := id.Canonical(appID)
	if !ok {
		return App{}, ErrAppNotFound
	}
	a, err := s.Apps.ByID(ctx, appID)
	if err != nil {
		return a, err
	}
	return s.change(ctx, a.OwnerID, a.ID, func(ctx context.Context, a *App) error {
		a.Plan = plan
		return s.Audit.Record(ctx, audit.Entry{Action: audit.PlanChanged, Actor: audit.Operator, Object: a.ID, Detail: plan})
	})
}

// Periodic is what the module does by the clock.
func (s *Service) Periodic() []task.Periodic {
	return []task.Periodic{
		{Kind: "integrations.forget-usage", Every: time.Hour, Do: s.forgetUsage},
		{Kind: "integrations.forget-grants", Every: time.Hour, Do: s.forgetGrants},
		{Kind: "integrations.sweep-deliveries", Every: sweepEvery, Do: s.sweepDeliveries},
		{Kind: "integrations.end-listeners", Every: sweepEvery, Do: func(ctx context.Context) error { return s.Webhooks.EndListeners(ctx, s.Clock.Now()) }},
		{Kind: "integrations.forget-messages", Every: time.Hour, Do: s.forgetMessages, Longest: 5 * time.Minute},
	}
}

// Handlers do the jobs that the module adds.
func (s *Service) Handlers() []task.Handler {
	warn := task.Handler{Kind: warnKind, Class: task.Mail, Do: func(ctx context.Context, j task.Task) error {
		var w warning
		if err := json.Unmarshal(j.Payload, &w); err != nil {
			return task.Permanent(err)
		}
		return s.warn(ctx, j.Key, w)
	}}
	return []task.Handler{task.Handle(deliverKind, task.Webhooks, s.deliver).Taking(longestVisit), warn}
}
