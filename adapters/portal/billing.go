package portal

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/locumhq/locum/adapters/web"
	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/modules/billing"
	"github.com/locumhq/locum/modules/integrations"
)

// billingRoutes returns the routes of paid plans, the routes to collect a payment method, and the route for the
// webhooks of the payment provider. A payer is a jobseeker, or a developer for an app. If the payment provider asks the
// payer to confirm a payment, such as with 3-D Secure, the response is a 202 with the action that the payer has to take.
func billingRoutes(s *billing.Service, apps *integrations.Service) []web.Route {
	const tag, path = "Billing", "/api/jobseekers/billing"

	return []web.Route{
		{
			Method:   http.MethodGet,
			Path:     path,
			Auth:     web.Required,
			Audience: web.Seeker,
			Tag:      tag,
			Summary:  "Get the caller's plan, payments and payment method",
			Op:       getOwn(s.MyBilling, viewBilling),
		},
		{
			Method:   http.MethodPost,
			Path:     path,
			Auth:     web.Required,
			Audience: web.Seeker,
			Limit:    web.PerQuarterHour(10),
			Remote:   true,
			Timeout:  paymentTimeout,
			Errors:   []int{409},
			Tag:      tag,
			Summary:  "Choose a plan, cancel it, or change the payment method. After a 202 the payer has to confirm the payment as described by `action`; then send the request again, without an Idempotency-Key or with another one, to read the result",
			Op: web.Op(
				func(ctx context.Context, c web.Call, in BillingIntentInput) (web.Pending[billingIntentView], error) {
					subscription, message, err := in.run(ctx, c.Actor, s)

					// If the payer has to confirm the payment first, the response has the current subscription.
					action, err := actionOf(err)
					if action != nil {
						subscription, err = s.Current(ctx, billing.Owner{Kind: billing.User, ID: c.Actor.UserID})
					}

					return pendingReply(
						billingIntentView{Intent: in.Intent, Subscription: viewSubscription(subscription), Action: action},
						action,
						message,
					), err
				}),
		},
		{
			Method:  http.MethodPost,
			Path:    "/api/billing/setup-intents",
			Auth:    web.Required,
			Limit:   web.PerQuarterHour(10),
			Remote:  true,
			Timeout: paymentTimeout,
			Errors:  []int{403, 404},
			Tag:     tag,
			Summary: "Begin to collect a payment method with the client library of the payment provider. The resulting id is accepted wherever a paymentMethodId is expected. 404 if the provider of this server does not support it",
			Op: web.Op(
				func(ctx context.Context, c web.Call, in SetupIntentInput) (web.Reply[setupIntentView], error) {
					action, err := setUp(ctx, s, apps, c, in)
					return web.OK(setupIntentView{actionView(action)}, ""), err
				}),
		},
		{
			Method:  http.MethodPost,
			Path:    "/api/payments/webhooks",
			Body:    maxProviderWebhook,
			Timeout: paymentTimeout,
			Errors:  []int{404},
			Tag:     tag,
			Summary: "Receive a webhook of the payment provider, which signs it. Repeated and reordered webhooks change nothing. 404 if the provider of this server sends none, or no secret is configured",
			Op: web.Op(
				func(ctx context.Context, _ web.Call, in NoticeInput) (web.Done, error) {
					return web.Message("Webhook received"), s.ReceiveNotice(ctx, in.Header, in.Raw)
				}),
		},
	}
}

// paymentTimeout is the timeout of operations that call the payment provider. It is longer than the timeout
// of other operations, to leave time to store the result of the call.
const paymentTimeout = 9500 * time.Millisecond

// maxProviderWebhook is the largest body of a webhook of the payment provider, in bytes.
const maxProviderWebhook = 256 << 10

// NoticeInput is a webhook request of the payment provider. The adapter of the provider needs the headers and the
// bytes of the body to verify its signature.
type NoticeInput struct {
	// Header returns a header of the request.
	Header func(name string) string `json:"-" headers:"all"`
	Raw    []byte                   `json:"-" body:"raw" sample:"{\"id\":\"evt_1\",\"type\":\"payment_intent.succeeded\"}"`
}

// RawBody returns a value of the type of the body, for the OpenAPI document: any object, because the provider defines
// its members.
func (NoticeInput) RawBody() any { return map[string]any(nil) }

// SetupIntentInput selects the payer.
type SetupIntentInput struct {
	// AppID is the id of the app of the caller that pays. If it is empty, the payer is the caller, a jobseeker.
	AppID string `json:"appId" validate:"max=64"`
}

// setUp begins to store a payment method of the payer. It returns what the payer has to do next at the payment provider.
func setUp(ctx context.Context, s *billing.Service, apps *integrations.Service, c web.Call, in SetupIntentInput) (billing.Action, error) {
	if in.AppID == "" {
		return s.SetUpMethod(ctx, c.Actor)
	}

	setup, err := apps.SetUpPayment(ctx, c.Actor, in.AppID)

	return billing.Action{
		Type:           billing.CollectMethod,
		ClientSecret:   setup.ClientSecret,
		PublishableKey: setup.PublishableKey,
		RedirectURL:    setup.RedirectURL,
	}, err
}

// actionOf separates two kinds of errors of a payment. If err says that the payer has to act, such as with 3-D Secure,
// actionOf returns the action. Otherwise it returns err, which may be nil.
func actionOf(err error) (action *actionView, remaining error) {
	required, isAction := errors.AsType[*billing.ActionRequiredError](err)
	if !isAction {
		return nil, err
	}

	v := actionView(required.Action)

	return &v, nil
}

// pendingReply returns a reply with the data. If there is an action that the payer has to take, the reply is a pending
// one (status 202), and its message asks for the action.
func pendingReply[T any](data T, action *actionView, message string) web.Pending[T] {
	if action != nil {
		message = billing.ErrActionRequired.Message
	}

	return web.Pending[T]{Reply: web.OK(data, message), Accepted: action != nil}
}

// actionView is what a client needs so that the payer can act at the payment provider.
type actionView struct {
	Type billing.ActionType `json:"type"`
	// ClientSecret and PublishableKey are for the provider's client library.
	ClientSecret   string `json:"clientSecret,omitempty"`
	PublishableKey string `json:"publishableKey,omitempty"`
	// RedirectURL is a page of the provider on which the payer can act without the library.
	RedirectURL string `json:"redirectUrl,omitempty"`
}

// setupIntentView says what the payer has to do next to store a payment method.
type setupIntentView struct {
	Action actionView `json:"action"`
}

// run does what the intent says. It returns the subscription after the change, and the message of the response.
func (in *BillingIntentInput) run(
	ctx context.Context,
	actor auth.Actor,
	s *billing.Service,
) (subscription billing.Subscription, message string, err error) {
	choice := billing.ChooseInput{PlanID: in.PlanID, PaymentMethodID: in.PaymentMethodID}
	switch in.Intent {
	case "create-subscription":
		message = "Subscription created successfully"
		if isFree := in.PlanID == billing.Basic; isFree {
			message = "Subscription cancelled successfully"
		}

		subscription, err = s.Create(ctx, actor, choice)
	case "upgrade-plan":
		message = "Plan upgraded successfully"
		subscription, err = s.Upgrade(ctx, actor, choice)
	case "update-payment-method":
		message = "Payment method updated successfully"
		subscription, err = s.UseMethod(ctx, actor, in.PaymentMethodID)
	case "cancel-subscription":
		message = "Subscription cancelled successfully"
		subscription, err = s.Cancel(ctx, actor)
	}

	return subscription, message, err
}

// BillingIntentInput is the input of the operation that changes a plan. Intent selects what the operation does. The tag
// intents of a field names the intents that use the field.
type BillingIntentInput struct {
	Intent string `json:"intent" validate:"required,oneof=create-subscription upgrade-plan update-payment-method cancel-subscription"`
	PlanID string `json:"planId" validate:"max=64" intents:"create-subscription upgrade-plan"`
	// PaymentMethodID is the id that the payment provider has issued for a payment method. It is never a card number. If
	// it is empty, a plan is paid for with the stored payment method.
	PaymentMethodID string `json:"paymentMethodId" validate:"max=255" intents:"create-subscription upgrade-plan update-payment-method"`

	rejectCardNumbers
}

// Problems returns the violations of rules that tags cannot express, in the fields that the intent uses.
func (in *BillingIntentInput) Problems() []fault.Field {
	switch in.Intent {
	case "create-subscription", "upgrade-plan":
		return slices.Concat(in.problemsWith(in.PaymentMethodID), fault.FieldsOf(billing.CheckPlanID(in.PlanID)))
	case "update-payment-method":
		return in.problemsWith(in.PaymentMethodID)
	}

	return in.rejectCardNumbers.Problems()
}

// rejectCardNumbers is embedded in inputs whose bodies must not contain card numbers. Clients must send card numbers to
// the payment provider only.
type rejectCardNumbers struct {
	Raw []byte `json:"-" body:"raw"`
}

// Problems rejects card numbers in any field, before the body is processed.
func (in *rejectCardNumbers) Problems() []fault.Field {
	if !billing.HoldsCardNumber(in.Raw) {
		return nil
	}

	return []fault.Field{{Name: "body", Message: "must not hold what looks like a card number; send the id of a payment method, pm_…"}}
}

// problemsWith returns a problem for a card number in the body, or for an invalid id of the payment method. An empty id is
// valid.
func (in *rejectCardNumbers) problemsWith(methodID string) []fault.Field {
	problems := in.Problems()
	if methodID != "" && len(problems) == 0 {
		problems = fault.FieldsOf(billing.CheckMethodID(methodID))
	}

	return problems
}

// billingView is the response with the plan of a jobseeker. billingOf has its content.
type billingView struct {
	Billing billingOf `json:"billing"`
}

// billingOf is the plan of a jobseeker, with the payments so far and the plans to choose from.
type billingOf struct {
	Subscription   subscriptionView `json:"subscription"`
	BillingHistory []chargeView     `json:"billingHistory"`
	Plans          []planView       `json:"plans"`
	PaymentMethods []methodView     `json:"paymentMethods"`
}

// billingIntentView is the result of a change of the plan. Intent repeats what the request asked for.
type billingIntentView struct {
	Intent       string           `json:"intent"`
	Subscription subscriptionView `json:"subscription"`
	// Action is present with status 202.
	Action *actionView `json:"action,omitempty"`
}

// subscriptionView is the current plan of a jobseeker.
type subscriptionView struct {
	Tier   string         `json:"tier"`
	Status billing.Status `json:"status"`
	// ExpiresAt is the time at which the paid period ends or is renewed; null on the free
	// plan.
	ExpiresAt *time.Time `json:"expiresAt"`
	AutoRenew bool       `json:"autoRenew"`
}

// chargeView is a payment for one period of a plan.
type chargeView struct {
	ID          string               `json:"id"`
	Date        time.Time            `json:"date"`
	Plan        string               `json:"plan"`
	Amount      float64              `json:"amount"`
	Currency    string               `json:"currency"`
	Status      billing.ChargeStatus `json:"status"`
	PeriodStart time.Time            `json:"periodStart"`
	PeriodEnd   time.Time            `json:"periodEnd"`
	// ActionRequired is true for a pending payment that the payer has to confirm: choose
	// the plan again.
	ActionRequired bool `json:"actionRequired,omitempty" sample:"false"`
}

// planView is a plan to choose from. Price is for one Interval, which is a month.
type planView struct {
	ID       string  `json:"id"`
	Name     string  `json:"name"`
	Price    float64 `json:"price"`
	Currency string  `json:"currency"`
	Interval string  `json:"interval"`
}

// methodView is a stored payment method. It has only the last digits of a card.
type methodView struct {
	ID          string `json:"id"`
	Brand       string `json:"brand"`
	Last4       string `json:"last4"`
	ExpiryMonth int    `json:"expiryMonth"`
	ExpiryYear  int    `json:"expiryYear"`
	IsDefault   bool   `json:"isDefault"`
}

func viewSubscription(s billing.Subscription) subscriptionView {
	return subscriptionView{Tier: s.Plan, Status: s.Status, ExpiresAt: optional(s.ExpiresAt), AutoRenew: s.AutoRenew}
}

func viewCharge(c billing.Charge) chargeView {
	return chargeView{
		ID:             c.ID,
		Date:           c.CreatedAt,
		Plan:           c.Plan,
		Amount:         c.Amount.Major(),
		Currency:       c.Amount.Currency,
		Status:         c.Status,
		PeriodStart:    c.PeriodStart,
		PeriodEnd:      c.PeriodEnd,
		ActionRequired: c.Status == billing.Pending && !c.ActionAt.IsZero(),
	}
}

func viewPlan(p billing.Plan) planView {
	return planView{ID: p.ID, Name: p.Name, Price: p.Price.Major(), Currency: p.Price.Currency, Interval: "month"}
}

func viewBilling(o billing.Overview) billingView {
	v := billingOf{
		Subscription:   viewSubscription(o.Subscription),
		BillingHistory: web.Each(o.History, viewCharge),
		Plans:          web.Each(o.Plans, viewPlan),
		PaymentMethods: []methodView{},
	}

	// At most one payment method is stored.
	if m := o.Subscription.Method; m.ID != "" {
		v.PaymentMethods = append(v.PaymentMethods, methodView{
			ID:          m.ID,
			Brand:       m.Brand,
			Last4:       m.Last4,
			ExpiryMonth: m.ExpiryMonth,
			ExpiryYear:  m.ExpiryYear,
			IsDefault:   true,
		})
	}

	return billingView{v}
}
