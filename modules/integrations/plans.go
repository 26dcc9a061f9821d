package integrations

import (
	"context"
	"time"

	"github.com/locumhq/locum/core/audit"
	"github.com/locumhq/locum/core/auth"
	"github.com/locumhq/locum/core/fault"
	"github.com/locumhq/locum/core/limit"
)

// errPlan is the fault about an unknown plan.
var errPlan = fault.InvalidField("plan", "must be one of: free, professional, enterprise")

// choicesPerAccount limits how often an account chooses plans: each choice sends an e-mail,
// and some choices are free of charge.
var choicesPerAccount = limit.Rule{Name: "choose-plan", Max: 60, Per: 15 * time.Minute}

// ChoosePlan puts one of the caller's applications on a plan and collects the first payment,
// less a credit for the rest of the previous plan. After a change to the free plan, the
// previous plan can be chosen again without a payment until its paid period ends.
func (s *Service) ChoosePlan(ctx context.Context, by auth.Actor, appID, plan, paymentMethodID string) (App, error) {
	if _, known := PlanOf(plan); !known {
		return App{}, errPlan
	}

	a, err := s.MyApp(ctx, by, appID)
	if err != nil {
		return a, err
	}

	if err := limit.Take(ctx, s.Limiter, choicesPerAccount, by.UserID); err != nil {
		return a, err
	}

	if err := s.Payments.Choose(ctx, a.ID, plan, paymentMethodID); err != nil {
		return a, err
	}

	return s.applyPaidPlan(ctx, by, a.ID, planChosen)
}

// SetUpPayment begins the collection of a payment method of one of the caller's
// applications.
func (s *Service) SetUpPayment(ctx context.Context, by auth.Actor, appID string) (PaymentSetup, error) {
	a, err := s.MyApp(ctx, by, appID)
	if err != nil {
		return PaymentSetup{}, err
	}

	return s.Payments.SetUp(ctx, a.ID)
}

// planChangeCause is the reason why the plan of an application may have changed.
type planChangeCause int

const (
	planChosen  planChangeCause = iota // by the owner
	planExpired                        // the subscription has ended
)

// applyPaidPlan puts an application of the owner on the plan that is paid for, and records the
// change in the audit log. A return to the free plan after the paid plan has expired is not
// recorded, because the audit log contains only actions of users.
//
// The plan is read in the transaction that changes it. So concurrent calls end with the plan of
// the last choice, and record it once.
func (s *Service) applyPaidPlan(ctx context.Context, owner auth.Actor, appID string, cause planChangeCause) (App, error) {
	return s.changeApp(ctx, owner.UserID, appID, func(ctx context.Context, a *App) error {
		paid, err := s.Payments.Paid(ctx, a.ID)
		if err != nil || paid == a.Plan {
			return err
		}

		a.Plan = paid
		if cause == planExpired && paid == Free {
			return nil
		}

		return s.Audit.Record(ctx, audit.By(owner, audit.PlanChanged, a.ID).With(paid))
	})
}

// SetPlan puts an application on a plan on behalf of an operator, whatever is paid for. Renewals of
// a subscription keep this plan. It is replaced when the owner starts, changes, cancels or resumes a
// subscription, and when a subscription ends.
func (s *Service) SetPlan(ctx context.Context, appID, plan string) (App, error) {
	if _, known := PlanOf(plan); !known {
		return App{}, errPlan
	}

	a, err := s.findApp(ctx, appID)
	if err != nil {
		return a, err
	}

	return s.changeApp(ctx, a.OwnerID, a.ID, func(ctx context.Context, a *App) error {
		a.Plan = plan
		return s.Audit.Record(ctx, audit.Entry{Action: audit.PlanChanged, Actor: audit.Operator, Object: a.ID, Detail: plan})
	})
}
