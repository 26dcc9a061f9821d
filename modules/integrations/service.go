package integrations

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/locumhq/locum/core/audit"
	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/batch"
	"github.com/locumhq/locum/core/clock"
	"github.com/locumhq/locum/core/event"
	"github.com/locumhq/locum/core/id"
	"github.com/locumhq/locum/core/limit"
	"github.com/locumhq/locum/core/list"
	"github.com/locumhq/locum/core/mail"
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/core/patch"
	"github.com/locumhq/locum/core/retention"
	"github.com/locumhq/locum/core/task"
	"github.com/locumhq/locum/core/tx"
)

// Deps are the ports and settings of the module.
type Deps struct {
	Tx         tx.Runner
	Events     event.Recorder
	Audit      audit.Recorder
	Clock      clock.Clock
	NewID      id.Source
	Apps       Apps
	Keys       Keys
	Usage      Usage
	Grants     Grants
	Consents   Consents
	Webhooks   Webhooks
	Deliveries Deliveries
	// Retention may be nil; then no data is deleted because of its age.
	Retention retention.Store
	Accounts  Accounts
	Payments  Payments
	Limiter   limit.Limiter
	Tasks     task.Adder
	Sender    Sender
	Vault     auth.Vault
	Postings  Postings
	Mailer    mail.Mailer
	// PublicURL is the URL of the service.
	PublicURL string
	// PrivateReceivers permits webhooks to private networks, and over http.
	PrivateReceivers bool
	// SeparateIdentity is true if accounts are stored in another database. Then
	// Accounts.HoldSession cannot delay a password reset until a transaction ends.
	SeparateIdentity bool
}

// Service implements the use cases of the module.
type Service struct {
	Deps
	usageCounts *usageCounter
	// enqueuer stores the deliveries of concurrent events together, in one transaction. It
	// has no results.
	enqueuer *batch.Batcher[broadcast, struct{}]
	// ownerSlots limits the delivery workers of each owner in this process. failingSlots
	// limits those for failing endpoints of all owners together.
	ownerSlots, failingSlots *keyedSemaphore
}

// New returns a service.
func New(d Deps) *Service {
	s := &Service{
		Deps:         d,
		usageCounts:  newUsageCounter(),
		ownerSlots:   newKeyedSemaphore(maxWorkersPerOwner),
		failingSlots: newKeyedSemaphore(maxFailingWorkers),
	}

	const maxTransactions = 1 // at the same time

	countDeliveries := func(b broadcast) int { return len(b.deliveries) }
	enqueueAll := func(ctx context.Context, broadcasts []broadcast) ([]struct{}, error) {
		noResults := make([]struct{}, len(broadcasts)) // a Batcher needs one for each call
		return noResults, s.enqueue(ctx, broadcasts)
	}
	s.enqueuer = batch.New(maxTransactions, deliveriesPerTx, countDeliveries, enqueueAll)

	return s
}

const (
	maxApps = 50 // of an account
	maxKeys = 20 // of an application
)

// AppInput describes an application. The consent page shows the name to users.
type AppInput struct {
	Name         string   `json:"name" validate:"required,notblank,max=100,line" sample:"Ward Finder"`
	Description  string   `json:"description" validate:"max=1000" sample:"Finds wards for nurses"`
	RedirectURIs []string `json:"redirectUris" validate:"max=20,dive,max=2048" sample:"[\"https://wardfinder.example.com/callback\"]"`
	// Public is true for a program that cannot keep a secret, on a phone or in a
	// browser. It cannot be changed.
	Public bool `json:"public"`
}

// requireConfirmed returns an error unless the actor is a user who has authenticated
// recently. The documentation of the service calls such a caller confirmed.
func (s *Service) requireConfirmed(by auth.Actor) error {
	return cmp.Or(by.RequireUser(), by.RequireConfirmed(s.Clock.Now()))
}

// createCredential calls store in a transaction, and adds an entry about the action to the
// audit log. store stores the new credential with the id: an application with its secret, an
// API key, or a webhook with its secret. The caller must be confirmed. The caller's session
// does not end before the transaction does (withSession).
func (s *Service) createCredential(
	ctx context.Context,
	by auth.Actor,
	action audit.Action,
	id string,
	store func(ctx context.Context) error,
) error {
	if err := s.requireConfirmed(by); err != nil {
		return err
	}

	return s.withSession(ctx, by, func(ctx context.Context) error {
		if err := store(ctx); err != nil {
			return err
		}

		return s.Audit.Record(ctx, audit.By(by, action, id))
	})
}

// CreateApp creates an application on the free plan. It returns the client secret, of which
// only a hash is stored, or "" for a public application. The caller must be confirmed.
func (s *Service) CreateApp(ctx context.Context, by auth.Actor, in AppInput) (app App, secret string, err error) {
	now := s.Clock.Now()
	app = App{
		ID:        s.NewID(),
		OwnerID:   by.UserID,
		Public:    in.Public,
		Plan:      Free,
		CreatedAt: now,
		UpdatedAt: now,
		Version:   1,
	}

	app, err = app.with(in)
	if err != nil {
		return App{}, "", err
	}

	if !app.Public {
		secret = auth.NewSecret(secretPrefix, secretLength)
		app.SecretHash = auth.HashSecret(secret)
	}

	err = s.createCredential(ctx, by, audit.AppCreated, app.ID, func(ctx context.Context) error {
		return s.Apps.Create(ctx, app, maxApps)
	})

	return app, secret, err
}

// withSession runs fn in a transaction during which the caller's session cannot end (see
// Accounts.HoldSession). A password reset waits for the transaction, and then revokes what fn
// has created. Without this lock, an attacker could keep a credential that was created at the
// same time.
func (s *Service) withSession(ctx context.Context, by auth.Actor, fn func(context.Context) error) error {
	return s.Tx.Do(ctx, func(ctx context.Context) error {
		if err := s.Accounts.HoldSession(ctx, by); err != nil {
			return err
		}

		return fn(ctx)
	})
}

// MyApps lists the caller's applications, the newest first.
func (s *Service) MyApps(ctx context.Context, by auth.Actor, r page.Request) (page.Result[App], error) {
	if err := cmp.Or(by.RequireUser(), r.CheckID()); err != nil {
		return page.Result[App]{}, err
	}

	return s.Apps.List(ctx, AppFilter{OwnerID: by.UserID}, r)
}

// MyApp returns one of the caller's applications.
func (s *Service) MyApp(ctx context.Context, by auth.Actor, appID string) (App, error) {
	if err := by.RequireUser(); err != nil {
		return App{}, err
	}

	appID, ok := id.Canonical(appID)
	if !ok {
		return App{}, ErrAppNotFound
	}

	return s.Apps.Get(ctx, by.UserID, appID)
}

// AppChange is a change of an application. A nil field leaves its value unchanged.
type AppChange struct {
	Name         *string   `json:"name" validate:"omitempty,max=100"`
	Description  *string   `json:"description" validate:"omitempty,max=1000"`
	RedirectURIs *[]string `json:"redirectUris" validate:"omitempty,max=20,dive,max=2048"`
}

// applyTo returns the description of the application after the change.
func (in AppChange) applyTo(app AppInput) AppInput {
	patch.Set(&app.Name, in.Name)
	patch.Set(&app.Description, in.Description)
	patch.Set(&app.RedirectURIs, in.RedirectURIs)

	return app
}

// ChangeApp changes one of the caller's applications.
func (s *Service) ChangeApp(ctx context.Context, by auth.Actor, appID string, in AppChange) (App, error) {
	if err := by.RequireUser(); err != nil {
		return App{}, err
	}

	return s.changeOwnApp(ctx, by, appID, func(_ context.Context, a *App) (err error) {
		current := AppInput{Name: a.Name, Description: a.Description, RedirectURIs: a.RedirectURIs, Public: a.Public}
		*a, err = a.with(in.applyTo(current))

		return err
	})
}

// changeOwnApp applies change to one of the caller's applications and stores the result. The
// caller's session does not end before that (withSession).
func (s *Service) changeOwnApp(
	ctx context.Context,
	by auth.Actor,
	appID string,
	change func(ctx context.Context, a *App) error,
) (a App, err error) {
	err = s.withSession(ctx, by, func(ctx context.Context) error {
		a, err = s.changeApp(ctx, by.UserID, appID, change)
		return err
	})

	return a, err
}

// findApp returns an application of any owner, or ErrAppNotFound. It does not lock the
// row.
func (s *Service) findApp(ctx context.Context, appID string) (App, error) {
	appID, ok := id.Canonical(appID)
	if !ok {
		return App{}, ErrAppNotFound
	}

	apps, err := s.Apps.List(ctx, AppFilter{OwnerID: AnyOwner, IDs: []string{appID}}, page.After("", 1))

	return list.First(apps.Items, err, ErrAppNotFound)
}

// changeApp applies change to an application of the owner and stores the result.
func (s *Service) changeApp(
	ctx context.Context,
	ownerID, appID string,
	change func(ctx context.Context, a *App) error,
) (app App, err error) {
	appID, ok := id.Canonical(appID)
	if !ok {
		return app, ErrAppNotFound
	}

	err = s.Tx.Do(ctx, func(ctx context.Context) error {
		if app, err = s.Apps.Get(ctx, ownerID, appID); err != nil {
			return err
		}

		if err := change(ctx, &app); err != nil {
			return err
		}

		app.UpdatedAt = s.Clock.Now()

		return s.Apps.Update(ctx, app)
	})

	return app, err
}

// DeleteApp deletes one of the caller's applications with its keys, consents and
// webhooks.
func (s *Service) DeleteApp(ctx context.Context, by auth.Actor, appID string) error {
	return s.Tx.Do(ctx, func(ctx context.Context) error {
		a, err := s.MyApp(ctx, by, appID)
		if err != nil {
			return err
		}

		if err := s.deleteApp(ctx, by.UserID, a.ID); err != nil {
			return err
		}

		return s.Audit.Record(ctx, audit.By(by, audit.AppDeleted, a.ID))
	})
}

// deleteApp deletes an application and records an event, in the transaction of ctx.
func (s *Service) deleteApp(ctx context.Context, ownerID, appID string) error {
	if err := s.Apps.Delete(ctx, ownerID, appID); err != nil {
		return err
	}

	return s.Events.Record(ctx, event.AppDeleted{AppID: appID, DeletedAt: s.Clock.Now()})
}

// RotateSecret replaces the client secret of an application and returns the new secret, of
// which only a hash is stored. The caller must be confirmed.
func (s *Service) RotateSecret(ctx context.Context, by auth.Actor, appID string) (string, error) {
	if err := s.requireConfirmed(by); err != nil {
		return "", err
	}

	secret := auth.NewSecret(secretPrefix, secretLength)
	_, err := s.changeOwnApp(ctx, by, appID, func(ctx context.Context, a *App) error {
		if a.Public {
			return ErrPublicApp
		}

		a.SecretHash = auth.HashSecret(secret)

		return s.Audit.Record(ctx, audit.By(by, audit.ClientSecretRotated, a.ID))
	})

	return secret, err
}

// Scope is a set of operations that a user permits an app to do.
type Scope = auth.Scope

// The scopes.
const (
	JobsRead          = auth.ScopeJobsRead
	ApplicationsRead  = auth.ScopeApplicationsRead
	ApplicationsWrite = auth.ScopeApplicationsWrite
)

// requireActive fails with ErrAppNotFound unless the account is active.
func (s *Service) requireActive(ctx context.Context, userID string) error {
	isActive, err := s.Accounts.IsActive(ctx, userID)
	if err == nil && !isActive {
		return ErrAppNotFound
	}

	return err
}

// Periodic returns the periodic tasks of the module.
func (s *Service) Periodic() []task.Periodic {
	return []task.Periodic{
		{Kind: "integrations.forget-usage", Every: time.Hour, Do: s.expire(usageRetention, UsageKind)},
		{Kind: "integrations.forget-grants", Every: time.Hour, Do: s.expire(grantRetention, GrantsKind, TokensKind)},
		{Kind: "integrations.end-listeners", Every: extendEvery, Do: s.expire(endedListenerAge, ListenersKind)},
		{Kind: "integrations.sweep-deliveries", Every: time.Minute, Do: s.sweepDeliveries},
		{Kind: "integrations.forget-messages", Every: time.Hour, Do: s.expire(logRetention, MessagesKind), Timeout: 5 * time.Minute},
	}
}

// endedListenerAge is the time after which the endpoint of an ended listener is deleted. A
// listener is a process of a developer that receives webhooks (see Listen). Its endpoint is
// deleted at once.
const endedListenerAge = 0

// expire returns a function that deletes the rows of the kinds that are older than age.
func (s *Service) expire(age time.Duration, kinds ...retention.Kind) func(ctx context.Context) error {
	return func(ctx context.Context) error {
		before := s.Clock.Now().Add(-age)

		var errs error
		for _, kind := range kinds {
			err := retention.DeleteAllBefore(ctx, s.Retention, kind, before, rowsPerStatement[kind])
			errs = errors.Join(errs, err)
		}

		return errs
	}
}

// rowsPerStatement is the maximum number of rows that one statement deletes. It is lower for
// kinds whose rows have dependent rows, which the statement deletes too.
var rowsPerStatement = map[retention.Kind]int{
	UsageKind:     5_000,
	MessagesKind:  1_000,
	GrantsKind:    500,
	TokensKind:    500,
	ListenersKind: 500,
}

// Handlers returns the handlers of the module's tasks.
func (s *Service) Handlers() []task.Handler {
	return []task.Handler{
		{Kind: deliverKind, Queue: task.Webhooks, Do: s.deliver, Timeout: maxWorkerTime},
		task.Handle(revokeKind, task.Events, s.revoke),
		task.Handle(warnKind, task.Mail, s.warn),
	}
}
