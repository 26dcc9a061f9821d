package portal

import (
	"context"
	"net/http"
	"time"

	"github.com/locumhq/locum/adapters/fiberhttp/web"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/modules/billing"
)

func billingRoutes(s *billing.Service) []web.Route {
	const tag, path = "Billing", "/api/jobseekers/billing"
	return []web.Route{
		{Method: http.MethodGet, Path: path, Auth: web.Required, Who: web.Seeker, Tag: tag, Summary: "The caller's plan, payments and payment method", Op: web.Op(
			func(ctx context.Context, c web.Call, _ web.Nothing) (web.Reply[billingView], error) {
				o, err := s.Mine(ctx, c.Actor)
				return web.OK(billingView{viewBilling(o)}, ""), err
			})},
		{Method: http.MethodPost, Path: path, Auth: web.Required, Who: web.Seeker, Limit: web.PerQuarterHour(10), Remote: true, Errors: []int{409}, Tag: tag, Summary: "Choose a plan, end it, or change the payment method", Op: web.Op(
			func(ctx context.Context, c web.Call, in BillingIntentInput) (web.Reply[billingIntentView], error) {
				var sub billing.Subscription
				var err error
				var said string
				choice := billing.ChooseInput{PlanID: in.PlanID, PaymentMethodID: in.PaymentMethodID}
				switch in.Intent {
				case "create-subscription":
					said = "Subscription created successfully"
					if in.PlanID == billing.Basic {
						said = "Subscription cancelled successfully"
					}
					sub, err = s.Create(ctx, c.Actor, choice)
				case "upgrade-plan":
					said = "Plan upgraded successfully"
					sub, err = s.Upgrade(ctx, c.Actor, choice)
				case "update-payment-method":
					said = "Payment method updated successfully"
					sub, err = s.UseMethod(ctx, c.Actor, in.PaymentMethodID)
				case "cancel-subscription":
					said = "Subscription cancelled successfully"
					sub, err = s.Cancel(ctx, c.Actor)
				}
				return web.OK(billingIntentView{Intent: in.Intent, Subscription: viewSubscription(sub)}, said), err
			})},
	}
}

// BillingIntentInput is what each of the intents takes.
type BillingIntentInput struct {
	Intent string `json:"intent" validate:"required,oneof=create-subscription upgrade-plan update-payment-method cancel-subscription"`
	// Of create-subscription and upgrade-plan.
	PlanID string `json:"planId" validate:"max=64"`
	// Of create-subscription, upgrade-plan and update-payment-method: the id that
	// the payment provider gave, never a number of a card. A plan can be paid
	// for with the method on file, without this.
	PaymentMethodID string `json:"paymentMethodId" validate:"max=255"`

	cardless
}

// Refuse turns down what has no intent.
func (in *BillingIntentInput) Refuse(wrong func(path string) bool) error {
	return needIntent(in.Intent, wrong)
}

// Problems finds all that is wrong with what the intent takes.
func (in *BillingIntentInput) Problems() []fault.Field {
	switch in.Intent {
	case "create-subscription", "upgrade-plan":
		found := in.problemsWith(in.PaymentMethodID)
		if err := billing.CheckPlanID(in.PlanID); err != nil {
			found = append(found, fault.Of(err).Fields...)
		}
		return found
	case "update-payment-method":
		return in.problemsWith(in.PaymentMethodID)
	}
	return in.cardless.Problems()
}

// cardless is a body about money.
type cardless struct {
	Raw []byte `json:"-" body:"raw"`
}

// Problems implements web's rules that tags cannot say: numbers of cards are
// refused wherever they stand, before anybody reads them.
func (in *cardless) Problems() []fault.Field {
	if !billing.HoldsCardNumber(in.Raw) {
		return nil
	}
	return []fault.Field{{Name: "body", Message: "must not hold what looks like a card number; send the id of a payment method, pm_…"}}
}

// problemsWith also finds what is no payment method.
func (in *cardless) problemsWith(methodID string) []fault.Field {
	found := in.Problems()
	if err := billing.CheckMethodID(methodID); err != nil && methodID != "" && len(found) == 0 {
		found = fault.Of(err).Fields
	}
	return found
}

type billingView struct {
	Billing billingOf `json:"billing"`
}

type billingOf struct {
	Subscription   subscriptionView `json:"subscription"`
	BillingHistory []chargeView     `json:"billingHistory"`
	Plans          []planView       `json:"plans"`
	PaymentMethods []methodView     `json:"paymentMethods"`
}

type billingIntentView struct {
	Intent       string           `json:"intent"`
	Subscription subscriptionView `json:"subscription"`
}

type subscriptionView struct {
	Tier   string         `json:"tier"`
	Status billing.Status `json:"status"`
	// ExpiresAt is when what is paid for ends or is renewed; null on the free plan.
	ExpiresAt *time.Time `json:"expiresAt"`
	AutoRenew bool       `json:"autoRenew"`
}

type chargeView struct {
	ID          string               `json:"id"`
	Date        time.Time            `json:"date"`
	Plan        string               `json:"plan"`
	Amount      float64              `json:"amount"`
	Currency    string               `json:"currency"`
	Status      billing.ChargeStatus `json:"status"`
	PeriodStart time.Time            `json:"periodStart"`
	PeriodEnd   time.Time            `json:"periodEnd"`
}

type planView struct {
	ID       string  `json:"id"`
	Name     string  `json:"name"`
	Price    float64 `json:"price"`
	Currency string  `json:"currency"`
	Interval string  `json:"interval"`
}

type methodView struct {
	ID          string `json:"id"`
	Brand       string `json:"brand"`
	Last4       string `json:"last4"`
	ExpiryMonth int    `json:"expiryMonth"`
	ExpiryYear  int    `json:"expiryYear"`
	IsDefault   bool   `json:"isDefault"`
}

func viewSubscription(s billing.Subscription) subscriptionView {
	v := subscriptionView{Tier: s.Plan, Status: s.Status, AutoRenew: s.AutoRenew}
	if !s.ExpiresAt.IsZero() {
		v.ExpiresAt = &s.ExpiresAt
	}
	return v
}

func viewBilling(o billing.Overview) billingOf {
	v := billingOf{Subscription: viewSubscription(o.Subscription), BillingHistory: make([]chargeView, len(o.History)), Plans: make([]planView, len(o.Plans)), PaymentMethods: []methodView{}}
	for i, c := range o.History {
		v.BillingHistory[i] = chargeView{ID: c.ID, Date: c.CreatedAt, Plan: c.Plan, Amount: c.Amount.Major(), Currency: c.Amount.Currency, Status: c.Status, PeriodStart: c.PeriodStart, PeriodEnd: c.PeriodEnd}
	}
	for i, p := range o.Plans {
		v.Plans[i] = planView{ID: p.ID, Name: p.Name, Price: p.Price.Major(), Currency: p.Price.Currency, Interval: "month"}
	}
	if m := o.Subscription.Method; m.ID != "" {
		v.PaymentMethods = append(v.PaymentMethods, methodView{ID: m.ID, Brand: m.Brand, Last4: m.Last4, ExpiryMonth: m.ExpiryMonth, ExpiryYear: m.ExpiryYear, IsDefault: true})
	}
	return v
}
