package portal

import (
	"context"
	"net/http"
	"time"

	"github.com/locumhq/locum/adapters/web"
	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/page"
	"github.com/locumhq/locum/modules/identity"
	"github.com/locumhq/locum/modules/integrations"
)

// developerRoutes returns the routes with which developers manage their apps. An app is a program that
// uses the developer API. Its plan sets the quota of requests. Its API keys and its secret are the
// credentials of the program.
//
// Remote is set for routes that check a password or call the payment provider.
func developerRoutes(i *identity.Service, s *integrations.Service) []web.Route {
	const tag = "Developers"

	return []web.Route{
		{
			Method:  http.MethodPost,
			Path:    "/api/developers/apps",
			Auth:    web.Required,
			Status:  201,
			Remote:  true,
			Errors:  []int{403, 409, 429},
			Tag:     tag,
			Summary: "Create an app on the free plan. Its secret is shown only once" + needsConfirmation,
			Op: confirmedOp(i,
				func(ctx context.Context, actor auth.Actor, in NewAppInput) (web.Reply[newAppView], error) {
					a, secret, err := s.CreateApp(ctx, actor, in.AppInput)
					return web.OK(newAppView{viewApp(a), optional(secret)}, "Application created successfully"), err
				}),
		},
		{
			Method:  http.MethodGet,
			Path:    "/api/developers/apps",
			Auth:    web.Required,
			Tag:     tag,
			Summary: "List the caller's apps, newest first",
			Op: list(s.MyApps, func(r page.Result[integrations.App], p web.Paging) appsView {
				return appsView{Apps: web.Each(r.Items, viewApp), Paged: paged(r, p)}
			}),
		},
		{
			Method:  http.MethodGet,
			Path:    "/api/developers/apps/:id",
			Auth:    web.Required,
			Tag:     tag,
			Summary: "Get one of the caller's apps",
			Op:      getByID(s.MyApp, func(a integrations.App) oneAppView { return oneAppView{viewApp(a)} }),
		},
		{
			Method:  http.MethodPut,
			Path:    "/api/developers/apps/:id",
			Auth:    web.Required,
			Tag:     tag,
			Summary: "Change an app; absent members stay unchanged",
			Op: web.Op(
				func(ctx context.Context, c web.Call, in AppChange) (web.Reply[oneAppView], error) {
					a, err := s.ChangeApp(ctx, c.Actor, in.ID, in.AppChange)
					return web.OK(oneAppView{viewApp(a)}, "Application updated successfully"), err
				}),
		},
		{
			Method:  http.MethodDelete,
			Path:    "/api/developers/apps/:id",
			Auth:    web.Required,
			Tag:     tag,
			Summary: "Delete an app. Its keys, consents and webhooks end at once",
			Op:      changeByID(s.DeleteApp, "Application deleted successfully"),
		},
		{
			Method:  http.MethodPost,
			Path:    "/api/developers/apps/:id/secret",
			Auth:    web.Required,
			Remote:  true,
			Errors:  []int{403, 404, 409, 429},
			Tag:     tag,
			Summary: "Replace the secret of an app. The new secret is shown only once; the previous one ends at once" + needsConfirmation,
			Op: confirmedOp(i,
				func(ctx context.Context, actor auth.Actor, in NewSecretInput) (web.Reply[secretView], error) {
					secret, err := s.RotateSecret(ctx, actor, in.ID)
					return web.OK(secretView{secret}, "The old secret has ended"), err
				}),
		},
		{
			Method:  http.MethodPost,
			Path:    "/api/developers/apps/:id/keys",
			Auth:    web.Required,
			Status:  201,
			Remote:  true,
			Errors:  []int{403, 404, 409, 429},
			Tag:     tag,
			Summary: "Create an API key, which is shown only once" + needsConfirmation,
			Op: confirmedOp(i,
				func(ctx context.Context, actor auth.Actor, in NewKeyInput) (web.Reply[newKeyView], error) {
					k, secret, err := s.CreateKey(ctx, actor, in.ID, in.KeyInput)
					return web.OK(newKeyView{viewKey(k), secret}, "API key created successfully"), err
				}),
		},
		{
			Method:  http.MethodGet,
			Path:    "/api/developers/apps/:id/keys",
			Auth:    web.Required,
			Tag:     tag,
			Summary: "List the API keys of an app, at most 20, newest first",
			Op:      getByID(s.MyKeys, func(keys []integrations.Key) keysView { return keysView{web.Each(keys, viewKey)} }),
		},
		{
			Method:  http.MethodDelete,
			Path:    "/api/developers/apps/:id/keys/:keyId",
			Auth:    web.Required,
			Tag:     tag,
			Summary: "Revoke an API key",
			Op: web.Op(
				func(ctx context.Context, c web.Call, in KeyPath) (web.Done, error) {
					return web.Message("API key deleted successfully"), s.DeleteKey(ctx, c.Actor, in.ID, in.KeyID)
				}),
		},
		{
			Method:  http.MethodGet,
			Path:    "/api/developers/apps/:id/usage",
			Auth:    web.Required,
			Tag:     tag,
			Summary: "Get the number of requests of an app by day in UTC, by default of the last 30 days",
			Op: web.Op(
				func(ctx context.Context, c web.Call, in UsageInput) (web.Reply[usageView], error) {
					u, err := s.GetUsage(ctx, c.Actor, in.ID, in.UsageInput)
					return web.OK(viewUsage(u), ""), err
				}),
		},
		{
			Method:  http.MethodPost,
			Path:    "/api/developers/apps/:id/plan",
			Auth:    web.Required,
			Remote:  true,
			Timeout: paymentTimeout,
			Errors:  []int{404, 409, 429},
			Tag:     tag,
			Summary: "Change the plan of an app at once. The rest of a paid month is credited to the next plan; after a change to free, the paid plan can be chosen again without a payment until its month ends. After a 202, the plan changes when the payer has confirmed the payment as described by `action`",
			Op: web.Op(
				func(ctx context.Context, c web.Call, in PlanInput) (web.Pending[appPlanView], error) {
					a, err := s.ChoosePlan(ctx, c.Actor, in.ID, in.Plan, in.PaymentMethodID)

					// If the payer has to confirm the payment first, the response has the action and the status 202.
					action, err := actionOf(err)

					return pendingReply(appPlanView{a.Plan, action}, action, "Plan updated successfully"), err
				}).MapFaults(renamePlanField),
		},
	}
}

// renamePlanField renames the field planId of a fault to plan, its name in PlanInput.
func renamePlanField(f *fault.Error) *fault.Error {
	return f.WithFields(renameFields(f.Fields, map[string]string{"planId": "plan"})...)
}

// KeyPath identifies an API key of an app.
type KeyPath struct {
	IDPath
	KeyID string `path:"keyId"`
}

// AppChange is the input of the operation that changes an app.
type AppChange struct {
	IDPath
	integrations.AppChange
}

// NewAppInput is the input of the operation that creates an app.
type NewAppInput struct {
	integrations.AppInput
	Confirmation
}

// NewSecretInput is the input of the operation that replaces the secret of an app.
type NewSecretInput struct {
	IDPath
	Confirmation
}

// NewKeyInput is the input of the operation that creates an API key.
type NewKeyInput struct {
	IDPath
	Confirmation
	integrations.KeyInput
}

// UsageInput selects the days for which the requests of an app are counted.
type UsageInput struct {
	IDPath
	integrations.UsageInput
}

// PlanInput is the input of the operation that changes the plan of an app. PaymentMethodID is the id that the
// payment provider has issued for a payment method. It is never a card number.
type PlanInput struct {
	IDPath
	Plan            string `json:"plan" validate:"required,oneof=free professional enterprise" sample:"professional"`
	PaymentMethodID string `json:"paymentMethodId" validate:"max=255" sample:"pm_card_visa"`

	rejectCardNumbers
}

// Problems returns the violations of rules that tags cannot express: a card number in the body, or an invalid id of
// the payment method.
func (in *PlanInput) Problems() []fault.Field { return in.problemsWith(in.PaymentMethodID) }

// appView is an app as its developer sees it. ClientID is the OAuth name of its id. Public marks an
// OAuth client that cannot keep a secret, such as a mobile app.
type appView struct {
	ID           string    `json:"id"`
	Name         string    `json:"name"`
	Description  string    `json:"description"`
	ClientID     string    `json:"clientId"`
	Public       bool      `json:"public"`
	Plan         string    `json:"plan"`
	RedirectURIs []string  `json:"redirectUris"`
	CreatedAt    time.Time `json:"createdAt"`
}

func viewApp(a integrations.App) appView {
	return appView{
		ID:           a.ID,
		Name:         a.Name,
		Description:  a.Description,
		ClientID:     a.ID,
		Public:       a.Public,
		Plan:         a.Plan,
		RedirectURIs: a.RedirectURIs,
		CreatedAt:    a.CreatedAt,
	}
}

type oneAppView struct {
	App appView `json:"app"`
}

type newAppView struct {
	App appView `json:"app"`
	// ClientSecret is returned only once; a public app has none.
	ClientSecret *string `json:"clientSecret"`
}

type appsView struct {
	Apps []appView `json:"apps"`
	Paged
}

type secretView struct {
	ClientSecret string `json:"clientSecret"`
}

// keyView is an API key without its secret part. Prefix is its beginning. Developers recognize the key by it.
type keyView struct {
	ID         string     `json:"id"`
	Name       string     `json:"name"`
	Prefix     string     `json:"prefix"`
	CreatedAt  time.Time  `json:"createdAt"`
	LastUsedAt *time.Time `json:"lastUsedAt"`
}

func viewKey(k integrations.Key) keyView {
	return keyView{ID: k.ID, Name: k.Name, Prefix: k.Prefix, CreatedAt: k.CreatedAt, LastUsedAt: k.LastUsedAt}
}

type newKeyView struct {
	Key keyView `json:"key"`
	// APIKey is returned only once.
	APIKey string `json:"apiKey"`
}

// keysView lists the keys of an app.
type keysView struct {
	Keys []keyView `json:"keys"`
}

type appPlanView struct {
	Plan string `json:"plan"`
	// Action is what the payer has to do before the plan changes, with status 202.
	Action *actionView `json:"action,omitempty"`
}

// usageView is the usage of an app: what remains of the quotas of this minute and this day, and in Series the
// number of requests for each day.
type usageView struct {
	Plan   string         `json:"plan"`
	Minute windowView     `json:"minute"`
	Day    dayView        `json:"day"`
	Series []usageDayView `json:"series"`
}

type windowView struct {
	Limit     int `json:"limit"`
	Remaining int `json:"remaining"`
}

// dayView has null members on a plan without a daily limit.
type dayView struct {
	Limit     *int `json:"limit"`
	Remaining *int `json:"remaining"`
}

type usageDayView struct {
	Date     string `json:"date"`
	Requests int    `json:"requests"`
	Errors   int    `json:"errors"`
}

func viewUsageDay(d integrations.DayUsage) usageDayView {
	return usageDayView{Date: d.Day, Requests: d.Requests, Errors: d.Errors}
}

func viewUsage(u integrations.UsageReport) usageView {
	v := usageView{
		Plan:   u.Plan.ID,
		Series: web.Each(u.Days, viewUsageDay),
		Minute: windowView{u.Quota.Minute.Limit, u.Quota.Minute.Remaining},
	}
	if day := u.Quota.Day; day.Limit > 0 { // a plan without a daily limit has zero
		v.Day = dayView{&day.Limit, &day.Remaining}
	}

	return v
}
